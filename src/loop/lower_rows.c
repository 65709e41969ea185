/* The loops over windows, for one row or for several at once, with all accumulators in variables, which a printer keeps
 * in vector registers.
 *
 * Rows that lie above one another read the same pixels at different steps of their windows: row r reads pixel row i
 * at its step i - r. Where that is so the loop runs over rows of pixels, and each value loaded serves all rows that
 * have a step there:
 *
 *   for i:  for j:  x = X[y + i, x + j];  sum0 += w[i, j] * x;  sum1 += w[i - 1, j] * x;  ...
 *
 * The first and the last few i concern some rows only and stand before and behind the loop. The order of the steps
 * at each point, and so every bit, stays the same. */
#include "loop/lower_eval.h"
#include "loop/lower_window.h"

typedef struct Rows {
    Lower *l;
    Eval **ev; /* of each row */
    uint32_t n;
    Family *family;      /* of each row: the same windows, with accumulators of its own */
    uint32_t first, end; /* rows that take part in the step in hand */
} Rows;

/* ---- Steps ----------------------------------------------------------------------------------- */

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

/* One step of one member, its operands placed. */
static void step(const Rows *s, const Member *m, const LExprId *operand)
{
    Lower *l = s->l;
    const Expr *e = tessi_expr(l->g, m->id);
    if (e->reduction == REDUCE_MEDIAN) {
        LExprId at = m->acc.v ? tessi_lexpr_var(l->p, m->acc) : flat_point(l, s->ev[0], e->window);
        tessi_scope_store(l, m->local, &at, 1, operand[0]);
        if (m->acc.v)
            tessi_lower_set(l, m->acc, tessi_l_op(l, OP_ADD, at, tessi_l_int(l, 1)));
        return;
    }
    LExprId acc = tessi_lexpr_var(l->p, m->acc);
    tessi_lower_set(l, m->acc, tessi_window_step_expr(l, m, operand, acc));
    if (m->seen.v)
        tessi_lower_set(l, m->seen, tessi_lower_bool(l, true));
}

/* The steps at the window's point in hand of all members that stand under the same condition. */
static void steps_under(Rows *s, ExprId where)
{
    Lower *l = s->l;
    VEC(LExprId) operands = { 0 };
    VEC(const Member *) taken = { 0 };
    for (uint32_t r = s->first; r < s->end; r++) {
        VEC_FOREACH (const Member, m, &s->family[r].members) {
            if (m->cond == COND_NEVER || tessi_window_if(l, m).v != where.v)
                continue;
            LExprId operand[WINDOW_OPERANDS];
            tessi_window_operands(l, s->ev[r], m, operand);
            for (int k = 0; k < WINDOW_OPERANDS; k++)
                VEC_PUSH(l->arena, &operands, operand[k]);
            VEC_PUSH(l->arena, &taken, m);
        }
    }
    tessi_scope_place(l, operands.at, operands.n);
    for (uint32_t i = 0; i < taken.n; i++)
        step(s, taken.at[i], &operands.at[(size_t)i * WINDOW_OPERANDS]);
}

static void push_vars(Rows *s, uint32_t r, const WindowVars *vars)
{
    VEC_PUSH(s->l->arena, &s->ev[r]->open, *vars);
}

static void pop_vars(Rows *s)
{
    for (uint32_t r = s->first; r < s->end; r++)
        s->ev[r]->open.n--;
}

/* All rows at the same point of the window. */
static void same_point(Rows *s, WindowId window)
{
    Lower *l = s->l;
    ExprId where;
    s->first = 0;
    s->end = s->n;
    tessi_window_open(l, s->ev[0], window);
    const WindowVars vars = s->ev[0]->open.at[s->ev[0]->open.n - 1];
    for (uint32_t r = 1; r < s->n; r++)
        push_vars(s, r, &vars);
    steps_under(s, (ExprId){ 0 });
    for (uint32_t i = 0; tessi_window_next_if(l, &s->family[0], &i, &where);) {
        tessi_scope_if(l, tessi_eval_expr(l, s->ev[0], where));
        steps_under(s, where);
        tessi_scope_close(l);
    }
    for (uint32_t r = 1; r < s->n; r++)
        s->ev[r]->open.n--;
    tessi_window_close(l, s->ev[0], window);
}

/* ---- Rows of pixels -------------------------------------------------------------------------- */

/* Some read moves with the first window variable as it does with the row, and no step depends on a condition of its
 * own. */
