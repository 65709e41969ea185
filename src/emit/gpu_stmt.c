/* Statements of kernels: loops of the grid become block numbers, loops of the threads become thread numbers, and barriers stand
 * between nests of thread loops. */
#include "emit/gpu_private.h"

static const char axis_name[] = "XYZ";

/* ---- Before printing -------------------------------------------------------------------------------------------------------- */

static void look_over(CWriter *w, const LBlock *block, bool in_threads)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        bool thread = s->kind == LSTMT_FOR && (s->flags & LFOR_THREAD);
        if (s->kind == LSTMT_LOCAL && !in_threads && w->needs.buffer[s->buffer.v])
            w->gpu->shared[s->buffer.v] = true;
        look_over(w, &s->body, in_threads || thread);
        look_over(w, &s->orelse, in_threads);
    }
}

static bool is_one_thread(const LFunction *f)
{
    return f->block[0] * f->block[1] * f->block[2] == 1;
}

void tessi_gpu_begin(CWriter *w, const LFunction *kernel)
{
    GpuWriter *gpu = w->gpu;
    *gpu = (GpuWriter){ .language = gpu->language, .kernel = kernel };
    gpu->shared = ARENA_NEW_ARRAY(w->arena, bool, w->p->buffers.n);
    look_over(w, &kernel->body, is_one_thread(kernel)); /* a thread alone shares nothing */
}

void tessi_gpu_declare_shared(CWriter *w)
{
    for (uint32_t i = 1; i < w->p->buffers.n; i++) {
        const LBuffer *b = &w->p->buffers.at[i];
        if (!w->gpu->shared[i])
            continue;
        uint32_t bytes = tessi_type_info(b->type)->bytes;
        for (int d = 0; d < b->n_dims; d++)
            bytes *= (uint32_t)tessi_lexpr(w->p, b->size[d])->value.i;
        w->gpu->shared_bytes += (bytes + 15) / 16 * 16;
        w->buffer[i] = tessi_c_name(w->names, b->name);
        tessi_c_local(w, (LBufferId){ i }, "TESS_SHARED ");
    }
}

bool tessi_gpu_is_shared(const CWriter *w, LBufferId b)
{
    return w->gpu && w->gpu->shared[b.v];
}

const char *tessi_gpu_vector_element(ScalarType t)
{
    static const char *const names[N_TYPES] = {
        [TYPE_BOOL] = "uchar", [TYPE_I8] = "char",   [TYPE_U8] = "uchar",  [TYPE_I16] = "short",
        [TYPE_U16] = "ushort", [TYPE_I32] = "int",   [TYPE_U32] = "uint",  [TYPE_I64] = "long",
        [TYPE_F16] = "ushort", [TYPE_F32] = "float", [TYPE_F64] = "double"
    };
    return names[t];
}

/* ---- Loops ---------------------------------------------------------------------------------------------------------------------- */

static bool runs_threads(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if ((s->kind == LSTMT_FOR && (s->flags & LFOR_THREAD)) || runs_threads(&s->body)
            || runs_threads(&s->orelse))
            return true;
    }
    return false;
}

void tessi_gpu_enter_loop(CWriter *w, const LStmt *s)
{
    if (w->gpu && !w->gpu->in_threads && runs_threads(&s->body))
        w->gpu->threads_to_finish = true;
}

/* A barrier that some branch begins with stands before the condition: not every driver bears one inside. */
GpuBranches tessi_gpu_enter_branches(CWriter *w, const LStmt *s)
{
    GpuWriter *gpu = w->gpu;
    if (gpu && !gpu->in_threads && gpu->threads_to_finish
        && (runs_threads(&s->body) || runs_threads(&s->orelse))) {
        tessi_c_line(w, "TESS_BARRIER;");
        gpu->threads_to_finish = false;
    }
    return (GpuBranches){ w->gpu && w->gpu->threads_to_finish };
}

void tessi_gpu_next_branch(CWriter *w, GpuBranches before, GpuBranches *after)
{
    if (!w->gpu)
        return;
    after->threads_to_finish = after->threads_to_finish || w->gpu->threads_to_finish;
    w->gpu->threads_to_finish = before.threads_to_finish;
}

void tessi_gpu_leave_branches(CWriter *w, GpuBranches after)
{
    if (w->gpu)
        w->gpu->threads_to_finish = w->gpu->threads_to_finish || after.threads_to_finish;
}

static void body(CWriter *w, const LBlock *block, bool braces)
{
    w->indent += braces;
    tessi_c_block(w, block);
    w->indent -= braces;
    if (braces)
        tessi_c_line(w, "}");
}

/* The numbers of blocks along y and z are limited, so that a block may have to do several. */
static void grid_loop(CWriter *w, const LStmt *s)
{
    const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
    char axis = axis_name[s->axis];
    if (s->axis == 0) {
        tessi_c_line(w, "const tess_idx %s = TESS_BLOCK_X;", v);
        body(w, &s->body, false);
        return;
    }
    w->gpu->threads_to_finish = w->gpu->shared_bytes > 0; /* used by the block before */
    tessi_text_addf(&w->line, "for (tess_idx %s = TESS_BLOCK_%c; %s < ", v, axis, v);
    tessi_c_expr(w, s->b, C_SUM);
    tessi_text_addf(&w->line, "; %s += TESS_BLOCKS_%c) {", v, axis);
    tessi_c_end_line(w);
    body(w, &s->body, true);
}

/* Whether each thread has exactly one iteration. */
static bool is_whole_block(const CWriter *w, const LStmt *s)
{
    const LExpr *end = tessi_lexpr(w->p, s->b);
    return end->kind == LEXPR_CONST && end->value.i == w->gpu->kernel->block[s->axis];
}

static void thread_loop(CWriter *w, const LStmt *s, bool is_last)
{
    GpuWriter *gpu = w->gpu;
    bool outermost = !gpu->in_threads;
    if (outermost && gpu->threads_to_finish)
        tessi_c_line(w, "TESS_BARRIER;");
    gpu->in_threads = true;
    char axis = axis_name[s->axis];
    uint32_t mark = tessi_c_names_mark(w->names);
    if (is_whole_block(w, s)) {
        if (!is_last) {
            tessi_c_line(w, "{");
            w->indent++;
        }
        const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
        tessi_c_line(w, "const tess_idx %s = TESS_THREAD_%c;", v, axis);
        body(w, &s->body, false);
        if (!is_last) {
            w->indent--;
            tessi_c_line(w, "}");
        }
    } else {
        const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
        tessi_text_addf(&w->line, "for (tess_idx %s = TESS_THREAD_%c; %s < ", v, axis, v);
        tessi_c_expr(w, s->b, C_SUM);
        tessi_text_addf(&w->line, "; %s += %u) {", v, gpu->kernel->block[s->axis]);
        tessi_c_end_line(w);
        body(w, &s->body, true);
    }
    if (!is_last || !is_whole_block(w, s))
        tessi_c_names_leave(w->names, mark);
    gpu->in_threads = !outermost;
    gpu->threads_to_finish = gpu->threads_to_finish || outermost;
}

void tessi_gpu_loop(CWriter *w, const LStmt *s, bool is_last)
{
    if (s->flags & LFOR_GRID)
        grid_loop(w, s);
    else
        thread_loop(w, s, is_last);
}
