/* Kernels of warps (plan_warp.c): the threads of a warp go down the rows of a tile side by side. What they read of
 * images and compute of the passes is held in registers: of the rows of a step and of some rows before it, their own
 * columns and some of their neighbours'.
 *
 *   for blocks: for steps: for threads: the rows of the images that this step adds
 *                          for threads: columns of neighbours, then a pass, `outputs` columns and rows of points,
 *                            straight-line
 *                          ...
 *                          for threads: columns of neighbours, then the members; the points that are the warp's own are
 *                            stored
 *                          for threads: the last rows become those before the next step
 *
 * Above the tile and at both ends of a warp values are of no account: they come from zeros, or from the thread
 * itself, and are used for no result. Blocks lie inside with all they read, and answer no rules; what they leave is
 * a frame. */
#include "loop/lower_group.h"
#include "loop/lower_job.h"

/* What threads compute one after the other: a pass, or the members. */
typedef struct Part {
    Nest nest;
    Job job;
    int64_t delay;
    int64_t lo[2], hi[2]; /* of it is needed, from the tile on */
} Part;

typedef struct Warps {
    Lower *l;
    const PlanGroup *group;
    PlanRegions regions;
    PlanWarp warp;
    uint32_t n_parts;
    Part *part;
    uint8_t n_dims, y;     /* y: the dimension of rows */
    int64_t rows, columns; /* of a thread, in a step */
    LBufferId *held;       /* by number in `warp` */
    /* of images: the rows of the next step; NULL = they are read when they are wanted */
    LBufferId *ahead;
    uint32_t n_images; /* that are held: they stand first */
    LBufferId *result; /* by number of the member */
    LExprId first[2];  /* of the tile in hand: its row and column */
    LExprId own[2];    /* points before it are those of the tile before */
    LExprId rows_of_strip, steps;
    LExprId row;          /* at which the step reads images that nothing delays */
    LExprId lane, column; /* of the thread in hand; the first column that it computes */
    Coord outer[MAX_DIMS];
} Warps;

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Pass number i; the members come after the last, those that are not in passes. */
static void find_part(const Warps *t, uint32_t i)
{
    Lower *l = t->l;
    const PlanGroup *group = t->group;
    Part *part = &t->part[i];
    StageList stages = { 0 };
    const bool members = i == group->passes.n;
    if (members)
        tessi_plan_own_members(l->arena, group, &stages);
    else
        stages = group->passes.at[i].stages;
    *part = (Part){ .delay = t->warp.delay[i] };
    part->job = (Job){ .stage = stages.at, .n = stages.n, .to_scratch = true, .part = "" };
    part->job.roots = tessi_bodies(l, stages.at, stages.n);
    const StageId lead = members ? group->members.at[0] : stages.at[0];
    for (int k = 0; k < 2 && !members; k++) {
        part->lo[k] = t->regions.at[lead.v].lo[t->y + k];
        part->hi[k] = t->regions.at[lead.v].hi[t->y + k];
    }
    tessi_nest_whole(l, tessi_stage(l->g, lead), &part->nest);
    tessi_job_nest(l, group, 1, &part->nest, &part->job);
}

static Warps new_warps(Lower *l, const PlanGroup *group)
{
    Warps t = { .l = l, .group = group, .n_dims = group->n_dims, .n_parts = group->passes.n + 1 };
    t.y = (uint8_t)(t.n_dims - 2);
    t.rows = tessi_level_outputs(&group->levels, 1);
    t.columns = tessi_level_outputs(&group->levels, 0);
    tessi_plan_regions(tessi_lower_facts(l), l->plan, group, &l->regions);
    t.regions = l->regions;
    tessi_plan_warp(tessi_lower_facts(l), l->plan, group, &t.warp);
    t.part = ARENA_NEW_ARRAY(l->arena, Part, t.n_parts);
    l->n_loop_dims = t.n_dims;
    l->inside_last = l->inside_rows = false;
    return t;
}

/* ---- What is held ---------------------------------------------------------------------------- */

static LBufferId new_held(const Warps *t, StageId id, int64_t rows, int64_t columns)
{
    Lower *l = t->l;
    const Stage *s = tessi_stage(l->g, id);
    LBuffer b = { .name = s->name, .kind = LBUF_LOCAL, .held = true, .type = s->type };
    b.n_dims = s->n_dims;
    for (uint8_t d = 0; d < t->y; d++)
        b.size[d] = tessi_l_int(l, 1);
    b.size[t->y] = tessi_l_int(l, rows);
    b.size[t->y + 1] = tessi_l_int(l, columns);
    return tessi_loop_buffer(l->p, &b);
}

