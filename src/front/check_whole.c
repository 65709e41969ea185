/* front/check_whole: reductions of images: of all points, or along a dimension; histograms. Variances and places of
 * extrema are made of others. */
#include "front/check.h"

typedef enum WholeKind {
    WHOLE_REDUCTION,
    WHOLE_VARIANCE,
    WHOLE_DEVIATION,
    WHOLE_PLACE, /* of the extremum that its reduction gives */
    WHOLE_HISTOGRAM,
    WHOLE_SCAN,
    WHOLE_TURNS /* of a family */
} WholeKind;
typedef struct Whole {
    const char *name;
    WholeKind kind;
    Reduction reduction;
} Whole;
static const Whole WHOLE[] = {
    { "minimum", WHOLE_REDUCTION, REDUCE_MIN }, { "maximum", WHOLE_REDUCTION, REDUCE_MAX },
    { "mean", WHOLE_REDUCTION, REDUCE_MEAN },   { "total", WHOLE_REDUCTION, REDUCE_SUM },
    { "sum", WHOLE_REDUCTION, REDUCE_SUM },     { "prod", WHOLE_REDUCTION, REDUCE_PROD },
    { "count", WHOLE_REDUCTION, REDUCE_COUNT }, { "var", WHOLE_VARIANCE, REDUCE_MEAN },
    { "std", WHOLE_DEVIATION, REDUCE_MEAN },    { "argmin", WHOLE_PLACE, REDUCE_MIN },
    { "argmax", WHOLE_PLACE, REDUCE_MAX },      { "histogram", WHOLE_HISTOGRAM, REDUCE_COUNT },
    { "reduce", WHOLE_SCAN, REDUCE_SUM },       { "cumulate", WHOLE_SCAN, REDUCE_SUM },
    { "recursive", WHOLE_SCAN, REDUCE_SUM },    { "turns", WHOLE_TURNS, REDUCE_COUNT }
};

static const Whole *whole_named(const char *name)
{
    for (size_t i = 0; name && i < sizeof WHOLE / sizeof WHOLE[0]; i++)
        if (tessi_streq(WHOLE[i].name, name))
            return &WHOLE[i];
    return NULL;
}

bool tessi_is_reduction(const char *name)
{
    return whole_named(name) != NULL;
}

static ScalarType reduced_type(Reduction r, ScalarType t)
{
    switch (r) {
    case REDUCE_MIN:
    case REDUCE_MAX: return t;
    case REDUCE_COUNT: return TYPE_I64;
    case REDUCE_MEAN:
        if (!tessi_is_real(t))
            return tessi_type_info(t)->bytes <= 2 ? TYPE_F32 : TYPE_F64;
        break;
    default:
        if (!tessi_is_real(t))
            return TYPE_I64;
    }
    return tessi_value_type(t);
}

TType tessi_reduced_type(Checker *c, Reduction r, TType t)
{
    if (t.kind != TT_STRUCT)
        return tessi_tt_scalar(reduced_type(r, t.scalar));
    ScalarType *types = ARENA_NEW_ARRAY(c->a, ScalarType, t.st->n);
    for (uint32_t k = 0; k < t.st->n; k++)
        types[k] = reduced_type(r, t.st->field[k].type);
    return (TType){ .kind = TT_STRUCT, .st = tessi_check_struct(c, t.st->origin, types, t.st->n) };
}

/* Sums and histograms count truth values as 0 and 1. */
TValue *tessi_bool_as_number(Checker *c, TValue *image, Span span)
{
    TType t = image->type;
    if (t.kind != TT_STRUCT)
        return t.scalar == TYPE_BOOL
                   ? tessi_check_converted(c, image, tessi_tt_scalar(TYPE_U8), NULL, span)
                   : image;
    ScalarType *types = ARENA_NEW_ARRAY(c->a, ScalarType, t.st->n);
    for (uint32_t k = 0; k < t.st->n; k++)
        types[k] = t.st->field[k].type == TYPE_BOOL ? TYPE_U8 : t.st->field[k].type;
    TType to = { .kind = TT_STRUCT, .st = tessi_check_struct(c, t.st->origin, types, t.st->n) };
    return tessi_check_converted(c, image, to, NULL, span);
}

