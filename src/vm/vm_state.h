/* Inside the strip machine: a run. */
#ifndef TESSERA_VM_VM_STATE_H
#define TESSERA_VM_VM_STATE_H

#include "vm/vm_code.h"

typedef struct VmTeam VmTeam;

/* A buffer of this run. */
typedef struct VmBuffer {
    char *data;                    /* NULL: local */
    int64_t stride[LOOP_MAX_DIMS]; /* bytes; of an expanded one for a single lane */
    int64_t elements;
    unsigned bytes; /* of an element */
} VmBuffer;

typedef struct VmRun {
    const VmCode *code;
    const InterpArgs *args;
    VmBuffer *buffers; /* by LBufferId */
    VmTeam *team;      /* NULL: one thread */
} VmRun;

/* What a thread has for itself. */
typedef struct VmThread {
    const VmRun *run;
    const VmCode *code;
    const VmFunction *function;
    void *memory; /* of the following, to be freed */
    char *frame, *strips, *locals;
    void **at;         /* by slot */
    char **base;       /* by LBufferId */
    const void **rows; /* of a sum */
    void *weights;
    int64_t x, step; /* of the strip in hand */
    size_t n, lanes;
    bool is_alone; /* in a parallel loop: loops inside are its own */
} VmThread;

/* ---- vm_exec.c */
void tessi_vm_exec(VmThread *t, uint32_t pc, uint32_t end);
/* Iterations of a loop from its variable's value `from` on. */
void tessi_vm_iterate(VmThread *t, const VmLoop *loop, int64_t from, int64_t to);
/* What stands before the body of a strip loop. */
void tessi_vm_enter(VmThread *t, const VmLoop *loop, uint32_t first);

/* ---- vm_run.c */
bool tessi_vm_thread_init(VmThread *t, const VmRun *run);
void tessi_vm_thread_dispose(VmThread *t);

/* ---- vm_team.c: other threads. NULL when there are none to be had. */
VmTeam *tessi_vm_team_start(const VmRun *run, int threads);
void tessi_vm_team_end(VmTeam *team);
/* Shares the loop's iterations out; the caller takes part. `first`: the instruction behind that of the loop. */
void tessi_vm_team_run(VmTeam *team, VmThread *caller, const VmLoop *loop, uint32_t first,
                       int64_t from, int64_t to);

#endif
