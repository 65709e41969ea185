/* graph: what the program means, without syntax. Stages (finite images of one channel each), accesses (who reads
 * whom, where, under which border rule) and expressions (hash-consed, immutable). Stages stand in topological order:
 * a stage reads only stages before it. Everything else about a graph is computed by analysis/ into side tables
 * indexed by id.
 *
 * Text form: graph_print.c / graph_read.c; checked by graph_verify.c; rewritten by graph_simplify.c. */
#ifndef TESSERA_GRAPH_GRAPH_H
#define TESSERA_GRAPH_GRAPH_H

#include "base/base.h"
#include "base/diag.h"
#include "base/scalar.h"

enum { MAX_DIMS = 4, MAX_WINDOW_VARS = 4, MAX_ACCESS_TERMS = 4 };
enum { MAX_WINDOW_LEVELS = 8, MAX_WINDOW_POINTS = 1 << 20 }; /* beyond: no sound graph */
enum { MAX_MASK_ELEMENTS = 1 << 18 };                        /* of the language: 64 x 64 x 64 */
enum { MAX_SCAN_STATES = 4 };

/* Ids are one-member structs so that C refuses to mix them; v == 0 means "none". */
typedef struct StageId {
    uint32_t v;
} StageId;
typedef struct ExprId {
    uint32_t v;
} ExprId;
typedef struct AccessId {
    uint32_t v;
} AccessId;
typedef struct SizeId {
    uint32_t v;
} SizeId;
typedef struct WindowId {
    uint32_t v;
} WindowId;
typedef struct TableId {
    uint32_t v;
} TableId;

/* ---- Sizes ----------------------------------------------------------------------------------- */
/* Integer expressions over the size parameters, hash-consed in a canonical form, so that equal ids mean equal values
 * and (for affine differences) equal values mean equal ids. */
typedef enum SizeKind {
    /* constant + sum of coef[k] * atom[k]; atoms are PARAM, FLOORDIV, MIN, MAX, PRODUCT in a fixed order */
    SIZE_OF_AFFINE,
    SIZE_OF_PARAM,    /* parameter number `param` */
    SIZE_OF_FLOORDIV, /* floor(a / divisor), divisor > 0 */
    SIZE_OF_MIN,      /* min(a, b) */
    SIZE_OF_MAX,      /* max(a, b) */
    SIZE_OF_PRODUCT   /* a * b, both not constant */
} SizeKind;
typedef struct Size {
    SizeKind kind;
    int64_t constant; /* AFFINE: constant; FLOORDIV: divisor */
    uint32_t param;
    uint32_t n_terms;
    int64_t *coef;
    SizeId *atom;
    SizeId a, b;
    uint32_t weight; /* nodes of the tree; past MAX_SIZE_WEIGHT it is "no size": bounds recursion */
} Size;
enum { MAX_SIZE_WEIGHT = 1000 };

/* ---- Windows --------------------------------------------------------------------------------- */
/* The ranges a reduction runs over. Interned by (level, ranges); level = nesting depth, so that the variables of
 * nested windows differ. Variables run from lo to hi, both included, row-major (the last one fastest). */
typedef struct Window {
    uint8_t level, n_vars;
    int32_t lo[MAX_WINDOW_VARS], hi[MAX_WINDOW_VARS];
} Window;

typedef enum Reduction {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_MEDIAN,
    REDUCE_ANY,
    REDUCE_ALL, /* windows */
    REDUCE_MEAN,
    REDUCE_COUNT, /* whole images only */
    N_REDUCTIONS
} Reduction;
const char *tessi_reduction_name(Reduction r);
/* What combines two of its values (a mean and a count are sums); of a median nothing does. */
Op tessi_reduction_op(Reduction r);

