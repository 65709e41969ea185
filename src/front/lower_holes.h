/* front/lower_holes: what lower_pass.c, lower_holes.c and lower_written.c share: windows over points that need not be
 * valid. */
#ifndef TESSERA_FRONT_LOWER_HOLES_H
#define TESSERA_FRONT_LOWER_HOLES_H

#include "front/lower.h"

typedef enum Body {
    BODY_VALUE,
    BODY_WEIGHT, /* what the value is multiplied with */
    BODY_ONE,
    BODY_ENOUGH, /* the point can be used */
    BODY_ALL     /* all is valid that it cannot do without */
} Body;

/* The weights of a window by point, as far as they are known. */
typedef struct Weights {
    bool known; /* and not all 0 */
    bool unit;  /* none is written */
    bool plain; /* the value is weights times one read */
    double *at;
    uint32_t n;
    bool above, below;
    double sum[2]; /* of those above, below */
} Weights;

typedef struct Pass {
    Reduction reduction;
    ScalarType type;
    Body body;
    LFill fill;
    bool data_where; /* conditions on pixels count */
    bool usable;     /* points that can be used alone count */
    int sign;        /* of the weights that count, unless 0 */
    const Weights *weights;
} Pass;

/* A sum over the weights of one sign: of values, of the weights that hold, and of all. */
typedef struct HoledPart {
    ExprId values, holding, all;
    ExprId some; /* some point holds; none: where its weight is not 0 */
    bool known;  /* the weights are, so that there are some */
} HoledPart;

/* lower_holes.c */
/* values * all / holding; whether there is anything to divide by. */
ExprId tessi_lower_scaled(Lower *l, ScalarType t, const HoledPart *part);
ExprId tessi_lower_part_holds(Lower *l, ScalarType t, const HoledPart *part);

/* lower_pass.c */
/* The points that can be used, as a condition; none: all can. */
ExprId tessi_lower_usable(Lower *l, LBody *b, const TExpr *e);
Value tessi_lower_weight_value(ScalarType t, double x); /* as an element of that type */
/* `unit` and `plain` of a value. */
void tessi_lower_look_at_value(const TExpr *value, uint32_t channel, Weights *w);
void tessi_lower_find_weights(Lower *l, LBody *b, const TExpr *e, uint32_t channel, Weights *w);
/* One reduction over the window of e; none where a question is asked whose answer is always yes. */
ExprId tessi_lower_pass(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const Pass *p);

#endif
