/* What expressions compute at a point, once and for all: the graph interpreter runs whole images with it, the
 * simplifier computes with it what is known before the run. Reads of images go through a callback. */
#ifndef TESSERA_GRAPH_GRAPH_EVAL_H
#define TESSERA_GRAPH_GRAPH_EVAL_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

/* Expressions to be evaluated one after the other. */
typedef struct Region {
    const ExprId *at;
    uint32_t n;
} Region;

typedef struct PointEval PointEval;
struct PointEval {
    const Graph *g;
    const ExprDeps *deps; /* by expression */
    const Region *body;   /* by expression: what a WINDOW evaluates for each of its points */
    const Region *where;  /* by expression: what its condition needs of that */
    Value *value;         /* by expression: the value at the current point */
    Value *sorted[MAX_WINDOW_LEVELS]; /* room for the points of the largest median of each level */
    int32_t window[MAX_WINDOW_LEVELS][MAX_WINDOW_VARS]; /* variables of the windows that are open */
    /* Set by the user; not needed for expressions without data (ExprDeps.data). */
    int64_t x[MAX_DIMS];       /* the piece coordinates */
    const Value *scalars;      /* by input scalar */
    const int64_t *size_value; /* by size */
    const Value *state;        /* by number: of the scan whose step it is */
    bool (*load)(PointEval *p, const Access *a, Value *v);
    void *user;
    Failure *failure; /* may be NULL */
};

/* Side tables for the expressions that the graph has now. */
void tessi_point_init(PointEval *p, const Graph *g, Arena *a);
/* What `root` needs that is not inside windows of its own. */
Region tessi_point_region(const PointEval *p, Arena *a, ExprWalk *walk, ExprId root);
/* Evaluates the region at p->x for p->window; false when a promise of the graph is broken (a sentence is in
 * p->failure). */
bool tessi_point_eval(PointEval *p, const Region *region);

#endif
