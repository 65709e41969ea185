/* Sums over wide masks by Fourier transforms (graph/graph_transform.h), one column after the other: what the loops
 * of such a plan compute, bit for bit. */
#include "graph/graph_transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/graph_stages.h"
#include "tessera.h"

typedef struct Complex {
    double re, im;
} Complex;

typedef struct Transform {
    PointEval *point;
    const StageImage *image; /* what is read */
    WideSum sum;
    ScalarType type;
    uint32_t n, results; /* rows of a transform; of a block */
    int64_t wide;        /* columns read for a row */
    int64_t first[2];    /* where the read of the first weight at the first point is */
    Region weight, where, outside;
    Complex *mask, *column;   /* n rows each of the mask's columns, of `wide` columns */
    bool *spoiled;            /* columns of the blocks in hand */
    double greatest, weights; /* of what was read and is finite; the sum of all magnitudes */
} Transform;

/* ---- Arithmetic in the type of the sum ------------------------------------------------------- */

static double op(ScalarType t, Op o, double a, double b, double c)
{
    const Value args[3] = { tessi_value_real(a), tessi_value_real(b), tessi_value_real(c) };
    return tessi_eval(o, t, args).f;
}

static Complex plus(ScalarType t, Complex a, Complex b)
{
    return (Complex){ op(t, OP_ADD, a.re, b.re, 0), op(t, OP_ADD, a.im, b.im, 0) };
}

static Complex minus(ScalarType t, Complex a, Complex b)
{
    return (Complex){ op(t, OP_SUB, a.re, b.re, 0), op(t, OP_SUB, a.im, b.im, 0) };
}

static Complex times_i(Complex a, bool back)
{
    return back ? (Complex){ -a.im, a.re } : (Complex){ a.im, -a.re };
}

static Complex times(ScalarType t, Complex a, Complex f)
{
    return (Complex){ op(t, OP_FMA, a.re, f.re, -op(t, OP_MUL, a.im, f.im, 0)),
                      op(t, OP_FMA, a.re, f.im, op(t, OP_MUL, a.im, f.re, 0)) };
}

/* a + s * b. */
static Complex plus_scaled(ScalarType t, Complex a, double s, Complex b)
{
    return (Complex){ op(t, OP_FMA, s, b.re, a.re), op(t, OP_FMA, s, b.im, a.im) };
}

static void four(ScalarType t, Complex *z, bool back)
{
    const Complex a = plus(t, z[0], z[2]), b = minus(t, z[0], z[2]), c = plus(t, z[1], z[3]);
    const Complex d = times_i(minus(t, z[1], z[3]), back);
    z[0] = plus(t, a, c);
    z[1] = plus(t, b, d);
    z[2] = minus(t, a, c);
    z[3] = minus(t, b, d);
}

static void eight(ScalarType t, Complex *z, bool back)
{
    const double half = tessi_transform_half(t);
    Complex even[4] = { z[0], z[2], z[4], z[6] }, odd[4] = { z[1], z[3], z[5], z[7] };
    four(t, even, back);
    four(t, odd, back);
    odd[2] = times_i(odd[2], back);
    for (int k = 0; k < 4; k += 2) {
        z[k] = plus(t, even[k], odd[k]);
        z[k + 4] = minus(t, even[k], odd[k]);
    }
    for (int k = 1; k < 4;
         k += 2) { /* an odd multiple of an eighth of a turn: (a +- i a) sqrt(1/2) */
        const Complex a = odd[k], turned = times_i(a, back);
        const Complex sum = k == 1 ? plus(t, a, turned) : minus(t, turned, a);
        z[k] = plus_scaled(t, even[k], half, sum);
        z[k + 4] = plus_scaled(t, even[k], -half, sum);
    }
}

/* ---- Transforms ------------------------------------------------------------------------------ */

