/* The pass `pairs`: bytes computed in 16 bits, two vectors of a step side by side. One takes the even and the other
 * the odd ones of the bytes that a whole vector holds: to take them apart and to put them together are shifts, where
 * widening and narrowing move every byte to another lane. Values of 8 bits are kept in lanes of 16; they are loaded,
 * converted to and from 16 bits, and stored, and nothing else. */
#include "loop/loop_passes.h"
#include "loop/vector.h"

static bool is_byte(ScalarType t)
{
    return t == TYPE_U8 || t == TYPE_I8;
}

static bool is_half(ScalarType t)
{
    return t == TYPE_U16 || t == TYPE_I16;
}

/* The type that values of type t have lanes of. */
static ScalarType lane_type(ScalarType t)
{
    return t == TYPE_U8 ? TYPE_U16 : t == TYPE_I8 ? TYPE_I16 : t;
}

/* ---- Can it be --------------------------------------------------------------------------------------------------- */

static bool converts(ScalarType to, ScalarType from, bool saturates)
{
    const bool of_halves = is_half(from) && (is_half(to) || is_byte(to));
    const bool to_halves = is_half(to) && (is_byte(from) || from == TYPE_BOOL);
    return (of_halves || to_halves) && (!saturates || is_byte(to));
}

static bool can_be_value(Vectors *v, LExprId id)
{
    const LShape shape = tessi_vector_shape(v, id);
    const LExpr *e = tessi_lexpr(v->p, id);
    if (shape != SHAPE_LANES)
        return shape == SHAPE_UNIFORM;
    if (v->noted[id.v] == v->stamp)
        return true;
    v->noted[id.v] = v->stamp;
    switch (e->kind) {
    case LEXPR_VAR: return e->type == TYPE_BOOL || is_byte(e->type) || is_half(e->type);
    case LEXPR_LOAD:
        return is_byte(v->p->buffers.at[e->buffer.v].type)
               && tessi_vector_side_by_side(v, e->buffer, e->arg);
    case LEXPR_OP: {
        const ScalarType of = tessi_lexpr(v->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
        if ((of != TYPE_BOOL && !is_half(of)) || (e->type != TYPE_BOOL && !is_half(e->type)))
            return false;
        break;
    }
    case LEXPR_CAST:
    case LEXPR_SAT:
        if (!converts(e->type, tessi_lexpr(v->p, e->arg[0])->type, e->kind == LEXPR_SAT))
            return false;
        break;
    default: return false;
    }
    for (int i = 0; i < e->n_args; i++)
        if (!can_be_value(v, e->arg[i]))
            return false;
    return true;
}

static bool can_be_block(Vectors *v, const LBlock *block, bool *stores)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        const bool defines = s->kind == LSTMT_LET || s->kind == LSTMT_VAR || s->kind == LSTMT_SET;
        const bool lanes = defines && v->var_shape[s->var.v] == SHAPE_LANES;
        if (lanes && !can_be_value(v, s->a))
            return false;
        if (lanes && tessi_vector_shape(v, s->a) != SHAPE_LANES
            && is_byte(v->p->vars.at[s->var.v].type))
            return false;
        if (s->kind == LSTMT_STORE) {
            *stores = true;
            if (!is_byte(v->p->buffers.at[s->buffer.v].type)
                || !tessi_vector_side_by_side(v, s->buffer, s->index)
                || tessi_vector_shape(v, s->a) != SHAPE_LANES || !can_be_value(v, s->a))
                return false;
        }
        if (!can_be_block(v, &s->body, stores) || !can_be_block(v, &s->orelse, stores))
            return false;
    }
    return true;
}

