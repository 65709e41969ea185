/* TIFF through libtiff: the first page; integers of 8, 16 and 32 bits and floats of 16, 32 and 64;
 * strips or tiles, interleaved or planar samples. Written: uint8, uint16 and float, interleaved,
 * not compressed. */
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

bool tessi_decode_tiff(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    (void)bytes, (void)n, (void)image;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read TIFF; it was made without libtiff 4.5 or later");
}

bool tessi_encode_tiff(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)image, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write TIFF; it was made without libtiff 4.5 or later");
}

#else

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIFF_RATIO =
        2048, /* no compression in use makes more bytes of one, but for blank pages of fax */
    MAX_DIRECTORY = 1 << 26, /* memory that libtiff may ask for besides the pixels */
    MAX_SAMPLES = 4096
};

/* ---- A file in memory, as libtiff sees it ---- */

typedef struct TiffFile {
    const uint8_t *bytes; /* when reading */
    size_t n;
    RtBytes *out; /* when writing */
    uint64_t at;
    char message[160]; /* the first error */
} TiffFile;

static size_t file_size(const TiffFile *t)
{
    return t->out ? t->out->n : t->n;
}

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t n)
{
    TiffFile *t = handle;
    const uint8_t *bytes = t->out ? t->out->at : t->bytes;
    size_t size = file_size(t);
    if (n <= 0 || t->at >= size)
        return 0;
    size_t got = (size_t)n < size - t->at ? (size_t)n : (size_t)(size - t->at);
    memcpy(to, bytes + t->at, got);
    t->at += got;
    return (tmsize_t)got;
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t n)
{
    TiffFile *t = handle;
    if (!t->out || n <= 0 || t->at > SIZE_MAX / 2)
        return 0;
    size_t end = (size_t)t->at + (size_t)n;
    if (end > t->out->n) {
        size_t before = t->out->n;
        uint8_t *grown = tessi_bytes_extend(t->out, end - before);
        if (!grown)
            return 0;
        memset(grown, 0, end - before);
    }
    memcpy(t->out->at + t->at, from, (size_t)n);
    t->at = end;
    return n;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    TiffFile *t = handle;
    uint64_t base = whence == SEEK_CUR ? t->at : whence == SEEK_END ? file_size(t) : 0;
    t->at = base + offset;
    return t->at;
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle)
{
    return file_size(handle);
}

static int on_error(TIFF *tiff, void *user, const char *module, const char *fmt, va_list args)
{
    (void)tiff, (void)module;
    TiffFile *t = user;
    if (!*t->message)
        vsnprintf(t->message, sizeof t->message, fmt, args);
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
    if (!options)
        return NULL;
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

typedef struct Layout {
    uint32_t width, height;
    uint16_t samples;
    bool planar, inverted; /* inverted: 0 is white */
    ScalarType type;
    size_t element, row; /* bytes of one element and one row of the image */
} Layout;

static bool element_type(uint16_t bits, uint16_t format, ScalarType *t)
{
    static const struct {
        uint16_t bits, format;
        ScalarType type;
    } types[] = {
        { 8, SAMPLEFORMAT_UINT, TYPE_U8 },     { 16, SAMPLEFORMAT_UINT, TYPE_U16 },
        { 32, SAMPLEFORMAT_UINT, TYPE_U32 },   { 8, SAMPLEFORMAT_INT, TYPE_I8 },
        { 16, SAMPLEFORMAT_INT, TYPE_I16 },    { 32, SAMPLEFORMAT_INT, TYPE_I32 },
        { 16, SAMPLEFORMAT_IEEEFP, TYPE_F16 }, { 32, SAMPLEFORMAT_IEEEFP, TYPE_F32 },
        { 64, SAMPLEFORMAT_IEEEFP, TYPE_F64 },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].bits == bits && types[i].format == format) {
            *t = types[i].type;
            return true;
        }
    return false;
}

