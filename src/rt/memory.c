/* Memory for images. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include "rt/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *tessi_memory_new(size_t bytes)
{
    const size_t line = 64, huge = (size_t)2 << 20, large = 2 * huge;
    if (bytes > SIZE_MAX - huge)
        return NULL;
    size_t unit = bytes < large ? line : huge;
    size_t whole = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, whole ? whole : unit);
#if defined(MADV_HUGEPAGE)
    if (memory && unit == huge)
        (void)madvise(memory, whole, MADV_HUGEPAGE); /* advice: no harm when it is not followed */
#endif
    return memory;
}
