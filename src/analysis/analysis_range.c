/* Value ranges: an interval for every expression and stage, from the types of the inputs on. Sound and simple: what
 * is monotone in each argument is evaluated at the ends of the intervals by the operator itself, so rounding is part
 * of the answer; anything else gets the range of its type. */
#include <math.h>

#include "analysis/analysis.h"
#include "graph/graph_fold.h"
#include "graph/graph_walk.h"

enum { MAX_SUM_STEPS = 4096 };

static ValueRange whole(ScalarType t)
{
    ValueRange r = { .lo = -(double)INFINITY, .hi = (double)INFINITY, .maybe_nan = true };
    if (!tessi_is_real(t)) {
        r = (ValueRange){ .i = tessi_type_range(t), .open = tessi_type_info(t)->bytes >= 4 };
    }
    return r;
}

static ValueRange point(ScalarType t, Value v)
{
    ValueRange r = { .i = { v.i, v.i } };
    if (!tessi_is_real(t))
        return r;
    if (isnan(v.f))
        return whole(t);
    return (ValueRange){ .lo = v.f, .hi = v.f };
}

static ValueRange joined(ValueRange a, ValueRange b)
{
    return (ValueRange){ .i = tessi_interval_union(a.i, b.i),
                         .lo = a.lo < b.lo ? a.lo : b.lo,
                         .hi = a.hi > b.hi ? a.hi : b.hi,
                         .maybe_nan = a.maybe_nan || b.maybe_nan,
                         .open = a.open || b.open };
}

/* ---- Integers -------------------------------------------------------------------------------- */

static ValueRange fit(ScalarType t, Interval i)
{
    Interval range = tessi_type_range(t);
    bool fits = i.lo >= range.lo && i.hi <= range.hi && i.lo <= i.hi;
    /* Saturated ends of 64-bit arithmetic may stand for more. */
    fits = fits && (t != TYPE_I64 || (i.lo > INT64_MIN && i.hi < INT64_MAX));
    fits = fits && (t != TYPE_U64 || (i.lo >= 0 && i.hi < INT64_MAX));
    return (ValueRange){ .i = fits ? i : range };
}

static int64_t magnitude(Interval a)
{
    int64_t lo = a.lo == INT64_MIN ? INT64_MAX : a.lo < 0 ? -a.lo : a.lo;
    int64_t hi = a.hi == INT64_MIN ? INT64_MAX : a.hi < 0 ? -a.hi : a.hi;
    return lo > hi ? lo : hi;
}

/* The hull of an operator monotone in both arguments, from its values at the corners. */
static ValueRange int_corners(Op op, ScalarType t, Interval a, Interval b)
{
    const int64_t x[2] = { a.lo, a.hi }, y[2] = { b.lo, b.hi };
    Interval hull = { INT64_MAX, INT64_MIN };
    for (int k = 0; k < 4; k++) {
        Value args[2] = { tessi_value_int(x[k & 1]), tessi_value_int(y[k >> 1]) };
        int64_t v = tessi_eval(op, t, args).i;
        hull = tessi_interval_union(hull, (Interval){ v, v });
    }
    return (ValueRange){ .i = hull };
}

static ValueRange int_division(Op op, ScalarType t, Interval a, Interval b)
{
    int64_t m = magnitude(a), limit = magnitude(b);
    if (a.lo == tessi_type_range(t).lo && b.lo <= -1 && a.lo < 0)
        return whole(t); /* MIN / -1 wraps */
    if (op == OP_DIV && (b.lo > 0 || b.hi < 0))
        return int_corners(op, t, a, b);
    if (op == OP_MOD && limit > 0 && limit - 1 < m)
        m = limit - 1;
    return fit(t, (Interval){ a.lo < 0 || (op == OP_DIV && b.lo < 0) ? -m : 0,
                              a.hi > 0 || (op == OP_DIV && b.lo < 0) ? m : 0 });
}

