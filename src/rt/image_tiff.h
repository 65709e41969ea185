/* Between the files of TIFF: pixels, their layout, and what pages say besides. */
#ifndef TESSERA_RT_IMAGE_TIFF_H
#define TESSERA_RT_IMAGE_TIFF_H

#include <tiffio.h>

#include "rt/image_codec.h"

/* A file as libtiff sees it: what it is opened with. */
typedef struct TiffFile {
    RtInput *in;       /* when reading */
    RtOutput *out;     /* when writing */
    uint64_t told;     /* not 0: it is told of strips that are in the file, of the next one here */
    char message[160]; /* the first error */
    int misoriented;   /* as RtMeta has it */
} TiffFile;

/* What the page says that libtiff stands at. Memory that was short shows in *m. */
void tessi_tiff_read_meta(TIFF *tiff, RtInput *in, RtMeta *m);
int tessi_tiff_orientation(TIFF *tiff); /* 0: not said */
/* Sets the tags of a page before its pixels are written; directories of EXIF go into `out`, with offsets of 64 bits
 * when `big`. */
bool tessi_tiff_write_meta(TIFF *tiff, RtOutput *out, const ImageRows *r, int64_t page, bool big);

/* image_tiff_tiles.c: elements of bool as bits, the first one in the highest */
void tessi_tiff_pack(const uint8_t *from, size_t n, uint8_t *to);
bool tessi_tiff_can_compress(const ImageRows *r, Failure *f);
/* Compression, and strips for rows of so many bytes, or tiles. */
bool tessi_tiff_set_layout(TIFF *tiff, const ImageRows *r, size_t row);
/* `pyramid` may be NULL. */
typedef struct TiffPyramid TiffPyramid;
bool tessi_tiff_write_tiles(TIFF *tiff, ImageRows *r, int64_t page, TiffPyramid *pyramid,
                            RtOutput *out);

/* image_tiff_plain.c: strips that lie in the file as their rows do in the image */
typedef struct TiffPlain {
    uint32_t height, per; /* rows of the page, and of a strip */
    size_t row;           /* bytes of one */
    bool inverted;        /* 0 is white */
} TiffPlain;
/* Reads the rows from *y on, the first of a strip, into rows from `first` + *y on. *done false: a strip is not as long
 * as its rows, and another way has to be tried from row *y on. */
bool tessi_tiff_read_plain(TIFF *tiff, ImageDecode *d, const TiffPlain *plain, int64_t first,
                           uint32_t *y, bool *done, Failure *f);
/* The rows of a page, of so many bytes each. */
bool tessi_tiff_write_strips(TIFF *tiff, ImageRows *r, int64_t page, size_t bytes);

/* image_tiff_pyramid.c: smaller copies. NULL with a failure. */
TiffPyramid *tessi_tiff_pyramid_new(const ImageRows *r, const RtOutput *out, Failure *f);
void tessi_tiff_pyramid_free(TiffPyramid *p);
/* The next row of the picture as it is stored; false with out->error. Nothing where there is no pyramid. */
bool tessi_tiff_pyramid_add(TiffPyramid *p, const void *row, RtOutput *out);
/* The rows of copy number k, once all of the picture have come; false: there are no more copies. A row that cannot be
 * read is NULL. */
bool tessi_tiff_pyramid_level(TiffPyramid *p, int k, ImageRows *rows);

#endif
