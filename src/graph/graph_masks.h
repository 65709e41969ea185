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
/* m = across (along dimension `d`) * line (of the other dimensions), where that needs fewer taps. Integers exactly; reals of type t so that
 * each product is within 2 units in the last place of the weight, and exactly where such factors are found. */
bool tessi_matrix_factor(const Matrix *m, Arena *a, ScalarType t, uint32_t d, Matrix *across,
                         Matrix *line);

#endif
