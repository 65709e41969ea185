/* PNG through libpng: 8 and 16 bits, 1 to 4 channels. Palettes and samples below 8 bits are
 * expanded to 8, a transparent colour becomes an alpha channel. Gamma and colour profiles are left
 * alone: values are never rescaled. */
#include "rt/image_codec.h"
#include "tessera.h"

#ifndef HAVE_PNG

bool tessi_decode_png(ImageDecode *d, Failure *f)
{
    (void)d;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read PNG; it was made without libpng");
}

bool tessi_encode_png(ImageRows *rows, RtOutput *out, Failure *f)
{
    (void)rows, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write PNG; it was made without libpng");
}

#else

#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* Deflate expands at most 1032 bytes from one. */
enum { DEFLATE_RATIO = 1032, MAX_CHUNK = 8 << 20 };

/* Everything that must survive a jump out of libpng lives here, in the caller's frame. */
typedef struct PngState {
    RtInput *in;   /* when reading */
    RtOutput *out; /* when writing */
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
    if (tessi_input_read(s->in, to, n) < n)
        png_error(png, "the file ends early");
}

static void on_write(png_structp png, png_bytep from, size_t n)
{
    PngState *s = png_get_io_ptr(png);
    tessi_output_add(s->out, from, n);
    if (s->out->error)
        png_error(png, "the file cannot be written");
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

/* Frames of an animated picture; 1 of any other. */
static int64_t count_frames(png_structp png, png_infop info)
{
    png_unknown_chunkp chunks;
    const int n = png_get_unknown_chunks(png, info, &chunks);
    for (int i = 0; i < n; i++)
        if (memcmp(chunks[i].name, "acTL", 4) == 0 && chunks[i].size >= 4)
            return png_get_uint_32(chunks[i].data) > 1 ? (int64_t)png_get_uint_32(chunks[i].data)
                                                       : 1;
    return 1;
}

/* libpng reads only the first frame. */
static bool check_frames(ImageDecode *d, int64_t frames, Failure *f)
{
    d->want->pages_found = frames;
    if (frames == 1 || d->want->page == 1)
        return true;
    return tessi_failf(
        f, TESS_ERROR_UNSUPPORTED,
        "it is an animation of %lld pages, and only page 1 of such files can be read",
        (long long)frames);
}

/* The claim is checked in the file's own depth, before anything is expanded. */
static bool check_claim(png_structp png, png_infop info, const RtInput *in, Failure *f)
{
    const uint64_t packed_row = png_get_rowbytes(png, info),
                   height = png_get_image_height(png, info);
    const uint64_t most =
        in->size < UINT64_MAX / DEFLATE_RATIO ? in->size * DEFLATE_RATIO : UINT64_MAX;
    if (packed_row != 0 && height <= most / packed_row)
        return true;
    return tessi_failf(f, TESS_ERROR_FILE,
                       "it claims %" PRIu64 " x %lu pixels, more than its %" PRIu64
                       " bytes can hold",
                       height, (unsigned long)png_get_image_width(png, info), in->size);
}

/* False: *f is set, or s->message. Leaves by longjmp to nowhere but its own setjmp. */
static bool read_picture(png_structp png, png_infop info, ImageDecode *d, Failure *f)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_user_limits(png, INT32_MAX, INT32_MAX);
    png_set_chunk_malloc_max(png, MAX_CHUNK);
    png_set_chunk_cache_max(png, 128);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "acTL", 1);
    png_read_info(png, info);
    if (!check_frames(d, count_frames(png, info), f) || !check_claim(png, info, d->in, f))
        return false;
    const png_uint_32 width = png_get_image_width(png, info),
                      height = png_get_image_height(png, info);
    const int passes = set_transforms(png, info);
    const ScalarType t = png_get_bit_depth(png, info) == 16 ? TYPE_U16 : TYPE_U8;
    /* 1-bit palettes with transparency grow by 32. */
    if (!tessi_image_claim(t, 1, height, width, png_get_channels(png, info), d->in->size,
                           DEFLATE_RATIO * 32, f))
        return false;
    const ImageHead head = tessi_head_of_picture(t, 1, height, width, png_get_channels(png, info));
    /* The passes of an interlaced picture go over all rows. */
    if (!tessi_decode_begin(d, &head, passes > 1 ? height : 1, 2 * png_get_rowbytes(png, info), f))
        return false;
    if (png_get_rowbytes(png, info) != d->file_row)
        png_error(png, "its rows have an odd size");
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < height; y++) {
            png_read_row(png, tessi_decode_row(d, y), NULL);
            if (pass == passes - 1 && !tessi_decode_done(d, y, f))
                return false;
        }
    png_read_end(png, NULL);
    return true;
}

bool tessi_decode_png(ImageDecode *d, Failure *f)
{
    PngState s = { .in = d->in };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = false;
    Failure why = { 0 };
    if (info) {
        png_set_read_fn(png, &s, on_read);
        ok = read_picture(png, info, d, &why);
    }
    png_destroy_read_struct(png ? &png : NULL, info ? &info : NULL, NULL);
    if (ok)
        return true;
    if (why.status)
        return tessi_failf(f, why.status, "%s", why.text);
    if (!*s.message || strstr(s.message, "emory"))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return tessi_failf(f, TESS_ERROR_FILE, "its PNG data cannot be decoded: %s", s.message);
}

static bool write_picture(png_structp png, png_infop info, ImageRows *r)
{
    static const int colours[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                   PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_user_limits(png, INT32_MAX, INT32_MAX);
    png_set_IHDR(png, info, (png_uint_32)r->width, (png_uint_32)r->height,
                 r->type == TYPE_U16 ? 16 : 8, colours[r->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (r->type == TYPE_U16 && tessi_little_endian())
        png_set_swap(png);
    for (int64_t y = 0; y < r->height; y++)
        png_write_row(png, tessi_rows_get(r, y));
    png_write_end(png, info);
    return true;
}

bool tessi_encode_png(ImageRows *rows, RtOutput *out, Failure *f)
{
    PngState s = { .out = out };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = false;
    if (info) {
        png_set_write_fn(png, &s, on_write, on_flush);
        ok = write_picture(png, info, rows);
    }
    png_destroy_write_struct(png ? &png : NULL, info ? &info : NULL);
    if (ok)
        return true;
    if (!*s.message || strstr(s.message, "emory"))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return tessi_failf(f, TESS_ERROR_FILE, "libpng says: %s", s.message);
}

#endif
