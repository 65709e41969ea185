/* JPEG XL through libjxl: 8 and 16 bits and floats, grey or RGB, with or without alpha; written without losses. */
#include "rt/image_codec.h"
#include "rt/library.h"
#include "rt/meta_ifd.h"
#include "tessera.h"

#ifndef HAVE_JXL

bool tessi_decode_jxl(ImageDecode *d, Failure *f)
{
    (void)d;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read JPEG XL; it was made without libjxl");
}

bool tessi_encode_jxl(ImageRows *rows, RtOutput *out, Failure *f)
{
    (void)rows, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write JPEG XL; it was made without libjxl");
}

#else

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jxl/decode.h>
#include <jxl/encode.h>

enum { JXL_RATIO = 1 << 20 /* blank pictures take next to nothing */, PIECE = 1 << 16 };

static bool fail_jxl(const char *what, Failure *f)
{
    return tessi_failf(f, TESS_ERROR_FILE, "its JPEG XL data cannot be %s", what);
}

/* libjxl is opened when the first picture asks for it: what it does at its start takes four milliseconds, most of what
 * the tool needs to say its version. */
typedef struct JxlLibrary {
#define F(name) __typeof__(Jxl##name) *name;
#include "rt/jxl.def"
#undef F
} JxlLibrary;

static bool load_jxl(JxlLibrary *lib, Failure *f)
{
    static const char *const names[] = { JXL_LIBRARY, NULL };
    static const RtSymbol symbols[] = {
#define F(name) { "Jxl" #name, offsetof(JxlLibrary, name), false },
#include "rt/jxl.def"
#undef F
    };
    const char *missing;
    if (tessi_library_load(names, symbols, sizeof symbols / sizeof *symbols, lib, &missing))
        return true;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       missing ? "JPEG XL needs " JXL_LIBRARY ", and the one here has no %s"
                               : "JPEG XL needs " JXL_LIBRARY ", which is not here%s",
                       missing ? missing : "");
}

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

/* ---- Reading ---- */

typedef struct JxlReader {
    const JxlLibrary *lib;
    JxlDecoder *jxl;
    ImageDecode *d;
    JxlPixelFormat format;
    ImageHead head;
    RtBytes box;
    char kind[4]; /* of the box at hand */
    bool begun, picture, whole;
    uint64_t n_file;
} JxlReader;

static bool read_info(JxlReader *r, Failure *f)
{
    JxlBasicInfo info;
    if (r->lib->DecoderGetBasicInfo(r->jxl, &info) != JXL_DEC_SUCCESS)
        return fail_jxl("decoded", f);
    if (info.have_animation)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "it is an animation, and only single pictures of JPEG XL are read");
    const bool real = info.exponent_bits_per_sample > 0;
    const ScalarType t = real || info.bits_per_sample > 16 ? TYPE_F32
                         : info.bits_per_sample > 8        ? TYPE_U16
                                                           : TYPE_U8;
    if (!real && info.bits_per_sample != 8 && info.bits_per_sample != 16)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "its samples have %u bits; 8, 16 and floats are read",
                           (unsigned)info.bits_per_sample);
    const unsigned channels = info.num_color_channels + (info.alpha_bits > 0);
    if (!tessi_image_claim(t, 1, info.ysize, info.xsize, channels, r->n_file, JXL_RATIO, f))
        return false;
    r->format = (JxlPixelFormat){ channels,
                                  t == TYPE_U8    ? JXL_TYPE_UINT8
                                  : t == TYPE_U16 ? JXL_TYPE_UINT16
                                                  : JXL_TYPE_FLOAT,
                                  JXL_NATIVE_ENDIAN, 0 };
    r->d->meta.orientation = (int)info.orientation;
    r->d->want->pages_found = 1;
    r->head = tessi_head_of_picture(t, 1, info.ysize, info.xsize, channels);
    return true;
}

