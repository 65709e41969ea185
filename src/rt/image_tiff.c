/* TIFF through libtiff. Read: pages of integers of 8 to 64 bits, floats of 16 to 64, and of 1, 2 and 4
 * bits unpacked to 0..255; strips or tiles, interleaved or planar samples. Written: every type of the
 * language, bool as bitmap, stacks as pages, interleaved, in strips or tiles
 * (image_tiff_tiles.c). Metadata: image_tiff_meta.c. */
#include "rt/image_codec.h"
#include "tessera.h"

#ifdef HAVE_TIFF
#include <tiffio.h>
/* Before 4.5, messages could be caught only by handlers of the whole process. */
#if TIFFLIB_VERSION < 20221213
#undef HAVE_TIFF
#endif
#endif

#ifndef HAVE_TIFF

bool tessi_decode_tiff(ImageDecode *d, Failure *f)
{
    (void)d;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read TIFF; it was made without libtiff 4.5 or later");
}

bool tessi_encode_tiff(ImageRows *rows, RtOutput *out, Failure *f)
{
    (void)rows, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write TIFF; it was made without libtiff 4.5 or later");
}

#else

#include "rt/image_stack.h"
#include "rt/image_tiff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIFF_RATIO = 2048,       /* no compression but the next makes more bytes of one */
    DENSE_RATIO = 1 << 16,   /* of Zstandard and LZMA, on blank pages */
    MAX_DIRECTORY = 1 << 26, /* memory that libtiff may ask for besides the pixels */
    MAX_SAMPLES = 4096       /* channels that are read */
};

/* ---- A file as libtiff sees it ---- */

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t n)
{
    TiffFile *t = handle;
    if (n <= 0)
        return 0;
    return (tmsize_t)(t->out ? tessi_output_read(t->out, to, (size_t)n)
                             : tessi_input_read(t->in, to, (size_t)n));
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t n)
{
    TiffFile *t = handle;
    if (!t->out || n <= 0)
        return 0;
    if (t->told) { /* they are in the file */
        t->told += (uint64_t)n;
        return n;
    }
    if (!from) /* so it writes arrays for which it got no memory */
        t->out->error = ENOMEM;
    tessi_output_add(t->out, from, (size_t)n);
    return t->out->error ? 0 : n;
}

