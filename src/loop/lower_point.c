/* Kernels of points: the loops of a nest as blocks of a grid and threads of a block, one point a thread.
 *
 *   grid z: the outer dimensions, one point a block; grid y, grid x: blocks of points of the last two dimensions;
 *   thread y, thread x: the points of a block, those beyond the edge left out. */
#include "loop/lower_group.h"
#include "loop/lower_kernel.h"
#include "loop/lower_vectors.h"

typedef struct Points {
    Lower *l;
    const Nest *nest;
    const uint16_t *block;
    LExprId first[2], thread[2]; /* of the block, in the last dimension and in the one before */
    Coord coord[MAX_DIMS];
    CopyList *staged; /* NULL = none */
} Points;

/* ---- Threads --------------------------------------------------------------------------------- */

/* Opens the threads along an axis, each with its point there. */
static void open_points(Points *p, uint8_t axis)
{
    Lower *l = p->l;
    uint8_t d = (uint8_t)(p->nest->n_dims - 1 - axis);
    p->thread[axis] = tessi_kernel_threads(l, axis, axis ? "thread_y" : "thread_x", p->block[axis]);
    LExprId at = tessi_l_op(l, OP_ADD, p->first[axis], p->thread[axis]);
    at = tessi_scope_let(l, tessi_dim_name(p->nest->n_dims, d), at);
    p->coord[d] = tessi_nest_coord(p->nest, d, at);
}

/* What lies beyond the edge is left out. */
static void leave_out(Points *p, uint8_t axis)
{
    uint8_t d = (uint8_t)(p->nest->n_dims - 1 - axis);
    tessi_scope_if(p->l, tessi_l_op(p->l, OP_LT, p->coord[d].e, p->nest->to[d]));
}

static void body(Points *p, bool inside)
{
    Lower *l = p->l;
    l->inside_last = l->inside_rows = inside;
    tessi_staged_point(l, p->staged, p->coord);
    p->nest->body(l, p->nest, p->coord, NULL);
    l->inside_last = l->inside_rows = false;
}

/* ---- Blocks and warps ------------------------------------------------------------------------ */

/* Points that take one way together: those of a block, or of a warp, whose threads are open then. */
typedef struct Unit {
    bool open[2];     /* by axis */
    LExprId first[2]; /* point */
    int64_t reach[2]; /* and so many after it */
} Unit;

static Unit block_unit(const Points *p)
{
    Unit u = { .open = { false, p->nest->n_dims < 2 } };
    for (int axis = 0; axis < 2; axis++) {
        u.first[axis] = p->first[axis];
        u.reach[axis] = p->block[axis] - 1;
    }
    return u;
}

/* Opens threads until warps are told apart: rows of threads, parts of rows, or some rows. */
static Unit warp_unit(Points *p)
{
    Lower *l = p->l;
    Unit u = block_unit(p);
    const int64_t of[2] = { p->block[0] < PLAN_WARP ? p->block[0] : PLAN_WARP,
                            p->block[0] < PLAN_WARP ? PLAN_WARP / p->block[0] : 1 };
    for (uint8_t axis = 2; axis-- > 0;) {
        const bool whole_row = axis == 0 && p->block[0] <= PLAN_WARP;
        u.reach[axis] = of[axis] - 1;
        u.open[axis] = !whole_row || of[1] > 1;
        if (!u.open[axis])
            continue;
        open_points(p, axis);
        leave_out(p, axis);
        if (whole_row)
            continue;
        if (of[axis] == 1) {
            u.first[axis] = p->coord[p->nest->n_dims - 1 - axis].e;
            continue;
        }
        LExprId n = tessi_l_int(l, of[axis]);
        LExprId before = tessi_l_op(l, OP_MUL, tessi_l_op(l, OP_FLOORDIV, p->thread[axis], n), n);
        u.first[axis] = tessi_scope_let(l, axis ? "warp_y" : "warp_x",
                                        tessi_l_op(l, OP_ADD, p->first[axis], before));
    }
    return u;
}

/* Where, in each dimension, a unit is there and all it reads lies inside: from <= first < to. */
typedef struct Inside {
    GuardList guards;
    LExprId first[MAX_DIMS], from[MAX_DIMS], to[MAX_DIMS];
} Inside;

