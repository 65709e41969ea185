/* front/check_place: parts of images: subdomains, compositions and placements; and size expressions. */
#include "front/check.h"

/* ---- integer expressions over the size parameters -------------------------------------------- */
static bool is_const_int(const TExpr *e)
{
    return e->kind == TE_CONST && tessi_tt_is_integer(e->type);
}

/* NULL when the graph can carry the expression as a size, else the part that it cannot. */
static const TExpr *not_a_size(const Checker *c, const TExpr *e)
{
    if (!tessi_tt_is_integer(e->type))
        return e;
    switch (e->kind) {
    case TE_CONST:
    case TE_PARAM:
    case TE_SIZE: return NULL;
    case TE_CAST: return not_a_size(c, e->arg[0]);
    case TE_OP: break;
    default: return e;
    }
    if (e->op == OP_DIV && !(is_const_int(e->arg[1]) && e->arg[1]->value.i > 0))
        return e;
    if (e->op == OP_MUL && c->forma && !is_const_int(e->arg[0]) && !is_const_int(e->arg[1]))
        return e;
    bool known = e->op == OP_NEG || e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL
                 || e->op == OP_DIV || e->op == OP_MIN || e->op == OP_MAX;
    for (uint32_t i = 0; known && i < e->n_args; i++) {
        const TExpr *bad = not_a_size(c, e->arg[i]);
        if (bad)
            return bad;
    }
    return known ? NULL : e;
}

TExpr *tessi_check_size(Checker *c, const AstExpr *ast)
{
    Context saved = c->at;
    c->at.inst = NULL;
    c->at.operands = NULL;
    c->at.counts = c->at.sizes = true;
    TExpr *e = tessi_check_expr(c, ast);
    c->at = saved;
    if (tessi_tt_is_error(e->type))
        return e;
    const TExpr *bad = not_a_size(c, e);
    if (bad) {
        Diag *d = CHECK_DIAG(c, DIAG_NOT_A_SIZE, bad->span);
        if (bad->kind == TE_SCALAR)
            tessi_diag_help(c->d, d,
                            "numbers that inputs have as sizes are declared so: 'parameter %s;'",
                            c->t->scalars.at[bad->slot].name);
        else
            tessi_diag_help(c->d, d,
                            "sizes are made of integers, parameters and size(X, d) with + - *, "
                            "min, max, and / by a positive number");
        return tessi_te_error(c, ast->span);
    }
    return e;
}

/* ---- subdomains ------------------------------------------------------------------------------ */
static bool check_range(Checker *c, const AstRange *r, TExpr **lo, TExpr **hi)
{
    *lo = *hi = NULL;
    if (r->lo) {
        *lo = tessi_check_size(c, r->lo);
        if (tessi_tt_is_error((*lo)->type))
            return false;
    }
    if (r->hi) {
        *hi = tessi_check_size(c, r->hi);
        if (tessi_tt_is_error((*hi)->type))
            return false;
    }
    if (r->single)
        *hi = *lo;
    if (*lo && *hi && is_const_int(*lo) && is_const_int(*hi) && (*lo)->value.i > (*hi)->value.i) {
        CHECK_DIAG(c, DIAG_EMPTY_RANGE, r->span, (long long)(*lo)->value.i,
                   (long long)(*hi)->value.i);
        return false;
    }
    if (!c->forma && *hi && is_const_int(*hi) && (*hi)->value.i < 0) {
        Diag *d = CHECK_DIAG(c, DIAG_BEFORE_IMAGE, r->span, (long long)(*hi)->value.i);
        tessi_diag_help(c->d, d,
                        "a neighbour of each pixel is read by A@[..]; the last index is size(A, 0) "
                        "- 1");
        return false;
    }
    return true;
}

