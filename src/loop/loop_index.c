/* Algebra of index arithmetic. INDEX never overflows, so the laws of the integers hold; what keeps generated code
 * readable is a form with the constant last: (x + y) + c, (x - y) + c, x*k + c. A step whose constants would leave
 * 64 bits is not taken. */
#include "loop/loop_private.h"

static const LExprId none = { 0 };

/* id = base + constant; base is none for a constant. */
typedef struct Offset {
    LExprId base;
    int64_t constant;
} Offset;

static bool is_op(const LoopProgram *p, LExprId id, Op op)
{
    const LExpr *e = tessi_lexpr(p, id);
    return e->kind == LEXPR_OP && e->op == op && e->type == TYPE_INDEX;
}

static bool constant_of(const LoopProgram *p, LExprId id, int64_t *c)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind != LEXPR_CONST)
        return false;
    *c = e->value.i;
    return true;
}

static Offset offset_of(const LoopProgram *p, LExprId id)
{
    Offset o = { id, 0 };
    if (constant_of(p, id, &o.constant))
        o.base = none;
    else if (is_op(p, id, OP_ADD) && constant_of(p, tessi_lexpr(p, id)->arg[1], &o.constant))
        o.base = tessi_lexpr(p, id)->arg[0];
    return o;
}

static LExprId raw(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    return tessi_lexpr_raw_op(p, op, TYPE_INDEX, (LExprId[]){ a, b });
}

static LExprId binary(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    return tessi_lexpr_op(p, op, a, b, none);
}

static LExprId plus_constant(LoopProgram *p, LExprId base, int64_t c)
{
    if (!base.v)
        return tessi_lexpr_index(p, c);
    return c ? raw(p, OP_ADD, base, tessi_lexpr_index(p, c)) : base;
}

static LExprId simplify_add(LoopProgram *p, LExprId a, LExprId b)
{
    Offset x = offset_of(p, a), y = offset_of(p, b);
    int64_t c;
    if (!tessi_add_i64(x.constant, y.constant, &c))
        return none;
    if (!x.base.v || !y.base.v)
        return plus_constant(p, x.base.v ? x.base : y.base, c);
    if (is_op(p, x.base, OP_SUB) && tessi_lexpr(p, x.base)->arg[1].v == y.base.v)
        return binary(p, OP_ADD, tessi_lexpr(p, x.base)->arg[0],
                      tessi_lexpr_index(p, c)); /* (u-v)+v */
    if (is_op(p, y.base, OP_SUB) && tessi_lexpr(p, y.base)->arg[1].v == x.base.v)
        return binary(p, OP_ADD, tessi_lexpr(p, y.base)->arg[0],
                      tessi_lexpr_index(p, c)); /* v+(u-v) */
    if (x.constant || y.constant)
        return plus_constant(p, raw(p, OP_ADD, x.base, y.base), c);
    return none;
}

static LExprId simplify_sub(LoopProgram *p, LExprId a, LExprId b)
{
    Offset x = offset_of(p, a), y = offset_of(p, b);
    int64_t c;
    if (!tessi_sub_i64(x.constant, y.constant, &c))
        return none;
    if (x.base.v == y.base.v)
        return tessi_lexpr_index(p, c);
    if (!y.base.v)
        return plus_constant(p, x.base, c);
    if (!x.base.v) {
        if (y.constant)
            return binary(p, OP_SUB, tessi_lexpr_index(p, c), y.base);
        int64_t k;
        if (is_op(p, b, OP_SUB) && constant_of(p, tessi_lexpr(p, b)->arg[0], &k)
            && tessi_sub_i64(c, k, &k)) /* c - (k - u) */
            return plus_constant(p, tessi_lexpr(p, b)->arg[1], k);
        return none;
    }
    if (is_op(p, x.base, OP_ADD)) { /* (u + v) - u, (u + v) - v */
        const LExpr *sum = tessi_lexpr(p, x.base);
        if (sum->arg[0].v == y.base.v)
            return plus_constant(p, sum->arg[1], c);
        if (sum->arg[1].v == y.base.v)
            return plus_constant(p, sum->arg[0], c);
    }
    if (x.constant || y.constant)
        return plus_constant(p, raw(p, OP_SUB, x.base, y.base), c);
    return none;
}

