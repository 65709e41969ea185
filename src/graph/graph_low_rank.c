/* A matrix of weights as a sum of few products of a column and a row: its singular value decomposition by Jacobi
 * rotations, cut off. */
#include <math.h>
#include <string.h>

#include "graph/graph_masks.h"

enum { MAX_SIDE = 128, MAX_SWEEPS = 30 };

/* The vectors b[k] of n elements become orthogonal; turn[k] says what b[k] is a sum of: before = transposed turn *
 * b. */
typedef struct Jacobi {
    uint32_t n_vectors, n;
    double *b, *turn;
} Jacobi;

static void rotate(double *x, double *y, uint32_t n, double c, double s)
{
    for (uint32_t k = 0; k < n; k++) {
        double old = x[k];
        x[k] = c * old - s * y[k];
        y[k] = s * old + c * y[k];
    }
}

/* Makes vectors i and j orthogonal; false when they are. */
static bool make_orthogonal(Jacobi *v, uint32_t i, uint32_t j)
{
    double *x = v->b + (size_t)i * v->n, *y = v->b + (size_t)j * v->n, xx = 0, yy = 0, xy = 0;
    for (uint32_t k = 0; k < v->n; k++) {
        xx += x[k] * x[k];
        yy += y[k] * y[k];
        xy += x[k] * y[k];
    }
    if (fabs(xy) <= 1e-15 * sqrt(xx * yy))
        return false;
    double zeta = (yy - xx) / (2 * xy);
    double tangent = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + tangent * tangent);
    rotate(x, y, v->n, c, c * tangent);
    rotate(v->turn + (size_t)i * v->n_vectors, v->turn + (size_t)j * v->n_vectors, v->n_vectors, c,
           c * tangent);
    return true;
}

static Jacobi decompose(const MatrixView *view, Arena *a, bool by_rows)
{
    Jacobi v = { .n_vectors = by_rows ? view->rows : view->cols,
                 .n = by_rows ? view->cols : view->rows };
    v.b = ARENA_NEW_ARRAY(a, double, (size_t)v.n_vectors *v.n);
    v.turn = ARENA_NEW_ARRAY(a, double, (size_t)v.n_vectors *v.n_vectors);
    for (uint32_t i = 0; i < v.n_vectors; i++) {
        v.turn[(size_t)i * v.n_vectors + i] = 1;
        for (uint32_t j = 0; j < v.n; j++) {
            uint32_t k = by_rows ? tessi_matrix_place(view, i, j) : tessi_matrix_place(view, j, i);
            v.b[(size_t)i * v.n + j] = view->m->used[k] ? view->m->at[k].f : 0;
        }
    }
    bool turned = true;
    for (int sweep = 0; turned && sweep < MAX_SWEEPS; sweep++) {
        turned = false;
        for (uint32_t i = 0; i < v.n_vectors; i++)
            for (uint32_t j = i + 1; j < v.n_vectors; j++)
                turned |= make_orthogonal(&v, i, j);
    }
    return v;
}

/* The vector with the largest singular value that is not taken yet. */
static uint32_t next_largest(const Jacobi *v, bool *taken, double *value)
{
    uint32_t best = 0;
    *value = -1;
    for (uint32_t i = 0; i < v->n_vectors; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < v->n; k++)
            sum += v->b[(size_t)i * v->n + k] * v->b[(size_t)i * v->n + k];
        if (!taken[i] && sqrt(sum) > *value) {
            *value = sqrt(sum);
            best = i;
        }
    }
    taken[best] = true;
    return best;
}

/* Values without the tiny ones that only rounding made, which would cost taps. */
static void set_factor(Matrix *m, ScalarType t, const double *x)
{
    double largest = 0;
    for (uint32_t k = 0; k < m->n; k++)
        largest = fmax(largest, fabs(x[k]));
    for (uint32_t k = 0; k < m->n; k++) {
        bool noise = fabs(x[k]) <= largest * (t == TYPE_F64 ? 0x1p-50 : 0x1p-30);
        m->at[k].f = noise ? 0 : tessi_matrix_rounded(t, x[k]);
        m->used[k] = m->at[k].f != 0;
    }
}

/* Takes one product away from what is left of the matrix; the sum of magnitudes that remains. */
static double take_away(double *left, const Matrix *across, const Matrix *line, double *growth)
{
    double rest = 0;
    for (uint32_t i = 0; i < across->n; i++)
        for (uint32_t j = 0; j < line->n; j++) {
            double product = across->at[i].f * line->at[j].f;
            left[(size_t)i * line->n + j] -= product;
            rest += fabs(left[(size_t)i * line->n + j]);
            *growth += fabs(product);
        }
    return rest;
}

bool tessi_matrix_low_rank(const Matrix *m, Arena *a, ScalarType t, uint32_t d, double error,
                           uint32_t most, LowRank *out)
{
    const MatrixView view = tessi_matrix_view(m, d);
    bool by_rows = view.rows <= view.cols;
    uint32_t side = by_rows ? view.rows : view.cols;
    *out = (LowRank){ 0 };
    if (side > MAX_SIDE)
        return false;
    const Jacobi v = decompose(&view, a, by_rows);
    double *left = ARENA_NEW_ARRAY(a, double, m->n), total = 0, value, first = 0;
    for (uint32_t i = 0; i < view.rows; i++)
        for (uint32_t j = 0; j < view.cols; j++) {
            uint32_t k = tessi_matrix_place(&view, i, j);
            left[(size_t)i * view.cols + j] = m->used[k] ? m->at[k].f : 0;
            total += fabs(left[(size_t)i * view.cols + j]);
        }
    bool *taken = ARENA_NEW_ARRAY(a, bool, side);
    out->across = ARENA_NEW_ARRAY(a, Matrix, side);
    out->line = ARENA_NEW_ARRAY(a, Matrix, side);
    out->error = 1;
    for (uint32_t k = 0; k < side; k++) {
        uint32_t best = next_largest(&v, taken, &value);
        first = k ? first : value;
        if (value <= first * (t == TYPE_F64 ? 0x1p-48 : 0x1p-22))
            break;
        out->rank = k + 1;
        if (out->n == most || out->error <= error)
            continue;
        Matrix *across = &out->across[out->n], *line = &out->line[out->n];
        if (!tessi_matrix_factors_init(&view, a, d, across, line))
            return false;
        const double *turn = v.turn + (size_t)best * v.n_vectors, *b = v.b + (size_t)best * v.n;
        set_factor(across, t, by_rows ? turn : b);
        set_factor(line, t, by_rows ? b : turn);
        out->error = take_away(left, across, line, &out->growth) / total;
        out->n++;
    }
    out->growth /= total;
    return true;
}
