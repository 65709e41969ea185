/* Between the codecs and the rest of rt/image: one decode and one encode function a format, the
 * table of formats, rows on their way between file and image. Only image_*.c include it. */
#ifndef TESSERA_RT_IMAGE_CODEC_H
#define TESSERA_RT_IMAGE_CODEC_H

#include "rt/bytes.h"
#include "rt/image.h"
#include "rt/input.h"
#include "rt/meta.h"
#include "rt/output.h"

/* ---- Conversion of elements ---- */

typedef enum ConversionKind {
    CONVERT_KEEP,     /* values untouched: one that `to` does not have is broken */
    CONVERT_SATURATE, /* to an unsigned type of 8 or 16 bits: rounded; broken when outside, or NaN */
    CONVERT_SHOW,     /* bool to black and white */
} ConversionKind;
typedef struct Conversion {
    ScalarType from, to;
    ConversionKind how;
    double offset, factor; /* with CONVERT_SATURATE: of (value - offset) * factor */
} Conversion;
/* Converts n elements; the number of broken ones, and *first (may be NULL) the first of them. */
size_t tessi_convert_elements(const Conversion *c, const void *in, void *out, size_t n,
                              size_t *first);
/* The sentence that element number k of an image of this shape does not fit. */
bool tessi_fail_convert(const Conversion *c, const RtImage *image, int64_t k, const void *element,
                        Failure *f);
/* Luma of n pixels, as tessi_image_luma computes it. */
void tessi_luma_pixels(ScalarType t, int channels, const void *in, void *out, size_t n);

/* ---- Reading ---- */

typedef enum ImageSpace {
    SPACE_BY_CHANNELS,   /* grey or RGB, with or without alpha; or no colours */
    SPACE_CMYK,          /* inks, 0 = none */
    SPACE_CMYK_REVERSED, /* 0 = all */
} ImageSpace;

/* What a file holds, known before its pixels are read. */
typedef struct ImageHead {
    ScalarType type;
    int ndim; /* with pages and channels, as in RtImage */
    int64_t shape[RT_IMAGE_DIMS];
    int channels;
    bool stacks; /* the format has pages: a single one can stand for a stack */
    ImageSpace space;
} ImageHead;

typedef struct ImageDecode {
    RtInput *in;
    RtRequest *want;
    RtImage *image;    /* empty until tessi_decode_begin */
    RtMeta meta;       /* what the decoder found */
    bool turns_differ; /* pages are stored in different orientations */
    /* Between a row of the file and its place in the image: */
    ImageHead head;
    Conversion conversion;
    enum { ROW_AS_IT_IS, ROW_LUMA, ROW_WITHOUT_ALPHA, ROW_TO_SRGB } step;
    void *colours;              /* the conversion to sRGB */
    size_t file_row, image_row; /* bytes */
    int64_t n_rows, band;
    uint8_t *rows;    /* `band` rows of the file; NULL when it has the form of the image */
    uint8_t *between; /* one row between step and conversion */
    uint8_t *passed;  /* for rows that nobody wants, of files that are read row by row */
} ImageDecode;

/* Who takes rows as they are decoded, in the place of an image (stream_read.c). */
typedef struct RowTaker {
    void *user;
    /* The head is known: waits until rows are wanted. False when nobody wants any. */
    bool (*begin)(void *user, const ImageDecode *d, uint64_t bytes, Failure *f);
    int64_t (*first)(void *user); /* the first row that is wanted */
    /* Where row k of the file goes, once it is wanted; NULL: it is passed over, or nobody wants any more. */
    uint8_t *(*place)(void *user, int64_t k);
    /* The same, of as many rows from k on as lie one behind the other there and are wanted; *at NULL: of one. */
    int64_t (*run)(void *user, int64_t k, uint8_t **at);
    bool (*done)(void *user, int64_t k); /* of all rows up to k; false: nobody wants any more */
} RowTaker;

/* For formats with pages: which of the file's are wanted, counted from 0. False with a sentence where
 * they are none, or several where one is wanted. */
bool tessi_decode_pages(ImageDecode *d, int64_t pages, int64_t *first, int64_t *n, Failure *f);
/* The head of `pages` pictures. */
ImageHead tessi_head_of_picture(ScalarType type, int64_t pages, uint64_t height, uint64_t width,
                                uint64_t channels);