/* ---- Expressions -------------------------------------------------------------------------------------------- */
typedef enum ExprKind {
    EXPR_CONST,  /* value, of `type` */
    EXPR_OP,     /* op applied to arg[0..]: `type` is the type of the result */
    EXPR_CAST,   /* tessi_eval_cast: arg[0] to `type` */
    EXPR_SAT,    /* tessi_eval_sat: arg[0] to `type` */
    EXPR_LOAD,   /* the value of access `access`; type of the producer (F32 for an F16 producer) */
    EXPR_SCALAR, /* input scalar number `ref` */
    EXPR_INDEX,  /* the point's coordinate in dimension `ref` of the piece, I32 */
    EXPR_SIZE,   /* the value of `size`, I32 */
    EXPR_WINVAR, /* variable `ref` of window `window`, I32 */
    EXPR_TABLE,  /* element arg[0] (I32, flat, inside by construction) of constant table `table` */
    /* reduction over `window` of arg[0], for the points where arg[1] (bool; none = everywhere) holds. In row-major
     * order from the first value on: SUM 0+v0? no: ((v0 op v1) op v2)...; an empty window gives 0 (SUM, ANY), 1
     * (PROD, ALL), 0 (others). With a condition that is not constant: acc = cond ? acc op v : acc starting from the
     * identity: SUM 0, PROD 1, ANY false, ALL true, MIN/MAX the type's largest/smallest (reals: +-inf). MEDIAN:
     * element n/2 of the n values sorted by total order (reals: -inf .. -0 < +0 .. inf < every NaN); its condition
     * may use window variables and constants only. */
    EXPR_WINDOW,
    /* in the step of a scan: what is computed there already. ref 0: the value of the source at the point; k: the
     * result k points before. In its start: 0 is the value at the first point */
    EXPR_STATE
} ExprKind;

/* How a sum over a mask is to be computed. */
typedef enum Method {
    METHOD_AUTO,
    METHOD_DIRECT,    /* tap by tap, as written */
    METHOD_SEPARABLE, /* along one dimension after the other */
    METHOD_FFT,       /* by Fourier transforms of blocks of rows (graph_transform.h) */
    N_METHODS
} Method;
const char *tessi_method_name(Method m);
bool tessi_method_by_name(const char *name, Method *m);
/* A method that the program asks for, at `span`. */
typedef struct MethodRequest {
    Method method;
    Span span;
} MethodRequest;

typedef struct Expr {
    ExprKind kind;
    ScalarType type;
    Op op;               /* EXPR_OP */
    Reduction reduction; /* EXPR_WINDOW */
    bool fused; /* EXPR_WINDOW, SUM whose body is mul(x, y): every step is acc = fma(x, y, acc) */
    /* SCALAR, INDEX, WINVAR, STATE; WINDOW (SUM): number of its request plus one, 0 = none */
    uint32_t ref;
    uint8_t n_args;
    ExprId arg[3];
    AccessId access;
    SizeId size;
    WindowId window;
    TableId table;
    Value value;
} Expr;

/* A constant table: masks with their coefficients, lookup data. */
typedef struct Table {
    const char *name;
    ScalarType type;
    uint32_t n;
    Value *at;
    uint8_t n_dims; /* for printing */
    uint32_t dim[MAX_DIMS];
} Table;

/* ---- Accesses: one read of a producer --------------------------------------------------------------------------
 * Index in producer dimension d, for the consumer's piece coordinates x:
 *   affine:    scale * x[src] + add + sum of coef * window variable      (src = -1: no x term)
 *   absolute:  the value of `index` (an integer expression)
 * answered by `rule`. With rule CONSTANT, any dimension outside gives `outside`. */
typedef struct AccessTerm {
    WindowId window;
    uint8_t var;
    int32_t coef;
} AccessTerm;
typedef struct AccessDim {
    bool absolute;
    Border rule; /* never BORDER_NONE */
    int8_t src;
    int32_t scale;
    SizeId add;
    uint8_t n_terms;
    AccessTerm term[MAX_ACCESS_TERMS];
    ExprId index;
} AccessDim;
typedef struct Access {
    StageId producer;
    uint8_t n_dims; /* of the producer; 0 for the value of a scalar stage */
    AccessDim dim[MAX_DIMS];
    /* constant or scalar expression, of the type the LOAD has; none when no dimension has rule CONSTANT */
    ExprId outside;
} Access;

