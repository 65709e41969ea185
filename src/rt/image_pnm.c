/* PNM: PBM, PGM and PPM, plain (P1 to P3) and raw (P4 to P6), and PAM (P7). Samples keep their
 * value whatever the largest one (maxval) is: up to 255 they are uint8, above uint16. Bitmaps
 * become uint8 with black 0 and white 255. Raw pictures may follow one another: they are pages. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct PnmHead {
    int variant; /* the digit after P */
    uint32_t width, height, channels, maxval;
    ScalarType type;
} PnmHead;

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* The next byte that is not read by that; -1 at the end. */
static int next_byte(RtInput *in)
{
    const uint8_t *bytes;
    return tessi_input_peek(in, 1, &bytes) ? bytes[0] : -1;
}

/* Passes blanks and comments, which end with their line. */
static void skip_blanks(RtInput *in)
{
    for (int c; is_space(c = next_byte(in)) || c == '#';)
        do
            tessi_input_byte(in);
        while (c == '#' && next_byte(in) >= 0 && next_byte(in) != '\n');
}

static bool read_number(RtInput *in, uint32_t most, uint32_t *out)
{
    skip_blanks(in);
    if (!is_digit(next_byte(in)))
        return false;
    uint64_t x = 0;
    while (is_digit(next_byte(in))) {
        x = x * 10 + (uint64_t)(tessi_input_byte(in) - '0');
        if (x > most)
            return false;
    }
    *out = (uint32_t)x;
    return true;
}

static bool bad_header(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_FILE, "its header is broken");
}

static bool cut_short(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_FILE, "it is cut short");
}

/* ---- Headers ---- */

static bool read_pnm_head(RtInput *in, PnmHead *h, Failure *f)
{
    const bool bitmap = h->variant == 1 || h->variant == 4;
    h->channels = h->variant == 3 || h->variant == 6 ? 3 : 1;
    h->maxval = bitmap ? 255 : 0; /* of what bitmaps become */
    if (!read_number(in, INT32_MAX, &h->width) || !read_number(in, INT32_MAX, &h->height))
        return bad_header(f);
    if (!bitmap && (!read_number(in, 65535, &h->maxval) || h->maxval == 0))
        return bad_header(f);
    const int blank = tessi_input_byte(in); /* one, and raw samples begin */
    return is_space(blank) || (blank < 0 ? cut_short(f) : bad_header(f));
}

/* The next word of a line, at most 15 letters; empty at the end of the line. */
static bool read_word(RtInput *in, char word[16])
{
    size_t n = 0;
    while (next_byte(in) >= 0 && !is_space(next_byte(in)) && n < 15)
        word[n++] = (char)tessi_input_byte(in);
    word[n] = 0;
    return n > 0;
}

/* The rest of the line and what ends it. */
static bool skip_line(RtInput *in)
{
    for (int c; (c = tessi_input_byte(in)) != '\n';)
        if (c < 0)
            return false;
    return true;
}

static bool read_pam_head(RtInput *in, PnmHead *h, Failure *f)
{
    h->width = h->height = h->channels = h->maxval = 0;
    for (;;) {
        char key[16];
        while (is_space(next_byte(in)))
            tessi_input_byte(in);
        if (!read_word(in, key))
            return bad_header(f);
        bool ok = true;
        if (tessi_streq(key, "WIDTH"))
            ok = read_number(in, INT32_MAX, &h->width);
        else if (tessi_streq(key, "HEIGHT"))
            ok = read_number(in, INT32_MAX, &h->height);
        else if (tessi_streq(key, "DEPTH"))
            ok = read_number(in, UINT16_MAX, &h->channels);
        else if (tessi_streq(key, "MAXVAL"))
            ok = read_number(in, 65535, &h->maxval);
        else
            ok = tessi_streq(key, "TUPLTYPE") || tessi_streq(key, "ENDHDR") || *key == '#';
        if (!ok || !skip_line(in))
            return bad_header(f);
        if (tessi_streq(key, "ENDHDR"))
            break;
    }
    return (h->width && h->height && h->channels && h->maxval) || bad_header(f);
}

/* Reads a header from its first byte. */
static bool read_head(RtInput *in, PnmHead *h, Failure *f)
{
    tessi_input_byte(in); /* P */
    *h = (PnmHead){ .variant = tessi_input_byte(in) - '0' };
    if (!(h->variant == 7 ? read_pam_head(in, h, f) : read_pnm_head(in, h, f)))
        return false;
    h->type = h->maxval > 255 ? TYPE_U16 : TYPE_U8;
    return true;
}

static bool is_plain(const PnmHead *h)
{
    return h->variant <= 3;
}

/* Bytes of one row of a raw picture. */
static uint64_t raw_row(const PnmHead *h)
{
    if (h->variant == 4)
        return ((uint64_t)h->width + 7) / 8;
    return (uint64_t)h->width * h->channels * tessi_type_info(h->type)->bytes;
}

