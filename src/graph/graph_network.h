/* Networks of minima and maxima that find the middle of some values, for whatever kind of expressions. */
#ifndef TESSERA_GRAPH_GRAPH_NETWORK_H
#define TESSERA_GRAPH_GRAPH_NETWORK_H

#include "graph/graph.h"

typedef struct Network {
    Arena *arena;
    uint32_t (*choose)(void *user, bool greatest, uint32_t a, uint32_t b);
    void *user;
} Network;

/* Values beside each other in a window: numbers of expressions, as `choose` takes and gives them, not 0. */
typedef struct NetworkRun {
    uint32_t n;
    uint32_t *at;
} NetworkRun;

/* The value before which `rank` others come in ascending order; there are more than that. */
uint32_t tessi_network_rank(const Network *net, const NetworkRun *run, uint32_t n_runs,
                            uint32_t rank);
/* The value before which half of all, rounded down, come in ascending order. */
uint32_t tessi_network_middle(const Network *net, const NetworkRun *run, uint32_t n_runs);
/* The minima and maxima that it takes, for runs of so many values. */
uint32_t tessi_network_size(Arena *a, const uint32_t *values, uint32_t n_runs);

#endif
