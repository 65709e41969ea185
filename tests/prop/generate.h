/* generate: random programs of the language from a seed, and their shrinker. A program is plain data without
 * pointers into itself, so that the shrinker copies it, changes the copy and asks whether the failure is still
 * there.
 *
 *   generate.c         choices: seed -> GenProgram
 *   generate_loop.c    loops: choices and text
 *   generate_nodes.c   choices inside a stencil's body
 *   generate_analyze.c types, sizes and validity of every image of a program
 *   generate_print.c   GenProgram -> text
 *   generate_shrink.c  smaller programs that still fail */
#ifndef TESTS_PROP_GENERATE_H
#define TESTS_PROP_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GEN_DIMS = 4,
    GEN_STAGES = 12,
    GEN_NODES = 80,
    GEN_ARGS = 3,
    GEN_INPUTS = 5,
    GEN_FIELDS = 3,
    GEN_STRUCTS = 2,
    GEN_RESULTS = 3,
    GEN_POLICIES = 6,
    GEN_SCALARS = 2,
    GEN_TAPS = 25,
    GEN_CHAIN = 200, /* the longest of a stencil repeated */
    GEN_IMAGES = GEN_INPUTS + GEN_STAGES
};

typedef enum GenType {
    GEN_BOOL,
    GEN_I8,
    GEN_U8,
    GEN_I16,
    GEN_U16,
    GEN_I32,
    GEN_U32,
    GEN_I64,
    GEN_F16,
    GEN_F32,
    GEN_F64,
    GEN_N_TYPES,
    GEN_UNKNOWN = GEN_N_TYPES /* what the expression gives; as an argument: `any` */
} GenType;

typedef enum GenRule {
    GEN_CLAMP,
    GEN_MIRROR,
    GEN_REFLECT,
    GEN_WRAP,
    GEN_CONSTANT,
    GEN_NONE,
    GEN_UNNAMED
} GenRule;

/* What an expression gives: any number, an integer, a bool, a pixel of a struct. */
typedef enum GenClass { GEN_NUMBER, GEN_INTEGER, GEN_TRUTH, GEN_PIXEL } GenClass;

typedef enum GenNodeKind {
    NODE_INT,    /* value */
    NODE_REAL,   /* value, suffix */
    NODE_READ,   /* argument `slot` at offset + coef * window variable, `field` when >= 0 */
    NODE_TABLE,  /* argument `slot` at absolute index child[0..] */
    NODE_SCALAR, /* scalar argument `slot` */
    NODE_INDEX,  /* index(slot) */
    NODE_SIZE,   /* size(argument slot, dim) */
    NODE_WINVAR, /* variable `slot` of the window of `level` */
    NODE_UNARY,  /* text child */
    NODE_BINARY, /* child text child */
    NODE_CALL,   /* text(children) */
    NODE_TERNARY,
    NODE_CAST, /* cast<type>(child), sat<type> with `sat` */
    NODE_WINDOW, /* text(ranges [where child[1]] : child[0]); where text has a %, they stand in its place */
    NODE_CONVOLVE /* convolve(argument slot, mask), as a window over the mask with `long_form` */
} GenNodeKind;

typedef struct GenNode {
    GenNodeKind kind;
    GenClass cls;
    const char *text; /* static */
    int n_children, child[3];
    int slot, field, level, dim;
    int offset[GEN_DIMS], coef[GEN_DIMS], var_level[GEN_DIMS],
        var[GEN_DIMS];                      /* READ; coef 0 = no variable */
    int n_vars, lo[GEN_DIMS], hi[GEN_DIMS]; /* WINDOW */
    GenType type;
    double value;
    char suffix;
    int dilation;
    bool sat, local, has_where, flip, long_form;
} GenNode;

/* An image that a stage uses: a stencil's argument, or a part of a composition. */
typedef struct GenArg {
    int image;        /* id: inputs first, then stages */
    int field;        /* X.f at the call when >= 0 */
    GenType declared; /* GEN_UNKNOWN: any */
    bool table;       /* read by absolute index only */
    int scale[GEN_DIMS];
    GenRule rule[GEN_DIMS];
    bool per_dimension; /* rules are written one for each dimension */
    int missing; /* number of a policy about missing points, from 1; 0: all points are valid */
    int outside;
    int lo[GEN_DIMS], hi[GEN_DIMS]; /* subdomain; placement: lo */
    bool scaled;                    /* part: placed at i*scale + lo */
    bool fill;                      /* part: the number `outside` between lo and hi */
} GenArg;

typedef enum GenStageKind {
    MAKE_STENCIL,
    MAKE_SUBDOMAIN,
    MAKE_SAMPLE,
    MAKE_COMPOSE,
    MAKE_PLANE,
    MAKE_STRUCT,
    MAKE_REDUCE,
    MAKE_ALONG, /* reductions and running values along a dimension */
    MAKE_HISTOGRAM
} GenStageKind;
typedef enum GenRepeat { REPEAT_NONE, REPEAT_FOR, REPEAT_FUNCTION } GenRepeat;

