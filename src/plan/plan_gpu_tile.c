/* Kernels of tiles: which tile, how many points a thread, how many threads. What a thread of a pass costs does not
 * depend on the tile, so that it is counted once for each number of rows; then tiles are weighed against each other
 * by arithmetic alone. */
#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

enum { MOST_ROWS = 12, FEWER_ROWS = 8, MOST_PARTS = 33 };
static const uint8_t pass_rows[] = { 4, 8, 2, 6, 12, 1 };
enum { N_PASS_ROWS = sizeof pass_rows / sizeof *pass_rows };

typedef struct Search {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    PlanGroup *group;
    const PlanRegions *regions;
    uint32_t n_parts;
    uint8_t columns[MOST_PARTS];
    PlanApart apart[MOST_PARTS]; /* of the points of a thread */
    bool spread;                 /* some stand apart, */
    bool narrow;                 /* those of the members in rows: threads have one column */
    double bytes[MOST_PARTS];    /* of images, that a point reads */
    uint8_t most_rows;           /* of a thread in passes */
    bool many;                   /* some pass was best with more than FEWER_ROWS */
    KernelCost cost[MOST_PARTS][MOST_ROWS + 1]; /* by rows of a thread; not feasible: not to be */
    PlanExtent extent[MOST_PARTS];
} Search;

double tessi_plan_rule_instructions(const Machine *m, Border rule)
{
    switch (rule) {
    case BORDER_CLAMP: return m->clamp_instructions;
    case BORDER_CONSTANT: return m->constant_instructions;
    case BORDER_MIRROR:
    case BORDER_REFLECT:
    case BORDER_WRAP: return m->fold_instructions;
    default: return 0;
    }
}

uint32_t tessi_plan_vector_columns(const PlanFacts *f, const StageList *stages)
{
    enum { OF_PIXELS = 4 };
    uint32_t columns = 16;
    VEC_FOREACH (const StageId, id, stages) {
        const uint32_t n = 16 / tessi_type_info(tessi_stage(f->g, *id)->type)->bytes;
        columns = n < columns ? n : columns;
        columns = f->channels[id->v] > 1 && columns > OF_PIXELS ? OF_PIXELS : columns;
    }
    return columns;
}

/* Columns of a thread: those of a vector; one where it can compute only one point. */
static uint8_t columns_of(const PlanFacts *f, const StageList *stages)
{
    VEC_FOREACH (const StageId, id, stages)
        if (!tessi_plan_can_tile(f, *id))
            return 1;
    return (uint8_t)tessi_plan_vector_columns(f, stages);
}

static PlanLevels *levels_of(const Search *s, uint32_t i)
{
    return i < s->group->passes.n ? &s->group->passes.at[i].levels : &s->group->levels;
}

/* What a thread computes of part i. */
static void set_rows(const Search *s, uint32_t i, uint8_t rows)
{
    PlanLevels *levels = levels_of(s, i);
    tessi_level_set_outputs(levels, 1, rows);
    for (int k = 0; k < 2; k++)
        tessi_level_set_apart(levels, k, s->apart[i].of[k]);
}

/* Part i with each number of rows; false where it can be computed with none. */
static bool count_part(Search *s, uint32_t i)
{
    const StageList list = tessi_plan_part(s->group, i);
    bool any = false;
    for (uint8_t rows = 1; rows <= MOST_ROWS; rows++) {
        bool wanted = i == s->group->passes.n && rows >= 4;
        for (size_t k = 0; k < N_PASS_ROWS; k++)
            wanted = wanted || rows == pass_rows[k];
        if (!wanted || (s->columns[i] == 1 && rows > 1 && !s->narrow))
            continue;
        const uint8_t outputs[2] = { s->columns[i], rows };
        KernelCost *cost = &s->cost[i][rows];
        *cost = tessi_plan_part_cost(s->f, s->an, s->m, s->p, s->group, s->regions, i, outputs,
                                     &s->apart[i], NULL);
        cost->feasible =
            cost->registers <= s->m->registers_a_thread && outputs[0] * rows <= s->f->most_points;
        VEC_FOREACH (const StageId, id, &list)
            cost->feasible =
                cost->feasible
                && s->f->window_points[id->v] * s->columns[i] * rows <= PLAN_MAX_WRITTEN_OUT;
        any = any || (cost->feasible && rows > 1);
    }
    return any;
}

