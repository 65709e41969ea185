/* Inside lowering: threads in one line that go down strips of rows, all blocks of the image at once. Rows may be
 * some apart: those in between are of other blocks. */
#ifndef TESSERA_LOOP_LOWER_MARCH_H
#define TESSERA_LOOP_LOWER_MARCH_H

#include "loop/lower_line.h"
#include "loop/lower_window.h"

typedef struct March {
    int64_t step; /* from row to row; to be set before */
    int64_t
        more; /* the same: 16ths of the strips of others that blocks at the edges have more; 0: one */
    LExprId y, n;   /* first row of the block, and how many it has */
    LExprId x;      /* first column of the thread */
    LExprId column; /* of blocks: where the block stands */
    LExprId whole;  /* BOOL: all columns of the thread are in the image */
} March;

/* Blocks in one line, those at the first and the last column before all others: their threads read elements one by
 * one, and would be the last to finish. */
typedef struct EdgesFirst {
    LExprId across; /* blocks side by side */
    LExprId edge;   /* BOOL: the block stands at the first or the last column */
    LExprId number; /* of the block among those, or among the others */
    LExprId side;   /* how many of these stand side by side, in all phases of rows */
} EdgesFirst;
/* `at_edges` of the blocks stand at the edges; rows are `step` apart. */
EdgesFirst tessi_edges_first(Lower *l, LExprId block, LExprId across, LExprId at_edges,
                             int64_t step);
/* Where the block stands of those side by side, from its place among those at the edges or the others. */
LExprId tessi_edges_column(Lower *l, const EdgesFirst *e, LExprId place);

/* Opens the grid: blocks whose threads have so many columns each, of a result of these sizes. */
void tessi_march_blocks(Lower *l, const PlanGroup *group, LExprId height, LExprId width, March *m);
/* The same of so many blocks in all, so many of them side by side. */
void tessi_march_strips(Lower *l, const PlanGroup *group, LExprId blocks, LExprId height,
                        LExprId across, March *m);
/* Row i of those that begin with the block's. */
LExprId tessi_march_row(Lower *l, const March *m, LExprId i);
/* Opens the threads, those with columns in the image. */
void tessi_march_threads(Lower *l, const PlanGroup *group, LExprId width, March *m);

/* ---- lower_sums.c: sums of windows in the registers of such a thread ---- */
typedef struct Sum {
    Member member;
    LVarId *var; /* by row and column */
} Sum;
/* A step: `to` becomes `from` (none: what the sum starts from) and the operands. */
typedef struct SumStep {
    const Sum *sum;
    LVarId from, to;
    uint32_t first_operand;
    bool moves; /* without operands */
} SumStep;
typedef struct Sums {
    const Nest *nest;
    WindowId window;
    uint32_t rows, columns;
    uint32_t result; /* the row that comes to the result */
    VEC(Sum) at;
    ExprList bodies;
    VEC(SumStep) steps;
    LExprList operands;
} Sums;
/* Those of the windows of a nest. */
void tessi_sums_find(Lower *l, const Nest *nest, Sums *sums);
/* Brings the variables into being; the first row has this number. */
void tessi_sums_declare(Lower *l, Sums *sums, uint32_t first);
LVarId tessi_sum_var(const Sums *sums, const Sum *sum, uint32_t row, uint32_t column);
/* Adds a step, with the operands that the evaluation gives (NULL: it moves). */
void tessi_sums_add(Lower *l, Sums *sums, const Sum *sum, Eval *ev, LVarId to, LVarId from);
/* Takes the steps added since the last time, in order. */
void tessi_sums_take(Lower *l, Sums *sums);
/* Stores the results of a row, as far as the march has columns there. */
void tessi_sums_give(Lower *l, const Sums *sums, const Lines *lines, const March *m, LBufferId to,
                     LExprId row);

#endif
