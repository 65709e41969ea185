/* The preludes by themselves: errors of the transcendentals against the C library in higher precision (printed for
 * each function), their special values, rounding, float16 and sorting. Integers, conversions and borders are tested
 * through tessi_eval in test_eval.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "prelude/c_math.h"

/* Distance between tested bit patterns of float; smaller by hand when the polynomials change. */
#ifndef STRIDE
#define STRIDE 6007u
#endif
#ifndef SAMPLES
#define SAMPLES 200000
#endif

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- Units in the last place ------------------------------------------------------------------ */
static bool same_f32(float a, float b)
{
    return (a != a && b != b) || tess_bits_f32(a) == tess_bits_f32(b);
}
static bool same_f64(double a, double b)
{
    return (a != a && b != b) || tess_bits_f64(a) == tess_bits_f64(b);
}
/* The error of `got` in units of the last place of `want`; 1e9 for a NaN where a number is due, or a number for a
 * NaN. Infinity stands for the first number beyond the finite ones. */
static double ulps_f32(float got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : 1e9;
    double have = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    double target = fabs(want) > 0x1p128 ? copysign(0x1p128, want) : want;
    int e = target == 0 ? -126 : ilogb(target);
    return fabs(have - target) / ldexp(1, (e < -126 ? -126 : e) - 23);
}
static double ulps_f64(double got, long double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : 1e9;
    long double have = isinf(got) ? copysignl(0x1p1024L, (long double)got) : (long double)got;
    long double target = fabsl(want) > 0x1p1024L ? copysignl(0x1p1024L, want) : want;
    int e = target == 0 ? -1022 : ilogbl(target);
    return (double)(fabsl(have - target) / ldexpl(1, (e < -1022 ? -1022 : e) - 52));
}

typedef struct Unary {
    const char *name;
    float (*f32)(float);
    double (*want_f32)(double);
    double (*f64)(double);
    long double (*want_f64)(long double);
    double most_f32, most_f64; /* units allowed */
    double lo, hi;             /* where random doubles are drawn, besides all exponents */
} Unary;
static const Unary unary[] = {
#define UNARY(name, most_f32, most_f64, lo, hi)                                                \
    {                                                                                          \
#name, tess_##name##_f32, name, tess_##name##_f64, name##l, most_f32, most_f64, lo, hi \
    }
    UNARY(exp, 1, 0.8, -750, 720),   UNARY(exp2, 1, 0.8, -1080, 1030),
    UNARY(log, 1, 0.55, 0, 3),       UNARY(log2, 1, 0.55, 0, 3),
    UNARY(log10, 1, 0.55, 0, 3),     UNARY(sin, 1.6, 0.9, -1e4, 1e4),
    UNARY(cos, 1.6, 0.9, -1e4, 1e4), UNARY(tan, 0.65, 1, -1e4, 1e4),
    UNARY(asin, 1.3, 0.7, -1, 1),    UNARY(acos, 1.3, 1.1, -1, 1),
    UNARY(atan, 1.3, 1.4, -3, 3),    UNARY(sinh, 1.7, 1.4, -30, 30),
    UNARY(cosh, 1.6, 1.4, -30, 30),  UNARY(tanh, 1.5, 1.1, -20, 20),
    UNARY(cbrt, 0.55, 0.8, -9, 9),
#undef UNARY
};

static void unary_floats_are_within_their_bounds(void **state)
{
    (void)state;
    bool good = true;
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) {
        double worst = 0;
        float where = 0;
        for (uint64_t u = 0; u <= UINT32_MAX; u += STRIDE) {
            float x = tess_real_f32((uint32_t)u);
            double error = ulps_f32(unary[k].f32(x), unary[k].want_f32((double)x));
            if (error > worst) {
                worst = error;
                where = x;
            }
        }
        printf("%-6s float   %.3f units, at %a\n", unary[k].name, worst, (double)where);
        good = good && worst <= unary[k].most_f32;
    }
    assert_true(good);
}

static void unary_doubles_are_within_their_bounds(void **state)
{
    (void)state;
    bool good = true;
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) {
        double worst = 0, where = 0;
        uint64_t random = 1;
        for (int n = 0; n < SAMPLES; n++) {
            uint64_t u = next_random(&random);
            double x = tess_real_f64(u); /* every exponent, then the middle, then few bits */
            if (n % 4 < 2)
                x = unary[k].lo + (unary[k].hi - unary[k].lo) * (double)(u >> 11) * 0x1p-53;
            else if (n % 4 == 2)
                x = 1 + (double)(int64_t)u * 0x1p-63 * ldexp(1, -(int)(u % 50));
            double error = ulps_f64(unary[k].f64(x), unary[k].want_f64((long double)x));
            if (error > worst) {
                worst = error;
                where = x;
            }
        }
        printf("%-6s double  %.3f units, at %a\n", unary[k].name, worst, where);
        good = good && worst <= unary[k].most_f64;
    }
    assert_true(good);
}