/* Of small elements fewer columns, where a thread has no registers for those of a vector. */
static void count_parts(Search *s)
{
    enum { LEAST_COLUMNS = 4, APART_COLUMNS = 8 };
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const StageList list = tessi_plan_part(s->group, i);
        s->columns[i] = columns_of(s->f, &list);
        if (s->apart[i].of[0] > 1)
            s->columns[i] = APART_COLUMNS;
        s->columns[i] = s->narrow ? 1 : s->columns[i];
        while (!count_part(s, i) && s->columns[i] > LEAST_COLUMNS)
            s->columns[i] /= 2;
    }
}

static double patches(const Search *s, uint32_t i, const uint8_t *outputs)
{
    const PlanExtent *e = &s->extent[i];
    return (double)(e->n[0] / outputs[1] * (e->n[1] / outputs[0]));
}

/* Rows that a thread of pass i computes so that the pass costs least. */
static uint8_t best_rows(Search *s, uint32_t i)
{
    PlanPass *pass = &s->group->passes.at[i];
    uint8_t best = 0;
    double least = 0;
    for (size_t k = 0; k < N_PASS_ROWS; k++) {
        const uint8_t rows = pass_rows[k];
        if (!s->cost[i][rows].feasible || rows > s->most_rows)
            continue;
        set_rows(s, i, rows);
        tessi_plan_extent(s->group, s->regions, i, s->extent);
        KernelCost cost = { 0 };
        tessi_plan_add_part(s->m, &s->cost[i][rows],
                            patches(s, i, tessi_level_outputs_all(&pass->levels).of),
                            tessi_level_threads(&s->group->levels, 0), 1, &cost);
        const double busy =
            s->f->few ? cost.in_rounds : cost.instructions + s->m->rounds_share * cost.in_rounds;
        if (best && busy >= s->m->window_gain * least)
            continue;
        best = rows;
        least = busy;
        s->many = s->many || rows > FEWER_ROWS;
    }
    return best;
}

/* How far the kernel reads beyond its tile. */
static void find_halo(const Search *s, KernelCost *cost)
{
    const PlanGroup *group = s->group;
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const bool pass = i < group->passes.n;
        const uint8_t rows =
            tessi_level_outputs(pass ? &group->passes.at[i].levels : &group->levels, 1);
        for (uint8_t d = 0; d < 2; d++) {
            const int64_t tile = tessi_level_tile(group, group->n_dims - 2 + d);
            int64_t far = 0;
            if (pass) {
                const int64_t after = s->extent[i].lo[d] + s->extent[i].n[d] - tile;
                far = -s->extent[i].lo[d] > after ? -s->extent[i].lo[d] : after;
            }
            far += s->cost[i][rows].halo[d];
            cost->halo[d] = far > cost->halo[d] ? far : cost->halo[d];
        }
    }
}

/* Beside the bytes that are stored: what rows of several vectors a thread cost. */
static double spread_seconds(const Search *s)
{
    const PlanLevels *levels = &s->group->levels;
    const double columns = tessi_level_apart(levels, 0) > 1 ? 1 : tessi_level_outputs(levels, 0);
    double bytes = 0;
    VEC_FOREACH (const StageId, id, &s->group->members)
        bytes += tessi_gpu_stored_bytes(s->f, s->m, *id, columns)
                 - tessi_gpu_stored_bytes(s->f, s->m, *id, 1);
    return bytes / (s->m->memory_gbs * 1e9);
}

