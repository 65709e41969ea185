/* front/lower_program: the graph of a whole program: parameters and inputs, the values that the results need, in
 * order, and the results. */
#include "front/lower.h"

void tessi_lower_limit(Lower *l, Span span, const char *what, int64_t most)
{
    if (!l->failed)
        tessi_diag(l->d, DIAG_LIMIT, span, what, (long long)most);
    l->failed = true;
}

static uint32_t channels_of(TType t)
{
    return t.kind == TT_STRUCT ? t.st->n : 1;
}

static uint32_t channel_offset(TType t, uint32_t channel)
{
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < channel; k++)
        bytes += tessi_type_info(tessi_lower_field(t, k))->bytes;
    return bytes;
}

static void set_channels(Lower *l, Image *image, TType t, const StageId *stage)
{
    image->is_struct = t.kind == TT_STRUCT;
    image->pixel_bytes = channel_offset(t, channels_of(t));
    for (uint32_t k = 0; k < channels_of(t); k++) {
        Channel c = { .name = image->is_struct ? t.st->field[k].name : "",
                      .type = tessi_lower_field(t, k),
                      .byte_offset = channel_offset(t, k),
                      .stage = stage ? stage[k] : (StageId){ 0 } };
        VEC_PUSH(l->g->arena, &image->channels, c);
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */
static void lower_params(Lower *l)
{
    l->param = ARENA_NEW_ARRAY(l->a, uint32_t, l->t->params.n + 1);
    for (uint32_t i = 0; i < l->t->params.n; i++) {
        const TParam *p = &l->t->params.at[i];
        if (p->is_constant)
            continue;
        l->param[i] = l->g->params.n;
        Param param = { .name = p->name, .span = p->span };
        VEC_PUSH(l->g->arena, &l->g->params, param);
    }
    VEC_FOREACH (const TScalar, s, &l->t->scalars) {
        Scalar scalar = { .name = s->name,
                          .span = s->span,
                          .type = s->type,
                          .has_default = s->has_default,
                          .has_range = s->has_range,
                          .value = s->value,
                          .lo = s->lo,
                          .hi = s->hi };
        VEC_PUSH(l->g->arena, &l->g->scalars, scalar);
    }
}

static void lower_input(Lower *l, const TInput *in, uint32_t number)
{
    Image image = {
        .name = in->name, .span = in->span, .is_mask = in->is_mask, .n_dims = in->n_dims
    };
    LValue *v = &l->value[in->value->id];
    v->n_channels = channels_of(in->type);
    v->stage = ARENA_NEW_ARRAY(l->a, StageId, v->n_channels);
    for (uint32_t d = 0; d < in->n_dims; d++)
        image.size[d] = v->size[d] = tessi_lower_size_expr(l, in->size[d]);
    for (uint32_t k = 0; in->value->used && k < v->n_channels; k++) {
        Stage s = { .kind = STAGE_INPUT, .n_dims = in->n_dims, .image = number, .channel = k };
        for (uint32_t d = 0; d < in->n_dims; d++)
            s.size[d] = v->size[d];
        v->stage[k] = tessi_lower_new_stage(l, in->value, k, &s);
    }
    if (in->value->used && !in->is_mask)
        v->valid = tessi_lower_input_validity(l, in, v);
    set_channels(l, &image, in->type, v->stage);
    VEC_PUSH(l->g->arena, &l->g->inputs, image);
}

/* ---- values ---------------------------------------------------------------------------------- */
/* All turns of the loop are to be equal, while the first one may find what others do not: equal ones become one later
 * (graph_repeat_make.c). */
static bool is_in_repeat(const Lower *l, uint32_t loop)
{
    return loop && (l->t->loops.at[loop - 1].of_run || l->t->loops.at[loop - 1].every);
}

/* A reduction or histogram that there is already; none: 0. */
static StageId same_whole(const Lower *l, const TValue *v, const Stage *s)
{
    const Graph *g = l->g;
    for (uint32_t id = g->stages.n; id-- > 1 && !is_in_repeat(l, v->loop);) {
        const Stage *other = tessi_stage(g, (StageId){ id });
        if (!is_in_repeat(l, other->loop) && other->kind == s->kind && !other->n_states
            && other->reduction == s->reduction && other->source.v == s->source.v
            && other->n_dims == s->n_dims && other->along == s->along && other->keys.v == s->keys.v
            && (!s->n_dims || other->size[0].v == s->size[0].v))
            return (StageId){ id };
    }
    return (StageId){ 0 };
}

/* The sizes of what goes along a dimension of its base. */
static void sizes_along(Lower *l, const TValue *v, LValue *out)
{
    uint32_t n = 0;
    for (int d = 0; d < v->base->n_dims; d++)
        if (v->n_dims == v->base->n_dims || d != v->along - 1)
            out->size[n++] = l->value[v->base->id].size[d];
}

/* The keys of a reduction by them; none: it has none. */
static StageId keys_of(Lower *l, const TValue *v)
{
    if (!v->keys)
        return (StageId){ 0 };
    const LValue *keys = &l->value[v->keys->id], *base = &l->value[v->base->id];
    const StageId found = tessi_lower_countable(l, v->keys);
    bool same = true;
    for (int d = 0; d < v->base->n_dims; d++)
        same = same && keys->size[d].v == base->size[d].v;
    if (same)
        return found;
    /* The run sees to it that the sizes are one, which is then that of the image. */
    tessi_lower_must_agree(l, v, v->keys, "its keys");
    return tessi_lower_pointwise(l, base->stage[0], "keys", tessi_stage(l->g, found)->type,
                                 tessi_lower_own_point(l, found));
}

static ExprId reduced(Lower *l, const TValue *v, const LValue *out, StageId source, Reduction r,
                      ScalarType type)
{
    Stage s = { .kind = STAGE_REDUCE,
                .reduction = r,
                .source = source,
                .keys = keys_of(l, v),
                .type = type,
                .along = v->along,
                .n_dims = v->n_dims };
    for (uint32_t d = 0; d < v->n_dims; d++)
        s.size[d] = out->size[d];
    StageId stage = same_whole(l, v, &s);
    s.name = tessi_sprintf(l->a, "%s.%s", v->name ? v->name : "mean", tessi_reduction_name(r));
    s.span = v->span;
    if (!stage.v)
        stage = tessi_lower_add_stage(l, &s);
    return tessi_expr_cast(l->g, TYPE_F64, tessi_lower_own_point(l, stage));
}

/* The total of the valid points divided by their number; of no point NaN. */
static StageId mean_of_valid(Lower *l, const TValue *v, const LValue *out, uint32_t channel,
                             StageId zeroed)
{
    Graph *g = l->g;
    const ScalarType of = tessi_stage(g, zeroed)->type;
    const ScalarType exact = v->keys ? TYPE_F64 : tessi_value_type(of);
    const ScalarType sum = tessi_is_real(of) ? exact : TYPE_I64;
    const StageId valid = tessi_lower_all_valid(l, v->base);
    const ExprId total = reduced(l, v, out, zeroed, REDUCE_SUM, sum);
    const ExprId points = reduced(l, v, out, valid, REDUCE_COUNT, TYPE_I64);
    const ExprId mean = tessi_expr_op(g, OP_DIV, total, points, (ExprId){ 0 });
    Stage s = { .kind = STAGE_COMPUTE, .n_dims = v->n_dims };
    for (uint32_t d = 0; d < v->n_dims; d++)
        s.size[d] = out->size[d];
    tessi_lower_whole_piece(l, &s, tessi_expr_cast(g, tessi_lower_field(v->type, channel), mean));
    return tessi_lower_new_stage(l, v, channel, &s);
}

/* A line is valid where one of its points is; a count of them always. */
static void validity_along(Lower *l, const TValue *v, LValue *out)
{
    const StageId valid = l->value[v->base->id].valid;
    if (!v->along || !valid.v || v->reduction == REDUCE_COUNT)
        return;
    const ExprId points = reduced(l, v, out, valid, REDUCE_COUNT, TYPE_I64);
    const ExprId some =
        tessi_expr_op(l->g, OP_NE, points, tessi_expr_real(l->g, TYPE_F64, 0), (ExprId){ 0 });
    out->valid = tessi_lower_pointwise(l, out->stage[0], "valid", TYPE_BOOL, some);
}

/* The steps of a scan, or of a reduction of one's own, as pieces of the stage. */
static void give_steps(Lower *l, const TValue *v, uint32_t channel, Stage *s)
{
    LBody vector_level = { .epoch = 1, .body_epoch = 1 };
    TExpr *const bodies[3] = { v->expr, v->start, v->both };
    s->n_states = v->n_states;
    for (uint32_t i = 0; v->n_states && i < 3 && bodies[i]; i++)
        tessi_lower_whole_piece(l, s, tessi_lower_expr(l, &vector_level, bodies[i], channel));
}

/* Steps go along images all of whose points are valid. */
static void refuse_holes(Lower *l, const TValue *v)
{
    const bool holes = l->value[v->base->id].valid.v || (v->keys && l->value[v->keys->id].valid.v);
    if (v->n_states && holes) {
        if (!l->failed)
            tessi_diag(l->d, DIAG_SCAN_VALID, v->span);
        l->failed = true;
    }
}

static void lower_whole(Lower *l, const TValue *v, LValue *out)
{
    if (v->kind == TV_HISTOGRAM || v->keys)
        out->size[0] = tessi_lower_size_expr(l, v->bins);
    else if (v->along)
        sizes_along(l, v, out);
    refuse_holes(l, v);
    for (uint32_t k = 0; k < out->n_channels; k++) {
        Stage s = { .kind = v->kind == TV_HISTOGRAM ? STAGE_HISTOGRAM : STAGE_REDUCE,
                    .n_dims = v->n_dims,
                    .reduction = v->reduction,
                    .along = v->along,
                    .keys = keys_of(l, v),
                    .source = tessi_lower_valid_points(l, v, k) };
        for (uint32_t d = 0; d < v->n_dims; d++)
            s.size[d] = out->size[d];
        if (v->n_states) {
            give_steps(l, v, k, &s);
            out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
            continue;
        }
        if (v->kind == TV_REDUCE && v->reduction == REDUCE_MEAN
            && (v->keys || l->value[v->base->id].valid.v)) {
            out->stage[k] = mean_of_valid(l, v, out, k, s.source);
            continue;
        }
        out->stage[k] = same_whole(l, v, &s);
        if (!out->stage[k].v)
            out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
    }
    validity_along(l, v, out);
}

static void lower_scan(Lower *l, const TValue *v, LValue *out)
{
    sizes_along(l, v, out);
    refuse_holes(l, v);
    for (uint32_t k = 0; k < out->n_channels; k++) {
        Stage s = { .kind = STAGE_SCAN,
                    .n_dims = v->n_dims,
                    .reduction = v->reduction,
                    .along = v->along,
                    .reverse = v->reverse,
                    .only_last = v->only_last,
                    .source = tessi_lower_valid_points(l, v, k) };
        for (uint32_t d = 0; d < v->n_dims; d++)
            s.size[d] = out->size[d];
        give_steps(l, v, k, &s);
        out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
    }
}

static bool reads_a_stage(const Lower *l, const TExpr *e)
{
    if (e->kind == TE_VALUE)
        return l->value[e->image->id].scalar == NULL;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (reads_a_stage(l, e->arg[i]))
            return true;
    }
    return false;
}

/* A scalar computed from reductions, or that has to do with turns of loops, is a stage without dimensions; one of
 * inputs only is an expression at each use. */
static void lower_scalar(Lower *l, const TValue *v, LValue *out)
{
    LBody vector_level = { .epoch = 1, .body_epoch = 1 };
    bool stage = v->is_stage || reads_a_stage(l, v->expr);
    if (!stage)
        out->scalar = ARENA_NEW_ARRAY(l->a, ExprId, out->n_channels);
    for (uint32_t k = 0; k < out->n_channels; k++) {
        ExprId e = tessi_lower_expr(l, &vector_level, v->expr, k);
        if (!stage) {
            out->scalar[k] = e;
            continue;
        }
        Stage s = { .kind = STAGE_COMPUTE };
        Piece p = { .body = e };
        VEC_PUSH(l->g->arena, &s.pieces, p);
        out->stage[k] = tessi_lower_new_stage(l, v, k, &s);
    }
}

static void lower_field(Lower *l, const TValue *v, LValue *out)
{
    const LValue *base = &l->value[v->base->id];
    out->stage[0] = base->stage[v->number];
    out->valid = base->valid;
    if (base->scalar)
        out->scalar = &base->scalar[v->number];
    for (uint32_t d = 0; d < v->n_dims; d++)
        out->size[d] = base->size[d];
}

static void lower_value(Lower *l, const TValue *v)
{
    LValue *out = &l->value[v->id];
    out->n_channels = channels_of(v->type);
    out->stage = ARENA_NEW_ARRAY(l->a, StageId, out->n_channels);
    switch (v->kind) {
    case TV_CALL: tessi_lower_call(l, v, out); break;
    case TV_FIELD: lower_field(l, v, out); break;
    case TV_SUBDOMAIN: tessi_lower_subdomain(l, v, out); break;
    case TV_COMPOSE: tessi_lower_compose(l, v, out); break;
    case TV_VALID: tessi_lower_with_validity(l, v, out); break;
    case TV_REDUCE:
    case TV_HISTOGRAM: lower_whole(l, v, out); break;
    case TV_SCAN: lower_scan(l, v, out); break;
    case TV_SCALAR: lower_scalar(l, v, out); break;
    case TV_INPUT:
    case TV_ERROR: break;
    }
}

/* ---- results --------------------------------------------------------------------------------- */
static bool already_returned(const Lower *l, StageId s)
{
    VEC_FOREACH (const Image, image, &l->g->outputs) {
        VEC_FOREACH (const Channel, c, &image->channels) {
            if (c->stage.v == s.v)
                return true;
        }
    }
    return false;
}

/* A stage of its own for a returned channel: a result is never an input, nor returned twice, and a scalar becomes an
 * image of one point. */
static StageId returned_stage(Lower *l, const TOutput *o, Image *image, uint32_t k,
                              const StageId *before)
{
    const TValue *v = o->value;
    const LValue *value = &l->value[v->id];
    bool scalar = v->n_dims == 0;
    const bool holes = value->valid.v != 0;
    if (!scalar && !holes) {
        StageId s = value->stage[k];
        bool twice = already_returned(l, s);
        for (uint32_t i = 0; i < k; i++)
            twice |= before[i].v == s.v;
        if (!twice && tessi_stage(l->g, s)->kind != STAGE_INPUT)
            return s;
    }
    TValue named = *v;
    named.name = o->name;
    named.span = o->span;
    named.loop = named.turns_of = 0;
    Stage s = { .kind = STAGE_COMPUTE, .n_dims = image->n_dims };
    Piece p = { .body = { 0 } };
    SizeId add[MAX_DIMS];
    for (uint32_t d = 0; d < image->n_dims; d++) {
        s.size[d] = p.count[d] = image->size[d];
        p.step[d] = 1;
        p.offset[d] = add[d] = tessi_size_const(l->g, 0);
    }
    p.body = scalar ? tessi_lower_value_scalar(l, v, k)
                    : tessi_lower_copy_load(l, value->stage[k], 0, add);
    if (holes)
        p.body = tessi_lower_with_nodata(l, image, k, tessi_stage(l->g, value->stage[k])->type,
                                         tessi_lower_copy_load(l, value->valid, 0, add), p.body);
    VEC_PUSH(l->g->arena, &s.pieces, p);
    return tessi_lower_new_stage(l, &named, k, &s);
}

static void lower_output(Lower *l, const TOutput *o)
{
    const TValue *v = o->value;
    Image image = { .name = o->name, .span = o->span, .n_dims = v->n_dims ? v->n_dims : 1 };
    StageId *stage = ARENA_NEW_ARRAY(l->a, StageId, channels_of(v->type));
    for (uint32_t d = 0; d < image.n_dims; d++)
        image.size[d] = v->n_dims ? l->value[v->id].size[d] : tessi_size_const(l->g, 1);
    for (uint32_t k = 0; k < channels_of(v->type); k++)
        stage[k] = returned_stage(l, o, &image, k, stage);
    set_channels(l, &image, v->type, stage);
    VEC_PUSH(l->g->arena, &l->g->outputs, image);
}

static void lower_loops(Lower *l)
{
    VEC_FOREACH (const GraphLoop, it, &l->t->loops) {
        GraphLoop loop = *it;
        if (loop.count.from == COUNT_FROM_PARAM)
            loop.count.ref = l->param[loop.count.ref];
        VEC_PUSH(l->g->arena, &l->g->loops, loop);
    }
}

/* ---- the program ----------------------------------------------------------------------------- */
Graph *tessi_lower(Arena *a, Diags *d, const Typed *t, const FrontOptions *o)
{
    Lower lower = { .a = a, .d = d, .t = t, .o = o }, *l = &lower;
    l->g = tessi_graph_new(a, o && o->name ? o->name : "program");
    l->value = ARENA_NEW_ARRAY(a, LValue, t->values.n + 1);
    l->memo = ARENA_NEW_ARRAY(a, LMemo, (size_t)t->n_exprs + 1);
    l->locals = ARENA_NEW_ARRAY(a, LMemo, (size_t)t->n_exprs + 1);
    l->visited = ARENA_NEW_ARRAY(a, LMemo, (size_t)t->n_exprs + 1);
    l->epoch = 1; /* 1 is the vector level's, where nothing is ever forgotten */
    l->max_stages = o && o->max_stages ? o->max_stages : 4096;
    l->max_unrolled = o && o->max_unrolled ? o->max_unrolled : 1000000;
    l->budget = CHECK_MAX_EVALUATION;
    lower_params(l);
    lower_loops(l);
    for (uint32_t i = 0; i < t->inputs.n; i++)
        lower_input(l, &t->inputs.at[i], i);
    for (uint32_t i = 0; i < t->values.n && !l->failed; i++) {
        if (t->values.at[i]->used && t->values.at[i]->kind != TV_INPUT)
            lower_value(l, t->values.at[i]);
    }
    for (uint32_t i = 0; i < t->outputs.n && !l->failed; i++)
        lower_output(l, &t->outputs.at[i]);
    if (l->failed) {
        if (d->n_errors == 0)
            tessi_diag(d, DIAG_INTERNAL, t->ast->result_span, "lower",
                       "an expression has no meaning");
        return NULL;
    }
    const char *wrong = tessi_graph_verify(l->g);
    if (wrong) {
        tessi_diag(d, DIAG_INTERNAL, t->ast->result_span, "lower", wrong);
        return NULL;
    }
    return l->g;
}

Graph *tessi_front(Arena *a, Diags *d, SourceMap *sources, const Ast *ast, const FrontOptions *o,
                   Typed **typed_out)
{
    (void)sources; /* the diagnostics know it; kept for symmetry with the parser */
    Typed *t = tessi_check(a, d, ast, o);
    if (typed_out)
        *typed_out = t;
    return d->n_errors ? NULL : tessi_lower(a, d, t, o);
}