/* Makes the image. `band` is the number of rows that are in work at the same time, `more` the bytes
 * that the decoder itself will ask for. */
bool tessi_decode_begin(ImageDecode *d, const ImageHead *head, int64_t band, uint64_t more,
                        Failure *f);
/* Memory for row k in the form of the file; rows of all pages are counted through. */
uint8_t *tessi_decode_row(ImageDecode *d, int64_t k);
/* The same for as many rows from k on as can be read at once, which are told; tessi_decode_done of the last one is for
 * all of them. */
int64_t tessi_decode_run(ImageDecode *d, int64_t k, uint8_t **rows);
/* The row is complete: it goes into the image. */
bool tessi_decode_done(ImageDecode *d, int64_t k, Failure *f);
/* The first row that is wanted; decoders that know where it is may leave out those before it. */
int64_t tessi_decode_first(const ImageDecode *d);

/* Conversion to sRGB by the profile in d->meta, which is replaced; `channels` are those of the file. */
bool tessi_colours_begin(ImageDecode *d, int channels, Failure *f);
void tessi_colours_row(const ImageDecode *d, const void *from, void *to, size_t n);
void tessi_colours_end(ImageDecode *d);

/* `n_file` bytes of file (UINT64_MAX: not known) cannot become more than `ratio` times as many bytes of
 * pixels (plus a little): a larger claim is refused before memory is asked for. */
bool tessi_image_claim(ScalarType dtype, uint64_t pages, uint64_t height, uint64_t width,
                       uint64_t channels, uint64_t n_file, uint64_t ratio, Failure *f);

/* Decoders find the input at the first byte of the file; on failure they give a sentence that continues
 * "cannot read 'FILE': ", and the caller disposes what there is of the image. */
typedef bool (*ImageDecoder)(ImageDecode *d, Failure *f);
bool tessi_decode_pnm(ImageDecode *d, Failure *f);
bool tessi_decode_pfm(ImageDecode *d, Failure *f);
bool tessi_decode_npy(ImageDecode *d, Failure *f);
bool tessi_decode_png(ImageDecode *d, Failure *f);
bool tessi_decode_jpeg(ImageDecode *d, Failure *f);
bool tessi_decode_tiff(ImageDecode *d, Failure *f);
bool tessi_decode_webp(ImageDecode *d, Failure *f);
bool tessi_decode_jxl(ImageDecode *d, Failure *f);
bool tessi_decode_text(ImageDecode *d, Failure *f); /* of numbers */
bool tessi_decode_raw(ImageDecode *d, Failure *f);
bool tessi_decode_gdal(ImageDecode *d,
                       Failure *f); /* finds no input: d->want->named is what GDAL is told */
/* image_npy.c: an array of elements that begins here, as NPY and raw files have it. */
bool tessi_decode_elements(ImageDecode *d, ScalarType t, bool swap, int ndim, const int64_t *shape,
                           Failure *f);
/* image_raw.c, image_gdal.c: names that say how a file is read, and the file behind them; NULL: they say it wrongly */
bool tessi_image_is_raw(const char *name);
const char *tessi_raw_file(const char *name);
bool tessi_raw_fail_name(const char *name, Failure *f);
bool tessi_image_is_gdal(const char *name);
const char *tessi_gdal_file(const char *name);
bool tessi_gdal_has_suffix(const char *path); /* one of GDAL's, and none of ours */
/* Whether a file that begins with these bytes may be one. */
bool tessi_is_text_of_numbers(const uint8_t *bytes, size_t n);

/* ---- Writing ---- */

/* An image on its way into a file: rows of the stored type. */
typedef struct ImageRows {
    const RtView *view;
    Conversion conversion;
    ScalarType type;
    int64_t pages, height,
        width; /* of NPY, which has any dimensions, only `n_rows` and `width` count */
    int channels;
    int64_t n_rows;
    int row_begin; /* the dimensions of the view from this one on make a row */
    size_t row_bytes;
    RtLayout layout;
    const RtMeta *meta;            /* what the file shall say besides; may be NULL */
    const char *provenance;        /* what made it; may be NULL */
    bool ome;                      /* the file's name asks for OME-TIFF */
    uint8_t *gathered, *converted; /* one row each; NULL where none is needed */
    /* NULL, or: where rows come from one by one, in the place of `view` (stream_write.c) */
    const void *(*source)(void *user, int64_t k);
    /* how many rows from k on lie behind the one that source gave last and could be had as well */
    int64_t (*source_run)(void *user, int64_t k);
    void *source_user;
    bool passes;         /* the row that came last is passed over in the file */
    int64_t n_saturated; /* of those that came so */
    double lo, hi;
} ImageRows;
/* Row k, of all pages counted through; valid until the next call. */
const void *tessi_rows_get(ImageRows *rows, int64_t k);
/* The same, and how many rows from k on, at most `most`, lie there one behind the other. */
const void *tessi_rows_run(ImageRows *rows, int64_t k, int64_t most, int64_t *n);
/* Rows from..to, as they are. */
void tessi_rows_put(ImageRows *rows, int64_t from, int64_t to, RtOutput *out);

