/* rt/image: conversions of the element type, what formats store, luma, pseudo-inputs, files by
 * name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image_testing.h"
#include "rt/file.h"
#include "rt/image.h"
#include "tessera.h"

/* A row of n elements with these values. */
static RtImage row_of(ScalarType type, size_t n, const double *values)
{
    RtImage image;
    const int64_t shape[2] = { 1, (int64_t)n };
    Failure f;
    assert_true(tessi_image_alloc(&image, type, 2, shape, 1, &f));
    for (size_t i = 0; i < n; i++) {
        Value v =
            tessi_is_real(type) ? tessi_value_real(values[i]) : tessi_value_int((int64_t)values[i]);
        tessi_store_element(type, (char *)image.data + i * tessi_type_info(type)->bytes, v);
    }
    return image;
}

static double element(const RtImage *image, size_t i)
{
    Value v = tessi_load_element(image->dtype, (const char *)image->data
                                                   + i * tessi_type_info(image->dtype)->bytes);
    return tessi_value_number(image->dtype, v);
}

static void expect_convert(ScalarType from, ScalarType to, double value, double expected)
{
    RtImage image = row_of(from, 1, &value);
    Failure f = { 0 };
    if (!tessi_image_convert(&image, to, &f))
        fail_msg("%g from %s to %s: %s", value, tessi_type_info(from)->name,
                 tessi_type_info(to)->name, f.text);
    assert_int_equal(image.dtype, to);
    double got = element(&image, 0);
    if (!(got == expected || (isnan(got) && isnan(expected))))
        fail_msg("%g from %s to %s is %g, not %g", value, tessi_type_info(from)->name,
                 tessi_type_info(to)->name, got, expected);
    tessi_image_dispose(&image);
}

static void expect_no_convert(ScalarType from, ScalarType to, double value)
{
    const double values[3] = { 1, 1, value };
    RtImage image = row_of(from, 3, values);
    Failure f = { 0 };
    if (tessi_image_convert(&image, to, &f))
        fail_msg("%g from %s to %s was converted", value, tessi_type_info(from)->name,
                 tessi_type_info(to)->name);
    assert_int_equal(image.dtype, from); /* untouched */
    assert_non_null(strstr(f.text, "at [0,2]"));
    tessi_image_dispose(&image);
}

static void test_convert(void **state)
{
    (void)state;
    expect_convert(TYPE_U8, TYPE_F32, 200, 200);
    expect_convert(TYPE_U8, TYPE_F16, 200, 200);
    expect_convert(TYPE_U16, TYPE_U8, 255, 255);
    expect_no_convert(TYPE_U16, TYPE_U8, 256);
    expect_convert(TYPE_U8, TYPE_I8, 127, 127);
    expect_no_convert(TYPE_U8, TYPE_I8, 128);
    expect_no_convert(TYPE_I8, TYPE_U32, -1);
    expect_convert(TYPE_F32, TYPE_U8, 7, 7);
    expect_no_convert(TYPE_F32, TYPE_U8, 7.5);
    expect_no_convert(TYPE_F32, TYPE_I64, 0x1p63);
    expect_convert(TYPE_F32, TYPE_I64, -0x1p63, -0x1p63);
    expect_convert(TYPE_F32, TYPE_U64, 0x1p63, 0x1p63);
    expect_no_convert(TYPE_F32, TYPE_U64, 0x1p64);
    expect_no_convert(TYPE_F64, TYPE_U64, -1);
    expect_no_convert(TYPE_I8, TYPE_U64, -1);
    expect_convert(TYPE_U64, TYPE_F32, 0x1p63, 0x1p63);
    expect_no_convert(TYPE_U64, TYPE_I64, 0x1p63);
    expect_convert(TYPE_U64, TYPE_U8, 255, 255);
    expect_no_convert(TYPE_F64, TYPE_I32, (double)NAN);
    expect_convert(TYPE_F64, TYPE_F32, 0.1, (double)0.1f);
    expect_no_convert(TYPE_F64, TYPE_F32, 1e300);
    expect_convert(TYPE_F64, TYPE_F32, (double)INFINITY, (double)INFINITY);
    expect_convert(TYPE_F64, TYPE_F32, (double)NAN, (double)NAN);
    expect_no_convert(TYPE_F32, TYPE_F16, 70000);
    expect_convert(TYPE_I32, TYPE_F32, 16777217, 16777216);
    expect_convert(TYPE_U8, TYPE_BOOL, 255, 1);
    expect_convert(TYPE_F32, TYPE_BOOL, 0.25, 1);
    expect_convert(TYPE_F32, TYPE_BOOL, 0, 0);
    expect_convert(TYPE_BOOL, TYPE_F32, 1, 1);
}

