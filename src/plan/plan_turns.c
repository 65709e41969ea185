/* Several groups as one kernel of warps whose blocks are the whole image: stages in lanes, borders answered there, so
 * that an image is read and written once for all of them. They are the turns of a repeat that are computed as one,
 * stages of stacks that read each other, or windows of many rows: a kernel has one of them after the other, and what
 * comes of them is stored for the next. */
#include <string.h>

#include "plan/needs.h"
#include "plan/plan_costs.h"
#include "plan/plan_groups.h"
#include "plan/plan_passes.h"

typedef struct Turns {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    bool *of;     /* by StageId: the kernel computes it */
    bool *stored; /* by StageId: others find it in memory */
    bool turns;   /* they are turns of a repeat */
} Turns;

static bool is_of(const Turns *c, const PlanGroup *group)
{
    return c->of[group->members.at[0].v];
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
        *stages += c->of[id.v] && tessi_plan_computes(c->f, id);
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
        together = together && !tessi_plan_has_own_loops(group) && group->n_dims >= 2;
        *made = *group;
    }
    made->members = (StageList){ 0 };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (!c->of[id.v] || !tessi_plan_computes(c->f, id))
            continue;
        together = together && s->kind == STAGE_COMPUTE && tessi_stage_is_plain(g, s)
                   && (c->stored[id.v] || c->f->can_inline[id.v]);
        if (!c->stored[id.v]) {
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

/* Columns of a thread: a vector of the widest elements; 0 where turns have some that are less than a register. */
static uint8_t columns_of(const Turns *c, const Plan *plan, const PlanGroup *made)
{
    uint32_t least = 8, most = 4;
    Needs needs = { 0 };
    tessi_needs_of_group(c->f, c->f->arena, plan, made, &needs);
    VEC_FOREACH (const Need, need, &needs.at) {
        const Stage *s = tessi_stage(c->f->g, need->stage);
        if (s->n_dims != made->n_dims)
            continue;
        const uint32_t bytes = tessi_type_info(s->type)->bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    return (uint8_t)(least < 4 && c->turns ? 0 : 16 / most);
}

/* The best such kernel so far. */
typedef struct Best {
    KernelCost cost;
    PlanGroup group;
    Plan with;
} Best;

/* Later rows, or planes, read what a step has computed or read. */
static bool keeps_some(const Turns *c, const Plan *plan, const PlanGroup *group)
{
    PlanWarp w;
    bool some = false;
    tessi_plan_warp(c->f, plan, group, &w);
    VEC_FOREACH (const PlanHeld, h, &w.held)
        some = some || h->keep;
    return some;
}

/* Images that are not large may be worth strips of few rows, so that there are enough of them. */
static void try_kernel(const Turns *c, const Plan *plan, const PlanGroup *made,
                       const uint8_t *outputs, uint16_t warps, Best *best)
{
    enum { LOW = 4 }; /* rows */
    Plan tried = *plan;
    PlanGroup group = *made;
    tried.stage = ARENA_NEW_ARRAY(c->f->arena, PlanStage, plan->n_stages);
    memcpy(tried.stage, plan->stage, plan->n_stages * sizeof *plan->stage);
    if (tessi_plan_make_warp_edges(c->f, &tried, &group, outputs, warps ? warps : 1, warps > 0)
        || !keeps_some(c, &tried, &group))
        return;
    PlanMarch march = tessi_level_march(&group.levels);
    const uint16_t least = march.planes || c->f->points >= PLAN_LARGE_POINTS ? march.least : LOW;
    for (; march.least >= least; march.least /= 2) {
        tessi_level_set_march(&group.levels, march);
        const KernelCost cost = tessi_plan_warp_cost(c->f, c->an, c->m, &tried, &group);
        if (cost.feasible
            && (!best->cost.feasible || cost.seconds < c->m->rows_gain * best->cost.seconds))
            *best = (Best){ cost, group, tried };
    }
}

/* The best such kernel, and the placement of stages with it. Of wide elements two vectors are tried as well: half as
 * many lanes are spent on the overlap. Stacks are gone through plane by plane, by blocks of warps one above the other,
 * which share the rows that they read. */
static KernelCost best_kernel(const Turns *c, Plan *plan, PlanGroup *made)
{
    enum { TALL = 4 };
    static const uint8_t rows[] = { 2, 4, 1 }, lines[] = { 4, 6, 2, 3, 1 };
    Best best = { .group = *made, .with = *plan };
    const uint8_t columns = columns_of(c, plan, made), widths = columns && columns < 4 ? 2 : 1;
    for (size_t k = 0;
         columns && (c->turns || made->n_dims == 2) && k < widths * sizeof rows / sizeof *rows; k++)
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
                      "all %s in lanes, with %d x %d outputs a thread: %lld fs a point (memory "
                      "%lld, %lld instructions %lld), about %lld registers; %lld fs in %u kernels",
                      c->turns ? "turns" : "stages", tessi_level_outputs(&made->levels, 0),
                      tessi_level_outputs(&made->levels, 1), tessi_plan_fs(cost->seconds),
                      tessi_plan_fs(cost->dram_seconds), tessi_plan_amount(cost->instructions),
                      tessi_plan_fs(cost->issue_seconds), (long long)cost->registers,
                      tessi_plan_fs(apart), (unsigned)groups));
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
            p->stage[v] = (PlanStage){ with->stage[v].placement,
                                       with->stage[v].placement == PLACE_MEMORY ? "a result"
                                       : c->turns ? "computed with the other turns"
                                                  : "read at a distance" };
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

/* All stages add and multiply as they are read. What roots, divisions and conversions compute with takes registers that
 * the model does not see: two of two such stacks spilled, and took longer than apart. */
static bool is_plain(const Turns *c)
{
    bool plain = true;
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        const StageCost *cost = &c->an->cost[id.v];
        if (c->of[id.v] && tessi_plan_computes(c->f, id))
            plain = plain && !(cost->conversions > 0) && !(cost->ops[OPC_DIV] > 0)
                    && !(cost->ops[OPC_SQRT] > 0) && !(cost->ops[OPC_MATH] > 0)
                    && !(cost->ops[OPC_SORT] > 0);
    }
    return plain;
}

