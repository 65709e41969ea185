/* The corpus on a device: printed, compiled by its driver and run, bit for bit as the graph interpreter says. The device is an OpenCL
 * one, which PoCL makes of any processor, or as TESSERA_TARGET=cuda says. Drivers compile slowly, so that a test run takes every 16th
 * program with the plan chosen; TESSERA_ALL=1 takes all, with the naive plan and a random one as well. With arguments only the files named
 * are run. Skips where there is no device. */

#include "api/api.h"
#include "diff/corpus.h"
#include "gpu/gpu_test.h"
#include "support.h"

enum { MOST_CASES = 2000, MOST_PLANS = 2, EVERY = 16 };

static bool all;

static const int64_t some_sizes[][4] = { { 1, 1, 1, 1 }, { 17, 37, 3, 2 }, { 66, 131, 5, 3 } };
enum { N_SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };

/* Plans beside the chosen one. */
static int other_plans(Arena *a, const CorpusRun *run, uint64_t seed, const char **plans)
{
    Variant *v = run->program->variants;
    Machine *m = tessi_machine_default(a);
    m->target = "gpu";
    for (int i = 0; i < MOST_PLANS; i++) {
        Plan *plan = i ? tessi_plan_random(a, v->graph, m, seed) : tessi_plan_naive(a, v->graph, m);
        Text text;
        tessi_text_init(&text, a);
        tessi_plan_print(plan, v->graph, &text);
        plans[i] = tessi_text_str(&text);
    }
    return MOST_PLANS;
}

static bool compare(const CorpusCase *c, CorpusSetting s, const char *plan, const CorpusRun *truth,
                    Text *why)
{
    s.target = gpu_target();
    s.plan = plan;
    CorpusRun run;
    bool ok = corpus_run(c, &s, &run, why) && corpus_same(&run, truth, why);
    corpus_close(&run);
    return ok;
}

static bool run_size(const CorpusCase *c, const int64_t *sizes, bool expected, uint64_t seed,
                     Text *why)
{
    CorpusSetting s = { .target = TESS_TARGET_INTERP,
                        .sizes = sizes,
                        .expected_inputs = expected,
                        .seed = seed,
                        .padded = true };
    CorpusRun truth;
    Arena a;
    support_arena_init(&a);
    const char *plans[MOST_PLANS];
    bool ok = corpus_run(c, &s, &truth, why) && compare(c, s, NULL, &truth, why);
    int n = ok && all ? other_plans(&a, &truth, seed, plans) : 0;
    for (int i = 0; ok && i < n; i++) {
        ok = compare(c, s, plans[i], &truth, why);
        if (!ok)
            tessi_text_addf(why, ", with this plan:\n%s", plans[i]);
    }
    tessi_arena_dispose(&a);
    corpus_close(&truth);
    return ok;
}

static bool run_case(const char *path)
{
    Arena a;
    support_arena_init(&a);
    CorpusCase c;
    corpus_read(&a, path, &c);
    int n_params = corpus_params(&c);
    Text why;
    tessi_text_init(&why, &a);
    bool ok = true;
    if (c.n_sizes || n_params == 0)
        ok = run_size(&c, c.sizes, true, 1, &why);
    for (int k = 0; ok && !c.fixed_size && n_params > 0 && k < N_SOME_SIZES; k++) {
        int64_t sizes[CORPUS_MOST_PARAMS];
        for (int i = 0; i < n_params; i++)
            sizes[i] = some_sizes[k][i % 4] < c.min_size ? c.min_size : some_sizes[k][i % 4];
        ok = run_size(&c, sizes, false, 7, &why); /* one seed, so that random plans stay the same */
    }
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, tessi_text_str(&why));
    tessi_arena_dispose(&a);
    return ok;
}

int main(int argc, char **argv)
{
    const char *every = getenv("TESSERA_ALL");
    char *paths[MOST_CASES];
    int n = argc - 1, ran = 0, failed = 0;
    Arena a;
    need_gpu();
    support_arena_init(&a);
    all = every && *every && strcmp(every, "0") != 0;
    if (n)
        memcpy(paths, argv + 1, (size_t)n * sizeof *paths);
    else
        n = corpus_list(&a, paths, MOST_CASES);
    for (int i = 0; i < n; i += all || argc > 1 ? 1 : EVERY, ran++)
        failed += !run_case(paths[i]);
    printf("%d programs, %d failed\n", ran, failed);
    tessi_arena_dispose(&a);
    return failed || !ran;
}
