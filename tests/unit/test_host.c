/* What hosts of the library may be: threads with small stacks, its own and OpenMP's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera.h"

enum { ROWS = 700, COLS = 640, SMALL_STACK = 64 << 10 };
static float input[ROWS * COLS];

static tess_program *compile(const char *text, const char *plan)
{
    tess_options o;
    tess_options_init(&o);
    o.target = TESS_TARGET_C;
    o.threads = 2;
    o.plan = plan;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    if (tess_compile(text, strlen(text), "host.tess", &o, &p, &d) != TESS_OK)
        fail_msg("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static tess_args *bind(const tess_program *p, int64_t rows, int64_t cols)
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
    return a;
}

/* ---- Stacks -------------------------------------------------------------------------------------------------------------- */

typedef struct Run {
    tess_program *p;
    tess_args *a;
    tess_status status;
} Run;

static void *run_in_thread(void *user)
{
    Run *r = user;
    r->status = tess_run(r->p, r->a, NULL);
    return NULL;
}

/* A run on this stack, compared with one by the interpreter. */
static void run_on_small_stack(const char *text, const char *plan, int64_t rows, int64_t cols)
{
    Run r = { .p = compile(text, plan) };
    pthread_t thread;
    pthread_attr_t attributes;
    tess_args *first = bind(r.p, rows, cols); /* here: the compiler may want more */
    assert_int_equal(tess_run(r.p, first, NULL), TESS_OK);
    r.a = bind(r.p, rows, cols);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_in_thread, &r), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (r.status != TESS_OK || tess_verify(r.p, r.a) != TESS_OK)
        fail_msg("%s", tess_args_error(r.a));
    tess_args_free(first);
    tess_args_free(r.a);
    tess_program_free(r.p);
}

/* Sorted point by point: half a mebibyte for each. */
static void test_wide_median(void **state)
{
    (void)state;
    run_on_small_stack("stencil f(vector#2 float X) { return median(i = -180..180, j = -180..180 : "
                       "X@[i, j] * X@[0, j]); }\n"
                       "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a:mirror);\n",
                       NULL, 2, 3);
}

/* Tiles of a stage between, of every thread. */
static void test_tiles(void **state)
{
    (void)state;
    run_on_small_stack("stencil f(vector#2 float X) { return X@[-1, 0] + X@[1, 0] + X@[0, 1]; }\n"
                       "parameter M, N;\nvector#2 float a[M, N];\n"
                       "b = f(a:mirror);\nc = f(b:clamp);\nd = f(c:wrap);\nreturn f(d:clamp);\n",
                       "preset overlapped\n", ROWS, COLS);
}

/* Many small images: one for each mean. */
static void test_many_small_images(void **state)
{
    (void)state;
    char text[8192] = "stencil f(vector#2 float X, int n) { return X + n; }\n"
                      "parameter M, N;\nvector#2 float a[M, N];\n";
    char last[2048] = "return ";
    for (int i = 0; i < 60; i++) {
        char line[64];
        snprintf(line, sizeof line, "m%d = histogram(f(a, %d), 500);\n", i, i);
        strcat(text, line);
        snprintf(line, sizeof line, "%sm%d", i ? ", " : "", i);
        strcat(last, line);
    }
    strcat(text, strcat(last, ";\n"));
    run_on_small_stack(text, NULL, 20, 30);
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++)
        input[i] = (float)(i % 251);
    return setenv("OMP_STACKSIZE", "64k", 1); /* before OpenMP is loaded */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_median),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_many_small_images),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
