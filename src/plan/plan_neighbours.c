/* The edits that make the neighbours of a plan. Each is made without asking whether it is legal; the verifier keeps
 * those that are, so that whatever plans can say, and it accepts, is tried. */
#include "plan/plan_neighbours.h"
#include "plan/plan_costs.h"
#include "plan/plan_passes.h"

typedef struct Editor {
    Arena *arena;
    const PlanFacts *f;
    const Plan *from;
    PlanNeighbours *out;
} Editor;

/* Keeps an edited plan if it is one. */
static void offer(Editor *e, Plan *p, StageId about, const char *change)
{
    if (!tessi_plan_order(p, e->f) || tessi_plan_verify_with(e->f, p))
        return;
    PlanNeighbour n = { .plan = p, .about = about, .change = change };
    VEC_PUSH(e->arena, e->out, n);
}

static StageId about_group(const Editor *e, uint32_t i)
{
    return e->from->groups.at[i].members.at[0];
}

/* ---- Placements ------------------------------------------------------------------------------ */

static void remove_group(Plan *p, uint32_t i)
{
    for (; i + 1 < p->groups.n; i++)
        p->groups.at[i] = p->groups.at[i + 1];
    p->groups.n--;
}

static void take_out(StageList *list, StageId s)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < list->n; k++)
        if (list->at[k].v != s.v)
            list->at[kept++] = list->at[k];
    list->n = kept;
}

static void remove_stage(PlanGroup *group, uint32_t pass, StageId s)
{
    take_out(&group->passes.at[pass].stages, s);
    if (group->passes.at[pass].stages.n)
        return;
    for (; pass + 1 < group->passes.n; pass++)
        group->passes.at[pass] = group->passes.at[pass + 1];
    group->passes.n--;
}

/* Takes a stage out of the passes of its group; members that are copied out of them are computed instead. */
static void remove_from_passes(Plan *p, StageId s)
{
    VEC_FOREACH (PlanGroup, group, &p->groups)
        for (uint32_t k = group->passes.n; k-- > 0;)
            remove_stage(group, k, s);
}

/* Takes a stage out of its group, and the group out of the plan when nothing is left of it. */
static void remove_member(const Editor *e, Plan *p, StageId s)
{
    for (uint32_t i = 0; i < p->groups.n; i++) {
        PlanGroup *group = &p->groups.at[i];
        take_out(&group->members, s);
        if (group->members.n)
            group->name = tessi_stage(e->f->g, group->members.at[0])->name;
        else
            remove_group(p, i--);
    }
}

/* A group of its own for a stage, with loops as the planner would give it. */
static void add_alone(const Editor *e, Plan *p, StageId s)
{
    PlanGroup *group = tessi_plan_add_group(p, e->f->g, s);
    if (p->gpu)
        tessi_plan_point_kernel(group);
}

/* The stage computed otherwise: again at each use, or once into memory. */
static void place(Editor *e, StageId s, Placement to)
{
    Placement from = e->from->stage[s.v].placement;
    if (from == to)
        return;
    Plan *p = tessi_plan_copy(e->arena, e->from);
    p->stage[s.v].placement = to;
    if (tessi_placement_is_scratch(from))
        remove_from_passes(p, s);
    if (to == PLACE_MEMORY)
        add_alone(e, p, s);
    else if (from == PLACE_MEMORY)
        remove_member(e, p, s);
    offer(e, p, s, to == PLACE_MEMORY ? "stored" : "inline");
}

/* An inlined stage carried down the rows by group i, or by one of its passes; one in registers is computed again at
 * each use. */
