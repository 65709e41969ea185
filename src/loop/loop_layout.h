/* loop_layout: how intermediate images lie in memory, the same for every printer. Small ones of constant size go on
 * the stack, as long as there are few. The others share a workspace, one block of memory that is cut into slots;
 * images that are not needed at the same time lie in one slot. Behind the slots each thread has a part for LOCAL
 * buffers that would take much of a stack: threads of other programs may have stacks of 64 KiB. */
#ifndef TESSERA_LOOP_LOOP_LAYOUT_H
#define TESSERA_LOOP_LOOP_LAYOUT_H

#include "loop/loop.h"

/* A slot begins behind the bytes of the one before, filled up to whole pages and one skew more: rows of equal number
 * in images of equal size then lie in different cache sets. */
enum { LAYOUT_LINE = 64, LAYOUT_PAGE = 4096, LAYOUT_SKEW = 17 * LAYOUT_LINE };

/* Which functions of the program touch a buffer; first > last when none does. */
typedef struct LoopLife {
    uint32_t first, last;
} LoopLife;

typedef struct LoopLayout {
    LoopLife *life;   /* by LBufferId */
    uint32_t *slot;   /* by LBufferId: from 1; 0 when it does not lie in the workspace */
    uint32_t n_slots; /* slots 1..n_slots, in this order in the workspace */
    /* by LBufferId: where a LOCAL lies in the part of a thread; -1: on the stack */
    int64_t *local_at;
    int64_t thread_bytes; /* of such a part */
} LoopLayout;
LoopLayout tessi_loop_layout(const LoopProgram *p, Arena *a);

/* Of the same bytes, whatever the parameters. */
bool tessi_loop_same_shape(const LBuffer *a, const LBuffer *b);
/* Bytes of an intermediate image small enough for the stack, if it has no slot, else 0. */
int64_t tessi_loop_stack_bytes(const LoopProgram *p, LBufferId b);
/* Whether its rows are stored tessi_loop_pitch elements apart, and not the length of a row. */
bool tessi_loop_is_padded(const LoopProgram *p, LBufferId b);
/* Elements from one row to the next: long rows take an odd number of cache lines, so that those above each other do
 * not compete for one cache set and each begins at a cache line. */
int64_t tessi_loop_pitch(int64_t row, ScalarType t);
/* Bytes of the slots for these parameters; INT64_MAX when no machine has as many. */
int64_t tessi_loop_workspace_bytes(const LoopProgram *p, const LoopLayout *layout,
                                   const int64_t *params);

#endif
