/* Vectors in C: each operation is one of C on vector types, or a call of prelude/c_vector.h. */
#include <math.h>

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
    return tessi_sprintf(w->arena, "tess_%s%s", brief(tessi_c_lane_type(w, t)), tessi_c_lanes(w));
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
    return x->is_row ? tessi_sprintf(w->arena, x->is_both ? "%s_both" : "%s_row", type) : type;
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
    tessi_text_addf(&w->line, "tess_%s_%s%s(", name, brief(tessi_c_lane_type(w, t)),
                    tessi_c_lanes(w));
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
    if (w->p->vars.at[tessi_lexpr(w->p, e->arg[0])->var.v].is_both) {
        tessi_c_expr(w, e->arg[0], C_PRIMARY);
        const bool first = tessi_lexpr(w->p, e->arg[1])->value.i == 0;
        tessi_text_add(&w->line, first ? ".first" : ".second");
        return;
    }
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

/* The first element of those among which the lanes have their places. */
static void first_place(CWriter *w, const LExpr *e)
{
    LExprId index[LOOP_MAX_DIMS] = { { 0 } };
    for (int d = 0; d < e->n_args; d++)
        if (!tessi_lexpr(w->p, e->arg[d])->lanes)
            index[d] = e->arg[d];
    tessi_text_add(&w->line, tessi_c_is_mixed(w, e->buffer) ? "" : "&");
    tessi_c_place(w, e->buffer, index);
    tessi_text_add(&w->line, ", ");
}

/* Elements by narrow integers, of a table by shuffles. */
static void each_by(CWriter *w, const LExpr *e)
{
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    int d = 0;
    while (!tessi_lexpr(w->p, e->arg[d])->lanes)
        d++;
    const LExpr *n = tessi_lexpr(w->p, b->size[b->n_dims - 1]);
    const ScalarType element = b->type == TYPE_BOOL ? TYPE_U8 : b->type,
                     index = tessi_lexpr(w->p, e->arg[d])->type;
    const bool table = b->n_dims == 1 && w->lane_bytes == 1 && n->kind == LEXPR_CONST
                       && n->value.i <= 256 && tessi_loop_is_dense(w->p, e->buffer);
    tessi_c_use_each_by(w, element, table ? TYPE_U8 : index, table);
    if (table)
        tessi_text_addf(&w->line, "tess_table_%sv8(", brief(element));
    else
        tessi_text_addf(&w->line, "tess_each_%s%s_by_%s(", brief(element), tessi_c_lanes(w),
                        brief(index));
    first_place(w, e);
    if (table)
        tessi_text_addf(&w->line, "%lld, (tess_u8v8)", (long long)n->value.i);
    else {
        tessi_c_step(w, e->buffer, d);
        tessi_text_add(&w->line, ", ");
    }
    tessi_c_expr(w, e->arg[d], table ? C_UNARY : C_LOOSE);
    tessi_text_add(&w->line, ")");
}

/* How far the lanes' places are from the first one. */
static void places(CWriter *w, const LExpr *e)
{
    const char *v = tessi_c_lanes(w);
    int last = e->n_args - 1;
    while (!tessi_lexpr(w->p, e->arg[last])->lanes)
        last--;
    for (int d = 0; d < last; d++)
        if (tessi_lexpr(w->p, e->arg[d])->lanes)
            tessi_text_addf(&w->line, "tess_farther_%s(", v);
    for (int d = 0, n = 0; d <= last; d++) {
        if (!tessi_lexpr(w->p, e->arg[d])->lanes)
            continue;
        tessi_text_addf(&w->line, "%stess_places_%s(", n ? ", " : "", v);
        tessi_c_expr(w, e->arg[d], C_LOOSE);
        tessi_text_add(&w->line, ", ");
        tessi_c_step(w, e->buffer, d);
        tessi_text_add(&w->line, n++ ? "))" : ")");
    }
}

/* Where the lanes are: places in the row, or how far from the first one. */
static void lane_places(CWriter *w, const LExpr *e, bool near)
{
    if (near)
        tessi_c_expr(w, e->arg[e->n_args - 1], C_LOOSE);
    else
        places(w, e);
}

/* Elements from places of their own. */
static void each(CWriter *w, const LExpr *e)
{
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    const bool mixed = tessi_c_is_mixed(w, e->buffer), near = e->ref == LLOAD_NEAR;
    const ScalarType element = b->type == TYPE_BOOL ? TYPE_U8 : b->type;
    const char *v = tessi_c_lanes(w);
    if (w->lane_bytes < 4) {
        each_by(w, e);
        return;
    }
    tessi_c_use_each(w, element, mixed, near);
    tessi_text_addf(&w->line, "tess_%s_%s%s%s(", near ? "near" : "each", mixed ? "at_" : "",
                    tessi_type_info(element)->brief, v);
    first_place(w, e);
    lane_places(w, e, near);
    tessi_text_add(&w->line, ")");
}