/* Two copies of the loop can be the even and the odd ones of bytes. */
static bool can_pair(Vectors *v, const LStmt *loop)
{
    bool stores = false;
    v->stamp++; /* of what was noted; shapes are found again */
    return v->copies == 2 && v->lane_bytes == 2 && can_be_block(v, &loop->body, &stores) && stores;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static LExprId value(Vectors *v, LExprId id);

/* No less and no more than a byte can be. */
static LExprId limited(Vectors *v, LExprId x, ScalarType from, ScalarType byte)
{
    const Interval range = tessi_type_range(byte);
    const LExprId none = { 0 };
    const LExprId hi = tessi_lexpr_const(v->p, from, tessi_value_int(range.hi));
    if (!tessi_is_unsigned(from)) {
        const LExprId lo = tessi_lexpr_const(v->p, from, tessi_value_int(range.lo));
        x = tessi_lexpr_op(v->p, OP_MAX, x, tessi_lexpr_splat(v->p, 2, lo), none);
    }
    return tessi_lexpr_op(v->p, OP_MIN, x, tessi_lexpr_splat(v->p, 2, hi), none);
}

/* A conversion changes the type of the lanes, and cuts to a byte when it is one to bytes. */
static LExprId conversion(Vectors *v, const LExpr *e)
{
    const ScalarType from = tessi_lexpr(v->p, e->arg[0])->type;
    const bool saturates = e->kind == LEXPR_SAT;
    LExprId x = value(v, e->arg[0]);
    if (saturates)
        x = limited(v, x, from, e->type);
    x = tessi_lexpr_cast(v->p, lane_type(e->type), x);
    return is_byte(e->type) && !saturates ? tessi_lexpr_low_byte(v->p, x) : x;
}

static LExprId value_of(Vectors *v, const LExpr *e)
{
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    switch (e->kind) {
    case LEXPR_VAR: return v->var_as[v->copy][e->var.v];
    case LEXPR_LOAD:
        for (int i = 0; i < e->n_args; i++)
            arg[i] = tessi_vector_scalar(v, e->arg[i]);
        return tessi_lexpr_load_lanes(v->p, 2, v->copy ? LLOAD_ODDS : LLOAD_EVENS, e->buffer, arg);
    case LEXPR_OP:
        for (int i = 0; i < e->n_args; i++)
            arg[i] = value(v, e->arg[i]);
        return tessi_lexpr_op(v->p, e->op, arg[0], arg[1], arg[2]);
    default: return conversion(v, e);
    }
}

static LExprId value(Vectors *v, LExprId id)
{
    if (v->value_stamp[id.v] == v->value_now)
        return v->value[id.v];
    const LExpr e = *tessi_lexpr(v->p, id);
    const LExprId x = tessi_vector_shape(v, id) == SHAPE_LANES
                          ? value_of(v, &e)
                          : tessi_lexpr_splat(v->p, 2, tessi_vector_scalar(v, id));
    v->value[id.v] = x;
    v->value_stamp[id.v] = v->value_now;
    return x;
}

/* Both copies at once. */
static void store(Vectors *v, const LStmt *s, LBlock *out)
{
    static const char *const names[] = { "evens", "odds" };
    LExprId half[2];
    for (uint32_t c = 0; c < 2; c++) {
        tessi_vector_use_copy(v, c);
        half[c] = tessi_pass_let(v->p, out, names[c], value(v, s->a));
    }
    tessi_vector_use_copy(v, 0);
    LStmt *t = tessi_lstmt(v->p, out, LSTMT_STORE);
    t->buffer = s->buffer;
    t->n_index = s->n_index;
    for (int d = 0; d < s->n_index; d++)
        t->index[d] = tessi_vector_scalar(v, s->index[d]);
    t->a = tessi_lexpr_pairs(v->p, half[0], half[1]);
    t->b = tessi_vector_scalar(v, s->b);
}

static const VectorForm form = { value, lane_type, store };

/* ---- The pass ---------------------------------------------------------------------------------------------------- */

static bool rewrite(Vectors *v, LStmt *loop, LBlock *out)
{
    if (!can_pair(v, loop))
        return false;
    v->form = &form;
    if (v->repeatable)
        tessi_vector_overlapping(v, loop, 2, tessi_vector_steps, out);
    else
        tessi_vector_with_rest(v, loop, out);
    return true;
}

void tessi_loop_pairs(LoopProgram *p)
{
    tessi_vector_visit(p, rewrite);
}
