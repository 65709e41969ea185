/* Channels of pixels. An image of three dimensions or more whose last one has a few points, as pictures have channels
 * and fields of motion components, becomes one of pixels with as many fields, and so does every stage of such a size:
 * a stage a channel, without that dimension. Vectors then are of pixels beside each other, whose elements are taken
 * apart and joined as those of records are; loops of three or four points have nothing to offer them.
 *
 * It takes readers that know which channel they read. What is read otherwise, in a window over the channels that was
 * not written out or by a sum of reals of all points, whose order counts, stays as it is, and so does whatever is no
 * longer known then. */
#include "analysis/passes.h"
#include "graph/graph_fold.h"
#include "graph/graph_passes.h"

/* Points of stages, without the channels. */
enum { LEAST_PIXELS = 16 };

typedef struct Fields {
    StageId at[MOST_FIELDS];
} Fields;

typedef struct Pixels {
    const Graph *g;
    ExprWalk walk;
    uint8_t *n;     /* by stage: its fields; 0 = it stays */
    Fields *fields; /* by stage: what they have become */
    /* While a piece of a stage is made: its coordinate in the last dimension, if the stage is taken apart */
    const Stage *stage;
    bool is_apart;
    int64_t at;
} Pixels;

/* ---- What can be taken apart ----------------------------------------------------------------------------------- */

/* Its points but for the last dimension are so few that nothing is gained. */
static bool is_tiny(const Graph *g, const Stage *s)
{
    int64_t all = 1, size;
    for (uint8_t d = 0; d + 1 < s->n_dims; d++)
        if (!tessi_size_is_const(g, s->size[d], &size) || !tessi_mul_i64(all, size, &all))
            return false;
    return all < LEAST_PIXELS;
}

/* Which points of the last dimension each piece gives is known. */
static bool pieces_are_known(const Graph *g, const Stage *s)
{
    int64_t ignored;
    const int last = s->n_dims - 1;
    VEC_FOREACH (const Piece, p, &s->pieces)
        if (!tessi_size_is_const(g, p->offset[last], &ignored)
            || !tessi_size_is_const(g, p->count[last], &ignored))
            return false;
    return true;
}

static bool is_of_kind(const Graph *g, const Stage *s)
{
    switch (s->kind) {
    case STAGE_INPUT:
        return s->n_dims >= FIELDS_OF_INPUTS_FROM && !g->inputs.at[s->image].is_mask
               && !g->inputs.at[s->image].is_struct;
    case STAGE_COMPUTE: return pieces_are_known(g, s);
    case STAGE_REDUCE: return s->along && !s->keys.v;
    case STAGE_SCAN:
    case STAGE_CARRIED: return true;
    case STAGE_HISTOGRAM: return false;
    }
    return false;
}

static void begin(Pixels *p)
{
    const Graph *g = p->g;
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        int64_t n;
        if (s->n_dims > 1 && tessi_size_is_const(g, s->size[s->n_dims - 1], &n) && n <= MOST_FIELDS
            && !is_tiny(g, s) && is_of_kind(g, s))
            p->n[id.v] = (uint8_t)n;
    }
    VEC_FOREACH (const Image, image, &g->outputs)
        if (image->is_struct || image->n_dims < FIELDS_OF_RESULTS_FROM)
            VEC_FOREACH (const Channel, c, &image->channels)
                p->n[c->stage.v] = 0;
}

/* The channel that a read by channel `at` of stage s is of, before its rule is asked; false: it may be any. */
static bool channel_of(const Graph *g, const AccessDim *dim, const Stage *s, bool is_apart,
                       int64_t at, int64_t *channel)
{
    if (dim->absolute || !tessi_size_is_const(g, dim->add, channel)
        || (dim->src >= 0 && (!is_apart || dim->src != s->n_dims - 1)))
        return false;
    if (dim->src >= 0)
        *channel += dim->scale * at;
    for (uint8_t k = 0; k < dim->n_terms; k++) {
        const AccessTerm *t = &dim->term[k];
        const Window *w = tessi_window(g, t->window);
        if (w->lo[t->var] != w->hi[t->var])
            return false;
        *channel += (int64_t)t->coef * w->lo[t->var];
    }
    return true;
}

