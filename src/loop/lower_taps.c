/* Sums by Fourier transforms on GPUs: the taps along the rows of the spectrum. */
#include "loop/lower_spectrum.h"

enum { TAP_THREADS = 128 };

typedef struct Taps {
    const Transform *t;
    uint32_t n,
        outputs; /* elements of a vector; what a thread computes, which is several vectors */
    LExprId row, p, x;
    LVarId re[TAP_VECTORS * MOST_ELEMENTS], im[TAP_VECTORS * MOST_ELEMENTS]; /* sums */
    /* Of the spectrum, from the first tap in hand on. */
    LVarId now_re[TAP_VECTORS * MOST_ELEMENTS], now_im[TAP_VECTORS * MOST_ELEMENTS];
} Taps;

/* So many taps from j on, the first of elements from z on. */
static void add_taps(const Taps *k, LExprId j, uint32_t count, const Complex *z)
{
    const Transform *t = k->t;
    Lower *l = t->l;
    Complex h[MOST_ELEMENTS];
    tessi_f_take(t, t->mask, k->p, j, "h_", h, k->n);
    for (uint32_t i = 0; i < count; i++) {
        const LExprId minus = tessi_scope_let(l, "minus", tessi_f_neg(t, h[i].im));
        for (uint32_t c = 0; c < k->outputs; c++) {
            const Complex at = z[i + c];
            const LExprId re = tessi_lexpr_var(l->p, k->re[c]);
            const LExprId im = tessi_lexpr_var(l->p, k->im[c]);
            tessi_lower_set(l, k->re[c], tessi_f_fma(t, at.re, h[i].re, re));
            tessi_lower_set(l, k->im[c], tessi_f_fma(t, at.re, h[i].im, im));
            tessi_lower_set(l, k->re[c], tessi_f_fma(t, at.im, minus, re));
            tessi_lower_set(l, k->im[c], tessi_f_fma(t, at.im, h[i].re, im));
        }
    }
}

/* Vector number v of the spectrum, counted from the thread's first element at tap j. */
static void take_vector(const Taps *k, LExprId j, uint32_t v, Complex *z)
{
    LExprId col = tessi_l_op(k->t->l, OP_ADD, k->x, tessi_f_add(k->t, j, (int64_t)v * k->n));
    tessi_f_take(k->t, k->t->in, k->row, col, "z_", z + (size_t)v * k->n, k->n);
}

static void declare(Taps *k)
{
    Lower *l = k->t->l;
    const LExprId zero = tessi_lexpr_const(l->p, k->t->type, tessi_value_real(0));
    Complex z[TAP_VECTORS * MOST_ELEMENTS];
    for (uint32_t v = 0; v < TAP_VECTORS; v++)
        take_vector(k, tessi_l_int(l, 0), v, z);
    for (uint32_t i = 0; i < k->outputs; i++) {
        k->re[i] = tessi_scope_var(l, "re", k->t->type, zero);
        k->im[i] = tessi_scope_var(l, "im", k->t->type, zero);
        k->now_re[i] = tessi_scope_var(l, "now_re", k->t->type, z[i].re);
        k->now_im[i] = tessi_scope_var(l, "now_im", k->t->type, z[i].im);
    }
}

static void in_hand(const Taps *k, Complex *z)
{
    LoopProgram *p = k->t->l->p;
    for (uint32_t i = 0; i < k->outputs; i++)
        z[i] = (Complex){ tessi_lexpr_var(p, k->now_re[i]), tessi_lexpr_var(p, k->now_im[i]) };
}

/* As many vectors of taps a step as a thread has in hand, so that what was read last is taken over once. */
static void all_taps(const Taps *k)
{
    Lower *l = k->t->l;
    Complex z[(2 * TAP_VECTORS + 1) * MOST_ELEMENTS];
    const uint32_t step = k->outputs, cols = k->t->sum.cols, even = cols / step * step;
    in_hand(k, z);
    if (even) {
        LVarId j =
            tessi_scope_for(l, "j", tessi_l_int(l, 0), tessi_l_int(l, even), step, LFOR_ROLLED);
        const LExprId first = tessi_lexpr_var(l->p, j);
        for (uint32_t v = 0; v < TAP_VECTORS; v++)
            take_vector(k, first, TAP_VECTORS + v, z);
        for (uint32_t v = 0; v < TAP_VECTORS; v++)
            add_taps(k, tessi_f_add(k->t, first, (int64_t)v * k->n), k->n, z + (size_t)v * k->n);
        for (uint32_t i = 0; i < k->outputs; i++) {
            tessi_lower_set(l, k->now_re[i], z[k->outputs + i].re);
            tessi_lower_set(l, k->now_im[i], z[k->outputs + i].im);
        }
        tessi_scope_close(l);
    }
    for (uint32_t done = even, v = 0; done < cols; done += k->n, v++) {
        take_vector(k, tessi_l_int(l, even), TAP_VECTORS + v, z);
        add_taps(k, tessi_l_int(l, done), cols - done < k->n ? cols - done : k->n,
                 z + (size_t)v * k->n);
    }
}

void tessi_spectrum_taps(const Transform *t)
{
    Lower *l = t->l;
    Taps k = { .t = t, .n = tessi_f_vector(t), .outputs = TAP_VECTORS * tessi_f_vector(t) };
    const LExprId width = tessi_spectrum_columns(t);
    const uint32_t depth = tessi_spectrum_open(
        t, "_taps", "The taps along the rows, at each frequency.", TAP_THREADS, false);
    k.row = tessi_kernel_grid(l, 1, "row", tessi_f_times(t, tessi_spectrum_pairs(t), t->n));
    LExprId block = tessi_kernel_grid(
        l, 0, "block", tessi_kernel_blocks(l, width, (int64_t)TAP_THREADS * k.outputs));
    k.p = tessi_scope_let(l, "p", tessi_l_op(l, OP_FLOORMOD, k.row, tessi_l_int(l, t->n)));
    LExprId thread = tessi_kernel_threads(l, 0, "thread", TAP_THREADS);
    LExprId number = tessi_l_op(l, OP_ADD, tessi_f_times(t, block, TAP_THREADS), thread);
    k.x = tessi_scope_let(l, "x", tessi_f_times(t, number, k.outputs));
    tessi_scope_if(l, tessi_l_op(l, OP_LT, k.x, width));
    declare(&k);
    all_taps(&k);
    Placed re[TAP_VECTORS * MOST_ELEMENTS], im[TAP_VECTORS * MOST_ELEMENTS];
    for (uint32_t i = 0; i < k.outputs; i++) {
        const LExprId x = tessi_f_add(t, k.x, i);
        re[i] = (Placed){ tessi_lexpr_var(l->p, k.re[i]), k.row, x };
        im[i] = (Placed){ tessi_lexpr_var(l->p, k.im[i]), k.row, x };
    }
    tessi_f_give(t, t->out.re, re, k.outputs);
    tessi_f_give(t, t->out.im, im, k.outputs);
    tessi_spectrum_close(l, depth);
}
