/* front/lower_static: values that depend on constants and window variables only. With their windows unrolled they
 * are constants; with windows kept as loops, integers are computed from the variables, and reals come from a table
 * made here. */
#include "front/lower.h"

static const ExprId NONE = { 0 };
enum { MAX_TABLE = 1 << 16 };

static ScalarType exact_type(TType t)
{
    return t.kind == TT_UNTYPED_INT ? TYPE_I64 : t.kind == TT_UNTYPED_REAL ? TYPE_F64 : t.scalar;
}

/* ---- masks ----------------------------------------------------------------------------------- */
TableId tessi_lower_mask_table(Lower *l, const TMask *m, ScalarType type)
{
    ScalarType from = exact_type(m->type);
    Table t = { .name = m->name, .type = type, .n = m->n, .n_dims = m->n_dims };
    t.at = ARENA_NEW_ARRAY(l->g->arena, Value, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        t.at[i] = tessi_eval_cast(type, from, m->at[i]);
    for (int d = 0; d < m->n_dims; d++)
        t.dim[d] = (uint32_t)(m->hi[d] - m->lo[d] + 1);
    return tessi_graph_table(l->g, &t);
}

static ExprId mask_index(Lower *l, LBody *b, const TExpr *e)
{
    if (tessi_tt_is_untyped(e->type))
        return tessi_lower_static(l, b, e, TYPE_I32);
    return tessi_lower_convert(l, tessi_lower_expr(l, b, e, 0), e->type.scalar, TYPE_I32);
}

ExprId tessi_lower_mask(Lower *l, LBody *b, const TExpr *e, ScalarType type)
{
    const TMask *m = e->mask;
    Graph *g = l->g;
    ExprId index[MAX_DIMS], flat = NONE;
    bool inside = true;
    for (int d = 0; d < m->n_dims; d++) {
        Interval r;
        bool known = tessi_static_range(e->arg[d], &r) && r.lo >= m->lo[d] && r.hi <= m->hi[d];
        index[d] = mask_index(l, b, e->arg[d]);
        if (!known && m->at) { /* indexed by data: the ends continue */
            index[d] =
                tessi_expr_op(g, OP_MAX, index[d], tessi_expr_int(g, TYPE_I32, m->lo[d]), NONE);
            index[d] =
                tessi_expr_op(g, OP_MIN, index[d], tessi_expr_int(g, TYPE_I32, m->hi[d]), NONE);
        }
        inside &= known;
    }
    if (!m->at)
        return tessi_lower_mask_load(l, m, index, inside, type);
    for (int d = 0; d < m->n_dims; d++) {
        ExprId k = tessi_expr_op(g, OP_SUB, index[d], tessi_expr_int(g, TYPE_I32, m->lo[d]), NONE);
        ExprId n = tessi_expr_int(g, TYPE_I32, (int64_t)m->hi[d] - m->lo[d] + 1);
        flat = d ? tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, flat, n, NONE), k, NONE) : k;
    }
    return tessi_expr_table(g, tessi_lower_mask_table(l, m, type), flat);
}

/* ---- operation by operation ------------------------------------------------------------------ */
/* In type t: int32 when everything provably fits, else the exact type. */
static ExprId step_by_step(Lower *l, LBody *b, const TExpr *e, ScalarType t)
{
    Graph *g = l->g;
    ExprId a[3] = { NONE, NONE, NONE };
    if (!tessi_tt_is_untyped(e->type)) /* a condition, a cast */
        return tessi_lower_expr(l, b, e, 0);
    switch (e->kind) {
    case TE_CONST: return tessi_expr_const(g, t, tessi_eval_cast(t, exact_type(e->type), e->value));
    case TE_WINVAR: {
        Value v;
        uint64_t budget = 1;
        if (tessi_static_eval(e, b->point, &budget, &v) == EVAL_OK)
            return tessi_expr_int(g, t, v.i);
        const LWindow *w = tessi_lower_find_window(b, e->window);
        if (!w)
            break;
        return tessi_lower_convert(l, tessi_expr_winvar(g, w->window, e->slot), TYPE_I32, t);
    }
    case TE_MASK: return tessi_lower_mask(l, b, e, t);
    case TE_CAST: {
        ScalarType from = exact_type(e->arg[0]->type);
        return tessi_lower_convert(l, step_by_step(l, b, e->arg[0], from), from, t);
    }
    case TE_OP:
        for (uint32_t i = 0; i < e->n_args; i++)
            a[i] = step_by_step(l, b, e->arg[i], t);
        return tessi_expr_op(g, e->op, a[0], a[1], a[2]);
    default: break;
    }
    tessi_lower_limit(l, e->span, "points of a window inside a window of constants", MAX_TABLE);
    return tessi_expr_int(g, t, 0);
}

static bool only_sums_and_products(const TExpr *e)
{
    bool simple =
        e->kind == TE_CONST || e->kind == TE_WINVAR
        || (e->kind == TE_OP
            && (e->op == OP_NEG || e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL));
    for (uint32_t i = 0; simple && i < e->n_args; i++) {
        Interval r;
        simple = only_sums_and_products(e->arg[i]) && tessi_static_range(e->arg[i], &r)
                 && r.lo >= INT32_MIN && r.hi <= INT32_MAX;
    }
    return simple;
}

