/* front/check_scan: running values along a dimension: cumulate, recursive filters, and reductions of one's own, which
 * give the last of them. */
#include "front/check.h"

/* What the arguments of a call say besides the image. */
typedef struct ScanCall {
    TValue *image;
    Span span;
    uint32_t dim;
    bool reverse;
    Reduction reduction;
    uint32_t n; /* positional arguments */
} ScanCall;

static TValue *scan(Checker *c, const ScanCall *s, TType t, bool only_last)
{
    const uint32_t n_dims = s->image->n_dims - (only_last ? 1u : 0);
    TValue *v = tessi_value_new(c, TV_SCAN, t, n_dims, s->span);
    v->base = s->image;
    v->along = (uint8_t)(s->dim + 1);
    v->reverse = s->reverse;
    v->only_last = only_last;
    return v;
}

static TExpr *state(Checker *c, uint32_t number, TType t, Span span)
{
    TExpr *e = tessi_te_new(c, TE_STATE, t, span, 0);
    e->slot = number;
    return e;
}

/* A number of the program; NULL after a diagnostic. */
static TExpr *number(Checker *c, const AstExpr *e, const char *what, const char *of)
{
    const Operand o = tessi_check_vector(c, e);
    if (o.kind == OPERAND_SCALAR || (o.kind == OPERAND_IMAGE && o.image->n_dims == 0))
        return tessi_check_operand_expr(c, o, e->span);
    if (o.kind != OPERAND_ERROR)
        CHECK_DIAG(c, DIAG_ARG_KIND, e->span, what, of, "a number", tessi_operand_text(c, o));
    return NULL;
}

/* ---- keywords -------------------------------------------------------------------------------- */
static bool reverse_of(Checker *c, const AstArg *a, bool *reverse)
{
    TExpr *e = tessi_check_const(c, a->value, "'reverse'");
    if (tessi_tt_is_error(e->type))
        return false;
    *reverse = tessi_tt_is_integer(e->type) ? e->value.i != 0 : e->value.f != 0;
    return true;
}

static bool reduction_of(Checker *c, const AstArg *a, Reduction *r)
{
    static const Reduction may[] = { REDUCE_SUM, REDUCE_PROD, REDUCE_MIN, REDUCE_MAX };
    for (size_t i = 0; a->value->kind == AST_NAME && i < sizeof may / sizeof may[0]; i++)
        if (tessi_streq(a->value->name.text, tessi_reduction_name(may[i]))) {
            *r = may[i];
            return true;
        }
    CHECK_DIAG(c, DIAG_SCAN_REDUCTION, a->value->span);
    return false;
}

/* What follows the arguments that are given by their position. */
static bool keywords(Checker *c, const AstExpr *e, ScanCall *s)
{
    const bool sums = tessi_streq(e->name.text, "cumulate") && !e->more;
    const bool runs = !tessi_streq(e->name.text, "reduce");
    bool has_reverse = false, has_with = false;
    for (uint32_t i = 0; i < e->args.n; i++) {
        const AstArg *a = &e->args.at[i];
        const char *name = a->keyword.text;
        const bool is_reverse = runs && tessi_streq(name, "reverse");
        const bool is_with = sums && tessi_streq(name, "with");
        if (!name) {
            s->n = i + 1;
            continue;
        }
        if (!is_reverse && !is_with) {
            Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_KEYWORD, a->keyword.span, e->name.text, name);
            if (runs)
                tessi_diag_help(c->d, d, "it takes 'reverse = true'%s",
                                sums ? " and 'with = sum', 'prod', 'min' or 'max'" : "");
            return false;
        }
        if (is_reverse ? has_reverse : has_with) {
            CHECK_DIAG(c, DIAG_KEYWORD_TWICE, a->keyword.span, e->name.text, name);
            return false;
        }
        has_reverse |= is_reverse;
        has_with |= is_with;
        if (is_reverse ? !reverse_of(c, a, &s->reverse) : !reduction_of(c, a, &s->reduction))
            return false;
    }
    return true;
}

/* ---- steps of one's own ---------------------------------------------------------------------- */
/* Fields of pixels are computed by themselves. */
static bool mixes_fields(const TExpr *e, bool *seen)
{
    if (seen[e->id])
        return false;
    seen[e->id] = true;
    if (e->kind == TE_FIELD || e->kind == TE_STRUCT)
        return true;
    bool mixes = false;
    for (uint32_t i = 0; i < e->n_args && !mixes; i++)
        mixes = mixes_fields(e->arg[i], seen);
    return mixes;
}

