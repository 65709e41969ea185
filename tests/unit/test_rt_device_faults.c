/* rt/cuda and rt/opencl on drivers that are tables of ours: every call made to fail in turn, and nothing may be left
 * behind or go unsaid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/cuda.h"
#include "rt/opencl.h"
#include "tessera.h"

/* ---- What both drivers share: calls are counted, one fails, objects are counted -------------- */
static int calls, fail_at, fail_code, live;

enum { MOST_OBJECTS = 64 };
static void *objects[MOST_OBJECTS]; /* those alive; NULL = a free place */

static void *born(void *object)
{
    int i = 0;
    while (objects[i])
        i++;
    assert_true(i < MOST_OBJECTS);
    live++;
    return objects[i] = object;
}

static void bury(void)
{
    for (int i = 0; i < MOST_OBJECTS; i++) {
        free(objects[i]);
        objects[i] = NULL;
    }
}

static int next_call(void)
{
    return ++calls == fail_at ? fail_code : 0;
}

static int make(void **out)
{
    int r = next_call();
    if (r == 0) {
        *out = born(malloc(1));
    }
    return r;
}

static int drop(void *object)
{
    for (int i = 0; i < MOST_OBJECTS; i++)
        if (objects[i] == object)
            objects[i] = NULL;
    free(object);
    live--;
    return 0;
}

/* ---- A CUDA driver on the host's memory ------------------------------------------------------ */
static int contexts;      /* pushed and not popped */
static bool context_lost; /* what is in it went with it */