static void find_places(Warps *t)
{
    Lower *l = t->l;
    t->held = ARENA_NEW_ARRAY(l->arena, LBufferId, t->warp.held.n + 1);
    t->result = ARENA_NEW_ARRAY(l->arena, LBufferId, t->group->members.n);
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        t->held[i] = new_held(t, h->stage, h->row + t->rows, h->column + t->columns + h->right);
        l->place[h->stage.v].scratch = t->held[i];
        t->n_images += h->is_image;
    }
    if (tessi_level_march(&t->group->levels).ahead)
        t->ahead = ARENA_NEW_ARRAY(l->arena, LBufferId, t->n_images + 1);
    for (uint32_t i = 0; i < t->n_images && t->ahead; i++)
        t->ahead[i] = new_held(t, t->warp.held.at[i].stage, t->rows, t->columns);
    for (uint32_t i = 0; i < t->group->members.n; i++) {
        Place *place = &l->place[t->group->members.at[i].v];
        t->result[i] = place->scratch;
        if (place->scratch.v) /* of a pass */
            continue;
        t->result[i] = new_held(t, t->group->members.at[i], t->rows, t->columns);
        place->scratch = t->result[i];
    }
}

/* An element of what is held: row and column are counted from the first of the thread's own in this step. */
static void element(const Warps *t, const PlanHeld *h, int64_t row, int64_t column, LExprId *index)
{
    for (uint8_t d = 0; d < t->y; d++)
        index[d] = tessi_l_int(t->l, 0);
    index[t->y] = tessi_l_int(t->l, h->row + row);
    index[t->y + 1] = tessi_l_int(t->l, h->column + column);
}

/* Element i of what is read ahead. */
static void element_ahead(const Warps *t, uint32_t i, LExprId *index)
{
    for (uint8_t d = 0; d < t->y; d++)
        index[d] = tessi_l_int(t->l, 0);
    index[t->y] = tessi_l_int(t->l, i / t->columns);
    index[t->y + 1] = tessi_l_int(t->l, i % t->columns);
}

static LStmt *store(const Warps *t, LStmtKind kind, LBufferId to, const LExprId *index, LExprId a)
{
    LStmt *s = tessi_scope_store(t->l, to, index, t->n_dims, a);
    s->kind = kind;
    return s;
}

static void bring_into_being(const Warps *t)
{
    for (uint32_t i = 0; i < t->warp.held.n; i++)
        tessi_scope_stmt(t->l, LSTMT_LOCAL)->buffer = t->held[i];
    for (uint32_t i = 0; i < t->n_images && t->ahead; i++)
        tessi_scope_stmt(t->l, LSTMT_LOCAL)->buffer = t->ahead[i];
    for (uint32_t i = 0; i < t->group->members.n; i++)
        if (!tessi_plan_in_passes(t->group, t->group->members.at[i]))
            tessi_scope_stmt(t->l, LSTMT_LOCAL)->buffer = t->result[i];
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void open_threads(Warps *t)
{
    Lower *l = t->l;
    const LExprId warp = tessi_l_int(l, PLAN_WARP);
    LExprId thread =
        tessi_kernel_threads(l, 0, "thread", tessi_level_threads(&t->group->levels, 0));
    l->tile_depth = tessi_scope_depth(l);
    t->lane = tessi_l_op(l, OP_FLOORMOD, thread, warp);
    LExprId at = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORDIV, thread, warp),
                            tessi_l_int(l, t->warp.columns));
    at = tessi_l_op(l, OP_ADD, at, tessi_l_op(l, OP_MUL, t->lane, tessi_l_int(l, t->columns)));
    at = tessi_l_op(l, OP_ADD, at, tessi_l_int(l, -t->warp.left));
    t->column = tessi_l_op(l, OP_ADD, t->first[1], at);
    t->column = tessi_scope_let(l, tessi_dim_name(t->n_dims, (uint8_t)(t->y + 1)), t->column);
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        Place *place = &l->place[h->stage.v];
        for (uint8_t d = 0; d < t->y; d++)
            place->origin[d] = t->outer[d].e;
        place->origin[t->y] = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, -h->delay - h->row));
        place->origin[t->y + 1] = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, -h->column));
    }
    const Part *last = &t->part[t->n_parts - 1];
    for (uint32_t i = 0; i < last->job.n; i++) {
        Place *place = &l->place[last->job.stage[i].v];
        for (uint8_t d = 0; d < t->y; d++)
            place->origin[d] = t->outer[d].e;
        place->origin[t->y] = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, -last->delay));
        place->origin[t->y + 1] = t->column;
    }
}

