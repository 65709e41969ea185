/* A device through the CUDA driver API: context, memory, streams, events, graphs. */
#include "rt/cuda.h"
#include "tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the driver's interface. */
enum {
    ATTRIBUTE_BLOCK_THREADS = 1,
    ATTRIBUTE_BLOCK_X = 2,
    ATTRIBUTE_GRID_X = 5,
    ATTRIBUTE_CONSTANT = 9,
    ATTRIBUTE_WARP = 10,
    ATTRIBUTE_CLOCK_KHZ = 13,
    ATTRIBUTE_UNITS = 16,
    ATTRIBUTE_INTEGRATED = 18,
    ATTRIBUTE_MEMORY_KHZ = 36,
    ATTRIBUTE_BUS_BITS = 37,
    ATTRIBUTE_L2 = 38,
    ATTRIBUTE_UNIT_THREADS = 39,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_UNIT_SHARED = 81,
    ATTRIBUTE_UNIT_REGISTERS = 82,
    ATTRIBUTE_SHARED = 97, /* of a block that asks for it */
    POINTER_CONTEXT = 1,
    POINTER_DEVICE = 9,
    MEMORY_HOST = 1,
    MEMORY_DEVICE = 2,
    STREAM_NON_BLOCKING = 1,
    CAPTURE_THREAD_LOCAL = 1,
    LAST_SPECIAL_STREAM = 2 /* handles 1 and 2: the legacy and the per-thread default stream */
};

bool tessi_cuda_check(const CudaDriver *api, CUresult r, const char *what, Failure *f)
{
    if (r == CUDA_OK)
        return true;
    const char *name = NULL, *text = NULL;
    if (api->error_name(r, &name) != CUDA_OK || !name)
        name = "unknown error";
    if (api->error_string(r, &text) != CUDA_OK || !text)
        text = "no reason given";
    return tessi_failf(f, r == CUDA_OUT_OF_MEMORY ? TESS_ERROR_MEMORY : TESS_ERROR_DEVICE,
                       "CUDA cannot %s: %s (%s)", what, text, name);
}

bool tessi_cuda_enter(CudaDevice *d, Failure *f)
{
    return tessi_cuda_check(&d->api, d->api.context_push(d->context), "use its context", f);
}

void tessi_cuda_leave(CudaDevice *d)
{
    CUcontext popped;
    d->api.context_pop(&popped);
}

static CUdeviceptr device_address(const void *handle)
{
    return (CUdeviceptr)(uintptr_t)handle;
}

/* ---- Memory ---- */

static bool alloc(Device *base, size_t bytes, DeviceBuffer *b, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    CUdeviceptr p = 0;
    char what[64];
    snprintf(what, sizeof what, "allocate %zu bytes", bytes);
    bool ok = tessi_cuda_check(&d->api, d->api.memory_alloc(&p, bytes), what, f);
    tessi_cuda_leave(d);
    if (ok)
        *b = (DeviceBuffer){ (void *)(uintptr_t)p, bytes };
    return ok;
}

static void free_buffer(Device *base, DeviceBuffer *b)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, NULL))
        return;
    d->api.memory_free(device_address(b->handle));
    tessi_cuda_leave(d);
}

static bool part(Device *d, void *whole, size_t offset, size_t bytes, DeviceBuffer *b, Failure *f)
{
    (void)d;
    (void)f;
    *b = (DeviceBuffer){ (char *)whole + offset, bytes };
    return true;
}

static void part_free(Device *d, DeviceBuffer *b)
{
    (void)d;
    (void)b; /* an address, nothing more */
}

CUresult tessi_cuda_copy_linear(const CudaDevice *d, const DeviceCopy *c, CUstream stream)
{
    const size_t n = c->row_bytes * c->rows;
    char *to = (char *)c->to + c->to_offset, *from = (char *)c->from + c->from_offset;
    switch (c->way) {
    case DEVICE_TO_DEVICE: return d->api.copy_to_device(device_address(to), from, n, stream);
    case DEVICE_TO_HOST: return d->api.copy_to_host(to, device_address(from), n, stream);
    case DEVICE_WITHIN: break;
    }
    return d->api.copy_on_device(device_address(to), device_address(from), n, stream);
}

