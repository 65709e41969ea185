/* Kernels of points: the loops of a nest as blocks of a grid and threads of a block, one point a thread.
 *
 *   grid z: the outer dimensions, one point a block; grid y, grid x: blocks of points of the last two dimensions;
 *   thread y, thread x: the points of a block, those beyond the edge left out. */
#include "loop/lower_group.h"

/* Where, in each dimension, points first .. first + reach are there and all they read lies inside: from <= first < to.
 */
static void inside_range(Lower *l, const Nest *nest, const int64_t *reach, LExprId *from,
                         LExprId *to)
{
    Coord coord[MAX_DIMS];
    GuardList guards = { 0 };
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        coord[d] = tessi_nest_coord(nest, d, (LExprId){ 0 });
        coord[d].hi = coord[d].less = reach[d];
    }
    l->inside_last = l->inside_rows = true;
    tessi_read_guards(l, nest->roots, nest->n_roots, coord, &guards);
    l->inside_last = l->inside_rows = false;
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        from[d] = nest->from[d];
        to[d] = tessi_l_op(l, OP_SUB, nest->to[d], tessi_l_int(l, reach[d]));
        to[d] = tessi_l_op(l, OP_MAX, to[d], from[d]);
        tessi_guard_range(l, &guards, (int8_t)d, &from[d], &to[d]);
    }
}

typedef struct Points {
    Lower *l;
    const Nest *nest;
    const uint16_t *block;
    LExprId first[2]; /* of the block, in the dimension before the last and in the last */
    Coord coord[MAX_DIMS];
    CopyList *staged; /* NULL = none */
} Points;

/* Opens the threads along an axis, each with its point there. */
static void open_points(Points *p, uint8_t axis)
{
    Lower *l = p->l;
    uint8_t d = (uint8_t)(p->nest->n_dims - 1 - axis);
    LExprId thread = tessi_kernel_threads(l, axis, axis ? "thread_y" : "thread_x", p->block[axis]);
    LExprId at = tessi_l_op(l, OP_ADD, p->first[axis], thread);
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

/* The points of one line of threads, or of the whole block, that may lie at the edge. */
static void points_anywhere(Points *p, bool rows)
{
    uint32_t depth = tessi_scope_depth(p->l);
    if (rows) {
        open_points(p, 1);
        leave_out(p, 1);
    }
    open_points(p, 0);
    leave_out(p, 0);
    body(p, false);
    tessi_scope_close_to(p->l, depth);
}

static void points_inside(Points *p, bool rows)
{
    Lower *l = p->l;
    uint32_t depth = tessi_scope_depth(l);
    l->guard_depth = depth;
    if (rows)
        open_points(p, 1);
    open_points(p, 0);
    body(p, true);
    tessi_scope_close_to(l, depth);
}

/* The first point of the block (or, with the row of threads open, of the warp). */
static void first_point(const Points *p, bool rows, LExprId *first)
{
    const uint8_t n = p->nest->n_dims;
    for (uint8_t d = 0; d < n; d++)
        first[d] = p->coord[d].e;
    first[n - 1] = p->first[0];
    if (rows)
        first[n - 2] = p->first[1];
}

static LExprId all_inside(const Points *p, bool rows)
{
    const uint8_t n = p->nest->n_dims;
    LExprId first[MAX_DIMS];
    int64_t reach[MAX_DIMS] = { 0 };
    first_point(p, rows, first);
    reach[n - 1] = p->block[0] - 1;
    if (rows)
        reach[n - 2] = p->block[1] - 1;
    LExprId from[MAX_DIMS], to[MAX_DIMS];
    inside_range(p->l, p->nest, reach, from, to);
    return tessi_kernel_within(p->l, n, from, to, first);
}

/* Where a block (or, with the row of threads open, a warp) lies inside with all it reads, without rules; else with
 * them. */
static void split_points(Points *p, bool rows)
{
    Lower *l = p->l;
    tessi_scope_if(l, all_inside(p, rows));
    points_inside(p, rows);
    tessi_scope_else(l);
    points_anywhere(p, rows);
    tessi_scope_close(l);
}

/* The copies of the block, before its points. */
static void copy_images(Points *p, const PlanGroup *group, bool rows, Split split)
{
    LExprId first[MAX_DIMS], inside = { 0 };
    first_point(p, rows, first);
    p->staged = tessi_staged_declare(p->l, group, p->nest, first);
    if (p->staged && split != SPLIT_NONE)
        inside = tessi_scope_let(p->l, "inside", all_inside(p, rows));
    if (p->staged)
        tessi_staged_fill(p->l, p->staged, inside);
}

void tessi_kernel_points(Lower *l, const Nest *nest, const uint16_t *block, Split split,
                         const PlanGroup *copies)
{
    Points p = { .l = l, .nest = nest, .block = block, .coord = { { .dim = -1 } } };
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
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
        copy_images(&p, copies, rows, split);
    if (split == SPLIT_WARP && rows) {
        open_points(&p, 1);
        leave_out(&p, 1);
        split_points(&p, false);
    } else if (split != SPLIT_NONE) {
        split_points(&p, rows);
    } else {
        points_anywhere(&p, rows);
    }
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
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = copy->to;
    s->n_index = nest->n_dims;
    for (uint8_t d = 0; d < nest->n_dims; d++)
        s->index[d] = coord[d].e;
    s->a = tessi_eval_stage(l, copy->from, coord, false);
}

void tessi_lower_copy(Lower *l, StageId from, LBufferId to, const char *name, const char *comment)
{
    const StageCopy copy = { .from = from, .to = to };
    const Stage *s = tessi_stage(l->g, from);
    Nest nest = { .parallel = true, .vector = true, .body = copy_point, .user = &copy };
    tessi_nest_whole(l, s, &nest);
    if (l->plan->gpu) {
        const uint16_t block[2] = { s->n_dims ? COPY_BLOCK : 1, 1 };
        tessi_kernel_open(l, name, comment, block[0], block[1]);
        tessi_kernel_points(l, &nest, block, SPLIT_NONE, NULL);
    } else {
        tessi_lower_function(l, name, comment);
        tessi_lower_nest(l, &nest);
    }
    tessi_scope_close(l);
}
