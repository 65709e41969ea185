/* front/check_family: members of families, name<k> and name<i, j>: by numbers that are known, or chosen by a value at
 * each point. */
#include "front/check.h"

bool tessi_member_number(Checker *c, const AstExpr *first, const AstExpr *second, MemberNumber *k)
{
    *k = (MemberNumber){ .n = second ? 2 : 1 };
    c->numbering++;
    const bool known =
        tessi_check_const_int(c, first, "the number of a member", &k->at[0])
        && (!second || tessi_check_const_int(c, second, "the number of a member", &k->at[1]));
    c->numbering--;
    return known;
}

bool tessi_member_same(const MemberNumber *a, const MemberNumber *b)
{
    return a->n == b->n && a->at[0] == b->at[0] && a->at[1] == b->at[1];
}

const char *tessi_member_text(const Checker *c, const MemberNumber *k)
{
    return k->n > 1 ? tessi_sprintf(c->a, "%lld, %lld", (long long)k->at[0], (long long)k->at[1])
                    : tessi_sprintf(c->a, "%lld", (long long)k->at[0]);
}

static Sym *family_named(Checker *c, const AstExpr *e)
{
    Sym *sym = tessi_scope_find(c->at.scope, e->name.text);
    if (!sym) {
        tessi_check_unknown_name(c, e->name);
        return NULL;
    }
    sym->used = true;
    if (sym->kind == SYM_FAMILY)
        return sym;
    Diag *d = CHECK_DIAG(c, DIAG_NOT_A_FAMILY, e->span, e->name.text);
    tessi_diag_note(c->d, d, sym->name.span, "'%s' is defined here", e->name.text);
    return NULL;
}

/* Makes a number that is known before the first turn the image that goes from turn to turn. */
void tessi_carry_number(Checker *c, const Sym *family, FamilyMember *m)
{
    TExpr *e = tessi_check_concrete(c, m->operand.scalar);
    TValue *v = tessi_value_new(c, TV_SCALAR, e->type, 0, m->span);
    v->expr = e;
    v->name = tessi_sprintf(c->a, "%s<%s>", family->name.text, tessi_member_text(c, &m->number));
    v->loop = 0;
    v->is_stage = true;
    m->operand = tessi_operand_image(v, m->operand.span);
}

static FamilyMember *find_member(const Sym *family, const MemberNumber *k)
{
    VEC_FOREACH (FamilyMember, m, &family->members)
        if (tessi_member_same(&m->number, k))
            return m;
    return NULL;
}

void tessi_note_before(Checker *c, Sym *family, MemberNumber k, TValue *v)
{
    enum { MOST_BEFORE = 8 };
    const GraphLoop *loop = c->loop ? &c->t->loops.at[c->loop - 1] : NULL;
    if (!loop || !(loop->of_run || loop->every) || c->turn || k.n != 1 || v->loop != c->loop
        || v->before.n)
        return;
    for (int i = 0; i < MOST_BEFORE; i++) {
        k.at[0] -= c->loop_step;
        FamilyMember *m = find_member(family, &k);
        if (!m || m->operand.kind != OPERAND_IMAGE)
            break;
        VEC_PUSH(c->a, &v->before, m->operand.image);
    }
}

Operand tessi_check_member(Checker *c, const AstExpr *e)
{
    MemberNumber k;
    if (tessi_is_chosen(c, e))
        return tessi_check_expression_on_images(c, e);
    Sym *sym = family_named(c, e);
    if (!sym || !tessi_member_number(c, e->arg.at[0], e->arg.n > 1 ? e->arg.at[1] : NULL, &k))
        return tessi_operand_error(e->span);
    FamilyMember *m = find_member(sym, &k);
    if (m) {
        Operand o = m->operand;
        o.span = e->span;
        o.direct = false;
        return o;
    }
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_MEMBER, e->span, e->name.text, tessi_member_text(c, &k));
    tessi_diag_note(c->d, d, sym->name.span, "the first member of '%s' is defined here",
                    e->name.text);
    return tessi_operand_error(e->span);
}

/* ---- Chosen at each point -------------------------------------------------------------------- */
/* Made of images, or of scalars that only the run knows. */
static bool varies(const Checker *c, const AstExpr *e)
{
    if (e->kind == AST_NAME) {
        const Sym *sym = tessi_scope_find(c->at.scope, e->name.text);
        if (!sym || sym->kind != SYM_OPERAND || sym->slot || tessi_is_turn_count(c, sym))
            return false;
        return sym->operand.kind == OPERAND_IMAGE
               || (sym->operand.kind == OPERAND_SCALAR && sym->operand.scalar->kind != TE_CONST);
    }
    if (e->kind == AST_FAMILY || e->kind == AST_WINDOW || e->kind == AST_COMPOSE
        || e->kind == AST_SUBDOMAIN)
        return true;
    bool any = false;
    VEC_FOREACH (AstExpr *const, a, &e->arg)
        any |= varies(c, *a);
    VEC_FOREACH (const AstArg, a, &e->args)
        any |= varies(c, a->value);
    return any;
}

bool tessi_is_chosen(const Checker *c, const AstExpr *e)
{
    return !c->forma && c->at.const_depth == 0 && e->arg.n == 1 && varies(c, e->arg.at[0]);
}

/* The member whose number comes next. */
static const FamilyMember *next_member(const Sym *family, const FamilyMember *last)
{
    const FamilyMember *next = NULL;
    VEC_FOREACH (const FamilyMember, m, &family->members) {
        if ((!last || m->number.at[0] > last->number.at[0])
            && (!next || m->number.at[0] < next->number.at[0]))
            next = m;
    }
    return next;
}

/* p<0> below the least number, then each up to its own, the last for all that is larger. */
static TExpr *choose(Checker *c, const AstExpr *e, const Sym *family, const FamilyMember *m,
                     TExpr *value)
{
    TExpr *image = tessi_check_operand_expr(c, m->operand, e->span);
    const FamilyMember *next = next_member(family, m);
    if (!next)
        return image;
    TExpr *number = tessi_te_int(c, m->number.at[0], e->span);
    TExpr *here = tessi_check_binary(c, e->span, AST_OP_LE, value, number);
    return tessi_check_select(c, e->span, here, image, choose(c, e, family, next, value));
}

TExpr *tessi_check_chosen(Checker *c, const AstExpr *e)
{
    enum { MOST_CHOICES = 256 };
    const Sym *family = family_named(c, e);
    TExpr *value = tessi_check_expr(c, e->arg.at[0]);
    if (!family || tessi_tt_is_error(value->type))
        return tessi_te_error(c, e->span);
    if (!tessi_tt_is_integer(value->type)) {
        Diag *d = CHECK_DIAG(c, DIAG_NEEDS_INTEGER, value->span, "the number of a member",
                             tessi_tt_name(c, value->type));
        tessi_diag_help(c->d, d, "convert it: cast<int>(..)");
        return tessi_te_error(c, e->span);
    }
    bool two = false;
    VEC_FOREACH (const FamilyMember, m, &family->members)
        two |= m->number.n != 1;
    if (two || family->members.n > MOST_CHOICES) {
        if (two)
            CHECK_DIAG(c, DIAG_CONST_NEEDED, e->arg.at[0]->span,
                       "the number of a member with two numbers");
        else
            tessi_check_limit(c, e->span, "members to choose from", MOST_CHOICES);
        return tessi_te_error(c, e->span);
    }
    const FamilyMember *first = next_member(family, NULL);
    return first ? choose(c, e, family, first, value) : tessi_te_error(c, e->span);
}
