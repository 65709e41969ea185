/* Directories of TIFF structures: read from anywhere, made anew, and values changed in place. */
#include "rt/meta_ifd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TAGS = 4096,
    MOST_BYTES = 1 << 26, /* of the values of a tag */
    RATIONAL = 5,
    SIGNED_RATIONAL = 10,
};

/* ---- Reading ---- */

/* n bytes of an integer in the byte order of the structure. */
static bool read_uint(const TiffStructure *s, size_t n, uint64_t *x)
{
    uint8_t b[8];
    *x = 0;
    if (tessi_input_read(s->in, b, n) < n)
        return false;
    const bool little = tessi_little_endian() != s->swap;
    for (size_t i = 0; i < n; i++)
        *x = *x << 8 | b[little ? n - 1 - i : i];
    return true;
}

bool tessi_tiff_structure(RtInput *in, TiffStructure *s)
{
    uint8_t mark[2];
    uint64_t version, size, zero;
    *s = (TiffStructure){ .in = in };
    if (!tessi_input_seek(in, 0) || tessi_input_read(in, mark, 2) < 2 || mark[0] != mark[1]
        || (mark[0] != 'I' && mark[0] != 'M'))
        return false;
    s->swap = (mark[0] == 'I') != tessi_little_endian();
    if (!read_uint(s, 2, &version))
        return false;
    s->big = version == 43;
    if (s->big && (!read_uint(s, 2, &size) || !read_uint(s, 2, &zero) || size != 8))
        return false;
    return (version == 42 || version == 43) && read_uint(s, s->big ? 8 : 4, &s->first);
}

/* Numbers of a value that are swapped by themselves, and the bytes of each. */
static size_t atom_size(uint16_t type)
{
    return type == RATIONAL || type == SIGNED_RATIONAL ? 4 : tessi_tag_size(type);
}

/* The values of the entry whose last part stands at `at`. */
static bool read_values(const TiffStructure *s, uint64_t at, uint16_t id, uint16_t type, uint64_t n,
                        RtTags *tags)
{
    const size_t size = tessi_tag_size(type), room = s->big ? 8 : 4;
    uint64_t offset = at;
    if (size == 0 || n == 0 || n > MOST_BYTES / size || !tessi_input_seek(s->in, at))
        return true;
    if (n * size > room && !read_uint(s, room, &offset))
        return false;
    if (s->in->size != UINT64_MAX && (offset > s->in->size || n * size > s->in->size - offset))
        return true; /* beyond the end */
    uint8_t *data = malloc((size_t)n * size);
    if (!data) {
        tags->failed = true;
        return false;
    }
    if (tessi_input_seek(s->in, offset)
        && tessi_input_read(s->in, data, (size_t)n * size) == n * size) {
        if (s->swap)
            tessi_swap_bytes(data, (size_t)n * size / atom_size(type), atom_size(type));
        tessi_tag_add(tags, id, type, n, data);
    }
    free(data);
    return !tags->failed;
}

bool tessi_ifd_read(const TiffStructure *s, uint64_t offset, RtTags *tags)
{
    uint64_t n;
    const uint64_t count = s->big ? 8 : 2, entry = s->big ? 20 : 12, half = s->big ? 8 : 4;
    if (offset == 0 || !tessi_input_seek(s->in, offset) || !read_uint(s, count, &n)
        || n > MOST_TAGS)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t id, type, values;
        const uint64_t at = offset + count + i * entry;
        if (!tessi_input_seek(s->in, at) || !read_uint(s, 2, &id) || !read_uint(s, 2, &type)
            || !read_uint(s, half, &values)
            || !read_values(s, at + 4 + half, (uint16_t)id, (uint16_t)type, values, tags))
            return false;
    }
    return true;
}

uint64_t tessi_tag_number(const RtTags *tags, uint16_t id)
{
    const RtTag *t = tessi_tag_find(tags, id);
    if (!t)
        return 0;
    const size_t size = tessi_tag_size(t->type);
    uint64_t x = 0;
    for (size_t i = 0; i < size && t->type != RATIONAL && t->type != SIGNED_RATIONAL; i++)
        x |= (uint64_t)t->data[tessi_little_endian() ? i : size - 1 - i] << 8 * i;
    return x;
}

/* ---- Writing ---- */

static void add_uint(RtBytes *b, uint64_t x, size_t n)
{
    uint8_t raw[8];
    for (size_t i = 0; i < n; i++)
        raw[i] = (uint8_t)(x >> 8 * (tessi_little_endian() ? i : n - 1 - i));
    tessi_bytes_add(b, raw, n);
}

