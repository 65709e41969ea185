/* plan: every decision about a program on a page. A Machine says what is being planned for; a Plan says which stages
 * are computed together, where each stage lives, how the loops run and how borders are split, each with its reason.
 * Lowering reads nothing else and decides nothing.
 *
 * Text forms: machine_read.c / machine_print.c (`key = value` lines) and plan_read.c / plan_print.c. Whatever a
 * reader or tessi_plan_verify accepts, lowering can execute with the same pixels. */
#ifndef TESSERA_PLAN_PLAN_H
#define TESSERA_PLAN_PLAN_H

#include "analysis/analysis.h"
#include "base/diag.h"
#include "graph/graph.h"

/* ---- Machines ---------------------------------------------------------------------------------------------------- */
typedef struct Machine {
#define TEXT(key, standard, words)       const char *key;
#define INT(key, standard, least, most)  int64_t key;
#define REAL(key, standard, least, most) double key;
#include "plan/machine_keys.def"
#undef TEXT
#undef INT
#undef REAL
#define COST(kind, key, standard, unit, sentence) double key; /* unit: sentence */
#include "plan/machine_costs.def"
#undef COST
} Machine;

/* The machine described by `text`; NULL with a diagnostic. Keys that are absent keep the values of
 * tessi_machine_default. */
Machine *tessi_machine_read(Arena *a, Diags *d, const char *text, size_t n);
void tessi_machine_print(const Machine *m, Text *out);
/* A modest machine with 8-float vectors; what is assumed when nothing is known. */
Machine *tessi_machine_default(Arena *a);
/* Plans for it are kernels: `target = gpu`. */
bool tessi_machine_is_gpu(const Machine *m);

/* ---- Plans ----------------------------------------------------------------------------------- */
typedef enum Placement {
#define PLACEMENT(id, name, meaning) PLACE_##id,
#include "plan/placements.def"
#undef PLACEMENT
    N_PLACEMENTS
} Placement;
const char *tessi_placement_name(Placement p);
bool tessi_placement_by_name(const char *name, Placement *out);
/* In scratch memory of a group: a tile of it, or rings of its rows. */
bool tessi_placement_is_scratch(Placement p);

enum {
    PLAN_MAX_ROWS = 16,
    PLAN_MAX_TILE = 1 << 20,
    PLAN_MAX_SCRATCH_BYTES = 1 << 20,
    PLAN_MAX_COLUMNS = 8,
    PLAN_MAX_BAND = 4096,
    PLAN_MAX_CARRIED = 64, /* values of a column */
    PLAN_STRIP_STEP = 16,  /* strips of transforms are multiples of it */
    PLAN_MAX_STRIP = 1024,
    PLAN_MAX_SHARES = 1024,
    PLAN_MAX_ROLL = 1024,
    PLAN_LEAST_WIDTH = 16, /* bytes of a vector */
    PLAN_MOST_WIDTH = 64
};

typedef enum Split {
    SPLIT_NONE, /* every read is answered by its rule, everywhere */
    SPLIT_INTERIOR, /* points (of kernels: blocks) whose reads are all inside are computed without tests */
    SPLIT_WARP, /* of kernels of points: warps whose reads are all inside */
    /* of kernels of register tiles, of tiles and of warps: as INTERIOR, the blocks at the edges by a kernel of their
     * own */
    SPLIT_EDGES,
    /* of kernels of points: nine regions, each of which answers rules only at the sides of the image that it meets;
     * told apart by blocks, or by warps */
    SPLIT_REGIONS,
    SPLIT_WARP_REGIONS,
    N_SPLITS
} Split;
const char *tessi_split_name(Split s);
bool tessi_split_by_name(const char *name, Split *out);
/* Warps, not blocks, are told apart. */
bool tessi_split_is_by_warp(Split s);

/* How a group becomes a kernel of a GPU. */
typedef enum KernelKind {
#define KERNEL(id, name) KERNEL_##id,
#include "plan/kernels.def"
#undef KERNEL
    N_KERNELS
} KernelKind;
const char *tessi_kernel_name(KernelKind k);
enum {
    PLAN_MAX_BLOCK = 1024,
    PLAN_MAX_OUTPUTS = 16,
    PLAN_MAX_RESIDENT = 32,
    PLAN_MAX_THREADS = 2048,
    PLAN_MAX_SHARED_BYTES = 48 << 10, /* of a block: what every device has */
    PLAN_WARP = 32,                   /* threads that exchange values */
    PLAN_MAX_HELD = 1024              /* values in registers of a thread of a kernel of warps */
};

/* Of kernels of rolling sums, of warps and of medians by histograms: a thread goes down between `least` and `most`
 * rows of the result, so few that there are `blocks` blocks. */
typedef struct PlanMarch {
    uint16_t least, most;
    uint32_t blocks;
    /* the next row of pixels (of warps: the rows of the next step) is read before the steps of the one in hand */
    bool ahead;
    bool planes; /* of warps: it goes down planes, and each thread has some rows of them */
} PlanMarch;
enum { PLAN_MAX_MARCH = 1 << 15, PLAN_MAX_MARCH_BLOCKS = 1 << 20 };