static CUresult copy_rows(const CudaDevice *d, const DeviceCopy *c, CUstream stream)
{
    const char *from = (const char *)c->from + c->from_offset;
    char *to = (char *)c->to + c->to_offset;
    CudaCopy2D job = { .from_pitch = c->from_stride,
                       .to_pitch = c->to_stride,
                       .width = c->row_bytes,
                       .height = c->rows,
                       .from_type = c->way == DEVICE_TO_DEVICE ? MEMORY_HOST : MEMORY_DEVICE,
                       .to_type = c->way == DEVICE_TO_HOST ? MEMORY_HOST : MEMORY_DEVICE };
    if (c->way == DEVICE_TO_DEVICE)
        job.from_host = from;
    else
        job.from_device = device_address(from);
    if (c->way == DEVICE_TO_HOST)
        job.to_host = to;
    else
        job.to_device = device_address(to);
    return d->api.copy_2d(&job, stream);
}

static bool copy(Device *base, const DeviceCopy *c, DeviceStream stream, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    DeviceCopy whole = *c;
    bool done = false;
    if (c->to_stride == c->row_bytes && c->from_stride == c->row_bytes) {
        whole.row_bytes *= whole.rows;
        whole.rows = 1;
    }
    CUresult r = CUDA_OK;
    if (tessi_cuda_stages(d, &whole))
        r = tessi_cuda_stage_copy(d, &whole, stream, &done);
    if (!done)
        r = whole.rows == 1 ? tessi_cuda_copy_linear(d, &whole, stream)
                            : copy_rows(d, &whole, stream);
    bool ok = tessi_cuda_check(&d->api, r, "copy an image", f);
    tessi_cuda_leave(d);
    return ok;
}

/* Copies go over the link between the devices where they have one; else the driver takes them through the host. */
static void ask_for_access(CudaDevice *d, const CudaDevice *peer)
{
    const uint64_t bit = UINT64_C(1) << (peer->device & 63);
    int can = 0;
    if (d->asked & bit || d->context == peer->context || !d->api.can_access_peer
        || !d->api.enable_peer)
        return;
    d->asked |= bit;
    if (d->api.can_access_peer(&can, d->device, peer->device) == CUDA_OK && can)
        d->api.enable_peer(peer->context, 0); /* it may have been enabled by others: the same */
}

static bool peer(const DevicePeerCopy *c, Failure *f)
{
    CudaDevice *to = (CudaDevice *)c->to_device, *from = (CudaDevice *)c->from_device;
    const CUdeviceptr target = device_address(c->to) + c->to_offset;
    const CUdeviceptr source = device_address(c->from) + c->from_offset;
    if (!tessi_cuda_enter(to, f))
        return false;
    ask_for_access(to, from);
    const bool within = to->context == from->context || !to->api.copy_peer;
    const CUresult r = within ? to->api.copy_on_device(target, source, c->bytes, c->to_stream)
                              : to->api.copy_peer(target, to->context, source, from->context,
                                                  c->bytes, c->to_stream);
    const bool ok = tessi_cuda_check(&to->api, r, "copy from one device to another", f);
    tessi_cuda_leave(to);
    return ok;
}

static bool fill(Device *base, void *buffer, size_t offset, size_t bytes, uint8_t value,
                 DeviceStream stream, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    CUresult r = d->api.fill(device_address(buffer) + offset, value, bytes, stream);
    bool ok = tessi_cuda_check(&d->api, r, "fill a buffer", f);
    tessi_cuda_leave(d);
    return ok;
}

/* ---- Streams and events ---- */

static bool stream_new(Device *base, DeviceStream *stream, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok = tessi_cuda_check(&d->api, d->api.stream_create(stream, STREAM_NON_BLOCKING),
                               "make a stream", f);
    tessi_cuda_leave(d);
    return ok;
}

static void stream_free(Device *base, DeviceStream stream)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, NULL))
        return;
    d->api.stream_destroy(stream);
    tessi_cuda_leave(d);
}

