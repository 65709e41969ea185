/* What the parts of the masks pass share: windows as taps, and the stages that are made of them. */
#ifndef TESSERA_GRAPH_GRAPH_TAPS_H
#define TESSERA_GRAPH_GRAPH_TAPS_H

#include "graph/graph_masks.h"
#include "graph/graph_passes.h"

/* Where the expression at hand is computed. */
typedef struct Domain {
    const char *name;
    Span span;
    uint8_t n_dims;
    SizeId count[MAX_DIMS];
} Domain;

typedef struct Masks {
    Graph *to;
    MaskForm form; /* of the window at hand */
    FpMode fp;
    MaskChoice choice;
    ExprWalk walk;
    const Graph *from;
    Domain domain;
    bool apart;        /* wide sums of the piece at hand get stages of their own */
    VEC(StageId) made; /* in the order made; looked through for equals */
} Masks;

/* A reduction over a window: weights (SUM only; 0 where `used` is false) times a value. */
typedef struct Taps {
    Method method;
    Reduction reduction;
    WindowId window;
    ExprId value;
    ScalarType type;
    Matrix weights; /* as many variables as the window */
    bool filled;    /* tessi_taps_filled, or made of such sums */
} Taps;

/* What a window reduces, by points; false where weights or shape are not known when compiling. */
bool tessi_taps_find(Masks *m, const Expr *window, Taps *t);
/* The same of a window with a condition that pixels decide: of all its points, where those that it leaves out have a
 * value that changes nothing. Such sums of reals start from 0. */
bool tessi_taps_where(Masks *m, const Expr *window, Taps *t);

/* One variable of a window moves all reads along one dimension of the stage in the same way. */
typedef struct Axis {
    uint32_t var;
    AccessDim dim; /* as all reads have it */
    SizeId size;   /* of what is read, there */
} Axis;
bool tessi_taps_axis(Masks *m, ExprId value, uint32_t var, Axis *axis);

/* The stage with this body, made now or before. */
StageId tessi_masks_stage(Masks *m, const Domain *at, const char *name, ScalarType t, ExprId body);
/* Of the last place of a number. */
double tessi_half_unit(ScalarType t);

/* All that is read are choices between what is at a point and a constant, as where points need not be valid. Sums of
 * those go along the outermost dimension first: what is chosen is then chosen once for all rows that a step computes,
 * and along a row, sums are read. There reads of equal weight are added up first, if sums may be taken so. */
bool tessi_taps_filled(Masks *m, ExprId value);

/* Which columns (the window's last variable) of a mask are alike, where a sum may be taken that way. */
typedef struct Columns {
    uint32_t n;
    uint32_t *like; /* by column: the first one with the same weights */
    bool *turned;   /* by column: with the opposite sign */
    uint32_t steps; /* weights to apply */
    uint32_t most;  /* columns alike */
} Columns;
Columns tessi_taps_columns(Masks *m, const Taps *t);
/* The same sum over the first half of the columns, of values added to (or subtracted from) those of the opposite
 * half; false where columns are not each like the opposite one, or folding is not allowed. */
bool tessi_taps_fold(Masks *m, const Taps *t, Taps *folded);

/* A line of equal weights (or none: minima, maxima, any, all) by way of stages of partial results, which neighbours
 * share; none where that is not cheaper or the contract about rounding forbids it. */
ExprId tessi_taps_in_parts(Masks *m, const Domain *at, const Taps *t);
/* The same of other shapes than lines and products: rows of them are runs, made of such partial results. */
ExprId tessi_taps_in_runs(Masks *m, const Domain *at, const Taps *t);
/* All points that are used have one weight, and there are some. */
bool tessi_taps_equal_weights(const Taps *t, Value *weight);

#endif
