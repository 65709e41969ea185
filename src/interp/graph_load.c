/* Reads of stages: the index in each dimension, answered by its border rule. */
#include "interp/graph_stages.h"
#include "tessera.h"

static bool dim_index(PointEval *p, const AccessDim *dim, int64_t *index)
{
    if (dim->absolute) {
        *index = p->value[dim->index.v].i;
        return true;
    }
    int64_t i = p->size_value[dim->add.v], part;
    if (i == INT64_MIN)
        return false;
    if (dim->src >= 0
        && (!tessi_mul_i64(dim->scale, p->x[dim->src], &part) || !tessi_add_i64(i, part, &i)))
        return false;
    for (uint32_t k = 0; k < dim->n_terms; k++) {
        const AccessTerm *t = &dim->term[k];
        uint32_t level = tessi_window(p->g, t->window)->level;
        if (!tessi_add_i64(i, (int64_t)t->coef * p->window[level][t->var], &i))
            return false;
    }
    *index = i;
    return true;
}

bool tessi_stage_load(PointEval *p, const Access *a, Value *v)
{
    const StageImage *image = (const StageImage *)p->user + a->producer.v;
    const char *name = tessi_stage(p->g, a->producer)->name;
    int64_t at[MAX_DIMS] = { 0 };
    bool outside = false;
    for (uint32_t d = 0; d < a->n_dims; d++) {
        int64_t i;
        if (!dim_index(p, &a->dim[d], &i))
            return tessi_failf(p->failure, TESS_ERROR_INTERNAL,
                               "the index of a read of '%s' overflows", name);
        at[d] = tessi_border_index(a->dim[d].rule, i, image->size[d]);
        if (at[d] < 0 && a->dim[d].rule != BORDER_CONSTANT)
            return tessi_failf(p->failure, TESS_ERROR_INTERNAL,
                               "'%s' is read at %lld in dimension %u, outside 0..%lld, "
                               "where the graph promises that it is inside",
                               name, (long long)i, (unsigned)d, (long long)image->size[d] - 1);
        outside |= at[d] < 0;
    }
    *v = outside ? p->value[a->outside.v] : tessi_stage_image_get(image, at);
    return true;
}
