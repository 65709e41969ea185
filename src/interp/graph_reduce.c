/* Whole-image reductions and histograms, in the order that docs/internals/reductions.md fixes. */
#include <math.h>
#include <stdlib.h>

#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

enum { PARTIALS = 16 };

/* Of extrema the new value stands first: min(v, acc) is v < acc ? v : acc, so that a NaN is passed over. */
Value tessi_accumulate(Reduction r, ScalarType acc, Value old, Value v)
{
    const Op op = tessi_reduction_op(r);
    const bool first = op == OP_MIN || op == OP_MAX;
    const Value args[2] = { first ? v : old, first ? old : v };
    return tessi_eval(op, acc, args);
}

Value tessi_accumulated(Reduction r, ScalarType acc, ScalarType source, Value v)
{
    ScalarType t = tessi_value_type(source);
    if (r == REDUCE_COUNT)
        return tessi_eval_cast(TYPE_BOOL, t, v);
    return tessi_eval_cast(acc, t, v);
}

/* The points of the image along dimension `dim` through `index`. */
static Value reduce_line(const Stage *s, const StageImage *source, ScalarType acc, uint32_t dim,
                         int64_t *index)
{
    Value partial[PARTIALS];
    for (int k = 0; k < PARTIALS; k++)
        partial[k] = tessi_reduction_identity(s->reduction, acc);
    int64_t n = source->n_dims ? source->size[dim] : 1;
    for (int64_t x = 0; x < n; x++) {
        index[dim] = x;
        Value v = tessi_accumulated(s->reduction, acc, source->type,
                                    tessi_stage_image_get(source, index));
        partial[x % PARTIALS] = tessi_accumulate(s->reduction, acc, partial[x % PARTIALS], v);
    }
    for (int half = PARTIALS / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            partial[k] = tessi_accumulate(s->reduction, acc, partial[k], partial[k + half]);
    return partial[0];
}

Value tessi_reduce_start(const Stage *s, ScalarType source)
{
    return tessi_reduction_identity(s->reduction, tessi_accumulator_type(s->reduction, source));
}

Value tessi_reduce_rows(const Stage *s, const StageImage *source, Value total)
{
    const ScalarType acc = tessi_accumulator_type(s->reduction, source->type);
    int64_t index[MAX_DIMS] = { 0 };
    uint32_t outer = source->n_dims ? source->n_dims - 1u : 0;
    do {
        int64_t row[MAX_DIMS] = { index[0], index[1], index[2], index[3] };
        total = tessi_accumulate(s->reduction, acc, total, reduce_line(s, source, acc, outer, row));
    } while (tessi_next_point(outer, source->size, index));
    return total;
}

Value tessi_reduce_end(const Stage *s, ScalarType source, double points, Value total)
{
    ScalarType acc = tessi_accumulator_type(s->reduction, source);
    if (s->reduction == REDUCE_MEAN) {
        total = tessi_eval_cast(TYPE_F64, acc, total);
        acc = TYPE_F64;
        total = tessi_eval(OP_DIV, TYPE_F64, (const Value[2]){ total, tessi_value_real(points) });
    }
    return tessi_eval_cast(s->type, acc, total);
}

static void reduce_along(const Stage *s, const StageImage *source, StageImage *image)
{
    const ScalarType acc = tessi_accumulator_type(s->reduction, source->type);
    const uint32_t dim = s->along - 1u;
    const double points = (double)source->size[dim];
    int64_t to[MAX_DIMS] = { 0 };
    do {
        int64_t index[MAX_DIMS] = { 0 };
        int64_t at = 0;
        for (int d = 0; d < source->n_dims; d++) {
            const int own = tessi_stage_from_source(s, d);
            index[d] = own < 0 ? 0 : to[own];
            at += own < 0 ? 0 : to[own] * image->stride_bytes[own];
        }
        const Value total = reduce_line(s, source, acc, dim, index);
        tessi_store_element(s->type, image->at + at,
                            tessi_reduce_end(s, source->type, points, total));
    } while (tessi_next_point(image->n_dims, image->size, to));
}

void tessi_reduce_image(const Stage *s, const StageImage *source, StageImage *image)
{
    double points = 1;
    if (s->along) {
        reduce_along(s, source, image);
        return;
    }
    for (uint32_t d = 0; d < source->n_dims; d++)
        points *= (double)source->size[d];
    const Value total = tessi_reduce_rows(s, source, tessi_reduce_start(s, source->type));
    tessi_store_element(s->type, image->at, tessi_reduce_end(s, source->type, points, total));
}

/* The element that a value counts for; -1: none. A NaN fails both comparisons. */
static int64_t bin_of(ScalarType type, Value v, int64_t n)
{
    if (!tessi_is_real(type))
        return v.i >= 0 && v.i < n ? v.i : -1;
    const double whole = floor(v.f);
    return whole >= 0 && whole < (double)n ? (int64_t)whole : -1;
}

/* Adds up the points from..to of the first dimension, in their order, into one value a bin. */
static void reduce_part(const Stage *s, const StageImage *source, const StageImage *keys,
                        int64_t from, int64_t to, int64_t n, Value *bins)
{
    const ScalarType acc = tessi_accumulator_type(s->reduction, source->type);
    int64_t size[MAX_DIMS], at[MAX_DIMS] = { 0 };
    for (uint32_t d = 0; d < MAX_DIMS; d++)
        size[d] = d < source->n_dims ? source->size[d] : 1;
    size[0] = to - from;
    for (bool more = to > from; more; more = tessi_next_point(source->n_dims, size, at)) {
        int64_t index[MAX_DIMS] = { from + at[0], at[1], at[2], at[3] };
        const int64_t bin = bin_of(keys->type, tessi_stage_image_get(keys, index), n);
        if (bin < 0)
            continue;
        const Value v = tessi_accumulated(s->reduction, acc, source->type,
                                          tessi_stage_image_get(source, index));
        bins[bin] = tessi_accumulate(s->reduction, acc, bins[bin], v);
    }
}

bool tessi_reduce_by_keys(const Stage *s, const StageImage *source, const StageImage *keys,
                          StageImage *image)
{
    const ScalarType acc = tessi_accumulator_type(s->reduction, source->type);
    const int64_t n = image->size[0], rows = source->size[0];
    const int64_t parts = n > MAX_PARTED_BINS ? 1 : BIN_PARTS;
    const Value start = tessi_reduction_identity(s->reduction, acc);
    Value *bins = calloc((size_t)n * 2, sizeof *bins);
    for (int64_t k = 0; bins && k < n; k++)
        bins[k] = start;
    for (int64_t part = 0; bins && part < parts; part++) {
        Value *own = bins + n;
        for (int64_t k = 0; k < n; k++)
            own[k] = start;
        reduce_part(s, source, keys, rows * part / parts, rows * (part + 1) / parts, n, own);
        for (int64_t k = 0; k < n; k++)
            bins[k] = tessi_accumulate(s->reduction, acc, bins[k], own[k]);
    }
    for (int64_t k = 0; bins && k < n; k++)
        tessi_store_element(s->type, image->at + k * image->stride_bytes[0],
                            tessi_eval_cast(s->type, acc, bins[k]));
    free(bins);
    return bins != NULL;
}

void tessi_histogram_image(const StageImage *source, StageImage *counts)
{
    int64_t index[MAX_DIMS] = { 0 };
    do {
        const int64_t bin =
            bin_of(source->type, tessi_stage_image_get(source, index), counts->size[0]);
        if (bin < 0)
            continue;
        char *at = counts->at + bin * counts->stride_bytes[0];
        int64_t n = tessi_load_element(TYPE_U32, at).i;
        tessi_store_element(TYPE_U32, at, tessi_value_int((n + 1) & (int64_t)UINT32_MAX));
    } while (tessi_next_point(source->n_dims, source->size, index));
}
