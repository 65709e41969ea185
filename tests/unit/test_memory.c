/* Shortage of memory at every allocation in turn: compiling, binding, planning, lowering, printing and running must
 * each fail with a status, never crash, and leave nothing behind (which the sanitizer build checks). The linker
 * sends our calls of malloc and its kin to the functions below. All is done once: at each allocation a child goes on
 * from there with none, and says with which status it ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera.h"

static bool splits;   /* at each allocation a child has no more memory */
static bool is_short; /* this is one */
static long allocations, wrong;
static int
    wrong_status; /* of the first child that ended otherwise than it should, after `wrong` allocations */

enum { ENDED_WELL = 0, ENDED_BADLY = 1 };

static int fails(void)
{
    if (is_short || !splits)
        return is_short;
    allocations++;
    const pid_t child = fork();
    if (child == 0) {
        is_short = true;
        return 1;
    }
    int status = ENDED_BADLY;
    if ((child < 0 || waitpid(child, &status, 0) != child || status) && !wrong) {
        wrong = allocations;
        wrong_status = status;
    }
    return 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, n);
}

/* The number of turns comes from the image, so the program is compiled twice; it is made long enough for its text to
 * need an allocation of its own wherever it is kept. */
enum { TEXT_SIZE = 40000 };
static const char program[] =
    "stencil bx(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3.0; }\n"
    "stencil by(vector#2 float X, float s) { return s * median(i = -1..1 : X@[i,0]); }\n"
    "parameter M, N;\nvector#2 float a[M, N];\n"
    "t<0> = bx(a:mirror);\nfor i = 1..M\n    t<i> = bx(t<i-1>:clamp);\nendfor\n"
    "m = maximum(t<M>);\nreturn by(t<M>:wrap, m), t<0>;\n";

static const char *long_text(void)
{
    static char text[TEXT_SIZE + 1];
    if (!text[0]) {
        memset(text, '\n', TEXT_SIZE);
        memcpy(text, program, strlen(program));
    }
    return text;
}

/* Everything once; returns the first status that is not TESS_OK. */
static tess_status all_of_it(tess_target target)
{
    tess_options o;
    tess_options_init(&o);
    o.target = target;
    o.cache = "";
    tess_program *p = NULL;
    tess_diags *d = NULL;
    tess_args *a = NULL;
    float in[30];
    for (int i = 0; i < 30; i++)
        in[i] = (float)(i * 7 % 11);
    int64_t shape[2] = { 5, 6 };
    DLTensor t = {
        .data = in, .device = { kDLCPU, 0 }, .ndim = 2, .dtype = { kDLFloat, 32, 1 }, .shape = shape
    };
    tess_status status = tess_compile(long_text(), TEXT_SIZE, "memory.tess", &o, &p, &d);
    if (status != TESS_OK)
        tess_diags_text(d, 0);
    if (status == TESS_OK)
        status = tess_args_new(p, &a);
    if (status == TESS_OK)
        status = tess_args_image(a, "a", &t);
    if (status == TESS_OK)
        status = tess_run(p, a, NULL);
    if (status == TESS_OK)
        status = tess_verify(p, a);
    static const char *const stops[] = { "ast",  "types", "graph", "analysis",
                                         "plan", "loops", "c",     "header" };
    for (size_t i = 0; status == TESS_OK && i < sizeof stops / sizeof *stops; i++) {
        char *dump = NULL;
        status = tess_dump(p, a, stops[i], &dump, NULL);
        tess_text_free(dump);
    }
    tess_args_free(a);
    tess_program_free(p);
    tess_diags_free(d);
    return status;
}

static void test_target(tess_target target)
{
    allocations = wrong = 0;
    long_text();
    fflush(NULL); /* children have nothing to print again */
    splits = true;
    const tess_status status = all_of_it(target);
    splits = false;
    if (is_short)
        exit(status == TESS_ERROR_MEMORY || status == TESS_ERROR_FILE || status == TESS_OK
                 ? ENDED_WELL
                 : ENDED_BADLY);
    assert_int_equal(status, TESS_OK);
    assert_true(allocations > 10);
    if (wrong)
        fail_msg("without memory from allocation %ld of %ld on it ended with %x", wrong,
                 allocations, (unsigned)wrong_status);
}

static void test_interpreter(void **state)
{
    (void)state;
    test_target(TESS_TARGET_INTERP);
}

static void test_loops(void **state)
{
    (void)state;
    test_target(TESS_TARGET_LOOPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_interpreter),
                                        cmocka_unit_test(test_loops) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
