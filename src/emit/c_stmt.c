/* Statements of generated C. */
#include "emit/gpu_stmt.h"
#include "loop/pass.h"

void tessi_c_prepare(CWriter *w, const LExprId *roots, uint32_t n)
{
    if (tessi_c_plan(w, roots, n))
        tessi_c_temporaries(w);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* C evaluates the bound in every iteration: it must not change, and should be short. */
CText tessi_c_bound(CWriter *w, const LStmt *loop, LExprId bound, const char *name)
{
    const CText value = tessi_c_printed(w, bound);
    if (tessi_pass_is_short(w->p, bound))
        return value;
    const char *var = w->p->vars.at[loop->var.v].name;
    name = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_%s", var ? var : "", name));
    tessi_c_line(w, "const %s %s = %s;", tessi_c_type(w, TYPE_INDEX), name, value.text);
    return tessi_c_word(name);
}

static void inner_block(CWriter *w, const LBlock *block)
{
    w->indent++;
    tessi_c_block(w, block);
    w->indent--;
}

/* Loops inside vector loops: so much work for each iteration of the outermost that threads had better fetch them one
 * by one, which evens out what else the cores have to do. Of less work each thread takes one range, which is
 * quicker. */
static bool has_windows(const LBlock *block, bool in_vectors)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_FOR && in_vectors)
            return true;
        const bool vectors = in_vectors || (s->kind == LSTMT_FOR && s->lanes);
        if (has_windows(&s->body, vectors) || has_windows(&s->orelse, vectors))
            return true;
    }
    return false;
}

static const char *step_of(const CWriter *w, const LStmt *s)
{
    const long long n = (long long)s->step;
    if (s->lanes && n == 1)
        return tessi_sprintf(w->arena, " += TESS_LANES_%s", tessi_c_lanes_of(s->lanes));
    if (s->lanes)
        return tessi_sprintf(w->arena, " += %lld * TESS_LANES_%s", n, tessi_c_lanes_of(s->lanes));
    return n == 1 ? "++" : tessi_sprintf(w->arena, " += %lld", n);
}

