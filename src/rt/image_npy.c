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

/* A field of a structured type; the name points into the header. */
typedef struct NpyField {
    const char *name;
    size_t n_name;
    int64_t offset;
    ScalarType type;
    bool swap;
} NpyField;

typedef struct Header {
    char descr[16];
    bool structured;
    NpyField field[RT_IMAGE_CHANNELS];
    int n_fields;
    int64_t record_bytes;
    const char *odd; /* why the structured type cannot be read */
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

/* '|V3', with an empty name: bytes between fields. */
static bool gap_of(const char *descr, int64_t *bytes)
{
    Cursor c = { descr + 2, descr + strlen(descr) };
    return strncmp(descr, "|V", 2) == 0 && read_size(&c, bytes) && c.at == c.end;
}

/* ('name', '<f4'): false when the text is broken; what is sound but not ours is noted in `odd`. */
static bool read_field(Cursor *c, Header *h)
{
    char descr[16];
    if (!accept(c, '('))
        return false;
    const char quote = peek(c), *name = c->at + 1;
    if (quote == '(') { /* a title beside the name */
        h->odd = "has titles of fields";
        return true;
    }
    if (quote != '\'' && quote != '"')
        return false;
    for (c->at++; c->at < c->end && *c->at != quote; c->at++)
        ;
    NpyField field = { .name = name, .n_name = (size_t)(c->at - name), .offset = h->record_bytes };
    if (!accept(c, quote) || !accept(c, ','))
        return false;
    int64_t bytes = 0;
    if (peek(c) == '[') {
        h->odd = "has fields within fields";
        return true;
    }
    if (!read_string(c, descr, sizeof descr))
        return false;
    if (peek(c) == ',') {
        h->odd = "has fields that are arrays";
        return true;
    }
    if (type_of(descr, &field.type, &field.swap)) {
        bytes = (int64_t)tessi_type_info(field.type)->bytes;
        if (h->n_fields == RT_IMAGE_CHANNELS)
            h->odd = "has too many fields";
        else
            h->field[h->n_fields++] = field;
    } else if (field.n_name || !gap_of(descr, &bytes)) {
        h->odd = "has a field that is no number of a type that images have";
    }
    return accept(c, ')') && tessi_add_i64(h->record_bytes, bytes, &h->record_bytes);
}

static bool read_fields(Cursor *c, Header *h)
{
    h->structured = accept(c, '[');
    while (!h->odd && !accept(c, ']')) {
        if (!read_field(c, h) || (!h->odd && !accept(c, ',') && peek(c) != ']'))
            return false;
    }
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
            if (peek(&c) == '[') {
                if (!read_fields(&c, h))
                    return false;
                if (h->odd)
                    return true; /* refused, whatever follows */
            } else if (!read_string(&c, h->descr, sizeof h->descr))
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

static bool check_shape(const Header *h, size_t element, size_t n, Failure *f)
{
    if (h->fortran && h->ndim > 1)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its array is in Fortran order; save numpy.ascontiguousarray(a) instead");
    if (h->ndim < 1 || h->ndim > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its array has %s dimensions; images have 1 to %d",
                           h->ndim ? "too many" : "no", RT_IMAGE_DIMS);
    size_t need = element;
    for (int d = 0; d < h->ndim; d++)
        if (!tessi_mul_size(need, (size_t)h->shape[d], &need))
            need = SIZE_MAX;
    if (need > n)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it is cut short: %zu bytes of elements where %s%zu are due", n,
                           need == SIZE_MAX ? "at least " : "", need);
    return true;
}

/* Bytes as they stand in the file, to elements as they are computed with. */
static void settle(RtImage *image, bool swap)
{
    if (swap)
        tessi_swap_bytes(image->data, (size_t)tessi_image_elements(image),
                         tessi_type_info(image->dtype)->bytes);
    if (image->dtype == TYPE_BOOL)
        for (size_t i = 0; i < image->bytes; i++)
            ((uint8_t *)image->data)[i] = ((uint8_t *)image->data)[i] != 0;
}

/* ---- Structured types ---- */

static const NpyField *find_field(const Header *h, const RtRecord *want, int k, Failure *f)
{
    const char *name = want->field[k].name;
    RtBytes names = { 0 };
    if (!*name && h->n_fields == 1)
        return &h->field[0];
    for (int i = 0; i < h->n_fields; i++) {
        const NpyField *field = &h->field[i];
        if (*name && strlen(name) == field->n_name && memcmp(name, field->name, field->n_name) == 0)
            return field;
        tessi_bytes_addf(&names, "%s'%.*s'", i ? ", " : "", (int)field->n_name, field->name);
    }
    tessi_bytes_add(&names, "", 1);
    const char *have = names.failed ? "others" : (const char *)names.at;
    if (*name)
        tessi_failf(f, TESS_ERROR_ARGUMENT, "its pixels have no field '%.60s'; they have %.200s",
                    name, h->n_fields ? have : "none");
    else
        tessi_failf(f, TESS_ERROR_ARGUMENT,
                    "its pixels have %d fields (%.200s), and one value a pixel is needed",
                    h->n_fields, have);
    tessi_bytes_dispose(&names);
    return NULL;
}

/* One field of all pixels, in the type of the file. */
static bool take_field(const Header *h, const NpyField *field, const uint8_t *from, RtImage *plane,
                       Failure *f)
{
    const size_t bytes = tessi_type_info(field->type)->bytes;
    if (!tessi_image_alloc(plane, field->type, h->ndim, h->shape, 0, f))
        return false;
    const size_t n = (size_t)tessi_image_elements(plane);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)plane->data + i * bytes, from + i * (size_t)h->record_bytes + field->offset,
               bytes);
    settle(plane, field->swap);
    return true;
}

