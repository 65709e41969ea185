/* rt/image_png, image_jpeg, image_tiff: round trips, damage of every kind, builds without the
 * libraries. Files that our own encoders do not write (palettes, tiles, ...) lie in
 * tests/data/images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "image_testing.h"
#include "rt/file.h"
#include "rt/image_codec.h"
#include "tessera.h"

static RtImage picture(ScalarType type, int64_t height, int64_t width, int channels)
{
    RtImage image;
    Failure f;
    const int64_t shape[3] = { height, width, channels };
    assert_true(tessi_image_alloc(&image, type, channels > 1 ? 3 : 2, shape, channels, &f));
    int64_t n = tessi_image_elements(&image);
    for (int64_t i = 0; i < n; i++) {
        Value v =
            tessi_is_real(type) ? tessi_value_real((double)i / 7) : tessi_value_int(i * 37 % 65536);
        v = tessi_is_real(type) ? tessi_eval_cast(type, TYPE_F64, v)
                                : tessi_eval_cast(type, TYPE_I64, v);
        tessi_store_element(type, (char *)image.data + i * tessi_type_info(type)->bytes, v);
    }
    return image;
}

/* Encodes; skips the test when this build has no library for the format. */
static RtBytes encode_or_skip(const char *suffix, const RtImage *image)
{
    RtBytes bytes = { 0 };
    Failure f = { 0 };
    if (!encode_image(suffix, image, &bytes, &f)) {
        if (f.status != TESS_ERROR_UNSUPPORTED)
            fail_msg("%s", f.text);
        assert_non_null(strstr(f.text, "it was made without lib"));
        skip();
    }
    assert_false(bytes.failed);
    return bytes;
}

static void round_trip(const char *suffix, ScalarType type, int64_t height, int64_t width,
                       int channels)
{
    RtImage image = picture(type, height, width, channels), back;
    RtBytes bytes = encode_or_skip(suffix, &image);
    Failure f = { 0 };
    if (!decode_image(bytes.at, bytes.n, &back, &f))
        fail_msg("%s of %d channels: %s", tessi_type_info(type)->name, channels, f.text);
    assert_int_equal(back.dtype, type);
    assert_int_equal(back.ndim, image.ndim);
    assert_int_equal(back.channels, channels);
    assert_memory_equal(back.shape, image.shape, sizeof image.shape);
    assert_memory_equal(back.data, image.data, image.bytes);
    tessi_bytes_dispose(&bytes);
    tessi_image_dispose(&back);
    tessi_image_dispose(&image);
}

static void test_png_round_trip(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 4; channels++) {
        round_trip(".png", TYPE_U8, 5, 7, channels);
        round_trip(".png", TYPE_U16, 5, 7, channels);
    }
    round_trip(".png", TYPE_U8, 1, 1, 1);
    round_trip(".png", TYPE_U16, 300, 1, 1);
}

static void test_tiff_round_trip(void **state)
{
    (void)state;
    for (int t = TYPE_I8; t < TYPE_INDEX; t++) {
        for (int channels = 1; channels <= 5; channels++)
            round_trip(".tif", (ScalarType)t, 5, 7, channels);
        round_trip(".tif", (ScalarType)t, 3, 2, 300);
        round_trip(".tif", (ScalarType)t, 1, 1, 1);
    }
    round_trip(".tif", TYPE_F32, 700, 300, 1); /* several strips */
    round_trip(".tif", TYPE_I64, 2, 70000, 1); /* rows longer than a strip */
}

static RtImage stack(ScalarType type, int ndim, const int64_t *shape, int channels)
{
    RtImage image;
    Failure f;
    assert_true(tessi_image_alloc(&image, type, ndim, shape, channels, &f));
    for (size_t i = 0; i < image.bytes; i++)
        ((uint8_t *)image.data)[i] = type == TYPE_BOOL ? i * 5 % 3 == 0 : (uint8_t)(i * 37 % 251);
    return image;
}