static void carry(Editor *e, uint32_t i, StageId s)
{
    static const uint16_t bands[] = { 16, 64 };
    static const uint8_t rows[] = { 2, 4, 8 };
    const PlanGroup *old = &e->from->groups.at[i];
    if (e->from->gpu || old->n_dims < 2 || !tessi_plan_is_inline(e->from, s))
        return;
    for (uint32_t k = 0; k <= old->passes.n; k++) {
        const bool pass = k < old->passes.n;
        for (size_t n = 0; n < (sizeof bands / sizeof *bands) * sizeof rows; n++) {
            Plan *p = tessi_plan_copy(e->arena, e->from);
            PlanGroup *group = &p->groups.at[i];
            const uint16_t band = bands[n / sizeof rows];
            PlanLevels *levels = pass ? &group->passes.at[k].levels : &group->levels;
            tessi_level_set_band(levels, band);
            tessi_level_set_rows(levels, rows[n % sizeof rows]);
            p->stage[s.v].placement = PLACE_REGISTERS;
            const uint32_t before = e->out->n;
            offer(e, p, s,
                  tessi_sprintf(e->arena, "in registers, y %d serial, y %d unroll", band,
                                rows[n % sizeof rows]));
            if (e->out->n == before)
                break; /* these loops do not read it again further down */
        }
    }
}

/* Nothing is carried any more. */
static void carry_nothing(Editor *e)
{
    if (!tessi_plan_has_carries(e->from))
        return;
    Plan *p = tessi_plan_copy(e->arena, e->from);
    StageId about = { 0 };
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        tessi_level_set_band(&group->levels, 0);
        VEC_FOREACH (PlanPass, pass, &group->passes)
            tessi_level_set_band(&pass->levels, 0);
    }
    for (uint32_t v = 1; v < p->n_stages; v++) {
        if (p->stage[v].placement != PLACE_REGISTERS)
            continue;
        p->stage[v].placement = PLACE_INLINE;
        about = (StageId){ v };
    }
    offer(e, p, about, "nothing in registers");
}

/* What a thread computes of a new pass with this stage. */
static void pass_outputs(const Editor *e, StageId s, PlanLevels *levels)
{
    const uint8_t n = e->from->gpu && tessi_plan_can_tile(e->f, s) ? 4 : 1;
    tessi_level_set_outputs_all(levels, (PlanOutputs){ { n, n } });
}

/* An inlined stage in a pass of its own, where the tiles of group i read it. */
static void place_in_pass(Editor *e, uint32_t i, StageId s)
{
    if (!tessi_plan_is_inline(e->from, s) || !tessi_level_tile(&e->from->groups.at[i], 0))
        return;
    for (uint32_t at = 0; at <= e->from->groups.at[i].passes.n; at++) {
        Plan *p = tessi_plan_copy(e->arena, e->from);
        PlanGroup *group = &p->groups.at[i];
        tessi_plan_insert_pass(e->arena, group, at, s);
        pass_outputs(e, s, &group->passes.at[at].levels);
        p->stage[s.v].placement = tessi_plan_scratch_placement(group);
        uint32_t before = e->out->n;
        offer(e, p, s, tessi_sprintf(e->arena, "in the tiles of %s", group->name));
        if (e->out->n > before)
            return; /* the other places differ only in order */
    }
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void separate(Editor *e, uint32_t i)
{
    const PlanGroup *group = &e->from->groups.at[i];
    for (uint32_t k = 0; group->members.n > 1 && k < group->members.n; k++) {
        Plan *p = tessi_plan_copy(e->arena, e->from);
        StageId s = group->members.at[k];
        remove_member(e, p, s);
        add_alone(e, p, s);
        tessi_level_set_rows(&p->groups.at[p->groups.n - 1].levels,
                             tessi_level_rows(&group->levels));
        offer(e, p, s, "by itself");
    }
}

static void join(Editor *e, uint32_t i, uint32_t k)
{
    const PlanGroup *from = &e->from->groups.at[k];
    if (!tessi_plan_can_share_loops(e->f, about_group(e, i), about_group(e, k)))
        return; /* most pairs: not worth a copy */
    Plan *p = tessi_plan_copy(e->arena, e->from);
    VEC_FOREACH (const StageId, s, &from->members)
        VEC_PUSH(e->arena, &p->groups.at[i].members, *s);
    remove_group(p, k);
    offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "together with %s", from->name));
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* A copy whose group i is to be changed. */
static PlanGroup *edit(Editor *e, uint32_t i, Plan **p)
{
    *p = tessi_plan_copy(e->arena, e->from);
    return &(*p)->groups.at[i];
}

