/* Sizes: integer expressions over the size parameters in one canonical form. A sum is kept as constant + sum of coef
 * * atom with the atoms in a fixed order, so that equal affine sizes get equal ids however they were written. The
 * order is structural, not that of ids: the text of a graph must not depend on the order in which its sizes were
 * made. */
#include <string.h>

#include "graph/graph.h"
#include "graph/graph_text.h"

/* A sum being formed; `bad` once something overflowed. */
typedef struct Affine {
    bool bad;
    int64_t constant;
    uint32_t n;
    int64_t *coef;
    SizeId *atom;
} Affine;

const Size *tessi_size(const Graph *g, SizeId id)
{
    return &g->sizes.at[id.v < g->sizes.n ? id.v : 0];
}

bool tessi_size_is_const(const Graph *g, SizeId id, int64_t *value)
{
    const Size *s = tessi_size(g, id);
    if (!tessi_size_is_valid(g, id) || s->kind != SIZE_OF_AFFINE || s->n_terms)
        return false;
    *value = s->constant;
    return true;
}

/* "No size" is the constant INT64_MIN, which no sound computation gives. */
bool tessi_size_is_valid(const Graph *g, SizeId id)
{
    const Size *s = tessi_size(g, id);
    return id.v && id.v < g->sizes.n
           && !(s->kind == SIZE_OF_AFFINE && !s->n_terms && s->constant == INT64_MIN);
}

/* ---- Interning ------------------------------------------------------------------------------- */
typedef struct SizeKey {
    const Graph *g;
    const Size *s;
} SizeKey;

static bool same_size(void *user, uint32_t id)
{
    const SizeKey *key = user;
    const Size *a = &key->g->sizes.at[id], *b = key->s;
    if (a->kind != b->kind || a->constant != b->constant || a->param != b->param || a->a.v != b->a.v
        || a->b.v != b->b.v || a->n_terms != b->n_terms)
        return false;
    for (uint32_t k = 0; k < a->n_terms; k++)
        if (a->coef[k] != b->coef[k] || a->atom[k].v != b->atom[k].v)
            return false;
    return true;
}

static SizeId no_size(Graph *g);

static SizeId intern_size(Graph *g, Size *s)
{
    uint64_t weight = 1;
    for (uint32_t k = 0; k < s->n_terms; k++)
        weight += tessi_size(g, s->atom[k])->weight;
    if (s->a.v)
        weight += tessi_size(g, s->a)->weight;
    if (s->b.v)
        weight += tessi_size(g, s->b)->weight;
    if (weight > MAX_SIZE_WEIGHT)
        return no_size(g);
    s->weight = (uint32_t)weight;

    uint64_t h = tessi_hash_u64((uint64_t)s->kind, (uint64_t)s->constant);
    h = tessi_hash_u64(h, s->param);
    h = tessi_hash_u64(h, s->a.v);
    h = tessi_hash_u64(h, s->b.v);
    for (uint32_t k = 0; k < s->n_terms; k++)
        h = tessi_hash_u64(tessi_hash_u64(h, (uint64_t)s->coef[k]), s->atom[k].v);
    SizeKey key = { g, s };
    uint32_t id = tessi_idmap_find(&g->size_map, h, same_size, &key);
    if (id)
        return (SizeId){ id };
    id = g->sizes.n;
    VEC_PUSH(g->arena, &g->sizes, *s);
    tessi_idmap_add(g->arena, &g->size_map, h, id);
    return (SizeId){ id };
}

SizeId tessi_size_const(Graph *g, int64_t c)
{
    return intern_size(g, &(Size){ .kind = SIZE_OF_AFFINE, .constant = c });
}

static SizeId no_size(Graph *g)
{
    return tessi_size_const(g, INT64_MIN);
}

SizeId tessi_size_param(Graph *g, uint32_t param)
{
    return intern_size(g, &(Size){ .kind = SIZE_OF_PARAM, .param = param });
}

