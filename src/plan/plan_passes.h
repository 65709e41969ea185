/* Inside plan/: passes of groups with tiles, put together. */
#ifndef TESSERA_PLAN_PLAN_PASSES_H
#define TESSERA_PLAN_PLAN_PASSES_H

#include "plan/needs.h"

/* A pass of one stage before those from number `at` on. */
void tessi_plan_insert_pass(Arena *a, PlanGroup *group, uint32_t at, StageId id);
/* The passes of the stages, which stand in order. Stages of one region that do not wait for each other go together;
 * with `most_nodes` only those that read one image, have windows alike, and no more code than that. */
void tessi_plan_make_passes(const PlanFacts *f, const Plan *p, const PlanRegions *regions,
                            const StageList *stages, int64_t most_nodes, PlanGroup *group);

#endif
