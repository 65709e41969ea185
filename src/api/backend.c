/* The table of targets, and what all of them have in common. */
#include <stdlib.h>

#include "api/backend.h"

#include "rt/clock.h"
#include "rt/machine.h"
#include "rt/memory.h"

const Backend *const tessi_backends[] = {
#define BACKEND(id, row) &tessi_backend_##row,
#include "api/backends.def"
#undef BACKEND
    NULL
};

const Backend *tessi_backend_of(tess_target t)
{
    if (t == TESS_TARGET_AUTO)
        return tessi_backends[0];
    for (const Backend *const *b = tessi_backends; *b; b++)
        if ((*b)->target == t)
            return *b;
    return NULL;
}

const Backend *tessi_backend_of_memory(int32_t memory)
{
    for (const Backend *const *b = tessi_backends; *b; b++)
        if ((*b)->device && (*b)->device->memory == memory)
            return *b;
    return NULL;
}

bool tessi_is_host_memory(int32_t memory)
{
    bool made = false;
    for (const Backend *const *b = tessi_backends; *b; b++)
        made = made || ((*b)->device && (*b)->device->host_memory == memory);
    return memory == kDLCPU || made;
}

const Backend *tessi_backend(tess_program *p)
{
    if (p->options.target != TESS_TARGET_AUTO)
        return p->backend;
    for (const Backend *const *b = tessi_backends; *b; b++)
        if ((*b)->can_run && (*b)->can_run(p))
            return *b;
    return p->backend;
}

EmitOptions tessi_backend_options(const tess_program *p, const Backend *b)
{
    return (EmitOptions){ .prelude = b->prelude,
                          .vector_prelude = b->vector_prelude,
                          .reference_prelude = b->reference_prelude,
                          .source_name = p->name };
}

bool tessi_backend_fits(const Backend *b, const Plan *plan, Failure *f)
{
    return plan->gpu == b->emit->kernels || tessi_failf(f, TESS_ERROR_PROGRAM, "%s", b->other_plan);
}

/* ---- Of the processor -------------------------------------------------------------------------------------------- */

bool tessi_host_describe(tess_program *p, Text *out, Failure *f)
{
    (void)f;
    mtx_lock(&p->lock);
    tessi_open_cache(p);
    mtx_unlock(&p->lock);
    tessi_machine_detect(&p->cache, out);
    return true;
}

bool tessi_host_time(tess_program *p, bool (*work)(void *user, Failure *f), void *user, double *ms,
                     Failure *f)
{
    (void)p;
    const double start = tessi_clock_ms();
    const bool ok = work(user, f);
    *ms = tessi_clock_ms() - start;
    return ok;
}

bool tessi_host_workspace(tess_args *a, int64_t bytes)
{
    free(a->workspace);
    a->workspace = bytes < PTRDIFF_MAX ? tessi_memory_new((size_t)bytes) : NULL;
    a->workspace_bytes = a->workspace ? (ptrdiff_t)bytes : 0;
    return a->workspace != NULL;
}

void tessi_host_forget(tess_args *a)
{
    free(a->workspace);
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

const char *tess_target_name(tess_target t)
{
    const Backend *b = tessi_backend_of(t);
    return t == TESS_TARGET_AUTO ? "auto" : b ? b->name : NULL;
}

int tess_target_has_device(tess_target t)
{
    const Backend *b = tessi_backend_of(t);
    return b && b->device;
}
