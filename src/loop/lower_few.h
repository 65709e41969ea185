/* Inside lowering: sums of integers that are small, in narrow partial results. */
#ifndef TESSERA_LOOP_LOWER_FEW_H
#define TESSERA_LOOP_LOWER_FEW_H

#include "loop/lower_state.h"

enum { PARTIAL_BYTES = 256 }; /* several vectors of partial results do not wait for each other */

typedef struct FewSums {
    uint32_t lanes;        /* partial results of a row; 0: they are as wide as the total */
    ScalarType type, half; /* of partial results, and of what all of them come to: 32 bits */
    int64_t chunk;         /* values that a partial result holds, but for one more */
} FewSums;

/* How the sum, mean or count of integers is made in lanes that its values allow, by their range. */
FewSums tessi_few_sums(Lower *l, const Stage *reduction);
/* The same value before conversions that keep it. */
LExprId tessi_few_value(const Lower *l, LExprId v);

#endif
