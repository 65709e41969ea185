/* Work that goes on when the process has ended. */
#ifndef TESSERA_RT_DETACHED_H
#define TESSERA_RT_DETACHED_H

#include "rt/host.h"

/* Does the work in a process of its own, which nobody waits for and which holds no file of this one open; `name` says
 * which work it is: where a process of this user is at it already, nothing begins. The work sees the memory as it is
 * now, must not wait for other threads, and asks the host that it is given whether to end: that is so when the process
 * was sent SIGTERM, SIGINT or SIGHUP. False when no process could be made. */
bool tessi_detached_run(const char *name, void (*work)(void *user, const RtHost *host), void *user);

#endif