static CUresult fake_init(unsigned flags)
{
    (void)flags;
    return next_call();
}
static CUresult fake_driver_version(int *version)
{
    *version = 12040;
    return 0;
}
static CUresult fake_error_name(CUresult r, const char **name)
{
    *name = r == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_LAUNCH_FAILED";
    return 0;
}
static CUresult fake_error_string(CUresult r, const char **text)
{
    *text = r == CUDA_OUT_OF_MEMORY ? "out of memory" : "unspecified launch failure";
    return 0;
}
static int n_devices = 1;
static CUresult fake_device_count(int *n)
{
    *n = n_devices;
    return next_call();
}
static CUresult fake_device_get(CUdevice *d, int number)
{
    *d = number;
    return next_call();
}
static CUresult fake_device_name(char *name, int room, CUdevice d)
{
    snprintf(name, (size_t)room, "Fake %d", d);
    return 0;
}
static CUresult fake_device_memory(size_t *bytes, CUdevice d)
{
    (void)d;
    *bytes = (size_t)1 << 30;
    return 0;
}
static CUresult fake_device_attribute(int *value, int attribute, CUdevice d)
{
    (void)d;
    *value = attribute == 75                    ? 9
             : attribute == 76                  ? 0
             : attribute == 6 || attribute == 7 ? 65535
                                                : 1024;
    return 0;
}
static CUresult fake_context_retain(CUcontext *c, CUdevice d)
{
    (void)d;
    int r = next_call();
    *c = r ? NULL : &contexts;
    live += r == 0;
    return r;
}
static CUresult fake_context_release(CUdevice d)
{
    (void)d;
    live--;
    return 0;
}
static CUresult fake_context_push(CUcontext c)
{
    assert_ptr_equal(c, &contexts);
    int r = next_call();
    contexts += r == 0;
    context_lost = context_lost || r != 0;
    return r;
}
static CUresult fake_context_pop(CUcontext *c)
{
    *c = &contexts;
    contexts--;
    return 0;
}
static CUresult fake_context_device(CUdevice *d)
{
    *d = 0;
    return next_call();
}
static CUresult fake_pointer_attribute(void *value, int attribute, CUdeviceptr p)
{
    assert_int_equal(attribute, 1);
    assert_true(p != 0);
    void *context = &contexts;
    memcpy(value, &context, sizeof context);
    return next_call();
}
static CUresult fake_memory_alloc(CUdeviceptr *p, size_t bytes)
{
    int r = next_call();
    if (r == 0) {
        *p = (CUdeviceptr)(uintptr_t)born(calloc(bytes, 1));
    }
    return r;
}
static CUresult fake_memory_free(CUdeviceptr p)
{
    return drop((void *)(uintptr_t)p);
}
static CUresult copy_bytes(uintptr_t to, uintptr_t from, size_t n)
{
    int r = next_call();
    if (r == 0)
        memcpy((void *)to, (const void *)from, n);
    return r;
}
static CUresult fake_copy_to_device(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
    (void)s;
    return copy_bytes((uintptr_t)to, (uintptr_t)from, n);
}
static CUresult fake_copy_to_host(void *to, CUdeviceptr from, size_t n, CUstream s)
{
    (void)s;
    return copy_bytes((uintptr_t)to, (uintptr_t)from, n);
}
static CUresult fake_copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
    (void)s;
    return copy_bytes((uintptr_t)to, (uintptr_t)from, n);
}
static CUresult fake_copy_2d(const CudaCopy2D *c, CUstream s)
{
    (void)s;
    int r = next_call();
    const char *from = c->from_type == 1 ? c->from_host : (const void *)(uintptr_t)c->from_device;
    char *to = c->to_type == 1 ? c->to_host : (void *)(uintptr_t)c->to_device;
    for (size_t y = 0; r == 0 && y < c->height; y++)
        memcpy(to + y * c->to_pitch, from + y * c->from_pitch, c->width);
    return r;
}
static CUresult fake_fill(CUdeviceptr p, unsigned char value, size_t n, CUstream s)
{
    (void)s;
    int r = next_call();
    if (r == 0)
        memset((void *)(uintptr_t)p, value, n);
    return r;
}
static CUresult fake_module_load(CUmodule *m, const void *image, unsigned n, int *options,
                                 void **values)
{
    assert_string_equal(image, "machine code");
    assert_int_equal(n, 2);
    assert_int_equal(options[0], 5);
    int r = make(m);
    if (r)
        snprintf(values[0], 64, "the linker's reasons");
    return r;
}
static CUresult fake_module_unload(CUmodule m)
{
    return drop(m);
}
static CUresult fake_module_function(CUfunction *k, CUmodule m, const char *name)
{
    assert_string_equal(name, "kernel");
    *k = m;
    return next_call();
}
static CUresult fake_module_global(CUdeviceptr *p, size_t *n, CUmodule m, const char *name)
{
    assert_true(m && strcmp(name, "variable") == 0);
    *p = *n = 16;
    return next_call();
}
static CUresult fake_function_attribute(int *value, int attribute, CUfunction k)
{
    (void)k;
    *value = attribute == 0 ? 512 : 16;
    return 0;
}
static CUresult fake_function_set(CUfunction k, int attribute, int value)
{
    (void)k;
    (void)attribute;
    (void)value;
    return 0;
}
static unsigned launched_grid[3];
static int32_t launched_number;
static CUresult fake_launch(CUfunction k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream s, void **args,
                            void **extra)
{
    (void)k;
    (void)bx;
    (void)by;
    (void)bz;
    (void)shared;
    (void)s;
    assert_null(extra);
    launched_grid[0] = gx;
    launched_grid[1] = gy;
    launched_grid[2] = gz;
    memcpy(&launched_number, args[1], sizeof launched_number);
    return next_call();
}
static CUresult fake_stream_create(CUstream *s, unsigned flags)
{
    (void)flags;
    return make(s);
}
static CUresult fake_stream_destroy(CUstream s)
{
    return drop(s);
}
static CUresult fake_stream_synchronise(CUstream s)
{
    (void)s;
    return next_call();
}
static CUresult fake_stream_context(CUstream s, CUcontext *c)
{
    (void)s;
    *c = &contexts;
    return next_call();
}
static CUresult fake_stream_wait(CUstream s, CUevent e, unsigned flags)
{
    (void)s;
    (void)e;
    (void)flags;
    return next_call();
}
static CUresult fake_event_create(CUevent *e, unsigned flags)
{
    (void)flags;
    return make(e);
}
static CUresult fake_event_destroy(CUevent e)
{
    return drop(e);
}
static CUresult fake_event_record(CUevent e, CUstream s)
{
    (void)e;
    (void)s;
    return next_call();
}
static CUresult fake_event_synchronise(CUevent e)
{
    (void)e;
    return next_call();
}
static CUresult fake_event_elapsed(float *ms, CUevent from, CUevent to)
{
    (void)from;
    (void)to;
    *ms = 2.5f;
    return next_call();
}
static CUresult fake_capture_begin(CUstream s, int mode)
{
    (void)s;
    (void)mode;
    return next_call();
}
static CUresult fake_capture_end(CUstream s, CUgraph *g)
{
    (void)s;
    return make(g);
}
static CUresult fake_graph_instantiate(CUgraphExec *e, CUgraph g, unsigned long long flags)
{
    (void)g;
    (void)flags;
    return make(e);
}
static CUresult fake_graph_launch(CUgraphExec e, CUstream s)
{
    (void)e;
    (void)s;
    return next_call();
}
static CUresult fake_graph_exec_destroy(CUgraphExec e)
{
    return drop(e);
}
static CUresult fake_graph_destroy(CUgraph g)
{
    return drop(g);
}

