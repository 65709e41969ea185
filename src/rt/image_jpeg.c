/* JPEG through libjpeg: 8 bits, grey or RGB, written at quality 95. A damaged or truncated file is
 * refused: libjpeg would invent the missing pixels. */
#include "rt/image_codec.h"
#include "rt/meta_ifd.h"
#include "tessera.h"

#ifndef HAVE_JPEG

bool tessi_decode_jpeg(ImageDecode *d, Failure *f)
{
    (void)d;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read JPEG; it was made without libjpeg");
}

bool tessi_encode_jpeg(ImageRows *rows, RtOutput *out, Failure *f)
{
    (void)rows, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write JPEG; it was made without libjpeg");
}

#else

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE and size_t */
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 2000000
#define HAS_PROFILES
#endif

enum {
    QUALITY = 95,
    /* Every 8 x 8 block of the largest component takes at least one bit, so a byte holds at most
     * 512 samples of it, and three components make 1536. */
    JPEG_RATIO = 3 * 8 * 64,
    MAX_SCANS =
        200, /* a progressive picture has about ten; each costs a pass over the whole picture */
    BUFFER = 1 << 14
};

/* Everything that must survive a jump out of libjpeg; err comes first so that cinfo->err points at
 * all of it. */
typedef struct JpegState {
    struct jpeg_error_mgr err;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    struct jpeg_source_mgr source;
    struct jpeg_destination_mgr destination;
    RtInput *in;
    RtOutput *out;
    JOCTET buffer[BUFFER]; /* bytes of the file on their way */
    char message[JMSG_LENGTH_MAX];
    bool reading, no_memory;
} JpegState;

static void on_error(j_common_ptr cinfo)
{
    JpegState *s = (JpegState *)cinfo->err;
    s->no_memory = s->err.msg_code == JERR_OUT_OF_MEMORY;
    s->err.format_message(cinfo, s->message);
    longjmp(s->jump, 1);
}

/* A colour profile in pieces that do not fit is none. */
static bool is_about_profile(int code)
{
#ifdef HAS_PROFILES
    return code == JWRN_BOGUS_ICC;
#else
    (void)code;
    return false;
#endif
}

/* Warnings (level below 0) mean damage, except remarks about bytes between the parts and about
 * versions. */
static void on_message(j_common_ptr cinfo, int level)
{
    int code = cinfo->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR
        && code != JWRN_ADOBE_XFORM && !is_about_profile(code))
        on_error(cinfo);
}

static void on_output(j_common_ptr cinfo)
{
    (void)cinfo;
}

static void on_progress(j_common_ptr cinfo)
{
    JpegState *s = (JpegState *)cinfo->err;
    if (!cinfo->is_decompressor || ((j_decompress_ptr)cinfo)->input_scan_number <= MAX_SCANS)
        return;
    snprintf(s->message, sizeof s->message, "it has more than %d scans", MAX_SCANS);
    longjmp(s->jump, 1);
}

static void init_state(JpegState *s, bool reading)
{
    *s = (JpegState){ .reading = reading };
    jpeg_std_error(&s->err);
    s->err.error_exit = on_error;
    s->err.emit_message = on_message;
    s->err.output_message = on_output;
    s->progress.progress_monitor = on_progress;
}

static bool fail_jpeg(const JpegState *s, Failure *f)
{
    if (s->no_memory)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return tessi_failf(f, TESS_ERROR_FILE, "its JPEG data cannot be %s: %s",
                       s->reading ? "decoded" : "encoded", s->message);
}

/* ---- Metadata ---- */

enum { EXIF_MARKER = JPEG_APP0 + 1, PROFILE_MARKER = JPEG_APP0 + 2, LONGEST_MARKER = 65533 };
static const char exif_begin[] = "Exif\0"; /* and the NUL that ends it here */
static const char xmp_begin[] = "http://ns.adobe.com/xap/1.0/";

static void keep_markers(j_decompress_ptr jpeg)
{
    jpeg_save_markers(jpeg, EXIF_MARKER, 0xffff);
    jpeg_save_markers(jpeg, PROFILE_MARKER, 0xffff);
}

/* JFIF has whole numbers; EXIF tells the same ones more exactly. */
static void read_density(j_decompress_ptr jpeg, RtMeta *m)
{
    const double x = jpeg->X_density, y = jpeg->Y_density;
    const bool said = jpeg->saw_JFIF_marker && x > 0 && y > 0 && jpeg->density_unit <= 2;
    const bool exact = tessi_exif_resolution(&m->exif, m->resolution, &m->unit);
    if (!said || (jpeg->density_unit == 0 && (exact || x == y))
        || (exact && (int)m->unit == jpeg->density_unit && fabs(x - m->resolution[0]) <= 0.5
            && fabs(y - m->resolution[1]) <= 0.5))
        return;
    m->resolution[0] = x;
    m->resolution[1] = y;
    m->unit = (RtUnit)jpeg->density_unit; /* ratio, inch, centimetre */
}

