/* The corpus: every program at many sizes, on every target, bit for bit as the graph interpreter says, and with the
 * values that the program itself states. What takes most of the time takes turns (corpus_turn): C, and plans that are
 * not the chosen one. With arguments only the files named are run, and all of that; with --tenth every tenth program,
 * and C for a fourth of these. */
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

enum { MOST_CASES = 2000, RANDOM_PLANS = 3, MOST_SEEDS = 32 };
enum { TURNS_IN_C = 4, TURNS_OF_PLANS = 4, TURNS_AS_USERS = 3 * TURNS_IN_C };

static char **given;
static int n_given, every = 1, every_in_c = 1;

static const int64_t some_sizes[][4] = { { 1, 1, 1, 1 },  { 2, 3, 2, 1 },   { 3, 2, 4, 2 },
                                         { 7, 5, 3, 4 },  { 16, 17, 5, 3 }, { 1, 19, 2, 6 },
                                         { 23, 1, 3, 2 }, { 9, 64, 4, 5 } };
enum { N_SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };

static bool compare(const CorpusCase *c, CorpusSetting s, tess_target target, const char *plan,
                    const CorpusRun *truth, Text *why)
{
    s.target = target;
    s.plan = plan;
    CorpusRun run;
    bool ok = corpus_run(c, &s, &run, why) && corpus_same(&run, truth, why);
    corpus_close(&run);
    return ok;
}

/* What a program is run as besides the chosen plan in the interpreters and the strip machine. */
typedef struct More {
    bool in_c, other_plans;
    Arena *arena;
    const char *naive, *random[MOST_SEEDS]; /* plans that have been made, by their seeds */
} More;

/* The text of the plan drawn with a seed; 0: of the naive one. */
static const char *plan_text(More *more, const CorpusRun *run, uint64_t seed)
{
    Arena *a = more->arena;
    const char **made = seed ? &more->random[seed] : &more->naive;
    if (*made && run->is_kept) /* else the graph is another one for other sizes */
        return *made;
    const Graph *g = tessi_graph_for_processors(run->program->variants->graph, a);
    Machine *m = tessi_machine_default(a);
    Text text = tessi_text_new(a);
    tessi_plan_print(seed ? tessi_plan_random(a, g, m, seed) : tessi_plan_naive(a, g, m), g, &text);
    return *made = tessi_text_str(&text);
}

/* The texts of the naive plan and of some random ones, as far as they differ. */
static int other_plans(More *more, const CorpusRun *run, uint64_t seed, const char **plans)
{
    int n = 0;
    for (int i = 0; i <= RANDOM_PLANS; i++) {
        const char *text = plan_text(more, run, i ? seed + (uint64_t)i : 0);
        if (!corpus_has_plan(plans, n, text))
            plans[n++] = text;
    }
    return n;
}

static bool run_size(const CorpusCase *c, const int64_t *sizes, bool expected, More *more,
                     uint64_t seed, Text *why)
{
    CorpusSetting s = { .target = TESS_TARGET_INTERP,
                        .sizes = sizes,
                        .expected_inputs = expected,
                        .seed = seed,
                        .padded = true };
    CorpusRun truth;
    bool ok = corpus_run(c, &s, &truth, why);
    if (!ok)
        tessi_text_add(why, " (interpreter)");
    if (ok && expected)
        ok = corpus_expected(c, &truth, why);
    if (ok && !compare(c, s, TESS_TARGET_LOOPS, NULL, &truth, why)) {
        tessi_text_add(why, " (loops against interpreter)");
        ok = false;
    }
    if (ok && !compare(c, s, TESS_TARGET_VM, NULL, &truth, why)) {
        tessi_text_add(why, " (strip machine against interpreter)");
        ok = false;
    }
    if (ok && more->in_c && !compare(c, s, TESS_TARGET_C, NULL, &truth, why)) {
        tessi_text_add(why, " (C against interpreter)");
        ok = false;
    }
    const char *plans[RANDOM_PLANS + 1];
    int n = ok && more->other_plans ? other_plans(more, &truth, seed, plans) : 0;
    for (int i = 0; ok && i < n; i++) {
        ok = compare(c, s, TESS_TARGET_LOOPS, plans[i], &truth, why);
        if (!ok)
            tessi_text_addf(why, " (loops against interpreter, with this plan)\n%s", plans[i]);
    }
    corpus_close(&truth);
    return ok;
}

static bool run_case(const char *path, More more)
{
    Arena a;
    support_arena_init(&a);
    CorpusCase c;
    CorpusKept kept;
    corpus_read(&a, path, &c);
    corpus_keep(&c, &kept);
    more.arena = &a;
    int n_params = corpus_params(&c);
    Text why = tessi_text_new(&a);
    bool ok = true;
    if (c.n_sizes || n_params == 0) {
        ok = run_size(&c, c.sizes, true, &more, 1, &why);
        if (!ok)
            fprintf(stderr, "%s at its own sizes: %s\n", path, tessi_text_str(&why));
    }
    for (int k = 0; ok && !c.fixed_size && n_params > 0 && k < N_SOME_SIZES; k++) {
        int64_t sizes[CORPUS_MOST_PARAMS];
        corpus_sizes(&c, n_params, some_sizes[k], sizes);
        ok = run_size(&c, sizes, false, &more, (uint64_t)k + 7, &why);
        if (!ok) {
            fprintf(stderr, "%s at", path);
            for (int i = 0; i < n_params; i++)
                fprintf(stderr, " %lld", (long long)sizes[i]);
            fprintf(stderr, ": %s\n", tessi_text_str(&why));
        }
    }
    corpus_forget(&kept);
    tessi_arena_dispose(&a);
    return ok;
}

/* Of those in C a third is compiled as users have it, which takes more than twice the time. */
static void choose_compiler(int number)
{
    if (corpus_turn(number, TURNS_AS_USERS))
        unsetenv("TESSERA_CC");
    else
        setenv("TESSERA_CC", TESSERA_SOURCE_DIR "/tests/support/cc-plain.sh", 1);
}

static void test_corpus(void **state)
{
    (void)state;
    Arena a;
    support_arena_init(&a);
    char *paths[MOST_CASES];
    const int n = corpus_cases(&a, given, n_given, paths, MOST_CASES);
    int failed = 0;
    const bool chooses = !n_given && !getenv("TESSERA_CC"); /* else the caller has chosen */
    for (int i = 0; i < n; i += every) {
        if (chooses)
            choose_compiler(i);
        const bool all = n_given || every > 1;
        const More more = { .in_c = all ? i / every % every_in_c == 0 : corpus_turn(i, TURNS_IN_C),
                            .other_plans = all || corpus_turn(i + 1, TURNS_OF_PLANS) };
        failed += !run_case(paths[i], more);
    }
    printf("%d programs, %d failed\n", (n + every - 1) / every, failed);
    tessi_arena_dispose(&a);
    assert_true(n > 0);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    given = argv + 1;
    n_given = argc - 1;
    if (n_given && strcmp(given[0], "--tenth") == 0) {
        n_given = 0;
        every = 10;
        every_in_c = 4;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_corpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
