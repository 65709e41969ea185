/* What others took of the processors while something was measured. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "rt/clock.h"
#include "rt/file.h"
#include "rt/machine_measure.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool may_run_on(int cpu)
{
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &set);
#endif
    return true;
}

double tessi_busy_ms(const char *stat, double ticks_per_second, bool (*counts)(int cpu))
{
    double ticks = 0;
    for (const char *line = stat; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int cpu; /* the first line, "cpu  ...", is the sum */
        unsigned long long user, nice, system, idle, waits, irq, softirq, steal;
        if (strncmp(line, "cpu", 3) == 0 && line[3] >= '0' && line[3] <= '9'
            && sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice,
                      &system, &idle, &waits, &irq, &softirq, &steal)
                   == 9
            && counts(cpu))
            ticks += (double)(user + nice + system + irq + softirq + steal);
    }
    return ticks * 1e3 / ticks_per_second;
}

static double clock_of(clockid_t clock)
{
    struct timespec t = { 0 };
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

ProcessorTimes tessi_processor_times(void)
{
    ProcessorTimes t = { .wall_ms = tessi_clock_ms(),
                         .thread_ms = clock_of(CLOCK_THREAD_CPUTIME_ID),
                         .own_ms = clock_of(CLOCK_PROCESS_CPUTIME_ID) };
    uint8_t *stat;
    size_t n;
    if (tessi_file_read("/proc/stat", 1 << 24, &stat, &n, NULL)) {
        t.busy_ms = tessi_busy_ms((const char *)stat, (double)sysconf(_SC_CLK_TCK), may_run_on);
        free(stat);
    }
    return t;
}

bool tessi_was_kept_waiting(const ProcessorTimes *from, const ProcessorTimes *to)
{
    const double MOST = 0.03;
    const double wall = to->wall_ms - from->wall_ms, had = to->thread_ms - from->thread_ms;
    return wall - had > MOST * wall;
}

/* What others had of the processors, in milliseconds. */
static double had_by_others(const ProcessorTimes *from, const ProcessorTimes *to)
{
    return (to->busy_ms - from->busy_ms) - (to->own_ms - from->own_ms);
}

static double most_of_a_core(const ProcessorTimes *from, const ProcessorTimes *to)
{
    const double MOST = 0.25;
    return MOST * (to->wall_ms - from->wall_ms);
}

bool tessi_others_were_busy(const ProcessorTimes *from, const ProcessorTimes *to, int cores)
{
    const double TICK = 10; /* milliseconds: each core's time is counted in them, ours is not */
    return had_by_others(from, to) > most_of_a_core(from, to) + 3 * TICK * sqrt(cores);
}

bool tessi_others_were_heard(const ProcessorTimes *from, const ProcessorTimes *to)
{
    return had_by_others(from, to) > most_of_a_core(from, to);
}

bool tessi_others_are_heard(void)
{
    const struct timespec listen = { .tv_nsec = 100000000 };
    const ProcessorTimes from = tessi_processor_times();
    nanosleep(&listen, NULL);
    const ProcessorTimes to = tessi_processor_times();
    return tessi_others_were_heard(&from, &to);
}
