/* Sums over wide masks by Fourier transforms. What can be taken so, and the algorithm to the last bit, which
 * lowering and interpreter follow independently of each other.
 *
 * A sum of K x L products w[i, j] * X[y + i, x + j] is transformed along the columns of the image alone; along the
 * rows its L taps stay as they are, for every frequency. So neighbouring columns stand in the lanes of a vector
 * everywhere, and nothing is ever transposed.
 *
 *   blocks     With transforms of N rows, block b gives the N - K + 1 rows from (N - K + 1) * b on, from the N rows
 *              that they read, answered by
 *              the border rule. Blocks 2p and 2p + 1 are the real and the imaginary part of one complex column z.
 *   forward    Z = transform of each column: passes of radix R (tessi_transform_radices) in place, over blocks of n
 *              rows, n = N first. With
 *              M = n / R, rows j + M * r (r < R) are transformed together, times w(n, j * r), w(n, t) = exp(-2 pi i t /
 *                n), where M > 1. Then
 *              n = M. Row p then holds frequency tessi_transform_frequency(N, p).
 *   taps       Y[p, x] = sum over j in order of H[p, j] * Z[p, x + j], each step re = fma(z.re, h.re, re), re =
 *              fma(z.im, -h.im, re),
 *              im = fma(z.re, h.im, im), im = fma(z.im, h.re, im), all from 0, where H[p, j] = (sum over i in order of
 *                w[i, j] * exp(2 pi i f i /
 *              N)) / N is added up by fma in double precision.
 *   spoiled    Where a part of Y[0, x] is not finite, since something that column x needs is not, the transforms have
 *              mixed that into every row:
 *              both blocks have the sums as written in that column.
 *   backward   the same passes in reverse order with conjugate factors, which come before the transform of R rows.
 *
 * Multiplying a by a factor (c, s): re = fma(a.re, c, -(a.im * s)), im = fma(a.re, s, a.im * c). The transforms of 4
 * and 8 rows are those of lower_transform.c, or of graph_transform.c in interp: sums and differences, then multiples
 * of sqrt(1/2) by fma. */
#ifndef TESSERA_GRAPH_GRAPH_TRANSFORM_H
#define TESSERA_GRAPH_GRAPH_TRANSFORM_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

enum { LEAST_TRANSFORM = 32, MOST_TRANSFORM = 1024, MAX_RADICES = 5 };

/* A sum that can be taken by transforms: weights that are the same at all points, times what is read at the distance
 * of the variables. */
typedef struct WideSum {
    ExprId window, weight, where; /* where: none = everywhere */
    ExprId value;                 /* the read, or a cast of it */
    AccessId read;                /* in two dimensions */
    uint32_t rows, cols;          /* of the mask */
} WideSum;

/* The only window in the body of a plain stage; none when there are several or none. */
ExprId tessi_stage_only_window(const Graph *g, ExprWalk *walk, const Stage *s);
/* Whether sum `window` can be taken by transforms where a stage of n_dims dimensions computes it; else why not. */
bool tessi_wide_sum(const Graph *g, ExprWalk *walk, uint8_t n_dims, ExprId window, WideSum *out,
                    const char **why);
/* The only such sum in the body of a plain stage that may be taken so by the fp mode and by what is asked for; false
 * when there is none. `must`: it is asked for. */
bool tessi_stage_wide_sum(const Graph *g, ExprWalk *walk, const Stage *s, WideSum *out, bool *must);

/* Points beside each other in a row of a window, [from, to), counted from its first row and column. */
typedef struct WindowRun {
    uint32_t row, from, to;
} WindowRun;

/* A median of a rectangle, or of a shape in it that is known when compiling, of what is read at the distance of the
 * variables: what can be found strip by strip. */
typedef struct WideMedian {
    ExprId window, value; /* value: the read, or a cast of it */
    AccessId read;
    uint32_t rows, cols, points;
    const WindowRun *run; /* n_runs of them, of a shape; NULL: all points of the rectangle */
    uint32_t n_runs;
    /* integers that compare as the values do: those themselves, of reals their places in order */
    ScalarType key;
} WideMedian;
/* Values of a shape that kernels of GPUs still write out one by one: those of more are gone through run by run. */
enum { MEDIAN_MOST_WRITTEN = 200 };
/* The most values that the threads of a GPU have in registers to sort, counted in words. */
enum { MEDIAN_MOST_SORTED = 128 };
/* The only such window in the body of a plain stage of two dimensions. */
bool tessi_stage_wide_median(const Graph *g, ExprWalk *walk, const Stage *s, WideMedian *out);

/* The radices of a transform of n = 32, 64, .. 1024 rows, first to last; how many. */
uint32_t tessi_transform_radices(uint32_t n, uint32_t radix[MAX_RADICES]);
uint32_t tessi_transform_frequency(uint32_t n, uint32_t row);
/* sin(2 pi k / n), for any k; the cosine is that of k + n / 4. */
double tessi_transform_sine(uint32_t n, uint32_t k);
/* sqrt(1/2) as a value of the type. */
double tessi_transform_half(ScalarType t);
/* What the result is off by at most, in units of sum |weight| times the greatest |value| read. */
double tessi_transform_error(ScalarType t, uint32_t n, uint32_t cols);

#endif
