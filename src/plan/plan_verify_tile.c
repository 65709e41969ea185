/* Are the tiles and passes of a group legal? One sentence about the first fault. */
#include "plan/needs.h"
#include "plan/plan_costs.h"
#include "plan/plan_passes.h"

typedef struct TileCheck {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    PlanRegions *regions;
    uint32_t *pass_of; /* by StageId: pass + 1 */
} TileCheck;

static const char *name_of(const TileCheck *c, StageId id)
{
    return tessi_stage(c->f->g, id)->name;
}

/* The rows of a step and those around them that are read, as a power of two: indices are masked then. */
static int64_t ring_rows(const PlanRegion *region, uint8_t d, uint16_t roll)
{
    int64_t rows = 1;
    while (rows < roll + region->ahead[d] - region->back[d])
        rows *= 2;
    return rows;
}

void tessi_plan_scratch_shape(const Stage *s, const PlanRegion *region, const int64_t *tile,
                              uint16_t roll, int64_t *before, int64_t *size)
{
    int64_t line = 64 / tessi_type_info(s->type)->bytes; /* elements of a cache line */
    for (uint8_t d = 0; d < s->n_dims; d++) {
        before[d] = region->lo[d] < 0 ? -region->lo[d] : 0;
        size[d] = tile[d] + (region->hi[d] > 0 ? region->hi[d] : 0);
        if (d + 1 == s->n_dims && s->n_dims > 1) { /* rows begin at cache lines */
            before[d] = (before[d] + line - 1) / line * line;
            size[d] = (size[d] + line - 1) / line * line;
            if ((before[d] + size[d]) % (16 * line) == 0)
                size[d] += line; /* rows a power of two apart would share few sets of a cache */
        }
        size[d] += before[d];
        if (roll && d + 2 == s->n_dims) {
            before[d] = 0;
            size[d] = ring_rows(region, d, roll);
        }
    }
}

static const char *check_stage(TileCheck *c, uint32_t i, StageId id)
{
    Arena *a = c->f->arena;
    const Graph *g = c->f->g;
    const char *group = c->group->name;
    if (id.v == 0 || id.v >= g->stages.n || !tessi_plan_computes(c->f, id))
        return tessi_sprintf(a, "group '%s' names a stage that is not computed", group);
    const Stage *s = tessi_stage(g, id);
    if (c->pass_of[id.v])
        return tessi_sprintf(a, "stage '%s' is in two passes", s->name);
    c->pass_of[id.v] = i + 1;
    if (!tessi_stage_is_plain(g, s) || s->n_dims != c->group->n_dims)
        return tessi_sprintf(a, "stage '%s' cannot be computed tile by tile in group '%s'", s->name,
                             group);
    bool is_member = false;
    VEC_FOREACH (const StageId, m, &c->group->members)
        is_member = is_member || m->v == id.v;
    const Placement scratch = tessi_plan_scratch_placement(c->group);
    if (c->p->stage[id.v].placement != (is_member ? PLACE_MEMORY : scratch))
        return tessi_sprintf(a,
                             "stage '%s' lives in %s, and the levels of group '%s' have it in %s",
                             s->name, tessi_placement_name(c->p->stage[id.v].placement), group,
                             tessi_placement_name(is_member ? PLACE_MEMORY : scratch));
    const PlanPass *pass = &c->group->passes.at[i];
    if (!tessi_stage_same_domain(s, tessi_stage(g, pass->stages.at[0])))
        return tessi_sprintf(a, "the stages '%s' and '%s' of a pass have different sizes", s->name,
                             name_of(c, pass->stages.at[0]));
    if (!c->p->gpu && tessi_level_rows(&pass->levels) > 1
        && (c->group->split != SPLIT_INTERIOR || !tessi_plan_can_join_rows(c->f, id)))
        return tessi_sprintf(a,
                             "pass of stage '%s': several rows at once are for split loops over "
                             "whole stages of two dimensions or more that sort nothing",
                             s->name);
    return NULL;
}

/* What a stage of pass `i` (or, i = all of them, a member) reads from scratch memory stands in an earlier pass. */
static const char *check_reads(TileCheck *c, uint32_t i, StageId id)
{
    StageList stored = { 0 };
    tessi_plan_stored_reads(c->f, c->p, id, &stored);
    VEC_FOREACH (const StageId, s, &stored) {
        if (c->pass_of[s->v] && c->pass_of[s->v] - 1 >= i)
            return tessi_sprintf(c->f->arena,
                                 "a pass of group '%s' reads stage '%s' before it is computed",
                                 c->group->name, name_of(c, *s));
    }
    return NULL;
}

/* The stages of a pass are computed by one nest of loops. */
static const char *check_same_regions(TileCheck *c)
{
    VEC_FOREACH (const PlanPass, pass, &c->group->passes) {
        const StageId lead = pass->stages.at[0];
        VEC_FOREACH (const StageId, id, &pass->stages)
            if (!tessi_plan_same_region(c->f, c->regions, *id, lead))
                return tessi_sprintf(c->f->arena,
                                     "the stages '%s' and '%s' of a pass are needed in different "
                                     "regions",
                                     name_of(c, *id), name_of(c, lead));
    }
    return NULL;
}

