/* A text of kernels as modules: kernels share what stands before them alone, so where the text is long each is compiled
 * without the others, side by side. */
#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"
#include "rt/thread.h"

/* Bytes of kernels that are worth a module of their own, which costs its compiler the prelude once more. */
enum { LEAST_TEXT = 12 << 10 };

bool tessi_gpu_has_variables(const EmitModule *m)
{
    VEC_FOREACH (const char *const, symbol, &m->symbols)
        if (*symbol)
            return true;
    return false;
}

/* Where part i of a text of n bytes begins; behind the last, where the text ends. */
static size_t begin_of(const EmitModule *e, uint32_t i, size_t n)
{
    return i < e->parts.n ? e->parts.at[i] : n;
}

/* Kernels that stand behind each other share a module until they are enough for one. Variables would be there in each
 * module. NVRTC alone was tried with texts side by side; where the device is the processor no core is to spare. */
static void divide(GpuModules *m, const GpuCode *code)
{
    const EmitModule *e = code->emitted;
    const size_t n = strlen(code->text), all = n - begin_of(e, 0, n);
    size_t least = all / GPU_MOST_MODULES + 1;
    least = least < LEAST_TEXT ? LEAST_TEXT : least;
    const bool whole =
        !tessi_device_info(code->context->device)->builds_beside || tessi_gpu_has_variables(e);
    *m = (GpuModules){ .n = 1 };
    for (uint32_t i = 1; i < e->parts.n && !whole; i++)
        if (begin_of(e, i, n) - begin_of(e, m->first[m->n - 1], n) >= least)
            m->first[m->n++] = i;
    m->first[m->n] = e->parts.n;
}

typedef struct Compilation {
    Device *device;
    DeviceBuild job;
    char *text; /* of this module; NULL: the whole */
    DeviceResident *resident;
    DeviceModule *module;
    Failure failure;
    RtThread thread;
    bool started, ok;
} Compilation;

static int compile(void *user)
{
    Compilation *c = user;
    c->ok = tessi_device_build(c->device, &c->job, &c->module, &c->failure);
    return 0;
}

/* What stands before all kernels, and those of module i. */
static char *text_of(const GpuModules *m, const GpuCode *code, uint32_t i)
{
    const EmitModule *e = code->emitted;
    const size_t n = strlen(code->text), head = begin_of(e, 0, n),
                 from = begin_of(e, m->first[i], n), to = begin_of(e, m->first[i + 1], n);
    char *text = malloc(head + (to - from) + 1);
    if (!text)
        return NULL;
    memcpy(text, code->text, head);
    memcpy(text + head, code->text + from, to - from);
    text[head + (to - from)] = '\0';
    return text;
}

static bool is_in(const GpuModules *m, uint32_t i, const GpuKernel *k)
{
    return m->first[i] <= k->part && k->part < m->first[i + 1];
}

static bool prepare(Compilation *c, const GpuModules *m, const GpuCode *code, uint32_t i)
{
    const EmitModule *e = code->emitted;
    c->device = code->context->device;
    c->resident = calloc(e->kernels.n + 1, sizeof *c->resident);
    c->text = m->n > 1 ? text_of(m, code, i) : NULL;
    if (!c->resident || (m->n > 1 && !c->text))
        return tessi_failf(&c->failure, TESS_ERROR_MEMORY, "out of memory");
    c->job.text = c->text ? c->text : code->text;
    c->job.resident = c->resident;
    VEC_FOREACH (const GpuKernel, k, &e->kernels)
        if (k->resident && is_in(m, i, k))
            c->resident[c->job.n_resident++] = (DeviceResident){ k->name, k->resident };
    return true;
}

static void dispose(Compilation *c)
{
    free(c->job.log); /* its first error is in the sentence */
    free(c->text);
    free(c->resident);
}

bool tessi_gpu_modules_build(GpuModules *m, const GpuCode *code, const RtCache *cache, bool recall,
                             bool *cached, Failure *f)
{
    Compilation all[GPU_MOST_MODULES] = { 0 };
    divide(m, code);
    for (uint32_t i = 0; i < m->n; i++) {
        Compilation *c = &all[i];
        c->job = (DeviceBuild){ .cache = cache, .recall = recall };
        if (!prepare(c, m, code, i))
            continue;
        /* The last is this thread's own; what is in the cache takes none of them long. */
        c->started = !recall && i + 1 < m->n && tessi_thread_start(&c->thread, compile, c);
        if (!c->started)
            compile(c);
    }
    bool ok = *cached = true;
    for (uint32_t i = 0; i < m->n; i++) {
        Compilation *c = &all[i];
        if (c->started)
            tessi_thread_join(&c->thread);
        if (!c->ok && ok)
            *f = c->failure;
        ok = ok && c->ok;
        *cached = *cached && c->job.cached;
        m->at[i] = c->module;
        dispose(c);
    }
    if (!ok)
        tessi_gpu_modules_free(m, code->context->device);
    return ok;
}

DeviceModule *tessi_gpu_module_of(const GpuModules *m, const GpuKernel *kernel)
{
    uint32_t i = 0;
    while (i + 1 < m->n && !is_in(m, i, kernel))
        i++;
    return m->at[i];
}

void tessi_gpu_modules_free(GpuModules *m, Device *d)
{
    for (uint32_t i = 0; i < m->n; i++)
        tessi_device_module_free(d, m->at[i]);
    *m = (GpuModules){ 0 };
}
