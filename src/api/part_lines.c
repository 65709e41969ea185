/* Numbers for each line along the rows of whole images, as sum(A, 0), in the order of docs/internals/reductions.md:
 * row y of what they are taken of goes to partial result y mod 16 of its lines, so that parts in order go on where the
 * one before has ended, and what is kept does not depend on how many rows there are. */
#include <stdlib.h>

#include "api/part.h"
#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

enum { PARTIALS = 16 };

struct PartLines {
    int64_t n;      /* lines */
    int64_t rows;   /* so far */
    Value *partial; /* PARTIALS times n */
    void *result;
    int n_dims;
    int64_t shape[MAX_DIMS];
};

/* ---- Rows of the usual types ----------------------------------------------------------------- */
/* The same as add_row for rows without gaps, compiled for a type. */
typedef void AddRow(const void *row, int64_t n, Value *to);

#define ADD_ROW(name, type, member, sum_type)                          \
    static void name(const void *row, int64_t n, Value *to)            \
    {                                                                  \
        const type *at = row;                                          \
        for (int64_t x = 0; x < n; x++)                                \
            to[x].member = (sum_type)(to[x].member + (sum_type)at[x]); \
    }
ADD_ROW(add_u8, uint8_t, i, int64_t)
ADD_ROW(add_i8, int8_t, i, int64_t)
ADD_ROW(add_u16, uint16_t, i, int64_t)
ADD_ROW(add_i16, int16_t, i, int64_t)
ADD_ROW(add_f32, float, f, double)
ADD_ROW(add_f64, double, f, double)

#define EXTREME_ROW(name, type, member, less)                              \
    static void name(const void *row, int64_t n, Value *to)                \
    {                                                                      \
        const type *at = row;                                              \
        for (int64_t x = 0; x < n; x++)                                    \
            to[x].member = at[x] less to[x].member ? at[x] : to[x].member; \
    }
EXTREME_ROW(min_u8, uint8_t, i, <)
EXTREME_ROW(max_u8, uint8_t, i, >)
EXTREME_ROW(min_u16, uint16_t, i, <)
EXTREME_ROW(max_u16, uint16_t, i, >)
EXTREME_ROW(min_i32, int32_t, i, <)
EXTREME_ROW(max_i32, int32_t, i, >)
EXTREME_ROW(min_f32, float, f, <)
EXTREME_ROW(max_f32, float, f, >)

/* NULL: there is none. Sums of 32 and 64 bits may wrap around, which C does not define. */
static AddRow *known_row(Reduction how, ScalarType type)
{
    const bool sum = how == REDUCE_SUM || how == REDUCE_MEAN, min = how == REDUCE_MIN;
    if (!sum && !min && how != REDUCE_MAX)
        return NULL;
    switch (type) {
    case TYPE_U8: return sum ? add_u8 : min ? min_u8 : max_u8;
    case TYPE_I8: return sum ? add_i8 : NULL;
    case TYPE_U16: return sum ? add_u16 : min ? min_u16 : max_u16;
    case TYPE_I16: return sum ? add_i16 : NULL;
    case TYPE_I32: return sum ? NULL : min ? min_i32 : max_i32;
    case TYPE_F32: return sum ? add_f32 : min ? min_f32 : max_f32;
    case TYPE_F64: return sum ? add_f64 : NULL;
    default: return NULL;
    }
}

/* ---- Parts ----------------------------------------------------------------------------------- */
void tessi_lines_free(PartNumber *number)
{
    if (number->lines) {
        free(number->lines->partial);
        free(number->lines->result);
    }
    free(number->lines);
    number->lines = NULL;
}

static ScalarType source_type(const tess_parts *p, const PartNumber *number)
{
    return tessi_stage(p->graph, number->source)->type;
}

double tessi_lines_bytes(const tess_parts *p, const RunPass *pass)
{
    double bytes = 0;
    VEC_FOREACH (const PartNumber, number, &pass->numbers) {
        const Stage *s = tessi_stage(p->graph, number->stage);
        double lines = s->along > 0;
        for (int d = 0; d < s->n_dims; d++) {
            int64_t n = 0;
            tessi_size_eval(p->graph, s->size[d], p->params, &n);
            lines *= (double)n;
        }
        bytes += lines * PARTIALS * sizeof(Value);
    }
    return bytes;
}

