/* Sizes in loops, and the little prover that shows reads to be inside without looking at numbers: a sum of sizes is
 * never negative when its atoms, replaced by their bounds one after another, leave a constant that is not. */
#include "loop/lower_state.h"

Lin tessi_lin_const(int64_t c)
{
    return (Lin){ .ok = true, .constant = c };
}

static void add_term(Lin *a, SizeId atom, int64_t coef)
{
    uint32_t i = 0;
    while (i < a->n && a->atom[i].v < atom.v)
        i++;
    if (i < a->n && a->atom[i].v == atom.v) {
        a->ok = a->ok && tessi_add_i64(a->coef[i], coef, &a->coef[i]);
        if (a->coef[i])
            return;
        a->n--;
        for (; i < a->n; i++) {
            a->atom[i] = a->atom[i + 1];
            a->coef[i] = a->coef[i + 1];
        }
        return;
    }
    if (!coef)
        return;
    if (a->n == LIN_MAX_TERMS) {
        a->ok = false;
        return;
    }
    for (uint32_t j = a->n; j > i; j--) {
        a->atom[j] = a->atom[j - 1];
        a->coef[j] = a->coef[j - 1];
    }
    a->atom[i] = atom;
    a->coef[i] = coef;
    a->n++;
}

Lin tessi_lin_size(const Graph *g, SizeId id)
{
    const Size *s = tessi_size(g, id);
    Lin a = tessi_lin_const(0);
    if (s->kind != SIZE_OF_AFFINE) {
        add_term(&a, id, 1);
        return a;
    }
    a.constant = s->constant;
    for (uint32_t i = 0; i < s->n_terms && a.ok; i++)
        add_term(&a, s->atom[i], s->coef[i]);
    return a;
}

Lin tessi_lin_add_scaled(const Lin *a, const Lin *b, int64_t k)
{
    Lin sum = *a;
    int64_t c;
    sum.ok = a->ok && b->ok && tessi_mul_i64(b->constant, k, &c)
             && tessi_add_i64(sum.constant, c, &sum.constant);
    for (uint32_t i = 0; i < b->n && sum.ok; i++) {
        if (!tessi_mul_i64(b->coef[i], k, &c))
            sum.ok = false;
        else
            add_term(&sum, b->atom[i], c);
    }
    return sum;
}

bool tessi_lin_same(const Lin *a, const Lin *b)
{
    if (!a->ok || !b->ok || a->n != b->n || a->constant != b->constant)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->atom[i].v != b->atom[i].v || a->coef[i] != b->coef[i])
            return false;
    return true;
}

/* a with term i removed and coef * bound put in its place. */
static Lin replaced(const Lin *a, uint32_t i, const Lin *bound, int64_t coef)
{
    Lin rest = *a;
    rest.n--;
    for (uint32_t j = i; j < rest.n; j++) {
        rest.atom[j] = a->atom[j + 1];
        rest.coef[j] = a->coef[j + 1];
    }
    return tessi_lin_add_scaled(&rest, bound, coef);
}

static bool never_negative(const Graph *g, const Lin *a, int *budget);

/* By another term that is a finer quotient of the same. */
static bool by_finer_quotient(const Graph *g, const Lin *a, uint32_t i, int *budget)
{
    for (uint32_t k = 0; k < a->n && a->coef[i] < 0; k++) {
        const int64_t shares = tessi_size_shares(g, a->atom[i], a->atom[k]);
        if (a->coef[k] < 0 || !shares || a->coef[i] % shares)
            continue;
        const Lin finer = tessi_lin_size(g, a->atom[k]);
        const Lin with_finer = replaced(a, i, &finer, a->coef[i] / shares);
        if (never_negative(g, &with_finer, budget))
            return true;
    }
    return false;
}

