/* Whatever GDAL opens, through its C interface, which is opened when a file asks for it: gdal:FILE, or a file whose
 * suffix is one of GDAL's and whose contents are none of ours. Rows are read as they are wanted. Where the picture lies
 * on earth, its projection and its value for no data become the tags that GeoTIFF has for them. */
#include "rt/image_codec.h"
#include "rt/library.h"
#include "tessera.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct Gdal {
#define F(result, name, arguments) result(*name) arguments;
#include "rt/gdal.def"
#undef F
} Gdal;

static const char prefix[] = "gdal:";

bool tessi_image_is_gdal(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

const char *tessi_gdal_file(const char *name)
{
    return name + sizeof prefix - 1;
}

bool tessi_gdal_has_suffix(const char *path)
{
    static const char *const suffixes[] = { ".vrt", ".img",  ".nc",     ".nc4",  ".h5",   ".hdf5",
                                            ".hdf", ".he5",  ".grb",    ".grib", ".grb2", ".asc",
                                            ".jp2", ".j2k",  ".zarr",   ".dem",  ".bil",  ".bip",
                                            ".bsq", ".hgt",  ".kea",    ".gif",  ".bmp",  ".exr",
                                            ".ntf", ".pix",  ".ers",    ".ecw",  ".sid",  ".dt2",
                                            ".rst", ".gpkg", ".mbtiles" };
    const char *suffix = tessi_path_suffix(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(suffix, suffixes[i]) == 0)
            return true;
    return false;
}

/* ---- The library ----------------------------------------------------------------------------- */
static bool load(Gdal *lib, Failure *f)
{
    /* What their C interface has here has not changed since the first of these. */
    static const char *const names[] = { "libgdal.so.32", "libgdal.so.36", "libgdal.so.38",
                                         "libgdal.so.37", "libgdal.so.35", "libgdal.so.34",
                                         "libgdal.so.33", "libgdal.so.31", "libgdal.so.30",
                                         "libgdal.so.28", "libgdal.so",    NULL };
    static const RtSymbol symbols[] = {
#define F(result, name, arguments) { #name, offsetof(Gdal, name), false },
#include "rt/gdal.def"
#undef F
    };
    const char *missing;
    if (tessi_library_load(names, symbols, sizeof symbols / sizeof *symbols, lib, &missing))
        return true;
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       missing
                           ? "it is read by GDAL, and the libgdal here has no %s"
                           : "it is read by GDAL, and there is no libgdal here (Debian has it as "
                             "libgdal32 or libgdal36)%s",
                       missing ? missing : "");
}

/* GDAL's numbers of types; complex ones are none of ours. */
static const struct {
    int number;
    ScalarType type;
} types[] = { { 1, TYPE_U8 },   { 2, TYPE_U16 }, { 3, TYPE_I16 }, { 4, TYPE_U32 },
              { 5, TYPE_I32 },  { 6, TYPE_F32 }, { 7, TYPE_F64 }, { 12, TYPE_U64 },
              { 13, TYPE_I64 }, { 14, TYPE_I8 }, { 15, TYPE_F16 } };

/* An error goes to CPLGetLastErrorMsg, and not to standard error. */
static void keep_quiet(int severity, int number, const char *text)
{
    (void)severity, (void)number, (void)text;
}

static bool fail_gdal(const Gdal *lib, const char *what, Failure *f)
{
    const char *why = lib->CPLGetLastErrorMsg();
    return tessi_failf(f, TESS_ERROR_FILE, "GDAL cannot %s it%s%.300s", what, *why ? ": " : "",
                       why);
}

/* ---- What it is ------------------------------------------------------------------------------ */
typedef struct Raster {
    const Gdal *lib;
    void *set;
    int width, height, bands, number; /* number: of the type */
    ScalarType type;
    int *band; /* those of a row, from 1 on */
} Raster;

/* Files of several images name them. */
static bool fail_parts(const Raster *r, Failure *f)
{
    char **parts = r->lib->GDALGetMetadata(r->set, "SUBDATASETS");
    const char *name = parts && parts[0] ? strchr(parts[0], '=') : NULL;
    int n = 0;
    for (int i = 0; parts && parts[i]; i++)
        n += strstr(parts[i], "_NAME=") != NULL;
    if (!name)
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "it holds no raster");
    return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                       "it holds %d images; one is read as 'gdal:%.300s'", n, name + 1);
}

static bool look(Raster *r, Failure *f)
{
    const Gdal *lib = r->lib;
    r->bands = lib->GDALGetRasterCount(r->set);
    r->width = lib->GDALGetRasterXSize(r->set);
    r->height = lib->GDALGetRasterYSize(r->set);
    if (r->bands < 1 || r->width < 1 || r->height < 1)
        return fail_parts(r, f);
    r->type = N_TYPES;
    for (int b = 1; b <= r->bands; b++) {
        const int number = lib->GDALGetRasterDataType(lib->GDALGetRasterBand(r->set, b));
        if (b > 1 && number != r->number)
            return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                               "its bands have several types; --page takes one of them");
        r->number = number;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == r->number)
            r->type = types[i].type;
    return r->type != N_TYPES
           || tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                          "its elements are complex, or of a newer type");
}

