/* Finding repeats: a loop of the text whose turns are equal but for their number. One turn is held against all
 * others, expression by expression, where a read of what the turn before made is the same as the other's read of what
 * the turn before that made. */
#include <string.h>

#include "graph/graph_repeat_find.h"

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

/* A constant that is the model's, or grows with the number of the turn. */
static bool same_constant(Finder *f, ExprId id, const Expr *a, const Expr *b, uint32_t t)
{
    if (tessi_value_same(a->type, a->value, b->value))
        return true;
    int64_t here, there;
    const int64_t turns = (int64_t)f->model - t;
    if (f->g->loops.at[f->loop - 1].of_run || !tessi_whole_value(a, &here)
        || !tessi_whole_value(b, &there) || (here - there) % turns)
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

static ExprId under_casts(const Graph *g, ExprId id)
{
    while (tessi_expr(g, id)->kind == EXPR_CAST)
        id = tessi_expr(g, id)->arg[0];
    return id;
}

static const char *type_name(const Stage *s)
{
    return tessi_type_info(s->type)->name;
}

/* Looks below two unlike expressions for reads of images of unlike type, which is what makes most turns unlike: where
 * the loop begins with bytes and its turns make reals. */
static bool unlike(Finder *f, Pair pair)
{
    Pairs todo = { 0 };
    VEC_PUSH(f->a, &todo, pair);
    for (int left = MOST_LOOKED_AT; todo.n && left; left--) {
        pair = todo.at[--todo.n];
        const Expr *a = tessi_expr(f->g, under_casts(f->g, pair.a)),
                   *b = tessi_expr(f->g, under_casts(f->g, pair.b));
        if (a->kind == EXPR_LOAD && b->kind == EXPR_LOAD) {
            const Stage *s = tessi_stage(f->g, tessi_access(f->g, a->access)->producer),
                        *o = tessi_stage(f->g, tessi_access(f->g, b->access)->producer);
            if (s->loop == f->loop && s->type != o->type)
                return not_equal(f, tessi_sprintf(f->texts,
                                                  "it begins with '%s' of %s, and its turns make "
                                                  "'%.*s' of %s",
                                                  o->name, type_name(o), (int)strcspn(s->name, "<"),
                                                  s->name, type_name(s)));
        }
        for (uint32_t k = 0; a->kind == b->kind && k < a->n_args && k < b->n_args; k++)
            if (a->arg[k].v && b->arg[k].v)
                VEC_PUSH(f->a, &todo, ((Pair){ a->arg[k], b->arg[k] }));
    }
    return not_equal(f, differ);
}

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
        return unlike(f, pair);
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
    if (s->kind == o->kind && s->type != o->type)
        return not_equal(f, tessi_sprintf(f->texts, "'%s' is of %s and '%s' of %s", o->name,
                                          type_name(o), s->name, type_name(s)));
    if (s->kind != o->kind || !tessi_stage_same_domain(s, o) || s->ends_loop != o->ends_loop
        || s->reduction != o->reduction || s->along != o->along || s->n_states != o->n_states
        || s->reverse != o->reverse || s->only_last != o->only_last || s->pieces.n != o->pieces.n)
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
    const bool has_to = tessi_loop_has_to_repeat(&f->g->loops.at[f->loop - 1]);
    if (back > (has_to ? MAX_LAG : 1) && back > *lag)
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
        bool depends = tessi_repeat_in_loop(f, s) || s->turns_of == f->loop
                       || !each_read(f, &walk, s, is_dependent);
        if (s->kind == STAGE_CARRIED) {
            const Carried *c =
                &g->repeats.at[(s->behind ? s->behind : s->repeat) - 1].carried.at[s->carried];
            depends = s->behind ? all[s->behind] : f->depends[c->first.v] || all[s->repeat];
        }
        if (s->repeat)
            all[s->repeat] = depends = depends || all[s->repeat];
        f->depends[id.v] = depends;
        if (depends && !tessi_repeat_in_loop(f, s) && !each_read(f, &walk, s, read_from_behind))
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
    return tessi_repeat_in_loop(f, tessi_stage(f->g, producer)) || !f->depends[producer.v];
}

