/* Kernels of tiles: a block computes a tile of the members, after its passes have computed what the tile needs of
 * their stages into shared memory, with overlap. A register tile is one without passes.
 *
 *   for blocks: for each pass, then the members:
 *                   for threads: `outputs` columns and rows of points, straight-line
 *
 * Blocks that lie inside with all they read answer no rules. In others reads of images are answered by their
 * rules; what a stage holds beyond its own edges, computed like all else, is then replaced by what its readers' rule
 * answers (see plan_region.c). */
#include "loop/lower_tiles.h"
#include "loop/lower_group.h"

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Pass number i; the members come after the last. */
static Part part_of(const Tiles *t, uint32_t i)
{
    const PlanGroup *group = t->group;
    const bool members = i == group->passes.n;
    const PlanLevels *levels = members ? &group->levels : &group->passes.at[i].levels;
    Part part = { .outputs = tessi_level_outputs_all(levels) };
    for (int k = 0; k < 2; k++)
        part.apart[k] = tessi_level_apart(levels, k);
    if (t->nest) {
        part.nest = *t->nest;
        part.job = *(const Job *)t->nest->user;
        part.extent.n[0] = t->size[0];
        part.extent.n[1] = t->size[1];
        return part;
    }
    part.job.stage = members ? group->members.at : group->passes.at[i].stages.at;
    part.job.n = members ? group->members.n : group->passes.at[i].stages.n;
    part.job.to_scratch = !members;
    part.job.roots = tessi_bodies(t->l, part.job.stage, part.job.n);
    for (int k = 0; k < 2; k++) {
        part.extent.lo[k] = members ? 0 : t->extent[i].lo[k];
        part.extent.n[k] = members ? t->size[k] : t->extent[i].n[k];
    }
    tessi_nest_whole(t->l, tessi_stage(t->l->g, part.job.stage[0]), &part.nest);
    for (uint8_t d = 0; d < t->n_dims; d++)
        part.nest.beyond[d] = !members && t->regions.wraps[part.job.stage[0].v][d];
    return part;
}

/* ---- Shared memory --------------------------------------------------------------------------- */

static void find_places(const Tiles *t)
{
    Lower *l = t->l;
    for (uint32_t i = 0; i < t->group->passes.n; i++) {
        VEC_FOREACH (const StageId, id, &t->group->passes.at[i].stages) {
            const Stage *s = tessi_stage(l->g, *id);
            LBuffer b = { .name = s->name, .kind = LBUF_LOCAL, .type = s->type };
            b.n_dims = s->n_dims;
            for (uint8_t d = 0; d < t->y; d++)
                b.size[d] = tessi_l_int(l, 1);
            b.size[t->y] = tessi_l_int(l, t->extent[i].n[0]);
            b.size[t->y + 1] = tessi_l_int(l, tessi_plan_shared_pitch(s, &t->extent[i]));
            l->place[id->v].scratch = tessi_loop_buffer(l->p, &b);
            l->place[id->v].columns = t->extent[i].n[1];
        }
    }
    tessi_places_wrap(l, &t->regions);
}

void tessi_tiles_declare(const Tiles *t)
{
    Lower *l = t->l;
    for (uint32_t i = 0; i < t->group->passes.n; i++) {
        VEC_FOREACH (const StageId, id, &t->group->passes.at[i].stages) {
            Place *place = &l->place[id->v];
            for (uint8_t d = 0; d < t->y; d++)
                place->origin[d] = t->outer[d].e;
            for (int k = 0; k < 2; k++)
                place->origin[t->y + k] =
                    tessi_l_op(l, OP_ADD, t->first[k], tessi_l_int(l, t->extent[i].lo[k]));
            tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = place->scratch;
        }
    }
}

/* ---- Borders of stages in shared memory ------------------------------------------------------ */

static LExprId is_outside(Lower *l, LExprId i, LExprId n)
{
    return tessi_l_op(l, OP_OR, tessi_l_op(l, OP_LT, i, tessi_l_int(l, 0)),
                      tessi_l_op(l, OP_LE, n, i));
}

/* Where the element that answers for row (column) `at` stands in shared memory. What no reader needs may be answered
 * by any. */
