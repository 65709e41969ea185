/* Computed indices as functions of the point: what `floor((index(0) + 0.5) * 3 - 0.5)` is on average. */
#ifndef TESSERA_ANALYSIS_INDICES_H
#define TESSERA_ANALYSIS_INDICES_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

/* add + sum of by[d] * index(d), the variables of windows being in the middle of their ranges. */
typedef struct Affine {
    bool known; /* it is of this kind, but for what is rounded, which counts as its mean */
    bool whole; /* a whole number at each point */
    double add, by[MAX_DIMS];
    double
        vague; /* how far it goes to each side, where a condition chooses among the points of a window */
} Affine;

/* Of each expression of the list, which stands in the order of ids; `at` has a place for each expression of the
 * graph. scalars: values of the graph's scalars; NULL: not known. */
void tessi_find_affine(const Graph *g, const ExprList *list, const int64_t *params,
                       const Value *scalars, Affine *at);

#endif
