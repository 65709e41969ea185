/* The public API on a device: tensors in device memory, streams and contexts of the caller, what
 * is kept between runs, images larger than the memory, threads. Skips without a device. */
#include <threads.h>

#include "gpu/gpu_test.h"

static int device_type(void)
{
    return gpu_device()->memory;
}

static tess_program *compile_as(tess_fp fp, const char *text, uint64_t device_bytes)
{
    tess_options o;
    tess_options_init(&o);
    o.fp = fp;
    o.target = gpu_target();
    o.cache = gpu_cache();
    o.device_bytes = device_bytes;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    if (tess_compile(text, strlen(text), "test.tess", &o, &p, &d) != TESS_OK)
        FAIL("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static tess_program *compile(const char *text, uint64_t device_bytes)
{
    return compile_as(TESS_FP_DEFAULT, text, device_bytes);
}

static tess_args *args_of(const tess_program *p)
{
    tess_args *a = NULL;
    EXPECT(tess_args_new(p, &a) == TESS_OK);
    return a;
}

static void run(tess_program *p, tess_args *a, void *stream)
{
    if (tess_run(p, a, stream) != TESS_OK)
        FAIL("%s", tess_args_error(a));
}

static void verify(tess_program *p, tess_args *a)
{
    if (tess_verify(p, a) != TESS_OK)
        FAIL("%s", tess_args_error(a));
}

static DLTensor *image(const char *what)
{
    DLTensor *t = NULL;
    char error[200] = "";
    if (tess_image_read(what, NULL, &t, error, sizeof error) != TESS_OK)
        FAIL("%s", error);
    return t;
}

static const char blur_text[] =
    "stencil f(vector#2 float a, float s) { return s * (a@[-1, 0] + 2 * a + a@[1, 0]); }\n"
    "stencil g(vector#2 float a, float s) { return s * (a@[0, -1] + 2 * a + a@[0, 1]); }\n"
    "parameter M, N;\n"
    "vector#2 float a[M, N];\n"
    "float s = 0.25;\n"
    "b = f(a:mirror, s);\n"
    "return g(b:clamp, s);\n";

/* Device in, device out, the same arguments again and again, then another number. */
static void test_device_images(void)
{
    tess_program *p = compile(blur_text, 0);
    tess_args *a = args_of(p);
    DLTensor *host = image("random:1:37x53"), *in = NULL, *out = NULL;
    EXPECT(tess_device_image(p, host->dtype, 2, host->shape, &in) == TESS_OK);
    EXPECT(tess_device_image(p, host->dtype, 2, host->shape, &out) == TESS_OK);
    EXPECT(in->device.device_type == device_type());
    EXPECT(tess_image_copy(p, host, in) == TESS_OK);
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    EXPECT(tess_args_output(a, 0, out) == TESS_OK);
    for (int i = 0; i < 4; i++)
        run(p, a, NULL);
    verify(p, a);
    EXPECT(tess_args_scalar(a, "s", 0.5) == TESS_OK);
    run(p, a, NULL);
    verify(p, a);
    /* A result on the host from the same device image. */
    EXPECT(tess_args_output(a, 0, NULL) == TESS_OK);
    run(p, a, NULL);
    verify(p, a);
    tess_timing t = { .struct_size = sizeof t };
    EXPECT(tess_args_timing(a, &t) == TESS_OK);
    EXPECT(strcmp(t.target, tess_target_name(gpu_target())) == 0);
    EXPECT(t.run_ms > 0 && t.strips == 0);
    tess_args_free(a);
    tess_program_free(p);
    tess_image_free(in); /* after the program that made them */
    tess_image_free(out);
    tess_image_free(host);
}

/* Parts of a larger device image: at an aligned offset, at one where the device needs a copy, and upside down. */
static void test_parts_of_device_images(void)
{
    tess_program *p = compile(blur_text, 0);
    tess_args *a = args_of(p);
    DLTensor *host = image("random:2:64x96"), *whole = NULL, *result = NULL;
    EXPECT(tess_device_image(p, host->dtype, 2, host->shape, &whole) == TESS_OK);
    EXPECT(tess_device_image(p, host->dtype, 2, host->shape, &result) == TESS_OK);
    EXPECT(tess_image_copy(p, host, whole) == TESS_OK);
    static const int64_t cases[][3] = { { 32 * 96 * 4, 96, 1 },
                                        { 5 * 96 * 4 + 12, 96, 1 },
                                        { 40 * 96 * 4, -96, 1 } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t shape[2] = { 20, 50 };
        int64_t strides[2] = { cases[k][1], cases[k][2] };
        DLTensor in = *whole, out = *result;
        in.byte_offset = out.byte_offset = (uint64_t)cases[k][0];
        in.shape = out.shape = shape;
        in.strides = out.strides = strides;
        EXPECT(tess_args_image(a, "a", &in) == TESS_OK);
        EXPECT(tess_args_output(a, 0, &out) == TESS_OK);
        run(p, a, NULL);
        run(p, a, NULL);
        verify(p, a);
    }
    tess_args_free(a);
    tess_image_free(whole);
    tess_image_free(result);
    tess_image_free(host);
    tess_program_free(p);
}

/* A queue, a context and memory of the caller's. */
static void test_foreign_stream(void)
{
    Failure f;
    Device *d;
    DeviceStream stream = NULL;
    DeviceBuffer in, out;
    enum { BYTES = 40 * 60 * 4 };
    EXPECT(tessi_device_open(gpu_device()->kind, 0, NULL, NULL, &d, &f));
    EXPECT(tessi_device_stream_new(d, &stream, &f));
    EXPECT(tessi_device_alloc(d, BYTES, &in, &f) && tessi_device_alloc(d, BYTES, &out, &f));
    EXPECT(tessi_device_fill(d, in.handle, 0, BYTES, 0x40, stream, &f));
    int64_t shape[2] = { 40, 60 };
    DLTensor t = { .data = in.handle,
                   .device = { device_type(), 0 },
                   .ndim = 2,
                   .dtype = { kDLFloat, 32, 1 },
                   .shape = shape };
    tess_program *p = compile(blur_text, 0);
    tess_args *a = args_of(p);
    EXPECT(tess_args_image(a, "a", &t) == TESS_OK);
    t.data = out.handle;
    EXPECT(tess_args_output(a, 0, &t) == TESS_OK);
    run(p, a, stream);
    run(p, a, stream);
    EXPECT(tessi_device_synchronise(d, stream, &f));
    verify(p, a);
    run(p, a, NULL); /* the tensors say where */
    verify(p, a);

    DLTensor *own = NULL; /* of another context than the stream; unless one is for all */
    EXPECT(tess_device_image(p, t.dtype, 2, shape, &own) == TESS_OK);
    EXPECT(tess_args_output(a, 0, own) == TESS_OK);
    if (gpu_device()->usual_context) {
        run(p, a, stream);
    } else {
        EXPECT(tess_run(p, a, stream) == TESS_ERROR_DEVICE);
        EXPECT(strstr(tess_args_error(a), "another context") != NULL);
    }
    tess_image_free(own);
    tess_args_free(a);
    tess_program_free(p);
    tessi_device_free(d, &in);
    tessi_device_free(d, &out);
    tessi_device_stream_free(d, stream);
    tessi_device_close(d);
}

static void run_in_strips(tess_program *p, tess_args *a)
{
    run(p, a, NULL);
    tess_timing t = { .struct_size = sizeof t };
    tess_args_timing(a, &t);
    EXPECT(t.strips > 1);
    verify(p, a);
}

/* Programs whose rows depend on near rows give the same pixels in strips; others say that memory is short. */
static void test_strips(void)
{
    static const char *const rules[] = { "clamp", "mirror", "reflect", "constant(3)" };
    char text[1000];
    DLTensor *in = image("random:3:700x90");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        snprintf(text, sizeof text,
                 "stencil f(vector#2 float a) { return a@[-3, 0] + 2 * a@[1, 1] + a@[5, -2]; }\n"
                 "stencil g(vector#2 float a) { return a@[-1, 0] - a@[7, 0]; }\n"
                 "parameter M, N;\n"
                 "vector#2 float a[M, N];\n"
                 "b = f(a:%s);\n"
                 "return g(b:%s), f(b);\n",
                 rules[i], rules[i]);
        tess_program *p = compile(text, 600 << 10);
        tess_args *a = args_of(p);
        EXPECT(tess_args_image(a, "a", in) == TESS_OK);
        run_in_strips(p, a);
        run(p, a, NULL);
        verify(p, a);
        tess_args_free(a);
        tess_program_free(p);
    }
    tess_image_free(in);
}

/* Channels are fields of pixels: also their sums have rows as the picture has. */
static void test_strips_of_channels(void)
{
    DLTensor *in = image("random:4:700x90x3");
    tess_program *p =
        compile("stencil f(vector#3 float a) { return a@[-3, 0, 1] + 2 * a@[1, 1, 0]; }\n"
                "stencil g(vector#2 float a) { return a@[-1, 0] - a@[7, 0]; }\n"
                "parameter M, N;\n"
                "vector#3 float a[M, N, 3];\n"
                "b = f(a:[mirror, clamp, wrap]);\n"
                "return g(sum(b, 2):reflect), b;\n",
                900 << 10);
    tess_args *a = args_of(p);
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    run_in_strips(p, a);
    tess_args_free(a);
    tess_program_free(p);
    tess_image_free(in);
}

/* Sums by Fourier transforms have the bits of the whole image in strips as well: blocks lie where they lay. */
static void test_strips_of_transforms(void)
{
    static const char text[] =
        "mask m[i = -7..7, j = -7..7] = 1.0 / (3 + i * i + 2 * j * j + i * j) normalized;\n"
        "stencil f(vector#2 float a) { return convolve(a, m, method = fft); }\n"
        "stencil g(vector#2 float a) { return a@[-1, 0] + a@[2, 1]; }\n"
        "parameter M, N;\nvector#2 float a[M, N];\n"
        "b = f(a:mirror);\nreturn g(b:clamp);\n";
    tess_program *p = compile_as(TESS_FP_FAST, text, 3600 << 10);
    tess_args *a = args_of(p);
    DLTensor *in = image("random:1:6001x24");
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    run_in_strips(p, a);
    tess_args_free(a);
    tess_image_free(in);
    tess_program_free(p);
}

/* A signal in device memory, of which the strips begin inside. */
static void test_strips_of_a_signal(void)
{
    static const char text[] = "stencil f(vector#1 float a) { return a@[-3] + a + a@[2]; }\n"
                               "parameter N;\nvector#1 float a[N];\n"
                               "b = f(a:mirror);\nreturn f(b:clamp);\n";
    tess_program *p = compile(text, 900 << 10);
    tess_args *a = args_of(p);
    DLTensor *host = image("random:1:150001"), *in = NULL;
    EXPECT(tess_device_image(p, host->dtype, 1, host->shape, &in) == TESS_OK);
    EXPECT(tess_image_copy(p, host, in) == TESS_OK);
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    run_in_strips(p, a);
    tess_args_free(a);
    tess_image_free(in);
    tess_image_free(host);
    tess_program_free(p);
}

/* What is more than near rows: rows of the other side, numbers of whole images, samplings, places. */
static const char *const parted[] = {
    "stencil f(vector#2 float a) { return a@[-1, 0] + a; }\n"
    "parameter M, N;\nvector#2 float a[M, N];\nout = f(a:wrap);\nreturn out;\n",
    "stencil f(vector#2 float a, float top) { return a - top; }\n"
    "parameter M, N;\nvector#2 float a[M, N];\ntop = maximum(a);\n"
    "return f(a, top), mean(a), histogram(a, 4);\n",
    "stencil f(vector#2 float a) { return a@[1, 0] + index(0); }\n"
    "parameter M, N;\nvector#2 float a[M, N];\nout = f(a:mirror)@[(0, 2), (0, 2)];\nreturn out;\n",
};

/* Programs that depend on more than near rows go through the memory of the host in parts. */
static void test_parts(void)
{
    DLTensor *in = image("random:3:700x90");
    for (size_t i = 0; i < sizeof parted / sizeof *parted; i++) {
        tess_program *p = compile(parted[i], 300 << 10);
        tess_args *a = args_of(p);
        EXPECT(tess_args_image(a, "a", in) == TESS_OK);
        run_in_strips(p, a);
        tess_args_free(a);
        tess_program_free(p);
    }
    tess_image_free(in);
}

static void keep_note(void *user, const char *sentence)
{
    snprintf(user, 400, "%.399s", sentence);
}

/* Several devices share the rows: one that is named three times has the same bits. What cannot be shared is said. */
static void test_devices(void)
{
    static const char computed[] =
        "stencil f(vector#2 float a) { return a[cast<int>(a), index(1)]; }\n"
        "parameter M, N;\nvector#2 float a[M, N];\nout = f(a);\nreturn out;\n";
    const char *const texts[] = { parted[1], computed };
    DLTensor *in = image("random:3:100x90");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char note[400] = "";
        tess_options o;
        tess_options_init(&o);
        o.target = gpu_target();
        o.cache = gpu_cache();
        o.n_devices = 3;
        o.note = keep_note;
        o.user = note;
        tess_program *p = NULL;
        EXPECT(tess_compile(texts[i], strlen(texts[i]), "test.tess", &o, &p, NULL) == TESS_OK);
        tess_args *a = args_of(p);
        EXPECT(tess_args_image(a, "a", in) == TESS_OK);
        for (int k = 0; k < 2; k++) { /* the second finds the programs of the parts */
            run(p, a, NULL);
            verify(p, a);
        }
        tess_timing t = { .struct_size = sizeof t };
        tess_args_timing(a, &t);
        if (i == 0)
            EXPECT(t.strips >= 3 && !note[0]);
        else
            EXPECT(strstr(note, "one of the devices does all of it: 'out' computes"));
        tess_args_free(a);
        tess_program_free(p);
    }
    tess_image_free(in);
}

