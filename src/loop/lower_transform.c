/* Sums over wide masks by Fourier transforms: the algorithm of graph_transform.h, for two blocks of rows and a strip of columns at a time,
 * which stay in a near cache from the first pass to the last.
 *
 *   the weights, then their transform              once
 *   for each two blocks and strip:
 *     the columns, as the border rule answers, to scratch memory; where all lie inside the first pass reads them in place
 *     passes of the transform; the taps along the rows, frequency by frequency; the passes backward
 *     the rows of both blocks to the result */
#include <math.h>

#include "graph/graph_transform.h"
#include "loop/lower_gather.h"
#include "loop/lower_window.h"

typedef struct Complex {
    LExprId re, im;
} Complex;
typedef struct Columns { /* buffers of two parts */
    LBufferId re, im;
} Columns;

typedef struct Transform {
    Lower *l;
    const PlanGroup *group;
    const Stage *stage;
    WideSum sum;
    ScalarType type;
    uint32_t n, rows;    /* of a transform; of these, results of a block */
    int64_t width, wide; /* columns of a strip; with those that its taps read beyond it */
    LBufferId sine, frequency;
    Columns mask, in, out;
    LExprId y, x; /* the first point of the two blocks and the strip */
    Gather read;
} Transform;

/* ---- Buffers ------------------------------------------------------------------------------------------------------------- */

static LBufferId new_buffer(const Transform *t, const char *name, LBufferKind kind, ScalarType type,
                            int64_t rows, int64_t cols)
{
    Lower *l = t->l;
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_%s", t->stage->name, name),
                  .kind = kind,
                  .type = type,
                  .n_dims = 2,
                  .size = { tessi_l_int(l, rows), tessi_l_int(l, cols) } };
    return tessi_loop_buffer(l->p, &b);
}

static LBufferId new_table(const Transform *t, const char *name, ScalarType type, Value *at,
                           uint32_t n)
{
    Lower *l = t->l;
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_%s", t->stage->name, name),
                  .kind = LBUF_TABLE,
                  .type = type,
                  .n_dims = 1,
                  .size = { tessi_l_int(l, n) },
                  .table = at,
                  .n_table = n };
    return tessi_loop_buffer(l->p, &b);
}

static void make_tables(Transform *t)
{
    const uint32_t n = t->n, wave = n + n / 4;
    Value *sine = ARENA_NEW_ARRAY(t->l->arena, Value, wave);
    Value *frequency = ARENA_NEW_ARRAY(t->l->arena, Value, n);
    for (uint32_t k = 0; k < wave; k++)
        sine[k] = tessi_value_real(tessi_transform_sine(n, k));
    for (uint32_t k = 0; k < n; k++)
        frequency[k] = tessi_value_int(tessi_transform_frequency(n, k));
    t->sine = new_table(t, "sine", TYPE_F64, sine, wave);
    t->frequency = new_table(t, "frequency", TYPE_I32, frequency, n);
}

/* cos and sin of 2 pi at / n, for 0 <= at < n. */
static Complex wave_at(const Transform *t, LExprId at)
{
    LoopProgram *p = t->l->p;
    LExprId later = tessi_l_op(t->l, OP_ADD, at, tessi_l_int(t->l, t->n / 4));
    return (Complex){ tessi_lexpr_load(p, t->sine, &later, 1),
                      tessi_lexpr_load(p, t->sine, &at, 1) };
}

static LExprId load(const Transform *t, LBufferId b, LExprId row, LExprId col)
{
    return tessi_lexpr_load(t->l->p, b, (LExprId[]){ row, col }, 2);
}

static void store(const Transform *t, LBufferId b, LExprId row, LExprId col, LExprId value)
{
    LStmt *s = tessi_scope_stmt(t->l, LSTMT_STORE);
    s->buffer = b;
    s->n_index = 2;
    s->index[0] = row;
    s->index[1] = col;
    s->a = value;
}

static LExprId loop(const Transform *t, const char *name, int64_t to, uint8_t flags)
{
    Lower *l = t->l;
    return tessi_lexpr_var(
        l->p, tessi_scope_for(l, name, tessi_l_int(l, 0), tessi_l_int(l, to), 1, flags));
}

