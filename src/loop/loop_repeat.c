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

uint32_t tessi_loop_conditions(const LoopProgram *p)
{
    uint32_t n = 0;
    VEC_FOREACH (const LRepeat, r, &p->repeats)
        n = r->loop > n ? r->loop : n;
    return n;
}

static const LRepeat *repeat_of(const LoopOrder *o)
{
    return &o->repeats[o->place[o->begin].repeat - 1];
}

/* The functions of the open repeat that are due now. */
static bool fits(const LoopOrder *o)
{
    const LPlace *place = &o->place[o->at];
    const int64_t left = o->left + o->turns[place->repeat - 1].behind;
    return place->when == o->when && place->version == (uint32_t)(left % repeat_of(o)->n_versions);
}

static void go_through(LoopOrder *o, LWhen when)
{
    o->when = when;
    o->at = o->begin;
}

static void begin_repeat(LoopOrder *o)
{
    o->begin = o->end = o->at;
    while (o->end < o->n && o->place[o->end].repeat == o->place[o->begin].repeat)
        o->end++;
    const LRepeat *r = repeat_of(o);
    o->all = r->unless_met && o->met ? 0 : o->turns[o->place[o->begin].repeat - 1].turns;
    o->left = o->all;
    o->met = o->met && r->unless_met;
    o->open = true;
    go_through(o, LWHEN_ONCE);
}

static void end_repeat(LoopOrder *o)
{
    const LRepeat *r = repeat_of(o);
    LoopEnd *end = o->ends && r->loop ? &o->ends[r->loop - 1] : NULL;
    if (end)
        *end = (LoopEnd){ (r->unless_met ? end->turns : 0) + (o->all - o->left) * r->by, o->met };
    o->open = false;
    o->at = o->end;
}

/* All functions of the open repeat have been looked at: what comes now. */
static void go_on(LoopOrder *o)
{
    const LRepeat *r = repeat_of(o);
    const int64_t done = o->all - o->left;
    if (o->when == LWHEN_TURN && r->until.v && done % r->every == 0) {
        go_through(o, LWHEN_TEST);
        return;
    }
    o->met = o->met || (o->when == LWHEN_TEST && o->holds(o->user, r->until));
    if (o->when == LWHEN_TEST && o->met) {
        go_through(o, LWHEN_MET);
    } else if (o->when == LWHEN_MET || !o->left) {
        end_repeat(o);
    } else {
        o->left--;
        go_through(o, LWHEN_TURN);
    }
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
            go_on(o);
        } else if (o->at >= o->n) {
            return false;
        } else if (!o->place[o->at].repeat) {
            *number = o->at++;
            return true;
        } else {
            begin_repeat(o);
        }
    }
}
