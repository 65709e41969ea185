/* General code for masks of any extent: the pixels of code for the extents at hand, of the interpreter too, whatever
 * the border rule; a thread compiles that code meanwhile, and is waited for when its program is freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include "support/general.h"

static tess_program *compile(const char *rule, const char *body, tess_general general,
                             const char *cache, tess_fp fp)
{
    tess_options o;
    tess_diags *d;
    tess_options_init(&o);
    o.target = TESS_TARGET_C;
    o.general = general;
    o.cache = cache;
    o.fp = fp;
    tess_program *p = general_compile(rule, body, &o, &d);
    if (!p)
        fail_msg("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

/* A run with a mask of so many rows and columns; verified by the interpreter where asked. */
static void run(tess_program *p, int64_t height, int64_t width, int64_t rows, int64_t cols,
                float *to, bool verify)
{
    tess_args *a = general_bind(p, height, width, rows, cols, to);
    assert_non_null(a);
    if (tess_run(p, a, NULL) != TESS_OK || (verify && tess_verify(p, a) != TESS_OK))
        fail_msg("mask %dx%d: %s", (int)rows, (int)cols, tess_args_error(a));
    tess_args_free(a);
}

static void test_pixels(void **state)
{
    (void)state;
    for (size_t r = 0; r < N_GENERAL_RULES; r++) {
        tess_program *p = compile(general_rules[r], general_bodies[r % 2], TESS_GENERAL_ALWAYS,
                                  NULL, r % 3 ? TESS_FP_DEFAULT : TESS_FP_STRICT);
        for (size_t k = 0; k < N_GENERAL_EXTENTS; k++) {
            run(p, HEIGHT, WIDTH, general_extents[k][0], general_extents[k][1], out, k % 2);
            run(p, 1 + (int64_t)k, 7, general_extents[k][0], general_extents[k][1], out, true);
        }
        tess_program_free(p);
    }
}

/* With no cache every extent is new. */
static void test_meanwhile(void **state)
{
    (void)state;
    tess_program *p =
        compile("mirror", "convolve(X, m)", TESS_GENERAL_MEANWHILE, "", TESS_FP_DEFAULT);
    for (int64_t k = 3; k <= 7; k += 2) {
        for (int times = 0; times < 40; times++) {
            run(p, HEIGHT, WIDTH, k, k + 1, times ? wanted : out, times == 0);
            if (times)
                assert_memory_equal(out, wanted, sizeof out);
            thrd_sleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
        }
    }
    run(p, HEIGHT, WIDTH, 9, 9, out, false);
    tess_program_free(p); /* in the middle of it */
}

static int run_often(void *user)
{
    float *to = malloc(sizeof out);
    for (int k = 0; to && k < 30; k++)
        run(user, HEIGHT, WIDTH, 2 + k % 2, 3, to, false);
    free(to);
    return 0;
}

static void test_threads(void **state)
{
    (void)state;
    thrd_t thread[3];
    tess_program *p =
        compile("clamp", "convolve(X, m)", TESS_GENERAL_MEANWHILE, "", TESS_FP_DEFAULT);
    for (int k = 0; k < 3; k++)
        assert_int_equal(thrd_create(&thread[k], run_often, p), thrd_success);
    for (int k = 0; k < 3; k++)
        thrd_join(thread[k], NULL);
    tess_program_free(p);
}

/* Where there is no general code with the same bits, runs wait. */
static void test_waits(void **state)
{
    (void)state;
    tess_program *p = compile("wrap", "max(i = 0..1, j = 0..1 : X@[i, j]) + convolve(X, m)",
                              TESS_GENERAL_MEANWHILE, NULL, TESS_FP_DEFAULT);
    run(p, HEIGHT, WIDTH, 3, 3, out, true);
    tess_program_free(p);
    p = compile("wrap", "convolve(X, m, method = fft)", TESS_GENERAL_ALWAYS, NULL, TESS_FP_DEFAULT);
    run(p, HEIGHT, WIDTH, 5, 3, out, true);
    tess_program_free(p);
}

static void test_convolver(void **state)
{
    (void)state;
    tess_convolver *c[2];
    int64_t size[2] = { HEIGHT, WIDTH };
    const DLTensor x = tensor(image, size);
    for (int g = 0; g < 2; g++) {
        tess_options o;
        tess_options_init(&o);
        o.target = TESS_TARGET_C;
        o.general = g ? TESS_GENERAL_MEANWHILE : TESS_GENERAL_NEVER;
        assert_int_equal(tess_convolver_new(&o, &c[g]), TESS_OK);
        tess_convolver_vary(c[g], 1);
    }
    for (int64_t k = 1; k < 12; k += 3) {
        int64_t extent[2] = { k, 13 - k };
        const DLTensor w = tensor(mask, extent);
        for (int g = 0; g < 2; g++) {
            const DLTensor y = tensor(g ? out : wanted, size);
            if (tess_convolve(c[g], &x, &w, "mirror", &y, NULL) != TESS_OK)
                fail_msg("%s", tess_convolver_error(c[g]));
        }
        assert_memory_equal(out, wanted, sizeof out);
    }
    for (int g = 0; g < 2; g++)
        tess_convolver_free(c[g]);
}

int main(void)
{
    general_fill();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),    cmocka_unit_test(test_meanwhile),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_waits),
        cmocka_unit_test(test_convolver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
