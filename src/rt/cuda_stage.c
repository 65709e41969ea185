/* Large copies between the device and ordinary memory of the host. The driver takes such memory through buffers of its
 * own, in one thread, at a fraction of what the bus carries; here several threads fill and empty buffers that the bus
 * can read, each with a stream: while one chunk crosses, the next is filled. */
#include "rt/cuda.h"
#include "rt/env.h"
#include "rt/thread.h"
#include "tessera.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES = 8,
    TURNS = 2,
    CHUNK = 2 << 20,
    PIECE = 4096,
    WORTH_IT = 8 << 20, /* bytes of a copy, where there are buffers */
    ALONE =
        64 << 20, /* and where they are to be made for it alone, which takes some milliseconds */
    POINTER_MEMORY = 2,
    EVENT_WITHOUT_TIME = 2,
    STREAM_NON_BLOCKING = 1,
    MEMORY_HOST = 1,
    MEMORY_DEVICE = 2
};

typedef struct Lane {
    CudaDevice *device;
    int number, n_lanes;
    CUstream stream;
    void *buffer[TURNS];
    CUevent event[TURNS]; /* the last copy from or to the buffer */
    RtThread thread;
    const DeviceCopy *copy;
    size_t row_bytes, rows, per; /* of the copy, and rows of a chunk */
    CUresult result;
} Lane;

struct CudaStage {
    mtx_t lock; /* guards the lanes, for one copy at a time */
    CUevent begin;
    int n;
    Lane lane[LANES];
};

/* ---- Chunks ---------------------------------------------------------------------------------- */
static char *host_row(const Lane *l, size_t row)
{
    const DeviceCopy *c = l->copy;
    return c->way == DEVICE_TO_DEVICE
               ? (char *)c->from + c->from_offset
                     + row * (c->rows > 1 ? c->from_stride : l->row_bytes)
               : (char *)c->to + c->to_offset + row * (c->rows > 1 ? c->to_stride : l->row_bytes);
}

static CUdeviceptr device_row(const Lane *l, size_t row)
{
    const DeviceCopy *c = l->copy;
    return c->way == DEVICE_TO_DEVICE ? (CUdeviceptr)(uintptr_t)c->to + c->to_offset
                                            + row * (c->rows > 1 ? c->to_stride : l->row_bytes)
                                      : (CUdeviceptr)(uintptr_t)c->from + c->from_offset
                                            + row * (c->rows > 1 ? c->from_stride : l->row_bytes);
}

/* Rows of the host lie in the buffer one behind the other. */
static void pack(const Lane *l, size_t row, size_t n, char *buffer, bool in)
{
    for (size_t k = 0; k < n; k++, buffer += l->row_bytes) {
        if (in)
            memcpy(buffer, host_row(l, row + k), l->row_bytes);
        else
            memcpy(host_row(l, row + k), buffer, l->row_bytes);
    }
}

/* Between the buffer and the device, on the lane's stream. */
static CUresult cross(Lane *l, int turn, size_t row, size_t n)
{
    const CudaDriver *api = &l->device->api;
    const DeviceCopy *c = l->copy;
    const bool in = c->way == DEVICE_TO_DEVICE;
    const size_t stride = c->rows > 1 ? in ? c->to_stride : c->from_stride : l->row_bytes;
    const CUdeviceptr there = device_row(l, row);
    const size_t bytes = n * l->row_bytes;
    CUresult r;
    if (stride == l->row_bytes) {
        r = in ? api->copy_to_device(there, l->buffer[turn], bytes, l->stream)
               : api->copy_to_host(l->buffer[turn], there, bytes, l->stream);
    } else {
        CudaCopy2D job = { .from_type = in ? MEMORY_HOST : MEMORY_DEVICE,
                           .to_type = in ? MEMORY_DEVICE : MEMORY_HOST,
                           .from_pitch = in ? l->row_bytes : stride,
                           .to_pitch = in ? stride : l->row_bytes,
                           .width = l->row_bytes,
                           .height = n };
        if (in) {
            job.from_host = l->buffer[turn];
            job.to_device = there;
        } else {
            job.from_device = there;
            job.to_host = l->buffer[turn];
        }
        r = api->copy_2d(&job, l->stream);
    }
    return r == CUDA_OK ? api->event_record(l->event[turn], l->stream) : r;
}

