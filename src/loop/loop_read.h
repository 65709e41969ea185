/* Inside the reader of the text form: the parser's state, shared by expressions (loop_read_expr.c) and the rest
 * (loop_read.c). */
#ifndef TESSERA_LOOP_LOOP_READ_H
#define TESSERA_LOOP_LOOP_READ_H

#include "loop/loop_lex.h"

typedef enum LoopNameKind { LNAME_PARAM, LNAME_SCALAR, LNAME_BUFFER, LNAME_VAR } LoopNameKind;
typedef struct LoopName {
    const char *key;
    LoopNameKind kind;
    uint32_t id;
} LoopName;

typedef struct LoopReader {
    Arena *arena;
    LoopProgram *p;
    LoopLexer lexer;
    LoopToken token, ahead; /* the current one and the one behind it */
    VEC(LoopName) names;    /* at[0] unused */
    IdMap name_map;
    int depth;         /* of expressions or blocks */
    const char *fault; /* the first one; everything stops */
} LoopReader;

/* Records the first fault; false, so that callers can return it. */
bool tessi_loop_fault(LoopReader *r, const char *fmt, ...) TESS_PRINTF(2, 3);
void tessi_loop_advance(LoopReader *r);
bool tessi_loop_is_sign(const LoopReader *r, const char *sign);
bool tessi_loop_accept(LoopReader *r, const char *sign);
bool tessi_loop_expect(LoopReader *r, const char *sign);
/* The owner of a name, NULL when there is none. */
const LoopName *tessi_loop_find_name(const LoopReader *r, const char *key);

/* An expression of any type; none on a fault. */
LExprId tessi_loop_read_expr(LoopReader *r);
LExprId tessi_loop_read_typed(LoopReader *r, ScalarType t);
/* A call that makes a vector, or counts its lanes, of what is named before `(`; none on a fault. loop_read_lanes.c */
bool tessi_loop_is_lanes_call(const char *name);
LExprId tessi_loop_read_lanes_call(LoopReader *r, const char *name);
/* `(` up to `most` expressions `)`; their number, -1 on a fault. */
int tessi_loop_read_list(LoopReader *r, LExprId *args, int most);
/* `[` indices `]`; the number of indices, or -1 on a fault. */
int tessi_loop_read_indices(LoopReader *r, LExprId *index);
/* A constant of a stored type. */
bool tessi_loop_read_value(LoopReader *r, ScalarType t, Value *v);

#endif
