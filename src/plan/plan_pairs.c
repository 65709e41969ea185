/* Bytes that are computed in 16 bits: a step had better take two vectors, one of the even and one of the odd bytes,
 * which printers take apart and put together without moving a byte to another lane. */
#include "plan/needs.h"

static bool is_byte(ScalarType t)
{
    return t == TYPE_U8 || t == TYPE_I8;
}

static bool is_half(ScalarType t)
{
    return t == TYPE_U16 || t == TYPE_I16;
}

/* Loads bytes, computes in 16 bits. */
static bool fits(const PlanFacts *f, StageId id, bool *halves)
{
    const Graph *g = f->g;
    const ExprList *list = tessi_expr_walk(f->walk, g, &tessi_stage(g, id)->pieces.at[0].body, 1);
    VEC_FOREACH (const ExprId, at, list) {
        const Expr *e = tessi_expr(g, *at);
        const bool known = e->kind == EXPR_CONST || e->kind == EXPR_SCALAR;
        *halves = *halves || is_half(e->type);
        if (e->kind == EXPR_WINDOW)
            return false;
        if (!known && e->type != TYPE_BOOL && !is_byte(e->type) && !is_half(e->type))
            return false;
    }
    return true;
}

bool tessi_plan_in_pairs(const PlanFacts *f, const Plan *p, const StageList *stages)
{
    const Graph *g = f->g;
    Needs needs = { 0 };
    bool halves = false;
    VEC_FOREACH (const StageId, s, stages)
        if (!is_byte(tessi_stage(g, *s)->type))
            return false;
    tessi_needs(f, f->arena, p, stages->at, stages->n, &needs);
    VEC_FOREACH (const Need, need, &needs.at) {
        const Stage *s = tessi_stage(g, need->stage);
        if (need->computed ? !tessi_stage_is_plain(g, s) || !fits(f, need->stage, &halves)
                           : !is_byte(s->type))
            return false;
    }
    return halves;
}
