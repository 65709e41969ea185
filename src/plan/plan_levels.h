/* plan_levels: what the loops of a group or of a pass are, asked by what they are for. Whoever reads or changes a plan
 * does it by these functions, so that how plans hold their loops is known here alone. */
#ifndef TESSERA_PLAN_PLAN_LEVELS_H
#define TESSERA_PLAN_PLAN_LEVELS_H

#include "plan/plan.h"

enum { PLAN_MAX_APART = 256 }; /* from one point of a thread to the next */

/* Along the last dimension, and along the one before. */
typedef struct PlanOutputs {
    uint8_t of[2];
} PlanOutputs;
typedef struct PlanThreads {
    uint16_t of[2];
} PlanThreads;
/* From one of the outputs to the next. */
typedef struct PlanApart {
    uint16_t of[2];
} PlanApart;
typedef struct PlanSizes {
    int64_t of[MAX_DIMS];
} PlanSizes;

/* The largest size of such a level. */
int64_t tessi_level_most(LevelHow how);
/* The size that the example of levels.def has; 0: none. */
int64_t tessi_level_usual(LevelHow how);
/* Of a dimension counted from the last: x, y, z, w. */
const char *tessi_level_dim_name(uint8_t dim);
/* The same level. */
bool tessi_level_is(const PlanLevel *a, const PlanLevel *b);
/* The level of a dimension and kind; NULL: there is none. */
const PlanLevel *tessi_level_find(const PlanLevels *levels, uint8_t dim, LevelHow how);
/* It takes the place of the level that is like it, or, where there is none, stands where loops over steps and what is
 * unrolled begin. False when a list has no room for it. */
bool tessi_level_put(PlanLevels *levels, const PlanLevel *level);
void tessi_level_leave_out(PlanLevels *levels, uint8_t dim, LevelHow how);
/* As on a plan page: `y 8 step`. */
void tessi_level_print(const PlanLevel *level, Text *out);
/* The levels that lowering has for what these say: the same ones when it can lower them. */
PlanLevels tessi_levels_arranged(const PlanLevels *levels);
/* The same over so many dimensions: those beyond are left out, and what is missing of tiles is added. */
PlanLevels tessi_levels_for(const PlanLevels *levels, uint8_t n_dims);
/* Of level_presets.def: the name of number i, NULL after the last; and its levels. */
const char *tessi_level_preset_name(size_t i);
bool tessi_level_preset(Arena *a, size_t i, PlanLevels *out);
/* The level at which the group computes stages that live there: "y.step". */
const char *tessi_level_of_place(const PlanGroup *group, Placement place);

/* Loops over so many dimensions (of a pass: 0) whose steps compute one point, without tiles, shared among no cores, in
 * no vectors. */
void tessi_levels_one_by_one(PlanLevels *levels, uint8_t n_dims);

/* How the group becomes a kernel; NONE on CPUs. */
KernelKind tessi_plan_kernel(const PlanGroup *group);
void tessi_plan_set_kernel(PlanGroup *group, KernelKind kernel);

/* Points of the members computed at a time along dimension `d`; 0: no tiles. */
int64_t tessi_level_tile(const PlanGroup *group, int d);
void tessi_level_set_tile(PlanGroup *group, int d, int64_t points);
PlanSizes tessi_level_tile_all(const PlanGroup *group);
/* Tiles are gone through from top to bottom, so many rows at a time, and stages of passes keep the rows that are still
 * needed in rings; 0: a tile of each stage is computed whole. */
uint16_t tessi_level_roll(const PlanLevels *levels);
void tessi_level_set_roll(PlanLevels *levels, uint16_t rows);
/* The dimension of the group along which they are. */
uint8_t tessi_level_roll_dim(const PlanGroup *group);

/* The first dimension (with tiles: all but the last) is shared among the cores. */
bool tessi_level_parallel(const PlanLevels *levels);
void tessi_level_set_parallel(PlanGroup *group, bool parallel);
/* The last dimension runs in vectors. */
bool tessi_level_vector(const PlanLevels *levels);
void tessi_level_set_vector(PlanGroup *group, bool vector);

/* Of CPUs: rows of the result that one pass of the vector loop computes together, sharing what they read; at least
 * 1. */
uint8_t tessi_level_rows(const PlanLevels *levels);
void tessi_level_set_rows(PlanLevels *levels, uint8_t rows);
/* Of CPUs: vectors that a step of the vector loop computes side by side; at least 1. */
uint8_t tessi_level_columns(const PlanLevels *levels);
void tessi_level_set_columns(PlanLevels *levels, uint8_t columns);
/* Rows that a vector of columns goes down with stages in registers; 0: these are inlined here. */
uint16_t tessi_level_band(const PlanLevels *levels);
void tessi_level_set_band(PlanLevels *levels, uint16_t rows);

/* Threads of a block along the last dimension (k = 0) and the one before (k = 1). */
uint16_t tessi_level_threads(const PlanLevels *levels, int k);
void tessi_level_set_threads(PlanLevels *levels, int k, uint16_t threads);
PlanThreads tessi_level_threads_all(const PlanLevels *levels);
/* Points that each of them computes along these dimensions. */
uint8_t tessi_level_outputs(const PlanLevels *levels, int k);
void tessi_level_set_outputs(PlanLevels *levels, int k, uint8_t outputs);
PlanOutputs tessi_level_outputs_all(const PlanLevels *levels);
void tessi_level_set_outputs_all(PlanLevels *levels, PlanOutputs outputs);
/* They stand so far apart, and the points in between are those of other threads; 1: side by side. */
uint16_t tessi_level_apart(const PlanLevels *levels, int k);
PlanApart tessi_level_apart_all(const PlanLevels *levels);
/* Points from the first of a thread to the first of one that begins after its last: outputs times apart. */
int64_t tessi_level_reach(const PlanLevels *levels, int k);
/* Some points of the threads of a group, or of its passes, stand apart. */
bool tessi_plan_is_spread(const PlanGroup *group);
void tessi_level_set_apart(PlanLevels *levels, int k, uint16_t apart);
/* All that a thread computes. */
int tessi_level_points(const PlanLevels *levels);
/* How far threads go down, of kernels of rolling sums, of warps and of medians; zeros: no such limits. */
PlanMarch tessi_level_march(const PlanLevels *levels);
void tessi_level_set_march(PlanLevels *levels, PlanMarch march);
void tessi_level_set_march_blocks(PlanLevels *levels, uint32_t blocks);

#endif
