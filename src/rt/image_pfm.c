/* PFM: 32-bit floats, grey ("Pf") or RGB ("PF"), rows from the bottom up. The sign of the scale
 * gives the byte order; its size is a remark about units and is not applied, as values are never
 * rescaled. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The next word of the header and the one blank after it. */
static bool next_word(const uint8_t **at, const uint8_t *end, char *word, size_t room)
{
    while (*at < end && (**at == ' ' || (**at >= '\t' && **at <= '\r')))
        ++*at;
    size_t n = 0;
    for (; *at<end &&* * at> ' '; ++*at) {
        if (n + 1 >= room)
            return false;
        word[n++] = (char)**at;
    }
    word[n] = 0;
    if (n == 0 || *at == end)
        return false;
    ++*at;
    return true;
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

bool tessi_decode_pfm(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    const uint8_t *at = bytes + 2, *end = bytes + n;
    const unsigned channels = bytes[1] == 'F' ? 3 : 1;
    char word[32];
    uint64_t width, height;
    bool ok = next_word(&at, end, word, sizeof word) && to_size(word, &width)
              && next_word(&at, end, word, sizeof word) && to_size(word, &height)
              && next_word(&at, end, word, sizeof word);
    if (!ok || !is_scale(word))
        return tessi_failf(f, TESS_ERROR_FILE, "its header is broken");
    if (!tessi_image_claim(image, TYPE_F32, height, width, channels, n, 1, f))
        return false;
    if (image->bytes > (size_t)(end - at)) {
        tessi_image_dispose(image);
        return tessi_failf(f, TESS_ERROR_FILE, "it is cut short");
    }
    const size_t row = image->bytes / (size_t)height;
    for (uint64_t y = 0; y < height; y++)
        memcpy((char *)image->data + y * row, at + (height - 1 - y) * row, row);
    if ((word[0] == '-') != tessi_little_endian())
        tessi_swap_bytes(image->data, image->bytes / 4, 4);
    return true;
}

bool tessi_encode_pfm(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)f;
    tessi_bytes_addf(out, "%s\n%" PRId64 " %" PRId64 "\n%s\n", image->channels > 1 ? "PF" : "Pf",
                     image->shape[1], image->shape[0], tessi_little_endian() ? "-1.0" : "1.0");
    const size_t row = image->bytes / (size_t)image->shape[0];
    for (int64_t y = image->shape[0] - 1; y >= 0; y--)
        tessi_bytes_add(out, (const char *)image->data + (size_t)y * row, row);
    return true;
}
