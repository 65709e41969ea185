/* front/check_narrow: arithmetic within the type of the operands: wrap<T>(e) keeps the low bits; add_sat, sub_sat, avg
 * and absd compute exactly and give what the type holds. All of it in operators that there are. */
#include "front/check.h"

static TExpr *number(Checker *c, int64_t i, Span span)
{
    return tessi_te_int(c, i, span);
}

/* The bytes of the widest integer in the type; 0: reals only. */
static int widest_integer(TType t)
{
    int bytes = 0;
    const uint32_t n = t.kind == TT_STRUCT ? t.st->n : 1;
    for (uint32_t k = 0; k < n; k++) {
        const TType field = tessi_tt_field(t, k);
        if (field.kind == TT_SCALAR && !tessi_is_real(field.scalar)
            && tessi_type_info(field.scalar)->bytes > bytes)
            bytes = tessi_type_info(field.scalar)->bytes;
    }
    return bytes;
}

TExpr *tessi_check_wrap(Checker *c, const AstExpr *ast)
{
    const Span span = ast->span;
    TType to = tessi_check_type(c, &ast->type);
    TExpr *e = tessi_check_concrete(c, tessi_check_expr(c, ast->arg.at[0]));
    if (tessi_tt_is_error(to) || tessi_tt_is_error(e->type))
        return tessi_te_error(c, span);
    if (to.kind != TT_SCALAR || tessi_is_real(to.scalar) || to.scalar == TYPE_BOOL) {
        CHECK_DIAG(c, DIAG_BAD_OPERAND, ast->type.span, "wrap", tessi_tt_name(c, to));
        return tessi_te_error(c, span);
    }
    const int bits = 8 * tessi_type_info(to.scalar)->bytes;
    if (bits < 64
        && bits < 8 * widest_integer(e->type)) { /* within the type before it is converted */
        e = tessi_check_binary(c, span, AST_OP_AND, e, number(c, ((int64_t)1 << bits) - 1, span));
        const int64_t half = (int64_t)1 << (bits - 1);
        if (!tessi_is_unsigned(to.scalar)) {
            e = tessi_check_binary(c, span, AST_OP_XOR, e, number(c, half, span));
            e = tessi_check_binary(c, span, AST_OP_SUB, e, number(c, half, span));
        }
    } else if (widest_integer(e->type) == 0) {
        e = tessi_check_unary(c, span, AST_OP_BNOT, e); /* says that reals do not wrap */
    }
    return tessi_check_cast(c, e, to, false, span);
}

/* So wide that sums and differences are exact. */
static TExpr *wide(Checker *c, TExpr *e)
{
    return widest_integer(e->type) == 4
               ? tessi_check_cast(c, e, tessi_tt_scalar(TYPE_I64), false, e->span)
               : e;
}

static TExpr *absolute(Checker *c, Span span, TExpr *e)
{
    return tessi_check_apply(c, span, RULE_ABS, OP_ABS, &e, 1);
}

TExpr *tessi_check_narrow(Checker *c, Span span, const char *name, NarrowOp op, TExpr *a, TExpr *b)
{
    TExpr *two[2] = { a, b };
    tessi_check_unify(c, span, RULE_KEEP, two, 2);
    const TType type = two[0]->type.kind == TT_STRUCT ? two[0]->type : two[1]->type;
    if (tessi_tt_is_error(two[0]->type) || tessi_tt_is_error(two[1]->type))
        return tessi_te_error(c, span);
    const int bytes = widest_integer(type);
    if (tessi_tt_is_untyped(type) || bytes > 4) {
        CHECK_DIAG(c, DIAG_NARROW_TYPE, span, name, tessi_tt_name(c, type));
        return tessi_te_error(c, span);
    }
    a = wide(c, two[0]);
    b = wide(c, two[1]);
    const bool average = op == NARROW_AVERAGE;
    TExpr *e =
        tessi_check_binary(c, span, op == NARROW_ADD || average ? AST_OP_ADD : AST_OP_SUB, a, b);
    if (op == NARROW_DISTANCE)
        e = absolute(c, span, e);
    if (average && bytes) { /* halves up */
        e = tessi_check_binary(c, span, AST_OP_ADD, e, number(c, 1, span));
        e = tessi_check_binary(c, span, AST_OP_SHR, e, number(c, 1, span));
    } else if (average) {
        e = tessi_check_binary(
            c, span, AST_OP_MUL, e,
            tessi_te_const(c, tessi_tt_kind(TT_UNTYPED_REAL), tessi_value_real(0.5), span));
    }
    return bytes ? tessi_check_cast(c, e, type, true, span) : tessi_check_convert(c, e, type);
}
