/* Inside the pass `dots`: sums of products of bytes with small whole weights.
 *
 *   dots_match.c   which sums of a loop are such
 *   pass_dots.c    the loops with four products at once */
#ifndef TESSERA_LOOP_DOTS_H
#define TESSERA_LOOP_DOTS_H

#include "loop/loop_private.h"

enum { TAPS = 4, MOST_SUMS = 64, MOST_WINDOWS = 1 << 12, MOST_NESTED = 8, EXACT = 1 << 24 };

/* A sum of the loop in hand. */
typedef struct Sum {
    LStmt *start; /* its VAR */
    LVarId words;
    LBufferId table; /* of its weights */
    int exponent;    /* of reals: they are multiples of 2^exponent */
    int64_t most;    /* that the sum can be, in these multiples */
    bool raised;     /* some weight is not below 0 */
    uint32_t last;   /* number of the statement of the loop in which it is complete */
    bool dropped;    /* it stays as it is */
} Sum;

typedef struct Pixel {
    LExprId load;
    bool falls;   /* with the window's variable, along the row */
    bool negated; /* it is subtracted */
} Pixel;

/* The step of a sum in the window in hand. */
typedef struct Step {
    Sum *sum;
    LExprId weight;  /* a load */
    LBufferId where; /* whether the weight of the same number counts; none: they all do */
    Pixel pixel[2];
    uint32_t n_pixels;
} Step;

typedef struct Table {
    LBufferId of, where;
    LBufferId words; /* weights k to k + 3; behind these, the last `left` of them after zeros */
    uint32_t left;
    int exponent;
    bool falls, negated; /* weights k + 3 to k, the zeros behind them; with the other sign */
} Table;

typedef struct Dots {
    LoopProgram *p;
    const LStmt **definition; /* by LVarId */
    uint32_t n_vars;
    LStmt *loop; /* over x */
    Sum sum[MOST_SUMS];
    uint32_t n, windows, at;          /* at: number of the statement of the loop in hand */
    const LStmt *nested[MOST_NESTED]; /* loops around the window in hand, and itself */
    int64_t value[MOST_NESTED];
    uint32_t depth;
    bool changed;
    VEC(Table) tables;
} Dots;

/* ---- dots_match.c ---- */
/* Some sums of the loop in hand are sums of products of bytes; others are marked as dropped. */
bool tessi_dots_qualify(Dots *s);
/* What a LET stands for. */
LExprId tessi_dots_named(const Dots *s, LExprId id);
Sum *tessi_dots_sum_of(Dots *s, LVarId var);
/* What a SET of a window adds to a sum that is not dropped. */
bool tessi_dots_find_step(Dots *s, const LStmt *set, Step *step);
/* The weight of this number is not passed over. */
bool tessi_dots_counts(const Dots *s, LBufferId where, int64_t i);
double tessi_dots_weight(const Dots *s, LBufferId table, int64_t i);

#endif
