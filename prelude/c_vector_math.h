/* Transcendental operators of vectors that are more than a loop over the lanes. Copied behind prelude/c_vector.h. */
#ifndef TESSERA_PRELUDE_C_VECTOR_MATH_H
#define TESSERA_PRELUDE_C_VECTOR_MATH_H

#ifndef TESSERA_PRELUDE_C_VECTOR_H
#include "prelude/c_vector.h"
#endif

/* e^x. Where one instruction multiplies by powers of two and rounds once, it replaces eight; lanes that become 0 are
 * left out, since such results take it long. */
#if TESS_GCC_X86 == 64
#define TESS_FMA_16(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define TESS_SAME_16(x)      ((x) - (tess_f32v){ 0 })
#define TESS_SCALE_16(p, n, x, least) \
    __builtin_ia32_scalefps512_mask(  \
        p, n, (tess_f32v){ 0 }, __builtin_ia32_cmpps512_mask(x, TESS_SAME_16(least), 5, -1, 4), 4)
#define TESS_EXP_LOW_v(x)                                        \
    TESS_EXP_STEPS_F32(tess_f32v, TESS_FMA_16, TESS_SAME_16, x); \
    return TESS_SCALE_16(p, n, x, TESS_EXP_LOW_LEAST_F32)
#define TESS_EXP_v(x)                                      \
    TESS_MIN_v_f32(x, TESS_SAME_16(TESS_EXP_MOST_F32), x); \
    TESS_EXP_LOW_v(x)
#else
#define TESS_EXP_LOW_v(x) TESS_EXP_LANES(v, exp_low, x)
#define TESS_EXP_v(x)     TESS_EXP_LANES(v, exp, x)
#endif
#define TESS_EXP_LOW_v64(x) TESS_EXP_LANES(v64, exp_low, x)
#define TESS_EXP_v64(x)     TESS_EXP_LANES(v64, exp, x)
#define TESS_EXP_LANES(V, f, x)  \
    tess_f32##V r = { 0 };       \
    TESS_EACH_LANE(V)            \
    r[i] = tess_##f##_f32(x[i]); \
    return r
#define TESS_VECTOR_EXP(V)                                 \
    TESS_FN tess_f32##V tess_exp_low_f32##V(tess_f32##V x) \
    {                                                      \
        TESS_EXP_LOW_##V(x);                               \
    }                                                      \
    TESS_FN tess_f32##V tess_exp_f32##V(tess_f32##V x)     \
    {                                                      \
        TESS_EXP_##V(x);                                   \
    }

/* sin and cos. Angles of 2^15 and more take longer than all the rest: where there is none among the lanes, as a rule,
 * nothing is done for them. */
