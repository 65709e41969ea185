/* Inside lowering: kernels of tiles. A block computes a tile of the members, after its passes (register tiles have
 * none) have computed what the tile needs of their stages into shared memory.
 *
 *   lower_tiles.c   blocks, and what they compute one after the other
 *   lower_points.c  the points of threads
 *   lower_frame.c   what blocks inside leave around them */
#ifndef TESSERA_LOOP_LOWER_TILES_H
#define TESSERA_LOOP_LOWER_TILES_H

#include "loop/lower_job.h"

/* What threads compute between two barriers: a pass, or the members. */
typedef struct Part {
    Nest nest;
    Job job;
    PlanOutputs outputs;
    uint16_t apart[2]; /* columns, rows: of a thread, from one to the next */
    PlanExtent extent;
    /* rows and columns from here on are needed by nobody; none: all are computed */
    LExprId limit[2];
} Part;

typedef struct Tiles {
    Lower *l;
    const PlanGroup *group;
    const Nest *nest; /* of a register tile; NULL: `group` has tiles and passes */
    PlanRegions regions;
    PlanExtent *extent; /* by pass */
    uint8_t n_dims, y;  /* y: the dimension of rows */
    int64_t size[2];    /* rows and columns of a tile */
    LExprId first[2];   /* of the tile in hand: its row and column */
    LExprId own[2];     /* points before it are those of the tile before; none: there are no such */
    LExprId end[2];     /* of the points that the tile computes; none: those of the image */
    Coord outer[MAX_DIMS];
} Tiles;

/* Which blocks a kernel computes. */
typedef enum Which { ALL_BLOCKS, BLOCKS_INSIDE, BLOCKS_AT_EDGES } Which;

/* ---- lower_tiles.c ---- */
Tiles tessi_tiles_new(Lower *l, const PlanGroup *group);
/* The parts of a kernel, with the places of what they have in shared memory. */
Part *tessi_tiles_parts(const Tiles *t);
/* Brings their shared memory into being. */
void tessi_tiles_declare(const Tiles *t);
void tessi_tiles_forget(const Tiles *t);
/* The points of a thread from `first` on lie inside with all they read; none: that is no question of rules, or is not
 * asked for each thread. */
LExprId tessi_tiles_patch_inside(const Tiles *t, const Part *part, const LExprId *first);
/* All parts of a tile. Where `inside` holds without rules; none: it is not asked. */
void tessi_tiles_run(const Tiles *t, Part *part, Which which, LExprId inside);
/* ---- lower_points.c ---- */
/* The points of a part: of tiles that lie inside with all they read, or anywhere, by code for `all` blocks or some. */
void tessi_points_inside(const Tiles *t, Part *part);
void tessi_points_anywhere(const Tiles *t, Part *part, bool all);
/* Some of the points from here on are needed. */
LExprId tessi_points_before_limit(Lower *l, const Part *part, const LExprId *at);

#endif
