/* Vector loops of CPUs, for the passes that make them: which loops can be executed in vectors, and their statements
 * and values on vectors.
 *
 * A loop marked SIMD becomes steps of whole vectors when all control in its body is the same for all lanes, and what
 * the lanes read and write lies side by side. The passes `slide` and `pairs` take the loops for which they know a
 * better form, `lanes` all others; `rows` and `late` change the loops over vectors that these leave. */
#ifndef TESSERA_LOOP_VECTOR_H
#define TESSERA_LOOP_VECTOR_H

#include "loop/pass.h"

/* What a value is to the lanes of a loop. */
typedef enum LShape {
    SHAPE_UNIFORM, /* the same for all: a scalar */
    SHAPE_RAMP, /* an index that grows by one from lane to lane: kept as that of the first lane */
    SHAPE_LANES /* a vector */
} LShape;

enum { VECTOR_MOST_COPIES = 8 };

typedef struct Vectors Vectors;
/* How values and stores of a loop become ones of vectors. */
typedef struct VectorForm {
    LExprId (*value)(Vectors *v, LExprId id); /* of all lanes, whatever its shape */
    ScalarType (*type)(ScalarType t);         /* that a variable of type t has on vectors */
    void (*store)(Vectors *v, const LStmt *s, LBlock *out);
} VectorForm;

struct Vectors {
    LoopProgram *p;
    Arena *scratch;
    const VectorForm *form;
    uint32_t n_vars; /* of the program as it came, and so of the tables */

    /* The loop in hand. */
    const LStmt *loop;
    uint8_t lane_bytes; /* of the widest value */
    bool repeatable;    /* a point may be computed twice */
    bool near;          /* indices of lanes have 32 bits */
    bool far;           /* which do not do */
    /* Elements are loaded from anywhere; at distances that are known; at some that compilers have no shuffles for.
     * Reals become integers, of which compilers make no vectors. */
    bool gathers, strides, odd_strides, to_integers;
    uint8_t strided_bytes;    /* of the narrowest such element; 0: not all are shuffled */
    bool spreads, holes;      /* one element of each pixel is stored; of some not all of them are */
    bool pairs;               /* of pixels are stored, which compilers do not put together */
    uint32_t copies;          /* vectors that a step computes side by side */
    const LStmt **definition; /* by LVarId: the statement that makes it */
    bool *fits;               /* by LExprId, valid where fits_stamp says so */
    uint32_t *fits_stamp;
    uint32_t *needed;   /* by LVarId: the stamp of a check that found its lanes in use */
    uint8_t *var_shape; /* LShape by LVarId */
    uint8_t *shape;     /* LShape by LExprId, valid where shape_stamp says so */
    uint32_t *shape_stamp, *noted, *checked, stamp;
    uint32_t *nodes, *depth; /* by LExprId */
    bool *loaded, *stored;   /* by LBufferId; empty but while a loop is looked at */
    bool *declared;          /* by LVarId: in the body */
    VEC(uint32_t) vars;      /* of the loop and of its body */
    VEC(uint32_t) touched;   /* buffers that the loop loads or stores */

    /* What its variables and expressions are on vectors. */
    uint32_t copy;                       /* in hand */
    LExprId *var_as[VECTOR_MOST_COPIES]; /* by LVarId; none: itself */
    LExprId *expr_as;                    /* by LExprId: vectors that have a name */
    LExprId *scalar, *value;             /* known so far, by LExprId */
    uint32_t *scalar_stamp, *value_stamp, value_now;
};

/* ---- vector_check.c ---- */
LShape tessi_vector_shape(Vectors *v, LExprId id);
/* How many elements those of the lanes lie apart along a row, the same number for all, where few
 * vectors hold them all (negative: the first lane has the last one); 0: they do not. */
int32_t tessi_vector_apart(Vectors *v, const LExpr *load);
/* By how many points of a row each lane of what is stored lies behind the one before it; in *first (may be NULL) where
 * the first one lies. 0: elsewhere. */
int64_t tessi_vector_store_apart(Vectors *v, const LStmt *s, LExprId *first);
/* The elements of the lanes lie one behind the other. */
bool tessi_vector_side_by_side(Vectors *v, LBufferId b, const LExprId *index);
/* Offers each SIMD loop that can be executed in vectors to `rewrite`, in functions that are no kernels. It appends
 * what takes the loop's place and returns true, or returns false. Programs without vectors are left alone. */
typedef bool (*VectorRewrite)(Vectors *v, LStmt *loop, LBlock *out);
void tessi_vector_visit(LoopProgram *p, VectorRewrite rewrite);

/* ---- vector_value.c ---- */
extern const VectorForm tessi_vector_plain;
/* From now on values are those of this copy; what was known of them is forgotten. */
void tessi_vector_use_copy(Vectors *v, uint32_t copy);
/* A value that is the same for all lanes, or the first lane's index. */
LExprId tessi_vector_scalar(Vectors *v, LExprId id);
LExprId tessi_vector_value(Vectors *v, LExprId id);
/* Appends the statements of a body, on vectors. */
void tessi_vector_body(Vectors *v, const LBlock *from, LBlock *to);
LExprId tessi_vector_new_var(Vectors *v, const char *name);
/* n vectors in lanes. */
LExprId tessi_vector_points(Vectors *v, int64_t n);

/* ---- vector_index.c ---- */
/* The integer of 8 or 16 bits that an index is, by whatever name; none: it is none. */
LExprId tessi_vector_narrow_index(Vectors *v, LExprId id);
/* The index grows by the same from lane to lane. */
bool tessi_vector_is_affine(Vectors *v, LExprId id);
/* By how many, a constant, an index grows from lane to lane; in *first (may be NULL) that of the first lane. False: it
 * is another one. */
bool tessi_vector_slope(Vectors *v, LExprId id, int64_t *slope, LExprId *first);
/* A name for an index that grows by a constant, but for the loop's own and those beside it. */
bool tessi_vector_is_offset(Vectors *v, LVarId var);
/* Whether 32 bits hold an index in all lanes. */
bool tessi_vector_index_fits(Vectors *v, LExprId id);

/* ---- vector_steps.c ---- */
/* Fills in how the points from `begin` to `end`, as many as `n` vectors have lanes for or more, are computed. */
typedef void (*VectorFill)(Vectors *v, const LStmt *loop, uint32_t n, LExprId begin, LExprId end,
                           LBlock *out);
/* A range as wide as n vectors or wider, else point by point. */
void tessi_vector_overlapping(Vectors *v, LStmt *loop, uint32_t n, VectorFill fill, LBlock *out);
/* Steps of n vectors, the last of which ends with the range. */
void tessi_vector_steps(Vectors *v, const LStmt *loop, uint32_t n, LExprId begin, LExprId end,
                        LBlock *out);
/* Whole steps, then what is left point by point. */
void tessi_vector_with_rest(Vectors *v, LStmt *loop, LBlock *out);
/* Where the whole vector of the row begins that x stands in; x may be below 0. */
LExprId tessi_vector_before(LoopProgram *p, uint8_t lanes, LExprId x);

#endif
