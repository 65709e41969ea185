/* One sequence of kernels with its buffers: made ready for given images and sizes, then put on a stream as often as
 * wanted. */
#include "api/gpu.h"
#include "loop/loop_repeat.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS_YZ = 65535 };

/* An image of the run as the kernels see it. */
typedef struct SlotImage {
    GpuImage given;  /* as the caller has it */
    GpuImage device; /* as the kernels have it */
    bool staged;     /* they differ: `own` holds the image on the device */
    int64_t skip;    /* rows of `device` before the first of `given` */
    DeviceBuffer own, part;
} SlotImage;

typedef struct SlotLaunch {
    DeviceLaunch launch;
    uint64_t *values; /* of its arguments */
    DeviceArg *args;
    bool is_empty; /* a grid without blocks */
} SlotLaunch;

struct GpuSlot {
    const LoopProgram *loops;
    const GpuCode *code;
    uint32_t n_inputs, n_images;
    SlotImage *images;
    DeviceBuffer *temps; /* one for each of emitted->temps */
    SlotLaunch *launches;
    uint64_t *values;
    DeviceArg *args;
    uint32_t n_args;
    DeviceGraph *graph;
    bool launched; /* since it was prepared */
    LPlace *place; /* of each kernel */
    LTurns *turns; /* by repeat */
    LoopEnd *ends; /* of loops with conditions; NULL: nobody asks */
};

static uint32_t count_args(const EmitModule *m)
{
    uint32_t n = 0;
    VEC_FOREACH (const GpuKernel, k, &m->kernels)
        n += k->args.n;
    return n;
}

GpuSlot *tessi_gpu_slot_new(const GpuCode *code)
{
    const LoopProgram *loops = code->loops;
    GpuSlot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->loops = loops;
    s->code = code;
    s->n_inputs = loops->inputs.n;
    s->n_images = loops->inputs.n + loops->outputs.n;
    s->n_args = count_args(code->emitted);
    s->images = calloc(s->n_images + 1, sizeof *s->images);
    s->temps = calloc(code->emitted->temps.n + 1, sizeof *s->temps);
    s->launches = calloc(code->emitted->kernels.n + 1, sizeof *s->launches);
    s->values = calloc(s->n_args + 1, sizeof *s->values);
    s->args = calloc(s->n_args + 1, sizeof *s->args);
    s->place = calloc(code->emitted->kernels.n + 1, sizeof *s->place);
    s->turns = calloc(loops->repeats.n + 1, sizeof *s->turns);
    if (s->images && s->temps && s->launches && s->values && s->args && s->place && s->turns)
        return s;
    tessi_gpu_slot_free(s);
    return NULL;
}

Device *tessi_gpu_slot_device(const GpuSlot *s)
{
    return s->code->context->device;
}

void tessi_gpu_slot_free(GpuSlot *s)
{
    if (!s)
        return;
    Device *d = s->code->context->device;
    tessi_device_graph_free(d, s->graph);
    for (uint32_t i = 0; s->images && i < s->n_images; i++) {
        tessi_device_part_free(d, &s->images[i].part);
        tessi_device_free(d, &s->images[i].own);
    }
    for (uint32_t i = 0; s->temps && i < s->code->emitted->temps.n; i++)
        if (!s->code->emitted->symbols.at[i])
            tessi_device_free(d, &s->temps[i]);
    free(s->images);
    free(s->temps);
    free(s->launches);
    free(s->values);
    free(s->args);
    free(s->place);
    free(s->turns);
    free(s);
}

/* ---- Memory ---------------------------------------------------------------------------------- */
/* At least that many bytes; what is there is kept when it is enough and not wasteful. */
static bool need_buffer(Device *d, DeviceBuffer *b, size_t bytes, Failure *f)
{
    if (b->handle && b->bytes >= bytes && b->bytes / 2 <= bytes)
        return true;
    tessi_device_free(d, b);
    return tessi_device_alloc(d, bytes, b, f);
}

