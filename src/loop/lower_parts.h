/* Inside lowering: the state it carries, and what its files offer one another.
 *
 *   lower.c        buffers, images, the order of functions
 *   lower_nest.c   the loops of a group: rows, edges and interior
 *   lower_group.c  computed stages: what the loops of a group evaluate and store
 *   lower_tile.c   groups computed tile by tile through scratch memory
 *   lower_expr.c   graph expressions to loop expressions
 *   lower_window.c windows to loops with accumulators
 *   lower_rows.c   windows for several rows at once
 *   lower_carry.c  stages in registers, for loops down the rows
 *   lower_strip.c  windows over strips of points, for vectors
 *   lower_copy.c   copies of rectangles of images, answered by border rules
 *   lower_copies.c what is to be copied
 *   lower_gather.c copies of what windows of templates read
 *   lower_transform.c sums by Fourier transforms
 *   lower_spectrum.c the same on GPUs
 *   lower_fourier.c  what both are made of
 *   lower_median.c medians by histograms
 *   lower_median_kernel.c the same on GPUs
 *   lower_general.c sums over masks of any extent
 *   lower_read.c   reads: which points are inside, border rules as arithmetic
 *   lower_kernel.c grids, blocks and threads of GPUs
 *   lower_blocks.c which blocks of an image a kernel computes
 *   lower_tiles.c  tiles of a block: in registers, or in passes through shared memory
 *   lower_points.c what its threads compute
 *   lower_frame.c  what blocks inside leave around them
 *   lower_vectors.c  loads and stores of vectors
 *   lower_pack.c   integers of 16 bits two in a word, in register tiles
 *   lower_dots.c   sums of products of bytes
 *   lower_words.c  their loads and stores, as words
 *   lower_warp.c   tiles of a warp, computed in passes through registers and shuffles
 *   lower_line.c   rows of pixels in the registers of a thread
 *   lower_rolling.c sums of windows that roll down the rows, in registers
 *   lower_sweep.c  sums of windows whose coefficients come with the run
 *   lower_staged.c copies of images in shared and constant memory, for kernels of points
 *   lower_given.c  such coefficients in shared memory
 *   lower_march.c  threads that go down strips of rows
 *   lower_reduce.c whole-image reductions and histograms
 *   lower_size.c   sizes, and what can be proved about them
 *   lower_scope.c  open loops, and where a shared value gets its LET */
#ifndef TESSERA_LOOP_LOWER_PARTS_H
#define TESSERA_LOOP_LOWER_PARTS_H

#include "graph/access.h"
#include "graph/graph_walk.h"
#include "loop/lower.h"

/* ---- Affine sizes ------------------------------------------------------------------------------------------------ */
enum { LIN_MAX_TERMS = 8 };
/* constant + sum of coef * atom, atoms in id order; `ok` is false when it did not fit. */
typedef struct Lin {
    bool ok;
    uint32_t n;
    int64_t constant;
    int64_t coef[LIN_MAX_TERMS];
    SizeId atom[LIN_MAX_TERMS];
} Lin;
Lin tessi_lin_const(int64_t c);
Lin tessi_lin_size(const Graph *g, SizeId id);
Lin tessi_lin_add_scaled(const Lin *a, const Lin *b, int64_t k); /* a + k*b */
bool tessi_lin_same(const Lin *a, const Lin *b);
/* True only when a >= 0 for all parameters. */
bool tessi_lin_never_negative(const Graph *g, const Lin *a);

/* ---- Scopes ---------------------------------------------------------------------------------- */
/* Something to forget when a scope closes: *cell = 0, or (cell == NULL) the LET of expression `expr`. */
typedef struct Undo {
    uint32_t *cell;
    uint32_t expr;
} Undo;
typedef struct Scope {
    LStmt *stmt;   /* the FOR or IF; NULL for the function */
    LBlock *block; /* where its statements go */
    VEC(Undo) undo;
} Scope;