/* Of the time of what stands there a kernel of warps may take so much. One with a frame is three kernels, which take
 * longer than their price says; tiles of turns that are computed again are much more code. */
static double gain_wanted(const Turns *c, const PlanGroup *made, uint32_t groups)
{
    bool warps = groups == 1, again = false;
    if (!c->turns)
        return !tessi_level_march(&made->levels).planes ? c->m->small_gain
               : is_plain(c)                            ? c->m->stack_plain_gain
                                                        : c->m->stack_gain;
    VEC_FOREACH (const PlanGroup, group, &c->p->groups)
        warps = warps && (!is_of(c, group) || tessi_plan_kernel(group) == KERNEL_WARP);
    GRAPH_FOREACH_STAGE (c->f->g, id)
        again = again
                || (c->of[id.v] && tessi_plan_computes(c->f, id)
                    && c->p->stage[id.v].placement != PLACE_MEMORY);
    return warps ? c->m->turns_frame : again ? 1 / c->m->time_gain : c->m->small_gain;
}

/* As many blocks as are on the device at once; of kernels that go down planes some rounds of them. */
static void fill_device(const Turns *c, PlanGroup *made, const KernelCost *cost)
{
    const int64_t warps = tessi_level_threads(&made->levels, 0) / PLAN_WARP;
    const double rounds = tessi_level_march(&made->levels).planes ? c->m->warp_plane_waves : 1;
    made->resident = (uint8_t)(cost->threads / PLAN_WARP / warps);
    tessi_level_set_march_blocks(&made->levels,
                                 (uint32_t)((double)(made->resident * c->m->cores) * rounds));
}

