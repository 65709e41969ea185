/* Images whose rows lie on several devices (tess_shares): one device that is named three times has the bits of one run
 * over the whole, in one run, in turns of which each reads what the one before has left, and in rounds of turns that
 * the library makes. */
#include "gpu/gpu_test.h"

static tess_program *compile(const char *text, int n_devices)
{
    tess_options o;
    tess_options_init(&o);
    o.target = gpu_target();
    o.cache = gpu_cache();
    o.n_devices = n_devices;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    if (tess_compile(text, strlen(text), "test.tess", &o, &p, &d) != TESS_OK)
        FAIL("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static DLTensor *image(const char *what)
{
    DLTensor *t = NULL;
    char error[200] = "";
    if (tess_image_read(what, NULL, &t, error, sizeof error) != TESS_OK)
        FAIL("%s", error);
    return t;
}

static tess_args *args_for(tess_program *p, const DLTensor *in)
{
    tess_args *a = NULL;
    EXPECT(tess_args_new(p, &a) == TESS_OK);
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    return a;
}

static size_t row_bytes(const DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8u;
    for (int d = 1; d < t->ndim; d++)
        bytes *= (size_t)t->shape[d];
    return bytes;
}

/* `like` is a share of the whole image `t`: these rows of it. */
static DLTensor rows_of(const DLTensor *t, const DLTensor *like, int64_t first)
{
    DLTensor rows = *t;
    rows.shape = like->shape;
    rows.strides = NULL;
    rows.data = (char *)t->data + (size_t)first * row_bytes(t);
    return rows;
}

static void scatter(tess_shares *s, const DLTensor *in)
{
    for (int i = 0; i < tess_shares_count(s); i++) {
        const DLTensor *share;
        int64_t first;
        EXPECT(tess_share_input(s, i, "a", &share, &first) == TESS_OK);
        if (!share)
            continue;
        const DLTensor rows = rows_of(in, share, first);
        if (tess_share_copy(s, i, &rows, share) != TESS_OK)
            FAIL("%s", tess_shares_error(s));
    }
}

/* What the shares have of a result, beside the one of a run over the whole; `grown`: its rows are shared out. */
static void compare(tess_shares *s, size_t output, const DLTensor *want, bool grown)
{
    int64_t n = 0;
    for (int i = 0; i < tess_shares_count(s); i++) {
        const DLTensor *share;
        int64_t first;
        EXPECT(tess_share_result(s, i, output, &share, &first) == TESS_OK);
        if (!share)
            continue;
        EXPECT(first == (grown ? n : 0));
        n = first + share->shape[0];
        DLTensor *got = tess_image_new(want->dtype, want->ndim, share->shape);
        if (tess_share_copy(s, i, share, got) != TESS_OK)
            FAIL("%s", tess_shares_error(s));
        const DLTensor rows = rows_of(want, share, first);
        const char *at = (const char *)rows.data + rows.byte_offset;
        EXPECT(memcmp(got->data, at, (size_t)share->shape[0] * row_bytes(want)) == 0);
        tess_image_free(got);
    }
    EXPECT(n == want->shape[0]);
}

static tess_shares *share(tess_program *p, const DLTensor *in)
{
    tess_args *a = NULL;
    tess_shares *s = NULL;
    EXPECT(tess_args_new(p, &a) == TESS_OK && tess_args_shape(a, "a", in) == TESS_OK);
    if (tess_shares_new(p, a, &s) != TESS_OK)
        FAIL("%s", tess_shares_error(s));
    tess_args_free(a);
    return s;
}

static void run(tess_shares *s)
{
    if (tess_shares_run(s) != TESS_OK)
        FAIL("%s", tess_shares_error(s));
}

/* Two runs over shares of the image against the results of one device. */
static void test_shares(tess_program *many, const DLTensor *in, tess_args *a, int outputs,
                        int grown)
{
    tess_shares *s = share(many, in);
    scatter(s, in);
    for (int k = 0; k < 2; k++) {
        run(s);
        EXPECT(tess_shares_wait(s) == TESS_OK);
        for (int o = 0; o < outputs; o++) {
            const DLTensor *want;
            EXPECT(tess_args_result(a, (size_t)o, &want) == TESS_OK);
            compare(s, (size_t)o, want, o < grown);
        }
    }
    tess_shares_free(s);
}

static void test_text(const char *text, const char *what, int outputs, int grown)
{
    DLTensor *in = image(what);
    tess_program *one = compile(text, 0), *many = compile(text, 3);
    tess_args *a = args_for(one, in);
    EXPECT(tess_run(one, a, NULL) == TESS_OK);
    test_shares(many, in, a, outputs, grown);
    tess_args_free(a);
    tess_program_free(one);
    tess_program_free(many);
    tess_image_free(in);
}

#define STEP                                                               \
    "stencil f(vector#2 float A) { return A@[-1, 0] + 0.2 * A@[1, 0]; }\n" \
    "parameter M, N;\nvector#2 float a[M, N];\n"

/* Turns by the caller, each of two turns of a loop: rows are exchanged every other turn. */
static void test_turns(void)
{
    static const char all[] = STEP "t<0> = a;\nfor i = 1..6\n    t<i> = f(t<i-1>:mirror);\nendfor\n"
                                   "return t<6>;\n";
    static const char some[] =
        STEP "t<0> = a;\nfor i = 1..2\n    t<i> = f(t<i-1>:mirror);\nendfor\n"
             "return t<2>;\n";
    DLTensor *in = image("random:2:50x40");
    tess_program *one = compile(all, 0), *many = compile(some, 3);
    tess_args *a = args_for(one, in);
    const DLTensor *want;
    EXPECT(tess_run(one, a, NULL) == TESS_OK && tess_args_result(a, 0, &want) == TESS_OK);
    tess_shares *s = share(many, in);
    scatter(s, in);
    for (int k = 0; k < 3; k++) {
        run(s);
        EXPECT(k == 2 || tess_shares_swap(s, 0, "a") == TESS_OK);
    }
    compare(s, 0, want, true);
    tess_shares_free(s);
    tess_args_free(a);
    tess_program_free(one);
    tess_program_free(many);
    tess_image_free(in);
}

/* The same by a run over images of the host, whose rows are shared out and come back. */
static void test_host(tess_program *many, const DLTensor *in, tess_args *one, int outputs)
{
    tess_args *a = args_for(many, in);
    for (int k = 0; k < 2; k++) {
        if (tess_run(many, a, NULL) != TESS_OK)
            FAIL("%s", tess_args_error(a));
        for (int o = 0; o < outputs; o++) {
            const DLTensor *got, *want;
            EXPECT(tess_args_result(a, (size_t)o, &got) == TESS_OK);
            EXPECT(tess_args_result(one, (size_t)o, &want) == TESS_OK);
            EXPECT(memcmp(got->data, want->data, (size_t)want->shape[0] * row_bytes(want)) == 0);
        }
    }
    tess_args_free(a);
}

/* A loop whose turns together reach further than a share: rounds of turns, between which rows are exchanged. */
static void test_rounds(const char *text, const char *what, int outputs, int grown, size_t least)
{
    DLTensor *in = image(what);
    tess_program *one = compile(text, 0), *many = compile(text, 3);
    tess_args *a = args_for(one, in);
    tess_rounds *rounds = NULL;
    EXPECT(tess_run(one, a, NULL) == TESS_OK);
    if (tess_rounds_new(one, a, 1, &rounds) != TESS_OK)
        FAIL("%s: %s", text, tess_rounds_error(rounds));
    EXPECT(tess_rounds_count(rounds) >= least);
    tess_rounds_free(rounds);
    test_shares(many, in, a, outputs, grown);
    test_host(many, in, a, outputs);
    tess_args_free(a);
    tess_program_free(one);
    tess_program_free(many);
    tess_image_free(in);
}

#define LOOP(rule) "t<0> = a;\nfor i = 1..n\n    t<i> = f(t<i-1>:" rule ");\nendfor\n"
static void test_all_rounds(void)
{
    static const char mean[] =
        "stencil f(vector#2 float A) { return 0.25 * (A@[-1, 0] + A@[1, 0] + "
        "A@[0, -1] + A@[0, 1]); }\n"
        "parameter M, N;\nint n = 23;\nvector#2 float a[M, N];\n";
    static const char *const loops[] = {
        LOOP("mirror") "return t<n>;\n",
        LOOP("wrap") "return t<n>, mean(t<n>);\n",
        "t<0> = 2 * a + 1;\nfor i = 1..n\n    t<i> = f(t<i-1>:nearest) + 0.1 * a;\nendfor\n"
        "return t<n> - f(a:nearest), t<n>@[(0, 2), (0, 2)];\n",
        "t<0> = a;\nt<1> = f(a:mirror);\nfor i = 2..n\n"
        "    t<i> = 1.5 * f(t<i-1>:mirror) - 0.5 * t<i-2>;\nendfor\nreturn t<n>;\n",
        "t<0> = a;\nfor i = 1..n until maximum(abs(t<i> - t<i-1>)) < 0.2 every 2\n"
        "    t<i> = f(t<i-1>:mirror);\nendfor\nreturn t<n>, turns(t);\n",
    };
    static const int outputs[] = { 1, 2, 2, 1, 2 }, grown[] = { 1, 1, 2, 1, 1 };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s", mean, loops[i]);
        test_rounds(text, i % 2 ? "random:5:50x40" : "random:5:150x17", outputs[i], grown[i], 2);
        if (i == 2 || i == 3) /* so many turns in a round that it has a loop of its own */
            test_rounds(text, "random:5:450x9", outputs[i], grown[i], 2);
        if (i == 0) /* two rows of a share, and turns that reach further */
            test_rounds(text, "random:5:7x11", outputs[i], grown[i], 2);
    }
}

static void test_refused(void)
{
    static const char turned[] = "stencil f(vector#2 float A, vector#2 float B) { return A[size(A, "
                                 "0) - 1 - index(0), 0] + B; }\n"
                                 "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a, a);\n";
    DLTensor *in = image("random:2:50x40");
    tess_program *p = compile(turned, 2);
    tess_args *a = args_for(p, in);
    tess_shares *s = NULL;
    EXPECT(tess_shares_new(p, a, &s) == TESS_ERROR_UNSUPPORTED);
    EXPECT(strstr(tess_shares_error(s), "the rows cannot be shared out: 'output'"));
    tess_shares_free(s);
    tess_args_free(a);
    tess_program_free(p);
    p = compile("parameter M, N;\nvector#2 float a[M, N];\nreturn a@[(0, 2), (0, 1)];\n", 2);
    s = share(p, in);
    EXPECT(tess_shares_swap(s, 0, "a") == TESS_ERROR_ARGUMENT);
    EXPECT(strstr(tess_shares_error(s), "have not one size and type"));
    tess_shares_free(s);
    tess_program_free(p);
    tess_image_free(in);
}

int main(void)
{
    compile_quickly();
    Device *device = need_gpu();
    test_text("stencil f(vector#2 float a) { return a@[-2, 0] + a@[1, 1] + index(0); }\n"
              "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a:wrap);\n",
              "random:3:101x30", 1, 1);
    test_text("stencil f(vector#2 float a) { return a@[-2, 0] + a@[1, 1] + index(0); }\n"
              "parameter M, N;\nvector#2 float a[M, N];\nb = f(a:mirror);\n"
              "return b, b@[(0, 2), (0, 2)];\n",
              "random:3:101x30", 2, 2);
    test_text("stencil f(vector#2 float a, float top) { return a - top; }\n"
              "parameter M, N;\nvector#2 float a[M, N];\ntop = maximum(a);\n"
              "return f(a, top), mean(a);\n",
              "random:3:2x30", 2, 1);
    test_turns();
    test_all_rounds();
    test_refused();
    tessi_device_close(device);
    printf("6 tests passed\n");
    return 0;
}
