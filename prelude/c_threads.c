/* Threads for generated C where the compiler translates OpenMP's pragmas but has no runtime for them: compilers of
 * LLVM make of each parallel region a function, and call what stands here. Compiled together with the program; each
 * region starts its threads and ends them, so nothing outlives a call, and forks and unloading need no care.
 *
 * What generated code has is all there is: regions of one loop, static or dynamic, that nobody waits at the end of;
 * regions in regions run on one thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT */
#endif
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "omp.h"

#pragma GCC visibility push(hidden) /* a runtime that somebody else has loaded is left alone */

enum { MOST_THREADS = 256, FEW = 64, MOST = 4096 /* variables that a region shares */ };

typedef void (*Region)(int32_t *thread, int32_t *bound, ...);
typedef struct Team {
    Region region;
    void **shared;
    int n_shared, n;            /* n: threads */
    pthread_mutex_t gate;       /* closed until it is known how many threads there are */
    atomic_uint_least64_t next; /* iteration of a dynamic loop, from its first on */
} Team;
typedef struct Member {
    Team *team;
    int32_t id;
    uint64_t first, last, chunk; /* of a dynamic loop */
} Member;
static _Thread_local Member *member; /* of the region that the thread is in */
static _Thread_local int wanted;     /* threads; 0: all processors */

static int processors(void)
{
    const char *said = getenv("OMP_NUM_THREADS");
    long n = said ? strtol(said, NULL, 10) : 0;
    cpu_set_t set;
    if (n < 1)
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int)n;
}

int omp_get_max_threads(void)
{
    return member ? 1 : wanted > 0 ? wanted : processors();
}

int omp_get_thread_num(void)
{
    return member ? member->id : 0;
}

void omp_set_num_threads(int n)
{
    wanted = n < MOST_THREADS ? n : MOST_THREADS;
}

/* ---- Regions ----------------------------------------------------------------------------------- */
/* A function takes what it shares one by one; those that it does not take do no harm. */
#define SIXTEEN(a)                                                                           \
    (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7], (a)[8], (a)[9], (a)[10], \
        (a)[11], (a)[12], (a)[13], (a)[14], (a)[15]
#define MANY(a)     SIXTEEN(a), SIXTEEN((a) + 16), SIXTEEN((a) + 32), SIXTEEN((a) + 48)
#define HUNDREDS(a) MANY(a), MANY((a) + 64), MANY((a) + 128), MANY((a) + 192)
#define THOUSAND(a) HUNDREDS(a), HUNDREDS((a) + 256), HUNDREDS((a) + 512), HUNDREDS((a) + 768)

static void take_part(Team *team, int id)
{
    Member me = { .team = team, .id = id };
    Member *const before = member;
    int32_t thread = id, bound = 0;
    void **a = team->shared;
    member = &me;
    if (team->n_shared <= FEW)
        team->region(&thread, &bound, MANY(a));
    else
        team->region(&thread, &bound, THOUSAND(a), THOUSAND(a + 1024), THOUSAND(a + 2048),
                     THOUSAND(a + 3072));
    member = before;
}

typedef struct Helper {
    Team *team;
    int id;
    pthread_t thread;
} Helper;

static void *help(void *user)
{
    const Helper *h = user;
    pthread_mutex_lock(&h->team->gate);
    pthread_mutex_unlock(&h->team->gate);
    take_part(h->team, h->id);
    return NULL;
}

static void run(Team *team, int threads)
{
    Helper helpers[MOST_THREADS];
    int n = 0;
    pthread_mutex_lock(&team->gate);
    for (; n < threads - 1; n++) {
        helpers[n] = (Helper){ .team = team, .id = n + 1 };
        if (pthread_create(&helpers[n].thread, NULL, help, &helpers[n]) != 0)
            break; /* the others share its part */
    }
    team->n = n + 1;
    pthread_mutex_unlock(&team->gate);
    take_part(team, 0);
    while (n-- > 0)
        pthread_join(helpers[n].thread, NULL);
}

void __kmpc_fork_call(void *place, int32_t n, Region region, ...)
{
    (void)place;
    void *few[FEW] = { NULL }, **shared = few;
    if (n > FEW) {
        shared = n <= MOST ? calloc(MOST, sizeof *shared) : NULL;
        if (!shared)
            abort();
    }
    va_list list;
    va_start(list, region);
    for (int32_t i = 0; i < n; i++)
        shared[i] = va_arg(list, void *);
    va_end(list);
    Team team = { .region = region, .shared = shared, .n_shared = n };
    pthread_mutex_init(&team.gate, NULL);
    run(&team, omp_get_max_threads());
    pthread_mutex_destroy(&team.gate);
    if (shared != few)
        free(shared);
}

int32_t __kmpc_global_thread_num(void *place)
{
    (void)place;
    return omp_get_thread_num();
}

/* ---- Loops ------------------------------------------------------------------------------------- */
/* Iterations come numbered one by one. Each thread gets a run of them, which ends before the next would begin; the
 * first have one more where they do not come out even. */
#define LOOPS(name, T, S)                                                                         \
    void __kmpc_for_static_init_##name(void *place, int32_t thread, int32_t schedule,             \
                                       int32_t *is_last, T *lower, T *upper, S *stride, S step,   \
                                       S chunk)                                                   \
    {                                                                                             \
        (void)place, (void)thread, (void)schedule, (void)step, (void)chunk;                       \
        const uint64_t trip = (uint64_t)*upper - (uint64_t)*lower + 1,                            \
                       n = (uint64_t)member->team->n, id = (uint64_t)member->id, rest = trip % n, \
                       begin = id * (trip / n) + (id < rest ? id : rest),                         \
                       count = trip / n + (id < rest);                                            \
        *stride = (S)trip;                                                                        \
        *is_last = count && begin + count == trip;                                                \
        *upper = (T)(count ? (uint64_t)*lower + begin + count - 1 : 0);                           \
        *lower = (T)(count ? (uint64_t)*lower + begin : 1);                                       \
    }                                                                                             \
    void __kmpc_dispatch_init_##name(void *place, int32_t thread, int32_t schedule, T lower,      \
                                     T upper, S step, S chunk)                                    \
    {                                                                                             \
        (void)place, (void)thread, (void)schedule, (void)step;                                    \
        member->first = (uint64_t)lower;                                                          \
        member->last = (uint64_t)upper;                                                           \
        member->chunk = chunk > 0 ? (uint64_t)chunk : 1;                                          \
    }                                                                                             \
    int __kmpc_dispatch_next_##name(void *place, int32_t thread, int32_t *is_last, T *lower,      \
                                    T *upper, S *stride)                                          \
    {                                                                                             \
        (void)place, (void)thread;                                                                \
        const uint64_t at = atomic_fetch_add(&member->team->next, member->chunk),                 \
                       most = member->last - member->first;                                       \
        if (at > most)                                                                            \
            return 0;                                                                             \
        const uint64_t end = most - at < member->chunk ? most : at + member->chunk - 1;           \
        *lower = (T)(member->first + at);                                                         \
        *upper = (T)(member->first + end);                                                        \
        *stride = 1;                                                                              \
        *is_last = end == most;                                                                   \
        return 1;                                                                                 \
    }
LOOPS(4, int32_t, int32_t)
LOOPS(4u, uint32_t, int32_t)
LOOPS(8, int64_t, int64_t)
LOOPS(8u, uint64_t, int64_t)

void __kmpc_for_static_fini(void *place, int32_t thread)
{
    (void)place, (void)thread;
}

void __kmpc_dispatch_deinit(void *place, int32_t thread)
{
    (void)place, (void)thread;
}
#pragma GCC visibility pop
