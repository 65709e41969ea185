/* The scalar operators of generated C, and of the interpreters: both run these very functions, so both give the same
 * bits. Copied in front of every generated file, with the transcendentals (c_math.h) behind it; needs C11 and the C
 * library's exact functions only (fma, sqrt, floor, ...). Compile with -ffp-contract=off (GCC contracts otherwise);
 * -fno-math-errno -fno-trapping-math let GCC vectorise more and change no bits. Never -ffast-math.
 *
 * How an operator of ops.def is spelled on a type of types.def (tessi_op_is_infix says the same as data). Short type
 * names: b i8 u8 i16 u16 i32 u32 i64 f32 f64 idx; values of b are `bool`, of idx `ptrdiff_t`, of float16 are `float`
 * and spelled f32.
 *   infix:   f32 f64   neg add sub mul div eq ne lt le
 *            integers  and or xor eq ne lt le          (i8..u16: the C result is an int that fits the type)
 *            b         and or xor eq ne lt le
 *            idx       neg add sub mul and or xor eq ne lt le   (never overflows)
 *            GCC takes the sign of a fused multiply-add into its operation, which changes that of zero: such a one is
 *              turned by
 *            tess_neg_f32, tess_neg_f64.
 *   else:    tess_<op>_<type>(arguments), e.g. tess_add_i32(a, b), tess_select_f32(condition, a, b), tess_isnan_f64(x).
 * cast<to>(x): plain `(T)x` when `to` is b, f32 or f64, or when both are integers (b and idx included), which wraps;
 *            else tess_<to>_from_<from>(x): real to integer and anything to f16 (tessi_cast_is_plain).
 * sat<to>(x): always tess_sat_<to>_from_<from>(x). Elements:  tess_load_<type>(const void *), tess_store_<type>(void
 * *, value), also f16; any alignment. Rounding:  tess_round_to_nearest() sets what all of the above relies on,
 * tess_round_as(before) what it was. Borders:   tess_border_clamp|mirror|reflect|wrap(i, n).   Medians:
 * tess_sort_<type>(elements, n), also f16 and b. */
#ifndef TESSERA_PRELUDE_C_H
#define TESSERA_PRELUDE_C_H

#ifndef TESSERA_PRELUDE_GPU /* cuda.h and opencl.h, which stand before this text there, bring their own */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Small functions must be inlined for the loops around them to become vector code. */
#if defined(__GNUC__)
#define TESS_FN     static inline __attribute__((always_inline, unused))
#define TESS_BIG_FN static inline __attribute__((unused))
/* What several places of a function share, so that compilers work on it once. */
#define TESS_PART static __attribute__((noinline))
#else
#define TESS_FN     static inline
#define TESS_BIG_FN static inline
#define TESS_PART   static
#endif
#define TESS_TABLE static const
/* A value of structure T. */
#define TESS_MAKE_2(T, a, b)    ((T){ a, b })
#define TESS_MAKE_3(T, a, b, c) ((T){ a, b, c })
/* Whether to reduce a as a huge angle: always, as branches keep loops from vectors, unless it is known to be near. */
#define TESS_REDUCE_HUGE(near, a) (!(near))
typedef ptrdiff_t tess_idx; /* of coordinates */
#define TESS_IDX_MIN INT64_MIN
#define TESS_IDX_MAX INT64_MAX
#define TESS_IDX_END 0x1p63

/* ---- Bits of reals -------------------------------------------------------------------------- */
TESS_FN uint32_t tess_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
TESS_FN float tess_real_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
TESS_FN uint64_t tess_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
TESS_FN double tess_real_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- How reals are rounded --------------------------------------------------------------------- */
/* To nearest, with subnormal numbers and without traps, whatever callers have set, each thread for itself. Their
 * setting, and the flags that were raised before, are theirs again behind it. */
#if defined(__GNUC__) && defined(__SSE__)
typedef unsigned int tess_rounding;
TESS_FN tess_rounding tess_round_to_nearest(void)
{
    const tess_rounding before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return before;
}
TESS_FN void tess_round_as(tess_rounding before)
{
    __builtin_ia32_ldmxcsr(before);
}
#else
#include <fenv.h>
typedef fenv_t tess_rounding;
TESS_FN tess_rounding tess_round_to_nearest(void)
{
    tess_rounding before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    return before;
}
TESS_FN void tess_round_as(tess_rounding before)
{
    fesetenv(&before);
}
#endif
#endif

