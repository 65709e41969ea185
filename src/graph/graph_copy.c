/* Copies of graphs, without what is dead, and with other bodies. */
#include "graph/graph_passes.h"

void tessi_rewrite_bodies(Graph *g, Rewrite *r)
{
    GRAPH_FOREACH_STAGE (g, id) {
        for (uint32_t k = 0; k < tessi_stage(g, id)->pieces.n; k++) {
            ExprId body = tessi_rewrite_expr(r, tessi_stage(g, id)->pieces.at[k].body);
            tessi_stage(g, id)->pieces.at[k].body = body;
        }
    }
}

void tessi_graph_mark_read(const Graph *g, ExprWalk *walk, StageId id, bool *read)
{
    const Stage *s = tessi_stage(g, id);
    read[s->source.v] = read[s->keys.v] = true;
    VEC_FOREACH (const Piece, p, &s->pieces) {
        const ExprList *list = tessi_expr_walk(walk, g, &p->body, 1);
        VEC_FOREACH (const ExprId, it, list) {
            const Expr *e = tessi_expr(g, *it);
            if (e->kind == EXPR_LOAD)
                read[tessi_access(g, e->access)->producer.v] = true;
        }
    }
}

bool *tessi_graph_live(const Graph *g, Arena *a)
{
    bool *live = ARENA_NEW_ARRAY(a, bool, g->stages.n);
    ExprWalk walk = { .arena = a };
    VEC_FOREACH (const Image, image, &g->outputs) {
        VEC_FOREACH (const Channel, c, &image->channels)
            live[c->stage.v] = true;
    }
    for (uint32_t id = g->stages.n; id-- > 1;) { /* users stand after what they use */
        const Stage *s = &g->stages.at[id];
        if (!live[id])
            continue;
        if (s->behind)
            tessi_repeat_mark(g, s->behind, live);
        tessi_graph_mark_read(g, &walk, (StageId){ id }, live);
    }
    return live;
}

static void copy_images(Rewrite *r, bool is_output)
{
    const Graph *from = r->from;
    Arena *a = r->to->arena;
    for (uint32_t k = 0; k < (is_output ? from->outputs.n : from->inputs.n); k++) {
        Image image = is_output ? from->outputs.at[k] : from->inputs.at[k];
        const Channel *channel = image.channels.at;
        uint32_t n = image.channels.n;
        image.channels.at = NULL;
        image.channels.n = image.channels.cap = 0;
        for (uint32_t c = 0; c < n; c++) {
            Channel copy = channel[c];
            copy.stage = is_output ? r->stage[copy.stage.v] : (StageId){ 0 };
            VEC_PUSH(a, &image.channels, copy);
        }
        for (uint32_t d = 0; d < image.n_dims; d++)
            image.size[d] = tessi_rewrite_size(r, image.size[d]);
        if (is_output)
            VEC_PUSH(a, &r->to->outputs, image);
        else
            VEC_PUSH(a, &r->to->inputs, image);
    }
}

StageId tessi_graph_copy_stage(Rewrite *r, const Stage *s, const GraphChange *change)
{
    Arena *a = r->to->arena;
    Stage copy = *s;
    copy.pieces.at = NULL;
    copy.pieces.n = copy.pieces.cap = 0;
    copy.source = r->stage[s->source.v];
    copy.keys = r->stage[s->keys.v];
    for (uint32_t d = 0; d < s->n_dims; d++)
        copy.size[d] = tessi_rewrite_size(r, s->size[d]);
    VEC_FOREACH (const Piece, p, &s->pieces) {
        Piece piece = *p;
        for (uint32_t d = 0; d < s->n_dims; d++) {
            piece.offset[d] = tessi_rewrite_size(r, p->offset[d]);
            piece.count[d] = tessi_rewrite_size(r, p->count[d]);
        }
        if (change) { /* what an expression becomes may depend on where it stands */
            change->enter(change->user, r->to, &copy, &piece);
            tessi_expr_map_clear(&r->map);
        }
        piece.body = tessi_rewrite_expr(r, p->body);
        VEC_PUSH(a, &copy.pieces, piece);
    }
    StageId id = tessi_graph_stage(r->to, &copy);
    if (s->kind == STAGE_INPUT)
        r->to->inputs.at[s->image].channels.at[s->channel].stage = id;
    return id;
}

Graph *tessi_graph_copy_live(const Graph *g, Arena *a)
{
    return tessi_graph_copy(g, a, NULL);
}

void tessi_graph_copy_head(const Graph *from, Graph *to)
{
    to->fp = from->fp;
    to->masks_written = from->masks_written;
    VEC_APPEND(to->arena, &to->params, &from->params);
    VEC_APPEND(to->arena, &to->scalars, &from->scalars);
}

void tessi_graph_copy_begin(Rewrite *r)
{
    tessi_graph_copy_head(r->from, r->to);
    copy_images(r, false);
}

void tessi_graph_copy_end(Rewrite *r)
{
    Arena *a = r->to->arena;
    copy_images(r, true);
    VEC_FOREACH (const MaskForm, form, &r->from->forms) {
        MaskForm own = *form;
        own.stage = tessi_strdup(a, form->stage);
        own.fault = form->fault ? tessi_strdup(a, form->fault) : NULL;
        VEC_PUSH(a, &r->to->forms, own);
    }
    VEC_FOREACH (const Agreement, it, &r->from->agreements) {
        Agreement own = *it;
        own.a = tessi_rewrite_size(r, it->a);
        own.b = tessi_rewrite_size(r, it->b);
        own.name_a = tessi_strdup(a, it->name_a);
        own.name_b = tessi_strdup(a, it->name_b);
        VEC_PUSH(a, &r->to->agreements, own);
    }
}

Graph *tessi_graph_copy(const Graph *g, Arena *a, const GraphChange *change)
{
    Arena *scratch = tessi_scratch_open(a);
    Graph *copy = tessi_graph_new(a, g->name);
    const bool *live = tessi_graph_live(g, scratch);
    StageId *stage = ARENA_NEW_ARRAY(scratch, StageId, g->stages.n);
    Rewrite r;
    tessi_rewrite_init(&r, g, copy, scratch);
    r.stage = stage;
    if (change) {
        r.change = change->change;
        r.user = change->user;
    }
    tessi_graph_copy_begin(&r);
    const uint32_t *number = tessi_repeat_numbers(g, live, scratch);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        copy->open_repeat = number[s->repeat];
        if (live[id.v] || s->kind == STAGE_INPUT) /* an unread input still tells its size */
            stage[id.v] = tessi_graph_copy_stage(&r, s, change);
    }
    copy->open_repeat = 0;
    tessi_repeats_copy(&r, number);
    tessi_graph_copy_end(&r);
    tessi_scratch_close(scratch);
    return copy;
}
