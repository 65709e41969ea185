/* OpenCL C to kernels: the driver compiles, the cache keeps its binaries. */
#include "rt/opencl.h"
#include "tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUCCESS = 0,
    BUILD_FAILED = -11,
    COMPILE_FAILED = -15,
    BUILD_LOG = 0x1183,
    BINARY_SIZES = 0x1165,
    BINARIES = 0x1166,
    KERNEL_GROUP_SIZE = 0x11B0,
    KERNEL_LOCAL = 0x11B2,
    KERNEL_PRIVATE = 0x11B4,
    OPTIONS_ROOM = 2048
};

struct DeviceModule {
    cl_program program;
};

typedef struct OpenclKernel {
    DeviceKernel base;
    cl_kernel kernel;
} OpenclKernel;

/* The graph alone decides about rounding: divisions are rounded as IEEE says where the device can. With `pairs`, of
 * NVIDIA's devices, minima and maxima of pairs are the instructions for them. */
static bool join_options(const OpenclDevice *d, const DeviceBuild *job, bool pairs, char *out,
                         Failure *f)
{
    int n = snprintf(out, OPTIONS_ROOM, "-cl-std=CL1.2%s%s",
                     d->rounds_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                     pairs ? " -DTESS_NV_HALVES" : "");
    for (int i = 0; job->options && job->options[i]; i++) {
        n += snprintf(out + n, (size_t)(OPTIONS_ROOM - n), " %s", job->options[i]);
        if (n >= OPTIONS_ROOM)
            return tessi_failf(f, TESS_ERROR_INTERNAL, "too many options for OpenCL");
    }
    return true;
}

/* Not for a processor that cannot be told from others. */
static const RtCache *cache_of(const OpenclDevice *d, const DeviceBuild *job)
{
    return d->is_known ? job->cache : NULL;
}

static CacheKey key_of(const OpenclDevice *d, const DeviceBuild *job, const char *options)
{
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, "opencl, blocks that are to fit");
    tessi_cache_key_add(&key, d->identity, strlen(d->identity) + 1);
    tessi_cache_key_add(&key, &d->cpu, sizeof d->cpu);
    tessi_cache_key_add(&key, options, strlen(options) + 1);
    tessi_cache_key_add_text(&key, job->text);
    return key;
}

/* NULL when the driver does not take it. */
static cl_program program_of_binary(const OpenclDevice *d, const char *code, size_t n,
                                    const char *options)
{
    const unsigned char *binary = (const unsigned char *)code;
    cl_int status = SUCCESS, each = SUCCESS;
    cl_program p = d->api.program_binary(d->context, 1, &d->device, &n, &binary, &each, &status);
    if (p && status == SUCCESS && each == SUCCESS
        && d->api.program_build(p, 1, &d->device, options, NULL, NULL) == SUCCESS)
        return p;
    if (p)
        d->api.program_release(p);
    return NULL;
}

static cl_program from_cache(const OpenclDevice *d, const DeviceBuild *job, CacheKey key,
                             const char *options)
{
    size_t n;
    char *code = tessi_cache_read(cache_of(d, job), key, ".clbin", &n);
    if (!code)
        return NULL;
    cl_program p = program_of_binary(d, code, n, options);
    free(code);
    return p;
}

/* Of a program for one device; 0 for others. */
static size_t binary_size(const OpenclDevice *d, cl_program p)
{
    size_t n[64] = { 0 }, bytes = 0;
    const bool ok = d->api.program_info(p, BINARY_SIZES, sizeof n, n, &bytes) == SUCCESS;
    return ok && bytes == sizeof *n ? n[0] : 0;
}

static void to_cache(const OpenclDevice *d, const DeviceBuild *job, CacheKey key, cl_program p)
{
    const RtCache *cache = cache_of(d, job);
    const size_t n = cache && cache->dir ? binary_size(d, p) : 0;
    unsigned char *binary = n ? malloc(n) : NULL;
    if (binary && d->api.program_info(p, BINARIES, sizeof binary, &binary, NULL) == SUCCESS)
        tessi_cache_insert(cache, key, ".clbin", binary, n);
    free(binary);
}

