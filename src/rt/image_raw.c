/* Raw files: elements without a head, row by row. Their names say what they are when they are read:
 *
 *     raw:480x640:uint16:scan.bin          raw:480x640x3:uint8be+512:scan.bin
 *
 * sizes, then the type of the elements (that of the program's image where none is said), `be` for the high byte first,
 * and how many bytes of a head are passed over. */
#include "rt/image_codec.h"
#include "tessera.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "raw:";

typedef struct RawName {
    int64_t shape[RT_IMAGE_DIMS];
    int ndim;
    ScalarType type; /* N_TYPES: not said */
    bool swapped;    /* the high byte first */
    uint64_t offset;
    const char *path;
} RawName;

bool tessi_image_is_raw(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

static bool read_sizes(const char **at, RawName *raw)
{
    const char *s = *at;
    for (;;) {
        char *end;
        errno = 0;
        const long long size = isdigit((unsigned char)*s) ? strtoll(s, &end, 10) : 0;
        if (errno || size < 1 || raw->ndim == RT_IMAGE_DIMS)
            return false;
        raw->shape[raw->ndim++] = size;
        s = end;
        if (*s != 'x')
            break;
        s++;
    }
    *at = s + 1;
    return *s == ':';
}

/* "uint16be+512", n letters of it; false: these are the name of a file. */
static bool read_type(const char *s, size_t n, RawName *raw)
{
    char word[40];
    if (n >= sizeof word)
        return false;
    memcpy(word, s, n);
    word[n] = 0;
    char *plus = strchr(word, '+'), *end = word;
    if (plus) {
        errno = 0;
        raw->offset = strtoull(plus + 1, &end, 10);
        if (errno || *end || end == plus + 1)
            return false;
        *plus = 0;
    }
    const size_t length = strlen(word);
    const bool has_order = length > 2 && word[length - 1] == 'e';
    if (has_order && (word[length - 2] == 'b' || word[length - 2] == 'l')) {
        raw->swapped = word[length - 2] == 'b';
        if (tessi_type_by_name(word, &raw->type)) /* double ends so too */
            return !(raw->swapped = false);
        word[length - 2] = 0;
    }
    return tessi_type_by_name(word, &raw->type) || (length == 0 && plus);
}

static bool read_name(const char *name, RawName *raw)
{
    const char *at = name + sizeof prefix - 1;
    *raw = (RawName){ .type = N_TYPES };
    if (!read_sizes(&at, raw))
        return false;
    const char *colon = strchr(at, ':');
    RawName typed = *raw;
    if (colon && read_type(at, (size_t)(colon - at), &typed)) {
        *raw = typed;
        at = colon + 1;
    }
    raw->path = at;
    return *at != 0;
}

const char *tessi_raw_file(const char *name)
{
    RawName raw;
    return read_name(name, &raw) ? raw.path : NULL;
}

bool tessi_raw_fail_name(const char *name, Failure *f)
{
    return tessi_failf(
        f, TESS_ERROR_ARGUMENT,
        "'%.160s' does not say what the raw file holds, as raw:480x640:uint16:FILE does: rows, "
        "columns and type, with be behind it for the high byte first, or +512 for a head of so "
        "many bytes",
        name);
}

/* Nothing in the file says what it is, so that its length has to. */
static bool check_length(const RtInput *in, const RawName *raw, Failure *f)
{
    size_t due = tessi_type_info(raw->type)->bytes;
    bool fits = true;
    for (int d = 0; d < raw->ndim; d++)
        fits = fits && tessi_mul_size(due, (size_t)raw->shape[d], &due);
    if (fits && in->size != UINT64_MAX && in->size >= raw->offset && in->size - raw->offset == due)
        return true;
    if (in->size == UINT64_MAX)
        return tessi_failf(f, TESS_ERROR_FILE, "it is no file whose length is known");
    return tessi_failf(f, TESS_ERROR_FILE,
                       "it has %" PRIu64 " bytes, and a head of %" PRIu64
                       " with the elements that its name speaks of takes %s%zu",
                       in->size, raw->offset, fits ? "" : "more than ",
                       fits ? due + (size_t)raw->offset : SIZE_MAX);
}

bool tessi_decode_raw(ImageDecode *d, Failure *f)
{
    RawName raw;
    if (!read_name(d->want->named, &raw))
        return tessi_raw_fail_name(d->want->named, f);
    if (raw.type == N_TYPES)
        raw.type = d->want->dtype;
    if (raw.type == N_TYPES)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "neither its name nor the program says of what type its elements are: "
                           "raw:480x640:uint16:FILE does");
    const bool swap = raw.swapped == tessi_little_endian();
    return check_length(d->in, &raw, f)
           && (tessi_input_seek(d->in, raw.offset)
               || tessi_failf(f, TESS_ERROR_FILE, "it is cut short"))
           && tessi_decode_elements(d, raw.type, swap && tessi_type_info(raw.type)->bytes > 1,
                                    raw.ndim, raw.shape, f);
}

bool tessi_encode_raw(ImageRows *r, RtOutput *out, Failure *f)
{
    (void)f;
    tessi_rows_put(r, 0, r->n_rows, out);
    return true;
}