/* Takes back one that cannot be taken apart; true where it was thought so. */
static bool keep(Pixels *p, StageId id)
{
    const bool was = p->n[id.v] != 0;
    p->n[id.v] = 0;
    return was;
}

static bool keep_both(Pixels *p, StageId a, StageId b)
{
    const bool first = keep(p, a);
    return keep(p, b) || first;
}

static bool agree(Pixels *p, StageId a, StageId b)
{
    return a.v && b.v && p->n[a.v] != p->n[b.v] && keep_both(p, a, b);
}

static bool keep_read(Pixels *p, StageId id)
{
    const Graph *g = p->g;
    const Stage *s = tessi_stage(g, id);
    bool changed = false;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(&p->walk, g, &piece->body, 1);
        VEC_FOREACH (const ExprId, it, list) {
            const Expr *e = tessi_expr(g, *it);
            if (e->kind != EXPR_LOAD)
                continue;
            const Access *a = tessi_access(g, e->access);
            int64_t ignored;
            if (p->n[a->producer.v]
                && !channel_of(g, &a->dim[a->n_dims - 1], s, p->n[id.v], 0, &ignored))
                changed |= keep(p, a->producer);
        }
    }
    return changed;
}

/* It comes to the same in any order of the points, so that it is made of those of the channels. */
static bool adds_up(const Graph *g, const Stage *s)
{
    const ScalarType t = tessi_stage(g, s->source)->type;
    return s->kind == STAGE_HISTOGRAM
           || (s->kind == STAGE_REDUCE && !s->along && !s->keys.v && !s->n_states
               && !tessi_is_real(tessi_accumulator_type(s->reduction, t)));
}

/* Reductions and running values along another dimension are of each channel by itself. */
static bool keep_source(Pixels *p, StageId id)
{
    const Stage *s = tessi_stage(p->g, id);
    if (!tessi_stage_is_whole(s) || adds_up(p->g, s))
        return false;
    const int last = tessi_stage(p->g, s->source)->n_dims - 1;
    if (s->along && s->along != last + 1 && tessi_stage_from_source(s, last) == s->n_dims - 1)
        return agree(p, id, s->source);
    const bool keys = keep(p, s->keys);
    return keep_both(p, id, s->source) || keys;
}

static bool keep_carried(Pixels *p)
{
    bool changed = false;
    VEC_FOREACH (const Repeat, r, &p->g->repeats) {
        VEC_FOREACH (const Carried, c, &r->carried) {
            changed |= agree(p, c->entry, c->next);
            changed |= agree(p, c->entry, c->first);
            changed |= agree(p, c->entry, c->last);
        }
    }
    return changed;
}

/* Takes back what cannot be, until nothing follows from it; true when something is left. */
static bool find(Pixels *p)
{
    bool changed = true, any = false;
    while (changed) {
        changed = keep_carried(p);
        GRAPH_FOREACH_STAGE (p->g, id) {
            changed |= keep_read(p, id);
            changed |= keep_source(p, id);
        }
    }
    GRAPH_FOREACH_STAGE (p->g, id)
        any |= p->n[id.v] != 0;
    return any;
}

/* ---- Reads ------------------------------------------------------------------------------------------------------ */