/* What lowering knows about a loop expression; indexed by LExprId. */
typedef struct Known {
    uint32_t let;     /* LExprId of the variable that holds it now; 0 = none */
    uint32_t pin;     /* not to be computed outside the scope of this depth */
    const char *hint; /* wanted name of its LET */
    bool varies;      /* a variable takes part */
    /* While placing: */
    uint32_t mark;
    uint32_t level;         /* depth of the scope where it can stand */
    uint32_t uses;          /* number of users */
    uint32_t use_level;     /* deepest user */
    uint32_t turn;          /* in which it is needed first */
    uint32_t moved;         /* LExprId of its replacement */
    uint32_t nodes, height; /* of the tree that is written for it */
} Known;

/* ---- Coordinates ----------------------------------------------------------------------------- */
/* A coordinate of a stage under evaluation: e = scale * v + rest + something in [lo, hi], where v is the variable of
 * loop `dim`, or (dim = -1) any value, with 0 <= v < count. */
typedef struct Coord {
    LExprId e;
    int8_t dim;
    int64_t scale, lo, hi;
    Lin rest;
    SizeId count;
    bool beyond;  /* may lie outside [0, count), where everything wraps around */
    bool loose;   /* may lie outside [0, count), where any value will do */
    int64_t less; /* v < count - less: so many points are computed together */
} Coord;

typedef struct WindowVars {
    WindowId window;
    LExprId var[MAX_WINDOW_VARS]; /* INDEX */
    bool is_point;                /* all are constants: one point of a window written out */
} WindowVars;

/* One evaluation of bodies at given coordinates: a piece in its loops, or an inlined stage at one of its uses. */
typedef struct Eval {
    uint8_t n_dims;
    Coord coord[MAX_DIMS];
    ExprList exprs;  /* everything the roots reach, ascending */
    uint32_t *value; /* parallel to exprs: LExprId, 0 = not yet */
    VEC(WindowVars) open;
    /* parallel to exprs: the array that holds its values, one for each point of a strip; NULL = no strips */
    LBufferId *strip;
    bool pinned; /* the coordinates are inside only where the guards hold */
} Eval;

/* Reads whose being inside is worth a loop of its own: 0 <= scale * v + rest + lo and scale * v + rest + hi < size. */
typedef struct Guard {
    int8_t dim;
    int64_t scale, lo, hi;
    Lin rest;
    SizeId size;
    bool is_constant; /* some of these reads have rule CONSTANT */
} Guard;
typedef VEC(Guard) GuardList;

typedef struct InlineUse {
    StageId stage;
    LExprId coord[MAX_DIMS];
    uint32_t value;
} InlineUse;

/* Where a stage is found while a group with tiles is lowered. */
typedef struct Place {
    LBufferId scratch;        /* none: not in scratch memory */
    LBufferId copy;           /* of the whole image, read instead of it; none: it has none */
    LExprId origin[MAX_DIMS]; /* the coordinates of its first element there */
    int64_t ring;             /* rows of it, which are used again in turn; 0: as many as it has */
    int64_t columns;          /* of a row that hold values; kernels only */
    bool wraps[MAX_DIMS];     /* may be evaluated beyond its edges, where all wraps around */
} Place;

typedef struct CopyList CopyList; /* lower_copy.h */
typedef struct Lower {
    Arena *arena;
    Arena *scratch; /* for as long as lowering takes */
    const Graph *g;
    const Plan *plan;
    const Machine *machine;
    GeneralSums *general; /* NULL: loops for these extents */
    LExprId stream; /* BOOL: the results of the group in hand bypass the caches; none = never */
    LoopProgram *p;
    ExprWalk walk;
    ExprDeps *deps;         /* by ExprId */
    ExprList *reach;        /* by ExprId: tessi_reach of it alone; empty: not asked yet */
    LBufferId *buffer;      /* by StageId: where it is stored */
    Place *place;           /* by StageId */
    const PlanFacts *facts; /* tessi_lower_facts */
    PlanRegions regions;    /* of the group in hand */
    uint32_t tile_depth;    /* of the scope of the tile in hand */
    LBufferId *table;       /* by TableId */
    LExprId *size;          /* by SizeId */
    VEC(Scope) scopes;
    VEC(Known) known;
    uint32_t *var_level; /* by LVarId */
    uint32_t var_level_cap;
    uint32_t generation;
    bool inside_last, inside_rows; /* the guards of the last / the outer dimensions hold here */
    uint8_t n_loop_dims;
    uint32_t guard_depth;
    LBufferId *constant;    /* by StageId: its copy in constant memory */
    const CopyList *copies; /* to read from instead of the images; NULL = none */
    bool unroll_windows;    /* windows are written out, point by point */
    const LVarId *carried;  /* stages in registers, in the loop down the rows; NULL = none */
    bool has_sort;          /* the nest being built sorts: vectors are useless */
    IdMap inline_map;
    VEC(InlineUse *) inline_uses;
} Lower;

