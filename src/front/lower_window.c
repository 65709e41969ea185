/* front/lower_window: windows and convolutions. A window stays a loop of the graph unless an offset is not affine in
 * its variables; then it is unrolled here. */
#include "front/lower.h"
#include "graph/graph_fold.h"

static const ExprId NONE = { 0 };

static WindowId graph_window(Lower *l, const TWindow *w)
{
    Window window = { .level = w->level, .n_vars = w->n_vars };
    for (int v = 0; v < w->n_vars; v++) {
        window.lo[v] = w->lo[v];
        window.hi[v] = w->hi[v];
    }
    return tessi_graph_window(l->g, &window);
}

static ExprId number(Lower *l, ScalarType t, int64_t i)
{
    return tessi_is_real(t) ? tessi_expr_real(l->g, t, (double)i) : tessi_expr_int(l->g, t, i);
}

/* The condition at this point: +1 holds, 0 does not, -1 depends on data. */
static int condition_at(Lower *l, const TWindow *w, const WindowPoint *p)
{
    Value v;
    if (!w->where)
        return 1;
    if (tessi_static_eval(w->where, p, &l->budget, &v) != EVAL_OK)
        return -1;
    return v.i != 0;
}

static bool too_long(Lower *l, const TExpr *e, uint32_t before)
{
    l->unrolled += l->g->exprs.n - before;
    if (l->unrolled > l->max_unrolled)
        tessi_lower_limit(l, e->span, "operations after unrolling", l->max_unrolled);
    return l->failed;
}

typedef struct Unrolled {
    ExprId value, count; /* count: of the points where a condition on data holds */
    int64_t points;
} Unrolled;

static void unroll_point(Lower *l, LBody *b, const TExpr *e, uint32_t channel, int holds,
                         ScalarType t, Unrolled *u)
{
    Graph *g = l->g;
    Op op = tessi_reduction_op(e->reduction);
    ExprId v = tessi_lower_expr(l, b, e->arg[0], channel);
    if (holds > 0) {
        u->value = u->points || u->value.v ? tessi_expr_op(g, op, u->value, v, NONE) : v;
        u->points++;
        return;
    }
    ExprId condition = tessi_lower_expr(l, b, e->window->where, 0);
    ExprId old = u->value;
    if (!old.v)
        old = tessi_expr_const(g, t, tessi_reduction_identity(e->reduction, t));
    ExprId more = tessi_expr_op(g, op, old, v, NONE);
    u->value = tessi_expr_op(g, OP_SELECT, condition, more, old);
    ExprId one = tessi_expr_cast(g, TYPE_I32, condition);
    u->count = u->count.v ? tessi_expr_op(g, OP_ADD, u->count, one, NONE) : one;
}

static ExprId mean_of(Lower *l, ScalarType t, ExprId sum, int64_t points, ExprId count)
{
    ExprId n = number(l, t, points);
    if (count.v) {
        if (points)
            count = tessi_expr_op(l->g, OP_ADD, count, number(l, TYPE_I32, points), NONE);
        n = tessi_lower_convert(l, count, TYPE_I32, t);
    }
    return tessi_expr_op(l->g, OP_DIV, sum, n, NONE);
}

static ExprId unroll(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    ScalarType t = tessi_value_type(tessi_lower_field(e->type, channel));
    const WindowPoint *point = b->point;
    uint32_t epoch = b->epoch, before = l->g->exprs.n;
    Unrolled u = { .value = NONE };
    WindowPoint p;
    tessi_window_first(&p, e->window, point);
    b->point = &p;
    do {
        b->epoch = ++l->epoch;
        int holds = condition_at(l, e->window, &p);
        if (holds)
            unroll_point(l, b, e, channel, holds, t, &u);
        if (too_long(l, e, before))
            break;
        before = l->g->exprs.n;
    } while (tessi_window_next(&p));
    b->point = point;
    b->epoch = epoch;
    if (!u.value.v)
        u.value = tessi_expr_const(l->g, t, tessi_reduction_identity(e->reduction, t));
    return e->is_mean ? mean_of(l, t, u.value, u.points, u.count) : u.value;
}

/* Points of a window that stays a loop, when its condition does not depend on more than its own and unrolled
 * variables. */
static bool known_count(Lower *l, const LBody *b, const TWindow *w, int64_t *n)
{
    WindowPoint p;
    *n = tessi_window_count(w);
    if (!w->where)
        return true;
    *n = 0;
    tessi_window_first(&p, w, b->point);
    do {
        int holds = condition_at(l, w, &p);
        if (holds < 0)
            return false;
        *n += holds;
    } while (tessi_window_next(&p));
    return true;
}