/* The expression of the program with a and b standing for these; NULL after a diagnostic. */
static TExpr *combined(Checker *c, const AstExpr *e, TExpr *a, TExpr *b)
{
    const AstWindowMore *m = e->more;
    Scope *saved = c->at.scope;
    c->at.scope = tessi_scope_new(c, saved);
    const Name names[2] = { m->a, m->b };
    TExpr *const values[2] = { a, b };
    for (int i = 0; i < 2; i++) {
        Sym *sym = tessi_scope_add(c, names[i], SYM_OPERAND);
        if (sym)
            sym->operand = tessi_operand_scalar(values[i], e->span);
    }
    TExpr *r = number(c, m->combine, "the combination", e->name.text);
    c->at.scope = saved;
    if (r && b->type.kind == TT_STRUCT
        && mixes_fields(r, ARENA_NEW_ARRAY(c->a, bool, c->t->n_exprs + 1))) {
        CHECK_DIAG(c, DIAG_SCAN_FIELDS, m->combine->span, e->name.text);
        return NULL;
    }
    return r;
}

/* A value with steps of the type of the first result: that of all. False after a diagnostic. */
static bool give_steps(Checker *c, const AstExpr *e, const ScanCall *s, TValue *v)
{
    TExpr *start = number(c, e->more->start, "the start", e->name.text);
    TExpr *value = state(c, 0, s->image->type, s->span);
    TExpr *first = start ? combined(c, e, start, value) : NULL;
    if (!first)
        return false;
    const TType t = tessi_check_concrete(c, first)->type;
    TExpr *so_far = state(c, 1, t, s->span);
    TExpr *step = combined(c, e, so_far, value);
    TExpr *both = combined(c, e, so_far, state(c, 0, t, s->span));
    if (!step || !both || tessi_tt_is_error(t))
        return false;
    v->type = t;
    v->n_states = 1;
    v->expr = tessi_check_convert(c, step, t);
    v->start = tessi_check_convert(c, start, t);
    v->both = v->keys ? tessi_check_convert(c, both, t) : NULL;
    return !tessi_tt_is_error(v->expr->type) && !tessi_tt_is_error(v->start->type)
           && !(v->both && tessi_tt_is_error(v->both->type));
}

/* Running results; or the last of them, for each line. */
static TValue *steps(Checker *c, const AstExpr *e, const ScanCall *s, bool only_last)
{
    TValue *v = scan(c, s, s->image->type, only_last);
    return give_steps(c, e, s, v) ? v : NULL;
}

/* ---- recursive filters ----------------------------------------------------------------------- */
/* The type of the results: real, as of functions that are. */
static TExpr *real_value(Checker *c, const ScanCall *s)
{
    const TType t = tessi_reduced_type(c, REDUCE_MEAN, s->image->type);
    return tessi_check_convert(c, state(c, 0, s->image->type, s->span), t);
}

/* What a filter gives behind a line on which `x` has always stood. */
static TExpr *settled(Checker *c, Span span, TExpr *x, TExpr *b0, TExpr *const *a, uint32_t n)
{
    TExpr *rest = tessi_te_int(c, 1, span);
    for (uint32_t k = 0; k < n; k++)
        rest = tessi_check_binary(c, span, AST_OP_SUB, rest, a[k]);
    return tessi_check_binary(c, span, AST_OP_MUL, x,
                              tessi_check_binary(c, span, AST_OP_DIV, b0, rest));
}

static bool is_zero(const TExpr *e)
{
    return e->kind == TE_CONST && (tessi_tt_is_integer(e->type) ? !e->value.i : e->value.f == 0);
}

/* What the results before the first are: by the border rule, as if it had gone on for ever. */
static TExpr *filter_start(Checker *c, const AstExpr *e, const ScanCall *s, TExpr *b0,
                           TExpr *const *a, uint32_t n)
{
    TBorder border;
    TExpr *x = real_value(c, s);
    if (!tessi_check_borders(c, &e->args.at[0].borders, s->image->n_dims, s->span, &border)
        || !tessi_check_border_value(c, &border, s->image->type))
        return NULL;
    const Border rule = border.rule[s->dim];
    if (rule == BORDER_CLAMP)
        return settled(c, s->span, x, b0, a, n);
    if (rule != BORDER_CONSTANT) {
        Diag *d = CHECK_DIAG(c, DIAG_SCAN_BORDER, border.span, tessi_border_info(rule)->name);
        tessi_diag_help(c->d, d, "write %s(A:clamp, ..), or 'constant(v)'", e->name.text);
        return NULL;
    }
    TExpr *v = border.each[s->dim] ? border.each[s->dim] : border.outside;
    v = tessi_check_convert(c, v, x->type);
    return is_zero(v) ? v : settled(c, s->span, v, b0, a, n);
}

