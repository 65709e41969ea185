/* Fusion: which groups are computed tile by tile inside the group that reads them, and with what tiles. A group
 * whose only reader is one other group can become passes of it: its images then live in scratch memory of a tile's
 * size, which costs the overlap of the tiles and saves a trip through memory. Readers are asked before what they
 * read, so that chains of any length end in one group, as in the first paper's algorithm 1, but for any graph and
 * only where the model expects a gain. */
#include <string.h>

#include "plan/plan_costs.h"
#include "plan/plan_groups.h"
#include "plan/plan_passes.h"

enum {
    MAX_PASSES = 32,
    SEARCH_BUDGET = 40000000, /* stages looked at; a graph too large for it is fused only in part */
};

typedef struct Fuse {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    Plan *p;
    uint32_t *group_of; /* by StageId: group + 1, 0 = none */
    bool *gone;         /* by group: has become passes of another */
    double *seconds;    /* by group: of a point of its members */
    /* by StageId: computed stages that read it, directly or through inlined ones */
    StageList *readers;
    PlanRegions regions;
    int64_t left; /* of the budget */
} Fuse;

/* ---- What a group costs ---------------------------------------------------------------------- */

/* What the loops of a tile are over in dimensions before its rows and columns. */
static void set_planes(const Fuse *c, const PlanGroup *group, int64_t *size)
{
    for (uint8_t d = 0; d + 2 < group->n_dims; d++) {
        bool wide = false;
        VEC_FOREACH (const PlanPass, pass, &group->passes) {
            const PlanRegion *r = &c->regions.at[pass->stages.at[0].v];
            wide = wide || r->lo[d] || r->hi[d];
        }
        size[d] = wide ? 8 : 1;
    }
}

/* Some stage is read at more than one row: rings would save computing it again above and below tiles. */
static bool can_roll(const Fuse *c, const PlanGroup *group)
{
    bool can = false;
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const PlanRegion *r = &c->regions.at[pass->stages.at[0].v];
        can = can || (group->n_dims > 1 && r->lo[group->n_dims - 2] != r->hi[group->n_dims - 2]);
    }
    return can;
}

/* Tiles so large that an image of a common size has few for each core. */
static bool too_few_tiles(const Fuse *c, uint8_t n, const int64_t *size)
{
    enum { POINTS = 2048 * 2048 };
    int64_t points = size[n - 1] * (n > 1 ? size[n - 2] : 1);
    return (double)(points * c->m->cores) * c->m->tiles_a_core > POINTS && size[n - 1] > 128;
}

/* Keeps the tile if it is the best so far, and of the others the best of another size. */
static void keep_best(PlanTile *best, const PlanTile *tile)
{
    const bool first = best->seconds < 0, better = first || tile->seconds < best->seconds;
    const bool same = memcmp(best->size, tile->size, sizeof best->size) == 0;
    const PlanTile *other = better ? best : tile;
    PlanTile kept = better ? *tile : *best;
    kept.next = best->next;
    memcpy(kept.next_size, best->next_size, sizeof kept.next_size);
    if (!first && !same && (better || best->next < 0 || other->seconds < best->next)) {
        kept.next = other->seconds;
        memcpy(kept.next_size, other->size, sizeof kept.next_size);
    }
    *best = kept;
}

/* The best tile of those computed whole, or of those with rings; its seconds are negative when none fits. */
static PlanTile best_tile(const Fuse *c, const PlanGroup *group, const RowCost *pass_cost,
                          const RowCost *members, double images, bool rolls)
{
    static const int64_t rows[] = { 8, 16, 32, 64, 128, 256 };
    static const int64_t columns[] = { 128, 256, 512, 1024, 2048, 4096 };
    static const uint16_t steps[] = { 8, 16, 32, 64 };
    enum { N_ROWS = sizeof rows / sizeof *rows, N_STEPS = sizeof steps / sizeof *steps };
    PlanTile best = { .seconds = -1, .next = -1 };
    uint8_t n = group->n_dims;
    int64_t size[MAX_DIMS] = { 0 };
    set_planes(c, group, size);
    for (size_t y = 0; y < (n > 1 ? N_ROWS : 1); y++) {
        for (size_t x = 0; x < sizeof columns / sizeof *columns; x++) {
            if (n > 1)
                size[n - 2] = rows[y];
            size[n - 1] = columns[x];
            for (size_t k = 0; k < (rolls ? N_STEPS : 1); k++) {
                const uint16_t roll = rolls ? steps[k] : 0;
                if (roll * 2 > rows[y] || too_few_tiles(c, n, size)
                    || tessi_plan_tile_bytes(c->f, group, &c->regions, size, roll)
                           > PLAN_MAX_SCRATCH_BYTES / 2)
                    continue;
                PlanTile tile = tessi_plan_cost_of_tile(c->f, c->m, group, &c->regions, pass_cost,
                                                        members, images, size, roll);
                keep_best(&best, &tile);
            }
        }
    }
    return best;
}

