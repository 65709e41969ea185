/* Folding: what the constructors do to an operator before it is interned; and small facts about types that go with
 * it. */
#ifndef TESSERA_GRAPH_GRAPH_FOLD_H
#define TESSERA_GRAPH_GRAPH_FOLD_H

#include "graph/graph.h"

/* A simpler expression with the same bits for every argument, or none. `e` is well typed and not interned yet. */
ExprId tessi_fold_op(Graph *g, const Expr *e);

/* Number and types of the arguments of an EXPR_OP are as the operator wants them. */
bool tessi_op_well_typed(const Graph *g, const Expr *e);
/* What a window without points gives: 0 or 1, and of MIN and MAX the end of the type that any other value replaces. */
Value tessi_reduction_identity(Reduction r, ScalarType t);
/* What reductions of whole images, along dimensions, and scans accumulate in: double for sums of reals, int64 for sums
 * of integers and counts, the type of the image for extrema. */
ScalarType tessi_accumulator_type(Reduction r, ScalarType source);
/* The type in which a scan by a reduction runs: sums of integers that are stored narrow wrap there as well. */
ScalarType tessi_running_type(const Stage *s, ScalarType source);
/* Reductions by keys go through the first dimension in so many parts, each in order, which are combined in order; in
 * one where there are more bins than that. */
enum { BIN_PARTS = 128, MAX_PARTED_BINS = 4096 };
/* Running values of a reduction are computed in blocks of so many points, which start from a value that leaves every
 * first one as it is (docs/internals/reductions.md). */
enum { SCAN_BLOCK = 64 };
Value tessi_scan_start(Reduction r, ScalarType acc);

#endif
