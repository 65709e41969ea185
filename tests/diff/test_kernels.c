/* Plans for GPUs over the whole corpus: executed by the interpreter of loops (which checks that no barrier is
 * missing and that no two threads touch one element), bit for bit as the graph interpreter says. One program of six
 * has its turn (corpus_turn); with arguments only the files named are run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "diff/corpus.h"
#include "plan/plan_costs.h"
#include "support.h"

enum {
    SEED_OF_ONE = 7, /* of the first of some_sizes */
    MOST_CASES = 2000,
    PRESETS = 17,
    RANDOM_PLANS = 3,
    KEPT = 2,
    PLANS = 3 + PRESETS + RANDOM_PLANS + KEPT,
    FRAME_SEEDS = 3,
    MOST_SEEDS = 32
};

/* Texts of plans for the program at hand, from size to size. */
typedef struct Plans {
    Arena *arena;
    const char *chosen[3 + PRESETS], *random[MOST_SEEDS], *frames[FRAME_SEEDS];
    bool has_frames;
} Plans;

static char **given;
static int n_given, n_tiled, n_warps, n_frames;

static const int64_t some_sizes[][4] = {
    { 1, 1, 1, 1 }, { 2, 3, 2, 1 }, { 7, 5, 3, 4 }, { 17, 37, 3, 2 }
};
enum { N_SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };

/* The plan that stands beside a program of the corpus since it once failed, for kernels or (`kind` 1) for a CPU;
 * NULL when none does. */
static const char *kept_plan(Arena *a, const CorpusCase *c, int kind)
{
    const int stem = (int)(strrchr(c->path, '.') - c->path);
    const char *path = tessi_sprintf(a, "%.*s.%s.plan", stem, c->path, kind ? "cpu" : "gpu");
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f)
        return NULL;
    fclose(f);
    return support_read_file(a, path, &n);
}

/* The plans of papers take turns, all of them on images of one point. */
static bool has_turn(int i, uint64_t seed)
{
    const int preset = i - 3;
    return preset < 0 || preset >= PRESETS || seed == SEED_OF_ONE
           || ((uint64_t)preset + seed) % 3 == 0;
}

static Plan *make_plan(Arena *a, const Variant *v, int i, uint64_t seed)
{
    Machine *m = tessi_machine_default(a);
    m->target = "gpu";
    m->products_per_cycle = i == 2 ? 1500 : 0;
    /* plans for large and medium images take turns */
    const PlanSize large = v->graph->stages.n % 2 ? PLAN_LARGE : PLAN_MEDIUM;
    const char *fault;
    return i == 0            ? tessi_plan_naive(a, v->graph, m)
           : i == 1          ? tessi_plan_choose(a, v->graph, v->analysis, m, large)
           : i == 2          ? tessi_plan_choose(a, v->graph, v->analysis, m, PLAN_SMALL)
           : i < 3 + PRESETS ? tessi_plan_preset(a, v->graph, m, tess_preset((size_t)i - 3), &fault)
                             : tessi_plan_random(a, v->graph, m, seed);
}

static const char *plan_text(Plans *made, const CorpusRun *run, int i, uint64_t seed)
{
    const char **text = i < 3 + PRESETS ? &made->chosen[i] : &made->random[seed];
    if (*text && run->is_kept) /* else the graph is another one for other sizes */
        return *text;
    const Variant *v = run->program->variants;
    Text printed = tessi_text_new(made->arena);
    tessi_plan_print(make_plan(made->arena, v, i, seed), v->graph, &printed);
    return *text = tessi_text_str(&printed);
}

/* The naive plan, those chosen for large and for small images, those of papers, and random ones, as texts. */
static int gpu_plans(Plans *made, const CorpusCase *c, const CorpusRun *run, uint64_t seed,
                     const char **plans)
{
    assert_null(tess_preset(PRESETS));
    int n = 0;
    for (int i = 0; i < PLANS - KEPT; i++) {
        if (!has_turn(i, seed))
            continue;
        const char *text = plan_text(made, run, i, seed + (uint64_t)(i - PRESETS));
        if (!corpus_has_plan(plans, n, text))
            plans[n++] = text;
    }
    for (int kind = 0; kind < KEPT; kind++)
        if ((plans[n] = kept_plan(made->arena, c, kind)))
            n++;
    return n;
}