static void read_meta(j_decompress_ptr jpeg, RtMeta *m)
{
    for (jpeg_saved_marker_ptr at = jpeg->marker_list; at; at = at->next) {
        if (at->marker != EXIF_MARKER)
            continue;
        if (!m->exif.n && at->data_length > sizeof exif_begin
            && memcmp(at->data, exif_begin, sizeof exif_begin) == 0)
            tessi_bytes_add(&m->exif, at->data + sizeof exif_begin,
                            at->data_length - sizeof exif_begin);
        if (!m->xmp.n && at->data_length > sizeof xmp_begin
            && memcmp(at->data, xmp_begin, sizeof xmp_begin) == 0)
            tessi_bytes_add(&m->xmp, at->data + sizeof xmp_begin,
                            at->data_length - sizeof xmp_begin);
    }
    m->orientation = tessi_exif_orientation(&m->exif);
    read_density(jpeg, m);
}

/* The profile is put together from its markers, in memory of its own. */
static void read_profile(j_decompress_ptr jpeg, RtMeta *m)
{
#ifdef HAS_PROFILES
    JOCTET *profile = NULL;
    unsigned n = 0;
    if (jpeg_read_icc_profile(jpeg, &profile, &n))
        tessi_bytes_add(&m->icc, profile, n);
    free(profile);
#else
    (void)jpeg, (void)m;
#endif
}

static void write_block(j_compress_ptr jpeg, const char *begin, size_t n_begin, const RtBytes *b)
{
    if (!b->n || b->n > LONGEST_MARKER - n_begin)
        return;
    jpeg_write_m_header(jpeg, EXIF_MARKER, (unsigned)(n_begin + b->n));
    for (size_t i = 0; i < n_begin; i++)
        jpeg_write_m_byte(jpeg, (unsigned char)begin[i]);
    for (size_t i = 0; i < b->n; i++)
        jpeg_write_m_byte(jpeg, b->at[i]);
}

/* In inches, whose whole numbers are the finer ones. */
static void set_density(j_compress_ptr jpeg, const RtMeta *m)
{
    const double inches = m->unit == RT_UNIT_CM ? 2.54 : 1;
    const double x = m->resolution[0] * inches, y = m->resolution[1] * inches;
    if (!(x >= 0.5 && x < 65535 && y >= 0.5 && y < 65535))
        return;
    jpeg->density_unit = m->unit != RT_UNIT_NONE;
    jpeg->X_density = (UINT16)lround(x);
    jpeg->Y_density = (UINT16)lround(y);
}

/* Behind the beginning of the file, before its pixels. */
static void write_meta(j_compress_ptr jpeg, const ImageRows *r)
{
    const RtMeta *m = r->meta;
    if (m) {
        write_block(jpeg, exif_begin, sizeof exif_begin, &m->exif);
        write_block(jpeg, xmp_begin, sizeof xmp_begin, &m->xmp);
#ifdef HAS_PROFILES
        if (m->icc.n)
            jpeg_write_icc_profile(jpeg, m->icc.at, (unsigned)m->icc.n);
#endif
    }
    if (r->provenance)
        jpeg_write_marker(jpeg, JPEG_COM, (const JOCTET *)r->provenance,
                          (unsigned)strlen(r->provenance));
}

/* ---- Reading ---- */

static JpegState *state_of(j_common_ptr cinfo)
{
    return (JpegState *)cinfo->err;
}