/* `budget` bounds the search. */
static bool never_negative(const Graph *g, const Lin *a, int *budget)
{
    if (!a->ok || --*budget < 0)
        return false;
    if (a->n == 0)
        return a->constant >= 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const Size *s = tessi_size(g, a->atom[i]);
        int64_t c = a->coef[i];
        if (s->kind == SIZE_OF_MIN || s->kind == SIZE_OF_MAX) {
            Lin x = tessi_lin_size(g, s->a), y = tessi_lin_size(g, s->b);
            Lin with_x = replaced(a, i, &x, c), with_y = replaced(a, i, &y, c);
            /* c * min(x, y) is at least (c < 0) or one of (c > 0) c*x and c*y; max is the mirror image. */
            bool either_bounds = (s->kind == SIZE_OF_MIN) == (c < 0);
            bool by_x = never_negative(g, &with_x, budget);
            if (either_bounds ? by_x : !by_x) {
                if (by_x)
                    return true;
                continue;
            }
            if (never_negative(g, &with_y, budget))
                return true;
        } else if (s->kind == SIZE_OF_FLOORDIV && by_finer_quotient(g, a, i, budget)) {
            return true;
        } else if (s->kind == SIZE_OF_FLOORDIV && c % s->constant == 0) {
            Lin x = tessi_lin_size(g, s->a);
            if (c > 0) /* floor(x / d) >= (x - (d - 1)) / d */
                x.ok = x.ok && tessi_sub_i64(x.constant, s->constant - 1, &x.constant);
            Lin with_x = replaced(a, i, &x, c / s->constant);
            if (never_negative(g, &with_x, budget))
                return true;
        }
    }
    return false;
}

bool tessi_lin_never_negative(const Graph *g, const Lin *a)
{
    int budget = 100;
    return never_negative(g, a, &budget);
}

LExprId tessi_l_int(Lower *l, int64_t i)
{
    return tessi_lexpr_index(l->p, i);
}

LExprId tessi_l_op(Lower *l, Op op, LExprId a, LExprId b)
{
    return tessi_lexpr_op(l->p, op, a, b, (LExprId){ 0 });
}

LExprId tessi_l_select(Lower *l, LExprId c, LExprId a, LExprId b)
{
    return tessi_lexpr_op(l->p, OP_SELECT, c, a, b);
}

LExprId tessi_l_reduced(Lower *l, Reduction r, LExprId so_far, LExprId v)
{
    const Op op = tessi_reduction_op(r);
    const bool first = op == OP_MIN || op == OP_MAX; /* v < so far ? v : so far passes over a NaN */
    return tessi_l_op(l, op, first ? v : so_far, first ? so_far : v);
}

/* sum + coef * atom, written as a subtraction when that reads better. */
static LExprId plus_term(Lower *l, LExprId sum, LExprId atom, int64_t coef)
{
    if (coef < 0 && coef != INT64_MIN)
        return tessi_l_op(l, OP_SUB, sum, tessi_l_op(l, OP_MUL, atom, tessi_l_int(l, -coef)));
    return tessi_l_op(l, OP_ADD, sum, tessi_l_op(l, OP_MUL, atom, tessi_l_int(l, coef)));
}

LExprId tessi_lower_size(Lower *l, SizeId id)
{
    if (l->size[id.v].v)
        return l->size[id.v];
    const Size *s = tessi_size(l->g, id);
    LExprId e = tessi_l_int(l, s->constant);
    switch (s->kind) {
    case SIZE_OF_AFFINE: {
        LExprId sum = tessi_l_int(l, 0);
        for (uint32_t i = 0; i < s->n_terms; i++)
            sum = plus_term(l, sum, tessi_lower_size(l, s->atom[i]), s->coef[i]);
        e = tessi_l_op(l, OP_ADD, sum, e);
        break;
    }
    case SIZE_OF_PARAM: e = tessi_lexpr_param(l->p, s->param); break;
    case SIZE_OF_FLOORDIV: e = tessi_l_op(l, OP_FLOORDIV, tessi_lower_size(l, s->a), e); break;
    case SIZE_OF_MIN:
    case SIZE_OF_MAX:
    case SIZE_OF_PRODUCT: {
        Op op = s->kind == SIZE_OF_MIN ? OP_MIN : s->kind == SIZE_OF_MAX ? OP_MAX : OP_MUL;
        LExprId a = tessi_lower_size(l, s->a);
        e = tessi_l_op(l, op, a, tessi_lower_size(l, s->b));
        break;
    }
    }
    l->size[id.v] = e;
    return e;
}

LExprId tessi_lower_lin(Lower *l, const Lin *a)
{
    LExprId sum = tessi_l_int(l, 0);
    for (uint32_t i = 0; i < a->n; i++)
        sum = plus_term(l, sum, tessi_lower_size(l, a->atom[i]), a->coef[i]);
    return tessi_l_op(l, OP_ADD, sum, tessi_l_int(l, a->constant));
}
