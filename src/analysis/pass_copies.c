/* A stage that holds nothing but the values of a reduction or scan, as `wrap<uint32>(cumulate(photo, 1))` does, is that
 * one itself where nobody else reads it: a conversion of integers that leaves high bits out is made as its values are
 * stored. */
#include "analysis/passes.h"
#include "graph/access.h"
#include "graph/graph_passes.h"

enum { MANY = 2 }; /* of those who read what is seen outside or carried from turn to turn */

typedef struct Readers {
    const Graph *g;
    StageId *last; /* by stage */
    uint32_t *n;
} Readers;

static void count(Readers *r, StageId read, StageId by)
{
    if (r->last[read.v].v != by.v)
        r->n[read.v]++;
    r->last[read.v] = by;
}

static Readers count_readers(const Graph *g, Arena *scratch)
{
    Readers r = { g, ARENA_NEW_ARRAY(scratch, StageId, g->stages.n),
                  ARENA_NEW_ARRAY(scratch, uint32_t, g->stages.n) };
    ExprWalk walk = { .arena = scratch };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        count(&r, s->source, id);
        count(&r, s->keys, id);
        VEC_FOREACH (const Piece, p, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &p->body, 1);
            VEC_FOREACH (const ExprId, e, list)
                if (tessi_expr(g, *e)->kind == EXPR_LOAD)
                    count(&r, tessi_access(g, tessi_expr(g, *e)->access)->producer, id);
        }
    }
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            r.n[c->stage.v] += MANY;
    VEC_FOREACH (const Repeat, repeat, &g->repeats) {
        r.n[repeat->until.v] += MANY;
        VEC_FOREACH (const Carried, c, &repeat->carried) {
            r.n[c->first.v] += MANY;
            r.n[c->next.v] += MANY;
        }
    }
    return r;
}

static bool leaves_high_bits_out(ScalarType to, ScalarType from)
{
    return tessi_is_integer(to) && tessi_is_integer(from)
           && tessi_type_info(to)->bytes <= tessi_type_info(from)->bytes;
}

/* The reduction or scan whose values the stage holds; none: it is not of that kind. */
static StageId copied_by(const Graph *g, const Stage *s)
{
    const StageId none = { 0 };
    if (s->kind != STAGE_COMPUTE || !s->n_dims || !tessi_stage_is_plain(g, s))
        return none;
    const Expr *e = tessi_expr(g, s->pieces.at[0].body);
    const bool converts = e->kind == EXPR_CAST;
    if (converts)
        e = tessi_expr(g, e->arg[0]);
    if (e->kind != EXPR_LOAD || !tessi_access_is_at_point(g, tessi_access(g, e->access)))
        return none;
    const StageId id = tessi_access(g, e->access)->producer;
    const Stage *from = tessi_stage(g, id);
    const bool whole = from->kind == STAGE_SCAN || (from->kind == STAGE_REDUCE && from->along);
    const bool same = from->type == s->type && !converts;
    const bool wraps = !from->n_states && !from->keys.v && from->reduction != REDUCE_MEAN
                       && leaves_high_bits_out(s->type, from->type);
    return whole && (same || wraps) && from->repeat == s->repeat && from->behind == s->behind
                   && tessi_stage_same_domain(from, s)
               ? id
               : none;
}

/* It keeps its name and what is known of it in the program. */
static void become(Stage *s, const Stage *from)
{
    s->kind = from->kind;
    s->pieces = from->pieces;
    s->reduction = from->reduction;
    s->source = from->source;
    s->keys = from->keys;
    s->along = from->along;
    s->n_states = from->n_states;
    s->reverse = from->reverse;
    s->only_last = from->only_last;
}

void tessi_pass_copies(Graph *g, Arena *scratch)
{
    Readers readers = { 0 };
    GRAPH_FOREACH_STAGE (g, id) {
        const StageId from = copied_by(g, tessi_stage(g, id));
        if (from.v && !readers.n)
            readers = count_readers(g, scratch);
        if (from.v && readers.n[from.v] == 1)
            become(tessi_stage(g, id), tessi_stage(g, from));
    }
}