/* The tile and the outputs of the group as they are. */
static KernelCost cost_as_is(Search *s, double bytes_seconds)
{
    PlanGroup *group = s->group;
    const uint8_t x = (uint8_t)(group->n_dims - 1), y = (uint8_t)(x - 1);
    const double points = (double)(tessi_level_tile(group, x) * tessi_level_tile(group, y));
    KernelCost cost = { .registers = 1 };
    tessi_plan_extents(group, s->regions, s->extent);
    const int64_t bytes = tessi_plan_shared_bytes(s->f, group, s->extent);
    if (bytes > PLAN_MAX_SHARED_BYTES || bytes > s->m->shared_bytes)
        return cost;
    for (uint32_t i = 0; i < group->passes.n; i++) {
        const PlanOutputs outputs = tessi_level_outputs_all(&group->passes.at[i].levels);
        tessi_plan_add_part(s->m, &s->cost[i][outputs.of[1]], patches(s, i, outputs.of),
                            tessi_level_threads(&group->levels, 0), points, &cost);
    }
    tessi_plan_add_part(
        s->m, &s->cost[group->passes.n][tessi_level_outputs(&group->levels, 1)],
        points / (tessi_level_outputs(&group->levels, 0) * tessi_level_outputs(&group->levels, 1)),
        tessi_level_threads(&group->levels, 0), points, &cost);
    cost.dram_seconds = bytes_seconds + spread_seconds(s);
    for (uint32_t i = 0; i < s->n_parts && s->spread; i++) {
        const bool pass = i < group->passes.n;
        const double computed = pass ? (double)(s->extent[i].n[0] * s->extent[i].n[1]) : points;
        cost.again_bytes += s->bytes[i] * (computed / points - 1);
    }
    tessi_plan_finish_tile(s->f, s->m, group, bytes, &cost);
    return cost;
}

/* Rows of a thread of each pass so that they cost least, whatever the members are computed by; false where a pass
 * can have none. */
static bool choose_pass_rows(Search *s, uint8_t *rows)
{
    for (uint32_t i = s->group->passes.n; i-- > 0;) {
        rows[i] = best_rows(s, i);
        if (!rows[i])
            return false;
        set_rows(s, i, rows[i]);
        tessi_plan_extent(s->group, s->regions, i, s->extent);
    }
    return true;
}

/* Images are read once, whichever part reads them. */
static double bytes_seconds(Search *s)
{
    bool *counted = ARENA_NEW_ARRAY(s->f->arena, bool, s->f->g->stages.n);
    const uint8_t one[2] = { 1, 1 };
    double seconds = 0;
    for (uint32_t i = 0; i < s->n_parts; i++)
        seconds += tessi_plan_part_cost(s->f, s->an, s->m, s->p, s->group, s->regions, i, one, NULL,
                                        counted)
                       .dram_seconds;
    return seconds;
}

/* A search among nothing, of a group whose tile and outputs are settled. */
KernelCost tessi_plan_tile_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group)
{
    KernelCost none = { .registers = 1 };
    PlanRegions regions = { 0 };
    PlanGroup copy = *group;
    if (group->n_dims < 2 || group->passes.n >= MOST_PARTS
        || tessi_plan_regions(f, p, group, &regions))
        return none;
    Search *s = ARENA_NEW(f->arena, Search);
    *s = (Search){ .f = f, .an = an, .m = m, .p = p, .group = &copy, .regions = &regions };
    s->n_parts = group->passes.n + 1;
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const PlanOutputs outputs = tessi_level_outputs_all(
            i < group->passes.n ? &group->passes.at[i].levels : &group->levels);
        s->apart[i] = tessi_level_apart_all(i < group->passes.n ? &group->passes.at[i].levels
                                                                : &group->levels);
        if (outputs.of[1] > MOST_ROWS)
            return none;
        s->cost[i][outputs.of[1]] =
            tessi_plan_part_cost(f, an, m, p, group, &regions, i, outputs.of, &s->apart[i], NULL);
    }
    return cost_as_is(s, bytes_seconds(s));
}