/* The profile that everyone assumes need not be told. */
static bool is_srgb(const JxlReader *r)
{
    JxlColorEncoding is;
    return r->lib->DecoderGetColorAsEncodedProfile(r->jxl, &r->format,
                                                   JXL_COLOR_PROFILE_TARGET_ORIGINAL, &is)
               == JXL_DEC_SUCCESS
           && is.transfer_function == JXL_TRANSFER_FUNCTION_SRGB
           && is.white_point == JXL_WHITE_POINT_D65
           && (is.color_space == JXL_COLOR_SPACE_GRAY || is.primaries == JXL_PRIMARIES_SRGB);
}

static bool read_profile(JxlReader *r, Failure *f)
{
    size_t n = 0;
    if (is_srgb(r))
        return true;
    if (r->lib->DecoderGetICCProfileSize(r->jxl, &r->format, JXL_COLOR_PROFILE_TARGET_ORIGINAL, &n)
            != JXL_DEC_SUCCESS
        || n == 0)
        return true;
    uint8_t *to = tessi_bytes_extend(&r->d->meta.icc, n);
    if (!to)
        return no_memory(f);
    if (r->lib->DecoderGetColorAsICCProfile(r->jxl, &r->format, JXL_COLOR_PROFILE_TARGET_ORIGINAL,
                                            to, n)
        != JXL_DEC_SUCCESS)
        tessi_bytes_dispose(&r->d->meta.icc);
    return true;
}

/* The box is complete: EXIF has four bytes before it that say where it begins. */
static void keep_box(JxlReader *r)
{
    RtMeta *m = &r->d->meta;
    const size_t unused = r->lib->DecoderReleaseBoxBuffer(r->jxl);
    r->box.n -= unused < r->box.n ? unused : r->box.n;
    if (memcmp(r->kind, "Exif", 4) == 0 && r->box.n > 4 && !m->exif.n)
        tessi_bytes_add(&m->exif, r->box.at + 4, r->box.n - 4);
    if (memcmp(r->kind, "xml ", 4) == 0 && !m->xmp.n)
        tessi_bytes_add(&m->xmp, r->box.at, r->box.n);
    tessi_bytes_dispose(&r->box);
    memset(r->kind, 0, sizeof r->kind);
}

static bool room_for_box(JxlReader *r, Failure *f)
{
    uint8_t *to = tessi_bytes_extend(&r->box, PIECE);
    return to ? r->lib->DecoderSetBoxBuffer(r->jxl, to, PIECE) == JXL_DEC_SUCCESS
                    || fail_jxl("decoded", f)
              : no_memory(f);
}

static bool begin_box(JxlReader *r, Failure *f)
{
    JxlBoxType kind;
    if (*r->kind)
        keep_box(r);
    if (r->lib->DecoderGetBoxType(r->jxl, kind, JXL_TRUE) != JXL_DEC_SUCCESS)
        return fail_jxl("decoded", f);
    if (memcmp(kind, "Exif", 4) != 0 && memcmp(kind, "xml ", 4) != 0)
        return true;
    memcpy(r->kind, kind, 4);
    return room_for_box(r, f);
}

static bool more_box(JxlReader *r, Failure *f)
{
    const size_t unused = r->lib->DecoderReleaseBoxBuffer(r->jxl);
    r->box.n -= unused < r->box.n ? unused : r->box.n;
    return room_for_box(r, f);
}

static bool set_picture(JxlReader *r, Failure *f)
{
    size_t n;
    const uint64_t pixels = (uint64_t)r->head.shape[0] * (uint64_t)r->head.shape[1];
    if (!r->head.ndim || r->begun)
        return fail_jxl("decoded", f);
    if (!tessi_decode_begin(r->d, &r->head, r->head.shape[0], 12 * pixels * r->format.num_channels,
                            f))
        return false;
    r->begun = true;
    const size_t have = r->d->file_row * (size_t)r->d->n_rows;
    r->picture =
        r->begun && r->lib->DecoderImageOutBufferSize(r->jxl, &r->format, &n) == JXL_DEC_SUCCESS
        && n == have
        && r->lib->DecoderSetImageOutBuffer(r->jxl, &r->format, tessi_decode_row(r->d, 0), n)
               == JXL_DEC_SUCCESS;
    return r->picture || fail_jxl("decoded", f);
}

