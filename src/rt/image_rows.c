/* What a file format stores for an image, and the image's rows in that form. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

RtView tessi_image_view(const RtImage *image)
{
    RtView v = { .dtype = image->dtype, .ndim = image->ndim, .data = image->data };
    v.picture_dims = image->channels > 1 ? image->ndim - 1 : image->channels == 1 ? image->ndim : 0;
    int64_t stride = 1;
    for (int d = image->ndim - 1; d >= 0; d--) {
        v.shape[d] = image->shape[d];
        v.strides[d] = stride;
        stride *= image->shape[d];
    }
    return v;
}

/* ---- Type ---- */

/* Whether `word` is among words separated by blanks. */
static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = words; (s = strstr(s, word)) != NULL; s += n)
        if ((s == words || s[-1] == ' ') && (s[n] == 0 || s[n] == ' '))
            return true;
    return false;
}

static bool stores(const ImageFormat *format, ScalarType t)
{
    return !*format->types || has_word(format->types, tessi_type_info(t)->brief);
}

bool tessi_format_can_store(const ImageFormat *format, const RtStore *store, Failure *f)
{
    if (store->depth != 0 && !*format->depths)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s stores the elements as they are; a depth of 8 or 16 bits is for PNG, "
            "JPEG, TIFF, PGM, PPM and PAM",
            format->name);
    char depth[8];
    snprintf(depth, sizeof depth, "%d", store->depth);
    if (store->depth != 0 && !has_word(format->depths, depth))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s holds %s bits, not %d", format->name,
                           format->depths, store->depth);
    if ((store->layout.tile || store->layout.compress) && !tessi_streq(format->name, "TIFF"))
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "tiles, a compression and a pyramid are for TIFF; %s has a layout of its "
            "own",
            format->name);
    if (store->scale && (!*format->depths || (store->depth == 0 && stores(format, TYPE_F32))))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "%s stores the values as they are; to scale them, %s", format->name,
                           *format->depths ? "say a depth of 8 or 16 bits too"
                                           : "write PNG, TIFF, PGM or PPM");
    return true;
}

ScalarType tessi_format_type(const ImageFormat *format, ScalarType t, const RtStore *store,
                             ConversionKind *how)
{
    const bool u8 = stores(format, TYPE_U8), u16 = stores(format, TYPE_U16),
               f32 = stores(format, TYPE_F32),
               small = t == TYPE_BOOL || t == TYPE_I8 || t == TYPE_U8;
    *how = t == TYPE_BOOL ? CONVERT_SHOW : CONVERT_SATURATE;
    if (store->depth == 1) {
        *how = CONVERT_KEEP;
        return t == TYPE_BOOL ? t : N_TYPES;
    }
    if (store->depth != 0)
        return store->depth == 16 ? TYPE_U16 : TYPE_U8;
    if (store->scale)
        return u16 && !small && !tessi_is_real(t) ? TYPE_U16 : TYPE_U8;
    if (stores(format, t) || (f32 && t != TYPE_F64 && tessi_type_info(t)->bytes <= 2)) {
        *how = CONVERT_KEEP;
        return stores(format, t) ? t : TYPE_F32;
    }
    if (small)
        return u8 ? TYPE_U8 : N_TYPES;
    if (tessi_is_real(t))
        return u8 ? TYPE_U8 : N_TYPES;
    return u16 ? TYPE_U16 : N_TYPES;
}

/* ---- Shape ---- */

