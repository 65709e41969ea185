/* Common windows: what a piece computes at several places becomes a stage of its own, NAME.common, and is read
 * there. In
 *
 *   d = X@[0,1] - X;  e = X - X@[0,-1];  y = d * abs(d) - e * abs(e)
 *
 * the product occurs at (0,0) and at (0,-1). Its stage begins at the first of these places and ends at the last: it
 * is as much larger than the piece as they are apart, and is never read beyond its edges. So each read of an image
 * has the coordinates it always had and is answered by its own rule; any border, any size, the same bits. Whether
 * the stage is kept anywhere is the planner's to say: recomputed at its uses it is the expression there was.
 *
 * The largest shapes are taken out first; what is left of smaller ones inside and outside of them then. */
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "analysis/shape.h"
#include "graph/graph_passes.h"

enum { MAX_APART = 64, MIN_WORK = 2 };

static const ExprId none = { 0 };

/* Pieces of the same size, computed at the same coordinates. */
typedef struct Domain {
    uint32_t part; /* of the graph */
    uint8_t n_dims;
    SizeId count[MAX_DIMS];
    VEC(StageId) stages; /* the stage of each piece, and its body */
    VEC(ExprId) bodies;
    VEC(ExprId) exprs;    /* what these need */
    VEC(uint32_t) hoists; /* into Common.hoists, in the order found */
} Domain;

/* A shape that becomes a stage: for a point x of it, the shape at place x + lo. */
typedef struct Hoist {
    ShapeId shape;
    uint32_t domain;
    int64_t lo[MAX_DIMS], hi[MAX_DIMS];
    ExprId example;
    uint32_t next; /* of the same shape */
    StageId first; /* the stage it is made in front of */
    StageId made;
} Hoist;

/* An expression of a domain. */
typedef struct Use {
    bool visible;                       /* computed by a piece, or by a stage taken out */
    int64_t lo[MAX_DIMS], hi[MAX_DIMS]; /* how far from its piece's points that evaluates it */
    StageId first;
} Use;

typedef struct Common {
    Graph *g;
    Arena *arena;
    const Shapes *shapes;
    const ExprDeps *deps;
    VEC(Domain) domains;
    IdMap domain_map;
    VEC(Hoist) hoists;    /* at[0] unused */
    uint32_t *hoist_of;   /* by ShapeId: the first */
    uint32_t **domain_of; /* by StageId and piece */
    Use *use;             /* by ExprId, of the domain at hand */
    /* while copying */
    StageId stage;
    uint32_t piece;
    bool entered;
    Rewrite inside;
    const Hoist *making;
} Common;

/* ---- Domains --------------------------------------------------------------------------------- */

typedef struct DomainKey {
    const Common *c;
    const Piece *piece;
    uint32_t part;
    uint8_t n_dims;
} DomainKey;

static bool same_domain(void *user, uint32_t id)
{
    const DomainKey *key = user;
    const Domain *d = &key->c->domains.at[id - 1];
    if (d->n_dims != key->n_dims || d->part != key->part)
        return false;
    for (uint8_t k = 0; k < d->n_dims; k++)
        if (d->count[k].v != key->piece->count[k].v)
            return false;
    return true;
}

static uint32_t find_domain(Common *c, const Stage *s, const Piece *p, uint32_t part)
{
    DomainKey key = { c, p, part, s->n_dims };
    uint64_t h = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++)
        h = tessi_hash_u64(h, p->count[d].v);
    uint32_t id = tessi_idmap_find(&c->domain_map, h, same_domain, &key);
    if (!id) {
        Domain domain = { .part = part, .n_dims = s->n_dims };
        for (uint8_t d = 0; d < s->n_dims; d++)
            domain.count[d] = p->count[d];
        VEC_PUSH(c->arena, &c->domains, domain);
        id = c->domains.n;
        tessi_idmap_add(c->arena, &c->domain_map, h, id);
    }
    return id - 1;
}

