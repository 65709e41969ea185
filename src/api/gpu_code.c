/* Loops to loaded kernels: printed for the program's target once, compiled once for each context. */
#include "api/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "rt/clock.h"

const char *tessi_gpu_text(const tess_program *p, Variant *v, unsigned form)
{
    GpuText *made = &v->gpu_text[form];
    if (made->text)
        return made->text;
    const EmitTarget *t = p->backend->emit;
    EmitOptions options = tessi_backend_options(p, p->backend);
    options.wide_index = (form & GPU_WIDE) != 0;
    options.aligned_rows = (form & GPU_ALIGNED) != 0;
    Text text = tessi_text_new(&v->arena);
    t->print(tessi_gpu_loops(v, form), t, &options, &text, &made->module);
    made->text = tessi_text_str(&text);
    return made->text;
}

/* ---- Turns ---- */
struct GpuTurns {
    mtx_t lock;       /* from taking a turn to ending it */
    DeviceEvent last; /* the end of the turn before */
};

static bool make_turns(GpuCode *code, Failure *f)
{
    struct GpuTurns *t = calloc(1, sizeof *t);
    if (!t || mtx_init(&t->lock, mtx_plain) != thrd_success) {
        free(t);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    code->turns = t;
    return true;
}

static void free_turns(GpuCode *code)
{
    if (!code->turns)
        return;
    tessi_device_event_free(code->context->device, code->turns->last);
    mtx_destroy(&code->turns->lock);
    free(code->turns);
}

bool tessi_gpu_take_turn(const GpuCode *code, DeviceStream stream, Failure *f)
{
    if (!code->turns)
        return true;
    mtx_lock(&code->turns->lock);
    if (!code->turns->last
        || tessi_device_await(code->context->device, stream, code->turns->last, f))
        return true;
    mtx_unlock(&code->turns->lock);
    return false;
}

bool tessi_gpu_end_turn(const GpuCode *code, DeviceStream stream, Failure *f)
{
    if (!code->turns)
        return true;
    const bool ok = tessi_device_record(code->context->device, stream, &code->turns->last, f);
    mtx_unlock(&code->turns->lock);
    return ok;
}

void tessi_gpu_code_free(GpuCode *code)
{
    while (code) {
        GpuCode *next = code->next;
        Device *d = code->context->device;
        for (uint32_t i = 0; code->kernels && i < code->emitted->kernels.n; i++)
            tessi_device_kernel_free(d, code->kernels[i]);
        free_turns(code);
        tessi_gpu_modules_free(&code->modules, d);
        tessi_gpu_release(code->context);
        free(code->kernels);
        free(code);
        code = next;
    }
}

static bool load(const tess_program *p, GpuCode *code, bool recall, Failure *f)
{
    Device *d = code->context->device;
    const uint32_t n = code->emitted->kernels.n;
    if (!tessi_gpu_modules_build(&code->modules, code, &p->cache, recall, &code->cached, f))
        return false;
    code->kernels = calloc(n + 1, sizeof *code->kernels);
    if (!code->kernels)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        const GpuKernel *k = &code->emitted->kernels.at[i];
        ok = tessi_device_kernel(d, tessi_gpu_module_of(&code->modules, k), k->name,
                                 &code->kernels[i], f);
    }
    return ok;
}

bool tessi_gpu_code_load(const tess_program *p, GpuCode *code, bool recall, Failure *f)
{
    const double start = tessi_clock_ms();
    const bool ok = load(p, code, recall, f);
    code->compile_ms += tessi_clock_ms() - start;
    return ok;
}

GpuCode *tessi_gpu_code_print(tess_program *p, Variant *v, GpuContext *c, unsigned form, Failure *f)
{
    const double start = tessi_clock_ms();
    const char *text = tessi_gpu_text(p, v, form);
    GpuCode *code = calloc(1, sizeof *code);
    if (!code) {
        tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    mtx_lock(&p->lock);
    tessi_open_cache(p);
    mtx_unlock(&p->lock);
    code->context = c;
    tessi_gpu_hold(c);
    code->form = form;
    code->text = text;
    code->loops = tessi_gpu_loops(v, form);
    code->emitted = &v->gpu_text[form].module;
    if (tessi_gpu_has_variables(code->emitted) && !make_turns(code, f)) {
        tessi_gpu_code_free(code);
        return NULL;
    }
    code->compile_ms = tessi_clock_ms() - start;
    return code;
}

const GpuCode *tessi_gpu_code_find(const Variant *v, const GpuContext *c, unsigned form)
{
    for (const GpuCode *code = v->code; code; code = code->next)
        if (code->context == c && code->form == form)
            return code;
    return NULL;
}

void tessi_gpu_code_add(Variant *v, GpuCode *code)
{
    code->next = v->code;
    v->code = code;
}

const GpuCode *tessi_gpu_code(tess_program *p, Variant *v, GpuContext *c, unsigned form, Failure *f)
{
    const GpuCode *there = tessi_gpu_code_find(v, c, form);
    if (there)
        return there;
    tessi_phase(p, "compiling");
    GpuCode *code = tessi_gpu_code_print(p, v, c, form, f);
    if (code && !tessi_gpu_code_load(p, code, false, f)) {
        tessi_gpu_code_free(code);
        return NULL;
    }
    if (code)
        tessi_gpu_code_add(v, code);
    return code;
}