/* The part of a device that is too large for its memory is computed in strips, of whose rows some are others'. */
static void test_devices_in_strips(void)
{
    static const char text[] =
        "stencil f(vector#2 float a) { return a@[-2, 0] + a@[1, 1] * a; }\n"
        "parameter M, N;\nvector#2 float a[M, N];\nreturn f(f(a:mirror):clamp);\n";
    DLTensor *in = image("random:3:700x90");
    tess_options o;
    tess_options_init(&o);
    o.target = gpu_target();
    o.cache = gpu_cache();
    o.n_devices = 3;
    o.device_bytes = 120 << 10;
    tess_program *p = NULL;
    EXPECT(tess_compile(text, strlen(text), "test.tess", &o, &p, NULL) == TESS_OK);
    tess_args *a = args_of(p);
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    run(p, a, NULL);
    verify(p, a);
    tess_args_free(a);
    tess_program_free(p);
    tess_image_free(in);
}

/* Programs of which parts cannot be computed apart say that memory is short, and what keeps them from strips. */
static void test_no_strips(void)
{
    static const char *const texts[][2] = {
        { "stencil f(vector#2 float a) { return a[cast<int>(a), index(1)]; }\n"
          "parameter M, N;\nvector#2 float a[M, N];\nout = f(a);\nreturn out;\n",
          "'out' computes which points it reads" },
        { "stencil f(vector#2 float a) { return a@[-400, 0] + a; }\n"
          "parameter M, N;\nvector#2 float a[M, N];\nout = f(a);\nreturn out;\n",
          "depends on" },
    };
    DLTensor *in = image("random:3:700x90");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tess_program *p = compile(texts[i][0], 300 << 10);
        tess_args *a = args_of(p);
        EXPECT(tess_args_image(a, "a", in) == TESS_OK);
        EXPECT(tess_run(p, a, NULL) == TESS_ERROR_MEMORY);
        const char *sentence = tess_args_error(a);
        if (!strstr(sentence, "out of memory on") || !strstr(sentence, texts[i][1]))
            FAIL("not \"%s\": %s", texts[i][1], sentence);
        tess_args_free(a);
        tess_program_free(p);
    }
    tess_image_free(in);
}