/* ---- Operators on integers: T the type, W an unsigned type that holds its products ----------- */
/* Selection is by masks: compilers move what stands behind `?` into a branch, which then keeps a loop from becoming
 * vector code. */
#define TESS_INTEGER(T, W, s, bits)                 \
    TESS_FN T tess_neg_##s(T a)                     \
    {                                               \
        return (T)((W)0 - (W)a);                    \
    }                                               \
    TESS_FN T tess_not_##s(T a)                     \
    {                                               \
        return (T) ~(W)a;                           \
    }                                               \
    TESS_FN T tess_add_##s(T a, T b)                \
    {                                               \
        return (T)((W)a + (W)b);                    \
    }                                               \
    TESS_FN T tess_sub_##s(T a, T b)                \
    {                                               \
        return (T)((W)a - (W)b);                    \
    }                                               \
    TESS_FN T tess_mul_##s(T a, T b)                \
    {                                               \
        return (T)((W)a * (W)b);                    \
    }                                               \
    TESS_FN T tess_min_##s(T a, T b)                \
    {                                               \
        return a < b ? a : b;                       \
    }                                               \
    TESS_FN T tess_max_##s(T a, T b)                \
    {                                               \
        return b < a ? a : b;                       \
    }                                               \
    TESS_FN T tess_shl_##s(T a, T b)                \
    {                                               \
        return (T)((W)a << ((W)b & (bits - 1)));    \
    }                                               \
    TESS_FN T tess_shr_##s(T a, T b)                \
    {                                               \
        return (T)(a >> ((W)b & (bits - 1)));       \
    }                                               \
    TESS_FN T tess_select_##s(bool c, T a, T b)     \
    {                                               \
        T mask = (T)((W)0 - (W)c);                  \
        return (T)((T)(a & mask) | (T)(b & ~mask)); \
    }                                               \
    TESS_FN T tess_power_by_squaring_##s(T a, T b)  \
    {                                               \
        T r = 1;                                    \
        for (; b > 0; b = (T)(b >> 1)) {            \
            r = b & 1 ? tess_mul_##s(r, a) : r;     \
            a = tess_mul_##s(a, a);                 \
        }                                           \
        return r;                                   \
    }
