/* front/check_expr: expressions that give one value at one point: literals, names, operators, fields. The same walk
 * serves the bodies of stencils, constants, and expressions on whole images (Context.operands), which are pointwise
 * stencils without a name. */
#include <math.h>

#include "front/check.h"

static TExpr *literal(Checker *c, const AstExpr *e)
{
    if (e->kind == AST_BOOL)
        return tessi_te_const(c, tessi_tt_scalar(TYPE_BOOL), tessi_value_int((int64_t)e->integer),
                              e->span);
    if (e->kind == AST_REAL) {
        TType t = e->suffix == 'f'               ? tessi_tt_scalar(TYPE_F32)
                  : e->suffix == 'd' || c->forma ? tessi_tt_scalar(TYPE_F64)
                                                 : tessi_tt_kind(TT_UNTYPED_REAL);
        Value v = tessi_value_real(e->real);
        if (e->suffix == 'f')
            v = tessi_eval_cast(TYPE_F32, TYPE_F64, v);
        return tessi_te_const(c, t, v, e->span);
    }
    if (e->integer > (uint64_t)INT64_MAX || (c->forma && e->integer > INT32_MAX)) {
        CHECK_DIAG(c, DIAG_CONST_OVERFLOW, e->span);
        return tessi_te_error(c, e->span);
    }
    TExpr *n = tessi_te_int(c, (int64_t)e->integer, e->span);
    if (c->forma && c->at.const_depth == 0)
        n->type = tessi_tt_scalar(TYPE_I32);
    return n;
}

/* What is computed when compiling is computed in 64-bit integers and double: a typed constant counts with its value
 * only. */
static TExpr *constant_value(Checker *c, TExpr *e, Span span)
{
    if (!c->at.in_constant || e->kind != TE_CONST || e->type.kind != TT_SCALAR
        || e->type.scalar == TYPE_BOOL)
        return e;
    TTypeKind kind = tessi_is_real(e->type.scalar) ? TT_UNTYPED_REAL : TT_UNTYPED_INT;
    return tessi_te_const(c, tessi_tt_kind(kind), e->value, span);
}

TExpr *tessi_check_operand_expr(Checker *c, Operand o, Span span)
{
    switch (o.kind) {
    case OPERAND_SCALAR: return constant_value(c, o.scalar, span);
    case OPERAND_MASK: {
        Diag *d = CHECK_DIAG(c, DIAG_NOT_A_VALUE, span, o.mask->name, "a mask");
        tessi_diag_help(c->d, d, "name an element, '%s[0]', or use convolve(X, %s)", o.mask->name,
                        o.mask->name);
        return tessi_te_error(c, span);
    }
    case OPERAND_IMAGE:
        if (o.image->n_dims == 0) {
            TExpr *e = tessi_te_new(c, TE_VALUE, o.image->type, span, 0);
            e->image = o.image;
            return e;
        }
        if (c->at.operands)
            return tessi_check_read_slot(c, tessi_check_image_slot(c, o, span, NULL, NULL), span,
                                         NULL);
        CHECK_DIAG(c, DIAG_NOT_A_VALUE, span, o.image->name ? o.image->name : "this", "an image");
        return tessi_te_error(c, span);
    default: return tessi_te_error(c, span);
    }
}

static TExpr *arg_expr(Checker *c, uint32_t slot, Span span)
{
    const TArg *arg = &c->at.inst->args.at[slot];
    if (arg->kind == TARG_IMAGE)
        return tessi_check_read_slot(c, slot, span, NULL);
    TExpr *e = tessi_te_new(c, TE_ARG, arg->type, span, 0);
    e->slot = slot;
    return e;
}

TExpr *tessi_check_local(Checker *c, uint32_t slot, Span span)
{
    TExpr *value = c->at.inst->locals.at[slot].value;
    if (value->kind == TE_CONST || value->kind == TE_ERROR)
        return constant_value(c, value, span);
    TExpr *e = tessi_te_new(c, TE_LOCAL, value->type, span, 1);
    e->arg[0] = value;
    e->slot = slot;
    e->is_static = value->is_static;
    e->dropped = value->dropped;
    return e;
}

