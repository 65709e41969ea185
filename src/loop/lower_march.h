/* Inside lowering: threads in one line that go down strips of rows, all blocks of the image at once. Rows may be
 * some apart: those in between are of other blocks. */
#ifndef TESSERA_LOOP_LOWER_MARCH_H
#define TESSERA_LOOP_LOWER_MARCH_H

#include "loop/lower_window.h"

typedef struct March {
    int64_t step;   /* from row to row; to be set before */
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
/* Row i of those that begin with the block's. */
LExprId tessi_march_row(Lower *l, const March *m, LExprId i);
/* A variable for each row and column of sums of a thread, by row and column; the first row has this number. */
LVarId *tessi_march_sums(Lower *l, const Member *m, uint32_t first, uint32_t rows,
                         uint32_t columns);
/* Opens the threads, those with columns in the image. */
void tessi_march_threads(Lower *l, const PlanGroup *group, LExprId width, March *m);

#endif