/* The points of the thread in this step, `delay` rows up. */
static Patch patch_of(const Warps *t, int64_t delay, const TileColumns *vectors)
{
    LExprId row = tessi_l_op(t->l, OP_ADD, t->row, tessi_l_int(t->l, -delay));
    return (Patch){ .outer = t->outer,
                    .first = { row, t->column },
                    .rows = (uint32_t)t->rows,
                    .columns = (uint32_t)t->columns,
                    .inside = true,
                    .vectors = vectors };
}

static TileColumns vectors(const Warps *t)
{
    return (TileColumns){ .x = t->column,
                          .aligned = (uint32_t)t->columns,
                          .shared_aligned = 1,
                          .from = INT64_MIN,
                          .to = INT64_MAX };
}

/* The rows of an image that the step adds, into what is held of it or what is held ahead. */
static void take_image(const Warps *t, uint32_t number)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const uint32_t n = (uint32_t)(t->rows * t->columns);
    const TileColumns columns = vectors(t);
    const Patch patch = patch_of(t, h->delay, NULL);
    Point *coord = tessi_patch_points(l, &t->part[t->n_parts - 1].nest, &patch);
    LExprId *value = ARENA_NEW_ARRAY(l->arena, LExprId, n), index[MAX_DIMS];
    const Place held = l->place[h->stage.v];
    l->place[h->stage.v] = (Place){ 0 };
    for (uint32_t i = 0; i < n; i++) {
        value[i] = tessi_eval_stage(l, h->stage, coord[i], true);
        tessi_pin(l, value[i], l->tile_depth);
    }
    l->place[h->stage.v] = held;
    tessi_tile_takes(l, value, n, &columns);
    tessi_scope_place(l, value, n);
    for (uint32_t i = 0; i < n; i++) {
        if (t->ahead)
            element_ahead(t, i, index);
        else
            element(t, h, i / t->columns, i % t->columns, index);
        store(t, LSTMT_STORE, t->ahead ? t->ahead[number] : t->held[number], index, value[i]);
    }
}

/* What was read ahead. */
static void take_from_ahead(const Warps *t, uint32_t number)
{
    const PlanHeld *h = &t->warp.held.at[number];
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (uint32_t i = 0; i < t->rows * t->columns; i++) {
        element(t, h, i / t->columns, i % t->columns, to);
        element_ahead(t, i, from);
        store(t, LSTMT_STORE, t->held[number], to,
              tessi_lexpr_load(t->l->p, t->ahead[number], from, t->n_dims));
    }
}

/* The columns of neighbours: column c of a thread is column c mod n of the thread c div n farther on. */
static void exchange(const Warps *t, uint32_t number)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (int64_t row = 0; row < t->rows; row++) {
        for (int64_t c = -h->left; c < t->columns + h->right; c++) {
            if (c >= 0 && c < t->columns)
                continue;
            element(t, h, row, c, to);
            element(t, h, row, tessi_floormod(c, t->columns), from);
            LExprId value = tessi_lexpr_load(l->p, t->held[number], from, t->n_dims);
            store(t, LSTMT_SHIFT, t->held[number], to, value)->step = tessi_floordiv(c, t->columns);
        }
    }
}

static void compute(const Warps *t, Part *part)
{
    const TileColumns columns = vectors(t);
    const Patch patch = patch_of(t, part->delay, &columns);
    if (part->job.n)
        tessi_patch_compute(t->l, &part->nest, &patch);
}

