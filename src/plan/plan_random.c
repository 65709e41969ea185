/* Random legal plans, for tests: whatever is inlined, grouped, tiled or split, the pixels stay the same. The naive plan
 * is edited some times (plan_edits.h), with words and sizes drawn from the tables of what pages can say, so that words
 * that are new to a table are drawn too. Sizes are small: plans are run on small images, by an interpreter. */
#include "plan/plan_costs.h"
#include "plan/plan_edits.h"

enum {
    MOST_NODES = 3000,      /* of functions with inlined stages */
    MOST_POINTS = 1000,     /* of the windows that a thread computes, written out */
    MOST_OF_A_BLOCK = 1024, /* points that it computes, in the image or not */
    MOST_THREADS_IN_A_ROW = 64,
    MOST_THREADS_ABOVE = 5,
    MOST_GROUPS = 24 /* that are looked at: large graphs would take long */
};

typedef struct Draw {
    Editor e;
    uint64_t state;
} Draw;

static uint32_t draw(Draw *d, uint32_t n)
{
    d->state = tessi_hash_u64(d->state, 0x9e3779b97f4a7c15u);
    return (uint32_t)((d->state >> 33) % n);
}

/* Small numbers and powers of two more often than others. */
static int64_t draw_size(Draw *d, int64_t most)
{
    const int64_t n = draw(d, 2) ? INT64_C(1) << draw(d, 7) : 1 + draw(d, 17);
    return n < most ? n : 1 + draw(d, (uint32_t)most);
}

/* Points that a block computes of each stage, or a step of it. */
static int64_t points_of_block(const PlanGroup *group)
{
    int64_t tile = 1, threads = tessi_level_points(&group->levels);
    for (int k = 0; k < 2; k++)
        threads *= tessi_level_threads(&group->levels, k);
    for (int k = 0; k < group->n_dims; k++)
        tile *= tessi_plan_kernel(group) == KERNEL_TILE ? tessi_level_tile(group, k) : 1;
    return tile > threads ? tile : threads;
}

/* A block computes little, and the code of its threads is not too long. */
static bool is_little(const Draw *d, const PlanGroup *group)
{
    const int points = tessi_level_points(&group->levels);
    if (d->e.from->gpu && points_of_block(group) > MOST_OF_A_BLOCK)
        return false;
    int64_t most = 0;
    VEC_FOREACH (const StageId, id, &group->members)
        most = d->e.f->window_points[id->v] > most ? d->e.f->window_points[id->v] : most;
    return points == 1 || tessi_plan_kernel(group) == KERNEL_TRANSFORM
           || most * points <= MOST_POINTS;
}

/* Goes on from what the last edit made of the plan. */
static void go_on(Draw *d)
{
    PlanNeighbours *made = d->e.out;
    if (made->n)
        d->e.from = made->at[made->n - 1].plan;
    made->n = 0;
    d->e.pages.n = 0;
}

/* ---- Lines of a group ------------------------------------------------------------------------ */

static PlanLevel draw_level(Draw *d, uint8_t dim, LevelHow how, bool march)
{
    PlanLevel level = { .dim = dim, .how = (uint8_t)how };
    const int64_t most = how != LEVEL_THREAD ? tessi_level_most(how)
                         : dim               ? MOST_THREADS_ABOVE
                                             : MOST_THREADS_IN_A_ROW;
    level.size = (uint32_t)draw_size(d, how == LEVEL_UNROLL && (dim || !d->e.from->gpu) ? 5 : most);
    level.ahead = how == LEVEL_STEP && draw(d, 2);
    if (d->e.from->gpu && how == LEVEL_UNROLL && draw(d, 4) == 0)
        level.apart = (uint16_t)(2 + draw(d, 4));
    if (march) {
        level.most = level.size + draw(d, 40);
        level.blocks = 1 + draw(d, 30);
    }
    return level;
}

/* Tiles of kernels are as many points as threads have, some times; threads stand between points that are apart. */
static void fit_tiles(Draw *d, PlanGroup *group)
{
    for (int k = 0; k < 2 && tessi_plan_kernel(group) == KERNEL_REGISTER; k++)
        tessi_level_set_threads(&group->levels, k,
                                (uint16_t)(tessi_level_threads(&group->levels, k)
                                           * tessi_level_apart(&group->levels, k)));
    for (int k = 0; k < 2 && tessi_plan_kernel(group) == KERNEL_TILE; k++) {
        const int64_t times = 1 + draw(d, 20);
        tessi_level_set_tile(group, group->n_dims - 1 - k,
                             times * tessi_level_reach(&group->levels, k));
    }
}

