/* Arguments against the graph: sizes, numbers, and memory for the results. */
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "loop/loop_layout.h"
#include "rt/env.h"
#include "rt/memory.h"

/* Results begin SKEW bytes farther on in a page than the first image, if they are not SMALL and their rows lie a
 * multiple of ROW_STEP apart. */
enum { PAGE = 4096, LINE = 64, SKEW = 17 * LINE, ROW_STEP = 1024, SMALL = 1 << 16 };

/* The operands of each expression on images have one size. */
static bool check_agreements(const tess_program *p, const Variant *v, const int64_t *params,
                             Failure *f)
{
    const Graph *g = v->lowered;
    VEC_FOREACH (const Agreement, it, &g->agreements) {
        int64_t a, b;
        int line, col;
        if (!tessi_size_eval(g, it->a, params, &a) || !tessi_size_eval(g, it->b, params, &b)
            || a == b)
            continue;
        tessi_sources_line_col(v->ast->sources, it->span.file, it->span.begin, &line, &col);
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "%s:%d:%d: the operands '%s' and '%s' have %lld and %lld points in "
                           "dimension %d; cut the "
                           "larger one to the points that are meant",
                           p->name, line, col, it->name_a, it->name_b, (long long)a, (long long)b,
                           (int)it->dim);
    }
    return true;
}

bool tessi_bind_sizes(const tess_program *p, const Variant *v, const tess_args *a, Arena *arena,
                      int64_t *params, Failure *f)
{
    const Graph *g = v->meaning; /* with dimensions that pixels may have taken up */
    const int64_t **sizes = ARENA_NEW_ARRAY(arena, const int64_t *, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        int64_t k = tessi_input_number(p, g->inputs.at[i].name);
        if (k >= 0 && a->inputs[k].set)
            sizes[i] = a->inputs[k].shape;
    }
    bool *given = ARENA_NEW_ARRAY(arena, bool, g->params.n);
    for (uint32_t i = 0; i < g->params.n; i++) {
        int64_t k = tessi_input_number(p, g->params.at[i].name);
        if (k >= 0 && a->scalar_set[k]) {
            given[i] = true;
            params[i] = (int64_t)a->scalars[k];
        }
        VEC_FOREACH (const FrontConstant, c, &v->constants) {
            if (!given[i] && tessi_streq(c->name, g->params.at[i].name)) {
                given[i] = true;
                params[i] = (int64_t)c->value;
            }
        }
    }
    return tessi_graph_bind_sizes(g, arena, sizes, given, params, f)
           && check_agreements(p, v, params, f);
}

bool tessi_bind_scalars(const tess_program *p, const Variant *v, const tess_args *a, Value *values,
                        Failure *f)
{
    for (uint32_t i = 0; i < v->graph->scalars.n; i++) {
        const Scalar *s = &v->graph->scalars.at[i];
        int64_t k = tessi_input_number(p, s->name);
        if (k < 0 || !a->scalar_set[k]) {
            if (!s->has_default)
                return tessi_failf(f, TESS_ERROR_ARGUMENT,
                                   "the scalar '%s' has no value: give %s=VALUE", s->name, s->name);
            values[i] = s->value;
        } else if (s->type == TYPE_F32 || s->type == TYPE_F16 || s->type == TYPE_F64) {
            values[i] = tessi_eval_cast(s->type, TYPE_F64, tessi_value_real(a->scalars[k]));
        } else {
            values[i] = tessi_value_int(
                (int64_t)a->scalars[k]); /* within the type: tess_args_scalar checked */
        }
    }
    return true;
}

const BoundImage *tessi_bound_input(const tess_program *p, const tess_args *a, const char *name)
{
    return &a->inputs[tessi_input_number(p, name)];
}

/* In all dimensions of the tensor, whichever of them the graph at hand has. */
static void describe(const BoundImage *b, InterpImage *out)
{
    size_t unit = b->tensor.dtype.bits / 8u; /* of a stride */
    out->data = (char *)b->tensor.data + b->tensor.byte_offset;
    for (int d = 0; d < b->tensor.ndim && d < MAX_DIMS; d++) {
        out->size[d] = b->shape[d];
        out->stride_bytes[d] = b->strides[d] * (int64_t)unit;
    }
}

