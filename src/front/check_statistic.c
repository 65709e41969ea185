/* front/check_statistic: windows that are written in sums, minima and maxima: range, var, std, argmin, argmax, rank,
 * percentile; and reduce, which is written out point by point. */
#include "front/check.h"

#include <math.h>

/* ---- range, var, std ------------------------------------------------------------------------- */
static TExpr *range_of(Checker *c, const AstExpr *e)
{
    TExpr *hi = tessi_check_window_of(c, e, REDUCE_MAX, false, NULL);
    TExpr *lo = tessi_check_window_of(c, e, REDUCE_MIN, false, NULL);
    return tessi_check_binary(c, e->span, AST_OP_SUB, hi, lo);
}

/* user: the mean */
static TExpr *squared_distance(Checker *c, void *user, TExpr *value)
{
    TExpr *d = tessi_check_binary(c, value->span, AST_OP_SUB, value, user);
    return tessi_check_binary(c, value->span, AST_OP_MUL, d, d);
}

static TExpr *variance(Checker *c, const AstExpr *e)
{
    TExpr *mean = tessi_check_window_of(c, e, REDUCE_SUM, true, NULL);
    WindowUse use = { .body = squared_distance, .user = mean, .deeper = true };
    return tessi_tt_is_error(mean->type) ? mean
                                         : tessi_check_window_of(c, e, REDUCE_SUM, true, &use);
}

/* ---- argmin, argmax -------------------------------------------------------------------------- */
typedef struct Place {
    TExpr *extreme;
    Span span;
} Place;

static TExpr *is_extreme(Checker *c, void *user, TExpr *value)
{
    const Place *p = user;
    return tessi_check_binary(c, p->span, AST_OP_EQ, value, p->extreme);
}

/* The number of the point in its window, row-major from 0. */
static TExpr *point_number(Checker *c, void *user, TExpr *value)
{
    const Place *p = user;
    const TWindow *w = c->at.window;
    TExpr *at = tessi_te_int(c, 0, p->span);
    (void)value;
    for (uint32_t v = 0; v < w->n_vars; v++) {
        TExpr *variable = tessi_te_new(c, TE_WINVAR, tessi_tt_kind(TT_UNTYPED_INT), p->span, 0);
        variable->window = c->at.window;
        variable->slot = v;
        variable->is_static = true;
        TExpr *extent = tessi_te_int(c, (int64_t)w->hi[v] - w->lo[v] + 1, p->span);
        at = tessi_check_binary(c, p->span, AST_OP_MUL, at, extent);
        variable = tessi_check_binary(c, p->span, AST_OP_SUB, variable,
                                      tessi_te_int(c, w->lo[v], p->span));
        at = tessi_check_binary(c, p->span, AST_OP_ADD, at, variable);
    }
    return tessi_check_convert(c, at, tessi_tt_scalar(TYPE_I32));
}

static bool is_one_number(Checker *c, const AstExpr *e, TExpr *value)
{
    if (tessi_tt_is_error(value->type) || value->type.kind == TT_SCALAR)
        return value->type.kind == TT_SCALAR;
    CHECK_DIAG(c, DIAG_NO_CONVERSION, e->span, tessi_tt_name(c, value->type), "a number");
    return false;
}

static TExpr *place_of(Checker *c, const AstExpr *e, Reduction r)
{
    TExpr *extreme = tessi_check_concrete(c, tessi_check_window_of(c, e, r, false, NULL));
    Place place = { extreme, e->span };
    WindowUse use = { .body = point_number, .where = is_extreme, .user = &place, .deeper = true };
    TWindow *w = tessi_check_ranges(c, e);
    if (!w || !is_one_number(c, e, extreme))
        return tessi_te_error(c, e->span);
    TExpr *found[2] = { tessi_check_window_of(c, e, REDUCE_MIN, false, &use),
                        tessi_te_int(c, tessi_window_count(w), e->span) };
    return tessi_check_apply(c, e->span, RULE_KEEP, OP_MIN, found,
                             2); /* no point is it: of NaNs, or of none */
}

/* ---- rank, percentile ------------------------------------------------------------------------ */
typedef struct Rank {
    const AstExpr *ast;
    TExpr *k;
    TExpr *value; /* ordered, of the point that is asked about */
} Rank;

/* Integers in the total order of reals (NaN last); integers are themselves. */
static TExpr *ordered(Checker *c, TExpr *value)
{
    value = tessi_check_concrete(c, value);
    if (value->type.kind != TT_SCALAR || !tessi_is_real(value->type.scalar))
        return value;
    const ScalarType t = tessi_value_type(value->type.scalar);
    TExpr *n =
        tessi_te_new(c, TE_OP, tessi_tt_scalar(tessi_op_result(OP_ORDER, t)), value->span, 1);
    n->op = OP_ORDER;
    n->arg[0] = tessi_check_convert(c, value, tessi_tt_scalar(t));
    return tessi_te_fold(c, n);
}

