/* Sums over wide masks by Fourier transforms: the algorithm of graph_transform.h, for two blocks of rows and a strip
 * of columns at a time, which stay in a near cache from the first pass to the last.
 *
 *   the weights, then their transform              once
 *   for each two blocks and strip:
 *     the columns, as the border rule answers, to scratch memory; where all lie inside the first pass reads them in
 *       place
 *     passes of the transform; the taps along the rows, frequency by frequency; the passes backward
 *     the rows of both blocks to the result */
#include "loop/lower_fourier.h"
#include "loop/lower_group.h"

/* ---- The mask -------------------------------------------------------------------------------- */

/* The weights side by side. */
static LBufferId lay_out_weights(const Transform *t)
{
    Lower *l = t->l;
    LBufferId weights =
        tessi_fourier_buffer(t, "weights", LBUF_TEMP, TYPE_F64, tessi_l_int(l, t->sum.rows),
                             tessi_l_int(l, t->sum.cols));
    LExprId i = tessi_f_loop(t, "i", t->sum.rows, 0), j = tessi_f_loop(t, "j", t->sum.cols, 0);
    tessi_f_store(t, weights, i, j, tessi_fourier_weight(t, i, j));
    tessi_scope_close(l);
    tessi_scope_close(l);
    return weights;
}

/* Their transform along the columns, at every frequency. */
static void transform_weights(Transform *t, LBufferId weights)
{
    Lower *l = t->l;
    t->mask = tessi_fourier_columns(t, "mask", LBUF_TEMP, tessi_l_int(l, t->n),
                                    tessi_l_int(l, t->sum.cols));
    LExprId p = tessi_f_loop(t, "p", t->n, 0);
    LExprId frequency = tessi_lexpr_load(l->p, t->frequency, &p, 1);
    frequency = tessi_scope_let(l, "frequency", tessi_lexpr_cast(l->p, TYPE_INDEX, frequency));
    LExprId j = tessi_f_loop(t, "j", t->sum.cols, LFOR_SIMD);
    const Complex value = tessi_fourier_of_mask(t, weights, frequency, j);
    tessi_f_store(t, t->mask.re, p, j, value.re);
    tessi_f_store(t, t->mask.im, p, j, value.im);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* Row k of block `part` as it is read. */
static LExprId row_read(const Transform *t, int part, LExprId k)
{
    return tessi_gather_row(&t->read, tessi_f_add(t, k, part * (int64_t)t->rows));
}

/* One pass over blocks of `size` rows; the first one forward may read the image. */
static void pass(const Transform *t, Columns z, uint32_t size, uint32_t radix, bool back,
                 bool from_image, int64_t width)
{
    Lower *l = t->l;
    const uint32_t m = size / radix;
    Butterfly butterfly = { .size = size, .radix = radix, .back = back };
    Complex v[MOST_RADIX];
    LExprId row[8], source[8][2], b = tessi_l_int(l, 0), j = b;
    if (size < t->n)
        b = tessi_lexpr_var(l->p, tessi_scope_for(l, "b", b, tessi_l_int(l, t->n), size, 0));
    if (m > 1)
        j = tessi_f_loop(t, "j", m, 0);
    for (uint32_t r = 0; r < radix; r++) {
        row[r] = tessi_f_add(t, tessi_l_op(l, OP_ADD, b, j), (int64_t)r * m);
        for (int part = 0; part < 2 && from_image; part++)
            source[r][part] = tessi_scope_let(l, "row", row_read(t, part, row[r]));
    }
    tessi_fourier_factors(t, &butterfly, t->sine, j);
    LExprId x = tessi_f_loop(t, "x", width, LFOR_SIMD);
    for (uint32_t r = 0; r < radix; r++) {
        LExprId col = tessi_l_op(l, OP_ADD, t->read.first[1], x);
        v[r].re = tessi_scope_let(l, "re",
                                  from_image ? tessi_gather_value(&t->read, source[r][0], col)
                                             : tessi_f_load(t, z.re, row[r], x));
        v[r].im = tessi_scope_let(l, "im",
                                  from_image ? tessi_gather_value(&t->read, source[r][1], col)
                                             : tessi_f_load(t, z.im, row[r], x));
    }
    tessi_fourier_butterfly(t, &butterfly, v);
    LExprId value[2 * MOST_RADIX];
    for (uint32_t r = 0; r < radix; r++) {
        value[2 * r] = v[r].re;
        value[2 * r + 1] = v[r].im;
    }
    tessi_scope_place(l, value, 2 * radix);
    for (uint32_t r = 0; r < radix; r++) {
        tessi_f_store(t, z.re, row[r], x, value[2 * r]);
        tessi_f_store(t, z.im, row[r], x, value[2 * r + 1]);
    }
    tessi_scope_close(l);
    if (m > 1)
        tessi_scope_close(l);
    if (size < t->n)
        tessi_scope_close(l);
}

/* ---- Input ----------------------------------------------------------------------------------- */

/* All that the two blocks read of the strip lies inside, or in rows that a rule answers with others. */
static LExprId is_inside(const Transform *t)
{
    Lower *l = t->l;
    LExprId zero = tessi_l_int(l, 0);
    LExprId in = tessi_l_op(l, OP_LE, zero, t->read.first[1]);
    in = tessi_l_op(
        l, OP_AND, in,
        tessi_l_op(l, OP_LE, tessi_f_add(t, t->read.first[1], t->wide), t->read.size[1]));
    if (t->read.read->dim[0].rule != BORDER_CONSTANT)
        return in;
    in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LE, zero, t->read.first[0]));
    return tessi_l_op(l, OP_AND, in,
                      tessi_l_op(l, OP_LE,
                                 tessi_f_add(t, t->read.first[0], (int64_t)t->n + t->rows),
                                 t->read.size[0]));
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

