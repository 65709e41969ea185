/* front/lower_read: accesses: reads of image arguments at offsets and by index, and elements of run-time masks. */
#include "front/lower.h"

const LWindow *tessi_lower_find_window(const LBody *b, const TWindow *w)
{
    for (const LWindow *it = b->windows; it; it = it->outer) {
        if (it->typed == w)
            return it;
    }
    return NULL;
}

static bool affine_of(LBody *b, const TExpr *e, StaticAffine *out)
{
    return tessi_static_affine(e, b->point, out);
}

static Interval affine_range(const StaticAffine *a)
{
    Interval r = { a->constant, a->constant };
    for (uint32_t k = 0; k < a->n; k++) {
        Interval v = { a->term[k].window->lo[a->term[k].var],
                       a->term[k].window->hi[a->term[k].var] };
        Interval c = { a->term[k].coef, a->term[k].coef };
        r = tessi_interval_add(r, tessi_interval_mul(c, v));
    }
    return r;
}

/* Every index that the read can take lies in 0 .. n - 1. */
static bool always_inside(Lower *l, const LBody *b, uint32_t d, int64_t scale, Interval offset,
                          SizeId n)
{
    Graph *g = l->g;
    int64_t base;
    if (!tessi_mul_i64(scale, b->shift[d], &base) || base + offset.lo < 0)
        return false;
    SizeId last_point = tessi_size_sub(g, b->size[d], tessi_size_const(g, 1));
    SizeId last = tessi_size_add(g, tessi_size_scale(g, last_point, scale),
                                 tessi_size_const(g, base + offset.hi));
    return tessi_size_at_most(g, last, tessi_size_sub(g, n, tessi_size_const(g, 1)));
}

static ExprId outside_value(Lower *l, const TExpr *value, uint32_t channel)
{
    LBody vector_level = { .epoch = 1, .body_epoch = 1 };
    return tessi_lower_expr(l, &vector_level, value, channel);
}

static ExprId op(Lower *l, Op op, ExprId a, ExprId b)
{
    return tessi_expr_op(l->g, op, a, b, (ExprId){ 0 });
}

/* The index that an access takes in a dimension, before any rule. */
static ExprId coordinate(Lower *l, const AccessDim *dim)
{
    Graph *g = l->g;
    if (dim->absolute)
        return dim->index;
    ExprId at = tessi_expr_size(g, dim->add);
    if (dim->src >= 0)
        at = op(l, OP_ADD,
                op(l, OP_MUL, tessi_expr_index(g, (uint32_t)dim->src),
                   tessi_expr_int(g, TYPE_I32, dim->scale)),
                at);
    for (uint32_t k = 0; k < dim->n_terms; k++) {
        const AccessTerm *t = &dim->term[k];
        at = op(l, OP_ADD, at,
                op(l, OP_MUL, tessi_expr_winvar(g, t->window, t->var),
                   tessi_expr_int(g, TYPE_I32, t->coef)));
    }
    return at;
}

/* What a read gives outside of the image, by dimension; `differ`: not the same in all of them. */
typedef struct Outside {
    ExprId at[MAX_DIMS], of_all;
    bool differ;
} Outside;

/* With a constant for each dimension: outside in several, the first of them gives its own. */
static ExprId each_outside(Lower *l, const Access *a, const Outside *outside, ExprId read)
{
    Graph *g = l->g;
    for (uint32_t d = a->n_dims; d-- > 0;) {
        if (a->dim[d].rule != BORDER_CONSTANT)
            continue;
        ExprId at = coordinate(l, &a->dim[d]);
        ExprId n = tessi_expr_size(g, tessi_stage(g, a->producer)->size[d]);
        ExprId inside =
            op(l, OP_AND, op(l, OP_LE, tessi_expr_int(g, TYPE_I32, 0), at), op(l, OP_LT, at, n));
        read = tessi_expr_op(g, OP_SELECT, inside, read, outside->at[d]);
    }
    return read;
}

static void constants_outside(Lower *l, const TCallArg *arg, const Access *a, uint32_t channel,
                              Outside *out)
{
    *out = (Outside){ .of_all = outside_value(l, arg->border.outside, channel) };
    for (uint32_t d = 0; d < a->n_dims; d++)
        out->differ |= arg->border.each[d] != NULL;
    for (uint32_t d = 0; out->differ && d < a->n_dims; d++)
        if (a->dim[d].rule == BORDER_CONSTANT)
            out->at[d] = outside_value(l, arg->border.each[d], channel);
}

