/* Pieces of a program that differ in nothing but their surroundings: functions that differ in which intermediate
 * images they read and write, the stages of a loop in the text, mostly; and statements of one function that differ
 * in the variables and arrays around them, the passes of a tile, mostly. A printer writes one of them and calls it
 * with what the others have. */
#ifndef TESSERA_LOOP_LOOP_SAME_H
#define TESSERA_LOOP_LOOP_SAME_H

#include "loop/loop.h"

typedef struct LoopTwin {
    LBufferId first, here; /* the buffer of the first such piece, and the one that stands for it */
} LoopTwin;
typedef VEC(LoopTwin) LoopTwins;

typedef struct LoopSame {
    /* by function: the first that is the same; itself, unless there is one before it */
    uint32_t *first;
    uint32_t *n_same; /* by function, of the first ones: how many are the same, itself included */
    LoopTwins *twins; /* by function, but of the first ones: their images */
} LoopSame;
LoopSame tessi_loop_same(const LoopProgram *p, Arena *a);

/* ---- Statements ------------------------------------------------------------------------------ */

typedef struct LoopValue {
    LVarId first, here; /* a variable defined outside of the statement */
} LoopValue;
typedef VEC(LoopValue) LoopValues;
/* An image of which another channel takes the place of the first one's: so many channels further on. */
typedef struct LoopShift {
    LBufferKind kind; /* INPUT or OUTPUT */
    uint32_t image;
    int64_t channels;
} LoopShift;
typedef VEC(LoopShift) LoopShifts;

/* A statement that is printed once for several. Those that it stands for, itself included, are its calls. */
typedef struct LoopPart {
    const LStmt *stmt;
    uint32_t n_calls;
    uint32_t depth, n_exprs; /* statements around it; distinct expressions in it */
    bool is_apart;    /* it is called once, and printed apart from the long function around it */
    LoopTwins arrays; /* LOCAL buffers of the surroundings that it uses */
    LoopValues values;
} LoopPart;
typedef struct LoopCall {
    const LStmt *stmt;
    uint32_t part;
    LoopTwins twins; /* LOCAL and TEMP buffers */
    LoopValues values;
    LoopShifts shifts;
} LoopCall;
typedef struct LoopParts {
    VEC(LoopPart) parts; /* also those of one call; an inner one after the one that it is in */
    VEC(LoopCall) calls; /* in the order of the function */
} LoopParts;
/* By function of a CPU: the parts of those that are the first of their kind. */
LoopParts *tessi_loop_parts(const LoopProgram *p, const LoopSame *same, Arena *a);

#endif
