/* front/check_uncalled: functions that the program never calls. With plain argument types they are checked as if
 * called; where types or constants come from the call, at least their names are. */
#include "front/check.h"

static bool was_called(const Checker *c, const AstFunction *f)
{
    VEC_FOREACH (const AstFunction *const, it, &c->called) {
        if (*it == f)
            return true;
    }
    return false;
}

/* ---- functions whose argument types are written ---------------------------------------------- */
bool tessi_check_depends_on_call(const AstFunction *f)
{
    VEC_FOREACH (const AstFunctionArg, arg, &f->args) {
        if (tessi_check_is_any(&arg->type) || arg->type.is_const || arg->type.is_mask)
            return true;
    }
    return false;
}

static Operand stand_in(Checker *c, const AstFunctionArg *arg)
{
    TType t = tessi_check_type(c, &arg->type);
    if (tessi_tt_is_error(t))
        return tessi_operand_error(arg->span);
    TValue *v =
        tessi_value_new(c, TV_ERROR, t, arg->type.is_image ? arg->type.n_dims : 0, arg->span);
    v->name = arg->name.text;
    return tessi_operand_image(v, arg->span);
}

static void check_as_called(Checker *c, const AstFunction *f)
{
    Operand *operands = ARENA_NEW_ARRAY(c->a, Operand, f->args.n + 1);
    for (uint32_t i = 0; i < f->args.n; i++) {
        operands[i] = stand_in(c, &f->args.at[i]);
        if (operands[i].kind == OPERAND_ERROR)
            return;
    }
    if (f->is_scalar && tessi_check_scalar_arguments(c, f)) {
        TExpr **args = ARENA_NEW_ARRAY(c->a, TExpr *, f->args.n + 1);
        for (uint32_t i = 0; i < f->args.n; i++)
            args[i] = tessi_check_operand_expr(c, operands[i], f->args.at[i].span);
        (void)tessi_check_scalar_body(c, f, args, f->name.span);
    }
    if (f->is_scalar)
        return;
    if (f->is_stencil) {
        (void)tessi_check_instance(c, f, operands, f->name.span);
        return;
    }
    Operands results = { 0 };
    tessi_check_vector_body(c, f, operands, f->name.span, c->at.border, &results);
}

/* ---- names in functions whose types are not known -------------------------------------------- */
static void names_in(Checker *c, const AstExpr *e);

static void bind_variable(Checker *c, Name name)
{
    if (name.text && !tessi_scope_find_here(c->at.scope, name.text))
        (void)tessi_scope_add(c, name, SYM_OPERAND);
}

static void names_in_vars(Checker *c, const AstWindowVars *vars)
{
    VEC_FOREACH (const AstWindowVar, v, vars) {
        names_in(c, v->lo);
        names_in(c, v->hi);
        names_in(c, v->mask);
    }
    c->at.scope = tessi_scope_new(c, c->at.scope);
    VEC_FOREACH (const AstWindowVar, v, vars) {
        bind_variable(c, v->name);
    }
}

static void names_in_ranges(Checker *c, const AstRanges *ranges, const AstOffsets *offsets)
{
    VEC_FOREACH (const AstRange, r, ranges) {
        names_in(c, r->lo);
        names_in(c, r->hi);
    }
    VEC_FOREACH (const AstOffset, o, offsets) {
        names_in(c, o->displacement);
        names_in(c, o->scale);
    }
}

static void name_of_call(Checker *c, const AstExpr *e)
{
    const char *name = e->name.text;
    const AstFunction *f = tessi_check_function_named(c, e->name);
    if (f)
        tessi_check_is_defined(c, e, f);
    if (!name || f || tessi_is_builtin(name) || tessi_is_reduction(name)
        || tessi_streq(name, "flip"))
        return;
    tessi_check_unknown_function(c, e->name);
}

static void names_in(Checker *c, const AstExpr *e)
{
    if (!e || c->expr_depth >= CHECK_MAX_DEPTH || tessi_diags_full(c->d))
        return;
    Scope *saved = c->at.scope;
    c->expr_depth++;
    double number;
    if ((e->kind == AST_NAME || e->kind == AST_FAMILY)
        && !tessi_scope_find(c->at.scope, e->name.text)
        && !tessi_check_is_number_name(e->name.text, &number))
        tessi_check_unknown_name(c, e->name);
    if (e->kind == AST_CALL)
        name_of_call(c, e);
    if (e->kind == AST_WINDOW)
        names_in_vars(c, &e->vars);
    VEC_FOREACH (AstExpr *const, a, &e->arg) {
        names_in(c, *a);
    }
    if (e->more) {
        c->at.scope = tessi_scope_new(c, c->at.scope);
        names_in(c, e->more->order);
        names_in(c, e->more->start);
        bind_variable(c, e->more->a);
        bind_variable(c, e->more->b);
        names_in(c, e->more->combine);
    }
    VEC_FOREACH (const AstArg, a, &e->args) {
        names_in(c, a->value);
    }
    names_in_ranges(c, &e->ranges, &e->offsets);
    VEC_FOREACH (const AstPart, p, &e->parts) {
        names_in_ranges(c, &p->ranges, &p->offsets);
        names_in(c, p->value);
    }
    c->expr_depth--;
    c->at.scope = saved;
}

static void names_in_statements(Checker *c, const AstStmts *body)
{
    if (c->expr_depth >= CHECK_MAX_DEPTH)
        return;
    c->expr_depth++;
    VEC_FOREACH (AstStmt *const, it, body) {
        const AstStmt *s = *it;
        Scope *saved = c->at.scope;
        if (s->kind == AST_FOR) {
            names_in(c, s->lo);
            names_in(c, s->hi);
            bind_variable(c, s->name);
            names_in(c, s->until);
            names_in(c, s->every);
            names_in_statements(c, &s->body);
            continue;
        }
        names_in_vars(c, &s->mask.vars);
        names_in(c, s->mask.value);
        VEC_FOREACH (AstExpr *const, a, &s->mask.list) {
            names_in(c, *a);
        }
        VEC_FOREACH (AstExpr *const, a, &s->mask.sizes) {
            names_in(c, *a);
        }
        c->at.scope = saved;
        VEC_FOREACH (AstExpr *const, size, &s->sizes) {
            names_in(c, *size);
        }
        names_in(c, s->family);
        names_in(c, s->second);
        names_in_ranges(c, &s->ranges, &s->offsets);
        names_in(c, s->value);
        bind_variable(c, s->name);
        VEC_FOREACH (const AstTarget, t, &s->more) {
            names_in(c, t->family);
            names_in(c, t->second);
            bind_variable(c, t->name);
        }
    }
    c->expr_depth--;
}

static void check_names(Checker *c, const AstFunction *f)
{
    Context saved = c->at;
    c->at = (Context){ .scope = tessi_scope_new(c, c->globals) };
    VEC_FOREACH (const AstFunctionArg, arg, &f->args) {
        bind_variable(c, arg->name);
    }
    names_in_statements(c, &f->body);
    VEC_FOREACH (AstExpr *const, r, &f->result) {
        names_in(c, *r);
    }
    c->at = saved;
}

void tessi_check_uncalled(Checker *c)
{
    VEC_FOREACH (AstFunction *const, f, &c->ast->functions) {
        if (c->over_limit || tessi_diags_full(c->d))
            return;
        if (was_called(c, *f))
            continue;
        if (tessi_check_depends_on_call(*f))
            check_names(c, *f);
        else
            check_as_called(c, *f);
    }
}
