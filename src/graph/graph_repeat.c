/* Repeats: how many turns they have, what they carry, which part of a program they are, and what makes them sound. */
#include "graph/graph_passes.h"

int64_t tessi_repeat_turns(const RepeatCount *count, int64_t x)
{
    int64_t n = count->add, product;
    if (count->from != COUNT_FROM_NOTHING
        && (!tessi_mul_i64(x, count->sign, &product) || !tessi_add_i64(product, count->add, &n)))
        n = 0;
    n = n < 0 ? 0 : n;
    n = count->of ? n % count->of : n;
    return count->rest ? n % count->by : n / count->by;
}

uint32_t tessi_carried_lag(const Graph *g, const Repeat *r, uint32_t carried, uint32_t *head)
{
    uint32_t lag = 0;
    while (lag < r->carried.n) {
        const Stage *next = tessi_stage(g, r->carried.at[carried].next);
        if (next->kind != STAGE_CARRIED)
            break;
        carried = next->carried;
        lag++;
    }
    *head = carried;
    return lag;
}

bool *tessi_graph_tests(const Graph *g, Arena *a)
{
    bool *test = ARENA_NEW_ARRAY(a, bool, g->stages.n), *other = NULL;
    VEC_FOREACH (const Repeat, r, &g->repeats) {
        if (!r->until.v)
            continue;
        other = other ? other : ARENA_NEW_ARRAY(a, bool, g->stages.n);
        VEC_FOREACH (const Carried, c, &r->carried)
            other[c->entry.v] = other[c->next.v] = true;
    }
    if (!other)
        return test;
    ExprWalk walk = { .arena = a };
    bool *ends = ARENA_NEW_ARRAY(a, bool, g->repeats.n + 1);
    for (uint32_t id = g->stages.n; id-- > 1;) { /* readers stand behind what they read */
        const uint32_t repeat = g->stages.at[id].repeat;
        const bool is_last = !ends[repeat]; /* of the body, but for such stages */
        test[id] = repeat && g->repeats.at[repeat - 1].until.v && !other[id] && is_last;
        ends[repeat] = ends[repeat] || !test[id];
        if (!test[id])
            tessi_graph_mark_read(g, &walk, (StageId){ id }, other);
    }
    return test;
}

uint32_t *tessi_graph_parts(const Graph *g, Arena *a)
{
    if (!g->repeats.n)
        return NULL;
    const bool *test = tessi_graph_tests(g, a);
    uint32_t *part = ARENA_NEW_ARRAY(a, uint32_t, g->stages.n), now = 0, repeat = 0;
    bool tests = false;
    GRAPH_FOREACH_STAGE (g, id) {
        now += tessi_stage(g, id)->repeat != repeat || test[id.v] != tests;
        repeat = tessi_stage(g, id)->repeat;
        tests = test[id.v];
        part[id.v] = now;
    }
    return part;
}

/* ---- Copies of graphs ------------------------------------------------------------------------ */

void tessi_repeat_mark(const Graph *g, uint32_t number, bool *live)
{
    const Repeat *r = &g->repeats.at[number - 1];
    VEC_FOREACH (const Carried, c, &r->carried)
        live[c->first.v] = live[c->entry.v] = live[c->next.v] = true;
    live[r->until.v] = true;
    if (r->unless_met)
        tessi_repeat_mark(g, number - 1, live);
}

uint32_t *tessi_repeat_numbers(const Graph *g, const bool *live, Arena *a)
{
    uint32_t *number = ARENA_NEW_ARRAY(a, uint32_t, g->repeats.n + 1), n = 0;
    for (uint32_t k = 0; k < g->repeats.n; k++)
        if (live[g->repeats.at[k].carried.at[0].entry.v])
            number[k + 1] = ++n;
    return number;
}

