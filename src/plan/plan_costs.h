/* Inside plan/: what groups cost, part by part, and the choices that follow from it alone. */
#ifndef TESSERA_PLAN_PLAN_COSTS_H
#define TESSERA_PLAN_PLAN_COSTS_H

#include "plan/plan_base.h"

/* ---- plan_cost.c: what arithmetic and loads cost, all cores at work */
/* The operations of one point of a stage, without its loads. */
double tessi_plan_op_seconds(const Machine *m, const StageCost *c, ScalarType t);
/* Loading one element of type t that is in a near cache. */
double tessi_plan_load_seconds(const Machine *m, ScalarType t);
/* Writing one element to memory and reading it back. */
double tessi_plan_trip_seconds(const Machine *m, ScalarType t);

/* ---- plan_rows.c: several rows in one pass */
/* Where, relative to a point, a stage is evaluated: a set of offsets (each once), and evaluations that no other
 * shares. */
typedef struct Offset {
    int64_t dy, dx;
} Offset;
typedef struct OffsetSet {
    VEC(Offset) at;
    double loose;
    uint64_t *near;                 /* a bit for each place around the point */
    uint32_t *slot, n_slots, n_far; /* finds the others: their numbers plus one, by hash */
} OffsetSet;
/* The constant offset of a read in the last two dimensions; false when it has none (windows, scales, computed
 * indices) or leaves the plane. */
bool tessi_plan_read_offset(const Graph *g, const PlanRead *r, Offset *out);
/* The same with the variables of the window that it stands in at `point` (NULL: none is read). */
bool tessi_plan_offset_at(const Graph *g, const Access *a, const int32_t *point, Offset *out);
void tessi_plan_add_offset(Arena *a, OffsetSet *s, Offset o);
/* What reading a producer at each place of `from` adds to the places of the producer. */
void tessi_plan_spread(Arena *a, const Graph *g, const PlanRead *r, const OffsetSet *from,
                       OffsetSet *to);
/* Evaluations a point when each of `rows` rows evaluates the set and equal places are computed once. */
double tessi_plan_shared_evaluations(Arena *a, const OffsetSet *s, uint32_t rows);
typedef struct RowCost {
    double seconds;    /* of one point */
    double crossing;   /* more, of vectors that reach into a second line */
    double nodes;      /* of the code of a block */
    double operations; /* arithmetic of one point */
    double once;       /* the same if every inlined stage were computed once a point */
} RowCost;
/* Stages computed together, `rows` rows at once. */
RowCost tessi_plan_cost_of_rows(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const StageList *stages, uint32_t rows);
/* The number of rows for which a point costs least in a block of at most so many nodes (0: no blocks), and what it
 * costs. */
uint8_t tessi_plan_best_rows(const PlanFacts *f, const Analysis *an, const Machine *m,
                             const Plan *p, const StageList *stages, int most_nodes, RowCost *best);
/* The same with what one row at a time waits for; where a vector of columns goes `down` so many rows, stages in
 * registers carried. */
RowCost tessi_plan_cost_of_repeating(const PlanFacts *f, const Analysis *an, const Machine *m,
                                     const Plan *p, const StageList *stages, uint32_t rows);
RowCost tessi_plan_cost_of_carrying(const PlanFacts *f, const Analysis *an, const Machine *m,
                                    const Plan *p, const StageList *stages, uint32_t rows,
                                    uint32_t down);
/* Why so many rows (and vectors side by side, with windows) of the stages are computed at once; NULL for one. */
const char *tessi_plan_rows_reason(const PlanFacts *f, const Analysis *an, const Machine *m,
                                   const Plan *p, const StageList *stages, uint8_t rows,
                                   uint8_t columns);
/* Gives each group without tiles its number of rows. */
void tessi_plan_choose_rows(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p);
/* ---- plan_shared.c */
typedef struct PlanShape {
    int64_t rows,
        columns; /* of the tile of a stage that a thread computes; 0: it computes something else */
} PlanShape;
/* Slots of an operation of a stage on a GPU, on average: of pairs two share one, and tiles share what is the same up
 * to a shift. */
double tessi_plan_slots(const PlanFacts *f, const Machine *m, StageId id, bool packed,
                        PlanShape tile);
/* Registers that a tile of a stage that sorts its window needs; 0 where it does not. */
double tessi_plan_sorted_registers(const PlanFacts *f, const Machine *m, StageId id, bool packed,
                                   PlanShape tile);
