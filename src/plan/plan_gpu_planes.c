/* Kernels of tiles whose threads hold planes: which threads, and how many points of each. A thread holds what its own
 * points read of the passes, so that nothing is shared and nobody waits; blocks are tall and wide, since rows and
 * columns around a tile come from the second cache, which such kernels fill. */
#include <math.h>

#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

typedef struct Held {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    const PlanGroup *group; /* with its steps */
    const PlanRegions *regions;
} Held;

/* All passes are read at the point itself, of this plane or others. */
static bool can_hold(const Held *c)
{
    bool can = c->group->n_dims >= 3 && tessi_level_roll(&c->group->levels) && c->group->passes.n;
    VEC_FOREACH (const PlanPass, pass, &c->group->passes) {
        const PlanRegion *region = &c->regions->at[pass->stages.at[0].v];
        for (uint8_t d = (uint8_t)(c->group->n_dims - 2); d < c->group->n_dims; d++)
            can = can && !region->lo[d] && !region->hi[d];
        VEC_FOREACH (const StageId, id, &pass->stages)
            VEC_FOREACH (const StageId, member, &c->group->members)
                can = can && id->v != member->v;
    }
    return can;
}

/* Values that a thread holds of the passes. */
static int64_t values_held(const Held *c, const PlanGroup *group)
{
    const uint8_t z = tessi_level_roll_dim(group);
    int64_t n = 0;
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const PlanRegion *region = &c->regions->at[pass->stages.at[0].v];
        VEC_FOREACH (const StageId, id, &pass->stages) {
            const uint32_t bytes = tessi_type_info(tessi_stage(c->f->g, *id)->type)->bytes;
            n += (1 + region->ahead[z] - region->back[z]) * (bytes > 4 ? 2 : 1);
        }
    }
    return n * tessi_level_points(&group->levels);
}

/* Of a plane of a tile: what the second cache is asked for, over what is read. */
static double read_again(const PlanGroup *group, const int64_t *halo)
{
    enum { SECTOR = 8 /* elements */ };
    double again = 1;
    for (int k = 0; k < 2; k++) {
        const double n = (double)tessi_level_tile(group, group->n_dims - 2 + k);
        const int64_t far = k ? (halo[k] + SECTOR - 1) / SECTOR * SECTOR : halo[k];
        again *= (n + 2 * (double)far) / n;
    }
    return again;
}

/* Of blocks that lie at the edges of planes of 512 x 512: threads there answer rules, and others of their warps
 * wait. */
static double edges_time(const Machine *m, const PlanGroup *group)
{
    enum { SIDE = 512 };
    double inside = 1;
    for (int k = 0; k < 2; k++) {
        const double share =
            2.0 * (double)tessi_level_tile(group, group->n_dims - 2 + k) / (double)SIDE;
        inside *= share < 1 ? 1 - share : 0;
    }
    return 1 + (1 - inside) * (m->held_edges - 1);
}

/* The group as it is, whose threads stand in rows. */
static KernelCost cost_of_held(const Held *c, PlanGroup *group)
{
    const Machine *m = c->m;
    const uint8_t z = tessi_level_roll_dim(group);
    const double planes = (double)tessi_level_tile(group, z);
    const PlanOutputs outputs = tessi_level_outputs_all(&group->levels);
    const double points = (double)tessi_level_points(&group->levels);
    const double threads =
        (double)tessi_level_threads(&group->levels, 0) * tessi_level_threads(&group->levels, 1);
    KernelCost cost = { .registers = (int64_t)m->base_registers };
    bool *counted = ARENA_NEW_ARRAY(c->f->arena, bool, c->f->g->stages.n);
    const uint8_t one[2] = { 1, 1 };
    double read = 0, stored = 0;
    for (uint32_t i = 0; i <= group->passes.n; i++) {
        const bool pass = i < group->passes.n;
        const PlanRegion *region =
            pass ? &c->regions->at[group->passes.at[i].stages.at[0].v] : NULL;
        const double span = pass ? (double)(region->ahead[z] - region->back[z]) : 0;
        KernelCost part = tessi_plan_part_cost(c->f, c->an, m, c->p, group, c->regions, i,
                                               outputs.of, NULL, NULL);
        /* where its points lie a thread finds out once, and not in each step */
        part.instructions += m->held_step - m->base_instructions - m->part_instructions;
        const KernelCost bytes =
            tessi_plan_part_cost(c->f, c->an, m, c->p, group, c->regions, i, one, NULL, counted);
        tessi_plan_add_part(m, &part, threads * (planes + span) / planes, threads, points * threads,
                            &cost);
        *(pass ? &read : &stored) += bytes.dram_seconds * (planes + span) / planes;
        for (int k = 0; k < 2; k++)
            cost.halo[k] = part.halo[k] > cost.halo[k] ? part.halo[k] : cost.halo[k];
    }
    const int64_t held = values_held(c, group);
    cost.registers += held;
    cost.instructions += (double)held / points; /* they move on by one */
    const int64_t blocks =
        m->registers / (tessi_gpu_registers_for_threads(m, &cost) * (int64_t)threads);
    cost.threads = blocks * (int64_t)threads;
    cost.feasible =
        blocks > 0 && cost.registers <= m->registers_a_thread && cost.code <= m->most_code;
    cost.plain_instructions = cost.instructions;
    cost.rule_cache_seconds = cost.cache_seconds;
    cost.dram_seconds = read + stored;
    cost.again_bytes = read * m->memory_gbs * 1e9 * (read_again(group, cost.halo) - 1);
    tessi_gpu_read_again(m, &cost);
    cost.issue_seconds = tessi_gpu_issue_seconds(m, cost.instructions);
    cost.seconds =
        tessi_gpu_overlapped(m, cost.dram_seconds, cost.issue_seconds, cost.cache_seconds)
        * edges_time(m, group);
    return cost;
}