static bool synchronise(Device *base, DeviceStream stream, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok = tessi_cuda_check(&d->api, d->api.stream_synchronise(stream), "finish its work", f);
    tessi_cuda_leave(d);
    return ok;
}

static bool flush(Device *d, DeviceStream stream, Failure *f)
{
    (void)d;
    (void)stream;
    (void)f; /* work starts when it is enqueued */
    return true;
}

static bool record(Device *base, DeviceStream stream, DeviceEvent *event, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok =
        *event || tessi_cuda_check(&d->api, d->api.event_create(event, 0), "make an event", f);
    ok = ok && tessi_cuda_check(&d->api, d->api.event_record(*event, stream), "record an event", f);
    tessi_cuda_leave(d);
    return ok;
}

static bool wait_event(Device *base, DeviceEvent event, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok = tessi_cuda_check(&d->api, d->api.event_synchronise(event), "finish its work", f);
    tessi_cuda_leave(d);
    return ok;
}

static bool await_event(Device *base, DeviceStream stream, DeviceEvent event, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok =
        tessi_cuda_check(&d->api, d->api.stream_wait(stream, event, 0), "order two streams", f);
    tessi_cuda_leave(d);
    return ok;
}

static bool elapsed(Device *base, DeviceEvent from, DeviceEvent to, double *ms, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    float measured = 0;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok = tessi_cuda_check(&d->api, d->api.event_synchronise(to), "finish its work", f)
              && tessi_cuda_check(&d->api, d->api.event_elapsed(&measured, from, to),
                                  "measure its time", f);
    tessi_cuda_leave(d);
    *ms = (double)measured;
    return ok;
}

static void event_free(Device *base, DeviceEvent event)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, NULL))
        return;
    d->api.event_destroy(event);
    tessi_cuda_leave(d);
}

/* ---- Graphs ---- */

struct DeviceGraph {
    CUgraphExec exec;
};

/* Everything that `put` enqueues, as a graph; the capture is ended whatever happens. */
static bool capture(CudaDevice *d, bool (*put)(void *, DeviceStream, Failure *), void *user,
                    CUstream stream, CUgraph *graph, Failure *f)
{
    if (!tessi_cuda_check(&d->api, d->api.capture_begin(stream, CAPTURE_THREAD_LOCAL),
                          "record its work", f))
        return false;
    bool ok = put(user, stream, f);
    return tessi_cuda_check(&d->api, d->api.capture_end(stream, graph), "record its work",
                            ok ? f : NULL)
           && ok;
}

static bool graph_new(Device *base, bool (*put)(void *, DeviceStream, Failure *), void *user,
                      DeviceGraph **graph, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    DeviceGraph *g = calloc(1, sizeof *g);
    if (!g)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    DeviceStream stream = NULL;
    CUgraph captured = NULL;
    bool ok = stream_new(base, &stream, f) && tessi_cuda_enter(d, f);
    if (ok) {
        ok = capture(d, put, user, stream, &captured, f)
             && tessi_cuda_check(&d->api, d->api.graph_instantiate(&g->exec, captured, 0),
                                 "prepare its recorded work", f);
        if (captured)
            d->api.graph_destroy(captured);
        tessi_cuda_leave(d);
    }
    if (stream)
        stream_free(base, stream);
    if (ok)
        *graph = g;
    else
        free(g);
    return ok;
}

static bool graph_launch(Device *base, DeviceGraph *g, DeviceStream stream, Failure *f)
{
    CudaDevice *d = (CudaDevice *)base;
    if (!tessi_cuda_enter(d, f))
        return false;
    bool ok = tessi_cuda_check(&d->api, d->api.graph_launch(g->exec, stream), "start its work", f);
    tessi_cuda_leave(d);
    return ok;
}

static void graph_free(Device *base, DeviceGraph *g)
{
    CudaDevice *d = (CudaDevice *)base;
    if (tessi_cuda_enter(d, NULL)) {
        d->api.graph_exec_destroy(g->exec);
        tessi_cuda_leave(d);
    }
    free(g);
}

/* ---- Opening ---- */

static bool is_special(const void *stream)
{
    return (uintptr_t)stream <= LAST_SPECIAL_STREAM;
}

