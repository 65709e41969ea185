/* Windows to loops. Windows over the same range share one loop; a window inside another that does not use its
 * variables is computed before it.
 *
 * "From the first value on" needs no special first round: an accumulator starts from a value that leaves every first
 * value as it is, bit for bit: -0 for real sums and fused multiply-adds, 1 for products, the extremes for min and
 * max. */
#include "loop/lower_window.h"
#include "analysis/const_eval.h"
#include "graph/graph_fold.h"
#include "loop/lower_eval.h"

/* ---- Conditions known when compiling --------------------------------------------------------- */

Condition tessi_window_condition(Lower *l, const Expr *e)
{
    enum { MAX_TRIED = 1 << 16 };
    const Window *w = tessi_window(l->g, e->window);
    int64_t points = tessi_window_points(w);
    if (points == 0)
        return COND_NEVER;
    ExprId where = e->arg[1];
    if (!where.v)
        return COND_NONE;
    const ExprDeps *deps = &l->deps[where.v];
    if (deps->data || deps->point)
        return COND_DATA;
    if (points < 0 || points > MAX_TRIED)
        return COND_STATIC;
    ConstEval eval;
    tessi_const_eval_init(&eval, l->g, l->arena, &l->walk, where, e->window);
    int32_t var[MAX_WINDOW_VARS];
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        var[i] = w->lo[i];
    int64_t n = 0;
    do {
        Value holds;
        if (!tessi_const_eval(&eval, var, &holds))
            return COND_STATIC;
        n += holds.i != 0;
    } while (tessi_window_step(w, var));
    return n == 0 ? COND_NEVER : n == points ? COND_NONE : COND_SOME;
}

/* ---- Which windows share a loop -------------------------------------------------------------- */

static bool is_open(const Eval *ev, WindowId w)
{
    for (uint32_t i = 0; i < ev->open.n; i++)
        if (ev->open.at[i].window.v == w.v)
            return true;
    return false;
}

/* It has a value here, or a strip of values. */
static bool is_made(const Eval *ev, ExprId id)
{
    uint32_t *cell = tessi_eval_cell(ev, id);
    return *cell || (ev->strip && ev->strip[cell - ev->value].v);
}

/* All variables that the expression uses from outside have values here. */
static bool can_stand_here(const Lower *l, const Eval *ev, ExprId id)
{
    for (int level = 0; level < MAX_WINDOW_LEVELS; level++) {
        WindowId w = l->deps[id.v].window[level];
        if (w.v && !is_open(ev, w))
            return false;
    }
    return true;
}

/* Visits the windows inside window `id` that could be computed before it; builds them, or only says whether there
 * are any. */
static bool inner_windows(Lower *l, Eval *ev, ExprId id, bool build)
{
    const Expr *e = tessi_expr(l->g, id);
    ExprList list = tessi_reach(l, e->arg, e->n_args);
    for (uint32_t i = 0; i < list.n; i++) {
        ExprId inner = list.at[i];
        if (tessi_expr(l->g, inner)->kind != EXPR_WINDOW || *tessi_eval_cell(ev, inner)
            || !can_stand_here(l, ev, inner))
            continue;
        if (!build)
            return true;
        tessi_eval_expr(l, ev, inner);
    }
    return false;
}

static void add_member(Lower *l, Family *f, ExprId id)
{
    Member m = { .id = id, .cond = tessi_window_condition(l, tessi_expr(l->g, id)) };
    VEC_PUSH(l->arena, &f->members, m);
}

Family tessi_window_family(Lower *l, Eval *ev, ExprId id)
{
    Family f = { .window = tessi_expr(l->g, id)->window };
    add_member(l, &f, id);
    for (uint32_t i = 0; i < ev->exprs.n; i++) {
        ExprId other = ev->exprs.at[i];
        const Expr *e = tessi_expr(l->g, other);
        if (e->kind == EXPR_WINDOW && e->window.v == f.window.v && other.v != id.v
            && !tessi_window_is_selected(l, e) && !is_made(ev, other)
            && can_stand_here(l, ev, other) && !inner_windows(l, ev, other, false))
            add_member(l, &f, other);
    }
    return f;
}

/* ---- Accumulators ---------------------------------------------------------------------------- */

static LExprId number(Lower *l, ScalarType t, double x)
{
    Value v = tessi_is_real(t) ? tessi_value_real(x) : tessi_value_int((int64_t)x);
    return tessi_lexpr_const(l->p, t, v);
}

