/* Inside the reader of the text form: the parser's state, shared by expressions (loop_read_expr.c), templates
 * (loop_template.c) and the rest (loop_read.c). */
#ifndef TESSERA_LOOP_LOOP_READ_H
#define TESSERA_LOOP_LOOP_READ_H

#include "loop/loop_lex.h"

typedef enum LoopNameKind {
    LNAME_PARAM,
    LNAME_SCALAR,
    LNAME_BUFFER,
    LNAME_VAR,
    LNAME_EXPR, /* of templates: an expression; */
    LNAME_HOLE, /* a function that makes one; */
    LNAME_PART  /* a function that makes statements */
} LoopNameKind;
typedef struct LoopName {
    const char *key;
    LoopNameKind kind;
    uint32_t id; /* of templates' functions: which of the arguments */
} LoopName;

typedef struct LoopTemplate LoopTemplate; /* loop_template.h */

typedef struct LoopReader {
    Arena *arena;
    LoopProgram *p;
    LoopLexer lexer;
    LoopToken token, ahead; /* the current one and the one behind it */
    VEC(LoopName) names;    /* at[0] unused */
    IdMap name_map;
    int depth;         /* of expressions or blocks */
    const char *fault; /* the first one; everything stops */
    LoopTemplate *of;  /* NULL: a whole program is read */
} LoopReader;

/* Records the first fault; false, so that callers can return it. */
bool tessi_loop_fault(LoopReader *r, const char *fmt, ...) TESS_PRINTF(2, 3);
void tessi_loop_advance(LoopReader *r);
bool tessi_loop_is_sign(const LoopReader *r, const char *sign);
bool tessi_loop_accept(LoopReader *r, const char *sign);
bool tessi_loop_expect(LoopReader *r, const char *sign);
bool tessi_loop_accept_word(LoopReader *r, const char *word);
bool tessi_loop_expect_name(LoopReader *r, LoopToken *t);
/* Gives a name its owner; one name has one, and in a template the latest. */
bool tessi_loop_declare(LoopReader *r, const LoopToken *t, LoopNameKind kind, uint32_t id);
bool tessi_loop_read_type(LoopReader *r, ScalarType *type);
/* A statement, appended to the block; where a template goes, in one. */
bool tessi_loop_read_stmt(LoopReader *r, LBlock *block);
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
/* The same for the sizes of a buffer. */
bool tessi_loop_read_sizes(LoopReader *r, LExprId *size, uint8_t *n);
/* A number from 0 on; the name of a buffer. */
bool tessi_loop_read_natural(LoopReader *r, uint32_t *n);
bool tessi_loop_read_buffer(LoopReader *r, LBufferId *b);
/* loop_read_repeat.c: what stands behind `repeat`; where a function stands in a repeat, if in one. */
bool tessi_loop_read_repeat(LoopReader *r);
bool tessi_loop_read_place(LoopReader *r, LPlace *place);
/* A constant of a stored type. */
bool tessi_loop_read_value(LoopReader *r, ScalarType t, Value *v);

#endif