/* Whether the bound that launchers compare with lets only runs through whose indices 32 bits hold, and all those of
 * a usual size: a matter of the plan alone. */
static bool bound_is_sound(Arena *a, const LoopProgram *loops, Text *why)
{
    static const int64_t sizes[] = { 3, 100, 4096, 46000, 1 << 20, INT64_C(1) << 30 };
    enum { N = sizeof sizes / sizeof *sizes };
    LoopBound bound;
    const bool may_fit = tessi_loop_index_bound(loops, a, &bound);
    int64_t *params = ARENA_NEW_ARRAY(a, int64_t, loops->params.n + 1);
    for (uint32_t k = 0; k < N * N; k++) {
        for (uint32_t i = 0; i < loops->params.n; i++)
            params[i] = sizes[i % 2 ? k / N : k % N];
        const double most = may_fit ? tessi_loop_bound_value(&bound, params) : INFINITY;
        const bool fits = corpus_fits_32(a, loops, params);
        const bool usual = sizes[k % N] <= 4096 && sizes[k / N] <= 4096;
        if (most <= INT32_MAX ? !fits : fits && usual) {
            tessi_text_addf(why, "for sizes %lld %lld the indices %s, but their bound is %.0f",
                            (long long)sizes[k % N], (long long)sizes[k / N],
                            fits ? "fit 32 bits" : "do not fit 32 bits", most);
            return false;
        }
    }
    return true;
}

static bool run_size(const CorpusCase *c, Plans *made, const int64_t *sizes, bool expected,
                     uint64_t seed, Text *why)
{
    CorpusSetting s = { .target = TESS_TARGET_INTERP,
                        .sizes = sizes,
                        .expected_inputs = expected,
                        .seed = seed,
                        .padded = true };
    CorpusRun truth;
    bool ok = corpus_run(c, &s, &truth, why);
    Arena a;
    support_arena_init(&a);
    const char *plans[PLANS];
    int n = ok ? gpu_plans(made, c, &truth, seed, plans) : 0;
    for (int i = 0; ok && i < n; i++) {
        CorpusRun run;
        s.target = TESS_TARGET_LOOPS;
        s.plan = plans[i];
        ok = corpus_run(c, &s, &run, why) && corpus_same(&run, &truth, why)
             && (seed > SEED_OF_ONE || bound_is_sound(&a, run.program->variants->loops, why));
        corpus_close(&run);
        if (!ok)
            tessi_text_addf(why, ", with this plan:\n%s", plans[i]);
    }
    tessi_arena_dispose(&a);
    corpus_close(&truth);
    return ok;
}

/* The plan chosen for a large device, when it has tiles, on an image whose last tile holds few rows. */
static bool run_tiles(const CorpusCase *c, int n_params, Text *why)
{
    static const int64_t rows_columns[] = { 66, 131, 5, 3 };
    int64_t sizes[CORPUS_MOST_PARAMS];
    corpus_sizes(c, n_params, rows_columns, sizes);
    CorpusSetting s = { .target = TESS_TARGET_INTERP, .sizes = sizes, .seed = 5, .padded = true };
    CorpusRun truth, run;
    bool ok = corpus_prepare(c, &s, &truth, why);
    Arena a;
    support_arena_init(&a);
    if (ok) {
        Variant *v = truth.program->variants;
        Text text = tessi_text_new(&a);
        tessi_plan_print(tessi_plan_choose(&a, v->graph, v->analysis,
                                           corpus_large_gpu(tessi_machine_default(&a)), PLAN_LARGE),
                         v->graph, &text);
        s.target = TESS_TARGET_LOOPS;
        s.plan = tessi_text_str(&text);
        if (strstr(s.plan, " at x.grid in scratch")) {
            ok = corpus_execute(&truth, why) && corpus_run(c, &s, &run, why)
                 && corpus_same(&run, &truth, why);
            corpus_close(&run);
            n_tiled++;
        }
        if (!ok)
            tessi_text_addf(why, ", with this plan:\n%s", s.plan);
    }
    tessi_arena_dispose(&a);
    corpus_close(&truth);
    return ok;
}