/* Of the optional functions it has those of graphs. */
#define fake_copy_peer       NULL
#define fake_can_access_peer NULL
#define fake_enable_peer     NULL
#define fake_host_alloc      NULL
#define fake_host_free       NULL

static const CudaDriver fake_driver = {
#define F(name, symbol, arguments) .name = fake_##name,
#define O                          F
#include "rt/cuda_driver.def"
#undef O
#undef F
};

/* ---- Its compiler ---------------------------------------------------------------------------- */
static bool text_is_wrong;

static NvrtcResult fake_version(int *major, int *minor)
{
    *major = 12;
    *minor = 4;
    return 0;
}
static int newest_arch = 90;
static NvrtcResult fake_n_archs(int *n)
{
    *n = 2;
    return next_call();
}
static NvrtcResult fake_archs(int *archs)
{
    archs[0] = 70;
    archs[1] = newest_arch;
    return 0;
}
static NvrtcResult fake_create(NvrtcProgram *p, const char *text, const char *name, int n,
                               const char *const *headers, const char *const *names)
{
    (void)text;
    (void)name;
    (void)n;
    (void)headers;
    (void)names;
    void *object = NULL;
    int r = make(&object);
    memcpy(p, &object, sizeof object);
    return r;
}
static NvrtcResult fake_destroy(NvrtcProgram *p)
{
    return drop(*p);
}
static char first_option[64];
static NvrtcResult fake_compile(NvrtcProgram p, int n, const char *const *options)
{
    (void)p;
    assert_true(n > 1);
    snprintf(first_option, sizeof first_option, "%s", options[0]);
    return text_is_wrong ? 6 : next_call();
}
static NvrtcResult fake_cubin_size(NvrtcProgram p, size_t *n)
{
    (void)p;
    *n = sizeof "machine code";
    return next_call();
}
static NvrtcResult fake_cubin(NvrtcProgram p, char *data)
{
    (void)p;
    memcpy(data, "machine code", sizeof "machine code");
    return next_call();
}
static NvrtcResult fake_ptx_size(NvrtcProgram p, size_t *n)
{
    return fake_cubin_size(p, n);
}
static NvrtcResult fake_ptx(NvrtcProgram p, char *data)
{
    return fake_cubin(p, data);
}
static const char compile_log[] = "tessera.cu(3): error: identifier \"y\" is undefined\nmore\n";
static NvrtcResult fake_log_size(NvrtcProgram p, size_t *n)
{
    (void)p;
    *n = sizeof compile_log;
    return 0;
}
static NvrtcResult fake_log(NvrtcProgram p, char *log)
{
    (void)p;
    memcpy(log, compile_log, sizeof compile_log);
    return 0;
}
static const Nvrtc fake_nvrtc = {
#define F(name, symbol, arguments) .name = fake_##name,
#include "rt/cuda_nvrtc.def"
#undef F
};

/* ---- Everything a device can do, once -------------------------------------------------------- */
typedef struct Session {
    Device *d;
    DeviceBuffer a, part;
    DeviceModule *module;
    DeviceKernel *kernel;
    DeviceStream stream;
    DeviceEvent from, to;
    DeviceGraph *graph;
    void *pinned;
    DeviceLaunch launch;
} Session;

static bool put_launch(void *user, DeviceStream stream, Failure *f)
{
    Session *s = user;
    return tessi_device_launch(s->d, &s->launch, stream, f);
}

