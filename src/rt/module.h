/* Loading a compiled module and finding functions in it. */
#ifndef TESSERA_RT_MODULE_H
#define TESSERA_RT_MODULE_H

#include "base/base.h"

typedef struct RtModule {
    void *handle; /* NULL: none */
} RtModule;
typedef void (*RtFunction)(void); /* cast to the function's own type before the call */

bool tessi_module_open(const char *path, RtModule *m, Failure *f);
/* The file behind a descriptor, which may be closed afterwards, whatever its name means by now. */
bool tessi_module_open_file(int fd, RtModule *m, Failure *f);
RtFunction tessi_module_function(const RtModule *m, const char *name,
                                 Failure *f); /* NULL on failure */
void tessi_module_close(RtModule *m);         /* fine when none is open */

#endif