/* ---- lower.c ---- */
/* A new function with its scope open; valid until the next. */
LFunction *tessi_lower_function(Lower *l, const char *name, const char *comment);
/* What the planners know about the graph, found out when it is first asked for. */
const PlanFacts *tessi_lower_facts(Lower *l);
const char *tessi_group_comment(Lower *l, const PlanGroup *group);
/* A function that copies a stage. */
void tessi_lower_copy(Lower *l, StageId from, LBufferId to, const char *name, const char *comment);
LBufferId tessi_lower_table(Lower *l, TableId id);
uint8_t tessi_loop_dims(const Lower *l, LBufferId b);
/* ---- lower_size.c ---- */
LExprId tessi_lower_size(Lower *l, SizeId id);
LExprId tessi_lower_lin(Lower *l, const Lin *a);

/* ---- lower_scope.c ---- */
void tessi_scope_function(Lower *l, LBlock *block); /* opens the outermost scope */
uint32_t tessi_scope_depth(const Lower *l);
LVarId tessi_scope_for(Lower *l, const char *name, LExprId from, LExprId to, int64_t step,
                       uint8_t flags);
/* A loop over the blocks of the grid along an axis; its bound is left as it is. */
LVarId tessi_scope_grid(Lower *l, const char *name, uint8_t axis, LExprId blocks);
void tessi_scope_if(Lower *l, LExprId condition);
void tessi_scope_likely(Lower *l, LExprId condition); /* an IF that seldom does not hold */
void tessi_scope_else(Lower *l); /* the innermost scope is an IF; on to what is done otherwise */
/* A scope of names only, whose statements go where those of the scope around it go. */
void tessi_scope_names(Lower *l);
void tessi_scope_close(Lower *l);
void tessi_scope_close_to(Lower *l, uint32_t depth); /* closes what is deeper */
LStmt *tessi_scope_stmt(Lower *l, LStmtKind kind);   /* appended to the innermost scope */
LStmt *tessi_scope_store(Lower *l, LBufferId to, const LExprId *index, uint8_t n, LExprId value);
/* Brings a LOCAL buffer into being. */
LBufferId tessi_scope_local(Lower *l, const char *name, ScalarType t, uint8_t n_dims,
                            const int64_t *size);
/* Statements and variables that others have made (loop_template.c): the body of one is the innermost scope until
 * that closes; one goes to the innermost scope; a variable is declared there. */
void tessi_scope_open(Lower *l, LStmt *s);
void tessi_scope_append(Lower *l, LStmt *s);
void tessi_scope_own(Lower *l, LVarId v);
LVarId tessi_scope_var(Lower *l, const char *name, ScalarType t, LExprId start); /* mutable */
LExprId tessi_scope_let(Lower *l, const char *name, LExprId value);
/* The same; what is computed from it stays inside of the loops around. */
LExprId tessi_scope_here(Lower *l, const char *name, LExprId value);
/* The same; and not before the value `after` is known. */
LExprId tessi_scope_after(Lower *l, const char *name, LExprId value, LExprId after);
/* The same; the value is in a register until here, used or not. */
LExprId tessi_scope_keep(Lower *l, const char *name, LExprId value);
/* `original` is computed here, as `value`; its users find the LET. */
void tessi_scope_define(Lower *l, LExprId original, LExprId value);
typedef VEC(LExprId) LExprList;
/* What the roots are made of, down to what has its LET already; operands before their users. */
LExprList tessi_scope_reach(Lower *l, const LExprId *root, uint32_t n);
void tessi_scope_remember(Lower *l, uint32_t *cell); /* forget *cell with the innermost scope */
/* Rewrites the roots so that what is used more than once, or does not change in the inner loops, is a LET in the
 * outermost scope that can have it. */
