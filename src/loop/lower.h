/* Lowering: a graph and a plan become a loop program. Everything is decided by the plan; what is worked out here is how to say it
 * in loops: border rules as index arithmetic, interiors without tests, windows as loops, shared values as LETs. */
#ifndef TESSERA_LOOP_LOWER_H
#define TESSERA_LOOP_LOWER_H

#include "loop/loop.h"
#include "plan/plan.h"

/* The plan must have passed tessi_plan_verify for this graph. */
LoopProgram *tessi_lower_loops(Arena *a, const Graph *g, const Plan *plan, const Machine *m);

#endif
