/* Public facts: version, statuses, border rules, the signature of a program. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/gpu.h"
#include "base/rounding.h"
#include "base/scalar.h"
#include "rt/machine.h"

const char *tess_version(void)
{
    return TESSERA_VERSION;
}

const char *tess_status_text(tess_status s)
{
    switch (s) {
    case TESS_OK: return "done";
    case TESS_ERROR_PROGRAM: return "the program is wrong";
    case TESS_ERROR_ARGUMENT: return "an argument does not fit";
    case TESS_ERROR_FILE: return "a file could not be read or written";
    case TESS_ERROR_COMPILER: return "the C compiler is missing or failed";
    case TESS_ERROR_DEVICE: return "the device is missing or failed";
    case TESS_ERROR_MEMORY: return "out of memory";
    case TESS_ERROR_UNSUPPORTED: return "this build cannot do that";
    case TESS_ERROR_INTERNAL: return "internal error";
    }
    return "unknown status";
}

tess_status tess_border_rule(size_t i, const char *fields[5])
{
    if (!fields || i >= N_BORDERS - 1)
        return TESS_ERROR_ARGUMENT;
    const BorderInfo *b =
        tessi_border_info((Border)(i + 1)); /* INSIDE, the first, is no rule that users know */
    fields[0] = b->name;
    fields[1] = b->aliases;
    fields[2] = b->picture;
    fields[3] = b->scipy;
    fields[4] = b->opencv;
    return TESS_OK;
}

static tess_status copy_info(const Input *inputs, size_t n, size_t i, tess_info *info)
{
    if (i >= n || !info || info->struct_size > sizeof *info || info->struct_size < sizeof(size_t))
        return TESS_ERROR_ARGUMENT;
    size_t size = info->struct_size;
    memcpy(info, &inputs[i].info, size);
    info->struct_size = size;
    return TESS_OK;
}

size_t tess_program_inputs(const tess_program *p)
{
    return p ? p->inputs.n : 0;
}

size_t tess_program_outputs(const tess_program *p)
{
    return p ? p->outputs.n : 0;
}

tess_status tess_program_input(const tess_program *p, size_t i, tess_info *info)
{
    return p ? copy_info(p->inputs.at, p->inputs.n, i, info) : TESS_ERROR_ARGUMENT;
}

tess_status tess_program_output(const tess_program *p, size_t i, tess_info *info)
{
    return p ? copy_info(p->outputs.at, p->outputs.n, i, info) : TESS_ERROR_ARGUMENT;
}

void tessi_program_failure(tess_program *p, const Failure *f)
{
    mtx_lock(&p->lock);
    p->failure = *f;
    mtx_unlock(&p->lock);
}

const char *tess_program_error(const tess_program *p)
{
    return p ? p->failure.text : "";
}

static tess_status machine_text_of(const char *cache_dir, bool measure, char **text)
{
    if (!text)
        return TESS_ERROR_ARGUMENT;
    *text = NULL;
    RtCache cache;
    Arena arena;
    Guard guard;
    tessi_cache_open(&cache, cache_dir);
    tessi_arena_init(&arena, NULL, NULL);
    if (GUARDED(&guard, &arena)) {
        Text made = tessi_text_new(&arena);
        bool ok = true;
        if (measure)
            ok = tessi_machine_detect_measured(&cache, &made);
        else
            tessi_machine_detect(&cache, &made);
        *text = ok ? strdup(tessi_text_str(&made)) : NULL;
    }
    tessi_arena_dispose(&arena);
    tessi_cache_dispose(&cache);
    return *text ? TESS_OK : TESS_ERROR_MEMORY;
}

static tess_status machine_text(const char *cache_dir, bool measure, char **text)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = machine_text_of(cache_dir, measure, text);
    tessi_round_as(callers);
    return status;
}

tess_status tess_machine_text(char **text)
{
    return machine_text(NULL, false, text);
}

tess_status tess_machine_measure(const char *cache, char **text)
{
    return machine_text(cache, true, text);
}

int tess_machine_is_measured(const char *cache_dir)
{
    RtCache cache;
    tessi_cache_open(&cache, cache_dir);
    const bool known = tessi_machine_is_measured(&cache);
    tessi_cache_dispose(&cache);
    return known;
}

/* The description of a device. */
static tess_status describe(const Device *d, char **text)
{
    Arena arena;
    Guard guard;
    tessi_arena_init(&arena, NULL, NULL);
    if (GUARDED(&guard, &arena)) {
        Text made = tessi_text_new(&arena);
        tessi_device_describe(tessi_device_info(d), &made);
        *text = strdup(tessi_text_str(&made));
    }
    tessi_arena_dispose(&arena);
    return *text ? TESS_OK : TESS_ERROR_MEMORY;
}

tess_status tess_device_text(tess_target target, int device, char **text, char *error,
                             size_t error_size)
{
    const Backend *b = tessi_backend_of(target);
    if (!text || !b || !b->device)
        return TESS_ERROR_ARGUMENT;
    *text = NULL;
    Device *d;
    Failure f = { 0 };
    if (!tessi_device_open(b->device->kind, device, NULL, NULL, &d, &f)) {
        if (error && error_size)
            snprintf(error, error_size, "%s", f.text);
        return (tess_status)f.status;
    }
    tess_status status = describe(d, text);
    tessi_device_close(d);
    return status;
}

tess_status tess_program_device(tess_program *p, tess_device_info *info)
{
    if (!p || !info || info->struct_size != sizeof *info || !p->backend->device)
        return TESS_ERROR_ARGUMENT;
    mtx_lock(&p->lock);
    memset(&p->failure, 0, sizeof p->failure);
    const GpuContext *c = tessi_gpu_default_context(p, &p->failure);
    mtx_unlock(&p->lock);
    if (!c)
        return (tess_status)p->failure.status;
    const DeviceInfo *d = tessi_device_info(c->device);
    *info = (tess_device_info){ sizeof *info, d->name, d->driver, d->cache_bytes, d->memory_bytes };
    return TESS_OK;
}