/* Sets rows and tile of a group with passes; its cost of a point, or negative when it cannot be. */
static double settle(Fuse *c, PlanGroup *group, PlanTile *tile)
{
    if (c->p->gpu)
        return group->passes.n
                   ? tessi_plan_settle_tile(c->f, c->an, c->m, c->p, group, &c->regions, tile)
                   : tessi_plan_kernel_cost(c->f, c->an, c->m, c->p, group).seconds;
    RowCost *cost = ARENA_NEW_ARRAY(c->f->arena, RowCost, group->passes.n), members;
    StageList list = { 0 };
    tessi_plan_own_members(c->f->arena, group, &list);
    const int block_nodes =
        group->split == SPLIT_INTERIOR && tessi_level_vector(&group->levels) ? PLAN_BLOCK_NODES : 0;
    double nodes = 0;
    for (uint32_t i = 0; i < group->passes.n; i++) {
        PlanPass *pass = &group->passes.at[i];
        tessi_level_set_rows(
            &pass->levels,
            tessi_plan_best_rows(c->f, c->an, c->m, c->p, &pass->stages, block_nodes, &cost[i]));
        nodes += cost[i].nodes;
    }
    tessi_level_set_rows(&group->levels, tessi_plan_best_rows(c->f, c->an, c->m, c->p, &list,
                                                              block_nodes, &members));
    tessi_level_set_columns(&group->levels, 1);
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        if (tessi_level_rows(&pass->levels) > 1)
            tessi_plan_window_columns(c->f, c->m, &pass->stages, &group->levels);
    }
    if (tessi_level_rows(&group->levels) > 1)
        tessi_plan_window_columns(c->f, c->m, &list, &group->levels);
    members.seconds += 2.0 * (group->members.n - list.n) * tessi_plan_load_seconds(c->m, TYPE_F32);
    if (nodes + members.nodes > c->m->group_nodes || group->passes.n > MAX_PASSES)
        return -1;
    const PlanTraffic traffic = tessi_plan_traffic(c->f, c->p, group);
    const double memory = tessi_plan_traffic_seconds(c->m, &traffic);
    if (!group->passes.n)
        return tessi_plan_together(c->m,
                                   members.seconds
                                       + tessi_plan_reread_seconds(c->f, c->m, &list,
                                                                   tessi_level_rows(&group->levels),
                                                                   INT32_MAX),
                                   memory);
    PlanTile other = { .seconds = -1 };
    *tile = best_tile(c, group, cost, &members, traffic.images, false);
    if (can_roll(c, group))
        other = best_tile(c, group, cost, &members, traffic.images, true);
    if (other.seconds >= 0
        && (tile->seconds < 0 || other.seconds < c->m->small_gain * tile->seconds)) {
        const PlanTile whole = *tile;
        *tile = other;
        other = whole;
    }
    if (tile->seconds < 0)
        return -1;
    if (tile->next >= 0)
        tile->next = tessi_plan_together(c->m, tile->next, memory);
    tile->other = other.seconds < 0 ? -1 : tessi_plan_together(c->m, other.seconds, memory);
    tessi_level_set_roll(&group->levels, tile->roll);
    for (uint8_t d = 0; d < group->n_dims; d++)
        tessi_level_set_tile(group, d, tile->size[d]);
    return tessi_plan_together(c->m, tile->seconds, memory);
}

/* ---- Fusing ---------------------------------------------------------------------------------- */

/* In order of ids: what is read before its readers. */
static void insert(Arena *a, StageList *list, StageId id)
{
    VEC_PUSH(a, list, id);
    for (uint32_t i = list->n - 1; i > 0 && list->at[i - 1].v > id.v; i--) {
        list->at[i] = list->at[i - 1];
        list->at[i - 1] = id;
    }
}

/* In picoseconds; of GPUs in femtoseconds. */
static long long amount(const Fuse *c, double seconds)
{
    return (c->p->gpu ? tessi_plan_fs : tessi_plan_ps)(seconds);
}

static const char *tile_text(Arena *a, const int64_t *size, uint8_t n)
{
    Text t = tessi_text_new(a);
    for (uint8_t d = 0; d < n; d++)
        tessi_text_addf(&t, "%s%lld", d ? " x " : "", (long long)size[d]);
    return tessi_text_str(&t);
}

