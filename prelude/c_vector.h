/* Vectors of generated C: short arrays that GCC and Clang keep in vector registers, of the width the processor
 * compiled for has, at most that of the machine planned for (TESS_VECTOR_MOST bytes). Copied behind prelude/c.h
 * where a program has loops over vectors; such a program names each type and operator it uses by one of the macros
 * below.
 *
 * All values of a loop have the same number of lanes: as many as its widest value allows in one vector. V says how
 * wide that is:
 *   v8 v16 v v64    lanes of 8, 16, 32 and 64 bits; TESS_LANES_<V> is their number
 *   tess_<type><V>  a value of each lane, e.g. tess_f32v, or tess_u8v (a quarter of a vector: 8 bits in a lane of 32)
 *   tess_b<V>       a truth value of each lane: all its bits, or none
 * A lane computes what the scalar operator of the same name computes, hence the same bits. */
#ifndef TESSERA_PRELUDE_C_VECTOR_H
#define TESSERA_PRELUDE_C_VECTOR_H

#ifndef TESSERA_PRELUDE_C_H
#include "prelude/c.h"
#endif
#ifndef TESS_VECTOR_MOST
#define TESS_VECTOR_MOST 64
#endif

/* ---- Width --------------------------------------------------------------------------------------- */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) \
    && defined(__AVX512VL__) && TESS_VECTOR_MOST >= 64
#define TESS_VECTOR_BYTES 64
#elif defined(__AVX2__) && TESS_VECTOR_MOST >= 32
#define TESS_VECTOR_BYTES 32
#else /* SSE2, NEON, and what compilers make of it elsewhere */
#define TESS_VECTOR_BYTES 16
#endif
#define TESS_LANES_v8  TESS_VECTOR_BYTES
#define TESS_LANES_v16 (TESS_VECTOR_BYTES / 2)
#define TESS_LANES_v   (TESS_VECTOR_BYTES / 4)
#define TESS_LANES_v64 (TESS_VECTOR_BYTES / 8)

/* GCC's own names of instructions that its vector types alone do not reach; the headers with the official ones take
 * it longer to read than most programs to compile. */
#if defined(__GNUC__) && !defined(__clang__) && (defined(__x86_64__) || defined(__i386__))
#define TESS_GCC_X86 TESS_VECTOR_BYTES
#else
#define TESS_GCC_X86 0
#endif

