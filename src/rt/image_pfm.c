/* PFM: 32-bit floats, grey ("Pf") or RGB ("PF"), rows from the bottom up. The sign of the scale
 * gives the byte order; its size is a remark about units and is not applied, as values are never
 * rescaled. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The next word of the header and the one blank after it. */
static bool next_word(RtInput *in, char *word, size_t room)
{
    int c;
    do
        c = tessi_input_byte(in);
    while (c == ' ' || (c >= '\t' && c <= '\r'));
    size_t n = 0;
    for (; c > ' '; c = tessi_input_byte(in)) {
        if (n + 1 >= room)
            return false;
        word[n++] = (char)c;
    }
    word[n] = 0;
    return n > 0 && c >= 0;
}

static bool to_size(const char *word, uint64_t *out)
{
    char *end;
    if (word[0] < '0' || word[0] > '9' || strlen(word) > 10)
        return false;
    *out = strtoull(word, &end, 10);
    return *end == 0;
}

/* A number other than 0, by its digits alone: strtod would follow the locale. */
static bool is_scale(const char *word)
{
    return strspn(word, "+-.0123456789eE") == strlen(word) && strpbrk(word, "123456789");
}

bool tessi_decode_pfm(ImageDecode *d, Failure *f)
{
    RtInput *in = d->in;
    char word[32];
    uint64_t width, height;
    tessi_input_byte(in); /* P */
    const unsigned channels = tessi_input_byte(in) == 'F' ? 3 : 1;
    bool ok = next_word(in, word, sizeof word) && to_size(word, &width)
              && next_word(in, word, sizeof word) && to_size(word, &height)
              && next_word(in, word, sizeof word);
    if (!ok || !is_scale(word))
        return tessi_failf(f, TESS_ERROR_FILE, "its header is broken");
    if (!tessi_image_claim(TYPE_F32, 1, height, width, channels, in->size, 1, f))
        return false;
    const uint64_t row_bytes = 4 * width * channels;
    if (in->size != UINT64_MAX && row_bytes * height > in->size - in->at)
        return tessi_failf(f, TESS_ERROR_FILE, "it is cut short");
    const ImageHead head = tessi_head_of_picture(TYPE_F32, 1, height, width, channels);
    if (!tessi_decode_begin(d, &head, 1, 0, f))
        return false;
    const bool swap = (word[0] == '-') != tessi_little_endian();
    for (int64_t y = (int64_t)height - 1; y >= 0; y--) {
        uint8_t *row = tessi_decode_row(d, y);
        if (tessi_input_read(in, row, row_bytes) < row_bytes)
            return tessi_failf(f, TESS_ERROR_FILE, "it is cut short");
        if (swap)
            tessi_swap_bytes(row, row_bytes / 4, 4);
        if (!tessi_decode_done(d, y, f))
            return false;
    }
    return true;
}

bool tessi_encode_pfm(ImageRows *r, RtOutput *out, Failure *f)
{
    (void)f;
    tessi_output_addf(out, "%s\n%" PRId64 " %" PRId64 "\n%s\n", r->channels > 1 ? "PF" : "Pf",
                      r->width, r->height, tessi_little_endian() ? "-1.0" : "1.0");
    for (int64_t y = r->height - 1; y >= 0 && !out->error; y--)
        tessi_output_add(out, tessi_rows_get(r, y), r->row_bytes);
    return true;
}
