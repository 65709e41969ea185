/* Reads that cannot leave their image, whatever the sizes, need no border rule: X@[0,1]:clamp is clamped in one
 * dimension only. */
#include "graph/graph_passes.h"

typedef struct Inside {
    Graph *g;
    const Piece *piece;
} Inside;

/* coef * (lo .. hi) added to the range low .. high. */
static void widen(Graph *g, int64_t coef, SizeId lo, SizeId hi, SizeId *low, SizeId *high)
{
    *low = tessi_size_add(g, *low, tessi_size_scale(g, coef < 0 ? hi : lo, coef));
    *high = tessi_size_add(g, *high, tessi_size_scale(g, coef < 0 ? lo : hi, coef));
}

static bool stays_inside(const Inside *in, const AccessDim *d, SizeId extent)
{
    Graph *g = in->g;
    SizeId low = d->add, high = d->add, one = tessi_size_const(g, 1);
    if (d->absolute)
        return false;
    if (d->src >= 0)
        widen(g, d->scale, tessi_size_const(g, 0), tessi_size_sub(g, in->piece->count[d->src], one),
              &low, &high);
    for (uint32_t k = 0; k < d->n_terms; k++) {
        const Window *w = tessi_window(g, d->term[k].window);
        SizeId lo = tessi_size_const(g, w->lo[d->term[k].var]);
        SizeId hi = tessi_size_const(g, w->hi[d->term[k].var]);
        widen(g, d->term[k].coef, lo, hi, &low, &high);
    }
    SizeId room = tessi_size_sub(g, tessi_size_sub(g, extent, one), high);
    return tessi_size_never_negative(g, low, 0) && tessi_size_never_negative(g, room, 0);
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    const Inside *in = r->user;
    ExprId rebuilt = tessi_rewrite_rebuild(r, e);
    const Expr *load = tessi_expr(r->to, rebuilt);
    if (load->kind != EXPR_LOAD)
        return rebuilt;
    Access a = *tessi_access(r->to, load->access);
    const Stage *producer = tessi_stage(r->to, a.producer);
    for (uint32_t d = 0; d < a.n_dims; d++)
        if (a.dim[d].rule != BORDER_INSIDE && stays_inside(in, &a.dim[d], producer->size[d]))
            a.dim[d].rule = BORDER_INSIDE;
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

void tessi_pass_inside(Graph *g)
{
    Inside in = { .g = g };
    Rewrite r;
    tessi_rewrite_init(&r, g, g, g->arena);
    r.change = change;
    r.user = &in;
    GRAPH_FOREACH_STAGE (g, id) {
        VEC_FOREACH (Piece, p, &tessi_stage(g, id)->pieces) {
            in.piece = p; /* the same expression may be inside in one piece and not in another */
            tessi_expr_map_clear(&r.map);
            p->body = tessi_rewrite_expr(&r, p->body);
        }
    }
}