/* The rows of the members, where they are the tile's own, by the threads that computed them from what is there. */
static void give_results(const Warps *t)
{
    Lower *l = t->l;
    const Part *last = &t->part[t->n_parts - 1];
    LExprId x = tessi_l_op(l, OP_LE, t->own[1], t->column);
    LExprId lo = tessi_l_int(l, t->warp.left / t->columns);
    LExprId hi = tessi_l_int(l, PLAN_WARP - t->warp.right / t->columns);
    x = tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LE, lo, t->lane));
    x = tessi_scope_let(l, "own", tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LT, t->lane, hi)));
    const uint32_t n = 1u + t->n_dims; /* a value and where it belongs */
    for (int64_t r = 0; r < t->rows; r++) {
        LExprId y = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, r - last->delay));
        tessi_scope_if(l, tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LE, t->own[0], y)));
        for (uint32_t i = 0; i < t->group->members.n; i++) {
            const StageId id = t->group->members.at[i];
            const Place *place = &l->place[id.v];
            LExprId cell[PLAN_MAX_OUTPUTS * (1 + MAX_DIMS)], at[MAX_DIMS];
            for (int64_t c = 0; c < t->columns; c++) {
                LExprId *to = cell + c * n + 1;
                for (uint8_t d = 0; d < t->y; d++)
                    to[d] = t->outer[d].e;
                to[t->y] = y;
                to[t->y + 1] = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, c));
                for (uint8_t d = 0; d < t->n_dims; d++)
                    at[d] = tessi_l_op(l, OP_SUB, to[d], place->origin[d]);
                to[-1] = tessi_lexpr_load(l->p, place->scratch, at, t->n_dims);
                tessi_scope_place(l, to, t->n_dims);
            }
            tessi_tile_gives(l, l->buffer[id.v], cell + 1, t->n_dims, cell, n,
                             (uint32_t)t->columns);
        }
        tessi_scope_close(l);
    }
}

/* The last rows become those before the next step. */
static void keep_rows(const Warps *t)
{
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        for (int64_t row = -h->keep; row < 0; row++) {
            for (int64_t c = -h->left; c < t->columns + h->right; c++) {
                element(t, h, row, c, to);
                element(t, h, row + t->rows, c, from);
                store(t, LSTMT_STORE, t->held[i], to,
                      tessi_lexpr_load(t->l->p, t->held[i], from, t->n_dims));
            }
        }
    }
}

/* Rows above those of the first step. */
static void clear_rows(const Warps *t)
{
    Lower *l = t->l;
    LExprId to[MAX_DIMS];
    tessi_kernel_threads(l, 0, "thread", tessi_level_threads(&t->group->levels, 0));
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        const ScalarType s = tessi_stage(l->g, h->stage)->type, value = tessi_value_type(s);
        for (int64_t row = -h->keep; row < 0; row++) {
            for (int64_t c = -h->left; c < t->columns + h->right; c++) {
                element(t, h, row, c, to);
                store(t, LSTMT_STORE, t->held[i], to, tessi_lexpr_const(l->p, value, (Value){ 0 }));
            }
        }
    }
    tessi_scope_close(l);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void add_guard(const Warps *t, GuardList *guards, const Stage *s, const int64_t *lo,
                      const int64_t *hi)
{
    for (uint8_t d = 0; d < t->n_dims; d++) {
        Guard g = { .dim = (int8_t)d, .scale = 1, .size = s->size[d] };
        g.rest = tessi_lin_const(0);
        g.lo = d < t->y ? 0 : lo[d - t->y];
        g.hi = d < t->y ? 0 : hi[d - t->y];
        VEC_PUSH(t->l->arena, guards, g);
    }
}

/* What holds of the first point of a tile where a part lies inside with all it reads: what is needed of it, and all
 * that is computed where images are read then. */
static void part_guards(const Warps *t, const Part *part, const int64_t *tile, GuardList *guards)
{
    Lower *l = t->l;
    int64_t lo[2], hi[2];
    Coord coord[MAX_DIMS];
    for (int k = 0; k < 2; k++) {
        lo[k] = part->lo[k];
        hi[k] = part->hi[k] + tile[k] - 1;
    }
    if (t->warp.reads_images) {
        lo[0] = -t->warp.above - part->delay;
        hi[0] = lo[0] + tile[0] + t->warp.beyond - 1;
        lo[1] = -t->warp.left;
        hi[1] =
            tile[1] + t->warp.right - 1 + t->columns - 1; /* vectors may hold more than is read */
    }
    if (part->job.n)
        add_guard(t, guards, tessi_stage(l->g, part->job.stage[0]), lo, hi);
    for (uint8_t d = 0; d < t->n_dims; d++) {
        coord[d] = tessi_nest_coord(&part->nest, d, (LExprId){ 0 });
        coord[d].count = tessi_stage(l->g, t->group->members.at[0])->size[d];
        coord[d].lo = d < t->y ? 0 : lo[d - t->y];
        coord[d].hi = d < t->y ? 0 : hi[d - t->y];
    }
    tessi_nest_guards(l, &part->nest, coord, guards);
}