static toff_t on_size(thandle_t handle)
{
    const TiffFile *t = handle;
    return t->told ? t->told : t->out ? t->out->size : t->in->size;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    TiffFile *t = handle;
    if (t->told)
        return t->told; /* strips follow one another */
    const uint64_t here = t->out ? t->out->at : t->in->at;
    const uint64_t at = offset + (whence == SEEK_CUR ? here : whence == SEEK_END ? on_size(t) : 0);
    const bool done = t->out ? tessi_output_seek(t->out, at) : tessi_input_seek(t->in, at);
    return done ? at : (toff_t)-1;
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static int on_error(TIFF *tiff, void *user, const char *module, const char *fmt, va_list args)
{
    (void)tiff, (void)module;
    TiffFile *t = user;
    char text[sizeof t->message];
    unsigned bad;
    vsnprintf(text, sizeof text, fmt, args);
    const char *value = strstr(text, "Bad value ");
    /* Its pixels can be read all the same. */
    if (value && strstr(value, "\"Orientation\"") && sscanf(value, "Bad value %u", &bad) == 1)
        t->misoriented = (int)(bad & UINT16_MAX) + 1;
    else if (!*t->message)
        memcpy(t->message, text, sizeof text);
    return 1; /* handled: nothing is printed */
}

static int on_warning(TIFF *tiff, void *user, const char *module, const char *fmt, va_list args)
{
    (void)tiff, (void)user, (void)module, (void)fmt, (void)args;
    return 1;
}

/* mode: "r" with "m" for no memory mapping, "w" or "w8" */
static TIFF *open_tiff(TiffFile *file, const char *mode, size_t most_memory)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) {
        snprintf(file->message, sizeof file->message, "out of memory");
        return NULL;
    }
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, file);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, file);
    if (most_memory)
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)most_memory);
    TIFF *tiff = TIFFClientOpenExt("image", mode, file, on_read, on_write, on_seek, on_close,
                                   on_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static bool fail_tiff(const TiffFile *file, Failure *f)
{
    return tessi_failf(f, TESS_ERROR_FILE, "its TIFF data cannot be %s: %s",
                       file->out ? "encoded" : "decoded",
                       *file->message ? file->message : "the structure is broken");
}

/* ---- Reading ---- */

typedef struct Layout { /* of a page */
    uint32_t width, height;
    uint16_t samples, bits, compression;
    bool planar, inverted;      /* inverted: 0 is white */
    ScalarType type;            /* of the elements in memory: uint8 where samples are packed */
    size_t pixel;               /* bytes of one in memory */
    bool inks;                  /* CMYK */
    uint16_t channels;          /* in memory: those of a palette's colours, else the samples */
    const uint16_t *palette[3]; /* libtiff's, of 2^bits colours; NULL: there is none */
    int palette_shift;          /* to 8 bits */
    bool spread;                /* a page holds one channel of the image, number `channel` */
    uint16_t channel;
} Layout;

/* How libtiff tells the types apart. */
static const struct {
    uint16_t bits, format;
    ScalarType type;
} tiff_types[] = {
    { 8, SAMPLEFORMAT_UINT, TYPE_U8 },
    { 16, SAMPLEFORMAT_UINT, TYPE_U16 },
    { 32, SAMPLEFORMAT_UINT, TYPE_U32 },
    { 8, SAMPLEFORMAT_INT, TYPE_I8 },
    { 16, SAMPLEFORMAT_INT, TYPE_I16 },
    { 32, SAMPLEFORMAT_INT, TYPE_I32 },
    { 64, SAMPLEFORMAT_INT, TYPE_I64 },
    { 64, SAMPLEFORMAT_UINT, TYPE_U64 },
    { 16, SAMPLEFORMAT_IEEEFP, TYPE_F16 },
    { 32, SAMPLEFORMAT_IEEEFP, TYPE_F32 },
    { 64, SAMPLEFORMAT_IEEEFP, TYPE_F64 },
    { 1, SAMPLEFORMAT_UINT, TYPE_BOOL }, /* as bool is written; read as uint8 */
};
enum { N_TIFF_TYPES = sizeof tiff_types / sizeof *tiff_types };

static bool element_type(uint16_t bits, uint16_t format, ScalarType *t)
{
    const bool packed = format == SAMPLEFORMAT_UINT && (bits == 1 || bits == 2 || bits == 4);
    *t = TYPE_U8;
    for (size_t i = 0; !packed && i < N_TIFF_TYPES; i++)
        if (tiff_types[i].bits == bits && tiff_types[i].format == format) {
            *t = tiff_types[i].type;
            return true;
        }
    return packed;
}

static bool fail_type(uint16_t bits, uint16_t format, Failure *f)
{
    const char *kind = format == SAMPLEFORMAT_UINT     ? "unsigned integers"
                       : format == SAMPLEFORMAT_INT    ? "signed integers"
                       : format == SAMPLEFORMAT_IEEEFP ? "floats"
                                                       : "complex numbers";
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "its samples are %s of %u bits; unsigned integers of 1, 2, 4, 8, 16 and 32 "
                       "bits, signed ones of 8 to 64 and floats of 16 to 64 are read",
                       kind, (unsigned)bits);
}

/* Colours of 16 bits; those of old files have 8 in their places. */
static bool read_palette(TIFF *tiff, Layout *l)
{
    uint16_t *colour[3];
    if (l->bits > 8 || l->samples != 1
        || !TIFFGetField(tiff, TIFFTAG_COLORMAP, &colour[0], &colour[1], &colour[2]))
        return false;
    for (int c = 0; c < 3; c++) {
        l->palette[c] = colour[c];
        for (int i = 0; i < 1 << l->bits; i++)
            if (colour[c][i] > 255)
                l->palette_shift = 8;
    }
    return true;
}