/* Devices take at most 65535 blocks along y: kernels go on with the rows beyond. One row a block, so that there are
 * as many as rows. */
static void test_high_images(void)
{
    static const char text[] = "stencil f(vector#2 float a) { return a@[-1, 0] + 2 * a@[1, 1]; }\n"
                               "parameter M, N;\nvector#2 float a[M, N];\n"
                               "out = f(a:mirror);\nreturn out;\n";
    tess_options o;
    tess_options_init(&o);
    o.target = gpu_target();
    o.cache = gpu_cache();
    o.plan = "plan high\ntarget gpu\n\ngroup out\n    x 32 thread\n"
             "    stage out in memory\n    split none\n";
    tess_program *p = NULL;
    EXPECT(tess_compile(text, strlen(text), "high.tess", &o, &p, NULL) == TESS_OK);
    tess_args *a = args_of(p);
    DLTensor *in = image("random:5:300000x3");
    EXPECT(tess_args_image(a, "a", in) == TESS_OK);
    run(p, a, NULL);
    verify(p, a);
    tess_args_free(a);
    tess_program_free(p);
    tess_image_free(in);
}

typedef struct Job {
    tess_program *p;
    int seed;
} Job;

static int run_job(void *user)
{
    const Job *job = user;
    char what[40];
    DLTensor *in = NULL;
    tess_args *a = NULL;
    bool ok = tess_args_new(job->p, &a) == TESS_OK;
    for (int i = 0; ok && i < 5; i++) {
        snprintf(what, sizeof what, "random:%d:%dx%d", job->seed, 20 + i, 70 - job->seed);
        ok = tess_image_read(what, NULL, &in, NULL, 0) == TESS_OK
             && tess_args_image(a, "a", in) == TESS_OK && tess_run(job->p, a, NULL) == TESS_OK
             && tess_verify(job->p, a) == TESS_OK;
        tess_image_free(in);
    }
    tess_args_free(a);
    return !ok;
}

