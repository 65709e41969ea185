/* Vectors in C: each operation is one of C on vector types, or a call of prelude/c_vector.h. */
#include "emit/c_private.h"

static const char *brief(ScalarType t)
{
    return t == TYPE_F16 ? "f32" : tessi_type_info(t)->brief;
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */

const char *tessi_c_vector_type(CWriter *w, ScalarType t, uint8_t lanes)
{
    w->lane_bytes = lanes;
    tessi_c_use_type(w, t);
    return tessi_sprintf(w->arena, "tess_%s%s", brief(t), tessi_c_lanes(w));
}

const char *tessi_c_value_type(CWriter *w, const LExpr *e)
{
    return e->lanes ? tessi_c_vector_type(w, e->type, e->lanes) : tessi_c_type(w, e->type);
}

const char *tessi_c_var_type(CWriter *w, LVarId v)
{
    const LVar *x = &w->p->vars.at[v.v];
    if (!x->lanes)
        return tessi_c_type(w, x->type);
    const char *type = tessi_c_vector_type(w, x->type, x->lanes);
    return x->is_row ? tessi_sprintf(w->arena, "%s_row", type) : type;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

LExprId tessi_c_through(const CWriter *w, LExprId id)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    const bool spreads = e->kind == LEXPR_SPLAT || (e->kind == LEXPR_RAMP && e->type == TYPE_INDEX);
    return spreads ? e->arg[0] : id;
}

/* tess_NAME_TYPE( */
static void call(CWriter *w, const char *name, ScalarType t)
{
    tessi_text_addf(&w->line, "tess_%s_%s%s(", name, brief(t), tessi_c_lanes(w));
}

static void place(CWriter *w, const LExpr *load)
{
    tessi_text_add(&w->line, "&");
    tessi_c_place(w, load->buffer, load->arg);
}

/* Around a place of a row: where in the row it is, and how long that is. */
static void row(CWriter *w, const LExpr *e)
{
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    tessi_c_use_row(w, b->type);
    call(w, "row", b->type);
    place(w, e);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, e->arg[e->n_args - 1], C_LOOSE);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, b->size[b->n_dims - 1], C_LOOSE);
    tessi_text_add(&w->line, ")");
}

static void near_row(CWriter *w, const LExpr *e)
{
    call(w, "at", e->type);
    tessi_c_expr(w, e->arg[0], C_LOOSE);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, e->arg[1], C_LOOSE);
    tessi_text_add(&w->line, ")");
}

static void use_element(CWriter *w, ScalarType element)
{
    if (element == TYPE_F16)
        tessi_c_use_half(w);
    else
        tessi_c_use_type(w, element);
}

static void load(CWriter *w, const LExpr *e)
{
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    if (b->lanes) {
        tessi_c_place(w, e->buffer, e->arg);
        return;
    }
    if (e->ref == LLOAD_ROW) {
        row(w, e);
        return;
    }
    const bool truth =
        b->type == TYPE_BOOL; /* programs write 0 and 1 only; whoever fills an input may not */
    const ScalarType element = truth ? TYPE_U8 : b->type;
    if (truth) {
        tessi_c_use_conversion(w, TYPE_BOOL, TYPE_U8, false);
        tessi_text_addf(&w->line, "tess_b%s_from_u8(", tessi_c_lanes(w));
    }
    if (e->ref)
        tessi_c_use_pairs(w, element);
    else
        use_element(w, element);
    if (element == TYPE_F16)
        tessi_text_addf(&w->line, "tess_load_f16%s(", tessi_c_lanes(w));
    else
        call(w, e->ref == LLOAD_EVENS ? "evens" : e->ref == LLOAD_ODDS ? "odds" : "load", element);
    place(w, e);
    tessi_text_add(&w->line, truth ? "))" : ")");
}

/* An operand of an operator written as in C: scalars of real type spread by themselves. */
static void operand(CWriter *w, LExprId id, int around)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    tessi_c_expr(w, e->kind == LEXPR_SPLAT && tessi_is_real(e->type) ? e->arg[0] : id, around);
}

static int plain(CWriter *w, const LExpr *e)
{
    const char *sign = tessi_op_info(e->op)->infix;
    if (e->n_args == 1) {
        tessi_text_add(&w->line, sign);
        operand(w, e->arg[0], C_PRIMARY);
        return C_UNARY;
    }
    const CInfix infix = tessi_c_infix(sign);
    operand(w, e->arg[0], infix.left);
    tessi_text_addf(&w->line, " %s ", sign);
    operand(w, e->arg[1], infix.right);
    return infix.own;
}

/* A constant factor of 16 bits other than a power of two. */
static bool is_factor(const CWriter *w, Op op, LExprId id)
{
    const LExpr *e = tessi_lexpr(w->p, tessi_c_through(w, id));
    if (op != OP_MUL || e->kind != LEXPR_CONST || !tessi_is_integer(e->type)
        || tessi_type_info(e->type)->bytes != 2)
        return false;
    const uint64_t magnitude = (uint64_t)(e->value.i < 0 ? -e->value.i : e->value.i);
    return (magnitude & (magnitude - 1)) != 0;
}

static void factor(CWriter *w, LExprId id)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    tessi_c_use_factor(w, e->type);
    call(w, "factor", e->type);
    tessi_c_expr(w, tessi_c_through(w, id), C_LOOSE);
    tessi_text_add(&w->line, ")");
}

