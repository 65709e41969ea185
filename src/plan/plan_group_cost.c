/* What a group costs by the point, of a plan for CPUs or GPUs, whoever made the plan: explanations, estimates of runs
 * and the choice among measured plans ask here. */
#include "plan/needs.h"
#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

typedef struct Pricing {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    const PlanGroup *group;
} Pricing;

/* ---- Loops of CPUs --------------------------------------------------------------------------- */

static bool has_windows(const PlanFacts *f, const StageList *stages)
{
    bool any = false;
    VEC_FOREACH (const StageId, s, stages)
        any = any || f->has_window[s->v];
    return any;
}

/* Stages computed together, several rows at once or down a band; vectors side by side where they have windows. */
static RowCost cost_of_loops(const Pricing *c, const StageList *stages, const PlanLevels *levels)
{
    const PlanGroup *group = c->group;
    const bool windows = has_windows(c->f, stages);
    const uint8_t rows = tessi_level_rows(levels);
    const uint16_t band = tessi_level_band(levels), roll = tessi_level_roll(&group->levels);
    const int64_t tile = band ? tessi_level_tile(group, group->n_dims - 2) : 0;
    const int64_t most = roll ? roll : tile ? tile : band;
    if (band)
        return tessi_plan_cost_of_carrying(c->f, c->an, c->m, c->p, stages, rows,
                                           (uint32_t)(most < band ? most : band));
    RowCost cost = tessi_plan_cost_of_rows(c->f, c->an, c->m, c->p, stages, windows ? 1 : rows);
    if (windows && rows > 1)
        cost.seconds -= tessi_plan_shared_seconds(c->f, c->m, stages);
    return cost;
}

static void add_passes(const Pricing *c, const RowCost *members, GroupCost *x)
{
    const PlanGroup *group = c->group;
    RowCost *cost = ARENA_NEW_ARRAY(c->f->arena, RowCost, group->passes.n);
    PlanRegions regions = { 0 };
    double operations = members->operations, once = members->once;
    for (uint32_t i = 0; i < group->passes.n; i++) {
        const PlanPass *pass = &group->passes.at[i];
        cost[i] = cost_of_loops(c, &pass->stages, &pass->levels);
        operations += cost[i].operations;
        once += cost[i].once;
    }
    tessi_plan_regions(c->f, c->p, group, &regions);
    const PlanTile tile =
        tessi_plan_cost_of_tile(c->f, c->m, group, &regions, cost, members, x->traffic.images,
                                tessi_level_tile_all(group).of, tessi_level_roll(&group->levels));
    x->compute = tile.seconds;
    x->overlap = tile.overlap;
    x->operations = operations * tile.overlap;
    for (uint32_t i = 0; i < group->passes.n; i++)
        x->crossing += cost[i].crossing * tile.overlap;
    x->inlined = once > 0 ? operations / once : 1;
}

static void price_loops(const Pricing *c, GroupCost *x)
{
    const PlanGroup *group = c->group;
    StageList list = { 0 };
    tessi_plan_own_members(c->f->arena, group, &list);
    x->memory = tessi_plan_traffic_seconds(c->m, &x->traffic);
    if (group->strip) {
        x->compute = group->transform ? tessi_plan_transform_seconds(c->f, c->m, group)
                                      : tessi_plan_median_seconds(c->f, c->m, group);
    } else {
        RowCost cost = cost_of_loops(c, &list, &group->levels);
        cost.seconds += 2.0 * (group->members.n - list.n)
                        * tessi_plan_load_seconds(c->m, TYPE_F32); /* copied */
        x->operations = cost.operations;
        x->crossing = cost.crossing;
        x->inlined = cost.once > 0 ? cost.operations / cost.once : 1;
        x->compute = cost.seconds;
        if (tessi_level_tile(group, 0))
            add_passes(c, &cost, x);
        else if (group->passes.n)
            x->compute += cost_of_loops(c, &group->passes.at[0].stages, &group->levels).seconds;
        else
            x->compute += tessi_plan_reread_seconds(c->f, c->m, &list,
                                                    tessi_level_rows(&group->levels), INT32_MAX);
    }
    x->seconds = tessi_plan_together(c->m, x->compute, x->memory);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Of kernels whose instructions alone are counted, and not one by one. */
static KernelCost cost_as_a_whole(double seconds)
{
    return (KernelCost){ .seconds = seconds, .busy_seconds = seconds };
}

static KernelCost cost_of_kernel(const Pricing *c)
{
    const PlanGroup *group = c->group;
    switch (tessi_plan_kernel(group)) {
    case KERNEL_TILE: return tessi_plan_tile_cost(c->f, c->an, c->m, c->p, group);
    case KERNEL_WARP: return tessi_plan_warp_cost(c->f, c->an, c->m, c->p, group);
    case KERNEL_TRANSFORM: return cost_as_a_whole(tessi_plan_transform_seconds(c->f, c->m, group));
    case KERNEL_MEDIAN: return cost_as_a_whole(tessi_plan_median_seconds(c->f, c->m, group));
    case KERNEL_PRODUCT: return tessi_plan_product_cost(c->f, c->m, group);
    default: return tessi_plan_kernel_cost(c->f, c->an, c->m, c->p, group);
    }
}

static void price_kernel(const Pricing *c, GroupCost *x)
{
    const KernelCost cost = x->kernel = cost_of_kernel(c);
    x->memory = tessi_plan_traffic_seconds(c->m, &x->traffic);
    x->operations = cost.operations;
    x->inlined = cost.once > 0 ? cost.operations / cost.once : 1;
    x->compute = cost.issue_seconds > cost.cache_seconds ? cost.issue_seconds : cost.cache_seconds;
    x->compute = x->compute > cost.busy_seconds ? x->compute : cost.busy_seconds;
    x->seconds = cost.seconds;
    /* The model has no price for kernels that it would not choose: they spill, or are one block at a time. */
    const double least = x->compute > x->memory ? x->compute : x->memory;
    x->seconds = x->seconds > least ? x->seconds : least;
}

GroupCost tessi_plan_group_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group)
{
    const Pricing c = { f, an, m, p, group };
    GroupCost x = { .traffic = tessi_plan_traffic(f, p, group), .inlined = 1, .overlap = 1 };
    (p->gpu ? price_kernel : price_loops)(&c, &x);
    return x;
}
