/* front/lower_holes: windows and convolutions over points that need not be valid (`renormalise`). A sum is scaled by
 * the weights that hold: sum(w v x) / sum(w v) * sum(w), weights above and below 0 each for themselves; a mean is
 * divided by the number of valid points; every other window takes the valid points alone. */
#include "front/lower_holes.h"

static const ExprId NONE = { 0 };

static ExprId op(Lower *l, Op op, ExprId a, ExprId b)
{
    return tessi_expr_op(l->g, op, a, b, NONE);
}

/* Whether some point can be used, or none: all can. */
static ExprId some_usable(Lower *l, LBody *b, const TExpr *e)
{
    const Pass p = { .reduction = REDUCE_ANY, .type = TYPE_BOOL, .body = BODY_ENOUGH };
    return tessi_lower_pass(l, b, e, 0, &p);
}

/* ---- sums ------------------------------------------------------------------------------------ */
typedef struct Parts {
    uint32_t n;
    HoledPart at[2];
} Parts;

/* Where there is no weight, the sum of the weights need not be 0 exactly. */
static bool is_rough(const Lower *l, const TExpr *e)
{
    return (l->o && l->o->fast) || (e->kind == TE_CONVOLVE && e->method.method == METHOD_FFT);
}

ExprId tessi_lower_scaled(Lower *l, ScalarType t, const HoledPart *part)
{
    Value all;
    const bool one =
        tessi_expr_is_const(l->g, part->all, &all) && (tessi_is_real(t) ? all.f == 1 : all.i == 1);
    if (tessi_is_real(t))
        return op(l, OP_DIV, one ? part->values : op(l, OP_MUL, part->values, part->all),
                  part->holding);
    const ExprId values = tessi_expr_cast(l->g, TYPE_F64, part->values);
    const ExprId share = tessi_expr_cast(l->g, TYPE_F64, part->holding);
    return tessi_expr_sat(
        l->g, t,
        op(l, OP_DIV, op(l, OP_MUL, values, tessi_expr_cast(l->g, TYPE_F64, part->all)), share));
}

static ExprId sum_of(Lower *l, ScalarType t, const Parts *parts)
{
    ExprId sum = NONE;
    const ExprId zero = tessi_lower_number(l, t, 0);
    for (uint32_t i = 0; i < parts->n; i++) {
        const HoledPart *part = &parts->at[i];
        ExprId value = tessi_lower_scaled(l, t, part);
        if (!part->known)
            value = tessi_expr_op(l->g, OP_SELECT, op(l, OP_EQ, part->all, zero), zero, value);
        sum = sum.v ? op(l, OP_ADD, sum, value) : value;
    }
    return sum;
}

ExprId tessi_lower_part_holds(Lower *l, ScalarType t, const HoledPart *part)
{
    const ExprId zero = tessi_lower_number(l, t, 0);
    const ExprId holds = part->some.v ? part->some : op(l, OP_NE, part->holding, zero);
    return part->known ? holds : op(l, OP_OR, op(l, OP_EQ, part->all, zero), holds);
}

static ExprId parts_hold(Lower *l, ScalarType t, const Parts *parts)
{
    ExprId valid = NONE;
    for (uint32_t i = 0; i < parts->n; i++)
        valid = tessi_lower_both(l, valid, tessi_lower_part_holds(l, t, &parts->at[i]));
    return valid;
}

static HoledPart window_part(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ScalarType t,
                             const Weights *w, int sign)
{
    const bool by_fill = w->known && w->plain && (!e->window->where || e->window->where->is_static);
    Pass p = { .reduction = REDUCE_SUM,
               .type = t,
               .sign = !w->known || (w->above && w->below) ? sign : 0,
               .weights = w,
               .data_where = true,
               .usable = !by_fill,
               .fill = by_fill ? FILL_ZERO : FILL_RAW };
    HoledPart part = { .known = w->known };
    part.values = tessi_lower_pass(l, b, e, channel, &p);
    p.data_where = false;
    p.body = by_fill ? BODY_VALUE : BODY_WEIGHT;
    p.fill = by_fill ? FILL_WEIGHT : FILL_RAW;
    part.holding = tessi_lower_pass(l, b, e, channel, &p);
    if (w->known && is_rough(l, e)) {
        Pass some = p;
        some.reduction = REDUCE_ANY;
        some.type = TYPE_BOOL;
        some.body = BODY_ENOUGH;
        some.fill = FILL_RAW;
        some.usable = false;
        part.some = tessi_lower_pass(l, b, e, channel, &some);
    }
    p.body = BODY_WEIGHT;
    p.usable = false;
    p.fill = FILL_RAW;
    part.all = w->known ? tessi_expr_const(l->g, t, tessi_lower_weight_value(t, w->sum[sign < 0]))
                        : tessi_lower_pass(l, b, e, channel, &p);
    return part;
}

