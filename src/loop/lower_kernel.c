/* Grids, blocks and threads of kernels. */
#include "loop/lower_kernel.h"

/* ---- Functions ------------------------------------------------------------------------------- */

LFunction *tessi_kernel_open(Lower *l, const char *name, const char *comment, uint32_t block_x,
                             uint32_t block_y)
{
    LFunction *f = tessi_lower_function(l, name, comment);
    f->is_kernel = true;
    f->block[0] = block_x;
    f->block[1] = block_y;
    f->block[2] = 1;
    return f;
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

LExprId tessi_kernel_within(Lower *l, uint8_t n, const LExprId *from, const LExprId *to,
                            const LExprId *at)
{
    LExprId in = tessi_lexpr_const(l->p, TYPE_BOOL, tessi_value_int(1));
    for (uint8_t d = 0; d < n; d++) {
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LE, from[d], at[d]));
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LT, at[d], to[d]));
    }
    return in;
}

void tessi_kernel_outer(Lower *l, const Nest *nest, Coord *coord)
{
    tessi_kernel_outer_dims(l, nest, (uint8_t)(nest->n_dims - 2), coord);
}

void tessi_kernel_outer_dims(Lower *l, const Nest *nest, uint8_t n, Coord *coord)
{
    LExprId total = tessi_l_int(l, 1);
    for (uint8_t d = 0; d < n; d++)
        total = tessi_l_op(l, OP_MUL, total, tessi_nest_extent(l, nest, d));
    LExprId number = tessi_kernel_grid(l, 2, n == 1 ? "plane" : "planes", total);
    tessi_nest_outer_coords(l, nest, number, n, coord);
}

static LExprId inside(Lower *l, LExprId at, LExprId size)
{
    at = tessi_l_op(l, OP_MIN, at, tessi_l_op(l, OP_SUB, size, tessi_l_int(l, 1)));
    return tessi_l_op(l, OP_MAX, at, tessi_l_int(l, 0));
}

void tessi_kernel_fetch(Lower *l, StageId image, const LExprId *at)
{
    const Stage *s = tessi_stage(l->g, image);
    LExprId index[MAX_DIMS];
    for (uint8_t d = 0; d < s->n_dims; d++)
        index[d] = inside(l, at[d], tessi_lower_size(l, s->size[d]));
    tessi_scope_place(l, index, s->n_dims);
    LStmt *stmt = tessi_scope_stmt(l, LSTMT_PREFETCH);
    stmt->buffer = l->buffer[image.v];
    stmt->n_index = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++)
        stmt->index[d] = index[d];
}