/* ---- Types, memory -------------------------------------------------------------------------------- */
#define TESS_LANE_ARRAY(V, T, name) \
    typedef T name __attribute__((vector_size(TESS_LANES_##V * sizeof(T))))
/* The lane-wise loop, which compilers turn into one instruction. GCC must not unroll it first. */
#if defined(__clang__)
#define TESS_EACH_LANE(V) for (int i = 0; i < TESS_LANES_##V; i++)
#else
#define TESS_EACH_LANE(V) \
    _Pragma("GCC ivdep") _Pragma("GCC unroll 1") for (int i = 0; i < TESS_LANES_##V; i++)
#endif

/* Asks for what is read soon; beyond the end of a row nothing comes of it. */
#define TESS_PREFETCH(p) __builtin_prefetch(p)
/* Bytes: how far ahead rows side by side are asked for. Processors foresee few rows at a time, and none beyond the
 * end of a page. */
#define TESS_ROW_AHEAD 1024
/* A vector, which is computed before what stands behind it: GCC would compute sums that are used once where they are
 * used, and hold all that they are made of in registers, or on the stack, until then. */
#if TESS_GCC_X86
#define TESS_HERE(x)                     \
    __extension__({                      \
        __typeof__(-(x)) tess_here_ = x; \
        __asm__("" : "+v"(tess_here_));  \
        tess_here_;                      \
    })
#else
#define TESS_HERE(x) (x)
#endif

/* Stores of whole aligned vectors that do not fetch what they overwrite; other cores may see them only after
 * TESS_STREAM_END. */
#if defined(__clang__)
#define TESS_PAST_CACHES(V, p, x) __builtin_nontemporal_store(x, (V *)(p))
#elif TESS_GCC_X86
TESS_FN void tess_past_caches(void *p, const void *x, size_t bytes)
{
    typedef float tess_line16 __attribute__((vector_size(16), may_alias));
    if (bytes == 16)
        __builtin_ia32_movntps((float *)p, *(const tess_line16 *)x);
#if TESS_GCC_X86 >= 32
    typedef float tess_line32 __attribute__((vector_size(32), may_alias));
    if (bytes == 32)
        __builtin_ia32_movntps256((float *)p, *(const tess_line32 *)x);
#endif
#if TESS_GCC_X86 >= 64
    typedef float tess_line64 __attribute__((vector_size(64), may_alias));
    if (bytes == 64)
        __builtin_ia32_movntps512((float *)p, *(const tess_line64 *)x);
#endif
    if (bytes < 16)
        __builtin_memcpy(p, x, bytes);
}
#define TESS_PAST_CACHES(V, p, x) tess_past_caches(p, &(x), sizeof(x))
#else
#define TESS_PAST_CACHES(V, p, x) (void)(*(V *)(p) = (x))
#endif
#if defined(__x86_64__) || defined(__i386__)
#define TESS_STREAM_END() __builtin_ia32_sfence()
#else
#define TESS_STREAM_END() __sync_synchronize()
#endif

/* Truth values in lanes of type I. */
#define TESS_VECTOR_TRUTH(V, I)                  \
    TESS_LANE_ARRAY(V, I, tess_b##V);            \
    TESS_FN tess_b##V tess_splat_b##V(bool x)    \
    {                                            \
        return (tess_b##V){ 0 } - (I)x;          \
    }                                            \
    TESS_FN tess_b##V tess_not_b##V(tess_b##V a) \
    {                                            \
        return ~a;                               \
    }
#define TESS_VECTOR(V, T, s)                                                                     \
    TESS_LANE_ARRAY(V, T, tess_##s##V);                                                          \
    typedef T tess_##s##V##_any                                                                  \
        __attribute__((vector_size(TESS_LANES_##V * sizeof(T)), aligned(sizeof(T)), may_alias)); \
    TESS_FN tess_##s##V tess_load_##s##V(const T *p)                                             \
    {                                                                                            \
        return *(const tess_##s##V##_any *)p;                                                    \
    }                                                                                            \
    TESS_FN void tess_store_##s##V(T *p, tess_##s##V x)                                          \
    {                                                                                            \
        *(tess_##s##V##_any *)p = x;                                                             \
    }                                                                                            \
    TESS_FN void tess_stream_##s##V(T *p, tess_##s##V x, bool stream)                            \
    {                                                                                            \
        if (stream && (uintptr_t)p % sizeof x == 0)                                              \
            TESS_PAST_CACHES(tess_##s##V, p, x);                                                 \
        else                                                                                     \
            *(tess_##s##V##_any *)p = x;                                                         \
    }                                                                                            \
    TESS_FN tess_##s##V tess_splat_##s##V(T x)                                                   \
    {                                                                                            \
        return x - (tess_##s##V){ 0 };                                                           \
    }
/* Bytes computed in 16 bits, two vectors side by side: one has the even ones of as many bytes as a whole vector
 * holds, the other the odd ones. To take them apart and to put them together are shifts, where widening and
 * narrowing move every byte to another lane. T, s: of bytes; t: of values. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TESS_EVEN_BYTES(x, V)           ((x) >> 8)
#define TESS_ODD_BYTES(x, V)            tess_low_##V(x)
#define TESS_BYTE_PAIRS(P, evens, odds) ((P)(evens) << 8 | ((P)(odds)&0xff))
#else
#define TESS_EVEN_BYTES(x, V)           tess_low_##V(x)
#define TESS_ODD_BYTES(x, V)            ((x) >> 8)
#define TESS_BYTE_PAIRS(P, evens, odds) (((P)(evens)&0xff) | (P)(odds) << 8)
#endif
#define TESS_VECTOR_PAIRS(V, T, s, t)                                                           \
    TESS_LANE_ARRAY(V, uint16_t, tess_##s##V##_pairs);                                          \
    typedef uint16_t tess_##s##V##_any_pairs                                                    \
        __attribute__((vector_size(TESS_LANES_##V * sizeof(uint16_t)), aligned(1), may_alias)); \
    TESS_FN tess_##t##V tess_low_##s##V(tess_##t##V x)                                          \
    {                                                                                           \
        return (tess_##t##V)((tess_##s##V##_pairs)x << 8) >> 8;                                 \
    }                                                                                           \
    TESS_FN tess_##t##V tess_evens_##s##V(const T *p)                                           \
    {                                                                                           \
        const tess_##t##V x = (tess_##t##V) * (const tess_##s##V##_any_pairs *)p;               \
        return TESS_EVEN_BYTES(x, s##V);                                                        \
    }                                                                                           \
    TESS_FN tess_##t##V tess_odds_##s##V(const T *p)                                            \
    {                                                                                           \
        const tess_##t##V x = (tess_##t##V) * (const tess_##s##V##_any_pairs *)p;               \
        return TESS_ODD_BYTES(x, s##V);                                                         \
    }                                                                                           \
    TESS_FN tess_##s##v8 tess_pairs_##s##V(tess_##t##V evens, tess_##t##V odds)                 \
    {                                                                                           \
        return (tess_##s##v8)TESS_BYTE_PAIRS(tess_##s##V##_pairs, evens, odds);                 \
    }
/* The same for a factor: GCC takes sums of shifts for quicker than a multiplication of 16 bits, which processors do
 * at once. */
#if TESS_GCC_X86
#define TESS_VECTOR_FACTOR(V, T, s)                  \
    TESS_FN tess_##s##V tess_factor_##s##V(T x)      \
    {                                                \
        tess_##s##V factor = tess_splat_##s##V(x);   \
        __asm__("" : "+v"(factor)); /* forgets it */ \
        return factor;                               \
    }
#else
#define TESS_VECTOR_FACTOR(V, T, s)             \
    TESS_FN tess_##s##V tess_factor_##s##V(T x) \
    {                                           \
        return tess_splat_##s##V(x);            \
    }
#endif
/* ---- Rows ----------------------------------------------------------------------------------------- */
/* A row read at several places that lie less than a vector apart. Where vectors are as wide as cache lines nearly
 * every unaligned one lies in two lines and takes twice the time, so there the vectors before, at and behind x are
 * read, which are aligned when x is, and the others are put together from those. Elements outside of the row, which
 * has n, are left alone. */
#if TESS_VECTOR_BYTES >= 64 && (defined(__x86_64__) || defined(__i386__))
typedef int tess_line __attribute__((vector_size(64)));
typedef int tess_line_any __attribute__((vector_size(64), aligned(1), may_alias));
typedef struct tess_lines {
    tess_line before, here, after;
} tess_lines;
/* before, after: how many words of the row there are on either side of these. */
TESS_FN tess_lines tess_lines_at(const int *p, ptrdiff_t before, ptrdiff_t after)
{
    const unsigned all = 0xffff, left = all << (before < 16 ? 16 - before : 0) & all,
                   right = all >> (after < 16 ? 16 - after : 0);
    const tess_line zero = { 0 };
    tess_lines lines;
    lines.before = __builtin_ia32_loaddqusi512_mask(p - 16, zero, (uint16_t)left);
    lines.here = *(const tess_line_any *)p;
    lines.after = __builtin_ia32_loaddqusi512_mask(p + 16, zero, (uint16_t)right);
    return lines;
}
/* Words k, k + 1, ... of `low` with `high` behind it. */
TESS_FN tess_line tess_line_joined(tess_line low, tess_line high, int k)
{
#if TESS_GCC_X86 /* which takes the number as it is written only */
#define TESS_JOINED(n) \
    if (k == n)        \
        return (tess_line)__builtin_ia32_alignd512_mask(high, low, n, low, (uint16_t)-1);
    TESS_JOINED(1)
    TESS_JOINED(2)
    TESS_JOINED(3)
    TESS_JOINED(4)
    TESS_JOINED(5)
    TESS_JOINED(6)
    TESS_JOINED(7)
    TESS_JOINED(8)
    TESS_JOINED(9)
    TESS_JOINED(10)
    TESS_JOINED(11)
    TESS_JOINED(12)
    TESS_JOINED(13)
    TESS_JOINED(14)
    TESS_JOINED(15)
    return k ? high : low;
#undef TESS_JOINED
#else
    tess_line r = low;
    for (int i = 0; i < 16; i++)
        r[i] = i + k < 16 ? low[(i + k) & 15] : high[(i + k) & 15];
    return r;
#endif
}
TESS_FN tess_line tess_lines_from(tess_lines lines, int k)
{
    return k < 0 ? tess_line_joined(lines.before, lines.here, k + 16)
                 : tess_line_joined(lines.here, lines.after, k);
}
#define TESS_VECTOR_ROW(V, T, s)                                                               \
    typedef tess_lines tess_##s##V##_row;                                                      \
    TESS_FN tess_##s##V##_row tess_row_##s##V(const T *p, ptrdiff_t x, ptrdiff_t n)            \
    {                                                                                          \
        const ptrdiff_t words = sizeof(T) / 4, here = TESS_LANES_##V;                          \
        TESS_PREFETCH((const void *)((uintptr_t)p + TESS_ROW_AHEAD));                          \
        return tess_lines_at((const int *)(const void *)p, x * words, (n - x - here) * words); \
    }                                                                                          \
    TESS_FN tess_##s##V tess_at_##s##V(tess_##s##V##_row row, int k)                           \
    {                                                                                          \
        return (tess_##s##V)tess_lines_from(row, k * (int)(sizeof(T) / 4));                    \
    }
#else
#define TESS_VECTOR_ROW(V, T, s)                                                    \
    typedef struct tess_##s##V##_row {                                              \
        const T *p;                                                                 \
    } tess_##s##V##_row;                                                            \
    TESS_FN tess_##s##V##_row tess_row_##s##V(const T *p, ptrdiff_t x, ptrdiff_t n) \
    {                                                                               \
        (void)x;                                                                    \
        (void)n;                                                                    \
        TESS_PREFETCH((const void *)((uintptr_t)p + TESS_ROW_AHEAD));               \
        return (tess_##s##V##_row){ p };                                            \
    }                                                                               \
    TESS_FN tess_##s##V tess_at_##s##V(tess_##s##V##_row row, int k)                \
    {                                                                               \
        return tess_load_##s##V(row.p + k);                                         \
    }
#endif

/* from, from + 1, ...: what the lanes have for a coordinate. */
#define TESS_VECTOR_RAMP(V, T, s)                 \
    TESS_FN tess_##s##V tess_ramp_##s##V(T from)  \
    {                                             \
        tess_##s##V r = { 0 };                    \
        TESS_EACH_LANE(V)                         \
        r[i] = (T)((uint64_t)from + (unsigned)i); \
        return r;                                 \
    }

/* ---- Operators -------------------------------------------------------------------------------------- */
#define TESS_VECTOR_1(V, op, s)                           \
    TESS_FN tess_##s##V tess_##op##_##s##V(tess_##s##V a) \
    {                                                     \
        tess_##s##V r = { 0 };                            \
        TESS_EACH_LANE(V)                                 \
        r[i] = tess_##op##_##s(a[i]);                     \
        return r;                                         \
    }
#define TESS_VECTOR_2(V, op, s)                                          \
    TESS_FN tess_##s##V tess_##op##_##s##V(tess_##s##V a, tess_##s##V b) \
    {                                                                    \
        tess_##s##V r = { 0 };                                           \
        TESS_EACH_LANE(V)                                                \
        r[i] = tess_##op##_##s(a[i], b[i]);                              \
        return r;                                                        \
    }
/* With the same second operand in all lanes, by which compilers divide and shift faster and find more vectors. */
#define TESS_VECTOR_BY(V, op, T, s)                                 \
    TESS_FN tess_##s##V tess_##op##_##s##V##_by(tess_##s##V a, T b) \
    {                                                               \
        tess_##s##V r = { 0 };                                      \
        TESS_EACH_LANE(V)                                           \
        r[i] = tess_##op##_##s(a[i], b);                            \
        return r;                                                   \
    }
#define TESS_VECTOR_3(V, op, s)                                                         \
    TESS_FN tess_##s##V tess_##op##_##s##V(tess_##s##V a, tess_##s##V b, tess_##s##V c) \
    {                                                                                   \
        tess_##s##V r = { 0 };                                                          \
        TESS_EACH_LANE(V)                                                               \
        r[i] = tess_##op##_##s(a[i], b[i], c[i]);                                       \
        return r;                                                                       \
    }
/* An operator on integers that wraps: U is the unsigned type as wide as s. */
#define TESS_VECTOR_WRAPS(V, op, sign, s, U)                             \
    TESS_FN tess_##s##V tess_##op##_##s##V(tess_##s##V a, tess_##s##V b) \
    {                                                                    \
        TESS_LANE_ARRAY(V, U, wraps);                                    \
        return (tess_##s##V)((wraps)a sign(wraps) b);                    \
    }
/* `steps` leads from the truth values x, as wide as s, to lanes. */
#define TESS_VECTOR_COMPARE(V, op, sign, s, I, steps)                  \
    TESS_FN tess_b##V tess_##op##_##s##V(tess_##s##V a, tess_##s##V b) \
    {                                                                  \
        TESS_LANE_ARRAY(V, I, truth);                                  \
        const truth x = (truth)(a sign b);                             \
        return steps;                                                  \
    }
#define TESS_VECTOR_ISNAN(V, s, I, steps)              \
    TESS_FN tess_b##V tess_isnan_##s##V(tess_##s##V a) \
    {                                                  \
        TESS_LANE_ARRAY(V, I, truth);                  \
        const truth x = (truth)(a != a);               \
        return steps;                                  \
    }
#define TESS_MAX_i32 INT32_MAX
#define TESS_MAX_i64 INT64_MAX
/* Places in order: the bits of a real but the sign, turned over where it is negative; k is an integer of type I. */
#define TESS_VECTOR_ORDER(V, s, k, I)                                                        \
    TESS_FN tess_##k##V tess_order_##s##V(tess_##s##V a)                                     \
    {                                                                                        \
        const tess_##k##V bits = (tess_##k##V)a, nan = (tess_##k##V)(a != a);                \
        const tess_##k##V most = TESS_MAX_##k - (tess_##k##V){ 0 };                          \
        return (~nan & (bits ^ (most & (bits >> (8 * (int)sizeof(I) - 1))))) | (nan & most); \
    }
#define TESS_VECTOR_AT_ORDER(V, k, s, I)                                    \
    TESS_FN tess_##s##V tess_at_order_##k##V(tess_##k##V a)                 \
    {                                                                       \
        const tess_##k##V most = TESS_MAX_##k - (tess_##k##V){ 0 };         \
        return (tess_##s##V)(a ^ (most & (a >> (8 * (int)sizeof(I) - 1)))); \
    }
/* `steps` leads from the truth values x in lanes to truth values m as wide as s. */
#define TESS_VECTOR_SELECT(V, s, I, steps)                                            \
    TESS_FN tess_##s##V tess_select_##s##V(tess_b##V x, tess_##s##V a, tess_##s##V b) \
    {                                                                                 \
        TESS_LANE_ARRAY(V, I, truth);                                                 \
        const truth m = steps;                                                        \
        return (tess_##s##V)((m & (truth)a) | (~m & (truth)b));                       \
    }
#define TESS_VECTOR_TRUTHS(V, op, result)                        \
    TESS_FN tess_b##V tess_##op##_b##V(tess_b##V a, tess_b##V b) \
    {                                                            \
        return result;                                           \
    }
#define TESS_VECTOR_SELECT_TRUTH(V)                                           \
    TESS_FN tess_b##V tess_select_b##V(tess_b##V c, tess_b##V a, tess_b##V b) \
    {                                                                         \
        return (c & a) | (~c & b);                                            \
    }

/* Fused multiply-adds that fill a vector. */
#if TESS_GCC_X86 == 64
#define TESS_FMA_v_f32(a, b, c)   return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define TESS_FMA_v64_f64(a, b, c) return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4)
#elif TESS_GCC_X86 == 32 && defined(__FMA__)
#define TESS_FMA_v_f32(a, b, c)   return __builtin_ia32_vfmaddps256(a, b, c)
#define TESS_FMA_v64_f64(a, b, c) return __builtin_ia32_vfmaddpd256(a, b, c)
#elif TESS_GCC_X86 == 16 && defined(__FMA__)
#define TESS_FMA_v_f32(a, b, c)   return __builtin_ia32_vfmaddps(a, b, c)
#define TESS_FMA_v64_f64(a, b, c) return __builtin_ia32_vfmaddpd(a, b, c)
#else
#define TESS_FMA_v_f32(a, b, c)   TESS_FMA_LANES(v, f32, a, b, c)
#define TESS_FMA_v64_f64(a, b, c) TESS_FMA_LANES(v64, f64, a, b, c)
#endif
#define TESS_FMA_v64_f32(a, b, c) TESS_FMA_LANES(v64, f32, a, b, c)
#define TESS_FMA_LANES(V, s, a, b, c)      \
    tess_##s##V r = { 0 };                 \
    TESS_EACH_LANE(V)                      \
    r[i] = tess_fma_##s(a[i], b[i], c[i]); \
    return r
#define TESS_VECTOR_FMA(V, s)                                                        \
    TESS_FN tess_##s##V tess_fma_##s##V(tess_##s##V a, tess_##s##V b, tess_##s##V c) \
    {                                                                                \
        TESS_FMA_##V##_##s(a, b, c);                                                 \
    }

/* Quotients of doubles by a number d from 1 to 2^60 whose inverse rounds to one so near that x times it is less than a
 * unit in the last place off: what that leaves of x is no longer than a double, and corrects it to what division gives
 * (P. Markstein, IBM J. Res. Dev. 34, 1990). Vectors with a lane so small or so large that a product on the way may be
 * rounded twice divide. Narrower vectors are divided as fast. */
#if TESS_GCC_X86 == 64
#define TESS_QUOTIENT_LEAST ((long long)(1023 - 900) << 52)
#define TESS_QUOTIENT_MOST  ((long long)(1023 + 900) << 52)
#define TESS_QUOTIENT_IS_FAR(T, size)                                                         \
    !__builtin_ia32_kortestzqi(                                                               \
        __builtin_ia32_ucmpq512_mask((size)-1, (T){ 0 } + (TESS_QUOTIENT_LEAST - 1), 1, 255), \
        __builtin_ia32_ucmpq512_mask(size, (T){ 0 } + TESS_QUOTIENT_MOST, 6, 255))
#define TESS_VECTOR_QUOTIENT(V)                                                     \
    TESS_FN tess_f64##V tess_quotient_f64##V(tess_f64##V x, double d)               \
    {                                                                               \
        TESS_LANE_ARRAY(V, long long, bits);                                        \
        const tess_f64##V zero = { 0 }, by = zero + d, inverse = zero + 1 / d;      \
        const bits size = (bits)x & INT64_MAX;                                      \
        if (__builtin_expect(TESS_QUOTIENT_IS_FAR(bits, size), 0))                  \
            return x / by;                                                          \
        const tess_f64##V near = x * inverse, left = tess_fma_f64##V(-near, by, x); \
        const bits result = (bits)tess_fma_f64##V(left, inverse, near);             \
        return (tess_f64##V)(result | ((bits)near & INT64_MIN)); /* -0 too */       \
    }
#else
#define TESS_VECTOR_QUOTIENT(V)                                       \
    TESS_FN tess_f64##V tess_quotient_f64##V(tess_f64##V x, double d) \
    {                                                                 \
        return x / d;                                                 \
    }
#endif

/* The other sign: GCC leaves the former alone, but takes the sign into what it finds in the lanes
 * (prelude/c.h). */
#if TESS_GCC_X86 == 64 || (TESS_GCC_X86 && defined(__FMA__))
#define TESS_NEG_v_f32(a)   return -a
#define TESS_NEG_v64_f64(a) return -a
#else
#define TESS_NEG_v_f32(a)   TESS_NEG_BITS(v, f32, uint32_t, a)
#define TESS_NEG_v64_f64(a) TESS_NEG_BITS(v64, f64, uint64_t, a)
#endif
#define TESS_NEG_v64_f32(a) TESS_NEG_BITS(v64, f32, uint32_t, a)
#define TESS_NEG_BITS(V, s, U, a) \
    TESS_LANE_ARRAY(V, U, bits);  \
    return (tess_##s##V)((bits)a ^ ((U)1 << (8 * sizeof(U) - 1)))
#define TESS_VECTOR_NEG(V, s)                          \
    TESS_FN tess_##s##V tess_neg_##s##V(tess_##s##V a) \
    {                                                  \
        TESS_NEG_##V##_##s(a);                         \
    }

/* Minima and maxima of reals, r = a < b ? a : b and r = b < a ? a : b: one instruction, which compilers find in the
 * lanes only as long as neither operand is a constant. */
#if TESS_GCC_X86 == 64
#define TESS_MIN_v_f32(r, a, b)   r = __builtin_ia32_minps512_mask(a, b, a, -1, 4)
#define TESS_MAX_v_f32(r, a, b)   r = __builtin_ia32_maxps512_mask(a, b, a, -1, 4)
#define TESS_MIN_v64_f64(r, a, b) r = __builtin_ia32_minpd512_mask(a, b, a, -1, 4)
#define TESS_MAX_v64_f64(r, a, b) r = __builtin_ia32_maxpd512_mask(a, b, a, -1, 4)
#elif TESS_GCC_X86 == 32
#define TESS_MIN_v_f32(r, a, b)   r = __builtin_ia32_minps256(a, b)
#define TESS_MAX_v_f32(r, a, b)   r = __builtin_ia32_maxps256(a, b)
#define TESS_MIN_v64_f64(r, a, b) r = __builtin_ia32_minpd256(a, b)
#define TESS_MAX_v64_f64(r, a, b) r = __builtin_ia32_maxpd256(a, b)
#elif TESS_GCC_X86 == 16
#define TESS_MIN_v_f32(r, a, b)   r = __builtin_ia32_minps(a, b)
#define TESS_MAX_v_f32(r, a, b)   r = __builtin_ia32_maxps(a, b)
#define TESS_MIN_v64_f64(r, a, b) r = __builtin_ia32_minpd(a, b)
#define TESS_MAX_v64_f64(r, a, b) r = __builtin_ia32_maxpd(a, b)
#else
#define TESS_MIN_v_f32(r, a, b)   TESS_MIN_LANES(v, r, a, b)
#define TESS_MAX_v_f32(r, a, b)   TESS_MAX_LANES(v, r, a, b)
#define TESS_MIN_v64_f64(r, a, b) TESS_MIN_LANES(v64, r, a, b)
#define TESS_MAX_v64_f64(r, a, b) TESS_MAX_LANES(v64, r, a, b)
#endif
#define TESS_MIN_v64_f32(r, a, b) TESS_MIN_LANES(v64, r, a, b)
#define TESS_MAX_v64_f32(r, a, b) TESS_MAX_LANES(v64, r, a, b)
#define TESS_MIN_LANES(V, r, a, b) \
    TESS_EACH_LANE(V)              \
    r[i] = a[i] < b[i] ? a[i] : b[i]
#define TESS_MAX_LANES(V, r, a, b) \
    TESS_EACH_LANE(V)              \
    r[i] = b[i] < a[i] ? a[i] : b[i]
#define TESS_VECTOR_EXTREME(V, op, OP, s)                                \
    TESS_FN tess_##s##V tess_##op##_##s##V(tess_##s##V a, tess_##s##V b) \
    {                                                                    \
        tess_##s##V r = { 0 };                                           \
        TESS_##OP##_##V##_##s(r, a, b);                                  \
        return r;                                                        \
    }

#endif
