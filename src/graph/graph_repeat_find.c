/* Finding repeats: a loop of the text whose turns are equal but for their number. One turn is held against all
 * others, expression by expression, where a read of what the turn before made is the same as the other's read of what
 * the turn before that made. */
#include <string.h>

#include "graph/graph_passes.h"

enum { MAX_LAG = 8, MAX_START = 3, EXACT_REAL = 1 << 24 };

typedef VEC(StageId) Stages;

/* A constant of the turn held against the others that grows by so much from turn to turn. */
typedef struct Growing {
    ExprId id;
    int64_t by;
} Growing;

typedef struct Finder {
    Graph *g;
    Arena *a;
    uint32_t loop, n_turns;
    uint32_t start,
        model;       /* the first turn of the repeat; the one that is held against the others */
    Stages *turn;    /* by turn: its stages */
    uint32_t *place; /* by stage: its place among those of its turn */
    uint32_t width;  /* stages of a turn */
    uint32_t *lag;   /* by place: how many turns back it is read; 0 = by its own alone */
    StageId (*first)
        [MAX_LAG]; /* by place: what stands for it before the first turn, one turn before, two .. */
    bool *depends; /* by stage: on a turn of the loop */
    VEC(Growing) growing;
    ExprId *match;   /* by expression of the model: its like in the turn at hand */
    uint32_t *stamp; /* of match */
    uint32_t epoch, n_exprs;
    const char *why;
} Finder;

static bool not_equal(Finder *f, const char *why)
{
    if (!f->why)
        f->why = why;
    return false;
}

static const char *const differ = "its turns differ in more than their number";

/* ---- Turns held against each other ----------------------------------------------------------- */

/* Stage `b`, read by turn t, is what stage `a` is, read by the model. */
static bool same_producer(Finder *f, StageId a, StageId b, uint32_t t)
{
    const Stage *s = tessi_stage(f->g, a), *o = tessi_stage(f->g, b);
    if (s->loop != f->loop || s->turn < f->start)
        return a.v == b.v || not_equal(f, differ);
    if (s->turn > f->model)
        return not_equal(f, differ);
    const uint32_t back = f->model - s->turn, place = f->place[a.v];
    if (back > MAX_LAG)
        return not_equal(f, "a turn reads what was made many turns before");
    if (t >= f->start + back)
        return (o->loop == f->loop && o->turn == t - back && f->place[b.v] == place)
               || not_equal(f, differ);
    StageId *first = &f->first[place][f->start + back - t - 1];
    if (!first->v)
        *first = b;
    if (o->type != s->type || !tessi_stage_same_domain(s, o))
        return not_equal(f,
                         "the first image has another type or size than those that the turns make");
    return first->v == b.v || not_equal(f, differ);
}

static bool whole_value(const Expr *e, int64_t *value)
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

/* A constant that is the model's, or grows with the number of the turn. */
static bool same_constant(Finder *f, ExprId id, const Expr *a, const Expr *b, uint32_t t)
{
    if (tessi_value_same(a->type, a->value, b->value))
        return true;
    int64_t here, there;
    const int64_t turns = (int64_t)f->model - t;
    if (f->g->loops.at[f->loop - 1].of_run || !whole_value(a, &here) || !whole_value(b, &there)
        || (here - there) % turns)
        return not_equal(f, differ);
    const int64_t by = (here - there) / turns;
    VEC_FOREACH (const Growing, known, &f->growing)
        if (known->id.v == id.v)
            return known->by == by || not_equal(f, differ);
    if (t != (f->model > f->start ? f->start : f->n_turns - 1)) /* it did not grow until here */
        return not_equal(f, differ);
    VEC_PUSH(f->a, &f->growing, ((Growing){ id, by }));
    return true;
}

typedef struct Pair {
    ExprId a, b;
} Pair;
typedef VEC(Pair) Pairs;

