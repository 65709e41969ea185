/* Inside lowering: the loops of a group.
 *
 *   lower_coord.c  points and rows of a nest, by number and by coordinates
 *   lower_patch.c  points that a thread computes straight-line
 *   lower_nest.c   loops over rows, edges and interior
 *   lower_carry.c  stages in registers, for loops down the rows
 *   lower_strip.c  windows over pixels of several channels */
#ifndef TESSERA_LOOP_LOWER_NEST_H
#define TESSERA_LOOP_LOWER_NEST_H

#include "loop/lower_copy.h"
#include "loop/lower_vectors.h"

/* The loops over a range per dimension; `body` fills the innermost one and is called for the edges and for the
 * interior. */
typedef struct Nest Nest;
struct Nest {
    uint8_t n_dims;
    LExprId from[MAX_DIMS], to[MAX_DIMS];
    SizeId count[MAX_DIMS]; /* the variables are less than this, for proofs */
    bool parallel, vector, split;
    bool tiled;  /* part of a tile: points may be computed twice, and most have no edges */
    bool pinned; /* the coordinates are in the range only where the innermost scope is executed */
    bool beyond[MAX_DIMS]; /* the range may leave the image, where everything wraps around */
    /* of nests of two dimensions or more: computed together where all reads are inside; 0 and 1 = one at a time */
    uint8_t rows;
    uint8_t columns;            /* vectors that a step of the last dimension takes; 0 and 1 = one */
    const PlanCarries *carries; /* stages in registers; NULL = none */
    uint16_t band;              /* with these: rows that are gone down */
    /* the roots have windows, whose accumulators stay in variables where `rows` or `columns` say so */
    bool windows;
    const ExprId *roots; /* bodies evaluated at the variables, for the guards */
    uint32_t n_roots;
    const StageId *stage; /* of which they are: as many; NULL: of none */
    /* `ev` is an evaluation of the roots at `coord`; NULL = none has been made. */
    void (*body)(Lower *l, const Nest *nest, const Coord *coord, Eval *ev);
    /* The same for `rows` rows at once, coord[r] being those of row r; only when rows > 1. */
    void (*block)(Lower *l, const Nest *nest, Coord (*coord)[MAX_DIMS], uint32_t rows);
    /* Kernels: the same for `rows` x `columns` points at once, coord[r * columns + c]; moves are in vectors. */
    void (*tile)(Lower *l, const Nest *nest, Coord (*coord)[MAX_DIMS], uint32_t rows,
                 uint32_t columns);
    bool packed; /* tiles: small integers of neighbours in a row are computed two in a word */
    const TileColumns *tile_columns; /* NULL: those of the coordinates */
    bool rows_aligned;               /* a tile of points begins at a multiple of its rows */
    const void *user;
};

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

/* ---- lower_coord.c ---- */
const char *tessi_dim_name(uint8_t n_dims, uint8_t dim);
/* The coordinates of the outer dimensions of row `number`, as LETs. */
void tessi_nest_row_coords(Lower *l, const Nest *nest, LExprId number, Coord *coord);
/* The product of the extents of the outer dimensions. */
LExprId tessi_nest_row_count(Lower *l, const Nest *nest);
LExprId tessi_nest_point_count(Lower *l, const Nest *nest);
/* The points of a dimension: none where a clipped piece is empty. */
LExprId tessi_nest_extent(Lower *l, const Nest *nest, uint8_t d);
Coord tessi_nest_coord(const Nest *nest, uint8_t dim, LExprId var);
/* Sets the coordinates of the first `n` dimensions from their number in row-major order. */
void tessi_nest_outer_coords(Lower *l, const Nest *nest, LExprId number, uint8_t n, Coord *coord);
/* Every point of a stage. */
void tessi_nest_whole(Lower *l, const Stage *s, Nest *nest);
/* ---- lower_patch.c ---- */
/* The guards under which a nest needs no rules at these coordinates, in any dimension. */
void tessi_nest_guards(Lower *l, const Nest *nest, const Coord *coord, GuardList *out);
/* What a thread of a kernel computes straight-line: rows and columns of points from one on, side by side or apart. */
typedef struct Patch {
    const Coord *outer; /* of the dimensions before the last two */
    LExprId first[2];
    uint32_t rows, columns;
    uint32_t apart[2]; /* rows, columns: from one to the next; 0: 1 */
    bool alone;        /* one point, by the body of the nest */
    bool inside;       /* with all they read */
    bool loose;        /* there or not */
    const TileColumns *vectors;
} Patch;
typedef Coord Point[MAX_DIMS];
Point *tessi_patch_points(Lower *l, const Nest *nest, const Patch *patch);
void tessi_patch_compute(Lower *l, Nest *nest, const Patch *patch);
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
void tessi_lower_nest(Lower *l, const Nest *nest);
/* Opens one loop over all rows of a nest (the outer dimensions) and sets their coordinates; its variable is the
 * number of the row. Nests with strips have another around it. */
LExprId tessi_nest_rows(Lower *l, const Nest *nest, Coord *coord, uint8_t flags);
/* ---- lower_carry.c ---- */
/* Rows in bands, down which vectors of columns go with stages in registers. */
void tessi_lower_carried(Lower *l, const Nest *nest);
/* The number of values in registers from step to step. */
uint32_t tessi_carry_count(const Nest *nest);
/* What the next step finds in them; the last row of the one in hand is at `last`. */
void tessi_carry_next(Lower *l, const Nest *nest, const Coord *last, LExprId *out);
/* Ends a step. */
void tessi_carry_set(Lower *l, const Nest *nest, const LExprId *value);

/* ---- lower_strip.c ---- */
/* The bodies have window loops that gain from being run for a strip of points at a time. */
bool tessi_wants_strips(Lower *l, const Nest *nest);
/* The last dimension over [from, to) in strips; `coord` of the last dimension is set here. */
void tessi_lower_strips(Lower *l, const Nest *nest, Coord *coord, LExprId from, LExprId to);

#endif
