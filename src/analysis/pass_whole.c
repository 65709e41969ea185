/* Reals that are whole multiples of a power of two, and become integers in the end: the mean of four bytes as
 * `sat<uint8>((a + b + c + d) / 4.0)`, a mask of sixteenths. Where no operation ever rounds, the same is computed in
 * integers, of which a vector holds two to eight times as many:
 *
 *   sat<uint8>(cast<double>(s) * 0.25)   ->   sat<uint8>((s + 1 + ((s >> 2) & 1)) >> 2)
 *
 * Only where 16 bits hold all of it, or where doubles are saved; pass_narrow.c then finds the types. A product with
 * what is nearly one over a whole number becomes the quotient that it is for each value there can be: a mean of 25
 * bytes,
 *
 *   sat<uint8>(s * 0.04f)                ->   (s + 12) / 25
 *
 * Stages of such reals, as the sums of rows that a box is made of, become integers where all that reads them does. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/passes.h"
#include "graph/graph_passes.h"
#include "graph/graph_rewrite.h"
#include "graph/graph_walk.h"

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
    Multiples *
        stage; /* by StageId: whole numbers that a stage of reals has, which could become integers */
    bool *is_whole;
    uint8_t *
        seen; /* by ExprId: what was looked at for reads of these, as a real and as a whole number */
    bool asks; /* nothing is made yet */
    int left;  /* operations that may be looked at */
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

