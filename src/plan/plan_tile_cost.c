/* What a group of a plan for CPUs costs, by the point of its members: bytes through memory, and of tiles the
 * arithmetic with its overlap and the way through scratch memory. */
#include "plan/needs.h"
#include "plan/plan_costs.h"

uint32_t tessi_plan_pieces_together(const Plan *p, const Stage *s)
{
    bool alike = s->pieces.n, counts = true;
    int64_t all = 1;
    for (uint32_t i = 1; i < s->pieces.n; i++)
        for (uint8_t d = 0; d < s->n_dims; d++) {
            alike = alike && s->pieces.at[i].step[d] == s->pieces.at[0].step[d];
            counts = counts && s->pieces.at[i].count[d].v == s->pieces.at[0].count[d].v;
        }
    for (uint8_t d = 0; all <= s->pieces.n && alike && d < s->n_dims; d++)
        all *= s->pieces.at[0].step[d];
    return alike && ((p->gpu && counts) || s->pieces.n == all) ? s->pieces.n : 1;
}

/* How many times the bytes of a stage move when it is written: pieces on a lattice are written one after the other,
 * and where they leave out elements of a row its lines come from memory and go back. */
static double times_written(const Plan *p, const Stage *s)
{
    double times = 0;
    if (tessi_plan_pieces_together(p, s) > 1)
        return 1;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        double rows = 1;
        for (uint8_t d = 0; d + 1 < s->n_dims; d++)
            rows /= piece->step[d] > 1 ? piece->step[d] : 1;
        const bool skips = s->n_dims && piece->step[s->n_dims - 1] > 1;
        times += skips ? 2 * rows : 0;
    }
    return times > 1 ? times : 1;
}

PlanTraffic tessi_plan_traffic(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    PlanTraffic traffic = { .images = group->members.n };
    Needs needs = { 0 };
    tessi_needs_of_group(f, f->arena, p, group, &needs);
    VEC_FOREACH (const StageId, id, &needs.stored) {
        const Stage *s = tessi_stage(f->g, *id);
        if (tessi_placement_is_scratch(p->stage[id->v].placement) || !s->n_dims)
            continue;
        const double bytes =
            tessi_need_is_small(f->g, s)
                ? 0
                : tessi_type_info(s->type)->bytes * tessi_need_of(&needs, *id)->passed;
        traffic.read += bytes;
        traffic.inner_read += s->kind == STAGE_INPUT ? 0 : bytes;
        traffic.images++;
    }
    VEC_FOREACH (const StageId, id, &group->members) {
        const Stage *s = tessi_stage(f->g, *id);
        if (s->kind != STAGE_COMPUTE && s->kind != STAGE_SCAN) /* others give a few numbers */
            continue;
        const double bytes = tessi_type_info(s->type)->bytes * times_written(p, s);
        traffic.written += bytes;
        traffic.inner_written += f->returned[id->v] ? 0 : bytes;
    }
    return traffic;
}

double tessi_plan_traffic_seconds(const Machine *m, const PlanTraffic *traffic)
{
    return (traffic->read + traffic->written) / (m->memory_gbs * 1e9);
}

double tessi_plan_together(const Machine *m, double compute, double memory)
{
    double most = compute > memory ? compute : memory, least = compute > memory ? memory : compute;
    return most + m->memory_exposed * least;
}

int64_t tessi_plan_tile_bytes(const PlanFacts *f, const PlanGroup *group,
                              const PlanRegions *regions, const int64_t *tile, uint16_t roll)
{
    int64_t total = 0;
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        VEC_FOREACH (const StageId, id, &pass->stages) {
            const Stage *s = tessi_stage(f->g, *id);
            int64_t before[MAX_DIMS], size[MAX_DIMS];
            tessi_plan_scratch_shape(s, &regions->at[id->v], tile, roll, before, size);
            tessi_plan_add_bytes(&total, tessi_type_info(s->type)->bytes, size, s->n_dims);
        }
    }
    return total;
}

