/* Numbers of whole images that come in parts, in the order of docs/internals/reductions.md: the parts lie one behind
 * the other along the first dimension, so that going on with the total is all there is to it. */
#include <math.h>
#include <string.h>

#include "api/part.h"
#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

enum { PARTIALS = 16 };

/* ---- Rows of the usual types ----------------------------------------------------------------- */
/* The same as tessi_reduce_rows, compiled for a type. Each is given n elements of a row. */
typedef double RealRow(const void *row, int64_t n);
typedef int64_t IntRow(const void *row, int64_t n);

#define SUM_ROW(name, type, sum_type)                  \
    static sum_type name(const void *row, int64_t n)   \
    {                                                  \
        const type *at = row;                          \
        sum_type p[PARTIALS] = { 0 };                  \
        int64_t x = 0;                                 \
        for (; x + PARTIALS <= n; x += PARTIALS)       \
            for (int k = 0; k < PARTIALS; k++)         \
                p[k] = p[k] + (sum_type)at[x + k];     \
        for (int k = 0; x < n; x++, k++)               \
            p[k] = p[k] + (sum_type)at[x];             \
        for (int half = PARTIALS / 2; half; half /= 2) \
            for (int k = 0; k < half; k++)             \
                p[k] = p[k] + p[k + half];             \
        return p[0];                                   \
    }
SUM_ROW(sum_u8, uint8_t, int64_t)
SUM_ROW(sum_u16, uint16_t, int64_t)
SUM_ROW(sum_i16, int16_t, int64_t)
SUM_ROW(sum_i32, int32_t, int64_t)
SUM_ROW(sum_f32, float, double)
SUM_ROW(sum_f64, double, double)

#define EXTREME_ROW(name, type, start, less)                       \
    static type name(const void *row, int64_t n, type total)       \
    {                                                              \
        const type *at = row;                                      \
        type p[PARTIALS];                                          \
        int64_t x = 0;                                             \
        for (int k = 0; k < PARTIALS; k++)                         \
            p[k] = start;                                          \
        for (; x + PARTIALS <= n; x += PARTIALS)                   \
            for (int k = 0; k < PARTIALS; k++)                     \
                p[k] = at[x + k] less p[k] ? at[x + k] : p[k];     \
        for (int k = 0; x < n; x++, k++)                           \
            p[k] = at[x] less p[k] ? at[x] : p[k];                 \
        for (int half = PARTIALS / 2; half; half /= 2)             \
            for (int k = 0; k < half; k++)                         \
                p[k] = p[k + half] less p[k] ? p[k + half] : p[k]; \
        return p[0] less total ? p[0] : total;                     \
    }
EXTREME_ROW(min_u8, uint8_t, UINT8_MAX, <)
EXTREME_ROW(max_u8, uint8_t, 0, >)
EXTREME_ROW(min_u16, uint16_t, UINT16_MAX, <)
EXTREME_ROW(max_u16, uint16_t, 0, >)
EXTREME_ROW(min_f32, float, INFINITY, <)
EXTREME_ROW(max_f32, float, -INFINITY, >)

/* False where there is nothing for this type. */
static bool reduce_known(Reduction how, ScalarType type, const void *row, int64_t n, Value *total)
{
    const bool sum = how == REDUCE_SUM || how == REDUCE_MEAN;
    /* Sums of integers wrap around. */
    const uint64_t so_far = (uint64_t)total->i;
    switch (type) {
    case TYPE_U8:
        if (sum)
            total->i = (int64_t)(so_far + (uint64_t)sum_u8(row, n));
        else if (how == REDUCE_MIN)
            total->i = min_u8(row, n, (uint8_t)total->i);
        else if (how == REDUCE_MAX)
            total->i = max_u8(row, n, (uint8_t)total->i);
        else
            return false;
        return true;
    case TYPE_U16:
        if (sum)
            total->i = (int64_t)(so_far + (uint64_t)sum_u16(row, n));
        else if (how == REDUCE_MIN)
            total->i = min_u16(row, n, (uint16_t)total->i);
        else if (how == REDUCE_MAX)
            total->i = max_u16(row, n, (uint16_t)total->i);
        else
            return false;
        return true;
    case TYPE_F32:
        if (sum)
            total->f = total->f + sum_f32(row, n);
        else if (how == REDUCE_MIN)
            total->f = (double)min_f32(row, n, (float)total->f);
        else if (how == REDUCE_MAX)
            total->f = (double)max_f32(row, n, (float)total->f);
        else
            return false;
        return true;
    case TYPE_I16:
        total->i = sum ? (int64_t)(so_far + (uint64_t)sum_i16(row, n)) : total->i;
        return sum;
    case TYPE_I32:
        total->i = sum ? (int64_t)(so_far + (uint64_t)sum_i32(row, n)) : total->i;
        return sum;
    case TYPE_F64: total->f = sum ? total->f + sum_f64(row, n) : total->f; return sum;
    default: return false;
    }
}

