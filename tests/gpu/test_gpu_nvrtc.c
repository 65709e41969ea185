/* The corpus as CUDA C++, compiled by NVRTC for an sm_90 device that need not be there: the driver is a table of
 * functions that do nothing. One program of 30 has its turn (corpus_turn) with the plan chosen, and of the presets
 * with masks of the run one of five; TESSERA_ALL=1: all of them, with the naive plan as well. Skips without NVRTC. */
#include "api/api.h"
#include "diff/corpus.h"
#include "gpu/gpu_test.h"
#include "rt/cuda.h"
#include "support.h"

enum { MOST_CASES = 2000, TURNS = 30, TURNS_OF_PRESETS = 5 };

/* ---- A driver that loads anything ------------------------------------------------------------ */
static CUresult nothing(void)
{
    return 0;
}

static CUresult one_device(int *n)
{
    *n = 1;
    return 0;
}

static CUresult attribute(int *value, int number, CUdevice d)
{
    enum { MAJOR = 75, MINOR = 76, LARGE = 1 << 16 };
    (void)d;
    *value = number == MAJOR ? 9 : number == MINOR ? 0 : LARGE;
    return 0;
}

static CudaDriver make_driver(void)
{
    CudaDriver driver;
    CUresult (*const function)(void) = nothing;
#define F(name, symbol, arguments) memcpy(&driver.name, &function, sizeof function);
#define O                          F
#include "rt/cuda_driver.def"
#undef O
#undef F
    driver.device_count = one_device;
    driver.device_attribute = attribute;
    return driver;
}

/* ---- The programs ---------------------------------------------------------------------------- */
enum { CHOSEN = -2, NAIVE = -1 /* or the number of a preset */ };

static const char *plan_text(Arena *a, const CorpusRun *run, int which)
{
    const Variant *v = run->program->variants;
    Machine *m = tessi_machine_default(a);
    const char *fault;
    m->target = "gpu";
    const Plan *plan = which == NAIVE ? tessi_plan_naive(a, v->graph, m)
                       : which == CHOSEN
                           ? tessi_plan_choose(a, v->graph, v->analysis, m, PLAN_LARGE)
                           : tessi_plan_preset(a, v->graph, m, tess_preset((size_t)which), &fault);
    Text text = tessi_text_new(a);
    tessi_plan_print(plan, v->graph, &text);
    return tessi_text_str(&text);
}

static bool builds(Device *d, const char *path, const char *text)
{
    DeviceBuild job = { .text = text };
    DeviceModule *m = NULL;
    Failure f;
    const bool ok = tessi_device_build(d, &job, &m, &f);
    if (!ok)
        fprintf(stderr, "%s: %s\n%s\n", path, f.text, job.log ? job.log : "");
    tessi_device_module_free(d, m);
    free(job.log);
    return ok;
}

/* With coordinates of 32 bits, and of the chosen plan as for huge images. */
static bool compiles(Arena *a, Device *d, const char *path, const CorpusRun *run, bool chosen)
{
    char *text = NULL;
    if (tess_dump(run->program, run->args, "cuda", &text, NULL) != TESS_OK) {
        fprintf(stderr, "%s: %s\n", path, tess_program_error(run->program));
        return false;
    }
    const bool ok =
        builds(d, path, text)
        && (!chosen || builds(d, path, tessi_sprintf(a, "#define TESS_WIDE_INDEX\n%s", text)));
    tess_text_free(text);
    return ok;
}

/* Plans of a program that have been compiled. */
enum { MOST_PLANS = 64 };
typedef struct Done {
    const char *plan[MOST_PLANS];
    int n;
} Done;

static bool compile_case(Device *d, const char *path, int which, Arena *kept, Done *done)
{
    int64_t some_sizes[] = { 17, 37, 3, 2, 17, 37, 3, 2 };
    Arena a;
    CorpusCase c;
    CorpusRun truth, run;
    support_arena_init(&a);
    corpus_read(&a, path, &c);
    Text why = tessi_text_new(&a);
    for (size_t i = 0; i < sizeof some_sizes / sizeof *some_sizes; i++)
        some_sizes[i] = some_sizes[i] < c.min_size ? c.min_size : some_sizes[i];
    CorpusSetting s = { .target = TESS_TARGET_INTERP,
                        .sizes = c.n_sizes ? c.sizes : some_sizes,
                        .expected_inputs = c.n_sizes > 0,
                        .seed = 1 };
    bool ok = corpus_run(&c, &s, &truth, &why);
    s.target = TESS_TARGET_LOOPS;
    s.plan = ok ? plan_text(&a, &truth, which) : NULL;
    if (ok && !corpus_has_plan(done->plan, done->n, s.plan)) {
        ok = corpus_run(&c, &s, &run, &why) && compiles(&a, d, path, &run, which == CHOSEN);
        corpus_close(&run);
        if (done->n < MOST_PLANS)
            done->plan[done->n++] = tessi_strndup(kept, s.plan, strlen(s.plan));
    }
    if (why.n)
        fprintf(stderr, "%s: %s\n", path, tessi_text_str(&why));
    corpus_close(&truth);
    tessi_arena_dispose(&a);
    return ok;
}

/* Of a test run. */
static bool is_taken(const char *path, int number)
{
    return corpus_turn(number, TURNS) || strstr(path, "/mask_beyond_constant_memory");
}

int main(void)
{
    Failure f = { 0 };
    Nvrtc nvrtc;
    if (!tessi_cuda_load_nvrtc(&nvrtc, &f)) {
        printf("skipped: %s\n", f.text);
        return SKIPPED;
    }
    const CudaDriver driver = make_driver();
    const char *every = getenv("TESSERA_ALL");
    const bool all = every && strcmp(every, "0") != 0;
    Device *d;
    EXPECT(tessi_cuda_open_with(&driver, &nvrtc, 0, NULL, NULL, &d, &f));
    Arena a;
    char *paths[MOST_CASES];
    support_arena_init(&a);
    int n = corpus_list(&a, paths, MOST_CASES), compiled = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        Done done = { .n = 0 };
        const bool presets = strstr(paths[i], "/mask_runtime") != NULL;
        for (int which = CHOSEN; which <= (all ? NAIVE : CHOSEN) && (all || is_taken(paths[i], i));
             which++, compiled++)
            failed += !compile_case(d, paths[i], which, &a, &done);
        for (int k = 0; presets && tess_preset((size_t)k); k++)
            if (corpus_turn(i + k, TURNS_OF_PRESETS)) {
                failed += !compile_case(d, paths[i], k, &a, &done);
                compiled++;
            }
    }
    tessi_arena_dispose(&a);
    tessi_device_close(d);
    printf("%d texts, %d failed\n", compiled, failed);
    return failed || !compiled;
}