static void window_parts(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ScalarType t,
                         const Weights *w, Parts *parts)
{
    *parts = (Parts){ .n = 0 };
    if (!w->known || w->above)
        parts->at[parts->n++] = window_part(l, b, e, channel, t, w, 1);
    if (!w->known || w->below)
        parts->at[parts->n++] = window_part(l, b, e, channel, t, w, -1);
}

/* The mask with its weights of one sign alone. */
static TMask *one_sign(Lower *l, const TMask *m, int sign, bool *any, double *sum)
{
    TMask *part = ARENA_NEW(l->a, TMask);
    *part = *m;
    part->at = ARENA_NEW_ARRAY(l->a, Value, m->n);
    part->name = tessi_sprintf(l->a, "%s.%s", m->name, sign > 0 ? "above" : "below");
    *any = false;
    *sum = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const bool whole = tessi_tt_is_integer(m->type);
        const double w = whole ? (double)m->at[i].i : m->at[i].f;
        const bool counts = sign > 0 ? w > 0 : w < 0;
        part->at[i] = counts ? m->at[i] : whole ? tessi_value_int(0) : tessi_value_real(0);
        *any |= counts;
        *sum += counts ? w : 0;
    }
    return part;
}

static ExprId taps(Lower *l, LBody *b, const TExpr *e, uint32_t channel, LFill fill, TapsUse use)
{
    const LFill before = b->fill;
    b->fill = fill; /* reads of a convolution are not remembered, so that no new epoch is needed */
    const ExprId sum = tessi_lower_taps(l, b, e, channel, &use);
    b->fill = before;
    return sum;
}

static void convolution_parts(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ScalarType t,
                              Parts *parts)
{
    const TMask *m = e->mask;
    *parts = (Parts){ .n = 0 };
    for (int sign = 1; sign >= -1; sign -= 2) {
        TapsUse use = { .mask = m, .type = t, .what = TAPS_PRODUCT, .sign = sign };
        HoledPart part = { .known = m->at != NULL };
        if (part.known) {
            bool any, other;
            double sum, rest;
            const TMask *own = one_sign(l, m, sign, &any, &sum);
            (void)one_sign(l, m, -sign, &other, &rest);
            if (!any)
                continue;
            use.sign = 0;
            use.mask = other ? own : m;
            part.all = tessi_expr_const(l->g, t, tessi_lower_weight_value(t, sum));
        }
        part.values = taps(l, b, e, channel, FILL_ZERO, use);
        part.holding = taps(l, b, e, channel, FILL_WEIGHT, use);
        if (is_rough(l, e)) {
            TapsUse some = use;
            some.what = TAPS_VALID;
            some.reduction = REDUCE_ANY;
            part.some = taps(l, b, e, channel, FILL_RAW, some);
        }
        use.what = TAPS_WEIGHT;
        if (!part.known)
            part.all = taps(l, b, e, channel, FILL_RAW, use);
        parts->at[parts->n++] = part;
    }
}

/* ---- means and counts ------------------------------------------------------------------------ */
/* A sum whose value is no matter of pixels: it counts points. */
static bool is_count(const TExpr *e)
{
    return e->reduction == REDUCE_SUM && e->arg[0]->is_static;
}

typedef struct Mean {
    ExprId values, points;
    bool by_fill; /* the points are counted as a sum of 0 and 1 over the whole window */
} Mean;

