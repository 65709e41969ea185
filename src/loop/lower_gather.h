/* Part of an image in scratch memory, with all that lies outside answered by the border rules of a read. */
#ifndef TESSERA_LOOP_LOWER_GATHER_H
#define TESSERA_LOOP_LOWER_GATHER_H

#include "loop/lower_state.h"

/* The read of a window at the distance of its two variables, in two dimensions. */
typedef struct Gather {
    Lower *l;
    const Access *read;
    ScalarType type;  /* values are cast to */
    bool ordered;     /* instead of reals, their places in order are copied */
    LExprId first[2]; /* the coordinates of the first element */
    LExprId size[2];  /* of what is read */
    LExprId outside;  /* what lies outside, of rule CONSTANT; none = no such rule */
} Gather;
Gather tessi_gather_new(Lower *l, const Access *read, ScalarType type);
/* Has the first element be that of the first point of the window at a point of the stage. */
void tessi_gather_at(Gather *g, WindowId window, LExprId y, LExprId x);
/* Row `k` from the first, answered by the rule; some row inside for CONSTANT. */
LExprId tessi_gather_row(const Gather *g, LExprId k);
/* What is read at coordinates inside. */
LExprId tessi_gather_value(const Gather *g, LExprId row, LExprId col);
/* The element in row k and column x from the first, answered by both rules. */
LExprId tessi_gather_answered(const Gather *g, LExprId k, LExprId x);
/* Rows [from, from + rows) from the first into rows 0, 1, .. of a buffer, as many columns. */
void tessi_gather_rows(const Gather *g, LBufferId to, int64_t from, LExprId rows, LExprId columns);

/* The points [x, x_end) of row y of the only stage of a group: its body, where the window's values are those of row
 * `row` of a buffer. */
void tessi_give_row(Lower *l, const PlanGroup *group, ExprId window, LBufferId values, LExprId row,
                    LExprId y, LExprId x, LExprId x_end);
/* One of them, where the window's value is known. */
void tessi_give_point(Lower *l, const PlanGroup *group, ExprId window, LExprId value, LExprId y,
                      LExprId x);

#endif
