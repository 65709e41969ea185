/* The corpus on a device: printed, compiled by its driver and run, bit for bit as the graph interpreter says. The
 * device is an OpenCL one, which PoCL makes of any processor, or as TESSERA_TARGET=cuda says. Drivers compile
 * slowly, so that a test run takes one program of 30 (corpus_turn) with the plan chosen. Skips without a device.
 *
 *   test_gpu_corpus [--all] [--part=K/N] [--machine=FILE] [--compile-only] [FILE...]
 *     --all           every program, and with the naive plan, a random one, and those for large and for small images as
 *                     well; so does
 *                     TESSERA_ALL=1
 *     --part=K/N      of the programs number K, K + N, ..., from 0
 *     --machine=FILE  plans for this machine instead of the device
 *     --compile-only  results do not matter: fills the cache for another machine (docs/testing.md) */

#include "api/api.h"
#include "diff/corpus.h"
#include "gpu/gpu_test.h"
#include "rt/file.h"
#include "support.h"

enum { MOST_CASES = 2000, MOST_PLANS = 4, TURNS = 30 };

typedef struct Options {
    bool all, compile_only;
    int part, parts;
    char *machine; /* text; NULL: the device's own */
} Options;

static const int64_t some_sizes[][4] = { { 1, 1, 1, 1 }, { 17, 37, 3, 2 }, { 66, 131, 5, 3 } };
enum { N_SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };

static Machine *machine_of(Arena *a, const Options *o)
{
    Machine *m = NULL;
    tess_diags *d = o->machine ? tessi_diags_new() : NULL;
    if (d)
        m = tessi_machine_read(a, &d->diags, o->machine, strlen(o->machine));
    tess_diags_free(d);
    if (!m) {
        m = tessi_machine_default(a);
        m->target = "gpu";
    }
    return m;
}

/* Plans beside the chosen one. */
static int other_plans(Arena *a, const Options *o, const CorpusRun *run, uint64_t seed,
                       const char **plans)
{
    Variant *v = run->program->variants;
    const Machine *m = machine_of(a, o);
    const PlanSize large = seed % 2 ? PLAN_LARGE : PLAN_MEDIUM; /* take turns */
    const Plan *plan[MOST_PLANS] = { tessi_plan_naive(a, v->graph, m),
                                     tessi_plan_random(a, v->graph, m, seed),
                                     tessi_plan_choose(a, v->graph, v->analysis, m, large),
                                     tessi_plan_choose(a, v->graph, v->analysis, m, PLAN_SMALL) };
    for (int i = 0; i < MOST_PLANS; i++) {
        Text text = tessi_text_new(a);
        tessi_plan_print(plan[i], v->graph, &text);
        plans[i] = tessi_text_str(&text);
    }
    return MOST_PLANS;
}

static bool compare(const Options *o, const CorpusCase *c, CorpusSetting s, const char *plan,
                    const CorpusRun *truth, Text *why)
{
    s.target = gpu_target();
    s.plan = plan;
    s.machine = o->machine;
    s.cache = o->compile_only ? NULL : gpu_cache();
    CorpusRun run;
    bool ok = corpus_run(c, &s, &run, why) && (o->compile_only || corpus_same(&run, truth, why));
    corpus_close(&run);
    return ok;
}

static bool run_size(const Options *o, const CorpusCase *c, const int64_t *sizes, bool expected,
                     uint64_t seed, Text *why)
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
    bool ok = corpus_run(c, &s, &truth, why) && compare(o, c, s, NULL, &truth, why);
    int n = ok && o->all ? other_plans(&a, o, &truth, seed, plans) : 0;
    for (int i = 0; ok && i < n; i++) {
        ok = compare(o, c, s, plans[i], &truth, why);
        if (!ok)
            tessi_text_addf(why, ", with this plan:\n%s", plans[i]);
    }
    tessi_arena_dispose(&a);
    corpus_close(&truth);
    return ok;
}

static bool run_case(const Options *o, const char *path)
{
    Arena a;
    support_arena_init(&a);
    CorpusCase c;
    corpus_read(&a, path, &c);
    int n_params = corpus_params(&c);
    Text why = tessi_text_new(&a);
    bool ok = true;
    if (c.n_sizes || n_params == 0)
        ok = run_size(o, &c, c.sizes, true, 1, &why);
    for (int k = 0; ok && !c.fixed_size && n_params > 0 && k < N_SOME_SIZES; k++) {
        int64_t sizes[CORPUS_MOST_PARAMS];
        corpus_sizes(&c, n_params, some_sizes[k], sizes);
        ok = run_size(o, &c, sizes, false, 7,
                      &why); /* one seed, so that random plans stay the same */
    }
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, tessi_text_str(&why));
    tessi_arena_dispose(&a);
    return ok;
}

static Options options_of(int argc, char **argv, char **paths, int *n)
{
    const char *every = getenv("TESSERA_ALL");
    Options o = { .all = every && *every && strcmp(every, "0") != 0, .parts = 1 };
    *n = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) {
            o.all = true;
        } else if (strcmp(argv[i], "--compile-only") == 0) {
            o.compile_only = true;
        } else if (strncmp(argv[i], "--machine=", 10) == 0) {
            uint8_t *text;
            size_t bytes;
            Failure f;
            if (!tessi_file_read(argv[i] + 10, 1 << 20, &text, &bytes, &f))
                FAIL("%s", f.text);
            o.machine = (char *)text;
        } else if (sscanf(argv[i], "--part=%d/%d", &o.part, &o.parts) == 2) {
            EXPECT(o.parts > 0 && o.part >= 0);
        } else {
            EXPECT(argv[i][0] != '-' && *n < MOST_CASES);
            paths[(*n)++] = argv[i];
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    char *paths[MOST_CASES];
    int n, ran = 0, failed = 0;
    Arena a;
    Options o = options_of(argc, argv, paths, &n);
    const bool named = n > 0;
    Device *device = need_gpu();
    support_arena_init(&a);
    if (!named)
        n = corpus_list(&a, paths, MOST_CASES);
    for (int i = o.part; i < n; i += o.parts) {
        if (!o.all && !named && !corpus_turn(i, TURNS))
            continue;
        failed += !run_case(&o, paths[i]);
        ran++;
    }
    printf("%d programs, %d failed\n", ran, failed);
    tessi_arena_dispose(&a);
    free(o.machine);
    tessi_device_close(device);
    return failed || !ran;
}
