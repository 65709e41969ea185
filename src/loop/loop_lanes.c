/* Constructors of vectors, their names in the text, and what holds of all of them. */
#include "loop/pass.h"

static const char *const names[] = { [1] = "v8", [2] = "v16", [4] = "v32", [8] = "v64" };
enum { N_NAMES = sizeof names / sizeof *names };

const char *tessi_loop_lanes_name(uint8_t lanes)
{
    return lanes < N_NAMES ? names[lanes] : NULL;
}

uint8_t tessi_loop_lanes_by_name(const char *name)
{
    for (uint8_t lanes = 0; lanes < N_NAMES; lanes++)
        if (names[lanes] && tessi_streq(names[lanes], name))
            return lanes;
    return 0;
}

/* ---- Constructors ------------------------------------------------------------------------------------------------ */

LExprId tessi_lexpr_lanes(LoopProgram *p, uint8_t lanes)
{
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_LANES, .type = TYPE_INDEX, .ref = lanes });
}

LExprId tessi_lexpr_vectors(LoopProgram *p, uint8_t lanes, int64_t values)
{
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_VECTORS,
                                           .type = TYPE_INDEX,
                                           .ref = lanes,
                                           .n_args = 1,
                                           .arg = { tessi_lexpr_index(p, values) } });
}

LExprId tessi_lexpr_splat(LoopProgram *p, uint8_t lanes, LExprId a)
{
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_SPLAT,
                                           .type = tessi_lexpr(p, a)->type,
                                           .lanes = lanes,
                                           .n_args = 1,
                                           .arg = { a } });
}

LExprId tessi_lexpr_ramp(LoopProgram *p, uint8_t lanes, ScalarType t, LExprId from)
{
    return tessi_lexpr_intern(
        p, &(LExpr){ .kind = LEXPR_RAMP, .type = t, .lanes = lanes, .n_args = 1, .arg = { from } });
}

LExprId tessi_lexpr_load_lanes(LoopProgram *p, uint8_t lanes, uint32_t how, LBufferId b,
                               const LExprId *index)
{
    const LBuffer *buffer = &p->buffers.at[b.v];
    ScalarType t = tessi_value_type(buffer->type);
    if (how == LLOAD_EVENS || how == LLOAD_ODDS)
        t = tessi_is_unsigned(t) ? TYPE_U16 : TYPE_I16;
    if (how == LLOAD_FOURS)
        t = TYPE_U32;
    LExpr e = { .kind = LEXPR_LOAD,
                .type = t,
                .lanes = lanes,
                .ref = how,
                .buffer = b,
                .n_args = buffer->n_dims };
    for (int d = 0; d < e.n_args; d++)
        e.arg[d] = index[d];
    return tessi_lexpr_intern(p, &e);
}

LExprId tessi_lexpr_at(LoopProgram *p, LExprId row, int64_t offset)
{
    const LExpr *e = tessi_lexpr(p, row);
    LExpr at = {
        .kind = LEXPR_AT, .type = e->type, .lanes = e->lanes, .n_args = 2, .arg = { row }
    };
    at.arg[1] = tessi_lexpr_index(p, offset);
    return tessi_lexpr_intern(p, &at);
}

LExprId tessi_lexpr_both(LoopProgram *p, LExprId first, LExprId second)
{
    const LExpr *e = tessi_lexpr(p, first);
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_BOTH,
                                           .type = e->type,
                                           .lanes = e->lanes,
                                           .n_args = 2,
                                           .arg = { first, second } });
}

LExprId tessi_lexpr_pairs(LoopProgram *p, LExprId evens, LExprId odds)
{
    const bool is_unsigned = tessi_is_unsigned(tessi_lexpr(p, evens)->type);
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_PAIRS,
                                           .type = is_unsigned ? TYPE_U8 : TYPE_I8,
                                           .lanes = 1,
                                           .n_args = 2,
                                           .arg = { evens, odds } });
}

LExprId tessi_lexpr_low_byte(LoopProgram *p, LExprId a)
{
    const LExpr *e = tessi_lexpr(p, a);
    LExpr low = { .kind = LEXPR_CAST, .lanes = e->lanes, .ref = LCAST_LOW_BYTE, .n_args = 1 };
    low.type = e->type;
    low.arg[0] = a;
    return tessi_lexpr_intern(p, &low);
}

/* ---- What holds of them ------------------------------------------------------------------------------------------ */

bool tessi_loop_is_dense(const LoopProgram *p, LBufferId id)
{
    const LBuffer *b = &p->buffers.at[id.v];
    if (b->n_dims == 0 || b->lanes)
        return false;
    const LImage *im = tessi_loop_image(p, b);
    return !im || b->flat || (im->uniform && im->pixel_bytes == tessi_type_info(b->type)->bytes);
}