/* Whether kernels can use an image of the caller where it is: buffers that are no addresses start where they start,
 * or at aligned parts. */
static bool usable_in_place(const Device *d, const GpuImage *im)
{
    if (!im->on_device)
        return false;
    if (tessi_device_info(d)->addresses)
        return true;
    int64_t begin, end;
    tessi_gpu_extent(im, &begin, &end);
    return begin == (int64_t)im->offset && im->offset % tessi_device_info(d)->align_bytes == 0;
}

static bool use_in_place(Device *d, SlotImage *s, Failure *f)
{
    s->staged = false;
    s->device = s->given;
    tessi_device_free(d, &s->own);
    if (!s->given.offset)
        return true;
    int64_t begin, end;
    tessi_gpu_extent(&s->given, &begin, &end);
    if (!tessi_device_part(d, s->given.base, s->given.offset, (size_t)(end - begin), &s->part, f))
        return false;
    s->device.base = s->part.handle;
    s->device.offset = 0;
    return true;
}

static bool place_image(Device *d, SlotImage *s, const GpuImage *given, const GpuPart *part,
                        Failure *f)
{
    tessi_device_part_free(d, &s->part);
    s->given = *given;
    s->skip = 0;
    if (usable_in_place(d, given) && !(part && part->is_part))
        return use_in_place(d, s, f);
    s->staged = true;
    s->device = *given;
    s->device.on_device = true;
    if (part && part->is_part) {
        s->device.size[0] = part->rows;
        s->skip = part->skip;
    }
    const size_t bytes = tessi_gpu_layout(&s->device);
    if (!need_buffer(d, &s->own, bytes, f))
        return false;
    s->device.base = s->own.handle;
    return true;
}

static bool fill_table(const GpuSlot *s, const LBuffer *b, const DeviceBuffer *to, Failure *f)
{
    Device *d = s->code->context->device;
    const size_t element = tessi_type_info(b->type)->bytes, bytes = b->n_table * element;
    char *table = malloc(bytes);
    if (!table)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < b->n_table; i++)
        tessi_store_element(b->type, table + i * element, b->table[i]);
    const DeviceCopy copy = { .way = DEVICE_TO_DEVICE,
                              .to = to->handle,
                              .from = table,
                              .to_stride = bytes,
                              .from_stride = bytes,
                              .row_bytes = bytes,
                              .rows = 1 };
    const bool ok = tessi_device_copy(d, &copy, NULL, f) && tessi_device_synchronise(d, NULL, f);
    free(table);
    return ok;
}

static bool place_temps(GpuSlot *s, const int64_t *params, Failure *f)
{
    const EmitModule *m = s->code->emitted;
    for (uint32_t i = 0; i < m->temps.n; i++) {
        size_t bytes;
        if (m->symbols.at[i]) {
            if (!tessi_device_variable(s->code->context->device, s->code->modules.at[0],
                                       m->symbols.at[i], &s->temps[i].handle, f))
                return false;
            continue;
        }
        if (!tessi_emit_gpu_temp_bytes(s->loops, m->temps.at[i], params, &bytes))
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "the size of the intermediate image '%s' is too large",
                               s->loops->buffers.at[m->temps.at[i].v].name);
        const LBuffer *b = &s->loops->buffers.at[m->temps.at[i].v];
        const bool is_filled = b->kind == LBUF_TABLE && s->temps[i].handle;
        if (!is_filled && !need_buffer(s->code->context->device, &s->temps[i], bytes, f))
            return false;
        if (!is_filled && b->kind == LBUF_TABLE && !fill_table(s, b, &s->temps[i], f)) {
            tessi_device_free(s->code->context->device, &s->temps[i]); /* the next run fills it */
            return false;
        }
    }
    return true;
}

