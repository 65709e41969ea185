/* Vectors whose lanes are loaded from places of their own, and the index arithmetic that finds these. Copied behind
 * prelude/c_vector.h. */
#ifndef TESSERA_PRELUDE_C_EACH_H
#define TESSERA_PRELUDE_C_EACH_H

#ifndef TESSERA_PRELUDE_C_CASTS_H
#include "prelude/c_casts.h"
#endif

/* ---- Elements from anywhere ----------------------------------------------------------------------- */
/* Lanes that each have a place of their own are loaded one by one and put together, which is as fast as instructions
 * that gather on most processors and twice as fast on some. Those of Intel that have float16 in vectors gather
 * faster. */
#if TESS_GCC_X86 == 64 && defined(__AVX512FP16__)
#define TESS_GATHERS 1
#else
#define TESS_GATHERS 0
#endif
#if defined(__clang__)
#define TESS_LANES_APART _Pragma("clang loop unroll(full)")
#else
#define TESS_LANES_APART _Pragma("GCC unroll 64")
#endif
/* How many elements behind the first, in 64 bits; of lanes of 32 bits, where no place is negative, apart for the even
 * and the odd ones. */
#define TESS_VECTOR_PLACES_v                                                      \
    typedef uint64_t tess_half_v __attribute__((vector_size(TESS_VECTOR_BYTES))); \
    typedef struct tess_places_v_s {                                              \
        tess_half_v low, high;                                                    \
    } tess_places_v_s;                                                            \
    TESS_FN tess_places_v_s tess_places_v(tess_i32v x, ptrdiff_t step)            \
    {                                                                             \
        const tess_half_v both = (tess_half_v)x;                                  \
        return (tess_places_v_s){ (both & 0xffffffff) * (uint64_t)step,           \
                                  (both >> 32) * (uint64_t)step };                \
    }                                                                             \
    TESS_FN tess_places_v_s tess_farther_v(tess_places_v_s a, tess_places_v_s b)  \
    {                                                                             \
        return (tess_places_v_s){ a.low + b.low, a.high + b.high };               \
    }
#define TESS_VECTOR_PLACES_v64                                         \
    typedef tess_idxv64 tess_places_v64_s;                             \
    TESS_FN tess_idxv64 tess_places_v64(tess_idxv64 x, ptrdiff_t step) \
    {                                                                  \
        return x * step;                                               \
    }                                                                  \
    TESS_FN tess_idxv64 tess_farther_v64(tess_idxv64 a, tess_idxv64 b) \
    {                                                                  \
        return a + b;                                                  \
    }
