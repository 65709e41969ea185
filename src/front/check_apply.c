/* front/check_apply: calls among the statements: stencils (instantiated), vector functions (inlined). */
#include "front/check.h"

static const char *arg_text(Checker *c, const AstFunctionArg *arg)
{
    const char *type = arg->type.name.text ? arg->type.name.text : "";
    bool any = tessi_check_is_any(&arg->type);
    if (arg->type.is_mask)
        return tessi_sprintf(c->a, "a %d-dimensional mask", arg->type.n_dims);
    if (arg->type.is_image)
        return tessi_sprintf(c->a, "a %d-dimensional image%s%s", arg->type.n_dims,
                             any ? "" : " of ", any ? "" : type);
    return tessi_sprintf(c->a, "a scalar%s%s", any ? "" : " of type ", any ? "" : type);
}

static bool wrong_kind(Checker *c, const AstFunction *f, uint32_t i, const Operand *o)
{
    if (o->kind == OPERAND_ERROR)
        return false;
    Diag *d = CHECK_DIAG(c, DIAG_ARG_KIND, o->span, f->args.at[i].name.text, f->name.text,
                         arg_text(c, &f->args.at[i]), tessi_operand_text(c, *o));
    tessi_diag_note(c->d, d, f->args.at[i].name.span, "the argument is declared here");
    const AstFunctionArg *arg = &f->args.at[i];
    if (o->kind == OPERAND_IMAGE && !arg->type.is_image && !arg->type.is_mask && arg->name.text)
        tessi_diag_help(c->d, d, "an image is declared 'vector#%d %s %s'", o->image->n_dims,
                        arg->type.name.text, arg->name.text);
    return false;
}

/* The element types agree, or numbers convert; structs need the same struct. */
static bool element_agrees(Checker *c, const AstFunction *f, uint32_t i, const Operand *o)
{
    const AstType *type = &f->args.at[i].type;
    if (tessi_check_is_any(type))
        return true;
    TType declared = tessi_check_type(c, type);
    if (tessi_tt_is_error(declared))
        return false;
    TType given = o->image->type;
    if (declared.kind == given.kind
        && (given.kind == TT_SCALAR || given.st->origin == declared.st->origin))
        return true;
    Diag *d = CHECK_DIAG(c, DIAG_ARG_KIND, o->span, f->args.at[i].name.text, f->name.text,
                         arg_text(c, &f->args.at[i]), tessi_operand_text(c, *o));
    tessi_diag_note(c->d, d, f->args.at[i].name.span, "the argument is declared here");
    if (given.kind == TT_STRUCT && declared.kind == TT_SCALAR)
        tessi_diag_help(c->d, d,
                        "an argument 'vector#%d any %s' takes pixels of any type, field by field",
                        type->n_dims, f->args.at[i].name.text);
    return false;
}

/* One argument of a call, of the kind that the function declares. */
static bool check_argument(Checker *c, const AstFunction *f, uint32_t i, const AstArg *arg,
                           Operand *o)
{
    const AstFunctionArg *def = &f->args.at[i];
    *o = tessi_operand_error(arg->value ? arg->value->span : f->span);
    if (!tessi_check_positional(c, f->name.text, arg))
        return false;
    if (!def->type.is_image)
        tessi_check_no_borders(c, &arg->borders, def->type.is_mask ? "a mask" : "a scalar");
    if (def->type.is_const && !def->type.is_image && !def->type.is_mask) {
        const char *what =
            tessi_sprintf(c->a, "argument '%s' of '%s'", def->name.text, f->name.text);
        *o = tessi_operand_scalar(tessi_check_const(c, arg->value, what), arg->value->span);
        return o->kind != OPERAND_ERROR;
    }
    *o = tessi_check_vector(c, arg->value);
    if (def->type.is_mask) {
        if (o->kind != OPERAND_MASK)
            return wrong_kind(c, f, i, o);
        return o->mask->n_dims == def->type.n_dims || wrong_kind(c, f, i, o);
    }
    bool is_image = o->kind == OPERAND_IMAGE && o->image->n_dims > 0;
    if (def->type.is_image) {
        if (!is_image || o->image->n_dims != def->type.n_dims)
            return wrong_kind(c, f, i, o);
        return element_agrees(c, f, i, o);
    }
    if (is_image || o->kind == OPERAND_MASK || o->kind == OPERAND_ERROR)
        return wrong_kind(c, f, i, o);
    *o = tessi_operand_scalar(tessi_check_operand_expr(c, *o, o->span), o->span);
    return true;
}

