/* Measures this machine: each figure is the best of many short runs, since whatever disturbs a run makes it slower. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "rt/machine_measure.h"
#include "rt/clock.h"
#include "rt/env.h"
#include "rt/memory.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { REPEATS = 5, MOST_THREADS = 256 };
static const double slice_ms = 1.0; /* of one run of a loop */

/* ---- One core -------------------------------------------------------------------------------- */

/* Runs a measurement with more and more rounds until it takes a slice, then keeps the best time of a round, in
 * seconds. */
typedef struct Timed {
    void (*run)(const struct Timed *t, size_t rounds);
    const VectorLoops *loops;
    VectorLoop op;
    void *memory;
    size_t bytes;
} Timed;

static double seconds_of_round(const Timed *t)
{
    size_t rounds = 1;
    double best = 0;
    for (int repeat = 0; repeat < REPEATS;) {
        double start = tessi_clock_ms();
        t->run(t, rounds);
        double ms = tessi_clock_ms() - start;
        if (ms < slice_ms && rounds < (size_t)1 << 40) {
            rounds *= 2;
            continue;
        }
        double seconds = ms * 1e-3 / (double)rounds;
        best = repeat == 0 || seconds < best ? seconds : best;
        repeat++;
    }
    return best;
}

static void run_additions(const Timed *t, size_t rounds)
{
    (void)t;
    (void)tessi_dependent_additions(rounds, rounds);
}

static void run_op(const Timed *t, size_t rounds)
{
    t->loops->op[t->op](rounds);
}

static void run_loads(const Timed *t, size_t rounds)
{
    for (; rounds; rounds--)
        t->loops->load(t->memory, t->bytes);
}

static void measure_core(const VectorLoops *loops, MachineRates *r)
{
    const Timed clock = { .run = run_additions };
    r->ghz = 64 / seconds_of_round(&clock) * 1e-9;
    double *rates[N_VECTOR_OPS] = { &r->simple_per_cycle, &r->mul_per_cycle, &r->fma_per_cycle,
                                    &r->div_per_cycle, &r->sqrt_per_cycle };
    for (int k = 0; k < N_VECTOR_OPS; k++) {
        const Timed op = { .run = run_op, .loops = loops, .op = (VectorLoop)k };
        if (loops && loops->op[k])
            *rates[k] = 10 / seconds_of_round(&op) / (r->ghz * 1e9);
    }
}

/* Bytes that are read from a buffer of the given size again and again, in GB/s. */
static double read_gbs(const VectorLoops *loops, void *memory, size_t bytes)
{
    bytes -= bytes % (8 * loops->bytes);
    const Timed loads = { .run = run_loads, .loops = loops, .memory = memory, .bytes = bytes };
    return bytes ? (double)bytes / seconds_of_round(&loads) * 1e-9 : 0;
}

static void measure_near_caches(const MachineSizes *sizes, const VectorLoops *loops, void *memory,
                                MachineRates *r)
{
    enum { NEAREST = 8192 }; /* bytes that are surely in the first cache */
    double nearest = read_gbs(loops, memory, NEAREST);
    r->load_per_cycle = nearest / (double)loops->bytes / r->ghz;
    if (sizes->l1_bytes > 0)
        r->l1_gbs = read_gbs(loops, memory, (size_t)sizes->l1_bytes / 2);
    if (sizes->l2_bytes > 0)
        r->l2_gbs = read_gbs(loops, memory, (size_t)sizes->l2_bytes / 2);
}

/* ---- All cores ------------------------------------------------------------------------------- */

typedef enum TeamWork { WORK_TOUCH, WORK_READ, WORK_COPY, WORK_STREAM } TeamWork;

/* Every thread does the same work on its part of the memory, as often as wanted. */
typedef struct Team {
    const VectorLoops *loops;
    TeamWork work;
    char *to, *from; /* READ, TOUCH: `from` only */
    size_t part;     /* bytes of one thread */
    int threads, rounds;
    atomic_int ready, go;
} Team;
typedef struct Member {
    Team *team;
    int number;
} Member;

