/* front/lower_window: windows and convolutions. A window stays a loop of the graph unless an offset is not affine in
 * its variables; then it is unrolled here. */
#include "front/lower.h"
#include "graph/graph_fold.h"

static const ExprId NONE = { 0 };

WindowId tessi_lower_graph_window(Lower *l, const LBody *b, const TWindow *w)
{
    const int level = w->level + b->deeper;
    if (level >= MAX_WINDOW_LEVELS)
        tessi_lower_limit(l, w->span, "windows inside windows", MAX_WINDOW_LEVELS);
    Window window = { .level = (uint8_t)(level < MAX_WINDOW_LEVELS ? level : 0),
                      .n_vars = w->n_vars };
    for (int v = 0; v < w->n_vars; v++) {
        window.lo[v] = w->lo[v];
        window.hi[v] = w->hi[v];
    }
    return tessi_graph_window(l->g, &window);
}

/* The condition at this point: +1 holds, 0 does not, -1 depends on data. */
int tessi_lower_condition_at(Lower *l, const TWindow *w, const WindowPoint *p)
{
    Value v;
    if (!w->where)
        return 1;
    if (tessi_static_eval(w->where, p, &l->budget, &v) != EVAL_OK)
        return -1;
    return v.i != 0;
}

bool tessi_lower_too_long(Lower *l, const TExpr *e, uint32_t before)
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
    ExprId n = tessi_lower_number(l, t, points);
    if (count.v) {
        if (points)
            count =
                tessi_expr_op(l->g, OP_ADD, count, tessi_lower_number(l, TYPE_I32, points), NONE);
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
        int holds = tessi_lower_condition_at(l, e->window, &p);
        if (holds)
            unroll_point(l, b, e, channel, holds, t, &u);
        if (tessi_lower_too_long(l, e, before))
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
        int holds = tessi_lower_condition_at(l, w, &p);
        if (holds < 0)
            return false;
        *n += holds;
    } while (tessi_window_next(&p));
    return true;
}

ExprId tessi_lower_window(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    if (tessi_lower_window_has_holes(l, b, e))
        return tessi_lower_holed_window(l, b, e, channel);
    if (e->window->must_unroll)
        return unroll(l, b, e, channel);
    const LWindow *outer = b->windows;
    LWindow here = { outer, e->window, tessi_lower_graph_window(l, b, e->window) };
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
            count = tessi_expr_window(l->g, REDUCE_SUM, here.window,
                                      tessi_lower_number(l, TYPE_I32, 1), where);
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

/* The window over the mask's taps, with their offsets, and where the coefficients lie. */
typedef struct Taps {
    TWindow typed;
    LWindow here;
    StaticAffine at[MAX_DIMS];
    ExprId index[MAX_DIMS], flat;
} Taps;

static void begin_taps(Lower *l, LBody *b, const TExpr *e, Taps *t)
{
    const TMask *m = e->mask;
    Graph *g = l->g;
    uint8_t level = 0;
    for (const LWindow *w = b->windows; w; w = w->outer)
        level = w->typed->level >= level ? (uint8_t)(w->typed->level + 1) : level;
    *t = (Taps){ .typed = { .span = e->span, .level = level, .n_vars = m->n_dims } };
    for (int d = 0; d < m->n_dims; d++) {
        t->typed.lo[d] = m->lo[d];
        t->typed.hi[d] = m->hi[d];
        t->at[d] = (StaticAffine){ .n = 1, .term = { { &t->typed, (uint32_t)d, e->dilation } } };
    }
    t->here = (LWindow){ b->windows, &t->typed, tessi_lower_graph_window(l, b, &t->typed) };
    for (int d = 0; d < m->n_dims; d++) {
        t->index[d] = tessi_expr_winvar(g, t->here.window, (uint32_t)d);
        ExprId k =
            tessi_expr_op(g, OP_SUB, t->index[d], tessi_expr_int(g, TYPE_I32, m->lo[d]), NONE);
        ExprId n = tessi_expr_int(g, TYPE_I32, (int64_t)m->hi[d] - m->lo[d] + 1);
        t->flat =
            d ? tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, t->flat, n, NONE), k, NONE) : k;
    }
}

/* Taps of zero are not read, by definition of convolve; a coefficient may round to zero in its type. */
static ExprId used_taps(Lower *l, const TMask *m, const Taps *t)
{
    bool zeros = false;
    for (uint32_t i = 0; m->at && i < m->n; i++)
        zeros |= is_zero(m, i);
    if (!zeros)
        return NONE;
    Value *used = ARENA_NEW_ARRAY(l->a, Value, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        used[i] = tessi_value_int(!is_zero(m, i));
    TMask taps = *m;
    taps.at = used;
    taps.type = tessi_tt_scalar(TYPE_BOOL);
    taps.name = tessi_sprintf(l->a, "%s.taps", m->name);
    return tessi_expr_table(l->g, tessi_lower_mask_table(l, &taps, TYPE_BOOL), t->flat);
}

ExprId tessi_lower_taps(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const TapsUse *use)
{
    const TMask *m = use->mask;
    Graph *g = l->g;
    Taps t;
    begin_taps(l, b, e, &t);
    const ScalarType type = use->type;
    const ExprId coefficient = m->at
                                   ? tessi_expr_table(g, tessi_lower_mask_table(l, m, type), t.flat)
                                   : tessi_lower_mask_load(l, m, t.index, true, type);
    ExprId where = used_taps(l, m, &t), body = coefficient;
    if (use->sign) {
        const ExprId zero = tessi_lower_number(l, type, 0);
        const bool positive = use->sign > 0;
        where = tessi_expr_op(g, OP_LT, positive ? zero : coefficient,
                              positive ? coefficient : zero, NONE);
    }
    const LWindow *outer = b->windows;
    b->windows = &t.here;
    if (use->what == TAPS_VALID)
        body = tessi_lower_valid_tap(l, b, e, t.at);
    else if (use->what == TAPS_PRODUCT)
        body = tessi_expr_op(g, OP_MUL, coefficient,
                             tessi_lower_tap(l, b, e, t.at, image_channel(e, channel), type), NONE);
    b->windows = outer;
    if (!body.v)
        return NONE;
    if (use->what == TAPS_VALID)
        return tessi_expr_window(g, use->reduction, t.here.window, body, where);
    return tessi_expr_window_by(g, e->method, t.here.window, body, where);
}

ExprId tessi_lower_convolve(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    if (tessi_lower_window_has_holes(l, b, e))
        return tessi_lower_holed_window(l, b, e, channel);
    const TapsUse use = { .mask = e->mask,
                          .type = tessi_value_type(tessi_lower_field(e->type, channel)),
                          .what = TAPS_PRODUCT };
    return tessi_lower_taps(l, b, e, channel, &use);
}