static LExprId answering(const Tiles *t, const Part *part, Border rule, int k, LExprId at)
{
    Lower *l = t->l;
    LExprId begin = tessi_l_op(l, OP_ADD, t->first[k], tessi_l_int(l, part->extent.lo[k]));
    LExprId last = tessi_l_op(l, OP_ADD, begin, tessi_l_int(l, part->extent.n[k] - 1));
    LExprId from = tessi_border_expr(l, rule == BORDER_INSIDE ? BORDER_CLAMP : rule, at,
                                     part->nest.to[t->y + k]);
    from = tessi_l_op(l, OP_MIN, tessi_l_op(l, OP_MAX, from, begin), last);
    return tessi_l_op(l, OP_SUB, from, begin);
}

static void fill_element(const Tiles *t, const Part *part, StageId id, const LExprId *element,
                         const LExprId *at)
{
    Lower *l = t->l;
    const PlanRegion *region = &t->regions.at[id.v];
    LExprId root[MAX_DIMS + 1], constant = { 0 };
    for (uint8_t d = 0; d < t->y; d++)
        root[d] = tessi_place_index(l, &l->place[id.v], d, t->outer[d].e);
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        root[d] = part->nest.beyond[d] ? element[k] : answering(t, part, region->rule[d], k, at[k]);
        if (part->nest.beyond[d] || region->rule[d] != BORDER_CONSTANT)
            continue;
        LExprId out = is_outside(l, at[k], part->nest.to[d]);
        constant = constant.v ? tessi_l_op(l, OP_OR, constant, out) : out;
    }
    LExprId value = tessi_lexpr_load(l->p, l->place[id.v].scratch, root, t->n_dims);
    tessi_pin(l, value, tessi_scope_depth(l));
    if (constant.v) {
        Eval *ev = tessi_eval_new(l, &region->outside, 1, 0);
        value = tessi_l_select(l, constant, tessi_eval_expr(l, ev, region->outside), value);
    }
    value = tessi_scope_place1(l, value);
    for (int k = 0; k < 2; k++)
        root[t->y + k] = element[k];
    tessi_scope_store(l, l->place[id.v].scratch, root, t->n_dims, value);
}

/* Some of what the part computes lies beyond the edge in dimension k. */
static LExprId crosses(const Tiles *t, const Part *part, int k)
{
    Lower *l = t->l;
    LExprId begin = tessi_l_op(l, OP_ADD, t->first[k], tessi_l_int(l, part->extent.lo[k]));
    LExprId end = tessi_l_op(l, OP_ADD, begin, tessi_l_int(l, part->extent.n[k]));
    return tessi_l_op(l, OP_OR, tessi_l_op(l, OP_LT, begin, tessi_l_int(l, 0)),
                      tessi_l_op(l, OP_LT, part->nest.to[t->y + k], end));
}

static void fill_borders(const Tiles *t, const Part *part)
{
    Lower *l = t->l;
    LExprId any = { 0 }, outside = { 0 }, element[2], at[2];
    for (int k = 0; k < 2; k++)
        if (!part->nest.beyond[t->y + k])
            any = any.v ? tessi_l_op(l, OP_OR, any, crosses(t, part, k)) : crosses(t, part, k);
    if (!any.v)
        return;
    tessi_scope_if(l, any);
    LExprId number = tessi_kernel_threads(l, 0, "element", part->extent.n[0] * part->extent.n[1]);
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        LExprId across = tessi_l_int(l, part->extent.n[1]);
        element[k] = tessi_scope_let(l, k ? "column" : "row",
                                     tessi_l_op(l, k ? OP_FLOORMOD : OP_FLOORDIV, number, across));
        at[k] = tessi_l_op(l, OP_ADD, t->first[k], element[k]);
        at[k] = tessi_l_op(l, OP_ADD, at[k], tessi_l_int(l, part->extent.lo[k]));
        at[k] = tessi_scope_let(l, tessi_dim_name(t->n_dims, d), at[k]);
        if (part->nest.beyond[d])
            continue;
        LExprId out = is_outside(l, at[k], part->nest.to[d]);
        outside = outside.v ? tessi_l_op(l, OP_OR, outside, out) : out;
    }
    if (part->limit[0].v)
        outside = tessi_l_op(l, OP_AND, outside, tessi_points_before_limit(l, part, at));
    tessi_scope_if(l, outside);
    for (uint32_t i = 0; i < part->job.n; i++)
        fill_element(t, part, part->job.stage[i], element, at);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The coordinates of the first point of a tile, as far as the points of a part are around it. Vectors may hold some
 * columns more than are read. */
