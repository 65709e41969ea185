/* Environment variables, cores, memory and the clock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, secure_getenv */
#endif
#include "rt/env.h"
#include "rt/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

const char *tessi_env(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

int tessi_cpu_count(void)
{
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < 1 << 20 ? (int)n : 1;
}

uint64_t tessi_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return sizeof(void *) < 8 ? (uint64_t)1 << 31 : (uint64_t)1 << 36;
    return (uint64_t)pages * (uint64_t)page;
}

double tessi_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
