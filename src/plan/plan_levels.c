/* The loops of groups and passes. */
#include "plan/plan_levels.h"

void tessi_levels_one_by_one(PlanLevels *levels)
{
    *levels = (PlanLevels){ .parallel = -1,
                            .vector = -1,
                            .rows = 1,
                            .columns = 1,
                            .block = { 1, 1 },
                            .outputs = { 1, 1 } };
}

KernelKind tessi_plan_kernel(const PlanGroup *group)
{
    return group->kind_of_kernel;
}

void tessi_plan_set_kernel(PlanGroup *group, KernelKind kernel)
{
    group->kind_of_kernel = kernel;
}

int64_t tessi_level_tile(const PlanGroup *group, int d)
{
    return group->levels.tile[d];
}

void tessi_level_set_tile(PlanGroup *group, int d, int64_t points)
{
    group->levels.tile[d] = points;
}

PlanSizes tessi_level_tile_all(const PlanGroup *group)
{
    PlanSizes all;
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        all.of[d] = group->levels.tile[d];
    return all;
}

uint16_t tessi_level_roll(const PlanLevels *levels)
{
    return levels->roll;
}

void tessi_level_set_roll(PlanLevels *levels, uint16_t rows)
{
    levels->roll = rows;
}

bool tessi_level_parallel(const PlanLevels *levels)
{
    return levels->parallel >= 0;
}

void tessi_level_set_parallel(PlanGroup *group, bool parallel)
{
    group->levels.parallel = parallel ? 0 : -1;
}

uint16_t tessi_level_dealt(const PlanLevels *levels)
{
    return levels->strip_rows;
}

void tessi_level_set_dealt(PlanLevels *levels, uint16_t rows)
{
    levels->strip_rows = rows;
}

bool tessi_level_vector(const PlanLevels *levels)
{
    return levels->vector >= 0;
}

void tessi_level_set_vector(PlanGroup *group, bool vector)
{
    group->levels.vector = (int8_t)(vector ? group->n_dims - 1 : -1);
}

uint8_t tessi_level_rows(const PlanLevels *levels)
{
    return levels->rows;
}

void tessi_level_set_rows(PlanLevels *levels, uint8_t rows)
{
    levels->rows = rows;
}

uint8_t tessi_level_columns(const PlanLevels *levels)
{
    return levels->columns;
}

void tessi_level_set_columns(PlanLevels *levels, uint8_t columns)
{
    levels->columns = columns;
}

uint16_t tessi_level_band(const PlanLevels *levels)
{
    return levels->band;
}

void tessi_level_set_band(PlanLevels *levels, uint16_t rows)
{
    levels->band = rows;
}

uint16_t tessi_level_threads(const PlanLevels *levels, int k)
{
    return levels->block[k];
}

void tessi_level_set_threads(PlanLevels *levels, int k, uint16_t threads)
{
    levels->block[k] = threads;
}

PlanThreads tessi_level_threads_all(const PlanLevels *levels)
{
    return (PlanThreads){ { levels->block[0], levels->block[1] } };
}

uint8_t tessi_level_outputs(const PlanLevels *levels, int k)
{
    return levels->outputs[k];
}

void tessi_level_set_outputs(PlanLevels *levels, int k, uint8_t outputs)
{
    levels->outputs[k] = outputs;
}

PlanOutputs tessi_level_outputs_all(const PlanLevels *levels)
{
    return (PlanOutputs){ { levels->outputs[0], levels->outputs[1] } };
}

void tessi_level_set_outputs_all(PlanLevels *levels, PlanOutputs outputs)
{
    levels->outputs[0] = outputs.of[0];
    levels->outputs[1] = outputs.of[1];
}

int tessi_level_points(const PlanLevels *levels)
{
    return tessi_level_outputs(levels, 0) * tessi_level_outputs(levels, 1);
}

PlanMarch tessi_level_march(const PlanLevels *levels)
{
    return levels->march;
}

void tessi_level_set_march(PlanLevels *levels, PlanMarch march)
{
    levels->march = march;
}

void tessi_level_set_march_blocks(PlanLevels *levels, uint32_t blocks)
{
    levels->march.blocks = blocks;
}
