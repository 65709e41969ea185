/* What is known of integer expressions: their ranges, and whether pairs of them fit a word. */
#include "loop/lower_pack.h"

bool tessi_is_number(ScalarType t)
{
    return tessi_is_integer(t) && t != TYPE_INDEX && tessi_type_info(t)->bytes <= 4;
}

bool tessi_fact_fits(const Fact *f)
{
    return f->lo <= f->hi && (f->lo >= 0 ? f->hi < LANE : f->lo >= -LANE / 2 && f->hi < LANE / 2);
}

bool tessi_fact_quotient(int64_t most, int64_t d, int64_t *factor, int *shift)
{
    for (*shift = 16; *shift <= 24; *shift += 8) {
        const int64_t one = (int64_t)1 << *shift;
        *factor = (one + d - 1) / d;
        if (most * (*factor * d - one) < one && most * *factor <= UINT32_MAX
            && (*shift == 16 || most / d < 256))
            return true;
    }
    return false;
}

bool tessi_fact_constant(const Lower *l, LExprId id, int64_t *value)
{
    const LExpr *e = tessi_lexpr(l->p, id);
    *value = e->value.i;
    return e->kind == LEXPR_CONST && tessi_is_number(e->type);
}

Fact tessi_fact_around(const Fact *a, const Fact *b)
{
    return (Fact){ .lo = a->lo < b->lo ? a->lo : b->lo, .hi = a->hi > b->hi ? a->hi : b->hi };
}

/* The range of an operation on numbers that fit, and whether words have it; false when the range is not known. */
static bool of_operation(const Lower *l, const LExpr *e, const Fact *a, const Fact *b, Fact *f)
{
    int64_t c = 0, factor;
    int shift;
    const bool by = e->n_args > 1 && tessi_fact_constant(l, e->arg[1], &c);
    f->can = true;
    Interval i;
    if (tessi_op_interval(e->op, (Interval){ a->lo, a->hi }, (Interval){ b->lo, b->hi }, &i)) {
        f->lo = i.lo, f->hi = i.hi;
        f->can = e->op != OP_MUL || by || tessi_fact_constant(l, e->arg[0], &c);
        return true;
    }
    switch (e->op) {
    case OP_SHL:
        f->lo = a->lo * ((int64_t)1 << (c & 31)), f->hi = a->hi * ((int64_t)1 << (c & 31));
        return by && c >= 0 && c < 16;
    case OP_SHR:
        f->lo = a->lo >> (c & 31), f->hi = a->hi >> (c & 31);
        return by && a->lo >= 0 && c >= 0 && c < 16;
    case OP_DIV:
        if (!by || c < 1 || a->lo < 0)
            return false;
        f->lo = a->lo / c, f->hi = a->hi / c;
        f->can = tessi_fact_quotient(a->hi, c, &factor, &shift);
        return true;
    default: return false;
    }
}

Fact tessi_fact_of(Lower *l, const Fact *fact, LExprId id)
{
    const LExpr *e = tessi_lexpr(l->p, id);
    Fact f = { .lo = 1, .hi = 0 }, type = f;
    if (tessi_is_number(e->type)) {
        const Interval room = tessi_type_range(e->type);
        f.lo = type.lo = room.lo;
        f.hi = type.hi = room.hi;
    }
    if (e->kind == LEXPR_CONST && tessi_is_number(e->type))
        f.lo = f.hi = e->value.i;
    if ((e->kind != LEXPR_OP && e->kind != LEXPR_CAST && e->kind != LEXPR_SAT)
        || tessi_known(l, id)->let)
        return f;
    bool all = tessi_is_number(e->type);
    uint32_t weight = e->kind == LEXPR_OP;
    for (int i = 0; i < e->n_args; i++) {
        const Fact *a = &fact[e->arg[i].v];
        f.height = a->height >= f.height ? a->height + 1 : f.height;
        all = all && tessi_is_number(tessi_lexpr(l->p, e->arg[i])->type) && tessi_fact_fits(a);
        weight += a->weight;
    }
    const Fact *a = &fact[e->arg[0].v];
    Fact now = f;
    bool known = false;
    if (all && e->kind == LEXPR_CAST && !e->ref) {
        now.lo = a->lo, now.hi = a->hi;
        now.can = known = true;
    } else if (all && e->kind == LEXPR_OP && e->n_args < 3) {
        known = of_operation(l, e, a, e->n_args > 1 ? &fact[e->arg[1].v] : a, &now);
    }
    if (!known || now.lo < type.lo || now.hi > type.hi)
        return f; /* any value of its type */
    now.can = now.can && tessi_fact_fits(&now);
    now.weight = (uint8_t)(!now.can ? 0 : weight < UINT8_MAX ? weight : UINT8_MAX);
    return now;
}
