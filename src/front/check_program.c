/* front/check_program: the whole program in order: structs, constants, parameters and inputs, statements, returned
 * images. */
#include "front/check.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OUTPUTS = 64 };

/* ---- definitions ----------------------------------------------------------------------------- */
static void check_struct_def(Checker *c, AstStructDef *def, uint32_t position)
{
    if (def->predeclared && def->fields.n == 0) {
        if (!tessi_streq(def->name.text, "float4")) {
            CHECK_DIAG(c, DIAG_UNKNOWN_TYPE, def->name.span, def->name.text);
            return;
        }
        for (int k = 0; k < 4; k++) {
            AstField f = { .name = { (const char *[]){ "x", "y", "z", "w" }[k], def->name.span },
                           .type = { .span = def->name.span,
                                     .name = { "float", def->name.span } } };
            VEC_PUSH(c->a, &def->fields, f);
        }
    }
    for (uint32_t i = 0; i < position; i++) {
        const AstStructDef *other = c->ast->structs.at[i];
        if (tessi_streq(other->name.text, def->name.text)) {
            Diag *d = CHECK_DIAG(c, DIAG_DUPLICATE_NAME, def->name.span, def->name.text);
            tessi_diag_note(c->d, d, other->name.span, "'%s' is first defined here",
                            def->name.text);
        }
    }
    if (def->fields.n == 0 || def->fields.n > CHECK_MAX_FIELDS)
        CHECK_DIAG(c, DIAG_LIMIT, def->name.span, "fields of a struct (and at least one)",
                   (long long)CHECK_MAX_FIELDS);
    for (uint32_t i = 0; i < def->fields.n; i++) {
        const AstField *f = &def->fields.at[i];
        TType t =
            tessi_check_is_any(&f->type) ? tessi_tt_kind(TT_STRUCT) : tessi_check_type(c, &f->type);
        if (t.kind == TT_STRUCT)
            CHECK_DIAG(c, DIAG_FIELD_TYPE, f->type.span, f->name.text);
        for (uint32_t k = 0; k < i; k++) {
            if (tessi_streq(def->fields.at[k].name.text, f->name.text))
                CHECK_DIAG(c, DIAG_DUPLICATE_NAME, f->name.span, f->name.text);
        }
    }
}

/* A program may define names that files it uses have as well: each file means its own. */
static bool may_share(const Checker *c, const AstFunction *f, const AstFunction *other)
{
    const uint16_t own = c->ast->file;
    return (f->name.span.file == own) != (other->name.span.file == own);
}

static void check_function_names(Checker *c)
{
    for (uint32_t i = 0; i < c->ast->functions.n; i++) {
        const AstFunction *f = c->ast->functions.at[i];
        for (uint32_t k = 0; k < i; k++) {
            const AstFunction *other = c->ast->functions.at[k];
            if (tessi_streq(other->name.text, f->name.text) && !may_share(c, f, other)) {
                Diag *d = CHECK_DIAG(c, DIAG_DUPLICATE_NAME, f->name.span, f->name.text);
                tessi_diag_note(c->d, d, other->name.span, "'%s' is first defined here",
                                f->name.text);
            }
        }
    }
}

/* ---- parameters and inputs ------------------------------------------------------------------- */
/* Says that the value given for an input is none of its type: of the command line or caller, which has no place in
 * the program. */
static void no_such_value(Checker *c, const char *name, double user, ScalarType type)
{
    const Interval room = tessi_type_range(type);
    const char *takes = type == TYPE_BOOL ? "0 and 1"
                        : tessi_type_info(type)->bytes == 8
                            ? (tessi_is_unsigned(type) ? "whole numbers from 0" : "whole numbers")
                            : tessi_sprintf(c->a, "whole numbers from %lld to %lld",
                                            (long long)room.lo, (long long)room.hi);
    Text t = tessi_text_new(c->a);
    if (user > -1e15 && user < 1e15 && user == (double)(int64_t)user)
        tessi_text_addf(&t, "%lld", (long long)user);
    else
        tessi_text_add_real(&t, user, false);
    CHECK_DIAG(c, DIAG_GIVEN_TYPE, (Span){ 0 }, name, tessi_text_str(&t), takes);
}

