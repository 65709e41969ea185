/* Bytes computed in 16 bits, two vectors of a step side by side: one takes the even and the other the odd ones of the bytes that a whole
 * vector holds (TESS_VECTOR_PAIRS in prelude/c_vector.h). Values of 8 bits are then kept in lanes of 16; they are loaded, converted
 * to and from 16 bits, and stored, and nothing else. */
#include "emit/c_private.h"

static bool is_byte(ScalarType t)
{
    return t == TYPE_U8 || t == TYPE_I8;
}

static bool is_half(ScalarType t)
{
    return t == TYPE_U16 || t == TYPE_I16;
}

ScalarType tessi_c_vector_lane_type(const CWriter *w, ScalarType t)
{
    if (!w->vector.pairs || !is_byte(t))
        return t;
    return t == TYPE_U8 ? TYPE_U16 : TYPE_I16;
}

/* ---- Can it be ------------------------------------------------------------------------------------------------------------- */

static bool can_be_value(CWriter *w, LExprId id)
{
    const CShape shape = tessi_c_shape(w, id);
    const LExpr *e = tessi_lexpr(w->p, id);
    if (shape != C_LANES)
        return shape == C_UNIFORM;
    if (w->vector.noted[id.v] == w->vector.stamp)
        return true;
    w->vector.noted[id.v] = w->vector.stamp;
    switch (e->kind) {
    case LEXPR_VAR: return e->type == TYPE_BOOL || is_byte(e->type) || is_half(e->type);
    case LEXPR_LOAD: return is_byte(w->p->buffers.at[e->buffer.v].type);
    case LEXPR_OP: {
        const ScalarType of = tessi_lexpr(w->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
        if ((of != TYPE_BOOL && !is_half(of)) || (e->type != TYPE_BOOL && !is_half(e->type)))
            return false;
        break;
    }
    case LEXPR_CAST:
    case LEXPR_SAT: {
        const ScalarType from = tessi_lexpr(w->p, e->arg[0])->type;
        const bool of_halves = is_half(from) && (is_half(e->type) || is_byte(e->type));
        const bool to_halves = is_half(e->type) && (is_byte(from) || from == TYPE_BOOL);
        if ((!of_halves && !to_halves) || (e->kind == LEXPR_SAT && !is_byte(e->type)))
            return false;
        break;
    }
    default: return false;
    }
    for (int i = 0; i < e->n_args; i++)
        if (!can_be_value(w, e->arg[i]))
            return false;
    return true;
}

static bool can_be_block(CWriter *w, const LBlock *block, bool *stores)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        const bool defines = s->kind == LSTMT_LET || s->kind == LSTMT_VAR || s->kind == LSTMT_SET;
        if (defines && w->vector.var_shape[s->var.v] == C_LANES && !can_be_value(w, s->a))
            return false;
        if (defines && w->vector.var_shape[s->var.v] == C_LANES && tessi_c_shape(w, s->a) != C_LANES
            && is_byte(w->p->vars.at[s->var.v].type))
            return false;
        if (s->kind == LSTMT_STORE) {
            *stores = true;
            if (!is_byte(w->p->buffers.at[s->buffer.v].type) || tessi_c_shape(w, s->a) != C_LANES
                || !can_be_value(w, s->a))
                return false;
        }
        if (!can_be_block(w, &s->body, stores) || !can_be_block(w, &s->orelse, stores))
            return false;
    }
    return true;
}

bool tessi_c_vector_can_pair(CWriter *w, const LStmt *loop)
{
    bool stores = false;
    w->vector.stamp++; /* of what was noted; shapes are found again */
    return w->vector.lane_bytes == 2 && can_be_block(w, &loop->body, &stores) && stores;
}

/* ---- Printing -------------------------------------------------------------------------------------------------------------- */

static void name_load(CWriter *w, ScalarType t, bool odds)
{
    tessi_c_use_pairs(w, t);
    tessi_text_addf(&w->line, "tess_%s_%s%s(", odds ? "odds" : "evens", tessi_type_info(t)->brief,
                    tessi_c_lanes(w));
}

void tessi_c_pairs_load(CWriter *w, const LExpr *load)
{
    name_load(w, w->p->buffers.at[load->buffer.v].type, w->vector.copy);
    tessi_text_add(&w->line, "&");
    tessi_c_place(w, load->buffer, load->arg);
    tessi_text_add(&w->line, ")");
}

/* An odd one is the even one of a place further on, so every other place of the row need not be loaded. */
void tessi_c_pairs_at(CWriter *w, const CRow *row, int64_t offset, const char *name)
{
    bool odds = w->vector.copy != 0;
    if ((offset - row->min) % 2 && !odds) {
        odds = true;
        offset--;
    } else if ((offset - row->min) % 2 && offset < row->max) {
        odds = false;
        offset++;
    }
    name_load(w, w->p->buffers.at[row->load->buffer.v].type, odds);
    tessi_text_addf(&w->line, offset ? "%s %c %lld)" : "%s)", name, offset < 0 ? '-' : '+',
                    (long long)(offset < 0 ? -offset : offset));
}

/* tess_NAME_TYPE( */
static void call(CWriter *w, const char *name, ScalarType t)
{
    tessi_text_addf(&w->line, "tess_%s_%s%s(", name, tessi_type_info(t)->brief, tessi_c_lanes(w));
}

/* The value of 16 bits, no less and no more than a byte can be. */
static void limited(CWriter *w, const LExpr *e, ScalarType from)
{
    const Interval range = tessi_type_range(e->type);
    const bool below = !tessi_is_unsigned(from);
    const char *type = tessi_type_info(from)->brief, *lanes = tessi_c_lanes(w);
    tessi_c_use_operator(w, OP_MIN, from, false);
    call(w, "min", from);
    if (below) {
        tessi_c_use_operator(w, OP_MAX, from, false);
        call(w, "max", from);
    }
    tessi_c_vector_value(w, e->arg[0], C_LOOSE);
    if (below)
        tessi_text_addf(&w->line, ", tess_splat_%s%s(%lld))", type, lanes, (long long)range.lo);
    tessi_text_addf(&w->line, ", tess_splat_%s%s(%lld))", type, lanes, (long long)range.hi);
}

bool tessi_c_pairs_conversion(CWriter *w, const LExpr *e)
{
    const ScalarType from = tessi_lexpr(w->p, e->arg[0])->type;
    const ScalarType before = tessi_c_vector_lane_type(w, from);
    const ScalarType after = tessi_c_vector_lane_type(w, e->type);
    const bool narrows = is_byte(e->type), other = before != after;
    if (!narrows && !is_byte(from))
        return false;
    if (narrows && e->kind == LEXPR_CAST) {
        tessi_c_use_pairs(w, e->type);
        call(w, "low", e->type);
    }
    if (other) {
        tessi_c_use_conversion(w, after, before, false);
        tessi_text_addf(&w->line, "tess_%s%s_from_%s(", tessi_type_info(after)->brief,
                        tessi_c_lanes(w), tessi_type_info(before)->brief);
    }
    if (e->kind == LEXPR_SAT)
        limited(w, e, from);
    else
        tessi_c_vector_value(w, e->arg[0], C_LOOSE);
    tessi_text_add(&w->line, other ? ")" : "");
    tessi_text_add(&w->line, narrows && e->kind == LEXPR_CAST ? ")" : "");
    return true;
}
