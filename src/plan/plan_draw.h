/* Inside plan/: edits of a plan drawn from the tables of what pages can say. */
#ifndef TESSERA_PLAN_PLAN_DRAW_H
#define TESSERA_PLAN_PLAN_DRAW_H

#include "plan/plan_base.h"

typedef struct PlanDraw {
    uint64_t state;
} PlanDraw;

/* Tries so many edits and keeps those after which the plan is legal; how many. */
uint32_t tessi_plan_draw_edits(const PlanFacts *f, Plan *p, uint32_t n, PlanDraw *d);

#endif
