/* Lowering: a graph and a plan become a loop program. Everything is decided by the plan; what is worked out here is
 * how to say it in loops: border rules as index arithmetic, interiors without tests, windows as loops, shared values
 * as LETs. */
#ifndef TESSERA_LOOP_LOWER_H
#define TESSERA_LOOP_LOWER_H

#include "loop/loop.h"
#include "plan/plan.h"

/* The plan must have passed tessi_plan_verify for this graph. */
LoopProgram *tessi_lower_loops(Arena *a, const Graph *g, const Plan *plan, const Machine *m);

/* General code (lower_general.c): the same pixels from loops that are the same for masks of all extents, where all
 * windows of the program are sums over masks that come with the run; else NULL. `plan` is the naive one. */
typedef struct GeneralSums GeneralSums;
GeneralSums *tessi_general_sums(Arena *a, const Graph *g, const Plan *plan);
LoopProgram *tessi_lower_general_loops(Arena *a, const Graph *g, const Plan *plan, const Machine *m,
                                       GeneralSums *sums);
/* What such loops take as parameters behind those of the program; how many. */
uint32_t tessi_general_params(const Graph *g, const GeneralSums *sums, int64_t *out);

#endif
