/* The strip machine (src/vm): programs of the corpus with the kernels of each instruction set that this processor has
 * and with several threads, bit for bit as the graph interpreter says; which loops it takes point by point; what it
 * refuses. test_corpus runs all of the corpus on it, with the best kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "diff/corpus.h"
#include "support.h"
#include "vm/vm.h"

enum { MOST_CASES = 2000 };

static const char *const sets[] = { "any", "avx2", "avx512" };
enum { N_SETS = sizeof sets / sizeof *sets };

/* Runs the program again, with other kernels and so many threads. */
static bool run_with(CorpusRun *run, const VmKernels *k, int threads, const CorpusRun *truth,
                     Text *why)
{
    Variant *v = run->program->variants;
    run->program->options.threads = threads;
    v->vm = tessi_vm_compile(&v->arena, v->loops, k);
    const bool ok =
        tess_run(run->program, run->args, NULL) == TESS_OK && corpus_same(run, truth, why);
    if (!ok)
        tessi_text_addf(why, " (kernels '%s', %d threads)", k->name, threads);
    return ok;
}

static bool run_case(Arena *a, const char *path, const int64_t *sizes, Text *why)
{
    CorpusCase c;
    corpus_read(a, path, &c);
    CorpusSetting s = { .target = TESS_TARGET_INTERP, .sizes = sizes, .seed = 3, .padded = true };
    CorpusRun truth, run;
    if (c.fixed_size || (corpus_params(&c) && sizes[0] < c.min_size))
        return true;
    bool ok = corpus_run(&c, &s, &truth, why);
    s.target = TESS_TARGET_VM;
    ok = corpus_run(&c, &s, &run, why) && ok;
    for (int i = 0; ok && i < N_SETS; i++) {
        const VmKernels *k = tessi_vm_kernels_named(sets[i]);
        ok = !k || (run_with(&run, k, 1, &truth, why) && run_with(&run, k, 3, &truth, why));
    }
    corpus_close(&truth);
    corpus_close(&run);
    return ok;
}

static void test_all_kernels(void **state)
{
    (void)state;
    static const int64_t sizes[CORPUS_MOST_PARAMS] = { 13, 71, 3, 5, 2, 3, 2, 3 };
    char *paths[MOST_CASES];
    int failed = 0;
    Arena list;
    support_arena_init(&list);
    const int n = corpus_list(&list, paths, MOST_CASES);
    for (int i = 0; i < n; i++) {
        Arena a;
        support_arena_init(&a);
        Text why = tessi_text_new(&a);
        if (!run_case(&a, paths[i], sizes, &why)) {
            fprintf(stderr, "%s: %s\n", paths[i], tessi_text_str(&why));
            failed++;
        }
        tessi_arena_dispose(&a);
    }
    tessi_arena_dispose(&list);
    assert_int_equal(failed, 0);
}

/* A program whose loops have been made for the strip machine; to be freed. */
static tess_program *compiled(const char *text, const char *plan)
{
    tess_options o;
    tess_program *p;
    tess_options_init(&o);
    o.target = TESS_TARGET_VM;
    o.plan = plan;
    assert_int_equal(tess_compile(text, strlen(text), "vm.tess", &o, &p, NULL), TESS_OK);
    return p;
}

static tess_status run_zeros(tess_program *p, char *why, size_t n)
{
    float zeros[64] = { 0 };
    int64_t shape[2] = { 8, 8 };
    DLTensor image = { .data = zeros, .device = { kDLCPU, 0 }, .ndim = 2, .shape = shape };
    image.dtype = (DLDataType){ kDLFloat, 32, 1 };
    tess_args *a;
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    tess_args_image(a, "a", &image);
    const tess_status status = tess_run(p, a, NULL);
    snprintf(why, n, "%s", tess_args_error(a) ? tess_args_error(a) : "");
    tess_args_free(a);
    return status;
}

/* Loops over points are strips; what is not is on this list. */
static void test_scalar_loops(void **state)
{
    (void)state;
    static const struct {
        const char *body, *scalar;
    } cases[] = {
        { "stencil f(vector#2 float X) { return X@[0, -1] + 2 * X@[1, 1]; }", "" },
        { "stencil f(vector#2 float X) { return exp(X@[0, -1]) / X; }", "" },
        { "stencil f(vector#2 float X) { return median(i = -1..1, j = -1..1 : X@[i, j]); }", "" },
        { "stencil f(vector#2 float X) { return sum(i = -9..9, j = -9..9 : abs(X - X@[i, j])); }",
          "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400], why[400];
        Arena a;
        support_arena_init(&a);
        Text scalar = tessi_text_new(&a);
        snprintf(text, sizeof text,
                 "%s\nparameter M, N;\nvector#2 float a[M, N];\nreturn f(a:mirror);\n",
                 cases[i].body);
        tess_program *p = compiled(text, NULL);
        assert_int_equal(run_zeros(p, why, sizeof why), TESS_OK);
        tessi_vm_print_scalar(p->variants->vm, &scalar);
        assert_string_equal(tessi_text_str(&scalar), cases[i].scalar);
        tess_program_free(p);
        tessi_arena_dispose(&a);
    }
}

static void test_refusal(void **state)
{
    (void)state;
    static const char plan[] =
        "plan f\ntarget gpu\ngroup output\n    y grid\n    x grid\n    y 8 thread\n"
        "    x 32 thread\n    stage output in memory\n";
    char why[400];
    tess_program *p = compiled("stencil f(vector#2 float X) { return 2 * X; }\n"
                               "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a);\n",
                               plan);
    assert_int_equal(run_zeros(p, why, sizeof why), TESS_ERROR_PROGRAM);
    assert_non_null(strstr(why, "a plan for a GPU is not for it"));
    tess_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_kernels),
                                        cmocka_unit_test(test_scalar_loops),
                                        cmocka_unit_test(test_refusal) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