/* How far the passes reach beyond a tile, in whole vectors. */
static int64_t halo(const Search *s, uint8_t d, int64_t step)
{
    int64_t most = 0;
    VEC_FOREACH (const PlanPass, pass, &s->group->passes) {
        const PlanRegion *r = &s->regions->at[pass->stages.at[0].v];
        most = r->hi[d] - r->lo[d] > most ? r->hi[d] - r->lo[d] : most;
    }
    return (most + step - 1) / step * step;
}

/* What a search has found. */
typedef struct Choice {
    double seconds; /* of a point; negative: nothing */
    int64_t tile[2];
    uint16_t threads;
    uint8_t resident;
    uint8_t rows[MOST_PARTS]; /* of a thread */
    double next;              /* seconds of the best tile of another size; negative: none */
    int64_t next_tile[2];
} Choice;

/* Remembers a tile as the best of another size. */
static void note_next(Choice *best, double seconds, int64_t rows, int64_t columns)
{
    if (best->next >= 0 && seconds >= best->next)
        return;
    best->next = seconds;
    best->next_tile[0] = rows;
    best->next_tile[1] = columns;
}

/* Weighs the tile of the group as it is, with so many rows of a thread after its passes and as many in them as cost
 * least. */
static void try_rows(Search *s, double bytes_seconds, uint8_t rows, const uint8_t *in_passes,
                     Choice *best)
{
    enum { MOST_RESIDENT = 16 };
    PlanGroup *group = s->group;
    const uint32_t members = group->passes.n;
    const uint8_t x = (uint8_t)(group->n_dims - 1), y = (uint8_t)(x - 1);
    set_rows(s, members, rows);
    for (uint32_t i = 0; i < members; i++)
        set_rows(s, i, in_passes[i]);
    const KernelCost cost = cost_as_is(s, bytes_seconds);
    if (!cost.feasible)
        return;
    const bool same =
        best->tile[0] == tessi_level_tile(group, y) && best->tile[1] == tessi_level_tile(group, x);
    if (best->seconds >= 0 && cost.seconds >= best->seconds) {
        if (!same)
            note_next(best, cost.seconds, tessi_level_tile(group, y), tessi_level_tile(group, x));
        return;
    }
    if (best->seconds >= 0 && !same) {
        best->next = -1;
        note_next(best, best->seconds, best->tile[0], best->tile[1]);
    }
    const int64_t enough = (int64_t)s->m->enough_threads;
    const int64_t threads = cost.threads < enough ? cost.threads : enough;
    const int64_t blocks = threads / tessi_level_threads(&group->levels, 0);
    *best = (Choice){ .seconds = cost.seconds,
                      .tile = { tessi_level_tile(group, y), tessi_level_tile(group, x) },
                      .next = best->next,
                      .next_tile = { best->next_tile[0], best->next_tile[1] },
                      .threads = tessi_level_threads(&group->levels, 0),
                      .resident = (uint8_t)(blocks < MOST_RESIDENT ? blocks : MOST_RESIDENT) };
    for (uint32_t i = 0; i < members; i++)
        best->rows[i] = in_passes[i];
    best->rows[members] = rows;
}

/* The same with all numbers of rows that divide the tile, and, for the sake of short code, with fewer in the passes. */
static void try_tile(Search *s, double bytes_seconds, Choice *best)
{
    const PlanGroup *group = s->group;
    uint8_t in_passes[2][MOST_PARTS];
    bool can[2];
    s->many = false;
    s->most_rows = MOST_ROWS;
    can[0] = choose_pass_rows(s, in_passes[0]);
    s->most_rows = FEWER_ROWS;
    can[1] = s->many && choose_pass_rows(s, in_passes[1]); /* else it is the same again */
    for (uint8_t rows = 1; rows <= MOST_ROWS; rows++) {
        if (!s->cost[group->passes.n][rows].feasible
            || tessi_level_tile(group, group->n_dims - 2)
                   % (rows * s->apart[group->passes.n].of[1]))
            continue;
        for (int k = 0; k < 2; k++)
            if (can[k])
                try_rows(s, bytes_seconds, rows, in_passes[k], best);
    }
}

