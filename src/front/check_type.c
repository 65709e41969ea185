/* front/check_type: types of the typed tree, its expression nodes and the conversions between them. */
#include "front/check.h"

TType tessi_tt_scalar(ScalarType t)
{
    return (TType){ .kind = TT_SCALAR, .scalar = t };
}

TType tessi_tt_kind(TTypeKind kind)
{
    return (TType){ .kind = kind };
}

bool tessi_tt_same(TType a, TType b)
{
    if (a.kind != b.kind)
        return false;
    return a.kind == TT_SCALAR ? a.scalar == b.scalar : a.kind == TT_STRUCT ? a.st == b.st : true;
}

bool tessi_tt_is_untyped(TType t)
{
    return t.kind == TT_UNTYPED_INT || t.kind == TT_UNTYPED_REAL;
}

bool tessi_tt_is_error(TType t)
{
    return t.kind == TT_ERROR;
}

bool tessi_tt_is_integer(TType t)
{
    return t.kind == TT_UNTYPED_INT || (t.kind == TT_SCALAR && !tessi_is_real(t.scalar));
}

const char *tessi_tt_name(const Checker *c, TType t)
{
    return tessi_typed_type_name(c->a, t);
}

const TStruct *tessi_check_struct(Checker *c, const AstStructDef *origin, const ScalarType *types,
                                  uint32_t n)
{
    VEC_FOREACH (const TStruct *, it, &c->structs) {
        bool same = (*it)->origin == origin;
        for (uint32_t i = 0; same && i < n; i++)
            same = (*it)->field[i].type == types[i];
        if (same)
            return *it;
    }
    TStruct *s = ARENA_NEW(c->a, TStruct);
    s->origin = origin;
    s->n = n;
    s->field = ARENA_NEW_ARRAY(c->a, TField, n);
    for (uint32_t i = 0; i < n; i++)
        s->field[i] = (TField){ origin->fields.at[i].name.text, types[i] };
    VEC_PUSH(c->a, &c->structs, s);
    return s;
}

bool tessi_check_is_any(const AstType *type)
{
    return type->name.text && !type->is_of && tessi_streq(type->name.text, "any");
}

/* A basic type as programs write it: the short names of the table are not part of the language. */
static bool basic_type(const Checker *c, const char *name, ScalarType *out)
{
    ScalarType t;
    if (tessi_streq(name, "int")) {
        *out = TYPE_I32;
        return true;
    }
    if (!tessi_type_by_name(name, &t) || t == TYPE_INDEX
        || !tessi_streq(tessi_type_info(t)->name, name))
        return false;
    const bool original = t == TYPE_I8 || t == TYPE_I16 || t == TYPE_F32 || t == TYPE_F64;
    if (c->forma && !original)
        return false;
    *out = c->forma && t == TYPE_I8 ? TYPE_U8 : t; /* int8 of the original dialect is unsigned */
    return true;
}

static void unknown_type(Checker *c, Name name)
{
    VEC(const char *) words = { 0 };
    for (int t = 0; t < N_TYPES; t++) {
        if (t != TYPE_INDEX)
            VEC_PUSH(c->a, &words, tessi_type_info((ScalarType)t)->name);
    }
    VEC_PUSH(c->a, &words, "int");
    VEC_FOREACH (AstStructDef *const, s, &c->ast->structs) {
        VEC_PUSH(c->a, &words, (*s)->name.text);
    }
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_TYPE, name.span, name.text);
    const char *near = tessi_nearest_word(name.text, words.at, words.n);
    if (near)
        tessi_diag_help(c->d, d, "did you mean '%s'?", near);
}

TType tessi_check_type(Checker *c, const AstType *type)
{
    ScalarType t;
    if (!type->name.text)
        return tessi_tt_kind(TT_ERROR);
    if (type->is_of)
        return tessi_check_type_of(c, type);
    if (basic_type(c, type->name.text, &t))
        return tessi_tt_scalar(t);
    const AstStructDef *def = tessi_check_struct_named(c, type->name.text);
    if (!def) {
        unknown_type(c, type->name);
        return tessi_tt_kind(TT_ERROR);
    }
    if (def->fields.n == 0 || def->fields.n > CHECK_MAX_FIELDS)
        return tessi_tt_kind(TT_ERROR); /* diagnosed where the struct is defined, as below */
    ScalarType *fields = ARENA_NEW_ARRAY(c->a, ScalarType, def->fields.n);
    for (uint32_t i = 0; i < def->fields.n; i++) {
        if (!basic_type(c, def->fields.at[i].type.name.text, &fields[i]))
            return tessi_tt_kind(TT_ERROR);
    }
    return (TType){ .kind = TT_STRUCT, .st = tessi_check_struct(c, def, fields, def->fields.n) };
}

