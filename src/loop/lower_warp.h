/* Inside lowering: kernels of warps.
 *
 *   lower_warp.c        steps of strips, and what threads hold
 *   lower_warp_images.c what they read
 *   lower_warp_give.c   results
 *   lower_warp_frame.c  strips inside a frame
 *   lower_warp_edges.c  what stands outside an image, answered in what they hold */
#ifndef TESSERA_LOOP_LOWER_WARP_H
#define TESSERA_LOOP_LOWER_WARP_H

#include "loop/lower_job.h"
#include "loop/lower_kernel.h"

/* What threads compute one after the other: a pass, or the members. */
typedef struct Part {
    Nest nest;
    Job job;
    int64_t delay;
    int64_t lo[2], hi[2]; /* of it is needed, from the tile on */
    int64_t around[2];    /* lines of planes before and behind a thread's own that it computes */
} Part;

typedef struct Warps {
    Lower *l;
    const PlanGroup *group;
    PlanRegions regions;
    PlanWarp warp;
    uint32_t n_parts;
    Part *part;
    uint8_t n_dims, y;     /* y: the dimension of rows, down which the steps go */
    int64_t rows, columns; /* of a thread, in a step */
    /* of planes, which are the rows: rows of a plane that a thread computes, and the first of them */
    int64_t lines;
    LExprId line, first_line; /* of the thread in hand; of the tile */
    LBufferId *held;          /* by number in `warp` */
    /* of images: the rows of the next step; NULL = they are read when they are wanted */
    LBufferId *ahead;
    uint32_t n_images; /* that are held: they stand first */
    LBufferId *result; /* by number of the member */
    LExprId first[2];  /* of the tile in hand: its row and column */
    LExprId own[2];    /* points before it are those of the tile before */
    LExprId rows_of_strip, steps;
    LExprId row;          /* at which the step reads images that nothing delays */
    LExprId lane, column; /* of the thread in hand; the first column that it computes */
    bool edges;           /* the blocks are the whole image, */
    bool answers;         /* and what is lowered answers rules, */
    /* of lines and columns: planes are there, and a thread has all of its columns in the image or none */
    bool in_planes;
    Coord outer[MAX_DIMS];
} Warps;

/* An element of what is held: row, line and column are counted from the first of the thread's own in this step. Lines
 * are the rows of a plane, where the rows are planes; else there is one. */
typedef struct Cell {
    int64_t row, line, column;
} Cell;
/* Its indices in what is held. */
void tessi_warp_element(const Warps *t, const PlanHeld *h, Cell at, LExprId *index);
/* Lines that are held of it. */
int64_t tessi_warp_lines(const Warps *t, const PlanHeld *h);
/* A store, or a shift, to an element. */
LStmt *tessi_warp_put(const Warps *t, LStmtKind kind, LBufferId to, const LExprId *index,
                      LExprId a);
/* The points of the thread in this step, `delay` rows up; of planes with lines before its own and behind. */
Patch tessi_warp_patch(Warps *t, const Nest *nest, int64_t delay, const int64_t *around,
                       const TileColumns *vectors);
TileColumns tessi_warp_vectors(const Warps *t);
LExprId tessi_warp_load(const Warps *t, uint32_t number, Cell at);
void tessi_warp_store(const Warps *t, uint32_t number, Cell at, LExprId value);
/* Rows (0), columns (1) and lines (2) of the image. */
LExprId tessi_warp_size(const Warps *t, int k);

/* ---- lower_warp_images.c ---- */
/* The type of what is held of it: an image of small integers that is read as reals alone is converted when it arrives,
 * and not by each reader, here and in other threads. */
ScalarType tessi_warp_type(const Warps *t, const PlanHeld *h);
/* Takes the rows of images that the step adds, or the next one. */
void tessi_warp_take(Warps *t);
/* Takes what was read ahead. */
void tessi_warp_take_from_ahead(const Warps *t, uint32_t number);
/* Asks the second cache for a plane of an image that a later step reads. */
void tessi_warp_fetch(const Warps *t, uint32_t number);
/* ---- lower_warp_give.c ---- */
/* Stores the rows of the members in this step, where they are the tile's own. */
void tessi_warp_give(const Warps *t);
/* ---- lower_warp_frame.c ---- */
/* What blocks that lie inside compute. */
Frame tessi_warp_frame(const Warps *t);
/* Opens a grid of strips over it: own[], first[] and steps. */
void tessi_warp_open_frame(Warps *t, const Frame *frame);
/* ---- lower_warp_edges.c ---- */
/* The columns of the thread are all columns of the image. */
LExprId tessi_warp_columns_there(const Warps *t);
/* The image at this point, or what its rules answer there; its column may be known to be there. */
LExprId tessi_warp_image(const Warps *t, uint32_t number, const Coord *at, bool in_columns);
/* What threads hold of the rows of this step outside the stage becomes what its rules answer, and of rows before
 * them as well, as far as the rows of this step answer there. */
void tessi_warp_answer(const Warps *t, uint32_t number);
/* Opens a grid of strips over the whole image: own[], first[] and steps. */
void tessi_warp_open_strips(Warps *t);
/* The columns of the block, and those beside them that its warps hold, are columns of the image. */
LExprId tessi_warp_columns_inside(const Warps *t);
/* The same, and its lines. */
LExprId tessi_warp_plane_inside(const Warps *t);
/* Threads of a stack may have all of their columns in the image or none (where its size says so): what is outside is
 * then found in the thread at the edge. */
bool tessi_warp_has_whole(const Warps *t);
/* Steps from the first of these on, before the second, read and hold nothing outside the image; of planes lines and
 * columns may be. */
void tessi_warp_steps_inside(const Warps *t, LExprId *range);

#endif
