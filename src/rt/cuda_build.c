/* CUDA C++ to kernels: NVRTC compiles for the architecture of the device, the driver loads, the cache keeps. */
#include "rt/cuda.h"
#include "tessera.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FUNCTION_THREADS = 0,
    FUNCTION_SHARED = 1,
    FUNCTION_LOCAL = 3,
    FUNCTION_REGISTERS = 4,
    FUNCTION_MOST_SHARED = 8,
    JIT_LOG = 5,
    JIT_LOG_SIZE = 6,
    MOST_OPTIONS = 32,
    MOST_ARCHS = 128,
    MOST_ARGS = 256,
    DEFAULT_SHARED = 48 << 10, /* more must be asked for */
    LOG_ROOM = 16 << 10
};

struct DeviceModule {
    CUmodule module;
};

typedef struct CudaKernel {
    DeviceKernel base;
    CUfunction function;
} CudaKernel;

/* What NVRTC is told: machine code for this device, or for newer ones that it does not know yet, PTX for the newest
 * before it, which the driver translates. The graph alone decides about rounding, so nothing is contracted. */
typedef struct Compilation {
    char arch[48];
    bool is_ptx;
    const char *options[MOST_OPTIONS];
    int n_options;
} Compilation;

static const char *const always[] = { "--fmad=false", "--std=c++17", "--restrict" };

static bool choose_arch(const CudaDevice *d, const Nvrtc *nvrtc, Compilation *c, Failure *f)
{
    int archs[MOST_ARCHS], n = 0, wanted = atoi(d->base.info.arch + 3), best = 0;
    if (nvrtc->n_archs(&n) != 0 || n < 1 || n > MOST_ARCHS || nvrtc->archs(archs) != 0)
        return tessi_failf(f, TESS_ERROR_DEVICE, "NVRTC does not say what it compiles for");
    for (int i = 0; i < n; i++)
        if (archs[i] <= wanted && archs[i] > best)
            best = archs[i];
    if (!best)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "the NVRTC found here no longer compiles for %s (%s)", d->base.info.name,
                           d->base.info.arch);
    c->is_ptx = best != wanted;
    snprintf(c->arch, sizeof c->arch, "--gpu-architecture=%s_%d", c->is_ptx ? "compute" : "sm",
             best);
    return true;
}

static bool choose_options(const DeviceBuild *job, Compilation *c, Failure *f)
{
    c->options[c->n_options++] = c->arch;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        c->options[c->n_options++] = always[i];
    for (int i = 0; job->options && job->options[i]; i++) {
        if (c->n_options == MOST_OPTIONS)
            return tessi_failf(f, TESS_ERROR_INTERNAL, "too many options for NVRTC");
        c->options[c->n_options++] = job->options[i];
    }
    return true;
}

/* NVRTC's version is left out, so that it need not be loaded when the cache has the code. */
static CacheKey key_of(const CudaDevice *d, const DeviceBuild *job)
{
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, "cuda");
    tessi_cache_key_add_text(&key, d->base.info.arch);
    tessi_cache_key_add_text(&key, d->base.info.driver);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        tessi_cache_key_add(&key, always[i], strlen(always[i]) + 1);
    for (int i = 0; job->options && job->options[i]; i++)
        tessi_cache_key_add(&key, job->options[i], strlen(job->options[i]) + 1);
    tessi_cache_key_add_text(&key, job->text);
    return key;
}

static void keep_log(const Nvrtc *nvrtc, NvrtcProgram program, DeviceBuild *job)
{
    size_t n = 0;
    if (nvrtc->log_size(program, &n) != 0 || n < 2)
        return;
    job->log = calloc(n + 1, 1);
    if (job->log && nvrtc->log(program, job->log) != 0)
        job->log[0] = 0;
}

