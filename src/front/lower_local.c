/* front/lower_local: the locals of a stencil. A body may have any number of them, each made from those before: what
 * a local needs is lowered first, so that the depth of the calls is that of one statement. */
#include "front/lower.h"

typedef struct Need {
    const TExpr *value;
    uint32_t channel;
} Need;
typedef VEC(Need) Needs;

typedef struct Search {
    Lower *l;
    const LBody *body;
    uint32_t epoch;
    Needs found;
} Search;

static void look(Search *s, const TExpr *e, uint32_t channel);

/* The parts of an expression, and which channel of each is asked for. */
static void look_at_parts(Search *s, const TExpr *e, uint32_t channel)
{
    if (e->kind == TE_STRUCT) {
        look(s, e->arg[channel], 0);
        return;
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        look(s, e->arg[i], e->kind == TE_FIELD ? e->slot : channel);
    for (uint32_t d = 0; e->read && d < e->read->n_dims; d++)
        if (e->read->index[d])
            look(s, e->read->index[d], 0);
}

/* Notes the locals that lowering the expression asks for and that are not lowered yet. */
static void look(Search *s, const TExpr *e, uint32_t channel)
{
    if (tessi_tt_is_untyped(e->type))
        return; /* lowered with a type from around it, in one piece */
    channel = tessi_lower_channel(e, channel);
    LMemo *visited = tessi_lower_memo(s->l, s->l->visited, e, channel);
    if (visited->epoch == s->epoch)
        return;
    visited->epoch = s->epoch;
    if (e->kind != TE_LOCAL) {
        look_at_parts(s, e, channel);
        return;
    }
    const Need need = { e->arg[0], channel };
    if (tessi_lower_memo(s->l, s->l->locals, need.value, channel)->epoch != s->body->body_epoch)
        VEC_PUSH(s->l->a, &s->found, need);
}

static ExprId lower(Lower *l, LBody *b, const TExpr *value, uint32_t channel)
{
    LBody outside = *b; /* locals stand outside of all windows */
    outside.windows = NULL;
    outside.point = NULL;
    outside.epoch = ++l->epoch;
    return tessi_lower_expr(l, &outside, value, channel);
}

ExprId tessi_lower_local(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    LMemo *wanted = tessi_lower_memo(l, l->locals, e->arg[0], channel);
    Search s = { .l = l, .body = b };
    Needs open = { 0 };
    if (wanted->epoch == b->body_epoch)
        return wanted->id;
    VEC_PUSH(l->a, &open, ((Need){ e->arg[0], channel }));
    while (open.n) {
        const Need need = open.at[open.n - 1];
        LMemo *memo = tessi_lower_memo(l, l->locals, need.value, need.channel);
        s.found.n = 0;
        s.epoch = ++l->epoch;
        if (memo->epoch != b->body_epoch)
            look(&s, need.value, need.channel);
        VEC_APPEND(l->a, &open, &s.found);
        if (s.found.n)
            continue;
        if (memo->epoch != b->body_epoch) {
            const ExprId id = lower(l, b, need.value, need.channel);
            memo->epoch = b->body_epoch;
            memo->id = id;
        }
        open.n--;
    }
    return wanted->id;
}
