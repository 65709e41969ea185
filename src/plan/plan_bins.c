/* Prices of histograms and of reductions by keys on GPUs. Counts, and sums of narrow integers, are made in any order,
 * by additions to tables in shared memory. Others keep the order of docs/internals/reductions.md: a block goes through
 * a part of the image for as many bins as it has threads. */
#include <math.h>

#include "graph/graph_fold.h"
#include "plan/bins.h"

int64_t tessi_plan_summed_bins(const Graph *g, const Analysis *an, StageId id)
{
    const Stage *s = tessi_stage(g, id);
    int64_t bins;
    if (!s->keys.v || s->n_states || (s->reduction != REDUCE_SUM && s->reduction != REDUCE_COUNT)
        || !tessi_size_is_const(g, s->size[0], &bins) || bins > PLAN_SUMMED_BINS)
        return 0;
    if (s->reduction == REDUCE_COUNT)
        return bins;
    const Interval i = an->stage_range[s->source.v].i;
    const bool whole = !tessi_is_real(tessi_stage(g, s->source)->type);
    return whole && i.lo >= -PLAN_SUMMED_VALUE && i.hi <= PLAN_SUMMED_VALUE ? bins : 0;
}

/* Each warp asks each point of a part whether it is of its bins. */
static double keyed_seconds(const Machine *m, const Size *size)
{
    enum { SCHEDULERS = 4 };
    const bool known = size->kind == SIZE_OF_AFFINE && !size->n_terms;
    const double bins = known ? (double)size->constant : SCHEDULERS * PLAN_WARP;
    const double parts = bins > MAX_PARTED_BINS ? 1 : BIN_PARTS;
    const double warps = ceil(bins / PLAN_WARP) * parts;
    const double busy = warps / SCHEDULERS / fmax(parts, (double)m->cores);
    return fmax(m->key_cycles * busy, m->key_wait_cycles) / (parts * m->ghz * 1e9);
}

double tessi_plan_bin_seconds(const Graph *g, const Analysis *an, const Machine *m, StageId id)
{
    const Stage *s = tessi_stage(g, id);
    int64_t bins;
    if (s->keys.v && !tessi_plan_summed_bins(g, an, id))
        return keyed_seconds(m, tessi_size(g, s->size[0]));
    const bool shared =
        s->keys.v || (tessi_size_is_const(g, s->size[0], &bins) && bins < PLAN_SHARED_COUNTS);
    return (shared ? m->count_shared_ns : m->count_ns) * 1e-9;
}
