/* Several turns of a repeat as one: its body stands there once for each of them, so that they are fused as any chain
 * of stages is. What is left over, when the number of turns is no multiple, is done by a repeat of single turns
 * behind it. */
#include <string.h>

#include "graph/graph_passes.h"

typedef struct Blocking {
    const Graph *g;
    Rewrite r;
    StageId *stage;   /* by stage of g: its number in the copy */
    const bool *test; /* by stage of g: only the condition of its repeat needs it */
    Arena *a;
} Blocking;

/* T is T<2> in the second turn, T.r is T<2>.r. */
static const char *name_in_turn(Arena *a, const char *name, uint32_t turn)
{
    const char *dot = strchr(name, '.');
    const int n = dot ? (int)(dot - name) : (int)strlen(name);
    return tessi_sprintf(a, "%.*s<%u>%s", n, name, (unsigned)turn, name + n);
}

static StageId copy_carried(Blocking *b, StageId of, uint32_t carried, uint32_t behind,
                            const char *name)
{
    Stage s = *tessi_stage(b->g, of);
    for (uint32_t d = 0; d < s.n_dims; d++)
        s.size[d] = tessi_rewrite_size(&b->r, s.size[d]);
    s.name = name ? name : s.name;
    s.carried = carried;
    s.behind = behind;
    return tessi_graph_stage(b->r.to, &s);
}

/* The body of repeat `number`, whose first stage is `begin`, once: from the images now[] on, which become what it
 * leaves. `turn` makes names; 0: they stay. */
static void add_turn(Blocking *b, uint32_t number, StageId begin, uint32_t turn, bool tested,
                     StageId *now)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    StageId *next = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    tessi_expr_map_clear(&b->r.map);
    for (uint32_t k = 0; k < from->carried.n; k++)
        b->stage[from->carried.at[k].entry.v] = now[k];
    for (StageId id = begin; id.v < b->g->stages.n && tessi_stage(b->g, id)->repeat == number;
         id.v++) {
        Stage s = *tessi_stage(b->g, id);
        if (s.kind == STAGE_CARRIED || (b->test[id.v] && !tested))
            continue;
        s.name = turn ? name_in_turn(b->a, s.name, turn) : s.name;
        b->stage[id.v] = tessi_graph_copy_stage(&b->r, &s, NULL);
    }
    for (uint32_t k = 0; k < from->carried.n; k++)
        next[k] = b->stage[from->carried.at[k].next.v];
    memcpy(now, next, from->carried.n * sizeof *now);
}

/* The body of repeat `number`, whose first stage is `begin`, with `turns` turns one behind the other; the condition is
 * asked after the last of these. first[] are the stages of the copy that it begins from, and becomes what it leaves. */
static void add_repeat(Blocking *b, uint32_t number, StageId begin, uint32_t turns,
                       RepeatCount count, StageId *first)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    Graph *to = b->r.to;
    Repeat repeat = { .name = from->name, .span = from->span, .count = count };
    const bool tested = from->until.v && !count.rest; /* what is left over is less than every */
    if (tested)
        repeat.every = from->every / turns;
    repeat.unless_met = from->until.v && count.rest;
    StageId *now = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    to->open_repeat = to->repeats.n + 1;
    for (uint32_t k = 0; k < from->carried.n; k++) {
        now[k] = copy_carried(b, from->carried.at[k].entry, k, 0, NULL);
        const Carried c = { .first = first[k], .entry = now[k] };
        VEC_PUSH(to->arena, &repeat.carried, c);
    }
    for (uint32_t turn = 1; turn <= turns; turn++)
        add_turn(b, number, begin, turns > 1 ? turn : 0, tested && turn == turns, now);
    to->open_repeat = 0;
    if (tested)
        repeat.until = b->stage[from->until.v];
    for (uint32_t k = 0; k < from->carried.n; k++)
        repeat.carried.at[k].next = now[k];
    VEC_PUSH(to->arena, &to->repeats, repeat);
    tessi_expr_map_clear(&b->r.map);
}

