/* The writer, the names of what goes into and comes out of a program, and parameter lists made of them. */
#include <string.h>

#include "emit/c_file.h"

const char *tessi_emit_c_name(const LoopProgram *p, Arena *a)
{
    CNames names;
    tessi_c_names_init(&names, C_IN_C, a);
    const char *name = tessi_c_name(&names, p->name);
    return tessi_c_is_public(name) ? tessi_sprintf(a, "%s_program", name) : name;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void name_image(CWriter *w, CImage *im, const LImage *image)
{
    im->image = image;
    im->name = tessi_c_name(w->names, image->name);
    for (int d = 0; d < image->n_dims - 1; d++) {
        const char *wanted = image->n_dims == 2
                                 ? tessi_sprintf(w->arena, "%s_stride", im->name)
                                 : tessi_sprintf(w->arena, "%s_stride%d", im->name, d);
        im->stride[d] = tessi_c_name(w->names, wanted);
    }
}

void tessi_c_writer_init(CWriter *w, const EmitTarget *target, const LoopProgram *p,
                         const char *public_name, CNames *names, Text *out)
{
    Arena *a = out->arena;
    memset(w, 0, sizeof *w);
    w->p = p;
    w->target = target;
    w->arena = a;
    w->out = out;
    w->names = names;
    w->public_name = public_name;
    w->line = tessi_text_new(a);
    w->param = ARENA_NEW_ARRAY(a, const char *, p->params.n + 1);
    w->scalar = ARENA_NEW_ARRAY(a, const char *, p->scalars.n + 1);
    w->var = ARENA_NEW_ARRAY(a, const char *, p->vars.n);
    w->fused = ARENA_NEW_ARRAY(a, bool, p->vars.n);
    w->buffer = ARENA_NEW_ARRAY(a, const char *, p->buffers.n);
    w->param_used = ARENA_NEW_ARRAY(a, bool, p->params.n + 1);
    w->scalar_used = ARENA_NEW_ARRAY(a, bool, p->scalars.n + 1);
    w->buffer_used = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
    w->inputs = ARENA_NEW_ARRAY(a, CImage, p->inputs.n + 1);
    w->outputs = ARENA_NEW_ARRAY(a, CImage, p->outputs.n + 1);
    w->temporary = ARENA_NEW_ARRAY(a, const char *, p->exprs.n);
    w->uses = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n);
    w->weight = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n);
    w->level = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n);
    w->stamp_of = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n);
    w->pitch_of = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n);
    w->layout = tessi_loop_layout(p, a);
    w->stamp = 1;
}

void tessi_c_begin(CWriter *w, const EmitTarget *t, const LoopProgram *p, CNames *names, Text *out)
{
    tessi_c_names_init(names, t->texts, out->arena);
    const char *name = tessi_c_name(names, tessi_emit_c_name(p, out->arena));
    tessi_c_writer_init(w, t, p, name, names, out);
}

const char *tessi_c_file_name(CWriter *w, const char *wanted)
{
    return tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_%s", w->public_name, wanted));
}

CImage *tessi_c_image(const CWriter *w, uint32_t k)
{
    return k < w->p->inputs.n ? &w->inputs[k] : &w->outputs[k - w->p->inputs.n];
}

uint32_t tessi_c_unit_bytes(const LImage *im)
{
    return im->uniform ? tessi_type_info(im->channel_type[0])->bytes : 1;
}

const char *tessi_c_image_element(const CImage *im)
{
    return im->image->uniform ? tessi_c_element(im->image->channel_type[0]) : "unsigned char";
}

