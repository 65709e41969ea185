/* Inside lowering: coefficients that come with the run, which the threads of a block have in shared memory, and
 * processors on the stack. */
#ifndef TESSERA_LOOP_LOWER_GIVEN_H
#define TESSERA_LOOP_LOWER_GIVEN_H

#include "loop/lower_nest.h"

/* A read that moves with the window alone. */
typedef struct Given {
    ExprId load;
    LBufferId shared; /* rows padded to whole vectors */
    uint32_t width;   /* elements that move at once */
    LExprId *value;   /* by column of the window: of the row in hand */
} Given;
typedef struct Coefficients {
    WindowId window; /* of two variables */
    const Window *w;
    int64_t height, across; /* of the window */
    VEC(Given) masks;
} Coefficients;

/* The coefficients that the bodies of windows read. */
void tessi_given_find(Lower *l, const ExprList *bodies, WindowId window, Coefficients *out);
/* The block's threads copy them into shared memory; to stand in the block, before its threads. */
void tessi_given_copy(Lower *l, const Nest *nest, Coefficients *c);
/* Takes those of the window's row `row` in hand whose vectors begin at column `column`. */
void tessi_given_take(Lower *l, Coefficients *c, LExprId row, int64_t column);
/* Gives an evaluation those of the row in hand at column `column`. */
void tessi_given_set(Lower *l, const Coefficients *c, Eval *ev, int64_t column);

/* Masks that loops of a processor read from copies. */
typedef struct LocalMasks {
    VEC(StageId) masks;
    uint32_t tile_depth; /* outside of them */
} LocalMasks;
/* Copies the masks of the nest's windows; from here on they are read instead. */
void tessi_given_local(Lower *l, const Nest *nest, LocalMasks *out);
void tessi_given_local_end(Lower *l, const LocalMasks *masks);

#endif
