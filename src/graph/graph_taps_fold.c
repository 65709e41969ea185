/* Columns of a mask that are equal, or equal but for their signs: what they weigh is added up first, and each weight applied once. The
 * sum of two columns' values at a row serves every row of the mask, for results below each other, so a column of one weight only
 * gains nothing. */
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

/* The values under the mask move with each of its variables: that of one point is that of another elsewhere. Products with a mask that
 * comes with the run are not. */
static bool serves_other_points(Masks *m, const Taps *t, const Window *w)
{
    Axis axis;
    for (uint32_t v = 0; v < w->n_vars; v++)
        if (w->hi[v] > w->lo[v] && !tessi_taps_axis(m, t->value, v, &axis))
            return false;
    return true;
}

Columns tessi_taps_columns(Masks *m, const Taps *t)
{
    Arena *a = m->to->arena;
    const Window *w = tessi_window(m->to, t->window);
    Columns c = { .n = t->weights.dim[w->n_vars - 1] };
    c.like = ARENA_NEW_ARRAY(a, uint32_t, c.n);
    c.turned = ARENA_NEW_ARRAY(a, bool, c.n);
    uint32_t *alike = ARENA_NEW_ARRAY(a, uint32_t, c.n);
    const bool may = tessi_is_real(t->type) && m->fp != FP_STRICT && t->method != METHOD_DIRECT
                     && t->reduction == REDUCE_SUM && serves_other_points(m, t, w);
    for (uint32_t k = 0; k < c.n; k++) {
        const uint32_t taps = taps_of_column(t, c.n, k);
        c.like[k] = k;
        for (uint32_t j = 0; may && taps > 1 && j < k && c.like[k] == k; j++) {
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
