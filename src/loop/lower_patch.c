/* What a thread of a kernel computes straight-line. */
#include "loop/lower_nest.h"

void tessi_nest_guards(Lower *l, const Nest *nest, const Coord *coord, GuardList *out)
{
    l->inside_last = l->inside_rows = true;
    tessi_read_guards(l, nest->roots, nest->n_roots, coord, out);
    l->inside_last = l->inside_rows = false;
}

Point *tessi_patch_points(Lower *l, const Nest *nest, const Patch *patch)
{
    const uint8_t y = (uint8_t)(nest->n_dims - 2);
    Point *coord = ARENA_NEW_ARRAY(l->arena, Point, patch->rows * patch->columns);
    for (uint32_t i = 0; i < patch->rows * patch->columns; i++) {
        const uint32_t apart[2] = { patch->apart[0] ? patch->apart[0] : 1,
                                    patch->apart[1] ? patch->apart[1] : 1 };
        const uint32_t at[2] = { i / patch->columns * apart[0], i % patch->columns * apart[1] };
        for (uint8_t d = 0; d < y; d++)
            coord[i][d] = patch->outer[d];
        for (int k = 0; k < 2; k++) {
            Coord *c = &coord[i][y + k];
            LExprId e = tessi_l_op(l, OP_ADD, patch->first[k], tessi_l_int(l, at[k]));
            *c = tessi_nest_coord(nest, (uint8_t)(y + k), e);
            c->lo = c->hi = at[k];
            c->less = ((k ? patch->columns : patch->rows) - 1) * apart[k];
            c->loose = patch->loose && !c->beyond;
        }
    }
    return coord;
}

void tessi_patch_compute(Lower *l, Nest *nest, const Patch *patch)
{
    Point *coord = tessi_patch_points(l, nest, patch);
    l->guard_depth = tessi_scope_depth(l);
    l->inside_last = l->inside_rows = patch->inside;
    l->unroll_windows = !patch->alone;
    nest->pinned = true;
    nest->tile_columns = patch->vectors;
    if (patch->alone)
        nest->body(l, nest, coord[0], NULL);
    else if (patch->apart[1] > 1) /* none has neighbours */
        nest->tile(l, nest, coord, patch->rows * patch->columns, 1);
    else
        nest->tile(l, nest, coord, patch->rows, patch->columns);
    nest->tile_columns = NULL;
    nest->pinned = false;
    l->unroll_windows = false;
    l->inside_last = l->inside_rows = false;
}
