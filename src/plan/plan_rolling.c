/* Kernels of rolling sums: a thread goes down its columns with every row of pixels read once, and keeps the sums of
 * as many rows of the result as the window is high (src/loop/lower_rolling.c). Which windows can, and how wide and
 * how far. */
#include "plan/plan_costs.h"

typedef struct Scan {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    WindowId window;
    const Window *w;
    VEC(AccessId) moving; /* reads that move with the point */
    bool narrow;          /* coefficients of 16 bits */
    Rolling found;
} Scan;

/* Of the row of the point and the first variable of the window alone, and of the column and the others. */
static bool moves_along(const Scan *s, const Access *a)
{
    int64_t add;
    for (int d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        if (a->n_dims != 2 || !tessi_access_follows(dim, d)
            || !tessi_size_is_const(s->f->g, dim->add, &add))
            return false;
        for (int t = 0; t < dim->n_terms; t++)
            if (dim->term[t].window.v != s->window.v || (dim->term[t].var == 0) != (d == 0)
                || (d == 0 && dim->term[t].coef < 1))
                return false;
    }
    return a->n_dims == 2 && a->dim[0].n_terms == 1;
}

/* From one row of pixels to the next: a window may be dilated. */
static int32_t step_of(const Access *a)
{
    return a->dim[0].term[0].coef;
}

/* Of the point alone, whatever the variables of the window. */
static bool moves_with_point(const Scan *s, const Access *a)
{
    int64_t distance[MAX_DIMS];
    return a->n_dims == 2 && tessi_access_distances(s->f->g, a, NULL, distance);
}

/* Both are answered by the same rules, and so read from the same rows of pixels. */
static bool same_line(const Access *a, const Access *b)
{
    return a->producer.v == b->producer.v && a->dim[0].rule == b->dim[0].rule
           && a->dim[1].rule == b->dim[1].rule && a->outside.v == b->outside.v;
}

static bool is_stored(const Scan *s, StageId id)
{
    const Stage *stage = tessi_stage(s->f->g, id);
    return stage->type != TYPE_F16
           && (stage->kind != STAGE_COMPUTE || s->p->stage[id.v].placement != PLACE_INLINE);
}

/* The kernel finds the image in constant memory. */
static bool is_constant(const Scan *s, StageId image)
{
    VEC_FOREACH (const PlanStaged, staged, &s->group->staged)
        if (staged->image.v == image.v && staged->in == STAGED_CONSTANT)
            return true;
    return false;
}

static bool add_read(Scan *s, const Expr *e)
{
    const Access *a = tessi_access(s->f->g, e->access);
    const uint32_t bytes = tessi_type_info(tessi_stage(s->f->g, a->producer)->type)->bytes;
    if (tessi_access_is_fixed(a) && is_constant(s, a->producer)) {
        s->found.constants++;
        return true;
    }
    if (tessi_access_is_fixed(a)) {
        s->found.given++;
        s->narrow = s->narrow || tessi_stage(s->f->g, a->producer)->type == TYPE_F16;
        return true;
    }
    if (!is_stored(s, a->producer))
        return false;
    if (moves_with_point(s, a)) {
        s->found.own++;
        return true;
    }
    if (!moves_along(s, a))
        return false;
    bool fresh = true;
    VEC_FOREACH (const AccessId, id, &s->moving) {
        const Access *b = tessi_access(s->f->g, *id);
        if (step_of(a) != step_of(b))
            return false;
        if (!same_line(a, b))
            continue;
        fresh = false;
        if (a->dim[0].add.v != b->dim[0].add.v)
            return false;
    }
    s->found.images += fresh;
    s->found.bytes = bytes > s->found.bytes ? bytes : s->found.bytes;
    VEC_PUSH(s->f->arena, &s->moving, e->access);
    return true;
}

