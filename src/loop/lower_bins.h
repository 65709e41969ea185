/* Inside lowering: points by the values of an image. */
#ifndef TESSERA_LOOP_LOWER_BINS_H
#define TESSERA_LOOP_LOWER_BINS_H

#include "loop/lower_group.h"

/* The bin of value v among n, in a scope that is there where v has one; floor(v) for reals, of which a NaN has none. */
LExprId tessi_bin_open(Lower *l, LExprId v, LExprId n);
/* A reduction by keys. */
void tessi_lower_bins(Lower *l, const PlanGroup *group);

#endif