#define TESS_SIGNED(T, W, s, bits)                                    \
    TESS_INTEGER(T, W, s, bits)                                       \
    TESS_FN T tess_abs_##s(T a)                                       \
    {                                                                 \
        return a < 0 ? tess_neg_##s(a) : a;                           \
    }                                                                 \
    TESS_FN T tess_div_##s(T a, T b)                                  \
    {                                                                 \
        T d = b == 0 || b == -1 ? 1 : b;                              \
        return (T)(b == 0 ? 0 : b == -1 ? tess_neg_##s(a) : a / d);   \
    }                                                                 \
    TESS_FN T tess_mod_##s(T a, T b)                                  \
    {                                                                 \
        T d = b == 0 || b == -1 ? 1 : b;                              \
        return (T)(a % d);                                            \
    }                                                                 \
    TESS_FN T tess_pow_##s(T a, T b)                                  \
    {                                                                 \
        T inverse = (T)(a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0); \
        return b < 0 ? inverse : tess_power_by_squaring_##s(a, b);    \
    }
#define TESS_UNSIGNED(T, W, s, bits)                   \
    TESS_INTEGER(T, W, s, bits)                        \
    TESS_FN T tess_abs_##s(T a)                        \
    {                                                  \
        return a;                                      \
    }                                                  \
    TESS_FN T tess_div_##s(T a, T b)                   \
    {                                                  \
        return (T)(b == 0 ? 0 : a / (b == 0 ? 1 : b)); \
    }                                                  \
    TESS_FN T tess_mod_##s(T a, T b)                   \
    {                                                  \
        return (T)(a % (b == 0 ? 1 : b));              \
    }                                                  \
    TESS_FN T tess_pow_##s(T a, T b)                   \
    {                                                  \
        return tess_power_by_squaring_##s(a, b);       \
    }

TESS_SIGNED(int8_t, uint32_t, i8, 8)
TESS_SIGNED(int16_t, uint32_t, i16, 16)
TESS_SIGNED(int32_t, uint32_t, i32, 32)
TESS_SIGNED(int64_t, uint64_t, i64, 64)
TESS_SIGNED(tess_idx, uint64_t, idx, 64)
TESS_UNSIGNED(uint8_t, uint32_t, u8, 8)
TESS_UNSIGNED(uint16_t, uint32_t, u16, 16)
TESS_UNSIGNED(uint32_t, uint32_t, u32, 32)
TESS_UNSIGNED(uint64_t, uint64_t, u64, 64)

TESS_FN bool tess_not_b(bool a)
{
    return !a;
}
TESS_FN bool tess_min_b(bool a, bool b)
{
    return a & b;
}
TESS_FN bool tess_max_b(bool a, bool b)
{
    return a | b;
}
TESS_FN bool tess_shl_b(bool a, bool b)
{
    return (void)b, a;
} /* width 1: the count is 0 */
TESS_FN bool tess_shr_b(bool a, bool b)
{
    return (void)b, a;
}
TESS_FN bool tess_select_b(bool c, bool a, bool b)
{
    return (c & a) | (!c & b);
}

/* Index arithmetic that rounds down; b > 0 (b <= 0 gives 0). */
TESS_FN tess_idx tess_floordiv_idx(tess_idx a, tess_idx b)
{
    tess_idx d = b > 0 ? b : 1, q = a / d;
    return b > 0 ? q - (a % d < 0) : 0;
}
TESS_FN tess_idx tess_floormod_idx(tess_idx a, tess_idx b)
{
#ifndef TESSERA_PRELUDE_GPU /* where threads of a warp go different ways, and some edges took longer */
    /* What lies outside lies near, and divisions take long. */
    if (a >= 0 && a < b)
        return a;
    if (a < 0 && a >= -b)
        return a + b;
#endif
    tess_idx d = b > 0 ? b : 1, r = a % d;
    return r < 0 ? r + d : r;
}

/* ---- Operators on reals that are exact or have one rounding ----------------------------------- */
#define TESS_REAL(T, U, s, f)                                                              \
    TESS_FN T tess_blend_##s(U mask, T a, T b)                                             \
    {                                                                                      \
        return tess_real_##s((tess_bits_##s(a) & mask) | (tess_bits_##s(b) & ~mask));      \
    }                                                                                      \
    TESS_FN T tess_select_##s(bool c, T a, T b)                                            \
    {                                                                                      \
        return tess_blend_##s((U)0 - (U)c, a, b);                                          \
    }                                                                                      \
    TESS_FN T tess_min_##s(T a, T b)                                                       \
    {                                                                                      \
        return a < b ? a : b;                                                              \
    }                                                                                      \
    TESS_FN T tess_max_##s(T a, T b)                                                       \
    {                                                                                      \
        return b < a ? a : b;                                                              \
    }                                                                                      \
    TESS_FN T tess_abs_##s(T a)                                                            \
    {                                                                                      \
        return fabs##f(a);                                                                 \
    }                                                                                      \
    TESS_FN T tess_mod_##s(T a, T b)                                                       \
    {                                                                                      \
        return fmod##f(a, b);                                                              \
    }                                                                                      \
    TESS_FN T tess_neg_##s(T a)                                                            \
    {                                                                                      \
        return tess_real_##s(tess_bits_##s(a) ^ ((U)1 << (8 * sizeof(U) - 1)));            \
    }                                                                                      \
    TESS_FN T tess_fma_##s(T a, T b, T c)                                                  \
    {                                                                                      \
        return fma##f(a, b, c);                                                            \
    }                                                                                      \
    TESS_FN T tess_sqrt_##s(T a)                                                           \
    {                                                                                      \
        return sqrt##f(a);                                                                 \
    }                                                                                      \
    TESS_FN T tess_rsqrt_##s(T a)                                                          \
    {                                                                                      \
        return (T)1 / sqrt##f(a);                                                          \
    }                                                                                      \
    TESS_FN T tess_floor_##s(T a)                                                          \
    {                                                                                      \
        return floor##f(a);                                                                \
    }                                                                                      \
    TESS_FN T tess_ceil_##s(T a)                                                           \
    {                                                                                      \
        return ceil##f(a);                                                                 \
    }                                                                                      \
    TESS_FN T tess_trunc_##s(T a)                                                          \
    {                                                                                      \
        return trunc##f(a);                                                                \
    }                                                                                      \
    TESS_FN T tess_round_##s(T a)                                                          \
    {                                                                                      \
        T t = trunc##f(a);                                                                 \
        return copysign##f(                                                                \
            t + tess_select_##s(fabs##f(a - t) >= (T)0.5, copysign##f((T)1, a), (T)0), a); \
    }                                                                                      \
    TESS_FN bool tess_isnan_##s(T a)                                                       \
    {                                                                                      \
        return a != a;                                                                     \
    }
TESS_REAL(float, uint32_t, f32, f)
TESS_REAL(double, uint64_t, f64, )

/* ---- float16: IEEE binary16 in 16 bits --------------------------------------------------------- */
TESS_FN float tess_f32_from_f16bits(uint16_t h)
{
#ifdef TESS_FROM_HALF
    return TESS_FROM_HALF(h);
#else
    /* 2^112 moves the exponent from bias 15 to bias 127, exactly, subnormals included. */
    float x = tess_real_f32((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    uint32_t special = (uint32_t)0 - (uint32_t)(x >= 65536.0f); /* infinity or NaN */
    return tess_real_f32(tess_bits_f32(x) | (special & 0x7f800000u) | (uint32_t)(h & 0x8000) << 16);
#endif
}
TESS_FN uint16_t tess_f16bits_from_f32(float x)
{
    uint32_t u = tess_bits_f32(x), sign = (u >> 16) & 0x8000u;
#ifdef TESS_TO_HALF
    return (uint16_t)tess_select_u32(x != x, sign | 0x7e00u, TESS_TO_HALF(x));
#else
    uint32_t a = u & 0x7fffffffu;
    uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
    /* Adding 1/2 rounds to multiples of 2^-24, the spacing of subnormals. */
    uint32_t small = tess_bits_f32(tess_real_f32(a) + 0.5f) - 0x3f000000u;
    uint32_t h = tess_select_u32(a < 0x38800000u, small, normal);
    h = tess_select_u32(a >= 0x47800000u, 0x7c00u, h);
    h = tess_select_u32(a > 0x7f800000u, 0x7e00u, h);
    return (uint16_t)(h | sign);
#endif
}
TESS_FN uint16_t tess_f16bits_from_f64(double x)
{
    uint64_t u = tess_bits_f64(x), sign = (u >> 48) & 0x8000u, a = u & 0x7fffffffffffffffu;
    uint64_t normal = (a - 0x3f00000000000000u + 0x1ffffffffffu + ((a >> 42) & 1u)) >> 42;
    uint64_t small = tess_bits_f64(tess_real_f64(a) + 0x1p28) - 0x41b0000000000000u;
    uint64_t h = a < 0x3f10000000000000u ? small : normal;
    h = a >= 0x40f0000000000000u ? 0x7c00u : h;
    h = a > 0x7ff0000000000000u ? 0x7e00u : h;
    return (uint16_t)(h | sign);
}
TESS_FN float tess_f16_from_f32(float x)
{
    return tess_f32_from_f16bits(tess_f16bits_from_f32(x));
}
TESS_FN float tess_f16_from_f64(double x)
{
    return tess_f32_from_f16bits(tess_f16bits_from_f64(x));
}
TESS_FN float tess_round16_f32(float x)
{
    return tess_f16_from_f32(x);
}

/* ---- Conversions -------------------------------------------------------------------------------- */
/* Real to integer: truncates, saturates, NaN gives 0. `end` is the type's largest value plus one, as a real. */
#define TESS_FROM_REAL(T, s, lo, hi, end, F, f)                                              \
    TESS_FN T tess_##s##_from_##f(F x)                                                       \
    {                                                                                        \
        T inside = (T)tess_select_##f((x >= (F)(lo)) & (x < (F)(end)), x, 0);                \
        return tess_select_##s(x >= (F)(end), hi, tess_select_##s(x < (F)(lo), lo, inside)); \
    }                                                                                        \
    TESS_FN T tess_sat_##s##_from_##f(F x)                                                   \
    {                                                                                        \
        return tess_##s##_from_##f(tess_rint_##f(x));                                        \
    }
#ifdef TESS_NARROW_FROM_REAL  /* by instructions of the target's own */
#elif defined TESS_CUT_TO_I32 /* of floats, by what converts them to 32 bits */
#define TESS_NARROW_FROM_REAL(T, s, lo, hi, end, F, f)              \
    TESS_FN T tess_##s##_from_##f(F x)                              \
    {                                                               \
        int32_t i = TESS_CUT_TO_I32(x);                             \
        return (T)(i < (lo) ? (lo) : i > (int32_t)(hi) ? (hi) : i); \
    }                                                               \
    TESS_FN T tess_sat_##s##_from_##f(F x)                          \
    {                                                               \
        int32_t i = TESS_ROUND_TO_I32(x);                           \
        return (T)(i < (lo) ? (lo) : i > (int32_t)(hi) ? (hi) : i); \
    }
#else
#define TESS_NARROW_FROM_REAL TESS_FROM_REAL
#endif
#define TESS_SAT_FROM_INTEGER(T, s, lo, hi, F, f)                                \
    TESS_FN T tess_sat_##s##_from_##f(F v)                                       \
    {                                                                            \
        int64_t x = (int64_t)v;                                                  \
        return x < (int64_t)(lo) ? (T)(lo) : x > (int64_t)(hi) ? (T)(hi) : (T)v; \
    }
#define TESS_SAT_FROM_U64(T, s, hi)                 \
    TESS_FN T tess_sat_##s##_from_u64(uint64_t v)   \
    {                                               \
        return v > (uint64_t)(hi) ? (T)(hi) : (T)v; \
    }
#define TESS_CONVERSIONS(T, s, lo, hi, end, FROM_F32)  \
    FROM_F32(T, s, lo, hi, end, float, f32)            \
    TESS_FROM_REAL(T, s, lo, hi, end, double, f64)     \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, bool, b)       \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, int8_t, i8)    \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, uint8_t, u8)   \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, int16_t, i16)  \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, uint16_t, u16) \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, int32_t, i32)  \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, uint32_t, u32) \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, int64_t, i64)  \
    TESS_SAT_FROM_U64(T, s, hi)                        \
    TESS_SAT_FROM_INTEGER(T, s, lo, hi, tess_idx, idx)
