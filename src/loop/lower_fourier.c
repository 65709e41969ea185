/* What sums by Fourier transforms are made of: tables, the transform of the mask, butterflies; to the bit as
 * graph_transform.h says. */
#include "loop/lower_fourier.h"
#include "loop/lower_nest.h"

/* ---- Short forms ----------------------------------------------------------------------------- */

LExprId tessi_f_add(const Transform *t, LExprId a, int64_t b)
{
    return tessi_l_op(t->l, OP_ADD, a, tessi_l_int(t->l, b));
}

LExprId tessi_f_fma(const Transform *t, LExprId a, LExprId b, LExprId c)
{
    return tessi_lexpr_op(t->l->p, OP_FMA, a, b, c);
}

LExprId tessi_f_neg(const Transform *t, LExprId a)
{
    return tessi_lexpr_op(t->l->p, OP_NEG, a, (LExprId){ 0 }, (LExprId){ 0 });
}

LExprId tessi_f_load(const Transform *t, LBufferId b, LExprId row, LExprId col)
{
    return tessi_lexpr_load(t->l->p, b, (LExprId[]){ row, col }, 2);
}

void tessi_f_store(const Transform *t, LBufferId b, LExprId row, LExprId col, LExprId value)
{
    tessi_scope_store(t->l, b, (const LExprId[]){ row, col }, 2, value);
}

LExprId tessi_f_loop(const Transform *t, const char *name, int64_t to, uint8_t flags)
{
    Lower *l = t->l;
    return tessi_lexpr_var(
        l->p, tessi_scope_for(l, name, tessi_l_int(l, 0), tessi_l_int(l, to), 1, flags));
}

void tessi_f_comment(const Transform *t, const char *text)
{
    tessi_scope_stmt(t->l, LSTMT_COMMENT)->text = text;
}

/* ---- Buffers --------------------------------------------------------------------------------- */

Transform tessi_fourier_new(Lower *l, const PlanGroup *group)
{
    bool must;
    Transform t = { .l = l, .group = group };
    t.stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_wide_sum(l->g, &l->walk, t.stage, &t.sum, &must);
    t.type = tessi_expr(l->g, t.sum.window)->type;
    t.n = group->transform;
    t.rows = t.n - t.sum.rows + 1;
    t.width = group->strip;
    return t;
}

LBufferId tessi_fourier_buffer(const Transform *t, const char *name, LBufferKind kind,
                               ScalarType type, LExprId rows, LExprId cols)
{
    return tessi_lower_array(t->l, kind, t->stage->name, name, type, rows, cols);
}

Columns tessi_fourier_columns(const Transform *t, const char *name, LBufferKind kind, LExprId rows,
                              LExprId cols)
{
    Arena *a = t->l->arena;
    const LBufferId re =
        tessi_fourier_buffer(t, tessi_sprintf(a, "%s_re", name), kind, t->type, rows, cols);
    const LBufferId im =
        tessi_fourier_buffer(t, tessi_sprintf(a, "%s_im", name), kind, t->type, rows, cols);
    return (Columns){ re, im };
}

LBufferId tessi_fourier_sine(const Transform *t, const char *name, ScalarType type)
{
    const uint32_t n = t->n, wave = n + n / 4;
    Value *sine = ARENA_NEW_ARRAY(t->l->arena, Value, wave);
    for (uint32_t k = 0; k < wave; k++) {
        const double value = tessi_transform_sine(n, k);
        sine[k] = tessi_value_real(type == TYPE_F64 ? value : (double)(float)value);
    }
    return tessi_lower_values(t->l, t->stage->name, name, type, sine, wave);
}

void tessi_fourier_tables(Transform *t)
{
    const uint32_t n = t->n;
    Value *frequency = ARENA_NEW_ARRAY(t->l->arena, Value, n);
    for (uint32_t k = 0; k < n; k++)
        frequency[k] = tessi_value_int(tessi_transform_frequency(n, k));
    t->sine = tessi_fourier_sine(t, "sine", TYPE_F64);
    t->frequency = tessi_lower_values(t->l, t->stage->name, "frequency", TYPE_I32, frequency, n);
}

/* cos and sin of 2 pi at / n, for 0 <= at < n, from a table of sines. */
static Complex wave_at(const Transform *t, LBufferId sine, LExprId at)
{
    LoopProgram *p = t->l->p;
    LExprId later = tessi_f_add(t, at, t->n / 4);
    return (Complex){ tessi_lexpr_load(p, sine, &later, 1), tessi_lexpr_load(p, sine, &at, 1) };
}

/* ---- The mask -------------------------------------------------------------------------------- */

