/* Threads, and what is left of them after fork. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "rt/thread.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

bool tessi_thread_start(RtThread *t, int (*work)(void *user), void *user)
{
    const bool started = thrd_create(&t->id, work, user) == thrd_success;
    t->process = started ? getpid() : 0;
    return started;
}

bool tessi_thread_is_lost(const RtThread *t)
{
    return t->process && t->process != getpid();
}

int tessi_thread_join(RtThread *t)
{
    int result = 0;
    if (t->process && !tessi_thread_is_lost(t))
        thrd_join(t->id, &result);
    t->process = 0;
    return result;
}

#if defined(__linux__)
/* Linux notes of each process whether it has executed a program since it was forked. */
static bool is_forked_process(void)
{
    enum { FORKED = 0x40 }; /* PF_FORKNOEXEC, in the seventh word behind the name */
    char text[1024];
    FILE *f = fopen("/proc/self/stat", "re");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* the name may contain anything */
    unsigned flags = FORKED;
    if (at)
        sscanf(at + 1, " %*s %*s %*s %*s %*s %*s %u", &flags);
    return flags & FORKED;
}

bool tessi_thread_came_by_fork(RtOrigin *known)
{
    const int64_t process = getpid();
    if (known->process != process)
        *known = (RtOrigin){ process, is_forked_process() };
    return known->forked && syscall(SYS_gettid) == process; /* others were started since */
}
#else
bool tessi_thread_came_by_fork(RtOrigin *known)
{
    (void)known;
    return false; /* the OpenMP runtimes there look after it */
}
#endif