static bool read_layout(TIFF *tiff, Layout *l, const TiffFile *file, Failure *f)
{
    uint16_t format = SAMPLEFORMAT_UINT, planar = PLANARCONFIG_CONTIG;
    uint16_t photometric = PHOTOMETRIC_MINISBLACK;
    *l = (Layout){ .samples = 1, .bits = 1, .compression = COMPRESSION_NONE };
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &l->width)
        || !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &l->height))
        return fail_tiff(file, f);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &l->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &l->compression);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    if (format == SAMPLEFORMAT_VOID)
        format = SAMPLEFORMAT_UINT;
    /* libtiff turns the YCbCr of JPEG inside TIFF into RGB when asked. */
    if (photometric == PHOTOMETRIC_YCBCR && l->compression == COMPRESSION_JPEG
        && planar == PLANARCONFIG_CONTIG) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        photometric = PHOTOMETRIC_RGB;
    }
    l->inks = photometric == PHOTOMETRIC_SEPARATED && l->samples == 4;
    const bool colours = photometric == PHOTOMETRIC_PALETTE && read_palette(tiff, l);
    if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE
        && photometric != PHOTOMETRIC_RGB && !l->inks && !colours)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its colours are stored as inks, YCbCr or Lab, or as a palette of more than 8 bits; "
            "grey, RGB, CMYK and smaller palettes of TIFF are read");
    if (!element_type(l->bits, format, &l->type))
        return fail_type(l->bits, format, f);
    if (l->samples > MAX_SAMPLES)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "it has %u channels; at most %d are read",
                           (unsigned)l->samples, MAX_SAMPLES);
    l->planar = planar == PLANARCONFIG_SEPARATE && l->samples > 1;
    l->inverted = photometric == PHOTOMETRIC_MINISWHITE && !tessi_is_real(l->type);
    l->channels = l->palette[0] ? 3 : l->samples;
    l->pixel = tessi_type_info(l->type)->bytes * l->channels;
    return true;
}

static bool same_layout(const Layout *a, const Layout *b)
{
    return a->width == b->width && a->height == b->height && a->channels == b->channels
           && a->type == b->type && a->inks == b->inks;
}

/* ---- Samples ---- */

/* n samples of `bits` bits, the first one in the highest, from sample number `first` on. */
static void unpack(const uint8_t *packed, unsigned bits, size_t first, size_t n, uint8_t *to)
{
    const unsigned most = (1u << bits) - 1, factor = 255 / most;
    for (size_t i = 0; i < n; i++) {
        const size_t at = (first + i) * bits;
        to[i] = (uint8_t)((packed[at / 8] >> (8 - bits - at % 8) & most) * factor);
    }
}

/* The samples of `n` pixels at x of a row; `block` is a row of a strip or tile, of a planar file with
 * the samples of one plane only. */
static void place(const Layout *l, const uint8_t *block, uint8_t *row, uint32_t x, uint32_t n,
                  uint16_t plane)
{
    const size_t element = tessi_type_info(l->type)->bytes, stride = l->pixel;
    uint8_t *to = row + x * stride;
    if (l->palette[0]) {
        for (uint32_t i = 0; i < n; i++)
            for (int c = 0; c < 3; c++) {
                const size_t at = (size_t)i * l->bits;
                const unsigned index =
                    block[at / 8] >> (8 - l->bits - at % 8) & ((1u << l->bits) - 1);
                *to++ = (uint8_t)(l->palette[c][index] >> l->palette_shift);
            }
        return;
    }
    if (!l->planar && !l->spread) {
        if (l->bits < 8)
            unpack(block, l->bits, 0, (size_t)n * l->samples, to);
        else
            memcpy(to, block, n * stride);
        return;
    }
    to += (l->spread ? l->channel : plane) * element;
    for (uint32_t i = 0; i < n; i++, to += stride)
        if (l->bits < 8)
            unpack(block, l->bits, i, 1, to);
        else
            memcpy(to, block + i * element, element);
}

/* Complete in the form of the file: 0 is white where it says so. */
static bool finish_row(ImageDecode *d, const Layout *l, int64_t k, Failure *f)
{
    uint8_t *row = tessi_decode_row(d, k);
    if (l->spread && l->channel + 1 < l->channels)
        return true; /* others follow */
    for (size_t i = 0; l->inverted && i < d->file_row; i++)
        row[i] = (uint8_t)~row[i]; /* of every integer type: largest + least - value */
    return tessi_decode_done(d, k, f);
}