static LExprId simplify_mul(LoopProgram *p, LExprId a, LExprId b)
{
    int64_t k, inner, c;
    if (constant_of(p, a, &k)) {
        if (!constant_of(p, b, &c))
            return binary(p, OP_MUL, b, a); /* constants stand last */
        return tessi_mul_i64(k, c, &c) ? tessi_lexpr_index(p, c) : none;
    }
    if (!constant_of(p, b, &k))
        return none;
    if (k == 0)
        return b;
    if (k == 1)
        return a;
    Offset x = offset_of(p, a);
    if (x.constant && tessi_mul_i64(x.constant, k, &c))
        return plus_constant(p, binary(p, OP_MUL, x.base, b), c);
    if (is_op(p, a, OP_MUL) && constant_of(p, tessi_lexpr(p, a)->arg[1], &inner)
        && tessi_mul_i64(inner, k, &c))
        return binary(p, OP_MUL, tessi_lexpr(p, a)->arg[0], tessi_lexpr_index(p, c));
    return none;
}

/* The constant factor of `id`, 1 when there is none. */
static int64_t factor_of(const LoopProgram *p, LExprId id, LExprId *rest)
{
    int64_t k;
    *rest = id;
    if (!is_op(p, id, OP_MUL) || !constant_of(p, tessi_lexpr(p, id)->arg[1], &k) || k == 0)
        return 1;
    *rest = tessi_lexpr(p, id)->arg[0];
    return k;
}

/* floor((u*m*d + c) / d) = u*m + floor(c / d), and likewise for the remainder. */
static LExprId simplify_division(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    int64_t d;
    if (!constant_of(p, b, &d) || d < 1)
        return none;
    Offset x = offset_of(p, a);
    int64_t of_constant =
        op == OP_FLOORDIV ? tessi_floordiv(x.constant, d) : tessi_floormod(x.constant, d);
    if (!x.base.v)
        return tessi_lexpr_index(p, of_constant);
    LExprId rest;
    int64_t k = factor_of(p, x.base, &rest);
    if (k % d != 0)
        return none;
    if (op == OP_FLOORMOD)
        return tessi_lexpr_index(p, of_constant);
    LExprId quotient = binary(p, OP_MUL, rest, tessi_lexpr_index(p, k / d));
    return binary(p, OP_ADD, quotient, tessi_lexpr_index(p, of_constant));
}

/* An integer of few bits that never is beyond c. */
static bool is_within(const LoopProgram *p, LExprId id, Op op, int64_t c)
{
    const LExpr *e = tessi_lexpr(p, id);
    const ScalarType t = e->kind == LEXPR_CAST ? tessi_lexpr(p, e->arg[0])->type : TYPE_INDEX;
    if (!tessi_is_integer(t) || t == TYPE_INDEX || tessi_type_info(t)->bytes > 2)
        return false;
    const Interval range = tessi_type_range(t);
    return op == OP_MIN ? range.hi <= c : range.lo >= c;
}

static LExprId simplify_min_max(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    Offset x = offset_of(p, a), y = offset_of(p, b);
    if (x.base.v == y.base.v)
        return (x.constant < y.constant) == (op == OP_MIN) ? a : b;
    if (!x.base.v)
        return binary(p, op, b, a); /* constants stand last */
    if (!y.base.v && is_within(p, a, op, y.constant))
        return a;
    if (!y.base.v && is_op(p, a, op)) {
        LExprId inner = tessi_lexpr(p, a)->arg[1];
        int64_t k;
        if (constant_of(p, inner, &k))
            return binary(p, op, tessi_lexpr(p, a)->arg[0], simplify_min_max(p, op, inner, b));
    }
    return none;
}

static LExprId simplify_comparison(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    Offset x = offset_of(p, a), y = offset_of(p, b);
    if (x.base.v != y.base.v)
        return none;
    int64_t u = x.constant, v = y.constant;
    bool holds = op == OP_EQ ? u == v : op == OP_NE ? u != v : op == OP_LT ? u < v : u <= v;
    return tessi_lexpr_const(p, TYPE_BOOL, tessi_value_int(holds));
}

static LExprId simplify_neg(LoopProgram *p, LExprId a)
{
    return binary(p, OP_SUB, tessi_lexpr_index(p, 0), a);
}

LExprId tessi_lexpr_index_op(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    switch (op) {
    case OP_NEG: return simplify_neg(p, a);
    case OP_ADD: return simplify_add(p, a, b);
    case OP_SUB: return simplify_sub(p, a, b);
    case OP_MUL: return simplify_mul(p, a, b);
    case OP_FLOORDIV:
    case OP_FLOORMOD: return simplify_division(p, op, a, b);
    case OP_MIN:
    case OP_MAX: return simplify_min_max(p, op, a, b);
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE: return simplify_comparison(p, op, a, b);
    default: return none;
    }
}
