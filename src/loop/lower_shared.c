/* Kernels of tiles: a block computes a tile of the members, after its passes have computed what the tile needs of
 * their stages into shared memory, with overlap.
 *
 *   for blocks: for each pass, then the members:
 *                   for threads: `outputs` columns and rows of points, straight-line
 *
 * Threads are one line, dealt out over the rows and columns of a pass: those without work stand together in whole
 * warps. Blocks that lie inside with all they read answer no rules. In others reads of images are answered by their
 * rules; what a stage holds beyond its own edges, computed like all else, is then replaced by what its readers' rule
 * answers (see plan_region.c). */
#include "loop/lower_copy.h"

/* What threads compute between two barriers: a pass, or the members. */
typedef struct Part {
    Nest nest;
    Job job;
    PlanOutputs outputs;
    PlanExtent extent;
    /* rows and columns from here on are needed by nobody; none: all are computed */
    LExprId limit[2];
} Part;

typedef struct Tiles {
    Lower *l;
    const PlanGroup *group;
    PlanRegions regions;
    PlanExtent *extent; /* by pass */
    uint8_t n_dims, y;  /* y: the dimension of rows */
    LExprId first[2];   /* of the tile in hand: its row and column */
    LExprId own[2];     /* points before it are those of the tile before; none: there are no such */
    LExprId end[2];     /* of the points that the tile computes; none: those of the image */
    Coord outer[MAX_DIMS];
} Tiles;

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Pass number i; the members come after the last. */
static Part part_of(const Tiles *t, uint32_t i)
{
    const PlanGroup *group = t->group;
    const bool members = i == group->passes.n;
    const PlanLevels *levels = members ? &group->levels : &group->passes.at[i].levels;
    Part part = { .outputs = tessi_level_outputs_all(levels) };
    part.job.stage = members ? group->members.at : group->passes.at[i].stages.at;
    part.job.n = members ? group->members.n : group->passes.at[i].stages.n;
    part.job.to_scratch = !members;
    part.job.roots = tessi_bodies(t->l, part.job.stage, part.job.n);
    for (int k = 0; k < 2; k++) {
        part.extent.lo[k] = members ? 0 : t->extent[i].lo[k];
        part.extent.n[k] = members ? tessi_level_tile(group, t->y + k) : t->extent[i].n[k];
    }
    tessi_nest_whole(t->l, tessi_stage(t->l->g, part.job.stage[0]), &part.nest);
    for (uint8_t d = 0; d < t->n_dims; d++)
        part.nest.beyond[d] = !members && t->regions.wraps[part.job.stage[0].v][d];
    return part;
}

static void comment(Lower *l, const Job *job)
{
    Text text;
    tessi_text_init(&text, l->arena);
    for (uint32_t i = 0; i < job->n; i++)
        tessi_text_addf(&text, "%s%s", i ? ", " : "", tessi_stage(l->g, job->stage[i])->name);
    tessi_scope_stmt(l, LSTMT_COMMENT)->text = tessi_text_str(&text);
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
    GRAPH_FOREACH_STAGE (l->g, id)
        for (int d = 0; d < MAX_DIMS; d++)
            l->place[id.v].wraps[d] = t->regions.wraps[id.v][d];
}

static void bring_into_being(const Tiles *t)
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

/* ---- Points of a thread ---------------------------------------------------------------------- */

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A thread among those of a part. */
typedef struct Thread {
    LExprId at[2];    /* its first row and column, were the part where the tile is */
    LExprId first[2]; /* its first point */
    LExprId column;   /* its first column in shared memory */
} Thread;

