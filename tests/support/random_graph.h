/* Random graphs with everything that a graph can have, and images to run them on: for tests that compare two
 * executions. Included by one .c file each; everything is static. */
#ifndef TESSERA_TESTS_RANDOM_GRAPH_H
#define TESSERA_TESTS_RANDOM_GRAPH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "interp/interp.h"

typedef struct RandomGraph {
    Graph *g;
    Arena *a;
    uint64_t state;
    uint8_t n_dims; /* of images */
    SizeId zero;
    /* while a body is made */
    const Stage *stage;
    WindowId window; /* open; none = 0 */
    int depth;
} RandomGraph;

static inline uint32_t draw(RandomGraph *r, uint32_t n)
{
    r->state = tessi_hash_u64(r->state, 0x2545f4914f6cdd1du);
    return (uint32_t)((r->state >> 20) % n);
}

static inline int32_t draw_from(RandomGraph *r, int32_t lo, int32_t hi)
{
    return lo + (int32_t)draw(r, (uint32_t)(hi - lo + 1));
}

static const ScalarType random_types[] = { TYPE_F32, TYPE_F32, TYPE_U8,  TYPE_I16, TYPE_F16,
                                           TYPE_F64, TYPE_I32, TYPE_U16, TYPE_I64, TYPE_BOOL };

