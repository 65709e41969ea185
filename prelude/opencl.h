/* What the operators of generated code (c.h and c_math.h, which stand behind this text) need of OpenCL C 1.2.
 * Compile with -cl-fp32-correctly-rounded-divide-sqrt and without relaxed mathematics: the graph decides about
 * rounding. */
#ifndef TESSERA_PRELUDE_GPU
#define TESSERA_PRELUDE_GPU

#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define INT8_MIN    CHAR_MIN
#define INT8_MAX    CHAR_MAX
#define UINT8_MAX   UCHAR_MAX
#define INT16_MIN   SHRT_MIN
#define INT16_MAX   SHRT_MAX
#define UINT16_MAX  USHRT_MAX
#define INT32_MIN   INT_MIN
#define INT32_MAX   INT_MAX
#define UINT32_MAX  UINT_MAX
#define INT64_MIN   LONG_MIN
#define INT64_MAX   LONG_MAX
#define INT64_C(i)  i##L
#define UINT64_MAX  ULONG_MAX
#define UINT64_C(i) i##UL

/* C has a name for each type, OpenCL one for all. */
#define fabsf     fabs
#define fmaf      fma
#define fmodf     fmod
#define sqrtf     sqrt
#define floorf    floor
#define ceilf     ceil
#define truncf    trunc
#define rintf     rint
#define copysignf copysign

#define TESS_FN                   static inline
#define TESS_BIG_FN               static
#define TESS_TABLE                __constant
#define TESS_REDUCE_HUGE(near, a) ((a) >= 0x1p15f)
#define TESS_MAKE_2(T, a, b)      ((T){ a, b })
#define TESS_MAKE_3(T, a, b, c)   ((T){ a, b, c })

/* Coordinates: 32 bits where every size and product of sizes fits. */
#ifdef TESS_WIDE_INDEX
typedef long tess_idx;
#define TESS_IDX_MIN INT64_MIN
#define TESS_IDX_MAX INT64_MAX
#define TESS_IDX_END 0x1p63
#else
typedef int tess_idx;
#define TESS_IDX_MIN INT32_MIN
#define TESS_IDX_MAX INT32_MAX
#define TESS_IDX_END 0x1p31
#endif

/* The threads of a block. PoCL makes loops of them, one from barrier to barrier, and vectors of these loops, with
 * wrong values in some kernels (version 3.1). It makes none of a loop with assembly in it, be that empty. */
#ifdef POCL_DEVICE_ADDRESS_BITS
TESS_FN tess_idx tess_thread(uint dim)
{
    __asm__ volatile("");
    return (tess_idx)get_local_id(dim);
}
TESS_FN void tess_barrier(void)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    __asm__ volatile("");
}
#define TESS_THREAD(dim) tess_thread(dim)
#define TESS_BARRIER     tess_barrier()
#else
#define TESS_THREAD(dim) ((tess_idx)get_local_id(dim))
#define TESS_BARRIER     barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

/* How kernels are written in both languages. */
#define TESS_KERNEL(x, y, z)                  __kernel __attribute__((reqd_work_group_size(x, y, z))) void
#define TESS_KERNEL_RESIDENT(x, y, z, blocks) TESS_KERNEL(x, y, z)
#define TESS_GLOBAL                           __global
#define TESS_CONST_GLOBAL                     __global const
#define TESS_RESTRICT                         restrict
#define TESS_CONSTANT                         __constant
#define TESS_CONST_SHARED                     const __local
#define TESS_SHARED                           __local __attribute__((aligned(16)))
#define TESS_UNROLL                           _Pragma("unroll")
#define TESS_UNROLL_BY(n)                     TESS_NO_UNROLL /* threads may wait for each other in it */
#define TESS_NO_UNROLL                        _Pragma("unroll 1")
#define TESS_PREFETCH(p)                      prefetch(p, 1)
#define TESS_HERE(i)                          (i)
#define TESS_AFTER(i, x)                      (i)
#define TESS_KEEP(x)                          ((void)(x))
#define TESS_LIKELY(c)                        (c)
#define TESS_BLOCK_X                          ((tess_idx)get_group_id(0))
#define TESS_BLOCK_Y                          ((tess_idx)get_group_id(1))
#define TESS_BLOCK_Z                          ((tess_idx)get_group_id(2))
#define TESS_BLOCKS_Y                         ((tess_idx)get_num_groups(1))
#define TESS_BLOCKS_Z                         ((tess_idx)get_num_groups(2))
#define TESS_THREAD_X                         TESS_THREAD(0)
#define TESS_THREAD_Y                         TESS_THREAD(1)
#define TESS_THREAD_Z                         TESS_THREAD(2)
/* The thread `by` farther on in the warp; this one where there is none. */
#define TESS_LANE(by)                                                                        \
    (TESS_THREAD_X % 32 + (by) >= 0 && TESS_THREAD_X % 32 + (by) < 32 ? TESS_THREAD_X + (by) \
                                                                      : TESS_THREAD_X)
