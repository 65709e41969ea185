/* The table of image formats; reading by content, writing by suffix. */
#include "rt/file.h"
#include "rt/image.h"
#include "rt/image_codec.h"
#include "tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_SHOWN = 160 };

const ImageFormat tessi_image_formats[] = {
    { "NPY", ".npy", "", "", tessi_encode_npy },
    { "PNG", ".png", "u8 u16", "1234", tessi_encode_png },
    { "JPEG", ".jpg .jpeg", "u8", "13", tessi_encode_jpeg },
    { "TIFF", ".tif .tiff", "u8 u16 f32", "1234", tessi_encode_tiff },
    { "PGM", ".pgm", "u8 u16", "1", tessi_encode_pnm },
    { "PPM", ".ppm", "u8 u16", "3", tessi_encode_pnm },
    { "PNM", ".pnm", "u8 u16", "13", tessi_encode_pnm },
    { "PAM", ".pam", "u8 u16", "*", tessi_encode_pam },
    { "PFM", ".pfm", "f32", "13", tessi_encode_pfm },
};
const size_t tessi_image_n_formats = sizeof tessi_image_formats / sizeof *tessi_image_formats;

/* What files begin with. A format without decoder is one we can only name. */
static const struct {
    const char *magic;
    size_t n;
    const char *name;
    ImageDecode decode;
} signatures[] = {
    { "\x93NUMPY", 6, "NPY", tessi_decode_npy },
    { "\x89PNG\r\n\x1a\n", 8, "PNG", tessi_decode_png },
    { "\xff\xd8\xff", 3, "JPEG", tessi_decode_jpeg },
    { "II*\0", 4, "TIFF", tessi_decode_tiff },
    { "MM\0*", 4, "TIFF", tessi_decode_tiff },
    { "II+\0", 4, "TIFF", tessi_decode_tiff },
    { "MM\0+", 4, "TIFF", tessi_decode_tiff },
    { "P1", 2, "PBM", tessi_decode_pnm },
    { "P2", 2, "PGM", tessi_decode_pnm },
    { "P3", 2, "PPM", tessi_decode_pnm },
    { "P4", 2, "PBM", tessi_decode_pnm },
    { "P5", 2, "PGM", tessi_decode_pnm },
    { "P6", 2, "PPM", tessi_decode_pnm },
    { "P7", 2, "PAM", tessi_decode_pam },
    { "PF", 2, "PFM", tessi_decode_pfm },
    { "Pf", 2, "PFM", tessi_decode_pfm },
    { "GIF8", 4, "GIF", NULL },
    { "RIFF", 4, "RIFF (WebP)", NULL },
    { "BM", 2, "BMP", NULL },
    { "\0\0\0\x0cjP  ", 8, "JPEG 2000", NULL },
    { "v/1\x01", 4, "OpenEXR", NULL },
    { "PK\x03\x04", 4, "ZIP (NPZ)", NULL },
};
static const char readable[] = "PNG, JPEG, TIFF, PGM, PPM, PAM, PFM or NPY";

/* Puts "cannot read 'path': " before the sentence of a codec. */
static bool fail_on(Failure *f, const char *what, const char *path)
{
    if (!f)
        return false;
    Failure inner = *f;
    return tessi_failf(f, inner.status, "cannot %s '%.*s': %.*s", what, PATH_SHOWN, path,
                       (int)sizeof f->text - PATH_SHOWN - 24, inner.text);
}

bool tessi_image_decode(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    return tessi_image_decode_as(bytes, n, NULL, image, f);
}

bool tessi_image_decode_as(const uint8_t *bytes, size_t n, const RtRecord *want, RtImage *image,
                           Failure *f)
{
    *image = (RtImage){ 0 };
    if (n == 0)
        return tessi_failf(f, TESS_ERROR_FILE, "it is empty");
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (n < signatures[i].n || memcmp(bytes, signatures[i].magic, signatures[i].n) != 0)
            continue;
        if (signatures[i].decode == tessi_decode_npy)
            return tessi_decode_npy_as(bytes, n, want, image, f);
        if (signatures[i].decode)
            return signatures[i].decode(bytes, n, image, f);
        return tessi_failf(f, TESS_ERROR_UNSUPPORTED, "it is a %s file; images are read from %s",
                           signatures[i].name, readable);
    }
    return tessi_failf(f, TESS_ERROR_FILE, "it is not %s", readable);
}