/* ---- Order ----------------------------------------------------------------------------------- */
static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_sizes(const Graph *g, SizeId id_a, SizeId id_b)
{
    if (id_a.v == id_b.v)
        return 0;
    const Size *a = tessi_size(g, id_a), *b = tessi_size(g, id_b);
    int order = compare_i64(a->kind, b->kind);
    if (!order)
        order = compare_i64(a->param, b->param);
    if (!order && a->a.v && b->a.v)
        order = compare_sizes(g, a->a, b->a);
    if (!order && a->b.v && b->b.v)
        order = compare_sizes(g, a->b, b->b);
    if (!order)
        order = compare_i64(a->n_terms, b->n_terms);
    for (uint32_t k = 0; !order && k < a->n_terms; k++) {
        order = compare_sizes(g, a->atom[k], b->atom[k]);
        if (!order)
            order = compare_i64(a->coef[k], b->coef[k]);
    }
    return order ? order : compare_i64(a->constant, b->constant);
}

/* An operator whose arguments may change places. */
static SizeId intern_pair(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    bool in_order = compare_sizes(g, a, b) < 0;
    return intern_size(g, &(Size){ .kind = kind, .a = in_order ? a : b, .b = in_order ? b : a });
}

/* ---- Sums ------------------------------------------------------------------------------------ */
static Affine affine_new(Graph *g, uint32_t room)
{
    Affine f = { 0 };
    if (room > 2 * MAX_SIZE_WEIGHT)
        f.bad = true;
    else if (room) {
        f.coef = ARENA_NEW_ARRAY(g->arena, int64_t, room);
        f.atom = ARENA_NEW_ARRAY(g->arena, SizeId, room);
    }
    return f;
}

/* The terms of a size: an atom is the sum of itself. */
static uint32_t terms_of(const Graph *g, SizeId id)
{
    const Size *s = tessi_size(g, id);
    return s->kind == SIZE_OF_AFFINE ? s->n_terms : 1;
}
static SizeId atom_of(const Graph *g, SizeId id, uint32_t k)
{
    const Size *s = tessi_size(g, id);
    return s->kind == SIZE_OF_AFFINE ? s->atom[k] : id;
}
static int64_t coef_of(const Graph *g, SizeId id, uint32_t k)
{
    const Size *s = tessi_size(g, id);
    return s->kind == SIZE_OF_AFFINE ? s->coef[k] : 1;
}
static int64_t constant_of(const Graph *g, SizeId id)
{
    const Size *s = tessi_size(g, id);
    return s->kind == SIZE_OF_AFFINE ? s->constant : 0;
}

static void push_term(Affine *f, SizeId atom, int64_t coef)
{
    if (!coef)
        return;
    f->atom[f->n] = atom;
    f->coef[f->n++] = coef;
}

static SizeId affine_done(Graph *g, const Affine *f)
{
    if (f->bad || f->constant == INT64_MIN)
        return no_size(g);
    if (f->n == 1 && f->coef[0] == 1 && f->constant == 0)
        return f->atom[0];
    return intern_size(g, &(Size){ .kind = SIZE_OF_AFFINE,
                                   .constant = f->constant,
                                   .n_terms = f->n,
                                   .coef = f->coef,
                                   .atom = f->atom });
}

/* a + k * b, merging the two sorted lists of terms. */
static SizeId add_scaled(Graph *g, SizeId a, SizeId b, int64_t k)
{
    if (!tessi_size_is_valid(g, a) || !tessi_size_is_valid(g, b))
        return no_size(g);
    uint32_t na = terms_of(g, a), nb = terms_of(g, b), i = 0, j = 0;
    Affine f = affine_new(g, na + nb);
    int64_t scaled;
    if (f.bad || !tessi_mul_i64(constant_of(g, b), k, &scaled)
        || !tessi_add_i64(constant_of(g, a), scaled, &f.constant))
        return no_size(g);
    while (i < na || j < nb) {
        int order = i == na   ? 1
                    : j == nb ? -1
                              : compare_sizes(g, atom_of(g, a, i), atom_of(g, b, j));
        SizeId atom = order <= 0 ? atom_of(g, a, i) : atom_of(g, b, j);
        int64_t coef = order <= 0 ? coef_of(g, a, i++) : 0, from_b = 0;
        if (order >= 0 && !tessi_mul_i64(coef_of(g, b, j++), k, &from_b))
            return no_size(g);
        if (!tessi_add_i64(coef, from_b, &coef))
            return no_size(g);
        push_term(&f, atom, coef);
    }
    return affine_done(g, &f);
}