static void declare_param(Checker *c, const AstDecl *decl)
{
    TParam p = { .name = decl->name.text, .span = decl->name.span };
    double user;
    if (tessi_check_user_value(c, decl->name.text, &user)) {
        p.has_value = true;
        p.value = tessi_eval_cast(TYPE_I64, TYPE_F64, tessi_value_real(user)).i;
        if (user != (double)p.value) {
            no_such_value(c, decl->name.text, user, TYPE_I64);
            p.value = 1; /* to go on with */
        }
    }
    tessi_check_distance(c, &p);
    if (decl->init) {
        int64_t v;
        if (tessi_check_const_int(c, decl->init, "the default of a parameter", &v)
            && !p.has_value) {
            p.has_value = true;
            p.value = v;
        }
    }
    Sym *sym = tessi_scope_add(c, decl->name, SYM_PARAM);
    if (!sym)
        return;
    sym->slot = c->t->params.n;
    VEC_PUSH(c->a, &c->t->params, p);
}

static bool scalar_bounds(Checker *c, const AstDecl *decl, TType t, TScalar *s)
{
    if (!decl->lo || !decl->hi)
        return true;
    TExpr *lo = tessi_check_const(c, decl->lo, "the range of an input");
    TExpr *hi = tessi_check_const(c, decl->hi, "the range of an input");
    lo = tessi_check_convert(c, lo, t);
    hi = tessi_check_convert(c, hi, t);
    if (tessi_tt_is_error(lo->type) || tessi_tt_is_error(hi->type))
        return false;
    s->has_range = true;
    s->lo = lo->value;
    s->hi = hi->value;
    return true;
}

static double number(ScalarType t, Value v)
{
    return tessi_is_real(t) ? v.f : (double)v.i;
}

static bool inside_range(Checker *c, const TScalar *s, Span span, bool given)
{
    double v = number(s->type, s->value);
    if (!s->has_range || (v >= number(s->type, s->lo) && v <= number(s->type, s->hi)))
        return true;
    CHECK_DIAG(c, given ? DIAG_GIVEN_RANGE : DIAG_OUT_OF_RANGE, span, s->name, v,
               number(s->type, s->lo), number(s->type, s->hi));
    return false;
}

static bool set_by_user(Checker *c, TScalar *s, double user)
{
    s->has_default = true;
    s->value = tessi_eval_cast(s->type, TYPE_F64, tessi_value_real(user));
    if (tessi_is_real(s->type) || (double)s->value.i == user)
        return inside_range(c, s, (Span){ 0 }, true);
    no_such_value(c, s->name, user, s->type);
    return false;
}

static void declare_scalar(Checker *c, const AstDecl *decl)
{
    TScalar s = { .name = decl->name.text, .span = decl->name.span };
    TType t = tessi_check_is_any(&decl->type) ? tessi_tt_kind(TT_STRUCT)
                                              : tessi_check_type(c, &decl->type);
    double user;
    if (t.kind == TT_STRUCT)
        CHECK_DIAG(c, DIAG_INPUT_TYPE, decl->type.span, decl->name.text, decl->type.name.text);
    bool ok = t.kind == TT_SCALAR && scalar_bounds(c, decl, t, &s);
    s.type = t.scalar;
    if (ok && decl->init) {
        TExpr *e =
            tessi_check_convert(c, tessi_check_const(c, decl->init, "the default of an input"), t);
        s.has_default = e->kind == TE_CONST;
        s.value = e->value;
        ok = s.has_default && inside_range(c, &s, decl->init->span, false);
    }
    if (ok && decl->type.is_const && tessi_check_user_value(c, decl->name.text, &user))
        ok = set_by_user(c, &s, user);
    Sym *sym = tessi_scope_add(c, decl->name, SYM_OPERAND);
    if (!sym)
        return;
    sym->operand = tessi_operand_error(decl->name.span);
    if (!ok)
        return;
    if (decl->type.is_const) {
        TConstant k = { .name = s.name,
                        .span = s.span,
                        .known = s.has_default,
                        .type = s.type,
                        .value = s.value,
                        .has_range = s.has_range,
                        .lo = s.lo,
                        .hi = s.hi };
        VEC_PUSH(c->a, &c->t->constants, k);
        sym->slot = c->t->constants.n;
        return;
    }
    TExpr *e = tessi_te_new(c, TE_SCALAR, t, decl->name.span, 0);
    e->slot = c->t->scalars.n;
    VEC_PUSH(c->a, &c->t->scalars, s);
    sym->operand = tessi_operand_scalar(e, decl->name.span);
}

