/* Metadata of TIFF: tags through libtiff, the directories of EXIF and GPS as their bytes. */
#include "rt/image_codec.h"

#ifdef HAVE_TIFF
#include "rt/image_stack.h"
#include "rt/image_tiff.h"
#include "rt/meta_ifd.h"

#include <stdlib.h>
#include <string.h>

/* The texts of a page that EXIF has in its first directory too. */
static const uint16_t exif_texts[] = { 270, 271, 272, 306, 315, 33432 };
enum { N_EXIF_TEXTS = sizeof exif_texts / sizeof *exif_texts };

/* ---- Reading ---- */

/* Whatever form libtiff hands the values of the tag out in. */
static void read_tag(TIFF *tiff, uint16_t id, uint16_t type, RtTags *tags)
{
    const TIFFField *field = TIFFFindField(tiff, id, TIFF_ANY);
    void *data = NULL;
    uint32_t n = 0;
    if (!field)
        return;
    if (!TIFFFieldPassCount(field)) {
        if (TIFFFieldDataType(field) == TIFF_ASCII && TIFFGetField(tiff, id, &data) && data)
            tessi_tag_add(tags, id, TIFF_ASCII, strlen(data) + 1, data);
        return;
    }
    uint16_t small = 0;
    const bool wide = TIFFFieldReadCount(field) == TIFF_VARIABLE2;
    if (!(wide ? TIFFGetField(tiff, id, &n, &data) : TIFFGetField(tiff, id, &small, &data))
        || !data)
        return;
    const TIFFDataType is = TIFFFieldDataType(field);
    const bool alike = (uint16_t)is == type || (is == TIFF_UNDEFINED && type == TIFF_BYTE);
    if (alike)
        tessi_tag_add(tags, id, type, wide ? n : small, data);
}

static void read_block(TIFF *tiff, uint16_t id, RtBytes *block)
{
    uint32_t n = 0;
    void *data = NULL;
    if (TIFFGetField(tiff, id, &n, &data) && data)
        tessi_bytes_add(block, data, n);
}

int tessi_tiff_orientation(TIFF *tiff)
{
    uint16_t orientation = 0;
    if (!TIFFGetField(tiff, TIFFTAG_ORIENTATION, &orientation))
        return 0;
    return orientation <= 8 ? orientation : 0;
}

static void read_resolution(TIFF *tiff, RtMeta *m)
{
    float x = 0, y = 0;
    uint16_t unit = RESUNIT_INCH;
    if (!TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y)
        || !(x > 0 && y > 0))
        return;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
    m->resolution[0] = x;
    m->resolution[1] = y;
    m->unit = unit == RESUNIT_CENTIMETER ? RT_UNIT_CM
              : unit == RESUNIT_INCH     ? RT_UNIT_INCH
                                         : RT_UNIT_NONE;
}

/* The directory that a tag of the page leads to. */
static void read_directory(TIFF *tiff, uint16_t id, const TiffStructure *s, RtTags *tags)
{
    uint64_t offset = 0;
    if (TIFFGetField(tiff, id, &offset) && offset)
        tessi_ifd_read(s, offset, tags);
}

/* EXIF as other formats have it. */
static void make_exif(TIFF *tiff, RtInput *in, RtMeta *m)
{
    RtTags first = { 0 }, exif = { 0 }, inter = { 0 }, gps = { 0 };
    TiffStructure s;
    for (size_t i = 0; i < N_EXIF_TEXTS; i++) {
        const RtTag *t = tessi_tag_find(&m->tags, exif_texts[i]);
        if (t && !(t->id == TAG_DESCRIPTION && tessi_meta_stack_text(m)))
            tessi_tag_add(&first, t->id, t->type, t->n, t->data);
    }
    if (tessi_tiff_structure(in, &s)) {
        read_directory(tiff, TIFFTAG_EXIFIFD, &s, &exif);
        read_directory(tiff, TIFFTAG_GPSIFD, &s, &gps);
        const uint64_t inner = tessi_tag_number(&exif, TAG_INTEROPERABILITY);
        if (inner)
            tessi_ifd_read(&s, inner, &inter);
    }
    if (first.n || exif.n || gps.n) {
        const uint16_t orientation = (uint16_t)m->orientation;
        if (orientation)
            tessi_tag_add(&first, TAG_ORIENTATION, TIFF_SHORT, 1, &orientation);
        tessi_exif_make(&first, &exif, &inter, &gps, &m->exif);
    }
    m->exif.failed = m->exif.failed || first.failed || exif.failed || inter.failed || gps.failed;
    tessi_tags_dispose(&first);
    tessi_tags_dispose(&exif);
    tessi_tags_dispose(&inter);
    tessi_tags_dispose(&gps);
}

void tessi_tiff_read_meta(TIFF *tiff, RtInput *in, RtMeta *m)
{
    uint16_t id, type;
    for (size_t i = 0; (id = tessi_tag_kept(i, NULL, &type)) != 0; i++)
        read_tag(tiff, id, type, &m->tags);
    read_block(tiff, TIFFTAG_ICCPROFILE, &m->icc);
    read_block(tiff, TIFFTAG_XMLPACKET, &m->xmp);
    read_resolution(tiff, m);
    m->orientation = tessi_tiff_orientation(tiff);
    make_exif(tiff, in, m);
}

/* ---- Writing ---- */

/* Tells libtiff the kept tags that it does not know. */
static bool declare_tags(TIFF *tiff)
{
    uint16_t id, type;
    const char *name;
    for (size_t i = 0; (id = tessi_tag_kept(i, &name, &type)) != 0; i++) {
        if (TIFFFindField(tiff, id, TIFF_ANY))
            continue;
        const TIFFFieldInfo info = { .field_tag = id,
                                     .field_readcount = TIFF_VARIABLE2,
                                     .field_writecount = TIFF_VARIABLE2,
                                     .field_type = (TIFFDataType)type,
                                     .field_bit = FIELD_CUSTOM,
                                     .field_oktochange = 1,
                                     .field_passcount = 1,
                                     .field_name = (char *)(uintptr_t)name };
        if (TIFFMergeFieldInfo(tiff, &info, 1) != 0)
            return false;
    }
    return true;
}