/* The tiles of which threads have points that stand apart: whole numbers of times what the threads between two points
 * compute, and long along that dimension. */
static Choice best_spread_tile(Search *s)
{
    static const uint16_t threads[] = { 256, 160, 320, 128 };
    static const uint8_t times[] = { 1, 2, 3, 4, 6, 8 },
                         across[][4] = { { 32, 64, 96, 128 }, { 8, 4, 2, 16 } };
    enum { THREADS = 4, TIMES = 6, ACROSS = 4, MOST_TIMES = 2 };
    PlanGroup *group = s->group;
    Choice best = { .seconds = -1, .next = -1 };
    const PlanApart apart = s->apart[group->passes.n];
    const int along = apart.of[0] > 1 ? 0 : 1; /* x, y */
    const double bytes = bytes_seconds(s);
    for (int k = 0; k < THREADS * TIMES * ACROSS; k++) {
        const int64_t least = (along ? 8 : s->columns[group->passes.n]) * apart.of[along];
        tessi_level_set_tile(group, group->n_dims - 1 - along, least * times[k / ACROSS % TIMES]);
        tessi_level_set_tile(group, group->n_dims - 2 + along, across[1 - along][k % ACROSS]);
        tessi_level_set_threads(&group->levels, 0, threads[k / ACROSS / TIMES]);
        if (along || times[k / ACROSS % TIMES] <= MOST_TIMES) /* longer ones leave too few blocks */
            try_tile(s, bytes, &best);
    }
    return best;
}

/* Tiles of round sizes, and those that are round with all that the passes reach beyond them. */
static Choice best_tile(Search *s)
{
    static const int64_t large_rows[] = { 32, 16, 48, 64 }, large_columns[] = { 128, 64, 256 };
    static const int64_t small_rows[] = { 16, 8, 4, 32 }, small_columns[] = { 64, 32, 128 };
    const int64_t *rows = s->f->few ? small_rows : large_rows;
    const int64_t *columns = s->f->few ? small_columns : large_columns;
    static const uint16_t threads[] = { 128, 256, 64 };
    enum { HEIGHTS = 4, SIZES = 12, LEAST_ROWS = 4, LEAST_COLUMNS = 16 };
    PlanGroup *group = s->group;
    Choice best = { .seconds = -1, .next = -1 };
    const uint8_t x = (uint8_t)(group->n_dims - 1), y = (uint8_t)(x - 1);
    const int64_t over[2] = { halo(s, y, 1), halo(s, x, s->columns[group->passes.n]) };
    const double bytes = bytes_seconds(s);
    for (int k = 0; k < SIZES * 12; k++) {
        tessi_level_set_tile(group, y, rows[k % HEIGHTS] - (k / SIZES % 2 ? over[0] : 0));
        tessi_level_set_tile(group, x,
                             columns[k % SIZES / HEIGHTS] - (k / SIZES / 2 % 2 ? over[1] : 0));
        tessi_level_set_threads(&group->levels, 0, threads[k / SIZES / 4]);
        if (tessi_level_tile(group, y) >= LEAST_ROWS && tessi_level_tile(group, x) >= LEAST_COLUMNS)
            try_tile(s, bytes, &best);
    }
    return best;
}

/* Whether the reads of some part stand apart, whose threads then have points as far apart, which read the same: along
 * rows as far as threads of a warp stand side by side. */
static bool find_apart(Search *s)
{
    static const uint8_t one[2] = { 1, 1 };
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const StageList list = tessi_plan_part(s->group, i);
        const KernelCost cost =
            tessi_plan_part_cost(s->f, s->an, s->m, s->p, s->group, s->regions, i, one, NULL, NULL);
        PlanApart apart = cost.apart;
        s->bytes[i] = cost.dram_seconds * s->m->memory_gbs * 1e9;
        if (apart.of[0] > 1 && apart.of[1] > 1)
            apart.of[0] = 1;
        if (apart.of[0] > 1)
            apart.of[0] = (uint16_t)((PLAN_WARP + apart.of[0] - 1) / apart.of[0] * apart.of[0]);
        VEC_FOREACH (const StageId, id, &list)
            if (!tessi_plan_can_tile(s->f, *id))
                apart = (PlanApart){ { 1, 1 } };
        s->apart[i] = apart;
        s->spread = s->spread || apart.of[0] > 1 || apart.of[1] > 1;
    }
    s->narrow = s->apart[s->group->passes.n].of[1] > 1;
    return s->spread;
}