/* The extents of a mask must be known, for windows run over them. */
static Operand declare_mask(Checker *c, const AstDecl *decl, TInput *in)
{
    TMask *m = tessi_mask_new(c, decl->name.text, decl->name.span, in->n_dims);
    int64_t n = 1;
    m->type = in->type;
    m->input = in->value;
    in->mask = m;
    for (uint32_t d = 0; d < in->n_dims; d++) {
        int32_t size = 1;
        if (!tessi_check_const_i32(c, decl->sizes.at[d], "the size of a mask", &size))
            return tessi_operand_error(decl->name.span);
        n *= size;
        if (size < 1 || n > MAX_MASK_ELEMENTS) {
            if (size < 1)
                CHECK_DIAG(c, DIAG_MASK_SIZE, decl->sizes.at[d]->span, (long long)size);
            else
                CHECK_DIAG(c, DIAG_LIMIT, m->span, "elements of a mask",
                           (long long)MAX_MASK_ELEMENTS);
            return tessi_operand_error(decl->name.span);
        }
        m->lo[d] = -(size / 2);
        m->hi[d] = m->lo[d] + size - 1;
    }
    m->n = (uint32_t)n;
    return (Operand){ .kind = OPERAND_MASK, .span = decl->name.span, .mask = m };
}

static void declare_image(Checker *c, const AstDecl *decl)
{
    TInput in = { .name = decl->name.text,
                  .span = decl->name.span,
                  .is_mask = decl->type.is_mask,
                  .n_dims = decl->type.n_dims };
    Sym *sym = tessi_scope_add(c, decl->name, SYM_OPERAND);
    if (!sym)
        return;
    sym->operand = tessi_operand_error(decl->name.span);
    in.is_any = tessi_check_is_any(&decl->type);
    in.type = in.is_any ? tessi_check_any_type(c, decl) : tessi_check_type(c, &decl->type);
    if (in.type.kind == TT_STRUCT && in.is_mask)
        CHECK_DIAG(c, DIAG_INPUT_TYPE, decl->type.span, decl->name.text, decl->type.name.text);
    if (decl->sizes.n != in.n_dims && !decl->own_sizes) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, decl->name.span, decl->name.text, (long long)in.n_dims,
                   "sizes", (long long)(decl->sizes.n));
        return;
    }
    bool ok = !tessi_tt_is_error(in.type);
    for (uint32_t d = 0; d < in.n_dims; d++) {
        in.size[d] = decl->own_sizes ? tessi_check_own_size(c, decl, d)
                                     : tessi_check_size(c, decl->sizes.at[d]);
        ok &= !tessi_tt_is_error(in.size[d]->type);
    }
    if (!ok)
        return;
    in.value = tessi_value_new(c, TV_INPUT, in.type, in.n_dims, decl->name.span);
    in.value->name = decl->name.text;
    in.value->number = c->t->inputs.n;
    sym->operand =
        in.is_mask ? declare_mask(c, decl, &in) : tessi_operand_image(in.value, decl->name.span);
    VEC_PUSH(c->a, &c->t->inputs, in);
}