/* Chunk number k of the lane. */
static size_t chunk(const Lane *l, size_t k, size_t *row)
{
    *row = (k * (size_t)l->n_lanes + (size_t)l->number) * l->per;
    const size_t left = *row < l->rows ? l->rows - *row : 0;
    return left < l->per ? left : l->per;
}

static CUresult send(Lane *l)
{
    size_t row, n;
    CUresult r = CUDA_OK;
    for (size_t k = 0; r == CUDA_OK && (n = chunk(l, k, &row)) > 0; k++) {
        const int turn = (int)(k % TURNS);
        r = l->device->api.event_synchronise(l->event[turn]);
        if (r != CUDA_OK)
            break;
        pack(l, row, n, l->buffer[turn], true);
        r = cross(l, turn, row, n);
    }
    return r;
}

static CUresult receive(Lane *l)
{
    size_t row, n, before = 0, n_before = 0;
    CUresult r = CUDA_OK;
    for (size_t k = 0; r == CUDA_OK; k++) {
        n = chunk(l, k, &row);
        if (n > 0)
            r = cross(l, (int)(k % TURNS), row, n);
        if (r == CUDA_OK && n_before > 0) {
            const int turn = (int)((k + 1) % TURNS);
            r = l->device->api.event_synchronise(l->event[turn]);
            if (r == CUDA_OK)
                pack(l, before, n_before, l->buffer[turn], false);
        }
        if (n == 0)
            break;
        before = row;
        n_before = n;
    }
    return r;
}

static int work(void *user)
{
    Lane *l = user;
    CudaDevice *d = l->device;
    CUcontext popped;
    l->result = d->api.context_push(d->context);
    if (l->result != CUDA_OK)
        return 0;
    l->result = l->copy->way == DEVICE_TO_DEVICE ? send(l) : receive(l);
    d->api.context_pop(&popped);
    return 0;
}

/* ---- Making ---------------------------------------------------------------------------------- */
static bool make_lane(CudaDevice *d, Lane *l, int number)
{
    const CudaDriver *api = &d->api;
    l->device = d;
    l->number = number;
    bool ok = api->stream_create(&l->stream, STREAM_NON_BLOCKING) == CUDA_OK;
    for (int k = 0; ok && k < TURNS; k++)
        ok = api->host_alloc(&l->buffer[k], CHUNK, 0) == CUDA_OK
             && api->event_create(&l->event[k], EVENT_WITHOUT_TIME) == CUDA_OK;
    return ok;
}

static void free_stage(CudaDevice *d, CudaStage *s)
{
    for (int i = 0; i < LANES; i++) {
        Lane *l = &s->lane[i];
        if (l->stream) {
            d->api.stream_synchronise(l->stream);
            d->api.stream_destroy(l->stream);
        }
        for (int k = 0; k < TURNS; k++) {
            if (l->event[k])
                d->api.event_destroy(l->event[k]);
            if (l->buffer[k])
                d->api.host_free(l->buffer[k]);
        }
    }
    if (s->begin)
        d->api.event_destroy(s->begin);
    mtx_destroy(&s->lock);
    free(s);
}

void tessi_cuda_stage_free(CudaDevice *d)
{
    for (int k = 0; k < 2; k++) {
        CudaStage *s = atomic_exchange(&d->stage[k], NULL);
        if (s && tessi_cuda_enter(d, NULL)) {
            free_stage(d, s);
            tessi_cuda_leave(d);
        }
    }
}

/* As many lanes as there is room for; NULL: not one. */
static CudaStage *make_stage(CudaDevice *d)
{
    CudaStage *s = calloc(1, sizeof *s);
    if (!s || mtx_init(&s->lock, mtx_plain) != thrd_success) {
        free(s);
        return NULL;
    }
    const int cores = tessi_cpu_count();
    const bool ok = d->api.event_create(&s->begin, EVENT_WITHOUT_TIME) == CUDA_OK;
    while (ok && s->n < LANES && s->n < cores && make_lane(d, &s->lane[s->n], s->n))
        s->n++;
    if (s->n)
        return s;
    free_stage(d, s);
    return NULL;
}