/* PI, E and INF, where the program has no such names of its own. */
bool tessi_check_is_number_name(const char *name, double *value)
{
    static const struct {
        const char *name;
        double value;
    } NUMBERS[] = { { "PI", 3.141592653589793238 },
                    { "E", 2.718281828459045235 },
                    { "INF", (double)INFINITY } };
    for (size_t i = 0; name && i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        *value = NUMBERS[i].value;
        if (tessi_streq(NUMBERS[i].name, name))
            return true;
    }
    return false;
}

static TExpr *name_expr(Checker *c, const AstExpr *e)
{
    Sym *sym = tessi_scope_find(c->at.scope, e->name.text);
    double number;
    if (!sym && !c->forma && tessi_check_is_number_name(e->name.text, &number))
        return tessi_te_const(c, tessi_tt_kind(TT_UNTYPED_REAL), tessi_value_real(number), e->span);
    if (!sym) {
        tessi_check_unknown_name(c, e->name);
        return tessi_te_error(c, e->span);
    }
    sym->used = true;
    if (c->numbering && tessi_is_turn_count(c, sym))
        return tessi_turn_count(c, sym, e->span);
    switch (sym->kind) {
    case SYM_OPERAND:
        if (tessi_turn_as_value(c, sym, e->span))
            return tessi_te_error(c, e->span);
        if (sym->slot)
            return constant_value(c, tessi_check_const_input(c, sym->slot - 1, e->span), e->span);
        return tessi_check_operand_expr(c, sym->operand, e->span);
    case SYM_ARG: return arg_expr(c, sym->slot, e->span);
    case SYM_LOCAL: return tessi_check_local(c, sym->slot, e->span);
    case SYM_PARAM: return tessi_check_param(c, sym, e->span);
    case SYM_WINVAR: {
        const TWindow *w = c->at.window;
        while (w && w != sym->window)
            w = w->outer;
        if (!w) { /* the window is around a call, and this is an argument of the call */
            CHECK_DIAG(c, DIAG_NOT_A_VALUE, e->span, e->name.text,
                       "a variable of a window outside");
            return tessi_te_error(c, e->span);
        }
        TExpr *v = tessi_te_new(c, TE_WINVAR, tessi_tt_kind(TT_UNTYPED_INT), e->span, 0);
        v->window = sym->window;
        v->slot = sym->slot;
        v->is_static = true;
        return v;
    }
    case SYM_FAMILY: {
        Diag *d = CHECK_DIAG(c, DIAG_NOT_A_VALUE, e->span, e->name.text, "a family of images");
        const MemberNumber zero = { .n = 1 };
        tessi_diag_help(c->d, d, "name a member: '%s<%s>'", e->name.text,
                        tessi_member_text(c, sym->members.n ? &sym->members.at[0].number : &zero));
        break;
    }
    }
    return tessi_te_error(c, e->span);
}

bool tessi_check_field_number(Checker *c, TType t, Name field, uint32_t *number)
{
    if (tessi_tt_is_error(t) || !field.text)
        return false;
    if (t.kind != TT_STRUCT) {
        Diag *d = CHECK_DIAG(c, DIAG_NOT_A_STRUCT, field.span, field.text, tessi_tt_name(c, t));
        const char *foreign = c->forma ? NULL : tessi_foreign_field(field.text);
        if (foreign)
            tessi_diag_help(c->d, d, "%s", foreign);
        return false;
    }
    VEC(const char *) words = { 0 };
    for (uint32_t k = 0; k < t.st->n; k++) {
        if (tessi_streq(t.st->field[k].name, field.text)) {
            *number = k;
            return true;
        }
        VEC_PUSH(c->a, &words, t.st->field[k].name);
    }
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_FIELD, field.span, t.st->origin->name.text, field.text);
    if (t.st->origin->name.span.file) /* else the program does not define it */
        tessi_diag_note(c->d, d, t.st->origin->name.span, "'%s' is defined here",
                        t.st->origin->name.text);
    const char *near = tessi_nearest_word(field.text, words.at, words.n);
    if (near)
        tessi_diag_help(c->d, d, "did you mean '%s'?", near);
    return false;
}