/* Known from the variables of the window alone. */
static bool is_known(const Scan *s, ExprId where)
{
    const ExprList *list = tessi_expr_walk(s->f->walk, s->f->g, &where, where.v ? 1 : 0);
    VEC_FOREACH (const ExprId, id, list) {
        const ExprKind kind = tessi_expr(s->f->g, *id)->kind;
        if (kind == EXPR_LOAD || kind == EXPR_SCALAR || kind == EXPR_INDEX || kind == EXPR_SIZE
            || kind == EXPR_WINDOW)
            return false;
    }
    return true;
}

static bool scan_window(Scan *s, const Expr *e)
{
    if (s->window.v && s->window.v != e->window.v)
        return false;
    s->window = e->window;
    s->w = tessi_window(s->f->g, e->window);
    s->found.sums++;
    s->found.conditional = s->found.conditional || e->arg[1].v;
    if (e->reduction == REDUCE_MEDIAN || tessi_window_points(s->w) < 1 || !is_known(s, e->arg[1]))
        return false;
    const ExprList *list = tessi_expr_walk(s->f->walk, s->f->g, e->arg, 1);
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *x = tessi_expr(s->f->g, *id);
        if (x->kind == EXPR_LOAD && !add_read(s, x))
            return false;
    }
    return true;
}

/* How far rows are read beyond the columns of a thread. */
static int64_t reach(const Scan *s)
{
    int64_t lo = 0, hi = 0;
    VEC_FOREACH (const AccessId, id, &s->moving) {
        const AccessDim *dim = &tessi_access(s->f->g, *id)->dim[1];
        int64_t a, b;
        if (!tessi_access_reach(s->f->g, dim, 1, &a, &b))
            continue;
        lo = a < lo ? a : lo;
        hi = b > hi ? b : hi;
    }
    return hi - lo;
}

static bool scan(Scan *s, StageId id)
{
    const Stage *stage = tessi_stage(s->f->g, id);
    if (stage->kind != STAGE_COMPUTE || !tessi_stage_is_plain(s->f->g, stage) || stage->n_dims != 2
        || !s->f->has_window[id.v])
        return false;
    const ExprList *list = tessi_expr_walk(s->f->walk, s->f->g, &stage->pieces.at[0].body, 1);
    VEC(ExprId) windows = { 0 }; /* the list is used again */
    VEC_FOREACH (const ExprId, e, list)
        if (tessi_expr(s->f->g, *e)->kind == EXPR_WINDOW)
            VEC_PUSH(s->f->arena, &windows, *e);
    VEC_FOREACH (const ExprId, e, &windows)
        if (!scan_window(s, tessi_expr(s->f->g, *e)))
            return false;
    const uint32_t bytes = tessi_type_info(stage->type)->bytes;
    s->found.bytes = bytes > s->found.bytes ? bytes : s->found.bytes;
    if (!windows.n || !s->moving.n)
        return false;
    s->found.points = tessi_window_points(s->w);
    s->found.rows = s->w->hi[0] - s->w->lo[0] + 1;
    s->found.read = s->found.images * reach(s);
    return true;
}

/* Coefficients that come with the run are copied into shared memory, rows padded to whole vectors. */
static bool can_be_given(const Scan *s)
{
    enum { MOST_BYTES = 8 };
    if (s->w->n_vars != 2 || s->found.conditional || s->narrow)
        return false;
    const int64_t across = s->found.points / s->found.rows;
    return s->found.rows * (across + MOST_BYTES) * s->found.given * MOST_BYTES
           <= PLAN_MAX_SHARED_BYTES;
}