/* Two elements of each lane, with the places of the first and of the second. */
static void both(CWriter *w, const LExpr *e)
{
    const LExpr *first = tessi_lexpr(w->p, e->arg[0]);
    const bool near = first->ref == LLOAD_NEAR;
    tessi_c_use_both(w, first->type, near);
    call(w, near ? "near_both" : "both", first->type);
    first_place(w, first);
    lane_places(w, first, near);
    tessi_text_add(&w->line, ", ");
    lane_places(w, tessi_lexpr(w->p, e->arg[1]), near);
    tessi_text_add(&w->line, ")");
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
    if (tessi_load_each(e)) {
        each(w, e);
        tessi_text_add(&w->line, truth ? ")" : "");
        return;
    }
    if (tessi_load_apart(e)) {
        const int apart = (int)tessi_load_apart(e);
        tessi_c_use_apart(w, element, apart < 0);
        call(w, apart < 0 ? "apart_back" : "apart", element);
        place(w, e);
        tessi_text_addf(&w->line, ", %d * ", apart < 0 ? -apart : apart);
        tessi_c_step(w, e->buffer, e->n_args - 1);
        tessi_text_addf(&w->line, ", %u, ",
                        tessi_loop_channels(w->p, e->buffer) > 1 ? b->channel : 0);
        tessi_c_step(w, e->buffer, e->n_args - 1);
        tessi_text_add(&w->line, truth ? "))" : ")");
        return;
    }
    if (e->ref == LLOAD_FOURS) {
        tessi_c_use_fours(w);
        tessi_text_add(&w->line, "tess_fours_v(");
        place(w, e);
        tessi_text_add(&w->line, ")");
        return;
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

/* An index as what lanes have of it. */
static void narrowed(CWriter *w, ScalarType t, LExprId id)
{
    const bool plain = tessi_lexpr(w->p, id)->kind == LEXPR_CONST;
    if (!plain)
        tessi_text_addf(&w->line, "(%s)", tessi_c_type(w, t));
    tessi_c_expr(w, id, plain ? C_LOOSE : C_UNARY);
}

/* A quotient of doubles by a constant that two products give (prelude/c_vector.h): what is 1 / by off shows in its
 * product with `by`. */
static bool is_quotient(const CWriter *w, const LExpr *e)
{
    if (e->op != OP_DIV || tessi_lexpr(w->p, e->arg[0])->type != TYPE_F64 || w->lane_bytes != 8)
        return false;
    const LExpr *by = tessi_lexpr(w->p, tessi_c_through(w, e->arg[1]));
    return by->kind == LEXPR_CONST && by->value.f > 1 && by->value.f <= 0x1p60
           && fabs(fma(1 / by->value.f, by->value.f, -1)) <= 0x1p-54;
}

static int quotient(CWriter *w, const LExpr *e)
{
    tessi_c_use_quotient(w);
    call(w, "quotient", TYPE_F64);
    tessi_c_expr(w, e->arg[0], C_LOOSE);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, tessi_c_through(w, e->arg[1]), C_LOOSE);
    tessi_text_add(&w->line, ")");
    return C_PRIMARY;
}

static int operation(CWriter *w, const LExpr *e)
{
    if (is_quotient(w, e))
        return quotient(w, e);
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
    const ScalarType of = tessi_c_lane_type(w, t);
    tessi_text_addf(&w->line, "tess_%s_%s%s%s(", tessi_c_function(w, e), brief(of),
                    tessi_c_lanes(w), by ? "_by" : "");
    for (int i = 0; i < e->n_args; i++) {
        tessi_text_add(&w->line, i ? ", " : "");
        if (by && i == 1 && of != t)
            narrowed(w, of, tessi_c_through(w, e->arg[i]));
        else if (by && i == 1)
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
        const ScalarType to = tessi_c_lane_type(w, e->type), from = tessi_c_lane_type(w, x->type);
        if (to == from) {
            tessi_c_expr(w, e->arg[0], C_PRIMARY);
            return;
        }
        tessi_c_use_conversion(w, to, from, saturates);
        tessi_text_addf(&w->line, "tess_%s%s%s_from_%s(", saturates ? "sat_" : "", brief(to),
                        tessi_c_lanes(w), brief(from));
    }
    tessi_c_expr(w, e->arg[0], C_LOOSE);
    tessi_text_add(&w->line, ")");
}

/* A scalar in every lane, or counted up from lane to lane. */
static void spread(CWriter *w, const LExpr *e)
{
    const bool ramp = e->kind == LEXPR_RAMP;
    const ScalarType t = tessi_c_lane_type(w, e->type);
    const bool converts = (ramp || t != e->type) && t != TYPE_INDEX;
    if (ramp)
        tessi_c_use_ramp(w, e->type);
    else
        tessi_c_use_type(w, e->type);
    call(w, ramp ? "ramp" : "splat", e->type);
    if (converts)
        narrowed(w, t, e->arg[0]);
    else
        tessi_c_expr(w, e->arg[0], C_LOOSE);
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
    case LEXPR_BOTH: both(w, e); break;
    case LEXPR_CONST:
    case LEXPR_PARAM:
    case LEXPR_SCALAR:
    case LEXPR_LANES:
    case LEXPR_VECTORS: break; /* scalars */
    }
    return C_PRIMARY;
}

/* ---- Stores ------------------------------------------------------------------------------------------------------ */

/* One element of each pixel, or point of a lattice. */
static void spread_store(CWriter *w, const LStmt *s, ScalarType element)
{
    tessi_c_use_spread(w, element);
    call(w, "spread", element);
    tessi_text_add(&w->line, "&");
    tessi_c_place(w, s->buffer, s->index);
    tessi_text_add(&w->line, ", ");
    if (s->flags & LSTORE_APART)
        tessi_text_addf(&w->line, "%d * ", (int)s->step);
    tessi_c_step(w, s->buffer, s->n_index - 1);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, s->a, C_LOOSE);
    tessi_text_add(&w->line, ");");
}

void tessi_c_vector_store(CWriter *w, const LStmt *s)
{
    const LBuffer *b = &w->p->buffers.at[s->buffer.v];
    const ScalarType element = b->type == TYPE_BOOL ? TYPE_U8 : b->type;
    w->lane_bytes = tessi_lexpr(w->p, s->a)->lanes;
    use_element(w, element);
    if (!tessi_loop_is_dense(w->p, s->buffer) || s->flags & LSTORE_APART) {
        spread_store(w, s, element);
        return;
    }
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
