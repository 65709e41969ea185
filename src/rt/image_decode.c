/* Rows of a file on their way into an image: which pages, which channels, which element type, and the
 * memory for all of it. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLOURS = 4 };

RtRequest tessi_request_as_stored(void)
{
    return (RtRequest){ .dtype = N_TYPES };
}

ImageHead tessi_head_of_picture(ScalarType type, int64_t pages, uint64_t height, uint64_t width,
                                uint64_t channels)
{
    ImageHead h = { .type = type, .channels = (int)channels };
    if (pages > 1)
        h.shape[h.ndim++] = pages;
    h.shape[h.ndim++] = (int64_t)height;
    h.shape[h.ndim++] = (int64_t)width;
    if (channels > 1)
        h.shape[h.ndim++] = (int64_t)channels;
    return h;
}

/* "it has A, and 'photo' has B" */
static bool fail_misfit(const RtRequest *want, const char *file, int n, const char *unit,
                        Failure *f)
{
    const char *quote = want->name ? "'" : "";
    return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s, and %s%s%s has %d %s%s", file, quote,
                       want->name ? want->name : "the program's image", quote, n, unit,
                       n == 1 ? "" : "s");
}

static bool fail_stack(const RtRequest *want, Failure *f)
{
    char file[64];
    snprintf(file, sizeof file, "it is a stack of %" PRId64 " pages", want->pages_found);
    return fail_misfit(want, file, want->ndim, "dimension", f);
}

bool tessi_decode_pages(ImageDecode *d, int64_t pages, int64_t *first, int64_t *n, Failure *f)
{
    const RtRequest *want = d->want;
    d->want->pages_found = pages;
    if (want->page > pages && pages > 1)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "it is a stack of %" PRId64 " pages; there is no page %" PRId64, pages,
                           want->page);
    *first = pages > 1 && want->page > 0 ? want->page - 1 : 0;
    *n = want->page > 0 ? 1 : pages;
    return *n == 1 || want->ndim == 0 || want->ndim >= 3 || fail_stack(want, f);
}

/* ---- Shape ---- */

/* NPY does not say what its dimensions are; the program's image tells. */
static bool name_dimensions(ImageHead *h, RtRequest *want, Failure *f)
{
    const int extra = h->ndim - want->ndim;
    const int64_t last = h->shape[h->ndim - 1];
    if (h->channels != 0 || want->ndim == 0 || extra < 0 || extra > 2)
        return true;
    if (extra == 0) {
        h->channels = 1;
        return true;
    }
    if (extra == 1 && (want->channels != 1 || last <= MOST_COLOURS)) {
        h->channels = last <= UINT16_MAX ? (int)last : UINT16_MAX;
        h->ndim -= last == 1;
        return true;
    }
    want->pages_found = h->shape[0];
    return fail_stack(want, f);
}

/* What becomes of the channels on the way. */
static bool choose_step(ImageDecode *d, int *channels, Failure *f)
{
    const RtRequest *want = d->want;
    const int n = d->head.channels > 1 ? d->head.channels : 1;
    *channels = n;
    d->step = ROW_AS_IT_IS;
    d->want->channels_found = n;
    const bool inks = d->head.space != SPACE_BY_CHANNELS;
    if (inks && want->inks) {
        snprintf(d->want->packed_found, sizeof d->want->packed_found, "CMYK");
        return true;
    }
    if (inks && !want->srgb)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "it is a CMYK picture, and only grey and RGB pictures are read as they are");
    if (inks && d->meta.icc.n < 128)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "it is a CMYK picture without a profile, which would say what its inks look like");
    if (want->srgb && d->meta.icc.n >= 128 && n <= MOST_COLOURS) {
        d->step = ROW_TO_SRGB;
        *channels = inks ? 3 : n;
        if (!tessi_colours_begin(d, n, f))
            return false;
        if (want->channels == 0 || want->channels == *channels)
            return true;
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "converted to sRGB it has %d channels, and the program's image has %d",
                           *channels, want->channels);
    }
    if (n > 1 && want->channels == 1 && want->ndim == d->head.ndim)
        return true; /* the channels are a dimension of the program's image */
    if (n > 1 && want->channels == 1 && want->gray && n <= MOST_COLOURS) {
        d->step = ROW_LUMA;
        *channels = 1;
    } else if (want->drop_alpha && (n == 2 || n == 4)) {
        d->step = ROW_WITHOUT_ALPHA;
        *channels = n - 1;
    }
    if (want->channels == 0 || want->channels == *channels || d->head.channels == 0)
        return true;
    char file[64];
    snprintf(file, sizeof file, *channels == 1 ? "it has one channel" : "it has %d channels",
             *channels);
    return fail_misfit(want, file, want->channels, "channel", f);
}