/* One event after the other, to the end. */
static bool read_events(JxlReader *r, Failure *f)
{
    for (bool ok = true; ok;) {
        switch (r->lib->DecoderProcessInput(r->jxl)) {
        case JXL_DEC_BASIC_INFO: ok = read_info(r, f); break;
        case JXL_DEC_COLOR_ENCODING: ok = read_profile(r, f); break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER: ok = set_picture(r, f); break;
        case JXL_DEC_BOX: ok = begin_box(r, f); break;
        case JXL_DEC_BOX_NEED_MORE_OUTPUT: ok = more_box(r, f); break;
        case JXL_DEC_FULL_IMAGE: r->whole = true; break;
        case JXL_DEC_NEED_MORE_INPUT: /* the last box may go on to the end */
            if (!r->whole)
                return fail_jxl("decoded: it is cut short", f);
        /* fall through */
        case JXL_DEC_SUCCESS:
            if (*r->kind)
                keep_box(r);
            return r->picture || fail_jxl("decoded: there is no picture in it", f);
        default: return fail_jxl("decoded: it is cut short or damaged", f);
        }
    }
    return false;
}

static bool decode_jxl(JxlReader *r, const uint8_t *bytes, size_t n, Failure *f)
{
    if (r->lib->DecoderSubscribeEvents(r->jxl, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING
                                                   | JXL_DEC_FULL_IMAGE | JXL_DEC_BOX)
            != JXL_DEC_SUCCESS
        || r->lib->DecoderSetKeepOrientation(r->jxl, JXL_TRUE) != JXL_DEC_SUCCESS
        || r->lib->DecoderSetDecompressBoxes(r->jxl, JXL_TRUE) != JXL_DEC_SUCCESS
        || r->lib->DecoderSetInput(r->jxl, bytes, n) != JXL_DEC_SUCCESS)
        return fail_jxl("decoded", f);
    if (!read_events(r, f))
        return false;
    for (int64_t y = 0; y < r->d->n_rows; y++)
        if (!tessi_decode_done(r->d, y, f))
            return false;
    RtMeta *m = &r->d->meta;
    tessi_exif_resolution(&m->exif, m->resolution, &m->unit);
    return true;
}

bool tessi_decode_jxl(ImageDecode *d, Failure *f)
{
    JxlLibrary lib;
    uint8_t *bytes;
    size_t n;
    if (!load_jxl(&lib, f) || !tessi_input_rest(d->in, &bytes, &n, f))
        return false;
    JxlReader r = { .lib = &lib, .d = d, .n_file = n, .jxl = lib.DecoderCreate(NULL) };
    const bool ok = r.jxl ? decode_jxl(&r, bytes, n, f) : no_memory(f);
    lib.DecoderDestroy(r.jxl);
    tessi_bytes_dispose(&r.box);
    free(bytes);
    return ok;
}

/* ---- Writing ---- */

static bool set_colours(const JxlLibrary *lib, JxlEncoder *jxl, const ImageRows *r)
{
    if (r->meta && r->meta->icc.n)
        return lib->EncoderSetICCProfile(jxl, r->meta->icc.at, r->meta->icc.n) == JXL_ENC_SUCCESS;
    JxlColorEncoding srgb;
    lib->ColorEncodingSetToSRGB(&srgb, r->channels <= 2);
    return lib->EncoderSetColorEncoding(jxl, &srgb) == JXL_ENC_SUCCESS;
}

static bool set_info(const JxlLibrary *lib, JxlEncoder *jxl, const ImageRows *r)
{
    JxlBasicInfo info;
    lib->EncoderInitBasicInfo(&info);
    info.xsize = (uint32_t)r->width;
    info.ysize = (uint32_t)r->height;
    info.bits_per_sample = 8u * (uint32_t)tessi_type_info(r->type)->bytes;
    info.exponent_bits_per_sample = r->type == TYPE_F32 ? 8 : 0;
    info.num_color_channels = r->channels <= 2 ? 1 : 3;
    info.num_extra_channels = r->channels % 2 == 0;
    info.alpha_bits = info.num_extra_channels ? info.bits_per_sample : 0;
    info.alpha_exponent_bits = info.num_extra_channels ? info.exponent_bits_per_sample : 0;
    info.uses_original_profile = JXL_TRUE; /* what is not lossy wants it */
    if (r->meta && r->meta->orientation > 0)
        info.orientation = (JxlOrientation)r->meta->orientation;
    return lib->EncoderSetBasicInfo(jxl, &info) == JXL_ENC_SUCCESS;
}

