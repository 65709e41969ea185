/* Computed indices as functions of the point. */
#include "analysis/indices.h"

#include <math.h>

typedef struct Finder {
    const Graph *g;
    const ExprList *list;
    const int64_t *params;
    const Value *scalars; /* NULL: not known */
    const Affine *at;     /* by ExprId */
} Finder;

static bool is_fixed(const Affine *a)
{
    for (int d = 0; d < MAX_DIMS; d++)
        if (a->by[d] != 0)
            return false;
    return a->known;
}

/* p * a + q * b. */
static Affine mixed(const Affine *a, double p, const Affine *b, double q)
{
    Affine sum = { .known = a->known && b->known,
                   .whole = a->whole && b->whole && p == floor(p) && q == floor(q),
                   .add = p * a->add + q * b->add,
                   .vague = fabs(p) * a->vague + fabs(q) * b->vague };
    for (int d = 0; d < MAX_DIMS; d++)
        sum.by[d] = p * a->by[d] + q * b->by[d];
    return sum;
}

/* Rounded to a whole number, which changes it by `bias` on average. */
static Affine rounded(Affine a, double bias)
{
    a.add += a.whole ? 0 : bias;
    a.whole = true;
    return a;
}

static Affine quotient(const Affine *a, const Affine *b, bool integers)
{
    static const Affine nothing = { .known = true };
    if (!is_fixed(b) || b->add == 0)
        return (Affine){ .known = false };
    Affine q = mixed(a, 1 / b->add, &nothing, 0);
    q.whole = false;
    if (integers && is_fixed(a))
        q.add = trunc(q.add);
    else if (integers)
        q.add -= (fabs(b->add) - 1) / (2 * fabs(b->add));
    q.whole = integers;
    return q;
}

/* Beside a number, an extremum keeps an index inside: within the image it is the index. */
static Affine kept_inside(const Affine *a, const Affine *b)
{
    return is_fixed(a) ? *b : is_fixed(b) ? *a : (Affine){ .known = false };
}

static bool is_power_of_two(double x)
{
    int exponent;
    return x > 0 && frexp(x, &exponent) == 0.5;
}

/* The low bits of an index are the index, and the next one is added to them: `wrap` is made of these. */
static Affine of_bits(Op op, const Affine *a, const Affine *b)
{
    if (!is_fixed(b) || !is_power_of_two(op == OP_AND ? b->add + 1 : b->add))
        return (Affine){ .known = false };
    return mixed(a, 1, b, op == OP_AND ? 0 : 1);
}

static Affine of_op(const Expr *e, const Affine *a, const Affine *b, const Affine *c)
{
    static const Affine one = { .known = true, .whole = true, .add = 1 };
    const bool integers = !tessi_is_real(e->type);
    switch (e->op) {
    case OP_NEG: return mixed(a, -1, &one, 0);
    case OP_ADD: return mixed(a, 1, b, 1);
    case OP_SUB: return mixed(a, 1, b, -1);
    case OP_MUL:
        return is_fixed(b)   ? mixed(a, b->add, &one, 0)
               : is_fixed(a) ? mixed(b, a->add, &one, 0)
                             : (Affine){ .known = false };
    case OP_FMA: {
        const Affine product = is_fixed(b) ? mixed(a, b->add, &one, 0) : mixed(b, a->add, &one, 0);
        return is_fixed(a) || is_fixed(b) ? mixed(&product, 1, c, 1) : (Affine){ .known = false };
    }
    case OP_DIV: return quotient(a, b, integers);
    case OP_FLOOR:
    case OP_TRUNC: return rounded(*a, -0.5);
    case OP_CEIL: return rounded(*a, 0.5);
    case OP_ROUND: return rounded(*a, 0);
    case OP_MIN:
    case OP_MAX: return kept_inside(a, b);
    case OP_AND:
    case OP_XOR: return of_bits(e->op, a, b);
    default: return (Affine){ .known = false };
    }
}

/* Whether a condition chooses among the points of this window. */
static bool is_chosen_from(const Finder *f, WindowId window)
{
    VEC_FOREACH (const ExprId, id, f->list) {
        const Expr *e = tessi_expr(f->g, *id);
        if (e->kind == EXPR_WINDOW && e->window.v == window.v && e->n_args > 1)
            return true;
    }
    return false;
}

static Affine of_variable(const Finder *f, const Expr *e)
{
    const Window *w = tessi_window(f->g, e->window);
    const double lo = w->lo[e->ref], hi = w->hi[e->ref];
    return (Affine){ .known = true,
                     .whole = true,
                     .add = (lo + hi) / 2,
                     .vague = is_chosen_from(f, e->window) ? (hi - lo) / 2 : 0 };
}

static Affine of_number(ScalarType type, Value value)
{
    return (Affine){ .known = true,
                     .whole = !tessi_is_real(type),
                     .add = tessi_value_number(type, value) };
}

/* A function of real numbers that do not depend on the point: the cosine of an angle. */
static bool of_numbers(const Finder *f, const Expr *e, Affine *found)
{
    Value args[3];
    for (int k = 0; k < e->n_args; k++) {
        const Affine *a = &f->at[e->arg[k].v];
        if (!tessi_is_real(e->type) || tessi_expr(f->g, e->arg[k])->type != e->type || !is_fixed(a))
            return false;
        args[k] = tessi_value_real(a->add);
    }
    *found = of_number(e->type, tessi_eval(e->op, e->type, args));
    return true;
}

static Affine of_operation(const Finder *f, const Expr *e)
{
    static const Affine nothing = { .known = false };
    const Affine *arg[3] = { &nothing, &nothing, &nothing };
    Affine found;
    if (of_numbers(f, e, &found))
        return found;
    for (int k = 0; k < e->n_args; k++)
        arg[k] = &f->at[e->arg[k].v];
    return of_op(e, arg[0], arg[1], arg[2]);
}

static Affine of_expr(const Finder *f, const Expr *e)
{
    static const Affine nothing = { .known = false };
    int64_t n;
    switch (e->kind) {
    case EXPR_CONST: return of_number(e->type, e->value);
    case EXPR_SCALAR: return f->scalars ? of_number(e->type, f->scalars[e->ref]) : nothing;
    case EXPR_SIZE:
        if (!tessi_size_eval(f->g, e->size, f->params, &n))
            return nothing;
        return (Affine){ .known = true, .whole = true, .add = (double)n };
    case EXPR_INDEX: {
        Affine index = { .known = true, .whole = true };
        index.by[e->ref] = 1;
        return index;
    }
    case EXPR_WINVAR: return of_variable(f, e);
    case EXPR_CAST:
    case EXPR_SAT: {
        const Affine a = f->at[e->arg[0].v];
        return tessi_is_real(e->type) ? a : rounded(a, e->kind == EXPR_CAST ? -0.5 : 0);
    }
    case EXPR_OP: return of_operation(f, e);
    default: return nothing;
    }
}

void tessi_find_affine(const Graph *g, const ExprList *list, const int64_t *params,
                       const Value *scalars, Affine *at)
{
    const Finder f = { g, list, params, scalars, at };
    VEC_FOREACH (const ExprId, id, list)
        at[id->v] = of_expr(&f, tessi_expr(g, *id));
}
