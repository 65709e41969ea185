/* plan_parts: what a plan comes to for the loops of a group: the region of each stage that a tile needs, what is
 * carried from step to step, what blocks and warps hold, and what they copy. Checks, costs and lowering ask the same
 * functions. */
#ifndef TESSERA_PLAN_PLAN_PARTS_H
#define TESSERA_PLAN_PLAN_PARTS_H

#include "plan/plan.h"

/* What a group with tiles needs of a stage in scratch memory: for members at [t, t + n) of a dimension, the stage at
 * [t + lo, t + n + hi), answered by `rule` where that lies outside the stage. */
typedef struct PlanRegion {
    StageId stage;
    int64_t lo[MAX_DIMS], hi[MAX_DIMS]; /* lo <= 0 <= hi unless the reads are certainly inside */
    Border rule[MAX_DIMS];              /* INSIDE: never read outside */
    ExprId outside;                     /* rule CONSTANT */
    /* In steps of one along a dimension: it is computed so far ahead of the members, and read from there back to
     * here. Readers with other edges have no such distance: of steps, all is kept that a tile needs. */
    int64_t ahead[MAX_DIMS], back[MAX_DIMS];
    bool uneven[MAX_DIMS];
} PlanRegion;
typedef struct PlanRegions {
    /* by StageId; for stages of passes and inlined stages that the group evaluates */
    PlanRegion *at;
    bool *scratch; /* by StageId: stages of its passes */
    /* By StageId and dimension: evaluated at coordinates outside the stage too, where its reads wrap around as its
     * reader's do. */
    bool (*wraps)[MAX_DIMS];
    StageList used; /* all stages that have entries here */
} PlanRegions;
/* Fills in `out`, which starts as zeros and whose memory is used again. NULL, or one sentence: why the passes cannot
 * be computed tile by tile. Overlapped tiles: sections on fusion of the first paper, for any graph. */
const char *tessi_plan_regions(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                               PlanRegions *out);

/* A stage in registers: a step of some rows finds its values in column `dx` and rows [lo, hi) from the step's first
 * point, made by the steps before, and leaves those of as many rows further down. */
typedef struct PlanCarry {
    StageId stage;
    int64_t dx, lo, hi;
} PlanCarry;
typedef VEC(PlanCarry) PlanCarries;
/* Some stage is in registers. */
bool tessi_plan_has_carries(const Plan *p);
/* What loops that compute these n stages carry, what is read before its readers. NULL, or one sentence: why they
 * cannot. */
const char *tessi_plan_carries(const PlanFacts *f, const Plan *p, const StageId *stage, uint32_t n,
                               PlanCarries *out);

/* Results of a group that is to write past the caches do so from so many bytes on: half of the last cache, where as
 * many that they are computed from fill the other. A last cache that is no faster than memory past the caches, as
 * one that many cores share, is worth no writing to: there it is twice what the cores' own caches hold, for what has
 * just left those comes back sooner. */
int64_t tessi_plan_stream_bytes(const Machine *m);

/* The scratch memory of a stage for tiles: the number of elements in each dimension, and how many of them stand
 * before the tile's first point. With `roll` its rows are a ring, of a power of two of them: row y is at y modulo
 * their number. */
void tessi_plan_scratch_shape(const Stage *s, const PlanRegion *region, const int64_t *tile,
                              uint16_t roll, int64_t *before, int64_t *size);

/* Elements of a row of scratch memory for a strip: with those that the taps of a mask of so many columns read beyond
 * it. */
int64_t tessi_plan_transform_columns(uint32_t strip, uint32_t cols);

/* What a block of a kernel of tiles computes of a pass in one of the last two dimensions (0: rows), relative to the
 * first point of its tile: [lo, lo + n), a whole number of times what a thread computes, and all that the passes
 * after it compute from. */
typedef struct PlanExtent {
    int64_t lo[2], n[2];
} PlanExtent;
/* Of all passes; `out` has one for each. */
void tessi_plan_extents(const PlanGroup *group, const PlanRegions *regions, PlanExtent *out);
/* Elements from row to row of a stage of the pass in shared memory. */
int64_t tessi_plan_shared_pitch(const Stage *s, const PlanExtent *extent);

/* What a thread of a kernel of warps holds of an image, or of a stage of a pass: of the rows of a step and of `keep`
 * rows above them its own columns, and so many of its neighbours on both sides. */
