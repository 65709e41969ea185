/* Groups with tiles: for each tile, the passes compute their stages into scratch memory, then the members are
 * computed from it. What a stage holds there beyond its own edges is filled in as its border rule answers, so that
 * its readers need no rules; where the rule looks at the other end of the image, the stage itself is computed beyond
 * its edges (see plan_region.c).
 *
 * With rings of rows a tile is gone through in steps of some rows. The passes of a step compute the rows that have come
 * into reach; what is no longer needed is overwritten. The first steps begin above the tile, so that each pass finds
 * what it reads, and rings hold no more than what is read around a step. */
#include "loop/lower_group.h"
#include "loop/lower_job.h"

typedef struct Tiles {
    Lower *l;
    const PlanGroup *group;
    PlanRegions regions;
    LExprId from[MAX_DIMS], to[MAX_DIMS]; /* the members of the tile in hand, or of the step */
    LExprId first, end;                   /* rows of the tile, with rings */
} Tiles;

static bool rolls(const Tiles *t, uint8_t d)
{
    return t->first.v && d == tessi_level_roll_dim(t->group);
}

/* The first row that the tile needs of a stage. */
static LExprId first_row(const Tiles *t, const PlanRegion *region, uint8_t d)
{
    return tessi_l_op(t->l, OP_ADD, t->first, tessi_l_int(t->l, region->lo[d]));
}

/* What is needed of a stage in one dimension, beyond its edges too. */
static LExprId region_from(const Tiles *t, StageId id, uint8_t d)
{
    const PlanRegion *region = &t->regions.at[id.v];
    if (!rolls(t, d))
        return tessi_l_op(t->l, OP_ADD, t->from[d], tessi_l_int(t->l, region->lo[d]));
    const LExprId read = tessi_l_op(t->l, OP_ADD, t->from[d], tessi_l_int(t->l, region->back[d]));
    return tessi_l_op(t->l, OP_MAX, read, first_row(t, region, d));
}

static LExprId region_to(const Tiles *t, StageId id, uint8_t d)
{
    const PlanRegion *region = &t->regions.at[id.v];
    const int64_t by = rolls(t, d) ? region->ahead[d] : region->hi[d];
    return tessi_l_op(t->l, OP_ADD, t->to[d], tessi_l_int(t->l, by));
}

/* The points of the stage that are computed for the tile. */
static void stage_range(const Tiles *t, StageId id, Nest *nest)
{
    Lower *l = t->l;
    const Stage *s = tessi_stage(l->g, id);
    const Stage *members = tessi_stage(l->g, t->group->members.at[0]);
    const PlanRegion *region = &t->regions.at[id.v];
    nest->n_dims = s->n_dims;
    nest->tiled = true;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        bool same_size = s->size[d].v == members->size[d].v;
        const bool in_steps = rolls(t, d);
        nest->count[d] = s->size[d];
        nest->beyond[d] = t->regions.wraps[id.v][d];
        nest->from[d] = region_from(t, id, d);
        nest->to[d] = region_to(t, id, d);
        if (in_steps) { /* the rows before these are in the ring */
            LExprId next = tessi_l_op(l, OP_ADD, t->from[d], tessi_l_int(l, region->ahead[d]));
            nest->from[d] = tessi_l_op(l, OP_MAX, next, first_row(t, region, d));
        }
        if (nest->beyond[d] && in_steps)
            nest->to[d] = tessi_l_op(l, OP_MAX, nest->to[d], nest->from[d]);
        if (nest->beyond[d])
            continue;
        if (region->lo[d] < 0)
            nest->from[d] = tessi_l_op(l, OP_MAX, nest->from[d], tessi_l_int(l, 0));
        if (region->hi[d] > 0 || region->ahead[d] > 0 || !same_size)
            nest->to[d] = tessi_l_op(l, OP_MIN, nest->to[d], tessi_lower_size(l, s->size[d]));
        if (!same_size || in_steps || region->hi[d] < 0 || region->lo[d] > 0)
            nest->to[d] = tessi_l_op(l, OP_MAX, nest->to[d], nest->from[d]);
    }
    for (uint8_t d = 0; d < s->n_dims; d++) {
        const char *dim = tessi_dim_name(s->n_dims, d);
        tessi_hint(l, nest->from[d], tessi_sprintf(l->arena, "%s_from", dim));
        tessi_hint(l, nest->to[d], tessi_sprintf(l->arena, "%s_to", dim));
    }
    tessi_scope_place(l, nest->from, s->n_dims);
    tessi_scope_place(l, nest->to, s->n_dims);
}

