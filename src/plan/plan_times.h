/* Inside plan/: what a run takes with sizes at hand, group by group (plan_estimate.c), and the bound (plan_bound.c). */
#ifndef TESSERA_PLAN_PLAN_TIMES_H
#define TESSERA_PLAN_PLAN_TIMES_H

#include "plan/plan_costs.h"

typedef struct Estimator {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    const int64_t *params;
    double must_move; /* bytes of the images that come with a run, and of its results */
    bool compares;    /* kernels at what the planner compares them by, not at what runs take */
} Estimator;

/* Of one turn. */
typedef struct GroupTime {
    GroupCost cost;
    double points;          /* of its domain */
    double compute, memory; /* seconds of all points */
    double start;           /* seconds: threads, launches */
    double seconds;         /* of all but the start */
} GroupTime;

double tessi_estimate_points(const Estimator *c, const Stage *s);
/* Reductions are done once a point of what they reduce. */
const Stage *tessi_estimate_domain(const Estimator *c, StageId id);
/* Images of callers stay in the last cache from run to run. */
bool tessi_estimate_stays(const Estimator *c);
/* Bytes a second of memory, which few cores do not use up: they wait for what each has under way. */
double tessi_estimate_memory(const Machine *m, bool streams);
GroupTime tessi_estimate_group(const Estimator *c, const PlanGroup *group);

/* ---- plan_bound.c */
/* Bytes of inputs that matter and of results. */
double tessi_estimate_must_move(const Estimator *c);
/* Sets what is in `e` of the bound; what the plan takes is there. */
void tessi_estimate_bound(const Estimator *c, PlanEstimate *e);

#endif
