/* What is known when compiling although it does not fold: weights such as exp(-(i*i + j*j) / 8) inside a window
 * become tables, and reductions over nothing but constants become constants. Computed by the same code that runs
 * programs, so no bit changes. */
#include "graph/graph_eval.h"
#include "graph/graph_passes.h"

enum { MAX_STEPS = 20000000, MAX_TABLE_VARS = MAX_DIMS };

typedef struct Constants {
    Graph *g;
    PointEval eval;
    uint64_t *cost; /* by expression: steps to evaluate it once, windows included; saturates */
    bool *has_arithmetic; /* by expression: operators on reals stand in it */
    ExprWalk walk;
    uint64_t steps; /* taken so far: compile time is bounded */
} Constants;

static bool is_known(const Constants *c, ExprId id)
{
    const ExprDeps *d = &c->eval.deps[id.v];
    return !d->data && !d->point && !d->clash;
}

static bool becomes_table(const Constants *c, ExprId id)
{
    return is_known(c, id) && c->eval.deps[id.v].level >= 0 && c->has_arithmetic[id.v];
}

static uint64_t add_cost(uint64_t a, uint64_t b)
{
    return a + b > MAX_STEPS ? MAX_STEPS + 1 : a + b;
}

static void measure(Constants *c)
{
    const Graph *g = c->g;
    for (uint32_t id = 1; id < g->exprs.n; id++) {
        const Expr *e = &g->exprs.at[id];
        ExprId child[MAX_EXPR_CHILDREN];
        uint32_t n = tessi_expr_children(g, e, child);
        c->has_arithmetic[id] = e->kind == EXPR_OP && tessi_is_real(e->type) && e->op != OP_NEG;
        for (uint32_t k = 0; k < n; k++)
            c->has_arithmetic[id] |= c->has_arithmetic[child[k].v];
        c->cost[id] = 1;
        if (e->kind != EXPR_WINDOW)
            continue;
        int64_t n_points = tessi_window_points(tessi_window(g, e->window));
        uint64_t points = n_points < 0 ? MAX_STEPS : (uint64_t)n_points, once = 1;
        for (uint32_t k = 0; k < c->eval.body[id].n; k++)
            once = add_cost(once, c->cost[c->eval.body[id].at[k].v]);
        c->cost[id] = once > MAX_STEPS / (points + 1) ? MAX_STEPS + 1 : points * once;
    }
}

/* Whether evaluating the region so many times is still affordable; counts it when it is. */
static bool may_evaluate(Constants *c, const Region *region, uint64_t times)
{
    uint64_t once = 1;
    for (uint32_t k = 0; k < region->n; k++)
        once = add_cost(once, c->cost[region->at[k].v]);
    if (once > MAX_STEPS / times || c->steps + once * times > MAX_STEPS)
        return false;
    c->steps += once * times;
    return true;
}

/* ---- Tables ---------------------------------------------------------------------------------- */
/* The window variables that an expression uses, outermost first. */
typedef struct TableVars {
    uint32_t n;
    WindowId window[MAX_TABLE_VARS];
    uint32_t var[MAX_TABLE_VARS];
    int32_t lo[MAX_TABLE_VARS], hi[MAX_TABLE_VARS];
} TableVars;

static bool uses_winvar(Constants *c, const Region *region, WindowId w, uint32_t var)
{
    for (uint32_t k = 0; k < region->n; k++) {
        const Expr *e = tessi_expr(c->g, region->at[k]);
        if (e->kind == EXPR_WINVAR && e->window.v == w.v && e->ref == var)
            return true;
        if (e->kind != EXPR_WINDOW)
            continue;
        const ExprList *inner = tessi_expr_walk(&c->walk, c->g, e->arg, e->n_args);
        VEC_FOREACH (const ExprId, it, inner) {
            const Expr *i = tessi_expr(c->g, *it);
            if (i->kind == EXPR_WINVAR && i->window.v == w.v && i->ref == var)
                return true;
        }
    }
    return false;
}

static bool find_vars(Constants *c, ExprId id, const Region *region, TableVars *vars)
{
    const ExprDeps *d = &c->eval.deps[id.v];
    uint64_t n = 1;
    vars->n = 0;
    for (uint32_t level = 0; level < MAX_WINDOW_LEVELS; level++) {
        const Window *w = tessi_window(c->g, d->window[level]);
        for (uint32_t var = 0; d->window[level].v && var < w->n_vars; var++) {
            if (!uses_winvar(c, region, d->window[level], var))
                continue;
            uint64_t extent = (uint64_t)((int64_t)w->hi[var] - w->lo[var] + 1);
            if (vars->n == MAX_TABLE_VARS || extent > TABLE_ELEMENTS || n * extent > TABLE_ELEMENTS)
                return false;
            n *= extent;
            vars->window[vars->n] = d->window[level];
            vars->var[vars->n] = var;
            vars->lo[vars->n] = w->lo[var];
            vars->hi[vars->n++] = w->hi[var];
        }
    }
    return vars->n > 0;
}