static void tile_coords(const Tiles *t, const Part *part, Coord *coord)
{
    const Stage *members = tessi_stage(t->l->g, t->group->members.at[0]);
    for (uint8_t d = 0; d < t->n_dims; d++) {
        coord[d] = tessi_nest_coord(&part->nest, d, (LExprId){ 0 });
        coord[d].count = t->nest ? t->nest->count[d] : members->size[d];
        const int k = d - t->y;
        if (k < 0)
            continue;
        coord[d].lo = part->extent.lo[k];
        coord[d].hi = part->extent.lo[k] + part->extent.n[k] - 1;
        coord[d].less = t->size[k] - 1;
        if (k > 0) {
            coord[d].hi += part->outputs.of[0] - 1;
            coord[d].less += tessi_level_outputs(&t->group->levels, 0) - 1;
        }
    }
}

/* What holds of the first point of a tile where a part lies inside with all it reads. */
static void add_guards(const Tiles *t, const Part *part, GuardList *guards)
{
    Coord coord[MAX_DIMS];
    tile_coords(t, part, coord);
    for (uint8_t d = t->y; d < t->n_dims; d++) {
        Guard own = { .dim = (int8_t)d, .scale = 1, .lo = coord[d].lo, .hi = coord[d].hi };
        own.rest = tessi_lin_const(0);
        own.size = part->nest.count[d];
        if (!part->nest.beyond[d])
            VEC_PUSH(t->l->arena, guards, own);
    }
    tessi_nest_guards(t->l, &part->nest, coord, guards);
}

/* The coordinates of the first point of a thread, as far as the others are around it. Vectors may hold some columns
 * more than are read. */
static void patch_coords(const Tiles *t, const Part *part, Coord *coord)
{
    for (uint8_t d = 0; d < t->n_dims; d++) {
        coord[d] = tessi_nest_coord(&part->nest, d, (LExprId){ 0 });
        if (d < t->y)
            continue;
        const int k = t->n_dims - 1 - d;
        const int64_t span = (part->outputs.of[k] - 1) * (int64_t)part->apart[k];
        coord[d].hi = coord[d].less = span + (k ? 0 : part->outputs.of[0] - 1);
    }
}

/* Tiles of points that stand apart are long, so that many of them meet an edge, and few of their threads do. */
LExprId tessi_tiles_patch_inside(const Tiles *t, const Part *part, const LExprId *first)
{
    Lower *l = t->l;
    const Stage *s = tessi_stage(l->g, part->job.stage[0]);
    GuardList guards = { 0 };
    LExprId from[MAX_DIMS], to[MAX_DIMS], at[MAX_DIMS];
    Coord coord[MAX_DIMS];
    if (t->nest || !tessi_plan_is_spread(t->group))
        return (LExprId){ 0 };
    patch_coords(t, part, coord);
    tessi_nest_guards(l, &part->nest, coord, &guards);
    if (!guards.n)
        return (LExprId){ 0 };
    for (uint8_t d = t->y; d < t->n_dims; d++) {
        Guard own = { .dim = (int8_t)d, .scale = 1, .hi = coord[d].hi, .size = s->size[d] };
        own.rest = tessi_lin_const(0);
        if (!part->nest.beyond[d])
            VEC_PUSH(l->arena, &guards, own);
    }
    for (uint8_t d = 0; d < t->n_dims; d++) {
        from[d] = part->nest.from[d];
        to[d] = part->nest.to[d];
        at[d] = d < t->y ? t->outer[d].e : first[d - t->y];
        tessi_guard_range(l, &guards, (int8_t)d, &from[d], &to[d]);
    }
    return tessi_kernel_within(l, t->n_dims, from, to, at);
}

/* Copies serve all that the part reads: its code is the same inside and at borders. */
static bool answers_no_rules(const Tiles *t, const Part *part)
{
    GuardList guards = { 0 };
    Coord coord[MAX_DIMS];
    if (!t->l->copies)
        return false;
    tile_coords(t, part, coord);
    tessi_nest_guards(t->l, &part->nest, coord, &guards);
    return guards.n == 0;
}

