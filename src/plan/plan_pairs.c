/* Bytes that are computed in 16 bits: a step had better take two vectors, one of the even and one of the odd bytes, which printers take
 * apart and put together without moving a byte to another lane. */
#include "plan/plan_base.h"

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

static void add_once(Arena *a, StageList *list, StageId id)
{
    VEC_FOREACH (const StageId, known, list)
        if (known->v == id.v)
            return;
    VEC_PUSH(a, list, id);
}

bool tessi_plan_in_pairs(const PlanFacts *f, const Plan *p, const StageList *stages)
{
    const Graph *g = f->g;
    StageList reached = { 0 }, read = { 0 };
    bool halves = false;
    VEC_FOREACH (const StageId, s, stages) {
        if (!is_byte(tessi_stage(g, *s)->type))
            return false;
        add_once(f->arena, &reached, *s);
        tessi_plan_stored_reads(f, p, *s, &read);
        VEC_FOREACH (const StageId, id, &read)
            if (!is_byte(tessi_stage(g, *id)->type))
                return false;
    }
    for (uint32_t i = 0; i < reached.n; i++) {
        if (!tessi_stage_is_plain(g, tessi_stage(g, reached.at[i]))
            || !fits(f, reached.at[i], &halves))
            return false;
        VEC_FOREACH (const PlanRead, r, &f->reads[reached.at[i].v])
            if (tessi_plan_is_inline(p, r->producer) && tessi_plan_computes(f, r->producer))
                add_once(f->arena, &reached, r->producer);
    }
    return halves;
}