SizeId tessi_size_add(Graph *g, SizeId a, SizeId b)
{
    return add_scaled(g, a, b, 1);
}

SizeId tessi_size_sub(Graph *g, SizeId a, SizeId b)
{
    return add_scaled(g, a, b, -1);
}

SizeId tessi_size_scale(Graph *g, SizeId a, int64_t k)
{
    return add_scaled(g, tessi_size_const(g, 0), a, k);
}

SizeId tessi_size_mul(Graph *g, SizeId a, SizeId b)
{
    int64_t k;
    if (tessi_size_is_const(g, a, &k))
        return tessi_size_scale(g, b, k);
    if (tessi_size_is_const(g, b, &k))
        return tessi_size_scale(g, a, k);
    if (!tessi_size_is_valid(g, a) || !tessi_size_is_valid(g, b))
        return no_size(g);
    return intern_pair(g, SIZE_OF_PRODUCT, a, b);
}

/* ---- Division -------------------------------------------------------------------------------- */
static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* floor(rest / divisor) with every coefficient and the constant in 0..divisor-1. */
static SizeId floordiv_reduced(Graph *g, const Affine *rest, int64_t divisor)
{
    int64_t common = divisor;
    for (uint32_t k = 0; k < rest->n; k++)
        common = gcd(common, rest->coef[k]);
    Affine f = affine_new(g, rest->n);
    f.bad |= rest->bad;
    f.constant = rest->constant / common;
    for (uint32_t k = 0; k < rest->n && !f.bad; k++)
        push_term(&f, rest->atom[k], rest->coef[k] / common);
    SizeId inner = affine_done(g, &f);
    divisor /= common;
    if (divisor == 1 || !tessi_size_is_valid(g, inner))
        return inner;
    /* floor((floor(x / a) + c) / b) = floor((x + a * c) / (a * b)): pyramids stay flat. */
    const Size *quotient = f.n == 1 && f.coef[0] == 1 ? tessi_size(g, f.atom[0]) : NULL;
    int64_t shift, product;
    if (quotient && quotient->kind == SIZE_OF_FLOORDIV
        && tessi_mul_i64(quotient->constant, f.constant, &shift)
        && tessi_mul_i64(quotient->constant, divisor, &product)) {
        SizeId x = tessi_size_add(g, quotient->a, tessi_size_const(g, shift));
        return tessi_size_floordiv(g, x, product);
    }
    return intern_size(g, &(Size){ .kind = SIZE_OF_FLOORDIV, .constant = divisor, .a = inner });
}

SizeId tessi_size_floordiv(Graph *g, SizeId a, int64_t divisor)
{
    if (!tessi_size_is_valid(g, a) || divisor <= 0)
        return no_size(g);
    if (divisor == 1)
        return a;
    /* Whole multiples of the divisor leave the quotient. */
    uint32_t n = terms_of(g, a);
    Affine whole = affine_new(g, n), rest = affine_new(g, n);
    whole.constant = tessi_floordiv(constant_of(g, a), divisor);
    rest.constant = tessi_floormod(constant_of(g, a), divisor);
    for (uint32_t k = 0; k < n && !whole.bad; k++) {
        push_term(&whole, atom_of(g, a, k), tessi_floordiv(coef_of(g, a, k), divisor));
        push_term(&rest, atom_of(g, a, k), tessi_floormod(coef_of(g, a, k), divisor));
    }
    SizeId quotient = affine_done(g, &whole);
    if (rest.n == 0)
        return quotient;
    return tessi_size_add(g, quotient, floordiv_reduced(g, &rest, divisor));
}