/* ---- Scratch memory -------------------------------------------------------------------------- */

static void bring_into_being(Tiles *t, StageId id)
{
    Lower *l = t->l;
    const Stage *s = tessi_stage(l->g, id);
    Place *place = &l->place[id.v];
    int64_t before[MAX_DIMS], size[MAX_DIMS];
    const PlanRegion *region = &t->regions.at[id.v];
    tessi_plan_scratch_shape(s, region, tessi_level_tile_all(t->group).of,
                             tessi_level_roll(&t->group->levels), before, size);
    place->ring_dim = tessi_level_roll_dim(t->group);
    place->ring = tessi_level_roll(&t->group->levels) ? size[place->ring_dim] : 0;
    for (uint8_t d = 0; d < s->n_dims; d++)
        place->origin[d] = tessi_l_op(l, OP_SUB, t->from[d], tessi_l_int(l, before[d]));
    place->scratch = tessi_scope_local(l, s->name, s->type, s->n_dims, size);
}

/* What lies outside the stage in this dimension is read, and filled in. */
static bool has_borders(const Tiles *t, StageId id, uint8_t d)
{
    return t->regions.at[id.v].rule[d] != BORDER_INSIDE && !t->regions.wraps[id.v][d];
}

/* The value that answers for the point at `coord`, whose dimension `d` is outside the stage. */
static LExprId answer(const Tiles *t, StageId id, const Coord *coord, uint8_t d)
{
    Lower *l = t->l;
    const PlanRegion *region = &t->regions.at[id.v];
    if (region->rule[d] == BORDER_CONSTANT) {
        Eval *ev = tessi_eval_new(l, &region->outside, 1, 0);
        return tessi_eval_expr(l, ev, region->outside);
    }
    const Stage *s = tessi_stage(l->g, id);
    Coord at[MAX_DIMS];
    for (uint8_t e = 0; e < s->n_dims; e++)
        at[e] = coord[e];
    at[d].e = tessi_border_expr(l, region->rule[d], coord[d].e, tessi_lower_size(l, s->size[d]));
    return tessi_eval_stage(l, id, at, false);
}

/* The first place that holds an answer: of steps, rows above the first whose answers have been computed by then; no
 * others are read. */
static LExprId answered_from(const Tiles *t, StageId id, uint8_t d)
{
    Lower *l = t->l;
    const LExprId from = region_from(t, id, d), to = region_to(t, id, d);
    const LExprId zero = tessi_l_int(l, 0);
    const Border rule = t->regions.at[id.v].rule[d];
    if (!rolls(t, d) || t->regions.at[id.v].lo[d] >= 0 || rule == BORDER_CONSTANT)
        return from;
    if (rule == BORDER_CLAMP)
        return tessi_l_select(l, tessi_l_op(l, OP_LT, zero, to), from,
                              tessi_l_op(l, OP_MAX, from, zero));
    return tessi_l_op(l, OP_MAX, from, tessi_l_op(l, OP_SUB, tessi_l_int(l, 1), to));
}

/* Where answers end: steps may compute farther ahead than the tile reads, and of what lies there no answer need be. */
static LExprId answered_to(const Tiles *t, StageId id, uint8_t d)
{
    Lower *l = t->l;
    const PlanRegion *region = &t->regions.at[id.v];
    const LExprId to = region_to(t, id, d);
    if (!rolls(t, d) || region->ahead[d] <= region->hi[d])
        return to;
    const LExprId last = tessi_l_op(l, OP_ADD, t->end, tessi_l_int(l, region->hi[d]));
    return tessi_l_op(l, OP_MIN, to, last);
}

