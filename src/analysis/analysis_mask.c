/* Masks: pieces that are a sum of constant * read of one producer at constant distances, seen as a matrix of
 * coefficients. The matrix says whether the convolution is separable (rank 1) or a sum of few separable ones.
 * Rounding is ignored: this is about what the mask is, not about which bits a rewritten sum would give. */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/const_eval.h"
#include "graph/access.h"

enum { MAX_MASK_STEPS = 20000, MAX_MASK_SIDE = 128, MAX_MASK_WINDOW = 4096 };

typedef struct Tap {
    int64_t at[MAX_DIMS];
    double coef;
} Tap;

typedef struct Term {
    ExprId expr;
    double factor;
} Term;

typedef struct Recogniser {
    const Graph *g;
    Arena *arena;
    ExprWalk walk;
    StageId producer;
    uint32_t steps;
    VEC(Term) open;
    VEC(Tap) taps;
} Recogniser;

static bool constant(const Recogniser *r, ExprId id, double *x)
{
    Value v;
    if (!id.v || !tessi_expr_is_const(r->g, id, &v))
        return false;
    ScalarType t = tessi_expr(r->g, id)->type;
    *x = tessi_is_real(t) ? v.f : (double)v.i;
    return isfinite(*x);
}

static void open_term(Recogniser *r, ExprId id, double factor)
{
    Term t = { id, factor };
    VEC_PUSH(r->arena, &r->open, t);
}

/* A read at a constant distance, the window variables having the given values. */
static bool add_tap(Recogniser *r, const Access *a, double factor, WindowId w, const int32_t *var)
{
    Tap tap = { .coef = factor };
    if (!r->producer.v)
        r->producer = a->producer;
    if (r->producer.v != a->producer.v || a->n_dims == 0)
        return false;
    for (uint32_t d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        for (uint32_t t = 0; t < dim->n_terms; t++)
            if (dim->term[t].window.v != w.v)
                return false;
    }
    if (!tessi_access_distances(r->g, a, var, tap.at))
        return false;
    VEC_PUSH(r->arena, &r->taps, tap);
    return true;
}

/* sum(w: read) or sum(w: constant * read). */
static bool add_window(Recogniser *r, const Expr *e, double factor)
{
    const Window *w = tessi_window(r->g, e->window);
    int64_t points = tessi_window_points(w);
    if (e->reduction != REDUCE_SUM || e->arg[1].v || points <= 0 || points > MAX_MASK_WINDOW)
        return false;
    const Expr *load = tessi_expr(r->g, e->arg[0]);
    ExprId scale = { 0 };
    if (load->kind == EXPR_OP && load->op == OP_MUL) {
        bool first = tessi_expr(r->g, load->arg[0])->kind == EXPR_LOAD;
        scale = load->arg[first];
        load = tessi_expr(r->g, load->arg[!first]);
    }
    if (load->kind != EXPR_LOAD)
        return false;
    ConstEval c;
    if (scale.v)
        tessi_const_eval_init(&c, r->g, r->arena, &r->walk, scale, e->window);
    bool real = scale.v && tessi_is_real(tessi_expr(r->g, scale)->type);
    int32_t var[MAX_WINDOW_VARS];
    for (uint32_t i = 0; i < MAX_WINDOW_VARS; i++)
        var[i] = w->lo[i];
    do {
        Value v = { .f = 1 };
        if (scale.v && !tessi_const_eval(&c, var, &v))
            return false;
        double x = real || !scale.v ? v.f : (double)v.i;
        if (!isfinite(x)
            || !add_tap(r, tessi_access(r->g, load->access), factor * x, e->window, var))
            return false;
    } while (tessi_window_step(w, var));
    return true;
}

static bool add_op(Recogniser *r, const Expr *e, double factor)
{
    double k;
    switch (e->op) {
    case OP_ADD:
    case OP_SUB:
        open_term(r, e->arg[0], factor);
        open_term(r, e->arg[1], e->op == OP_ADD ? factor : -factor);
        return true;
    case OP_NEG: open_term(r, e->arg[0], -factor); return true;
    case OP_MUL:
    case OP_FMA: {
        bool first = constant(r, e->arg[0], &k);
        if (!first && !constant(r, e->arg[1], &k))
            return false;
        open_term(r, e->arg[first], factor * k);
        if (e->op == OP_FMA)
            open_term(r, e->arg[2], factor);
        return true;
    }
    case OP_DIV:
        if (!constant(r, e->arg[1], &k) || k == 0)
            return false;
        open_term(r, e->arg[0], factor / k);
        return true;
    default: return false;
    }
}

static bool recognise(Recogniser *r, ExprId body)
{
    static const int32_t no_vars[MAX_WINDOW_VARS] = { 0 };
    open_term(r, body, 1);
    while (r->open.n) {
        Term t = r->open.at[--r->open.n];
        const Expr *e = tessi_expr(r->g, t.expr);
        if (++r->steps > MAX_MASK_STEPS || !tessi_is_real(e->type))
            return false;
        bool ok = false;
        double zero;
        switch (e->kind) {
        case EXPR_CONST: ok = constant(r, t.expr, &zero) && zero == 0; break;
        case EXPR_CAST: {
            const Expr *from = tessi_expr(r->g, e->arg[0]);
            ok = true;
            if (from->kind == EXPR_LOAD) /* also an integer image */
                ok = add_tap(r, tessi_access(r->g, from->access), t.factor, (WindowId){ 0 },
                             no_vars);
            else
                open_term(r, e->arg[0], t.factor);
            break;
        }
        case EXPR_LOAD:
            ok = add_tap(r, tessi_access(r->g, e->access), t.factor, (WindowId){ 0 }, no_vars);
            break;
        case EXPR_OP: ok = add_op(r, e, t.factor); break;
        case EXPR_WINDOW: ok = add_window(r, e, t.factor); break;
        default: break;
        }
        if (!ok)
            return false;
    }
    return r->taps.n > 1;
}