typedef struct Binary {
    const char *name;
    float (*f32)(float, float);
    double (*want_f32)(double, double);
    double (*f64)(double, double);
    long double (*want_f64)(long double, long double);
    double most_f32, most_f64;
} Binary;
static const Binary binary[] = {
#define BINARY(name, most_f32, most_f64)                                               \
    {                                                                                  \
#name, tess_##name##_f32, name, tess_##name##_f64, name##l, most_f32, most_f64 \
    }
    BINARY(pow, 0.55, 0.9),
    BINARY(atan2, 1.7, 1.6),
    BINARY(hypot, 0.55, 0.55),
#undef BINARY
};

static void binary_functions_are_within_their_bounds(void **state)
{
    (void)state;
    bool good = true;
    for (size_t k = 0; k < sizeof binary / sizeof *binary; k++) {
        double worst_f32 = 0, worst_f64 = 0, at[4] = { 0 };
        uint64_t random = 7;
        for (int n = 0; n < 2 * SAMPLES; n++) {
            uint64_t u = next_random(&random), v = next_random(&random);
            float x = tess_real_f32((uint32_t)u), y = tess_real_f32((uint32_t)v);
            double xd = tess_real_f64(u), yd = tess_real_f64(v);
            if (n % 4) { /* moderate numbers, also such that x^y stays in range */
                x = ldexpf(1 + (float)(u >> 40) * 0x1p-24f, (int)(u % 41) - 20);
                xd = ldexp(1 + (double)(u >> 12) * 0x1p-52, (int)(u % 401) - 200);
                y = (float)(int64_t)v * (n % 4 == 1 ? 0x1p-63f : 0x1p-57f);
                yd = (double)(int64_t)v * (n % 4 == 1 ? 0x1p-63 : 0x1p-55);
                if (n % 4 == 3) {
                    x = 1 + (x - 1) * 0x1p-20f;
                    y *= 65536;
                    yd = xd * yd;
                }
            }
            double e32 = ulps_f32(binary[k].f32(x, y), binary[k].want_f32((double)x, (double)y));
            double e64 = ulps_f64(binary[k].f64(xd, yd),
                                  binary[k].want_f64((long double)xd, (long double)yd));
            if (e32 > worst_f32) {
                worst_f32 = e32;
                at[0] = (double)x;
                at[1] = (double)y;
            }
            if (e64 > worst_f64) {
                worst_f64 = e64;
                at[2] = xd;
                at[3] = yd;
            }
        }
        printf("%-6s float   %.3f units, at %a, %a\n", binary[k].name, worst_f32, at[0], at[1]);
        printf("%-6s double  %.3f units, at %a, %a\n", binary[k].name, worst_f64, at[2], at[3]);
        good = good && worst_f32 <= binary[k].most_f32 && worst_f64 <= binary[k].most_f64;
    }
    assert_true(good);
}

/* ---- Special values: as the C library's, which follows Annex F ------------------------------------- */
static const double specials[] = {
    0, 1, 0.5, 2, 3, 4, 1e9, 16777217, 0x1.fffffep127, 0x1p-149, 0x1p-126, INFINITY, NAN
};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

/* Zeros, ones, infinities and NaN are exact; other results may be off by two units. */
static bool is_exact(long double x)
{
    return x == 0 || fabsl(x) == 1 || isinf(x) || isnan(x);
}
static void check_f32(const char *name, float x, float y, float got, double want)
{
    bool good =
        is_exact((long double)(float)want) ? same_f32(got, (float)want) : ulps_f32(got, want) <= 2;
    if (!good)
        fail_msg("%s(%a, %a) is %a as float, not %a", name, (double)x, (double)y, (double)got,
                 want);
}
static void check_f64(const char *name, double x, double y, double got, long double want)
{
    bool good = is_exact((long double)(double)want) ? same_f64(got, (double)want)
                                                    : ulps_f64(got, want) <= 2;
    if (!good)
        fail_msg("%s(%a, %a) is %a as double, not %La", name, x, y, got, want);
}

