/* rt/image_npy: every type, both byte orders, all header versions, and headers that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/image_codec.h"
#include "tessera.h"

/* A file of the given version, dictionary and elements; owned by the caller. */
static uint8_t *npy(int version, const char *dict, const void *data, size_t n_data, size_t *n)
{
    size_t length = strlen(dict), begin = version == 1 ? 10 : 12;
    uint8_t *file = calloc(1, begin + length + n_data);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)version;
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    memcpy(file + begin, dict, length);
    memcpy(file + begin + length, data, n_data);
    *n = begin + length + n_data;
    return file;
}

static bool decode(int version, const char *dict, const void *data, size_t n_data, RtImage *image,
                   Failure *f)
{
    size_t n;
    uint8_t *file = npy(version, dict, data, n_data, &n);
    /* An exact copy, so that a sanitizer sees any read past the end. */
    bool ok = tessi_image_decode(file, n, image, f);
    free(file);
    return ok;
}

static void expect_refused(const char *dict, size_t n_data, const char *sentence)
{
    static const uint8_t data[256];
    RtImage image;
    Failure f = { 0 };
    assert_false(decode(1, dict, data, n_data, &image, &f));
    assert_null(image.data);
    assert_true(f.status != 0);
    if (!strstr(f.text, sentence))
        fail_msg("%s gives: %s", dict, f.text);
}

static void test_types_and_orders(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        ScalarType type;
        uint8_t bytes[8];
        double value;
    } cases[] = {
        { "|b1", TYPE_BOOL, { 7 }, 1 },
        { "|i1", TYPE_I8, { 0xfe }, -2 },
        { "|u1", TYPE_U8, { 0xfe }, 254 },
        { "<i2", TYPE_I16, { 0x34, 0xf2 }, -3532 },
        { ">i2", TYPE_I16, { 0xf2, 0x34 }, -3532 },
        { "<u2", TYPE_U16, { 0x34, 0xf2 }, 62004 },
        { ">u2", TYPE_U16, { 0xf2, 0x34 }, 62004 },
        { "<i4", TYPE_I32, { 1, 2, 3, 0x84 }, -2080177663 },
        { ">i4", TYPE_I32, { 0x84, 3, 2, 1 }, -2080177663 },
        { ">u4", TYPE_U32, { 0x84, 3, 2, 1 }, 2214789633.0 },
        { ">i8", TYPE_I64, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd }, -3 },
        { "<f2", TYPE_F16, { 0x00, 0x3e }, 1.5 },
        { ">f2", TYPE_F16, { 0x3e, 0x00 }, 1.5 },
        { "<f4", TYPE_F32, { 0, 0, 0xc0, 0x3f }, 1.5 },
        { ">f4", TYPE_F32, { 0x3f, 0xc0, 0, 0 }, 1.5 },
        { ">f8", TYPE_F64, { 0x3f, 0xf8, 0, 0, 0, 0, 0, 0 }, 1.5 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dict[96];
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }\n",
                 cases[i].descr);
        RtImage image;
        Failure f = { 0 };
        if (!decode(1, dict, cases[i].bytes, tessi_type_info(cases[i].type)->bytes, &image, &f))
            fail_msg("%s: %s", cases[i].descr, f.text);
        assert_int_equal(image.dtype, cases[i].type);
        assert_int_equal(image.ndim, 1);
        assert_int_equal(image.channels, 0);
        Value v = tessi_load_element(image.dtype, image.data);
        double value = tessi_is_real(image.dtype) ? v.f : (double)v.i;
        if (value != cases[i].value)
            fail_msg("%s: %g", cases[i].descr, value);
        tessi_image_dispose(&image);
    }
}

static void test_versions_and_spellings(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }      \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"|u1\"}",
        "{'fortran_order' : False , 'shape' : ( 2L, 3L ) , 'descr' : '<u1' }",
    };
    const uint8_t data[6] = { 1, 2, 3, 4, 5, 6 };
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
            RtImage image;
            Failure f = { 0 };
            if (!decode(version, dicts[i], data, 6, &image, &f))
                fail_msg("%s: %s", dicts[i], f.text);
            assert_int_equal(image.ndim, 2);
            assert_int_equal(image.shape[0], 2);
            assert_int_equal(image.shape[1], 3);
            assert_memory_equal(image.data, data, 6);
            tessi_image_dispose(&image);
        }
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24,
                   "Fortran order");
    expect_refused("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", 48, "type '<c8'");
    expect_refused("{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3), }", 48, "type '<u8'");
    expect_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8,
                   "type '[...]'");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, "no dimensions");
    expect_refused("{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1), }", 1,
                   "too many dimensions");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", 4, "no pixels");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, "cut short");
    expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }",
                   8, "cut short");
    expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
                   8, "cut short");
    expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
                   8, "header");
    expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", 8, "header");
    expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)", 8, "header");
    expect_refused("{'descr': '<f8', 'shape': (1,)}", 8, "header");
    expect_refused("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", 8, "header");
    expect_refused("", 8, "header");
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    const float data[2] = { 1, 2 };
    size_t n;
    uint8_t *file =
        npy(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", data, sizeof data, &n);
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, file, cut);
        RtImage image;
        Failure f = { 0 };
        assert_false(tessi_image_decode(part, cut, &image, &f));
        assert_true(*f.text);
        free(part);
    }
    free(file);
}

static void test_written_files_read_back(void **state)
{
    (void)state;
    static const int64_t shape[4] = { 2, 3, 2, 2 };
    for (int t = 0; t < TYPE_INDEX; t++)
        for (int ndim = 1; ndim <= 4; ndim++) {
            RtImage image, back;
            Failure f = { 0 };
            assert_true(tessi_image_alloc(&image, (ScalarType)t, ndim, shape, 0, &f));
            for (size_t i = 0; i < image.bytes; i++)
                ((uint8_t *)image.data)[i] = t == TYPE_BOOL ? i & 1 : (uint8_t)(i * 37);
            RtBytes bytes = { 0 };
            assert_true(tessi_encode_npy(&image, &bytes, &f));
            assert_false(bytes.failed);
            assert_int_equal((bytes.n - image.bytes) % 64, 0);
            assert_true(tessi_image_decode(bytes.at, bytes.n, &back, &f));
            assert_int_equal(back.dtype, t);
            assert_int_equal(back.ndim, ndim);
            assert_int_equal(back.bytes, image.bytes);
            assert_memory_equal(back.data, image.data, image.bytes);
            tessi_bytes_dispose(&bytes);
            tessi_image_dispose(&image);
            tessi_image_dispose(&back);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_orders),
        cmocka_unit_test(test_versions_and_spellings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_written_files_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