/* ---- Stages ---------------------------------------------------------------------------------------------------- */
typedef enum StageKind {
    STAGE_INPUT,   /* channel `channel` of input image `image` */
    STAGE_COMPUTE, /* pieces */
    /* `reduction` (SUM PROD MIN MAX MEAN COUNT) of all points of `source`: a scalar (0 dimensions); or along one of its
     * dimensions, which the stage then lacks; or (no MEAN) of its points by the values of `keys`, an image of the same
     * size: 1-D, with those where floor(key) == k, for k in 0..size-1, which may have a step of its own. See
     * docs/internals/reductions.md */
    STAGE_REDUCE,
    /* running values of `source` along a dimension: of a reduction (SUM PROD MIN MAX), or of a step of its own. See
     * docs/internals/reductions.md */
    STAGE_SCAN,
    /* 1-D U32: number of points of `source` with floor(value) == k, for k in 0..size-1; others are not counted */
    STAGE_HISTOGRAM,
    /* an image that a repeat carries from turn to turn: in its body what the turn before left, behind it what the
     * last turn left */
    STAGE_CARRIED
} StageKind;

/* A piece gives the points offset + step * i, 0 <= i < count, of its stage; `body` is evaluated at the piece
 * coordinates i. Later pieces win; points of no piece are 0; points outside the stage are dropped. A plain stage has
 * one piece with offset 0, step 1, count = size. The body has the type of the stage (F32 for an F16 stage: storing
 * rounds). */
typedef struct Piece {
    int32_t step[MAX_DIMS];
    SizeId offset[MAX_DIMS];
    SizeId count[MAX_DIMS];
    ExprId body;
} Piece;

typedef struct Stage {
    const char *name;   /* the source's name (with channel: "out.r"); unique in the graph */
    const char *wanted; /* the name that was asked for */
    Span span;
    StageKind kind;
    ScalarType type; /* of a stored element */
    uint8_t n_dims;  /* 0 = scalar */
    SizeId size[MAX_DIMS];
    uint32_t image, channel; /* INPUT */
    VEC(Piece) pieces;       /* COMPUTE */
    Reduction reduction;     /* REDUCE; SCAN: without a step of its own */
    StageId source;          /* REDUCE, SCAN, HISTOGRAM */
    StageId keys;            /* REDUCE: none = not by keys */
    /* REDUCE, SCAN: the number of the source's dimension that they go along, from 1; REDUCE: 0 = of all points */
    uint8_t along;
    /* SCAN: how many of its last results a step uses, at least one; 0 = it runs by `reduction`. With steps,
     * pieces.at[0].body is the step and pieces.at[1].body what all results before the first point are. REDUCE by keys
     * with a step of its own: 1, and pieces.at[2].body is the step that combines two results. */
    uint8_t n_states;
    bool reverse;     /* SCAN: from the last point to the first */
    bool only_last;   /* SCAN with steps: the last result only; the stage lacks the dimension */
    uint32_t repeat;  /* number of the repeat in whose body it stands, from 1; 0 = in none */
    uint32_t carried; /* CARRIED: number among those of its repeat */
    uint32_t behind; /* CARRIED, outside of the body: number of the repeat behind which it stands */
    /* made by a turn of a loop of the text: number of the loop, from 1 (0 = none), and of the turn, from 0. Until
     * repeats are found (graph_repeat.c) */
    uint32_t loop, turn;
    bool ends_loop; /* likewise: a condition, by which the turn may be the last one */
    /* likewise: it is the number of turns of this loop (0 = of none), as a constant how many it was gone through */
    uint32_t turns_of;
    /* likewise, of the first turn: the members of its family before it, the nearest first */
    VEC(StageId) before;
} Stage;

/* ---- Repeats: parts of the graph that are executed again and again -------------------------------------------- */
/* How many turns a repeat has: max(0, sign * x + add), where x is what `from` says; of these as many as there are
 * whole `by`s, or (rest) what is left over; where `of` is not 0, of those alone that whole `of`s leave over. */