/* Has them computed by one kernel where that is expected to be faster. */
static void choose(const Turns *c, Plan *p)
{
    const PlanFacts *f = c->f;
    Plan plan = *p, tried;
    PlanGroup made = { 0 };
    uint32_t groups = 0, stages = 0;
    const double apart = seconds_apart(c, &groups, &stages);
    plan.stage = ARENA_NEW_ARRAY(f->arena, PlanStage, p->n_stages);
    memcpy(plan.stage, p->stage, p->n_stages * sizeof *p->stage);
    if (!groups || (c->turns && stages < 2) || !gather(c, &plan, &made))
        return;
    const KernelCost cost = best_kernel(c, &plan, &made);
    if (!cost.feasible || cost.seconds > gain_wanted(c, &made, groups) * apart)
        return;
    fill_device(c, &made, &cost);
    explain(c, &plan, &made, &cost, apart, groups);
    tried = *p;
    tried.stage = ARENA_NEW_ARRAY(f->arena, PlanStage, p->n_stages);
    memcpy(tried.stage, p->stage, p->n_stages * sizeof *p->stage);
    tried.groups.at = ARENA_NEW_ARRAY(f->arena, PlanGroup, p->groups.n + 1);
    tried.groups.cap = p->groups.n + 1;
    memcpy(tried.groups.at, p->groups.at, p->groups.n * sizeof *p->groups.at);
    put_in_place(c, &plan, &made, &tried);
    tessi_plan_order(&tried, f);
    if (!tessi_plan_verify_with(f, &tried))
        *p = tried;
}

/* Of a repeat all stages of each turn; what only the condition needs is computed apart. */
static void choose_repeat(Turns *c, Plan *p, uint32_t repeat)
{
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        c->of[id.v] = tessi_stage(c->f->g, id)->repeat == repeat && !c->f->test[id.v];
        c->stored[id.v] = !c->f->can_inline[id.v];
    }
    choose(c, p);
}

/* Takes the stages that the group computes. */
static void take_group(Turns *c, const PlanGroup *group, bool last)
{
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            c->of[id->v] = true;
    VEC_FOREACH (const StageId, id, &group->members) {
        c->of[id->v] = true;
        c->stored[id->v] = last || c->f->returned[id->v];
    }
}

static bool can_march(const Turns *c, const PlanGroup *group)
{
    const KernelKind kernel = tessi_plan_kernel(group);
    const Stage *s = tessi_stage(c->f->g, group->members.at[0]);
    return (kernel == KERNEL_REGISTER || kernel == KERNEL_TILE || kernel == KERNEL_POINT)
           && group->n_dims > 1 && s->kind == STAGE_COMPUTE && !s->repeat;
}

/* The groups are several, and read or store elements of less than a register: other kernels of warps leave these to
 * register tiles, which pack them. */
static bool has_narrow(const Turns *c, const Plan *p)
{
    uint32_t groups = 0;
    bool narrow = false;
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        Needs needs = { 0 };
        if (!is_of(c, group))
            continue;
        groups++;
        tessi_needs_of_group(c->f, c->f->arena, p, group, &needs);
        VEC_FOREACH (const Need, need, &needs.at)
            narrow = narrow || tessi_type_info(tessi_stage(c->f->g, need->stage)->type)->bytes < 4;
    }
    return groups > 1 && narrow;
}

