/* Copies of plans, to be changed. */
#include "plan/plan_base.h"

static void copy_stages(Arena *a, const StageList *from, StageList *to)
{
    *to = (StageList){ 0 };
    VEC_APPEND(a, to, from);
}

static PlanGroup copy_group(Arena *a, const PlanGroup *from)
{
    PlanGroup to = *from;
    to.reason = "";
    tessi_plan_drop_copies(&to);
    VEC_APPEND(a, &to.staged, &from->staged);
    copy_stages(a, &from->members, &to.members);
    to.passes.at = NULL;
    to.passes.n = to.passes.cap = 0;
    VEC_FOREACH (const PlanPass, pass, &from->passes) {
        PlanPass own = *pass;
        copy_stages(a, &pass->stages, &own.stages);
        VEC_PUSH(a, &to.passes, own);
    }
    return to;
}

Plan *tessi_plan_copy(Arena *a, const Plan *p)
{
    Plan *copy = ARENA_NEW(a, Plan);
    *copy = *p;
    copy->arena = a;
    copy->reason = "";
    copy->stage = ARENA_NEW_ARRAY(a, PlanStage, p->n_stages);
    for (uint32_t v = 0; v < p->n_stages; v++)
        copy->stage[v] = (PlanStage){ p->stage[v].placement, "" };
    copy->groups.at = NULL;
    copy->groups.n = copy->groups.cap = 0;
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        VEC_PUSH(a, &copy->groups, copy_group(a, group));
    return copy;
}

PlanGroup tessi_plan_keep_group(Arena *a, const PlanGroup *group)
{
    PlanGroup kept = copy_group(a, group);
    kept.reason = tessi_strdup(a, group->reason);
    return kept;
}

Plan *tessi_plan_keep(Arena *a, const Plan *p)
{
    Plan *kept = tessi_plan_copy(a, p);
    kept->reason = tessi_strdup(a, p->reason);
    kept->needed = ARENA_NEW_ARRAY(a, bool, p->n_stages);
    for (uint32_t v = 0; v < p->n_stages; v++) {
        kept->needed[v] = p->needed[v];
        kept->stage[v].reason = p->stage[v].reason ? tessi_strdup(a, p->stage[v].reason) : "";
    }
    for (uint32_t i = 0; i < p->groups.n; i++)
        kept->groups.at[i].reason = tessi_strdup(a, p->groups.at[i].reason);
    return kept;
}