static bool shares_pixels(const Rows *s, const Family *f)
{
    const Lower *l = s->l;
    bool shares = false;
    VEC_FOREACH (const Member, m, &f->members) {
        if (tessi_window_if(l, m).v)
            return false;
        ExprList list = tessi_reach(s->l, tessi_expr(l->g, m->id)->arg, 1);
        for (uint32_t i = 0; i < list.n; i++) {
            const Expr *e = tessi_expr(l->g, list.at[i]);
            const Access *access = e->kind == EXPR_LOAD ? tessi_access(l->g, e->access) : NULL;
            for (int d = 0; access && d < access->n_dims; d++) {
                const AccessDim *dim = &access->dim[d];
                for (int t = 0; t < dim->n_terms && !dim->absolute; t++)
                    shares =
                        shares
                        || (dim->src == s->ev[0]->n_dims - 2 && dim->term[t].window.v == f->window.v
                            && dim->term[t].var == 0 && dim->term[t].coef == dim->scale);
            }
        }
    }
    return shares;
}

/* The steps at row `i` of pixels, counted from the first row, of rows [first, end). */
static void pixel_row(Rows *s, WindowId window, LExprId i, uint32_t first, uint32_t end)
{
    static const char *const names[MAX_WINDOW_VARS] = { "i", "j", "k", "m" };
    Lower *l = s->l;
    const Window *w = tessi_window(l->g, window);
    WindowVars vars = { .window = window };
    s->first = first;
    s->end = end;
    tessi_scope_names(l);
    for (int v = 1; v < w->n_vars; v++) {
        LVarId var = tessi_scope_for(l, names[v], tessi_l_int(l, w->lo[v]),
                                     tessi_l_int(l, (int64_t)w->hi[v] + 1), 1, 0);
        vars.var[v] = tessi_lexpr_var(l->p, var);
    }
    for (uint32_t r = first; r < end; r++) {
        vars.var[0] = tessi_l_op(l, OP_SUB, i, tessi_l_int(l, r));
        push_vars(s, r, &vars);
    }
    steps_under(s, (ExprId){ 0 });
    pop_vars(s);
    for (int v = 1; v < w->n_vars; v++)
        tessi_scope_close(l);
    tessi_scope_close(l);
}

static void pixel_rows(Rows *s, WindowId window)
{
    Lower *l = s->l;
    const Window *w = tessi_window(l->g, window);
    int64_t lo = w->lo[0], hi = w->hi[0], rows = s->n;
    for (int64_t i = lo; i < hi + rows; i++) {
        int64_t first = i > hi ? i - hi : 0, end = i - lo + 1 < rows ? i - lo + 1 : rows;
        if (first > 0 || end < rows) {
            pixel_row(s, window, tessi_l_int(l, i), (uint32_t)first, (uint32_t)end);
            continue;
        }
        LVarId var = tessi_scope_for(l, "i", tessi_l_int(l, i), tessi_l_int(l, hi + 1), 1, 0);
        pixel_row(s, window, tessi_lexpr_var(l->p, var), 0, s->n);
        tessi_scope_close(l);
        i = hi;
    }
}

/* ---- Windows --------------------------------------------------------------------------------- */

void tessi_window_run(Lower *l, Eval **ev, uint32_t n, ExprId id)
{
    const Family first = tessi_window_family(l, ev[0], id);
    Rows s = { .l = l, .ev = ev, .n = n, .family = ARENA_NEW_ARRAY(l->arena, Family, n) };
    bool any = false;
    for (uint32_t r = 0; r < n; r++) {
        s.family[r].window = first.window;
        VEC_APPEND(l->arena, &s.family[r].members, &first.members);
        VEC_FOREACH (Member, m, &s.family[r].members) {
            any = any || m->cond != COND_NEVER;
            if (m->cond != COND_NEVER)
                tessi_window_declare(l, m);
        }
    }
    if (n > 1 && shares_pixels(&s, &first))
        pixel_rows(&s, first.window);
    else if (any)
        same_point(&s, first.window);
    for (uint32_t r = 0; r < n; r++)
        VEC_FOREACH (const Member, m, &s.family[r].members)
            tessi_eval_set(l, ev[r], m->id, tessi_window_result(l, m));
}

void tessi_eval_rows(Lower *l, Eval **ev, uint32_t n, const ExprId *roots, uint32_t n_roots)
{
    ExprList list = tessi_reach(l, roots, n_roots);
    for (uint32_t i = 0; i < list.n; i++) { /* ascending: what a window needs is made before it */
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind == EXPR_WINDOW && e->reduction != REDUCE_MEDIAN
            && l->deps[list.at[i].v].level < 0 && !*tessi_eval_cell(ev[0], list.at[i])
            && tessi_window_condition(l, e) != COND_NEVER)
            tessi_window_run(l, ev, n, list.at[i]);
    }
}