static Blocks blocks_of(const Warps *t)
{
    Lower *l = t->l;
    Blocks blocks = { .l = l };
    GuardList guards = { 0 };
    const int64_t tile[2] = { t->warp.least, tessi_level_tile(t->group, t->y + 1) };
    const Nest *members = &t->part[t->n_parts - 1].nest;
    for (uint32_t i = 0; i < t->n_parts; i++)
        part_guards(t, &t->part[i], tile, &guards);
    VEC_FOREACH (const PlanHeld, h, &t->warp.held) {
        const int64_t lo[2] = { -t->warp.above - h->delay, -t->warp.left };
        const int64_t hi[2] = { lo[0] + tile[0] + t->warp.beyond - 1, tile[1] + t->warp.right - 1 };
        if (h->is_image)
            add_guard(t, &guards, tessi_stage(l->g, h->stage), lo, hi);
    }
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        blocks.size[k] = tile[k]; /* at least */
        blocks.end[k] = members->to[d];
        blocks.from[k] = members->from[d];
        blocks.to[k] = members->to[d];
        tessi_guard_range(l, &guards, (int8_t)d, &blocks.from[k], &blocks.to[k]);
    }
    return blocks;
}

/* Strips of so many rows, and steps of so many, that there are as many blocks as wanted; they lie inside the frame,
 * which has room for one or for none. */
static void find_strips(Warps *t, const Frame *frame, LExprId across)
{
    Lower *l = t->l;
    const PlanMarch march = tessi_level_march(&t->group->levels);
    const Nest *members = &t->part[t->n_parts - 1].nest;
    LExprId one = tessi_l_int(l, 1), step = tessi_l_int(l, t->rows);
    LExprId beyond = tessi_l_int(l, t->warp.beyond);
    LExprId height = tessi_l_op(l, OP_SUB, frame->to[0], frame->from[0]);
    for (uint8_t d = 0; d < t->y; d++)
        across = tessi_l_op(l, OP_MUL, across, tessi_nest_extent(l, members, d));
    LExprId n = tessi_l_int(l, march.blocks);
    n = tessi_l_op(l, OP_FLOORDIV, n, tessi_l_op(l, OP_MAX, across, one));
    n = tessi_l_op(l, OP_MAX, n, one);
    LExprId rows = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, n, one));
    rows = tessi_l_op(l, OP_FLOORDIV, rows, n);
    rows = tessi_l_op(l, OP_MAX, rows, tessi_l_int(l, march.least));
    rows = tessi_l_op(l, OP_MIN, rows, tessi_l_int(l, march.most));
    t->steps = tessi_kernel_blocks(l, tessi_l_op(l, OP_ADD, rows, beyond), t->rows);
    height = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_ADD, height, beyond), step);
    t->steps = tessi_l_op(l, OP_MIN, t->steps, height);
    rows = tessi_l_op(l, OP_SUB, tessi_l_op(l, OP_MUL, t->steps, step), beyond);
    t->rows_of_strip = tessi_l_op(l, OP_MAX, rows, one);
    tessi_hint(l, t->steps, "steps");
    tessi_hint(l, t->rows_of_strip, "rows");
}

/* Opens the grid of these blocks. */
static void open_blocks(Warps *t, const Frame *frame)
{
    Lower *l = t->l;
    const int64_t columns = tessi_level_tile(t->group, t->y + 1);
    LExprId width = tessi_l_op(l, OP_SUB, frame->to[1], frame->from[1]);
    LExprId across = tessi_kernel_blocks(l, width, columns);
    find_strips(t, frame, across);
    const LExprId size[2] = { t->rows_of_strip, tessi_l_int(l, columns) };
    LExprId height = tessi_l_op(l, OP_SUB, frame->to[0], frame->from[0]);
    height = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, size[0], tessi_l_int(l, 1)));
    const LExprId n[2] = { tessi_l_op(l, OP_FLOORDIV, height, size[0]), across };
    for (int k = 0; k < 2; k++) {
        LExprId number = tessi_kernel_grid(l, k == 0, k ? "block_x" : "block_y", n[k]);
        LExprId own = tessi_l_op(l, OP_ADD, frame->from[k], tessi_l_op(l, OP_MUL, number, size[k]));
        t->own[k] = tessi_scope_let(l, k ? "own_x" : "own_y", own);
        LExprId last = tessi_l_op(l, OP_SUB, frame->to[k], size[k]);
        t->first[k] = tessi_l_op(l, OP_MIN, t->own[k], last);
        t->first[k] = tessi_scope_let(l, k ? "tile_x" : "tile_y", t->first[k]);
    }
    t->steps = tessi_scope_let(l, "steps", t->steps);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void take_images(Warps *t, LExprId row)
{
    const LExprId before = t->row;
    t->row = row;
    open_threads(t);
    for (uint32_t i = 0; i < t->n_images; i++)
        take_image(t, i);
    tessi_scope_close(t->l);
    t->row = before;
}

