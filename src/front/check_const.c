/* front/check_const: values that must be known when compiling: offsets, ranges, sizes of masks, const arguments; and
 * where they come from: literals, const inputs, parameters that then become constants of the program. */
#include "front/check.h"

#include <math.h>

bool tessi_check_user_value(const Checker *c, const char *name, double *value)
{
    for (size_t i = 0; c->o && i < c->o->n_constants; i++) {
        if (tessi_streq(c->o->constants[i].name, name)) {
            *value = c->o->constants[i].value;
            return true;
        }
    }
    return false;
}

static TExpr *needs_value(Checker *c, Span use, const char *name, Span declared)
{
    Diag *d = CHECK_DIAG(c, DIAG_NEEDS_VALUE, declared, name);
    tessi_diag_note(c->d, d, use, "its value is needed here");
    tessi_diag_help(c->d, d, "give %s=VALUE", name);
    return tessi_te_error(c, use);
}

static bool is_size(const AstExprs *sizes, uint32_t i, const char *name)
{
    return sizes->at[i]->kind == AST_NAME && tessi_streq(sizes->at[i]->name.text, name);
}

/* The first input image of which the parameter is exactly one size: where a value can come from when an image is
 * known. */
static void find_size_use(const Checker *c, TConstant *k)
{
    VEC_FOREACH (AstDecl *const, decl, &c->ast->decls) {
        for (uint32_t i = 0; (*decl)->kind == AST_DECL_IMAGE && i < (*decl)->sizes.n; i++) {
            if (!k->image && is_size(&(*decl)->sizes, i, k->name)) {
                k->image = (*decl)->name.text;
                k->dim = i;
            }
        }
    }
}

/* The parameter among the constants of the program. */
static TConstant *constant_of(Checker *c, const TParam *p)
{
    VEC_FOREACH (TConstant, other, &c->t->constants)
        if (other->is_param && tessi_streq(other->name, p->name))
            return other;
    TConstant k = { .name = p->name, .span = p->span, .is_param = true, .type = TYPE_I32 };
    find_size_use(c, &k);
    VEC_PUSH(c->a, &c->t->constants, k);
    return &c->t->constants.at[c->t->constants.n - 1];
}

static bool is_distance(const AstExprs *sizes, const char *name)
{
    enum { LEAST_DIMS = 3 }; /* of images whose last dimension may be channels */
    return sizes->n >= LEAST_DIMS && is_size(sizes, sizes->n - 1, name);
}

void tessi_check_distance(Checker *c, TParam *p)
{
    bool found = false;
    VEC_FOREACH (AstDecl *const, decl, &c->ast->decls)
        found |= (*decl)->kind == AST_DECL_IMAGE && is_distance(&(*decl)->sizes, p->name);
    VEC_FOREACH (AstStmt *const, stmt, &c->ast->body)
        found |= is_distance(&(*stmt)->sizes, p->name);
    if (!found)
        return;
    TConstant *k = constant_of(c, p);
    k->known = p->is_constant = p->has_value && p->value > 0 && p->value <= MOST_CHANNELS;
    k->value = tessi_value_int(p->value);
    k->is_optional = true;
}

/* Compiling needs the value of the parameter. */
static bool need(Checker *c, Sym *sym, Span span)
{
    TParam *p = &c->t->params.at[sym->slot];
    TConstant *k = constant_of(c, p);
    p->is_constant = p->is_needed = true;
    c->t->count_is_constant |= tessi_is_turn_count(c, sym);
    k->known = p->has_value;
    k->value = tessi_value_int(p->value);
    k->is_optional = false;
    if (p->has_value)
        return true;
    c->t->n_missing++;
    needs_value(c, span, p->name, p->span);
    return false;
}

TExpr *tessi_check_param(Checker *c, Sym *sym, Span span)
{
    TParam *p = &c->t->params.at[sym->slot];
    if (c->at.const_depth == 0) {
        TExpr *e = tessi_te_new(c, TE_PARAM, tessi_tt_scalar(TYPE_I32), span, 0);
        e->slot = sym->slot;
        return e;
    }
    if (!p->is_needed && !need(c, sym, span))
        return tessi_te_error(c, span);
    return p->has_value ? tessi_te_int(c, p->value, span) : tessi_te_error(c, span);
}

TExpr *tessi_check_const_input(Checker *c, uint32_t number, Span span)
{
    TConstant *k = &c->t->constants.at[number];
    if (k->known)
        return tessi_te_const(c, tessi_tt_scalar(k->type), k->value, span);
    if (k->is_param || k->dim) /* diagnosed at its first use, or where it is declared */
        return tessi_te_error(c, span);
    k->dim = 1;
    c->t->n_missing++;
    return needs_value(c, span, k->name, k->span);
}

