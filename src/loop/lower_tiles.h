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
    int64_t ahead,
        above; /* with rings of planes: of the members', and planes above theirs that are needed */
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
    LExprId planes[2]; /* with rings of planes: those of the block; none without */
    LExprId plane;     /* the members' in this step */
    bool holds; /* threads hold planes of their own points, instead of rings in shared memory */
    LExprId own_point[2]; /* then, of the thread in hand: its first row and column */
    LBufferId *result; /* by member: what such threads compute of it where points are not there */
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
/* ---- lower_planes.c: planes that threads hold ---- */
/* Declares what they hold of each stage of the passes. */
void tessi_planes_find(const Tiles *t);
void tessi_planes_declare(const Tiles *t);
/* Opens the threads, for all steps: own_point[]. */
void tessi_planes_open_threads(Tiles *t);
/* The plane of the images that pass number i computes in this step: the one that answers where it lies outside. */
void tessi_planes_open_pass(Tiles *t, const Part *part, uint32_t i);
/* What lies outside where a constant answers. */
void tessi_planes_fill(const Tiles *t, Part *part, uint32_t i);
/* The members, and where they read in this step; those before the block's first plane are computed by nobody. */
void tessi_planes_open_members(Tiles *t);
/* Has the second cache fetch what later steps read. */
void tessi_planes_fetch(const Tiles *t);
/* Planes move on by one. */
void tessi_planes_move(const Tiles *t);
/* ---- lower_points.c ---- */
/* The points of a part: of tiles that lie inside with all they read, or anywhere. */
void tessi_points_inside(const Tiles *t, Part *part);
void tessi_points_anywhere(const Tiles *t, Part *part);
/* Some of the points from here on are needed. */
LExprId tessi_points_before_limit(Lower *l, const Part *part, const LExprId *at);

#endif
