/* Inside lowering: the lines of an image along one of its dimensions, which reductions and scans go along. */
#ifndef TESSERA_LOOP_LOWER_LINES_H
#define TESSERA_LOOP_LOWER_LINES_H

#include "loop/lower_kernel.h"

typedef struct Lines {
    Nest source;    /* all points */
    uint8_t dim;    /* that they go along */
    int8_t lane;    /* the dimension in which lines of a strip lie side by side; -1: one by one */
    uint16_t lanes; /* lines of a strip, at most; 0: one by one */
    LExprId wide;   /* lines of a strip but the last */
    int8_t
        middle; /* the dimension of which a strip takes `many` at once, each with all its lanes; -1: none */
    uint16_t many;
    Nest nest; /* lines or strips, one a point of all dimensions but the last */
    uint8_t
        from[MAX_DIMS]; /* by dimension of the nest: which of the source it is; strips: the lane */
} Lines;

/* Lines one by one; or, unless `beside` is 0, in strips: so many that are neighbours in memory, else a few rows. With
 * `shares` strips of neighbours are narrower, that there is a multiple of so many. */
void tessi_lines(Lower *l, const Stage *source, uint8_t dim, uint16_t beside, uint16_t shares,
                 Lines *out);
/* The same; where the last dimension has but few points, strips of `beside` take several of the one before. */
void tessi_lines_together(Lower *l, const Stage *source, uint8_t dim, uint16_t beside,
                          uint16_t shares, Lines *out);
/* How many strips there are side by side. */
LExprId tessi_lines_strips(Lower *l, const Lines *lines);
/* Opens a loop over all of them and sets the coordinates that they have in the source; strips: but for the lane. The
 * number of the strip; none: lines one by one. */
LExprId tessi_lines_open(Lower *l, const Lines *lines, bool parallel, Coord *coord);
/* The same for line or strip `number`, without a loop. */
void tessi_lines_number(Lower *l, const Lines *lines, LExprId number, Coord *coord);
LExprId tessi_lines_count(Lower *l, const Lines *lines);
/* The coordinate in the dimension of the lanes, in the middle one, or along the line. */
void tessi_lines_lane(const Lines *lines, LExprId x, Coord *coord);
void tessi_lines_middle(const Lines *lines, LExprId m, Coord *coord);
void tessi_lines_point(const Lines *lines, LExprId i, Coord *coord);
/* Stores to a stage that goes along them, at these coordinates of the source. */
void tessi_lines_store(Lower *l, const Lines *lines, StageId id, const Coord *coord, LExprId value);

#endif
