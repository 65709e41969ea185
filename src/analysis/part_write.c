/* The graph of a part: that of the whole, with offsets, sizes and numbers of the whole as given. */
#include "analysis/part.h"
#include "graph/graph_passes.h"
#include "graph/graph_rewrite.h"

typedef struct Writer {
    PartPass *pass;
    Arena *arena;
    StageId *stage;     /* by StageId of the whole: that of the part */
    StageId reader;     /* whose body is being rewritten */
    const Piece *piece; /* of it */
} Writer;

/* ---- What is given --------------------------------------------------------------------------- */
static bool is_taken(const Graph *g, const char *name)
{
    VEC_FOREACH (const Stage, s, &g->stages)
        if (s->name && tessi_streq(s->name, name))
            return true;
    VEC_FOREACH (const Scalar, s, &g->scalars)
        if (tessi_streq(s->name, name))
            return true;
    VEC_FOREACH (const Param, p, &g->params)
        if (tessi_streq(p->name, name))
            return true;
    VEC_FOREACH (const Image, i, &g->inputs)
        if (tessi_streq(i->name, name))
            return true;
    for (uint32_t t = 1; t < g->tables.n; t++)
        if (g->tables.at[t].name && tessi_streq(g->tables.at[t].name, name))
            return true;
    return false;
}

static bool is_same_given(const PartGiven *a, const PartGiven *b)
{
    return a->kind == b->kind && a->dim == b->dim && a->step.num == b->step.num
           && a->step.den == b->step.den && a->size.v == b->size.v && a->stage.v == b->stage.v
           && a->end == b->end;
}

/* The place of what is given among all that is; it is added where it is new. */
static PartGiven *given(Writer *w, PartGiven key, bool *is_new)
{
    PartPass *p = w->pass;
    VEC_FOREACH (PartGiven, it, &p->given)
        if (is_same_given(it, &key)) {
            *is_new = false;
            return it;
        }
    key.name = tessi_sprintf(w->arena, "given_%u", p->given.n);
    while (is_taken(p->whole, key.name))
        key.name = tessi_sprintf(w->arena, "%s_", key.name);
    VEC_PUSH(w->arena, &p->given, key);
    *is_new = true;
    return &p->given.at[p->given.n - 1];
}

static ExprId given_scalar(Writer *w, PartGiven key, ScalarType type)
{
    Graph *to = w->pass->graph;
    bool is_new;
    const PartGiven *it = given(w, key, &is_new);
    if (is_new) {
        const Scalar scalar = { .name = it->name, .type = type };
        VEC_PUSH(w->arena, &to->scalars, scalar);
    }
    for (uint32_t i = 0; i < to->scalars.n; i++)
        if (tessi_streq(to->scalars.at[i].name, it->name))
            return tessi_expr_scalar(to, i);
    return (ExprId){ 0 };
}

/* An image whose stage stands for `s` of the whole. */
static StageId given_image(Writer *w, PartGiven key, const Stage *s, int n_dims, const SizeId *size)
{
    Graph *to = w->pass->graph;
    bool is_new;
    key.is_image = true;
    const PartGiven *it = given(w, key, &is_new);
    Image image = { .name = it->name, .pixel_bytes = tessi_type_info(s->type)->bytes };
    Stage stage = { .name = s->name, .kind = STAGE_INPUT, .type = s->type };
    stage.n_dims = image.n_dims = (uint8_t)n_dims;
    for (int d = 0; d < n_dims; d++)
        stage.size[d] = image.size[d] = size[d];
    stage.image = to->inputs.n;
    Channel channel = { .name = "", .type = s->type };
    VEC_PUSH(w->arena, &image.channels, channel);
    VEC_PUSH(w->arena, &to->inputs, image);
    const StageId id = tessi_graph_stage(to, &stage);
    to->inputs.at[stage.image].channels.at[0].stage = id;
    return id;
}

/* The size of a stage of the part in dimension d. */
static SizeId changed_extent(Writer *w, Rewrite *r, StageId id, int d)
{
    Graph *to = w->pass->graph;
    const int64_t end = w->pass->end[id.v][d];
    const PartGiven key = { GIVEN_END, .dim = d, .step = w->pass->step[id.v][d], .end = end };
    bool is_new;
    if (!end || !tessi_part_cuts(w->pass, id, d))
        return tessi_rewrite_size(r, tessi_stage(r->from, id)->size[d]);
    const PartGiven *it = given(w, key, &is_new);
    if (is_new) {
        const Param param = { .name = it->name };
        VEC_PUSH(w->arena, &to->params, param);
    }
    for (uint32_t i = 0; i < to->params.n; i++)
        if (tessi_streq(to->params.at[i].name, it->name))
            return tessi_size_param(to, i);
    return (SizeId){ 0 };
}

/* ---- Bodies ---------------------------------------------------------------------------------- */
/* How many points of the whole lie before a part's point `here`, and not in the part. In a folded one those at the
 * other end have more. */
