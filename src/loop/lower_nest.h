/* Inside lowering: what the loops of groups offer one another. */
#ifndef TESSERA_LOOP_LOWER_NEST_H
#define TESSERA_LOOP_LOWER_NEST_H

#include "loop/lower_copy.h"

/* What the splitting of one nest comes to. With `all_rows` rows count as inside only where no rule is needed in any
 * dimension. */
typedef struct Bounds {
    bool any;         /* there is something to split */
    bool rows;        /* outer dimensions are guarded */
    LExprId from, to; /* of the interior in the last dimension */
    GuardList guards;
    /* of a block with windows: edges are computed from these, in steps of `columns` */
    CopyList copies;
    uint32_t columns;
} Bounds;

/* ---- lower_nest.c ---- */
Bounds tessi_nest_bounds(Lower *l, const Nest *nest, bool all_rows);
/* The guards of the first `n` dimensions hold at `coord`. */
LExprId tessi_nest_plane_inside(Lower *l, const Nest *nest, const Bounds *b, const Coord *coord,
                                uint8_t n);
/* The interior is as wide as a step of the vector loop. */
LExprId tessi_nest_has_vectors(Lower *l, const Bounds *b);
/* One row, its interior in vectors. */
void tessi_nest_split_line(Lower *l, const Nest *nest, Coord *coord, const Bounds *b);
/* Opens a loop over the rows from y on, before `end`. */
void tessi_nest_single_rows(Lower *l, const Nest *nest, Coord *coord, LExprId y, LExprId end);
/* Edges of blocks are widened to whole steps of vectors, and computed from copies where that can be and pays. */
void tessi_nest_widen_edges(Lower *l, const Nest *nest, Bounds *b);
/* What stands left and right of the interior of a block. */
void tessi_nest_edges_of_block(Lower *l, const Nest *nest, const Bounds *b, Coord *coord, LExprId y,
                               LExprId end);
/* ---- lower_carry.c ---- */
/* Rows in bands, down which vectors of columns go with stages in registers. */
void tessi_lower_carried(Lower *l, const Nest *nest);

#endif
