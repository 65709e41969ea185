/* Which sums can be taken by Fourier transforms, and what is fixed about these. */
#include "graph/graph_transform.h"

#include <math.h>

#include "graph/access.h"
#include "graph/graph_eval.h"

enum { MAX_COUNT = 65535 }; /* values that counters of 16 bits can count */

/* ---- What can be ----------------------------------------------------------------------------- */

/* The same at every point of the stage, and of windows around this one. */
static bool is_same_everywhere(const Graph *g, ExprWalk *walk, ExprId id, WindowId w)
{
    const ExprList *list = tessi_expr_walk(walk, g, &id, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *e = tessi_expr(g, *it);
        if (e->kind == EXPR_INDEX || e->kind == EXPR_WINDOW
            || (e->kind == EXPR_WINVAR && e->window.v != w.v))
            return false;
        const Access *a = e->kind == EXPR_LOAD ? tessi_access(g, e->access) : NULL;
        if (a && tessi_access_moves(a))
            return false;
    }
    return true;
}

/* X[y + i, x + j] of a plane, possibly cast. */
static bool is_tap(const Graph *g, ExprId id, WindowId w, AccessId *read)
{
    const Expr *e = tessi_expr(g, id);
    if (e->kind == EXPR_CAST)
        e = tessi_expr(g, e->arg[0]);
    if (e->kind != EXPR_LOAD)
        return false;
    const Access *a = tessi_access(g, e->access);
    *read = e->access;
    for (uint8_t d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        if (!tessi_access_follows(dim, d) || dim->n_terms != 1 || dim->term[0].window.v != w.v
            || dim->term[0].var != d || dim->term[0].coef != 1)
            return false;
    }
    return a->n_dims == 2;
}

bool tessi_wide_sum(const Graph *g, ExprWalk *walk, uint8_t n_dims, ExprId window, WideSum *out,
                    const char **why)
{
    const Expr *e = tessi_expr(g, window), *body = tessi_expr(g, e->arg[0]);
    const Window *w = tessi_window(g, e->window);
    const char *ignored;
    why = why ? why : &ignored;
    *out = (WideSum){ .window = window };
    if (e->n_args > 1)
        out->where = e->arg[1];
    *why = "only sums of reals are";
    if (e->kind != EXPR_WINDOW || e->reduction != REDUCE_SUM || !tessi_is_real(e->type))
        return false;
    *why = "only masks of two dimensions on images of two are";
    if (n_dims != 2 || w->n_vars != 2)
        return false;
    *why = "the mask has too many rows";
    const int64_t rows = (int64_t)w->hi[0] - w->lo[0] + 1, cols = (int64_t)w->hi[1] - w->lo[1] + 1;
    if (rows < 1 || cols < 1 || rows > MOST_TRANSFORM / 2)
        return false;
    out->rows = (uint32_t)rows;
    out->cols = (uint32_t)cols;
    *why = "its terms are not weights times what is read at the places of the mask";
    if (body->kind != EXPR_OP || body->op != OP_MUL)
        return false;
    const uint32_t second = is_tap(g, body->arg[1], e->window, &out->read);
    if (!second && !is_tap(g, body->arg[0], e->window, &out->read))
        return false;
    out->value = body->arg[second];
    out->weight = body->arg[!second];
    return is_same_everywhere(g, walk, out->weight, e->window)
           && (!out->where.v || is_same_everywhere(g, walk, out->where, e->window));
}

ExprId tessi_stage_only_window(const Graph *g, ExprWalk *walk, const Stage *s)
{
    ExprId found = { 0 };
    if (!tessi_stage_is_plain(g, s))
        return found;
    const ExprList *list = tessi_expr_walk(walk, g, &s->pieces.at[0].body, 1);
    VEC_FOREACH (const ExprId, id, list) {
        if (tessi_expr(g, *id)->kind != EXPR_WINDOW)
            continue;
        if (found.v)
            return (ExprId){ 0 };
        found = *id;
    }
    return found;
}

bool tessi_stage_wide_sum(const Graph *g, ExprWalk *walk, const Stage *s, WideSum *out, bool *must)
{
    const ExprId window = tessi_stage_only_window(g, walk, s);
    *must = false;
    if (!window.v)
        return false;
    const Method asked = tessi_expr_request(g, tessi_expr(g, window)).method;
    const bool may = asked == METHOD_FFT || (asked == METHOD_AUTO && g->fp == FP_FAST);
    WideSum sum;
    if (!may || !tessi_wide_sum(g, walk, s->n_dims, window, &sum, NULL))
        return false;
    *out = sum;
    *must = asked == METHOD_FFT;
    return true;
}