static Mean mean_parts(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ScalarType t)
{
    Weights w = { .known = true };
    tessi_lower_look_at_value(e->arg[0], channel, &w);
    const bool by_fill = w.plain && w.unit && (!e->window->where || e->window->where->is_static);
    Pass p = { .reduction = REDUCE_SUM,
               .type = t,
               .data_where = true,
               .usable = !by_fill,
               .fill = by_fill ? FILL_ZERO : FILL_RAW };
    Mean mean = { .values = tessi_lower_pass(l, b, e, channel, &p), .by_fill = by_fill };
    p.body = by_fill ? BODY_VALUE : BODY_ONE;
    p.fill = by_fill ? FILL_WEIGHT : FILL_RAW;
    mean.points = tessi_lower_pass(l, b, e, channel, &p);
    return mean;
}

/* ---- medians --------------------------------------------------------------------------------- */
/* Something about the points of the window. */
typedef struct Point {
    WindowId window;
    ExprId order, counts; /* its place in the order of values; whether it takes part */
} Point;

/* `deeper`: inside of a window like it. */
static Point point_at(Lower *l, LBody *b, const TExpr *e, uint32_t channel, bool deeper)
{
    const LWindow *outer = b->windows;
    const uint32_t epoch = b->epoch;
    b->deeper = (uint8_t)(b->deeper + deeper);
    const LWindow here = { outer, e->window, tessi_lower_graph_window(l, b, e->window) };
    b->windows = &here;
    b->epoch = ++l->epoch;
    Point p = { .window = here.window };
    const ExprId value = tessi_lower_expr(l, b, e->arg[0], channel);
    const ScalarType t = tessi_expr(l->g, value)->type;
    p.order = tessi_is_real(t) ? tessi_expr_op(l->g, OP_ORDER, value, NONE, NONE) : value;
    p.counts = tessi_lower_usable(l, b, e);
    if (e->window->where)
        p.counts = tessi_lower_both(l, tessi_lower_expr(l, b, e->window->where, 0), p.counts);
    b->deeper = (uint8_t)(b->deeper - deeper);
    b->windows = outer;
    b->epoch = epoch;
    return p;
}

/* The least value that more than half of the points do not exceed. */
static ExprId median(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    Graph *g = l->g;
    const ScalarType t = tessi_value_type(tessi_lower_field(e->type, channel));
    const Point own = point_at(l, b, e, channel, false);
    const Point other = point_at(l, b, e, channel, true);
    const ExprId one = tessi_lower_number(l, TYPE_I32, 1);
    const ExprId n = tessi_expr_window(g, REDUCE_SUM, other.window, one, other.counts);
    const ExprId below =
        tessi_expr_window(g, REDUCE_SUM, other.window, one,
                          tessi_lower_both(l, op(l, OP_LE, other.order, own.order), other.counts));
    const ExprId half = op(l, OP_DIV, n, tessi_lower_number(l, TYPE_I32, 2));
    const ExprId reaches = tessi_lower_both(l, op(l, OP_LT, half, below), own.counts);
    const ExprId found = tessi_expr_window(g, REDUCE_MIN, own.window, own.order, reaches);
    if (!tessi_is_real(t))
        return found;
    const ExprId value = tessi_expr_op(g, OP_AT_ORDER, found, NONE, NONE);
    return tessi_expr(g, value)->type == t ? value : tessi_expr_cast(g, t, value);
}

ExprId tessi_lower_share(Lower *l, LBody *b, const TExpr *e)
{
    const Pass p = { .reduction = REDUCE_SUM,
                     .type = TYPE_I32,
                     .body = BODY_ONE,
                     .data_where = true,
                     .usable = true };
    const TExpr *window = e->arg[0];
    if (!tessi_lower_window_has_holes(l, b, window))
        return tessi_lower_number(l, TYPE_I32, tessi_percentile_rank(e->value.f, e->slot));
    const ExprId n = tessi_expr_cast(l->g, TYPE_F64, tessi_lower_pass(l, b, window, 0, &p));
    ExprId k = op(l, OP_SUB, n, tessi_lower_number(l, TYPE_F64, 1));
    k = op(l, OP_MUL, tessi_expr_real(l->g, TYPE_F64, e->value.f), k);
    k = op(l, OP_DIV, k, tessi_lower_number(l, TYPE_F64, 100));
    k = op(l, OP_ADD, k, tessi_expr_real(l->g, TYPE_F64, 0.5));
    return tessi_expr_cast(l->g, TYPE_I32, tessi_expr_op(l->g, OP_FLOOR, k, NONE, NONE));
}