static Operand *check_arguments(Checker *c, const AstExpr *e, const AstFunction *f)
{
    bool ok = true;
    if (e->args.n != f->args.n) {
        Diag *d = CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, f->name.text, (long long)f->args.n,
                             (long long)e->args.n);
        tessi_diag_note(c->d, d, f->name.span, "'%s' is defined here", f->name.text);
        ok = false;
    }
    Operand *operands = ARENA_NEW_ARRAY(c->a, Operand, f->args.n + 1);
    for (uint32_t i = 0; i < f->args.n && i < e->args.n; i++)
        ok &= check_argument(c, f, i, &e->args.at[i], &operands[i]);
    for (uint32_t i = f->args.n; i < e->args.n; i++)
        (void)tessi_check_vector(c, e->args.at[i].value); /* names in it count as used */
    return ok ? operands : NULL;
}

/* ---- stencils ---------------------------------------------------------------------------------------------------- */
static bool check_rule(Checker *c, const TArg *arg, const TCallArg *call)
{
    if (!arg->any_absolute)
        return true;
    for (int d = 0; d < arg->n_dims; d++) {
        if (call->border.rule[d] == BORDER_NONE) {
            Diag *diag = CHECK_DIAG(c, DIAG_BORDER_NONE_INDEX, call->border.span, arg->name);
            tessi_diag_help(c->d, diag, "give the argument a rule, such as '%s:clamp'", arg->name);
            return false;
        }
    }
    return true;
}

/* The call of a stencil whose result gets its size from no image declares it, with so many dimensions. */
static bool may_declare(Checker *c, const TInstance *inst, uint32_t declared)
{
    if (!declared) {
        tessi_check_no_size(c, inst, inst->span);
        return false;
    }
    if (!inst->uses_index || inst->max_index < declared)
        return true;
    CHECK_DIAG(c, DIAG_NO_DIMENSION, inst->index_span, (long long)inst->max_index,
               (long long)declared - 1);
    return false;
}

static Operand stencil_call(Checker *c, const AstExpr *e, const AstFunction *f)
{
    const uint32_t declared = c->at.declared_dims;
    c->at.declared_dims = 0;
    VEC_PUSH(c->a, &c->called, f);
    Operand *operands = check_arguments(c, e, f);
    bool may = operands && tessi_check_is_defined(c, e, f);
    TInstance *inst = may ? tessi_check_instance(c, f, operands, e->span) : NULL;
    if (!inst || (inst->sizeless && !may_declare(c, inst, declared)))
        return tessi_operand_error(e->span);
    const uint32_t n_dims = inst->sizeless ? declared : inst->n_dims;
    TValue *v = tessi_value_new(c, TV_CALL, inst->result->type, n_dims, e->span);
    bool ok = true;
    v->inst = inst;
    for (uint32_t i = 0; i < f->args.n; i++) {
        const TArg *arg = &inst->args.at[i];
        TCallArg call = { .image = NULL };
        if (arg->kind == TARG_IMAGE) {
            call.image = operands[i].image;
            bool rules = tessi_check_borders(c, &e->args.at[i].borders, arg->n_dims,
                                             operands[i].span, &call.border)
                         && tessi_check_border_value(c, &call.border, call.image->type);
            ok = ok && rules && check_rule(c, arg, &call);
        } else if (arg->kind == TARG_SCALAR) {
            call.scalar = tessi_check_convert(c, operands[i].scalar, arg->type);
        }
        VEC_PUSH(c->a, &v->args, call);
    }
    Operand o = tessi_operand_image(v, e->span);
    o.direct = true;
    return ok ? o : tessi_operand_error(e->span);
}

