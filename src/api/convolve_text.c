/* The program of a convolution, in Tessera's language; its border rules; and the type it adds up in. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "api/convolve.h"

/* ---- Border rules ---------------------------------------------------------------------------- */
typedef struct RuleReader {
    const char *at;
    Convolution *c;
    bool has_outside;
    const char *fault; /* NULL: none */
} RuleReader;

static bool accept(RuleReader *r, char wanted)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    if (*r->at != wanted)
        return false;
    r->at++;
    return true;
}

static bool read_outside(RuleReader *r)
{
    bool negative = accept(r, '-');
    size_t n = strspn(r->at, "0123456789.eE+-");
    double value;
    if (n == 0 || n > 255 || !tessi_read_real(r->at, n, false, &value)) {
        r->fault = "'constant(v)' takes a number";
        return false;
    }
    r->at += n;
    value = negative ? -value : value;
    if (!accept(r, ')')) {
        r->fault = "'constant(v)' takes a number";
        return false;
    }
    if (r->has_outside && value != r->c->outside) {
        r->fault = "all dimensions of an image have the same constant outside";
        return false;
    }
    r->c->outside = value;
    r->has_outside = true;
    return true;
}

static bool read_rule(RuleReader *r, int dim)
{
    char name[32];
    size_t n = 0;
    while (isspace((unsigned char)*r->at))
        r->at++;
    while (isalnum((unsigned char)r->at[n]))
        n++;
    Border rule = BORDER_INSIDE;
    if (n > 0 && n < sizeof name) {
        memcpy(name, r->at, n);
        name[n] = '\0';
        if (!tessi_border_by_name(name, &rule))
            rule = BORDER_INSIDE;
    }
    if (rule == BORDER_INSIDE) {
        r->fault = "the rules are clamp, mirror, reflect, wrap, constant(v) and none";
        return false;
    }
    r->at += n;
    r->c->rule[dim] = rule;
    return rule != BORDER_CONSTANT || !accept(r, '(') || read_outside(r);
}

static bool read_rules(RuleReader *r)
{
    if (!accept(r, '[')) {
        if (!read_rule(r, 0))
            return false;
        for (int d = 1; d < r->c->n_dims; d++)
            r->c->rule[d] = r->c->rule[0];
    } else {
        for (int d = 0; d < r->c->n_dims; d++) {
            if (!read_rule(r, d))
                return false;
            if (!accept(r, d + 1 < r->c->n_dims ? ',' : ']')) {
                r->fault = "a list has one rule for each dimension, as in [clamp, wrap]";
                return false;
            }
        }
    }
    if (!accept(r, '\0'))
        r->fault = "something follows the rule";
    return !r->fault;
}

bool tessi_convolution_border(Convolution *c, const char *text, Failure *f)
{
    RuleReader r = { .at = text ? text : "clamp", .c = c };
    return read_rules(&r)
           || tessi_failf(f, TESS_ERROR_ARGUMENT, "'%.100s' is not a border rule: %s", text,
                          r.fault);
}

/* ---- Types ----------------------------------------------------------------------------------- */
static double largest(ScalarType t)
{
    Interval range = tessi_type_range(t);
    if (t == TYPE_U64)
        return 0x1p64;
    return fmax(-(double)range.lo, (double)range.hi);
}

/* The largest sum of integers there can be. */
static double integer_bound(const Convolution *c)
{
    double bound = fmax(largest(c->image), fabs(c->outside));
    for (int m = 0; m < c->n_masks; m++) {
        double sum = 0;
        for (int64_t k = 0; k < c->mask[m].n; k++)
            sum += c->varying ? largest(c->mask[m].type) : fabs((double)c->mask[m].at[k].i);
        bound *= sum;
    }
    return bound;
}

static bool beyond_float(const Coefficients *m)
{
    for (int64_t k = 0; k < m->n && tessi_is_real(m->type); k++)
        if (fabs(m->at[k].f) > FLT_MAX)
            return true;
    return false;
}

ScalarType tessi_convolution_sum(const Convolution *c)
{
    bool real = tessi_is_real(c->image), large = false;
    for (int m = 0; m < c->n_masks; m++) {
        real = real || tessi_is_real(c->mask[m].type);
        large = large || beyond_float(&c->mask[m]);
    }
    bool narrow =
        tessi_is_real(c->image) ? c->image != TYPE_F64 : tessi_type_info(c->image)->bytes <= 2;
    if (real)
        return narrow && !large && c->out != TYPE_F64 ? TYPE_F32 : TYPE_F64;
    return integer_bound(c) <= (double)INT32_MAX ? TYPE_I32 : TYPE_I64;
}

/* ---- The program ----------------------------------------------------------------------------- */
static void add_number(Text *out, bool is_real, Value v)
{
    if (is_real)
        tessi_text_add_real(out, v.f, false);
    else if (v.i == INT64_MIN) /* its digits alone are too large a number */
        tessi_text_add(out, "-9223372036854775807 - 1");
    else
        tessi_text_addf(out, "%lld", (long long)v.i);
}

static void add_extents(const Coefficients *m, int n_dims, Text *out)
{
    for (int d = 0; d < n_dims; d++)
        tessi_text_addf(out, "%s%lld", d ? ", " : "[", (long long)m->shape[d]);
    tessi_text_add(out, "]");
}

static void add_open_extents(int m, int n_dims, Text *out)
{
    for (int d = 0; d < n_dims; d++)
        tessi_text_addf(out, "%sK%d_%d", d ? ", " : "[", m, d);
    tessi_text_add(out, "]");
}

