/* Kernels of tiles: how much of each pass a block computes. Threads compute whole patches of `outputs` points, so
 * that a pass goes on beyond what its readers need, and the passes before it as much further. */
#include "plan/plan_base.h"

void tessi_plan_extent(const PlanGroup *group, const PlanRegions *regions, uint32_t i,
                       PlanExtent *extent)
{
    const PlanPass *pass = &group->passes.at[i];
    const PlanRegion *region = &regions->at[pass->stages.at[0].v];
    const bool last = i + 1 == group->passes.n;
    const PlanRegion *next = last ? NULL : &regions->at[group->passes.at[i + 1].stages.at[0].v];
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(group->n_dims - 2 + k);
        const int64_t step = tessi_level_reach(&pass->levels, 1 - k),
                      far = region->hi[d] - region->lo[d];
        /* its readers need far beyond the tile; the pass after it goes on beyond what is needed of it */
        const int64_t n = last ? tessi_level_tile(group, d) + far
                               : extent[i + 1].n[k] - (next->hi[d] - next->lo[d]) + far;
        extent[i].lo[k] = region->lo[d];
        extent[i].n[k] = (n + step - 1) / step * step;
    }
}

void tessi_plan_extents(const PlanGroup *group, const PlanRegions *regions, PlanExtent *out)
{
    for (uint32_t i = group->passes.n; i-- > 0;)
        tessi_plan_extent(group, regions, i, out);
}

int64_t tessi_plan_shared_pitch(const Stage *s, const PlanExtent *extent)
{
    const int64_t vector = 16 / tessi_type_info(s->type)->bytes;
    return (extent->n[1] + vector - 1) / vector * vector;
}

void tessi_plan_add_bytes(int64_t *total, int64_t bytes, const int64_t *n, int dims)
{
    for (int d = 0; d < dims; d++)
        if (!tessi_mul_i64(bytes, n[d], &bytes))
            bytes = INT64_MAX;
    if (!tessi_add_i64(*total, bytes, total))
        *total = INT64_MAX;
}

int64_t tessi_plan_shared_bytes(const PlanFacts *f, const PlanGroup *group,
                                const PlanExtent *extent)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < group->passes.n; i++)
        VEC_FOREACH (const StageId, id, &group->passes.at[i].stages) {
            const Stage *s = tessi_stage(f->g, *id);
            const int64_t n[2] = { extent[i].n[0], tessi_plan_shared_pitch(s, &extent[i]) };
            tessi_plan_add_bytes(&total, tessi_type_info(s->type)->bytes, n, 2);
        }
    return total;
}