/* Bool becomes bits, and bits are read as black and white. */
static void test_tiff_bitmaps(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 5; channels += 2)
        for (int64_t width = 1; width <= 17; width++) {
            const int64_t shape[3] = { 3, width, channels };
            RtImage image = stack(TYPE_BOOL, channels > 1 ? 3 : 2, shape, channels), back;
            RtBytes bytes = encode_or_skip(".tif", &image);
            Failure f = { 0 };
            if (!decode_image(bytes.at, bytes.n, &back, &f))
                fail_msg("%s", f.text);
            assert_int_equal(back.dtype, TYPE_U8);
            assert_int_equal(back.channels, channels);
            for (size_t i = 0; i < image.bytes; i++)
                assert_int_equal(((uint8_t *)back.data)[i], ((uint8_t *)image.data)[i] ? 255 : 0);
            tessi_image_dispose(&back);
            RtRequest want = { .dtype = TYPE_BOOL };
            assert_true(tessi_image_decode(bytes.at, bytes.n, &want, &back, &f));
            assert_memory_equal(back.data, image.data, image.bytes);
            tessi_image_dispose(&back);
            tessi_bytes_dispose(&bytes);
            tessi_image_dispose(&image);
        }
}

static void test_tiff_pages(void **state)
{
    (void)state;
    const int64_t shape[4] = { 3, 4, 5, 2 };
    for (int t = TYPE_I8; t < TYPE_INDEX; t++)
        for (int channels = 1; channels <= 2; channels++) {
            RtImage image = stack((ScalarType)t, channels > 1 ? 4 : 3, shape, channels), back;
            RtBytes bytes = encode_or_skip(".tif", &image);
            Failure f = { 0 };
            if (!decode_image(bytes.at, bytes.n, &back, &f))
                fail_msg("%s", f.text);
            assert_int_equal(back.dtype, t);
            assert_int_equal(back.ndim, image.ndim);
            assert_memory_equal(back.shape, image.shape, sizeof image.shape);
            assert_memory_equal(back.data, image.data, image.bytes);
            tessi_image_dispose(&back);
            for (int page = 1; page <= 3; page++) {
                RtRequest want = { .dtype = N_TYPES, .ndim = 2, .page = page };
                assert_true(tessi_image_decode(bytes.at, bytes.n, &want, &back, &f));
                assert_int_equal(want.pages_found, 3);
                assert_memory_equal(back.data, (char *)image.data + (page - 1) * (int)back.bytes,
                                    back.bytes);
                tessi_image_dispose(&back);
            }
            RtRequest beyond = { .dtype = N_TYPES, .ndim = 2, .page = 4 },
                      flat = { .dtype = N_TYPES, .ndim = 2, .name = "a" };
            assert_false(tessi_image_decode(bytes.at, bytes.n, &beyond, &back, &f));
            assert_string_equal(f.text, "it is a stack of 3 pages; there is no page 4");
            assert_false(tessi_image_decode(bytes.at, bytes.n, &flat, &back, &f));
            assert_string_equal(f.text, "it is a stack of 3 pages, and 'a' has 2 dimensions");
            assert_int_equal(flat.pages_found, 3);
            tessi_bytes_dispose(&bytes);
            tessi_image_dispose(&image);
        }
    /* A stack of one page stays one for an image of three dimensions. */
    const int64_t one[3] = { 1, 4, 5 };
    RtImage image = stack(TYPE_I16, 3, one, 1), back;
    RtBytes bytes = encode_or_skip(".tif", &image);
    Failure f = { 0 };
    RtRequest want = { .dtype = N_TYPES, .ndim = 3, .channels = 1 };
    assert_true(tessi_image_decode(bytes.at, bytes.n, &want, &back, &f));
    assert_int_equal(back.ndim, 3);
    assert_memory_equal(back.shape, image.shape, sizeof image.shape);
    tessi_image_dispose(&back);
    tessi_image_dispose(&image);
    tessi_bytes_dispose(&bytes);
}

static void test_jpeg(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        const int64_t shape[3] = { 24, 33, channels };
        RtImage image, back;
        Failure f = { 0 };
        assert_true(tessi_image_alloc(&image, TYPE_U8, channels > 1 ? 3 : 2, shape, channels, &f));
        for (size_t i = 0; i < image.bytes; i++) /* smooth, as a photograph */
            ((uint8_t *)image.data)[i] =
                (uint8_t)(60 + 3 * (i / (size_t)channels % 33) + i / (size_t)channels / 33);
        RtBytes bytes = encode_or_skip(".jpg", &image);
        assert_true(decode_image(bytes.at, bytes.n, &back, &f));
        assert_int_equal(back.channels, channels);
        assert_memory_equal(back.shape, image.shape, sizeof image.shape);
        for (size_t i = 0; i < image.bytes; i++)
            assert_in_range(((uint8_t *)back.data)[i] - ((uint8_t *)image.data)[i] + 6, 0, 12);
        tessi_image_dispose(&back);
        tessi_image_dispose(&image);
        tessi_bytes_dispose(&bytes);
    }
}

