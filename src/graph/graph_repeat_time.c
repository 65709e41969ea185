/* Several turns of a repeat as one: its body stands there once for each of them, so that they are fused as any chain
 * of stages is. What is left over, when the number of turns is no multiple, is done by a repeat of blocks
 * with fewer turns behind it, and by one of single turns. */
#include <string.h>

#include "graph/graph_passes.h"

typedef struct Blocking {
    const Graph *g;
    Rewrite r;
    StageId *stage;   /* by stage of g: its number in the copy */
    const bool *test; /* by stage of g: only the condition of its repeat needs it */
    Arena *a;
} Blocking;

/* A repeat that is made: so many turns as one. */
typedef struct Block {
    uint32_t turns;
    RepeatCount count;
    bool left_over; /* by another block of the same repeat */
    uint32_t
        loop; /* all turns are written out: the loop by which they are marked; 0: they are not */
} Block;

/* T is T<2> in the second turn, T.r is T<2>.r, T_left<2> of turns that were left over. */
static const char *name_in_turn(Arena *a, const char *name, const Block *block, uint32_t turn)
{
    const char *dot = strchr(name, '.');
    const int n = dot ? (int)(dot - name) : (int)strlen(name);
    if (block->turns == 1)
        return name;
    return tessi_sprintf(a, "%.*s%s<%u>%s", n, name, block->left_over ? "_left" : "",
                         (unsigned)turn, name + n);
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
 * leaves. */
static void add_turn(Blocking *b, uint32_t number, StageId begin, const Block *block, uint32_t turn,
                     bool tested, StageId *now)
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
        s.name = name_in_turn(b->a, s.name, block, turn);
        s.loop = block->loop;
        s.turn = block->loop ? turn - 1 : 0;
        b->stage[id.v] = tessi_graph_copy_stage(&b->r, &s, NULL);
    }
    for (uint32_t k = 0; k < from->carried.n; k++)
        next[k] = b->stage[from->carried.at[k].next.v];
    memcpy(now, next, from->carried.n * sizeof *now);
}

/* The body of repeat `number`, whose first stage is `begin`, with the turns of the block one behind the other; the
 * condition is asked after the last of these, and not of what is left over: that is less than `every`. first[] are
 * the stages of the copy that it begins from, and becomes what it leaves. */
static void add_repeat(Blocking *b, uint32_t number, StageId begin, const Block *block,
                       StageId *first)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    Graph *to = b->r.to;
    Repeat repeat = { .name = from->name, .span = from->span, .count = block->count };
    const bool tested = from->until.v && !block->left_over;
    if (tested)
        repeat.every = from->every / block->turns;
    repeat.unless_met = from->until.v && block->left_over;
    StageId *now = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    to->open_repeat = to->repeats.n + 1;
    for (uint32_t k = 0; k < from->carried.n; k++) {
        now[k] = copy_carried(b, from->carried.at[k].entry, k, 0, NULL);
        const Carried c = { .first = first[k], .entry = now[k] };
        VEC_PUSH(to->arena, &repeat.carried, c);
    }
    for (uint32_t turn = 1; turn <= block->turns; turn++)
        add_turn(b, number, begin, block, turn, tested && turn == block->turns, now);
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
        const char *name = tessi_sprintf(b->a, "%s_blocked%s", tessi_stage(b->g, c->entry)->name,
                                         to->repeats.at[of - 1].count.of ? "_left" : "");
        last[k] = copy_carried(b, c->entry, k, of, all ? name : tessi_stage(b->g, c->last)->name);
        to->repeats.at[of - 1].carried.at[k].last = last[k];
        if (c->last.v)
            b->stage[c->last.v] = last[k];
    }
}