/* uint64 holds values that int64 does not. */
#define TESS_SAT_TO_U64(F, f)                   \
    TESS_FN uint64_t tess_sat_u64_from_##f(F v) \
    {                                           \
        int64_t x = (int64_t)v;                 \
        return x < 0 ? 0 : (uint64_t)x;         \
    }
TESS_FN float tess_rint_f32(float x)
{
    return rintf(x);
} /* to nearest, halves to even */
TESS_FN double tess_rint_f64(double x)
{
    return rint(x);
}
TESS_CONVERSIONS(int8_t, i8, INT8_MIN, INT8_MAX, 0x1p7, TESS_NARROW_FROM_REAL)
TESS_CONVERSIONS(uint8_t, u8, 0, UINT8_MAX, 0x1p8, TESS_NARROW_FROM_REAL)
TESS_CONVERSIONS(int16_t, i16, INT16_MIN, INT16_MAX, 0x1p15, TESS_NARROW_FROM_REAL)
TESS_CONVERSIONS(uint16_t, u16, 0, UINT16_MAX, 0x1p16, TESS_NARROW_FROM_REAL)
TESS_CONVERSIONS(int32_t, i32, INT32_MIN, INT32_MAX, 0x1p31, TESS_FROM_REAL)
TESS_CONVERSIONS(uint32_t, u32, 0, UINT32_MAX, 0x1p32, TESS_FROM_REAL)
TESS_CONVERSIONS(int64_t, i64, INT64_MIN, INT64_MAX, 0x1p63, TESS_FROM_REAL)
TESS_CONVERSIONS(tess_idx, idx, TESS_IDX_MIN, TESS_IDX_MAX, TESS_IDX_END, TESS_FROM_REAL)
TESS_FROM_REAL(uint64_t, u64, 0, UINT64_MAX, 0x1p64, float, f32)
TESS_FROM_REAL(uint64_t, u64, 0, UINT64_MAX, 0x1p64, double, f64)
TESS_SAT_TO_U64(bool, b)
TESS_SAT_TO_U64(int8_t, i8)
TESS_SAT_TO_U64(uint8_t, u8)
TESS_SAT_TO_U64(int16_t, i16)
TESS_SAT_TO_U64(uint16_t, u16)
TESS_SAT_TO_U64(int32_t, i32)
TESS_SAT_TO_U64(uint32_t, u32)
TESS_SAT_TO_U64(int64_t, i64)
TESS_SAT_TO_U64(tess_idx, idx)
TESS_FN uint64_t tess_sat_u64_from_u64(uint64_t v)
{
    return v;
}