static void pass(const Transform *t, Complex *column, uint32_t size, uint32_t radix, bool back)
{
    const uint32_t m = size / radix;
    for (uint32_t at = 0; at < t->n; at++) {
        const uint32_t j = at % m;
        Complex z[8];
        if (at % size >= m)
            continue; /* transformed with the rows before */
        for (int side = 0; side < 2; side++) {
            for (uint32_t r = 0; r < radix; r++) {
                Complex *row = &column[at + r * m];
                const uint32_t k = j * r * (t->n / size);
                const double s = tessi_transform_sine(t->n, k);
                const double c = tessi_transform_sine(t->n, k + t->n / 4);
                const Complex f = {
                    tessi_eval_cast(t->type, TYPE_F64, tessi_value_real(c)).f,
                    tessi_eval_cast(t->type, TYPE_F64, tessi_value_real(back ? s : -s)).f
                };
                const bool factors = r && m > 1 && (side == 0) == back;
                const Complex value = side ? z[r] : *row;
                *(side ? row : &z[r]) = factors ? times(t->type, value, f) : value;
            }
            if (side == 0)
                (radix == 8 ? eight : four)(t->type, z, back);
        }
    }
}

static void transform(const Transform *t, Complex *column, bool back)
{
    uint32_t radix[MAX_RADICES], size = back ? 1 : t->n;
    const uint32_t count = tessi_transform_radices(t->n, radix);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t r = radix[back ? count - 1 - k : k];
        size *= back ? r : 1;
        pass(t, column, size, r, back);
        size /= back ? 1 : r;
    }
}

/* The weights at every frequency, in double precision until they are rounded. */
static bool transform_mask(Transform *t)
{
    const Graph *g = t->point->g;
    const Window *w = tessi_window(g, tessi_expr(g, t->sum.window)->window);
    const uint32_t rows = t->sum.rows, cols = t->sum.cols;
    const ScalarType from = tessi_expr(g, t->sum.weight)->type;
    double *weight = calloc((size_t)rows * cols, sizeof *weight);
    bool ok = weight != NULL;
    for (uint32_t k = 0; ok && k < rows * cols; k++) {
        int32_t *var = t->point->window[w->level];
        var[0] = w->lo[0] + (int32_t)(k / cols);
        var[1] = w->lo[1] + (int32_t)(k % cols);
        ok = tessi_point_eval(t->point, &t->weight) && tessi_point_eval(t->point, &t->where);
        const Value v = t->point->value[t->sum.weight.v];
        const bool holds = !t->sum.where.v || t->point->value[t->sum.where.v].i;
        weight[k] = ok && holds ? tessi_eval_cast(TYPE_F64, from, v).f : 0;
        t->weights += fabs(weight[k]);
    }
    for (uint32_t p = 0; ok && p < t->n; p++) {
        const uint32_t f = tessi_transform_frequency(t->n, p);
        for (uint32_t j = 0; j < cols; j++) {
            double sum[2] = { 0, 0 };
            for (uint32_t i = 0; i < rows; i++) {
                const uint32_t k = f * i % t->n;
                sum[0] =
                    fma(weight[i * cols + j], tessi_transform_sine(t->n, k + t->n / 4), sum[0]);
                sum[1] = fma(weight[i * cols + j], tessi_transform_sine(t->n, k), sum[1]);
            }
            for (int part = 0; part < 2; part++)
                sum[part] =
                    tessi_eval_cast(t->type, TYPE_F64, tessi_value_real(sum[part] / t->n)).f;
            t->mask[p * cols + j] = (Complex){ sum[0], sum[1] };
        }
    }
    free(weight);
    return ok;
}

/* What is read at a distance from the first point. */
static double read(Transform *t, int64_t row, int64_t col)
{
    const Graph *g = t->point->g;
    const Access *a = tessi_access(g, t->sum.read);
    int64_t at[MAX_DIMS] = { t->first[0] + row, t->first[1] + col };
    bool outside = false;
    for (int d = 0; d < 2; d++) {
        const Border rule = a->dim[d].rule == BORDER_INSIDE ? BORDER_CLAMP : a->dim[d].rule;
        at[d] = tessi_border_index(rule, at[d], t->image->size[d]);
        outside = outside || at[d] < 0;
    }
    const Value v = outside ? t->point->value[a->outside.v] : tessi_stage_image_get(t->image, at);
    const ScalarType from = tessi_value_type(t->image->type);
    const double x = tessi_eval_cast(t->type, from, v).f;
    if (isfinite(x) && fabs(x) > t->greatest)
        t->greatest = fabs(x);
    return x;
}