/* All its points; `inside` with all they read, or `loose`: there or not. */
static void whole_patch(const Tiles *t, Part *part, const Thread *thread, bool inside, bool loose)
{
    Lower *l = t->l;
    const uint32_t columns = part->outputs.of[0], rows = part->outputs.of[1];
    typedef Coord Point[MAX_DIMS];
    Point *coord = ARENA_NEW_ARRAY(l->arena, Point, rows * columns);
    for (uint32_t i = 0; i < rows * columns; i++) {
        const uint32_t at[2] = { i / columns, i % columns };
        for (uint8_t d = 0; d < t->y; d++)
            coord[i][d] = t->outer[d];
        for (int k = 0; k < 2; k++) {
            const uint8_t d = (uint8_t)(t->y + k);
            LExprId e = tessi_l_op(l, OP_ADD, thread->first[k], tessi_l_int(l, at[k]));
            coord[i][d] = tessi_nest_coord(&part->nest, d, e);
            coord[i][d].lo = coord[i][d].hi = at[k];
            coord[i][d].less = part->outputs.of[1 - k] - 1;
            coord[i][d].loose = loose && !coord[i][d].beyond;
        }
    }
    uint32_t aligned = gcd(columns, (uint32_t)tessi_level_tile(t->group, t->y + 1));
    if (t->group->frame.rows[0]) /* tiles begin at any multiple of what threads store */
        aligned = gcd(aligned, tessi_level_outputs(&t->group->levels, 0));
    const TileColumns vectors = {
        .x = thread->at[1],
        .shared_x = thread->column,
        .aligned = aligned,
        .shared_aligned = columns,
        .from = INT64_MIN,
        .to = INT64_MAX,
        .shared_last = part->extent.n[1] - columns,
    };
    l->guard_depth = tessi_scope_depth(l);
    part->nest.pinned = true;
    part->nest.tile_columns = &vectors;
    l->inside_last = l->inside_rows = inside;
    if (columns * rows > 1) {
        l->unroll_windows = true;
        part->nest.tile(l, &part->nest, coord, rows, columns);
        l->unroll_windows = false;
    } else {
        part->nest.body(l, &part->nest, coord[0], NULL);
    }
    l->inside_last = l->inside_rows = false;
    part->nest.tile_columns = NULL;
    part->nest.pinned = false;
}

/* All points of a thread of the members are there. */
static LExprId is_whole(const Tiles *t, const Part *part, const Thread *thread)
{
    Lower *l = t->l;
    LExprId whole = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1));
    for (int k = 0; k < 2; k++) {
        LExprId n = tessi_l_int(l, part->outputs.of[1 - k]);
        LExprId end = tessi_l_op(l, OP_ADD, thread->first[k], n);
        whole = tessi_l_op(l, OP_AND, whole, tessi_l_op(l, OP_LE, end, part->nest.to[t->y + k]));
    }
    return tessi_scope_let(l, "whole", whole);
}

/* The points of a thread of the members that are there. */
static void points_one_by_one(const Tiles *t, const Part *part, const Thread *thread)
{
    Lower *l = t->l;
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    for (uint8_t d = 0; d < t->y; d++)
        coord[d] = t->outer[d];
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        LExprId n = tessi_l_int(l, part->outputs.of[1 - k]);
        LExprId end = tessi_l_op(l, OP_ADD, thread->first[k], n);
        end = tessi_l_op(l, OP_MIN, end, part->nest.to[d]);
        LVarId v =
            tessi_scope_for(l, tessi_dim_name(t->n_dims, d), thread->first[k], end, 1, LFOR_ROLLED);
        coord[d] = tessi_nest_coord(&part->nest, d, tessi_lexpr_var(l->p, v));
    }
    part->nest.body(l, &part->nest, coord, NULL);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Opens the threads of a part, in rows of so many. */
static Thread open_threads(const Tiles *t, const Part *part)
{
    static const char *const names[] = { "row", "column" };
    Lower *l = t->l;
    Thread thread = { .column = { 0 } };
    const int64_t across = part->extent.n[1] / part->outputs.of[0];
    const int64_t n[2] = { part->extent.n[0] / part->outputs.of[1], across };
    LExprId number = tessi_kernel_threads(l, 0, "patch", n[0] * n[1]);
    for (int k = 0; k < 2; k++) {
        LExprId at = tessi_l_op(l, k ? OP_FLOORMOD : OP_FLOORDIV, number, tessi_l_int(l, across));
        at = tessi_l_op(l, OP_MUL, at, tessi_l_int(l, part->outputs.of[1 - k]));
        at = tessi_scope_let(l, names[k], at);
        thread.column = at;
        thread.at[k] = tessi_l_op(l, OP_ADD, t->first[k], at);
        tessi_hint(l, thread.at[k], tessi_dim_name(t->n_dims, (uint8_t)(t->y + k)));
        thread.first[k] = tessi_l_op(l, OP_ADD, thread.at[k], tessi_l_int(l, part->extent.lo[k]));
    }
    l->tile_depth = tessi_scope_depth(l);
    return thread;
}

/* Some of the points from here on are needed. */
static LExprId before_limit(const Tiles *t, const Part *part, const LExprId *at)
{
    LExprId y = tessi_l_op(t->l, OP_LT, at[0], part->limit[0]);
    return tessi_l_op(t->l, OP_AND, y, tessi_l_op(t->l, OP_LT, at[1], part->limit[1]));
}

