/* Between the codecs and the rest of rt/image: one decode and one encode function a format, the
 * table of formats, checks of claimed sizes. Only image_*.c include it. */
#ifndef TESSERA_RT_IMAGE_CODEC_H
#define TESSERA_RT_IMAGE_CODEC_H

#include "rt/bytes.h"
#include "rt/image.h"

/* Decoders get the whole file, fill *image (which comes empty) and on failure leave it empty, with
 * a sentence that continues "cannot read 'FILE': ". Encoders get an image whose type and channels
 * the format stores, and continue "cannot write 'FILE': "; a failed RtBytes is reported by the
 * caller. */
typedef bool (*ImageDecode)(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
typedef bool (*ImageEncode)(const RtImage *image, RtBytes *out, Failure *f);

bool tessi_decode_pnm(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
bool tessi_decode_pam(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
bool tessi_decode_pfm(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
bool tessi_decode_npy(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
/* As tessi_image_decode_as. */
bool tessi_decode_npy_as(const uint8_t *bytes, size_t n, const RtRecord *want, RtImage *image,
                         Failure *f);
bool tessi_decode_png(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
bool tessi_decode_jpeg(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
bool tessi_decode_tiff(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);

bool tessi_encode_pnm(const RtImage *image, RtBytes *out, Failure *f); /* PGM or PPM, by channels */
bool tessi_encode_pam(const RtImage *image, RtBytes *out, Failure *f);
bool tessi_encode_pfm(const RtImage *image, RtBytes *out, Failure *f);
bool tessi_encode_npy(const RtImage *image, RtBytes *out, Failure *f);
/* As tessi_image_write_records. */
bool tessi_encode_npy_records(const RtImage *image, const RtRecord *record, RtBytes *out);
bool tessi_encode_png(const RtImage *image, RtBytes *out, Failure *f);
bool tessi_encode_jpeg(const RtImage *image, RtBytes *out, Failure *f);
bool tessi_encode_tiff(const RtImage *image, RtBytes *out, Failure *f);

typedef struct ImageFormat {
    const char *name;
    const char *suffixes; /* separated by blanks */
    const char *types;    /* short names of the stored types, separated by blanks; "" = all */
    const char *channels; /* digits of the counts stored; "*" = any; "" = any dimensions as well */
    ImageEncode encode;
} ImageFormat;
extern const ImageFormat tessi_image_formats[];
extern const size_t tessi_image_n_formats;
const ImageFormat *tessi_image_format_of(const char *path); /* by suffix, NULL when unknown */

/* Chooses what a format stores for an image and converts: *out borrows the data of `in` when
 * nothing changes (out->data == in->data), else owns its own. Sets out->channels. */
bool tessi_image_for_format(const RtImage *in, const ImageFormat *format, RtImage *out,
                            int64_t *n_saturated, Failure *f);

/* Fills `image` with room for a picture of the size that a file claims. `n_file` bytes of file
 * cannot become more than `ratio` times as many bytes of pixels (plus a little): a larger claim is
 * refused before memory is asked for. */
bool tessi_image_claim(RtImage *image, ScalarType dtype, uint64_t height, uint64_t width,
                       uint64_t channels, size_t n_file, unsigned ratio, Failure *f);

#endif
