/* Numbers of whole images that come in parts, in the order of docs/internals/reductions.md: the parts lie one behind
 * the other along the first dimension, so that going on with the total is all there is to it. */
#include <string.h>

#include "api/part.h"
#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

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

/* Whether parts give what each row comes to; else they give the rows. */
static bool gives_rows(const PartNumber *number)
{
    return number->parts.v != number->source.v;
}

/* The dimensions of what parts give without those that a row has. */
static int outer_dims(const PartNumber *number, int n_dims)
{
    return gives_rows(number) ? n_dims : n_dims - 1;
}

int64_t tessi_part_rows(const PartNumber *number, const DLTensor *rows)
{
    int64_t n = rows->ndim > 0;
    for (int d = 0; d < outer_dims(number, rows->ndim); d++)
        n *= rows->shape[d];
    return gives_rows(number) || (n && rows->shape[rows->ndim - 1]) ? n : 0;
}

Value tessi_part_row(const tess_parts *p, const PartNumber *number, const DLTensor *rows, int64_t k)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, number->stage), *source = tessi_stage(g, number->source);
    StageImage image = image_of(tessi_stage(g, number->parts), rows);
    for (int d = outer_dims(number, image.n_dims) - 1; d >= 0; d--) {
        image.at += k % image.size[d] * image.stride_bytes[d];
        k /= image.size[d];
        image.size[d] = 1;
    }
    return gives_rows(number) ? tessi_load_element(image.type, image.at)
                              : tessi_reduce_rows(s, &image, tessi_reduce_start(s, source->type));
}

Value tessi_part_add_row(const tess_parts *p, const PartNumber *number, Value total, Value row)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, number->stage), *source = tessi_stage(g, number->source);
    return tessi_accumulate(s->reduction, tessi_accumulator_type(s->reduction, source->type), total,
                            row);
}

static void count(const Stage *source, PartNumber *number, const DLTensor *rows)
{
    const StageImage image = image_of(source, rows);
    StageImage counts = { .type = TYPE_U32, .n_dims = 1, .at = (char *)number->counts };
    counts.size[0] = number->n_counts;
    counts.stride_bytes[0] = sizeof(uint32_t);
    tessi_histogram_image(&image, &counts);
}

bool tessi_part_adds(const RunPass *pass, const PartNumber *number, int64_t begin)
{
    return begin == 0 || tessi_part_cuts(&pass->part, number->parts, 0);
}

void tessi_part_reduce(const tess_parts *p, PartNumber *number, const DLTensor *rows)
{
    const Graph *g = p->graph;
    const Stage *s = tessi_stage(g, number->stage);
    for (int d = 0; d < rows->ndim; d++)
        if (rows->shape[d] < 1)
            return;
    if (s->kind == STAGE_HISTOGRAM)
        count(tessi_stage(g, number->source), number, rows);
    else if (s->along)
        tessi_lines_add(p, number, rows);
    else
        for (int64_t k = 0; k < tessi_part_rows(number, rows); k++)
            number->total =
                tessi_part_add_row(p, number, number->total, tessi_part_row(p, number, rows, k));
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
