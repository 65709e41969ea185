/* Unrolling: sum(i = -1..1 : X@[i]) becomes X@[-1] + X + X@[1], in the order and with the starts that
 * docs/internals/reductions.md fixes, so that no bit changes. Medians and ranks stay: they are networks
 * later (analysis/pass_median.c). */
#include "graph/graph_fold.h"
#include "graph/graph_passes.h"
#include "graph/graph_rank.h"

typedef struct Unroll {
    Graph *g;
    ExprWalk walk;
    ExprMap
        ranks; /* those of windows that give an element of a rank, and of what counts for them */
    bool keeps_given; /* windows over masks that come with the run stay */
    bool changed;
} Unroll;

/* The constants of the taps' conditions decide who takes part; `varies` when they are known only at run time. */
typedef struct Taps {
    bool varies;
    uint32_t n;
    int32_t at[UNROLL_TAPS][MAX_WINDOW_VARS];
    ExprId where[UNROLL_TAPS];
} Taps;

static bool depends_on_data(Unroll *u, ExprId id)
{
    const ExprList *list = tessi_expr_walk(&u->walk, u->g, &id, 1);
    VEC_FOREACH (const ExprId, it, list) {
        ExprKind kind = tessi_expr(u->g, *it)->kind;
        if (kind == EXPR_LOAD || kind == EXPR_SCALAR || kind == EXPR_SIZE || kind == EXPR_INDEX)
            return true;
    }
    return false;
}

/* False when there are too many taps, or when a condition depends on an outer window that is not unrolled yet. */
static bool collect_taps(Unroll *u, const Expr *e, const Window *w, Taps *taps)
{
    int32_t point[MAX_WINDOW_VARS];
    int64_t n = tessi_window_points(w);
    if (n < 0 || n > 32 * UNROLL_TAPS)
        return false;
    taps->varies = e->n_args > 1 && depends_on_data(u, e->arg[1]);
    taps->n = 0;
    for (uint32_t k = 0; k < MAX_WINDOW_VARS; k++)
        point[k] = w->lo[k];
    do {
        Value condition = { .i = 1 };
        ExprId where = { 0 };
        if (e->n_args > 1)
            where = tessi_subst_at(u->g, e->arg[1], point);
        bool known = !where.v || tessi_expr_is_const(u->g, where, &condition);
        if (!known && !taps->varies)
            return false;
        if (known && !condition.i)
            continue;
        if (taps->n == UNROLL_TAPS)
            return false;
        for (uint32_t k = 0; k < MAX_WINDOW_VARS; k++)
            taps->at[taps->n][k] = point[k];
        taps->where[taps->n++] = known ? (ExprId){ 0 } : where;
    } while (tessi_window_step(w, point));
    return true;
}

static ExprId step(Graph *g, const Expr *e, ExprId acc, const int32_t *tap)
{
    if (e->fused) {
        const Expr *product = tessi_expr(g, e->arg[0]);
        ExprId x = tessi_subst_at(g, product->arg[0], tap);
        ExprId y = tessi_subst_at(g, product->arg[1], tap);
        return tessi_expr_op(g, OP_FMA, x, y, acc);
    }
    ExprId value = tessi_subst_at(g, e->arg[0], tap);
    return tessi_expr_op(g, tessi_reduction_op(e->reduction), acc, value, (ExprId){ 0 });
}

static ExprId unroll(Unroll *u, const Expr *e, const Taps *taps)
{
    Graph *g = u->g;
    if (taps->varies) {
        ExprId acc = tessi_expr_const(g, e->type, tessi_reduction_identity(e->reduction, e->type));
        for (uint32_t k = 0; k < taps->n; k++) {
            ExprId next = step(g, e, acc, taps->at[k]);
            ExprId where = taps->where[k];
            acc = where.v ? tessi_expr_op(g, OP_SELECT, where, next, acc) : next;
        }
        return acc;
    }
    if (!taps->n)
        return tessi_expr_const(g, e->type, tessi_reduction_identity(e->reduction, e->type));
    ExprId acc = tessi_subst_at(g, e->arg[0], taps->at[0]);
    for (uint32_t k = 1; k < taps->n; k++)
        acc = step(g, e, acc, taps->at[k]);
    return acc;
}