static void test_threads(void)
{
    tess_program *p = compile(blur_text, 0);
    enum { N = 3 };
    Job jobs[N];
    thrd_t threads[N];
    for (int i = 0; i < N; i++) {
        jobs[i] = (Job){ p, i + 1 };
        EXPECT(thrd_create(&threads[i], run_job, &jobs[i]) == thrd_success);
    }
    for (int i = 0; i < N; i++) {
        int result;
        thrd_join(threads[i], &result);
        EXPECT(result == 0);
    }
    tess_program_free(p);
}

static void test_time(void)
{
    tess_program *p = compile(blur_text, 0);
    tess_device_info info = { .struct_size = sizeof info };
    EXPECT(tess_program_device(p, &info) == TESS_OK);
    EXPECT(info.name[0] && info.memory_bytes > 0);
    tess_args *a[2] = { args_of(p), NULL };
    DLTensor *in = image("random:1:64x64");
    EXPECT(tess_args_image(a[0], "a", in) == TESS_OK);
    EXPECT(tess_args_copy(a[0], &a[1]) == TESS_OK);
    double ms = -1;
    EXPECT(tess_time_runs(p, a, 2, 4, &ms) == TESS_OK);
    EXPECT(ms >= 0);
    verify(p, a[1]);
    ms = -1;
    if (tess_time_copy(p, 1 << 16, 2, 3, &ms) != TESS_OK)
        FAIL("%s", tess_program_error(p));
    EXPECT(ms >= 0);
    tess_args_free(a[0]);
    tess_args_free(a[1]);
    tess_image_free(in);
    tess_program_free(p);
}

