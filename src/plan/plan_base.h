/* Inside plan/: what the planners, the reader and the verifier share; costs are in plan_costs.h. */
#ifndef TESSERA_PLAN_PLAN_BASE_H
#define TESSERA_PLAN_PLAN_BASE_H

#include "graph/access.h"
#include "graph/graph_transform.h"
#include "graph/graph_walk.h"
#include "plan/plan.h"

/* A block of rows with more nodes than this takes a C compiler longer than it saves. */
enum { PLAN_BLOCK_NODES = 1600, PLAN_BLOCK_ROWS = 8 };
enum { PLAN_PROGRAM_NODES = 1 << 16 }; /* the same of the blocks of all stages of a program */
enum { PLAN_MANY_POINTS = 1 << 20, PLAN_MAX_WRITTEN_OUT = 8192 };
/* Functions larger than this (in expression nodes, inlined stages multiplied out) would take a C compiler too long. */
enum { PLAN_MAX_GROUP_NODES = 60000, PLAN_MAX_INLINE_DEPTH = 64 };

/* One read of a producer in the bodies of a stage; of a reduction, its source. */
typedef struct PlanRead {
    StageId producer;
    AccessId access; /* none for the source of a reduction */
    double times;    /* that a point of its reader reads: the points of the windows it stands in */
    /* elements of the producer, over points of the reader that they are spread over: more than 1 where scales skip
     * some, less where it stands in a piece on a lattice alone */
    double passed;
    double skipped; /* by scales alone: elements of which one is read */
    double
        readers; /* points that read one element, since no index follows them along a dimension */
    bool same_point; /* at the point itself */
    bool dynamic;    /* by a computed index */
} PlanRead;
typedef VEC(PlanRead) PlanReads;

typedef struct SharedOps SharedOps;

/* Facts about a graph that every planner asks for, by StageId. */
struct PlanFacts {
    const Graph *g;
    Arena *arena;
    bool *needed; /* reaches an output */
    /* has to be in memory: a channel of an output, or what another part of the program reads */
    bool *returned;
    uint32_t *part;   /* of the program, which computes it (graph.h); NULL: there is one */
    bool *test;       /* only a condition needs it (graph.h) */
    bool *can_inline; /* may be recomputed at its uses: computed, plain, not returned */
    /* every image it reads, it reads at the point itself or by computed index; no windows */
    bool *pointwise;
    /* no windows, and no read asks a border rule, unless by computed index */
    bool *unruled;
    bool *has_window;
    bool *sorts; /* has a median that stayed a window */
    /* of its windows together; 0 without, PLAN_MANY_POINTS when there are too many or nobody knows */
    int64_t *window_points;
    int64_t *nodes; /* expressions in its bodies */
    /* bytes from an element to the next of its row, where it lies in memory: more than its own of pixels with several
     * channels */
    uint32_t *pixel;
    /* the image whose pixels it is a channel of, inputs and outputs counted from 1, and the channels of one type that
     * stand side by side there; 0 and 1 of all else */
    uint32_t *image, *channels;
    /* the share of its operators that compute integers of 16 bits or less, which kernels may do two at a time */
    double *small;
    /* The share of minima and maxima beside one another (of a chain of one kind kernels compute three values at a
     * time), and that of those of such integers, which are not in `small`. */
    double *choices, *small_choices;
    SharedOps **shared; /* what tiles share of its operations; NULL: not asked yet */
    /* of blocks: fewer than PLAN_BLOCK_ROWS where the program is so large that compilers would take too long */
    uint8_t most_rows;
    uint32_t most_points; /* the same of a thread of a GPU */
    double points;        /* of the image that is planned for */
    bool few;             /* they are so few that they do not fill a GPU */
    double
        start_seconds; /* of a point: what it has of a kernel's start; 0 where that is counted apart */
    ExprWalk *walk;
    PlanReads *reads; /* what it reads */
    /* For walks: a stage is marked when it has the number in [0], which each walk makes greater. */
    uint32_t *mark;
    uint32_t *slot; /* by StageId: where it stands in the list that is being made */
};

/* The same facts for work in another arena, which ends before they do. */
PlanFacts tessi_plan_facts_in(Arena *scratch, const PlanFacts *f);
/* A copy of a group with its reason. */
PlanGroup tessi_plan_keep_group(Arena *a, const PlanGroup *group);
/* A copy with its reasons, which lives on when the facts that the plan was made with end. */
Plan *tessi_plan_keep(Arena *a, const Plan *p);
/* tessi_plan_verify for whoever has the facts already. */
const char *tessi_plan_verify_with(const PlanFacts *f, const Plan *p);