static bool alloc_pixels(const Header *h, const RtRecord *want, RtImage *image, Failure *f)
{
    const bool mixed = tessi_record_is_mixed(want);
    int64_t shape[RT_IMAGE_DIMS + 1];
    memcpy(shape, h->shape, sizeof h->shape);
    shape[h->ndim] = mixed ? (int64_t)tessi_record_bytes(want) : want->n;
    return tessi_image_alloc(image, mixed ? TYPE_U8 : want->field[0].type,
                             h->ndim + (want->n > 1 || *want->field[0].name), shape, 0, f);
}

static bool decode_records(const Header *h, const uint8_t *from, const RtRecord *want,
                           RtImage *image, Failure *f)
{
    if (h->ndim + 1 > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its array of records has too many dimensions; images have 1 to %d",
                           RT_IMAGE_DIMS - 1);
    if (!alloc_pixels(h, want, image, f))
        return false;
    const size_t pixel = tessi_record_bytes(want);
    size_t offset = 0;
    for (int k = 0; k < want->n; k++) {
        RtImage plane = { 0 };
        const ScalarType type = want->field[k].type;
        const size_t bytes = tessi_type_info(type)->bytes;
        const NpyField *field = find_field(h, want, k, f);
        if (!field || !take_field(h, field, from, &plane, f)
            || !tessi_image_convert(&plane, type, f)) {
            tessi_image_dispose(&plane);
            tessi_image_dispose(image);
            return false;
        }
        for (size_t i = 0, n = (size_t)tessi_image_elements(&plane); i < n; i++)
            memcpy((char *)image->data + i * pixel + offset, (char *)plane.data + i * bytes, bytes);
        offset += bytes;
        tessi_image_dispose(&plane);
    }
    return true;
}

static bool decode_structured(const Header *h, const uint8_t *from, size_t n, const RtRecord *want,
                              RtImage *image, Failure *f)
{
    if (h->odd)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its NumPy type %s; fields are bool, int8 to int64, uint8 to uint32 or "
                           "float16 to float64",
                           h->odd);
    if (!want)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its NumPy type has fields; images of one number an element are read");
    return check_shape(h, (size_t)h->record_bytes, n, f) && decode_records(h, from, want, image, f);
}

bool tessi_decode_npy(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    return tessi_decode_npy_as(bytes, n, NULL, image, f);
}