/* What read `a` is answered by, whose last index, of a stage taken apart, is known. */
static ExprId read_of_field(Rewrite *r, const Access *read, int64_t channel, const Fields *fields,
                            uint8_t n)
{
    Access a = *read;
    const uint8_t last = (uint8_t)(a.n_dims - 1);
    const int64_t k = tessi_border_index(a.dim[last].rule, channel, n);
    if (k < 0 && a.outside.v)
        return a.outside;
    a.producer = fields->at[k < 0 ? 0 : k]; /* none: nothing evaluates it */
    a.dim[last] = (AccessDim){ 0 };
    a.n_dims = last;
    bool has_outside = false;
    for (uint8_t d = 0; d < last; d++)
        has_outside |= a.dim[d].rule == BORDER_CONSTANT;
    if (!has_outside)
        a.outside = (ExprId){ 0 };
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    const Pixels *p = r->user;
    const int last = p->is_apart ? p->stage->n_dims - 1 : MAX_DIMS;
    (void)id;
    if (e->kind == EXPR_INDEX && e->ref == (uint32_t)last)
        return tessi_expr_int(r->to, TYPE_I32, p->at);
    const ExprId same = tessi_rewrite_rebuild(r, e);
    if (e->kind != EXPR_LOAD)
        return same;
    const Access *from = tessi_access(p->g, e->access);
    Access a = *tessi_access(r->to, tessi_expr(r->to, same)->access);
    bool changed = false;
    for (uint8_t d = 0; d < a.n_dims; d++) {
        if (a.dim[d].absolute || a.dim[d].src != last)
            continue;
        const SizeId moved = tessi_size_const(r->to, a.dim[d].scale * p->at);
        a.dim[d].add = tessi_size_add(r->to, a.dim[d].add, moved);
        a.dim[d].src = -1;
        a.dim[d].scale = 0;
        changed = true;
    }
    const uint8_t n = p->n[from->producer.v];
    int64_t channel;
    if (n && channel_of(p->g, &from->dim[from->n_dims - 1], p->stage, p->is_apart, p->at, &channel))
        return read_of_field(r, &a, channel, &p->fields[from->producer.v], n);
    return changed ? tessi_expr_load(r->to, tessi_graph_access(r->to, &a)) : same;
}

/* ---- Stages ----------------------------------------------------------------------------------------------------- */

/* Whether the piece gives channel `channel`, and by which coordinate. */
static bool piece_gives(const Graph *g, const Stage *s, const Piece *p, int64_t channel,
                        int64_t *at)
{
    const int last = s->n_dims - 1;
    int64_t offset, count;
    *at = channel;
    if (s->kind != STAGE_COMPUTE)
        return true;
    if (!tessi_size_is_const(g, p->offset[last], &offset)
        || !tessi_size_is_const(g, p->count[last], &count))
        return false;
    *at = (channel - offset) / p->step[last];
    return channel >= offset && (channel - offset) % p->step[last] == 0 && *at < count;
}

static Piece piece_of(Pixels *p, Rewrite *r, const Piece *from)
{
    Piece piece = *from;
    const uint8_t last = (uint8_t)(p->stage->n_dims - 1);
    for (uint8_t d = 0; d < last; d++) {
        piece.offset[d] = tessi_rewrite_size(r, from->offset[d]);
        piece.count[d] = tessi_rewrite_size(r, from->count[d]);
    }
    piece.step[last] = 0;
    piece.offset[last] = piece.count[last] = (SizeId){ 0 };
    tessi_expr_map_clear(&r->map);
    piece.body = tessi_rewrite_expr(r, from->body);
    return piece;
}

static Piece whole_piece(Graph *g, const Stage *s, ExprId body)
{
    Piece piece = { .body = body };
    for (uint8_t d = 0; d < s->n_dims; d++) {
        piece.step[d] = 1;
        piece.offset[d] = tessi_size_const(g, 0);
        piece.count[d] = s->size[d];
    }
    return piece;
}

static StageId copy_field(Pixels *p, Rewrite *r, const Stage *s, int64_t channel)
{
    Arena *a = r->to->arena;
    Stage copy = *s;
    copy.pieces.at = NULL;
    copy.pieces.n = copy.pieces.cap = 0;
    copy.name = tessi_sprintf(a, "%s.%d", s->name, (int)channel);
    copy.n_dims--;
    copy.channel = (uint32_t)channel;
    copy.source = s->source.v ? p->fields[s->source.v].at[channel] : s->source;
    copy.size[copy.n_dims] = (SizeId){ 0 };
    for (uint8_t d = 0; d < copy.n_dims; d++)
        copy.size[d] = tessi_rewrite_size(r, s->size[d]);
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        if (!piece_gives(p->g, s, piece, channel, &p->at))
            continue;
        const Piece own = piece_of(p, r, piece);
        VEC_PUSH(a, &copy.pieces, own);
    }
    if (s->kind == STAGE_COMPUTE && !copy.pieces.n) { /* points that no piece gives are 0 */
        const ScalarType t = s->type == TYPE_F16 ? TYPE_F32 : s->type;
        const Piece nothing = whole_piece(r->to, &copy, tessi_expr_const(r->to, t, (Value){ 0 }));
        VEC_PUSH(a, &copy.pieces, nothing);
    }
    return tessi_graph_stage(r->to, &copy);
}