/* ---- Arguments of kernels -------------------------------------------------------------------- */
static void put_integer(int64_t value, size_t size, uint64_t *slot)
{
    const int32_t i32 = (int32_t)value;
    const int16_t i16 = (int16_t)value;
    const int8_t i8 = (int8_t)value;
    switch (size) {
    case 1: memcpy(slot, &i8, size); break;
    case 2: memcpy(slot, &i16, size); break;
    case 4: memcpy(slot, &i32, size); break;
    default: memcpy(slot, &value, sizeof value); break;
    }
}

static size_t put_scalar(ScalarType type, Value v, uint64_t *slot)
{
    const float single = (float)v.f;
    switch (type) {
    case TYPE_F16:
    case TYPE_F32: memcpy(slot, &single, sizeof single); return sizeof single;
    case TYPE_F64: memcpy(slot, &v.f, sizeof v.f); return sizeof v.f;
    default: break;
    }
    const size_t size = tessi_type_info(type)->bytes;
    put_integer(v.i, size, slot);
    return size;
}

static void *temp_handle(const GpuSlot *s, uint32_t id)
{
    const EmitModule *m = s->code->emitted;
    for (uint32_t i = 0; i < m->temps.n; i++)
        if (m->temps.at[i].v == id)
            return s->temps[i].handle;
    return NULL;
}

static size_t put_arg(const GpuSlot *s, const GpuArg *arg, const GpuCall *call, uint64_t *slot)
{
    const uint32_t image =
        arg->index
        + (arg->kind == GPU_ARG_OUTPUT || arg->kind == GPU_ARG_OUTPUT_STRIDE ? s->n_inputs : 0);
    const void *handle = NULL;
    switch (arg->kind) {
    case GPU_ARG_INPUT:
    case GPU_ARG_OUTPUT: handle = s->images[image].device.base; break;
    case GPU_ARG_TEMP: handle = temp_handle(s, arg->index); break;
    case GPU_ARG_INPUT_STRIDE:
    case GPU_ARG_OUTPUT_STRIDE: {
        const GpuImage *im = &s->images[image].device;
        put_integer(im->stride_bytes[arg->dim] / im->unit_bytes, sizeof(int64_t), slot);
        return sizeof(int64_t);
    }
    case GPU_ARG_PARAM: {
        const size_t size = s->code->form & GPU_WIDE ? sizeof(int64_t) : sizeof(int32_t);
        put_integer(call->params[arg->index], size, slot);
        return size;
    }
    case GPU_ARG_SCALAR: return put_scalar(arg->type, call->scalars[arg->index], slot);
    }
    memcpy(slot, &handle, sizeof handle);
    return sizeof handle;
}

static bool set_grid(const GpuSlot *s, const GpuKernel *k, const int64_t *params, SlotLaunch *out,
                     Failure *f)
{
    const DeviceInfo *info = tessi_device_info(s->code->context->device);
    out->is_empty = false;
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++) {
        int64_t blocks = 1;
        if (k->grid[axis].v && !tessi_loop_eval_size(s->loops, k->grid[axis], params, &blocks))
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "the images are too large for kernel '%s'",
                               k->name);
        out->is_empty = out->is_empty || blocks < 1;
        /* Kernels loop along y and z. */
        if (axis > 0 && blocks > info->grid_size[axis])
            blocks = info->grid_size[axis];
        if (axis > 0 && blocks > MOST_BLOCKS_YZ)
            blocks = MOST_BLOCKS_YZ;
        out->launch.grid[axis] = blocks;
        out->launch.block[axis] = k->block[axis];
    }
    return out->is_empty
           || tessi_device_can_launch(s->code->context->device, &out->launch, k->name, f);
}

static bool set_launches(GpuSlot *s, const GpuCall *call, Failure *f)
{
    const EmitModule *m = s->code->emitted;
    uint32_t at = 0;
    for (uint32_t i = 0; i < m->kernels.n; i++) {
        const GpuKernel *k = &m->kernels.at[i];
        SlotLaunch *out = &s->launches[i];
        s->place[i] = k->place;
        out->launch = (DeviceLaunch){ .kernel = s->code->kernels[i],
                                      .args = &s->args[at],
                                      .n_args = k->args.n };
        for (uint32_t n = 0; n < k->args.n; n++, at++) {
            s->values[at] = 0;
            const size_t size = put_arg(s, &k->args.at[n], call, &s->values[at]);
            s->args[at] = (DeviceArg){ &s->values[at], size };
        }
        if (!set_grid(s, k, call->params, out, f))
            return false;
    }
    return true;
}