/* ---- plan_window.c */
/* Rows (and vectors side by side) of stages with windows, so that their accumulators fill the registers; 1 when
 * vectors would not find their elements side by side. */
uint8_t tessi_plan_window_rows(const PlanFacts *f, const Machine *m, const StageList *stages,
                               uint8_t *columns);
/* Gives loops the columns that go with these rows; loops that have one row at once keep theirs. */
void tessi_plan_window_columns(const PlanFacts *f, const Machine *m, const StageList *stages,
                               PlanLevels *levels);
/* What a point of the stages does not load because the rows and vectors of a step share it, when each stage has
 * steps of its own. */
double tessi_plan_shared_seconds(const PlanFacts *f, const Machine *m, const StageList *stages);
/* The same with steps of so many rows and vectors. */
double tessi_plan_shared_by(const PlanFacts *f, const Machine *m, const StageList *stages,
                            uint8_t rows, uint8_t columns);
/* What a point of the stages takes longer since the rows of pixels that its windows run over, in a region so wide,
 * do not stay in the near cache until the next `rows` rows read them again. */
double tessi_plan_reread_seconds(const PlanFacts *f, const Machine *m, const StageList *stages,
                                 uint8_t rows, int64_t width);
/* ---- plan_cost.c, for reasons */
/* A number for people: "9", "0.25". */
const char *tessi_plan_number(Arena *a, double x);
/* Rounded; of a unit small enough. */
long long tessi_plan_amount(double x);
/* Seconds so, in picoseconds and in femtoseconds: what a point takes on CPUs and on GPUs. */
long long tessi_plan_ps(double seconds);
long long tessi_plan_fs(double seconds);
void tessi_plan_add_reason(Arena *a, const char **reason, const char *more);
/* ---- plan_explain.c */
/* Adds to the reasons of a plan for CPUs what the model expects of its groups. */
void tessi_plan_explain(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p);
/* ---- plan_tile_cost.c */
/* What a group moves through memory, by the point: every image that it reads or writes once. */
typedef struct PlanTraffic {
    double read, written; /* bytes */
    double inner_read,
        inner_written; /* of these: of images that neither come from the caller nor go there */
    double images;
} PlanTraffic;
/* Pieces of the stage that one loop or kernel computes together, beside one another; 1: each has its own. On CPUs
 * only those count that fill the lines of the caches between them. */
uint32_t tessi_plan_pieces_together(const Plan *p, const Stage *s);
PlanTraffic tessi_plan_traffic(const PlanFacts *f, const Plan *p, const PlanGroup *group);
double tessi_plan_traffic_seconds(const Machine *m, const PlanTraffic *traffic);
/* Memory and arithmetic overlap, but not perfectly. */
double tessi_plan_together(const Machine *m, double compute, double memory);
typedef struct PlanTile {
    int64_t size[MAX_DIMS];
    uint16_t roll;  /* rows of a step, 0: tiles of all stages are computed whole */
    double seconds; /* of a point of the members: arithmetic and scratch memory */
    double overlap; /* operations, over those without overlap */
    /* of a point, memory too: with rings where it has none, and without; negative: cannot be */
    double other;
    double next; /* the same of the best tile of another size; negative: none */
    int64_t next_size[MAX_DIMS];
    const char *facts; /* of GPUs: what the kernel comes to */
} PlanTile;
/* Scratch memory of a tile of a group. */
int64_t tessi_plan_tile_bytes(const PlanFacts *f, const PlanGroup *group,
                              const PlanRegions *regions, const int64_t *tile, uint16_t roll);
/* What tiles of this size cost: the passes with their overlap, the start of each row, and scratch memory that leaves
 * the near cache. */
PlanTile tessi_plan_cost_of_tile(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                                 const PlanRegions *regions, const RowCost *pass_cost,
                                 const RowCost *members, double images, const int64_t *size,
                                 uint16_t roll);
