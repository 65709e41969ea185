/* PNG through libpng: 8 and 16 bits, 1 to 4 channels. Palettes and samples below 8 bits are
 * expanded to 8, a transparent colour becomes an alpha channel. Gamma and colour profiles are left
 * alone: values are never rescaled. */
#include "rt/image_codec.h"
#include "tessera.h"

#ifndef HAVE_PNG

bool tessi_decode_png(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    (void)bytes, (void)n, (void)image;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read PNG; it was made without libpng");
}

bool tessi_encode_png(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)image, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write PNG; it was made without libpng");
}

#else

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* Deflate expands at most 1032 bytes from one. */
enum { DEFLATE_RATIO = 1032, MAX_CHUNK = 8 << 20 };

/* Everything that must survive a jump out of libpng lives here, in the caller's frame. */
typedef struct PngState {
    const uint8_t *at, *end; /* when reading */
    RtBytes *out;            /* when writing */
    char message[128];
} PngState;

static void on_error(png_structp png, png_const_charp message)
{
    PngState *s = png_get_error_ptr(png);
    snprintf(s->message, sizeof s->message, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
    PngState *s = png_get_io_ptr(png);
    if ((size_t)(s->end - s->at) < n)
        png_error(png, "the file ends early");
    memcpy(to, s->at, n);
    s->at += n;
}

static void on_write(png_structp png, png_bytep from, size_t n)
{
    PngState *s = png_get_io_ptr(png);
    tessi_bytes_add(s->out, from, n);
    if (s->out->failed)
        png_error(png, "out of memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* Asks for 8 or 16 bits in native order without palette; how many passes the rows come in. */
static int set_transforms(png_structp png, png_infop info)
{
    png_set_expand(png);
    if (png_get_bit_depth(png, info) == 16 && tessi_little_endian())
        png_set_swap(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return passes;
}

/* False: *f is set, or s->message. Leaves by longjmp to nowhere but its own setjmp. */
static bool read_picture(png_structp png, png_infop info, size_t n_file, RtImage *image, Failure *f)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_user_limits(png, INT32_MAX, INT32_MAX);
    png_set_chunk_malloc_max(png, MAX_CHUNK);
    png_set_chunk_cache_max(png, 128);
    png_read_info(png, info);
    png_uint_32 width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    /* The claim is checked in the file's own depth, before anything is expanded. */
    uint64_t packed_row = png_get_rowbytes(png, info);
    if (packed_row == 0 || height > ((uint64_t)n_file * DEFLATE_RATIO) / packed_row)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it claims %lu x %lu pixels, more than its %zu bytes can hold",
                           (unsigned long)height, (unsigned long)width, n_file);
    int passes = set_transforms(png, info);
    ScalarType t = png_get_bit_depth(png, info) == 16 ? TYPE_U16 : TYPE_U8;
    /* 1-bit palettes with transparency grow by 32. */
    if (!tessi_image_claim(image, t, height, width, png_get_channels(png, info), n_file,
                           DEFLATE_RATIO * 32, f))
        return false;
    const size_t row = image->bytes / height;
    if (png_get_rowbytes(png, info) != row)
        png_error(png, "its rows have an odd size");
    /* Interlaced rows are merged with what earlier passes left. */
    memset(image->data, 0, image->bytes);
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < height; y++)
            png_read_row(png, (png_bytep)image->data + y * row, NULL);
    png_read_end(png, NULL);
    return true;
}

bool tessi_decode_png(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    PngState s = { .at = bytes, .end = bytes + n };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = false;
    Failure why = { 0 };
    if (info) {
        png_set_read_fn(png, &s, on_read);
        ok = read_picture(png, info, n, image, &why);
    }
    png_destroy_read_struct(png ? &png : NULL, info ? &info : NULL, NULL);
    if (ok)
        return true;
    tessi_image_dispose(image);
    if (why.status)
        return tessi_failf(f, why.status, "%s", why.text);
    if (!*s.message)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return tessi_failf(f, TESS_ERROR_FILE, "its PNG data cannot be decoded: %s", s.message);
}

static bool write_picture(png_structp png, png_infop info, const RtImage *image)
{
    static const int colours[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                   PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_user_limits(png, INT32_MAX, INT32_MAX);
    png_set_IHDR(png, info, (png_uint_32)image->shape[1], (png_uint_32)image->shape[0],
                 image->dtype == TYPE_U16 ? 16 : 8, colours[image->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (image->dtype == TYPE_U16 && tessi_little_endian())
        png_set_swap(png);
    const size_t row = image->bytes / (size_t)image->shape[0];
    for (size_t y = 0; y < (size_t)image->shape[0]; y++)
        png_write_row(png, (png_const_bytep)image->data + y * row);
    png_write_end(png, info);
    return true;
}

bool tessi_encode_png(const RtImage *image, RtBytes *out, Failure *f)
{
    PngState s = { .out = out };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = false;
    if (info) {
        png_set_write_fn(png, &s, on_write, on_flush);
        ok = write_picture(png, info, image);
    }
    png_destroy_write_struct(png ? &png : NULL, info ? &info : NULL);
    if (ok)
        return true;
    if (!*s.message || out->failed)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return tessi_failf(f, TESS_ERROR_FILE, "libpng says: %s", s.message);
}

#endif
