/* Contexts of devices: the program's own, opened early, and those of streams and tensors that runs bring along. */
#include "api/gpu.h"

#include <stdlib.h>

static int open_now(void *user)
{
    GpuOpener *o = user;
    o->done = true;
    tessi_device_open(o->kind, o->number, NULL, NULL, &o->device, &o->failure);
    return 0;
}

void tessi_gpu_open_early(tess_program *p)
{
    GpuOpener *o = calloc(1, sizeof *o);
    if (!o)
        return; /* said when the device is wanted */
    o->kind = p->backend->device->kind;
    o->number = p->options.device;
    p->opener = o;
    tessi_thread_start(&o->thread, open_now, o);
}

static void join(GpuOpener *o)
{
    if (tessi_thread_is_lost(
            &o->thread)) { /* so is the device: the driver's state is the parent's */
        o->done = false;
        o->device = NULL;
    }
    tessi_thread_join(&o->thread);
}

void tessi_gpu_hold(GpuContext *c)
{
    atomic_fetch_add(&c->holders, 1);
}

void tessi_gpu_release(GpuContext *c)
{
    if (c && atomic_fetch_sub(&c->holders, 1) == 1) {
        tessi_device_close(c->device);
        free(c);
    }
}

void tessi_gpu_close_all(tess_program *p)
{
    if (p->opener) {
        join(p->opener);
        tessi_device_close(p->opener->device);
        free(p->opener);
    }
    for (GpuContext *c = p->contexts; c;) {
        GpuContext *next = c->next;
        tessi_gpu_release(c);
        c = next;
    }
}

/* Takes the device over; the program holds the context. */
static GpuContext *add_context(tess_program *p, Device *device, Failure *f)
{
    GpuContext *c = calloc(1, sizeof *c);
    if (!c) {
        tessi_device_close(device);
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    c->device = device;
    tessi_device_limit(device, p->options.device_bytes);
    atomic_init(&c->holders, 1);
    c->next = p->contexts;
    p->contexts = c;
    return c;
}

GpuContext *tessi_gpu_default_context(tess_program *p, Failure *f)
{
    GpuOpener *o = p->opener;
    if (p->own_context)
        return p->own_context;
    if (!o) {
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    join(o);
    if (!o->done)
        open_now(o);
    if (!o->device) {
        *f = o->failure;
        return NULL;
    }
    p->own_context = add_context(p, o->device, f);
    o->device = NULL;
    return p->own_context;
}

/* The first tensor of a run that lies in device memory. */
static void *first_buffer(const tess_program *p, const tess_args *a)
{
    for (uint32_t i = 0; i < p->inputs.n; i++)
        if (a->inputs[i].set && tessi_on_device(&a->inputs[i].tensor))
            return a->inputs[i].tensor.data;
    for (uint32_t i = 0; i < p->outputs.n; i++)
        if (a->outputs[i].set && tessi_on_device(&a->outputs[i].tensor))
            return a->outputs[i].tensor.data;
    return NULL;
}

/* The context that a stream or a buffer (one of them is NULL) belongs to. */
static GpuContext *owner(tess_program *p, void *stream, void *buffer, Failure *f)
{
    if (p->backend->device->usual_context && !tessi_gpu_default_context(p, f))
        return NULL;
    for (GpuContext *c = p->contexts; c; c = c->next)
        if (tessi_device_owns(c->device, stream, buffer))
            return c;
    Device *device;
    if (!tessi_device_open(p->backend->device->kind, p->options.device, stream, buffer, &device, f))
        return NULL;
    return add_context(p, device, f);
}

GpuContext *tessi_gpu_context(tess_program *p, const tess_args *a, void *stream, Failure *f)
{
    void *buffer = stream ? NULL : first_buffer(p, a);
    return stream || buffer ? owner(p, stream, buffer, f) : tessi_gpu_default_context(p, f);
}

GpuContext *tessi_gpu_context_of(tess_program *p, const DLTensor *t, Failure *f)
{
    return owner(p, NULL, t->data, f);
}
