/* The text of all kernels. A file that includes it says for which processor (its flags), and names the table
 * (VM_TABLE, VM_NAME). */
#ifndef TESSERA_VM_VM_KERNELS_BODY_H
#define TESSERA_VM_VM_KERNELS_BODY_H

#include "prelude/c.h"
#include "prelude/c_math.h"
#include "vm/vm_kernels.h"
#include "vm/vm_sums.h"

/* Not every operator has vectors on every processor. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#ifndef VM_TABLE
#define VM_TABLE tessi_vm_kernels_any
#define VM_NAME  "any"
#endif

/* Elements anywhere in memory. */
#if defined(__GNUC__)
#define VM_ANYWHERE __attribute__((aligned(1), may_alias))
#else
#define VM_ANYWHERE
#endif
typedef uint8_t vm_b VM_ANYWHERE; /* 0 or 1: compilers make no vectors of what reads bool */
typedef int8_t vm_i8 VM_ANYWHERE;
typedef uint8_t vm_u8 VM_ANYWHERE;
typedef int16_t vm_i16 VM_ANYWHERE;
typedef uint16_t vm_u16 VM_ANYWHERE;
typedef int32_t vm_i32 VM_ANYWHERE;
typedef uint32_t vm_u32 VM_ANYWHERE;
typedef int64_t vm_i64 VM_ANYWHERE;
typedef uint64_t vm_u64 VM_ANYWHERE;
typedef float vm_f32 VM_ANYWHERE;
typedef double vm_f64 VM_ANYWHERE;
typedef int64_t vm_idx VM_ANYWHERE;

#if defined(__clang__)
#define VM_EACH _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < n; i++)
#elif defined(__GNUC__)
#define VM_EACH _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)
#else
#define VM_EACH for (size_t i = 0; i < n; i++)
#endif

#define VM_HEAD(name) \
    static void name(void *d, const void *pa, const void *pb, const void *pc, size_t n)
#define VM_UNARY(name, R, A, call) \
    VM_HEAD(name)                  \
    {                              \
        vm_##R *r = d;             \
        const vm_##A *a = pa;      \
        (void)pb, (void)pc;        \
        VM_EACH                    \
        {                          \
            r[i] = call(a[i]);     \
        }                          \
    }
