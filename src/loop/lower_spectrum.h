/* Inside lowering: what the kernels of sums by Fourier transforms share. */
#ifndef TESSERA_LOOP_LOWER_SPECTRUM_H
#define TESSERA_LOOP_LOWER_SPECTRUM_H

#include "loop/lower_fourier.h"
#include "loop/lower_kernel.h"

enum { MOST_ELEMENTS = 4, TAP_VECTORS = 2 /* of a thread */ };

/* Elements of a vector. */
uint32_t tessi_f_vector(const Transform *t);
LExprId tessi_f_times(const Transform *t, LExprId a, int64_t b);
/* Neighbours in a row, n of them, in one piece. */
void tessi_f_take(const Transform *t, Columns from, LExprId row, LExprId col, const char *name,
                  Complex *out, uint32_t n);
/* A value and where it is to be stored. */
typedef struct Placed {
    LExprId value, row, col;
} Placed;
enum { PLACED = sizeof(Placed) / sizeof(LExprId) };
void tessi_f_give(const Transform *t, LBufferId to, Placed *at, uint32_t n);

/* Pairs of blocks; columns of the result, in whole strips. */
LExprId tessi_spectrum_pairs(const Transform *t);
LExprId tessi_spectrum_columns(const Transform *t);
/* Opens a kernel, and ends it. */
uint32_t tessi_spectrum_open(const Transform *t, const char *part, const char *comment,
                             uint32_t threads, bool beside);
void tessi_spectrum_close(Lower *l, uint32_t depth);

/* ---- lower_taps.c ---- */
void tessi_spectrum_taps(const Transform *t);

#endif
