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

#endif
