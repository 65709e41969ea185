/* The contracts about rounding. `--fp=strict` is the language as written: the values stated in the corpus hold. The
 * default mode may only form fused multiply-adds and reciprocals of constants, and add up masks by rows and columns
 * or values under equal columns first, fast rounding also replace a mask by one that is nearly the same: their
 * results stay near the strict ones, within a bound relative to the largest value of the image (float 1e-5, double
 * 1e-13, float16 2e-3, integers 1). */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scalar.h"
#include "diff/corpus.h"
#include "support.h"

#define FOLDER TESSERA_SOURCE_DIR "/tests/corpus"

static const int64_t sizes[CORPUS_MOST_PARAMS] = { 11, 13, 5, 3, 7, 7, 7, 7 };

/* A double image may have been computed from floats. */
static double bound(ScalarType t, const CorpusCase *c)
{
    bool has_floats =
        strstr(c->text, "float") || strstr(c->text, "int8") || strstr(c->text, "int16");
    return t == TYPE_F16 ? 2e-3 : t == TYPE_F32 || has_floats ? 1e-5 : 1e-13;
}

static int64_t elements(const DLTensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    return n;
}

/* Images without padding and of one element type only. */
static bool near(const CorpusCase *c, const DLTensor *a, const DLTensor *b, Text *why)
{
    ScalarType t;
    if (a->dtype.lanes != 1 || !corpus_type(a, &t))
        return true;
    size_t bytes = a->dtype.bits / 8u;
    double largest = 0;
    int64_t n = elements(a);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            Value v = tessi_load_element(t, (char *)a->data + (size_t)i * bytes);
            Value w = tessi_load_element(t, (char *)b->data + (size_t)i * bytes);
            double x = tessi_is_real(t) ? v.f : (double)v.i,
                   y = tessi_is_real(t) ? w.f : (double)w.i;
            if (!isfinite(x) || !isfinite(y))
                continue; /* overflow and NaN may appear a rounding earlier */
            if (pass == 0) {
                largest = fmax(largest, fabs(x));
            } else if (fabs(x - y) > (tessi_is_real(t) ? bound(t, c) * largest : 1)) {
                tessi_text_addf(why, "element %lld: strict %.9g, else %.9g", (long long)i, x, y);
                return false;
            }
        }
    }
    return true;
}

static bool strict_is_the_language(const CorpusCase *c, Text *why)
{
    CorpusSetting s = { .target = TESS_TARGET_INTERP,
                        .fp = TESS_FP_STRICT,
                        .sizes = c->sizes,
                        .expected_inputs = true };
    CorpusRun run;
    bool ok = corpus_run(c, &s, &run, why) && corpus_expected(c, &run, why);
    corpus_close(&run);
    return ok;
}

static bool is_near(const CorpusCase *c, tess_fp fp, Text *why)
{
    if (c->ill_conditioned)
        return true;
    int64_t at[CORPUS_MOST_PARAMS];
    for (int i = 0; i < CORPUS_MOST_PARAMS; i++)
        at[i] = c->fixed_size ? c->sizes[i] : sizes[i] < c->min_size ? c->min_size : sizes[i];
    CorpusSetting s = {
        .target = TESS_TARGET_INTERP, .fp = TESS_FP_STRICT, .sizes = at, .seed = 5
    };
    CorpusRun strict, plain;
    bool ok = corpus_run(c, &s, &strict, why);
    s.fp = fp;
    ok = corpus_run(c, &s, &plain, why) && ok;
    for (int o = 0; ok && o < strict.n_out; o++)
        ok = near(c, strict.out[o], plain.out[o], why);
    corpus_close(&strict);
    corpus_close(&plain);
    return ok;
}

static bool default_is_near(const CorpusCase *c, Text *why)
{
    return is_near(c, TESS_FP_DEFAULT, why);
}

static bool fast_is_near(const CorpusCase *c, Text *why)
{
    return is_near(c, TESS_FP_FAST, why);
}

static void for_each_program(bool (*check)(const CorpusCase *c, Text *why), bool only_expected)
{
    int n = 0, failed = 0;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || (strcmp(dot, ".tess") != 0 && strcmp(dot, ".idsl") != 0))
            continue;
        Arena a;
        support_arena_init(&a);
        CorpusCase c;
        Text why = tessi_text_new(&a);
        corpus_read(&a, tessi_sprintf(&a, FOLDER "/%s", e->d_name), &c);
        if (!only_expected || c.n_expect) {
            n++;
            if (!check(&c, &why)) {
                fprintf(stderr, "%s: %s\n", e->d_name, tessi_text_str(&why));
                failed++;
            }
        }
        tessi_arena_dispose(&a);
    }
    closedir(dir);
    printf("%d programs\n", n);
    assert_true(n > 100);
    assert_int_equal(failed, 0);
}

static void test_strict_is_the_language(void **state)
{
    (void)state;
    for_each_program(strict_is_the_language, true);
}

static void test_default_is_near_strict(void **state)
{
    (void)state;
    for_each_program(default_is_near, false);
}

static void test_fast_is_near_strict(void **state)
{
    (void)state;
    for_each_program(fast_is_near, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_strict_is_the_language),
                                        cmocka_unit_test(test_default_is_near_strict),
                                        cmocka_unit_test(test_fast_is_near_strict) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
