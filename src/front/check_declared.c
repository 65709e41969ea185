/* front/check_declared: results of declared type and size, `vector#2 float out[M, N] = value;`. The size is what is
 * declared: beyond the images that are read the border rules answer, a composition is cut or filled with 0, and a value
 * that has no size of its own is there at each point. */
#include "front/check.h"

static bool check_sizes(Checker *c, const AstStmt *s, TExpr **sizes)
{
    bool ok = true;
    if (s->sizes.n != s->type.n_dims) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, s->name.span, s->name.text, (long long)s->type.n_dims,
                   "sizes", (long long)s->sizes.n);
        return false;
    }
    for (uint32_t d = 0; d < s->sizes.n; d++) {
        sizes[d] = tessi_check_size(c, s->sizes.at[d]);
        ok &= !tessi_tt_is_error(sizes[d]->type);
    }
    return ok;
}

/* One value at each point. */
static TValue *filled(Checker *c, TExpr *value, uint32_t n_dims, Span span)
{
    TInstance *inst = tessi_instance_new(c, NULL, span);
    inst->result = tessi_check_concrete(c, value);
    inst->n_dims = (uint8_t)n_dims;
    inst->sizeless = true;
    VEC_PUSH(c->a, &c->t->instances, inst);
    inst->number = c->t->instances.n;
    TValue *v = tessi_value_new(c, TV_CALL, inst->result->type, n_dims, span);
    v->inst = inst;
    return v;
}

static bool shrinks(const TValue *v)
{
    bool none = false;
    for (uint32_t i = 0; v->kind == TV_CALL && i < v->args.n; i++)
        for (uint32_t d = 0; v->args.at[i].image && d < v->args.at[i].image->n_dims; d++)
            none |= v->args.at[i].border.rule[d] == BORDER_NONE;
    return none;
}

/* A call that a composition places by steps has as many points as fit: (size - offset) / step, rounded up. */
static void declare_part(Checker *c, TPart *part, TExpr *const *sizes, uint32_t n)
{
    if (!part->scaled || !part->direct || shrinks(part->image))
        return;
    for (uint32_t d = 0; d < n; d++) {
        const Span span = part->span;
        const int64_t up = (int64_t)part->step[d] - 1 - part->offset[d];
        TExpr *room = tessi_check_binary(c, span, AST_OP_ADD, sizes[d], tessi_te_int(c, up, span));
        TExpr *points =
            tessi_check_binary(c, span, AST_OP_DIV, room, tessi_te_int(c, part->step[d], span));
        TExpr *args[2] = { points, tessi_te_int(c, 1, span) };
        part->image->declared[d] = tessi_check_apply(c, span, RULE_KEEP, OP_MAX, args, 2);
    }
}

static TValue *with_sizes(Checker *c, const AstStmt *s, Operand o, TType type, TExpr *const *sizes)
{
    TValue *v = o.image;
    const bool composed = s->value->kind == AST_COMPOSE;
    if (!composed && !(o.direct && v->kind == TV_CALL))
        return tessi_check_converted(c, v, type, sizes, o.span);
    if (shrinks(v)) {
        CHECK_DIAG(c, DIAG_DECLARED_NONE, s->value->span, s->name.text);
        return NULL;
    }
    for (uint32_t d = 0; d < v->n_dims; d++)
        v->declared[d] = sizes[d];
    VEC_FOREACH (TPart, part, &v->parts) {
        if (composed)
            declare_part(c, part, sizes, v->n_dims);
    }
    return tessi_check_converted(c, v, type, NULL, o.span);
}

Operand tessi_check_declared(Checker *c, const AstStmt *s)
{
    TExpr *sizes[MAX_DIMS];
    const bool any = tessi_check_is_any(&s->type);
    TType type = any ? tessi_tt_kind(TT_ERROR) : tessi_check_type(c, &s->type);
    bool ok = check_sizes(c, s, sizes);
    c->at.declared_dims = s->type.n_dims;
    Operand o = tessi_check_vector(c, s->value);
    c->at.declared_dims = 0;
    if (!ok || (!any && tessi_tt_is_error(type)) || o.kind == OPERAND_ERROR)
        return tessi_operand_error(s->span);
    if (o.kind == OPERAND_MASK) {
        CHECK_DIAG(c, DIAG_NOT_A_VALUE, s->value->span, o.mask->name, "a mask");
        return tessi_operand_error(s->span);
    }
    if (o.kind == OPERAND_SCALAR || o.image->n_dims == 0) {
        TExpr *value = tessi_check_operand_expr(c, o, s->value->span);
        if (!any)
            value = tessi_check_convert(c, value, type);
        if (tessi_tt_is_error(value->type))
            return tessi_operand_error(s->span);
        o = tessi_operand_image(filled(c, value, s->type.n_dims, s->value->span), s->value->span);
        o.direct = true;
    }
    if (o.image->n_dims != s->type.n_dims) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, s->value->span, s->name.text, (long long)s->type.n_dims,
                   "dimensions of its value", (long long)o.image->n_dims);
        return tessi_operand_error(s->span);
    }
    if (!any
        && (type.kind != o.image->type.kind
            || (type.kind == TT_STRUCT && type.st->origin != o.image->type.st->origin))) {
        CHECK_DIAG(c, DIAG_NO_CONVERSION, s->value->span, tessi_tt_name(c, o.image->type),
                   tessi_tt_name(c, type));
        return tessi_operand_error(s->span);
    }
    TValue *v = with_sizes(c, s, o, any ? o.image->type : type, sizes);
    return v ? tessi_operand_image(v, s->span) : tessi_operand_error(s->span);
}