/* Elements that vectors have, in images all of whose elements have one type. */
static bool is_uniform(const LoopProgram *p, LBufferId id)
{
    const LBuffer *b = &p->buffers.at[id.v];
    if (b->n_dims == 0 || b->lanes || b->type == TYPE_F16 || b->type == TYPE_BOOL)
        return false;
    return !tessi_loop_image(p, b) || tessi_loop_image(p, b)->uniform;
}

bool tessi_loop_can_be_apart(const LoopProgram *p, LBufferId id, uint8_t lanes)
{
    return lanes >= 4 && is_uniform(p, id);
}

bool tessi_loop_can_be_spread(const LoopProgram *p, LBufferId id, uint8_t lanes)
{
    const LBufferKind kind = p->buffers.at[id.v].kind;
    return kind != LBUF_INPUT && kind != LBUF_TABLE && is_uniform(p, id)
           && (lanes >= 4 || tessi_loop_is_dense(p, id));
}

bool tessi_loop_same_pixels(const LoopProgram *p, const LStmt *a, const LStmt *b, int64_t apart)
{
    if (a->kind != LSTMT_STORE || b->kind != LSTMT_STORE || a->n_index != b->n_index)
        return false;
    const LBuffer *of = &p->buffers.at[a->buffer.v], *to = &p->buffers.at[b->buffer.v];
    const bool images = of->kind == LBUF_OUTPUT && to->kind == LBUF_OUTPUT;
    const int last = a->n_index - 1;
    int64_t at[2] = { 0, 0 };
    bool same = images ? of->image == to->image : apart > 1 && a->buffer.v == b->buffer.v;
    for (int d = 0; same && d < last; d++)
        same = a->index[d].v == b->index[d].v;
    return same
           && (last < 0
               || tessi_pass_without_constant(p, a->index[last], &at[0]).v
                      == tessi_pass_without_constant(p, b->index[last], &at[1]).v)
           && tessi_floordiv(at[0], apart) == tessi_floordiv(at[1], apart);
}

uint32_t tessi_loop_joined(const LoopProgram *p, LBufferId id, int64_t apart)
{
    const uint32_t channels = tessi_loop_channels(p, id);
    const LBuffer *b = &p->buffers.at[id.v];
    const uint32_t bytes = tessi_type_info(b->type)->bytes;
    if (apart < 1 || apart > LOOP_MOST_JOINED || channels > LOOP_MOST_JOINED || channels * apart < 2
        || (channels > 1 && apart > 2) || !tessi_loop_can_be_spread(p, id, 4))
        return 0;
    if (channels == 1)
        return tessi_loop_is_dense(p, id) ? (uint32_t)apart : 0;
    const LImage *image = &p->outputs.at[b->image];
    bool good = image->pixel_bytes == channels * bytes;
    for (uint32_t k = 0; good && k < channels; k++)
        good = image->channel_offset[k] == k * bytes;
    return good ? channels * (uint32_t)apart : 0;
}

uint32_t tessi_loop_element(const LoopProgram *p, const LStmt *store, int64_t apart)
{
    int64_t at = 0;
    if (store->n_index)
        tessi_pass_without_constant(p, store->index[store->n_index - 1], &at);
    return (uint32_t)(at - tessi_floordiv(at, apart) * apart)
               * tessi_loop_channels(p, store->buffer)
           + p->buffers.at[store->buffer.v].channel;
}

bool tessi_loop_can_be_both(const LoopProgram *p, LBufferId id, uint8_t lanes)
{
    const ScalarType t = p->buffers.at[id.v].type;
    return lanes >= 4 && tessi_loop_is_dense(p, id) && t != TYPE_F16 && t != TYPE_BOOL
           && tessi_type_info(t)->bytes <= 4;
}

bool tessi_loop_can_be_near(const LoopProgram *p, LBufferId id, uint8_t lanes)
{
    return lanes == 4 && tessi_loop_can_be_both(p, id, lanes);
}

int64_t tessi_loop_lane_count(const LoopProgram *p, uint8_t lanes)
{
    return (p->vector_bytes ? p->vector_bytes : LOOP_LEAST_VECTOR) / lanes;
}

int64_t tessi_loop_local_size(const LoopProgram *p, LExprId size)
{
    const LExpr *e = tessi_lexpr(p, size);
    if (e->kind == LEXPR_VECTORS)
        e = tessi_lexpr(p, e->arg[0]);
    return e->kind == LEXPR_CONST ? e->value.i : 0;
}
