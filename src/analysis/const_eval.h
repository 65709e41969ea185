/* Expressions of constants and window variables, evaluated when compiling. */
#ifndef TESSERA_ANALYSIS_CONST_EVAL_H
#define TESSERA_ANALYSIS_CONST_EVAL_H

#include "graph/graph_walk.h"

/* One expression prepared for many evaluations. */
typedef struct ConstEval {
    const Graph *g;
    bool possible; /* it is made of constants, tables and variables of `window` only */
    WindowId window;
    uint32_t n;
    ExprId *expr;       /* operands before their users; the root is last */
    uint32_t (*arg)[3]; /* places of the operands */
    Value *value;
} ConstEval;

void tessi_const_eval_init(ConstEval *c, const Graph *g, Arena *a, ExprWalk *walk, ExprId root,
                           WindowId window);
/* False when a table is left. */
bool tessi_const_eval(ConstEval *c, const int32_t *var, Value *out);

#endif