LExprId tessi_window_start(Lower *l, const Expr *e, Condition cond)
{
    if (e->reduction == REDUCE_SUM)
        return number(l, e->type, cond == COND_DATA ? 0.0 : -0.0);
    return tessi_lexpr_const(l->p, e->type, tessi_reduction_identity(e->reduction, e->type));
}

LExprId tessi_window_empty(Lower *l, const Expr *e)
{
    return tessi_lexpr_const(l->p, e->type, tessi_reduction_identity(e->reduction, e->type));
}

LExprId tessi_lower_bool(Lower *l, bool b)
{
    return tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(b));
}

void tessi_window_declare(Lower *l, Member *m)
{
    const Expr *e = tessi_expr(l->g, m->id);
    const char *name = tessi_reduction_name(e->reduction);
    if (e->reduction == REDUCE_MEDIAN) {
        int64_t points = tessi_window_points(tessi_window(l->g, e->window));
        LBuffer local = { .name = "values", .kind = LBUF_LOCAL, .type = e->type, .n_dims = 1 };
        local.size[0] = tessi_l_int(l, points);
        m->local = tessi_loop_buffer(l->p, &local);
        tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = m->local;
        if (m->cond != COND_NONE)
            m->acc = tessi_scope_var(l, "n", TYPE_INDEX, tessi_l_int(l, 0));
        l->has_sort = true;
        return;
    }
    m->acc = tessi_scope_var(l, name, e->type, tessi_window_start(l, e, m->cond));
    if (m->cond == COND_STATIC && e->reduction == REDUCE_SUM && tessi_is_real(e->type))
        m->seen = tessi_scope_var(l, "seen", TYPE_BOOL, tessi_lower_bool(l, false));
}

void tessi_lower_set(Lower *l, LVarId var, LExprId value)
{
    LStmt *s = tessi_scope_stmt(l, LSTMT_SET);
    s->var = var;
    s->a = value;
}

void tessi_window_operands(Lower *l, Eval *ev, const Member *m, LExprId *operand)
{
    const Expr e = *tessi_expr(l->g, m->id), body = *tessi_expr(l->g, e.arg[0]);
    operand[0] = operand[1] = operand[2] = tessi_l_int(l, 0);
    operand[0] = tessi_eval_expr(l, ev, e.fused ? body.arg[0] : e.arg[0]);
    if (e.fused)
        operand[1] = tessi_eval_expr(l, ev, body.arg[1]);
    if (m->cond == COND_DATA)
        operand[2] = tessi_eval_expr(l, ev, e.arg[1]);
}

LExprId tessi_window_step_expr(Lower *l, const Member *m, const LExprId *operand, LExprId acc)
{
    const Expr *e = tessi_expr(l->g, m->id);
    LExprId next = e->fused ? tessi_lexpr_op(l->p, OP_FMA, operand[0], operand[1], acc)
                            : tessi_l_op(l, tessi_reduction_op(e->reduction), acc, operand[0]);
    return m->cond == COND_DATA ? tessi_l_select(l, operand[2], next, acc) : next;
}

ExprId tessi_window_if(const Lower *l, const Member *m)
{
    bool is_static = m->cond == COND_SOME || m->cond == COND_STATIC;
    return is_static ? tessi_expr(l->g, m->id)->arg[1] : (ExprId){ 0 };
}

bool tessi_window_next_if(const Lower *l, const Family *f, uint32_t *i, ExprId *where)
{
    for (; *i < f->members.n; ++*i) {
        *where = tessi_window_if(l, &f->members.at[*i]);
        bool seen = where->v == 0;
        for (uint32_t k = 0; k < *i && !seen; k++)
            seen = tessi_window_if(l, &f->members.at[k]).v == where->v;
        if (seen)
            continue;
        ++*i;
        return true;
    }
    return false;
}

/* Sorts what was gathered and takes the middle. */
static LExprId median_of(Lower *l, const Member *m)
{
    const Expr *e = tessi_expr(l->g, m->id);
    LExprId n = m->acc.v ? tessi_lexpr_var(l->p, m->acc)
                         : tessi_l_int(l, tessi_window_points(tessi_window(l->g, e->window)));
    LVarId result = { 0 };
    if (m->cond == COND_STATIC) { /* there may be nothing to sort */
        result = tessi_scope_var(l, "median", e->type, tessi_window_empty(l, e));
        tessi_scope_if(l, tessi_l_op(l, OP_LT, tessi_l_int(l, 0), n));
    }
    LStmt *sort = tessi_scope_stmt(l, LSTMT_SORT);
    sort->buffer = m->local;
    sort->a = n;
    LExprId middle = tessi_l_op(l, OP_FLOORDIV, n, tessi_l_int(l, 2));
    LExprId value = tessi_lexpr_load(l->p, m->local, &middle, 1);
    tessi_pin(l, value, tessi_scope_depth(l)); /* not before the sort */
    if (!result.v)
        return tessi_scope_let(l, "median", value);
    tessi_lower_set(l, result, value);
    tessi_scope_close(l);
    return tessi_lexpr_var(l->p, result);
}

