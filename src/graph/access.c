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

bool tessi_access_moves_by_window(const Access *a)
{
    for (int d = 0; d < a->n_dims; d++)
        if (!a->dim[d].absolute && a->dim[d].src >= 0 && a->dim[d].n_terms)
            return true;
    return false;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

AccessRange tessi_access_range(const Graph *g, const AccessDim *dim)
{
    AccessRange r = { .src = dim->src, .scale = dim->src < 0 ? 0 : dim->scale };
    int64_t add;
    if (dim->absolute)
        return (AccessRange){ .dynamic = true, .src = dim->src, .scale = dim->scale };
    r.dynamic = !tessi_access_span(g, dim, &r.lo, &r.hi);
    if (!tessi_size_is_const(g, dim->add, &add))
        r.base = dim->add;
    else if (!tessi_add_i64(r.lo, add, &r.lo) || !tessi_add_i64(r.hi, add, &r.hi))
        r.dynamic = true;
    return r;
}

AccessRange tessi_range_of_point(uint8_t d)
{
    return (AccessRange){ .src = (int8_t)d, .scale = 1 };
}

void tessi_range_join(AccessRange *a, const AccessRange *b)
{
    if (b->dynamic || a->src != b->src || a->scale != b->scale || a->base.v != b->base.v)
        a->dynamic = true;
    a->lo = b->lo < a->lo ? b->lo : a->lo;
    a->hi = b->hi > a->hi ? b->hi : a->hi;
}

AccessRange tessi_range_compose(const AccessRange *reader, const AccessRange *read)
{
    AccessRange r = *read;
    if (read->dynamic || read->src < 0)
        return r;
    const AccessRange *at = &reader[read->src];
    const bool up = read->scale > 0;
    int64_t scale, lo, hi;
    r.src = at->src;
    r.base = at->base.v ? at->base : read->base;
    if (at->dynamic || (at->base.v && (read->base.v || read->scale != 1))
        || !tessi_mul_i64(at->scale, read->scale, &scale) || scale != (int32_t)scale
        || !tessi_mul_i64(up ? at->lo : at->hi, read->scale, &lo)
        || !tessi_mul_i64(up ? at->hi : at->lo, read->scale, &hi) || !tessi_add_i64(r.lo, lo, &r.lo)
        || !tessi_add_i64(r.hi, hi, &r.hi))
        r.dynamic = true;
    else
        r.scale = (int32_t)scale;
    return r;
}

bool tessi_range_follows(const AccessRange *r, int d)
{
    return !r->dynamic && r->src == d && r->scale == 1 && !r->base.v;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

AccessRules tessi_rules_none(void)
{
    AccessRules rules = { .mixed = false };
    for (int d = 0; d < MAX_DIMS; d++)
        rules.rule[d] = BORDER_INSIDE;
    return rules;
}

void tessi_rules_join(AccessRules *rules, const Access *a)
{
    for (int d = 0; d < a->n_dims; d++) {
        const Border rule = a->dim[d].rule;
        if (a->dim[d].absolute || rule == BORDER_INSIDE)
            continue;
        rules->mixed |= rules->rule[d] != BORDER_INSIDE && rules->rule[d] != rule;
        rules->rule[d] = rule;
    }
    if (!a->outside.v)
        return;
    rules->mixed |= rules->outside.v && rules->outside.v != a->outside.v;
    rules->outside = a->outside;
}

bool tessi_rules_answer(const AccessRules *rules, const Access *a)
{
    bool constant = false;
    for (int d = 0; d < a->n_dims; d++) {
        const Border rule = a->dim[d].rule;
        constant = constant || rule == BORDER_CONSTANT;
        if (rule != BORDER_INSIDE && rule != rules->rule[d])
            return false;
    }
    return !constant || a->outside.v == rules->outside.v;
}