static ExprId points_before(Writer *w, ExprId here, int d, Ratio step)
{
    Graph *to = w->pass->graph;
    PartGiven key = { .kind = GIVEN_OFFSET, .dim = d, .step = step };
    const ExprId offset = given_scalar(w, key, TYPE_I32);
    if (!w->pass->folded[d])
        return offset;
    key.kind = GIVEN_SEAM;
    const ExprId seam = given_scalar(w, key, TYPE_I32);
    key.kind = GIVEN_BEHIND;
    const ExprId behind = given_scalar(w, key, TYPE_I32);
    const ExprId is_before = tessi_expr_op(to, OP_LT, here, seam, (ExprId){ 0 });
    return tessi_expr_op(to, OP_SELECT, is_before, offset, behind);
}

static ExprId changed_index(Writer *w, Rewrite *r, const Expr *e)
{
    const PartPass *p = w->pass;
    const int d = (int)e->ref;
    const ExprId here = tessi_rewrite_rebuild(r, e);
    const Stage *s = tessi_stage(p->whole, w->reader);
    if (!tessi_part_cuts(p, w->reader, d) || d >= s->n_dims)
        return here;
    const Ratio step = tessi_ratio_times(p->step[w->reader.v][d], (Ratio){ w->piece->step[d], 1 });
    const ExprId there =
        tessi_expr_op(r->to, OP_ADD, here, points_before(w, here, d, step), (ExprId){ 0 });
    if (!p->periodic[d])
        return there;
    const PartGiven size = { .kind = GIVEN_SIZE, .size = p->base[d] };
    return tessi_expr_op(r->to, OP_MOD, there, given_scalar(w, size, TYPE_I32), (ExprId){ 0 });
}

static ExprId changed_size(Writer *w, Rewrite *r, const Expr *e)
{
    int64_t n;
    if (tessi_size_is_const(r->from, e->size, &n))
        return tessi_rewrite_rebuild(r, e);
    return given_scalar(w, (PartGiven){ .kind = GIVEN_SIZE, .size = e->size }, TYPE_I32);
}

