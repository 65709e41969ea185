/* NPY: the array file of NumPy. Versions 1 to 3 are read, 1.0 is written. The header is a Python
 * dictionary of three entries, read by a parser of just that. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <string.h>

/* NumPy's letter and size of each type; the same table reads and writes. */
static const struct {
    char kind, size;
    ScalarType type;
} npy_types[] = {
    { 'b', '1', TYPE_BOOL }, { 'i', '1', TYPE_I8 },  { 'u', '1', TYPE_U8 },  { 'i', '2', TYPE_I16 },
    { 'u', '2', TYPE_U16 },  { 'i', '4', TYPE_I32 }, { 'u', '4', TYPE_U32 }, { 'i', '8', TYPE_I64 },
    { 'f', '2', TYPE_F16 },  { 'f', '4', TYPE_F32 }, { 'f', '8', TYPE_F64 },
};
enum { N_NPY_TYPES = sizeof npy_types / sizeof *npy_types };

typedef struct Header {
    char descr[16];
    bool fortran;
    int64_t shape[RT_IMAGE_DIMS];
    int ndim;
    bool has_descr, has_fortran, has_shape;
} Header;

typedef struct Cursor {
    const char *at, *end;
} Cursor;

static char peek(Cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
    return c->at < c->end ? *c->at : '\0';
}

static bool accept(Cursor *c, char want)
{
    if (peek(c) != want)
        return false;
    c->at++;
    return true;
}

static bool accept_word(Cursor *c, const char *word)
{
    size_t n = strlen(word);
    peek(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

static bool read_string(Cursor *c, char *out, size_t room)
{
    char quote = peek(c);
    if (quote != '\'' && quote != '"')
        return false;
    c->at++;
    size_t n = 0;
    for (; c->at < c->end && *c->at != quote; c->at++) {
        if (n + 1 >= room)
            return false;
        out[n++] = *c->at;
    }
    out[n] = 0;
    return accept(c, quote);
}

static bool read_size(Cursor *c, int64_t *out)
{
    char first = peek(c);
    if (first < '0' || first > '9')
        return false;
    int64_t x = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (!tessi_mul_i64(x, 10, &x) || !tessi_add_i64(x, *c->at - '0', &x))
            return false;
    if (c->at < c->end && *c->at == 'L') /* Python 2 */
        c->at++;
    *out = x;
    return true;
}

static bool read_shape(Cursor *c, Header *h)
{
    if (!accept(c, '('))
        return false;
    while (!accept(c, ')')) {
        int64_t size;
        if (!read_size(c, &size))
            return false;
        if (h->ndim < RT_IMAGE_DIMS)
            h->shape[h->ndim] = size;
        if (h->ndim <= RT_IMAGE_DIMS) /* one more is remembered as "too many" */
            h->ndim++;
        if (!accept(c, ',') && peek(c) != ')')
            return false;
    }
    return true;
}

static bool read_header(Cursor c, Header *h)
{
    if (!accept(&c, '{'))
        return false;
    while (!accept(&c, '}')) {
        char key[16];
        if (!read_string(&c, key, sizeof key) || !accept(&c, ':'))
            return false;
        if (tessi_streq(key, "descr") && !h->has_descr) {
            h->has_descr = true;
            if (peek(&c) == '[') { /* a structured type: refused later with the unknown types */
                strcpy(h->descr, "[...]");
                return true;
            }
            if (!read_string(&c, h->descr, sizeof h->descr))
                return false;
        } else if (tessi_streq(key, "fortran_order") && !h->has_fortran) {
            h->has_fortran = true;
            h->fortran = accept_word(&c, "True");
            if (!h->fortran && !accept_word(&c, "False"))
                return false;
        } else if (tessi_streq(key, "shape") && !h->has_shape) {
            h->has_shape = true;
            if (!read_shape(&c, h))
                return false;
        } else {
            return false;
        }
        if (!accept(&c, ',') && peek(&c) != '}')
            return false;
    }
    return h->has_descr && h->has_fortran && h->has_shape;
}

static bool type_of(const char *descr, ScalarType *t, bool *swap)
{
    if (strlen(descr) != 3 || !strchr("<>|=", descr[0]))
        return false;
    *swap = descr[0] == (tessi_little_endian() ? '>' : '<');
    for (int i = 0; i < N_NPY_TYPES; i++)
        if (descr[1] == npy_types[i].kind && descr[2] == npy_types[i].size) {
            *t = npy_types[i].type;
            return true;
        }
    return false;
}

/* Finds the header text; *data is where the elements begin. */
static bool find_header(const uint8_t *bytes, size_t n, Cursor *c, size_t *data)
{
    if (n < 10)
        return false;
    unsigned version = bytes[6];
    size_t begin = version == 1 ? 10 : 12, length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (version < 1 || version > 3 || n < begin)
        return false;
    if (version > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > n - begin)
        return false;
    *c = (Cursor){ (const char *)bytes + begin, (const char *)bytes + begin + length };
    *data = begin + length;
    return true;
}

bool tessi_decode_npy(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    Cursor c;
    size_t data;
    Header h = { 0 };
    if (!find_header(bytes, n, &c, &data) || !read_header(c, &h))
        return tessi_failf(f, TESS_ERROR_FILE, "its NPY header is broken or of a version after 3");
    ScalarType t;
    bool swap;
    if (!type_of(h.descr, &t, &swap))
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its elements are of NumPy type '%s'; images have bool, int8 to int64, uint8 to "
            "uint32 or float16 to float64",
            h.descr);
    if (h.fortran && h.ndim > 1)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its array is in Fortran order; save numpy.ascontiguousarray(a) instead");
    if (h.ndim < 1 || h.ndim > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its array has %s dimensions; images have 1 to %d",
                           h.ndim ? "too many" : "no", RT_IMAGE_DIMS);
    size_t need = tessi_type_info(t)->bytes;
    for (int d = 0; d < h.ndim; d++)
        if (!tessi_mul_size(need, (size_t)h.shape[d], &need))
            need = SIZE_MAX;
    if (need > n - data)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it is cut short: %zu bytes of elements where %s%zu are due", n - data,
                           need == SIZE_MAX ? "at least " : "", need);
    if (!tessi_image_alloc(image, t, h.ndim, h.shape, 0, f))
        return false;
    memcpy(image->data, bytes + data, image->bytes);
    if (swap)
        tessi_swap_bytes(image->data, (size_t)tessi_image_elements(image),
                         tessi_type_info(t)->bytes);
    if (t == TYPE_BOOL)
        for (size_t i = 0; i < image->bytes; i++)
            ((uint8_t *)image->data)[i] = ((uint8_t *)image->data)[i] != 0;
    return true;
}

