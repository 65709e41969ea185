/* A rank is written as it is defined: min(p in W where k < sum(q in W where x(q) <= x(p) : 1) : x(p)). Whether a window
 * is that is asked of its expressions with all variables replaced by numbers, for each pair of points, so that it does
 * not matter how they are written. */
#include "graph/graph_rank.h"

#include "graph/graph_rewrite.h"
#include "graph/graph_walk.h"

enum { MAX_NODES = 2048 };

static const ExprId none = { 0 };

/* ---- The condition --------------------------------------------------------------------------- */

/* The window of `k < sum(.. : 1)`, else none. */
static ExprId counted(const Graph *g, ExprId condition, int64_t *k)
{
    const Expr *e = tessi_expr(g, condition);
    Value least, one;
    if (e->kind != EXPR_OP || e->op != OP_LT || !tessi_expr_is_const(g, e->arg[0], &least))
        return none;
    const ExprId id = e->arg[1];
    const Expr *w = tessi_expr(g, id);
    if (w->kind != EXPR_WINDOW || w->reduction != REDUCE_SUM || w->n_args < 2 || w->fused
        || tessi_is_real(w->type) || !tessi_expr_is_const(g, w->arg[0], &one) || one.i != 1)
        return none;
    *k = least.i;
    return id;
}

/* The same, where conditions on window variables stand before it. */
static ExprId counted_within(const Graph *g, ExprId condition)
{
    int64_t k;
    const ExprId found = counted(g, condition, &k);
    const Expr *e = tessi_expr(g, condition);
    if (found.v || e->kind != EXPR_OP || e->op != OP_AND)
        return found;
    const ExprId first = counted_within(g, e->arg[0]);
    return first.v ? first : counted_within(g, e->arg[1]);
}

/* ---- Values ---------------------------------------------------------------------------------- */
typedef struct Points {
    uint32_t n;
    ExprId value[MAX_RANKED], count[MAX_RANKED];
    int64_t row[MAX_RANKED], k;
} Points;

/* The number of the row that a point of the window lies in. */
static int64_t row_of(const Window *w, const int32_t *point)
{
    int64_t row = 0;
    for (uint32_t k = 0; k + 1 < w->n_vars; k++)
        row = row * ((int64_t)w->hi[k] - w->lo[k] + 1) + point[k] - w->lo[k];
    return row;
}

static void first_point(const Window *w, int32_t *point)
{
    for (uint32_t k = 0; k < MAX_WINDOW_VARS; k++)
        point[k] = w->lo[k];
}

/* Of a rank, each point's condition is that its own count is above the same k. */
static bool find_points(Graph *g, const Expr *e, Points *p)
{
    const Window w = *tessi_window(g, e->window);
    const bool median = e->reduction == REDUCE_MEDIAN;
    const uint32_t nodes = tessi_subst_begin(g, e->arg, e->n_args, e->window);
    const int64_t points = tessi_window_points(&w);
    int32_t point[MAX_WINDOW_VARS];
    if (points <= 0 || points > 32 * MAX_RANKED)
        return false;
    first_point(&w, point);
    p->n = 0;
    do {
        Value holds = { .i = 1 };
        ExprId where = none;
        if (e->n_args > 1)
            where = tessi_subst_at(g, e->arg[1], point);
        const bool known = !where.v || tessi_expr_is_const(g, where, &holds);
        if (known && !holds.i)
            continue;
        int64_t k = 0;
        const ExprId count = known ? none : counted(g, where, &k);
        if (p->n == MAX_RANKED || median != known || (!known && !count.v) || (p->n && p->k != k))
            return false;
        p->k = k;
        p->row[p->n] = row_of(&w, point);
        p->count[p->n] = count;
        p->value[p->n++] = tessi_subst_at(g, e->arg[0], point);
    } while (tessi_window_step(&w, point));
    return (uint64_t)nodes * p->n <= MAX_NODES;
}

/* The count of value `of` goes through the same values, and asks whether they are up to it. */
static bool counts_values(Graph *g, const Points *p, uint32_t of)
{
    const Expr count = *tessi_expr(g, p->count[of]);
    const Window w = *tessi_window(g, count.window);
    const int64_t points = tessi_window_points(&w);
    int32_t point[MAX_WINDOW_VARS];
    uint32_t n = 0;
    if (points <= 0 || points > 32 * MAX_RANKED)
        return false;
    tessi_subst_begin(g, &count.arg[1], 1, count.window);
    first_point(&w, point);
    do {
        Value holds;
        const ExprId where = tessi_subst_at(g, count.arg[1], point);
        const bool known = tessi_expr_is_const(g, where, &holds);
        if (known && !holds.i)
            continue;
        const Expr *up_to = tessi_expr(g, where);
        const bool same = n < p->n && p->value[n].v == p->value[of].v;
        const bool asks = n < p->n && up_to->kind == EXPR_OP && up_to->op == OP_LE
                          && up_to->arg[0].v == p->value[n].v && up_to->arg[1].v == p->value[of].v;
        if (!(known ? same : asks))
            return false;
        n++;
    } while (tessi_window_step(&w, point));
    return n == p->n;
}

static void in_rows(Graph *g, const Points *p, Ranked *out)
{
    uint32_t *value = ARENA_NEW_ARRAY(g->arena, uint32_t, MAX_RANKED);
    for (uint32_t i = 0; i < p->n; i++) {
        if (!i || p->row[i] != p->row[i - 1])
            out->run[out->n_runs++].at = &value[i];
        out->run[out->n_runs - 1].n++;
        value[i] = p->value[i].v;
    }
}

bool tessi_graph_ranked(Graph *g, const Expr *window, Ranked *out)
{
    const Expr e = *window;
    Points p = { 0 };
    *out = (Ranked){ 0 };
    if (e.kind != EXPR_WINDOW || (e.reduction != REDUCE_MEDIAN && e.reduction != REDUCE_MIN))
        return false;
    if (e.reduction == REDUCE_MIN) {
        if (tessi_is_real(e.type) || e.n_args < 2)
            return false;
        out->count = counted_within(g, e.arg[1]);
        if (!out->count.v)
            return false;
    }
    if (!find_points(g, &e, &p))
        return false;
    for (uint32_t i = 0; e.reduction == REDUCE_MIN && i < p.n; i++)
        if (!counts_values(g, &p, i))
            return false;
    out->n = p.n;
    out->rank = e.reduction == REDUCE_MEDIAN ? p.n / 2 : (uint32_t)p.k;
    in_rows(g, &p, out);
    return e.reduction == REDUCE_MEDIAN || (p.n && p.k >= 0 && p.k < p.n);
}
