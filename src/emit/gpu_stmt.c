/* Statements of kernels: loops of the grid become block numbers, loops of the threads become thread numbers, and
 * barriers stand between nests of thread loops. */
#include "emit/gpu_private.h"

static const char axis_name[] = "XYZ";

/* ---- Before printing --------------------------------------------------------------------------------------------- */

static void look_over(CWriter *w, const LBlock *block, bool in_threads)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        bool thread = s->kind == LSTMT_FOR && (s->flags & LFOR_THREAD);
        const bool held = s->buffer.v && w->p->buffers.at[s->buffer.v].held;
        if (s->kind == LSTMT_LOCAL && !in_threads && !held && w->needs.buffer[s->buffer.v])
            w->gpu->shared[s->buffer.v] = true;
        if (s->kind == LSTMT_LOCAL && held)
            w->gpu->apart = true;
        if (s->kind == LSTMT_SHIFT && w->needs.stored[s->buffer.v])
            w->gpu->lanes[w->p->buffers.at[s->buffer.v].type] = "lanes";
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
    *gpu = (GpuWriter){ .kernel = kernel };
    gpu->shared = ARENA_NEW_ARRAY(w->arena, bool, w->p->buffers.n);
    look_over(w, &kernel->body, is_one_thread(kernel)); /* a thread alone shares nothing */
    for (uint32_t i = 1; i < w->p->buffers.n; i++) {
        const bool seen = gpu->shared[i] || w->p->buffers.at[i].kind != LBUF_LOCAL;
        gpu->apart = gpu->apart && !(seen && w->needs.stored[i] && w->needs.loaded[i]);
    }
}

/* Values that threads put at once for others to take. */
static uint32_t shifts_at_once(const CWriter *w, ScalarType t)
{
    enum { MOST_BYTES = 8 << 10 };
    return MOST_BYTES / (w->gpu->kernel->block[0] * tessi_type_info(t)->bytes);
}

static void declare_lanes(CWriter *w)
{
    for (int t = 0; t < N_TYPES; t++) {
        if (!w->gpu->lanes[t] || w->target->shuffles)
            continue;
        w->gpu->lanes[t] = tessi_c_name(w->names, w->gpu->lanes[t]);
        tessi_c_line(w, "TESS_SHARED %s %s[%u][%u];", tessi_c_element((ScalarType)t),
                     w->gpu->lanes[t], shifts_at_once(w, (ScalarType)t), w->gpu->kernel->block[0]);
    }
}

void tessi_gpu_declare_shared(CWriter *w)
{
    declare_lanes(w);
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
        [TYPE_BOOL] = "uchar", [TYPE_I8] = "char",    [TYPE_U8] = "uchar",  [TYPE_I16] = "short",
        [TYPE_U16] = "ushort", [TYPE_I32] = "int",    [TYPE_U32] = "uint",  [TYPE_I64] = "long",
        [TYPE_U64] = "ulong",  [TYPE_F16] = "ushort", [TYPE_F32] = "float", [TYPE_F64] = "double"
    };
    return names[t];
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

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
    if (gpu && !gpu->in_threads && gpu->threads_to_finish && !gpu->apart
        && (runs_threads(&s->body) || runs_threads(&s->orelse))) {
        tessi_c_line(w, "%s;", w->target->barrier);
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
        tessi_c_line(w, "const %s %s = TESS_BLOCK_X;", w->target->index, v);
        body(w, &s->body, false);
        return;
    }
    w->gpu->threads_to_finish = w->gpu->shared_bytes > 0; /* used by the block before */
    tessi_c_prepare(w, &s->b, 1);
    tessi_text_addf(&w->line, "for (%s %s = TESS_BLOCK_%c; %s < ", w->target->index, v, axis, v);
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

/* Whether some threads have one iteration, and the others none. */
static bool is_part_of_block(const CWriter *w, const LStmt *s)
{
    const LExpr *end = tessi_lexpr(w->p, s->b);
    return end->kind == LEXPR_CONST && end->value.i < w->gpu->kernel->block[s->axis];
}

