/* front/check_vector: expressions on whole images, in statements: names, families, parts of images, calls;
 * everything else is an expression evaluated point by point, which becomes a stencil without a name. */
#include "front/check.h"

Operand tessi_operand_error(Span span)
{
    return (Operand){ .kind = OPERAND_ERROR, .span = span };
}

Operand tessi_operand_image(TValue *v, Span span)
{
    return (Operand){ .kind = OPERAND_IMAGE, .span = span, .image = v };
}

Operand tessi_operand_scalar(TExpr *e, Span span)
{
    if (tessi_tt_is_error(e->type))
        return tessi_operand_error(span);
    return (Operand){ .kind = OPERAND_SCALAR, .span = span, .scalar = e };
}

const char *tessi_operand_text(const Checker *c, Operand o)
{
    switch (o.kind) {
    case OPERAND_IMAGE:
        if (o.image->n_dims == 0)
            return tessi_sprintf(c->a, "a scalar of type %s", tessi_tt_name(c, o.image->type));
        return tessi_sprintf(c->a, "a %d-dimensional image of %s", o.image->n_dims,
                             tessi_tt_name(c, o.image->type));
    case OPERAND_SCALAR:
        return tessi_sprintf(c->a, "a scalar of type %s", tessi_tt_name(c, o.scalar->type));
    case OPERAND_MASK: return tessi_sprintf(c->a, "a %d-dimensional mask", o.mask->n_dims);
    default: return "an error";
    }
}

TValue *tessi_value_new(Checker *c, TValueKind kind, TType type, uint32_t n_dims, Span span)
{
    TValue *v = ARENA_NEW(c->a, TValue);
    v->kind = kind;
    v->type = type;
    v->n_dims = (uint8_t)n_dims;
    v->span = span;
    v->loop = c->loop;
    v->turn = c->turn;
    v->id = c->t->values.n;
    if (c->t->values.n >= CHECK_MAX_VALUES)
        tessi_check_limit(c, span, "images and scalars in the program", CHECK_MAX_VALUES);
    VEC_PUSH(c->a, &c->t->values, v);
    return v;
}

/* ---- expressions evaluated at each point ----------------------------------------------------------------------- */
static bool same_border(const TBorder *a, const TBorder *b, uint32_t n_dims)
{
    bool same = a->written == b->written && a->outside == b->outside
                && a->missing.policy == b->missing.policy
                && a->missing.distance == b->missing.distance;
    for (uint32_t d = 0; d < n_dims; d++)
        same &=
            a->rule[d] == b->rule[d] && a->each[d] == b->each[d] && a->invalid[d] == b->invalid[d];
    return same;
}

uint32_t tessi_check_image_slot(Checker *c, Operand o, Span span, const int32_t *scale,
                                const TBorder *border)
{
    static const int32_t ONE[MAX_DIMS] = { 1, 1, 1, 1 };
    static const AstBorders NOTHING_WRITTEN = { 0 };
    TInstance *inst = c->at.inst;
    TBorder in_force;
    if (!scale)
        scale = ONE;
    if (!border) {
        if (!tessi_check_borders(c, &NOTHING_WRITTEN, o.image->n_dims, span, &in_force)
            || !tessi_check_border_value(c, &in_force, o.image->type))
            in_force.outside = NULL;
        border = &in_force;
    }
    for (uint32_t i = 0; i < inst->args.n; i++) {
        const TArg *arg = &inst->args.at[i];
        bool same = c->at.operands->at[i].image == o.image
                    && same_border(&c->at.operands->at[i].border, border, o.image->n_dims);
        for (int d = 0; same && d < arg->n_dims; d++)
            same = arg->scale[d] == scale[d];
        if (same)
            return i;
    }
    TArg arg = { .name = o.image->name ? o.image->name : "image",
                 .span = span,
                 .kind = TARG_IMAGE,
                 .type = o.image->type,
                 .n_dims = o.image->n_dims,
                 .scaled = true };
    for (int d = 0; d < arg.n_dims; d++)
        arg.scale[d] = scale[d];
    VEC_PUSH(c->a, &inst->args, arg);
    TCallArg operand = { .image = o.image, .border = *border };
    VEC_PUSH(c->a, c->at.operands, operand);
    return inst->args.n - 1;
}

void tessi_points_begin(Checker *c, Points *p, Span span)
{
    *p = (Points){ .saved = c->at };
    c->at.inst = tessi_instance_new(c, NULL, span);
    c->at.operands = &p->operands;
    c->at.window = NULL;
    c->at.declared_dims = 0;
}

