/* The table of image formats; reading by content, writing by suffix. */
#include "rt/file.h"
#include "rt/image.h"
#include "rt/image_codec.h"
#include "rt/video.h"
#include "tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_SHOWN = 160, LONGEST_SIGNATURE = 8, TEXT_BEGIN = 512 };

/* Every type, but not pixels of several. */
#define ALL "b i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64"

const ImageFormat tessi_image_formats[] = {
    { "NPY", ".npy", "", "", "", true, false, "", 0, tessi_encode_npy, true, true },
    { "raw", ".raw .bin", "", "", "", true, false, "", 0, tessi_encode_raw, true, true },
    { "PNG", ".png", "u8 u16", "1234", "1 8 16", false, false, "icc exif xmp resolution", 0,
      tessi_encode_png, true, false },
    { "JPEG", ".jpg .jpeg", "u8", "13", "8", false, false, "icc exif xmp resolution", 65000,
      tessi_encode_jpeg, true, false },
    { "TIFF", ".tif .tiff", "", "*", "1 8 16", true, true, "icc exif xmp resolution tags", 0,
      tessi_encode_tiff, true, true },
    { "WebP", ".webp", "u8", "134", "8", false, false, "icc exif xmp", 0, tessi_encode_webp, false,
      false },
    { "JXL", ".jxl", "u8 u16 f32", "1234", "8 16", false, false, "icc exif xmp", 0,
      tessi_encode_jxl, false, false },
    { "PBM", ".pbm", "b", "1", "1", false, false, "", 0, tessi_encode_pbm, true, true },
    { "PGM", ".pgm", "u8 u16", "1", "8 16", false, false, "", 0, tessi_encode_pnm, true, true },
    { "PPM", ".ppm", "u8 u16", "3", "8 16", false, false, "", 0, tessi_encode_pnm, true, true },
    { "PNM", ".pnm", "u8 u16", "13", "8 16", false, false, "", 0, tessi_encode_pnm, true, true },
    { "PAM", ".pam", "u8 u16", "*", "8 16", false, false, "", 0, tessi_encode_pam, true, true },
    { "PFM", ".pfm", "f32", "13", "", false, false, "", 0, tessi_encode_pfm, false, false },
    { "CSV", ".csv", ALL, "", "", false, false, "", 0, tessi_encode_csv, false, false },
    { "TXT", ".txt", ALL, "", "", false, false, "", 0, tessi_encode_txt, false, false },
};
const size_t tessi_image_n_formats = sizeof tessi_image_formats / sizeof *tessi_image_formats;

static const char a_video[] = "video (y4m)";
/* What files begin with. A format without decoder is one we can only name. */
static const struct {
    const char *magic;
    size_t n;
    const char *name;
    ImageDecoder decode;
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
    { "P7", 2, "PAM", tessi_decode_pnm },
    { "PF", 2, "PFM", tessi_decode_pfm },
    { "Pf", 2, "PFM", tessi_decode_pfm },
    { "GIF8", 4, "GIF", NULL },
    { "YUV4MPEG", 8, a_video, NULL },
    { "\xff\x0a", 2, "JXL", tessi_decode_jxl },
    { "\0\0\0\x0cJXL ", 8, "JXL", tessi_decode_jxl },
    { "BM", 2, "BMP", NULL },
    { "\0\0\0\x0cjP  ", 8, "JPEG 2000", NULL },
    { "v/1\x01", 4, "OpenEXR", NULL },
    { "PK\x03\x04", 4, "ZIP (NPZ)", NULL },
};
static const char readable[] =
    "PNG, JPEG, TIFF, WebP, JPEG XL, PGM, PPM, PAM, PFM, NPY or text of numbers";

/* What becomes of elements of type t in a word or two, of which docs/files.md and the help tell the meaning. */
static const char *becomes(const ImageFormat *format, ScalarType t)
{
    const RtStore as_usual = { .depth = 0 };
    ConversionKind how;
    const ScalarType to = tessi_format_type(format, t, &as_usual, &how);
    if (to == N_TYPES)
        return "-";
    if (how == CONVERT_KEEP)
        return to == t ? "same" : "float";
    if (how == CONVERT_SHOW)
        return "0 255";
    return to == TYPE_U16 ? "16 sat" : tessi_is_real(t) ? "8 rnd" : "8 sat";
}

