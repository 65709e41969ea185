/* PNG through libpng: 8 and 16 bits, 1 to 4 channels. Palettes and samples below 8 bits are
 * expanded to 8, a transparent colour becomes an alpha channel. Gamma and colour profiles are kept and
 * not applied: values are never rescaled. */
#include "rt/image_codec.h"
#include "rt/meta_ifd.h"
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
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* zlib's Z_RLE. libpng's filters leave noise and zeros of photographs, in which zlib finds little else than runs: as
 * small as by level 6 without it (a tenth more to a tenth less), in a fifth of the time. */
enum { RUNS = 3 };
/* Deflate expands at most 1032 bytes from one. */
enum { DEFLATE_RATIO = 1032, MAX_CHUNK = 8 << 20 };

/* Everything that must survive a jump out of libpng lives here, in the caller's frame. */
typedef struct PngState {
    RtInput *in;   /* when reading */
    RtOutput *out; /* when writing */
    char message[128];
    bool no_memory; /* something was left out */
} PngState;

static void on_error(png_structp png, png_const_charp message)
{
    PngState *s = png_get_error_ptr(png);
    snprintf(s->message, sizeof s->message, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

/* Without memory libpng leaves metadata out. */
static void on_warning(png_structp png, png_const_charp message)
{
    PngState *s = png_get_error_ptr(png);
    s->no_memory |= strstr(message, "emory") != NULL;
}

static bool left_out(png_structp png)
{
    return ((const PngState *)png_get_error_ptr(png))->no_memory;
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

/* ---- Metadata ---- */

static const char xmp_key[] =
    "XML:com.adobe.xmp";   /* of the text that is XMP, by its specification */
enum { INCHES_100 = 254 }; /* a hundred inches in centimetres */

/* What stands before the pixels, or behind them. */
static void read_meta(png_structp png, png_infop info, RtMeta *m)
{
    png_charp name;
    png_bytep bytes;
    png_uint_32 n, x, y;
    png_textp text;
    int kind, n_texts = 0, unit;
    if (!m->icc.n && png_get_iCCP(png, info, &name, &kind, &bytes, &n))
        tessi_bytes_add(&m->icc, bytes, n);
#ifdef PNG_eXIf_SUPPORTED
    if (!m->exif.n && png_get_eXIf_1(png, info, &n, &bytes))
        tessi_bytes_add(&m->exif, bytes, n);
#endif
    png_get_text(png, info, &text, &n_texts);
    for (int i = 0; i < n_texts && !m->xmp.n; i++)
        if (strcmp(text[i].key, xmp_key) == 0)
            tessi_bytes_add(&m->xmp, text[i].text,
                            text[i].itxt_length ? text[i].itxt_length : text[i].text_length);
    if (png_get_pHYs(png, info, &x, &y, &unit) && x && y) {
        const bool metres = unit == PNG_RESOLUTION_METER;
        m->unit = metres ? RT_UNIT_CM : RT_UNIT_NONE;
        m->resolution[0] = metres ? x / 100.0 : x;
        m->resolution[1] = metres ? y / 100.0 : y;
    }
    m->orientation = tessi_exif_orientation(&m->exif);
    if (m->resolution[0] <= 0)
        tessi_exif_resolution(&m->exif, m->resolution, &m->unit);
}

static png_uint_32 a_metre(double x, RtUnit unit)
{
    const double per = unit == RT_UNIT_INCH ? x * 10000 / INCHES_100
                       : unit == RT_UNIT_CM ? x * 100
                                            : x;
    return per > 0 && per < INT32_MAX ? (png_uint_32)lround(per) : 0;
}

static void add_text(png_structp png, png_infop info, const char *key, const char *text, size_t n)
{
    png_text chunk = { .compression = PNG_ITXT_COMPRESSION_NONE };
    chunk.key = (png_charp)(uintptr_t)key;
    chunk.text = (png_charp)(uintptr_t)text;
    chunk.itxt_length = n;
    png_set_text(png, info, &chunk, 1);
}

static void write_meta(png_structp png, png_infop info, const ImageRows *r)
{
    const RtMeta *m = r->meta;
    if (m && m->icc.n)
        png_set_iCCP(png, info, "ICC profile", PNG_COMPRESSION_TYPE_BASE, m->icc.at,
                     (png_uint_32)m->icc.n);
#ifdef PNG_eXIf_SUPPORTED
    if (m && m->exif.n)
        png_set_eXIf_1(png, info, (png_uint_32)m->exif.n, m->exif.at);
#endif
    if (m && m->resolution[0] > 0) {
        const png_uint_32 x = a_metre(m->resolution[0], m->unit),
                          y = a_metre(m->resolution[1], m->unit);
        if (x && y)
            png_set_pHYs(png, info, x, y,
                         m->unit == RT_UNIT_NONE ? PNG_RESOLUTION_UNKNOWN : PNG_RESOLUTION_METER);
    }
    if (m && m->xmp.n)
        add_text(png, info, xmp_key, (const char *)m->xmp.at, m->xmp.n);
    if (r->provenance)
        add_text(png, info, "Software", r->provenance, strlen(r->provenance));
}

/* ---- Reading ---- */

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
    read_meta(png, info, &d->meta);
    const png_uint_32 width = png_get_image_width(png, info),
                      height = png_get_image_height(png, info);
    const int depth = png_get_bit_depth(png, info);
    if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
        snprintf(d->want->packed_found, sizeof d->want->packed_found, "palette");
    else if (depth < 8)
        snprintf(d->want->packed_found, sizeof d->want->packed_found, "%d bit%s", depth,
                 depth == 1 ? "" : "s");
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
    png_read_end(png, info);
    read_meta(png, info, &d->meta);
    return !left_out(png);
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

/* ---- Writing ---- */

/* Of bytes one filter for all rows: libpng tries each for each row, a third of the time of writing, and finds what is 0
 * to 4 % smaller. Bits are packed, which no filter suits. */
static int filters_for(const ImageRows *rows)
{
    return rows->type == TYPE_U8     ? PNG_FILTER_PAETH
           : rows->type == TYPE_BOOL ? PNG_FILTER_NONE
                                     : PNG_ALL_FILTERS;
}

static bool write_picture(png_structp png, png_infop info, ImageRows *r)
{
    static const int colours[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                   PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_user_limits(png, INT32_MAX, INT32_MAX);
    png_set_IHDR(png, info, (png_uint_32)r->width, (png_uint_32)r->height,
                 r->type == TYPE_U16    ? 16
                 : r->type == TYPE_BOOL ? 1
                                        : 8,
                 colours[r->channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_benign_errors(png, 1); /* a profile that libpng finds odd is no reason to fail */
#ifdef PNG_SKIP_sRGB_CHECK_PROFILE
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
#endif
    write_meta(png, info, r);
    if (left_out(png))
        return false;
    png_write_info(png, info);
    png_set_benign_errors(png, 0);
    if (r->type == TYPE_U16 && tessi_little_endian())
        png_set_swap(png);
    if (r->type == TYPE_BOOL)
        png_set_packing(png);
    for (int64_t y = 0; y < r->height; y++)
        png_write_row(png, tessi_rows_get(r, y));
    png_write_end(png, NULL); /* with `info` it would write EXIF once more */
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
        png_set_compression_strategy(png, RUNS);
        png_set_filter(png, PNG_FILTER_TYPE_BASE, filters_for(rows));
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
