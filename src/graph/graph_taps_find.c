/* Windows as taps: weights that are known when compiling, and a value. */
#include <math.h>

#include "graph/graph_fold.h"
#include "graph/graph_taps.h"

static const ExprId none = { 0 };

/* Known when compiling, once the window's variables are. */
static bool is_weight(Masks *m, ExprId id)
{
    const ExprList *list = tessi_expr_walk(&m->walk, m->to, &id, 1);
    VEC_FOREACH (const ExprId, it, list) {
        ExprKind kind = tessi_expr(m->to, *it)->kind;
        if (kind == EXPR_LOAD || kind == EXPR_SCALAR || kind == EXPR_SIZE || kind == EXPR_INDEX
            || kind == EXPR_WINDOW)
            return false;
    }
    return true;
}

/* Depends on the window by the distances of its reads alone, and on no other window. */
static bool is_value(Masks *m, ExprId id, WindowId w)
{
    bool reads = false;
    const ExprList *list = tessi_expr_walk(&m->walk, m->to, &id, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *e = tessi_expr(m->to, *it);
        if (e->kind == EXPR_WINVAR || e->kind == EXPR_WINDOW || e->kind == EXPR_INDEX)
            return false;
        if (e->kind != EXPR_LOAD)
            continue;
        const Access *a = tessi_access(m->to, e->access);
        for (uint32_t d = 0; d < a->n_dims; d++) {
            if (a->dim[d].absolute)
                return false;
            for (uint32_t k = 0; k < a->dim[d].n_terms; k++)
                if (a->dim[d].term[k].window.v != w.v)
                    return false;
        }
        reads = true;
    }
    return reads;
}

/* The weights of all points; false when one is not known or not finite. */
static bool find_weights(Masks *m, const Expr *e, ExprId weight, Taps *t)
{
    Graph *g = m->to;
    const Window *w = tessi_window(g, e->window);
    ExprId roots[2] = { weight, e->n_args > 1 ? e->arg[1] : none };
    int32_t point[MAX_WINDOW_VARS];
    Value x;
    if (!tessi_matrix_init(&t->weights, g->arena, w))
        return false;
    for (uint32_t k = 0; k < MAX_WINDOW_VARS; k++)
        point[k] = w->lo[k];
    tessi_subst_begin(g, roots, 2, e->window);
    uint32_t n = 0;
    do {
        x = tessi_value_int(1);
        if (roots[1].v && !tessi_expr_is_const(g, tessi_subst_at(g, roots[1], point), &x))
            return false;
        t->weights.used[n] = x.i != 0;
        t->weights.at[n] = tessi_is_real(t->type) ? tessi_value_real(1) : tessi_value_int(1);
        if (weight.v && x.i && !tessi_expr_is_const(g, tessi_subst_at(g, weight, point), &x))
            return false;
        if (weight.v && t->weights.used[n])
            t->weights.at[n] = x;
        if (tessi_is_real(t->type) && !isfinite(t->weights.at[n].f))
            return false;
        n++;
    } while (tessi_window_step(w, point));
    return true;
}

/* A minimum of reals depends on the order only where there is a NaN, or zeros of both signs. */
static bool takes_any_order(Reduction r, ScalarType t, FpMode fp)
{
    return r == REDUCE_ANY || r == REDUCE_ALL
           || ((r == REDUCE_MIN || r == REDUCE_MAX) && (!tessi_is_real(t) || fp != FP_STRICT));
}

bool tessi_taps_find(Masks *m, const Expr *e, Taps *t)
{
    *t = (Taps){ .reduction = e->reduction, .window = e->window, .type = e->type };
    const Expr body = *tessi_expr(m->to, e->arg[0]);
    ExprId weight = none;
    bool is_sum = e->reduction == REDUCE_SUM;
    int64_t points = tessi_window_points(tessi_window(m->to, e->window));
    t->value = e->arg[0];
    if (points <= 0 || points > MAX_WINDOW_POINTS || e->fused
        || !(is_sum || takes_any_order(e->reduction, e->type, m->fp)))
        return false;
    if (is_sum && body.kind == EXPR_OP && body.op == OP_MUL) {
        bool first = is_weight(m, body.arg[0]);
        if (first || is_weight(m, body.arg[1])) {
            weight = body.arg[!first];
            t->value = body.arg[first];
        }
    }
    if (weight.v && points > MAX_MASK_ELEMENTS)
        return false;
    if (!is_value(m, t->value, e->window) || (e->n_args > 1 && !is_weight(m, e->arg[1])))
        return false;
    return find_weights(m, e, weight, t);
}

/* ---- Conditions on pixels -------------------------------------------------------------------- */

/* The part of a condition that pixels take part in, and in *known the part that they do not. */
static ExprId on_pixels(Masks *m, ExprId where, ExprId *known)
{
    const Expr e = *tessi_expr(m->to, where);
    *known = none;
    if (e.kind == EXPR_OP && e.op == OP_AND)
        for (int k = 0; k < 2; k++)
            if (is_weight(m, e.arg[k])) {
                *known = e.arg[k];
                return e.arg[!k];
            }
    return where;
}

/* The value where the condition holds, else one that changes nothing; behind a weight that is known. */
static ExprId value_on(Masks *m, const Expr *window, ExprId condition)
{
    Graph *g = m->to;
    const Expr body = *tessi_expr(g, window->arg[0]);
    ExprId weight = none, value = window->arg[0];
    const bool sum = window->reduction == REDUCE_SUM;
    if (sum && body.kind != EXPR_CONST && is_weight(m, value)) {
        weight = value;
        value = tessi_is_real(body.type) ? tessi_expr_real(g, body.type, 1.0)
                                         : tessi_expr_int(g, body.type, 1);
    }
    if (sum && body.kind == EXPR_OP && body.op == OP_MUL)
        for (int k = 0; k < 2 && !weight.v; k++)
            if (is_weight(m, body.arg[k])) {
                weight = body.arg[k];
                value = body.arg[!k];
            }
    const ExprId nothing = tessi_expr_const(
        g, window->type, tessi_reduction_identity(window->reduction, window->type));
    value = tessi_expr_op(g, OP_SELECT, condition, value, nothing);
    return weight.v ? tessi_expr_op(g, OP_MUL, weight, value, none) : value;
}

bool tessi_taps_where(Masks *m, const Expr *window, Taps *t)
{
    ExprId known;
    if (window->n_args < 2 || is_weight(m, window->arg[1]))
        return false;
    const ExprId condition = on_pixels(m, window->arg[1], &known),
                 body = value_on(m, window, condition),
                 all = tessi_expr_window(m->to, window->reduction, window->window, body, known);
    const Expr plain = *tessi_expr(m->to, all);
    return plain.kind == EXPR_WINDOW && tessi_taps_find(m, &plain, t);
}
