/* tess_result_geometry: where the points of a result lie in an input image. */
#include "analysis/geometry.h"
#include "api/api.h"
#include "base/rounding.h"

static bool image_number(const Graph *g, const char *name, uint32_t *number)
{
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (tessi_streq(g->inputs.at[i].name, name) && !g->inputs.at[i].is_mask) {
            *number = i;
            return true;
        }
    return false;
}

static void give_dim(const GeometryDim *dim, int d, tess_geometry *out)
{
    out->source[d] = -1;
    out->scale[d] = 0;
    out->offset[d] = dim->offset;
    for (int k = 0; k < MAX_DIMS; k++) {
        out->by[d][k] = dim->by[k];
        if (dim->by[k] == 0)
            continue;
        out->scale[d] = out->source[d] == -1 ? dim->by[k] : 0;
        out->source[d] = out->source[d] == -1 ? k : TESS_SEVERAL;
    }
}

static bool find(const tess_program *p, const Variant *v, tess_args *a, size_t output,
                 const char *name, Arena *arena, tess_geometry *out)
{
    Guard guard;
    Failure *f = &a->failure;
    uint32_t image;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!image_number(v->lowered, name, &image))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "the program has no image '%s'", name);
    int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, v->graph->params.n);
    if (!tessi_bind_sizes(p, v, a, arena, params, f))
        return false;
    Value *scalars = ARENA_NEW_ARRAY(arena, Value, v->graph->scalars.n + 1);
    const bool bound = tessi_bind_scalars(p, v, a, scalars, NULL);
    const Geometry *all = tessi_geometry(v->lowered, image, params, bound ? scalars : NULL, arena);
    VEC_FOREACH (const Channel, c, &v->lowered->outputs.at[output].channels) {
        const Geometry *found = &all[c->stage.v];
        if (!found->known)
            continue;
        out->ndim = found->n_dims;
        for (int d = 0; d < found->n_dims; d++)
            give_dim(&found->dim[d], d, out);
        break;
    }
    return true;
}

static tess_status result_geometry(tess_program *p, tess_args *a, size_t output, const char *name,
                                   tess_geometry *out)
{
    if (!p || !a || !name || !out || out->struct_size != sizeof *out || !tessi_args_begin(p, a)
        || output >= p->outputs.n)
        return TESS_ERROR_ARGUMENT;
    *out = (tess_geometry){ .struct_size = sizeof *out };
    Variant *v = tessi_variant_enter(p, a, NULL, &a->failure);
    if (!v)
        return (tess_status)a->failure.status;
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const bool ok = find(p, v, a, output, name, &arena, out);
    tessi_arena_dispose(&arena);
    tessi_variant_leave(p, v);
    return ok ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_result_geometry(tess_program *p, tess_args *a, size_t output, const char *input,
                                 tess_geometry *geometry)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = result_geometry(p, a, output, input, geometry);
    tessi_round_as(callers);
    return status;
}
