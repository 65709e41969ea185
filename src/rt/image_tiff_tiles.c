/* How pages of TIFF are laid out in files: strips or tiles, compressed or as they are. */
#ifdef HAVE_TIFF
#include <tiffio.h>
/* As in image_tiff.c. */
#if TIFFLIB_VERSION < 20221213
#undef HAVE_TIFF
#endif
#endif

#ifdef HAVE_TIFF

#include "rt/image_tiff.h"
#include "tessera.h"

#include <stdlib.h>
#include <string.h>

enum { STRIP = 1 << 18 }; /* bytes of a strip that is written, which readers hold at a time */

void tessi_tiff_pack(const uint8_t *from, size_t n, uint8_t *to)
{
    memset(to, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        to[i / 8] = (uint8_t)(to[i / 8] | (from[i] != 0) << (7 - i % 8));
}

static uint16_t code_of(RtCompression c)
{
    switch (c) {
    case RT_COMPRESS_LZW: return COMPRESSION_LZW;
    case RT_COMPRESS_DEFLATE: return COMPRESSION_ADOBE_DEFLATE;
    case RT_COMPRESS_ZSTD: return COMPRESSION_ZSTD;
    case RT_COMPRESS_NONE: break;
    }
    return COMPRESSION_NONE;
}

/* Differences between neighbours, which compress better. */
static uint16_t predictor_of(const ImageRows *r)
{
    const int bytes = tessi_type_info(r->type)->bytes;
    if (r->type == TYPE_BOOL || r->layout.compress == RT_COMPRESS_NONE)
        return PREDICTOR_NONE;
    return tessi_is_real(r->type) ? PREDICTOR_FLOATINGPOINT
           : bytes <= 4           ? PREDICTOR_HORIZONTAL
                                  : PREDICTOR_NONE;
}

bool tessi_tiff_can_compress(const ImageRows *r, Failure *f)
{
    return TIFFIsCODECConfigured(code_of(r->layout.compress))
           || tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                          "the libtiff of this build does not have that compression");
}

bool tessi_tiff_set_layout(TIFF *tiff, const ImageRows *r, size_t row)
{
    const int64_t rows = row < STRIP ? (int64_t)(STRIP / row) : 1;
    const uint32_t tile = (uint32_t)r->layout.tile;
    const uint16_t predictor = predictor_of(r);
    bool ok = TIFFSetField(tiff, TIFFTAG_COMPRESSION, code_of(r->layout.compress));
    if (ok && predictor != PREDICTOR_NONE)
        ok = TIFFSetField(tiff, TIFFTAG_PREDICTOR, predictor);
    if (ok && tile)
        return TIFFSetField(tiff, TIFFTAG_TILEWIDTH, tile)
               && TIFFSetField(tiff, TIFFTAG_TILELENGTH, tile);
    return ok
           && TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP,
                           (uint32_t)(rows < r->height ? rows : r->height));
}

/* A band of rows as tiles; behind the edges of the picture they are zero. */
static bool write_band(TIFF *tiff, const ImageRows *r, const uint8_t *band, int64_t y, int64_t rows,
                       uint8_t *tile)
{
    const int64_t side = r->layout.tile;
    const size_t pixel = tessi_type_info(r->type)->bytes * (size_t)r->channels;
    const size_t tile_row = (size_t)TIFFTileRowSize(tiff);
    for (int64_t x = 0; x < r->width; x += side) {
        const size_t n = (size_t)(r->width - x < side ? r->width - x : side);
        memset(tile, 0, (size_t)side * tile_row);
        for (int64_t k = 0; k < rows; k++) {
            const uint8_t *from = band + (size_t)k * r->row_bytes + (size_t)x * pixel;
            if (r->type == TYPE_BOOL)
                tessi_tiff_pack(from, n * (size_t)r->channels, tile + (size_t)k * tile_row);
            else
                memcpy(tile + (size_t)k * tile_row, from, n * pixel);
        }
        if (TIFFWriteTile(tiff, tile, (uint32_t)x, (uint32_t)y, 0, 0) < 0)
            return false;
    }
    return true;
}

bool tessi_tiff_write_tiles(TIFF *tiff, ImageRows *r, int64_t page, TiffPyramid *pyramid,
                            RtOutput *out)
{
    const int64_t side = r->layout.tile;
    const size_t rows = (size_t)(side < r->height ? side : r->height);
    size_t bytes;
    uint8_t *band = tessi_mul_size(rows, r->row_bytes, &bytes) ? malloc(bytes) : NULL;
    uint8_t *tile = malloc((size_t)TIFFTileSize(tiff));
    bool ok = band && tile;
    for (int64_t y = 0; ok && y < r->height; y += side) {
        const int64_t n = r->height - y < side ? r->height - y : side;
        for (int64_t k = 0; ok && k < n; k++) {
            const void *row = tessi_rows_get(r, page * r->height + y + k);
            ok = row && tessi_tiff_pyramid_add(pyramid, row, out);
            if (ok)
                memcpy(band + (size_t)k * r->row_bytes, row, r->row_bytes);
        }
        ok = ok && write_band(tiff, r, band, y, n, tile);
    }
    free(band);
    free(tile);
    return ok;
}

#else

typedef int tessi_without_libtiff; /* ISO C forbids empty files */

#endif
