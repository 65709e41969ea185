/* Sizes as text, and the displacements of reads, in which window variables may be added to a size. */
#include "graph/graph_lex.h"
#include "graph/graph_text.h"

/* size + sum of coef * window variable */
typedef struct Sum {
    SizeId size;
    uint32_t n;
    AccessTerm term[MAX_ACCESS_TERMS];
} Sum;

static Sum read_sum(Reader *r);

static void scale(Reader *r, Sum *s, int64_t k)
{
    s->size = tessi_size_scale(r->g, s->size, k);
    for (uint32_t t = 0; t < s->n; t++) {
        int64_t coef = s->term[t].coef;
        if (!tessi_mul_i64(coef, k, &coef) || coef > INT32_MAX || coef < -INT32_MAX) {
            tessi_graph_read_fail(r, "a factor of a window variable is too large");
            return;
        }
        s->term[t].coef = (int32_t)coef;
    }
}

static void add(Reader *r, Sum *a, const Sum *b)
{
    a->size = tessi_size_add(r->g, a->size, b->size);
    for (uint32_t t = 0; t < b->n; t++) {
        if (a->n == MAX_ACCESS_TERMS) {
            tessi_graph_read_fail(r, "at most %d window variables are allowed in an index",
                                  MAX_ACCESS_TERMS);
            return;
        }
        a->term[a->n++] = b->term[t];
    }
}

static void multiply(Reader *r, Sum *a, const Sum *b)
{
    int64_t k;
    if (!b->n && tessi_size_is_const(r->g, b->size, &k)) {
        scale(r, a, k);
    } else if (!a->n && tessi_size_is_const(r->g, a->size, &k)) {
        *a = *b;
        scale(r, a, k);
    } else if (a->n || b->n) {
        tessi_graph_read_fail(r, "a window variable may be multiplied by constants only");
    } else {
        a->size = tessi_size_mul(r->g, a->size, b->size);
    }
}

static void divide(Reader *r, Sum *a, const Sum *b)
{
    int64_t k = 0;
    if (a->n || b->n || !tessi_size_is_const(r->g, b->size, &k) || k < 1) {
        tessi_graph_read_fail(r, "a size may be divided by a positive constant only");
        return;
    }
    a->size = tessi_size_floordiv(r->g, a->size, k);
}

static Sum read_extremum(Reader *r, bool is_min)
{
    tessi_graph_read_expect(r, "(");
    Sum a = read_sum(r);
    tessi_graph_read_expect(r, ",");
    Sum b = read_sum(r);
    tessi_graph_read_expect(r, ")");
    if (a.n || b.n)
        tessi_graph_read_fail(r, "window variables may only be added");
    a.size = is_min ? tessi_size_min(r->g, a.size, b.size) : tessi_size_max(r->g, a.size, b.size);
    return a;
}

static SizeId read_param(Reader *r)
{
    const char *name = tessi_graph_read_name(r, "a parameter");
    for (uint32_t k = 0; k < r->g->params.n; k++)
        if (tessi_streq(r->g->params.at[k].name, name))
            return tessi_size_param(r->g, k);
    tessi_graph_read_fail(r, "there is no parameter '%.40s'", name);
    return tessi_size_const(r->g, 0);
}

static Sum read_factor(Reader *r)
{
    Sum s = { .size = tessi_size_const(r->g, 0) };
    if (!tessi_graph_read_enter(r))
        return s;
    const Token t = r->token;
    if (tessi_graph_read_accept(r, "-")) {
        s = read_factor(r);
        scale(r, &s, -1);
    } else if (tessi_graph_read_accept(r, "(")) {
        s = read_sum(r);
        tessi_graph_read_expect(r, ")");
    } else if (tessi_graph_read_accept(r, "min")) {
        s = read_extremum(r, true);
    } else if (tessi_graph_read_accept(r, "max")) {
        s = read_extremum(r, false);
    } else if (t.kind == TOKEN_INTEGER) {
        s.size = tessi_size_const(r->g, tessi_graph_read_integer(r, 0, INT64_MAX));
    } else if (t.kind == TOKEN_WINVAR) {
        WindowId w = r->window[t.level];
        if (!w.v || t.integer >= tessi_window(r->g, w)->n_vars)
            tessi_graph_read_fail(r, "a window variable stands outside its window");
        tessi_graph_read_next(r);
        s.n = 1;
        s.term[0] = (AccessTerm){ .window = w, .var = (uint8_t)t.integer, .coef = 1 };
    } else {
        s.size = read_param(r);
    }
    tessi_graph_read_leave(r);
    return s;
}

static Sum read_product(Reader *r)
{
    Sum s = read_factor(r);
    while (!r->failed) {
        bool times = tessi_graph_read_accept(r, "*");
        if (!times && !tessi_graph_read_accept(r, "/"))
            break;
        Sum factor = read_factor(r);
        if (times)
            multiply(r, &s, &factor);
        else
            divide(r, &s, &factor);
    }
    return s;
}

static Sum read_sum(Reader *r)
{
    Sum s = read_product(r);
    while (!r->failed) {
        bool minus = tessi_graph_read_accept(r, "-");
        if (!minus && !tessi_graph_read_accept(r, "+"))
            break;
        Sum term = read_product(r);
        if (minus)
            scale(r, &term, -1);
        add(r, &s, &term);
    }
    return s;
}

SizeId tessi_graph_read_size(Reader *r)
{
    Sum s = read_sum(r);
    if (s.n)
        tessi_graph_read_fail(r, "a window variable has no place in a size");
    return s.size;
}

void tessi_graph_read_displacement(Reader *r, AccessDim *d)
{
    Sum s = read_sum(r);
    d->add = s.size;
    d->n_terms = (uint8_t)s.n;
    for (uint32_t t = 0; t < s.n; t++)
        d->term[t] = s.term[t];
}
