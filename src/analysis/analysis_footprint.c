/* Footprints: for each pair of consumer and producer the hull of all reads. */
#include "analysis/analysis.h"
#include "graph/graph_walk.h"

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
        f.dim[d] = tessi_access_range(an->g, &x->dim[d]);
    Footprint *all = find_or_add(an, a, first, &f);
    for (uint32_t d = 0; d < x->n_dims; d++)
        tessi_range_join(&all->dim[d], &f.dim[d]);
    all->n_accesses++;
}

void tessi_analyse_footprints(Analysis *an, Arena *a)
{
    const Graph *g = an->g;
    ExprWalk walk = { .arena = a };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        uint32_t first = an->footprints.n;
        if (tessi_stage_is_whole(s)) {
            Footprint f = { .consumer = id, .producer = s->source, .n_accesses = 1 };
            f.n_dims = tessi_stage(g, s->source)->n_dims;
            for (int d = 0; d < f.n_dims; d++) {
                const int own = d == s->along - 1 ? -1 : tessi_stage_from_source(s, d);
                f.dim[d] = own < 0 ? (AccessRange){ .dynamic = true, .src = -1 }
                                   : tessi_range_of_point((uint8_t)own);
            }
            VEC_PUSH(a, &an->footprints, f);
            f.producer = s->keys;
            if (s->keys.v)
                VEC_PUSH(a, &an->footprints, f);
        }
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            VEC_FOREACH (const ExprId, e, list)
                if (tessi_expr(g, *e)->kind == EXPR_LOAD)
                    add_access(an, a, first, id, tessi_access(g, tessi_expr(g, *e)->access));
        }
    }
}

const Footprint *tessi_footprints_of(const Analysis *an, StageId consumer, uint32_t *n)
{
    uint32_t lo = 0, hi = an->footprints.n;
    while (lo < hi) { /* the first that is not of an earlier consumer */
        const uint32_t mid = lo + (hi - lo) / 2;
        if (an->footprints.at[mid].consumer.v < consumer.v)
            lo = mid + 1;
        else
            hi = mid;
    }
    *n = 0;
    while (lo + *n < an->footprints.n && an->footprints.at[lo + *n].consumer.v == consumer.v)
        ++*n;
    return *n ? &an->footprints.at[lo] : NULL;
}
