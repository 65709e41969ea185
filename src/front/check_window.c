/* front/check_window: reductions over a window: sum(i = -1..1, j = -1..1 where .. : body), and over the extents of a
 * mask. */
#include "front/check.h"

static bool reduction_named(const char *name, Reduction *r, bool *is_mean)
{
    static const struct {
        const char *name;
        Reduction r;
    } NAMES[] = { { "sum", REDUCE_SUM }, { "prod", REDUCE_PROD },     { "min", REDUCE_MIN },
                  { "max", REDUCE_MAX }, { "median", REDUCE_MEDIAN }, { "any", REDUCE_ANY },
                  { "all", REDUCE_ALL }, { "mean", REDUCE_SUM } };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (tessi_streq(NAMES[i].name, name)) {
            *r = NAMES[i].r;
            *is_mean = tessi_streq(name, "mean");
            return true;
        }
    }
    return false;
}

static bool mask_extent(Checker *c, const AstExpr *e, uint32_t v, TWindow *w)
{
    const AstWindowVar *var = &e->vars.at[v];
    uint32_t first = v, end;
    while (first > 0 && e->vars.at[first - 1].mask == var->mask)
        first--;
    for (end = v + 1; end < e->vars.n && e->vars.at[end].mask == var->mask; end++) {}
    const TMask *m = tessi_check_mask_expr(c, var->mask);
    if (!m)
        return false;
    if (end - first != m->n_dims) {
        CHECK_DIAG(c, DIAG_MASK_VARIABLES, var->mask->span, m->name, (long long)m->n_dims,
                   (long long)(end - first));
        return false;
    }
    w->lo[v] = m->lo[v - first];
    w->hi[v] = m->hi[v - first];
    return true;
}

static bool window_range(Checker *c, const AstExpr *e, uint32_t v, TWindow *w)
{
    const AstWindowVar *var = &e->vars.at[v];
    if (var->mask)
        return mask_extent(c, e, v, w);
    if (!tessi_check_const_i32(c, var->lo, "the bounds of a window", &w->lo[v])
        || !tessi_check_const_i32(c, var->hi, "the bounds of a window", &w->hi[v]))
        return false;
    if (w->lo[v] > w->hi[v]) {
        CHECK_DIAG(c, DIAG_EMPTY_WINDOW, tessi_span_join(var->lo->span, var->hi->span),
                   var->name.text, (long long)w->lo[v], (long long)w->hi[v]);
        return false;
    }
    return true;
}

TWindow *tessi_check_ranges(Checker *c, const AstExpr *e)
{
    TWindow *w = ARENA_NEW(c->a, TWindow);
    bool ok = true;
    if (e->vars.n > MAX_WINDOW_VARS) {
        tessi_diag(c->d, DIAG_LIMIT, e->span, "variables of a window", (long long)MAX_WINDOW_VARS);
        return NULL;
    }
    w->span = e->span;
    w->n_vars = (uint8_t)e->vars.n;
    w->outer = c->at.window;
    w->level = w->outer ? (uint8_t)(w->outer->level + 1) : 0;
    if (w->level >= MAX_WINDOW_LEVELS) {
        tessi_check_limit(c, e->span, "windows inside windows", MAX_WINDOW_LEVELS);
        return NULL;
    }
    for (uint32_t v = 0; v < e->vars.n; v++) {
        w->name[v] = e->vars.at[v].name.text;
        ok &= window_range(c, e, v, w);
    }
    if (ok && tessi_window_count(w) > CHECK_MAX_WINDOW) {
        CHECK_DIAG(c, DIAG_LIMIT, e->span, "points of a window", (long long)CHECK_MAX_WINDOW);
        ok = false;
    }
    return ok ? w : NULL;
}

/* The type in which the values are combined. */
static TExpr *combined(Checker *c, Reduction r, bool is_mean, TExpr *body)
{
    if (tessi_tt_is_error(body->type))
        return body;
    if (r == REDUCE_ANY || r == REDUCE_ALL)
        return tessi_check_condition(c, body);
    if (is_mean) { /* like a real literal that meets the values: by the rule of division */
        TExpr *one =
            tessi_te_const(c, tessi_tt_kind(TT_UNTYPED_REAL), tessi_value_real(1), body->span);
        if (c->forma)
            return body;
        TExpr *q = tessi_check_binary(c, body->span, AST_OP_DIV, body, one);
        return tessi_check_convert(c, body, q->type);
    }
    if (r == REDUCE_SUM || r == REDUCE_PROD) { /* promoted as in C */
        TExpr *sum = tessi_check_binary(c, body->span, AST_OP_ADD, body, body);
        return tessi_check_convert(c, body, sum->type);
    }
    if (r == REDUCE_MEDIAN) /* also of constants left to the graph, which knows how to sort */
        body = tessi_check_concrete(c, body);
    TExpr *two[] = { body, body }; /* halves are computed as floats, in the fields of pixels too */
    TExpr *one = tessi_check_apply(c, body->span, RULE_KEEP, OP_MIN, two, 2);
    return tessi_check_convert(c, body, one->type);
}