bool tessi_lines_start(const tess_parts *p, PartNumber *number)
{
    const Stage *s = tessi_stage(p->graph, number->stage);
    tessi_lines_free(number);
    struct PartLines *l = number->lines = calloc(1, sizeof *l);
    if (!l)
        return false;
    l->n = 1;
    l->n_dims = s->n_dims;
    for (int d = 0; d < s->n_dims; d++)
        if (!tessi_size_eval(p->graph, s->size[d], p->params, &l->shape[d])
            || !tessi_mul_i64(l->n, l->shape[d], &l->n))
            return false;
    l->partial = calloc((size_t)l->n + 1, PARTIALS * sizeof *l->partial);
    l->result = calloc((size_t)l->n + 1, tessi_type_info(s->type)->bytes);
    const Value start = tessi_reduce_start(s, source_type(p, number));
    for (int64_t k = 0; l->partial && k < PARTIALS * l->n; k++)
        l->partial[k] = start;
    return l->partial && l->result;
}

/* Elements of one row of the innermost dimension. */
static void add_row(const Stage *s, ScalarType type, const char *row, int64_t stride, int64_t n,
                    Value *to)
{
    const ScalarType acc = tessi_accumulator_type(s->reduction, type);
    AddRow *const known = known_row(s->reduction, type);
    if (known && stride == (int64_t)tessi_type_info(type)->bytes) {
        known(row, n, to);
        return;
    }
    for (int64_t x = 0; x < n; x++) {
        const Value v = tessi_load_element(type, row + x * stride);
        to[x] = tessi_accumulate(s->reduction, acc, to[x],
                                 tessi_accumulated(s->reduction, acc, type, v));
    }
}

void tessi_lines_add(const tess_parts *p, PartNumber *number, const DLTensor *rows)
{
    struct PartLines *l = number->lines;
    const Stage *s = tessi_stage(p->graph, number->stage);
    const ScalarType type = source_type(p, number);
    const int64_t bytes = (int64_t)tessi_type_info(type)->bytes;
    const int last = rows->ndim - 1;
    int64_t index[MAX_DIMS] = { 0 };
    Value *to = NULL;
    do {
        const char *row = (const char *)rows->data + rows->byte_offset;
        bool begins = true; /* a row of the first dimension */
        for (int d = 0; d < last; d++) {
            row += index[d] * rows->strides[d] * bytes;
            begins = begins && (d == 0 || index[d] == 0);
        }
        if (begins)
            to = l->partial + l->rows++ % PARTIALS * l->n;
        add_row(s, type, row, rows->strides[last] * bytes, rows->shape[last], to);
        to += rows->shape[last];
    } while (tessi_next_point((uint32_t)last, rows->shape, index));
}

void tessi_lines_end(const tess_parts *p, PartNumber *number)
{
    struct PartLines *l = number->lines;
    const Stage *s = tessi_stage(p->graph, number->stage);
    const ScalarType type = source_type(p, number);
    const ScalarType acc = tessi_accumulator_type(s->reduction, type);
    for (int half = PARTIALS / 2; half; half /= 2)
        for (int64_t k = 0; k < half * l->n; k++)
            l->partial[k] =
                tessi_accumulate(s->reduction, acc, l->partial[k], l->partial[k + half * l->n]);
    for (int64_t k = 0; k < l->n; k++)
        tessi_store_element(s->type,
                            (char *)l->result + k * (int64_t)tessi_type_info(s->type)->bytes,
                            tessi_reduce_end(s, type, (double)l->rows, l->partial[k]));
}

void *tessi_lines_result(const PartNumber *number, int *n_dims, int64_t *shape)
{
    const struct PartLines *l = number->lines;
    *n_dims = l->n_dims;
    for (int d = 0; d < l->n_dims; d++)
        shape[d] = l->shape[d];
    return l->result;
}
