/* Medians of few values become minima and maxima: no sorting in memory, no branches, so vectors execute them. Reals
 * take part as their places in order, integers that compare as the reals do, NaN and -0 included.
 *
 * The values of each row of the window are sorted, then rows merged two by two, pairs of rows again, and so on: all
 * this is shared by the windows above and below, where several rows of results are computed together. The last merge
 * is not carried out; the middle of two sorted lists needs a maximum and a minimum for each value of the shorter
 * one. What the middle does not need of the merges before is never asked for and so never made. */
#include "analysis/passes.h"
#include "graph/graph_fold.h"
#include "graph/graph_passes.h"
#include "graph/graph_rewrite.h"

enum { MAX_VALUES = 49, MAX_NODES = 2048 };

static const ExprId none = { 0 };

/* Values in ascending order, or still to be sorted. */
typedef struct Run {
    uint32_t n;
    ExprId *at;
} Run;

/* Those of the points where the condition holds, a run for each row. */
typedef struct Values {
    uint32_t n, n_runs;
    Run run[MAX_VALUES];
} Values;

/* ---- Sorting --------------------------------------------------------------------------------- */

static ExprId least(Graph *g, ExprId a, ExprId b)
{
    return tessi_expr_op(g, OP_MIN, a, b, none);
}

static ExprId greatest(Graph *g, ExprId a, ExprId b)
{
    return tessi_expr_op(g, OP_MAX, a, b, none);
}

/* Elements `from`, from + 2, .. */
static Run every_second(Graph *g, Run r, uint32_t from)
{
    Run half = { .at = ARENA_NEW_ARRAY(g->arena, ExprId, r.n) };
    for (uint32_t i = from; i < r.n; i += 2)
        half.at[half.n++] = r.at[i];
    return half;
}

/* Batcher's odd-even merge of two runs in order. */
static Run merged(Graph *g, Run a, Run b)
{
    if (!a.n || !b.n)
        return a.n ? a : b;
    Run out = { .at = ARENA_NEW_ARRAY(g->arena, ExprId, a.n + b.n) };
    if (a.n == 1 && b.n == 1) {
        out.at[out.n++] = least(g, a.at[0], b.at[0]);
        out.at[out.n++] = greatest(g, a.at[0], b.at[0]);
        return out;
    }
    Run even = merged(g, every_second(g, a, 0), every_second(g, b, 0));
    Run odd = merged(g, every_second(g, a, 1), every_second(g, b, 1));
    out.at[out.n++] = even.at[0];
    for (uint32_t i = 0; i < odd.n || i + 1 < even.n; i++) {
        if (i >= odd.n) {
            out.at[out.n++] = even.at[i + 1];
        } else if (i + 1 >= even.n) {
            out.at[out.n++] = odd.at[i];
        } else {
            out.at[out.n++] = least(g, odd.at[i], even.at[i + 1]);
            out.at[out.n++] = greatest(g, odd.at[i], even.at[i + 1]);
        }
    }
    return out;
}

/* The largest power of two less than n: whatever stands at the front of a list is grouped as windows above and below
 * group it. */
static uint32_t front(uint32_t n)
{
    uint32_t p = 1;
    while (2 * p < n)
        p *= 2;
    return p;
}

static Run sorted(Graph *g, Run r)
{
    if (r.n < 2)
        return r;
    uint32_t n = front(r.n);
    Run first = { n, r.at }, second = { r.n - n, r.at + n };
    return merged(g, sorted(g, first), sorted(g, second));
}

static Run sorted_runs(Graph *g, const Run *run, uint32_t n)
{
    if (n == 1)
        return sorted(g, run[0]);
    uint32_t p = front(n);
    return merged(g, sorted_runs(g, run, p), sorted_runs(g, run + p, n - p));
}

/* The element `rank` of two runs in order: the first of both that has rank + 1 elements up to it. */
static ExprId select_of(Graph *g, Run a, Run b, uint32_t rank)
{
    ExprId found = none;
    for (uint32_t of_b = 0; of_b <= b.n && of_b <= rank + 1; of_b++) {
        uint32_t of_a = rank + 1 - of_b;
        if (of_a > a.n)
            continue;
        ExprId last = !of_b   ? a.at[of_a - 1]
                      : !of_a ? b.at[of_b - 1]
                              : greatest(g, a.at[of_a - 1], b.at[of_b - 1]);
        found = found.v ? least(g, found, last) : last;
    }
    return found;
}

static ExprId middle(Graph *g, const Values *v)
{
    Run a, b;
    if (v->n_runs == 1) {
        uint32_t n = v->n / 2;
        a = sorted(g, (Run){ v->n - n, v->run[0].at });
        b = sorted(g, (Run){ n, v->run[0].at + v->n - n });
    } else {
        uint32_t p = front(v->n_runs);
        a = sorted_runs(g, v->run, p);
        b = sorted_runs(g, v->run + p, v->n_runs - p);
    }
    return select_of(g, a, b, v->n / 2);
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
    ExprId *value = ARENA_NEW_ARRAY(g->arena, ExprId, MAX_VALUES);
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
        value[v->n] = tessi_subst_at(g, e->arg[0], point);
        if (tessi_is_real(e->type))
            value[v->n] = tessi_expr_op(g, OP_ORDER, value[v->n], none, none);
        v->n++;
    } while (tessi_window_step(w, point));
    return (uint64_t)nodes * v->n <= MAX_NODES;
}

static uint32_t count_comparisons(ExprWalk *walk, const Graph *g, const ExprId *roots, uint32_t n)
{
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
        form.network = count_comparisons(&m->walk, g, &result, 1)
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
