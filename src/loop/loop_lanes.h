/* Vectors in the loop language: their constructors, and what holds of all of them. Values of a loop have as many
 * lanes as one vector holds of the widest of them, and all the same number; how many that are the C compiler
 * decides, which knows the processor. */
#ifndef TESSERA_LOOP_LOOP_LANES_H
#define TESSERA_LOOP_LOOP_LANES_H

#include "loop/loop.h"

enum { LOOP_LEAST_VECTOR = 16, LOOP_MOST_VECTOR = 64 }; /* bytes */
enum {
    LOOP_MOST_JOINED = 4
}; /* elements of a pixel, or points, that vectors are put together to */
enum { LOOP_MOST_APART = 64 }; /* elements, from lane to lane (LLOAD_APART) */
LExprId tessi_lexpr_lanes(LoopProgram *p, uint8_t lanes);
LExprId tessi_lexpr_vectors(LoopProgram *p, uint8_t lanes, int64_t values);
LExprId tessi_lexpr_splat(LoopProgram *p, uint8_t lanes, LExprId a);
LExprId tessi_lexpr_ramp(LoopProgram *p, uint8_t lanes, ScalarType t, LExprId from);
/* The elements from the place on that `load` names; how: 0 or an LLOAD. */
LExprId tessi_lexpr_load_lanes(LoopProgram *p, uint8_t lanes, uint32_t how, LBufferId b,
                               const LExprId *index);
LExprId tessi_lexpr_at(LoopProgram *p, LExprId row, int64_t offset);
LExprId tessi_lexpr_both(LoopProgram *p, LExprId first, LExprId second);
LExprId tessi_lexpr_pairs(LoopProgram *p, LExprId evens, LExprId odds);
LExprId tessi_lexpr_low_byte(LoopProgram *p, LExprId a);
/* Elements of neighbouring points are neighbours in memory, and have a type that vectors have. */
bool tessi_loop_is_dense(const LoopProgram *p, LBufferId b);
/* Elements of pixels, or of points of a lattice, that a vector is stored to, one of each: by shuffles. */
bool tessi_loop_can_be_spread(const LoopProgram *p, LBufferId b, uint8_t lanes);
/* How many points of a row the elements of the lanes that a statement stores lie apart. */
static inline int64_t tessi_store_apart(const LStmt *s)
{
    return s->flags & LSTORE_APART ? s->step : 1;
}
/* Both statements store elements of the same pixels of an output, or of the same so many points of a row: what lies
 * between the lanes of one belongs to the other. */
bool tessi_loop_same_pixels(const LoopProgram *p, const LStmt *a, const LStmt *b, int64_t apart);
/* How many elements those are, where vectors of each can be put together: of pixels, of points of one element, or of
 * pairs of pixels. 0: they cannot. */
uint32_t tessi_loop_joined(const LoopProgram *p, LBufferId b, int64_t apart);
/* Which element of them the statement stores. */
uint32_t tessi_loop_element(const LoopProgram *p, const LStmt *store, int64_t apart);
/* Elements that LEXPR_BOTH loads two of: side by side, as values, and two in no more than 8 bytes. */
bool tessi_loop_can_be_both(const LoopProgram *p, LBufferId b, uint8_t lanes);
/* Elements that LLOAD_NEAR loads: side by side, as values, in lanes of 32 bits. */
bool tessi_loop_can_be_near(const LoopProgram *p, LBufferId b, uint8_t lanes);
/* Of each lane an element of its own. */
static inline bool tessi_load_each(const LExpr *load)
{
    return load->ref == LLOAD_EACH || load->ref == LLOAD_NEAR;
}
/* How many elements those of the lanes lie apart (LLOAD_APART); backwards: less than 0; 0 = another load. */
static inline int32_t tessi_load_apart(const LExpr *load)
{
    return (int32_t)load->ref >> LLOAD_BITS;
}
/* Elements that LLOAD_APART loads: values in pixels that have one type. */
bool tessi_loop_can_be_apart(const LoopProgram *p, LBufferId b, uint8_t lanes);
/* The lanes of a vector when vectors have the most bytes that they may. */
int64_t tessi_loop_lane_count(const LoopProgram *p, uint8_t lanes);
/* The constant elements along a dimension of a LOCAL buffer, or scalars that vectors have lanes for; 0: not
 * constant. */
int64_t tessi_loop_local_size(const LoopProgram *p, LExprId size);

#endif