SizeId tessi_size_ceildiv(Graph *g, SizeId a, int64_t divisor)
{
    if (divisor <= 0)
        return no_size(g);
    return tessi_size_floordiv(g, tessi_size_add(g, a, tessi_size_const(g, divisor - 1)), divisor);
}

/* ---- Extrema --------------------------------------------------------------------------------- */
/* Whether x is one of what the extremum `tree` is taken of. */
static bool is_among(const Graph *g, SizeKind kind, SizeId tree, SizeId x)
{
    const Size *s = tessi_size(g, tree);
    return tree.v == x.v
           || (s->kind == kind && (is_among(g, kind, s->a, x) || is_among(g, kind, s->b, x)));
}

/* Of x, an extremum or not, how many parts there are, and how many of them `tree` has too. */
static void count_among(const Graph *g, SizeKind kind, SizeId tree, SizeId x, int *parts,
                        int *among)
{
    const Size *s = tessi_size(g, x);
    if (s->kind == kind) {
        count_among(g, kind, tree, s->a, parts, among);
        count_among(g, kind, tree, s->b, parts, among);
        return;
    }
    *parts += 1;
    *among += is_among(g, kind, tree, x);
}

/* a is k * (b / k) for some k, and so at most b. */
static bool is_rounded_down(Graph *g, SizeId a, SizeId b)
{
    const Size *s = tessi_size(g, a);
    if (s->kind != SIZE_OF_AFFINE || s->constant || s->n_terms != 1 || s->coef[0] < 2)
        return false;
    const int64_t k = s->coef[0];
    return tessi_size_scale(g, tessi_size_floordiv(g, b, k), k).v == a.v;
}

static SizeId extremum(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    if (!tessi_size_is_valid(g, a) || !tessi_size_is_valid(g, b))
        return no_size(g);
    int64_t difference;
    if (tessi_size_is_const(g, tessi_size_sub(g, a, b), &difference))
        return (difference <= 0) == (kind == SIZE_OF_MIN) ? a : b;
    if (is_rounded_down(g, a, b))
        return kind == SIZE_OF_MIN ? a : b;
    if (is_rounded_down(g, b, a))
        return kind == SIZE_OF_MIN ? b : a;
    /* min(min(a, b), a) is min(a, b), so that sizes do not grow with the turns of a loop. */
    int parts_a = 0, parts_b = 0, a_in_b = 0, b_in_a = 0;
    count_among(g, kind, a, b, &parts_b, &b_in_a);
    count_among(g, kind, b, a, &parts_a, &a_in_b);
    if (b_in_a == parts_b)
        return a;
    if (a_in_b == parts_a)
        return b;
    if (b_in_a) { /* more than one part, so that b is an extremum */
        const Size s = *tessi_size(g, b);
        return extremum(g, kind, extremum(g, kind, a, s.a), s.b);
    }
    return intern_pair(g, kind, a, b);
}

SizeId tessi_size_min(Graph *g, SizeId a, SizeId b)
{
    return extremum(g, SIZE_OF_MIN, a, b);
}

SizeId tessi_size_max(Graph *g, SizeId a, SizeId b)
{
    return extremum(g, SIZE_OF_MAX, a, b);
}

