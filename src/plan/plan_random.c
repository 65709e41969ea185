/* Random legal plans, for tests: whatever is inlined, grouped or split, the pixels stay the same. */
#include "plan/plan_costs.h"
#include "plan/plan_draw.h"

enum { MAX_RANDOM_NODES = 3000 };

typedef struct Random {
    uint64_t state;
} Random;

static uint32_t draw(Random *r, uint32_t n)
{
    r->state = tessi_hash_u64(r->state, 0x9e3779b97f4a7c15u);
    return (uint32_t)((r->state >> 17) % n);
}

static void inline_some(const PlanFacts *f, Plan *p, Random *r)
{
    uint32_t eagerness = draw(r, 4);
    PlanCodeSize size = { 0 };
    GRAPH_FOREACH_STAGE (f->g, id) {
        if (!f->can_inline[id.v] || draw(r, 4) >= eagerness)
            continue;
        p->stage[id.v] = (PlanStage){ PLACE_INLINE, "drawn" };
        if (!tessi_plan_code_fits(f, p, MAX_RANDOM_NODES, MAX_RANDOM_NODES, &size))
            p->stage[id.v] = (PlanStage){ PLACE_MEMORY, "" };
    }
}

static PlanMarch draw_march(Random *r)
{
    PlanMarch march;
    march.least = (uint16_t)(1 + draw(r, 9));
    march.most = (uint16_t)(march.least + draw(r, 40));
    march.blocks = 1 + draw(r, 30);
    march.ahead = draw(r, 2);
    return march;
}

/* Rolling sums where the group can have them. */
static bool draw_rolling(const PlanFacts *f, const Plan *p, PlanGroup *group, Random *r)
{
    static const uint16_t widths[] = { 32, 64, 1, 7 };
    static const uint8_t columns[] = { 4, 1, 2, 3, 8 };
    PlanGroup tried = *group;
    tessi_plan_set_kernel(&tried, KERNEL_ROLLING);
    tried.split = SPLIT_NONE;
    tessi_level_set_threads(&tried.levels, 0, widths[draw(r, 4)]);
    tessi_level_set_threads(&tried.levels, 1, 1);
    tessi_level_set_outputs(&tried.levels, 0, columns[draw(r, 5)]);
    tessi_level_set_march(&tried.levels, draw_march(r));
    PlanGroup sweep = tried;
    tessi_plan_set_kernel(&sweep, KERNEL_SWEEP);
    tessi_level_set_march(&sweep.levels, (PlanMarch){ 0 });
    tessi_level_set_outputs(&sweep.levels, 1, (uint8_t)(1 + draw(r, 3)));
    if (draw(r, 2) && !tessi_plan_check_sweep(f, p, &sweep))
        tried = sweep;
    else if (tessi_plan_check_rolling(f, p, &tried))
        return false;
    *group = tried;
    return true;
}

/* The median of the group by histograms or by counting, where it can have one so. */
static bool draw_median(const PlanFacts *f, PlanGroup *group, Random *r)
{
    static const uint16_t widths[] = { 32, 64, 128, 7 };
    PlanGroup tried = *group;
    tessi_plan_set_kernel(&tried, KERNEL_MEDIAN);
    tried.split = SPLIT_NONE;
    tried.counts = draw(r, 2);
    tried.strip = widths[draw(r, 4)];
    tessi_level_set_threads(&tried.levels, 0, tried.strip);
    tessi_level_set_threads(&tried.levels, 1, (uint16_t)(tried.counts ? 1 + draw(r, 4) : 1));
    tessi_level_set_outputs(&tried.levels, 1, (uint8_t)(tried.counts ? 1 + draw(r, 5) : 1));
    tried.median = (uint16_t)(tried.counts ? tessi_level_threads(&tried.levels, 1)
                                                 * tessi_level_outputs(&tried.levels, 1)
                                           : 1 + draw(r, 20));
    if (!tried.counts && draw(r, 2))
        tessi_level_set_march(&tried.levels,
                              (PlanMarch){ .least = (uint16_t)(1 + draw(r, tried.median)),
                                           .most = tried.median,
                                           .blocks = 1 + draw(r, 30) });
    if (tessi_plan_check_median_kernel(f, &tried))
        return false;
    *group = tried;
    return true;
}

