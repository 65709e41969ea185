/* What is certain of the sign of an expression from its form alone: squares, roots and what is made of them. */
#include "emit/c_private.h"

enum { MOST_FACTORS = 8, MOST_DEPTH = 8 };

typedef struct Factors {
    LExprId at[MOST_FACTORS]; /* those that are no part of a square */
    uint32_t n;
    bool overflowed;
} Factors;

static unsigned signs(const LoopProgram *p, LExprId id, int depth);

static void add_factor(Factors *f, const LoopProgram *p, LExprId id, int depth)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind == LEXPR_SPLAT) {
        add_factor(f, p, e->arg[0], depth);
        return;
    }
    if (e->kind == LEXPR_OP && e->op == OP_MUL && depth) {
        add_factor(f, p, e->arg[0], depth - 1);
        add_factor(f, p, e->arg[1], depth - 1);
        return;
    }
    for (uint32_t i = 0; i < f->n; i++)
        if (f->at[i].v == id.v) {
            f->at[i] = f->at[--f->n];
            return;
        }
    if (f->n == MOST_FACTORS)
        f->overflowed = true;
    else
        f->at[f->n++] = id;
}

static unsigned opposite(unsigned s)
{
    return (s & C_NEVER_BELOW_0 ? C_NEVER_ABOVE_0 : 0u)
           | (s & C_NEVER_ABOVE_0 ? C_NEVER_BELOW_0 : 0u);
}

static unsigned product(unsigned a, unsigned b)
{
    return (b & C_NEVER_BELOW_0 ? a : 0u) | (b & C_NEVER_ABOVE_0 ? opposite(a) : 0u);
}

static unsigned product_signs(const LoopProgram *p, LExprId x, LExprId y, int depth)
{
    Factors f = { .n = 0 };
    add_factor(&f, p, x, depth);
    add_factor(&f, p, y, depth);
    unsigned s = f.overflowed ? 0u : (unsigned)C_NEVER_BELOW_0;
    for (uint32_t i = 0; i < f.n && s; i++)
        s = product(s, signs(p, f.at[i], depth));
    return s;
}

static unsigned constant_signs(const LExpr *e)
{
    const bool below = tessi_is_real(e->type) ? e->value.f < 0 : e->value.i < 0,
               above = tessi_is_real(e->type) ? e->value.f > 0 : e->value.i > 0;
    return (below ? 0u : (unsigned)C_NEVER_BELOW_0) | (above ? 0u : (unsigned)C_NEVER_ABOVE_0);
}

/* Integers wrap, so only what holds for reals is said, and of integers that they have no sign. */
static unsigned operation_signs(const LoopProgram *p, const LExpr *e, int depth)
{
    const LExprId *a = e->arg;
    switch (e->op) {
    case OP_ABS:
    case OP_SQRT:
    case OP_EXP:
    case OP_EXP2:
    case OP_EXP2_NEAR:
    case OP_HYPOT: return C_NEVER_BELOW_0;
    case OP_NEG: return opposite(signs(p, a[0], depth));
    case OP_MUL: return product_signs(p, a[0], a[1], depth);
    case OP_FMA: return product_signs(p, a[0], a[1], depth) & signs(p, a[2], depth);
    case OP_ADD: return signs(p, a[0], depth) & signs(p, a[1], depth);
    case OP_SUB: return signs(p, a[0], depth) & opposite(signs(p, a[1], depth));
    case OP_MIN: /* a NaN in either gives the second */
    case OP_MAX: {
        const unsigned second = signs(p, a[1], depth);
        const unsigned enough = e->op == OP_MIN ? C_NEVER_ABOVE_0 : C_NEVER_BELOW_0;
        return second & (enough | signs(p, a[0], depth));
    }
    case OP_SELECT: return signs(p, a[1], depth) & signs(p, a[2], depth);
    default: return 0;
    }
}

static unsigned signs(const LoopProgram *p, LExprId id, int depth)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind == LEXPR_SPLAT)
        return signs(p, e->arg[0], depth);
    const bool unsigned_type = tessi_is_unsigned(e->type);
    if (e->kind == LEXPR_CONST)
        return constant_signs(e);
    if (unsigned_type)
        return C_NEVER_BELOW_0;
    if (!depth)
        return 0;
    if (e->kind == LEXPR_OP && tessi_is_real(e->type))
        return operation_signs(p, e, depth - 1);
    if (e->kind == LEXPR_CAST && tessi_is_real(e->type))
        return signs(p, e->arg[0], depth - 1);
    return 0;
}

unsigned tessi_c_signs(const LoopProgram *p, LExprId id)
{
    return signs(p, id, MOST_DEPTH);
}