/* As many planes as pay for those above the first; enough blocks for all multiprocessors. */
static void set_shape(const Held *c, const uint16_t *threads, uint8_t columns, uint8_t rows,
                      PlanGroup *group)
{
    enum { PLANES = 64, FEW_PLANES = 8 };
    const uint8_t x = (uint8_t)(group->n_dims - 1), y = (uint8_t)(x - 1);
    PlanMarch march = tessi_level_march(&group->levels);
    const uint8_t outputs[2] = { columns, rows };
    for (int k = 0; k < 2; k++) {
        tessi_level_set_outputs(&group->levels, k, outputs[k]);
        tessi_level_set_threads(&group->levels, k, threads[k]);
        VEC_FOREACH (PlanPass, pass, &group->passes)
            tessi_level_set_outputs(&pass->levels, k, outputs[k]);
    }
    march.ahead = true;
    tessi_level_set_march(&group->levels, march);
    tessi_level_set_tile(group, x, (int64_t)columns * threads[0]);
    tessi_level_set_tile(group, y, (int64_t)rows * threads[1]);
    tessi_level_set_tile(group, tessi_level_roll_dim(group), c->f->few ? FEW_PLANES : PLANES);
}

double tessi_plan_settle_held(const PlanFacts *f, const Analysis *an, const Machine *m,
                              const Plan *p, PlanGroup *group, const PlanRegions *regions,
                              const char **facts)
{
    static const uint16_t threads[][2] = { { 8, 16 }, { 8, 8 }, { 16, 8 }, { 16, 16 }, { 32, 8 } };
    static const uint8_t rows[] = { 2, 4, 1 };
    enum { SHAPES = sizeof threads / sizeof *threads, ROWS = sizeof rows / sizeof *rows };
    const Held c = { f, an, m, p, group, regions };
    KernelCost least = { 0 };
    PlanGroup best;
    if (!can_hold(&c))
        return -1;
    uint32_t columns = tessi_plan_vector_columns(f, &group->members);
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        const uint32_t n = tessi_plan_vector_columns(f, &pass->stages);
        columns = n < columns ? n : columns;
    }
    for (size_t i = 0; i < SHAPES * ROWS; i++) {
        PlanGroup tried = tessi_plan_keep_group(f->arena, group);
        set_shape(&c, threads[i / ROWS], (uint8_t)columns, rows[i % ROWS], &tried);
        tried.split = SPLIT_EDGES;
        if (columns * rows[i % ROWS] > f->most_points)
            continue;
        const KernelCost cost = cost_of_held(&c, &tried);
        if (!cost.feasible || (least.feasible && cost.seconds >= m->rows_gain * least.seconds))
            continue;
        least = cost;
        best = tried;
    }
    if (!least.feasible)
        return -1;
    const int64_t all = tessi_level_threads(&best.levels, 0) * tessi_level_threads(&best.levels, 1);
    best.resident = (uint8_t)(least.threads / all);
    *group = best;
    if (!tessi_plan_stays_in_plane(f, p, group))
        group->split = SPLIT_INTERIOR;
    *facts = tessi_sprintf(
        f->arena, "threads hold planes of their own %d x %d points, about %lld registers\n%s",
        tessi_level_outputs(&group->levels, 0), tessi_level_outputs(&group->levels, 1),
        (long long)least.registers, tessi_plan_kernel_reason(f, p, group, &least));
    return least.seconds;
}
