/* Inside lowering: windows that share a loop.
 *
 *   lower_window.c  which they are, their accumulators, and windows that are written out
 *   lower_rows.c    their loops, for one row of points or for several
 *   lower_strip.c   the same for a strip of points */
#ifndef TESSERA_LOOP_LOWER_WINDOW_H
#define TESSERA_LOOP_LOWER_WINDOW_H

#include "loop/lower_state.h"

/* What is known of the condition of a window. */
typedef enum Condition {
    COND_NONE,   /* holds everywhere */
    COND_NEVER,  /* holds nowhere */
    COND_SOME,   /* depends on window variables only and holds somewhere */
    COND_STATIC, /* does not depend on data or the point; may hold nowhere */
    COND_DATA
} Condition;

typedef struct Member {
    ExprId id;
    Condition cond;
    LVarId acc;      /* MEDIAN with a condition: number of values so far */
    LVarId seen;     /* COND_STATIC: whether it held somewhere */
    LBufferId local; /* MEDIAN: the values; in strips: the accumulators */
} Member;

typedef struct Family {
    WindowId window;
    VEC(Member) members;
} Family;

/* The window `id` and those that can share its loop now. */
Family tessi_window_family(Lower *l, Eval *ev, ExprId id);
Condition tessi_window_condition(Lower *l, const Expr *e);
/* What an accumulator starts from, and what an empty window gives. */
LExprId tessi_window_start(Lower *l, const Expr *e, Condition cond);
LExprId tessi_window_empty(Lower *l, const Expr *e);
/* Declares the accumulator of a member; what it comes to in the end. */
void tessi_window_declare(Lower *l, Member *m);
LExprId tessi_window_result(Lower *l, const Member *m);
/* The operands of one step, not placed yet: x (and y when fused), and the condition when it depends on data. */
enum { WINDOW_OPERANDS = 3 };
void tessi_window_operands(Lower *l, Eval *ev, const Member *m, LExprId *operand);
/* The accumulator after a step. */
LExprId tessi_window_step_expr(Lower *l, const Member *m, const LExprId *operand, LExprId acc);
/* Opens the loops over the window and makes its variables known to the evaluation; closes them. */
void tessi_window_open(Lower *l, Eval *ev, WindowId id);
void tessi_window_close(Lower *l, Eval *ev, WindowId id);
/* The windows that share a loop with `id`, for n evaluations of the same expressions at points above one another; they
 * have their values then. */
void tessi_window_run(Lower *l, Eval **ev, uint32_t n, ExprId id);
/* lower_select.c: a median that is found without storing its values. */
bool tessi_window_is_selected(const Lower *l, const Expr *e);
LExprId tessi_window_selected(Lower *l, Eval *ev, ExprId id);
/* The condition that a member's steps stand under as an IF; none = 0. */
ExprId tessi_window_if(const Lower *l, const Member *m);
/* Steps through the different conditions of a family, from *i = 0 on. */
bool tessi_window_next_if(const Lower *l, const Family *f, uint32_t *i, ExprId *where);
void tessi_lower_set(Lower *l, LVarId var, LExprId value);
LExprId tessi_lower_bool(Lower *l, bool b);

#endif
