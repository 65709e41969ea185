/* The levels of groups and passes. Lowering knows some orders of levels: those that an arrangement can say. It is what
 * the functions of plan_levels.h change; the list is made from it, and it is found in the list. */
#include "plan/plan_levels.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan_base.h"

enum { X, Y, Z };

/* What a list of levels says. Numbers that are 0 are said by no level. */
typedef struct Arrangement {
    uint8_t n_dims;
    bool is_kernel;
    bool shared; /* among cores */
    bool vector;
    uint32_t tile[MAX_DIMS]; /* by dimension from the last */
    PlanMarch march;
    uint16_t threads[2];
    bool warps, walks;   /* lanes of warps; steps of a thread */
    uint32_t roll, band; /* steps through a tile */
    uint8_t unroll[2];
    uint16_t apart[2]; /* from one of these to the next; 0: 1 */
} Arrangement;

const char *tessi_level_name(LevelHow how)
{
    static const char *const names[] = {
#define LEVEL(id, name, most, example, meaning) name,
#include "plan/levels.def"
#undef LEVEL
    };
    return names[how];
}

bool tessi_level_by_name(const char *name, LevelHow *out)
{
    for (int how = 0; how < N_LEVEL_HOWS; how++) {
        if (tessi_streq(name, tessi_level_name((LevelHow)how))) {
            *out = (LevelHow)how;
            return true;
        }
    }
    return false;
}

int64_t tessi_level_most(LevelHow how)
{
    static const int64_t most[] = {
#define LEVEL(id, name, most, example, meaning) most,
#include "plan/levels.def"
#undef LEVEL
    };
    return most[how];
}

int64_t tessi_level_usual(LevelHow how)
{
    static const char *const examples[] = {
#define LEVEL(id, name, most, example, meaning) example,
#include "plan/levels.def"
#undef LEVEL
    };
    return strtoll(examples[how] + strcspn(examples[how], " "), NULL, 10); /* after the dimension */
}

const char *tessi_level_dim_name(uint8_t dim)
{
    static const char *const names[] = { "x", "y", "z", "w" };
    return names[dim < MAX_DIMS ? dim : MAX_DIMS - 1];
}

void tessi_level_print(const PlanLevel *level, Text *out)
{
    tessi_text_add(out, tessi_level_dim_name(level->dim));
    if (level->size)
        tessi_text_addf(out, " %u", (unsigned)level->size);
    if (level->most)
        tessi_text_addf(out, "..%u", (unsigned)level->most);
    tessi_text_addf(out, " %s", tessi_level_name((LevelHow)level->how));
    if (level->most)
        tessi_text_addf(out, " %u blocks", (unsigned)level->blocks);
    if (level->ahead)
        tessi_text_add(out, " ahead");
    if (level->apart)
        tessi_text_addf(out, " %u apart", (unsigned)level->apart);
}

const PlanLevel *tessi_level_find(const PlanLevels *levels, uint8_t dim, LevelHow how)
{
    for (uint8_t i = 0; i < levels->n; i++)
        if (levels->at[i].dim == dim && levels->at[i].how == how)
            return &levels->at[i];
    return NULL;
}

bool tessi_level_is(const PlanLevel *a, const PlanLevel *b)
{
    return a->dim == b->dim && a->how == b->how && a->size == b->size && a->most == b->most
           && a->blocks == b->blocks && a->ahead == b->ahead && a->apart == b->apart;
}

/* ---- The list, read -------------------------------------------------------------------------- */

static bool has_level(const PlanLevels *levels, LevelHow how)
{
    for (uint8_t i = 0; i < levels->n; i++)
        if (levels->at[i].how == how)
            return true;
    return false;
}

/* Of those that are so and along this dimension, 0 when there is none. */
static uint32_t size_of(const PlanLevels *levels, LevelHow how, int dim)
{
    const PlanLevel *level = tessi_level_find(levels, (uint8_t)dim, how);
    return level ? level->size : 0;
}

/* A level of the grid, or loops in its place. `outer` says which dimensions have one already. */
static void read_outer(const PlanLevel *at, bool *outer, bool *inside, Arrangement *out)
{
    if (at->how == LEVEL_SERIAL && at->dim == X && !at->size) {
        *inside = true; /* the innermost loop, not in vectors */
        return;
    }
    if (at->how == LEVEL_SERIAL && (outer[at->dim] || !out->n_dims)) {
        out->band = at->size;
        return;
    }
    outer[at->dim] = true;
    out->shared = out->shared || at->how != LEVEL_SERIAL;
    if (at->most)
        out->march =
            (PlanMarch){ (uint16_t)at->size, (uint16_t)at->most, at->blocks, false, at->dim == Z };
    else
        out->tile[at->dim] = at->size;
}

