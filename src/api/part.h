/* Inside tess_parts: passes over images in parts, of which each gives numbers of whole images, and the last one the
 * results. */
#ifndef TESSERA_API_PART_H
#define TESSERA_API_PART_H

#include "analysis/part.h"
#include "api/api.h"
#include "rt/bytes.h"

/* A number of whole images, or a histogram, while parts are gone through. */
typedef struct PartNumber {
    StageId stage;   /* of the whole's graph */
    StageId source;  /* what it is taken of */
    StageId parts;   /* what parts compute for it: what each row of that comes to, or that itself */
    uint32_t output; /* of its pass */
    Value total;     /* of the rows so far, and in the end the number */
    uint32_t *counts; /* a histogram */
    int64_t n_counts;
    struct PartLines *lines; /* part_lines.c: what comes to a number for each line along the rows */
} PartNumber;

typedef struct RunPass {
    PartPass part;
    tess_program *program; /* of a part */
    tess_args *args;
    VEC(PartNumber) numbers; /* none: it gives the results */
    int64_t next;            /* first row of the images that no part has had */
    RtBytes apart;           /* what parts say that are computed apart from others */
    bool is_done;
    BoundImage *spare; /* results of the part before, which are still read */
    DLTensor **folded; /* by number of the input, while a folded part is computed: its images, */
    bool *is_copy;     /* and which are copies of its own */
    uint32_t n_folded;
} RunPass;

struct tess_parts {
    tess_program *program;
    Variant *v; /* held */
    const Graph
        *graph; /* of the whole, the turns of repeats one behind the other, and rows of numbers */
    tess_args *args; /* numbers, and shapes of whole images */
    int device;      /* that parts run on; -1: as the program's options say */
    Arena arena;
    int64_t *params;
    VEC(RunPass) passes;
    DLTensor *results;               /* of the last part, by output of its pass: what it decides */
    int64_t (*places)[MAX_DIMS + 1]; /* of its first point in the whole */
    int64_t (*shapes)[MAX_DIMS + 1], (*strides)[MAX_DIMS + 1];
    Failure failure;
};

/* part.c: as tess_parts_new, for parts on one of several devices */
tess_status tessi_parts_new_on(tess_program *p, const tess_args *args, int device,
                               tess_parts **parts);

/* tess_run_part with the results (NULL: as there) in memory of the caller: all that the part computes of them, from
 * point tessi_part_first on; or, on devices, of these only some `rows`, and the tensor's others need not be there. What
 * is on devices alone is put on the stream. */
typedef struct PartRows {
    bool is_window;
    int64_t skip, wanted;
} PartRows;
tess_status tessi_run_part_on(tess_parts *p, const tess_part *part, const DLTensor *const *images,
                              const DLTensor *const *results, const PartRows *rows, void *stream);
int64_t tessi_part_first(const tess_parts *p, const tess_part *part, size_t output);
/* Says to the arguments of a part's pass how large its images are. */
bool tessi_part_shapes(tess_parts *p, const tess_part *part);

/* part_pass.c: finds the passes; false with a failure */
bool tessi_parts_find(tess_parts *p, Failure *f);
/* Turns that are written out, as a loop where one is planned better. On an H200 64 turns of a 5-point step are expected
 * to take 5.4 ms so, and 9.5 ms as a chain; on two cores of an EPYC they took 1.37 s so, and 0.91 s as a chain. */
const Graph *tessi_parts_rolled(tess_program *p, Graph *g, Arena *a);
/* A result that is a stage, for the numbers taken of it. */
Image tessi_part_image(Arena *a, const Graph *g, StageId id, uint32_t number);
/* The number that a stage of the whole is, once its pass is done. */
const PartNumber *tessi_parts_number(const tess_parts *p, StageId stage);

/* A result that is a stage, for the numbers taken of it. */
Image tessi_part_image(Arena *a, const Graph *g, StageId id, uint32_t number);

/* part_fold.c: whether parts may be folded, and whether this one is */
bool tessi_part_folds(const RunPass *pass);
bool tessi_part_is_folded(const RunPass *pass, const tess_part *part);
/* The images of one; freed once it has run, or failed. */
bool tessi_fold_images(tess_parts *p, RunPass *pass, const tess_part *part,
                       const DLTensor *const *images);
void tessi_folded_free(RunPass *pass);
/* The point of the images that a part's first one would be, if what it decides lay as far behind it as it does in what
 * is computed. */
int64_t tessi_part_base(const RunPass *pass, const tess_part *part, int d);

/* part_lines.c: reductions along the rows (tessi_part_is_lines), whose rows come in order. False: no memory. */
double tessi_lines_bytes(const tess_parts *p, const RunPass *pass); /* that a pass keeps */
bool tessi_lines_start(const tess_parts *p, PartNumber *number);
void tessi_lines_add(const tess_parts *p, PartNumber *number, const DLTensor *rows);
void tessi_lines_end(const tess_parts *p, PartNumber *number);
/* What they came to, and its shape. */
void *tessi_lines_result(const PartNumber *number, int *n_dims, int64_t *shape);
void tessi_lines_free(PartNumber *number);

/* part_reduce.c */
bool tessi_part_reduce_start(tess_parts *p, RunPass *pass, Failure *f);
/* Takes in rows of what a number is taken of: those of the compact image `rows`. */
void tessi_part_reduce(const tess_parts *p, PartNumber *number, const DLTensor *rows);
void tessi_part_reduce_end(const tess_parts *p, RunPass *pass);
/* Whether a part that begins at this row adds to a number: what is not cut each part has all of, and the first one
 * alone counts it. */
bool tessi_part_adds(const RunPass *pass, const PartNumber *number, int64_t begin);

/* part_apart.c: the same where parts are computed by others too. What each says is a block of 8-byte words: the rows of
 * the images that it has decided, then of each number how many values it has and these, of its own rows or counts. */
bool tessi_part_reduce_apart(const tess_parts *p, RunPass *pass, int64_t begin, int64_t end);
/* part_reduce.c: how many rows (of all dimensions but the last) a part has of what a number is taken of; what row k of
 * them comes to; and that on top of the total. */
int64_t tessi_part_rows(const PartNumber *number, const DLTensor *rows);
Value tessi_part_row(const tess_parts *p, const PartNumber *number, const DLTensor *rows,
                     int64_t k);
Value tessi_part_add_row(const tess_parts *p, const PartNumber *number, Value total, Value row);

#endif