TType tessi_tt_field(TType t, uint32_t k)
{
    return t.kind == TT_STRUCT ? tessi_tt_scalar(t.st->field[k].type) : t;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */
TExpr *tessi_te_new(Checker *c, TExprKind kind, TType type, Span span, uint32_t n_args)
{
    TExpr *e = ARENA_NEW(c->a, TExpr);
    e->kind = kind;
    e->type = type;
    e->span = span;
    e->n_args = (uint8_t)n_args;
    e->field = -1;
    e->id = ++c->t->n_exprs;
    if (n_args)
        e->arg = ARENA_NEW_ARRAY(c->a, TExpr *, n_args);
    if (c->t->n_exprs == CHECK_MAX_EXPRS)
        tessi_check_limit(c, span, "operations in the program", CHECK_MAX_EXPRS);
    return e;
}

TExpr *tessi_te_error(Checker *c, Span span)
{
    return tessi_te_new(c, TE_ERROR, tessi_tt_kind(TT_ERROR), span, 0);
}

TExpr *tessi_te_const(Checker *c, TType type, Value v, Span span)
{
    TExpr *e = tessi_te_new(c, TE_CONST, type, span, 0);
    e->value = v;
    e->is_static = true;
    return e;
}

TExpr *tessi_te_int(Checker *c, int64_t i, Span span)
{
    return tessi_te_const(c, tessi_tt_kind(TT_UNTYPED_INT), tessi_value_int(i), span);
}

TExpr *tessi_te_fold(Checker *c, TExpr *e)
{
    if (e->type.kind == TT_STRUCT || e->type.kind == TT_ERROR)
        return e;
    e->is_static = true;
    bool constant = true;
    for (uint32_t i = 0; i < e->n_args; i++) {
        e->is_static &= e->arg[i]->is_static;
        constant &= e->arg[i]->kind == TE_CONST;
    }
    if (!constant)
        return e;
    Value v;
    uint64_t budget = 100;
    switch (tessi_static_eval(e, NULL, &budget, &v)) {
    case EVAL_OK: return tessi_te_const(c, e->type, v, e->span);
    case EVAL_OVERFLOW: CHECK_DIAG(c, DIAG_CONST_OVERFLOW, e->span); break;
    case EVAL_ZERO_DIVISION: CHECK_DIAG(c, DIAG_CONST_ZERO_DIVISION, e->span); break;
    default: return e;
    }
    return tessi_te_error(c, e->span);
}

/* ---- conversions ------------------------------------------------------------------------------------------------ */
static TExpr *cast_node(Checker *c, TExpr *e, TType to)
{
    /* The original dialect truncates reals and keeps the low bits: through int64, whose saturation is out of the
     * way. */
    if (c->forma && to.kind == TT_SCALAR && e->type.kind == TT_SCALAR
        && tessi_is_real(e->type.scalar) && tessi_is_integer(to.scalar) && to.scalar != TYPE_I64)
        e = cast_node(c, e, tessi_tt_scalar(TYPE_I64));
    TExpr *n = tessi_te_new(c, TE_CAST, to, e->span, 1);
    n->arg[0] = e;
    n->is_static = e->is_static;
    return tessi_te_fold(c, n);
}

/* An untyped expression that is not static comes from conditions on data: literals chosen by one, or counted in a
 * window. The literals take the type. */
static TExpr *retype(Checker *c, TExpr *e, TType to)
{
    if (e->is_static || !tessi_tt_is_untyped(e->type))
        return tessi_check_convert(c, e, to);
    if (e->kind == TE_CAST)
        return retype(c, e->arg[0], to);
    TExpr *n = tessi_te_new(c, e->kind, to, e->span, e->n_args);
    n->op = e->op;
    n->window = e->window;
    n->reduction = e->reduction;
    n->is_mean = e->is_mean;
    for (uint32_t i = 0; i < e->n_args; i++)
        n->arg[i] = tessi_tt_is_untyped(e->arg[i]->type) ? retype(c, e->arg[i], to) : e->arg[i];
    return n;
}

static bool literal_fits(Checker *c, TExpr *e, ScalarType to)
{
    bool fits = true;
    if (e->kind != TE_CONST || tessi_is_real(to))
        return true;
    Interval range = tessi_type_range(to);
    range.lo = tessi_is_unsigned(to) ? 0 : range.lo;
    if (e->type.kind == TT_UNTYPED_INT)
        fits = e->value.i >= range.lo && e->value.i <= range.hi;
    else if (e->type.kind == TT_UNTYPED_REAL)
        fits = e->value.f >= (double)range.lo && e->value.f <= (double)range.hi
               && e->value.f == (double)(int64_t)e->value.f;
    if (fits)
        return true;
    Text t = tessi_text_new(c->a);
    if (e->type.kind == TT_UNTYPED_INT)
        tessi_text_addf(&t, "%lld", (long long)e->value.i);
    else
        tessi_text_add_real(&t, e->value.f, false);
    CHECK_DIAG(c, DIAG_LITERAL_RANGE, e->span, tessi_text_str(&t), tessi_type_info(to)->name);
    return false;
}

TExpr *tessi_check_convert(Checker *c, TExpr *e, TType to)
{
    if (tessi_tt_same(e->type, to) || tessi_tt_is_error(to))
        return e;
    if (tessi_tt_is_error(e->type))
        return e;
    tessi_warn_dropped(c, e, to);
    if (e->type.kind == TT_STRUCT
        && (to.kind != TT_STRUCT || to.st->origin != e->type.st->origin)) {
        CHECK_DIAG(c, DIAG_NO_CONVERSION, e->span, tessi_tt_name(c, e->type), tessi_tt_name(c, to));
        return tessi_te_error(c, e->span);
    }
    if (tessi_tt_is_untyped(e->type)) {
        if (tessi_tt_is_untyped(to)) { /* integer literal among reals */
            if (to.kind == TT_UNTYPED_INT)
                return e;
            TExpr *n = tessi_te_new(c, TE_CAST, to, e->span, 1);
            n->arg[0] = e;
            return e->is_static ? tessi_te_fold(c, n) : n;
        }
        if (!e->is_static)
            return retype(c, e, to);
        if (to.kind == TT_SCALAR && !literal_fits(c, e, to.scalar))
            return tessi_te_error(c, e->span);
    }
    return cast_node(c, e, to);
}

void tessi_check_whole_struct(Checker *c, Span span, TType t)
{
    const char *what =
        tessi_sprintf(c->a, "an operation on whole pixels of %s", tessi_tt_name(c, t));
    Diag *d = CHECK_DIAG(c, DIAG_NOT_IN_FORMA, span, what);
    tessi_diag_help(c->d, d, "take a field, '.%s', of each image", t.st->field[0].name);
}

TExpr *tessi_check_cast(Checker *c, TExpr *e, TType to, bool saturate, Span span)
{
    if (tessi_tt_is_error(e->type) || tessi_tt_is_error(to))
        return tessi_te_error(c, span);
    if (c->forma && (e->type.kind == TT_STRUCT || to.kind == TT_STRUCT)) {
        tessi_check_whole_struct(c, span, e->type.kind == TT_STRUCT ? e->type : to);
        return tessi_te_error(c, span);
    }
    if (e->type.kind == TT_STRUCT && to.kind == TT_SCALAR) { /* field by field */
        ScalarType *types = ARENA_NEW_ARRAY(c->a, ScalarType, e->type.st->n);
        for (uint32_t i = 0; i < e->type.st->n; i++)
            types[i] = to.scalar;
        to = (TType){ .kind = TT_STRUCT,
                      .st = tessi_check_struct(c, e->type.st->origin, types, e->type.st->n) };
    } else if (e->type.kind == TT_STRUCT && to.st->origin != e->type.st->origin) {
        CHECK_DIAG(c, DIAG_NO_CONVERSION, span, tessi_tt_name(c, e->type), tessi_tt_name(c, to));
        return tessi_te_error(c, span);
    }
    if (!e->is_static && tessi_tt_is_untyped(e->type))
        e = tessi_check_concrete(c, e);
    if (saturate) {
        if (e->type.kind == TT_UNTYPED_INT)
            e = cast_node(c, e, tessi_tt_scalar(TYPE_I64));
        else if (e->type.kind == TT_UNTYPED_REAL)
            e = cast_node(c, e, tessi_tt_scalar(TYPE_F64));
        TExpr *n = tessi_te_new(c, TE_SAT, to, span, 1);
        n->arg[0] = e;
        n->is_static = e->is_static;
        return tessi_te_fold(c, n);
    }
    if (tessi_tt_same(e->type, to))
        return e;
    TExpr *n = cast_node(c, e, to);
    return n;
}

TExpr *tessi_check_concrete(Checker *c, TExpr *e)
{
    if (e->type.kind == TT_UNTYPED_REAL)
        return tessi_check_convert(c, e, tessi_tt_scalar(TYPE_F32));
    if (e->type.kind != TT_UNTYPED_INT)
        return e;
    bool small = e->kind != TE_CONST || (e->value.i >= INT32_MIN && e->value.i <= INT32_MAX);
    return tessi_check_convert(c, e, tessi_tt_scalar(small ? TYPE_I32 : TYPE_I64));
}