/* Copies of some of the images that the blocks read. */
static void draw_copies(const PlanFacts *f, const Plan *p, PlanGroup *group, Random *r)
{
    StageList stored = { 0 };
    VEC_FOREACH (const StageId, id, &group->members) {
        tessi_plan_stored_reads(f, p, *id, &stored);
        VEC_FOREACH (const StageId, image, &stored) {
            const PlanStaged staged = { .image = *image, .in = (StagedIn)draw(r, N_STAGINGS) };
            if (draw(r, 3) == 0)
                continue;
            VEC_PUSH(f->arena, &group->staged, staged);
            if (tessi_plan_check_staged(f, p, group) || tessi_plan_check_constants(f, p))
                group->staged.n--;
        }
    }
}

/* Some points of threads stand apart. */
static void draw_apart(PlanLevels *levels, Random *r)
{
    const int k = (int)draw(r, 2);
    tessi_level_set_apart(levels, k, (uint16_t)(draw(r, 3) ? 1 : 2 + draw(r, 4)));
}

static void draw_kernel(const PlanFacts *f, const Plan *p, PlanGroup *group, Random *r)
{
    enum { MOST_POINTS = 1000 }; /* of windows written out */
    static const uint16_t widths[] = { 32, 64, 1, 7, 16 };
    static const Split splits[] = { SPLIT_NONE, SPLIT_INTERIOR, SPLIT_WARP, SPLIT_REGIONS,
                                    SPLIT_WARP_REGIONS };
    tessi_plan_point_kernel(group);
    tessi_level_set_threads(&group->levels, 0, widths[draw(r, 5)]);
    if (group->n_dims >= 2)
        tessi_level_set_threads(&group->levels, 1, (uint16_t)(1 + draw(r, 5)));
    group->split = splits[draw(r, 5)];
    if (tessi_split_is_by_warp(group->split) && !tessi_plan_has_warps(group))
        group->split = SPLIT_INTERIOR;
    if (f->sorts[group->members.at[0].v] && draw(r, 4) && draw_median(f, group, r))
        return;
    if (draw(r, 2) && draw_rolling(f, p, group, r)) {
        draw_copies(f, p, group, r);
        return;
    }
    const StageId first = group->members.at[0];
    const uint8_t columns = (uint8_t)(1 << draw(r, 4)), rows = (uint8_t)(1 + draw(r, 4));
    if (!tessi_plan_can_tile(f, first) || f->window_points[first.v] * columns * rows > MOST_POINTS
        || draw(r, 2)) {
        draw_copies(f, p, group, r);
        return;
    }
    tessi_plan_set_kernel(group, KERNEL_REGISTER);
    tessi_level_set_outputs(&group->levels, 0, columns);
    tessi_level_set_outputs(&group->levels, 1, rows);
    group->split = draw(r, 2) ? SPLIT_INTERIOR : SPLIT_NONE;
    if (draw(r, 2) && tessi_plan_stays_in_plane(f, p, group))
        group->split = SPLIT_EDGES;
    group->resident = (uint8_t)draw(r, 3);
    group->packed = draw(r, 3) > 0;
    draw_apart(&group->levels, r);
    const PlanThreads near = tessi_level_threads_all(&group->levels);
    for (int k = 0; k < 2; k++) {
        if (near.of[0] * near.of[1] * tessi_level_apart(&group->levels, k) > PLAN_MAX_BLOCK)
            tessi_level_set_apart(&group->levels, k, 1);
        tessi_level_set_threads(&group->levels, k,
                                (uint16_t)(tessi_level_threads(&group->levels, k)
                                           * tessi_level_apart(&group->levels, k)));
    }
    group->packed = group->packed && tessi_level_apart(&group->levels, 0) == 1;
}