static Operand histogram(Checker *c, const AstExpr *e, Operand o)
{
    if (o.image->type.kind == TT_STRUCT) {
        Diag *d = CHECK_DIAG(c, DIAG_ARG_KIND, o.span, "A", "histogram", "an image of one channel",
                             tessi_operand_text(c, o));
        tessi_diag_help(c->d, d, "take one field: histogram(A.%s, ..)",
                        o.image->type.st->field[0].name);
        return tessi_operand_error(e->span);
    }
    TExpr *bins = tessi_check_size(c, e->args.at[1].value);
    if (tessi_tt_is_error(bins->type))
        return tessi_operand_error(e->span);
    if (bins->kind == TE_CONST && (bins->value.i < 1 || bins->value.i > 1 << 24)) {
        CHECK_DIAG(c, DIAG_HISTOGRAM_BINS, bins->span, (long long)bins->value.i);
        return tessi_operand_error(e->span);
    }
    TValue *base = tessi_bool_as_number(c, o.image, e->span);
    TValue *v = tessi_value_new(c, TV_HISTOGRAM, tessi_tt_scalar(TYPE_U32), 1, e->span);
    v->base = base;
    v->bins = bins;
    return tessi_operand_image(v, e->span);
}

/* ---- arguments ------------------------------------------------------------------------------- */
bool tessi_whole_image(Checker *c, const AstExpr *e, Operand *image)
{
    *image = tessi_check_vector(c, e->args.at[0].value);
    if (image->kind == OPERAND_IMAGE && image->image->n_dims > 0)
        return true;
    if (image->kind != OPERAND_ERROR)
        CHECK_DIAG(c, DIAG_ARG_KIND, e->args.at[0].value->span, "A", e->name.text, "an image",
                   tessi_operand_text(c, *image));
    return false;
}

bool tessi_whole_dimension(Checker *c, const AstExpr *e, const TValue *image, uint32_t *dim)
{
    int64_t d;
    if (!tessi_check_const_int(c, e, "the number of a dimension", &d))
        return false;
    if (d < 0 || d >= image->n_dims) {
        CHECK_DIAG(c, DIAG_NO_DIMENSION, e->span, (long long)d, (long long)image->n_dims - 1);
        return false;
    }
    *dim = (uint32_t)d;
    return true;
}

static bool plain_arguments(Checker *c, const AstExpr *e)
{
    bool ok = true;
    for (uint32_t i = 0; i < e->args.n && ok; i++) {
        ok = tessi_check_positional(c, e->name.text, &e->args.at[i]);
        if (ok)
            tessi_check_no_borders(c, &e->args.at[i].borders, i ? "a number" : "a whole image");
    }
    return ok;
}

/* ---- by keys --------------------------------------------------------------------------------- */
/* The number of elements, of a histogram or by keys; NULL after a diagnostic. */
static TExpr *bins_of(Checker *c, const AstExpr *e)
{
    TExpr *bins = tessi_check_size(c, e);
    if (tessi_tt_is_error(bins->type))
        return NULL;
    if (bins->kind == TE_CONST && (bins->value.i < 1 || bins->value.i > 1 << 24)) {
        CHECK_DIAG(c, DIAG_HISTOGRAM_BINS, bins->span, (long long)bins->value.i);
        return NULL;
    }
    return bins;
}

bool tessi_whole_keys(Checker *c, const AstExpr *e, const TValue *image, WholeKeys *keys)
{
    const AstExpr *second = e->args.at[1].value;
    const Operand o = tessi_check_vector(c, second);
    if (o.kind == OPERAND_ERROR)
        return false;
    if (o.kind != OPERAND_IMAGE || o.image->n_dims != image->n_dims
        || o.image->type.kind == TT_STRUCT) {
        CHECK_DIAG(c, DIAG_ARG_KIND, second->span, "keys", e->name.text,
                   tessi_sprintf(c->a, "a %d-dimensional image of one channel", image->n_dims),
                   tessi_operand_text(c, o));
        return false;
    }
    keys->bins = bins_of(c, e->args.at[2].value);
    keys->image = tessi_bool_as_number(c, o.image, e->span);
    return keys->bins != NULL;
}

