/* Repeats: images that are carried take turns in a ring of buffers. A turn stores to one and reads what the turns
 * before it stored; its functions stand there once for each place in the ring. Where the first turn begins is such
 * that the last one always stores to buffer 0. */
#include <string.h>

#include "loop/lower_group.h"

/* The buffers of a repeat. */
typedef struct LowerRing {
    uint32_t n;    /* places in the ring */
    LBufferId *at; /* by carried image that is computed, and place */
    uint32_t *lag, *head;
    uint32_t after; /* number of the repeat whose images it goes on with; 0: none */
} LowerRing;

static LBufferId in_ring(const LowerRing *ring, uint32_t carried, int64_t place)
{
    return ring->at[ring->head[carried] * ring->n + (uint32_t)(place % ring->n)];
}

/* What the repeat leaves is read by more than the repeat behind it. */
static bool read_elsewhere(const Lower *l, uint32_t number)
{
    const Graph *g = l->g;
    for (uint32_t i = 1; i < g->accesses.n; i++)
        if (tessi_stage(g, g->accesses.at[i].producer)->behind == number)
            return true;
    GRAPH_FOREACH_STAGE (g, id) {
        const StageId read[2] = { tessi_stage(g, id)->source, tessi_stage(g, id)->keys };
        for (int k = 0; k < 2; k++)
            if (read[k].v && tessi_stage(g, read[k])->behind == number)
                return true;
    }
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            if (tessi_stage(g, c->stage)->behind == number)
                return true;
    return false;
}

static LBufferId ring_buffer(Lower *l, StageId id)
{
    const Stage *s = tessi_stage(l->g, id);
    LBuffer b = { .name = s->name, .kind = LBUF_TEMP, .type = s->type, .n_dims = s->n_dims };
    for (uint8_t d = 0; d < s->n_dims; d++)
        b.size[d] = tessi_lower_size(l, s->size[d]);
    return tessi_loop_buffer(l->p, &b);
}

/* Where turns store and read that leave so many turns behind them. */
static void set_version(Lower *l, uint32_t number, uint32_t version)
{
    const Repeat *r = &l->g->repeats.at[number - 1];
    const LowerRing *ring = &l->ring[number - 1];
    for (uint32_t k = 0; k < r->carried.n; k++) {
        const Carried *c = &r->carried.at[k];
        l->buffer[c->entry.v] = in_ring(ring, k, (int64_t)version + ring->lag[k] + 1);
        if (!ring->lag[k])
            l->buffer[c->next.v] = in_ring(ring, k, version);
        if (c->last.v)
            l->buffer[c->last.v] = in_ring(ring, k, ring->lag[k]);
    }
}

/* The repeat before it when that leaves all that this one finds, and turns its images in the same way. */
static uint32_t goes_on_with(const Lower *l, uint32_t number)
{
    const Repeat *r = &l->g->repeats.at[number - 1];
    const StageId first = r->carried.at[0].first;
    const uint32_t before = first.v ? tessi_stage(l->g, first)->behind : 0;
    if (!before || before + 1 != number)
        return 0;
    const Repeat *from = &l->g->repeats.at[before - 1];
    if (from->unless_met || (from->until.v && !r->unless_met))
        return 0; /* where its images are is known behind it alone */
    const LowerRing *own = &l->ring[number - 1], *other = &l->ring[before - 1];
    bool same = from->carried.n == r->carried.n && own->n == other->n;
    for (uint32_t k = 0; k < r->carried.n && same; k++)
        same = r->carried.at[k].first.v && r->carried.at[k].first.v == from->carried.at[k].last.v
               && own->head[k] == other->head[k] && own->lag[k] == other->lag[k];
    return same && !read_elsewhere(l, before) ? before : 0;
}

static bool is_needed(const Lower *l, const Repeat *r)
{
    return l->plan->needed[r->carried.at[0].entry.v];
}

void tessi_repeat_rings(Lower *l)
{
    const Graph *g = l->g;
    l->ring = ARENA_NEW_ARRAY(l->scratch, LowerRing, g->repeats.n);
    for (uint32_t k = 0; k < g->repeats.n; k++) {
        const Repeat *r = &g->repeats.at[k];
        LowerRing *ring = &l->ring[k];
        ring->lag = ARENA_NEW_ARRAY(l->scratch, uint32_t, r->carried.n);
        ring->head = ARENA_NEW_ARRAY(l->scratch, uint32_t, r->carried.n);
        for (uint32_t i = 0; i < r->carried.n; i++) {
            ring->lag[i] = tessi_carried_lag(g, r, i, &ring->head[i]);
            ring->n = ring->n > ring->lag[i] + 2 ? ring->n : ring->lag[i] + 2;
        }
        ring->after = goes_on_with(l, k + 1);
        if (ring->after) {
            ring->at = l->ring[ring->after - 1].at;
            set_version(l, k + 1, 0);
            continue;
        }
        ring->at = ARENA_NEW_ARRAY(l->scratch, LBufferId, (size_t)ring->n * r->carried.n);
        for (uint32_t i = 0; i < r->carried.n && is_needed(l, r); i++)
            for (uint32_t place = 0; place < ring->n && ring->head[i] == i; place++)
                ring->at[i * ring->n + place] = ring_buffer(l, r->carried.at[i].next);
        if (is_needed(l, r))
            set_version(l, k + 1, 0);
    }
}