/* Finds or makes the pitch of an intermediate image. */
static uint32_t pitch_of(CWriter *w, const LBuffer *b)
{
    LExprId row = b->size[b->n_dims - 1];
    uint32_t line = LAYOUT_LINE / (uint32_t)tessi_type_info(b->type)->bytes;
    for (uint32_t i = 0; i < w->pitches.n; i++)
        if (w->pitches.at[i].row.v == row.v && w->pitches.at[i].line == line)
            return i + 1;
    CPitch pitch = { .row = row, .line = line, .name = tessi_c_name(w->names, "pitch") };
    VEC_PUSH(w->arena, &w->pitches, pitch);
    return w->pitches.n;
}

void tessi_c_name_parameters(CWriter *w)
{
    const LoopProgram *p = w->p;
    for (uint32_t i = 0; i < p->params.n; i++)
        w->param[i] = tessi_c_name(w->names, p->params.at[i]);
    for (uint32_t i = 0; i < p->scalars.n; i++)
        w->scalar[i] = tessi_c_name(w->names, p->scalars.at[i].name);
    for (uint32_t i = 0; i < p->inputs.n; i++)
        name_image(w, &w->inputs[i], &p->inputs.at[i]);
    for (uint32_t i = 0; i < p->outputs.n; i++)
        name_image(w, &w->outputs[i], &p->outputs.at[i]);
    w->pitches.n = 0;
    for (uint32_t i = 1; i < p->buffers.n; i++) {
        const LBuffer *b = &p->buffers.at[i];
        if (b->kind == LBUF_TEMP
            && !(w->target->kernels && b->in_constant)) /* those have names of the file */
            w->buffer[i] = tessi_c_name(w->names, b->name);
        const LoopLife life = w->layout.life[i]; /* channels may have come to stand side by side */
        bool padded = !w->target->pitch && life.first <= life.last
                      && tessi_loop_is_padded(p, (LBufferId){ i });
        w->pitch_of[i] = padded ? pitch_of(w, b) : 0;
    }
}

/* ---- Parameter lists --------------------------------------------------------------------------------------------- */

/* `type` ends where the name begins: "ptrdiff_t ", "float *restrict ". */
static void parameter(CWriter *w, CParameters *list, const char *type, const char *name, GpuArg arg)
{
    const char *declaration = tessi_sprintf(w->arena, "%s%s", type, name);
    VEC_PUSH(w->arena, list, ((CParameter){ declaration, name, arg }));
}

static void value_parameter(CWriter *w, CParameters *list, const char *type, const char *name,
                            GpuArg arg)
{
    parameter(w, list, tessi_sprintf(w->arena, "%s%s ", w->target->value, type), name, arg);
}

static const char *pointer(CWriter *w, const char *where, const char *element, bool restricted)
{
    return tessi_sprintf(w->arena, "%s%s *%s", where, element,
                         restricted ? w->target->restricted : "");
}

static void image_parameters(CWriter *w, CParameters *list, uint32_t number, bool input,
                             CParameterSet set)
{
    const EmitTarget *t = w->target;
    const CImage *im = input ? &w->inputs[number] : &w->outputs[number];
    const LImage *image = im->image;
    GpuArg arg = { .kind = input ? GPU_ARG_INPUT : GPU_ARG_OUTPUT,
                   .index = number,
                   .type = TYPE_INDEX };
    if (set == C_USED && !im->used)
        return;
    const char *element = image->uniform ? tessi_c_element(image->channel_type[0]) : t->byte;
    const char *where = input ? t->const_global : t->global;
    const char *type = set == C_BUFFERS ? tessi_sprintf(w->arena, "%s ", w->handle)
                                        : pointer(w, where, element, set != C_DECLARED);
    parameter(w, list, type, im->name, arg);
    arg.kind = input ? GPU_ARG_INPUT_STRIDE : GPU_ARG_OUTPUT_STRIDE;
    for (; arg.dim + 1 < image->n_dims; arg.dim++)
        if (set != C_USED || im->stride_used[arg.dim])
            value_parameter(w, list, t->stride, im->stride[arg.dim], arg);
}

