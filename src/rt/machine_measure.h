/* What this machine can do, measured in about a second: bandwidths, arithmetic, and what it costs to start threads. */
#ifndef TESSERA_RT_MACHINE_MEASURE_H
#define TESSERA_RT_MACHINE_MEASURE_H

#include "base/base.h"

typedef struct MachineSizes { /* what to measure, from the system; 0 = unknown */
    int cores;
    int64_t l1_bytes, l2_bytes, l3_bytes;
} MachineSizes;

typedef struct MachineRates { /* the keys of a machine description; 0 = not measured */
    double ghz;
    double l1_gbs, l2_gbs, l3_gbs, memory_gbs, memory_stream_gbs;
    double memory_core_gbs, memory_core_stream_gbs;
    double simple_per_cycle, mul_per_cycle, fma_per_cycle, div_per_cycle, sqrt_per_cycle,
        load_per_cycle;
    double thread_start_us;
} MachineRates;

/* Several times, each rate from the best; about a second. False when memory is short. *disturbed: others were at
 * work all the while, so that the rates are too low. */
bool tessi_machine_measure(const MachineSizes *sizes, MachineRates *rates, bool *disturbed);

/* ---- machine_others.c: who else was at work -------------------------------------------------- */
typedef struct ProcessorTimes {
    double wall_ms, thread_ms,
        own_ms;     /* what this thread, and this process, had of the processors */
    double busy_ms; /* what everybody had of those that this process may run on; 0 = not known */
} ProcessorTimes;
ProcessorTimes tessi_processor_times(void);
/* Between two moments: this thread, which never slept, had to wait for a processor. */
bool tessi_was_kept_waiting(const ProcessorTimes *from, const ProcessorTimes *to);
/* Likewise: others took a good part of a core, and more than what comes of counting ticks while all cores are ours. */
bool tessi_others_were_busy(const ProcessorTimes *from, const ProcessorTimes *to, int cores);
/* Likewise, between moments when we do nothing: what is counted is theirs. */
bool tessi_others_were_heard(const ProcessorTimes *from, const ProcessorTimes *to);
bool tessi_others_are_heard(void); /* in the next tenth of a second */
/* The sum over the lines "cpuN ..." of /proc/stat that count. */
double tessi_busy_ms(const char *stat, double ticks_per_second, bool (*counts)(int cpu));

/* ---- machine_vectors.c: loops over the widest vectors of this CPU ---------------------------- */
typedef enum VectorLoop {
    VECTOR_SIMPLE, /* n groups of 10 independent operations each */
    VECTOR_MUL,
    VECTOR_FMA,
    VECTOR_DIV,
    VECTOR_SQRT,
    N_VECTOR_OPS
} VectorLoop;
typedef struct VectorLoops {
    size_t bytes;                             /* of a vector */
    void (*op[N_VECTOR_OPS])(size_t n);       /* NULL: not known for this CPU */
    void (*load)(const void *from, size_t n); /* n bytes; n a multiple of 8 vectors, aligned */
    void (*copy)(void *to, const void *from, size_t n);
    void (*stream)(void *to, const void *from, size_t n); /* past the caches; NULL: not known */
} VectorLoops;
const VectorLoops *tessi_vector_loops(void);
/* n * 64 integer additions, each of which waits for the one before. */
uint64_t tessi_dependent_additions(size_t n, uint64_t x);

#endif