static void on_begin_source(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static boolean on_fill(j_decompress_ptr jpeg)
{
    JpegState *s = state_of((j_common_ptr)jpeg);
    const uint8_t *bytes;
    size_t n = tessi_input_peek(s->in, 1, &bytes);
    if (n == 0)
        ERREXIT(jpeg, JERR_INPUT_EOF);
    n = tessi_input_peek(s->in, BUFFER, &bytes);
    n = tessi_input_read(s->in, s->buffer, n);
    s->source.next_input_byte = s->buffer;
    s->source.bytes_in_buffer = n;
    return TRUE;
}

static void on_skip(j_decompress_ptr jpeg, long n)
{
    struct jpeg_source_mgr *source = jpeg->src;
    while (n > 0) {
        if (source->bytes_in_buffer == 0)
            on_fill(jpeg);
        const size_t here =
            source->bytes_in_buffer < (size_t)n ? source->bytes_in_buffer : (size_t)n;
        source->next_input_byte += here;
        source->bytes_in_buffer -= here;
        n -= (long)here;
    }
}

static void on_end_source(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

/* Bytes that libjpeg keeps of a picture whose parts come in several scans: all coefficients. */
static uint64_t bytes_of_coefficients(j_decompress_ptr jpeg)
{
    uint64_t bytes = 0;
    if (jpeg_has_multiple_scans(jpeg))
        for (int c = 0; c < jpeg->num_components; c++)
            bytes += (uint64_t)jpeg->comp_info[c].width_in_blocks
                     * jpeg->comp_info[c].height_in_blocks * sizeof(JBLOCK);
    return bytes;
}

/* False: *f is set, or s->message. */
static bool read_picture(struct jpeg_decompress_struct *jpeg, JpegState *s, ImageDecode *d,
                         Failure *f)
{
    if (setjmp(s->jump))
        return false;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &s->progress;
    jpeg->mem->max_memory_to_use = LONG_MAX; /* it is counted before */
    s->source = (struct jpeg_source_mgr){ .init_source = on_begin_source,
                                          .fill_input_buffer = on_fill,
                                          .skip_input_data = on_skip,
                                          .resync_to_restart = jpeg_resync_to_restart,
                                          .term_source = on_end_source };
    jpeg->src = &s->source;
    keep_markers(jpeg);
    jpeg_read_header(jpeg, TRUE);
    read_meta(jpeg, &d->meta);
    read_profile(jpeg, &d->meta);
    const bool inks = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    if (jpeg->num_components > 3 && !inks)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "it has %d components of an unknown kind",
                           jpeg->num_components);
    const unsigned channels = inks ? 4 : jpeg->num_components == 1 ? 1 : 3;
    jpeg->out_color_space = inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (!tessi_image_claim(TYPE_U8, 1, jpeg->image_height, jpeg->image_width, channels, d->in->size,
                           inks ? 2u * JPEG_RATIO : JPEG_RATIO, f))
        return false;
    ImageHead head =
        tessi_head_of_picture(TYPE_U8, 1, jpeg->image_height, jpeg->image_width, channels);
    if (inks) /* Adobe's stand on their heads */
        head.space = jpeg->saw_Adobe_marker ? SPACE_CMYK_REVERSED : SPACE_CMYK;
    d->want->pages_found = 1;
    if (!tessi_decode_begin(d, &head, 1, bytes_of_coefficients(jpeg), f))
        return false;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        const int64_t y = jpeg->output_scanline;
        JSAMPROW to = tessi_decode_row(d, y);
        jpeg_read_scanlines(jpeg, &to, 1);
        if (!tessi_decode_done(d, y, f))
            return false;
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

bool tessi_decode_jpeg(ImageDecode *d, Failure *f)
{
    struct jpeg_decompress_struct jpeg = { 0 };
    JpegState s;
    Failure why = { 0 };
    init_state(&s, true);
    s.in = d->in;
    jpeg.err = &s.err;
    bool ok = read_picture(&jpeg, &s, d, &why);
    jpeg_destroy_decompress(&jpeg);
    if (ok)
        return true;
    return why.status ? tessi_failf(f, why.status, "%s", why.text) : fail_jpeg(&s, f);
}

/* ---- Writing ---- */

static void on_begin_destination(j_compress_ptr jpeg)
{
    JpegState *s = state_of((j_common_ptr)jpeg);
    s->destination.next_output_byte = s->buffer;
    s->destination.free_in_buffer = BUFFER;
}

static void put_buffer(j_compress_ptr jpeg, size_t n)
{
    JpegState *s = state_of((j_common_ptr)jpeg);
    tessi_output_add(s->out, s->buffer, n);
    if (s->out->error)
        ERREXIT(jpeg, JERR_FILE_WRITE);
    on_begin_destination(jpeg);
}

static boolean on_full(j_compress_ptr jpeg)
{
    put_buffer(jpeg, BUFFER);
    return TRUE;
}

static void on_end_destination(j_compress_ptr jpeg)
{
    put_buffer(jpeg, BUFFER - jpeg->dest->free_in_buffer);
}

static bool write_picture(struct jpeg_compress_struct *jpeg, JpegState *s, ImageRows *r)
{
    if (setjmp(s->jump))
        return false;
    jpeg_create_compress(jpeg);
    s->destination = (struct jpeg_destination_mgr){ .init_destination = on_begin_destination,
                                                    .empty_output_buffer = on_full,
                                                    .term_destination = on_end_destination };
    jpeg->dest = &s->destination;
    jpeg->image_width = (JDIMENSION)r->width;
    jpeg->image_height = (JDIMENSION)r->height;
    jpeg->input_components = r->channels;
    jpeg->in_color_space = r->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, QUALITY, TRUE);
    if (r->meta)
        set_density(jpeg, r->meta);
    jpeg_start_compress(jpeg, TRUE);
    write_meta(jpeg, r);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW from = (JSAMPROW)(uintptr_t)tessi_rows_get(r, jpeg->next_scanline);
        jpeg_write_scanlines(jpeg, &from, 1);
    }
    jpeg_finish_compress(jpeg);
    return true;
}

bool tessi_encode_jpeg(ImageRows *rows, RtOutput *out, Failure *f)
{
    if (rows->height > JPEG_MAX_DIMENSION || rows->width > JPEG_MAX_DIMENSION)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "JPEG holds at most %ld rows and columns",
                           (long)JPEG_MAX_DIMENSION);
    struct jpeg_compress_struct jpeg = { 0 };
    JpegState s;
    init_state(&s, false);
    s.out = out;
    jpeg.err = &s.err;
    bool ok = write_picture(&jpeg, &s, rows);
    jpeg_destroy_compress(&jpeg);
    return ok ? true : fail_jpeg(&s, f);
}

#endif