/* ---- vector functions -------------------------------------------------------------------------------------------- */
/* A pointwise conversion, or copy. */
TValue *tessi_check_converted(Checker *c, TValue *image, TType to, TExpr *const *sizes, Span span)
{
    if (tessi_tt_same(image->type, to) && !sizes)
        return image;
    Context saved = c->at;
    TCallArgs operands = { 0 };
    TInstance *inst = tessi_instance_new(c, NULL, span);
    c->at.inst = inst;
    c->at.operands = &operands;
    c->at.window = NULL;
    TExpr *read = tessi_check_operand_expr(c, tessi_operand_image(image, span), span);
    c->at = saved;
    inst->result = tessi_check_convert(c, read, to);
    (void)tessi_instance_finish(c, inst, span);
    VEC_PUSH(c->a, &c->t->instances, inst);
    inst->number = c->t->instances.n;
    TValue *v = tessi_value_new(c, TV_CALL, to, image->n_dims, span);
    v->inst = inst;
    VEC_APPEND(c->a, &v->args, &operands);
    for (uint32_t d = 0; sizes && d < image->n_dims; d++)
        v->declared[d] = sizes[d];
    return v;
}

/* An image in another element type. */
static TValue *converted_image(Checker *c, TValue *image, TType to, Span span)
{
    return tessi_check_converted(c, image, to, NULL, span);
}

static void bind_arguments(Checker *c, const AstFunction *f, const Operand *operands)
{
    for (uint32_t i = 0; i < f->args.n; i++) {
        const AstFunctionArg *def = &f->args.at[i];
        bool any = tessi_check_is_any(&def->type);
        TType declared = any ? tessi_tt_kind(TT_ERROR) : tessi_check_type(c, &def->type);
        Operand o = operands[i];
        if (!any && o.kind == OPERAND_SCALAR)
            o = tessi_operand_scalar(tessi_check_convert(c, o.scalar, declared), o.span);
        if (!any && o.kind == OPERAND_IMAGE && !tessi_tt_is_error(declared))
            o.image = converted_image(c, o.image, declared, o.span);
        if (!any && o.kind == OPERAND_MASK)
            o.mask = tessi_check_mask_as(c, o.mask, declared);
        Sym *sym = tessi_scope_add(c, def->name, SYM_OPERAND);
        if (sym)
            sym->operand = o;
    }
}

/* A rule given to an argument of a vector function is in force inside it. */
static bool rule_for_body(Checker *c, const AstExpr *e, const AstFunction *f, BorderInForce *rule)
{
    const AstBorders *given = NULL;
    *rule = c->at.border;
    for (uint32_t i = 0; i < f->args.n && i < e->args.n; i++) {
        const AstBorders *b = &e->args.at[i].borders;
        if (!tessi_borders_are_written(b))
            continue;
        if (c->forma) {
            CHECK_DIAG(c, DIAG_BORDER_MISPLACED, b->at[0].span, "a vector function");
            return false;
        }
        BorderInForce r;
        if (!tessi_check_border_in_force(c, b, &r))
            return false;
        bool same = given != NULL && r.missing.policy == rule->missing.policy
                    && r.missing.distance == rule->missing.distance;
        for (uint32_t d = 0; same && d < r.n; d++)
            same = r.n == rule->n && r.rule[d] == rule->rule[d] && !r.outside == !rule->outside
                   && !r.each[d] == !rule->each[d] && r.invalid[d] == rule->invalid[d];
        if (given && !same) {
            CHECK_DIAG(c, DIAG_BORDER_CONFLICT, tessi_borders_span(b), f->name.text);
            return false;
        }
        given = b;
        *rule = r;
    }
    return true;
}

