/* How the loops of a run ended that a condition may end: room for it in tess_args, and what the caller is told. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

static uint32_t count_loops(const Graph *g, size_t *name_bytes)
{
    uint32_t n = 0;
    *name_bytes = 0;
    VEC_FOREACH (const Repeat, r, &g->repeats) {
        if (!r->until.v)
            continue;
        n++;
        *name_bytes += strlen(r->name) + 1;
    }
    return n;
}

void tessi_ends_free(tess_args *a)
{
    free(a->ends);
    a->ends = NULL;
    a->n_ends = 0;
}

bool tessi_ends_begin(tess_args *a, const Graph *g)
{
    size_t bytes;
    const uint32_t n = count_loops(g, &bytes);
    tessi_ends_free(a);
    if (!n)
        return true;
    a->ends = calloc(1, n * sizeof *a->ends + bytes);
    if (!a->ends)
        return tessi_failf(&a->failure, TESS_ERROR_MEMORY, "out of memory");
    a->n_ends = n;
    char *name = (char *)(a->ends + n);
    VEC_FOREACH (const Repeat, r, &g->repeats) {
        if (!r->until.v)
            continue;
        strcpy(name, r->name);
        name += strlen(name) + 1;
    }
    return true;
}

tess_status tess_args_loop(const tess_args *a, size_t i, tess_loop *loop)
{
    if (!a || !loop || loop->struct_size > sizeof *loop || loop->struct_size < sizeof(size_t)
        || !a->has_results || i >= a->n_ends)
        return TESS_ERROR_ARGUMENT;
    const char *name = (const char *)(a->ends + a->n_ends);
    for (size_t k = 0; k < i; k++)
        name += strlen(name) + 1;
    const size_t n = loop->struct_size;
    const tess_loop said = { n, name, a->ends[i].turns, a->ends[i].met };
    memcpy(loop, &said, n);
    return TESS_OK;
}