static bool check_shape(const RtView *v, const ImageFormat *format, ImageRows *r, Failure *f)
{
    int dims = v->picture_dims ? v->picture_dims : v->ndim == 3 ? 2 : v->ndim;
    if (v->ndim == 3 && dims == 3 && v->shape[2] == 1 && !format->stacks)
        dims = 2; /* a last dimension of one is as good as none */
    if (v->ndim - dims > 1 || (dims != 2 && !((dims == 3 || dims == 4) && format->stacks)))
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s holds pictures of 2 dimensions%s, and the image has %d; %sNPY holds it",
            format->name, format->stacks ? " and stacks of them" : "", dims,
            dims == 3 ? "TIFF or " : "");
    const int64_t channels = v->ndim > dims ? v->shape[dims] : 1;
    r->pages = dims >= 3 ? v->shape[0] : 1;
    if (dims == 4 && !tessi_mul_i64(r->pages, v->shape[1], &r->pages))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s does not hold so many pages", format->name);
    r->height = v->shape[dims - 2];
    r->width = v->shape[dims - 1];
    if (r->height > INT32_MAX || r->width > INT32_MAX)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s holds at most %d rows and columns",
                           format->name, INT32_MAX);
    const bool one_digit = channels >= 1 && channels <= 9;
    if (*format->channels == '*' ? channels > UINT16_MAX
                                 : !(one_digit && strchr(format->channels, '0' + (char)channels)))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "%s does not hold images of %" PRId64 " channels", format->name,
                           channels);
    r->channels = (int)channels;
    r->n_rows = r->pages * r->height;
    r->row_begin = dims - 1;
    return true;
}

/* NPY: any dimensions. The last ones make a row, as many as it takes for a good length. */
static void any_shape(const RtView *v, ImageRows *r)
{
    const int64_t good = 1024;
    r->pages = r->channels = 1;
    r->row_begin = v->ndim - 1;
    r->width = v->shape[r->row_begin];
    const int least = r->source ? 1 : 0; /* rows that come one by one stay apart */
    while (r->row_begin > least && r->width < good)
        r->width *= v->shape[--r->row_begin];
    r->n_rows = 1;
    for (int d = 0; d < r->row_begin; d++)
        r->n_rows *= v->shape[d];
    r->height = r->n_rows;
}

/* ---- Rows ---- */

/* Rows lie one behind the other. */
static bool is_compact(const RtView *v)
{
    int64_t stride = 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (v->strides[d] != stride && v->shape[d] != 1)
            return false;
        stride *= v->shape[d];
    }
    return true;
}

static bool alloc_rows(ImageRows *r, Failure *f)
{
    const RtView *v = r->view;
    const size_t n = (size_t)r->width * (size_t)r->channels,
                 bytes = tessi_type_info(v->dtype)->bytes;
    bool compact = true; /* a row lies in one piece */
    int64_t stride = 1;
    for (int d = v->ndim - 1; d >= r->row_begin; d--) {
        compact = compact && (v->strides[d] == stride || v->shape[d] == 1);
        stride *= v->shape[d];
    }
    const bool converts = r->conversion.how != CONVERT_KEEP || r->type != v->dtype;
    r->row_bytes = n * tessi_type_info(r->type)->bytes;
    if (!compact)
        r->gathered = malloc(n * bytes);
    if (converts)
        r->converted = malloc(r->row_bytes);
    if ((!compact && !r->gathered) || (converts && !r->converted))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return true;
}

/* Row k in the type of the image. */
static const void *original_row(ImageRows *r, int64_t k)
{
    if (r->source)
        return r->source(r->source_user, k);
    const RtView *v = r->view;
    const size_t bytes = tessi_type_info(v->dtype)->bytes;
    int64_t offset = 0;
    for (int d = r->row_begin - 1; d >= 0; d--) {
        offset += k % v->shape[d] * v->strides[d];
        k /= v->shape[d];
    }
    const char *row = (const char *)v->data + offset * (int64_t)bytes;
    if (!r->gathered)
        return row;
    int64_t at[RT_IMAGE_DIMS] = { 0 };
    for (int64_t i = 0, n = r->width * r->channels; i < n; i++) {
        int64_t from = 0;
        for (int d = r->row_begin; d < v->ndim; d++)
            from += at[d] * v->strides[d];
        memcpy(r->gathered + (size_t)i * bytes, row + from * (int64_t)bytes, bytes);
        for (int d = v->ndim - 1; d >= r->row_begin && ++at[d] == v->shape[d]; d--)
            at[d] = 0;
    }
    return r->gathered;
}