/* The type that reading a stage of this type gives. */
static ExprId changed_number(Writer *w, Rewrite *r, const Expr *e, StageId id)
{
    const Stage *s = tessi_stage(r->from, id);
    const PartGiven key = { .kind = GIVEN_NUMBER, .stage = id };
    if (tessi_type_info(s->type)->bytes < 8 || tessi_is_real(s->type))
        return given_scalar(w, key, e->type);
    Access a = { .producer = w->stage[id.v], .n_dims = 1 }; /* scalars are told as doubles */
    a.dim[0] = (AccessDim){ .rule = BORDER_CLAMP, .src = -1, .add = tessi_size_const(r->to, 0) };
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

/* A computed index says which point of the whole is read; the part begins at one of them. A stage that ends before the
 * part has a point there, which may read outside what is inside by the graph's word. */
static ExprId changed_load(Writer *w, Rewrite *r, const Expr *e)
{
    const PartPass *p = w->pass;
    const Access *from = tessi_access(r->from, e->access);
    const ExprId made = tessi_rewrite_rebuild(r, e);
    Access a = *tessi_access(r->to, tessi_expr(r->to, made)->access);
    bool changed = false;
    for (int d = 0; d < from->n_dims; d++) {
        if (p->end[w->reader.v][d] && a.dim[d].rule == BORDER_INSIDE
            && tessi_part_cuts(p, w->reader, d)) {
            a.dim[d].rule = BORDER_CLAMP;
            changed = true;
        }
        if (!from->dim[d].absolute || !tessi_part_cuts(p, from->producer, d))
            continue;
        const ExprId here =
            tessi_expr_index(r->to, (uint32_t)d); /* the readers' points are these */
        a.dim[d].index = tessi_expr_op(r->to, OP_SUB, a.dim[d].index,
                                       points_before(w, here, d, (Ratio){ 1, 1 }), (ExprId){ 0 });
        changed = true;
    }
    return changed ? tessi_expr_load(r->to, tessi_graph_access(r->to, &a)) : made;
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Writer *w = r->user;
    (void)id;
    if (e->kind == EXPR_INDEX)
        return changed_index(w, r, e);
    if (e->kind == EXPR_SIZE)
        return changed_size(w, r, e);
    if (e->kind == EXPR_LOAD) {
        const StageId from = tessi_access(r->from, e->access)->producer;
        const Stage *s = tessi_stage(r->from, from);
        if (s->kind == STAGE_REDUCE && tessi_stage_is_number(s))
            return changed_number(w, r, e, from);
        return changed_load(w, r, e);
    }
    return tessi_rewrite_rebuild(r, e);
}

/* ---- Stages ---------------------------------------------------------------------------------- */
static StageId copy_stage(Writer *w, Rewrite *r, StageId id, const uint32_t *input)
{
    const Stage *s = tessi_stage(r->from, id);
    Stage copy = *s;
    copy.pieces.at = NULL;
    copy.pieces.n = copy.pieces.cap = 0;
    copy.source = w->stage[s->source.v]; /* of what goes along a dimension, or by keys */
    copy.keys = w->stage[s->keys.v];
    for (int d = 0; d < s->n_dims; d++)
        copy.size[d] = changed_extent(w, r, id, d);
    if (s->kind == STAGE_INPUT)
        copy.image = input[s->image];
    w->reader = id;
    VEC_FOREACH (const Piece, p, &s->pieces) {
        Piece piece = *p;
        for (int d = 0; d < s->n_dims; d++) {
            piece.offset[d] = tessi_rewrite_size(r, p->offset[d]);
            piece.count[d] =
                p->count[d].v == s->size[d].v ? copy.size[d] : tessi_rewrite_size(r, p->count[d]);
        }
        w->piece = p;
        tessi_expr_map_clear(&r->map); /* what an index becomes depends on where it stands */
        piece.body = tessi_rewrite_expr(r, p->body);
        VEC_PUSH(w->arena, &copy.pieces, piece);
    }
    const StageId made = tessi_graph_stage(r->to, &copy);
    if (s->kind == STAGE_INPUT)
        r->to->inputs.at[copy.image].channels.at[s->channel].stage = made;
    return made;
}

static Image copy_image(Writer *w, Rewrite *r, const Image *from, bool is_output)
{
    Image image = *from;
    image.channels.at = NULL;
    image.channels.n = image.channels.cap = 0;
    VEC_FOREACH (const Channel, c, &from->channels) {
        Channel copy = *c;
        copy.stage = is_output ? w->stage[c->stage.v] : (StageId){ 0 };
        VEC_PUSH(w->arena, &image.channels, copy);
    }
    for (int d = 0; d < image.n_dims; d++)
        image.size[d] = is_output ? changed_extent(w, r, from->channels.at[0].stage, d)
                                  : tessi_rewrite_size(r, image.size[d]);
    return image;
}

static bool is_wide_number(const Stage *s)
{
    return s->kind == STAGE_REDUCE && tessi_stage_is_number(s)
           && tessi_type_info(s->type)->bytes == 8 && !tessi_is_real(s->type);
}

/* None of numbers that are given as scalars. */
static StageId write_stage(Writer *w, Rewrite *r, StageId id, const uint32_t *input)
{
    const Stage *s = tessi_stage(r->from, id);
    const bool lines = w->pass->lines && tessi_part_is_lines(r->from, s);
    SizeId size[MAX_DIMS] = { tessi_size_const(r->to, 1) };
    if (!lines && !tessi_stage_is_number(s))
        return copy_stage(w, r, id, input);
    if (is_wide_number(s))
        return given_image(w, (PartGiven){ .kind = GIVEN_NUMBER, .stage = id }, s, 1, size);
    if (!lines && s->kind != STAGE_HISTOGRAM)
        return (StageId){ 0 };
    for (int d = 0; d < s->n_dims; d++)
        size[d] = tessi_rewrite_size(r, s->size[d]);
    const PartGiven key = { .kind = lines ? GIVEN_LINES : GIVEN_COUNTS, .stage = id };
    return given_image(w, key, s, s->n_dims, size);
}

void tessi_part_write(PartPass *pass, Arena *a, const Image *outputs, uint32_t n_outputs)
{
    const Graph *g = pass->whole;
    Writer w = { .pass = pass, .arena = a };
    Graph *to = pass->graph = tessi_graph_new(a, "part");
    uint32_t *input = ARENA_NEW_ARRAY(a, uint32_t, g->inputs.n + 1);
    Rewrite r;
    w.stage = ARENA_NEW_ARRAY(a, StageId, g->stages.n);
    tessi_rewrite_init(&r, g, to, a);
    r.stage = w.stage;
    r.change = change;
    r.user = &w;
    to->loops = g->loops;
    tessi_graph_copy_head(g, to);
    VEC_FOREACH (const Image, image, &g->inputs) {
        if (!pass->reads[image - g->inputs.at])
            continue;
        input[image - g->inputs.at] = to->inputs.n;
        const Image copy = copy_image(&w, &r, image, false);
        VEC_PUSH(a, &to->inputs, copy);
    }
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        /* Of a pixel whose channels are read in part, all are there. */
        const bool channel = s->kind == STAGE_INPUT && pass->reads[s->image];
        if (!pass->wanted[id.v] && !channel)
            continue;
        w.stage[id.v] = write_stage(&w, &r, id, input);
    }
    for (uint32_t i = 0; i < n_outputs; i++) {
        const Image copy = copy_image(&w, &r, &outputs[i], true);
        VEC_PUSH(a, &to->outputs, copy);
    }
}