/* ---- Strips and tiles ---- */

typedef struct Blocks {
    uint32_t rows, columns; /* of one block */
    size_t row, bytes;      /* of one row of a block, and of what is read at once */
    bool tiled, by_rows;    /* by_rows: strips whose rows libtiff gives one by one */
} Blocks;

static bool read_blocks_head(TIFF *tiff, const Layout *l, Blocks *b, const TiffFile *file,
                             Failure *f)
{
    *b = (Blocks){ .rows = l->height, .columns = l->width, .tiled = TIFFIsTiled(tiff) };
    if (b->tiled) {
        if (!TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &b->columns)
            || !TIFFGetField(tiff, TIFFTAG_TILELENGTH, &b->rows) || b->rows == 0 || b->columns == 0)
            return fail_tiff(file, f);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &b->rows);
        b->rows = b->rows == 0 || b->rows > l->height ? l->height : b->rows;
        b->by_rows = !l->planar;
    }
    const uint64_t row = ((uint64_t)b->columns * (l->planar ? 1 : l->samples) * l->bits + 7) / 8;
    const uint64_t seen = b->tiled ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
    /* A tile may be larger than the picture, but not without bound; and libtiff must see blocks as
     * we do. */
    const uint64_t picture = (uint64_t)l->height * l->width * l->pixel;
    if (row == 0 || b->rows > UINT64_MAX / row || seen != row * b->rows
        || seen > picture * 4 + MAX_DIRECTORY)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "its blocks of %" PRIu32 " x %" PRIu32 " pixels cannot be read", b->rows,
                           b->columns);
    b->row = (size_t)row;
    b->bytes = b->by_rows ? b->row : (size_t)seen;
    return true;
}

/* Where reading a page begins whose first row is number `first`: blocks before the first row that is wanted are left
 * out. */
static uint32_t begin_of(const ImageDecode *d, const Layout *l, const Blocks *b, int64_t first)
{
    const int64_t y = tessi_decode_first(d) - first;
    return y <= 0 ? 0 : y >= l->height ? l->height : (uint32_t)y / b->rows * b->rows;
}

/* Rows of strips that lie in the file as they are in the image are read from there, without libtiff's copy. */
static bool is_plain(TIFF *tiff, const Layout *l)
{
    uint16_t order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &order);
    return l->compression == COMPRESSION_NONE && l->bits >= 8 && !l->palette[0] && !l->spread
           && order == FILLORDER_MSB2LSB && (l->bits == 8 || !TIFFIsByteSwapped(tiff));
}

static bool read_rows(TIFF *tiff, ImageDecode *d, const Layout *l, const Blocks *b, uint8_t *buffer,
                      int64_t first, const TiffFile *file, Failure *f)
{
    uint32_t y = begin_of(d, l, b, first);
    bool done = false;
    const TiffPlain plain = { l->height, b->rows, b->row, l->inverted };
    if (is_plain(tiff, l) && !tessi_tiff_read_plain(tiff, d, &plain, first, &y, &done, f))
        return false;
    for (; !done && y < l->height; y++) {
        uint8_t *row = tessi_decode_row(d, first + y);
        const bool unpacks = l->bits < 8 || l->palette[0] || l->spread;
        if (TIFFReadScanline(tiff, unpacks ? buffer : row, y, 0) != 1)
            return fail_tiff(file, f);
        if (unpacks)
            place(l, buffer, row, 0, l->width, 0);
        if (!finish_row(d, l, first + y, f))
            return false;
    }
    return true;
}

/* One block at rows y.. and columns x.. of one plane. */
static bool read_block(TIFF *tiff, ImageDecode *d, const Layout *l, const Blocks *b,
                       uint8_t *buffer, int64_t first, uint32_t y, uint32_t x, uint16_t plane)
{
    const uint32_t rows = l->height - y < b->rows ? l->height - y : b->rows;
    const uint32_t columns = l->width - x < b->columns ? l->width - x : b->columns;
    /* Tiles are stored whole, the last strip only as far as the picture goes. */
    const size_t want = b->tiled ? b->bytes : rows * b->row;
    const tmsize_t got = b->tiled ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, plane),
                                                        buffer, (tmsize_t)want)
                                  : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, plane),
                                                         buffer, (tmsize_t)want);
    if (got < 0 || (size_t)got < want)
        return false;
    for (uint32_t r = 0; r < rows; r++)
        place(l, buffer + r * b->row, tessi_decode_row(d, first + y + r), x, columns, plane);
    return true;
}