static bool use_memory(Session *s, Failure *f)
{
    char in[4][8], out[4][8];
    memset(in, 3, sizeof in);
    DeviceCopy up = { DEVICE_TO_DEVICE, NULL, in, 0, 0, 16, 8, 8, 4 };
    DeviceCopy within = { DEVICE_WITHIN, NULL, NULL, 64, 0, 16, 16, 8, 4 };
    DeviceCopy down = { DEVICE_TO_HOST, out, NULL, 0, 64, 8, 16, 8, 4 };
    if (!tessi_device_alloc(s->d, 128, &s->a, f))
        return false;
    up.to = within.to = within.from = down.from = s->a.handle;
    bool ok = tessi_device_fill(s->d, s->a.handle, 0, 128, 1, s->stream, f)
              && tessi_device_copy(s->d, &up, s->stream, f)
              && tessi_device_copy(s->d, &within, s->stream, f)
              && tessi_device_copy(s->d, &down, s->stream, f);
    if (ok)
        assert_memory_equal(in, out, sizeof in);
    return ok && tessi_device_part(s->d, s->a.handle, 0, 64, &s->part, f);
}

static bool use_kernel(Session *s, Failure *f)
{
    DeviceBuild job = { .text = "text" };
    int32_t number = 42;
    DeviceArg args[2] = { { &s->a.handle, sizeof s->a.handle }, { &number, sizeof number } };
    if (!tessi_device_build(s->d, &job, &s->module, f)) {
        free(job.log);
        return false;
    }
    s->launch =
        (DeviceLaunch){ .grid = { 7, 2, 1 }, .block = { 64, 2, 1 }, .args = args, .n_args = 2 };
    bool ok = tessi_device_kernel(s->d, s->module, "kernel", &s->kernel, f);
    s->launch.kernel = s->kernel;
    void *variable;
    if (ok && tessi_device_info(s->d)->kind == DEVICE_CUDA)
        ok = tessi_device_variable(s->d, s->module, "variable", &variable, f);
    ok = ok && tessi_device_record(s->d, s->stream, &s->from, f)
         && tessi_device_launch(s->d, &s->launch, s->stream, f)
         && tessi_device_record(s->d, s->stream, &s->to, f)
         && tessi_device_await(s->d, s->stream, s->from, f) && tessi_device_wait(s->d, s->to, f);
    if (ok && tessi_device_info(s->d)->has_graphs)
        ok = tessi_device_graph_new(s->d, put_launch, s, &s->graph, f)
             && tessi_device_graph_launch(s->d, s->graph, s->stream, f);
    double ms = 0;
    ok = ok && tessi_device_elapsed(s->d, s->from, s->to, &ms, f);
    if (ok)
        assert_true(ms == 2.5);
    return ok && tessi_device_flush(s->d, s->stream, f)
           && tessi_device_synchronise(s->d, s->stream, f);
}

/* False with the sentence; nothing stays in any case. */
static bool use_device(bool opened, Device *d, Failure *f)
{
    Session s = { .d = d };
    if (!opened)
        return false;
    bool ok = tessi_device_stream_new(d, &s.stream, f) && use_memory(&s, f) && use_kernel(&s, f);
    tessi_device_graph_free(d, s.graph);
    tessi_device_event_free(d, s.from);
    tessi_device_event_free(d, s.to);
    tessi_device_kernel_free(d, s.kernel);
    tessi_device_module_free(d, s.module);
    tessi_device_part_free(d, &s.part);
    tessi_device_free(d, &s.a);
    tessi_device_stream_free(d, s.stream);
    tessi_device_close(d);
    return ok;
}

static bool use_cuda(Failure *f)
{
    Device *d = NULL;
    bool opened = tessi_cuda_open_with(&fake_driver, &fake_nvrtc, 0, NULL, NULL, &d, f);
    return use_device(opened, d, f);
}