static LExprId add(const Transform *t, LExprId a, int64_t b)
{
    return tessi_l_op(t->l, OP_ADD, a, tessi_l_int(t->l, b));
}

static LExprId fma_of(const Transform *t, LExprId a, LExprId b, LExprId c)
{
    return tessi_lexpr_op(t->l->p, OP_FMA, a, b, c);
}

static LExprId negative(const Transform *t, LExprId a)
{
    return tessi_lexpr_op(t->l->p, OP_NEG, a, (LExprId){ 0 }, (LExprId){ 0 });
}

/* ---- The mask --------------------------------------------------------------------------------------------------------------- */

/* The weights side by side; 0 where there is no tap. */
static LBufferId lay_out_weights(const Transform *t)
{
    Lower *l = t->l;
    const WideSum *sum = &t->sum;
    const WindowId id = tessi_expr(l->g, sum->window)->window;
    const Window *w = tessi_window(l->g, id);
    LBufferId weights = new_buffer(t, "weights", LBUF_TEMP, TYPE_F64, sum->rows, sum->cols);
    LExprId i = loop(t, "i", sum->rows, 0), j = loop(t, "j", sum->cols, 0);
    const ExprId roots[2] = { sum->weight, sum->where };
    Eval *ev = tessi_eval_new(l, roots, sum->where.v ? 2 : 1, 0);
    WindowVars vars = { .window = id, .var = { add(t, i, w->lo[0]), add(t, j, w->lo[1]) } };
    VEC_PUSH(l->arena, &ev->open, vars);
    LExprId value = tessi_lexpr_cast(l->p, TYPE_F64, tessi_eval_expr(l, ev, sum->weight));
    if (sum->where.v)
        value = tessi_l_select(l, tessi_eval_expr(l, ev, sum->where), value,
                               tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(0)));
    store(t, weights, i, j, tessi_scope_place1(l, value));
    tessi_scope_close(l);
    tessi_scope_close(l);
    return weights;
}

/* Their transform along the columns, at every frequency. */
static void transform_weights(Transform *t, LBufferId weights)
{
    Lower *l = t->l;
    const LExprId zero = tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(0));
    const LExprId scale = tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(1.0 / t->n));
    t->mask.re = new_buffer(t, "mask_re", LBUF_TEMP, t->type, t->n, t->sum.cols);
    t->mask.im = new_buffer(t, "mask_im", LBUF_TEMP, t->type, t->n, t->sum.cols);
    LExprId p = loop(t, "p", t->n, 0);
    LExprId frequency = tessi_lexpr_load(l->p, t->frequency, &p, 1);
    frequency = tessi_scope_let(l, "frequency", tessi_lexpr_cast(l->p, TYPE_INDEX, frequency));
    LExprId j = loop(t, "j", t->sum.cols, LFOR_SIMD);
    LVarId re = tessi_scope_var(l, "re", TYPE_F64, zero);
    LVarId im = tessi_scope_var(l, "im", TYPE_F64, zero);
    LExprId i = loop(t, "i", t->sum.rows, 0);
    LExprId at =
        tessi_l_op(l, OP_FLOORMOD, tessi_l_op(l, OP_MUL, frequency, i), tessi_l_int(l, t->n));
    at = tessi_scope_let(l, "at", at);
    LExprId w = tessi_scope_let(l, "w", load(t, weights, i, j));
    const Complex wave = wave_at(t, at);
    tessi_lower_set(l, re, fma_of(t, w, wave.re, tessi_lexpr_var(l->p, re)));
    tessi_lower_set(l, im, fma_of(t, w, wave.im, tessi_lexpr_var(l->p, im)));
    tessi_scope_close(l);
    LExprId value[2] = { tessi_lexpr_var(l->p, re), tessi_lexpr_var(l->p, im) };
    for (int k = 0; k < 2; k++)
        value[k] = tessi_lexpr_cast(l->p, t->type, tessi_l_op(l, OP_MUL, value[k], scale));
    store(t, t->mask.re, p, j, value[0]);
    store(t, t->mask.im, p, j, value[1]);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Passes ------------------------------------------------------------------------------------------------------------------- */

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
    const LExprId less = negative(t, half);
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
        /* 1: forward (sum, difference), back (difference, sum); 3: forward (difference, -sum), back (-sum, difference) */
        const bool sum_first = (k == 1) != back;
        const LExprId re = sum_first ? sum : difference, im = sum_first ? difference : sum;
        const bool minus_re = k == 3 && sum_first, minus_im = k == 3 && !sum_first;
        z[k] = (Complex){ fma_of(t, minus_re ? less : half, re, even[k].re),
                          fma_of(t, minus_im ? less : half, im, even[k].im) };
        z[k + 4] = (Complex){ fma_of(t, minus_re ? half : less, re, even[k].re),
                              fma_of(t, minus_im ? half : less, im, even[k].im) };
    }
}