/* ---- any window ------------------------------------------------------------------------------ */
bool tessi_lower_window_has_holes(Lower *l, LBody *b, const TExpr *e)
{
    if (!b->holes)
        return false;
    return tessi_lower_validity(l, b, e, ASKED_ENOUGH).v != 0;
}

static bool is_weighted(const TExpr *e)
{
    return e->reduction == REDUCE_SUM && !e->is_mean && !is_count(e);
}

/* Extremes of plain reads pass over points that hold an end of the type. */
static LFill passed_over(const TExpr *e, uint32_t channel)
{
    Weights w;
    if (e->reduction != REDUCE_MIN && e->reduction != REDUCE_MAX)
        return FILL_RAW;
    tessi_lower_look_at_value(e->arg[0], channel, &w);
    const TExpr *value = e->arg[0];
    while (value->kind == TE_FIELD)
        value = value->arg[0];
    if (value->kind != TE_READ || !w.plain || (e->window->where && !e->window->where->is_static))
        return FILL_RAW;
    return e->reduction == REDUCE_MIN ? FILL_MOST : FILL_LEAST;
}

ExprId tessi_lower_holed_window(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    const ScalarType t = tessi_value_type(tessi_lower_field(e->type, channel));
    Parts parts;
    Weights w;
    if (e->kind == TE_CONVOLVE) {
        convolution_parts(l, b, e, channel, t, &parts);
        return sum_of(l, t, &parts);
    }
    if (e->reduction == REDUCE_MEDIAN)
        return median(l, b, e, channel);
    if (e->is_mean) {
        const Mean mean = mean_parts(l, b, e, channel, t);
        return op(l, OP_DIV, mean.values, mean.points);
    }
    if (is_weighted(e)) {
        tessi_lower_find_weights(l, b, e, channel, &w);
        window_parts(l, b, e, channel, t, &w, &parts);
        return sum_of(l, t, &parts);
    }
    const LFill fill = passed_over(e, channel);
    const Pass p = { .reduction = e->reduction,
                     .type = t,
                     .fill = fill,
                     .data_where = true,
                     .usable = fill == FILL_RAW };
    return tessi_lower_pass(l, b, e, channel, &p);
}

static ExprId convolution_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    const Missing policy = b->call->args.at[e->slot].border.missing.policy;
    const bool enough = policy == MISSING_RENORMALISE;
    TapsUse use = { .mask = e->mask,
                    .type = TYPE_BOOL,
                    .what = TAPS_VALID,
                    .reduction = enough ? REDUCE_ANY : REDUCE_ALL };
    if (policy == MISSING_ZERO || enough != (asked == ASKED_ENOUGH))
        return NONE;
    const ExprId some = tessi_lower_taps(l, b, e, 0, &use);
    if (!enough || !some.v)
        return some;
    Parts parts;
    const ScalarType t = tessi_value_type(tessi_lower_field(e->type, 0));
    convolution_parts(l, b, e, 0, t, &parts);
    return parts_hold(l, t, &parts);
}

ExprId tessi_lower_window_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    if (e->kind == TE_CONVOLVE)
        return convolution_validity(l, b, e, asked);
    if (asked == ASKED_ALL) {
        const Pass p = { .reduction = REDUCE_ALL, .type = TYPE_BOOL, .body = BODY_ALL };
        return tessi_lower_pass(l, b, e, 0, &p);
    }
    const ExprId some = some_usable(l, b, e);
    const ScalarType t = tessi_value_type(tessi_lower_field(e->type, 0));
    if (some.v && e->is_mean
        && !is_rough(l, e)) { /* no window of its own where points are counted anyway */
        const Mean mean = mean_parts(l, b, e, 0, t);
        if (mean.by_fill)
            return op(l, OP_NE, mean.points, tessi_lower_number(l, t, 0));
    }
    if (!some.v || !is_weighted(e))
        return some;
    Weights w;
    Parts parts;
    tessi_lower_find_weights(l, b, e, 0, &w);
    window_parts(l, b, e, 0, t, &w, &parts);
    return parts_hold(l, t, &parts);
}