static bool bind_inputs(const tess_program *p, const Variant *v, const tess_args *a, Binding *out,
                        Failure *f)
{
    for (uint32_t i = 0; i < v->graph->inputs.n; i++) {
        const Image *image = &v->graph->inputs.at[i];
        int64_t k = tessi_input_number(p, image->name);
        if (k < 0 || !a->inputs[k].set)
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "the %s '%s' is not given",
                               image->is_mask ? "mask" : "image", image->name);
        if (!a->inputs[k].tensor.data)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "of the %s '%s' the shape is given, and no pixels",
                               image->is_mask ? "mask" : "image", image->name);
        describe(&a->inputs[k], &out->inputs[i]);
    }
    return true;
}

/* First and one-past-last byte that a tensor touches. */
static void extent(const BoundImage *b, uintptr_t *begin, uintptr_t *end)
{
    int64_t unit = b->tensor.dtype.bits / 8, lo = 0, hi = 0;
    const int64_t skipped = b->is_window ? b->skip * b->strides[0] * unit : 0;
    for (int d = 0; d < b->tensor.ndim; d++) {
        const int64_t n = d == 0 && b->is_window ? b->wanted : b->shape[d];
        int64_t reach = (n - 1) * b->strides[d] * unit;
        if (reach < 0)
            lo += reach;
        else
            hi += reach;
    }
    uintptr_t base = (uintptr_t)b->tensor.data + b->tensor.byte_offset + (uintptr_t)skipped;
    *begin = base + (uintptr_t)lo;
    *end = base + (uintptr_t)hi + (uintptr_t)unit;
}

static bool overlap(const BoundImage *a, const BoundImage *b)
{
    const Backend *there = tessi_backend_of_memory(a->tensor.device.device_type);
    const bool handles = there && !there->device->addresses;
    if (a->tensor.device.device_type != b->tensor.device.device_type
        || (handles && a->tensor.data != b->tensor.data)) /* handles are no addresses */
        return false;
    uintptr_t a_begin, a_end, b_begin, b_end;
    extent(a, &a_begin, &a_end);
    extent(b, &b_begin, &b_end);
    return a_begin < b_end && b_begin < a_end;
}

static bool check_overlap(const tess_program *p, const tess_args *a, Failure *f)
{
    for (uint32_t o = 0; o < p->outputs.n; o++) {
        for (uint32_t i = 0; i < p->inputs.n; i++)
            if (a->inputs[i].set && overlap(&a->outputs[o], &a->inputs[i]))
                return tessi_failf(f, TESS_ERROR_ARGUMENT,
                                   "the memory for result '%s' overlaps the image '%s'",
                                   p->outputs.at[o].info.name, p->inputs.at[i].info.name);
        for (uint32_t i = 0; i < o; i++)
            if (overlap(&a->outputs[o], &a->outputs[i]))
                return tessi_failf(f, TESS_ERROR_ARGUMENT,
                                   "the memory for result '%s' overlaps that for '%s'",
                                   p->outputs.at[o].info.name, p->outputs.at[i].info.name);
    }
    return true;
}

/* Where in a page result `number` begins, if its rows lie whole ROW_STEPs apart: elsewhere than the image. Else PAGE. A
 * processor that compares the low 12 bits of addresses first has loads wait for stores to the same place of another
 * page, and with rows of whole pages all of a stencil's loads meet stores to its result. */
static size_t place_in_page(const tess_args *a, uint32_t number, size_t bytes, int64_t rows)
{
    const BoundImage *image = NULL;
    for (uint32_t i = 0; i < a->program->inputs.n && !image; i++)
        image = a->inputs[i].set ? &a->inputs[i] : NULL;
    if (!image || !tessi_is_host_memory(image->tensor.device.device_type) || rows < 2
        || bytes < SMALL || bytes / (size_t)rows % ROW_STEP)
        return PAGE;
    const uintptr_t from = (uintptr_t)image->tensor.data + image->tensor.byte_offset;
    return (from + (1 + number % 3) * SKEW) % PAGE / LINE * LINE;
}