typedef enum CountFrom { COUNT_FROM_NOTHING, COUNT_FROM_SCALAR, COUNT_FROM_PARAM } CountFrom;
typedef struct RepeatCount {
    CountFrom from;
    uint32_t ref; /* number of the input scalar, which is an integer, or of the parameter */
    int32_t sign; /* 1 or -1; 0 where from = NOTHING */
    int64_t add;
    int64_t by; /* at least 1 */
    bool rest;
    int64_t of; /* 0, or a multiple of `by` */
} RepeatCount;
/* The value for an x; of a count FROM_NOTHING x does not matter. */
int64_t tessi_repeat_turns(const RepeatCount *count, int64_t x);

/* How a loop with a condition ended in a run. */
typedef struct LoopEnd {
    int64_t turns; /* done */
    bool met;      /* the condition held; else there are no more turns */
} LoopEnd;

/* An image carried from turn to turn. All four have one type and size. */
typedef struct Carried {
    StageId
        first; /* what the first turn finds; none: no turn finds it, as there are at least as many turns */
    StageId entry; /* CARRIED, in the body: what a turn finds */
    StageId
        next; /* in the body: what the turn leaves for the next one; computed, or another entry */
    StageId last; /* CARRIED, behind the body: what the last turn left; none: nobody reads it */
} Carried;
/* The stages of a body stand one behind the other, entries first, then what is computed; no stage outside reads
 * them, but for what is left behind. Bodies do not contain repeats. */
typedef struct Repeat {
    const char *name; /* of the family */
    Span span;
    RepeatCount count;
    VEC(Carried) carried;
    /* A condition: a stage of the body, of type BOOL and without dimensions. The turn after which it holds is the last
     * one. It is asked after each turn whose number, from 1, is a multiple of `every`; none: all turns are done. */
    StageId until;
    int64_t every;
    bool
        unless_met; /* there are no turns when the repeat before this one ended since its condition held */
} Repeat;
/* A loop of the text, by whose turns stages are marked. */
typedef struct GraphLoop {
    Span span;
    bool of_run; /* the number of turns is known when it runs: it has to be a repeat */
    RepeatCount count;
    int64_t
        every; /* it may end before, by a condition asked so often (Repeat.every): likewise; 0 = it may not */
} GraphLoop;

/* An image as the user sees it: pixels of one or more channels, interleaved without padding. */
typedef struct Channel {
    const char *name; /* field, "" for a plain image */
    ScalarType type;
    uint32_t byte_offset; /* in the pixel */
    StageId stage;        /* the INPUT stage, or the stage returned */
} Channel;
typedef struct Image {
    const char *name;
    Span span;
    bool is_struct;
    bool is_mask; /* a `mask#D` input: read by absolute index, coefficients given at run time */
    uint8_t n_dims;
    SizeId size[MAX_DIMS];
    uint32_t pixel_bytes;
    VEC(Channel) channels;
    /* In the graph that the front makes, of results: points may be not valid, and hold this (the first channel). */
    bool has_nodata;
    double nodata;
} Image;

typedef struct Param { /* a size parameter */
    const char *name;
    Span span;
} Param;
typedef struct Scalar { /* an input scalar that is not const */
    const char *name;
    Span span;
    ScalarType type;
    bool has_default, has_range;
    Value value, lo, hi; /* lo, hi: of `type`, both included */
} Scalar;

/* How the passes compute a window whose weights are known: for people, see tessi_mask_form_print. */
typedef struct MaskForm {
    const char *stage;
    Reduction reduction;
    uint32_t points;             /* of the window */
    Method asked, method;        /* method: what is done; never AUTO */
    Span span;                   /* of the request */
    const char *fault;           /* why it cannot be done as asked; NULL: it can */
    uint32_t taps, steps;        /* weights (values) as written; those applied at a point */
    uint32_t terms;              /* products of a column and a row */
    uint32_t parts;              /* stages of partial results that neighbours share */
    uint32_t network;            /* minima and maxima that a median is made of */
    bool folded;                 /* equal columns are added up first */
    bool exact;                  /* integers */
    double error_written, error; /* bounds, in units of the sum of |weight * value| */
} MaskForm;