Operand tessi_check_subdomain(Checker *c, const AstExpr *e, Operand base)
{
    bool index = e->kind == AST_INDEX;
    uint32_t n = index ? e->arg.n - 1 : e->ranges.n;
    if (base.kind != OPERAND_IMAGE || base.image->n_dims == 0) {
        CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, e->arg.at[0]->span, "this", "cut");
        return tessi_operand_error(e->span);
    }
    if (n != base.image->n_dims) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, e->span, base.image->name ? base.image->name : "the image",
                   (long long)base.image->n_dims, "ranges", (long long)(n));
        return tessi_operand_error(e->span);
    }
    uint32_t dropped = 0;
    for (uint32_t d = 0; !index && d < n; d++)
        dropped += e->ranges.at[d].drops;
    TValue *v = tessi_value_new(c, TV_SUBDOMAIN, base.image->type, n - dropped, e->span);
    v->base = base.image;
    bool ok = true;
    for (uint32_t d = 0; d < n; d++) {
        AstRange single = { .lo = index ? e->arg.at[d + 1] : NULL, .single = true };
        if (index)
            single.span = single.lo->span;
        v->drops[d] = !index && e->ranges.at[d].drops;
        ok &= check_range(c, index ? &single : &e->ranges.at[d], &v->lo[d], &v->hi[d]);
    }
    return ok ? tessi_operand_image(v, e->span) : tessi_operand_error(e->span);
}

/* ---- compositions ---------------------------------------------------------------------------- */
static bool part_offsets(Checker *c, const AstPart *ast, TPart *part, uint32_t *n_dims)
{
    bool ok = true;
    if (!part->image) {
        CHECK_DIAG(c, DIAG_FILL_RANGES, part->span);
        return false;
    }
    if (ast->offsets.n != part->image->n_dims) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, ast->span, "the image", (long long)part->image->n_dims,
                   "offsets", (long long)(ast->offsets.n));
        return false;
    }
    part->scaled = true;
    *n_dims = ast->offsets.n;
    for (uint32_t d = 0; d < ast->offsets.n; d++) {
        const AstOffset *o = &ast->offsets.at[d];
        part->step[d] = 1;
        ok &= tessi_check_const_i32(c, o->displacement, "an offset", &part->offset[d]);
        if (o->scale && !tessi_check_const_i32(c, o->scale, "a scale", &part->step[d])) {
            ok = false;
        } else if (part->step[d] < 1) {
            CHECK_DIAG(c, DIAG_BAD_SCALE, o->scale->span, (long long)INT32_MAX,
                       (long long)part->step[d]);
            ok = false;
        }
    }
    return ok;
}

static bool part_ranges(Checker *c, const AstPart *ast, TPart *part, uint32_t *n_dims)
{
    uint32_t own = part->image ? part->image->n_dims : ast->ranges.n;
    if (ast->ranges.n < own || ast->ranges.n > MAX_DIMS) {
        CHECK_DIAG(c, DIAG_DIMENSIONS, ast->span, "the image", (long long)own, "ranges",
                   (long long)(ast->ranges.n));
        return false;
    }
    *n_dims = ast->ranges.n;
    part->n_leading = (uint8_t)(ast->ranges.n - own);
    for (uint32_t d = 0; d < ast->ranges.n; d++) {
        const AstRange *r = &ast->ranges.at[d];
        if (r->drops) {
            CHECK_DIAG(c, DIAG_PLACE_DROPS, r->span);
            return false;
        }
        if (!check_range(c, r, &part->lo[d], &part->hi[d]))
            return false;
        if (part->lo[d] && is_const_int(part->lo[d]) && part->lo[d]->value.i < 0) {
            CHECK_DIAG(c, DIAG_NEGATIVE_PLACE, part->lo[d]->span, (long long)part->lo[d]->value.i);
            return false;
        }
        if (part->image && r->hi && !r->single) {
            CHECK_DIAG(c, DIAG_PLACE_UPPER, r->hi->span);
            return false;
        }
        if (part->image)
            part->hi[d] = NULL;
        else if (!part->hi[d]) {
            CHECK_DIAG(c, DIAG_FILL_OPEN, r->span);
            return false;
        }
    }
    return true;
}

