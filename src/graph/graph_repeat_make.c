/* The graph with a repeat in the place of a loop whose turns are equal: before it what does not depend on it, its body
 * once, behind it what does. */
#include <string.h>

#include "graph/graph_repeat_find.h"

bool tessi_repeat_in_loop(const Finder *f, const Stage *s)
{
    return s->loop == f->loop && s->turn >= f->start;
}

bool tessi_loop_has_to_repeat(const GraphLoop *loop)
{
    return loop->of_run || loop->every;
}

bool tessi_whole_value(const Expr *e, int64_t *value)
{
    if (!tessi_is_real(e->type)) {
        *value = e->value.i;
        return e->type != TYPE_BOOL;
    }
    if (!(e->value.f >= -EXACT_REAL && e->value.f <= EXACT_REAL))
        return false;
    *value = (int64_t)e->value.f;
    return (double)*value == e->value.f;
}

/* ---- The new graph --------------------------------------------------------------------------- */

/* T<17> is called T, T<17>.r T.r, blur.T<17>_2 blur.T. */
static const char *family_name(Arena *a, const char *name)
{
    const char *open = strchr(name, '<');
    if (!open)
        return name;
    const char *close = strchr(open, '>'), *rest = close && close[1] == '.' ? close + 1 : "";
    return tessi_sprintf(a, "%.*s%s", (int)(open - name), name, rest);
}

typedef struct Building {
    Finder *f;
    Rewrite r;
    StageId *stage;
    StageId *entry; /* by place * MAX_LAG + lag - 1 */
    StageId turn_entry;
    AccessId turn_access;
    const bool *fixed; /* by stage of the model: computed before the first turn */
} Building;

static StageId carried_stage(Building *b, uint32_t q, const char *what, uint32_t lag)
{
    Graph *to = b->r.to;
    const Stage *of = tessi_stage(b->f->g, b->f->turn[b->f->model].at[q]);
    Stage s = { .kind = STAGE_CARRIED, .type = of->type, .n_dims = of->n_dims, .span = of->span };
    for (uint32_t d = 0; d < of->n_dims; d++)
        s.size[d] = tessi_rewrite_size(&b->r, of->size[d]);
    const char *name = family_name(to->arena, of->wanted), *dot = strchr(name, '.');
    const int n = dot ? (int)(dot - name) : (int)strlen(name);
    s.name = lag > 1
                 ? tessi_sprintf(to->arena, "%.*s_%s_%u%s", n, name, what, (unsigned)lag, name + n)
                 : tessi_sprintf(to->arena, "%.*s_%s%s", n, name, what, name + n);
    return tessi_graph_stage(to, &s);
}

/* A scalar of the graph. */
static StageId scalar_stage(Graph *g, const char *name, ExprId body)
{
    Stage s = { .kind = STAGE_COMPUTE, .type = TYPE_I32, .name = name };
    const Piece p = { .body = body };
    VEC_PUSH(g->arena, &s.pieces, p);
    return tessi_graph_stage(g, &s);
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    const Building *b = r->user;
    VEC_FOREACH (const Growing, grows, &b->f->growing) {
        int64_t here;
        if (grows->id.v != id.v || !tessi_whole_value(e, &here))
            continue;
        const ScalarType t =
            tessi_is_real(e->type) || tessi_type_info(e->type)->bytes < 8 ? TYPE_I32 : TYPE_I64;
        const ExprId none = { 0 };
        ExprId turn = tessi_expr_cast(r->to, t, tessi_expr_load(r->to, b->turn_access));
        const ExprId by = tessi_expr_int(r->to, t, grows->by);
        const ExprId from =
            tessi_expr_int(r->to, t, here - grows->by * (int64_t)(b->f->model - b->f->start));
        turn =
            tessi_expr_op(r->to, OP_ADD, tessi_expr_op(r->to, OP_MUL, turn, by, none), from, none);
        return tessi_expr_cast(r->to, e->type, turn);
    }
    return tessi_rewrite_rebuild(r, e);
}