/* The plan chosen for a large device with all groups computed by warps that can be; NULL when none can. */
static const char *warps_text(Arena *a, const Variant *v, const uint8_t *outputs, uint16_t warps)
{
    Plan *p = tessi_plan_choose(a, v->graph, v->analysis,
                                corpus_large_gpu(tessi_machine_default(a)), PLAN_LARGE);
    const PlanFacts *f = tessi_plan_facts(a, v->graph);
    Text text;
    int made = 0;
    for (uint32_t i = 0; i < p->groups.n; i++) {
        const PlanGroup before = p->groups.at[i];
        PlanStage *const stage = p->stage;
        PlanGroup *group = &p->groups.at[i];
        if (tessi_plan_make_warp(f, p, group, outputs, warps))
            continue;
        tessi_level_set_march(&group->levels, (PlanMarch){ 3, 17, 4, warps == 1, false });
        made++;
        if (!tessi_plan_verify_with(f, p))
            continue;
        *group = before;
        p->stage = stage;
        made--;
    }
    text = tessi_text_new(a);
    tessi_plan_print(p, v->graph, &text);
    return made ? tessi_text_str(&text) : NULL;
}

/* Warps on an image that has room for one or two beside each other. */
static bool run_warps(const CorpusCase *c, int n_params, Text *why)
{
    static const int64_t rows_columns[][4] = { { 40, 143, 2, 2 }, { 2, 37, 141, 2 } };
    static const uint8_t outputs[][2] = { { 4, 3 }, { 1, 2 } };
    int64_t sizes[CORPUS_MOST_PARAMS];
    const int64_t *from = rows_columns[n_params > 2];
    corpus_sizes(c, n_params, from, sizes);
    CorpusSetting s = { .target = TESS_TARGET_INTERP, .sizes = sizes, .seed = 9, .padded = true };
    CorpusRun truth, run;
    Arena a;
    support_arena_init(&a);
    bool ok = corpus_prepare(c, &s, &truth, why), known = false;
    s.target = TESS_TARGET_LOOPS;
    for (int k = 0; ok && k < 2; k++) {
        s.plan = warps_text(&a, truth.program->variants, outputs[k], (uint16_t)(1 + k));
        if (!s.plan)
            continue;
        ok = (known || corpus_execute(&truth, why)) && corpus_run(c, &s, &run, why)
             && corpus_same(&run, &truth, why)
             && bound_is_sound(&a, run.program->variants->loops, why);
        known = true;
        corpus_close(&run);
        n_warps++;
        if (!ok)
            tessi_text_addf(why, ", with this plan:\n%s", s.plan);
    }
    tessi_arena_dispose(&a);
    corpus_close(&truth);
    return ok;
}

/* A plan drawn at random with a frame around the kernels that can have one; NULL when none can. */
static const char *frames_text(Arena *a, const Variant *v, uint64_t seed)
{
    Machine *m = tessi_machine_default(a);
    m->target = "gpu";
    const Plan *p = tessi_plan_random(a, v->graph, m, seed);
    bool any = false;
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        any = any || (group->frame.rows[0] && tessi_plan_kernel(group) != KERNEL_WARP);
    Text text = tessi_text_new(a);
    tessi_plan_print(p, v->graph, &text);
    return any ? tessi_text_str(&text) : NULL;
}

