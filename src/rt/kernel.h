/* C text to a function that can be called: from the cache, or compiled and put there. */
#ifndef TESSERA_RT_KERNEL_H
#define TESSERA_RT_KERNEL_H

#include "rt/cc.h"
#include "rt/module.h"

typedef struct KernelJob {
    const CcTool *tool;
    const RtCache *cache; /* may be NULL */
    const char *c_text;   /* NULL: the cache is asked for the code of the text with that digest */
    const Digest *digest;
    const char *function;     /* the name to look up */
    const char *const *flags; /* more flags, NULL at the end; may be NULL */
    Text *log;                /* gets what a failing compiler said; may be NULL */
    bool recall;              /* only from the cache: false, and no failure, when it is not there */
} KernelJob;

/* By which the cache knows a text. */
Digest tessi_kernel_digest(const char *c_text);

/* Loads the module and finds the function. *cached (may be NULL) says whether it was compiled
 * before. Without a usable cache the module lives in a private directory that is gone when this
 * returns. */
bool tessi_kernel_load(const KernelJob *job, RtModule *module, RtFunction *function, bool *cached,
                       Failure *f);

/* Compiles it, unless the cache has it, and puts it there. False when it is not there then. */
bool tessi_kernel_keep(const KernelJob *job, Failure *f);

#endif
