/* needs: what stages that are computed together need, found once. They evaluate what is inlined into them, and read
 * images and the results of others; each of these is listed with where it is read, seen from a point of theirs, and
 * by what rules. Costs, checks and kernels go over this list instead of going through the bodies of stages again. */
#ifndef TESSERA_PLAN_NEEDS_H
#define TESSERA_PLAN_NEEDS_H

#include "plan/plan_base.h"

/* One read of what is needed. */
typedef struct NeedRead {
    uint32_t of; /* what it reads: its place in Needs.at */
    const PlanRead *read;
} NeedRead;

/* How the elements that neighbouring points of a row read lie, of what is found in memory. */
typedef enum NeedLoad {
    NEED_DENSE,    /* side by side, or all points read one */
    NEED_STRIDED,  /* some apart: samples, channels of a pixel */
    NEED_GATHERED, /* anywhere: tables, computed indices */
    NEED_CROSSED,  /* a row apart: columns for rows */
} NeedLoad;
NeedLoad tessi_need_load(const PlanFacts *f, StageId reader, const PlanRead *r);
/* Tables and masks, which near caches keep whoever reads them. */
bool tessi_need_is_small(const Graph *g, const Stage *s);
/* Elements of the stage lie apart in memory, with those of other channels between them. */
bool tessi_need_is_apart(const PlanFacts *f, StageId id);
/* Loading one such element, all cores at work. */
double tessi_plan_found_seconds(const Machine *m, ScalarType t, NeedLoad how);

typedef struct Need {
    StageId stage;
    bool root;     /* one of the stages computed together */
    bool computed; /* a root, or inlined: its own reads are listed; else it is found in memory */
    NeedLoad load; /* the worst of the ways from a root to it */
    double
        passed; /* elements of it that a point of the roots passes over: its share of what memory moves */
    uint32_t first, n; /* its reads in Needs.reads */
} Need;

typedef struct Needs {
    VEC(Need) at; /* readers before what they read */
    VEC(NeedRead) reads;
    StageList stored; /* what is found in memory, in the order in which readers name it */
} Needs;

/* Over the reads of an entry. */
#define NEED_FOREACH(r, needs, need)                            \
    for (uint32_t r##_left = (need)->n; r##_left; r##_left = 0) \
        for (const NeedRead *r = (needs)->reads.at + (need)->first; r##_left; r++, r##_left--)

/* What n stages need. `out` starts as zeros; its memory, of the arena, is used again. */
void tessi_needs(const PlanFacts *f, Arena *a, const Plan *p, const StageId *stage, uint32_t n,
                 Needs *out);
/* The same of all stages of a group, those of its passes included. */
void tessi_needs_of_group(const PlanFacts *f, Arena *a, const Plan *p, const PlanGroup *group,
                          Needs *out);
/* The entry of a stage; NULL where it is not needed. */
const Need *tessi_need_of(const Needs *needs, StageId id);

/* Where a stage is read, seen from a point of the stages computed together. */
typedef struct NeedBox {
    bool reached; /* it is read at all */
    AccessRange dim[MAX_DIMS];
    AccessRules rules;
    /* A stage that reads it elsewhere than at constant distances from that point; none = all do. */
    StageId loose;
} NeedBox;
/* The boxes of all needs, parallel to needs->at. Rules along the way are left aside: the boxes hold for points far
 * from all edges. */
NeedBox *tessi_needs_boxes(const PlanFacts *f, Arena *a, const Needs *needs);

/* By StageId: the stages with a memory of their own that read it, themselves or through what is inlined. */
StageList *tessi_plan_readers(const PlanFacts *f, const Plan *p);
/* Two stages read one image from memory, or (`pixels`) channels of one. */
bool tessi_plan_share_reads(const PlanFacts *f, const Plan *p, StageId a, StageId b, bool pixels);

#endif