/* Whether the samples can be there. */
static bool check_claim(const RtInput *in, const PnmHead *h, Failure *f)
{
    if (!tessi_image_claim(h->type, 1, h->height, h->width, h->channels, UINT64_MAX, 1, f))
        return false;
    if (in->size == UINT64_MAX)
        return true;
    const uint64_t left = in->size - in->at;
    const uint64_t samples = (uint64_t)h->width * h->height; /* of one channel: below 2^62 */
    /* The least room that the samples need: a digit, a digit and a blank, or their bytes. */
    bool fits;
    if (h->variant == 1)
        fits = samples <= left;
    else if (is_plain(h))
        fits = samples <= (left / 2 + 1) / h->channels;
    else
        fits = raw_row(h) <= left / h->height;
    return fits
           || tessi_failf(f, TESS_ERROR_FILE,
                          "it claims %" PRIu32 " x %" PRIu32 " pixels, more than its %" PRIu64
                          " bytes can hold",
                          h->height, h->width, in->size);
}

/* ---- Samples ---- */

static bool read_plain_row(RtInput *in, const PnmHead *h, int64_t first, uint8_t *row, Failure *f)
{
    for (uint32_t i = 0; i < h->width * h->channels; i++) {
        uint32_t sample;
        skip_blanks(in);
        const int c = next_byte(in);
        if (c < 0)
            return cut_short(f);
        if (h->variant == 1) {
            if (c != '0' && c != '1')
                return tessi_failf(f, TESS_ERROR_FILE,
                                   "bitmap sample %" PRId64 " is neither 0 nor 1", first + i);
            row[i] = tessi_input_byte(in) == '1' ? 0 : 255;
            continue;
        }
        if (!read_number(in, h->maxval, &sample))
            return tessi_failf(f, TESS_ERROR_FILE,
                               "sample %" PRId64 " is not a number of 0 to %" PRIu32, first + i,
                               h->maxval);
        if (h->type == TYPE_U8)
            row[i] = (uint8_t)sample;
        else
            ((uint16_t *)(void *)row)[i] = (uint16_t)sample;
    }
    return true;
}

static bool read_bitmap_row(RtInput *in, const PnmHead *h, uint8_t *row, Failure *f)
{
    for (uint32_t x = 0; x < h->width; x += 8) {
        const int bits = tessi_input_byte(in);
        if (bits < 0)
            return cut_short(f);
        for (uint32_t k = 0; k < 8 && x + k < h->width; k++)
            row[x + k] = bits >> (7 - k) & 1 ? 0 : 255;
    }
    return true;
}

static bool read_raw_row(RtInput *in, const PnmHead *h, int64_t first, uint8_t *row, Failure *f)
{
    const size_t n = (size_t)h->width * h->channels, bytes = (size_t)raw_row(h);
    if (tessi_input_read(in, row, bytes) < bytes)
        return cut_short(f);
    if (h->type == TYPE_U16 && tessi_little_endian())
        tessi_swap_bytes(row, n, 2);
    for (size_t i = 0; i < n && h->maxval != 255 && h->maxval != 65535; i++) {
        const uint32_t sample = h->type == TYPE_U8 ? row[i] : ((const uint16_t *)(void *)row)[i];
        if (sample > h->maxval)
            return tessi_failf(f, TESS_ERROR_FILE,
                               "sample %" PRId64 " is %" PRIu32
                               ", above the file's largest value %" PRIu32,
                               first + (int64_t)i, sample, h->maxval);
    }
    return true;
}

/* The rows of one page; `page` counts those that are read. */
static bool read_page(ImageDecode *d, const PnmHead *h, int64_t page, Failure *f)
{
    for (int64_t y = 0; y < h->height; y++) {
        const int64_t first = y * h->width * h->channels, k = page * h->height + y;
        uint8_t *row = tessi_decode_row(d, k);
        const bool ok = is_plain(h)       ? read_plain_row(d->in, h, first, row, f)
                        : h->variant == 4 ? read_bitmap_row(d->in, h, row, f)
                                          : read_raw_row(d->in, h, first, row, f);
        if (!ok || !tessi_decode_done(d, k, f))
            return false;
    }
    return true;
}

/* ---- Pages ---- */

/* Whether another raw picture begins here. */
static bool follows(RtInput *in)
{
    const uint8_t *bytes;
    return tessi_input_peek(in, 3, &bytes) == 3 && bytes[0] == 'P' && bytes[1] >= '4'
           && bytes[1] <= '7' && is_space(bytes[2]);
}

static bool same_head(const PnmHead *a, const PnmHead *b)
{
    return a->width == b->width && a->height == b->height && a->channels == b->channels
           && a->type == b->type;
}

