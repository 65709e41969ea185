/* Directories of a TIFF structure: those that EXIF consists of, in blocks of JPEG, PNG, WebP and JPEG XL and in TIFF
 * files, where they are found by their offset. */
#ifndef TESSERA_RT_META_IFD_H
#define TESSERA_RT_META_IFD_H

#include "rt/input.h"
#include "rt/meta.h"

enum {
    TAG_ORIENTATION = 274,
    TAG_X_RESOLUTION = 282,
    TAG_Y_RESOLUTION = 283,
    TAG_RESOLUTION_UNIT = 296,
    TAG_DESCRIPTION = 270,
    TAG_SOFTWARE = 305,
    TAG_EXIF = 34665,
    TAG_GPS = 34853,
    TAG_INTEROPERABILITY = 40965,
    TAG_PIXEL_X = 40962,
    TAG_PIXEL_Y = 40963,
    TAG_MAKER_NOTE = 37500,
};

typedef struct TiffStructure {
    RtInput *in;
    bool swap, big; /* the other byte order; offsets of 64 bits */
    uint64_t first; /* directory */
} TiffStructure;
/* Reads the head; the structure begins at the input's first byte. False: it is none. */
bool tessi_tiff_structure(RtInput *in, TiffStructure *s);
/* Reads the tags of the directory at `offset`; those that make no sense are left out. */
bool tessi_ifd_read(const TiffStructure *s, uint64_t offset, RtTags *tags);
/* The value of an offset or a number among the tags; 0 when there is none. */
uint64_t tessi_tag_number(const RtTags *tags, uint16_t id);

/* EXIF as a block: the tags of its first directory and those of EXIF and GPS, which may be empty. */
void tessi_exif_make(const RtTags *first, const RtTags *exif, const RtTags *interoperability,
                     const RtTags *gps, RtBytes *block);
/* The directory as bytes that begin at `at` in the file or block; its offset is *begin. `big`: offsets have 64 bits. */
void tessi_ifd_write(const RtTags *tags, uint64_t at, bool big, RtBytes *bytes, uint64_t *begin);

/* Of a block: the value of a tag of the first directory, 0: not there. */
int tessi_exif_orientation(const RtBytes *exif);
int tessi_exif_orientation_said(const RtBytes *exif); /* whatever it is; -1: not there */
bool tessi_exif_resolution(const RtBytes *exif, double resolution[2], RtUnit *unit);
/* Changes values where they stand, those that are there: the block keeps its size. */
typedef struct ExifFacts {
    int orientation;
    int64_t width, height; /* 0: as they are */
    double resolution[2];  /* 0: as they are */
} ExifFacts;
void tessi_exif_patch(RtBytes *exif, const ExifFacts *facts);
/* The thumbnail, which would be one of other pixels, is taken out. */
void tessi_exif_drop_thumbnail(RtBytes *exif);

#endif
