/* What the operators of generated code (c.h and c_math.h, which stand behind this text) need of CUDA C++.
 * Self-contained under NVRTC; with nvcc it includes C's headers. Compile with --fmad=false and without
 * --use_fast_math: the graph decides about rounding. */
#ifndef TESSERA_PRELUDE_GPU
#define TESSERA_PRELUDE_GPU

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT8_MIN    (-128)
#define INT8_MAX    127
#define UINT8_MAX   255
#define INT16_MIN   (-32768)
#define INT16_MAX   32767
#define UINT16_MAX  65535
#define INT32_MIN   (-2147483647 - 1)
#define INT32_MAX   2147483647
#define UINT32_MAX  4294967295u
#define INT64_MIN   (-9223372036854775807LL - 1)
#define INT64_MAX   9223372036854775807LL
#define INT64_C(i)  i##LL
#define UINT64_MAX  18446744073709551615ULL
#define UINT64_C(i) i##ULL
#undef INFINITY
#undef NAN
#define INFINITY __int_as_float(0x7f800000)
#define NAN      __int_as_float(0x7fc00000)
#else
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

#define TESS_FN                   __device__ __forceinline__
#define TESS_BIG_FN               __device__ inline
#define TESS_TABLE                static __constant__ const
#define TESS_REDUCE_HUGE(near, a) ((a) >= 0x1p15f)
#define TESS_MAKE_2(T, a, b)      (T{ a, b })
#define TESS_MAKE_3(T, a, b, c)   (T{ a, b, c })

/* Coordinates: 32 bits where every size and product of sizes fits. */
#ifdef TESS_WIDE_INDEX
typedef int64_t tess_idx;
#define TESS_IDX_MIN INT64_MIN
#define TESS_IDX_MAX INT64_MAX
#define TESS_IDX_END 0x1p63
#else
typedef int32_t tess_idx;
#define TESS_IDX_MIN INT32_MIN
#define TESS_IDX_MAX INT32_MAX
#define TESS_IDX_END 0x1p31
#endif

/* How kernels are written in both languages. */
#define TESS_KERNEL(x, y, z) extern "C" __global__ void __launch_bounds__((x) * (y) * (z))
#define TESS_KERNEL_RESIDENT(x, y, z, blocks) \
    extern "C" __global__ void __launch_bounds__((x) * (y) * (z), blocks)
#define TESS_GLOBAL
#define TESS_CONST_GLOBAL         const
#define TESS_RESTRICT             __restrict__
#define TESS_CONSTANT             static __constant__ const
#define TESS_SHARED               __shared__ __align__(16)
#define TESS_CONST_SHARED         const
#define TESS_BARRIER              __syncthreads()
#define TESS_UNROLL               _Pragma("unroll")
#define TESS_UNROLL_BY(n)         TESS_PRAGMA(unroll n)
#define TESS_PRAGMA(words)        _Pragma(#words)
#define TESS_NO_UNROLL            _Pragma("unroll 1")
#define TESS_PREFETCH(p)          asm volatile("prefetch.global.L2 [%0];" ::"l"(p))
#define TESS_HERE(i)              tess_here(i)
#define TESS_AFTER(i, x)          tess_after(i, x)
#define TESS_KEEP(x)              tess_keep(x)
#define TESS_LIKELY(c)            __builtin_expect(c, 1)
#define TESS_BLOCK_X              ((tess_idx)blockIdx.x)
#define TESS_BLOCK_Y              ((tess_idx)blockIdx.y)
#define TESS_BLOCK_Z              ((tess_idx)blockIdx.z)
#define TESS_BLOCKS_Y             ((tess_idx)gridDim.y)
#define TESS_BLOCKS_Z             ((tess_idx)gridDim.z)
#define TESS_THREAD_X             ((tess_idx)threadIdx.x)
#define TESS_THREAD_Y             ((tess_idx)threadIdx.y)
#define TESS_THREAD_Z             ((tess_idx)threadIdx.z)
#define TESS_ATOMIC_ADD_U32(p, v) atomicAdd((unsigned *)(p), (unsigned)(v))
#define TESS_ATOMIC_ADD_I32(p, v) atomicAdd((unsigned *)(p), (unsigned)(v))
#define TESS_ATOMIC_ADD_I64(p, v) atomicAdd((unsigned long long *)(p), (unsigned long long)(v))

/* i, of which the compiler knows nothing, so that it does not compute before a loop what is computed from it. */
TESS_FN tess_idx tess_here(tess_idx i)
{
#ifdef TESS_WIDE_INDEX
    asm volatile("" : "+l"(i));
#else
    asm volatile("" : "+r"(i));
#endif
    return i;
}