static void loop(CWriter *w, const LStmt *s, bool is_last)
{
    const EmitTarget *t = w->target;
    const bool parallel = s->flags & LFOR_PARALLEL && t->parallel,
               simd = s->flags & LFOR_SIMD && t->simd;
    if (s->flags & (LFOR_GRID | LFOR_THREAD) && t->kernels) {
        tessi_gpu_loop(w, s, is_last);
        return;
    }
    tessi_gpu_enter_loop(w, s);
    tessi_c_prepare(w, (LExprId[]){ s->a, s->b }, 2);
    const CText begin = tessi_c_printed(w, s->a), end = tessi_c_bound(w, s, s->b, "end");
    if (parallel)
        tessi_c_line(w, "%s%s", t->parallel,
                     simd                           ? "_SIMD"
                     : has_windows(&s->body, false) ? "_LONG"
                                                    : "");
    else if (simd)
        tessi_c_line(w, "%s", t->simd);
    else if (s->flags & LFOR_UNROLL)
        tessi_c_line(w, "%s", t->unroll);
    else if (s->flags & LFOR_ROLLED && s->vectors > 1 && t->unroll_by)
        tessi_c_line(w, "%s(%d)", t->unroll_by, s->vectors);
    else if (s->flags & LFOR_ROLLED && t->no_unroll)
        tessi_c_line(w, "%s", t->no_unroll);
    uint32_t mark = tessi_c_names_mark(w->names);
    const char *v = w->var[s->var.v] = tessi_c_name(w->names, w->p->vars.at[s->var.v].name);
    tessi_c_line(w, "for (%s %s = %s; %s < %s; %s%s) {", tessi_c_type(w, TYPE_INDEX), v, begin.text,
                 v, tessi_c_inside(w, end, C_SUM), v, step_of(w, s));
    const bool streamed = w->streamed, in_parallel = w->in_parallel;
    w->streamed = false;
    w->in_parallel = parallel || in_parallel;
    inner_block(w, &s->body);
    w->in_parallel = in_parallel;
    if (parallel && w->streamed) {
        w->indent++;
        tessi_c_line(w, "TESS_STREAM_END();");
        w->indent--;
        w->streamed = false;
    }
    w->streamed = w->streamed || streamed;
    tessi_c_line(w, "}");
    tessi_c_names_leave(w->names, mark);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

static void condition(CWriter *w, const LStmt *s, const char *before)
{
    const bool likely = w->target->likely && s->flags & LIF_LIKELY;
    tessi_text_addf(&w->line, "%s%s%s", before, likely ? w->target->likely : "", likely ? "(" : "");
    tessi_c_expr(w, s->a, C_LOOSE);
    tessi_text_add(&w->line, likely ? ")) {" : ") {");
    tessi_c_end_line(w);
    inner_block(w, &s->body);
}

/* The IF that is all an `else` holds and that needs no temporaries, or NULL. */
static const LStmt *else_if(CWriter *w, const LBlock *orelse)
{
    if (orelse->n != 1 || orelse->at[0]->kind != LSTMT_IF)
        return NULL;
    return tessi_c_plan(w, &orelse->at[0]->a, 1) == 0 ? orelse->at[0] : NULL;
}

static void branch(CWriter *w, const LStmt *s)
{
    tessi_c_prepare(w, &s->a, 1);
    const GpuBranches branches = tessi_gpu_enter_branches(w, s);
    GpuBranches after = branches;
    condition(w, s, "if (");
    while (tessi_c_block_has_effect(w, &s->orelse)) {
        const LStmt *next = else_if(w, &s->orelse);
        tessi_gpu_next_branch(w, branches, &after);
        if (!next) {
            tessi_c_line(w, "} else {");
            inner_block(w, &s->orelse);
            break;
        }
        condition(w, next, "} else if (");
        s = next;
    }
    tessi_gpu_leave_branches(w, after);
    tessi_c_line(w, "}");
}

/* ---- Simple statements ----------------------------------------------------------------------- */

static void definition(CWriter *w, const LStmt *s)
{
    const EmitTarget *t = w->target;
    const bool after = t->after && s->b.v;
    tessi_c_prepare(w, (LExprId[]){ s->a, s->b }, after ? 2 : 1);
    const LVar *x = &w->p->vars.at[s->var.v];
    const char *value = tessi_c_printed(w, s->a).text;
    if (after)
        value =
            tessi_sprintf(w->arena, "%s(%s, %s)", t->after, value, tessi_c_printed(w, s->b).text);
    if (!w->needs.var[s->var.v]) {
        tessi_c_line(w, "%s(%s);", t->keep, value);
        return;
    }
    if (s->kind != LSTMT_SET) {
        w->var[s->var.v] = tessi_c_name(w->names, x->name);
        tessi_text_addf(&w->line, "%s%s ", x->is_mutable ? "" : "const ",
                        tessi_c_var_type(w, s->var));
    }
    const bool whole = x->lanes && tessi_type_info(x->type)->bytes == x->lanes;
    if (t->here && s->kind == LSTMT_LET && s->flags & LLET_HERE && (t->api || whole))
        value = tessi_sprintf(w->arena, "%s(%s)", t->here, value);
    tessi_text_addf(&w->line, "%s = %s;", w->var[s->var.v], value);
    tessi_c_end_line(w);
    if (s->var.v == w->stream_if.v && s->var.v) /* only loops in vectors use it */
        tessi_c_line(w, "(void)%s;", w->var[s->var.v]);
}

static void plan_store(CWriter *w, const LStmt *s)
{
    LExprId roots[LOOP_MAX_DIMS + 1];
    for (int i = 0; i < s->n_index; i++)
        roots[i] = s->index[i];
    roots[s->n_index] = s->a;
    tessi_c_prepare(w, roots, s->n_index + 1u);
}

/* A store as far as its value; what ends the statement behind that. */
static const char *begin_store(CWriter *w, const LStmt *s)
{
    const ScalarType t = w->p->buffers.at[s->buffer.v].type;
    const bool mixed = tessi_c_is_mixed(w, s->buffer), f16 = t == TYPE_F16;
    if (mixed)
        tessi_text_addf(&w->line, "tess_store_%s(", tessi_type_info(t)->brief);
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, mixed ? ", " : f16 ? " = tess_f16bits_from_f32(" : " = ");
    return mixed || f16 ? ");" : ";";
}

static void store(CWriter *w, const LStmt *s)
{
    plan_store(w, s);
    if (tessi_lexpr(w->p, s->a)->lanes && !w->p->buffers.at[s->buffer.v].lanes) {
        tessi_c_vector_store(w, s);
    } else {
        const char *end = begin_store(w, s);
        tessi_c_expr(w, s->a, C_LOOSE);
        tessi_text_add(&w->line, end);
    }
    tessi_c_end_line(w);
}

