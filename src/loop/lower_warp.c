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
#include "loop/lower_warp.h"
#include "loop/lower_group.h"

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
    t.edges = tessi_plan_warp_has_edges(group);
    if (t.edges)
        tessi_plan_warp_rules(tessi_lower_facts(l), l->plan, group, &t.warp);
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

LExprId tessi_warp_load(const Warps *t, uint32_t number, int64_t row, int64_t column)
{
    LExprId index[MAX_DIMS];
    element(t, &t->warp.held.at[number], row, column, index);
    return tessi_lexpr_load(t->l->p, t->held[number], index, t->n_dims);
}

void tessi_warp_store(const Warps *t, uint32_t number, int64_t row, int64_t column, LExprId value)
{
    LExprId index[MAX_DIMS];
    element(t, &t->warp.held.at[number], row, column, index);
    store(t, LSTMT_STORE, t->held[number], index, value);
}

LExprId tessi_warp_size(const Warps *t, int k)
{
    return t->part[t->n_parts - 1].nest.to[t->y + k];
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
        value[i] = t->answers ? tessi_warp_image(t, number, coord[i])
                              : tessi_eval_stage(l, h->stage, coord[i], true);
        tessi_pin(l, value[i], l->tile_depth);
    }
    l->place[h->stage.v] = held;
    if (!t->answers)
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
    for (int64_t row = -h->late; row < t->rows - h->late; row++) {
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
    const LExprId end =
        t->edges ? tessi_l_op(l, OP_ADD, t->own[0], t->rows_of_strip) : (LExprId){ 0 };
    for (int64_t r = 0; r < t->rows; r++) {
        LExprId y = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, r - last->delay));
        LExprId own = tessi_l_op(l, OP_AND, x, tessi_l_op(l, OP_LE, t->own[0], y));
        if (t->edges) /* whole steps may go beyond a strip */
            own = tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LT, y, end));
        tessi_scope_if(l, own);
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
            if (!t->answers)
                tessi_tile_gives(l, l->buffer[id.v], cell + 1, t->n_dims, cell, n,
                                 (uint32_t)t->columns);
            for (int64_t c = 0; c < t->columns && t->answers; c++) {
                LExprId *at_column = cell + c * n + 1;
                tessi_scope_if(l, tessi_l_op(l, OP_LT, at_column[t->y + 1], tessi_warp_size(t, 1)));
                tessi_tile_gives(l, l->buffer[id.v], at_column, t->n_dims, at_column - 1, n, 1);
                tessi_scope_close(l);
            }
        }
        tessi_scope_close(l);
    }
}

/* An element of a row before those of the step is kept: columns of neighbours as long as they are read. */
static bool is_kept(const Warps *t, const PlanHeld *h, int64_t row, int64_t c)
{
    const bool own = c >= 0 && c < t->columns;
    return own || (row >= -h->wide && row < -h->late);
}

/* The last rows become those before the next step. */
static void keep_rows(const Warps *t)
{
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        for (int64_t row = -h->keep; row < 0; row++) {
            for (int64_t c = -h->left; c < t->columns + h->right; c++) {
                if (!is_kept(t, h, row, c))
                    continue;
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
                if (!is_kept(t, h, row, c))
                    continue;
                element(t, h, row, c, to);
                store(t, LSTMT_STORE, t->held[i], to, tessi_lexpr_const(l->p, value, (Value){ 0 }));
            }
        }
    }
    tessi_scope_close(l);
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

/* What a part reads that no part before it has: columns of neighbours, and what stands outside. What is outside
 * changes what other threads have taken, so it is answered when all of them have. */
static void exchange_for(Warps *t, uint32_t part, uint32_t *exchanged)
{
    const uint32_t first = *exchanged;
    bool answers = false;
    for (; *exchanged < t->warp.held.n; ++*exchanged) {
        const PlanHeld *h = &t->warp.held.at[*exchanged];
        if (!h->is_image && h->part >= part)
            break;
        exchange(t, *exchanged);
        answers = answers || (t->answers && !h->is_image);
    }
    if (!answers)
        return;
    tessi_scope_close(t->l);
    open_threads(t);
    for (uint32_t i = first; i < *exchanged; i++)
        if (!t->warp.held.at[i].is_image)
            tessi_warp_answer(t, i);
}

static void step(Warps *t, LExprId number)
{
    Lower *l = t->l;
    uint32_t exchanged = 0;
    images_of_step(t, number);
    for (uint32_t i = 0; i < t->n_parts; i++) {
        open_threads(t);
        exchange_for(t, i, &exchanged);
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

/* Steps from one on, before another. */
static void run_steps(Warps *t, LExprId from, LExprId to)
{
    Lower *l = t->l;
    LVarId v = tessi_scope_for(l, "step", from, to, 1, LFOR_ROLLED);
    const LExprId number = tessi_lexpr_var(l->p, v);
    t->row = tessi_scope_let(l, "row", row_of(t, number));
    step(t, number);
    tessi_scope_close(l);
}

/* Steps at the upper edge, inside and at the lower edge: those at edges stand there once for both. */
static void run_thirds(Warps *t, const LExprId *inside)
{
    Lower *l = t->l;
    LVarId v = tessi_scope_for(l, "third", tessi_l_int(l, 0), tessi_l_int(l, 3), 1, LFOR_ROLLED);
    const LExprId third = tessi_lexpr_var(l->p, v);
    LExprId upper = tessi_l_op(l, OP_EQ, third, tessi_l_int(l, 0));
    LExprId middle = tessi_l_op(l, OP_EQ, third, tessi_l_int(l, 1));
    LExprId from = tessi_l_select(l, upper, tessi_l_int(l, 0), inside[1]);
    LExprId to = tessi_l_select(l, upper, inside[0], t->steps);
    from = tessi_scope_let(l, "from", from);
    to = tessi_scope_let(l, "to", to);
    tessi_scope_if(l, middle);
    t->answers = false;
    run_steps(t, inside[0], inside[1]);
    tessi_scope_else(l);
    t->answers = true;
    run_steps(t, from, to);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* The steps of a strip: where the blocks are the whole image, the first and the last ones answer rules. */
static void run_strip(Warps *t)
{
    Lower *l = t->l;
    LExprId inside[2];
    bring_into_being(t);
    clear_rows(t);
    t->answers = t->edges;
    if (t->ahead)
        take_images(t, row_of(t, tessi_l_int(l, 0)));
    if (!t->edges) {
        run_steps(t, tessi_l_int(l, 0), t->steps);
        return;
    }
    tessi_warp_steps_inside(t, inside);
    run_thirds(t, inside);
}

void tessi_kernel_warps(Lower *l, const PlanGroup *group)
{
    Warps t = new_warps(l, group);
    Frame frame = { 0 };
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group),
                      tessi_level_threads(&group->levels, 0), 1)
        ->resident = group->resident;
    const uint32_t depth = tessi_scope_depth(l);
    find_places(&t);
    for (uint32_t i = 0; i < t.n_parts; i++)
        find_part(&t, i);
    if (!t.edges)
        frame = tessi_warp_frame(&t);
    if (t.y)
        tessi_kernel_outer(l, &t.part[t.n_parts - 1].nest, t.outer);
    if (t.edges)
        tessi_warp_open_strips(&t);
    else
        tessi_warp_open_frame(&t, &frame);
    run_strip(&t);
    tessi_scope_close_to(l, depth);
    tessi_places_forget(l);
    tessi_scope_close(l);
    if (!t.edges)
        tessi_kernel_frame(l, group, &frame);
}