TValue *tessi_whole_by_keys(const WholeKeys *keys, TValue *v)
{
    v->keys = keys->image;
    v->bins = keys->bins;
    v->n_dims = 1;
    return v;
}

/* ---- reductions made of others --------------------------------------------------------------- */
/* An image, its reduction along dimension `along` - 1 (0: of all points) or by keys, and where they are called for. */
typedef struct Along {
    TValue *image, *reduced;
    uint8_t along;
    const WholeKeys *keys; /* or NULL */
    Span span;
} Along;

static TValue *reduce(Checker *c, Reduction r, TValue *image, const Along *a)
{
    if (r == REDUCE_SUM || r == REDUCE_MEAN || r == REDUCE_PROD)
        image = tessi_bool_as_number(c, image, a->span);
    const uint32_t n_dims = a->along ? image->n_dims - 1u : 0;
    const TType t = tessi_reduced_type(c, r, image->type);
    TValue *v = tessi_value_new(c, TV_REDUCE, t, n_dims, a->span);
    v->base = image;
    v->reduction = r;
    v->along = a->along;
    return a->keys ? tessi_whole_by_keys(a->keys, v) : v;
}

static TExpr *coordinate(Checker *c, uint32_t dim, Span span)
{
    TInstance *inst = c->at.inst;
    TExpr *n = tessi_te_new(c, TE_INDEX, tessi_tt_scalar(TYPE_I32), span, 0);
    n->slot = dim;
    if (!inst->uses_index || dim > inst->max_index)
        inst->max_index = dim;
    inst->uses_index = true;
    inst->index_span = span;
    return n;
}

/* The number of the key at a point; whatever, of points that no element counts. */
static TExpr *key_value(Checker *c, const Along *a)
{
    const TType whole = tessi_tt_scalar(TYPE_I32);
    TExpr *key = tessi_check_operand_expr(c, tessi_operand_image(a->keys->image, a->span), a->span);
    if (tessi_is_real(key->type.scalar))
        key = tessi_check_apply(c, a->span, RULE_REAL, OP_FLOOR, &key, 1);
    return tessi_check_convert(c, key, whole);
}

/* At a point of the image: the reduction of the line that it is on, or of the points with its key. */
static TExpr *of_line(Checker *c, const Along *a)
{
    const Operand o = tessi_operand_image(a->reduced, a->span);
    if (!a->reduced->n_dims)
        return tessi_check_operand_expr(c, o, a->span);
    TBorder border = { .written = true, .span = a->span }; /* what is read is inside */
    TRead *read = ARENA_NEW(c->a, TRead);
    read->absolute = true;
    for (uint32_t d = 0, n = 0; d < a->image->n_dims && !a->keys; d++)
        if (d + 1 != a->along)
            read->index[n++] = coordinate(c, d, a->span);
    if (a->keys) {
        read->index[0] = key_value(c, a);
        border.rule[0] = BORDER_CLAMP;
    }
    return tessi_check_read_slot(c, tessi_check_image_slot(c, o, a->span, NULL, &border), a->span,
                                 read);
}

static TExpr *own_value(Checker *c, const Along *a)
{
    return tessi_check_operand_expr(c, tessi_operand_image(a->image, a->span), a->span);
}

/* The mean of the squared distances from the mean. */
static Operand variance(Checker *c, Along a, bool root)
{
    Points p;
    a.image = tessi_bool_as_number(c, a.image, a.span);
    a.reduced = reduce(c, REDUCE_MEAN, a.image, &a);
    tessi_points_begin(c, &p, a.span);
    TExpr *d = tessi_check_binary(c, a.span, AST_OP_SUB, own_value(c, &a), of_line(c, &a));
    const Operand squares =
        tessi_points_end(c, &p, tessi_check_binary(c, a.span, AST_OP_MUL, d, d), a.span);
    if (squares.kind != OPERAND_IMAGE)
        return squares;
    const Operand o = tessi_operand_image(reduce(c, REDUCE_MEAN, squares.image, &a), a.span);
    if (!root)
        return o;
    tessi_points_begin(c, &p, a.span);
    TExpr *v = tessi_check_operand_expr(c, o, a.span);
    return tessi_points_end(c, &p, tessi_check_apply(c, a.span, RULE_REAL, OP_SQRT, &v, 1), a.span);
}

