/* NPY: the array file of NumPy. Versions 1 to 3 are read, 1.0 is written. The header is a Python
 * dictionary of three entries, read by a parser of just that. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* NumPy's letter and size of each type; the same table reads and writes. */
static const struct {
    char kind, size;
    ScalarType type;
} npy_types[] = {
    { 'b', '1', TYPE_BOOL }, { 'i', '1', TYPE_I8 },  { 'u', '1', TYPE_U8 },  { 'i', '2', TYPE_I16 },
    { 'u', '2', TYPE_U16 },  { 'i', '4', TYPE_I32 }, { 'u', '4', TYPE_U32 }, { 'i', '8', TYPE_I64 },
    { 'u', '8', TYPE_U64 },  { 'f', '2', TYPE_F16 }, { 'f', '4', TYPE_F32 }, { 'f', '8', TYPE_F64 },
};
enum { N_NPY_TYPES = sizeof npy_types / sizeof *npy_types, LONGEST_HEADER = 1 << 24 };

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

/* Reads the header text, NULL when there is none; owned by the caller. */
static char *read_header_text(RtInput *in, size_t *length)
{
    uint8_t start[12];
    if (tessi_input_read(in, start, 10) < 10 || start[6] < 1 || start[6] > 3)
        return NULL;
    *length = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (tessi_input_read(in, start + 10, 2) < 2)
            return NULL;
        *length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    const bool fits =
        *length <= LONGEST_HEADER && (in->size == UINT64_MAX || *length <= in->size - in->at);
    char *text = fits ? malloc(*length + 1) : NULL;
    if (text && tessi_input_read(in, text, *length) == *length)
        return text;
    free(text);
    return NULL;
}

static bool check_shape(const RtInput *in, const Header *h, size_t element, Failure *f)
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
    for (int d = 0; d < h->ndim; d++) {
        if (h->shape[d] < 1)
            return tessi_failf(f, TESS_ERROR_FILE,
                               "it has no pixels: size %" PRId64 " in dimension %d", h->shape[d],
                               d);
        if (!tessi_mul_size(need, (size_t)h->shape[d], &need))
            need = SIZE_MAX;
    }
    const uint64_t left = in->size == UINT64_MAX ? SIZE_MAX - 1 : in->size - in->at;
    if (need <= left)
        return true;
    return tessi_failf(f, TESS_ERROR_FILE,
                       "it is cut short: %" PRIu64 " bytes of elements where %s%zu are due", left,
                       need == SIZE_MAX ? "at least " : "", need);
}

static bool cut_short(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_FILE, "it is cut short");
}

/* Bytes as they stand in the file, to elements as they are computed with. */
static void settle(ScalarType t, bool swap, uint8_t *row, size_t n)
{
    if (swap)
        tessi_swap_bytes(row, n, tessi_type_info(t)->bytes);
    for (size_t i = 0; t == TYPE_BOOL && i < n; i++)
        row[i] = row[i] != 0;
}

/* Goes to the page that is wanted of an array with one dimension more than that has. */
static bool choose_page(ImageDecode *d, Header *h, size_t element, Failure *f)
{
    const RtRequest *want = d->want;
    d->want->pages_found = 1;
    if (want->page == 0 || h->ndim < 2 || h->ndim <= want->ndim)
        return true;
    int64_t first, n;
    if (!tessi_decode_pages(d, h->shape[0], &first, &n, f))
        return false;
    uint64_t page = element;
    for (int k = 1; k < h->ndim; k++) {
        page *= (uint64_t)h->shape[k];
        h->shape[k - 1] = h->shape[k];
    }
    h->ndim--;
    return tessi_input_seek(d->in, d->in->at + page * (uint64_t)first) || cut_short(f);
}

/* ---- Structured types ---- */

/* What the pixels have instead of the field that is wanted. */
static bool fail_field(const Header *h, const char *name, Failure *f)
{
    RtBytes names = { 0 };
    for (int i = 0; i < h->n_fields; i++)
        tessi_bytes_addf(&names, "%s'%.*s'", i ? ", " : "", (int)h->field[i].n_name,
                         h->field[i].name);
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
    return false;
}

static const NpyField *find_field(const Header *h, const RtRecord *want, int k, Failure *f)
{
    const char *name = want->field[k].name;
    if (!*name && h->n_fields == 1)
        return &h->field[0];
    for (int i = 0; i < h->n_fields; i++) {
        const NpyField *field = &h->field[i];
        if (*name && strlen(name) == field->n_name && memcmp(name, field->name, field->n_name) == 0)
            return field;
    }
    fail_field(h, name, f);
    return NULL;
}

/* A row of records on its way into pixels. */
typedef struct Records {
    const Header *header;
    const RtRecord *want;
    const NpyField *from[RT_IMAGE_CHANNELS];
    size_t width;           /* pixels of a row */
    uint8_t *row;           /* in the form of the file */
    uint8_t *plane, *value; /* one field of it, before and after conversion */
} Records;