static void declare(Checker *c, const AstDecl *d)
{
    if (!d->name.text)
        return;
    if (d->kind == AST_DECL_PARAMETER)
        declare_param(c, d);
    else if (d->kind == AST_DECL_SCALAR)
        declare_scalar(c, d);
    else
        declare_image(c, d);
}

static bool mentions(const Scope *program, const AstExpr *e);

static bool mention(const Scope *program, const AstExprs *list)
{
    VEC_FOREACH (AstExpr *const, e, list) {
        if (mentions(program, *e))
            return true;
    }
    return false;
}

static bool vars_mention(const Scope *program, const AstWindowVars *vars)
{
    VEC_FOREACH (const AstWindowVar, v, vars) {
        if (mentions(program, v->lo) || mentions(program, v->hi) || mentions(program, v->mask))
            return true;
    }
    return false;
}

/* A name of the program stands in the expression of a constant. */
static bool mentions(const Scope *program, const AstExpr *e)
{
    if (!e)
        return false;
    if (e->kind == AST_NAME && tessi_scope_find_here(program, e->name.text))
        return true;
    VEC_FOREACH (const AstArg, a, &e->args) {
        if (mentions(program, a->value))
            return true;
    }
    return mention(program, &e->arg) || vars_mention(program, &e->vars);
}

/* Masks and constants that need nothing of the program are seen by functions too, wherever they stand. */
static bool is_global(const Checker *c, const AstStmt *s)
{
    const AstMask *m = &s->mask;
    if (c->forma || (s->kind != AST_MASK && !(s->kind == AST_ASSIGN && s->is_const))
        || tessi_scope_find_here(c->program, s->name.text))
        return false;
    return !mentions(c->program, s->value) && !mention(c->program, &m->sizes)
           && !mention(c->program, &m->list) && !vars_mention(c->program, &m->vars)
           && !mentions(c->program, m->value) && !mentions(c->program, m->divisor)
           && !mentions(c->program, m->factor);
}

/* Declarations and statements in the order that they are written in. */
static void check_items(Checker *c)
{
    const Ast *ast = c->ast;
    uint32_t decl = 0;
    for (uint32_t i = 0; i <= ast->body.n; i++) {
        const uint32_t until = i < ast->body.n ? ast->body.at[i]->span.begin : UINT32_MAX;
        for (; decl < ast->decls.n && ast->decls.at[decl]->name.span.begin < until; decl++)
            declare(c, ast->decls.at[decl]);
        if (i == ast->body.n)
            break;
        const AstStmts one = { .at = &ast->body.at[i], .n = 1 };
        if (is_global(c, ast->body.at[i]))
            c->at.scope = c->at.body = c->globals;
        tessi_check_statements(c, &one);
        c->at.scope = c->at.body = c->program;
    }
}

/* ---- results --------------------------------------------------------------------------------- */
static const char *output_name(Checker *c, const AstExpr *e, uint32_t n, uint32_t of)
{
    if (of == 1 && (e->kind == AST_NAME || e->kind == AST_MEMBER) && e->name.text)
        return e->name.text;
    if (of == 1 && e->kind == AST_FAMILY)
        return e->name.text;
    return n == 0 ? "output" : tessi_sprintf(c->a, "output%u", n + 1);
}

static void add_output(Checker *c, const AstExpr *e, Operand o, uint32_t of)
{
    if (o.kind == OPERAND_MASK)
        CHECK_DIAG(c, DIAG_NOT_A_VALUE, e->span, o.mask->name, "a mask");
    if (o.kind == OPERAND_MASK || o.kind == OPERAND_ERROR)
        return;
    if (o.kind == OPERAND_SCALAR) {
        TExpr *s = tessi_check_concrete(c, o.scalar);
        TValue *v = tessi_value_new(c, TV_SCALAR, s->type, 0, e->span);
        v->expr = s;
        o.image = v;
    }
    TOutput out = { output_name(c, e, c->t->outputs.n, of), e->span, o.image };
    for (uint32_t k = 2; k < MAX_OUTPUTS; k++) {
        bool taken = false;
        VEC_FOREACH (const TOutput, other, &c->t->outputs) {
            taken |= tessi_streq(other->name, out.name);
        }
        if (!taken)
            break;
        out.name = tessi_sprintf(c->a, "%s%u", output_name(c, e, 0, of), k);
    }
    if (!o.image->named && o.image->kind != TV_INPUT) {
        o.image->name = out.name;
        o.image->named = true;
    }
    VEC_PUSH(c->a, &c->t->outputs, out);
}