bool tessi_is_long_line(const Graph *g, WindowId window, Reduction r, ScalarType t, uint32_t taps)
{
    const Window *w = tessi_window(g, window);
    uint32_t wide = 0;
    for (int k = 0; k < w->n_vars; k++)
        wide += w->hi[k] > w->lo[k];
    return wide == 1 && r == REDUCE_SUM && tessi_is_real(t) && taps > LINE_TAPS;
}

bool tessi_is_given_window(const Graph *g, ExprWalk *walk, const Expr *window)
{
    const ExprList *list = tessi_expr_walk(walk, g, window->arg, window->n_args);
    bool reads = false;
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *load = tessi_expr(g, *it);
        if (load->kind != EXPR_LOAD)
            continue;
        const Stage *s = tessi_stage(g, tessi_access(g, load->access)->producer);
        reads = reads || (s->kind == STAGE_INPUT && g->inputs.at[s->image].is_mask);
    }
    return reads && tessi_window_points(tessi_window(g, window->window)) != 1;
}

static ExprId unroll_window(Unroll *u, ExprId id)
{
    Graph *g = u->g;
    const Expr e = *tessi_expr(g, id);
    const Window w = *tessi_window(g, e.window);
    Taps taps;
    if (e.reduction == REDUCE_MEDIAN || tessi_expr_request(g, &e).method == METHOD_FFT)
        return id;
    if (u->keeps_given && tessi_is_given_window(g, &u->walk, &e))
        return id;
    ExprId roots[4] = { e.arg[0], e.arg[1] };
    uint32_t n_roots = e.n_args;
    if (e.fused) {
        const Expr *product = tessi_expr(g, e.arg[0]);
        roots[n_roots++] = product->arg[0];
        roots[n_roots++] = product->arg[1];
    }
    uint32_t nodes = tessi_subst_begin(g, roots, n_roots, e.window);
    if (!collect_taps(u, &e, &w, &taps) || (uint64_t)nodes * taps.n > UNROLL_NODES
        || tessi_is_long_line(g, e.window, e.reduction, e.type, taps.n))
        return id;
    u->changed = true;
    return unroll(u, &e, &taps);
}

/* Written out, a rank of n values would be n * n comparisons; it becomes a network later, as medians do. */
static void find_ranks(Unroll *u)
{
    Graph *g = u->g;
    ExprWalk walk = { .arena = g->arena };
    u->ranks.arena = g->arena;
    tessi_expr_map_clear(&u->ranks);
    GRAPH_FOREACH_STAGE (g, id)
        for (uint32_t k = 0; k < tessi_stage(g, id)->pieces.n; k++) {
            const ExprId body = tessi_stage(g, id)->pieces.at[k].body;
            const ExprList *list = tessi_expr_walk(&walk, g, &body, 1);
            VEC_FOREACH (const ExprId, it, list) {
                const ExprId at = *it;
                Ranked ranked;
                if (tessi_expr(g, at)->reduction != REDUCE_MIN
                    || !tessi_graph_ranked(g, tessi_expr(g, at), &ranked))
                    continue;
                tessi_expr_map_set(&u->ranks, at, at);
                tessi_expr_map_set(&u->ranks, ranked.count, ranked.count);
            }
        }
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Unroll *u = r->user;
    const bool ranks = tessi_expr_map_get(&u->ranks, id).v != 0;
    ExprId rebuilt = tessi_rewrite_rebuild(r, e);
    if (ranks || tessi_expr(r->to, rebuilt)->kind != EXPR_WINDOW)
        return rebuilt;
    return unroll_window(u, rebuilt);
}

/* Inner windows come first; unrolling an outer one may make the condition of an inner one known, hence the rounds. */
void tessi_pass_unroll(Graph *g, bool keeps_given)
{
    for (int round = 0; round < MAX_WINDOW_LEVELS; round++) {
        Unroll u = { .g = g, .walk = { .arena = g->arena }, .keeps_given = keeps_given };
        Rewrite r;
        find_ranks(&u);
        tessi_rewrite_init(&r, g, g, g->arena);
        r.change = change;
        r.user = &u;
        tessi_rewrite_bodies(g, &r);
        if (!u.changed)
            return;
    }
}