/* The first line that says "error", for the sentence. */
static void first_error(const char *log, char *out, size_t room)
{
    const char *at = log ? strstr(log, "error") : NULL;
    snprintf(out, room, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
}

static bool compile_program(const Nvrtc *nvrtc, NvrtcProgram program, DeviceBuild *job,
                            const Compilation *c, char **code, size_t *n, Failure *f)
{
    if (nvrtc->compile(program, c->n_options, c->options) != 0) {
        keep_log(nvrtc, program, job);
        char line[300];
        first_error(job->log, line, sizeof line);
        return tessi_failf(f, TESS_ERROR_COMPILER, "the generated CUDA does not compile: %s",
                           line[0] ? line : "NVRTC says nothing");
    }
    bool ok = (c->is_ptx ? nvrtc->ptx_size(program, n) : nvrtc->cubin_size(program, n)) == 0 && *n;
    *code = ok ? calloc(*n + 1, 1) : NULL;
    if (ok && !*code)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    ok = ok && (c->is_ptx ? nvrtc->ptx(program, *code) : nvrtc->cubin(program, *code)) == 0;
    return ok || tessi_failf(f, TESS_ERROR_DEVICE, "NVRTC made no code");
}

static bool compile(const Nvrtc *nvrtc, DeviceBuild *job, const Compilation *c, char **code,
                    size_t *n, Failure *f)
{
    NvrtcProgram program = NULL;
    if (nvrtc->create(&program, job->text, "tessera.cu", 0, NULL, NULL) != 0)
        return tessi_failf(f, TESS_ERROR_DEVICE, "NVRTC cannot start");
    bool ok = compile_program(nvrtc, program, job, c, code, n, f);
    nvrtc->destroy(&program);
    return ok;
}

static bool load(CudaDevice *d, const char *code, DeviceBuild *job, DeviceModule *m, Failure *f)
{
    char *log = calloc(LOG_ROOM, 1);
    if (!log)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    int options[] = { JIT_LOG, JIT_LOG_SIZE };
    void *values[] = { log, (void *)(uintptr_t)LOG_ROOM };
    bool ok = tessi_cuda_enter(d, f);
    if (ok) {
        CUresult r = d->api.module_load(&m->module, code, 2, options, values);
        ok = tessi_cuda_check(&d->api, r, "load the compiled program", f);
        tessi_cuda_leave(d);
    }
    if (!ok && log[0] && job)
        job->log = log;
    else
        free(log);
    return ok;
}

static bool load_cached(CudaDevice *d, DeviceBuild *job, CacheKey key, DeviceModule *m)
{
    static const char *const suffixes[] = { ".cubin", ".ptx" };
    for (int i = 0; i < 2 && !job->cached; i++) {
        size_t n;
        char *code = tessi_cache_read(job->cache, key, suffixes[i], &n);
        job->cached = code && load(d, code, NULL, m, NULL);
        free(code);
    }
    return job->cached;
}

static bool build(CudaDevice *d, DeviceBuild *job, DeviceModule *m, Failure *f)
{
    const CacheKey key = key_of(d, job);
    if (load_cached(d, job, key, m))
        return true;
    if (job->recall)
        return false;
    Nvrtc found;
    if (!d->nvrtc && !tessi_cuda_load_nvrtc(&found, f))
        return false;
    const Nvrtc *nvrtc = d->nvrtc ? d->nvrtc : &found;
    Compilation c = { .n_options = 0 };
    char *code = NULL;
    size_t n = 0;
    bool ok = choose_arch(d, nvrtc, &c, f) && choose_options(job, &c, f)
              && compile(nvrtc, job, &c, &code, &n, f) && load(d, code, job, m, f);
    if (ok)
        tessi_cache_insert(job->cache, key, c.is_ptx ? ".ptx" : ".cubin", code, n);
    free(code);
    return ok;
}

bool tessi_cuda_build(Device *base, DeviceBuild *job, DeviceModule **module, Failure *f)
{
    DeviceModule *m = calloc(1, sizeof *m);
    if (!m)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!build((CudaDevice *)base, job, m, f)) {
        free(m);
        return false;
    }
    *module = m;
    return true;
}

void tessi_cuda_module_free(Device *base, DeviceModule *m)
{
    CudaDevice *d = (CudaDevice *)base;
    if (tessi_cuda_enter(d, NULL)) {
        d->api.module_unload(m->module);
        tessi_cuda_leave(d);
    }
    free(m);
}

static int64_t function_attribute(const CudaDevice *d, CUfunction k, int number)
{
    int value = 0;
    return d->api.function_attribute(&value, number, k) == CUDA_OK ? value : -1;
}

bool tessi_cuda_kernel(Device *base, DeviceModule *m, const char *name, DeviceKernel **kernel,
                       Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    CudaKernel *k = calloc(1, sizeof *k);
    if (!k)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    bool ok = tessi_cuda_enter(d, f);
    if (ok) {
        ok = tessi_cuda_check(&d->api, d->api.module_function(&k->function, m->module, name),
                              "find a kernel that it compiled", f);
        if (ok) {
            int64_t threads = function_attribute(d, k->function, FUNCTION_THREADS);
            k->base.info = (DeviceKernelInfo){
                .max_threads = threads > 0 ? threads : base->info.block_threads,
                .shared_bytes = function_attribute(d, k->function, FUNCTION_SHARED),
                .local_bytes = function_attribute(d, k->function, FUNCTION_LOCAL),
                .registers = function_attribute(d, k->function, FUNCTION_REGISTERS)
            };
            /* So that a launch with much dynamic shared memory is refused for want of memory only. */
            int64_t most = base->info.shared_bytes
                           - (k->base.info.shared_bytes > 0 ? k->base.info.shared_bytes : 0);
            if (most > DEFAULT_SHARED && most <= INT_MAX)
                d->api.function_set(k->function, FUNCTION_MOST_SHARED, (int)most);
        }
        tessi_cuda_leave(d);
    }
    if (ok)
        *kernel = &k->base;
    else
        free(k);
    return ok;
}

bool tessi_cuda_variable(Device *base, DeviceModule *m, const char *name, void **handle, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    CUdeviceptr address = 0;
    size_t bytes;
    if (!tessi_cuda_enter(d, f))
        return false;
    const bool ok = tessi_cuda_check(
        &d->api, d->api.module_global(&address, &bytes, m->module, name), "find a variable", f);
    *handle = (void *)(uintptr_t)address;
    tessi_cuda_leave(d);
    return ok;
}

void tessi_cuda_kernel_free(Device *d, DeviceKernel *k)
{
    (void)d; /* it belongs to its module */
    free(k);
}

bool tessi_cuda_launch(Device *base, const DeviceLaunch *l, DeviceStream stream, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    void *args[MOST_ARGS];
    if (l->n_args > MOST_ARGS)
        return tessi_failf(f, TESS_ERROR_INTERNAL, "a kernel has %u arguments", l->n_args);
    for (uint32_t i = 0; i < l->n_args; i++)
        memcpy(&args[i], &l->args[i].at, sizeof args[i]); /* the driver's interface has no const */
    if (!tessi_cuda_enter(d, f))
        return false;
    CUresult r = d->api.launch(((CudaKernel *)l->kernel)->function, (unsigned)l->grid[0],
                               (unsigned)l->grid[1], (unsigned)l->grid[2], (unsigned)l->block[0],
                               (unsigned)l->block[1], (unsigned)l->block[2],
                               (unsigned)l->shared_bytes, stream, args, NULL);
    bool ok = tessi_cuda_check(&d->api, r, "start a kernel", f);
    tessi_cuda_leave(d);
    return ok;
}