static ValueRange int_bits(Op op, ScalarType t, Interval a, Interval b)
{
    if (op == OP_AND && (a.lo >= 0 || b.lo >= 0)) {
        int64_t top = a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : a.hi < b.hi ? a.hi : b.hi;
        return fit(t, (Interval){ 0, top });
    }
    if (a.lo < 0 || b.lo < 0)
        return whole(t);
    int64_t top = a.hi > b.hi ? a.hi : b.hi, ones = 0;
    while (ones < top)
        ones = ones * 2 + 1;
    return fit(t, (Interval){ 0, ones });
}

static ValueRange int_shift(Op op, ScalarType t, Interval a, Interval b)
{
    int64_t width = tessi_type_info(t)->bytes * 8;
    if (b.lo < 0 || b.hi >= width)
        return whole(t);
    if (op == OP_SHR)
        return int_corners(op, t, a, b);
    if (b.hi > 62)
        return whole(t);
    Interval factor = { (int64_t)1 << b.lo, (int64_t)1 << b.hi };
    return fit(t, tessi_interval_mul(a, factor));
}

static ValueRange int_op(Op op, ScalarType t, Interval a, Interval b)
{
    Interval i = a;
    if (t == TYPE_U64 && op != OP_AND && (a.lo < 0 || b.lo < 0))
        return whole(t); /* of uint64 what lies beyond int64 is not ordered here */
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG: tessi_op_interval(op, a, b, &i); return fit(t, i);
    case OP_ABS:
        if (a.lo >= 0)
            return (ValueRange){ .i = a };
        return fit(t, (Interval){ a.hi < 0 ? -a.hi : 0, magnitude(a) });
    case OP_MIN:
    case OP_MAX: return int_corners(op, t, a, b);
    case OP_DIV:
    case OP_MOD: return int_division(op, t, a, b);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return int_bits(op, t, a, b);
    case OP_SHL:
    case OP_SHR: return int_shift(op, t, a, b);
    default: return whole(t);
    }
}

/* ---- Reals ----------------------------------------------------------------------------------- */

static ValueRange real_corners(Op op, ScalarType t, const ValueRange *a, int n)
{
    ValueRange hull = { .lo = (double)INFINITY, .hi = -(double)INFINITY };
    for (int k = 0; k < 1 << n; k++) {
        Value args[3];
        for (int i = 0; i < n; i++)
            args[i].f = k >> i & 1 ? a[i].hi : a[i].lo;
        double v = tessi_eval(op, t, args).f;
        if (isnan(v))
            return whole(t); /* inf - inf, 0 * inf */
        hull = joined(hull, (ValueRange){ .lo = v, .hi = v });
    }
    for (int i = 0; i < n; i++)
        hull.maybe_nan |= a[i].maybe_nan || isinf(a[i].lo) || isinf(a[i].hi);
    return hull;
}

static ValueRange real_op(Op op, ScalarType t, const ValueRange *a)
{
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return real_corners(op, t, a, 2);
    case OP_FMA: return real_corners(op, t, a, 3);
    case OP_DIV: return a[1].lo > 0 || a[1].hi < 0 ? real_corners(op, t, a, 2) : whole(t);
    case OP_MIN:
    case OP_MAX: {
        /* With a NaN the answer is the right one, which may be any of its values where that is the left. */
        ValueRange r = real_corners(op, t, a, 2);
        if (a[0].maybe_nan)
            r = joined(r, a[1]);
        r.maybe_nan = a[1].maybe_nan;
        return r;
    }
    case OP_NEG: return (ValueRange){ .lo = -a[0].hi, .hi = -a[0].lo, .maybe_nan = a[0].maybe_nan };
    case OP_ABS: {
        double lo = fabs(a[0].lo), hi = fabs(a[0].hi);
        bool spans = a[0].lo <= 0 && a[0].hi >= 0;
        return (ValueRange){ .lo = spans ? 0 : fmin(lo, hi),
                             .hi = fmax(lo, hi),
                             .maybe_nan = a[0].maybe_nan };
    }
    case OP_SQRT:
        if (a[0].lo < 0)
            return whole(t);
        /* fallthrough */
    case OP_FLOOR:
    case OP_CEIL:
    case OP_ROUND:
    case OP_TRUNC:
    case OP_ROUND16: {
        Value lo = { .f = a[0].lo }, hi = { .f = a[0].hi };
        return (ValueRange){ .lo = tessi_eval(op, t, &lo).f,
                             .hi = tessi_eval(op, t, &hi).f,
                             .maybe_nan = a[0].maybe_nan };
    }
    default: return whole(t);
    }
}