static Complex times(const Transform *t, Complex a, Complex factor)
{
    Lower *l = t->l;
    return (
        Complex){ fma_of(t, a.re, factor.re, negative(t, tessi_l_op(l, OP_MUL, a.im, factor.im))),
                  fma_of(t, a.re, factor.im, tessi_l_op(l, OP_MUL, a.im, factor.re)) };
}

/* Row k of block `part` as it is read. */
static LExprId row_read(const Transform *t, int part, LExprId k)
{
    return tessi_gather_row(&t->read, add(t, k, part * (int64_t)t->rows));
}

/* One pass over blocks of `size` rows; the first one forward may read the image. */
static void pass(const Transform *t, Columns z, uint32_t size, uint32_t radix, bool back,
                 bool from_image, int64_t width)
{
    Lower *l = t->l;
    const uint32_t m = size / radix;
    Complex v[8], factor[8];
    LExprId row[8], source[8][2], b = tessi_l_int(l, 0), j = b;
    if (size < t->n)
        b = tessi_lexpr_var(l->p, tessi_scope_for(l, "b", b, tessi_l_int(l, t->n), size, 0));
    if (m > 1)
        j = loop(t, "j", m, 0);
    for (uint32_t r = 0; r < radix; r++) {
        row[r] = add(t, tessi_l_op(l, OP_ADD, b, j), (int64_t)r * m);
        for (int part = 0; part < 2 && from_image; part++)
            source[r][part] = tessi_scope_let(l, "row", row_read(t, part, row[r]));
        if (!r || m == 1)
            continue;
        LExprId at = tessi_l_op(l, OP_MUL, j, tessi_l_int(l, (int64_t)r * (t->n / size)));
        const Complex wave = wave_at(t, at);
        LExprId s = tessi_lexpr_cast(l->p, t->type, wave.im);
        factor[r].re = tessi_scope_let(l, "c", tessi_lexpr_cast(l->p, t->type, wave.re));
        factor[r].im = tessi_scope_let(l, "s", back ? s : negative(t, s));
    }
    LExprId x = loop(t, "x", width, LFOR_SIMD);
    for (uint32_t r = 0; r < radix; r++) {
        LExprId col = tessi_l_op(l, OP_ADD, t->read.first[1], x);
        v[r].re = tessi_scope_let(l, "re",
                                  from_image ? tessi_gather_value(&t->read, source[r][0], col)
                                             : load(t, z.re, row[r], x));
        v[r].im = tessi_scope_let(l, "im",
                                  from_image ? tessi_gather_value(&t->read, source[r][1], col)
                                             : load(t, z.im, row[r], x));
        if (back && r && m > 1)
            v[r] = times(t, v[r], factor[r]);
    }
    if (radix == 8)
        eight(t, v, back);
    else
        four(t, v, back);
    LExprId value[16];
    for (uint32_t r = 0; r < radix; r++) {
        if (!back && r && m > 1)
            v[r] = times(t, v[r], factor[r]);
        value[2 * r] = v[r].re;
        value[2 * r + 1] = v[r].im;
    }
    tessi_scope_place(l, value, 2 * radix);
    for (uint32_t r = 0; r < radix; r++) {
        store(t, z.re, row[r], x, value[2 * r]);
        store(t, z.im, row[r], x, value[2 * r + 1]);
    }
    tessi_scope_close(l);
    if (m > 1)
        tessi_scope_close(l);
    if (size < t->n)
        tessi_scope_close(l);
}

/* ---- Input ------------------------------------------------------------------------------------------------------------------- */

