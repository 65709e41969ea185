/* The pass `dots`: windows along a row of bytes whose weights are small whole numbers, known when compiling, take four
 * points at once, as sums of products of bytes (OP_DOT), of which processors add four in an instruction:
 *
 *   var sum = 0                                       var words = 0
 *   for j in 0 .. 9 {                                 for q in 0 .. 2 {
 *     set sum = sum + m[j] * i32(in[y, x + j])   ->     set words = dot(fours(in[y, x + 4 q]), m_words[4 q], words)
 *   }                                                 }
 *   store out[y, x] = sum                             set words = dot(fours(in[y, x + 5]), m_words[14], words)
 *                                                     var sum = i32(words)
 *                                                     store out[y, x] = sum
 *
 * The last four overlap those before them, and have weights of 0 there, so that no byte is read that was not. Words
 * hold the bits of any sum of integers. Sums of reals are taken where all weights are whole multiples of one power of
 * two and no sum leaves what 24 bits hold: then nothing was ever rounded, and the order is of no account. Of masks that
 * were folded in the middle, w * (a + b), each pixel is taken by itself again; b goes from right to left. */
#include <math.h>

#include "loop/dots.h"
#include "loop/loop_passes.h"
#include "loop/pass.h"

static const LExprId none = { 0 };

/* ---- Words of weights -------------------------------------------------------------------------------------------- */

static uint32_t word(const Dots *s, const Table *t, int64_t first, uint32_t zeros)
{
    const int64_t n = s->p->buffers.at[t->of.v].n_table;
    uint32_t bits = 0;
    for (uint32_t k = zeros; k < TAPS && first + k < n; k++) {
        if (!tessi_dots_counts(s, t->where, first + k))
            continue;
        const double w =
            ldexp(tessi_dots_weight(s, t->of, first + k), -t->exponent) * (t->negated ? -1 : 1);
        const bool small = fabs(w) <= INT8_MAX && w == floor(w); /* others are not used */
        bits |= (small ? (uint32_t)(int32_t)w & 255 : 0) << 8 * (t->falls ? TAPS - 1 - k : k);
    }
    return bits;
}

static LBufferId words_of(Dots *s, LBufferId of, const Step *step, const Pixel *pixel,
                          uint32_t left)
{
    const int exponent = step->sum->exponent;
    VEC_FOREACH (const Table, t, &s->tables)
        if (t->of.v == of.v && t->where.v == step->where.v && t->left == left
            && t->exponent == exponent && t->falls == pixel->falls && t->negated == pixel->negated)
            return t->words;
    const LBuffer weights = s->p->buffers.at[of.v];
    const uint32_t n = weights.n_table;
    Table t = { .of = of,
                .where = step->where,
                .left = left,
                .exponent = exponent,
                .falls = pixel->falls,
                .negated = pixel->negated };
    LBuffer b = weights;
    b.name = tessi_sprintf(s->p->arena, "%s_words", weights.name ? weights.name : "");
    b.type = TYPE_U32;
    b.n_table = left ? 2 * n : n;
    b.size[0] = tessi_lexpr_index(s->p, b.n_table);
    b.table = ARENA_NEW_ARRAY(s->p->arena, Value, b.n_table);
    for (uint32_t i = 0; i < b.n_table; i++)
        b.table[i] = tessi_value_int(i < n ? word(s, &t, i, 0) : word(s, &t, i - n, TAPS - left));
    t.words = tessi_loop_buffer(s->p, &b);
    VEC_PUSH(s->p->arena, &s->tables, t);
    return t.words;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

/* The expression with another one for the window's variable, and no names of the window's body. */
static LExprId at(const Dots *s, LExprId id, LVarId var, LExprId value)
{
    const LExpr e = *tessi_lexpr(s->p, tessi_dots_named(s, id));
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    if (e.kind == LEXPR_VAR && e.var.v == var.v)
        return value;
    if (!e.n_args)
        return tessi_dots_named(s, id);
    for (int i = 0; i < e.n_args; i++)
        arg[i] = at(s, e.arg[i], var, value);
    return tessi_lexpr_with_args(s->p, &e, arg);
}

static LExprId op(const Dots *s, Op o, LExprId a, LExprId b)
{
    return tessi_lexpr_op(s->p, o, a, b, none);
}

/* Adds four products of a step; the first tap of the four is j. `last`: those that are left, behind zeros. */
static void dot(Dots *s, const Step *step, const Pixel *pixel, LVarId var, LExprId j, uint32_t left,
                bool last, LBlock *to)
{
    const LExpr load = *tessi_lexpr(s->p, pixel->load), weight = *tessi_lexpr(s->p, step->weight);
    const LExprId highest = op(s, OP_ADD, j, tessi_lexpr_index(s->p, TAPS - 1));
    LExprId index[LOOP_MAX_DIMS] = { { 0 } };
    for (int d = 0; d < load.n_args; d++)
        index[d] = at(s, load.arg[d], var, pixel->falls ? highest : j);
    const LExprId four = tessi_lexpr_load_lanes(s->p, 0, LLOAD_FOURS, load.buffer, index);
    LExprId k = at(s, weight.arg[0], var, j);
    if (last)
        k = op(s, OP_ADD, k, tessi_lexpr_index(s->p, s->p->buffers.at[weight.buffer.v].n_table));
    const LBufferId words = words_of(s, weight.buffer, step, pixel, left);
    LStmt *t = tessi_lstmt(s->p, to, LSTMT_SET);
    t->var = step->sum->words;
    t->a = tessi_lexpr_op(s->p, OP_DOT, four, tessi_lexpr_load(s->p, words, &k, 1),
                          tessi_lexpr_var(s->p, step->sum->words));
}

/* `where`: the table of truths that these steps stand under. */
static void dots(Dots *s, const LStmt *f, const LBlock *steps, LBufferId where, LExprId j,
                 uint32_t left, bool last, LBlock *to)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        const LStmt *t = steps->at[i];
        Step step;
        if (t->kind == LSTMT_IF)
            dots(s, f, &t->body, tessi_lexpr(s->p, tessi_dots_named(s, t->a))->buffer, j, left,
                 last, to);
        if (t->kind != LSTMT_SET || !tessi_dots_find_step(s, t, &step))
            continue;
        step.where = where;
        for (uint32_t k = 0; k < step.n_pixels; k++)
            dot(s, &step, &step.pixel[k], f->var, j, left, last, to);
    }
}