/* sat<bool> is true where the rounded value is at least 1; sat to a real type is the cast. */
#define TESS_TO_OTHERS(F, f, middle)          \
    TESS_FN bool tess_sat_b_from_##f(F x)     \
    {                                         \
        return x > middle;                    \
    }                                         \
    TESS_FN float tess_sat_f16_from_##f(F x)  \
    {                                         \
        return tess_f16_from_##f(x);          \
    }                                         \
    TESS_FN float tess_sat_f32_from_##f(F x)  \
    {                                         \
        return (float)x;                      \
    }                                         \
    TESS_FN double tess_sat_f64_from_##f(F x) \
    {                                         \
        return (double)x;                     \
    }
#define TESS_FROM_INTEGER(T, s)              \
    TESS_FN float tess_f16_from_##s(T x)     \
    {                                        \
        return tess_f16_from_f64((double)x); \
    }                                        \
    TESS_TO_OTHERS(T, s, 0)
TESS_TO_OTHERS(float, f32, 0.5f)
TESS_TO_OTHERS(double, f64, 0.5)
TESS_FROM_INTEGER(bool, b)
TESS_FROM_INTEGER(int8_t, i8)
TESS_FROM_INTEGER(uint8_t, u8)
TESS_FROM_INTEGER(int16_t, i16)
TESS_FROM_INTEGER(uint16_t, u16)
TESS_FROM_INTEGER(int32_t, i32)
TESS_FROM_INTEGER(uint32_t, u32)
TESS_FROM_INTEGER(int64_t, i64)
TESS_FROM_INTEGER(uint64_t, u64)
TESS_FROM_INTEGER(tess_idx, idx)