/* Encoders get an image whose type and channels the format stores, and continue "cannot write
 * 'FILE': "; a failed output is reported by the caller. */
typedef bool (*ImageEncoder)(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_pnm(ImageRows *rows, RtOutput *out, Failure *f); /* PGM or PPM, by channels */
bool tessi_encode_pbm(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_pam(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_webp(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_jxl(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_csv(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_txt(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_pfm(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_npy(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_raw(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_png(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_jpeg(ImageRows *rows, RtOutput *out, Failure *f);
bool tessi_encode_tiff(ImageRows *rows, RtOutput *out, Failure *f);

typedef struct ImageFormat {
    const char *name;
    const char *suffixes; /* separated by blanks */
    const char *types;    /* short names of the stored types, separated by blanks; "" = all */
    const char *channels; /* digits of the counts stored; "*" = any; "" = any dimensions as well */
    const char *depths;   /* what can be asked for: "8 16" */
    bool stacks;          /* holds pages */
    bool seeks;           /* the encoder goes back in the file */
    const char *keeps;    /* of metadata: words among icc exif xmp resolution tags */
    size_t longest;       /* blocks of EXIF and XMP have at most so many bytes; 0: any number */
    ImageEncoder encode;
    bool streams; /* rows are asked for in their order, as they are written */
    bool even;    /* rows lie one behind the other in the file, all of one length */
} ImageFormat;
extern const ImageFormat tessi_image_formats[];
extern const size_t tessi_image_n_formats;
const ImageFormat *tessi_image_format_of(const char *path); /* by suffix, NULL when unknown */

/* Chooses what a format stores for an image, looks at its values where they may not fit, and makes the
 * rows; false where the format does not hold it, or there is a doubt and store->strict. */
bool tessi_rows_begin(const RtView *view, const ImageFormat *format, RtStore *store,
                      ImageRows *rows, Failure *f);
void tessi_rows_end(ImageRows *rows);
/* What is known of `n` rows that came one by one, now that all have. */
void tessi_rows_settle(const ImageRows *rows, int64_t n, RtStore *store);
void tessi_rows_find_doubt(ScalarType from, RtStore *store);
bool tessi_rows_fail_doubt(const ImageFormat *format, const RtStore *store, Failure *f);
/* The format that a file of that name gets, with what an earlier call filled in forgotten; NULL with a sentence. */
const ImageFormat *tessi_image_begin_store(const char *path, const RtView *image, RtStore *store,
                                           Failure *f);
/* Encodes with what the file shall say besides. */
bool tessi_image_encode_rows(const char *path, const ImageFormat *format, ImageRows *rows,
                             RtStore *store, RtOutput *out, Failure *f);
/* Turns the pixels of each page upright. */
bool tessi_image_turn(RtImage *image, int orientation, Failure *f);
/* What of `m` the format holds for these rows; `left_out` receives a sentence about what it does not, or is empty.
 * False without memory. */
bool tessi_meta_for_file(const RtMeta *m, const ImageFormat *format, const ImageRows *r,
                         RtMeta *stored, char *left_out, size_t size);
/* "ImageJ description" or "OME description" where there is one of these, which speak of a stack; else NULL. */
const char *tessi_meta_stack_text(const RtMeta *m);
/* The element type that a format stores for elements of type t, and how values get there; N_TYPES where it would have
 * to lose depth. The rules stand at tessi_image_write. */
ScalarType tessi_format_type(const ImageFormat *format, ScalarType t, const RtStore *store,
                             ConversionKind *how);
/* Whether depth and scale mean something for the format. */
bool tessi_format_can_store(const ImageFormat *format, const RtStore *store, Failure *f);

#endif