/* Sizes that the operands of an expression on images must have in common, checked when a run begins. */
typedef struct Agreement {
    SizeId a, b;
    uint32_t dim;
    const char *name_a, *name_b;
    Span span;
} Agreement;

typedef enum FpMode { FP_DEFAULT, FP_STRICT, FP_FAST } FpMode;

typedef struct Graph {
    Arena *arena;
    const char *name;
    FpMode fp;          /* which contract the expressions were formed under */
    bool masks_written; /* simplified with masks as the program writes them */
    VEC(Param) params;
    VEC(Scalar) scalars;
    VEC(Image) inputs, outputs;
    VEC(Size) sizes; /* at[0] unused, as in all tables indexed by id */
    VEC(Window) windows;
    VEC(Expr) exprs;
    VEC(Access) accesses;
    VEC(Table) tables;
    VEC(Stage) stages;
    VEC(MethodRequest) requests;
    VEC(MaskForm) forms; /* of a simplified graph */
    VEC(Agreement) agreements;
    VEC(GraphLoop) loops; /* loop k is at[k - 1]; of the graph that the front makes */
    VEC(Repeat) repeats;
    uint32_t open_repeat; /* the one in whose body stages are made now (Stage.repeat) */
    IdMap size_map, window_map, expr_map, access_map, stage_map;
    struct GraphScratch *scratch; /* graph_rewrite.c: memory used again between calls */
} Graph;

#define GRAPH_FOREACH_STAGE(g, id) for (StageId id = { 1 }; id.v < (g)->stages.n; id.v++)

/* ---- graph_build.c: the only constructors; they intern, and fold constants exactly (never changing bits)  */
Graph *tessi_graph_new(Arena *a, const char *name);
const Size *tessi_size(const Graph *g, SizeId id);
const Expr *tessi_expr(const Graph *g, ExprId id);
const Access *tessi_access(const Graph *g, AccessId id);
const Window *tessi_window(const Graph *g, WindowId id);
const Table *tessi_table(const Graph *g, TableId id);
Stage *tessi_stage(const Graph *g, StageId id);
/* The piece gives every point of its stage, i for i. */
bool tessi_piece_is_whole(const Graph *g, const Stage *s, const Piece *p);
/* One piece that covers the whole stage point by point. */
bool tessi_stage_is_plain(const Graph *g, const Stage *s);
/* The pieces of a stage that give all classes of one lattice in its rows and columns: how many there are; 0 where they
 * are not so. */
uint32_t tessi_stage_lattice(const Graph *g, const Stage *s);
/* It reads all points of its source, or all along a dimension: a reduction, a scan, a histogram. */
bool tessi_stage_is_whole(const Stage *s);
/* A number or the numbers of a whole image: a reduction of all points, a histogram. */
bool tessi_stage_is_number(const Stage *s);
/* Dimension d of the source is this one of a reduction or scan; -1: it has none for it. */
int tessi_stage_from_source(const Stage *s, int d);
/* Same number of dimensions and sizes, so that one loop nest can compute both. */
bool tessi_stage_same_domain(const Stage *a, const Stage *b);

SizeId tessi_size_const(Graph *g, int64_t c);
SizeId tessi_size_param(Graph *g, uint32_t param);
SizeId tessi_size_add(Graph *g, SizeId a, SizeId b);
SizeId tessi_size_sub(Graph *g, SizeId a, SizeId b);
SizeId tessi_size_scale(Graph *g, SizeId a, int64_t k);
SizeId tessi_size_mul(Graph *g, SizeId a, SizeId b);
SizeId tessi_size_floordiv(Graph *g, SizeId a, int64_t divisor);
SizeId tessi_size_ceildiv(Graph *g, SizeId a, int64_t divisor);
SizeId tessi_size_min(Graph *g, SizeId a, SizeId b);
SizeId tessi_size_max(Graph *g, SizeId a, SizeId b);
bool tessi_size_is_const(const Graph *g, SizeId id, int64_t *value);
/* False for "no size": what arithmetic gives that overflows or grows without bound. */
bool tessi_size_is_valid(const Graph *g, SizeId id);
/* Value for given parameters; false on overflow. */
bool tessi_size_eval(const Graph *g, SizeId id, const int64_t *params, int64_t *value);
/* Not below 0, whatever the parameters are, which are `least` or more; false: not proved. */
bool tessi_size_never_negative(Graph *g, SizeId size, int64_t least);
/* How many times a quotient is at most another of the same: n * floor(x / (n * d)) and floor(x / d); 0: not known. */
int64_t tessi_size_shares(const Graph *g, SizeId coarse, SizeId finer);
bool tessi_size_uses_param(const Graph *g, SizeId id, uint32_t param);
void tessi_size_print(const Graph *g, SizeId id,
                      Text *out); /* "M - 2", "(N + 1) / 2", "min(M, P)" */