/* place += value for types on which C's += is exact; wraps signed integers by way of the unsigned type. */
static void add_in_place(CWriter *w, const LStmt *s, ScalarType t)
{
    const char *as = t == TYPE_I32 ? "uint32_t" : t == TYPE_I64 ? "uint64_t" : NULL;
    if (s->atomic && w->target->atomic_add) {
        tessi_text_addf(&w->line, "%s%s(&", w->target->atomic_add,
                        t == TYPE_U32   ? "U32"
                        : t == TYPE_I32 ? "I32"
                                        : "I64");
        tessi_c_place(w, s->buffer, s->index);
        tessi_text_add(&w->line, ", ");
        tessi_c_expr(w, s->a, C_LOOSE);
        tessi_text_add(&w->line, ");");
        tessi_c_end_line(w);
        return;
    }
    if (s->atomic)
        tessi_c_line(w, "%s", w->target->atomic);
    if (as)
        tessi_text_addf(&w->line, "*(%s *)&", as);
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, " += ");
    if (as)
        tessi_text_addf(&w->line, "(%s)", as);
    tessi_c_expr(w, s->a, as ? C_PRIMARY : C_LOOSE);
    tessi_text_add(&w->line, ";");
    tessi_c_end_line(w);
}

/* place = place + value with the prelude's load, add and store as needed. */
static void add_by_calls(CWriter *w, const LStmt *s, ScalarType t)
{
    bool mixed = tessi_c_is_mixed(w, s->buffer), f16 = t == TYPE_F16;
    const char *brief = tessi_type_info(t)->brief;
    const char *end = begin_store(w, s);
    bool infix = tessi_is_real(t);
    if (!infix)
        tessi_text_addf(&w->line, "tess_add_%s(", brief);
    if (mixed)
        tessi_text_addf(&w->line, "tess_load_%s(", brief);
    else if (f16)
        tessi_text_add(&w->line, "tess_f32_from_f16bits(");
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_addf(&w->line, "%s%s", mixed || f16 ? ")" : "", infix ? " + " : ", ");
    tessi_c_expr(w, s->a, infix ? C_PRODUCT : C_LOOSE);
    tessi_text_addf(&w->line, "%s%s", infix ? "" : ")", end);
    tessi_c_end_line(w);
}

static void add(CWriter *w, const LStmt *s)
{
    ScalarType t = w->p->buffers.at[s->buffer.v].type;
    bool exact = t == TYPE_F32 || t == TYPE_F64 || t == TYPE_U32;
    plan_store(w, s);
    if (!tessi_c_is_mixed(w, s->buffer) && (exact || s->atomic))
        add_in_place(w, s, t);
    else
        add_by_calls(w, s, t);
}

void tessi_c_local(CWriter *w, LBufferId id, const char *before)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    tessi_text_addf(&w->line, "%s%s %s", before,
                    b->lanes ? tessi_c_vector_type(w, b->type, b->lanes) : tessi_c_element(b->type),
                    w->buffer[id.v]);
    for (int d = 0; d < b->n_dims; d++) {
        tessi_text_add(&w->line, "[");
        tessi_c_expr(w, b->size[d], C_LOOSE);
        tessi_text_add(&w->line, "]");
    }
    tessi_text_add(&w->line, b->n_dims ? ";" : "[1];");
    tessi_c_end_line(w);
}

/* A LOCAL buffer in the part of the thread that runs this. */
static void local_in_part(CWriter *w, LBufferId id)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    const LoopLayout *layout = &w->layout;
    const char *element = tessi_c_element(b->type);
    Text rest = tessi_text_new(w->arena);
    for (int d = 1; d < b->n_dims; d++)
        tessi_text_addf(&rest, "[%lld]", (long long)tessi_lexpr(w->p, b->size[d])->value.i);
    const char *row = tessi_text_str(&rest);
    const char *part = w->in_parallel
                           ? tessi_sprintf(w->arena, "%s + TESS_THREAD * (ptrdiff_t)%lld", w->parts,
                                           (long long)layout->thread_bytes)
                           : w->parts;
    w->parts_used = true;
    tessi_c_line(w,
                 b->n_dims > 1 ? "%s(*const %s)%s = (%s(*)%s)(%s + %lld);"
                               : "%s *const %s%s = (%s *%s)(%s + %lld);",
                 element, w->buffer[id.v], row, element, row, part,
                 (long long)layout->local_at[id.v]);
}