static const char *const *frames_of(Plans *made, const CorpusRun *run)
{
    for (uint64_t i = 0; i < FRAME_SEEDS && !(made->has_frames && run->is_kept); i++)
        made->frames[i] = frames_text(made->arena, run->program->variants, i);
    made->has_frames = true;
    return made->frames;
}

/* Frames that go around blocks inside, of images that have room for some, and those that are all frame. */
static bool run_frames(const CorpusCase *c, Plans *made, int n_params, Text *why)
{
    enum { SIZES = 2 };
    static const int64_t rows_columns[SIZES][4] = { { 41, 75, 3, 2 }, { 9, 23, 3, 2 } };
    bool ok = true;
    for (int k = 0; ok && k < SIZES; k++) {
        int64_t sizes[CORPUS_MOST_PARAMS];
        corpus_sizes(c, n_params, rows_columns[k], sizes);
        CorpusSetting s = { .target = TESS_TARGET_INTERP, .sizes = sizes, .seed = 11 };
        CorpusRun truth, run;
        s.padded = true;
        ok = corpus_prepare(c, &s, &truth, why);
        const char *const *plans = ok ? frames_of(made, &truth) : NULL;
        bool known = false;
        s.target = TESS_TARGET_LOOPS;
        for (int i = 0; ok && i < FRAME_SEEDS; i++) {
            s.plan = plans[i];
            if (!s.plan)
                continue;
            ok = (known || corpus_execute(&truth, why)) && corpus_run(c, &s, &run, why)
                 && corpus_same(&run, &truth, why);
            known = true;
            corpus_close(&run);
            n_frames++;
            if (!ok)
                tessi_text_addf(why, ", with this plan:\n%s", s.plan);
        }
        corpus_close(&truth);
    }
    return ok;
}

static bool run_case(const char *path)
{
    Arena a;
    support_arena_init(&a);
    CorpusCase c;
    CorpusKept kept;
    Plans made = { .arena = &a };
    corpus_read(&a, path, &c);
    corpus_keep(&c, &kept);
    int n_params = corpus_params(&c);
    Text why = tessi_text_new(&a);
    bool ok = true;
    if (c.n_sizes || n_params == 0)
        ok = run_size(&c, &made, c.sizes, true, 1, &why);
    for (int k = 0; ok && !c.fixed_size && n_params > 0 && k < N_SOME_SIZES; k++) {
        int64_t sizes[CORPUS_MOST_PARAMS];
        corpus_sizes(&c, n_params, some_sizes[k], sizes);
        ok = run_size(&c, &made, sizes, false, (uint64_t)k + SEED_OF_ONE, &why);
    }
    ok = ok && (c.fixed_size || n_params == 0 || run_tiles(&c, n_params, &why));
    ok = ok && (c.fixed_size || n_params == 0 || run_warps(&c, n_params, &why));
    ok = ok && (c.fixed_size || n_params == 0 || run_frames(&c, &made, n_params, &why));
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, tessi_text_str(&why));
    corpus_forget(&kept);
    tessi_arena_dispose(&a);
    return ok;
}

static void test_kernels(void **state)
{
    (void)state;
    Arena a;
    support_arena_init(&a);
    char *paths[MOST_CASES];
    const int n = corpus_cases(&a, given, n_given, paths, MOST_CASES);
    int n_run = 0, failed = 0;
    bool taken[MOST_CASES];
    corpus_turns(paths, n, n_given ? 1 : 6, taken);
    for (int i = 0; i < n; i++) {
        if (!taken[i])
            continue;
        failed += !run_case(paths[i]);
        n_run++;
    }
    printf(
        "%d programs, %d with tiles on a large device, %d runs of warps, %d of frames, %d failed\n",
        n_run, n_tiled, n_warps, n_frames, failed);
    tessi_arena_dispose(&a);
    assert_true(n_run > 0);
    assert_int_equal(failed, 0);
    assert_true(n_given || (n_tiled > 0 && n_frames > 0));
}

int main(int argc, char **argv)
{
    given = argv + 1;
    n_given = argc - 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kernels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
