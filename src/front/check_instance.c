/* front/check_instance: stencil functions instantiated for the types, constants and masks they are called with. The
 * same call twice gives the same instance; border rules are no part of it. */
#include "front/check.h"

TInstance *tessi_instance_new(Checker *c, const AstFunction *def, Span span)
{
    TInstance *inst = ARENA_NEW(c->a, TInstance);
    inst->name = def && def->name.text ? def->name.text : "";
    inst->def = def;
    inst->span = span;
    return inst;
}

/* "vector#2 float name[size(photo, 0), size(photo, 1)] = ..;", of the size of the first input. */
static const char *declared_shown(const Checker *c)
{
    const TInput *like = NULL;
    VEC_FOREACH (const TInput, input, &c->t->inputs)
        if (!input->is_mask && !like)
            like = input;
    if (!like)
        return "vector#2 float name[480, 640] = ..;";
    Text text = tessi_text_new(c->a);
    tessi_text_addf(&text, "vector#%d float name[", like->n_dims);
    for (int d = 0; d < like->n_dims; d++)
        tessi_text_addf(&text, "%ssize(%s, %d)", d ? ", " : "", like->name, d);
    tessi_text_add(&text, "] = ..;");
    return tessi_text_str(&text);
}

/* What a diagnostic calls a stencil, or an expression on images. */
static const char *instance_shown(const Checker *c, const TInstance *inst)
{
    return inst->def ? tessi_sprintf(c->a, "'%s'", inst->name) : "this expression";
}

bool tessi_check_no_size(Checker *c, const TInstance *inst, Span call)
{
    Diag *d = CHECK_DIAG(c, DIAG_NO_SIZE, call, instance_shown(c, inst));
    const char *indexed = NULL;
    VEC_FOREACH (TArg, arg, &inst->args)
        if (arg->kind == TARG_IMAGE && arg->any_read && !arg->any_offset && !indexed)
            indexed = arg->name;
    if (indexed && !c->forma)
        tessi_diag_help(
            c->d, d,
            "'%s[..]' counts from the first pixel, '%s@[..]' from the point that is computed",
            indexed, indexed);
    tessi_diag_help(c->d, d,
                    "give it an image argument of the size of the result; it need not be read");
    if (!c->forma)
        tessi_diag_help(c->d, d, "or declare the size: '%s'", declared_shown(c));
    return true;
}

bool tessi_instance_finish(Checker *c, TInstance *inst, Span call)
{
    const TArg *first = NULL, *indexed = NULL;
    VEC_FOREACH (TArg, arg, &inst->args) {
        if (arg->kind != TARG_IMAGE)
            continue;
        for (int d = 0; d < MAX_DIMS; d++)
            arg->scale[d] = arg->scaled && d < arg->n_dims ? arg->scale[d] : 1;
        arg->relative = arg->any_offset || !arg->any_read;
        const TArg *other = first      ? first
                            : c->forma ? indexed
                                       : NULL; /* there no image may differ */
        if (other && (arg->relative || c->forma) && other->n_dims != arg->n_dims) {
            Diag *d =
                CHECK_DIAG(c, DIAG_MIXED_DIMENSIONS, call, instance_shown(c, inst), other->name,
                           (long long)other->n_dims, arg->name, (long long)arg->n_dims);
            if (!c->forma)
                tessi_diag_help(c->d, d,
                                "a small image that is read by index, X[i, ..], may differ");
            return false;
        }
        *(arg->relative ? &first : &indexed) = arg;
    }
    inst->sizeless = !first;
    if (!first && !inst->def && !c->at.declared_dims) {
        tessi_check_no_size(c, inst, call);
        return false;
    }
    inst->n_dims = first ? first->n_dims : (uint8_t)c->at.declared_dims;
    if (!inst->n_dims)
        return true; /* each call declares its own */
    if (!inst->uses_index || inst->max_index < inst->n_dims)
        return true;
    CHECK_DIAG(c, DIAG_NO_DIMENSION, inst->index_span, (long long)inst->max_index,
               (long long)inst->n_dims - 1);
    return false;
}