void tessi_ifd_write(const RtTags *tags, uint64_t at, bool big, RtBytes *bytes, uint64_t *begin)
{
    const size_t half = big ? 8 : 4, start = bytes->n;
    const uint64_t length = (big ? 8 : 2) + tags->n * (4 + 2 * half) + half;
    uint64_t values = at + at % 2 + length; /* where those go that have no room in the entry */
    if (at % 2)
        tessi_bytes_add(bytes, "", 1);
    *begin = at + at % 2;
    add_uint(bytes, tags->n, big ? 8 : 2);
    for (size_t i = 0; i < tags->n; i++) {
        const RtTag *t = &tags->at[i];
        const uint64_t size = t->n * tessi_tag_size(t->type);
        add_uint(bytes, t->id, 2);
        add_uint(bytes, t->type, 2);
        add_uint(bytes, t->n, half);
        if (size <= half) {
            static const uint8_t nothing[8];
            tessi_bytes_add(bytes, t->data, (size_t)size);
            tessi_bytes_add(bytes, nothing, half - (size_t)size);
        } else {
            add_uint(bytes, values, half);
            values += size + size % 2;
        }
    }
    add_uint(bytes, 0, half); /* no directory follows */
    for (size_t i = 0; i < tags->n; i++) {
        const RtTag *t = &tags->at[i];
        const uint64_t size = t->n * tessi_tag_size(t->type);
        if (size > half) {
            tessi_bytes_add(bytes, t->data, (size_t)size);
            tessi_bytes_add(bytes, "", size % 2);
        }
    }
    (void)start;
}

static void point_to(RtTags *tags, uint16_t id, uint64_t offset)
{
    const uint32_t small = (uint32_t)offset;
    tessi_tag_add(tags, id, 4, 1, &small);
}

void tessi_exif_make(const RtTags *first, const RtTags *exif, const RtTags *interoperability,
                     const RtTags *gps, RtBytes *block)
{
    RtTags head = { 0 }, inner = { 0 };
    uint64_t begin;
    for (size_t i = 0; i < first->n; i++)
        tessi_tag_add(&head, first->at[i].id, first->at[i].type, first->at[i].n, first->at[i].data);
    for (size_t i = 0; i < exif->n; i++)
        tessi_tag_add(&inner, exif->at[i].id, exif->at[i].type, exif->at[i].n, exif->at[i].data);
    tessi_tag_remove(&inner, TAG_INTEROPERABILITY);
    tessi_bytes_add(block, tessi_little_endian() ? "II*\0\0\0\0\0" : "MM\0*\0\0\0\0", 8);
    if (interoperability->n) {
        tessi_ifd_write(interoperability, block->n, false, block, &begin);
        point_to(&inner, TAG_INTEROPERABILITY, begin);
    }
    if (inner.n) {
        tessi_ifd_write(&inner, block->n, false, block, &begin);
        point_to(&head, TAG_EXIF, begin);
    }
    if (gps->n) {
        tessi_ifd_write(gps, block->n, false, block, &begin);
        point_to(&head, TAG_GPS, begin);
    }
    tessi_ifd_write(&head, block->n, false, block, &begin);
    if (!block->failed) {
        const uint32_t small = (uint32_t)begin;
        memcpy(block->at + 4, &small, 4);
    }
    block->failed = block->failed || head.failed || inner.failed;
    tessi_tags_dispose(&head);
    tessi_tags_dispose(&inner);
}

/* ---- In place ---- */

/* Where in the block the entry of a tag stands, in the directory at `offset`; 0: nowhere. */
static size_t find_entry(const TiffStructure *s, uint64_t offset, uint16_t id, uint64_t *type,
                         uint64_t *n)
{
    uint64_t count, at_id;
    if (offset == 0 || !tessi_input_seek(s->in, offset) || !read_uint(s, 2, &count)
        || count > MOST_TAGS)
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = offset + 2 + 12 * i;
        if (!tessi_input_seek(s->in, at) || !read_uint(s, 2, &at_id) || !read_uint(s, 2, type)
            || !read_uint(s, 4, n))
            return 0;
        if (at_id == id)
            return at + 12 <= s->in->size ? (size_t)at : 0;
    }
    return 0;
}

/* Where the values of a tag stand when they have that type (0: short or long) and number; 0: nowhere. */
static size_t find_values(const TiffStructure *s, uint64_t offset, uint16_t id, uint64_t *type)
{
    uint64_t n, value;
    const size_t at = find_entry(s, offset, id, type, &n);
    if (at == 0 || n != 1)
        return 0;
    if (tessi_tag_size((uint16_t)*type) <= 4)
        return at + 8;
    if (!tessi_input_seek(s->in, at + 8) || !read_uint(s, 4, &value) || value == 0
        || value > s->in->size || s->in->size - value < tessi_tag_size((uint16_t)*type))
        return 0;
    return (size_t)value;
}

static bool open_block(const RtBytes *exif, RtInput *in, TiffStructure *s)
{
    tessi_input_memory(exif->at, exif->n, in);
    return exif->n >= 8 && tessi_tiff_structure(in, s) && !s->big;
}

static uint64_t number_at(const TiffStructure *s, size_t at, uint64_t type)
{
    uint64_t x = 0;
    if (at == 0 || !tessi_input_seek(s->in, at))
        return 0;
    return (type == 3 || type == 4) && read_uint(s, type == 3 ? 2 : 4, &x) ? x : 0;
}

