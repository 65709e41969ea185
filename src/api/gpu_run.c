/* A run on a device: what is kept in tess_args from run to run, and the order of things on the stream. */
#include "api/devices.h"
#include "api/gpu.h"
#include "loop/loop_passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/clock.h"

void tessi_gpu_state_free(GpuState *s)
{
    if (!s)
        return;
    Device *d = s->context->device;
    tessi_gpu_slot_free(s->slot);
    tessi_device_event_free(d, s->begin);
    tessi_device_event_free(d, s->end);
    tessi_gpu_release(s->context);
    tessi_variant_release(s->program, s->variant);
    free(s);
}

/* The state for this code; another one's buffers are given back first. */
static GpuState *state_for(tess_program *p, tess_args *a, Variant *v, const GpuCode *code)
{
    GpuState *s = a->gpu;
    if (s && s->code == code && s->variant == v)
        return s;
    tessi_gpu_state_free(s);
    a->gpu = s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->context = code->context;
    tessi_gpu_hold(s->context);
    s->code = code;
    s->program = p;
    s->variant = v;
    tessi_variant_hold(p, v);
    s->slot = tessi_gpu_slot_new(code);
    return s->slot ? s : NULL;
}

/* What loops say of every run, found out once: it takes longer than launching a kernel. */
typedef struct GpuFacts {
    bool *moved;  /* inputs, then outputs that kernels move by vectors where rows are aligned */
    bool may_fit; /* 32 bits hold the indices of some runs: those within the bound */
    LoopBound bound;
} GpuFacts;

static const GpuFacts *facts_of(Variant *v, unsigned form)
{
    GpuFacts **at = &v->facts[tessi_gpu_size(form)];
    if (*at)
        return *at;
    const LoopProgram *loops = tessi_gpu_loops(v, form);
    GpuFacts *facts = ARENA_NEW(&v->arena, GpuFacts);
    facts->moved = ARENA_NEW_ARRAY(&v->arena, bool, loops->inputs.n + loops->outputs.n + 1);
    tessi_loop_moved(loops, facts->moved);
    facts->may_fit = tessi_loop_index_bound(loops, &v->arena, &facts->bound);
    return *at = facts;
}

/* The size of images whose plan the run uses, which is made then. A device that is a CPU is filled by few points. */
static bool size_of_run(const tess_program *p, Variant *v, const GpuContext *c,
                        const int64_t *params, PlanSize *size, Failure *f)
{
    *size = tessi_device_info(c->device)->is_cpu ? PLAN_LARGE : tessi_size_of_run(p, v, params);
    if (*size == PLAN_LARGE)
        return true;
    if (!tessi_pass_size(v, *size, f))
        return false;
    if (tessi_planned(v, *size).loops == v->loops)
        *size = PLAN_LARGE;
    return true;
}

/* What kernels may rely on in this run. */
static bool form_of(const tess_program *p, Variant *v, const GpuContext *c, const GpuCall *call,
                    unsigned *out, Failure *f)
{
    const DeviceInfo *device = tessi_device_info(c->device);
    unsigned form = GPU_ALIGNED;
    PlanSize size;
    if (!size_of_run(p, v, c, call->params, &size, f))
        return false;
    form |= (unsigned)size * GPU_SIZE;
    const GpuFacts *facts = facts_of(v, form);
    if (!facts->may_fit || tessi_loop_bound_value(&facts->bound, call->params) > INT32_MAX)
        form |= GPU_WIDE;
    if (device
            ->is_cpu) /* its compiler makes the vectors; PoCL 3.1 miscompiles ours in large kernels */
        form &= ~(unsigned)GPU_ALIGNED;
    for (uint32_t i = 0; i < v->graph->inputs.n + v->graph->outputs.n; i++)
        if (facts->moved[i] && !tessi_gpu_is_aligned(&call->images[i], device->addresses))
            form &= ~(unsigned)GPU_ALIGNED;
    *out = form;
    return true;
}

static const GpuCode *guarded_code(tess_program *p, Variant *v, GpuContext *c, const GpuCall *call,
                                   Failure *f)
{
    Guard guard;
    unsigned form;
    if (GUARDED(&guard, &v->arena))
        return form_of(p, v, c, call, &form, f) ? tessi_gpu_code_now(p, v, c, form, call->params, f)
                                                : NULL;
    tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    return NULL;
}