void tessi_repeats_copy(Rewrite *r, const uint32_t *number)
{
    Graph *to = r->to;
    for (uint32_t k = 0; k < r->from->repeats.n; k++) {
        if (!number[k + 1])
            continue;
        Repeat copy = r->from->repeats.at[k];
        copy.carried.at = NULL;
        copy.carried.n = copy.carried.cap = 0;
        copy.until = r->stage[copy.until.v];
        VEC_FOREACH (const Carried, c, &r->from->repeats.at[k].carried) {
            const Carried own = { r->stage[c->first.v], r->stage[c->entry.v], r->stage[c->next.v],
                                  r->stage[c->last.v] };
            VEC_PUSH(to->arena, &copy.carried, own);
            if (own.last.v)
                tessi_stage(to, own.last)->behind = number[k + 1];
        }
        VEC_PUSH(to->arena, &to->repeats, copy);
    }
}

/* ---- What makes them sound ------------------------------------------------------------------- */

typedef struct Check {
    const Graph *g;
    Arena *a;
    const uint32_t *part;
    const bool *test;
    const char *fault;
} Check;

static bool fail(Check *c, const char *what, const char *of)
{
    c->fault = tessi_sprintf(c->a, what, of);
    return false;
}

static bool is_stage(const Check *c, StageId id)
{
    return id.v && id.v < c->g->stages.n;
}

static bool same_shape(const Check *c, StageId a, StageId b)
{
    const Stage *s = tessi_stage(c->g, a), *t = tessi_stage(c->g, b);
    return s->type == t->type && tessi_stage_same_domain(s, t);
}

static bool carried_is_sound(Check *c, uint32_t number, uint32_t k)
{
    const Graph *g = c->g;
    const Repeat *r = &g->repeats.at[number - 1];
    const Carried *own = &r->carried.at[k];
    if (!is_stage(c, own->entry) || !is_stage(c, own->next) || own->first.v >= g->stages.n
        || own->last.v >= g->stages.n)
        return fail(c, "an image that repeat '%s' carries is no stage", r->name);
    const Stage *entry = tessi_stage(g, own->entry), *next = tessi_stage(g, own->next);
    if (entry->kind != STAGE_CARRIED || entry->repeat != number || entry->carried != k
        || next->repeat != number || !same_shape(c, own->entry, own->next))
        return fail(c, "stage '%s' is not carried by its repeat", entry->name);
    if (next->kind == STAGE_INPUT
        || (own->first.v
            && (c->part[own->first.v] >= c->part[own->entry.v]
                || !same_shape(c, own->first, own->entry))))
        return fail(c, "what the first turn finds as '%s' is no such image from before",
                    entry->name);
    if (!own->first.v && (r->count.from != COUNT_FROM_NOTHING || r->count.add < r->count.by))
        return fail(c, "the first turn finds nothing as '%s'", entry->name);
    if (own->last.v) {
        const Stage *last = tessi_stage(g, own->last);
        if (last->kind != STAGE_CARRIED || last->behind != number || last->carried != k
            || last->repeat || c->part[own->last.v] <= c->part[own->entry.v]
            || !same_shape(c, own->last, own->entry))
            return fail(c, "stage '%s' is not what its repeat leaves", last->name);
    }
    return true;
}

/* Chains of carried images end at one that is computed, and no two at the same. */
static bool chains_are_sound(Check *c, const Repeat *r)
{
    for (uint32_t k = 0; k < r->carried.n; k++) {
        uint32_t head;
        if (tessi_carried_lag(c->g, r, k, &head) >= r->carried.n)
            return fail(c, "repeat '%s' only hands images on", r->name);
        for (uint32_t i = 0; i < k; i++)
            if (r->carried.at[i].next.v == r->carried.at[k].next.v)
                return fail(c, "repeat '%s' carries an image twice", r->name);
    }
    return true;
}

/* It goes on where the repeat before it has a condition, or does so itself. */
static bool follows_condition(const Graph *g, uint32_t number)
{
    const Repeat *before = number > 1 ? &g->repeats.at[number - 2] : NULL;
    return before && (before->until.v || before->unless_met);
}

/* The condition is a value of the body that nothing else needs; repeats that go on without it stand behind one that
 * has it. */
