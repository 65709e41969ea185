/* Finding shapes: each expression is described by its operator, the shapes of its parts, and where these lie
 * relative to the first. */
#include "analysis/shape.h"

#include "analysis/analysis.h"

/* ---- Border rules ---------------------------------------------------------------------------- */

static const AccessRules *common_rules(const Graph *g, Arena *a)
{
    AccessRules *all = ARENA_NEW_ARRAY(a, AccessRules, g->stages.n);
    for (uint32_t v = 0; v < g->stages.n; v++)
        all[v] = tessi_rules_none();
    for (uint32_t v = 1; v < g->accesses.n; v++) {
        const Access *read = &g->accesses.at[v];
        AccessRules *rules = &all[read->producer.v];
        tessi_rules_join(rules, read);
        rules->mixed |= read->outside.v && !tessi_expr_is_const(g, read->outside, NULL);
    }
    return all;
}

void tessi_shape_rules(const AccessRules *common, Access *a)
{
    for (uint8_t d = 0; d < a->n_dims && !common->mixed; d++) {
        if (a->dim[d].absolute || a->dim[d].rule != BORDER_INSIDE)
            continue;
        a->dim[d].rule = common->rule[d];
        if (common->rule[d] == BORDER_CONSTANT && !a->outside.v)
            a->outside = common->outside;
    }
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void set_place(Instance *i, uint8_t d, int64_t at)
{
    if (i->dims & 1u << d)
        return;
    i->dims |= (uint8_t)(1u << d);
    i->at[d] = at;
}

/* The place of a read: the distance in the first of the producer's dimensions that follows a coordinate. The read
 * that is left when all are moved there by is the shape. A computed index lies where it is. */
static ExprId move_to_origin(Shapes *s, const Expr *e, Instance *i)
{
    Graph *g = s->g;
    Access a = *tessi_access(g, e->access);
    for (uint8_t d = 0; d < a.n_dims; d++) {
        const AccessDim *dim = &a.dim[d];
        for (uint8_t k = 0; dim->absolute && k < MAX_DIMS; k++)
            set_place(i, k, 0);
        if (dim->absolute || dim->src < 0)
            continue;
        const Size *add = tessi_size(g, dim->add);
        bool moves = dim->scale > 0 && add->kind == SIZE_OF_AFFINE;
        set_place(i, (uint8_t)dim->src, moves ? tessi_floordiv(add->constant, dim->scale) : 0);
    }
    tessi_shape_rules(&s->rule[a.producer.v], &a);
    for (uint8_t d = 0; d < a.n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        if (!dim->absolute && dim->src >= 0)
            dim->add = tessi_size_sub(g, dim->add,
                                      tessi_size_const(g, dim->scale * i->at[(uint8_t)dim->src]));
    }
    return tessi_expr_load(g, tessi_graph_access(g, &a));
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* An operator on shapes; of a leaf: the expression at the origin. */
typedef struct ShapeKey {
    Expr e; /* without arguments */
    ExprId leaf;
    ShapeId part[3];
    int64_t from_whole[3][MAX_DIMS]; /* where the parts lie */
} ShapeKey;

typedef struct Finder {
    Shapes *shapes;
    Arena *arena;
    IdMap map;
    VEC(ShapeKey) keys; /* by ShapeId; at[0] unused */
    const ShapeKey *wanted;
} Finder;

static bool same_shape(void *user, uint32_t id)
{
    const Finder *f = user;
    const ShapeKey *a = &f->keys.at[id], *b = f->wanted;
    if (a->leaf.v != b->leaf.v || a->e.kind != b->e.kind || a->e.type != b->e.type
        || a->e.op != b->e.op || a->e.reduction != b->e.reduction || a->e.fused != b->e.fused
        || a->e.n_args != b->e.n_args || a->e.window.v != b->e.window.v
        || a->e.table.v != b->e.table.v)
        return false;
    for (uint32_t k = 0; k < a->e.n_args; k++) {
        if (a->part[k].v != b->part[k].v)
            return false;
        for (uint32_t d = 0; d < MAX_DIMS; d++)
            if (a->from_whole[k][d] != b->from_whole[k][d])
                return false;
    }
    return true;
}

static uint64_t hash_of(const ShapeKey *key)
{
    const Expr *e = &key->e;
    uint64_t h = tessi_hash_u64((uint64_t)e->kind << 32 | (uint64_t)e->op, key->leaf.v);
    h = tessi_hash_u64(h, (uint64_t)e->type << 32 | e->window.v);
    h = tessi_hash_u64(h, (uint64_t)e->reduction << 32 | e->table.v);
    for (uint32_t k = 0; k < e->n_args; k++) {
        h = tessi_hash_u64(h, key->part[k].v);
        for (uint32_t d = 0; d < MAX_DIMS; d++)
            h = tessi_hash_u64(h, (uint64_t)key->from_whole[k][d]);
    }
    return h;
}

static ShapeId find(Finder *f, const ShapeKey *key)
{
    uint64_t h = hash_of(key);
    f->wanted = key;
    uint32_t id = tessi_idmap_find(&f->map, h, same_shape, f);
    if (!id) {
        id = f->keys.n;
        VEC_PUSH(f->arena, &f->keys, *key);
        tessi_idmap_add(f->arena, &f->map, h, id);
    }
    return (ShapeId){ id };
}

static double own_work(const Graph *g, const Expr *e)
{
    static const double cost[N_OP_CLASSES] = { [OPC_SIMPLE] = 1, [OPC_MUL] = 1,  [OPC_FMA] = 1,
                                               [OPC_DIV] = 4,    [OPC_SQRT] = 4, [OPC_MATH] = 12 };
    if (e->kind == EXPR_WINDOW)
        return (double)tessi_window_points(tessi_window(g, e->window));
    return e->kind == EXPR_OP ? cost[tessi_op_class(e->op)] : e->n_args ? 1 : 0;
}

/* More than that of its parts, computed indices among them. */
static uint32_t depth_of(const Shapes *s, const Expr *e)
{
    const Access *a = tessi_access(s->g, e->access);
    uint32_t n = e->kind == EXPR_LOAD ? a->n_dims : e->n_args, depth = 0;
    for (uint32_t k = 0; k < n; k++) {
        ExprId part = e->kind == EXPR_LOAD ? a->dim[k].index : e->arg[k];
        uint32_t least = part.v ? s->depth[s->of[part.v].shape.v] + 1 : 0;
        depth = least > depth ? least : depth;
    }
    return depth;
}

static void find_instance(Finder *f, ExprId id)
{
    Shapes *s = f->shapes;
    const Expr e = *tessi_expr(s->g, id);
    Instance *i = &s->of[id.v];
    ShapeKey key = { .leaf = id };
    if (e.kind == EXPR_LOAD) {
        key.leaf = move_to_origin(s, &e, i);
    } else if (e.kind == EXPR_INDEX) {
        set_place(i, (uint8_t)e.ref, 0);
    } else if (e.n_args) {
        key = (ShapeKey){ .e = e };
        for (uint32_t k = 0; k < e.n_args; k++)
            for (uint8_t d = 0; d < MAX_DIMS; d++)
                if (s->of[e.arg[k].v].dims & 1u << d)
                    set_place(i, d, s->of[e.arg[k].v].at[d]);
        for (uint32_t k = 0; k < e.n_args; k++) {
            const Instance *part = &s->of[e.arg[k].v];
            key.part[k] = part->shape;
            for (uint8_t d = 0; d < MAX_DIMS; d++)
                key.from_whole[k][d] = part->dims & 1u << d ? part->at[d] - i->at[d] : 0;
        }
    }
    i->shape = find(f, &key);
}

Shapes *tessi_shapes(Graph *g, Arena *a)
{
    uint32_t n = g->exprs.n;
    Shapes *s = ARENA_NEW(a, Shapes);
    *s = (Shapes){ .g = g, .rule = common_rules(g, a), .of = ARENA_NEW_ARRAY(a, Instance, n) };
    s->depth = ARENA_NEW_ARRAY(a, uint32_t, n); /* no more shapes than expressions */
    s->work = ARENA_NEW_ARRAY(a, double, n);
    Finder f = { .shapes = s, .arena = a };
    VEC_PUSH(a, &f.keys, (ShapeKey){ .leaf = { 0 } });
    for (uint32_t v = 1; v < n; v++) {
        find_instance(&f, (ExprId){ v });
        const Expr *e = tessi_expr(g, (ExprId){ v });
        uint32_t shape = s->of[v].shape.v;
        double work = own_work(g, e);
        for (uint32_t k = 0; k < e->n_args; k++)
            work += s->work[s->of[e->arg[k].v].shape.v];
        s->depth[shape] = depth_of(s, e);
        s->work[shape] = work;
    }
    s->n = f.keys.n - 1;
    return s;
}