typedef struct PlanHeld {
    StageId stage;
    bool is_image;
    uint32_t part; /* pass that computes it */
    /* the rows of a step are so many rows above those that the first images are read at */
    int64_t delay;
    int64_t keep, left, right;
    int64_t up, down; /* how far rows above and below are read */
    /* columns of neighbours are taken so many rows above those of the step, and kept as far as `wide` rows above */
    int64_t late, wide;
    int64_t row, column; /* where the first of its own stands: the same for all stages of a pass */
    /* of planes, whose rows are no other thread's: so many rows before and behind its own, and how far they are read */
    int64_t line, below, line_up, line_down;
    /* of the dimension of the march, of columns, and of rows of planes, where the kernel computes the edges too: what
     * answers for those outside; INSIDE: what is computed there is right. `outside` is the value of CONSTANT. */
    Border rule[3];
    ExprId outside;
} PlanHeld;
typedef struct PlanWarp {
    VEC(PlanHeld) held;  /* images, then stages of passes in order */
    int64_t *delay;      /* by pass, then of the members */
    int64_t left, right; /* columns of a warp beside those of results, */
    int64_t columns;     /* of which it computes so many */
    int64_t above;       /* rows above its strip at which the first step begins */
    int64_t beyond;      /* and rows that the steps go down beyond those of the strip, with these */
    int64_t least;       /* rows of the shortest strip */
    int64_t elements;    /* that a thread holds */
    bool reads_images;   /* some are not held: they are read where a stage needs them */
    /* the march goes down planes: what is called rows above is planes, and a thread has so many lines of each */
    bool planes;
    int64_t lines;
    int64_t (*around)
        [2]; /* by pass, then of the members: lines that it computes before and behind those */
    /* By StageId and dimension, where the kernel computes the edges too: computed beyond its edge it is what the rule
     * of its readers answers, for what it reads has that rule. */
    bool (*passes)[MAX_DIMS];
} PlanWarp;
/* NULL, or one sentence: why a kernel of warps cannot compute the group. */
const char *tessi_plan_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                            PlanWarp *out);
/* The dimension down which the warps go, and how many rows (or planes) of it a step has. */
uint8_t tessi_plan_march_dim(const PlanGroup *group);
int64_t tessi_plan_warp_rows(const PlanGroup *group);
/* The kernel answers the rules in what its threads hold, so that it has no frame. */
bool tessi_plan_warp_has_edges(const PlanGroup *group);
/* Finds the rules of such a kernel; NULL, or one sentence: why it cannot answer them. */
const char *tessi_plan_warp_rules(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                  PlanWarp *w);

/* What the blocks of a kernel read of an image that they copy. */
typedef struct PlanCopy {
    bool whole; /* all of it: no read moves with the point */
    /* else how far from its points; of tiles from the points of the members' tile, passes included */
    int64_t lo[MAX_DIMS], hi[MAX_DIMS];
    AccessRules rules; /* which answer */
    double loads;      /* of a block whose points are all there, without the copy */
    double copied;     /* elements that it copies instead */
    /* reads that are left to the image, since the copy is of the block's points alone */
    double missed;
} PlanCopy;
/* NULL, or one sentence: why the kernel cannot have the copy. */
const char *tessi_plan_copied(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                              const PlanStaged *staged, PlanCopy *out);
/* Elements of the copy in each dimension of the image, for blocks of so many points. */
void tessi_plan_copy_shape(const Graph *g, const PlanGroup *group, const PlanStaged *staged,
                           const PlanCopy *copy, int64_t *size);
/* Elements from row to row of the copy. */
int64_t tessi_plan_copy_pitch(const Graph *g, const PlanGroup *group, const PlanStaged *staged,
                              const int64_t *size);

/* Shared memory of a block: of the stages of its passes; of the images that it copies; of both. */
int64_t tessi_plan_staged_bytes(const PlanFacts *f, const Plan *p, const PlanGroup *group);
int64_t tessi_plan_block_bytes(const PlanFacts *f, const Plan *p, const PlanGroup *group);
int64_t tessi_plan_shared_bytes(const PlanFacts *f, const PlanGroup *group,
                                const PlanExtent *extent);

/* How one side of the frame of a group is computed: a group of tiles whose passes are all the stages in between that
 * are read at a distance, and a plan that has them there. NULL, or one sentence: why it cannot be. `regions` is
 * filled in as above. */
const char *tessi_plan_frame(const PlanFacts *f, const Plan *p, const PlanGroup *group, int side,
                             Plan *plan_out, PlanGroup *out, PlanRegions *regions);

#endif