static uint64_t number_of(const TiffStructure *s, uint64_t offset, uint16_t id)
{
    uint64_t type;
    const size_t at = find_values(s, offset, id, &type);
    return number_at(s, at, type);
}

int tessi_exif_orientation(const RtBytes *exif)
{
    RtInput in;
    TiffStructure s;
    if (!open_block(exif, &in, &s))
        return 0;
    const uint64_t x = number_of(&s, s.first, TAG_ORIENTATION);
    return x <= 8 ? (int)x : 0;
}

int tessi_exif_orientation_said(const RtBytes *exif)
{
    RtInput in;
    TiffStructure s;
    uint64_t type;
    if (!open_block(exif, &in, &s) || !find_values(&s, s.first, TAG_ORIENTATION, &type))
        return -1;
    const uint64_t x = number_of(&s, s.first, TAG_ORIENTATION);
    return x <= INT32_MAX ? (int)x : INT32_MAX;
}

static double rational_of(const TiffStructure *s, uint16_t id)
{
    uint64_t type, above, below;
    const size_t at = find_values(s, s->first, id, &type);
    if (at == 0 || type != RATIONAL || !tessi_input_seek(s->in, at) || !read_uint(s, 4, &above)
        || !read_uint(s, 4, &below) || below == 0)
        return 0;
    return (double)above / (double)below;
}

bool tessi_exif_resolution(const RtBytes *exif, double resolution[2], RtUnit *unit)
{
    RtInput in;
    TiffStructure s;
    if (!open_block(exif, &in, &s))
        return false;
    const double x = rational_of(&s, TAG_X_RESOLUTION), y = rational_of(&s, TAG_Y_RESOLUTION);
    const uint64_t said = number_of(&s, s.first, TAG_RESOLUTION_UNIT);
    if (!(x > 0 && y > 0))
        return false;
    resolution[0] = x;
    resolution[1] = y;
    *unit = said == 1 ? RT_UNIT_NONE : said == 3 ? RT_UNIT_CM : RT_UNIT_INCH;
    return true;
}

static void put(RtBytes *exif, bool swap, size_t at, uint64_t x, size_t n)
{
    const bool little = tessi_little_endian() != swap;
    for (size_t i = 0; i < n; i++)
        exif->at[at + i] = (uint8_t)(x >> 8 * (little ? i : n - 1 - i));
}

static void put_number(RtBytes *exif, const TiffStructure *s, uint64_t offset, uint16_t id,
                       int64_t x)
{
    uint64_t type;
    const size_t at = find_values(s, offset, id, &type);
    if (at != 0 && x > 0 && (type == 4 || (type == 3 && x <= UINT16_MAX)))
        put(exif, s->swap, at, (uint64_t)x, type == 3 ? 2 : 4);
}

static void put_rational(RtBytes *exif, const TiffStructure *s, uint16_t id, double x)
{
    uint64_t type;
    const size_t at = find_values(s, s->first, id, &type);
    if (at == 0 || type != RATIONAL || !(x > 0 && x < 4e6))
        return;
    const uint64_t below = x == floor(x) ? 1 : 1000;
    put(exif, s->swap, at, (uint64_t)llround(x * (double)below), 4);
    put(exif, s->swap, at + 4, below, 4);
}

void tessi_exif_patch(RtBytes *exif, const ExifFacts *facts)
{
    RtInput in;
    TiffStructure s;
    if (!open_block(exif, &in, &s))
        return;
    const uint64_t inner = number_of(&s, s.first, TAG_EXIF);
    put_number(exif, &s, s.first, TAG_ORIENTATION, facts->orientation);
    put_number(exif, &s, inner, TAG_PIXEL_X, facts->width);
    put_number(exif, &s, inner, TAG_PIXEL_Y, facts->height);
    put_rational(exif, &s, TAG_X_RESOLUTION, facts->resolution[0]);
    put_rational(exif, &s, TAG_Y_RESOLUTION, facts->resolution[1]);
}

void tessi_exif_drop_thumbnail(RtBytes *exif)
{
    enum { THUMBNAIL = 513, THUMBNAIL_BYTES = 514 };
    RtInput in;
    TiffStructure s;
    uint64_t n, second;
    if (!open_block(exif, &in, &s) || !tessi_input_seek(&in, s.first) || !read_uint(&s, 2, &n))
        return;
    const uint64_t link = s.first + 2 + 12 * n;
    if (!tessi_input_seek(&in, link) || !read_uint(&s, 4, &second) || second == 0)
        return;
    const uint64_t at = number_of(&s, second, THUMBNAIL),
                   bytes = number_of(&s, second, THUMBNAIL_BYTES);
    put(exif, s.swap, (size_t)link, 0, 4);
    if (at >= 8 && at < exif->n && bytes <= exif->n - at) {
        memset(exif->at + at, 0, (size_t)bytes);
        if (at + bytes == exif->n) /* nothing stands behind it */
            exif->n = (size_t)at;
    }
}