#define TESS_ATOMIC_ADD_U32(p, v) atomic_add((p), (uint)(v))
#define TESS_ATOMIC_ADD_I32(p, v) atomic_add((p), (int)(v))
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define TESS_ATOMIC_ADD_I64(p, v) atom_add((p), (long)(v))
#endif

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
    return as_uint(x);
}
TESS_FN float tess_real_f32(uint32_t u)
{
    return as_float(u);
}
TESS_FN uint64_t tess_bits_f64(double x)
{
    return as_ulong(x);
}
TESS_FN double tess_real_f64(uint64_t u)
{
    return as_double(u);
}

/* What converts floats to 32 bits rounds, saturates and takes a NaN for 0. */
#define TESS_CUT_TO_I32(x)   convert_int_sat_rtz(x)
#define TESS_ROUND_TO_I32(x) convert_int_sat_rte(x)

/* float16, rounded to the nearest, ties to even. */
TESS_FN float tess_from_half(uint16_t h)
{
    return vload_half(0, (const half *)&h);
}
TESS_FN uint16_t tess_to_half(float x)
{
    uint16_t h;
    vstore_half_rte(x, 0, (half *)&h);
    return h;
}
#define TESS_FROM_HALF(h) tess_from_half(h)
#define TESS_TO_HALF(x)   tess_to_half(x)

/* 2^x as the hardware has it. */
#define TESS_EXP2_NEAR
TESS_FN float tess_exp2_near_f32(float x)
{
#ifdef __NV_CL_C_VERSION
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2(x);
#endif
}

#ifdef __NV_CL_C_VERSION
/* Instructions that OpenCL has no name for: a byte permutation, four products of bytes, the roots of prelude/cuda.h. */
TESS_FN uint32_t tess_byte_perm(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(c & 0x7777));
    return bytes;
}
#define TESS_BYTES(a, b, c) tess_byte_perm(a, b, c)
#define TESS_SQRT_WHOLE
TESS_FN float tess_sqrt_whole_f32(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x + 0x1p-60f)); /* 0 gives no infinity */
    const float root = x * y;
    return fma(fma(-root, root, x), 0.5f * y, root);
}
#define TESS_SQRT_BYTE
TESS_FN float tess_sqrt_byte_f32(float x)
{
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}
TESS_FN uint32_t tess_dot4(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t sum;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}
#define TESS_DOT(a, b, c) tess_dot4(a, b, c)
#define TESS_BY_WORDS
#endif

/* Of two halves at once: NVIDIA has instructions from sm_90 on, which those who compile for it ask for; others know
 * of them by themselves. */
