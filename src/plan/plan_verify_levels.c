/* Are the levels of a group and of its passes some that lowering has? One sentence about the first fault. */
#include <string.h>

#include "plan/plan_base.h"

static const char *text_of(Arena *a, const PlanLevel *level)
{
    Text text = tessi_text_new(a);
    tessi_level_print(level, &text);
    return tessi_text_str(&text);
}

/* Along which dimensions lowering has such levels; NULL: this one is among them. */
static const char *wrong_dimension(const PlanLevel *level)
{
    if (level->how == LEVEL_LANES && level->dim != 0)
        return "elements lie one behind the other along x alone, so lanes are along x";
    if (level->how == LEVEL_STEP && level->dim != 1 && level->dim != 2)
        return "lowering keeps what later steps read along y, and along z on GPUs";
    if ((level->how == LEVEL_THREAD || level->how == LEVEL_UNROLL) && level->dim > 1)
        return "threads and what is unrolled are along x and y so far";
    return NULL;
}

static const char *check_numbers(Arena *a, const PlanLevel *level)
{
    const int64_t most = level->how == LEVEL_GRID && level->most
                             ? PLAN_MAX_MARCH
                             : tessi_level_most((LevelHow)level->how);
    if (level->size > most || level->most > PLAN_MAX_MARCH)
        return tessi_sprintf(a, "sizes of `%s` are 1 to %lld",
                             tessi_level_name((LevelHow)level->how), (long long)most);
    if (level->how == LEVEL_LANES && level->size)
        return "lanes are as many as the machine has, and have no size";
    if (level->most && (level->how != LEVEL_GRID || level->dim < 1 || level->dim > 2))
        return "parts of a size that the image decides are a grid along y, or along z";
    if (level->most && (level->most < level->size || !level->size))
        return "the smallest part of a grid has more rows than the largest";
    if (level->blocks > PLAN_MAX_MARCH_BLOCKS)
        return tessi_sprintf(a, "there can be %d blocks", PLAN_MAX_MARCH_BLOCKS);
    if (level->ahead && level->how != LEVEL_STEP)
        return "only steps are read ahead";
    if (level->apart && level->how != LEVEL_UNROLL)
        return "what threads unroll stands apart, and nothing else";
    return NULL;
}

/* Where the levels leave those that lowering has for them. */
static const char *check_order(Arena *a, const PlanLevels *levels)
{
    const PlanLevels made = tessi_levels_arranged(levels);
    for (uint8_t i = 0; i < levels->n || i < made.n; i++) {
        if (i < levels->n && i < made.n && tessi_level_is(&levels->at[i], &made.at[i]))
            continue;
        if (i >= levels->n)
            return tessi_sprintf(a, "lowering expects `%s` at the end", text_of(a, &made.at[i]));
        if (i >= made.n)
            return tessi_sprintf(a, "lowering has nothing to do for `%s`",
                                 text_of(a, &levels->at[i]));
        return tessi_sprintf(a, "lowering expects `%s` in the place of `%s`",
                             text_of(a, &made.at[i]), text_of(a, &levels->at[i]));
    }
    return NULL;
}

static const char *check_levels(Arena *a, const PlanLevels *levels, uint8_t n_dims)
{
    for (uint8_t i = 0; i < levels->n; i++) {
        const PlanLevel *level = &levels->at[i];
        const bool thread = level->how == LEVEL_THREAD && level->dim == 0;
        const char *fault = NULL;
        if (level->dim >= n_dims && !thread)
            fault = tessi_sprintf(a, "its stages have no dimension %s",
                                  tessi_level_dim_name(level->dim));
        if (!fault)
            fault = wrong_dimension(level);
        if (!fault)
            fault = check_numbers(a, level);
        if (fault)
            return tessi_sprintf(a, "`%s`: %s", text_of(a, level), fault);
    }
    return check_order(a, levels);
}

/* Points of threads that stand apart, with those of other threads in between: of kernels whose blocks have all of
 * these. */