/* `sum` divided by how many points the stage has. */
static ExprId mean_of(Rewrite *r, ExprId sum, const Stage *s)
{
    Graph *g = r->to;
    ExprId n = tessi_expr_real(g, TYPE_F64, 1);
    for (uint8_t d = 0; d < s->n_dims; d++) {
        const ExprId size = tessi_expr_size(g, tessi_rewrite_size(r, s->size[d]));
        n = tessi_expr_op(g, OP_MUL, n, tessi_expr_cast(g, TYPE_F64, size), (ExprId){ 0 });
    }
    return tessi_expr_op(g, OP_DIV, tessi_expr_cast(g, TYPE_F64, sum), n, (ExprId){ 0 });
}

/* A reduction or histogram of all points, from those of the channels. */
static StageId copy_sum(const Pixels *p, Rewrite *r, const Stage *s)
{
    Graph *g = r->to;
    const Stage *source = tessi_stage(p->g, s->source);
    Stage part = *s;
    const bool counts = s->kind == STAGE_HISTOGRAM, is_mean = s->reduction == REDUCE_MEAN;
    const Op op = counts ? OP_ADD : tessi_reduction_op(s->reduction);
    ExprId all = { 0 };
    for (uint8_t d = 0; d < s->n_dims; d++)
        part.size[d] = tessi_rewrite_size(r, s->size[d]);
    part.type = counts ? s->type : tessi_accumulator_type(s->reduction, source->type);
    part.reduction = is_mean ? REDUCE_SUM : s->reduction;
    for (uint8_t c = 0; c < p->n[s->source.v]; c++) {
        part.name = tessi_sprintf(g->arena, "%s.%d", s->name, c);
        part.source = p->fields[s->source.v].at[c];
        const ExprId own = tessi_expr_load_at(g, tessi_graph_stage(g, &part), NULL);
        all = c ? tessi_expr_op(g, op, all, own, (ExprId){ 0 }) : own;
    }
    part.kind = STAGE_COMPUTE;
    part.source = (StageId){ 0 };
    part.name = s->name;
    part.type = s->type;
    part.reduction = REDUCE_SUM;
    const Piece piece =
        whole_piece(g, &part, tessi_expr_cast(g, s->type, is_mean ? mean_of(r, all, source) : all));
    VEC_PUSH(g->arena, &part.pieces, piece);
    return tessi_graph_stage(g, &part);
}

/* The image, of pixels with a field for each of the stages. */
static void make_pixels(Graph *g, Image *image, const Fields *fields, uint8_t n)
{
    static const char *const name[MOST_FIELDS] = { "0", "1", "2", "3" };
    const ScalarType t = image->channels.at[0].type;
    const uint32_t bytes = tessi_type_info(t)->bytes;
    image->is_struct = true;
    image->n_dims--;
    image->size[image->n_dims] = (SizeId){ 0 };
    image->pixel_bytes = n * bytes;
    image->channels.n = 0;
    for (uint8_t c = 0; c < n; c++) {
        const Channel own = { name[c], t, c * bytes, fields->at[c] };
        VEC_PUSH(g->arena, &image->channels, own);
    }
}

static void copy_fields(Pixels *p, Rewrite *r, StageId id)
{
    const Stage *s = tessi_stage(p->g, id);
    p->is_apart = true;
    for (int64_t c = 0; c < p->n[id.v]; c++)
        p->fields[id.v].at[c] = copy_field(p, r, s, c);
    if (s->kind == STAGE_INPUT)
        make_pixels(r->to, &r->to->inputs.at[s->image], &p->fields[id.v], p->n[id.v]);
}

/* ---- Repeats ---------------------------------------------------------------------------------------------------- */

