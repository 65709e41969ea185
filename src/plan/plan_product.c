/* Sums of bytes times small whole weights by products of matrices (lower_product.c), on GPUs that have units for them:
 * which plans may, what it costs, and when it pays. */
#include "base/product.h"
#include "graph/graph_product.h"
#include "plan/plan_gpu_cost.h"

#include <math.h>

/* Of the blocks of a group. */
static ProductTile tile_of(const ByteProduct *product, const PlanGroup *group)
{
    return tessi_product_tile(product->rows, product->cols, group->strip,
                              tessi_level_threads(&group->levels, 0));
}

bool tessi_plan_has_own_loops(const PlanGroup *group)
{
    return group->transform || group->median || group->product;
}

void tessi_plan_fit_product(PlanGroup *group)
{
    if (tessi_plan_kernel(group) != KERNEL_PRODUCT)
        return;
    tessi_level_set_threads(&group->levels, 1, 1);
    for (int d = 0; d < 2; d++)
        tessi_level_set_outputs(&group->levels, d, 1);
    tessi_level_set_march(&group->levels, (PlanMarch){ 0 });
    group->split = SPLIT_NONE;
}

const char *tessi_plan_check_product(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    ByteProduct product;
    const int64_t threads = tessi_level_threads(&group->levels, 0);
    if (!p->gpu || tessi_plan_kernel(group) != KERNEL_PRODUCT || group->members.n != 1
        || group->split != SPLIT_NONE
        || !tessi_stage_byte_product(f->g, f->walk, tessi_stage(f->g, group->members.at[0]),
                                     &product))
        return tessi_plan_fault(f->arena, group,
                                "products are for GPUs, not split, for the only window of one "
                                "stage in two dimensions, a sum of bytes times whole weights up to "
                                "127, known when compiling, that nothing is rounded of");
    if (tessi_level_threads(&group->levels, 1) != 1 || threads % PLAN_WARP
        || tessi_level_outputs(&group->levels, 0) != 1
        || tessi_level_outputs(&group->levels, 1) != 1)
        return tessi_plan_fault(
            f->arena, group,
            "products have one line of threads, whole warps, without outputs of their own");
    if (group->product % PRODUCT_BLOCK_ROWS || !group->strip
        || group->strip % (threads / PLAN_WARP * PRODUCT_COLUMNS))
        return tessi_plan_fault(
            f->arena, group, "products have a multiple of %d rows, and of %d columns for each warp",
            PRODUCT_BLOCK_ROWS, PRODUCT_COLUMNS);
    const ProductTile tile = tile_of(&product, group);
    if (tile.bytes > PLAN_MAX_SHARED_BYTES || tile.read > threads)
        return tessi_plan_fault(f->arena, group,
                                "what blocks of products read has to fit %d bytes, and a row of "
                                "it, four columns each, the threads",
                                PLAN_MAX_SHARED_BYTES);
    return NULL;
}

/* ---- What it costs, of one point ------------------------------------------------------------- */

static KernelCost cost_of(const Machine *m, const ByteProduct *product, const PlanGroup *group)
{
    const ProductTile tile = tile_of(product, group);
    const double points = (double)PRODUCT_BLOCK_ROWS * group->strip;
    const double cycles_a_second = m->ghz * 1e9 * (double)m->cores;
    const double slots =
        m->product_copy_slots * (double)(tile.rows * tile.read) / points
        + m->product_weight_slots * (double)tile.weights / ((double)group->product * group->strip)
        + m->product_point_slots;
    const double multiplied = product->rows * (double)(tile.parts * PRODUCT_BYTES);
    KernelCost cost = { .seconds = INFINITY };
    if (m->products_per_cycle > 0) {
        cost.busy_seconds = multiplied / m->products_per_cycle / cycles_a_second;
        cost.seconds = cost.busy_seconds + slots / tessi_gpu_lanes(m) / cycles_a_second;
    }
    return cost;
}

KernelCost tessi_plan_product_cost(const PlanFacts *f, const Machine *m, const PlanGroup *group)
{
    ByteProduct product;
    tessi_stage_byte_product(f->g, f->walk, tessi_stage(f->g, group->members.at[0]), &product);
    return cost_of(m, &product, group);
}

/* ---- Choosing -------------------------------------------------------------------------------- */

/* The best blocks for the group, which has one member; INFINITY: it has no such sum. */
static double best_blocks(const PlanFacts *f, const Machine *m, const Plan *p,
                          const PlanGroup *group, PlanGroup *best)
{
    /* Rows, columns, threads, and blocks that are to fit a multiprocessor: as measured (decision 065). */
    static const uint16_t blocks[][4] = { { 128, 128, 256, 3 },
                                          { 256, 64, 256, 4 },
                                          { 256, 32, 128, 0 } };
    ByteProduct product;
    double least = INFINITY;
    if (!(m->products_per_cycle > 0)
        || !tessi_stage_byte_product(f->g, f->walk, tessi_stage(f->g, group->members.at[0]),
                                     &product))
        return least;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        PlanGroup tried = *group;
        tessi_plan_point_kernel(&tried);
        tried.resident = (uint8_t)blocks[i][3];
        tried.product = blocks[i][0];
        tried.strip = blocks[i][1];
        tessi_level_set_threads(&tried.levels, 0, blocks[i][2]);
        tessi_plan_fit_product(&tried);
        const double cost = cost_of(m, &product, &tried).seconds;
        if (cost >= least || tessi_plan_check_product(f, p, &tried))
            continue;
        least = cost;
        *best = tried;
    }
    return least;
}

void tessi_plan_propose_product(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, StageId id, PlanGroup *alone)
{
    const Stage *s = tessi_stage(f->g, id);
    PlanGroup tried = *alone;
    VEC_PUSH(f->arena, &tried.members, id);
    if (alone->strip
        || best_blocks(f, m, p, &tried, &tried)
               >= tessi_plan_op_seconds(m, &an->cost[id.v], s->type))
        return;
    alone->product = tried.product;
    alone->strip = tried.strip;
}

bool tessi_plan_choose_product(const PlanFacts *f, const Machine *m, const Plan *p,
                               PlanGroup *group, double otherwise, double *cost)
{
    PlanGroup best;
    *cost = group->members.n == 1 ? best_blocks(f, m, p, group, &best) : INFINITY;
    if (!(*cost < otherwise))
        return false;
    *group = best;
    return true;
}
