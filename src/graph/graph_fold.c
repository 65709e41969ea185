/* Exact folding of operators. Every rule here holds for all arguments, bit by bit (any NaN counts as any other): so
 * x * 1 and x + -0.0 fold for reals, x + 0.0 and x * 0.0 do not. */
#include "graph/graph_fold.h"

#include <math.h>

static const ExprId none = { 0 };

static ExprId binary(Graph *g, Op op, ExprId a, ExprId b)
{
    return tessi_expr_op(g, op, a, b, none);
}

/* The constant `id` stands for equals the integer `i` (for reals: i exactly, and 0 means +0). */
static bool is_value(const Graph *g, ExprId id, int64_t i)
{
    Value v;
    ScalarType t = tessi_expr(g, id)->type;
    if (!tessi_expr_is_const(g, id, &v))
        return false;
    Value want = tessi_is_real(t) ? tessi_value_real((double)i) : tessi_value_int(i);
    return tessi_value_same(t, v, want);
}

static bool is_minus_zero(const Graph *g, ExprId id)
{
    Value v;
    return tessi_is_real(tessi_expr(g, id)->type) && tessi_expr_is_const(g, id, &v) && v.f == 0
           && signbit(v.f);
}

static ExprId fold_constants(Graph *g, const Expr *e)
{
    Value v[3];
    for (uint32_t k = 0; k < e->n_args; k++)
        if (!tessi_expr_is_const(g, e->arg[k], &v[k]))
            return none;
    ScalarType t = tessi_expr(g, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    return tessi_expr_const(g, e->type, tessi_eval(e->op, t, v));
}

/* neg(neg(x)), not(not(x)) */
static ExprId fold_involution(const Graph *g, const Expr *e)
{
    const Expr *inner = tessi_expr(g, e->arg[0]);
    return inner->kind == EXPR_OP && inner->op == e->op ? inner->arg[0] : none;
}

/* Sums of integers wrap, so constants may be gathered: (x + 2) + 3, (x - 2) + 3. */
static ExprId fold_integer_sum(Graph *g, const Expr *e)
{
    ExprId x = e->arg[0], c = e->arg[1];
    Value v, w;
    if (!tessi_expr_is_const(g, c, &v))
        return none;
    if (e->op == OP_SUB) { /* x - c = x + (-c), wrapping */
        ExprId minus = tessi_expr_op(g, OP_NEG, c, none, none);
        return binary(g, OP_ADD, x, minus);
    }
    const Expr *inner = tessi_expr(g, x);
    if (inner->kind == EXPR_OP && inner->op == OP_ADD && tessi_expr_is_const(g, inner->arg[1], &w))
        return binary(g, OP_ADD, inner->arg[0], binary(g, OP_ADD, inner->arg[1], c));
    return none;
}

/* x + -y, -x + y and x - -y need no sign; x * -1 is a sign. */
static ExprId fold_sign(Graph *g, const Expr *e)
{
    if (e->type == TYPE_BOOL || (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_MUL))
        return none;
    const Expr *a = tessi_expr(g, e->arg[0]), *b = tessi_expr(g, e->arg[1]);
    bool minus_a = a->kind == EXPR_OP && a->op == OP_NEG;
    bool minus_b = b->kind == EXPR_OP && b->op == OP_NEG;
    if (e->op == OP_MUL) {
        bool signed_type = tessi_is_real(e->type) || !tessi_is_unsigned(e->type);
        if (signed_type && is_value(g, e->arg[1], -1))
            return tessi_expr_op(g, OP_NEG, e->arg[0], none, none);
        if (signed_type && is_value(g, e->arg[0], -1))
            return tessi_expr_op(g, OP_NEG, e->arg[1], none, none);
        return none;
    }
    if (minus_b)
        return binary(g, e->op == OP_ADD ? OP_SUB : OP_ADD, e->arg[0], b->arg[0]);
    return minus_a && e->op == OP_ADD ? binary(g, OP_SUB, e->arg[1], a->arg[0]) : none;
}

static ExprId fold_integer(Graph *g, const Expr *e)
{
    ExprId a = e->arg[0], b = e->arg[1];
    bool same = a.v == b.v;
    ExprId zero = e->type == TYPE_BOOL ? none : tessi_expr_int(g, e->type, 0);
    switch (e->op) {
    case OP_ADD:
        if (is_value(g, b, 0))
            return a;
        if (is_value(g, a, 0))
            return b;
        return fold_integer_sum(g, e);
    case OP_SUB:
        if (is_value(g, b, 0))
            return a;
        if (same)
            return zero;
        return fold_integer_sum(g, e);
    case OP_MUL:
        if (is_value(g, b, 1) || is_value(g, a, 0))
            return a;
        if (is_value(g, a, 1) || is_value(g, b, 0))
            return b;
        return none;
    case OP_DIV: return is_value(g, b, 1) ? a : none;
    case OP_MOD: return is_value(g, b, 1) ? zero : none;
    case OP_SHL:
    case OP_SHR: return is_value(g, b, 0) ? a : none;
    default: return none;
    }
}

static ExprId fold_bits(Graph *g, const Expr *e)
{
    ExprId a = e->arg[0], b = e->arg[1];
    int64_t ones = e->type == TYPE_BOOL               ? 1
                   : tessi_type_range(e->type).lo < 0 ? -1
                                                      : tessi_type_range(e->type).hi;
    switch (e->op) {
    case OP_AND:
        if (a.v == b.v || is_value(g, b, ones) || is_value(g, a, 0))
            return a;
        return is_value(g, a, ones) || is_value(g, b, 0) ? b : none;
    case OP_OR:
        if (a.v == b.v || is_value(g, b, 0) || is_value(g, a, ones))
            return a;
        return is_value(g, a, 0) || is_value(g, b, ones) ? b : none;
    case OP_XOR:
        if (is_value(g, b, 0))
            return a;
        if (is_value(g, a, 0))
            return b;
        return a.v == b.v ? tessi_expr_int(g, e->type, 0) : none;
    default: return none;
    }
}

static ExprId fold_real(Graph *g, const Expr *e)
{
    ExprId a = e->arg[0], b = e->arg[1], c = e->arg[2];
    switch (e->op) {
    case OP_ADD:
        if (is_minus_zero(g, b))
            return a;
        return is_minus_zero(g, a) ? b : none;
    case OP_SUB: return is_value(g, b, 0) ? a : none;
    case OP_MUL:
        if (is_value(g, b, 1))
            return a;
        return is_value(g, a, 1) ? b : none;
    case OP_DIV: return is_value(g, b, 1) ? a : none;
    case OP_FMA:
        if (is_value(g, a, 1))
            return binary(g, OP_ADD, b, c);
        if (is_value(g, b, 1))
            return binary(g, OP_ADD, a, c);
        return is_minus_zero(g, c) ? binary(g, OP_MUL, a, b) : none;
    default: return none;
    }
}

static ExprId fold_comparison(Graph *g, const Expr *e)
{
    if (e->arg[0].v != e->arg[1].v || tessi_is_real(tessi_expr(g, e->arg[0])->type))
        return none; /* a NaN differs from itself */
    switch (e->op) {
    case OP_EQ:
    case OP_LE: return tessi_expr_int(g, TYPE_BOOL, 1);
    case OP_NE:
    case OP_LT: return tessi_expr_int(g, TYPE_BOOL, 0);
    default: return none;
    }
}

static ExprId fold_select(Graph *g, const Expr *e)
{
    Value condition;
    if (e->arg[1].v == e->arg[2].v)
        return e->arg[1];
    if (tessi_expr_is_const(g, e->arg[0], &condition))
        return e->arg[condition.i ? 1 : 2];
    return none;
}

ExprId tessi_fold_op(Graph *g, const Expr *e)
{
    ExprId folded = fold_constants(g, e);
    if (folded.v)
        return folded;
    switch (e->op) {
    case OP_NEG:
    case OP_NOT: return fold_involution(g, e);
    case OP_SELECT: return fold_select(g, e);
    case OP_MIN:
    case OP_MAX: return e->arg[0].v == e->arg[1].v ? e->arg[0] : none;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE: return fold_comparison(g, e);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return fold_bits(g, e);
    default: break;
    }
    folded = fold_sign(g, e);
    if (folded.v)
        return folded;
    return tessi_is_real(e->type) ? fold_real(g, e) : fold_integer(g, e);
}