#ifndef TESS_SQRT_WHOLE
/* sqrt of a whole number. */
TESS_FN float tess_sqrt_whole_f32(float x)
{
    return sqrtf(x);
}
#endif
#ifndef TESS_SQRT_BYTE
/* The same, to be rounded to a byte. */
TESS_FN float tess_sqrt_byte_f32(float x)
{
    return tess_sqrt_whole_f32(x);
}
#endif

/* ---- Words ------------------------------------------------------------------------------------- */
#ifndef TESS_CONST_GLOBAL
#define TESS_CONST_GLOBAL const
#endif
/* Four bytes, the first in the low bits. GPUs load one or two words, which are aligned: no others than those that have
 * one of the bytes. */
TESS_FN uint32_t tess_four(TESS_CONST_GLOBAL uint8_t *p)
{
#ifdef TESS_BY_WORDS
    const uint32_t at = (uint32_t)(size_t)p & 3;
    TESS_CONST_GLOBAL uint32_t *words = (TESS_CONST_GLOBAL uint32_t *)(p - at);
    return (uint32_t)((words[0] | (uint64_t)words[(at + 3) / 4] << 32) >> 8 * at);
#else
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
#endif
}
/* c + the products of the bytes of a, without signs, with those of b, with signs; modulo 2^32. */
TESS_FN uint32_t tess_dot_u32(uint32_t a, uint32_t b, uint32_t c)
{
#ifdef TESS_DOT
    return TESS_DOT(a, b, c);
#else
    for (uint32_t k = 0; k < 32; k += 8) {
        const uint32_t weight = b >> k & 255; /* 128 and above stand for 256 less */
        c += (a >> k & 255) * (weight < 128 ? weight : weight - 256u);
    }
    return c;
#endif
}
#ifdef TESS_CONST_SHARED
/* Adds products of matrices to four sums of this thread, those of row lane / 4 of the first 8 and of 8 others, of
 * columns lane % 4 * 2 and the next: of the bytes of 8 words at each of 8 rows that begin at `rows`, `pitch` words
 * apart, and of 8 that begin `more` words behind, with signed bytes, 8 words for each column. Which byte the unit takes
 * for which is of no account, as long as both agree: a thread has two words side by side. */
