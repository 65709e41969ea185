/* front/check_turns: loops of which only the run knows the number of turns: for i = 1..steps, with an input `steps` or
 * a size parameter. They are gone through a few times, as if it had a number that stands in for it in bounds and in
 * numbers of members. The repeat that the turns become (graph_repeat_find.c) must not depend on which number that was:
 * the program is gone through for another one as well (api/compile.c). Where parameters cannot count so, they are
 * constants of the program.
 *
 * The condition of a loop that may end before, until maximum(abs(t<i> - t<i-1>)) < eps, is a value of each turn. */
#include "front/check.h"

enum { STAND_IN_TURNS = 8 };

/* What the name stands for, if it is a number that the run gives: an integer input or a size parameter. */
static bool number_of_run(const Sym *sym, TurnCount *n)
{
    if (sym && sym->kind == SYM_PARAM) {
        *n = (TurnCount){ .from = COUNT_FROM_PARAM, .slot = sym->slot };
        return true;
    }
    if (!sym || sym->kind != SYM_OPERAND || sym->slot || sym->operand.kind != OPERAND_SCALAR)
        return false;
    const TExpr *e = sym->operand.scalar;
    *n = (TurnCount){ .from = COUNT_FROM_SCALAR, .slot = e->slot };
    return e->kind == TE_SCALAR && tessi_tt_is_integer(e->type);
}

static const TurnCount *count_of(const Checker *c, const Sym *sym)
{
    TurnCount n;
    if (!number_of_run(sym, &n))
        return NULL;
    VEC_FOREACH (const TurnCount, count, &c->counts)
        if (count->from == n.from && count->slot == n.slot)
            return count;
    return NULL;
}

bool tessi_is_turn_count(const Checker *c, const Sym *sym)
{
    return count_of(c, sym) != NULL;
}

TExpr *tessi_turn_count(Checker *c, const Sym *sym, Span span)
{
    const TurnCount *count = count_of(c, sym);
    return c->numbering && count ? tessi_te_int(c, count->value, span) : NULL;
}

/* Parameters are at least 1: with a later first bound the loop would count down for some of them. */
static bool may_count(const Checker *c, const TurnCount *n, int64_t lo)
{
    if (n->from != COUNT_FROM_PARAM)
        return true;
    return lo <= 1 && !(c->o && c->o->constant_counts) && !c->t->params.at[n->slot].is_constant;
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
    TurnCount n;
    const Sym *sym =
        s->hi->kind == AST_NAME ? tessi_scope_find(c->at.scope, s->hi->name.text) : NULL;
    if (c->forma || !number_of_run(sym, &n) || !may_count(c, &n, lo) || lo < -CHECK_MAX_ITERATIONS
        || lo > CHECK_MAX_ITERATIONS)
        return false;
    c->t->counts_by_params |= n.from == COUNT_FROM_PARAM;
    n.value = lo + STAND_IN_TURNS - 1 + (c->o ? c->o->stand_in : 0);
    if (!count_of(c, sym))
        VEC_PUSH(c->a, &c->counts, n);
    *count = (RepeatCount){ .from = n.from, .ref = n.slot, .sign = 1, .add = 1 - lo, .by = 1 };
    return true;
}

/* ---- Numbers that go from turn to turn -------------------------------------------------------- */

/* Calls `visit` for each family that is there and that the body assigns. */
typedef void FamilyVisit(Checker *c, Sym *family, const void *user);
static void visit_family(Checker *c, const char *name, FamilyVisit *visit, const void *user)
{
    Sym *family = tessi_scope_find_here(c->at.body, name);
    if (family && family->kind == SYM_FAMILY)
        visit(c, family, user);
}

static void visit_families(Checker *c, const AstStmts *body, FamilyVisit *visit, const void *user)
{
    VEC_FOREACH (AstStmt *const, it, body) {
        const AstStmt *s = *it;
        if (s->kind == AST_FOR)
            visit_families(c, &s->body, visit, user);
        else if (s->family)
            visit_family(c, s->name.text, visit, user);
        VEC_FOREACH (const AstTarget, t, &s->more)
            if (t->family)
                visit_family(c, t->name.text, visit, user);
    }
}

static void carry_numbers(Checker *c, Sym *family, const void *user)
{
    (void)user;
    VEC_FOREACH (FamilyMember, m, &family->members) {
        if (m->operand.kind == OPERAND_SCALAR)
            tessi_carry_number(c, family, m);
        else if (m->operand.kind == OPERAND_IMAGE && m->operand.image->kind == TV_SCALAR)
            m->operand.image->is_stage = true;
    }
}

void tessi_carry_numbers(Checker *c, const AstStmts *body)
{
    visit_families(c, body, carry_numbers, NULL);
}

/* ---- Loops of many turns --------------------------------------------------------------------- */

typedef struct Shift {
    int64_t lo, by; /* the first turn, and how much later it is gone through */
} Shift;

