/* loop: the one loop language of all targets. Functions of nested loops over buffers and scalar variables: no
 * images, no border rules, no decisions left. Printed as C by emit/, executed by interp/ (which checks bounds,
 * uninitialised reads and races).
 *
 * Expressions are hash-consed and pure; LET names one so that it is computed once, at that place. Index arithmetic
 * has type INDEX. */
#ifndef TESSERA_LOOP_LOOP_H
#define TESSERA_LOOP_LOOP_H

#include "base/base.h"
#include "base/diag.h"
#include "base/product.h"
#include "base/scalar.h"

enum { LOOP_MAX_DIMS = 4 };

/* The most of an expression as it is written out where it is used, shared parts again and again: larger ones are broken
 * up with LETs. The verifier checks it, so printers and interpreters may recur over trees. */
enum { LOOP_MAX_EXPR_NODES = 1 << 16, LOOP_MAX_EXPR_DEPTH = 1000 };
enum { LOOP_MAX_CONSTANT_BYTES = 60 << 10 }; /* of all that kernels have in constant memory */
enum { LOOP_MAX_NESTING = 64 };              /* of blocks */
enum { LOOP_MAX_LOCAL_BYTES = 1 << 23 }; /* of one LOCAL buffer: the values of the largest median */
enum { LOOP_WARP = 32 };                 /* threads of a block that exchange values (LSTMT_SHIFT) */

typedef struct LExprId {
    uint32_t v;
} LExprId;
typedef struct LVarId {
    uint32_t v;
} LVarId;
typedef struct LBufferId {
    uint32_t v;
} LBufferId;

typedef enum LExprKind {
    LEXPR_CONST,  /* value */
    LEXPR_VAR,    /* loop variable, LET or mutable variable */
    LEXPR_PARAM,  /* size parameter number ref, INDEX */
    LEXPR_SCALAR, /* input scalar number ref */
    LEXPR_LOAD,   /* buffer[index...]: type of the buffer (F32 for F16) */
    LEXPR_OP,
    LEXPR_CAST, /* to `type`; ref: an LCAST */
    LEXPR_SAT,
    LEXPR_LANES, /* INDEX: the lanes of a vector that has lanes of `ref` bytes */
    LEXPR_VECTORS, /* INDEX: as many such vectors as have a lane for each of arg[0] values, a constant */
    LEXPR_SPLAT, /* arg[0], a scalar, in every lane */
    LEXPR_RAMP,  /* arg[0], an INDEX, arg[0] + 1, ... from lane to lane, each cast to `type` */
    LEXPR_AT,    /* the vector arg[1] (a constant) elements behind the place of the row arg[0] */
    LEXPR_PAIRS, /* bytes: the low ones of the lanes of arg[0] and arg[1], which have 16 bits, in turn */
    LEXPR_BOTH /* for a variable of its kind: arg[0] and arg[1], tessi_load_each of one row; AT has a number */
} LExprKind;
/* CAST: to float16 (a value of type F32); of 16 bits in lanes, what a cast to 8 bits and back gives. */
enum { LCAST_ROUNDS_TO_F16 = 1, LCAST_LOW_BYTE = 2 };
/* LOAD of a vector from the index on: each other byte as 16 bits; a row, for a variable of its kind; of each lane an
 * element of its own, some indices are vectors of integers; such from near each other in one row; four bytes as a word,
 * the first in the low bits (also of a scalar); of each lane that tessi_load_apart behind that of the lane before. */
enum { LLOAD_EVENS = 1, LLOAD_ODDS, LLOAD_ROW, LLOAD_EACH, LLOAD_NEAR, LLOAD_FOURS, LLOAD_APART };
enum { LLOAD_BITS = 8 };
typedef struct LExpr {
    LExprKind kind;
    /* of the value; for OP also of the arguments, except comparisons and SELECT's condition */
    ScalarType type;
    /* of a vector: bytes of a lane; 0 = a scalar. The arguments of operations agree */
    uint8_t lanes;
    Op op;
    uint32_t ref;
    LVarId var;
    LBufferId buffer;
    uint8_t n_args; /* LOAD: one index per dimension */
    LExprId arg[LOOP_MAX_DIMS];
    Value value;
} LExpr;