/* As many turns as the graph says. */
static LExprId turns_of(Lower *l, const RepeatCount *n)
{
    LoopProgram *p = l->p;
    const LExprId none = { 0 };
    LExprId turns = tessi_l_int(l, n->add);
    if (n->from != COUNT_FROM_NOTHING) {
        LExprId x = n->from == COUNT_FROM_PARAM
                        ? tessi_lexpr_param(p, n->ref)
                        : tessi_lexpr_cast(p, TYPE_INDEX, tessi_lexpr_scalar(p, n->ref));
        x = tessi_lexpr_op(p, OP_MUL, x, tessi_l_int(l, n->sign), none);
        turns = tessi_lexpr_op(p, OP_ADD, x, turns, none);
        turns = tessi_lexpr_op(p, OP_MAX, turns, tessi_l_int(l, 0), none);
    }
    if (n->of)
        turns = tessi_lexpr_op(p, OP_FLOORMOD, turns, tessi_l_int(l, n->of), none);
    if (n->by > 1)
        turns = tessi_lexpr_op(p, n->rest ? OP_FLOORMOD : OP_FLOORDIV, turns, tessi_l_int(l, n->by),
                               none);
    return turns;
}

static void place_functions(Lower *l, uint32_t from, uint32_t repeat, uint32_t version, LWhen when)
{
    for (; from < l->p->functions.n; from++)
        l->p->functions.at[from].place = (LPlace){ repeat, version, when };
}

/* Brings what the first turn finds to its places in the ring. */
static void add_firsts(Lower *l, uint32_t number, uint32_t version)
{
    const Repeat *r = &l->g->repeats.at[number - 1];
    for (uint32_t k = 0; k < r->carried.n; k++) {
        const Carried *c = &r->carried.at[k];
        const LowerRing *ring = &l->ring[number - 1];
        if (!c->first.v)
            continue;
        tessi_lower_copy(l, c->first, in_ring(ring, k, (int64_t)version + ring->lag[k]),
                         tessi_stage(l->g, c->entry)->name,
                         tessi_sprintf(l->arena, "%s, which the first turn finds",
                                       tessi_stage(l->g, c->first)->name));
    }
}

/* Elements that go from one place in the ring to another. */
typedef struct Move {
    uint32_t from, to, carried;
} Move;

static bool is_from(const Move *moves, uint32_t n, uint32_t place)
{
    bool any = false;
    for (uint32_t i = 0; i < n; i++)
        any = any || moves[i].from == place;
    return any;
}

static void copy_in_ring(Lower *l, uint32_t number, const Move *move, uint32_t to)
{
    const Repeat *r = &l->g->repeats.at[number - 1];
    const LowerRing *ring = &l->ring[number - 1];
    const StageId entry = r->carried.at[move->carried].entry;
    const char *name = tessi_stage(l->g, r->carried.at[ring->head[move->carried]].next)->name;
    l->buffer[entry.v] = in_ring(ring, move->carried, move->from);
    tessi_lower_copy(l, entry, in_ring(ring, move->carried, to),
                     tessi_sprintf(l->arena, "%s_met", name),
                     tessi_sprintf(l->arena, "%s, left by the turn that was the last one", name));
}

/* One after the other, so that none is overwritten before it is copied. Moves are to the first places of the ring and
 * one place is free, by which those that wait for each other go. */
static void make_moves(Lower *l, uint32_t number, Move *moves, uint32_t n)
{
    const uint32_t free_place = l->ring[number - 1].n - 1;
    while (n) {
        uint32_t i = 0;
        while (i < n && is_from(moves, n, moves[i].to))
            i++;
        if (i < n) {
            copy_in_ring(l, number, &moves[i], moves[i].to);
            moves[i] = moves[--n];
        } else {
            copy_in_ring(l, number, &moves[0], free_place);
            moves[0].from = free_place;
        }
    }
}

/* Behind a turn of this version, after which the condition held: brings what is left to where a turn of version 0
 * would have left it. */