static void copy_where(Building *b, bool depends)
{
    const Graph *g = b->f->g;
    const bool has_to = tessi_loop_has_to_repeat(&g->loops.at[b->f->loop - 1]);
    tessi_expr_map_clear(&b->r.map);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (tessi_repeat_in_loop(b->f, s) || s->turns_of == b->f->loop
            || b->f->depends[id.v] != depends)
            continue;
        if (b->r.to->open_repeat != s->repeat)
            tessi_expr_map_clear(&b->r.map);
        b->r.to->open_repeat = s->repeat;
        Stage own = *s;
        /* which number makes it unique depends on the turns written out, as does that of a member: x<8>.valid */
        own.name =
            has_to && strstr(s->wanted, ">.") ? family_name(b->r.to->arena, s->wanted) : s->wanted;
        own.before.at = NULL;
        own.before.n = own.before.cap = 0;
        VEC_FOREACH (const StageId, before, &s->before)
            VEC_PUSH(b->r.to->arena, &own.before, b->stage[before->v]);
        b->stage[id.v] = tessi_graph_copy_stage(&b->r, &own, NULL);
    }
    b->r.to->open_repeat = 0;
}

/* The number of the turn, where it is used: a scalar that is carried. */
static void add_turn(Building *b, Repeat *repeat, StageId zero)
{
    Graph *to = b->r.to;
    Stage s = { .kind = STAGE_CARRIED, .type = TYPE_I32, .name = "turn" };
    Carried c = { .first = zero };
    s.carried = repeat->carried.n;
    c.entry = tessi_graph_stage(to, &s);
    const Access a = { .producer = c.entry };
    b->turn_access = tessi_graph_access(to, &a);
    VEC_PUSH(to->arena, &repeat->carried, c);
}

static bool is_asked_for_turns(const Finder *f)
{
    bool any = false;
    GRAPH_FOREACH_STAGE (f->g, id)
        any = any || tessi_stage(f->g, id)->turns_of == f->loop;
    return any;
}

/* Stages that are the number of turns become what the last turn left of it. */
static void add_turns_done(Building *b, Repeat *repeat, uint32_t number)
{
    const Graph *g = b->f->g;
    if (!is_asked_for_turns(b->f))
        return;
    Stage s = { .kind = STAGE_CARRIED, .type = TYPE_I32, .name = "turns", .behind = number };
    s.carried = repeat->carried.n - 1;
    const StageId last = tessi_graph_stage(b->r.to, &s);
    repeat->carried.at[s.carried].last = last;
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_stage(g, id)->turns_of == b->f->loop)
            b->stage[id.v] = last;
}

static void add_entries(Building *b, Repeat *repeat)
{
    Finder *f = b->f;
    for (uint32_t q = 0; q < f->width; q++) {
        for (uint32_t k = 1; k <= f->lag[q]; k++) {
            Carried c = { .first = f->first[q][k - 1].v ? b->stage[f->first[q][k - 1].v]
                                                        : (StageId){ 0 } };
            c.entry = carried_stage(b, q, "before", k);
            tessi_stage(b->r.to, c.entry)->carried = repeat->carried.n;
            b->entry[q * MAX_LAG + k - 1] = c.entry;
            VEC_PUSH(b->r.to->arena, &repeat->carried, c);
            if (k <= f->model - f->start)
                b->stage[f->turn[f->model - k].at[q].v] = c.entry;
        }
    }
}

/* By stage of the model: the condition alone needs it. */
static const bool *only_for_condition(const Finder *f)
{
    bool *test = ARENA_NEW_ARRAY(f->a, bool, f->g->stages.n),
         *other = ARENA_NEW_ARRAY(f->a, bool, f->g->stages.n);
    const Stages *model = &f->turn[f->model];
    ExprWalk walk = { .arena = f->a };
    const bool any = f->g->loops.at[f->loop - 1].every > 0;
    for (uint32_t q = model->n; any && q-- > 0;) { /* readers stand behind what they read */
        const StageId id = model->at[q];
        test[id.v] = !f->lag[q] && !other[id.v];
        if (!test[id.v])
            tessi_graph_mark_read(f->g, &walk, id, other);
    }
    return test;
}