TExpr *tessi_check_field(Checker *c, TExpr *base, Name field, Span span)
{
    uint32_t k;
    if (!tessi_check_field_number(c, base->type, field, &k))
        return tessi_te_error(c, span);
    if (base->kind == TE_STRUCT)
        return base->arg[k];
    TExpr *e = tessi_te_new(c, TE_FIELD, tessi_tt_field(base->type, k), span, 1);
    e->arg[0] = base;
    e->slot = k;
    return e;
}

static TExpr *struct_expr(Checker *c, const AstExpr *e)
{
    TType t = tessi_check_type(c, &e->type);
    if (t.kind != TT_STRUCT) {
        if (!tessi_tt_is_error(t))
            CHECK_DIAG(c, DIAG_UNKNOWN_TYPE, e->type.span, e->type.name.text);
        return tessi_te_error(c, e->span);
    }
    if (e->arg.n != t.st->n) {
        Diag *d = CHECK_DIAG(c, DIAG_STRUCT_FIELDS, e->span, e->type.name.text, (long long)t.st->n,
                             (long long)e->arg.n);
        if (t.st->origin->name.span.file)
            tessi_diag_note(c->d, d, t.st->origin->name.span, "'%s' is defined here",
                            e->type.name.text);
        return tessi_te_error(c, e->span);
    }
    TExpr *n = tessi_te_new(c, TE_STRUCT, t, e->span, t.st->n);
    bool ok = true;
    for (uint32_t k = 0; k < t.st->n; k++) {
        TExpr *v = tessi_check_expr(c, e->arg.at[k]);
        n->arg[k] = tessi_check_convert(c, v, tessi_tt_field(t, k));
        ok &= !tessi_tt_is_error(n->arg[k]->type);
    }
    return ok ? n : tessi_te_error(c, e->span);
}

/* A condition of literals only was not meant to choose. */
static bool has_names(const AstExpr *e)
{
    if (e->kind == AST_NAME || e->kind == AST_CALL || e->kind == AST_WINDOW
        || e->kind == AST_FAMILY)
        return true;
    VEC_FOREACH (AstExpr *const, a, &e->arg) {
        if (*a && has_names(*a))
            return true;
    }
    return false;
}

static TExpr *ternary(Checker *c, const AstExpr *e)
{
    TExpr *cond = tessi_check_expr(c, e->arg.at[0]);
    TExpr *a = tessi_check_expr(c, e->arg.at[1]);
    TExpr *b = tessi_check_expr(c, e->arg.at[2]);
    if (cond->kind == TE_CONST && !has_names(e->arg.at[0])) {
        bool yes = tessi_tt_is_integer(cond->type) ? cond->value.i != 0 : cond->value.f != 0;
        CHECK_DIAG(c, DIAG_CONSTANT_CONDITION, e->arg.at[0]->span, yes ? "true" : "false");
    }
    return tessi_check_select(c, e->span, cond, a, b);
}

static TExpr *check_cast(Checker *c, const AstExpr *e)
{
    TType t = tessi_check_type(c, &e->type);
    const AstExpr *outer = c->at.truncated;
    if (e->kind == AST_CAST && tessi_tt_is_integer(t))
        c->at.truncated = e->arg.at[0];
    TExpr *a = tessi_check_expr(c, e->arg.at[0]);
    c->at.truncated = outer;
    t = tessi_check_type_for(&e->type, t, a->type);
    return tessi_check_cast(c, a, t, e->kind == AST_SAT, e->span);
}

/* On whole images some forms are images of their own: calls, families, parts of an image. */
static TExpr *as_operand(Checker *c, const AstExpr *e)
{
    return tessi_check_operand_expr(c, tessi_check_vector(c, e), e->span);
}