void tessi_scope_place(Lower *l, LExprId *root, uint32_t n);
/* The same in turns: after each, `then` receives its roots and appends what uses them, so that no value is made long
 * before it is needed. */
typedef struct Turns {
    uint32_t roots;   /* of a turn */
    bool loads_first; /* all in the first turn: they take long */
    void (*then)(void *user, LExprId *turn);
    void *user;
} Turns;
void tessi_scope_place_in_turns(Lower *l, LExprId *root, uint32_t n, const Turns *turns);
LExprId tessi_scope_place1(Lower *l, LExprId root);
Known *tessi_known(Lower *l, LExprId id);
/* The value must not be computed outside the scope of this depth. */
void tessi_pin(Lower *l, LExprId id, uint32_t depth);
void tessi_hint(Lower *l, LExprId id, const char *name);

/* ---- lower_expr.c ---- */
/* Everything the roots need, ascending; to be read only. */
ExprList tessi_reach(Lower *l, const ExprId *roots, uint32_t n);
/* An evaluation of `roots` with coordinates still to be set. */
Eval *tessi_eval_new(Lower *l, const ExprId *roots, uint32_t n, uint8_t n_dims);
LExprId tessi_eval_expr(Lower *l, Eval *ev, ExprId root);
/* The value of stage `s` at coordinates known to be inside it. */
LExprId tessi_eval_stage(Lower *l, StageId s, const Coord *at, bool pinned);
/* Where scratch memory holds the points whose coordinate in dimension `d` of `n_dims` is `at`. */
LExprId tessi_place_index(Lower *l, const Place *place, int n_dims, int d, LExprId at);
/* The inlined stage has this value there, as far as the innermost scope reaches. */
void tessi_eval_is(Lower *l, StageId s, const Coord *at, LExprId value);
/* "input_m1_p1": the wanted name of a value of the stage; none for reads that are not at a constant distance. */
const char *tessi_eval_name(Lower *l, StageId s, const Coord *at);
/* The place of the value of an expression that the evaluation reaches. */
uint32_t *tessi_eval_cell(const Eval *ev, ExprId id);
/* Records a value; forgotten with the innermost scope. */
void tessi_eval_set(Lower *l, Eval *ev, ExprId id, LExprId value);

/* ---- lower_window.c, lower_rows.c ---- */
void tessi_eval_window(Lower *l, Eval *ev, ExprId id);
/* The windows that `roots` need, of n evaluations of the same expressions at points above one another. */
void tessi_eval_rows(Lower *l, Eval **ev, uint32_t n, const ExprId *roots, uint32_t n_roots);

/* ---- lower_read.c ---- */
/* What the reads of one evaluation come to. */
typedef struct Read {
    Coord at[MAX_DIMS]; /* inside the producer */
    LExprId in;   /* BOOL: the point read is inside; none when that is certain or does not matter */
    bool guarded; /* inside only because of a guard */
} Read;
void tessi_read(Lower *l, const Eval *ev, const Access *access, Read *out);
/* Index i of a line of n points answered by the rule; for CONSTANT some point inside, for INSIDE the nearest. */
LExprId tessi_border_expr(Lower *l, Border rule, LExprId i, LExprId n);
/* from <= i < end; and both conditions, of which the first may be none. */
LExprId tessi_in_range(Lower *l, LExprId i, LExprId from, LExprId end);
LExprId tessi_and_also(Lower *l, LExprId a, LExprId b);
/* What is read is evaluated where the read points to, beyond its edges too; `beyond`: the reader is. */
bool tessi_read_goes_beyond(const Lower *l, const Access *access, int d, bool beyond);
/* The index of a read, as if there were no border. */
LExprId tessi_read_affine(Lower *l, const Eval *ev, const AccessDim *d);
/* The guards under which the bodies need no rules. */
void tessi_read_guards(Lower *l, const ExprId *roots, uint32_t n, const Coord *coord,
                       GuardList *out);