/* Levels that have a name, with other sizes. */
static void draw_preset(Draw *d, uint32_t i, PlanGroup *group)
{
    uint32_t n = 0;
    PlanLevels levels;
    while (tessi_level_preset_name(n))
        n++;
    bool there = false;
    for (uint32_t tries = 2 * n; tries > 0 && !there; tries--)
        there = tessi_edit_preset(&d->e, i, draw(d, n), &levels);
    if (!there)
        return;
    tessi_plan_point_kernel(group);
    for (uint8_t k = 0; k < levels.n; k++) {
        const PlanLevel *level = &levels.at[k];
        if (level->size)
            levels.at[k] = draw_level(d, level->dim, (LevelHow)level->how, level->most);
    }
    group->levels = tessi_levels_arranged(&levels);
    fit_tiles(d, group);
}

/* A level of a kind that the target has, along any dimension, is put in, made another size, or left out. */
static void draw_any_level(Draw *d, PlanLevels *levels)
{
    LevelHow how;
    do
        how = (LevelHow)draw(d, N_LEVEL_HOWS);
    while (how == (d->e.from->gpu ? LEVEL_SERIAL : LEVEL_THREAD));
    const uint32_t dims = levels->n_dims ? levels->n_dims : 2;
    const bool down = how == LEVEL_STEP && dims < 3;
    PlanLevel level = draw_level(d, down ? 1 : (uint8_t)draw(d, dims), how, false);
    level.size = draw(d, 4) ? level.size : 0;
    if (draw(d, 4))
        tessi_level_put(levels, &level);
    else
        tessi_level_leave_out(levels, level.dim, how);
    *levels = tessi_levels_arranged(levels);
}

/* Transforms have other bits. */
static bool keeps_bits(const Knob *k)
{
    return !tessi_streq(k->word, "transform");
}

static void draw_word(Draw *d, PlanGroup *group)
{
    uint32_t n = 0;
    for (const Knob *k = tessi_knobs(); k->word; k++)
        n++;
    const Knob *k = &tessi_knobs()[draw(d, n)];
    if (k->kind != KNOB_NUMBERS || !keeps_bits(k))
        return;
    if (tessi_knob_is_said(k, group)) {
        tessi_knob_leave_out(k, group);
        return;
    }
    tessi_knob_set_usual(k, group);
    for (uint32_t i = 0; i < k->n; i++)
        tessi_knob_set(k, i, group, draw_size(d, k->number[i].most));
}

static bool draw_copy(Draw *d, uint32_t i)
{
    StageList images = { 0 };
    tessi_edit_images(&d->e, i, &images);
    return images.n
           && tessi_edit_copy(&d->e, i, images.at[draw(d, images.n)], (int)draw(d, N_STAGINGS + 1));
}

/* The group as it is here, split so, or else in the first way in which it is legal. */
static void keep_group(Draw *d, uint32_t i, PlanGroup *group, uint32_t split)
{
    const uint32_t step = draw(d, 2) ? 1 : N_SPLITS - 1; /* up or down */
    for (uint32_t k = 0; k < N_SPLITS && is_little(d, group); k++) {
        group->split = (Split)((split + k * step) % N_SPLITS);
        if (tessi_edit_group_as_it_is(&d->e, i, group, "drawn"))
            return;
    }
}

/* One line of a group otherwise; `fresh`: the levels of a preset. */
static void edit_group(Draw *d, uint32_t i, bool fresh)
{
    enum { LEVELS, PRESET, WORD, SPLIT, COPY, N_KINDS };
    PlanGroup group = tessi_plan_copy(d->e.arena, d->e.from)->groups.at[i];
    const uint32_t pass = draw(d, group.passes.n + 1);
    uint32_t split = group.split;
    switch (fresh ? PRESET : draw(d, N_KINDS)) {
    case LEVELS: draw_any_level(d, tessi_edit_levels_of(&group, pass)); break;
    case PRESET: draw_preset(d, i, &group); break;
    case WORD: draw_word(d, &group); break;
    case SPLIT: split = draw(d, N_SPLITS); break;
    case COPY: draw_copy(d, i); return;
    }
    keep_group(d, i, &group, fresh ? draw(d, N_SPLITS) : split);
}

