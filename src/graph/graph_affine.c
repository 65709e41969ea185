/* Computed indices that are affine after all: m[i + 2] inside a window over i is an access that analyses understand. */
#include "graph/graph_affine.h"

enum { MAX_DEPTH = 16 };
static const int64_t max_extent = INT64_C(1) << 30; /* bind_sizes allows no larger one */

typedef struct Linear {
    const Graph *g;
    int64_t constant, scale; /* scale * x[src] */
    int src;                 /* -1 = none yet */
    int64_t size_coef;       /* of one extent; 0 = none yet */
    SizeId size;
    uint32_t n_terms;
    WindowId window[MAX_ACCESS_TERMS];
    uint8_t var[MAX_ACCESS_TERMS];
    int64_t coef[MAX_ACCESS_TERMS];
} Linear;

static bool add_point(Linear *l, uint32_t dim, int64_t factor)
{
    if (l->src >= 0 && l->src != (int)dim)
        return false;
    l->src = (int)dim;
    return tessi_add_i64(l->scale, factor, &l->scale);
}

static bool add_winvar(Linear *l, const Expr *e, int64_t factor)
{
    uint32_t k = 0;
    while (k < l->n_terms && (l->window[k].v != e->window.v || l->var[k] != e->ref))
        k++;
    if (k == MAX_ACCESS_TERMS)
        return false;
    if (k == l->n_terms) {
        l->window[k] = e->window;
        l->var[k] = (uint8_t)e->ref;
        l->coef[l->n_terms++] = 0;
    }
    return tessi_add_i64(l->coef[k], factor, &l->coef[k]);
}

static bool is_extent(const Graph *g, SizeId size)
{
    for (uint32_t i = 1; i < g->stages.n; i++)
        for (int d = 0; d < g->stages.at[i].n_dims; d++)
            if (g->stages.at[i].size[d].v == size.v)
                return true;
    return false;
}

static bool add_extent(Linear *l, SizeId size, int64_t factor)
{
    if (!is_extent(l->g, size) || (l->size_coef && l->size.v != size.v))
        return false;
    l->size = size;
    return tessi_add_i64(l->size_coef, factor, &l->size_coef);
}

/* Adds factor * id; false when it is not linear. */
static bool add_linear(Linear *l, ExprId id, int64_t factor, int depth)
{
    const Expr *e = tessi_expr(l->g, id);
    int64_t part;
    Value v;
    if (e->type != TYPE_I32 || depth > MAX_DEPTH)
        return false;
    switch (e->kind) {
    case EXPR_CONST:
        return tessi_mul_i64(e->value.i, factor, &part)
               && tessi_add_i64(l->constant, part, &l->constant);
    case EXPR_INDEX: return add_point(l, e->ref, factor);
    case EXPR_WINVAR: return add_winvar(l, e, factor);
    case EXPR_SIZE: return add_extent(l, e->size, factor);
    case EXPR_OP: break;
    default: return false;
    }
    switch (e->op) {
    case OP_NEG: return factor > INT64_MIN && add_linear(l, e->arg[0], -factor, depth + 1);
    case OP_ADD:
        return add_linear(l, e->arg[0], factor, depth + 1)
               && add_linear(l, e->arg[1], factor, depth + 1);
    case OP_SUB:
        return factor > INT64_MIN && add_linear(l, e->arg[0], factor, depth + 1)
               && add_linear(l, e->arg[1], -factor, depth + 1);
    case OP_MUL:
        for (int k = 0; k < 2; k++)
            if (tessi_expr_is_const(l->g, e->arg[k], &v))
                return tessi_mul_i64(v.i, factor, &part)
                       && add_linear(l, e->arg[1 - k], part, depth + 1);
        return false;
    default: return false;
    }
}

/* int32 arithmetic wraps, indices do not: they agree when the result cannot leave the range (what wraps in between
 * wraps back). */
static bool cannot_wrap(const Linear *l)
{
    Interval sum = { l->constant, l->constant };
    if (l->scale)
        sum = tessi_interval_add(sum, tessi_interval_mul((Interval){ l->scale, l->scale },
                                                         (Interval){ 0, max_extent - 1 }));
    if (l->size_coef)
        sum = tessi_interval_add(sum, tessi_interval_mul((Interval){ l->size_coef, l->size_coef },
                                                         (Interval){ 1, max_extent }));
    for (uint32_t k = 0; k < l->n_terms; k++) {
        const Window *w = tessi_window(l->g, l->window[k]);
        Interval var = { w->lo[l->var[k]], w->hi[l->var[k]] }, coef = { l->coef[k], l->coef[k] };
        sum = tessi_interval_add(sum, tessi_interval_mul(coef, var));
    }
    return sum.lo >= INT32_MIN && sum.hi <= INT32_MAX;
}

bool tessi_affine_index(Graph *g, ExprId index, AccessDim *d)
{
    Linear l = { .g = g, .src = -1 };
    if (!add_linear(&l, index, 1, 0) || !cannot_wrap(&l))
        return false;
    for (uint32_t k = 0; k < l.n_terms; k++)
        if (l.coef[k] < -INT32_MAX || l.coef[k] > INT32_MAX)
            return false;
    d->absolute = false;
    d->index = (ExprId){ 0 };
    d->src = (int8_t)(l.scale ? l.src : -1);
    d->scale = (int32_t)l.scale;
    d->add = tessi_size_const(g, l.constant);
    if (l.size_coef)
        d->add = tessi_size_add(g, d->add, tessi_size_scale(g, l.size, l.size_coef));
    d->n_terms = (uint8_t)l.n_terms;
    for (uint32_t k = 0; k < l.n_terms; k++)
        d->term[k] = (AccessTerm){ l.window[k], l.var[k], (int32_t)l.coef[k] };
    return true;
}
