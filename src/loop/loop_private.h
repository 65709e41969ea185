/* Shared by the files of the loop language, for nobody else. */
#ifndef TESSERA_LOOP_LOOP_PRIVATE_H
#define TESSERA_LOOP_LOOP_PRIVATE_H

#include "loop/loop_lanes.h"

/* ---- loop_build.c, loop_index.c ---- */
/* The node itself, nothing simplified. */
LExprId tessi_lexpr_raw_op(LoopProgram *p, Op op, ScalarType type, const LExprId *args);
/* The expression, which exists once. */
LExprId tessi_lexpr_intern(LoopProgram *p, const LExpr *e);
/* e, which has arguments, with others in their place. */
LExprId tessi_lexpr_with_args(LoopProgram *p, const LExpr *e, const LExprId *arg);
/* The simplest form of `a op b` on INDEX (op not SELECT), or none when it is the node itself. Idempotent: the node
 * returned, built again from its arguments, is itself. */
LExprId tessi_lexpr_index_op(LoopProgram *p, Op op, LExprId a, LExprId b);

/* ---- loop_build.c ---- */
/* All channels are of one type and fill the pixel, and a row has a size from which that in elements can be told. */
bool tessi_loop_can_be_flat(const LoopProgram *p, const LImage *image);
/* As many elements as the rows of an image have with all channels side by side. */
bool tessi_loop_is_flat_size(const LoopProgram *p, const LImage *image, LExprId size);

/* ---- loop_types.c ---- */
/* Whether the operator takes arguments of these types (one for each argument). */
bool tessi_loop_op_fits(Op op, const ScalarType *types);

/* ---- The text form: loop_print.c, loop_read.c ---- */
typedef struct LoopForm { /* loop_forms.def */
    LStmtKind kind;
    uint8_t flags;
    const char *word, *rest; /* NULL: written by hand */
} LoopForm;
/* The end of the table has no word. */
const LoopForm *tessi_loop_forms(void);
/* Words that stand for values and so are never names. */
bool tessi_loop_is_reserved(const char *name, size_t n);

/* ---- loop_lanes.c ---- */
/* "v8" to "v64"; NULL when lanes cannot have so many bytes. */
const char *tessi_loop_lanes_name(uint8_t lanes);
/* The bytes of lanes of this name, 0 when it is none. */
uint8_t tessi_loop_lanes_by_name(const char *name);

/* ---- loop_verify_lanes.c ---- */
/* A row, loaded or by name. */
bool tessi_loop_is_row(const LoopProgram *p, LExprId id);
/* NULL when the node, which is sound but for that, keeps the rules of vectors. */
const char *tessi_loop_lanes_fault(const LoopProgram *p, const LExpr *e);

/* ---- loop_kernel.c ---- */
/* NULL when the function keeps the rules of kernels (or is none and has no loops of theirs), else one sentence. */
const char *tessi_loop_verify_kernel(const LoopProgram *p, const LFunction *f);

#endif
