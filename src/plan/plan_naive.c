/* The reference plan: each stage by itself, everything in memory, every read tested, nothing parallel. */
#include "plan/plan_base.h"

Plan *tessi_plan_naive(Arena *a, const Graph *g, const Machine *m)
{
    PlanFacts *f = tessi_plan_facts(a, g);
    Plan *p = tessi_plan_empty(f, m->name);
    p->gpu = tessi_machine_is_gpu(m);
    GRAPH_FOREACH_STAGE (g, id) {
        if (!tessi_plan_computes(f, id))
            continue;
        PlanGroup *group = tessi_plan_add_group(p, g, id);
        tessi_level_set_parallel(group, false);
        tessi_level_set_vector(group, false);
        group->split = SPLIT_NONE;
        if (p->gpu)
            tessi_plan_point_kernel(group);
        group->reason = "naive: by itself, every read tested";
    }
    return p;
}