static void add_lasts(Blocking *b, uint32_t number, bool all, StageId *last)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    Graph *to = b->r.to;
    const uint32_t of = to->repeats.n;
    for (uint32_t k = 0; k < from->carried.n; k++) {
        const Carried *c = &from->carried.at[k];
        last[k] = (StageId){ 0 };
        if (!c->last.v && !all)
            continue;
        const char *name = tessi_sprintf(b->a, "%s_blocked", tessi_stage(b->g, c->entry)->name);
        last[k] = copy_carried(b, c->entry, k, of, all ? name : tessi_stage(b->g, c->last)->name);
        to->repeats.at[of - 1].carried.at[k].last = last[k];
        if (c->last.v)
            b->stage[c->last.v] = last[k];
    }
}

/* One repeat of the graph, in blocks of `time` turns. */
static void add_blocked(Blocking *b, uint32_t number, StageId begin, uint32_t time)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    StageId *at = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    RepeatCount whole = from->count, rest = from->count;
    const bool known = whole.from == COUNT_FROM_NOTHING;
    bool left = true;
    for (uint32_t k = 0; k < from->carried.n; k++)
        at[k] = b->stage[from->carried.at[k].first.v];
    if (time > 1) {
        whole.by = rest.by = time;
        rest.rest = true;
        left = !known || tessi_repeat_turns(&rest, 0) > 0;
        add_repeat(b, number, begin, time, whole, at);
        add_lasts(b, number, left, at);
    }
    if (left) {
        add_repeat(b, number, begin, 1, rest, at);
        add_lasts(b, number, false, at);
    }
}

/* All turns of a repeat, one behind the other. */
static void add_turns(Blocking *b, uint32_t number, StageId begin)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    StageId *now = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    const int64_t turns = tessi_repeat_turns(&from->count, 0);
    for (uint32_t k = 0; k < from->carried.n; k++)
        now[k] = b->stage[from->carried.at[k].first.v];
    for (int64_t turn = 1; turn <= turns; turn++)
        add_turn(b, number, begin, turns > 1 ? (uint32_t)turn : 0, false, now);
    tessi_expr_map_clear(&b->r.map);
    for (uint32_t k = 0; k < from->carried.n; k++)
        b->stage[from->carried.at[k].last.v] = now[k];
    b->stage[0] = (StageId){ 0 };
}

bool tessi_repeat_can_block(const Graph *g, uint32_t number, uint32_t time)
{
    const Repeat *r = &g->repeats.at[number - 1];
    const RepeatCount *count = &r->count;
    return count->by == 1 && (!r->until.v || r->every % time == 0)
           && (count->from != COUNT_FROM_NOTHING || count->add >= time);
}

/* time NULL: written out. */
static Graph *blocked(const Graph *g, Arena *a, const uint32_t *time)
{
    Arena *scratch = tessi_scratch_open(a);
    Graph *to = tessi_graph_new(a, g->name);
    Blocking b = { .g = g,
                   .a = scratch,
                   .stage = ARENA_NEW_ARRAY(scratch, StageId, g->stages.n),
                   .test = tessi_graph_tests(g, scratch) };
    tessi_rewrite_init(&b.r, g, to, scratch);
    b.r.stage = b.stage;
    tessi_graph_copy_begin(&b.r);
    uint32_t open = 0;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        const uint32_t now = s->repeat != open ? s->repeat : 0;
        open = s->repeat;
        if (now && !time && g->repeats.at[now - 1].count.from == COUNT_FROM_NOTHING
            && !g->repeats.at[now - 1].until.v)
            add_turns(&b, now, id);
        else if (now)
            add_blocked(&b, now, id,
                        time && tessi_repeat_can_block(g, now, time[now - 1]) ? time[now - 1] : 1);
        if (!s->repeat && s->kind != STAGE_CARRIED)
            b.stage[id.v] = tessi_graph_copy_stage(&b.r, s, NULL);
    }
    tessi_graph_copy_end(&b.r);
    tessi_scratch_close(scratch);
    return to;
}

Graph *tessi_graph_block_time(const Graph *g, Arena *a, const uint32_t *time)
{
    return blocked(g, a, time);
}

Graph *tessi_graph_write_out(const Graph *g, Arena *a)
{
    return blocked(g, a, NULL);
}