/* Cuts the loop range [*from, *to) down to where all guards of `dim` hold; it never becomes reversed. */
void tessi_guard_range(Lower *l, const GuardList *guards, int8_t dim, LExprId *from, LExprId *to);

/* ---- lower_nest.c, lower_reduce.c ---- */
/* The columns that a thread computes, for moves in vectors: in images `x` and in shared memory `shared_x` are
 * multiples of so many elements. */
typedef struct TileColumns {
    LExprId x, shared_x;
    uint32_t aligned, shared_aligned;
    int64_t from, to;    /* vectors of images are looked for at x + c, from <= c < to */
    int64_t shared_last; /* the greatest value of shared_x */
} TileColumns;

/* The loops over a range per dimension; `body` fills the innermost one and is called for the edges and for the
 * interior. */
typedef struct Nest Nest;
struct Nest {
    uint8_t n_dims;
    LExprId from[MAX_DIMS], to[MAX_DIMS];
    SizeId count[MAX_DIMS]; /* the variables are less than this, for proofs */
    bool parallel, vector, split;
    uint16_t strip_rows; /* of a parallel loop, that a task takes; 0 = equal parts */
    bool tiled;          /* part of a tile: points may be computed twice, and most have no edges */
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
    const void *user;
};
void tessi_lower_nest(Lower *l, const Nest *nest);
/* ---- lower_carry.c ---- */
/* The number of values in registers from step to step. */
uint32_t tessi_carry_count(const Nest *nest);
/* What the next step finds in them; the last row of the one in hand is at `last`. */
void tessi_carry_next(Lower *l, const Nest *nest, const Coord *last, LExprId *out);
/* Ends a step. */
void tessi_carry_set(Lower *l, const Nest *nest, const LExprId *value);
/* ---- lower_nest.c ---- */
const char *tessi_dim_name(uint8_t n_dims, uint8_t dim);
/* Opens one loop over all rows of a nest (the outer dimensions) and sets their coordinates; its variable is the
 * number of the row. Nests with strips have another around it. */
LExprId tessi_nest_rows(Lower *l, const Nest *nest, Coord *coord, uint8_t flags);
/* The coordinates of the outer dimensions of row `number`, as LETs. */
void tessi_nest_row_coords(Lower *l, const Nest *nest, LExprId number, Coord *coord);
/* The product of the extents of the outer dimensions. */
LExprId tessi_nest_row_count(Lower *l, const Nest *nest);
/* The points of a dimension: none where a clipped piece is empty. */
LExprId tessi_nest_extent(Lower *l, const Nest *nest, uint8_t d);
Coord tessi_nest_coord(const Nest *nest, uint8_t dim, LExprId var);
/* ---- lower_kernel.c ---- */
/* Sets the coordinates of the first `n` dimensions from their number in row-major order. */
void tessi_nest_outer_coords(Lower *l, const Nest *nest, LExprId number, uint8_t n, Coord *coord);
/* Opens blocks along z, one for each point of the dimensions before the last two, and gives their coordinates. */
void tessi_kernel_outer(Lower *l, const Nest *nest, Coord *coord);
/* Opens a kernel with blocks of so many threads; tessi_scope_close ends it. */
LFunction *tessi_kernel_open(Lower *l, const char *name, const char *comment, uint32_t block_x,
                             uint32_t block_y);
/* Opens a loop over the blocks along an axis, or over n iterations shared out among the threads along it; its
 * variable. */
LExprId tessi_kernel_grid(Lower *l, uint8_t axis, const char *name, LExprId blocks);
LExprId tessi_kernel_threads(Lower *l, uint8_t axis, const char *name, int64_t n);
/* The number of blocks of a size that cover an extent. */
LExprId tessi_kernel_blocks(Lower *l, LExprId extent, int64_t size);
/* from <= at < to in n dimensions. */
LExprId tessi_kernel_within(Lower *l, uint8_t n, const LExprId *from, const LExprId *to,
                            const LExprId *at);