/* Makes call after call fail until none is left. Clean-up is not made to fail: it has no more calls by then. */
static void fail_each(bool (*use)(Failure *), int code, int status)
{
    int failures = 0;
    for (fail_at = 1, fail_code = code;; fail_at++) {
        Failure f = { 0 };
        calls = live = contexts = 0;
        context_lost = false;
        bool ok = use(&f);
        if (!context_lost)
            assert_int_equal(live, 0);
        bury();
        assert_int_equal(contexts, 0);
        if (calls < fail_at) {
            assert_true(ok);
            break;
        }
        if (ok) /* a call whose failure does not matter, such as one of the clean-up */
            continue;
        failures++;
        assert_true(f.text[0] != 0);
        assert_null(strchr(f.text, '\n'));
        if (f.status != status) /* of the compiler and of our own memory */
            assert_true(f.status == TESS_ERROR_COMPILER || f.status == TESS_ERROR_MEMORY
                        || f.status == TESS_ERROR_DEVICE);
    }
    assert_true(failures > 15);
}

static void test_cuda_works(void **state)
{
    (void)state;
    Failure f = { 0 };
    fail_at = calls = live = 0;
    if (!use_cuda(&f))
        fail_msg("%s", f.text);
    assert_int_equal(live, 0);
    assert_int_equal(launched_grid[0], 7);
    assert_int_equal(launched_grid[1], 2);
    assert_int_equal(launched_number, 42);
    assert_string_equal(first_option, "--gpu-architecture=sm_90");
}

static void test_cuda_each_call_fails(void **state)
{
    (void)state;
    fail_each(use_cuda, 719, TESS_ERROR_DEVICE);
    fail_each(use_cuda, CUDA_OUT_OF_MEMORY, TESS_ERROR_MEMORY);
}