static bool same_access(Finder *f, AccessId a, AccessId b, uint32_t t, Pairs *todo)
{
    const Access *x = tessi_access(f->g, a), *y = tessi_access(f->g, b);
    if (x->n_dims != y->n_dims || !same_producer(f, x->producer, y->producer, t)
        || !x->outside.v != !y->outside.v)
        return not_equal(f, differ);
    for (uint32_t d = 0; d < x->n_dims; d++) {
        const AccessDim *m = &x->dim[d], *n = &y->dim[d];
        bool same = m->absolute == n->absolute && m->rule == n->rule && m->src == n->src
                    && m->scale == n->scale && m->add.v == n->add.v && m->n_terms == n->n_terms;
        for (uint32_t k = 0; k < m->n_terms && same; k++)
            same = m->term[k].window.v == n->term[k].window.v && m->term[k].var == n->term[k].var
                   && m->term[k].coef == n->term[k].coef;
        if (!same)
            return not_equal(f, differ);
        if (m->absolute)
            VEC_PUSH(f->a, todo, ((Pair){ m->index, n->index }));
    }
    if (x->outside.v)
        VEC_PUSH(f->a, todo, ((Pair){ x->outside, y->outside }));
    return true;
}

static bool same_table(const Graph *g, TableId a, TableId b)
{
    const Table *s = tessi_table(g, a), *t = tessi_table(g, b);
    bool same = a.v == b.v || (s->n == t->n && s->type == t->type);
    for (uint32_t k = 0; a.v != b.v && k < s->n && same; k++)
        same = tessi_value_same(s->type, s->at[k], t->at[k]);
    return same;
}

static bool same_request(const Graph *g, const Expr *a, const Expr *b)
{
    return a->kind != EXPR_WINDOW
           || tessi_expr_request(g, a).method == tessi_expr_request(g, b).method;
}

static bool same_expr(Finder *f, Pair pair, uint32_t t, Pairs *todo)
{
    const Expr *a = tessi_expr(f->g, pair.a), *b = tessi_expr(f->g, pair.b);
    const bool numbers = a->kind == EXPR_WINDOW; /* ref is the number of its request */
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->reduction != b->reduction
        || a->fused != b->fused || (!numbers && a->ref != b->ref) || a->n_args != b->n_args
        || a->size.v != b->size.v || a->window.v != b->window.v || !same_request(f->g, a, b))
        return not_equal(f, differ);
    if (a->kind == EXPR_CONST)
        return same_constant(f, pair.a, a, b, t);
    if (a->kind == EXPR_TABLE && !same_table(f->g, a->table, b->table))
        return not_equal(f, differ);
    if (a->kind == EXPR_LOAD && !same_access(f, a->access, b->access, t, todo))
        return false;
    for (uint32_t k = 0; k < a->n_args; k++) {
        if (!a->arg[k].v != !b->arg[k].v)
            return not_equal(f, differ);
        if (a->arg[k].v)
            VEC_PUSH(f->a, todo, ((Pair){ a->arg[k], b->arg[k] }));
    }
    return true;
}

static bool same_body(Finder *f, ExprId a, ExprId b, uint32_t t)
{
    Pairs todo = { 0 };
    VEC_PUSH(f->a, &todo, ((Pair){ a, b }));
    while (todo.n) {
        const Pair pair = todo.at[--todo.n];
        if (f->stamp[pair.a.v] == f->epoch && f->match[pair.a.v].v == pair.b.v)
            continue;
        if (f->stamp[pair.a.v]
            == f->epoch) /* one number stands for a constant and for the turn's */
            return not_equal(f, differ);
        f->stamp[pair.a.v] = f->epoch;
        f->match[pair.a.v] = pair.b;
        if (!same_expr(f, pair, t, &todo))
            return false;
    }
    return true;
}

static bool same_stage(Finder *f, StageId a, StageId b, uint32_t t)
{
    const Stage *s = tessi_stage(f->g, a), *o = tessi_stage(f->g, b);
    if (s->kind != o->kind || s->type != o->type || !tessi_stage_same_domain(s, o)
        || s->ends_loop != o->ends_loop || s->reduction != o->reduction || s->along != o->along
        || s->n_states != o->n_states || s->reverse != o->reverse || s->only_last != o->only_last
        || s->pieces.n != o->pieces.n)
        return not_equal(f, "its images change size, type or number from turn to turn");
    if (s->source.v && !same_producer(f, s->source, o->source, t))
        return false;
    if (!s->keys.v != !o->keys.v)
        return not_equal(f, differ);
    if (s->keys.v && !same_producer(f, s->keys, o->keys, t))
        return false;
    for (uint32_t k = 0; k < s->pieces.n; k++) {
        const Piece *p = &s->pieces.at[k], *q = &o->pieces.at[k];
        for (uint32_t d = 0; d < s->n_dims; d++)
            if (p->step[d] != q->step[d] || p->offset[d].v != q->offset[d].v
                || p->count[d].v != q->count[d].v)
                return not_equal(f, differ);
        if (!same_body(f, p->body, q->body, t))
            return false;
    }
    return true;
}

