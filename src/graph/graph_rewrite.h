/* Rewriting expressions: rebuilding them through the constructors with some parts replaced, within one graph or into
 * another. */
#ifndef TESSERA_GRAPH_GRAPH_REWRITE_H
#define TESSERA_GRAPH_GRAPH_REWRITE_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

typedef struct Rewrite Rewrite;
struct Rewrite {
    const Graph *from;
    Graph *to;
    /* What `e` (number `id` of `from`) becomes, in `to`; usually tessi_rewrite_rebuild() and something more. NULL =
     * rebuild. */
    ExprId (*change)(Rewrite *r, ExprId id, const Expr *e);
    void *user;
    ExprMap map; /* what has been rewritten so far */
    ExprWalk walk;
    const StageId *stage; /* from != to: the new id of each stage of `from` */
};
void tessi_rewrite_init(Rewrite *r, const Graph *from, Graph *to, Arena *scratch);
/* What `root` becomes. Expressions are visited once for the life of the rewrite, arguments first. */
ExprId tessi_rewrite_expr(Rewrite *r, ExprId root);
/* `e` with its parts replaced by what they became. */
ExprId tessi_rewrite_rebuild(Rewrite *r, const Expr *e);
/* A size of `from` in `to`. */
SizeId tessi_rewrite_size(Rewrite *r, SizeId id);

/* Replaces the variables of one window by constants in many roots: the body of a window, tap after tap. Returns how
 * many expressions depend on them. */
uint32_t tessi_subst_begin(Graph *g, const ExprId *roots, uint32_t n_roots, WindowId w);
ExprId tessi_subst_at(Graph *g, ExprId root, const int32_t *value); /* root: one of `roots` */

#endif
