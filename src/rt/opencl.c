/* A device through OpenCL 1.2: context, memory, queues, events. */
#include "rt/opencl.h"
#include "rt/cpu.h"
#include "rt/cuda.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the standard. */
enum {
    SUCCESS = 0,
    DEVICE_NOT_FOUND = -1,
    ALLOCATION_FAILED = -4,
    OUT_OF_RESOURCES = -5,
    OUT_OF_HOST_MEMORY = -6,
    INVALID_BUFFER_SIZE = -61,
    NO_PLATFORM = -1001,

    TYPE_CPU = 2,
    TYPE_GPU = 4,
    TYPE_ACCELERATOR = 8,
    PLATFORM_VERSION = 0x0901,
    PLATFORM_NAME = 0x0902,
    DEVICE_TYPE = 0x1000,
    DEVICE_VENDOR = 0x1001,
    DEVICE_UNITS = 0x1002,
    DEVICE_GROUP_SIZE = 0x1004,
    DEVICE_ITEM_SIZES = 0x1005,
    DEVICE_CLOCK = 0x100C,
    DEVICE_LARGEST_BUFFER = 0x1010,
    DEVICE_ALIGN_BITS = 0x1019,
    DEVICE_CACHE = 0x101E,
    DEVICE_MEMORY = 0x101F,
    DEVICE_CONSTANT = 0x1020,
    DEVICE_LOCAL = 0x1023,
    DEVICE_NAME = 0x102B,
    DEVICE_DRIVER = 0x102D,
    DEVICE_VERSION = 0x102F,
    DEVICE_SINGLE_FP = 0x101B,
    DEVICE_PLATFORM = 0x1031,
    DEVICE_UNIFIED = 0x1035,
    DEVICE_C_VERSION = 0x103D,
    FP_ROUNDED_DIVIDE = 1 << 7,

    CONTEXT_DEVICES = 0x1081,
    QUEUE_CONTEXT = 0x1090,
    QUEUE_DEVICE = 0x1091,
    QUEUE_PROFILING = 2,
    MEMORY_CONTEXT = 0x1106,
    MEMORY_READ_WRITE = 1,
    CREATE_REGION = 0x1220,
    MIGRATE_UNDEFINED = 2,
    EVENT_STATUS = 0x11D3,
    TIME_END = 0x1283,
    VENDOR_NVIDIA = 0x10DE,
    MOST_PLATFORMS = 16,
    MOST_DEVICES = 64
};

bool tessi_opencl_check(cl_int r, const char *what, Failure *f)
{
    const char *why = NULL;
    switch (r) {
    case SUCCESS: return true;
#define E(code, text) \
    case code:        \
        why = text;   \
        break;
#include "rt/opencl_errors.def"
#undef E
    }
    const bool memory =
        r == ALLOCATION_FAILED || r == OUT_OF_HOST_MEMORY || r == INVALID_BUFFER_SIZE;
    return tessi_failf(f, memory ? TESS_ERROR_MEMORY : TESS_ERROR_DEVICE,
                       "OpenCL cannot %s: %s (error %" PRId32 ")", what,
                       why ? why : "the driver gives no reason", r);
}

static cl_queue queue_of(const OpenclDevice *d, DeviceStream stream)
{
    return stream ? stream : d->queue;
}

/* ---- Memory ---- */

static bool alloc(Device *base, size_t bytes, DeviceBuffer *b, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    char what[64];
    snprintf(what, sizeof what, "allocate %zu bytes", bytes);
    cl_int r = SUCCESS;
    cl_mem m = d->api.buffer_create(d->context, MEMORY_READ_WRITE, bytes, NULL, &r);
    if (!m || r != SUCCESS)
        return tessi_opencl_check(r ? r : ALLOCATION_FAILED, what, f);
    /* Drivers may put off the allocation until first use, and fail then. */
    r = d->api.migrate(d->queue, 1, &m, MIGRATE_UNDEFINED, 0, NULL, NULL);
    if (r == OUT_OF_RESOURCES)
        r = ALLOCATION_FAILED;
    if (!tessi_opencl_check(r, what, f)) {
        d->api.memory_release(m);
        return false;
    }
    *b = (DeviceBuffer){ m, bytes };
    return true;
}

