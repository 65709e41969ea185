/* Inside the graph interpreter: images in memory, reads of them, and whole-image reductions. */
#ifndef TESSERA_INTERP_GRAPH_STAGES_H
#define TESSERA_INTERP_GRAPH_STAGES_H

#include "graph/graph.h"
#include "graph/graph_eval.h"
#include "interp/interp.h"

/* The stored elements of one stage: an input channel in the caller's memory, or a compact array of ours. */
typedef struct StageImage {
    ScalarType type;
    uint8_t n_dims;
    int64_t size[MAX_DIMS], stride_bytes[MAX_DIMS];
    char *at;    /* NULL until the stage has been computed, and after its last use */
    void *owned; /* to be freed; NULL for inputs */
} StageImage;
Value tessi_stage_image_get(const StageImage *image, const int64_t *index);
/* Steps `index` to the next point of a box, row-major; false after the last. */
bool tessi_next_point(uint32_t n_dims, const int64_t *size, int64_t *index);

/* PointEval.load over the stage images that PointEval.user points to. */
bool tessi_stage_load(PointEval *p, const Access *a, Value *v);

/* A sum taken by Fourier transforms of n rows at every point of a stage. */
typedef struct TransformedSum {
    ExprId window;
    int64_t cols;   /* of the stage */
    double *at;     /* row-major; to be freed */
    bool *spoiled;  /* likewise: the sum as written holds */
    double differs; /* from the sum as written by at most this */
} TransformedSum;
bool tessi_transform_stage(PointEval *p, Arena *scratch, const Stage *s, uint32_t n,
                           TransformedSum *out);

/* What a REDUCE stage gives (docs/internals/reductions.md), into `image`, a compact one. */
void tessi_reduce_image(const Stage *s, const StageImage *source, StageImage *image);
/* The same by keys; `region`: its steps, where it has some of its own. */
bool tessi_reduce_by_keys(PointEval *p, const Stage *s, const StageImage *source,
                          const StageImage *keys, StageImage *image, const Region *region);
/* The same of a SCAN stage; `region`: its step and its start, where it has them. */
bool tessi_scan_image(PointEval *p, const Stage *s, const StageImage *source, StageImage *image,
                      const Region *region);
/* A value as it is accumulated; two such, the later one behind. */
Value tessi_accumulated(Reduction r, ScalarType acc, ScalarType source, Value v);
Value tessi_accumulate(Reduction r, ScalarType acc, Value old, Value v);
/* A reduction of a whole image whose rows come in several pieces, one behind the other: the start, the total with those
 * of `source`, and the value of all `points`. */
Value tessi_reduce_start(const Stage *s, ScalarType source);
Value tessi_reduce_rows(const Stage *s, const StageImage *source, Value total);
Value tessi_reduce_end(const Stage *s, ScalarType source, double points, Value total);
/* Counts into `counts`, which is zero; a compact image of U32. */
void tessi_histogram_image(const StageImage *source, StageImage *counts);

#endif