/* Counts the pictures of a file from the samples of the first on, and goes back there. */
static bool count_pages(RtInput *in, const PnmHead *first, int64_t *pages, bool *same, Failure *f)
{
    const uint64_t begin = in->at;
    PnmHead h = *first;
    *pages = 1;
    *same = true;
    while (!is_plain(&h) && tessi_input_seek(in, in->at + raw_row(&h) * h.height) && follows(in)) {
        if (!read_head(in, &h, f) || !check_claim(in, &h, f))
            return false;
        ++*pages;
        *same = *same && same_head(&h, first);
    }
    return tessi_input_seek(in, begin) || cut_short(f);
}

/* From the samples of one picture to those of the next. */
static bool next_page(RtInput *in, PnmHead *h, bool skip, Failure *f)
{
    if (skip && !tessi_input_seek(in, in->at + raw_row(h) * h->height))
        return cut_short(f);
    return read_head(in, h, f);
}

bool tessi_decode_pnm(ImageDecode *d, Failure *f)
{
    PnmHead h;
    int64_t pages = 1, first, n;
    bool same = true;
    if (!read_head(d->in, &h, f) || !check_claim(d->in, &h, f)
        || (d->in->can_seek && !count_pages(d->in, &h, &pages, &same, f))
        || !tessi_decode_pages(d, pages, &first, &n, f))
        return false;
    if (n > 1 && !same)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its %" PRId64 " pages differ in size or type; one of them can be read",
                           pages);
    for (int64_t k = 0; k < first; k++)
        if (!next_page(d->in, &h, true, f))
            return false;
    ImageHead head = tessi_head_of_picture(h.type, n, h.height, h.width, h.channels);
    head.stacks = !is_plain(&h);
    if (!tessi_decode_begin(d, &head, 1, 0, f))
        return false;
    for (int64_t k = 0; k < n; k++)
        if ((k > 0 && !next_page(d->in, &h, false, f)) || !read_page(d, &h, k, f))
            return false;
    if (!d->in->can_seek && d->want->page != 1 && !is_plain(&h) && follows(d->in))
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "it is a stack of pages that comes through a pipe; give the file's name, or "
            "take page 1");
    return true;
}

/* ---- Writing ---- */

static void add_samples(ImageRows *r, RtOutput *out)
{
    const size_t n = (size_t)(r->width * r->channels);
    for (int64_t k = 0; k < r->n_rows && !out->error; k++) {
        const uint8_t *row = tessi_rows_get(r, k);
        if (r->type == TYPE_U8 || !tessi_little_endian()) {
            tessi_output_add(out, row, r->row_bytes);
            continue;
        }
        uint8_t swapped[4096];
        for (size_t at = 0; at < 2 * n; at += sizeof swapped) {
            const size_t bytes = 2 * n - at < sizeof swapped ? 2 * n - at : sizeof swapped;
            memcpy(swapped, row + at, bytes);
            tessi_swap_bytes(swapped, bytes / 2, 2);
            tessi_output_add(out, swapped, bytes);
        }
    }
}

static int maxval_of(const ImageRows *r)
{
    return r->type == TYPE_U8 ? 255 : 65535;
}

bool tessi_encode_pnm(ImageRows *r, RtOutput *out, Failure *f)
{
    (void)f;
    tessi_output_addf(out, "P%c\n%" PRId64 " %" PRId64 "\n%d\n", r->channels > 1 ? '6' : '5',
                      r->width, r->height, maxval_of(r));
    add_samples(r, out);
    return true;
}

/* In bitmaps 1 is black. */
bool tessi_encode_pbm(ImageRows *r, RtOutput *out, Failure *f)
{
    const size_t n = ((size_t)r->width + 7) / 8;
    uint8_t *bits = malloc(n);
    if (!bits)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    tessi_output_addf(out, "P4\n%" PRId64 " %" PRId64 "\n", r->width, r->height);
    for (int64_t y = 0; y < r->height && !out->error; y++) {
        const uint8_t *row = tessi_rows_get(r, y);
        memset(bits, 0, n);
        for (int64_t x = 0; x < r->width; x++)
            bits[x / 8] = (uint8_t)(bits[x / 8] | (row[x] == 0) << (7 - x % 8));
        tessi_output_add(out, bits, n);
    }
    free(bits);
    return true;
}

bool tessi_encode_pam(ImageRows *r, RtOutput *out, Failure *f)
{
    (void)f;
    static const char *const tuples[] = { "", "GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA" };
    tessi_output_addf(out, "P7\nWIDTH %" PRId64 "\nHEIGHT %" PRId64 "\nDEPTH %d\nMAXVAL %d\n",
                      r->width, r->height, r->channels, maxval_of(r));
    if (r->channels <= 4)
        tessi_output_addf(out, "TUPLTYPE %s\n", tuples[r->channels]);
    tessi_output_addf(out, "ENDHDR\n");
    add_samples(r, out);
    return true;
}
