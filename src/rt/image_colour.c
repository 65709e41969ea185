/* Colours converted to sRGB by the profile of the picture, through Little CMS: rows of the file into rows of the
 * image. */
#include "rt/image_codec.h"
#include "tessera.h"

#ifndef HAVE_LCMS

bool tessi_colours_begin(ImageDecode *d, int channels, Failure *f)
{
    (void)d, (void)channels;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "this build cannot convert colours; it was made without Little CMS");
}

void tessi_colours_row(const ImageDecode *d, const void *from, void *to, size_t n)
{
    (void)d, (void)from, (void)to, (void)n;
}

void tessi_colours_end(ImageDecode *d)
{
    (void)d;
}

#else

#include <lcms2.h>
#include <string.h>

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

/* Grey with the curve of sRGB. */
static cmsHPROFILE grey_profile(void)
{
    cmsHPROFILE rgb = cmsCreate_sRGBProfile();
    const cmsToneCurve *curve = rgb ? cmsReadTag(rgb, cmsSigRedTRCTag) : NULL;
    cmsHPROFILE grey = curve ? cmsCreateGrayProfile(cmsD50_xyY(), curve) : NULL;
    if (rgb)
        cmsCloseProfile(rgb);
    return grey;
}

/* The result says what its colours are. */
static bool replace_profile(RtMeta *m, cmsHPROFILE profile)
{
    cmsUInt32Number n = 0;
    tessi_bytes_dispose(&m->icc);
    if (!cmsSaveProfileToMem(profile, NULL, &n))
        return false;
    uint8_t *to = tessi_bytes_extend(&m->icc, n);
    return to && cmsSaveProfileToMem(profile, to, &n);
}

static const char *space_of(const ImageDecode *d, int colours)
{
    return d->head.space != SPACE_BY_CHANNELS ? "CMYK" : colours == 1 ? "GRAY" : "RGB ";
}

bool tessi_colours_begin(ImageDecode *d, int channels, Failure *f)
{
    const bool alpha =
        d->head.space == SPACE_BY_CHANNELS && d->head.channels > 1 && channels % 2 == 0;
    const int colours = d->head.space != SPACE_BY_CHANNELS ? 4 : channels - alpha;
    const size_t bytes = tessi_type_info(d->head.type)->bytes;
    if (d->head.type != TYPE_U8 && d->head.type != TYPE_U16)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                           "colours of 8 and 16 bits are converted, and its elements are %s",
                           tessi_type_info(d->head.type)->name);
    if (memcmp(d->meta.icc.at + 16, space_of(d, colours), 4) != 0)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "its colour profile is one of another kind of picture");
    cmsHPROFILE from = cmsOpenProfileFromMem(d->meta.icc.at, (cmsUInt32Number)d->meta.icc.n);
    cmsHPROFILE to = colours == 1 ? grey_profile() : cmsCreate_sRGBProfile();
    const cmsUInt32Number common = BYTES_SH((cmsUInt32Number)bytes) | EXTRA_SH(alpha ? 1u : 0u);
    const cmsUInt32Number in = common | CHANNELS_SH((cmsUInt32Number)colours)
                               | FLAVOR_SH(d->head.space == SPACE_CMYK_REVERSED ? 1u : 0u);
    const cmsUInt32Number out = common | CHANNELS_SH(colours == 1 ? 1u : 3u);
    if (from && to)
        d->colours = cmsCreateTransform(from, in, to, out, INTENT_RELATIVE_COLORIMETRIC,
                                        cmsFLAGS_COPY_ALPHA | cmsFLAGS_BLACKPOINTCOMPENSATION
                                            | cmsFLAGS_NOCACHE);
    const bool ok = d->colours && replace_profile(&d->meta, to), known = from != NULL;
    if (from)
        cmsCloseProfile(from);
    if (to)
        cmsCloseProfile(to);
    if (ok)
        return true;
    return d->meta.icc.failed || (known && !to)
               ? no_memory(f)
               : tessi_failf(f, TESS_ERROR_FILE, "its colour profile cannot be used");
}

void tessi_colours_row(const ImageDecode *d, const void *from, void *to, size_t n)
{
    cmsDoTransform(d->colours, from, to, (cmsUInt32Number)n);
}

void tessi_colours_end(ImageDecode *d)
{
    if (d->colours)
        cmsDeleteTransform(d->colours);
    d->colours = NULL;
}

#endif