/* Writes to a file of the suffix and reads back. */
static bool through_file(const char *suffix, const RtImage *image, RtImage *back,
                         int64_t *n_saturated, Failure *f)
{
    char *dir, name[32] = "image";
    assert_true(tessi_temp_dir(NULL, &dir, f));
    strcat(name, suffix);
    char *path = tessi_path_join(dir, name);
    const RtView view = tessi_image_view(image);
    RtStore store = { 0 };
    bool ok = tessi_image_write(path, &view, &store, f);
    if (n_saturated)
        *n_saturated = store.n_saturated;
    assert_int_equal(ok, tessi_file_exists(path));
    if (ok)
        assert_true(read_image(path, back, f));
    tessi_temp_dir_remove(NULL, dir);
    assert_false(tessi_dir_exists(dir)); /* nothing else was left there */
    free(path);
    free(dir);
    return ok;
}

/* The loop for floats and bytes, or 16 bits, against the one for all types, which tells where the first is. */
static void test_floats_saturate_alike(void **state)
{
    (void)state;
    static const float in[] = { 0,         -0.0f,     0.5f,     1.5f,     2.5f,   -0.5f,
                                -0.51f,    254.5f,    255.5f,   255.49f,  256,    65534.5f,
                                65535,     65535.49f, 65535.5f, 1e30f,    -1e30f, INFINITY,
                                -INFINITY, NAN,       127,      3.49999f, 100.5f, 99.5f };
    enum { N = sizeof in / sizeof *in };
    static const double factors[] = { 0, 1, 0.5, 257.3, -2 };
    for (int to = 0; to < 2; to++)
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            uint16_t quick[N] = { 0 }, slow[N] = { 0 };
            size_t first = 0;
            const Conversion c = { .from = TYPE_F32,
                                   .to = to ? TYPE_U16 : TYPE_U8,
                                   .how = CONVERT_SATURATE,
                                   .factor = factors[k],
                                   .offset = 3 };
            assert_int_equal(tessi_convert_elements(&c, in, quick, N, NULL),
                             tessi_convert_elements(&c, in, slow, N, &first));
            assert_memory_equal(quick, slow, sizeof quick);
        }
}

static void test_writing_rounds_and_saturates(void **state)
{
    (void)state;
    const double values[10] = { 0.5, 1.5, 2.5, 254.5, 255.49, 255.5, -0.5, -0.51, NAN, 1e30 };
    const double expected[10] = { 0, 2, 2, 254, 255, 255, 0, 0, 0, 255 };
    RtImage image = row_of(TYPE_F32, 10, values), back;
    Failure f = { 0 };
    int64_t saturated = -1;
    assert_true(through_file(".pgm", &image, &back, &saturated, &f));
    assert_int_equal(back.dtype, TYPE_U8);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(element(&back, i), expected[i]);
    assert_int_equal(saturated, 4); /* 255.5 (to 256), -0.51 (to -1), NaN, 1e30 */
    tessi_image_dispose(&back);
    tessi_image_dispose(&image);

    const double ints[4] = { -5, 0, 65535, 65536 }, kept[4] = { 0, 0, 65535, 65535 };
    image = row_of(TYPE_I32, 4, ints);
    assert_true(through_file(".pgm", &image, &back, &saturated, &f));
    assert_int_equal(back.dtype, TYPE_U16);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(element(&back, i), kept[i]);
    assert_int_equal(saturated, 2);
    tessi_image_dispose(&back);
    tessi_image_dispose(&image);

    const double bits[2] = { 0, 1 };
    image = row_of(TYPE_BOOL, 2, bits);
    assert_true(through_file(".pgm", &image, &back, &saturated, &f));
    assert_int_equal(element(&back, 1), 255);
    tessi_image_dispose(&back);
    assert_true(through_file(".pfm", &image, &back, &saturated, &f));
    assert_int_equal(element(&back, 1), 1);
    tessi_image_dispose(&back);
    assert_true(through_file(".npy", &image, &back, &saturated, &f));
    assert_int_equal(back.dtype, TYPE_BOOL);
    assert_int_equal(saturated, 0);
    tessi_image_dispose(&back);
    tessi_image_dispose(&image);
}

