/* loop_repeat: the order in which functions are executed: repeats, turn after turn, until a condition holds. */
#ifndef TESSERA_LOOP_LOOP_REPEAT_H
#define TESSERA_LOOP_LOOP_REPEAT_H

#include "graph/graph.h"
#include "loop/loop.h"

/* The turns of a repeat in a run; scalars as in InterpArgs, one for each of the program. */
typedef struct LTurns {
    int64_t turns, behind;
} LTurns;
LTurns tessi_loop_turns(const LoopProgram *p, const LRepeat *r, const int64_t *params,
                        const Value *scalars);
/* Whether the condition that is stored in this buffer holds. Who cannot find out says that it does, and stops. */
typedef bool LoopHolds(void *user, LBufferId condition);
/* Goes through functions, or what became of them, in the order of execution. */
typedef struct LoopOrder {
    const LPlace *place; /* of each */
    uint32_t n;
    const LTurns *turns; /* by repeat, from 0 */
    const LRepeat *repeats;
    LoopHolds *holds; /* NULL: there is no condition */
    void *user;
    LoopEnd *ends;           /* by LRepeat.loop, from 0; NULL: nobody wants to know */
    uint32_t at, begin, end; /* the next one; the functions of the repeat that is open */
    int64_t all, left;       /* its turns; those behind the one at hand */
    bool open, met;          /* met: the last condition that was asked held */
    LWhen when;
} LoopOrder;
/* Of all functions of a program, in one run; in the arena. */
LoopOrder tessi_loop_order(const LoopProgram *p, Arena *a, const int64_t *params,
                           const Value *scalars);
/* The next one; false behind the last. */
bool tessi_loop_order_next(LoopOrder *o, uint32_t *number);
/* How many loops have conditions. */
uint32_t tessi_loop_conditions(const LoopProgram *p);

#endif