/* An image that a kernel of points or of tiles only reads, and of which its blocks read a copy. */
typedef enum StagedIn {
#define STAGING(id, word, after, meaning) STAGED_##id,
#include "plan/stagings.def"
#undef STAGING
    N_STAGINGS
} StagedIn;
typedef struct PlanStaged {
    StageId image;
    StagedIn in;
    uint8_t pad; /* elements after each row in shared memory, so that rows begin in other banks */
} PlanStaged;
enum {
    PLAN_MAX_CONSTANT_BYTES = 32 << 10, /* of a plan, in constant memory */
    PLAN_MAX_PAD = 128
};

/* Of SPLIT_EDGES: blocks inside reach as far as what they read allows, and what they leave, a thin frame of the
 * image, is computed by kernels of tiles with every stage that is read at a distance in shared memory. [0]: tiles of
 * so many rows and columns above and below the blocks inside, [1]: left and right of them. Zeros: the edges are
 * whole blocks. */
enum { PLAN_FRAME_THREADS = 128, PLAN_FRAME_ROWS = 2, PLAN_MAX_FRAME = 256 };
typedef struct PlanFrame {
    uint16_t rows[2], columns[2];
} PlanFrame;

typedef VEC(StageId) StageList;

typedef struct PlanStage {
    Placement placement;
    const char *reason; /* "" when none */
} PlanStage;

/* How a level runs. */
typedef enum LevelHow {
#define LEVEL(id, name, most, example, meaning) LEVEL_##id,
#include "plan/levels.def"
#undef LEVEL
    N_LEVEL_HOWS
} LevelHow;
const char *tessi_level_name(LevelHow how);
bool tessi_level_by_name(const char *name, LevelHow *out);

/* One level of the loops of a group: a dimension, counted from the last (0 is x, 1 is y), and how many of it are
 * computed by one turn of the loop. */
typedef struct PlanLevel {
    uint8_t dim, how; /* LevelHow */
    bool ahead;       /* of steps: the next one's pixels are read before this one computes */
    uint16_t apart;   /* of what threads unroll: from point to point, others' in between; 0: 1 */
    uint32_t size; /* 0: all that there is to do, or as much as the levels inside of it compute */
    /* of a grid whose parts are `size` to `most`, so few that there are `blocks` of them */
    uint32_t most, blocks;
} PlanLevel;
/* Outermost first. plan_levels.h has the functions that ask about them and change them. */
enum { PLAN_MAX_LEVELS = 12 };
typedef struct PlanLevels {
    PlanLevel at[PLAN_MAX_LEVELS];
    uint8_t n;
    uint8_t n_dims; /* that the loops go over; 0: those of a pass, within the loops of its group */
} PlanLevels;

/* Stages computed together into scratch memory, for one tile of a group at a time. They have the same sizes and
 * regions and do not read each other. */
typedef struct PlanPass {
    StageList stages;
    PlanLevels levels; /* within those of the group */
} PlanPass;

/* Stages computed by one function. Several members share their domain and do not read each other. With tiles, the
 * passes run one after the other for each tile, then the members; a member that is also a stage of a pass is copied
 * out of scratch memory. */
typedef struct PlanGroup {
    const char *name; /* of its function: the first member's name */
    StageList members;
    uint8_t n_dims;
    PlanLevels levels;
    Split split;
    /* of register tiles: integers of 16 bits of neighbours in a row are computed two in a word */
    bool packed;
    /* blocks that are to fit a multiprocessor at once, which limits registers; 0: any */
    uint8_t resident;
    PlanFrame frame;        /* zeros but where SPLIT_EDGES leaves a frame */
    VEC(PlanStaged) staged; /* of kernels of points and of tiles */
    VEC(PlanPass) passes;   /* in order of execution; none without tiles */
    bool stream;            /* results bypass the caches when these have no room for them */
    /* scans, reductions of lines side by side: a multiple of so many strips; histograms: so many parts; 0: 1 */
    uint16_t shares;
    /* rows of the Fourier transforms by which the one sum of its stage is taken; 0 = as written */
    uint16_t transform;
    /* rows of the strips along which the one median of its stage is found; 0 = by sorting, point by point */
    uint16_t median;
    /* strips of medians: bit by bit, by counting what is less; else by histograms that slide along */
    bool counts;
    bool
        network; /* on GPUs, instead of counting: each thread has the values of its windows in registers and sorts */
    /* on GPUs, rows of the blocks for which the one sum of its stage is taken by products of matrices; 0: it is not */
    uint16_t product;
    uint16_t strip; /* columns of a strip that is transformed, or slid along, or of such blocks */
    const char *reason;
} PlanGroup;

typedef struct Plan {
    Arena *arena;
    const char *graph;   /* name of the graph it was made for */
    const char *machine; /* name of the machine it was made for */
    bool gpu;            /* groups are kernels */
    bool masks_written;  /* it is of a graph simplified with masks as written */
    uint8_t width;       /* bytes of a vector, at most; 0: as many as the machine has */
    const char *reason;  /* of the whole; "" when none */
    PlanStage *stage;    /* by StageId; only computed stages that an output needs count */
    uint32_t n_stages;
    bool *needed;          /* by StageId: reaches an output */
    VEC(PlanGroup) groups; /* in order of execution */
} Plan;

