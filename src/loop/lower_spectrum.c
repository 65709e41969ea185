/* Sums over wide masks by Fourier transforms on GPUs: the algorithm of graph_transform.h, in four or five kernels.
 *
 *   columns   a block transforms two blocks of rows of a strip of columns, from the image, answered by the border rule,
 *             through shared
 *             memory to the spectrum: for each two blocks N rows, one a frequency
 *   mask      the transform of the mask; beside the columns
 *   taps      the taps along the rows of the spectrum: a thread has some vectors of neighbours, and the vectors that
 *             their taps read pass
 *             through its registers
 *   rows      back through shared memory, to the rows of the result
 *   spoiled   columns that have to be sums as written, where the rows went there from registers */
#include "loop/lower_spectrum.h"
#include "loop/lower_group.h"

enum { VECTOR_BYTES = 16 };

/* A kernel that transforms strips of columns. */
typedef struct Passes {
    Transform *t;
    LBufferId sine; /* of the type that is computed in */
    Columns shared;
    LExprId pair;     /* of blocks */
    uint32_t columns; /* of a thread */
    uint32_t size, radix;
    bool back;
} Passes;

/* One thread's butterflies: rows `row` + r * size / radix, columns from x on of the strip. */
typedef struct Work {
    Butterfly butterfly;
    LExprId row, x;
    Complex v[MOST_ELEMENTS][MOST_RADIX]; /* by column and row */
} Work;

LExprId tessi_f_times(const Transform *t, LExprId a, int64_t b)
{
    return tessi_l_op(t->l, OP_MUL, a, tessi_l_int(t->l, b));
}

static LExprId less(const Transform *t, LExprId a, LExprId b)
{
    return tessi_l_op(t->l, OP_LT, a, b);
}

uint32_t tessi_f_vector(const Transform *t)
{
    return VECTOR_BYTES / tessi_type_info(t->type)->bytes;
}

/* The number of times that `step` covers an extent, over the size parameters. */
static LExprId covers(const Transform *t, LExprId extent, int64_t step)
{
    return tessi_kernel_blocks(t->l, extent, step);
}

LExprId tessi_spectrum_pairs(const Transform *t)
{
    return covers(t, tessi_lower_size(t->l, t->stage->size[0]), 2 * (int64_t)t->rows);
}

LExprId tessi_spectrum_columns(const Transform *t)
{
    return tessi_f_times(t, covers(t, tessi_lower_size(t->l, t->stage->size[1]), t->width),
                         t->width);
}

/* Columns of the spectrum: with what the taps of the last thread read beyond, in whole strips. */
static LExprId columns_read(const Transform *t)
{
    const int64_t v = tessi_f_vector(t),
                  beyond = (t->sum.cols + v - 1) / v * v + 2 * TAP_VECTORS * v;
    const int64_t strips = (beyond + t->width - 1) / t->width;
    return tessi_f_add(t, tessi_spectrum_columns(t), strips * t->width);
}

uint32_t tessi_spectrum_open(const Transform *t, const char *part, const char *comment,
                             uint32_t threads, bool beside)
{
    Lower *l = t->l;
    const char *name = tessi_sprintf(l->arena, "%s%s", t->group->name, part);
    tessi_kernel_open(l, name, comment, threads, 1)->beside = beside;
    return tessi_scope_depth(l);
}