LExprId tessi_window_result(Lower *l, const Member *m)
{
    const Expr *e = tessi_expr(l->g, m->id);
    if (m->cond == COND_NEVER)
        return tessi_window_empty(l, e);
    if (e->reduction == REDUCE_MEDIAN)
        return median_of(l, m);
    LExprId acc = tessi_lexpr_var(l->p, m->acc);
    return m->seen.v
               ? tessi_l_select(l, tessi_lexpr_var(l->p, m->seen), acc, tessi_window_empty(l, e))
               : acc;
}

void tessi_window_open(Lower *l, Eval *ev, WindowId id)
{
    static const char *const names[MAX_WINDOW_VARS] = { "i", "j", "k", "m" };
    const Window *w = tessi_window(l->g, id);
    WindowVars vars = { .window = id };
    for (int i = 0; i < w->n_vars; i++) {
        LVarId v = tessi_scope_for(l, names[i], tessi_l_int(l, w->lo[i]),
                                   tessi_l_int(l, (int64_t)w->hi[i] + 1), 1, 0);
        vars.var[i] = tessi_lexpr_var(l->p, v);
    }
    VEC_PUSH(l->arena, &ev->open, vars);
}

void tessi_window_close(Lower *l, Eval *ev, WindowId id)
{
    ev->open.n--;
    for (int i = 0; i < tessi_window(l->g, id)->n_vars; i++)
        tessi_scope_close(l);
}

/* ---- Written out ----------------------------------------------------------------------------- */

/* What depends on the window's variables has no value any more. */
static void forget_point(const Lower *l, const Eval *ev, WindowId id)
{
    for (uint32_t i = 0; i < ev->exprs.n; i++)
        for (int level = 0; level < MAX_WINDOW_LEVELS; level++)
            if (l->deps[ev->exprs.at[i].v].window[level].v == id.v)
                ev->value[i] = 0;
}

/* The steps of one window, one after the other, without a loop. */
static LExprId written_out(Lower *l, Eval *ev, ExprId id)
{
    const Expr *e = tessi_expr(l->g, id);
    const Window *w = tessi_window(l->g, e->window);
    Member m = { .id = id, .cond = tessi_window_condition(l, e) };
    if (m.cond == COND_NEVER)
        return tessi_window_empty(l, e);
    LExprId acc = tessi_window_start(l, e, m.cond);
    ConstEval eval;
    const ExprId where = tessi_window_if(l, &m);
    if (where.v)
        tessi_const_eval_init(&eval, l->g, l->arena, &l->walk, where, e->window);
    int32_t point[MAX_WINDOW_VARS];
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        point[i] = w->lo[i];
    do {
        WindowVars vars = { .window = e->window, .is_point = true };
        for (int i = 0; i < w->n_vars; i++)
            vars.var[i] = tessi_l_int(l, point[i]);
        VEC_PUSH(l->arena, &ev->open, vars);
        Value holds = tessi_value_int(1);
        if (where.v)
            tessi_const_eval(&eval, point, &holds); /* known, or it would be COND_STATIC */
        if (holds.i) {
            LExprId operand[WINDOW_OPERANDS];
            tessi_window_operands(l, ev, &m, operand);
            acc = tessi_window_step_expr(l, &m, operand, acc);
        }
        ev->open.n--;
        forget_point(l, ev, e->window);
    } while (tessi_window_step(w, point));
    return acc;
}

/* Its conditions are known point by point, and nothing in it needs a loop. */
static bool can_write_out(Lower *l, const Expr *e)
{
    const Condition cond = tessi_window_condition(l, e);
    return e->reduction != REDUCE_MEDIAN && cond != COND_STATIC;
}

void tessi_eval_window(Lower *l, Eval *ev, ExprId id)
{
    if (l->unroll_windows && can_write_out(l, tessi_expr(l->g, id))) {
        tessi_eval_set(l, ev, id, written_out(l, ev, id));
        return;
    }
    inner_windows(l, ev, id, true);
    if (*tessi_eval_cell(ev, id))
        return; /* made together with an inner one */
    if (tessi_window_is_selected(l, tessi_expr(l->g, id))) {
        tessi_eval_set(l, ev, id, tessi_window_selected(l, ev, id));
        return;
    }
    tessi_window_run(l, &ev, 1, id);
}
