/* Reals that are whole multiples of a power of two, and become integers in the end: the mean of four bytes as
 * `sat<uint8>((a + b + c + d) / 4.0)`, a mask of sixteenths. Where no operation ever rounds, the same is computed in
 * integers, of which a vector holds two to eight times as many:
 *
 *   sat<uint8>(cast<double>(s) * 0.25)   ->   sat<uint8>((s + 1 + ((s >> 2) & 1)) >> 2)
 *
 * Only where 16 bits hold all of it, or where doubles are saved; pass_narrow.c then finds the types. */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/passes.h"
#include "graph/graph_passes.h"
#include "graph/graph_rewrite.h"

enum { LEAST_POWER = -20, MOST_POWER = 20, DEEPEST = 200 };
enum { HALF_WORD = 1 << 16, MOST_WHOLE = 1 << 30 };
enum { MOST_OPERATIONS = 2000 }; /* of a value, those that are shared counted each time */

static const ExprId none = { 0 };

/* Values n * 2^power with a whole number n, from lo to hi. */
typedef struct Multiples {
    int power;
    double lo, hi;
} Multiples;

typedef struct Whole {
    const ValueRange *range; /* of the expressions there were */
    Multiples *known;        /* by ExprId, where `is_known` says YES */
    uint8_t *is_known;
    int left; /* operations that may be looked at */
    bool any;
} Whole;

static bool of_constant(double x, Multiples *m)
{
    if (!isfinite(x))
        return false;
    *m = (Multiples){ x == 0 ? 0 : tessi_power_in(x), x, x };
    return m->power >= LEAST_POWER;
}

static Multiples sum(Multiples a, Multiples b, int sign)
{
    return (Multiples){ a.power < b.power ? a.power : b.power, a.lo + (sign > 0 ? b.lo : -b.hi),
                        a.hi + (sign > 0 ? b.hi : -b.lo) };
}

static Multiples product(Multiples a, double factor, int power)
{
    const double x = a.lo * factor, y = a.hi * factor;
    return (Multiples){ a.power + power, x < y ? x : y, x < y ? y : x };
}

/* The operand of a product that is a constant; -1: none. */
static int constant_of(const Graph *g, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (tessi_expr(g, e->arg[k])->kind == EXPR_CONST)
            return k;
    return -1;
}

static bool of_value(const Rewrite *r, ExprId id, int depth, Multiples *m);

static bool of_product(const Rewrite *r, const Expr *e, int depth, Multiples *m)
{
    const int k = constant_of(r->from, e);
    Multiples a, factor;
    if (k < 0 || !of_value(r, e->arg[k], depth, &factor) || !of_value(r, e->arg[1 - k], depth, &a))
        return false;
    *m = product(a, factor.lo, factor.power);
    return true;
}

static bool of_op(const Rewrite *r, const Expr *e, int depth, Multiples *m)
{
    Multiples a, b;
    switch (e->op) {
    case OP_MUL: return of_product(r, e, depth, m);
    case OP_FMA:
        if (!of_product(r, e, depth, &a) || !of_value(r, e->arg[2], depth, &b))
            return false;
        *m = sum(a, b, 1);
        return true;
    case OP_ADD:
    case OP_SUB:
        if (!of_value(r, e->arg[0], depth, &a) || !of_value(r, e->arg[1], depth, &b))
            return false;
        *m = sum(a, b, e->op == OP_ADD ? 1 : -1);
        return true;
    case OP_NEG:
        if (!of_value(r, e->arg[0], depth, &a))
            return false;
        *m = (Multiples){ a.power, -a.hi, -a.lo };
        return true;
    default: return false;
    }
}

