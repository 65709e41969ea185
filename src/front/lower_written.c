/* front/lower_written: sums of weighted reads that are written out, X@[-1, 0] + 2 * X + X@[1, 0], of an image whose
 * points need not be valid, under `renormalise`: as lower_holes.c makes them of windows. What else is added to them
 * stays what it is. */
#include "front/lower_holes.h"

#include <math.h>

static const ExprId NONE = { 0 };

/* weight * value, of a sum; `image` is that of a read under `renormalise`, NULL of anything else. */
typedef struct Term {
    const TExpr *value;
    double weight;
    const TValue *image;
    int32_t field; /* -1: none is named */
    bool shared;   /* other reads of the image stand in for it */
} Term;

typedef struct Sum {
    Lower *l;
    LBody *b;
    uint32_t channel;
    ScalarType type;
    VEC(Term) terms;
} Sum;

/* The value of a number that is known; NaN: it is not. */
static double known(Sum *s, const TExpr *e)
{
    Value v;
    if (!e->is_static && e->kind != TE_CONST)
        return NAN;
    if (tessi_tt_is_untyped(e->type))
        return e->kind != TE_CONST            ? NAN
               : tessi_tt_is_integer(e->type) ? (double)e->value.i
                                              : e->value.f;
    const ExprId id = tessi_lower_expr(s->l, s->b, e, s->channel);
    if (!tessi_expr_is_const(s->l->g, id, &v))
        return NAN;
    return tessi_is_real(tessi_expr(s->l->g, id)->type) ? v.f : (double)v.i;
}

/* The read that a term is, perhaps of one field and in another type; else NULL. */
static const TExpr *read_of(const TExpr *e, int32_t *field)
{
    *field = -1;
    for (; e->kind == TE_CAST || e->kind == TE_FIELD; e = e->arg[0])
        if (e->kind == TE_FIELD)
            *field = (int32_t)e->slot;
    return e->kind == TE_READ && !e->read->absolute ? e : NULL;
}

static void add_term(Sum *s, const TExpr *e, double weight)
{
    Term t = { .value = e, .weight = weight };
    const TExpr *read = read_of(e, &t.field);
    const TCallArg *arg = read ? &s->b->call->args.at[read->slot] : NULL;
    if (arg && arg->border.missing.policy == MISSING_RENORMALISE && weight != 0
        && tessi_lower_valid_load(s->l, s->b, read).v)
        t.image = arg->image;
    VEC_PUSH(s->l->a, &s->terms, t);
}

static void collect(Sum *s, const TExpr *e, double weight)
{
    const bool real = tessi_is_real(s->type);
    double by = NAN;
    if (e->kind == TE_OP && (e->op == OP_ADD || e->op == OP_SUB)) {
        collect(s, e->arg[0], weight);
        collect(s, e->arg[1], e->op == OP_SUB ? -weight : weight);
        return;
    }
    if (e->kind == TE_OP && e->op == OP_NEG) {
        collect(s, e->arg[0], -weight);
        return;
    }
    if (e->kind == TE_OP && (e->op == OP_MUL || (e->op == OP_DIV && real))) {
        const bool first = e->op == OP_MUL && isfinite(by = known(s, e->arg[0]));
        by = first ? by : known(s, e->arg[1]);
        if (isfinite(by) && by != 0) {
            collect(s, e->arg[first], weight * (e->op == OP_DIV ? 1 / by : by));
            return;
        }
    }
    add_term(s, e, weight);
}

/* Whether other reads of its image stand in for the term. */
static bool is_shared(const Sum *s, const Term *t)
{
    VEC_FOREACH (const Term, other, &s->terms) {
        if (other != t && other->image == t->image && other->field == t->field)
            return t->image != NULL;
    }
    return false;
}

