/* Evaluation of constant expressions under given window variables, by the one definition of the operators. */
#include "analysis/const_eval.h"

static uint32_t place_of(const ConstEval *c, ExprId id)
{
    uint32_t lo = 0, hi = c->n;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->expr[mid].v <= id.v)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static bool is_possible(const Expr *e, WindowId window)
{
    switch (e->kind) {
    case EXPR_CONST:
    case EXPR_OP:
    case EXPR_CAST:
    case EXPR_SAT:
    case EXPR_TABLE: return true;
    case EXPR_WINVAR: return e->window.v == window.v;
    default: return false;
    }
}

void tessi_const_eval_init(ConstEval *c, const Graph *g, Arena *a, ExprWalk *walk, ExprId root,
                           WindowId window)
{
    const ExprList *list = tessi_expr_walk(walk, g, &root, 1);
    *c = (ConstEval){ .g = g, .window = window, .possible = true, .n = list->n };
    for (uint32_t i = 0; i < list->n; i++)
        c->possible = c->possible && is_possible(tessi_expr(g, list->at[i]), window);
    if (!c->possible)
        return;
    c->expr = ARENA_NEW_ARRAY(a, ExprId, c->n);
    c->arg = tessi_alloc_array(a, c->n, sizeof *c->arg);
    c->value = ARENA_NEW_ARRAY(a, Value, c->n);
    for (uint32_t i = 0; i < c->n; i++)
        c->expr[i] = list->at[i];
    for (uint32_t i = 0; i < c->n; i++) {
        const Expr *e = tessi_expr(g, c->expr[i]);
        for (uint32_t k = 0; k < e->n_args; k++)
            c->arg[i][k] = place_of(c, e->arg[k]);
    }
}

static bool eval_one(const ConstEval *c, uint32_t at, const int32_t *var, Value *out)
{
    const Expr *e = tessi_expr(c->g, c->expr[at]);
    ScalarType from = tessi_expr(c->g, e->arg[e->kind == EXPR_OP && e->op == OP_SELECT])->type;
    Value arg[3];
    for (uint32_t k = 0; k < e->n_args; k++)
        arg[k] = c->value[c->arg[at][k]];
    switch (e->kind) {
    case EXPR_CONST: *out = e->value; return true;
    case EXPR_OP: *out = tessi_eval(e->op, from, arg); return true;
    case EXPR_CAST: *out = tessi_eval_cast(e->type, from, arg[0]); return true;
    case EXPR_SAT: *out = tessi_eval_sat(e->type, from, arg[0]); return true;
    case EXPR_WINVAR: *out = tessi_value_int(var[e->ref]); return true;
    case EXPR_TABLE: {
        const Table *t = tessi_table(c->g, e->table);
        if (arg[0].i < 0 || arg[0].i >= t->n)
            return false;
        *out = t->at[arg[0].i];
        return true;
    }
    default: return false;
    }
}

bool tessi_const_eval(ConstEval *c, const int32_t *var, Value *out)
{
    if (!c->possible)
        return false;
    for (uint32_t i = 0; i < c->n; i++)
        if (!eval_one(c, i, var, &c->value[i]))
            return false;
    *out = c->value[c->n - 1];
    return true;
}