static void work(const Team *t, int number)
{
    char *from = t->from + (size_t)number * t->part,
         *to = t->to ? t->to + (size_t)number * t->part : NULL;
    for (int round = 0; round < t->rounds; round++) {
        switch (t->work) {
        case WORK_TOUCH: memset(from, 1, t->part); break;
        case WORK_READ: t->loops->load(from, t->part); break;
        case WORK_COPY: t->loops->copy(to, from, t->part); break;
        case WORK_STREAM: t->loops->stream(to, from, t->part); break;
        }
    }
}

static int member(void *user)
{
    const Member *m = user;
    atomic_fetch_add(&m->team->ready, 1);
    while (!atomic_load(&m->team->go)) /* threads may outnumber the cores left to us */
        thrd_yield();
    work(m->team, m->number);
    return 0;
}

/* Seconds of one round with all threads at work; they start together. */
static double team_seconds(Team *t)
{
    thrd_t thread[MOST_THREADS];
    Member members[MOST_THREADS];
    int started = 0;
    atomic_store(&t->ready, 0);
    atomic_store(&t->go, 0);
    for (; started < t->threads - 1; started++) {
        members[started] = (Member){ t, started + 1 };
        if (thrd_create(&thread[started], member, &members[started]) != thrd_success)
            break;
    }
    while (atomic_load(&t->ready) < started)
        thrd_yield();
    double start = tessi_clock_ms();
    atomic_store(&t->go, 1);
    work(t, 0);
    for (int i = 0; i < started; i++)
        thrd_join(thread[i], NULL);
    return (tessi_clock_ms() - start) * 1e-3 / t->rounds;
}

static double team_gbs(Team *t, double bytes, int repeats)
{
    double best = 0;
    for (int i = 0; i < repeats; i++) {
        double gbs = bytes / team_seconds(t) * 1e-9;
        best = gbs > best ? gbs : best;
    }
    return best;
}

/* From one part of the memory to another, with ordinary stores and past the caches. */
static void measure_copies(Team *t, int repeats, double *plain, double *stream)
{
    const double moved = 2.0 * (double)t->part * t->threads;
    t->work = WORK_COPY;
    *plain = team_gbs(t, moved, repeats);
    t->work = WORK_STREAM;
    if (t->loops->stream)
        *stream = team_gbs(t, moved, repeats);
}