/* i, which the compiler believes to depend on x, so that what is computed from it waits for x: i + popcount(x) / 64. */
template <typename T> TESS_FN tess_idx tess_after(tess_idx i, T x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof x < sizeof bits ? sizeof x : sizeof bits);
#ifdef __CUDACC__ /* not where kernels are tested on a processor; so below */
    asm volatile("{ popc.b32 %0, %0; shr.u32 %0, %0, 6; }" : "+r"(bits));
    return i + (tess_idx)bits;
#else
    (void)bits;
    return i;
#endif
}

/* x is to be in a register until here: a use that costs two instructions, and does nothing. */
template <typename T> TESS_FN void tess_keep(T x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof x < sizeof bits ? sizeof x : sizeof bits);
#ifdef __CUDACC__
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 1; @p nanosleep.u32 0; }" ::"r"(bits));
#else
    (void)bits;
#endif
}

/* The same of a coordinate, which is never so small: instructions that stand before are not moved behind. Loads that
 * are sunk to where they are used are waited for one by one. */
TESS_FN void tess_keep(tess_idx x)
{
#ifdef __CUDACC__
    if (x < -0x40000000)
        asm volatile("trap;");
#else
    (void)x;
#endif
}

/* x of the thread `by` farther on in the warp; that of this thread where there is none. */
template <typename T> TESS_FN T tess_shift(T x, int by)
{
    return (T)(by < 0 ? __shfl_up_sync(0xffffffffu, x, -by) : __shfl_down_sync(0xffffffffu, x, by));
}

/* Elements from row to row of an intermediate image whose rows have n of 1, 2, 4, 8 bytes. They are not written as
 * quotients or with masks alone, for where rows of bytes and of words meet in a kernel, ptxas 13.0 takes the wrong
 * factor: y * (m / 4 * 4) becomes y * 16 * (m / 4). */
#define TESS_PITCH_1(n) ((n) + (-(n)&15))
#define TESS_PITCH_2(n) ((n) + (-(n)&7))
#define TESS_PITCH_4(n) ((n) + (-(n)&3))
#define TESS_PITCH_8(n) ((n) + (-(n)&1))

/* ---- Bits of reals -------------------------------------------------------------------------- */
TESS_FN uint32_t tess_bits_f32(float x)
{
    return __float_as_uint(x);
}
TESS_FN float tess_real_f32(uint32_t u)
{
    return __uint_as_float(u);
}
TESS_FN uint64_t tess_bits_f64(double x)
{
    return (uint64_t)__double_as_longlong(x);
}
TESS_FN double tess_real_f64(uint64_t u)
{
    return __longlong_as_double((long long)u);
}

/* The instructions for conversions round, saturate and take a NaN for 0. */
#define TESS_CUT_TO_I32(x)   __float2int_rz(x)
#define TESS_ROUND_TO_I32(x) __float2int_rn(x)