static void thread_loop(CWriter *w, const LStmt *s, bool is_last)
{
    GpuWriter *gpu = w->gpu;
    bool outermost = !gpu->in_threads;
    if (outermost && gpu->threads_to_finish && !gpu->apart)
        tessi_c_line(w, "%s;", w->target->barrier);
    gpu->in_threads = true;
    char axis = axis_name[s->axis];
    uint32_t mark = tessi_c_names_mark(w->names);
    if (is_whole_block(w, s)) {
        if (!is_last) {
            tessi_c_line(w, "{");
            w->indent++;
        }
        const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
        if (w->needs.var[s->var.v])
            tessi_c_line(w, "const %s %s = TESS_THREAD_%c;", w->target->index, v, axis);
        body(w, &s->body, false);
        if (!is_last) {
            w->indent--;
            tessi_c_line(w, "}");
        }
    } else if (is_part_of_block(w, s)) {
        const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
        tessi_text_addf(&w->line, "if (TESS_THREAD_%c < ", axis);
        tessi_c_expr(w, s->b, C_SUM);
        tessi_text_addf(&w->line, ") {");
        tessi_c_end_line(w);
        w->indent++;
        if (w->needs.var[s->var.v])
            tessi_c_line(w, "const %s %s = TESS_THREAD_%c;", w->target->index, v, axis);
        body(w, &s->body, false);
        w->indent--;
        tessi_c_line(w, "}");
    } else {
        const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
        tessi_text_addf(&w->line, "for (%s %s = TESS_THREAD_%c; %s < ", w->target->index, v, axis,
                        v);
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

/* ---- Shifts ------------------------------------------------------------------------------------------------------ */

static void place_from(CWriter *w, const LStmt *s)
{
    const LExpr *from = tessi_lexpr(w->p, s->a);
    tessi_c_place(w, from->buffer, from->arg);
}

/* to = tess_shift(from, by); */
static void shift(CWriter *w, const LStmt *s)
{
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, " = tess_shift(");
    place_from(w, s);
    tessi_text_addf(&w->line, ", %lld);", (long long)s->step);
    tessi_c_end_line(w);
}

/* Each thread puts its values where others find them, and takes theirs. */
static void shifts_through_memory(CWriter *w, LStmt *const *at, uint32_t n, ScalarType t)
{
    for (uint32_t i = 0; i < n; i++) {
        tessi_text_addf(&w->line, "%s[%u][TESS_THREAD_X] = ", w->gpu->lanes[t], i);
        place_from(w, at[i]);
        tessi_text_add(&w->line, ";");
        tessi_c_end_line(w);
    }
    tessi_c_line(w, "%s;", w->target->barrier);
    for (uint32_t i = 0; i < n; i++) {
        tessi_c_place(w, at[i]->buffer, at[i]->index);
        tessi_text_addf(&w->line, " = %s[%u][TESS_LANE(%lld)];", w->gpu->lanes[t], i,
                        (long long)at[i]->step);
        tessi_c_end_line(w);
    }
    tessi_c_line(w, "%s;", w->target->barrier);
}

/* A shift of the type that somebody needs. */
static bool is_shift(const CWriter *w, const LStmt *s)
{
    return s->kind == LSTMT_SHIFT && w->needs.stored[s->buffer.v];
}

uint32_t tessi_gpu_shifts(CWriter *w, const LBlock *block, uint32_t i)
{
    const LStmt *first = block->at[i];
    if (!w->gpu || !is_shift(w, first))
        return 0;
    if (w->target->shuffles) {
        shift(w, first);
        return 1;
    }
    const ScalarType t = w->p->buffers.at[first->buffer.v].type;
    uint32_t n = 1;
    while (n < shifts_at_once(w, t) && i + n < block->n && is_shift(w, block->at[i + n])
           && w->p->buffers.at[block->at[i + n]->buffer.v].type == t)
        n++;
    shifts_through_memory(w, block->at + i, n, t);
    return n;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* tess_product(&sums[i], &rows[y][x], words to the next row, and to 8 others, &words[k]); */
void tessi_gpu_product(CWriter *w, const LStmt *s)
{
    const LExpr *rows = tessi_lexpr(w->p, s->a), *words = tessi_lexpr(w->p, s->b);
    const LExprId pitch = w->p->buffers.at[rows->buffer.v].size[1];
    tessi_text_add(&w->line, "tess_product(&");
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, ", &");
    tessi_c_place(w, rows->buffer, rows->arg);
    const int64_t words_apart = tessi_lexpr(w->p, pitch)->value.i;
    tessi_text_addf(&w->line, ", %lld, %lld, &", (long long)words_apart,
                    (long long)(words_apart * s->step));
    tessi_c_place(w, words->buffer, words->arg);
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
}
