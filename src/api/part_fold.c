/* Parts of images of which some reads wrap around beside other rules: near one end of an image they have points of the
 * other end too (PartFold), and are copied so that those lie at the ends of what is computed. */
#include "api/part.h"

#include <stdlib.h>
#include <string.h>

static PartFold fold_of(const RunPass *pass, const tess_part *part, int d)
{
    return tessi_part_fold(&pass->part, d, part->from[d], part->to[d]);
}

bool tessi_part_folds(const RunPass *pass)
{
    bool any = false;
    for (int d = 0; d < pass->part.n_dims; d++)
        any = any || pass->part.folded[d];
    return any;
}

bool tessi_part_is_folded(const RunPass *pass, const tess_part *part)
{
    bool any = false;
    for (int d = 0; d < pass->part.n_dims; d++)
        any = any || fold_of(pass, part, d).split > 0;
    return any;
}

int64_t tessi_part_base(const RunPass *pass, const tess_part *part, int d)
{
    const PartFold fold = fold_of(pass, part, d);
    return fold.split == 0 ? part->from[d] : part->from[d] < 0 ? 0 : fold.between;
}

/* Copies points in dimensions from d on, those from split on first, to where they lie in rows without gaps. */
static char *copy_folded(const DLTensor *t, const int64_t *strides, const int64_t *split, int d,
                         const char *from, char *to)
{
    const size_t bytes = t->dtype.bits / 8u * t->dtype.lanes;
    const bool is_row = d == t->ndim - 1 && strides[d] == 1;
    if (d == t->ndim)
        return (char *)memcpy(to, from, bytes) + bytes;
    if (is_row) {
        const size_t before = (size_t)split[d] * bytes, all = (size_t)t->shape[d] * bytes;
        memcpy(to, from + before, all - before);
        memcpy(to + (all - before), from, before);
        return to + all;
    }
    for (int64_t i = 0; i < t->shape[d]; i++) {
        const int64_t at = i + split[d] < t->shape[d] ? i + split[d] : i + split[d] - t->shape[d];
        to = copy_folded(t, strides, split, d + 1, from + at * strides[d] * (int64_t)bytes, to);
    }
    return to;
}

static DLTensor *fold_image(const RunPass *pass, const tess_part *part, const DLTensor *t)
{
    int64_t strides[TESS_MAX_SHAPE] = { 0 }, split[TESS_MAX_SHAPE] = { 0 }, stride = 1;
    DLTensor *folded = tess_image_new(t->dtype, t->ndim, t->shape);
    if (!folded)
        return NULL;
    for (int d = t->ndim - 1; d >= 0; d--) {
        strides[d] = t->strides ? t->strides[d] : stride;
        stride *= t->shape[d];
        if (d < pass->part.n_dims)
            split[d] = fold_of(pass, part, d).split;
    }
    copy_folded(t, strides, split, 0, (const char *)t->data + t->byte_offset, folded->data);
    return folded;
}

void tessi_folded_free(RunPass *pass)
{
    for (uint32_t i = 0; pass->folded && i < pass->n_folded; i++)
        if (pass->is_copy[i])
            tess_image_free(pass->folded[i]);
    free(pass->folded);
    free(pass->is_copy);
    pass->folded = NULL;
    pass->is_copy = NULL;
}

bool tessi_fold_images(tess_parts *p, RunPass *pass, const tess_part *part,
                       const DLTensor *const *images)
{
    const uint32_t n = pass->n_folded = p->program->inputs.n;
    pass->folded = calloc(n + 1, sizeof *pass->folded);
    pass->is_copy = calloc(n + 1, sizeof *pass->is_copy);
    for (uint32_t i = 0; pass->folded && pass->is_copy && i < n; i++) {
        const DLTensor *t = images[i];
        const bool copies = t && tess_parts_use(p, part->pass, i) == TESS_PART_CUT;
        if (copies && t->device.device_type != kDLCPU)
            return tessi_failf(&p->failure, TESS_ERROR_UNSUPPORTED,
                               "parts of images that wrap around beside other rules have to lie in "
                               "memory of the host");
        for (int d = 0; copies && d < pass->part.n_dims; d++)
            if (d >= t->ndim || t->shape[d] != part->to[d] - part->from[d])
                return tessi_failf(
                    &p->failure, TESS_ERROR_ARGUMENT,
                    "the part of '%s' does not have the %lld points that it needs in "
                    "dimension %d",
                    p->program->inputs.at[i].info.name, (long long)(part->to[d] - part->from[d]),
                    d);
        pass->folded[i] = copies ? fold_image(pass, part, t) : (DLTensor *)t;
        pass->is_copy[i] = copies;
        if (copies && !pass->folded[i])
            return tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    }
    return (pass->folded && pass->is_copy)
           || tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
}
