/* Rewriting expressions bottom-up through the constructors, so that whatever became constant folds on the way. */
#include "graph/graph_rewrite.h"

struct
    GraphScratch { /* of tessi_subst_*: kept with the graph, for unrolling makes many small rewrites */
    Rewrite rewrite;
    WindowId window;
    const int32_t *value;
    ExprList list; /* what the roots need and the window's variables reach */
};

void tessi_rewrite_init(Rewrite *r, const Graph *from, Graph *to, Arena *scratch)
{
    *r = (Rewrite){ .from = from, .to = to };
    r->map.arena = scratch;
    r->walk.arena = scratch;
    tessi_expr_map_clear(&r->map);
}

/* ---- Parts ----------------------------------------------------------------------------------- */
SizeId tessi_rewrite_size(Rewrite *r, SizeId id)
{
    Graph *to = r->to;
    if (r->from == to || !id.v)
        return id;
    const Size *s = tessi_size(r->from, id);
    switch (s->kind) {
    case SIZE_OF_PARAM: return tessi_size_param(to, s->param);
    case SIZE_OF_FLOORDIV: return tessi_size_floordiv(to, tessi_rewrite_size(r, s->a), s->constant);
    case SIZE_OF_MIN:
        return tessi_size_min(to, tessi_rewrite_size(r, s->a), tessi_rewrite_size(r, s->b));
    case SIZE_OF_MAX:
        return tessi_size_max(to, tessi_rewrite_size(r, s->a), tessi_rewrite_size(r, s->b));
    case SIZE_OF_PRODUCT:
        return tessi_size_mul(to, tessi_rewrite_size(r, s->a), tessi_rewrite_size(r, s->b));
    case SIZE_OF_AFFINE: break;
    }
    SizeId sum = tessi_size_const(to, s->constant);
    for (uint32_t k = 0; k < s->n_terms; k++) {
        SizeId atom = tessi_rewrite_size(r, s->atom[k]);
        sum = tessi_size_add(to, sum, tessi_size_scale(to, atom, s->coef[k]));
    }
    return sum;
}

static WindowId window_of(Rewrite *r, WindowId id)
{
    return r->from == r->to ? id : tessi_graph_window(r->to, tessi_window(r->from, id));
}

static ExprId mapped(Rewrite *r, ExprId id)
{
    ExprId to = tessi_expr_map_get(&r->map, id);
    return to.v || r->from != r->to ? to : id;
}

static AccessId rebuild_access(Rewrite *r, AccessId id)
{
    Access a = *tessi_access(r->from, id);
    if (r->from != r->to)
        a.producer = r->stage[a.producer.v];
    for (uint32_t d = 0; d < a.n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        if (dim->absolute)
            dim->index = mapped(r, dim->index);
        dim->add = tessi_rewrite_size(r, dim->add);
        for (uint32_t k = 0; k < dim->n_terms; k++)
            dim->term[k].window = window_of(r, dim->term[k].window);
    }
    if (a.outside.v)
        a.outside = mapped(r, a.outside);
    return tessi_graph_access(r->to, &a);
}

ExprId tessi_rewrite_rebuild(Rewrite *r, const Expr *e)
{
    Graph *to = r->to;
    ExprId arg[3] = { { 0 }, { 0 }, { 0 } };
    for (uint32_t k = 0; k < e->n_args; k++)
        arg[k] = mapped(r, e->arg[k]);
    switch (e->kind) {
    case EXPR_CONST: return tessi_expr_const(to, e->type, e->value);
    case EXPR_OP: return tessi_expr_op(to, e->op, arg[0], arg[1], arg[2]);
    case EXPR_CAST: return tessi_expr_cast(to, e->type, arg[0]);
    case EXPR_SAT: return tessi_expr_sat(to, e->type, arg[0]);
    case EXPR_LOAD: return tessi_expr_load(to, rebuild_access(r, e->access));
    case EXPR_SCALAR: return tessi_expr_scalar(to, e->ref);
    case EXPR_INDEX: return tessi_expr_index(to, e->ref);
    case EXPR_SIZE: return tessi_expr_size(to, tessi_rewrite_size(r, e->size));
    case EXPR_WINVAR: return tessi_expr_winvar(to, window_of(r, e->window), e->ref);
    case EXPR_STATE: return tessi_expr_state(to, e->ref, e->type);
    case EXPR_TABLE: {
        bool same = r->from == to;
        TableId t = same ? e->table : tessi_graph_table(to, tessi_table(r->from, e->table));
        return tessi_expr_table(to, t, arg[0]);
    }
    case EXPR_WINDOW: {
        WindowId w = window_of(r, e->window);
        ExprId sum = e->fused ? tessi_expr_window_fused(to, w, arg[0], arg[1])
                              : tessi_expr_window(to, e->reduction, w, arg[0], arg[1]);
        return tessi_expr_asked(to, sum, tessi_expr_request(r->from, e));
    }
    }
    return (ExprId){ 0 };
}

