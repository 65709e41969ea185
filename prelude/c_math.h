/* The transcendental operators of generated C, and of the interpreters. Copied behind prelude/c.h, and compiled as
 * it says.
 *
 * Ours, so that every target computes the same bits: built from + - * / fma sqrt, integers and selections alone.
 * Errors stay below 1.6 units in the last place for float and 1.5 for double over the whole range
 * (tests/unit/test_prelude.c measures each function). Zeros, infinities and NaN are as in C's Annex F. Odd functions
 * work on |x| and put the sign back. The float functions are free of branches, so that loops over them become vector
 * code; of the double ones only sin, cos and tan branch, for arguments beyond 2^30. */
#ifndef TESSERA_PRELUDE_C_MATH_H
#define TESSERA_PRELUDE_C_MATH_H

#ifndef TESSERA_PRELUDE_C_H
#include "prelude/c.h"
#endif

TESS_FN float tess_flip_f32(float x, uint32_t sign)
{
    return tess_real_f32(tess_bits_f32(x) ^ sign);
}
TESS_FN double tess_flip_f64(double x, uint64_t sign)
{
    return tess_real_f64(tess_bits_f64(x) ^ sign);
}
TESS_FN uint32_t tess_sign_f32(float x)
{
    return tess_bits_f32(x) & 0x80000000u;
}
TESS_FN uint64_t tess_sign_f64(double x)
{
    return tess_bits_f64(x) & 0x8000000000000000u;
}

TESS_FN double tess_scale_f64(double x, int64_t k)
{
    int64_t halved = k >> 1;
    double a = tess_real_f64((uint64_t)(halved + 1023) << 52);
    double b = tess_real_f64((uint64_t)(k - halved + 1023) << 52);
    return x * a * b;
}
/* Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits: total, also for NaN. */
#define TESS_ROUNDER_F32 0x1.8p23f
#define TESS_ROUNDER_F64 0x1.8p52
/* 2^n * x for the n that stands in the low bits of u, |n| < 2 * 126; in two steps, so that subnormal results are
 * rounded once. */
TESS_FN float tess_scale_f32(float x, uint32_t u)
{
    uint32_t first = u << 22 & 0xff800000u;
    return x * tess_real_f32(first + 0x3f800000u) * tess_real_f32((u << 23) - first + 0x3f800000u);
}
/* e^r for the x = n * log(2) + r, n integer and |r| small, as p; t has n in its low bits. `fma` and `same` (a number
 * in all lanes) are those of T. */
#define TESS_EXP_STEPS_F32(T, fma, same, x)                                               \
    T t = fma(x, same(0x1.715476p+0f), same(TESS_ROUNDER_F32)), n = t - TESS_ROUNDER_F32; \
    T r = fma(n, same(0x1.05c61p-29f), fma(n, same(-0x1.62e43p-1f), x));                  \
    T p = fma(same(0x1.6acbcap-10f), r, same(0x1.123edap-7f));                            \
    p = fma(p, r, same(0x1.55584ep-5f));                                                  \
    p = fma(p, r, same(0x1.55548ap-3f));                                                  \
    p = fma(p, r, same(0x1.fffffcp-2f));                                                  \
    p = fma(p, r, same(1.0f));                                                            \
    p = fma(p, r, same(1.0f))
/* Less gives 0, by a factor of 0, since rounding what is below 2^-126 takes processors long; more gives infinity. */
#define TESS_EXP_LEAST_F32 (-175.3f)
#define TESS_EXP_MOST_F32  90.0f
#define TESS_SAME_F32(x)   (x)
/* 2^k * e^x */
TESS_FN float tess_scaled_exp_f32(float x, int32_t k)
{
    x = x < TESS_EXP_LEAST_F32 ? TESS_EXP_LEAST_F32 : x;
    x = x > TESS_EXP_MOST_F32 ? TESS_EXP_MOST_F32 : x;
    TESS_EXP_STEPS_F32(float, fmaf, TESS_SAME_F32, x);
    return tess_scale_f32(p, tess_bits_f32(t) + (uint32_t)k);
}
TESS_FN float tess_exp_f32(float x)
{
    return tess_scaled_exp_f32(x, 0);
}
/* e^x where the printer knows that x is not above 0, or NaN. 2^(n + 24) is 0 for the least n, -151, and else a normal
 * number, so that the last step alone rounds. */
#define TESS_EXP_LOW_LEAST_F32 (-104.6f)
TESS_FN float tess_exp_low_f32(float x)
{
    x = x < TESS_EXP_LOW_LEAST_F32 ? TESS_EXP_LOW_LEAST_F32 : x;
    TESS_EXP_STEPS_F32(float, fmaf, TESS_SAME_F32, x);
    return p * tess_real_f32((tess_bits_f32(t) << 23) + ((127u + 24u) << 23)) * 0x1p-24f;
}
/* 2^r for the x = n + r, n integer and |r| <= 1/2, as p; t has n in its low bits. */
#define TESS_EXP2_STEPS_F32(T, fma, same, x)                                     \
    T t = x + same(TESS_ROUNDER_F32), n = t - same(TESS_ROUNDER_F32), r = x - n; \
    T p = fma(same(0x1.4bd10cp-13f), r, same(0x1.5fbc36p-10f));                  \
    p = fma(p, r, same(0x1.3b21cap-7f));                                         \
    p = fma(p, r, same(0x1.c6ada8p-5f));                                         \
    p = fma(p, r, same(0x1.ebfbe6p-3f));                                         \
    p = fma(p, r, same(0x1.62e432p-1f));                                         \
    p = fma(p, r, same(1.0f))
#define TESS_EXP2_LEAST_F32 (-253.0f) /* as TESS_EXP_LEAST_F32 */
#define TESS_EXP2_MOST_F32  129.0f
TESS_FN float tess_exp2_f32(float x)
{
    x = x < TESS_EXP2_LEAST_F32 ? TESS_EXP2_LEAST_F32 : x;
    x = x > TESS_EXP2_MOST_F32 ? TESS_EXP2_MOST_F32 : x;
    TESS_EXP2_STEPS_F32(float, fmaf, TESS_SAME_F32, x);
    return tess_scale_f32(p, tess_bits_f32(t));
}
/* GPUs have an instruction: off by at most 2^-21 of its value, and 0 may stand for less than 2^-126 */
#ifndef TESS_EXP2_NEAR
TESS_FN float tess_exp2_near_f32(float x)
{
    return tess_exp2_f32(x);
}
#endif
/* x = 2^e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f + g. Any value for x that is not positive and
 * finite. */
