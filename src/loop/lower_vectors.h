/* Inside lowering: values of neighbours in a row, loaded and stored together.
 *
 *   lower_vectors.c  as vectors
 *   lower_words.c    as words of 32 bits
 *   lower_runs.c     minima and maxima of windows beside each other
 *   lower_pack.c     integers of 16 bits two in a word, in register tiles */
#ifndef TESSERA_LOOP_LOWER_VECTORS_H
#define TESSERA_LOOP_LOWER_VECTORS_H

#include "loop/lower_state.h"

/* The columns that a thread computes, for moves in vectors: in images `x` and in shared memory `shared_x` are
 * multiples of so many elements. */
typedef struct TileColumns {
    LExprId x, shared_x;
    LExprId
        y; /* the first row of the thread, a multiple of `rows`, where images are also read along columns; none */
    uint32_t aligned, shared_aligned, rows;
    int64_t from, to;    /* vectors of images are looked for at x + c, from <= c < to */
    int64_t shared_last; /* the greatest value of shared_x */
} TileColumns;

/* ---- lower_vectors.c ---- */
/* Replaces loads of neighbours in the reach of the roots by moves of whole vectors into lines. */
void tessi_tile_takes(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns);
/* Values of so many consecutive elements, at index[] of the first on, `stride` cells from one to the next. */
typedef struct TileRow {
    LBufferId to;
    const LExprId *index, *value;
    uint8_t n_index;
    uint32_t stride, columns;
} TileRow;
/* Stores that of column c. Those of a vector are put into *line until they are all there: columns in order, the same
 * *line. */
void tessi_tile_give(Lower *l, const TileRow *row, uint32_t c, LBufferId *line);
/* Stores value[0..columns-1] to consecutive elements from index on, in vectors where that can be. */
void tessi_tile_gives(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *value, uint32_t stride, uint32_t columns);
/* The pixels of the image that `to` is a channel of can be stored whole, channels side by side. */
bool tessi_pixels_hold(const Lower *l, LBufferId to, uint32_t columns);
/* By number of a stage that is stored: of the first channel of pixels that can be stored whole the numbers of all of
 * them; in_pixel[] of each of these becomes true, and those of which it is true before are left alone. */
void tessi_pixels_find(Lower *l, const StageId *stage, uint32_t n, uint32_t columns,
                       uint32_t **pixels, bool *in_pixel);
/* Stores them; row->value[cell[c]] is channel c of the first. */
void tessi_pixels_give(Lower *l, const TileRow *row, const uint32_t *cell);
/* A line of n elements of this type, filled with those of a row from `first` on, counted from x, channels of pixels
 * one by one; `load` is some load of the row. The line is named after it and `kind`. */
LBufferId tessi_line_of_row(Lower *l, LExprId load, LExprId x, int64_t first, const char *kind,
                            ScalarType t, uint32_t n);
/* Elements of a row that move at once; 1 when none do. */
uint32_t tessi_vector_elements(const Lower *l, LBufferId id, uint32_t columns);
/* index = x + c with from <= c < to. */
bool tessi_column_of(const Lower *l, LExprId index, LExprId x, int64_t from, int64_t to,
                     int64_t *c);
/* Two loads of a buffer have the same indices but for the last. */
bool tessi_same_row(const Lower *l, LExprId a, LExprId b);
/* Brings a line of n elements into being. */
LBufferId tessi_new_line(Lower *l, const char *name, ScalarType t, uint32_t n);
/* ---- lower_runs.c ---- */
/* Has minima and maxima of windows one step apart among these values computed from what they have in common. */
void tessi_share_runs(Lower *l, LExprId *value, uint32_t n);
/* ---- lower_pack.c, lower_words.c ---- */
/* The values of a register tile, n of them at each point, `stride` cells from point to point of a row and rows one
 * after the other. Integers are computed two in a word. Where bytes[i] is not 0, elements of so many bytes are
 * wanted as words: they then stand in the cells of the first points of each row. */
typedef struct PackTile {
    LExprId *value;
    uint32_t n, stride, rows, columns;
    const uint8_t *bytes;
    const TileColumns *at;
} PackTile;
void tessi_pack_tile(Lower *l, const PackTile *t);
/* So many consecutive elements of the buffer can be stored as words. */
bool tessi_words_hold(const Lower *l, LBufferId to, uint32_t columns);
/* Stores them, words standing `stride` cells apart. */
void tessi_words_give(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *word, uint32_t stride, uint32_t columns);

#endif
