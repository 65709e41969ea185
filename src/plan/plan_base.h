/* Inside plan/: what the planners, the reader and the verifier share. */
#ifndef TESSERA_PLAN_PLAN_BASE_H
#define TESSERA_PLAN_PLAN_BASE_H

#include "graph/graph_walk.h"
#include "plan/plan.h"

/* Functions larger than this (in expression nodes, inlined stages multiplied out) would take a C compiler too long. */
enum { PLAN_MAX_GROUP_NODES = 60000, PLAN_MAX_INLINE_DEPTH = 64 };

/* One read of a producer in the bodies of a stage; of a reduction, its source. */
typedef struct PlanRead {
    StageId producer;
    AccessId access; /* none for the source of a reduction */
    double
        times; /* a point: the points of the windows it stands in, the share of the points that a scale skips */
    bool same_point; /* at the point itself */
    bool dynamic;    /* by a computed index */
} PlanRead;
typedef VEC(PlanRead) PlanReads;
typedef VEC(StageId) StageList;

/* Facts about a graph that every planner asks for, by StageId. */
typedef struct PlanFacts {
    const Graph *g;
    Arena *arena;
    bool *needed;     /* reaches an output */
    bool *returned;   /* is a channel of an output */
    bool *can_inline; /* may be recomputed at its uses: computed, plain, not returned */
    bool *
        pointwise; /* every image it reads, it reads at the point itself or by computed index; no windows */
    bool *has_window;
    int64_t *nodes;   /* expressions in its bodies */
    PlanReads *reads; /* what it reads */
} PlanFacts;
PlanFacts *tessi_plan_facts(Arena *a, const Graph *g);

/* One piece that covers the whole stage point by point. */
bool tessi_stage_is_plain(const Stage *s);
/* Same number of dimensions and sizes, so that one loop nest can compute both. */
bool tessi_stage_same_domain(const Stage *a, const Stage *b);
bool tessi_plan_computes(const PlanFacts *f, StageId s);

/* A plan with every needed stage in memory and no groups yet. */
Plan *tessi_plan_empty(const PlanFacts *f, const char *machine);
/* Several rows of the stage can be computed in one pass: it is plain, of two dimensions, and has no window loops itself (those of
 * inlined stages are the planner's to see to). */
bool tessi_plan_can_block_rows(const PlanFacts *f, StageId s);
/* Appends a group of one stage with the natural loops: dimensions in order, outermost parallel, last in vectors. */
PlanGroup *tessi_plan_add_group(Plan *p, const Graph *g, StageId first);
/* Puts groups in an order in which every stage is computed before it is read; false when there is none. */
bool tessi_plan_order(Plan *p, const PlanFacts *f);
/* The stages in memory that computing `s` reads, through inlined ones, each once. */
void tessi_plan_stored_reads(const PlanFacts *f, const Plan *p, StageId s, StageList *out);
/* Nodes of the code that computing stage s takes, inlined stages multiplied out; by StageId, saturating. */
int64_t *tessi_plan_code_nodes(const PlanFacts *f, const Plan *p);

#endif