static TExpr *is_before(Checker *c, void *user, TExpr *value)
{
    const Rank *rank = user;
    return tessi_check_binary(c, value->span, AST_OP_LE, ordered(c, value), rank->value);
}

static TExpr *one(Checker *c, void *user, TExpr *value)
{
    (void)user;
    return tessi_te_const(c, tessi_tt_scalar(TYPE_I32), tessi_value_int(1), value->span);
}

/* More than k points are not above this one. */
static TExpr *reaches(Checker *c, void *user, TExpr *value)
{
    Rank rank = *(Rank *)user;
    rank.value = ordered(c, value);
    WindowUse use = { .body = one, .where = is_before, .user = &rank };
    TExpr *n = tessi_check_window_of(c, rank.ast, REDUCE_SUM, false, &use);
    return tessi_check_binary(c, value->span, AST_OP_GT, n, rank.k);
}

static TExpr *order_of(Checker *c, void *user, TExpr *value)
{
    (void)user;
    return ordered(c, value);
}

static TExpr *ranked(Checker *c, const AstExpr *e, TExpr *k)
{
    TExpr *least = tessi_check_concrete(c, tessi_check_window_of(c, e, REDUCE_MIN, false, NULL));
    Rank rank = { e, k, NULL };
    WindowUse use = { .body = order_of, .where = reaches, .user = &rank };
    if (!is_one_number(c, e, least))
        return tessi_te_error(c, e->span);
    TExpr *found = tessi_check_window_of(c, e, REDUCE_MIN, false, &use);
    if (tessi_tt_is_error(found->type) || !tessi_is_real(least->type.scalar))
        return found;
    TExpr *n = tessi_te_new(c, TE_OP, least->type, e->span, 1);
    n->op = OP_AT_ORDER;
    n->arg[0] = found;
    return tessi_te_fold(c, n);
}

/* Points of the window; -1 where a condition on pixels chooses them. False: diagnosed. */
static bool count_points(Checker *c, const AstExpr *e, int64_t *n)
{
    WindowUse use = { .body = one };
    TExpr *count = tessi_check_window_of(c, e, REDUCE_SUM, false, &use);
    *n = count->kind == TE_CONST ? count->value.i : -1;
    return !tessi_tt_is_error(count->type);
}

/* The element that a percentile is: of so many points, or of those among them that are valid. */
static TExpr *share_of(Checker *c, const AstExpr *e, double share, int64_t n)
{
    WindowUse use = { .deeper = true };
    TExpr *window = tessi_check_window_of(c, e, REDUCE_MIN, false, &use);
    if (tessi_tt_is_error(window->type) || window->kind != TE_WINDOW)
        return tessi_te_int(c, tessi_percentile_rank(share, n), e->span);
    TExpr *k = tessi_te_new(c, TE_SHARE, tessi_tt_scalar(TYPE_I32), e->span, 1);
    k->arg[0] = window;
    k->value = tessi_value_real(share);
    k->slot = (uint32_t)n;
    return k;
}

int64_t tessi_percentile_rank(double share, int64_t n)
{
    return (int64_t)floor(share * (double)(n - 1) / 100 + 0.5);
}

static TExpr *rank_of(Checker *c, const AstExpr *e, bool percent)
{
    int64_t n, k;
    if (!count_points(c, e, &n))
        return tessi_te_error(c, e->span);
    if (percent) {
        if (n < 0) {
            CHECK_DIAG(c, DIAG_CONST_NEEDED, e->span, "the number of points of a percentile");
            return tessi_te_error(c, e->span);
        }
        TExpr *p = tessi_check_const(c, e->more->order, "a percentile");
        if (tessi_tt_is_error(p->type))
            return p;
        const double share = tessi_tt_is_integer(p->type) ? (double)p->value.i : p->value.f;
        if (!(share >= 0 && share <= 100)) {
            CHECK_DIAG(c, DIAG_PERCENTILE, e->more->order->span, share);
            return tessi_te_error(c, e->span);
        }
        return ranked(c, e, share_of(c, e, share, n));
    }
    if (!tessi_check_const_int(c, e->more->order, "a rank", &k))
        return tessi_te_error(c, e->span);
    if (k < 0) {
        CHECK_DIAG(c, DIAG_RANK, e->more->order->span, (long long)k);
        return tessi_te_error(c, e->span);
    }
    if (n > 0 && k >= n) {
        Diag *d = CHECK_DIAG(c, DIAG_NO_RANK, e->more->order->span, (long long)n, (long long)k);
        tessi_diag_help(c->d, d, "ranks count from 0, so that %lld is the largest value",
                        (long long)n - 1);
    }
    return ranked(c, e, tessi_te_int(c, k, e->span));
}

