/* The algebra of reads: distances and reaches of accesses. */
#include "graph/access.h"

bool tessi_access_follows(const AccessDim *dim, int d)
{
    return !dim->absolute && dim->src == d && dim->scale == 1;
}

bool tessi_access_span(const Graph *g, const AccessDim *dim, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int t = 0; t < dim->n_terms; t++) {
        const AccessTerm *term = &dim->term[t];
        const Window *w = tessi_window(g, term->window);
        const int64_t a = (int64_t)w->lo[term->var] * term->coef;
        const int64_t b = (int64_t)w->hi[term->var] * term->coef;
        if (!tessi_add_i64(*lo, a < b ? a : b, lo) || !tessi_add_i64(*hi, a < b ? b : a, hi))
            return false;
    }
    return true;
}

bool tessi_access_reach(const Graph *g, const AccessDim *dim, int d, int64_t *lo, int64_t *hi)
{
    int64_t add;
    return tessi_access_follows(dim, d) && tessi_size_is_const(g, dim->add, &add)
           && tessi_access_span(g, dim, lo, hi) && tessi_add_i64(*lo, add, lo)
           && tessi_add_i64(*hi, add, hi);
}

bool tessi_access_distance(const Graph *g, const AccessDim *dim, int d, int64_t *distance)
{
    return tessi_access_follows(dim, d) && !dim->n_terms
           && tessi_size_is_const(g, dim->add, distance);
}

bool tessi_access_distances(const Graph *g, const Access *a, const int32_t *point,
                            int64_t distance[MAX_DIMS])
{
    for (int d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        if (!tessi_access_follows(dim, d) || !tessi_size_is_const(g, dim->add, &distance[d])
            || (dim->n_terms && !point))
            return false;
        for (int t = 0; t < dim->n_terms; t++)
            distance[d] += (int64_t)dim->term[t].coef * point[dim->term[t].var];
    }
    return true;
}

bool tessi_access_is_at_point(const Graph *g, const Access *a)
{
    int64_t distance[MAX_DIMS] = { 0 };
    bool own = tessi_access_distances(g, a, NULL, distance);
    for (int d = 0; d < a->n_dims; d++)
        own = own && distance[d] == 0;
    return own;
}

bool tessi_access_moves(const Access *a)
{
    for (int d = 0; d < a->n_dims; d++)
        if (!a->dim[d].absolute && a->dim[d].src >= 0)
            return true;
    return false;
}

bool tessi_access_is_fixed(const Access *a)
{
    for (int d = 0; d < a->n_dims; d++)
        if (a->dim[d].absolute || a->dim[d].src >= 0)
            return false;
    return true;
}

bool tessi_access_moves_by_point_only(const Access *a)
{
    for (int d = 0; d < a->n_dims; d++)
        if (a->dim[d].absolute || a->dim[d].n_terms)
            return false;
    return tessi_access_moves(a);
}