/* Fills what lies outside stages that are filled alike, on one side of dimension `d`: dimensions before `d` over the
 * points computed, those after it with what has been filled in. */
static void fill_side(const Tiles *t, const StageList *stages, const Nest *computed, uint8_t d,
                      LExprId from, LExprId to)
{
    Lower *l = t->l;
    const StageId id = stages->at[0];
    const Stage *s = tessi_stage(l->g, id);
    Coord coord[MAX_DIMS];
    for (uint8_t e = 0; e < s->n_dims; e++) {
        bool filled = e > d && has_borders(t, id, e);
        LExprId begin = e == d ? from : filled ? answered_from(t, id, e) : computed->from[e];
        LExprId end = e == d ? to : filled ? answered_to(t, id, e) : computed->to[e];
        bool vector = e == s->n_dims - 1 && e != d && tessi_level_vector(&t->group->levels);
        LVarId v =
            tessi_scope_for(l, tessi_dim_name(s->n_dims, e), begin, end, 1, vector ? LFOR_SIMD : 0);
        coord[e] = (Coord){ .e = tessi_lexpr_var(l->p, v), .dim = -1 };
    }
    LExprId *value = ARENA_NEW_ARRAY(l->arena, LExprId, stages->n);
    for (uint32_t i = 0; i < stages->n; i++)
        value[i] = answer(t, stages->at[i], coord, d);
    tessi_scope_place(l, value, stages->n);
    for (uint32_t i = 0; i < stages->n; i++) {
        const Place *place = &l->place[stages->at[i].v];
        LExprId index[MAX_DIMS];
        for (uint8_t e = 0; e < s->n_dims; e++)
            index[e] = tessi_place_index(l, place, e, coord[e].e);
        tessi_scope_store(l, place->scratch, index, s->n_dims, value[i]);
    }
    for (uint8_t e = 0; e < s->n_dims; e++)
        tessi_scope_close(l);
}

/* Stages of a pass that have the same rules. */
static bool filled_alike(const Tiles *t, StageId a, StageId b)
{
    const PlanRegion *x = &t->regions.at[a.v], *y = &t->regions.at[b.v];
    for (uint8_t d = 0; d < tessi_stage(t->l->g, a)->n_dims; d++)
        if (x->rule[d] != y->rule[d])
            return false;
    return true;
}

static void fill_borders(const Tiles *t, const StageList *stages, const Nest *computed)
{
    Lower *l = t->l;
    const StageId id = stages->at[0];
    const Stage *s = tessi_stage(l->g, id);
    const PlanRegion *region = &t->regions.at[id.v];
    for (uint8_t d = s->n_dims; d-- > 0;) {
        LExprId zero = tessi_l_int(l, 0), n = tessi_lower_size(l, s->size[d]);
        if (!has_borders(t, id, d))
            continue;
        if (region->lo[d] < 0) {
            const LExprId from = answered_from(t, id, d);
            tessi_scope_if(l, tessi_l_op(l, OP_LT, from, zero));
            fill_side(t, stages, computed, d, from, zero);
            tessi_scope_close(l);
        }
        if (region->hi[d] > 0) {
            const LExprId to = answered_to(t, id, d);
            tessi_scope_if(l, tessi_l_op(l, OP_LT, n, to));
            fill_side(t, stages, computed, d, n, to);
            tessi_scope_close(l);
        }
    }
}

/* ---- Passes and members ---------------------------------------------------------------------- */

static void run_pass(Tiles *t, const PlanPass *pass)
{
    Lower *l = t->l;
    Nest nest = { 0 };
    tessi_comment_stages(l, pass->stages.at, pass->stages.n);
    stage_range(t, pass->stages.at[0], &nest);
    if (!tessi_level_roll(&t->group->levels))
        VEC_FOREACH (const StageId, id, &pass->stages)
            bring_into_being(t, *id);
    Job job = { .stage = pass->stages.at, .n = pass->stages.n, .to_scratch = true };
    job.band = tessi_level_band(&pass->levels);
    job.roots = tessi_bodies(l, job.stage, job.n);
    tessi_job_nest(l, t->group, tessi_level_rows(&pass->levels), &nest, &job);
    tessi_lower_nest(l, &nest);
    for (uint32_t i = 0, n; i < pass->stages.n; i += n) {
        const StageId *first = &pass->stages.at[i];
        for (n = 1; i + n < pass->stages.n && filled_alike(t, *first, first[n]);)
            n++;
        const StageList alike = { .at = pass->stages.at + i, .n = n, .cap = n };
        fill_borders(t, &alike, &nest);
    }
}

