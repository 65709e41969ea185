/* rt/image_pnm and rt/image_pfm: PBM to PFM, read and written, and files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "image_testing.h"
#include "rt/image_codec.h"
#include "tessera.h"

static RtImage read_bytes(const char *bytes, size_t n)
{
    RtImage image;
    Failure f = { 0 };
    uint8_t *exact = malloc(n);
    memcpy(exact, bytes, n);
    if (!decode_image(exact, n, &image, &f))
        fail_msg("%.20s: %s", bytes, f.text);
    free(exact);
    return image;
}
#define READ(literal) read_bytes(literal, sizeof(literal) - 1)

static void refuse_bytes(const char *bytes, size_t n, const char *sentence)
{
    RtImage image;
    Failure f = { 0 };
    uint8_t *exact = malloc(n ? n : 1);
    memcpy(exact, bytes, n);
    if (decode_image(exact, n, &image, &f))
        fail_msg("%.40s was read", bytes);
    free(exact);
    assert_null(image.data);
    if (!strstr(f.text, sentence))
        fail_msg("%.40s gives: %s", bytes, f.text);
}
#define REFUSE(literal, sentence) refuse_bytes(literal, sizeof(literal) - 1, sentence)

static void expect(RtImage image, ScalarType type, int64_t height, int64_t width, int channels,
                   const char *values)
{
    assert_int_equal(image.dtype, type);
    assert_int_equal(image.ndim, channels > 1 ? 3 : 2);
    assert_int_equal(image.shape[0], height);
    assert_int_equal(image.shape[1], width);
    assert_int_equal(image.channels, channels);
    if (channels > 1)
        assert_int_equal(image.shape[2], channels);
    char *at = (char *)(uintptr_t)values;
    for (int64_t i = 0; i < tessi_image_elements(&image); i++) {
        Value v =
            tessi_load_element(type, (const char *)image.data + i * tessi_type_info(type)->bytes);
        double want = strtod(at, &at), got = tessi_is_real(type) ? v.f : (double)v.i;
        if (got != want)
            fail_msg("element %d is %g, not %g", (int)i, got, want);
    }
    tessi_image_dispose(&image);
}

static void test_plain(void **state)
{
    (void)state;
    expect(READ("P1\n# a remark\n3 2\n101\n0 1 0\n"), TYPE_U8, 2, 3, 1, "0 255 0 255 0 255");
    expect(READ("P2 2 2 9\n1 2\n3 9"), TYPE_U8, 2, 2, 1, "1 2 3 9");
    expect(READ("P2 # x\n2 1\n#y\n1000\n0 #z\n1000\n"), TYPE_U16, 1, 2, 1, "0 1000");
    expect(READ("P3\n1 2\n255\n1 2 3  4 5 255\n"), TYPE_U8, 2, 1, 3, "1 2 3 4 5 255");
}

static void test_raw(void **state)
{
    (void)state;
    expect(READ("P4\n9 2\n\x80\x80\x01\x00"), TYPE_U8, 2, 9, 1,
           "0 255 255 255 255 255 255 255 0  255 255 255 255 255 255 255 0 255");
    expect(READ("P5 2 1 255\n\x00\xff"), TYPE_U8, 1, 2, 1, "0 255");
    expect(READ("P5 2 1 65535\n\x01\x02\xff\xfe"), TYPE_U16, 1, 2, 1, "258 65534");
    expect(READ("P5 1 1 256\n\x01\x00"), TYPE_U16, 1, 1, 1, "256");
    expect(READ("P6 1 1 255\nabc"), TYPE_U8, 1, 1, 3, "97 98 99");
    /* What follows the first picture is left alone. */
    expect(READ("P5 1 1 255\nabc"), TYPE_U8, 1, 1, 1, "97");
}

static void test_pam(void **state)
{
    (void)state;
    expect(
        READ("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\nabcd"),
        TYPE_U8, 1, 2, 2, "97 98 99 100");
    expect(READ("P7\n# x\nHEIGHT 1\nWIDTH 1\nMAXVAL 1023\nDEPTH 5\nENDHDR\n\0\1\0\2\0\3\0\4\3\xff"),
           TYPE_U16, 1, 1, 5, "1 2 3 4 1023");
    REFUSE("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\nabc", "claims 1 x 2");
    REFUSE("P7\nWIDTH 2\nHEIGHT 1\nMAXVAL 255\nENDHDR\nabcd", "header");
    REFUSE("P7\nWIDTH 2\nSPEED 1\n", "header");
    REFUSE("P7\nWIDTH 2", "header");
}

