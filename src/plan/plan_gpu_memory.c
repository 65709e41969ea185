/* What memory, caches and issue slots of a GPU take of a kernel, and operations of slots. */
#include <math.h>

#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

/* The cache of a multiprocessor answers one line of 128 bytes a cycle; a warp whose threads stand `columns` elements
 * apart touches that many times the lines that neighbours would. */
double tessi_gpu_cache_seconds(const Machine *m, double loads, double element_bytes,
                               int64_t columns)
{
    const double lines = element_bytes * (double)columns * PLAN_WARP / (double)m->line_bytes;
    return loads * (lines > 1 ? lines : 1) / (PLAN_WARP * m->ghz * 1e9 * (double)m->cores);
}

/* A thread stores its part of a row in vectors of 16 bytes. Where it has several, what threads side by side store lies
 * apart, and sectors come to the memory in pieces: of reals in pixels of 2, 3 and 4, and doubles in pixels of 3, with
 * 1, 2 and 4 columns a thread, by the root of what is beyond a vector (H200, within 20 %). */
double tessi_gpu_stored_bytes(const PlanFacts *f, const Machine *m, StageId id, double columns)
{
    enum { VECTOR = 16 };
    const double bytes = tessi_type_info(tessi_stage(f->g, id)->type)->bytes;
    const double row = (tessi_need_is_apart(f, id) ? f->pixel[id.v] : bytes) * columns;
    if (columns == 1)
        return bytes;
    return bytes * (1 + m->spread_share * sqrt(fmax(row / VECTOR - 1, 0)));
}

double tessi_gpu_lanes(const Machine *m)
{
    return (double)m->vector_bytes / 4;
}

double tessi_gpu_issue_seconds(const Machine *m, double instructions)
{
    return instructions / (m->issue_share * tessi_gpu_lanes(m) * m->ghz * 1e9 * (double)m->cores);
}

/* What waits for memory, what issues and what the cache answers overlap, the less the more alike they are: this is
 * within 7 % of kernels of blur, Sobel, Laplace, unsharp and Harris on an H200 with 8, 16 and 32 outputs a thread. */
double tessi_gpu_overlapped(const Machine *m, double memory, double issue, double cache)
{
    const double power = m->overlap_power;
    return pow(pow(memory, power) + pow(issue, power) + pow(cache, power), 1.0 / power);
}

/* The memory waits when too little is on its way. */
void tessi_gpu_wait_for_memory(const Machine *m, KernelCost *cost, double points)
{
    /* Bytes that must be on their way to keep the memory busy, and that the threads have on their way. */
    const double wanted = m->memory_gbs * m->latency_us * 1e3 / (double)m->cores;
    double in_flight =
        (double)cost->threads * points * cost->dram_seconds * m->memory_gbs * 1e9 / 2;
    if (in_flight < wanted)
        cost->dram_seconds *= wanted / in_flight;
}

/* The second cache is what a copy keeps busy: what blocks read of rows, columns and planes around theirs is paid for
 * like all else. */
void tessi_gpu_read_again(const Machine *m, KernelCost *cost)
{
    const double bytes = cost->dram_seconds * m->memory_gbs * 1e9 + cost->again_bytes;
    const double seconds = bytes / (m->second_share * m->l2_gbs * 1e9);
    cost->dram_seconds = seconds > cost->dram_seconds ? seconds : cost->dram_seconds;
}

/* Of one evaluation of a stage, without what conversions and powers take more. */
static double instructions_of(const PlanFacts *f, const Machine *m, const StageCost *cost,
                              StageId id)
{
    return tessi_plan_op_seconds(m, cost, tessi_stage(f->g, id)->type) * m->ghz * 1e9
           * (double)m->cores * tessi_gpu_lanes(m);
}

/* Operations by how long they keep the issue slots of their class. */
double tessi_gpu_op_instructions(const PlanFacts *f, const Analysis *an, const Machine *m,
                                 StageId id)
{
    const StageCost *cost = &an->cost[id.v];
    return instructions_of(f, m, cost, id) + m->conversion_slots * cost->conversions
           + m->power_slots * cost->powers;
}

double tessi_gpu_piped_instructions(const PlanFacts *f, const Analysis *an, const Machine *m,
                                    StageId id)
{
    StageCost piped = an->cost[id.v];
    piped.ops[OPC_SIMPLE] = piped.ops[OPC_MUL] = piped.ops[OPC_FMA] = 0;
    return instructions_of(f, m, &piped, id);
}