/* Least and largest finite value of a row. */
static void add_range(ScalarType t, const void *row, size_t n, double *lo, double *hi)
{
    const size_t bytes = tessi_type_info(t)->bytes;
    double least = *lo, most = *hi; /* in registers, which stores through pointers would not be */
    if (t == TYPE_F32) {
        const float *floats = row;
        for (size_t i = 0; i < n; i++) {
            const double x = (double)floats[i];
            const bool counts = isfinite(x);
            least = counts && x < least ? x : least;
            most = counts && x > most ? x : most;
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            const Value v = tessi_load_element(t, (const char *)row + i * bytes);
            const double x = tessi_value_number(t, v);
            const bool counts = isfinite(x);
            least = counts && x < least ? x : least;
            most = counts && x > most ? x : most;
        }
    }
    *lo = least;
    *hi = most;
}

const void *tessi_rows_get(ImageRows *r, int64_t k)
{
    const void *row = original_row(r, k);
    if (!r->converted || r->passes)
        return r->converted ? r->converted : row;
    const size_t n = (size_t)(r->width * r->channels);
    const size_t broken = tessi_convert_elements(&r->conversion, row, r->converted, n, NULL);
    if (r->source && r->conversion.how == CONVERT_SATURATE) {
        r->n_saturated += (int64_t)broken;
        add_range(r->view->dtype, row, n, &r->lo, &r->hi);
    }
    return r->converted;
}

const void *tessi_rows_run(ImageRows *r, int64_t k, int64_t most, int64_t *n)
{
    const void *row = tessi_rows_get(r, k);
    *n = 1;
    if (r->converted || r->gathered)
        return row;
    if (r->source)
        *n = r->source_run ? r->source_run(r->source_user, k) : 1;
    else if (is_compact(r->view))
        *n = r->n_rows - k;
    *n = *n < most ? *n : most;
    return row;
}

void tessi_rows_put(ImageRows *r, int64_t from, int64_t to, RtOutput *out)
{
    enum { RUN = 1 << 22 }; /* bytes: so that who waits for rows gets them */
    const int64_t most = r->row_bytes < RUN ? RUN / (int64_t)(r->row_bytes ? r->row_bytes : 1) : 1;
    tessi_output_expect(out, (uint64_t)(to - from) * r->row_bytes);
    for (int64_t k = from, n; k < to && !out->error; k += n) {
        const void *rows = tessi_rows_run(r, k, most < to - k ? most : to - k, &n);
        tessi_output_add(out, rows, (size_t)n * r->row_bytes);
    }
}

/* ---- Doubts ---- */

void tessi_rows_find_doubt(ScalarType from, RtStore *store)
{
    const bool dark = store->lo >= 0 && store->hi <= 1 && store->hi > 0;
    if (store->n_saturated > store->n / 100)
        store->doubt = RT_DOUBT_SATURATED;
    else if (tessi_is_real(from) && dark && !store->scale)
        store->doubt = RT_DOUBT_BLACK;
}

/* Looks at all values before any is written: what range they have, and how many do not fit. */
static void look_at_values(ImageRows *r, RtStore *store)
{
    const size_t n = (size_t)(r->width * r->channels);
    const ScalarType from = r->view->dtype;
    store->n = r->n_rows * (int64_t)n;
    store->lo = INFINITY;
    store->hi = -INFINITY;
    for (int64_t k = 0; k < r->n_rows; k++)
        add_range(from, original_row(r, k), n, &store->lo, &store->hi);
    if (store->scale) {
        const double full = (double)tessi_type_range(r->type).hi, span = store->hi - store->lo;
        r->conversion.offset = store->lo <= store->hi ? store->lo : 0;
        r->conversion.factor = span > 0 && isfinite(full / span) ? full / span : 1;
    }
    for (int64_t k = 0; k < r->n_rows; k++)
        store->n_saturated += (int64_t)tessi_convert_elements(&r->conversion, original_row(r, k),
                                                              r->converted, n, NULL);
    tessi_rows_find_doubt(from, store);
}

