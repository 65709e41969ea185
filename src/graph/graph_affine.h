/* Recognising affine indices. */
#ifndef TESSERA_GRAPH_GRAPH_AFFINE_H
#define TESSERA_GRAPH_GRAPH_AFFINE_H

#include "graph/graph.h"

/* Makes the index of *d affine when the integer expression `index` is: constants, window variables, one coordinate
 * and one extent, each with a factor. False (and *d untouched) when it is not, or when int32 arithmetic could wrap. */
bool tessi_affine_index(Graph *g, ExprId index, AccessDim *d);

#endif
