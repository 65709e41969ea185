/* Stages that compute the same of the same are one: a filter that is called twice, as for a gradient and a corner
 * measure of one smoothed picture, or what several statistics of an image count. Results keep a stage of their own, as
 * do images that are carried from turn to turn; what is computed for them is found once all the same. */
#include <string.h>

#include "analysis/passes.h"
#include "graph/graph_passes.h"

/* By stage: something beside stages refers to it. */
static bool *find_own(const Graph *g, Arena *a)
{
    bool *own = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    VEC_FOREACH (const Image, image, &g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            own[c->stage.v] = true;
    VEC_FOREACH (const Repeat, repeat, &g->repeats) {
        own[repeat->until.v] = true;
        VEC_FOREACH (const Carried, c, &repeat->carried)
            own[c->first.v] = own[c->entry.v] = own[c->next.v] = own[c->last.v] = true;
    }
    return own;
}

static bool same_sizes(const SizeId *a, const SizeId *b, int n)
{
    for (int d = 0; d < n; d++)
        if (a[d].v != b[d].v)
            return false;
    return true;
}

static bool same_pieces(const Stage *a, const Stage *b)
{
    if (a->pieces.n != b->pieces.n)
        return false;
    for (uint32_t k = 0; k < a->pieces.n; k++) {
        const Piece *p = &a->pieces.at[k], *q = &b->pieces.at[k];
        if (p->body.v != q->body.v || !same_sizes(p->offset, q->offset, a->n_dims)
            || !same_sizes(p->count, q->count, a->n_dims)
            || memcmp(p->step, q->step, a->n_dims * sizeof *p->step) != 0)
            return false;
    }
    return true;
}

/* Of one graph, so that equal expressions and sizes have equal numbers. */
static bool are_same(const Stage *a, const Stage *b)
{
    return a->kind == b->kind && a->type == b->type && a->n_dims == b->n_dims
           && a->repeat == b->repeat && a->source.v == b->source.v && a->keys.v == b->keys.v
           && a->reduction == b->reduction && a->along == b->along && a->n_states == b->n_states
           && a->reverse == b->reverse && a->only_last == b->only_last
           && same_sizes(a->size, b->size, a->n_dims) && same_pieces(a, b);
}

/* The stage of the copy before this one that is the same, or none. */
static StageId earlier(const Graph *copy, StageId id)
{
    const Stage *s = tessi_stage(copy, id);
    for (uint32_t k = 1; k < id.v; k++)
        if (are_same(&copy->stages.at[k], s))
            return (StageId){ k };
    return (StageId){ 0 };
}

Graph *tessi_graph_same_stages(Graph *g, Arena *a)
{
    Arena *scratch = tessi_scratch_open(a);
    Graph *copy = tessi_graph_new(scratch, g->name);
    const bool *own = find_own(g, scratch);
    bool found = false;
    Rewrite r;
    tessi_rewrite_init(&r, g, copy, scratch);
    StageId *stage = ARENA_NEW_ARRAY(scratch, StageId, g->stages.n);
    r.stage = stage;
    tessi_graph_copy_begin(&r);
    const uint32_t *number = tessi_repeat_numbers(g, tessi_graph_live(g, scratch), scratch);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        copy->open_repeat = number[s->repeat];
        StageId made = tessi_graph_copy_stage(&r, s, NULL);
        if (!own[id.v] && s->kind != STAGE_INPUT && s->kind != STAGE_CARRIED) {
            const StageId same = earlier(copy, made);
            found = found || same.v;
            made = same.v ? same : made;
        }
        stage[id.v] = made;
    }
    copy->open_repeat = 0;
    tessi_repeats_copy(&r, number);
    tessi_graph_copy_end(&r);
    Graph *without = found ? tessi_graph_copy_live(copy, a) : g;
    tessi_scratch_close(scratch);
    return without;
}
