/* Memory for images. */
#ifndef TESSERA_RT_MEMORY_H
#define TESSERA_RT_MEMORY_H

#include <stddef.h>

/* Uninitialised memory aligned to cache lines, or for large images to huge pages, which the system is asked for: one
 * page fault and one entry of the address translation then serve 2 MiB. Freed with free(); NULL when memory is
 * short. */
void *tessi_memory_new(size_t bytes);

#endif