WindowId tessi_graph_window(Graph *g, const Window *w);
TableId tessi_graph_table(Graph *g, const Table *t);
AccessId tessi_graph_access(Graph *g, const Access *a);
StageId tessi_graph_stage(Graph *g, const Stage *s); /* appends; the name is made unique */
StageId tessi_graph_stage_by_name(const Graph *g, const char *name); /* none when there is none */

ExprId tessi_expr_const(Graph *g, ScalarType t, Value v);
ExprId tessi_expr_int(Graph *g, ScalarType t, int64_t i);
ExprId tessi_expr_real(Graph *g, ScalarType t, double f);
ExprId tessi_expr_op(Graph *g, Op op, ExprId a, ExprId b,
                     ExprId c); /* unused arguments: none; types must agree */
ExprId tessi_expr_cast(Graph *g, ScalarType to, ExprId a); /* identity when the type is the same */
ExprId tessi_expr_sat(Graph *g, ScalarType to, ExprId a);
ExprId tessi_expr_load(Graph *g, AccessId access);
/* The value of a stage of the same dimensions, so far from the point; NULL: at the point itself. */
ExprId tessi_expr_load_at(Graph *g, StageId from, const int64_t *far);
ExprId tessi_expr_scalar(Graph *g, uint32_t scalar);
ExprId tessi_expr_index(Graph *g, uint32_t dim);
ExprId tessi_expr_size(Graph *g, SizeId size);
ExprId tessi_expr_winvar(Graph *g, WindowId w, uint32_t var);
ExprId tessi_expr_state(Graph *g, uint32_t number, ScalarType t); /* of a value */
ExprId tessi_expr_table(Graph *g, TableId table, ExprId flat_index);
ExprId tessi_expr_window(Graph *g, Reduction r, WindowId w, ExprId body, ExprId where);
ExprId tessi_expr_window_fused(Graph *g, WindowId w, ExprId product, ExprId where); /* a SUM */
/* A sum that is to be computed in a certain way. Simplifying does what is asked and forgets it, but for DIRECT and
 * FFT, which are the planner's to see to. */
ExprId tessi_expr_window_by(Graph *g, MethodRequest request, WindowId w, ExprId body, ExprId where);
/* The same of a window made otherwise; what is no sum over a window is returned as it is. */
ExprId tessi_expr_asked(Graph *g, ExprId window, MethodRequest request);
MethodRequest tessi_expr_request(const Graph *g, const Expr *window); /* AUTO: none */
bool tessi_expr_is_const(const Graph *g, ExprId id, Value *value);
/* Targets have their own instruction for it, so that bits differ between them (--fp=fast). */
bool tessi_expr_is_near(const Graph *g, ExprId id);
/* Rebuilds `root` with every window variable of `w` replaced by the constants `value[]` (used to unroll). */
ExprId tessi_expr_subst_window(Graph *g, ExprId root, WindowId w, const int32_t *value);

/* ---- graph_print.c, graph_read.c, graph_verify.c, graph_simplify.c ---------------------------------------------- */
void tessi_graph_print(const Graph *g, Text *out);
Graph *tessi_graph_read(Arena *a, Diags *d, const char *text,
                        size_t n); /* NULL with a diagnostic */