/* ((i - lo_i) * extent_j + (j - lo_j)) .. */
static ExprId flat_index(Graph *g, const TableVars *vars)
{
    const ExprId none = { 0 };
    ExprId flat = tessi_expr_int(g, TYPE_I32, 0);
    for (uint32_t k = 0; k < vars->n; k++) {
        ExprId extent = tessi_expr_int(g, TYPE_I32, vars->hi[k] - vars->lo[k] + 1);
        ExprId lo = tessi_expr_int(g, TYPE_I32, vars->lo[k]);
        ExprId var = tessi_expr_winvar(g, vars->window[k], vars->var[k]);
        ExprId from_zero = tessi_expr_op(g, OP_SUB, var, lo, none);
        flat = tessi_expr_op(g, OP_MUL, flat, extent, none);
        flat = tessi_expr_op(g, OP_ADD, flat, from_zero, none);
    }
    return flat;
}

/* The table of `id` over the variables it uses, or none. */
static ExprId make_table(Constants *c, ExprId id)
{
    Graph *g = c->g;
    TableVars vars;
    Region region = tessi_point_region(&c->eval, g->arena, &c->walk, id);
    if (!find_vars(c, id, &region, &vars))
        return (ExprId){ 0 };
    Table t = {
        .name = "weights", .type = tessi_expr(g, id)->type, .n = 1, .n_dims = (uint8_t)vars.n
    };
    for (uint32_t k = 0; k < vars.n; k++) {
        t.dim[k] = (uint32_t)(vars.hi[k] - vars.lo[k] + 1);
        t.n *= t.dim[k];
    }
    if (!may_evaluate(c, &region, t.n))
        return (ExprId){ 0 };
    t.at = ARENA_NEW_ARRAY(g->arena, Value, t.n);
    for (uint32_t flat = 0; flat < t.n; flat++) {
        uint32_t rest = flat;
        for (uint32_t k = vars.n; k-- > 0; rest /= t.dim[k]) {
            uint32_t level = tessi_window(g, vars.window[k])->level;
            c->eval.window[level][vars.var[k]] = vars.lo[k] + (int32_t)(rest % t.dim[k]);
        }
        if (!tessi_point_eval(&c->eval, &region))
            return (ExprId){ 0 };
        t.at[flat] = c->eval.value[id.v];
    }
    return tessi_expr_table(g, tessi_graph_table(g, &t), flat_index(g, &vars));
}

/* ---- The pass -------------------------------------------------------------------------------- */
static ExprId reduce_to_constant(Constants *c, ExprId id)
{
    Region region = tessi_point_region(&c->eval, c->g->arena, &c->walk, id);
    if (!may_evaluate(c, &region, 1) || !tessi_point_eval(&c->eval, &region))
        return (ExprId){ 0 };
    return tessi_expr_const(c->g, tessi_expr(c->g, id)->type, c->eval.value[id.v]);
}

/* Only the largest known expressions become tables: those that something unknown uses. */
static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Constants *c = r->user;
    if (becomes_table(c, id))
        return id;
    ExprId child[MAX_EXPR_CHILDREN];
    uint32_t n = tessi_expr_children(r->from, e, child);
    bool is_closed = e->kind == EXPR_WINDOW && is_known(c, id) && c->eval.deps[id.v].level < 0;
    ExprId constant = is_closed ? reduce_to_constant(c, id) : (ExprId){ 0 };
    if (constant.v)
        return constant;
    for (uint32_t k = 0; k < n && !e->fused; k++) { /* a fused sum keeps its product */
        bool is_new = tessi_expr_map_get(&r->map, child[k]).v == child[k].v;
        ExprId table =
            is_new && becomes_table(c, child[k]) ? make_table(c, child[k]) : (ExprId){ 0 };
        if (table.v)
            tessi_expr_map_set(&r->map, child[k], table);
    }
    return tessi_rewrite_rebuild(r, e);
}

void tessi_pass_constants(Graph *g)
{
    Constants c = { .g = g, .walk = { .arena = g->arena } };
    Rewrite r;
    tessi_point_init(&c.eval, g, g->arena);
    c.cost = ARENA_NEW_ARRAY(g->arena, uint64_t, g->exprs.n);
    c.has_arithmetic = ARENA_NEW_ARRAY(g->arena, bool, g->exprs.n);
    measure(&c);
    tessi_rewrite_init(&r, g, g, g->arena);
    r.change = change;
    r.user = &c;
    tessi_rewrite_bodies(g, &r);
}