static int64_t bytes_of_tile(const Fuse *c, const PlanGroup *group)
{
    if (!c->p->gpu)
        return tessi_plan_tile_bytes(c->f, group, &c->regions, tessi_level_tile_all(group).of,
                                     tessi_level_roll(&group->levels));
    PlanExtent *extent = ARENA_NEW_ARRAY(c->f->arena, PlanExtent, group->passes.n + 1);
    tessi_plan_extents(group, &c->regions, extent);
    return tessi_plan_shared_bytes(c->f, group, extent);
}

/* Why the tiles are as they are. */
static const char *fused_reason(const Fuse *c, const PlanGroup *fused, const PlanTile *tile,
                                double together_seconds, double apart, const char *producer)
{
    Arena *a = c->f->arena;
    const char *unit = c->p->gpu ? "fs" : "ps";
    Text t = tessi_text_new(a);
    tessi_text_addf(&t, "tiles of %s points",
                    tile_text(a, tessi_level_tile_all(fused).of, fused->n_dims));
    if (tessi_level_roll(&fused->levels))
        tessi_text_addf(&t, " in steps of %u rows", tessi_level_roll(&fused->levels));
    tessi_text_addf(&t, ", %lld KiB of %s: %lld %s a point",
                    (long long)(bytes_of_tile(c, fused) + 1023) / 1024,
                    c->p->gpu                          ? "shared memory"
                    : tessi_level_roll(&fused->levels) ? "rings of rows"
                                                       : "scratch memory",
                    amount(c, together_seconds), unit);
    if (!c->p->gpu && tile->other >= 0)
        tessi_text_addf(&t, ", %lld %s with %s", amount(c, tile->other), unit,
                        tessi_level_roll(&fused->levels) ? "tiles computed whole"
                                                         : "rings of rows");
    tessi_text_addf(&t, ", %lld %s with '%s' in memory", amount(c, apart), unit, producer);
    if (tile->next >= 0)
        tessi_text_addf(&t, "\nthe next best tiles, of %s points, cost %lld %s",
                        tile_text(a, tile->next_size, fused->n_dims), amount(c, tile->next), unit);
    if (tile->facts)
        tessi_text_addf(&t, "\n%s", tile->facts);
    return tessi_text_str(&t);
}

/* Group `to` with the stages of group `from` in passes, which is asked whether it can be; `stages`: of all of them. */
static PlanGroup fused_group(Fuse *c, const PlanGroup *from, const PlanGroup *to, StageList *stages)
{
    Arena *a = c->f->arena;
    PlanGroup fused = *to;
    memset(&fused.passes, 0, sizeof fused.passes);
    memset(&fused.members, 0, sizeof fused.members);
    fused.split = SPLIT_INTERIOR;
    fused.frame = (PlanFrame){ 0 };
    VEC_APPEND(a, &fused.members, &to->members);
    for (int k = 0; k < 2; k++)
        VEC_FOREACH (const PlanPass, pass, &(k ? from : to)->passes)
            VEC_FOREACH (const StageId, id, &pass->stages)
                if (!k || !c->f->returned[id->v])
                    insert(a, stages, *id);
    VEC_FOREACH (const StageId, id, &from->members) {
        insert(a, stages, *id);
        if (c->f->returned[id->v])
            VEC_PUSH(a, &fused.members, *id);
        else
            c->p->stage[id->v].placement = PLACE_SCRATCH;
    }
    /* every stage a pass; those that go together later */
    VEC_FOREACH (const StageId, id, stages)
        tessi_plan_insert_pass(a, &fused, fused.passes.n, *id);
    for (uint8_t d = 0; d < fused.n_dims; d++)
        tessi_level_set_tile(&fused, d, 1);
    return fused;
}

static const char *check_fused(Fuse *c, const PlanGroup *fused)
{
    VEC_FOREACH (const StageId, id, &fused->members)
        if (!tessi_stage_same_domain(tessi_stage(c->f->g, *id),
                                     tessi_stage(c->f->g, fused->members.at[0])))
            return "a result among them has another size";
    return tessi_plan_regions(c->f, c->p, fused, &c->regions);
}