bool tessi_decode_npy_as(const uint8_t *bytes, size_t n, const RtRecord *want, RtImage *image,
                         Failure *f)
{
    Cursor c;
    size_t data;
    Header h = { 0 };
    if (!find_header(bytes, n, &c, &data) || !read_header(c, &h))
        return tessi_failf(f, TESS_ERROR_FILE, "its NPY header is broken or of a version after 3");
    if (h.structured)
        return decode_structured(&h, bytes + data, n - data, want, image, f);
    ScalarType t;
    bool swap;
    if (!type_of(h.descr, &t, &swap))
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its elements are of NumPy type '%s'; images have bool, int8 to int64, uint8 to "
            "uint32 or float16 to float64",
            h.descr);
    if (!check_shape(&h, tessi_type_info(t)->bytes, n - data, f)
        || !tessi_image_alloc(image, t, h.ndim, h.shape, 0, f))
        return false;
    memcpy(image->data, bytes + data, image->bytes);
    settle(image, swap);
    return true;
}

/* ---- Writing ---- */

/* '<f4' with its quotes. */
static void add_type(RtBytes *dict, ScalarType t)
{
    for (int i = 0; i < N_NPY_TYPES; i++) {
        const char size = npy_types[i].size;
        if (npy_types[i].type == t)
            tessi_bytes_addf(dict, "'%c%c%c'",
                             size == '1'             ? '|'
                             : tessi_little_endian() ? '<'
                                                     : '>',
                             npy_types[i].kind, size);
    }
}

/* Ends the dictionary that `dict` begins with the type, and puts it before the elements. Headers of more than 2^16 bytes are of version 2. */
static void finish(RtBytes *dict, const RtImage *image, int ndim, RtBytes *out)
{
    tessi_bytes_addf(dict, ", 'fortran_order': False, 'shape': (");
    for (int d = 0; d < ndim; d++)
        tessi_bytes_addf(dict, "%s%" PRId64, d ? ", " : "", image->shape[d]);
    tessi_bytes_addf(dict, "%s), }", ndim == 1 ? "," : "");
    const bool large = dict->n > UINT16_MAX - 64;
    const size_t begin = large ? 12 : 10;
    while (!dict->failed
           && (begin + dict->n + 1) % 64 != 0) /* elements begin at a multiple of 64 bytes */
        tessi_bytes_add(dict, " ", 1);
    tessi_bytes_add(dict, "\n", 1);

    const uint8_t start[12] = { 0x93,
                                'N',
                                'U',
                                'M',
                                'P',
                                'Y',
                                large ? 2 : 1,
                                0,
                                (uint8_t)dict->n,
                                (uint8_t)(dict->n >> 8),
                                (uint8_t)(dict->n >> 16),
                                (uint8_t)(dict->n >> 24) };
    tessi_bytes_add(out, start, begin);
    if (dict->failed)
        out->failed = true;
    else
        tessi_bytes_add(out, dict->at, dict->n);
    tessi_bytes_add(out, image->data, image->bytes);
    tessi_bytes_dispose(dict);
}

bool tessi_encode_npy(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)f;
    RtBytes dict = { 0 };
    tessi_bytes_addf(&dict, "{'descr': ");
    add_type(&dict, image->dtype);
    finish(&dict, image, image->ndim, out);
    return true;
}

bool tessi_encode_npy_records(const RtImage *image, const RtRecord *record, RtBytes *out)
{
    RtBytes dict = { 0 };
    tessi_bytes_addf(&dict, "{'descr': [");
    for (int k = 0; k < record->n; k++) {
        tessi_bytes_addf(&dict, "%s('", k ? ", " : "");
        tessi_bytes_add(&dict, record->field[k].name, strlen(record->field[k].name));
        tessi_bytes_addf(&dict, "', ");
        add_type(&dict, record->field[k].type);
        tessi_bytes_addf(&dict, ")");
    }
    tessi_bytes_addf(&dict, "]");
    finish(&dict, image, image->ndim - 1, out);
    return true;
}
