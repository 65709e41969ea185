/* loop_repeat: the order in which functions are executed: repeats, turn after turn. */
#ifndef TESSERA_LOOP_LOOP_REPEAT_H
#define TESSERA_LOOP_LOOP_REPEAT_H

#include "loop/loop.h"

/* The turns of a repeat in a run; scalars as in InterpArgs, one for each of the program. */
typedef struct LTurns {
    int64_t turns, behind;
} LTurns;
LTurns tessi_loop_turns(const LoopProgram *p, const LRepeat *r, const int64_t *params,
                        const Value *scalars);
/* Goes through functions, or what became of them, in the order of execution. */
typedef struct LoopOrder {
    const LPlace *place; /* of each */
    uint32_t n;
    const LTurns *turns; /* by repeat, from 0 */
    const LRepeat *repeats;
    uint32_t at, begin, end; /* the next one; the functions of the repeat that is open */
    int64_t left;            /* turns behind the one at hand */
    bool open, once;
} LoopOrder;
/* Of all functions of a program, in one run; in the arena. */
LoopOrder tessi_loop_order(const LoopProgram *p, Arena *a, const int64_t *params,
                           const Value *scalars);
/* The next one; false behind the last. */
bool tessi_loop_order_next(LoopOrder *o, uint32_t *number);

#endif