static void find_domains(Common *c)
{
    const uint32_t *part = tessi_graph_parts(c->g, c->arena);
    c->domain_of = ARENA_NEW_ARRAY(c->arena, uint32_t *, c->g->stages.n);
    GRAPH_FOREACH_STAGE (c->g, id) {
        const Stage *s = tessi_stage(c->g, id);
        c->domain_of[id.v] = ARENA_NEW_ARRAY(c->arena, uint32_t, s->pieces.n);
        for (uint32_t k = 0; k < s->pieces.n; k++) {
            uint32_t number = find_domain(c, s, &s->pieces.at[k], part ? part[id.v] : 0);
            c->domain_of[id.v][k] = number;
            VEC_PUSH(c->arena, &c->domains.at[number].stages, id);
            VEC_PUSH(c->arena, &c->domains.at[number].bodies, s->pieces.at[k].body);
        }
    }
}

/* ---- What is computed at several places ------------------------------------------------------ */

/* Notes that `id` is evaluated at the points of a piece moved by lo .. hi. */
static void see(Common *c, ExprId id, const int64_t *lo, const int64_t *hi)
{
    Use *u = &c->use[id.v];
    for (uint8_t d = 0; d < MAX_DIMS; d++) {
        u->lo[d] = u->visible && u->lo[d] < lo[d] ? u->lo[d] : lo[d];
        u->hi[d] = u->visible && u->hi[d] > hi[d] ? u->hi[d] : hi[d];
    }
    u->visible = true;
}

static void see_parts(Common *c, ExprId id, const int64_t *lo, const int64_t *hi)
{
    ExprId child[MAX_EXPR_CHILDREN];
    uint32_t n = tessi_expr_children(c->g, tessi_expr(c->g, id), child);
    for (uint32_t k = 0; k < n; k++)
        see(c, child[k], lo, hi);
}

/* The bodies of the pieces of a domain, and what they need. */
static void open_domain(Common *c, Domain *domain, ExprWalk *walk)
{
    static const int64_t at_point[MAX_DIMS] = { 0 };
    for (uint32_t k = 0; k < domain->bodies.n; k++) {
        const ExprList *list = tessi_expr_walk(walk, c->g, &domain->bodies.at[k], 1);
        VEC_FOREACH (const ExprId, e, list) {
            if (c->use[e->v].first.v)
                continue;
            c->use[e->v] = (Use){ .first = domain->stages.at[k] };
            VEC_PUSH(c->arena, &domain->exprs, *e);
        }
    }
    VEC_FOREACH (const ExprId, body, &domain->bodies)
        see(c, *body, at_point, at_point);
}

/* An expression with what orders it: large shapes first, then shape by shape and place by place. */
typedef struct Ranked {
    uint32_t depth;
    ExprId id;
    Instance i;
} Ranked;

static int by_rank(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? 1 : -1;
    if (x->i.shape.v != y->i.shape.v)
        return x->i.shape.v < y->i.shape.v ? -1 : 1;
    for (int d = 0; d < MAX_DIMS; d++)
        if (x->i.at[d] != y->i.at[d])
            return x->i.at[d] < y->i.at[d] ? -1 : 1;
    return x->id.v < y->id.v ? -1 : x->id.v > y->id.v;
}

/* Can be a stage: computed from data at each point, in no window. */
static bool can_stand_alone(const Common *c, ExprId id)
{
    const Expr *e = tessi_expr(c->g, id);
    const ExprDeps *deps = &c->deps[id.v];
    return e->n_args && deps->data && deps->point && deps->level < 0 && !deps->clash;
}

/* Makes a hoist of the visible ones among n expressions of one shape where they lie at several places and repeating
 * them would be work. */