/* All lanes, written out: lanes set one after the other would wait for each other. */
#define TESS_2_LANES(get, V) get(p, TESS_PLACE_##V(0)), get(p, TESS_PLACE_##V(1))
#define TESS_4_LANES(get, V) \
    TESS_2_LANES(get, V), get(p, TESS_PLACE_##V(2)), get(p, TESS_PLACE_##V(3))
#define TESS_8_LANES(get, V)                                                    \
    TESS_4_LANES(get, V), get(p, TESS_PLACE_##V(4)), get(p, TESS_PLACE_##V(5)), \
        get(p, TESS_PLACE_##V(6)), get(p, TESS_PLACE_##V(7))
#define TESS_16_LANES(get, V)                                                               \
    TESS_8_LANES(get, V), get(p, TESS_PLACE_##V(8)), get(p, TESS_PLACE_##V(9)),             \
        get(p, TESS_PLACE_##V(10)), get(p, TESS_PLACE_##V(11)), get(p, TESS_PLACE_##V(12)), \
        get(p, TESS_PLACE_##V(13)), get(p, TESS_PLACE_##V(14)), get(p, TESS_PLACE_##V(15))
#if TESS_VECTOR_BYTES == 64
#define TESS_ALL_LANES_v   TESS_16_LANES
#define TESS_ALL_LANES_v64 TESS_8_LANES
#elif TESS_VECTOR_BYTES == 32
#define TESS_ALL_LANES_v   TESS_8_LANES
#define TESS_ALL_LANES_v64 TESS_4_LANES
#else
#define TESS_ALL_LANES_v   TESS_4_LANES
#define TESS_ALL_LANES_v64 TESS_2_LANES
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TESS_BOTH_IN_ORDER 0
#define TESS_PLACE_v(i)    (ptrdiff_t)((i) % 2 ? at.low[(i) / 2] : at.high[(i) / 2])
#else
#define TESS_BOTH_IN_ORDER 1
#define TESS_PLACE_v(i)    (ptrdiff_t)((i) % 2 ? at.high[(i) / 2] : at.low[(i) / 2])
#endif
#define TESS_PLACE_v64(i) at[i]
/* T, name: of elements; R, s: of values; `value` is that of element k behind p. */
#define TESS_VECTOR_EACH(V, name, T, R, s, value)                               \
    TESS_FN R tess_get_##name##V(const T *p, ptrdiff_t k)                       \
    {                                                                           \
        return value;                                                           \
    }                                                                           \
    TESS_FN tess_##s##V tess_each_##name##V(const T *p, tess_places_##V##_s at) \
    {                                                                           \
        return (tess_##s##V){ TESS_ALL_LANES_##V(tess_get_##name##V, V) };      \
    }
/* Elements of 32 bits; `plain` loads them one by one. */
#if TESS_GATHERS
TESS_FN tess_words tess_gather_longs(const void *p, tess_words at)
{
    return __builtin_ia32_gatherdiv8di((tess_words){ 0 }, p, at, -1, 4);
}
TESS_FN tess_8_i32 tess_gather_v64(const void *p, tess_words at)
{
    return (tess_8_i32)__builtin_ia32_gatherdiv16si((tess_8_i32){ 0 }, p, at, -1, 4);
}
TESS_FN tess_16_i32 tess_gather_v(const void *p, tess_words low, tess_words high)
{
    const tess_words even = TESS_512(pmovzxdq512, tess_gather_v64(p, low), words, 0xff),
                     odd = TESS_512(pmovzxdq512, tess_gather_v64(p, high), words, 0xff);
    return (tess_16_i32)(even | odd << 32);
}
#define TESS_GATHERED_v   (tess_words) at.low, (tess_words)at.high
#define TESS_GATHERED_v64 (tess_words) at
#define TESS_VECTOR_WORDS(V, T, s, plain)                                    \
    TESS_FN tess_##s##V tess_each_##s##V(const T *p, tess_places_##V##_s at) \
    {                                                                        \
        return (tess_##s##V)tess_gather_##V(p, TESS_GATHERED_##V);           \
    }
#else
#define TESS_VECTOR_WORDS(V, T, s, plain) plain
#endif
/* Two elements of each lane, from the places a and b. Where all lanes have the second one behind the first, as in the
 * interior of pictures that are sampled between pixels, both come by one load of their bytes: W holds two U, as T is
 * wide. Lanes that have no room for both have those of the even and of the odd ones apart. */
typedef long long tess_longs __attribute__((vector_size(TESS_VECTOR_BYTES)));
TESS_FN bool tess_all_equal(tess_longs x, tess_longs y)
{
#if TESS_GCC_X86 == 64
    return __builtin_ia32_cmpq512_mask(x, y, 0, 0xff) == 0xff;
#elif TESS_GCC_X86 == 32
    typedef double reals __attribute__((vector_size(32)));
    return __builtin_ia32_movmskpd256((reals)(x == y)) == 0xf;
#else
    const tess_longs differ = x ^ y;
    long long any = 0;
    for (int i = 0; i < TESS_LANES_v64; i++)
        any |= differ[i];
    return any == 0;
#endif
}
#define TESS_BESIDE_v64(a, b) tess_all_equal((tess_longs)(a) + 1, (tess_longs)(b))
#define TESS_BESIDE_v(a, b)                                       \
    (tess_all_equal((tess_longs)(a).low + 1, (tess_longs)(b).low) \
     && tess_all_equal((tess_longs)(a).high + 1, (tess_longs)(b).high))
#define TESS_VECTOR_BOTH(V, T, s, U, W, how)                                        \
    typedef struct tess_##s##V##_both {                                             \
        tess_##s##V first, second;                                                  \
    } tess_##s##V##_both;                                                           \
    TESS_FN W tess_two_##s##V(const T *p, ptrdiff_t k)                              \
    {                                                                               \
        W both;                                                                     \
        __builtin_memcpy(&both, p + k, sizeof both);                                \
        return both;                                                                \
    }                                                                               \
    TESS_FN tess_##s##V##_both tess_both_##s##V(const T *p, tess_places_##V##_s at, \
                                                tess_places_##V##_s next)           \
    {                                                                               \
        tess_##s##V##_both r;                                                       \
        if (TESS_BOTH_IN_ORDER && TESS_BESIDE_##V(at, next)) {                      \
            TESS_BOTH_##how(V, s, U, W);                                            \
        } else {                                                                    \
            r.first = tess_each_##s##V(p, at);                                      \
            r.second = tess_each_##s##V(p, next);                                   \
        }                                                                           \
        return r;                                                                   \
    }
#define TESS_BOTH_LANES(V, s, U, W)                                \
    TESS_LANE_ARRAY(V, W, pairs);                                  \
    TESS_LANE_ARRAY(V, U, halves);                                 \
    const pairs both = TESS_PAIRS_##W(V, s);                       \
    r.first = (tess_##s##V) __builtin_convertvector(both, halves); \
    r.second = (tess_##s##V) __builtin_convertvector(both >> (8 * sizeof(U)), halves)
#define TESS_PAIRS_uint16_t(V, s)              \
    {                                          \
        TESS_ALL_LANES_##V(tess_two_##s##V, V) \
    }
#define TESS_PAIRS_uint32_t(V, s)              \
    {                                          \
        TESS_ALL_LANES_##V(tess_two_##s##V, V) \
    }
#if TESS_GATHERS
#define TESS_PAIRS_uint64_t(V, s)          (pairs) tess_gather_longs(p, (tess_words)at)
#define TESS_WORDS_APART(s, parity, where) (tess_half_v) tess_gather_longs(p, (tess_words)where)
#else
#define TESS_PAIRS_uint64_t(V, s)              \
    {                                          \
        TESS_ALL_LANES_##V(tess_two_##s##V, V) \
    }
#define TESS_WORDS_APART(s, parity, where)          \
    {                                               \
        TESS_ALL_LANES_v64(tess_two_##s##v, parity) \
    }
#endif
#define TESS_PLACE_EVEN(i) (ptrdiff_t) at.low[i]
#define TESS_PLACE_ODD(i)  (ptrdiff_t) at.high[i]
/* Of 32 bits in lanes of 32 bits. */
#define TESS_BOTH_APART(V, s, U, W)                             \
    const tess_half_v even = TESS_WORDS_APART(s, EVEN, at.low); \
    const tess_half_v odd = TESS_WORDS_APART(s, ODD, at.high);  \
    r.first = (tess_##s##V)((even & 0xffffffff) | odd << 32);   \
    r.second = (tess_##s##V)(even >> 32 | (odd & ~(uint64_t)0xffffffff))
/* By narrow integers, which are not negative: through memory, since there are many lanes. */
#define TESS_VECTOR_EACH_BY(V, T, s, I, i)                                                   \
    TESS_FN tess_##s##V tess_each_##s##V##_by_##i(const T *p, ptrdiff_t step, tess_##i##V x) \
    {                                                                                        \
        I at[TESS_LANES_##V];                                                                \
        T to[TESS_LANES_##V];                                                                \
        tess_store_##i##V(at, x);                                                            \
        for (int k = 0; k < TESS_LANES_##V; k++)                                             \
            to[k] = p[at[k] * step];                                                         \
        return tess_load_##s##V(to);                                                         \
    }
/* Bytes of a table of n bytes, at most 256, by shuffles of the table where there are such. */
#if TESS_GCC_X86 == 64 && defined(__AVX512VBMI__)
typedef char tess_64_i8 __attribute__((vector_size(64)));
TESS_FN tess_64_i8 tess_table_part(const void *p, int n, int from)
{
    typedef char part __attribute__((vector_size(64), aligned(1), may_alias));
    const tess_64_i8 zero = { 0 };
    if (n >= from + 64)
        return *(const part *)((const char *)p + from);
    return n <= from ? zero
                     : __builtin_ia32_loaddquqi512_mask((const char *)p + from, zero,
                                                        ((uint64_t)1 << ((n - from) & 63)) - 1);
}
TESS_FN tess_64_i8 tess_table_64(const void *p, int n, tess_64_i8 x)
{
    const tess_64_i8 a = tess_table_part(p, n, 0), b = tess_table_part(p, n, 64);
    if (n <= 64)
        return __builtin_ia32_permvarqi512_mask(a, x, x, UINT64_MAX);
    const tess_64_i8 low = __builtin_ia32_vpermt2varqi512_mask(x, a, b, UINT64_MAX);
    if (n <= 128)
        return low;
    const tess_64_i8 c = tess_table_part(p, n, 128), d = tess_table_part(p, n, 192),
                     high = __builtin_ia32_vpermt2varqi512_mask(x, c, d, UINT64_MAX), upper = x < 0;
    return (high & upper) | (low & ~upper);
}
#define TESS_LOOK_UP(p, n, x) tess_table_64(p, n, (tess_64_i8)(x))
#elif TESS_GCC_X86 == 32
typedef char tess_32_i8 __attribute__((vector_size(32)));
/* Each 16 bytes of the table look up what is theirs; 0x80 and more gives 0. */
TESS_FN tess_32_i8 tess_table_32(const void *p, int n, tess_32_i8 x)
{
    typedef uint64_t words __attribute__((vector_size(32)));
    const tess_32_i8 zero = { 0 };
    tess_32_i8 r = zero;
    TESS_LANES_APART
    for (int k = 0; k < n; k += 16) {
        uint64_t part[2] = { 0 };
        __builtin_memcpy(part, (const char *)p + k, n - k < 16 ? (size_t)(n - k) : 16);
        const words both = { part[0], part[1], part[0], part[1] };
        const tess_32_i8 at = __builtin_ia32_paddusb256(x ^ (zero + (char)k), zero + (char)0x70);
        r |= __builtin_ia32_pshufb256((tess_32_i8)both, at);
    }
    return r;
}
#define TESS_LOOK_UP(p, n, x) tess_table_32(p, n, (tess_32_i8)(x))
#endif
#if defined(TESS_LOOK_UP)
#define TESS_VECTOR_TABLE(T, s)                                             \
    TESS_FN tess_##s##v8 tess_table_##s##v8(const T *p, int n, tess_u8v8 x) \
    {                                                                       \
        return (tess_##s##v8)TESS_LOOK_UP(p, n, x);                         \
    }
#else
#define TESS_VECTOR_TABLE(T, s)                                             \
    TESS_FN tess_##s##v8 tess_table_##s##v8(const T *p, int n, tess_u8v8 x) \
    {                                                                       \
        (void)n;                                                            \
        return tess_each_##s##v8_by_u8(p, 1, x);                            \
    }
#endif

/* ---- Indices ------------------------------------------------------------------------------------- */
/* Index arithmetic: the remainder, from 0 to b - 1. A quotient of reals, F, is off by few, and what it leaves is so
 * small that the second one is off by one at most. */
#define TESS_VECTOR_FLOORMOD(V, T, s, U, F)                                                       \
    TESS_FN tess_##s##V tess_floormod_##s##V##_by(tess_##s##V a, T b)                             \
    {                                                                                             \
        TESS_LANE_ARRAY(V, F, reals);                                                             \
        TESS_LANE_ARRAY(V, U, wraps);                                                             \
        const F inverse = 1 / (F)b;                                                               \
        for (int turn = 0; turn < 2; turn++) {                                                    \
            const reals x = __builtin_convertvector(a, reals) * inverse;                          \
            reals q = { 0 };                                                                      \
            TESS_EACH_LANE(V)                                                                     \
            q[i] = (F)floor((double)x[i]);                                                        \
            a = (tess_##s##V)((wraps)a - (wraps) __builtin_convertvector(q, tess_##s##V) * (U)b); \
        }                                                                                         \
        a += (tess_##s##V)(a < 0) & b;                                                            \
        return a - ((tess_##s##V)(a >= b) & b);                                                   \
    }

#endif