static inline ScalarType draw_type(RandomGraph *r)
{
    return random_types[draw(r, sizeof random_types / sizeof *random_types)];
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static inline ExprId random_expr(RandomGraph *r, ScalarType t, int depth);

static inline ExprId random_const(RandomGraph *r, ScalarType t)
{
    static const double reals[] = { 0, -0.0, 1, 0.5, -3, 1.25, 1e30, 7 };
    if (tessi_is_real(t))
        return tessi_expr_real(r->g, t, reals[draw(r, 8)]);
    if (t == TYPE_BOOL)
        return tessi_expr_int(r->g, t, draw(r, 2));
    return tessi_expr_int(r->g, t, draw_from(r, tessi_is_unsigned(t) ? 0 : -4, 9));
}

static inline SizeId random_add(RandomGraph *r)
{
    SizeId c = tessi_size_const(r->g, draw_from(r, -3, 3));
    if (draw(r, 12))
        return draw(r, 3) ? c : r->zero;
    return tessi_size_add(r->g, c, tessi_size_param(r->g, draw(r, r->g->params.n)));
}

static inline void random_access_dim(RandomGraph *r, AccessDim *d, uint32_t dim, bool *constant)
{
    static const Border rules[] = { BORDER_CLAMP, BORDER_MIRROR, BORDER_REFLECT, BORDER_WRAP,
                                    BORDER_CONSTANT };
    d->rule = rules[draw(r, 5)];
    *constant = *constant || d->rule == BORDER_CONSTANT;
    d->scale = 1;
    d->src = -1;
    if (r->stage->n_dims)
        d->src = (int8_t)(draw(r, 10) ? dim % r->stage->n_dims : draw(r, r->stage->n_dims));
    d->add = random_add(r);
    uint32_t kind = draw(r, 16);
    if (kind == 0)
        d->src = -1;
    else if (kind == 1)
        d->scale = draw_from(r, -2, 3);
    if (d->src < 0 || d->scale == 0) {
        d->src = -1;
        d->scale = 0;
    }
    if (kind == 2 && r->depth > 0) {
        d->absolute = true;
        d->src = -1;
        d->scale = 0;
        d->add = (SizeId){ 0 };
        d->index = random_expr(r, TYPE_I32, r->depth - 1);
        return;
    }
    if (r->window.v && draw(r, 4)) {
        const Window *w = tessi_window(r->g, r->window);
        d->n_terms = 1;
        d->term[0] = (AccessTerm){ r->window, (uint8_t)draw(r, w->n_vars), draw_from(r, 1, 2) };
        if (draw(r, 4) == 0)
            d->term[0].coef = -1;
    }
}

/* A read of some stage, converted to t. */
static inline ExprId random_load(RandomGraph *r, ScalarType t, int depth)
{
    Graph *g = r->g;
    StageId p = { 1 + draw(r, g->stages.n - 1) };
    if (draw(r, 2)) /* rather a late one, so that chains come about */
        p.v = g->stages.n - 1;
    const Stage producer = *tessi_stage(g, p);
    ScalarType from = producer.type == TYPE_F16 ? TYPE_F32 : producer.type;
    Access a = { .producer = p, .n_dims = producer.n_dims };
    bool constant = false;
    int saved = r->depth;
    r->depth = depth;
    bool here = producer.n_dims == r->stage->n_dims && draw(r, 4) == 0;
    for (uint32_t d = 0; d < producer.n_dims; d++) {
        if (here)
            a.dim[d] =
                (AccessDim){ .rule = BORDER_CLAMP, .src = (int8_t)d, .scale = 1, .add = r->zero };
        else
            random_access_dim(r, &a.dim[d], d, &constant);
    }
    if (constant)
        a.outside = random_const(r, from);
    r->depth = saved;
    return tessi_expr_cast(g, t, tessi_expr_load(g, tessi_graph_access(g, &a)));
}

static inline ExprId random_where(RandomGraph *r, bool data)
{
    Graph *g = r->g;
    const Window w = *tessi_window(g, r->window);
    ExprId i = tessi_expr_winvar(g, r->window, 0);
    ExprId j = tessi_expr_winvar(g, r->window, w.n_vars - 1u);
    ExprId none = { 0 };
    if (data)
        return random_expr(r, TYPE_BOOL, 1);
    ExprId sum = tessi_expr_op(g, OP_ADD, tessi_expr_op(g, OP_MUL, i, i, none),
                               tessi_expr_op(g, OP_MUL, j, j, none), none);
    if (draw(r, 6) == 0)
        sum = tessi_expr_op(g, OP_MAX, sum, tessi_expr_size(g, tessi_size_param(g, 0)), none);
    return tessi_expr_op(g, OP_LE, sum, tessi_expr_int(g, TYPE_I32, draw_from(r, -1, 3)), none);
}

static inline ExprId random_window(RandomGraph *r, ScalarType t, int depth)
{
    Graph *g = r->g;
    Window w = { .level = (uint8_t)(r->window.v ? tessi_window(g, r->window)->level + 1 : 0) };
    if (w.level > 1)
        return random_load(r, t, depth);
    w.n_vars = (uint8_t)(1 + draw(r, 2));
    for (int i = 0; i < w.n_vars; i++) {
        w.lo[i] = draw_from(r, -2, 0);
        w.hi[i] = draw(r, 20) ? draw_from(r, w.lo[i], 2) : w.lo[i] - 1;
    }
    WindowId saved = r->window;
    r->window = tessi_graph_window(g, &w);
    static const Reduction ops[] = { REDUCE_SUM, REDUCE_SUM, REDUCE_PROD,
                                     REDUCE_MIN, REDUCE_MAX, REDUCE_MEDIAN };
    Reduction op = ops[draw(r, 6)];
    ScalarType body_type = t;
    if (t == TYPE_BOOL)
        op = draw(r, 2) ? REDUCE_ANY : REDUCE_ALL;
    ExprId body = random_expr(r, body_type, depth - 1), where = { 0 };
    if (draw(r, 3) == 0)
        where = random_where(r, op != REDUCE_MEDIAN && draw(r, 2));
    ExprId result;
    const Expr *product = tessi_expr(g, body);
    if (op == REDUCE_SUM && tessi_is_real(t) && product->kind == EXPR_OP && product->op == OP_MUL)
        result = tessi_expr_window_fused(g, r->window, body, where);
    else
        result = tessi_expr_window(g, op, r->window, body, where);
    r->window = saved;
    return result;
}

static inline ExprId random_leaf(RandomGraph *r, ScalarType t, int depth)
{
    Graph *g = r->g;
    switch (draw(r, 12)) {
    case 0: return random_const(r, t);
    case 1:
        if (r->stage->n_dims)
            return tessi_expr_cast(g, t, tessi_expr_index(g, draw(r, r->stage->n_dims)));
        return random_const(r, t);
    case 2:
        if (r->window.v)
            return tessi_expr_cast(g, t, tessi_expr_winvar(g, r->window, 0));
        return random_load(r, t, depth);
    case 3: return tessi_expr_cast(g, t, tessi_expr_scalar(g, draw(r, g->scalars.n)));
    case 4: return tessi_expr_cast(g, t, tessi_expr_size(g, tessi_size_param(g, 0)));
    default: return random_load(r, t, depth);
    }
}

static inline ExprId random_expr(RandomGraph *r, ScalarType t, int depth)
{
    Graph *g = r->g;
    ExprId none = { 0 };
    if (depth <= 0 || draw(r, 6) == 0)
        return random_leaf(r, t, depth);
    if (draw(r, 7) == 0)
        return random_window(r, t, depth);
    if (t == TYPE_BOOL) {
        ScalarType from = draw(r, 2) ? TYPE_F32 : TYPE_I32;
        return tessi_expr_op(g, draw(r, 2) ? OP_LT : OP_EQ, random_expr(r, from, depth - 1),
                             random_expr(r, from, depth - 1), none);
    }
    if (t != TYPE_F32 && t != TYPE_F64 && t != TYPE_I32 && t != TYPE_I64) /* as C promotes */
        return tessi_expr_cast(g, t, random_expr(r, TYPE_I32, depth - 1));
    static const Op ops[] = { OP_ADD, OP_SUB, OP_MUL, OP_ADD, OP_MUL, OP_MIN, OP_MAX, OP_DIV };
    switch (draw(r, 10)) {
    case 0:
        return tessi_expr_op(g, OP_SELECT, random_expr(r, TYPE_BOOL, depth - 1),
                             random_expr(r, t, depth - 1), random_expr(r, t, depth - 1));
    case 1:
        return tessi_expr_op(g, draw(r, 2) ? OP_NEG : OP_ABS, random_expr(r, t, depth - 1), none,
                             none);
    case 2: {
        ScalarType via = draw_type(r);
        if (via == TYPE_F16)
            via = TYPE_F64;
        ExprId e = random_expr(r, t, depth - 1);
        e = draw(r, 2) ? tessi_expr_cast(g, via, e) : tessi_expr_sat(g, via, e);
        return tessi_expr_cast(g, t, e);
    }
    case 3:
        if (tessi_is_real(t))
            return tessi_expr_op(g, OP_FMA, random_expr(r, t, depth - 1),
                                 random_expr(r, t, depth - 1), random_expr(r, t, depth - 1));
        /* fallthrough */
    default:
        return tessi_expr_op(g, ops[draw(r, 8)], random_expr(r, t, depth - 1),
                             random_expr(r, t, depth - 1), none);
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static inline void random_domain(RandomGraph *r, Stage *s)
{
    Graph *g = r->g;
    s->n_dims = r->n_dims;
    uint32_t kind = draw(r, 8);
    if (kind == 0 && s->n_dims > 1)
        s->n_dims--;
    for (uint32_t d = 0; d < s->n_dims; d++) {
        SizeId n = tessi_size_param(g, d);
        if (kind == 1)
            n = tessi_size_ceildiv(g, n, 2);
        else if (kind == 2)
            n = tessi_size_add(g, n, tessi_size_const(g, 2));
        else if (kind == 3)
            n = tessi_size_max(g, tessi_size_add(g, n, tessi_size_const(g, -2)),
                               tessi_size_const(g, 1));
        s->size[d] = n;
    }
}

static inline void add_piece(RandomGraph *r, Stage *s, bool plain)
{
    Graph *g = r->g;
    Piece p = { .body = { 0 } };
    for (uint32_t d = 0; d < s->n_dims; d++) {
        p.step[d] = plain ? 1 : draw_from(r, 1, 2);
        p.offset[d] = plain ? r->zero : tessi_size_const(g, draw_from(r, 0, 2));
        p.count[d] = s->size[d];
        if (!plain && draw(r, 2))
            p.count[d] = tessi_size_ceildiv(g, p.count[d], p.step[d]);
    }
    r->stage = s;
    ScalarType t = s->type == TYPE_F16 ? TYPE_F32 : s->type;
    p.body = random_expr(r, t, draw_from(r, 1, 4));
    VEC_PUSH(r->a, &s->pieces, p);
}

/* What goes along a dimension of its source: a reduction; running values, of one or of a step. */
static inline void go_along(RandomGraph *r, Stage *s)
{
    Graph *g = r->g;
    const Stage *source = tessi_stage(g, s->source);
    const bool keeps = draw(r, 2);
    s->along = (uint8_t)(1 + draw(r, source->n_dims));
    for (uint32_t d = 0; d < source->n_dims; d++)
        if (keeps || d + 1 != s->along)
            s->size[s->n_dims++] = source->size[d];
    const bool steps = draw(r, 2);
    if (!keeps && !steps)
        return;
    s->kind = STAGE_SCAN;
    s->reverse = draw(r, 2);
    s->only_last = !keeps;
    if (!steps) {
        s->reduction = draw(r, 2) ? REDUCE_SUM : REDUCE_MIN;
        s->type = s->reduction == REDUCE_MIN ? source->type : TYPE_F32;
        return;
    }
    s->reduction = (Reduction)0;
    s->type = TYPE_F32;
    s->n_states = (uint8_t)(1 + draw(r, 3));
    const ScalarType from = source->type == TYPE_F16 ? TYPE_F32 : source->type;
    const ExprId none = { 0 }, v = tessi_expr_cast(g, TYPE_F32, tessi_expr_state(g, 0, from));
    Piece p[2] = { { .body = v }, { .body = draw(r, 2) ? v : tessi_expr_real(g, TYPE_F32, 1) } };
    for (uint32_t k = 1; k <= s->n_states; k++) {
        const ExprId half = tessi_expr_op(g, OP_MUL, tessi_expr_state(g, k, TYPE_F32),
                                          tessi_expr_real(g, TYPE_F32, 0.25), none);
        p[0].body = tessi_expr_op(g, draw(r, 4) ? OP_ADD : OP_MAX, p[0].body, half, none);
    }
    for (int k = 0; k < 2; k++) {
        for (uint32_t d = 0; d < s->n_dims; d++) {
            p[k].step[d] = 1;
            p[k].offset[d] = r->zero;
            p[k].count[d] = s->size[d];
        }
        VEC_PUSH(r->a, &s->pieces, p[k]);
    }
}

static inline void add_stage(RandomGraph *r, uint32_t number)
{
    Graph *g = r->g;
    Stage s = { .kind = STAGE_COMPUTE, .type = draw_type(r) };
    s.name = tessi_sprintf(r->a, "s%u", (unsigned)number);
    uint32_t kind = draw(r, 12);
    if (kind <= 1) { /* a reduction or a histogram of an image */
        s.source = (StageId){ 1 + draw(r, g->stages.n - 1) };
        s.kind = kind ? STAGE_REDUCE : STAGE_HISTOGRAM;
        static const Reduction ops[] = { REDUCE_SUM, REDUCE_MIN, REDUCE_MAX, REDUCE_MEAN,
                                         REDUCE_COUNT };
        s.reduction = ops[draw(r, 5)];
        ScalarType t = tessi_stage(g, s.source)->type;
        s.type = s.reduction == REDUCE_MIN || s.reduction == REDUCE_MAX ? t : TYPE_F64;
        if (s.reduction == REDUCE_COUNT)
            s.type = TYPE_I64;
        if (!kind) {
            s.type = TYPE_U32;
            s.reduction = (Reduction)0;
            s.n_dims = 1;
            s.size[0] = tessi_size_const(g, 1 + draw(r, 9));
        }
        if (tessi_stage(g, s.source)->n_dims == 0)
            return;
        if (kind && draw(r, 4) == 0 && t != TYPE_BOOL && s.reduction != REDUCE_MEAN) {
            s.keys = s.source;
            s.n_dims = 1;
            s.size[0] = tessi_size_const(g, 1 + draw(r, 9));
        } else if (kind && draw(r, 2) && (t != TYPE_BOOL || s.reduction == REDUCE_COUNT))
            go_along(r, &s);
    } else if (kind == 2) { /* a number made of other stages */
        s.type = TYPE_F32;
        add_piece(r, &s, true);
    } else {
        random_domain(r, &s);
        uint32_t n = draw(r, 6) ? 1 : 2 + draw(r, 2);
        for (uint32_t i = 0; i < n; i++)
            add_piece(r, &s, n == 1);
    }
    tessi_graph_stage(g, &s);
}

/* ---- Whole graphs ---------------------------------------------------------------------------- */

static inline void add_input(RandomGraph *r, uint32_t number)
{
    Graph *g = r->g;
    Image image = { .name = tessi_sprintf(r->a, "in%u", (unsigned)number), .n_dims = r->n_dims };
    uint32_t n_channels = draw(r, 4) ? 1 : 2;
    image.is_struct = n_channels > 1;
    for (uint32_t d = 0; d < r->n_dims; d++)
        image.size[d] = tessi_size_param(g, d);
    for (uint32_t c = 0; c < n_channels; c++) {
        Stage s = { .kind = STAGE_INPUT, .type = draw_type(r), .n_dims = r->n_dims };
        memcpy(s.size, image.size, sizeof s.size);
        s.image = number;
        s.channel = c;
        s.name =
            image.is_struct ? tessi_sprintf(r->a, "%s.%c", image.name, (int)('a' + c)) : image.name;
        Channel channel = { .name =
                                image.is_struct ? tessi_sprintf(r->a, "%c", (int)('a' + c)) : "" };
        channel.type = s.type;
        channel.byte_offset = image.pixel_bytes;
        channel.stage = tessi_graph_stage(g, &s);
        image.pixel_bytes += tessi_type_info(s.type)->bytes;
        VEC_PUSH(r->a, &image.channels, channel);
    }
    VEC_PUSH(r->a, &g->inputs, image);
}

static inline void add_output(RandomGraph *r, uint32_t number, StageId id)
{
    Graph *g = r->g;
    const Stage *s = tessi_stage(g, id);
    Image image = { .name = tessi_sprintf(r->a, "out%u", (unsigned)number), .n_dims = s->n_dims };
    memcpy(image.size, s->size, sizeof image.size);
    Channel channel = { .name = "", .type = s->type, .stage = id };
    image.pixel_bytes = tessi_type_info(s->type)->bytes;
    VEC_PUSH(r->a, &image.channels, channel);
    for (uint32_t v = id.v; v-- > 1 && draw(r, 2);) { /* a second channel of the same sizes */
        const Stage *t = tessi_stage(g, (StageId){ v });
        bool same = t->n_dims == s->n_dims;
        for (uint32_t d = 0; d < s->n_dims; d++)
            same = same && t->size[d].v == s->size[d].v;
        if (!same)
            continue;
        image.is_struct = true;
        image.channels.at[0].name = "a";
        Channel second = { .name = "b", .type = t->type, .stage = { v } };
        second.byte_offset = image.pixel_bytes;
        image.pixel_bytes += tessi_type_info(t->type)->bytes;
        VEC_PUSH(r->a, &image.channels, second);
        break;
    }
    VEC_PUSH(r->a, &g->outputs, image);
}

/* A graph drawn by `seed`. Some draws are unsound (the verifier says so): draw again. */
static inline Graph *random_graph(Arena *a, uint64_t seed)
{
    RandomGraph r = { .a = a, .state = tessi_hash_u64(seed, 77) };
    static const uint8_t dims[] = { 1, 2, 2, 2, 2, 3, 4 };
    Graph *g = r.g = tessi_graph_new(a, "random");
    r.n_dims = dims[draw(&r, 7)];
    r.zero = tessi_size_const(g, 0);
    for (uint32_t d = 0; d < r.n_dims; d++) {
        Param p = { .name = tessi_sprintf(a, "N%u", (unsigned)d) };
        VEC_PUSH(a, &g->params, p);
    }
    Scalar scalar = { .name = "k", .type = TYPE_F32 };
    VEC_PUSH(a, &g->scalars, scalar);
    uint32_t n_inputs = 1 + draw(&r, 2), n_stages = 1 + draw(&r, 7);
    for (uint32_t i = 0; i < n_inputs; i++)
        add_input(&r, i);
    for (uint32_t i = 0; i < n_stages; i++)
        add_stage(&r, i);
    uint32_t n_outputs = 1 + draw(&r, 2);
    for (uint32_t i = 0; i < n_outputs; i++)
        add_output(&r, i, (StageId){ g->stages.n - 1 - (i ? draw(&r, g->stages.n - 1) : 0) });
    return g;
}

/* ---- Images ---------------------------------------------------------------------------------- */

enum { RANDOM_PADDING = 3 }; /* pixels behind each row that nobody may write */

typedef struct RandomRun {
    int64_t params[MAX_DIMS];
    Value scalars[1];
    InterpImage *inputs, *outputs;
    InterpArgs args;
} RandomRun;

/* Pixels one after the other in memory of the arena, a guard of padding at the end of each row. */
static inline InterpImage new_image(Arena *a, const Graph *g, const Image *image,
                                    const int64_t *params)
{
    InterpImage m = { 0 };
    int64_t bytes = image->pixel_bytes;
    for (uint32_t d = image->n_dims; d-- > 0;) {
        if (!tessi_size_eval(g, image->size[d], params, &m.size[d]))
            abort();
        m.stride_bytes[d] = bytes;
        bytes *= m.size[d];
        if (d + 1 == image->n_dims)
            bytes += RANDOM_PADDING * (int64_t)image->pixel_bytes;
    }
    m.data = tessi_alloc(a, (size_t)bytes + 64);
    memset(m.data, 0xa5, (size_t)bytes + 64);
    return m;
}

static inline int64_t image_bytes(const Image *image, const InterpImage *m)
{
    return image->n_dims ? m->stride_bytes[0] * m->size[0] : image->pixel_bytes;
}

static inline Value random_value(RandomGraph *r, ScalarType t)
{
    static const double reals[] = { 0, -0.0, 1, -1, 2, 0.5, -7.25, 3e4 };
    if (tessi_is_real(t)) {
        if (draw(r, 40) == 0)
            return tessi_value_real(draw(r, 2) ? (double)NAN : (double)INFINITY);
        return tessi_value_real(draw(r, 3) ? (double)draw_from(r, -64, 64) / 4 : reals[draw(r, 8)]);
    }
    if (t == TYPE_BOOL)
        return tessi_value_int(draw(r, 2));
    if (draw(r, 8) == 0)
        return tessi_value_int(draw(r, 2) ? tessi_type_range(t).lo : tessi_type_range(t).hi);
    return tessi_value_int(draw_from(r, tessi_is_unsigned(t) ? 0 : -20, 60));
}

static inline void fill_image(RandomGraph *r, const Image *image, InterpImage *m)
{
    char *at = m->data;
    int64_t n = image_bytes(image, m) / image->pixel_bytes;
    for (int64_t i = 0; i < n; i++, at += image->pixel_bytes)
        for (uint32_t c = 0; c < image->channels.n; c++) {
            const Channel *channel = &image->channels.at[c];
            tessi_store_element(channel->type, at + channel->byte_offset,
                                random_value(r, channel->type));
        }
}

/* Parameters and inputs drawn by `seed`, outputs full of a pattern. */
static inline RandomRun random_run(Arena *a, const Graph *g, uint64_t seed)
{
    RandomGraph r = { .a = a, .state = tessi_hash_u64(seed, 99) };
    RandomRun run = { .scalars = { { .f = 1.5 } } };
    uint32_t most = g->params.n > 2 ? 5 : 9;
    for (uint32_t p = 0; p < g->params.n; p++)
        run.params[p] = 1 + (draw(&r, 5) || g->params.n > 2 ? draw(&r, most) : draw(&r, 40));
    run.inputs = ARENA_NEW_ARRAY(a, InterpImage, g->inputs.n);
    run.outputs = ARENA_NEW_ARRAY(a, InterpImage, g->outputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        run.inputs[i] = new_image(a, g, &g->inputs.at[i], run.params);
        fill_image(&r, &g->inputs.at[i], &run.inputs[i]);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        run.outputs[i] = new_image(a, g, &g->outputs.at[i], run.params);
    return run;
}

static inline InterpArgs run_args(const RandomRun *run, Arena *a)
{
    return (InterpArgs){ .params = run->params,
                         .scalars = run->scalars,
                         .inputs = run->inputs,
                         .outputs = run->outputs,
                         .arena = a };
}

#endif
