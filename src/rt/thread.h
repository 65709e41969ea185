/* Threads of the library. After fork a child has only the thread that forked: it must not wait for the others, nor
 * may OpenMP, which would. */
#ifndef TESSERA_RT_THREAD_H
#define TESSERA_RT_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <threads.h>

typedef struct RtThread {
    thrd_t id;
    int64_t process; /* that started it; 0: nobody did, or it was joined */
} RtThread;
bool tessi_thread_start(RtThread *t, int (*work)(void *user), void *user);
/* It was started by a process that this one is a fork of: what it was at work on is as it was then, and must be left
 * alone. */
bool tessi_thread_is_lost(const RtThread *t);
/* Waits for its result; 0 when it never ran, or is lost. */
int tessi_thread_join(RtThread *t);

/* What is known of the process; zero at first. */
typedef struct RtOrigin {
    int64_t process;
    bool forked;
} RtOrigin;
/* Whether the calling thread went through a fork, so that OpenMP may believe of it that it has helpers, which did
 * not. Where that cannot be found out: yes. */
bool tessi_thread_came_by_fork(RtOrigin *known);

#endif