/* ---- PTX ----
 * NVIDIA's binaries are PTX, in which a kernel can say how many of its blocks are to fit a multiprocessor; OpenCL C has
 * no words for it. The assembler, told so, lets loads begin ahead of their use as far as registers allow; left alone,
 * it saves registers. */

/* The place in `ptx` behind the line that says the shape of the kernel's blocks; NULL: there is none. */
static const char *behind_shape(const char *ptx, const char *kernel)
{
    static const char entry[] = ".entry ";
    const size_t n = strlen(kernel);
    for (const char *at = strstr(ptx, entry); at; at = strstr(at + 1, entry)) {
        const char *name = at + sizeof entry - 1, *body = strchr(name, '{');
        const char *shape = strstr(name, ".reqntid");
        if (strncmp(name, kernel, n) == 0 && name[n] == '(' && shape && body && shape < body)
            return strchr(shape, '\n');
    }
    return NULL;
}

/* The same PTX for kernels of which so many blocks are to fit; NULL when it is none, or has no such kernel. */
static char *with_residents(const DeviceBuild *job, char *ptx)
{
    bool any = false;
    for (uint32_t i = 0; i < job->n_resident && ptx; i++) {
        const char *at = behind_shape(ptx, job->resident[i].kernel);
        char line[32];
        const int n =
            snprintf(line, sizeof line, "\n.minnctapersm %u", (unsigned)job->resident[i].blocks);
        char *longer = at ? malloc(strlen(ptx) + (size_t)n + 1) : NULL;
        if (!longer)
            continue;
        const size_t before = (size_t)(at - ptx);
        memcpy(longer, ptx, before);
        memcpy(longer + before, line, (size_t)n);
        strcpy(longer + before + n, at);
        free(ptx);
        ptx = longer;
        any = true;
    }
    if (any)
        return ptx;
    free(ptx);
    return NULL;
}

/* Makes the program anew where that is worth it. Whatever fails leaves the one there is. Other devices are not asked
 * for their binary: PoCL would compile each kernel once more to have one. */
static void limit_registers(const OpenclDevice *d, const DeviceBuild *job, const char *options,
                            cl_program *program)
{
    const size_t n = job->n_resident && d->is_nvidia ? binary_size(d, *program) : 0;
    char *ptx = n ? calloc(n + 1, 1) : NULL;
    if (!ptx || d->api.program_info(*program, BINARIES, sizeof ptx, &ptx, NULL) != SUCCESS) {
        free(ptx);
        return;
    }
    ptx = with_residents(job, ptx);
    cl_program made = ptx ? program_of_binary(d, ptx, strlen(ptx) + 1, options) : NULL;
    free(ptx);
    if (!made)
        return;
    d->api.program_release(*program);
    *program = made;
}

static void keep_log(const OpenclDevice *d, cl_program p, DeviceBuild *job)
{
    size_t n = 0;
    if (d->api.build_info(p, d->device, BUILD_LOG, 0, NULL, &n) != SUCCESS || n < 2)
        return;
    job->log = calloc(n + 1, 1);
    if (job->log && d->api.build_info(p, d->device, BUILD_LOG, n, job->log, NULL) != SUCCESS)
        job->log[0] = 0;
}

static bool compile(const OpenclDevice *d, DeviceBuild *job, const char *options,
                    cl_program *program, Failure *f)
{
    cl_int r = SUCCESS;
    const char *text = job->text;
    *program = d->api.program_source(d->context, 1, &text, NULL, &r);
    if (!tessi_opencl_check(r, "take the program", f))
        return false;
    r = d->api.program_build(*program, 1, &d->device, options, NULL, NULL);
    if (r == SUCCESS)
        return true;
    keep_log(d, *program, job);
    d->api.program_release(*program);
    if (r != BUILD_FAILED && r != COMPILE_FAILED)
        return tessi_opencl_check(r, "compile", f);
    const char *at = job->log ? strstr(job->log, "error") : NULL;
    return tessi_failf(f, TESS_ERROR_COMPILER, "the generated OpenCL does not compile: %.*s",
                       at ? (int)strcspn(at, "\n") : 30, at ? at : "the driver says nothing");
}