/* The images that the step reads; with those ahead, of the next step, if there is one. */
static void images_of_step(Warps *t, LExprId number)
{
    Lower *l = t->l;
    if (!t->ahead) {
        take_images(t, t->row);
        return;
    }
    open_threads(t);
    for (uint32_t i = 0; i < t->n_images; i++)
        take_from_ahead(t, i);
    tessi_scope_close(l);
    LExprId next = tessi_l_op(l, OP_ADD, number, tessi_l_int(l, 1));
    tessi_scope_if(l, tessi_l_op(l, OP_LT, next, t->steps));
    take_images(t, tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, t->rows)));
    tessi_scope_close(l);
}

/* What a warp stores begins and ends where sectors of memory do, if it is as many: parts of sectors of others would
 * have to wait for each other. */
static int64_t whole_columns(const Warps *t)
{
    enum { SECTOR_BYTES = 32 };
    int64_t columns = t->columns;
    VEC_FOREACH (const StageId, id, &t->group->members) {
        const int64_t sector =
            SECTOR_BYTES / tessi_type_info(tessi_stage(t->l->g, *id)->type)->bytes;
        columns = sector % columns ? columns : sector;
    }
    return t->warp.columns % columns ? t->columns : columns;
}

static void step(Warps *t, LExprId number)
{
    Lower *l = t->l;
    uint32_t exchanged = 0;
    images_of_step(t, number);
    for (uint32_t i = 0; i < t->n_parts; i++) {
        open_threads(t);
        for (; exchanged < t->warp.held.n; exchanged++) {
            const PlanHeld *h = &t->warp.held.at[exchanged];
            if (!h->is_image && h->part >= i)
                break;
            exchange(t, exchanged);
        }
        compute(t, &t->part[i]);
        if (i + 1 == t->n_parts)
            give_results(t);
        tessi_scope_close(l);
    }
    tessi_kernel_threads(l, 0, "thread", tessi_level_threads(&t->group->levels, 0));
    keep_rows(t);
    tessi_scope_close(l);
}

/* The row at which a step reads what nothing delays. */
static LExprId row_of(const Warps *t, LExprId number)
{
    Lower *l = t->l;
    LExprId row = tessi_l_op(l, OP_MUL, number, tessi_l_int(l, t->rows));
    row = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, -t->warp.above));
    return tessi_l_op(l, OP_ADD, t->first[0], row);
}

void tessi_kernel_warps(Lower *l, const PlanGroup *group)
{
    Warps t = new_warps(l, group);
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group),
                      tessi_level_threads(&group->levels, 0), 1)
        ->resident = group->resident;
    const uint32_t depth = tessi_scope_depth(l);
    find_places(&t);
    for (uint32_t i = 0; i < t.n_parts; i++)
        find_part(&t, i);
    Blocks blocks = blocks_of(&t);
    const int64_t piece[2] = { 1, whole_columns(&t) };
    const Frame frame = tessi_blocks_frame(&blocks, piece);
    if (t.y)
        tessi_kernel_outer(l, &t.part[t.n_parts - 1].nest, t.outer);
    open_blocks(&t, &frame);
    bring_into_being(&t);
    clear_rows(&t);
    if (t.ahead)
        take_images(&t, row_of(&t, tessi_l_int(l, 0)));
    LVarId v = tessi_scope_for(l, "step", tessi_l_int(l, 0), t.steps, 1, LFOR_ROLLED);
    const LExprId number = tessi_lexpr_var(l->p, v);
    t.row = tessi_scope_let(l, "row", row_of(&t, number));
    step(&t, number);
    tessi_scope_close_to(l, depth);
    tessi_places_forget(l);
    tessi_scope_close(l);
    tessi_kernel_frame(l, group, &frame);
}