static bool owns(Device *base, DeviceStream stream, void *buffer)
{
    CudaDevice *d = (CudaDevice *)base;
    CUcontext context = d->context;
    if (!is_special(stream)
        && (d->api.stream_context(stream, &context) != CUDA_OK || context != d->context))
        return false;
    if (!buffer)
        return true;
    context = NULL;
    if (d->api.pointer_attribute(&context, POINTER_CONTEXT, device_address(buffer)) == CUDA_OK
        && context)
        return context == d->context;
    int number = -1; /* memory of pools belongs to a device and no context */
    return d->api.pointer_attribute(&number, POINTER_DEVICE, device_address(buffer)) == CUDA_OK
           && number == d->base.info.number;
}

static void close_device(Device *base)
{
    CudaDevice *d = (CudaDevice *)base;
    tessi_cuda_stage_free(d);
    if (d->retained)
        d->api.context_release(d->device);
    free(d);
}

static const DeviceOps cuda_ops = {
    .close = close_device,
    .owns = owns,
    .alloc = alloc,
    .part = part,
    .part_free = part_free,
    .free = free_buffer,
    .copy = copy,
    .peer = peer,
    .fill = fill,
    .build = tessi_cuda_build,
    .module_free = tessi_cuda_module_free,
    .kernel = tessi_cuda_kernel,
    .kernel_free = tessi_cuda_kernel_free,
    .variable = tessi_cuda_variable,
    .launch = tessi_cuda_launch,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .synchronise = synchronise,
    .flush = flush,
    .record = record,
    .wait = wait_event,
    .await = await_event,
    .elapsed = elapsed,
    .event_free = event_free,
    .graph_new = graph_new,
    .graph_launch = graph_launch,
    .graph_free = graph_free,
};

static int64_t attribute(const CudaDevice *d, int number)
{
    int value = 0;
    return d->api.device_attribute(&value, number, d->device) == CUDA_OK && value > 0 ? value : 0;
}

/* What a multiprocessor has and can do, and how fast it is fed. */
static void fill_units(const CudaDevice *d, DeviceInfo *info)
{
    /* Two transfers a clock on each line of the bus. */
    info->memory_gbs = 2e-6 * (double)attribute(d, ATTRIBUTE_MEMORY_KHZ)
                       * (double)attribute(d, ATTRIBUTE_BUS_BITS) / 8;
    info->cache_bytes = (uint64_t)attribute(d, ATTRIBUTE_L2);
    info->unit_shared_bytes = attribute(d, ATTRIBUTE_UNIT_SHARED);
    info->unit_threads = attribute(d, ATTRIBUTE_UNIT_THREADS);
    info->unit_registers = attribute(d, ATTRIBUTE_UNIT_REGISTERS);
    const int64_t major = attribute(d, ATTRIBUTE_MAJOR);
    info->pair_choices = major >= 9;
    /* As measured on an H200, with what feeds them. The units of sm_80 have half as many by their description: nobody
     * measured these. */
    info->products_per_cycle = major >= 9 ? 1500 : major == 8 ? 750 : 0;
}

bool tessi_cuda_fill_units(const CudaDriver *driver, DeviceInfo *info)
{
    CudaDevice d = { .api = *driver };
    int n = 0;
    if (driver->init(0) != CUDA_OK || driver->device_count(&n) != CUDA_OK)
        return false;
    for (int i = 0; i < n; i++) {
        char name[sizeof info->name] = "";
        if (driver->device_get(&d.device, i) == CUDA_OK
            && driver->device_name(name, sizeof name, d.device) == CUDA_OK
            && strcmp(name, info->name) == 0) {
            fill_units(&d, info);
            return true;
        }
    }
    return false;
}