static const char *check_apart(const PlanGroup *group, const PlanLevels *levels)
{
    const KernelKind kernel = tessi_plan_kernel(group);
    for (int k = 0; k < 2; k++) {
        const uint16_t apart = tessi_level_apart(levels, k);
        if (apart == 1)
            continue;
        if (kernel != KERNEL_REGISTER && kernel != KERNEL_TILE)
            return "points of threads stand apart in register tiles and in tiles alone";
        if (kernel == KERNEL_REGISTER && tessi_level_threads(levels, k) % apart)
            return "as many threads stand in between as points are apart, or a multiple of that";
        if (k == 0 && group->packed)
            return "integers that are packed in words stand side by side";
        if (group->frame.rows[0])
            return "with a frame, their points stand side by side";
    }
    return NULL;
}

static const char *check_group(Arena *a, const Plan *p, const PlanGroup *group)
{
    const PlanLevels *levels = &group->levels;
    const bool tiled = group->n_dims && tessi_level_tile(group, group->n_dims - 1) > 0;
    if (levels->n_dims != group->n_dims)
        return "it has loops over other dimensions than its stages";
    const char *fault = check_levels(a, levels, group->n_dims);
    if (fault)
        return fault;
    for (int d = 0; d < group->n_dims; d++)
        if ((tessi_level_tile(group, d) > 0) != tiled)
            return "tiles have a size in each dimension";
    if (tessi_level_march(levels).planes && tessi_plan_kernel(group) != KERNEL_WARP)
        return "warps alone go down planes";
    if (tessi_level_columns(levels) > PLAN_MAX_COLUMNS)
        return tessi_sprintf(a, "no more than %d vectors stand side by side", PLAN_MAX_COLUMNS);
    if (tessi_level_band(levels) > PLAN_MAX_BAND)
        return tessi_sprintf(a, "bands have 1 to %d rows", PLAN_MAX_BAND);
    fault = check_apart(group, levels);
    if (fault)
        return fault;
    for (uint8_t i = 0; i < levels->n && p->gpu && tessi_plan_has_own_loops(group); i++)
        if (levels->at[i].how == LEVEL_LANES || levels->at[i].how == LEVEL_STEP)
            return tessi_sprintf(
                a, "transforms, medians and products have loops of their own, without `%s`",
                text_of(a, &levels->at[i]));
    if (p->gpu == (tessi_plan_kernel(group) == KERNEL_NONE))
        return p->gpu ? "the plan is for a GPU, and no level is of threads"
                      : "threads are for GPUs, and the plan is for a CPU";
    return NULL;
}

static const char *check_pass(Arena *a, const Plan *p, const PlanGroup *group, const PlanPass *pass)
{
    const PlanLevels *levels = &pass->levels;
    const char *fault = check_levels(a, levels, group->n_dims);
    for (uint8_t i = 0; i < levels->n && !fault; i++) {
        const PlanLevel *level = &levels->at[i];
        if (level->how == LEVEL_UNROLL ? level->dim == 0 && !p->gpu
                                       : level->how != LEVEL_STEP && level->how != LEVEL_SERIAL)
            fault = tessi_sprintf(a, "`%s` is for the levels of the group", text_of(a, level));
    }
    fault = fault ? fault : check_apart(group, levels);
    if (!fault && tessi_level_roll(levels))
        return "steps through tiles are for the levels of the group";
    return fault || tessi_level_band(levels) <= PLAN_MAX_BAND
               ? fault
               : tessi_sprintf(a, "bands have 1 to %d rows", PLAN_MAX_BAND);
}

const char *tessi_plan_check_levels(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    const char *fault = check_group(a, p, group);
    if (fault)
        return tessi_plan_fault(a, group, "%s", fault);
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        fault = check_pass(a, p, group, pass);
        if (fault && pass->stages.n)
            return tessi_sprintf(a, "the levels of stage '%s': %s",
                                 tessi_stage(f->g, pass->stages.at[0])->name, fault);
    }
    return NULL;
}
