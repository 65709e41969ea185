/* Inside lowering: what a thread's windows read of one row of pixels, in its registers. */
#ifndef TESSERA_LOOP_LOWER_LINE_H
#define TESSERA_LOOP_LOWER_LINE_H

#include "loop/lower_nest.h"

/* Of one image and rule, for the columns of a thread, in whole vectors. */
typedef struct Line {
    int64_t first;     /* column of the first element, from the thread's first */
    uint32_t n, width; /* elements; how many of them move at once */
    LBufferId *vector; /* n / width of them: the row read last */
    bool dense;        /* elements of the image lie side by side, and can be moved */
    LExprId inside;    /* BOOL: all its columns are in the image */
} Line;
typedef struct Lines {
    CopyList copies;   /* what of the row in hand is in use; to be `copies` of Lower */
    VEC(Line) lines;   /* parallel */
    uint32_t columns;  /* of a thread */
    LExprId x;         /* its first */
    int64_t step;      /* from one row of pixels that a window reads to the next */
    uint32_t together; /* elements read at once where they are read one by one; 0 = all */
} Lines;

/* The lines that the windows of a nest read, which are of one row for each row of points. */
void tessi_lines_find(Lower *l, const Nest *nest, const ExprList *bodies, uint32_t columns,
                      Lines *out);
/* Brings them into being, for a thread whose first column is x. */
void tessi_lines_declare(Lower *l, Lines *lines, LExprId x);
/* Reads the row of pixels that the first rows of windows see from `row`; every read is answered by its rule. */
void tessi_lines_read(Lower *l, Lines *lines, LExprId row);
/* An evaluation for a column of the thread and any row, inside the image or not: the lines have answered its reads. */
Eval *tessi_lines_eval(Lower *l, const Lines *lines, const Nest *nest, const ExprList *roots,
                       LExprId y, uint32_t column);
/* Takes what was read last into use. */
void tessi_lines_take(Lower *l, Lines *lines);
/* What a thread computes of a row of results. */
typedef struct LineResults {
    const Nest *nest;
    LBufferId to;
    LExprId whole, width; /* BOOL: all columns of the thread are there; columns of the result */
    /* Gives the evaluation for column c the values of its windows. */
    void (*set_sums)(Lower *l, void *user, Eval *ev, uint32_t column);
    void *user;
} LineResults;
/* Stores the columns of a thread that are there. */
void tessi_lines_give(Lower *l, const Lines *lines, const LineResults *results, LExprId row);

#endif