static const char *check_total(TileCheck *c, int64_t total, int64_t most, const char *memory)
{
    if (total <= most)
        return NULL;
    return tessi_sprintf(c->f->arena,
                         "the tiles of group '%s' need %lld bytes of %s memory; there are %lld",
                         c->group->name, (long long)total, memory, (long long)most);
}

/* Along dimension d a block computes one plane, from stages that are read in their own. */
static const char *check_planes(const TileCheck *c, uint8_t d)
{
    const PlanGroup *group = c->group;
    bool in_plane = tessi_level_tile(group, d) == 1;
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const PlanRegion *region = &c->regions->at[pass->stages.at[0].v];
        in_plane = in_plane && !region->lo[d] && !region->hi[d];
    }
    return in_plane ? NULL
                    : tessi_plan_fault(c->f->arena, group,
                                       "a kernel of tiles computes one plane at a time, from "
                                       "stages that are read in their own plane");
}

/* A block computes a tile of one plane. */
static const char *check_kernel_tiles(TileCheck *c)
{
    const PlanGroup *group = c->group;
    Arena *a = c->f->arena;
    const uint8_t x = (uint8_t)(group->n_dims - 1), y = (uint8_t)(x - 1);
    const bool warps = tessi_plan_kernel(group) == KERNEL_WARP;
    if (!warps
        && (tessi_level_tile(group, x) % tessi_level_reach(&group->levels, 0)
            || tessi_level_tile(group, y) % tessi_level_reach(&group->levels, 1)))
        return tessi_plan_fault(
            a, group, "a tile is a multiple of the outputs of a thread, and of those in between");
    const char *fault = NULL;
    for (uint8_t d = 0; d < (warps ? tessi_plan_march_dim(group) : y) && !fault; d++)
        fault = check_planes(c, d);
    if (fault || warps)
        return fault ? fault : tessi_plan_check_warp(c->f, c->p, group);
    PlanExtent *extent = ARENA_NEW_ARRAY(a, PlanExtent, group->passes.n + 1);
    tessi_plan_extents(group, c->regions, extent);
    return check_total(c, tessi_plan_shared_bytes(c->f, group, extent), PLAN_MAX_SHARED_BYTES,
                       "shared");
}

const char *tessi_plan_check_tiles(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                   PlanRegions *regions)
{
    TileCheck c = { .f = f, .p = p, .group = group, .regions = regions };
    Arena *a = f->arena;
    if (!tessi_level_tile(group, 0) && tessi_level_roll(&group->levels))
        return tessi_sprintf(a, "group '%s' has rings of rows, and no tiles", group->name);
    if (!tessi_level_tile(group, 0))
        return group->passes.n ? tessi_plan_check_runs(f, p, group) : NULL;
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        if (tessi_level_tile(group, d) < (d < group->n_dims)
            || tessi_level_tile(group, d) > PLAN_MAX_TILE
            || (d >= group->n_dims && tessi_level_tile(group, d)))
            return tessi_plan_fault(a, group, "a tile has 1 to %d points in each dimension",
                                    PLAN_MAX_TILE);
    if (!tessi_stage_is_plain(f->g, tessi_stage(f->g, group->members.at[0])))
        return tessi_sprintf(a, "group '%s' has tiles and is not computed in one piece",
                             group->name);
    if (tessi_level_roll(&group->levels) && group->n_dims < 2)
        return tessi_plan_fault(a, group, "rings of rows are for stages of two dimensions or more");
    c.pass_of = ARENA_NEW_ARRAY(a, uint32_t, f->g->stages.n);
    const char *fault = NULL;
    for (uint32_t i = 0; i < group->passes.n && !fault; i++) {
        if (!group->passes.at[i].stages.n)
            return tessi_sprintf(a, "a pass of group '%s' has no stages", group->name);
        VEC_FOREACH (const StageId, id, &group->passes.at[i].stages)
            if (!fault)
                fault = check_stage(&c, i, *id);
    }
    for (uint32_t i = 0; i < group->passes.n && !fault; i++)
        VEC_FOREACH (const StageId, id, &group->passes.at[i].stages)
            if (!fault)
                fault = check_reads(&c, i, *id);
    if (!fault)
        fault = tessi_plan_regions(f, p, group, c.regions);
    if (!fault)
        fault = check_same_regions(&c);
    if (!fault)
        fault = p->gpu ? check_kernel_tiles(&c)
                       : check_total(&c,
                                     tessi_plan_tile_bytes(f, group, c.regions,
                                                           tessi_level_tile_all(group).of,
                                                           tessi_level_roll(&group->levels)),
                                     PLAN_MAX_SCRATCH_BYTES, "scratch");
    return fault;
}
