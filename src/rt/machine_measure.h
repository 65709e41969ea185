/* What this machine can do, measured in under half a second: bandwidths, arithmetic, and what it costs to start threads. */
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
    double simple_per_cycle, mul_per_cycle, fma_per_cycle, div_per_cycle, sqrt_per_cycle,
        load_per_cycle;
    double thread_start_us;
} MachineRates;

/* False when memory is short. */
bool tessi_machine_measure(const MachineSizes *sizes, MachineRates *rates);

/* ---- machine_vectors.c: loops over the widest vectors of this CPU ------------------------------------------------------ */
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
