/* Metadata of a picture whose points lie elsewhere: parts, samplings, turned pictures. Resolution and the placing on
 * earth (GeoTIFF 1.1) go with the points. */
#include "rt/image_stack.h"
#include "rt/meta.h"
#include "rt/meta_ifd.h"

#include <math.h>
#include <string.h>

enum {
    PIXEL_SCALE = 33550,
    TIEPOINT = 33922,
    TRANSFORMATION = 34264,
    GEO_KEYS = 34735,
    RASTER_TYPE = 1025, /* a key: whether coordinates count corners of pixels or their centres */
    PIXEL_IS_POINT = 2,
    DOUBLE = 12,
    MOST_TIEPOINTS = 4096
};

bool tessi_map_is_identity(const RtMap *m)
{
    bool is = true;
    for (int d = 0; d < m->n_outer; d++)
        is = is && m->outer[d] == 1;
    return is && m->a[0][0] == 1 && m->a[0][1] == 0 && m->a[1][0] == 0 && m->a[1][1] == 1
           && m->b[0] == 0 && m->b[1] == 0;
}

RtMap tessi_map_of_orientation(int orientation, int64_t height, int64_t width)
{
    const double down = (double)(height - 1), right = (double)(width - 1);
    switch (orientation) {
    case 2: return (RtMap){ .a = { { 1, 0 }, { 0, -1 } }, .b = { 0, right } };
    case 3: return (RtMap){ .a = { { -1, 0 }, { 0, -1 } }, .b = { down, right } };
    case 4: return (RtMap){ .a = { { -1, 0 }, { 0, 1 } }, .b = { down, 0 } };
    case 5: return (RtMap){ .a = { { 0, 1 }, { 1, 0 } }, .b = { 0, 0 } };
    case 6: return (RtMap){ .a = { { 0, -1 }, { 1, 0 } }, .b = { down, 0 } };
    case 7: return (RtMap){ .a = { { 0, -1 }, { -1, 0 } }, .b = { down, right } };
    case 8: return (RtMap){ .a = { { 0, 1 }, { -1, 0 } }, .b = { 0, right } };
    default: return (RtMap){ .a = { { 1, 0 }, { 0, 1 } }, .b = { 0, 0 } };
    }
}

/* ---- Placing on earth ---- */

static double real_at(const RtTag *t, size_t i)
{
    double x = 0;
    if (i < t->n)
        memcpy(&x, t->data + 8 * i, 8);
    return x;
}

static bool counts_centres(const RtTags *tags)
{
    const RtTag *t = tessi_tag_find(tags, GEO_KEYS);
    for (uint64_t i = 4; t && t->type == 3 && i + 3 < t->n; i += 4) {
        uint16_t key[4];
        memcpy(key, t->data + 2 * i, sizeof key);
        if (key[0] == RASTER_TYPE)
            return key[3] == PIXEL_IS_POINT;
    }
    return false;
}

/* The same map between raster coordinates, which count corners unless the file says otherwise. */
static RtMap raster_map(const RtMap *map, bool centres)
{
    RtMap r = *map;
    for (int d = 0; d < 2 && !centres; d++)
        r.b[d] += 0.5 - 0.5 * (r.a[d][0] + r.a[d][1]);
    return r;
}

static bool inverse(const RtMap *m, RtMap *inv)
{
    const double det = m->a[0][0] * m->a[1][1] - m->a[0][1] * m->a[1][0];
    if (det == 0)
        return false;
    *inv = (RtMap){ .a = { { m->a[1][1] / det, -m->a[0][1] / det },
                           { -m->a[1][0] / det, m->a[0][0] / det } } };
    for (int d = 0; d < 2; d++)
        inv->b[d] = 0 - (inv->a[d][0] * m->b[0] + inv->a[d][1] * m->b[1]);
    return true;
}

/* Column and row of each tiepoint. */
static void move_tiepoints(RtTags *tags, const RtMap *raster)
{
    const RtTag *t = tessi_tag_find(tags, TIEPOINT);
    RtMap inv;
    if (!t || t->type != DOUBLE || t->n % 6 || t->n > 6 * MOST_TIEPOINTS || !inverse(raster, &inv))
        return;
    for (uint64_t i = 0; i < t->n; i += 6) {
        const double x = real_at(t, i), y = real_at(t, i + 1);
        const double to[2] = { inv.a[1][0] * y + inv.a[1][1] * x + inv.b[1],
                               inv.a[0][0] * y + inv.a[0][1] * x + inv.b[0] };
        memcpy(t->data + 8 * i, to, sizeof to);
    }
}

