/* front/check_any: types that are known when the images of a run are: inputs declared `any`, and typeof(X). */
#include "front/check.h"

/* Fields of pictures have these names, as rgb and rgba; others are numbered. */
static const char *field_name(Checker *c, uint32_t n, uint32_t k)
{
    static const char *const names[] = { "va", "rgb", "rgba" };
    return n <= 4 ? tessi_strndup(c->a, names[n - 2] + k, 1) : tessi_sprintf(c->a, "c%u", k);
}

/* Whether pixels of the struct, which the program knows, are what `any` images of n fields hold. */
static bool is_picture(Checker *c, const AstStructDef *def, uint32_t n)
{
    bool same = def && def->fields.n == n;
    for (uint32_t k = 0; same && k < n; k++)
        same = tessi_streq(def->fields.at[k].name.text, field_name(c, n, k));
    return same;
}

/* The struct of images of n fields, one for all of them, so that they can be computed with each other. */
static const AstStructDef *struct_of(Checker *c, uint32_t n)
{
    const char *name = n == 2 ? "va" : n == 3 ? "rgb" : n == 4 ? "rgba" : NULL;
    const AstStructDef *known = name ? tessi_check_struct_named(c, name) : NULL;
    if (is_picture(c, known, n))
        return known;
    VEC_FOREACH (AstStructDef *const, s, &c->any_structs) {
        if ((*s)->fields.n == n)
            return *s;
    }
    AstStructDef *s = ARENA_NEW(c->a, AstStructDef);
    s->name.text = name && !known ? name : tessi_sprintf(c->a, "pixel%u", n);
    s->predeclared = true;
    for (uint32_t k = 0; k < n; k++) {
        AstField f = { .name = { .text = field_name(c, n, k) },
                       .type = { .name = { .text = "uint8" } } };
        VEC_PUSH(c->a, &s->fields, f);
    }
    VEC_PUSH(c->a, &c->any_structs, s);
    return s;
}

TType tessi_check_any_type(Checker *c, const AstDecl *decl)
{
    FrontType t = { .type = TYPE_F32, .n_fields = 1 };
    for (size_t i = 0; c->o && i < c->o->n_types; i++) {
        const FrontType *given = &c->o->types[i];
        if (!given->name || tessi_streq(given->name, decl->name.text))
            t = *given;
    }
    if (t.n_fields <= 1 || decl->type.is_mask)
        return tessi_tt_scalar(t.type);
    if (t.n_fields > CHECK_MAX_FIELDS) {
        CHECK_DIAG(c, DIAG_LIMIT, decl->span, "fields of a struct", (long long)CHECK_MAX_FIELDS);
        return tessi_tt_kind(TT_ERROR);
    }
    ScalarType types[CHECK_MAX_FIELDS];
    for (uint32_t k = 0; k < t.n_fields; k++)
        types[k] = t.type;
    return (TType){ .kind = TT_STRUCT,
                    .st = tessi_check_struct(c, struct_of(c, t.n_fields), types, t.n_fields) };
}

TExpr *tessi_check_own_size(Checker *c, const AstDecl *decl, uint32_t d)
{
    const Name name = { tessi_sprintf(c->a, "%s_size%u", decl->name.text, d), decl->name.span };
    Sym *sym = tessi_scope_add(c, name, SYM_PARAM);
    if (!sym)
        return tessi_te_error(c, name.span);
    TParam p = { .name = name.text, .span = name.span };
    sym->used = true;
    sym->slot = c->t->params.n;
    VEC_PUSH(c->a, &c->t->params, p);
    return tessi_check_param(c, sym, name.span);
}

/* The type of what the symbol stands for; an error where that is no image or value. */
static TType type_of(const Checker *c, const Sym *sym)
{
    switch (sym->kind) {
    case SYM_ARG: return c->at.inst->args.at[sym->slot].type;
    case SYM_LOCAL: return c->at.inst->locals.at[sym->slot].value->type;
    case SYM_OPERAND: {
        const Operand *o = &sym->operand;
        return o->kind == OPERAND_IMAGE    ? o->image->type
               : o->kind == OPERAND_SCALAR ? o->scalar->type
               : o->kind == OPERAND_MASK   ? o->mask->type
                                           : tessi_tt_kind(TT_ERROR);
    }
    default: return tessi_tt_kind(TT_ERROR);
    }
}

TType tessi_check_type_of(Checker *c, const AstType *type)
{
    Sym *sym = tessi_scope_find(c->at.scope, type->name.text);
    if (!sym) {
        tessi_check_unknown_name(c, type->name);
        return tessi_tt_kind(TT_ERROR);
    }
    sym->used = true;
    const TType t = type_of(c, sym);
    const bool failed = sym->kind == SYM_OPERAND && sym->operand.kind == OPERAND_ERROR;
    if (t.kind == TT_SCALAR || t.kind == TT_STRUCT || failed)
        return t;
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_TYPE, type->span,
                         tessi_sprintf(c->a, "typeof(%s)", type->name.text));
    tessi_diag_help(c->d, d, "typeof(X) is the type of an image's elements, or of a typed value");
    return tessi_tt_kind(TT_ERROR);
}

TType tessi_check_type_for(const AstType *type, TType to, TType value)
{
    if (!type->is_of || to.kind != TT_STRUCT || value.kind == TT_STRUCT)
        return to;
    for (uint32_t k = 1; k < to.st->n; k++)
        if (to.st->field[k].type != to.st->field[0].type)
            return to;
    return tessi_tt_scalar(to.st->field[0].type);
}

void tessi_check_note_any(const Checker *c, Diag *diag)
{
    VEC_FOREACH (const TInput, in, &c->t->inputs) {
        if (in->is_any)
            tessi_diag_note(c->d, diag, in->span, "'%s' is an image of %s here", in->name,
                            tessi_tt_name(c, in->type));
    }
}
