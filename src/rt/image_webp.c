/* WebP through libwebp: 8 bits, RGB with or without alpha; written without losses. Grey is written as three equal
 * channels, as WebP has no other. */
#include "rt/image_codec.h"
#include "rt/meta_ifd.h"
#include "tessera.h"

#ifndef HAVE_WEBP

bool tessi_decode_webp(ImageDecode *d, Failure *f)
{
    (void)d;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot read WebP; it was made without libwebp");
}

bool tessi_encode_webp(ImageRows *rows, RtOutput *out, Failure *f)
{
    (void)rows, (void)out;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot write WebP; it was made without libwebp");
}

#else

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

enum { WEBP_RATIO = 1 << 16 /* blank pictures take next to nothing */ };

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

/* ---- Reading ---- */

static void take_chunk(const WebPDemuxer *demuxer, const char *name, RtBytes *block)
{
    WebPChunkIterator at;
    if (WebPDemuxGetChunk(demuxer, name, 1, &at))
        tessi_bytes_add(block, at.chunk.bytes, at.chunk.size);
    WebPDemuxReleaseChunkIterator(&at);
}

static bool read_meta(const WebPData *file, RtMeta *m, Failure *f)
{
    WebPDemuxer *demuxer = WebPDemux(file);
    if (!demuxer)
        return tessi_failf(f, TESS_ERROR_FILE, "its WebP data cannot be decoded");
    take_chunk(demuxer, "ICCP", &m->icc);
    take_chunk(demuxer, "EXIF", &m->exif);
    take_chunk(demuxer, "XMP ", &m->xmp);
    WebPDemuxDelete(demuxer);
    if (m->exif.n > 6 && memcmp(m->exif.at, "Exif\0\0", 6) == 0) { /* as some write it */
        memmove(m->exif.at, m->exif.at + 6, m->exif.n - 6);
        m->exif.n -= 6;
    }
    m->orientation = tessi_exif_orientation(&m->exif);
    tessi_exif_resolution(&m->exif, m->resolution, &m->unit);
    return true;
}

static bool decode_picture(ImageDecode *d, const WebPData *file, Failure *f)
{
    WebPBitstreamFeatures has;
    if (WebPGetFeatures(file->bytes, file->size, &has) != VP8_STATUS_OK)
        return tessi_failf(f, TESS_ERROR_FILE, "its WebP data cannot be decoded");
    if (has.has_animation)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "it is an animation, and only single pictures of WebP are read");
    const uint64_t height = (uint64_t)has.height, width = (uint64_t)has.width;
    const unsigned channels = has.has_alpha ? 4 : 3;
    if (!tessi_image_claim(TYPE_U8, 1, height, width, channels, file->size, WEBP_RATIO, f)
        || !read_meta(file, &d->meta, f))
        return false;
    const ImageHead head = tessi_head_of_picture(TYPE_U8, 1, height, width, channels);
    d->want->pages_found = 1;
    if (!tessi_decode_begin(d, &head, has.height, 4 * height * width, f))
        return false;
    uint8_t *to = tessi_decode_row(d, 0);
    const size_t bytes = d->file_row * (size_t)has.height;
    const int stride = (int)d->file_row;
    if (!(has.has_alpha ? WebPDecodeRGBAInto(file->bytes, file->size, to, bytes, stride)
                        : WebPDecodeRGBInto(file->bytes, file->size, to, bytes, stride)))
        return tessi_failf(f, TESS_ERROR_FILE,
                           "its WebP data cannot be decoded: it is cut short or damaged");
    for (int64_t y = 0; y < has.height; y++)
        if (!tessi_decode_done(d, y, f))
            return false;
    return true;
}

bool tessi_decode_webp(ImageDecode *d, Failure *f)
{
    uint8_t *bytes;
    size_t n;
    if (!tessi_input_rest(d->in, &bytes, &n, f))
        return false;
    const WebPData file = { bytes, n };
    const bool ok = decode_picture(d, &file, f);
    free(bytes);
    return ok;
}

/* ---- Writing ---- */

static int on_write(const uint8_t *bytes, size_t n, const WebPPicture *picture)
{
    tessi_bytes_add(picture->custom_ptr, bytes, n);
    return !((RtBytes *)picture->custom_ptr)->failed;
}

/* Pixels as libwebp has them: alpha, red, green and blue in a word. */
static void fill_picture(ImageRows *r, WebPPicture *picture)
{
    for (int64_t y = 0; y < r->height; y++) {
        const uint8_t *from = tessi_rows_get(r, y);
        uint32_t *to = picture->argb + y * picture->argb_stride;
        for (int64_t x = 0; x < r->width; x++, from += r->channels) {
            const bool grey = r->channels == 1;
            const uint32_t red = from[0], green = from[grey ? 0 : 1], blue = from[grey ? 0 : 2],
                           alpha = r->channels == 4 ? from[3] : 255;
            to[x] = alpha << 24 | red << 16 | green << 8 | blue;
        }
    }
}

static bool encode_picture(ImageRows *r, RtBytes *stream, Failure *f)
{
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)
        || !WebPConfigLosslessPreset(&config, 4))
        return tessi_failf(f, TESS_ERROR_INTERNAL, "libwebp is of another version");
    config.exact = 1; /* colours where alpha is 0 too */
    picture.use_argb = 1;
    picture.width = (int)r->width;
    picture.height = (int)r->height;
    picture.writer = on_write;
    picture.custom_ptr = stream;
    bool ok = WebPPictureAlloc(&picture);
    if (ok) {
        fill_picture(r, &picture);
        ok = WebPEncode(&config, &picture);
    }
    const bool short_of = !ok
                          && (picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY
                              || picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY
                              || picture.error_code == VP8_ENC_OK || stream->failed);
    const int code = (int)picture.error_code;
    WebPPictureFree(&picture);
    if (short_of)
        return no_memory(f);
    return ok || tessi_failf(f, TESS_ERROR_FILE, "libwebp fails with error %d", code);
}

static bool add_chunk(WebPMux *mux, const char *name, const RtBytes *block)
{
    const WebPData data = { block->at, block->n };
    return block->n == 0 || WebPMuxSetChunk(mux, name, &data, 1) == WEBP_MUX_OK;
}

/* Puts stream and blocks together. */
static bool write_file(const RtBytes *stream, const RtMeta *m, RtOutput *out)
{
    const WebPData image = { stream->at, stream->n };
    WebPData file = { NULL, 0 };
    WebPMux *mux = WebPMuxNew();
    const bool ok = mux && WebPMuxSetImage(mux, &image, 1) == WEBP_MUX_OK
                    && add_chunk(mux, "ICCP", &m->icc) && add_chunk(mux, "EXIF", &m->exif)
                    && add_chunk(mux, "XMP ", &m->xmp)
                    && WebPMuxAssemble(mux, &file) == WEBP_MUX_OK;
    if (ok)
        tessi_output_add(out, file.bytes, file.size);
    WebPDataClear(&file);
    WebPMuxDelete(mux);
    return ok;
}

bool tessi_encode_webp(ImageRows *r, RtOutput *out, Failure *f)
{
    const RtMeta none = { 0 };
    RtBytes stream = { 0 };
    if (r->height > WEBP_MAX_DIMENSION || r->width > WEBP_MAX_DIMENSION)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "WebP holds at most %d rows and columns",
                           WEBP_MAX_DIMENSION);
    bool ok = encode_picture(r, &stream, f);
    if (ok && !write_file(&stream, r->meta ? r->meta : &none, out))
        ok = no_memory(f);
    tessi_bytes_dispose(&stream);
    return ok;
}

#endif
