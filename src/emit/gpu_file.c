/* A program of kernels as one text: the plan as a comment, the prelude, tables, kernels. */
#include "emit/gpu_private.h"
#include "emit/prelude.h"
#include "loop/loop_passes.h"

bool tessi_emit_gpu_temp_bytes(const LoopProgram *p, LBufferId id, const int64_t *params,
                               size_t *bytes)
{
    const LBuffer *b = &p->buffers.at[id.v];
    *bytes = tessi_type_info(b->type)->bytes;
    for (int d = b->n_dims - 1; d >= 0; d--) {
        int64_t n;
        if (!tessi_loop_eval_size(p, b->size[d], params, &n)
            || !tessi_mul_size(*bytes, n > 0 ? (size_t)n : 0, bytes) || *bytes > SIZE_MAX - 15)
            return false;
        if (d > 0 && d == b->n_dims - 1)
            *bytes = (*bytes + 15) / 16 * 16;
    }
    return true;
}

/* `program` is what the prelude is for. */
static void head(CWriter *w, const EmitOptions *o, const char *usage, const char *before,
                 const char *program)
{
    const char *said =
        usage ? usage : tessi_sprintf(w->arena, "Compile with %s.", w->target->flags);
    tessi_c_head(w, o, tessi_sprintf(w->arena, ", in %s.\n%s", w->target->language, said));
    if (before)
        tessi_text_addf(w->out, "\n%s", before);
    if (o->wide_index)
        tessi_text_add(w->out, "\n#define TESS_WIDE_INDEX\n");
    if (o->aligned_rows)
        tessi_text_addf(w->out, "%s#define TESS_ALIGNED_ROWS\n", o->wide_index ? "" : "\n");
    if (o->prelude)
        tessi_prelude_used(o->prelude, program, w->out);
}

/* Writes one kernel; false when it does nothing. */
static bool kernel(CWriter *w, const LFunction *f, const char *name, GpuKernel *out)
{
    Text *all = w->out, body;
    tessi_loop_needs(w->p, f, w->arena, &w->needs);
    tessi_c_forget_uses(w);
    body = tessi_text_new(w->arena);
    tessi_gpu_begin(w, f);
    w->out = &body; /* the body first: it says which parameters the kernel needs */
    w->indent++;
    uint32_t mark = tessi_c_names_mark(w->names);
    tessi_gpu_declare_shared(w);
    size_t declared = body.n;
    tessi_c_block(w, &f->body);
    tessi_c_names_leave(w->names, mark);
    w->indent--;
    w->out = all;
    if (body.n == declared)
        return false;

    *out = (GpuKernel){ .name = name,
                        .shared_bytes = w->gpu->shared_bytes,
                        .beside = f->beside,
                        .resident = f->resident,
                        .place = f->place };
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++) {
        out->grid[axis] = f->grid[axis];
        out->block[axis] = f->block[axis];
    }
    const CParameters list = tessi_c_parameters(w, C_USED);
    VEC_FOREACH (const CParameter, parameter, &list)
        VEC_PUSH(w->arena, &out->args, parameter->arg);
    tessi_text_add(all, "\n");
    if (f->comment && *f->comment)
        tessi_c_comment(w, f->comment);
    const char *resident = f->resident ? tessi_sprintf(w->arena, ", %u", f->resident) : "";
    const char *before =
        tessi_sprintf(w->arena, "TESS_KERNEL%s(%u, %u, %u%s) ", f->resident ? "_RESIDENT" : "",
                      f->block[0], f->block[1], f->block[2], resident);
    tessi_c_signature(w, before, name, &list, "");
    tessi_text_addf(all, "{\n%s}\n", tessi_text_str(&body));
    return true;
}

/* A kernel that differs from another in its images alone is the same with others for arguments. */
static GpuKernel with_own_images(CWriter *w, const GpuKernel *first, const LoopTwins *twins,
                                 bool *used)
{
    GpuKernel own = *first;
    own.args = (GpuArgs){ 0 };
    VEC_FOREACH (const GpuArg, arg, &first->args) {
        GpuArg given = *arg;
        VEC_FOREACH (const LoopTwin, twin, twins)
            if (arg->kind == GPU_ARG_TEMP && arg->index == twin->first.v)
                given.index = twin->here.v;
        if (given.kind == GPU_ARG_TEMP)
            used[given.index] = true;
        VEC_PUSH(w->arena, &own.args, given);
    }
    return own;
}