static void test_jpeg_holds_8_bits_only(void **state)
{
    (void)state;
    RtImage image = picture(TYPE_U16, 2, 2, 1);
    RtBytes bytes = { 0 };
    Failure f = { 0 };
    assert_false(encode_image(".jpeg", &image, &bytes, &f));
    assert_non_null(strstr(f.text, "JPEG cannot hold uint16"));
    tessi_image_dispose(&image);
    image = picture(TYPE_U8, 2, 2, 4);
    assert_false(encode_image(".jpg", &image, &bytes, &f));
    assert_non_null(strstr(f.text, "4 channels"));
    assert_null(bytes.at);
    tessi_image_dispose(&image);
}

/* Cut anywhere, a file is refused; changed anywhere, it is refused or read, without harm. */
static void damage(const char *suffix, int64_t height, int64_t width, int channels, size_t may_miss)
{
    RtImage image = picture(TYPE_U8, height, width, channels), back;
    RtBytes bytes = encode_or_skip(suffix, &image);
    for (size_t cut = 0; cut < bytes.n; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, bytes.at, cut);
        Failure f = { 0 };
        bool ok = decode_image(part, cut, &back, &f);
        if (ok && cut + may_miss < bytes.n)
            fail_msg("the first %zu of %zu bytes were read", cut, bytes.n);
        assert_true(ok || (!back.data && f.status && *f.text));
        tessi_image_dispose(&back);
        free(part);
    }
    for (size_t at = 0; at < bytes.n; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes.at[at] ^= (uint8_t)(1 << bit);
            Failure f = { 0 };
            bool ok = decode_image(bytes.at, bytes.n, &back, &f);
            assert_true(ok || (!back.data && f.status && *f.text));
            tessi_image_dispose(&back);
            bytes.at[at] ^= (uint8_t)(1 << bit);
        }
    tessi_bytes_dispose(&bytes);
    tessi_image_dispose(&image);
}

static void test_damaged_png(void **state)
{
    (void)state;
    damage(".png", 6, 5, 3, 0);
}

static void test_damaged_jpeg(void **state)
{
    (void)state;
    damage(".jpg", 9, 17, 3, 2); /* the end marker carries no pixels */
}

static void test_damaged_tiff(void **state)
{
    (void)state;
    damage(".tif", 6, 5, 3, 0);
}

static void test_bombs(void **state)
{
    (void)state;
    RtImage image = picture(TYPE_U8, 1, 1, 1), back;
    RtBytes bytes = encode_or_skip(".tif", &image);
    /* The width follows its tag (256, type and count in 6 bytes more) in the little-endian
     * directory. */
    for (size_t i = 4; i + 12 <= bytes.n; i++)
        if (memcmp(bytes.at + i, "\0\1\3\0\1\0\0\0", 8) == 0) {
            bytes.at[i + 2] = 4; /* 32 bits */
            memcpy(bytes.at + i + 8, "\xff\xff\xff\x7f", 4);
        }
    Failure f = { 0 };
    assert_false(decode_image(bytes.at, bytes.n, &back, &f));
    if (!strstr(f.text, "claims 1 x 2147483647"))
        fail_msg("%s", f.text);
    tessi_bytes_dispose(&bytes);
    tessi_image_dispose(&image);
}

/* The same bits in strips, in tiles and as a fax; a picture of three planes in two forms. */
static void test_forms_agree(void **state)
{
    (void)state;
    static const char *const pairs[][2] = { { "fax4.tif", "bits_tiled.tif" },
                                            { "planar_strips.tif", "planar_lzw.tif" } };
    for (size_t i = 0; i < 2; i++) {
        RtImage image[2];
        bool ok = true;
        for (int k = 0; k < 2; k++) {
            char *path = tessi_path_join(TESSERA_SOURCE_DIR "/tests/data/images", pairs[i][k]);
            RtRequest want = { .dtype = TYPE_F32, .ndim = 2 };
            ok = tessi_image_read(path, &want, &image[k], NULL) && ok;
            free(path);
        }
        if (ok && memcmp(image[0].data, image[1].data, image[0].bytes) != 0)
            fail_msg("%s and %s differ", pairs[i][0], pairs[i][1]);
        for (size_t at = 0; ok && i == 0 && at < 60;
             at++) { /* bytes 0, 1, 2 and so on of 3 a row */
            const unsigned byte = (unsigned)(at / 20 * 3 + at % 20 / 8);
            const bool bit = byte >> (7 - at % 20 % 8) & 1;
            assert_true(((float *)image[0].data)[at] == (bit ? 255.0f : 0.0f));
        }
        tessi_image_dispose(&image[0]);
        tessi_image_dispose(&image[1]);
    }
}