LExprId tessi_fourier_weight(const Transform *t, LExprId i, LExprId j)
{
    Lower *l = t->l;
    const WideSum *sum = &t->sum;
    const WindowId id = tessi_expr(l->g, sum->window)->window;
    const Window *w = tessi_window(l->g, id);
    const ExprId roots[2] = { sum->weight, sum->where };
    Eval *ev = tessi_eval_new(l, roots, sum->where.v ? 2 : 1, 0);
    WindowVars vars = { .window = id,
                        .var = { tessi_f_add(t, i, w->lo[0]), tessi_f_add(t, j, w->lo[1]) } };
    VEC_PUSH(l->arena, &ev->open, vars);
    LExprId value = tessi_lexpr_cast(l->p, TYPE_F64, tessi_eval_expr(l, ev, sum->weight));
    if (sum->where.v)
        value = tessi_l_select(l, tessi_eval_expr(l, ev, sum->where), value,
                               tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(0)));
    return tessi_scope_place1(l, value);
}

Complex tessi_fourier_of_mask(const Transform *t, LBufferId weights, LExprId frequency, LExprId j)
{
    Lower *l = t->l;
    const LExprId zero = tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(0));
    const LExprId scale = tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(1.0 / t->n));
    LVarId re = tessi_scope_var(l, "re", TYPE_F64, zero);
    LVarId im = tessi_scope_var(l, "im", TYPE_F64, zero);
    LExprId i = tessi_f_loop(t, "i", t->sum.rows, 0);
    LExprId at =
        tessi_l_op(l, OP_FLOORMOD, tessi_l_op(l, OP_MUL, frequency, i), tessi_l_int(l, t->n));
    at = tessi_scope_let(l, "at", at);
    LExprId w = weights.v ? tessi_f_load(t, weights, i, j) : tessi_fourier_weight(t, i, j);
    w = tessi_scope_let(l, "w", w);
    const Complex wave = wave_at(t, t->sine, at);
    tessi_lower_set(l, re, tessi_f_fma(t, w, wave.re, tessi_lexpr_var(l->p, re)));
    tessi_lower_set(l, im, tessi_f_fma(t, w, wave.im, tessi_lexpr_var(l->p, im)));
    tessi_scope_close(l);
    LExprId value[2] = { tessi_lexpr_var(l->p, re), tessi_lexpr_var(l->p, im) };
    for (int k = 0; k < 2; k++)
        value[k] = tessi_lexpr_cast(l->p, t->type, tessi_l_op(l, OP_MUL, value[k], scale));
    return (Complex){ value[0], value[1] };
}

/* ---- Columns that are spoiled ---------------------------------------------------------------- */

static LExprId nought(const Transform *t)
{
    return tessi_lexpr_const(t->l->p, t->type, tessi_value_real(0));
}

/* What is not finite is NaN when multiplied with 0. */
LExprId tessi_fourier_trace(const Transform *t, Complex first)
{
    const LExprId zero = nought(t);
    return tessi_f_fma(t, first.re, zero, tessi_l_op(t->l, OP_MUL, first.im, zero));
}

LExprId tessi_fourier_is_trace(const Transform *t, LExprId trace)
{
    return tessi_l_op(t->l, OP_NE, trace, nought(t));
}

LExprId tessi_fourier_written(const Transform *t, LExprId y, LExprId x)
{
    Lower *l = t->l;
    Nest nest = { 0 };
    tessi_nest_whole(l, t->stage, &nest);
    l->guard_depth = tessi_scope_depth(l);
    Eval *ev = tessi_eval_new(l, &t->sum.window, 1, 2);
    ev->pinned = true;
    ev->coord[0] = tessi_nest_coord(&nest, 0, y);
    ev->coord[1] = tessi_nest_coord(&nest, 1, x);
    return tessi_scope_place1(l, tessi_eval_expr(l, ev, t->sum.window));
}

/* ---- Butterflies ----------------------------------------------------------------------------- */

static Complex plus(const Transform *t, Complex a, Complex b)
{
    return (Complex){ tessi_l_op(t->l, OP_ADD, a.re, b.re), tessi_l_op(t->l, OP_ADD, a.im, b.im) };
}

static Complex minus(const Transform *t, Complex a, Complex b)
{
    return (Complex){ tessi_l_op(t->l, OP_SUB, a.re, b.re), tessi_l_op(t->l, OP_SUB, a.im, b.im) };
}

/* a + i b, a - i b. */
static Complex plus_i(const Transform *t, Complex a, Complex b)
{
    return (Complex){ tessi_l_op(t->l, OP_SUB, a.re, b.im), tessi_l_op(t->l, OP_ADD, a.im, b.re) };
}

