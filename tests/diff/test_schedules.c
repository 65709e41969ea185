/* Random schedules for CPUs, drawn as edits from the tables of levels, splits and knobs (plan_random.c), and neighbours
 * of the schedules that are chosen (plan_neighbours.c), over programs of the corpus: bit for bit as the graph
 * interpreter says. `test_schedules 2000` draws so many, `test_schedules 2000 c` runs them as compiled C,
 * `test_schedules 2000 gpu` draws kernels, for a small and for a large device in turn; a third number is that of the
 * first. Without arguments a few are run by the interpreter of loops. */
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
#include "plan/plan_base.h"
#include "plan/plan_neighbours.h"
#include "support.h"

enum { MOST_CASES = 2000, A_FEW = 120 };

static long n_schedules = A_FEW, first;
static tess_target target = TESS_TARGET_LOOPS;
static bool kernels;

static const Machine *machine_of(Arena *a, uint64_t seed)
{
    Machine *m = tessi_machine_default(a);
    if (!kernels)
        return m;
    m->target = "gpu";
    return seed % 2 ? corpus_large_gpu(m) : m;
}

static const char *drawn(Arena *a, const CorpusRun *truth, uint64_t seed)
{
    Graph *g = truth->program->variants->graph;
    g = kernels ? g : tessi_graph_for_processors(g, a);
    const Machine *m = machine_of(a, seed);
    const Plan *p;
    PlanNeighbours list = { 0 };
    if (seed % 3 == 0)
        tessi_plan_neighbours(a, g, tessi_plan_choose(a, g, tessi_analyse(g, a), m, PLAN_LARGE),
                              &list);
    p = list.n ? list.at[tessi_hash_u64(seed, 4) % list.n].plan : tessi_plan_random(a, g, m, seed);
    Text text = tessi_text_new(a);
    tessi_plan_print(p, g, &text);
    return tessi_text_str(&text);
}

/* `digest`: of the plan, which tells schedules apart. */
static bool run_one(const char *path, uint64_t seed, uint64_t *digest)
{
    static const int64_t some_sizes[][4] = {
        { 7, 5, 3, 4 }, { 17, 37, 3, 2 }, { 1, 1, 1, 1 }, { 23, 70, 5, 3 }
    };
    int64_t sizes[CORPUS_MOST_PARAMS];
    CorpusCase c;
    CorpusRun truth, run;
    Arena a;
    support_arena_init(&a);
    Text why = tessi_text_new(&a);
    corpus_read(&a, path, &c);
    const int n = corpus_params(&c);
    corpus_sizes(&c, n, some_sizes[seed % 4], sizes);
    const bool own = c.fixed_size || n == 0;
    CorpusSetting s = { .target = TESS_TARGET_INTERP,
                        .sizes = own ? c.sizes : sizes,
                        .expected_inputs = own,
                        .seed = seed,
                        .padded = true };
    bool ok = corpus_run(&c, &s, &truth, &why);
    if (ok) {
        s.target = target;
        s.plan = drawn(&a, &truth, seed);
        *digest = tessi_hash_bytes(1, s.plan, strlen(s.plan));
        ok = corpus_run(&c, &s, &run, &why) && corpus_same(&run, &truth, &why);
        corpus_close(&run);
    }
    corpus_close(&truth);
    if (!ok)
        fprintf(stderr, "%s, schedule %llu: %s, with this plan:\n%s\n", path,
                (unsigned long long)seed, tessi_text_str(&why), s.plan ? s.plan : "");
    tessi_arena_dispose(&a);
    return ok;
}

static void test_schedules(void **state)
{
    (void)state;
    Arena a;
    char *paths[MOST_CASES];
    int failed = 0;
    uint64_t digest = 0, all = 0;
    support_arena_init(&a);
    const int n = corpus_list(&a, paths, MOST_CASES);
    for (long i = first; i < first + n_schedules; i++) {
        const uint64_t seed = tessi_hash_u64((uint64_t)i, 3);
        failed += !run_one(paths[seed % (uint64_t)n], (uint64_t)i, &digest);
        all ^= digest;
    }
    printf("%ld schedules of %d programs (%016llx), %d failed\n", n_schedules, n,
           (unsigned long long)all, failed);
    tessi_arena_dispose(&a);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    n_schedules = argc > 1 ? strtol(argv[1], NULL, 10) : A_FEW;
    if (argc > 2 && strcmp(argv[2], "c") == 0)
        target = TESS_TARGET_C;
    kernels = argc > 2 && strcmp(argv[2], "gpu") == 0;
    first = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_schedules) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