/* Numbers of whole images that are the same in all turns, and what they are made of: by stage of the model. They are
 * computed before the first turn. */
static const bool *same_in_all_turns(Finder *f)
{
    bool *fixed = ARENA_NEW_ARRAY(f->a, bool, f->g->stages.n),
         *wanted = ARENA_NEW_ARRAY(f->a, bool, f->g->stages.n);
    const Stages *model = &f->turn[f->model];
    ExprWalk walk = { .arena = f->a };
    for (uint32_t q = 0; q < model->n && !f->growing.n; q++) {
        bool *read = ARENA_NEW_ARRAY(f->a, bool, f->g->stages.n);
        const StageId id = model->at[q];
        tessi_graph_mark_read(f->g, &walk, id, read);
        fixed[id.v] = !f->lag[q] && !tessi_stage(f->g, id)->ends_loop;
        GRAPH_FOREACH_STAGE (f->g, from)
            if (read[from.v] && tessi_repeat_in_loop(f, tessi_stage(f->g, from)) && !fixed[from.v])
                fixed[id.v] = false;
    }
    for (uint32_t q = model->n; q-- > 0;) {
        const StageId id = model->at[q];
        fixed[id.v] = fixed[id.v] && (wanted[id.v] || tessi_stage_is_number(tessi_stage(f->g, id)));
        if (fixed[id.v])
            tessi_graph_mark_read(f->g, &walk, id, wanted);
    }
    return fixed;
}

/* A reduction or histogram of the same image that is there already, before the first turn or in the body; none: 0. */
static StageId same_whole(Building *b, const Stage *s)
{
    Graph *to = b->r.to;
    bool same = false;
    uint32_t id = to->stages.n;
    while (!same && id-- > 1 && tessi_stage(to, (StageId){ id })->repeat == to->open_repeat) {
        const Stage *other = tessi_stage(to, (StageId){ id });
        same = other->kind == s->kind && (s->kind == STAGE_REDUCE || s->kind == STAGE_HISTOGRAM)
               && other->reduction == s->reduction && other->along == s->along
               && other->source.v == b->stage[s->source.v].v
               && other->keys.v == b->stage[s->keys.v].v && other->type == s->type
               && (!s->n_dims || other->size[0].v == tessi_rewrite_size(&b->r, s->size[0]).v);
    }
    return (StageId){ same ? id : 0 };
}

static void add_stage_of_body(Building *b, StageId id)
{
    Stage s = *tessi_stage(b->f->g, id);
    b->stage[id.v] = b->f->lag[b->f->place[id.v]] ? (StageId){ 0 } : same_whole(b, &s);
    if (b->stage[id.v].v)
        return;
    s.name = family_name(b->f->a, s.wanted);
    s.loop = 0;
    s.ends_loop = false;
    b->stage[id.v] = tessi_graph_copy_stage(&b->r, &s, NULL);
}

static void add_fixed(Building *b)
{
    tessi_expr_map_clear(&b->r.map);
    VEC_FOREACH (const StageId, id, &b->f->turn[b->f->model])
        if (b->fixed[id->v])
            add_stage_of_body(b, *id);
}

static void add_body(Building *b, Repeat *repeat)
{
    const Finder *f = b->f;
    tessi_expr_map_clear(&b->r.map);
    const bool *test = only_for_condition(f);
    for (int tests = 0; tests <= 1; tests++)
        VEC_FOREACH (const StageId, id, &f->turn[f->model]) {
            if (b->fixed[id->v] || test[id->v] != tests)
                continue;
            add_stage_of_body(b, *id);
            if (tessi_stage(f->g, *id)->ends_loop)
                repeat->until = b->stage[id->v];
        }
}