#define VM_BINARY(name, R, A, call)           \
    VM_HEAD(name##_v)                         \
    {                                         \
        vm_##R *r = d;                        \
        const vm_##A *a = pa;                 \
        const vm_##A *b = pb;                 \
        (void)pc;                             \
        VM_EACH                               \
        {                                     \
            r[i] = call(a[i], b[i]);          \
        }                                     \
    }                                         \
    VM_HEAD(name##_s)                         \
    {                                         \
        vm_##R *r = d;                        \
        const vm_##A *a = pa;                 \
        const vm_##A b = *(const vm_##A *)pb; \
        (void)pc;                             \
        VM_EACH                               \
        {                                     \
            r[i] = call(a[i], b);             \
        }                                     \
    }
#define VM_TERNARY(name, R, A, B, C, call, IB, IC, ia, ib, ic) \
    VM_HEAD(name)                                              \
    {                                                          \
        vm_##R *r = d;                                         \
        const vm_##A *a = pa;                                  \
        const vm_##B *b = pb;                                  \
        const vm_##C *c = pc;                                  \
        VM_EACH                                                \
        {                                                      \
            r[i] = call(a[ia], b[ib], c[ic]);                  \
        }                                                      \
    }

/* ---- Operators that are infix in C ------------------------------------------------------------- */
#define VM_EQ(a, b)  ((a) == (b))
#define VM_NE(a, b)  ((a) != (b))
#define VM_LT(a, b)  ((a) < (b))
#define VM_LE(a, b)  ((a) <= (b))
#define VM_ADD(a, b) ((a) + (b))
#define VM_SUB(a, b) ((a) - (b))
#define VM_MUL(a, b) ((a) * (b))
#define VM_DIV(a, b) ((a) / (b))
#define VM_NEG(a)    (-(a))

/* Operators of integers and bool whose results are of the type, or int of its values. */
/* Two steps of a network that sorts, max(min(a, b), c). */
#define VM_TWO_STEPS(T, s, second, first)                                                        \
    static inline T vm_##second##_of_##first##_##s(T a, T b, T c)                                \
    {                                                                                            \
        return tess_##second##_##s(tess_##first##_##s(a, b), c);                                 \
    }                                                                                            \
    VM_TERNARY(k_##second##_of_##first##_##s, s, s, s, s, vm_##second##_of_##first##_##s, , , i, \
               i, i)
#define VM_STEPS(T, s)           \
    VM_TWO_STEPS(T, s, min, min) \
    VM_TWO_STEPS(T, s, min, max) \
    VM_TWO_STEPS(T, s, max, min) \
    VM_TWO_STEPS(T, s, max, max)
#define VM_INFIX(T, s, name, op)              \
    static inline T vm_##name##_##s(T a, T b) \
    {                                         \
        return (T)(a op b);                   \
    }
#define VM_BITS_OF(T, s)                     \
    VM_INFIX(T, s, and, &)                   \
    VM_INFIX(T, s, or, |)                    \
    VM_INFIX(T, s, xor, ^)                   \
    VM_BINARY(k_and_##s, s, s, vm_and_##s)   \
    VM_BINARY(k_or_##s, s, s, vm_or_##s)     \
    VM_BINARY(k_xor_##s, s, s, vm_xor_##s)   \
    VM_BINARY(k_eq_##s, b, s, VM_EQ)         \
    VM_BINARY(k_ne_##s, b, s, VM_NE)         \
    VM_BINARY(k_lt_##s, b, s, VM_LT)         \
    VM_BINARY(k_le_##s, b, s, VM_LE)         \
    VM_BINARY(k_min_##s, s, s, tess_min_##s) \
    VM_BINARY(k_max_##s, s, s, tess_max_##s) \
    VM_BINARY(k_shl_##s, s, s, tess_shl_##s) \
    VM_BINARY(k_shr_##s, s, s, tess_shr_##s) \
    VM_UNARY(k_not_##s, s, s, tess_not_##s)
#define VM_INTEGER(T, s)                     \
    VM_BITS_OF(T, s)                         \
    VM_STEPS(T, s)                           \
    VM_UNARY(k_neg_##s, s, s, tess_neg_##s)  \
    VM_UNARY(k_abs_##s, s, s, tess_abs_##s)  \
    VM_BINARY(k_add_##s, s, s, tess_add_##s) \
    VM_BINARY(k_sub_##s, s, s, tess_sub_##s) \
    VM_BINARY(k_mul_##s, s, s, tess_mul_##s) \
    VM_BINARY(k_div_##s, s, s, tess_div_##s) \
    VM_BINARY(k_mod_##s, s, s, tess_mod_##s) \
    VM_BINARY(k_pow_##s, s, s, tess_pow_##s)
VM_BITS_OF(bool, b)
VM_INTEGER(int8_t, i8)
VM_INTEGER(uint8_t, u8)
VM_INTEGER(int16_t, i16)
VM_INTEGER(uint16_t, u16)
VM_INTEGER(int32_t, i32)
VM_INTEGER(uint32_t, u32)
VM_INTEGER(int64_t, i64)
VM_INTEGER(uint64_t, u64)
VM_BINARY(k_floordiv_idx, i64, i64, tess_floordiv_idx)
VM_BINARY(k_floormod_idx, i64, i64, tess_floormod_idx)
VM_BINARY(k_min_halves, u32, u32, tess_min_halves_u32)
VM_BINARY(k_max_halves, u32, u32, tess_max_halves_u32)
VM_TERNARY(k_dot, u32, u32, u32, u32, tess_dot_u32, , , i, i, i)
VM_TERNARY(k_bytes, u32, u32, u32, u32, tess_bytes_u32, , , i, i, i)
VM_UNARY(k_at_order_i32, f32, i32, tess_at_order_i32)
VM_UNARY(k_at_order_i64, f64, i64, tess_at_order_i64)

#define VM_REAL(T, s, K)                                             \
    VM_STEPS(T, s)                                                   \
    VM_UNARY(k_neg_##s, s, s, VM_NEG)                                \
    VM_BINARY(k_add_##s, s, s, VM_ADD)                               \
    VM_BINARY(k_sub_##s, s, s, VM_SUB)                               \
    VM_BINARY(k_mul_##s, s, s, VM_MUL)                               \
    VM_BINARY(k_div_##s, s, s, VM_DIV)                               \
    VM_BINARY(k_eq_##s, b, s, VM_EQ)                                 \
    VM_BINARY(k_ne_##s, b, s, VM_NE)                                 \
    VM_BINARY(k_lt_##s, b, s, VM_LT)                                 \
    VM_BINARY(k_le_##s, b, s, VM_LE)                                 \
    VM_BINARY(k_min_##s, s, s, tess_min_##s)                         \
    VM_BINARY(k_max_##s, s, s, tess_max_##s)                         \
    VM_BINARY(k_mod_##s, s, s, tess_mod_##s)                         \
    VM_BINARY(k_pow_##s, s, s, tess_pow_##s)                         \
    VM_BINARY(k_atan2_##s, s, s, tess_atan2_##s)                     \
    VM_BINARY(k_hypot_##s, s, s, tess_hypot_##s)                     \
    VM_UNARY(k_abs_##s, s, s, tess_abs_##s)                          \
    VM_UNARY(k_sqrt_##s, s, s, tess_sqrt_##s)                        \
    VM_UNARY(k_rsqrt_##s, s, s, tess_rsqrt_##s)                      \
    VM_UNARY(k_cbrt_##s, s, s, tess_cbrt_##s)                        \
    VM_UNARY(k_exp_##s, s, s, tess_exp_##s)                          \
    VM_UNARY(k_exp2_##s, s, s, tess_exp2_##s)                        \
    VM_UNARY(k_exp2_near_##s, s, s, tess_exp2_near_##s)              \
    VM_UNARY(k_log_##s, s, s, tess_log_##s)                          \
    VM_UNARY(k_log2_##s, s, s, tess_log2_##s)                        \
    VM_UNARY(k_log10_##s, s, s, tess_log10_##s)                      \
    VM_UNARY(k_sin_##s, s, s, tess_sin_##s)                          \
    VM_UNARY(k_cos_##s, s, s, tess_cos_##s)                          \
    VM_UNARY(k_tan_##s, s, s, tess_tan_##s)                          \
    VM_UNARY(k_asin_##s, s, s, tess_asin_##s)                        \
    VM_UNARY(k_acos_##s, s, s, tess_acos_##s)                        \
    VM_UNARY(k_atan_##s, s, s, tess_atan_##s)                        \
    VM_UNARY(k_sinh_##s, s, s, tess_sinh_##s)                        \
    VM_UNARY(k_cosh_##s, s, s, tess_cosh_##s)                        \
    VM_UNARY(k_tanh_##s, s, s, tess_tanh_##s)                        \
    VM_UNARY(k_floor_##s, s, s, tess_floor_##s)                      \
    VM_UNARY(k_ceil_##s, s, s, tess_ceil_##s)                        \
    VM_UNARY(k_round_##s, s, s, tess_round_##s)                      \
    VM_UNARY(k_trunc_##s, s, s, tess_trunc_##s)                      \
    VM_UNARY(k_isnan_##s, b, s, tess_isnan_##s)                      \
    VM_UNARY(k_order_##s, K, s, tess_order_##s)                      \
    VM_TERNARY(k_fma_##s##_0, s, s, s, s, tess_fma_##s, , , i, i, i) \
    VM_TERNARY(k_fma_##s##_1, s, s, s, s, tess_fma_##s, , , 0, i, i) \
    VM_TERNARY(k_fma_##s##_2, s, s, s, s, tess_fma_##s, , , i, i, 0) \
    VM_TERNARY(k_fma_##s##_3, s, s, s, s, tess_fma_##s, , , 0, i, 0)
VM_REAL(float, f32, i32)
VM_REAL(double, f64, i64)
VM_UNARY(k_round16, f32, f32, tess_round16_f32)

/* By masks: compilers make no vectors of `?` here. */
#define VM_SELECT_OF(T, s)                             \
    static inline T vm_select_##s(uint8_t c, T a, T b) \
    {                                                  \
        const T of_a = (T)(0 - (T)c);                  \
        return (T)((T)(a & of_a) | (T)(b & (T)~of_a)); \
    }
VM_SELECT_OF(uint8_t, u8)
VM_SELECT_OF(uint16_t, u16)
VM_SELECT_OF(uint32_t, u32)
VM_SELECT_OF(uint64_t, u64)
#define VM_SELECT(s, bits, call)                                   \
    VM_TERNARY(k_select_##bits##_0, s, b, s, s, call, , , i, i, i) \
    VM_TERNARY(k_select_##bits##_1, s, b, s, s, call, , , i, 0, i) \
    VM_TERNARY(k_select_##bits##_2, s, b, s, s, call, , , i, i, 0) \
    VM_TERNARY(k_select_##bits##_3, s, b, s, s, call, , , i, 0, 0)
VM_SELECT(u8, 8, vm_select_u8)
VM_SELECT(u16, 16, vm_select_u16)
VM_SELECT(u32, 32, vm_select_u32)
VM_SELECT(u64, 64, vm_select_u64)

/* ---- Conversions: from each type; a plain cast where that is what the prelude's rule says ------ */
#define VM_FROM(T, to, s, value)                 \
    static inline T vm_##to##_from_##s(vm_##s x) \
    {                                            \
        return value;                            \
    }
#define VM_FROM_INTEGER(s)                 \
    VM_FROM(bool, b, s, x != 0)            \
    VM_FROM(int8_t, i8, s, (int8_t)x)      \
    VM_FROM(uint8_t, u8, s, (uint8_t)x)    \
    VM_FROM(int16_t, i16, s, (int16_t)x)   \
    VM_FROM(uint16_t, u16, s, (uint16_t)x) \
    VM_FROM(int32_t, i32, s, (int32_t)x)   \
    VM_FROM(uint32_t, u32, s, (uint32_t)x) \
    VM_FROM(int64_t, i64, s, (int64_t)x)   \
    VM_FROM(uint64_t, u64, s, (uint64_t)x) \
    VM_FROM(float, f32, s, (float)x)       \
    VM_FROM(double, f64, s, (double)x)
#define VM_FROM_REAL(s)                             \
    VM_FROM(bool, b, s, x != 0)                     \
    VM_FROM(int8_t, i8, s, tess_i8_from_##s(x))     \
    VM_FROM(uint8_t, u8, s, tess_u8_from_##s(x))    \
    VM_FROM(int16_t, i16, s, tess_i16_from_##s(x))  \
    VM_FROM(uint16_t, u16, s, tess_u16_from_##s(x)) \
    VM_FROM(int32_t, i32, s, tess_i32_from_##s(x))  \
    VM_FROM(uint32_t, u32, s, tess_u32_from_##s(x)) \
    VM_FROM(int64_t, i64, s, tess_i64_from_##s(x))  \
    VM_FROM(uint64_t, u64, s, tess_u64_from_##s(x)) \
    VM_FROM(float, f32, s, (float)x)                \
    VM_FROM(double, f64, s, (double)x)
VM_FROM_INTEGER(b)
VM_FROM_INTEGER(i8)
VM_FROM_INTEGER(u8)
VM_FROM_INTEGER(i16)
VM_FROM_INTEGER(u16)
VM_FROM_INTEGER(i32)
VM_FROM_INTEGER(u32)
VM_FROM_INTEGER(i64)
VM_FROM_INTEGER(u64)
VM_FROM_REAL(f32)
VM_FROM_REAL(f64)
#define VM_CAST(to, from)                                           \
    VM_UNARY(k_cast_##to##_##from, to, from, vm_##to##_from_##from) \
    VM_UNARY(k_sat_##to##_##from, to, from, tess_sat_##to##_from_##from)
#define VM_CASTS_FROM(s)                                \
    VM_CAST(b, s)                                       \
    VM_CAST(i8, s)                                      \
    VM_CAST(u8, s)                                      \
    VM_CAST(i16, s)                                     \
    VM_CAST(u16, s)                                     \
    VM_CAST(i32, s)                                     \
    VM_CAST(u32, s)                                     \
    VM_CAST(i64, s)                                     \
    VM_CAST(u64, s)                                     \
    VM_CAST(f32, s)                                     \
    VM_CAST(f64, s)                                     \
    VM_UNARY(k_cast_f16_##s, f32, s, tess_f16_from_##s) \
    VM_UNARY(k_sat_f16_##s, f32, s, tess_sat_f16_from_##s)
VM_CASTS_FROM(b)
VM_CASTS_FROM(i8)
VM_CASTS_FROM(u8)
VM_CASTS_FROM(i16)
VM_CASTS_FROM(u16)
VM_CASTS_FROM(i32)
VM_CASTS_FROM(u32)
VM_CASTS_FROM(i64)
VM_CASTS_FROM(u64)
VM_CASTS_FROM(f32)
VM_CASTS_FROM(f64)

/* ---- Elements ---------------------------------------------------------------------------------- */
#define VM_SAME(x) (x)
#define VM_TRUE(x) ((x) != 0)
VM_UNARY(k_load_f16, f32, u16, tess_f32_from_f16bits)
VM_UNARY(k_store_f16, u16, f32, tess_f16bits_from_f32)
VM_UNARY(k_load_bool, b, u8, VM_TRUE)
#define VM_MOVES(s, bits)                                                              \
    VM_UNARY(k_copy_##bits, s, s, VM_SAME)                                             \
    VM_HEAD(k_spread_##bits)                                                           \
    {                                                                                  \
        vm_##s *r = d;                                                                 \
        const vm_##s a = *(const vm_##s *)pa;                                          \
        (void)pb, (void)pc;                                                            \
        VM_EACH                                                                        \
        {                                                                              \
            r[i] = a;                                                                  \
        }                                                                              \
    }                                                                                  \
    static void k_pull_##bits(void *d, const void *pa, ptrdiff_t stride, size_t n)     \
    {                                                                                  \
        vm_##s *r = d;                                                                 \
        const vm_##s *e = pa;                                                          \
        const char *a = pa;                                                            \
        if (stride == 3 * (ptrdiff_t)sizeof *r) {                                      \
            VM_EACH                                                                    \
            {                                                                          \
                r[i] = e[3 * i];                                                       \
            }                                                                          \
        } else if (stride == 2 * (ptrdiff_t)sizeof *r) {                               \
            VM_EACH                                                                    \
            {                                                                          \
                r[i] = e[2 * i];                                                       \
            }                                                                          \
        } else if (stride == 4 * (ptrdiff_t)sizeof *r) {                               \
            VM_EACH                                                                    \
            {                                                                          \
                r[i] = e[4 * i];                                                       \
            }                                                                          \
        } else {                                                                       \
            for (size_t i = 0; i < n; i++)                                             \
                r[i] = *(const vm_##s *)(a + (ptrdiff_t)i * stride);                   \
        }                                                                              \
    }                                                                                  \
    static void k_push_##bits(void *d, const void *pa, ptrdiff_t stride, size_t n)     \
    {                                                                                  \
        char *r = d;                                                                   \
        const vm_##s *a = pa;                                                          \
        for (size_t i = 0; i < n; i++)                                                 \
            *(vm_##s *)(r + (ptrdiff_t)i * stride) = a[i];                             \
    }                                                                                  \
    static void k_gather_##bits(void *d, const void *pa, const int64_t *at, size_t n)  \
    {                                                                                  \
        vm_##s *r = d;                                                                 \
        const char *a = pa;                                                            \
        for (size_t i = 0; i < n; i++)                                                 \
            r[i] = *(const vm_##s *)(a + at[i]);                                       \
    }                                                                                  \
    static void k_scatter_##bits(void *d, const void *pa, const int64_t *at, size_t n) \
    {                                                                                  \
        char *r = d;                                                                   \
        const vm_##s *a = pa;                                                          \
        for (size_t i = 0; i < n; i++)                                                 \
            *(vm_##s *)(r + at[i]) = a[i];                                             \
    }
VM_MOVES(u8, 8)
VM_MOVES(u16, 16)
VM_MOVES(u32, 32)
VM_MOVES(u64, 64)

VM_HEAD(k_ramp)
{
    vm_i64 *r = d;
    const int64_t a = *(const vm_i64 *)pa, b = *(const vm_i64 *)pb;
    (void)pc;
    VM_EACH
    {
        r[i] = a + (int64_t)i * b;
    }
}
VM_HEAD(k_scale)
{
    vm_i64 *r = d;
    const vm_i64 *a = pa;
    const vm_i64 *c = pc;
    const int64_t b = *(const vm_i64 *)pb;
    VM_EACH
    {
        r[i] = a[i] * b + c[i];
    }
}

/* ---- Additions to elements, of histograms ------------------------------------------------------ */
#define VM_ADDS(T, s)                                                              \
    static void k_add_to_##s(void *d, const void *pa, const int64_t *at, size_t n) \
    {                                                                              \
        char *r = d;                                                               \
        const vm_##s *a = pa;                                                      \
        for (size_t i = 0; i < n; i++) {                                           \
            vm_##s *to = (vm_##s *)(r + at[i]);                                    \
            *to = tess_add_##s(*to, a[i]);                                         \
        }                                                                          \
    }
#if defined(__GNUC__)
#define VM_ADDS_ATOMIC(T, W, s)                                                        \
    static void k_add_atomic_##s(void *d, const void *pa, const int64_t *at, size_t n) \
    {                                                                                  \
        char *r = d;                                                                   \
        const vm_##s *a = pa;                                                          \
        for (size_t i = 0; i < n; i++)                                                 \
            __atomic_fetch_add((W *)(void *)(r + at[i]), (W)a[i], __ATOMIC_RELAXED);   \
    }
#else
#include <stdatomic.h>
#define VM_ADDS_ATOMIC(T, W, s)                                                        \
    static void k_add_atomic_##s(void *d, const void *pa, const int64_t *at, size_t n) \
    {                                                                                  \
        char *r = d;                                                                   \
        const vm_##s *a = pa;                                                          \
        for (size_t i = 0; i < n; i++)                                                 \
            atomic_fetch_add_explicit((_Atomic W *)(void *)(r + at[i]), (W)a[i],       \
                                      memory_order_relaxed);                           \
    }
#endif
VM_ADDS(int32_t, i32)
VM_ADDS(uint32_t, u32)
VM_ADDS(int64_t, i64)
VM_ADDS(uint64_t, u64)
VM_ADDS_ATOMIC(int32_t, uint32_t, i32)
VM_ADDS_ATOMIC(uint32_t, uint32_t, u32)
VM_ADDS_ATOMIC(int64_t, uint64_t, i64)

/* ---- Sorting of all lanes at once, by the network of Batcher.s merge exchange ------------------ */
#define VM_SORTS(T, s, LESS)                                                                 \
    static void k_exchange_##s(char *low, char *high, size_t n)                              \
    {                                                                                        \
        vm_##s *a = (vm_##s *)low, *b = (vm_##s *)high;                                      \
        VM_EACH                                                                              \
        {                                                                                    \
            const T x = a[i], y = b[i];                                                      \
            const bool swap = LESS(y, x);                                                    \
            a[i] = swap ? y : x;                                                             \
            b[i] = swap ? x : y;                                                             \
        }                                                                                    \
    }                                                                                        \
    static void k_sort_##s(void *d, size_t pitch, size_t count, size_t n)                    \
    {                                                                                        \
        char *v = d;                                                                         \
        size_t whole = 1;                                                                    \
        while (whole < count)                                                                \
            whole *= 2;                                                                      \
        for (size_t p = 1; p < whole; p *= 2)                                                \
            for (size_t k = p; k >= 1; k /= 2)                                               \
                for (size_t j = k % p; j + k < count; j += 2 * k)                            \
                    for (size_t i = 0; i < k && i + j + k < count; i++)                      \
                        if ((i + j) / (2 * p) == (i + j + k) / (2 * p))                      \
                            k_exchange_##s(v + (i + j) * pitch, v + (i + j + k) * pitch, n); \
    }
#define VM_LESS_F16(x, y) (tess_order_f16(x) < tess_order_f16(y))
#define VM_LESS_F32(x, y) (tess_order_f32(x) < tess_order_f32(y))
#define VM_LESS_F64(x, y) (tess_order_f64(x) < tess_order_f64(y))
typedef uint16_t vm_f16 VM_ANYWHERE;
VM_SORTS(bool, b, VM_LT)
VM_SORTS(int8_t, i8, VM_LT)
VM_SORTS(uint8_t, u8, VM_LT)
VM_SORTS(int16_t, i16, VM_LT)
VM_SORTS(uint16_t, u16, VM_LT)
VM_SORTS(int32_t, i32, VM_LT)
VM_SORTS(uint32_t, u32, VM_LT)
VM_SORTS(int64_t, i64, VM_LT)
VM_SORTS(uint64_t, u64, VM_LT)
VM_SORTS(uint16_t, f16, VM_LESS_F16)
VM_SORTS(float, f32, VM_LESS_F32)
VM_SORTS(double, f64, VM_LESS_F64)

/* The low byte of 16 bits, as a value of the type it was. */
#define VM_LOW_U8(x) ((uint16_t)(uint8_t)(x))
#define VM_LOW_I8(x) ((int16_t)(int8_t)(x))
VM_UNARY(k_low_u16, u16, u16, VM_LOW_U8)
VM_UNARY(k_low_i16, i16, i16, VM_LOW_I8)

/* ---- The table --------------------------------------------------------------------------------- */
#define VM_2(name)         \
    {                      \
        name##_v, name##_s \
    }
#define VM_1(name) \
    {              \
        name, name \
    }
#define VM_BITS_ROWS(ID, s)                                                       \
    [OP_NOT][TYPE_##ID] = VM_1(k_not_##s), [OP_AND][TYPE_##ID] = VM_2(k_and_##s), \
    [OP_OR][TYPE_##ID] = VM_2(k_or_##s), [OP_XOR][TYPE_##ID] = VM_2(k_xor_##s),   \
    [OP_EQ][TYPE_##ID] = VM_2(k_eq_##s), [OP_NE][TYPE_##ID] = VM_2(k_ne_##s),     \
    [OP_LT][TYPE_##ID] = VM_2(k_lt_##s), [OP_LE][TYPE_##ID] = VM_2(k_le_##s),     \
    [OP_MIN][TYPE_##ID] = VM_2(k_min_##s), [OP_MAX][TYPE_##ID] = VM_2(k_max_##s), \
    [OP_SHL][TYPE_##ID] = VM_2(k_shl_##s), [OP_SHR][TYPE_##ID] = VM_2(k_shr_##s)
#define VM_INTEGER_ROWS(ID, s)                                                        \
    VM_BITS_ROWS(ID, s),                                                              \
        [OP_NEG][TYPE_##ID] = VM_1(k_neg_##s), [OP_ABS][TYPE_##ID] = VM_1(k_abs_##s), \
        [OP_ADD][TYPE_##ID] = VM_2(k_add_##s), [OP_SUB][TYPE_##ID] = VM_2(k_sub_##s), \
        [OP_MUL][TYPE_##ID] = VM_2(k_mul_##s), [OP_DIV][TYPE_##ID] = VM_2(k_div_##s), \
        [OP_MOD][TYPE_##ID] = VM_2(k_mod_##s), [OP_POW][TYPE_##ID] = VM_2(k_pow_##s)
#define VM_REAL_ROWS(ID, s)                                                                     \
    [OP_NEG][TYPE_##ID] = VM_1(k_neg_##s), [OP_ADD][TYPE_##ID] = VM_2(k_add_##s),               \
    [OP_SUB][TYPE_##ID] = VM_2(k_sub_##s), [OP_MUL][TYPE_##ID] = VM_2(k_mul_##s),               \
    [OP_DIV][TYPE_##ID] = VM_2(k_div_##s), [OP_EQ][TYPE_##ID] = VM_2(k_eq_##s),                 \
    [OP_NE][TYPE_##ID] = VM_2(k_ne_##s), [OP_LT][TYPE_##ID] = VM_2(k_lt_##s),                   \
    [OP_LE][TYPE_##ID] = VM_2(k_le_##s), [OP_MIN][TYPE_##ID] = VM_2(k_min_##s),                 \
    [OP_MAX][TYPE_##ID] = VM_2(k_max_##s), [OP_MOD][TYPE_##ID] = VM_2(k_mod_##s),               \
    [OP_POW][TYPE_##ID] = VM_2(k_pow_##s), [OP_ATAN2][TYPE_##ID] = VM_2(k_atan2_##s),           \
    [OP_HYPOT][TYPE_##ID] = VM_2(k_hypot_##s), [OP_ABS][TYPE_##ID] = VM_1(k_abs_##s),           \
    [OP_SQRT][TYPE_##ID] = VM_1(k_sqrt_##s), [OP_RSQRT][TYPE_##ID] = VM_1(k_rsqrt_##s),         \
    [OP_CBRT][TYPE_##ID] = VM_1(k_cbrt_##s), [OP_EXP][TYPE_##ID] = VM_1(k_exp_##s),             \
    [OP_EXP2][TYPE_##ID] = VM_1(k_exp2_##s), [OP_EXP2_NEAR][TYPE_##ID] = VM_1(k_exp2_near_##s), \
    [OP_LOG][TYPE_##ID] = VM_1(k_log_##s), [OP_LOG2][TYPE_##ID] = VM_1(k_log2_##s),             \
    [OP_LOG10][TYPE_##ID] = VM_1(k_log10_##s), [OP_SIN][TYPE_##ID] = VM_1(k_sin_##s),           \
    [OP_COS][TYPE_##ID] = VM_1(k_cos_##s), [OP_TAN][TYPE_##ID] = VM_1(k_tan_##s),               \
    [OP_ASIN][TYPE_##ID] = VM_1(k_asin_##s), [OP_ACOS][TYPE_##ID] = VM_1(k_acos_##s),           \
    [OP_ATAN][TYPE_##ID] = VM_1(k_atan_##s), [OP_SINH][TYPE_##ID] = VM_1(k_sinh_##s),           \
    [OP_COSH][TYPE_##ID] = VM_1(k_cosh_##s), [OP_TANH][TYPE_##ID] = VM_1(k_tanh_##s),           \
    [OP_FLOOR][TYPE_##ID] = VM_1(k_floor_##s), [OP_CEIL][TYPE_##ID] = VM_1(k_ceil_##s),         \
    [OP_ROUND][TYPE_##ID] = VM_1(k_round_##s), [OP_TRUNC][TYPE_##ID] = VM_1(k_trunc_##s),       \
    [OP_ISNAN][TYPE_##ID] = VM_1(k_isnan_##s), [OP_ORDER][TYPE_##ID] = VM_1(k_order_##s)
#define VM_CAST_ROW(kind, to)                                                 \
    [TYPE_BOOL] = k_##kind##_##to##_b, [TYPE_I8] = k_##kind##_##to##_i8,      \
    [TYPE_U8] = k_##kind##_##to##_u8, [TYPE_I16] = k_##kind##_##to##_i16,     \
    [TYPE_U16] = k_##kind##_##to##_u16, [TYPE_I32] = k_##kind##_##to##_i32,   \
    [TYPE_U32] = k_##kind##_##to##_u32, [TYPE_I64] = k_##kind##_##to##_i64,   \
    [TYPE_U64] = k_##kind##_##to##_u64, [TYPE_INDEX] = k_##kind##_##to##_i64, \
    [TYPE_F16] = k_##kind##_##to##_f32, [TYPE_F32] = k_##kind##_##to##_f32,   \
    [TYPE_F64] = k_##kind##_##to##_f64
#define VM_CAST_ROWS(kind)                                                              \
    [TYPE_BOOL] = { VM_CAST_ROW(kind, b) }, [TYPE_I8] = { VM_CAST_ROW(kind, i8) },      \
    [TYPE_U8] = { VM_CAST_ROW(kind, u8) }, [TYPE_I16] = { VM_CAST_ROW(kind, i16) },     \
    [TYPE_U16] = { VM_CAST_ROW(kind, u16) }, [TYPE_I32] = { VM_CAST_ROW(kind, i32) },   \
    [TYPE_U32] = { VM_CAST_ROW(kind, u32) }, [TYPE_I64] = { VM_CAST_ROW(kind, i64) },   \
    [TYPE_U64] = { VM_CAST_ROW(kind, u64) }, [TYPE_INDEX] = { VM_CAST_ROW(kind, i64) }, \
    [TYPE_F16] = { VM_CAST_ROW(kind, f16) }, [TYPE_F32] = { VM_CAST_ROW(kind, f32) },   \
    [TYPE_F64] = { VM_CAST_ROW(kind, f64) }
#define VM_STEPS_ROW(s)                         \
    {                                           \
        { k_min_of_min_##s, k_min_of_max_##s }, \
        {                                       \
            k_max_of_min_##s, k_max_of_max_##s  \
        }                                       \
    }
#define VM_WIDTH_ROW(name)                        \
    {                                             \
        name##_8, name##_16, name##_32, name##_64 \
    }
#define VM_FORMS(name)                         \
    {                                          \
        name##_0, name##_1, name##_2, name##_3 \
    }

const VmKernels VM_TABLE = {
    .name = VM_NAME,
    .op = { VM_BITS_ROWS(BOOL, b),
            VM_INTEGER_ROWS(I8, i8),
            VM_INTEGER_ROWS(U8, u8),
            VM_INTEGER_ROWS(I16, i16),
            VM_INTEGER_ROWS(U16, u16),
            VM_INTEGER_ROWS(I32, i32),
            VM_INTEGER_ROWS(U32, u32),
            VM_INTEGER_ROWS(I64, i64),
            VM_INTEGER_ROWS(U64, u64),
            VM_INTEGER_ROWS(INDEX, i64),
            VM_REAL_ROWS(F32, f32),
            VM_REAL_ROWS(F64, f64),
            [OP_FLOORDIV][TYPE_INDEX] = VM_2(k_floordiv_idx),
            [OP_FLOORMOD][TYPE_INDEX] = VM_2(k_floormod_idx),
            [OP_MIN_HALVES][TYPE_U32] = VM_2(k_min_halves),
            [OP_MAX_HALVES][TYPE_U32] = VM_2(k_max_halves),
            [OP_DOT][TYPE_U32] = { k_dot },
            [OP_BYTES][TYPE_U32] = { k_bytes },
            [OP_AT_ORDER][TYPE_I32] = VM_1(k_at_order_i32),
            [OP_AT_ORDER][TYPE_I64] = VM_1(k_at_order_i64),
            [OP_ROUND16][TYPE_F32] = VM_1(k_round16) },
    .fma = { [TYPE_F32] = VM_FORMS(k_fma_f32), [TYPE_F64] = VM_FORMS(k_fma_f64) },
    .select = { VM_FORMS(k_select_8), VM_FORMS(k_select_16), VM_FORMS(k_select_32),
                VM_FORMS(k_select_64) },
    .cast = { VM_CAST_ROWS(cast) },
    .sat = { VM_CAST_ROWS(sat) },
    .steps = { [TYPE_I8] = VM_STEPS_ROW(i8),
               [TYPE_U8] = VM_STEPS_ROW(u8),
               [TYPE_I16] = VM_STEPS_ROW(i16),
               [TYPE_U16] = VM_STEPS_ROW(u16),
               [TYPE_I32] = VM_STEPS_ROW(i32),
               [TYPE_U32] = VM_STEPS_ROW(u32),
               [TYPE_I64] = VM_STEPS_ROW(i64),
               [TYPE_U64] = VM_STEPS_ROW(u64),
               [TYPE_INDEX] = VM_STEPS_ROW(i64),
               [TYPE_F32] = VM_STEPS_ROW(f32),
               [TYPE_F64] = VM_STEPS_ROW(f64) },
    .round_to_f16 = k_cast_f16_f32,
    .low_byte = { [TYPE_U16] = k_low_u16, [TYPE_I16] = k_low_i16 },
    .copy = VM_WIDTH_ROW(k_copy),
    .spread = VM_WIDTH_ROW(k_spread),
    .load_f16 = k_load_f16,
    .store_f16 = k_store_f16,
    .load_bool = k_load_bool,
    .ramp = k_ramp,
    .scale = k_scale,
    .pull = VM_WIDTH_ROW(k_pull),
    .push = VM_WIDTH_ROW(k_push),
    .gather = VM_WIDTH_ROW(k_gather),
    .scatter = VM_WIDTH_ROW(k_scatter),
    .add = { [TYPE_I32] = k_add_to_i32,
             [TYPE_U32] = k_add_to_u32,
             [TYPE_I64] = k_add_to_i64,
             [TYPE_U64] = k_add_to_u64 },
    .add_atomic = { [TYPE_I32] = k_add_atomic_i32,
                    [TYPE_U32] = k_add_atomic_u32,
                    [TYPE_I64] = k_add_atomic_i64 },
    .sum = VM_SUMS,
    .sort = { [TYPE_BOOL] = k_sort_b,
              [TYPE_I8] = k_sort_i8,
              [TYPE_U8] = k_sort_u8,
              [TYPE_I16] = k_sort_i16,
              [TYPE_U16] = k_sort_u16,
              [TYPE_I32] = k_sort_i32,
              [TYPE_U32] = k_sort_u32,
              [TYPE_I64] = k_sort_i64,
              [TYPE_U64] = k_sort_u64,
              [TYPE_F16] = k_sort_f16,
              [TYPE_F32] = k_sort_f32,
              [TYPE_F64] = k_sort_f64 },
};

#endif