bool tessi_c_is_given(const EmitTarget *t, const LBuffer *b)
{
    return b->kind == LBUF_TEMP || (b->kind == LBUF_TABLE && b->in_memory && !t->memory_table);
}

/* A buffer, if the function uses it and the text does not have it. */
static void buffer_parameter(CWriter *w, CParameters *list, uint32_t i)
{
    const LBuffer *b = &w->p->buffers.at[i];
    const EmitTarget *t = w->target;
    const bool stored = w->needs.stored && w->needs.stored[i];
    const bool constant = b->in_constant && !stored; /* it is read in constant memory */
    if (!tessi_c_is_given(t, b) || !w->buffer_used[i] || (constant && t->constant_buffer))
        return;
    const char *where = constant ? t->constant : stored ? t->global : t->const_global;
    parameter(w, list, pointer(w, where, tessi_c_element(b->type), true), w->buffer[i],
              (GpuArg){ .kind = GPU_ARG_TEMP, .index = i, .type = TYPE_INDEX });
}

CParameters tessi_c_parameters(CWriter *w, CParameterSet set)
{
    const LoopProgram *p = w->p;
    const EmitTarget *t = w->target;
    const GpuArg none = { 0 };
    CParameters list = { 0 };
    for (uint32_t i = 0; i < p->inputs.n; i++)
        image_parameters(w, &list, i, true, set);
    for (uint32_t i = 0; i < p->params.n; i++)
        if (set != C_USED || w->param_used[i])
            value_parameter(w, &list, t->index, w->param[i],
                            (GpuArg){ .kind = GPU_ARG_PARAM, .index = i, .type = TYPE_INDEX });
    for (uint32_t i = 0; i < p->scalars.n; i++) {
        const ScalarType type = p->scalars.at[i].type;
        if (set != C_USED || w->scalar_used[i])
            value_parameter(w, &list, type == TYPE_BOOL ? t->flag : tessi_c_type(w, type),
                            w->scalar[i],
                            (GpuArg){ .kind = GPU_ARG_SCALAR, .index = i, .type = type });
    }
    for (uint32_t i = 0; set == C_USED && i < w->pitches.n; i++)
        if (w->pitches.at[i].used)
            value_parameter(w, &list, t->index, w->pitches.at[i].name, none);
    for (uint32_t i = 1; set == C_USED && i < p->buffers.n; i++)
        buffer_parameter(w, &list, i);
    if (set == C_USED && w->parts_used)
        parameter(w, &list, pointer(w, t->global, t->byte, true), w->parts, none);
    for (uint32_t i = 0; i < p->outputs.n; i++)
        image_parameters(w, &list, i, false, set);
    return list;
}

void tessi_c_declare(CWriter *w, const CParameters *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        tessi_text_addf(&w->line, "%s%s", i ? ", " : "", list->at[i].declaration);
    tessi_text_add(&w->line, list->n ? "" : "void");
}

void tessi_c_signature(CWriter *w, const char *before, const char *name, const CParameters *list,
                       const char *end)
{
    tessi_text_addf(&w->line, "%s%s(", before, name);
    tessi_c_declare(w, list);
    tessi_text_addf(&w->line, ")%s", end);
    tessi_c_end_line(w);
}

void tessi_c_forget_uses(CWriter *w)
{
    const LoopProgram *p = w->p;
    w->parts_used = false;
    memset(w->param_used, 0, p->params.n * sizeof *w->param_used);
    memset(w->scalar_used, 0, p->scalars.n * sizeof *w->scalar_used);
    memset(w->buffer_used, 0, p->buffers.n * sizeof *w->buffer_used);
    VEC_FOREACH (CPitch, pitch, &w->pitches)
        pitch->used = false;
    for (uint32_t i = 0; i < p->inputs.n + p->outputs.n; i++) {
        CImage *im = tessi_c_image(w, i);
        im->used = false;
        memset(im->stride_used, 0, sizeof im->stride_used);
    }
}
