/* Which sums are of products of bytes with small whole weights: the body of the window is taken apart at each of its
 * points, down to the pixels and what they are multiplied with. */
#include "graph/graph_product.h"

#include <limits.h>
#include <math.h>

#include "base/product.h"
#include "graph/access.h"
#include "graph/graph_eval.h"
#include "graph/graph_transform.h"

enum { SIDE = 2 * MOST_PRODUCT_SIDE, MOST_POINTS = 1 << 13, MOST_VISITS = 1 << 20, WARP = 32 };

typedef struct Terms {
    const Graph *g;
    ExprWalk *walk;
    PointEval point;
    const Region **region; /* by expression, of those without data */
    const Window *window;
    AccessId read;
    double *weight; /* of SIDE rows and columns, the point itself in the middle */
    int32_t lo[2], hi[2];
    double most; /* sum of all |weight| */
    bool raised; /* some term is never -0 */
    bool any;
    uint32_t visits; /* of expressions, which may share parts again and again */
} Terms;

static bool constant(Terms *t, ExprId id, double *value)
{
    if (t->point.deps[id.v].data || t->point.deps[id.v].point)
        return false;
    if (!t->region[id.v]) {
        Region *r = ARENA_NEW(t->walk->arena, Region);
        *r = tessi_point_region(&t->point, t->walk->arena, t->walk, id);
        t->region[id.v] = r;
    }
    if (!tessi_point_eval(&t->point, t->region[id.v]))
        return false;
    const Value v = t->point.value[id.v];
    *value = tessi_is_real(tessi_expr(t->g, id)->type) ? v.f : (double)v.i;
    return true;
}

/* Of the same image, at distances that differ by constants. */
static bool same_read(const Terms *t, const Access *a)
{
    const Access *b = tessi_access(t->g, t->read);
    bool same = a->producer.v == b->producer.v && a->outside.v == b->outside.v;
    for (uint8_t d = 0; d < a->n_dims; d++)
        same = same && a->dim[d].rule == b->dim[d].rule && a->dim[d].add.v == b->dim[d].add.v;
    return same;
}

static bool add_pixel(Terms *t, AccessId id, double weight)
{
    const Access *a = tessi_access(t->g, id);
    int64_t at[2] = { 0 };
    if (a->n_dims != 2)
        return false;
    t->read = t->any ? t->read : id;
    if (!same_read(t, a))
        return false;
    for (int d = 0; d < 2; d++) {
        if (!tessi_access_follows(&a->dim[d], d))
            return false;
        for (uint8_t i = 0; i < a->dim[d].n_terms; i++) {
            const AccessTerm *term = &a->dim[d].term[i];
            const Window *w = tessi_window(t->g, term->window);
            at[d] += (int64_t)term->coef * t->point.window[w->level][term->var];
        }
        if (at[d] < -SIDE / 2 || at[d] >= SIDE / 2)
            return false;
        t->lo[d] = t->any && t->lo[d] < at[d] ? t->lo[d] : (int32_t)at[d];
        t->hi[d] = t->any && t->hi[d] > at[d] ? t->hi[d] : (int32_t)at[d];
    }
    t->weight[(at[0] + SIDE / 2) * SIDE + at[1] + SIDE / 2] += weight;
    t->any = true;
    return true;
}

/* What is known of the value of an expression: of how much it is at most, where pixels are 255; and, of reals, that it
 * is never -0. */
typedef struct Bound {
    double most;
    bool raised;
} Bound;

/* Adds the pixels of an expression, times `by`. False where it is no sum of pixels times constants, or where its type
 * may not hold it. */
static bool add_pixels(Terms *t, ExprId id, double by, Bound *is)
{
    const Expr *e = tessi_expr(t->g, id);
    double c;
    bool good = false;
    if (e->type == TYPE_F16 || ++t->visits > MOST_VISITS)
        return false;
    *is = (Bound){ UINT8_MAX, true };
    if (e->kind == EXPR_LOAD)
        return add_pixel(t, e->access, by);
    if (e->kind == EXPR_CAST) {
        good = add_pixels(t, e->arg[0], by, is);
    } else if (e->kind == EXPR_OP && e->op == OP_MUL) {
        const int k = constant(t, e->arg[0], &c) ? 1 : 0;
        good = (k || constant(t, e->arg[1], &c)) && isfinite(c)
               && add_pixels(t, e->arg[k], by * c, is);
        *is = (Bound){ is->most * fabs(c), is->raised && c > 0 };
    } else if (e->kind == EXPR_OP && (e->op == OP_ADD || e->op == OP_SUB)) {
        /* A difference is -0 as -0 - 0 alone, a sum as -0 + -0. */
        const bool less = e->op == OP_SUB;
        Bound other = { 0 };
        good =
            add_pixels(t, e->arg[0], by, is) && add_pixels(t, e->arg[1], less ? -by : by, &other);
        *is = (Bound){ is->most + other.most, is->raised || (!less && other.raised) };
    }
    if (tessi_is_real(e->type))
        return good;
    const Interval range = tessi_type_range(e->type);
    return good && is->most <= (double)range.hi
           && (range.lo < 0 || e->op != OP_SUB || e->kind != EXPR_OP);
}