/* All that the two blocks read of the strip lies inside, or in rows that a rule answers with others. */
static LExprId is_inside(const Transform *t)
{
    Lower *l = t->l;
    LExprId zero = tessi_l_int(l, 0);
    LExprId in = tessi_l_op(l, OP_LE, zero, t->read.first[1]);
    in = tessi_l_op(l, OP_AND, in,
                    tessi_l_op(l, OP_LE, add(t, t->read.first[1], t->wide), t->read.size[1]));
    if (t->read.read->dim[0].rule != BORDER_CONSTANT)
        return in;
    in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LE, zero, t->read.first[0]));
    return tessi_l_op(
        l, OP_AND, in,
        tessi_l_op(l, OP_LE, add(t, t->read.first[0], (int64_t)t->n + t->rows), t->read.size[0]));
}

static void forward(const Transform *t)
{
    Lower *l = t->l;
    uint32_t radix[MAX_RADICES], n = tessi_transform_radices(t->n, radix), size = t->n;
    tessi_scope_if(l, is_inside(t));
    pass(t, t->in, size, radix[0], false, true, t->wide);
    tessi_scope_else(l);
    LExprId rows = tessi_l_int(l, t->n), wide = tessi_l_int(l, t->wide);
    tessi_gather_rows(&t->read, t->in.re, 0, rows, wide);
    tessi_gather_rows(&t->read, t->in.im, t->rows, rows, wide);
    pass(t, t->in, size, radix[0], false, false, t->wide);
    tessi_scope_close(l);
    for (uint32_t k = 1; k < n; k++) {
        size /= radix[k - 1];
        pass(t, t->in, size, radix[k], false, false, t->wide);
    }
}

/* ---- Taps and results --------------------------------------------------------------------------------------------------------- */

/* Vectors side by side, which are whole strips together: their two accumulators take half of the registers. */
static uint8_t tap_vectors(const Transform *t)
{
    const Machine *m = t->l->machine;
    int64_t lanes = m->vector_bytes / tessi_type_info(t->type)->bytes, n = m->vector_registers / 4;
    lanes = lanes < 1 ? 1 : lanes;
    while (n > 1 && t->width % (n * lanes))
        n--;
    return (uint8_t)(n < 1 ? 1 : n);
}

static void taps(const Transform *t)
{
    Lower *l = t->l;
    const LExprId zero = tessi_lexpr_const(l->p, t->type, tessi_value_real(0));
    LExprId p = loop(t, "p", t->n, 0);
    LExprId x = loop(t, "x", t->width, LFOR_SIMD);
    l->scopes.at[tessi_scope_depth(l)].stmt->vectors = tap_vectors(t);
    LVarId re = tessi_scope_var(l, "re", t->type, zero),
           im = tessi_scope_var(l, "im", t->type, zero);
    LExprId j = loop(t, "j", t->sum.cols, 0);
    LExprId h = tessi_scope_let(l, "h_re", load(t, t->mask.re, p, j));
    LExprId hi = tessi_scope_let(l, "h_im", load(t, t->mask.im, p, j));
    LExprId less = tessi_scope_let(l, "less", negative(t, hi));
    LExprId at = tessi_l_op(l, OP_ADD, x, j);
    LExprId a = tessi_scope_let(l, "z_re", load(t, t->in.re, p, at));
    LExprId b = tessi_scope_let(l, "z_im", load(t, t->in.im, p, at));
    tessi_lower_set(l, re, fma_of(t, a, h, tessi_lexpr_var(l->p, re)));
    tessi_lower_set(l, im, fma_of(t, a, hi, tessi_lexpr_var(l->p, im)));
    tessi_lower_set(l, re, fma_of(t, b, less, tessi_lexpr_var(l->p, re)));
    tessi_lower_set(l, im, fma_of(t, b, h, tessi_lexpr_var(l->p, im)));
    tessi_scope_close(l);
    store(t, t->out.re, p, x, tessi_lexpr_var(l->p, re));
    store(t, t->out.im, p, x, tessi_lexpr_var(l->p, im));
    tessi_scope_close(l);
    tessi_scope_close(l);
}

static void backward(const Transform *t)
{
    uint32_t radix[MAX_RADICES], size = 1;
    for (uint32_t k = tessi_transform_radices(t->n, radix); k-- > 0;) {
        size *= radix[k];
        pass(t, t->out, size, radix[k], true, false, t->width);
    }
}