/* ---- Evaluation: depth and time are bounded by MAX_SIZE_WEIGHT ------------------------------- */
bool tessi_size_eval(const Graph *g, SizeId id, const int64_t *params, int64_t *value)
{
    if (!tessi_size_is_valid(g, id))
        return false;
    const Size *s = tessi_size(g, id);
    int64_t a = 0, b = 0, term;
    if ((s->a.v && !tessi_size_eval(g, s->a, params, &a))
        || (s->b.v && !tessi_size_eval(g, s->b, params, &b)))
        return false;
    switch (s->kind) {
    case SIZE_OF_PARAM: *value = params[s->param]; return true;
    case SIZE_OF_FLOORDIV: *value = tessi_floordiv(a, s->constant); return true;
    case SIZE_OF_MIN: *value = a < b ? a : b; return true;
    case SIZE_OF_MAX: *value = a < b ? b : a; return true;
    case SIZE_OF_PRODUCT: return tessi_mul_i64(a, b, value);
    case SIZE_OF_AFFINE: break;
    }
    int64_t sum = s->constant;
    for (uint32_t k = 0; k < s->n_terms; k++)
        if (!tessi_size_eval(g, s->atom[k], params, &term)
            || !tessi_mul_i64(term, s->coef[k], &term) || !tessi_add_i64(sum, term, &sum))
            return false;
    *value = sum;
    return true;
}

/* ---- Text ------------------------------------------------------------------------------------ */
static void print_factor(const Graph *g, SizeId id, Text *out)
{
    const Size *s = tessi_size(g, id);
    bool is_sum = s->kind == SIZE_OF_AFFINE && (s->n_terms > 1 || (s->n_terms && s->constant));
    bool is_product = s->kind == SIZE_OF_PRODUCT || s->kind == SIZE_OF_FLOORDIV
                      || (s->kind == SIZE_OF_AFFINE && s->n_terms == 1);
    tessi_text_add(out, is_sum || is_product ? "(" : "");
    tessi_size_print(g, id, out);
    tessi_text_add(out, is_sum || is_product ? ")" : "");
}

static void print_sum(const Graph *g, const Size *s, Text *out)
{
    for (uint32_t k = 0; k < s->n_terms; k++) {
        int64_t coef = s->coef[k];
        const char *sign = coef < 0 ? (k ? " - " : "-") : (k ? " + " : "");
        tessi_text_add(out, sign);
        uint64_t magnitude = coef < 0 ? 0 - (uint64_t)coef : (uint64_t)coef;
        if (magnitude != 1)
            tessi_text_addf(out, "%llu*", (unsigned long long)magnitude);
        if (magnitude != 1 || coef < 0)
            print_factor(g, s->atom[k], out);
        else
            tessi_size_print(g, s->atom[k], out);
    }
    if (!s->n_terms)
        tessi_text_addf(out, "%lld", (long long)s->constant);
    else if (s->constant)
        tessi_text_addf(out, " %c %llu", s->constant < 0 ? '-' : '+',
                        s->constant < 0 ? 0 - (unsigned long long)s->constant
                                        : (unsigned long long)s->constant);
}

void tessi_size_print(const Graph *g, SizeId id, Text *out)
{
    const Size *s = tessi_size(g, id);
    if (!tessi_size_is_valid(g, id)) {
        tessi_text_add(out, "overflow");
        return;
    }
    switch (s->kind) {
    case SIZE_OF_AFFINE: print_sum(g, s, out); return;
    case SIZE_OF_PARAM:
        if (s->param < g->params.n)
            tessi_graph_print_name(g->params.at[s->param].name, out);
        else
            tessi_text_addf(out, "?%u", (unsigned)s->param);
        return;
    case SIZE_OF_FLOORDIV:
        print_factor(g, s->a, out);
        tessi_text_addf(out, " / %lld", (long long)s->constant);
        return;
    case SIZE_OF_PRODUCT:
        print_factor(g, s->a, out);
        tessi_text_add(out, " * ");
        print_factor(g, s->b, out);
        return;
    case SIZE_OF_MIN:
    case SIZE_OF_MAX:
        tessi_text_add(out, s->kind == SIZE_OF_MIN ? "min(" : "max(");
        tessi_size_print(g, s->a, out);
        tessi_text_add(out, ", ");
        tessi_size_print(g, s->b, out);
        tessi_text_add(out, ")");
        return;
    }
}
