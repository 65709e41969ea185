/* Walking expressions without recursion: arguments always have smaller ids than their users. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph_walk.h"

uint32_t tessi_expr_children(const Graph *g, const Expr *e, ExprId out[MAX_EXPR_CHILDREN])
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < e->n_args; k++)
        if (e->arg[k].v)
            out[n++] = e->arg[k];
    if (e->kind == EXPR_LOAD) {
        const Access *access = tessi_access(g, e->access);
        for (uint32_t d = 0; d < access->n_dims; d++)
            if (access->dim[d].absolute && access->dim[d].index.v)
                out[n++] = access->dim[d].index;
        if (access->outside.v)
            out[n++] = access->outside;
    }
    return n;
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const ExprId *)a)->v, y = ((const ExprId *)b)->v;
    return (x > y) - (x < y);
}

/* Room for `need` stamps. The old ones are kept, so that a map may grow while it is filled. */
static uint32_t *grow_stamps(Arena *a, uint32_t *stamp, uint32_t cap, uint32_t need)
{
    uint32_t *bigger = ARENA_NEW_ARRAY(a, uint32_t, need);
    if (cap)
        memcpy(bigger, stamp, cap * sizeof *stamp);
    return bigger;
}

static uint32_t room_for(uint32_t cap, uint32_t need)
{
    return need > cap / 2 + cap ? need + 64 : cap / 2 + cap;
}

static void walk_visit(ExprWalk *w, ExprId id)
{
    if (!id.v || id.v >= w->cap || w->stamp[id.v] == w->epoch)
        return;
    w->stamp[id.v] = w->epoch;
    VEC_PUSH(w->arena, &w->list, id);
}

const ExprList *tessi_expr_walk(ExprWalk *w, const Graph *g, const ExprId *roots, uint32_t n_roots)
{
    if (w->cap < g->exprs.n) {
        uint32_t cap = room_for(w->cap, g->exprs.n);
        w->stamp = grow_stamps(w->arena, w->stamp, w->cap, cap);
        w->cap = cap;
    }
    w->epoch++;
    w->list.n = 0;
    for (uint32_t k = 0; k < n_roots; k++)
        walk_visit(w, roots[k]);
    for (uint32_t next = 0; next < w->list.n; next++) {
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(g, tessi_expr(g, w->list.at[next]), child);
        for (uint32_t k = 0; k < n; k++)
            walk_visit(w, child[k]);
    }
    if (w->list.n > 1)
        qsort(w->list.at, w->list.n, sizeof *w->list.at, by_id);
    return &w->list;
}

void tessi_expr_map_clear(ExprMap *m)
{
    m->epoch++;
}

void tessi_expr_map_set(ExprMap *m, ExprId from, ExprId to)
{
    if (from.v >= m->cap) {
        uint32_t cap = room_for(m->cap, from.v + 1);
        ExprId *bigger = ARENA_NEW_ARRAY(m->arena, ExprId, cap);
        if (m->cap)
            memcpy(bigger, m->to, m->cap * sizeof *bigger);
        m->to = bigger;
        m->stamp = grow_stamps(m->arena, m->stamp, m->cap, cap);
        m->cap = cap;
    }
    if (!m->epoch)
        m->epoch = 1;
    m->to[from.v] = to;
    m->stamp[from.v] = m->epoch;
}

ExprId tessi_expr_map_get(const ExprMap *m, ExprId from)
{
    bool is_set = from.v < m->cap && m->stamp[from.v] == m->epoch && m->epoch;
    return is_set ? m->to[from.v] : (ExprId){ 0 };
}

static void add_window(const Graph *g, ExprDeps *d, WindowId w)
{
    uint32_t level = tessi_window(g, w)->level;
    if (level >= MAX_WINDOW_LEVELS || (d->window[level].v && d->window[level].v != w.v))
        d->clash = true;
    else
        d->window[level] = w;
}

static void add_deps(const Graph *g, ExprDeps *d, const ExprDeps *child)
{
    d->data |= child->data;
    d->point |= child->point;
    d->clash |= child->clash;
    for (uint32_t k = 0; k < MAX_WINDOW_LEVELS; k++)
        if (child->window[k].v)
            add_window(g, d, child->window[k]);
}

static void own_deps(const Graph *g, const Expr *e, ExprDeps *d)
{
    switch (e->kind) {
    case EXPR_INDEX: d->point = true; break;
    case EXPR_SCALAR:
    case EXPR_STATE:
    case EXPR_SIZE: d->data = true; break;
    case EXPR_WINVAR: add_window(g, d, e->window); break;
    case EXPR_LOAD: {
        const Access *access = tessi_access(g, e->access);
        d->data = true;
        for (uint32_t k = 0; k < access->n_dims; k++) {
            const AccessDim *dim = &access->dim[k];
            d->point |= !dim->absolute && dim->src >= 0;
            for (uint32_t t = 0; !dim->absolute && t < dim->n_terms; t++)
                add_window(g, d, dim->term[t].window);
        }
        break;
    }
    default: break;
    }
}

ExprDeps *tessi_expr_deps(const Graph *g, Arena *a)
{
    ExprDeps *all = ARENA_NEW_ARRAY(a, ExprDeps, g->exprs.n);
    for (uint32_t id = 1; id < g->exprs.n; id++) {
        const Expr *e = &g->exprs.at[id];
        ExprDeps *d = &all[id];
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(g, e, child);
        own_deps(g, e, d);
        for (uint32_t k = 0; k < n; k++)
            if (child[k].v < id)
                add_deps(g, d, &all[child[k].v]);
        if (e->kind == EXPR_WINDOW) {
            uint32_t level = tessi_window(g, e->window)->level;
            if (level < MAX_WINDOW_LEVELS && d->window[level].v == e->window.v)
                d->window[level].v = 0;
            else if (level < MAX_WINDOW_LEVELS && d->window[level].v)
                d->clash = true;
        }
        d->level = -1;
        for (int k = 0; k < MAX_WINDOW_LEVELS; k++)
            if (d->window[k].v)
                d->level = (int8_t)k;
    }
    return all;
}

bool tessi_expr_belongs(const Graph *g, const ExprDeps *d, const Expr *window_expr,
                        const ExprDeps *window)
{
    if (!window_expr)
        return d->level < 0;
    uint32_t level = tessi_window(g, window_expr->window)->level;
    if (d->level != (int)level || d->window[level].v != window_expr->window.v)
        return false;
    for (uint32_t k = 0; k < level; k++)
        if (d->window[k].v && d->window[k].v != window->window[k].v)
            return false;
    return true;
}

int64_t tessi_window_points(const Window *w)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < w->n_vars; k++) {
        int64_t extent = (int64_t)w->hi[k] - w->lo[k] + 1;
        if (extent <= 0)
            return 0;
        if (!tessi_mul_i64(n, extent, &n) || n > UINT32_MAX)
            n = (int64_t)UINT32_MAX + 1; /* sticky, but a later empty range still makes it 0 */
    }
    return n > UINT32_MAX ? -1 : n;
}

bool tessi_window_step(const Window *w, int32_t *value)
{
    for (uint32_t k = w->n_vars; k-- > 0;) {
        if (value[k] < w->hi[k]) {
            value[k]++;
            return true;
        }
        value[k] = w->lo[k];
    }
    return false;
}