static void add_mask(const Convolution *c, int m, Text *out)
{
    const Coefficients *mask = &c->mask[m];
    int64_t row = mask->shape[c->n_dims - 1];
    tessi_text_addf(out, "mask m%d", m);
    add_extents(mask, c->n_dims, out);
    tessi_text_add(out, " = {");
    for (int64_t k = 0; k < mask->n; k++) {
        tessi_text_add(out, k == 0 ? " " : k % row ? ", " : ",\n    ");
        add_number(out, tessi_is_real(mask->type), mask->at[k]);
    }
    tessi_text_add(out, " };\n");
}

/* The stencil that applies mask m; the last one gives the result. */
static void add_stencil(const Convolution *c, int m, Text *out)
{
    const char *sum = tessi_type_info(c->sum)->name, *to = tessi_type_info(c->out)->name;
    tessi_text_addf(out, "stencil convolved%d(vector#%d any X", m, c->n_dims);
    if (c->varying)
        tessi_text_addf(out, ", mask#%d %s m%d", c->n_dims, sum, m);
    tessi_text_add(out, ") { return ");
    bool saturates = tessi_is_integer(c->out);
    if (m + 1 < c->n_masks)
        tessi_text_addf(out, "convolve(X, m%d)", m);
    else
        tessi_text_addf(out, "%s<%s>(convolve(X, m%d))", saturates ? "sat" : "cast", to, m);
    tessi_text_add(out, "; }\n");
}

double tessi_convolution_outside(const Convolution *c, int m)
{
    double outside = c->outside;
    for (int k = 0; k < m; k++) {
        const Coefficients *mask = &c->mask[k];
        double sum = 0;
        for (int64_t i = 0; i < mask->n; i++)
            sum += tessi_is_real(mask->type) ? mask->at[i].f : (double)mask->at[i].i;
        outside *= sum;
    }
    return outside;
}

static bool is_whole(double x)
{
    return fabs(x) < 0x1p53 && x == trunc(x);
}

bool tessi_convolution_outside_fits(const Convolution *c, Failure *f)
{
    if (tessi_is_real(c->sum) || is_whole(c->outside))
        return true;
    return tessi_failf(f, TESS_ERROR_ARGUMENT,
                       "'constant(%g)' does not do for sums of integers: it takes whole numbers "
                       "there",
                       c->outside);
}

static void add_outside(double outside, Text *out)
{
    bool whole = is_whole(outside);
    tessi_text_add(out, "(");
    add_number(out, !whole, whole ? tessi_value_int((int64_t)outside) : tessi_value_real(outside));
    tessi_text_add(out, ")");
}

static void add_rules(const Convolution *c, int m, Text *out)
{
    for (int d = 0; d < c->n_dims; d++) {
        tessi_text_add(out, d ? ", " : ":[");
        tessi_text_add(out, tessi_border_info(c->rule[d])->name);
        if (c->rule[d] != BORDER_CONSTANT)
            continue;
        if (c->varying && m > 0)
            tessi_text_addf(out, "(outside%d)", m);
        else
            add_outside(tessi_convolution_outside(c, m), out);
    }
    tessi_text_add(out, "]");
}

static void add_inputs(const Convolution *c, Text *out)
{
    const char *type = tessi_type_info(c->image)->name;
    if (c->n_channels) {
        tessi_text_add(out, "struct pixel {");
        for (int k = 0; k < c->n_channels; k++)
            tessi_text_addf(out, " %s c%d;", type, k);
        tessi_text_add(out, " }\n");
        type = "pixel";
    }
    tessi_text_add(out, "parameter ");
    for (int d = 0; d < c->n_dims; d++)
        tessi_text_addf(out, "%sN%d", d ? ", " : "", d);
    tessi_text_addf(out, ";\nvector#%d %s image[", c->n_dims, type);
    for (int d = 0; d < c->n_dims; d++)
        tessi_text_addf(out, "%sN%d", d ? ", " : "", d);
    tessi_text_add(out, "];\n");
    for (int m = 0; m < c->n_masks && c->varying; m++) {
        const char *sum = tessi_type_info(c->sum)->name;
        for (int d = 0; d < c->n_dims && c->open; d++)
            tessi_text_addf(out, "parameter K%d_%d;\n", m, d);
        tessi_text_addf(out, "mask#%d %s m%d", c->n_dims, sum, m);
        if (c->open)
            add_open_extents(m, c->n_dims, out);
        else
            add_extents(&c->mask[m], c->n_dims, out);
        tessi_text_add(out, ";\n");
        if (m > 0)
            tessi_text_addf(out, "%s outside%d = 0;\n", sum, m);
    }
}

void tessi_convolution_text(const Convolution *c, Text *out)
{
    /* Coefficients are literals, which take the type of what they multiply. */
    bool widens = c->image != c->sum;
    for (int m = 0; m < c->n_masks && !c->varying; m++)
        add_mask(c, m, out);
    for (int m = 0; m < c->n_masks; m++)
        add_stencil(c, m, out);
    if (widens)
        tessi_text_addf(out, "stencil widened(vector#%d any X) { return cast<%s>(X); }\n",
                        c->n_dims, tessi_type_info(c->sum)->name);
    add_inputs(c, out);
    if (widens)
        tessi_text_add(out, "s0 = widened(image);\n");
    for (int m = 0; m < c->n_masks; m++) {
        tessi_text_addf(out, "s%d = convolved%d(", m + 1, m);
        if (m == 0 && !widens)
            tessi_text_add(out, "image");
        else
            tessi_text_addf(out, "s%d", m);
        add_rules(c, m, out);
        if (c->varying)
            tessi_text_addf(out, ", m%d", m);
        tessi_text_add(out, ");\n");
    }
    tessi_text_addf(out, "out = s%d;\nreturn out;\n", c->n_masks);
}