static StageId field_or_copy(const Pixels *p, const Rewrite *r, StageId id, uint8_t c)
{
    return p->n[id.v] ? p->fields[id.v].at[c] : r->stage[id.v];
}

/* Each field of what is carried is carried by itself. */
static void carry_fields(Pixels *p, Rewrite *r, uint32_t number)
{
    Graph *to = r->to;
    Repeat copy = p->g->repeats.at[number];
    const Carried *at = copy.carried.at;
    const uint32_t n = copy.carried.n;
    copy.carried.at = NULL;
    copy.carried.n = copy.carried.cap = 0;
    copy.until = r->stage[copy.until.v];
    for (uint32_t k = 0; k < n; k++) {
        const uint8_t fields = p->n[at[k].entry.v];
        for (uint8_t c = 0; c == 0 || c < fields; c++) {
            const Carried own = { field_or_copy(p, r, at[k].first, c),
                                  field_or_copy(p, r, at[k].entry, c),
                                  field_or_copy(p, r, at[k].next, c),
                                  field_or_copy(p, r, at[k].last, c) };
            tessi_stage(to, own.entry)->carried = copy.carried.n;
            if (own.last.v) {
                tessi_stage(to, own.last)->carried = copy.carried.n;
                tessi_stage(to, own.last)->behind = number + 1;
            }
            VEC_PUSH(to->arena, &copy.carried, own);
        }
    }
    VEC_PUSH(to->arena, &to->repeats, copy);
}

/* ---- The pass --------------------------------------------------------------------------------------------------- */

static void copy_stages(Pixels *p, Rewrite *r, StageId *stage)
{
    GRAPH_FOREACH_STAGE (p->g, id) {
        p->stage = tessi_stage(p->g, id);
        r->to->open_repeat = p->stage->repeat;
        if (p->n[id.v]) {
            copy_fields(p, r, id);
            stage[id.v] = p->fields[id.v].at[0];
        } else if (p->n[p->stage->source.v]) {
            stage[id.v] = copy_sum(p, r, p->stage);
        } else {
            p->is_apart = false;
            tessi_expr_map_clear(&r->map); /* of what stood in a channel */
            stage[id.v] = tessi_graph_copy_stage(r, p->stage, NULL);
        }
    }
    r->to->open_repeat = 0;
}

/* How a window is computed is said of each channel. */
static void copy_forms(const Pixels *p, Graph *to)
{
    const uint32_t n = to->forms.n;
    for (uint32_t i = 0; i < n; i++) {
        MaskForm form = to->forms.at[i];
        const StageId of = tessi_graph_stage_by_name(p->g, form.stage);
        for (uint8_t c = 0; c < p->n[of.v]; c++) {
            form.stage = tessi_stage(to, p->fields[of.v].at[c])->name;
            if (c)
                VEC_PUSH(to->arena, &to->forms, form);
            else
                to->forms.at[i] = form;
        }
    }
}

Graph *tessi_graph_pixels(Graph *g, Arena *a)
{
    Pixels p = { .g = g, .walk = { .arena = a } };
    p.n = ARENA_NEW_ARRAY(a, uint8_t, g->stages.n);
    begin(&p);
    if (!find(&p))
        return g;
    StageId *stage = ARENA_NEW_ARRAY(a, StageId, g->stages.n);
    p.fields = ARENA_NEW_ARRAY(a, Fields, g->stages.n);
    Rewrite r;
    tessi_rewrite_init(&r, g, tessi_graph_new(a, g->name), a);
    r.stage = stage;
    r.change = change;
    r.user = &p;
    tessi_graph_copy_begin(&r);
    copy_stages(&p, &r, stage);
    for (uint32_t k = 0; k < g->repeats.n; k++)
        carry_fields(&p, &r, k);
    tessi_graph_copy_end(&r);
    copy_forms(&p, r.to);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        const StageId from = g->outputs.at[o].channels.at[0].stage;
        if (p.n[from.v])
            make_pixels(r.to, &r.to->outputs.at[o], &p.fields[from.v], p.n[from.v]);
    }
    return r.to;
}