TESS_FN void tess_product(int32_t *sums, TESS_CONST_SHARED uint32_t *rows, int32_t pitch,
                          int32_t more, TESS_CONST_SHARED uint32_t *words)
{
    const int32_t lane = (int32_t)(TESS_THREAD_X & 31);
    TESS_CONST_SHARED uint32_t *row = rows + lane / 4 * pitch;
#ifdef TESS_HAS_PRODUCTS
    const uint2 a = *(TESS_CONST_SHARED uint2 *)(row + lane % 4 * 2);
    const uint2 b = *(TESS_CONST_SHARED uint2 *)(row + more + lane % 4 * 2);
    const uint2 w = *(TESS_CONST_SHARED uint2 *)(words + 2 * lane);
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a.x), "r"(b.x), "r"(a.y), "r"(b.y), "r"(w.x), "r"(w.y));
#else
    for (int32_t i = 0; i < 4; i++)
        for (int32_t k = 0; k < 8; k++)
            sums[i] = (int32_t)tess_dot_u32(
                row[i / 2 * more + k], words[(lane % 4 * 2 + i % 2) * 8 + k], (uint32_t)sums[i]);
#endif
}
#endif
/* Each of the four last digits of c, in base 16 and modulo 8, names a byte: 0 to 3 of a, 4 to 7 of b. */
TESS_FN uint32_t tess_bytes_u32(uint32_t a, uint32_t b, uint32_t c)
{
#ifdef TESS_BYTES
    return TESS_BYTES(a, b, c);
#else
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t first = (uint32_t)(both >> (c & 7) * 8) & 255;
    uint32_t second = (uint32_t)(both >> (c >> 4 & 7) * 8) & 255;
    uint32_t third = (uint32_t)(both >> (c >> 8 & 7) * 8) & 255;
    uint32_t fourth = (uint32_t)(both >> (c >> 12 & 7) * 8) & 255;
    return first | second << 8 | third << 16 | fourth << 24;
#endif
}
/* The lesser, the greater of the lower halves, and of the upper ones; halves have no signs. */
TESS_FN uint32_t tess_min_halves_u32(uint32_t a, uint32_t b)
{
#ifdef TESS_MIN_HALVES
    return TESS_MIN_HALVES(a, b);
#else
    const uint32_t low = (a & 65535) < (b & 65535) ? a : b, high = a < b ? a : b;
    return (low & 65535) | (high & 0xffff0000u);
#endif
}
TESS_FN uint32_t tess_max_halves_u32(uint32_t a, uint32_t b)
{
#ifdef TESS_MAX_HALVES
    return TESS_MAX_HALVES(a, b);
#else
    const uint32_t low = (a & 65535) < (b & 65535) ? b : a, high = a < b ? b : a;
    return (low & 65535) | (high & 0xffff0000u);
#endif
}

/* ---- Elements in memory, at any alignment ------------------------------------------------------- */
#ifndef TESSERA_PRELUDE_GPU
#define TESS_ELEMENT(T, s)                    \
    TESS_FN T tess_load_##s(const void *p)    \
    {                                         \
        T v;                                  \
        memcpy(&v, p, sizeof v);              \
        return v;                             \
    }                                         \
    TESS_FN void tess_store_##s(void *p, T v) \
    {                                         \
        memcpy(p, &v, sizeof v);              \
    }
TESS_ELEMENT(int8_t, i8)
TESS_ELEMENT(uint8_t, u8)
TESS_ELEMENT(int16_t, i16)
TESS_ELEMENT(uint16_t, u16)
TESS_ELEMENT(int32_t, i32)
TESS_ELEMENT(uint32_t, u32)
TESS_ELEMENT(int64_t, i64)
TESS_ELEMENT(uint64_t, u64)
TESS_ELEMENT(float, f32)
TESS_ELEMENT(double, f64)
TESS_FN bool tess_load_b(const void *p)
{
    return tess_load_u8(p) != 0;
}
TESS_FN void tess_store_b(void *p, bool v)
{
    tess_store_u8(p, v);
}
#define TESS_BYTES_AT       const void *
#define TESS_WRITE_BYTES_AT void *
#endif
TESS_FN float tess_load_f16(TESS_BYTES_AT p)
{
    return tess_f32_from_f16bits(tess_load_u16(p));
}
TESS_FN void tess_store_f16(TESS_WRITE_BYTES_AT p, float v)
{
    tess_store_u16(p, tess_f16bits_from_f32(v));
}