static void free_buffer(Device *base, DeviceBuffer *b)
{
    OpenclDevice *d = (OpenclDevice *)base;
    d->api.memory_release(b->handle);
}

static bool part(Device *base, void *whole, size_t offset, size_t bytes, DeviceBuffer *b,
                 Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    const size_t region[2] = { offset, bytes };
    cl_int r = SUCCESS;
    cl_mem m = d->api.part_create(whole, 0, CREATE_REGION, region, &r);
    if (!tessi_opencl_check(m ? r : r ? r : ALLOCATION_FAILED, "use a part of a buffer", f))
        return false;
    *b = (DeviceBuffer){ m, bytes };
    return true;
}

static void part_free(Device *base, DeviceBuffer *b)
{
    ((OpenclDevice *)base)->api.memory_release(b->handle);
}

static cl_int copy_linear(const OpenclDevice *d, const DeviceCopy *c, cl_queue q)
{
    const size_t n = c->row_bytes * c->rows;
    switch (c->way) {
    case DEVICE_TO_DEVICE:
        return d->api.write(q, c->to, 0, c->to_offset, n, (const char *)c->from + c->from_offset, 0,
                            NULL, NULL);
    case DEVICE_TO_HOST:
        return d->api.read(q, c->from, 0, c->from_offset, n, (char *)c->to + c->to_offset, 0, NULL,
                           NULL);
    case DEVICE_WITHIN: break;
    }
    return d->api.copy(q, c->from, c->to, c->from_offset, c->to_offset, n, 0, NULL, NULL);
}

static cl_int copy_rows(const OpenclDevice *d, const DeviceCopy *c, cl_queue q)
{
    const size_t region[3] = { c->row_bytes, c->rows, 1 };
    const size_t to[3] = { c->to_offset % c->to_stride, c->to_offset / c->to_stride, 0 };
    const size_t from[3] = { c->from_offset % c->from_stride, c->from_offset / c->from_stride, 0 };
    switch (c->way) {
    case DEVICE_TO_DEVICE:
        return d->api.write_rows(q, c->to, 0, to, from, region, c->to_stride, 0, c->from_stride, 0,
                                 c->from, 0, NULL, NULL);
    case DEVICE_TO_HOST:
        return d->api.read_rows(q, c->from, 0, from, to, region, c->from_stride, 0, c->to_stride, 0,
                                c->to, 0, NULL, NULL);
    case DEVICE_WITHIN: break;
    }
    return d->api.copy_rows(q, c->from, c->to, from, to, region, c->from_stride, 0, c->to_stride, 0,
                            0, NULL, NULL);
}

static bool copy(Device *base, const DeviceCopy *c, DeviceStream stream, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    const bool linear = c->to_stride == c->row_bytes && c->from_stride == c->row_bytes;
    cl_queue q = queue_of(d, stream);
    return tessi_opencl_check(linear ? copy_linear(d, c, q) : copy_rows(d, c, q), "copy an image",
                              f);
}

static bool fill(Device *base, void *buffer, size_t offset, size_t bytes, uint8_t value,
                 DeviceStream stream, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    cl_int r = d->api.fill(queue_of(d, stream), buffer, &value, 1, offset, bytes, 0, NULL, NULL);
    return tessi_opencl_check(r, "fill a buffer", f);
}

/* ---- Queues and events ---- */

static bool stream_new(Device *base, DeviceStream *stream, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    cl_int r = SUCCESS;
    *stream = d->api.queue_create(d->context, d->device, QUEUE_PROFILING, &r);
    return tessi_opencl_check(r, "make a queue", f);
}

static void stream_free(Device *base, DeviceStream stream)
{
    ((OpenclDevice *)base)->api.queue_release(stream);
}

static bool synchronise(Device *base, DeviceStream stream, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    return tessi_opencl_check(d->api.finish(queue_of(d, stream)), "finish its work", f);
}

static bool flush(Device *base, DeviceStream stream, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    return tessi_opencl_check(d->api.flush(queue_of(d, stream)), "start its work", f);
}