/* The matrix from raster to model coordinates that scale and tiepoint stand for. */
static bool matrix_of(const RtTags *tags, double m[16])
{
    const RtTag *given = tessi_tag_find(tags, TRANSFORMATION),
                *scale = tessi_tag_find(tags, PIXEL_SCALE), *tie = tessi_tag_find(tags, TIEPOINT);
    memset(m, 0, 16 * sizeof *m);
    m[15] = 1;
    if (given && given->type == DOUBLE && given->n == 16) {
        memcpy(m, given->data, 16 * sizeof *m);
        return true;
    }
    if (!scale || !tie || scale->type != DOUBLE || scale->n < 2 || tie->type != DOUBLE
        || tie->n != 6)
        return false;
    m[0] = real_at(scale, 0);
    m[5] = -real_at(scale, 1);
    m[3] = real_at(tie, 3) - real_at(tie, 0) * m[0];
    m[7] = real_at(tie, 4) - real_at(tie, 1) * m[5];
    m[11] = real_at(tie, 5);
    return true;
}

static void set_matrix(RtTags *tags, const RtMap *r, double m[16])
{
    for (int i = 0; i < 12; i += 4) {
        const double x = m[i], y = m[i + 1];
        m[i] = x * r->a[1][1] + y * r->a[0][1];
        m[i + 1] = x * r->a[1][0] + y * r->a[0][0];
        m[i + 3] += x * r->b[1] + y * r->b[0];
    }
    const bool plain =
        m[1] == 0 && m[4] == 0 && m[0] > 0 && m[5] < 0 && !tessi_tag_find(tags, TRANSFORMATION);
    if (!plain) {
        tessi_tag_remove(tags, PIXEL_SCALE);
        tessi_tag_remove(tags, TIEPOINT);
        tessi_tag_add(tags, TRANSFORMATION, DOUBLE, 16, m);
        return;
    }
    const double scale[3] = { m[0], -m[5], 0 }, tie[6] = { 0, 0, 0, m[3], m[7], m[11] };
    tessi_tag_add(tags, PIXEL_SCALE, DOUBLE, 3, scale);
    tessi_tag_add(tags, TIEPOINT, DOUBLE, 6, tie);
}

static void move_on_earth(RtTags *tags, const RtMap *map)
{
    double m[16];
    const RtMap raster = raster_map(map, counts_centres(tags));
    if (matrix_of(tags, m))
        set_matrix(tags, &raster, m);
    else
        move_tiepoints(tags, &raster);
}

/* ---- All of it ---- */

/* Pixels of the picture by which a step along dimension d of the result moves, rows and columns weighed. */
static double step_length(const RtMap *map, int d, double rows, double columns)
{
    return hypot(map->a[0][d] * rows, map->a[1][d] * columns);
}

static void move_resolution(RtMeta *m, const RtMap *map)
{
    const double y = m->resolution[1], x = m->resolution[0];
    const double of_row = step_length(map, 0, x, y), of_column = step_length(map, 1, x, y);
    if (of_row > 0
        && of_column > 0) { /* in units of x y: the lengths of one pixel are 1 / y and 1 / x */
        m->resolution[1] = x * y / of_row;
        m->resolution[0] = x * y / of_column;
    }
}

bool tessi_meta_of_result(const RtMeta *m, const RtMap *map, RtMeta *result)
{
    if (!tessi_meta_copy(m, result))
        return false;
    if (tessi_map_is_identity(map))
        return true;
    move_resolution(result, map);
    tessi_stack_scale(&result->tags, step_length(map, 0, 1, 1), step_length(map, 1, 1, 1),
                      map->n_outer, map->outer);
    move_on_earth(&result->tags, map);
    if (!tessi_meta_failed(result))
        return true;
    tessi_meta_dispose(result);
    return false;
}

/* `tiff:Orientation="6"`, or as an element: the digit becomes 1. */
static void reset_xmp(RtBytes *xmp)
{
    static const char name[] = "tiff:Orientation";
    const size_t n = sizeof name - 1;
    for (size_t i = 0; i + n + 3 < xmp->n; i++) {
        if (memcmp(xmp->at + i, name, n) != 0)
            continue;
        size_t k = i + n;
        while (k < xmp->n && k < i + n + 4 && memchr("=\"'> ", xmp->at[k], 5))
            k++;
        if (k < xmp->n && xmp->at[k] >= '1' && xmp->at[k] <= '8')
            xmp->at[k] = '1';
    }
}

void tessi_meta_turned(RtMeta *m, int64_t height, int64_t width)
{
    const RtMap map = tessi_map_of_orientation(m->orientation, height, width);
    move_resolution(m, &map);
    move_on_earth(&m->tags, &map);
    m->orientation = 1;
    tessi_exif_patch(&m->exif, &(ExifFacts){ .orientation = 1 });
    reset_xmp(&m->xmp);
}
