/* The drivers' common front: which driver, and the checks that are the same for both. */
#include "rt/device.h"
#include "rt/device_ops.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct {
    const char *name;
    bool (*open)(int number, DeviceStream stream, void *buffer, Device **device, Failure *f);
} drivers[] = {
#define DRIVER(id, file, name, isa) { name, tessi_##file##_open },
#include "rt/drivers.def"
#undef DRIVER
};

const char *tessi_device_kind_name(DeviceKind kind)
{
    return drivers[kind].name;
}

bool tessi_device_open(DeviceKind kind, int number, DeviceStream stream, void *buffer,
                       Device **device, Failure *f)
{
    *device = NULL;
    return drivers[kind].open(number, stream, buffer, device, f);
}

void tessi_device_close(Device *d)
{
    if (d)
        d->ops->close(d);
}

const DeviceInfo *tessi_device_info(const Device *d)
{
    return &d->info;
}

bool tessi_device_owns(Device *d, DeviceStream stream, void *buffer)
{
    return d->ops->owns(d, stream, buffer);
}

void tessi_device_limit(Device *d, uint64_t most_bytes)
{
    d->most_bytes = most_bytes;
}

/* ---- Memory ---- */

bool tessi_device_alloc(Device *d, size_t bytes, DeviceBuffer *b, Failure *f)
{
    *b = (DeviceBuffer){ 0 };
    if (bytes > d->info.largest_buffer_bytes)
        return tessi_failf(f, TESS_ERROR_MEMORY,
                           "out of memory on %s: %zu bytes are wanted and at most %" PRIu64
                           " can be had at once",
                           d->info.name, bytes, d->info.largest_buffer_bytes);
    enum { LEAST = 16 }; /* no driver likes buffers of nothing */
    bytes = bytes < LEAST ? LEAST : bytes;
    const uint64_t used = atomic_fetch_add(&d->used_bytes, bytes);
    const bool allowed = !d->most_bytes || used + bytes <= d->most_bytes;
    if (allowed && d->ops->alloc(d, bytes, b, f))
        return true;
    atomic_fetch_sub(&d->used_bytes, bytes);
    return allowed ? false
                   : tessi_failf(f, TESS_ERROR_MEMORY,
                                 "out of memory on %s: %zu bytes are wanted, %" PRIu64
                                 " are in use, and %" PRIu64 " may be",
                                 d->info.name, bytes, used, d->most_bytes);
}

bool tessi_device_part(Device *d, void *whole, size_t offset, size_t bytes, DeviceBuffer *b,
                       Failure *f)
{
    *b = (DeviceBuffer){ 0 };
    if (offset % d->info.align_bytes)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "%s needs parts of buffers to start at multiples of %" PRIu32
                           " bytes, not at %zu",
                           d->info.name, d->info.align_bytes, offset);
    return d->ops->part(d, whole, offset, bytes, b, f);
}

void tessi_device_part_free(Device *d, DeviceBuffer *b)
{
    if (b->handle)
        d->ops->part_free(d, b);
    *b = (DeviceBuffer){ 0 };
}

void tessi_device_free(Device *d, DeviceBuffer *b)
{
    if (b->handle) {
        d->ops->free(d, b);
        atomic_fetch_sub(&d->used_bytes, b->bytes);
    }
    *b = (DeviceBuffer){ 0 };
}

bool tessi_device_copy(Device *d, const DeviceCopy *copy, DeviceStream stream, Failure *f)
{
    if (!copy->rows || !copy->row_bytes)
        return true;
    DeviceCopy plain = *copy;
    if (plain.rows == 1) /* the strides say nothing */
        plain.to_stride = plain.from_stride = plain.row_bytes;
    return d->ops->copy(d, &plain, stream, f);
}

static bool copy_through_host(const DevicePeerCopy *c, Failure *f)
{
    void *between = malloc(c->bytes);
    if (!between)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    const DeviceCopy out = { .way = DEVICE_TO_HOST,
                             .to = between,
                             .from = c->from,
                             .from_offset = c->from_offset,
                             .row_bytes = c->bytes,
                             .rows = 1 };
    const DeviceCopy in = { .way = DEVICE_TO_DEVICE,
                            .to = c->to,
                            .to_offset = c->to_offset,
                            .from = between,
                            .row_bytes = c->bytes,
                            .rows = 1 };
    const bool ok = tessi_device_copy(c->from_device, &out, c->from_stream, f)
                    && tessi_device_synchronise(c->from_device, c->from_stream, f)
                    && tessi_device_copy(c->to_device, &in, c->to_stream, f)
                    && tessi_device_synchronise(c->to_device, c->to_stream, f);
    free(between);
    return ok;
}

bool tessi_device_is_peer(const Device *a, const Device *b)
{
    return a->ops->peer && a->ops == b->ops;
}

bool tessi_device_copy_peer(const DevicePeerCopy *c, Failure *f)
{
    const DeviceOps *ops = c->to_device->ops;
    if (!c->bytes)
        return true;
    if (!tessi_device_is_peer(c->to_device, c->from_device))
        return copy_through_host(c, f);
    return (!c->after || tessi_device_await(c->to_device, c->to_stream, c->after, f))
           && ops->peer(c, f);
}

bool tessi_device_fill(Device *d, void *buffer, size_t offset, size_t bytes, uint8_t value,
                       DeviceStream stream, Failure *f)
{
    return bytes == 0 || d->ops->fill(d, buffer, offset, bytes, value, stream, f);
}