static int operation(CWriter *w, const LExpr *e)
{
    ScalarType t = tessi_lexpr(w->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    bool comparison = tessi_op_info(e->op)->result == 'B';
    const bool by = e->n_args == 2 && tessi_lexpr(w->p, e->arg[1])->kind == LEXPR_SPLAT
                    && tessi_c_vector_by(e->op, t);
    const LExprId turned = tessi_c_turned(w, e);
    if (turned.v) {
        tessi_c_use_negation(w, t);
        call(w, "neg", t);
        tessi_c_expr(w, turned, C_LOOSE);
        tessi_text_add(&w->line, ")");
        return C_PRIMARY;
    }
    tessi_c_use_operator(w, e->op, t, by);
    if (tessi_op_is_infix(e->op, t) && !comparison)
        return plain(w, e);
    tessi_text_addf(&w->line, "tess_%s_%s%s%s(", tessi_c_function(w, e), brief(t), tessi_c_lanes(w),
                    by ? "_by" : "");
    for (int i = 0; i < e->n_args; i++) {
        tessi_text_add(&w->line, i ? ", " : "");
        if (by && i == 1)
            tessi_c_expr(w, tessi_c_through(w, e->arg[i]), C_LOOSE);
        else if (is_factor(w, e->op, e->arg[i]))
            factor(w, e->arg[i]);
        else
            tessi_c_expr(w, e->arg[i], C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
    return C_PRIMARY;
}

static void conversion(CWriter *w, const LExpr *e)
{
    const LExpr *x = tessi_lexpr(w->p, e->arg[0]);
    const bool saturates = e->kind == LEXPR_SAT;
    if (!saturates && e->ref == LCAST_LOW_BYTE) {
        const ScalarType byte = tessi_is_unsigned(e->type) ? TYPE_U8 : TYPE_I8;
        tessi_c_use_pairs(w, byte);
        call(w, "low", byte);
    } else if (!saturates && e->ref == LCAST_ROUNDS_TO_F16) {
        tessi_c_use_operator(w, OP_ROUND16, TYPE_F32, false);
        call(w, "round16", TYPE_F32);
    } else {
        tessi_c_use_conversion(w, e->type, x->type, saturates);
        tessi_text_addf(&w->line, "tess_%s%s%s_from_%s(", saturates ? "sat_" : "", brief(e->type),
                        tessi_c_lanes(w), brief(x->type));
    }
    tessi_c_expr(w, e->arg[0], C_LOOSE);
    tessi_text_add(&w->line, ")");
}

/* A scalar in every lane, or counted up from lane to lane. */
static void spread(CWriter *w, const LExpr *e)
{
    const bool ramp = e->kind == LEXPR_RAMP, converts = ramp && e->type != TYPE_INDEX;
    if (ramp)
        tessi_c_use_ramp(w, e->type);
    else
        tessi_c_use_type(w, e->type);
    call(w, ramp ? "ramp" : "splat", e->type);
    if (converts)
        tessi_text_addf(&w->line, "(%s)", tessi_c_type(w, e->type));
    tessi_c_expr(w, e->arg[0], converts ? C_UNARY : C_LOOSE);
    tessi_text_add(&w->line, ")");
}

static void pairs(CWriter *w, const LExpr *e)
{
    w->lane_bytes = tessi_lexpr(w->p, e->arg[0])->lanes;
    tessi_c_use_pairs(w, e->type);
    call(w, "pairs", e->type);
    tessi_c_expr(w, e->arg[0], C_LOOSE);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, e->arg[1], C_LOOSE);
    tessi_text_add(&w->line, ")");
}

int tessi_c_vector_append(CWriter *w, LExprId id)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    w->lane_bytes = e->lanes;
    switch (e->kind) {
    case LEXPR_VAR: tessi_text_add(&w->line, w->var[e->var.v]); break;
    case LEXPR_LOAD: load(w, e); break;
    case LEXPR_OP: return operation(w, e);
    case LEXPR_CAST:
    case LEXPR_SAT: conversion(w, e); break;
    case LEXPR_SPLAT:
    case LEXPR_RAMP: spread(w, e); break;
    case LEXPR_AT: near_row(w, e); break;
    case LEXPR_PAIRS: pairs(w, e); break;
    case LEXPR_CONST:
    case LEXPR_PARAM:
    case LEXPR_SCALAR:
    case LEXPR_LANES:
    case LEXPR_VECTORS: break; /* scalars */
    }
    return C_PRIMARY;
}

/* ---- Stores ------------------------------------------------------------------------------------------------------ */

void tessi_c_vector_store(CWriter *w, const LStmt *s)
{
    const LBuffer *b = &w->p->buffers.at[s->buffer.v];
    const ScalarType element = b->type == TYPE_BOOL ? TYPE_U8 : b->type;
    w->lane_bytes = tessi_lexpr(w->p, s->a)->lanes;
    use_element(w, element);
    w->streamed = w->streamed || s->b.v;
    if (element == TYPE_F16)
        tessi_text_addf(&w->line, "tess_%s_f16%s(", s->b.v ? "stream" : "store", tessi_c_lanes(w));
    else
        call(w, s->b.v ? "stream" : "store", element);
    tessi_text_add(&w->line, "&");
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, ", ");
    if (b->type == TYPE_BOOL) {
        tessi_c_use_conversion(w, TYPE_U8, TYPE_BOOL, false);
        tessi_text_addf(&w->line, "tess_u8%s_from_b(", tessi_c_lanes(w));
    }
    tessi_c_expr(w, s->a, C_LOOSE);
    tessi_text_add(&w->line, b->type == TYPE_BOOL ? ")" : "");
    if (s->b.v) {
        tessi_text_add(&w->line, ", ");
        tessi_c_expr(w, s->b, C_LOOSE);
    }
    tessi_text_add(&w->line, ");");
}