typedef struct tess_log_parts_f32 {
    float e, f, g;
} tess_log_parts_f32;
TESS_FN tess_log_parts_f32 tess_log_split_f32(float x)
{
    bool tiny = x < 0x1p-126f;
    uint32_t u = tess_bits_f32(tess_select_f32(tiny, x * 0x1p23f, x)) - 0x3f3504f3u;
    float e = (float)((int32_t)u >> 23) - tess_select_f32(tiny, 23.0f, 0.0f);
    float f = tess_real_f32((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float p = fmaf(0x1.0fb078p-4f, f, -0x1.dbd122p-4f);
    p = fmaf(p, f, 0x1.e73a0ep-4f);
    p = fmaf(p, f, -0x1.fc6ae2p-4f);
    p = fmaf(p, f, 0x1.233acap-3f);
    p = fmaf(p, f, -0x1.555b5ep-3f);
    p = fmaf(p, f, 0x1.99a474p-3f);
    p = fmaf(p, f, -0x1.000008p-2f);
    p = fmaf(p, f, 0x1.555548p-2f);
    return TESS_MAKE_3(tess_log_parts_f32, e, f, f * f * fmaf(p, f, -0.5f));
}
/* The logarithm of x where it is not positive and finite, else `finite`. */
TESS_FN float tess_log_limits_f32(float x, float finite)
{
    float r = tess_select_f32(x > 0, finite, (float)NAN);
    r = tess_select_f32(x == 0, -(float)INFINITY, r);
    return tess_select_f32(x == (float)INFINITY, x, r);
}
TESS_FN float tess_log_f32(float x)
{
    tess_log_parts_f32 l = tess_log_split_f32(x);
    float small = l.f + fmaf(l.e, -0x1.05c61p-29f, l.g);
    return tess_log_limits_f32(x, fmaf(l.e, 0x1.62e43p-1f, small));
}
TESS_FN float tess_log2_f32(float x)
{
    tess_log_parts_f32 l = tess_log_split_f32(x);
    float small = fmaf(l.f, 0x1.4ae0cp-26f, l.g * 0x1.715476p+0f);
    return tess_log_limits_f32(x, l.e + fmaf(l.f, 0x1.715476p+0f, small));
}
TESS_FN float tess_log10_f32(float x)
{
    tess_log_parts_f32 l = tess_log_split_f32(x);
    float small = fmaf(l.f, -0x1.5b235ep-27f, l.g * 0x1.bcb7b2p-2f);
    small = fmaf(l.f, 0x1.bcb7b2p-2f, fmaf(l.e, -0x1.ec10cp-27f, small));
    return tess_log_limits_f32(x, fmaf(l.e, 0x1.344136p-2f, small));
}

#ifndef TESS_RATIO
/* a / b, of b neither near 0 nor large. */
TESS_FN double tess_ratio_f64(double a, double b)
{
    return a / b;
}
#endif
/* Of 2 atanh(s) / log(2) / s in powers of s^2, then of 2^r, the highest first. In a table, since kernels find operands
 * in constant memory for nothing, and load others with two instructions. */
TESS_TABLE double tess_pow_terms[] = {
    0x1.21b4101af61aap-2,  0x1.47952006e773fp-2, 0x1.a61a2ffcfc713p-2,  0x1.2776c292186dep-1,
    0x1.ec709dc53ce4bp-1,  0x1.71547652b8251p+1, 0x1.e2aa289e90a4ep-17, 0x1.446bd945bb2a6p-13,
    0x1.5da249c76e413p-10, 0x1.3b29da36710e9p-7, 0x1.c6b073169d828p-5,  0x1.ebfbe0a6ab069p-3,
    0x1.62e42ffcac62fp-1,  0x1.ffffffffab98dp-1,
};
/* In double, since the error of the logarithm is multiplied by up to 150. */
TESS_FN float tess_pow_f32(float x, float y)
{
    double a = fabs((double)x), d = (double)y;
    uint64_t u = tess_bits_f64(a) - 0x3fe6a09e667f3bcdu;
    double e = (double)((int32_t)(u >> 32) >> 20);
    double m = tess_real_f64((u & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double s = tess_ratio_f64(m - 1.0, m + 1.0), z = s * s;
    double l = fma(tess_pow_terms[0], z, tess_pow_terms[1]);
    l = fma(l, z, tess_pow_terms[2]);
    l = fma(l, z, tess_pow_terms[3]);
    l = fma(l, z, tess_pow_terms[4]);
    l = fma(l, z, tess_pow_terms[5]);
    l = fma(l, s, e); /* log2(a) for 0 < a < inf */
    l = tess_select_f64(a == 0, -(double)INFINITY, l);
    l = tess_select_f64(a < (double)INFINITY, l, a);

    double w = d * l;
    w = tess_select_f64(w < -300.0, -300.0, w); /* branches would keep GCC from vectors */
    w = tess_select_f64(w > 300.0, 300.0, w);
    double t = w + TESS_ROUNDER_F64, r = w - (t - TESS_ROUNDER_F64);
    double p = fma(tess_pow_terms[6], r, tess_pow_terms[7]);
    p = fma(p, r, tess_pow_terms[8]);
    p = fma(p, r, tess_pow_terms[9]);
    p = fma(p, r, tess_pow_terms[10]);
    p = fma(p, r, tess_pow_terms[11]);
    p = fma(p, r, tess_pow_terms[12]);
    p = fma(p, r, tess_pow_terms[13]);
    float power = (float)(p * tess_real_f64((tess_bits_f64(t) + 1023u) << 52));
    float halved = 0.5f * y;
    bool whole = truncf(y) == y, odd = whole & (truncf(halved) != halved);
    power = tess_flip_f32(power, tess_sign_f32(x) & ((uint32_t)0 - (uint32_t)odd));
    bool undefined = (x < 0) & (x > -(float)INFINITY) & !whole;
    power = tess_select_f32(undefined & (y == y), (float)NAN, power);
    bool one = (x == 1) | (y == 0) | ((x == -1) & (fabsf(y) == (float)INFINITY));
    return tess_select_f32(one, 1.0f, power);
}
/* The byte next to scale * pow(x, y), 0.16 <= y <= 4. Quick logarithms and powers of 2 are off by less than 2^-22 of
 * them (logarithms between -1 and 1 by less than 2^-22), so the product by less than half of `off`, roundings of what
 * is meant included: only near the middle between two bytes, and of negative x, is the power itself computed. */
TESS_FN uint8_t tess_sat_u8_power_f32(float scale, float x, float y)
{
#ifdef TESS_QUICK_LOG2
    const float w = y * TESS_QUICK_LOG2(x > 0x1p-126f ? x : 0x1p-126f);
    const float v = scale * TESS_QUICK_EXP2(w), apart = fabsf(v - rintf(v));
    const float off = v * (0x1p-21f * (3.0f + y + fabsf(w)));
    if (TESS_LIKELY((x >= 0) & (apart + off < 0.5f)))
        return tess_sat_u8_from_f32(v);
#endif
    return tess_sat_u8_from_f32(scale * tess_pow_f32(x, y));
}
/* |x| = quadrant * pi/2 + angle, |angle| <= pi/4 and a little; the quadrant modulo 4. */
typedef struct tess_angle_f32 {
    double angle;
    uint32_t quadrant;
} tess_angle_f32;
#define TESS_NO_ANGLE TESS_MAKE_2(tess_angle_f32, 0.0, 0u)
/* For 2^15 <= a < inf, else anything: multiplies a's 24 bits with those 128 bits of 2/pi that do not give whole
 * turns. */
TESS_FN tess_angle_f32 tess_reduce_huge_f32(float a)
{
    uint32_t u = tess_bits_f32(a), shift = ((u >> 23) - 142u) & 127u, by = shift & 63u;
    uint64_t mantissa = (u & 0x7fffffu) | 0x800000u;
    bool far = shift >= 64;
    uint64_t w0 = far ? 0x4a7f09d5f47d4d37u : 0x0028be60db939105u;
    uint64_t w1 = far ? 0x7036d8a5664f10e4u : 0x4a7f09d5f47d4d37u;
    uint64_t w2 = far ? 0x107f9458eaf7aef1u : 0x7036d8a5664f10e4u;
    uint64_t hi = w0 << by | w1 >> 1 >> (63u - by), lo = w1 << by | w2 >> 1 >> (63u - by);
    uint64_t turn = mantissa * hi + (mantissa * (lo >> 32) >> 32); /* in units of 2^-64 turns */
    uint64_t quadrant = (turn + 0x2000000000000000u) >> 62;
    uint64_t fraction = turn - (quadrant << 62);
    double high = (double)(int32_t)(uint32_t)(fraction >> 32),
           low = (double)(int32_t)((uint32_t)fraction >> 1);
    return TESS_MAKE_2(tess_angle_f32, fma(low, 0x1p-31, high) * (0x1.921fb54442d18p+0 * 0x1p-30),
                       (uint32_t)quadrant);
}
/* sin(|x| + shift * pi/2); near: |x| < 2^15, or NaN */
TESS_FN float tess_sin_of_quadrant_f32(float x, uint32_t shift, bool near)
{
    float a = fabsf(x), t = fmaf(a, 0x1.45f306p-1f, TESS_ROUNDER_F32), n = t - TESS_ROUNDER_F32;
    float r = fmaf(-n, 0x1.921fb6p+0f, a);
    r = fmaf(-n, -0x1.777a5cp-25f, r);
    r = fmaf(-n, -0x1.ee59dap-50f, r);
    bool huge = !near & (a >= 0x1p15f);
    tess_angle_f32 h = TESS_REDUCE_HUGE(near, a) ? tess_reduce_huge_f32(a) : TESS_NO_ANGLE;
    r = tess_select_f32(huge, (float)h.angle, r);
    uint32_t q = tess_select_u32(huge, h.quadrant, tess_bits_f32(t)) + shift;
    float z = r * r;
    float s = fmaf(fmaf(-0x1.994ebap-13f, z, 0x1.11077ap-7f), z, -0x1.555546p-3f);
    float c = fmaf(fmaf(0x1.99e0fp-16f, z, -0x1.6c0c1ap-10f), z, 0x1.55554ap-5f);
    s = fmaf(s, r * z, r);
    c = fmaf(fmaf(c, z, -0.5f), z, 1.0f);
    float y = tess_flip_f32(tess_blend_f32((uint32_t)0 - (q & 1u), c, s), (q & 2u) << 30);
    return tess_select_f32(a < (float)INFINITY, y, (float)NAN);
}
TESS_FN float tess_sin_f32(float x)
{
    return tess_flip_f32(tess_sin_of_quadrant_f32(x, 0, false), tess_sign_f32(x));
}
TESS_FN float tess_cos_f32(float x)
{
    return tess_sin_of_quadrant_f32(x, 1, false);
}
TESS_FN float tess_tan_f32(float x)
{
    float a = fabsf(x);
    double t = fma((double)a, 0x1.45f306dc9c883p-1, TESS_ROUNDER_F64), n = t - TESS_ROUNDER_F64;
    double r = fma(-n, 0x1.1a62633145c07p-54, fma(-n, 0x1.921fb54442d18p+0, (double)a));
    bool huge = a >= 0x1p15f;
    tess_angle_f32 h = TESS_REDUCE_HUGE(false, a) ? tess_reduce_huge_f32(a) : TESS_NO_ANGLE;
    r = tess_select_f64(huge, h.angle, r);
    uint32_t q = tess_select_u32(huge, h.quadrant, (uint32_t)tess_bits_f64(t));
    double z = r * r;
    double s = fma(fma(-0x1.994ebap-13, z, 0x1.11077ap-7), z, -0x1.555546p-3);
    double c = fma(fma(0x1.99e0fp-16, z, -0x1.6c0c1ap-10), z, 0x1.55554ap-5);
    s = fma(s, r * z, r);
    c = fma(fma(c, z, -0.5), z, 1.0);
    uint64_t odd = (uint64_t)0 - (uint64_t)(q & 1u);
    double y = tess_blend_f64(odd, -c, s) / tess_blend_f64(odd, s, c);
    return tess_select_f32(a < (float)INFINITY, tess_flip_f32((float)y, tess_sign_f32(x)),
                           (float)NAN);
}
/* (atan(a) - a) for 0 <= a <= 1 */
TESS_FN float tess_atan_tail_f32(float a)
{
    float z = a * a;
    float p = fmaf(-0x1.d41a5cp-10f, z, 0x1.6471a8p-7f);
    p = fmaf(p, z, -0x1.fdacdp-6f);
    p = fmaf(p, z, 0x1.da3784p-5f);
    p = fmaf(p, z, -0x1.580afcp-4f);
    p = fmaf(p, z, 0x1.c08c8cp-4f);
    p = fmaf(p, z, -0x1.242088p-3f);
    p = fmaf(p, z, 0x1.9991e4p-3f);
    p = fmaf(p, z, -0x1.55553ep-2f);
    return a * z * p;
}
/* The angle of the point (x, y), x and y >= 0 or NaN. */
TESS_FN float tess_angle_of_f32(float y, float x)
{
    float most = x < y ? y : x, least = x < y ? x : y;
    float q = tess_select_f32(least == most, tess_select_f32(most == 0, 0.0f, 1.0f), least / most);
    float tail = tess_atan_tail_f32(q);
    float beyond = 0x1.921fb6p+0f - (q + (tail - -0x1.777a5cp-25f));
    return tess_select_f32(x < y, beyond, q + tail);
}
TESS_FN float tess_atan_f32(float x)
{
    return tess_flip_f32(tess_angle_of_f32(fabsf(x), 1.0f), tess_sign_f32(x));
}
TESS_FN float tess_atan2_f32(float y, float x)
{
    float angle = tess_angle_of_f32(fabsf(y), fabsf(x));
    angle =
        tess_select_f32(tess_sign_f32(x) != 0, 0x1.921fb6p+1f - (angle - -0x1.777a5cp-24f), angle);
    return tess_flip_f32(angle, tess_sign_f32(y));
}
/* For |x| <= 1/2: asin|x| = s + tail with s = |x|; else asin|x| = pi/2 - 2 (s + tail) with s = sqrt((1 - |x|) / 2). */
typedef struct tess_asin_parts_f32 {
    float s, tail;
} tess_asin_parts_f32;
TESS_FN tess_asin_parts_f32 tess_asin_split_f32(float a)
{
    float z = tess_select_f32(a > 0.5f, fmaf(-0.5f, a, 0.5f), a * a);
    float s = tess_select_f32(a > 0.5f, sqrtf(z), a);
    float p = fmaf(0x1.59a33ep-5f, z, 0x1.8c083cp-6f);
    p = fmaf(p, z, 0x1.747e76p-5f);
    p = fmaf(p, z, 0x1.3301fcp-4f);
    p = fmaf(p, z, 0x1.5555c8p-3f);
    return TESS_MAKE_2(tess_asin_parts_f32, s, s * z * p);
}
TESS_FN float tess_asin_f32(float x)
{
    float a = fabsf(x);
    tess_asin_parts_f32 q = tess_asin_split_f32(a);
    float most = fmaf(-2.0f, q.s, 0x1.921fb6p+0f), lost = fmaf(-2.0f, q.s, 0x1.921fb6p+0f - most);
    float far = most + (lost - fmaf(2.0f, q.tail, 0x1.777a5cp-25f));
    return tess_flip_f32(tess_select_f32(a > 0.5f, far, q.s + q.tail), tess_sign_f32(x));
}
TESS_FN float tess_acos_f32(float x)
{
    float a = fabsf(x);
    tess_asin_parts_f32 q = tess_asin_split_f32(a);
    float near = 0x1.921fb6p+0f - (x + (tess_flip_f32(q.tail, tess_sign_f32(x)) + 0x1.777a5cp-25f));
    float far = 2.0f * (q.s + q.tail);
    far = tess_select_f32(x < 0, 0x1.921fb6p+1f - (far + 0x1.777a5cp-24f), far);
    return tess_select_f32(a > 0.5f, far, near);
}

TESS_FN float tess_sinh_f32(float x)
{
    float a = fabsf(x), z = a * a;
    float p = fmaf(0x1.7572cep-19f, z, 0x1.a022b6p-13f);
    p = fmaf(p, z, 0x1.1110ep-7f);
    p = fmaf(p, z, 0x1.555556p-3f);
    float halved = tess_scaled_exp_f32(a, -1);
    float y = tess_select_f32(a < 1, fmaf(p, a * z, a), halved - 0.25f / halved);
    return tess_flip_f32(y, tess_sign_f32(x));
}
TESS_FN float tess_cosh_f32(float x)
{
    float halved = tess_scaled_exp_f32(fabsf(x), -1);
    return halved + 0.25f / halved;
}
TESS_FN float tess_tanh_f32(float x)
{
    float a = fabsf(x), z = a * a;
    float p = fmaf(-0x1.717c66p-8f, z, 0x1.512fdp-6f);
    p = fmaf(p, z, -0x1.b8175ep-5f);
    p = fmaf(p, z, 0x1.110614p-3f);
    p = fmaf(p, z, -0x1.55552ep-2f);
    float far = 1.0f - 2.0f / (tess_exp_f32(a + a) + 1.0f);
    return tess_flip_f32(tess_select_f32(a < 0.625f, fmaf(p, a * z, a), far), tess_sign_f32(x));
}
/* Halley's iteration from a guess that divides the exponent by 3; each step triples the good digits. */
TESS_FN double tess_cbrt_near(double a)
{
    uint32_t high = (uint32_t)(tess_bits_f64(a) >> 32);
    double t = tess_real_f64((uint64_t)(high / 3 + 0x2a9f7893u) << 32);
    for (int k = 0; k < 2; k++) {
        double cube = t * t * t;
        t = t * (fma(0.25, cube, 0.5 * a) / fma(0.5, cube, 0.25 * a));
    }
    return t;
}
TESS_FN float tess_cbrt_f32(float x)
{
    float a = fabsf(x), root = tess_flip_f32((float)tess_cbrt_near((double)a), tess_sign_f32(x));
    return tess_select_f32((a > 0) & (a < (float)INFINITY), root, x);
}
TESS_FN float tess_hypot_f32(float x, float y)
{
    float h = (float)sqrt(fma((double)x, (double)x, (double)y * (double)y));
    bool infinite = (fabsf(x) == (float)INFINITY) | (fabsf(y) == (float)INFINITY);
    return tess_select_f32(infinite, (float)INFINITY, h);
}
/* ---- The same in double, where a value often goes as a sum hi + lo of two ----------------------------- */
typedef struct tess_pair {
    double hi, lo;
} tess_pair;
TESS_FN tess_pair tess_pair_sum(double a, double b) /* |a| >= |b| or a == 0 */
{
    double s = a + b;
    return TESS_MAKE_2(tess_pair, s, (a - s) + b);
}
TESS_FN tess_pair tess_pair_product(double a, double b)
{
    double p = a * b;
    return TESS_MAKE_2(tess_pair, p, fma(a, b, -p));
}
TESS_FN int64_t tess_rounded_f64(double t)
{
    return (int64_t)(tess_bits_f64(t) << 12) >> 12;
}
/* e^(hi + lo) = 2^k * (1 + r + rest) */
typedef struct tess_exp_parts_f64 {
    double r, rest;
    int64_t k;
} tess_exp_parts_f64;
TESS_FN tess_exp_parts_f64 tess_exp_split_f64(double hi, double lo)
{
    hi = hi < -1417.4 ? -1417.4 : hi; /* as TESS_EXP_LEAST_F32 */
    hi = hi > 711.0 ? 711.0 : hi;
    double t = fma(hi, 0x1.71547652b82fep+0, TESS_ROUNDER_F64), n = t - TESS_ROUNDER_F64;
    double far = fma(-n, 0x1.62e42fefa39efp-1, hi);
    double near = fma(-n, 0x1.abc9e3b39803fp-56, lo), r = far + near, tail = (far - r) + near;
    double p = fma(0x1.20e5073b6eed4p-29, r, 0x1.af7d6f73954p-26);
    p = fma(p, r, 0x1.27e3fba9a8cap-22);
    p = fma(p, r, 0x1.71dde57bd96bep-19);
    p = fma(p, r, 0x1.a01a020475903p-16);
    p = fma(p, r, 0x1.a01a01b7fb2fdp-13);
    p = fma(p, r, 0x1.6c16c16c06912p-10);
    p = fma(p, r, 0x1.111111110e04cp-7);
    p = fma(p, r, 0x1.5555555555571p-5);
    p = fma(p, r, 0x1.555555555555ep-3);
    p = fma(p, r, 0.5);
    p = fma(p, r * r, fma(tail, r, tail));
    return TESS_MAKE_3(tess_exp_parts_f64, r, p, tess_rounded_f64(t));
}
TESS_FN double tess_scaled_exp_f64(double hi, double lo, int64_t k)
{
    tess_exp_parts_f64 q = tess_exp_split_f64(hi, lo);
    return tess_scale_f64(1.0 + (q.r + q.rest), q.k + k);
}
TESS_FN double tess_exp_f64(double x)
{
    return tess_scaled_exp_f64(x, 0.0, 0);
}
TESS_FN double tess_exp2_f64(double x)
{
    x = x < -2045.0 ? -2045.0 : x;
    x = x > 1100.0 ? 1100.0 : x;
    double t = x + TESS_ROUNDER_F64, r = x - (t - TESS_ROUNDER_F64);
    tess_pair l = tess_pair_product(r, 0x1.62e42fefa39efp-1);
    return tess_scaled_exp_f64(l.hi, fma(r, 0x1.abc9e3b39803fp-56, l.lo), tess_rounded_f64(t));
}
TESS_FN double tess_exp2_near_f64(double x)
{
    return tess_exp2_f64(x);
}
/* e^x - 1 for 0 <= x < 700 */
TESS_FN tess_pair tess_expm1_pair(double x)
{
    tess_exp_parts_f64 q = tess_exp_split_f64(x, 0.0);
    double scale = tess_scale_f64(1.0, q.k);
    tess_pair p = tess_pair_sum(q.r, q.rest), m = tess_pair_sum(scale - 1.0, scale * p.hi);
    return tess_pair_sum(m.hi, fma(scale, p.lo, m.lo));
}
/* x = 2^e * m, sqrt(1/2) <= m < sqrt(2); log(m) = hi + lo to about 2^-65. Any value for x that is not positive and
 * finite. */
typedef struct tess_log_parts_f64 {
    double e;
    tess_pair log;
} tess_log_parts_f64;
TESS_FN tess_log_parts_f64 tess_log_split_f64(double x)
{
    bool tiny = x < 0x1p-1022;
    uint64_t u = tess_bits_f64(tess_select_f64(tiny, x * 0x1p52, x)) - 0x3fe6a09e667f3bcdu;
    double e = (double)((int32_t)(u >> 32) >> 20) - tess_select_f64(tiny, 52.0, 0.0);
    double m = tess_real_f64((u & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
    /* log(m) = 2 atanh(s) = s (2 + z (2/3 + z q)), s = (m - 1) / (m + 1), z = s^2 */
    double f = m - 1.0, d = 1.0 + m, d_lo = m - (d - 1.0), inverse = 1.0 / d;
    double s = f * inverse, s_lo = (fma(-s, d, f) - s * d_lo) * inverse;
    tess_pair z = tess_pair_product(s, s);
    z.lo = fma(s + s, s_lo, z.lo);
    double q = fma(0x1.0e45595db000bp-3, z.hi, 0x1.0f7fa24748d71p-3);
    q = fma(q, z.hi, 0x1.3b1eeefec5ecep-3);
    q = fma(q, z.hi, 0x1.745ce9d395308p-3);
    q = fma(q, z.hi, 0x1.c71c722d92abap-3);
    q = fma(q, z.hi, 0x1.2492492457b75p-2);
    q = fma(q, z.hi, 0x1.9999999999b31p-2);
    tess_pair c = tess_pair_sum(0x1.5555555555555p-1, z.hi * q);
    c.lo += 0x1.5555555555555p-55;
    tess_pair w = tess_pair_product(z.hi, c.hi);
    w.lo += fma(z.hi, c.lo, z.lo * c.hi);
    tess_pair p = tess_pair_product(s, w.hi), l = tess_pair_sum(s + s, p.hi);
    l.lo += p.lo + fma(s, w.lo, s_lo * w.hi) + (s_lo + s_lo);
    return TESS_MAKE_2(tess_log_parts_f64, e, l);
}
TESS_FN double tess_log_limits_f64(double x, double finite)
{
    double r = tess_select_f64(x > 0, finite, (double)NAN);
    r = tess_select_f64(x == 0, -(double)INFINITY, r);
    return tess_select_f64(x == (double)INFINITY, x, r);
}
/* log(x) for 0 < x < inf */
TESS_FN tess_pair tess_log_pair(double x)
{
    tess_log_parts_f64 q = tess_log_split_f64(x);
    tess_pair n = tess_pair_product(q.e, 0x1.62e42fefa39efp-1), sum = tess_pair_sum(n.hi, q.log.hi);
    double lo = sum.lo + (fma(q.e, 0x1.abc9e3b39803fp-56, n.lo) + q.log.lo);
    return tess_pair_sum(sum.hi, lo);
}
TESS_FN double tess_log_f64(double x)
{
    return tess_log_limits_f64(x, tess_log_pair(x).hi);
}
TESS_FN double tess_log2_f64(double x)
{
    tess_log_parts_f64 q = tess_log_split_f64(x);
    tess_pair l = tess_pair_product(q.log.hi, 0x1.71547652b82fep+0), sum = tess_pair_sum(q.e, l.hi);
    l.lo += fma(q.log.hi, 0x1.777d0ffda0d24p-56, q.log.lo * 0x1.71547652b82fep+0);
    return tess_log_limits_f64(x, sum.hi + (sum.lo + l.lo));
}
TESS_FN double tess_log10_f64(double x)
{
    tess_log_parts_f64 q = tess_log_split_f64(x);
    tess_pair n = tess_pair_product(q.e, 0x1.34413509f79ffp-2);
    tess_pair l = tess_pair_product(q.log.hi, 0x1.bcb7b1526e50ep-2),
              sum = tess_pair_sum(n.hi, l.hi);
    n.lo = fma(q.e, -0x1.9dc1da994fd21p-59, n.lo);
    l.lo += fma(q.log.hi, 0x1.95355baaafad3p-57, q.log.lo * 0x1.bcb7b1526e50ep-2);
    return tess_log_limits_f64(x, sum.hi + (sum.lo + (n.lo + l.lo)));
}
TESS_FN double tess_pow_f64(double x, double y)
{
    double a = fabs(x);
    tess_pair l = tess_log_pair(a);
    l.hi = tess_log_limits_f64(a, l.hi);
    tess_pair w = tess_pair_product(y, l.hi);
    w.lo = tess_select_f64(fabs(w.hi) < 800.0, fma(y, l.lo, w.lo), 0.0);
    double power = tess_scaled_exp_f64(w.hi, w.lo, 0);

    double halved = 0.5 * y;
    bool whole = trunc(y) == y, odd = whole & (trunc(halved) != halved);
    power = tess_flip_f64(power, tess_sign_f64(x) & ((uint64_t)0 - (uint64_t)odd));
    bool undefined = (x < 0) & (x > -(double)INFINITY) & !whole;
    power = tess_select_f64(undefined & (y == y), (double)NAN, power);
    bool one = (x == 1) | (y == 0) | ((x == -1) & (fabs(y) == (double)INFINITY));
    return tess_select_f64(one, 1.0, power);
}

typedef struct tess_angle_f64 {
    tess_pair angle;
    uint32_t quadrant;
} tess_angle_f64;
TESS_FN uint64_t tess_high_product(uint64_t a, uint64_t b)
{
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & 0xffffffffu)) >> 32);
}
TESS_TABLE uint64_t tess_two_over_pi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};
/* For 2^30 <= a < inf; as tess_reduce_huge_f32, with 53 bits of a and 192 of 2/pi. */
TESS_BIG_FN tess_angle_f64 tess_reduce_huge_f64(double a)
{
    uint64_t u = tess_bits_f64(a), mantissa = (u & 0xfffffffffffffu) | 0x10000000000000u;
    unsigned shift = (unsigned)(u >> 52) - 1075u + 62u, by = shift & 63u;
    unsigned first = shift >> 6 < 17 ? shift >> 6 : 0;
    uint64_t window[3];
    for (unsigned k = 0; k < 3; k++)
        window[k] =
            tess_two_over_pi[first + k] << by | tess_two_over_pi[first + k + 1] >> 1 >> (63u - by);
    uint64_t low = mantissa * window[1], carry = tess_high_product(mantissa, window[2]);
    low += carry;
    uint64_t turn = mantissa * window[0] + tess_high_product(mantissa, window[1]) + (low < carry);
    uint64_t quadrant = (turn + 0x2000000000000000u) >> 62;
    int64_t high = (int64_t)(turn - (quadrant << 62));
    /* The signed fraction high:low of 2^-64 turns as a pair, then times pi/2. */
    double top = (double)(high >> 11) * 0x1p-51;
    double rest = (double)(((uint64_t)high & 0x7ffu) << 53 | low >> 11) * 0x1p-115;
    tess_pair f = tess_pair_sum(top, rest), r = tess_pair_product(f.hi, 0x1.921fb54442d18p+0);
    r.lo += fma(f.hi, 0x1.1a62633145c07p-54, f.lo * 0x1.921fb54442d18p+0);
    return TESS_MAKE_2(tess_angle_f64, r, (uint32_t)quadrant);
}
TESS_FN tess_angle_f64 tess_reduce_f64(double a)
{
    if (a >= 0x1p30)
        return tess_reduce_huge_f64(a);
    double t = fma(a, 0x1.45f306dc9c883p-1, TESS_ROUNDER_F64), n = t - TESS_ROUNDER_F64;
    double far = fma(-n, 0x1.921fb54442d18p+0, a);
    tess_pair p = tess_pair_product(n, 0x1.1a62633145c07p-54);
    double r = far - p.hi, b = far - r; /* r + error = far - p.hi */
    double error = (far - (r + b)) + (b - p.hi);
    double lo = error - fma(n, -0x1.f1976b7ed8fbcp-110, p.lo);
    return TESS_MAKE_2(tess_angle_f64, tess_pair_sum(r, lo), (uint32_t)tess_bits_f64(t));
}
TESS_FN tess_pair tess_sin_pair(tess_pair r)
{
    double z = r.hi * r.hi;
    double s = fma(0x1.5d92997d0e3f7p-33, z, -0x1.ae5e65682ac26p-26);
    s = fma(s, z, 0x1.71de35779686fp-19);
    s = fma(s, z, -0x1.a01a019c12e59p-13);
    s = fma(s, z, 0x1.111111110f896p-7);
    s = fma(s, z, -0x1.5555555555549p-3);
    return tess_pair_sum(r.hi, fma(s, r.hi * z, fma(-0.5 * z, r.lo, r.lo)));
}
TESS_FN tess_pair tess_cos_pair(tess_pair r)
{
    double z = r.hi * r.hi, most = fma(-0.5, z, 1.0);
    double c = fma(-0x1.8fb01d67ad6fbp-37, z, 0x1.1ee9ef850663cp-29);
    c = fma(c, z, -0x1.27e4f810882cp-22);
    c = fma(c, z, 0x1.a01a019cbd25ap-16);
    c = fma(c, z, -0x1.6c16c16c15212p-10);
    c = fma(c, z, 0x1.555555555554cp-5);
    double rest = fma(-0.5, z, 1.0 - most);
    return tess_pair_sum(most, rest + fma(c, z * z, -(r.hi * r.lo)));
}
TESS_FN double tess_sin_of_quadrant_f64(double x, uint32_t shift)
{
    tess_angle_f64 q = tess_reduce_f64(fabs(x));
    uint32_t n = q.quadrant + shift;
    double y = tess_select_f64((n & 1u) != 0, tess_cos_pair(q.angle).hi, tess_sin_pair(q.angle).hi);
    y = tess_flip_f64(y, (uint64_t)(n & 2u) << 62);
    return tess_select_f64(fabs(x) < (double)INFINITY, y, (double)NAN);
}
TESS_FN double tess_sin_f64(double x)
{
    return tess_flip_f64(tess_sin_of_quadrant_f64(x, 0), tess_sign_f64(x));
}
TESS_FN double tess_cos_f64(double x)
{
    return tess_sin_of_quadrant_f64(x, 1);
}
TESS_FN double tess_tan_f64(double x)
{
    tess_angle_f64 q = tess_reduce_f64(fabs(x));
    tess_pair s = tess_sin_pair(q.angle), c = tess_cos_pair(q.angle);
    bool odd = (q.quadrant & 1u) != 0;
    tess_pair n = { tess_select_f64(odd, -c.hi, s.hi), tess_select_f64(odd, -c.lo, s.lo) };
    tess_pair d = { tess_select_f64(odd, s.hi, c.hi), tess_select_f64(odd, s.lo, c.lo) };
    double t = n.hi / d.hi, rest = fma(-t, d.hi, n.hi) + fma(-t, d.lo, n.lo);
    double y = tess_select_f64(q.angle.hi == 0, t, t + rest / d.hi);
    return tess_select_f64(fabs(x) < (double)INFINITY, tess_flip_f64(y, tess_sign_f64(x)),
                           (double)NAN);
}

TESS_FN double tess_atan_tail_f64(double a)
{
    double z = a * a;
    double p = fma(0x1.bbed60a3f360bp-17, z, -0x1.3f360ddb6fd4ap-13);
    p = fma(p, z, 0x1.b3fa65b650bc1p-11);
    p = fma(p, z, -0x1.7a393d83299e7p-9);
    p = fma(p, z, 0x1.d7b8b81e54c8ep-8);
    p = fma(p, z, -0x1.c78f6f5e61acap-7);
    p = fma(p, z, 0x1.683c8f7416749p-6);
    p = fma(p, z, -0x1.e9f9d79eadfbbp-6);
    p = fma(p, z, 0x1.2c2e499a0de57p-5);
    p = fma(p, z, -0x1.59a3f4a61f0ddp-5);
    p = fma(p, z, 0x1.82dad32bb68a1p-5);
    p = fma(p, z, -0x1.ae5e714f753f3p-5);
    p = fma(p, z, 0x1.e1bba6109dbd6p-5);
    p = fma(p, z, -0x1.110e511e7c499p-4);
    p = fma(p, z, 0x1.3b13669901fafp-4);
    p = fma(p, z, -0x1.745d11ae58872p-4);
    p = fma(p, z, 0x1.c71c717fcdb33p-4);
    p = fma(p, z, -0x1.249249237f4fbp-3);
    p = fma(p, z, 0x1.99999999955b2p-3);
    p = fma(p, z, -0x1.5555555555526p-2);
    return a * z * p;
}
TESS_FN double tess_angle_of_f64(double y, double x)
{
    double most = x < y ? y : x, least = x < y ? x : y;
    double q = tess_select_f64(least == most, tess_select_f64(most == 0, 0.0, 1.0), least / most);
    double tail = tess_atan_tail_f64(q);
    double beyond = 0x1.921fb54442d18p+0 - (q + (tail - 0x1.1a62633145c07p-54));
    return tess_select_f64(x < y, beyond, q + tail);
}
TESS_FN double tess_atan_f64(double x)
{
    return tess_flip_f64(tess_angle_of_f64(fabs(x), 1.0), tess_sign_f64(x));
}
TESS_FN double tess_atan2_f64(double y, double x)
{
    double angle = tess_angle_of_f64(fabs(y), fabs(x));
    angle = tess_select_f64(tess_sign_f64(x) != 0,
                            0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53), angle);
    return tess_flip_f64(angle, tess_sign_f64(y));
}

typedef struct tess_asin_parts_f64 {
    double s, tail;
} tess_asin_parts_f64;
TESS_FN tess_asin_parts_f64 tess_asin_split_f64(double a)
{
    bool far = a > 0.5;
    double z = tess_select_f64(far, fma(-0.5, a, 0.5), a * a), root = sqrt(z);
    double s = tess_select_f64(far, root, a);
    double s_lo = tess_select_f64(far & (root > 0), fma(-root, root, z) / (root + root), 0.0);
    double p = fma(0x1.0bb7df544d42cp-5, z, -0x1.595c6fd70d146p-6);
    p = fma(p, z, 0x1.648b095bb1da2p-6);
    p = fma(p, z, 0x1.e30a45b71693ap-9);
    p = fma(p, z, 0x1.616b13567cf23p-7);
    p = fma(p, z, 0x1.757ddad318109p-7);
    p = fma(p, z, 0x1.ca206703f1564p-7);
    p = fma(p, z, 0x1.1c49e868fd08dp-6);
    p = fma(p, z, 0x1.6e8bdf3eb4f66p-6);
    p = fma(p, z, 0x1.f1c71a92628c8p-6);
    p = fma(p, z, 0x1.6db6db7216cf2p-5);
    p = fma(p, z, 0x1.333333332e10bp-4);
    p = fma(p, z, 0x1.5555555555577p-3);
    return TESS_MAKE_2(tess_asin_parts_f64, s, fma(s * z, p, s_lo));
}
TESS_FN double tess_asin_f64(double x)
{
    double a = fabs(x);
    tess_asin_parts_f64 q = tess_asin_split_f64(a);
    tess_pair most = tess_pair_sum(0x1.921fb54442d18p+0, -2.0 * q.s);
    double far = most.hi + (most.lo - fma(2.0, q.tail, -0x1.1a62633145c07p-54));
    return tess_flip_f64(tess_select_f64(a > 0.5, far, q.s + q.tail), tess_sign_f64(x));
}
TESS_FN double tess_acos_f64(double x)
{
    double a = fabs(x);
    tess_asin_parts_f64 q = tess_asin_split_f64(a);
    double near = 0x1.921fb54442d18p+0
                  - (x + (tess_flip_f64(q.tail, tess_sign_f64(x)) - 0x1.1a62633145c07p-54));
    double far = 2.0 * (q.s + q.tail);
    far = tess_select_f64(x < 0, 0x1.921fb54442d18p+1 - (far - 0x1.1a62633145c07p-53), far);
    return tess_select_f64(a > 0.5, far, near);
}

TESS_FN double tess_sinh_f64(double x)
{
    double a = fabs(x), far = tess_scaled_exp_f64(a, 0.0, -1);
    tess_pair m = tess_expm1_pair(a < 30.0 ? a : 30.0);
    double q = m.hi / (m.hi + 1.0), near = m.hi - (0.5 * m.hi * q - m.lo);
    /* Either way the term with q, which has the error of two roundings, is the smaller one. */
    near = tess_select_f64(a < 0.35, near, 0.5 * (m.hi + (q + m.lo)));
    return tess_flip_f64(tess_select_f64(a < 30.0, near, far), tess_sign_f64(x));
}
TESS_FN double tess_cosh_f64(double x)
{
    double halved = tess_scaled_exp_f64(fabs(x), 0.0, -1);
    return halved + 0.25 / halved;
}
TESS_FN double tess_tanh_f64(double x)
{
    double a = fabs(x);
    tess_pair m = tess_expm1_pair(a > 30.0 ? 60.0 : a + a);
    double d = m.hi + 2.0, lost = m.hi - (d - 2.0), t = m.hi / d;
    t += fma(-t, lost + m.lo, fma(-t, d, m.hi) + m.lo) / d; /* the remainder of the division */
    return tess_flip_f64(t, tess_sign_f64(x));
}

TESS_FN double tess_cbrt_f64(double x)
{
    double a = fabs(x);
    bool tiny = a<0x1p-1022, vast = a> 0x1p1000, inside = (a > 0) & (a < (double)INFINITY);
    a *= tess_select_f64(tiny, 0x1p54, tess_select_f64(vast, 0x1p-54, 1.0));
    double t = tess_cbrt_near(a);
    tess_pair square = tess_pair_product(t, t); /* one step of Newton with the exact remainder */
    t -= fma(square.lo, t, fma(square.hi, t, -a)) / (3.0 * square.hi);
    t *= tess_select_f64(tiny, 0x1p-18, tess_select_f64(vast, 0x1p18, 1.0));
    return tess_select_f64(inside, tess_flip_f64(t, tess_sign_f64(x)), x);
}
TESS_FN double tess_hypot_f64(double x, double y)
{
    double a = fabs(x), b = fabs(y), most = a < b ? b : a, least = a < b ? a : b;
    double scale =
        tess_select_f64(most > 0x1p500, 0x1p-600, tess_select_f64(most < 0x1p-400, 0x1p600, 1.0));
    double back =
        tess_select_f64(most > 0x1p500, 0x1p600, tess_select_f64(most < 0x1p-400, 0x1p-600, 1.0));
    tess_pair p = tess_pair_product(most * scale, most * scale);
    tess_pair q = tess_pair_product(least * scale, least * scale), sum = tess_pair_sum(p.hi, q.hi);
    double h = sqrt(sum.hi), rest = fma(-h, h, sum.hi) + (sum.lo + (p.lo + q.lo));
    h = tess_select_f64(h > 0, h + rest / (h + h), h) * back;
    return tess_select_f64((a == (double)INFINITY) | (b == (double)INFINITY), (double)INFINITY, h);
}

#endif