/* The same, with `missing` where the outside is not valid and, unless none, `present` where it is. */
static void fills_outside(Lower *l, const TCallArg *arg, const Access *a, uint32_t channel,
                          ExprId missing, ExprId present, Outside *out)
{
    *out = (Outside){ .differ = false };
    for (uint32_t d = 0; d < a->n_dims; d++) {
        if (a->dim[d].rule != BORDER_CONSTANT)
            continue;
        const TExpr *written = arg->border.each[d] ? arg->border.each[d] : arg->border.outside;
        out->at[d] = arg->border.invalid[d] ? missing
                     : present.v            ? present
                                            : outside_value(l, written, channel);
        out->differ |= out->of_all.v && out->of_all.v != out->at[d].v;
        out->of_all = out->at[d];
    }
}

static ExprId load_with(Lower *l, Access *access, const Outside *outside)
{
    access->outside = outside->of_all;
    ExprId e = tessi_expr_load(l->g, tessi_graph_access(l->g, access));
    return outside->differ ? each_outside(l, access, outside, e) : e;
}

static bool may_be_outside(const Access *a)
{
    bool constant = false;
    for (uint32_t d = 0; d < a->n_dims; d++)
        constant |= a->dim[d].rule == BORDER_CONSTANT;
    return constant;
}

/* What a read of this argument gives where it is not valid. */
static LFill fill_of(const Lower *l, const LBody *b, const TCallArg *arg)
{
    if (!b->holes || !tessi_lower_has_holes(l, arg))
        return FILL_RAW;
    switch (arg->border.missing.policy) {
    case MISSING_RENORMALISE: return b->fill;
    case MISSING_NEAREST: return FILL_NEAREST;
    case MISSING_ZERO: return FILL_ZERO;
    default: return FILL_RAW;
    }
}

/* The access to channel `channel` of argument `slot`, and its load, converted to the type that the argument
 * declares. */
static ExprId load(Lower *l, LBody *b, uint32_t slot, Access *access, uint32_t channel)
{
    const TCallArg *arg = &b->call->args.at[slot];
    const LFill fill = fill_of(l, b, arg);
    Outside outside = { .differ = false };
    access->n_dims = arg->image->n_dims;
    access->producer = tessi_lower_filled(l, arg, channel, fill);
    const ScalarType type = tessi_stage(l->g, access->producer)->type;
    if (may_be_outside(access) && b->holes && tessi_lower_has_holes(l, arg)) {
        const ScalarType t = tessi_value_type(type);
        const ExprId one = { 0 };
        fills_outside(l, arg, access, channel, tessi_lower_fill_value(l, fill, t),
                      fill == FILL_WEIGHT ? tessi_lower_number(l, t, 1) : one, &outside);
    } else if (may_be_outside(access)) {
        constants_outside(l, arg, access, channel, &outside);
    }
    return tessi_lower_convert(l, load_with(l, access, &outside), type,
                               tessi_lower_field(b->inst->args.at[slot].type, channel));
}

/* Whether the point is valid that the access reads. */
static ExprId load_validity(Lower *l, const LBody *b, uint32_t slot, Access *access)
{
    const TCallArg *arg = &b->call->args.at[slot];
    bool ask = l->value[arg->image->id].valid.v != 0;
    Outside outside = { .differ = false };
    access->n_dims = arg->image->n_dims;
    for (uint32_t d = 0; d < access->n_dims; d++)
        ask |= arg->border.invalid[d] && access->dim[d].rule == BORDER_CONSTANT;
    if (!ask)
        return (ExprId){ 0 };
    access->producer = tessi_lower_validity_stage(l, arg);
    if (may_be_outside(access))
        fills_outside(l, arg, access, 0, tessi_lower_number(l, TYPE_BOOL, 0),
                      tessi_lower_number(l, TYPE_BOOL, 1), &outside);
    return load_with(l, access, &outside);
}

static void affine_dim(Lower *l, LBody *b, uint32_t slot, uint32_t d, int32_t scale,
                       const StaticAffine *a, AccessDim *dim)
{
    const TCallArg *arg = &b->call->args.at[slot];
    Border rule = arg->border.rule[d];
    *dim = (AccessDim){ .src = (int8_t)d, .scale = scale, .n_terms = (uint8_t)a->n };
    dim->add = tessi_size_const(l->g, scale * b->shift[d] + a->constant);
    for (uint32_t k = 0; k < a->n; k++) {
        const LWindow *w = tessi_lower_find_window(b, a->term[k].window);
        dim->term[k] = (AccessTerm){ .window = w ? w->window : (WindowId){ 0 },
                                     .var = (uint8_t)a->term[k].var,
                                     .coef = (int32_t)a->term[k].coef };
    }
    bool inside =
        rule == BORDER_NONE
        || always_inside(l, b, d, scale, affine_range(a), l->value[arg->image->id].size[d]);
    dim->rule = inside ? BORDER_INSIDE : rule;
}

