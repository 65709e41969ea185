/* Random programs: what the interpreter of the graph computes, the interpreter of the loops (with the plan chosen
 * and with random plans) and generated C compute too, bit for bit. TESSERA_SEED=n starts at another seed (it is
 * printed), TESSERA_COUNT=n runs another number of programs, TESSERA_STRICT=1 under --fp=strict; TESSERA_EVERY=n
 * compiles every nth (10), every fourth of those with a random plan too, and TESSERA_TARGET=opencl or cuda compiles
 * for a device instead of C. A program that fails is shrunk and printed. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/passes.h"
#include "api/api.h"
#include "plan/plan.h"
#include "prop/generate.h"
#include "support.h"
#include "tessera.h"

/* Random plans have tiny tiles with wide halos, which the loop interpreter walks slowly. */
enum {
    PROGRAMS = 400,
    EVERY_C = 10,
    EVERY_PLAN = 10,
    PLANS_C = 4,
    TEXT_SIZE = 1 << 18,
    SHRINK_BUDGET = 1500
};

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */
/* What programs are compiled for: C, or the device that TESSERA_TARGET names. */
static tess_target compiled_target(void)
{
    const char *name = getenv("TESSERA_TARGET");
    return !name || !*name               ? TESS_TARGET_C
           : strcmp(name, "opencl") == 0 ? TESS_TARGET_OPENCL
                                         : TESS_TARGET_CUDA;
}

static int type_bytes(DLDataType t)
{
    return t.bits / 8;
}

/* Half precision bits of a small whole number or a special value; enough for test data. */
static uint16_t half_bits(double v)
{
    if (isnan(v))
        return 0x7e00;
    if (isinf(v))
        return v > 0 ? 0x7c00 : 0xfc00;
    if (v == 0)
        return 0;
    int e;
    double m = frexp(fabs(v), &e); /* m in 0.5..1 */
    return (uint16_t)((v < 0 ? 0x8000 : 0) | ((e + 14) << 10) | ((int)(m * 2048) & 0x3ff));
}

static void random_element(uint64_t *rng, DLDataType t, unsigned char *at)
{
    uint64_t r = gen_next(rng);
    if (t.code == kDLBool) {
        *at = r & 1;
    } else if (t.code == kDLFloat) {
        static const double special[] = { NAN, INFINITY, -INFINITY, -0.0, 1e-3, 32768.0 };
        double v =
            gen_chance(rng, 4) ? special[gen_below(rng, 6)] : gen_between(rng, -400, 1000) / 4.0;
        float f = (float)v;
        uint16_t h = half_bits(v);
        memcpy(at,
               t.bits == 64   ? (void *)&v
               : t.bits == 32 ? (void *)&f
                              : (void *)&h,
               (size_t)type_bytes(t));
    } else {
        int64_t small = gen_between(rng, t.code == kDLUInt ? 0 : -20, 40);
        memcpy(at, gen_chance(rng, 50) ? (void *)&r : (void *)&small, (size_t)type_bytes(t));
    }
}

typedef struct Tensor {
    DLTensor dl;
    int64_t shape[GEN_DIMS + 1];
} Tensor;

