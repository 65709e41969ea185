/* Images in files and in memory: reading by content, writing by suffix, pseudo-inputs, conversions
 * of the element type. docs/files.md says for each format what is stored, refused, rounded and said.
 *
 * Pixel values are never rescaled unless that is asked for: the 8-bit sample 200 is 200, and 200.0 in
 * a float image. The only exceptions are forms that are packed below 8 bits (bitmaps, palettes, PNG
 * and TIFF of 1, 2 or 4 bits), which are unpacked to 0..255, and `bool` images, which have no scale of
 * their own: pictures store them as black and white, PFM as 0.0 and 1.0, NPY as they are. */
#ifndef TESSERA_RT_IMAGE_H
#define TESSERA_RT_IMAGE_H

#include "base/base.h"
#include "base/scalar.h"
#include "rt/bytes.h"
#include "rt/meta.h"

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
/* Whether this machine, within the limits set for the process, has so many bytes at all. */
bool tessi_memory_suffices(uint64_t bytes, Failure *f);
int64_t tessi_image_elements(const RtImage *image);

/* What is wanted of a file, and what it turned out to hold. tessi_request_as_stored asks for the file as
 * it is. */
typedef struct RtRequest {
    ScalarType dtype; /* the values as elements of this type; N_TYPES: of the file's type */
    const char *name; /* of the program's image, for sentences; may be NULL */
    int ndim;         /* dimensions without channels; 0: those of the file */
    int channels;     /* 1: one a pixel; n > 1: n; 0: those of the file */
    /* of a stack, counted from 1; 0: all of it, its pages along the first dimension */
    int64_t page;
    bool gray;       /* colours become Rec. 709 luma where one channel is wanted */
    bool drop_alpha; /* the alpha channel is left out */
    bool srgb; /* colours are converted to sRGB by the profile of the picture, where it has one */
    bool inks; /* CMYK is given as it is stored, for who only looks at it */
    /* The pixels that are wanted, where they are known: NPY of a structured type gives their fields, found
     * by name and converted, with a last dimension for them, or for the bytes of a pixel when their types
     * differ; other fields of the file are left out, and one wanted field without a name is the only one of
     * the file. NULL: structured types are refused. */
    const RtRecord *record;
    bool
        turn; /* the orientation that the file tells is applied to the pixels, and reset in *meta */
    RtMeta *meta;      /* what the file says besides, owned by the caller; NULL: not wanted */
    const char *named; /* set by tessi_image_read: the name, of decoders that it tells something */
    const struct RowTaker
        *taker; /* who takes the rows one by one (stream.h); NULL: an image is made */
    struct RtVideoFacts *
        video; /* receives what a video says, which is no error then, and gives no image; or NULL */
    /* Filled in, also when the file is refused for them: */
    const char *format_found; /* its name, of a table; "": none that is known */
    char packed_found
        [24]; /* how the samples are packed that became others: "1 bit", "palette", "CMYK" */
    int64_t pages_found; /* 1 of a file that is no stack; 0: not known yet */
    int channels_found;
} RtRequest;
RtRequest tessi_request_as_stored(void);

/* Reads a file or, for "-", standard input; the format is recognised by content. The pixels are decoded
 * row by row into the image, converted and with the wanted channels, so that nothing is in memory
 * twice; what is needed is compared with the machine's memory before. *image is owned by the caller,
 * and empty after a failure. Reads PNG, JPEG, TIFF, PNM (P1..P7), PFM and NPY. */
bool tessi_image_read(const char *path, RtRequest *want, RtImage *image, Failure *f);
/* The file that a name speaks of: `raw:480x640:uint8:FILE` and `gdal:FILE` say how it is read. */
const char *tessi_image_file(const char *name);
/* The same on bytes in memory; `f->text` says what is wrong without naming a file. */
bool tessi_image_decode(const uint8_t *bytes, size_t n, RtRequest *want, RtImage *image,
                        Failure *f);

/* An image of anyone's, rows and planes at any distance. */
typedef struct RtView {
    ScalarType dtype;
    int ndim;
    int64_t shape[RT_IMAGE_DIMS], strides[RT_IMAGE_DIMS]; /* strides in elements */
    int picture_dims; /* dimensions without channels; 0: not known, the third of three is channels */
    /* NULL, or: elements are bytes, the last dimension those of such a pixel */
    const RtRecord *record;
    const void *data;
} RtView;
RtView tessi_image_view(const RtImage *image);