/* Makes group `h` passes of group `into` when the model expects a gain; says why or why not. */
static void try_fuse(Fuse *c, uint32_t h, uint32_t into)
{
    Arena *a = c->f->arena;
    PlanGroup *from = &c->p->groups.at[h], *to = &c->p->groups.at[into];
    StageList stages = { 0 };
    PlanGroup fused = fused_group(c, from, to, &stages);
    c->left -= 4 * (int64_t)c->f->g->stages.n;
    const char *fault = check_fused(c, &fused);
    const double gain = c->p->gpu ? c->m->tile_gain : 1; /* tiles of kernels are known less well */
    double together = -1, apart = c->seconds[into] + c->seconds[h];
    PlanTile tile = { .other = -1, .next = -1 };
    if (!fault) {
        tessi_plan_make_passes(c->f, c->p, &c->regions, &stages, (int64_t)c->m->pass_nodes, &fused);
        together = settle(c, &fused, &tile);
        tessi_plan_place_passes(c->p, &fused);
        if (together >= 0)
            fault = tessi_plan_check_tiles(c->f, c->p, &fused, &c->regions);
    }
    if (!fault && together >= 0 && together <= gain * apart) {
        fused.reason = fused_reason(c, &fused, &tile, together, apart,
                                    tessi_stage(c->f->g, from->members.at[0])->name);
        *to = fused;
        c->seconds[into] = together;
        c->gone[h] = true;
        VEC_FOREACH (const StageId, id, &stages)
            c->group_of[id->v] = into + 1;
        return;
    }
    VEC_FOREACH (const StageId, id, &from->members)
        c->p->stage[id->v].placement = PLACE_MEMORY;
    tessi_plan_place_passes(c->p, from);
    tessi_plan_place_passes(c->p, to);
    if (!fault)
        fault = together < 0 ? "too large"
                             : tessi_sprintf(a, "%lld %s a point together, %lld %s apart",
                                             amount(c, together), c->p->gpu ? "fs" : "ps",
                                             amount(c, apart), c->p->gpu ? "fs" : "ps");
    tessi_plan_add_reason(a, &from->reason,
                          tessi_sprintf(a, "not fused with '%s': %s", to->name, fault));
}

static bool can_be_fused(const Fuse *c, const PlanGroup *group)
{
    bool can = group->n_dims > 0 && tessi_level_vector(&group->levels) && !group->strip;
    VEC_FOREACH (const StageId, id, &group->members)
        can = can && tessi_stage_is_plain(c->f->g, tessi_stage(c->f->g, *id));
    return can;
}

static uint32_t last_stage(const PlanGroup *group)
{
    uint32_t last = 0;
    VEC_FOREACH (const StageId, id, &group->members)
        last = id->v > last ? id->v : last;
    return last;
}

double tessi_plan_fuse(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    Arena *a = f->arena;
    uint32_t n = f->g->stages.n;
    Fuse c = { .f = f, .an = an, .m = m, .p = p, .left = SEARCH_BUDGET };
    c.group_of = ARENA_NEW_ARRAY(a, uint32_t, n);
    c.gone = ARENA_NEW_ARRAY(a, bool, p->groups.n);
    c.seconds = ARENA_NEW_ARRAY(a, double, p->groups.n);
    c.readers = tessi_plan_readers(f, p);
    for (uint32_t i = 0; i < p->groups.n; i++) {
        VEC_FOREACH (const StageId, id, &p->groups.at[i].members)
            c.group_of[id->v] = i + 1;
        PlanTile tile;
        PlanGroup alone = p->groups.at[i];
        c.seconds[i] = can_be_fused(&c, &alone) ? settle(&c, &alone, &tile) : 0;
    }
    /* The groups stand in no order of execution yet; the one with the latest stage comes first. */
    bool *done = ARENA_NEW_ARRAY(a, bool, p->groups.n);
    for (uint32_t tried = 0; tried < p->groups.n && c.left > 0; tried++) {
        uint32_t h = 0, latest = 0;
        for (uint32_t i = 0; i < p->groups.n; i++) {
            uint32_t last = done[i] ? 0 : last_stage(&p->groups.at[i]);
            if (last > latest) {
                latest = last;
                h = i;
            }
        }
        done[h] = true;
        uint32_t into = tessi_plan_only_reader(c.f, c.readers, c.group_of, p->groups.at, h);
        if (!into || into == h + 1 || !can_be_fused(&c, &p->groups.at[h])
            || !can_be_fused(&c, &p->groups.at[into - 1])
            || p->groups.at[h].n_dims != p->groups.at[into - 1].n_dims)
            continue;
        try_fuse(&c, h, into - 1);
    }
    uint32_t kept = 0;
    double seconds = 0;
    for (uint32_t i = 0; i < p->groups.n; i++) {
        if (c.gone[i])
            continue;
        seconds += c.seconds[i];
        p->groups.at[kept++] = p->groups.at[i];
    }
    p->groups.n = kept;
    return seconds;
}