void tessi_spectrum_close(Lower *l, uint32_t depth)
{
    while (tessi_scope_depth(l) > depth)
        tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Neighbours in a row --------------------------------------------------------------------- */

/* n of them, in one piece. */
static void take_line(const Transform *t, LBufferId from, LExprId row, LExprId col,
                      const char *name, LExprId *out, uint32_t n)
{
    Lower *l = t->l;
    LBufferId line = { 0 };
    if (n > 1) {
        line = tessi_new_line(l, tessi_sprintf(l->arena, "%s_line", name), t->type, n);
        tessi_scope_move(l, line, from, (const LExprId[]){ row, col }, 2);
    }
    for (uint32_t i = 0; i < n; i++) {
        LExprId at = tessi_l_int(l, i), value = tessi_f_load(t, from, row, col);
        if (n > 1)
            value = tessi_lexpr_load(l->p, line, &at, 1);
        tessi_pin(l, value, tessi_scope_depth(l));
        out[i] = tessi_scope_let(l, name, value);
    }
}

void tessi_f_take(const Transform *t, Columns from, LExprId row, LExprId col, const char *name,
                  Complex *out, uint32_t n)
{
    LExprId part[2][MOST_ELEMENTS];
    take_line(t, from.re, row, col, tessi_sprintf(t->l->arena, "%sre", name), part[0], n);
    take_line(t, from.im, row, col, tessi_sprintf(t->l->arena, "%sim", name), part[1], n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (Complex){ part[0][i], part[1][i] };
}

void tessi_f_give(const Transform *t, LBufferId to, Placed *at, uint32_t n)
{
    tessi_tile_gives(t->l, to, &at->row, 2, &at->value, PLACED, n);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* Opens the threads of a pass over the strip: neighbours have neighbouring columns. */
static Work open_pass(const Passes *k)
{
    Transform *t = k->t;
    Lower *l = t->l;
    const uint32_t m = k->size / k->radix;
    const int64_t across = t->width / k->columns;
    Work at = { .butterfly = { .size = k->size, .radix = k->radix, .back = k->back } };
    LExprId number = tessi_kernel_threads(l, 0, "number", across * (t->n / k->radix));
    LExprId x = tessi_l_op(l, OP_FLOORMOD, number, tessi_l_int(l, across));
    at.x = tessi_scope_let(l, "x", tessi_f_times(t, x, k->columns));
    LExprId which =
        tessi_scope_let(l, "which", tessi_l_op(l, OP_FLOORDIV, number, tessi_l_int(l, across)));
    LExprId j = which, b = tessi_l_int(l, 0);
    if (k->size < t->n) { /* several blocks */
        j = tessi_scope_let(l, "j", tessi_l_op(l, OP_FLOORMOD, which, tessi_l_int(l, m)));
        b = tessi_f_times(t, tessi_l_op(l, OP_FLOORDIV, which, tessi_l_int(l, m)), k->size);
    }
    at.row = tessi_scope_let(l, "row", tessi_l_op(l, OP_ADD, b, j));
    tessi_fourier_factors(t, &at.butterfly, k->sine, j);
    return at;
}

static LExprId row_of(const Passes *k, const Work *at, uint32_t r)
{
    return tessi_f_add(k->t, at->row, (int64_t)r * (k->size / k->radix));
}

static void load_rows(const Passes *k, Work *at, Columns from, LExprId first, LExprId x)
{
    for (uint32_t r = 0; r < k->radix; r++) {
        Complex v[MOST_ELEMENTS];
        LExprId row = tessi_l_op(k->t->l, OP_ADD, first, row_of(k, at, r));
        tessi_f_take(k->t, from, row, x, "", v, k->columns);
        for (uint32_t c = 0; c < k->columns; c++)
            at->v[c][r] = v[c];
    }
}

static void transform(const Passes *k, Work *at)
{
    LExprId value[2 * MOST_ELEMENTS * MOST_RADIX];
    uint32_t n = 0;
    for (uint32_t c = 0; c < k->columns; c++) {
        tessi_fourier_butterfly(k->t, &at->butterfly, at->v[c]);
        for (uint32_t r = 0; r < k->radix; r++) {
            value[n++] = at->v[c][r].re;
            value[n++] = at->v[c][r].im;
        }
    }
    tessi_scope_place(k->t->l, value, n);
    const LExprId *next = value;
    for (uint32_t c = 0; c < k->columns; c++)
        for (uint32_t r = 0; r < k->radix; r++, next += 2)
            at->v[c][r] = (Complex){ next[0], next[1] };
}

static void store_rows(const Passes *k, const Work *at, Columns to, LExprId first, LExprId x)
{
    const Transform *t = k->t;
    for (uint32_t r = 0; r < k->radix; r++) {
        LExprId row = tessi_l_op(t->l, OP_ADD, first, row_of(k, at, r));
        Placed re[MOST_ELEMENTS], im[MOST_ELEMENTS];
        for (uint32_t c = 0; c < k->columns; c++) {
            re[c] = (Placed){ at->v[c][r].re, row, tessi_f_add(t, x, c) };
            im[c] = (Placed){ at->v[c][r].im, row, re[c].col };
        }
        tessi_f_give(t, to.re, re, k->columns);
        tessi_f_give(t, to.im, im, k->columns);
    }
}

/* The grid of pairs and strips, and the shared memory of a block. */
static void open_strips(Passes *k, LExprId columns)
{
    Transform *t = k->t;
    Lower *l = t->l;
    k->columns = tessi_level_outputs(&t->group->levels, 0);
    k->pair = tessi_kernel_grid(l, 1, "pair", tessi_spectrum_pairs(t));
    LExprId strip = tessi_kernel_grid(l, 0, "strip", covers(t, columns, t->width));
    t->x = tessi_scope_let(l, "x_strip", tessi_f_times(t, strip, t->width));
    t->y = tessi_scope_let(l, "y_blocks", tessi_f_times(t, k->pair, 2 * (int64_t)t->rows));
    k->shared = tessi_fourier_columns(t, k->back ? "back" : "strip", LBUF_LOCAL,
                                      tessi_l_int(l, t->n), tessi_l_int(l, t->width));
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = k->shared.re;
    tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = k->shared.im;
}

/* ---- From the image to the spectrum ---------------------------------------------------------- */

static LExprId is_inside(const Transform *t)
{
    Lower *l = t->l;
    const int64_t size[2] = { (int64_t)t->n + t->rows, t->width };
    LExprId in = tessi_lower_bool(l, true);
    for (uint8_t d = 0; d < 2; d++) {
        LExprId end = tessi_f_add(t, t->read.first[d], size[d]);
        LExprId begins = tessi_l_op(l, OP_LE, tessi_l_int(l, 0), t->read.first[d]);
        in = tessi_l_op(l, OP_AND, in, begins);
        in = tessi_l_op(l, OP_AND, in, tessi_l_op(l, OP_LE, end, t->read.size[d]));
    }
    return in;
}

/* The rows of both blocks, as they are or as the rules answer. */
static void read_image(const Passes *k, Work *at, bool inside)
{
    Transform *t = k->t;
    Lower *l = t->l;
    LExprId value[2 * MOST_ELEMENTS * MOST_RADIX];
    uint32_t n = 0;
    for (uint32_t r = 0; r < k->radix; r++)
        for (uint32_t i = 0; i < 2 * k->columns; i++, n++) {
            LExprId row = tessi_f_add(t, row_of(k, at, r), i % 2 * (int64_t)t->rows);
            LExprId x = tessi_f_add(t, at->x, i / 2);
            LExprId at_y = tessi_l_op(l, OP_ADD, t->read.first[0], row);
            LExprId at_x = tessi_l_op(l, OP_ADD, t->read.first[1], x);
            value[n] = inside ? tessi_gather_value(&t->read, at_y, at_x)
                              : tessi_gather_answered(&t->read, row, x);
            tessi_pin(l, value[n], tessi_scope_depth(l));
        }
    tessi_scope_place(l, value, n);
    const LExprId *next = value;
    for (uint32_t r = 0; r < k->radix; r++)
        for (uint32_t c = 0; c < k->columns; c++) {
            at->v[c][r].re = tessi_scope_let(l, "re", *next++);
            at->v[c][r].im = tessi_scope_let(l, "im", *next++);
        }
}

static void first_pass(const Passes *k, bool inside)
{
    Work at = open_pass(k);
    read_image(k, &at, inside);
    transform(k, &at);
    store_rows(k, &at, k->shared, tessi_l_int(k->t->l, 0), at.x);
    tessi_scope_close(k->t->l);
}

static void next_pass(const Passes *k, bool last)
{
    Transform *t = k->t;
    const LExprId zero = tessi_l_int(t->l, 0);
    Work at = open_pass(k);
    load_rows(k, &at, k->shared, zero, at.x);
    transform(k, &at);
    if (last)
        store_rows(k, &at, t->in, tessi_f_times(t, k->pair, t->n),
                   tessi_l_op(t->l, OP_ADD, t->x, at.x));
    else
        store_rows(k, &at, k->shared, zero, at.x);
    tessi_scope_close(t->l);
}

static void columns_kernel(Transform *t, LBufferId sine)
{
    Lower *l = t->l;
    uint32_t radix[MAX_RADICES];
    const uint32_t n = tessi_transform_radices(t->n, radix);
    Passes k = { .t = t, .sine = sine, .size = t->n, .radix = radix[0] };
    const uint32_t depth = tessi_spectrum_open(t, "_columns", tessi_group_comment(l, t->group),
                                               tessi_level_threads(&t->group->levels, 0), false);
    open_strips(&k, columns_read(t));
    t->read = tessi_gather_new(l, tessi_access(l->g, t->sum.read), t->type);
    tessi_gather_at(&t->read, tessi_expr(l->g, t->sum.window)->window, t->y, t->x);
    tessi_scope_if(l, is_inside(t));
    first_pass(&k, true);
    tessi_scope_else(l);
    first_pass(&k, false);
    tessi_scope_close(l);
    for (uint32_t i = 1; i < n; i++) {
        k.size /= radix[i - 1];
        k.radix = radix[i];
        next_pass(&k, i + 1 == n);
    }
    tessi_spectrum_close(l, depth);
}

/* ---- The mask -------------------------------------------------------------------------------- */

/* A block a frequency; what pads a row is some column of it. */
static void mask_kernel(Transform *t)
{
    Lower *l = t->l;
    const uint32_t cols =
        (t->sum.cols + tessi_f_vector(t) - 1) / tessi_f_vector(t) * tessi_f_vector(t);
    const uint32_t threads = (cols + PLAN_WARP - 1) / PLAN_WARP * PLAN_WARP;
    t->mask =
        tessi_fourier_columns(t, "mask", LBUF_TEMP, tessi_l_int(l, t->n), tessi_l_int(l, cols));
    const uint32_t depth =
        tessi_spectrum_open(t, "_mask", "The transform of the mask, at every frequency.",
                            threads < PLAN_MAX_BLOCK ? threads : PLAN_MAX_BLOCK, true);
    LExprId p = tessi_kernel_grid(l, 0, "p", tessi_l_int(l, t->n));
    LExprId column = tessi_kernel_threads(l, 0, "column", cols);
    LExprId frequency = tessi_lexpr_load(l->p, t->frequency, &p, 1);
    frequency = tessi_scope_let(l, "frequency", tessi_lexpr_cast(l->p, TYPE_INDEX, frequency));
    LExprId j = tessi_l_op(l, OP_MIN, column, tessi_l_int(l, t->sum.cols - 1));
    const Complex value =
        tessi_fourier_of_mask(t, (LBufferId){ 0 }, frequency, tessi_scope_let(l, "j", j));
    tessi_f_store(t, t->mask.re, p, column, value.re);
    tessi_f_store(t, t->mask.im, p, column, value.im);
    tessi_spectrum_close(l, depth);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* n neighbours of the result, where the sums are `value`. */
static void give(const Transform *t, LExprId y, LExprId x, const LExprId *value, uint32_t n)
{
    Lower *l = t->l;
    const ExprId body = t->stage->pieces.at[0].body;
    Placed at[MOST_ELEMENTS];
    Nest nest = { 0 };
    tessi_nest_whole(l, t->stage, &nest);
    l->guard_depth = tessi_scope_depth(l);
    for (uint32_t c = 0; c < n; c++) {
        Eval *ev = tessi_eval_new(l, &body, 1, 2);
        ev->pinned = true;
        at[c] = (Placed){ { 0 }, y, tessi_f_add(t, x, c) };
        ev->coord[0] = tessi_nest_coord(&nest, 0, y);
        ev->coord[1] = tessi_nest_coord(&nest, 1, at[c].col);
        tessi_eval_set(l, ev, t->sum.window, value[c]);
        at[c].value = tessi_eval_expr(l, ev, body);
    }
    tessi_scope_place(l, &at->value, PLACED * n);
    tessi_f_give(t, l->buffer[t->group->members.at[0].v], at, n);
}

/* The rows of the thread's butterflies that are of the result; `whole`: both blocks and the strip are. */
static void give_rows(const Passes *k, const Work *at, bool whole)
{
    const Transform *t = k->t;
    Lower *l = t->l;
    const uint32_t m = k->size / k->radix, n = whole ? k->columns : 1;
    const LExprId x = tessi_l_op(l, OP_ADD, t->x, at->x);
    for (uint32_t i = 0; i < 2 * k->radix; i++) {
        const uint32_t r = i / 2, part = i % 2;
        const LExprId row = row_of(k, at, r);
        LExprId y = tessi_l_op(l, OP_ADD, tessi_f_add(t, t->y, part * (int64_t)t->rows), row);
        LExprId in = tessi_lower_bool(l, true), value[MOST_ELEMENTS];
        if ((r + 1) * m > t->rows)
            in = less(t, row, tessi_l_int(l, t->rows));
        if (!whole)
            in = tessi_l_op(l, OP_AND, in, less(t, y, tessi_lower_size(l, t->stage->size[0])));
        for (uint32_t c = 0; c < k->columns; c++)
            value[c] = part ? at->v[c][r].im : at->v[c][r].re;
        tessi_scope_if(l, in);
        y = tessi_scope_let(l, "y", y);
        for (uint32_t c = 0; c < k->columns; c += n) {
            const LExprId at_x = tessi_f_add(t, x, c);
            if (!whole)
                tessi_scope_if(l, less(t, at_x, tessi_lower_size(l, t->stage->size[1])));
            give(t, y, at_x, value + c, n);
            if (!whole)
                tessi_scope_close(l);
        }
        tessi_scope_close(l);
    }
}

static void give_butterflies(const Passes *k, const Work *at)
{
    const Transform *t = k->t;
    Lower *l = t->l;
    const LExprId end[2] = { tessi_f_add(t, t->y, 2 * (int64_t)t->rows),
                             tessi_f_add(t, t->x, t->width) };
    LExprId whole = tessi_lower_bool(l, true);
    for (uint8_t d = 0; d < 2; d++)
        whole = tessi_l_op(l, OP_AND, whole,
                           tessi_l_op(l, OP_LE, end[d], tessi_lower_size(l, t->stage->size[d])));
    tessi_scope_likely(l, whole);
    give_rows(k, at, true);
    tessi_scope_else(l);
    give_rows(k, at, false);
    tessi_scope_close(l);
}

/* A column of the spectrum is spoiled. */
static LExprId is_spoiled(const Transform *t, LExprId pair, LExprId x)
{
    const LExprId row = tessi_f_times(t, pair, t->n);
    const Complex first = { tessi_f_load(t, t->out.re, row, x),
                            tessi_f_load(t, t->out.im, row, x) };
    return tessi_fourier_is_trace(t, tessi_fourier_trace(t, first));
}

/* The rows of a block from shared memory, a point a thread: what is computed with the sums is written out once. */
static void give_block(const Passes *k, uint32_t part)
{
    const Transform *t = k->t;
    Lower *l = t->l;
    const LExprId across = tessi_l_int(l, t->width);
    LExprId number = tessi_kernel_threads(l, 0, "point", t->width * t->rows);
    LExprId column = tessi_scope_let(l, "column", tessi_l_op(l, OP_FLOORMOD, number, across));
    LExprId row = tessi_scope_let(l, "row", tessi_l_op(l, OP_FLOORDIV, number, across));
    LExprId y = tessi_l_op(l, OP_ADD, tessi_f_add(t, t->y, part * (int64_t)t->rows), row);
    LExprId x = tessi_l_op(l, OP_ADD, t->x, column);
    tessi_scope_if(l, tessi_l_op(l, OP_AND, less(t, y, tessi_lower_size(l, t->stage->size[0])),
                                 less(t, x, tessi_lower_size(l, t->stage->size[1]))));
    LExprId value;
    take_line(t, part ? k->shared.im : k->shared.re, row, column, "value", &value, 1);
    y = tessi_scope_let(l, "y", y);
    x = tessi_scope_let(l, "x", x);
    const LVarId sum = tessi_scope_var(l, "sum", t->type, value);
    tessi_scope_if(l, is_spoiled(t, k->pair, x));
    tessi_lower_set(l, sum, tessi_fourier_written(t, y, x));
    tessi_scope_close(l);
    value = tessi_lexpr_var(l->p, sum);
    give(t, y, x, &value, 1);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* From the sums or shared memory to shared memory or the result. */
static void back_pass(const Passes *k, bool first, bool to_result)
{
    Transform *t = k->t;
    Lower *l = t->l;
    const LExprId zero = tessi_l_int(l, 0);
    Work at = open_pass(k);
    if (first)
        load_rows(k, &at, t->out, tessi_f_times(t, k->pair, t->n),
                  tessi_l_op(l, OP_ADD, t->x, at.x));
    else
        load_rows(k, &at, k->shared, zero, at.x);
    transform(k, &at);
    if (to_result)
        give_butterflies(k, &at);
    else
        store_rows(k, &at, k->shared, zero, at.x);
    tessi_scope_close(l);
}

/* Nothing is computed with the sums. */
static bool is_bare(const Transform *t)
{
    return t->stage->pieces.at[0].body.v == t->sum.window.v;
}

static void rows_kernel(Transform *t, LBufferId sine)
{
    Lower *l = t->l;
    uint32_t radix[MAX_RADICES];
    const uint32_t n = tessi_transform_radices(t->n, radix);
    const bool bare = is_bare(t);
    Passes k = { .t = t, .sine = sine, .size = 1, .back = true };
    const uint32_t depth = tessi_spectrum_open(t, "_rows", "Back to rows.",
                                               tessi_level_threads(&t->group->levels, 0), false);
    open_strips(&k, tessi_spectrum_columns(t));
    for (uint32_t i = n; i-- > 0;) {
        k.radix = radix[i];
        k.size *= radix[i];
        back_pass(&k, i + 1 == n, i == 0 && bare);
    }
    for (uint32_t part = 0; part < 2 && !bare; part++)
        give_block(&k, part);
    tessi_spectrum_close(l, depth);
}

/* Where the rows went to the result from registers: spoiled columns once more. Looking for them in the kernel of the
 * rows made that up to a third slower. A thread looks at a vector of columns, and few blocks do, as all that they
 * wait for is one load. */
static void spoiled_kernel(Transform *t)
{
    enum { ACROSS = 64, DOWN = 4 };
    Lower *l = t->l;
    const uint32_t n = tessi_f_vector(t),
                   depth = tessi_spectrum_open(
                       t, "_spoiled",
                       "Columns that something not finite has spoiled: sums as written.",
                       ACROSS * DOWN, false);
    const LExprId height = tessi_lower_size(l, t->stage->size[0]);
    const LExprId width = tessi_lower_size(l, t->stage->size[1]);
    LExprId pair = tessi_kernel_grid(l, 1, "pair", tessi_spectrum_pairs(t));
    LExprId block = tessi_kernel_grid(l, 0, "block", covers(t, width, (int64_t)ACROSS * n));
    LExprId thread = tessi_kernel_threads(l, 0, "thread", ACROSS * DOWN);
    LExprId x = tessi_l_op(l, OP_FLOORMOD, thread, tessi_l_int(l, ACROSS));
    x = tessi_l_op(l, OP_ADD, tessi_f_times(t, block, ACROSS), x);
    x = tessi_scope_let(l, "x_first", tessi_f_times(t, x, n));
    tessi_scope_if(l, less(t, x, width));
    Complex first[MOST_ELEMENTS];
    tessi_f_take(t, t->out, tessi_f_times(t, pair, t->n), x, "first_", first, n);
    LExprId all = tessi_fourier_trace(t, first[0]);
    for (uint32_t c = 1; c < n; c++)
        all = tessi_l_op(l, OP_ADD, all, tessi_fourier_trace(t, first[c]));
    tessi_scope_if(l, tessi_fourier_is_trace(t, all));
    LExprId end = tessi_l_op(l, OP_MIN, tessi_f_add(t, x, n), width);
    x = tessi_lexpr_var(l->p, tessi_scope_for(l, "x", x, end, 1, LFOR_ROLLED));
    tessi_scope_if(l, is_spoiled(t, pair, x));
    LExprId y = tessi_f_times(t, pair, 2 * (int64_t)t->rows);
    end = tessi_l_op(l, OP_MIN, tessi_f_add(t, y, 2 * (int64_t)t->rows), height);
    y = tessi_l_op(l, OP_ADD, y, tessi_l_op(l, OP_FLOORDIV, thread, tessi_l_int(l, ACROSS)));
    y = tessi_lexpr_var(l->p, tessi_scope_for(l, "y", y, end, DOWN, LFOR_ROLLED));
    const LExprId value = tessi_fourier_written(t, y, x);
    give(t, y, x, &value, 1);
    tessi_spectrum_close(l, depth);
}

/* ---- The group ------------------------------------------------------------------------------- */

void tessi_kernel_transform(Lower *l, const PlanGroup *group)
{
    Transform t = tessi_fourier_new(l, group);
    tessi_lower_dims(l, 2);
    tessi_fourier_tables(&t);
    const LBufferId sine = t.type == TYPE_F64 ? t.sine : tessi_fourier_sine(&t, "wave", t.type);
    const LExprId high = tessi_f_times(&t, tessi_spectrum_pairs(&t), t.n);
    t.in = tessi_fourier_columns(&t, "spectrum", LBUF_TEMP, high, columns_read(&t));
    t.out = tessi_fourier_columns(&t, "sums", LBUF_TEMP, high, tessi_spectrum_columns(&t));
    columns_kernel(&t, sine);
    mask_kernel(&t);
    tessi_spectrum_taps(&t);
    rows_kernel(&t, sine);
    if (is_bare(&t))
        spoiled_kernel(&t);
}