/* ---- Where it lies --------------------------------------------------------------------------- */
/* A GeoTIFF of one pixel in memory that says the same; its tags are read as those of any. */
static void read_tags(const Raster *r, ImageDecode *d, const unsigned char *bytes, uint64_t n)
{
    RtMeta meta = { 0 };
    RtRequest want = tessi_request_as_stored();
    RtImage image;
    (void)r;
    want.meta = &meta;
    if (!tessi_image_decode(bytes, (size_t)n, &want, &image, NULL))
        return;
    for (size_t i = 0; i < meta.tags.n; i++)
        tessi_tag_add(&d->meta.tags, meta.tags.at[i].id, meta.tags.at[i].type, meta.tags.at[i].n,
                      meta.tags.at[i].data);
    tessi_meta_dispose(&meta);
    tessi_image_dispose(&image);
}

static void read_place(const Raster *r, ImageDecode *d)
{
    const Gdal *lib = r->lib;
    double place[6];
    char name[64];
    int has_nodata = 0;
    const bool placed = lib->GDALGetGeoTransform(r->set, place) == 0;
    const char *projection = lib->GDALGetProjectionRef(r->set);
    const double nodata =
        lib->GDALGetRasterNoDataValue(lib->GDALGetRasterBand(r->set, 1), &has_nodata);
    if (!placed && !(projection && *projection) && !has_nodata)
        return;
    snprintf(name, sizeof name, "/vsimem/tessera-%p.tif", (void *)d);
    void *driver = lib->GDALGetDriverByName("GTiff");
    void *made = driver ? lib->GDALCreate(driver, name, 1, 1, 1, r->number, NULL) : NULL;
    if (!made)
        return;
    if (placed)
        lib->GDALSetGeoTransform(made, place);
    if (projection && *projection)
        lib->GDALSetProjection(made, projection);
    if (has_nodata)
        lib->GDALSetRasterNoDataValue(lib->GDALGetRasterBand(made, 1), nodata);
    lib->GDALClose(made);
    uint64_t n = 0;
    const unsigned char *bytes = lib->VSIGetMemFileBuffer(name, &n, 0);
    if (bytes)
        read_tags(r, d, bytes, n);
    lib->VSIUnlink(name);
}

/* ---- Rows ------------------------------------------------------------------------------------ */
static bool read_rows(const Raster *r, ImageDecode *d, int channels, int64_t first_page, Failure *f)
{
    const int64_t element = tessi_type_info(r->type)->bytes;
    for (int64_t k = tessi_decode_first(d); k < d->n_rows; k++) {
        uint8_t *row = tessi_decode_row(d, k);
        int page = (int)(first_page + k / r->height) + 1;
        int *band = channels > 1 ? r->band : &page;
        if (r->lib->GDALDatasetRasterIOEx(
                r->set, 0, 0, (int)(k % r->height), r->width, 1, row, r->width, 1, r->number,
                channels, band, channels * element, channels * element * r->width, element, NULL)
            != 0)
            return fail_gdal(r->lib, "read", f);
        if (!tessi_decode_done(d, k, f))
            return false;
    }
    return true;
}

/* Bands are channels, or pages where the image has a dimension for them or one of them is asked for. */
static bool decode_raster(Raster *r, ImageDecode *d, Failure *f)
{
    const RtRequest *want = d->want;
    if (!look(r, f))
        return false;
    const bool pages =
        r->bands > 1
        && (want->page || want->ndim >= 3 || (r->bands > 4 && want->channels != r->bands));
    int64_t first = 0, n = 1;
    d->want->pages_found = 1;
    if (pages && !tessi_decode_pages(d, r->bands, &first, &n, f))
        return false;
    const int channels = pages ? 1 : r->bands;
    ImageHead head = tessi_head_of_picture(r->type, n, (uint64_t)r->height, (uint64_t)r->width,
                                           (uint64_t)channels);
    head.stacks = true;
    int block[2] = { 0, 0 };
    r->lib->GDALGetBlockSize(r->lib->GDALGetRasterBand(r->set, 1), &block[0], &block[1]);
    const uint64_t row = (uint64_t)r->width * (uint64_t)channels * tessi_type_info(r->type)->bytes;
    read_place(r, d);
    r->band = malloc((size_t)channels * sizeof *r->band);
    for (int b = 0; r->band && b < channels; b++)
        r->band[b] = b + 1;
    return r->band
               ? tessi_decode_begin(d, &head, 1, row * (uint64_t)(block[1] > 0 ? block[1] : 1), f)
                     && read_rows(r, d, channels, first, f)
               : tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

bool tessi_decode_gdal(ImageDecode *d, Failure *f)
{
    enum { RASTERS = 0x02, SAY_WHY = 0x40 };
    Gdal lib;
    if (!load(&lib, f))
        return false;
    Raster r = { .lib = &lib };
    lib.CPLPushErrorHandler(keep_quiet);
    lib.CPLErrorReset();
    if (lib.GDALGetDriverCount() == 0)
        lib.GDALAllRegister();
    r.set = lib.GDALOpenEx(d->want->named, RASTERS | SAY_WHY, NULL, NULL, NULL);
    const bool ok = r.set ? decode_raster(&r, d, f) : fail_gdal(&lib, "open", f);
    if (r.set)
        lib.GDALClose(r.set);
    free(r.band);
    lib.CPLPopErrorHandler();
    return ok;
}