/* The shape of the image: that of the file with other channels, and a page of its own where the
 * program's image has that dimension too. */
static void shape_of_image(const ImageDecode *d, int channels, RtImage *image)
{
    const ImageHead *h = &d->head;
    const int spatial = h->ndim - (h->channels > 1);
    const bool add = h->stacks && spatial == 2 && d->want->ndim == 3 && channels == 1;
    if (add)
        image->shape[image->ndim++] = 1;
    for (int k = 0; k < spatial; k++)
        image->shape[image->ndim++] = h->shape[k];
    if (channels > 1)
        image->shape[image->ndim++] = channels;
    image->channels = h->channels == 0 ? 0 : channels;
}

/* ---- Rows ---- */

static bool alloc_rows(ImageDecode *d, Failure *f)
{
    const bool converts = d->conversion.from != d->conversion.to;
    const bool streams = d->want->taker != NULL;
    if (streams && !(d->passed = malloc(d->file_row)))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (d->step == ROW_AS_IT_IS && !converts && !(streams && d->band > 1))
        return true;
    d->rows = malloc((size_t)d->band * d->file_row);
    if (d->step != ROW_AS_IT_IS && converts)
        d->between = malloc(d->file_row);
    if (!d->rows || (d->step != ROW_AS_IT_IS && converts && !d->between))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return true;
}

/* Rows are wanted one by one: the image has a shape and no data. */
static bool begin_stream(ImageDecode *d, ScalarType to, const RtImage *shape, uint64_t bytes,
                         Failure *f)
{
    const RowTaker *taker = d->want->taker;
    *d->image = *shape;
    d->image->dtype = to;
    return tessi_memory_suffices(bytes, f) && alloc_rows(d, f)
           && taker->begin(taker->user, d, bytes, f);
}

bool tessi_decode_begin(ImageDecode *d, const ImageHead *head, int64_t band, uint64_t more,
                        Failure *f)
{
    d->head = *head;
    int channels;
    RtImage shape = { 0 };
    if (!name_dimensions(&d->head, d->want, f) || !choose_step(d, &channels, f))
        return false;
    shape_of_image(d, channels, &shape);
    const ScalarType to = d->want->dtype == N_TYPES ? head->type : d->want->dtype;
    d->conversion = (Conversion){ .from = head->type, .to = to, .how = CONVERT_KEEP };

    const bool short_last = d->head.channels == 0 && d->head.ndim > 1
                            && d->head.shape[d->head.ndim - 1] <= RT_IMAGE_CHANNELS;
    const int pixel_dims =
        d->head.channels > 1 || short_last ? 2 : 1; /* the last ones make a row */
    size_t row = 1;
    d->n_rows = 1;
    bool fits = true;
    for (int k = 0; k < d->head.ndim; k++)
        if (k < d->head.ndim - pixel_dims)
            fits = fits && tessi_mul_i64(d->n_rows, d->head.shape[k], &d->n_rows);
        else
            fits = fits && tessi_mul_size(row, (size_t)d->head.shape[k], &row);
    d->band = band < d->n_rows ? band : d->n_rows;
    const size_t file_channels = d->head.channels > 1 ? (size_t)d->head.channels : 1;
    const size_t image_elements = row / file_channels * (size_t)channels;
    size_t pixels = 0, rows = 0;
    fits = fits && tessi_mul_size(row, tessi_type_info(head->type)->bytes, &d->file_row)
           && tessi_mul_size(image_elements, tessi_type_info(to)->bytes, &d->image_row)
           && tessi_mul_size(d->image_row, (size_t)d->n_rows, &pixels)
           && tessi_mul_size(d->file_row, (size_t)d->band + 1, &rows) && pixels <= SIZE_MAX / 4
           && rows <= SIZE_MAX / 4;
    if (!fits)
        return tessi_failf(f, TESS_ERROR_MEMORY, "an image of this size does not fit in memory");
    if (d->want->taker)
        return begin_stream(d, to, &shape, (uint64_t)rows + more, f);
    const bool same = d->step == ROW_AS_IT_IS && to == head->type;
    if (!tessi_memory_suffices((uint64_t)pixels + (same ? 0 : rows) + more, f))
        return false;
    return tessi_image_alloc(d->image, to, shape.ndim, shape.shape, shape.channels, f)
           && alloc_rows(d, f);
}