/* ---- plan_gpu_cost.c */
/* What a group costs as a kernel of a kind with `columns` x `rows` outputs a thread, by the point. */
typedef struct KernelCost {
    double instructions, plain_instructions; /* of a point; without rules (of a part: a thread's) */
    double piped; /* of these: in pipes of their own, where they wait for each other alone */
    double operations, once; /* arithmetic; the same if each stage were computed once a point */
    double dram_seconds, issue_seconds;
    double cache_seconds, rule_cache_seconds; /* hits of near caches; with reads one by one */
    double seconds;                           /* of one point */
    double busy_seconds; /* of those whose instructions are not counted: some units are busy */
    double nodes;        /* of the code */
    double code;         /* instructions of a thread in a straight line */
    double loads;        /* of a thread */
    double again_bytes;  /* more, which blocks read that have other points */
    /* of tiles: instructions for a point, were threads without work to compute along */
    double in_rounds;
    /* of a tile: answering reads beyond the tile by their rules, where blocks are not split */
    double rule_instructions;
    /* some stage computed again is read beyond the tile and reads beyond the point itself */
    bool chain;
    bool windows; /* some are written out */
    /* elements of less than 4 bytes, which need registers of their own when they are used */
    bool narrow;
    bool long_code;   /* does not stay in the cache of instructions */
    int64_t halo[2];  /* how far rows and columns are read beyond the tile */
    int64_t steps[2]; /* of images, from point to point in rows and columns: 1 but of samples */
    int64_t registers, threads; /* of a thread; on a multiprocessor at once */
    bool feasible;
    /* of one output: its reads of some stage stand so far from one to the next, along one dimension; else 1 */
    PlanApart apart;
} KernelCost;
KernelCost tessi_plan_kernel_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                  const Plan *p, const PlanGroup *group);
/* What part `i` of a kernel of tiles costs a thread with so many outputs, apart or (NULL) side by side: a pass, or
 * after them the members. The bytes of images are those that `counted`, by StageId, does not say yet. */
KernelCost tessi_plan_part_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group, const PlanRegions *regions,
                                uint32_t i, const uint8_t *outputs, const PlanApart *apart,
                                bool *counted);
/* Adds a part that a block of so many threads computes in so many patches for a tile of so many points; then the
 * cost by the point of the whole. */
void tessi_plan_add_part(const Machine *m, const KernelCost *part, double patches, double threads,
                         double points, KernelCost *cost);
void tessi_plan_finish_tile(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                            int64_t shared_bytes, KernelCost *cost);
/* ---- plan_group_cost.c: a group of any plan */
typedef struct GroupCost {
    PlanTraffic traffic;
    double operations;      /* of a point; 0 = not counted */
    double inlined;         /* operations, over those if each stage were computed once a point */
    double overlap;         /* the same for overlaps of tiles */
    double compute, memory; /* seconds of a point */
    double seconds;         /* of both together */
    double crossing;        /* of CPUs, more: RowCost's */
    KernelCost kernel;
} GroupCost;
/* By the point of its members, all cores at work. */
GroupCost tessi_plan_group_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group);
/* ---- plan_rolling.c */
/* Why the group cannot be a kernel of rolling sums: one sentence, or NULL. */
const char *tessi_plan_check_rolling(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* What such a kernel comes to. */
typedef struct Rolling {
    int64_t rows, points; /* of the window */
    int64_t sums;
    /* elements of rows of pixels that a thread has in registers, beyond its columns */
    int64_t read;
    int64_t images; /* that are read */
    int64_t given;  /* reads that move with the window alone: coefficients that come with the run */
    int64_t constants; /* the same, found in constant memory */
    int64_t own;       /* reads that move with the point alone */
    bool conditional;  /* some steps are left out */
    uint32_t bytes;    /* of the widest element read or summed up */
} Rolling;
/* Its cost, of a group that can be one. */
KernelCost tessi_plan_cost_of_rolling(const PlanFacts *f, const Analysis *an, const Machine *m,
                                      const Plan *p, const PlanGroup *group);
/* Makes the group such a kernel, as fast as the model knows; its cost by the point. Not feasible where it cannot be
 * one. */
KernelCost tessi_plan_settle_rolling(const PlanFacts *f, const Analysis *an, const Machine *m,
                                     const Plan *p, PlanGroup *group);
/* The same for kernels of sweeps. */
const char *tessi_plan_check_sweep(const PlanFacts *f, const Plan *p, const PlanGroup *group);
KernelCost tessi_plan_cost_of_sweep(const PlanFacts *f, const Analysis *an, const Machine *m,
                                    const Plan *p, const PlanGroup *group);
KernelCost tessi_plan_settle_sweep(const PlanFacts *f, const Analysis *an, const Machine *m,
                                   const Plan *p, PlanGroup *group);
/* ---- plan_gpu_cost.c */
KernelCost tessi_plan_sweep_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                 const PlanGroup *group, const Rolling *r);
KernelCost tessi_plan_rolling_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                   const PlanGroup *group, const Rolling *r);
/* ---- plan_warp.c */
/* Makes the group a kernel of warps with so many outputs a thread: every stage in between that is read at a distance
 * becomes a pass of it, also for the plan. NULL, or one sentence: why it cannot be; then nothing is changed. */
