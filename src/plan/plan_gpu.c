/* The planner for GPUs: recompute a stage in its readers' tiles when that costs less than a trip through memory,
 * compute together what shares a domain and reads the same images, and choose for each group the kernel that the
 * cost model likes best. */
#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"
#include "plan/plan_groups.h"

/* Instructions of all kernels together beyond which compilers would take too long: threads compute fewer points. */
enum { MOST_PROGRAM = 1 << 17 };
/* The same before kernels are chosen: less is inlined. */
enum { MOST_NODES = 1 << 18, FEW_NODES = 50 };
/* Stages of a graph whose placements are searched. */
enum { MOST_SEARCHED = 48 };
enum {
    TILE = 4
}; /* columns and rows that a thread is supposed to compute when stages are placed */

typedef struct Chooser {
    const PlanFacts *f;
    PlanFacts *facts; /* the same, to limit what threads compute */
    const Analysis *an;
    const Machine *m;
    Plan *p;
    double *seconds;     /* by StageId: computing one point, inlined stages included */
    double *evaluations; /* by StageId: a point, were it inlined: in tiles that share */
    PlanCodeSize size;   /* of the code of one evaluation */
    uint32_t *group_of;  /* by StageId: group + 1 */
    const char **why;    /* by StageId: why it must be in memory; NULL = it need not */
    double total;        /* of the kernels chosen so far: a point of each group */
    int64_t most_nodes;  /* of a stencil that is inlined */
    double code;         /* of the same: instructions of a thread of each */
} Chooser;

/* ---- Placement ------------------------------------------------------------------------------- */

/* Evaluations of `producer` a point of a tile of `consumer`. */
static double evaluations_by(const Chooser *c, StageId consumer, StageId producer)
{
    OffsetSet tile = { 0 }, places = { 0 };
    const bool tiles = tessi_plan_can_unroll(c->f, consumer);
    const int64_t n = tiles ? TILE : 1;
    for (int64_t y = 0; y < n; y++)
        for (int64_t x = 0; x < n; x++)
            tessi_plan_add_offset(c->f->arena, &tile, (Offset){ y, x });
    VEC_FOREACH (const PlanRead, r, &c->f->reads[consumer.v])
        if (r->producer.v == producer.v)
            tessi_plan_spread(c->f->arena, c->f->g, r, &tile, &places);
    return (places.at.n + places.loose) / (double)(n * n);
}

static void find_uses(Chooser *c)
{
    const Graph *g = c->f->g;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        StageId last = { 0 };
        VEC_FOREACH (const PlanRead, r, &c->f->reads[id.v]) {
            uint32_t p = r->producer.v;
            if (p != last.v) /* reads of one producer stand together */
                c->evaluations[p] += evaluations_by(c, id, r->producer) * r->readers / r->skipped;
            last = r->producer;
            if (s->kind != STAGE_COMPUTE && !c->f->unruled[p])
                c->why[p] =
                    "reductions read their source from memory where border rules answer for it";
            if (r->dynamic && tessi_stage(g, r->producer)->n_dims)
                c->why[p] = "read at computed places";
        }
    }
}

static void place(Chooser *c, StageId id)
{
    const Stage *s = tessi_stage(c->f->g, id);
    PlanStage *at = &c->p->stage[id.v];
    const StageCost *cost = &c->an->cost[id.v];
    c->seconds[id.v] = tessi_plan_op_seconds(c->m, cost, s->type);
    tessi_plan_size_stage(c->f, c->p, id, &c->size);
    StageId last = { 0 };
    VEC_FOREACH (const PlanRead, r, &c->f->reads[id.v]) {
        const bool inlined = c->p->stage[r->producer.v].placement == PLACE_INLINE;
        if (inlined && r->producer.v != last.v)
            c->seconds[id.v] += evaluations_by(c, id, r->producer) * c->seconds[r->producer.v];
        last = r->producer;
    }
    const double n = c->evaluations[id.v];
    const double again = n > 1 ? (n - 1) * c->seconds[id.v] : 0;
    const double trip = tessi_plan_trip_seconds(c->m, s->type);
    const bool small =
        c->size.nodes[id.v]
        <= (c->f->pointwise[id.v] ? (int64_t)c->m->pointwise_gpu_nodes : c->most_nodes);
    if (c->f->returned[id.v])
        at->reason = "a result";
    else if (s->kind != STAGE_COMPUTE)
        at->reason = "a reduction is computed once";
    else if (!tessi_stage_is_plain(c->f->g, s))
        at->reason = "made of parts, which are written one over the other";
    else if (c->why[id.v])
        at->reason = c->why[id.v];
    else if (c->f->has_window[id.v])
        at->reason = "has a window loop, which is run once a point";
    else if (!small)
        at->reason = tessi_sprintf(c->f->arena, "too large to repeat (%lld nodes)",
                                   (long long)c->size.nodes[id.v]);
    else if (c->size.depth[id.v] >= PLAN_MAX_INLINE_DEPTH)
        at->reason = tessi_plan_too_deep(c->f->arena);
    else if (s->n_dims && again > trip)
        at->reason = tessi_sprintf(c->f->arena,
                                   "computing it again would cost %lld fs a point, the trip "
                                   "through memory %lld fs",
                                   tessi_plan_fs(again), tessi_plan_fs(trip));
    else
        *at = (PlanStage){ PLACE_INLINE,
                           tessi_sprintf(c->f->arena,
                                         "computing it again costs %lld fs a point, a trip through "
                                         "memory would cost %lld fs",
                                         tessi_plan_fs(again), tessi_plan_fs(trip)) };
}

