/* PNM: PBM, PGM and PPM, plain (P1 to P3) and raw (P4 to P6), and PAM (P7). Samples keep their
 * value whatever the largest one (maxval) is: up to 255 they are uint8, above uint16. Bitmaps
 * become uint8 with black 0 and white 255. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <string.h>

typedef struct Scan {
    const uint8_t *at, *end;
} Scan;

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Passes blanks and, where asked, comments up to the end of their line. */
static void skip_blanks(Scan *s)
{
    while (s->at < s->end && (is_space(*s->at) || *s->at == '#')) {
        if (*s->at == '#')
            while (s->at < s->end && *s->at != '\n')
                s->at++;
        else
            s->at++;
    }
}

static bool read_number(Scan *s, uint32_t most, uint32_t *out)
{
    skip_blanks(s);
    if (s->at == s->end || !is_digit(*s->at))
        return false;
    uint64_t x = 0;
    for (; s->at < s->end && is_digit(*s->at); s->at++) {
        x = x * 10 + (uint64_t)(*s->at - '0');
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

/* ---- Samples ---- */

static bool read_plain_bitmap(Scan s, RtImage *image, Failure *f)
{
    uint8_t *to = image->data;
    for (size_t i = 0; i < image->bytes; i++) {
        skip_blanks(&s);
        if (s.at == s.end)
            return cut_short(f);
        if (*s.at != '0' && *s.at != '1')
            return tessi_failf(f, TESS_ERROR_FILE, "bitmap sample %zu is neither 0 nor 1", i);
        to[i] = *s.at++ == '1' ? 0 : 255;
    }
    return true;
}

static void read_raw_bitmap(Scan s, RtImage *image)
{
    const size_t width = (size_t)image->shape[1], row_bytes = (width + 7) / 8;
    uint8_t *to = image->data;
    for (int64_t y = 0; y < image->shape[0]; y++, s.at += row_bytes)
        for (size_t x = 0; x < width; x++)
            *to++ = s.at[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
}

static bool read_plain(Scan s, uint32_t maxval, RtImage *image, Failure *f)
{
    const int64_t n = tessi_image_elements(image);
    for (int64_t i = 0; i < n; i++) {
        uint32_t sample;
        skip_blanks(&s);
        if (s.at == s.end)
            return cut_short(f);
        if (!read_number(&s, maxval, &sample))
            return tessi_failf(f, TESS_ERROR_FILE,
                               "sample %" PRId64 " is not a number of 0 to %" PRIu32, i, maxval);
        if (image->dtype == TYPE_U8)
            ((uint8_t *)image->data)[i] = (uint8_t)sample;
        else
            ((uint16_t *)image->data)[i] = (uint16_t)sample;
    }
    return true;
}

static bool read_raw(Scan s, uint32_t maxval, RtImage *image, Failure *f)
{
    memcpy(image->data, s.at, image->bytes);
    const int64_t n = tessi_image_elements(image);
    if (image->dtype == TYPE_U16 && tessi_little_endian())
        tessi_swap_bytes(image->data, (size_t)n, 2);
    for (int64_t i = 0; i < n && maxval != 255 && maxval != 65535; i++) {
        uint32_t sample = image->dtype == TYPE_U8 ? ((const uint8_t *)image->data)[i]
                                                  : ((const uint16_t *)image->data)[i];
        if (sample > maxval)
            return tessi_failf(f, TESS_ERROR_FILE,
                               "sample %" PRId64 " is %" PRIu32
                               ", above the file's largest value %" PRIu32,
                               i, sample, maxval);
    }
    return true;
}

/* A failed reader of samples leaves no image behind. */
static bool finish(bool ok, RtImage *image)
{
    if (!ok)
        tessi_image_dispose(image);
    return ok;
}

bool tessi_decode_pnm(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    const int variant = bytes[1] - '0';
    const bool plain = variant <= 3, bitmap = variant == 1 || variant == 4;
    const uint32_t channels = variant == 3 || variant == 6 ? 3 : 1;
    Scan s = { bytes + 2, bytes + n };
    uint32_t width, height, maxval = 1;
    if (!read_number(&s, INT32_MAX, &width) || !read_number(&s, INT32_MAX, &height))
        return bad_header(f);
    if (!bitmap && (!read_number(&s, 65535, &maxval) || maxval == 0))
        return bad_header(f);
    if (s.at == s.end || !is_space(*s.at))
        return s.at == s.end ? cut_short(f) : bad_header(f);
    s.at++; /* one blank, and raw samples begin */

    const ScalarType t = maxval > 255 ? TYPE_U16 : TYPE_U8;
    const size_t left = (size_t)(s.end - s.at);
    const uint64_t samples = (uint64_t)width * height; /* of one channel: below 2^62 */
    /* The least room that the samples need: a bit, a digit, a digit and a blank, or their bytes. */
    bool fits;
    if (bitmap && !plain)
        fits = ((uint64_t)width + 7) / 8 * height <= left;
    else if (bitmap)
        fits = samples <= left;
    else if (plain)
        fits = samples <= (left / 2 + 1) / channels;
    else
        fits = samples <= left / channels / tessi_type_info(t)->bytes;
    if (!fits)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it claims %" PRIu32 " x %" PRIu32
                           " pixels, more than its %zu bytes can hold",
                           height, width, n);
    if (!tessi_image_claim(image, t, height, width, channels, n, 8, f))
        return false;
    if (bitmap && plain)
        return finish(read_plain_bitmap(s, image, f), image);
    if (bitmap) {
        read_raw_bitmap(s, image);
        return true;
    }
    return finish(plain ? read_plain(s, maxval, image, f) : read_raw(s, maxval, image, f), image);
}

/* ---- PAM ---- */

/* One line of the header: its first word in *key, the rest in *value. */
static bool read_line(Scan *s, Scan *key, Scan *value)
{
    while (s->at < s->end && is_space(*s->at))
        s->at++;
    const uint8_t *begin = s->at;
    while (s->at < s->end && *s->at != '\n')
        s->at++;
    if (s->at == s->end)
        return false;
    const uint8_t *word = begin;
    while (word < s->at && !is_space(*word))
        word++;
    *key = (Scan){ begin, word };
    *value = (Scan){ word, s->at };
    s->at++;
    return true;
}

static bool is_word(Scan s, const char *word)
{
    return (size_t)(s.end - s.at) == strlen(word) && memcmp(s.at, word, strlen(word)) == 0;
}

bool tessi_decode_pam(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    Scan s = { bytes + 2, bytes + n }, key, value;
    uint32_t width = 0, height = 0, depth = 0, maxval = 0;
    for (;;) {
        if (!read_line(&s, &key, &value))
            return bad_header(f);
        if (is_word(key, "ENDHDR"))
            break;
        bool ok = true;
        if (is_word(key, "WIDTH"))
            ok = read_number(&value, INT32_MAX, &width);
        else if (is_word(key, "HEIGHT"))
            ok = read_number(&value, INT32_MAX, &height);
        else if (is_word(key, "DEPTH"))
            ok = read_number(&value, UINT16_MAX, &depth);
        else if (is_word(key, "MAXVAL"))
            ok = read_number(&value, 65535, &maxval);
        else
            ok = is_word(key, "TUPLTYPE") || *key.at == '#';
        if (!ok)
            return bad_header(f);
    }
    if (!width || !height || !depth || !maxval)
        return bad_header(f);
    const ScalarType t = maxval > 255 ? TYPE_U16 : TYPE_U8;
    const size_t left = (size_t)(s.end - s.at);
    if ((uint64_t)width * height > left / depth / tessi_type_info(t)->bytes)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it claims %" PRIu32 " x %" PRIu32 " pixels of %" PRIu32
                           " samples, more than its %zu bytes can hold",
                           height, width, depth, n);
    if (!tessi_image_claim(image, t, height, width, depth, n, 1, f))
        return false;
    return finish(read_raw(s, maxval, image, f), image);
}

/* ---- Writing ---- */

static void add_samples(const RtImage *image, RtBytes *out)
{
    uint8_t *to = tessi_bytes_extend(out, image->bytes);
    if (!to)
        return;
    memcpy(to, image->data, image->bytes);
    if (image->dtype == TYPE_U16 && tessi_little_endian())
        tessi_swap_bytes(to, image->bytes / 2, 2);
}

static int maxval_of(const RtImage *image)
{
    return image->dtype == TYPE_U8 ? 255 : 65535;
}

bool tessi_encode_pnm(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)f;
    tessi_bytes_addf(out, "P%c\n%" PRId64 " %" PRId64 "\n%d\n", image->channels > 1 ? '6' : '5',
                     image->shape[1], image->shape[0], maxval_of(image));
    add_samples(image, out);
    return true;
}

bool tessi_encode_pam(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)f;
    static const char *const tuples[] = { "", "GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA" };
    tessi_bytes_addf(out, "P7\nWIDTH %" PRId64 "\nHEIGHT %" PRId64 "\nDEPTH %d\nMAXVAL %d\n",
                     image->shape[1], image->shape[0], image->channels, maxval_of(image));
    if (image->channels <= 4)
        tessi_bytes_addf(out, "TUPLTYPE %s\n", tuples[image->channels]);
    tessi_bytes_addf(out, "ENDHDR\n");
    add_samples(image, out);
    return true;
}