typedef enum LBufferKind {
    LBUF_INPUT,  /* channel `channel` of input image `image`; rows may be strided */
    LBUF_OUTPUT, /* channel `channel` of output image `image` */
    LBUF_TEMP,   /* whole image in memory, allocated on entry, freed on return */
    /* small array of constant size, private to one iteration of the loop it stands in (LSTMT_LOCAL). In kernels:
     * shared by the threads of a block when it stands outside of thread loops, else a thread's own */
    LBUF_LOCAL,
    LBUF_TABLE /* constants */
} LBufferKind;
typedef struct LBuffer {
    const char *name;
    LBufferKind kind;
    /* TEMP: kernels that do not store to it find it in constant memory; of constant size */
    bool in_constant;
    bool in_memory; /* TABLE of kernels: in ordinary memory, since constant memory has no room */
    /* LOCAL of kernels, outside of thread loops: each thread has its own, which lives on from one thread loop to the
     * next. Thread loops that use it give each thread of the block, which is one line, one iteration */
    bool held;
    ScalarType type; /* stored elements */
    uint8_t lanes;   /* LOCAL: elements are vectors with lanes of so many bytes; 0 = scalars */
    uint8_t n_dims;
    LExprId size[LOOP_MAX_DIMS]; /* INDEX, over constants and parameters */
    uint32_t image, channel;
    /* INPUT, OUTPUT: all channels of the image side by side, as elements of the last dimension */
    bool flat;
    Value *table; /* TABLE: row-major */
    uint32_t n_table;
} LBuffer;

typedef struct LVar {
    const char *name; /* wanted name; printers make it unique and legal */
    ScalarType type;
    bool is_mutable;
    uint8_t lanes; /* as of expressions */
    /* a place in a row of a buffer, near which vectors are read (LEXPR_AT). The buffer is not stored to meanwhile */
    bool is_row, is_both; /* is_both: a row that is two vectors (LEXPR_BOTH) */
} LVar;

typedef enum LStmtKind {
    LSTMT_FOR,   /* for var in [a, b) step: body */
    LSTMT_IF,    /* if a: body else: orelse */
    LSTMT_LET,   /* var = a, once */
    LSTMT_VAR,   /* mutable var, starts as a */
    LSTMT_SET,   /* mutable var = a */
    LSTMT_STORE, /* buffer[index] = a; past the caches where b holds (none: never) */
    LSTMT_ADD,   /* buffer[index] += a (integers wrap); `atomic` inside parallel loops */
    LSTMT_LOCAL, /* brings LOCAL buffer `buffer` into being, uninitialised, for the rest of the block */
    /* buffer = as many consecutive elements of `other`; one of them is a LOCAL line, of one dimension, the whole of
     * which is moved, the other is none and begins at `index`. Behind the last channel of a pixel comes the first of
     * the next one (tessi_loop_channels). Bits are moved: types are the same, or the line is of
     * words (U32) that hold two or four elements each, the first in the low bits. On GPUs, where rows are aligned
     * (those of LOCAL buffers are), so is the first element to the bytes moved, or to 16 */
    LSTMT_MOVE,
    /* of thread loops: buffer[index] = `a`, a load of a buffer of the same type, both of them held, by the thread
     * `step` farther on in the warp; where there is none, by this thread itself. All threads of the block execute it */
    LSTMT_SHIFT,
    /* a product of matrices (product.h): buffer[index] is the first of its sums (I32), `a` loads the first row (U32,
     * LOCAL), `b` the first column */
    LSTMT_PRODUCT,
    LSTMT_SORT,     /* sorts the first `a` elements of 1-D LOCAL `buffer` by total order */
    LSTMT_PREFETCH, /* buffer[index] will be read soon; it may be outside */
    LSTMT_COMMENT   /* text */
} LStmtKind;
enum {
    LFOR_PARALLEL = 1, /* iterations touch no common element (the interpreter checks) */
    LFOR_SIMD = 2,     /* may be executed in vectors: no carried dependence */
    LFOR_UNROLL = 4,
    LFOR_ROLLED = 32, /* not worth unrolling, but for `vectors` iterations */
    /* of kernels: iterations, blocks or threads along `axis`, may also store what is stored there already */
    LFOR_GRID = 8,
    LFOR_THREAD = 16
};
enum { LIF_LIKELY = 1 /* IF: seldom does not hold */ };
enum { LSTORE_APART = 1 /* STORE: the elements of the lanes are `step` points of a row apart */ };
/* LET. HERE: what is computed from it is not to be before a loop around it, where it would fill registers. KEPT: the
 * value is to be in a register until here, although nobody uses it. AFTER: as HERE, and not before the value b is
 * known, so that fewer are on their way at once. */