/* ---- Conversions ----------------------------------------------------------------------------- */

static ValueRange converted(const Expr *e, ScalarType from, const ValueRange *a)
{
    ScalarType to = tessi_value_type(e->type);
    Value (*convert)(ScalarType, ScalarType, Value) =
        e->kind == EXPR_SAT ? tessi_eval_sat : tessi_eval_cast;
    if (to == TYPE_BOOL)
        return whole(TYPE_BOOL);
    if (from == TYPE_U64 && a->i.lo < 0)
        return tessi_is_real(to) ? (ValueRange){ .lo = 0, .hi = 0x1p64 } : whole(to);
    if (!tessi_is_real(from)) {
        Interval range = tessi_is_real(to) ? a->i : tessi_type_range(to);
        if (e->kind == EXPR_CAST && (a->i.lo < range.lo || a->i.hi > range.hi))
            return whole(to); /* wraps */
    }
    /* Everything else saturates or rounds: it is monotone. */
    Value lo = { .i = a->i.lo }, hi = { .i = a->i.hi };
    if (tessi_is_real(from)) {
        lo.f = a->lo;
        hi.f = a->hi;
    }
    lo = convert(e->type, from, lo);
    hi = convert(e->type, from, hi);
    if (tessi_is_real(to))
        return (ValueRange){ .lo = lo.f, .hi = hi.f, .maybe_nan = a->maybe_nan };
    ValueRange r = { .i = { lo.i, hi.i } };
    if (tessi_is_real(from) && a->maybe_nan) /* NaN gives 0 */
        r.i = tessi_interval_union(r.i, (Interval){ 0, 0 });
    return r;
}

/* ---- Windows --------------------------------------------------------------------------------- */

/* A sum is monotone in each of its values, so n times the least and the greatest bound it, added in the same way. */
static ValueRange window_sum(const Graph *g, const Expr *e, const ValueRange *range)
{
    int64_t n = tessi_window_points(tessi_window(g, e->window));
    ValueRange v = range[e->arg[0].v], sum = v, zero = point(e->type, (Value){ 0 });
    if (n <= 0 || n > MAX_SUM_STEPS)
        return whole(e->type);
    if (!tessi_is_real(e->type)) {
        ValueRange r = fit(e->type, tessi_interval_mul(v.i, (Interval){ n, n }));
        return e->arg[1].v ? joined(joined(r, v), zero) : r;
    }
    const Expr *body = tessi_expr(g, e->arg[0]);
    for (int64_t k = 1; k < n; k++) {
        ValueRange args[3] = { sum, v };
        if (e->fused) {
            args[0] = range[body->arg[0].v];
            args[1] = range[body->arg[1].v];
            args[2] = sum;
        }
        sum = real_op(e->fused ? OP_FMA : OP_ADD, e->type, args);
    }
    return e->arg[1].v ? joined(joined(sum, v), zero) : sum;
}

static ValueRange window_range(const Graph *g, const Expr *e, const ValueRange *range)
{
    ValueRange v = range[e->arg[0].v];
    switch (e->reduction) {
    case REDUCE_SUM: return window_sum(g, e, range);
    case REDUCE_MIN:
    case REDUCE_MAX:
    case REDUCE_MEDIAN:
        if (!e->arg[1].v)
            return v;
        if (e->type == TYPE_U64) /* its greatest value is none of an interval */
            return whole(e->type);
        /* With a condition it may keep its start, an end of the type. */
        return joined(v, point(e->type, tessi_reduction_identity(e->reduction, e->type)));
    default: return whole(e->type);
    }
}

/* ---- Expressions and stages ------------------------------------------------------------------ */

static ValueRange table_range(const Table *t)
{
    ValueRange r = t->n ? point(t->type, t->at[0]) : whole(t->type);
    for (uint32_t i = 1; i < t->n; i++)
        r = joined(r, point(t->type, t->at[i]));
    return r;
}

