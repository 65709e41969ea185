/* part: a program over images that are at hand in parts. Which dimensions of the images can be cut, how many points
 * around a part matter to it, and the graph that computes a part: there the offset of the part, the sizes of the
 * whole, and the numbers of whole images (means, histograms ...) are given. A part has the bits of the whole at once.
 *
 * A dimension is cut where the points of all stages lie in it as those of the images do, one for one or in steps, and
 * what they depend on is bounded. The others are left whole: where a point is looked up anywhere, images are mirrored,
 * or one dimension moves into another.
 *
 *   part_find.c   what can be cut
 *   part_write.c  the graph of a part
 *   part_drift.c  computed indices that stay near
 *   part_turns.c  loops over turns in several programs */
#ifndef TESSERA_ANALYSIS_PART_H
#define TESSERA_ANALYSIS_PART_H

#include "analysis/analysis.h"

/* A fraction in lowest terms, den > 0. */
typedef struct Ratio {
    int64_t num, den;
} Ratio;
Ratio tessi_ratio(int64_t num, int64_t den);
int64_t tessi_ratio_floor(Ratio a);
int64_t tessi_ratio_ceil(Ratio a);
Ratio tessi_ratio_times(Ratio a, Ratio b);
Ratio tessi_ratio_over(Ratio a, Ratio b); /* b > 0 */
Ratio tessi_ratio_plus(Ratio a, Ratio b);
bool tessi_ratio_less(Ratio a, Ratio b);

typedef enum PartGivenKind {
    GIVEN_OFFSET, /* a scalar: where the part begins in dimension `dim` of the images, over `step` */
    GIVEN_SEAM, /* a scalar: the first point of the part behind those that are left out, over `step` */
    GIVEN_BEHIND, /* a scalar: how many are left out, over `step` */
    GIVEN_SIZE,   /* a scalar: a size of the whole */
    GIVEN_NUMBER, /* a scalar, or an image of one element: a number of whole images, stage `stage` */
    GIVEN_COUNTS, /* an image: the histogram `stage` */
    GIVEN_LINES,  /* an image: what `stage` comes to along the rows of whole images */
    GIVEN_END     /* a parameter: how many points a part has of stages with `end` in the whole */
} PartGivenKind;
typedef struct PartGiven {
    PartGivenKind kind;
    const char *name; /* of the scalar or image of the part's graph */
    int dim;
    Ratio step;
    SizeId size; /* of the whole's graph */
    StageId stage;
    int64_t end;
    bool is_image;
} PartGiven;

/* A program for parts of some results. */
typedef struct PartPass {
    const Graph *whole;
    const int64_t *params; /* of the whole */
    Graph *graph;          /* of a part; its inputs and params have the names of the whole's */
    int n_dims;            /* of the images that are cut */
    SizeId base[MAX_DIMS]; /* their sizes */
    int64_t param
        [MAX_DIMS]; /* number of the parameter that a size is; -1: it is none that can be cut */
    bool cut[MAX_DIMS];
    const char *why[MAX_DIMS]; /* one that is not cut: why, as a sentence without its end */
    int64_t align[MAX_DIMS];   /* parts begin at multiples of it */
    Ratio margin[MAX_DIMS];    /* points of the images to each side on which a point depends */
    bool periodic[MAX_DIMS];   /* images go on as they begin */
    bool folded[MAX_DIMS];     /* reads wrap beside other rules, see PartFold */
    bool *wanted;              /* by StageId of the whole: it is computed or read in a part */
    Ratio (*step)
        [MAX_DIMS]; /* by StageId: points of the images for one of its; num 0: it does not grow with them */
    int64_t (
        *end)[MAX_DIMS]; /* by StageId: points of one that ends elsewhere than the images; else 0 */
    bool *
        parted; /* by number of the input: it is cut; else it is read as a whole, where it is read */
    bool *reads; /* by number of the input: it is needed at all */
    bool lines;  /* what goes along the rows is given (PART_LINES) */
    VEC(PartGiven) given;
} PartPass;

/* What passes may be. */
enum {
    PART_FOLDS = 1, /* parts may be folded */
    PART_ENDS = 2,  /* stages may end elsewhere than the images */
    PART_FEWER = 4, /* stages may have the first dimensions of the images alone */
    PART_LINES = 8  /* reductions along the first one are given, as numbers of whole images are */
};
/* A reduction along the rows of images: a number for each line, taken of their rows in order. */
bool tessi_part_is_lines(const Graph *g, const Stage *s);
/* The pass of some results of `g` for the values of its parameters; `outputs` are results of the part, whose stages
 * are those of g. Where sums of rows are taken, `whole` says by output whether the last dimension is not cut; else it
 * is NULL. Everything in `a`. */
void tessi_part_pass(const Graph *g, Arena *a, const int64_t *params, const Image *outputs,
                     const bool *whole, uint32_t n_outputs, unsigned may, PartPass *pass);
/* Whether parts of this stage have less points than the stage, in dimension d. */
bool tessi_part_cuts(const PartPass *pass, StageId stage, int d);
/* begin..end: points of the images. What points of the images the points of `stage` in it depend on: *from..*to, beyond
 * the images where they are periodic. */
void tessi_part_range(const PartPass *pass, int d, int64_t begin, int64_t end, int64_t *from,
                      int64_t *to);
/* A part that lies near one end of images in dimension d, some of whose reads wrap around, also has points of the other
 * end, at their places: what lies between is left out. All rules then act at the ends of an image, as in the whole.
 * Points from..to, which go on around the end, become those from `split` on, and then those before. */
typedef struct PartFold {
    int64_t split;   /* 0: the part is not near an end */
    int64_t seam;    /* points of the image before those that are left out */
    int64_t between; /* how many these are */
} PartFold;
PartFold tessi_part_fold(const PartPass *pass, int d, int64_t from, int64_t to);
/* The first point of `stage` at or behind point x of the images, in a dimension that is cut. */
int64_t tessi_part_point(const PartPass *pass, StageId stage, int d, int64_t x);

/* How many points a part from..to of the images has of a stage that has `end` in the whole; at least one, which may be
 * none of them. */
int64_t tessi_part_points(const PartPass *pass, int d, Ratio step, int64_t end, int64_t from,
                          int64_t to);

/* part_turns.c: some turns of the loop of a graph, which has one, as a graph: what is asked for of what stands before
 * it, of turns and behind it. It takes what it needs of the images, and without `before` what is `carried_K`, the image
 * or number that was the result `next_K` of the graph that came first; with `behind` it has the results of g. False: it
 * cannot be split, as it has several loops, or carries wide integers. */
typedef struct PartTurns {
    bool before, behind;
    uint32_t time; /* turns */
    bool tests;    /* its last result `ends_now` is the condition */
} PartTurns;
bool tessi_part_turns(const Graph *g, Arena *a, const PartTurns *what, const char *name,
                      Graph **out);

/* part_drift.c: whether a computed index in dimension `dim` lies no further from the point's own coordinate there than
 * lo..hi, in images of `extent` points. */
bool tessi_part_drift(const Graph *g, const Analysis *ranges, ExprId index, int dim, int64_t extent,
                      const int64_t *params, int64_t *lo, int64_t *hi);

/* part_write.c */
void tessi_part_write(PartPass *pass, Arena *a, const Image *outputs, uint32_t n_outputs);

#endif