static void measure_shared(const MachineSizes *sizes, const VectorLoops *loops, char *memory,
                           size_t bytes, MachineRates *r)
{
    enum { PAGE = 4096, READ_ROUNDS = 4, COPIES = 4, COPIES_ALONE = 2 };
    int threads = sizes->cores < MOST_THREADS ? sizes->cores : MOST_THREADS;
    Team team = { .loops = loops, .threads = threads, .rounds = 1, .from = memory };
    team.part = bytes / (size_t)threads / PAGE * PAGE;
    team_seconds(&team); /* WORK_TOUCH: by the threads that will use it */
    if (sizes->l3_bytes > 0) {
        team.work = WORK_READ;
        team.rounds = READ_ROUNDS;
        team.part = (size_t)sizes->l3_bytes / 2 / (size_t)threads / PAGE * PAGE;
        if (team.part)
            r->l3_gbs = team_gbs(&team, (double)team.part * threads, REPEATS);
    }
    team.rounds = 1;
    team.part = bytes / 2 / (size_t)threads / PAGE * PAGE;
    team.to = memory + bytes / 2;
    measure_copies(&team, COPIES, &r->memory_gbs, &r->memory_stream_gbs);
    team.threads = 1;
    team.part = bytes / 4 / PAGE * PAGE; /* as much as the last cache has */
    measure_copies(&team, COPIES_ALONE, &r->memory_core_gbs, &r->memory_core_stream_gbs);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void nothing(void *user)
{
    (void)user;
}

/* Starting and ending a parallel loop in the OpenMP runtime that gcc's code uses; 0 when that cannot be told. */
static double parallel_us(int threads)
{
    typedef void (*Parallel)(void (*function)(void *), void *data, unsigned threads,
                             unsigned flags);
    enum { REGIONS = 500 };
    const double longest_ms = 50,
                 most_us = 200; /* more: a thread waited for a core that others had */
    void *handle = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = handle ? dlsym(handle, "GOMP_parallel") : NULL;
    if (!symbol)
        return 0;
    Parallel parallel;
    memcpy(&parallel, &symbol, sizeof parallel);
    parallel(nothing, NULL, (unsigned)threads, 0); /* creates the threads */
    double best = 0, begin = tessi_clock_ms();
    for (int i = 0; i < REGIONS && tessi_clock_ms() - begin < longest_ms; i++) {
        double start = tessi_clock_ms();
        parallel(nothing, NULL, (unsigned)threads, 0);
        double us = (tessi_clock_ms() - start) * 1e3;
        best = i == 0 || us < best ? us : best;
    }
    return best < most_us ? best : 0;
}

/* ---- All together ---------------------------------------------------------------------------- */

static bool measure_memory(const MachineSizes *sizes, const VectorLoops *loops, MachineRates *rates,
                           bool *waited)
{
    /* Four times the last cache, so that a copy of one half to the other comes from memory and goes there. */
    size_t least = (size_t)64 << 20, most = tessi_memory_bytes() / 16 < SIZE_MAX
                                                ? (size_t)(tessi_memory_bytes() / 16)
                                                : least;
    size_t bytes = 4 * (size_t)sizes->l3_bytes;
    bytes = bytes < least ? least : bytes;
    bytes = bytes > most ? most : bytes;
    char *memory = tessi_memory_new(bytes);
    if (!memory)
        return false;
    measure_shared(sizes, loops, memory, bytes, rates);
    const ProcessorTimes from = tessi_processor_times();
    if ((size_t)sizes->l2_bytes < bytes)
        measure_near_caches(sizes, loops, memory, rates);
    const ProcessorTimes to = tessi_processor_times();
    *waited = *waited || tessi_was_kept_waiting(&from, &to);
    free(memory);
    return true;
}

/* *disturbed: others were at work meanwhile, as far as can be told while we are. */
static bool measure_once(const MachineSizes *sizes, MachineRates *rates, bool *disturbed)
{
    *rates = (MachineRates){ 0 };
    const VectorLoops *loops = tessi_vector_loops();
    const ProcessorTimes begin = tessi_processor_times();
    measure_core(loops, rates);
    const ProcessorTimes alone = tessi_processor_times();
    bool waited = tessi_was_kept_waiting(&begin, &alone);
    rates->thread_start_us = parallel_us(sizes->cores);
    if (loops && !measure_memory(sizes, loops, rates, &waited))
        return false;
    const ProcessorTimes end = tessi_processor_times();
    *disturbed = waited || tessi_others_were_busy(&begin, &end, sizes->cores);
    return true;
}

/* The best of two. What a cycle does goes with the clock that it was measured by. */
static void keep_best(MachineRates *best, const MachineRates *r)
{
    MachineRates core = r->ghz > best->ghz ? *r : *best;
#define LARGER(rate) core.rate = r->rate > best->rate ? r->rate : best->rate
    LARGER(l1_gbs);
    LARGER(l2_gbs);
    LARGER(l3_gbs);
    LARGER(memory_gbs);
    LARGER(memory_stream_gbs);
    LARGER(memory_core_gbs);
    LARGER(memory_core_stream_gbs);
#undef LARGER
    const double a = best->thread_start_us, b = r->thread_start_us; /* 0: not known */
    core.thread_start_us = !(b > 0) || (a > 0 && a < b) ? a : b;
    *best = core;
}

bool tessi_machine_measure(const MachineSizes *sizes, MachineRates *rates, bool *disturbed)
{
    enum { WANTED = 3, ENOUGH = 2, TRIES = 5 };
    MachineRates all = { 0 }, undisturbed = { 0 };
    int good = 0;
    bool heard = tessi_others_are_heard();
    for (int i = 0; i < TRIES && good < WANTED; i++) {
        MachineRates r;
        bool felt;
        if (!measure_once(sizes, &r, &felt))
            return false;
        const bool heard_before = heard;
        heard = tessi_others_are_heard();
        keep_best(&all, &r);
        if (felt || heard_before || heard)
            continue;
        keep_best(&undisturbed, &r);
        good++;
    }
    *disturbed = good < ENOUGH;
    *rates = *disturbed ? all : undisturbed;
    return true;
}