static bool add_boxes(const JxlLibrary *lib, JxlEncoder *jxl, const RtMeta *m)
{
    bool ok = true;
    if (m->exif.n || m->xmp.n)
        ok = lib->EncoderUseBoxes(jxl) == JXL_ENC_SUCCESS;
    if (ok && m->exif.n) {
        RtBytes box = { 0 };
        tessi_bytes_add(&box, "\0\0\0\0", 4); /* it begins behind these */
        tessi_bytes_add(&box, m->exif.at, m->exif.n);
        ok = !box.failed
             && lib->EncoderAddBox(jxl, "Exif", box.at, box.n, JXL_FALSE) == JXL_ENC_SUCCESS;
        tessi_bytes_dispose(&box);
    }
    if (ok && m->xmp.n)
        ok = lib->EncoderAddBox(jxl, "xml ", m->xmp.at, m->xmp.n, JXL_FALSE) == JXL_ENC_SUCCESS;
    if (m->exif.n || m->xmp.n)
        lib->EncoderCloseBoxes(jxl);
    return ok;
}

static bool add_picture(const JxlLibrary *lib, JxlEncoder *jxl, ImageRows *r)
{
    const JxlPixelFormat format = { (uint32_t)r->channels,
                                    r->type == TYPE_U8    ? JXL_TYPE_UINT8
                                    : r->type == TYPE_U16 ? JXL_TYPE_UINT16
                                                          : JXL_TYPE_FLOAT,
                                    JXL_NATIVE_ENDIAN, 0 };
    RtBytes pixels = { 0 };
    for (int64_t y = 0; y < r->height; y++)
        tessi_bytes_add(&pixels, tessi_rows_get(r, y), r->row_bytes);
    JxlEncoderFrameSettings *settings = lib->EncoderFrameSettingsCreate(jxl, NULL);
    const bool ok =
        !pixels.failed && settings
        && lib->EncoderSetFrameLossless(settings, JXL_TRUE) == JXL_ENC_SUCCESS
        && lib->EncoderFrameSettingsSetOption(settings, JXL_ENC_FRAME_SETTING_EFFORT, 3)
               == JXL_ENC_SUCCESS
        && lib->EncoderAddImageFrame(settings, &format, pixels.at, pixels.n) == JXL_ENC_SUCCESS;
    tessi_bytes_dispose(&pixels);
    return ok;
}

static bool give_out(const JxlLibrary *lib, JxlEncoder *jxl, RtOutput *out)
{
    uint8_t piece[PIECE];
    lib->EncoderCloseInput(jxl);
    for (;;) {
        uint8_t *at = piece;
        size_t left = sizeof piece;
        const JxlEncoderStatus status = lib->EncoderProcessOutput(jxl, &at, &left);
        tessi_output_add(out, piece, sizeof piece - left);
        if (status != JXL_ENC_NEED_MORE_OUTPUT || out->error)
            return status == JXL_ENC_SUCCESS && !out->error;
    }
}

bool tessi_encode_jxl(ImageRows *r, RtOutput *out, Failure *f)
{
    JxlLibrary library;
    const JxlLibrary *const lib = &library;
    if (!load_jxl(&library, f))
        return false;
    JxlEncoder *jxl = lib->EncoderCreate(NULL);
    if (!jxl)
        return no_memory(f);
    /* Beyond 8 bits and profiles want the second level. */
    bool ok = set_info(lib, jxl, r)
              && (r->type == TYPE_U8 || lib->EncoderSetCodestreamLevel(jxl, 10) == JXL_ENC_SUCCESS)
              && set_colours(lib, jxl, r) && (!r->meta || add_boxes(lib, jxl, r->meta))
              && add_picture(lib, jxl, r) && give_out(lib, jxl, out);
    lib->EncoderDestroy(jxl);
    return ok || fail_jxl("encoded", f);
}

#endif