#define TESS_NEAR_sin(x) tess_flip_f32(tess_sin_of_quadrant_f32(x, 0, true), tess_sign_f32(x))
#define TESS_NEAR_cos(x) tess_sin_of_quadrant_f32(x, 1, true)
#define TESS_FAR_LANES(V, far, x)            \
    for (int i = 0; i < TESS_LANES_##V; i++) \
    far |= !(fabsf(x[i]) < 0x1p15f)
#define TESS_FAR_v64(far, x) TESS_FAR_LANES(v64, far, x)
#define TESS_SIZE_v(x) \
    ((int32_t __attribute__((vector_size(TESS_VECTOR_BYTES))))(x)&0x7fffffff) /* of NaN large */
#if TESS_GCC_X86 == 64
#define TESS_FAR_v(far, x) \
    far = __builtin_ia32_cmpd512_mask(TESS_SIZE_v(x), 0 * TESS_SIZE_v(x) + 0x47000000, 5, -1)
#elif TESS_GCC_X86 == 32
#define TESS_FAR_v(far, x) \
    far = __builtin_ia32_movmskps256((tess_f32v)(TESS_SIZE_v(x) >= 0x47000000))
#else
#define TESS_FAR_v(far, x) TESS_FAR_LANES(v, far, x)
#endif
#define TESS_VECTOR_TURN(V, op)                                 \
    TESS_PART tess_f32##V tess_far_##op##_f32##V(tess_f32##V x) \
    {                                                           \
        tess_f32##V r = { 0 };                                  \
        TESS_EACH_LANE(V)                                       \
        r[i] = tess_##op##_f32(x[i]);                           \
        return r;                                               \
    }                                                           \
    TESS_FN tess_f32##V tess_##op##_f32##V(tess_f32##V x)       \
    {                                                           \
        tess_f32##V r = { 0 };                                  \
        int far = 0;                                            \
        TESS_FAR_##V(far, x);                                   \
        if (__builtin_expect(far != 0, 0))                      \
            return tess_far_##op##_f32##V(x);                   \
        TESS_EACH_LANE(V)                                       \
        r[i] = TESS_NEAR_##op(x[i]);                            \
        return r;                                               \
    }

/* The remainder of reals. Of quotients below a few millions the whole part is known but for 1, and what is left of the
 * dividend is exact, so that one addition mends it. Where one is larger, or no number, the library's function is asked,
 * which finds remainders digit by digit. */
#define TESS_REMAINDER_MOST_f32 0x1p22f
#define TESS_REMAINDER_MOST_f64 0x1p30
#define TESS_VECTOR_REMAINDER(V, s, T)                                            \
    TESS_PART tess_##s##V tess_far_mod_##s##V(tess_##s##V a, tess_##s##V b)       \
    {                                                                             \
        tess_##s##V r = { 0 };                                                    \
        TESS_EACH_LANE(V)                                                         \
        r[i] = tess_mod_##s(a[i], b[i]);                                          \
        return r;                                                                 \
    }                                                                             \
    TESS_FN tess_##s##V tess_mod_##s##V(tess_##s##V a, tess_##s##V b)             \
    {                                                                             \
        tess_##s##V r = { 0 };                                                    \
        int far = 0;                                                              \
        TESS_EACH_LANE(V)                                                         \
        far |= !((tess_abs_##s(a[i] / b[i]) < TESS_REMAINDER_MOST_##s)            \
                 & (tess_abs_##s(b[i]) < (T)INFINITY));                           \
        if (__builtin_expect(far, 0))                                             \
            return tess_far_mod_##s##V(a, b);                                     \
        TESS_EACH_LANE(V)                                                         \
        {                                                                         \
            const T whole = (T)(int32_t)(a[i] / b[i]);                            \
            const T left = tess_fma_##s(-whole, b[i], a[i]);                      \
            const bool above = (left < 0) & (a[i] > 0);                           \
            const bool below = (left > 0) & (a[i] < 0);                           \
            const T side = tess_select_##s(above, tess_abs_##s(b[i]), 0);         \
            const T more = tess_select_##s(below, -tess_abs_##s(b[i]), side);     \
            r[i] = tess_flip_##s(tess_abs_##s(left + more), tess_sign_##s(a[i])); \
        }                                                                         \
        return r;                                                                 \
    }

/* 2^x, as it suits the target. */
#if TESS_GCC_X86 == 64
#define TESS_EXP2_NEAR_v(x)                                       \
    TESS_MIN_v_f32(x, TESS_SAME_16(TESS_EXP2_MOST_F32), x);       \
    TESS_EXP2_STEPS_F32(tess_f32v, TESS_FMA_16, TESS_SAME_16, x); \
    return TESS_SCALE_16(p, n, x, -151.0f)
#else
#define TESS_EXP2_NEAR_v(x) TESS_EXP_LANES(v, exp2_near, x)
#endif
#define TESS_EXP2_NEAR_v64(x) TESS_EXP_LANES(v64, exp2_near, x)
#define TESS_VECTOR_EXP2_NEAR(V)                             \
    TESS_FN tess_f32##V tess_exp2_near_f32##V(tess_f32##V x) \
    {                                                        \
        TESS_EXP2_NEAR_##V(x);                               \
    }

#endif
