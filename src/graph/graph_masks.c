/* Matrices of weights and their factors. */
#include "graph/graph_masks.h"

#include <math.h>

static bool allocate(Matrix *m, Arena *a)
{
    m->n = 1;
    for (uint32_t k = 0; k < m->n_dims; k++) {
        if ((uint64_t)m->n * m->dim[k] > MAX_WINDOW_POINTS)
            return false;
        m->n *= m->dim[k];
    }
    m->at = ARENA_NEW_ARRAY(a, Value, m->n);
    m->used = ARENA_NEW_ARRAY(a, bool, m->n);
    return true;
}

bool tessi_matrix_init(Matrix *m, Arena *a, const Window *w)
{
    *m = (Matrix){ .n_dims = w->n_vars };
    for (uint32_t k = 0; k < w->n_vars; k++) {
        if (w->hi[k] < w->lo[k])
            return false;
        m->dim[k] = (uint32_t)((int64_t)w->hi[k] - w->lo[k] + 1);
    }
    return allocate(m, a);
}

/* ---- Rows and columns ------------------------------------------------------------------------ */
MatrixView tessi_matrix_view(const Matrix *m, uint32_t d)
{
    MatrixView v = { .m = m, .rows = m->dim[d], .cols = m->n / m->dim[d], .inner = 1 };
    for (uint32_t k = d + 1; k < m->n_dims; k++)
        v.inner *= m->dim[k];
    return v;
}

uint32_t tessi_matrix_place(const MatrixView *v, uint32_t row, uint32_t col)
{
    return (col / v->inner * v->rows + row) * v->inner + col % v->inner;
}

bool tessi_matrix_factors_init(const MatrixView *v, Arena *a, uint32_t d, Matrix *across,
                               Matrix *line)
{
    *across = (Matrix){ .n_dims = 1, .dim = { v->rows } };
    *line = (Matrix){ .n_dims = 0 };
    for (uint32_t k = 0; k < v->m->n_dims; k++)
        if (k != d)
            line->dim[line->n_dims++] = v->m->dim[k];
    return allocate(across, a) && allocate(line, a);
}

static bool is_zero(const MatrixView *v, bool real, uint32_t row, uint32_t col)
{
    uint32_t k = tessi_matrix_place(v, row, col);
    return !v->m->used[k] || (!real && v->m->at[k].i == 0);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* The taps are rows times columns, and fewer when taken apart. */
static bool has_product_shape(const MatrixView *v, bool real, bool always, bool *row, bool *col)
{
    uint32_t taps = 0, rows = 0, cols = 0;
    for (uint32_t i = 0; i < v->rows; i++)
        for (uint32_t j = 0; j < v->cols; j++) {
            if (is_zero(v, real, i, j))
                continue;
            row[i] = col[j] = true;
            taps++;
        }
    for (uint32_t i = 0; i < v->rows; i++)
        rows += row[i];
    for (uint32_t j = 0; j < v->cols; j++)
        cols += col[j];
    return taps == rows * cols && rows > 1 && cols > 1 && (always || taps > rows + cols);
}

/* ---- Integers -------------------------------------------------------------------------------- */
static bool factor_integers(const MatrixView *v, const bool *row, const bool *col, Matrix *across,
                            Matrix *line)
{
    uint32_t first_row = 0, first_col = 0;
    int64_t common = 0;
    while (!row[first_row])
        first_row++;
    while (!col[first_col])
        first_col++;
    for (uint32_t j = 0; j < v->cols; j++)
        if (col[j])
            common = gcd(v->m->at[tessi_matrix_place(v, first_row, j)].i, common);
    for (uint32_t j = 0; j < v->cols; j++)
        line->at[j].i = col[j] ? v->m->at[tessi_matrix_place(v, first_row, j)].i / common : 0;
    for (uint32_t i = 0; i < v->rows; i++) {
        if (!row[i])
            continue;
        across->at[i].i = v->m->at[tessi_matrix_place(v, i, first_col)].i / line->at[first_col].i;
        for (uint32_t j = 0; j < v->cols; j++) {
            int64_t product;
            if (col[j]
                && (!tessi_mul_i64(across->at[i].i, line->at[j].i, &product)
                    || product != v->m->at[tessi_matrix_place(v, i, j)].i))
                return false;
        }
    }
    return true;
}

/* ---- Reals ----------------------------------------------------------------------------------- */
double tessi_matrix_rounded(ScalarType t, double x)
{
    return tessi_eval_cast(t, TYPE_F64, tessi_value_real(x)).f;
}

/* Factors with row `pivot` as the line: the largest error of a product, in units of 2^-24 (double: 2^-53) of the
 * weight; infinite when it does not work. */
static double factor_by(const MatrixView *v, ScalarType t, const bool *row, const bool *col,
                        uint32_t pivot, Matrix *across, Matrix *line)
{
    double unit = t == TYPE_F64 ? 0x1p-53 : 0x1p-24, worst = 0;
    uint32_t most = 0;
    for (uint32_t j = 0; j < v->cols; j++) {
        line->at[j].f = col[j] ? v->m->at[tessi_matrix_place(v, pivot, j)].f : 0;
        if (fabs(line->at[j].f) > fabs(line->at[most].f))
            most = j;
    }
    for (uint32_t i = 0; i < v->rows; i++) {
        if (!row[i])
            continue;
        double scale =
            tessi_matrix_rounded(t, v->m->at[tessi_matrix_place(v, i, most)].f / line->at[most].f);
        across->at[i].f = scale;
        for (uint32_t j = 0; j < v->cols; j++) {
            double want = v->m->at[tessi_matrix_place(v, i, j)].f;
            double error = fabs(fma(scale, line->at[j].f, -want));
            if (!col[j] || error == 0)
                continue;
            if (!(error <= 4 * unit * fabs(want)))
                return (double)INFINITY;
            worst = fmax(worst, error / fabs(want) / unit);
        }
    }
    return worst;
}

/* Weights that cost a multiplication. */
static uint32_t products(const Matrix *m)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->n; k++)
        n += m->used[k] && fabs(m->at[k].f) != 1;
    return n;
}

