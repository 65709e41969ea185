/* front/check_missing: what points that are not valid give (missing.def); images with a validity, photo:valid(mask);
 * valid(x), which asks for it. */
#include "front/check.h"

#include <math.h>

enum { MOST_NEAREST_POINTS = 1 << 16 }; /* that a point looks at for the nearest valid one */

static const struct {
    const char *name, *other;
} POLICIES[N_MISSING] = {
#define MISSING(id, name, other) { name, other },
#include "front/missing.def"
#undef MISSING
};

const char *tessi_missing_name(Missing m)
{
    return POLICIES[m].name;
}

bool tessi_missing_by_name(const char *name, Missing *m)
{
    for (int i = 0; name && i < N_MISSING; i++) {
        if (tessi_streq(POLICIES[i].name, name)
            || (POLICIES[i].other[0] && tessi_streq(POLICIES[i].other, name))) {
            *m = (Missing)i;
            return true;
        }
    }
    return false;
}

bool tessi_check_missing(Checker *c, const AstBorder *b, MissingRule *out)
{
    *out = (MissingRule){ .written = true };
    if (!tessi_missing_by_name(b->name.text, &out->policy))
        return false;
    if (out->policy != MISSING_NEAREST) {
        if (b->value)
            CHECK_DIAG(c, DIAG_BORDER_VALUE, b->span, b->name.text);
        return !b->value;
    }
    TExpr *r = tessi_check_const(c, b->value, "the distance of the nearest valid point");
    if (tessi_tt_is_error(r->type))
        return false;
    const double distance = tessi_tt_is_integer(r->type) ? (double)r->value.i : r->value.f;
    if (!(distance >= 1 && distance <= MOST_NEAREST_POINTS)) {
        CHECK_DIAG(c, DIAG_NEAREST_DISTANCE, b->value->span, distance);
        return false;
    }
    out->distance = distance;
    return true;
}

/* The points of the square around a point are few enough. */
bool tessi_check_nearest_reach(Checker *c, const MissingRule *m, uint32_t n_dims, Span span)
{
    const double side = 2 * floor(m->distance) + 1;
    if (m->policy != MISSING_NEAREST || pow(side, n_dims) <= MOST_NEAREST_POINTS)
        return true;
    tessi_check_limit(c, span, "points among which the nearest is looked for", MOST_NEAREST_POINTS);
    return false;
}

static bool is_image(Checker *c, const Operand *o, const char *argument, const char *expected)
{
    if (o->kind == OPERAND_IMAGE && o->image->n_dims > 0)
        return true;
    if (o->kind != OPERAND_ERROR)
        CHECK_DIAG(c, DIAG_ARG_KIND, o->span, argument, "valid", expected,
                   tessi_operand_text(c, *o));
    return false;
}

Operand tessi_check_with_validity(Checker *c, const AstExpr *e)
{
    c->at.declared_dims = 0;
    Operand o = tessi_check_vector(c, e->arg.at[0]), where = tessi_check_vector(c, e->arg.at[1]);
    if (!is_image(c, &o, "image", "an image") || !is_image(c, &where, "mask", "an image of bool"))
        return tessi_operand_error(e->span);
    const bool pixels = where.image->type.kind == TT_STRUCT;
    if (pixels || where.image->n_dims != o.image->n_dims) {
        Diag *d = CHECK_DIAG(
            c, DIAG_ARG_KIND, where.span, "mask", "valid",
            tessi_sprintf(c->a, "a %d-dimensional image of one channel", o.image->n_dims),
            tessi_operand_text(c, where));
        if (pixels)
            tessi_diag_help(c->d, d,
                            "a pixel is valid or not as a whole: take one field, or 'or' of them");
        return tessi_operand_error(e->span);
    }
    TValue *mask =
        tessi_check_converted(c, where.image, tessi_tt_scalar(TYPE_BOOL), NULL, where.span);
    TValue *v = tessi_value_new(c, TV_VALID, o.image->type, o.image->n_dims, e->span);
    v->base = o.image;
    v->mask = mask;
    return tessi_operand_image(v, e->span);
}

TExpr *tessi_check_valid_of(Checker *c, TExpr *value, Span span)
{
    TExpr *e = tessi_te_new(c, TE_VALID, tessi_tt_scalar(TYPE_BOOL), span, 1);
    e->arg[0] = value;
    if (value->is_static || value->kind == TE_CONST)
        return tessi_te_const(c, e->type, tessi_value_int(1), span);
    return e;
}