static bool record(Device *base, DeviceStream stream, DeviceEvent *event, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    cl_event made = NULL;
    cl_int r = d->api.marker(queue_of(d, stream), 0, NULL, &made);
    if (!tessi_opencl_check(r, "record an event", f))
        return false;
    if (*event)
        d->api.event_release(*event);
    *event = made;
    return true;
}

static bool wait_event(Device *base, DeviceEvent event, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    return tessi_opencl_check(d->api.wait(1, &event), "finish its work", f);
}

static bool await_event(Device *base, DeviceStream stream, DeviceEvent event, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    return tessi_opencl_check(d->api.barrier(queue_of(d, stream), 1, &event, NULL),
                              "order two queues", f);
}

static bool elapsed(Device *base, DeviceEvent from, DeviceEvent to, double *ms, Failure *f)
{
    OpenclDevice *d = (OpenclDevice *)base;
    cl_event events[2] = { from, to };
    cl_ulong at[2] = { 0, 0 };
    bool ok = tessi_opencl_check(d->api.wait(2, events), "finish its work", f);
    for (int i = 0; ok && i < 2; i++)
        ok = tessi_opencl_check(d->api.event_time(events[i], TIME_END, sizeof at[i], &at[i], NULL),
                                "measure its time", f);
    *ms = ok ? (double)(at[1] - at[0]) * 1e-6 : 0;
    return ok;
}

static void event_free(Device *base, DeviceEvent event)
{
    ((OpenclDevice *)base)->api.event_release(event);
}

/* ---- Graphs: OpenCL has none ---- */

static bool graph_new(Device *d, bool (*put)(void *, DeviceStream, Failure *), void *user,
                      DeviceGraph **graph, Failure *f)
{
    (void)d;
    (void)put;
    (void)user;
    (void)graph;
    return tessi_failf(f, TESS_ERROR_INTERNAL, "OpenCL has no graphs");
}

static bool graph_launch(Device *d, DeviceGraph *g, DeviceStream stream, Failure *f)
{
    (void)d;
    (void)g;
    (void)stream;
    return tessi_failf(f, TESS_ERROR_INTERNAL, "OpenCL has no graphs");
}

static void graph_free(Device *d, DeviceGraph *g)
{
    (void)d;
    (void)g;
}

/* ---- Opening ---- */

static cl_context context_of(const OpenclDevice *d, DeviceStream stream, void *buffer)
{
    cl_context c = NULL;
    cl_int r = stream ? d->api.queue_info(stream, QUEUE_CONTEXT, sizeof c, &c, NULL)
                      : d->api.memory_info(buffer, MEMORY_CONTEXT, sizeof c, &c, NULL);
    return r == SUCCESS ? c : NULL;
}

static bool owns(Device *base, DeviceStream stream, void *buffer)
{
    OpenclDevice *d = (OpenclDevice *)base;
    return (!stream || context_of(d, stream, NULL) == d->context)
           && (!buffer || context_of(d, NULL, buffer) == d->context);
}

static void close_device(Device *base)
{
    OpenclDevice *d = (OpenclDevice *)base;
    if (d->queue)
        d->api.queue_release(d->queue);
    if (d->context)
        d->api.context_release(d->context);
    mtx_destroy(&d->launching);
    free(d);
}