const char *tessi_plan_make_warp(const PlanFacts *f, Plan *p, PlanGroup *group,
                                 const uint8_t *outputs, uint16_t warps);
/* The same of a group whose stages are all inline: the kernel answers rules at the edges, and has no frame. `planes`:
 * it goes down planes, the warps of a block one above the other. Plan and group are of no use where it cannot be. */
const char *tessi_plan_make_warp_edges(const PlanFacts *f, Plan *p, PlanGroup *group,
                                       const uint8_t *outputs, uint16_t warps, bool planes);
/* What a kernel of warps costs as it is; not feasible where it cannot be one. */
KernelCost tessi_plan_warp_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group);
/* Has groups computed by warps where that is expected to be faster, and says so. */
void tessi_plan_choose_warps(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p);
/* ---- plan_turns.c */
/* Has turns of a repeat that are computed as one in one kernel of warps, where that is expected to be faster. */
void tessi_plan_choose_turns(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p);
const char *tessi_plan_check_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* Something that a kernel of the group computes reads columns where it has rows: a transposition. */
bool tessi_plan_is_crossed(const PlanFacts *f, const Plan *p, const PlanGroup *group);
/* ---- plan_gpu_tile.c */
/* Columns of a thread that computes the stages, at most: a vector of the widest of them; few of pixels with several
 * channels, which a thread has side by side. */
uint32_t tessi_plan_vector_columns(const PlanFacts *f, const StageList *stages);
/* Chooses tile, outputs and threads of a group with passes as a kernel of tiles; its cost of a point, or negative
 * when it cannot be. */
double tessi_plan_settle_tile(const PlanFacts *f, const Analysis *an, const Machine *m,
                              const Plan *p, PlanGroup *group, PlanRegions *regions,
                              PlanTile *tile);
/* What a kernel of tiles costs as it is; not feasible where the device cannot hold it. */
KernelCost tessi_plan_tile_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group);
/* How many times faster the group is when blocks (or warps) inside are told from those at borders, in an image of
 * 2048 x 2048: the model of the paper on borders by index-set splitting, with the time of the memory beside that of
 * instructions. */
double tessi_plan_split_gain(const Machine *m, const PlanGroup *group, const KernelCost *cost,
                             Split split);
/* Instructions that answer one coordinate by its rule. */
double tessi_plan_rule_instructions(const Machine *m, Border rule);
/* ---- plan_gpu_explain.c: reasons of a group */
/* The gain of splitting and the choice. */
const char *tessi_plan_split_reason(Arena *a, const Machine *m, const PlanGroup *group,
                                    const KernelCost *cost);
/* Bytes, operations and what is computed again. */
const char *tessi_plan_kernel_reason(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                                     const KernelCost *cost);

/* ---- plan_isp.c: what nine regions gain */
enum { ISP_LOW, ISP_NEITHER, ISP_HIGH, ISP_BOTH, N_ISP_SIDES };
typedef struct PlanIsp {
    int64_t size[2];       /* of the image: rows, columns */
    double kernel, rules;  /* instructions of a point, and of answering rules everywhere */
    double naive, regions; /* of all points */
    double reduced, gain;  /* R, G */
    double blocks[N_ISP_SIDES][N_ISP_SIDES]; /* by what they meet along y and x */
    int64_t registers[2];                    /* of a thread, without and with regions */
    double occupancy[2];
} PlanIsp;
/* Of a kernel of points, for blocks or warps; sizes that are not known are `size`. */
PlanIsp tessi_plan_isp(const PlanFacts *f, const Analysis *an, const Machine *m, const Plan *p,
                       const PlanGroup *group, bool warps, const int64_t *size);
/* Its terms, a fact a line. */
const char *tessi_plan_isp_reason(Arena *a, const PlanIsp *isp, bool warps);

#endif