static void fill_info(CudaDevice *d)
{
    DeviceInfo *info = &d->base.info;
    int version = 0;
    size_t bytes = 0;
    if (d->api.device_name(info->name, sizeof info->name, d->device) != CUDA_OK)
        snprintf(info->name, sizeof info->name, "CUDA device %d", info->number);
    if (d->api.driver_version(&version) == CUDA_OK)
        snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", version / 1000,
                 version % 1000 / 10);
    if (d->api.device_memory(&bytes, d->device) == CUDA_OK)
        info->memory_bytes = info->largest_buffer_bytes = bytes;
    snprintf(info->arch, sizeof info->arch, "sm_%d%d", (int)attribute(d, ATTRIBUTE_MAJOR),
             (int)attribute(d, ATTRIBUTE_MINOR));
    info->has_graphs = d->api.capture_begin && d->api.capture_end && d->api.graph_instantiate
                       && d->api.graph_launch && d->api.graph_exec_destroy && d->api.graph_destroy;
    info->shares_memory = attribute(d, ATTRIBUTE_INTEGRATED) != 0;
    info->compute_units = (int)attribute(d, ATTRIBUTE_UNITS);
    info->warp_threads = (int)attribute(d, ATTRIBUTE_WARP);
    info->ghz = (double)attribute(d, ATTRIBUTE_CLOCK_KHZ) * 1e-6;
    fill_units(d, info);
    info->constant_bytes = (uint64_t)attribute(d, ATTRIBUTE_CONSTANT);
    info->shared_bytes = attribute(d, ATTRIBUTE_SHARED);
    info->block_threads = attribute(d, ATTRIBUTE_BLOCK_THREADS);
    for (int k = 0; k < 3; k++) {
        info->block_size[k] = attribute(d, ATTRIBUTE_BLOCK_X + k);
        info->grid_size[k] = attribute(d, ATTRIBUTE_GRID_X + k);
    }
    info->align_bytes = 1;
    info->addresses = true;
    info->builds_beside = true;
}

/* The context that a stream or buffer of the caller belongs to, and its device. */
static bool adopt(CudaDevice *d, DeviceStream stream, void *buffer, Failure *f)
{
    CUresult r = !is_special(stream) ? d->api.stream_context(stream, &d->context)
                                     : d->api.pointer_attribute(&d->context, POINTER_CONTEXT,
                                                                device_address(buffer));
    if (!tessi_cuda_check(&d->api, r,
                          !is_special(stream) ? "find the context of the stream"
                                              : "find the context of the memory that was given",
                          f)
        || !tessi_cuda_enter(d, f))
        return false;
    bool ok = tessi_cuda_check(&d->api, d->api.context_device(&d->device), "find its device", f);
    tessi_cuda_leave(d);
    d->base.info.number = d->device;
    return ok;
}

static bool open_number(CudaDevice *d, int number, Failure *f)
{
    int n = 0;
    CUresult r = d->api.device_count(&n);
    if (r == CUDA_OK && n == 0)
        r = CUDA_NO_DEVICE;
    if (!tessi_cuda_check(&d->api, r, "find a device", f))
        return false;
    if (number < 0 || number >= n)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "there is no CUDA device %d; this machine has %d, counted from 0",
                           number, n);
    d->base.info.number = number;
    d->retained =
        tessi_cuda_check(&d->api, d->api.device_get(&d->device, number), "find the device", f)
        && tessi_cuda_check(&d->api, d->api.context_retain(&d->context, d->device),
                            "make a context", f);
    return d->retained;
}

bool tessi_cuda_open_with(const CudaDriver *driver, const Nvrtc *nvrtc, int number,
                          DeviceStream stream, void *buffer, Device **device, Failure *f)
{
    CudaDevice *d = calloc(1, sizeof *d);
    if (!d)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    d->base.ops = &cuda_ops;
    d->base.info.kind = DEVICE_CUDA;
    d->api = *driver;
    d->nvrtc = nvrtc;
    const bool given = !is_special(stream) || buffer;
    bool ok = tessi_cuda_check(driver, driver->init(0), "start", f)
              && (given ? adopt(d, stream, buffer, f) : open_number(d, number, f));
    if (!ok) {
        close_device(&d->base);
        return false;
    }
    fill_info(d);
    *device = &d->base;
    return true;
}

bool tessi_cuda_open(int number, DeviceStream stream, void *buffer, Device **device, Failure *f)
{
    CudaDriver driver;
    return tessi_cuda_load_driver(&driver, f)
           && tessi_cuda_open_with(&driver, NULL, number, stream, buffer, device, f);
}