static Complex minus_i(const Transform *t, Complex a, Complex b)
{
    return (Complex){ tessi_l_op(t->l, OP_ADD, a.re, b.im), tessi_l_op(t->l, OP_SUB, a.im, b.re) };
}

/* The transform of four, in place. */
static void four(const Transform *t, Complex *z, bool back)
{
    const Complex a = plus(t, z[0], z[2]), b = minus(t, z[0], z[2]);
    const Complex c = plus(t, z[1], z[3]), d = minus(t, z[1], z[3]);
    z[0] = plus(t, a, c);
    z[1] = back ? plus_i(t, b, d) : minus_i(t, b, d);
    z[2] = minus(t, a, c);
    z[3] = back ? minus_i(t, b, d) : plus_i(t, b, d);
}

/* The transform of eight, in place: of the even ones, of the odd ones, and together. */
static void eight(const Transform *t, Complex *z, bool back)
{
    Lower *l = t->l;
    const LExprId half =
        tessi_lexpr_const(l->p, t->type, tessi_value_real(tessi_transform_half(t->type)));
    const LExprId less = tessi_f_neg(t, half);
    Complex even[4] = { z[0], z[2], z[4], z[6] }, odd[4] = { z[1], z[3], z[5], z[7] };
    four(t, even, back);
    four(t, odd, back);
    z[0] = plus(t, even[0], odd[0]);
    z[4] = minus(t, even[0], odd[0]);
    z[2] = back ? plus_i(t, even[2], odd[2]) : minus_i(t, even[2], odd[2]);
    z[6] = back ? minus_i(t, even[2], odd[2]) : plus_i(t, even[2], odd[2]);
    for (int k = 1; k < 4; k += 2) { /* times (+-1 -+ i) sqrt(1/2) */
        const LExprId sum = tessi_l_op(l, OP_ADD, odd[k].re, odd[k].im);
        const LExprId difference = back ? tessi_l_op(l, OP_SUB, odd[k].re, odd[k].im)
                                        : tessi_l_op(l, OP_SUB, odd[k].im, odd[k].re);
        /* 1: forward (sum, difference), back (difference, sum); 3: forward (difference, -sum), back (-sum,
         * difference) */
        const bool sum_first = (k == 1) != back;
        const LExprId re = sum_first ? sum : difference, im = sum_first ? difference : sum;
        const bool minus_re = k == 3 && sum_first, minus_im = k == 3 && !sum_first;
        z[k] = (Complex){ tessi_f_fma(t, minus_re ? less : half, re, even[k].re),
                          tessi_f_fma(t, minus_im ? less : half, im, even[k].im) };
        z[k + 4] = (Complex){ tessi_f_fma(t, minus_re ? half : less, re, even[k].re),
                              tessi_f_fma(t, minus_im ? half : less, im, even[k].im) };
    }
}

static Complex times(const Transform *t, Complex a, Complex factor)
{
    Lower *l = t->l;
    return (Complex){ tessi_f_fma(t, a.re, factor.re,
                                  tessi_f_neg(t, tessi_l_op(l, OP_MUL, a.im, factor.im))),
                      tessi_f_fma(t, a.re, factor.im, tessi_l_op(l, OP_MUL, a.im, factor.re)) };
}

static bool has_factors(const Butterfly *b)
{
    return b->size > b->radix;
}

void tessi_fourier_factors(const Transform *t, Butterfly *b, LBufferId sine, LExprId j)
{
    Lower *l = t->l;
    for (uint32_t r = 1; r < b->radix && has_factors(b); r++) {
        const LExprId step = tessi_l_int(l, (int64_t)r * (t->n / b->size));
        const Complex wave = wave_at(t, sine, tessi_l_op(l, OP_MUL, j, step));
        const LExprId s = tessi_lexpr_cast(l->p, t->type, wave.im);
        b->factor[r].re = tessi_scope_let(l, "c", tessi_lexpr_cast(l->p, t->type, wave.re));
        b->factor[r].im = tessi_scope_let(l, "s", b->back ? s : tessi_f_neg(t, s));
    }
}

void tessi_fourier_butterfly(const Transform *t, const Butterfly *b, Complex *v)
{
    const bool factors = has_factors(b);
    for (uint32_t r = 1; r < b->radix && factors && b->back; r++)
        v[r] = times(t, v[r], b->factor[r]);
    (b->radix == MOST_RADIX ? eight : four)(t, v, b->back);
    for (uint32_t r = 1; r < b->radix && factors && !b->back; r++)
        v[r] = times(t, v[r], b->factor[r]);
}