#ifdef TESS_NV_HALVES
TESS_FN uint32_t tess_min_two(uint32_t a, uint32_t b)
{
    uint32_t least;
    asm("min.u16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    return least;
}
TESS_FN uint32_t tess_max_two(uint32_t a, uint32_t b)
{
    uint32_t most;
    asm("max.u16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
}
#define TESS_HAS_PRODUCTS
#define TESS_MIN_HALVES(a, b) tess_min_two(a, b)
#define TESS_MAX_HALVES(a, b) tess_max_two(a, b)
#elif !defined(__NV_CL_C_VERSION)
#define TESS_MIN_HALVES(a, b) as_uint(min(as_ushort2(a), as_ushort2(b)))
#define TESS_MAX_HALVES(a, b) as_uint(max(as_ushort2(a), as_ushort2(b)))
#endif

/* ---- Several elements at once ---------------------------------------------------------------- */
/* n of them between a line and memory, as vectors where rows are aligned. Lines are taken apart and put together by
 * element: what a compiler knows of their type stays true. */
#define TESS_SPREAD_2(line, v) (line)[0] = (v).s0, (line)[1] = (v).s1
#define TESS_JOIN_2(line)      (line)[0], (line)[1]
#define TESS_SPREAD_4(line, v) \
    (line)[0] = (v).s0, (line)[1] = (v).s1, (line)[2] = (v).s2, (line)[3] = (v).s3
#define TESS_JOIN_4(line) (line)[0], (line)[1], (line)[2], (line)[3]
#define TESS_SPREAD_8(line, v)                                                      \
    (line)[0] = (v).s0, (line)[1] = (v).s1, (line)[2] = (v).s2, (line)[3] = (v).s3, \
    (line)[4] = (v).s4, (line)[5] = (v).s5, (line)[6] = (v).s6, (line)[7] = (v).s7
#define TESS_JOIN_8(line) \
    (line)[0], (line)[1], (line)[2], (line)[3], (line)[4], (line)[5], (line)[6], (line)[7]
#define TESS_SPREAD_16(line, v)                                                       \
    (line)[0] = (v).s0, (line)[1] = (v).s1, (line)[2] = (v).s2, (line)[3] = (v).s3,   \
    (line)[4] = (v).s4, (line)[5] = (v).s5, (line)[6] = (v).s6, (line)[7] = (v).s7,   \
    (line)[8] = (v).s8, (line)[9] = (v).s9, (line)[10] = (v).sa, (line)[11] = (v).sb, \
    (line)[12] = (v).sc, (line)[13] = (v).sd, (line)[14] = (v).se, (line)[15] = (v).sf
#define TESS_JOIN_16(line)                                                                  \
    (line)[0], (line)[1], (line)[2], (line)[3], (line)[4], (line)[5], (line)[6], (line)[7], \
        (line)[8], (line)[9], (line)[10], (line)[11], (line)[12], (line)[13], (line)[14],   \
        (line)[15]
#define TESS_TAKE_VECTOR(space, element, n, line, at)              \
    do {                                                           \
        const element##n tess_v = *(space const element##n *)(at); \
        TESS_SPREAD_##n(line, tess_v);                             \
    } while (0)
#define TESS_GIVE_VECTOR(space, element, n, line, at) \
    *(space element##n *)(at) = (element##n)(TESS_JOIN_##n(line))
#define TESS_TAKE_SHARED(element, n, line, at) TESS_TAKE_VECTOR(__local, element, n, line, at)
#define TESS_GIVE_SHARED(element, n, line, at) TESS_GIVE_VECTOR(__local, element, n, line, at)
/* The same between elements and words of 32 bits that hold their bits. */
#ifdef TESS_ALIGNED_ROWS
#define TESS_TAKE_WORDS_1(line, at)           (line)[0] = *(__global const uint *)(at)
#define TESS_GIVE_WORDS_1(line, at)           *(__global uint *)(at) = (line)[0]
#define TESS_TAKE_WORDS_2(line, at)           TESS_TAKE_VECTOR(__global, uint, 2, line, at)
#define TESS_GIVE_WORDS_2(line, at)           TESS_GIVE_VECTOR(__global, uint, 2, line, at)
#define TESS_TAKE_WORDS_4(line, at)           TESS_TAKE_VECTOR(__global, uint, 4, line, at)
#define TESS_GIVE_WORDS_4(line, at)           TESS_GIVE_VECTOR(__global, uint, 4, line, at)
#define TESS_TAKE_WORDS(element, n, line, at) TESS_TAKE_WORDS_##n(line, at)
#define TESS_GIVE_WORDS(element, n, line, at) TESS_GIVE_WORDS_##n(line, at)
#else
#define TESS_TAKE_WORDS(element, n, line, at)                                              \
    do {                                                                                   \
        const int tess_in_word = 4 / sizeof(element), tess_bits = 8 * sizeof(element);     \
        for (int tess_k = 0; tess_k < n; tess_k++) {                                       \
            (line)[tess_k] = 0;                                                            \
            for (int tess_i = 0; tess_i < tess_in_word; tess_i++)                          \
                (line)[tess_k] |=                                                          \
                    ((uint)(at)[tess_k * tess_in_word + tess_i] & ((1u << tess_bits) - 1)) \
                    << tess_bits * tess_i;                                                 \
        }                                                                                  \
    } while (0)
#define TESS_GIVE_WORDS(element, n, line, at)                                                    \
    do {                                                                                         \
        const int tess_in_word = 4 / sizeof(element), tess_bits = 8 * sizeof(element);           \
        for (int tess_k = 0; tess_k < n * tess_in_word; tess_k++)                                \
            (at)[tess_k] =                                                                       \
                (element)((line)[tess_k / tess_in_word] >> tess_bits * (tess_k % tess_in_word)); \
    } while (0)
#endif
#ifdef TESS_ALIGNED_ROWS
#define TESS_TAKE(element, n, line, at) TESS_TAKE_VECTOR(__global, element, n, line, at)
#define TESS_GIVE(element, n, line, at) TESS_GIVE_VECTOR(__global, element, n, line, at)
#else
#define TESS_TAKE(element, n, line, at)        \
    for (int tess_k = 0; tess_k < n; tess_k++) \
    (line)[tess_k] = (at)[tess_k]
#define TESS_GIVE(element, n, line, at)        \
    for (int tess_k = 0; tess_k < n; tess_k++) \
    (at)[tess_k] = (line)[tess_k]
#endif

/* ---- Elements in memory, at any alignment ------------------------------------------------------- */
TESS_FN uint8_t tess_load_u8(__global const uchar *p)
{
    return p[0];
}
TESS_FN uint16_t tess_load_u16(__global const uchar *p)
{
    return as_ushort(vload2(0, p));
}
TESS_FN uint32_t tess_load_u32(__global const uchar *p)
{
    return as_uint(vload4(0, p));
}
TESS_FN void tess_store_u8(__global uchar *p, uint8_t v)
{
    p[0] = v;
}
TESS_FN void tess_store_u16(__global uchar *p, uint16_t v)
{
    vstore2(as_uchar2(v), 0, p);
}
TESS_FN void tess_store_u32(__global uchar *p, uint32_t v)
{
    vstore4(as_uchar4(v), 0, p);
}

/* The other types by way of these. */
#define TESS_BYTES_AT       __global const uchar *
#define TESS_WRITE_BYTES_AT __global uchar *
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