/* Which element type each kind of file gets for each type of image; N_TYPES: refused. */
static void test_stored_types(void **state)
{
    (void)state;
    static const struct {
        const char *suffix;
        ScalarType stored[TYPE_INDEX]; /* bool i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64 */
    } cases[] = {
        { ".pgm",
          { TYPE_U8, TYPE_U8, TYPE_U8, TYPE_U16, TYPE_U16, TYPE_U16, TYPE_U16, TYPE_U16, TYPE_U16,
            TYPE_U8, TYPE_U8, TYPE_U8 } },
        { ".pfm",
          { TYPE_F32, TYPE_F32, TYPE_F32, TYPE_F32, TYPE_F32, N_TYPES, N_TYPES, N_TYPES, N_TYPES,
            TYPE_F32, TYPE_F32, N_TYPES } },
        { ".npy",
          { TYPE_BOOL, TYPE_I8, TYPE_U8, TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64,
            TYPE_F16, TYPE_F32, TYPE_F64 } },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int t = 0; t < TYPE_INDEX; t++) {
            const double values[2] = { 0, 1 };
            RtImage image = row_of((ScalarType)t, 2, values), back;
            Failure f = { 0 };
            bool ok = through_file(cases[c].suffix, &image, &back, NULL, &f);
            assert_int_equal(ok, cases[c].stored[t] != N_TYPES);
            if (ok) {
                assert_int_equal(back.dtype, cases[c].stored[t]);
                tessi_image_dispose(&back);
            } else {
                assert_non_null(strstr(f.text, "without losing depth"));
            }
            tessi_image_dispose(&image);
        }
}