/* ---- The matrix ------------------------------------------------------------------------------ */

/* Elimination with full pivoting; the number of pivots above rounding. */
static uint32_t rank_of(Arena *a, const double *coef, uint32_t rows, uint32_t cols)
{
    double *m = ARENA_NEW_ARRAY(a, double, (size_t)rows *cols), largest = 0;
    for (size_t i = 0; i < (size_t)rows * cols; i++) {
        m[i] = coef[i];
        largest = fmax(largest, fabs(m[i]));
    }
    uint32_t rank = 0, most = rows < cols ? rows : cols;
    for (; rank < most; rank++) {
        uint32_t pr = rank, pc = rank;
        for (uint32_t i = rank; i < rows; i++)
            for (uint32_t j = rank; j < cols; j++)
                if (fabs(m[i * cols + j]) > fabs(m[pr * cols + pc])) {
                    pr = i;
                    pc = j;
                }
        if (fabs(m[pr * cols + pc]) <= largest * 1e-7) /* coefficients may be rounded to float */
            break;
        for (uint32_t j = 0; j < cols; j++) {
            double x = m[pr * cols + j];
            m[pr * cols + j] = m[rank * cols + j];
            m[rank * cols + j] = x;
        }
        for (uint32_t i = 0; i < rows; i++) {
            double x = m[i * cols + pc];
            m[i * cols + pc] = m[i * cols + rank];
            m[i * cols + rank] = x;
        }
        for (uint32_t i = rank + 1; i < rows; i++) {
            double k = m[i * cols + rank] / m[rank * cols + rank];
            for (uint32_t j = rank; j < cols; j++)
                m[i * cols + j] -= k * m[rank * cols + j];
        }
    }
    return rank;
}

/* coef = column * row, the row taken through the largest coefficient. */
static void factor(Arena *a, MaskInfo *m)
{
    uint32_t pr = 0, pc = 0;
    for (uint32_t i = 0; i < m->rows; i++)
        for (uint32_t j = 0; j < m->cols; j++)
            if (fabs(m->coef[i * m->cols + j]) > fabs(m->coef[pr * m->cols + pc])) {
                pr = i;
                pc = j;
            }
    m->column = ARENA_NEW_ARRAY(a, double, m->rows);
    m->row = ARENA_NEW_ARRAY(a, double, m->cols);
    for (uint32_t i = 0; i < m->rows; i++)
        m->column[i] = m->coef[i * m->cols + pc] / m->coef[pr * m->cols + pc];
    for (uint32_t j = 0; j < m->cols; j++)
        m->row[j] = m->coef[pr * m->cols + j];
}

static bool to_matrix(Arena *a, const Recogniser *r, uint32_t n_dims, MaskInfo *m)
{
    uint32_t last = n_dims - 1, row_dim = n_dims > 1 ? n_dims - 2 : 0;
    int64_t lo[2] = { 0 }, hi[2] = { 0 };
    for (uint32_t i = 0; i < r->taps.n; i++) {
        const Tap *tap = &r->taps.at[i];
        int64_t at[2] = { n_dims > 1 ? tap->at[row_dim] : 0, tap->at[last] };
        for (int k = 0; k < 2; k++) {
            lo[k] = i == 0 || at[k] < lo[k] ? at[k] : lo[k];
            hi[k] = i == 0 || at[k] > hi[k] ? at[k] : hi[k];
        }
        for (uint32_t d = 0; d < row_dim; d++)
            if (tap->at[d] != r->taps.at[0].at[d])
                return false; /* a mask over more than two dimensions */
    }
    if (hi[0] - lo[0] >= MAX_MASK_SIDE || hi[1] - lo[1] >= MAX_MASK_SIDE)
        return false;
    m->row0 = lo[0];
    m->col0 = lo[1];
    m->rows = (uint32_t)(hi[0] - lo[0] + 1);
    m->cols = (uint32_t)(hi[1] - lo[1] + 1);
    m->coef = ARENA_NEW_ARRAY(a, double, (size_t)m->rows * m->cols);
    VEC_FOREACH (const Tap, tap, &r->taps) {
        int64_t i = (n_dims > 1 ? tap->at[row_dim] : 0) - lo[0], j = tap->at[last] - lo[1];
        m->coef[i * m->cols + j] += tap->coef;
    }
    m->rank = rank_of(a, m->coef, m->rows, m->cols);
    if (m->rank == 1)
        factor(a, m);
    return true;
}

void tessi_analyse_masks(Analysis *an, Arena *a)
{
    const Graph *g = an->g;
    Recogniser r = { .g = g, .arena = a, .walk = { .arena = a } };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        for (uint32_t k = 0; k < s->pieces.n; k++) {
            r.open.n = r.taps.n = r.steps = 0;
            r.producer = (StageId){ 0 };
            if (!recognise(&r, s->pieces.at[k].body))
                continue;
            MaskInfo m = { .stage = id, .producer = r.producer, .piece = k };
            if (to_matrix(a, &r, tessi_stage(g, r.producer)->n_dims, &m))
                VEC_PUSH(a, &an->masks, m);
        }
    }
}