/* Where `inside` holds without rules; none: it is not asked. Barriers stand between parts, not in the branches. */
void tessi_tiles_run(const Tiles *t, Part *part, Which which, LExprId inside)
{
    Lower *l = t->l;
    for (uint32_t i = 0; i <= t->group->passes.n; i++) {
        if (!t->nest)
            tessi_comment_stages(l, part[i].job.stage, part[i].job.n);
        const bool differ =
            inside.v && !answers_no_rules(t, &part[i]) && !tessi_plan_is_spread(t->group);
        if (differ) {
            tessi_scope_if(l, inside);
            tessi_points_inside(t, &part[i]);
            tessi_scope_else(l);
        }
        if (which == BLOCKS_INSIDE)
            tessi_points_inside(t, &part[i]);
        else
            tessi_points_anywhere(t, &part[i], which == ALL_BLOCKS && !differ);
        if (differ)
            tessi_scope_close(l);
        if (which != BLOCKS_INSIDE && part[i].job.to_scratch)
            fill_borders(t, &part[i]);
    }
}

/* The parts of a kernel, with the places of what they have in shared memory. */
Part *tessi_tiles_parts(const Tiles *t)
{
    Lower *l = t->l;
    const uint32_t n = t->group->passes.n + 1;
    Part *part = ARENA_NEW_ARRAY(l->arena, Part, n);
    if (!t->nest)
        find_places(t);
    tessi_lower_dims(l, t->n_dims);
    for (uint32_t i = 0; i < n; i++) {
        part[i] = part_of(t, i);
        if (!t->nest)
            tessi_job_nest(l, t->group, 1, &part[i].nest, &part[i].job);
    }
    return part;
}

void tessi_tiles_forget(const Tiles *t)
{
    if (!t->nest)
        tessi_places_forget(t->l);
}

/* The columns where a tile may begin: those where vectors of all types do. */
static int64_t begins_at(int64_t columns)
{
    enum { LONGEST_VECTOR = 16 };
    int64_t at = LONGEST_VECTOR;
    while (columns % at)
        at /= 2;
    return at;
}

/* The blocks of the kernel: a tile whose first point is at from <= i < to lies inside with all that is read for it. */
static Blocks blocks_of(const Tiles *t, const Part *part, LExprId *from, LExprId *to)
{
    Lower *l = t->l;
    Blocks blocks = { .l = l };
    GuardList guards = { 0 };
    const Nest *members = &part[t->group->passes.n].nest;
    for (uint32_t i = 0; i <= t->group->passes.n; i++)
        add_guards(t, &part[i], &guards);
    for (uint8_t d = 0; d < t->n_dims; d++) {
        from[d] = members->from[d];
        to[d] = members->to[d];
        tessi_guard_range(l, &guards, (int8_t)d, &from[d], &to[d]);
    }
    const bool lattice = t->nest && part[0].job.lattice; /* whose pieces may end apart */
    for (int k = 0; k < 2 && lattice; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        to[d] = tessi_l_op(l, OP_MIN, to[d],
                           tessi_l_op(l, OP_SUB, members->to[d], tessi_l_int(l, t->size[k] - 1)));
    }
    for (int k = 0; k < 2; k++) {
        blocks.size[k] = t->size[k];
        blocks.end[k] = members->to[t->y + k];
        blocks.from[k] = from[t->y + k];
        blocks.to[k] = to[t->y + k];
        blocks.begins[k] = t->nest ? 0 : k ? begins_at(t->size[1]) : 1;
    }
    return blocks;
}

static Frame frame_of(const Tiles *t, const Blocks *blocks)
{
    const int64_t step[2] = { tessi_level_outputs(&t->group->levels, 1),
                              tessi_level_outputs(&t->group->levels, 0) };
    return tessi_blocks_frame(blocks, step);
}

/* The copies of the tile in hand, which all its parts read. */
static void copy_images(const Tiles *t, const Nest *members, Which which, LExprId inside)
{
    Lower *l = t->l;
    LExprId first[MAX_DIMS];
    for (uint8_t d = 0; d < t->n_dims; d++)
        first[d] = d < t->y ? t->outer[d].e : t->first[d - t->y];
    CopyList *copies = tessi_staged_declare_tile(l, t->group, members, first);
    if (!copies)
        return;
    if (copies->n)
        tessi_scope_stmt(l, LSTMT_COMMENT)->text = "images, copied";
    if (which == BLOCKS_INSIDE)
        tessi_staged_fill_inside(l, copies);
    else
        tessi_staged_fill(l, copies, inside);
    tessi_staged_block(l, copies);
}

