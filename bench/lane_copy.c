/* The copy: the least that any program takes that reads its input once and writes a result of the same size once.
 * `stores=plain` or `stores=streaming`, which pass the caches by and win when the images do not fit them. */
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#elif defined __SSE2__
#include <emmintrin.h>
#endif

#include "lane.h"

typedef struct Copy {
    char *to;
    const char *from;
    size_t bytes;
    int threads;
    bool streaming;
} Copy;

typedef uint64_t Block __attribute__((vector_size(64), may_alias));

static void stream_block(Block *to, const Block *from)
{
#ifdef __AVX512F__
    _mm512_stream_si512((__m512i *)to, _mm512_load_si512(from));
#elif defined __SSE2__
    const __m128i *a = (const __m128i *)from;
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)to + i, _mm_load_si128(a + i));
#else
    *to = *from;
#endif
}

/* Loops and not memcpy, which from some size on streams by itself. */
static void copy_blocks(Block *to, const Block *from, size_t n, bool streaming)
{
    for (size_t i = 0; streaming && i < n; i++)
        stream_block(to + i, from + i);
    for (size_t i = 0; !streaming && i < n; i++) {
        to[i] = from[i];
        __asm__ volatile("" ::: "memory");
    }
#ifdef __SSE2__
    if (streaming)
        _mm_sfence();
#endif
}

static bool run(void *user)
{
    const Copy *c = (const Copy *)user;
    Block *to = (Block *)(void *)c->to;
    const Block *from = (const Block *)(const void *)c->from;
    size_t blocks = c->bytes / sizeof *to, part = blocks / (size_t)c->threads + 1;
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int t = 0; t < c->threads; t++) {
        size_t begin = part * (size_t)t, end = begin + part < blocks ? begin + part : blocks;
        copy_blocks(to + begin, from + begin, end - begin, c->streaming);
    }
    memcpy(to + blocks, from + blocks, c->bytes % sizeof *to);
    return true;
}

int main(int argc, char **argv)
{
    Lane lane;
    lane_open(&lane, argc, argv);
#ifndef _OPENMP
    if (lane.threads > 1)
        lane_fail("built without OpenMP: one thread only");
#endif
    Copy copy = { .to = (char *)lane_memory(lane.bytes),
                  .from = (const char *)lane.in,
                  .bytes = lane.bytes,
                  .threads = lane.threads,
                  .streaming = !strcmp(lane_option(&lane, "stores", "plain"), "streaming") };
    return lane_serve(&lane, run, &copy, copy.to, lane.bytes, 0);
}