static void change_rows(Editor *e, uint32_t i)
{
    for (uint8_t rows = 1; rows <= PLAN_MAX_ROWS; rows = (uint8_t)(rows * 2)) {
        if (rows == tessi_level_rows(&e->from->groups.at[i].levels))
            continue;
        Plan *p;
        PlanGroup *group = edit(e, i, &p);
        tessi_level_set_rows(&group->levels, rows);
        if (tessi_level_dealt(&group->levels) % rows)
            tessi_level_set_dealt(&group->levels, rows);
        offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "y %d unroll", rows));
    }
}

/* Tasks of several heights in rows, or equal parts. */
static void change_strip(Editor *e, uint32_t i)
{
    static const uint16_t heights[] = { 0, 16, 64, 256 };
    const PlanGroup *old = &e->from->groups.at[i];
    if (old->n_dims < 2 || !tessi_level_parallel(&old->levels))
        return;
    for (size_t k = 0; k < sizeof heights / sizeof *heights; k++) {
        Plan *p;
        if (heights[k] == tessi_level_dealt(&old->levels))
            continue;
        tessi_level_set_dealt(&edit(e, i, &p)->levels, heights[k]);
        offer(e, p, about_group(e, i),
              heights[k] ? tessi_sprintf(e->arena, "y %d dealt", heights[k]) : "y grid");
    }
}

/* Vectors of half and twice the width everywhere, or those of the machine. */
static void change_width(Editor *e)
{
    const int old = e->from->width;
    const int widths[] = { 0, old / 2, old ? 2 * old : PLAN_MOST_WIDTH / 2 };
    for (size_t k = 0; k < sizeof widths / sizeof *widths && e->from->groups.n; k++) {
        if (widths[k] == old || (widths[k] && widths[k] < PLAN_LEAST_WIDTH)
            || widths[k] >= PLAN_MOST_WIDTH)
            continue;
        Plan *p = tessi_plan_copy(e->arena, e->from);
        p->width = (uint8_t)widths[k];
        offer(e, p, about_group(e, 0),
              widths[k] ? tessi_sprintf(e->arena, "width %d", widths[k])
                        : "vectors of the machine");
    }
}

static void change_loops(Editor *e, uint32_t i)
{
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p;
    PlanGroup *group = edit(e, i, &p);
    group->split = old->split == SPLIT_INTERIOR ? SPLIT_NONE : SPLIT_INTERIOR;
    group->frame = (PlanFrame){ 0 };
    tessi_level_set_rows(&group->levels,
                         group->split == SPLIT_NONE
                             ? 1
                             : tessi_level_rows(&old->levels)); /* of which strips are multiples */
    offer(e, p, about_group(e, i), old->split == SPLIT_INTERIOR ? "split none" : "split interior");
    if (e->from->gpu || !old->n_dims)
        return;
    group = edit(e, i, &p);
    tessi_level_set_parallel(group, !tessi_level_parallel(&old->levels));
    tessi_level_set_dealt(&group->levels, 0);
    offer(e, p, about_group(e, i),
          tessi_level_parallel(&old->levels) ? "not shared out" : "shared out");
}

static const PlanOutputs outputs[] = {
    { { 1, 1 } }, { { 4, 1 } }, { { 4, 2 } }, { { 4, 4 } }, { { 4, 8 } }
};

