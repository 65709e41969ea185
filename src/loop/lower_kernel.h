/* Inside lowering: blocks and threads of kernels.
 *
 *   lower_kernel.c  grids, blocks and threads
 *   lower_blocks.c  which blocks of an image a kernel computes */
#ifndef TESSERA_LOOP_LOWER_KERNEL_H
#define TESSERA_LOOP_LOWER_KERNEL_H

#include "loop/lower_nest.h"

/* ---- lower_kernel.c ---- */
/* Opens blocks along z, one for each point of the dimensions before the last two, and gives their coordinates. */
void tessi_kernel_outer(Lower *l, const Nest *nest, Coord *coord);
/* The same of the first n. */
void tessi_kernel_outer_dims(Lower *l, const Nest *nest, uint8_t n, Coord *coord);
/* Opens a kernel with blocks of so many threads; tessi_scope_close ends it. */
LFunction *tessi_kernel_open(Lower *l, const char *name, const char *comment, uint32_t block_x,
                             uint32_t block_y);
/* Opens a loop over the blocks along an axis, or over n iterations shared out among the threads along it; its
 * variable. */
LExprId tessi_kernel_grid(Lower *l, uint8_t axis, const char *name, LExprId blocks);
LExprId tessi_kernel_threads(Lower *l, uint8_t axis, const char *name, int64_t n);
/* The number of blocks of a size that cover an extent. */
LExprId tessi_kernel_blocks(Lower *l, LExprId extent, int64_t size);
/* from <= at < to in n dimensions. */
LExprId tessi_kernel_within(Lower *l, uint8_t n, const LExprId *from, const LExprId *to,
                            const LExprId *at);
/* Asks the second cache for what a later step reads of an image, at a point that may lie outside: so many steps before
 * it is read. */
enum { KERNEL_FETCH_STEPS = 2 };
void tessi_kernel_fetch(Lower *l, StageId image, const LExprId *at);
/* ---- lower_blocks.c ---- */
/* Blocks of so many rows and columns of points over an image that ends at `end`; one whose first point is in [from,
 * to) lies inside with all it reads. Each function opens the grid of some of them and sets `first`, the first point
 * of the block in hand. */
typedef struct Blocks {
    Lower *l;
    int64_t size[2];
    int64_t
        begins[2]; /* blocks at edges may begin at any multiple of it; 0: at those of the size */
    LExprId end[2], from[2], to[2], first[2];
} Blocks;
void tessi_blocks_all(Blocks *b);
void tessi_blocks_inside(Blocks *b);
void tessi_blocks_edges(Blocks *b);
/* The points that blocks inside compute when the last of a row, or column, of them begin wherever they still lie
 * inside: rows and columns from <= i < to, all of the image's when there is no such block. What threads compute are
 * `step` rows and columns. */
typedef struct Frame {
    LExprId from[2], to[2];
} Frame;
Frame tessi_blocks_frame(const Blocks *b, const int64_t *step);
/* Opens the grid of these blocks; `own`: points before it are those of the block before. */
void tessi_blocks_in_frame(Blocks *b, const Frame *frame, LExprId *own);
/* Opens the grid of blocks above and below these points, or (side 1) left and right of them; they compute the points
 * before b->end. */
void tessi_blocks_around(Blocks *b, const Frame *frame, int side);
/* ---- lower_staged.c: copies that plans ask for ---- */
/* Kernels that bring what the group has in constant memory there. */
void tessi_staged_constants(Lower *l, const PlanGroup *group);
/* Declares the copies of a block whose first point is given; NULL when the group has none. */
CopyList *tessi_staged_declare(Lower *l, const PlanGroup *group, const Nest *nest,
                               const LExprId *first);
/* The same of a tile, whose reads they all serve. */
CopyList *tessi_staged_declare_tile(Lower *l, const PlanGroup *group, const Nest *nest,
                                    const LExprId *first);
/* Fills them; where `inside` holds without rules. */
void tessi_staged_fill(Lower *l, const CopyList *list, LExprId inside);
/* The same without rules: the block lies inside. */
void tessi_staged_fill_inside(Lower *l, const CopyList *list);
/* From here on all that the block computes reads them. */
void tessi_staged_block(Lower *l, CopyList *list);
/* From here on a thread computes the point; with no list it reads the images themselves. */
void tessi_staged_point(Lower *l, CopyList *list, const Coord *coord);
void tessi_staged_end(Lower *l, const PlanGroup *group);

#endif