static void kernel(Tiles *t, Which which)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    LExprId from[MAX_DIMS], to[MAX_DIMS];
    Part *part = tessi_tiles_parts(t);
    const Nest *members = &part[t->group->passes.n].nest;
    Blocks blocks = blocks_of(t, part, from, to);
    if (t->y)
        tessi_kernel_outer(l, members, t->outer);
    if (which == BLOCKS_INSIDE && t->group->frame.rows[0]) {
        const Frame frame = frame_of(t, &blocks);
        tessi_blocks_in_frame(&blocks, &frame, t->own);
    } else
        (which == ALL_BLOCKS      ? tessi_blocks_all
         : which == BLOCKS_INSIDE ? tessi_blocks_inside
                                  : tessi_blocks_edges)(&blocks);
    for (int k = 0; k < 2; k++)
        t->first[k] = which == BLOCKS_AT_EDGES || t->nest
                          ? blocks.first[k]
                          : tessi_scope_let(l, k ? "tile_x" : "tile_y", blocks.first[k]);
    tessi_tiles_declare(t);
    LExprId inside = { 0 }, at[MAX_DIMS];
    for (uint8_t d = 0; d < t->n_dims; d++)
        at[d] = d < t->y ? t->outer[d].e : t->first[d - t->y];
    if (t->group->split == SPLIT_INTERIOR)
        inside = tessi_kernel_within(l, t->n_dims, from, to, at);
    if (inside.v && !t->nest)
        inside = tessi_scope_let(l, "inside", inside);
    copy_images(t, members, which, inside);
    tessi_tiles_run(t, part, which, inside);
    tessi_staged_end(l, t->group);
    tessi_scope_close_to(l, depth);
    tessi_tiles_forget(t);
}

Tiles tessi_tiles_new(Lower *l, const PlanGroup *group)
{
    Tiles t = { .l = l, .group = group, .n_dims = group->n_dims };
    t.y = (uint8_t)(t.n_dims - 2);
    t.extent = ARENA_NEW_ARRAY(l->arena, PlanExtent, group->passes.n + 1);
    for (int k = 0; k < 2; k++)
        t.size[k] = tessi_level_tile(group, t.y + k);
    return t;
}

/* Of a register tile, where `nest` is not NULL, else of a tile with its passes. */
static Tiles tiles_of(Lower *l, const PlanGroup *group, const Nest *nest)
{
    Tiles t = tessi_tiles_new(l, group);
    t.nest = nest;
    for (int k = 0; k < 2 && nest; k++)
        t.size[k] = (int64_t)tessi_level_threads(&group->levels, 1 - k)
                    * tessi_level_outputs(&group->levels, 1 - k);
    if (nest)
        return t;
    tessi_plan_regions(tessi_lower_facts(l), l->plan, group, &l->regions);
    t.regions = l->regions;
    tessi_plan_extents(group, &t.regions, t.extent);
    return t;
}

/* The points inside of a group with a frame. */
static Frame points_inside(const Tiles *t)
{
    LExprId from[MAX_DIMS], to[MAX_DIMS];
    const Part *part = tessi_tiles_parts(t);
    const Blocks blocks = blocks_of(t, part, from, to);
    const Frame frame = frame_of(t, &blocks);
    tessi_tiles_forget(t);
    return frame;
}

void tessi_kernel_tiles(Lower *l, const PlanGroup *group, const Nest *nest, const char *part)
{
    const bool edges = group->split == SPLIT_EDGES, frames = group->frame.rows[0];
    const uint32_t rows = nest ? tessi_level_threads(&group->levels, 1) : 1;
    const uint32_t across = tessi_level_threads(&group->levels, 0);
    const uint32_t line = nest ? across : across * tessi_level_threads(&group->levels, 1);
    Tiles t = tiles_of(l, group, nest);
    tessi_staged_constants(l, group);
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s%s", group->name, part),
                      tessi_group_comment(l, group), line, rows)
        ->resident = group->resident;
    Frame frame;
    if (frames)
        frame = points_inside(&t);
    kernel(&t, edges ? BLOCKS_INSIDE : ALL_BLOCKS);
    tessi_scope_close(l);
    if (frames)
        tessi_kernel_frame(l, group, &frame);
    if (!edges || frames)
        return;
    const char *about = tessi_sprintf(l->arena, "The blocks of %s at the edges.", group->name);
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s%s_edges", group->name, part), about, line,
                      rows)
        ->beside = true;
    kernel(&t, BLOCKS_AT_EDGES);
    tessi_scope_close(l);
}
