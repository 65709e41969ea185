/* Inside lowering: graph expressions to loop expressions, at given points.
 *
 *   lower_expr.c    expressions, and stages computed at their uses
 *   lower_read.c    reads: which points are inside, border rules as arithmetic
 *   lower_window.c  windows to loops with accumulators
 *   lower_select.c  medians whose values are not stored
 *   lower_rows.c    windows for several rows at once */
#ifndef TESSERA_LOOP_LOWER_EVAL_H
#define TESSERA_LOOP_LOWER_EVAL_H

#include "loop/lower_state.h"

/* ---- lower_expr.c ---- */
/* Everything the roots need, ascending; to be read only. */
ExprList tessi_reach(Lower *l, const ExprId *roots, uint32_t n);
/* An evaluation of `roots` with coordinates still to be set. */
Eval *tessi_eval_new(Lower *l, const ExprId *roots, uint32_t n, uint8_t n_dims);
LExprId tessi_eval_expr(Lower *l, Eval *ev, ExprId root);
/* A step of a scan, or of a reduction of its own, with the values of its states. */
LExprId tessi_eval_step(Lower *l, ExprId body, const LExprId *state);
/* The value of stage `s` at coordinates known to be inside it. */
LExprId tessi_eval_stage(Lower *l, StageId s, const Coord *at, bool pinned);
/* Where scratch memory holds the points whose coordinate in dimension `d` is `at`. */
LExprId tessi_place_index(Lower *l, const Place *place, int d, LExprId at);
/* The inlined stage has this value there, as far as the innermost scope reaches. */
void tessi_eval_is(Lower *l, StageId s, const Coord *at, LExprId value);
/* "input_m1_p1": the wanted name of a value of the stage; none for reads that are not at a constant distance. */
const char *tessi_eval_name(Lower *l, StageId s, const Coord *at);
/* The place of the value of an expression that the evaluation reaches. */
uint32_t *tessi_eval_cell(const Eval *ev, ExprId id);
/* Records a value; forgotten with the innermost scope. */
void tessi_eval_set(Lower *l, Eval *ev, ExprId id, LExprId value);

/* ---- lower_window.c, lower_rows.c ---- */
void tessi_eval_window(Lower *l, Eval *ev, ExprId id);
/* The windows that `roots` need, of n evaluations of the same expressions at points above one another. */
void tessi_eval_rows(Lower *l, Eval **ev, uint32_t n, const ExprId *roots, uint32_t n_roots);

/* ---- lower_read.c ---- */
/* What the reads of one evaluation come to. */
typedef struct Read {
    Coord at[MAX_DIMS]; /* inside the producer */
    LExprId in;   /* BOOL: the point read is inside; none when that is certain or does not matter */
    bool guarded; /* inside only because of a guard */
} Read;
void tessi_read(Lower *l, const Eval *ev, const Access *access, Read *out);
/* Index i of a line of n points answered by the rule; for CONSTANT some point inside, for INSIDE the nearest. */
LExprId tessi_border_expr(Lower *l, Border rule, LExprId i, LExprId n);
/* from <= i < end; and both conditions, of which the first may be none. */
LExprId tessi_in_range(Lower *l, LExprId i, LExprId from, LExprId end);
LExprId tessi_and_also(Lower *l, LExprId a, LExprId b);
/* What is read is evaluated where the read points to, beyond its edges too; `beyond`: the reader is. */
bool tessi_read_goes_beyond(const Lower *l, const Access *access, int d, bool beyond);
/* The index of a read, as if there were no border. */
LExprId tessi_read_affine(Lower *l, const Eval *ev, const AccessDim *d);
/* The guards under which the bodies need no rules. */
void tessi_read_guards(Lower *l, const ExprId *roots, uint32_t n, const Coord *coord,
                       GuardList *out);
/* Cuts the loop range [*from, *to) down to where all guards of `dim` hold; it never becomes reversed. */
void tessi_guard_range(Lower *l, const GuardList *guards, int8_t dim, LExprId *from, LExprId *to);

#endif