static bool condition_is_sound(Check *c, uint32_t number)
{
    const Graph *g = c->g;
    const Repeat *r = &g->repeats.at[number - 1];
    if (r->unless_met && !follows_condition(g, number))
        return fail(c, "no condition ends the repeat before '%s'", r->name);
    if (!r->until.v)
        return true;
    const Stage *s = is_stage(c, r->until) ? tessi_stage(g, r->until) : NULL;
    if (!s || s->repeat != number || s->type != TYPE_BOOL || s->n_dims || s->kind == STAGE_CARRIED
        || r->every < 1)
        return fail(c, "the condition of repeat '%s' is no such stage", r->name);
    return c->test[r->until.v]
           || fail(c, "the condition of repeat '%s' goes from turn to turn", r->name);
}

static bool reads_are_sound(Check *c, StageId id, ExprWalk *walk)
{
    const Stage *s = tessi_stage(c->g, id);
    const Stage *source = s->source.v ? tessi_stage(c->g, s->source) : NULL;
    const Stage *keys = s->keys.v ? tessi_stage(c->g, s->keys) : NULL;
    bool sound = (!source || !source->repeat || source->repeat == s->repeat)
                 && (!keys || !keys->repeat || keys->repeat == s->repeat);
    VEC_FOREACH (const Piece, p, &s->pieces) {
        const ExprList *list = tessi_expr_walk(walk, c->g, &p->body, 1);
        VEC_FOREACH (const ExprId, it, list) {
            const Expr *e = tessi_expr(c->g, *it);
            if (e->kind != EXPR_LOAD)
                continue;
            const Stage *from = tessi_stage(c->g, tessi_access(c->g, e->access)->producer);
            sound = sound && (!from->repeat || from->repeat == s->repeat);
        }
    }
    return sound || fail(c, "stage '%s' reads the inside of a repeat", s->name);
}

const char *tessi_repeats_verify(const Graph *g, Arena *a)
{
    Check c = { .g = g, .a = a, .part = tessi_graph_parts(g, a), .test = tessi_graph_tests(g, a) };
    ExprWalk walk = { .arena = a };
    bool *seen = ARENA_NEW_ARRAY(a, bool, g->repeats.n + 1);
    uint32_t open = 0, n_carried = 0, n_known = 0;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        n_carried += s->kind == STAGE_CARRIED;
        if (s->repeat > g->repeats.n || s->behind > g->repeats.n
            || (s->repeat != open && seen[s->repeat] && s->repeat)
            || (s->repeat && (s->kind == STAGE_INPUT)))
            return tessi_sprintf(a, "stage '%s' is in no repeat", s->name);
        open = s->repeat;
        seen[open] = true;
        if (g->repeats.n && !reads_are_sound(&c, id, &walk))
            return c.fault;
    }
    for (uint32_t k = 0; k < g->outputs.n && g->repeats.n; k++)
        VEC_FOREACH (const Channel, channel, &g->outputs.at[k].channels)
            if (tessi_stage(g, channel->stage)->repeat)
                return tessi_sprintf(a, "result '%s' is inside of a repeat", g->outputs.at[k].name);
    for (uint32_t k = 1; k <= g->repeats.n; k++) {
        const Repeat *r = &g->repeats.at[k - 1];
        const bool known =
            r->count.from == COUNT_FROM_NOTHING
            || r->count.ref < (r->count.from == COUNT_FROM_SCALAR ? g->scalars.n : g->params.n);
        if (!seen[k] || !r->carried.n || r->count.by < 1 || !known
            || (r->count.from == COUNT_FROM_SCALAR
                && !tessi_is_integer(g->scalars.at[r->count.ref].type)))
            return tessi_sprintf(a, "repeat '%s' is malformed", r->name);
        for (uint32_t i = 0; i < r->carried.n; i++) {
            if (!carried_is_sound(&c, k, i))
                return c.fault;
            n_known += r->carried.at[i].last.v ? 2 : 1;
        }
        if (!chains_are_sound(&c, r) || !condition_is_sound(&c, k))
            return c.fault;
    }
    return n_known == n_carried ? NULL : "a stage is carried by no repeat";
}