enum { LLET_HERE = 1, LLET_KEPT = 2, LLET_AFTER = 4 };
typedef struct LStmt LStmt;
typedef VEC(LStmt *) LBlock;
struct LStmt {
    LStmtKind kind;
    uint8_t flags;
    bool atomic;
    LVarId var;
    LBufferId buffer, other;
    uint8_t n_index;
    LExprId index[LOOP_MAX_DIMS];
    LExprId a, b;
    int64_t step;   /* FOR: > 0; SHIFT: not 0; STORE with APART: > 1; PRODUCT: to the other rows */
    uint8_t lanes;  /* FOR: the step is so many vectors with lanes of so many bytes; 0 = scalars */
    uint32_t least; /* FOR: it runs over at least so many values, which printers may rely on */
    /* FOR with SIMD: vectors that a step had better take side by side; with ROLLED: iterations in a row; 0, 1 = one */
    uint8_t vectors;
    uint8_t axis; /* FOR with GRID or THREAD: 0 = x, 1 = y, 2 = z */
    LBlock body, orelse;
    const char *text;
};

/* Functions a group of the plan; on a CPU one each. In a program for a GPU every function is a kernel, which is the
 * same language with some loops marked:
 *   grid loops      the outermost loops but for constants before them: nested in each other, from 0 to grid[axis];
 *   thread loops    inside the grid loops (or anywhere, when there are none), one nest after the other. The threads of
 *                   a block share the iterations out: thread t of n runs t, t + n, ... All have finished one nest, and
 *                   see what it stored, before any begins the next: where that matters printers put a barrier. What
 *                   stands between nests all execute alike: LETs, loops and conditions; no stores.
 * Executed as ordinary nested loops a kernel gives the same values; the interpreter's check for races then is the
 * check that no barrier is missing. A kernel without grid and thread loops is executed by one thread. */
enum { LOOP_MAX_AXES = 3 };

/* Functions of a repeat are executed turn after turn. They stand one behind the other in as many versions as there
 * are images to rotate, alike but for these: a turn with `left` turns behind it executes version left % n_versions.
 * Before the first turn, those that are marked `once` are executed, in version (turns + behind) % n_versions.
 *
 * A repeat may have a condition. Behind each turn whose number is a multiple of `every`, functions marked `test` store
 * it; if it holds, those marked `met` follow, all of the version of that turn, and no turn. */
typedef struct LRepeat {
    const char *name;
    LExprId turns; /* INDEX, over constants, parameters and input scalars; never negative */
    /* likewise: turns of repeats behind it that go on with its images, and count as left; none: 0 */
    LExprId behind;
    uint32_t n_versions, every;
    LBufferId until; /* TEMP, of type BOOL, without dimensions; none: all turns are done */
    bool unless_met; /* there are no turns when the condition of the repeat before this one held */
    /* Number from 1 of the loop with a condition that it is of, `by` turns of which are one of these; 0: of none. */
    uint32_t loop, by;
} LRepeat;
typedef enum LWhen { LWHEN_TURN, LWHEN_ONCE, LWHEN_TEST, LWHEN_MET } LWhen;
typedef struct LPlace {
    uint32_t repeat, version; /* repeat: its number, from 1; 0: in none, executed once */
    LWhen when;
} LPlace;
typedef struct LFunction {
    LPlace place;
    const char *name;
    const char *comment; /* what it computes and why so; lines separated by '\n' */
    bool is_kernel;
    LExprId grid[LOOP_MAX_AXES];   /* blocks along each axis, over parameters; none = 1 */
    uint32_t block[LOOP_MAX_AXES]; /* threads along each axis, at least 1 */
    /* does not depend on the function before it nor on those that it is beside, nor they on this one */
    bool beside;
    uint32_t resident; /* blocks that are to fit a multiprocessor at once; 0: any number */
    LBlock body;
} LFunction;

/* What the outside sees, for the signature and the launcher; mirrors the graph's images and scalars. */
typedef struct LImage {
    const char *name;
    uint8_t n_dims;
    LExprId size[LOOP_MAX_DIMS];
    uint32_t n_channels;
    ScalarType *channel_type;
    const char **channel_name;
    uint32_t *channel_offset; /* bytes */
    uint32_t pixel_bytes;
    bool uniform; /* all channels of one type: elements are addressed by index, else by bytes */
} LImage;
typedef struct LScalar {
    const char *name;
    ScalarType type;
} LScalar;

