/* Whole-image reductions and histograms, in the order that docs/internals/reductions.md fixes. */
#include <math.h>

#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

enum { PARTIALS = 16 };

/* What is accumulated: double for sums of reals, int64 for sums of integers, the source's own type for extrema. */
static ScalarType accumulator_type(const Stage *s, ScalarType source)
{
    switch (s->reduction) {
    case REDUCE_MIN:
    case REDUCE_MAX: return tessi_value_type(source);
    case REDUCE_COUNT: return TYPE_I64;
    default: return tessi_is_real(source) ? TYPE_F64 : TYPE_I64;
    }
}

/* The new value stands first: min(v, acc) is v < acc ? v : acc, so that a NaN is passed over. */
static Value combine(const Stage *s, ScalarType acc, Value v, Value old)
{
    Value args[2] = { v, old };
    switch (s->reduction) {
    case REDUCE_MIN: return tessi_eval(OP_MIN, acc, args);
    case REDUCE_MAX: return tessi_eval(OP_MAX, acc, args);
    default: return tessi_eval(OP_ADD, acc, (const Value[2]){ old, v });
    }
}

static Value element(const Stage *s, ScalarType acc, ScalarType source, Value v)
{
    ScalarType t = tessi_value_type(source);
    if (s->reduction == REDUCE_COUNT)
        return tessi_eval_cast(TYPE_BOOL, t, v);
    return tessi_eval_cast(acc, t, v);
}

static Value reduce_row(const Stage *s, const StageImage *source, ScalarType acc, int64_t *index)
{
    Value partial[PARTIALS];
    for (int k = 0; k < PARTIALS; k++)
        partial[k] = tessi_reduction_identity(s->reduction, acc);
    uint32_t last = source->n_dims ? source->n_dims - 1u : 0;
    int64_t n = source->n_dims ? source->size[last] : 1;
    for (int64_t x = 0; x < n; x++) {
        index[last] = x;
        Value v = element(s, acc, source->type, tessi_stage_image_get(source, index));
        partial[x % PARTIALS] = combine(s, acc, v, partial[x % PARTIALS]);
    }
    for (int half = PARTIALS / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            partial[k] = combine(s, acc, partial[k + half], partial[k]);
    return partial[0];
}

Value tessi_reduce_start(const Stage *s, ScalarType source)
{
    return tessi_reduction_identity(s->reduction, accumulator_type(s, source));
}

Value tessi_reduce_rows(const Stage *s, const StageImage *source, Value total)
{
    const ScalarType acc = accumulator_type(s, source->type);
    int64_t index[MAX_DIMS] = { 0 };
    uint32_t outer = source->n_dims ? source->n_dims - 1u : 0;
    do {
        int64_t row[MAX_DIMS] = { index[0], index[1], index[2], index[3] };
        total = combine(s, acc, reduce_row(s, source, acc, row), total);
    } while (tessi_next_point(outer, source->size, index));
    return total;
}

Value tessi_reduce_end(const Stage *s, ScalarType source, double points, Value total)
{
    ScalarType acc = accumulator_type(s, source);
    if (s->reduction == REDUCE_MEAN) {
        total = tessi_eval_cast(TYPE_F64, acc, total);
        acc = TYPE_F64;
        total = tessi_eval(OP_DIV, TYPE_F64, (const Value[2]){ total, tessi_value_real(points) });
    }
    return tessi_eval_cast(s->type, acc, total);
}

Value tessi_reduce_image(const Stage *s, const StageImage *source)
{
    double points = 1;
    for (uint32_t d = 0; d < source->n_dims; d++)
        points *= (double)source->size[d];
    const Value total = tessi_reduce_rows(s, source, tessi_reduce_start(s, source->type));
    return tessi_reduce_end(s, source->type, points, total);
}

void tessi_histogram_image(const StageImage *source, StageImage *counts)
{
    int64_t index[MAX_DIMS] = { 0 };
    do {
        Value v = tessi_stage_image_get(source, index);
        int64_t bin = v.i;
        if (tessi_is_real(source->type)) {
            double whole = floor(v.f); /* a NaN fails both comparisons */
            bin = whole >= 0 && whole < (double)counts->size[0] ? (int64_t)whole : -1;
        }
        if (bin < 0 || bin >= counts->size[0])
            continue;
        char *at = counts->at + bin * counts->stride_bytes[0];
        int64_t n = tessi_load_element(TYPE_U32, at).i;
        tessi_store_element(TYPE_U32, at, tessi_value_int((n + 1) & (int64_t)UINT32_MAX));
    } while (tessi_next_point(source->n_dims, source->size, index));
}