bool tessi_check_may_call(Checker *c, const AstExpr *e, const AstFunction *f)
{
    if (!tessi_check_is_defined(c, e, f))
        return false;
    for (const CallFrame *frame = c->frame; frame; frame = frame->outer) {
        if (frame->function == f) {
            CHECK_DIAG(c, DIAG_RECURSION, e->span, f->name.text);
            return false;
        }
    }
    if (c->call_depth >= CHECK_MAX_CALLS)
        tessi_check_limit(c, e->span, "functions calling each other", CHECK_MAX_CALLS);
    if (++c->call_count > CHECK_MAX_CALL_COUNT)
        tessi_check_limit(c, e->span, "calls in the program", CHECK_MAX_CALL_COUNT);
    return !c->over_limit;
}

void tessi_check_vector_body(Checker *c, const AstFunction *f, const Operand *operands, Span call,
                             BorderInForce rule, Operands *out)
{
    Operands results = { 0 };
    Context saved = c->at;
    Scope *scope = tessi_scope_new(c, c->globals);
    CallFrame frame = { c->frame, f, call };
    c->at = (Context){ .scope = scope, .body = scope, .border = rule };
    c->frame = &frame;
    c->call_depth++;
    bind_arguments(c, f, operands);
    tessi_check_statements(c, &f->body);
    VEC_FOREACH (AstExpr *const, r, &f->result) {
        tessi_check_results_of(c, *r, &results);
    }
    tessi_check_warn_unused(c, scope);
    c->call_depth--;
    c->frame = frame.outer;
    c->at = saved;
    VEC_APPEND(c->a, out, &results);
}

/* Calls a vector function; results go to `out` (an error gives one error operand). */
static void call_vector(Checker *c, const AstExpr *e, const AstFunction *f, Operands *out)
{
    BorderInForce rule;
    Operand error = tessi_operand_error(e->span);
    c->at.declared_dims = 0;
    VEC_PUSH(c->a, &c->called, f);
    Operand *operands = check_arguments(c, e, f);
    if (!rule_for_body(c, e, f, &rule) || !operands || !tessi_check_may_call(c, e, f))
        VEC_PUSH(c->a, out, error);
    else
        tessi_check_vector_body(c, f, operands, e->span, rule, out);
}

void tessi_check_results_of(Checker *c, const AstExpr *e, Operands *out)
{
    const AstFunction *f = e->kind == AST_CALL ? tessi_check_function_named(c, e->name) : NULL;
    if (f && !f->is_stencil && !f->is_scalar) {
        call_vector(c, e, f, out);
    } else {
        Operand o = tessi_check_vector(c, e);
        VEC_PUSH(c->a, out, o);
    }
}

/* ---- any call -------------------------------------------------------------------------------- */
Operand tessi_check_call(Checker *c, const AstExpr *e)
{
    const AstFunction *f = tessi_check_function_named(c, e->name);
    Operands results = { 0 };
    if (f && f->is_stencil)
        return stencil_call(c, e, f);
    if (f && f->is_scalar)
        return tessi_check_expression_on_images(c, e);
    if (!f && tessi_is_reduction(e->name.text))
        return c->forma ? tessi_operand_scalar(tessi_check_no_such_function(c, e), e->span)
                        : tessi_check_whole(c, e);
    if (!f && tessi_is_builtin(e->name.text))
        return tessi_check_expression_on_images(c, e);
    if (!f) {
        tessi_check_unknown_function(c, e->name);
        return tessi_operand_error(e->span);
    }
    call_vector(c, e, f, &results);
    if (results.n == 1)
        return results.at[0];
    Diag *d = CHECK_DIAG(c, DIAG_RESULT_COUNT, e->span, f->name.text, (long long)results.n);
    tessi_diag_note(c->d, d, f->result_span, "they are returned here");
    return tessi_operand_error(e->span);
}
