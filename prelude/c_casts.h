/* Conversions between the vectors of prelude/c_vector.h, which it is copied behind. A program names each that it uses
 * by one of the macros below; `steps` of theirs are made of TESS_AS, TESS_WIDEN and the like. */
#ifndef TESSERA_PRELUDE_C_CASTS_H
#define TESSERA_PRELUDE_C_CASTS_H

#ifndef TESSERA_PRELUDE_C_VECTOR_H
#include "prelude/c_vector.h"
#endif

/* x with elements of type T. GCC 12 has instructions for steps to the double and to half the size only; programs go
 * step by step. Vectors of 32 bytes and more it widens in halves, which the macros below do not. */
#define TESS_AS(V, T, x) \
    __builtin_convertvector(x, T __attribute__((vector_size(TESS_LANES_##V * sizeof(T)))))
/* The lower half of a vector of 16 bytes. */
#if TESS_GCC_X86 >= 32
typedef long long tess_2_low __attribute__((vector_size(16)));
#define TESS_LOW(x)    ((tess_2_low){ (long long)(x), 0 })
#define TESS_OF_LOW(x) (((tess_2_low)(x))[0])
#endif
/* Between 8 or 16 bits and lanes of 32, and between 8 bits and lanes of 16, as integers of C's type T. */
#if TESS_GCC_X86 == 64
typedef char tess_16_i8 __attribute__((vector_size(16)));
typedef int16_t tess_16_i16 __attribute__((vector_size(32)));
typedef int32_t tess_16_i32 __attribute__((vector_size(64)));
typedef char tess_32_i8 __attribute__((vector_size(32)));
typedef int16_t tess_32_i16 __attribute__((vector_size(64)));
typedef int16_t tess_8_i16 __attribute__((vector_size(16)));
typedef int32_t tess_8_i32 __attribute__((vector_size(32)));
typedef long long tess_words __attribute__((vector_size(64)));
#define TESS_512(name, x, T, mask) __builtin_ia32_##name##_mask(x, (tess_##T){ 0 }, mask)
#define TESS_FROM_uint8_t(x)       TESS_512(pmovzxbd512, (tess_16_i8)(x), 16_i32, 0xffff)
#define TESS_FROM_int8_t(x)        TESS_512(pmovsxbd512, (tess_16_i8)(x), 16_i32, 0xffff)
#define TESS_FROM_uint16_t(x)      TESS_512(pmovzxwd512, (tess_16_i16)(x), 16_i32, 0xffff)
#define TESS_FROM_int16_t(x)       TESS_512(pmovsxwd512, (tess_16_i16)(x), 16_i32, 0xffff)
#define TESS_TO_int8_t(x)          TESS_512(pmovdb512, (tess_16_i32)(x), 16_i8, 0xffff)
#define TESS_TO_int16_t(x)         TESS_512(pmovdw512, (tess_16_i32)(x), 16_i16, 0xffff)
#define TESS_HALVES_v16_uint8_t(x) TESS_512(pmovzxbw512, (tess_32_i8)(x), 32_i16, -1)
#define TESS_HALVES_v16_int8_t(x)  TESS_512(pmovsxbw512, (tess_32_i8)(x), 32_i16, -1)
#define TESS_BYTES_v16(x)          TESS_512(pmovwb512, (tess_32_i16)(x), 32_i8, -1)
#define TESS_HALVES_v_uint8_t(x)   TESS_512(pmovzxbw256, (tess_16_i8)(x), 16_i16, -1)
#define TESS_HALVES_v_int8_t(x)    TESS_512(pmovsxbw256, (tess_16_i8)(x), 16_i16, -1)
#define TESS_BYTES_v(x)            TESS_512(pmovwb256, (tess_16_i16)(x), 16_i8, -1)
#elif TESS_GCC_X86 == 32
typedef char tess_8_i8 __attribute__((vector_size(16)));
typedef int16_t tess_8_i16 __attribute__((vector_size(16)));
#define TESS_FROM_uint8_t(x)       __builtin_ia32_pmovzxbd256((tess_8_i8)TESS_LOW(x))
#define TESS_FROM_int8_t(x)        __builtin_ia32_pmovsxbd256((tess_8_i8)TESS_LOW(x))
#define TESS_FROM_uint16_t(x)      __builtin_ia32_pmovzxwd256((tess_8_i16)(x))
#define TESS_FROM_int16_t(x)       __builtin_ia32_pmovsxwd256((tess_8_i16)(x))
#define TESS_TO_int8_t(x)          TESS_AS(v, int8_t, TESS_AS(v, int16_t, x))
#define TESS_TO_int16_t(x)         TESS_AS(v, int16_t, x)
typedef char tess_16_i8 __attribute__((vector_size(16)));
#define TESS_HALVES_v16_uint8_t(x) __builtin_ia32_pmovzxbw256((tess_16_i8)(x))
#define TESS_HALVES_v16_int8_t(x)  __builtin_ia32_pmovsxbw256((tess_16_i8)(x))
#define TESS_BYTES_v16(x)          TESS_AS(v16, int8_t, x)
#define TESS_HALVES_v_uint8_t(x)   __builtin_ia32_pmovzxbw128((tess_8_i8)TESS_LOW(x))
#define TESS_HALVES_v_int8_t(x)    __builtin_ia32_pmovsxbw128((tess_8_i8)TESS_LOW(x))
#define TESS_BYTES_v(x)            TESS_AS(v, int8_t, x)
#else
#define TESS_HALVES_v_uint8_t(x)   TESS_AS(v, uint16_t, x)
#define TESS_HALVES_v_int8_t(x)    TESS_AS(v, int16_t, x)
#define TESS_BYTES_v(x)            TESS_AS(v, int8_t, x)
#define TESS_FROM_uint8_t(x)       TESS_AS(v, uint32_t, TESS_AS(v, uint16_t, x))
#define TESS_FROM_int8_t(x)        TESS_AS(v, int32_t, TESS_AS(v, int16_t, x))
#define TESS_FROM_uint16_t(x)      TESS_AS(v, uint32_t, x)
#define TESS_FROM_int16_t(x)       TESS_AS(v, int32_t, x)
#define TESS_TO_int8_t(x)          TESS_AS(v, int8_t, TESS_AS(v, int16_t, x))
#define TESS_TO_int16_t(x)         TESS_AS(v, int16_t, x)
#define TESS_HALVES_v16_uint8_t(x) TESS_AS(v16, uint16_t, x)
#define TESS_HALVES_v16_int8_t(x)  TESS_AS(v16, int16_t, x)
#define TESS_BYTES_v16(x)          TESS_AS(v16, int8_t, x)
#endif
/* The same in lanes of 64 bits: ints of 8, 16 and 64 bits and back, longs and doubles of ints, doubles of floats and
 * back. */
#if TESS_GCC_X86 == 64
#define TESS_INTS_uint8_t(x)     TESS_512(pmovzxbd256, (tess_16_i8)TESS_LOW(x), 8_i32, 0xff)
#define TESS_INTS_int8_t(x)      TESS_512(pmovsxbd256, (tess_16_i8)TESS_LOW(x), 8_i32, 0xff)
#define TESS_INTS_uint16_t(x)    TESS_512(pmovzxwd256, (tess_8_i16)(x), 8_i32, 0xff)
#define TESS_INTS_int16_t(x)     TESS_512(pmovsxwd256, (tess_8_i16)(x), 8_i32, 0xff)
#define TESS_INTS_int64_t(x)     TESS_512(pmovqd512, (tess_words)(x), 8_i32, 0xff)
#define TESS_PARTS_int8_t(x)     TESS_OF_LOW(TESS_512(pmovdb256, (tess_8_i32)(x), 16_i8, 0xff))
#define TESS_PARTS_int16_t(x)    TESS_512(pmovdw256, (tess_8_i32)(x), 8_i16, 0xff)
#define TESS_LONGS_int32_t(x)    TESS_512(pmovsxdq512, (tess_8_i32)(x), words, 0xff)
#define TESS_LONGS_uint32_t(x)   TESS_512(pmovzxdq512, (tess_8_i32)(x), words, 0xff)
#define TESS_DOUBLES_float(x)    __builtin_ia32_cvtps2pd512_mask(x, (tess_f64v64){ 0 }, -1, 4)
#define TESS_DOUBLES_int32_t(x)  TESS_512(cvtdq2pd512, (tess_8_i32)(x), f64v64, 0xff)
#define TESS_DOUBLES_uint32_t(x) TESS_512(cvtudq2pd512, (tess_8_i32)(x), f64v64, 0xff)
#define TESS_FLOATS(x)           __builtin_ia32_cvtpd2ps512_mask(x, (tess_f32v64){ 0 }, -1, 4)
#elif TESS_GCC_X86 == 32
typedef int32_t tess_4_i32 __attribute__((vector_size(16)));
typedef int32_t tess_8_i32 __attribute__((vector_size(32)));
#define TESS_INTS_uint8_t(x)  __builtin_ia32_pmovzxbd128((tess_16_i8)(tess_4_i32){ (int32_t)(x) })
#define TESS_INTS_int8_t(x)   __builtin_ia32_pmovsxbd128((tess_16_i8)(tess_4_i32){ (int32_t)(x) })
#define TESS_INTS_uint16_t(x) __builtin_ia32_pmovzxwd128((tess_8_i16)TESS_LOW(x))
#define TESS_INTS_int16_t(x)  __builtin_ia32_pmovsxwd128((tess_8_i16)TESS_LOW(x))
#define TESS_INTS_int64_t(x) \
    __builtin_ia32_si_si256( \
        __builtin_ia32_permvarsi256((tess_8_i32)(x), (tess_8_i32){ 0, 2, 4, 6, 0, 2, 4, 6 }))
#define TESS_PARTS_int8_t(x) \
    ((int32_t)((tess_4_i32)__builtin_shuffle((tess_16_i8)(x), (tess_16_i8){ 0, 4, 8, 12 }))[0])
#define TESS_PARTS_int16_t(x) \
    TESS_OF_LOW(__builtin_shuffle((tess_8_i16)(x), (tess_8_i16){ 0, 2, 4, 6 }))
#define TESS_LONGS_int32_t(x)   __builtin_ia32_pmovsxdq256((tess_4_i32)(x))
#define TESS_LONGS_uint32_t(x)  __builtin_ia32_pmovzxdq256((tess_4_i32)(x))
#define TESS_DOUBLES_float(x)   __builtin_ia32_cvtps2pd256(x)
#define TESS_DOUBLES_int32_t(x) __builtin_ia32_cvtdq2pd256((tess_4_i32)(x))
#define TESS_FLOATS(x)          __builtin_ia32_cvtpd2ps256(x)
#else
#define TESS_INTS_uint8_t(x)    TESS_AS(v64, uint32_t, TESS_AS(v64, uint16_t, x))
#define TESS_INTS_int8_t(x)     TESS_AS(v64, int32_t, TESS_AS(v64, int16_t, x))
#define TESS_INTS_uint16_t(x)   TESS_AS(v64, uint32_t, x)
#define TESS_INTS_int16_t(x)    TESS_AS(v64, int32_t, x)
#define TESS_INTS_int64_t(x)    TESS_AS(v64, int32_t, x)
#define TESS_PARTS_int8_t(x)    TESS_AS(v64, int8_t, TESS_AS(v64, int16_t, x))
#define TESS_PARTS_int16_t(x)   TESS_AS(v64, int16_t, x)
#define TESS_LONGS_int32_t(x)   TESS_AS(v64, int64_t, x)
#define TESS_LONGS_uint32_t(x)  TESS_AS(v64, uint64_t, x)
#define TESS_DOUBLES_float(x)   TESS_AS(v64, double, x)
#define TESS_DOUBLES_int32_t(x) TESS_AS(v64, double, x)
#define TESS_FLOATS(x)          TESS_AS(v64, float, x)
#endif
#ifndef TESS_DOUBLES_uint32_t /* the lower bits of doubles from 2^52 on count by one */
#define TESS_DOUBLES_uint32_t(x)                                                             \
    ((double __attribute__((vector_size(TESS_VECTOR_BYTES))))(TESS_LONGS(uint32_t, x)        \
                                                              | (int64_t)0x4330000000000000) \
     - 0x1p52)
#endif
#define TESS_INTS(T, x) \
    ((int32_t __attribute__((vector_size(TESS_LANES_v64 * 4)))) TESS_INTS_##T(x))
#define TESS_PARTS(T, x) \
    ((T __attribute__((vector_size(TESS_LANES_v64 * sizeof(T))))) TESS_PARTS_##T(x))
#define TESS_LONGS(T, x) \
    ((int64_t __attribute__((vector_size(TESS_VECTOR_BYTES))))TESS_LONGS_##T(x))
#define TESS_WIDEN(T, x) ((int32_t __attribute__((vector_size(TESS_VECTOR_BYTES))))TESS_FROM_##T(x))
#define TESS_NARROW(T, x) \
    ((T __attribute__((vector_size(TESS_LANES_v * sizeof(T))))) TESS_TO_##T(x))
#define TESS_HALVES(V, T, x)                                                  \
    ((int16_t __attribute__((vector_size(TESS_LANES_##V * sizeof(int16_t))))) \
         TESS_HALVES_##V##_##T(x))
#define TESS_BYTES(V, T, x) \
    ((T __attribute__((vector_size(TESS_LANES_##V * sizeof(T))))) TESS_BYTES_##V(x))
/* `steps` leads from x to the result; `sat_` or nothing stands in front of the name. */
#define TESS_VECTOR_CAST(V, sat, s, from, steps)                         \
    TESS_FN tess_##s##V tess_##sat##s##V##_from_##from(tess_##from##V x) \
    {                                                                    \
        return steps;                                                    \
    }
/* The same after a lane-wise `limit` of x. */
#define TESS_VECTOR_LIMITED(V, sat, s, from, limit, steps)               \
    TESS_FN tess_##s##V tess_##sat##s##V##_from_##from(tess_##from##V a) \
    {                                                                    \
        tess_##from##V x = { 0 };                                        \
        TESS_EACH_LANE(V)                                                \
        x[i] = limit;                                                    \
        return steps;                                                    \
    }
/* The same from 0 to `most`, NaN as 0. */
#if TESS_GCC_X86
#define TESS_POSITIVE(V, from, x, a, most)                     \
    const tess_##from##V zeros = { 0 }, limits = zeros + most; \
    TESS_MAX_##V##_##from(x, a, zeros);                        \
    TESS_MIN_##V##_##from(x, x, limits)
#else /* two loops, each of which is one instruction: compilers see through both in one */
#define TESS_POSITIVE(V, from, x, a, most) \
    tess_##from##V t = { 0 };              \
    TESS_EACH_LANE(V)                      \
    t[i] = 0 < a[i] ? a[i] : 0;            \
    TESS_EACH_LANE(V)                      \
    x[i] = t[i] < most ? t[i] : most
#endif
#define TESS_VECTOR_POSITIVE(V, s, from, most, steps)                   \
    TESS_FN tess_##s##V tess_sat_##s##V##_from_##from(tess_##from##V a) \
    {                                                                   \
        tess_##from##V x = { 0 };                                       \
        TESS_POSITIVE(V, from, x, a, most);                             \
        return steps;                                                   \
    }
/* Reals as integers of 32 bits in lanes as wide as the reals. Instructions give INT32_MIN for all that has no such
 * value; `plain` is without them. */
#if TESS_GCC_X86 == 64
#define TESS_VECTOR_INTS_v(plain)                                                                \
    TESS_FN tess_i32v tess_i32v_from_f32(tess_f32v x)                                            \
    {                                                                                            \
        const tess_f32v zero = { 0 };                                                            \
        const tess_16_i32 none = { 0 }, most = none + INT32_MAX;                                 \
        const uint16_t ordered = (uint16_t)__builtin_ia32_cmpps512_mask(x, x, 7, -1, 4),         \
                       large =                                                                   \
                           (uint16_t)__builtin_ia32_cmpps512_mask(x, zero + 0x1p31f, 13, -1, 4); \
        const tess_16_i32 i = __builtin_ia32_cvttps2dq512_mask(x, none, (int16_t)ordered, 4);    \
        return (tess_i32v)__builtin_ia32_blendmd_512_mask(i, most, large);                       \
    }
#define TESS_VECTOR_INTS_v64(plain)                                                       \
    TESS_FN tess_i32v64 tess_i32v64_from_f64(tess_f64v64 x)                               \
    {                                                                                     \
        const tess_f64v64 zero = { 0 };                                                   \
        const tess_8_i32 none = { 0 };                                                    \
        const uint8_t ordered = (uint8_t)__builtin_ia32_cmppd512_mask(x, x, 7, -1, 4);    \
        x = __builtin_ia32_minpd512_mask(x, zero + 0x7fffffff, zero, (int8_t)ordered, 4); \
        return (tess_i32v64)__builtin_ia32_cvttpd2dq512_mask(x, none, -1, 4);             \
    }
#elif TESS_GCC_X86 == 32
#define TESS_VECTOR_INTS_v(plain)                                                         \
    TESS_FN tess_i32v tess_i32v_from_f32(tess_f32v x)                                     \
    {                                                                                     \
        const tess_i32v large = (tess_i32v)(x >= 0x1p31f), ordered = (tess_i32v)(x == x); \
        return ((tess_i32v)__builtin_ia32_cvttps2dq256(x) ^ large) & ordered;             \
    }
#define TESS_VECTOR_INTS_v64(plain) plain
#else
#define TESS_VECTOR_INTS_v(plain)   plain
#define TESS_VECTOR_INTS_v64(plain) plain
#endif
/* Whether an element is not 0; `steps` leads from the truth values x to lanes. */
#define TESS_VECTOR_IS(V, sat, from, limit, I, steps)                  \
    TESS_FN tess_b##V tess_##sat##b##V##_from_##from(tess_##from##V a) \
    {                                                                  \
        TESS_LANE_ARRAY(V, I, truth);                                  \
        const truth x = (truth)(limit);                                \
        return steps;                                                  \
    }
/* Values of float16 in memory: floats in lanes. `widened` and `narrowed` lead from x of 16 bits to lanes of 32 and
 * back; the steps are those of the scalar conversions. */
#define TESS_HALF_STEPS(V, widened, narrowed)                                                   \
    TESS_LANE_ARRAY(V, uint32_t, tess_half##V);                                                 \
    TESS_FN tess_f32##V tess_f32##V##_from_f16bits(tess_u16##V x)                               \
    {                                                                                           \
        const tess_half##V h = (tess_half##V)(widened);                                         \
        const tess_f32##V value = (tess_f32##V)((h & 0x7fff) << 13) * 0x1p112f;                 \
        const tess_half##V special = (tess_half##V)(value >= 65536.0f) & 0x7f800000u;           \
        return (tess_f32##V)((tess_half##V)value | special | (h & 0x8000) << 16);               \
    }                                                                                           \
    TESS_FN tess_u16##V tess_f16bits##V##_from_f32(tess_f32##V value)                           \
    {                                                                                           \
        const tess_half##V u = (tess_half##V)value, a = u & 0x7fffffffu;                        \
        const tess_half##V normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;        \
        const tess_half##V small = (tess_half##V)((tess_f32##V)a + 0.5f) - 0x3f000000u;         \
        const tess_half##V is_small = (tess_half##V)(a < 0x38800000u);                          \
        const tess_half##V is_large = (tess_half##V)(a >= 0x47800000u);                         \
        const tess_half##V is_nan = (tess_half##V)(a > 0x7f800000u);                            \
        tess_half##V x = (small & is_small) | (normal & ~is_small);                             \
        x = (x & ~is_large) | (0x7c00u & is_large) | (0x200u & is_nan) | ((u >> 16) & 0x8000u); \
        return (tess_u16##V)(narrowed);                                                         \
    }
#if TESS_GCC_X86 == 64
typedef float tess_16_f32 __attribute__((vector_size(64)));
#define TESS_FROM_HALF(x) \
    __builtin_ia32_vcvtph2ps512_mask((tess_16_i16)(x), (tess_16_f32){ 0 }, -1, 4)
#define TESS_TO_HALF(x) __builtin_ia32_vcvtps2ph512_mask(x, 0, (tess_16_i16){ 0 }, -1)
#elif TESS_GCC_X86 == 32 && defined(__F16C__)
#define TESS_FROM_HALF(x) __builtin_ia32_vcvtph2ps256((tess_8_i16)(x))
#define TESS_TO_HALF(x)   __builtin_ia32_vcvtps2ph256(x, 0)
#endif
#if defined(TESS_FROM_HALF)
#define TESS_HALF_v(widened, narrowed)                                                  \
    TESS_LANE_ARRAY(v, int32_t, tess_halfv);                                            \
    TESS_FN tess_f32v tess_f32v_from_f16bits(tess_u16v x)                               \
    {                                                                                   \
        return (tess_f32v)TESS_FROM_HALF(x);                                            \
    }                                                                                   \
    TESS_FN tess_u16v tess_f16bitsv_from_f32(tess_f32v x)                               \
    {                                                                                   \
        const tess_halfv nan = (tess_halfv)(x != x); /* all NaN are one */              \
        const tess_halfv bits = ((tess_halfv)x & ~(nan & 0x3fffff)) | (nan & 0x400000); \
        return (tess_u16v)TESS_TO_HALF((tess_f32v)bits);                                \
    }
#else
#define TESS_HALF_v(widened, narrowed) TESS_HALF_STEPS(v, widened, narrowed)
#endif
#define TESS_HALF_v64(widened, narrowed) TESS_HALF_STEPS(v64, widened, narrowed)
#define TESS_VECTOR_HALF(V, widened, narrowed)                                              \
    TESS_HALF_##V(widened, narrowed) TESS_FN tess_f32##V tess_round16_f32##V(tess_f32##V x) \
    {                                                                                       \
        return tess_f32##V##_from_f16bits(tess_f16bits##V##_from_f32(x));                   \
    }                                                                                       \
    TESS_FN tess_f32##V tess_load_f16##V(const uint16_t *p)                                 \
    {                                                                                       \
        return tess_f32##V##_from_f16bits(tess_load_u16##V(p));                             \
    }                                                                                       \
    TESS_FN void tess_store_f16##V(uint16_t *p, tess_f32##V x)                              \
    {                                                                                       \
        tess_store_u16##V(p, tess_f16bits##V##_from_f32(x));                                \
    }                                                                                       \
    TESS_FN void tess_stream_f16##V(uint16_t *p, tess_f32##V x, bool stream)                \
    {                                                                                       \
        tess_stream_u16##V(p, tess_f16bits##V##_from_f32(x), stream);                       \
    }
/* For elements of the same size: lane by lane. */
#define TESS_VECTOR_LANES(V, sat, s, from)                               \
    TESS_FN tess_##s##V tess_##sat##s##V##_from_##from(tess_##from##V x) \
    {                                                                    \
        tess_##s##V r = { 0 };                                           \
        TESS_EACH_LANE(V)                                                \
        r[i] = tess_##sat##s##_from_##from(x[i]);                        \
        return r;                                                        \
    }
/* Reals of at most 16 bits before the point, rounded, as integers whose low 16 bits count. */
#define TESS_ROUNDED_v(x) \
    ((int32_t __attribute__((vector_size(TESS_VECTOR_BYTES))))((x) + TESS_ROUNDER_F32))
#define TESS_ROUNDED_v64(x) \
    ((int64_t __attribute__((vector_size(TESS_VECTOR_BYTES))))((x) + TESS_ROUNDER_F64))
#define TESS_LIMIT(T, s)                      \
    TESS_FN T tess_limit_##s(T x, T lo, T hi) \
    {                                         \
        return x < lo ? lo : hi < x ? hi : x; \
    }
TESS_LIMIT(int8_t, i8)
TESS_LIMIT(uint8_t, u8)
TESS_LIMIT(int16_t, i16)
TESS_LIMIT(uint16_t, u16)
TESS_LIMIT(int32_t, i32)
TESS_LIMIT(uint32_t, u32)
TESS_LIMIT(int64_t, i64)
TESS_FN double tess_limit_f64(double x, double lo, double hi) /* NaN: 0 */
{
    double t = x < lo ? lo : x;
    t = hi < t ? hi : t;
    return x != x ? 0.0 : t;
}
TESS_FN float tess_limit_f32(float x, float lo, float hi) /* NaN: 0 */
{
    float t = x < lo ? lo : x;
    t = hi < t ? hi : t;
    return x != x ? 0.0f : t;
}

#endif
