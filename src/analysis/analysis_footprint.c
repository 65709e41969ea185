/* Footprints: for each pair of consumer and producer the hull of all reads. */
#include "analysis/analysis.h"
#include "graph/access.h"
#include "graph/graph_walk.h"

/* One access as a footprint. */
static FootprintDim dim_of(const Graph *g, const AccessDim *a)
{
    FootprintDim f = { .src = a->src, .scale = a->scale };
    if (a->absolute) {
        f.dynamic = true;
        return f;
    }
    if (a->src < 0)
        f.scale = 0;
    int64_t add;
    f.dynamic = !tessi_access_span(g, a, &f.lo, &f.hi);
    if (!tessi_size_is_const(g, a->add, &add))
        f.base = a->add;
    else if (!tessi_add_i64(f.lo, add, &f.lo) || !tessi_add_i64(f.hi, add, &f.hi))
        f.dynamic = true;
    return f;
}

static void join(FootprintDim *a, const FootprintDim *b)
{
    if (b->dynamic || a->src != b->src || a->scale != b->scale || a->base.v != b->base.v)
        a->dynamic = true;
    a->lo = b->lo < a->lo ? b->lo : a->lo;
    a->hi = b->hi > a->hi ? b->hi : a->hi;
}

/* The footprint of the pair, in producer order among those from `first` on. */
static Footprint *find_or_add(Analysis *an, Arena *a, uint32_t first, const Footprint *wanted)
{
    uint32_t at = first;
    while (at < an->footprints.n && an->footprints.at[at].producer.v < wanted->producer.v)
        at++;
    if (at < an->footprints.n && an->footprints.at[at].producer.v == wanted->producer.v)
        return &an->footprints.at[at];
    VEC_PUSH(a, &an->footprints, *wanted);
    for (uint32_t i = an->footprints.n - 1; i > at; i--)
        an->footprints.at[i] = an->footprints.at[i - 1];
    an->footprints.at[at] = *wanted;
    return &an->footprints.at[at];
}

static void add_access(Analysis *an, Arena *a, uint32_t first, StageId consumer, const Access *x)
{
    Footprint f = { .consumer = consumer, .producer = x->producer, .n_dims = x->n_dims };
    for (uint32_t d = 0; d < x->n_dims; d++)
        f.dim[d] = dim_of(an->g, &x->dim[d]);
    Footprint *all = find_or_add(an, a, first, &f);
    for (uint32_t d = 0; d < x->n_dims; d++)
        join(&all->dim[d], &f.dim[d]);
    all->n_accesses++;
}

void tessi_analyse_footprints(Analysis *an, Arena *a)
{
    const Graph *g = an->g;
    ExprWalk walk = { .arena = a };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        uint32_t first = an->footprints.n;
        if (s->kind == STAGE_REDUCE || s->kind == STAGE_HISTOGRAM) {
            Footprint f = { .consumer = id, .producer = s->source, .n_accesses = 1 };
            f.n_dims = tessi_stage(g, s->source)->n_dims;
            for (uint32_t d = 0; d < f.n_dims; d++)
                f.dim[d] = (FootprintDim){ .dynamic = true, .src = -1 };
            VEC_PUSH(a, &an->footprints, f);
            continue;
        }
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            VEC_FOREACH (const ExprId, e, list)
                if (tessi_expr(g, *e)->kind == EXPR_LOAD)
                    add_access(an, a, first, id, tessi_access(g, tessi_expr(g, *e)->access));
        }
    }
}