static void local(CWriter *w, LBufferId id)
{
    if (tessi_gpu_is_shared(w, id))
        return; /* declared at the head of the kernel */
    w->buffer[id.v] = tessi_c_name(w->names, w->p->buffers.at[id.v].name);
    if (w->target->workspace && w->layout.local_at[id.v] >= 0)
        local_in_part(w, id);
    else
        tessi_c_local(w, id, "");
}

/* Moves between a line and consecutive elements: in vectors where the target has a word for it and rows are aligned. */
static void move(CWriter *w, const LStmt *s)
{
    bool takes = tessi_loop_is_line(w->p, s->buffer);
    LBufferId line = takes ? s->buffer : s->other, other = takes ? s->other : s->buffer;
    const LBuffer *b = &w->p->buffers.at[line.v];
    tessi_c_prepare(w, s->index, s->n_index);
    const char *word = takes ? w->target->take : w->target->give;
    if (word)
        tessi_text_addf(&w->line, "%s%s(%s, %lld, %s, &", word,
                        tessi_gpu_is_shared(w, other)               ? "_SHARED"
                        : b->type != w->p->buffers.at[other.v].type ? "_WORDS"
                                                                    : "",
                        tessi_gpu_vector_element(w->p->buffers.at[other.v].type),
                        (long long)tessi_lexpr(w->p, b->size[0])->value.i, w->buffer[line.v]);
    else if (takes)
        tessi_text_addf(&w->line, "memcpy(%s, &", w->buffer[line.v]);
    else
        tessi_text_add(&w->line, "memcpy(&");
    tessi_c_place(w, other, s->index);
    if (!word)
        tessi_text_addf(
            &w->line, "%s%s, %lld * sizeof(%s)", takes ? "" : ", ", takes ? "" : w->buffer[line.v],
            (long long)tessi_lexpr(w->p, b->size[0])->value.i, tessi_c_element(b->type));
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
}

static void sort(CWriter *w, const LStmt *s)
{
    tessi_c_prepare(w, &s->a, 1);
    tessi_text_addf(&w->line, "tess_sort_%s(%s, ",
                    tessi_type_info(w->p->buffers.at[s->buffer.v].type)->brief,
                    w->buffer[s->buffer.v]);
    tessi_c_expr(w, s->a, C_LOOSE);
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
}

static void prefetch(CWriter *w, const LStmt *s)
{
    tessi_c_prepare(w, s->index, s->n_index);
    tessi_text_add(&w->line, "TESS_PREFETCH(&");
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
}

/* `is_last`: nothing follows it in its block. */
static void statement(CWriter *w, const LStmt *s, bool is_last)
{
    if (s->kind == LSTMT_LET)
        w->fused[s->var.v] = tessi_c_may_be_fused(w, s->a);
    if (s->kind == LSTMT_COMMENT)
        tessi_c_comment(w, s->text ? s->text : "");
    else if (!tessi_c_has_effect(w, s) || tessi_c_part_call(w, s))
        return;
    switch (s->kind) {
    case LSTMT_FOR: loop(w, s, is_last); break;
    case LSTMT_IF: branch(w, s); break;
    case LSTMT_LET:
    case LSTMT_VAR:
    case LSTMT_SET: definition(w, s); break;
    case LSTMT_STORE: store(w, s); break;
    case LSTMT_ADD: add(w, s); break;
    case LSTMT_LOCAL: local(w, s->buffer); break;
    case LSTMT_MOVE: move(w, s); break;
    case LSTMT_SHIFT: break; /* in blocks, several together */
    case LSTMT_PRODUCT: tessi_gpu_product(w, s); break;
    case LSTMT_SORT: sort(w, s); break;
    case LSTMT_PREFETCH: prefetch(w, s); break;
    case LSTMT_COMMENT: break;
    }
}

void tessi_c_statement(CWriter *w, const LStmt *s)
{
    statement(w, s, false);
}

void tessi_c_block(CWriter *w, const LBlock *block)
{
    uint32_t mark = tessi_c_names_mark(w->names);
    for (uint32_t i = 0; i < block->n;) {
        const uint32_t shifts = tessi_gpu_shifts(w, block, i),
                       together = shifts ? shifts : tessi_c_pixel_stores(w, block, i);
        if (!together)
            statement(w, block->at[i], i + 1 == block->n);
        i += together ? together : 1;
    }
    tessi_c_names_leave(w->names, mark);
}
