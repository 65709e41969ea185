/* Inside plan/: passes of groups, put together. */
#ifndef TESSERA_PLAN_PLAN_PASSES_H
#define TESSERA_PLAN_PLAN_PASSES_H

#include "plan/needs.h"

/* A pass of one stage before those from number `at` on. */
void tessi_plan_insert_pass(Arena *a, PlanGroup *group, uint32_t at, StageId id);
/* The passes of the stages, which stand in order. Stages of one region that do not wait for each other go together;
 * with `most_nodes` only those that read one image, have windows alike, and no more code than that. */
void tessi_plan_make_passes(const PlanFacts *f, const Plan *p, const PlanRegions *regions,
                            const StageList *stages, int64_t most_nodes, PlanGroup *group);

/* ---- plan_runs.c ---- */
/* A pass of a group without tiles: values that run along the rows, and down the columns at once. */
const char *tessi_plan_check_runs(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* Makes the group of `rows` a pass of group `into`, if it can be; the group goes. */
bool tessi_plan_join_runs(const PlanFacts *f, Plan *p, uint32_t into, StageId rows);
/* All that there are. */
void tessi_plan_find_runs(const PlanFacts *f, Plan *p);

#endif