static void place_all(Chooser *c)
{
    GRAPH_FOREACH_STAGE (c->f->g, id)
        c->p->stage[id.v] = (PlanStage){ PLACE_MEMORY, "" };
    GRAPH_FOREACH_STAGE (c->f->g, id)
        if (tessi_plan_computes(c->f, id))
            place(c, id);
    tessi_plan_limit_code(c->f, c->p);
}

/* Of all functions. */
static int64_t nodes_of_all(Chooser *c)
{
    int64_t nodes = 0;
    tessi_plan_code_size(c->f, c->p, &c->size);
    GRAPH_FOREACH_STAGE (c->f->g, id)
        if (tessi_plan_computes(c->f, id) && c->size.depth[id.v]
            && c->p->stage[id.v].placement == PLACE_MEMORY)
            nodes += c->size.nodes[id.v];
    return nodes;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void add_to_groups(Chooser *c, StageId id)
{
    enum { LOOK_BACK = 8 };
    const Grouping g = { c->f, c->p, &c->size, c->group_of, LOOK_BACK, (int)c->m->kernel_nodes };
    const uint8_t n_dims = tessi_stage(c->f->g, id)->n_dims;
    PlanGroup alone = { .n_dims = n_dims, .reason = "" };
    tessi_levels_one_by_one(&alone.levels, n_dims);
    tessi_plan_choose_transform(c->f, c->m, id, &alone);
    tessi_plan_choose_median_kernel(c->f, c->an, c->m, id, &alone);
    tessi_plan_propose_product(c->f, c->an, c->m, c->p, id, &alone);
    tessi_plan_add_stage(&g, id, &alone);
    PlanGroup *group = &c->p->groups.at[c->group_of[id.v] - 1];
    if (group->members.n == 1)
        tessi_plan_median_kernel(&alone, group);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static const char *described(Chooser *c, const PlanGroup *group, const KernelCost *cost)
{
    const char *kind =
        tessi_plan_kernel(group) == KERNEL_ROLLING
            ? tessi_sprintf(c->f->arena, "%d columns a thread, sums of all rows of the window%s",
                            tessi_level_outputs(&group->levels, 0),
                            group->staged.n ? ", coefficients in constant memory" : "")
        : tessi_plan_kernel(group) == KERNEL_SWEEP ? tessi_sprintf(
              c->f->arena, "%d x %d outputs a thread, over their rows of pixels in turn",
              tessi_level_outputs(&group->levels, 0), tessi_level_outputs(&group->levels, 1))
        : tessi_plan_kernel(group) == KERNEL_REGISTER
            ? tessi_sprintf(c->f->arena, "%d x %d outputs a thread",
                            tessi_level_outputs(&group->levels, 0),
                            tessi_level_outputs(&group->levels, 1))
            : "one output a thread";
    return tessi_sprintf(
        c->f->arena, "%s: %lld fs a point, about %lld registers, %lld threads a multiprocessor",
        kind, tessi_plan_fs(cost->seconds), (long long)cost->registers, (long long)cost->threads);
}

/* Narrow blocks leave the least for the edges, and rows that neighbours read too had better be few of those of a
 * block. Of windows of which nobody says how many blocks are to fit, compilers keep all rows in registers: large
 * blocks would leave many unused. */
static void make_narrow(const Machine *m, PlanGroup *group, const KernelCost *cost)
{
    const double halos = cost->windows ? m->window_block_halos : m->block_halos;
    const int64_t far = (int64_t)halos * cost->halo[0];
    const int threads =
        tessi_level_threads(&group->levels, 0) * tessi_level_threads(&group->levels, 1);
    const int64_t rows =
        tessi_level_threads(&group->levels, 1) * tessi_level_outputs(&group->levels, 1);
    const bool high = cost->windows ? far > rows : cost->halo[0] > rows;
    if (group->split != SPLIT_EDGES && !high)
        return;
    tessi_level_set_threads(&group->levels, 0, PLAN_WARP);
    tessi_level_set_threads(&group->levels, 1, (uint16_t)(threads / PLAN_WARP));
    if (far > tessi_level_threads(&group->levels, 1) * tessi_level_outputs(&group->levels, 1)
        && threads <= PLAN_MAX_BLOCK / 2 && !cost->windows) {
        tessi_level_set_threads(&group->levels, 1,
                                (uint16_t)(2 * tessi_level_threads(&group->levels, 1)));
        group->resident = (uint8_t)((group->resident + 1) / 2);
    }
}

/* Whether blocks or warps inside are to be told from those at the edges. */
static const char *choose_split(Chooser *c, PlanGroup *group)
{
    group->split = SPLIT_NONE;
    const KernelCost cost = tessi_plan_kernel_cost(c->f, c->an, c->m, c->p, group);
    const double blocks = tessi_plan_split_gain(c->m, group, &cost, SPLIT_INTERIOR);
    double warps = 0;
    if (tessi_plan_kernel(group) == KERNEL_POINT
        && tessi_level_threads(&group->levels, 0) == PLAN_WARP && group->n_dims >= 2)
        warps = tessi_plan_split_gain(c->m, group, &cost, SPLIT_WARP);
    const double gain = c->m->split_gain;
    const bool one_path = c->f->few && tessi_plan_kernel(group) == KERNEL_REGISTER && !cost.windows;
    if ((blocks > gain || warps > gain) && !one_path)
        group->split = warps > gain * blocks ? SPLIT_WARP : SPLIT_INTERIOR;
    /* Of code without rules compilers make more than the count of instructions says. */
    const bool alone = cost.windows && (cost.long_code || group->resident);
    /* Of bytes, those beside a thread's own are read one by one where rules are answered. */
    const double thread = cost.plain_instructions * tessi_level_points(&group->levels);
    const bool bytes = cost.narrow && !one_path && 3 * cost.rule_instructions > thread
                       && 2 * cost.halo[1] >= tessi_level_outputs(&group->levels, 0);
    const bool apart = group->split == SPLIT_INTERIOR || alone || bytes;
    if (apart && tessi_plan_kernel(group) == KERNEL_REGISTER && !c->f->few
        && tessi_plan_stays_in_plane(c->f, c->p, group))
        group->split = SPLIT_EDGES;
    const char *reason = tessi_plan_split_reason(c->f->arena, c->m, group, &cost);
    if (tessi_plan_kernel(group) == KERNEL_REGISTER && !c->f->few)
        make_narrow(c->m, group, &cost);
    return reason;
}

/* The columns of the group's stages where they are known, and fewer than those of a wide block; else 0. */
static int64_t few_columns(const Chooser *c, const PlanGroup *group)
{
    enum { MANY = 256 };
    const Stage *s = tessi_stage(c->f->g, group->members.at[0]);
    int64_t n;
    if (s->n_dims < 2)
        return 0;
    const int x = s->n_dims - 1;
    const SizeId size = tessi_stage_lattice(c->f->g, s) ? s->pieces.at[0].count[x] : s->size[x];
    return tessi_size_is_const(c->f->g, size, &n) && n < MANY ? n : 0;
}

/* Threads of a block beyond the last column have nothing to do: they stand in more rows instead. */
static void fit_block(const Chooser *c, PlanGroup *group)
{
    const int64_t n = few_columns(c, group);
    const KernelKind kind = tessi_plan_kernel(group);
    uint16_t x = tessi_level_threads(&group->levels, 0), y = tessi_level_threads(&group->levels, 1);
    if (!n || (kind != KERNEL_POINT && kind != KERNEL_REGISTER)
        || tessi_split_is_by_warp(group->split))
        return;
    for (; x > 1 && x / 2 * tessi_level_outputs(&group->levels, 0) >= n; x /= 2)
        y *= 2;
    tessi_level_set_threads(&group->levels, 0, x);
    tessi_level_set_threads(&group->levels, 1, y);
}

/* A block of a few warps that is wide and covers 8 rows: long runs in memory, and rows that the cache near it holds
 * once. Where rows are read as columns too, high: long runs of both. */
static void shape_block(PlanGroup *group, bool crossed)
{
    enum { THREADS = 128, ROWS = 8, ACROSS = 4, DOWN = 16 };
    if (crossed) {
        tessi_level_set_threads(&group->levels, 0, ACROSS);
        tessi_level_set_threads(&group->levels, 1, DOWN);
        return;
    }
    const int rows = tessi_level_outputs(&group->levels, 1) < ROWS
                         ? ROWS / tessi_level_outputs(&group->levels, 1)
                         : 1;
    tessi_level_set_threads(&group->levels, 1, (uint16_t)(rows < 4 ? rows : 4));
    tessi_level_set_threads(&group->levels, 0,
                            (uint16_t)(THREADS / tessi_level_threads(&group->levels, 1)));
}

/* Compilers that know how many blocks are to fit load ahead as far as registers allow, and no further. Threads with
 * too few registers for what is on its way are no gain; sums of windows, whose warps wait for one another less, like
 * fewer threads and low blocks still. */
static uint8_t choose_resident(const Chooser *c, PlanGroup *group, const KernelCost *cost)
{
    enum { ROWS_OF_WARPS = 4 };
    if (cost->narrow || (cost->windows && c->f->few))
        return 0;
    if (cost->windows) {
        tessi_level_set_threads(&group->levels, 0, PLAN_WARP);
        tessi_level_set_threads(&group->levels, 1, ROWS_OF_WARPS);
    }
    const int64_t enough =
        (int64_t)(cost->windows ? c->m->enough_window_threads : c->m->enough_threads);
    const int64_t threads = cost->threads < enough ? cost->threads : enough;
    return (uint8_t)(threads
                     / (tessi_level_threads(&group->levels, 0)
                        * tessi_level_threads(&group->levels, 1)));
}

/* Some of what a kernel computes are small integers. */
static bool has_small(const Chooser *c, const PlanGroup *group)
{
    Needs needs = { 0 };
    bool small = false;
    tessi_needs(c->f, c->f->arena, c->p, group->members.at, group->members.n, &needs);
    VEC_FOREACH (const Need, need, &needs.at) {
        const uint32_t v = need->stage.v;
        small = small
                || (need->computed
                    && (c->f->small[v] > 0 || (c->m->pair_choices && c->f->small_choices[v] > 0)));
    }
    return small;
}

/* How much of the time of the best so far a kernel may take at most to be better. Launches hide what is little; of
 * tiles that are narrower, and of what is computed again, the model knows less than of more rows. */
static double better_than(const Chooser *c, const KernelCost *cost, bool narrower)
{
    return c->f->few                                  ? c->m->few_gain
           : cost->windows || cost->chain || narrower ? c->m->window_gain
                                                      : c->m->kernel_gain;
}

/* A kernel that a group can become, and its cost. */
typedef struct Kernel {
    PlanGroup group;
    KernelCost cost;
} Kernel;

/* Of samples a thread reads more columns than a vector has, or more rows than blocks have elsewhere: vectors of threads
 * side by side lie apart (levels of a pyramid, H100: 4 x 4 and 2 x 8 take 58 and 54 us, 2 x 4 and 2 x 2 50 and 49). */
static bool is_wide(const KernelCost *cost, uint32_t vector, uint32_t columns, uint32_t rows)
{
    enum { ROWS = 8, LEAST_COLUMNS = 2 };
    return (cost->steps[1] > 1 && columns * cost->steps[1] > vector && columns > LEAST_COLUMNS)
           || (cost->steps[0] > 1 && rows * cost->steps[0] > ROWS);
}

/* The fewest columns of a thread with several rows: one where pixels are whole vectors. Elements of others, stored one
 * by one, fill their sectors later where there are rows in between (12 bytes: 0.117 ms for 0.099). */
static uint32_t least_columns(const Chooser *c, const PlanGroup *group)
{
    enum { VECTOR = 16 };
    VEC_FOREACH (const StageId, member, &group->members)
        if (tessi_need_is_apart(c->f, *member) && c->f->pixel[member->v] % VECTOR == 0)
            return 1;
    return 2;
}

/* The best register tile of the group, where one is better than a point a thread, which `best` is. */
static void try_register_tiles(Chooser *c, const PlanGroup *group, Kernel *best)
{
    enum { HEIGHTS = 5, SIDE = 8 };
    /* heights of threads: the first unless others are better; 0 = no more */
    static const uint8_t stencil_rows[HEIGHTS] = { 4, 2, 1, 8 };
    static const uint8_t window_rows[HEIGHTS] = { 9, 7, 5, 4, 2 };
    bool tiles = true, windows = false;
    VEC_FOREACH (const StageId, member, &group->members) {
        windows = windows || c->f->has_window[member->v];
        tiles = tiles && tessi_plan_can_unroll(c->f, *member);
    }
    const bool small = has_small(c, group), crossed = tessi_plan_is_crossed(c->f, c->p, group);
    const uint8_t *rows = windows && !c->f->few ? window_rows : stencil_rows;
    const bool in_plane = tiles && tessi_plan_stays_in_plane(c->f, c->p, group);
    const uint32_t vector = tessi_plan_vector_columns(c->f, &group->members);
    const uint32_t square = vector < SIDE ? vector : SIDE; /* of rows that are read as columns */
    const int64_t few = few_columns(c, group);
    const uint32_t least = least_columns(c, group);
    const uint32_t classes =
        tessi_stage_lattice(c->f->g, tessi_stage(c->f->g, group->members.at[0]));
    const uint32_t most = c->facts->most_points / (classes ? classes : 1);
    for (uint32_t columns = vector; tiles && columns >= least; columns /= 2) {
        for (size_t i = 0; i < 2 * HEIGHTS && rows[i / 2]; i++) {
            bool whole = !few || few % columns == 0; /* else some thread has no whole tile */
            /* else vectors are short, of rows or of columns */
            whole = whole && (!crossed || (columns == square && rows[i / 2] >= columns));
            if (columns * rows[i / 2] == 1 || columns * rows[i / 2] > most
                || (i % 2 && (!small || classes)) || !whole)
                continue;
            PlanGroup tried = *group;
            tessi_plan_set_kernel(&tried, KERNEL_REGISTER);
            if (in_plane && !c->f->few) /* rules at the edges alone, if at all */
                tried.split = SPLIT_EDGES;
            tessi_level_set_outputs(&tried.levels, 0, (uint8_t)columns);
            tessi_level_set_outputs(&tried.levels, 1, rows[i / 2]);
            tried.packed = i % 2;
            shape_block(&tried, crossed);
            const KernelCost cost = tessi_plan_kernel_cost(c->f, c->an, c->m, c->p, &tried);
            if (is_wide(&cost, vector, columns, rows[i / 2]))
                continue;
            const double better = better_than(c, &cost, columns < vector);
            if (cost.feasible && cost.seconds <= better * best->cost.seconds)
                *best = (Kernel){ tried, cost };
        }
    }
}

/* The better of rolling sums and a sweep; not feasible where it can be neither. */
static Kernel best_turns(const Chooser *c, const PlanGroup *group)
{
    Kernel rolling = { .group = *group }, sweep = { .group = *group };
    rolling.cost = tessi_plan_settle_rolling(c->f, c->an, c->m, c->p, &rolling.group);
    sweep.cost = tessi_plan_settle_sweep(c->f, c->an, c->m, c->p, &sweep.group);
    const bool swept = sweep.cost.feasible
                       && (!rolling.cost.feasible || sweep.cost.seconds < rolling.cost.seconds);
    return swept ? sweep : rolling;
}

/* Adds a line to the reasons of a kernel. */
static const char *and_line(const Chooser *c, const char *why, const char *more)
{
    return tessi_sprintf(c->f->arena, "%s\n%s", why, more);
}

/* Why the group becomes the kernel `best`; `tile`: what it would be without turns, `point`: a point a thread. Tells
 * blocks inside from others where that pays. */
static const char *kernel_reasons(Chooser *c, Kernel *best, const Kernel *tile, const Kernel *point,
                                  bool turns)
{
    const char *why = described(c, &best->group, &best->cost);
    if (turns && tessi_plan_kernel(&tile->group) == KERNEL_REGISTER)
        why = and_line(c, why, described(c, &tile->group, &tile->cost));
    if (tessi_plan_kernel(&best->group) != KERNEL_POINT)
        why = and_line(c, why, described(c, &point->group, &point->cost));
    if (best->group.n_dims)
        why = and_line(c, why, tessi_plan_kernel_reason(c->f, c->p, &best->group, &best->cost));
    if (turns)
        return and_line(c, why,
                        tessi_plan_split_reason(c->f->arena, c->m, &best->group, &best->cost));
    const Stage *first = tessi_stage(c->f->g, best->group.members.at[0]);
    return first->kind == STAGE_COMPUTE && best->group.n_dims
               ? and_line(c, why, choose_split(c, &best->group))
               : why;
}

/* Products of matrices where they are expected to take less than the best of the other kernels. */
static bool try_product(Chooser *c, Kernel *best, const char **why)
{
    double cost;
    if (!tessi_plan_choose_product(c->f, c->m, c->p, &best->group, best->cost.seconds, &cost))
        return false;
    *why = and_line(c,
                    tessi_sprintf(c->f->arena,
                                  "by products of matrices, in blocks of %u x %u points: %lld fs a "
                                  "point",
                                  best->group.product, best->group.strip, (long long)(cost * 1e15)),
                    *why);
    c->total += cost - best->cost.seconds;
    best->cost.seconds = cost;
    return true;
}

static void choose_kernel(Chooser *c, PlanGroup *group)
{
    if (group->transform) {
        tessi_plan_transform_kernel(group);
        c->total += tessi_plan_transform_seconds(c->f, c->m, group);
        return;
    }
    if (group->median) {
        c->total += tessi_plan_median_seconds(c->f, c->m, group);
        return;
    }
    tessi_plan_point_kernel(group);
    const Kernel point = { *group, tessi_plan_kernel_cost(c->f, c->an, c->m, c->p, group) };
    Kernel tile = point;
    try_register_tiles(c, group, &tile);
    Kernel best = best_turns(c, group);
    const bool turns =
        best.cost.feasible && best.cost.seconds < c->m->window_gain * tile.cost.seconds;
    if (!turns)
        best = tile;
    c->total += best.cost.seconds;
    c->code += best.cost.code;
    if (tessi_plan_kernel(&best.group) == KERNEL_REGISTER)
        best.group.resident = choose_resident(c, &best.group, &best.cost);
    const char *why = kernel_reasons(c, &best, &tile, &point, turns);
    if (!try_product(c, &best, &why))
        fit_block(c, &best.group);
    best.group.reason = *group->reason ? and_line(c, group->reason, why) : why;
    *group = best.group;
}

/* ---- Search ---------------------------------------------------------------------------------- */

/* The groups and kernels of a choice of placements, and what a point of all groups costs. */
static double complete(Chooser *c)
{
    const Graph *g = c->f->g;
    c->p->groups.at = NULL;
    c->p->groups.n = c->p->groups.cap = 0;
    c->total = c->code = 0;
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_plan_computes(c->f, id) && c->p->stage[id.v].placement == PLACE_MEMORY)
            add_to_groups(c, id);
    tessi_plan_order(c->p, c->f);
    VEC_FOREACH (PlanGroup, group, &c->p->groups)
        choose_kernel(c, group);
    return c->total;
}

/* The stage may be in memory or computed again, whichever costs less. */
static bool is_free(const Chooser *c, StageId id)
{
    const Stage *s = tessi_stage(c->f->g, id);
    return tessi_plan_computes(c->f, id) && !c->f->returned[id.v] && s->n_dims >= 2
           && tessi_stage_is_plain(c->f->g, s) && !c->why[id.v] && !c->f->has_window[id.v];
}

/* No function grows beyond what compilers take in a second or two. */
static bool code_fits(Chooser *c)
{
    return tessi_plan_code_fits(c->f, c->p, (int64_t)c->m->pointwise_gpu_nodes, c->most_nodes,
                                &c->size);
}

static void turn(Chooser *c, StageId id)
{
    PlanStage *at = &c->p->stage[id.v];
    at->placement = at->placement == PLACE_INLINE ? PLACE_MEMORY : PLACE_INLINE;
}

/* Places `a`, and `b` if it is one, the other way; undone unless the whole becomes faster. */
static bool try_turns(Chooser *c, StageId a, StageId b, double *best)
{
    turn(c, a);
    if (b.v)
        turn(c, b);
    const double cost = code_fits(c) ? complete(c) : 2 * *best;
    if (cost > c->m->small_gain * *best) {
        turn(c, a);
        if (b.v)
            turn(c, b);
        return false;
    }
    const char *why = tessi_sprintf(c->f->arena,
                                    "all groups together cost %lld fs a point, and cost %lld fs "
                                    "with it the other way",
                                    tessi_plan_fs(cost), tessi_plan_fs(*best));
    c->p->stage[a.v].reason = why;
    if (b.v)
        c->p->stage[b.v].reason = why;
    *best = cost;
    return true;
}

/* A stage alone can be cheap to compute again where a chain of such is not, and the other way round: places each
 * stage the other way, alone and in turn with one in memory, and keeps what makes the whole faster. */
static void improve(Chooser *c)
{
    enum { MOST_TRIES = 400 };
    const Graph *g = c->f->g;
    const bool search = g->stages.n <= MOST_SEARCHED;
    double best = complete(c);
    int tries = 0;
    for (bool better = search; better && tries < MOST_TRIES;) {
        better = false;
        GRAPH_FOREACH_STAGE (g, a) {
            if (!is_free(c, a) || tries++ >= MOST_TRIES)
                continue;
            better = try_turns(c, a, (StageId){ 0 }, &best) || better;
            GRAPH_FOREACH_STAGE (g, b) {
                if (c->p->stage[a.v].placement == PLACE_INLINE && is_free(c, b)
                    && c->p->stage[b.v].placement == PLACE_MEMORY && tries++ < MOST_TRIES)
                    better = try_turns(c, a, b, &best) || better;
            }
        }
    }
    if (search) { /* what was tried last may not be what is kept */
        code_fits(c);
        complete(c);
    }
    while (c->code > MOST_PROGRAM && c->facts->most_points > 1) {
        c->facts->most_points /= 2;
        complete(c);
    }
}

/* Channels of pixels in between that are computed at each use: passes of one kernel of tiles they would be together,
 * or not at all, which turning them one by one does not find. */
static bool turn_channels(Chooser *c)
{
    bool any = false;
    GRAPH_FOREACH_STAGE (c->f->g, a) {
        bool beside = false;
        GRAPH_FOREACH_STAGE (c->f->g, b)
            beside =
                beside
                || (a.v != b.v
                    && tessi_plan_same_pixel(tessi_stage(c->f->g, a), tessi_stage(c->f->g, b)));
        if (!beside || !is_free(c, a) || c->f->pointwise[a.v]
            || c->p->stage[a.v].placement != PLACE_INLINE)
            continue;
        c->p->stage[a.v] = (PlanStage){ PLACE_MEMORY, "with the other channels of its pixels" };
        any = true;
    }
    return any;
}

/* Some stage reads it at places that stand apart in a row or a column. */
static bool is_read_apart(const Chooser *c, StageId id)
{
    PlanApart apart = { { 1, 1 } };
    GRAPH_FOREACH_STAGE (c->f->g, reader) {
        OffsetSet places = { 0 };
        VEC_FOREACH (const PlanRead, r, &c->f->reads[reader.v]) {
            Offset o;
            if (r->producer.v == id.v && tessi_plan_read_offset(c->f->g, r, &o))
                tessi_plan_add_offset(c->f->arena, &places, o);
        }
        tessi_gpu_note_apart(&places, &apart);
    }
    return apart.of[0] > 1 || apart.of[1] > 1;
}

/* Parts of wide windows that are computed at each use: tiles whose threads have points that stand apart share them,
 * which kernels without passes do not find. */
static bool turn_parts(Chooser *c)
{
    bool any = false;
    GRAPH_FOREACH_STAGE (c->f->g, id) {
        if (!is_free(c, id) || c->f->pointwise[id.v] || c->p->stage[id.v].placement != PLACE_INLINE
            || !is_read_apart(c, id))
            continue;
        c->p->stage[id.v] = (PlanStage){ PLACE_MEMORY, "read at places that stand apart" };
        any = true;
    }
    return any;
}

/* Makes passes of groups, and keeps the best of some ways to place channels and parts of windows. */
static void fuse(Chooser *c, bool search)
{
    bool (*const turns[])(Chooser *) = { turn_channels, turn_parts };
    const uint32_t n = c->p->n_stages;
    PlanStage *before = ARENA_NEW_ARRAY(c->f->arena, PlanStage, n);
    for (uint32_t v = 0; v < n; v++)
        before[v] = c->p->stage[v];
    double seconds = tessi_plan_fuse(c->f, c->an, c->m, c->p);
    Plan best = *c->p;
    for (size_t k = 0; k < sizeof turns / sizeof *turns && search; k++) {
        c->p->stage = ARENA_NEW_ARRAY(c->f->arena, PlanStage, n);
        for (uint32_t v = 0; v < n; v++)
            c->p->stage[v] = before[v];
        if (!turns[k](c) || !code_fits(c))
            continue;
        complete(c);
        const double turned = tessi_plan_fuse(c->f, c->an, c->m, c->p);
        if (turned >= (turns[k] == turn_parts ? c->m->spread_gain : 1) * seconds)
            continue;
        seconds = turned;
        best = *c->p;
    }
    *c->p = best;
}

/* Some kernel goes down the planes of a stack. */
static bool goes_down_planes(const Plan *p)
{
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        if (tessi_level_march(&group->levels).planes)
            return true;
    return false;
}

PlanSize tessi_plan_size(const Plan *large, bool repeats, double points)
{
    enum { SMALL = 1 << 20, MEDIUM = 1 << 23 };
    if (points < SMALL)
        return PLAN_SMALL;
    return points < MEDIUM && (repeats || goes_down_planes(large)) ? PLAN_MEDIUM : PLAN_LARGE;
}

static void set_size(PlanFacts *f, const Machine *m, PlanSize size)
{
    f->few = size == PLAN_SMALL;
    f->points = size == PLAN_LARGE    ? PLAN_LARGE_POINTS
                : size == PLAN_MEDIUM ? PLAN_MEDIUM_POINTS
                                      : m->few_points;
    if (size != PLAN_LARGE)
        f->start_seconds = (m->few_launch_us + m->few_memory * m->latency_us) * 1e-6 / f->points;
}

/* Nodes of a stencil up to which others are inlined. Of turns that are one, hardly any are: compilers take five seconds
 * and more for each kernel that computes four of them again at each point, and answers rules. */
static int64_t most_nodes_of(const Graph *g, const Machine *m)
{
    enum { TURNS = 24 };
    bool blocked = false;
    for (uint32_t k = 1; k <= g->repeats.n; k++)
        blocked = blocked || tessi_plan_time_of(g, k) > 1;
    return (int64_t)m->stencil_gpu_nodes / (blocked ? TURNS : 1);
}

Plan *tessi_plan_choose_gpu(Arena *a, const Graph *g, const Analysis *an, const Machine *m,
                            PlanSize size)
{
    PlanFacts *f = tessi_plan_facts(a, g);
    set_size(f, m, size);
    const uint32_t n = g->stages.n;
    Chooser c = { .f = f, .facts = f, .an = an, .m = m, .p = tessi_plan_empty(f, m->name) };
    c.p->gpu = true;
    c.seconds = ARENA_NEW_ARRAY(a, double, n);
    c.evaluations = ARENA_NEW_ARRAY(a, double, n);
    c.group_of = ARENA_NEW_ARRAY(a, uint32_t, n);
    tessi_plan_code_size(f, c.p, &c.size);
    c.why = ARENA_NEW_ARRAY(a, const char *, n);
    find_uses(&c);
    c.most_nodes = most_nodes_of(g, m);
    place_all(&c);
    while (nodes_of_all(&c) > MOST_NODES && c.most_nodes > FEW_NODES) {
        c.most_nodes /= 4;
        place_all(&c);
    }
    improve(&c);
    fuse(&c, n <= MOST_SEARCHED);
    if (size != PLAN_SMALL)
        tessi_plan_choose_warps(f, an, m, c.p);
    tessi_plan_choose_turns(f, an, m, c.p);
    VEC_FOREACH (PlanGroup, group, &c.p->groups)
        if (group->split == SPLIT_EDGES && tessi_plan_kernel(group) == KERNEL_TILE)
            tessi_plan_choose_frame(f, c.p, group);
    tessi_plan_order(c.p, f);
    return c.p;
}
