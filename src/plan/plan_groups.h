/* Inside plan/: which stages are computed together, and which groups read one another. */
#ifndef TESSERA_PLAN_PLAN_GROUPS_H
#define TESSERA_PLAN_PLAN_GROUPS_H

#include "plan/needs.h"

/* The groups of a plan while they are made. */
typedef struct Grouping {
    const PlanFacts *f;
    Plan *p;
    const PlanCodeSize *size;
    uint32_t *group_of; /* by StageId: group + 1; 0 = none yet */
    uint32_t look_back; /* so many of the last groups are asked */
    int64_t most_nodes; /* of the code of a group of several stages */
} Grouping;

/* Adds a stage, after all that it reads, to a group of its domain that reads the same images, or as a group of its
 * own with the transform or the median that `alone` has. */
void tessi_plan_add_stage(const Grouping *g, StageId id, const PlanGroup *alone);

/* The one group that reads what group `h` computes, but for itself; 0 = none, or several, else group + 1. `readers`:
 * of tessi_plan_readers. */
uint32_t tessi_plan_only_reader(const PlanFacts *f, const StageList *readers,
                                const uint32_t *group_of, const PlanGroup *groups, uint32_t h);

/* Sets `stream` of all groups, whose loops are known. */
void tessi_plan_choose_streams(const PlanFacts *f, const Machine *m, Plan *p);

#endif
