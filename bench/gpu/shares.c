/* What two devices gain: runs on images whose rows lie on one device or are shared by several, and on images of the
 * host. `shares [N_DEVICES [SIZE ...]]` prints a line for each program and size: milliseconds of one device (where a
 * run has all turns, one without shares) and of all, how many times faster, and whether the bits are the same. With
 * ONE_DEVICE set one device is named N_DEVICES times, with OPENCL it is one of OpenCL. Build: cc -O2 shares.c -Iinclude
 * -ltessera. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stdbool.h>

#include "tessera.h"

#define HEAD "parameter M, N;\nvector#2 float a[M, N];\n"
#define STEP                                                                              \
    "stencil f(vector#2 float A) { return A + 0.2 * (A@[-1, 0] + A@[1, 0] + A@[0, -1] + " \
    "A@[0, 1] - 4 * A); }\n" HEAD

typedef struct Work {
    const char *name, *text;
    bool whole_loop; /* in one run, which devices divide into rounds */
    int turns; /* runs, of which each reads what the one before has left; 0: the same run again */
} Work;
static const Work works[] = {
    { "blur",
      "stencil f(vector#2 float A) { return sum(i = -2..2, j = -2..2 : A@[i, j]) / 25.0; }\n" HEAD
      "return f(a:mirror);\n",
      false, 0 },
    { "unsharp",
      "stencil f(vector#2 float A) { return sum(i = -3..3 : A@[i, 0]) / 7.0; }\n"
      "stencil g(vector#2 float A) { return sum(j = -3..3 : A@[0, j]) / 7.0; }\n"
      "stencil h(vector#2 float A, vector#2 float B) { return A + 0.8 * (A - B); }\n" HEAD
      "return h(a, g(f(a:mirror):mirror));\n",
      false, 0 },
    { "heat, 1 turn a pass", STEP "return f(a:mirror);\n", false, 8 },
    { "heat, 8 turns a pass",
      STEP "t<0> = a;\nfor i = 1..8\n    t<i> = f(t<i-1>:mirror);\nendfor\nreturn t<8>;\n", false,
      8 },
    { "heat, 64 turns in rounds",
      STEP "t<0> = a;\nfor i = 1..64\n    t<i> = f(t<i-1>:mirror);\nendfor\nreturn t<64>;\n", true,
      0 },
    { "mean",
      "stencil f(vector#2 float A, float m) { return A - m; }\n" HEAD "return f(a, mean(a));\n",
      false, 0 },
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static tess_program *compile(const char *text, int n)
{
    tess_options o;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    tess_options_init(&o);
    o.target = getenv("OPENCL") ? TESS_TARGET_OPENCL : TESS_TARGET_CUDA;
    o.n_devices = n;
    for (int i = 0; i < n; i++)
        o.devices[i] = getenv("ONE_DEVICE") ? 0 : i;
    if (tess_compile(text, strlen(text), "shares", &o, &p, &d) != TESS_OK)
        fail(tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static DLTensor rows_of(const DLTensor *whole, const DLTensor *like, int64_t first)
{
    DLTensor rows = *whole;
    rows.shape = like->shape;
    rows.strides = NULL;
    rows.data = (char *)whole->data + (size_t)(first * whole->shape[1]) * sizeof(float);
    return rows;
}

/* Milliseconds of a run over images on the devices; the result goes to `out`. */
static double on_devices(const Work *w, int n, const DLTensor *in, const DLTensor *out, int runs)
{
    tess_program *p = compile(w->text, n);
    tess_args *a = NULL;
    tess_shares *s = NULL;
    if (tess_args_new(p, &a) != TESS_OK || tess_args_shape(a, "a", in) != TESS_OK
        || tess_shares_new(p, a, &s) != TESS_OK)
        fail(s ? tess_shares_error(s) : "no arguments");
    double best = 1e30;
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < tess_shares_count(s) && (k == 0 || w->turns); i++) {
            const DLTensor *to;
            int64_t first;
            tess_share_input(s, i, "a", &to, &first);
            const DLTensor from = rows_of(in, to, first);
            if (tess_share_copy(s, i, &from, to) != TESS_OK)
                fail(tess_shares_error(s));
        }
        const int turns = w->turns ? w->turns : runs;
        const double start = now_ms();
        for (int t = 0; t < turns; t++)
            if (tess_shares_run(s) != TESS_OK
                || (w->turns && t + 1 < turns && tess_shares_swap(s, 0, "a") != TESS_OK))
                fail(tess_shares_error(s));
        if (tess_shares_wait(s) != TESS_OK)
            fail(tess_shares_error(s));
        const double ms = (now_ms() - start) / turns;
        best = k > 0 && ms < best ? ms : best; /* the first one compiles */
    }
    for (int i = 0; i < tess_shares_count(s); i++) {
        const DLTensor *from;
        int64_t first;
        tess_share_result(s, i, 0, &from, &first);
        const DLTensor to = rows_of(out, from, first);
        if (tess_share_copy(s, i, from, &to) != TESS_OK)
            fail(tess_shares_error(s));
    }
    tess_shares_free(s);
    tess_args_free(a);
    tess_program_free(p);
    return best;
}

/* The same on one device: a run over images in its memory, as it is without shares. */
static double on_one(const Work *w, const DLTensor *in, const DLTensor *out, int runs)
{
    tess_program *p = compile(w->text, 0);
    tess_args *a = NULL;
    DLTensor *from, *to;
    if (tess_args_new(p, &a) != TESS_OK
        || tess_device_image(p, in->dtype, in->ndim, in->shape, &from) != TESS_OK
        || tess_device_image(p, in->dtype, in->ndim, in->shape, &to) != TESS_OK
        || tess_image_copy(p, in, from) != TESS_OK || tess_args_image(a, "a", from) != TESS_OK
        || tess_args_output(a, 0, to) != TESS_OK)
        fail(tess_program_error(p));
    double best = 1e30;
    for (int k = 0; k < 4; k++) {
        const double start = now_ms();
        for (int t = 0; t < runs; t++)
            if (tess_run(p, a, NULL) != TESS_OK)
                fail(tess_args_error(a));
        if (tess_image_copy(p, to, out) != TESS_OK) /* which waits */
            fail(tess_program_error(p));
        const double copied = now_ms();
        if (tess_image_copy(p, to, out) != TESS_OK)
            fail(tess_program_error(p));
        const double ms = (copied - start - (now_ms() - copied)) / runs;
        best = k > 0 && ms < best ? ms : best; /* the first one compiles */
    }
    tess_image_free(from);
    tess_image_free(to);
    tess_args_free(a);
    tess_program_free(p);
    return best;
}

/* The same over images of the host. */
static double on_host(const Work *w, int n, const DLTensor *in, const DLTensor *out)
{
    tess_program *p = compile(w->text, n);
    tess_args *a = NULL;
    if (tess_args_new(p, &a) != TESS_OK || tess_args_image(a, "a", in) != TESS_OK
        || tess_args_output(a, 0, out) != TESS_OK)
        fail(tess_args_error(a));
    double best = 1e30;
    for (int k = 0; k < 4; k++) {
        const double start = now_ms();
        if (tess_run(p, a, NULL) != TESS_OK)
            fail(tess_args_error(a));
        const double ms = now_ms() - start;
        best = k > 0 && ms < best ? ms : best;
    }
    tess_args_free(a);
    tess_program_free(p);
    return best;
}

static DLTensor *image(int64_t size)
{
    int64_t shape[2] = { size, size };
    DLTensor *t = tess_image_new((DLDataType){ kDLFloat, 32, 1 }, 2, shape);
    if (!t)
        fail("out of memory");
    float *at = t->data;
    for (int64_t i = 0; i < size * size; i++)
        at[i] = (float)((uint32_t)i * 2654435761u >> 20) * 0.01f;
    return t;
}

static void measure(const Work *w, int n, const DLTensor *in, DLTensor *one, DLTensor *all)
{
    const int64_t size = in->shape[0];
    const size_t bytes = (size_t)(size * size) * sizeof(float);
    const double ms1 = w->whole_loop ? on_one(w, in, one, 20) : on_devices(w, 0, in, one, 20);
    const double msn = on_devices(w, n, in, all, 20);
    const bool same = memcmp(one->data, all->data, bytes) == 0;
    printf("%-24s %5lld  on devices %9.3f %9.3f ms  %.2f times  %s", w->name, (long long)size, ms1,
           msn, ms1 / msn, same ? "same" : "DIFFERS");
    if (!w->turns) {
        const double host1 = on_host(w, 0, in, all);
        const bool same1 = memcmp(one->data, all->data, bytes) == 0;
        const double hostn = on_host(w, n, in, all);
        const bool samen = memcmp(one->data, all->data, bytes) == 0;
        printf("  on the host %8.2f %8.2f ms, %.1f %.1f GB/s each way  %s", host1, hostn,
               1e-6 * (double)bytes / host1, 1e-6 * (double)bytes / hostn,
               same1 && samen ? "same" : "DIFFERS");
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2;
    static const char *const usual[] = { "8192", "16384", "32768" };
    const int sizes = argc > 2 ? argc - 2 : 3;
    for (int k = 0; k < sizes; k++) {
        const int64_t size = atoll(argc > 2 ? argv[2 + k] : usual[k]);
        DLTensor *in = image(size), *one = image(size), *all = image(size);
        for (size_t i = 0; i < sizeof works / sizeof *works; i++)
            measure(&works[i], n, in, one, all);
        tess_image_free(in);
        tess_image_free(one);
        tess_image_free(all);
    }
    return 0;
}