/* The access of a read, but for the stage. */
static Access access_of(Lower *l, LBody *b, const TExpr *e)
{
    const TRead *read = e->read;
    Access access = { 0 };
    for (uint32_t d = 0; d < read->n_dims; d++) {
        StaticAffine a;
        if (read->absolute) {
            Border rule = b->call->args.at[e->slot].border.rule[d];
            access.dim[d] = (AccessDim){ .absolute = true,
                                         .src = -1,
                                         .rule = rule == BORDER_NONE ? BORDER_CLAMP : rule,
                                         .index = tessi_lower_expr(l, b, read->index[d], 0) };
            continue;
        }
        if (!affine_of(b, read->index[d], &a)) {
            tessi_lower_limit(l, e->span, "window variables in an offset", MAX_ACCESS_TERMS);
            a = (StaticAffine){ 0 };
        }
        affine_dim(l, b, e->slot, d, read->scale[d], &a, &access.dim[d]);
    }
    return access;
}

ExprId tessi_lower_load(Lower *l, LBody *b, const TExpr *e, uint32_t channel)
{
    Access access = access_of(l, b, e);
    return load(l, b, e->slot, &access, channel);
}

ExprId tessi_lower_valid_load(Lower *l, LBody *b, const TExpr *e)
{
    Access access = access_of(l, b, e);
    return load_validity(l, b, e->slot, &access);
}

static Access access_of_tap(Lower *l, LBody *b, const TExpr *e, const StaticAffine *offset)
{
    Access access = { 0 };
    for (uint32_t d = 0; d < e->read->n_dims; d++)
        affine_dim(l, b, e->slot, d, e->read->scale[d], &offset[d], &access.dim[d]);
    return access;
}

ExprId tessi_lower_tap(Lower *l, LBody *b, const TExpr *e, const StaticAffine *offset,
                       uint32_t channel, ScalarType type)
{
    Access access = access_of_tap(l, b, e, offset);
    ExprId tap = load(l, b, e->slot, &access, channel);
    return tessi_lower_convert(l, tap, tessi_lower_field(b->inst->args.at[e->slot].type, channel),
                               type);
}

ExprId tessi_lower_valid_tap(Lower *l, LBody *b, const TExpr *e, const StaticAffine *offset)
{
    Access access = access_of_tap(l, b, e, offset);
    return load_validity(l, b, e->slot, &access);
}

/* An element of the input, in the type of `m`: through the types of the arguments that it was given to. */
static ExprId as_declared(Lower *l, const TMask *m, ExprId element, ScalarType stored)
{
    if (!m->given)
        return tessi_lower_convert(l, element, stored, m->type.scalar);
    return tessi_lower_convert(l, as_declared(l, m->given, element, stored), m->given->type.scalar,
                               m->type.scalar);
}

ExprId tessi_lower_mask_load(Lower *l, const TMask *m, const ExprId *index, bool inside,
                             ScalarType type)
{
    Graph *g = l->g;
    Access access = { .producer = l->value[m->input->id].stage[0], .n_dims = m->n_dims };
    for (int d = 0; d < m->n_dims; d++) {
        /* Element lo is stored first; a flipped mask is stored from its other end. */
        int32_t first = m->flipped ? m->hi[d] : -m->lo[d];
        ExprId centre = tessi_expr_int(g, TYPE_I32, first);
        ExprId at = m->flipped ? tessi_expr_op(g, OP_SUB, centre, index[d], (ExprId){ 0 })
                               : tessi_expr_op(g, OP_ADD, index[d], centre, (ExprId){ 0 });
        access.dim[d] = (AccessDim){
            .absolute = true, .src = -1, .index = at, .rule = inside ? BORDER_INSIDE : BORDER_CLAMP
        };
    }
    ExprId e = tessi_expr_load(g, tessi_graph_access(g, &access));
    e = as_declared(l, m, e, tessi_stage(g, access.producer)->type);
    return tessi_lower_convert(l, e, m->type.scalar, type);
}
