/* Inside the loop interpreter: a run, and the values of its expressions. */
#ifndef TESSERA_INTERP_LOOP_RUN_H
#define TESSERA_INTERP_LOOP_RUN_H

#include "tessera.h"

#include "interp/interp.h"
#include "interp/loop_memory.h"
#include "loop/loop_lanes.h"

/* The most lanes of 32 bits: where the second of two vectors begins. */
enum { BOTH_APART = LOOP_MOST_VECTOR / 4 };

/* Values, of lane k at[k * step]; step is 0 where all lanes have the same. */
typedef struct Operand {
    const Value *at;
    uint32_t step;
} Operand;

/* A node to compute, behind those that it needs. */
typedef struct EvalStep {
    const LExpr *e;
    const Operand *arg;
    Value *to;
    ScalarType first; /* type of arg[0] */
    uint32_t n;       /* values to compute */
} EvalStep;

/* What it takes to evaluate an expression: each of its nodes once, however often it is used. */
typedef struct EvalCode {
    const EvalStep *step;
    uint32_t n;
    uint32_t lanes; /* 0: no code yet; a scalar has one */
    Operand value;
} EvalCode;

/* A node as far as codes have it. */
typedef struct EvalNode {
    Value *value;
    uint32_t code; /* the last that had it */
    bool is_known; /* the same all through the run, and computed */
    bool is_alike; /* in all lanes: there is one value */
} EvalNode;

typedef struct Run {
    const LoopProgram *p;
    const InterpArgs *args;
    Failure *failure;
    Arena *arena;
    const LFunction *function;
    LoopBuffer *buffers; /* by LBufferId */
    Value *var;          /* by LVarId */
    /* by LVarId, of vectors: by lane; of rows: the index of the place, or two vectors */
    Value **vector;
    EvalCode *code; /* by LExprId */
    EvalNode *node; /* likewise */
    uint32_t n_codes;
    ActiveLoop loops[LOOP_MAX_NESTING];
    const LStmt *loop_stmt[LOOP_MAX_NESTING];
    int n_loops;
    int64_t thread; /* of the block, in a loop of its threads along x */
    uint64_t n_executions;
    uint32_t next_touch_stamp;
} Run;

static inline const char *tessi_run_shown(const char *name)
{
    return name ? name : "";
}
/* "function 'f': <what> 'buffer'[3, -1] <why>"; false */
bool tessi_run_fail_at(Run *r, const LoopBuffer *b, const int64_t *index, const char *what,
                       const char *why);
bool tessi_run_fail_outside(Run *r, const LoopBuffer *b, const int64_t *index, const char *what);

/* The buffer, of held ones that of the thread in hand. */
static inline LoopBuffer *tessi_run_buffer(Run *r, LBufferId id)
{
    LoopBuffer *b = &r->buffers[id.v];
    if (b->buffer->held)
        b->copy = (uint64_t)r->thread;
    return b;
}
/* Notes the touch, which must agree with those of other iterations. */
bool tessi_run_touch(Run *r, LoopBuffer *b, int64_t element, const int64_t *index, TouchKind kind);
/* The element at the index. */
bool tessi_run_load(Run *r, LBufferId id, const int64_t *index, Value *out);

/* Where the values of a vector variable are. */
Value *tessi_run_vector(Run *r, LVarId x);
/* The value of a scalar. */
bool tessi_run_value(Run *r, LExprId id, Value *out);
/* Those of all lanes, or the one; their number, 0 on failure. They hold until something is evaluated. */
uint32_t tessi_run_values(Run *r, LExprId id, Operand *out);
bool tessi_run_index(Run *r, const LExprId *ids, int n, int64_t *index);

#endif