static void add_ends(Lower *l, uint32_t number, uint32_t version)
{
    const Repeat *r = &l->g->repeats.at[number - 1];
    const Repeat *behind = number < l->g->repeats.n && goes_on_with(l, number + 1) ? r + 1 : NULL;
    const LowerRing *ring = &l->ring[number - 1];
    for (uint32_t head = 0; head < r->carried.n; head++) {
        Move *moves = ARENA_NEW_ARRAY(l->scratch, Move, r->carried.n);
        uint32_t n = 0;
        for (uint32_t k = 0; k < r->carried.n; k++)
            if (ring->head[k] == head && (behind ? behind : r)->carried.at[k].last.v)
                moves[n++] = (Move){ (version + ring->lag[k]) % ring->n, ring->lag[k], k };
        make_moves(l, number, moves, n);
    }
    set_version(l, number, version);
}

/* The loop of the program that this repeat is of, when a condition may end that, and the condition. */
static void set_condition(Lower *l, uint32_t number, LRepeat *repeat)
{
    const Repeat *r = &l->g->repeats.at[number - 1];
    if (!r->until.v && !r->unless_met)
        return;
    for (uint32_t k = 0; k < number; k++)
        repeat->loop += l->g->repeats.at[k].until.v != 0;
    repeat->until = l->buffer[r->until.v];
    repeat->every = r->until.v ? (uint32_t)r->every : 0;
    repeat->unless_met = r->unless_met;
    repeat->by = r->count.rest ? 1 : (uint32_t)r->count.by;
}

/* Of so many turns, with so many behind them, one is of this version. */
static bool is_used(int64_t turns, int64_t behind, uint32_t n, uint32_t version)
{
    for (int64_t left = behind; left < behind + turns && left < behind + n; left++)
        if (left % n == version)
            return true;
    return false;
}

uint32_t tessi_lower_repeat(Lower *l, uint32_t number, uint32_t begin,
                            void (*add)(Lower *l, const PlanGroup *group))
{
    const Graph *g = l->g;
    const Repeat *r = &g->repeats.at[number - 1];
    const LowerRing *ring = &l->ring[number - 1];
    LRepeat repeat = { .name = r->name, .turns = turns_of(l, &r->count), .n_versions = ring->n };
    set_condition(l, number, &repeat);
    bool known = r->count.from == COUNT_FROM_NOTHING && !r->unless_met;
    const int64_t turns = known ? tessi_repeat_turns(&r->count, 0) : 0;
    int64_t after = 0;
    for (uint32_t k = number; k < g->repeats.n && goes_on_with(l, k + 1); k++) {
        const RepeatCount *count = &g->repeats.at[k].count;
        const LExprId more = turns_of(l, count);
        repeat.behind = repeat.behind.v ? tessi_l_op(l, OP_ADD, repeat.behind, more) : more;
        known = known && count->from == COUNT_FROM_NOTHING;
        after += known ? tessi_repeat_turns(count, 0) : 0;
    }
    VEC_PUSH(l->arena, &l->p->repeats, repeat);
    const uint32_t of = l->p->repeats.n;
    uint32_t end = begin, tests = begin;
    const bool *test = tessi_graph_tests(g, l->scratch);
    while (end < l->plan->groups.n
           && tessi_stage(g, l->plan->groups.at[end].members.at[0])->repeat == number) {
        const bool turn = !test[l->plan->groups.at[end++].members.at[0].v];
        tests = turn ? end : tests;
    }
    for (uint32_t version = 0; version < ring->n; version++) {
        const uint32_t from = l->p->functions.n;
        if (!ring->after && (!known || (turns + after) % ring->n == version))
            add_firsts(l, number, version);
        place_functions(l, from, of, version, LWHEN_ONCE);
    }
    bool *filled = ARENA_NEW_ARRAY(l->scratch, bool, g->stages.n);
    memcpy(filled, l->constant_filled, g->stages.n * sizeof *filled);
    for (uint32_t version = 0; version < ring->n; version++) {
        uint32_t from = l->p->functions.n;
        set_version(l, number, version);
        memcpy(l->constant_filled, filled, g->stages.n * sizeof *filled);
        if (known && !is_used(turns, after, ring->n, version))
            continue;
        for (uint32_t i = begin; i < tests; i++)
            add(l, &l->plan->groups.at[i]);
        place_functions(l, from, of, version, LWHEN_TURN);
        from = l->p->functions.n;
        for (uint32_t i = tests; i < end; i++)
            add(l, &l->plan->groups.at[i]);
        place_functions(l, from, of, version, LWHEN_TEST);
        from = l->p->functions.n;
        if (r->until.v && version)
            add_ends(l, number, version);
        place_functions(l, from, of, version, LWHEN_MET);
    }
    set_version(l, number, 0);
    memcpy(l->constant_filled, filled, g->stages.n * sizeof *filled);
    return end;
}