static void test_shapes_of_pictures(void **state)
{
    (void)state;
    static const struct {
        const char *suffix;
        int ndim;
        int64_t shape[4];
        int channels;
        const char *sentence; /* NULL: written */
    } cases[] = {
        { ".pgm", 2, { 2, 3 }, 1, NULL },
        { ".pgm", 2, { 2, 3 }, 0, NULL },
        { ".pgm", 3, { 2, 3, 1 }, 1, NULL },
        { ".pgm", 3, { 2, 3, 1 }, 0, NULL },
        { ".pgm", 1, { 3 }, 1, "pictures of 2 dimensions" },
        { ".pgm", 3, { 2, 3, 3 }, 1, "pictures of 2 dimensions" },
        { ".pgm", 3, { 2, 3, 3 }, 3, "does not hold images of 3 channels" },
        { ".ppm", 3, { 2, 3, 3 }, 0, NULL },
        { ".ppm", 2, { 2, 3 }, 1, "does not hold images of 1 channels" },
        { ".pnm", 3, { 2, 3, 2 }, 0, "does not hold images of 2 channels" },
        { ".PAM", 3, { 2, 3, 7 }, 7, NULL },
        { ".npy", 4, { 2, 3, 4, 5 }, 1, NULL },
        { ".xyz", 2, { 2, 3 }, 1, "the suffix decides" },
        { "", 2, { 2, 3 }, 1, "the suffix decides" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        RtImage image, back;
        Failure f = { 0 };
        assert_true(tessi_image_alloc(&image, TYPE_U8, cases[c].ndim, cases[c].shape,
                                      cases[c].channels, &f));
        memset(image.data, 9, image.bytes);
        bool ok = through_file(cases[c].suffix, &image, &back, NULL, &f);
        if (ok != !cases[c].sentence || (!ok && !strstr(f.text, cases[c].sentence)))
            fail_msg("case %d: %s", (int)c, f.text);
        if (ok)
            tessi_image_dispose(&back);
        tessi_image_dispose(&image);
    }
}

static void test_alloc_refuses(void **state)
{
    (void)state;
    RtImage image;
    Failure f = { 0 };
    const int64_t none[2] = { 0, 3 }, huge[2] = { INT64_MAX, INT64_MAX },
                  big[2] = { 1 << 30, 1 << 30 };
    assert_false(tessi_image_alloc(&image, TYPE_F32, 2, none, 1, &f));
    assert_false(tessi_image_alloc(&image, TYPE_F32, 2, huge, 1, &f));
    assert_int_equal(f.status, TESS_ERROR_MEMORY);
    assert_false(tessi_image_alloc(&image, TYPE_F32, 2, big, 1, &f));
    assert_false(tessi_image_alloc(&image, TYPE_F32, 6, big, 1, &f));
    assert_false(tessi_image_alloc(&image, TYPE_F32, 0, big, 1, &f));
    assert_null(image.data);
}

static void test_luma(void **state)
{
    (void)state;
    RtImage image;
    Failure f = { 0 };
    const int64_t shape[3] = { 1, 2, 4 };
    assert_true(tessi_image_alloc(&image, TYPE_U8, 3, shape, 4, &f));
    memcpy(image.data, "\xff\0\0\x01\x0a\x0a\x0a\xff", 8);
    assert_true(tessi_image_luma(&image, &f));
    assert_int_equal(image.ndim, 2);
    assert_int_equal(image.channels, 1);
    assert_int_equal(element(&image, 0), 54); /* 54.213 */
    assert_int_equal(element(&image, 1), 10);
    assert_false(tessi_image_luma(&image, &f));
    tessi_image_dispose(&image);

    assert_true(tessi_image_alloc(&image, TYPE_F32, 3, (const int64_t[]){ 1, 1, 3 }, 3, &f));
    memcpy(image.data, (const float[]){ 1, 2, 3 }, 12);
    assert_true(tessi_image_luma(&image, &f));
    assert_true(element(&image, 0) == (double)(float)(0.2126 * 1 + 0.7152 * 2 + 0.0722 * 3));
    tessi_image_dispose(&image);

    assert_true(tessi_image_alloc(&image, TYPE_U16, 3, (const int64_t[]){ 1, 1, 2 }, 2, &f));
    memcpy(image.data, (const uint16_t[]){ 1234, 1 }, 4);
    assert_true(tessi_image_luma(&image, &f));
    assert_int_equal(element(&image, 0), 1234);
    tessi_image_dispose(&image);
}

static RtImage pseudo(const char *spec, ScalarType type, int channels)
{
    const ScalarType types[] = { type, type, type };
    assert_true(channels <= 3);
    RtImage image;
    Failure f = { 0 };
    assert_true(tessi_image_is_pseudo(spec));
    if (!tessi_image_pseudo(spec, types, channels, &image, &f))
        fail_msg("%s: %s", spec, f.text);
    assert_int_equal(image.dtype, type);
    return image;
}

static void test_pseudo_values(void **state)
{
    (void)state;
    RtImage image = pseudo("zero:2x3", TYPE_F32, 1);
    assert_int_equal(image.ndim, 2);
    assert_int_equal(image.shape[1], 3);
    for (size_t i = 0; i < 6; i++)
        assert_true(element(&image, i) == 0);
    tessi_image_dispose(&image);

    image = pseudo("constant:-2.5:4", TYPE_F64, 3);
    assert_int_equal(image.ndim, 2);
    assert_int_equal(image.shape[1], 3);
    assert_true(element(&image, 11) == -2.5);
    tessi_image_dispose(&image);

    image = pseudo("ramp:3x4", TYPE_U8, 2);
    assert_int_equal(element(&image, (2 * 4 + 3) * 2 + 1), 5);
    tessi_image_dispose(&image);
    image = pseudo("ramp:1x300", TYPE_U8, 1);
    assert_int_equal(element(&image, 299), 299 - 256);
    tessi_image_dispose(&image);
    image = pseudo("ramp:2x2x2x2", TYPE_BOOL, 1);
    assert_int_equal(element(&image, 15), 0);
    assert_int_equal(element(&image, 14), 1);
    tessi_image_dispose(&image);
}

/* Fields of different types lie in their pixel byte after byte, each as it would in an image of its type. */
static void test_pseudo_mixed(void **state)
{
    (void)state;
    static const ScalarType types[] = { TYPE_U8, TYPE_F32 };
    RtImage image;
    Failure f = { 0 };
    assert_true(tessi_image_pseudo("ramp:2x3", types, 2, &image, &f));
    assert_true(image.dtype == TYPE_U8 && image.ndim == 3 && image.shape[2] == 5);
    for (int64_t k = 0; k < 6; k++) {
        const char *pixel = (const char *)image.data + 5 * k;
        assert_int_equal(tessi_load_element(TYPE_U8, pixel).i, k % 3 + k / 3);
        assert_true(tessi_load_element(TYPE_F32, pixel + 1).f == (double)(k % 3 + k / 3));
    }
    tessi_image_dispose(&image);
    assert_false(tessi_image_pseudo("constant:0.5:2x3", types, 2, &image, &f)); /* no uint8 */
    assert_true(tessi_image_pseudo("constant:7:2x3", types, 2, &image, &f));
    assert_true(tessi_load_element(TYPE_F32, (const char *)image.data + 6).f == 7);
    tessi_image_dispose(&image);
}

static void test_pseudo_random(void **state)
{
    (void)state;
    /* The finaliser of SplitMix64 on its first two states from seed 0. */
    RtImage image = pseudo("random:0:2", TYPE_I64, 1);
    assert_true((uint64_t)((const int64_t *)image.data)[0] == UINT64_C(0xe220a8397b1dcdaf));
    assert_true((uint64_t)((const int64_t *)image.data)[1] == UINT64_C(0x6e789e6aa1b965f4));
    tessi_image_dispose(&image);

    image = pseudo("random:0:1", TYPE_U8, 1);
    assert_int_equal(element(&image, 0), 0xe2);
    tessi_image_dispose(&image);

    for (int t = 0; t < TYPE_INDEX; t++) {
        image = pseudo("random:7:64x64", (ScalarType)t, 1);
        RtImage again = pseudo("random:7:64x64", (ScalarType)t, 1),
                other = pseudo("random:8:64x64", (ScalarType)t, 1);
        assert_memory_equal(image.data, again.data, image.bytes);
        assert_memory_not_equal(image.data, other.data, image.bytes);
        double sum = 0, lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < 4096; i++) {
            double v = element(&image, i);
            sum += v;
            lo = v < lo ? v : lo;
            hi = v > hi ? v : hi;
        }
        if (tessi_is_real((ScalarType)t)) {
            assert_true(lo >= 0 && lo < 0.01 && hi < 1 && hi > 0.99);
            assert_true(fabs(sum / 4096 - 0.5) < 0.02);
        } else {
            const Value ends[2] = { { .i = tessi_type_least((ScalarType)t) },
                                    { .i = tessi_type_most((ScalarType)t) } };
            const double least = tessi_value_number((ScalarType)t, ends[0]),
                         most = tessi_value_number((ScalarType)t, ends[1]);
            assert_true(lo - least <= (most - least) * 0.01 && most - hi <= (most - least) * 0.01);
        }
        tessi_image_dispose(&image);
        tessi_image_dispose(&again);
        tessi_image_dispose(&other);
    }
}

