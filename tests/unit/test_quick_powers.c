/* Bytes that are powers, by rough logarithms and powers of 2 that are off as far as they may be, are those of the power
 * itself: near the middle of two bytes, everywhere else, and where x is no usual number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Which way, and how far, both are off: at most 1. */
static double wrong_log2, wrong_exp2;
static float rough_log2(float x);
static float rough_exp2(float x);
#define TESS_QUICK_LOG2(x) rough_log2(x)
#define TESS_QUICK_EXP2(x) rough_exp2(x)
#ifndef TESS_LIKELY
#define TESS_LIKELY(x) (x)
#endif

#include "prelude/c_math.h"

static float rough_log2(float x)
{
    const double l = log2((double)x);
    return (float)(l + wrong_log2 * 0x1p-22 * (fabs(l) > 1 ? fabs(l) : 1));
}

static float rough_exp2(float x)
{
    return (float)(exp2((double)x) * (1 + wrong_exp2 * 0x1p-22));
}

static const float exponents[] = { 0.1875f, 0.4545f, 1 / 2.4f, 0.8f, 2.2f, 3.99f };
static const float scales[] = { 255.0f, 1.0f, 77.25f };
enum { N = sizeof exponents / sizeof *exponents, SCALES = sizeof scales / sizeof *scales };

static void check(float scale, float x, float y)
{
    static const double ways[] = { -1, 1, 0 };
    const uint8_t want = tess_sat_u8_from_f32(scale * tess_pow_f32(x, y));
    for (int k = 0; k < 9; k++) {
        wrong_log2 = ways[k % 3];
        wrong_exp2 = ways[k / 3];
        const uint8_t got = tess_sat_u8_power_f32(scale, x, y);
        if (got != want)
            fail_msg("%a * pow(%a, %a): %d, expected %d", (double)scale, (double)x, (double)y, got,
                     want);
    }
}

static void near_the_middle_of_two_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < N * SCALES; i++) {
        const float y = exponents[i % N], scale = scales[i / N];
        for (int byte = 0; byte < 255; byte += 3) {
            const double x = pow((byte + 0.5) / (double)scale, 1 / (double)y);
            for (int k = -40; k <= 40; k++)
                check(scale, (float)(x * (1 + k * 0x1p-24)), y);
            check(scale, (float)(x * 1.0001), y);
            check(scale, (float)(x * 0.9999), y);
        }
    }
}

static void everywhere_else(void **state)
{
    static const float odd[] = { 0,         -0.0f,    1,        -1,       -0.5f,     -2, 0x1p-149f,
                                 0x1p-126f, 0x1p-30f, 0x1p100f, INFINITY, -INFINITY, NAN };
    (void)state;
    for (int i = 0; i < N * SCALES; i++) {
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
            check(scales[i / N], odd[k], exponents[i % N]);
        for (int k = 0; k < 300; k++)
            check(scales[i / N], (float)k / 250.0f, exponents[i % N]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(near_the_middle_of_two_bytes),
                                        cmocka_unit_test(everywhere_else) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