/* ---- plan_carry.c: stages in registers */
/* The fault of the stages in registers and of the bands of groups, or NULL. */
const char *tessi_plan_check_carries(const PlanFacts *f, const Plan *p);
/* Places inlined stages of a finished plan in registers where that is expected to pay, and says why or why not. */
void tessi_plan_choose_carries(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p);
/* ---- plan_transform.c: sums over wide masks by Fourier transforms */
/* The fault of a group with transforms, or NULL. */
const char *tessi_plan_check_transform(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* Gives the group of a stage with a wide sum transforms where that is expected to pay, or asked for, and says why or
 * why not. */
void tessi_plan_choose_transform(const PlanFacts *f, const Machine *m, StageId id,
                                 PlanGroup *group);
/* Makes a group with transforms a kernel of a GPU. */
void tessi_plan_transform_kernel(PlanGroup *group);
/* What a point of a group with transforms costs; 0 without. */
double tessi_plan_transform_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group);
/* ---- plan_median.c: medians of wide windows in strips */
const char *tessi_plan_check_median(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* What a point of a group with strips of medians costs; 0 without. */
double tessi_plan_median_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group);
/* What a median is of, as the reasons say it. */
void tessi_plan_median_values(Text *text, const WideMedian *median);
/* Gives the group of a stage with a wide median strips where that is expected to pay, and says why or why not. */
void tessi_plan_choose_median(const PlanFacts *f, const Analysis *an, const Machine *m, StageId id,
                              PlanGroup *group);
/* ---- plan_median_gpu.c: the same as kernels of a GPU */
enum { PLAN_MEDIAN_ROWS = 128 }; /* that a thread with a histogram goes down */
const char *tessi_plan_check_median_kernel(const PlanFacts *f, const PlanGroup *group);
/* The levels of a kernel of medians are those that the numbers of its line ask for. */
void tessi_plan_fit_median_kernel(PlanGroup *group);
double tessi_plan_median_kernel_seconds(const PlanFacts *f, const Machine *m,
                                        const PlanGroup *group);
void tessi_plan_choose_median_kernel(const PlanFacts *f, const Analysis *an, const Machine *m,
                                     StageId id, PlanGroup *group);