/* Blocks and outputs of a kernel of tiles. */
static void change_tile_kernel(Editor *e, uint32_t i)
{
    static const uint16_t threads[] = { 64, 128, 256, 512 };
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p;
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        PlanGroup *group = edit(e, i, &p);
        tessi_level_set_threads(&group->levels, 0, threads[k]);
        group->resident = 0;
        if (tessi_level_threads(&old->levels, 0) != threads[k])
            offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "x %u thread", threads[k]));
    }
    for (uint8_t blocks = 1; blocks <= 8; blocks++) {
        edit(e, i, &p)->resident = blocks;
        if (old->resident != blocks)
            offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "resident %u", blocks));
    }
    for (uint32_t k = 0; k <= old->passes.n; k++) {
        const bool pass = k < old->passes.n;
        const PlanOutputs from =
            tessi_level_outputs_all(pass ? &old->passes.at[k].levels : &old->levels);
        const StageId about = pass ? old->passes.at[k].stages.at[0] : about_group(e, i);
        for (size_t n = 0; n < sizeof outputs / sizeof *outputs; n++) {
            PlanGroup *group = edit(e, i, &p);
            const PlanOutputs to = outputs[n];
            tessi_level_set_outputs_all(pass ? &group->passes.at[k].levels : &group->levels, to);
            if (from.of[0] != to.of[0] || from.of[1] != to.of[1])
                offer(e, p, about,
                      tessi_sprintf(e->arena, "y %u unroll, x %u unroll", to.of[1], to.of[0]));
        }
    }
}

/* A march to other blocks. */
static void change_blocks(Editor *e, uint32_t i)
{
    const PlanGroup *old = &e->from->groups.at[i];
    for (int k = 0; k < 2 && tessi_level_march(&old->levels).least; k++) {
        const uint32_t blocks = k ? tessi_level_march(&old->levels).blocks * 2
                                  : (tessi_level_march(&old->levels).blocks + 1) / 2;
        if (blocks == tessi_level_march(&old->levels).blocks || blocks > PLAN_MAX_MARCH_BLOCKS)
            continue;
        Plan *p;
        tessi_level_set_march_blocks(&edit(e, i, &p)->levels, blocks);
        offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "grid of %u blocks", blocks));
    }
}

/* Columns, blocks and how far threads go of a kernel of rolling sums; or none such. */
static void change_rolling(Editor *e, uint32_t i)
{
    static const uint8_t columns[] = { 1, 2, 4, 8 }, resident[] = { 0, 2, 3, 4, 5 };
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p;
    for (size_t k = 0; k < sizeof columns; k++) {
        if (columns[k] == tessi_level_outputs(&old->levels, 0))
            continue;
        tessi_level_set_outputs(&edit(e, i, &p)->levels, 0, columns[k]);
        offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "x %u unroll", columns[k]));
    }
    for (size_t k = 0; k < sizeof resident; k++) {
        if (resident[k] == old->resident
            || resident[k] * tessi_level_threads(&old->levels, 0) > PLAN_MAX_THREADS)
            continue;
        edit(e, i, &p)->resident = resident[k];
        offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "resident %u", resident[k]));
    }
    change_blocks(e, i);
    tessi_plan_point_kernel(edit(e, i, &p));
    offer(e, p, about_group(e, i), "preset point");
}

/* The median of the group by histograms or by counting in blocks of other sizes, or by sorting. */
static void change_median(Editor *e, uint32_t i)
{
    static const uint16_t lines[] = { 32, 64, 128, 256 }, rows[] = { 64, 128, 256, 512 };
    static const uint8_t outputs[] = { 1, 2, 4, 8 };
    const PlanGroup *old = &e->from->groups.at[i];
    enum { HIGH = 8, WIDE = 32, SIZES = 4 };
    for (int k = 0; k < 2 * SIZES * SIZES; k++) {
        Plan *p;
        PlanGroup *group = edit(e, i, &p);
        const int size = k / 2 % SIZES, other = k / 2 / SIZES;
        tessi_plan_point_kernel(group);
        tessi_plan_set_kernel(group, KERNEL_MEDIAN);
        group->split = SPLIT_NONE;
        group->counts = k % 2;
        tessi_level_set_threads(&group->levels, 0, group->counts ? WIDE : lines[size]);
        tessi_level_set_threads(&group->levels, 1, group->counts ? (uint16_t)(HIGH >> other) : 1);
        tessi_level_set_outputs(&group->levels, 1, group->counts ? outputs[size] : 1);
        group->strip = tessi_level_threads(&group->levels, 0);
        group->median = group->counts ? (uint16_t)(tessi_level_threads(&group->levels, 1)
                                                   * tessi_level_outputs(&group->levels, 1))
                                      : rows[other];
        if (!group->counts && tessi_level_march(&old->levels).least
            && tessi_level_march(&old->levels).least <= group->median) {
            PlanMarch march = tessi_level_march(&old->levels);
            march.most = group->median;
            tessi_level_set_march(&group->levels, march);
        }
        if (group->counts == old->counts && group->strip == old->strip
            && group->median == old->median
            && tessi_level_outputs(&group->levels, 1) == tessi_level_outputs(&old->levels, 1))
            continue;
        offer(e, p, about_group(e, i),
              tessi_sprintf(e->arena, "%s %u %u", group->counts ? "count" : "histogram",
                            group->median, group->strip));
    }
    change_blocks(e, i);
    Plan *p;
    tessi_plan_point_kernel(edit(e, i, &p));
    offer(e, p, about_group(e, i), "preset point");
}