bool tessi_image_format_facts(size_t i, RtFormatFacts *facts)
{
    if (i >= tessi_image_n_formats)
        return false;
    const ImageFormat *format = &tessi_image_formats[i];
    *facts = (RtFormatFacts){ .name = format->name,
                              .suffixes = format->suffixes,
                              .channels = format->channels,
                              .depths = format->depths,
                              .keeps = format->keeps,
                              .stacks = format->stacks,
                              .any_shape = !*format->channels };
    for (int t = 0; t < TYPE_INDEX; t++)
        facts->stores[t] = becomes(format, (ScalarType)t);
    return true;
}

/* Puts "cannot read 'path': " before the sentence of a codec. */
static bool fail_on(Failure *f, const char *what, const char *path)
{
    if (!f)
        return false;
    Failure inner = *f;
    return tessi_failf(f, inner.status, "cannot %s '%.*s': %.*s", what, PATH_SHOWN, path,
                       (int)sizeof f->text - PATH_SHOWN - 24, inner.text);
}

/* Turns the picture upright where that is wanted. */
static bool settle_meta(ImageDecode *d, Failure *f)
{
    RtMeta *m = &d->meta;
    const int last = d->image->ndim - (d->image->channels > 1);
    tessi_meta_find_doubts(m);
    if (tessi_meta_failed(m))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!d->want->turn || last < 2)
        return true;
    if (d->turns_differ)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "its pages have different orientations; one of them can be read, or all as they are "
            "stored");
    if (m->orientation <= 1)
        return true;
    const int64_t height = d->image->shape[last - 2], width = d->image->shape[last - 1];
    if (!tessi_image_turn(d->image, m->orientation, f))
        return false;
    tessi_meta_turned(m, height, width);
    return !tessi_meta_failed(m) || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

/* What may stand behind the pixels of rows that have been given away. */
static bool settle_stream(const ImageDecode *d, Failure *f)
{
    if (tessi_meta_failed(&d->meta))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return !d->want->turn || (d->meta.orientation <= 1 && !d->turns_differ)
           || tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                          "behind its pixels stands that they are stored turned or mirrored, and "
                          "its rows were read one by one; --no-orient reads it as it is stored");
}

/* Runs the decoder; the image is empty after a failure. */
static bool run_decoder(ImageDecoder decoder, RtInput *in, RtRequest *want, RtImage *image,
                        Failure *f)
{
    ImageDecode d = { .in = in, .want = want, .image = image };
    bool ok = decoder(&d, f);
    free(d.rows);
    free(d.between);
    free(d.passed);
    tessi_colours_end(&d);
    ok = ok && (want->taker ? settle_stream(&d, f) : settle_meta(&d, f));
    if (!want->turn && d.turns_differ) /* the first page's is not that of the others */
        d.meta.orientation = 0;
    if (!ok)
        tessi_image_dispose(image);
    if (ok && want->meta)
        *want->meta = d.meta;
    else
        tessi_meta_dispose(&d.meta);
    return ok;
}

static bool decode(RtInput *in, RtRequest *want, RtImage *image, Failure *f)
{
    const uint8_t *bytes;
    *image = (RtImage){ 0 };
    if (want->meta)
        *want->meta = (RtMeta){ 0 };
    want->pages_found = want->channels_found = 0;
    want->format_found = "";
    want->packed_found[0] = 0;
    const size_t n = tessi_input_peek(in, LONGEST_SIGNATURE, &bytes);
    if (n == 0 && !in->error)
        return tessi_failf(f, TESS_ERROR_FILE, "it is empty");
    if (tessi_input_peek(in, 12, &bytes) == 12 && memcmp(bytes, "RIFF", 4) == 0
        && memcmp(bytes + 8, "WEBP", 4) == 0) {
        want->format_found = "WebP";
        return run_decoder(tessi_decode_webp, in, want, image, f);
    }
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (n < signatures[i].n || memcmp(bytes, signatures[i].magic, signatures[i].n) != 0)
            continue;
        want->format_found = signatures[i].name;
        if (signatures[i].name == a_video && want->video)
            return tessi_video_facts(in, want->video, f);
        if (!signatures[i].decode)
            return tessi_failf(f, TESS_ERROR_UNSUPPORTED,
                               "it is a %s file; images are read from %s", signatures[i].name,
                               readable);
        return run_decoder(signatures[i].decode, in, want, image, f);
    }
    const size_t more = tessi_input_peek(in, TEXT_BEGIN, &bytes);
    if (!tessi_is_text_of_numbers(bytes, more))
        return tessi_failf(f, TESS_ERROR_FILE, "it is not %s", readable);
    want->format_found = "text";
    return run_decoder(tessi_decode_text, in, want, image, f);
}

