/* The corpus with numbers in the place of sizes, which decide more when a program is compiled: in C, and in loops
 * under the chosen plan and a random one, bit for bit as the graph interpreter says of the program as it was. One
 * program of six has its turn. With arguments only the files named are run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/passes.h"
#include "api/api.h"
#include "diff/corpus.h"
#include "support.h"

enum { MOST_CASES = 2000 };

static char **given;
static int n_given;

/* Rows longer than several vectors, and not a multiple of one: by the parameter, counted from the last. */
static const int64_t sizes_from_last[] = { 77, 37, 9, 5 };

static bool compare(const CorpusCase *c, CorpusSetting s, tess_target target, const char *plan,
                    const CorpusRun *truth, Text *why)
{
    static const char *const names[] = {
        [TESS_TARGET_INTERP] = "interpreter", [TESS_TARGET_LOOPS] = "loops", [TESS_TARGET_C] = "C"
    };
    s.target = target;
    s.plan = plan;
    CorpusRun run;
    const bool ok = corpus_run(c, &s, &run, why) && corpus_same(&run, truth, why);
    if (!ok)
        tessi_text_addf(why, " (%s%s%s)", names[target], plan ? ", with this plan)\n" : "",
                        plan ? plan : "");
    corpus_close(&run);
    return ok;
}

static const char *random_plan(Arena *a, const CorpusRun *run, uint64_t seed)
{
    const Graph *g = tessi_graph_for_processors(run->program->variants->graph, a);
    Text text = tessi_text_new(a);
    tessi_plan_print(tessi_plan_random(a, g, tessi_machine_default(a), seed), g, &text);
    return tessi_text_str(&text);
}

static bool run_literal(Arena *a, const CorpusCase *c, const CorpusCase *literal,
                        const int64_t *sizes, Text *why)
{
    CorpusSetting s = { .target = TESS_TARGET_INTERP, .sizes = sizes, .seed = 11, .padded = true };
    CorpusRun truth, own;
    memset(&own, 0, sizeof own);
    bool ok = corpus_run(c, &s, &truth, why) && corpus_run(literal, &s, &own, why)
              && corpus_same(&own, &truth, why);
    ok = ok && compare(literal, s, TESS_TARGET_LOOPS, NULL, &truth, why)
         && compare(literal, s, TESS_TARGET_C, NULL, &truth, why)
         && compare(literal, s, TESS_TARGET_LOOPS, random_plan(a, &own, 3), &truth, why);
    corpus_close(&own);
    corpus_close(&truth);
    return ok;
}

static bool run_case(const char *path, int *n_run)
{
    Arena a;
    support_arena_init(&a);
    CorpusCase c, literal;
    corpus_read(&a, path, &c);
    const int n = corpus_params(&c);
    int64_t sizes[CORPUS_MOST_PARAMS];
    for (int i = 0; i < n; i++) {
        const int64_t size = sizes_from_last[(n - 1 - i) % 4];
        sizes[i] = c.fixed_size ? c.sizes[i] : size < c.min_size ? c.min_size : size;
    }
    Text why = tessi_text_new(&a);
    bool ok = true;
    if (n > 0) {
        corpus_literal(&a, &c, sizes, &literal);
        ok = run_literal(&a, &c, &literal, sizes, &why);
        ++*n_run;
    }
    if (!ok)
        fprintf(stderr, "%s: %s\n%s\n", path, tessi_text_str(&why), literal.text);
    tessi_arena_dispose(&a);
    return ok;
}

static void test_literal(void **state)
{
    (void)state;
    Arena a;
    support_arena_init(&a);
    char *paths[MOST_CASES];
    const int n = corpus_cases(&a, given, n_given, paths, MOST_CASES);
    int n_run = 0, failed = 0;
    bool taken[MOST_CASES];
    corpus_turns(paths, n, n_given ? 1 : 6, taken);
    for (int i = 0; i < n; i++)
        if (taken[i])
            failed += !run_case(paths[i], &n_run);
    printf("%d programs, %d failed\n", n_run, failed);
    tessi_arena_dispose(&a);
    assert_true(n_run > 0);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    given = argv + 1;
    n_given = argc - 1;
    /* What is tested is the text, and there is one for each program. */
    const char *cc = getenv("TESSERA_CC");
    if (cc && *cc)
        setenv("TESSERA_TEST_CC", cc, 1);
    setenv("TESSERA_CC", TESSERA_SOURCE_DIR "/tests/support/cc-plain.sh", 1);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_literal) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
