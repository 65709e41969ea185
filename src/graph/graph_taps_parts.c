/* Lines in parts: the maximum of 43 neighbours from the maxima of 7, which 43 - 7 points to the left and right
 * share. Parts are stages that reach beyond the image as far as they are read, so they are never read outside,
 * whatever the border rule. */
#include "graph/graph_taps.h"

enum { MAX_LINE = 1024 };

static const ExprId none = { 0 };

typedef struct Parts {
    Masks *m;
    const Domain *at;
    const Taps *t;
    Axis axis;
    Op op;
    bool overlap;      /* what is taken twice changes nothing */
    uint32_t n, reach; /* points of the line, and how far apart they are */
    ExprId *point;     /* in the order of their places */
    uint32_t *cost;    /* of so many points, in taps */
    uint32_t *part;    /* which are made of parts of this many; 0: of points */
} Parts;

/* How many reads of parts, and of points that are left, make a line of n. */
static uint32_t reads_of(const Parts *p, uint32_t n, uint32_t part)
{
    return p->overlap ? (n + part - 1) / part : n / part + n % part;
}

/* What storing partial results costs, in taps, as measured: a vector of narrow elements takes many taps at once, and
 * sums of reals, which go along a row or down the rows in registers, are taken in parts from some 25 points on. */
static uint32_t stage_taps(const Taps *t)
{
    const uint32_t bytes = tessi_type_info(t->type)->bytes;
    const bool is_sum = t->reduction == REDUCE_SUM && tessi_is_real(t->type);
    return bytes < 4 ? 32 / bytes : is_sum ? 12 : 6;
}

static void choose(Parts *p)
{
    Arena *a = p->m->to->arena;
    uint32_t stage = stage_taps(p->t);
    p->cost = ARENA_NEW_ARRAY(a, uint32_t, p->n + 1);
    p->part = ARENA_NEW_ARRAY(a, uint32_t, p->n + 1);
    for (uint32_t n = 1; n <= p->n; n++) {
        p->cost[n] = n;
        for (uint32_t k = 2; k < n; k++) {
            uint32_t cost = p->cost[k] + stage + reads_of(p, n, k);
            if (cost >= p->cost[n])
                continue;
            p->cost[n] = cost;
            p->part[n] = k;
        }
    }
}

static ExprId with(const Parts *p, ExprId acc, ExprId x)
{
    return acc.v ? tessi_expr_op(p->m->to, p->op, acc, x, none) : x;
}

/* The part that begins `offset` points further on. */
static ExprId read_part(const Parts *p, StageId part, uint32_t offset)
{
    int64_t far[MAX_DIMS] = { 0 };
    far[p->axis.dim.src] = (int64_t)offset * p->reach;
    return tessi_expr_load_at(p->m->to, part, far);
}

/* The first n points of the line, as the body of a stage. */
static ExprId first(const Parts *p, uint32_t n)
{
    Graph *g = p->m->to;
    uint32_t size = p->part[n], k = 0;
    ExprId acc = none;
    if (size) {
        Domain domain = *p->at;
        SizeId *count = &domain.count[p->axis.dim.src];
        int64_t more = (int64_t)p->reach * (p->n - size);
        *count = tessi_size_add(g, *count, tessi_size_const(g, more));
        StageId part = tessi_masks_stage(p->m, &domain, "part", p->t->type, first(p, size));
        for (; k + size <= n; k += size)
            acc = with(p, acc, read_part(p, part, k));
        if (p->overlap && k < n) {
            acc = with(p, acc, read_part(p, part, n - size));
            k = n;
        }
    }
    for (; k < n; k++)
        acc = with(p, acc, p->point[k]);
    return acc;
}

/* The one variable with more than one value. */
static bool find_line(const Window *w, uint32_t *var)
{
    uint32_t wide = 0;
    for (uint32_t k = 0; k < w->n_vars; k++)
        if (w->lo[k] < w->hi[k]) {
            *var = k;
            wide++;
        }
    return wide == 1;
}

bool tessi_taps_equal_weights(const Taps *t, Value *weight)
{
    bool any = false;
    for (uint32_t k = 0; k < t->weights.n; k++) {
        if (!t->weights.used[k])
            continue;
        if (any && !tessi_value_same(t->type, t->weights.at[k], *weight))
            return false;
        *weight = t->weights.at[k];
        any = true;
    }
    return any;
}

static bool uses_all(const Taps *t)
{
    for (uint32_t k = 0; k < t->weights.n; k++)
        if (!t->weights.used[k])
            return false;
    return true;
}

static void list_points(Parts *p)
{
    Graph *g = p->m->to;
    const Window w = *tessi_window(g, p->t->window);
    uint32_t var = p->axis.var;
    bool down = p->axis.dim.term[0].coef < 0;
    int32_t at[MAX_WINDOW_VARS];
    for (uint32_t k = 0; k < MAX_WINDOW_VARS; k++)
        at[k] = w.lo[k];
    p->point = ARENA_NEW_ARRAY(g->arena, ExprId, p->n);
    tessi_subst_begin(g, &p->t->value, 1, p->t->window);
    for (uint32_t k = 0; k < p->n; k++) {
        at[var] = down ? w.hi[var] - (int32_t)k : w.lo[var] + (int32_t)k;
        p->point[k] = tessi_subst_at(g, p->t->value, at);
    }
}

ExprId tessi_taps_in_parts(Masks *m, const Domain *at, const Taps *t)
{
    Graph *g = m->to;
    const Window *w = tessi_window(g, t->window);
    bool is_sum = t->reduction == REDUCE_SUM;
    Parts p = { .m = m, .at = at, .t = t, .overlap = !is_sum };
    p.op = tessi_reduction_op(t->reduction);
    uint32_t var = 0;
    Value weight;
    if ((is_sum && tessi_is_real(t->type) && m->fp == FP_STRICT) || !find_line(w, &var)
        || !tessi_taps_axis(m, t->value, var, &p.axis) || p.axis.dim.scale != 1 || !uses_all(t)
        || !tessi_taps_equal_weights(t, &weight))
        return none;
    int32_t coef = p.axis.dim.term[0].coef;
    p.n = (uint32_t)(w->hi[var] - w->lo[var] + 1);
    p.reach = (uint32_t)(coef < 0 ? -coef : coef);
    if (p.n > MAX_LINE || p.reach > MAX_LINE)
        return none;
    choose(&p);
    if (!p.part[p.n])
        return none;
    list_points(&p);
    ExprId sum = first(&p, p.n);
    if (is_sum)
        sum = tessi_expr_op(g, OP_MUL, tessi_expr_const(g, t->type, weight), sum, none);
    for (uint32_t n = p.n; n; n = p.part[n]) {
        m->form.steps += p.part[n] ? reads_of(&p, n, p.part[n]) : n;
        m->form.parts += p.part[n] != 0;
    }
    m->form.error += (p.cost[p.n] + 2) * tessi_half_unit(t->type);
    return sum;
}
