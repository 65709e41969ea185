/* What lies in the compile cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "rt/cache.h"

static tess_status look(const char *cache, bool clear, tess_cache_state *state, char *error,
                        size_t error_size)
{
    if (error && error_size)
        error[0] = '\0';
    if (!state || state->struct_size != sizeof *state)
        return TESS_ERROR_ARGUMENT;
    *state = (tess_cache_state){ .struct_size = sizeof *state, .most_bytes = CACHE_MOST_BYTES };
    RtCache c;
    tessi_cache_open(&c, cache);
    Failure f = c.refused;
    if (c.dir)
        tessi_cache_sum(&c, clear, &state->n_entries, &state->bytes);
    else if (!f.status)
        tessi_failf(&f, TESS_ERROR_ARGUMENT, "no cache is wanted");
    state->folder = c.dir ? strdup(c.dir) : NULL;
    if (c.dir && !state->folder)
        tessi_failf(&f, TESS_ERROR_MEMORY, "out of memory");
    tessi_cache_dispose(&c);
    if (f.status && error && error_size)
        snprintf(error, error_size, "%s", f.text);
    return (tess_status)f.status;
}

tess_status tess_cache_look(const char *cache, tess_cache_state *state, char *error,
                            size_t error_size)
{
    return look(cache, false, state, error, error_size);
}

tess_status tess_cache_clear(const char *cache, tess_cache_state *removed, char *error,
                             size_t error_size)
{
    return look(cache, true, removed, error, error_size);
}
