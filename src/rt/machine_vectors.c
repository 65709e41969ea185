/* Loops over vectors for measuring a CPU, whatever the library itself was compiled for. Assembly keeps the compiler
 * from leaving out what nobody reads. */
#include "rt/machine_measure.h"

uint64_t tessi_dependent_additions(size_t n, uint64_t x)
{
    uint64_t y = x | 1;
    for (size_t i = 0; i < n; i++) {
#if defined(__GNUC__)
#define ONE \
    x += y; \
    __asm__ volatile("" : "+r"(x));
#else
#define ONE x = (x + y) ^ i;
#endif
#define EIGHT ONE ONE ONE ONE ONE ONE ONE ONE
        EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT
#undef EIGHT
#undef ONE
    }
    return x;
}

#if defined(__GNUC__)

/* Loads and stores of vectors of `size` bytes; `reg` is the register class of inline assembly. */
#define MEMORY_LOOPS(name, size, attributes, reg)                                  \
    typedef float name##_vector __attribute__((vector_size(size), may_alias));     \
    attributes static void name##_load(const void *from, size_t n)                 \
    {                                                                              \
        const name##_vector *p = from, *end = p + n / (size);                      \
        for (; p < end; p += 8) {                                                  \
            __asm__ volatile("" ::reg(p[0]), reg(p[1]), reg(p[2]), reg(p[3]));     \
            __asm__ volatile("" ::reg(p[4]), reg(p[5]), reg(p[6]), reg(p[7]));     \
        }                                                                          \
    }                                                                              \
    attributes static void name##_copy(void *to, const void *from, size_t n)       \
    {                                                                              \
        const name##_vector *p = from;                                             \
        name##_vector *q = to, *end = q + n / (size);                              \
        for (; q < end; p += 4, q += 4) {                                          \
            name##_vector a = p[0], b = p[1], c = p[2], d = p[3];                  \
            __asm__ volatile("" : "+" reg(a), "+" reg(b), "+" reg(c), "+" reg(d)); \
            q[0] = a;                                                              \
            q[1] = b;                                                              \
            q[2] = c;                                                              \
            q[3] = d;                                                              \
        }                                                                          \
    }

#if defined(__x86_64__)

#define STREAM_LOOP(name, size, attributes, reg, store)                        \
    attributes static void name##_stream(void *to, const void *from, size_t n) \
    {                                                                          \
        const name##_vector *p = from;                                         \
        name##_vector *q = to, *end = q + n / (size);                          \
        for (; q < end; p++, q++)                                              \
            __asm__ volatile(store " %1, %0" : "=m"(*q) : reg(*p));            \
        __asm__ volatile("sfence" ::: "memory");                               \
    }

/* Ten chains hide the latency of one operation behind the others. */
#define TEN(three) \
    three(0) three(1) three(2) three(3) three(4) three(5) three(6) three(7) three(8) three(9)
#define OP_LOOP(name, what, attributes, reg, start, three)                                   \
    attributes static void name##_##what(size_t n)                                           \
    {                                                                                        \
        name##_vector c = (name##_vector){ 0 } + (start), a = c, b = c, d = c, e = c, f = c, \
                      g = c, h = c, i = c, j = c, k = c;                                     \
        for (; n; n--)                                                                       \
            __asm__ volatile(TEN(three)                                                      \
                             : "+" reg(a), "+" reg(b), "+" reg(d), "+" reg(e), "+" reg(f),   \
                               "+" reg(g), "+" reg(h), "+" reg(i), "+" reg(j), "+" reg(k)    \
                             : reg(c));                                                      \
    }
#define ADD(k)  "vaddps %10, %" #k ", %" #k "\n"
#define MUL(k)  "vmulps %10, %" #k ", %" #k "\n"
#define FMA(k)  "vfmadd213ps %10, %" #k ", %" #k "\n"
#define DIV(k)  "vdivps %10, %" #k ", %" #k "\n"
#define SQRT(k) "vsqrtps %" #k ", %" #k "\n"
#define X86_LOOPS(name, size, attributes, reg)                                            \
    MEMORY_LOOPS(name, size, attributes, reg)                                             \
    STREAM_LOOP(name, size, attributes, reg, "vmovntps")                                  \
    OP_LOOP(name, add, attributes, reg, 1.0f, ADD)                                        \
    OP_LOOP(name, mul, attributes, reg, 1.0f, MUL)                                        \
    OP_LOOP(name, fma, attributes, reg, 0.0f, FMA)                                        \
    OP_LOOP(name, div, attributes, reg, 1.0f, DIV)                                        \
    OP_LOOP(name, sqrt, attributes, reg, 1.0f, SQRT)                                      \
    static const VectorLoops name##_loops = { .bytes = (size),                            \
                                              .op = { name##_add, name##_mul, name##_fma, \
                                                      name##_div, name##_sqrt },          \
                                              .load = name##_load,                        \
                                              .copy = name##_copy,                        \
                                              .stream = name##_stream };

X86_LOOPS(avx512, 64, __attribute__((target("avx512f"))), "v")
X86_LOOPS(avx2, 32, __attribute__((target("avx2,fma"))), "x")
MEMORY_LOOPS(sse, 16, , "x")
STREAM_LOOP(sse, 16, , "x", "movntps")
static const VectorLoops sse_loops = {
    .bytes = 16, .load = sse_load, .copy = sse_copy, .stream = sse_stream
};

const VectorLoops *tessi_vector_loops(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return &avx512_loops;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2_loops;
    return &sse_loops;
}

#elif defined(__aarch64__)

MEMORY_LOOPS(neon, 16, , "w")
static const VectorLoops neon_loops = { .bytes = 16, .load = neon_load, .copy = neon_copy };
const VectorLoops *tessi_vector_loops(void)
{
    return &neon_loops;
}

#else

const VectorLoops *tessi_vector_loops(void)
{
    return NULL;
}

#endif
#else

const VectorLoops *tessi_vector_loops(void)
{
    return NULL;
}

#endif