/* All blocks of as many rows as a block has, then the next. */
static bool read_bands(TIFF *tiff, ImageDecode *d, const Layout *l, const Blocks *b,
                       uint8_t *buffer, int64_t first, const TiffFile *file, Failure *f)
{
    const uint16_t planes = l->planar ? l->samples : 1;
    for (uint64_t y = begin_of(d, l, b, first); y < l->height; y += b->rows) {
        for (uint16_t plane = 0; plane < planes; plane++)
            for (uint64_t x = 0; x < l->width; x += b->columns)
                if (!read_block(tiff, d, l, b, buffer, first, (uint32_t)y, (uint32_t)x, plane))
                    return fail_tiff(file, f);
        for (uint64_t r = y; r < y + b->rows && r < l->height; r++)
            if (!finish_row(d, l, first + (int64_t)r, f))
                return false;
    }
    return true;
}

/* ---- Pages ---- */

/* Whether the directory is a page: not a smaller copy of one, nor a mask. */
static bool is_page(TIFF *tiff)
{
    uint32_t type = 0;
    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &type);
    return !(type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK));
}

/* Counts the pages from the first directory on; *all: there are none by their kind, so each counts. */
static bool count_pages(TIFF *tiff, const TiffFile *file, int64_t *pages, bool *all, Failure *f)
{
    int64_t n = 0;
    *pages = 0;
    do {
        n++;
        *pages += is_page(tiff);
    } while (TIFFReadDirectory(tiff));
    *all = *pages == 0;
    *pages = *all ? n : *pages;
    /* Behind a last directory that could not be read is none as well. */
    return (TIFFLastDirectory(tiff) && !*file->message) || fail_tiff(file, f);
}

static bool next_page(TIFF *tiff, bool all)
{
    while (TIFFReadDirectory(tiff))
        if (all || is_page(tiff))
            return true;
    return false;
}

static bool go_to_page(TIFF *tiff, int64_t page, bool all, const TiffFile *file, Failure *f)
{
    bool ok = TIFFSetDirectory(tiff, 0) == 1;
    if (ok && !all && !is_page(tiff))
        ok = next_page(tiff, all);
    for (; ok && page > 0; page--)
        ok = next_page(tiff, all);
    return ok || fail_tiff(file, f);
}

static bool check_claim(const Layout *l, int64_t pages, uint64_t n_file, Failure *f)
{
    uint64_t ratio = TIFF_RATIO;
    if (l->compression == COMPRESSION_ZSTD || l->compression == COMPRESSION_LZMA)
        ratio = DENSE_RATIO;
    /* Fax codes take a bit for a row that is like the one before, however long. */
    const bool fax = l->compression == COMPRESSION_CCITTRLE
                     || l->compression == COMPRESSION_CCITTFAX3
                     || l->compression == COMPRESSION_CCITTFAX4;
    const uint64_t bytes = !fax ? n_file : l->height / 8 <= n_file ? UINT64_MAX : n_file;
    return tessi_image_claim(l->type, (uint64_t)pages, l->height, l->width, l->channels, bytes,
                             l->bits < 8 ? ratio * (8 / l->bits) : ratio, f);
}

/* Which page is what of the image: one after the other from `first` on, or folded as the description of the stack
 * says. */
typedef struct PageMap {
    bool folds;
    StackAxes axes;
    int64_t first, planes, channels; /* channels: those in pages of their own */
    int n_outer, along[2]; /* dimensions before rows, and their axes, the slow one first */
} PageMap;

static int64_t page_of(const PageMap *map, int64_t plane, int64_t channel)
{
    if (!map->folds)
        return map->first + plane;
    int64_t at[3] = { 0, 0, 0 };
    at[AXIS_C] = map->channels > 1 ? channel : 0;
    for (int k = map->n_outer - 1; k >= 0; k--) {
        at[map->along[k]] = plane % map->axes.n[map->along[k]];
        plane /= map->axes.n[map->along[k]];
    }
    return tessi_stack_page(&map->axes, at[AXIS_Z], at[AXIS_C], at[AXIS_T]);
}