/* Every point of the nest by a thread of its own; block[0] threads along the last dimension. Reads are tested
 * everywhere, or only in blocks or warps that do not lie inside. */
void tessi_kernel_points(Lower *l, const Nest *nest, const uint16_t *block, Split split,
                         const PlanGroup *copies);
/* ---- lower_blocks.c ---- */
/* Blocks of so many rows and columns of points over an image that ends at `end`; one whose first point is in [from,
 * to) lies inside with all it reads. Each function opens the grid of some of them and sets `first`, the first point
 * of the block in hand. */
typedef struct Blocks {
    Lower *l;
    int64_t size[2];
    LExprId end[2], from[2], to[2], first[2];
} Blocks;
void tessi_blocks_all(Blocks *b);
void tessi_blocks_inside(Blocks *b);
void tessi_blocks_edges(Blocks *b);
/* The points that blocks inside compute when the last of a row, or column, of them begin wherever they still lie
 * inside: rows and columns from <= i < to, all of the image's when there is no such block. What threads compute are
 * `step` rows and columns. */
typedef struct Frame {
    LExprId from[2], to[2];
} Frame;
Frame tessi_blocks_frame(const Blocks *b, const int64_t *step);
/* Opens the grid of these blocks; `own`: points before it are those of the block before. */
void tessi_blocks_in_frame(Blocks *b, const Frame *frame, LExprId *own);
/* Opens the grid of blocks above and below these points, or (side 1) left and right of them; they compute the points
 * before b->end. */
void tessi_blocks_around(Blocks *b, const Frame *frame, int side);
/* ---- lower_vectors.c ---- */
/* Replaces loads of neighbours in the reach of the roots by moves of whole vectors into lines. */
void tessi_tile_takes(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns);
/* Values of so many consecutive elements, at index[] of the first on, `stride` cells from one to the next. */
typedef struct TileRow {
    LBufferId to;
    const LExprId *index, *value;
    uint8_t n_index;
    uint32_t stride, columns;
} TileRow;
/* Stores that of column c. Those of a vector are put into *line until they are all there: columns in order, the same
 * *line. */
void tessi_tile_give(Lower *l, const TileRow *row, uint32_t c, LBufferId *line);
/* Stores value[0..columns-1] to consecutive elements from index on, in vectors where that can be. */
void tessi_tile_gives(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *value, uint32_t stride, uint32_t columns);
/* Elements of a row that move at once; 1 when none do. */
uint32_t tessi_vector_elements(const Lower *l, LBufferId id, uint32_t columns);
/* index = x + c with from <= c < to. */
bool tessi_column_of(const Lower *l, LExprId index, LExprId x, int64_t from, int64_t to,
                     int64_t *c);
/* Two loads of a buffer have the same indices but for the last. */
bool tessi_same_row(const Lower *l, LExprId a, LExprId b);
/* Brings a line of n elements into being. */
LBufferId tessi_new_line(Lower *l, const char *name, ScalarType t, uint32_t n);
/* ---- lower_pack.c, lower_words.c ---- */
/* The values of a register tile, n of them at each point, `stride` cells from point to point of a row and rows one
 * after the other. Integers are computed two in a word. Where bytes[i] is not 0, elements of so many bytes are
 * wanted as words: they then stand in the cells of the first points of each row. */
typedef struct PackTile {
    LExprId *value;
    uint32_t n, stride, rows, columns;
    const uint8_t *bytes;
    const TileColumns *at;
} PackTile;
void tessi_pack_tile(Lower *l, const PackTile *t);
/* So many consecutive elements of the buffer can be stored as words. */
bool tessi_words_hold(const Lower *l, LBufferId to, uint32_t columns);
/* Stores them, words standing `stride` cells apart. */
void tessi_words_give(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *word, uint32_t stride, uint32_t columns);
/* ---- lower_tiles.c, lower_frame.c ---- */
/* A block computes a tile of the members after its passes, which are in shared memory; or, of a group without passes,
 * of a nest. `part` distinguishes the kernels of a group. */