/* In shared memory points that are not there do no harm: what holds there is filled in later. */
static void points_anywhere(const Tiles *t, Part *part)
{
    Lower *l = t->l;
    const Thread thread = open_threads(t, part);
    if (part->job.to_scratch) {
        if (part->limit[0].v)
            tessi_scope_if(l, before_limit(t, part, thread.first));
        whole_patch(t, part, &thread, false, true);
        if (part->limit[0].v)
            tessi_scope_close(l);
        tessi_scope_close(l);
        return;
    }
    tessi_scope_if(l, is_whole(t, part, &thread));
    whole_patch(t, part, &thread, false, false);
    if (part->outputs.of[0] > 1 || part->outputs.of[1] > 1) {
        tessi_scope_else(l);
        points_one_by_one(t, part, &thread);
    }
    tessi_scope_close(l);
    tessi_scope_close(l);
}

static void points_inside(const Tiles *t, Part *part)
{
    Lower *l = t->l;
    const Thread thread = open_threads(t, part);
    const bool some = t->own[0].v && !part->job.to_scratch;
    if (some) {
        LExprId own = tessi_l_op(l, OP_LE, t->own[0], thread.first[0]);
        own = tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LE, t->own[1], thread.first[1]));
        tessi_scope_if(l, own);
    }
    whole_patch(t, part, &thread, true, false);
    if (some)
        tessi_scope_close(l);
    tessi_scope_close(l);
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
        root[d] = tessi_l_int(l, 0);
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
        outside = tessi_l_op(l, OP_AND, outside, before_limit(t, part, at));
    tessi_scope_if(l, outside);
    for (uint32_t i = 0; i < part->job.n; i++)
        fill_element(t, part, part->job.stage[i], element, at);
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* What holds of the first point of a tile where a part lies inside with all it reads. */
static void add_guards(const Tiles *t, const Part *part, GuardList *guards)
{
    Lower *l = t->l;
    const Stage *s = tessi_stage(l->g, part->job.stage[0]);
    const Stage *members = tessi_stage(l->g, t->group->members.at[0]);
    Coord coord[MAX_DIMS];
    for (uint8_t d = 0; d < t->n_dims; d++) {
        coord[d] = tessi_nest_coord(&part->nest, d, (LExprId){ 0 });
        coord[d].count = members->size[d];
        if (d >= t->y) {
            const int k = d - t->y;
            const int64_t vector = k ? part->outputs.of[0] - 1 : 0; /* may hold more than is read */
            coord[d].lo = part->extent.lo[k];
            coord[d].hi = part->extent.lo[k] + part->extent.n[k] - 1 + vector;
        }
        if (d < t->y || part->nest.beyond[d])
            continue;
        Guard own = { .dim = (int8_t)d, .scale = 1, .lo = coord[d].lo, .hi = coord[d].hi };
        own.rest = tessi_lin_const(0);
        own.size = s->size[d];
        VEC_PUSH(l->arena, guards, own);
    }
    l->inside_last = l->inside_rows = true;
    tessi_read_guards(l, part->nest.roots, part->nest.n_roots, coord, guards);
    l->inside_last = l->inside_rows = false;
}

typedef enum Which { ALL_BLOCKS, BLOCKS_INSIDE, BLOCKS_AT_EDGES } Which;

/* Where `inside` holds without rules; none: it is not asked. Barriers stand between parts, not in the branches. */
static void run_parts(const Tiles *t, Part *part, Which which, LExprId inside)
{
    Lower *l = t->l;
    for (uint32_t i = 0; i <= t->group->passes.n; i++) {
        comment(l, &part[i].job);
        if (inside.v) {
            tessi_scope_if(l, inside);
            points_inside(t, &part[i]);
            tessi_scope_else(l);
        }
        if (which == BLOCKS_INSIDE)
            points_inside(t, &part[i]);
        else
            points_anywhere(t, &part[i]);
        if (inside.v)
            tessi_scope_close(l);
        if (which != BLOCKS_INSIDE && part[i].job.to_scratch)
            fill_borders(t, &part[i]);
    }
}

/* The tile in hand lies inside with all that is read for it. */
static LExprId is_inside(const Tiles *t, const LExprId *from, const LExprId *to)
{
    Lower *l = t->l;
    LExprId in = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1));
    for (uint8_t d = 0; d < t->n_dims; d++) {
        LExprId at = d < t->y ? t->outer[d].e : t->first[d - t->y];
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LE, from[d], at));
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LT, at, to[d]));
    }
    return tessi_scope_let(l, "inside", in);
}

/* The parts of a kernel, with the places of what they have in shared memory. */
static Part *find_parts(const Tiles *t)
{
    Lower *l = t->l;
    const uint32_t n = t->group->passes.n + 1;
    Part *part = ARENA_NEW_ARRAY(l->arena, Part, n);
    find_places(t);
    l->n_loop_dims = t->n_dims;
    l->inside_last = l->inside_rows = false;
    for (uint32_t i = 0; i < n; i++) {
        part[i] = part_of(t, i);
        tessi_job_nest(l, t->group, 1, &part[i].nest, &part[i].job);
    }
    return part;
}

