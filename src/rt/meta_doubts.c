/* What a file says of a picture twice and differently, or in numbers that mean nothing, and what counts then. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/meta.h"
#include "rt/meta_ifd.h"

enum { SENTENCE = 300 };

static void add_doubt(RtMeta *m, const char *fmt, ...)
{
    char text[SENTENCE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tessi_bytes_add(&m->doubts, text, strlen(text) + 1);
}

const char *tessi_meta_doubt(const RtMeta *m, size_t i)
{
    const char *at = (const char *)m->doubts.at, *end = at + m->doubts.n;
    while (at < end && i-- > 0)
        at += strlen(at) + 1;
    return at < end ? at : NULL;
}

/* The number in `tiff:NAME="300/2"`, or in an element of that name; 0: there is none. */
static double number_in_xmp(const RtBytes *xmp, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i + n + 3 < xmp->n; i++) {
        char text[40] = "", *end;
        size_t k = i + n;
        if (memcmp(xmp->at + i, name, n) != 0)
            continue;
        while (k < xmp->n && k < i + n + 4 && memchr("=\"'> ", xmp->at[k], 5))
            k++;
        const size_t left = xmp->n - k;
        memcpy(text, xmp->at + k, left < sizeof text - 1 ? left : sizeof text - 1);
        const double above = strtod(text, &end);
        const double below = *end == '/' ? strtod(end + 1, NULL) : 1;
        return k > i + n && above > 0 && below > 0 ? above / below : 0;
    }
    return 0;
}

/* ---- Orientation ----------------------------------------------------------------------------- */
static void doubt_orientation(RtMeta *m)
{
    const int tag = m->misoriented ? m->misoriented - 1 : -1;
    const int exif = tag < 0 ? tessi_exif_orientation_said(&m->exif) : tag;
    const double xmp = number_in_xmp(&m->xmp, "tiff:Orientation");
    const bool from_exif = m->orientation > 0 && exif == m->orientation;
    if (exif == 0 || exif > 8)
        add_doubt(m,
                  "its %s the orientation %d, which is none of 1 to 8: it is read as it is stored",
                  tag < 0 ? "EXIF says" : "tags say", exif);
    else if (exif > 0 && m->orientation > 0 && exif != m->orientation)
        add_doubt(m, "it is stored in orientation %d, and its EXIF says %d: the former counts",
                  m->orientation, exif);
    if (m->orientation > 0 && xmp >= 1 && xmp <= 8 && (int)xmp != m->orientation)
        add_doubt(m, "its %s the orientation %d, and its XMP %d: the former counts",
                  from_exif ? "EXIF says" : "tags say", m->orientation, (int)xmp);
}

/* ---- Resolution ------------------------------------------------------------------------------ */
static double per_inch(double x, RtUnit unit)
{
    return unit == RT_UNIT_CM ? 2.54 * x : x;
}

/* Files hold whole numbers an inch, a centimetre or a metre. Without a unit only the ratio means something. */
static bool differs(const double a[2], RtUnit a_unit, const double b[2], RtUnit b_unit)
{
    const double close = 0.01;
    if (a_unit == RT_UNIT_NONE || b_unit == RT_UNIT_NONE)
        return fabs(a[0] * b[1] - a[1] * b[0]) > close * a[1] * b[0];
    for (int d = 0; d < 2; d++)
        if (fabs(per_inch(a[d], a_unit) - per_inch(b[d], b_unit)) > close * per_inch(b[d], b_unit))
            return true;
    return false;
}

static const char *unit_text(RtUnit unit)
{
    return unit == RT_UNIT_INCH ? " an inch" : unit == RT_UNIT_CM ? " a cm" : "";
}

static void doubt_against(RtMeta *m, const char *what, const double said[2], RtUnit unit)
{
    if (differs(said, unit, m->resolution, m->unit))
        add_doubt(m,
                  "its resolution is %.6g x %.6g%s, and its %s says %.6g x %.6g%s: the former "
                  "counts",
                  m->resolution[0], m->resolution[1], unit_text(m->unit), what, said[0], said[1],
                  unit_text(unit));
}

static void doubt_resolution(RtMeta *m)
{
    double said[2];
    RtUnit unit;
    if (m->resolution[0] <= 0)
        return;
    if (tessi_exif_resolution(&m->exif, said, &unit))
        doubt_against(m, "EXIF", said, unit);
    said[0] = number_in_xmp(&m->xmp, "tiff:XResolution");
    said[1] = number_in_xmp(&m->xmp, "tiff:YResolution");
    const double in = number_in_xmp(&m->xmp, "tiff:ResolutionUnit");
    if (said[0] > 0 && said[1] > 0)
        doubt_against(m, "XMP", said, in == 1 ? RT_UNIT_NONE : in == 3 ? RT_UNIT_CM : RT_UNIT_INCH);
}

void tessi_meta_find_doubts(RtMeta *m)
{
    if (m->doubts.n)
        return;
    doubt_orientation(m);
    doubt_resolution(m);
}
