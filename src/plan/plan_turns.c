/* Turns of a repeat that are computed as one, as one kernel of warps: each turn's stages in lanes, its borders
 * answered there, so that an image is read and written once for all of them. */
#include <string.h>

#include "plan/plan_costs.h"
#include "plan/plan_passes.h"

typedef struct Turns {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    uint32_t repeat; /* its number */
} Turns;

/* Of each turn; what only the condition needs is computed apart. */
static bool is_of_turn(const Turns *c, StageId id)
{
    return tessi_stage(c->f->g, id)->repeat == c->repeat && !c->f->test[id.v];
}

static bool is_of(const Turns *c, const PlanGroup *group)
{
    return is_of_turn(c, group->members.at[0]);
}

/* What the groups of the repeat cost as they are, a point of each; how many there are. */
static double seconds_apart(const Turns *c, uint32_t *n, uint32_t *stages)
{
    double seconds = 0;
    VEC_FOREACH (const PlanGroup, group, &c->p->groups) {
        if (!is_of(c, group))
            continue;
        seconds += tessi_plan_group_cost(c->f, c->an, c->m, c->p, group).seconds;
        ++*n;
    }
    GRAPH_FOREACH_STAGE (c->f->g, id)
        *stages += is_of_turn(c, id) && tessi_plan_computes(c->f, id);
    return seconds;
}

/* One group of all stages of the repeat: what later turns and others find in memory are its members. False: some
 * cannot be computed with the others. */
static bool gather(const Turns *c, Plan *plan, PlanGroup *made)
{
    const Graph *g = c->f->g;
    bool together = true;
    VEC_FOREACH (const PlanGroup, group, &c->p->groups) {
        if (!is_of(c, group))
            continue;
        together = together && !group->transform && !group->median && group->n_dims >= 2;
        *made = *group;
    }
    made->members = (StageList){ 0 };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (!is_of_turn(c, id) || !tessi_plan_computes(c->f, id))
            continue;
        together = together && s->kind == STAGE_COMPUTE && tessi_stage_is_plain(g, s);
        if (c->f->can_inline[id.v]) {
            plan->stage[id.v].placement = PLACE_INLINE;
            continue;
        }
        plan->stage[id.v].placement = PLACE_MEMORY;
        VEC_PUSH(c->f->arena, &made->members, id);
    }
    if (!together || !made->members.n)
        return false;
    const Stage *first = tessi_stage(g, made->members.at[0]);
    made->name = first->name;
    made->reason = "";
    VEC_FOREACH (const StageId, id, &made->members)
        together = together && tessi_stage_same_domain(first, tessi_stage(g, *id));
    return together;
}

/* Columns of a thread: a vector of the widest elements that are carried; 0 where some are less than a register. */
static uint8_t columns_of(const Turns *c, const PlanGroup *made)
{
    uint32_t least = 8, most = 1;
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        const Stage *s = tessi_stage(c->f->g, id);
        if (s->repeat != c->repeat || s->n_dims != made->n_dims)
            continue;
        const uint32_t bytes = tessi_type_info(s->type)->bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    return (uint8_t)(least < 4 ? 0 : 16 / most);
}

/* The best such kernel so far. */
typedef struct Best {
    KernelCost cost;
    PlanGroup group;
    Plan with;
} Best;

static void try_kernel(const Turns *c, const Plan *plan, const PlanGroup *made,
                       const uint8_t *outputs, uint16_t warps, Best *best)
{
    Plan tried = *plan;
    PlanGroup group = *made;
    tried.stage = ARENA_NEW_ARRAY(c->f->arena, PlanStage, plan->n_stages);
    memcpy(tried.stage, plan->stage, plan->n_stages * sizeof *plan->stage);
    if (tessi_plan_make_warp_edges(c->f, &tried, &group, outputs, warps ? warps : 1, warps > 0))
        return;
    const KernelCost cost = tessi_plan_warp_cost(c->f, c->an, c->m, &tried, &group);
    if (!cost.feasible
        || (best->cost.feasible && cost.seconds >= c->m->rows_gain * best->cost.seconds))
        return;
    *best = (Best){ cost, group, tried };
}

/* The best such kernel, and the placement of stages with it. Of wide elements two vectors are tried as well: half as
 * many lanes are spent on the overlap. Stacks are gone through plane by plane, by blocks of warps one above the other,
 * which share the rows that they read. */
static KernelCost best_kernel(const Turns *c, Plan *plan, PlanGroup *made)
{
    enum { TALL = 4 };
    static const uint8_t rows[] = { 2, 4, 1 }, lines[] = { 4, 6, 2, 3, 1 };
    Best best = { .group = *made, .with = *plan };
    const uint8_t columns = columns_of(c, made), widths = columns && columns < 4 ? 2 : 1;
    for (size_t k = 0; columns && k < widths * sizeof rows / sizeof *rows; k++)
        try_kernel(c, plan, made,
                   (uint8_t[2]){ (uint8_t)(columns << k % widths), rows[k / widths] }, 0, &best);
    for (size_t k = 0; columns && made->n_dims > 2 && k < sizeof lines; k++)
        try_kernel(c, plan, made, (uint8_t[2]){ columns, lines[k] }, TALL, &best);
    *made = best.group;
    *plan = best.with;
    return best.cost;
}