static Arrangement arrangement_of(const PlanLevels *levels)
{
    Arrangement a = { .n_dims = levels->n_dims, .is_kernel = has_level(levels, LEVEL_THREAD) };
    bool outer[MAX_DIMS] = { false }, inside = false, ahead = false;
    for (uint8_t i = 0; i < levels->n; i++) {
        const PlanLevel *at = &levels->at[i];
        switch ((LevelHow)at->how) {
        case LEVEL_GRID:
        case LEVEL_SERIAL: read_outer(at, outer, &inside, &a); break;
        case LEVEL_THREAD:
            if (at->dim <= Y)
                a.threads[at->dim] = (uint16_t)at->size;
            break;
        case LEVEL_STEP:
            ahead = ahead || at->ahead;
            if (a.is_kernel)
                a.walks = true;
            else if (!inside && !a.band)
                a.roll = at->size;
            break;
        case LEVEL_UNROLL:
            if (at->dim > Y)
                break;
            a.unroll[at->dim] = (uint8_t)at->size;
            a.apart[at->dim] = at->apart;
            break;
        case LEVEL_LANES:
            a.warps = a.is_kernel;
            a.vector = inside = !a.is_kernel;
            break;
        case N_LEVEL_HOWS: break;
        }
    }
    a.march.ahead = ahead;
    return a;
}

/* ---- The list, changed ----------------------------------------------------------------------- */

/* Of a grid, whatever its parts are. */
static bool is_outer(uint8_t how)
{
    return how == LEVEL_GRID || how == LEVEL_SERIAL;
}

bool tessi_level_put(PlanLevels *levels, const PlanLevel *level)
{
    for (int exact = 1; exact >= 0; exact--)
        for (uint8_t i = 0; i < levels->n; i++) {
            PlanLevel *at = &levels->at[i];
            if (at->dim != level->dim
                || (exact ? at->how != level->how : !(is_outer(at->how) && is_outer(level->how))))
                continue;
            *at = *level;
            return true;
        }
    uint8_t to = levels->n;
    for (uint8_t i = levels->n; i-- > 0 && levels->n < PLAN_MAX_LEVELS;)
        if (levels->at[i].how != LEVEL_THREAD && !is_outer(levels->at[i].how))
            to = i;
    if (levels->n == PLAN_MAX_LEVELS)
        return false;
    for (uint8_t i = levels->n++; i > to; i--)
        levels->at[i] = levels->at[i - 1];
    levels->at[to] = *level;
    return true;
}

void tessi_level_leave_out(PlanLevels *levels, uint8_t dim, LevelHow how)
{
    uint8_t kept = 0;
    for (uint8_t i = 0; i < levels->n; i++)
        if (levels->at[i].dim != dim || levels->at[i].how != how)
            levels->at[kept++] = levels->at[i];
    levels->n = kept;
}

/* ---- The list, made -------------------------------------------------------------------------- */

static void add(PlanLevels *levels, uint8_t dim, LevelHow how, uint32_t size)
{
    if (levels->n < PLAN_MAX_LEVELS)
        levels->at[levels->n++] = (PlanLevel){ .dim = dim, .how = (uint8_t)how, .size = size };
}

static bool is_tiled(const Arrangement *a)
{
    return a->n_dims && a->tile[X];
}

/* The dimension that steps of threads go down. */
static uint8_t march_dim(const Arrangement *a)
{
    return a->march.planes ? Z : Y;
}

static void add_grid(const Arrangement *a, PlanLevels *out)
{
    for (uint8_t d = a->n_dims; d-- > 0;) {
        if (d > X || a->is_kernel || is_tiled(a) || (a->n_dims == 1 && a->shared))
            add(out, d, a->shared || a->is_kernel ? LEVEL_GRID : LEVEL_SERIAL, a->tile[d]);
        if (d != march_dim(a) || !a->march.least)
            continue;
        PlanLevel *last = &out->at[out->n - 1];
        last->size = a->march.least;
        last->most = a->march.most;
        last->blocks = a->march.blocks;
    }
}

static void add_unrolled(const Arrangement *a, int dim, PlanLevels *out)
{
    if (!a->unroll[dim])
        return;
    add(out, (uint8_t)dim, LEVEL_UNROLL, a->unroll[dim]);
    if (a->unroll[dim] > 1 && (a->is_kernel || !a->n_dims) && !a->walks && !a->warps)
        out->at[out->n - 1].apart = a->apart[dim];
}