static bool take_out(Common *c, uint32_t number, const Ranked *r, uint32_t n)
{
    Hoist h = { .shape = r->i.shape, .domain = number };
    uint32_t places = 0;
    const Ranked *last = NULL;
    if (!can_stand_alone(c, r->id))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        const Use *u = &c->use[r[k].id.v];
        if (!u->visible)
            continue;
        bool same = last && memcmp(last->i.at, r[k].i.at, sizeof r->i.at) == 0;
        places += !same;
        if (!h.example.v || u->first.v < h.first.v) {
            h.example = r[k].id;
            h.first = u->first;
        }
        for (int d = 0; d < MAX_DIMS; d++) {
            int64_t lo = r[k].i.at[d] + u->lo[d], hi = r[k].i.at[d] + u->hi[d];
            h.lo[d] = last && h.lo[d] < lo ? h.lo[d] : lo;
            h.hi[d] = last && h.hi[d] > hi ? h.hi[d] : hi;
        }
        last = &r[k];
    }
    for (int d = 0; d < MAX_DIMS; d++)
        if (h.hi[d] - h.lo[d] > MAX_APART)
            return false;
    if (places < 2 || c->shapes->work[h.shape.v] < MIN_WORK)
        return false;
    h.next = c->hoist_of[h.shape.v];
    c->hoist_of[h.shape.v] = c->hoists.n;
    VEC_PUSH(c->arena, &c->domains.at[number].hoists, c->hoists.n);
    VEC_PUSH(c->arena, &c->hoists, h);
    return true;
}

static void find_hoists(Common *c, uint32_t number, ExprWalk *walk)
{
    Domain *domain = &c->domains.at[number];
    open_domain(c, domain, walk);
    uint32_t n = domain->exprs.n, m;
    Ranked *r = ARENA_NEW_ARRAY(c->arena, Ranked, n);
    for (uint32_t k = 0; k < n; k++) {
        const Instance *i = &c->shapes->of[domain->exprs.at[k].v];
        r[k] = (Ranked){ c->shapes->depth[i->shape.v], domain->exprs.at[k], *i };
    }
    if (n)
        qsort(r, n, sizeof *r, by_rank);
    for (uint32_t k = 0; k < n; k += m) {
        for (m = 1; k + m < n && r[k + m].i.shape.v == r[k].i.shape.v;)
            m++;
        if (take_out(c, number, &r[k], m)) {
            const Hoist *h = &c->hoists.at[c->hoists.n - 1];
            const Instance *i = &c->shapes->of[h->example.v];
            int64_t lo[MAX_DIMS], hi[MAX_DIMS];
            for (int d = 0; d < MAX_DIMS; d++) {
                lo[d] = h->lo[d] - i->at[d];
                hi[d] = h->hi[d] - i->at[d];
            }
            see_parts(c, h->example, lo, hi);
            continue;
        }
        for (uint32_t j = k; j < k + m; j++) {
            const Use *u = &c->use[r[j].id.v];
            if (u->visible)
                see_parts(c, r[j].id, u->lo, u->hi);
        }
    }
    VEC_FOREACH (const ExprId, e, &domain->exprs)
        c->use[e->v] = (Use){ .visible = false };
}

/* ---- Copying with the stages made ------------------------------------------------------------ */

static Hoist *hoist_of(Common *c, ExprId id)
{
    uint32_t domain = c->domain_of[c->stage.v][c->piece];
    uint32_t k = c->hoist_of[c->shapes->of[id.v].shape.v];
    while (k && c->hoists.at[k].domain != domain)
        k = c->hoists.at[k].next;
    return k ? &c->hoists.at[k] : NULL;
}

/* The stage at place `at`. */
static ExprId read_at(Graph *to, const Hoist *h, const Domain *domain, const int64_t *at)
{
    int64_t far[MAX_DIMS];
    for (uint8_t d = 0; d < domain->n_dims; d++)
        far[d] = at[d] - h->lo[d];
    return tessi_expr_load_at(to, h->made, far);
}