static void special_arguments_give_the_values_of_annex_f(void **state)
{
    (void)state;
    for (int a = 0; a < 2 * N_SPECIALS; a++) {
        double x = a % 2 ? -specials[a / 2] : specials[a / 2];
        for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) {
            const Unary *u = &unary[k];
            check_f32(u->name, (float)x, 0, u->f32((float)x), u->want_f32((double)(float)x));
            check_f64(u->name, x, 0, u->f64(x), u->want_f64((long double)x));
        }
        for (int b = 0; b < 2 * N_SPECIALS; b++)
            for (size_t k = 0; k < sizeof binary / sizeof *binary; k++) {
                const Binary *f = &binary[k];
                double y = b % 2 ? -specials[b / 2] : specials[b / 2];
                float xs = (float)x, ys = (float)y;
                check_f32(f->name, xs, ys, f->f32(xs, ys), f->want_f32((double)xs, (double)ys));
                check_f64(f->name, x, y, f->f64(x, y), f->want_f64((long double)x, (long double)y));
            }
    }
}

/* The shorter form of what is never positive has the same bits. */
static void low_exponentials_are_the_same(void **state)
{
    (void)state;
    for (uint64_t u = 0; u <= UINT32_MAX; u += STRIDE) {
        const float x = tess_real_f32((uint32_t)u);
        if (!(x > 0))
            assert_true(same_f32(tess_exp_low_f32(x), tess_exp_f32(x)));
    }
    for (float x = -180; x <= 0;
         x += 0x1p-12f) /* subnormal results among them, and every way to 0 */
        assert_true(same_f32(tess_exp_low_f32(x), tess_exp_f32(x)));
    assert_true(same_f32(tess_exp_low_f32(-INFINITY), 0));
}

/* What lanes compute where no angle is far. */
static void near_angles_are_the_same(void **state)
{
    (void)state;
    for (uint64_t u = 0; u < 0x47000000; u += STRIDE) {
        const float x = tess_real_f32((uint32_t)u);
        for (uint32_t shift = 0; shift < 2; shift++)
            assert_true(same_f32(tess_sin_of_quadrant_f32(x, shift, true),
                                 tess_sin_of_quadrant_f32(x, shift, false)));
    }
    assert_true(isnan(tess_sin_of_quadrant_f32(NAN, 0, true)));
}

static void powers_of_two_are_exact(void **state)
{
    (void)state;
    for (int e = -149; e < 128; e++) {
        float x = ldexpf(1, e);
        assert_true(same_f32(tess_exp2_f32((float)e), x));
        assert_true(same_f32(tess_log2_f32(x), (float)e));
        assert_true(same_f32(tess_pow_f32(2, (float)e), x));
    }
    for (int e = -1074; e < 1024; e++) {
        double x = ldexp(1, e);
        assert_true(same_f64(tess_exp2_f64(e), x));
        assert_true(same_f64(tess_log2_f64(x), e));
        assert_true(same_f64(tess_pow_f64(2, e), x));
    }
    for (int n = 0; n <= 10; n++)
        assert_true(same_f64(tess_log10_f64(pow(10, n)), n));
}

/* ---- Operators with one rounding -------------------------------------------------------------------- */
static void rounding_is_as_in_c(void **state)
{
    (void)state;
    for (uint64_t u = 0; u <= UINT32_MAX; u += 10007) {
        float x = tess_real_f32((uint32_t)u);
        assert_true(same_f32(tess_round_f32(x), roundf(x)));
        assert_true(same_f64(tess_round_f64((double)x), round((double)x)));
        assert_true(same_f32(tess_floor_f32(x), floorf(x)));
        assert_true(same_f32(tess_ceil_f32(x), ceilf(x)));
        assert_true(same_f32(tess_trunc_f32(x), truncf(x)));
        assert_true(same_f32(tess_abs_f32(x), fabsf(x)));
    }
    for (int n = -20; n <= 20; n++) {
        float x = (float)n * 0.25f;
        assert_true(same_f32(tess_round_f32(x), roundf(x)));
        assert_true(same_f64(tess_round_f64((double)x), round((double)x)));
    }
    assert_true(same_f32(tess_round_f32(0x1.fffffep-2f), 0));
    assert_true(same_f32(tess_rsqrt_f32(4), 0.5f));
    assert_true(same_f64(tess_mod_f64(-7.5, 2), -1.5));
}

static void min_and_max_choose_the_second_for_nan(void **state)
{
    (void)state;
    float nan = (float)NAN;
    assert_true(same_f32(tess_min_f32(nan, 3), 3) && same_f32(tess_max_f32(nan, 3), 3));
    assert_true(same_f32(tess_min_f32(3, nan), nan) && same_f32(tess_max_f32(3, nan), nan));
    assert_true(same_f32(tess_min_f32(-0.0f, 0), 0) && same_f32(tess_max_f32(-0.0f, 0), 0));
    assert_true(same_f32(tess_select_f32(true, nan, 1), nan)
                && same_f32(tess_select_f32(false, nan, 1), 1));
}

