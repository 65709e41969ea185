/* Plans one step away from a plan: what a tuner tries. */
#ifndef TESSERA_PLAN_PLAN_NEIGHBOURS_H
#define TESSERA_PLAN_PLAN_NEIGHBOURS_H

#include "plan/plan.h"

typedef struct PlanNeighbour {
    Plan *plan;
    StageId about; /* the stage, or the first stage of the group, that is changed */
    /* "rows 4", "stored", ...: what is different, for a list behind the name of `about` */
    const char *change;
} PlanNeighbour;
typedef VEC(PlanNeighbour) PlanNeighbours;

/* Appends every legal plan that differs from p in one decision: a placement, which stages share a group, how the
 * loops of a group run. Their reasons are empty. In a fixed order. */
void tessi_plan_neighbours(Arena *a, const Graph *g, const Plan *p, PlanNeighbours *out);

#endif
