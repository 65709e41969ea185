/* Windows to loops. Windows over the same range share one loop; a window inside another that does not use its variables is
 * computed before it.
 *
 * "From the first value on" needs no special first round: an accumulator starts from a value that leaves every first value as it is, bit
 * for bit: -0 for real sums and fused multiply-adds, 1 for products, the extremes for min and max. */
#include <math.h>

#include "analysis/const_eval.h"
#include "loop/lower_parts.h"

/* What is known of the condition of a window. */
typedef enum Condition {
    COND_NONE,   /* holds everywhere */
    COND_NEVER,  /* holds nowhere */
    COND_SOME,   /* depends on window variables only and holds somewhere */
    COND_STATIC, /* does not depend on data or the point; may hold nowhere */
    COND_DATA
} Condition;

typedef struct Member {
    ExprId id;
    Condition cond;
    LVarId acc;      /* MEDIAN with a condition: number of values so far */
    LVarId seen;     /* COND_STATIC: whether it held somewhere */
    LBufferId local; /* MEDIAN */
} Member;

typedef struct Family {
    WindowId window;
    VEC(Member) members;
} Family;

/* ---- Conditions known when compiling ------------------------------------------------------------------------------------- */

static Condition condition_of(Lower *l, const Expr *e)
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

/* ---- Which windows share a loop ---------------------------------------------------------------------------------------- */

static bool is_open(const Eval *ev, WindowId w)
{
    for (uint32_t i = 0; i < ev->open.n; i++)
        if (ev->open.at[i].window.v == w.v)
            return true;
    return false;
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

/* Visits the windows inside window `id` that could be computed before it; builds them, or only says whether there are any. */
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
    Member m = { .id = id, .cond = condition_of(l, tessi_expr(l->g, id)) };
    VEC_PUSH(l->arena, &f->members, m);
}

static Family family_of(Lower *l, Eval *ev, ExprId id)
{
    Family f = { .window = tessi_expr(l->g, id)->window };
    add_member(l, &f, id);
    for (uint32_t i = 0; i < ev->exprs.n; i++) {
        ExprId other = ev->exprs.at[i];
        const Expr *e = tessi_expr(l->g, other);
        if (e->kind == EXPR_WINDOW && e->window.v == f.window.v && other.v != id.v && !ev->value[i]
            && can_stand_here(l, ev, other) && !inner_windows(l, ev, other, false))
            add_member(l, &f, other);
    }
    return f;
}

/* ---- Accumulators ------------------------------------------------------------------------------------------------------ */

static LExprId number(Lower *l, ScalarType t, double x)
{
    Value v = tessi_is_real(t) ? tessi_value_real(x) : tessi_value_int((int64_t)x);
    return tessi_lexpr_const(l->p, t, v);
}

static LExprId start_value(Lower *l, const Expr *e, Condition cond)
{
    ScalarType t = e->type;
    bool is_max = e->reduction == REDUCE_MAX;
    switch (e->reduction) {
    case REDUCE_PROD:
    case REDUCE_ALL: return number(l, t, 1);
    case REDUCE_MIN:
    case REDUCE_MAX: {
        if (tessi_is_real(t))
            return number(l, t, is_max ? -(double)INFINITY : (double)INFINITY);
        Interval range = tessi_type_range(t);
        return tessi_lexpr_const(l->p, t, tessi_value_int(is_max ? range.lo : range.hi));
    }
    case REDUCE_SUM: return number(l, t, cond == COND_DATA ? 0.0 : -0.0);
    default: return number(l, t, 0);
    }
}

/* What an empty window gives. */
static LExprId empty_value(Lower *l, const Expr *e)
{
    bool one = e->reduction == REDUCE_PROD || e->reduction == REDUCE_ALL;
    return number(l, e->type, one ? 1 : 0);
}

static LExprId bool_const(Lower *l, bool b)
{
    return tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(b));
}

static Op step_op(Reduction r)
{
    switch (r) {
    case REDUCE_PROD: return OP_MUL;
    case REDUCE_MIN: return OP_MIN;
    case REDUCE_MAX: return OP_MAX;
    case REDUCE_ANY: return OP_OR;
    case REDUCE_ALL: return OP_AND;
    default: return OP_ADD;
    }
}

static void declare(Lower *l, Member *m)
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
    m->acc = tessi_scope_var(l, name, e->type, start_value(l, e, m->cond));
    if (m->cond == COND_STATIC)
        m->seen = tessi_scope_var(l, "seen", TYPE_BOOL, bool_const(l, false));
}

static void set(Lower *l, LVarId var, LExprId value)
{
    LStmt *s = tessi_scope_stmt(l, LSTMT_SET);
    s->var = var;
    s->a = value;
}

/* The number of the window's point in row-major order. */
static LExprId flat_point(Lower *l, const Eval *ev, WindowId id)
{
    const Window *w = tessi_window(l->g, id);
    const WindowVars *vars = &ev->open.at[ev->open.n - 1];
    LExprId flat = tessi_l_int(l, 0);
    for (int i = 0; i < w->n_vars; i++) {
        int64_t n = (int64_t)w->hi[i] - w->lo[i] + 1;
        LExprId at = tessi_l_op(l, OP_SUB, vars->var[i], tessi_l_int(l, w->lo[i]));
        flat = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_MUL, flat, tessi_l_int(l, n)), at);
    }
    return flat;
}

