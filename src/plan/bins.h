/* How GPUs count, and reduce by keys. */
#ifndef TESSERA_PLAN_BINS_H
#define TESSERA_PLAN_BINS_H

#include "plan/plan.h"

/* Blocks count in shared memory up to so many bins less one. Values of at most PLAN_SUMMED_VALUE add up there, so many
 * that 32 bits hold their sum. */
enum {
    PLAN_SHARED_COUNTS = 8192,
    PLAN_SUMMED_VALUE = 65535,
    PLAN_SUMMED_AT_ONCE = 1 << 15,
    PLAN_SUMMED_BINS = 2048
};
/* The bins of a reduction by keys whose order does not matter, a sum of narrow integers or a count, where shared memory
 * holds them; else 0. */
int64_t tessi_plan_summed_bins(const Graph *g, const Analysis *an, StageId id);
/* What a point of a histogram, or of a reduction by keys, takes beside what it is computed from. */
double tessi_plan_bin_seconds(const Graph *g, const Analysis *an, const Machine *m, StageId id);

#endif
