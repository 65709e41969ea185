/* Medians and ranks of few values become minima and maxima: no sorting in memory, no branches, so vectors execute
 * them. Reals take part as their places in order, integers that compare as the reals do, NaN and -0 included.
 *
 * The networks (graph/graph_network.h) share between windows above and below what they sort of rows. */
#include "analysis/passes.h"
#include "graph/graph_fold.h"
#include "graph/graph_passes.h"
#include "graph/graph_rank.h"
#include "graph/graph_rewrite.h"

static const ExprId none = { 0 };

/* ---- Sorting --------------------------------------------------------------------------------- */

static uint32_t choose(void *user, bool greatest, uint32_t a, uint32_t b)
{
    return tessi_expr_op(user, greatest ? OP_MAX : OP_MIN, (ExprId){ a }, (ExprId){ b }, none).v;
}

static ExprId element(Graph *g, const Ranked *v)
{
    const Network network = { g->arena, choose, g };
    return (ExprId){ tessi_network_rank(&network, v->run, v->n_runs, v->rank) };
}

typedef struct Medians {
    const char *stage; /* at hand */
    ExprWalk walk;
} Medians;

/* ---- Windows --------------------------------------------------------------------------------- */

/* Reals of a median take part as their places in order; a rank is written with these. */
static void in_order(Graph *g, const Expr *e, Ranked *v)
{
    for (uint32_t r = 0; r < v->n_runs && tessi_is_real(e->type); r++)
        for (uint32_t i = 0; i < v->run[r].n; i++) {
            const ExprId value = { v->run[r].at[i] };
            v->run[r].at[i] = tessi_expr_op(g, OP_ORDER, value, none, none).v;
        }
}

static uint32_t count_comparisons(ExprWalk *walk, const Graph *g, const uint32_t *values,
                                  uint32_t n)
{
    ExprId *roots = ARENA_NEW_ARRAY(walk->arena, ExprId, n);
    for (uint32_t i = 0; i < n; i++)
        roots[i].v = values[i];
    uint32_t count = 0;
    const ExprList *list = tessi_expr_walk(walk, g, roots, n);
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *e = tessi_expr(g, *id);
        count += e->kind == EXPR_OP && (e->op == OP_MIN || e->op == OP_MAX);
    }
    return count;
}

/* What explain says of the stage at hand; without `v` the window stays, to be sorted unless the planner finds a
 * better way. */
static void note(Medians *m, Graph *g, const Ranked *v, ExprId result, const Window *w)
{
    MaskForm form = { .stage = m->stage,
                      .reduction = REDUCE_MEDIAN,
                      .method = METHOD_DIRECT,
                      .points = (uint32_t)tessi_window_points(w) };
    if (v) {
        form.taps = v->n;
        form.network = count_comparisons(&m->walk, g, &result.v, 1)
                       - count_comparisons(&m->walk, g, v->run[0].at, v->n);
    }
    if (!v || v->n > 1)
        VEC_PUSH(g->arena, &g->forms, form);
}

static ExprId network(Medians *medians, Graph *g, ExprId id)
{
    const Expr e = *tessi_expr(g, id);
    const Window w = *tessi_window(g, e.window);
    const bool median = e.reduction == REDUCE_MEDIAN;
    Ranked v;
    if (!tessi_graph_ranked(g, &e, &v)) {
        if (median)
            note(medians, g, NULL, id, &w);
        return id;
    }
    if (!v.n)
        return tessi_expr_const(g, e.type, tessi_reduction_identity(e.reduction, e.type));
    in_order(g, &e, &v);
    ExprId m = element(g, &v);
    note(medians, g, &v, m, &w);
    return tessi_is_real(e.type) ? tessi_expr_op(g, OP_AT_ORDER, m, none, none) : m;
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    ExprId now = tessi_rewrite_rebuild(r, e);
    const Expr *window = tessi_expr(r->to, now);
    const bool ranks = window->kind == EXPR_WINDOW
                       && (window->reduction == REDUCE_MEDIAN || window->reduction == REDUCE_MIN);
    return ranks ? network(r->user, r->to, now) : now;
}

void tessi_pass_median(Graph *g, Arena *scratch)
{
    Rewrite r;
    Medians m = { .walk = { .arena = scratch } };
    tessi_rewrite_init(&r, g, g, scratch);
    r.change = change;
    r.user = &m;
    GRAPH_FOREACH_STAGE (g, id) {
        m.stage = tessi_stage(g, id)->name;
        for (uint32_t k = 0; k < tessi_stage(g, id)->pieces.n; k++) {
            ExprId body = tessi_rewrite_expr(&r, tessi_stage(g, id)->pieces.at[k].body);
            tessi_stage(g, id)->pieces.at[k].body = body;
        }
    }
}