/* Rows, blocks and strips of a kernel of warps. */
static void change_warp(Editor *e, uint32_t i)
{
    static const uint8_t rows[] = { 1, 2, 3, 4, 6, 8 }, resident[] = { 8, 10, 12, 14, 16, 20, 24 };
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p;
    for (size_t k = 0; k < sizeof rows; k++) {
        PlanGroup *group = edit(e, i, &p);
        tessi_level_set_outputs(&group->levels, 1, rows[k]);
        VEC_FOREACH (PlanPass, pass, &group->passes)
            tessi_level_set_outputs(&pass->levels, 1, rows[k]);
        if (tessi_level_outputs(&old->levels, 1) != rows[k])
            offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "y %u unroll", rows[k]));
    }
    for (size_t k = 0; k < sizeof resident; k++) {
        PlanGroup *group = edit(e, i, &p);
        if (old->resident) /* as many blocks as there are at once */
            tessi_level_set_march_blocks(&group->levels, tessi_level_march(&old->levels).blocks
                                                             / old->resident * resident[k]);
        group->resident = resident[k];
        if (old->resident != resident[k]
            && resident[k] * tessi_level_threads(&old->levels, 0) <= PLAN_MAX_THREADS
            && tessi_level_march(&group->levels).blocks)
            offer(e, p, about_group(e, i), tessi_sprintf(e->arena, "resident %u", resident[k]));
    }
    change_blocks(e, i);
    PlanGroup *group = edit(e, i, &p);
    PlanMarch march = tessi_level_march(&old->levels);
    march.ahead = !march.ahead;
    tessi_level_set_march(&group->levels, march);
    offer(e, p, about_group(e, i),
          tessi_level_march(&old->levels).ahead ? "step not ahead" : "step ahead");
}

/* The group computed by warps. */
static void make_warp(Editor *e, uint32_t i)
{
    static const uint8_t columns_and_rows[] = { 4, 4 };
    Plan *p;
    PlanGroup *group = edit(e, i, &p);
    if (!tessi_plan_make_warp(e->f, p, group, columns_and_rows, 1))
        offer(e, p, about_group(e, i), "preset warp");
}

/* The image copied otherwise by the blocks of the group, or not at all. */
static void change_copy(Editor *e, uint32_t i, StageId image)
{
    static const char *const names[] = { "shared", "centre shared", "constant", "not copied" };
    for (int in = 0; in <= N_STAGINGS; in++) {
        Plan *p;
        PlanGroup *group = edit(e, i, &p);
        uint32_t kept = 0;
        bool same = false, any = false;
        for (uint32_t k = 0; k < group->staged.n; k++) {
            const PlanStaged staged = group->staged.at[k];
            same = same || (staged.image.v == image.v && (int)staged.in == in);
            any = any || staged.image.v == image.v;
            if (staged.image.v != image.v)
                group->staged.at[kept++] = staged;
        }
        group->staged.n = kept;
        if (same || (in == N_STAGINGS && !any))
            continue;
        const PlanStaged staged = { .image = image, .in = (StagedIn)in };
        if (in < N_STAGINGS)
            VEC_PUSH(e->arena, &group->staged, staged);
        offer(e, p, about_group(e, i),
              tessi_sprintf(e->arena, "%s %s", tessi_stage(e->f->g, image)->name, names[in]));
    }
}

