/* Sums of products of bytes with constants, four in an instruction: what a point needs of the words that its row
 * stands in. */
#include "loop/lower_pack.h"

typedef struct Finder {
    Lower *l;
    const Words *words;
    const Fact *fact;
    Dots *dots;
} Finder;

static bool add_dot(Dots *dots, LExprId e, bool is_word, uint32_t element, int64_t coef)
{
    uint32_t i = 0;
    while (i < dots->n && (dots->at[i].e.v != e.v || dots->at[i].is_word != is_word))
        i++;
    if (i == MOST_DOTS)
        return false;
    if (i == dots->n)
        dots->at[dots->n++] = (Dot){ .e = e, .is_word = is_word };
    dots->at[i].coef[element] += coef;
    return true;
}

static bool add_scaled(const Finder *f, LExprId id, int64_t scale);

static bool add_operation(const Finder *f, const LExpr *e, int64_t scale)
{
    int64_t c;
    switch (e->op) {
    case OP_NEG: return add_scaled(f, e->arg[0], -scale);
    case OP_ADD: return add_scaled(f, e->arg[0], scale) && add_scaled(f, e->arg[1], scale);
    case OP_SUB: return add_scaled(f, e->arg[0], scale) && add_scaled(f, e->arg[1], -scale);
    case OP_SHL:
        return tessi_fact_constant(f->l, e->arg[1], &c)
               && add_scaled(f, e->arg[0], scale * ((int64_t)1 << c));
    case OP_MUL:
        if (tessi_fact_constant(f->l, e->arg[1], &c))
            return add_scaled(f, e->arg[0], scale * c);
        return tessi_fact_constant(f->l, e->arg[0], &c) && add_scaled(f, e->arg[1], scale * c);
    default: return false;
    }
}

/* Adds scale times an expression, whose operations are those of pairs: no result leaves its type. */
static bool add_scaled(const Finder *f, LExprId id, int64_t scale)
{
    const LExpr *e = tessi_lexpr(f->l->p, id);
    const InWord *in = tessi_in_word(f->l, f->words, id);
    int64_t c;
    if (tessi_fact_constant(f->l, id, &c)) {
        f->dots->constant += scale * c;
        return true;
    }
    if (in && e->type == TYPE_U8)
        return add_dot(f->dots, in->word, true, in->element, scale);
    if (f->fact[id.v].can)
        return e->kind == LEXPR_CAST ? add_scaled(f, e->arg[0], scale) : add_operation(f, e, scale);
    return e->kind == LEXPR_LOAD && tessi_is_number(e->type)
           && add_dot(f->dots, id, false, 0, scale);
}

bool tessi_dots_find(Lower *l, const Words *words, const Fact *fact, LExprId id, Dots *dots)
{
    const Finder f = { l, words, fact, dots };
    bool some = false;
    *dots = (Dots){ 0 };
    if (!add_scaled(&f, id, 1))
        return false;
    for (uint32_t i = 0; i < dots->n; i++) {
        some = some || dots->at[i].is_word;
        for (int b = 0; b < 4 && dots->at[i].is_word; b++)
            if (dots->at[i].coef[b] < INT8_MIN || dots->at[i].coef[b] > INT8_MAX)
                return false;
    }
    return some;
}

static LExprId word(const Lower *l, int64_t i)
{
    return tessi_lexpr_const(l->p, TYPE_U32, tessi_value_int((int64_t)(uint32_t)i));
}

LExprId tessi_dots_sum(Lower *l, const Dots *dots)
{
    LExprId sum = word(l, dots->constant);
    for (uint32_t i = 0; i < dots->n; i++) {
        const Dot *d = &dots->at[i];
        int64_t weights = 0;
        for (int b = 0; b < 4; b++)
            weights |= (d->coef[b] & 255) << 8 * b;
        if (d->is_word) {
            sum = tessi_lexpr_op(l->p, OP_DOT, d->e, word(l, weights), sum);
        } else {
            LExprId e = tessi_lexpr_cast(l->p, TYPE_U32, d->e);
            sum = tessi_l_op(l, OP_ADD, sum, tessi_l_op(l, OP_MUL, e, word(l, d->coef[0])));
        }
    }
    return sum;
}