/* The axes before the rows; false: the program's image has not as many. */
static bool choose_axes(PageMap *map, int ndim)
{
    const int64_t *n = map->axes.n;
    const bool channels = map->channels == 1 && n[AXIS_C] > 1; /* they are an axis like others */
    static const int slow_first[3] = { AXIS_T, AXIS_C, AXIS_Z };
    map->n_outer = 0;
    for (int k = 0; k < 3; k++) {
        const int axis = slow_first[k];
        const bool wanted = axis == AXIS_C ? channels : ndim == 4 && !channels ? true : n[axis] > 1;
        if (wanted && map->n_outer == 2)
            return false;
        if (wanted)
            map->along[map->n_outer++] = axis;
    }
    return map->n_outer == ndim - 2;
}

/* Whether all pages together are what the program wants: an image of four dimensions, or one whose fields are the
 * channels in pages of their own. */
static bool fold_pages(TIFF *tiff, const ImageDecode *d, int64_t pages, PageMap *map, Failure *f)
{
    const RtRequest *want = d->want;
    const char *description = NULL;
    uint16_t samples = 1;
    map->folds = false;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    if (pages < 2 || want->page || !TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &description))
        return true;
    if (!tessi_stack_axes(description, pages, samples, &map->axes, f))
        return want->ndim == 0; /* who asks for nothing gets plain pages */
    const int64_t channels = map->axes.n[AXIS_C];
    const bool fields = channels > 1 && samples == 1 && want->channels == channels;
    if (!map->axes.who || want->ndim < 2 || (!fields && want->ndim != 4))
        return true;
    map->channels = fields ? channels : 1;
    map->planes = pages / map->channels;
    map->folds = choose_axes(map, want->ndim);
    d->want->pages_found = pages;
    return map->folds
           || tessi_failf(f, TESS_ERROR_ARGUMENT,
                          "its %s description speaks of %lld x %lld x %lld pages (Z, channels, T), "
                          "which do not become "
                          "an image of %d dimensions",
                          map->axes.who, (long long)map->axes.n[AXIS_Z], (long long)channels,
                          (long long)map->axes.n[AXIS_T], want->ndim);
}

static ImageHead head_of(const Layout *l, const PageMap *map)
{
    ImageHead head = tessi_head_of_picture(l->type, map->planes, l->height, l->width, l->channels);
    if (map->folds) {
        head.ndim = 0;
        for (int k = 0; k < map->n_outer; k++)
            head.shape[head.ndim++] = map->axes.n[map->along[k]];
        head.shape[head.ndim++] = l->height;
        head.shape[head.ndim++] = l->width;
        if (l->channels > 1)
            head.shape[head.ndim++] = l->channels;
        head.channels = l->channels;
    }
    head.space = l->inks ? SPACE_CMYK : SPACE_BY_CHANNELS;
    head.stacks = true;
    return head;
}

/* A page whose samples are one channel of the image. */
static void spread(Layout *l, const PageMap *map)
{
    if (map->channels == 1)
        return;
    l->spread = true;
    l->channels = (uint16_t)map->channels;
    l->pixel *= (size_t)map->channels;
}

static bool read_page(TIFF *tiff, ImageDecode *d, Layout *l, const Blocks *b, int64_t row,
                      const TiffFile *file, Failure *f)
{
    uint8_t *buffer = malloc(b->bytes);
    if (!buffer)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    const bool ok = b->by_rows ? read_rows(tiff, d, l, b, buffer, row, file, f)
                               : read_bands(tiff, d, l, b, buffer, row, file, f);
    free(buffer);
    return ok;
}