/* Bytes of the vectors that generated code uses on the machine: of those that it has, as many as the plan allows. */
uint32_t tessi_plan_vector_bytes(const Plan *p, const Machine *m);

/* What images a plan is made for. On GPUs small ones leave most of the device idle: what counts is how long a thread
 * takes, and launches. Of medium ones a warp that goes down a strip goes through few rows beside those beyond it, so
 * that fewer turns of a repeat pay as one. CPUs have one plan for all, the large. */
typedef enum PlanSize { PLAN_LARGE, PLAN_MEDIUM, PLAN_SMALL } PlanSize;
enum {
    PLAN_SIZES = PLAN_SMALL + 1,
    PLAN_LARGE_POINTS = 1 << 26, /* of those that plans are compared for */
    PLAN_MEDIUM_POINTS = 3 << 20
};
/* Of a GPU, for images of so many points. Medium ones have plans of their own where the number of strips matters: of
 * turns of repeats, and where the `large` plan goes down the planes of a stack. */
PlanSize tessi_plan_size(const Plan *large, bool repeats, double points);
/* Of the largest image that is computed, reduced or run along, with these size parameters. */
double tessi_plan_most_points(const Graph *g, const int64_t *params);
/* The plan that the cost model prefers. */
Plan *tessi_plan_choose(Arena *a, const Graph *g, const Analysis *an, const Machine *m,
                        PlanSize size);
/* By repeat, from 0: how many of its turns are worth computing as one, or those that the page `text` says, in one line
 * of blocks and another of those that are left over. */
enum { PLAN_MAX_TIME = 64 };
BlockTime *tessi_plan_times(Arena *a, const Graph *g, const Machine *m, PlanSize size);
BlockTime *tessi_plan_times_said(Arena *a, const Graph *g, const char *text);
/* Of a graph whose turns are blocked: turns of repeat `number` that are one. */
uint32_t tessi_plan_time_of(const Graph *g, uint32_t number);
/* Each stage by itself in memory, every read tested, nothing parallel: the reference. */
Plan *tessi_plan_naive(Arena *a, const Graph *g, const Machine *m);
/* The plan that a name stands for (presets.def), as papers compute. After a colon may stand the rows and columns of the
 * images that it is for, "isp+m:512x768". NULL and one sentence in `fault` when there is no such name, or not for this
 * machine. */
Plan *tessi_plan_preset(Arena *a, const Graph *g, const Machine *m, const char *name,
                        const char **fault);
const char *tessi_plan_preset_name(size_t i); /* NULL after the last */
/* "preset NAME", or the text of a plan, is of a graph whose masks are applied as written
 * (tessi_graph_simplify_as_written): those of papers that count loads under a mask are. */
bool tessi_plan_is_of_masks_written(const char *text);
/* The text of a plan is of kernels, whichever machine is to run it. */
bool tessi_plan_is_of_kernels(const char *text);
/* A legal plan drawn by `seed`, for tests: the pixels must not depend on it. */
Plan *tessi_plan_random(Arena *a, const Graph *g, const Machine *m, uint64_t seed);

/* What planning asks again and again about a graph (plan_base.h). */
typedef struct PlanFacts PlanFacts;
PlanFacts *tessi_plan_facts(Arena *a, const Graph *g);
/* Its values are made where they are read: again at each use, or from rows carried in registers. */
bool tessi_plan_is_inline(const Plan *p, StageId id);

/* The stage is computed by a pass of the group. */
bool tessi_plan_in_passes(const PlanGroup *group, StageId id);
/* The members that the group's own loops compute: not those that are copied out of scratch memory. */
void tessi_plan_own_members(Arena *a, const PlanGroup *group, StageList *out);

/* A copy that shares nothing that an edit changes, without reasons. */
Plan *tessi_plan_copy(Arena *a, const Plan *p);
void tessi_plan_print(const Plan *p, const Graph *g, Text *out);
/* Reads a plan for `g`; NULL with BAD_PLAN_TEXT, or PLAN_MISMATCH when it is no plan of this graph. */
Plan *tessi_plan_read(Arena *a, Diags *d, const Graph *g, const char *text, size_t n);
/* A sentence when the plan does not take a sum by transforms that the program asks to be taken so, else NULL. */
const char *tessi_plan_missing_transform(Arena *a, const Plan *p, const Graph *g);
/* Both take the same sums by transforms of as many rows, which gives the same bits. */
bool tessi_plan_same_transforms(const Plan *a, const Plan *b);
/* Has the naive plan `to` take sums as `from` does. */
void tessi_plan_take_transforms(Plan *to, const Plan *from);
/* NULL when the plan is legal for the graph and this version lowers it, else one sentence. */
const char *tessi_plan_verify(Arena *a, const Plan *p, const Graph *g);

#include "plan/plan_estimate.h"
#include "plan/plan_levels.h"
#include "plan/plan_parts.h"

#endif
