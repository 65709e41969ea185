/* What the rows of targets with a device have in common. */
#include "api/devices.h"
#include "api/gpu.h"

const char tessi_gpu_other_plan[] =
    "the plan is for a CPU, and kernels are for GPUs: name a machine whose description says "
    "`target = gpu`";

/* The context of the program's own device, or one that a run has brought along. */
bool tessi_gpu_describe(tess_program *p, Text *out, Failure *f)
{
    mtx_lock(&p->lock);
    const GpuContext *c = p->contexts ? p->contexts : tessi_gpu_default_context(p, f);
    mtx_unlock(&p->lock);
    if (c)
        tessi_device_describe(tessi_device_info(c->device), out);
    return c != NULL;
}

void tessi_gpu_drop(Variant *v)
{
    tessi_gpu_general_forget(v);
    tessi_gpu_code_free(v->code);
}

void tessi_gpu_forget(tess_args *a)
{
    tessi_gpu_state_free(a->gpu);
    tessi_devices_free(a->team);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

bool tessi_gpu_ready(Run *run)
{
    if (!run->v->code && !tessi_run_fits(run))
        return false;
    mtx_lock(&run->p->lock);
    run->context = tessi_gpu_context(run->p, run->a, run->stream, &run->a->failure);
    mtx_unlock(&run->p->lock);
    return run->context && tessi_run_passes(run, NULL);
}

bool tessi_gpu_bind(const Run *run, Binding *b)
{
    return tessi_bind_for_device(run->p, run->v, run->a, run->arena, b, &run->a->failure);
}

bool tessi_gpu_time(tess_program *p, bool (*work)(void *user, Failure *f), void *user, double *ms,
                    Failure *f)
{
    mtx_lock(&p->lock);
    const GpuContext *c = tessi_gpu_default_context(p, f);
    mtx_unlock(&p->lock);
    return c && tessi_time_on_device(c->device, work, user, ms, f);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

bool tessi_gpu_print_loops(const Backend *b, const tess_program *p, Variant *v, Text *out,
                           Failure *f)
{
    const EmitOptions options = tessi_backend_options(p, b);
    EmitModule module;
    if (!tessi_backend_fits(b, v->plan, f))
        return false;
    b->emit->print(v->loops, b->emit, &options, out, &module);
    return true;
}

LoopProgram *tessi_gpu_ahead(const Backend *b, tess_program *p, Variant *v, tess_diags *d,
                             const Machine **reference, Failure *f)
{
    *reference = tessi_machine_default(&v->arena);
    return tessi_pass_ahead(p, b, v, d, f);
}