/* The pages of the map, of which libtiff stands at the first one. */
static bool read_pages(TIFF *tiff, ImageDecode *d, const PageMap *map, bool all,
                       const TiffFile *file, Failure *f)
{
    Layout l;
    Blocks b;
    if (!read_layout(tiff, &l, file, f)
        || !check_claim(&l, map->planes * map->channels, d->in->size, f)
        || !read_blocks_head(tiff, &l, &b, file, f))
        return false;
    tessi_tiff_read_meta(tiff, d->in, &d->meta);
    d->meta.misoriented = file->misoriented;
    if (l.palette[0])
        snprintf(d->want->packed_found, sizeof d->want->packed_found, "palette");
    else if (l.bits < 8)
        snprintf(d->want->packed_found, sizeof d->want->packed_found, "%u bit%s", l.bits,
                 l.bits == 1 ? "" : "s");
    spread(&l, map);
    const ImageHead head = head_of(&l, map);
    const int64_t band = map->channels > 1 ? l.height : b.by_rows ? 1 : b.rows;
    if (!tessi_decode_begin(d, &head, band, b.bytes, f))
        return false;
    const Layout first = l;
    int64_t at = page_of(map, 0, 0);
    for (int64_t k = 0; k < map->planes * map->channels; k++) {
        const int64_t page = page_of(map, k / map->channels, k % map->channels);
        const bool there = page == at       ? true
                           : page == at + 1 ? next_page(tiff, all)
                                            : go_to_page(tiff, page, all, file, NULL);
        if (k > 0
            && ((!there && !fail_tiff(file, f)) || !read_layout(tiff, &l, file, f)
                || !read_blocks_head(tiff, &l, &b, file, f)))
            return false;
        at = page;
        if (k > 0)
            spread(&l, map);
        l.channel = (uint16_t)(k % map->channels);
        if (!same_layout(&l, &first) || (!b.by_rows && b.rows > d->band && d->rows))
            return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                               "its %" PRId64
                               " pages differ in size or type; one of them can be read",
                               d->want->pages_found);
        d->turns_differ |= tessi_tiff_orientation(tiff) != d->meta.orientation;
        if (!read_page(tiff, d, &l, &b, k / map->channels * l.height, file, f))
            return false;
    }
    return true;
}

bool tessi_decode_tiff(ImageDecode *d, Failure *f)
{
    if (!tessi_input_hold(d->in, f)) /* it is read in any order */
        return false;
    TiffFile file = { .in = d->in };
    const uint64_t n = d->in->size;
    const size_t most = n < (SIZE_MAX / 4 - MAX_DIRECTORY) / DENSE_RATIO
                            ? (size_t)n * DENSE_RATIO + MAX_DIRECTORY
                            : SIZE_MAX / 4;
    TIFF *tiff = open_tiff(&file, "rm", most);
    if (!tiff)
        return fail_tiff(&file, f);
    int64_t pages;
    bool all;
    PageMap map = { .channels = 1 };
    const bool ok = count_pages(tiff, &file, &pages, &all, f) && go_to_page(tiff, 0, all, &file, f)
                    && fold_pages(tiff, d, pages, &map, f)
                    && (map.folds ? go_to_page(tiff, page_of(&map, 0, 0), all, &file, f)
                                  : tessi_decode_pages(d, pages, &map.first, &map.planes, f)
                                        && go_to_page(tiff, map.first, all, &file, f))
                    && read_pages(tiff, d, &map, all, &file, f);
    TIFFClose(tiff);
    return ok;
}

/* ---- Writing ---- */

static bool set_colours(TIFF *tiff, int channels)
{
    const bool colour = channels == 3 || channels == 4;
    if (!TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colour ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK))
        return false;
    const int extra = channels - (colour ? 3 : 1);
    if (extra == 0)
        return true;
    uint16_t *kinds = calloc((size_t)extra, sizeof *kinds); /* all EXTRASAMPLE_UNSPECIFIED */
    if (kinds && channels <= 4)
        kinds[0] = EXTRASAMPLE_UNASSALPHA;
    const bool ok = kinds && TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, extra, kinds);
    free(kinds);
    return ok;
}

