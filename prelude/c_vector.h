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

/* The same with the other sign: GCC leaves the former alone, but takes the sign into what it finds in the lanes
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

/* e^x. Where one instruction multiplies by powers of two and rounds once, it replaces eight. */
#if TESS_GCC_X86 == 64
#define TESS_FMA_16(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define TESS_SAME_16(x)      ((x) - (tess_f32v){ 0 })
#define TESS_EXP_LOW_v(x)                                        \
    TESS_MAX_v_f32(x, TESS_SAME_16(TESS_EXP_LEAST_F32), x);      \
    TESS_EXP_STEPS_F32(tess_f32v, TESS_FMA_16, TESS_SAME_16, x); \
    return __builtin_ia32_scalefps512_mask(p, n, (tess_f32v){ 0 }, -1, 4)
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

/* 2^x, as it suits the target. */
#if TESS_GCC_X86 == 64
#define TESS_EXP2_NEAR_v(x)                                       \
    TESS_MAX_v_f32(x, TESS_SAME_16(TESS_EXP2_LEAST_F32), x);      \
    TESS_MIN_v_f32(x, TESS_SAME_16(TESS_EXP2_MOST_F32), x);       \
    TESS_EXP2_STEPS_F32(tess_f32v, TESS_FMA_16, TESS_SAME_16, x); \
    return __builtin_ia32_scalefps512_mask(p, n, (tess_f32v){ 0 }, -1, 4)
#else
#define TESS_EXP2_NEAR_v(x) TESS_EXP_LANES(v, exp2_near, x)
#endif
#define TESS_EXP2_NEAR_v64(x) TESS_EXP_LANES(v64, exp2_near, x)
#define TESS_VECTOR_EXP2_NEAR(V)                             \
    TESS_FN tess_f32##V tess_exp2_near_f32##V(tess_f32##V x) \
    {                                                        \
        TESS_EXP2_NEAR_##V(x);                               \
    }

/* ---- Conversions ------------------------------------------------------------------------------------- */
/* x with elements of type T. GCC 12 has instructions for steps to the double and to half the size only; programs go
 * step by step. Vectors of 64 bytes of doubles it converts in halves, which TESS_DOUBLES and TESS_FLOATS do not. */
#define TESS_AS(V, T, x) \
    __builtin_convertvector(x, T __attribute__((vector_size(TESS_LANES_##V * sizeof(T)))))
/* Between 8 or 16 bits and lanes of 32, and between 8 bits and lanes of 16, as integers of C's type T. */
#if TESS_GCC_X86 == 64
typedef char tess_16_i8 __attribute__((vector_size(16)));
typedef int16_t tess_16_i16 __attribute__((vector_size(32)));
typedef int32_t tess_16_i32 __attribute__((vector_size(64)));
typedef char tess_32_i8 __attribute__((vector_size(32)));
typedef int16_t tess_32_i16 __attribute__((vector_size(64)));
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
#define TESS_DOUBLES_float(x)      __builtin_ia32_cvtps2pd512_mask(x, (tess_f64v64){ 0 }, 0xff, 4)
#define TESS_DOUBLES_int32_t(x)    TESS_512(cvtdq2pd512, x, f64v64, 0xff)
#define TESS_FLOATS(x)             __builtin_ia32_cvtpd2ps512_mask(x, (tess_f32v64){ 0 }, 0xff, 4)
#elif TESS_GCC_X86 == 32
typedef char tess_8_i8 __attribute__((vector_size(16)));
typedef long long tess_8_low __attribute__((vector_size(16)));
#define TESS_LOW(x)                ((tess_8_low){ (long long)(x), 0 })
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
/* Integers of 32 bits in 64. */
#if TESS_GCC_X86 == 64
#define TESS_LONGS(x) \
    ((int64_t __attribute__((vector_size(64))))TESS_512(pmovsxdq512, (tess_8_i32)(x), words, 0xff))
#else
#define TESS_LONGS(x) TESS_AS(v64, int64_t, x)
#endif
#ifndef TESS_FLOATS
#define TESS_DOUBLES_float(x)   TESS_AS(v64, double, x)
#define TESS_DOUBLES_int32_t(x) TESS_AS(v64, double, x)
#define TESS_FLOATS(x)          TESS_AS(v64, float, x)
#endif
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