static TExpr *extent(Checker *c, const Along *a)
{
    TExpr *n = tessi_te_new(c, TE_SIZE, tessi_tt_scalar(TYPE_I32), a->span, 0);
    n->image = a->image;
    n->dim = (uint8_t)(a->along - 1);
    return n;
}

/* The number of the first point on each line that is its extremum; that of its points where none is, or none counts. */
static Operand place(Checker *c, Reduction r, Along a)
{
    Points p;
    const Span span = a.span;
    if (a.image->type.kind == TT_STRUCT) {
        CHECK_DIAG(c, DIAG_NO_CONVERSION, span, tessi_tt_name(c, a.image->type), "a number");
        return tessi_operand_error(span);
    }
    a.reduced = reduce(c, r, a.image, &a);
    tessi_points_begin(c, &p, span);
    TExpr *is = tessi_check_binary(c, span, AST_OP_EQ, own_value(c, &a), of_line(c, &a));
    TExpr *at = tessi_check_select(c, span, is, coordinate(c, a.along - 1u, span), extent(c, &a));
    const Operand numbers = tessi_points_end(c, &p, at, span);
    if (numbers.kind != OPERAND_IMAGE)
        return numbers;
    const Operand first = tessi_operand_image(reduce(c, REDUCE_MIN, numbers.image, &a), span);
    tessi_points_begin(c, &p, span);
    TExpr *found[2] = { tessi_check_operand_expr(c, first, span), extent(c, &a) };
    return tessi_points_end(c, &p, tessi_check_apply(c, span, RULE_KEEP, OP_MIN, found, 2), span);
}

/* ---- any of them ----------------------------------------------------------------------------- */
static Operand wrong_count(Checker *c, const AstExpr *e, int64_t expected)
{
    CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, e->name.text, (long long)expected, (long long)e->args.n);
    return tessi_operand_error(e->span);
}

Operand tessi_check_whole(Checker *c, const AstExpr *e)
{
    const Whole *w = whole_named(e->name.text);
    const uint32_t least = w->kind == WHOLE_HISTOGRAM || w->kind == WHOLE_PLACE ? 2 : 1;
    const uint32_t most = w->kind == WHOLE_HISTOGRAM || w->kind == WHOLE_PLACE ? 2 : 3;
    Operand o;
    uint32_t dim = 0;
    c->at.declared_dims = 0;
    if (w->kind == WHOLE_SCAN)
        return tessi_check_scan(c, e);
    if (e->args.n < least || e->args.n > most)
        return wrong_count(c, e, e->args.n < least ? least : most);
    if (w->kind == WHOLE_TURNS)
        return e->args.n > 1 ? wrong_count(c, e, 1) : tessi_check_turns(c, e);
    if (!plain_arguments(c, e) || !tessi_whole_image(c, e, &o))
        return tessi_operand_error(e->span);
    if (w->kind == WHOLE_HISTOGRAM)
        return histogram(c, e, o);
    WholeKeys keys;
    Along a = { .image = o.image, .span = e->span };
    if (e->args.n == 3) {
        if (!tessi_whole_keys(c, e, o.image, &keys))
            return tessi_operand_error(e->span);
        a.keys = &keys;
    } else if (e->args.n > 1) {
        if (!tessi_whole_dimension(c, e->args.at[1].value, o.image, &dim))
            return tessi_operand_error(e->span);
        a.along = (uint8_t)(dim + 1);
    }
    switch (w->kind) {
    case WHOLE_VARIANCE: return variance(c, a, false);
    case WHOLE_DEVIATION: return variance(c, a, true);
    case WHOLE_PLACE: return place(c, w->reduction, a);
    default: return tessi_operand_image(reduce(c, w->reduction, o.image, &a), e->span);
    }
}
