/* What a run of a plan takes with sizes at hand, and the bound that no plan goes below; part of plan.h. */
#ifndef TESSERA_PLAN_PLAN_ESTIMATE_H
#define TESSERA_PLAN_PLAN_ESTIMATE_H

#include "plan/plan.h"

/* What the cost model expects of a run with these size parameters. */
typedef struct PlanEstimate {
    double operations; /* arithmetic; a fused multiply-add counts two; 0: not counted */
    bool uncounted;    /* there are transforms or medians, whose operations are not counted */
    double bytes_read, bytes_written; /* of whole images in memory */
    double seconds; /* of a run that is repeated: images that the last cache holds stay there */
    /* Where the images of callers come from memory, and results go there; of kernels by what plans are compared by. */
    double first_seconds;
    double start_seconds;   /* of these: threads, launches */
    double planned_compute; /* seconds of arithmetic and what goes with it */
    /* The least of any plan: bytes of inputs and results, seconds for these, for stages once a point, to start one */
    double must_move, bound_memory, bound_compute, bound_start;
} PlanEstimate;
PlanEstimate tessi_plan_estimate(const Plan *p, const Graph *g, const Analysis *an,
                                 const Machine *m, const int64_t *params);
/* The same plan with the bound and what is lost of it, for these sizes, among its reasons. In `a`, shares with `p`. */
const Plan *tessi_plan_with_bound(Arena *a, const Plan *p, const Graph *g, const Analysis *an,
                                  const Machine *machine, const int64_t *params);
/* The longest of what no plan can do without. */
double tessi_plan_bound_seconds(const PlanEstimate *e);
/* A run that takes one core less than so long would gain less by sharing than waking threads takes. */
double tessi_plan_little_seconds(const Machine *m);
/* The estimate as lines of text, group by group, with the bound; and by how many per cent the prediction grows when a
 * fitted constant of the machine grows by one, for each that it depends on: what bench/fit.py reads. */
void tessi_plan_estimate_print(const Plan *p, const Graph *g, const Analysis *an, const Machine *m,
                               const int64_t *params, Text *out);

#endif