/* The terms of a sum of which some share an image; false: there are none such, or not to be told by their sign. */
static bool terms_of(Sum *s, const TExpr *e)
{
    bool some = false, below = false;
    if (!s->b->holes || s->b->fill != FILL_RAW || e->kind != TE_OP
        || (e->op != OP_ADD && e->op != OP_SUB))
        return false;
    collect(s, e, 1);
    VEC_FOREACH (Term, t, &s->terms) {
        t->shared = is_shared(s, t);
        some |= t->shared;
        below |= t->shared && t->weight < 0;
    }
    return some && !(below && tessi_is_unsigned(s->type));
}

static ExprId weighted(Sum *s, const Term *t, double weight, LFill fill)
{
    Lower *l = s->l;
    LBody *b = s->b;
    const LFill before = b->fill;
    const uint32_t epoch = b->epoch;
    if (fill != before) {
        b->fill = fill;
        b->epoch = ++l->epoch;
    }
    ExprId v = tessi_lower_expr(l, b, t->value, s->channel);
    b->fill = before;
    b->epoch = epoch;
    const ExprId w = tessi_expr_const(l->g, s->type, tessi_lower_weight_value(s->type, weight));
    return weight == 1 ? v : tessi_expr_op(l->g, OP_MUL, w, v, NONE);
}

static ExprId plus(Lower *l, ExprId sum, ExprId v)
{
    return sum.v ? tessi_expr_op(l->g, OP_ADD, sum, v, NONE) : v;
}

/* The terms of one image with weights of one sign; `first` is the first of them. */
static HoledPart part_of(Sum *s, const Term *first)
{
    HoledPart part = { .known = true };
    double all = 0;
    VEC_FOREACH (const Term, t, &s->terms) {
        if (!t->shared || t->image != first->image || t->field != first->field
            || (t->weight > 0) != (first->weight > 0))
            continue;
        part.values = plus(s->l, part.values, weighted(s, t, t->weight, FILL_ZERO));
        part.holding = plus(s->l, part.holding, weighted(s, t, t->weight, FILL_WEIGHT));
        all += t->weight;
    }
    part.all = tessi_expr_const(s->l->g, s->type, tessi_lower_weight_value(s->type, all));
    return part;
}

static bool is_first(const Sum *s, const Term *t)
{
    VEC_FOREACH (const Term, other, &s->terms) {
        if (other == t)
            return true;
        if (other->shared && other->image == t->image && other->field == t->field
            && (other->weight > 0) == (t->weight > 0))
            return false;
    }
    return true;
}

static ExprId scaled(Sum *s, const Term *first)
{
    const HoledPart part = part_of(s, first);
    return tessi_lower_scaled(s->l, s->type, &part);
}

static ExprId holds(Sum *s, const Term *first)
{
    const HoledPart part = part_of(s, first);
    return tessi_lower_part_holds(s->l, s->type, &part);
}

bool tessi_lower_written_sum(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ExprId *sum)
{
    Sum s = { .l = l, .b = b, .channel = channel };
    s.type = tessi_value_type(tessi_lower_field(e->type, channel));
    if (!terms_of(&s, e))
        return false;
    *sum = NONE;
    VEC_FOREACH (const Term, t, &s.terms) {
        if (t->shared && !is_first(&s, t))
            continue;
        const ExprId v = t->shared ? scaled(&s, t) : weighted(&s, t, t->weight, FILL_RAW);
        *sum = plus(l, *sum, v);
    }
    return true;
}

bool tessi_lower_written_validity(Lower *l, LBody *b, const TExpr *e, ExprId *valid)
{
    Sum s = { .l = l, .b = b };
    s.type = tessi_value_type(tessi_lower_field(e->type, 0));
    if (!terms_of(&s, e))
        return false;
    *valid = NONE;
    VEC_FOREACH (const Term, t, &s.terms) {
        if (t->shared && !is_first(&s, t))
            continue;
        const ExprId held =
            t->shared ? holds(&s, t) : tessi_lower_validity(l, b, t->value, ASKED_ENOUGH);
        *valid = tessi_lower_both(l, *valid, held);
    }
    return true;
}
