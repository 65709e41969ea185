/* Medians of few integers as a network of min and max: no sorting in memory, no branches, so vectors execute it. The network is
 * Batcher's odd-even merge sort; what the middle element does not need is never asked for and so never made. */
#include "analysis/const_eval.h"
#include "loop/lower_window.h"

enum { MAX_NETWORK = 49 };

/* Small enough to be written out for each point of the window: no windows inside, and at most one small inlined stage deep. */
static bool is_small(Lower *l, ExprId body, int depth)
{
    enum { MAX_NODES = 24 };
    ExprList list = tessi_reach(l, &body, 1);
    if (list.n > MAX_NODES)
        return false;
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(l->g, list.at[i]);
        if (e->kind == EXPR_WINDOW)
            return false;
        if (e->kind != EXPR_LOAD)
            continue;
        StageId producer = tessi_access(l->g, e->access)->producer;
        if (l->plan->stage[producer.v].placement == PLACE_INLINE
            && (depth == 0
                || !is_small(l, tessi_stage(l->g, producer)->pieces.at[0].body, depth - 1)))
            return false;
    }
    return true;
}

bool tessi_median_is_network(Lower *l, ExprId id)
{
    const Expr *e = tessi_expr(l->g, id);
    if (e->reduction != REDUCE_MEDIAN || !tessi_is_integer(e->type)
        || tessi_window_points(tessi_window(l->g, e->window)) > MAX_NETWORK)
        return false;
    Condition cond = tessi_window_condition(l, e);
    return (cond == COND_NONE || cond == COND_SOME) && is_small(l, e->arg[0], 1);
}

/* The body at one point of the window. */
static LExprId value_at(Lower *l, const Eval *ev, const Expr *e, const int32_t *var)
{
    ExprId body = e->arg[0];
    Eval *at = tessi_eval_new(l, &body, 1, ev->n_dims);
    for (uint8_t d = 0; d < ev->n_dims; d++)
        at->coord[d] = ev->coord[d];
    at->pinned = ev->pinned;
    VEC_FOREACH (const WindowVars, open, &ev->open)
        VEC_PUSH(l->arena, &at->open, *open);
    WindowVars vars = { .window = e->window };
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        vars.var[i] = tessi_l_int(l, var[i]);
    VEC_PUSH(l->arena, &at->open, vars);
    return tessi_eval_expr(l, at, body);
}

static void compare(Lower *l, LExprId *v, uint32_t i, uint32_t k)
{
    LExprId low = tessi_l_op(l, OP_MIN, v[i], v[k]), high = tessi_l_op(l, OP_MAX, v[i], v[k]);
    v[i] = low;
    v[k] = high;
}

static void sort(Lower *l, LExprId *v, uint32_t n)
{
    uint32_t top = 1;
    while (top * 2 < n)
        top *= 2;
    for (uint32_t p = top; p; p /= 2) {
        uint32_t d = p, r = 0;
        for (uint32_t q = top;; q /= 2) {
            for (uint32_t i = 0; i + d < n; i++)
                if ((i & p) == r)
                    compare(l, v, i, i + d);
            if (q == p)
                break;
            d = q - p;
            r = p;
        }
    }
}

LExprId tessi_median_network(Lower *l, Eval *ev, ExprId id)
{
    const Expr *e = tessi_expr(l->g, id);
    const Window *w = tessi_window(l->g, e->window);
    bool everywhere = tessi_window_condition(l, e) == COND_NONE;
    LExprId value[MAX_NETWORK];
    uint32_t n = 0;
    ConstEval where;
    if (!everywhere)
        tessi_const_eval_init(&where, l->g, l->arena, &l->walk, e->arg[1], e->window);
    int32_t var[MAX_WINDOW_VARS];
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        var[i] = w->lo[i];
    do {
        Value holds = { .i = 1 };
        if (everywhere || (tessi_const_eval(&where, var, &holds) && holds.i))
            value[n++] = value_at(l, ev, e, var);
    } while (tessi_window_step(w, var));
    sort(l, value, n);
    return value[n / 2];
}
