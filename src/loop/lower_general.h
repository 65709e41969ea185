/* Inside lowering: sums over masks of any extent. */
#ifndef TESSERA_LOOP_LOWER_GENERAL_H
#define TESSERA_LOOP_LOWER_GENERAL_H

#include "graph/graph_transform.h"
#include "loop/lower_parts.h"

/* A sum that can be general, in a stage of two dimensions. */
typedef struct GeneralSum {
    StageId stage, mask; /* `mask`: the coefficients, an input */
    WideSum sum;
    LExprId extent[2], least[2]; /* of the mask; of the window's variables */
} GeneralSum;

/* The kernel of such a stage; its scope is left open. */
void tessi_kernel_general(Lower *l, const PlanGroup *group, const GeneralSum *sum);

#endif