/* Orders grow with what they are orders of; the least zero is -0. */
static ValueRange order_range(ScalarType t, const ValueRange *a)
{
    ScalarType to = tessi_op_result(OP_ORDER, t);
    Value lo = { .f = a->lo == 0 ? -0.0 : a->lo }, hi = { .f = a->hi == 0 ? 0.0 : a->hi };
    int64_t last = tessi_type_range(to).hi;
    return (ValueRange){ .i = { tessi_eval(OP_ORDER, t, &lo).i,
                                a->maybe_nan ? last : tessi_eval(OP_ORDER, t, &hi).i } };
}

static ValueRange at_order_range(ScalarType t, const ValueRange *a)
{
    ScalarType to = tessi_op_result(OP_AT_ORDER, t);
    Value lo = { .i = a->i.lo }, hi = { .i = a->i.hi };
    lo = tessi_eval(OP_AT_ORDER, t, &lo);
    hi = tessi_eval(OP_AT_ORDER, t, &hi);
    if (isnan(lo.f))
        return whole(to);
    return (ValueRange){ .lo = lo.f,
                         .hi = isnan(hi.f) ? (double)INFINITY : hi.f,
                         .maybe_nan = isnan(hi.f) };
}

static ValueRange op_range(const Graph *g, const Expr *e, const ValueRange *range)
{
    ValueRange a[3] = { { .maybe_nan = false } };
    for (int i = 0; i < e->n_args; i++)
        a[i] = range[e->arg[i].v];
    if (e->op == OP_SELECT)
        return joined(a[1], a[2]);
    if (e->type == TYPE_BOOL)
        return whole(TYPE_BOOL);
    ScalarType t = tessi_expr(g, e->arg[0])->type;
    if (e->op == OP_ORDER)
        return order_range(t, a);
    if (e->op == OP_AT_ORDER)
        return at_order_range(t, a);
    if (tessi_is_real(t))
        return real_op(e->op, t, a);
    ValueRange r = int_op(e->op, t, a[0].i, a[1].i);
    if (e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL || e->op == OP_DIV || e->op == OP_SHR
        || e->op == OP_NEG || e->op == OP_ABS)
        r.open = r.open || a[0].open || a[1].open;
    return r;
}

static ValueRange expr_range(const Analysis *an, const Expr *e, const ValueRange *table)
{
    const Graph *g = an->g;
    const ValueRange *range = an->expr_range;
    switch (e->kind) {
    case EXPR_CONST: return point(e->type, e->value);
    case EXPR_OP: return op_range(g, e, range);
    case EXPR_CAST:
    case EXPR_SAT: return converted(e, tessi_expr(g, e->arg[0])->type, &range[e->arg[0].v]);
    case EXPR_LOAD: {
        const Access *a = tessi_access(g, e->access);
        ValueRange r = an->stage_range[a->producer.v];
        return a->outside.v ? joined(r, range[a->outside.v]) : r;
    }
    case EXPR_SCALAR: {
        const Scalar *s = &g->scalars.at[e->ref];
        if (!s->has_range)
            return whole(e->type);
        return joined(point(e->type, s->lo), point(e->type, s->hi));
    }
    case EXPR_WINVAR: {
        const Window *w = tessi_window(g, e->window);
        return (ValueRange){ .i = { w->lo[e->ref], w->hi[e->ref] } };
    }
    case EXPR_TABLE: return table[e->table.v];
    case EXPR_WINDOW: return window_range(g, e, range);
    default: return whole(e->type);
    }
}

/* Counts are; so are totals of what is small enough for them not to wrap. */
static bool is_not_negative(const Analysis *an, const Stage *s)
{
    const ScalarType from = tessi_stage(an->g, s->source)->type;
    const Interval v = an->stage_range[s->source.v].i;
    return s->reduction == REDUCE_COUNT
           || (s->reduction == REDUCE_SUM && !tessi_is_real(from)
               && tessi_type_info(s->type)->bytes == 8 && v.lo >= 0 && v.hi <= UINT16_MAX);
}

