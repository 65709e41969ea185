/* Shapes: expressions up to a shift. X@[0,1] - X and X@[0,2] - X@[0,1] have one shape, at places (0,0) and (0,1):
 * what one of them gives at a point the other gives at the point before. Two expressions of a piece that have a
 * shape in common can share one stage. */
#ifndef TESSERA_ANALYSIS_SHAPE_H
#define TESSERA_ANALYSIS_SHAPE_H

#include "graph/access.h"
#include "graph/graph_walk.h"

typedef struct ShapeId {
    uint32_t v;
} ShapeId;
/* What an expression is an instance of, and where. */
typedef struct Instance {
    ShapeId shape;
    uint8_t dims; /* bit d: it lies somewhere in dimension d; elsewhere at[d] = 0 */
    int64_t at[MAX_DIMS];
} Instance;

typedef struct Shapes {
    Graph *g;
    /* By StageId: how a producer is answered beyond its edges. A read known to be inside may as well have that rule,
     * if all agree. */
    const AccessRules *rule;
    Instance *of;    /* by ExprId */
    uint32_t n;      /* greatest ShapeId */
    uint32_t *depth; /* by ShapeId: greater than that of every part */
    double *work;    /* by ShapeId: operations, those of shared parts counted again */
} Shapes;

/* Of every expression there is; accesses are appended to `g`. */
Shapes *tessi_shapes(Graph *g, Arena *a);
/* The rules of a read once what is inside has the producer's common rule. */
void tessi_shape_rules(const AccessRules *common, Access *a);

#endif