static TValue *filter(Checker *c, const AstExpr *e, const ScanCall *s)
{
    const uint32_t n = s->n - 3;
    TExpr *x = real_value(c, s), *coefficient[1 + MAX_SCAN_STATES];
    const TType t = x->type;
    TType one = t.kind == TT_STRUCT ? tessi_tt_field(t, 0) : t;
    for (uint32_t k = 0; k <= n; k++) {
        TExpr *v = number(c, e->args.at[2 + k].value, k ? "a" : "b0", e->name.text);
        if (!v)
            return NULL;
        coefficient[k] = tessi_check_convert(c, v, one);
        if (tessi_tt_is_error(coefficient[k]->type))
            return NULL;
    }
    TExpr *step = tessi_check_binary(c, s->span, AST_OP_MUL, coefficient[0], x);
    for (uint32_t k = n; k > 0; k--) /* the nearest last: all but that can be added before */
        step = tessi_check_binary(
            c, s->span, AST_OP_ADD, step,
            tessi_check_binary(c, s->span, AST_OP_MUL, coefficient[k], state(c, k, t, s->span)));
    TExpr *start = filter_start(c, e, s, coefficient[0], coefficient + 1, n);
    if (!start)
        return NULL;
    TValue *v = scan(c, s, t, false);
    v->n_states = (uint8_t)n;
    v->expr = tessi_check_convert(c, step, t);
    v->start = tessi_check_convert(c, start, t);
    return v;
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* The whole image: along the last dimension, then along the last of what is left. */
static TValue *reduce_all(Checker *c, const AstExpr *e, ScanCall s)
{
    TValue *v = NULL;
    for (uint32_t d = s.image->n_dims; d-- > 0;) {
        s.dim = d;
        v = steps(c, e, &s, true);
        if (!v)
            return NULL;
        s.image = v;
    }
    return v;
}

static TValue *reduce_by_keys(Checker *c, const AstExpr *e, const ScanCall *s)
{
    WholeKeys keys;
    if (!tessi_whole_keys(c, e, s->image, &keys))
        return NULL;
    TValue *v = tessi_value_new(c, TV_REDUCE, s->image->type, 1, s->span);
    v->base = s->image;
    v->reduction = s->reduction;
    tessi_whole_by_keys(&keys, v);
    return give_steps(c, e, s, v) ? v : NULL;
}

static TValue *cumulate(Checker *c, const AstExpr *e, ScanCall *s)
{
    if (e->more)
        return steps(c, e, s, false);
    if (s->reduction == REDUCE_SUM || s->reduction == REDUCE_PROD)
        s->image = tessi_bool_as_number(c, s->image, s->span);
    TValue *v = scan(c, s, tessi_reduced_type(c, s->reduction, s->image->type), false);
    v->reduction = s->reduction;
    return v;
}

/* How many arguments may be given by their position. */
static bool count_fits(Checker *c, const AstExpr *e, const ScanCall *s)
{
    const bool reduces = tessi_streq(e->name.text, "reduce");
    const bool filters = tessi_streq(e->name.text, "recursive");
    if (reduces && !e->more) {
        Diag *d = CHECK_DIAG(c, DIAG_SCAN_COMBINE, e->span);
        tessi_diag_help(c->d, d,
                        "write reduce(A, a, b : a + b, 0); along a dimension reduce(A, 0, a, b : "
                        "a + b, 0), by keys reduce(A, K, 16, a, b : a + b, 0)");
        return false;
    }
    const uint32_t least = filters ? 4 : reduces ? 1 : 2;
    const uint32_t most = filters ? 3 + MAX_SCAN_STATES : reduces ? 3 : 2;
    if (least <= s->n && s->n <= most)
        return true;
    CHECK_DIAG(c, DIAG_ARG_COUNT, e->span, e->name.text, (long long)(s->n < least ? least : most),
               (long long)s->n);
    return false;
}

Operand tessi_check_scan(Checker *c, const AstExpr *e)
{
    ScanCall s = { .span = e->span, .reduction = REDUCE_SUM };
    Operand o;
    const bool filters = tessi_streq(e->name.text, "recursive");
    if (!keywords(c, e, &s) || !count_fits(c, e, &s) || !tessi_whole_image(c, e, &o))
        return tessi_operand_error(e->span);
    for (uint32_t i = filters ? 1 : 0; i < e->args.n; i++)
        tessi_check_no_borders(c, &e->args.at[i].borders, i ? "a number" : "a whole image");
    s.image = o.image;
    if (s.n > 1 && (filters || s.n < 3)
        && !tessi_whole_dimension(c, e->args.at[1].value, s.image, &s.dim))
        return tessi_operand_error(e->span);
    TValue *v;
    if (filters)
        v = filter(c, e, &s);
    else if (tessi_streq(e->name.text, "cumulate"))
        v = cumulate(c, e, &s);
    else
        v = s.n == 1   ? reduce_all(c, e, s)
            : s.n == 2 ? steps(c, e, &s, true)
                       : reduce_by_keys(c, e, &s);
    return v ? tessi_operand_image(v, e->span) : tessi_operand_error(e->span);
}