static void change_copies(Editor *e, uint32_t i)
{
    Needs needs = { 0 };
    const StageList *members = &e->from->groups.at[i].members;
    tessi_needs(e->f, e->arena, e->from, members->at, members->n, &needs);
    VEC_FOREACH (const StageId, image, &needs.stored)
        change_copy(e, i, *image);
}

static void change_kernel(Editor *e, uint32_t i)
{
    static const uint16_t widths[] = { 32, 64, 128, 256 }, heights[] = { 1, 2, 4, 8 };
    const PlanGroup *old = &e->from->groups.at[i];
    if (tessi_plan_kernel(old) == KERNEL_TILE)
        change_tile_kernel(e, i);
    if (tessi_plan_kernel(old) == KERNEL_ROLLING)
        change_rolling(e, i);
    if (tessi_plan_kernel(old) == KERNEL_MEDIAN)
        change_median(e, i);
    if (tessi_plan_kernel(old) == KERNEL_WARP)
        change_warp(e, i);
    if (tessi_plan_kernel(old) == KERNEL_TILE || tessi_plan_kernel(old) == KERNEL_REGISTER)
        make_warp(e, i);
    if (tessi_plan_kernel(old) == KERNEL_POINT)
        change_copies(e, i);
    if (tessi_plan_kernel(old) != KERNEL_POINT && tessi_plan_kernel(old) != KERNEL_REGISTER)
        return;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
            if (tessi_level_threads(&old->levels, 0) == widths[w]
                && tessi_level_threads(&old->levels, 1) == heights[h])
                continue;
            Plan *p;
            PlanGroup *group = edit(e, i, &p);
            tessi_level_set_threads(&group->levels, 0, widths[w]);
            tessi_level_set_threads(&group->levels, 1, heights[h]);
            offer(e, p, about_group(e, i),
                  tessi_sprintf(e->arena, "y %u thread, x %u thread", heights[h], widths[w]));
        }
    }
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
        KernelKind kernel = k ? KERNEL_REGISTER : KERNEL_POINT;
        if (tessi_plan_kernel(old) == kernel
            && tessi_level_outputs(&old->levels, 0) == outputs[k].of[0]
            && tessi_level_outputs(&old->levels, 1) == outputs[k].of[1])
            continue;
        Plan *p;
        PlanGroup *group = edit(e, i, &p);
        tessi_plan_set_kernel(group, kernel);
        tessi_plan_drop_copies(group);
        group->packed = group->packed && kernel == KERNEL_REGISTER;
        tessi_level_set_outputs(&group->levels, 0, outputs[k].of[0]);
        tessi_level_set_outputs(&group->levels, 1, outputs[k].of[1]);
        offer(e, p, about_group(e, i),
              tessi_sprintf(e->arena, "y %u unroll, x %u unroll", outputs[k].of[1],
                            outputs[k].of[0]));
    }
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

enum { FIRST_ROWS = 32, FIRST_COLUMNS = 256 }; /* of a group that had no tiles */

static void give_tiles(const Plan *p, PlanGroup *group)
{
    tessi_level_set_march(&group->levels, (PlanMarch){ 0 });
    tessi_level_set_dealt(&group->levels, 0);
    for (uint8_t d = 0; d < group->n_dims; d++)
        tessi_level_set_tile(group, d, d + 1 == group->n_dims ? FIRST_COLUMNS : FIRST_ROWS);
    if (!p->gpu || group->n_dims < 2)
        return;
    for (uint8_t d = 0; d + 2 < group->n_dims; d++)
        tessi_level_set_tile(group, d, 1);
    tessi_level_set_tile(group, group->n_dims - 1, FIRST_COLUMNS / 2); /* shared memory is small */
    tessi_plan_set_kernel(group, KERNEL_TILE);
    tessi_plan_drop_copies(group);
    group->packed = false;
    group->frame = (PlanFrame){ 0 };
    group->split = SPLIT_INTERIOR;
    tessi_level_set_threads(&group->levels, 0, 128);
    tessi_level_set_threads(&group->levels, 1, 1);
    group->resident = 0;
    tessi_level_set_outputs_all(&group->levels, (PlanOutputs){ { 4, 4 } });
}

