/* front/check_read: reads of images: the current point, offsets, sampling, absolute indices. */
#include "front/check.h"

static const char *arg_name(const TArg *arg)
{
    return arg->name ? arg->name : "the image";
}

static bool note_scale(Checker *c, TArg *arg, const TRead *read, Span span)
{
    if (!arg->scaled) {
        for (int d = 0; d < arg->n_dims; d++)
            arg->scale[d] = read->scale[d];
        arg->scaled = true;
        arg->span = arg->span.file ? arg->span : span;
        return true;
    }
    for (int d = 0; d < arg->n_dims; d++) {
        if (arg->scale[d] != read->scale[d]) {
            CHECK_DIAG(c, DIAG_MIXED_SCALE, span, arg_name(arg), (long long)arg->scale[d],
                       (long long)read->scale[d], (long long)d);
            return false;
        }
    }
    return true;
}

TExpr *tessi_check_read_slot(Checker *c, uint32_t slot, Span span, TRead *read)
{
    TInstance *inst = c->at.inst;
    TArg *arg = &inst->args.at[slot];
    if (!read) {
        read = ARENA_NEW(c->a, TRead);
        for (int d = 0; d < arg->n_dims; d++) {
            read->scale[d] = 1;
            read->index[d] = tessi_te_int(c, 0, span);
        }
    }
    read->n_dims = arg->n_dims;
    read->window = c->at.window;
    arg->any_read = true;
    if (read->absolute)
        arg->any_absolute = true;
    else if (!note_scale(c, arg, read, span))
        return tessi_te_error(c, span);
    else
        arg->any_offset = true;
    if (c->forma && arg->any_absolute && arg->any_offset) {
        CHECK_DIAG(c, DIAG_MIXED_ABSOLUTE, span, arg_name(arg));
        return tessi_te_error(c, span);
    }
    TExpr *e = tessi_te_new(c, TE_READ, arg->type, span, 0);
    e->slot = slot;
    e->read = read;
    VEC_PUSH(c->a, &inst->reads, e);
    return e;
}

static void unroll_windows_of(const TExpr *e)
{
    if (e->kind == TE_WINVAR)
        e->window->must_unroll = true;
    for (uint32_t i = 0; i < e->n_args; i++)
        unroll_windows_of(e->arg[i]);
}

/* One displacement: an integer of constants and window variables. */
static TExpr *displacement(Checker *c, const AstExpr *ast)
{
    StaticAffine affine;
    Interval range;
    c->at.const_depth++;
    TExpr *e = tessi_check_expr(c, ast);
    c->at.const_depth--;
    if (tessi_tt_is_error(e->type))
        return NULL;
    if (!e->is_static) {
        Diag *d = CHECK_DIAG(c, DIAG_CONST_NEEDED, ast->span, "an offset");
        tessi_diag_help(c->d, d, "to read at an index computed from the data, write X[index, ..]");
        return NULL;
    }
    if (!tessi_tt_is_integer(e->type)) {
        CHECK_DIAG(c, DIAG_NEEDS_INTEGER, ast->span, "an offset", tessi_tt_name(c, e->type));
        return NULL;
    }
    if (tessi_static_range(e, &range) && (range.lo < -(1 << 30) || range.hi > (1 << 30))) {
        CHECK_DIAG(c, DIAG_LIMIT, ast->span, "pixels in an offset", (long long)(1 << 30));
        return NULL;
    }
    if (!tessi_static_affine(e, NULL, &affine))
        unroll_windows_of(e);
    return e;
}

static bool offset_list(Checker *c, const AstExpr *e, uint32_t n_dims, TRead *read)
{
    bool ok = true;
    for (uint32_t d = 0; d < n_dims; d++) {
        const AstOffset *o = &e->offsets.at[d];
        read->index[d] = displacement(c, o->displacement);
        ok &= read->index[d] != NULL;
        read->scale[d] = 1;
        if (o->scale && !tessi_check_const_i32(c, o->scale, "a scale", &read->scale[d])) {
            ok = false;
        } else if (read->scale[d] < 1) {
            CHECK_DIAG(c, DIAG_BAD_SCALE, o->scale->span, (long long)INT32_MAX,
                       (long long)read->scale[d]);
            ok = false;
        }
    }
    return ok;
}

static bool right_count(Checker *c, Span span, const char *name, uint32_t n_dims, uint32_t given,
                        const char *what)
{
    if (n_dims == given)
        return true;
    CHECK_DIAG(c, DIAG_DIMENSIONS, span, name, (long long)n_dims, what, (long long)(given));
    return false;
}

/* X, X.r, X.r.s: the image argument that is read, and the fields to take from what was read. */
static const AstExpr *image_name(const AstExpr *e)
{
    while (e->kind == AST_MEMBER)
        e = e->arg.at[0];
    return e;
}

static TExpr *fields_of(Checker *c, const AstExpr *e, TExpr *read)
{
    if (e->kind != AST_MEMBER)
        return read;
    return tessi_check_field(c, fields_of(c, e->arg.at[0], read), e->name, e->span);
}

