/* Inside lowering: copies of rectangles of images, with all that lies beyond the edges answered by border rules. What
 * reads such a copy needs no rules.
 *
 * A copy says what of (image, rules, distances), where it goes (scratch or shared memory, registers) and, as a member
 * of a list, who reads it; tessi_copy_by_* are who fills it. */
#ifndef TESSERA_LOOP_LOWER_COPY_H
#define TESSERA_LOOP_LOWER_COPY_H

#include "loop/lower_eval.h"

typedef struct Copy {
    StageId image;
    AccessRules rules;                  /* of the reads that it serves */
    ScalarType type;                    /* its elements are cast to */
    bool ordered;                       /* instead of reals, it has their places in order */
    int64_t lo[MAX_DIMS], hi[MAX_DIMS]; /* how far from the point in hand its elements are */
    int64_t size[MAX_DIMS];             /* elements that it has */
    int64_t pitch; /* of its buffer, from row to row; 0: as many as a row has */
    LBufferId buffer;
    LExprId *value;          /* by column: of a row in registers; NULL: it is in `buffer` */
    LExprId first[MAX_DIMS]; /* the coordinates of its first element */
    LExprId end[MAX_DIMS];   /* from here on the image is read; none: nothing of it is */
    bool is_own[MAX_DIMS];   /* the same: a point has its own coordinate in the copy */
    bool whole;              /* of all of the image, found by Place.copy */
    bool far;                /* some read is not at the point itself */
    bool loose;              /* some read is at no constant distance */
    bool dropped;            /* not made: its reads go to the image */
} Copy;
struct CopyList {
    Copy *at;
    uint32_t n, cap;
    /* of evaluations of this point alone, as far as the copies reach; none: of all evaluations */
    LExprId point[MAX_DIMS];
    uint8_t n_dims;
    uint32_t reads; /* of a point, those of inlined stages included */
    bool others;    /* some reads that move no copy can serve */
    bool by_line;   /* the threads of a block stand in one line */
};

/* Nothing is read by any rule yet. */
Copy tessi_copy_new(const Lower *l, StageId image);

/* ---- lower_copies.c: what is to be copied ---- */
/* Points that are computed together. */
typedef struct CopyReaders {
    const StageId *stage;
    uint32_t n;
    int64_t from[2],
        extent[2];    /* so many rows and columns, from here on around the point in hand */
    bool beyond[2];   /* some are beyond the edges, where all wraps around */
    bool rows_inside; /* no rule is needed in the first dimension, for inlined stages neither */
    bool windows;     /* only what moves with a window counts */
} CopyReaders;
/* Adds a copy for each image and rule that they read, themselves or through inlined stages. */
void tessi_copies_find(Lower *l, const CopyReaders *readers, CopyList *list);
/* Gives the copies the extent of what is read. */
void tessi_copies_size(CopyList *list);

/* ---- lower_copy.c ---- */
/* A coordinate that a rule has answered. */
typedef struct Answer {
    LExprId at; /* inside the image */
    LExprId in; /* BOOL: it was inside; none where that does not matter */
} Answer;
Answer tessi_answer(Lower *l, Border rule, LExprId i, LExprId n);
/* The same for coordinate i of a copy's image. */
Answer tessi_copy_answer(Lower *l, const Copy *c, uint8_t d, LExprId i);
/* The element of the image for these coordinates. */
LExprId tessi_copy_element(Lower *l, const Copy *c, const Answer *a);
/* What lies outside, of rule CONSTANT. */
LExprId tessi_copy_outside(Lower *l, const Copy *c);
/* Brings the buffer into being, named after the image and where it is. */
void tessi_copy_declare(Lower *l, Copy *c, const char *where);
/* Has the first element be `lo` from a point. */
void tessi_copy_begin(Lower *l, Copy *c, const LExprId *point);
/* Fill it: one thread, row by row, so many rows and columns of it, the columns inside in vectors; the threads of a
 * block of one line, each its elements; the threads of a block along rows and columns; `inside` where no rule is
 * needed. */
void tessi_copy_by_rows(Lower *l, const Copy *c, LExprId rows, LExprId columns);
void tessi_copy_by_line(Lower *l, const Copy *c, bool inside);
void tessi_copy_by_block(Lower *l, const Copy *c, uint8_t n_axes, bool inside);
/* What a read finds in the copies in force: where `if_in` holds (none: always). */
typedef struct CopyRead {
    LExprId load, if_in;
} CopyRead;
bool tessi_copy_read(Lower *l, const Eval *ev, const Access *access, CopyRead *out);
/* Copies of a tile are in force, and one serves the read wherever it is evaluated. */
bool tessi_copy_serves_all(const Lower *l, const Access *access);

#endif