static bool find_value(const Rewrite *r, ExprId id, int depth, Multiples *m)
{
    const Expr *e = tessi_expr(r->from, id);
    bool is = false;
    if (depth > DEEPEST || (e->type != TYPE_F32 && e->type != TYPE_F64))
        return false;
    if (e->kind == EXPR_CONST)
        is = of_constant(e->value.f, m);
    else if (e->kind == EXPR_OP)
        is = of_op(r, e, depth + 1, m);
    else if (e->kind == EXPR_CAST && tessi_is_integer(tessi_expr(r->from, e->arg[0])->type)) {
        const Interval i = ((const Whole *)r->user)->range[e->arg[0].v].i;
        *m = (Multiples){ 0, (double)i.lo, (double)i.hi };
        is = true;
    }
    if (!is || m->power < LEAST_POWER || m->power > MOST_POWER)
        return false;
    const double most = ldexp(1, m->power + (e->type == TYPE_F32 ? 24 : 53));
    return -most <= m->lo && m->hi <= most;
}

/* Whether a real has such values, none of them rounded. */
static bool of_value(const Rewrite *r, ExprId id, int depth, Multiples *m)
{
    enum { UNKNOWN, YES, NO };
    const Whole *w = r->user;
    if (w->is_known[id.v] == UNKNOWN) {
        const bool is = find_value(r, id, depth, &w->known[id.v]);
        w->is_known[id.v] = is ? YES : NO;
    }
    *m = w->known[id.v];
    return w->is_known[id.v] == YES;
}

/* ---- In integers ------------------------------------------------------------------------------------------------- */

static ExprId number(Rewrite *r, double n)
{
    return tessi_expr_int(r->to, TYPE_I32, (int64_t)n);
}

static ExprId op(Rewrite *r, Op o, ExprId a, ExprId b)
{
    return tessi_expr_op(r->to, o, a, b, none);
}

/* The value over 2^power, modulo 2^32. */
static ExprId whole(Rewrite *r, ExprId id, int power);

static ExprId whole_product(Rewrite *r, const Expr *e, int power)
{
    const int k = constant_of(r->from, e);
    Multiples factor;
    of_value(r, e->arg[k], 0, &factor);
    const ExprId a = whole(r, e->arg[1 - k], power - factor.power);
    return op(r, OP_MUL, a, number(r, ldexp(factor.lo, -factor.power)));
}

static ExprId whole(Rewrite *r, ExprId id, int power)
{
    const Expr e = *tessi_expr(r->from, id);
    if (e.kind == EXPR_CONST)
        return number(r, ldexp(e.value.f, -power));
    if (e.kind == EXPR_CAST)
        return op(r, OP_MUL,
                  tessi_expr_cast(r->to, TYPE_I32, tessi_expr_map_get(&r->map, e.arg[0])),
                  number(r, ldexp(1, -power)));
    if (e.op == OP_MUL)
        return whole_product(r, &e, power);
    if (e.op == OP_FMA)
        return op(r, OP_ADD, whole_product(r, &e, power), whole(r, e.arg[2], power));
    if (e.op == OP_NEG)
        return tessi_expr_op(r->to, OP_NEG, whole(r, e.arg[0], power), none, none);
    return op(r, e.op, whole(r, e.arg[0], power), whole(r, e.arg[1], power));
}

/* No number on the way, of any size, is larger than 32 bits allow. */
static bool has_room(const Rewrite *r, ExprId id, int power)
{
    const Expr *e = tessi_expr(r->from, id);
    Multiples m;
    if (((Whole *)r->user)->left-- <= 0 || !of_value(r, id, 0, &m)
        || ldexp(m.hi, -power) > MOST_WHOLE || ldexp(m.lo, -power) < -MOST_WHOLE)
        return false;
    if (e->kind == EXPR_CAST)
        return tessi_expr_map_get(&r->map, e->arg[0]).v;
    if (e->kind != EXPR_OP)
        return true;
    const int k = e->op == OP_MUL || e->op == OP_FMA ? constant_of(r->from, e) : -1;
    Multiples factor;
    if (k >= 0) {
        of_value(r, e->arg[k], 0, &factor);
        return has_room(r, e->arg[1 - k], power - factor.power)
               && (e->op == OP_MUL || has_room(r, e->arg[2], power));
    }
    return has_room(r, e->arg[0], power) && (e->n_args < 2 || has_room(r, e->arg[1], power));
}

