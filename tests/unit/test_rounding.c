/* Bits do not depend on how the host rounds: every mode, with and without subnormal numbers, with traps, in the
 * calling thread and in OpenMP's own, when compiling, running, interpreting, and in files built ahead of time. The
 * host finds its setting as it was. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* feenableexcept */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera.h"

static const char text[] =
    "stencil f(vector#2 float X) { return (X@[-1, 0] * 0.3 + X@[0, 1] * 1.7) / 3.3 + X * 0.1; }\n"
    "stencil g(vector#2 float X) { return exp(X * 0.01) + sqrt(abs(X) + 0.7) * (1.0 / 3.0) + "
    "2.7e-39; }\n"
    "stencil small(vector#2 float X) { return X * 1.0e-41 + X@[0, 1] * 3.0e-40; }\n"
    "stencil whole(vector#2 float X) { return cast<uint8>(X@[1, 0] * 0.37 + 0.5) + sat<uint8>(X * "
    "0.61); }\n"
    "parameter M, N;\n"
    "vector#2 float a[M, N];\n"
    "b = f(a:mirror);\n"
    "return g(b:clamp), small(b:wrap), whole(b:clamp), b / (a - a), mean(b);\n";

enum { RESULTS = 5, MOST = 700 * 601 };

/* ---- What hosts set -------------------------------------------------------------------------- */

typedef struct Mode {
    int round;
    bool flush, traps;
} Mode;