static Inside inside_of(const Points *p, const Unit *u)
{
    Lower *l = p->l;
    const Nest *nest = p->nest;
    Inside in = { .guards = { 0 } };
    Coord coord[MAX_DIMS];
    int64_t reach[MAX_DIMS] = { 0 };
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        const int axis = nest->n_dims - 1 - d;
        in.first[d] = axis < 2 ? u->first[axis] : p->coord[d].e;
        reach[d] = axis < 2 ? u->reach[axis] : 0;
        coord[d] = tessi_nest_coord(nest, d, (LExprId){ 0 });
        coord[d].hi = coord[d].less = reach[d];
    }
    tessi_nest_guards(l, nest, coord, &in.guards);
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        in.from[d] = nest->from[d];
        in.to[d] = tessi_l_op(l, OP_SUB, nest->to[d], tessi_l_int(l, reach[d]));
        in.to[d] = tessi_l_op(l, OP_MAX, in.to[d], in.from[d]);
        tessi_guard_range(l, &in.guards, (int8_t)d, &in.from[d], &in.to[d]);
    }
    return in;
}

static LExprId all_inside(const Points *p, const Unit *u)
{
    const Inside in = inside_of(p, u);
    return tessi_kernel_within(p->l, p->nest->n_dims, in.from, in.to, in.first);
}

/* ---- Ways to compute a unit ------------------------------------------------------------------ */

/* Opens the threads that are not open yet; of axes where `there` all points are in the image. */
static void open_unit(Points *p, const Unit *u, const bool *there)
{
    for (uint8_t axis = 2; axis-- > 0;) {
        if (u->open[axis])
            continue;
        open_points(p, axis);
        if (!there[axis])
            leave_out(p, axis);
    }
}

/* The points of a unit that may lie at the edge. */
static void points_anywhere(Points *p, const Unit *u)
{
    uint32_t depth = tessi_scope_depth(p->l);
    open_unit(p, u, (const bool[]){ false, false });
    body(p, false);
    tessi_scope_close_to(p->l, depth);
}

static void points_inside(Points *p, const Unit *u)
{
    Lower *l = p->l;
    uint32_t depth = tessi_scope_depth(l);
    l->guard_depth = depth;
    open_unit(p, u, (const bool[]){ true, true });
    body(p, true);
    tessi_scope_close_to(l, depth);
}

/* Where a unit lies inside with all it reads, without rules; else with them. */
static void split_points(Points *p, const Unit *u)
{
    Lower *l = p->l;
    tessi_scope_if(l, all_inside(p, u));
    points_inside(p, u);
    tessi_scope_else(l);
    points_anywhere(p, u);
    tessi_scope_close(l);
}

/* ---- Nine regions ---------------------------------------------------------------------------- */

/* Along one dimension: whether the unit meets the low side alone, the high side alone, or neither. */
typedef struct Sides {
    bool has_low;
    LExprId low, high, neither;
} Sides;

/* Rules that look back find a point at once where reads leave the image by no more than its length. */
static LExprId looks_back_once(const Points *p, const Inside *in, uint8_t d, Side side)
{
    Lower *l = p->l;
    LExprId fits = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1));
    VEC_FOREACH (const Guard, g, &in->guards) {
        if (g->dim != d || g->scale <= 0)
            continue;
        LExprId size = tessi_lower_size(l, g->size), scale = tessi_l_int(l, g->scale);
        LExprId rest = tessi_lower_lin(l, &g->rest), one = tessi_l_int(l, 1);
        LExprId point =
            side == SIDE_LOW ? p->nest->from[d] : tessi_l_op(l, OP_SUB, p->nest->to[d], one);
        LExprId at = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_MUL, scale, point), rest);
        at = tessi_l_op(l, OP_ADD, at, tessi_l_int(l, side == SIDE_LOW ? g->lo : g->hi));
        LExprId most = tessi_l_op(l, OP_SUB, size, one);
        LExprId ok = side == SIDE_LOW ? tessi_l_op(l, OP_LE, tessi_l_op(l, OP_SUB, one, size), at)
                                      : tessi_l_op(l, OP_LE, at, tessi_l_op(l, OP_ADD, most, most));
        fits = tessi_l_op(l, OP_AND, fits, ok);
    }
    return fits;
}

/* What the unit reads through a guard is not before the image, or not after it. */
static LExprId reads_within(Lower *l, const Guard *g, LExprId first, Side side)
{
    LExprId at = tessi_l_op(l, OP_MUL, tessi_l_int(l, g->scale), first);
    at = tessi_l_op(l, OP_ADD, at, tessi_lower_lin(l, &g->rest));
    at = tessi_l_op(l, OP_ADD, at, tessi_l_int(l, side == SIDE_LOW ? g->lo : g->hi));
    return side == SIDE_LOW ? tessi_l_op(l, OP_LE, tessi_l_int(l, 0), at)
                            : tessi_l_op(l, OP_LT, at, tessi_lower_size(l, g->size));
}