/* The repeats that become of one, in order; how many. */
static uint32_t blocks_of(const Graph *g, uint32_t number, BlockTime time, Block *block)
{
    const RepeatCount all = g->repeats.at[number - 1].count;
    const int64_t left = tessi_repeat_left(g, number, time.turns);
    uint32_t n = 0;
    if (time.turns > 1) {
        block[n] = (Block){ .turns = time.turns, .count = all };
        block[n++].count.by = time.turns;
    }
    if (time.left > 1 && left) {
        block[n] = (Block){ .turns = time.left, .count = all, .left_over = true };
        block[n].count.of = time.turns;
        block[n++].count.by = time.left;
    }
    const int64_t by = n ? block[n - 1].turns : 1;
    const int64_t single = left < 0 || !n ? 1 : left % by;
    if (single) {
        block[n] = (Block){ .turns = 1, .count = all, .left_over = n > 0 };
        block[n].count.rest = n > 0;
        block[n++].count.by = by;
    }
    for (uint32_t i = 1; i < n && left >= 0; i++)
        block[i].count =
            (RepeatCount){ .add = block[i].turns > 1 ? left : left % by, .by = block[i].turns };
    return n;
}

static void add_blocked(Blocking *b, uint32_t number, StageId begin, BlockTime time)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    StageId *at = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    Block block[3];
    const uint32_t n = blocks_of(b->g, number, time, block);
    for (uint32_t k = 0; k < from->carried.n; k++)
        at[k] = b->stage[from->carried.at[k].first.v];
    for (uint32_t i = 0; i < n; i++) {
        add_repeat(b, number, begin, &block[i], at);
        add_lasts(b, number, i + 1 < n, at);
    }
}

/* All turns of a repeat, one behind the other, marked as those of a loop, so that they can be found again. */
static void add_turns(Blocking *b, uint32_t number, StageId begin)
{
    const Repeat *from = &b->g->repeats.at[number - 1];
    StageId *now = ARENA_NEW_ARRAY(b->a, StageId, from->carried.n);
    const int64_t turns = tessi_repeat_turns(&from->count, 0);
    for (uint32_t k = 0; k < from->carried.n; k++)
        now[k] = b->stage[from->carried.at[k].first.v];
    const GraphLoop loop = { .span = from->span };
    VEC_PUSH(b->r.to->arena, &b->r.to->loops, loop);
    const Block all = { .turns = (uint32_t)turns, .loop = b->r.to->loops.n };
    for (uint32_t turn = 1; turn <= turns; turn++)
        add_turn(b, number, begin, &all, turn, false, now);
    tessi_expr_map_clear(&b->r.map);
    for (uint32_t k = 0; k < from->carried.n; k++)
        b->stage[from->carried.at[k].last.v] = now[k];
    b->stage[0] = (StageId){ 0 };
}

int64_t tessi_repeat_left(const Graph *g, uint32_t number, uint32_t time)
{
    const RepeatCount *count = &g->repeats.at[number - 1].count;
    return count->from != COUNT_FROM_NOTHING ? -1 : tessi_repeat_turns(count, 0) % time;
}

bool tessi_repeat_can_block(const Graph *g, uint32_t number, uint32_t time)
{
    const Repeat *r = &g->repeats.at[number - 1];
    const RepeatCount *count = &r->count;
    return count->by == 1 && (!r->until.v || r->every % time == 0)
           && (count->from != COUNT_FROM_NOTHING || count->add >= time);
}

/* time NULL: written out. */
static Graph *blocked(const Graph *g, Arena *a, const BlockTime *time)
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
    const BlockTime one = { 1, 0 };
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
                        time && tessi_repeat_can_block(g, now, time[now - 1].turns) ? time[now - 1]
                                                                                    : one);
        if (!s->repeat && s->kind != STAGE_CARRIED)
            b.stage[id.v] = tessi_graph_copy_stage(&b.r, s, NULL);
    }
    tessi_graph_copy_end(&b.r);
    tessi_scratch_close(scratch);
    return to;
}

Graph *tessi_graph_block_time(const Graph *g, Arena *a, const BlockTime *time)
{
    return blocked(g, a, time);
}

Graph *tessi_graph_write_out(const Graph *g, Arena *a)
{
    return blocked(g, a, NULL);
}