void tessi_rows_settle(const ImageRows *r, int64_t n, RtStore *store)
{
    if (!store->converted)
        return;
    store->n = n * r->width * r->channels;
    store->lo = r->lo;
    store->hi = r->hi;
    store->n_saturated = r->n_saturated;
    tessi_rows_find_doubt(r->view->dtype, store);
}

bool tessi_rows_fail_doubt(const ImageFormat *format, const RtStore *store, Failure *f)
{
    char doubt[160];
    tessi_store_doubt(store, doubt, sizeof doubt);
    return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s would not hold what is in it: %s", format->name,
                       doubt);
}

void tessi_store_doubt(const RtStore *store, char *text, size_t size)
{
    const int bits = 8 * tessi_type_info(store->stored)->bytes;
    const double share = 100.0 * (double)store->n_saturated / (double)(store->n ? store->n : 1);
    if (size)
        text[0] = 0;
    if (store->doubt == RT_DOUBT_SATURATED && store->lo <= store->hi)
        snprintf(
            text, size,
            "its values lie within %.6g..%.6g, and %.3g %% of them are beyond the %d bits of the "
            "file, where they are saturated",
            store->lo, store->hi, share, bits);
    else if (store->doubt == RT_DOUBT_SATURATED)
        snprintf(text, size, "none of its values is a finite number");
    else if (store->doubt == RT_DOUBT_BLACK)
        snprintf(
            text, size,
            "its values lie within %.6g..%.6g, and in the file each is 0 or 1 of %d, which looks "
            "black",
            store->lo, store->hi, bits == 8 ? 255 : 65535);
}

bool tessi_rows_begin(const RtView *view, const ImageFormat *format, RtStore *store,
                      ImageRows *rows, Failure *f)
{
    *rows = (ImageRows){ .view = view,
                         .source = rows->source,
                         .source_run = rows->source_run,
                         .source_user = rows->source_user,
                         .lo = INFINITY,
                         .hi = -INFINITY };
    if (view->record && *format->types)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s does not hold pixels whose fields have several types; NPY holds them",
            format->name);
    if (!tessi_format_can_store(format, store, f))
        return false;
    if (!*format->channels)
        any_shape(view, rows);
    else if (!check_shape(view, format, rows, f))
        return false;
    ConversionKind how;
    const ScalarType t = tessi_format_type(format, view->dtype, store, &how);
    if (t == N_TYPES && store->depth == 1)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "a depth of 1 bit is for images of bool, and its elements are %s; compare them in the "
            "program",
            tessi_type_info(view->dtype)->name);
    if (t == N_TYPES)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s cannot hold %s elements without losing depth; convert them in the program, "
            "or write TIFF or NPY",
            format->name, tessi_type_info(view->dtype)->name);
    store->stored = rows->type = t;
    const bool same = t == view->dtype && !store->scale;
    rows->conversion =
        (Conversion){ .from = view->dtype, .to = t, .how = same ? CONVERT_KEEP : how };
    if (!alloc_rows(rows, f)) {
        tessi_rows_end(rows);
        return false;
    }
    store->converted = rows->conversion.how == CONVERT_SATURATE;
    if (store->converted && !rows->source)
        look_at_values(rows, store);
    if (!store->strict || store->doubt == RT_DOUBT_NONE)
        return true;
    tessi_rows_end(rows);
    return tessi_rows_fail_doubt(format, store, f);
}

void tessi_rows_end(ImageRows *rows)
{
    free(rows->gathered);
    free(rows->converted);
    rows->gathered = rows->converted = NULL;
}