#ifdef __CUDACC__
TESS_FN float tess_quick_log2(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
TESS_FN float tess_quick_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#define TESS_QUICK_LOG2(x) tess_quick_log2(x)
#define TESS_QUICK_EXP2(x) tess_quick_exp2(x)

/* Those to elements of 8 and 16 bits do so at once. */
#define TESS_CONVERT_TO_i8  "s8"
#define TESS_CONVERT_TO_u8  "u8"
#define TESS_CONVERT_TO_i16 "s16"
#define TESS_CONVERT_TO_u16 "u16"
#define TESS_NARROW_FROM_REAL(T, s, lo, hi, end, F, f)                             \
    TESS_FN T tess_##s##_from_##f(F x)                                             \
    {                                                                              \
        int32_t i;                                                                 \
        asm("cvt.rzi.sat." TESS_CONVERT_TO_##s ".f32 %0, %1;" : "=r"(i) : "f"(x)); \
        return (T)i;                                                               \
    }                                                                              \
    TESS_FN T tess_sat_##s##_from_##f(F x)                                         \
    {                                                                              \
        int32_t i;                                                                 \
        asm("cvt.rni.sat." TESS_CONVERT_TO_##s ".f32 %0, %1;" : "=r"(i) : "f"(x)); \
        return (T)i;                                                               \
    }

/* float16, rounded to the nearest, ties to even. */
TESS_FN float tess_from_half(uint16_t h)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
TESS_FN uint16_t tess_to_half(float x)
{
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#define TESS_FROM_HALF(h) tess_from_half(h)
#define TESS_TO_HALF(x)   tess_to_half(x)

/* Without a branch for x near the ends of the range of floats, which would keep code on its side of each root: small x
 * are scaled. The others are the sequence of sqrtf itself. */
TESS_FN float tess_root_f32(float x)
{
    const bool small = x < 0x1p-100f;
    const float s = small ? x * 0x1p96f : x;
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s));
    const float near = s * y, root = fmaf(fmaf(-near, near, s), 0.5f * y, near);
    return (x == 0) | (x == INFINITY) ? x : small ? root * 0x1p-48f : root;
}
#define sqrtf tess_root_f32

/* The sequence of a division, without the branch for operands near the ends of the range. */
#define TESS_RATIO
TESS_FN double tess_ratio_f64(double a, double b)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    double e = fma(-b, r, 1.0);
    r = fma(r, fma(e, e, e), r);
    e = fma(-b, r, 1.0);
    r = fma(r, e, r);
    const double q = a * r;
    return fma(r, fma(-b, q, a), q);
}

/* Roots of whole numbers: the sequence of sqrtf without the question whether x is near the ends of the range of
 * floats. */
#define TESS_SQRT_WHOLE
TESS_FN float tess_sqrt_whole_f32(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x + 0x1p-60f)); /* 0 gives no infinity */
    const float root = x * y;
    return fmaf(fmaf(-root, root, x), 0.5f * y, root);
}
/* The same where the root is rounded to a byte: off by less than 0.0001, which lies no closer to a half than 1/2044. */
#define TESS_SQRT_BYTE
TESS_FN float tess_sqrt_byte_f32(float x)
{
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

/* 2^x as the hardware has it. */
#define TESS_EXP2_NEAR
TESS_FN float tess_exp2_near_f32(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* A byte permutation is one instruction, and so are four products of bytes. */
TESS_FN uint32_t tess_dot4(uint32_t a, uint32_t b, uint32_t c)
{
    asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
    return c;
}
#define TESS_DOT(a, b, c)   tess_dot4(a, b, c)
#define TESS_BYTES(a, b, c) __byte_perm(a, b, c)
#define TESS_BY_WORDS
#if __CUDA_ARCH__ >= 800
#define TESS_HAS_PRODUCTS
#endif
/* Instructions from sm_90 on, some before. */
#define TESS_MIN_HALVES(a, b) __vminu2(a, b)
#define TESS_MAX_HALVES(a, b) __vmaxu2(a, b)
#endif

/* ---- Several elements at once ---------------------------------------------------------------- */
/* n of them between a line and memory, as vectors where rows are aligned; those of shared memory are */
template <typename V, typename T> __device__ __forceinline__ void tess_take_as(T *line, const T *at)
{
    const V v = *(const V *)at;
    memcpy(line, &v, sizeof v);
}
template <typename V, typename T> __device__ __forceinline__ void tess_give_as(const T *line, T *at)
{
    V v;
    memcpy(&v, line, sizeof v);
    *(V *)at = v;
}
template <bool aligned, typename T, int n>
__device__ __forceinline__ void tess_take(T (&line)[n], const T *at)
{
    if constexpr (aligned && sizeof(T) * n == 16)
        tess_take_as<uint4>(line, at);
    else if constexpr (aligned && sizeof(T) * n == 8)
        tess_take_as<uint2>(line, at);
    else if constexpr (aligned && sizeof(T) * n == 4)
        tess_take_as<uint32_t>(line, at);
    else
        for (int k = 0; k < n; k++)
            line[k] = at[k];
}
template <bool aligned, typename T, int n>
__device__ __forceinline__ void tess_give(const T (&line)[n], T *at)
{
    if constexpr (aligned && sizeof(T) * n == 16)
        tess_give_as<uint4>(line, at);
    else if constexpr (aligned && sizeof(T) * n == 8)
        tess_give_as<uint2>(line, at);
    else if constexpr (aligned && sizeof(T) * n == 4)
        tess_give_as<uint32_t>(line, at);
    else
        for (int k = 0; k < n; k++)
            at[k] = line[k];
}
/* The same between elements and words of 32 bits that hold their bits. */
template <bool aligned, typename T, int n>
__device__ __forceinline__ void tess_take_words(uint32_t (&line)[n], const T *at)
{
    constexpr int in_word = 4 / sizeof(T), bits = 8 * sizeof(T);
    if constexpr (aligned)
        tess_take<true>(line, (const uint32_t *)at);
    else
        for (int k = 0; k < n; k++) {
            line[k] = 0;
            for (int i = 0; i < in_word; i++)
                line[k] |= ((uint32_t)at[k * in_word + i] & ((1u << bits) - 1)) << bits * i;
        }
}
template <bool aligned, typename T, int n>
__device__ __forceinline__ void tess_give_words(const uint32_t (&line)[n], T *at)
{
    constexpr int in_word = 4 / sizeof(T), bits = 8 * sizeof(T);
    if constexpr (aligned)
        tess_give<true>(line, (uint32_t *)at);
    else
        for (int k = 0; k < n * in_word; k++)
            at[k] = (T)(line[k / in_word] >> bits * (k % in_word));
}
#ifdef TESS_ALIGNED_ROWS
#define TESS_TAKE_WORDS(element, n, line, at) tess_take_words<true>(line, at)
#define TESS_GIVE_WORDS(element, n, line, at) tess_give_words<true>(line, at)
#define TESS_TAKE(element, n, line, at)       tess_take<true>(line, at)
#define TESS_GIVE(element, n, line, at)       tess_give<true>(line, at)
#else
#define TESS_TAKE_WORDS(element, n, line, at) tess_take_words<false>(line, at)
#define TESS_GIVE_WORDS(element, n, line, at) tess_give_words<false>(line, at)
#define TESS_TAKE(element, n, line, at)       tess_take<false>(line, at)
#define TESS_GIVE(element, n, line, at)       tess_give<false>(line, at)
#endif
#define TESS_TAKE_SHARED(element, n, line, at) tess_take<true>(line, at)
#define TESS_GIVE_SHARED(element, n, line, at) tess_give<true>(line, at)

/* ---- Elements in memory, at any alignment ------------------------------------------------------- */
TESS_FN uint8_t tess_load_u8(const unsigned char *p)
{
    return p[0];
}
TESS_FN uint16_t tess_load_u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | (uint32_t)p[1] << 8);
}
TESS_FN uint32_t tess_load_u32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
TESS_FN void tess_store_u8(unsigned char *p, uint8_t v)
{
    p[0] = v;
}
TESS_FN void tess_store_u16(unsigned char *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
TESS_FN void tess_store_u32(unsigned char *p, uint32_t v)
{
    tess_store_u16(p, (uint16_t)v);
    tess_store_u16(p + 2, (uint16_t)(v >> 16));
}

/* The other types by way of these. */
#define TESS_BYTES_AT       const unsigned char *
#define TESS_WRITE_BYTES_AT unsigned char *
TESS_FN uint64_t tess_load_u64(TESS_BYTES_AT p)
{
    return tess_load_u32(p) | (uint64_t)tess_load_u32(p + 4) << 32;
}
TESS_FN void tess_store_u64(TESS_WRITE_BYTES_AT p, uint64_t v)
{
    tess_store_u32(p, (uint32_t)v);
    tess_store_u32(p + 4, (uint32_t)(v >> 32));
}
#define TESS_ELEMENT(T, s, U, u)                            \
    TESS_FN T tess_load_##s(TESS_BYTES_AT p)                \
    {                                                       \
        return (T)tess_load_##u(p);                         \
    }                                                       \
    TESS_FN void tess_store_##s(TESS_WRITE_BYTES_AT p, T v) \
    {                                                       \
        tess_store_##u(p, (U)v);                            \
    }
TESS_ELEMENT(int8_t, i8, uint8_t, u8)
TESS_ELEMENT(int16_t, i16, uint16_t, u16)
TESS_ELEMENT(int32_t, i32, uint32_t, u32)
TESS_ELEMENT(int64_t, i64, uint64_t, u64)
TESS_FN float tess_load_f32(TESS_BYTES_AT p)
{
    return tess_real_f32(tess_load_u32(p));
}
TESS_FN void tess_store_f32(TESS_WRITE_BYTES_AT p, float v)
{
    tess_store_u32(p, tess_bits_f32(v));
}
TESS_FN double tess_load_f64(TESS_BYTES_AT p)
{
    return tess_real_f64(tess_load_u64(p));
}
TESS_FN void tess_store_f64(TESS_WRITE_BYTES_AT p, double v)
{
    tess_store_u64(p, tess_bits_f64(v));
}
TESS_FN bool tess_load_b(TESS_BYTES_AT p)
{
    return tess_load_u8(p) != 0;
}
TESS_FN void tess_store_b(TESS_WRITE_BYTES_AT p, bool v)
{
    tess_store_u8(p, v);
}

#endif