static const GpuCode *code_for(tess_program *p, Variant *v, tess_args *a, GpuContext *c,
                               const GpuCall *call)
{
    if (!v->is_private)
        mtx_lock(&v->lock);
    const GpuCode *code = guarded_code(p, v, c, call, &a->failure);
    if (!v->is_private)
        mtx_unlock(&v->lock);
    if (code) {
        a->timing.compile_ms = code->compile_ms;
        a->timing.compile_cached = code->cached;
    }
    return code;
}

static GpuImage *list_images(const tess_program *p, const Variant *v, const tess_args *a,
                             Arena *arena)
{
    const Graph *g = v->graph;
    GpuImage *images = ARENA_NEW_ARRAY(arena, GpuImage, g->inputs.n + g->outputs.n + 1);
    for (uint32_t i = 0; i < g->inputs.n; i++)
        images[i] =
            tessi_gpu_image(&g->inputs.at[i], tessi_bound_input(p, a, g->inputs.at[i].name));
    for (uint32_t i = 0; i < g->outputs.n; i++)
        images[g->inputs.n + i] = tessi_gpu_image(&g->outputs.at[i], &a->outputs[i]);
    return images;
}

/* Of results that are windows, the rows that are stored; NULL: there are none. */
static const GpuPart *list_windows(const Variant *v, const tess_args *a, GpuImage *images,
                                   Arena *arena)
{
    const Graph *g = v->graph;
    GpuPart *parts = NULL;
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        const BoundImage *b = &a->outputs[o];
        GpuImage *im = &images[g->inputs.n + o];
        if (!b->is_window)
            continue;
        if (!parts)
            parts = ARENA_NEW_ARRAY(arena, GpuPart, g->inputs.n + g->outputs.n + 1);
        parts[g->inputs.n + o] =
            (GpuPart){ .is_part = true, .rows = b->shape[0], .skip = b->skip, .wanted = b->wanted };
        im->offset = (size_t)((int64_t)im->offset + b->skip * im->stride_bytes[0]);
        im->size[0] = b->wanted;
    }
    return parts;
}

bool tessi_gpu_size_of_run(const tess_program *p, Variant *v, const tess_args *a,
                           const GpuContext *c, Arena *arena, PlanSize *size, Failure *f)
{
    Guard guard;
    int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, v->graph->params.n + 1);
    if (!tessi_bind_sizes(p, v, a, arena, params, f))
        return false;
    return GUARDED(&guard, &v->arena)
               ? size_of_run(p, v, c, params, size, f)
               : tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
}

bool tessi_gpu_compile(tess_program *p, Variant *v, tess_args *a, GpuContext *context, Arena *arena)
{
    Guard guard;
    Binding b;
    if (!GUARDED(&guard, arena))
        return tessi_failf(&a->failure, TESS_ERROR_MEMORY, "out of memory");
    if (!tessi_bind_for_device(p, v, a, arena, &b, &a->failure))
        return false;
    const GpuCall call = { .params = b.params,
                           .scalars = b.scalars,
                           .images = list_images(p, v, a, arena) };
    return code_for(p, v, a, context, &call) != NULL;
}

/* Every tensor in device memory must be of the context that runs. */
static bool check_contexts(const Graph *g, const GpuImage *images, GpuContext *c, Failure *f)
{
    for (uint32_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        const Image *image = i < g->inputs.n ? &g->inputs.at[i] : &g->outputs.at[i - g->inputs.n];
        if (images[i].on_device && !tessi_device_owns(c->device, NULL, images[i].base))
            return tessi_failf(f, TESS_ERROR_DEVICE,
                               "the image '%s' belongs to another context than the run",
                               image->name);
    }
    return true;
}

/* Copies to the device, kernels, copies back, and waits when memory of the host takes part. */
static bool put_all(GpuState *s, DeviceStream stream, bool timed, Failure *f)
{
    Device *d = s->context->device;
    return tessi_gpu_upload(s->slot, stream, f)
           && (!timed || tessi_device_record(d, stream, &s->begin, f))
           && tessi_gpu_launch(s->slot, stream, f)
           && (!timed || tessi_device_record(d, stream, &s->end, f))
           && tessi_gpu_download(s->slot, stream, f)
           && (timed ? tessi_device_synchronise(d, stream, f) : tessi_device_flush(d, stream, f));
}

static bool enqueue(GpuState *s, tess_args *a, DeviceStream stream)
{
    Device *d = s->context->device;
    const bool timed = tessi_gpu_touches_host(s->slot);
    const double start = tessi_clock_ms();
    if (!put_all(s, stream, timed, &a->failure)) {
        tessi_device_synchronise(d, stream,
                                 NULL); /* nothing may use the caller's memory any more */
        return false;
    }
    if (!timed)
        return true;
    const double all = tessi_clock_ms() - start;
    double kernels;
    if (!tessi_device_elapsed(d, s->begin, s->end, &kernels,
                              NULL)) /* a queue of the caller's may not measure */
        kernels = all;
    a->timing.run_ms = kernels;
    a->timing.copy_ms = all > kernels ? all - kernels : 0;
    return true;
}

