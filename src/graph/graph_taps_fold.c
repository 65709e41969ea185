/* Columns of a mask that are equal, or equal but for their signs: what they weigh is added up first, and each weight
 * applied once. The sum of two columns' values at a row serves every row of the mask, for results below each other,
 * so a column of one weight only gains nothing. */
#include "graph/graph_rewrite.h"
#include "graph/graph_taps.h"

static bool same_weight(const Taps *t, uint32_t a, uint32_t b, bool turned)
{
    const Matrix *w = &t->weights;
    return w->used[a] == w->used[b]
           && (!w->used[a] || w->at[a].f == (turned ? -1 : 1) * w->at[b].f);
}

static bool same_column(const Taps *t, uint32_t columns, uint32_t a, uint32_t b, bool turned)
{
    for (uint32_t row = 0; row < t->weights.n; row += columns)
        if (!same_weight(t, row + a, row + b, turned))
            return false;
    return true;
}

static uint32_t taps_of_column(const Taps *t, uint32_t columns, uint32_t column)
{
    uint32_t n = 0;
    for (uint32_t row = 0; row < t->weights.n; row += columns)
        n += t->weights.used[row + column] && t->weights.at[row + column].f != 0;
    return n;
}

/* The values under the mask move with each of its variables: that of one point is that of another elsewhere.
 * Products with a mask that comes with the run are not. */
static bool serves_other_points(Masks *m, const Taps *t, const Window *w)
{
    Axis axis;
    for (uint32_t v = 0; v < w->n_vars; v++)
        if (w->hi[v] > w->lo[v] && !tessi_taps_axis(m, t->value, v, &axis))
            return false;
    return true;
}

static bool may_fold(Masks *m, const Taps *t)
{
    return tessi_is_real(t->type) && m->fp != FP_STRICT && t->method != METHOD_DIRECT
           && t->reduction == REDUCE_SUM
           && serves_other_points(m, t, tessi_window(m->to, t->window));
}

static bool is_choice(const Graph *g, const Stage *s)
{
    if (s->kind != STAGE_COMPUTE || s->pieces.n != 1)
        return false;
    const Expr *e = tessi_expr(g, s->pieces.at[0].body);
    Value v;
    return e->kind == EXPR_OP && e->op == OP_SELECT
           && (tessi_expr_is_const(g, e->arg[1], &v) || tessi_expr_is_const(g, e->arg[2], &v));
}

bool tessi_taps_filled(Masks *m, ExprId value)
{
    bool reads = false;
    const ExprList *list = tessi_expr_walk(&m->walk, m->to, &value, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *e = tessi_expr(m->to, *it);
        if (e->kind != EXPR_LOAD)
            continue;
        const Access *a = tessi_access(m->to, e->access);
        if (!is_choice(m->to, tessi_stage(m->to, a->producer)))
            return false;
        reads = true;
    }
    return reads;
}

/* A line of sums over filled points, along the rows of the image. */
static bool adds_pairs(Masks *m, const Taps *t, const Window *w)
{
    Axis axis;
    return t->filled && w->n_vars == 1 && tessi_taps_axis(m, t->value, 0, &axis)
           && axis.dim.src + 1 == m->domain.n_dims;
}