/* How a sum over a mask is computed, as a sentence. */
void tessi_mask_form_print(const MaskForm *f, Text *out);
/* NULL when sound, else one sentence about the first violation (allocated in the graph's arena). */
const char *tessi_graph_verify(const Graph *g);
/* A new graph with dead stages dropped, exact algebra applied, small windows unrolled, and (FP_DEFAULT) multiply-adds
 * contracted and division by constants turned into multiplication: the one place where rounding is decided. */
Graph *tessi_graph_simplify(const Graph *g, Arena *a, FpMode fp);
/* The same bits, with windows over masks that come with the run as they were, however few points they have. */
Graph *tessi_graph_simplify_rolled(const Graph *g, Arena *a, FpMode fp);
/* Sums over masks tap by tap in the order written, unless the program asks otherwise: as papers apply masks. Where
 * the mask has a cheaper form, reals may round differently. */
Graph *tessi_graph_simplify_as_written(const Graph *g, Arena *a, FpMode fp);

/* ---- graph_repeat.c: repeats ------------------------------------------------------------------------------------ */
enum { LEAST_TURNS = 8 }; /* fewer are computed together as one chain of stages */
/* Loops whose turns are equal but for the number of the turn become repeats; others, and those of fewer than `least`
 * turns, stay as they are. Returns `g` where there are none. A loop of which only the run knows the number of turns
 * has to become one, as has one with a condition: `fault` is a sentence about the one at `span` that does not, or NULL;
 * `of_run` (unless it is NULL) tells which of them it is. */
Graph *tessi_graph_find_repeats(Graph *g, Arena *a, uint32_t least, const char **fault, Span *span,
                                bool *of_run);
/* The same of a graph whose turns were written out, without what nothing needs. */
Graph *tessi_graph_roll_up(Graph *g, Arena *a);
/* By stage: the part of the program that computes it. Parts are computed one after the other: what stands before
 * the first repeat, the body of that, what only its condition needs, what stands behind it, and so on. NULL: there
 * are no repeats. */
uint32_t *tessi_graph_parts(const Graph *g, Arena *a);
/* By stage: one of the last of a body, which nothing but the condition of the repeat needs. They are computed in those
 * turns alone after which the condition is asked. */
bool *tessi_graph_tests(const Graph *g, Arena *a);
/* Of a stage that a repeat carries, which images those are: how many turns ago it was computed (0: by this one), and
 * (*head) the number of the carried image that is computed and lies as many turns back. */
uint32_t tessi_carried_lag(const Graph *g, const Repeat *r, uint32_t carried, uint32_t *head);
/* graph_repeat_time.c: turns of a repeat that are computed as one: blocks of so many, of what they leave over blocks of
 * `left` turns (0: none), and single turns. `left` divides `turns`, or is what is left over. */
typedef struct BlockTime {
    uint32_t turns, left;
} BlockTime;
/* A copy with the turns of each repeat (from 0) in blocks, in their bodies one behind the other; where that cannot be,
 * one by one. */
Graph *tessi_graph_block_time(const Graph *g, Arena *a, const BlockTime *time);
/* Turns that blocks of so many leave over; -1: known when the program runs. */
int64_t tessi_repeat_left(const Graph *g, uint32_t number, uint32_t time);
/* A copy without the repeats of which the graph says how many turns they have: these stand one behind the other. */
Graph *tessi_graph_write_out(const Graph *g, Arena *a);
/* There may be so many turns between two tests of its condition, and it is not blocked yet. */
bool tessi_repeat_can_block(const Graph *g, uint32_t number, uint32_t time);
/* NULL when sound, else one sentence, allocated in `a`. */
const char *tessi_repeats_verify(const Graph *g, Arena *a);

/* ---- graph_sizes.c: sizes of a run ------------------------------------------------------------------------------ */
/* Parameters from the sizes of the input images (sizes[image][dim]; NULL for an image not given); params[] receives
 * a value for each parameter; `given[p]` marks parameters the user set by NAME=VALUE (checked too). False with one
 * sentence that names both images on a contradiction, a parameter that nothing determines, or a stage that would be
 * empty or too large. */
bool tessi_graph_bind_sizes(const Graph *g, Arena *scratch, const int64_t *const *sizes,
                            const bool *given, int64_t *params, Failure *f);

#endif
