/* Parameters of kernels: images with their strides, sizes, scalars, intermediate images, and nothing that a kernel does not use. */
#include "emit/gpu_private.h"

typedef struct Parameters {
    CWriter *w;
    CParameters list;
    GpuArgs *args;
} Parameters;

/* `type` ends where the name begins. */
static void add(Parameters *p, const char *type, const char *name, GpuArg arg)
{
    CParameter parameter = { tessi_sprintf(p->w->arena, "%s%s", type, name), name };
    VEC_PUSH(p->w->arena, &p->list, parameter);
    VEC_PUSH(p->w->arena, p->args, arg);
}

/* A buffer that the kernel reads in constant memory: a variable of the file, or a parameter. */
static bool in_constant(const Parameters *p, uint32_t buffer)
{
    return p->w->p->buffers.at[buffer].in_constant && !p->w->needs.stored[buffer];
}

bool tessi_gpu_is_given(const EmitTarget *t, const LBuffer *b)
{
    return b->kind == LBUF_TEMP || (b->kind == LBUF_TABLE && b->in_memory && !t->memory_table);
}

static const char *address(Parameters *p, const char *element, bool constant)
{
    return tessi_sprintf(p->w->arena, "%s %s *TESS_RESTRICT ",
                         constant ? "TESS_CONST_GLOBAL" : "TESS_GLOBAL", element);
}

static void add_image(Parameters *p, const CImage *im, uint32_t number, bool input)
{
    if (!im->used)
        return;
    const char *element =
        im->image->uniform ? tessi_c_element(im->image->channel_type[0]) : "uint8_t";
    GpuArg image = { .kind = input ? GPU_ARG_INPUT : GPU_ARG_OUTPUT,
                     .index = number,
                     .type = TYPE_INDEX };
    add(p, address(p, element, input), im->name, image);
    for (uint8_t d = 0; d + 1 < im->image->n_dims; d++) {
        GpuArg stride = image;
        stride.kind = input ? GPU_ARG_INPUT_STRIDE : GPU_ARG_OUTPUT_STRIDE;
        stride.dim = d;
        if (im->stride_used[d])
            add(p, "const int64_t ", im->stride[d], stride);
    }
}

CParameters tessi_gpu_parameters(CWriter *w, GpuArgs *args)
{
    const LoopProgram *p = w->p;
    Parameters all = { .w = w, .args = args };
    for (uint32_t i = 0; i < p->inputs.n; i++)
        add_image(&all, &w->inputs[i], i, true);
    for (uint32_t i = 0; i < p->params.n; i++)
        if (w->param_used[i])
            add(&all, tessi_sprintf(w->arena, "const %s ", w->target->index), w->param[i],
                (GpuArg){ .kind = GPU_ARG_PARAM, .index = i, .type = TYPE_INDEX });
    for (uint32_t i = 0; i < p->scalars.n; i++) {
        ScalarType t = p->scalars.at[i].type;
        const char *type = t == TYPE_BOOL ? "uint8_t" : tessi_c_type(w, t);
        if (w->scalar_used[i])
            add(&all, tessi_sprintf(w->arena, "const %s ", type), w->scalar[i],
                (GpuArg){ .kind = GPU_ARG_SCALAR, .index = i, .type = t });
    }
    for (uint32_t i = 1; i < p->buffers.n; i++) {
        const LBuffer *b = &p->buffers.at[i];
        if (!tessi_gpu_is_given(w->target, b) || !w->buffer_used[i]
            || (in_constant(&all, i) && w->target->constant_buffer))
            continue;
        const char *element = tessi_c_element(b->type);
        add(&all,
            in_constant(&all, i)
                ? tessi_sprintf(w->arena, "TESS_CONSTANT %s *TESS_RESTRICT ", element)
                : address(&all, element, !w->needs.stored[i]),
            w->buffer[i], (GpuArg){ .kind = GPU_ARG_TEMP, .index = i, .type = TYPE_INDEX });
    }
    for (uint32_t i = 0; i < p->outputs.n; i++)
        add_image(&all, &w->outputs[i], i, false);
    return all.list;
}