/* ---- Images ---------------------------------------------------------------------------------- */
static StageImage image_of(const Stage *source, const DLTensor *t)
{
    StageImage image = { .type = source->type, .n_dims = source->n_dims };
    image.at = (char *)t->data + t->byte_offset;
    for (int d = 0; d < source->n_dims; d++) {
        image.size[d] = t->shape[d];
        image.stride_bytes[d] = t->strides[d] * (int64_t)tessi_type_info(source->type)->bytes;
    }
    return image;
}

int64_t tessi_part_rows(const DLTensor *rows)
{
    int64_t n = 1;
    for (int d = 0; d + 1 < rows->ndim; d++)
        n *= rows->shape[d];
    return rows->ndim && rows->shape[rows->ndim - 1] ? n : 0;
}

Value tessi_part_row(const tess_parts *p, const PartNumber *number, const DLTensor *rows, int64_t k)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, number->stage), *source = tessi_stage(g, number->source);
    StageImage image = image_of(source, rows);
    const int last = image.n_dims - 1;
    for (int d = last - 1; d >= 0; d--) {
        image.at += k % image.size[d] * image.stride_bytes[d];
        k /= image.size[d];
        image.size[d] = 1;
    }
    Value total = tessi_reduce_start(s, source->type);
    if (!reduce_known(s->reduction, image.type, image.at, image.size[last], &total))
        total = tessi_reduce_rows(s, &image, total);
    return total;
}

Value tessi_part_add_row(const tess_parts *p, const PartNumber *number, Value total, Value row)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, number->stage), *source = tessi_stage(g, number->source);
    return tessi_accumulate(s->reduction, tessi_accumulator_type(s->reduction, source->type), total,
                            row);
}

static bool reduce_rows(const Stage *s, const StageImage *source, Value *total)
{
    const int last = source->n_dims - 1;
    int64_t index[MAX_DIMS] = { 0 };
    if (last < 0)
        return false;
    do {
        const char *row = source->at;
        for (int d = 0; d < last; d++)
            row += index[d] * source->stride_bytes[d];
        if (!reduce_known(s->reduction, source->type, row, source->size[last], total))
            return false; /* of the first row, or of none */
    } while (tessi_next_point((uint32_t)last, source->size, index));
    return true;
}

void tessi_part_reduce(const tess_parts *p, PartNumber *number, const DLTensor *rows)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, number->stage);
    const StageImage image = image_of(tessi_stage(g, number->source), rows);
    for (int d = 0; d < image.n_dims; d++)
        if (image.size[d] < 1)
            return;
    if (s->kind == STAGE_HISTOGRAM) {
        StageImage counts = { .type = TYPE_U32, .n_dims = 1, .at = (char *)number->counts };
        counts.size[0] = number->n_counts;
        counts.stride_bytes[0] = sizeof(uint32_t);
        tessi_histogram_image(&image, &counts);
    } else if (s->along) {
        tessi_lines_add(p, number, rows);
    } else if (!reduce_rows(s, &image, &number->total)) {
        number->total = tessi_reduce_rows(s, &image, number->total);
    }
}

bool tessi_part_reduce_start(tess_parts *p, RunPass *pass, Failure *f)
{
    const Graph *g = p->graph;
    VEC_FOREACH (PartNumber, number, &pass->numbers) {
        const Stage *s = tessi_stage(g, number->stage);
        number->total = (Value){ 0 };
        if (s->along) {
            if (!tessi_lines_start(p, number))
                return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
            continue;
        }
        if (s->kind == STAGE_REDUCE) {
            number->total = tessi_reduce_start(s, tessi_stage(g, number->source)->type);
            continue;
        }
        if (!tessi_size_eval(g, s->size[0], p->params, &number->n_counts))
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "the histogram '%s' is too large", s->name);
        if (!number->counts)
            number->counts = ARENA_NEW_ARRAY(&p->arena, uint32_t, (size_t)number->n_counts);
        memset(number->counts, 0, (size_t)number->n_counts * sizeof *number->counts);
    }
    return true;
}

void tessi_part_reduce_end(const tess_parts *p, RunPass *pass)
{
    const Graph *g = p->graph;
    VEC_FOREACH (PartNumber, number, &pass->numbers) {
        const Stage *s = tessi_stage(g, number->stage);
        const Stage *source = tessi_stage(g, number->source);
        double points = 1;
        for (int d = 0; d < source->n_dims; d++) {
            int64_t n;
            points *= tessi_size_eval(g, source->size[d], p->params, &n) ? (double)n : 0;
        }
        if (s->along)
            tessi_lines_end(p, number);
        else if (s->kind == STAGE_REDUCE)
            number->total = tessi_reduce_end(s, source->type, points, number->total);
    }
}