/* ---- reduce ---------------------------------------------------------------------------------- */
typedef struct Fold {
    const AstExpr *ast;
    TExpr *value; /* so far */
    TType type;   /* of it, once known */
} Fold;

static TExpr *combined(Checker *c, const Fold *f, TExpr *next)
{
    const AstWindowMore *m = f->ast->more;
    Scope *saved = c->at.scope;
    c->at.scope = tessi_scope_new(c, saved);
    const Name names[2] = { m->a, m->b };
    TExpr *const values[2] = { f->value, next };
    for (int i = 0; i < 2; i++) {
        Sym *sym = tessi_scope_add(c, names[i], SYM_OPERAND);
        if (sym)
            sym->operand = tessi_operand_scalar(values[i], next->span);
    }
    TExpr *e = tessi_check_expr(c, m->combine);
    c->at.scope = saved;
    return e;
}

/* The value with a name of its own, where it may have one: the next point takes it in two places, and a tree of all
 * points would be twice as large with each. */
static TExpr *as_local(Checker *c, TExpr *value)
{
    if (!c->at.inst || c->at.window || value->is_static || tessi_tt_is_error(value->type))
        return value;
    const TLocal local = { tessi_sprintf(c->a, "so_far_%u", (unsigned)c->at.inst->locals.n),
                           value };
    VEC_PUSH(c->a, &c->at.inst->locals, local);
    return tessi_check_local(c, c->at.inst->locals.n - 1, value->span);
}

/* One point: the variables of the window are numbers. */
static bool fold_point(Checker *c, Fold *f, const WindowPoint *point)
{
    const AstExpr *e = f->ast;
    Scope *saved = c->at.scope;
    TExpr *where = NULL;
    c->at.scope = tessi_scope_new(c, saved);
    for (uint32_t v = 0; v < e->vars.n; v++) {
        Sym *sym = tessi_scope_add(c, e->vars.at[v].name, SYM_OPERAND);
        if (sym)
            sym->operand = tessi_operand_scalar(tessi_te_int(c, point->at[v], e->span), e->span);
    }
    if (e->arg.n > 1)
        where = tessi_check_condition(c, tessi_check_expr(c, e->arg.at[1]));
    TExpr *next = tessi_check_expr(c, e->arg.at[0]);
    const bool skip = where && where->kind == TE_CONST && !where->value.i;
    TExpr *value = skip ? f->value : combined(c, f, next);
    c->at.scope = saved;
    if (tessi_tt_is_error(value->type) || (where && tessi_tt_is_error(where->type)))
        return false;
    if (!skip && f->type.kind == TT_ERROR) { /* the type of the first result is that of all */
        f->type = tessi_check_concrete(c, value)->type;
        f->value = tessi_check_convert(c, f->value, f->type);
    }
    if (!skip)
        value = tessi_check_convert(c, value, f->type);
    if (where && !skip && where->kind != TE_CONST)
        value = as_local(c, tessi_check_select(c, e->span, where, value, f->value));
    f->value = value;
    return !tessi_tt_is_error(f->value->type);
}

static TExpr *reduced(Checker *c, const AstExpr *e)
{
    enum { MOST_REDUCED = 4096 };
    TWindow *w = tessi_check_ranges(c, e);
    Fold f = { .ast = e, .type = tessi_tt_kind(TT_ERROR) };
    if (!w)
        return tessi_te_error(c, e->span);
    if (tessi_window_count(w) > MOST_REDUCED) {
        tessi_check_limit(c, e->span, "points that are reduced one by one", MOST_REDUCED);
        return tessi_te_error(c, e->span);
    }
    f.value = tessi_check_expr(c, e->more->start);
    if (tessi_tt_is_error(f.value->type))
        return f.value;
    WindowPoint point;
    tessi_window_first(&point, w, NULL);
    do {
        if (!fold_point(c, &f, &point))
            return tessi_te_error(c, e->span);
    } while (tessi_window_next(&point));
    return f.value;
}

TExpr *tessi_check_statistic(Checker *c, const AstExpr *e)
{
    const char *name = e->name.text;
    if (!name)
        return tessi_te_error(c, e->span);
    if (tessi_streq(name, "range"))
        return range_of(c, e);
    if (tessi_streq(name, "var"))
        return variance(c, e);
    if (tessi_streq(name, "std")) {
        TExpr *v = variance(c, e);
        return tessi_check_apply(c, e->span, RULE_REAL, OP_SQRT, &v, 1);
    }
    if (tessi_streq(name, "argmin") || tessi_streq(name, "argmax"))
        return place_of(c, e, tessi_streq(name, "argmin") ? REDUCE_MIN : REDUCE_MAX);
    if (tessi_streq(name, "rank") || tessi_streq(name, "percentile"))
        return rank_of(c, e, tessi_streq(name, "percentile"));
    return reduced(c, e);
}
