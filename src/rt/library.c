/* dlopen for libraries that may not be there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NODELETE */
#endif
#include "rt/library.h"

#include <dlfcn.h>
#include <string.h>

bool tessi_library_load(const char *const *names, const RtSymbol *symbols, size_t n, void *table,
                        const char **missing)
{
    void *handle = NULL;
    *missing = NULL;
    /* Drivers start threads and register handlers for the end of the process: they stay, once loaded. */
    for (size_t i = 0; names[i] && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return false;
    for (size_t i = 0; i < n && !*missing; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol && !symbols[i].optional)
            *missing = symbols[i].name;
        /* ISO C has no cast from object to function pointer. */
        memcpy((char *)table + symbols[i].offset, &symbol, sizeof symbol);
    }
    dlclose(handle);
    return !*missing;
}
