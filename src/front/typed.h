/* front/typed: the program after checking: names bound, types given, conversions explicit, functions instantiated
 * for what they meet, loops and vector functions unrolled. Made by check*.c, printed by typed_print.c, turned into a
 * graph by lower*.c.
 *
 * Two levels. Expressions (TExpr) compute one value at one point; they form a DAG. Values (TValue) are images, and
 * scalars that are the same for all points; they stand in Typed.values so that a value uses only values before it. */
#ifndef TESSERA_FRONT_TYPED_H
#define TESSERA_FRONT_TYPED_H

#include "base/base.h"
#include "base/diag.h"
#include "base/scalar.h"
#include "front/ast.h"
#include "graph/graph.h"

/* ---- Types ------------------------------------------------------------------------------------------------------ */
typedef struct TField {
    const char *name;
    ScalarType type;
} TField;

/* A pixel type. Arithmetic on pixels gives a struct with other field types but the same origin: `rgb` of float from
 * `rgb` of uint8. Interned: equal types are equal pointers. */
typedef struct TStruct {
    const AstStructDef *origin;
    uint32_t n;
    TField *field;
} TStruct;

typedef enum TTypeKind {
    TT_ERROR,       /* already diagnosed: agrees with everything */
    TT_UNTYPED_INT, /* a literal without suffix, or computed from such: takes the type it meets */
    TT_UNTYPED_REAL,
    TT_SCALAR,
    TT_STRUCT
} TTypeKind;
typedef struct TType {
    TTypeKind kind;
    ScalarType scalar;
    const TStruct *st;
} TType;

/* ---- Expressions ------------------------------------------------------------------------------------------------ */
typedef struct TExpr TExpr;
typedef struct TValue TValue;
typedef struct TInstance TInstance;

/* The ranges of one window expression, both ends included. */
typedef struct TWindow {
    Span span;
    uint8_t level, n_vars; /* level: nesting depth */
    const char *name[MAX_WINDOW_VARS];
    int32_t lo[MAX_WINDOW_VARS], hi[MAX_WINDOW_VARS];
    struct TWindow *outer; /* the window around this one, or NULL */
    TExpr *where;          /* condition, or NULL */
    bool must_unroll;      /* its variables appear in an offset that is not affine in them */
} TWindow;

/* A mask: coefficients known when compiling, or (input) given at run time. Indexed lo..hi in each dimension. */
typedef struct TMask {
    const char *name;
    Span span;
    uint8_t n_dims;
    int32_t lo[MAX_DIMS], hi[MAX_DIMS];
    TType type;    /* of an element: untyped for literal coefficients */
    uint32_t n;    /* elements, row-major in `at` */
    Value *at;     /* NULL for a run-time mask */
    TValue *input; /* a run-time mask's input, or NULL */
    bool flipped;  /* run-time masks: read at -index */
    /* a run-time mask in another element type: what it was converted from */
    const struct TMask *given;
    uint32_t number; /* identity for printing and interning */
} TMask;

typedef enum TExprKind {
    TE_ERROR,
    TE_CONST,  /* value */
    TE_OP,     /* op(arg ..) */
    TE_CAST,   /* conversion of arg[0] to type; from an untyped value: the literal takes the type */
    TE_SAT,    /* sat<type>(arg[0]) */
    TE_READ,   /* image argument `slot` at the offsets / absolute indices in `read` */
    TE_ARG,    /* scalar argument `slot` */
    TE_LOCAL,  /* local `slot` of the instance, in arg[0] */
    TE_INDEX,  /* the point's coordinate in dimension `slot` */
    TE_SIZE,   /* size in dimension `dim` of image argument `slot`, or of `image` when set */
    TE_PARAM,  /* size parameter number `slot` */
    TE_SCALAR, /* input scalar number `slot` */
    TE_VALUE,  /* the scalar `image` of the vector level */
    TE_STATE, /* steps of scans: the value of the image (slot 0), or the result `slot` points before */
    TE_WINVAR, /* variable `slot` of `window` */
    TE_WINDOW, /* reduction of arg[0] over `window`; mean when `is_mean` */
    /* sum over `mask` of coefficient * read of `slot` (through `read`), taps `dilation` apart; `field` >= 0: that
     * channel */
    TE_CONVOLVE,
    TE_MASK, /* element of `mask` at the indices arg[..] */
    TE_SHARE, /* which element percentile `value` is, of the points of the window arg[0], `slot` of them */
    TE_VALID, /* arg[0] is valid: a bool, which is always valid itself */
    TE_FIELD, /* field `slot` of the struct arg[0] */
    TE_STRUCT /* struct of arg[..] */
} TExprKind;