/* ---- tables ---------------------------------------------------------------------------------- */
typedef struct TableVar {
    const TWindow *window;
    uint32_t var;
} TableVar;
typedef struct TableVars {
    uint32_t n;
    bool too_many;
    TableVar at[MAX_DIMS];
} TableVars;

/* The variables of kept windows that the value depends on. */
static void find_vars(const LBody *b, const TExpr *e, TableVars *vars)
{
    if (e->kind == TE_WINVAR && tessi_lower_find_window(b, e->window)) {
        for (uint32_t i = 0; i < vars->n; i++) {
            if (vars->at[i].window == e->window && vars->at[i].var == e->slot)
                return;
        }
        vars->too_many |= vars->n == MAX_DIMS;
        if (!vars->too_many)
            vars->at[vars->n++] = (TableVar){ e->window, e->slot };
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        find_vars(b, e->arg[i], vars);
    if (e->kind == TE_WINDOW && e->window->where)
        find_vars(b, e->window->where, vars);
}

static uint32_t extent(const TableVar *v)
{
    return (uint32_t)(v->window->hi[v->var] - v->window->lo[v->var] + 1);
}

/* One point a window, linked, so that the evaluator finds every variable. */
static const WindowPoint *make_points(const LBody *b, const TableVars *vars, WindowPoint *points,
                                      int32_t *slot[MAX_DIMS])
{
    const WindowPoint *chain = b->point;
    for (uint32_t i = 0; i < vars->n; i++) {
        WindowPoint *p = NULL;
        for (uint32_t k = 0; k < i && !p; k++) {
            if (vars->at[k].window == vars->at[i].window)
                p = &points[k];
        }
        if (!p) {
            p = &points[i];
            tessi_window_first(p, vars->at[i].window, chain);
            chain = p;
        }
        slot[i] = &p->at[vars->at[i].var];
    }
    return chain;
}

static ExprId from_table(Lower *l, LBody *b, const TExpr *e, ScalarType type, const TableVars *vars,
                         uint32_t n)
{
    Graph *g = l->g;
    WindowPoint points[MAX_DIMS];
    int32_t *slot[MAX_DIMS];
    const WindowPoint *chain = make_points(b, vars, points, slot);
    Table t = { .name = "weights", .type = type, .n = n, .n_dims = (uint8_t)vars->n };
    t.at = ARENA_NEW_ARRAY(g->arena, Value, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rest = i;
        Value v;
        for (uint32_t k = vars->n; k-- > 0;) {
            *slot[k] =
                vars->at[k].window->lo[vars->at[k].var] + (int32_t)(rest % extent(&vars->at[k]));
            rest /= extent(&vars->at[k]);
        }
        EvalStatus s = tessi_static_eval(e, chain, &l->budget, &v);
        if (s != EVAL_OK) {
            if (s == EVAL_ZERO_DIVISION)
                tessi_diag(l->d, DIAG_CONST_ZERO_DIVISION, e->span);
            else if (s == EVAL_TOO_LONG)
                tessi_lower_limit(l, e->span, "steps of computing constants", CHECK_MAX_EVALUATION);
            else
                tessi_diag(l->d, DIAG_CONST_OVERFLOW, e->span);
            l->failed = true;
            return tessi_lower_convert(l, tessi_expr_int(g, TYPE_I32, 0), TYPE_I32, type);
        }
        t.at[i] = tessi_eval_cast(type, exact_type(e->type), v);
    }
    ExprId flat = NONE;
    for (uint32_t k = 0; k < vars->n; k++) {
        const TableVar *v = &vars->at[k];
        t.dim[k] = extent(v);
        ExprId i = tessi_expr_winvar(g, tessi_lower_find_window(b, v->window)->window, v->var);
        i = tessi_expr_op(g, OP_SUB, i, tessi_expr_int(g, TYPE_I32, v->window->lo[v->var]), NONE);
        ExprId size = tessi_expr_int(g, TYPE_I32, extent(v));
        flat =
            k ? tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, flat, size, NONE), i, NONE) : i;
    }
    return tessi_expr_table(g, tessi_graph_table(g, &t), flat);
}

ExprId tessi_lower_static(Lower *l, LBody *b, const TExpr *e, ScalarType type)
{
    Value v;
    Interval r;
    if (tessi_static_eval(e, b->point, &l->budget, &v) == EVAL_OK)
        return tessi_expr_const(l->g, type, tessi_eval_cast(type, exact_type(e->type), v));
    if (e->kind == TE_MASK)
        return tessi_lower_mask(l, b, e, type);
    if (e->type.kind == TT_UNTYPED_INT && only_sums_and_products(e) && tessi_static_range(e, &r)
        && r.lo >= INT32_MIN && r.hi <= INT32_MAX)
        return tessi_lower_convert(l, step_by_step(l, b, e, TYPE_I32), TYPE_I32, type);
    TableVars vars = { 0 };
    find_vars(b, e, &vars);
    uint64_t n = 1;
    for (uint32_t i = 0; i < vars.n && n <= MAX_TABLE; i++)
        n *= extent(&vars.at[i]);
    if (vars.n && !vars.too_many && n <= MAX_TABLE)
        return from_table(l, b, e, type, &vars, (uint32_t)n);
    ScalarType exact = exact_type(e->type);
    return tessi_lower_convert(l, step_by_step(l, b, e, exact), exact, type);
}
