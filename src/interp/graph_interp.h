/* The graph interpreter: what a program means, point by point. Every target is compared with it bit for bit, so it
 * stays simple. */
#ifndef TESSERA_INTERP_GRAPH_INTERP_H
#define TESSERA_INTERP_GRAPH_INTERP_H

#include "interp/interp.h"

/* Runs a sound graph (tessi_graph_verify) on images whose sizes fit it (tessi_graph_bind_sizes). False with one
 * sentence when memory is short, when an image does not fit, or when a promise of the graph is broken (a read said
 * to be inside is not). */
bool tessi_interpret_graph(const Graph *g, const InterpArgs *args, Failure *f);

#endif
