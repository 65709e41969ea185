/* Images in files and in memory: reading by content, writing by suffix, pseudo-inputs, conversions
 * of the element type.
 *
 * Pixel values are never rescaled: the 8-bit sample 200 is 200, and 200.0 in a float image. The
 * only exceptions are forms that are packed below 8 bits (bitmaps, palettes, PNG of 1, 2 or 4
 * bits), which are unpacked to 0..255, and `bool` images, which have no scale of their own:
 * pictures store them as 0 and 255, PFM as 0.0 and 1.0, NPY as they are. */
#ifndef TESSERA_RT_IMAGE_H
#define TESSERA_RT_IMAGE_H

#include "base/base.h"
#include "base/scalar.h"

enum { RT_IMAGE_DIMS = 5, RT_IMAGE_CHANNELS = 64 /* of pseudo-inputs: the fields of a struct */ };

typedef struct RtImage {
    ScalarType dtype;
    int ndim;                     /* with the channels' dimension; 1..5 */
    int64_t shape[RT_IMAGE_DIMS]; /* slowest first; each at least 1; row-major without gaps */
    int channels; /* > 1: the last dimension is channels; 1: none is; 0: NPY, which cannot say */
    void *data;   /* malloc */
    size_t bytes;
} RtImage;

/* What a pixel of several values holds, in this order and without gaps. Names are borrowed. */
typedef struct RtField {
    const char *name;
    ScalarType type;
} RtField;
typedef struct RtRecord {
    int n;
    const RtField *field;
} RtRecord;
/* Whether the fields have several types: an image of such pixels is one of their bytes. */
bool tessi_record_is_mixed(const RtRecord *r);
size_t tessi_record_bytes(const RtRecord *r);

/* Room for an image, not cleared. Refuses what cannot be held by this machine's memory. *image is
 * overwritten. */
bool tessi_image_alloc(RtImage *image, ScalarType dtype, int ndim, const int64_t *shape,
                       int channels, Failure *f);
void tessi_image_dispose(RtImage *image);
int64_t tessi_image_elements(const RtImage *image);

/* Reads a file or, for "-", standard input; the format is recognised by content. *image is owned by
 * the caller, and empty after a failure. Reads PNG, JPEG, TIFF (first page), PNM (P1..P7), PFM and
 * NPY. */
bool tessi_image_read(const char *path, RtImage *image, Failure *f);
/* The same on bytes in memory; `f->text` says what is wrong without naming a file. */
bool tessi_image_decode(const uint8_t *bytes, size_t n, RtImage *image, Failure *f);
/* The same where the pixels that are wanted are known: NPY of a structured type gives their fields, found by name and converted as by
 * tessi_image_convert, with a last dimension for them, or for the bytes of a pixel when their types differ. Other fields of the file
 * are left out. One wanted field without a name is the only one of the file. Other files are read as they are. `want` may be NULL:
 * structured types are refused. */
bool tessi_image_read_as(const char *path, const RtRecord *want, RtImage *image, Failure *f);
bool tessi_image_decode_as(const uint8_t *bytes, size_t n, const RtRecord *want, RtImage *image,
                           Failure *f);

/* Writes a file, format by suffix; see tessi_file_write. "-" is standard output: PGM or PPM where
 * that holds the image exactly (uint8 and uint16, one or three channels), NPY otherwise. Where the
 * format cannot hold the elements as they are:
 *   - values that fit are widened (uint8 in PFM);
 *   - real images in integer formats become 8-bit: rounded to nearest even and saturated, and NaN
 *     becomes 0;
 *   - signed and wide integers become uint16 in formats with 16 bits, int8 becomes uint8, both
 *     saturated;
 *   - everything else (uint16 in JPEG, int32 or double in PFM or TIFF's floats) is refused.
 * *n_saturated (may be NULL) counts the elements that saturated or were NaN. When `channels` is 0 a
 * third dimension of a picture is taken as channels. */
bool tessi_image_write(const char *path, const RtImage *image, int64_t *n_saturated, Failure *f);
/* An image of pixels of several types, given as bytes with a last dimension of the bytes of a pixel, as NPY of a structured type; no
 * other format holds it. */
bool tessi_image_write_records(const char *path, const RtImage *image, const RtRecord *record,
                               Failure *f);
/* Whether tessi_image_write knows this file name's suffix, for asking before a long run. */
bool tessi_image_can_write(const char *path, Failure *f);

/* Pseudo-inputs: KIND:SIZES with SIZES like 480x640 (1 to 4 dimensions, rows first); a last
 * dimension is added when channels > 1: for them, or for the bytes of a pixel when types[] differ.
 *   zero:HxW         every element 0
 *   constant:V:HxW   every element V, which the type must be able to hold
 *   random:SEED:HxW  element number k (row-major, channels included) is made from the bits of
 *                    m(SEED + (k + 1) * 0x9e3779b97f4a7c15), m the finaliser of SplitMix64:
 *                    integers and bool are its top bits (so all values of the type are equally
 *                    likely), reals its top 53, 24 or 11 bits (double, float, float16) scaled
 *                    to [0, 1)
 *   ramp:HxW         the sum of the coordinates, x + y in two dimensions, the same in every
 *                    channel: modulo 2^bits in integers, modulo 2 in bool, modulo 2^53, 2^24 or
 *                    2^11 in reals, so that it is always exact */
bool tessi_image_is_pseudo(const char *spec);
bool tessi_image_pseudo(const char *spec, const ScalarType *types, int channels, RtImage *image,
                        Failure *f);

/* Changes the element type, values untouched. To integers: every value must be representable, else
 * the call is refused and names the first that is not. To reals: rounded to nearest; finite values
 * that would become infinite are refused. To bool: v != 0. On failure the image is as before. */
bool tessi_image_convert(RtImage *image, ScalarType dtype, Failure *f);

/* Replaces 2 to 4 channels by one: Rec. 709 luma, 0.2126 R + 0.7152 G + 0.0722 B computed in double
 * (integers: rounded to nearest even). Alpha is dropped; of grey with alpha, grey is kept. */
bool tessi_image_luma(RtImage *image, Failure *f);

#endif