ExprId tessi_lower_window(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    if (e->window->must_unroll)
        return unroll(l, b, e, channel);
    const LWindow *outer = b->windows;
    LWindow here = { outer, e->window, graph_window(l, e->window) };
    ScalarType t = tessi_value_type(tessi_lower_field(e->type, channel));
    int64_t n;
    b->windows = &here;
    ExprId body = tessi_lower_expr(l, b, e->arg[0], channel);
    ExprId where = e->window->where ? tessi_lower_expr(l, b, e->window->where, 0) : NONE;
    Value always;
    if (where.v && e->window->where->is_static && tessi_expr_is_const(l->g, where, &always)
        && always.i)
        where = NONE; /* known when compiling: none is there */
    ExprId value = tessi_expr_window(l->g, e->reduction, here.window, body, where);
    if (e->is_mean) {
        ExprId count = NONE;
        if (!known_count(l, b, e->window, &n)) {
            n = 0;
            count = tessi_expr_window(l->g, REDUCE_SUM, here.window, number(l, TYPE_I32, 1), where);
        }
        value = mean_of(l, t, value, n, count);
    }
    b->windows = outer;
    return value;
}

/* ---- convolve -------------------------------------------------------------------------------- */
static bool is_zero(const TMask *m, uint32_t i)
{
    return m->at && (tessi_tt_is_integer(m->type) ? m->at[i].i == 0 : m->at[i].f == 0);
}

static uint32_t image_channel(const TExpr *e, uint32_t channel)
{
    return e->field >= 0 ? (uint32_t)e->field : channel;
}

static ExprId taps(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ScalarType t)
{
    const TMask *m = e->mask;
    Graph *g = l->g;
    uint8_t level = 0;
    for (const LWindow *w = b->windows; w; w = w->outer)
        level = w->typed->level >= level ? (uint8_t)(w->typed->level + 1) : level;
    TWindow w = { .span = e->span, .level = level, .n_vars = m->n_dims };
    StaticAffine at[MAX_DIMS] = { { 0 } };
    ExprId index[MAX_DIMS], where = NONE, flat = NONE, coefficient;
    for (int d = 0; d < m->n_dims; d++) {
        w.lo[d] = m->lo[d];
        w.hi[d] = m->hi[d];
        at[d] = (StaticAffine){ .n = 1, .term = { { &w, (uint32_t)d, e->dilation } } };
    }
    LWindow here = { b->windows, &w, graph_window(l, &w) };
    for (int d = 0; d < m->n_dims; d++) {
        index[d] = tessi_expr_winvar(g, here.window, (uint32_t)d);
        ExprId k = tessi_expr_op(g, OP_SUB, index[d], tessi_expr_int(g, TYPE_I32, m->lo[d]), NONE);
        ExprId n = tessi_expr_int(g, TYPE_I32, (int64_t)m->hi[d] - m->lo[d] + 1);
        flat = d ? tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, flat, n, NONE), k, NONE) : k;
    }
    if (m->at) {
        bool zeros = false;
        for (uint32_t i = 0; i < m->n; i++)
            zeros |= is_zero(m, i);
        coefficient = tessi_expr_table(g, tessi_lower_mask_table(l, m, t), flat);
        if (zeros) { /* taps of zero are not read, by definition of convolve; a coefficient may round to zero in t */
            Value *used = ARENA_NEW_ARRAY(l->a, Value, m->n);
            for (uint32_t i = 0; i < m->n; i++)
                used[i] = tessi_value_int(!is_zero(m, i));
            TMask taps = *m;
            taps.at = used;
            taps.type = tessi_tt_scalar(TYPE_BOOL);
            taps.name = tessi_sprintf(l->a, "%s.taps", m->name);
            where = tessi_expr_table(g, tessi_lower_mask_table(l, &taps, TYPE_BOOL), flat);
        }
    } else {
        coefficient = tessi_lower_mask_load(l, m, index, true, t);
    }
    const LWindow *outer = b->windows;
    b->windows = &here;
    ExprId pixel = tessi_lower_tap(l, b, e, at, image_channel(e, channel), t);
    b->windows = outer;
    ExprId product = tessi_expr_op(g, OP_MUL, coefficient, pixel, NONE);
    return tessi_expr_window_by(g, e->method, here.window, product, where);
}

ExprId tessi_lower_convolve(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    ScalarType t = tessi_value_type(tessi_lower_field(e->type, channel));
    return taps(l, b, e, channel, t);
}
