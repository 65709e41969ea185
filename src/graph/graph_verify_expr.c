/* The verifier's part about expressions: ids, types, windows. */
#include "graph/graph_fold.h"
#include "graph/graph_verify.h"

static bool bad(Verify *v, uint32_t id, const char *what)
{
    return tessi_verify_fail(v, "expression %u: %s", (unsigned)id, what);
}

/* Arguments stand before their users; accesses refer to expressions and stages that exist. */
static bool verify_ids(Verify *v, uint32_t id)
{
    const Graph *g = v->g;
    const Expr *e = &g->exprs.at[id];
    if ((unsigned)e->type >= TYPE_INDEX || e->type == TYPE_F16)
        return bad(v, id, "no value has this type");
    if (e->n_args > 3)
        return bad(v, id, "too many arguments");
    if (e->kind == EXPR_LOAD && (!e->access.v || e->access.v >= g->accesses.n))
        return bad(v, id, "a read without an access");
    for (uint32_t k = 0; k < e->n_args; k++)
        if (!e->arg[k].v || e->arg[k].v >= id)
            return bad(v, id, "an argument is missing or comes later");
    ExprId child[MAX_EXPR_CHILDREN];
    uint32_t n = tessi_expr_children(g, e, child);
    for (uint32_t k = 0; k < n; k++)
        if (child[k].v >= id)
            return bad(v, id, "a part comes later");
    return true;
}

static bool const_is_in_type(const Expr *e)
{
    if (e->type == TYPE_F64)
        return true;
    if (e->type == TYPE_F32)
        return tessi_value_same(e->type, e->value, tessi_eval_cast(TYPE_F32, TYPE_F64, e->value));
    Interval range = tessi_type_range(e->type);
    return range.lo <= e->value.i && e->value.i <= range.hi;
}

static bool reduction_takes(Reduction r, ScalarType t)
{
    switch (r) {
    case REDUCE_SUM:
    case REDUCE_PROD: return t != TYPE_BOOL;
    case REDUCE_ANY:
    case REDUCE_ALL: return t == TYPE_BOOL;
    case REDUCE_MIN:
    case REDUCE_MAX:
    case REDUCE_MEDIAN: return true;
    default: return false;
    }
}

static bool verify_window(Verify *v, uint32_t id)
{
    const Graph *g = v->g;
    const Expr *e = &g->exprs.at[id];
    const Expr *body = tessi_expr(g, e->arg[0]);
    if (!e->window.v || e->window.v >= g->windows.n || e->n_args < 1 || e->n_args > 2)
        return bad(v, id, "a reduction over no window");
    if (body->type != e->type || !reduction_takes(e->reduction, e->type))
        return bad(v, id, "a reduction of values of the wrong type");
    if (e->n_args == 2 && tessi_expr(g, e->arg[1])->type != TYPE_BOOL)
        return bad(v, id, "the condition of a window is not bool");
    if (e->fused
        && (e->reduction != REDUCE_SUM || body->kind != EXPR_OP || body->op != OP_MUL
            || !tessi_is_real(e->type)))
        return bad(v, id, "a fused sum is not a sum of products of reals");
    if (e->ref > g->requests.n || (e->ref && e->reduction != REDUCE_SUM))
        return bad(v, id, "a method for what is no sum");
    int level = tessi_window(g, e->window)->level;
    for (uint32_t k = 0; k < e->n_args; k++) {
        const ExprDeps *d = &v->deps[e->arg[k].v];
        for (int inner = level + 1; inner < MAX_WINDOW_LEVELS; inner++)
            if (d->window[inner].v)
                return bad(v, id, "a window uses variables of a deeper one");
    }
    if (e->n_args == 2 && e->reduction == REDUCE_MEDIAN) {
        const ExprDeps *where = &v->deps[e->arg[1].v];
        if (where->data || where->point)
            return bad(v, id, "the condition of a median depends on more than window variables");
    }
    return true;
}

static bool verify_load(Verify *v, uint32_t id)
{
    const Graph *g = v->g;
    const Expr *e = &g->exprs.at[id];
    const Access *a = tessi_access(g, e->access);
    if (e->type != tessi_value_type(tessi_stage(g, a->producer)->type))
        return bad(v, id, "a read has another type than what it reads");
    if (a->outside.v && (v->deps[a->outside.v].point || v->deps[a->outside.v].level >= 0))
        return bad(v, id, "the value outside an image varies from point to point");
    return true;
}

static bool verify_kind(Verify *v, uint32_t id)
{
    const Graph *g = v->g;
    const Expr *e = &g->exprs.at[id];
    switch (e->kind) {
    case EXPR_CONST: return const_is_in_type(e) || bad(v, id, "a constant is not of its type");
    case EXPR_OP: {
        if ((unsigned)e->op >= N_OPS || !tessi_op_well_typed(g, e))
            return bad(v, id, "an operator on values of the wrong type");
        ScalarType operand = tessi_expr(g, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
        return e->type == tessi_op_result(e->op, operand)
               || bad(v, id, "an operator with the wrong type of result");
    }
    case EXPR_CAST:
    case EXPR_SAT: return e->n_args == 1 || bad(v, id, "a conversion of nothing");
    case EXPR_LOAD: return verify_load(v, id);
    case EXPR_SCALAR:
        return (e->ref < g->scalars.n && e->type == tessi_value_type(g->scalars.at[e->ref].type))
               || bad(v, id, "no such input scalar");
    case EXPR_INDEX:
        return (e->ref < MAX_DIMS && e->type == TYPE_I32) || bad(v, id, "no such coordinate");
    case EXPR_STATE: return e->ref <= MAX_SCAN_STATES || bad(v, id, "no such state of a scan");
    case EXPR_SIZE:
        return e->type == TYPE_I32 ? tessi_verify_size(v, e->size, "an expression")
                                   : bad(v, id, "a size that is not int32");
    case EXPR_WINVAR:
        return (e->window.v && e->window.v < g->windows.n && e->type == TYPE_I32
                && e->ref < tessi_window(g, e->window)->n_vars)
               || bad(v, id, "no such window variable");
    case EXPR_TABLE: {
        bool sound = e->table.v && e->table.v < g->tables.n && e->n_args == 1
                     && e->type == tessi_table(g, e->table)->type
                     && tessi_expr(g, e->arg[0])->type == TYPE_I32;
        return sound || bad(v, id, "an element of no table");
    }
    case EXPR_WINDOW: return verify_window(v, id);
    }
    return bad(v, id, "an expression of no kind");
}

bool tessi_verify_exprs(Verify *v)
{
    for (uint32_t id = 1; id < v->g->exprs.n; id++)
        if (!verify_ids(v, id))
            return false;
    v->deps = tessi_expr_deps(v->g, v->walk.arena);
    for (uint32_t id = 1; id < v->g->exprs.n; id++)
        if (!verify_kind(v, id))
            return false;
    return true;
}
