/* Inside plan/: what the costs of all kernels are made of. */
#ifndef TESSERA_PLAN_PLAN_GPU_COST_H
#define TESSERA_PLAN_PLAN_GPU_COST_H

#include "plan/needs.h"
#include "plan/plan_costs.h"

/* Instructions that a multiprocessor issues in a cycle, of threads. */
double tessi_gpu_lanes(const Machine *m);
/* Of so many instructions of threads, all multiprocessors at work. */
double tessi_gpu_issue_seconds(const Machine *m, double instructions);
/* Of loads that hit the cache of a multiprocessor, by threads whose columns lie side by side. */
double tessi_gpu_cache_seconds(const Machine *m, double loads, double element_bytes,
                               int64_t columns);
/* Bytes that memory moves for an element of a stage that is stored, by threads with so many columns. */
double tessi_gpu_stored_bytes(const PlanFacts *f, const Machine *m, StageId id, double columns);
/* plan_product.c: of a group with products; infinite where the machine has no units for them. */
KernelCost tessi_plan_product_cost(const PlanFacts *f, const Machine *m, const PlanGroup *group);
/* What memory, instructions and caches take together. */
double tessi_gpu_overlapped(const Machine *m, double memory, double issue, double cache);
/* Instructions of one evaluation of a stage. */
double tessi_gpu_op_instructions(const PlanFacts *f, const Analysis *an, const Machine *m,
                                 StageId id);
/* Of these: divisions, roots and functions, which have pipes of their own and wait there for each other alone. */
double tessi_gpu_piped_instructions(const PlanFacts *f, const Analysis *an, const Machine *m,
                                    StageId id);
/* The place that is read does not depend on the point. */
bool tessi_gpu_is_uniform(const Graph *g, const PlanRead *r);
/* The place stands, in the last two dimensions, at steps[] times the point and a constant. */
bool tessi_gpu_sampled(const Graph *g, const PlanRead *r, Offset *o, int64_t steps[2]);
/* Points of other columns read other rows. */
bool tessi_gpu_across(const Graph *g, const Stage *reader, const PlanRead *r);
/* Rows of what is read are columns of the reader, and the other way round. *mirrored (or NULL): what stands beside each
 * other in memory is read backwards. */
bool tessi_gpu_crossed(const Graph *g, const PlanRead *r, bool *mirrored);
/* Places that stand in a row or a column, as far from each to the next or some of these: *apart along it is at least
 * that. */
void tessi_gpu_note_apart(const OffsetSet *places, PlanApart *apart);
/* Raises the time of memory where threads have too little on their way. */
void tessi_gpu_wait_for_memory(const Machine *m, KernelCost *cost, double points);
/* Raises the time of memory to that of the second cache. */
void tessi_gpu_read_again(const Machine *m, KernelCost *cost);
int64_t tessi_gpu_registers_for_threads(const Machine *m, const KernelCost *cost);
/* Seconds of a point of an image of few, of threads that issue so many instructions for so many points each. */
double tessi_gpu_when_few(const Machine *m, const KernelCost *cost, double instructions,
                          double points, double threads, int kernels);

#endif