static bool add_points(Terms *t, const Expr *window, uint8_t var)
{
    const Window *w = t->window;
    int32_t *at = &t->point.window[w->level][var];
    if (var < w->n_vars) {
        for (*at = w->lo[var]; *at <= w->hi[var]; ++*at)
            if (!add_points(t, window, var + 1))
                return false;
        return true;
    }
    double in = 1;
    Bound term;
    if (window->n_args > 1 && !constant(t, window->arg[1], &in))
        return false;
    if (in == 0)
        return true;
    if (!add_pixels(t, window->arg[0], 1, &term))
        return false;
    t->most += term.most;
    t->raised = t->raised || term.raised;
    return true;
}

/* The largest power of two of which all weights are multiples. */
static bool find_exponent(const Terms *t, int *exponent)
{
    int least = INT_MAX;
    for (int i = 0; i < SIDE * SIDE; i++)
        least = tessi_power_in(t->weight[i]) < least ? tessi_power_in(t->weight[i]) : least;
    *exponent = least == INT_MAX ? 0 : least;
    return *exponent > -64 && *exponent < 32;
}

static bool take_weights(const Terms *t, bool real, ByteProduct *out)
{
    if (real && !find_exponent(t, &out->exponent))
        return false;
    for (int d = 0; d < 2; d++)
        out->first[d] = t->lo[d];
    out->rows = (uint32_t)(t->hi[0] - t->lo[0]) + 1;
    out->cols = (uint32_t)(t->hi[1] - t->lo[1]) + 1;
    if (out->rows > MOST_PRODUCT_SIDE || out->cols > MOST_PRODUCT_SIDE)
        return false;
    int8_t *weight = ARENA_NEW_ARRAY(t->walk->arena, int8_t, (size_t)out->rows * out->cols);
    for (uint32_t i = 0; i < out->rows; i++)
        for (uint32_t j = 0; j < out->cols; j++) {
            const int32_t y = t->lo[0] + (int32_t)i + SIDE / 2,
                          x = t->lo[1] + (int32_t)j + SIDE / 2;
            const double w = ldexp(t->weight[y * SIDE + x], -out->exponent);
            if (w != floor(w) || fabs(w) > INT8_MAX)
                return false;
            weight[i * out->cols + j] = (int8_t)w;
        }
    out->weight = weight;
    return true;
}

/* All that the window reads are bytes: seldom so, and quickly asked. */
static bool reads_bytes(const Graph *g, ExprWalk *walk, const Expr *window)
{
    const ExprList *list = tessi_expr_walk(walk, g, window->arg, 1);
    bool any = false;
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *e = tessi_expr(g, *id);
        if (e->kind != EXPR_LOAD)
            continue;
        if (tessi_stage(g, tessi_access(g, e->access)->producer)->type != TYPE_U8)
            return false;
        any = true;
    }
    return any;
}

bool tessi_stage_byte_product(const Graph *g, ExprWalk *walk, const Stage *s, ByteProduct *out)
{
    *out = (ByteProduct){ .rows = 0 };
    out->window = s->n_dims == 2 ? tessi_stage_only_window(g, walk, s) : (ExprId){ 0 };
    if (!out->window.v)
        return false;
    const Expr *e = tessi_expr(g, out->window);
    const bool real = tessi_is_real(e->type);
    Terms t = { .g = g, .walk = walk, .window = tessi_window(g, e->window) };
    if (e->reduction != REDUCE_SUM || e->type == TYPE_F16 || e->type == TYPE_BOOL
        || (!real && tessi_type_info(e->type)->bytes > 4)
        || tessi_window_points(t.window) > MOST_POINTS || !reads_bytes(g, walk, e))
        return false;
    tessi_point_init(&t.point, g, walk->arena);
    t.region = ARENA_NEW_ARRAY(walk->arena, const Region *, g->exprs.n);
    t.weight = ARENA_NEW_ARRAY(walk->arena, double, SIDE *SIDE);
    if (!add_points(&t, e, 0) || !t.any || !take_weights(&t, real, out))
        return false;
    out->read = t.read;
    /* Reals are exact as far as whole numbers of as many bits go; a sum that is 0 is +0 where some term is never -0. */
    const double exact = e->type == TYPE_F32 ? 0x1p24 : INT32_MAX;
    return !real || (t.raised && ldexp(t.most, -out->exponent) < exact);
}

ProductTile tessi_product_tile(uint32_t mask_rows, uint32_t mask_columns, int64_t columns,
                               int64_t threads)
{
    enum { BANKS = 16, SHIFT = 8, APART = 8 };
    ProductTile t = { .rows = PRODUCT_BLOCK_ROWS + mask_rows - 1,
                      .wide = columns + mask_columns - 1,
                      .across = threads / WARP * PRODUCT_COLUMNS };
    t.apart = (t.rows + APART - 1) / APART;
    t.parts = (mask_columns + PRODUCT_COLUMNS - 1 + PRODUCT_BYTES - 1) / PRODUCT_BYTES;
    t.read = (columns - PRODUCT_COLUMNS) / 4 + t.parts * PRODUCT_WORDS;
    /* Half a warp reads 8 words of four rows at once, which are to lie in different banks; so does it store sums. */
    t.pitch = (t.read - SHIFT + BANKS - 1) / BANKS * BANKS + SHIFT;
    t.weights = mask_rows * t.parts * PRODUCT_COLUMNS * PRODUCT_WORDS;
    t.bytes = 4 * (APART * t.apart * t.pitch + t.weights + PRODUCT_BLOCK_ROWS * (t.across + SHIFT));
    return t;
}