/* ---- float16 ----------------------------------------------------------------------------------------- */
static double value_of_f16(unsigned h)
{
    double sign = h & 0x8000 ? -1 : 1, fraction = h & 0x3ff;
    int e = (int)(h >> 10 & 31);
    if (e == 31)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (e ? ldexp(1024 + fraction, e - 25) : ldexp(fraction, -24));
}

static void float16_goes_there_and_back(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x10000; h++) {
        double want = value_of_f16(h);
        float x = tess_f32_from_f16bits((uint16_t)h);
        assert_true(same_f64((double)x, want));
        uint16_t back = tess_f16bits_from_f32(x);
        assert_true(isnan(want) ? isnan(value_of_f16(back)) : back == h);
        assert_true(tess_f16bits_from_f64((double)x) == back);
    }
}

static void float16_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7c00;
         h++) { /* between two neighbours; past the largest comes infinity */
        double a = value_of_f16(h), b = h == 0x7bff ? 65536 : value_of_f16(h + 1),
               middle = (a + b) / 2;
        unsigned even = h & 1 ? h + 1 : h;
        assert_int_equal(tess_f16bits_from_f32((float)middle), even);
        assert_int_equal(tess_f16bits_from_f64(middle), even);
        assert_int_equal(tess_f16bits_from_f32(nextafterf((float)middle, 0)), h);
        assert_int_equal(tess_f16bits_from_f32(nextafterf((float)middle, INFINITY)), h + 1);
        assert_int_equal(tess_f16bits_from_f64(nextafter(middle, 0)), h);
        assert_int_equal(tess_f16bits_from_f64(nextafter(-middle, -(double)INFINITY)),
                         0x8000 | (h + 1));
    }
    assert_int_equal(tess_f16bits_from_f32(0x1p-149f), 0);
    assert_int_equal(tess_f16bits_from_f64(0x1p-1074), 0);
    assert_int_equal(tess_f16bits_from_f64(1e300), 0x7c00);
    assert_true(same_f32(tess_f16_from_i32(2049), 2048)
                && same_f32(tess_f16_from_i64(INT64_MIN), -(float)INFINITY));
}

/* ---- Sorting ------------------------------------------------------------------------------------------- */
static void sorting_follows_the_total_order(void **state)
{
    (void)state;
    float inf = (float)INFINITY, nan = (float)NAN;
    float v[] = { 1, nan, -0.0f, inf, 0, -1, copysignf(nan, -1), -inf, 0x1p-149f };
    float want[] = { -inf, -1, -0.0f, 0, 0x1p-149f, 1, inf };
    tess_sort_f32(v, 9);
    assert_memory_equal(v, want, sizeof want);
    assert_true(isnan(v[7]) && isnan(v[8])); /* of either sign: the last */
    uint16_t h[] = { 0x3c00, 0x8000, 0, 0xfc00, 0x7e00, 0xfe00 },
             half[] = { 0xfc00, 0x8000, 0, 0x3c00 };
    tess_sort_f16(h, 6);
    assert_memory_equal(h, half, sizeof half);
    assert_true((h[4] & 0x7fff) == 0x7e00 && (h[5] & 0x7fff) == 0x7e00);
}

static void sorting_works_for_any_length(void **state)
{
    (void)state;
    uint64_t random = 3;
    static double d[1100];
    static int32_t i[1100];
    static uint8_t u[1100];
    for (int n = 0; n <= 1100; n = n < 140 ? n + 1 : n + 96) {
        int64_t sum = 0;
        for (int k = 0; k < n; k++) {
            uint64_t r = next_random(&random);
            d[k] = (double)(int64_t)r;
            i[k] = (int32_t)r;
            u[k] = (uint8_t)r;
            sum += i[k];
        }
        tess_sort_f64(d, n);
        tess_sort_i32(i, n);
        tess_sort_u8(u, n);
        for (int k = 0; k < n; k++) {
            sum -= i[k];
            assert_true(k == 0 || (d[k - 1] <= d[k] && i[k - 1] <= i[k] && u[k - 1] <= u[k]));
        }
        assert_true(sum == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_floats_are_within_their_bounds),
        cmocka_unit_test(unary_doubles_are_within_their_bounds),
        cmocka_unit_test(binary_functions_are_within_their_bounds),
        cmocka_unit_test(special_arguments_give_the_values_of_annex_f),
        cmocka_unit_test(low_exponentials_are_the_same),
        cmocka_unit_test(near_angles_are_the_same),
        cmocka_unit_test(powers_of_two_are_exact),
        cmocka_unit_test(rounding_is_as_in_c),
        cmocka_unit_test(min_and_max_choose_the_second_for_nan),
        cmocka_unit_test(float16_goes_there_and_back),
        cmocka_unit_test(float16_rounds_to_nearest_even),
        cmocka_unit_test(sorting_follows_the_total_order),
        cmocka_unit_test(sorting_works_for_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
