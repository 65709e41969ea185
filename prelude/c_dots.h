/* Sums of products of bytes, four in a lane, and the words of four bytes that they are made of. Copied behind
 * prelude/c_vector.h. */
#ifndef TESSERA_PRELUDE_C_DOTS_H
#define TESSERA_PRELUDE_C_DOTS_H

#ifndef TESSERA_PRELUDE_C_CASTS_H
#include "prelude/c_casts.h"
#endif

/* ---- Sums of products of bytes ------------------------------------------------------------------------- */
/* Of each lane four bytes from its place on, those of its neighbour one further: no byte beyond them is read. */
#define TESS_FOURS(k)      k, k + 1, k + 2, k + 3
#define TESS_FOURS_FROM(k) TESS_FOURS(k), TESS_FOURS(k + 1), TESS_FOURS(k + 2), TESS_FOURS(k + 3)
#if TESS_GCC_X86 == 64
typedef int tess_fours_4_any __attribute__((vector_size(16), aligned(1), may_alias));
typedef int tess_fours_16 __attribute__((vector_size(64)));
typedef char tess_fours_64 __attribute__((vector_size(64)));
#define TESS_FOURS_OF(p)                                                                          \
    const tess_fours_64 places = { TESS_FOURS_FROM(0), TESS_FOURS_FROM(4), TESS_FOURS_FROM(8),    \
                                   TESS_FOURS_FROM(9) };                                          \
    tess_fours_16 bytes = __builtin_ia32_broadcasti32x4_512(                                      \
        *(const tess_fours_4_any *)(const void *)(p), (tess_fours_16){ 0 }, 0xffff);              \
    bytes = __builtin_ia32_broadcasti32x4_512(*(const tess_fours_4_any *)(const void *)((p) + 3), \
                                              bytes, 0xf000);                                     \
    return (tess_u32v)__builtin_ia32_pshufb512_mask((tess_fours_64)bytes, places,                 \
                                                    (tess_fours_64){ 0 }, (uint64_t)-1)
#elif TESS_GCC_X86 == 32
typedef long long tess_fours_4 __attribute__((vector_size(32)));
typedef long long tess_fours_any __attribute__((aligned(1), may_alias));
typedef char tess_fours_32 __attribute__((vector_size(32)));
#define TESS_FOURS_OF(p)                                                                \
    const tess_fours_32 places = { TESS_FOURS_FROM(0), TESS_FOURS_FROM(1) };            \
    const tess_fours_4 bytes = { *(const tess_fours_any *)(const void *)(p), 0,         \
                                 *(const tess_fours_any *)(const void *)((p) + 3), 0 }; \
    return (tess_u32v)__builtin_ia32_pshufb256((tess_fours_32)bytes, places)
#else
#define TESS_FOURS_OF(p)     \
    tess_u32v r = { 0 };     \
    TESS_EACH_LANE(v)        \
    r[i] = tess_four(p + i); \
    return r
#endif
#define TESS_VECTOR_FOURS                            \
    TESS_FN tess_u32v tess_fours_v(const uint8_t *p) \
    {                                                \
        TESS_FOURS_OF(p);                            \
    }
/* c + the products of the bytes of a, without signs, with those of b, with signs. */
#if TESS_GCC_X86 == 64 && defined(__AVX512VNNI__)
typedef int tess_dot_words __attribute__((vector_size(64)));
#define TESS_DOT_OF(a, b, c) \
    __builtin_ia32_vpdpbusd_v16si((tess_dot_words)c, (tess_dot_words)a, (tess_dot_words)b)
#elif TESS_GCC_X86 == 32 \
    && (defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__)))
typedef int tess_dot_words __attribute__((vector_size(32)));
#define TESS_DOT_OF(a, b, c) \
    __builtin_ia32_vpdpbusd_v8si((tess_dot_words)c, (tess_dot_words)a, (tess_dot_words)b)
#elif TESS_GCC_X86 /* even and odd bytes in 16 bits, whose products are added in pairs */
typedef int16_t tess_dot_halves __attribute__((vector_size(TESS_GCC_X86)));
typedef uint16_t tess_dot_bytes __attribute__((vector_size(TESS_GCC_X86)));
#if TESS_GCC_X86 == 64
#define TESS_DOT_PAIRS(a, b) \
    __builtin_ia32_pmaddwd512_mask(a, b, (int __attribute__((vector_size(64)))){ 0 }, 0xffff)
#elif TESS_GCC_X86 == 32
#define TESS_DOT_PAIRS(a, b) __builtin_ia32_pmaddwd256(a, b)
#else
#define TESS_DOT_PAIRS(a, b) __builtin_ia32_pmaddwd128(a, b)
#endif
#define TESS_DOT_OF(a, b, c)                                                        \
    c                                                                               \
        + (tess_u32v)TESS_DOT_PAIRS((tess_dot_halves)((tess_dot_bytes)a & 255),     \
                                    (tess_dot_halves)((tess_dot_bytes)b << 8) >> 8) \
        + (tess_u32v)TESS_DOT_PAIRS((tess_dot_halves)((tess_dot_bytes)a >> 8),      \
                                    (tess_dot_halves)b >> 8)
#else
#define TESS_DOT_BYTE(a, b, k) \
    (tess_u32v)(TESS_AS(v, int32_t, (b) << (24 - (k))) >> 24) * ((a) >> (k)&255)
#define TESS_DOT_OF(a, b, c)                                                      \
    c + TESS_DOT_BYTE(a, b, 0) + TESS_DOT_BYTE(a, b, 8) + TESS_DOT_BYTE(a, b, 16) \
        + TESS_DOT_BYTE(a, b, 24)
#endif
#define TESS_VECTOR_DOT(V)                                                           \
    TESS_FN tess_u32##V tess_dot_u32##V(tess_u32##V a, tess_u32##V b, tess_u32##V c) \
    {                                                                                \
        return (tess_u32##V)(TESS_DOT_OF(a, b, c));                                  \
    }

#endif
