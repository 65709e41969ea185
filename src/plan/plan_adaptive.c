/* Adaptive tiling: a thread computes several rows of one column, and a block first loads what its tile reads into
 * shared memory. The larger the tile, the fewer of the elements that it loads are halo; how large it may be depends on
 * the window, on shared memory, of which two blocks are to fit a multiprocessor, and on the code of a thread, which
 * writes the window out. Threads of a warp stand side by side, so that no two of them meet in a bank. */
#include "plan/plan_costs.h"

typedef struct Adaptive {
    const PlanFacts *f;
    const Machine *m;
    const Plan *p;
    const AdaptiveCopies copies;
    void *user;
} Adaptive;

static void set_tile(PlanGroup *group, uint16_t columns, uint16_t rows, uint8_t each)
{
    const uint8_t y = (uint8_t)(group->n_dims - 2);
    tessi_plan_point_kernel(group);
    tessi_plan_set_kernel(group, KERNEL_TILE);
    for (uint8_t d = 0; d < y; d++)
        tessi_level_set_tile(group, d, 1);
    tessi_level_set_tile(group, y, rows * each);
    tessi_level_set_tile(group, y + 1, columns);
    tessi_level_set_threads(&group->levels, 0, (uint16_t)(columns * rows));
    tessi_level_set_threads(&group->levels, 1, 1);
    tessi_level_set_outputs_all(&group->levels, (PlanOutputs){ { 1, each } });
    group->split = SPLIT_INTERIOR;
}

/* Elements that a block loads for each of its points; negative: it cannot be. */
static double loaded(const Adaptive *a, PlanGroup *group)
{
    PlanRegions regions = { 0 };
    double all = 0, points = 1;
    const int64_t block =
        a->m->shared_bytes < PLAN_MAX_SHARED_BYTES ? a->m->shared_bytes : PLAN_MAX_SHARED_BYTES;
    if (tessi_plan_check_tiles(a->f, a->p, group, &regions))
        return -1;
    a->copies(a->user, group);
    const int64_t bytes = tessi_plan_block_bytes(a->f, a->p, group);
    if (bytes > block || 2 * (bytes + (int64_t)a->m->reserved_bytes) > a->m->shared_bytes)
        return -1;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        PlanCopy copy;
        if (staged->in != STAGED_CONSTANT && !tessi_plan_copied(a->f, a->p, group, staged, &copy))
            all += copy.copied;
    }
    for (uint8_t d = 0; d < group->n_dims; d++)
        points *= (double)tessi_level_tile(group, d);
    return all / points;
}

void tessi_plan_adapt_tile(const PlanFacts *f, const Machine *m, const Plan *p, PlanGroup *group,
                           AdaptiveCopies copies, void *user)
{
    enum { MOST_POINTS = 4096, MOST_THREADS = 256, MOST_EACH = 8 }; /* of windows written out */
    const Adaptive a = { f, m, p, copies, user };
    const StageId id = group->members.at[0];
    const int64_t most = m->block_threads < MOST_THREADS ? m->block_threads : MOST_THREADS;
    PlanGroup best = *group;
    double least = -1;
    if (group->n_dims < 2 || !tessi_plan_can_tile(f, id))
        return;
    for (uint16_t columns = PLAN_WARP; columns <= 4 * PLAN_WARP; columns *= 2)
        for (uint16_t rows = 1; columns * rows <= most; rows *= 2)
            for (uint8_t each = 1; each <= MOST_EACH; each *= 2) {
                PlanGroup tried = *group;
                if (f->window_points[id.v] * each > MOST_POINTS)
                    break;
                set_tile(&tried, columns, rows, each);
                const double n = loaded(&a, &tried);
                if (n < 0 || !tried.staged.n || (least >= 0 && n >= least))
                    continue;
                least = n;
                best = tried;
            }
    if (least < 0)
        return;
    *group = best;
    tessi_plan_add_reason(
        f->arena, &group->reason,
        tessi_sprintf(
            f->arena,
            "tile %lld x %lld, %u rows a thread: %.2f elements loaded a point, %lld bytes of "
            "shared memory",
            (long long)tessi_level_tile(group, group->n_dims - 2),
            (long long)tessi_level_tile(group, group->n_dims - 1),
            (unsigned)tessi_level_outputs(&group->levels, 1), least,
            (long long)tessi_plan_block_bytes(f, p, group)));
}