/* The places of the stages of the last turn, of which those that nobody reads are missing. */
static bool place_last(Finder *f)
{
    const Stages *last = &f->turn[f->n_turns - 1], *model = &f->turn[f->model];
    uint32_t at = 0;
    VEC_FOREACH (const StageId, id, last) {
        const Stage *s = tessi_stage(f->g, *id);
        for (; at < model->n; at++) {
            const Stage *o = tessi_stage(f->g, model->at[at]);
            if (o->span.begin == s->span.begin && o->span.end == s->span.end && o->kind == s->kind
                && o->type == s->type)
                break;
        }
        if (at == model->n)
            return not_equal(f, "its images change size, type or number from turn to turn");
        f->place[id->v] = at++;
    }
    return true;
}

/* How far back the model reads, and that all turns are equal to it. */
static bool turns_are_equal(Finder *f)
{
    const Stages *model = &f->turn[f->model];
    for (uint32_t k = 0; k < f->n_turns; k++) {
        const uint32_t t = k + f->start < f->n_turns ? k + f->start : f->n_turns;
        if (t == f->n_turns || t == f->model)
            continue;
        const Stages *turn = &f->turn[t];
        f->epoch++;
        VEC_FOREACH (const StageId, id, turn)
            if (!same_stage(f, model->at[f->place[id->v]], *id, t))
                return false;
        const uint32_t known = f->turn[t].n;
        if (known != f->width && t + 1 != f->n_turns)
            return not_equal(f, "its images change size, type or number from turn to turn");
    }
    return true;
}

/* ---- Who reads what ------------------------------------------------------------------------- */

static void read_by_model(Finder *f, StageId producer)
{
    const Stage *s = tessi_stage(f->g, producer);
    if (s->loop != f->loop || s->turn < f->start || s->turn >= f->model)
        return;
    const uint32_t back = f->model - s->turn;
    uint32_t *lag = &f->lag[f->place[producer.v]];
    *lag = back > *lag ? back : *lag;
}

/* What stands behind the loop may read what the last turns left. */
static bool read_from_behind(Finder *f, StageId producer)
{
    const Stage *s = tessi_stage(f->g, producer);
    if (s->loop != f->loop || s->turn < f->start)
        return true;
    const uint32_t back = f->n_turns - s->turn;
    uint32_t *lag = &f->lag[f->place[producer.v]];
    if (back > 1 && back > *lag)
        return not_equal(f, "a member from the middle of it is used behind it");
    *lag = back > *lag ? back : *lag;
    return true;
}

typedef bool Reader_(Finder *f, StageId producer);

static bool each_read(Finder *f, ExprWalk *walk, const Stage *s, Reader_ *visit)
{
    bool fine = !s->source.v || visit(f, s->source);
    fine = (!s->keys.v || visit(f, s->keys)) && fine;
    VEC_FOREACH (const Piece, p, &s->pieces) {
        const ExprList *list = tessi_expr_walk(walk, f->g, &p->body, 1);
        VEC_FOREACH (const ExprId, id, list) {
            const Expr *e = tessi_expr(f->g, *id);
            if (e->kind == EXPR_LOAD)
                fine = visit(f, tessi_access(f->g, e->access)->producer) && fine;
        }
    }
    return fine;
}

static bool note_model(Finder *f, StageId producer)
{
    read_by_model(f, producer);
    return true;
}

static bool is_dependent(Finder *f, StageId producer)
{
    return !f->depends[producer.v];
}

static bool in_loop(const Finder *f, const Stage *s)
{
    return s->loop == f->loop && s->turn >= f->start;
}

