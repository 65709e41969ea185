/* Repeats from their text (graph_text.h describes the form). */
#include "graph/graph_lex.h"

void tessi_read_repeat(Reader *r)
{
    Repeat repeat = { .name = tessi_graph_read_name(r, "a repeat"), .count = { .by = 1 } };
    RepeatCount *n = &repeat.count;
    tessi_graph_read_expect(r, "turns");
    n->add = tessi_graph_read_integer(r, INT32_MIN, INT32_MAX);
    const bool minus = tessi_graph_read_is(r, "minus");
    if (tessi_graph_read_accept(r, "plus") || tessi_graph_read_accept(r, "minus")) {
        const bool scalar = tessi_graph_read_accept(r, "scalar");
        if (!scalar)
            tessi_graph_read_expect(r, "param");
        n->from = scalar ? COUNT_FROM_SCALAR : COUNT_FROM_PARAM;
        n->sign = minus ? -1 : 1;
        const uint32_t most = scalar ? r->g->scalars.n : r->g->params.n;
        const char *name = tessi_graph_read_name(r, "what counts the turns");
        while (n->ref < most
               && !tessi_streq(name, scalar ? r->g->scalars.at[n->ref].name
                                            : r->g->params.at[n->ref].name))
            n->ref++;
        if (n->ref == most)
            tessi_graph_read_fail(r, "nothing called '%.40s' counts turns", name);
    }
    if (tessi_graph_read_accept(r, "of"))
        n->of = tessi_graph_read_integer(r, 1, INT32_MAX);
    if (tessi_graph_read_accept(r, "by")) {
        n->by = tessi_graph_read_integer(r, 1, INT32_MAX);
        n->rest = tessi_graph_read_accept(r, "rest");
    }
    if (tessi_graph_read_accept(r, "unless")) {
        tessi_graph_read_expect(r, "met");
        repeat.unless_met = true;
    }
    if (r->g->open_repeat)
        tessi_graph_read_fail(r, "the repeat before it has no end");
    VEC_PUSH(r->arena, &r->g->repeats, repeat);
    r->g->open_repeat = r->g->repeats.n;
}

void tessi_read_repeat_end(Reader *r)
{
    Graph *g = r->g;
    if (!g->open_repeat)
        tessi_graph_read_fail(r, "no repeat is open here");
    do {
        const StageId entry = tessi_graph_read_stage_name(r);
        tessi_graph_read_expect(r, "=");
        const StageId next = tessi_graph_read_stage_name(r);
        const Stage *s = r->failed ? NULL : tessi_stage(g, entry);
        if (s && (s->kind != STAGE_CARRIED || s->behind || s->repeat != g->open_repeat))
            tessi_graph_read_fail(r, "'%.40s' is not carried by this repeat", s->name);
        else if (s)
            g->repeats.at[s->repeat - 1].carried.at[s->carried].next = next;
    } while (tessi_graph_read_accept(r, ","));
    if (tessi_graph_read_accept(r, "until")) {
        Repeat *repeat = &g->repeats.at[g->open_repeat - 1];
        repeat->until = tessi_graph_read_stage_name(r);
        tessi_graph_read_expect(r, "every");
        repeat->every = tessi_graph_read_integer(r, 1, INT32_MAX);
    }
    g->open_repeat = 0;
}

void tessi_read_carried(Reader *r, Stage *s)
{
    Graph *g = r->g;
    s->kind = STAGE_CARRIED;
    if (tessi_graph_read_accept(r, "entry")) {
        if (!g->open_repeat) {
            tessi_graph_read_fail(r, "no repeat is open here");
            return;
        }
        Carried c = { 0 };
        if (tessi_graph_read_accept(r, "of"))
            c.first = tessi_graph_read_stage_name(r);
        s->carried = g->repeats.at[g->open_repeat - 1].carried.n;
        VEC_PUSH(r->arena, &g->repeats.at[g->open_repeat - 1].carried, c);
        return;
    }
    tessi_graph_read_expect(r, "last");
    const StageId entry = tessi_graph_read_stage_name(r);
    if (r->failed)
        return;
    const Stage *from = tessi_stage(g, entry);
    if (from->kind != STAGE_CARRIED || !from->repeat) {
        tessi_graph_read_fail(r, "no repeat carries '%.40s'", from->name);
        return;
    }
    s->behind = from->repeat;
    s->carried = from->carried;
}

void tessi_read_carried_at(Reader *r, const Stage *s, StageId id)
{
    Carried *c =
        &r->g->repeats.at[(s->behind ? s->behind : r->g->open_repeat) - 1].carried.at[s->carried];
    *(s->behind ? &c->last : &c->entry) = id;
}
