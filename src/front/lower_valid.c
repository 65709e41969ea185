/* front/lower_valid: which points of a stencil's result are valid. Two questions are asked of each expression
 * (LAsked): reads under `infect` and `nearest` must all be valid; of those under `renormalise` a window needs some,
 * and the point itself stands for a window of one. What is not read does not matter: the side of a choice that is not
 * taken, the right side of `&&` and `||` where the left one decides. */
#include "front/lower.h"

static const ExprId NONE = { 0 };

static ExprId truth(Lower *l)
{
    return tessi_lower_number(l, TYPE_BOOL, 1);
}

/* a where `condition` holds, b elsewhere; none being true. */
static ExprId choose(Lower *l, ExprId condition, ExprId a, ExprId b)
{
    if (a.v == b.v)
        return a;
    return tessi_expr_op(l->g, OP_SELECT, condition, a.v ? a : truth(l), b.v ? b : truth(l));
}

static ExprId all_parts(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    ExprId valid = NONE;
    for (uint32_t i = 0; i < e->n_args; i++)
        valid = tessi_lower_both(l, valid, tessi_lower_validity(l, b, e->arg[i], asked));
    return valid;
}

/* What answers the question about a read. */
static bool answers(const TCallArg *arg, LAsked asked)
{
    switch (arg->border.missing.policy) {
    case MISSING_RENORMALISE: return asked == ASKED_ENOUGH;
    case MISSING_INFECT:
    case MISSING_NEAREST: return asked == ASKED_ALL;
    default: return false;
    }
}

static ExprId read_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    ExprId valid = NONE;
    for (uint32_t d = 0; e->read->absolute && d < e->read->n_dims; d++)
        valid = tessi_lower_both(l, valid, tessi_lower_validity(l, b, e->read->index[d], asked));
    if (answers(&b->call->args.at[e->slot], asked))
        valid = tessi_lower_both(l, valid, tessi_lower_valid_load(l, b, e));
    return valid;
}

static bool is_logical(const TExpr *e)
{
    return e->kind == TE_OP && (e->op == OP_AND || e->op == OP_OR) && e->type.kind == TT_SCALAR
           && e->type.scalar == TYPE_BOOL;
}

static ExprId op_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    const bool chooses = e->op == OP_SELECT && e->arg[0]->type.kind == TT_SCALAR;
    ExprId sum;
    if (asked == ASKED_ENOUGH && tessi_lower_written_validity(l, b, e, &sum))
        return sum;
    if (!chooses && !is_logical(e))
        return all_parts(l, b, e, asked);
    ExprId valid = tessi_lower_validity(l, b, e->arg[0], asked);
    const ExprId first = tessi_lower_validity(l, b, e->arg[1], asked);
    const ExprId second = chooses ? tessi_lower_validity(l, b, e->arg[2], asked) : NONE;
    if (!first.v && !second.v)
        return valid;
    const ExprId condition = tessi_lower_expr(l, b, e->arg[0], 0);
    const bool swap = !chooses && e->op == OP_OR;
    return tessi_lower_both(l, valid,
                            choose(l, condition, swap ? NONE : first, swap ? first : second));
}

static LMemo *memory(Lower *l, LMemo **table, const TExpr *e)
{
    if (!*table)
        *table = ARENA_NEW_ARRAY(l->a, LMemo, (size_t)l->t->n_exprs + 1);
    return &(*table)[e->id];
}

/* Locals in the order of their definition, so that the depth of the calls is that of one statement. */
static ExprId local_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    LBody outside = *b; /* of all windows */
    outside.windows = NULL;
    outside.point = NULL;
    outside.fill = FILL_RAW;
    outside.epoch = ++l->epoch;
    for (uint32_t i = 0; i < b->inst->locals.n; i++) {
        const TExpr *value = b->inst->locals.at[i].value;
        LMemo *memo = memory(l, &l->local_validity[asked], value);
        if (memo->epoch != b->body_epoch) {
            memo->id = tessi_lower_validity(l, &outside, value, asked);
            memo->epoch = b->body_epoch;
        }
        if (value == e->arg[0])
            return memo->id;
    }
    return tessi_lower_validity(l, &outside, e->arg[0], asked);
}

static ExprId kind_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    switch (e->kind) {
    case TE_READ: return read_validity(l, b, e, asked);
    case TE_LOCAL: return local_validity(l, b, e, asked);
    case TE_OP: return op_validity(l, b, e, asked);
    case TE_WINDOW:
    case TE_CONVOLVE: return tessi_lower_window_validity(l, b, e, asked);
    case TE_VALID: return NONE;
    default: return all_parts(l, b, e, asked);
    }
}

ExprId tessi_lower_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked)
{
    if (!b->holes || e->is_static)
        return NONE;
    LMemo *memo = memory(l, &l->validity[asked], e);
    if (memo->epoch == b->epoch)
        return memo->id;
    const ExprId id = kind_validity(l, b, e, asked);
    memo->epoch = b->epoch;
    memo->id = id;
    return id;
}

ExprId tessi_lower_is_valid(Lower *l, LBody *b, const TExpr *e)
{
    return tessi_lower_both(l, tessi_lower_validity(l, b, e, ASKED_ENOUGH),
                            tessi_lower_validity(l, b, e, ASKED_ALL));
}