/* Joins two groups when that leaves an order of execution. */
static void join_some(const PlanFacts *f, Plan *p, Random *r)
{
    for (uint32_t tries = draw(r, 16); tries-- > 0 && p->groups.n > 1;) {
        uint32_t i = draw(r, p->groups.n), k = draw(r, p->groups.n);
        PlanGroup *into = &p->groups.at[i], *from = &p->groups.at[k];
        if (i == k || !tessi_plan_can_share_loops(f, into->members.at[0], from->members.at[0]))
            continue;
        Plan joined = *p;
        joined.groups.at = NULL;
        joined.groups.n = joined.groups.cap = 0;
        for (uint32_t j = 0; j < p->groups.n; j++)
            if (j != k)
                VEC_PUSH(f->arena, &joined.groups, p->groups.at[j]);
        PlanGroup *target = &joined.groups.at[i - (k < i)];
        const PlanGroup old = *target;
        tessi_plan_drop_copies(target); /* two stages may read an image by two rules */
        const uint8_t rows = tessi_level_rows(&old.levels), other = tessi_level_rows(&from->levels);
        const uint8_t fewer = rows < other ? rows : other;
        tessi_level_set_rows(&target->levels, fewer);
        tessi_level_set_dealt(&target->levels,
                              (uint16_t)(tessi_level_dealt(&old.levels) / rows * fewer));
        if (p->gpu
            && (tessi_plan_kernel(from) != tessi_plan_kernel(&old)
                || f->has_window[from->members.at[0].v]))
            tessi_plan_point_kernel(target);
        target->members.at = NULL;
        target->members.n = target->members.cap = 0;
        VEC_FOREACH (const StageId, s, &old.members)
            VEC_PUSH(f->arena, &target->members, *s);
        VEC_FOREACH (const StageId, s, &from->members)
            VEC_PUSH(f->arena, &target->members, *s);
        if (target->split == SPLIT_EDGES && !tessi_plan_stays_in_plane(f, p, target))
            target->split = SPLIT_INTERIOR;
        if (tessi_plan_order(&joined, f))
            *p = joined;
    }
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Columns and rows that a thread of a kernel of tiles computes. */
static void draw_outputs(PlanLevels *levels, Random *r)
{
    static const uint8_t columns[] = { 1, 4, 2, 3 };
    tessi_level_set_outputs(levels, 0, columns[draw(r, 4)]);
    tessi_level_set_outputs(levels, 1, (uint8_t)(1 + draw(r, 3)));
    draw_apart(levels, r);
}

static void draw_tile(const Plan *p, PlanGroup *group, Random *r)
{
    static const uint8_t sizes[] = { 1, 2, 3, 5, 8, 16, 33 };
    static const uint16_t threads[] = { 32, 64, 7, 1 };
    tessi_level_set_march(&group->levels, (PlanMarch){ 0 });
    for (uint8_t d = 0; d < group->n_dims; d++)
        tessi_level_set_tile(group, d, sizes[draw(r, sizeof sizes)] + (int64_t)draw(r, 2));
    tessi_level_set_dealt(&group->levels, 0);
    if (!p->gpu || group->n_dims < 2)
        return;
    tessi_plan_set_kernel(group, KERNEL_TILE);
    tessi_plan_drop_copies(group);
    group->split = (Split[]){ SPLIT_NONE, SPLIT_INTERIOR, SPLIT_EDGES }[draw(r, 3)];
    tessi_level_set_threads(&group->levels, 0, threads[draw(r, 4)]);
    tessi_level_set_threads(&group->levels, 1, 1);
    draw_outputs(&group->levels, r);
    group->resident = 0;
    group->packed = false;
    group->frame = (PlanFrame){ 0 };
    for (uint8_t d = 0; d + 2 < group->n_dims; d++)
        tessi_level_set_tile(group, d, 1);
    for (uint8_t k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(group->n_dims - 1 - k);
        tessi_level_set_tile(group, d,
                             tessi_level_tile(group, d) * tessi_level_reach(&group->levels, k));
    }
}

/* Planes in the registers of threads, which have all points of a tile. */
static void draw_held(PlanGroup *group, Random *r)
{
    PlanMarch march = tessi_level_march(&group->levels);
    march.ahead = draw(r, 2);
    tessi_level_set_march(&group->levels, march);
    for (uint8_t k = 0; k < 2; k++) {
        const uint8_t outputs = tessi_level_outputs(&group->levels, k);
        const uint16_t threads = (uint16_t)(1 + k + draw(r, 4));
        tessi_level_set_threads(&group->levels, k, threads);
        tessi_level_set_apart(&group->levels, k, 1);
        tessi_level_set_tile(group, group->n_dims - 1 - k, (int64_t)threads * outputs);
        VEC_FOREACH (PlanPass, pass, &group->passes) {
            tessi_level_set_outputs(&pass->levels, k, outputs);
            tessi_level_set_apart(&pass->levels, k, 1);
        }
    }
}

/* Tiles computed whole, or in steps of a few rows (on GPUs of a plane) with rings. */
static void draw_rings(Plan *p, PlanGroup *group, Random *r)
{
    static const uint8_t steps[] = { 1, 2, 3, 4, 8, 13 };
    tessi_level_set_roll(&group->levels, 0);
    if (!p->gpu && group->n_dims > 1 && draw(r, 2))
        tessi_level_set_roll(&group->levels, steps[draw(r, sizeof steps)]);
    const bool planes = p->gpu && group->n_dims > 2 && draw(r, 2);
    if (planes)
        tessi_level_set_roll(&group->levels, 1);
    if (p->gpu && group->n_dims > 2)
        tessi_level_set_tile(group, tessi_level_roll_dim(group), planes ? 1 + draw(r, 4) : 1);
    if (planes && draw(r, 2))
        draw_held(group, r);
    tessi_plan_place_passes(p, group);
}

/* Has group `k` computed by passes of group `i`: as a pass of its own, or in an earlier one. */
static void absorb(const PlanFacts *f, Plan *p, uint32_t i, uint32_t k, Random *r)
{
    PlanGroup *into = &p->groups.at[i];
    const PlanGroup *from = &p->groups.at[k];
    if (!tessi_level_tile(into, 0))
        draw_tile(p, into, r);
    PlanPass pass = { 0 };
    tessi_levels_one_by_one(&pass.levels, 0);
    if (into->split == SPLIT_INTERIOR)
        tessi_level_set_rows(&pass.levels, tessi_level_rows(&from->levels));
    if (p->gpu)
        draw_outputs(&pass.levels, r);
    VEC_FOREACH (const StageId, s, &from->members) {
        VEC_PUSH(f->arena, &pass.stages, *s);
        if (f->returned[s->v]) /* copied out as well */
            VEC_PUSH(f->arena, &into->members, *s);
        else
            p->stage[s->v].placement = PLACE_SCRATCH;
    }
    bool join = into->passes.n && draw(r, 3) == 0;
    VEC(PlanPass) passes = { 0 };
    VEC_FOREACH (const PlanPass, old, &from->passes)
        VEC_PUSH(f->arena, &passes, *old);
    if (!join)
        VEC_PUSH(f->arena, &passes, pass);
    VEC_FOREACH (PlanPass, old, &into->passes) {
        if (join)
            VEC_FOREACH (const StageId, s, &pass.stages)
                VEC_PUSH(f->arena, &old->stages, *s);
        join = false;
        VEC_PUSH(f->arena, &passes, *old);
    }
    into->passes.at = passes.at;
    into->passes.n = into->passes.cap = passes.n;
    draw_rings(p, into, r);
    for (uint32_t j = k; j + 1 < p->groups.n; j++)
        p->groups.at[j] = p->groups.at[j + 1];
    p->groups.n--;
}

static Plan *tile_some(const PlanFacts *f, Plan *p, Random *r)
{
    for (uint32_t tries = draw(r, 16); tries-- > 0;) {
        uint32_t i = draw(r, p->groups.n), k = draw(r, p->groups.n);
        Plan *tiled = tessi_plan_copy(f->arena, p);
        if (i == k) {
            draw_tile(p, &tiled->groups.at[i], r);
            tiled->groups.at[i].stream = !p->gpu && draw(r, 2);
        } else {
            absorb(f, tiled, i, k, r);
        }
        if (tessi_plan_order(tiled, f) && !tessi_plan_verify_with(f, tiled))
            p = tiled;
    }
    return p;
}

/* Groups that warps can compute. */
static Plan *warp_some(const PlanFacts *f, Plan *p, Random *r)
{
    for (uint32_t i = 0; i < p->groups.n; i++) {
        if (draw(r, 3))
            continue;
        Plan *warps = tessi_plan_copy(f->arena, p);
        PlanGroup *group = &warps->groups.at[i];
        const uint8_t outputs[2] = { (uint8_t)(1 << draw(r, 4)), (uint8_t)(1 + draw(r, 5)) };
        const bool edges = draw(r, 2), planes = edges && group->n_dims > 2 && draw(r, 2);
        const uint16_t side_by_side = (uint16_t)(1 + (!edges || planes ? draw(r, 2) : 0));
        const char *fault =
            edges ? tessi_plan_make_warp_edges(f, warps, group, outputs, side_by_side, planes)
                  : tessi_plan_make_warp(f, warps, group, outputs, side_by_side);
        if (fault)
            continue;
        PlanMarch march = draw_march(r);
        march.planes = planes;
        tessi_level_set_march(&group->levels, march);
        group->resident = (uint8_t)draw(r, 3);
        if (tessi_plan_order(warps, f) && !tessi_plan_verify_with(f, warps))
            p = warps;
    }
    return p;
}

/* Frames around the blocks inside, of kernels that can have them. */
static void frame_some(const PlanFacts *f, Plan *p, Random *r)
{
    static const uint8_t sizes[] = { 2, 8, 4, 16 };
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        const Split split = group->split;
        if (!p->gpu || group->frame.rows[0] || tessi_plan_is_spread(group) || draw(r, 3) == 0)
            continue;
        group->split = SPLIT_EDGES;
        for (int side = 0; side < 2; side++) {
            group->frame.rows[side] = sizes[draw(r, 4)];
            group->frame.columns[side] = 4 * sizes[draw(r, 4)];
        }
        if (tessi_plan_verify_with(f, p)) {
            group->frame = (PlanFrame){ 0 };
            group->split = split;
        }
    }
}

