/* access: the algebra of reads. What one read reaches, seen from the point that reads: every question about
 * distances, windows and whether a read moves is answered here, for analyses, planner, verifier and lowering alike.
 *
 * A read *follows* dimension d where its index is the point's own coordinate x[d], a constant and terms of window
 * variables. Its *distance* is what is added to x[d]; its *reach* is the interval of all distances while the
 * variables run. */
#ifndef TESSERA_GRAPH_ACCESS_H
#define TESSERA_GRAPH_ACCESS_H

#include "graph/graph.h"

/* The index is x[d] + a size + terms of window variables. */
bool tessi_access_follows(const AccessDim *dim, int d);

/* What the window terms of an index add at least and at most; false on overflow. Without terms 0 and 0. */
bool tessi_access_span(const Graph *g, const AccessDim *dim, int64_t *lo, int64_t *hi);

/* The least and the greatest distance from x[d]; false where the read does not follow d, or not at a constant. */
bool tessi_access_reach(const Graph *g, const AccessDim *dim, int d, int64_t *lo, int64_t *hi);

/* The one distance of a read that no window moves; false where there is none. */
bool tessi_access_distance(const Graph *g, const AccessDim *dim, int d, int64_t *distance);

/* The distances in all dimensions with the variables of a window at `point` (NULL: none is read); false where there
 * are none. The terms must be of one window. */
bool tessi_access_distances(const Graph *g, const Access *a, const int32_t *point,
                            int64_t distance[MAX_DIMS]);

/* Reads its producer at the very point, in all dimensions. */
bool tessi_access_is_at_point(const Graph *g, const Access *a);

/* Some index that is not computed depends on the point. */
bool tessi_access_moves(const Access *a);

/* No index depends on the point, and none is computed: all points read the same place, give or take a window: a
 * mask, a table. */
bool tessi_access_is_fixed(const Access *a);

/* It moves, no index is computed, and no window moves it. */
bool tessi_access_moves_by_point_only(const Access *a);

/* The point and the variables of some window move it along some dimension, whose index is not computed; so not the
 * weights of a window. */
bool tessi_access_moves_by_window(const Access *a);

/* ---- Ranges ---------------------------------------------------------------------------------- */
/* Where something is read along one of its dimensions, seen from a point x: scale * x[src] + base + [lo, hi]. */
typedef struct AccessRange {
    bool dynamic;  /* computed indices, or reads that no single form covers: anywhere */
    int8_t src;    /* -1: the index does not depend on the point */
    int32_t scale; /* 0 where src is -1 */
    SizeId base;   /* what is added and depends on sizes; none = 0 */
    int64_t lo, hi;
} AccessRange;

/* The range of one dimension of a read while windows run. */
AccessRange tessi_access_range(const Graph *g, const AccessDim *dim);
/* The range of the point itself in dimension d. */
AccessRange tessi_range_of_point(uint8_t d);
/* Widens `a` to cover `b`. */
void tessi_range_join(AccessRange *a, const AccessRange *b);
/* The range of a read by points that are themselves read at reader[], which has an entry for each dimension of the
 * reader. */
AccessRange tessi_range_compose(const AccessRange *reader, const AccessRange *read);
/* It is x[d] + [lo, hi]. */
bool tessi_range_follows(const AccessRange *r, int d);

/* ---- Rules ----------------------------------------------------------------------------------- */
/* By which rules several reads of one producer are answered beyond its edges. */
typedef struct AccessRules {
    Border rule[MAX_DIMS]; /* INSIDE: no read needs one there */
    ExprId outside;        /* the value outside; none where no rule is CONSTANT */
    bool mixed;            /* two reads are answered differently */
} AccessRules;
AccessRules tessi_rules_none(void);
/* Takes in those of a read; computed indices are left out. */
void tessi_rules_join(AccessRules *rules, const Access *a);
/* The read is answered by these rules, or by none where they have one. */
bool tessi_rules_answer(const AccessRules *rules, const Access *a);

#endif
