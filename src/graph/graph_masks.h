/* Weights of a window as a matrix of as many dimensions as the window has variables. */
#ifndef TESSERA_GRAPH_GRAPH_MASKS_H
#define TESSERA_GRAPH_GRAPH_MASKS_H

#include "graph/graph.h"

typedef struct Matrix {
    uint32_t n_dims, dim[MAX_WINDOW_VARS], n;
    Value *at;  /* row-major; reals in f, integers in i */
    bool *used; /* false: no tap here, whatever the weight */
} Matrix;

/* All weights 0 and unused; false when the window has too many points. */
bool tessi_matrix_init(Matrix *m, Arena *a, const Window *w);
/* m = across (along dimension `d`) * line (of the other dimensions), where that needs fewer taps (`always`: or as
 * many, or more). Integers exactly; reals of type t so that each product is within 2 units in the last place of the
 * weight, and exactly where such factors are found. */
bool tessi_matrix_factor(const Matrix *m, Arena *a, ScalarType t, uint32_t d, bool always,
                         Matrix *across, Matrix *line);

/* m nearly = the sum of n products across[k] (along dimension `d`) * line[k]. */
typedef struct LowRank {
    uint32_t n, rank; /* rank: products that the matrix has, up to the rounding of its weights */
    Matrix *across, *line;
    double error;  /* the sum of what the weights are off by, over the sum of their magnitudes */
    double growth; /* the sum of the magnitudes of all products, over the same */
} LowRank;
/* As few products as leave at most `error`, but not more than `most`. The weights are real and at least one is not
 * 0; false when the matrix is too large for this. */
bool tessi_matrix_low_rank(const Matrix *m, Arena *a, ScalarType t, uint32_t d, double error,
                           uint32_t most, LowRank *out);

/* Seen as a table of rows (dimension d) and columns (all others). */
typedef struct MatrixView {
    const Matrix *m;
    uint32_t rows, cols, inner; /* elements between two rows */
} MatrixView;
MatrixView tessi_matrix_view(const Matrix *m, uint32_t d);
uint32_t tessi_matrix_place(const MatrixView *v, uint32_t row, uint32_t col);
/* Empty vectors of a row's and a column's shape; false when the matrix is too large. */
bool tessi_matrix_factors_init(const MatrixView *v, Arena *a, uint32_t d, Matrix *across,
                               Matrix *line);
double tessi_matrix_rounded(ScalarType t, double x);

#endif