static bool same_mask(const TMask *a, const TMask *b)
{
    if (a == b)
        return true;
    if (a->n_dims != b->n_dims || a->n != b->n || !tessi_tt_same(a->type, b->type)
        || a->input != b->input || a->flipped != b->flipped || !a->at != !b->at
        || !a->given != !b->given || (a->given && !same_mask(a->given, b->given)))
        return false;
    for (int d = 0; d < a->n_dims; d++) {
        if (a->lo[d] != b->lo[d] || a->hi[d] != b->hi[d])
            return false;
    }
    ScalarType t = a->type.kind == TT_UNTYPED_INT    ? TYPE_I64
                   : a->type.kind == TT_UNTYPED_REAL ? TYPE_F64
                                                     : a->type.scalar;
    for (uint32_t i = 0; a->at && i < a->n; i++) {
        if (!tessi_value_same(t, a->at[i], b->at[i]))
            return false;
    }
    return true;
}

/* How the instance sees argument `i`. */
static bool make_arg(Checker *c, const AstFunction *f, uint32_t i, Operand o, TArg *arg)
{
    const AstFunctionArg *def = &f->args.at[i];
    bool any = tessi_check_is_any(&def->type);
    TType declared = any ? tessi_tt_kind(TT_ERROR) : tessi_check_type(c, &def->type);
    *arg = (TArg){ .name = def->name.text, .span = def->name.span };
    if (!any && tessi_tt_is_error(declared))
        return false;
    if (def->type.is_mask) {
        arg->kind = TARG_MASK;
        arg->mask = any ? o.mask : tessi_check_mask_as(c, o.mask, declared);
        arg->type = arg->mask->type;
        return true;
    }
    if (def->type.is_image) {
        arg->kind = TARG_IMAGE;
        arg->type = any ? o.image->type : declared;
        arg->n_dims = def->type.n_dims;
        return true;
    }
    if (o.kind != OPERAND_SCALAR)
        o.scalar = tessi_check_operand_expr(c, o, o.span);
    TExpr *value =
        any ? tessi_check_concrete(c, o.scalar) : tessi_check_convert(c, o.scalar, declared);
    arg->type = value->type;
    arg->kind = def->type.is_const ? TARG_CONST : TARG_SCALAR;
    arg->value = def->type.is_const ? value : NULL;
    return !tessi_tt_is_error(value->type);
}

static bool same_arg(const TArg *a, const TArg *b)
{
    if (a->kind != b->kind || !tessi_tt_same(a->type, b->type))
        return false;
    if (a->kind == TARG_MASK)
        return same_mask(a->mask, b->mask);
    return a->kind != TARG_CONST
           || tessi_value_same(a->type.scalar, a->value->value, b->value->value);
}

static TInstance *find_instance(Checker *c, const AstFunction *f, const TArg *args)
{
    VEC_FOREACH (TInstance *const, it, &c->t->instances) {
        bool same = (*it)->def == f;
        for (uint32_t i = 0; same && i < f->args.n; i++)
            same = same_arg(&(*it)->args.at[i], &args[i]);
        if (same)
            return *it;
    }
    return NULL;
}

static void bind_args(Checker *c, TInstance *inst)
{
    for (uint32_t i = 0; i < inst->args.n; i++) {
        const TArg *arg = &inst->args.at[i];
        Name name = inst->def->args.at[i].name;
        bool known = arg->kind == TARG_CONST || arg->kind == TARG_MASK;
        Sym *sym = tessi_scope_add(c, name, known ? SYM_OPERAND : SYM_ARG);
        if (!sym)
            continue;
        sym->slot = known ? 0 : i;
        if (arg->kind == TARG_CONST)
            sym->operand = tessi_operand_scalar(arg->value, arg->span);
        if (arg->kind == TARG_MASK)
            sym->operand = (Operand){ .kind = OPERAND_MASK, .span = arg->span, .mask = arg->mask };
    }
}

