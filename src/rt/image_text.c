/* Small arrays as text, for people and tables: .csv with commas, .txt with blanks. A row of numbers a line; of one
 * dimension a number a line; channels of points side by side. Numbers have as many digits as it takes to read the
 * same value again. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 1 << 20, LONGEST_NUMBER = 63 };

/* ---- Numbers ---- */

/* What this process's locale writes before the fraction. */
static char point_of_locale(void)
{
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    return half[1];
}

static void print_real(double x, int least, int most, float (*narrow)(double), char *text,
                       size_t size)
{
    if (isnan(x)) {
        snprintf(text, size, "nan");
        return;
    }
    for (int digits = least; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, x);
        const double back = strtod(text, NULL);
        if (narrow ? narrow(back) == (float)x : back == x)
            break;
    }
    char *point = strchr(text, point_of_locale());
    if (point)
        *point = '.';
}

static float to_float(double x)
{
    return (float)x;
}

void tessi_number_text(ScalarType t, const void *element, char *text, size_t size)
{
    const Value v = tessi_load_element(t, element);
    if (!tessi_is_real(t))
        snprintf(text, size, t == TYPE_U64 ? "%" PRIu64 : "%" PRId64, v.i);
    else if (t == TYPE_F64)
        print_real(v.f, 15, 17, NULL, text, size);
    else
        print_real(v.f, t == TYPE_F16 ? 4 : 6, 9, to_float, text, size);
}

/* ---- Writing ---- */

static bool encode(const ImageRows *r, char between, RtOutput *out, Failure *f)
{
    const RtView *v = r->view;
    const int64_t n = r->n_rows * r->width;
    const char *name = between == ',' ? "CSV" : "TXT";
    const bool channels = v->picture_dims > 0 && v->ndim > v->picture_dims;
    if (v->ndim > 2 || (v->ndim == 2 && channels && v->picture_dims != 1))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "%s holds arrays of one or two dimensions, and the image has %d%s; NPY "
                           "holds it",
                           name, channels ? v->picture_dims : v->ndim,
                           channels ? " and channels" : "");
    if (n > MOST_VALUES)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s is for small arrays, of at most %d values, and the image has %" PRId64
            "; NPY holds it",
            name, MOST_VALUES, n);
    const int64_t columns = v->ndim == 2 ? v->shape[1] : 1;
    const size_t bytes = (size_t)tessi_type_info(v->dtype)->bytes;
    for (int64_t i = 0; i < n && !out->error; i++) {
        char text[64];
        int64_t at = i / columns * v->strides[0];
        if (v->ndim == 2)
            at += i % columns * v->strides[1];
        tessi_number_text(v->dtype, (const char *)v->data + at * (int64_t)bytes, text, sizeof text);
        tessi_output_addf(out, "%s%c", text, i % columns == columns - 1 ? '\n' : between);
    }
    return true;
}

bool tessi_encode_csv(ImageRows *r, RtOutput *out, Failure *f)
{
    return encode(r, ',', out, f);
}

bool tessi_encode_txt(ImageRows *r, RtOutput *out, Failure *f)
{
    return encode(r, ' ', out, f);
}

/* ---- Reading ---- */

bool tessi_is_text_of_numbers(const uint8_t *bytes, size_t n)
{
    size_t i = 0;
    while (i < n && bytes[i] <= ' ' && bytes[i] && strchr(" \t\r\n", bytes[i]))
        i++;
    if (i == n || !strchr("+-.0123456789#", bytes[i]) || !bytes[i])
        return false;
    for (; i < n; i++)
        if (bytes[i] < ' ' ? !strchr("\t\r\n", bytes[i]) || !bytes[i] : bytes[i] > '~')
            return false;
    return true;
}

typedef struct Numbers {
    RtBytes values; /* doubles */
    int64_t line, columns, in_line, n;
    char word[LONGEST_NUMBER + 1];
    size_t length;
    bool behind_comma; /* a number must follow */
} Numbers;