static void test_animations(void **state)
{
    (void)state;
    char *path = tessi_path_join(TESSERA_SOURCE_DIR "/tests/fuzz/corpus/image", "animated.png");
    RtImage image;
    Failure f = { 0 };
    if (!read_image(path, &image, &f) && !strstr(f.text, "made without")) {
        assert_non_null(strstr(f.text, "animation of 2 pages"));
        RtRequest first = { .dtype = N_TYPES, .page = 1 }, second = { .dtype = N_TYPES, .page = 2 };
        assert_true(tessi_image_read(path, &first, &image, &f));
        assert_memory_equal(image.data, "ab", 2);
        tessi_image_dispose(&image);
        assert_false(tessi_image_read(path, &second, &image, &f));
    }
    free(path);
}

static void test_files_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        ScalarType type;
        int64_t height, width;
        int channels;
        double first, last; /* elements */
    } cases[] = {
        { "palette.png", TYPE_U8, 2, 3, 3, 10, 90 },
        { "palette_alpha.png", TYPE_U8, 2, 3, 4, 10, 255 },
        { "grey1.png", TYPE_U8, 2, 3, 1, 0, 255 },
        { "interlaced16.png", TYPE_U16, 9, 5, 1, 0, 44 * 1000 },
        { "progressive.jpg", TYPE_U8, 16, 16, 3, 128, 128 },
        { "tiled_planar.tif", TYPE_U16, 20, 33, 3, 0, 20 * 33 * 3 - 1 },
        { "big_endian_deflate.tif", TYPE_F32, 3, 4, 1, 0, 5.5 },
        { "white_is_zero.tif", TYPE_U8, 1, 2, 1, 255, 155 },
        { "fax4.tif", TYPE_U8, 3, 20, 1, 0, 0 },
        { "bits_tiled.tif", TYPE_U8, 3, 20, 1, 0, 0 },
        { "planar_strips.tif", TYPE_U8, 7, 5, 3, 0, 104 },
        { "planar_lzw.tif", TYPE_U8, 7, 5, 3, 0, 104 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = tessi_path_join(TESSERA_SOURCE_DIR "/tests/data/images", cases[i].name);
        RtImage image;
        Failure f = { 0 };
        bool ok = read_image(path, &image, &f);
        free(path);
        if (!ok && f.status == TESS_ERROR_UNSUPPORTED && strstr(f.text, "made without"))
            continue;
        if (!ok)
            fail_msg("%s", f.text);
        assert_int_equal(image.dtype, cases[i].type);
        assert_int_equal(image.shape[0], cases[i].height);
        assert_int_equal(image.shape[1], cases[i].width);
        assert_int_equal(image.channels, cases[i].channels);
        size_t element = tessi_type_info(image.dtype)->bytes;
        Value first = tessi_load_element(image.dtype, image.data);
        Value last =
            tessi_load_element(image.dtype, (const char *)image.data + image.bytes - element);
        bool real = tessi_is_real(image.dtype);
        if ((real ? first.f : (double)first.i) != cases[i].first
            || (real ? last.f : (double)last.i) != cases[i].last)
            fail_msg("%s begins with %g and ends with %g", cases[i].name,
                     real ? first.f : (double)first.i, real ? last.f : (double)last.i);
        tessi_image_dispose(&image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_round_trip),
        cmocka_unit_test(test_tiff_round_trip),
        cmocka_unit_test(test_tiff_bitmaps),
        cmocka_unit_test(test_tiff_pages),
        cmocka_unit_test(test_jpeg),
        cmocka_unit_test(test_jpeg_holds_8_bits_only),
        cmocka_unit_test(test_damaged_png),
        cmocka_unit_test(test_damaged_jpeg),
        cmocka_unit_test(test_damaged_tiff),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_files_of_others),
        cmocka_unit_test(test_forms_agree),
        cmocka_unit_test(test_animations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