/* The best tile of the group with its points as they stand. */
static Choice search(Search *s)
{
    const PlanApart *members = &s->apart[s->group->passes.n];
    count_parts(s);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        tessi_level_set_outputs(levels_of(s, i), 0, s->columns[i]);
        set_rows(s, i, 1);
    }
    return members->of[0] > 1 || members->of[1] > 1 ? best_spread_tile(s) : best_tile(s);
}

/* With the points of threads side by side, and apart where reads are: the search that found the better tile. */
static Search *search_both(Search *s, Choice *best)
{
    for (uint32_t i = 0; i < s->n_parts; i++)
        s->apart[i] = (PlanApart){ { 1, 1 } };
    *best = search(s);
    Search *spread = ARENA_NEW(s->f->arena, Search);
    *spread = *s;
    if (!find_apart(spread))
        return s;
    const Choice other = search(spread);
    if (other.seconds < 0
        || (best->seconds >= 0 && other.seconds >= s->m->tile_gain * best->seconds))
        return s;
    *best = other;
    return spread;
}

double tessi_plan_settle_tile(const PlanFacts *f, const Analysis *an, const Machine *m,
                              const Plan *p, PlanGroup *group, PlanRegions *regions, PlanTile *tile)
{
    if (group->n_dims < 2 || group->passes.n >= MOST_PARTS)
        return -1;
    const uint8_t x = (uint8_t)(group->n_dims - 1), y = (uint8_t)(x - 1);
    tessi_plan_set_kernel(group, KERNEL_TILE);
    group->packed = false;
    tessi_level_set_march(&group->levels, (PlanMarch){ 0 });
    group->split = SPLIT_EDGES;
    tessi_level_set_threads(&group->levels, 1, 1);
    for (uint8_t d = 0; d < group->n_dims; d++)
        tessi_level_set_tile(group, d, 1);
    tessi_level_set_outputs_all(&group->levels, (PlanOutputs){ { 1, 1 } });
    if (tessi_plan_regions(f, p, group, regions))
        return -1;
    if (!tessi_plan_stays_in_plane(f, p, group))
        group->split = SPLIT_INTERIOR;
    Search *s = ARENA_NEW(f->arena, Search);
    *s = (Search){ .f = f, .an = an, .m = m, .p = p, .group = group, .regions = regions };
    s->n_parts = group->passes.n + 1;
    Choice best;
    s = search_both(s, &best);
    if (best.seconds < 0)
        return -1;
    tessi_level_set_tile(group, y, best.tile[0]);
    tessi_level_set_tile(group, x, best.tile[1]);
    tessi_level_set_threads(&group->levels, 0, best.threads);
    group->resident = best.resident;
    for (uint32_t i = 0; i < s->n_parts; i++) {
        tessi_level_set_outputs(levels_of(s, i), 0, s->columns[i]);
        set_rows(s, i, best.rows[i]);
    }
    tile->next = best.next;
    for (uint8_t d = 0; d < x; d++)
        tile->next_size[d] = tessi_level_tile(group, d);
    tile->next_size[y] = best.next_tile[0];
    tile->next_size[x] = best.next_tile[1];
    KernelCost cost = cost_as_is(s, bytes_seconds(s));
    find_halo(s, &cost);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const KernelCost *part = &s->cost[i][best.rows[i]];
        cost.once += part->once / (s->columns[i] * best.rows[i]);
    }
    tile->facts = tessi_sprintf(f->arena, "%s\n%s", tessi_plan_kernel_reason(f, p, group, &cost),
                                tessi_plan_split_reason(f->arena, m, group, &cost));
    return best.seconds;
}