static const DeviceOps opencl_ops = {
    .close = close_device,
    .owns = owns,
    .alloc = alloc,
    .part = part,
    .part_free = part_free,
    .free = free_buffer,
    .copy = copy,
    .fill = fill,
    .build = tessi_opencl_build,
    .module_free = tessi_opencl_module_free,
    .kernel = tessi_opencl_kernel,
    .kernel_free = tessi_opencl_kernel_free,
    .launch = tessi_opencl_launch,
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

static uint64_t number(const OpenclDevice *d, cl_uint what)
{
    uint64_t value =
        0; /* little-endian machines only have OpenCL: 4-byte answers fill the low half */
    return d->api.device_info(d->device, what, sizeof value, &value, NULL) == SUCCESS ? value : 0;
}

static void text(const OpenclDevice *d, cl_uint what, char *out, size_t room)
{
    char value[256] = "";
    if (d->api.device_info(d->device, what, sizeof value - 1, value, NULL) != SUCCESS)
        value[0] = 0;
    snprintf(out, room, "%.*s", (int)(room - 1), value);
}

static int64_t at_most(uint64_t value, int64_t limit)
{
    return value > (uint64_t)limit ? limit : (int64_t)value;
}

static void fill_info(OpenclDevice *d)
{
    DeviceInfo *info = &d->base.info;
    char platform[100] = "", version[100] = "", driver[48];
    text(d, DEVICE_NAME, info->name, sizeof info->name);
    text(d, DEVICE_DRIVER, driver, sizeof driver);
    text(d, DEVICE_C_VERSION, version, sizeof version); /* "OpenCL C 1.2 ..." */
    snprintf(info->arch, sizeof info->arch, "%.*s", (int)strcspn(version + 9, " "),
             strlen(version) > 9 ? version + 9 : "");
    d->api.platform_info(d->platform, PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    snprintf(info->driver, sizeof info->driver, "OpenCL, %.30s %.40s", platform, driver);
    version[0] = 0;
    text(d, DEVICE_VERSION, version, sizeof version);
    snprintf(d->identity, sizeof d->identity, "%s|%s|%s|%s", platform, driver, version, info->name);
    d->is_nvidia = number(d, DEVICE_VENDOR) == VENDOR_NVIDIA;
    const uint64_t type = number(d, DEVICE_TYPE);
    info->is_cpu = (type & TYPE_CPU) != 0;
    d->is_known = !info->is_cpu || tessi_cpu_digest(&d->cpu);
    info->shares_memory = number(d, DEVICE_UNIFIED) != 0;
    info->compute_units = (int)number(d, DEVICE_UNITS);
    info->warp_threads = info->is_cpu ? 1 : 32;
    info->ghz = (double)number(d, DEVICE_CLOCK) * 1e-3;
    info->memory_bytes = number(d, DEVICE_MEMORY);
    info->largest_buffer_bytes = number(d, DEVICE_LARGEST_BUFFER);
    info->cache_bytes = number(d, DEVICE_CACHE);
    info->constant_bytes = number(d, DEVICE_CONSTANT);
    info->shared_bytes = info->unit_shared_bytes = at_most(number(d, DEVICE_LOCAL), INT64_MAX);
    info->block_threads = at_most(number(d, DEVICE_GROUP_SIZE), INT64_MAX);
    info->unit_threads = 0;
    size_t sizes[8] = { 0 };
    d->api.device_info(d->device, DEVICE_ITEM_SIZES, sizeof sizes, sizes, NULL);
    for (int k = 0; k < 3; k++) {
        info->block_size[k] = at_most(sizes[k], INT64_MAX);
        info->grid_size[k] = INT32_MAX;
    }
    info->align_bytes = (uint32_t)(number(d, DEVICE_ALIGN_BITS) / 8);
    if (!info->align_bytes)
        info->align_bytes = 128;
    d->rounds_division = (number(d, DEVICE_SINGLE_FP) & FP_ROUNDED_DIVIDE) != 0;
}

typedef struct DeviceList {
    cl_device device[MOST_DEVICES];
    cl_platform platform[MOST_DEVICES];
    int n;
} DeviceList;

static void list_type(const OpenclApi *api, cl_platform p, cl_bits type, DeviceList *list)
{
    cl_device found[MOST_DEVICES];
    cl_uint n = 0;
    if (api->devices(p, type, MOST_DEVICES, found, &n) != SUCCESS)
        return;
    for (cl_uint i = 0; i < n && i < MOST_DEVICES && list->n < MOST_DEVICES; i++) {
        list->device[list->n] = found[i];
        list->platform[list->n++] = p;
    }
}

/* All devices of all platforms, graphics processors first and processors last, so that number 0 is what one would
 * want. */
static bool list_devices(const OpenclApi *api, DeviceList *list, Failure *f)
{
    static const cl_bits types[] = { TYPE_GPU, TYPE_ACCELERATOR, TYPE_CPU };
    cl_platform platforms[MOST_PLATFORMS];
    cl_uint n = 0;
    cl_int r = api->platforms(MOST_PLATFORMS, platforms, &n);
    if (r != NO_PLATFORM && !tessi_opencl_check(r, "list its platforms", f))
        return false;
    if (r == NO_PLATFORM)
        n = 0;
    list->n = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (cl_uint i = 0; i < n && i < MOST_PLATFORMS; i++)
            list_type(api, platforms[i], types[t], list);
    return list->n
           || tessi_failf(f, TESS_ERROR_DEVICE,
                          "OpenCL has no device here: no driver is installed (pocl-opencl-icd runs "
                          "it on the processor)");
}

static bool open_number(OpenclDevice *d, int wanted, Failure *f)
{
    DeviceList list;
    if (!list_devices(&d->api, &list, f))
        return false;
    if (wanted < 0 || wanted >= list.n)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "there is no OpenCL device %d; this machine has %d, counted from 0",
                           wanted, list.n);
    d->base.info.number = wanted;
    d->device = list.device[wanted];
    d->platform = list.platform[wanted];
    cl_int r = SUCCESS;
    d->context = d->api.context_create(NULL, 1, &d->device, NULL, NULL, &r);
    return tessi_opencl_check(r, "make a context", f);
}

/* The context that a queue or buffer of the caller belongs to, and its device: the queue's, or the first. */
static bool adopt(OpenclDevice *d, DeviceStream stream, void *buffer, Failure *f)
{
    cl_context context = context_of(d, stream, buffer);
    if (!context)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           stream ? "the stream that was given is no OpenCL queue"
                                  : "the memory that was given is no OpenCL buffer");
    cl_device devices[MOST_DEVICES];
    cl_int r = stream
                   ? d->api.queue_info(stream, QUEUE_DEVICE, sizeof *devices, devices, NULL)
                   : d->api.context_info(context, CONTEXT_DEVICES, sizeof devices, devices, NULL);
    if (!tessi_opencl_check(r, "find the device of what was given", f)
        || !tessi_opencl_check(d->api.context_retain(context), "use the context that was given", f))
        return false;
    d->context = context;
    d->device = devices[0];
    r = d->api.device_info(d->device, DEVICE_PLATFORM, sizeof d->platform, &d->platform, NULL);
    return tessi_opencl_check(r, "find the platform of what was given", f);
}