/* The points of a window of two variables where a condition on these holds, as runs. */
static bool find_runs(const Graph *g, ExprWalk *walk, const Window *w, ExprId where,
                      WideMedian *out)
{
    const ExprList *list = tessi_expr_walk(walk, g, &where, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const ExprKind kind = tessi_expr(g, *it)->kind;
        if (kind == EXPR_LOAD || kind == EXPR_SCALAR || kind == EXPR_SIZE || kind == EXPR_INDEX
            || kind == EXPR_WINDOW)
            return false;
    }
    PointEval p;
    VEC(WindowRun) runs = { 0 };
    tessi_point_init(&p, g, walk->arena);
    const Region region = tessi_point_region(&p, walk->arena, walk, where);
    for (uint32_t i = 0; i < out->rows; i++) {
        WindowRun run = { .row = i };
        for (uint32_t j = 0; j <= out->cols; j++) {
            p.window[w->level][0] = w->lo[0] + (int32_t)i;
            p.window[w->level][1] = w->lo[1] + (int32_t)j;
            if (j < out->cols && !tessi_point_eval(&p, &region))
                return false;
            const bool in = j < out->cols && p.value[where.v].i;
            out->points += in;
            if (in && run.from == run.to)
                run.from = j;
            run.to = in ? j + 1 : run.to;
            if (in || run.from == run.to)
                continue;
            VEC_PUSH(walk->arena, &runs, run);
            run.from = run.to;
        }
    }
    out->run = runs.at;
    out->n_runs = runs.n;
    return out->points > 0;
}

bool tessi_stage_wide_median(const Graph *g, ExprWalk *walk, const Stage *s, WideMedian *out)
{
    const ExprId window = s->n_dims == 2 ? tessi_stage_only_window(g, walk, s) : (ExprId){ 0 };
    *out = (WideMedian){ .rows = 0 };
    if (!window.v)
        return false;
    const Expr *e = tessi_expr(g, window);
    const Window *w = tessi_window(g, e->window);
    if (e->reduction != REDUCE_MEDIAN || e->type == TYPE_BOOL || e->type == TYPE_U64
        || w->n_vars != 2 || tessi_window_points(w) > MAX_COUNT
        || !is_tap(g, e->arg[0], e->window, &out->read))
        return false;
    out->window = window;
    out->value = e->arg[0];
    out->rows = (uint32_t)(w->hi[0] - w->lo[0] + 1);
    out->cols = (uint32_t)(w->hi[1] - w->lo[1] + 1);
    out->key = e->type == TYPE_F32 ? TYPE_I32 : e->type == TYPE_F64 ? TYPE_I64 : e->type;
    if (e->n_args > 1)
        return find_runs(g, walk, w, e->arg[1], out);
    out->points = out->rows * out->cols;
    return true;
}

/* ---- What is fixed --------------------------------------------------------------------------- */

uint32_t tessi_transform_radices(uint32_t n, uint32_t radix[MAX_RADICES])
{
    uint32_t count = 0, fours = n == 32 || n == 256 ? 1 : n == 128 || n == 1024 ? 2 : 0;
    while (n > (fours == 2 ? 16u : fours == 1 ? 4u : 1u)) {
        radix[count++] = 8;
        n /= 8;
    }
    while (fours--)
        radix[count++] = 4;
    return count;
}

uint32_t tessi_transform_frequency(uint32_t n, uint32_t row)
{
    uint32_t radix[MAX_RADICES], count = tessi_transform_radices(n, radix), f = 0, step = 1;
    for (uint32_t k = 0; k < count; k++) {
        n /= radix[k];
        f += step * (row / n);
        row %= n;
        step *= radix[k];
    }
    return f;
}

/* From the first eighth of the circle, so that the wave is symmetric to the bit. */
double tessi_transform_sine(uint32_t n, uint32_t k)
{
    const double turn = 6.283185307179586477;
    const uint32_t quarter = n / 4, quarters = k / quarter % 4;
    const uint32_t at = quarters & 1 ? quarter - k % quarter : k % quarter;
    const double value = at > quarter / 2 ? cos(turn * (quarter - at) / n) : sin(turn * at / n);
    return at && quarters >= 2 ? -value : value;
}

double tessi_transform_half(ScalarType t)
{
    return t == TYPE_F64 ? 0.70710678118654752440 : (double)0.70710678118654752440f;
}

/* Both transforms are off by 7 units a level of radix 2 in the norm of a column (Higham, Accuracy and Stability of
 * Numerical Algorithms, section 24.1), the sums over L complex products by 3 L, the weights by 2; a column of two
 * blocks has a norm of at most sqrt(2 N) times the greatest value. */
double tessi_transform_error(ScalarType t, uint32_t n, uint32_t cols)
{
    const double unit = t == TYPE_F64 ? 0x1p-53 : 0x1p-24;
    const double norm = sqrt(2.0 * n), levels = log2((double)n);
    return 1.01 * norm * (14 * levels + 3.0 * cols + 2) * unit;
}