static ValueRange stage_range(const Analysis *an, const Stage *s)
{
    ScalarType t = tessi_value_type(s->type);
    if (s->kind == STAGE_REDUCE && (s->reduction == REDUCE_MIN || s->reduction == REDUCE_MAX)
        && !s->keys.v && s->type == tessi_stage(an->g, s->source)->type && !tessi_is_real(s->type))
        return an->stage_range[s->source.v];
    if (s->kind == STAGE_REDUCE && !tessi_is_real(s->type) && is_not_negative(an, s))
        return (ValueRange){ .i = { 0, tessi_type_range(s->type).hi } };
    if (s->kind != STAGE_COMPUTE || !s->pieces.n)
        return whole(t);
    ValueRange r = an->expr_range[s->pieces.at[0].body.v];
    for (uint32_t i = 1; i < s->pieces.n; i++)
        r = joined(r, an->expr_range[s->pieces.at[i].body.v]);
    if (!tessi_stage_is_plain(an->g, s)) /* points of no piece are 0 */
        r = joined(r, point(t, (Value){ 0 }));
    return s->type == TYPE_F16 ? real_op(OP_ROUND16, TYPE_F32, &r) : r;
}

/* Expressions up to the largest one that stage `s` needs; all of them read only stages before it or are of no
 * interest to it. */
static void ranges_up_to(Analysis *an, ExprWalk *walk, const Stage *s, bool *done,
                         const ValueRange *table)
{
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(walk, an->g, &piece->body, 1);
        VEC_FOREACH (const ExprId, id, list) {
            if (done[id->v])
                continue;
            const Expr *e = tessi_expr(an->g, *id);
            ValueRange r = expr_range(an, e, table);
            if (e->type == TYPE_U64 && (r.i.lo < 0 || r.i.lo > r.i.hi))
                r = whole(TYPE_U64);
            an->expr_range[id->v] = r;
            done[id->v] = true;
        }
    }
}

void tessi_analyse_ranges(Analysis *an, Arena *a)
{
    const Graph *g = an->g;
    Arena *scratch = tessi_scratch_open(a);
    ExprWalk walk = { .arena = scratch };
    bool *done = ARENA_NEW_ARRAY(scratch, bool, g->exprs.n);
    ValueRange *table = ARENA_NEW_ARRAY(scratch, ValueRange, g->tables.n);
    an->expr_range = ARENA_NEW_ARRAY(a, ValueRange, g->exprs.n);
    an->stage_range = ARENA_NEW_ARRAY(a, ValueRange, g->stages.n);
    for (uint32_t v = 1; v < g->tables.n; v++)
        table[v] = table_range(tessi_table(g, (TableId){ v }));
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        ranges_up_to(an, &walk, s, done, table);
        an->stage_range[id.v] = stage_range(an, s);
    }
    for (uint32_t v = 1; v < g->exprs.n; v++) /* what no stage uses */
        if (!done[v])
            an->expr_range[v] = whole(tessi_value_type(tessi_expr(g, (ExprId){ v })->type));
    tessi_scratch_close(scratch);
}

/* ---- Warnings -------------------------------------------------------------------------------- */

/* What an operation of integers gives before it wraps; false when it cannot leave its type or its operands are of any
 * value, so that nothing is known. */
static bool before_wrapping(const Analysis *an, const Graph *g, const Expr *e, Interval *have)
{
    bool op = e->kind == EXPR_OP && (e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL);
    bool sum = e->kind == EXPR_WINDOW && e->reduction == REDUCE_SUM;
    Interval room = tessi_type_range(e->type), v[2];
    if ((!op && !sum) || !tessi_is_integer(e->type) || tessi_is_unsigned(e->type)
        || e->type == TYPE_INDEX)
        return false;
    for (int i = 0; i < (op ? 2 : 1); i++) {
        v[i] = an->expr_range[e->arg[i].v].i;
        if (v[i].lo == room.lo || v[i].hi == room.hi || an->expr_range[e->arg[i].v].open)
            return false;
    }
    if (sum) {
        const int64_t n = tessi_window_points(tessi_window(g, e->window));
        *have = tessi_interval_mul(v[0], (Interval){ n, n });
    } else if (e->op == OP_MUL) {
        *have = tessi_interval_mul(v[0], v[1]);
    } else {
        const Interval minus = { -v[1].hi, -v[1].lo };
        *have = tessi_interval_add(v[0], e->op == OP_SUB ? minus : v[1]);
    }
    return have->lo < room.lo || have->hi > room.hi;
}