static void run_members(Tiles *t)
{
    Lower *l = t->l;
    const StageId *member = t->group->members.at;
    const Stage *s = tessi_stage(l->g, member[0]);
    Nest nest = { .n_dims = s->n_dims, .tiled = true };
    for (uint8_t d = 0; d < s->n_dims; d++) {
        nest.from[d] = t->from[d];
        nest.to[d] = t->to[d];
        nest.count[d] = s->size[d];
        if (!rolls(t, d))
            continue;
        nest.from[d] = tessi_l_op(l, OP_MAX, nest.from[d], t->first);
        nest.to[d] = tessi_l_op(l, OP_MAX, nest.to[d], nest.from[d]);
    }
    tessi_scope_place(l, nest.from, s->n_dims);
    tessi_scope_place(l, nest.to, s->n_dims);
    tessi_comment_stages(l, member, t->group->members.n);
    Job job = { .stage = member, .n = t->group->members.n };
    job.band = tessi_level_band(&t->group->levels);
    job.roots = tessi_bodies(l, job.stage, job.n);
    tessi_job_nest(l, t->group, tessi_level_rows(&t->group->levels), &nest, &job);
    tessi_lower_nest(l, &nest);
}

static void set_tile(Tiles *t, const Stage *s, uint8_t d, LExprId from)
{
    Lower *l = t->l;
    LExprId end = tessi_l_op(l, OP_ADD, from, tessi_l_int(l, tessi_level_tile(t->group, d)));
    t->from[d] = from;
    t->to[d] = tessi_scope_let(l, tessi_sprintf(l->arena, "%s_end", tessi_dim_name(s->n_dims, d)),
                               tessi_l_op(l, OP_MIN, end, tessi_lower_size(l, s->size[d])));
}

/* Tiles whose rows are long stand in few columns: bands of them are shared out among the cores, each from left to
 * right. Of tiles as high as these an image has few bands, too few to be fair to cores that have other work as well. */
static bool shares_out_bands(const PlanGroup *group)
{
    enum { HIGH = 128 };
    return group->n_dims == 2 && tessi_level_tile(group, 0) < HIGH;
}

/* Opens a loop over the tiles of the first `n` dimensions, whose iterations are shared out. */
static void open_shared_tiles(Tiles *t, const Stage *s, uint8_t n, uint8_t flags)
{
    Lower *l = t->l;
    LExprId zero = tessi_l_int(l, 0), count[MAX_DIMS], total = tessi_l_int(l, 1);
    for (uint8_t d = 0; d < n; d++) {
        LExprId size = tessi_l_int(l, tessi_level_tile(t->group, d));
        LExprId up = tessi_l_op(l, OP_ADD, tessi_lower_size(l, s->size[d]),
                                tessi_l_int(l, tessi_level_tile(t->group, d) - 1));
        count[d] = tessi_l_op(l, OP_FLOORDIV, up, size);
        total = tessi_l_op(l, OP_MUL, total, count[d]);
    }
    LExprId left = tessi_lexpr_var(l->p, tessi_scope_for(l, "tile", zero, total, 1, flags));
    for (uint8_t d = n; d-- > 0;) {
        LExprId at = d ? tessi_l_op(l, OP_FLOORMOD, left, count[d]) : left;
        LExprId from = tessi_l_op(l, OP_MUL, at, tessi_l_int(l, tessi_level_tile(t->group, d)));
        left = d ? tessi_l_op(l, OP_FLOORDIV, left, count[d]) : left;
        const char *name = tessi_sprintf(l->arena, "%s_tile", tessi_dim_name(s->n_dims, d));
        set_tile(t, s, d, tessi_scope_let(l, name, from));
    }
}