static void test_pseudo_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        ScalarType type;
    } cases[] = {
        { "zero:", TYPE_U8 },
        { "zero:0x3", TYPE_U8 },
        { "zero:3x", TYPE_U8 },
        { "zero:3X4", TYPE_U8 },
        { "zero:-3", TYPE_U8 },
        { "zero:1x1x1x1x1", TYPE_U8 },
        { "constant:3", TYPE_U8 },
        { "constant::3", TYPE_U8 },
        { "constant:256:3", TYPE_U8 },
        { "constant:0.5:3", TYPE_I8 },
        { "constant:two:3", TYPE_F32 },
        { "constant:1e39:3", TYPE_F32 },
        { "constant:nan:3", TYPE_I8 },
        { "random:3", TYPE_U8 },
        { "random:-1:3", TYPE_U8 },
        { "random:1.5:3", TYPE_U8 },
        { "ramp:99999999999999999999", TYPE_U8 },
        { "zero:9999999999x9999999999", TYPE_F64 },
        { "noise:3", TYPE_U8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RtImage image;
        Failure f = { 0 };
        if (tessi_image_pseudo(cases[i].spec, &cases[i].type, 1, &image, &f))
            fail_msg("%s was made", cases[i].spec);
        assert_true(f.status != 0 && *f.text);
        assert_null(image.data);
    }
    assert_false(tessi_image_is_pseudo("photo.png"));
    assert_false(tessi_image_is_pseudo("zero"));
}

static void test_missing_and_foreign_files(void **state)
{
    (void)state;
    RtImage image;
    Failure f = { 0 };
    assert_false(read_image("no/such/file.png", &image, &f));
    assert_non_null(strstr(f.text, "cannot read 'no/such/file.png': No such file"));
    assert_false(read_image("/", &image, &f));
    assert_non_null(strstr(f.text, "directory"));
    assert_false(decode_image((const uint8_t *)"GIF89a..", 8, &image, &f));
    assert_int_equal(f.status, TESS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(f.text, "GIF"));
    assert_false(decode_image((const uint8_t *)"hello, world", 12, &image, &f));
    assert_int_equal(f.status, TESS_ERROR_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_floats_saturate_alike),
        cmocka_unit_test(test_writing_rounds_and_saturates),
        cmocka_unit_test(test_stored_types),
        cmocka_unit_test(test_shapes_of_pictures),
        cmocka_unit_test(test_alloc_refuses),
        cmocka_unit_test(test_luma),
        cmocka_unit_test(test_pseudo_values),
        cmocka_unit_test(test_pseudo_random),
        cmocka_unit_test(test_pseudo_refusals),
        cmocka_unit_test(test_pseudo_mixed),
        cmocka_unit_test(test_missing_and_foreign_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