/* What depends on the loop stands behind it, and reads only what it leaves. */
static bool find_readers(Finder *f)
{
    Graph *g = f->g;
    ExprWalk walk = { .arena = f->a };
    VEC_FOREACH (const StageId, id, &f->turn[f->model])
        each_read(f, &walk, tessi_stage(g, *id), note_model);
    bool *all = ARENA_NEW_ARRAY(f->a, bool, g->repeats.n + 1);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        bool depends =
            in_loop(f, s) || s->turns_of == f->loop || !each_read(f, &walk, s, is_dependent);
        if (s->kind == STAGE_CARRIED) {
            const Carried *c =
                &g->repeats.at[(s->behind ? s->behind : s->repeat) - 1].carried.at[s->carried];
            depends = s->behind ? all[s->behind] : f->depends[c->first.v] || all[s->repeat];
        }
        if (s->repeat)
            all[s->repeat] = depends = depends || all[s->repeat];
        f->depends[id.v] = depends;
        if (depends && !in_loop(f, s) && !each_read(f, &walk, s, read_from_behind))
            return false;
    }
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            if (!read_from_behind(f, c->stage))
                return false;
    VEC_FOREACH (const Repeat, r, &g->repeats)
        VEC_FOREACH (const Carried, c, &r->carried)
            if (c->first.v && !read_from_behind(f, c->first))
                return false;
    /* a turn reads nothing that depends on the loop but was not made by it, and no repeat is inside */
    for (uint32_t t = f->start; t < f->n_turns; t++)
        VEC_FOREACH (const StageId, id, &f->turn[t])
            if (tessi_stage(g, *id)->repeat)
                return not_equal(f, "there is a repeat inside of it");
    return true;
}

static bool reads_foreign(Finder *f, StageId producer)
{
    return in_loop(f, tessi_stage(f->g, producer)) || !f->depends[producer.v];
}

static bool model_is_closed(Finder *f)
{
    ExprWalk walk = { .arena = f->a };
    VEC_FOREACH (const StageId, id, &f->turn[f->model])
        if (!each_read(f, &walk, tessi_stage(f->g, *id), reads_foreign))
            return not_equal(f, "there is another loop inside of it");
    return true;
}

/* Only a repeat does what the loop says. */
static bool has_to_repeat(const GraphLoop *loop)
{
    return loop->of_run || loop->every;
}