/* Of what a stage writes to its ring and what is read from there, the share that the second cache moves. Where the rows
 * of a step and those read around them fit into the first cache, the next pass finds there what has just been written:
 * these rows go out once, and those around the next step come back. */
static double share_moved(const PlanFacts *f, const Machine *m, const PlanRegion *region,
                          const int64_t *tile, uint16_t roll)
{
    const Stage *s = tessi_stage(f->g, region->stage);
    int64_t before[MAX_DIMS], size[MAX_DIMS], bytes = 0;
    if (!roll || s->n_dims < 2)
        return 1;
    const uint8_t y = (uint8_t)(s->n_dims - 2);
    const int64_t around = region->ahead[y] - region->back[y];
    tessi_plan_scratch_shape(s, region, tile, roll, before, size);
    size[y] = 2 * roll + around; /* read, and written by the reader */
    tessi_plan_add_bytes(&bytes, tessi_type_info(s->type)->bytes, size, s->n_dims);
    const bool fits = (double)bytes <= m->cache_filled * (double)m->l1_bytes;
    return fits ? (1 + (double)around / roll) / 2 : 1;
}

/* A step computes whole blocks of rows; the last one takes rows again. */
static double whole_blocks(uint16_t roll, uint8_t rows)
{
    return roll ? (double)((roll + rows - 1) / rows * rows) / roll : 1;
}

PlanTile tessi_plan_cost_of_tile(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                                 const PlanRegions *regions, const RowCost *pass_cost,
                                 const RowCost *members, double images, const int64_t *size,
                                 uint16_t roll)
{
    uint8_t n = group->n_dims, last = (uint8_t)(n - 1);
    PlanTile tile = { .seconds =
                          members->seconds * whole_blocks(roll, tessi_level_rows(&group->levels)),
                      .roll = roll };
    const double cycle = 1 / (m->ghz * 1e9 * (double)m->cores);
    double row = m->tile_row_cycles * cycle, miss = m->tile_miss_cycles * cycle;
    double moved = 0, operations = members->operations, without = operations;
    for (uint8_t d = 0; d < n; d++)
        tile.size[d] = size[d];
    for (uint32_t i = 0; i < group->passes.n; i++) {
        const PlanPass *pass = &group->passes.at[i];
        const PlanRegion *region = &regions->at[pass->stages.at[0].v];
        double overlap = whole_blocks(roll, tessi_level_rows(&pass->levels));
        for (uint8_t d = 0; d < n; d++)
            overlap *= 1 + (double)(region->hi[d] - region->lo[d]) / (double)size[d];
        const double again = tessi_plan_reread_seconds(f, m, &pass->stages,
                                                       tessi_level_rows(&pass->levels), size[last]);
        tile.seconds += overlap
                        * (pass_cost[i].seconds + again
                           + row / (double)tessi_level_rows(&pass->levels) / (double)size[last]);
        operations += overlap * pass_cost[i].operations;
        without += pass_cost[i].operations;
        VEC_FOREACH (const StageId, id, &pass->stages) {
            ScalarType t = tessi_stage(f->g, *id)->type;
            tile.seconds += overlap * tessi_plan_load_seconds(m, t);
            moved += overlap * 2 * tessi_type_info(t)->bytes
                     * share_moved(f, m, &regions->at[id->v], size, roll);
        }
    }
    const StageList results = { group->members.at, group->members.n, group->members.n };
    tile.seconds +=
        tessi_plan_reread_seconds(f, m, &results, tessi_level_rows(&group->levels), size[last]);
    tile.seconds += row / (double)tessi_level_rows(&group->levels) / (double)size[last];
    tile.seconds += images * miss / (double)size[last];
    const double bytes = (double)tessi_plan_tile_bytes(f, group, regions, size, roll);
    if (bytes > m->cache_filled * (double)m->l1_bytes)
        tile.seconds += moved / (m->l2_gbs * (double)m->cores * 1e9);
    if (bytes > m->cache_filled * (double)m->l2_bytes)
        tile.seconds += moved / (m->l3_gbs * 1e9);
    tile.overlap = without > 0 ? operations / without : 1;
    return tile;
}