static TExpr *call_expr(Checker *c, const AstExpr *e)
{
    const AstFunction *f = tessi_check_function_named(c, e->name);
    if (f && f->is_scalar)
        return tessi_check_scalar_call(c, e, f);
    if (c->at.operands && (f || tessi_is_reduction(e->name.text)))
        return as_operand(c, e);
    if (f && !tessi_is_builtin(e->name.text)) {
        Diag *d = CHECK_DIAG(c, DIAG_CALL_IN_STENCIL, e->name.span, f->name.text,
                             f->is_stencil ? "stencil" : "vector function");
        tessi_diag_help(c->d, d, "apply '%s' to an image first, and give the result as an argument",
                        f->name.text);
        return tessi_te_error(c, e->span);
    }
    return tessi_check_builtin(c, e);
}

static TExpr *misplaced(Checker *c, const AstExpr *e, const char *what)
{
    CHECK_DIAG(c, DIAG_IMAGE_FORM, e->span, what);
    return tessi_te_error(c, e->span);
}

static TExpr *check_kind(Checker *c, const AstExpr *e)
{
    switch (e->kind) {
    case AST_INT:
    case AST_REAL:
    case AST_BOOL: return literal(c, e);
    case AST_NAME: return name_expr(c, e);
    case AST_MEMBER:
        return tessi_check_field(c, tessi_check_expr(c, e->arg.at[0]), e->name, e->span);
    case AST_OFFSET: return tessi_check_offset(c, e);
    case AST_INDEX:
        if (c->at.operands && !tessi_check_is_mask_expr(c, e->arg.at[0]))
            return as_operand(c, e);
        return tessi_check_index(c, e);
    case AST_CALL: return call_expr(c, e);
    case AST_CAST:
    case AST_SAT: return check_cast(c, e);
    case AST_WRAP: return tessi_check_wrap(c, e);
    case AST_STRUCT: return struct_expr(c, e);
    case AST_UNARY: return tessi_check_unary(c, e->span, e->op, tessi_check_expr(c, e->arg.at[0]));
    case AST_BINARY: {
        TExpr *a = tessi_check_expr(c, e->arg.at[0]);
        TExpr *b = tessi_check_expr(c, e->arg.at[1]);
        TExpr *r = tessi_check_binary(c, e->span, e->op, a, b);
        if (e->op == AST_OP_DIV)
            tessi_warn_quotient(c, e, a, b, r);
        return r;
    }
    case AST_TERNARY: return ternary(c, e);
    case AST_WINDOW: return tessi_check_window(c, e);
    case AST_FAMILY:
        if (c->at.inst && !c->at.operands)
            return misplaced(c, e, "a family");
        if (c->at.operands && tessi_is_chosen(c, e))
            return tessi_check_chosen(c, e);
        return as_operand(c, e);
    case AST_SUBDOMAIN:
    case AST_COMPOSE:
    case AST_VALID:
        if (c->at.operands)
            return as_operand(c, e);
        if (e->kind == AST_VALID)
            return misplaced(c, e, "an image with a validity");
        return misplaced(c, e, e->kind == AST_COMPOSE ? "a composition" : "a part of an image");
    }
    return tessi_te_error(c, e->span);
}

/* Operations of the expression as a tree. Parts are shared (mix uses its first argument twice), so a short program
 * could unfold into an endless one. */
static uint32_t weigh(TExpr *e)
{
    if (e->weight)
        return e->weight;
    e->weight = 1;
    for (uint32_t i = 0; e->kind != TE_LOCAL && i < e->n_args; i++) {
        uint32_t w = weigh(e->arg[i]);
        e->weight = w > CHECK_MAX_WEIGHT ? w : e->weight + w;
    }
    return e->weight;
}

TExpr *tessi_check_expr(Checker *c, const AstExpr *e)
{
    if (!e || c->over_limit || tessi_diags_full(c->d))
        return tessi_te_error(c, e ? e->span : (Span){ 0 });
    if (c->expr_depth >= CHECK_MAX_DEPTH) {
        tessi_check_limit(c, e->span, "levels of nesting in an expression", CHECK_MAX_DEPTH);
        return tessi_te_error(c, e->span);
    }
    c->expr_depth++;
    TExpr *r = check_kind(c, e);
    c->expr_depth--;
    if (weigh(r) > CHECK_MAX_WEIGHT) {
        tessi_check_limit(c, e->span, "operations in one expression", CHECK_MAX_WEIGHT);
        return tessi_te_error(c, e->span);
    }
    return r;
}