static bool warn_overflow(const Analysis *an, const Graph *g, const Stage *s, const Expr *e,
                          Diags *d)
{
    Interval have;
    if (!before_wrapping(an, g, e, &have))
        return false;
    Diag *diag = tessi_diag(d, DIAG_OVERFLOW, s->span, s->name, (long long)have.lo,
                            (long long)have.hi, tessi_type_info(e->type)->name);
    tessi_diag_help(
        d, diag,
        "convert an operand first, cast<%s>(..); arithmetic that is to wrap is written in uint32",
        e->type == TYPE_I64 ? "double" : "int64");
    return true;
}

static bool warn_narrowing(const Analysis *an, const Graph *g, const Stage *s, const Expr *e,
                           Diags *d)
{
    ScalarType from = tessi_expr(g, e->arg[0])->type;
    if (e->kind != EXPR_CAST || !tessi_is_integer(e->type) || !tessi_is_integer(from)
        || tessi_type_info(e->type)->bytes >= tessi_type_info(from)->bytes)
        return false;
    Interval have = an->expr_range[e->arg[0].v].i, room = tessi_type_range(e->type);
    if (have.lo >= room.lo && have.hi <= room.hi)
        return false;
    const char *type = tessi_type_info(e->type)->name;
    const Interval all = tessi_type_range(from);
    const char *which =
        have.lo == all.lo && have.hi == all.hi
            ? tessi_sprintf(d->arena, "any of %s", tessi_type_info(from)->name)
            : tessi_sprintf(d->arena, "from %lld to %lld", (long long)have.lo, (long long)have.hi);
    Diag *diag = tessi_diag(d, DIAG_NARROWING, s->span, s->name, type, which);
    tessi_diag_help(d, diag, "'sat<%s>(..)' keeps them at the ends of the type", type);
    return true;
}

/* Reals of 0 to 1, or -1 to 1, hardly mean anything as integers. Rounded ones were meant so. */
static bool warn_unit(const Analysis *an, const Graph *g, const Stage *s, const Expr *e, Diags *d)
{
    if ((e->kind != EXPR_CAST && e->kind != EXPR_SAT) || !tessi_is_integer(e->type))
        return false;
    const Expr *real = tessi_expr(g, e->arg[0]);
    const ValueRange *r = &an->expr_range[e->arg[0].v];
    const bool rounded = real->kind == EXPR_OP
                         && (real->op == OP_FLOOR || real->op == OP_CEIL || real->op == OP_ROUND
                             || real->op == OP_TRUNC || real->op == OP_SELECT);
    if (!tessi_is_real(real->type) || rounded || real->kind == EXPR_CAST || r->lo < -1 || r->hi > 1
        || r->lo == r->hi)
        return false;
    const char *type = tessi_type_info(e->type)->name;
    Diag *diag = tessi_diag(d, DIAG_UNIT_TO_INTEGER, s->span, s->name, type, r->lo, r->hi);
    tessi_diag_help(d, diag, "multiply by the largest value first, as in 'sat<%s>(%lld * ..)'",
                    type, (long long)tessi_type_range(e->type).hi);
    return true;
}

typedef bool (*ValueWarning)(const Analysis *, const Graph *, const Stage *, const Expr *, Diags *);

void tessi_warn_values(const Analysis *an, const Graph *g, Diags *d)
{
    static const ValueWarning warnings[] = { warn_narrowing, warn_overflow, warn_unit };
    enum { N = sizeof warnings / sizeof *warnings };
    ExprWalk walk = { .arena = d->arena };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        bool told[N] = { false };
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            for (uint32_t i = 0; i < list->n; i++)
                for (int k = 0; k < N; k++)
                    told[k] = told[k] || warnings[k](an, g, s, tessi_expr(g, list->at[i]), d);
        }
    }
}