static bool read_layout(TIFF *tiff, Layout *l, const TiffFile *file, Failure *f)
{
    uint16_t bits = 1, format = SAMPLEFORMAT_UINT, planar = PLANARCONFIG_CONTIG, compression = 1;
    uint16_t photometric = PHOTOMETRIC_MINISBLACK;
    *l = (Layout){ .samples = 1 };
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &l->width)
        || !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &l->height))
        return fail_tiff(file, f);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    if (format == SAMPLEFORMAT_VOID)
        format = SAMPLEFORMAT_UINT;
    /* libtiff turns the YCbCr of JPEG inside TIFF into RGB when asked. */
    if (photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG
        && planar == PLANARCONFIG_CONTIG) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        photometric = PHOTOMETRIC_RGB;
    }
    if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE
        && photometric != PHOTOMETRIC_RGB)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its colours are stored as a palette, CMYK, YCbCr or Lab; only grey and RGB TIFF is "
            "read");
    if (!element_type(bits, format, &l->type))
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its samples have %u bits in a form that is not read; 8, 16 and 32 bits and floats are",
            (unsigned)bits);
    if (l->samples > MAX_SAMPLES)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "it has %u channels; at most %d are read",
                           (unsigned)l->samples, MAX_SAMPLES);
    l->planar = planar == PLANARCONFIG_SEPARATE && l->samples > 1;
    l->inverted = photometric == PHOTOMETRIC_MINISWHITE && !tessi_is_real(l->type);
    l->element = tessi_type_info(l->type)->bytes;
    return true;
}

/* Copies a block of `rows` x `columns` pixels, `block_row` bytes from row to row, to (y, x) of the
 * image; of a planar file, the block holds the samples of one plane only. */
static void place_block(const Layout *l, RtImage *image, const uint8_t *block, size_t block_row,
                        uint32_t y, uint32_t x, uint32_t rows, uint32_t columns, uint16_t plane)
{
    const size_t pixel = l->element * l->samples;
    for (uint32_t r = 0; r < rows; r++, block += block_row) {
        uint8_t *to = (uint8_t *)image->data + (size_t)(y + r) * l->row + x * pixel;
        if (!l->planar) {
            memcpy(to, block, columns * pixel);
            continue;
        }
        for (uint32_t c = 0; c < columns; c++)
            memcpy(to + c * pixel + plane * l->element, block + c * l->element, l->element);
    }
}

/* Reads all blocks, tiles or strips, through one buffer of `block_bytes`. */
static bool read_blocks(TIFF *tiff, const Layout *l, RtImage *image, uint8_t *buffer,
                        size_t block_bytes, uint32_t block_rows, uint32_t block_columns)
{
    const bool tiled = TIFFIsTiled(tiff);
    const uint16_t planes = l->planar ? l->samples : 1;
    const size_t block_row = (size_t)block_columns * l->element * (l->planar ? 1 : l->samples);
    for (uint16_t plane = 0; plane < planes; plane++)
        for (uint64_t y64 = 0; y64 < l->height; y64 += block_rows)
            for (uint64_t x64 = 0; x64 < l->width; x64 += block_columns) {
                const uint32_t y = (uint32_t)y64, x = (uint32_t)x64;
                uint32_t rows = l->height - y < block_rows ? l->height - y : block_rows;
                uint32_t columns = l->width - x < block_columns ? l->width - x : block_columns;
                /* Tiles are stored whole, the last strip only as far as the picture goes. */
                size_t want = tiled ? block_bytes : rows * block_row;
                tmsize_t got;
                if (tiled)
                    got = TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, plane), buffer,
                                              (tmsize_t)block_bytes);
                else
                    got = TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, plane), buffer,
                                               (tmsize_t)want);
                if (got < 0 || (size_t)got < want)
                    return false;
                place_block(l, image, buffer, block_row, y, x, rows, columns, plane);
            }
    return true;
}

static void invert(const Layout *l, RtImage *image)
{
    int64_t n = tessi_image_elements(image);
    Interval range = tessi_type_range(l->type);
    char *at = image->data;
    for (int64_t i = 0; i < n; i++, at += l->element) {
        int64_t v = tessi_load_element(l->type, at).i;
        tessi_store_element(l->type, at, tessi_value_int(range.hi - v + range.lo));
    }
}