/* Sums of as many values, or of some of them. */
static bool of_window(const Rewrite *r, const Expr *e, int depth, Multiples *m)
{
    if (e->reduction != REDUCE_SUM || e->fused || e->ref || !of_value(r, e->arg[0], depth, m))
        return false;
    const double n = (double)tessi_window_points(tessi_window(r->from, e->window));
    *m = product(*m, n, 0);
    if (e->n_args > 1 && e->arg[1].v) {
        m->lo = fmin(m->lo, 0);
        m->hi = fmax(m->hi, 0);
    }
    return true;
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
    else if (e->kind == EXPR_WINDOW)
        is = of_window(r, e, depth + 1, m);
    else if (e->kind == EXPR_LOAD) {
        const uint32_t from = tessi_access(r->from, e->access)->producer.v;
        *m = ((const Whole *)r->user)->stage[from];
        is = ((const Whole *)r->user)->is_whole[from];
    } else if (e->kind == EXPR_CAST && tessi_is_integer(tessi_expr(r->from, e->arg[0])->type)) {
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

/* A read of a stage that has become one of integers. */
static ExprId load(Rewrite *r, const Expr *e)
{
    Access a = *tessi_access(r->from, e->access);
    for (uint8_t d = 0; d < a.n_dims; d++)
        if (a.dim[d].absolute)
            a.dim[d].index = tessi_expr_map_get(&r->map, a.dim[d].index);
    if (a.outside.v)
        a.outside = number(r, tessi_expr(r->from, a.outside)->value.f);
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

static ExprId whole(Rewrite *r, ExprId id, int power)
{
    const Expr e = *tessi_expr(r->from, id);
    if (e.kind == EXPR_CONST)
        return number(r, ldexp(e.value.f, -power));
    if (e.kind == EXPR_CAST || e.kind == EXPR_LOAD) {
        const ExprId n = e.kind == EXPR_LOAD ? load(r, &e) : tessi_expr_map_get(&r->map, e.arg[0]);
        return op(r, OP_MUL, tessi_expr_cast(r->to, TYPE_I32, n), number(r, ldexp(1, -power)));
    }
    if (e.kind == EXPR_WINDOW) {
        const ExprId where =
            e.n_args > 1 && e.arg[1].v ? tessi_expr_map_get(&r->map, e.arg[1]) : none;
        return tessi_expr_window(r->to, REDUCE_SUM, e.window, whole(r, e.arg[0], power), where);
    }
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
        return ((Whole *)r->user)->asks || tessi_expr_map_get(&r->map, e->arg[0]).v;
    if (e->kind == EXPR_WINDOW)
        return has_room(r, e->arg[0], power);
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

/* What a conversion is in integers. */
typedef enum FormKind { NO_FORM, QUOTIENT, MULTIPLE } FormKind;
typedef struct Form {
    FormKind kind;
    ExprId of;      /* the real */
    double add, by; /* quotients: (of + add) / by */
    int power;      /* multiples: so many digits of it are a fraction */
} Form;

/* A mean of three bytes, cast: the fraction is cut off, as quotients of integers have none, and what is no whole number
 * is too far from the next one to round to it, by numbers of less than 2^31. */
static bool is_quotient(const Rewrite *r, const Expr *e, const Expr *x, Form *form)
{
    Multiples m;
    if (e->kind != EXPR_CAST || x->op != OP_DIV || x->type != TYPE_F64)
        return false;
    const Expr *divisor = tessi_expr(r->from, x->arg[1]);
    const double by = divisor->kind == EXPR_CONST ? divisor->value.f : 0;
    if (!(by >= 1 && by < HALF_WORD) || by != floor(by) || !of_value(r, x->arg[0], 0, &m)
        || m.power < 0 || !has_room(r, x->arg[0], 0))
        return false;
    *form = (Form){ .kind = QUOTIENT, .of = x->arg[0], .by = by };
    return true;
}

/* Whether the conversion of n * c, or n / c, is (n + add) / by for each n. */
static bool is_the_same(const Expr *e, const Expr *x, double c, const Multiples *m, int add, int by)
{
    for (int n = (int)m->lo; n <= (int)m->hi; n++) {
        const double real = x->op == OP_MUL ? n * c : n / c,
                     rounded = x->type == TYPE_F32 ? (double)(float)real : real;
        const Value v = tessi_value_real(rounded), w = tessi_value_int((n + add) / by);
        const Value is = e->kind == EXPR_SAT ? tessi_eval_sat(e->type, x->type, v)
                                             : tessi_eval_cast(e->type, x->type, v);
        if (is.i != tessi_eval_sat(e->type, TYPE_I32, w).i)
            return false;
    }
    return true;
}

/* A product with what is nearly one over a whole number, or a quotient, of numbers so few that each is tried. */
static bool is_nearly_quotient(const Rewrite *r, const Expr *e, const Expr *x, Form *form)
{
    Multiples m;
    const int k = x->op == OP_MUL ? constant_of(r->from, x)
                  : x->op == OP_DIV && tessi_expr(r->from, x->arg[1])->kind == EXPR_CONST ? 1
                                                                                          : -1;
    if (k < 0 || tessi_type_info(e->type)->bytes > 2)
        return false;
    const double c = tessi_expr(r->from, x->arg[k])->value.f,
                 by = nearbyint(x->op == OP_MUL ? 1 / c : c);
    if (!(by >= 2 && by < HALF_WORD) || !of_value(r, x->arg[1 - k], 0, &m) || m.power < 0
        || m.lo < 0 || m.hi + by >= HALF_WORD || !has_room(r, x->arg[1 - k], 0))
        return false;
    const int add = e->kind == EXPR_SAT ? (int)by / 2 : 0;
    *form = (Form){ .kind = QUOTIENT, .of = x->arg[1 - k], .add = add, .by = by };
    return is_the_same(e, x, c, &m, add, (int)by);
}

/* A sum whose value an integer holds, of which a cast cuts nothing off but what is positive. */
static bool is_multiple(const Rewrite *r, const Expr *e, const Expr *x, Form *form)
{
    const ExprId real = e->arg[0];
    Multiples m;
    if (!of_value(r, real, 0, &m))
        return false;
    const int power = m.power < 0 ? -m.power : 0;
    const double lo = ldexp(m.lo, power), hi = ldexp(m.hi, power) + ldexp(1, power);
    const bool fits = lo >= 0 ? hi < HALF_WORD : -lo < HALF_WORD / 2 && hi < HALF_WORD / 2;
    *form = (Form){ .kind = MULTIPLE, .of = real, .power = power };
    return !((e->kind == EXPR_CAST && power && lo < 0) || power > 15
             || (!fits && x->type == TYPE_F32) || !has_room(r, real, -power));
}

/* What a conversion to an integer becomes; NO_FORM: it stays. Integers of more than 16 bits are a step on the way to
 * fewer, as where NumPy stores the low bits of a sum. */
static Form form_of(const Rewrite *r, const Expr *e)
{
    Whole *w = r->user;
    Form form = { 0 };
    if ((e->kind != EXPR_SAT && e->kind != EXPR_CAST) || !tessi_is_integer(e->type))
        return form;
    const Expr *x = tessi_expr(r->from, e->arg[0]);
    const bool wide = tessi_type_info(e->type)->bytes > 2,
               is_real = x->type == TYPE_F32 || x->type == TYPE_F64;
    if (!is_real || (x->kind != EXPR_OP && x->kind != EXPR_WINDOW)
        || (wide && (e->kind != EXPR_CAST || x->type != TYPE_F64 || tessi_is_unsigned(e->type))))
        return form;
    w->left = MOST_OPERATIONS;
    const bool is =
        (x->kind == EXPR_OP && (is_quotient(r, e, x, &form) || is_nearly_quotient(r, e, x, &form)))
        || is_multiple(r, e, x, &form);
    return is ? form : (Form){ 0 };
}

static ExprId multiple(Rewrite *r, const Expr *e, const Form *form)
{
    const int power = form->power;
    ExprId n = whole(r, form->of, -power);
    const ExprId digits = number(r, power);
    if (power && e->kind == EXPR_SAT) { /* to nearest, halves to even */
        const ExprId odd = op(r, OP_AND, op(r, OP_SHR, n, digits), number(r, 1));
        n = op(r, OP_ADD, op(r, OP_ADD, n, number(r, ldexp(1, power - 1) - 1)), odd);
    }
    return power ? op(r, OP_SHR, n, digits) : n;
}

static ExprId quotient(Rewrite *r, const Form *form)
{
    const ExprId n = whole(r, form->of, 0);
    return op(r, OP_DIV, form->add > 0 ? op(r, OP_ADD, n, number(r, form->add)) : n,
              number(r, form->by));
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    (void)id;
    Whole *w = r->user;
    if (e->kind == EXPR_LOAD && w->is_whole[tessi_access(r->from, e->access)->producer.v])
        return tessi_expr_cast(r->to, e->type, load(r, e)); /* which nobody reads in the end */
    const Form form = form_of(r, e);
    if (!form.kind)
        return tessi_rewrite_rebuild(r, e);
    w->any = true;
    return tessi_expr_sat(r->to, e->type,
                          form.kind == QUOTIENT ? quotient(r, &form) : multiple(r, e, &form));
}

/* ---- Stages ------------------------------------------------------------------------------------------------------ */

/* Values of a stage are whole, of few bits, and so is what is read outside of it. */
static bool is_whole_stage(const Rewrite *r, StageId id, Multiples *m)
{
    const Stage *s = tessi_stage(r->from, id);
    Whole *w = r->user;
    *m = (Multiples){ 0, HUGE_VAL, -HUGE_VAL };
    if (s->kind != STAGE_COMPUTE || (s->type != TYPE_F32 && s->type != TYPE_F64))
        return false;
    VEC_FOREACH (const Piece, p, &s->pieces) {
        Multiples x;
        w->left = MOST_OPERATIONS;
        if (!of_value(r, p->body, 0, &x) || x.power < 0 || !has_room(r, p->body, 0))
            return false;
        *m = (Multiples){ 0, fmin(m->lo, x.lo), fmax(m->hi, x.hi) };
    }
    for (uint32_t v = 1; v < r->from->accesses.n; v++) {
        const Access *a = &r->from->accesses.at[v];
        if (a->producer.v != id.v || !a->outside.v)
            continue;
        const Expr *e = tessi_expr(r->from, a->outside);
        if (e->kind != EXPR_CONST || e->value.f != floor(e->value.f))
            return false;
        *m = (Multiples){ 0, fmin(m->lo, e->value.f), fmax(m->hi, e->value.f) };
    }
    return m->lo >= 0 ? m->hi < HALF_WORD : -m->lo < HALF_WORD / 2 && m->hi < HALF_WORD / 2;
}

enum { AS_REAL = 1, AS_WHOLE = 2 };

/* Goes through what an expression is made of; stages that are read as reals stay. True when there is one. */
static bool read_as_real(const Rewrite *r, ExprId id, uint8_t as)
{
    Whole *w = r->user;
    const Expr *e = tessi_expr(r->from, id);
    if (w->seen[id.v] & as)
        return false;
    w->seen[id.v] |= as;
    bool found = false;
    if (e->kind == EXPR_LOAD && as == AS_REAL) {
        bool *is = &w->is_whole[tessi_access(r->from, e->access)->producer.v];
        found = *is;
        *is = false;
    }
    const Form form = as == AS_REAL ? form_of(r, e) : (Form){ 0 };
    if (form.kind)
        return read_as_real(r, form.of, AS_WHOLE) || found;
    const bool stays = as == AS_WHOLE && (e->kind == EXPR_OP || e->kind == EXPR_WINDOW);
    ExprId child[MAX_EXPR_CHILDREN];
    const uint32_t n = tessi_expr_children(r->from, e, child);
    for (uint32_t k = 0; k < n; k++)
        found |=
            read_as_real(r, child[k], stays && (e->kind == EXPR_OP || k == 0) ? AS_WHOLE : AS_REAL);
    return found;
}

static bool any_is_read_as_real(const Rewrite *r)
{
    const Whole *w = r->user;
    bool found = false;
    memset(w->seen, 0, r->from->exprs.n);
    GRAPH_FOREACH_STAGE (r->from, id)
        VEC_FOREACH (const Piece, p, &tessi_stage(r->from, id)->pieces)
            found |= read_as_real(r, p->body, w->is_whole[id.v] ? AS_WHOLE : AS_REAL);
    return found;
}

/* The stages of reals that become integers: those that are whole, and read by nothing but what does so too. */
static void find_stages(Rewrite *r, Arena *scratch)
{
    const Graph *g = r->from;
    Whole *w = r->user;
    bool *stays = tessi_stages_seen(g, scratch);
    w->stage = ARENA_NEW_ARRAY(scratch, Multiples, g->stages.n);
    w->is_whole = ARENA_NEW_ARRAY(scratch, bool, g->stages.n);
    w->seen = ARENA_NEW_ARRAY(scratch, uint8_t, g->exprs.n);
    w->asks = true;
    bool again = true;
    while (again) {
        memset(w->is_known, 0, g->exprs.n);
        GRAPH_FOREACH_STAGE (g, id)
            w->is_whole[id.v] = !stays[id.v] && is_whole_stage(r, id, &w->stage[id.v]);
        again = any_is_read_as_real(r);
        GRAPH_FOREACH_STAGE (g, id)
            stays[id.v] = !w->is_whole[id.v];
    }
    w->asks = false;
}

/* Stages of integers are computed so. */
static void retype(Rewrite *r, Graph *g, Arena *scratch)
{
    const Whole *w = r->user;
    ExprId **body = ARENA_NEW_ARRAY(scratch, ExprId *, g->stages.n);
    GRAPH_FOREACH_STAGE (g, id) {
        Stage *s = tessi_stage(g, id);
        if (!w->is_whole[id.v])
            continue;
        s->type = TYPE_I32;
        body[id.v] = ARENA_NEW_ARRAY(scratch, ExprId, s->pieces.n);
        for (uint32_t k = 0; k < s->pieces.n; k++)
            body[id.v][k] = s->pieces.at[k].body;
    }
    tessi_rewrite_bodies(g, r);
    GRAPH_FOREACH_STAGE (g, id)
        for (uint32_t k = 0; body[id.v] && k < tessi_stage(g, id)->pieces.n; k++) {
            const ExprId n = whole(r, body[id.v][k], 0);
            tessi_stage(g, id)->pieces.at[k].body = n;
        }
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
    find_stages(&r, scratch);
    retype(&r, to, scratch);
    if (w.any)
        tessi_pass_narrow(to, scratch);
    Graph *done = w.any ? tessi_graph_copy_live(to, a) : g;
    tessi_scratch_close(scratch);
    return done;
}