bool tessi_encode_npy(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)f;
    char kind = 'b', size = '1';
    for (int i = 0; i < N_NPY_TYPES; i++)
        if (npy_types[i].type == image->dtype) {
            kind = npy_types[i].kind;
            size = npy_types[i].size;
        }
    char order = size == '1' ? '|' : tessi_little_endian() ? '<' : '>';
    RtBytes dict = { 0 };
    tessi_bytes_addf(&dict, "{'descr': '%c%c%c', 'fortran_order': False, 'shape': (", order, kind,
                     size);
    for (int d = 0; d < image->ndim; d++)
        tessi_bytes_addf(&dict, "%s%" PRId64, d ? ", " : "", image->shape[d]);
    tessi_bytes_addf(&dict, "%s), }", image->ndim == 1 ? "," : "");
    while (!dict.failed
           && (10 + dict.n + 1) % 64 != 0) /* elements begin at a multiple of 64 bytes */
        tessi_bytes_add(&dict, " ", 1);
    tessi_bytes_add(&dict, "\n", 1);

    const uint8_t start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)dict.n, (uint8_t)(dict.n >> 8)
    };
    tessi_bytes_add(out, start, sizeof start);
    if (dict.failed)
        out->failed = true;
    else
        tessi_bytes_add(out, dict.at, dict.n);
    tessi_bytes_add(out, image->data, image->bytes);
    tessi_bytes_dispose(&dict);
    return true;
}