/* What is inside of a part of the grid. */
static void add_loops(const Arrangement *a, PlanLevels *out)
{
    if (a->roll)
        add(out, Y, LEVEL_STEP, a->roll);
    if (a->band)
        add(out, Y, LEVEL_SERIAL, a->band);
    if (!a->band)
        add_unrolled(a, Y, out);
    add_unrolled(a, X, out);
    if (a->n_dims)
        add(out, X, a->vector ? LEVEL_LANES : LEVEL_SERIAL, 0);
    if (!a->band)
        return;
    add(out, Y, LEVEL_STEP, 0);
    add_unrolled(a, Y, out);
}

static void add_threads(const Arrangement *a, PlanLevels *out)
{
    if (a->threads[Y] > 1)
        add(out, Y, LEVEL_THREAD, a->threads[Y]);
    add(out, X, LEVEL_THREAD, a->threads[X] ? a->threads[X] : 1);
    if (a->warps)
        add(out, X, LEVEL_LANES, 0);
    if (a->walks) {
        add(out, march_dim(a), LEVEL_STEP, 0);
        out->at[out->n - 1].ahead = a->march.ahead;
    }
    add_unrolled(a, Y, out);
    add_unrolled(a, X, out);
}

/* Levels of one turn are left out where nothing depends on them: with `x 1 unroll` alone a group is a kernel of
 * register tiles, with `y 1 unroll` a step has rows of its own. */
static void drop_single(Arrangement *a)
{
    const bool sweeps = a->walks && !a->warps && a->unroll[Y];
    const bool registers =
        a->is_kernel && !a->walks && !is_tiled(a) && (a->unroll[X] || a->unroll[Y]);
    if (a->unroll[Y] == 1 && !sweeps)
        a->unroll[Y] = 0;
    if (a->unroll[X] == 1)
        a->unroll[X] = registers && !a->unroll[Y];
    else if (registers && !a->unroll[X] && !a->unroll[Y])
        a->unroll[X] = 1;
}

static void arrange(PlanLevels *levels, Arrangement a)
{
    PlanLevels made = { .n_dims = a.n_dims };
    drop_single(&a);
    add_grid(&a, &made);
    if (a.is_kernel)
        add_threads(&a, &made);
    else
        add_loops(&a, &made);
    *levels = made;
}

PlanLevels tessi_levels_arranged(const PlanLevels *levels)
{
    PlanLevels made = *levels;
    arrange(&made, arrangement_of(levels));
    return made;
}

PlanLevels tessi_levels_for(const PlanLevels *levels, uint8_t n_dims)
{
    PlanLevels made = *levels;
    made.n_dims = n_dims;
    for (uint8_t how = 0; how < N_LEVEL_HOWS; how++)
        for (uint8_t dim = n_dims; dim < MAX_DIMS; dim++)
            if (how != LEVEL_THREAD || dim > X)
                tessi_level_leave_out(&made, dim, (LevelHow)how);
    Arrangement a = arrangement_of(&made);
    for (uint8_t dim = Y; dim < n_dims && is_tiled(&a); dim++)
        if (!a.tile[dim] && !(dim == Y && a.march.least))
            a.tile[dim] = a.is_kernel ? 1 : a.tile[Y];
    arrange(&made, a);
    return made;
}

const char *tessi_level_of_place(const PlanGroup *group, Placement place)
{
    const Arrangement a = arrangement_of(&group->levels);
    if (place == PLACE_LANES || place == PLACE_REGISTERS || (place == PLACE_SCRATCH && a.roll))
        return a.is_kernel && a.march.planes ? "z.step" : "y.step";
    return a.shared || a.is_kernel ? "x.grid" : "x.serial";
}

void tessi_levels_one_by_one(PlanLevels *levels, uint8_t n_dims)
{
    arrange(levels, (Arrangement){ .n_dims = n_dims });
}

/* ---- Kernels --------------------------------------------------------------------------------- */