/* A mean of three bytes, cast: the fraction is cut off, as quotients of integers have none, and what is no whole number
 * is too far from the next one to round to it, by numbers of less than 2^31. */
static ExprId quotient(Rewrite *r, const Expr *e, const Expr *x)
{
    Multiples m;
    if (e->kind != EXPR_CAST || x->op != OP_DIV || x->type != TYPE_F64)
        return none;
    const Expr *divisor = tessi_expr(r->from, x->arg[1]);
    const double by = divisor->kind == EXPR_CONST ? divisor->value.f : 0;
    if (!(by >= 1 && by < HALF_WORD) || by != floor(by) || !of_value(r, x->arg[0], 0, &m)
        || m.power < 0 || !has_room(r, x->arg[0], 0))
        return none;
    return op(r, OP_DIV, whole(r, x->arg[0], 0), number(r, by));
}

/* A sum whose value an integer holds, of which a cast cuts nothing off but what is positive. */
static ExprId multiple(Rewrite *r, const Expr *e, const Expr *x)
{
    const ExprId real = e->arg[0];
    Multiples m;
    if (!of_value(r, real, 0, &m))
        return none;
    const int power = m.power < 0 ? -m.power : 0;
    const double lo = ldexp(m.lo, power), hi = ldexp(m.hi, power) + ldexp(1, power);
    const bool fits = lo >= 0 ? hi < HALF_WORD : -lo < HALF_WORD / 2 && hi < HALF_WORD / 2;
    if ((e->kind == EXPR_CAST && power && lo < 0) || power > 15 || (!fits && x->type == TYPE_F32)
        || !has_room(r, real, -power))
        return none;
    ExprId n = whole(r, real, -power);
    const ExprId digits = number(r, power);
    if (power && e->kind == EXPR_SAT) { /* to nearest, halves to even */
        const ExprId odd = op(r, OP_AND, op(r, OP_SHR, n, digits), number(r, 1));
        n = op(r, OP_ADD, op(r, OP_ADD, n, number(r, ldexp(1, power - 1) - 1)), odd);
    }
    return power ? op(r, OP_SHR, n, digits) : n;
}

/* What a conversion to an integer becomes; none: it stays. Integers of more than 16 bits are a step on the way to
 * fewer, as where NumPy stores the low bits of a sum. */
static ExprId converted(Rewrite *r, const Expr *e)
{
    Whole *w = r->user;
    const Expr *x = tessi_expr(r->from, e->arg[0]);
    const bool wide = tessi_type_info(e->type)->bytes > 2;
    if (!tessi_is_integer(e->type) || x->kind != EXPR_OP
        || (wide && (e->kind != EXPR_CAST || x->type != TYPE_F64 || tessi_is_unsigned(e->type))))
        return none;
    w->left = MOST_OPERATIONS;
    const ExprId by = quotient(r, e, x), n = by.v ? by : multiple(r, e, x);
    if (!n.v)
        return none;
    w->any = true;
    return tessi_expr_sat(r->to, e->type, n);
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    const ExprId n = e->kind == EXPR_SAT || e->kind == EXPR_CAST ? converted(r, e) : none;
    return n.v ? n : tessi_rewrite_rebuild(r, e);
}

Graph *tessi_graph_whole_numbers(Graph *g, Arena *a)
{
    Arena *scratch = tessi_scratch_open(a);
    Graph *to = tessi_graph_copy_live(g, scratch);
    Analysis an = { .g = to };
    tessi_analyse_ranges(&an, scratch);
    Whole w = { .range = an.expr_range };
    w.known = ARENA_NEW_ARRAY(scratch, Multiples, to->exprs.n);
    w.is_known = ARENA_NEW_ARRAY(scratch, uint8_t, to->exprs.n);
    Rewrite r;
    tessi_rewrite_init(&r, to, to, scratch);
    r.change = change;
    r.user = &w;
    tessi_rewrite_bodies(to, &r);
    if (w.any)
        tessi_pass_narrow(to, scratch);
    Graph *done = w.any ? tessi_graph_copy_live(to, a) : g;
    tessi_scratch_close(scratch);
    return done;
}
