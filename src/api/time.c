/* Measuring runs and copies, for benches: on devices between two events, else by the clock. */
#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"

static bool run_in_turn(tess_program *p, tess_args *const *args, size_t n, int runs, Failure *f)
{
    for (int i = 0; i < runs; i++) {
        tess_args *a = args[(size_t)i % n];
        if (tess_run(p, a, NULL) != TESS_OK) {
            *f = a->failure;
            return false;
        }
    }
    return true;
}

bool tessi_time_on_device(Device *d, bool (*work)(void *user, Failure *f), void *user, double *ms,
                          Failure *f)
{
    DeviceEvent from = NULL, to = NULL;
    bool ok = tessi_device_record(d, NULL, &from, f) && work(user, f)
              && tessi_device_record(d, NULL, &to, f) && tessi_device_elapsed(d, from, to, ms, f);
    if (!ok)
        tessi_device_synchronise(d, NULL, NULL);
    tessi_device_event_free(d, from);
    tessi_device_event_free(d, to);
    return ok;
}

typedef struct Runs {
    tess_program *p;
    tess_args *const *args;
    size_t n;
    int runs;
} Runs;

static bool do_runs(void *user, Failure *f)
{
    const Runs *r = user;
    return run_in_turn(r->p, r->args, r->n, r->runs, f);
}

tess_status tess_time_runs(tess_program *p, tess_args *const *args, size_t n, int runs, double *ms)
{
    if (!p || !args || !n || runs < 1 || !ms)
        return TESS_ERROR_ARGUMENT;
    Failure f = { 0 };
    double all = 0;
    Runs work = { p, args, n, runs };
    const bool ok = p->backend->time(p, do_runs, &work, &all, &f);
    *ms = all / runs;
    tessi_program_failure(p, &f);
    return ok ? TESS_OK : (tess_status)f.status;
}

/* ---- The plain copy -------------------------------------------------------------------------- */
/* By a kernel, 16 bytes a thread: what can be reached where the driver's own copy is slower. */
enum { COPY_THREADS = 256, COPY_BYTES = 16, MOST_PAIRS = 64, REPEATS = 5 };

typedef struct Copier {
    Device *d;
    size_t half; /* bytes of a buffer */
    size_t n;    /* pairs */
    int runs;
    bool by_driver; /* not by our kernel */
    DeviceBuffer from[MOST_PAIRS], to[MOST_PAIRS];
    DeviceModule *module;
    DeviceKernel *kernel;
    DeviceGraph *graph[MOST_PAIRS];
    size_t pair; /* to be copied next */
} Copier;

static bool put_copy(void *user, DeviceStream stream, Failure *f)
{
    Copier *c = user;
    if (c->by_driver) {
        const DeviceCopy copy = { .way = DEVICE_WITHIN,
                                  .to = c->to[c->pair].handle,
                                  .from = c->from[c->pair].handle,
                                  .row_bytes = c->half,
                                  .rows = 1 };
        return tessi_device_copy(c->d, &copy, stream, f);
    }
    uint32_t n = (uint32_t)(c->half / COPY_BYTES);
    const DeviceArg args[] = { { &c->from[c->pair].handle, sizeof(void *) },
                               { &c->to[c->pair].handle, sizeof(void *) },
                               { &n, sizeof n } };
    const DeviceLaunch launch = { .kernel = c->kernel,
                                  .grid = { (n + COPY_THREADS - 1) / COPY_THREADS, 1, 1 },
                                  .block = { COPY_THREADS, 1, 1 },
                                  .args = args,
                                  .n_args = 3 };
    return tessi_device_launch(c->d, &launch, stream, f);
}

static bool do_copies(void *user, Failure *f)
{
    Copier *c = user;
    for (int i = 0; i < c->runs; i++) {
        c->pair = (size_t)i % c->n;
        const bool ok = c->graph[c->pair]
                            ? tessi_device_graph_launch(c->d, c->graph[c->pair], NULL, f)
                            : put_copy(c, NULL, f);
        if (!ok)
            return false;
    }
    return true;
}

/* As graphs where runs are graphs. */
static bool record_copies(Copier *c, Failure *f)
{
    for (c->pair = 0; c->pair < c->n; c->pair++) {
        tessi_device_graph_free(c->d, c->graph[c->pair]);
        c->graph[c->pair] = NULL;
        if (tessi_device_info(c->d)->has_graphs
            && !tessi_device_graph_new(c->d, put_copy, c, &c->graph[c->pair], f))
            return false;
    }
    return true;
}

static bool best_copy(Copier *c, tess_program *p, double *ms, Failure *f)
{
    DeviceBuild job = { .text = p->backend->device->copy_text, .cache = &p->cache };
    const bool built = tessi_device_build(c->d, &job, &c->module, f);
    free(job.log);
    if (!built || !tessi_device_kernel(c->d, c->module, "tess_copy", &c->kernel, f))
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (!tessi_device_alloc(c->d, c->half, &c->from[i], f)
            || !tessi_device_alloc(c->d, c->half, &c->to[i], f)
            || !tessi_device_fill(c->d, c->from[i].handle, 0, c->half, 1, NULL, f))
            return false;
    *ms = 1e300;
    for (int way = 0; way < 2; way++) {
        c->by_driver = way == 1;
        double all = 0;
        if (!record_copies(c, f))
            return false;
        for (int i = 0; i <= REPEATS; i++) { /* the first warms up */
            if (!tessi_time_on_device(c->d, do_copies, c, &all, f))
                return false;
            if (i > 0 && all / c->runs < *ms)
                *ms = all / c->runs;
        }
    }
    return true;
}

static void dispose_copier(Copier *c)
{
    for (size_t i = 0; i < c->n; i++) {
        tessi_device_graph_free(c->d, c->graph[i]);
        tessi_device_free(c->d, &c->from[i]);
        tessi_device_free(c->d, &c->to[i]);
    }
    tessi_device_kernel_free(c->d, c->kernel);
    tessi_device_module_free(c->d, c->module);
}

static GpuContext *own_context(tess_program *p, Failure *f)
{
    mtx_lock(&p->lock);
    GpuContext *c = tessi_gpu_default_context(p, f);
    mtx_unlock(&p->lock);
    return c;
}

tess_status tess_time_copy(tess_program *p, size_t bytes, size_t n_pairs, int runs, double *ms)
{
    if (!p || bytes < 1 || !n_pairs || runs < 1 || !ms || !p->backend->device)
        return TESS_ERROR_ARGUMENT;
    Failure f = { 0 };
    GpuContext *context = own_context(p, &f);
    Copier *c = calloc(1, sizeof *c);
    bool ok = context && c;
    if (!c)
        tessi_failf(&f, TESS_ERROR_MEMORY, "out of memory");
    if (ok) {
        c->d = context->device;
        c->half = (bytes / 2 + COPY_BYTES - 1) / COPY_BYTES * COPY_BYTES;
        c->n = n_pairs < MOST_PAIRS ? n_pairs : MOST_PAIRS;
        c->runs = runs;
        mtx_lock(&p->lock);
        tessi_open_cache(p);
        mtx_unlock(&p->lock);
        ok = best_copy(c, p, ms, &f);
        dispose_copier(c);
    }
    free(c);
    tessi_program_failure(p, &f);
    return ok ? TESS_OK : (tess_status)f.status;
}