/* Writes the kernels; marks the buffers, by LBufferId, that they use. */
static void all_kernels(CWriter *w, const char **name, EmitModule *module, bool *used)
{
    const LoopProgram *p = w->p;
    const LoopSame same = tessi_loop_same(p, w->arena);
    GpuKernel *written = ARENA_NEW_ARRAY(w->arena, GpuKernel, p->functions.n);
    for (uint32_t i = 0; i < p->functions.n; i++) {
        const uint32_t first = same.first[i];
        const size_t begin = w->out->n;
        if (first == i && kernel(w, &p->functions.at[i], name[i], &written[i])) {
            written[i].part = module->parts.n;
            VEC_PUSH(w->arena, &module->parts, begin);
            VEC_PUSH(w->arena, &module->kernels, written[i]);
            for (uint32_t b = 1; b < p->buffers.n; b++)
                used[b] = used[b] || w->buffer_used[b];
        } else if (written[first].name) {
            GpuKernel own = with_own_images(w, &written[first], &same.twins[i], used);
            own.place = p->functions.at[i].place;
            VEC_PUSH(w->arena, &module->kernels, own);
        }
    }
}

/* Something may have no name. */
static const char *file_name(CWriter *w, const char *wanted)
{
    return tessi_c_file_name(w, wanted ? wanted : "kernel");
}

/* A table, or a variable in constant memory; kernels that fill it are given its address. */
static void define(CWriter *w, LBufferId id)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    const EmitTarget *t = w->target;
    if (b->kind == LBUF_TABLE && !tessi_c_is_given(t, b))
        tessi_c_table(w, b, b->in_memory ? t->memory_table : t->table, w->buffer[id.v]);
    if (!b->in_constant || !t->constant_buffer)
        return;
    size_t bytes = 0;
    tessi_emit_gpu_temp_bytes(w->p, id, NULL, &bytes);
    tessi_text_addf(w->out, "\n%s %s %s[%zu];\n", t->constant_buffer, tessi_c_element(b->type),
                    w->buffer[id.v], bytes / tessi_type_info(b->type)->bytes);
}

void tessi_gpu_kernels(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                       const char *usage, const char *before, Text *out, EmitModule *module)
{
    Arena *a = out->arena;
    CNames names;
    CWriter w;
    GpuWriter gpu = { 0 };
    tessi_c_begin(&w, t, p, &names, out);
    w.gpu = &gpu;
    *module = (EmitModule){ 0 };
    const char **kernel_name = ARENA_NEW_ARRAY(a, const char *, p->functions.n + 1);
    for (uint32_t i = 0; i < p->functions.n; i++)
        kernel_name[i] = file_name(&w, p->functions.at[i].name);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == LBUF_TABLE || p->buffers.at[i].in_constant)
            w.buffer[i] = file_name(&w, p->buffers.at[i].name);
    tessi_c_name_parameters(&w);

    bool *used = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
    Text kernels = tessi_text_new(a), program = tessi_text_new(a);
    w.out = &kernels; /* they say which tables are used */
    all_kernels(&w, kernel_name, module, used);
    w.out = &program;
    for (int tables = 1; tables >= 0; tables--)
        for (uint32_t i = 1; i < p->buffers.n; i++)
            if (used[i] && tables == (p->buffers.at[i].kind == LBUF_TABLE))
                define(&w, (LBufferId){ i });
    const size_t before_kernels = program.n;
    tessi_text_add(&program, tessi_text_str(&kernels));
    w.out = out;
    head(&w, o, usage, before, tessi_text_str(&program));
    VEC_FOREACH (size_t, part, &module->parts)
        *part += out->n + before_kernels;
    tessi_text_add(out, tessi_text_str(&program));
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (used[i] && tessi_c_is_given(t, &p->buffers.at[i])) {
            const bool symbol = p->buffers.at[i].in_constant && t->constant_buffer;
            VEC_PUSH(a, &module->temps, (LBufferId){ i });
            VEC_PUSH(a, &module->symbols, symbol ? w.buffer[i] : NULL);
        }
}

void tessi_gpu_print(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o, Text *out,
                     EmitModule *module)
{
    tessi_gpu_kernels(p, t, o, NULL, NULL, out, module);
}
