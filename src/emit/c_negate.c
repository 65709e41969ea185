/* Negations of reals in C. GCC makes -x * y - z of -(x * y + z) where a fused multiply-add is negated, whatever its
 * flags are; where the sum is zero that is a zero of the other sign. What may be such a sum is turned by its bit,
 * which GCC takes as it is. */
#include <math.h>

#include "emit/c_private.h"

enum { MOST_DEPTH = 6 };

/* A constant that makes the result of the operator something else than its other operand, or the negation of that. */
static bool is_change(const CWriter *w, Op op, LExprId id)
{
    const LExpr *e = tessi_lexpr(w->p, tessi_c_through(w, id));
    const bool sum = op == OP_ADD || op == OP_SUB, product = op == OP_MUL || op == OP_DIV;
    return e->kind == LEXPR_CONST
           && ((sum && e->value.f != 0) || (product && fabs(e->value.f) != 1));
}

static bool may_be_fused(const CWriter *w, LExprId id, int depth)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    if (!tessi_is_real(e->type))
        return false;
    if (!depth)
        return true;
    switch (e->kind) {
    case LEXPR_CONST:
    case LEXPR_PARAM:
    case LEXPR_LANES:
    case LEXPR_VECTORS:
    case LEXPR_RAMP:
    case LEXPR_PAIRS:
    case LEXPR_SCALAR: return false;
    case LEXPR_VAR: return w->p->vars.at[e->var.v].is_mutable || w->fused[e->var.v];
    case LEXPR_LOAD: /* compilers see through memory */
        return w->needs.stored && w->needs.stored[e->buffer.v];
    case LEXPR_BOTH:
    case LEXPR_SPLAT: return may_be_fused(w, e->arg[0], depth);
    case LEXPR_AT: return may_be_fused(w, e->arg[0], depth - 1); /* as the row is */
    case LEXPR_CAST:
    case LEXPR_SAT: return may_be_fused(w, e->arg[0], depth - 1);
    case LEXPR_OP: break;
    }
    switch (e->op) {
    case OP_ABS:
    case OP_SQRT:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_ROUND: return false;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_NEG:
    case OP_MIN:
    case OP_MAX:
    case OP_SELECT: /* may be one of their operands, as in x * 1 */
        for (int i = 0; i < e->n_args; i++)
            if (is_change(w, e->op, e->arg[i]))
                return false;
        for (int i = 0; i < e->n_args; i++)
            if (may_be_fused(w, e->arg[i], depth - 1))
                return true;
        return false;
    default: return true;
    }
}

bool tessi_c_may_be_fused(const CWriter *w, LExprId id)
{
    return w->target->fuses_negations && may_be_fused(w, id, MOST_DEPTH);
}

static bool is_real(const CWriter *w, LExprId id, double value)
{
    const LExpr *e = tessi_lexpr(w->p, tessi_c_through(w, id));
    return e->kind == LEXPR_CONST && e->value.f == value
           && (signbit(e->value.f) != 0) == (signbit(value) != 0);
}

/* -x, x * -1, -1 * x, x / -1 and -0 - x are all the same to a compiler. */
static LExprId negated(const CWriter *w, const LExpr *e)
{
    switch (e->op) {
    case OP_NEG: return e->arg[0];
    case OP_MUL:
        return is_real(w, e->arg[1], -1)   ? e->arg[0]
               : is_real(w, e->arg[0], -1) ? e->arg[1]
                                           : (LExprId){ 0 };
    case OP_DIV: return is_real(w, e->arg[1], -1) ? e->arg[0] : (LExprId){ 0 };
    case OP_SUB: return is_real(w, e->arg[0], -0.0) ? e->arg[1] : (LExprId){ 0 };
    default: return (LExprId){ 0 };
    }
}

LExprId tessi_c_turned(const CWriter *w, const LExpr *e)
{
    const LExprId none = { 0 };
    if (e->kind != LEXPR_OP || !tessi_is_real(e->type) || !w->target->fuses_negations)
        return none;
    const LExprId x = negated(w, e);
    return x.v && may_be_fused(w, x, MOST_DEPTH) ? x : none;
}