/* Fresh memory for a result of the given shape, kept when it is there already. */
static bool own_result(tess_args *a, uint32_t number, DLDataType dtype, int ndim,
                       const int64_t *shape, const char *name, Failure *f)
{
    BoundImage *b = &a->outputs[number];
    if (b->owned && b->tensor.ndim == ndim
        && memcmp(b->shape, shape, (size_t)ndim * sizeof *shape) == 0)
        return true;
    free(b->owned);
    memset(b, 0, sizeof *b);
    size_t bytes = dtype.bits / 8u;
    for (int d = 0; d < ndim; d++)
        if (!tessi_mul_size(bytes, (size_t)shape[d], &bytes))
            return tessi_failf(f, TESS_ERROR_MEMORY,
                               "the result '%s' is too large for this machine", name);
    const size_t place = place_in_page(a, number, bytes, ndim ? shape[0] : 1),
                 more = place < PAGE ? PAGE : 0;
    char *memory = bytes < SIZE_MAX - more ? tessi_memory_new(bytes + more) : NULL;
    if (!memory)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory for the result '%s' (%zu bytes)",
                           name, bytes);
    const size_t first = place < PAGE ? (place - (uintptr_t)memory) % PAGE : 0;
    b->set = true;
    b->owned = memory;
    b->tensor = (DLTensor){ memory + first, { kDLCPU, 0 }, ndim, dtype, b->shape, b->strides, 0 };
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        b->shape[d] = shape[d];
        b->strides[d] = stride;
        stride *= shape[d];
    }
    return true;
}

/* The tensor that a result is: its elements are those of the pixels, or bytes where these differ. */
static DLDataType result_type(const tess_info *info, const Image *image)
{
    VEC_FOREACH (const Channel, c, &image->channels)
        if (c->type != image->channels.at[0].type)
            return (DLDataType){ kDLUInt, 8, 1 };
    return info->dtype;
}

bool tessi_image_shape(const tess_info *info, const Graph *g, const Image *image,
                       const int64_t *params, int *ndim, int64_t *shape, Failure *f)
{
    *ndim = image->n_dims;
    for (int d = 0; d < *ndim; d++)
        if (!tessi_size_eval(g, image->size[d], params, &shape[d]))
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "the size of '%s' is too large", info->name);
    if (image->is_struct)
        shape[(*ndim)++] = image->pixel_bytes / (result_type(info, image).bits / 8u);
    return true;
}

static bool bind_result(const tess_info *info, const Variant *v, uint32_t number,
                        const int64_t *params, tess_args *a, InterpImage *out, Failure *f)
{
    const BoundImage *b = &a->outputs[number];
    const Image *image = &v->graph->outputs.at[number];
    const DLDataType dtype = result_type(info, image);
    int64_t shape[TESS_MAX_SHAPE];
    int ndim;
    if (!tessi_image_shape(info, v->graph, image, params, &ndim, shape, f))
        return false;
    if (!b->set || b->owned) {
        if (!own_result(a, number, dtype, ndim, shape, info->name, f))
            return false;
    }
    for (int d = 0; d < ndim; d++)
        if (b->shape[d] != shape[d])
            return tessi_failf(
                f, TESS_ERROR_ARGUMENT,
                "the memory for result '%s' has size %lld in dimension %d, but the result has %lld",
                info->name, (long long)b->shape[d], d, (long long)shape[d]);
    describe(b, out);
    return true;
}

