/* Smaller copies of a picture behind it in a TIFF file, each half as high and wide as the one before, down to one tile:
 * viewers read the one that suits what they show. A point of a copy is the mean of those four points that it stands
 * for, rounded to nearest, halves up (of bool the first one); points without data are left out of it. Rows come once:
 * those of the copies wait in files without names until the picture is written. */
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

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LEVELS = 32 };

/* A copy, and the row of the image before it that waits for the next one. */
typedef struct Level {
    int64_t width, height, given; /* given: rows of the image before it that have come */
    uint8_t *before, *row;
    FILE *rows;
} Level;

struct TiffPyramid {
    const ImageRows *whole;
    Level level[MOST_LEVELS];
    int n;
    bool has_nodata;
    double nodata;
};

/* ---- Points ---------------------------------------------------------------------------------- */
/* Of integers: exact, and without sums that are too large. */
static int64_t mean_of_ints(const int64_t *v, int n)
{
    int64_t sum = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        sum += tessi_floordiv(v[i], n);
        rest += tessi_floormod(v[i], n);
    }
    return sum + (2 * rest + n) / (2 * n);
}

static bool is_nodata(const TiffPyramid *p, double v)
{
    return p->has_nodata && (v == p->nodata || (isnan(v) && isnan(p->nodata)));
}

static Value mean(const TiffPyramid *p, const Value *four)
{
    const ScalarType t = p->whole->type;
    Value v[4];
    int n = 0;
    for (int i = 0; i < 4; i++)
        if (!is_nodata(p, tessi_value_number(t, four[i])))
            v[n++] = four[i];
    if (n == 0 || t == TYPE_BOOL)
        return four[0];
    if (tessi_is_real(t)) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += v[i].f;
        return tessi_eval_cast(t, TYPE_F64, tessi_value_real(sum / n));
    }
    int64_t ints[4];
    const int64_t top = t == TYPE_U64 ? INT64_MIN : 0; /* 64 unsigned bits, half of them below 0 */
    for (int i = 0; i < n; i++)
        ints[i] = (int64_t)((uint64_t)v[i].i ^ (uint64_t)top);
    return tessi_value_int((int64_t)((uint64_t)mean_of_ints(ints, n) ^ (uint64_t)top));
}

/* ---- Rows ------------------------------------------------------------------------------------ */
#define BYTES_ROW(name, type)                                                                      \
    static void name(const uint8_t *a, const uint8_t *b, int64_t width, int channels, uint8_t *to) \
    {                                                                                              \
        const type *up = (const type *)(const void *)a, *low = (const type *)(const void *)b;      \
        type *out = (type *)(void *)to;                                                            \
        for (int64_t x = 0; x < width; x += 2)                                                     \
            for (int c = 0; c < channels; c++) {                                                   \
                const int64_t l = x * channels + c, r = x + 1 < width ? l + channels : l;          \
                *out++ = (type)((up[l] + up[r] + low[l] + low[r] + 2) / 4);                        \
            }                                                                                      \
    }
BYTES_ROW(bytes_row, uint8_t)
BYTES_ROW(shorts_row, uint16_t)

/* A row of a copy from two of the image before it, which is `width` wide. */
static void halve(const TiffPyramid *p, const uint8_t *a, const uint8_t *b, int64_t width,
                  uint8_t *to)
{
    const ScalarType t = p->whole->type;
    const int channels = p->whole->channels;
    const int64_t size = tessi_type_info(t)->bytes;
    if (t == TYPE_U8 && !p->has_nodata) {
        bytes_row(a, b, width, channels, to);
        return;
    }
    if (t == TYPE_U16 && !p->has_nodata) {
        shorts_row(a, b, width, channels, to);
        return;
    }
    for (int64_t x = 0; x < width; x += 2)
        for (int c = 0; c < channels; c++, to += size) {
            const int64_t l = (x * channels + c) * size;
            const int64_t r = x + 1 < width ? l + channels * size : l;
            const Value four[4] = { tessi_load_element(t, a + l), tessi_load_element(t, a + r),
                                    tessi_load_element(t, b + l), tessi_load_element(t, b + r) };
            tessi_store_element(t, to, mean(p, four));
        }
}

static size_t row_bytes(const TiffPyramid *p, int64_t width)
{
    return (size_t)width * (size_t)p->whole->channels * tessi_type_info(p->whole->type)->bytes;
}