static bool build(const OpenclDevice *d, DeviceBuild *job, bool pairs, cl_program *program,
                  Failure *f)
{
    char options[OPTIONS_ROOM];
    if (!join_options(d, job, pairs, options, f))
        return false;
    CacheKey key = key_of(d, job, options);
    *program = from_cache(d, job, key, options);
    job->cached = *program != NULL;
    if (*program || job->recall)
        return *program;
    if (!compile(d, job, options, program, f))
        return false;
    limit_registers(d, job, options, program);
    to_cache(d, job, key, *program);
    return true;
}

bool tessi_opencl_build(Device *base, DeviceBuild *job, DeviceModule **module, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    DeviceModule *m = calloc(1, sizeof *m);
    if (!m)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    bool ok = base->info.pair_choices && build(d, job, true, &m->program, f);
    if (!ok) { /* also where the driver is older than the device, and does not know its instructions */
        free(job->log);
        job->log = NULL;
        ok = build(d, job, false, &m->program, f);
    }
    if (ok)
        *module = m;
    else
        free(m);
    return ok;
}

void tessi_opencl_module_free(Device *base, DeviceModule *m)
{
    ((OpenclDevice *)base)->api.program_release(m->program);
    free(m);
}

static int64_t group_number(const OpenclDevice *d, cl_kernel k, cl_uint what, bool is_size)
{
    cl_ulong value = 0;
    size_t size = 0;
    cl_int r = is_size ? d->api.kernel_group_info(k, d->device, what, sizeof size, &size, NULL)
                       : d->api.kernel_group_info(k, d->device, what, sizeof value, &value, NULL);
    return r == SUCCESS ? is_size ? (int64_t)size : (int64_t)value : -1;
}

bool tessi_opencl_kernel(Device *base, DeviceModule *m, const char *name, DeviceKernel **kernel,
                         Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    OpenclKernel *k = calloc(1, sizeof *k);
    if (!k)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    cl_int r = SUCCESS;
    k->kernel = d->api.kernel_create(m->program, name, &r);
    if (!tessi_opencl_check(r, "find a kernel that it compiled", f)) {
        free(k);
        return false;
    }
    int64_t threads = group_number(d, k->kernel, KERNEL_GROUP_SIZE, true);
    /* NVIDIA counts some bytes of its own, beyond what a kernel may declare; one that declares too much does not
     * compile. */
    const int64_t shared = group_number(d, k->kernel, KERNEL_LOCAL, false),
                  most = base->info.shared_bytes;
    k->base.info =
        (DeviceKernelInfo){ .max_threads = threads > 0 ? threads : base->info.block_threads,
                            .shared_bytes = shared < most ? shared : most,
                            .local_bytes = group_number(d, k->kernel, KERNEL_PRIVATE, false),
                            .registers = -1 };
    *kernel = &k->base;
    return true;
}

void tessi_opencl_kernel_free(Device *base, DeviceKernel *kernel)
{
    OpenclKernel *k = (OpenclKernel *)kernel;
    ((OpenclDevice *)base)->api.kernel_release(k->kernel);
    free(k);
}

static bool launch_locked(const OpenclDevice *d, const DeviceLaunch *l, cl_queue q, Failure *f)
{
    cl_kernel k = ((OpenclKernel *)l->kernel)->kernel;
    cl_int r = SUCCESS;
    for (uint32_t i = 0; i < l->n_args && r == SUCCESS; i++)
        r = d->api.kernel_arg(k, i, l->args[i].size, l->args[i].at);
    if (r == SUCCESS && l->shared_bytes) /* OpenCL's form of it: a last argument of that size */
        r = d->api.kernel_arg(k, l->n_args, l->shared_bytes, NULL);
    if (!tessi_opencl_check(r, "give a kernel its arguments", f))
        return false;
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = (size_t)l->block[i];
        global[i] = (size_t)l->grid[i] * local[i];
    }
    r = d->api.launch(q, k, 3, NULL, global, local, 0, NULL, NULL);
    return tessi_opencl_check(r, "start a kernel", f);
}

bool tessi_opencl_launch(Device *base, const DeviceLaunch *l, DeviceStream stream, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    mtx_lock(&d->launching);
    bool ok = launch_locked(d, l, stream ? stream : d->queue, f);
    mtx_unlock(&d->launching);
    return ok;
}
