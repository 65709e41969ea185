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
    PLAN_MAX_ROLL = 1024,
    PLAN_MAX_STRIP_ROWS = 1 << 15,
    PLAN_LEAST_WIDTH = 16, /* bytes of a vector */
    PLAN_MOST_WIDTH = 64
};

typedef enum Split {
    SPLIT_NONE, /* every read is answered by its rule, everywhere */
    SPLIT_INTERIOR, /* points (of kernels: blocks) whose reads are all inside are computed without tests */
    SPLIT_WARP, /* of kernels of points: warps whose reads are all inside */
    /* of kernels of register tiles, of tiles and of warps: as INTERIOR, the blocks at the edges by a kernel of their
     * own */
    SPLIT_EDGES
} Split;
const char *tessi_split_name(Split s);
bool tessi_split_by_name(const char *name, Split *out);

/* How a group becomes a kernel of a GPU. */
typedef enum KernelKind {
#define KERNEL(id, name, meaning) KERNEL_##id,
#include "plan/kernels.def"
#undef KERNEL
    N_KERNELS
} KernelKind;
const char *tessi_kernel_name(KernelKind k);
bool tessi_kernel_by_name(const char *name, KernelKind *out);
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
} PlanMarch;
enum { PLAN_MAX_MARCH = 1 << 15, PLAN_MAX_MARCH_BLOCKS = 1 << 20 };

/* An image that a kernel of points only reads, and of which its blocks read a copy. */
typedef enum StagedIn {
#define STAGING(id, word, after, meaning) STAGED_##id,
#include "plan/stagings.def"
#undef STAGING
    N_STAGINGS
} StagedIn;
typedef struct PlanStaged {
    StageId image;
    StagedIn in;
} PlanStaged;
enum { PLAN_MAX_CONSTANT_BYTES = 32 << 10 /* of a plan, in constant memory */ };

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

/* The loops of a group or of a pass; plan_levels.h has the functions that ask about them and change them. */
typedef struct PlanLevels {
    int64_t tile[MAX_DIMS];
    int8_t parallel, vector;
    uint16_t roll, strip_rows, band;
    uint8_t rows, columns;
    uint16_t block[2];
    uint8_t outputs[2];
    PlanMarch march;
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
    uint8_t order[MAX_DIMS]; /* dimensions, outermost loop first */
    PlanLevels levels;
    Split split;
    KernelKind kind_of_kernel; /* NONE on CPUs */
    /* of register tiles: integers of 16 bits of neighbours in a row are computed two in a word */
    bool packed;
    /* blocks that are to fit a multiprocessor at once, which limits registers; 0: any */
    uint8_t resident;
    PlanFrame frame;        /* zeros but where SPLIT_EDGES leaves a frame */
    VEC(PlanStaged) staged; /* of kernels of points */
    VEC(PlanPass) passes;   /* in order of execution; none without tiles */
    bool stream;            /* results bypass the caches when these have no room for them */
    /* rows of the Fourier transforms by which the one sum of its stage is taken; 0 = as written */
    uint16_t transform;
    /* rows of the strips along which the one median of its stage is found; 0 = by sorting, point by point */
    uint16_t median;
    /* strips of medians: bit by bit, by counting what is less; else by histograms that slide along */
    bool counts;
    uint16_t strip; /* columns of a strip that is transformed, or slid along */
    const char *reason;
} PlanGroup;

/* What a group with tiles needs of a stage in scratch memory: for members at [t, t + n) of a dimension, the stage at
 * [t + lo, t + n + hi), answered by `rule` where that lies outside the stage. */