static void test_cuda_sentences(void **state)
{
    (void)state;
    Device *d;
    Failure f = { 0 };
    DeviceBuffer b;
    fail_at = 0;
    n_devices = 2;
    assert_false(tessi_cuda_open_with(&fake_driver, &fake_nvrtc, 2, NULL, NULL, &d, &f));
    assert_string_equal(f.text, "there is no CUDA device 2; this machine has 2, counted from 0");
    n_devices = 1;
    assert_true(tessi_cuda_open_with(&fake_driver, &fake_nvrtc, 0, NULL, NULL, &d, &f));
    calls = 0;
    fail_at = 2; /* after the context */
    fail_code = CUDA_OUT_OF_MEMORY;
    assert_false(tessi_device_alloc(d, 4096, &b, &f));
    assert_int_equal(f.status, TESS_ERROR_MEMORY);
    assert_string_equal(
        f.text, "CUDA cannot allocate 4096 bytes: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
    assert_false(tessi_device_alloc(d, (size_t)1 << 40, &b, &f));
    assert_int_equal(f.status, TESS_ERROR_MEMORY);
    tessi_device_close(d);
}

static void test_cuda_compile_error(void **state)
{
    (void)state;
    Device *d;
    Failure f = { 0 };
    DeviceModule *m;
    fail_at = 0;
    assert_true(tessi_cuda_open_with(&fake_driver, &fake_nvrtc, 0, NULL, NULL, &d, &f));
    text_is_wrong = true;
    DeviceBuild job = { .text = "text" };
    assert_false(tessi_device_build(d, &job, &m, &f));
    text_is_wrong = false;
    assert_int_equal(f.status, TESS_ERROR_COMPILER);
    assert_string_equal(
        f.text, "the generated CUDA does not compile: error: identifier \"y\" is undefined");
    assert_string_equal(job.log, compile_log);
    free(job.log);
    tessi_device_close(d);
}

/* A device that the compiler does not know yet gets PTX of the newest that it does. */
static void test_cuda_newer_device(void **state)
{
    (void)state;
    Failure f = { 0 };
    fail_at = calls = live = 0;
    newest_arch = 86;
    assert_true(use_cuda(&f));
    newest_arch = 90;
    assert_string_equal(first_option, "--gpu-architecture=compute_86");
}

static void test_cuda_adopts_streams(void **state)
{
    (void)state;
    Device *d;
    Failure f = { 0 };
    int stream;
    fail_at = calls = live = 0;
    assert_true(tessi_cuda_open_with(&fake_driver, &fake_nvrtc, 5, &stream, NULL, &d, &f));
    assert_int_equal(tessi_device_info(d)->number, 0);
    assert_true(tessi_device_owns(d, &stream, &stream));
    tessi_device_close(d);
    assert_int_equal(live, 0); /* the context is not ours to release */
}

static void test_refuses_impossible_launches(void **state)
{
    (void)state;
    Device *d;
    Failure f = { 0 };
    fail_at = 0;
    assert_true(tessi_cuda_open_with(&fake_driver, &fake_nvrtc, 0, NULL, NULL, &d, &f));
    DeviceLaunch l = { .grid = { 1, 1, 1 }, .block = { 32, 8, 1 } };
    assert_true(tessi_device_can_launch(d, &l, "blur", &f));
    l.block[1] = 64;
    assert_false(tessi_device_can_launch(d, &l, "blur", &f));
    assert_string_equal(f.text, "kernel 'blur' has blocks of 2048 threads; Fake 0 allows 1024");
    l.block[1] = 1;
    l.shared_bytes = 4096;
    assert_false(tessi_device_can_launch(d, &l, "blur", &f));
    assert_string_equal(f.text,
                        "kernel 'blur' needs 4096 bytes of shared memory a block; Fake 0 has 1024");
    l.shared_bytes = 0;
    l.grid[1] = 70000;
    assert_false(tessi_device_can_launch(d, &l, "blur", &f));
    assert_string_equal(f.text, "kernel 'blur' has 70000 blocks in y; Fake 0 allows 1 to 65535");
    tessi_device_close(d);
}

/* ---- A real OpenCL driver with calls that fail ----------------------------------------------- */
static OpenclApi real;
static void **hooked; /* the member of the table that fails */

static int32_t always_fails(void)
{
    return fail_code;
}

typedef struct OpenclCase {
    size_t member;
    const char *sentence;
} OpenclCase;
#define MEMBER(name) offsetof(OpenclApi, name)

static void fail_opencl(OpenclApi *api, size_t member)
{
    int32_t (*hook)(void) = always_fails;
    hooked = (void **)((char *)api + member);
    memcpy(hooked, &hook, sizeof hook);
}

static void test_opencl_sentences(void **state)
{
    (void)state;
    Failure f = { 0 };
    if (!tessi_opencl_load(&real, &f)) {
        printf("skipped: %s\n", f.text);
        skip();
    }
    static const struct {
        size_t member;
        int code;
        const char *says;
    } cases[] = {
        { MEMBER(platforms), -30, "OpenCL cannot list its platforms: invalid value (error -30)" },
        { MEMBER(platforms), -1001,
          "OpenCL has no device here: no driver is installed (pocl-opencl-icd runs it on the "
          "processor)" },
        { MEMBER(devices), -1,
          "OpenCL has no device here: no driver is installed (pocl-opencl-icd runs it on the "
          "processor)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OpenclApi api = real;
        Device *d = NULL;
        fail_code = cases[i].code;
        fail_opencl(&api, cases[i].member);
        assert_false(tessi_opencl_open_with(&api, 0, NULL, NULL, &d, &f));
        assert_int_equal(f.status, TESS_ERROR_DEVICE);
        assert_string_equal(f.text, cases[i].says);
    }
}

static void test_opencl_memory(void **state)
{
    (void)state;
    Failure f = { 0 };
    Device *d = NULL;
    if (!tessi_opencl_load(&real, &f) || !tessi_opencl_open_with(&real, 0, NULL, NULL, &d, &f)) {
        printf("skipped: %s\n", f.text);
        skip();
    }
    DeviceBuffer b;
    OpenclDevice *inside = (OpenclDevice *)d;
    fail_code = -4;
    fail_opencl(&inside->api, MEMBER(migrate));
    assert_false(tessi_device_alloc(d, 4096, &b, &f));
    assert_int_equal(f.status, TESS_ERROR_MEMORY);
    assert_string_equal(
        f.text, "OpenCL cannot allocate 4096 bytes: the device's memory is short (error -4)");
    inside->api = real;
    assert_false(tessi_device_alloc(d, SIZE_MAX / 2, &b, &f));
    assert_int_equal(f.status, TESS_ERROR_MEMORY);
    tessi_device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_works),
        cmocka_unit_test(test_cuda_each_call_fails),
        cmocka_unit_test(test_cuda_sentences),
        cmocka_unit_test(test_cuda_compile_error),

        cmocka_unit_test(test_cuda_newer_device),
        cmocka_unit_test(test_cuda_adopts_streams),
        cmocka_unit_test(test_refuses_impossible_launches),
        cmocka_unit_test(test_opencl_sentences),
        cmocka_unit_test(test_opencl_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
