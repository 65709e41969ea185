/* Points and rows of a nest, by number and by coordinates. */
#include "loop/lower_nest.h"

const char *tessi_dim_name(uint8_t n_dims, uint8_t dim)
{
    static const char *const names[] = { "w", "z", "y", "x" };
    return names[MAX_DIMS - n_dims + dim];
}

Coord tessi_nest_coord(const Nest *nest, uint8_t dim, LExprId var)
{
    return (Coord){ .e = var,
                    .dim = (int8_t)dim,
                    .scale = 1,
                    .rest = tessi_lin_const(0),
                    .count = nest->count[dim],
                    .beyond = nest->beyond[dim] };
}

LExprId tessi_nest_extent(Lower *l, const Nest *nest, uint8_t d)
{
    LExprId extent = tessi_l_op(l, OP_SUB, nest->to[d], nest->from[d]);
    if (nest->to[d].v == tessi_lower_size(l, nest->count[d]).v)
        return extent;
    return tessi_l_op(l, OP_MAX, extent, tessi_l_int(l, 0)); /* a clipped piece may be empty */
}

LExprId tessi_nest_row_count(Lower *l, const Nest *nest)
{
    LExprId total = tessi_l_int(l, 1);
    for (uint8_t d = 0; d + 1 < nest->n_dims; d++)
        total = tessi_l_op(l, OP_MUL, total, tessi_nest_extent(l, nest, d));
    return total;
}

LExprId tessi_nest_point_count(Lower *l, const Nest *nest)
{
    const LExprId row = tessi_nest_extent(l, nest, (uint8_t)(nest->n_dims - 1));
    return tessi_l_op(l, OP_MUL, tessi_nest_row_count(l, nest), row);
}

/* Sets the coordinates of the first `n` dimensions from their number in row-major order. */
void tessi_nest_outer_coords(Lower *l, const Nest *nest, LExprId number, uint8_t n, Coord *coord)
{
    LExprId left = number;
    for (uint8_t d = n; d-- > 0;) {
        LExprId at = left;
        if (d) {
            LExprId extent = tessi_nest_extent(l, nest, d);
            at = tessi_l_op(l, OP_FLOORMOD, left, extent);
            left = tessi_l_op(l, OP_FLOORDIV, left, extent);
        }
        at = tessi_l_op(l, OP_ADD, at, nest->from[d]);
        coord[d] =
            tessi_nest_coord(nest, d, tessi_scope_let(l, tessi_dim_name(nest->n_dims, d), at));
    }
}

void tessi_nest_row_coords(Lower *l, const Nest *nest, LExprId number, Coord *coord)
{
    tessi_nest_outer_coords(l, nest, number, nest->n_dims ? (uint8_t)(nest->n_dims - 1) : 0, coord);
}

void tessi_nest_whole(Lower *l, const Stage *s, Nest *nest)
{
    nest->n_dims = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        nest->from[d] = tessi_l_int(l, 0);
        nest->to[d] = tessi_lower_size(l, s->size[d]);
        nest->count[d] = s->size[d];
    }
}
