/* Expressions on vectors. What is the same for all lanes is computed as a scalar, as anywhere, and spread where a vector is wanted;
 * a coordinate is kept as that of the first lane and counted up where its value is wanted. */
#include "emit/c_private.h"

static const char *brief(ScalarType t)
{
    return t == TYPE_F16 ? "f32" : tessi_type_info(t)->brief;
}

const char *tessi_c_vector_type(CWriter *w, ScalarType t)
{
    t = tessi_c_vector_lane_type(w, t);
    tessi_c_use_type(w, t);
    return tessi_sprintf(w->arena, "tess_%s%s", brief(t), tessi_c_lanes(w));
}

/* tess_NAME_TYPE( */
static void call(CWriter *w, const char *name, ScalarType t)
{
    tessi_text_addf(&w->line, "tess_%s_%s%s(", name, brief(t), tessi_c_lanes(w));
}

static void load(CWriter *w, const LExpr *e)
{
    ScalarType t = w->p->buffers.at[e->buffer.v].type;
    if (tessi_c_vector_row(w, e))
        return;
    if (w->vector.pairs) {
        tessi_c_pairs_load(w, e);
        return;
    }
    if (t == TYPE_BOOL) { /* programs write 0 and 1 only; whoever fills an input may not */
        tessi_c_use_conversion(w, TYPE_BOOL, TYPE_U8, false);
        tessi_text_addf(&w->line, "tess_b%s_from_u8(", tessi_c_lanes(w));
    }
    ScalarType element = t == TYPE_BOOL ? TYPE_U8 : t;
    tessi_c_use_type(w, element);
    call(w, "load", element);
    tessi_text_add(&w->line, "&");
    tessi_c_place(w, e->buffer, e->arg);
    tessi_text_add(&w->line, t == TYPE_BOOL ? "))" : ")");
}

/* An operand of an operator written as in C: scalars of real type spread by themselves. */
static void operand(CWriter *w, LExprId id, int around)
{
    if (tessi_c_shape(w, id) == C_UNIFORM && tessi_is_real(tessi_lexpr(w->p, id)->type))
        tessi_c_expr(w, id, around);
    else
        tessi_c_vector_value(w, id, around);
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
    const LExpr *e = tessi_lexpr(w->p, id);
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
    tessi_c_expr(w, id, C_LOOSE);
    tessi_text_add(&w->line, ")");
}

static int operation(CWriter *w, const LExpr *e)
{
    ScalarType t = tessi_lexpr(w->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    bool comparison = tessi_op_info(e->op)->result == 'B';
    bool by =
        e->n_args == 2 && tessi_c_shape(w, e->arg[1]) == C_UNIFORM && tessi_c_vector_by(e->op, t);
    const LExprId turned = tessi_c_turned(w, e);
    if (turned.v) {
        tessi_c_use_negation(w, t);
        call(w, "neg", t);
        tessi_c_vector_value(w, turned, C_LOOSE);
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
            tessi_c_expr(w, e->arg[i], C_LOOSE);
        else if (is_factor(w, e->op, e->arg[i]))
            factor(w, e->arg[i]);
        else
            tessi_c_vector_value(w, e->arg[i], C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
    return C_PRIMARY;
}

static void conversion(CWriter *w, const LExpr *e)
{
    const LExpr *x = tessi_lexpr(w->p, e->arg[0]);
    bool saturates = e->kind == LEXPR_SAT;
    if (w->vector.pairs && tessi_c_pairs_conversion(w, e))
        return;
    if (!saturates && tessi_c_shape(w, e->arg[0]) == C_RAMP && tessi_is_integer(e->type)) {
        tessi_c_use_ramp(w, e->type);
        call(w, "ramp", e->type);
        tessi_text_addf(&w->line, "(%s)", tessi_c_type(w, e->type));
        tessi_c_expr(w, e->arg[0], C_UNARY);
    } else {
        tessi_c_use_conversion(w, e->type, x->type, saturates);
        tessi_text_addf(&w->line, "tess_%s%s%s_from_%s(", saturates ? "sat_" : "", brief(e->type),
                        tessi_c_lanes(w), brief(x->type));
        tessi_c_vector_value(w, e->arg[0], C_LOOSE);
    }
    tessi_text_add(&w->line, ")");
}

/* Appends the value of all lanes, and says how strongly it binds. */
static int append(CWriter *w, LExprId id)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    CShape shape = tessi_c_shape(w, id);
    if (shape != C_LANES) {
        if (shape == C_RAMP)
            tessi_c_use_ramp(w, e->type);
        else
            tessi_c_use_type(w, e->type);
        call(w, shape == C_RAMP ? "ramp" : "splat", e->type);
        tessi_c_expr(w, id, C_LOOSE);
        tessi_text_add(&w->line, ")");
        return C_PRIMARY;
    }
    if (w->vector.shared && w->vector.shared[id.v]) {
        tessi_text_add(&w->line, w->vector.shared[id.v]);
        return C_PRIMARY;
    }
    if (w->stamp_of[id.v] == w->stamp && w->temporary[id.v]) {
        tessi_text_add(&w->line, w->temporary[id.v]);
        return C_PRIMARY;
    }
    switch (e->kind) {
    case LEXPR_VAR: tessi_text_add(&w->line, tessi_c_var(w, e->var)); break;
    case LEXPR_LOAD: load(w, e); break;
    case LEXPR_OP: return operation(w, e);
    case LEXPR_CAST:
    case LEXPR_SAT: conversion(w, e); break;
    default: break; /* the others are uniform */
    }
    return C_PRIMARY;
}

void tessi_c_vector_value(CWriter *w, LExprId id, int around)
{
    const size_t from = w->line.n;
    tessi_c_enclose(w, from, append(w, id), around);
}