/* What is said of a device can be planned for. */
static void test_description(void)
{
    char *text = NULL, *plan = NULL, error[600] = "";
    if (tess_device_text(gpu_target(), 0, &text, error, sizeof error) != TESS_OK)
        FAIL("%s", error);
    tess_options o;
    tess_options_init(&o);
    o.machine = text;
    tess_program *p = NULL;
    EXPECT(tess_compile(blur_text, strlen(blur_text), "test.tess", &o, &p, NULL) == TESS_OK);
    if (tess_dump(p, NULL, "plan", &plan, NULL) != TESS_OK)
        FAIL("%s", tess_program_error(p));
    EXPECT(strstr(plan, "target gpu") != NULL);
    tess_text_free(plan);
    tess_text_free(text);
    tess_program_free(p);
    EXPECT(tess_device_text(gpu_target(), 1000, &text, error, sizeof error) == TESS_ERROR_DEVICE);
    EXPECT(error[0] != 0);
}

static void test_refusals(void)
{
    tess_program *p = compile(blur_text, 0);
    tess_args *a = args_of(p);
    DLTensor *in = image("random:1:8x8"), *out = NULL;
    in->device.device_type = gpu_device()->memory == kDLCUDA ? kDLOpenCL : kDLCUDA;
    EXPECT(tess_args_image(a, "a", in) == TESS_ERROR_DEVICE);
    in->device.device_type = kDLCPU;
    EXPECT(tess_image_copy(p, in, in) == TESS_ERROR_ARGUMENT);
    int64_t none[2] = { 0, 4 };
    EXPECT(tess_device_image(p, in->dtype, 2, none, &out) == TESS_ERROR_ARGUMENT);
    EXPECT(out == NULL);
    int64_t huge[2] = { (int64_t)1 << 30, 1 << 20 };
    EXPECT(tess_device_image(p, in->dtype, 2, huge, &out) == TESS_ERROR_MEMORY);
    int64_t other[2] = { 4, 8 };
    EXPECT(tess_device_image(p, in->dtype, 2, other, &out) == TESS_OK);
    EXPECT(tess_image_copy(p, in, out) == TESS_ERROR_ARGUMENT);
    tess_image_free(out);
    tess_image_free(in);
    tess_args_free(a);
    tess_program_free(p);
}

int main(void)
{
    Device *device = need_gpu();
    test_device_images();
    test_parts_of_device_images();
    test_foreign_stream();
    test_strips();
    test_strips_of_channels();
    test_strips_of_transforms();
    test_strips_of_a_signal();
    test_parts();
    test_devices();
    test_devices_in_strips();
    test_no_strips();
    test_high_images();
    test_threads();
    test_time();
    test_description();
    test_refusals();
    tessi_device_close(device);
    printf("14 tests passed\n");
    return 0;
}