RunBytes tessi_run_bytes(const Graph *g, const LoopProgram *loops, const int64_t *params,
                         Arena *arena)
{
    RunBytes bytes = { 0 };
    bool *returned = ARENA_NEW_ARRAY(arena, bool, g->stages.n);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        VEC_FOREACH (const Channel, c, &g->outputs.at[i].channels)
            returned[c->stage.v] = true;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        double stage_bytes = tessi_type_info(s->type)->bytes;
        for (int d = 0; d < s->n_dims; d++) {
            int64_t n;
            stage_bytes *= tessi_size_eval(g, s->size[d], params, &n) ? (double)n : 0;
        }
        bytes.images += s->kind == STAGE_INPUT ? stage_bytes : 0;
        bytes.results += returned[id.v] ? stage_bytes : 0;
        bytes.between += s->kind != STAGE_INPUT && !returned[id.v] && !loops ? stage_bytes : 0;
    }
    if (loops) {
        const LoopLayout layout = tessi_loop_layout(loops, arena);
        bytes.between += (double)tessi_loop_workspace_bytes(loops, &layout, params);
    }
    return bytes;
}

enum { ALWAYS_THERE = 1 << 24 }; /* bytes that any machine has left */

/* Systems promise more memory than they have and end the process that believes them, so what a run will fill is
 * compared with what the machine has before anything is allocated. */
static bool check_memory(const Graph *g, const LoopProgram *loops, const int64_t *params,
                         Arena *arena, Failure *f)
{
    const RunBytes of = tessi_run_bytes(g, loops, params, arena);
    const double bytes = of.images + of.results + of.between;
    /* Asking takes longer than runs on small images. */
    if (bytes <= ALWAYS_THERE)
        return true;
    const double available = 0.8 * (double)tessi_memory_bytes(); /* others need some too */
    if (bytes <= available)
        return true;
    const double giga = 1024.0 * 1024 * 1024;
    return tessi_failf(
        f, TESS_ERROR_MEMORY,
        "the images of this run need %.1f GiB, and at most %.1f GiB of memory can be used here",
        bytes / giga, available / giga);
}

/* Everything but the results. */
static bool bind_given(const tess_program *p, const Variant *v, const tess_args *a, Arena *arena,
                       Binding *out, Failure *f)
{
    const Graph *g = v->graph;
    out->params = ARENA_NEW_ARRAY(arena, int64_t, g->params.n);
    out->scalars = ARENA_NEW_ARRAY(arena, Value, g->scalars.n);
    out->inputs = ARENA_NEW_ARRAY(arena, InterpImage, g->inputs.n);
    out->outputs = ARENA_NEW_ARRAY(arena, InterpImage, g->outputs.n);
    return bind_inputs(p, v, a, out, f) && tessi_bind_sizes(p, v, a, arena, out->params, f)
           && tessi_bind_scalars(p, v, a, out->scalars, f);
}

bool tessi_bind_check(const tess_program *p, const Variant *v, const tess_args *a, Arena *arena,
                      Failure *f)
{
    Binding ignored;
    return bind_given(p, v, a, arena, &ignored, f);
}

bool tessi_bind_fits_stored(const tess_program *p, const Variant *v, const tess_args *a,
                            Arena *arena, Failure *f)
{
    Binding b;
    return bind_given(p, v, a, arena, &b, f) && check_memory(v->graph, NULL, b.params, arena, f);
}

static bool bind_results(const tess_program *p, const Variant *v, tess_args *a, Binding *out,
                         Failure *f)
{
    for (uint32_t o = 0; o < v->graph->outputs.n; o++)
        if (!bind_result(&p->outputs.at[o].info, v, o, out->params, a, &out->outputs[o], f))
            return false;
    return check_overlap(p, a, f);
}

bool tessi_bind(const tess_program *p, const Variant *v, const LoopProgram *loops, tess_args *a,
                Arena *arena, Binding *out, Failure *f)
{
    return bind_given(p, v, a, arena, out, f)
           && check_memory(v->graph, loops, out->params, arena, f) && bind_results(p, v, a, out, f);
}

bool tessi_bind_for_device(const tess_program *p, const Variant *v, tess_args *a, Arena *arena,
                           Binding *out, Failure *f)
{
    return bind_given(p, v, a, arena, out, f) && bind_results(p, v, a, out, f);
}
