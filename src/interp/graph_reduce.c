/* Whole-image reductions and histograms, in the order that docs/internals/reductions.md fixes. */
#include <math.h>
#include <stdlib.h>

#include "graph/graph_fold.h"
#include "interp/graph_stages.h"
#include "tessera.h"

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

/* A reduction by keys; `p` and `region` evaluate its steps, where it has some of its own. */
typedef struct Bins {
    const Stage *s;
    const StageImage *source, *keys;
    PointEval *p;
    const Region *region;
    ScalarType acc;
    int64_t n;
} Bins;

static bool own_step(const Bins *b, uint32_t piece, Value v, Value so_far, Value *out)
{
    Value state[2] = { v, so_far };
    b->p->state = state;
    if (!tessi_point_eval(b->p, &b->region[piece]))
        return false;
    *out = b->p->value[b->s->pieces.at[piece].body.v];
    return true;
}

static bool start_of(const Bins *b, Value *out)
{
    if (b->s->n_states)
        return own_step(b, 1, (Value){ 0 }, (Value){ 0 }, out);
    *out = tessi_reduction_identity(b->s->reduction, b->acc);
    return true;
}

/* One more value of the source. */
static bool add_value(const Bins *b, Value v, Value *bin)
{
    if (b->s->n_states)
        return own_step(b, 0, v, *bin, bin);
    v = tessi_accumulated(b->s->reduction, b->acc, b->source->type, v);
    *bin = tessi_accumulate(b->s->reduction, b->acc, *bin, v);
    return true;
}

/* What another part came to. */
static bool add_part(const Bins *b, Value part, Value *bin)
{
    if (b->s->n_states)
        return own_step(b, 2, part, *bin, bin);
    *bin = tessi_accumulate(b->s->reduction, b->acc, *bin, part);
    return true;
}

/* Adds up the points from..to of the first dimension, in their order, into one value a bin. */
static bool reduce_part(const Bins *b, int64_t from, int64_t to, Value *bins)
{
    const StageImage *source = b->source;
    int64_t size[MAX_DIMS], at[MAX_DIMS] = { 0 };
    for (uint32_t d = 0; d < MAX_DIMS; d++)
        size[d] = d < source->n_dims ? source->size[d] : 1;
    size[0] = to - from;
    bool ok = true;
    for (bool more = to > from; ok && more; more = tessi_next_point(source->n_dims, size, at)) {
        int64_t index[MAX_DIMS] = { from + at[0], at[1], at[2], at[3] };
        const int64_t bin = bin_of(b->keys->type, tessi_stage_image_get(b->keys, index), b->n);
        ok = bin < 0 || add_value(b, tessi_stage_image_get(source, index), &bins[bin]);
    }
    return ok;
}

bool tessi_reduce_by_keys(PointEval *p, const Stage *s, const StageImage *source,
                          const StageImage *keys, StageImage *image, const Region *region)
{
    const ScalarType acc = s->n_states ? tessi_value_type(s->type)
                                       : tessi_accumulator_type(s->reduction, source->type);
    const int64_t n = image->size[0], rows = source->size[0];
    const int64_t parts = n > MAX_PARTED_BINS ? 1 : BIN_PARTS;
    const Bins b = { s, source, keys, p, region, acc, n };
    Value start, *bins = calloc((size_t)n * 2, sizeof *bins);
    if (!bins)
        return tessi_failf(p->failure, TESS_ERROR_MEMORY,
                           "there is not enough memory for stage '%s'", s->name);
    bool ok = start_of(&b, &start);
    for (int64_t k = 0; ok && k < n; k++)
        bins[k] = start;
    for (int64_t part = 0; ok && part < parts; part++) {
        Value *own = bins + n;
        for (int64_t k = 0; k < n; k++)
            own[k] = start;
        ok = reduce_part(&b, rows * part / parts, rows * (part + 1) / parts, own);
        for (int64_t k = 0; ok && k < n; k++)
            ok = add_part(&b, own[k], &bins[k]);
    }
    for (int64_t k = 0; ok && k < n; k++)
        tessi_store_element(s->type, image->at + k * image->stride_bytes[0],
                            tessi_eval_cast(s->type, acc, bins[k]));
    free(bins);
    return ok;
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