uint8_t *tessi_decode_row(ImageDecode *d, int64_t k)
{
    const RowTaker *taker = d->want->taker;
    if (!d->rows && taker) {
        uint8_t *place = taker->place(taker->user, k);
        return place ? place : d->passed;
    }
    if (!d->rows)
        return (uint8_t *)d->image->data + (size_t)k * d->file_row;
    return d->rows + (size_t)(k % d->band) * d->file_row;
}

int64_t tessi_decode_run(ImageDecode *d, int64_t k, uint8_t **rows)
{
    enum {
        RUN = 1 << 20
    }; /* bytes: few enough to be in a cache when they are looked at once more */
    const RowTaker *taker = d->want->taker;
    const int64_t most = d->file_row < RUN ? RUN / (int64_t)(d->file_row ? d->file_row : 1) : 1;
    int64_t n = d->n_rows - k;
    *rows = NULL;
    if (!d->rows && taker)
        n = taker->run(taker->user, k, rows);
    else if (!d->rows)
        *rows = tessi_decode_row(d, k);
    if (!*rows) {
        *rows = d->rows ? tessi_decode_row(d, k) : d->passed;
        n = 1;
    }
    return n < most ? n : most;
}

static bool decode_done(ImageDecode *d, int64_t k, uint8_t *to, Failure *f)
{
    const ScalarType from = d->conversion.from;
    const size_t element = tessi_type_info(from)->bytes;
    const uint8_t *row = tessi_decode_row(d, k);
    if (d->step != ROW_AS_IT_IS) {
        const size_t channels = d->head.channels > 1 ? (size_t)d->head.channels : 1,
                     pixel = channels * element;
        const size_t n = d->file_row / pixel;
        uint8_t *stepped = d->between ? d->between : to;
        if (d->step == ROW_TO_SRGB)
            tessi_colours_row(d, row, stepped, n);
        else if (d->step == ROW_LUMA)
            tessi_luma_pixels(from, (int)channels, row, stepped, n);
        else
            for (size_t i = 0; i < n; i++)
                memcpy(stepped + i * (pixel - element), row + i * pixel, pixel - element);
        row = stepped;
    }
    if (row == to)
        return true;
    if (d->conversion.from == d->conversion.to) {
        memcpy(to, row, d->image_row);
        return true;
    }
    const size_t n = d->image_row / tessi_type_info(d->conversion.to)->bytes;
    size_t first;
    if (tessi_convert_elements(&d->conversion, row, to, n, &first) == 0)
        return true;
    return tessi_fail_convert(&d->conversion, d->image, k * (int64_t)n + (int64_t)first,
                              row + first * element, f);
}

bool tessi_decode_done(ImageDecode *d, int64_t k, Failure *f)
{
    const RowTaker *taker = d->want->taker;
    if (!d->rows)
        return !taker || taker->done(taker->user, k);
    uint8_t *to =
        taker ? taker->place(taker->user, k) : (uint8_t *)d->image->data + (size_t)k * d->image_row;
    return (!to || decode_done(d, k, to, f)) && (!taker || taker->done(taker->user, k));
}

int64_t tessi_decode_first(const ImageDecode *d)
{
    const RowTaker *taker = d->want->taker;
    return taker ? taker->first(taker->user) : 0;
}