/* ---- Taps and results ------------------------------------------------------------------------ */

/* Vectors side by side, which are whole strips together: their two accumulators take half of the registers. */
static uint8_t tap_vectors(const Transform *t)
{
    const Machine *m = t->l->machine;
    int64_t lanes = tessi_plan_vector_bytes(t->l->plan, m) / tessi_type_info(t->type)->bytes;
    int64_t n = m->vector_registers / 4;
    lanes = lanes < 1 ? 1 : lanes;
    while (n > 1 && t->width % (n * lanes))
        n--;
    return (uint8_t)(n < 1 ? 1 : n);
}

static void taps(const Transform *t)
{
    Lower *l = t->l;
    const LExprId zero = tessi_lexpr_const(l->p, t->type, tessi_value_real(0));
    LExprId p = tessi_f_loop(t, "p", t->n, 0);
    LExprId x = tessi_f_loop(t, "x", t->width, LFOR_SIMD);
    l->scopes.at[tessi_scope_depth(l)].stmt->vectors = tap_vectors(t);
    LVarId re = tessi_scope_var(l, "re", t->type, zero),
           im = tessi_scope_var(l, "im", t->type, zero);
    LExprId j = tessi_f_loop(t, "j", t->sum.cols, 0);
    LExprId h = tessi_scope_let(l, "h_re", tessi_f_load(t, t->mask.re, p, j));
    LExprId hi = tessi_scope_let(l, "h_im", tessi_f_load(t, t->mask.im, p, j));
    LExprId less = tessi_scope_let(l, "less", tessi_f_neg(t, hi));
    LExprId at = tessi_l_op(l, OP_ADD, x, j);
    LExprId a = tessi_scope_let(l, "z_re", tessi_f_load(t, t->in.re, p, at));
    LExprId b = tessi_scope_let(l, "z_im", tessi_f_load(t, t->in.im, p, at));
    tessi_lower_set(l, re, tessi_f_fma(t, a, h, tessi_lexpr_var(l->p, re)));
    tessi_lower_set(l, im, tessi_f_fma(t, a, hi, tessi_lexpr_var(l->p, im)));
    tessi_lower_set(l, re, tessi_f_fma(t, b, less, tessi_lexpr_var(l->p, re)));
    tessi_lower_set(l, im, tessi_f_fma(t, b, h, tessi_lexpr_var(l->p, im)));
    tessi_scope_close(l);
    tessi_f_store(t, t->out.re, p, x, tessi_lexpr_var(l->p, re));
    tessi_f_store(t, t->out.im, p, x, tessi_lexpr_var(l->p, im));
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

/* The traces of the columns, before the passes back; all together. */
static LVarId find_spoiled(const Transform *t, LBufferId traces)
{
    Lower *l = t->l;
    const LExprId zero = tessi_l_int(l, 0);
    LExprId x = tessi_f_loop(t, "x", t->width, LFOR_SIMD);
    const Complex first = { tessi_f_load(t, t->out.re, zero, x),
                            tessi_f_load(t, t->out.im, zero, x) };
    tessi_f_store(t, traces, zero, x, tessi_scope_place1(l, tessi_fourier_trace(t, first)));
    tessi_scope_close(l);
    LVarId all = tessi_scope_var(l, "traces", t->type,
                                 tessi_lexpr_const(l->p, t->type, tessi_value_real(0)));
    x = tessi_f_loop(t, "x", t->width, 0);
    tessi_lower_set(
        l, all,
        tessi_l_op(l, OP_ADD, tessi_lexpr_var(l->p, all), tessi_f_load(t, traces, zero, x)));
    tessi_scope_close(l);
    return all;
}

/* Those get the sums as written. */
static void write_spoiled(const Transform *t, LBufferId traces, LVarId all)
{
    Lower *l = t->l;
    tessi_scope_if(l, tessi_fourier_is_trace(t, tessi_lexpr_var(l->p, all)));
    LExprId column = tessi_f_loop(t, "column", t->width, 0);
    LExprId x = tessi_scope_let(l, "x", tessi_l_op(l, OP_ADD, t->x, column));
    LExprId in = tessi_l_op(l, OP_LT, x, tessi_lower_size(l, t->stage->size[1]));
    LExprId trace = tessi_f_load(t, traces, tessi_l_int(l, 0), column);
    tessi_scope_if(l, tessi_l_op(l, OP_AND, in, tessi_fourier_is_trace(t, trace)));
    for (int part = 0; part < 2; part++) {
        LExprId row = tessi_f_loop(t, "row", t->rows, 0);
        LExprId y = tessi_l_op(l, OP_ADD, t->y, tessi_f_add(t, row, part * (int64_t)t->rows));
        y = tessi_scope_let(l, "y", y);
        tessi_scope_if(l, tessi_l_op(l, OP_LT, y, tessi_lower_size(l, t->stage->size[0])));
        tessi_f_store(t, part ? t->out.im : t->out.re, row, column, tessi_fourier_written(t, y, x));
        tessi_scope_close(l);
        tessi_scope_close(l);
    }
    tessi_scope_close(l);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* The rows of one block. */
static void give(const Transform *t, int part)
{
    Lower *l = t->l;
    LExprId first = tessi_scope_let(l, "y_from", tessi_f_add(t, t->y, part * (int64_t)t->rows)),
            size[2];
    for (uint8_t d = 0; d < 2; d++)
        size[d] = tessi_lower_size(l, t->stage->size[d]);
    LExprId end = tessi_l_op(l, OP_MIN, tessi_f_add(t, first, t->rows), size[0]);
    LExprId x_end = tessi_l_op(l, OP_MIN, tessi_f_add(t, t->x, t->width), size[1]);
    LExprId y = tessi_lexpr_var(l->p, tessi_scope_for(l, "y", first, end, 1, 0));
    tessi_give_row(l, t->group, t->sum.window, part ? t->out.im : t->out.re,
                   tessi_l_op(l, OP_SUB, y, first), y, t->x, x_end);
    tessi_scope_close(l);
}

/* ---- The group ------------------------------------------------------------------------------- */

/* Opens the loop over pairs of blocks and strips. */
static void open_tasks(Transform *t)
{
    Lower *l = t->l;
    const int64_t step[2] = { 2 * (int64_t)t->rows, t->width };
    LExprId count[2];
    for (uint8_t d = 0; d < 2; d++) {
        LExprId size = tessi_lower_size(l, t->stage->size[d]);
        count[d] =
            tessi_l_op(l, OP_FLOORDIV, tessi_f_add(t, size, step[d] - 1), tessi_l_int(l, step[d]));
    }
    LVarId task =
        tessi_scope_for(l, "task", tessi_l_int(l, 0), tessi_l_op(l, OP_MUL, count[0], count[1]), 1,
                        tessi_level_parallel(&t->group->levels) ? LFOR_PARALLEL : 0);
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
    Transform t = tessi_fourier_new(l, group);
    t.wide = tessi_plan_transform_columns(group->strip, t.sum.cols);
    tessi_lower_dims(l, 2);
    t.read = tessi_gather_new(l, tessi_access(l->g, t.sum.read), t.type);
    tessi_fourier_tables(&t);
    tessi_f_comment(&t, "the mask at each frequency");
    transform_weights(&t, lay_out_weights(&t));
    open_tasks(&t);
    const LExprId high = tessi_l_int(l, t.n), wide = tessi_l_int(l, t.wide);
    t.in = tessi_fourier_columns(&t, "in", LBUF_LOCAL, high, wide);
    t.out = tessi_fourier_columns(&t, "out", LBUF_LOCAL, high, wide);
    const LBufferId traces =
        tessi_fourier_buffer(&t, "traces", LBUF_LOCAL, t.type, tessi_l_int(l, 1), wide);
    const LBufferId local[] = { t.in.re, t.in.im, t.out.re, t.out.im, traces };
    for (int k = 0; k < 5; k++)
        tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = local[k];
    tessi_f_comment(&t,
                    "two blocks of rows as real and imaginary part, transformed along the columns");
    forward(&t);
    tessi_f_comment(&t, "the taps along the rows, at each frequency");
    taps(&t);
    const LVarId all = find_spoiled(&t, traces);
    tessi_f_comment(&t, "and back");
    backward(&t);
    tessi_f_comment(&t, "what is not finite has spoiled its columns: sums as written");
    write_spoiled(&t, traces, all);
    give(&t, 0);
    give(&t, 1);
    tessi_scope_close(l);
}