/* Opens a loop along one dimension. */
static void open_row_of_tiles(Tiles *t, const Stage *s, uint8_t d, uint8_t flags)
{
    Lower *l = t->l;
    const char *name = tessi_sprintf(l->arena, "%s_tile", tessi_dim_name(s->n_dims, d));
    LVarId from = tessi_scope_for(l, name, tessi_l_int(l, 0), tessi_lower_size(l, s->size[d]),
                                  tessi_level_tile(t->group, d), flags);
    set_tile(t, s, d, tessi_lexpr_var(l->p, from));
}

/* The loops over tiles; their number. */
static int open_tiles(Tiles *t, const Stage *s)
{
    const uint8_t flags = tessi_level_parallel(&t->group->levels) ? LFOR_PARALLEL : 0,
                  n = s->n_dims;
    const uint8_t last = (uint8_t)(n - 1);
    if (n == 2 && !shares_out_bands(t->group)) {
        open_shared_tiles(t, s, n, flags);
        return 1;
    }
    if (n == 2)
        open_row_of_tiles(t, s, 0, flags);
    else if (n > 2)
        open_shared_tiles(t, s, last, flags);
    open_row_of_tiles(t, s, last, last ? 0 : flags);
    return n > 1 ? 2 : 1;
}

/* So far above the tile the first step begins: whole steps, by then no pass needs what is above its first row. */
static int64_t rows_above(const Tiles *t, uint8_t d)
{
    const int64_t step = tessi_level_roll(&t->group->levels);
    int64_t most = 0;
    VEC_FOREACH (const PlanPass, pass, &t->group->passes) {
        VEC_FOREACH (const StageId, id, &pass->stages) {
            const PlanRegion *region = &t->regions.at[id->v];
            const int64_t rows = region->ahead[d] - region->lo[d];
            most = rows > most ? rows : most;
        }
    }
    return (most + step - 1) / step * step;
}

/* Brings the rings of the tile into being and opens the loop over its steps. */
static void open_steps(Tiles *t, const Stage *s)
{
    Lower *l = t->l;
    const uint8_t d = tessi_level_roll_dim(t->group);
    const char *dim = tessi_dim_name(s->n_dims, d);
    const LExprId from = t->from[d], to = t->to[d];
    VEC_FOREACH (const PlanPass, pass, &t->group->passes)
        VEC_FOREACH (const StageId, id, &pass->stages)
            bring_into_being(t, *id);
    t->first = from;
    t->end = to;
    const LExprId above = tessi_l_op(l, OP_SUB, from, tessi_l_int(l, rows_above(t, d)));
    LVarId step = tessi_scope_for(l, tessi_sprintf(l->arena, "%s_step", dim), above, to,
                                  tessi_level_roll(&t->group->levels), 0);
    t->from[d] = tessi_lexpr_var(l->p, step);
    LExprId end =
        tessi_l_op(l, OP_ADD, t->from[d], tessi_l_int(l, tessi_level_roll(&t->group->levels)));
    t->to[d] = tessi_scope_let(l, tessi_sprintf(l->arena, "%s_step_end", dim),
                               tessi_l_op(l, OP_MIN, end, to));
}

void tessi_lower_tiles(Lower *l, const PlanGroup *group)
{
    Tiles t = { .l = l, .group = group };
    const Stage *s = tessi_stage(l->g, group->members.at[0]);
    tessi_plan_regions(tessi_lower_facts(l), l->plan, group, &l->regions);
    t.regions = l->regions;
    int loops = open_tiles(&t, s);
    if (tessi_level_roll(&group->levels)) {
        open_steps(&t, s);
        loops++;
    }
    l->tile_depth = tessi_scope_depth(l);
    tessi_places_wrap(l, &t.regions);
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        run_pass(&t, pass);
    run_members(&t);
    for (int i = 0; i < loops; i++)
        tessi_scope_close(l);
    tessi_places_forget(l);
}
