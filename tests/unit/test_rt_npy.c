/* rt/image_npy: every type, both byte orders, all header versions, and headers that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_testing.h"
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
    bool ok = decode_image(file, n, image, f);
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
    expect_refused("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", 48, "type '<c8'");
    expect_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8,
                   "has fields");
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
        assert_false(decode_image(part, cut, &image, &f));
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
            assert_true(encode_image(".npy", &image, &bytes, &f));
            assert_false(bytes.failed);
            assert_int_equal((bytes.n - image.bytes) % 64, 0);
            assert_true(decode_image(bytes.at, bytes.n, &back, &f));
            assert_int_equal(back.dtype, t);
            assert_int_equal(back.ndim, ndim);
            assert_int_equal(back.bytes, image.bytes);
            assert_memory_equal(back.data, image.data, image.bytes);
            tessi_bytes_dispose(&bytes);
            tessi_image_dispose(&image);
            tessi_image_dispose(&back);
        }
}

/* ---- Structured types ---- */

/* Two pixels of 12 bytes: 'n' of one byte, three unused, a big-endian double. */
static const char gaps[] = "{'descr': [('n', '|u1'), ('', '|V3'), ('x', '>f8')], "
                           "'fortran_order': False, 'shape': (2,), }";
static const uint8_t two_records[24] = { 5, 9, 9, 9, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0,
                                         7, 9, 9, 9, 0xc0, 0,    0, 0, 0, 0, 0, 0 };

static bool decode_as(const char *dict, const uint8_t *data, size_t n_data, const RtRecord *want,
                      RtImage *image, Failure *f)
{
    size_t n;
    uint8_t *file = npy(1, dict, data, n_data, &n);
    *f = (Failure){ 0 };
    RtRequest request = tessi_request_as_stored();
    request.record = want;
    const bool ok = tessi_image_decode(file, n, &request, image, f);
    free(file);
    return ok;
}

static void test_fields_by_name(void **state)
{
    (void)state;
    RtImage image;
    Failure f;
    const RtRecord mixed = { 2, (const RtField[]){ { "x", TYPE_F32 }, { "n", TYPE_U8 } } };
    const RtRecord same = { 2, (const RtField[]){ { "x", TYPE_F32 }, { "n", TYPE_F32 } } };
    const RtRecord one = { 1, (const RtField[]){ { "n", TYPE_I32 } } };
    const float xs[2] = { 1.5f, -2 };
    assert_true(decode_as(gaps, two_records, 24, &mixed, &image, &f));
    assert_true(image.dtype == TYPE_U8 && image.ndim == 2 && image.shape[1] == 5);
    for (int i = 0; i < 2; i++) {
        assert_memory_equal((char *)image.data + 5 * i, &xs[i], 4);
        assert_int_equal(((uint8_t *)image.data)[5 * i + 4], 5 + 2 * i);
    }
    tessi_image_dispose(&image);
    assert_true(decode_as(gaps, two_records, 24, &same, &image, &f));
    assert_true(image.dtype == TYPE_F32 && image.ndim == 2 && image.shape[1] == 2);
    assert_memory_equal(image.data, ((const float[]){ 1.5f, 5, -2, 7 }), 16);
    tessi_image_dispose(&image);
    assert_true(decode_as(gaps, two_records, 24, &one, &image, &f));
    assert_true(image.dtype == TYPE_I32 && image.ndim == 2 && image.shape[1] == 1);
    assert_memory_equal(image.data, ((const int32_t[]){ 5, 7 }), 8);
    tessi_image_dispose(&image);
}

static void expect_record_refused(const char *dict, const RtField *field, const char *sentence)
{
    RtImage image;
    Failure f;
    assert_false(decode_as(dict, two_records, 24, &(RtRecord){ 1, field }, &image, &f));
    assert_null(image.data);
    if (!strstr(f.text, sentence))
        fail_msg("%s gives: %s", dict, f.text);
}

static void test_records_refused(void **state)
{
    (void)state;
#define DICT(descr) "{'descr': [" descr "], 'fortran_order': False, 'shape': (2,), }"
    const RtField x = { "x", TYPE_F32 }, y = { "y", TYPE_F32 }, plain = { "", TYPE_F32 },
                  small = { "x", TYPE_U8 };
    expect_record_refused(gaps, &y, "no field 'y'; they have 'n', 'x'");
    expect_record_refused(gaps, &plain, "2 fields ('n', 'x')");
    expect_record_refused(gaps, &small, "values do not fit");
    expect_record_refused(DICT("('x', '<c8')"), &x, "no number");
    expect_record_refused(DICT("('x', '|V8')"), &x, "no number");
    expect_record_refused(DICT("('x', '<f4', (3,))"), &x, "arrays");
    expect_record_refused(DICT("('x', [('a', '<f4')])"), &x, "within");
    expect_record_refused(DICT("(('t', 'x'), '<f4')"), &x, "titles");
    expect_record_refused(DICT("('x', '<f8'), ('y', '<f8')"), &x, "cut short");
    expect_record_refused(DICT("('x', '<f4'), ('', '|V9223372036854775807')"), &x, "header");
    expect_record_refused(DICT(""), &x, "they have none");
    expect_record_refused(DICT("('x'"), &x, "header");
    expect_record_refused(DICT("('x', '<f4'"), &x, "header");
    expect_record_refused(DICT("('x"), &x, "header");
    expect_record_refused(
        "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,1,1,1,2), }", &x,
        "too many dimensions");
}

static void test_records_read_back(void **state)
{
    (void)state;
    enum {
        MANY = RT_IMAGE_CHANNELS,
        LONG = 1100
    }; /* names that make the header longer than 2^16 bytes */
    static char name[MANY][LONG + 1];
    RtField field[MANY];
    for (int n = 2; n <= MANY; n += MANY - 2)
        for (int k = 0; k < n; k++) {
            memset(name[k], 'a' + k % 26, n == MANY ? LONG : 3);
            name[k][0] = (char)('A' + k / 26);
            field[k] = (RtField){ name[k], (ScalarType)(k % TYPE_INDEX) };
            if (k + 1 < n)
                continue;
            const RtRecord record = { n, field };
            const int64_t shape[3] = { 2, 3, (int64_t)tessi_record_bytes(&record) };
            RtImage image, back;
            Failure f = { 0 };
            assert_true(tessi_record_is_mixed(&record));
            assert_true(tessi_image_alloc(&image, TYPE_U8, 3, shape, 0, &f));
            memset(image.data, 0, image.bytes);
            ((uint8_t *)image.data)[image.bytes - 1] = 1;
            RtBytes bytes = { 0 };
            RtView view = tessi_image_view(&image);
            RtStore store = { 0 };
            view.record = &record;
            assert_true(tessi_image_encode("x.npy", &view, &store, &bytes, &f));
            assert_false(bytes.failed);
            assert_int_equal((bytes.n - image.bytes) % 64, 0);
            RtRequest request = { .dtype = N_TYPES, .record = &record };
            assert_true(tessi_image_decode(bytes.at, bytes.n, &request, &back, &f));
            assert_true(back.ndim == 3 && back.bytes == image.bytes);
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
        cmocka_unit_test(test_fields_by_name),
        cmocka_unit_test(test_records_refused),
        cmocka_unit_test(test_records_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