bool tessi_gpu_prepare(GpuSlot *s, const GpuCall *call, Failure *f)
{
    Device *d = s->code->context->device;
    tessi_device_graph_free(d, s->graph);
    s->graph = NULL;
    s->launched = false;
    s->ends = call->ends;
    for (uint32_t i = 0; i < s->n_images; i++)
        if (!place_image(d, &s->images[i], &call->images[i], call->parts ? &call->parts[i] : NULL,
                         f))
            return false;
    for (uint32_t i = 0; i < s->loops->repeats.n; i++)
        s->turns[i] =
            tessi_loop_turns(s->loops, &s->loops->repeats.at[i], call->params, call->scalars);
    return place_temps(s, call->params, f) && set_launches(s, call, f);
}

/* ---- Putting it on a stream ------------------------------------------------------------------ */
bool tessi_gpu_touches_host(const GpuSlot *s)
{
    for (uint32_t i = 0; i < s->n_images; i++)
        if (!s->images[i].given.on_device)
            return true;
    return false;
}

bool tessi_gpu_upload(GpuSlot *s, DeviceStream stream, Failure *f)
{
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (s->images[i].staged
            && !tessi_gpu_copy_image(s->code->context->device, &s->images[i].device,
                                     &s->images[i].given, stream, f))
            return false;
    return true;
}

bool tessi_gpu_download(GpuSlot *s, DeviceStream stream, Failure *f)
{
    for (uint32_t i = s->n_inputs; i < s->n_images; i++) {
        const SlotImage *im = &s->images[i];
        GpuImage from = im->device;
        from.offset += (size_t)(im->skip * from.stride_bytes[0]);
        from.size[0] = im->given.size[0];
        if (im->staged && im->given.size[0] > 0
            && !tessi_gpu_copy_image(s->code->context->device, &im->given, &from, stream, f))
            return false;
    }
    return true;
}

static bool put_kernel(GpuSlot *s, uint32_t i, DeviceStream stream, Failure *f)
{
    return s->launches[i].is_empty
           || tessi_device_launch(s->code->context->device, &s->launches[i].launch, stream, f);
}

/* Conditions are asked on this stream. */
typedef struct Asking {
    const GpuSlot *slot;
    DeviceStream stream;
    Failure failure;
} Asking;

/* Waits for what is on the stream. When that fails nothing more is to be launched. */
static bool holds(void *user, LBufferId condition)
{
    Asking *a = user;
    Device *d = a->slot->code->context->device;
    uint8_t value = 0;
    const DeviceCopy copy = { .way = DEVICE_TO_HOST,
                              .to = &value,
                              .from = temp_handle(a->slot, condition.v),
                              .to_stride = sizeof value,
                              .from_stride = sizeof value,
                              .row_bytes = sizeof value,
                              .rows = 1 };
    const bool read = tessi_device_copy(d, &copy, a->stream, &a->failure)
                      && tessi_device_synchronise(d, a->stream, &a->failure);
    return !read || value;
}

static LoopOrder order_of(const GpuSlot *s, Asking *asking)
{
    return (LoopOrder){ .place = s->place,
                        .n = s->code->emitted->kernels.n,
                        .turns = s->turns,
                        .repeats = s->loops->repeats.at,
                        .holds = holds,
                        .user = asking,
                        .ends = s->ends };
}

static bool put_kernels(GpuSlot *s, DeviceStream stream, Failure *f)
{
    Asking asking = { .slot = s, .stream = stream };
    LoopOrder order = order_of(s, &asking);
    for (uint32_t i; tessi_loop_order_next(&order, &i) && !asking.failure.status;)
        if (!put_kernel(s, i, stream, f))
            return false;
    if (asking.failure.status)
        *f = asking.failure;
    return !asking.failure.status;
}

