/* analysis: what can be known about a graph without deciding anything, as side tables indexed by id. Pure functions
 * of the graph.
 *
 *   analysis_footprint.c  which points of a producer one point of a consumer reads
 *   analysis_range.c      which values an expression or a stage can have
 *   analysis_low.c        how many low bits of an integer anything reads
 *   analysis_mask.c       sums of constant * read: the coefficients as a matrix, its rank, its factors
 *   analysis_cost.c       operations and bytes of one point
 *   analysis_print.c      all of it as text */
#ifndef TESSERA_ANALYSIS_ANALYSIS_H
#define TESSERA_ANALYSIS_ANALYSIS_H

#include "base/diag.h"
#include "graph/access.h"

/* ---- Footprints ------------------------------------------------------------------------------ */
/* All reads of `producer` by `consumer`, windows included: the hull over its accesses. */
typedef struct Footprint {
    StageId consumer, producer;
    uint32_t n_accesses;
    uint8_t n_dims; /* of the producer */
    AccessRange dim[MAX_DIMS];
} Footprint;

/* ---- Values ---------------------------------------------------------------------------------- */
/* Every value lies in it: integers and bool in `i`; reals in [lo, hi], or NaN when `maybe_nan`. */
typedef struct ValueRange {
    Interval i;
    double lo, hi;
    bool maybe_nan;
    bool open; /* integers: the sum, product or quotient of values that may be any of their type */
} ValueRange;

/* How many low bits of it anything reads, of integers: 0 where nobody does. ALL_BITS: the value, as of all else. */
enum { ALL_BITS = 64 };
typedef struct LowBits {
    uint8_t *expr, *stage; /* by id */
} LowBits;
LowBits tessi_analyse_low_bits(const Graph *g, Arena *a);
/* A reduction or scan of integers whose low bits come from the low bits of what it goes through. */
bool tessi_stage_adds_up(const Graph *g, const Stage *s);

/* ---- Masks ----------------------------------------------------------------------------------- */
/* A piece that is a sum of constant * read of one producer at constant distances. */
typedef struct MaskInfo {
    StageId stage, producer;
    uint32_t piece;
    int64_t row0, col0;  /* offset of the first row and column in the last two dimensions */
    uint32_t rows, cols; /* 1-D masks have one row */
    double *coef;        /* rows * cols, 0 where nothing is read */
    uint32_t rank;
    double *column, *row; /* rank 1: coef = column * row up to rounding; else NULL */
} MaskInfo;

/* ---- Cost ------------------------------------------------------------------------------------ */
typedef enum OpClass {
    OPC_SIMPLE, /* add, compare, select, conversions, bits */
    OPC_MUL,
    OPC_FMA,
    OPC_DIV,
    OPC_SQRT,
    OPC_MATH, /* transcendentals and pow */
    OPC_SORT, /* steps of a median */
    N_OP_CLASSES
} OpClass;
/* Of one point, windows multiplied out, averaged over the pieces by their share of the points when that is known. */
typedef struct StageCost {
    double ops[N_OP_CLASSES];
    /* of the simple ones: what vectors save where they hold more of 8 or 16 bits than of 32 (minima and maxima) */
    double narrow;
    double conversions;    /* of the simple ones: between integers and reals */
    double converted;      /* of these: of elements as they are read */
    double powers;         /* of the transcendental ones: with two operands, which take doubles */
    double loads;          /* elements read, each time it is read */
    double looked_up;      /* elements of tables of more than a byte, found by data */
    double distinct_bytes; /* bytes of producers that a point adds to what its neighbours read */
    double stored_bytes;
} StageCost;

typedef struct Analysis {
    const Graph *g;
    VEC(Footprint) footprints; /* in order of consumer, then producer */
    ValueRange *expr_range;    /* by ExprId */
    ValueRange *stage_range;   /* by StageId: as read, F16 as float */
    VEC(MaskInfo) masks;
    StageCost *cost; /* by StageId */
} Analysis;

Analysis *tessi_analyse(const Graph *g, Arena *a);
/* The footprints of one consumer: the first of them, and how many there are. */
const Footprint *tessi_footprints_of(const Analysis *an, StageId consumer, uint32_t *n);
void tessi_analysis_print(const Analysis *an, const Graph *g, Text *out);

/* Warns, once a stage and kind, of values that a type does not hold: narrower integers, sums and products that wrap,
 * reals of 0 to 1 made integers. */
void tessi_warn_values(const Analysis *an, const Graph *g, Diags *d);

const char *tessi_op_class_name(OpClass c);
OpClass tessi_op_class(Op op);
/* Arithmetic operations, a fused multiply-add counting two. */
double tessi_cost_operations(const StageCost *c);

/* The parts, in the order in which tessi_analyse runs them. */
void tessi_analyse_footprints(Analysis *an, Arena *a);
void tessi_analyse_ranges(Analysis *an, Arena *a);
void tessi_analyse_masks(Analysis *an, Arena *a);
void tessi_analyse_costs(Analysis *an, Arena *a);

#endif