/* Of a stack the stages of a group, and of all groups that are read by these alone. */
static void choose_stack(Turns *c, Plan *p, uint32_t last)
{
    const uint32_t n = c->f->g->stages.n;
    uint32_t *group_of = ARENA_NEW_ARRAY(c->f->arena, uint32_t, n);
    const StageList *readers = tessi_plan_readers(c->f, p);
    memset(c->of, 0, n * sizeof *c->of);
    memset(c->stored, 0, n * sizeof *c->stored);
    for (uint32_t i = 0; i < p->groups.n; i++)
        VEC_FOREACH (const StageId, id, &p->groups.at[i].members)
            group_of[id->v] = i + 1;
    take_group(c, &p->groups.at[last], true);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < p->groups.n; i++) {
            const PlanGroup *group = &p->groups.at[i];
            const uint32_t reader =
                tessi_plan_only_reader(c->f, readers, group_of, p->groups.at, i);
            if (!reader || is_of(c, group) || !is_of(c, &p->groups.at[reader - 1])
                || !can_march(c, group))
                continue;
            take_group(c, group, false);
            more = true;
        }
    }
    if (p->groups.at[last].n_dims > 2 || has_narrow(c, p))
        choose(c, p);
}

/* The group that computes the latest stage of those that are not done; false: none is left. */
static bool latest_group(const Plan *p, const bool *done, uint32_t *latest)
{
    uint32_t stage = 0;
    for (uint32_t i = 0; i < p->groups.n; i++)
        VEC_FOREACH (const StageId, id, &p->groups.at[i].members)
            if (!done[id->v] && id->v > stage) {
                stage = id->v;
                *latest = i;
            }
    return stage;
}

/* Readers before what they read. */
static void choose_stacks(Turns *c, Plan *p)
{
    bool *done = ARENA_NEW_ARRAY(c->f->arena, bool, c->f->g->stages.n);
    uint32_t i = 0;
    while (latest_group(p, done, &i)) {
        VEC_FOREACH (const StageId, id, &p->groups.at[i].members)
            done[id->v] = true;
        if (can_march(c, &p->groups.at[i]))
            choose_stack(c, p, i);
    }
}

/* ---- Windows of many rows -------------------------------------------------------------------- */

enum {
    WIDE_ROWS = 8,  /* of a window, beside the point's own */
    MOST_LEVELS = 8 /* planning takes its time for each */
};

/* The stages of a plan as kernels in lanes that each go through windows of rows once: what comes of such windows and
 * is read at a distance, as two means that are averaged again, is stored. */
typedef struct Cuts {
    const Turns *c;
    uint8_t dim;     /* of rows */
    bool *far;       /* by StageId: some stage reads it at a distance */
    bool *rows;      /* the kernel that computes it goes through a window of rows for it */
    uint32_t *level; /* of the kernel, from 1 on; images: 0 */
    uint32_t levels;
    bool wide; /* some window has many rows */
} Cuts;

static bool is_cut(const Cuts *k, StageId id)
{
    return k->rows[id.v] && k->far[id.v];
}

static void find_level(Cuts *k, StageId id)
{
    const PlanFacts *f = k->c->f;
    const PlanReads *reads = &f->reads[id.v];
    uint32_t *level = &k->level[id.v];
    int64_t lo = 0, hi = 0;
    *level = 1;
    VEC_FOREACH (const PlanRead, r, reads) {
        const uint32_t least = k->level[r->producer.v] + (!r->same_point && is_cut(k, r->producer));
        *level = least > *level ? least : *level;
    }
    VEC_FOREACH (const PlanRead, r, reads) {
        if (!r->access.v || tessi_stage(f->g, r->producer)->n_dims <= k->dim)
            continue;
        const AccessRange rows =
            tessi_access_range(f->g, &tessi_access(f->g, r->access)->dim[k->dim]);
        lo = rows.lo < lo ? rows.lo : lo;
        hi = rows.hi > hi ? rows.hi : hi;
        k->rows[id.v] =
            k->rows[id.v] || (k->level[r->producer.v] == *level && k->rows[r->producer.v]);
    }
    k->rows[id.v] = k->rows[id.v] || lo < hi;
    k->wide = k->wide || hi - lo >= WIDE_ROWS;
    k->levels = *level > k->levels ? *level : k->levels;
}