bool tessi_gpu_can_repeat(const tess_args *a, const void *stream)
{
    return a->gpu && a->gpu->fresh && a->gpu->stream == stream;
}

bool tessi_gpu_repeat(tess_args *a)
{
    a->timing.plan_ms = a->gpu->variant->plan_ms;
    a->timing.front_ms = a->gpu->variant->front_ms + a->timing.plan_ms;
    a->timing.compile_ms = a->gpu->code->compile_ms;
    a->timing.compile_cached = a->gpu->code->cached;
    return enqueue(a->gpu, a, a->gpu->stream);
}

/* Strips that follow one another on the device, or parts of other programs through the host's memory; the failure stays
 * that of the strips. */
static bool run_in_strips(const Run *run, const GpuCode *code, const GpuCall *call)
{
    tess_args *a = run->a;
    Failure *f = &a->failure, why = { 0 };
    if (tessi_gpu_run_strips(run->v, code, call, run->stream, run->arena, &a->timing.strips, f))
        return true;
    a->timing.strips = 0;
    return f->status == TESS_ERROR_MEMORY && !run->p->is_part && tessi_run_in_parts(run, &why);
}

/* Large images of the host; *done: the results are there. Where memory is too short for that, the whole is tried. */
static bool run_piped(const Run *run, const GpuCode *code, const GpuCall *call, bool *done)
{
    tess_args *a = run->a;
    const double start = tessi_clock_ms();
    *done = false;
    if (!tessi_gpu_run_piped(run->v, code, call, run->stream, run->arena, &a->timing.strips,
                             &a->failure))
        return false;
    memset(&a->failure, 0, sizeof a->failure);
    *done = a->timing.strips > 0;
    if (*done)
        a->timing.run_ms = tessi_clock_ms() - start;
    return true;
}

static bool run_whole(const Run *run, const Binding *b)
{
    tess_program *p = run->p;
    Variant *v = run->v;
    tess_args *a = run->a;
    Failure *f = &a->failure;
    GpuCall call = { .params = b->params, .scalars = b->scalars, .ends = a->ends };
    GpuImage *images = list_images(p, v, a, run->arena);
    call.images = images;
    call.parts = list_windows(v, a, images, run->arena);
    if (!check_contexts(v->graph, call.images, run->context, f))
        return false;
    const GpuCode *code = code_for(p, v, a, run->context, &call);
    if (!code)
        return false;
    call.params = tessi_gpu_params(v, code, call.params, run->arena);
    bool done = false;
    /* plans that are measured run from images of the device */
    if (!v->is_private && (!run_piped(run, code, &call, &done) || done))
        return done;
    GpuState *s = state_for(p, a, v, code);
    if (!s)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    s->stream = run->stream;
    const bool ready = tessi_gpu_prepare(s->slot, &call, f);
    s->fresh = ready && !(code->form & GPU_GENERAL); /* the next run may find better code */
    if (ready)
        return enqueue(s, a, run->stream);
    if (f->status != TESS_ERROR_MEMORY)
        return false;
    tessi_gpu_state_free(s); /* with what it has of the memory that is short */
    a->gpu = NULL;
    const double start = tessi_clock_ms();
    if (!run_in_strips(run, code, &call))
        return false;
    memset(f, 0, sizeof *f);
    a->timing.run_ms = tessi_clock_ms() - start;
    return true;
}

/* Where it cannot be shared out, the first device does it, which is said. */
static bool run_on_devices(const Run *run, bool *done)
{
    Failure f = { 0 };
    const tess_options *o = &run->p->options;
    *done = tessi_run_on_devices(run, &f);
    if (*done)
        return true;
    run->a->timing.strips = 0;
    if (f.status != TESS_ERROR_UNSUPPORTED) {
        run->a->failure = f;
        return false;
    }
    char sentence[sizeof f.text + 80];
    snprintf(sentence, sizeof sentence, "one of the devices does all of it: %.400s", f.text);
    if (o->note)
        o->note(o->user, sentence);
    return true;
}

bool tessi_gpu_run(const Run *run, const Binding *b)
{
    tess_program *p = run->p;
    bool done = false;
    if (p->options.n_devices > 1 && !p->is_part && !run_on_devices(run, &done))
        return false;
    return done || run_whole(run, b);
}