/* One read of an image argument. Each dimension: absolute index, or scale * point + offset. */
typedef struct TRead {
    bool absolute;
    uint8_t n_dims;
    int32_t scale[MAX_DIMS];
    TExpr *index
        [MAX_DIMS]; /* absolute index (int32), or the offset (untyped integer of constants and window variables) */
    TWindow *window; /* innermost window around the read, or NULL */
} TRead;

struct TExpr {
    TExprKind kind;
    TType type;
    Span span;
    bool is_static; /* depends on constants and window variables only */
    bool is_mean;   /* WINDOW */
    bool
        dropped; /* a quotient of integers whose fraction is lost: real is what it must not become */
    uint8_t n_args, dim;
    Op op;               /* OP */
    Reduction reduction; /* WINDOW */
    int32_t field;       /* CONVOLVE */
    uint32_t id;         /* number in the program, from 1 */
    uint32_t weight;     /* operations, shared parts counted at each use */
    uint32_t slot;
    int32_t dilation;     /* CONVOLVE */
    MethodRequest method; /* CONVOLVE */
    Value value;
    TExpr **arg;
    TRead *read;
    TWindow *window;
    const TMask *mask;
    TValue *image;
};

/* ---- Stencil instances ------------------------------------------------------------------------------------------ */
typedef enum TArgKind { TARG_IMAGE, TARG_SCALAR, TARG_CONST, TARG_MASK } TArgKind;
typedef struct TArg {
    const char *name;
    Span span;
    TArgKind kind;
    TType type;     /* of the element as the body sees it */
    uint8_t n_dims; /* IMAGE */
    bool relative;  /* some read is not absolute, or there is none at all */
    bool any_read, any_absolute, any_offset;
    bool scaled; /* `scale` is set by a read */
    int32_t scale[MAX_DIMS];
    TExpr *value;      /* CONST */
    const TMask *mask; /* MASK */
} TArg;
typedef struct TLocal {
    const char *name;
    TExpr *value;
} TLocal;

struct TInstance {
    /* function's name; "" for an expression on images written among the statements */
    const char *name;
    const AstFunction *def; /* NULL for those */
    Span span;
    uint32_t number;
    uint8_t n_dims;
    VEC(TArg) args;
    VEC(TLocal) locals;
    VEC(TExpr *) reads; /* every READ and CONVOLVE, in order */
    TExpr *result;
    bool uses_index;    /* index(d) */
    uint32_t max_index; /* the largest d of those, first at index_span */
    Span index_span;
    bool failed;   /* its body was diagnosed */
    bool sizeless; /* no image gives it a size: calls declare one */
};

/* ---- Values ----------------------------------------------------------------------------------------------------- */
/* What a read of a point that is not valid gives. */
typedef enum Missing {
#define MISSING(id, name, other) MISSING_##id,
#include "front/missing.def"
#undef MISSING
    N_MISSING
} Missing;
typedef struct MissingRule {
    bool written;
    Missing policy;
    double distance; /* NEAREST: how far it may be */
} MissingRule;
const char *tessi_missing_name(Missing m);
bool tessi_missing_by_name(const char *name, Missing *m);

typedef struct TBorder {
    bool written; /* at the call, or by a `border` in force */
    MissingRule missing;
    bool invalid[MAX_DIMS]; /* what is outside is not valid; the rule is CONSTANT then, of 0 */
    Border rule[MAX_DIMS];
    TExpr *outside; /* value of constant(v), or NULL */
    TExpr *each
        [MAX_DIMS]; /* of each dimension, where they differ: the first one outside gives its own */
    Span span;
} TBorder;

typedef struct TCallArg {
    TValue *image;
    TExpr *scalar;
    TBorder border;
} TCallArg;

/* One part of a composition. */
typedef struct TPart {
    Span span;
    TValue *image; /* else fill */
    TExpr *fill;
    bool scaled;        /* @[(o,s)]: offset and step; else ranges lo.. */
    bool direct;        /* a call that nothing else names: its size may still be declared */
    bool computed_only; /* original dialect: only the points that the stencil computes */
    int32_t offset[MAX_DIMS], step[MAX_DIMS];
    TExpr *lo[MAX_DIMS], *hi[MAX_DIMS]; /* size expressions; NULL lo = 0; hi for a fill */
    uint8_t n_leading;                  /* dimensions in front that the image does not have */
} TPart;