/* Exact factors with few multiplications, else those with the largest line: small numbers might leave the normal
 * range. */
static bool factor_reals(const MatrixView *v, ScalarType t, const bool *row, const bool *col,
                         Matrix *across, Matrix *line)
{
    enum { MOST_PRODUCTS = 1 << 26 }; /* to compare: a second or so */
    bool best_exact = false;
    uint32_t pivot = v->rows, fewest = 0;
    const uint64_t all = (uint64_t)v->rows * v->rows * v->cols;
    const uint32_t step = (uint32_t)(all / MOST_PRODUCTS)
                          + 1; /* rows of large masks that are tried: the middle one, and some */
    double largest = 0;
    for (uint32_t i = v->rows / 2 % step; i < v->rows; i += step) {
        if (!row[i])
            continue;
        double worst = factor_by(v, t, row, col, i, across, line), size = 0;
        if (!isfinite(worst))
            continue;
        bool exact = worst == 0;
        uint32_t n = exact ? products(across) + products(line) : 0;
        for (uint32_t j = 0; j < v->cols; j++)
            size = fmax(size, fabs(line->at[j].f));
        bool better = exact != best_exact ? exact : n != fewest ? n < fewest : size > largest;
        if (pivot < v->rows && !better)
            continue;
        best_exact = exact;
        fewest = n;
        largest = size;
        pivot = i;
        if (exact && n == 0) /* nothing is better: all weights are 1 or -1 */
            break;
    }
    if (pivot == v->rows)
        return false;
    factor_by(v, t, row, col, pivot, across, line);
    return true;
}

/* A line with more negative than positive weights costs signs. */
static void turn_positive(bool real, Matrix *across, Matrix *line)
{
    int32_t sign = 0;
    for (uint32_t k = 0; k < line->n; k++)
        if (line->used[k])
            sign += (real ? line->at[k].f < 0 : line->at[k].i < 0) ? -1 : 1;
    for (uint32_t k = 0; k < line->n && sign < 0; k++)
        line->at[k] = real ? tessi_value_real(-line->at[k].f) : tessi_value_int(-line->at[k].i);
    for (uint32_t k = 0; k < across->n && sign < 0; k++)
        across->at[k] =
            real ? tessi_value_real(-across->at[k].f) : tessi_value_int(-across->at[k].i);
}

bool tessi_matrix_factor(const Matrix *m, Arena *a, ScalarType t, uint32_t d, bool always,
                         Matrix *across, Matrix *line)
{
    const MatrixView v = tessi_matrix_view(m, d);
    bool real = tessi_is_real(t);
    if (!tessi_matrix_factors_init(&v, a, d, across, line)
        || !has_product_shape(&v, real, always, across->used, line->used))
        return false;
    bool ok = real ? factor_reals(&v, t, across->used, line->used, across, line)
                   : factor_integers(&v, across->used, line->used, across, line);
    if (ok)
        turn_positive(real, across, line);
    return ok;
}
