/* The writer, the names of what goes into and comes out of a program, and parameter lists made of them. */
#include <string.h>

#include "emit/c_private.h"

/* ---- Names ---------------------------------------------------------------------------------------------------------------- */

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
    tessi_text_init(&w->line, a);
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
        bool padded = !w->target->pitch && tessi_loop_is_padded(p, (LBufferId){ i });
        w->pitch_of[i] = padded ? pitch_of(w, b) : 0;
    }
}

/* ---- Parameter lists --------------------------------------------------------------------------------------------------------- */

/* `type` ends where the name begins: "ptrdiff_t ", "float *restrict ". */
static void parameter(CWriter *w, CParameters *list, const char *type, const char *name)
{
    const char *declaration = tessi_sprintf(w->arena, "%s%s", type, name);
    VEC_PUSH(w->arena, list, ((CParameter){ declaration, name }));
}

static void image_parameters(CWriter *w, CParameters *list, const CImage *im, const char *constant,
                             CParameterSet set)
{
    if (set == C_USED && !im->used)
        return;
    const char *element =
        im->image->uniform ? tessi_c_element(im->image->channel_type[0]) : "unsigned char";
    const char *restricted = set == C_DECLARED ? "" : "restrict ";
    parameter(w, list,
              set == C_BUFFERS ? "cl_mem "
                               : tessi_sprintf(w->arena, "%s%s *%s", constant, element, restricted),
              im->name);
    for (int d = 0; d < im->image->n_dims - 1; d++)
        if (set != C_USED || im->stride_used[d])
            parameter(w, list, "ptrdiff_t ", im->stride[d]);
}

CParameters tessi_c_parameters(CWriter *w, CParameterSet set)
{
    const LoopProgram *p = w->p;
    CParameters list = { 0 };
    for (uint32_t i = 0; i < p->inputs.n; i++)
        image_parameters(w, &list, &w->inputs[i], "const ", set);
    for (uint32_t i = 0; i < p->params.n; i++)
        if (set != C_USED || w->param_used[i])
            parameter(w, &list, "ptrdiff_t ", w->param[i]);
    for (uint32_t i = 0; i < p->scalars.n; i++)
        if (set != C_USED || w->scalar_used[i])
            parameter(w, &list,
                      tessi_sprintf(w->arena, "%s ", tessi_c_type(w, p->scalars.at[i].type)),
                      w->scalar[i]);
    for (uint32_t i = 0; set == C_USED && i < w->pitches.n; i++)
        if (w->pitches.at[i].used)
            parameter(w, &list, "ptrdiff_t ", w->pitches.at[i].name);
    for (uint32_t i = 1; set == C_USED && i < p->buffers.n; i++) {
        const LBuffer *b = &p->buffers.at[i];
        const char *constant = w->needs.stored && w->needs.stored[i] ? "" : "const ";
        if (b->kind == LBUF_TEMP && w->buffer_used[i])
            parameter(
                w, &list,
                tessi_sprintf(w->arena, "%s%s *restrict ", constant, tessi_c_element(b->type)),
                w->buffer[i]);
    }
    if (set == C_USED && w->parts_used)
        parameter(w, &list, "unsigned char *restrict ", w->parts);
    for (uint32_t i = 0; i < p->outputs.n; i++)
        image_parameters(w, &list, &w->outputs[i], "", set);
    return list;
}

void tessi_c_declare(CWriter *w, const CParameters *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        tessi_text_addf(&w->line, "%s%s", i ? ", " : "", list->at[i].declaration);
    tessi_text_add(&w->line, list->n ? "" : "void");
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
        CImage *im = i < p->inputs.n ? &w->inputs[i] : &w->outputs[i - p->inputs.n];
        im->used = false;
        memset(im->stride_used, 0, sizeof im->stride_used);
    }
}
