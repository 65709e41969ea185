/* Elements that lanes load from places of their own where these go up along a row and lie close together, as where
 * pictures are sampled along it: they come by whole loads and are put in their order in registers. Whether they do is
 * asked at each step. Nothing behind the last place is read. Copied behind prelude/c_each.h. */
#ifndef TESSERA_PRELUDE_C_NEAR_H
#define TESSERA_PRELUDE_C_NEAR_H

#ifndef TESSERA_PRELUDE_C_EACH_H
#include "prelude/c_each.h"
#endif

/* ---- Windows ------------------------------------------------------------------------------------------- */
/* Of elements of 1, 2 or 4 bytes: TESS_NEAR_<bytes> is how many a window has at most, tess_near_load_<bytes>(p, last)
 * has those from p[0] to p[last], and tess_near_take_<bytes> those at given places, in lanes of 32 bits. */
#if TESS_GCC_X86 == 64
#define TESS_NEAR_1 64
#define TESS_NEAR_2 64
#define TESS_NEAR_4 64
typedef tess_16_i32 tess_near_lanes;
TESS_FN bool tess_all_near(tess_near_lanes a, tess_near_lanes b, int32_t last)
{
    const tess_near_lanes most = (tess_near_lanes){ 0 } + last;
    return (__builtin_ia32_ucmpd512_mask(a, most, 2, 0xffff)
            & __builtin_ia32_ucmpd512_mask(b, most, 2, 0xffff))
           == 0xffff;
}
typedef struct tess_near_words {
    tess_16_i32 part0, part1, part2, part3;
    bool wide;
} tess_near_words;
typedef struct tess_near_halves {
    tess_32_i16 part0, part1;
} tess_near_halves;
/* A bit for each element up to the last, from element `from` on. */
TESS_FN uint64_t tess_near_bits(int32_t last, int from)
{
    return (((uint64_t)2 << last) - 1) >> from;
}
TESS_FN tess_16_i32 tess_near_part_4(const void *p, int32_t last, int from)
{
    return __builtin_ia32_loaddqusi512_mask((const int32_t *)p + from, (tess_16_i32){ 0 },
                                            (uint16_t)tess_near_bits(last, from));
}
TESS_FN tess_32_i16 tess_near_part_2(const void *p, int32_t last, int from)
{
    return __builtin_ia32_loaddquhi512_mask((const int16_t *)p + from, (tess_32_i16){ 0 },
                                            (uint32_t)tess_near_bits(last, from));
}
TESS_FN tess_32_i16 tess_near_part_1(const void *p, int32_t last, int from)
{
    return TESS_HALVES_v16_uint8_t(__builtin_ia32_loaddquqi256_mask(
        (const char *)p + from, (tess_32_i8){ 0 }, (uint32_t)tess_near_bits(last, from)));
}
TESS_FN tess_near_words tess_near_load_4(const void *p, int32_t last)
{
    tess_near_words w = {
        tess_near_part_4(p, last, 0), tess_near_part_4(p, last, 16), { 0 }, { 0 }, last >= 32
    };
    if (w.wide) {
        w.part2 = tess_near_part_4(p, last, 32);
        w.part3 = tess_near_part_4(p, last, 48);
    }
    return w;
}
TESS_FN tess_near_halves tess_near_load_2(const void *p, int32_t last)
{
    return (tess_near_halves){ tess_near_part_2(p, last, 0), tess_near_part_2(p, last, 32) };
}
TESS_FN tess_near_halves tess_near_load_1(const void *p, int32_t last)
{
    return (tess_near_halves){ tess_near_part_1(p, last, 0), tess_near_part_1(p, last, 32) };
}
TESS_FN tess_near_lanes tess_near_take_4(tess_near_words w, tess_near_lanes at)
{
    const tess_16_i32 low = __builtin_ia32_vpermt2vard512_mask(at, w.part0, w.part1, 0xffff);
    if (!w.wide)
        return low;
    const tess_16_i32 high = __builtin_ia32_vpermt2vard512_mask(at, w.part2, w.part3, 0xffff);
    return __builtin_ia32_blendmd_512_mask(
        low, high, __builtin_ia32_cmpd512_mask(at, (tess_16_i32){ 0 } + 31, 6, 0xffff));
}
/* Both halves of a lane take an element; that of the upper half is dropped. */
TESS_FN tess_near_lanes tess_near_take_2(tess_near_halves w, tess_near_lanes at)
{
    return (tess_near_lanes)__builtin_ia32_vpermt2varhi512_mask((tess_32_i16)at, w.part0, w.part1,
                                                                (uint32_t)-1);
}
#define tess_near_take_1     tess_near_take_2
#define TESS_NEAR_AS_1(s, x) (tess_##s##v) TESS_TO_int8_t(x)
#define TESS_NEAR_AS_2(s, x) (tess_##s##v) TESS_TO_int16_t(x)
#elif TESS_GCC_X86 == 32
#define TESS_NEAR_4 16
typedef int32_t tess_near_lanes __attribute__((vector_size(32)));
TESS_FN bool tess_all_near(tess_near_lanes a, tess_near_lanes b, int32_t last)
{
    typedef float reals __attribute__((vector_size(32)));
    const tess_near_lanes most = (tess_near_lanes){ 0 } + last,
                          all = __builtin_ia32_pmaxud256(__builtin_ia32_pmaxud256(a, b), most);
    return __builtin_ia32_movmskps256((reals)(all == most)) == 0xff;
}
typedef struct tess_near_words {
    tess_near_lanes part0, part1;
} tess_near_words;
TESS_FN tess_near_words tess_near_load_4(const void *p, int32_t last)
{
    const tess_near_lanes place = { 0, 1, 2, 3, 4, 5, 6, 7 }, rest = place - last,
                          *part = (const tess_near_lanes *)p;
    return (tess_near_words){ __builtin_ia32_maskloadd256(part, rest <= 0),
                              __builtin_ia32_maskloadd256(part + 1, rest <= -8) };
}
TESS_FN tess_near_lanes tess_near_take_4(tess_near_words w, tess_near_lanes at)
{
    const tess_near_lanes upper = at > 7;
    return (__builtin_ia32_permvarsi256(w.part0, at) & ~upper)
           | (__builtin_ia32_permvarsi256(w.part1, at) & upper);
}
#endif