static void forget_places(Lower *l)
{
    GRAPH_FOREACH_STAGE (l->g, id)
        l->place[id.v] = (Place){ 0 };
}

/* The blocks of the kernel: a tile whose first point is at from <= i < to lies inside with all that is read for it. */
static Blocks blocks_of(const Tiles *t, const Part *part, LExprId *from, LExprId *to)
{
    Lower *l = t->l;
    const uint32_t n = t->group->passes.n + 1;
    Blocks blocks = { .l = l };
    GuardList guards = { 0 };
    for (uint32_t i = 0; i < n; i++)
        add_guards(t, &part[i], &guards);
    const Nest *members = &part[n - 1].nest;
    for (uint8_t d = 0; d < t->n_dims; d++) {
        from[d] = members->from[d];
        to[d] = members->to[d];
        tessi_guard_range(l, &guards, (int8_t)d, &from[d], &to[d]);
    }
    for (int k = 0; k < 2; k++) {
        blocks.size[k] = tessi_level_tile(t->group, t->y + k);
        blocks.end[k] = members->to[t->y + k];
        blocks.from[k] = from[t->y + k];
        blocks.to[k] = to[t->y + k];
    }
    return blocks;
}

static Frame frame_of(const Tiles *t, const Blocks *blocks)
{
    const int64_t step[2] = { tessi_level_outputs(&t->group->levels, 1),
                              tessi_level_outputs(&t->group->levels, 0) };
    return tessi_blocks_frame(blocks, step);
}

static void kernel(Tiles *t, Which which)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    LExprId from[MAX_DIMS], to[MAX_DIMS];
    Part *part = find_parts(t);
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
        t->first[k] = which == BLOCKS_AT_EDGES
                          ? blocks.first[k]
                          : tessi_scope_let(l, k ? "tile_x" : "tile_y", blocks.first[k]);
    bring_into_being(t);
    LExprId inside = { 0 };
    if (t->group->split == SPLIT_INTERIOR)
        inside = is_inside(t, from, to);
    run_parts(t, part, which, inside);
    tessi_scope_close_to(l, depth);
    forget_places(l);
}

static Tiles new_tiles(Lower *l, const PlanGroup *group)
{
    Tiles t = { .l = l, .group = group, .n_dims = group->n_dims };
    t.y = (uint8_t)(t.n_dims - 2);
    t.extent = ARENA_NEW_ARRAY(l->arena, PlanExtent, group->passes.n + 1);
    return t;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Of parts before the members as much is needed as what comes after them reads, in whole patches. */
static void find_limits(const Tiles *t, Part *part)
{
    Lower *l = t->l;
    int64_t beyond[2] = { 0, 0 };
    for (uint32_t i = t->group->passes.n; i-- > 0;) {
        const PlanRegion *region = &t->regions.at[part[i].job.stage[0].v];
        for (int k = 0; k < 2; k++) {
            LExprId reach = tessi_l_int(l, region->hi[t->y + k] + beyond[k]);
            part[i].limit[k] = tessi_l_op(l, OP_ADD, t->end[k], reach);
            beyond[k] += part[i].outputs.of[1 - k] - 1;
        }
    }
}

/* Copies of the images that the parts read at a distance, as far as there is room: rows of whole vectors. */
static void find_images(const Tiles *t, const Part *part, CopyList *images)
{
    Lower *l = t->l;
    int64_t most =
        PLAN_MAX_SHARED_BYTES - tessi_plan_shared_bytes(tessi_lower_facts(l), t->group, t->extent);
    for (uint32_t i = 0; i <= t->group->passes.n; i++) {
        CopyReaders readers = { .stage = part[i].job.stage, .n = part[i].job.n };
        for (int k = 0; k < 2; k++) {
            readers.from[k] = part[i].extent.lo[k];
            readers.extent[k] = part[i].extent.n[k];
            readers.beyond[k] = part[i].nest.beyond[k];
        }
        tessi_copies_find(l, &readers, images);
    }
    tessi_copies_size(images);
    VEC_FOREACH (Copy, c, images) {
        c->dropped = c->loose || !c->far;
        if (c->dropped)
            continue;
        const uint32_t bytes = tessi_type_info(c->type)->bytes;
        const int64_t vector = 16 / bytes;
        c->size[1] = (c->size[1] + vector - 1) / vector * vector;
        c->dropped = c->size[0] * c->size[1] * bytes > most;
        most -= c->dropped ? 0 : c->size[0] * c->size[1] * bytes;
    }
}

static void take_images(const Tiles *t, const Part *part, CopyList *images)
{
    Lower *l = t->l;
    bool any = false;
    if (t->y) /* these copies have the two dimensions of a tile */
        return;
    find_images(t, part, images);
    VEC_FOREACH (Copy, c, images) {
        if (c->dropped)
            continue;
        if (!any)
            tessi_scope_stmt(l, LSTMT_COMMENT)->text = "images, answered";
        any = true;
        tessi_copy_declare(l, c, "edge");
        tessi_copy_begin(l, c, t->first);
    }
    VEC_FOREACH (const Copy, c, images)
        if (!c->dropped)
            tessi_copy_by_line(l, c);
    l->copies = any ? images : NULL;
}

/* The points on one side of those inside. */
static void frame_side(Tiles *t, const Frame *frame, int side)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    Part *part = find_parts(t);
    Nest *members = &part[t->group->passes.n].nest;
    Blocks blocks = { .l = l };
    CopyList images = { 0 };
    for (int k = 0; k < 2; k++) {
        blocks.size[k] = tessi_level_tile(t->group, t->y + k);
        blocks.end[k] = members->to[t->y + k];
    }
    if (t->y)
        tessi_kernel_outer(l, members, t->outer);
    tessi_blocks_around(&blocks, frame, side);
    for (int k = 0; k < 2; k++) {
        t->first[k] = tessi_scope_let(l, k ? "tile_x" : "tile_y", blocks.first[k]);
        t->end[k] = tessi_scope_let(l, k ? "end_x" : "end_y", blocks.end[k]);
        members->to[t->y + k] = t->end[k];
    }
    find_limits(t, part);
    bring_into_being(t);
    take_images(t, part, &images);
    run_parts(t, part, BLOCKS_AT_EDGES, (LExprId){ 0 });
    l->copies = NULL;
    tessi_scope_close_to(l, depth);
    forget_places(l);
}

