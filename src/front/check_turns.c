/* front/check_turns: loops of which only the run knows the number of turns: for i = 1..steps, with an input `steps`.
 * They are gone through a few times, as if the input had a number that stands in for it in bounds and in numbers of
 * members. The repeat that the turns become (graph_repeat_find.c) must not depend on which number that was: the
 * program is gone through for another one as well (api/compile.c). */
#include "front/check.h"

enum { STAND_IN_TURNS = 8 };

/* The number of the input scalar that is named, if it is an integer; else false. */
static bool input_integer(const Sym *sym, uint32_t *slot)
{
    if (!sym || sym->kind != SYM_OPERAND || sym->slot || sym->operand.kind != OPERAND_SCALAR)
        return false;
    const TExpr *e = sym->operand.scalar;
    *slot = e->slot;
    return e->kind == TE_SCALAR && tessi_tt_is_integer(e->type);
}

static const TurnCount *count_of(const Checker *c, uint32_t slot)
{
    VEC_FOREACH (const TurnCount, count, &c->counts)
        if (count->slot == slot)
            return count;
    return NULL;
}

bool tessi_is_turn_count(const Checker *c, const Sym *sym)
{
    uint32_t slot;
    return input_integer(sym, &slot) && count_of(c, slot);
}

TExpr *tessi_turn_count(Checker *c, const Sym *sym, Span span)
{
    uint32_t slot;
    const TurnCount *count = input_integer(sym, &slot) ? count_of(c, slot) : NULL;
    return c->numbering && count ? tessi_te_int(c, count->value, span) : NULL;
}

bool tessi_turn_as_value(Checker *c, const Sym *sym, Span span)
{
    if (!sym->of_run || c->numbering)
        return false;
    Diag *d = CHECK_DIAG(c, DIAG_NOT_REPEATED, span, "the number of the turn is used as a value");
    tessi_diag_help(c->d, d, "count in an image that goes from turn to turn, n<i> = n<i-1> + 1");
    return true;
}

bool tessi_turns_of_run(Checker *c, const AstStmt *s, int64_t lo, RepeatCount *count)
{
    uint32_t slot;
    const Sym *sym =
        s->hi->kind == AST_NAME ? tessi_scope_find(c->at.scope, s->hi->name.text) : NULL;
    if (c->forma || !input_integer(sym, &slot) || lo < -CHECK_MAX_ITERATIONS
        || lo > CHECK_MAX_ITERATIONS)
        return false;
    if (!count_of(c, slot)) {
        const int64_t more = c->o ? c->o->stand_in : 0;
        VEC_PUSH(c->a, &c->counts, ((TurnCount){ slot, lo + STAND_IN_TURNS - 1 + more }));
    }
    *count =
        (RepeatCount){ .from = COUNT_FROM_SCALAR, .ref = slot, .sign = 1, .add = 1 - lo, .by = 1 };
    return true;
}