static const char *tile_text(Arena *a, const PlanGroup *group)
{
    Text text;
    tessi_text_init(&text, a);
    for (int d = 0; d < group->n_dims; d++)
        tessi_text_addf(&text, "%s%s %lld", d ? ", " : "",
                        tessi_level_dim_name((uint8_t)(group->n_dims - 1 - d)),
                        (long long)tessi_level_tile(group, d));
    tessi_text_add(&text, " grid");
    return tessi_text_str(&text);
}

/* Tiles of half and twice the size in each dimension; none at all, or some where there were none. */
static void change_tiles(Editor *e, uint32_t i)
{
    const PlanGroup *old = &e->from->groups.at[i];
    Plan *p;
    if (old->n_dims && !e->from->gpu && (!tessi_level_tile(old, 0) || !old->passes.n)) {
        PlanGroup *group = edit(e, i, &p);
        if (tessi_level_tile(old, 0))
            tessi_level_set_tile(group, 0, 0);
        else
            give_tiles(p, group);
        for (uint8_t d = 1; d < MAX_DIMS && !tessi_level_tile(group, 0); d++)
            tessi_level_set_tile(group, d, 0);
        offer(e, p, about_group(e, i),
              tessi_level_tile(group, 0) ? tile_text(e->arena, group) : "no tiles");
    }
    for (uint8_t d = 0; d < old->n_dims && tessi_level_tile(old, 0); d++) {
        for (int twice = 0; twice < 2; twice++) {
            PlanGroup *group = edit(e, i, &p);
            tessi_level_set_tile(
                group, d, twice ? tessi_level_tile(old, d) * 2 : tessi_level_tile(old, d) / 2);
            if (tessi_level_tile(group, d) == tessi_level_tile(old, d))
                continue; /* one row of warps */
            if (tessi_level_tile(group, d) >= 1 && tessi_level_tile(group, d) <= PLAN_MAX_TILE)
                offer(e, p, about_group(e, i), tile_text(e->arena, group));
        }
    }
    if (e->from->gpu)
        return;
    PlanGroup *group = edit(e, i, &p);
    group->stream = !old->stream;
    offer(e, p, about_group(e, i), group->stream ? "stream" : "no stream");
}

/* Sets rows of the steps through tiles, 0: none. */
static void offer_roll(Editor *e, uint32_t i, int roll)
{
    Plan *p;
    PlanGroup *group = edit(e, i, &p);
    tessi_level_set_roll(&group->levels, (uint16_t)roll);
    tessi_plan_place_passes(p, group);
    offer(e, p, about_group(e, i), roll ? tessi_sprintf(e->arena, "y %d step", roll) : "no step");
}

/* Rings of rows with steps of half and twice the rows; none, or some where there were none. */
static void change_rings(Editor *e, uint32_t i)
{
    enum { FIRST_STEP = 16 };
    const PlanGroup *old = &e->from->groups.at[i];
    if (e->from->gpu || !old->passes.n || old->n_dims < 2)
        return;
    offer_roll(e, i, tessi_level_roll(&old->levels) ? 0 : FIRST_STEP);
    if (tessi_level_roll(&old->levels) > 1)
        offer_roll(e, i, tessi_level_roll(&old->levels) / 2);
    if (tessi_level_roll(&old->levels) && tessi_level_roll(&old->levels) * 2 <= PLAN_MAX_ROLL)
        offer_roll(e, i, tessi_level_roll(&old->levels) * 2);
}