/* Makes a group the kernel that was chosen; of points where none was. */
void tessi_plan_median_kernel(const PlanGroup *chosen, PlanGroup *group);
/* ---- plan_product.c: sums of bytes times small whole weights by products of matrices, on GPUs */
/* The group is a transform, a median or a product, which have loops of their own. */
bool tessi_plan_has_own_loops(const PlanGroup *group);
const char *tessi_plan_check_product(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* The levels of such a kernel are those that it has to have. */
void tessi_plan_fit_product(PlanGroup *group);
/* Says of the group that the stage alone would be that such a kernel may take less than its operations: it then stays
 * alone. */
void tessi_plan_propose_product(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, StageId id, PlanGroup *alone);
/* Makes the group such a kernel, of which a point costs so much; false: it cannot be one, or `otherwise` is less. */
bool tessi_plan_choose_product(const PlanFacts *f, const Machine *m, const Plan *p,
                               PlanGroup *group, double otherwise, double *cost);
/* ---- plan_fuse.c */
/* Turns groups into passes of the groups that read them where that is expected to pay. */
double tessi_plan_fuse(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p);

/* ---- plan_gpu.c: plans of kernels */
Plan *tessi_plan_choose_gpu(Arena *a, const Graph *g, const Analysis *an, const Machine *m,
                            PlanSize size);
/* ---- plan_frame.c */
/* Gives the group the largest frame that it can have; NULL, or why it can have none. `chain`: something in between
 * is read at a distance. */
const char *tessi_plan_fit_frame(const PlanFacts *f, const Plan *p, PlanGroup *group, bool *chain);
/* Gives a group whose edges are kernels of their own a frame, if it can have one, and says why or why not. */
void tessi_plan_choose_frame(const PlanFacts *f, const Plan *p, PlanGroup *group);
/* ---- plan_staged.c: copies of images that kernels of points only read */
/* The fault of those of a group; of those in constant memory all together; or NULL. */
const char *tessi_plan_check_staged(const PlanFacts *f, const Plan *p, const PlanGroup *group);
const char *tessi_plan_check_constants(const PlanFacts *f, const Plan *p);
/* ---- plan_adaptive.c */
/* Makes the group of one stage a kernel of tiles of which blocks load least for a point; `copies` gives it the copies
 * that it is to have. Left as it is where it cannot be one. */
typedef void (*AdaptiveCopies)(void *user, PlanGroup *group);
void tessi_plan_adapt_tile(const PlanFacts *f, const Machine *m, const Plan *p, PlanGroup *group,
                           AdaptiveCopies copies, void *user);
/* ---- plan_banks.c: banks of shared memory */
/* How often a block waits for a bank when each of its threads, x and y, reads its element of a copy whose rows begin
 * `pitch` elements apart; any one distance from its own element comes to the same. */
int64_t tessi_plan_bank_conflicts(const uint16_t *threads, int64_t pitch, int64_t bytes);
/* The fewest elements after rows of so many that leave fewest conflicts. */
uint8_t tessi_plan_bank_pad(const uint16_t *threads, int64_t row, int64_t bytes);
/* ---- plan_tile_copy.c */
/* The same of a kernel of tiles: fills in how far and by what rules its parts read an image, and how often. NULL, or
 * one sentence: why no copy serves them all. */
const char *tessi_plan_tile_reads(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                  StageId image, PlanCopy *out);
/* ---- plan_scheme.c: the schemes of the first paper, by their names among the presets */
/* Each stage that the program names by itself in memory; kernels compute a point a thread. */
Plan *tessi_plan_apart(const PlanFacts *f, const Machine *m);
Plan *tessi_plan_unfused_register(const PlanFacts *f, const Machine *m);
Plan *tessi_plan_overlapped(const PlanFacts *f, const Machine *m);
/* ---- plan_region.c */
/* The least and greatest distance of a read from its reader's point, in one dimension; false when it has none. */
bool tessi_plan_distance(const Graph *g, const AccessDim *d, uint8_t dim, int64_t *lo, int64_t *hi);
/* Both are needed in the same region, so that one nest of loops computes them. */
bool tessi_plan_same_region(const PlanFacts *f, const PlanRegions *regions, StageId a, StageId b);
/* ---- plan_extent.c */
/* extent[i] of pass i, when those of the passes after it are known. */
void tessi_plan_extent(const PlanGroup *group, const PlanRegions *regions, uint32_t i,
                       PlanExtent *extent);
/* Adds n[0] * n[1] * ... times `bytes`; saturates. */
void tessi_plan_add_bytes(int64_t *total, int64_t bytes, const int64_t *n, int dims);

bool tessi_plan_computes(const PlanFacts *f, StageId s);
/* "temp.r" and "temp.g": channels of one image. */
bool tessi_plan_same_pixel(const Stage *a, const Stage *b);

/* The stages read and are bytes, and are computed in 16 bits. */
bool tessi_plan_in_pairs(const PlanFacts *f, const Plan *p, const StageList *stages);

/* A plan with every needed stage in memory and no groups yet. */
Plan *tessi_plan_empty(const PlanFacts *f, const char *machine);
/* Several rows of the stage can be computed in one pass: it is plain, of two dimensions or more, and has no window
 * loops itself (those of inlined stages are the planner's to see to). */
bool tessi_plan_can_block_rows(const PlanFacts *f, StageId s);
/* The same with window loops, whose accumulators the rows keep side by side; not with medians, which are sorted. */
bool tessi_plan_can_join_rows(const PlanFacts *f, StageId s);
/* Threads of a GPU can compute several columns and rows of it in registers; windows are written out. */
bool tessi_plan_can_tile(const PlanFacts *f, StageId s);
/* A thread of a GPU can compute several points of it: as above, or of such a lattice. */
bool tessi_plan_can_unroll(const PlanFacts *f, StageId s);
/* What the group computes, inlined stages included, reads at places of the same plane (the last two dimensions)
 * alone. */
bool tessi_plan_stays_in_plane(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* Has blocks of the group read the images themselves. */
void tessi_plan_drop_copies(PlanGroup *group);
/* It is a kernel of points whose warps are parts of a row of threads, or some rows. */
bool tessi_plan_has_warps(const PlanGroup *group);
/* Gives a group of a GPU plan a kernel that computes a point a thread. */
void tessi_plan_point_kernel(PlanGroup *group);
/* What the loops of a stage run over: of reductions and histograms what they read. */
const Stage *tessi_plan_domain(const Graph *g, StageId id);
/* One part of the program computes both. */
bool tessi_plan_same_part(const PlanFacts *f, StageId a, StageId b);
/* plan_time.c: how often a stage is computed, as far as that is known before a run. */
double tessi_plan_turns(const PlanFacts *f, StageId id);
/* Two stages can be computed by the same loops, point by point. */
bool tessi_plan_can_share_loops(const PlanFacts *f, const Plan *p, StageId a, StageId b);
/* A reduction along a dimension. */
bool tessi_plan_goes_along(const Graph *g, StageId id);
/* ---- plan_lines.c: such reductions, one after the other */
/* Both go along the same lines, and the first reads of the other what its own line came to, and nothing else: a group
 * may compute both, one after the other. */
bool tessi_plan_reads_own_line(const PlanFacts *f, const Plan *p, StageId id, StageId of);
/* The lines that a reduction goes along lie side by side, and are so many that a GPU is filled by a thread for each: as
 * many as points of a plane, not of a row. */
bool tessi_plan_lines_fill(const Graph *g, const Stage *s);
/* By member: the round in which the group computes it, from 0 on, after those that it reads; how many there are. */
uint32_t tessi_plan_rounds(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                           uint32_t *round);
/* ---- plan_base.c */
/* Appends a group of one stage with the natural loops: dimensions in order, outermost parallel, last in vectors. */
PlanGroup *tessi_plan_add_group(Plan *p, const Graph *g, StageId first);
/* What a group computes: the stages of its passes, then its members. */
void tessi_plan_group_stages(const PlanFacts *f, const PlanGroup *group, StageList *out);
/* Part i of a group, whose stages are computed together: a pass, or after all of them the members. */
StageList tessi_plan_part(const PlanGroup *group, uint32_t i);
/* Of stages that are in its passes only. */
Placement tessi_plan_scratch_placement(const PlanGroup *group);
/* Places them so. */
void tessi_plan_place_passes(Plan *p, const PlanGroup *group);
/* Puts groups in an order in which every stage is computed before it is read; false when there is none. */
bool tessi_plan_order(Plan *p, const PlanFacts *f);
/* The stages in memory that computing `s` reads, through inlined ones, each once. */
void tessi_plan_stored_reads(const PlanFacts *f, const Plan *p, StageId s, StageList *out);
/* NULL, or one sentence: why lowering has no loops for the levels of the group or of a pass. */
const char *tessi_plan_check_levels(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* The rows that the group's loops keep of a stage for its readers; 0: none. The memory of `regions`, which starts as
 * zeros, is used again. */
int64_t tessi_plan_kept_rows(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId id,
                             PlanRegions *regions);
/* The fault of a group's tiles and passes, or NULL. `regions` is filled in, its memory used again. */
const char *tessi_plan_check_tiles(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                   PlanRegions *regions);
/* A stage can live in scratch memory as far as its readers go: all read it at constant distances. */
bool tessi_plan_read_at_distance(const Graph *g, const PlanRead *r);
/* The code that computing one point of a stage takes, by StageId. */
typedef struct PlanCodeSize {
    int64_t *nodes;  /* inlined stages multiplied out, saturating */
    uint32_t *depth; /* stages inlined into one another up to it */
} PlanCodeSize;
/* Of all stages; `out` starts as zeros, and its memory is used again. */
void tessi_plan_code_size(const PlanFacts *f, const Plan *p, PlanCodeSize *out);
/* Of one; those of what it reads are known. */
void tessi_plan_size_stage(const PlanFacts *f, const Plan *p, StageId s, PlanCodeSize *size);
/* Whether all stages that others are inlined into have at most so many nodes, and are no deeper than
 * PLAN_MAX_INLINE_DEPTH. */
bool tessi_plan_code_fits(const PlanFacts *f, const Plan *p, int64_t most_pointwise,
                          int64_t most_others, PlanCodeSize *size);
/* How many rows at once the stages may have all together, placed as they are. */
void tessi_plan_limit_rows(PlanFacts *f, const Plan *p, const PlanCodeSize *size);
/* Puts stages that were to be inlined into memory until no function has more nodes than PLAN_MAX_GROUP_NODES for
 * them. */
void tessi_plan_limit_code(const PlanFacts *f, Plan *p);
/* What is wrong with a group: "group 'blur': what". */
const char *tessi_plan_fault(Arena *a, const PlanGroup *group, const char *fmt, ...)
    TESS_PRINTF(3, 4);
/* Why a stage of depth PLAN_MAX_INLINE_DEPTH is not inlined. */
const char *tessi_plan_too_deep(Arena *a);

#endif