/* ---- Graphs ---- */
enum { MOST_BESIDE = 2 };
typedef struct Recording {
    GpuSlot *slot;
    DeviceStream side[MOST_BESIDE]; /* for kernels beside others */
    DeviceEvent fork, join[MOST_BESIDE];
} Recording;

/* Kernel i and the n after it, at the same time. These are few blocks that take long, and begin first. */
static bool record_beside(Recording *r, uint32_t i, uint32_t n, DeviceStream stream, Failure *f)
{
    Device *d = r->slot->code->context->device;
    bool ok = tessi_device_record(d, stream, &r->fork, f);
    for (uint32_t k = 0; k < n && ok; k++)
        ok = tessi_device_await(d, r->side[k], r->fork, f)
             && put_kernel(r->slot, i + 1 + k, r->side[k], f)
             && tessi_device_record(d, r->side[k], &r->join[k], f);
    ok = ok && put_kernel(r->slot, i, stream, f);
    for (uint32_t k = 0; k < n && ok; k++)
        ok = tessi_device_await(d, stream, r->join[k], f);
    return ok;
}

static bool record(void *user, DeviceStream stream, Failure *f)
{
    Recording *r = user;
    const EmitModule *m = r->slot->code->emitted;
    LoopOrder order = order_of(r->slot, NULL);
    for (uint32_t i; tessi_loop_order_next(&order, &i);) {
        uint32_t n = 0;
        while (n < MOST_BESIDE && i + 1 + n < m->kernels.n && m->kernels.at[i + 1 + n].beside)
            n++;
        if (!(n ? record_beside(r, i, n, stream, f) : put_kernel(r->slot, i, stream, f)))
            return false;
        for (; n; n--)
            tessi_loop_order_next(&order, &i);
    }
    return true;
}

static bool record_graph(GpuSlot *s, Failure *f)
{
    Device *d = s->code->context->device;
    Recording r = { .slot = s };
    bool ok = true;
    for (int k = 0; k < MOST_BESIDE && ok; k++)
        ok = tessi_device_stream_new(d, &r.side[k], f);
    ok = ok && tessi_device_graph_new(d, record, &r, &s->graph, f);
    tessi_device_event_free(d, r.fork);
    for (int k = 0; k < MOST_BESIDE; k++) {
        tessi_device_event_free(d, r.join[k]);
        if (r.side[k])
            tessi_device_stream_free(d, r.side[k]);
    }
    return ok;
}

/* Its graph would be larger than it is worth, or is known when it runs. */
static bool has_no_graph(const GpuSlot *s)
{
    enum { MANY = 1000 };
    int64_t turns = tessi_loop_conditions(s->loops) ? MANY + 1 : 0;
    for (uint32_t i = 0; i < s->loops->repeats.n && turns <= MANY; i++)
        turns = s->turns[i].turns > MANY ? MANY + 1 : turns + s->turns[i].turns;
    return turns > MANY;
}

/* A sequence that comes again becomes a graph where the device has such: one call instead of one a kernel, and less
 * time between them. */
static bool put_sequence(GpuSlot *s, DeviceStream stream, Failure *f)
{
    Device *d = s->code->context->device;
    if (!s->launched || !tessi_device_info(d)->has_graphs || has_no_graph(s)) {
        s->launched = true;
        return put_kernels(s, stream, f);
    }
    if (!s->graph && !record_graph(s, f))
        return false;
    return tessi_device_graph_launch(d, s->graph, stream, f);
}

bool tessi_gpu_launch(GpuSlot *s, DeviceStream stream, Failure *f)
{
    if (!tessi_gpu_take_turn(s->code, stream, f))
        return false;
    const bool put = put_sequence(s, stream, f);
    return tessi_gpu_end_turn(s->code, stream, put ? f : NULL) && put;
}