bool tessi_image_decode(const uint8_t *bytes, size_t n, RtRequest *want, RtImage *image, Failure *f)
{
    RtInput in;
    tessi_input_memory(bytes, n, &in);
    return decode(&in, want, image, f);
}

const char *tessi_image_file(const char *name)
{
    const char *file = tessi_image_is_raw(name)    ? tessi_raw_file(name)
                       : tessi_image_is_gdal(name) ? tessi_gdal_file(name)
                                                   : name;
    return file ? file : name;
}

/* By the decoder that the name asks for, whatever is in the file. */
static bool read_named(const char *name, ImageDecoder decoder, const char *format, RtInput *in,
                       RtRequest *want, RtImage *image, Failure *f)
{
    want->named = name;
    want->format_found = format;
    want->packed_found[0] = 0;
    return run_decoder(decoder, in, want, image, f);
}

/* GDAL opens what it knows by itself, folders too. */
static bool read_by_gdal(const char *name, RtRequest *want, RtImage *image, Failure *f)
{
    RtInput none;
    tessi_input_memory(NULL, 0, &none);
    return read_named(name, tessi_decode_gdal, "GDAL", &none, want, image, f)
           || fail_on(f, "read", name);
}

bool tessi_image_read(const char *path, RtRequest *want, RtImage *image, Failure *f)
{
    const bool raw = tessi_image_is_raw(path);
    *image = (RtImage){ 0 };
    if (want->meta)
        *want->meta = (RtMeta){ 0 };
    want->pages_found = want->channels_found = 0;
    if (tessi_image_is_gdal(path))
        return read_by_gdal(tessi_gdal_file(path), want, image, f);
    if (raw && !tessi_raw_file(path))
        return tessi_raw_fail_name(path, f);
    RtInput in;
    Failure why = { 0 };
    if (!tessi_input_open(tessi_image_file(path), &in, &why)) {
        if (tessi_gdal_has_suffix(path) && tessi_dir_exists(path))
            return read_by_gdal(path, want, image, f);
        if (f)
            *f = why;
        return false;
    }
    bool ok = raw ? read_named(path, tessi_decode_raw, "raw", &in, want, image, &why)
                  : decode(&in, want, image, &why);
    const ImageFormat *format = tessi_image_format_of(path);
    if (!ok && !in.error && !raw && !*want->format_found && format && !format->types[0]
        && format->encode == tessi_encode_raw) {
        tessi_input_close(&in);
        return tessi_raw_fail_name(path, f);
    }
    const bool unknown = !ok && !in.error && !raw && tessi_gdal_has_suffix(path);
    if (unknown && (!*want->format_found || why.status == TESS_ERROR_UNSUPPORTED)) {
        tessi_input_close(&in);
        return read_by_gdal(path, want, image, f);
    }
    if (in.error) {
        tessi_image_dispose(image);
        if (want->meta)
            tessi_meta_dispose(want->meta);
        ok = tessi_failf(&why, TESS_ERROR_FILE, "%s", strerror(in.error));
    }
    tessi_input_close(&in);
    if (ok)
        return true;
    if (f)
        *f = why;
    return fail_on(f, "read", tessi_streq(path, "-") ? "standard input" : path);
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

/* The first suffix of each format. */
static void list_suffixes(char *text, size_t size)
{
    text[0] = 0;
    for (size_t i = 0; i < tessi_image_n_formats; i++) {
        const char *s = tessi_image_formats[i].suffixes;
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%.*s", i ? " " : "", (int)strcspn(s, " "), s);
    }
}

static bool fail_suffix(const char *path, Failure *f)
{
    char known[200];
    list_suffixes(known, sizeof known);
    return tessi_failf(
        f, TESS_ERROR_ARGUMENT,
        "cannot write '%.*s': the suffix decides the format, and '%.16s' is none of %s", PATH_SHOWN,
        path, tessi_path_suffix(path), known);
}

/* What goes to standard output is decided by the image. */
bool tessi_image_can_write(const char *path, const RtStore *store, Failure *f)
{
    const ImageFormat *format = tessi_image_format_of(path);
    if (tessi_streq(path, "-"))
        return true;
    if (!format)
        return fail_suffix(path, f);
    return tessi_format_can_store(format, store, f) || fail_on(f, "write", path);
}

/* For a pipe: a picture where it holds every bit or its depth is asked for, else NPY. */
static const ImageFormat *format_for_stdout(const RtView *v, const RtStore *store)
{
    if (store->text)
        return tessi_image_format_of("-.txt");
    if (v->record)
        return tessi_image_format_of("-.npy");
    const bool stored = v->dtype == TYPE_U8 || v->dtype == TYPE_U16 || store->depth || store->scale;
    const bool grey = v->ndim == 2 && v->picture_dims != 1;
    const bool colour = v->ndim == 3 && v->picture_dims != 3 && v->shape[2] == 3;
    return tessi_image_format_of(stored && (grey || colour) ? "-.pnm" : "-.npy");
}

static const ImageFormat *format_for(const char *path, const RtView *image, const RtStore *store)
{
    return tessi_streq(path, "-") ? format_for_stdout(image, store) : tessi_image_format_of(path);
}

/* Forgets what an earlier call filled in. */
static void begin_store(RtStore *store)
{
    *store = (RtStore){ .depth = store->depth,
                        .scale = store->scale,
                        .strict = store->strict,
                        .text = store->text,
                        .layout = store->layout,
                        .meta = store->meta,
                        .provenance = store->provenance,
                        .resumes = store->resumes,
                        .rows_there = store->rows_there,
                        .share = store->share };
}

const ImageFormat *tessi_image_begin_store(const char *path, const RtView *image, RtStore *store,
                                           Failure *f)
{
    const ImageFormat *format = format_for(path, image, store);
    begin_store(store);
    if (!format)
        fail_suffix(path, f);
    return format;
}

bool tessi_image_encode_rows(const char *path, const ImageFormat *format, ImageRows *rows,
                             RtStore *store, RtOutput *out, Failure *f)
{
    RtMeta stored = { 0 };
    if (store->meta) {
        if (!tessi_meta_for_file(store->meta, format, rows, &stored, store->left_out,
                                 sizeof store->left_out))
            return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        rows->meta = &stored;
    }
    rows->provenance = store->provenance;
    rows->layout = store->layout;
    rows->ome = strstr(path, ".ome.tif") != NULL && format->stacks;
    const bool ok = format->encode(rows, out, f);
    rows->meta = NULL;
    tessi_meta_dispose(&stored);
    return ok;
}

bool tessi_image_write(const char *path, const RtView *image, RtStore *store, Failure *f)
{
    const char *shown = tessi_streq(path, "-") ? "standard output" : path;
    const ImageFormat *format = tessi_image_begin_store(path, image, store, f);
    if (!format)
        return false;
    ImageRows rows = { 0 };
    if (!tessi_rows_begin(image, format, store, &rows, f))
        return fail_on(f, "write", shown);
    RtOutput out;
    Failure why = { 0 };
    if (!tessi_output_open(path, format->seeks, &out, f)) {
        tessi_rows_end(&rows);
        return false;
    }
    bool ok = tessi_image_encode_rows(path, format, &rows, store, &out, &why);
    tessi_rows_end(&rows);
    const bool said = !ok && !out.error; /* by the encoder; else the write failed, and says why */
    ok = tessi_output_close(path, &out, ok, f);
    if (said && f) {
        *f = why;
        fail_on(f, "write", shown);
    }
    return ok;
}

bool tessi_image_encode(const char *path, const RtView *image, RtStore *store, RtBytes *bytes,
                        Failure *f)
{
    const ImageFormat *format = tessi_image_begin_store(path, image, store, f);
    if (!format)
        return false;
    ImageRows rows = { 0 };
    if (!tessi_rows_begin(image, format, store, &rows, f))
        return false;
    RtOutput out;
    tessi_output_memory(bytes, &out);
    const bool ok = tessi_image_encode_rows(path, format, &rows, store, &out, f);
    tessi_rows_end(&rows);
    return out.error ? tessi_failf(f, TESS_ERROR_MEMORY, "out of memory") : ok;
}