Operand tessi_points_end(Checker *c, Points *p, TExpr *result, Span span)
{
    TInstance *inst = c->at.inst;
    c->at = p->saved;
    if (tessi_tt_is_error(result->type))
        return tessi_operand_error(span);
    if (p->operands.n == 0 && !inst->uses_index)
        return tessi_operand_scalar(result, span);
    if (!tessi_instance_finish(c, inst, span))
        return tessi_operand_error(span);
    inst->result = tessi_check_concrete(c, result);
    VEC_PUSH(c->a, &c->t->instances, inst);
    inst->number = c->t->instances.n;
    TValue *v = tessi_value_new(c, TV_CALL, inst->result->type, inst->n_dims, span);
    v->inst = inst;
    VEC_APPEND(c->a, &v->args, &p->operands);
    Operand o = tessi_operand_image(v, span);
    o.direct = true;
    return o;
}

Operand tessi_check_expression_on_images(Checker *c, const AstExpr *e)
{
    Points p;
    tessi_points_begin(c, &p, e->span);
    TExpr *result = tessi_check_expr(c, e);
    return tessi_points_end(c, &p, result, e->span);
}

/* ---- names ----------------------------------------------------------------------------------- */
static Operand name_operand(Checker *c, const AstExpr *e)
{
    Sym *sym = tessi_scope_find(c->at.scope, e->name.text);
    if (sym && sym->kind == SYM_OPERAND && !sym->slot) {
        Operand o = sym->operand;
        sym->used = true;
        if (tessi_turn_as_value(c, sym, e->span))
            return tessi_operand_error(e->span);
        o.span = e->span;
        o.direct = false;
        return o;
    }
    return tessi_operand_scalar(tessi_check_expr(c, e), e->span); /* also says what is wrong */
}

static Operand member_operand(Checker *c, const AstExpr *e)
{
    uint32_t k;
    Operand o = tessi_check_vector(c, e->arg.at[0]);
    if (o.kind == OPERAND_ERROR)
        return o;
    if (o.kind != OPERAND_IMAGE)
        return tessi_operand_scalar(
            tessi_check_field(c, tessi_check_operand_expr(c, o, e->span), e->name, e->span),
            e->span);
    if (!tessi_check_field_number(c, o.image->type, e->name, &k))
        return tessi_operand_error(e->span);
    TValue *v =
        tessi_value_new(c, TV_FIELD, tessi_tt_field(o.image->type, k), o.image->n_dims, e->span);
    v->base = o.image;
    v->number = k;
    Operand r = tessi_operand_image(v, e->span);
    r.direct = o.direct;
    return r;
}

static Operand part_operand(Checker *c, const AstExpr *e)
{
    if (e->kind == AST_INDEX && tessi_check_is_mask_expr(c, e->arg.at[0]))
        return tessi_check_expression_on_images(c, e);
    Operand o = tessi_check_vector(c, e->arg.at[0]);
    return o.kind == OPERAND_ERROR ? o : tessi_check_subdomain(c, e, o);
}

static Operand vector_kind(Checker *c, const AstExpr *e)
{
    if (e->kind == AST_CALL && tessi_check_is_mask_expr(c, e)) {
        const TMask *m = tessi_check_mask_expr(c, e);
        if (!m)
            return tessi_operand_error(e->span);
        return (Operand){ .kind = OPERAND_MASK, .span = e->span, .mask = m };
    }
    if (e->kind == AST_MEMBER || e->kind == AST_INDEX || e->kind == AST_SUBDOMAIN
        || e->kind == AST_COMPOSE)
        c->at.declared_dims = 0;
    switch (e->kind) {
    case AST_NAME: return name_operand(c, e);
    case AST_FAMILY: return tessi_check_member(c, e);
    case AST_MEMBER: return member_operand(c, e);
    case AST_INDEX:
    case AST_SUBDOMAIN: return part_operand(c, e);
    case AST_COMPOSE: return tessi_check_compose(c, &e->parts, e->span);
    case AST_VALID: return tessi_check_with_validity(c, e);
    case AST_CALL: return tessi_check_call(c, e);
    default: return tessi_check_expression_on_images(c, e);
    }
}

Operand tessi_check_vector(Checker *c, const AstExpr *e)
{
    if (!e || c->over_limit || tessi_diags_full(c->d))
        return tessi_operand_error(e ? e->span : (Span){ 0 });
    if (c->expr_depth >= CHECK_MAX_DEPTH) {
        tessi_check_limit(c, e->span, "levels of nesting in an expression", CHECK_MAX_DEPTH);
        return tessi_operand_error(e->span);
    }
    c->expr_depth++;
    Operand o = vector_kind(c, e);
    c->expr_depth--;
    return o;
}