static void window(Dots *s, const LStmt *f, LBlock *to)
{
    const int64_t from = tessi_lexpr(s->p, f->a)->value.i, end = tessi_lexpr(s->p, f->b)->value.i;
    const uint32_t left = (uint32_t)(end - from) % TAPS;
    const int64_t n = (end - from) / TAPS;
    const LBufferId all = { 0 };
    s->nested[s->depth++] = f;
    LStmt *fours = tessi_lstmt(s->p, to, LSTMT_FOR);
    fours->var = tessi_loop_var(s->p, "q", TYPE_INDEX, false);
    fours->a = tessi_lexpr_index(s->p, 0);
    fours->b = tessi_lexpr_index(s->p, n);
    const LExprId q =
        op(s, OP_MUL, tessi_lexpr_var(s->p, fours->var), tessi_lexpr_index(s->p, TAPS));
    dots(s, f, &f->body, all, op(s, OP_ADD, q, tessi_lexpr_index(s->p, from)), left, false,
         &fours->body);
    if (left)
        dots(s, f, &f->body, all, tessi_lexpr_index(s->p, end - TAPS), left, true, to);
    s->depth--;
}

/* The steps of one window all change, or none does. */
static bool changes(Dots *s, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *t = block->at[i];
        const Sum *sum = t->kind == LSTMT_SET ? tessi_dots_sum_of(s, t->var) : NULL;
        if ((sum && !sum->dropped) || (t->kind == LSTMT_IF && changes(s, &t->body)))
            return true;
    }
    return false;
}

static void windows(Dots *s, LStmt *f, LBlock *to)
{
    if (changes(s, &f->body)) {
        window(s, f, to);
        return;
    }
    LBlock body = { 0 };
    s->nested[s->depth++] = f;
    for (uint32_t i = 0; i < f->body.n; i++) {
        LStmt *t = f->body.at[i];
        if (t->kind == LSTMT_FOR && s->depth < MOST_NESTED)
            windows(s, t, &body);
        else
            VEC_PUSH(s->p->arena, &body, t);
    }
    s->depth--;
    f->body = body;
    VEC_PUSH(s->p->arena, to, f);
}

/* The sum, complete. */
static void finish(Dots *s, const Sum *sum, LBlock *to)
{
    const ScalarType t = tessi_lexpr(s->p, sum->start->a)->type;
    LStmt *var = tessi_lstmt(s->p, to, LSTMT_VAR);
    var->var = sum->start->var;
    var->a = tessi_lexpr_cast(s->p, TYPE_I32, tessi_lexpr_var(s->p, sum->words));
    if (t == TYPE_F32)
        var->a = tessi_lexpr_cast(s->p, TYPE_F32, var->a);
    if (t == TYPE_F32 && sum->exponent)
        var->a = op(s, OP_MUL, var->a,
                    tessi_lexpr_const(s->p, TYPE_F32, tessi_value_real(ldexp(1, sum->exponent))));
}

static void rewrite(Dots *s)
{
    LBlock out = { 0 };
    const LBlock body = s->loop->body;
    for (uint32_t i = 0; i < s->n; i++)
        s->sum[i].words = tessi_loop_var(s->p, "words", TYPE_U32, true);
    for (uint32_t i = 0; i < body.n; i++) {
        LStmt *t = body.at[i];
        bool start = false;
        for (uint32_t k = 0; k < s->n; k++)
            if (s->sum[k].start == t && !s->sum[k].dropped) {
                LStmt *var = tessi_lstmt(s->p, &out, LSTMT_VAR);
                var->var = s->sum[k].words;
                var->a = tessi_lexpr_const(s->p, TYPE_U32, tessi_value_int(0));
                start = true;
            }
        if (t->kind == LSTMT_FOR)
            windows(s, t, &out);
        else if (!start)
            VEC_PUSH(s->p->arena, &out, t);
        for (uint32_t k = 0; k < s->n; k++)
            if (s->sum[k].last == i && !s->sum[k].dropped)
                finish(s, &s->sum[k], &out);
    }
    s->loop->body = out;
}

static void visit(Dots *s, LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *t = block->at[i];
        s->loop = t;
        if (t->kind == LSTMT_FOR && t->flags & LFOR_SIMD && !t->lanes && tessi_dots_qualify(s)) {
            rewrite(s);
            continue;
        }
        visit(s, &t->body);
        visit(s, &t->orelse);
    }
}

void tessi_loop_dots(LoopProgram *p)
{
    if (!p->vector_bytes)
        return;
    Arena *a = tessi_scratch_open(p->arena);
    Dots *s = ARENA_NEW(a, Dots);
    s->p = p;
    s->n_vars = p->vars.n;
    s->definition = ARENA_NEW_ARRAY(a, const LStmt *, p->vars.n);
    VEC_FOREACH (LFunction, f, &p->functions)
        tessi_pass_definitions(&f->body, s->definition);
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(s, &f->body);
    tessi_scratch_close(a);
}