void tessi_kernel_tiles(Lower *l, const PlanGroup *group, const Nest *nest, const char *part);
/* The kernels of the frame of a group, from the points inside on. */
void tessi_kernel_frame(Lower *l, const PlanGroup *group, const Frame *frame);
/* ---- lower_warp.c ---- */
/* A warp goes down the rows of a tile of the members, what it computes of the passes in the registers of its
 * threads. */
void tessi_kernel_warps(Lower *l, const PlanGroup *group);
/* ---- lower_rolling.c ---- */
/* A thread goes down the rows of pixels, and adds each to the sums of all the rows of the result that read it. */
void tessi_kernel_rolling(Lower *l, const Nest *nest, const PlanGroup *group);
/* ---- lower_sweep.c ---- */
/* The same for some rows of the result at a time, coefficients that come with the run in shared memory. */
void tessi_kernel_sweep(Lower *l, const Nest *nest, const PlanGroup *group);
/* ---- lower_strip.c ---- */
/* The bodies have window loops that gain from being run for a strip of points at a time. */
bool tessi_wants_strips(Lower *l, const Nest *nest);
/* The last dimension over [from, to) in strips; `coord` of the last dimension is set here. */
void tessi_lower_strips(Lower *l, const Nest *nest, Coord *coord, LExprId from, LExprId to);
/* ---- lower_group.c ---- */
void tessi_lower_group(Lower *l, const PlanGroup *group);
/* Says which stages are computed next. */
void tessi_comment_stages(Lower *l, const StageId *stage, uint32_t n);
/* Where stages in scratch memory are evaluated beyond their edges; nothing is in scratch memory any more. */
void tessi_places_wrap(Lower *l, const PlanRegions *regions);
void tessi_places_forget(Lower *l);
/* Every point of a stage. */
void tessi_nest_whole(Lower *l, const Stage *s, Nest *nest);
/* What n plain stages compute at a point. */
const ExprId *tessi_bodies(Lower *l, const StageId *stage, uint32_t n);
/* Computes stages, or one piece of a stage, in a nest with its ranges set. */
typedef struct Job {
    const StageId *stage;
    const Piece *piece; /* of the only stage; NULL = plain stages */
    uint32_t n;
    const ExprId *roots; /* NULL = store zeros */
    bool to_scratch;
    const char *part; /* distinguishes the kernels of a group; "" when there is one */
    uint16_t band;    /* of its loops: as PlanGroup.band */
} Job;
/* Fills in how the nest computes the job. */
void tessi_job_nest(Lower *l, const PlanGroup *group, uint8_t rows, Nest *nest, const Job *job);
void tessi_lower_job(Lower *l, const PlanGroup *group, uint8_t rows, Nest *nest, const Job *job);
/* ---- lower_transform.c ---- */
void tessi_lower_transform(Lower *l, const PlanGroup *group);
/* ---- lower_spectrum.c ---- */
void tessi_kernel_transform(Lower *l, const PlanGroup *group);
/* ---- lower_general.c ---- */
/* Adds the parameters of general code, when all buffers are there. */
void tessi_general_interface(Lower *l);
/* The group's sum; false when it has none. */
bool tessi_lower_general(Lower *l, const PlanGroup *group);
/* ---- lower_median.c ---- */
void tessi_lower_median(Lower *l, const PlanGroup *group);
/* ---- lower_median_kernel.c ---- */
void tessi_kernel_median(Lower *l, const PlanGroup *group);
/* ---- lower_tile.c ---- */
void tessi_lower_tiles(Lower *l, const PlanGroup *group);
/* ---- lower_reduce.c ---- */
void tessi_lower_reduction(Lower *l, const PlanGroup *group);
void tessi_lower_histogram(Lower *l, const PlanGroup *group);

/* Short forms of the constructors. */
LExprId tessi_l_op(Lower *l, Op op, LExprId a, LExprId b);
LExprId tessi_l_int(Lower *l, int64_t i);
LExprId tessi_l_select(Lower *l, LExprId c, LExprId a, LExprId b);

#endif