static LExprId not_so(Lower *l, LExprId so)
{
    return tessi_lexpr_op(l->p, OP_NOT, so, (LExprId){ 0 }, (LExprId){ 0 });
}

static Sides sides_of(const Points *p, const Unit *u, const Inside *in, uint8_t d)
{
    Lower *l = p->l;
    const char *dim = tessi_dim_name(p->nest->n_dims, d);
    const LExprId yes = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1)),
                  first = in->first[d];
    Sides s = { .has_low = false, .neither = yes };
    LExprId begins = yes, last = tessi_l_int(l, u->reach[p->nest->n_dims - 1 - d]);
    LExprId ends = tessi_l_op(l, OP_LT, tessi_l_op(l, OP_ADD, first, last), p->nest->to[d]);
    VEC_FOREACH (const Guard, g, &in->guards) {
        if (g->dim != d)
            continue;
        LExprId low = reads_within(l, g, first, SIDE_LOW);
        LExprId high = reads_within(l, g, first, SIDE_HIGH);
        if (g->scale
            < 0) { /* where it goes is the other way round: it is inside, or all is answered */
            s.neither = tessi_l_op(l, OP_AND, s.neither, tessi_l_op(l, OP_AND, low, high));
            continue;
        }
        s.has_low = s.has_low || g->rest.n || g->rest.constant + g->lo < 0;
        begins = tessi_l_op(l, OP_AND, begins, low);
        ends = tessi_l_op(l, OP_AND, ends, high);
    }
    begins = tessi_scope_let(l, tessi_sprintf(l->arena, "%s_begins", dim), begins);
    ends = tessi_scope_let(l, tessi_sprintf(l->arena, "%s_ends", dim), ends);
    s.neither = tessi_l_op(l, OP_AND, s.neither, tessi_l_op(l, OP_AND, begins, ends));
    s.high = tessi_l_op(l, OP_AND, begins, not_so(l, ends));
    s.high = tessi_l_op(l, OP_AND, s.high, looks_back_once(p, in, d, SIDE_HIGH));
    if (!s.has_low)
        return s;
    s.low = tessi_l_op(l, OP_AND, not_so(l, begins), ends);
    s.low = tessi_l_op(l, OP_AND, s.low, looks_back_once(p, in, d, SIDE_LOW));
    return s;
}

static LExprId some_side(Lower *l, const Sides *s)
{
    LExprId some = tessi_l_op(l, OP_OR, s->neither, s->high);
    return s->has_low ? tessi_l_op(l, OP_OR, some, s->low) : some;
}

/* The points of a unit whose sides are known. */
static void region(Points *p, const Unit *u)
{
    Lower *l = p->l;
    const uint8_t x = (uint8_t)(p->nest->n_dims - 1);
    const uint32_t depth = tessi_scope_depth(l);
    bool there[2] = { l->side[x] != SIDE_HIGH, x == 0 || l->side[x - 1] != SIDE_HIGH };
    l->guard_depth = depth;
    open_unit(p, u, there);
    body(p, false);
    tessi_scope_close_to(l, depth);
}

/* Tells the sides along an axis, then along those after it. */
static void tell_sides(Points *p, const Unit *u, const Sides *sides, uint8_t axis)
{
    Lower *l = p->l;
    const Sides *s = &sides[axis];
    const uint8_t d = (uint8_t)(p->nest->n_dims - 1 - axis);
    const uint32_t depth = tessi_scope_depth(l);
    const Side way[] = { SIDE_NEITHER, SIDE_LOW, SIDE_HIGH };
    const LExprId asked[] = { s->neither, s->low };
    for (int k = 0; k < 3; k++) {
        if (way[k] == SIDE_LOW && !s->has_low)
            continue;
        if (k)
            tessi_scope_else(l);
        if (way[k] != SIDE_HIGH)
            tessi_scope_if(l, asked[k]);
        l->side[d] = way[k];
        if (axis)
            tell_sides(p, u, sides, (uint8_t)(axis - 1));
        else
            region(p, u);
    }
    l->side[d] = SIDE_BOTH;
    tessi_scope_close_to(l, depth);
}

/* Units that meet no side of the image, one side or two of a corner answer the rules of these alone; where an image is
 * too narrow for that, all rules. */