/* Whether all that the plan computes is one chain of points of images of one size, and the kernels that it comes to. */
static bool find_cuts(Cuts *k, const Plan *p)
{
    const PlanFacts *f = k->c->f;
    const PlanGroup *last = NULL;
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        if (!can_march(k->c, group) || group->n_dims != 2)
            return false;
        last = group;
    }
    if (!last)
        return false;
    k->dim = (uint8_t)(last->n_dims - 2);
    k->far = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n);
    k->rows = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n);
    k->level = ARENA_NEW_ARRAY(f->arena, uint32_t, f->g->stages.n);
    GRAPH_FOREACH_STAGE (f->g, id)
        VEC_FOREACH (const PlanRead, r, &f->reads[id.v])
            k->far[r->producer.v] = k->far[r->producer.v] || !r->same_point;
    GRAPH_FOREACH_STAGE (f->g, id)
        if (tessi_plan_computes(f, id))
            find_level(k, id);
    return k->wide && k->levels <= MOST_LEVELS;
}

/* The stages of a kernel, and which of them are stored. */
static void take_level(Turns *c, const Cuts *k, uint32_t level)
{
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        c->of[id.v] = k->level[id.v] == level && tessi_plan_computes(c->f, id);
        c->stored[id.v] = c->of[id.v] && (is_cut(k, id) || !c->f->can_inline[id.v]);
    }
    GRAPH_FOREACH_STAGE (c->f->g, id) /* what a later kernel reads at the point itself */
        VEC_FOREACH (const PlanRead, r, &c->f->reads[id.v])
            if (c->of[r->producer.v] && k->level[id.v] != level)
                c->stored[r->producer.v] = true;
}

/* Each window of many rows in lanes, where that is expected to be faster than what stands there. */
static void choose_windows(Turns *c, Plan *p)
{
    const PlanFacts *f = c->f;
    Cuts k = { .c = c };
    if (!find_cuts(&k, p))
        return;
    Plan plan = *p;
    double seconds = 0, apart = 0;
    plan.stage = ARENA_NEW_ARRAY(f->arena, PlanStage, p->n_stages);
    memcpy(plan.stage, p->stage, p->n_stages * sizeof *p->stage);
    plan.groups.at = ARENA_NEW_ARRAY(f->arena, PlanGroup, k.levels);
    plan.groups.n = plan.groups.cap = 0;
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        apart += tessi_plan_group_cost(f, c->an, c->m, p, group).seconds;
    for (uint32_t level = 1; level <= k.levels; level++) {
        PlanGroup made = { 0 };
        take_level(c, &k, level);
        if (!gather(c, &plan, &made))
            return;
        const KernelCost cost = best_kernel(c, &plan, &made);
        if (!cost.feasible)
            return;
        seconds += cost.seconds;
        explain(c, &plan, &made, &cost, apart, p->groups.n);
        fill_device(c, &made, &cost);
        plan.groups.at[plan.groups.n++] = made;
    }
    if (seconds > c->m->window_lanes_gain * apart)
        return;
    for (uint32_t v = 0; v < p->n_stages; v++)
        if (plan.stage[v].placement != p->stage[v].placement)
            plan.stage[v].reason = plan.stage[v].placement == PLACE_MEMORY
                                       ? "windows of rows have come to it, and others read it"
                                       : "read at a distance";
    tessi_plan_order(&plan, f);
    if (!tessi_plan_verify_with(f, &plan))
        *p = plan;
}

void tessi_plan_choose_turns(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    Turns c = { .f = f, .an = an, .m = m, .p = p, .turns = true };
    c.of = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n);
    c.stored = ARENA_NEW_ARRAY(f->arena, bool, f->g->stages.n);
    for (uint32_t k = 1; k <= f->g->repeats.n; k++)
        choose_repeat(&c, p, k);
    c.turns = false;
    choose_stacks(&c, p);
    choose_windows(&c, p);
}