static bool model_is_closed(Finder *f)
{
    ExprWalk walk = { .arena = f->a };
    VEC_FOREACH (const StageId, id, &f->turn[f->model])
        if (!each_read(f, &walk, tessi_stage(f->g, *id), reads_foreign))
            return not_equal(f, "there is another loop inside of it");
    return true;
}

/* What nobody reads before it is used behind the loop has a first member too, where the family has such; else none. */
static StageId member_before(const Finder *f, uint32_t q, uint32_t k)
{
    const Stage *model = tessi_stage(f->g, f->turn[f->model].at[q]);
    VEC_FOREACH (const StageId, id, &f->turn[f->start]) {
        const Stage *s = tessi_stage(f->g, *id);
        if (f->place[id->v] != q || s->before.n <= k)
            continue;
        const StageId before = s->before.at[k];
        const Stage *o = tessi_stage(f->g, before);
        if (before.v && !f->depends[before.v] && o->type == model->type
            && tessi_stage_same_domain(o, model))
            return before;
    }
    return (StageId){ 0 };
}

/* Every image that is carried is known before the first turn, unless there surely are enough turns. */
static bool firsts_are_known(Finder *f)
{
    const GraphLoop *loop = &f->g->loops.at[f->loop - 1];
    bool any = false;
    for (uint32_t q = 0; q < f->width; q++)
        for (uint32_t k = 0; k < f->lag[q]; k++) {
            any = true;
            if (!f->first[q][k].v && tessi_loop_has_to_repeat(loop))
                f->first[q][k] = member_before(f, q, k);
            if (!f->first[q][k].v && tessi_loop_has_to_repeat(loop))
                return not_equal(f, loop->of_run ? "an image that is used behind it is not there "
                                                   "when it has no turn"
                                                 : "an image that is used behind it is not there "
                                                   "when it ends early");
        }
    return any || not_equal(f, "nothing goes from turn to turn");
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

static bool is_needed(const Graph *g, Arena *a, uint32_t loop)
{
    const bool *live = tessi_graph_live(g, a);
    bool needed = false;
    GRAPH_FOREACH_STAGE (g, id)
        needed = needed || (live[id.v] && tessi_stage(g, id)->loop == loop);
    return needed;
}

static Graph *try_loop(Graph *g, Arena *a, Arena *texts, uint32_t loop, uint32_t least,
                       const char **why)
{
    Finder f = { .g = g, .a = a, .texts = texts, .loop = loop };
    const bool has_to = tessi_loop_has_to_repeat(&g->loops.at[loop - 1]);
    find_turns(&f);
    for (uint32_t start = 0; start <= (has_to ? 0 : MAX_START); start++) {
        if (is_repeat_from(&f, start, has_to ? 2 : least))
            return tessi_repeat_make(&f);
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
        g = try_loop(g, scratch, a, loop, least, &why);
        tessi_scratch_close(scratch);
        if (g->repeats.n != before || !tessi_loop_has_to_repeat(&g->loops.at[loop - 1])
            || !is_needed(g, a, loop))
            continue;
        *fault = why ? why : "nothing goes from turn to turn";
        *span = g->loops.at[loop - 1].span;
        if (of_run)
            *of_run = g->loops.at[loop - 1].of_run;
        break;
    }
    return g;
}

Graph *tessi_graph_roll_up(Graph *g, Arena *a)
{
    const char *fault;
    Span span;
    if (!g->loops.n)
        return g;
    Graph *live = tessi_graph_copy_live(g, a);
    live->loops = g->loops;
    return tessi_graph_find_repeats(live, a, LEAST_TURNS, &fault, &span, NULL);
}
