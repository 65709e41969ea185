/* What a picture's file says besides its pixels: colour profile, EXIF, XMP, resolution, tags of TIFF. Codecs fill it
 * in and store it; blocks are kept as their bytes, and changed only where they would be wrong of the result:
 * orientation, sizes, resolution, placing on earth. */
#ifndef TESSERA_RT_META_H
#define TESSERA_RT_META_H

#include "rt/bytes.h"

/* A tag of a TIFF structure, its values in the byte order of this machine. */
typedef struct RtTag {
    uint16_t id, type; /* TIFF's numbers */
    uint64_t n;        /* values */
    uint8_t *data;
} RtTag;
typedef struct RtTags {
    RtTag *at;
    size_t n, cap;
    bool failed; /* memory was short */
} RtTags;

typedef enum RtUnit { RT_UNIT_NONE, RT_UNIT_INCH, RT_UNIT_CM } RtUnit;

typedef struct RtMeta {
    RtBytes icc;          /* a colour profile */
    RtBytes exif;         /* a TIFF structure, as files have it behind "Exif" */
    RtBytes xmp;          /* a packet of XML */
    RtTags tags;          /* of a page of TIFF, those of meta_tags.def */
    double resolution[2]; /* pixels a unit, in x and y; 0: not said */
    RtUnit unit;          /* NONE: only their ratio means something */
    int orientation;      /* as EXIF numbers it, 1..8; 0: not said */
    int misoriented;      /* 1 more than what TIFF says where that is none of 1..8; else 0 */
    RtBytes doubts;       /* sentences, each with its NUL */
} RtMeta;

void tessi_meta_dispose(RtMeta *m);
bool tessi_meta_is_placed(const RtMeta *m); /* it has a place on earth */
/* Memory was short while it was filled in. */
bool tessi_meta_failed(const RtMeta *m);
/* Behind the copied XMP stands a NUL that is not counted. False without memory, and then *to is empty. */
bool tessi_meta_copy(const RtMeta *from, RtMeta *to);

/* meta_doubts.c: what the file says twice and differently, or what means nothing; to be found before the picture is
 * turned. Number i as a sentence, NULL after the last. */
void tessi_meta_find_doubts(RtMeta *m);
const char *tessi_meta_doubt(const RtMeta *m, size_t i);

/* ---- Tags ---- */
size_t tessi_tag_size(uint16_t type); /* of one value; 0: no type of TIFF */
const RtTag *tessi_tag_find(const RtTags *tags, uint16_t id);
/* Copies the values; one tag of an id, in order. */
void tessi_tag_add(RtTags *tags, uint16_t id, uint16_t type, uint64_t n, const void *data);
void tessi_tag_remove(RtTags *tags, uint16_t id);
void tessi_tags_dispose(RtTags *tags);
/* The tags of TIFF that are kept: 0 after the last, else the id; *name may be NULL. */
uint16_t tessi_tag_kept(size_t i, const char **name, uint16_t *type);

enum { TAG_NODATA = 42113 }; /* GDAL's, a text: the value of pixels without data */

/* ---- Pictures and their results ---- */
/* Where a point of a result lies in the picture: in[d] = sum of a[d][e] * out[e] + b[d], y before x, points counted
 * from 0. */
typedef struct RtMap {
    double a[2][2], b[2];
    int n_outer;     /* dimensions of the picture before its rows */
    double outer[2]; /* along each of them: how many of its steps one of the result is */
} RtMap;
bool tessi_map_is_identity(const RtMap *map);
/* What is true of a result as well. */
bool tessi_meta_of_result(const RtMeta *m, const RtMap *map, RtMeta *result);
/* The picture was turned upright from the orientation that it was stored in; its size before that. */
void tessi_meta_turned(RtMeta *m, int64_t height, int64_t width);
/* The map that leads from a turned picture back to the one stored. */
RtMap tessi_map_of_orientation(int orientation, int64_t height, int64_t width);

/* What files say about it, for people: number i as a name and a text, both valid until the next call; false after
 * the last. */
typedef struct RtMetaItem {
    const char *name;
    char text[400];
} RtMetaItem;
bool tessi_meta_item(const RtMeta *m, size_t i, RtMetaItem *item);

/* The colour profile can be one of pictures of so many channels. */
bool tessi_icc_fits(const RtBytes *icc, int channels);

#endif