Columns tessi_taps_columns(Masks *m, const Taps *t)
{
    enum { MOST_COLUMNS = 1024 }; /* to compare each with each; masks as wide are not written out */
    Arena *a = m->to->arena;
    const Window *w = tessi_window(m->to, t->window);
    Columns c = { .n = t->weights.dim[w->n_vars - 1] };
    c.like = ARENA_NEW_ARRAY(a, uint32_t, c.n);
    c.turned = ARENA_NEW_ARRAY(a, bool, c.n);
    uint32_t *alike = ARENA_NEW_ARRAY(a, uint32_t, c.n);
    const bool may = c.n <= MOST_COLUMNS && may_fold(m, t);
    const uint32_t fewest = may && adds_pairs(m, t, w) ? 1 : 2;
    for (uint32_t k = 0; k < c.n; k++) {
        const uint32_t taps = taps_of_column(t, c.n, k);
        c.like[k] = k;
        for (uint32_t j = 0; may && taps >= fewest && j < k && c.like[k] == k; j++) {
            if (c.like[j] != j)
                continue;
            c.turned[k] = !same_column(t, c.n, j, k, false);
            if (!c.turned[k] || same_column(t, c.n, j, k, true))
                c.like[k] = j;
        }
        c.turned[k] = c.turned[k] && c.like[k] != k;
        alike[c.like[k]]++;
        if (c.like[k] == k)
            c.steps += taps;
        if (alike[c.like[k]] > c.most)
            c.most = alike[c.like[k]];
    }
    return c;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* The window whose last variable goes over the first half of the columns, and what is read there or in the column
 * opposite. */
typedef struct Half {
    WindowId from, to;
    uint32_t var;
    int64_t ends; /* the sum of a column's place and that of the one opposite */
    bool opposite;
} Half;

static ExprId read_in_half(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    const Half *half = r->user;
    if (e->kind != EXPR_LOAD)
        return tessi_rewrite_rebuild(r, e);
    Access a = *tessi_access(r->to, e->access);
    for (uint32_t d = 0; d < a.n_dims; d++)
        for (uint32_t k = 0; k < a.dim[d].n_terms; k++) {
            AccessDim *dim = &a.dim[d];
            AccessTerm *term = &dim->term[k];
            if (term->window.v != half->from.v)
                continue;
            term->window = half->to;
            if (term->var != half->var || !half->opposite)
                continue;
            SizeId ends = tessi_size_const(r->to, term->coef * half->ends);
            dim->add = tessi_size_add(r->to, dim->add, ends);
            term->coef = -term->coef;
        }
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

static ExprId half_value(Masks *m, ExprId value, Half half, bool opposite)
{
    Rewrite r;
    half.opposite = opposite;
    tessi_rewrite_init(&r, m->to, m->to, m->to->arena);
    r.change = read_in_half;
    r.user = &half;
    return tessi_rewrite_expr(&r, value);
}

/* The window moves reads, at distances that are known, and is no value itself. */
static bool only_moves_reads(Masks *m, const Taps *t)
{
    const ExprList *list = tessi_expr_walk(&m->walk, m->to, &t->value, 1);
    VEC_FOREACH (const ExprId, it, list) {
        const Expr *e = tessi_expr(m->to, *it);
        if (e->kind == EXPR_WINVAR && e->window.v == t->window.v)
            return false;
        const Access *a = e->kind == EXPR_LOAD ? tessi_access(m->to, e->access) : NULL;
        for (uint32_t d = 0; a && d < a->n_dims; d++)
            if (a->dim[d].index.v)
                return false;
    }
    return true;
}

static bool opposite_columns(const Taps *t, uint32_t columns, bool turned)
{
    for (uint32_t k = 0; k < columns; k++)
        if (!same_column(t, columns, k, columns - 1 - k, turned))
            return false;
    return true;
}

/* Half of the weights; one in the middle is applied to the sum of its value with itself. */
static bool half_weights(const Taps *t, Arena *a, const Window *half, uint32_t columns, Matrix *out)
{
    if (!tessi_matrix_init(out, a, half))
        return false;
    const uint32_t kept = (columns + 1) / 2;
    for (uint32_t k = 0; k < out->n; k++) {
        const uint32_t from = k / kept * columns + k % kept;
        out->used[k] = t->weights.used[from];
        out->at[k] = t->weights.at[from];
        if (2 * (k % kept) + 1 != columns)
            continue;
        const double middle = t->weights.at[from].f;
        out->at[k].f = tessi_matrix_rounded(t->type, middle / 2);
        if (out->at[k].f * 2 != middle)
            return false;
    }
    return true;
}

bool tessi_taps_fold(Masks *m, const Taps *t, Taps *folded)
{
    Graph *g = m->to;
    Window w = *tessi_window(g, t->window);
    Half half = { .from = t->window, .var = w.n_vars - 1u };
    const uint32_t columns = t->weights.dim[half.var];
    if (!may_fold(m, t) || columns < 2 || columns == t->weights.n || !only_moves_reads(m, t))
        return false;
    const bool turned = !opposite_columns(t, columns, false);
    if (turned && !opposite_columns(t, columns, true))
        return false;
    half.ends = (int64_t)w.lo[half.var] + w.hi[half.var];
    w.hi[half.var] = w.lo[half.var] + (int32_t)((columns + 1) / 2) - 1;
    *folded = *t;
    if (!half_weights(t, g->arena, &w, columns, &folded->weights))
        return false;
    folded->window = half.to = tessi_graph_window(g, &w);
    folded->value = tessi_expr_op(g, turned ? OP_SUB : OP_ADD, half_value(m, t->value, half, false),
                                  half_value(m, t->value, half, true), (ExprId){ 0 });
    return true;
}