/* The rows of one block. */
static void give(const Transform *t, int part)
{
    Lower *l = t->l;
    LExprId first = tessi_scope_let(l, "y_from", add(t, t->y, part * (int64_t)t->rows)), size[2];
    for (uint8_t d = 0; d < 2; d++)
        size[d] = tessi_lower_size(l, t->stage->size[d]);
    LExprId end = tessi_l_op(l, OP_MIN, add(t, first, t->rows), size[0]);
    LExprId x_end = tessi_l_op(l, OP_MIN, add(t, t->x, t->width), size[1]);
    LExprId y = tessi_lexpr_var(l->p, tessi_scope_for(l, "y", first, end, 1, 0));
    tessi_give_row(l, t->group, t->sum.window, part ? t->out.im : t->out.re,
                   tessi_l_op(l, OP_SUB, y, first), y, t->x, x_end);
    tessi_scope_close(l);
}

/* ---- The group ---------------------------------------------------------------------------------------------------------------- */

static void comment(const Transform *t, const char *text)
{
    tessi_scope_stmt(t->l, LSTMT_COMMENT)->text = text;
}

/* Opens the loop over pairs of blocks and strips. */
static void open_tasks(Transform *t)
{
    Lower *l = t->l;
    const int64_t step[2] = { 2 * (int64_t)t->rows, t->width };
    LExprId count[2];
    for (uint8_t d = 0; d < 2; d++) {
        LExprId size = tessi_lower_size(l, t->stage->size[d]);
        count[d] = tessi_l_op(l, OP_FLOORDIV, add(t, size, step[d] - 1), tessi_l_int(l, step[d]));
    }
    LVarId task =
        tessi_scope_for(l, "task", tessi_l_int(l, 0), tessi_l_op(l, OP_MUL, count[0], count[1]), 1,
                        t->group->parallel >= 0 ? LFOR_PARALLEL : 0);
    LExprId number = tessi_lexpr_var(l->p, task);
    LExprId at[2] = { tessi_l_op(l, OP_FLOORDIV, number, count[1]),
                      tessi_l_op(l, OP_FLOORMOD, number, count[1]) };
    for (uint8_t d = 0; d < 2; d++)
        at[d] = tessi_scope_let(l, d ? "x_strip" : "y_blocks",
                                tessi_l_op(l, OP_MUL, at[d], tessi_l_int(l, step[d])));
    t->y = at[0];
    t->x = at[1];
    tessi_gather_at(&t->read, tessi_expr(l->g, t->sum.window)->window, t->y, t->x);
}

void tessi_lower_transform(Lower *l, const PlanGroup *group)
{
    bool must;
    Transform t = { .l = l, .group = group };
    t.stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_wide_sum(l->g, l->arena, t.stage, &t.sum, &must);
    t.type = tessi_expr(l->g, t.sum.window)->type;
    t.n = group->transform;
    t.rows = t.n - t.sum.rows + 1;
    t.width = group->strip;
    t.wide = tessi_plan_transform_columns(group->strip, t.sum.cols);
    l->n_loop_dims = 2;
    l->inside_last = l->inside_rows = false;
    t.read = tessi_gather_new(l, tessi_access(l->g, t.sum.read), t.type);
    make_tables(&t);
    comment(&t, "the mask at each frequency");
    transform_weights(&t, lay_out_weights(&t));
    open_tasks(&t);
    Columns *const columns[2] = { &t.in, &t.out };
    for (int k = 0; k < 2; k++) {
        columns[k]->re = new_buffer(&t, k ? "out_re" : "in_re", LBUF_LOCAL, t.type, t.n, t.wide);
        columns[k]->im = new_buffer(&t, k ? "out_im" : "in_im", LBUF_LOCAL, t.type, t.n, t.wide);
        tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = columns[k]->re;
        tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = columns[k]->im;
    }
    comment(&t, "two blocks of rows as real and imaginary part, transformed along the columns");
    forward(&t);
    comment(&t, "the taps along the rows, at each frequency");
    taps(&t);
    comment(&t, "and back");
    backward(&t);
    give(&t, 0);
    give(&t, 1);
    tessi_scope_close(l);
}