/* The results of the two blocks that begin with row y, in the first columns. */
static void run_blocks(Transform *t, int64_t y, int64_t cols)
{
    Complex *z = calloc(t->n, sizeof *z);
    for (int64_t x = 0; z && x < t->wide; x++) {
        for (uint32_t k = 0; k < t->n; k++)
            z[k] = (Complex){ read(t, y + k, x), read(t, y + t->results + k, x) };
        transform(t, z, false);
        for (uint32_t k = 0; k < t->n; k++)
            t->column[k * t->wide + x] = z[k];
    }
    for (int64_t x = 0; z && x < cols; x++) {
        for (uint32_t k = 0; k < t->n; k++) {
            Complex sum = { 0, 0 };
            for (uint32_t j = 0; j < t->sum.cols; j++) {
                const Complex a = t->column[k * t->wide + x + j], h = t->mask[k * t->sum.cols + j];
                sum.re = op(t->type, OP_FMA, a.re, h.re, sum.re);
                sum.re = op(t->type, OP_FMA, a.im, -h.im, sum.re);
                sum.im = op(t->type, OP_FMA, a.re, h.im, sum.im);
                sum.im = op(t->type, OP_FMA, a.im, h.re, sum.im);
            }
            z[k] = sum;
        }
        t->spoiled[x] = !isfinite(z[0].re) || !isfinite(z[0].im);
        transform(t, z, true);
        for (uint32_t k = 0; k < t->n; k++) /* not read again: the taps look ahead only */
            t->column[k * t->wide + x] = z[k];
    }
    free(z);
}

static bool run(Transform *t, int64_t rows, int64_t cols, const TransformedSum *out)
{
    if (!transform_mask(t))
        return false;
    for (int64_t y = 0; y < rows; y += 2 * (int64_t)t->results) {
        run_blocks(t, y, cols);
        for (int64_t k = 0; k < 2 * (int64_t)t->results && y + k < rows; k++) {
            const Complex *row = t->column + k % t->results * t->wide;
            for (int64_t x = 0; x < cols; x++) {
                out->at[(y + k) * cols + x] = k < t->results ? row[x].re : row[x].im;
                out->spoiled[(y + k) * cols + x] = t->spoiled[x];
            }
        }
    }
    return true;
}

bool tessi_transform_stage(PointEval *p, Arena *scratch, const Stage *s, uint32_t n,
                           TransformedSum *out)
{
    const Graph *g = p->g;
    ExprWalk walk = { .arena = scratch };
    Transform t = { .point = p, .n = n };
    bool must;
    if (!tessi_stage_wide_sum(g, &walk, s, &t.sum, &must) || t.sum.rows > n)
        return tessi_failf(p->failure, TESS_ERROR_INTERNAL, "stage '%s' has no wide sum", s->name);
    const Expr *e = tessi_expr(g, t.sum.window);
    const Access *a = tessi_access(g, t.sum.read);
    const int64_t rows = p->size_value[s->size[0].v], cols = p->size_value[s->size[1].v];
    t.type = e->type;
    t.results = n - t.sum.rows + 1;
    t.wide = cols + t.sum.cols - 1;
    t.image = (const StageImage *)p->user + a->producer.v;
    t.weight = tessi_point_region(p, scratch, &walk, t.sum.weight);
    if (t.sum.where.v)
        t.where = tessi_point_region(p, scratch, &walk, t.sum.where);
    if (a->outside.v)
        t.outside = tessi_point_region(p, scratch, &walk, a->outside);
    for (int d = 0; d < 2; d++)
        t.first[d] = p->size_value[a->dim[d].add.v] + tessi_window(g, e->window)->lo[d];
    t.mask = calloc((size_t)n * t.sum.cols, sizeof *t.mask);
    t.column = calloc((size_t)n * (size_t)t.wide, sizeof *t.column);
    t.spoiled = calloc((size_t)cols, sizeof *t.spoiled);
    out->at = calloc((size_t)(rows * cols), sizeof *out->at);
    out->spoiled = calloc((size_t)(rows * cols), sizeof *out->spoiled);
    out->cols = cols;
    out->window = t.sum.window;
    const bool ok = t.mask && t.column && t.spoiled && out->at && out->spoiled
                    && tessi_point_eval(p, &t.outside) && run(&t, rows, cols, out);
    const double unit = t.type == TYPE_F64 ? 0x1p-53 : 0x1p-24;
    const double written = ((double)t.sum.rows * t.sum.cols + 1) * unit;
    out->differs =
        (tessi_transform_error(t.type, n, t.sum.cols) + written) * t.weights * t.greatest;
    free(t.mask);
    free(t.column);
    free(t.spoiled);
    return ok || tessi_failf(p->failure, TESS_ERROR_MEMORY, "out of memory for the comparison");
}