bool tessi_opencl_open_with(const OpenclApi *api, int wanted, DeviceStream stream, void *buffer,
                            Device **device, Failure *f)
{
    OpenclDevice *d = calloc(1, sizeof *d);
    if (!d || mtx_init(&d->launching, mtx_plain) != thrd_success) {
        free(d);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    d->base.ops = &opencl_ops;
    d->base.info.kind = DEVICE_OPENCL;
    d->api = *api;
    bool ok = (stream || buffer ? adopt(d, stream, buffer, f) : open_number(d, wanted, f))
              && stream_new(&d->base, &d->queue, f);
    if (!ok) {
        close_device(&d->base);
        return false;
    }
    fill_info(d);
    *device = &d->base;
    return true;
}

/* NVIDIA's OpenCL is silent about what a multiprocessor has: 48 KiB of shared memory are what a block may use of it,
 * the cache is the one near it, and of registers, threads and the speed of memory it says nothing. Their other
 * driver, which comes with it, knows. */
static void complete_info(OpenclDevice *d)
{
    CudaDriver driver;
    if (d->is_nvidia && tessi_cuda_load_driver(&driver, NULL))
        tessi_cuda_fill_units(&driver, &d->base.info);
    /* Programs are told of the unit as they are of pairs. */
    if (!d->base.info.pair_choices)
        d->base.info.products_per_cycle = 0;
}

bool tessi_opencl_open(int wanted, DeviceStream stream, void *buffer, Device **device, Failure *f)
{
    OpenclApi api;
    if (!tessi_opencl_load(&api, f)
        || !tessi_opencl_open_with(&api, wanted, stream, buffer, device, f))
        return false;
    complete_info((OpenclDevice *)*device);
    return true;
}
