/* Elements of pixels, and others that lie a constant apart: taken out of them for a vector, and put together to pixels
 * again. Copied behind prelude/c_each.h. */
#ifndef TESSERA_PRELUDE_C_PIXELS_H
#define TESSERA_PRELUDE_C_PIXELS_H

#ifndef TESSERA_PRELUDE_C_EACH_H
#include "prelude/c_each.h"
#endif

/* ---- Sixteen bytes at a time ---------------------------------------------------------------------- */
/* Processors shuffle bytes within parts of 16, and parts by words of four bytes. A part holds four lanes, or (of
 * pixels) what becomes of them; N parts are a vector. */
#if TESS_GCC_X86 && defined(__SSSE3__)
typedef char tess_parts_1 __attribute__((vector_size(16)));
typedef int tess_part_words_1 __attribute__((vector_size(16)));
typedef long long tess_part_longs_1 __attribute__((vector_size(16)));
#define TESS_PART_BYTES_1(x, at) (tess_parts_1) __builtin_ia32_pshufb128(x, at)
#define TESS_PART_WORDS_1(x, at) ((void)(at), (x)) /* a part is in order */
#if TESS_GCC_X86 >= 32
typedef char tess_parts_2 __attribute__((vector_size(32)));
typedef int tess_part_words_2 __attribute__((vector_size(32)));
typedef long long tess_part_longs_2 __attribute__((vector_size(32)));
#define TESS_PART_BYTES_2(x, at) (tess_parts_2) __builtin_ia32_pshufb256(x, at)
#define TESS_PART_WORDS_2(x, at) \
    (tess_parts_2) __builtin_ia32_permvarsi256((tess_part_words_2)(x), at)
#endif
#if TESS_GCC_X86 == 64
typedef char tess_parts_4 __attribute__((vector_size(64)));
typedef int tess_part_words_4 __attribute__((vector_size(64)));
typedef long long tess_part_longs_4 __attribute__((vector_size(64)));
#define TESS_PART_BYTES_4(x, at) (tess_parts_4) __builtin_ia32_pshufb512_mask(x, at, x, UINT64_MAX)
#define TESS_PART_WORDS_4(x, at)                                                \
    (tess_parts_4) __builtin_ia32_permvarsi512_mask((tess_part_words_4)(x), at, \
                                                    (tess_part_words_4)(x), UINT16_MAX)
#endif
/* As many bytes as fill a part, or half of one, from `from` on or earlier, so that none beyond n is read. */
#define TESS_PART_FILLED(n) ((n) < 16 ? 8 : 16)
#define TESS_PART_FROM(n, from) \
    ((from) + TESS_PART_FILLED(n) < (n) ? (from) : (n)-TESS_PART_FILLED(n))
TESS_FN tess_part_longs_1 tess_part(const void *p, int n, int from)
{
    const char *at = (const char *)p + TESS_PART_FROM(n, from);
    tess_part_longs_1 all = { 0 };
    long long word;
    if (n >= 16) {
        __builtin_memcpy(&all, at, sizeof all);
        return all;
    }
    __builtin_memcpy(&word, at, sizeof word);
    return (tess_part_longs_1){ word, 0 };
}
/* Parts that begin `step` bytes apart. */
TESS_FN tess_parts_1 tess_parts_at_1(const void *p, int n, int from, int step)
{
    (void)step;
    return (tess_parts_1)tess_part(p, n, from);
}
#if TESS_GCC_X86 >= 32
TESS_FN tess_parts_2 tess_parts_of_2(tess_part_longs_1 a, tess_part_longs_1 b)
{
    const tess_part_words_2 first = __builtin_ia32_si256_si((tess_part_words_1)a);
    return (tess_parts_2)__builtin_ia32_insert128i256((tess_part_longs_2)first, b, 1);
}
TESS_FN tess_parts_2 tess_parts_at_2(const void *p, int n, int from, int step)
{
    return tess_parts_of_2(tess_part(p, n, from), tess_part(p, n, from + step));
}
#endif
#if TESS_GCC_X86 == 64
TESS_FN tess_parts_4 tess_parts_of_4(tess_part_longs_1 a, tess_part_longs_1 b, tess_part_longs_1 c,
                                     tess_part_longs_1 d, int count)
{
    tess_part_words_4 all = __builtin_ia32_si512_si((tess_part_words_1)a);
    all = __builtin_ia32_inserti32x4_mask(all, (tess_part_words_1)b, 1, all, UINT16_MAX);
    if (count > 2)
        all = __builtin_ia32_inserti32x4_mask(all, (tess_part_words_1)c, 2, all, UINT16_MAX);
    if (count > 3)
        all = __builtin_ia32_inserti32x4_mask(all, (tess_part_words_1)d, 3, all, UINT16_MAX);
    return (tess_parts_4)all;
}
TESS_FN tess_parts_4 tess_parts_at_4(const void *p, int n, int from, int step)
{
    tess_parts_4 all;
    if (step == 16 && from + 64 <= n) {
        __builtin_memcpy(&all, (const char *)p + from, sizeof all);
        return all;
    }
    return tess_parts_of_4(tess_part(p, n, from), tess_part(p, n, from + step),
                           tess_part(p, n, from + 2 * step), tess_part(p, n, from + 3 * step), 4);
}
#endif