static void bind_local(Checker *c, TInstance *inst, const AstStmt *s)
{
    if (s->is_const) {
        tessi_check_const_stmt(c, s);
        return;
    }
    if (s->family || s->ranges.n || s->offsets.n || s->more.n || s->sizes.n) {
        CHECK_DIAG(c, DIAG_IMAGE_FORM, s->span,
                   s->more.n    ? "a statement with several names"
                   : s->family  ? "a family"
                   : s->sizes.n ? "an image"
                                : "a placement");
        return;
    }
    TExpr *value = tessi_check_expr(c, s->value);
    if (s->has_type && !tessi_check_is_any(&s->type))
        value = tessi_check_convert(c, value, tessi_check_type(c, &s->type));
    else if (!value->is_static)
        value = tessi_check_concrete(c, value);
    Sym *sym = tessi_scope_add(c, s->name, SYM_LOCAL);
    if (!sym)
        return;
    sym->slot = inst->locals.n;
    TLocal local = { s->name.text, value };
    VEC_PUSH(c->a, &inst->locals, local);
}

static void check_body(Checker *c, TInstance *inst)
{
    const AstFunction *f = inst->def;
    Context saved = c->at;
    uint32_t errors = c->d->n_errors + c->d->n_dropped;
    c->at = (Context){ .scope = tessi_scope_new(c, c->globals), .inst = inst };
    bind_args(c, inst);
    VEC_FOREACH (AstStmt *const, s, &f->body) {
        if ((*s)->kind == AST_MASK)
            tessi_check_mask_stmt(c, *s);
        else if ((*s)->kind == AST_FOR)
            tessi_diag_help(c->d, CHECK_DIAG(c, DIAG_IMAGE_FORM, (*s)->span, "a loop"),
                            "over neighbours goes a window, sum(i = -1..1 : X@[0, i])");
        else
            bind_local(c, inst, *s);
    }
    inst->result = f->result.n ? tessi_check_expr(c, f->result.at[0]) : tessi_te_error(c, f->span);
    inst->result = tessi_check_concrete(c, inst->result);
    if (f->result.n && f->result.at[0]->kind != AST_STRUCT && c->forma
        && inst->result->type.kind == TT_STRUCT)
        CHECK_DIAG(c, DIAG_IMAGE_FORM, f->result_span, "a whole struct");
    c->at = saved;
    inst->failed =
        tessi_tt_is_error(inst->result->type) || c->d->n_errors + c->d->n_dropped != errors;
}

TInstance *tessi_check_instance(Checker *c, const AstFunction *f, const Operand *operands,
                                Span call)
{
    TArg *args = ARENA_NEW_ARRAY(c->a, TArg, f->args.n + 1);
    for (uint32_t i = 0; i < f->args.n; i++) {
        if (!make_arg(c, f, i, operands[i], &args[i]))
            return NULL;
    }
    TInstance *inst = find_instance(c, f, args);
    if (inst)
        return inst->failed ? NULL : inst;
    inst = tessi_instance_new(c, f, f->name.span);
    for (uint32_t i = 0; i < f->args.n; i++)
        VEC_PUSH(c->a, &inst->args, args[i]);
    inst->number = 1;
    VEC_FOREACH (TInstance *const, it, &c->t->instances) {
        inst->number += (*it)->def == f;
    }
    VEC_PUSH(c->a, &c->t->instances, inst);
    CallFrame frame = { c->frame, f, call };
    c->frame = &frame;
    check_body(c, inst);
    if (!inst->failed && !tessi_instance_finish(c, inst, f->name.span))
        inst->failed = true;
    c->frame = frame.outer;
    return inst->failed ? NULL : inst;
}
