/* Passes over the graph that need its analyses. They change no bit: the graph before them is what the program means,
 * and what the graph interpreter runs; the graph after them is what is planned and lowered. */
#ifndef TESSERA_ANALYSIS_PASSES_H
#define TESSERA_ANALYSIS_PASSES_H

#include "graph/graph.h"

/* Images of so many dimensions may become pixels: matrices of points stay what they are, but not the sums of columns
 * of a picture. */
enum { MOST_FIELDS = 4, FIELDS_OF_INPUTS_FROM = 3, FIELDS_OF_RESULTS_FROM = 2 };

/* A new graph with the same results, cheaper to compute, for every target alike. `packed`: pixels of images lie one
 * behind the other, so that their last dimension may become fields. */
Graph *tessi_graph_exact_passes(const Graph *g, Arena *a, bool packed);

/* What processors compute otherwise than kernels do: a further graph, or `g` itself. */
Graph *tessi_graph_for_processors(Graph *g, Arena *a);

/* Stages that are the same are computed once. Returns `g` itself when there are none. */
Graph *tessi_graph_same_stages(Graph *g, Arena *a);
/* Reductions along a dimension of at most 16 points are written out. In place. */
void tessi_pass_short(Graph *g);
/* Images whose last dimension has a few points become images of pixels, and stages one a channel. Returns `g` itself
 * when there is none. */
Graph *tessi_graph_pixels(Graph *g, Arena *a);
/* What is computed at several places of a piece becomes a stage. Returns `g` itself when there is none. */
Graph *tessi_graph_common_windows(Graph *g, Arena *a);
/* Medians of few values become networks of minima and maxima. In place. */
void tessi_pass_median(Graph *g, Arena *scratch);
/* What reads compositions of a lattice point by point is put together on the lattice itself. In place. */
void tessi_pass_phases(Graph *g, Arena *scratch);
/* Integers are computed, and intermediate stages stored, in the narrowest type that value ranges, or the bits that
 * readers want, prove enough. In place. */
void tessi_pass_narrow(Graph *g, Arena *scratch);
/* By stage: whether it is a result, carried from turn to turn, or reduced, so that its type shows. */
bool *tessi_stages_seen(const Graph *g, Arena *a);
/* Stages that are but the values of a reduction or scan become that one. In place. */
void tessi_pass_copies(Graph *g, Arena *scratch);
/* Functions of one byte that take exponentials, powers and the like become tables; for processors, not for kernels.
 * Returns `g` itself when there is none. */
Graph *tessi_graph_bytes_in_tables(Graph *g, Arena *a);
/* Results that ask for the class of their point on a lattice, by quotients and rests of coordinates, are put together
 * on it; for processors. Returns `g` itself when there is none. */
Graph *tessi_graph_phases_asked(Graph *g, Arena *a);
/* Reals that never round and become narrow integers are computed in integers; for processors. Returns `g` itself when
 * there are none. */
Graph *tessi_graph_whole_numbers(Graph *g, Arena *a);

#endif