/* What byte i of all parts takes of its own, whose four lanes begin with the pixel at p: element `first` of each.
 * Where a part does not hold what four lanes need, each half of it comes from parts of its own. */
TESS_FN char tess_apart_byte(int i, int n, int step, int first, int size, int half, int halves)
{
    const int begin = (i / 16 * 4 + half * 2) * step * size, lane = i % 16 / size,
              from = (i / 16 * 4 + lane) * step * size + first * size + i % size;
    return lane < 4 && (halves == 1 || lane / 2 == half) ? (char)(from - TESS_PART_FROM(n, begin))
                                                         : (char)-128;
}
#define TESS_PARTS_APART(N)                                                                \
    TESS_FN tess_parts_##N tess_half_apart_##N(const void *p, int n, int step, int first,  \
                                               int size, int half, int halves)             \
    {                                                                                      \
        tess_parts_##N at = { 0 };                                                         \
        TESS_LANES_APART                                                                   \
        for (int i = 0; i < 16 * N; i++)                                                   \
            at[i] = tess_apart_byte(i, n, step, first, size, half, halves);                \
        return TESS_PART_BYTES_##N(                                                        \
            tess_parts_at_##N(p, n, half * 2 * step * size, 4 * step * size), at);         \
    }                                                                                      \
    TESS_FN tess_parts_##N tess_parts_apart_##N(const void *p, int n, int step, int first, \
                                                int size, int halves)                      \
    {                                                                                      \
        tess_parts_##N x = tess_half_apart_##N(p, n, step, first, size, 0, halves);        \
        tess_part_words_##N to = { 0 };                                                    \
        if (halves == 2)                                                                   \
            x |= tess_half_apart_##N(p, n, step, first, size, 1, halves);                  \
        TESS_LANES_APART                                                                   \
        for (int i = 0; i < N * size; i++)                                                 \
            to[i] = i / size * 4 + i % size;                                               \
        return TESS_PART_WORDS_##N(x, to);                                                 \
    }
TESS_PARTS_APART(1)
#if TESS_GCC_X86 == 64
TESS_PARTS_APART(2)
TESS_PARTS_APART(4)
#define TESS_PARTS_v(f)   f##_4
#define TESS_PARTS_v64(f) f##_2
#elif TESS_GCC_X86 == 32
TESS_PARTS_APART(2)
#define TESS_PARTS_v(f)   f##_2
#define TESS_PARTS_v64(f) f##_1
#else
#define TESS_PARTS_v(f)   f##_1
#define TESS_PARTS_v64(f) f##_1 /* which two lanes do not fill */
#endif
#endif

/* ---- Taking apart ---------------------------------------------------------------------------------- */
/* Elements `step` apart, a constant: those of a pixel, of each second one; that at p is number `first` of a pixel, all
 * `pixel` elements of which can be read. Where bytes can be shuffled at will, out of the one or two vectors that have
 * them all. */