/* Every image that is carried is known before the first turn, unless there surely are enough turns. */
static bool firsts_are_known(Finder *f)
{
    const GraphLoop *loop = &f->g->loops.at[f->loop - 1];
    bool any = false;
    for (uint32_t q = 0; q < f->width; q++)
        for (uint32_t k = 0; k < f->lag[q]; k++) {
            any = true;
            if (!f->first[q][k].v && has_to_repeat(loop))
                return not_equal(f, loop->of_run ? "an image that is used behind it is not there "
                                                   "when it has no turn"
                                                 : "an image that is used behind it is not there "
                                                   "when it ends early");
        }
    return any || not_equal(f, "nothing goes from turn to turn");
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
        if (grows->id.v != id.v || !whole_value(e, &here))
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
    tessi_expr_map_clear(&b->r.map);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        if (in_loop(b->f, s) || s->turns_of == b->f->loop || b->f->depends[id.v] != depends)
            continue;
        if (b->r.to->open_repeat != s->repeat)
            tessi_expr_map_clear(&b->r.map);
        b->r.to->open_repeat = s->repeat;
        Stage own = *s;
        own.name = s->wanted; /* which number makes it unique depends on the turns written out */
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

static void add_body(Building *b, Repeat *repeat)
{
    const Finder *f = b->f;
    tessi_expr_map_clear(&b->r.map);
    const bool *test = only_for_condition(f);
    for (int tests = 0; tests <= 1; tests++)
        VEC_FOREACH (const StageId, id, &f->turn[f->model]) {
            Stage s = *tessi_stage(f->g, *id);
            if (test[id->v] != tests)
                continue;
            s.name = family_name(f->a, s.wanted);
            s.loop = 0;
            s.ends_loop = false;
            b->stage[id->v] = tessi_graph_copy_stage(&b->r, &s, NULL);
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
    VEC_FOREACH (const GraphLoop, loop, &b->f->g->loops)
        VEC_PUSH(to->arena, &to->loops, *loop);
    VEC_FOREACH (const Agreement, agreement, &b->f->g->agreements) {
        Agreement own = *agreement;
        own.a = tessi_rewrite_size(&b->r, own.a);
        own.b = tessi_rewrite_size(&b->r, own.b);
        VEC_PUSH(to->arena, &to->agreements, own);
    }
}

static Graph *with_repeat(Finder *f)
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

/* ---- All loops ------------------------------------------------------------------------------- */

static void find_turns(Finder *f)
{
    f->n_turns = 0;
    GRAPH_FOREACH_STAGE (f->g, id) {
        const Stage *s = tessi_stage(f->g, id);
        if (s->loop == f->loop && s->turn >= f->n_turns)
            f->n_turns = s->turn + 1;
    }
    f->turn = ARENA_NEW_ARRAY(f->a, Stages, f->n_turns + 1);
    f->place = ARENA_NEW_ARRAY(f->a, uint32_t, f->g->stages.n);
    f->depends = ARENA_NEW_ARRAY(f->a, bool, f->g->stages.n);
    f->match = ARENA_NEW_ARRAY(f->a, ExprId, f->g->exprs.n);
    f->stamp = ARENA_NEW_ARRAY(f->a, uint32_t, f->g->exprs.n);
    GRAPH_FOREACH_STAGE (f->g, id) {
        const Stage *s = tessi_stage(f->g, id);
        if (s->loop != f->loop)
            continue;
        f->place[id.v] = f->turn[s->turn].n;
        VEC_PUSH(f->a, &f->turn[s->turn], id);
    }
}

static bool is_repeat_from(Finder *f, uint32_t start, uint32_t least)
{
    if (f->n_turns < start + least)
        return false;
    f->start = start;
    f->model = f->n_turns - 1;
    if (f->turn[f->model].n < f->turn[f->model - 1].n)
        f->model--;
    f->width = f->turn[f->model].n;
    f->lag = ARENA_NEW_ARRAY(f->a, uint32_t, f->width + 1);
    f->first = (StageId(*)[MAX_LAG])(void *)ARENA_NEW_ARRAY(f->a, StageId,
                                                            (size_t)(f->width + 1) * MAX_LAG);
    f->growing.n = 0;
    f->why = NULL;
    memset(f->depends, 0, f->g->stages.n * sizeof *f->depends);
    return f->width && place_last(f) && turns_are_equal(f) && find_readers(f) && model_is_closed(f)
           && firsts_are_known(f);
}

static bool has_stages(const Graph *g, uint32_t loop)
{
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_stage(g, id)->loop == loop)
            return true;
    return false;
}

static Graph *try_loop(Graph *g, Arena *a, uint32_t loop, uint32_t least, const char **why)
{
    Finder f = { .g = g, .a = a, .loop = loop };
    const bool has_to = has_to_repeat(&g->loops.at[loop - 1]);
    find_turns(&f);
    for (uint32_t start = 0; start <= (has_to ? 0 : MAX_START); start++) {
        if (is_repeat_from(&f, start, has_to ? 2 : least))
            return with_repeat(&f);
        if (!start)
            *why = f.why;
    }
    return g;
}

Graph *tessi_graph_find_repeats(Graph *g, Arena *a, uint32_t least, const char **fault, Span *span,
                                bool *of_run)
{
    *fault = NULL;
    for (uint32_t loop = 1; loop <= g->loops.n; loop++) {
        Arena *scratch = tessi_scratch_open(a);
        const char *why = NULL;
        const uint32_t before = g->repeats.n;
        g = try_loop(g, scratch, loop, least, &why);
        tessi_scratch_close(scratch);
        if (g->repeats.n != before || !has_to_repeat(&g->loops.at[loop - 1])
            || !has_stages(g, loop))
            continue;
        *fault = why ? why : "nothing goes from turn to turn";
        *span = g->loops.at[loop - 1].span;
        if (of_run)
            *of_run = g->loops.at[loop - 1].of_run;
        break;
    }
    return g;
}
