/* Where a point of a stage lies in an input image: parts of images, samplings and placements move and scale, indices
 * computed from the point turn too. What stencils read besides does not count, so that a filter leaves its image where
 * it is. */
#ifndef TESSERA_ANALYSIS_GEOMETRY_H
#define TESSERA_ANALYSIS_GEOMETRY_H

#include "graph/graph.h"

/* Of one dimension of the input: the sum of by[d] * x[d], and offset; x is the point of the stage. `middle` is the
 * offset of the middle of all that the point comes from, neighbours that a filter reads besides too. */
typedef struct GeometryDim {
    double by[MAX_DIMS], offset, middle;
} GeometryDim;
typedef struct Geometry {
    bool known; /* the stage comes from the image, everywhere at the same scale */
    int n_dims; /* of the image */
    GeometryDim dim[MAX_DIMS];
} Geometry;

/* By StageId, in the arena; `image` is the number of the input, params and scalars are the values of the graph's
 * parameters and scalars (NULL: scalars are not known). */
const Geometry *tessi_geometry(const Graph *g, uint32_t image, const int64_t *params,
                               const Value *scalars, Arena *a);

#endif