#if TESS_GCC_X86 == 64 && defined(__AVX512VBMI__)
/* The first bytes of a wide vector: put there in registers, since a load that spans a store just made waits. */
TESS_FN tess_64_i8 tess_wide(const void *x, size_t size)
{
    typedef int quarter __attribute__((vector_size(16)));
    typedef int quarters __attribute__((vector_size(64)));
    typedef long long half __attribute__((vector_size(32)));
    typedef long long halves __attribute__((vector_size(64)));
    tess_64_i8 all = { 0 };
    quarter a = { 0 };
    half b = { 0 };
    if (size == sizeof(long long)) {
        long long word;
        __builtin_memcpy(&word, x, sizeof word);
        return (tess_64_i8)(halves){ word };
    }
    if (size <= sizeof a) {
        __builtin_memcpy(&a, x, size);
        return (tess_64_i8)__builtin_ia32_inserti32x4_mask((quarters)all, a, 0, (quarters)all,
                                                           UINT16_MAX);
    }
    if (size <= sizeof b) {
        __builtin_memcpy(&b, x, size);
        return (tess_64_i8)__builtin_ia32_inserti64x4_mask((halves)all, b, 0, (halves)all,
                                                           UINT8_MAX);
    }
    __builtin_memcpy(&all, x, size);
    return all;
}
TESS_FN tess_64_i8 tess_bytes_apart(const void *p, int n, int step, int element, int lanes)
{
    /* two plain loads that may overlap: those under a mask wait for stores under one */
    const int part = n > 64 ? 64 : n > 32 ? 32 : n > 16 ? 16 : n > 8 ? 8 : n;
    tess_64_i8 at = { 0 };
    TESS_LANES_APART
    for (int i = 0; i < 64; i++) {
        const int from = i < lanes * element ? i / element * step + i % element : 0;
        at[i] = (char)(from < part ? from : 64 + from - (n - part));
    }
    const tess_64_i8 a = tess_wide(p, (size_t)part);
    if (n == part)
        return __builtin_ia32_permvarqi512_mask(a, at, at, UINT64_MAX);
    return __builtin_ia32_vpermt2varqi512_mask(
        at, a, tess_wide((const char *)p + n - part, (size_t)part), UINT64_MAX);
}
#define TESS_SHUFFLED(V, r, p, step, first, pixel, size)                         \
    const int lanes = TESS_LANES_##V, n = ((lanes - 1) * step + 1) * size;       \
    if (n <= 128) {                                                              \
        const tess_64_i8 all = tess_bytes_apart(p, n, step * size, size, lanes); \
        __builtin_memcpy(&r, &all, sizeof r);                                    \
        return r;                                                                \
    }
#elif defined(TESS_PARTS_v) /* the same parts for all elements of a pixel */
#define TESS_SHUFFLED(V, r, p, step, first, pixel, size)                                      \
    const int lanes = TESS_LANES_##V, n = ((lanes - 1) * step + pixel) * size,                \
              part = TESS_PART_FILLED(n), halves = (3 * step + pixel) * size <= part ? 1 : 2; \
    if (size <= 2 && lanes >= 4 && n >= part                                                  \
        && ((halves == 1 ? 3 : 1) * step + pixel) * size <= part) {                           \
        const TESS_PARTS_##V(tess_parts) all =                                                \
            TESS_PARTS_##V(tess_parts_apart)(p - first, n, step, first, size, halves);        \
        __builtin_memcpy(&r, &all, sizeof r);                                                 \
        return r;                                                                             \
    }
