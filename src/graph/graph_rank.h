/* Windows that give the element of a rank: what rank, percentile and median choose among. */
#ifndef TESSERA_GRAPH_GRAPH_RANK_H
#define TESSERA_GRAPH_GRAPH_RANK_H

#include "graph/graph_network.h"

enum { MAX_RANKED = 49 }; /* values; more are not sorted by networks */

/* The values of the points that take part, a run for each row of the window, and which of them is meant. */
typedef struct Ranked {
    uint32_t n, n_runs, rank;
    NetworkRun run[MAX_RANKED];
    ExprId
        count; /* of a rank: the window, within its condition, that counts for each value those up to it */
} Ranked;

/* Values of a median, or of a minimum of those values up to which more than `rank` values lie. False for other windows,
 * of more values, and where a condition depends on pixels. */
bool tessi_graph_ranked(Graph *g, const Expr *window, Ranked *out);

#endif
