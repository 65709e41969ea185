/* Sums of products of bytes with small whole weights, known when compiling: what units for products of matrices add up
 * exactly, in any order. */
#ifndef TESSERA_GRAPH_GRAPH_PRODUCT_H
#define TESSERA_GRAPH_GRAPH_PRODUCT_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

enum { MOST_PRODUCT_SIDE = 64 };

/* The sum at (y, x) is, as often as 2^exponent says, that of weight[i * cols + j] * X[y + first[0] + i, x + first[1] +
 * j], where the read's own distance (AccessDim.add) comes to both. */
typedef struct ByteProduct {
    ExprId window;
    AccessId read; /* of X, of type uint8, in two dimensions; one of those of the window */
    int32_t first[2];
    uint32_t rows, cols;  /* at most MOST_PRODUCT_SIDE */
    const int8_t *weight; /* not below -127 */
    int exponent;         /* 0 for integers */
} ByteProduct;

/* Whether the only window of a plain stage of two dimensions is such a sum: integers of up to 32 bits, which wrap; or
 * reals where no sum of some of the products is ever rounded, or -0. The weights lie in the arena of the walk. */
bool tessi_stage_byte_product(const Graph *g, ExprWalk *walk, const Stage *s, ByteProduct *out);

/* What blocks of so many columns and threads have in shared memory while they take PRODUCT_BLOCK_ROWS rows. */
enum { PRODUCT_BLOCK_ROWS = 64 };
typedef struct ProductTile {
    int64_t rows, wide;  /* points that are read */
    int64_t across;      /* columns that the warps take at once */
    int64_t apart;       /* rows that are 8 apart */
    int64_t read, pitch; /* words of a row that are used, and from row to row */
    int64_t parts;       /* products for a row of the mask */
    int64_t weights;     /* words of all of them */
    int64_t bytes;       /* of shared memory */
} ProductTile;
ProductTile tessi_product_tile(uint32_t mask_rows, uint32_t mask_columns, int64_t columns,
                               int64_t threads);

#endif