/* Some of the inlined stages in registers, in loops that can have bands of rows. */
static void carry_some(const PlanFacts *f, Plan *p, Random *r)
{
    static const uint8_t bands[] = { 1, 2, 3, 7, 16, 33, 200 };
    if (p->gpu || draw(r, 3) == 0)
        return;
    GRAPH_FOREACH_STAGE (f->g, id) {
        if (!tessi_plan_computes(f, id) || !tessi_plan_is_inline(p, id) || draw(r, 3) == 0)
            continue;
        p->stage[id.v].placement = PLACE_REGISTERS;
        VEC_FOREACH (PlanGroup, group, &p->groups) {
            for (uint32_t k = 0; k <= group->passes.n; k++) {
                PlanLevels *levels =
                    k < group->passes.n ? &group->passes.at[k].levels : &group->levels;
                if (tessi_level_band(levels))
                    continue;
                tessi_level_set_band(levels, bands[draw(r, sizeof bands)]);
                if (tessi_plan_verify_with(f, p))
                    tessi_level_set_band(levels, 0);
            }
        }
        if (tessi_plan_verify_with(f, p))
            p->stage[id.v].placement = PLACE_INLINE;
    }
}

enum { EDITS = 6 };

Plan *tessi_plan_random(Arena *a, const Graph *g, const Machine *m, uint64_t seed)
{
    PlanFacts *f = tessi_plan_facts(a, g);
    Plan *p = tessi_plan_empty(f, m->name);
    Random r = { tessi_hash_u64(seed, 1) };
    p->gpu = tessi_machine_is_gpu(m);
    if (!p->gpu && draw(&r, 3) == 0)
        p->width = (uint8_t)(PLAN_LEAST_WIDTH << draw(&r, 3));
    inline_some(f, p, &r);
    GRAPH_FOREACH_STAGE (g, id) {
        if (!tessi_plan_computes(f, id) || p->stage[id.v].placement != PLACE_MEMORY)
            continue;
        PlanGroup *group = tessi_plan_add_group(p, g, id);
        group->reason = "drawn";
        if (draw(&r, 3) == 0)
            tessi_level_set_parallel(group, false);
        if (draw(&r, 3) == 0)
            tessi_level_set_vector(group, false);
        if (draw(&r, 3) == 0)
            group->split = SPLIT_NONE;
        if (p->gpu) {
            draw_kernel(f, p, group, &r);
            continue;
        }
        if (tessi_plan_can_join_rows(f, id) && group->split == SPLIT_INTERIOR && draw(&r, 2))
            tessi_level_set_rows(&group->levels, (uint8_t)(2 + draw(&r, 4)));
        if (draw(&r, 3) == 0 && group->n_dims)
            tessi_level_set_columns(&group->levels, (uint8_t)(1 + draw(&r, 3)));
        if (tessi_level_parallel(&group->levels) && group->n_dims > 1 && draw(&r, 3) == 0
            && tessi_stage(g, id)->kind == STAGE_COMPUTE)
            tessi_level_set_dealt(&group->levels,
                                  (uint16_t)(tessi_level_rows(&group->levels) * (1 + draw(&r, 6))));
    }
    join_some(f, p, &r);
    if (p->groups.n)
        p = tile_some(f, p, &r);
    if (p->gpu)
        p = warp_some(f, p, &r);
    frame_some(f, p, &r);
    carry_some(f, p, &r);
    PlanDraw d = { tessi_hash_u64(seed, 2) };
    if (!p->gpu) /* large blocks of many threads take the interpreter of loops seconds */
        tessi_plan_draw_edits(f, p, EDITS, &d);
    return p;
}