/* ---- Loads --------------------------------------------------------------------------------------------- */
/* Returns the elements at the places a, or at those and the places b, where all are in a window that begins with the
 * first of a and ends with the last of b. */
#define TESS_NEAR_LOAD(s, bytes, a, b, result)                                          \
    const int32_t from = (a)[0], last = (b)[TESS_LANES_v - 1] - from;                   \
    const tess_near_lanes first = (a)-from, second = (b)-from;                          \
    if ((uint32_t)last < TESS_NEAR_##bytes && tess_all_near(first, second, last)) {     \
        const TESS_NEAR_WINDOW_##bytes window = tess_near_load_##bytes(p + from, last); \
        return result;                                                                  \
    }
#define TESS_NEAR_WINDOW_1         tess_near_halves
#define TESS_NEAR_WINDOW_2         tess_near_halves
#define TESS_NEAR_WINDOW_4         tess_near_words
#define TESS_NEAR_AS_4(s, x)       (tess_##s##v)(x)
#define TESS_NEAR_OF(s, bytes, at) TESS_NEAR_AS_##bytes(s, tess_near_take_##bytes(window, at))
#define TESS_NEAR_TWO(s, bytes)                                       \
    (tess_##s##v_both)                                                \
    {                                                                 \
        TESS_NEAR_OF(s, bytes, first), TESS_NEAR_OF(s, bytes, second) \
    }
#ifdef TESS_NEAR_1
#define TESS_NEAR_LOAD_1(s, a, b, result) TESS_NEAR_LOAD(s, 1, a, b, result)
#define TESS_NEAR_LOAD_2(s, a, b, result) TESS_NEAR_LOAD(s, 2, a, b, result)
#else
#define TESS_NEAR_LOAD_1(s, a, b, result)
#define TESS_NEAR_LOAD_2(s, a, b, result)
#endif
#ifdef TESS_NEAR_4
#define TESS_NEAR_LOAD_4(s, a, b, result) TESS_NEAR_LOAD(s, 4, a, b, result)
#else
#define TESS_NEAR_LOAD_4(s, a, b, result)
#endif
/* T, s, bytes: of elements. Places are not negative. */
#define TESS_VECTOR_NEAR(T, s, bytes)                                                             \
    TESS_FN tess_##s##v tess_near_##s##v(const T *p, tess_i32v at)                                \
    {                                                                                             \
        TESS_NEAR_LOAD_##bytes(s, at, at, TESS_NEAR_OF(s, bytes, first)) return tess_each_##s##v( \
            p, tess_places_v(at, 1));                                                             \
    }
#define TESS_VECTOR_NEAR_BOTH(T, s, bytes)                                                      \
    TESS_FN tess_##s##v_both tess_near_both_##s##v(const T *p, tess_i32v at, tess_i32v next)    \
    {                                                                                           \
        TESS_NEAR_LOAD_##bytes(s, at, next, (TESS_NEAR_TWO(s, bytes))) return tess_both_##s##v( \
            p, tess_places_v(at, 1), tess_places_v(next, 1));                                   \
    }

#endif