/* One step of one member, its operands placed: x (and y when fused), and the condition when it depends on data. */
static void step(Lower *l, const Eval *ev, const Member *m, const LExprId *operand)
{
    const Expr *e = tessi_expr(l->g, m->id);
    if (e->reduction == REDUCE_MEDIAN) {
        LExprId at = m->acc.v ? tessi_lexpr_var(l->p, m->acc) : flat_point(l, ev, e->window);
        LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
        s->buffer = m->local;
        s->n_index = 1;
        s->index[0] = at;
        s->a = operand[0];
        if (m->acc.v)
            set(l, m->acc, tessi_l_op(l, OP_ADD, at, tessi_l_int(l, 1)));
        return;
    }
    LExprId acc = tessi_lexpr_var(l->p, m->acc);
    LExprId next = e->fused ? tessi_lexpr_op(l->p, OP_FMA, operand[0], operand[1], acc)
                            : tessi_l_op(l, step_op(e->reduction), acc, operand[0]);
    if (m->cond == COND_DATA)
        next = tessi_l_select(l, operand[2], next, acc);
    set(l, m->acc, next);
    if (m->seen.v)
        set(l, m->seen, bool_const(l, true));
}

/* The steps of all members that stand under the same condition (`where`; none: under no IF). */
static void steps_under(Lower *l, Eval *ev, const Family *f, ExprId where)
{
    VEC(LExprId) operands = { 0 };
    VEC(const Member *) taken = { 0 };
    VEC_FOREACH (const Member, m, &f->members) {
        const Expr e = *tessi_expr(l->g, m->id);
        bool is_static = m->cond == COND_SOME || m->cond == COND_STATIC;
        if (m->cond == COND_NEVER || (is_static ? e.arg[1].v : 0) != where.v)
            continue;
        const Expr body = *tessi_expr(l->g, e.arg[0]);
        LExprId zero = tessi_l_int(l, 0), operand[3] = { zero, zero, zero };
        operand[0] = tessi_eval_expr(l, ev, e.fused ? body.arg[0] : e.arg[0]);
        if (e.fused)
            operand[1] = tessi_eval_expr(l, ev, body.arg[1]);
        if (m->cond == COND_DATA)
            operand[2] = tessi_eval_expr(l, ev, e.arg[1]);
        for (int i = 0; i < 3; i++)
            VEC_PUSH(l->arena, &operands, operand[i]);
        VEC_PUSH(l->arena, &taken, m);
    }
    tessi_scope_place(l, operands.at, operands.n);
    for (uint32_t i = 0; i < taken.n; i++)
        step(l, ev, taken.at[i], &operands.at[(size_t)i * 3]);
}

static void loop_body(Lower *l, Eval *ev, const Family *f)
{
    steps_under(l, ev, f, (ExprId){ 0 });
    for (uint32_t i = 0; i < f->members.n; i++) {
        const Member *m = &f->members.at[i];
        if (m->cond != COND_SOME && m->cond != COND_STATIC)
            continue;
        ExprId where = tessi_expr(l->g, m->id)->arg[1];
        bool done = false;
        for (uint32_t k = 0; k < i; k++)
            done = done
                   || (f->members.at[k].cond == m->cond
                       && tessi_expr(l->g, f->members.at[k].id)->arg[1].v == where.v);
        if (done)
            continue;
        tessi_scope_if(l, tessi_eval_expr(l, ev, where));
        steps_under(l, ev, f, where);
        tessi_scope_close(l);
    }
}

/* Sorts what was gathered and takes the middle. */
static LExprId median_of(Lower *l, const Member *m)
{
    const Expr *e = tessi_expr(l->g, m->id);
    LExprId n = m->acc.v ? tessi_lexpr_var(l->p, m->acc)
                         : tessi_l_int(l, tessi_window_points(tessi_window(l->g, e->window)));
    LVarId result = { 0 };
    if (m->cond == COND_STATIC) { /* there may be nothing to sort */
        result = tessi_scope_var(l, "median", e->type, empty_value(l, e));
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
    set(l, result, value);
    tessi_scope_close(l);
    return tessi_lexpr_var(l->p, result);
}

static LExprId result_of(Lower *l, const Member *m)
{
    const Expr *e = tessi_expr(l->g, m->id);
    if (m->cond == COND_NEVER)
        return empty_value(l, e);
    if (e->reduction == REDUCE_MEDIAN)
        return median_of(l, m);
    LExprId acc = tessi_lexpr_var(l->p, m->acc);
    return m->seen.v ? tessi_l_select(l, tessi_lexpr_var(l->p, m->seen), acc, empty_value(l, e))
                     : acc;
}

void tessi_eval_window(Lower *l, Eval *ev, ExprId id)
{
    static const char *const names[MAX_WINDOW_VARS] = { "i", "j", "k", "m" };
    inner_windows(l, ev, id, true);
    if (*tessi_eval_cell(ev, id))
        return; /* made together with an inner one */
    Family f = family_of(l, ev, id);
    bool any = false;
    VEC_FOREACH (Member, m, &f.members) {
        if (m->cond != COND_NEVER)
            declare(l, m);
        any = any || m->cond != COND_NEVER;
    }
    if (any) {
        const Window *w = tessi_window(l->g, f.window);
        WindowVars vars = { .window = f.window };
        for (int i = 0; i < w->n_vars; i++) {
            LVarId v = tessi_scope_for(l, names[i], tessi_l_int(l, w->lo[i]),
                                       tessi_l_int(l, (int64_t)w->hi[i] + 1), 1, 0);
            vars.var[i] = tessi_lexpr_var(l->p, v);
        }
        VEC_PUSH(l->arena, &ev->open, vars);
        loop_body(l, ev, &f);
        ev->open.n--;
        for (int i = 0; i < w->n_vars; i++)
            tessi_scope_close(l);
    }
    VEC_FOREACH (const Member, m, &f.members)
        tessi_eval_set(l, ev, m->id, result_of(l, m));
}