/* Puts field k of a row into its pixels. */
static bool take_field(ImageDecode *d, const Records *r, int k, size_t offset, int64_t first,
                       uint8_t *pixels, Failure *f)
{
    const NpyField *from = r->from[k];
    const Conversion c = { .from = from->type, .to = r->want->field[k].type, .how = CONVERT_KEEP };
    const size_t bytes = tessi_type_info(c.from)->bytes, to_bytes = tessi_type_info(c.to)->bytes;
    const size_t pixel = tessi_record_bytes(r->want);
    for (size_t i = 0; i < r->width; i++)
        memcpy(r->plane + i * bytes, r->row + i * (size_t)r->header->record_bytes + from->offset,
               bytes);
    settle(c.from, from->swap, r->plane, r->width);
    size_t broken;
    if (tessi_convert_elements(&c, r->plane, r->value, r->width, &broken) > 0) {
        RtImage records = *d->image; /* without the fields, as places in the array are told */
        records.ndim = r->header->ndim;
        return tessi_fail_convert(&c, &records, first + (int64_t)broken, r->plane + broken * bytes,
                                  f);
    }
    for (size_t i = 0; i < r->width; i++)
        memcpy(pixels + i * pixel + offset, r->value + i * to_bytes, to_bytes);
    return true;
}

/* Rows of records of which every field that is wanted is there. */
static bool read_records(ImageDecode *d, const Records *r, Failure *f)
{
    const size_t row_bytes = r->width * (size_t)r->header->record_bytes;
    const size_t pixel_row = r->width * tessi_record_bytes(r->want);
    int64_t n_rows = 1;
    for (int k = 0; k < r->header->ndim - 1; k++)
        n_rows *= r->header->shape[k];
    for (int64_t row = 0; row < n_rows; row++) {
        if (tessi_input_read(d->in, r->row, row_bytes) < row_bytes)
            return cut_short(f);
        uint8_t *pixels = (uint8_t *)d->image->data + (size_t)row * pixel_row;
        size_t offset = 0;
        for (int k = 0; k < r->want->n; k++) {
            if (!take_field(d, r, k, offset, row * (int64_t)r->width, pixels, f))
                return false;
            offset += tessi_type_info(r->want->field[k].type)->bytes;
        }
    }
    return true;
}

/* The head of the image that the records become. */
static ImageHead head_of_pixels(const Header *h, const RtRecord *want)
{
    const bool mixed = tessi_record_is_mixed(want);
    ImageHead head = { .type = mixed ? TYPE_U8 : want->field[0].type, .ndim = h->ndim };
    memcpy(head.shape, h->shape, sizeof head.shape);
    if (want->n > 1 || *want->field[0].name)
        head.shape[head.ndim++] = mixed ? (int64_t)tessi_record_bytes(want) : want->n;
    return head;
}

static bool decode_records(ImageDecode *d, Header *h, Failure *f)
{
    const RtRecord *want = d->want->record;
    if (!choose_page(d, h, (size_t)h->record_bytes, f))
        return false;
    if (h->ndim + 1 > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its array of records has too many dimensions; images have 1 to %d",
                           RT_IMAGE_DIMS - 1);
    Records r = { .header = h, .want = want, .width = (size_t)h->shape[h->ndim - 1] };
    for (int k = 0; k < want->n; k++)
        if (!(r.from[k] = find_field(h, want, k, f)))
            return false;
    const ImageHead head = head_of_pixels(h, want);
    d->want->dtype = N_TYPES; /* the fields are converted here */
    const uint64_t row = (uint64_t)r.width * (uint64_t)h->record_bytes;
    if (!tessi_decode_begin(d, &head, 1, row + 16 * (uint64_t)r.width, f))
        return false;
    r.row = malloc((size_t)row);
    r.plane = malloc(8 * r.width);
    r.value = malloc(8 * r.width);
    const bool ok = r.row && r.plane && r.value
                        ? read_records(d, &r, f)
                        : tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    free(r.row);
    free(r.plane);
    free(r.value);
    return ok;
}

static bool decode_structured(ImageDecode *d, Header *h, Failure *f)
{
    if (h->odd)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its NumPy type %s; fields are bool, int8 to int64, uint8 to uint64 or "
                           "float16 to float64",
                           h->odd);
    if (d->want->taker)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its rows cannot be read one by one: its NumPy type has fields");
    if (!d->want->record)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its NumPy type has fields; images of one number an element are read");
    return check_shape(d->in, h, (size_t)h->record_bytes, f) && decode_records(d, h, f);
}

/* ---- Reading ---- */