static void split_regions(Points *p, const Unit *u)
{
    Lower *l = p->l;
    const uint8_t n = p->nest->n_dims, axes = n < 2 ? 1 : 2;
    const Inside in = inside_of(p, u);
    Sides sides[2];
    LExprId known = tessi_kernel_within(l, (uint8_t)(n - axes), in.from, in.to, in.first);
    for (uint8_t axis = 0; axis < axes; axis++) {
        sides[axis] = sides_of(p, u, &in, (uint8_t)(n - 1 - axis));
        known = tessi_l_op(l, OP_AND, known, some_side(l, &sides[axis]));
    }
    tessi_scope_if(l, known);
    for (uint8_t d = 0; d + axes < n; d++)
        l->side[d] = SIDE_NEITHER;
    tell_sides(p, u, sides, (uint8_t)(axes - 1));
    for (uint8_t d = 0; d + axes < n; d++)
        l->side[d] = SIDE_BOTH;
    tessi_scope_else(l);
    points_anywhere(p, u);
    tessi_scope_close(l);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

/* The copies of the block, before its points. */
static void copy_images(Points *p, const PlanGroup *group, Split split)
{
    const Unit block = block_unit(p);
    const uint8_t n = p->nest->n_dims;
    LExprId first[MAX_DIMS], inside = { 0 };
    for (uint8_t d = 0; d < n; d++)
        first[d] = n - 1 - d < 2 ? block.first[n - 1 - d] : p->coord[d].e;
    p->staged = tessi_staged_declare(p->l, group, p->nest, first);
    if (p->staged && split != SPLIT_NONE)
        inside = tessi_scope_let(p->l, "inside", all_inside(p, &block));
    if (p->staged)
        tessi_staged_fill(p->l, p->staged, inside);
}

static void compute(Points *p, Split split)
{
    const Unit u =
        tessi_split_is_by_warp(split) && p->nest->n_dims > 1 ? warp_unit(p) : block_unit(p);
    if (split == SPLIT_REGIONS || split == SPLIT_WARP_REGIONS)
        split_regions(p, &u);
    else if (split != SPLIT_NONE)
        split_points(p, &u);
    else
        points_anywhere(p, &u);
}

void tessi_kernel_points(Lower *l, const Nest *nest, const uint16_t *block, Split split,
                         const PlanGroup *copies)
{
    Points p = { .l = l, .nest = nest, .block = block, .coord = { { .dim = -1 } } };
    tessi_lower_dims(l, nest->n_dims);
    if (nest->n_dims == 0) {
        nest->body(l, nest, p.coord, NULL);
        return;
    }
    uint32_t depth = tessi_scope_depth(l);
    uint8_t x = (uint8_t)(nest->n_dims - 1);
    const bool rows = nest->n_dims > 1;
    LExprId number[2] = { { 0 } };
    if (nest->n_dims > 2)
        tessi_kernel_outer(l, nest, p.coord);
    if (rows)
        number[1] = tessi_kernel_grid(
            l, 1, "block_y",
            tessi_kernel_blocks(l, tessi_nest_extent(l, nest, (uint8_t)(x - 1)), block[1]));
    number[0] = tessi_kernel_grid(l, 0, "block_x",
                                  tessi_kernel_blocks(l, tessi_nest_extent(l, nest, x), block[0]));
    for (uint8_t axis = 0; axis < 1 + rows; axis++) {
        LExprId at = tessi_l_op(l, OP_MUL, number[axis], tessi_l_int(l, block[axis]));
        p.first[axis] = tessi_l_op(l, OP_ADD, at, nest->from[x - axis]);
    }
    if (copies)
        copy_images(&p, copies, split);
    compute(&p, split);
    if (copies)
        tessi_staged_end(l, copies);
    tessi_scope_close_to(l, depth);
}

/* ---- Copies of stages ------------------------------------------------------------------------ */

enum { COPY_BLOCK = 128 };

typedef struct StageCopy {
    StageId from;
    LBufferId to;
} StageCopy;

static void copy_point(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    (void)ev;
    const StageCopy *copy = nest->user;
    LExprId at[MAX_DIMS];
    for (uint8_t d = 0; d < nest->n_dims; d++)
        at[d] = coord[d].e;
    tessi_scope_store(l, copy->to, at, nest->n_dims, tessi_eval_stage(l, copy->from, coord, false));
}

/* Elements that a thread moves as one vector; 1: the layouts do not allow that. */
static uint32_t copied_at_once(const Lower *l, const StageCopy *copy)
{
    enum { VECTOR_BYTES = 16 };
    const uint32_t most =
        VECTOR_BYTES / tessi_type_info(tessi_stage(l->g, copy->from)->type)->bytes;
    const LBufferId from = l->buffer[copy->from.v];
    if (!from.v || tessi_vector_elements(l, from, most) < most)
        return 1;
    return tessi_vector_elements(l, copy->to, most) < most ? 1 : most;
}

/* The value of a point, then the indices to store it at. */
static void copied_value(Lower *l, const Nest *nest, const Coord *coord, LExprId *place)
{
    const StageCopy *copy = nest->user;
    place[0] = tessi_eval_stage(l, copy->from, coord, false);
    for (uint8_t d = 0; d < nest->n_dims; d++)
        place[1 + d] = coord[d].e;
}

/* A vector a thread: kernels that move elements one by one reach two thirds of the memory's rate. */
static void copy_vectors(Lower *l, const Nest *nest, uint32_t n)
{
    const StageCopy *copy = nest->user;
    const uint32_t depth = tessi_scope_depth(l), cells = nest->n_dims + 1u;
    const uint8_t x = (uint8_t)(nest->n_dims - 1);
    LExprId *place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)cells * n);
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    tessi_lower_dims(l, nest->n_dims);
    if (nest->n_dims > 2)
        tessi_kernel_outer(l, nest, coord);
    const uint8_t y = (uint8_t)(x - 1);
    const LExprId row = tessi_kernel_grid(l, 1, "block_y", tessi_nest_extent(l, nest, y));
    coord[y] = tessi_nest_coord(nest, y, tessi_l_op(l, OP_ADD, row, nest->from[y]));
    LExprId first = tessi_kernel_grid(
        l, 0, "block_x",
        tessi_kernel_blocks(l, tessi_nest_extent(l, nest, x), COPY_BLOCK * (int64_t)n));
    first = tessi_l_op(l, OP_MUL, first, tessi_l_int(l, COPY_BLOCK));
    first = tessi_l_op(l, OP_ADD, first, tessi_kernel_threads(l, 0, "thread", COPY_BLOCK));
    first = tessi_scope_let(l, "x", tessi_l_op(l, OP_MUL, first, tessi_l_int(l, n)));
    const TileColumns columns = { .x = first, .aligned = n, .from = INT64_MIN, .to = INT64_MAX };
    const LExprId end = tessi_l_op(l, OP_ADD, first, tessi_l_int(l, n));
    tessi_scope_likely(l, tessi_l_op(l, OP_LE, end, nest->to[x]));
    for (uint32_t c = 0; c < n; c++) {
        coord[x] = tessi_nest_coord(nest, x, tessi_l_op(l, OP_ADD, first, tessi_l_int(l, c)));
        copied_value(l, nest, coord, place + (size_t)cells * c);
    }
    tessi_tile_takes(l, place, cells * n, &columns);
    tessi_scope_place(l, place, cells * n);
    tessi_tile_gives(l, copy->to, place + 1, nest->n_dims, place, cells, n);
    tessi_scope_else(l);
    for (uint32_t c = 0; c + 1 < n; c++) {
        const LExprId at = tessi_l_op(l, OP_ADD, first, tessi_l_int(l, c));
        tessi_scope_if(l, tessi_l_op(l, OP_LT, at, nest->to[x]));
        coord[x] = tessi_nest_coord(nest, x, at);
        copy_point(l, nest, coord, NULL);
        tessi_scope_close(l);
    }
    tessi_scope_close_to(l, depth);
}

void tessi_lower_copy(Lower *l, StageId from, LBufferId to, const char *name, const char *comment)
{
    const StageCopy copy = { .from = from, .to = to };
    const Stage *s = tessi_stage(l->g, from);
    Nest nest = { .parallel = true, .vector = true, .body = copy_point, .user = &copy };
    tessi_nest_whole(l, s, &nest);
    if (l->plan->gpu) {
        const uint16_t block[2] = { s->n_dims ? COPY_BLOCK : 1, 1 };
        const uint32_t at_once = copied_at_once(l, &copy);
        tessi_kernel_open(l, name, comment, block[0], block[1]);
        if (at_once > 1)
            copy_vectors(l, &nest, at_once);
        else
            tessi_kernel_points(l, &nest, block, SPLIT_NONE, NULL);
    } else {
        tessi_lower_function(l, name, comment);
        tessi_lower_nest(l, &nest);
    }
    tessi_scope_close(l);
}