ExprId tessi_rewrite_expr(Rewrite *r, ExprId root)
{
    if (!root.v)
        return root;
    ExprId done = tessi_expr_map_get(&r->map, root);
    if (done.v)
        return done;
    const ExprList *list = tessi_expr_walk(&r->walk, r->from, &root, 1);
    for (uint32_t k = 0; k < list->n; k++) {
        ExprId id = list->at[k];
        if (tessi_expr_map_get(&r->map, id).v)
            continue;
        const Expr e = *tessi_expr(r->from, id);
        ExprId to = r->change ? r->change(r, id, &e) : tessi_rewrite_rebuild(r, &e);
        tessi_expr_map_set(&r->map, id, to);
    }
    return tessi_expr_map_get(&r->map, root);
}

/* ---- Substitution of window variables -------------------------------------------------------- */
static struct GraphScratch *scratch_of(Graph *g)
{
    if (!g->scratch) {
        g->scratch = ARENA_NEW(g->arena, struct GraphScratch);
        tessi_rewrite_init(&g->scratch->rewrite, g, g, g->arena);
    }
    return g->scratch;
}

static bool access_uses(const Access *a, WindowId w)
{
    for (uint32_t d = 0; d < a->n_dims; d++)
        for (uint32_t k = 0; k < a->dim[d].n_terms; k++)
            if (a->dim[d].term[k].window.v == w.v)
                return true;
    return false;
}

uint32_t tessi_subst_begin(Graph *g, const ExprId *roots, uint32_t n_roots, WindowId w)
{
    struct GraphScratch *s = scratch_of(g);
    Rewrite *r = &s->rewrite;
    s->window = w;
    s->list.n = 0;
    const ExprList *all = tessi_expr_walk(&r->walk, g, roots, n_roots);
    tessi_expr_map_clear(&r->map);
    VEC_FOREACH (const ExprId, id, all) {
        const Expr *e = tessi_expr(g, *id);
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(g, e, child);
        bool uses = (e->kind == EXPR_WINVAR && e->window.v == w.v)
                    || (e->kind == EXPR_LOAD && access_uses(tessi_access(g, e->access), w));
        bool bound_here = e->kind == EXPR_WINDOW && e->window.v == w.v;
        for (uint32_t k = 0; k < n && !uses && !bound_here; k++)
            uses = tessi_expr_map_get(&r->map, child[k]).v != 0;
        if (!uses)
            continue;
        tessi_expr_map_set(&r->map, *id, *id);
        VEC_PUSH(g->arena, &s->list, *id);
    }
    return s->list.n;
}

static ExprId subst_load(Graph *g, const struct GraphScratch *s, AccessId id)
{
    Access a = *tessi_access(g, id);
    for (uint32_t d = 0; d < a.n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        int64_t shift = 0;
        uint32_t kept = 0;
        for (uint32_t k = 0; k < dim->n_terms; k++) {
            AccessTerm t = dim->term[k];
            if (t.window.v == s->window.v && t.var < MAX_WINDOW_VARS)
                shift += (int64_t)t.coef * s->value[t.var];
            else
                dim->term[kept++] = t;
        }
        dim->n_terms = (uint8_t)kept;
        dim->add = tessi_size_add(g, dim->add, tessi_size_const(g, shift));
        if (dim->absolute)
            dim->index = mapped(&g->scratch->rewrite, dim->index);
    }
    if (a.outside.v)
        a.outside = mapped(&g->scratch->rewrite, a.outside);
    return tessi_expr_load(g, tessi_graph_access(g, &a));
}

ExprId tessi_subst_at(Graph *g, ExprId root, const int32_t *value)
{
    struct GraphScratch *s = scratch_of(g);
    Rewrite *r = &s->rewrite;
    s->value = value;
    tessi_expr_map_clear(&r->map);
    VEC_FOREACH (const ExprId, id, &s->list) {
        if (id->v > root.v)
            break;
        const Expr e = *tessi_expr(g, *id);
        ExprId to;
        if (e.kind == EXPR_WINVAR && e.window.v == s->window.v && e.ref < MAX_WINDOW_VARS)
            to = tessi_expr_int(g, TYPE_I32, value[e.ref]);
        else if (e.kind == EXPR_LOAD)
            to = subst_load(g, s, e.access);
        else
            to = tessi_rewrite_rebuild(r, &e);
        tessi_expr_map_set(&r->map, *id, to);
    }
    return mapped(r, root);
}

ExprId tessi_expr_subst_window(Graph *g, ExprId root, WindowId w, const int32_t *value)
{
    tessi_subst_begin(g, &root, 1, w);
    return tessi_subst_at(g, root, value);
}
