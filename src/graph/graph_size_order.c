/* A prover for sizes: a sum of sizes is never negative when its atoms, replaced by their bounds one after another,
 * leave a constant that is not. What it does not prove may hold all the same. */
#include "graph/graph.h"

enum { MOST_STEPS = 5 };

/* The size with its term k replaced by `times` times what is given. */
static SizeId replace_term(Graph *g, SizeId whole, SizeId atom, int64_t coef, SizeId by,
                           int64_t times)
{
    SizeId rest = tessi_size_sub(g, whole, tessi_size_scale(g, atom, coef));
    return tessi_size_add(g, rest, tessi_size_scale(g, by, times));
}

int64_t tessi_size_shares(const Graph *g, SizeId coarse, SizeId finer)
{
    const Size *c = tessi_size(g, coarse), *f = tessi_size(g, finer);
    return c->kind == SIZE_OF_FLOORDIV && f->kind == SIZE_OF_FLOORDIV && c->a.v == f->a.v
                   && c->constant % f->constant == 0
               ? c->constant / f->constant
               : 0;
}

static bool never_negative(Graph *g, SizeId d, int64_t least, int steps);

/* The sum with the quotient of term k, which is negative, replaced by what bounds it. */
static bool without_quotient(Graph *g, SizeId d, const Size *sum, uint32_t k, int64_t least,
                             int steps)
{
    const Size atom = *tessi_size(g, sum->atom[k]);
    const int64_t coef = sum->coef[k];
    for (uint32_t i = 0; i < sum->n_terms; i++) {
        const int64_t shares = tessi_size_shares(g, sum->atom[k], sum->atom[i]);
        if (sum->coef[i] > 0 && shares && coef % shares == 0
            && never_negative(g,
                              replace_term(g, d, sum->atom[k], coef, sum->atom[i], coef / shares),
                              least, steps))
            return true;
    }
    return coef % atom.constant == 0
           && never_negative(g,
                             replace_term(g, d, sum->atom[k], coef, atom.a, coef / atom.constant),
                             least, steps);
}

static bool sum_is_never_negative(Graph *g, SizeId d, int64_t least, int steps)
{
    const Size s = *tessi_size(g, d);
    int64_t low = s.constant; /* with every atom at its least */
    bool simple = true;
    for (uint32_t k = 0; k < s.n_terms && simple; k++) {
        const bool is_param = tessi_size(g, s.atom[k])->kind == SIZE_OF_PARAM;
        int64_t at_least = 0;
        simple = s.coef[k] > 0 && never_negative(g, s.atom[k], least, steps)
                 && (!is_param || tessi_mul_i64(s.coef[k], least, &at_least))
                 && tessi_add_i64(low, at_least, &low);
    }
    if (simple && low >= 0)
        return true;
    for (uint32_t k = 0; k < s.n_terms; k++) {
        const Size atom = *tessi_size(g, s.atom[k]);
        const int64_t coef = s.coef[k];
        if (atom.kind == SIZE_OF_FLOORDIV && coef < 0) {
            if (without_quotient(g, d, &s, k, least, steps))
                return true;
            continue;
        }
        if (atom.kind != SIZE_OF_MIN && atom.kind != SIZE_OF_MAX)
            continue;
        const bool either = (atom.kind == SIZE_OF_MIN) == (coef < 0);
        const bool first =
            never_negative(g, replace_term(g, d, s.atom[k], coef, atom.a, coef), least, steps);
        if (either ? first : !first)
            return first;
        return never_negative(g, replace_term(g, d, s.atom[k], coef, atom.b, coef), least, steps);
    }
    return false;
}

/* Of parameters that are `least` or more. */
static bool never_negative(Graph *g, SizeId d, int64_t least, int steps)
{
    int64_t c;
    if (!tessi_size_is_valid(g, d))
        return false;
    if (tessi_size_is_const(g, d, &c))
        return c >= 0;
    if (steps-- == 0)
        return false;
    const Size s = *tessi_size(g, d);
    switch (s.kind) {
    case SIZE_OF_PARAM: return true;
    case SIZE_OF_FLOORDIV: return never_negative(g, s.a, least, steps);
    case SIZE_OF_MIN:
        return never_negative(g, s.a, least, steps) && never_negative(g, s.b, least, steps);
    case SIZE_OF_MAX:
        return never_negative(g, s.a, least, steps) || never_negative(g, s.b, least, steps);
    case SIZE_OF_AFFINE: return sum_is_never_negative(g, d, least, steps);
    default: return false;
    }
}

bool tessi_size_never_negative(Graph *g, SizeId size, int64_t least)
{
    return never_negative(g, size, least, MOST_STEPS);
}
