/* One point: its expressions in order of ids, which computes every shared part once. The expressions that depend on
 * a window's variables are evaluated for each point of that window. */
#include "graph/graph_eval.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph_fold.h"
#include "tessera.h"

/* ---- Regions --------------------------------------------------------------------------------- */
static Region copy_region(Arena *a, const ExprList *list)
{
    ExprId *at = ARENA_NEW_ARRAY(a, ExprId, list->n);
    if (list->n)
        memcpy(at, list->at, list->n * sizeof *at);
    return (Region){ at, list->n };
}

static bool stands_in(const ExprDeps *inner, const ExprDeps *outer)
{
    for (uint32_t k = 0; k < MAX_WINDOW_LEVELS; k++)
        if (inner->window[k].v && inner->window[k].v != outer->window[k].v)
            return false;
    return true;
}

Region tessi_point_region(const PointEval *p, Arena *a, ExprWalk *walk, ExprId root)
{
    ExprList mine = { 0 };
    const ExprList *all = tessi_expr_walk(walk, p->g, &root, 1);
    VEC_FOREACH (const ExprId, id, all) {
        if (stands_in(&p->deps[id->v], &p->deps[root.v]))
            VEC_PUSH(a, &mine, *id);
    }
    return copy_region(a, &mine);
}

/* What the last n arguments need. */
static Region window_region(const PointEval *p, Arena *a, ExprWalk *walk, uint32_t id, uint32_t n)
{
    const Expr *e = &p->g->exprs.at[id];
    ExprList mine = { 0 };
    const ExprList *all = tessi_expr_walk(walk, p->g, e->arg + e->n_args - n, n);
    VEC_FOREACH (const ExprId, inner, all) {
        if (tessi_expr_belongs(p->g, &p->deps[inner->v], e, &p->deps[id]))
            VEC_PUSH(a, &mine, *inner);
    }
    return copy_region(a, &mine);
}

void tessi_point_init(PointEval *p, const Graph *g, Arena *a)
{
    ExprWalk walk = { .arena = a };
    Region *body = ARENA_NEW_ARRAY(a, Region, g->exprs.n);
    Region *where = ARENA_NEW_ARRAY(a, Region, g->exprs.n);
    int64_t most[MAX_WINDOW_LEVELS] = { 0 };
    *p = (PointEval){ .g = g, .deps = tessi_expr_deps(g, a) };
    for (uint32_t id = 1; id < p->g->exprs.n; id++) {
        const Expr *e = &p->g->exprs.at[id];
        if (e->kind != EXPR_WINDOW)
            continue;
        body[id] = window_region(p, a, &walk, id, e->n_args);
        if (e->n_args > 1)
            where[id] = window_region(p, a, &walk, id, 1);
        const Window *w = tessi_window(p->g, e->window);
        int64_t points = tessi_window_points(w);
        if (e->reduction == REDUCE_MEDIAN && points > most[w->level])
            most[w->level] = points;
    }
    p->body = body;
    p->where = where;
    p->value = ARENA_NEW_ARRAY(a, Value, p->g->exprs.n);
    for (int level = 0; level < MAX_WINDOW_LEVELS; level++)
        p->sorted[level] = ARENA_NEW_ARRAY(a, Value, (size_t)most[level]);
}

/* ---- Windows --------------------------------------------------------------------------------- */
static Value step(const PointEval *p, const Expr *e, Value acc)
{
    const Expr *body = tessi_expr(p->g, e->arg[0]);
    if (e->fused) {
        Value xyz[3] = { p->value[body->arg[0].v], p->value[body->arg[1].v], acc };
        return tessi_eval(OP_FMA, e->type, xyz);
    }
    Value args[2] = { acc, p->value[e->arg[0].v] };
    return tessi_eval(tessi_reduction_op(e->reduction), e->type, args);
}

static int by_total_order(const void *a, const void *b)
{
    return tessi_value_compare(TYPE_F64, *(const Value *)a, *(const Value *)b);
}

static int by_integer(const void *a, const void *b)
{
    return tessi_value_compare(TYPE_I64, *(const Value *)a, *(const Value *)b);
}

