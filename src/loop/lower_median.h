/* Inside lowering: what medians that are found bit by bit share. */
#ifndef TESSERA_LOOP_LOWER_MEDIAN_H
#define TESSERA_LOOP_LOWER_MEDIAN_H

#include "graph/graph_transform.h"
#include "loop/lower_state.h"

/* A table of the powers of two of a key's bits, the highest first. */
LBufferId tessi_median_bits(Lower *l, const char *stage, ScalarType key);
/* A table of the runs of a shape: row, first column and the one after the last, of each; none without a shape. */
LBufferId tessi_median_runs(Lower *l, const char *stage, const WideMedian *median);

#endif
