/* Strips of TIFF that lie in the file as their rows do in the image: read and written without libtiff's copies. */
#ifdef HAVE_TIFF
#include <tiffio.h>
/* As in image_tiff.c. */
#if TIFFLIB_VERSION < 20221213
#undef HAVE_TIFF
#endif
#endif

#ifdef HAVE_TIFF

#include "rt/image_tiff.h"
#include "tessera.h"

#include <stdlib.h>
#include <string.h>

/* Where row y lies in the file, and (*n) how many rows from there on lie behind each other; false: the strips are not
 * as long as their rows. */
static bool find_rows(TIFF *tiff, const TiffPlain *p, uint32_t y, uint64_t *at, uint32_t *n)
{
    const uint32_t first = y / p->per;
    uint64_t next = *at = TIFFGetStrileOffset(tiff, first);
    *n = 0;
    for (uint32_t strip = first, row = first * p->per; row < p->height; strip++) {
        const uint32_t rows = p->height - row < p->per ? p->height - row : p->per;
        const uint64_t bytes = (uint64_t)rows * p->row;
        if (TIFFGetStrileOffset(tiff, strip) != next || TIFFGetStrileByteCount(tiff, strip) < bytes)
            break;
        row += rows;
        *n = row - y;
        next += bytes;
        if (*n * p->row >= (uint64_t)1 << 22)
            break;
    }
    *at += (uint64_t)(y - first * p->per) * p->row;
    return *n > 0 && next <= UINT64_MAX / 2;
}

bool tessi_tiff_read_plain(TIFF *tiff, ImageDecode *d, const TiffPlain *p, int64_t first,
                           uint32_t *y, bool *done, Failure *f)
{
    *done = false;
    while (*y < p->height) {
        uint64_t at;
        uint32_t there;
        uint8_t *rows;
        if (!find_rows(tiff, p, *y, &at, &there))
            return true;
        for (uint32_t k = 0; k < there;) {
            int64_t n = tessi_decode_run(d, first + *y, &rows);
            n = n < (int64_t)(there - k) ? n : (int64_t)(there - k);
            const size_t bytes = (size_t)n * p->row;
            if (!tessi_input_seek(d->in, at + (uint64_t)k * p->row)
                || tessi_input_read(d->in, rows, bytes) < bytes)
                return tessi_failf(f, TESS_ERROR_FILE, "it is cut short");
            for (size_t i = 0; p->inverted && i < bytes; i++)
                rows[i] = (uint8_t)~rows[i];
            if (!tessi_decode_done(d, first + *y + n - 1, f))
                return false;
            k += (uint32_t)n;
            *y += (uint32_t)n;
        }
    }
    *done = true;
    return true;
}

/* The end of the file, where libtiff puts the next strip, becomes the beginning of a line of the cache, to which the
 * kernel copies faster: behind a header of 8 bytes it took a fifth more of its time. */
static bool align_end(RtOutput *out)
{
    enum { LINE = 64 };
    static const uint8_t zeros[LINE];
    const bool ok = tessi_output_seek(out, out->size);
    if (ok && out->size % LINE)
        tessi_output_add(out, zeros, LINE - out->size % LINE);
    return ok && !out->error;
}

/* Rows go to the file many at once, as those of other plain files; libtiff, which would write a strip at a time, learns
 * afterwards where its strips lie. */
bool tessi_tiff_write_strips(TIFF *tiff, ImageRows *r, int64_t page, size_t bytes)
{
    TiffFile *file = TIFFClientdata(tiff);
    uint32_t per = 1;
    TIFFGetField(tiff, TIFFTAG_ROWSPERSTRIP, &per);
    if (!align_end(file->out))
        return false;
    const uint64_t at = file->out->at;
    tessi_rows_put(r, page * r->height, (page + 1) * r->height, file->out);
    bool ok = !file->out->error;
    file->told = at;
    for (int64_t y = 0; ok && y < r->height; y += per) {
        const tmsize_t size =
            (tmsize_t)(size_t)(r->height - y < per ? r->height - y : per) * (tmsize_t)bytes;
        uint8_t nothing[1] = { 0 };
        ok = TIFFWriteRawStrip(tiff, (uint32_t)(y / per), nothing, size) == size;
    }
    file->told = 0;
    return ok;
}

#else

typedef int tessi_without_libtiff; /* ISO C forbids empty files */

#endif