const char *tessi_plan_check_rolling(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Scan s = { .f = f, .p = p, .group = group };
    if (group->members.n != 1 || tessi_level_tile(group, 0) || !scan(&s, group->members.at[0])
        || s.found.own)
        return tessi_plan_fault(
            f->arena, group,
            "rolling sums are for one whole stage of two dimensions, with windows of one range "
            "over stored images whose rows move with the first variable of the window");
    if (tessi_level_threads(&group->levels, 1) != 1 || tessi_level_outputs(&group->levels, 1) != 1
        || group->split != SPLIT_NONE)
        return tessi_plan_fault(f->arena, group,
                                "threads with rolling sums stand in one line, have one row of "
                                "outputs, and blocks that are not split");
    if (s.found.points * s.found.sums * tessi_level_outputs(&group->levels, 0)
        > PLAN_MAX_WRITTEN_OUT)
        return tessi_plan_fault(
            f->arena, group,
            "the windows of all columns of a thread have more than %d points to be written out",
            PLAN_MAX_WRITTEN_OUT);
    if (s.found.given && !can_be_given(&s))
        return tessi_plan_fault(f->arena, group,
                                "coefficients that come with the run are for windows of two "
                                "variables without conditions, and have to fit shared memory");
    if (!tessi_level_march(&group->levels).least
        || tessi_level_march(&group->levels).least > tessi_level_march(&group->levels).most)
        return tessi_plan_fault(f->arena, group, "a march is of at least one row");
    return NULL;
}

KernelCost tessi_plan_cost_of_rolling(const PlanFacts *f, const Analysis *an, const Machine *m,
                                      const Plan *p, const PlanGroup *group)
{
    Scan s = { .f = f, .p = p, .group = group };
    scan(&s, group->members.at[0]);
    return tessi_plan_rolling_cost(f, an, m, group, &s.found);
}

/* Threads of such kernels stand in one line. */
static PlanGroup in_line(const PlanGroup *from, KernelKind kernel, uint16_t threads)
{
    PlanGroup made = *from;
    tessi_plan_set_kernel(&made, kernel);
    made.split = SPLIT_NONE;
    tessi_level_set_threads(&made.levels, 0, threads);
    tessi_level_set_threads(&made.levels, 1, 1);
    tessi_level_set_outputs(&made.levels, 1, 1);
    made.resident = 0;
    tessi_level_set_march(&made.levels, (PlanMarch){ 0 });
    return made;
}

/* All coefficients that come with the run into constant memory. */
static void stage_given(const PlanFacts *f, const Plan *p, PlanGroup *group)
{
    VEC_FOREACH (const PlanRead, r, &f->reads[group->members.at[0].v]) {
        const PlanStaged staged = { .image = r->producer, .in = STAGED_CONSTANT };
        const Scan s = { .f = f, .p = p, .group = group };
        if (r->access.v && tessi_access_is_fixed(tessi_access(f->g, r->access))
            && !is_constant(&s, r->producer))
            VEC_PUSH(f->arena, &group->staged, staged);
    }
}

/* With so many columns, and the next row of pixels read ahead or not; its cost, not feasible where it cannot be. */
static KernelCost try_rolling(const PlanFacts *f, const Analysis *an, const Machine *m,
                              const Plan *p, PlanGroup *group, uint8_t columns, bool ahead)
{
    enum { LEAST = 16, MOST = 4096 };
    tessi_level_set_outputs(&group->levels, 0, columns);
    tessi_level_set_march(&group->levels,
                          (PlanMarch){ .least = LEAST, .most = MOST, .ahead = ahead });
    KernelCost cost = tessi_plan_cost_of_rolling(f, an, m, p, group);
    const int64_t fit = cost.threads / tessi_level_threads(&group->levels, 0);
    group->resident = (uint8_t)(fit < PLAN_MAX_RESIDENT ? fit : PLAN_MAX_RESIDENT);
    tessi_level_set_march_blocks(&group->levels, (uint32_t)(group->resident * m->cores));
    cost.feasible = cost.feasible && !tessi_plan_check_rolling(f, p, group)
                    && !tessi_plan_check_staged(f, p, group);
    return cost;
}

