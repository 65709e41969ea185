/* General kernels for masks of any extent: the pixels of the interpreter whatever the border rule, and what runs
 * while the kernels for the extent at hand are compiled, by a compiler that is made to wait, or to fail. Skips
 * without a device. */
#include <stdatomic.h>
#include <threads.h>

#include "api/gpu.h"
#include "gpu/gpu_test.h"
#include "rt/device_ops.h"
#include "support/general.h"

enum { FAR = 2000, MOST_WAITS = 60000 };

static tess_options options(tess_general general)
{
    tess_options o;
    tess_options_init(&o);
    o.target = gpu_target();
    o.general = general;
    o.cache = gpu_cache();
    return o;
}

static tess_program *compile(const char *rule, const char *body, const tess_options *o)
{
    tess_diags *d;
    tess_program *p = general_compile(rule, body, o, &d);
    if (!p)
        FAIL("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static tess_args *bind(tess_program *p, int64_t height, int64_t width, int64_t rows, int64_t cols,
                       float *to)
{
    tess_args *a = general_bind(p, height, width, rows, cols, to);
    EXPECT(a);
    return a;
}

/* A run with a mask of so many rows and columns; verified by the interpreter where asked. */
static void run(tess_program *p, int64_t height, int64_t width, int64_t rows, int64_t cols,
                float *to, bool verify)
{
    tess_args *a = bind(p, height, width, rows, cols, to);
    if (tess_run(p, a, NULL) != TESS_OK || (verify && tess_verify(p, a) != TESS_OK))
        FAIL("mask %dx%d: %s", (int)rows, (int)cols, tess_args_error(a));
    tess_args_free(a);
}

static void test_pixels(void)
{
    for (size_t r = 0; r < N_GENERAL_RULES; r++) {
        tess_options o = options(TESS_GENERAL_ALWAYS);
        o.fp = r % 3 ? TESS_FP_DEFAULT : TESS_FP_STRICT;
        tess_program *p = compile(general_rules[r], general_bodies[r % 2], &o);
        for (size_t k = 0; k < N_GENERAL_EXTENTS; k++) {
            run(p, HEIGHT, WIDTH, general_extents[k][0], general_extents[k][1], out, true);
            run(p, 1 + (int64_t)k, 7, general_extents[k][0], general_extents[k][1], out, true);
        }
        int n = 0;
        for (const Variant *v = p->variants; v; v = v->next)
            n += v->code && v->code->form & GPU_GENERAL;
        EXPECT(n == 1); /* compiled once, for the first of them that has a sum */
        tess_program_free(p);
    }
}

/* In strips, as images larger than the memory are. */
static void test_strips(void)
{
    static float large[FAR * MOST_MASK], there[FAR * MOST_MASK];
    int64_t size[2] = { FAR, MOST_MASK }, extent[2] = { 7, 5 };
    fill(large, FAR * MOST_MASK, 3);
    tess_options o = options(TESS_GENERAL_ALWAYS);
    o.device_bytes = 300000;
    tess_program *p = compile("mirror", "convolve(X, m)", &o);
    const DLTensor x = tensor(large, size), w = tensor(mask, extent), y = tensor(there, size);
    tess_args *a;
    tess_timing t = { .struct_size = sizeof t };
    EXPECT(tess_args_new(p, &a) == TESS_OK && tess_args_image(a, "X", &x) == TESS_OK
           && tess_args_image(a, "w", &w) == TESS_OK && tess_args_output(a, 0, &y) == TESS_OK);
    if (tess_run(p, a, NULL) != TESS_OK || tess_verify(p, a) != TESS_OK)
        FAIL("%s", tess_args_error(a));
    EXPECT(tess_args_timing(a, &t) == TESS_OK && t.strips > 1);
    tess_args_free(a);
    tess_program_free(p);
}

static void sleep_ms(long ms)
{
    thrd_sleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* ---- A compiler that waits for the gate, with kernels for one extent ------------------------- */
static DeviceOps real, gated;
static atomic_bool is_open, fails;
static atomic_int n_special;

static bool gated_build(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f)
{
    if (strstr(job->text, "for masks of any extent") || job->recall)
        return real.build(d, job, module, f);
    n_special++;
    for (int times = 0; !is_open; times++) {
        EXPECT(times < MOST_WAITS); /* nobody opens: a run waits for it */
        sleep_ms(1);
    }
    return fails ? tessi_failf(f, TESS_ERROR_COMPILER, "a fault that was put there")
                 : real.build(d, job, module, f);
}

static tess_program *compile_gated(tess_general general)
{
    const tess_options o = options(general);
    tess_program *p = compile("mirror", "convolve(X, m)", &o);
    Failure f;
    mtx_lock(&p->lock);
    GpuContext *c = tessi_gpu_default_context(p, &f);
    mtx_unlock(&p->lock);
    EXPECT(c);
    real = gated = *c->device->ops;
    gated.build = gated_build;
    c->device->ops = &gated;
    is_open = fails = false;
    n_special = 0;
    return p;
}

/* Whether kernels for the last extent that was run are there. */
static bool has_special(tess_program *p)
{
    bool has = false;
    mtx_lock(&p->lock);
    for (const GpuCode *code = p->variants->code; code; code = code->next)
        has = has || !(code->form & GPU_GENERAL);
    mtx_unlock(&p->lock);
    return has;
}

/* The first runs end before the kernels for their extent are there; the same arguments take these as soon as they
 * are. */
static void test_meanwhile(void)
{
    tess_program *p = compile_gated(TESS_GENERAL_MEANWHILE);
    for (int64_t k = 3; k <= 5; k += 2) {
        is_open = false;
        tess_args *a = bind(p, HEIGHT, WIDTH, k, k + 1, out);
        for (int times = 0; times < 3; times++)
            EXPECT(tess_run(p, a, NULL) == TESS_OK);
        EXPECT(!has_special(p));
        EXPECT(tess_verify(p, a) == TESS_OK);
        memcpy(wanted, out, sizeof out);
        is_open = true;
        for (int times = 0; times < 1000 && !has_special(p); times++) {
            sleep_ms(10);
            EXPECT(tess_run(p, a, NULL) == TESS_OK);
        }
        EXPECT(has_special(p) && n_special == (k - 1) / 2);
        memset(out, 0, sizeof out);
        for (int times = 0; times < 2; times++)
            EXPECT(tess_run(p, a, NULL) == TESS_OK);
        EXPECT(memcmp(out, wanted, sizeof out) == 0);
        tess_args_free(a);
    }
    tess_program_free(p);
}

/* A failure is that of the run which finds it, as it would be of one that waits; later ones try again. */
static void test_failure(void)
{
    char said[2][300];
    for (int waits = 0; waits < 2; waits++) {
        tess_program *p = compile_gated(waits ? TESS_GENERAL_NEVER : TESS_GENERAL_MEANWHILE);
        tess_args *a = bind(p, HEIGHT, WIDTH, 3, 3, out);
        is_open = fails = true;
        tess_status status = TESS_OK;
        for (int times = 0; times < 1000 && status == TESS_OK; times++) {
            status = tess_run(p, a, NULL);
            EXPECT(waits ? status != TESS_OK : times > 0 || status == TESS_OK);
            sleep_ms(status == TESS_OK ? 5 : 0);
        }
        EXPECT(status == TESS_ERROR_COMPILER);
        snprintf(said[waits], sizeof said[waits], "%s", tess_args_error(a));
        fails = false;
        for (int times = 0; times < 1000 && !has_special(p); times++) {
            EXPECT(tess_run(p, a, NULL) == TESS_OK);
            sleep_ms(5);
        }
        EXPECT(has_special(p) && n_special == 2 && tess_verify(p, a) == TESS_OK);
        tess_args_free(a);
        tess_program_free(p);
    }
    EXPECT(strcmp(said[0], said[1]) == 0);
}

static int open_later(void *user)
{
    (void)user;
    sleep_ms(50);
    is_open = true;
    return 0;
}

/* Programs and arguments may go in the middle of it; both wait for the thread that uses the device. */
static void test_free(void)
{
    tess_program *p = compile_gated(TESS_GENERAL_MEANWHILE);
    thrd_t thread;
    run(p, HEIGHT, WIDTH, 5, 5, out, false);
    run(p, HEIGHT, WIDTH, 7, 3, out, false);
    EXPECT(thrd_create(&thread, open_later, NULL) == thrd_success);
    tess_program_free(p);
    EXPECT(is_open && n_special == 2);
    thrd_join(thread, NULL);
}

static int run_often(void *user)
{
    float *to = malloc(sizeof out);
    for (int k = 0; to && k < 30; k++)
        run(user, HEIGHT, WIDTH, 2 + k % 2, 3, to, false);
    free(to);
    return 0;
}

static void test_threads(void)
{
    thrd_t thread[3];
    tess_program *p = compile_gated(TESS_GENERAL_MEANWHILE);
    is_open = true;
    for (int k = 0; k < 3; k++)
        EXPECT(thrd_create(&thread[k], run_often, p) == thrd_success);
    for (int k = 0; k < 3; k++)
        thrd_join(thread[k], NULL);
    EXPECT(n_special == 2);
    tess_program_free(p);
}

static void test_convolver(void)
{
    tess_convolver *c[2];
    int64_t size[2] = { HEIGHT, WIDTH };
    const DLTensor x = tensor(image, size);
    for (int g = 0; g < 2; g++) {
        const tess_options o = options(g ? TESS_GENERAL_MEANWHILE : TESS_GENERAL_NEVER);
        EXPECT(tess_convolver_new(&o, &c[g]) == TESS_OK);
        tess_convolver_vary(c[g], 1);
    }
    for (int64_t k = 1; k < 8; k += 3) {
        int64_t extent[2] = { k, 9 - k }, taps[2] = { k, k + 2 };
        const DLTensor w = tensor(mask, extent);
        DLTensor line[2] = { tensor(mask, &taps[0]), tensor(mask, &taps[1]) };
        line[0].ndim = line[1].ndim = 1;
        const DLTensor *const lines[2] = { &line[0], &line[1] };
        for (int separable = 0; separable < 2; separable++) {
            for (int g = 0; g < 2; g++) {
                const DLTensor y = tensor(g ? out : wanted, size);
                const tess_status s = separable
                                          ? tess_separable(c[g], &x, lines, 2, "mirror", &y, NULL)
                                          : tess_convolve(c[g], &x, &w, "mirror", &y, NULL);
                if (s != TESS_OK)
                    FAIL("%s", tess_convolver_error(c[g]));
            }
            EXPECT(memcmp(out, wanted, sizeof out) == 0);
        }
    }
    for (int g = 0; g < 2; g++)
        tess_convolver_free(c[g]);
}

int main(void)
{
    Device *d = need_gpu();
    general_fill();
    test_pixels();
    test_strips();
    test_meanwhile();
    test_failure();
    test_free();
    test_threads();
    test_convolver();
    tessi_device_close(d);
    return 0;
}