#if defined(__x86_64__)
static void flush_to_zero(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u); /* results and operands */
}
#elif defined(__aarch64__)
static void flush_to_zero(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr |= 1u << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
#else
static void flush_to_zero(void)
{
}
#endif

static void set(const Mode *m)
{
    fesetenv(FE_DFL_ENV);
    fesetround(m->round);
    if (m->flush)
        flush_to_zero();
    if (m->traps)
        feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
}

static void set_in_thread(void *mode)
{
    set(mode);
}

/* In the threads of the OpenMP that compiled programs use. */
static void set_everywhere(Mode *m)
{
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = NULL;
    void *symbol = openmp ? dlsym(openmp, "GOMP_parallel") : NULL;
    memcpy(&parallel, &symbol, sizeof parallel);
    if (parallel)
        parallel(set_in_thread, m, 2, 0);
    set(m);
}

static fenv_t setting(void)
{
    fenv_t now;
    memset(&now, 0, sizeof now);
    fegetenv(&now);
    return now;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static float input[MOST];
static unsigned char expected[RESULTS][MOST * 4], found[RESULTS][MOST * 4];

static void compile(tess_target target, tess_program **p)
{
    tess_options o;
    tess_options_init(&o);
    o.target = target;
    o.threads = 2;
    tess_diags *d = NULL;
    if (tess_compile(text, strlen(text), "rounding.tess", &o, p, &d) != TESS_OK)
        fail_msg("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
}

static void run(tess_program *p, int64_t rows, int64_t cols, const Mode *m,
                unsigned char (*to)[MOST * 4])
{
    tess_args *a = NULL;
    int64_t shape[2] = { rows, cols };
    const DLTensor in = { .data = input,
                          .device = { kDLCPU, 0 },
                          .ndim = 2,
                          .dtype = { kDLFloat, 32, 1 },
                          .shape = shape };
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    assert_int_equal(tess_args_image(a, "a", &in), TESS_OK);
    const fenv_t before = setting();
    const tess_status status = tess_run(p, a, NULL);
    const fenv_t after = setting();
    const bool kept = memcmp(&before, &after, sizeof before) == 0;
    tess_status verified = TESS_OK;
    if (rows * cols < 1000)
        verified = tess_verify(p, a);
    fesetenv(FE_DFL_ENV);
    if (status != TESS_OK || verified != TESS_OK)
        fail_msg("rounding %x, flush %d: %s", (unsigned)m->round, m->flush, tess_args_error(a));
    if (!kept)
        fail_msg("rounding %x, flush %d: the host's setting was changed", (unsigned)m->round,
                 m->flush);
    for (size_t i = 0; i < RESULTS; i++) {
        const DLTensor *t;
        assert_int_equal(tess_args_result(a, i, &t), TESS_OK);
        const size_t n = t->ndim == 2 ? (size_t)(t->shape[0] * t->shape[1]) : 1;
        memcpy(to[i], t->data, n * (t->dtype.bits / 8));
    }
    tess_args_free(a);
}

static void compare(const char *what, const Mode *m)
{
    for (size_t i = 0; i < RESULTS; i++)
        if (memcmp(expected[i], found[i], sizeof expected[i]) != 0)
            fail_msg("%s, result %d: rounding %x, flush %d, traps %d give other bits", what, (int)i,
                     (unsigned)m->round, m->flush, m->traps);
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        input[i] = (float)(i % 977) * 0.3f - 101.0f;
    return 0;
}

static void for_modes(void (*test)(Mode *m))
{
    static const int rounds[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    for (int i = 0; i < 4; i++)
        for (int flush = 0; flush < 2; flush++)
            test(&(Mode){ rounds[i], flush, i == 1 });
}

/* The chosen plan on two threads. */
static tess_program *compiled;
static void run_compiled(Mode *m)
{
    set_everywhere(m);
    run(compiled, 700, 601, m, found);
    set_everywhere(&(Mode){ .round = FE_TONEAREST });
    compare("compiled code", m);
}

static void test_compiled(void **state)
{
    (void)state;
    compile(TESS_TARGET_C, &compiled);
    run(compiled, 700, 601, &(Mode){ .round = FE_TONEAREST }, expected);
    for_modes(run_compiled);
    tess_program_free(compiled);
}

/* Compiled under this mode too, small, and compared by the library with its interpreter. */
static void compile_and_run(Mode *m)
{
    static const tess_target targets[] = { TESS_TARGET_C, TESS_TARGET_INTERP, TESS_TARGET_LOOPS };
    for (int i = 0; i < 3; i++) {
        tess_program *p;
        set(m);
        compile(targets[i], &p);
        run(p, 23, 31, m, found);
        tess_program_free(p);
        compare(i ? "an interpreter" : "code compiled under it", m);
    }
}

static void test_every_target(void **state)
{
    (void)state;
    tess_program *p;
    memset(expected, 0, sizeof expected);
    memset(found, 0, sizeof found);
    compile(TESS_TARGET_INTERP, &p);
    run(p, 23, 31, &(Mode){ .round = FE_TONEAREST }, expected);
    tess_program_free(p);
    for_modes(compile_and_run);
}

/* What the compiler folds and prints. */
static char *dumped;
static void dump(Mode *m)
{
    char *now = NULL;
    tess_program *p;
    set(m);
    compile(TESS_TARGET_C, &p);
    const tess_status status = tess_dump(p, NULL, "graph", &now, NULL);
    fesetenv(FE_DFL_ENV);
    assert_int_equal(status, TESS_OK);
    if (dumped)
        assert_string_equal(dumped, now);
    tess_text_free(dumped);
    dumped = now;
    tess_program_free(p);
}

static void test_text(void **state)
{
    (void)state;
    for_modes(dump);
    tess_text_free(dumped);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A picture, scaled, and doubles that are read as floats. */
static void write_and_read(Mode *m)
{
    char folder[] = "/tmp/tess-rounding-XXXXXX", picture[64], array[64];
    double values[4] = { 0.4, 1.1, 2.5, 250.6 };
    int64_t shape[2] = { 2, 2 };
    const DLTensor image = { .data = values,
                             .device = { kDLCPU, 0 },
                             .ndim = 2,
                             .dtype = { kDLFloat, 64, 1 },
                             .shape = shape };
    const tess_info want = { .struct_size = sizeof want,
                             .name = "a",
                             .ndim = 2,
                             .dtype = { kDLFloat, 32, 1 },
                             .n_channels = 1 };
    assert_non_null(mkdtemp(folder));
    snprintf(picture, sizeof picture, "%s/a.pgm", folder);
    snprintf(array, sizeof array, "%s/a.npy", folder);
    DLTensor *t[2] = { NULL, NULL };
    tess_image_store store;
    tess_image_request request;
    tess_image_store_init(&store);
    tess_image_request_init(&request);
    set(m);
    const fenv_t before = setting();
    tess_status status = tess_image_save(array, &image, &store, NULL, 0);
    store.scale = 1;
    status |= tess_image_save(picture, &image, &store, NULL, 0);
    status |= tess_image_load(array, &want, &request, &t[0], NULL, 0);
    status |= tess_image_load(picture, &want, &request, &t[1], NULL, 0);
    const fenv_t after = setting();
    fesetenv(FE_DFL_ENV);
    assert_int_equal(status, TESS_OK);
    assert_memory_equal(&before, &after, sizeof before);
    const float as_float[4] = { 0.4f, 1.1f, 2.5f, 250.6f }, scaled[4] = { 0, 1, 2, 255 };
    assert_memory_equal(t[0]->data, as_float, sizeof as_float);
    assert_memory_equal(t[1]->data, scaled, sizeof scaled);
    tess_image_free(t[0]);
    tess_image_free(t[1]);
    unlink(picture);
    unlink(array);
    rmdir(folder);
}

static void test_files(void **state)
{
    (void)state;
    for_modes(write_and_read);
}

/* ---- Ahead of time --------------------------------------------------------------------------- */

typedef int (*Built)(const float *a, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t cols, void *,
                     ptrdiff_t, void *, ptrdiff_t, void *, ptrdiff_t, void *, ptrdiff_t, void *);
static Built built;

static void call(unsigned char (*to)[MOST * 4])
{
    const ptrdiff_t rows = 700, cols = 601;
    assert_int_equal(
        built(input, cols, rows, cols, to[0], cols, to[1], cols, to[2], cols, to[3], cols, to[4]),
        0);
}

static void call_built(Mode *m)
{
    set_everywhere(m);
    const fenv_t before = setting();
    call(found);
    const fenv_t after = setting();
    set_everywhere(&(Mode){ .round = FE_TONEAREST });
    assert_memory_equal(&before, &after, sizeof before);
    compare("a file built ahead of time", m);
}

static void test_ahead_of_time(void **state)
{
    (void)state;
    char folder[] = "/tmp/tess-rounding-XXXXXX", path[64], header[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ahead.so", folder);
    snprintf(header, sizeof header, "%s/ahead.h", folder);
    tess_program *p;
    compile(TESS_TARGET_C, &p);
    if (tess_build(p, path, NULL) != TESS_OK)
        fail_msg("%s", tess_program_error(p));
    tess_program_free(p);
    void *library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    void *symbol = dlsym(library, "ahead");
    memcpy(&built, &symbol, sizeof built);
    memset(expected, 0, sizeof expected);
    memset(found, 0, sizeof found);
    call(expected);
    for_modes(call_built);
    unlink(path);
    unlink(header);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled),      cmocka_unit_test(test_every_target),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_files),
        cmocka_unit_test(test_ahead_of_time),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
