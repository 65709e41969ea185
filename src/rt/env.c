/* Environment variables, cores, memory and the clock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, secure_getenv */
#endif
#include "rt/env.h"
#include "rt/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

/* The memory that the control group of the process may have, or all there is. */
static uint64_t group_bytes(void)
{
    static const char *const limits[] = { "/sys/fs/cgroup/memory.max",
                                          "/sys/fs/cgroup/memory/memory.limit_in_bytes" };
    uint64_t most = UINT64_MAX;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char text[32] = "";
        const int fd = open(limits[i], O_RDONLY | O_CLOEXEC);
        const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        if (n > 0 && text[0] >= '1' && text[0] <= '9') {
            const uint64_t limit = strtoull(text, NULL, 10);
            most = limit < most ? limit : most;
        }
    }
    return most;
}

uint64_t tessi_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t most = sizeof(void *) < 8 ? (uint64_t)1 << 31 : (uint64_t)1 << 36;
    if (pages > 0 && page > 0)
        most = (uint64_t)pages * (uint64_t)page;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
        && limit.rlim_cur < most)
        most = limit.rlim_cur;
    const uint64_t group = group_bytes();
    return group < most ? group : most;
}

/* "MemAvailable: 123 kB" of /proc/meminfo: what can be had without pushing others out; 0 where it is not known. */
static uint64_t available_bytes(void)
{
    char line[128];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return (uint64_t)kb << 10;
}

uint64_t tessi_memory_free(void)
{
    const uint64_t most = tessi_memory_bytes(), now = available_bytes();
    return now && now < most ? now : most;
}

double tessi_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

double tessi_clock_thread_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