typedef struct GenStage {
    bool alive;
    GenStageKind kind;
    int n_args;
    GenArg arg[GEN_ARGS];
    /* stencil */
    bool konst; /* has an argument `const int k`, part of offsets, ranges and sizes of masks */
    bool konst_input; /* which is a const input of the program */
    int konst_value;
    int n_scalars, scalar[GEN_SCALARS]; /* scalar input number, or GEN_INPUTS + reducing stage */
    GenType scalar_type[GEN_SCALARS];
    int n_roots, root[GEN_FIELDS]; /* one, or one for each field of `strukt` */
    int strukt;                    /* STRUCT, and stencils with several roots */
    GenType type;                  /* the result is cast to; GEN_UNKNOWN = as it comes */
    bool sat;
    GenRepeat repeat;
    int times;
    bool counted, down, lag,
        asked; /* FOR: times is an input; downwards; with the member of two turns ago; with turns() */
    int until,
        every;      /* FOR: number of its condition, from 1 (0 = none), and how often it is asked */
    int mask_input; /* id of the run-time mask, or -1 */
    int mask_dims, mask_size[GEN_DIMS], mask_divisor;
    bool mask_real;
    bool mask_computed; /* from its indices; with mask_real a bell, divided by its sum */
    double mask[GEN_TAPS];
    int n_nodes;
    GenNode node[GEN_NODES];
    /* others */
    const char *text; /* REDUCE: name; HISTOGRAM: of a reduction by keys, or NULL; static */
    /* ALONG: number of its form, and of the dimension; SUBDOMAIN: plane - 1 is a dimension that is dropped */
    int bins, plane;
    int declared[GEN_DIMS]; /* stencil: the sizes of the result, unless the first is 0 */
} GenStage;

/* before + image + middle + dimension + after */
typedef struct GenAlong {
    const char *before, *middle, *after;
    bool drops;
} GenAlong;
enum { GEN_ALONG = 12 };
extern const GenAlong gen_along[GEN_ALONG];

typedef struct GenInput {
    bool is_mask;
    int n_dims;
    int param[GEN_DIMS]; /* parameter number, or -1 for the plain number `add` */
    int add[GEN_DIMS], times[GEN_DIMS];
    int strukt; /* -1: `type` */
    GenType type;
} GenInput;

typedef struct GenStruct {
    int n_fields;
    GenType type[GEN_FIELDS];
} GenStruct;

typedef struct GenScalar {
    GenType type;
    double value;
    bool ranged;
} GenScalar;

/* What gen_analyze finds out about an image. */
typedef struct GenImage {
    bool valid, is_scalar, is_mask, exact_struct;
    bool holes; /* some points may be not valid */
    int n_dims, size[GEN_DIMS];
    int strukt;   /* -1: none */
    GenType type; /* GEN_UNKNOWN: some number */
} GenImage;

typedef struct GenProgram {
    uint64_t seed;
    bool forma;   /* in the original dialect */
    bool literal; /* sizes are numbers, not parameters */
    int n_params, param[GEN_DIMS];
    GenRule border; /* GEN_UNNAMED: none written */
    int outside;
    int n_structs;
    GenStruct strukt[GEN_STRUCTS];
    int n_inputs;
    GenInput input[GEN_INPUTS];
    int n_scalars;
    GenScalar scalar[GEN_SCALARS];
    int n_stages;
    GenStage stage[GEN_STAGES];
    int n_results, result[GEN_RESULTS];
    GenImage image[GEN_IMAGES];
    double work; /* about how many operations a run takes */
} GenProgram;

/* SplitMix64: small, and the same everywhere. */
uint64_t gen_next(uint64_t *state);
int gen_below(uint64_t *state, int n);            /* 0..n-1 */
int gen_between(uint64_t *state, int lo, int hi); /* both included */
bool gen_chance(uint64_t *state, int percent);

/* From this seed on most stencils are loops. */
#define GEN_LOOPS (UINT64_C(1) << 32)
void gen_program(GenProgram *p, uint64_t seed);
/* Types and sizes into p->image; false when some image would be empty, too large, or used as what it is not. */
bool gen_analyze(GenProgram *p);
/* Text into `out` (size n, always ended by NUL); false when it does not fit. */
bool gen_print(const GenProgram *p, char *out, size_t n);
/* Some expression of a stencil is a convolution. */
bool gen_stage_uses_mask(const GenStage *s);
const char *gen_type_name(GenType t);

/* generate_loop.c: how a stencil whose times are chosen is repeated; the head of its loop. */
void gen_choose_loop(const GenProgram *p, GenStage *s, uint64_t *rng);
void gen_loop_head(const GenProgram *p, int k, char *out, size_t n);
/* The member that is left behind the loop; whether a result wants the number of its turns. */
const char *gen_last_member(const GenProgram *p, int k, char text[16]);
bool gen_asks_turns(const GenProgram *p, int image);

/* Makes p smaller while `fails` stays true; asks at most `budget` times. */
void gen_shrink(GenProgram *p, bool (*fails)(const GenProgram *p, void *user), void *user,
                int budget);

/* generate_nodes.c: fills the body of stage s, whose arguments are chosen. */
void gen_body(GenProgram *p, GenStage *s, uint64_t *rng);
/* Whether the body reads image argument `slot`; taking an argument away that it does not read. A table that is not
 * read would count as an ordinary argument. */
bool gen_reads_arg(const GenStage *s, int slot);
void gen_drop_arg(GenStage *s, int slot);
void gen_drop_unread_tables(GenStage *s);
/* Extent of a mask in a dimension: indices lo..hi around its centre. */
void gen_mask_range(int size, int *lo, int *hi);

#endif
