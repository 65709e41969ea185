/* Kernels: the loops of a nest as blocks of a grid and threads of a block, one point a thread.
 *
 *   grid z: the outer dimensions, one point a block; grid y, grid x: blocks of points of the last two dimensions;
 *   thread y, thread x: the points of a block, those beyond the edge left out. */
#include "loop/lower_parts.h"

/* ---- Functions ------------------------------------------------------------------------------------------------------------ */

void tessi_kernel_open(Lower *l, const char *name, const char *comment, uint32_t block_x,
                       uint32_t block_y)
{
    LFunction *f = tessi_lower_function(l, name, comment);
    f->is_kernel = true;
    f->block[0] = block_x;
    f->block[1] = block_y;
    f->block[2] = 1;
}

LExprId tessi_kernel_grid(Lower *l, uint8_t axis, const char *name, LExprId blocks)
{
    l->p->functions.at[l->p->functions.n - 1].grid[axis] = blocks;
    return tessi_lexpr_var(l->p, tessi_scope_grid(l, name, axis, blocks));
}

LExprId tessi_kernel_threads(Lower *l, uint8_t axis, const char *name, int64_t n)
{
    LVarId v = tessi_scope_for(l, name, tessi_l_int(l, 0), tessi_l_int(l, n), 1,
                               LFOR_PARALLEL | LFOR_THREAD);
    l->scopes.at[tessi_scope_depth(l)].stmt->axis = axis;
    return tessi_lexpr_var(l->p, v);
}

LExprId tessi_kernel_blocks(Lower *l, LExprId extent, int64_t size)
{
    LExprId up = tessi_l_op(l, OP_ADD, extent, tessi_l_int(l, size - 1));
    return tessi_l_op(l, OP_FLOORDIV, up, tessi_l_int(l, size));
}

/* ---- One point a thread ------------------------------------------------------------------------------------------------------ */

static LExprId extent(Lower *l, const Nest *nest, uint8_t d)
{
    return tessi_l_op(l, OP_SUB, nest->to[d], nest->from[d]);
}

/* Dimensions before the last two: their points are the blocks along z. */
static void outer_dimensions(Lower *l, const Nest *nest, Coord *coord)
{
    uint8_t n = (uint8_t)(nest->n_dims - 2);
    LExprId total = tessi_l_int(l, 1);
    for (uint8_t d = 0; d < n; d++)
        total = tessi_l_op(l, OP_MUL, total, extent(l, nest, d));
    LExprId left = tessi_kernel_grid(l, 2, n == 1 ? "plane" : "planes", total);
    for (uint8_t d = n; d-- > 0;) {
        LExprId at = left;
        if (d) {
            at = tessi_l_op(l, OP_FLOORMOD, left, extent(l, nest, d));
            left = tessi_l_op(l, OP_FLOORDIV, left, extent(l, nest, d));
        }
        at = tessi_l_op(l, OP_ADD, at, nest->from[d]);
        coord[d] =
            tessi_nest_coord(nest, d, tessi_scope_let(l, tessi_dim_name(nest->n_dims, d), at));
    }
}

/* The thread's point along dimension d, in an IF that it is there. */
static void thread_point(Lower *l, const Nest *nest, Coord *coord, uint8_t d, LExprId block,
                         uint8_t axis, int64_t threads)
{
    LExprId first = tessi_l_op(l, OP_MUL, block, tessi_l_int(l, threads));
    LExprId thread = tessi_kernel_threads(l, axis, axis ? "thread_y" : "thread_x", threads);
    LExprId at = tessi_l_op(l, OP_ADD, tessi_l_op(l, OP_ADD, first, nest->from[d]), thread);
    at = tessi_scope_let(l, tessi_dim_name(nest->n_dims, d), at);
    coord[d] = tessi_nest_coord(nest, d, at);
    tessi_scope_if(l, tessi_l_op(l, OP_LT, at, nest->to[d]));
}

void tessi_kernel_points(Lower *l, const Nest *nest, const uint16_t *block)
{
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    l->n_loop_dims = nest->n_dims;
    l->inside_last = l->inside_rows = false;
    if (nest->n_dims == 0) {
        nest->body(l, nest, coord, NULL);
        return;
    }
    uint32_t depth = tessi_scope_depth(l);
    uint8_t x = (uint8_t)(nest->n_dims - 1);
    LExprId block_y = { 0 };
    if (nest->n_dims > 2)
        outer_dimensions(l, nest, coord);
    if (nest->n_dims > 1)
        block_y = tessi_kernel_grid(
            l, 1, "block_y", tessi_kernel_blocks(l, extent(l, nest, (uint8_t)(x - 1)), block[1]));
    LExprId block_x =
        tessi_kernel_grid(l, 0, "block_x", tessi_kernel_blocks(l, extent(l, nest, x), block[0]));
    if (nest->n_dims > 1)
        thread_point(l, nest, coord, (uint8_t)(x - 1), block_y, 1, block[1]);
    thread_point(l, nest, coord, x, block_x, 0, block[0]);
    nest->body(l, nest, coord, NULL);
    while (tessi_scope_depth(l) > depth)
        tessi_scope_close(l);
}