/* Takes a row of the image before copy number k. */
static bool add_row(TiffPyramid *p, int k, const uint8_t *row)
{
    for (; k < p->n; k++) {
        Level *l = &p->level[k];
        const int64_t width = k ? p->level[k - 1].width : p->whole->width;
        const int64_t height = k ? p->level[k - 1].height : p->whole->height;
        const bool is_last = ++l->given == height;
        if (l->given % 2 && !is_last) {
            memcpy(l->before, row, row_bytes(p, width));
            return true;
        }
        halve(p, l->given % 2 ? row : l->before, row, width, l->row);
        if (fwrite(l->row, 1, row_bytes(p, l->width), l->rows) != row_bytes(p, l->width))
            return false;
        row = l->row;
    }
    return true;
}

bool tessi_tiff_pyramid_add(TiffPyramid *p, const void *row, RtOutput *out)
{
    errno = 0;
    if (!p || add_row(p, 0, row))
        return true;
    out->error = errno ? errno : EIO;
    return false;
}

/* ---- Making and ending ----------------------------------------------------------------------- */
static void find_nodata(TiffPyramid *p)
{
    const RtTag *tag = p->whole->meta ? tessi_tag_find(&p->whole->meta->tags, TAG_NODATA) : NULL;
    char text[64] = "", *end;
    if (!tag || tag->n >= sizeof text)
        return;
    memcpy(text, tag->data, (size_t)tag->n);
    p->nodata = strtod(text, &end);
    p->has_nodata = end != text;
}

/* A file without a name, where there is room for the picture itself. */
static FILE *open_rows(const RtOutput *out, int number)
{
    char *path = NULL;
    const size_t n = out->pending.temporary ? strlen(out->pending.temporary) + 16 : 0;
    if (n == 0 || !(path = malloc(n)))
        return tmpfile();
    snprintf(path, n, "%s-%d", out->pending.temporary, number);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlink(path);
    free(path);
    FILE *rows = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (fd >= 0 && !rows)
        close(fd);
    return rows;
}

static bool open_level(TiffPyramid *p, const RtOutput *out, int64_t width, int64_t height)
{
    Level *l = &p->level[p->n++];
    l->width = (width + 1) / 2;
    l->height = (height + 1) / 2;
    l->before = malloc(row_bytes(p, width));
    l->row = malloc(row_bytes(p, l->width));
    l->rows = open_rows(out, p->n);
    return l->before && l->row && l->rows;
}

TiffPyramid *tessi_tiff_pyramid_new(const ImageRows *r, const RtOutput *out, Failure *f)
{
    TiffPyramid *p = calloc(1, sizeof *p);
    int64_t width = r->width, height = r->height;
    bool ok = p != NULL;
    if (ok) {
        p->whole = r;
        find_nodata(p);
    }
    while (ok && (width > r->layout.tile || height > r->layout.tile) && p->n < MOST_LEVELS) {
        ok = open_level(p, out, width, height);
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    if (ok)
        return p;
    tessi_tiff_pyramid_free(p);
    tessi_failf(f, TESS_ERROR_MEMORY, "there is no memory or no temporary file for its pyramid");
    return NULL;
}

void tessi_tiff_pyramid_free(TiffPyramid *p)
{
    for (int k = 0; p && k < p->n; k++) {
        free(p->level[k].before);
        free(p->level[k].row);
        if (p->level[k].rows)
            fclose(p->level[k].rows);
    }
    free(p);
}

static const void *next_row(void *user, int64_t k)
{
    Level *l = user;
    (void)k; /* they are asked for in order */
    return fread(l->row, 1, (size_t)l->given, l->rows) == (size_t)l->given ? l->row : NULL;
}

bool tessi_tiff_pyramid_level(TiffPyramid *p, int k, ImageRows *rows)
{
    if (!p || k >= p->n)
        return false;
    Level *l = &p->level[k];
    *rows = *p->whole;
    rows->width = l->width;
    rows->height = rows->n_rows = l->height;
    rows->row_bytes = row_bytes(p, l->width);
    rows->conversion.how = CONVERT_KEEP;
    rows->conversion.from = rows->type;
    rows->gathered = rows->converted = NULL;
    rows->meta = NULL;
    rows->provenance = NULL;
    rows->layout.pyramid = false;
    rows->source = next_row;
    rows->source_user = l;
    l->given = (int64_t)rows->row_bytes;
    rewind(l->rows);
    return true;
}

#else

typedef int tessi_without_pyramids; /* ISO C forbids empty files */

#endif