static void change_passes(Editor *e, uint32_t i)
{
    const PlanGroup *old = &e->from->groups.at[i];
    for (uint32_t k = 0; k < old->passes.n; k++) {
        for (uint8_t rows = 1; rows <= PLAN_MAX_ROWS; rows = (uint8_t)(rows * 2)) {
            if (rows == tessi_level_rows(&old->passes.at[k].levels))
                continue;
            Plan *p;
            tessi_level_set_rows(&edit(e, i, &p)->passes.at[k].levels, rows);
            offer(e, p, old->passes.at[k].stages.at[0],
                  tessi_sprintf(e->arena, "y %d unroll", rows));
        }
    }
}

/* Group k computed by passes of group i. */
static void fuse(Editor *e, uint32_t i, uint32_t k)
{
    Plan *p = tessi_plan_copy(e->arena, e->from);
    PlanGroup *into = &p->groups.at[i], from = p->groups.at[k];
    VEC(PlanPass) passes = { 0 };
    VEC_FOREACH (const PlanPass, pass, &from.passes)
        VEC_PUSH(e->arena, &passes, *pass);
    PlanPass own = { 0 };
    tessi_levels_one_by_one(&own.levels, 0);
    if (into->split == SPLIT_INTERIOR)
        tessi_level_set_rows(&own.levels, tessi_level_rows(&from.levels));
    VEC_FOREACH (const StageId, s, &from.members) {
        VEC_PUSH(e->arena, &own.stages, *s);
        if (e->f->returned[s->v]) /* copied out as well */
            VEC_PUSH(e->arena, &into->members, *s);
        else
            p->stage[s->v].placement = PLACE_SCRATCH;
    }
    VEC_PUSH(e->arena, &passes, own);
    VEC_FOREACH (const PlanPass, pass, &into->passes)
        VEC_PUSH(e->arena, &passes, *pass);
    into->passes.at = passes.at;
    into->passes.n = into->passes.cap = passes.n;
    if (!tessi_level_tile(into, 0))
        give_tiles(p, into);
    tessi_plan_place_passes(p, into);
    remove_group(p, k);
    offer(e, p, about_group(e, k),
          tessi_sprintf(e->arena, "in the tiles of %s", e->from->groups.at[i].name));
}

/* Whether a stage that group i computes reads a member of group k. */
static bool reads_group(Editor *e, uint32_t i, uint32_t k)
{
    StageList mine = { 0 }, stored = { 0 };
    tessi_plan_group_stages(e->f, &e->from->groups.at[i], &mine);
    VEC_FOREACH (const StageId, s, &mine) {
        tessi_plan_stored_reads(e->f, e->from, *s, &stored);
        VEC_FOREACH (const StageId, r, &stored)
            VEC_FOREACH (const StageId, member, &e->from->groups.at[k].members)
                if (r->v == member->v)
                    return true;
    }
    return false;
}

void tessi_plan_neighbours(Arena *a, const Graph *g, const Plan *p, PlanNeighbours *out)
{
    Editor e = { .arena = a, .f = tessi_plan_facts(a, g), .from = p, .out = out };
    change_width(&e);
    carry_nothing(&e);
    for (uint32_t i = 0; i < p->groups.n; i++) {
        if (!p->gpu)
            change_rows(&e, i);
        change_loops(&e, i);
        change_kernel(&e, i);
        change_tiles(&e, i);
        if (p->gpu)
            continue;
        change_strip(&e, i);
        change_rings(&e, i);
        change_passes(&e, i);
    }
    GRAPH_FOREACH_STAGE (g, id) {
        if (!tessi_plan_computes(e.f, id) || e.f->returned[id.v])
            continue;
        if (e.f->can_inline[id.v])
            place(&e, id, PLACE_INLINE);
        place(&e, id, PLACE_MEMORY);
        for (uint32_t i = 0; i < p->groups.n; i++) {
            place_in_pass(&e, i, id);
            carry(&e, i, id);
        }
    }
    for (uint32_t i = 0; i < p->groups.n; i++) {
        separate(&e, i);
        for (uint32_t k = i + 1; k < p->groups.n; k++)
            join(&e, i, k);
        for (uint32_t k = 0; k < i; k++)
            if (reads_group(&e, i, k))
                fuse(&e, i, k);
    }
}