KernelCost tessi_plan_settle_rolling(const PlanFacts *f, const Analysis *an, const Machine *m,
                                     const Plan *p, PlanGroup *group)
{
    enum { THREADS = 32 }; /* narrow blocks at the edges have few columns inside */
    static const uint8_t columns[] = { 8, 4, 2, 1 };
    Scan s = { .f = f, .p = p, .group = group };
    KernelCost least = { .feasible = false };
    if (group->members.n != 1 || !scan(&s, group->members.at[0]) || s.found.own)
        return least;
    PlanGroup shared = in_line(group, KERNEL_ROLLING, THREADS), constant = shared;
    if (s.found.given)
        stage_given(f, p, &constant);
    for (size_t i = 0; i < 4 * sizeof columns; i++) {
        PlanGroup tried = i % 2 ? constant : shared;
        if (i % 2 && !s.found.given)
            continue;
        const KernelCost cost = try_rolling(f, an, m, p, &tried, columns[i / 4], i / 2 % 2);
        if (!cost.feasible || (least.feasible && cost.seconds > m->window_gain * least.seconds))
            continue;
        least = cost;
        *group = tried;
    }
    return least;
}

/* ---- Sweeps ---------------------------------------------------------------------------------- */

/* The same for windows whose code would be too long for all rows of the result that a row of pixels takes part in: a
 * thread computes some rows at a time. Their coefficients come with the run, and a block copies them into shared
 * memory; or they read at the point itself (src/loop/lower_rolling.c). */
const char *tessi_plan_check_sweep(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Scan s = { .f = f, .p = p, .group = group };
    if (group->members.n != 1 || tessi_level_tile(group, 0) || !scan(&s, group->members.at[0])
        || !(s.found.given || s.found.own) || !can_be_given(&s))
        return tessi_plan_fault(f->arena, group,
                                "sweeps are for one stage that could have rolling sums, with "
                                "coefficients that come with the run and fit shared memory, or "
                                "reads at the point itself, and no steps left out");
    if (tessi_level_threads(&group->levels, 1) != 1 || group->split != SPLIT_NONE)
        return tessi_plan_fault(
            f->arena, group, "threads of sweeps stand in one line, in blocks that are not split");
    const int64_t across = s.found.points / s.found.rows;
    if (across * s.found.sums * tessi_level_outputs(&group->levels, 0)
            * tessi_level_outputs(&group->levels, 1)
        > PLAN_MAX_WRITTEN_OUT)
        return tessi_plan_fault(f->arena, group, "the window is too wide for a sweep");
    return NULL;
}

KernelCost tessi_plan_cost_of_sweep(const PlanFacts *f, const Analysis *an, const Machine *m,
                                    const Plan *p, const PlanGroup *group)
{
    Scan s = { .f = f, .p = p, .group = group };
    scan(&s, group->members.at[0]);
    return tessi_plan_sweep_cost(f, an, m, group, &s.found);
}

KernelCost tessi_plan_settle_sweep(const PlanFacts *f, const Analysis *an, const Machine *m,
                                   const Plan *p, PlanGroup *group)
{
    enum { THREADS = 64 };
    static const uint8_t outputs[][2] = { { 8, 6 }, { 8, 5 }, { 8, 4 }, { 8, 3 }, { 8, 2 },
                                          { 4, 4 }, { 4, 2 }, { 4, 1 }, { 2, 2 } };
    const PlanGroup before = *group;
    KernelCost least = { .feasible = false };
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        PlanGroup tried = in_line(&before, KERNEL_SWEEP, THREADS);
        tessi_level_set_outputs(&tried.levels, 0, outputs[i][0]);
        tessi_level_set_outputs(&tried.levels, 1, outputs[i][1]);
        if (tessi_plan_check_sweep(f, p, &tried))
            continue;
        const KernelCost cost = tessi_plan_cost_of_sweep(f, an, m, p, &tried);
        if (!cost.feasible || (least.feasible && cost.seconds > m->window_gain * least.seconds))
            continue;
        Scan s = { .f = f, .p = p, .group = &tried };
        if (scan(&s, tried.members.at[0])
            && s.found.given) /* other steps wait for nothing, and are slower in few registers */
            tried.resident = (uint8_t)(cost.threads / THREADS);
        least = cost;
        *group = tried;
    }
    return least;
}
