/* Square blocks turned over in scratch memory, for passes over loops. */
#ifndef TESSERA_LOOP_TURN_SQUARE_H
#define TESSERA_LOOP_TURN_SQUARE_H

#include "loop/loop_private.h"

/* Rows and columns of a block of `edge` lines, a power of two, change over in so many rounds. Each goes from one of two
 * buffers into the other: the block is at first in at[rounds % 2], at the end in at[0]. */
int tessi_turn_rounds(int64_t edge);
void tessi_turn_square(LoopProgram *p, int64_t edge, const LBufferId at[2], LBlock *to);

#endif