/* Says which part of the expression is not known. */
static const TExpr *first_unknown(const TExpr *e)
{
    if (e->n_args == 0 || e->kind == TE_READ)
        return e->is_static ? NULL : e;
    for (uint32_t i = 0; i < e->n_args; i++) {
        const TExpr *u = first_unknown(e->arg[i]);
        if (u)
            return u;
    }
    return NULL;
}

static void explain_unknown(Checker *c, Diag *d, const TExpr *e)
{
    const TExpr *u = first_unknown(e);
    if (!u)
        return;
    if (u->kind == TE_ARG && c->at.inst) {
        const TArg *arg = &c->at.inst->args.at[u->slot];
        tessi_diag_note(c->d, d, arg->span, "'%s' is known only when the program runs", arg->name);
        tessi_diag_help(c->d, d, "declare the argument 'const'");
    } else if (u->kind == TE_VALUE && u->image->kind == TV_SCALAR && u->image->name) {
        tessi_diag_note(c->d, d, u->image->span, "'%s' is known only when the program runs",
                        u->image->name);
        tessi_diag_help(c->d, d, "declare it 'const'");
    } else if (u->kind == TE_SCALAR) {
        tessi_diag_note(c->d, d, c->t->scalars.at[u->slot].span,
                        "'%s' is known only when the program runs", c->t->scalars.at[u->slot].name);
        tessi_diag_help(c->d, d, "declare the input 'const'");
    } else if (u->kind == TE_READ || u->kind == TE_CONVOLVE) {
        tessi_diag_note(c->d, d, u->span, "this is a pixel");
    }
}

static TExpr *constant(Checker *c, const AstExpr *ast, const char *what, bool keeps_type)
{
    if (!ast)
        return tessi_te_error(c, (Span){ 0 });
    bool in_constant = c->at.in_constant;
    c->at.in_constant = !keeps_type;
    c->at.const_depth++;
    TExpr *e = tessi_check_expr(c, ast);
    c->at.const_depth--;
    c->at.in_constant = in_constant;
    if (e->kind == TE_CONST || tessi_tt_is_error(e->type))
        return e;
    Diag *d = CHECK_DIAG(c, DIAG_CONST_NEEDED, ast->span, what);
    explain_unknown(c, d, e);
    return tessi_te_error(c, ast->span);
}

TExpr *tessi_check_const(Checker *c, const AstExpr *ast, const char *what)
{
    return constant(c, ast, what, false);
}

bool tessi_check_const_int(Checker *c, const AstExpr *ast, const char *what, int64_t *value)
{
    TExpr *e = tessi_check_const(c, ast, what);
    if (tessi_tt_is_error(e->type))
        return false;
    if (!tessi_tt_is_integer(e->type)) {
        CHECK_DIAG(c, DIAG_NEEDS_INTEGER, ast->span, what, tessi_tt_name(c, e->type));
        return false;
    }
    *value = e->value.i;
    return true;
}

bool tessi_check_const_i32(Checker *c, const AstExpr *ast, const char *what, int32_t *value)
{
    int64_t v;
    if (!tessi_check_const_int(c, ast, what, &v))
        return false;
    /* Half the range, so that sums of two such numbers cannot overflow 32 bits. */
    if (v < -(1 << 30) || v > (1 << 30)) {
        CHECK_DIAG(c, DIAG_LIMIT, ast->span, what, (long long)(1 << 30));
        return false;
    }
    *value = (int32_t)v;
    return true;
}

static bool assign_const(Checker *c, const AstStmt *s, TExpr **value)
{
    bool typed = s->has_type && !tessi_check_is_any(&s->type);
    TExpr *e = constant(c, s->value, "a const value", !typed);
    *value = e;
    if (tessi_tt_is_error(e->type))
        return false;
    if (typed) {
        TType t = tessi_check_type(c, &s->type);
        bool truncates =
            t.kind == TT_SCALAR && !tessi_is_real(t.scalar) && !tessi_tt_is_integer(e->type);
        if (t.kind == TT_STRUCT) {
            CHECK_DIAG(c, DIAG_NO_CONVERSION, s->value->span, tessi_tt_name(c, e->type),
                       tessi_tt_name(c, t));
            return false;
        }
        if (truncates) /* the fraction is dropped, as in C */
            e = tessi_te_const(c, e->type, tessi_value_real(trunc(e->value.f)), e->span);
        *value = tessi_check_convert(c, e, t);
    }
    return !tessi_tt_is_error((*value)->type);
}

void tessi_check_const_stmt(Checker *c, const AstStmt *s)
{
    TExpr *value;
    bool ok = assign_const(c, s, &value);
    Sym *sym = tessi_scope_add(c, s->name, SYM_OPERAND);
    if (!sym)
        return;
    sym->operand =
        ok ? tessi_operand_scalar(value, s->name.span) : tessi_operand_error(s->name.span);
    tessi_check_define(c, s->name, NULL, value, NULL);
}