static void check_results(Checker *c)
{
    VEC_FOREACH (AstExpr *const, it, &c->ast->result) {
        const AstExpr *e = *it;
        Operands results = { 0 };
        tessi_check_results_of(c, e, &results);
        for (uint32_t i = 0; i < results.n; i++)
            add_output(c, e, results.at[i], results.n);
    }
    if (c->ast->result.n > MAX_OUTPUTS || c->t->outputs.n > MAX_OUTPUTS)
        CHECK_DIAG(c, DIAG_LIMIT, c->ast->result_span, "returned images", (long long)MAX_OUTPUTS);
}

/* ---- the program ----------------------------------------------------------------------------- */
/* A rule, a policy about points that are not valid, or both: "mirror", "mirror:nearest(3)". */
static void given_border(Checker *c, AstBorders *out)
{
    AstBorder *rule = ARENA_NEW(c->a, AstBorder);
    for (const char *p = c->o->border; p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        AstBorder b = { .span = c->ast->border_span };
        char *word = tessi_strndup(c->a, p, strcspn(p, ":")), *value = strchr(word, '(');
        Missing policy;
        if (value) {
            *value++ = '\0';
            b.value = ARENA_NEW(c->a, AstExpr);
            *b.value = (AstExpr){ .kind = AST_REAL, .span = b.span, .real = strtod(value, NULL) };
        }
        b.name = (Name){ word, c->ast->border_span };
        if (tessi_missing_by_name(word, &policy) && (policy != MISSING_NEAREST || value)) {
            out->missing = b;
            continue;
        }
        *rule = b;
        out->at = rule;
        out->n = 1;
    }
}

static void program_border(Checker *c)
{
    BorderInForce rule = { 0 };
    if (!c->forma)
        rule = (BorderInForce){ .n = 1, .rule = { BORDER_CLAMP } };
    c->at.border = rule;
    if (c->o && c->o->border) { /* set by the user: stands above the program's own */
        AstBorders given = { 0 };
        given_border(c, &given);
        (void)tessi_check_border_in_force(c, &given, &rule);
    } else if (tessi_borders_are_written(&c->ast->border)) {
        (void)tessi_check_border_in_force(c, &c->ast->border, &rule);
    }
    c->at.border = rule;
}

Typed *tessi_check(Arena *a, Diags *d, const Ast *ast, const FrontOptions *o)
{
    Checker checker = { .a = a, .d = d, .ast = ast, .o = o, .forma = ast->forma }, *c = &checker;
    c->budget = CHECK_MAX_EVALUATION;
    c->t = ARENA_NEW(a, Typed);
    c->t->arena = a;
    c->t->ast = ast;
    c->t->forma = ast->forma;
    c->globals = c->at.scope = c->at.body = tessi_scope_new(c, NULL);
    for (uint32_t i = 0; i < ast->structs.n; i++)
        check_struct_def(c, ast->structs.at[i], i);
    check_function_names(c);
    tessi_check_statements(c, &ast->constants);
    c->program = c->at.scope = c->at.body = tessi_scope_new(c, c->globals);
    program_border(c);
    check_items(c);
    check_results(c);
    tessi_check_warn_unused(c, c->program);
    tessi_check_uncalled(c);
    if (d->n_errors == 0)
        tessi_check_mark_used(c->t);
    return c->t;
}