typedef struct LoopProgram {
    Arena *arena;
    const char *name;
    const char *comment; /* the plan with its reasons, for the head of the file */
    uint32_t width;      /* bytes of a vector, at most; 0: any */
    /* for which vector loops are made, at most; 0: none are. Compilers choose what the processor has */
    uint32_t vector_bytes;
    VEC(const char *) params;
    VEC(LScalar) scalars;
    VEC(LImage) inputs, outputs;
    VEC(LExprId) must_be_positive; /* sizes of stages: any < 1 makes a run fail before it starts */
    VEC(LExprId) must_be_equal;    /* pairs of sizes of images that are computed with each other */
    VEC(LExpr) exprs;              /* at[0] unused */
    VEC(LVar) vars;                /* at[0] unused */
    VEC(LBuffer) buffers;          /* at[0] unused */
    VEC(LFunction) functions;      /* executed in order, but for repeats */
    VEC(LRepeat) repeats;          /* repeat k is at[k - 1] */
    const char *fault;             /* of a template that it is made of; NULL: none */
    IdMap expr_map;
} LoopProgram;

/* ---- loop_build.c: constructors; fold constants and simplify index arithmetic exactly -------- */
LoopProgram *tessi_loop_new(Arena *a, const char *name);
static inline const LExpr *tessi_lexpr(const LoopProgram *p, LExprId id)
{
    return &p->exprs.at[id.v];
}
LVarId tessi_loop_var(LoopProgram *p, const char *name, ScalarType t, bool is_mutable);
LBufferId tessi_loop_buffer(LoopProgram *p, const LBuffer *b);
LExprId tessi_lexpr_const(LoopProgram *p, ScalarType t, Value v);
LExprId tessi_lexpr_index(LoopProgram *p, int64_t i); /* INDEX constant */
LExprId tessi_lexpr_var(LoopProgram *p, LVarId v);
LExprId tessi_lexpr_param(LoopProgram *p, uint32_t param);
LExprId tessi_lexpr_scalar(LoopProgram *p, uint32_t scalar);
LExprId tessi_lexpr_load(LoopProgram *p, LBufferId b, const LExprId *index, uint8_t n);
LExprId tessi_lexpr_op(LoopProgram *p, Op op, LExprId a, LExprId b, LExprId c);
LExprId tessi_lexpr_cast(LoopProgram *p, ScalarType to, LExprId a); /* also to and from INDEX */
LExprId tessi_lexpr_sat(LoopProgram *p, ScalarType to, LExprId a);
/* One of the buffers of a move that are moved as a whole. */
bool tessi_loop_is_line(const LoopProgram *p, LBufferId b);
/* Elements that one of a line holds of the other buffer of a move; 0 when there is no such move. */
uint32_t tessi_loop_line_holds(ScalarType line, ScalarType other);
/* The image that the buffer is of; NULL: none. */
const LImage *tessi_loop_image(const LoopProgram *p, const LBuffer *b);
/* The channels of an image that stand side by side in its pixels, all of one type, where the buffer is one of them,
 * and the buffer of channel c of that image (v = 0: there is none). 1 and the buffer itself for all else. */
uint32_t tessi_loop_channels(const LoopProgram *p, LBufferId b);
LBufferId tessi_loop_channel(const LoopProgram *p, LBufferId b, uint32_t c);
LStmt *tessi_lstmt(LoopProgram *p, LBlock *block, LStmtKind kind); /* appends an empty statement */
/* The value of a size (an expression over constants and parameters) for a run; false on overflow. */
bool tessi_loop_eval_size(const LoopProgram *p, LExprId id, const int64_t *params, int64_t *value);
/* How far index arithmetic goes: no index of a run that begins (all sizes are positive) is farther from 0 than the sum
 * of these terms, each a factor times the magnitudes of some parameters. False: 32 bits would not do for any sizes. */
typedef struct LoopBoundTerm {
    double factor; /* positive */
    uint8_t n_params;
    uint32_t param[LOOP_MAX_DIMS]; /* sorted, with repetitions */
} LoopBoundTerm;
typedef VEC(LoopBoundTerm) LoopBound;
bool tessi_loop_index_bound(const LoopProgram *p, Arena *a, LoopBound *bound);
/* The sum, for a run with these parameters; whether 32 bits hold all indices of it. */
double tessi_loop_bound_value(const LoopBound *bound, const int64_t *params);
bool tessi_loop_fits_32(const LoopProgram *p, const int64_t *params);

#endif
