/* Inside the verifier. */
#ifndef TESSERA_GRAPH_GRAPH_VERIFY_H
#define TESSERA_GRAPH_GRAPH_VERIFY_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

typedef struct Verify {
    const Graph *g;
    const char *sentence; /* the first violation */
    ExprDeps *deps;       /* once the ids of all expressions are known to be sound */
    ExprWalk walk;
} Verify;

/* Notes the violation and returns false. */
bool tessi_verify_fail(Verify *v, const char *fmt, ...) TESS_PRINTF(2, 3);
bool tessi_verify_size(Verify *v, SizeId id, const char *of);
/* Every expression of the graph, and v->deps. */
bool tessi_verify_exprs(Verify *v);

#endif