typedef struct PlanRegion {
    StageId stage;
    int64_t lo[MAX_DIMS], hi[MAX_DIMS]; /* lo <= 0 <= hi unless the reads are certainly inside */
    Border rule[MAX_DIMS];              /* INSIDE: never read outside */
    ExprId outside;                     /* rule CONSTANT */
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

/* The plan that the cost model prefers. */
Plan *tessi_plan_choose(Arena *a, const Graph *g, const Analysis *an, const Machine *m);
/* The same for images of few points, which leave much of a GPU idle: what counts is how long a thread takes, and
 * launches. The machine is a GPU. */
enum { PLAN_FEW_POINTS = 1 << 20 };
Plan *tessi_plan_choose_small(Arena *a, const Graph *g, const Analysis *an, const Machine *m);
/* Each stage by itself in memory, every read tested, nothing parallel: the reference. */
Plan *tessi_plan_naive(Arena *a, const Graph *g, const Machine *m);
/* The plan that a name stands for (presets.def), as papers compute. NULL and one sentence in `fault` when there is
 * no such name, or not for this machine. */
Plan *tessi_plan_preset(Arena *a, const Graph *g, const Machine *m, const char *name,
                        const char **fault);
const char *tessi_plan_preset_name(size_t i); /* NULL after the last */
/* "preset NAME", or the text of a plan, is of a graph whose masks are applied as written
 * (tessi_graph_simplify_as_written): those of papers that count loads under a mask are. */
bool tessi_plan_is_of_masks_written(const char *text);
/* A legal plan drawn by `seed`, for tests: the pixels must not depend on it. */
Plan *tessi_plan_random(Arena *a, const Graph *g, const Machine *m, uint64_t seed);

/* What planning asks again and again about a graph (plan_base.h). */
typedef struct PlanFacts PlanFacts;
PlanFacts *tessi_plan_facts(Arena *a, const Graph *g);
/* Fills in `out`, which starts as zeros and whose memory is used again. NULL, or one sentence: why the passes cannot
 * be computed tile by tile. Overlapped tiles: sections on fusion of the first paper, for any graph. */
const char *tessi_plan_regions(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                               PlanRegions *out);

/* Its values are made where they are read: again at each use, or from rows carried in registers. */
bool tessi_plan_is_inline(const Plan *p, StageId id);

/* The stage is computed by a pass of the group. */
bool tessi_plan_in_passes(const PlanGroup *group, StageId id);
/* The members that the group's own loops compute: not those that are copied out of scratch memory. */
void tessi_plan_own_members(Arena *a, const PlanGroup *group, StageList *out);

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
    int64_t row, column; /* where the first of its own stands: the same for all stages of a pass */
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
} PlanWarp;
/* NULL, or one sentence: why a kernel of warps cannot compute the group. */
const char *tessi_plan_warp(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                            PlanWarp *out);

/* What the blocks of a kernel read of an image that they copy. */
typedef struct PlanCopy {
    bool whole;                         /* all of it: no read moves with the point */
    int64_t lo[MAX_DIMS], hi[MAX_DIMS]; /* else how far from its points */
    AccessRules rules;                  /* which answer */
    double loads;  /* of a block whose points are all there, without the copy */
    double copied; /* elements that it copies instead */
    /* reads that are left to the image, since the copy is of the block's points alone */
    double missed;
} PlanCopy;
/* NULL, or one sentence: why the kernel cannot have the copy. */
const char *tessi_plan_copied(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                              const PlanStaged *staged, PlanCopy *out);
/* Whether a read at the points of such a kernel finds all it reads in the copy. */
bool tessi_plan_copy_serves(const Graph *g, const Access *access, const PlanCopy *copy);
/* Elements of the copy in each dimension of the image, for blocks of so many points. */
void tessi_plan_copy_shape(const Graph *g, const PlanGroup *group, const PlanStaged *staged,
                           const PlanCopy *copy, int64_t *size);

/* Shared memory of a block. */
int64_t tessi_plan_shared_bytes(const PlanFacts *f, const PlanGroup *group,
                                const PlanExtent *extent);

/* How one side of the frame of a group is computed: a group of tiles whose passes are all the stages in between that
 * are read at a distance, and a plan that has them there. NULL, or one sentence: why it cannot be. `regions` is
 * filled in as above. */
const char *tessi_plan_frame(const PlanFacts *f, const Plan *p, const PlanGroup *group, int side,
                             Plan *plan_out, PlanGroup *out, PlanRegions *regions);

/* What the cost model expects of a run with these size parameters. */
typedef struct PlanEstimate {
    double operations;                /* arithmetic; a fused multiply-add counts two */
    double bytes_read, bytes_written; /* of whole images in memory */
    double seconds;
    double start_seconds; /* of these: threads, launches */
    /* What no plan can do without: bytes of inputs and results, and the seconds that these take, and the operations
     * of computing each stage once at the machine's rates. */
    double must_move, bound_memory, bound_compute;
} PlanEstimate;
PlanEstimate tessi_plan_estimate(const Plan *p, const Graph *g, const Analysis *an,
                                 const Machine *m, const int64_t *params);
/* The estimate as lines of text, group by group, with the bound; and by how many per cent the prediction grows when a
 * fitted constant of the machine grows by one, for each that it depends on: what bench/fit.py reads. */
void tessi_plan_estimate_print(const Plan *p, const Graph *g, const Analysis *an, const Machine *m,
                               const int64_t *params, Text *out);

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

#include "plan/plan_levels.h"

#endif
