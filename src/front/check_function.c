/* front/check_function: functions of scalars, `float g(float d) { return exp(-d * d); }`: a call stands for the body,
 * with the arguments in the place of their names. */
#include "front/check.h"

/* As a value that meets type `t`. Coefficients of masks and constants are computed in double: there a real type only
 * says that the value is real. */
static TExpr *as_declared(Checker *c, TExpr *e, const AstType *type)
{
    if (tessi_check_is_any(type) || tessi_tt_is_error(e->type))
        return e;
    TType t = tessi_check_type(c, type);
    if (!c->at.in_constant || t.kind != TT_SCALAR || !tessi_is_real(t.scalar))
        return tessi_check_convert(c, e, t);
    return e->type.kind == TT_UNTYPED_INT
               ? tessi_check_convert(c, e, tessi_tt_kind(TT_UNTYPED_REAL))
               : e;
}

static void bind(Checker *c, Name name, TExpr *value)
{
    Sym *sym = tessi_scope_add(c, name, SYM_OPERAND);
    if (sym)
        sym->operand = tessi_operand_scalar(value, value->span);
}

static void statement(Checker *c, const AstStmt *s)
{
    if (s->kind == AST_MASK) {
        tessi_check_mask_stmt(c, s);
    } else if (s->kind == AST_FOR || s->family || s->ranges.n || s->offsets.n || s->more.n
               || s->sizes.n) {
        CHECK_DIAG(c, DIAG_IMAGE_FORM, s->span, "a statement of images");
    } else if (s->is_const) {
        tessi_check_const_stmt(c, s);
    } else {
        TExpr *value = tessi_check_expr(c, s->value);
        bind(c, s->name, s->has_type ? as_declared(c, value, &s->type) : value);
    }
}

TExpr *tessi_check_scalar_body(Checker *c, const AstFunction *f, TExpr *const *args, Span call)
{
    Context saved = c->at;
    CallFrame frame = { c->frame, f, call };
    c->at.scope = tessi_scope_new(c, c->globals);
    c->frame = &frame;
    c->call_depth++;
    for (uint32_t i = 0; i < f->args.n; i++)
        bind(c, f->args.at[i].name, args[i]);
    VEC_FOREACH (AstStmt *const, s, &f->body)
        statement(c, *s);
    TExpr *e = f->result.n ? tessi_check_expr(c, f->result.at[0]) : tessi_te_error(c, call);
    e = as_declared(c, e, &f->type);
    c->call_depth--;
    c->frame = frame.outer;
    c->at = saved;
    return e;
}

static TExpr *argument(Checker *c, const AstFunction *f, uint32_t i, const AstArg *arg)
{
    const AstFunctionArg *def = &f->args.at[i];
    if (!tessi_check_positional(c, f->name.text, arg))
        return tessi_te_error(c, arg->keyword.span);
    tessi_check_no_borders(c, &arg->borders, "a scalar");
    TExpr *e = def->type.is_const ? tessi_check_const(
                   c, arg->value,
                   tessi_sprintf(c->a, "argument '%s' of '%s'", def->name.text, f->name.text))
                                  : tessi_check_expr(c, arg->value);
    return as_declared(c, e, &def->type);
}

TExpr *tessi_check_scalar_call(Checker *c, const AstExpr *e, const AstFunction *f)
{
    VEC_PUSH(c->a, &c->called, f);
    if (e->args.n != f->args.n) {
        Diag *d = CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, f->name.text, (long long)f->args.n,
                             (long long)e->args.n);
        tessi_diag_note(c->d, d, f->name.span, "'%s' is defined here", f->name.text);
        return tessi_te_error(c, e->span);
    }
    TExpr **args = ARENA_NEW_ARRAY(c->a, TExpr *, f->args.n + 1);
    bool ok = tessi_check_scalar_arguments(c, f) && tessi_check_may_call(c, e, f);
    for (uint32_t i = 0; ok && i < f->args.n; i++) {
        args[i] = argument(c, f, i, &e->args.at[i]);
        ok = !tessi_tt_is_error(args[i]->type);
    }
    return ok ? tessi_check_scalar_body(c, f, args, e->span) : tessi_te_error(c, e->span);
}

bool tessi_check_scalar_arguments(Checker *c, const AstFunction *f)
{
    VEC_FOREACH (const AstFunctionArg, arg, &f->args) {
        if (!arg->type.is_image && !arg->type.is_mask)
            continue;
        Diag *d = CHECK_DIAG(c, DIAG_IMAGE_ARGUMENT, arg->type.span, arg->name.text, f->name.text);
        tessi_diag_help(c->d, d, "a function of images is 'stencil %s(..)', or 'vector %s(..)'",
                        f->name.text, f->name.text);
        return false;
    }
    return true;
}