static bool check_part(Checker *c, const AstPart *ast, TPart *part, uint32_t *n_dims)
{
    *part = (TPart){ .span = ast->span };
    const bool number = ast->value->kind == AST_INT || ast->value->kind == AST_REAL;
    c->at.const_depth +=
        c->forma && number; /* untyped there, so that one that does not fit is found */
    Operand o = tessi_check_vector(c, ast->value);
    c->at.const_depth -= c->forma && number;
    if (o.kind == OPERAND_ERROR)
        return false;
    if (o.kind == OPERAND_IMAGE && o.image->n_dims > 0) {
        part->image = o.image;
        part->direct = o.direct && o.image->kind == TV_CALL;
        part->computed_only = c->forma && part->direct;
    } else if (o.kind == OPERAND_MASK) {
        CHECK_DIAG(c, DIAG_NOT_A_VALUE, o.span, o.mask->name, "a mask");
        return false;
    } else if (c->forma && !number) {
        CHECK_DIAG(c, DIAG_NOT_IN_FORMA, ast->value->span,
                   "a part filled with anything but a number");
        return false;
    } else {
        part->fill = tessi_check_operand_expr(c, o, ast->value->span);
        if (tessi_tt_is_error(part->fill->type))
            return false;
    }
    return ast->offsets.n ? part_offsets(c, ast, part, n_dims) : part_ranges(c, ast, part, n_dims);
}

/* In the original dialect a number that fills has the type of the image: 1, 1.0f and 1.0 are of integers, floats and
 * doubles. */
static bool is_number_of(const TExpr *fill, TType t)
{
    if (t.kind != TT_SCALAR || fill->type.kind == TT_UNTYPED_INT)
        return t.kind == TT_SCALAR && !tessi_is_real(t.scalar);
    return tessi_tt_same(fill->type, t);
}

/* All images of one type; fills take it. */
static bool common_part_type(Checker *c, TValue *v)
{
    const TPart *first = NULL;
    VEC_FOREACH (const TPart, p, &v->parts) {
        if (!p->image)
            continue;
        if (first && !tessi_tt_same(first->image->type, p->image->type)) {
            Diag *d = CHECK_DIAG(c, DIAG_PART_TYPE, p->span, tessi_tt_name(c, p->image->type),
                                 tessi_tt_name(c, first->image->type));
            tessi_diag_note(c->d, d, first->span, "the first part is here");
            tessi_diag_help(c->d, d, "convert one of them: cast<T>(..)");
            return false;
        }
        first = first ? first : p;
    }
    v->type = first ? first->image->type : tessi_check_concrete(c, v->parts.at[0].fill)->type;
    VEC_FOREACH (TPart, p, &v->parts) {
        if (!p->fill)
            continue;
        if (c->forma && !is_number_of(p->fill, v->type)) {
            CHECK_DIAG(c, DIAG_PART_TYPE, p->span,
                       tessi_tt_name(c, tessi_check_concrete(c, p->fill)->type),
                       tessi_tt_name(c, v->type));
            return false;
        }
        p->fill = tessi_check_convert(c, p->fill, v->type);
        if (tessi_tt_is_error(p->fill->type))
            return false;
    }
    return true;
}

Operand tessi_check_compose(Checker *c, const AstParts *parts, Span span)
{
    VEC(TPart) list = { 0 };
    uint32_t n_dims = 0;
    bool ok = true;
    for (uint32_t i = 0; i < parts->n; i++) {
        TPart part;
        uint32_t n = 0;
        if (!check_part(c, &parts->at[i], &part, &n)) {
            ok = false;
            continue;
        }
        if (n_dims && n != n_dims) {
            Diag *d =
                CHECK_DIAG(c, DIAG_PART_DIMENSIONS, part.span, (long long)n, (long long)n_dims);
            tessi_diag_note(c->d, d, list.at[0].span, "the first part is here");
            ok = false;
        }
        n_dims = n_dims ? n_dims : n;
        VEC_PUSH(c->a, &list, part);
    }
    if (!ok || list.n == 0)
        return tessi_operand_error(span);
    TValue *v = tessi_value_new(c, TV_COMPOSE, tessi_tt_kind(TT_ERROR), n_dims, span);
    VEC_APPEND(c->a, &v->parts, &list);
    return common_part_type(c, v) ? tessi_operand_image(v, span) : tessi_operand_error(span);
}
