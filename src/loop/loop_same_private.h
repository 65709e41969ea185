/* Comparing pieces of a program by a one-to-one map of what they define and of the buffers they use: for loop_same.c
 * and loop_share.c. */
#ifndef TESSERA_LOOP_LOOP_SAME_PRIVATE_H
#define TESSERA_LOOP_LOOP_SAME_PRIVATE_H

#include "loop/loop_same.h"

/* What an expression of a statement is to it. */
typedef enum SameKind {
    SAME_INNER,  /* changes within the statement */
    SAME_FIXED,  /* the same wherever the statement stands: of constants and parameters */
    SAME_HANDED, /* made of variables of the surroundings, which may give it */
} SameKind;

typedef struct Same {
    const LoopProgram *p;
    Arena *scratch;
    /* Single statements are compared, not functions: they may use variables and arrays of the function around them. */
    bool parts;
    uint32_t stamp; /* of the piece, or the pair of pieces, in hand */
    /* Hashing. */
    uint64_t *hash;
    uint32_t *hash_stamp;
    uint8_t *kind; /* SameKind by LExprId, where hash_stamp says so */
    /* By LVarId, LBufferId and LExprId: the number as they come, or what it is in the other piece; where the stamp
     * is right. */
    uint32_t *var, *var_stamp, *buffer, *buffer_stamp, *expr, *expr_stamp;
    uint32_t *of_buffer, *of_buffer_stamp; /* the other way round */
    uint32_t *own_stamp;                   /* by LVarId: the second piece defines it */
    uint32_t n_vars, n_buffers;
    uint32_t n_exprs; /* of the piece that was hashed last */
    LoopTwins twins;
    LoopValues values;
    LoopShifts shifts;
    /* While differences are looked for: by LExprId of the piece that was hashed as number `hashed`, that another
     * value stands in its place in some other piece. */
    bool *differs, *all_differs;
    VEC(LExprId) differing;
    uint32_t hashed;
} Same;

/* Tables for the expressions and variables that the program has now. */
Same tessi_same_new(const LoopProgram *p, Arena *scratch, bool parts);
/* The hash of a piece: equal for pieces that are the same. */
uint64_t tessi_same_hash(Same *s, const LBlock *block);
uint64_t tessi_same_hash_statement(Same *s, const LStmt *stmt);
/* From here on pieces are the same as the statement that was hashed last also where they have other values from
 * their surroundings, of which s->differs keeps a note. */
void tessi_same_look_for_differences(Same *s);
void tessi_same_forget_differences(Same *s);
/* Whether the pieces are the same; then s->twins, values and shifts say how they differ. */
bool tessi_same_blocks(Same *s, const LBlock *x, const LBlock *y);
bool tessi_same_statements(Same *s, const LStmt *x, const LStmt *y);

#endif
