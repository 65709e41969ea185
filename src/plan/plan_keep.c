/* How many rows a stage of a group keeps for its readers: what `keep` says on a plan page. */
#include "plan/plan_base.h"

/* Of a ring in scratch memory: the rows of a step, and those around them that are read. */
static int64_t of_ring(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId id,
                       PlanRegions *regions)
{
    if (!tessi_level_roll(&group->levels) || group->n_dims < 2
        || tessi_plan_regions(f, p, group, regions))
        return 0;
    const PlanRegion *region = &regions->at[id.v];
    const uint8_t d = tessi_level_roll_dim(group);
    return tessi_level_roll(&group->levels) + region->ahead[d] - region->back[d];
}

static int64_t of_lanes(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId id)
{
    PlanWarp warp = { 0 };
    if (tessi_plan_warp(f, p, group, &warp))
        return 0;
    VEC_FOREACH (const PlanHeld, held, &warp.held)
        if (held->stage.v == id.v && !held->is_image)
            return tessi_level_outputs(&group->levels, 1) + held->keep;
    return 0;
}

/* The most that one column of one of the group's loops keeps. */
static int64_t of_registers(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId id)
{
    int64_t most = 0;
    for (uint32_t i = 0; i <= group->passes.n; i++) {
        PlanCarries carries = { 0 };
        const bool members = i == group->passes.n;
        StageList own = { 0 };
        if (members)
            tessi_plan_own_members(f->arena, group, &own);
        else
            own = group->passes.at[i].stages;
        if (!tessi_level_band(members ? &group->levels : &group->passes.at[i].levels)
            || tessi_plan_carries(f, p, own.at, own.n, &carries))
            continue;
        VEC_FOREACH (const PlanCarry, carry, &carries)
            if (carry->stage.v == id.v && carry->hi - carry->lo > most)
                most = carry->hi - carry->lo;
    }
    return most;
}

int64_t tessi_plan_kept_rows(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId id,
                             PlanRegions *regions)
{
    switch (p->stage[id.v].placement) {
    case PLACE_LANES: return of_lanes(f, p, group, id);
    case PLACE_REGISTERS: return of_registers(f, p, group, id);
    default: return of_ring(f, p, group, id, regions);
    }
}
