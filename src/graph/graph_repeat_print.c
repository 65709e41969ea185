/* Repeats as text; graph_repeat_read.c reads it. */
#include "graph/graph_text.h"

static void print_count(const Graph *g, const RepeatCount *n, Text *out)
{
    tessi_text_addf(out, " turns %lld", (long long)n->add);
    if (n->from != COUNT_FROM_NOTHING) {
        const bool scalar = n->from == COUNT_FROM_SCALAR;
        tessi_text_addf(out, " %s %s ", n->sign < 0 ? "minus" : "plus",
                        scalar ? "scalar" : "param");
        tessi_graph_print_name(scalar ? g->scalars.at[n->ref].name : g->params.at[n->ref].name,
                               out);
    }
    if (n->of)
        tessi_text_addf(out, " of %lld", (long long)n->of);
    if (n->by > 1)
        tessi_text_addf(out, " by %lld%s", (long long)n->by, n->rest ? " rest" : "");
}

static void print_end(const Graph *g, const Repeat *r, Text *out)
{
    for (uint32_t k = 0; k < r->carried.n; k++) {
        tessi_text_add(out, k ? ", " : "end ");
        tessi_graph_print_name(tessi_stage(g, r->carried.at[k].entry)->name, out);
        tessi_text_add(out, " = ");
        tessi_graph_print_name(tessi_stage(g, r->carried.at[k].next)->name, out);
    }
    if (r->until.v) {
        tessi_text_add(out, " until ");
        tessi_graph_print_name(tessi_stage(g, r->until)->name, out);
        tessi_text_addf(out, " every %lld", (long long)r->every);
    }
    tessi_text_add(out, "\n");
}

void tessi_print_repeat_bounds(const Graph *g, uint32_t *open, uint32_t now, Text *out)
{
    if (*open == now)
        return;
    if (*open)
        print_end(g, &g->repeats.at[*open - 1], out);
    *open = now;
    if (!now)
        return;
    tessi_text_add(out, "repeat ");
    tessi_graph_print_name(g->repeats.at[now - 1].name, out);
    print_count(g, &g->repeats.at[now - 1].count, out);
    tessi_text_add(out, g->repeats.at[now - 1].unless_met ? " unless met\n" : "\n");
}

void tessi_print_carried(const Graph *g, const Stage *s, Text *out)
{
    const Repeat *r = &g->repeats.at[(s->behind ? s->behind : s->repeat) - 1];
    const Carried *c = &r->carried.at[s->carried];
    tessi_text_add(out, s->behind ? " = last " : c->first.v ? " = entry of " : " = entry");
    if (s->behind || c->first.v)
        tessi_graph_print_name(tessi_stage(g, s->behind ? c->entry : c->first)->name, out);
    tessi_text_add(out, "\n");
}