typedef enum RtDoubt {
    RT_DOUBT_NONE,
    RT_DOUBT_SATURATED, /* more than one value in a hundred was beyond the format's range */
    RT_DOUBT_BLACK,     /* all values lie within 0..1, and become 0 or 1 of 255 or 65535 */
} RtDoubt;

/* How the pixels of TIFF lie in the file. */
typedef enum RtCompression {
    RT_COMPRESS_NONE,
    RT_COMPRESS_LZW,
    RT_COMPRESS_DEFLATE,
    RT_COMPRESS_ZSTD
} RtCompression;
typedef struct RtLayout {
    int tile; /* pixels along a side of tiles, a multiple of 16; 0: strips of rows */
    RtCompression compress;
    bool pyramid; /* smaller copies behind the picture; with tiles */
} RtLayout;

/* Of a file that several write, each some of its rows: the share of one, from..to of the first dimension. Its bytes go
 * to `put`; the share that begins at 0 has those around the rows too. */
typedef struct RtShare {
    int64_t from, to;
    int (*put)(void *user, uint64_t at, const void *bytes, size_t n); /* 0 or an errno */
    void *user;
} RtShare;

/* How an image goes into a file, and what became of it there. */
typedef struct RtStore {
    int depth; /* 8 or 16: unsigned integers of so many bits; 1: bool as bits; 0: as the format and the type say */
    bool scale;  /* the range of the values becomes that of the integers */
    bool strict; /* nothing is written where there is a doubt */
    bool text;   /* standard output gets text */
    RtLayout layout;
    const RtMeta
        *meta; /* what the file shall say besides the pixels, of a picture like it; NULL: nothing */
    const char *provenance; /* what made it; NULL: nothing is said */
    /* Of files that are written row by row: what there is of them stays under their name with ".part" behind, with the
     * first `rows_there` rows, and is gone on with. */
    bool resumes;
    int64_t rows_there;
    const RtShare *share; /* NULL, or: this is not all of it */
    /* Filled in: */
    char left_out[200]; /* a sentence about metadata that the format does not hold; or empty */
    RtDoubt doubt;
    ScalarType stored; /* the type of the elements in the file */
    /* the values were rounded, saturated or scaled; the numbers below are of that */
    bool converted;
    int64_t n, n_saturated; /* elements, and those beyond the range or NaN */
    double lo, hi;          /* least and largest value that is finite; lo > hi: there is none */
} RtStore;

/* An element with as many digits as it takes to read the same value again. */
void tessi_number_text(ScalarType t, const void *element, char *text, size_t size);
/* The doubt as a sentence about the image ("its values ..."); empty when there is none. */
void tessi_store_doubt(const RtStore *store, char *text, size_t size);

/* Writes a file row by row, format by suffix; a regular file appears under its name complete or not at
 * all. "-" is standard output: PGM or PPM where that holds the image exactly (uint8 and uint16, one or
 * three channels) or `depth` asks for it, NPY otherwise. Where the format cannot hold the elements as
 * they are:
 *   - values that fit are widened (uint8 in PFM);
 *   - real images in integer formats become 8-bit, or what `depth` says: rounded to nearest even and
 *     saturated, and NaN becomes 0;
 *   - signed and wide integers become uint16 in formats with 16 bits, int8 becomes uint8, both
 *     saturated;
 *   - everything else (uint16 in JPEG, int32 or double in PFM) is refused, unless `depth` or `scale`
 *     asks for it.
 * Three dimensions without channels are a stack of pages, which TIFF and NPY hold. */
bool tessi_image_write(const char *path, const RtView *image, RtStore *store, Failure *f);
/* The same into memory, the format that of `path`. */
bool tessi_image_encode(const char *path, const RtView *image, RtStore *store, RtBytes *out,
                        Failure *f);
/* Whether tessi_image_write knows this file name's suffix, and `depth` and `scale` mean something for
 * it, for asking before a long run. */
bool tessi_image_can_write(const char *path, const RtStore *store, Failure *f);

/* What files of format number i are: NULL past the last. */
typedef struct RtFormatFacts {
    const char *name, *suffixes, *channels, *depths, *keeps; /* as in ImageFormat */
    bool stacks, any_shape;
    const char *stores[N_TYPES]; /* by type: "same", "8 sat", ... */
} RtFormatFacts;
bool tessi_image_format_facts(size_t i, RtFormatFacts *facts);

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