static void stand_in(Checker *c, Sym *family, const void *user)
{
    enum { MOST_BEFORE = 8 };
    const Shift *shift = user;
    const uint32_t n = family->members.n;
    for (uint32_t i = 0; i < n; i++) {
        FamilyMember m = family->members.at[i];
        const int64_t away = m.number.at[0] - shift->lo;
        if (m.stands_in || m.number.n != 1 || away >= MOST_BEFORE || away <= -MOST_BEFORE - 1)
            continue;
        m.number.at[0] += shift->by;
        m.stands_in = true;
        VEC_PUSH(c->a, &family->members, m);
    }
}

bool tessi_shorten_loop(Checker *c, const AstStmt *s, int64_t *lo, int64_t hi, GraphLoop *loop)
{
    enum { MANY_TURNS = 64 };
    const int64_t turns = (*lo <= hi ? hi - *lo : *lo - hi) + 1;
    if (loop->of_run || !loop->every || turns < MANY_TURNS)
        return false;
    const int64_t few = STAND_IN_TURNS + (c->o ? c->o->stand_in : 0);
    const int64_t first = *lo <= hi ? hi - few + 1 : hi + few - 1;
    const Shift shift = { *lo, first - *lo };
    visit_families(c, &s->body, stand_in, &shift);
    loop->of_run = true;
    loop->count = (RepeatCount){ .add = turns, .by = 1 };
    *lo = first;
    return true;
}

static void forget(Checker *c, Sym *family, const void *user)
{
    (void)c, (void)user;
    uint32_t n = 0;
    for (uint32_t i = 0; i < family->members.n; i++)
        if (!family->members.at[i].stands_in)
            family->members.at[n++] = family->members.at[i];
    family->members.n = n;
}

void tessi_forget_stand_ins(Checker *c, const AstStmts *body)
{
    visit_families(c, body, forget, NULL);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

int64_t tessi_check_every(Checker *c, const AstStmt *s)
{
    int64_t every = 1;
    if (!s->until
        || (s->every
            && !tessi_check_const_int(c, s->every, "after how many turns the condition is asked",
                                      &every)))
        return 0;
    if (every >= 1 && every <= INT32_MAX)
        return every;
    CHECK_DIAG(c, DIAG_LOOP_CONDITION, s->every->span,
               "it is asked after each so many turns, a number from 1 on");
    return 0;
}

/* Of pixels: it holds when it does for each field. */
static TExpr *in_all_fields(Checker *c, TExpr *e)
{
    TExpr *all = NULL;
    for (uint32_t k = 0; k < e->type.st->n; k++) {
        const Name name = { e->type.st->field[k].name, e->span };
        TExpr *field = tessi_check_condition(c, tessi_check_field(c, e, name, e->span));
        all = all ? tessi_check_binary(c, e->span, AST_OP_LAND, all, field) : field;
    }
    return all;
}

void tessi_check_until(Checker *c, const AstStmt *s)
{
    const Operand o = tessi_check_vector(c, s->until);
    if (o.kind == OPERAND_ERROR)
        return;
    if (o.kind == OPERAND_MASK || (o.kind == OPERAND_IMAGE && o.image->n_dims)) {
        Diag *d = CHECK_DIAG(
            c, DIAG_LOOP_CONDITION, s->until->span,
            tessi_sprintf(c->a, "it is a number, and this is %s", tessi_operand_text(c, o)));
        tessi_diag_help(c->d, d, "reduce it to one: 'maximum(abs(t<i> - t<i-1>)) < 0.01'");
        return;
    }
    TExpr *e = tessi_check_operand_expr(c, o, s->until->span);
    if (e->type.kind == TT_STRUCT)
        e = in_all_fields(c, tessi_check_concrete(c, e));
    e = tessi_check_concrete(c, tessi_check_condition(c, e));
    if (tessi_tt_is_error(e->type))
        return;
    TValue *v = tessi_value_new(c, TV_SCALAR, e->type, 0, s->until->span);
    v->expr = e;
    v->name = "ends";
    v->ends_loop = v->is_stage = true;
}

Operand tessi_check_turns(Checker *c, const AstExpr *e)
{
    const AstExpr *name = e->args.at[0].value;
    Sym *sym = name->kind == AST_NAME ? tessi_scope_find(c->at.scope, name->name.text) : NULL;
    if (sym)
        sym->used = true;
    if (!sym && name->kind == AST_NAME) {
        tessi_check_unknown_name(c, name->name);
        return tessi_operand_error(e->span);
    }
    if (!sym || sym->kind != SYM_FAMILY || !sym->loop) {
        Diag *d = CHECK_DIAG(c, DIAG_ARG_KIND, name->span, "A", "turns",
                             "the name of a family that a loop makes", "something else");
        tessi_diag_help(c->d, d, "name the family without a number: 'turns(t)'");
        return tessi_operand_error(e->span);
    }
    const Operand *last = &sym->members.at[sym->members.n - 1].operand;
    TValue *v = tessi_value_new(c, TV_SCALAR, tessi_tt_scalar(TYPE_I32), 0, e->span);
    v->expr = tessi_check_convert(c, tessi_te_int(c, sym->turns, e->span), v->type);
    v->name = "turns";
    v->turns_of = sym->loop;
    v->is_stage = true;
    v->base = last->kind == OPERAND_IMAGE ? last->image : NULL;
    return tessi_operand_image(v, e->span);
}