typedef enum TValueKind {
    TV_ERROR,
    TV_INPUT,     /* input image number `number` */
    TV_CALL,      /* instance applied to args */
    TV_FIELD,     /* field `number` of base */
    TV_SUBDOMAIN, /* base between lo and hi (size expressions, NULL = the image's end) */
    TV_COMPOSE,   /* parts */
    TV_VALID,     /* base, valid where `mask` (of bool) holds */
    TV_REDUCE,    /* reduction of the whole base, a scalar; or along a dimension */
    TV_SCAN, /* running values along a dimension: of a reduction, or of the step `expr` from `start` on */
    TV_HISTOGRAM, /* number of bins in `bins` */
    TV_SCALAR     /* expression on scalars */
} TValueKind;

struct TValue {
    TValueKind kind;
    TType type;
    uint8_t n_dims; /* 0: a scalar */
    bool used;      /* needed for a returned image */
    bool named;
    Span span;
    const char *name;     /* of the stage; made unique in the graph */
    uint32_t depth;       /* of vector function calls, where `name` was given */
    uint32_t id;          /* position in Typed.values */
    uint32_t loop, turn;  /* of the graph's stages (graph.h) */
    bool ends_loop;       /* likewise, of a SCALAR */
    bool is_stage;        /* SCALAR: a stage in any case */
    VEC(TValue *) before; /* likewise */
    uint32_t turns_of;    /* likewise */
    uint32_t number;
    TValue *base, *mask;
    TInstance *inst;
    VEC(TCallArg) args;
    VEC(TPart) parts;
    TExpr *lo[MAX_DIMS], *hi[MAX_DIMS];
    bool drops[MAX_DIMS];      /* SUBDOMAIN: dimension of the base that the part does not have */
    TExpr *declared[MAX_DIMS]; /* CALL, COMPOSE: the sizes, where they are declared */
    Reduction reduction;
    uint8_t along;    /* REDUCE, SCAN: the number of the dimension, from 1; 0 = the whole base */
    uint8_t n_states; /* SCAN, REDUCE: results before that `expr` uses; 0 = of `reduction` */
    bool reverse, only_last;
    TValue *keys; /* REDUCE: by whose values, into `bins` elements; or NULL */
    TExpr *bins;
    TExpr *expr, *start, *both; /* both: REDUCE by keys with states: the step of two results */
};

/* ---- The program ------------------------------------------------------------------------------------------------ */
typedef struct TInput {
    const char *name;
    Span span;
    TType type;
    bool is_mask;
    bool is_any; /* of a type that came with the options */
    uint8_t n_dims;
    TExpr *size[MAX_DIMS];
    TValue *value;
    TMask *mask; /* is_mask */
} TInput;

typedef struct TParam {
    const char *name;
    Span span;
    bool is_constant; /* `value` stands for it everywhere */
    bool is_needed;   /* compiling needed its value: it is a constant */
    bool has_value;
    int64_t value;
} TParam;

typedef struct TScalar {
    const char *name;
    Span span;
    ScalarType type;
    bool has_default, has_range;
    Value value, lo, hi;
} TScalar;

/* A parameter or const input whose value took part in compiling. */
typedef struct TConstant {
    const char *name;
    Span span;
    bool is_param;
    bool known; /* false: the program cannot be compiled before NAME=VALUE is given (diagnosed) */
    ScalarType type;
    Value value;
    bool has_range;
    Value lo, hi;
    /* a parameter that is exactly the size of dimension `dim` of this input, else NULL */
    const char *image;
    uint32_t dim;
    /* compiling does not need it: a parameter that is the last of three sizes or more of an image, as channels are.
     * When it is known, so is the distance of pixels. */
    bool is_optional;
} TConstant;

typedef struct TOutput {
    const char *name;
    Span span;
    TValue *value; /* an image or a scalar */
} TOutput;

/* A named definition, in program order, for --dump=types. */
typedef struct TDefinition {
    const char *name;
    uint32_t depth;
    TValue *value; /* or */
    TExpr *scalar; /* or */
    const TMask *mask;
} TDefinition;

typedef struct Typed {
    Arena *arena;
    const Ast *ast;
    bool forma;
    VEC(TParam) params;
    VEC(TScalar) scalars;
    VEC(TInput) inputs;
    VEC(TConstant) constants;
    VEC(TInstance *) instances;
    VEC(TMask *) masks;
    VEC(TValue *) values;
    VEC(TDefinition) definitions;
    VEC(TOutput) outputs;
    VEC(GraphLoop) loops; /* as they were gone through */
    uint32_t n_exprs;
    /* diagnostics about constants without a value: when these are all the errors, values would cure them */
    uint32_t n_missing;
    bool counts_by_params;  /* a size parameter is the number of turns of a loop */
    bool count_is_constant; /* and is needed as a constant too */
} Typed;

const char *tessi_typed_type_name(Arena *a, TType t);
void tessi_typed_print(const Typed *t, Text *out);

#endif