KernelKind tessi_plan_kernel(const PlanGroup *group)
{
    const PlanLevels *levels = &group->levels;
    bool has[N_LEVEL_HOWS] = { false }, tiled = false,
         rows = false; /* planners ask this often: no arrangement */
    for (uint8_t i = 0; i < levels->n; i++) {
        const PlanLevel *at = &levels->at[i];
        has[at->how] = has[at->how] || at->how != LEVEL_STEP || at->dim == Y;
        tiled = tiled || (at->how == LEVEL_GRID && at->dim == X && at->size);
        rows = rows || (at->how == LEVEL_UNROLL && at->dim == Y);
    }
    return !has[LEVEL_THREAD]        ? KERNEL_NONE
           : group->transform        ? KERNEL_TRANSFORM
           : group->median           ? KERNEL_MEDIAN
           : group->product          ? KERNEL_PRODUCT
           : has[LEVEL_LANES]        ? KERNEL_WARP
           : has[LEVEL_STEP] && rows ? KERNEL_SWEEP
           : has[LEVEL_STEP]         ? KERNEL_ROLLING
           : tiled && levels->n_dims ? KERNEL_TILE
           : has[LEVEL_UNROLL]       ? KERNEL_REGISTER
                                     : KERNEL_POINT;
}

void tessi_plan_set_kernel(PlanGroup *group, KernelKind kernel)
{
    Arrangement a = arrangement_of(&group->levels);
    const bool rows = kernel == KERNEL_SWEEP,
               tiles = kernel == KERNEL_TILE || kernel == KERNEL_WARP;
    a.is_kernel = kernel != KERNEL_NONE;
    a.threads[X] = a.threads[X] ? a.threads[X] : 1;
    a.warps = kernel == KERNEL_WARP;
    a.walks = a.warps || rows || kernel == KERNEL_ROLLING;
    a.march.planes = a.march.planes && a.warps;
    if (a.is_kernel)
        a.roll = 0;
    a.march.ahead = a.march.ahead && a.walks;
    if (!tiles)
        memset(a.tile, 0, sizeof a.tile);
    if (kernel == KERNEL_POINT || kernel == KERNEL_NONE)
        a.unroll[X] = a.unroll[Y] = 0;
    if (kernel == KERNEL_ROLLING)
        a.unroll[Y] = 0;
    if (rows && !a.unroll[Y])
        a.unroll[Y] = 1;
    if (kernel == KERNEL_REGISTER && !a.unroll[X] && !a.unroll[Y])
        a.unroll[X] = 1;
    arrange(&group->levels, a);
}

/* ---- Tiles and loops ------------------------------------------------------------------------- */

int64_t tessi_level_tile(const PlanGroup *group, int d)
{
    const Arrangement a = arrangement_of(&group->levels);
    const int dim = group->n_dims - 1 - d;
    if (dim < 0)
        return 0;
    return dim == march_dim(&a) && a.march.least && is_tiled(&a) ? 1 : a.tile[dim];
}

PlanSizes tessi_level_tile_all(const PlanGroup *group)
{
    PlanSizes all = { { 0 } };
    for (int d = 0; d < group->n_dims; d++)
        all.of[d] = tessi_level_tile(group, d);
    return all;
}

void tessi_level_set_tile(PlanGroup *group, int d, int64_t points)
{
    Arrangement a = arrangement_of(&group->levels);
    const int dim = group->n_dims - 1 - d;
    if (dim < 0)
        return;
    a.tile[dim] = (uint32_t)points;
    arrange(&group->levels, a);
}

uint16_t tessi_level_roll(const PlanLevels *levels)
{
    return (uint16_t)arrangement_of(levels).roll;
}

void tessi_level_set_roll(PlanLevels *levels, uint16_t rows)
{
    Arrangement a = arrangement_of(levels);
    a.roll = rows;
    arrange(levels, a);
}

uint8_t tessi_level_roll_dim(const PlanGroup *group)
{
    return (uint8_t)(group->n_dims < 2 ? 0 : group->n_dims - 2);
}

bool tessi_level_parallel(const PlanLevels *levels)
{
    return arrangement_of(levels).shared;
}

void tessi_level_set_parallel(PlanGroup *group, bool parallel)
{
    Arrangement a = arrangement_of(&group->levels);
    a.shared = parallel;
    arrange(&group->levels, a);
}

bool tessi_level_vector(const PlanLevels *levels)
{
    const Arrangement a = arrangement_of(levels);
    return a.is_kernel ? a.n_dims > 0 : a.vector;
}

void tessi_level_set_vector(PlanGroup *group, bool vector)
{
    Arrangement a = arrangement_of(&group->levels);
    a.vector = vector;
    arrange(&group->levels, a);
}

/* ---- What is unrolled ------------------------------------------------------------------------ */

/* Of CPUs, or of kernels. */
static uint8_t unrolled(const PlanLevels *levels, int dim, bool kernel)
{
    const uint32_t n = size_of(levels, LEVEL_UNROLL, dim);
    return n && (!levels->n_dims || has_level(levels, LEVEL_THREAD) == kernel) ? (uint8_t)n : 1;
}

