/* JPEG through libjpeg: 8 bits, grey or RGB, written at quality 95. A damaged or truncated file is
 * refused: libjpeg would invent the missing pixels. */
#include "rt/image_codec.h"
#include "tessera.h"

#ifndef HAVE_JPEG

bool tessi_decode_jpeg(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    (void)bytes, (void)n, (void)image;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read JPEG; it was made without libjpeg");
}

bool tessi_encode_jpeg(const RtImage *image, RtBytes *out, Failure *f)
{
    (void)image, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write JPEG; it was made without libjpeg");
}

#else

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE and size_t */
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

enum {
    QUALITY = 95,
    /* Every 8 x 8 block of the largest component takes at least one bit, so a byte holds at most
     * 512 samples of it, and three components make 1536. */
    JPEG_RATIO = 3 * 8 * 64,
    MAX_SCANS =
        200, /* a progressive picture has about ten; each costs a pass over the whole picture */
    MAX_MEMORY = 1 << 30 /* bytes that libjpeg may keep for a progressive picture */
};

/* Everything that must survive a jump out of libjpeg; err comes first so that cinfo->err points at
 * all of it. */
typedef struct JpegState {
    struct jpeg_error_mgr err;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
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

/* Warnings (level below 0) mean damage, except remarks about bytes between the parts and about
 * versions. */
static void on_message(j_common_ptr cinfo, int level)
{
    int code = cinfo->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR
        && code != JWRN_ADOBE_XFORM)
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

/* False: *f is set, or s->message. */
static bool read_picture(struct jpeg_decompress_struct *jpeg, JpegState *s, const uint8_t *bytes,
                         size_t n, RtImage *image, Failure *f)
{
    if (setjmp(s->jump))
        return false;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &s->progress;
    jpeg->mem->max_memory_to_use = MAX_MEMORY;
    jpeg_mem_src(jpeg, bytes, (unsigned long)n);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK
        || jpeg->num_components > 3)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "it is a CMYK picture; only grey and RGB pictures are read");
    unsigned channels = jpeg->num_components == 1 ? 1 : 3;
    jpeg->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (!tessi_image_claim(image, TYPE_U8, jpeg->image_height, jpeg->image_width, channels, n,
                           JPEG_RATIO, f))
        return false;
    jpeg_start_decompress(jpeg);
    const size_t row = image->bytes / jpeg->output_height;
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW to = (JSAMPROW)image->data + jpeg->output_scanline * row;
        jpeg_read_scanlines(jpeg, &to, 1);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

bool tessi_decode_jpeg(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    struct jpeg_decompress_struct jpeg = { 0 };
    JpegState s;
    Failure why = { 0 };
    init_state(&s, true);
    jpeg.err = &s.err;
    bool ok = read_picture(&jpeg, &s, bytes, n, image, &why);
    jpeg_destroy_decompress(&jpeg);
    if (ok)
        return true;
    tessi_image_dispose(image);
    return why.status ? tessi_failf(f, why.status, "%s", why.text) : fail_jpeg(&s, f);
}

typedef struct JpegOutput { /* libjpeg's in-memory file, from malloc */
    unsigned char *at;
    unsigned long n;
} JpegOutput;

static bool write_picture(struct jpeg_compress_struct *jpeg, JpegState *s, const RtImage *image,
                          JpegOutput *out)
{
    if (setjmp(s->jump))
        return false;
    jpeg_create_compress(jpeg);
    jpeg_mem_dest(jpeg, &out->at, &out->n);
    jpeg->image_width = (JDIMENSION)image->shape[1];
    jpeg->image_height = (JDIMENSION)image->shape[0];
    jpeg->input_components = image->channels;
    jpeg->in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, QUALITY, TRUE);
    jpeg_start_compress(jpeg, TRUE);
    const size_t row = image->bytes / (size_t)image->shape[0];
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW from = (JSAMPROW)image->data + jpeg->next_scanline * row;
        jpeg_write_scanlines(jpeg, &from, 1);
    }
    jpeg_finish_compress(jpeg);
    return true;
}

bool tessi_encode_jpeg(const RtImage *image, RtBytes *out, Failure *f)
{
    if (image->shape[0] > JPEG_MAX_DIMENSION || image->shape[1] > JPEG_MAX_DIMENSION)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "JPEG holds at most %ld rows and columns",
                           (long)JPEG_MAX_DIMENSION);
    struct jpeg_compress_struct jpeg = { 0 };
    JpegOutput made = { 0 };
    JpegState s;
    init_state(&s, false);
    jpeg.err = &s.err;
    bool ok = write_picture(&jpeg, &s, image, &made);
    jpeg_destroy_compress(&jpeg);
    if (ok)
        tessi_bytes_add(out, made.at, made.n);
    free(made.at);
    return ok ? true : fail_jpeg(&s, f);
}

#endif