#else
#define TESS_SHUFFLED(V, r, p, step, first, pixel, size)
#endif
#define TESS_PLACE_STEP(i) (i) * step
#define TESS_VECTOR_APART(V, T, s)                                                    \
    TESS_FN T tess_nth_##s##V(const T *p, int k)                                      \
    {                                                                                 \
        return p[k];                                                                  \
    }                                                                                 \
    TESS_FN tess_##s##V tess_apart_##s##V(const T *p, int step, int first, int pixel) \
    {                                                                                 \
        tess_##s##V r;                                                                \
        (void)first;                                                                  \
        (void)pixel;                                                                  \
        TESS_SHUFFLED(V, r, p, step, first, pixel, (int)sizeof(T))                    \
        r = (tess_##s##V){ TESS_ALL_LANES_##V(tess_nth_##s##V, STEP) };               \
        return r;                                                                     \
    }

/* Elements as wide as their lanes: of vectors of them, two of which are shuffled at a time. Clang makes a shuffle of
 * elements that are taken one by one, and stores of pixels by itself. */
#if defined(__clang__)
#define TESS_TWO(V, a, b, at) a
#define TESS_SHUFFLES_TWO     0
#define TESS_PICK(V, r, a, b, at)                     \
    TESS_LANES_APART                                  \
    for (int lane = 0; lane < TESS_LANES_##V; lane++) \
    r[lane] = at[lane] < TESS_LANES_##V ? a[at[lane]] : b[at[lane] - TESS_LANES_##V]
#else
#define TESS_TWO(V, a, b, at)     __builtin_shuffle(a, b, at)
#define TESS_SHUFFLES_TWO         1
#define TESS_PICK(V, r, a, b, at) r = TESS_TWO(V, a, b, at)
#endif
#define TESS_PLACE_TYPE_v   int32_t
#define TESS_PLACE_TYPE_v64 int64_t
/* Where vector number k of n elements begins: the last one ends with them. */
#define TESS_LINE_FROM(V, n, k) \
    (((k) + 1) * TESS_LANES_##V < (n) ? (k)*TESS_LANES_##V : (n)-TESS_LANES_##V)
#define TESS_VECTOR_APART_LANES(V, T, s)                                               \
    TESS_FN tess_##s##V tess_apart_##s##V(const T *p, int step, int first, int pixel)  \
    {                                                                                  \
        TESS_LANE_ARRAY(V, TESS_PLACE_TYPE_##V, places);                               \
        const int n = (TESS_LANES_##V - 1) * step + pixel;                             \
        tess_##s##V r = { 0 };                                                         \
        if (step > 0 && step <= 4) {                                                   \
            p -= first;                                                                \
            r = tess_load_##s##V(p);                                                   \
            TESS_LANES_APART                                                           \
            for (int k = 1; k < 4; k++) {                                              \
                const int begin = TESS_LINE_FROM(V, n, k);                             \
                places at = { 0 };                                                     \
                if (k * TESS_LANES_##V >= n)                                           \
                    break;                                                             \
                TESS_LANES_APART                                                       \
                for (int i = 0; i < TESS_LANES_##V; i++) {                             \
                    const int from = i * step + first;                                 \
                    at[i] = from >= k * TESS_LANES_##V ? TESS_LANES_##V + from - begin \
                            : k == 1                   ? from                          \
                                                       : i;                                              \
                    at[i] = from >= (k + 1) * TESS_LANES_##V ? 0 : at[i];              \
                }                                                                      \
                const tess_##s##V before = r, line = tess_load_##s##V(p + begin);      \
                TESS_PICK(V, r, before, line, at);                                     \
            }                                                                          \
            return r;                                                                  \
        }                                                                              \
        TESS_LANES_APART                                                               \
        for (int i = 0; i < TESS_LANES_##V; i++)                                       \
            r[i] = p[i * step];                                                        \
        return r;                                                                      \
    }

/* The same from lane to lane backwards: p is the place of the first lane, the last in memory. I: an integer as wide as
 * T. */
#if defined(__clang__)
#define TESS_TURNED(V, I, r, x) \
    TESS_EACH_LANE(V)           \
    r[i] = x[TESS_LANES_##V - 1 - i]
#else
#define TESS_TURNED(V, I, r, x)              \
    TESS_LANE_ARRAY(V, I, places);           \
    places at = { 0 };                       \
    TESS_LANES_APART                         \
    for (int i = 0; i < TESS_LANES_##V; i++) \
        at[i] = (I)(TESS_LANES_##V - 1 - i); \
    r = __builtin_shuffle(x, at)
#endif
#define TESS_VECTOR_APART_BACK(V, T, s, I)                                                 \
    TESS_FN tess_##s##V tess_apart_back_##s##V(const T *p, int step, int first, int pixel) \
    {                                                                                      \
        const tess_##s##V x =                                                              \
            tess_apart_##s##V(p - (TESS_LANES_##V - 1) * step, step, first, pixel);        \
        tess_##s##V r = { 0 };                                                             \
        TESS_TURNED(V, I, r, x);                                                           \
        return r;                                                                          \
    }

/* The same the other way: elements to places `step` apart. What lies between stays as it is, also while other threads
 * store to it. */
#if TESS_GCC_X86 == 64 && defined(__AVX512VBMI__)
TESS_FN void tess_spread_part(void *p, tess_64_i8 x, int from, int n, int step, int element)
{
    tess_64_i8 at = { 0 };
    uint64_t mask = 0;
    TESS_LANES_APART
    for (int i = 0; i < 64; i++) {
        const int to = from + i;
        at[i] = (char)(to / step * element + to % step % element);
        mask |= (uint64_t)(to < n && to % step < element) << i;
    }
    const tess_64_i8 line = __builtin_ia32_permvarqi512_mask(x, at, at, UINT64_MAX);
    __builtin_ia32_storedquqi512_mask((char *)p + from, line, mask);
}
#define TESS_SPREAD(p, x, step, lanes, size)                   \
    const int n = ((lanes - 1) * step + 1) * size;             \
    if (n <= 128) {                                            \
        const tess_64_i8 all = tess_wide(&x, sizeof x);        \
        tess_spread_part(p, all, 0, n, step *size, size);      \
        if (n > 64)                                            \
            tess_spread_part(p, all, 64, n, step *size, size); \
        return;                                                \
    }
#else
#define TESS_SPREAD(p, x, step, lanes, size)
#endif
#define TESS_VECTOR_SPREAD(V, T, s)                                \
    TESS_FN void tess_spread_##s##V(T *p, int step, tess_##s##V x) \
    {                                                              \
        TESS_SPREAD(p, x, step, TESS_LANES_##V, (int)sizeof(T))    \
        TESS_LANES_APART                                           \
        for (int i = 0; i < TESS_LANES_##V; i++)                   \
            p[i * step] = x[i];                                    \
    }

/* ---- Putting together ------------------------------------------------------------------------------ */
/* The elements a, b, .. of pixels that have `count`. */
#if defined(TESS_PARTS_v)
/* Four bytes of each element to the parts that they belong to: one behind the other, in words, then in their order. */
TESS_FN char tess_joined_byte(int i, int count, int size)
{
    const int at = i % 16 / size, pixel = at / count;
    return pixel * size < 4 ? (char)(at % count * 4 + pixel * size + i % size) : (char)-128;
}
/* Past the caches in parts that are aligned wherever the first is. */
TESS_FN void tess_store_first(void *p, const void *x, int n, bool stream)
{
    const int most = n & -n;
    int done = 0;
    if (stream && most >= 16 && (uintptr_t)p % (unsigned)most == 0) {
        TESS_LANES_APART
        for (int i = 0; i < n; i += most)
            tess_past_caches((char *)p + i, (const char *)x + i, (size_t)most);
        return;
    }
    TESS_LANES_APART
    for (int part = 64; part >= 4; part /= 2)
        if (n - done >= part) {
            __builtin_memcpy((char *)p + done, (const char *)x + done, (size_t)part);
            done += part;
        }
}
typedef int tess_chunk_1;
TESS_FN tess_parts_1 tess_together_1(int a, int b, int c, int d, int count)
{
    (void)count;
    return (tess_parts_1)(tess_part_words_1){ a, b, c, d };
}
#if TESS_GCC_X86 >= 32
typedef long long tess_chunk_2;
TESS_FN tess_parts_2 tess_together_2(long long a, long long b, long long c, long long d, int count)
{
    (void)count;
    return tess_parts_of_2((tess_part_longs_1){ a, b }, (tess_part_longs_1){ c, d });
}
#endif
#if TESS_GCC_X86 == 64
typedef tess_part_longs_1 tess_chunk_4;
TESS_FN tess_parts_4 tess_together_4(tess_chunk_4 a, tess_chunk_4 b, tess_chunk_4 c, tess_chunk_4 d,
                                     int count)
{
    return tess_parts_of_4(a, b, c, d, count);
}
#endif
#define TESS_PARTS_JOINED(N)                                                                \
    TESS_FN void tess_join_##N(void *p, int count, int size, bool stream, tess_chunk_##N a, \
                               tess_chunk_##N b, tess_chunk_##N c, tess_chunk_##N d)        \
    {                                                                                       \
        tess_parts_##N all = tess_together_##N(a, b, c, d, count), at = { 0 };              \
        tess_part_words_##N from = { 0 }, to = { 0 };                                       \
        TESS_LANES_APART                                                                    \
        for (int i = 0; i < 4 * N; i++) {                                                   \
            from[i] = i % 4 * N + i / 4;                                                    \
            to[i] = i < count * N ? i / count * 4 + i % count : 0;                          \
        }                                                                                   \
        TESS_LANES_APART                                                                    \
        for (int i = 0; i < 16 * N; i++)                                                    \
            at[i] = tess_joined_byte(i, count, size);                                       \
        all = TESS_PART_BYTES_##N(TESS_PART_WORDS_##N(all, from), at);                      \
        if (count < 4)                                                                      \
            all = TESS_PART_WORDS_##N(all, to);                                             \
        tess_store_first(p, &all, 4 * N * count, stream);                                   \
    }
TESS_PARTS_JOINED(1)
#if TESS_GCC_X86 >= 32
TESS_PARTS_JOINED(2)
#endif
#if TESS_GCC_X86 == 64
TESS_PARTS_JOINED(4)
#endif
#define TESS_JOINED(V, p, size)                                                               \
    if (size <= 2 && TESS_LANES_##V >= 4) {                                                   \
        TESS_LANES_APART                                                                      \
        for (int i = 0; i < size; i++) {                                                      \
            TESS_PARTS_##V(tess_chunk) x[4];                                                  \
            __builtin_memcpy(&x[0], (const char *)&a + (size_t)i * sizeof x[0], sizeof x[0]); \
            __builtin_memcpy(&x[1], (const char *)&b + (size_t)i * sizeof x[0], sizeof x[0]); \
            __builtin_memcpy(&x[2], (const char *)&c + (size_t)i * sizeof x[0], sizeof x[0]); \
            __builtin_memcpy(&x[3], (const char *)&d + (size_t)i * sizeof x[0], sizeof x[0]); \
            TESS_PARTS_##V(tess_join)((char *)p + i * count * (int)sizeof x[0], count, size,  \
                                      stream, x[0], x[1], x[2], x[3]);                        \
        }                                                                                     \
        return;                                                                               \
    }
#else
#define TESS_JOINED(V, p, size)
#endif
#define TESS_JOIN_EACH(V)                                  \
    TESS_LANES_APART                                       \
    for (int i = 0; i < TESS_LANES_##V; i++, p += count) { \
        p[0] = a[i];                                       \
        p[1] = b[i];                                       \
        if (count > 2)                                     \
            p[2] = c[i];                                   \
        if (count > 3)                                     \
            p[3] = d[i];                                   \
    }
#define TESS_VECTOR_JOIN(V, T, s)                                                             \
    TESS_FN void tess_join_##s##V(T *p, int count, bool stream, tess_##s##V a, tess_##s##V b, \
                                  tess_##s##V c, tess_##s##V d)                               \
    {                                                                                         \
        TESS_JOINED(V, p, (int)sizeof(T))                                                     \
        (void)stream;                                                                         \
        TESS_JOIN_EACH(V)                                                                     \
    }
/* Of elements as wide as their lanes, or of lanes that are more than parts have. I: an integer as wide as T. */
#define TESS_VECTOR_JOIN_LANES(V, T, s, I)                                                       \
    TESS_FN void tess_join_##s##V(T *p, int count, bool stream, tess_##s##V a, tess_##s##V b,    \
                                  tess_##s##V c, tess_##s##V d)                                  \
    {                                                                                            \
        TESS_LANE_ARRAY(V, I, places);                                                           \
        TESS_LANES_APART                                                                         \
        for (int k = 0; k < 4; k++) {                                                            \
            places two = { 0 }, three = { 0 }, four = { 0 };                                     \
            if (!TESS_SHUFFLES_TWO || k == count)                                                \
                break;                                                                           \
            TESS_LANES_APART                                                                     \
            for (int i = 0; i < TESS_LANES_##V; i++) {                                           \
                const int at = k * TESS_LANES_##V + i, pixel = at / count, element = at % count; \
                two[i] = (I)(element == 1 ? TESS_LANES_##V + pixel : pixel);                     \
                three[i] = (I)(element == 2 ? TESS_LANES_##V + pixel : i);                       \
                four[i] = (I)(element == 3 ? TESS_LANES_##V + pixel : i);                        \
            }                                                                                    \
            tess_##s##V r = TESS_TWO(V, a, b, two);                                              \
            if (count > 2)                                                                       \
                r = TESS_TWO(V, r, c, three);                                                    \
            if (count > 3)                                                                       \
                r = TESS_TWO(V, r, d, four);                                                     \
            tess_stream_##s##V(p + k * TESS_LANES_##V, r, stream);                               \
        }                                                                                        \
        if (!TESS_SHUFFLES_TWO) {                                                                \
            TESS_JOIN_EACH(V)                                                                    \
        }                                                                                        \
    }
#define TESS_VECTOR_JOIN_COUNTS(V, T, s)                                                           \
    TESS_FN void tess_join2_##s##V(T *p, tess_##s##V a, tess_##s##V b, bool stream)                \
    {                                                                                              \
        tess_join_##s##V(p, 2, stream, a, b, b, b);                                                \
    }                                                                                              \
    TESS_FN void tess_join3_##s##V(T *p, tess_##s##V a, tess_##s##V b, tess_##s##V c, bool stream) \
    {                                                                                              \
        tess_join_##s##V(p, 3, stream, a, b, c, c);                                                \
    }                                                                                              \
    TESS_FN void tess_join4_##s##V(T *p, tess_##s##V a, tess_##s##V b, tess_##s##V c,              \
                                   tess_##s##V d, bool stream)                                     \
    {                                                                                              \
        tess_join_##s##V(p, 4, stream, a, b, c, d);                                                \
    }

/* The same of pixels that stand beside each other: vectors of their elements become ones of all pixels in their order,
 * the first half of them and the second. I: an integer as wide as T. */
#define TESS_VECTOR_JOIN_PAIRS(V, T, s, I)                                                         \
    TESS_FN tess_##s##V tess_zip_##s##V(tess_##s##V a, tess_##s##V b, int half)                    \
    {                                                                                              \
        TESS_LANE_ARRAY(V, I, places);                                                             \
        places at = { 0 };                                                                         \
        tess_##s##V r = { 0 };                                                                     \
        TESS_LANES_APART                                                                           \
        for (int i = 0; i < TESS_LANES_##V; i++) {                                                 \
            const int lane = (half * TESS_LANES_##V + i) / 2;                                      \
            at[i] = (I)(i % 2 ? TESS_LANES_##V + lane : lane);                                     \
        }                                                                                          \
        if (TESS_SHUFFLES_TWO)                                                                     \
            return TESS_TWO(V, a, b, at);                                                          \
        TESS_LANES_APART                                                                           \
        for (int i = 0; i < TESS_LANES_##V; i++)                                                   \
            r[i] = i % 2 ? b[at[i] - TESS_LANES_##V] : a[at[i]];                                   \
        return r;                                                                                  \
    }                                                                                              \
    TESS_FN void tess_join_pairs_##s##V(T *p, int count, bool stream, const tess_##s##V *a,        \
                                        const tess_##s##V *b)                                      \
    {                                                                                              \
        const int last = count - 1, c = last < 2 ? last : 2;                                       \
        TESS_LANES_APART                                                                           \
        for (int half = 0; half < 2; half++)                                                       \
            tess_join_##s##V(p + half * count * TESS_LANES_##V, count, stream,                     \
                             tess_zip_##s##V(a[0], b[0], half), tess_zip_##s##V(a[1], b[1], half), \
                             tess_zip_##s##V(a[c], b[c], half),                                    \
                             tess_zip_##s##V(a[last], b[last], half));                             \
    }                                                                                              \
    TESS_FN void tess_join_pairs2_##s##V(T *p, tess_##s##V a, tess_##s##V b, tess_##s##V c,        \
                                         tess_##s##V d, bool stream)                               \
    {                                                                                              \
        const tess_##s##V first[] = { a, b }, second[] = { c, d };                                 \
        tess_join_pairs_##s##V(p, 2, stream, first, second);                                       \
    }                                                                                              \
    TESS_FN void tess_join_pairs3_##s##V(T *p, tess_##s##V a, tess_##s##V b, tess_##s##V c,        \
                                         tess_##s##V d, tess_##s##V e, tess_##s##V f, bool stream) \
    {                                                                                              \
        const tess_##s##V first[] = { a, b, c }, second[] = { d, e, f };                           \
        tess_join_pairs_##s##V(p, 3, stream, first, second);                                       \
    }                                                                                              \
    TESS_FN void tess_join_pairs4_##s##V(T *p, tess_##s##V a, tess_##s##V b, tess_##s##V c,        \
                                         tess_##s##V d, tess_##s##V e, tess_##s##V f,              \
                                         tess_##s##V g, tess_##s##V h, bool stream)                \
    {                                                                                              \
        const tess_##s##V first[] = { a, b, c, d }, second[] = { e, f, g, h };                     \
        tess_join_pairs_##s##V(p, 4, stream, first, second);                                       \
    }

#endif