static bool fail_line(const Numbers *a, const char *what, Failure *f)
{
    return tessi_failf(f, TESS_ERROR_FILE, "line %" PRId64 " %s", a->line, what);
}

static bool end_word(Numbers *a, char point, Failure *f)
{
    if (a->length == 0)
        return true;
    char *dot = strchr(a->word, '.'), *end;
    if (dot)
        *dot = point;
    const double x = strtod(a->word, &end);
    if (dot)
        *dot = '.';
    if (*end || strpbrk(a->word, "xXpP") || (dot && point != '.' && strchr(a->word, point)))
        return tessi_failf(f, TESS_ERROR_FILE, "line %" PRId64 " has '%s', which is no number",
                           a->line, a->word);
    if (a->n == MOST_VALUES)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "it has more than %d numbers; as text no more are read", MOST_VALUES);
    tessi_bytes_add(&a->values, &x, sizeof x);
    a->n++;
    a->in_line++;
    a->length = 0;
    memset(a->word, 0, sizeof a->word);
    a->behind_comma = false;
    return !a->values.failed || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

static bool end_line(Numbers *a, Failure *f)
{
    if (a->behind_comma)
        return fail_line(a, "ends in a comma", f);
    if (a->in_line) {
        if (a->columns && a->columns != a->in_line)
            return fail_line(a, "has another number of values than those before", f);
        a->columns = a->in_line;
    }
    a->in_line = 0;
    a->line++;
    return true;
}

static bool add_byte(Numbers *a, int c, char point, Failure *f)
{
    if (c == '\n')
        return end_word(a, point, f) && end_line(a, f);
    if (c == ' ' || c == '\t' || c == '\r')
        return end_word(a, point, f);
    if (c == ',' || c == ';') {
        if (!end_word(a, point, f))
            return false;
        if (a->in_line == 0 || a->behind_comma)
            return fail_line(a, "has a comma without a number before it", f);
        a->behind_comma = true;
        return true;
    }
    if (a->length == LONGEST_NUMBER)
        return fail_line(a, "has a word that is too long for a number", f);
    a->word[a->length++] = (char)c;
    return true;
}

static bool read_numbers(RtInput *in, Numbers *a, Failure *f)
{
    const char point = point_of_locale();
    a->line = 1;
    for (int c; (c = tessi_input_byte(in)) >= 0;) {
        while (c == '#') { /* to the end of the line */
            while (c >= 0 && c != '\n')
                c = tessi_input_byte(in);
        }
        if (c >= 0 && !add_byte(a, c, point, f))
            return false;
    }
    if (!end_word(a, point, f) || !end_line(a, f))
        return false;
    return a->n > 0 || tessi_failf(f, TESS_ERROR_FILE, "it has no numbers");
}

/* One row or one column is an array of one dimension where that is wanted. */
static ImageHead head_of(const Numbers *a, int ndim)
{
    const int64_t rows = a->n / a->columns;
    ImageHead h = { .type = TYPE_F64, .ndim = 2, .shape = { rows, a->columns }, .channels = 0 };
    if (ndim == 1 && (rows == 1 || a->columns == 1)) {
        h.ndim = 1;
        h.shape[0] = a->n;
    }
    return h;
}

bool tessi_decode_text(ImageDecode *d, Failure *f)
{
    Numbers a = { .line = 0 };
    bool ok = read_numbers(d->in, &a, f);
    if (ok) {
        const ImageHead head = head_of(&a, d->want->ndim);
        ok = tessi_decode_begin(d, &head, 1, a.values.n, f);
    }
    for (int64_t k = 0; ok && k < d->n_rows; k++) {
        memcpy(tessi_decode_row(d, k), a.values.at + (size_t)k * d->file_row, d->file_row);
        ok = tessi_decode_done(d, k, f);
    }
    tessi_bytes_dispose(&a.values);
    return ok;
}