static void explain(const Turns *c, const Plan *plan, PlanGroup *made, const KernelCost *cost,
                    double apart, uint32_t groups)
{
    Arena *a = c->f->arena;
    tessi_plan_add_reason(
        a, &made->reason,
        tessi_sprintf(a,
                      "all turns in lanes, with %d x %d outputs a thread: %lld fs a point (memory "
                      "%lld, %lld instructions %lld), about %lld registers; %lld fs in %u kernels",
                      tessi_level_outputs(&made->levels, 0), tessi_level_outputs(&made->levels, 1),
                      tessi_plan_fs(cost->seconds), tessi_plan_fs(cost->dram_seconds),
                      tessi_plan_amount(cost->instructions), tessi_plan_fs(cost->issue_seconds),
                      (long long)cost->registers, tessi_plan_fs(apart), (unsigned)groups));
    tessi_plan_add_reason(a, &made->reason, tessi_plan_kernel_reason(c->f, plan, made, cost));
    tessi_plan_add_reason(a, &made->reason,
                          "steps at the edges answer rules in what is held, others none");
}

static void put_in_place(const Turns *c, const Plan *with, const PlanGroup *made, Plan *p)
{
    uint32_t n = 0;
    bool placed = false;
    for (uint32_t v = 0; v < p->n_stages; v++)
        if (with->stage[v].placement != p->stage[v].placement)
            p->stage[v] =
                (PlanStage){ with->stage[v].placement, with->stage[v].placement == PLACE_MEMORY
                                                           ? "a result"
                                                           : "computed with the other turns" };
    for (uint32_t i = 0; i < p->groups.n; i++) {
        const bool own = is_of(c, &p->groups.at[i]);
        if (!own)
            p->groups.at[n++] = p->groups.at[i];
        else if (!placed)
            p->groups.at[n++] = *made;
        placed = placed || own;
    }
    p->groups.n = n;
}

/* Of the time of what stands there a kernel of warps may take so much. One with a frame is three kernels, which take
 * longer than their price says; tiles of turns that are computed again are much more code. */
static double gain_wanted(const Turns *c, uint32_t groups)
{
    bool warps = groups == 1, again = false;
    VEC_FOREACH (const PlanGroup, group, &c->p->groups)
        warps = warps && (!is_of(c, group) || tessi_plan_kernel(group) == KERNEL_WARP);
    GRAPH_FOREACH_STAGE (c->f->g, id)
        again = again
                || (is_of_turn(c, id) && tessi_plan_computes(c->f, id)
                    && c->p->stage[id.v].placement != PLACE_MEMORY);
    return warps ? c->m->turns_frame : again ? 1 / c->m->time_gain : c->m->small_gain;
}

/* Has the repeat computed by one kernel where that is expected to be faster. */
static void choose(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p,
                   uint32_t repeat)
{
    const Turns c = { f, an, m, p, repeat };
    Plan plan = *p, tried;
    PlanGroup made = { 0 };
    uint32_t groups = 0, stages = 0;
    const double apart = seconds_apart(&c, &groups, &stages);
    plan.stage = ARENA_NEW_ARRAY(f->arena, PlanStage, p->n_stages);
    memcpy(plan.stage, p->stage, p->n_stages * sizeof *p->stage);
    if (!groups || stages < 2 || !gather(&c, &plan, &made))
        return;
    const KernelCost cost = best_kernel(&c, &plan, &made);
    if (!cost.feasible || cost.seconds > gain_wanted(&c, groups) * apart)
        return;
    const int64_t warps = tessi_level_threads(&made.levels, 0) / PLAN_WARP;
    const bool planes = tessi_level_march(&made.levels).planes;
    made.resident = (uint8_t)(cost.threads / PLAN_WARP / warps);
    tessi_level_set_march_blocks(&made.levels, (uint32_t)((double)(made.resident * m->cores)
                                                          * (planes ? m->warp_plane_waves : 1)));
    explain(&c, &plan, &made, &cost, apart, groups);
    tried = *p;
    tried.stage = ARENA_NEW_ARRAY(f->arena, PlanStage, p->n_stages);
    memcpy(tried.stage, p->stage, p->n_stages * sizeof *p->stage);
    tried.groups.at = ARENA_NEW_ARRAY(f->arena, PlanGroup, p->groups.n + 1);
    tried.groups.cap = p->groups.n + 1;
    memcpy(tried.groups.at, p->groups.at, p->groups.n * sizeof *p->groups.at);
    put_in_place(&c, &plan, &made, &tried);
    tessi_plan_order(&tried, f);
    if (!tessi_plan_verify_with(f, &tried))
        *p = tried;
}

void tessi_plan_choose_turns(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    for (uint32_t k = 1; k <= f->g->repeats.n; k++)
        choose(f, an, m, p, k);
}