static bool set_fields(TIFF *tiff, const ImageRows *r, int64_t page, size_t row)
{
    uint16_t bits = 0, format = 0;
    for (int i = 0; i < N_TIFF_TYPES; i++)
        if (tiff_types[i].type == r->type) {
            bits = tiff_types[i].bits;
            format = tiff_types[i].format;
        }
    bool ok = TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)r->width)
              && TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)r->height)
              && TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits)
              && TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, (uint16_t)r->channels)
              && TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, format)
              && TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG)
              && tessi_tiff_set_layout(tiff, r, row) && set_colours(tiff, r->channels);
    if (ok && r->pages > 1)
        ok = TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
    if (ok && r->pages > 1 && r->pages <= UINT16_MAX)
        ok = TIFFSetField(tiff, TIFFTAG_PAGENUMBER, (uint16_t)page, (uint16_t)r->pages);
    return ok;
}

/* libtiff may change the row that it is given, so it gets a copy, in `row`. */
static bool write_page(TIFF *tiff, RtOutput *out, bool big, ImageRows *r, int64_t page,
                       TiffPyramid *pyramid, uint8_t *row, size_t bytes)
{
    const size_t n = (size_t)(r->width * r->channels);
    bool ok = set_fields(tiff, r, page, bytes) && tessi_tiff_write_meta(tiff, out, r, page, big);
    if (ok && r->layout.tile)
        return tessi_tiff_write_tiles(tiff, r, page, pyramid, out) && TIFFWriteDirectory(tiff) == 1;
    if (ok && r->type != TYPE_BOOL && !r->layout.compress)
        return tessi_tiff_write_strips(tiff, r, page, bytes) && TIFFWriteDirectory(tiff) == 1;
    for (int64_t y = 0; ok && y < r->height; y++) {
        const void *from = tessi_rows_get(r, page * r->height + y);
        if (r->type == TYPE_BOOL)
            tessi_tiff_pack(from, n, row);
        else
            memcpy(row, from, bytes);
        ok = TIFFWriteScanline(tiff, row, (uint32_t)y, 0) == 1;
    }
    return ok && TIFFWriteDirectory(tiff) == 1;
}

/* The smaller copies, each in a directory behind that of the picture. */
static bool write_pyramid(TIFF *tiff, RtOutput *out, bool big, TiffPyramid *pyramid)
{
    ImageRows rows;
    bool ok = true;
    for (int k = 0; ok && tessi_tiff_pyramid_level(pyramid, k, &rows); k++)
        ok = TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE)
             && write_page(tiff, out, big, &rows, 0, NULL, NULL, rows.row_bytes);
    return ok;
}

static bool make_pyramid(const ImageRows *r, const RtOutput *out, TiffPyramid **pyramid, Failure *f)
{
    if (!r->layout.pyramid)
        return true;
    if (r->pages > 1)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "a pyramid is of one picture, and this is a stack of pages");
    *pyramid = tessi_tiff_pyramid_new(r, out, f);
    return *pyramid != NULL;
}

bool tessi_encode_tiff(ImageRows *r, RtOutput *out, Failure *f)
{
    TiffPyramid *pyramid = NULL;
    const size_t n = (size_t)(r->width * r->channels);
    const size_t bytes = r->type == TYPE_BOOL ? (n + 7) / 8 : r->row_bytes;
    uint64_t whole = (uint64_t)bytes * (uint64_t)r->n_rows + ((uint64_t)r->pages << 10);
    whole += r->layout.pyramid ? whole / 3 + (1 << 22) : 0;
    TiffFile file = { .out = out };
    if (!tessi_tiff_can_compress(r, f) || !make_pyramid(r, out, &pyramid, f))
        return false;
    uint8_t *row = malloc(bytes);
    if (!row) {
        tessi_tiff_pyramid_free(pyramid);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    /* Offsets of the classic form have 32 bits. */
    const bool big = whole >= UINT32_MAX - (1u << 24);
    TIFF *tiff = open_tiff(&file, big ? "w8" : "w", 0);
    bool ok = tiff != NULL;
    for (int64_t page = 0; ok && page < r->pages; page++)
        ok = write_page(tiff, out, big, r, page, pyramid, row, bytes);
    ok = ok && write_pyramid(tiff, out, big, pyramid);
    tessi_tiff_pyramid_free(pyramid);
    if (tiff)
        TIFFClose(tiff);
    free(row);
    return (ok && !*file.message) || fail_tiff(&file, f);
}

#endif
