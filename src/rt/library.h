/* Opening libraries that may not be there, and filling tables of their functions. */
#ifndef TESSERA_RT_LIBRARY_H
#define TESSERA_RT_LIBRARY_H

#include "base/base.h"

typedef struct RtSymbol {
    const char *name;
    size_t offset; /* of the function pointer in the table */
    bool optional;
} RtSymbol;

/* Opens the first of `names` (NULL at the end) that can be, for good, and fills `table`. On failure *missing is the
 * symbol that the library lacks, or NULL when no library was found. */
bool tessi_library_load(const char *const *names, const RtSymbol *symbols, size_t n, void *table,
                        const char **missing);

#endif