bool tessi_image_read(const char *path, RtImage *image, Failure *f)
{
    return tessi_image_read_as(path, NULL, image, f);
}

bool tessi_image_read_as(const char *path, const RtRecord *want, RtImage *image, Failure *f)
{
    *image = (RtImage){ 0 };
    uint8_t *bytes;
    size_t n;
    if (!tessi_file_read(path, 0, &bytes, &n, f))
        return false;
    bool ok = tessi_image_decode_as(bytes, n, want, image, f);
    free(bytes);
    return ok ? true : fail_on(f, "read", tessi_streq(path, "-") ? "standard input" : path);
}

const ImageFormat *tessi_image_format_of(const char *path)
{
    const char *suffix = tessi_path_suffix(path);
    size_t n = strlen(suffix);
    for (size_t i = 0; n > 1 && i < tessi_image_n_formats; i++)
        for (const char *s = tessi_image_formats[i].suffixes; *s;) {
            size_t length = strcspn(s, " ");
            if (length == n && strncasecmp(s, suffix, n) == 0)
                return &tessi_image_formats[i];
            s += length + strspn(s + length, " ");
        }
    return NULL;
}

bool tessi_image_can_write(const char *path, Failure *f)
{
    if (tessi_streq(path, "-") || tessi_image_format_of(path))
        return true;
    return tessi_failf(
        f, TESS_ERROR_ARGUMENT,
        "cannot write '%.*s': the suffix decides the format, and '%.16s' is none of .png "
        ".jpg .tif .pgm .ppm .pam .pfm .npy",
        PATH_SHOWN, path, tessi_path_suffix(path));
}

/* For a pipe: a picture where it holds every bit, else NPY. */
static const ImageFormat *format_for_stdout(const RtImage *image)
{
    bool stored = image->dtype == TYPE_U8 || image->dtype == TYPE_U16;
    bool grey = image->ndim == 2 && image->channels <= 1;
    bool colour = image->ndim == 3 && image->channels != 1 && image->shape[2] == 3;
    return tessi_image_format_of(stored && (grey || colour) ? "-.pnm" : "-.npy");
}

/* What an encoder made. */
static bool write_bytes(const char *path, const RtBytes *bytes, Failure *f)
{
    if (!bytes->failed)
        return tessi_file_write(path, bytes->at, bytes->n, f);
    tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return fail_on(f, "write", tessi_streq(path, "-") ? "standard output" : path);
}

bool tessi_image_write(const char *path, const RtImage *image, int64_t *n_saturated, Failure *f)
{
    if (n_saturated)
        *n_saturated = 0;
    bool is_stdout = tessi_streq(path, "-");
    const char *shown = is_stdout ? "standard output" : path;
    if (!tessi_image_can_write(path, f))
        return false;
    const ImageFormat *format = is_stdout ? format_for_stdout(image) : tessi_image_format_of(path);

    RtImage stored;
    int64_t saturated;
    if (!tessi_image_for_format(image, format, &stored, &saturated, f))
        return fail_on(f, "write", shown);
    RtBytes bytes = { 0 };
    bool ok = format->encode(&stored, &bytes, f) || fail_on(f, "write", shown);
    if (stored.data != image->data)
        tessi_image_dispose(&stored);
    ok = ok && write_bytes(path, &bytes, f);
    tessi_bytes_dispose(&bytes);
    if (ok && n_saturated)
        *n_saturated = saturated;
    return ok;
}

bool tessi_image_write_records(const char *path, const RtImage *image, const RtRecord *record,
                               Failure *f)
{
    if (!tessi_image_can_write(path, f))
        return false;
    const ImageFormat *format = tessi_image_format_of(path);
    if (format && format->encode != tessi_encode_npy) {
        tessi_failf(f, TESS_ERROR_ARGUMENT,
                    "%s does not hold pixels whose fields have several types; NPY holds them",
                    format->name);
        return fail_on(f, "write", path);
    }
    RtBytes bytes = { 0 };
    const bool ok = tessi_encode_npy_records(image, record, &bytes) && write_bytes(path, &bytes, f);
    tessi_bytes_dispose(&bytes);
    return ok;
}
