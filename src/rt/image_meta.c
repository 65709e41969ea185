/* What of a picture's metadata a file of some format holds, with the facts that the file itself decides. */
#include "rt/image_codec.h"
#include "rt/meta_ifd.h"
#include "tessera.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool keeps(const ImageFormat *format, const char *word)
{
    return strstr(format->keeps, word) != NULL;
}

/* The format takes a block of EXIF or XMP. */
static bool takes(const ImageFormat *format, const char *word, const RtBytes *block)
{
    return keeps(format, word) && (format->longest == 0 || block->n <= format->longest);
}

/* ---- What is left out ---- */

static void add_word(char *list, size_t size, const char *word)
{
    const size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", word);
}

bool tessi_meta_is_placed(const RtMeta *m)
{
    return tessi_tag_find(&m->tags, 33550) || tessi_tag_find(&m->tags, 34264)
           || tessi_tag_find(&m->tags, 33922) || tessi_tag_find(&m->tags, 34735);
}

const char *tessi_meta_stack_text(const RtMeta *m)
{
    const RtTag *t = tessi_tag_find(&m->tags, TAG_DESCRIPTION);
    const char *text = t ? (const char *)t->data : "";
    if (strncmp(text, "ImageJ=", 7) == 0)
        return "ImageJ description";
    return strstr(text, "<OME") ? "OME description" : NULL;
}

static void say_left_out(const RtMeta *m, const ImageFormat *format, const ImageRows *r, char *text,
                         size_t size)
{
    char list[160] = "";
    text[0] = 0;
    const bool some = *format->keeps; /* of the others nobody expects it */
    if (some && m->icc.n && !keeps(format, "icc"))
        add_word(list, sizeof list, "ICC profile");
    if (some && m->exif.n && !takes(format, "exif", &m->exif))
        add_word(list, sizeof list, "EXIF");
    if (some && m->xmp.n && !takes(format, "xmp", &m->xmp))
        add_word(list, sizeof list, "XMP");
    if (tessi_meta_is_placed(m) && !keeps(format, "tags"))
        add_word(list, sizeof list, "place on earth");
    if (some && tessi_tag_find(&m->tags, TAG_NODATA) && !keeps(format, "tags"))
        add_word(list, sizeof list, "no-data value");
    if (tessi_meta_stack_text(m) && !keeps(format, "tags"))
        add_word(list, sizeof list, tessi_meta_stack_text(m));
    if (*list)
        snprintf(text, size, "%s does not hold the picture's %s, left out", format->name, list);
    else if (some && m->icc.n && !tessi_icc_fits(&m->icc, r->channels))
        snprintf(text, size,
                 "the picture's ICC profile is not one of %d channel%s, and is left out",
                 r->channels, r->channels == 1 ? "" : "s");
}

/* ---- What is stored ---- */

static double per_inch(double x, RtUnit unit)
{
    return unit == RT_UNIT_CM ? 2.54 * x : x;
}

/* The block tells another resolution than the one that holds. */
static bool resolution_differs(const RtMeta *m)
{
    double said[2];
    RtUnit unit;
    if (m->resolution[0] <= 0 || !tessi_exif_resolution(&m->exif, said, &unit))
        return false;
    for (int d = 0; d < 2; d++) {
        const double is = per_inch(m->resolution[d], m->unit), was = per_inch(said[d], unit);
        if (fabs(is - was) > 0.01 * was)
            return true;
    }
    return false;
}

/* The facts in the block of EXIF that are others in this file. */
static void settle_exif(RtMeta *m, const ImageRows *r)
{
    /* An orientation that is none was read as it is stored. */
    ExifFacts facts = { .orientation = m->orientation > 0 ? m->orientation : 1,
                        .width = r->width,
                        .height = r->height };
    if (resolution_differs(m)) {
        double said[2];
        RtUnit unit;
        tessi_exif_resolution(&m->exif, said, &unit);
        for (int d = 0; d < 2; d++)
            facts.resolution[d] = unit == RT_UNIT_CM ? per_inch(m->resolution[d], m->unit) / 2.54
                                                     : per_inch(m->resolution[d], m->unit);
    }
    tessi_exif_patch(&m->exif, &facts);
    tessi_exif_drop_thumbnail(&m->exif);
}

/* A block that says nothing but the orientation. */
static void add_orientation(RtMeta *m)
{
    RtTags first = { 0 };
    const RtTags none = { 0 };
    const uint16_t orientation = (uint16_t)m->orientation;
    tessi_tag_add(&first, TAG_ORIENTATION, 3, 1, &orientation);
    tessi_exif_make(&first, &none, &none, &none, &m->exif);
    m->exif.failed = m->exif.failed || first.failed;
    tessi_tags_dispose(&first);
}

bool tessi_meta_for_file(const RtMeta *m, const ImageFormat *format, const ImageRows *r,
                         RtMeta *stored, char *left_out, size_t size)
{
    say_left_out(m, format, r, left_out, size);
    if (!tessi_meta_copy(m, stored))
        return false;
    if (!keeps(format, "icc") || !tessi_icc_fits(&m->icc, r->channels))
        tessi_bytes_dispose(&stored->icc);
    if (!takes(format, "exif", &m->exif))
        tessi_bytes_dispose(&stored->exif);
    if (!takes(format, "xmp", &m->xmp))
        tessi_bytes_dispose(&stored->xmp);
    if (stored->exif.n)
        settle_exif(stored, r);
    else if (stored->orientation > 1 && keeps(format, "exif") && !keeps(format, "tags"))
        add_orientation(stored);
    if (!tessi_meta_failed(stored))
        return true;
    tessi_meta_dispose(stored);
    return false;
}