static void unroll(PlanLevels *levels, int dim, bool kernel, uint8_t n)
{
    Arrangement a = arrangement_of(levels);
    if (a.n_dims && a.is_kernel != kernel)
        return;
    a.unroll[dim] = n > 1 || a.unroll[dim] ? n : 0;
    arrange(levels, a);
}

uint8_t tessi_level_rows(const PlanLevels *levels)
{
    return unrolled(levels, Y, false);
}

void tessi_level_set_rows(PlanLevels *levels, uint8_t rows)
{
    unroll(levels, Y, false, rows);
}

uint8_t tessi_level_columns(const PlanLevels *levels)
{
    return unrolled(levels, X, false);
}

void tessi_level_set_columns(PlanLevels *levels, uint8_t columns)
{
    unroll(levels, X, false, columns);
}

uint16_t tessi_level_band(const PlanLevels *levels)
{
    return (uint16_t)arrangement_of(levels).band;
}

void tessi_level_set_band(PlanLevels *levels, uint16_t rows)
{
    Arrangement a = arrangement_of(levels);
    a.band = rows;
    arrange(levels, a);
}

uint8_t tessi_level_outputs(const PlanLevels *levels, int k)
{
    return unrolled(levels, k, true);
}

void tessi_level_set_outputs(PlanLevels *levels, int k, uint8_t outputs)
{
    unroll(levels, k, true, outputs);
}

PlanOutputs tessi_level_outputs_all(const PlanLevels *levels)
{
    return (PlanOutputs){ { tessi_level_outputs(levels, X), tessi_level_outputs(levels, Y) } };
}

void tessi_level_set_outputs_all(PlanLevels *levels, PlanOutputs outputs)
{
    tessi_level_set_outputs(levels, X, outputs.of[X]);
    tessi_level_set_outputs(levels, Y, outputs.of[Y]);
}

uint16_t tessi_level_apart(const PlanLevels *levels, int k)
{
    const PlanLevel *level = tessi_level_find(levels, (uint8_t)k, LEVEL_UNROLL);
    return level && level->apart ? level->apart : 1;
}

PlanApart tessi_level_apart_all(const PlanLevels *levels)
{
    return (PlanApart){ { tessi_level_apart(levels, X), tessi_level_apart(levels, Y) } };
}

int64_t tessi_level_reach(const PlanLevels *levels, int k)
{
    return (int64_t)tessi_level_outputs(levels, k) * tessi_level_apart(levels, k);
}

static bool is_spread(const PlanLevels *levels)
{
    return tessi_level_apart(levels, X) > 1 || tessi_level_apart(levels, Y) > 1;
}

bool tessi_plan_is_spread(const PlanGroup *group)
{
    bool spread = is_spread(&group->levels);
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        spread = spread || is_spread(&pass->levels);
    return spread;
}

void tessi_level_set_apart(PlanLevels *levels, int k, uint16_t apart)
{
    Arrangement a = arrangement_of(levels);
    a.apart[k] = apart > 1 ? apart : 0;
    arrange(levels, a);
}

int tessi_level_points(const PlanLevels *levels)
{
    return tessi_level_outputs(levels, X) * tessi_level_outputs(levels, Y);
}

/* ---- Threads --------------------------------------------------------------------------------- */

uint16_t tessi_level_threads(const PlanLevels *levels, int k)
{
    const uint32_t n = size_of(levels, LEVEL_THREAD, k);
    return n ? (uint16_t)n : 1;
}

void tessi_level_set_threads(PlanLevels *levels, int k, uint16_t threads)
{
    Arrangement a = arrangement_of(levels);
    a.is_kernel = true;
    a.threads[k] = threads;
    arrange(levels, a);
}

PlanThreads tessi_level_threads_all(const PlanLevels *levels)
{
    return (PlanThreads){ { tessi_level_threads(levels, X), tessi_level_threads(levels, Y) } };
}

PlanMarch tessi_level_march(const PlanLevels *levels)
{
    return arrangement_of(levels).march;
}

void tessi_level_set_march(PlanLevels *levels, PlanMarch march)
{
    Arrangement a = arrangement_of(levels);
    a.march = march;
    arrange(levels, a);
}

void tessi_level_set_march_blocks(PlanLevels *levels, uint32_t blocks)
{
    Arrangement a = arrangement_of(levels);
    a.march.blocks = blocks;
    arrange(levels, a);
}