static bool set_tag(TIFF *tiff, const RtTag *t)
{
    const TIFFField *field = TIFFFindField(tiff, t->id, TIFF_ANY);
    if (!field)
        return true;
    if (!TIFFFieldPassCount(field))
        return t->type != TIFF_ASCII || TIFFSetField(tiff, t->id, (const char *)t->data) == 1;
    return TIFFFieldWriteCount(field) == TIFF_VARIABLE2
               ? TIFFSetField(tiff, t->id, (uint32_t)t->n, t->data) == 1
               : TIFFSetField(tiff, t->id, (int)t->n, t->data) == 1;
}

/* Puts the directory at the end of the file, and its offset into the page. */
static bool put_directory(TIFF *tiff, uint16_t id, const RtTags *tags, RtOutput *out, bool big)
{
    RtBytes bytes = { 0 };
    uint64_t begin = 0;
    if (!tags->n)
        return true;
    const uint64_t here = out->at, end = out->size;
    tessi_ifd_write(tags, end, big, &bytes, &begin);
    bool ok = !bytes.failed && tessi_output_seek(out, end);
    if (ok)
        tessi_output_add(out, bytes.at, bytes.n);
    tessi_bytes_dispose(&bytes);
    return ok && tessi_output_seek(out, here) && !out->error && TIFFSetField(tiff, id, begin) == 1;
}

/* The parts of a block of EXIF to the places that TIFF has for them. */
static bool put_exif(TIFF *tiff, RtOutput *out, const RtMeta *m, bool big)
{
    RtInput in;
    TiffStructure s;
    RtTags first = { 0 }, exif = { 0 }, gps = { 0 };
    tessi_input_memory(m->exif.at, m->exif.n, &in);
    bool ok = true;
    if (m->exif.n && tessi_tiff_structure(&in, &s) && tessi_ifd_read(&s, s.first, &first)) {
        tessi_ifd_read(&s, tessi_tag_number(&first, TAG_EXIF), &exif);
        tessi_ifd_read(&s, tessi_tag_number(&first, TAG_GPS), &gps);
        tessi_tag_remove(&exif, TAG_INTEROPERABILITY);
        for (size_t i = 0; ok && i < N_EXIF_TEXTS; i++) {
            const RtTag *t = tessi_tag_find(&first, exif_texts[i]);
            if (t && t->type == TIFF_ASCII && !tessi_tag_find(&m->tags, t->id))
                ok = set_tag(tiff, t);
        }
        ok = ok && !first.failed && !exif.failed && !gps.failed
             && put_directory(tiff, TIFFTAG_EXIFIFD, &exif, out, big)
             && put_directory(tiff, TIFFTAG_GPSIFD, &gps, out, big);
    }
    tessi_tags_dispose(&first);
    tessi_tags_dispose(&exif);
    tessi_tags_dispose(&gps);
    return ok;
}

/* What every page has. */
static bool set_all_pages(TIFF *tiff, const RtMeta *m)
{
    bool ok = true;
    if (m->icc.n)
        ok = TIFFSetField(tiff, TIFFTAG_ICCPROFILE, (uint32_t)m->icc.n, m->icc.at) == 1;
    if (ok && m->resolution[0] > 0)
        ok = TIFFSetField(tiff, TIFFTAG_XRESOLUTION, m->resolution[0])
             && TIFFSetField(tiff, TIFFTAG_YRESOLUTION, m->resolution[1])
             && TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT,
                             m->unit == RT_UNIT_CM     ? RESUNIT_CENTIMETER
                             : m->unit == RT_UNIT_INCH ? RESUNIT_INCH
                                                       : RESUNIT_NONE);
    if (ok && m->orientation > 0)
        ok = TIFFSetField(tiff, TIFFTAG_ORIENTATION, m->orientation) == 1;
    return ok;
}

/* What the picture's description says, and what is true of the stack. */
static bool set_description(TIFF *tiff, const ImageRows *r)
{
    const RtTag *t = r->meta ? tessi_tag_find(&r->meta->tags, TAG_DESCRIPTION) : NULL;
    RtBytes text = { 0 };
    tessi_stack_describe(t ? (const char *)t->data : NULL, r, &text);
    const bool ok =
        !text.failed
        && (!text.n || TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, (const char *)text.at) == 1);
    tessi_bytes_dispose(&text);
    return ok;
}

bool tessi_tiff_write_meta(TIFF *tiff, RtOutput *out, const ImageRows *r, int64_t page, bool big)
{
    const RtMeta *m = r->meta;
    bool ok = true;
    if (m)
        ok = declare_tags(tiff) && set_all_pages(tiff, m);
    if (m && page == 0) {
        for (size_t i = 0; ok && i < m->tags.n; i++)
            ok = m->tags.at[i].id == TAG_DESCRIPTION || set_tag(tiff, &m->tags.at[i]);
        if (ok && m->xmp.n)
            ok = TIFFSetField(tiff, TIFFTAG_XMLPACKET, (uint32_t)m->xmp.n, m->xmp.at) == 1;
        ok = ok && put_exif(tiff, out, m, big);
    }
    if (ok && page == 0)
        ok = set_description(tiff, r);
    if (ok && r->provenance && page == 0)
        ok = TIFFSetField(tiff, TIFFTAG_SOFTWARE, r->provenance) == 1;
    return ok;
}

#endif