static bool read_picture(TIFF *tiff, const TiffFile *file, RtImage *image, Failure *f)
{
    Layout l;
    if (!read_layout(tiff, &l, file, f))
        return false;
    if (!tessi_image_claim(image, l.type, l.height, l.width, l.samples, file->n, TIFF_RATIO, f))
        return false;
    l.row = image->bytes / l.height;

    uint32_t rows = l.height, columns = l.width;
    const bool tiled = TIFFIsTiled(tiff);
    if (tiled) {
        if (!TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &columns)
            || !TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows) || rows == 0 || columns == 0)
            return fail_tiff(file, f);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
        rows = rows == 0 || rows > l.height ? l.height : rows;
    }
    uint64_t bytes = tiled ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
    uint64_t computed = (uint64_t)columns * l.element * (l.planar ? 1 : l.samples);
    /* A tile may be larger than the picture, but not without bound; and libtiff must see blocks as
     * we do. */
    if (computed == 0 || rows > UINT64_MAX / computed || bytes != computed * rows
        || bytes > (uint64_t)image->bytes * 4 + MAX_DIRECTORY)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "its blocks of %" PRIu32 " x %" PRIu32 " pixels cannot be read", rows,
                           columns);
    uint8_t *buffer = malloc((size_t)bytes);
    if (!buffer)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    bool ok = read_blocks(tiff, &l, image, buffer, (size_t)bytes, rows, columns);
    free(buffer);
    if (!ok)
        return fail_tiff(file, f);
    if (l.inverted)
        invert(&l, image);
    return true;
}

bool tessi_decode_tiff(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    TiffFile file = { .bytes = bytes, .n = n };
    size_t most = n < (SIZE_MAX / 4 - MAX_DIRECTORY) / TIFF_RATIO ? n * TIFF_RATIO + MAX_DIRECTORY
                                                                  : SIZE_MAX / 4;
    TIFF *tiff = open_tiff(&file, "rm", most);
    if (!tiff)
        return fail_tiff(&file, f);
    bool ok = read_picture(tiff, &file, image, f);
    TIFFClose(tiff);
    if (!ok)
        tessi_image_dispose(image);
    return ok;
}

/* ---- Writing ---- */

static bool write_picture(TIFF *tiff, const RtImage *image)
{
    const uint32_t height = (uint32_t)image->shape[0], width = (uint32_t)image->shape[1];
    const size_t row = image->bytes / height;
    const uint16_t bits = (uint16_t)(8 * tessi_type_info(image->dtype)->bytes);
    /* Strips of about 256 KiB, as readers hold one at a time. */
    const uint32_t rows = row < 1 << 18 ? (uint32_t)((1 << 18) / row) : 1;
    bool ok = TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width)
              && TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height)
              && TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits)
              && TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, (uint16_t)image->channels)
              && TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                              tessi_is_real(image->dtype) ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT)
              && TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG)
              && TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE)
              && TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                              image->channels >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK)
              && TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, rows < height ? rows : height);
    if (image->channels == 2 || image->channels == 4) {
        const uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
        ok = ok && TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    }
    for (uint32_t y = 0; ok && y < height; y++)
        ok = TIFFWriteScanline(tiff, (char *)image->data + y * row, y, 0) == 1;
    return ok && TIFFWriteDirectory(tiff) == 1;
}

bool tessi_encode_tiff(const RtImage *image, RtBytes *out, Failure *f)
{
    TiffFile file = { .out = out };
    /* Offsets of the classic form have 32 bits. */
    TIFF *tiff = open_tiff(&file, image->bytes < (size_t)UINT32_MAX - (1u << 24) ? "w" : "w8", 0);
    if (!tiff)
        return fail_tiff(&file, f);
    bool ok = write_picture(tiff, image);
    TIFFClose(tiff);
    if (out->failed)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return ok ? true : fail_tiff(&file, f);
}

#endif
