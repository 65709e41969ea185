/* front/lower_nodata: where validities come from and go to: inputs with a no-data value, image:valid(mask), reductions
 * of whole images, and the results, which hold a no-data value where they are not valid. */
#include "front/lower.h"
#include "graph/graph_fold.h"

#include <math.h>

static const ExprId NONE = { 0 };

/* ---- inputs ---------------------------------------------------------------------------------- */
/* The value as an element of that type; false: it is none. */
static bool is_element(double value, ScalarType type, Value *v)
{
    const ScalarType t = tessi_value_type(type);
    if (isnan(value)) {
        *v = tessi_value_real(value);
        return tessi_is_real(t);
    }
    *v = tessi_eval_cast(t, TYPE_F64, tessi_value_real(value));
    return tessi_is_real(t) || (double)v->i == value;
}

static const FrontNodata *nodata_of(const Lower *l, const char *input)
{
    const FrontNodata *found = NULL;
    for (size_t i = 0; l->o && i < l->o->n_nodata; i++) {
        const FrontNodata *n = &l->o->nodata[i];
        if (!n->input ? !found : tessi_streq(n->input, input))
            found = n;
    }
    return found;
}

/* The element is another one than the no-data value. */
static ExprId differs(Lower *l, StageId stage, double value)
{
    const ScalarType type = tessi_stage(l->g, stage)->type, t = tessi_value_type(type);
    const ExprId e = tessi_lower_own_point(l, stage);
    Value v;
    if (!is_element(value, type, &v))
        return NONE;
    if (isnan(value))
        return tessi_expr_op(l->g, OP_EQ, tessi_expr_op(l->g, OP_ISNAN, e, NONE, NONE),
                             tessi_lower_number(l, TYPE_BOOL, 0), NONE);
    return tessi_expr_op(l->g, OP_NE, e, tessi_expr_const(l->g, t, v), NONE);
}

/* A pixel is not valid when all of its channels hold the value. */
StageId tessi_lower_input_validity(Lower *l, const TInput *in, const LValue *v)
{
    const FrontNodata *nodata = nodata_of(l, in->name);
    ExprId valid = NONE;
    if (!nodata)
        return (StageId){ 0 };
    for (uint32_t k = 0; k < v->n_channels; k++) {
        const ExprId one = differs(l, v->stage[k], nodata->value);
        if (!one.v)
            return (StageId){ 0 }; /* every pixel is another one */
        valid = valid.v ? tessi_expr_op(l->g, OP_OR, valid, one, NONE) : one;
    }
    return tessi_lower_pointwise(l, v->stage[0], "valid", TYPE_BOOL, valid);
}

/* ---- image:valid(mask) ----------------------------------------------------------------------- */
static const char *shown(const Lower *l, const TValue *v, const char *otherwise)
{
    return v->name ? v->name : tessi_lower_shown(l, v->span, otherwise);
}

void tessi_lower_must_agree(Lower *l, const TValue *v, const TValue *other, const char *what)
{
    const LValue *image = &l->value[v->base->id], *beside = &l->value[other->id];
    for (uint32_t d = 0; d < v->base->n_dims; d++) {
        int64_t apart;
        if (image->size[d].v == beside->size[d].v)
            continue;
        const Agreement must = { .a = image->size[d],
                                 .b = beside->size[d],
                                 .dim = d,
                                 .name_a = shown(l, v->base, "the image"),
                                 .name_b = shown(l, other, what),
                                 .span = v->span };
        VEC_PUSH(l->g->arena, &l->g->agreements, must);
        if (tessi_size_is_const(l->g, tessi_size_sub(l->g, must.a, must.b), &apart) && apart)
            tessi_lower_sizes_differ(l, &must, v->base->n_dims, apart);
    }
}

void tessi_lower_with_validity(Lower *l, const TValue *v, LValue *out)
{
    const LValue *base = &l->value[v->base->id], *mask = &l->value[v->mask->id];
    for (uint32_t d = 0; d < v->n_dims; d++)
        out->size[d] = base->size[d];
    tessi_lower_must_agree(l, v, v->mask, "its mask");
    for (uint32_t k = 0; k < out->n_channels; k++)
        out->stage[k] = base->stage[k];
    ExprId valid = tessi_lower_own_point(l, mask->stage[0]);
    if (mask->valid.v)
        valid = tessi_lower_both(l, tessi_lower_own_point(l, mask->valid), valid);
    if (base->valid.v)
        valid = tessi_lower_both(l, tessi_lower_own_point(l, base->valid), valid);
    out->valid = tessi_lower_pointwise(l, base->stage[0], "valid", TYPE_BOOL, valid);
}

/* ---- whole images ---------------------------------------------------------------------------- */
/* An element that no histogram counts stands where the image is not valid. */
static StageId counted(Lower *l, StageId base, StageId valid)
{
    const ScalarType t = tessi_value_type(tessi_stage(l->g, base)->type);
    const ScalarType wide = tessi_is_real(t)                 ? t
                            : tessi_type_info(t)->bytes <= 2 ? TYPE_I32
                                                             : TYPE_I64;
    const ExprId value = tessi_expr_cast(l->g, wide, tessi_lower_own_point(l, base));
    return tessi_lower_pointwise(l, base, "counted", wide,
                                 tessi_expr_op(l->g, OP_SELECT, tessi_lower_own_point(l, valid),
                                               value, tessi_lower_number(l, wide, -1)));
}

StageId tessi_lower_countable(Lower *l, const TValue *image)
{
    const LValue *v = &l->value[image->id];
    return v->valid.v ? counted(l, v->stage[0], v->valid) : v->stage[0];
}

StageId tessi_lower_valid_points(Lower *l, const TValue *v, uint32_t channel)
{
    const LValue *base = &l->value[v->base->id];
    const TCallArg whole = { .image = v->base };
    if (!base->valid.v)
        return base->stage[channel];
    if (v->kind == TV_HISTOGRAM)
        return tessi_lower_countable(l, v->base);
    const LFill fill = v->reduction == REDUCE_MIN    ? FILL_MOST
                       : v->reduction == REDUCE_MAX  ? FILL_LEAST
                       : v->reduction == REDUCE_PROD ? FILL_ONE
                                                     : FILL_ZERO;
    return tessi_lower_filled(l, &whole, channel, fill);
}

/* ---- results --------------------------------------------------------------------------------- */
/* The no-data value given first, where an element can be that; else NaN of reals and 0 of integers. */
static Value nodata_of_result(const Lower *l, ScalarType type)
{
    Value v;
    if (l->o && l->o->n_nodata && is_element(l->o->nodata[0].value, type, &v))
        return v;
    return tessi_is_real(type) ? tessi_value_real(NAN) : tessi_value_int(0);
}

ExprId tessi_lower_with_nodata(Lower *l, Image *image, uint32_t channel, ScalarType type,
                               ExprId valid, ExprId value)
{
    const ScalarType t = tessi_value_type(type);
    const Value v = nodata_of_result(l, type);
    if (channel == 0) {
        image->has_nodata = true;
        image->nodata = tessi_is_real(t) ? v.f : (double)v.i;
    }
    return tessi_expr_op(l->g, OP_SELECT, valid, value, tessi_expr_const(l->g, t, v));
}
