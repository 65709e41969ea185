/* The order in which functions are executed: repeats, turn after turn. */
#include "loop/loop_repeat.h"

static Value value_of(const LoopProgram *p, LExprId id, const int64_t *params, const Value *scalars)
{
    const LExpr *e = tessi_lexpr(p, id);
    Value args[3] = { { 0 } };
    for (int i = 0; i < e->n_args && i < 3; i++)
        args[i] = value_of(p, e->arg[i], params, scalars);
    switch (e->kind) {
    case LEXPR_CONST: return e->value;
    case LEXPR_PARAM: return tessi_value_int(params[e->ref]);
    case LEXPR_SCALAR: return scalars[e->ref];
    case LEXPR_CAST: return tessi_eval_cast(e->type, tessi_lexpr(p, e->arg[0])->type, args[0]);
    default: return tessi_eval(e->op, e->type, args);
    }
}

LTurns tessi_loop_turns(const LoopProgram *p, const LRepeat *r, const int64_t *params,
                        const Value *scalars)
{
    const int64_t n = value_of(p, r->turns, params, scalars).i;
    const int64_t behind = r->behind.v ? value_of(p, r->behind, params, scalars).i : 0;
    return (LTurns){ n > 0 ? n : 0, behind > 0 ? behind : 0 };
}

LoopOrder tessi_loop_order(const LoopProgram *p, Arena *a, const int64_t *params,
                           const Value *scalars)
{
    LPlace *place = ARENA_NEW_ARRAY(a, LPlace, p->functions.n);
    LTurns *turns = ARENA_NEW_ARRAY(a, LTurns, p->repeats.n);
    for (uint32_t i = 0; i < p->functions.n; i++)
        place[i] = p->functions.at[i].place;
    for (uint32_t i = 0; i < p->repeats.n; i++)
        turns[i] = tessi_loop_turns(p, &p->repeats.at[i], params, scalars);
    return (
        LoopOrder){ .place = place, .n = p->functions.n, .turns = turns, .repeats = p->repeats.at };
}

static bool fits(const LoopOrder *o)
{
    const LPlace *place = &o->place[o->at];
    const uint32_t versions = o->repeats[place->repeat - 1].n_versions;
    const LTurns *n = &o->turns[place->repeat - 1];
    const int64_t left = (o->once ? n->turns : o->left) + n->behind;
    return place->once == o->once && place->version == (uint32_t)(left % versions);
}

bool tessi_loop_order_next(LoopOrder *o, uint32_t *number)
{
    for (;;) {
        if (o->open && o->at < o->end) {
            const bool now = fits(o);
            *number = o->at++;
            if (now)
                return true;
        } else if (o->open) {
            if (o->once)
                o->left = o->turns[o->place[o->begin].repeat - 1].turns;
            o->once = false;
            o->open = o->left-- > 0;
            o->at = o->open ? o->begin : o->end;
        } else if (o->at >= o->n) {
            return false;
        } else if (!o->place[o->at].repeat) {
            *number = o->at++;
            return true;
        } else {
            o->open = o->once = true;
            o->begin = o->end = o->at;
            while (o->end < o->n && o->place[o->end].repeat == o->place[o->begin].repeat)
                o->end++;
        }
    }
}
