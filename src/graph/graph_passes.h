/* The passes of the simplifier. Each rewrites the bodies of all stages of `g` in place: expressions are appended,
 * those no longer needed stay behind until the graph is copied. */
#ifndef TESSERA_GRAPH_GRAPH_PASSES_H
#define TESSERA_GRAPH_GRAPH_PASSES_H

#include "graph/graph.h"
#include "graph/graph_rewrite.h"
#include "graph/graph_walk.h"

/* A copy with what the outputs need, and the inputs. */
Graph *tessi_graph_copy_live(const Graph *g, Arena *a);
/* The same, with `change` applied to every expression (as in Rewrite) and told by `enter` which stage and piece of
 * the copy it stands in; it may add stages, which come before the one at hand. */
typedef struct GraphChange {
    ExprId (*change)(Rewrite *r, ExprId id, const Expr *e);
    void (*enter)(void *user, const Graph *copy, const Stage *s, const Piece *p);
    void *user;
} GraphChange;
Graph *tessi_graph_copy(const Graph *g, Arena *a, const GraphChange *change);
/* The steps of copying: before all stages, each stage in order (r->stage then has its new number), behind them. */
void tessi_graph_copy_begin(Rewrite *r);
/* What stands before the images: parameters, scalars, how it is to be rounded. */
void tessi_graph_copy_head(const Graph *from, Graph *to);
StageId tessi_graph_copy_stage(Rewrite *r, const Stage *s, const GraphChange *change);
void tessi_graph_copy_end(Rewrite *r);
/* By stage: some output needs it. */
bool *tessi_graph_live(const Graph *g, Arena *a);
/* Marks the stages that the stage reads. */
void tessi_graph_mark_read(const Graph *g, ExprWalk *walk, StageId id, bool *read);
/* graph_repeat.c: marks what the repeat of this number needs to leave anything behind. */
void tessi_repeat_mark(const Graph *g, uint32_t number, bool *live);
/* By number of a repeat: its number in a copy with the stages that are live; 0: it is not in there. */
uint32_t *tessi_repeat_numbers(const Graph *g, const bool *live, Arena *a);
/* The repeats, when all stages of the copy are made; stages that are carried get their numbers. */
void tessi_repeats_copy(Rewrite *r, const uint32_t *number);
/* Replaces each body by what `r` makes of it. */
void tessi_rewrite_bodies(Graph *g, Rewrite *r);

/* A copy in which small images that are read across are turned first. */
Graph *tessi_graph_copy_turned(const Graph *g, Arena *a);

enum { UNROLL_TAPS = 32, LINE_TAPS = 20, UNROLL_NODES = 2048, TABLE_ELEMENTS = 4096 };
/* A sum of reals along a line, of more points than are worth writing out: as a loop the sums of several rows stay in
 * registers. */
bool tessi_is_long_line(const Graph *g, WindowId window, Reduction r, ScalarType t, uint32_t taps);
/* Which windows stay as they are. */
typedef struct MaskChoice {
    bool keeps_given; /* those over masks that come with the run */
    bool as_written;  /* all for which the program asks for no method */
} MaskChoice;
/* A copy in which windows with weights known when compiling are taken apart and written out. */
Graph *tessi_graph_copy_with_masks(const Graph *g, Arena *a, FpMode fp, MaskChoice choice);
/* It reads a mask that comes with the run, and has more points than one. */
bool tessi_is_given_window(const Graph *g, ExprWalk *walk, const Expr *window);
/* Windows of few points become chains of operators; those over masks that come with the run may be kept. */
void tessi_pass_unroll(Graph *g, bool keeps_given);
/* What depends on window variables alone, and costs arithmetic on reals, becomes a table; reductions that depend on
 * nothing, constants. */
void tessi_pass_constants(Graph *g);
/* Border rules of reads that cannot leave their image are dropped. */
void tessi_pass_inside(Graph *g);
/* Rounding: division by constants becomes multiplication, products are added in one operation. FP_STRICT: only where
 * no bit changes. */
void tessi_pass_rounding(Graph *g, FpMode fp);

#endif