/* Within the body of a stage being made: everything moves from the example to the first place. */
static ExprId change_inside(Rewrite *r, ExprId id, const Expr *e)
{
    Common *c = r->user;
    const Instance *i = &c->shapes->of[id.v], *from = &c->shapes->of[c->making->example.v];
    const Hoist *inner = hoist_of(c, id);
    int64_t at[MAX_DIMS];
    for (int d = 0; d < MAX_DIMS; d++)
        at[d] = i->at[d] + (i->dims & 1u << d ? c->making->lo[d] - from->at[d] : 0);
    if (inner && inner != c->making && inner->made.v)
        return read_at(r->to, inner, &c->domains.at[inner->domain], at);
    ExprId now = tessi_rewrite_rebuild(r, e);
    if (e->kind != EXPR_LOAD)
        return now;
    const AccessRules *common = &c->shapes->rule[tessi_access(c->g, e->access)->producer.v];
    Access a = *tessi_access(r->to, tessi_expr(r->to, now)->access);
    bool had_outside = a.outside.v != 0;
    tessi_shape_rules(common, &a);
    if (!had_outside && a.outside.v) {
        const Expr *outside = tessi_expr(c->g, common->outside);
        a.outside = tessi_expr_const(r->to, outside->type, outside->value);
    }
    for (uint8_t d = 0; d < a.n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        if (dim->absolute || dim->src < 0)
            continue;
        int64_t by = c->making->lo[dim->src] - from->at[dim->src];
        dim->add = tessi_size_add(r->to, dim->add, tessi_size_const(r->to, dim->scale * by));
    }
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

static void make(Common *c, Rewrite *r, Hoist *h)
{
    const Stage *near = tessi_stage(c->g, c->stage);
    const Domain *domain = &c->domains.at[h->domain];
    Graph *to = r->to;
    Stage s = { .name = tessi_sprintf(to->arena, "%s.common", near->name),
                .span = near->span,
                .kind = STAGE_COMPUTE,
                .n_dims = domain->n_dims };
    Piece piece = { .body = none };
    for (uint8_t d = 0; d < s.n_dims; d++) {
        SizeId size = tessi_rewrite_size(r, domain->count[d]);
        s.size[d] = tessi_size_add(to, size, tessi_size_const(to, h->hi[d] - h->lo[d]));
        piece.count[d] = s.size[d];
        piece.offset[d] = tessi_size_const(to, 0);
        piece.step[d] = 1;
    }
    c->making = h;
    c->inside.stage = r->stage;
    tessi_expr_map_clear(&c->inside.map);
    piece.body = tessi_rewrite_expr(&c->inside, h->example);
    s.type = tessi_expr(to, piece.body)->type;
    VEC_PUSH(to->arena, &s.pieces, piece);
    h->made = tessi_graph_stage(to, &s);
}

static void enter(void *user, const Graph *copy, const Stage *s, const Piece *p)
{
    (void)copy;
    (void)p;
    Common *c = user;
    StageId now = tessi_graph_stage_by_name(c->g, s->name);
    c->piece = now.v == c->stage.v ? c->piece + 1 : 0;
    c->stage = now;
    c->entered = true;
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Common *c = r->user;
    const Domain *domain = &c->domains.at[c->domain_of[c->stage.v][c->piece]];
    if (c->entered) {
        c->entered = false;
        if (!c->inside.to) {
            tessi_rewrite_init(&c->inside, r->from, r->to, c->arena);
            c->inside.change = change_inside;
            c->inside.user = c;
        }
        for (uint32_t k = domain->hoists.n; k-- > 0;) { /* small shapes first */
            Hoist *h = &c->hoists.at[domain->hoists.at[k]];
            if (h->first.v == c->stage.v && !h->made.v)
                make(c, r, h);
        }
    }
    const Hoist *h = hoist_of(c, id);
    return h && h->made.v ? read_at(r->to, h, domain, c->shapes->of[id.v].at)
                          : tessi_rewrite_rebuild(r, e);
}

Graph *tessi_graph_common_windows(Graph *g, Arena *a)
{
    Common c = { .g = g, .arena = a, .deps = tessi_expr_deps(g, a) };
    ExprWalk walk = { .arena = a };
    uint32_t n = g->exprs.n;
    c.shapes = tessi_shapes(g, a);
    c.hoist_of = ARENA_NEW_ARRAY(a, uint32_t, c.shapes->n + 1);
    c.use = ARENA_NEW_ARRAY(a, Use, n);
    VEC_PUSH(a, &c.hoists, (Hoist){ .domain = 0 });
    find_domains(&c);
    for (uint32_t k = 0; k < c.domains.n; k++)
        find_hoists(&c, k, &walk);
    if (c.hoists.n == 1)
        return g;
    return tessi_graph_copy(g, a, &(GraphChange){ change, enter, &c });
}