static TExpr *window_expr(Checker *c, const AstExpr *e, TWindow *w, TExpr *body, Reduction r,
                          bool is_mean)
{
    body = combined(c, r, is_mean, body);
    if (tessi_tt_is_error(body->type))
        return body;
    TExpr *n = tessi_te_new(c, TE_WINDOW, body->type, e->span, 1);
    n->arg[0] = body;
    n->window = w;
    n->reduction = r;
    n->is_mean = is_mean;
    n->is_static = body->is_static && (!w->where || w->where->is_static) && r != REDUCE_MEDIAN;
    if (r == REDUCE_MEDIAN && w->must_unroll) {
        CHECK_DIAG(c, DIAG_MEDIAN_OFFSET, e->span);
        return tessi_te_error(c, e->span);
    }
    if (!n->is_static)
        return n;
    Value v;
    switch (tessi_static_eval(n, NULL, &c->budget, &v)) {
    case EVAL_TOO_LONG:
        tessi_check_limit(c, e->span, "steps of computing constants", CHECK_MAX_EVALUATION);
        break;
    case EVAL_OK: return tessi_te_const(c, n->type, v, e->span);
    case EVAL_OVERFLOW: CHECK_DIAG(c, DIAG_CONST_OVERFLOW, e->span); break;
    case EVAL_ZERO_DIVISION: CHECK_DIAG(c, DIAG_CONST_ZERO_DIVISION, e->span); break;
    default: return n;
    }
    return tessi_te_error(c, e->span);
}

/* The condition leaves no point, whatever the image is. */
static bool keeps_nothing(Checker *c, const TWindow *w)
{
    WindowPoint point;
    if (!w->where || !w->where->is_static)
        return false;
    tessi_window_first(&point, w, NULL);
    do {
        Value v;
        if (tessi_static_eval(w->where, &point, &c->budget, &v) != EVAL_OK || v.i)
            return false;
    } while (tessi_window_next(&point));
    return true;
}

static void warn_empty(Checker *c, const AstExpr *e)
{
    Diag *d = CHECK_DIAG(c, DIAG_NO_POINT, e->arg.at[1]->span);
    tessi_diag_help(
        c->d, d,
        "the window gives the value of no points: 0 for a sum, an end of the type for min and max");
}

/* The condition of the window: what is written, and what the use asks besides. */
static bool condition(Checker *c, const AstExpr *e, Reduction r, const WindowUse *use, TExpr *body,
                      TWindow *w)
{
    TExpr *more = use && use->where ? use->where(c, use->user, body) : NULL;
    if (w->where && more)
        w->where =
            tessi_check_apply(c, e->span, RULE_BITS, OP_AND, (TExpr *[]){ w->where, more }, 2);
    else if (more)
        w->where = more;
    if (!w->where)
        return true;
    if (w->where->type.kind == TT_STRUCT) {
        CHECK_DIAG(c, DIAG_NO_CONVERSION, w->where->span, tessi_tt_name(c, w->where->type), "bool");
        return false;
    }
    if (r == REDUCE_MEDIAN && !w->where->is_static && !tessi_tt_is_error(w->where->type)) {
        CHECK_DIAG(c, DIAG_MEDIAN_CONDITION, w->where->span);
        return false;
    }
    if (w->where->kind == TE_CONST && w->where->value.i)
        w->where = NULL;
    if (!use && keeps_nothing(c, w))
        warn_empty(c, e);
    return !w->where || !tessi_tt_is_error(w->where->type);
}

TExpr *tessi_check_window_of(Checker *c, const AstExpr *e, Reduction r, bool is_mean,
                             const WindowUse *use)
{
    TWindow *w = tessi_check_ranges(c, e);
    Scope *scope = tessi_scope_new(c, c->at.scope);
    Context saved = c->at;
    c->at.scope = scope;
    for (uint32_t v = 0; v < e->vars.n; v++) {
        Sym *sym = tessi_scope_add(c, e->vars.at[v].name, w ? SYM_WINVAR : SYM_OPERAND);
        if (sym) {
            sym->window = w;
            sym->slot = w ? v : 0;
        }
    }
    if (w)
        c->at.window = w;
    if (w && use && use->deeper && ++w->level >= MAX_WINDOW_LEVELS)
        tessi_check_limit(c, e->span, "windows inside windows", MAX_WINDOW_LEVELS);
    if (w && e->arg.n > 1 && e->arg.at[1])
        w->where = tessi_check_condition(c, tessi_check_expr(c, e->arg.at[1]));
    TExpr *body = tessi_check_expr(c, e->arg.at[0]);
    bool ok = w && !tessi_tt_is_error(body->type) && condition(c, e, r, use, body, w);
    if (ok && use && use->body)
        body = use->body(c, use->user, body);
    c->at.scope = saved.scope;
    c->at.window = saved.window;
    if (!ok)
        return tessi_te_error(c, e->span);
    return window_expr(c, e, w, body, r, is_mean);
}

TExpr *tessi_check_window(Checker *c, const AstExpr *e)
{
    Reduction r = REDUCE_SUM;
    bool is_mean = false;
    if (e->name.text && reduction_named(e->name.text, &r, &is_mean))
        return tessi_check_window_of(c, e, r, is_mean, NULL);
    return tessi_check_statistic(c, e);
}
