/* Functions of a program that differ in nothing but which intermediate images they read and write: the stages of a loop in the text, mostly.
 * A printer writes one of them and calls it with other images. */
#ifndef TESSERA_LOOP_LOOP_SAME_H
#define TESSERA_LOOP_LOOP_SAME_H

#include "loop/loop.h"

typedef struct LoopTwin {
    LBufferId first,
        here; /* the image of the first such function, and the one that stands for it */
} LoopTwin;
typedef VEC(LoopTwin) LoopTwins;

typedef struct LoopSame {
    uint32_t
        *first; /* by function: the first that is the same; itself, unless there is one before it */
    uint32_t *n_same; /* by function, of the first ones: how many are the same, itself included */
    LoopTwins *twins; /* by function, but of the first ones: their images */
} LoopSame;
LoopSame tessi_loop_same(const LoopProgram *p, Arena *a);

#endif
