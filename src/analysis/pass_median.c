/* Medians of few values become minima and maxima: no sorting in memory, no branches, so vectors execute them. Reals
 * take part as their places in order, integers that compare as the reals do, NaN and -0 included.
 *
 * The networks (graph/graph_network.h) share between windows above and below what they sort of rows. */
#include "analysis/passes.h"
#include "graph/graph_fold.h"
#include "graph/graph_network.h"
#include "graph/graph_passes.h"
#include "graph/graph_rewrite.h"

enum { MAX_VALUES = 49, MAX_NODES = 2048 };

static const ExprId none = { 0 };

/* Those of the points where the condition holds, a run for each row. */
typedef struct Values {
    uint32_t n, n_runs;
    NetworkRun run[MAX_VALUES];
} Values;

/* ---- Sorting --------------------------------------------------------------------------------- */

static uint32_t choose(void *user, bool greatest, uint32_t a, uint32_t b)
{
    return tessi_expr_op(user, greatest ? OP_MAX : OP_MIN, (ExprId){ a }, (ExprId){ b }, none).v;
}

static ExprId middle(Graph *g, const Values *v)
{
    const Network network = { g->arena, choose, g };
    return (ExprId){ tessi_network_middle(&network, v->run, v->n_runs) };
}

typedef struct Medians {
    const char *stage; /* at hand */
    ExprWalk walk;
} Medians;

/* ---- Windows --------------------------------------------------------------------------------- */

/* The number of the row that a point of the window lies in. */
static int64_t row_of(const Window *w, const int32_t *point)
{
    int64_t row = 0;
    for (uint32_t k = 0; k + 1 < w->n_vars; k++)
        row = row * ((int64_t)w->hi[k] - w->lo[k] + 1) + point[k] - w->lo[k];
    return row;
}

/* False when there are too many, or a condition is not known when compiling. */
static bool find_values(Graph *g, const Expr *e, const Window *w, Values *v)
{
    int32_t point[MAX_WINDOW_VARS];
    uint32_t nodes = tessi_subst_begin(g, e->arg, e->n_args, e->window);
    int64_t points = tessi_window_points(w);
    if (points <= 0 || points > 32 * MAX_VALUES)
        return false;
    for (uint32_t k = 0; k < MAX_WINDOW_VARS; k++)
        point[k] = w->lo[k];
    int64_t row = 0;
    uint32_t *value = ARENA_NEW_ARRAY(g->arena, uint32_t, MAX_VALUES);
    *v = (Values){ .n = 0 };
    do {
        Value condition = { .i = 1 };
        if (e->n_args > 1
            && !tessi_expr_is_const(g, tessi_subst_at(g, e->arg[1], point), &condition))
            return false;
        if (!condition.i)
            continue;
        if (v->n == MAX_VALUES)
            return false;
        if (!v->n || row_of(w, point) != row)
            v->run[v->n_runs++].at = &value[v->n];
        row = row_of(w, point);
        v->run[v->n_runs - 1].n++;
        ExprId one = tessi_subst_at(g, e->arg[0], point);
        if (tessi_is_real(e->type))
            one = tessi_expr_op(g, OP_ORDER, one, none, none);
        value[v->n++] = one.v;
    } while (tessi_window_step(w, point));
    return (uint64_t)nodes * v->n <= MAX_NODES;
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
static void note(Medians *m, Graph *g, const Values *v, ExprId result, const Window *w)
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
    Values v;
    if (!find_values(g, &e, &w, &v)) {
        note(medians, g, NULL, id, &w);
        return id;
    }
    if (!v.n)
        return tessi_expr_const(g, e.type, tessi_reduction_identity(e.reduction, e.type));
    ExprId m = middle(g, &v);
    note(medians, g, &v, m, &w);
    return tessi_is_real(e.type) ? tessi_expr_op(g, OP_AT_ORDER, m, none, none) : m;
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    ExprId now = tessi_rewrite_rebuild(r, e);
    const Expr *window = tessi_expr(r->to, now);
    bool median = window->kind == EXPR_WINDOW && window->reduction == REDUCE_MEDIAN;
    return median ? network(r->user, r->to, now) : now;
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