static int by_unsigned(const void *a, const void *b)
{
    return tessi_value_compare(TYPE_U64, *(const Value *)a, *(const Value *)b);
}

static bool eval_window(PointEval *p, uint32_t id, Value *result)
{
    const Expr *e = &p->g->exprs.at[id];
    const Window *w = tessi_window(p->g, e->window);
    const Region *body = &p->body[id];
    const ExprDeps *where = e->n_args > 1 ? &p->deps[e->arg[1].v] : NULL;
    bool varies = where && (where->data || where->point);
    int32_t *var = p->window[w->level];
    Value *sorted = p->sorted[w->level]; /* a median may stand inside another one */
    uint32_t n = 0;
    Value acc = tessi_reduction_identity(e->reduction, e->type);
    memcpy(var, w->lo, sizeof w->lo);
    do {
        /* Reads where the condition does not hold may be of anywhere. */
        if (where && !tessi_point_eval(p, &p->where[id]))
            return false;
        if (where && !p->value[e->arg[1].v].i)
            continue;
        if (!tessi_point_eval(p, body))
            return false;
        if (e->reduction == REDUCE_MEDIAN)
            sorted[n] = p->value[e->arg[0].v];
        else if (n == 0 && !varies)
            acc = p->value[e->arg[0].v];
        else
            acc = step(p, e, acc);
        n++;
    } while (tessi_window_step(w, var));
    if (e->reduction == REDUCE_MEDIAN && n) {
        qsort(sorted, n, sizeof(Value),
              tessi_is_real(e->type) ? by_total_order
              : e->type == TYPE_U64  ? by_unsigned
                                     : by_integer);
        acc = sorted[n / 2];
    }
    *result = acc;
    return true;
}

/* ---- Points ---------------------------------------------------------------------------------- */
static bool eval_table(PointEval *p, const Expr *e, Value *v)
{
    const Table *t = tessi_table(p->g, e->table);
    int64_t i = p->value[e->arg[0].v].i;
    if (i < 0 || i >= t->n)
        return tessi_failf(p->failure, TESS_ERROR_INTERNAL,
                           "element %lld of table '%s' is asked for, which has %u", (long long)i,
                           t->name, (unsigned)t->n);
    *v = t->at[i];
    return true;
}

static Value eval_op(const PointEval *p, const Expr *e)
{
    Value args[3];
    for (uint32_t k = 0; k < e->n_args; k++)
        args[k] = p->value[e->arg[k].v];
    ScalarType t = tessi_expr(p->g, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    return tessi_eval(e->op, t, args);
}

static bool eval_expr(PointEval *p, uint32_t id)
{
    const Expr *e = &p->g->exprs.at[id];
    Value *v = &p->value[id];
    const ScalarType from = tessi_expr(p->g, e->arg[0])->type;
    switch (e->kind) {
    case EXPR_CONST: *v = e->value; break;
    case EXPR_OP: *v = eval_op(p, e); break;
    case EXPR_CAST: *v = tessi_eval_cast(e->type, from, p->value[e->arg[0].v]); break;
    case EXPR_SAT: *v = tessi_eval_sat(e->type, from, p->value[e->arg[0].v]); break;
    case EXPR_LOAD: return p->load(p, tessi_access(p->g, e->access), v);
    case EXPR_SCALAR: *v = p->scalars[e->ref]; break;
    case EXPR_INDEX: v->i = (int32_t)p->x[e->ref]; break;
    case EXPR_SIZE:
        *v = tessi_eval_cast(TYPE_I32, TYPE_I64, tessi_value_int(p->size_value[e->size.v]));
        break;
    case EXPR_WINVAR: v->i = p->window[tessi_window(p->g, e->window)->level][e->ref]; break;
    case EXPR_STATE: *v = p->state[e->ref]; break;
    case EXPR_TABLE: return eval_table(p, e, v);
    case EXPR_WINDOW: return eval_window(p, id, v);
    }
    return true;
}

bool tessi_point_eval(PointEval *p, const Region *region)
{
    for (uint32_t k = 0; k < region->n; k++)
        if (!eval_expr(p, region->at[k].v))
            return false;
    return true;
}