/* The one of a direction, made by the first large copy. */
static CudaStage *stage_of(CudaDevice *d, int k)
{
    CudaStage *s = atomic_load(&d->stage[k]);
    if (s)
        return s;
    CudaStage *made = make_stage(d);
    if (!made || atomic_compare_exchange_strong(&d->stage[k], &s, made))
        return made;
    free_stage(d, made); /* another thread's was there first */
    return s;
}

/* ---- Copies ---------------------------------------------------------------------------------- */
bool tessi_cuda_stages(CudaDevice *d, const DeviceCopy *c)
{
    int type = 0;
    const size_t bytes = c->row_bytes * c->rows;
    const int k = c->way == DEVICE_TO_DEVICE;
    if (c->way == DEVICE_WITHIN || !d->api.host_alloc || !d->api.host_free || bytes < WORTH_IT
        || (c->rows > 1 && c->row_bytes > CHUNK))
        return false;
    if (!atomic_load(&d->stage[k]) && !atomic_exchange(&d->had_large[k], true) && bytes < ALONE)
        return false;
    const void *host = k ? (char *)c->from + c->from_offset : (char *)c->to + c->to_offset;
    return d->api.pointer_attribute(&type, POINTER_MEMORY, (CUdeviceptr)(uintptr_t)host) != CUDA_OK
           || type != MEMORY_HOST; /* that the bus can read already */
}

/* One row is cut; what is left of it behind the last piece is copied as any other. */
static void set_rows(Lane *l, const DeviceCopy *c)
{
    l->copy = c;
    l->row_bytes = c->rows > 1 ? c->row_bytes : PIECE;
    l->rows = c->rows > 1 ? c->rows : c->row_bytes / PIECE;
    l->per = CHUNK / l->row_bytes;
}

static CUresult run_lanes(CudaDevice *d, CudaStage *s, const DeviceCopy *c, CUstream stream)
{
    const bool in = c->way == DEVICE_TO_DEVICE;
    CUresult r = d->api.event_record(s->begin, stream);
    for (int i = 0; i < s->n && r == CUDA_OK; i++) {
        set_rows(&s->lane[i], c);
        s->lane[i].n_lanes = s->n;
        r = d->api.stream_wait(s->lane[i].stream, s->begin, 0);
    }
    if (r != CUDA_OK)
        return r;
    for (int i = 1; i < s->n; i++)
        if (!tessi_thread_start(&s->lane[i].thread, work, &s->lane[i]))
            work(&s->lane[i]);
    work(&s->lane[0]);
    for (int i = 0; i < s->n; i++) {
        Lane *l = &s->lane[i];
        if (i > 0)
            tessi_thread_join(&l->thread);
        r = r == CUDA_OK ? l->result : r;
        if (in && r == CUDA_OK)
            r = d->api.event_record(l->event[0], l->stream);
        if (in && r == CUDA_OK)
            r = d->api.stream_wait(stream, l->event[0], 0);
    }
    return r;
}

CUresult tessi_cuda_stage_copy(CudaDevice *d, const DeviceCopy *c, CUstream stream, bool *done)
{
    CudaStage *s = stage_of(d, c->way == DEVICE_TO_DEVICE);
    *done = s != NULL;
    if (!s)
        return CUDA_OK;
    mtx_lock(&s->lock);
    const CUresult r = run_lanes(d, s, c, stream);
    mtx_unlock(&s->lock);
    const size_t rest = c->rows == 1 ? c->row_bytes % PIECE : 0;
    if (r != CUDA_OK || !rest)
        return r;
    DeviceCopy last = *c;
    last.row_bytes = rest;
    last.to_offset += c->row_bytes - rest;
    last.from_offset += c->row_bytes - rest;
    return tessi_cuda_copy_linear(d, &last, stream);
}