static void test_pfm(void **state)
{
    (void)state;
    /* Two rows, bottom first: 1, then 1.5. */
    expect(READ("Pf\n1 2\n-1.0\n\0\0\x80\x3f\0\0\xc0\x3f"), TYPE_F32, 2, 1, 1, "1.5 1");
    expect(READ("Pf 1 2 25.5\n\x3f\x80\0\0\x3f\xc0\0\0"), TYPE_F32, 2, 1, 1, "1.5 1");
    expect(READ("PF\n1 1\n1.0\n\x3f\x80\0\0\x3f\xc0\0\0\x40\0\0\0"), TYPE_F32, 1, 1, 3, "1 1.5 2");
    REFUSE("Pf\n1 2\n0\n\0\0\x80\x3f\0\0\xc0\x3f", "header");
    REFUSE("Pf\n1 2\nnan\n\0\0\x80\x3f\0\0\xc0\x3f", "header");
    REFUSE("Pf\n1 2\n-1.0\n\0\0\x80\x3f\0\0\xc0", "cut short");
    REFUSE("Pf\n99999 99999\n-1.0\n\0\0\x80\x3f", "claims 99999 x 99999");
    REFUSE("Pf\n-1 2\n-1.0\n\0\0\x80\x3f", "header");
}

static void test_lies(void **state)
{
    (void)state;
    REFUSE("", "empty");
    REFUSE("P", "it is not");
    REFUSE("P5", "header");
    REFUSE("P5 2", "header");
    REFUSE("P5 2 2 255", "cut short");
    REFUSE("P5 2 2 255\nabc", "claims 2 x 2");
    REFUSE("P5 0 2 255\nabc", "no pixels");
    REFUSE("P5 2 2 0\nabcd", "header");
    REFUSE("P5 2 2 65536\nabcd", "header");
    REFUSE("P5 -2 2 255\nabcd", "header");
    REFUSE("P5 2147483648 1 255\nabcd", "header");
    REFUSE("P5 2147483647 2147483647 255\nabcd", "claims");
    REFUSE("P6 2147483647 2147483647 65535\nabcd", "claims");
    REFUSE("P4 2147483647 2147483647\nabcd", "claims");
    REFUSE("P1 100 100\n1 0 1", "claims");
    REFUSE("P3 100 100 255\n1 0 1", "claims");
    REFUSE("P2 2 2 9\n1 2\n3 10", "sample 3 is not a number of 0 to 9");
    REFUSE("P2 2 2 9\n1 2\n3 x", "sample 3 is not a number");
    REFUSE("P2 2 1 255\n11  ", "cut short");
    REFUSE("P5 2 1 100\n\x64\x65", "sample 1 is 101");
    REFUSE("P1 2 1\n12", "neither 0 nor 1");
}

static void round_trip(ScalarType type, int channels, const char *suffix)
{
    const int64_t shape[3] = { 5, 3, channels };
    RtImage image, back;
    Failure f = { 0 };
    assert_true(tessi_image_alloc(&image, type, channels > 1 ? 3 : 2, shape, channels, &f));
    for (size_t i = 0; i < image.bytes; i++)
        ((uint8_t *)image.data)[i] = (uint8_t)(i * 29 + 7);
    RtBytes bytes = { 0 };
    assert_true(encode_image(suffix, &image, &bytes, &f) && !bytes.failed);
    assert_true(decode_image(bytes.at, bytes.n, &back, &f));
    assert_int_equal(back.dtype, type);
    assert_int_equal(back.channels, channels);
    assert_memory_equal(back.shape, image.shape, sizeof back.shape);
    assert_memory_equal(back.data, image.data, image.bytes);
    /* Cut anywhere, it is refused. */
    for (size_t cut = 0; cut < bytes.n; cut++) {
        RtImage none;
        uint8_t *part = malloc(cut + 1);
        memcpy(part, bytes.at, cut);
        assert_false(decode_image(part, cut, &none, &f));
        assert_null(none.data);
        free(part);
    }
    tessi_bytes_dispose(&bytes);
    tessi_image_dispose(&image);
    tessi_image_dispose(&back);
}

static void test_round_trips(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        ScalarType type = wide ? TYPE_U16 : TYPE_U8;
        round_trip(type, 1, ".pnm");
        round_trip(type, 3, ".pnm");
        for (int channels = 1; channels <= 6; channels++)
            round_trip(type, channels, ".pam");
    }
    round_trip(TYPE_F32, 1, ".pfm");
    round_trip(TYPE_F32, 3, ".pfm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain), cmocka_unit_test(test_raw),
        cmocka_unit_test(test_pam),   cmocka_unit_test(test_pfm),
        cmocka_unit_test(test_lies),  cmocka_unit_test(test_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
