/* What a program that uses the library wants to hear of while ours is at work (tess_options.hold). */
#ifndef TESSERA_RT_HOST_H
#define TESSERA_RT_HOST_H

#include "base/base.h"

typedef struct RtHost {
    int (*hold)(void *user, int change); /* NULL: nobody asks */
    void *user;
} RtHost;

/* 1 when work begins that must not be cut off, -1 when it has ended, 0 in between; true when it is
 * to end soon. `host` may be NULL. */
static inline bool tessi_host_hold(const RtHost *host, int change)
{
    return host && host->hold && host->hold(host->user, change) != 0;
}

#endif