void tessi_kernel_frame(Lower *l, const PlanGroup *group, const Frame *frame)
{
    static const char *const name[] = { "ends", "sides" };
    static const char *const where[] = { "above and below", "left and right of" };
    const Plan *plan = l->plan;
    PlanRegions regions = { 0 };
    for (int side = 0; side < 2; side++) {
        Plan *own = ARENA_NEW(l->arena, Plan);
        PlanGroup *tiles = ARENA_NEW(l->arena, PlanGroup);
        tessi_plan_frame(tessi_lower_facts(l), plan, group, side, own, tiles, &regions);
        Tiles t = new_tiles(l, tiles);
        t.regions = regions;
        tessi_plan_extents(tiles, &t.regions, t.extent);
        const char *about =
            tessi_sprintf(l->arena, "%s, %s the blocks inside.", group->name, where[side]);
        tessi_kernel_open(l, tessi_sprintf(l->arena, "%s_%s", group->name, name[side]), about,
                          tessi_level_threads(&tiles->levels, 0), 1)
            ->beside = true;
        l->plan = own;
        frame_side(&t, frame, side);
        l->plan = plan;
        tessi_scope_close(l);
    }
}

void tessi_kernel_tiles(Lower *l, const PlanGroup *group)
{
    const bool edges = group->split == SPLIT_EDGES;
    Tiles t = new_tiles(l, group);
    tessi_plan_regions(tessi_lower_facts(l), l->plan, group, &l->regions);
    t.regions = l->regions;
    tessi_plan_extents(group, &t.regions, t.extent);
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group),
                      tessi_level_threads(&group->levels, 0), 1)
        ->resident = group->resident;
    Frame frame;
    if (group->frame.rows[0]) {
        LExprId from[MAX_DIMS], to[MAX_DIMS];
        const Part *part = find_parts(&t);
        const Blocks blocks = blocks_of(&t, part, from, to);
        frame = frame_of(&t, &blocks);
        forget_places(l);
    }
    kernel(&t, edges ? BLOCKS_INSIDE : ALL_BLOCKS);
    tessi_scope_close(l);
    if (group->frame.rows[0])
        tessi_kernel_frame(l, group, &frame);
    if (!edges || group->frame.rows[0])
        return;
    const char *about = tessi_sprintf(l->arena, "The blocks of %s at the edges.", group->name);
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s_edges", group->name), about,
                      tessi_level_threads(&group->levels, 0), 1)
        ->beside = true;
    kernel(&t, BLOCKS_AT_EDGES);
    tessi_scope_close(l);
}
