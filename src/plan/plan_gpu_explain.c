/* What the model expects of a kernel, as reasons: bytes, operations, what is computed more than once, time and what
 * bounds it, and the gain of telling blocks inside from those at borders. */
#include "plan/plan_costs.h"

const char *tessi_plan_split_reason(Arena *a, const Machine *m, const PlanGroup *group,
                                    const KernelCost *cost)
{
    const double blocks = tessi_plan_split_gain(m, group, cost, SPLIT_INTERIOR);
    double points =
        (double)tessi_level_outputs(&group->levels, 0) * tessi_level_outputs(&group->levels, 1);
    if (tessi_plan_kernel(group) == KERNEL_TILE)
        points = (double)(tessi_level_tile(group, group->n_dims - 1)
                          * tessi_level_tile(group, group->n_dims - 2))
                 / tessi_level_threads(&group->levels, 0);
    const char *what = group->split == SPLIT_NONE   ? "rules everywhere"
                       : group->split == SPLIT_WARP ? "warps inside without rules"
                       : group->split == SPLIT_EDGES
                           ? "blocks inside without rules, those at the "
                             "edges by a kernel that has its own registers"
                           : "blocks inside without rules";
    Text t = tessi_text_new(a);
    tessi_text_addf(&t, "%s: gain of splitting by blocks G = %.2f", what, blocks);
    if (tessi_plan_kernel(group) == KERNEL_POINT
        && tessi_level_threads(&group->levels, 0) == PLAN_WARP && group->n_dims >= 2)
        tessi_text_addf(&t, ", by warps G = %.2f",
                        tessi_plan_split_gain(m, group, cost, SPLIT_WARP));
    tessi_text_addf(&t, " (rules: %lld instructions a thread of %lld%s)",
                    tessi_plan_amount(cost->rule_instructions),
                    tessi_plan_amount(cost->plain_instructions * points),
                    cost->chain ? "; stages computed again share less at edges" : "");
    return tessi_text_str(&t);
}

const char *tessi_plan_kernel_reason(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                     const KernelCost *cost)
{
    Arena *a = f->arena;
    const PlanTraffic traffic = tessi_plan_traffic(f, p, group);
    const double busy =
        cost->issue_seconds > cost->cache_seconds ? cost->issue_seconds : cost->cache_seconds;
    Text t = tessi_text_new(a);
    tessi_text_addf(&t,
                    "%s B read and %s B written a point, %lld fs; %s operation%s, %lld "
                    "instructions, %lld fs; together %lld fs, bound by %s",
                    tessi_plan_number(a, traffic.read), tessi_plan_number(a, traffic.written),
                    tessi_plan_fs(cost->dram_seconds), tessi_plan_number(a, cost->operations),
                    cost->operations == 1 ? "" : "s", tessi_plan_amount(cost->instructions),
                    tessi_plan_fs(cost->issue_seconds), tessi_plan_fs(cost->seconds),
                    cost->dram_seconds > busy                   ? "memory"
                    : cost->cache_seconds > cost->issue_seconds ? "loads from near caches"
                                                                : "instructions");
    if (cost->once > 0 && cost->operations > 1.005 * cost->once)
        tessi_text_addf(&t, "\n%s times the operations of computing each stage once",
                        tessi_plan_number(a, cost->operations / cost->once));
    return tessi_text_str(&t);
}