static bool decode_elements(ImageDecode *d, Header *h, ScalarType t, bool swap, Failure *f)
{
    const size_t bytes = tessi_type_info(t)->bytes;
    if (!check_shape(d->in, h, bytes, f) || !choose_page(d, h, bytes, f))
        return false;
    ImageHead head = { .type = t, .ndim = h->ndim };
    memcpy(head.shape, h->shape, sizeof head.shape);
    if (!tessi_decode_begin(d, &head, 1, 0, f))
        return false;
    const int64_t first = tessi_decode_first(d);
    if (!tessi_input_seek(d->in, d->in->at + (uint64_t)first * d->file_row))
        return cut_short(f);
    for (int64_t k = first, n; k < d->n_rows; k += n) {
        uint8_t *rows;
        n = tessi_decode_run(d, k, &rows);
        const size_t run = (size_t)n * d->file_row;
        if (tessi_input_read(d->in, rows, run) < run)
            return cut_short(f);
        settle(t, swap, rows, run / bytes);
        if (!tessi_decode_done(d, k + n - 1, f))
            return false;
    }
    return true;
}

static bool decode_plain(ImageDecode *d, Header *h, Failure *f)
{
    ScalarType t;
    bool swap;
    if (!type_of(h->descr, &t, &swap))
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its elements are of NumPy type '%s'; images have bool, int8 to int64, uint8 to "
            "uint64 or float16 to float64",
            h->descr);
    return decode_elements(d, h, t, swap, f);
}

bool tessi_decode_elements(ImageDecode *d, ScalarType t, bool swap, int ndim, const int64_t *shape,
                           Failure *f)
{
    Header h = { .ndim = ndim };
    memcpy(h.shape, shape, (size_t)ndim * sizeof *shape);
    return decode_elements(d, &h, t, swap, f);
}

/* Whether another array begins here. */
static bool another_follows(RtInput *in)
{
    const uint8_t *bytes;
    return tessi_input_peek(in, 6, &bytes) == 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
}

bool tessi_decode_npy(ImageDecode *d, Failure *f)
{
    Header h = { 0 };
    size_t length;
    char *text = read_header_text(d->in, &length); /* names of fields point into it */
    bool ok = text && read_header((Cursor){ text, text + length }, &h);
    if (!ok)
        tessi_failf(f, TESS_ERROR_FILE, "its NPY header is broken or of a version after 3");
    else
        ok = h.structured ? decode_structured(d, &h, f) : decode_plain(d, &h, f);
    free(text);
    if (ok && d->want->page == 0 && another_follows(d->in))
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "it holds several arrays one after another; save each in a file of its own, "
            "or one array of more dimensions");
    return ok;
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

static void add_types(RtBytes *dict, const RtView *v)
{
    const RtRecord *record = v->record;
    if (!record) {
        add_type(dict, v->dtype);
        return;
    }
    tessi_bytes_addf(dict, "[");
    for (int k = 0; k < record->n; k++) {
        tessi_bytes_addf(dict, "%s('", k ? ", " : "");
        tessi_bytes_add(dict, record->field[k].name, strlen(record->field[k].name));
        tessi_bytes_addf(dict, "', ");
        add_type(dict, record->field[k].type);
        tessi_bytes_addf(dict, ")");
    }
    tessi_bytes_addf(dict, "]");
}

/* Everything before the elements. Headers of more than 2^16 bytes are of version 2. */
static void add_header(RtBytes *head, const RtView *v)
{
    RtBytes dict = { 0 };
    const int ndim = v->ndim - (v->record != NULL);
    tessi_bytes_addf(&dict, "{'descr': ");
    add_types(&dict, v);
    tessi_bytes_addf(&dict, ", 'fortran_order': False, 'shape': (");
    for (int d = 0; d < ndim; d++)
        tessi_bytes_addf(&dict, "%s%" PRId64, d ? ", " : "", v->shape[d]);
    tessi_bytes_addf(&dict, "%s), }", ndim == 1 ? "," : "");
    const bool large = dict.n > UINT16_MAX - 64;
    const size_t begin = large ? 12 : 10;
    while (!dict.failed
           && (begin + dict.n + 1) % 64 != 0) /* elements begin at a multiple of 64 bytes */
        tessi_bytes_add(&dict, " ", 1);
    tessi_bytes_add(&dict, "\n", 1);
    const uint8_t size[4] = { (uint8_t)dict.n, (uint8_t)(dict.n >> 8), (uint8_t)(dict.n >> 16),
                              (uint8_t)(dict.n >> 24) };
    tessi_bytes_add(head, large ? "\x93NUMPY\2\0" : "\x93NUMPY\1\0", 8);
    tessi_bytes_add(head, size, begin - 8);
    tessi_bytes_add(head, dict.at, dict.n);
    head->failed = head->failed || dict.failed;
    tessi_bytes_dispose(&dict);
}

bool tessi_encode_npy(ImageRows *r, RtOutput *out, Failure *f)
{
    RtBytes head = { 0 };
    add_header(&head, r->view);
    const bool failed = head.failed;
    if (!failed)
        tessi_output_add(out, head.at, head.n);
    tessi_bytes_dispose(&head);
    if (!failed)
        tessi_rows_put(r, 0, r->n_rows, out);
    return !failed || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}