/* Random data for input `index`. Pixels of mixed types travel as bytes. */
static bool make_input(const GenProgram *p, const tess_info *info, int index, Tensor *t)
{
    const GenImage *image = &p->image[index];
    uint64_t rng = p->seed * 31 + (uint64_t)index;
    size_t points = 1, pixel = 0;
    bool mixed = false;
    for (int d = 0; d < image->n_dims; d++) {
        t->shape[d] = image->size[d];
        points *= (size_t)image->size[d];
    }
    for (int c = 0; c < info->n_channels; c++) {
        pixel += (size_t)type_bytes(info->channel_types[c]);
        mixed |= memcmp(&info->channel_types[c], &info->channel_types[0], sizeof(DLDataType)) != 0;
    }
    unsigned char *data = malloc(points * pixel), *at = data;
    if (!data)
        return false;
    for (size_t i = 0; i < points; i++)
        for (int c = 0; c < info->n_channels; c++) {
            random_element(&rng, info->channel_types[c], at);
            at += type_bytes(info->channel_types[c]);
        }
    t->dl = (DLTensor){ .data = data,
                        .device = { kDLCPU, 0 },
                        .ndim = image->n_dims,
                        .dtype = info->channel_types[0],
                        .shape = t->shape };
    if (info->is_struct)
        t->shape[t->dl.ndim++] = mixed ? (int64_t)pixel : info->n_channels;
    if (mixed)
        t->dl.dtype = (DLDataType){ kDLUInt, 8, 1 };
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */
typedef struct Run {
    tess_program *program;
    tess_args *args;
    Tensor input[GEN_INPUTS];
} Run;

static void run_free(Run *r)
{
    tess_args_free(r->args);
    tess_program_free(r->program);
    for (int i = 0; i < GEN_INPUTS; i++)
        free(r->input[i].dl.data);
    *r = (Run){ 0 };
}

/* Compiles and runs; on failure the reason (its first line counts as the kind of failure) goes to why. */
static bool run(const GenProgram *p, const char *text, tess_target target, const char *plan, Run *r,
                char *why, size_t n)
{
    tess_options o;
    tess_diags *diags = NULL;
    tess_options_init(&o);
    o.target = target;
    o.threads = 2;
    o.plan = plan;
    o.library = "";
    o.forma = p->forma;
    o.fp = setting("TESSERA_STRICT", 0) ? TESS_FP_STRICT : TESS_FP_DEFAULT;
    *r = (Run){ 0 };
    tess_status s = tess_compile(text, strlen(text), "random.tess", &o, &r->program, &diags);
    if (s != TESS_OK)
        snprintf(why, n, "rejected: %s", diags ? tess_diags_text(diags, 0) : tess_status_text(s));
    tess_diags_free(diags);
    if (s != TESS_OK)
        return false;
    s = tess_args_new(r->program, &r->args);
    int index = 0;
    for (size_t i = 0; s == TESS_OK && i < tess_program_inputs(r->program); i++) {
        tess_info info = { .struct_size = sizeof info };
        s = tess_program_input(r->program, i, &info);
        if (s != TESS_OK || (info.kind != TESS_IMAGE && info.kind != TESS_MASK))
            continue;
        sscanf(info.name, "in%d", &index);
        if (!make_input(p, &info, index, &r->input[index]))
            s = TESS_ERROR_MEMORY;
        else
            s = tess_args_image(r->args, info.name, &r->input[index].dl);
    }
    if (s == TESS_OK)
        s = tess_run(r->program, r->args, NULL);
    if (s != TESS_OK)
        snprintf(why, n, "run failed (%s) on target %d: %s%s", tess_status_text(s), (int)target,
                 r->args ? tess_args_error(r->args) : "", tess_program_error(r->program));
    return s == TESS_OK;
}

static bool element_is_nan(DLDataType t, const unsigned char *at)
{
    float f;
    double d;
    uint16_t h;
    if (t.code != kDLFloat)
        return false;
    if (t.bits == 16) {
        memcpy(&h, at, 2);
        return (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
    }
    if (t.bits == 32) {
        memcpy(&f, at, 4);
        return isnan(f);
    }
    memcpy(&d, at, 8);
    return isnan(d);
}

static bool same_results(const Run *a, const Run *b, const char *name, char *why, size_t n)
{
    for (size_t i = 0; i < tess_program_outputs(a->program); i++) {
        const DLTensor *x, *y;
        tess_info info = { .struct_size = sizeof info };
        tess_program_output(a->program, i, &info);
        if (tess_args_result(a->args, i, &x) != TESS_OK
            || tess_args_result(b->args, i, &y) != TESS_OK) {
            snprintf(why, n, "%s: no result %zu", name, i);
            return false;
        }
        size_t points = 1;
        bool shape = x->ndim == y->ndim;
        for (int d = 0; shape && d < x->ndim; d++) {
            shape = x->shape[d] == y->shape[d];
            if (d < info.ndim)
                points *= (size_t)x->shape[d];
        }
        if (!shape) {
            snprintf(why, n, "%s: result %zu has another shape", name, i);
            return false;
        }
        const unsigned char *p = (const unsigned char *)x->data + x->byte_offset;
        const unsigned char *q = (const unsigned char *)y->data + y->byte_offset;
        for (size_t k = 0; k < points; k++)
            for (int c = 0; c < info.n_channels; c++) {
                DLDataType t = info.channel_types[c];
                size_t size = (size_t)type_bytes(t);
                if (memcmp(p, q, size) != 0 && !(element_is_nan(t, p) && element_is_nan(t, q))) {
                    snprintf(why, n, "%s: result %zu differs\n  at point %zu, channel %d", name, i,
                             k, c);
                    return false;
                }
                p += size;
                q += size;
            }
    }
    return true;
}

/* What a program is compared with. */
typedef struct Trial {
    bool with_c, plans_with_c;
    int n_plans; /* random plans, each for loops, and for C with plans_with_c */
} Trial;

/* A random plan for the program that has run; owned by the caller. */
static char *random_plan(const Run *r, uint64_t seed, bool gpu)
{
    Arena a;
    support_arena_init(&a);
    Text text = tessi_text_new(&a);
    Machine *m = tessi_machine_default(&a);
    if (gpu)
        m->target = "gpu";
    Graph *g = r->program->variants->graph;
    g = gpu ? g : tessi_graph_for_processors(g, &a);
    tessi_plan_print(tessi_plan_random(&a, g, m, seed), g, &text);
    char *copy = strdup(tessi_text_str(&text));
    tessi_arena_dispose(&a);
    return copy;
}

static bool compare(const GenProgram *p, const char *text, const Run *meaning, tess_target target,
                    const char *plan, char *why, size_t n)
{
    char name[40];
    Run other;
    snprintf(name, sizeof name, "%s%s",
             target == TESS_TARGET_LOOPS ? "loops"
             : target == TESS_TARGET_VM  ? "strips"
                                         : "compiled",
             plan ? " with a random plan" : "");
    bool ok =
        run(p, text, target, plan, &other, why, n) && same_results(meaning, &other, name, why, n);
    run_free(&other);
    return ok;
}

/* A division by what turns out a constant zero, such as the variable of a window of one point; steps along an image
 * that a policy has left with points that are not valid. The original dialect has no arithmetic of whole pixels, tables
 * of other dimensions than the image, histograms, nor fills of another type. */
static bool refused_with_right(const GenProgram *p, const char *why)
{
    static const char *const there[] = { "whole pixels", "a whole struct", "'histogram'",
                                         "error[E0403]", "error[E0420]" };
    bool right = strstr(why, "error[E0311]") || strstr(why, "error[E0517]");
    for (size_t i = 0; p->forma && i < sizeof there / sizeof *there; i++)
        right = right || strstr(why, there[i]);
    return right;
}

/* The whole comparison of one program; false with the reason. */
static bool agrees(const GenProgram *p, Trial trial, char *why, size_t n)
{
    static char text[TEXT_SIZE];
    Run meaning;
    if (!gen_print(p, text, sizeof text)) {
        snprintf(why, n, "too long");
        return false;
    }
    bool ok = run(p, text, TESS_TARGET_INTERP, NULL, &meaning, why, n);
    if (!ok && refused_with_right(p, why)) {
        run_free(&meaning);
        return true;
    }
    ok = ok && compare(p, text, &meaning, TESS_TARGET_LOOPS, NULL, why, n)
         && compare(p, text, &meaning, TESS_TARGET_VM, NULL, why, n)
         && (!trial.with_c || compare(p, text, &meaning, compiled_target(), NULL, why, n));
    for (int i = 0; ok && i < trial.n_plans; i++) {
        /* In turn for kernels and for a CPU. */
        const bool gpu = (p->seed + (uint64_t)i) % 2,
                   compiles = gpu == (compiled_target() != TESS_TARGET_C);
        char *plan = random_plan(&meaning, p->seed + (uint64_t)i, gpu);
        ok = compare(p, text, &meaning, TESS_TARGET_LOOPS, plan, why, n)
             && (gpu || compare(p, text, &meaning, TESS_TARGET_VM, plan, why, n))
             && (!trial.plans_with_c || !compiles
                 || compare(p, text, &meaning, compiled_target(), plan, why, n));
        if (!ok && getenv("TESSERA_SHOW_PLAN"))
            fprintf(stderr, "%s\n", plan);
        free(plan);
    }
    run_free(&meaning);
    return ok;
}

/* ---- Shrinking ------------------------------------------------------------------------------- */
typedef struct Fault {
    char kind[200];
    Trial trial;
} Fault;

static void fault_kind(const char *why, char *kind, size_t n)
{
    snprintf(kind, n, "%.*s", (int)strcspn(why, "\n0123456789"), why);
    const char *code =
        strstr(why, "E0"); /* a rejection counts as the same only with the same code */
    if (code)
        snprintf(kind + strlen(kind), n - strlen(kind), " %.5s", code);
}

static bool still_fails(const GenProgram *p, void *user)
{
    const Fault *fault = user;
    char why[4000] = "", kind[200];
    if (agrees(p, fault->trial, why, sizeof why))
        return false;
    fault_kind(why, kind, sizeof kind);
    return strcmp(kind, fault->kind) == 0;
}

static void report(const GenProgram *failing, Trial trial, const char *why)
{
    static GenProgram p;
    static char text[TEXT_SIZE];
    Fault fault = { .trial = trial };
    char now[4000] = "";
    fault_kind(why, fault.kind, sizeof fault.kind);
    if (strstr(why, "random plan"))
        fault.trial.n_plans = 4; /* the smaller program has other plans */
    p = *failing;
    gen_shrink(&p, still_fails, &fault, SHRINK_BUDGET);
    gen_print(&p, text, sizeof text);
    agrees(&p, fault.trial, now, sizeof now);
    fprintf(stderr, "\nTESSERA_SEED=%llu: %s\nShrunk to (sizes", (unsigned long long)p.seed, now);
    for (int i = 0; i < p.n_params; i++)
        fprintf(stderr, " P%d=%d", i, p.param[i]);
    fprintf(stderr, "):\n%s\n", text);
}

/* ---- The test -------------------------------------------------------------------------------- */
static volatile sig_atomic_t current; /* number of the program that runs, for the last words */

static void last_words(int number)
{
    char line[64];
    int n = snprintf(line, sizeof line, "signal %d in program %d\n", number, (int)current);
    ssize_t ignored = write(2, line, (size_t)n);
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void test_random_programs(void **state)
{
    (void)state;
    static GenProgram p;
    static char why[4000];
    uint64_t seed = setting("TESSERA_SEED", 20240611), count = setting("TESSERA_COUNT", PROGRAMS);
    const uint64_t every = setting("TESSERA_EVERY", EVERY_C);
    int failures = 0;
    fprintf(stderr, "TESSERA_SEED=%llu, %llu programs\n", (unsigned long long)seed,
            (unsigned long long)count);
    signal(SIGSEGV, last_words);
    signal(SIGABRT, last_words);
    for (uint64_t i = 0; i < count && failures < 3; i++) {
        current = (sig_atomic_t)i;
        gen_program(&p, seed + i);
        const Trial trial = { .with_c = i % every == 0,
                              .plans_with_c = i % (PLANS_C * every) == 0,
                              .n_plans = i % EVERY_PLAN == 0 ? 2 : 0 };
        if (!agrees(&p, trial, why, sizeof why)) {
            failures++;
            report(&p, trial, why);
        }
    }
    assert_int_equal(failures, 0);
}

/* The shrinker must keep what it is asked to keep, and get rid of the rest. */
static bool has_wrap_median(const GenProgram *p, void *user)
{
    static char text[TEXT_SIZE];
    (void)user;
    gen_print(p, text, sizeof text);
    return strstr(text, "median") && strstr(text, "wrap");
}
static void test_shrinker(void **state)
{
    (void)state;
    static GenProgram p, small;
    static char text[TEXT_SIZE];
    int found = 0;
    for (uint64_t seed = 1; seed < 3000 && found < 20; seed++) {
        gen_program(&p, seed);
        if (!has_wrap_median(&p, NULL))
            continue;
        found++;
        small = p;
        gen_shrink(&small, has_wrap_median, NULL, SHRINK_BUDGET);
        assert_true(has_wrap_median(&small, NULL));
        assert_true(gen_analyze(&small));
        gen_print(&small, text, sizeof text);
        assert_true(strlen(text) < 700);
    }
    assert_int_equal(found, 20);
}

/* A seed gives the same program every time, and every program is valid. */
static void test_generator(void **state)
{
    (void)state;
    static GenProgram p, q;
    static char first[TEXT_SIZE], second[TEXT_SIZE];
    static const char *const forms[] = { "[=",          ", =",      "any x",       "rank(",
                                         "percentile(", "so * 0.5", "max(so, it)", "cumulate(",
                                         "argmin(",     "std(" };
    enum { FORMS = sizeof forms / sizeof *forms };
    int konst = 0, computed = 0, forma = 0, literal = 0, chains = 0, longest = 0,
        met[FORMS] = { 0 };
    for (uint64_t seed = 0; seed < 400; seed++) {
        gen_program(&p, seed);
        gen_program(&q, seed);
        assert_true(gen_analyze(&p));
        assert_true(gen_print(&p, first, sizeof first));
        assert_true(gen_print(&q, second, sizeof second));
        assert_string_equal(first, second);
        konst += strstr(first, "const int k") != NULL;
        computed += strstr(first, "mask m[i0 = ") != NULL;
        for (int i = 0; i < FORMS; i++)
            met[i] += strstr(first, forms[i]) != NULL;
        forma += p.forma;
        literal += strstr(first, "parameter ") == NULL;
        for (int k = 0; k < p.n_stages; k++) {
            const int times = p.stage[k].repeat == REPEAT_FOR ? p.stage[k].times : 0;
            chains += times >= 20;
            longest = times > longest ? times : longest;
        }
    }
    assert_true(konst > 20 && computed > 5 && forma > 20);
    for (int i = 0; i < FORMS; i++)
        assert_true(met[i] > 0);
    assert_true(literal > 120 && chains > 2 && longest > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generator),
        cmocka_unit_test(test_shrinker),
        cmocka_unit_test(test_random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
