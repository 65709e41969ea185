/* Walking expressions: what an expression consists of, in which order, and which windows it stands in. */
#ifndef TESSERA_GRAPH_GRAPH_WALK_H
#define TESSERA_GRAPH_GRAPH_WALK_H

#include "graph/graph.h"

enum { MAX_EXPR_CHILDREN = 3 + MAX_DIMS + 1 };

/* The expressions that `e` needs: its arguments, and for a LOAD the computed indices and the outside value. Returns
 * how many; all ids are smaller than that of `e`. */
uint32_t tessi_expr_children(const Graph *g, const Expr *e, ExprId out[MAX_EXPR_CHILDREN]);

typedef VEC(ExprId) ExprList;

/* Lists every expression that one of `roots` needs, each once, in order of ids: what an expression needs stands
 * before it. The list is good until the next call; a walk is used again and again, so that many small walks in a
 * large graph stay cheap. */
typedef struct ExprWalk {
    Arena *arena;
    ExprList list;
    uint32_t *stamp; /* stamp[id] == epoch: seen */
    uint32_t cap, epoch;
} ExprWalk;
const ExprList *tessi_expr_walk(ExprWalk *w, const Graph *g, const ExprId *roots, uint32_t n_roots);

/* A map from expression to expression that is emptied in no time. */
typedef struct ExprMap {
    Arena *arena;
    ExprId *to;
    uint32_t *stamp;
    uint32_t cap, epoch;
} ExprMap;
void tessi_expr_map_clear(ExprMap *m);
void tessi_expr_map_set(ExprMap *m, ExprId from, ExprId to);
ExprId tessi_expr_map_get(const ExprMap *m, ExprId from); /* none when not set */

/* What the value of an expression depends on, besides the input scalars. */
typedef struct ExprDeps {
    /* the window of this level whose variables stand free in it; none = 0 */
    WindowId window[MAX_WINDOW_LEVELS];
    bool data;  /* images or input scalars */
    bool point; /* the point: index(d), or a read at it */
    /* variables of two windows of one level stand free: no nest of windows can hold it */
    bool clash;
    int8_t level; /* of the innermost free window; -1 = none */
} ExprDeps;
/* Of every expression of the graph, indexed by id. */
ExprDeps *tessi_expr_deps(const Graph *g, Arena *a);
/* Whether an expression (with dependencies d) is computed once for each point of the WINDOW expression `window_expr`
 * (of which `window` is the dependencies), rather than outside of it or in a window further inside. window_expr
 * NULL: outside of all windows. */
bool tessi_expr_belongs(const Graph *g, const ExprDeps *d, const Expr *window_expr,
                        const ExprDeps *window);

/* Number of points of a window; -1 when it overflows 32 bits. */
int64_t tessi_window_points(const Window *w);
/* Steps `value` to the next point, row-major; false after the last. */
bool tessi_window_step(const Window *w, int32_t *value);

#endif