/* ---- Programs ---- */

bool tessi_device_build(Device *d, DeviceBuild *job, DeviceModule **module, Failure *f)
{
    *module = NULL;
    job->cached = false;
    job->log = NULL;
    return d->ops->build(d, job, module, f);
}

void tessi_device_module_free(Device *d, DeviceModule *m)
{
    if (m)
        d->ops->module_free(d, m);
}

bool tessi_device_kernel(Device *d, DeviceModule *m, const char *name, DeviceKernel **kernel,
                         Failure *f)
{
    *kernel = NULL;
    return d->ops->kernel(d, m, name, kernel, f);
}

bool tessi_device_variable(Device *d, DeviceModule *m, const char *name, void **handle, Failure *f)
{
    *handle = NULL;
    return d->ops->variable
               ? d->ops->variable(d, m, name, handle, f)
               : tessi_failf(f, TESS_ERROR_INTERNAL, "%s knows no variables of modules",
                             tessi_device_kind_name(d->info.kind));
}

void tessi_device_kernel_free(Device *d, DeviceKernel *k)
{
    if (k)
        d->ops->kernel_free(d, k);
}

const DeviceKernelInfo *tessi_device_kernel_info(const DeviceKernel *k)
{
    return &k->info;
}

bool tessi_device_can_launch(const Device *d, const DeviceLaunch *l, const char *name, Failure *f)
{
    const DeviceInfo *info = &d->info;
    const int64_t threads = l->block[0] * l->block[1] * l->block[2];
    for (int k = 0; k < 3; k++) {
        if (l->block[k] < 1 || l->block[k] > info->block_size[k])
            return tessi_failf(f, TESS_ERROR_DEVICE,
                               "kernel '%s' has blocks of %" PRId64
                               " threads in %c; %s allows 1 to "
                               "%" PRId64,
                               name, l->block[k], "xyz"[k], info -> name, info -> block_size[k]);
        if (l->grid[k] < 1 || l->grid[k] > info->grid_size[k])
            return tessi_failf(f, TESS_ERROR_DEVICE,
                               "kernel '%s' has %" PRId64 " blocks in %c; %s allows 1 to %" PRId64,
                               name, l->grid[k], "xyz"[k], info -> name, info -> grid_size[k]);
    }
    if (threads > info->block_threads)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "kernel '%s' has blocks of %" PRId64 " threads; %s allows %" PRId64,
                           name, threads, info->name, info->block_threads);
    const DeviceKernelInfo *k = l->kernel ? &l->kernel->info : NULL;
    if (k && threads > k->max_threads)
        return tessi_failf(
            f, TESS_ERROR_DEVICE,
            "kernel '%s' has blocks of %" PRId64 " threads; as compiled for %s it can run %" PRId64
            "; plans for a machine with 'block_threads = %" PRId64 "' have smaller ones",
            name, threads, info->name, k->max_threads, k->max_threads);
    const int64_t shared =
        (int64_t)l->shared_bytes + (k && k->shared_bytes > 0 ? k->shared_bytes : 0);
    if (shared > info->shared_bytes)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "kernel '%s' needs %" PRId64
                           " bytes of shared memory a block; %s has %" PRId64,
                           name, shared, info->name, info->shared_bytes);
    return true;
}

bool tessi_device_launch(Device *d, const DeviceLaunch *launch, DeviceStream stream, Failure *f)
{
    return d->ops->launch(d, launch, stream, f);
}

/* ---- Streams, events, graphs ---- */

bool tessi_device_stream_new(Device *d, DeviceStream *stream, Failure *f)
{
    *stream = NULL;
    return d->ops->stream_new(d, stream, f);
}

void tessi_device_stream_free(Device *d, DeviceStream stream)
{
    if (stream)
        d->ops->stream_free(d, stream);
}

bool tessi_device_synchronise(Device *d, DeviceStream stream, Failure *f)
{
    return d->ops->synchronise(d, stream, f);
}

bool tessi_device_flush(Device *d, DeviceStream stream, Failure *f)
{
    return d->ops->flush(d, stream, f);
}

bool tessi_device_record(Device *d, DeviceStream stream, DeviceEvent *event, Failure *f)
{
    return d->ops->record(d, stream, event, f);
}

bool tessi_device_wait(Device *d, DeviceEvent event, Failure *f)
{
    return d->ops->wait(d, event, f);
}

bool tessi_device_await(Device *d, DeviceStream stream, DeviceEvent event, Failure *f)
{
    return d->ops->await(d, stream, event, f);
}

bool tessi_device_elapsed(Device *d, DeviceEvent from, DeviceEvent to, double *ms, Failure *f)
{
    return d->ops->elapsed(d, from, to, ms, f);
}

void tessi_device_event_free(Device *d, DeviceEvent event)
{
    if (event)
        d->ops->event_free(d, event);
}

bool tessi_device_graph_new(Device *d, bool (*put)(void *user, DeviceStream stream, Failure *f),
                            void *user, DeviceGraph **graph, Failure *f)
{
    *graph = NULL;
    return d->ops->graph_new(d, put, user, graph, f);
}

bool tessi_device_graph_launch(Device *d, DeviceGraph *g, DeviceStream stream, Failure *f)
{
    return d->ops->graph_launch(d, g, stream, f);
}

void tessi_device_graph_free(Device *d, DeviceGraph *g)
{
    if (g)
        d->ops->graph_free(d, g);
}