static void edit_warp(Draw *d, uint32_t i)
{
    const uint8_t outputs[2] = { (uint8_t)(1 << draw(d, 4)), (uint8_t)(1 + draw(d, 5)) };
    Plan *p = tessi_plan_copy(d->e.arena, d->e.from);
    PlanGroup *group = &p->groups.at[i];
    const bool edges = draw(d, 2), planes = edges && group->n_dims > 2 && draw(d, 2);
    const uint16_t beside = (uint16_t)(1 + (!edges || planes ? draw(d, 2) : 0));
    if (edges ? tessi_plan_make_warp_edges(d->e.f, p, group, outputs, beside, planes)
              : tessi_plan_make_warp(d->e.f, p, group, outputs, beside))
        return;
    const PlanLevel level = draw_level(d, 1, LEVEL_GRID, true);
    tessi_level_set_march(&group->levels, (PlanMarch){ .least = (uint16_t)level.size,
                                                       .most = (uint16_t)level.most,
                                                       .blocks = level.blocks,
                                                       .ahead = draw(d, 2),
                                                       .planes = planes });
    if (is_little(d, group))
        tessi_edit_keep(&d->e, p, tessi_edit_about(&d->e, i), "drawn");
}

/* ---- Places ---------------------------------------------------------------------------------- */

static bool code_fits(const Draw *d, const Plan *p)
{
    PlanCodeSize size = { 0 };
    return tessi_plan_code_fits(d->e.f, p, MOST_NODES, MOST_NODES, &size);
}

/* Some of the stages inline; on CPUs, some of these in registers, in what loops read them again further down. */
static void draw_places(Draw *d)
{
    const uint32_t eagerness = draw(d, 4);
    GRAPH_FOREACH_STAGE (d->e.f->g, id) {
        const Plan *before = d->e.from;
        if (!d->e.f->can_inline[id.v] || draw(d, 4) >= eagerness)
            continue;
        tessi_edit_place(&d->e, id, PLACE_INLINE);
        go_on(d);
        d->e.from = code_fits(d, d->e.from) ? d->e.from : before;
    }
}

static void draw_carries(Draw *d)
{
    if (d->e.from->gpu || draw(d, 3) == 0)
        return;
    GRAPH_FOREACH_STAGE (d->e.f->g, id) {
        if (!tessi_plan_computes(d->e.f, id) || !tessi_plan_is_inline(d->e.from, id)
            || draw(d, 3) == 0)
            continue;
        for (uint32_t i = 0; i < d->e.from->groups.n && i < MOST_GROUPS; i++) {
            tessi_edit_carry(&d->e, i, draw(d, d->e.from->groups.at[i].passes.n + 1), id,
                             (uint16_t)(1 + draw(d, draw(d, 4) ? 20 : 200)),
                             (uint8_t)(1 + draw(d, 4)));
            go_on(d);
        }
    }
}

/* Groups that share loops, groups computed by the tiles of others, and inlined stages by passes of tiles. */
static void draw_groups(Draw *d)
{
    for (uint32_t tries = draw(d, 24); tries-- > 0 && d->e.from->groups.n > 1;) {
        const uint32_t i = draw(d, d->e.from->groups.n), k = draw(d, d->e.from->groups.n);
        if (i == k)
            edit_group(d, i, draw(d, 2));
        else if (draw(d, 2))
            tessi_edit_join(&d->e, i, k);
        else
            tessi_edit_fuse(&d->e, i, k);
        go_on(d);
    }
}

static void draw_loops(Draw *d)
{
    const uint32_t n = d->e.from->groups.n < MOST_GROUPS ? d->e.from->groups.n : MOST_GROUPS;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t edits = 1 + draw(d, 10);
        for (uint32_t k = 0; k < edits; k++) {
            if (d->e.from->gpu && draw(d, 8) == 0)
                edit_warp(d, i);
            else
                edit_group(d, i, k == 0);
            go_on(d);
        }
    }
}

Plan *tessi_plan_random(Arena *a, const Graph *g, const Machine *m, uint64_t seed)
{
    PlanNeighbours made = { 0 };
    Plan *start = tessi_plan_naive(a, g, m);
    Draw d = { { .arena = a, .f = tessi_plan_facts(a, g), .out = &made }, tessi_hash_u64(seed, 1) };
    if (!start->gpu && draw(&d, 3) == 0)
        start->width = (uint8_t)(PLAN_LEAST_WIDTH << draw(&d, 3));
    d.e.from = start;
    draw_places(&d);
    draw_loops(&d);
    draw_groups(&d);
    draw_loops(&d);
    draw_carries(&d);
    return tessi_plan_copy(a, d.e.from);
}