/* The slot of the image argument that `e` names; false after a diagnostic. */
static bool image_slot(Checker *c, const AstExpr *e, const char *how, uint32_t *slot)
{
    if (e->kind == AST_NAME) {
        Sym *sym = tessi_scope_find(c->at.scope, e->name.text);
        if (!sym) {
            tessi_check_unknown_name(c, e->name);
            return false;
        }
        sym->used = true;
        if (sym->kind == SYM_ARG && c->at.inst->args.at[sym->slot].kind == TARG_IMAGE) {
            *slot = sym->slot;
            return true;
        }
        if (sym->kind == SYM_OPERAND && sym->operand.kind == OPERAND_ERROR)
            return false;
        Diag *d = CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, e->span,
                             tessi_sprintf(c->a, "'%s'", e->name.text), how);
        tessi_diag_note(c->d, d, sym->name.span, "'%s' is defined here", e->name.text);
        return false;
    }
    CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, e->span, "this", how);
    return false;
}

static TExpr *offset_on_images(Checker *c, const AstExpr *e)
{
    Operand o = tessi_check_vector(c, e->arg.at[0]);
    uint32_t slot;
    if (o.kind == OPERAND_ERROR)
        return tessi_te_error(c, e->span);
    if (o.kind != OPERAND_IMAGE || o.image->n_dims == 0) {
        CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, e->arg.at[0]->span, "this", "read at an offset");
        return tessi_te_error(c, e->span);
    }
    const char *name = o.image->name ? o.image->name : "the image";
    TRead *read = ARENA_NEW(c->a, TRead);
    if (!right_count(c, e->span, name, o.image->n_dims, e->offsets.n, "offsets")
        || !offset_list(c, e, o.image->n_dims, read))
        return tessi_te_error(c, e->span);
    slot = tessi_check_image_slot(c, o, e->span, read->scale, NULL);
    return tessi_check_read_slot(c, slot, e->span, read);
}

TExpr *tessi_check_offset(Checker *c, const AstExpr *e)
{
    const AstExpr *base = image_name(e->arg.at[0]);
    uint32_t slot;
    if (c->at.operands)
        return offset_on_images(c, e);
    if (!c->at.inst) {
        CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, base->span, "this", "read at an offset");
        return tessi_te_error(c, e->span);
    }
    if (!image_slot(c, base, "read at an offset", &slot))
        return tessi_te_error(c, e->span);
    const TArg arg = c->at.inst->args.at[slot];
    TRead *read = ARENA_NEW(c->a, TRead);
    if (!right_count(c, e->span, arg.name, arg.n_dims, e->offsets.n, "offsets")
        || !offset_list(c, e, arg.n_dims, read))
        return tessi_te_error(c, e->span);
    TExpr *r = tessi_check_read_slot(c, slot, e->span, read);
    return tessi_tt_is_error(r->type) ? r : fields_of(c, e->arg.at[0], r);
}

TExpr *tessi_check_index(Checker *c, const AstExpr *e)
{
    const AstExpr *base = image_name(e->arg.at[0]);
    uint32_t slot;
    if (tessi_check_is_mask_expr(c, e->arg.at[0])) {
        const TMask *m = tessi_check_mask_expr(c, e->arg.at[0]);
        return m ? tessi_check_mask_element(c, m, e) : tessi_te_error(c, e->span);
    }
    if (!c->at.inst) {
        CHECK_DIAG(c, DIAG_NOT_AN_IMAGE, base->span, "this", "indexed");
        return tessi_te_error(c, e->span);
    }
    if (!image_slot(c, base, "indexed", &slot))
        return tessi_te_error(c, e->span);
    const TArg arg = c->at.inst->args.at[slot];
    if (!right_count(c, e->span, arg.name, arg.n_dims, e->arg.n - 1, "indices"))
        return tessi_te_error(c, e->span);
    TRead *read = ARENA_NEW(c->a, TRead);
    read->absolute = true;
    bool ok = true;
    for (uint32_t d = 0; d < arg.n_dims; d++) {
        const bool counts = c->at.counts;
        c->at.counts = true;
        TExpr *i = tessi_check_expr(c, e->arg.at[d + 1]);
        c->at.counts = counts;
        if (!tessi_tt_is_error(i->type) && !tessi_tt_is_integer(i->type)) {
            Diag *diag =
                CHECK_DIAG(c, DIAG_NEEDS_INTEGER, i->span, "an index", tessi_tt_name(c, i->type));
            tessi_diag_help(c->d, diag, "convert it: cast<int>(..)");
            ok = false;
            continue;
        }
        read->index[d] = tessi_check_convert(c, i, tessi_tt_scalar(TYPE_I32));
        ok &= !tessi_tt_is_error(read->index[d]->type);
    }
    if (!ok)
        return tessi_te_error(c, e->span);
    TExpr *r = tessi_check_read_slot(c, slot, e->span, read);
    return tessi_tt_is_error(r->type) ? r : fields_of(c, e->arg.at[0], r);
}