/* ---- Borders: the index that answers index i of a line of n >= 1 points, for any i ---------------- */
TESS_FN tess_idx tess_border_clamp(tess_idx i, tess_idx n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}
TESS_FN tess_idx tess_border_mirror(tess_idx i, tess_idx n)
{
    if (i >= 0 && i < n)
        return i;
    tess_idx period = n > 1 ? 2 * n - 2 : 1, k = tess_floormod_idx(i, period);
    return k < n ? k : period - k;
}
TESS_FN tess_idx tess_border_reflect(tess_idx i, tess_idx n)
{
    if (i >= 0 && i < n)
        return i;
    tess_idx k = tess_floormod_idx(i, 2 * n);
    return k < n ? k : 2 * n - 1 - k;
}
TESS_FN tess_idx tess_border_wrap(tess_idx i, tess_idx n)
{
    return i >= 0 && i < n ? i : tess_floormod_idx(i, n);
}

/* ---- Sorting by total order (reals: -inf .. -0 < +0 .. inf < every NaN) --------------------------- */
/* The sign of a computed NaN differs between machines, so all NaNs are one value here, the last. */
TESS_FN int16_t tess_order_f16(uint16_t h)
{
    return (h & 0x7fffu) > 0x7c00u ? INT16_MAX : (int16_t)(h ^ ((h >> 15) * 0x7fffu));
}
TESS_FN int32_t tess_order_f32(float x)
{
    uint32_t u = tess_bits_f32(x);
    return x != x ? INT32_MAX : (int32_t)(u ^ ((u >> 31) * 0x7fffffffu));
}
TESS_FN int64_t tess_order_f64(double x)
{
    uint64_t u = tess_bits_f64(x);
    return x != x ? INT64_MAX : (int64_t)(u ^ ((u >> 63) * 0x7fffffffffffffffu));
}
TESS_FN float tess_at_order_i32(int32_t k)
{
    uint32_t u = (uint32_t)k;
    return tess_real_f32(u ^ ((u >> 31) * 0x7fffffffu));
}
TESS_FN double tess_at_order_i64(int64_t k)
{
    uint64_t u = (uint64_t)k;
    return tess_real_f64(u ^ ((u >> 63) * 0x7fffffffffffffffu));
}
/* Shell's sort: insertion sort for a handful of elements, n^(4/3) or so for many; no recursion, no memory. */
#define TESS_SORT(T, s, K, KEY)                                     \
    TESS_BIG_FN void tess_sort_##s(T *v, tess_idx n)                \
    {                                                               \
        tess_idx gap = 1;                                           \
        while (gap < n / 9)                                         \
            gap = 3 * gap + 1;                                      \
        for (; gap > 0; gap /= 3)                                   \
            for (tess_idx i = gap; i < n; i++) {                    \
                T x = v[i];                                         \
                K key = KEY(x);                                     \
                tess_idx j = i;                                     \
                for (; j >= gap && key < KEY(v[j - gap]); j -= gap) \
                    v[j] = v[j - gap];                              \
                v[j] = x;                                           \
            }                                                       \
    }
TESS_SORT(uint8_t, b, uint8_t, )
TESS_SORT(int8_t, i8, int8_t, )
TESS_SORT(uint8_t, u8, uint8_t, )
TESS_SORT(int16_t, i16, int16_t, )
TESS_SORT(uint16_t, u16, uint16_t, )
TESS_SORT(int32_t, i32, int32_t, )
TESS_SORT(uint32_t, u32, uint32_t, )
TESS_SORT(int64_t, i64, int64_t, )
TESS_SORT(uint64_t, u64, uint64_t, )
TESS_SORT(uint16_t, f16, int16_t, tess_order_f16)
TESS_SORT(float, f32, int32_t, tess_order_f32)
TESS_SORT(double, f64, int64_t, tess_order_f64)

#endif