static void add_lasts(Building *b, Repeat *repeat, uint32_t number)
{
    const Finder *f = b->f;
    Graph *to = b->r.to;
    uint32_t at = 0;
    for (uint32_t q = 0; q < f->width; q++) {
        StageId next = b->stage[f->turn[f->model].at[q].v];
        for (uint32_t k = 1; k <= f->lag[q]; k++, at++) {
            Carried *c = &repeat->carried.at[at];
            c->next = next;
            next = c->entry;
            c->last = carried_stage(b, q, "last", k);
            tessi_stage(to, c->last)->carried = at;
            tessi_stage(to, c->last)->behind = number;
        }
    }
}

/* Behind the repeat, members of the last turns are what it left. */
static void rename_lasts(Building *b, const Repeat *repeat)
{
    const Finder *f = b->f;
    uint32_t at = 0;
    for (uint32_t q = 0; q < f->width; q++)
        for (uint32_t k = 1; k <= f->lag[q]; k++, at++) {
            if (k > f->n_turns - f->start)
                continue;
            VEC_FOREACH (const StageId, id, &f->turn[f->n_turns - k])
                if (f->place[id->v] == q)
                    b->stage[id->v] = repeat->carried.at[at].last;
        }
}

static void copy_tables_of_run(Building *b)
{
    Graph *to = b->r.to;
    VEC_APPEND(to->arena, &to->loops, &b->f->g->loops);
    VEC_FOREACH (const Agreement, agreement, &b->f->g->agreements) {
        Agreement own = *agreement;
        own.a = tessi_rewrite_size(&b->r, own.a);
        own.b = tessi_rewrite_size(&b->r, own.b);
        VEC_PUSH(to->arena, &to->agreements, own);
    }
}

Graph *tessi_repeat_make(Finder *f)
{
    const Graph *g = f->g;
    const GraphLoop *loop = &g->loops.at[f->loop - 1];
    Graph *to = tessi_graph_new(g->arena, g->name);
    Building b = { .f = f, .stage = ARENA_NEW_ARRAY(f->a, StageId, g->stages.n) };
    b.entry = ARENA_NEW_ARRAY(f->a, StageId, (size_t)f->width * MAX_LAG);
    tessi_rewrite_init(&b.r, g, to, f->a);
    b.r.stage = b.stage;
    tessi_graph_copy_begin(&b.r);
    copy_where(&b, false);
    Repeat repeat = { .name = family_name(to->arena, tessi_stage(g, f->turn[f->model].at[0])->name),
                      .span = loop->span,
                      .count = loop->count,
                      .every = loop->every };
    const bool counts = f->growing.n || is_asked_for_turns(f);
    if (!loop->of_run)
        repeat.count = (RepeatCount){ .add = f->n_turns - f->start, .by = 1 };
    const uint32_t number = g->repeats.n + 1;
    const StageId zero =
        counts ? scalar_stage(to, "turn_first", tessi_expr_int(to, TYPE_I32, 0)) : (StageId){ 0 };
    b.fixed = same_in_all_turns(f);
    add_fixed(&b);
    to->open_repeat = number;
    add_entries(&b, &repeat);
    if (counts) {
        add_turn(&b, &repeat, zero);
        const ExprId none = { 0 };
        const ExprId now = tessi_expr_load(to, b.turn_access);
        repeat.carried.at[repeat.carried.n - 1].next = scalar_stage(
            to, "turn_next", tessi_expr_op(to, OP_ADD, now, tessi_expr_int(to, TYPE_I32, 1), none));
        b.r.change = change;
        b.r.user = &b;
    }
    add_body(&b, &repeat);
    b.r.change = NULL;
    to->open_repeat = 0;
    add_lasts(&b, &repeat, number);
    add_turns_done(&b, &repeat, number);
    rename_lasts(&b, &repeat);
    copy_where(&b, true);
    uint32_t *same = ARENA_NEW_ARRAY(f->a, uint32_t, g->repeats.n + 1);
    for (uint32_t k = 1; k <= g->repeats.n; k++)
        same[k] = k;
    tessi_repeats_copy(&b.r, same);
    repeat.name = tessi_stage(to, repeat.carried.at[0].next)->name;
    VEC_PUSH(to->arena, &to->repeats, repeat);
    tessi_graph_copy_end(&b.r);
    copy_tables_of_run(&b);
    return to;
}
