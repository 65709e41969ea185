/* What passes over loops have in common: short forms of values and statements, and walks. */
#ifndef TESSERA_LOOP_PASS_H
#define TESSERA_LOOP_PASS_H

#include "loop/loop_private.h"

/* ---- Values ---- */
LExprId tessi_pass_op(LoopProgram *p, Op op, LExprId a, LExprId b);
LExprId tessi_pass_plus(LoopProgram *p, LExprId a, int64_t i);
/* An index without the constant that stands behind it, which is 0 where there is none. */
LExprId tessi_pass_without_constant(const LoopProgram *p, LExprId index, int64_t *constant);
/* A value with what `of` makes of its arguments; itself where these stay. */
typedef LExprId PassChange(void *user, LExprId id);
LExprId tessi_pass_changed(LoopProgram *p, LExprId id, PassChange *of, void *user);

/* ---- Statements, appended to a block ---- */
/* A name for a value. */
LExprId tessi_pass_let(LoopProgram *p, LBlock *out, const char *name, LExprId value);
LStmt *tessi_pass_for(LoopProgram *p, LBlock *out, LVarId var, LExprId from, LExprId to);
/* One like s, without its blocks. */
LStmt *tessi_pass_like(LoopProgram *p, LBlock *out, const LStmt *s);
/* A loop of n turns, whose number is *var. */
LStmt *tessi_pass_each(LoopProgram *p, const char *name, LExprId n, uint8_t flags, LBlock *to,
                       LExprId *var);
/* b[i, j] = value */
void tessi_pass_store(LoopProgram *p, LBufferId b, LExprId i, LExprId j, LExprId value, LBlock *to);

/* ---- Walks ---- */
/* Where a walk is: the blocks that are open. The verifier refuses programs that have more of them. */
enum { PASS_MOST_OPEN = 2 * LOOP_MAX_NESTING + 2 };
typedef struct PassWalk {
    struct {
        const LBlock *block;
        uint32_t next;
    } open[PASS_MOST_OPEN];
    int n;
} PassWalk;
PassWalk tessi_pass_walk(const LBlock *block);
LStmt *tessi_pass_next(PassWalk *w);
/* Each statement of a block and of the blocks inside it, those around others first. */
#define PASS_FOREACH(s, block)                                                                   \
    for (PassWalk walk_##s = tessi_pass_walk(block), *at_##s = &walk_##s; at_##s; at_##s = NULL) \
        for (LStmt *s = tessi_pass_next(at_##s); s; s = tessi_pass_next(at_##s))
/* Where a walk over the parts of values is: its values, and from one of them down to the part in hand. The verifier
 * refuses programs whose values are deeper. */
enum { PASS_MOST_ROOTS = LOOP_MAX_DIMS + 2, PASS_MOST_DEPTH = LOOP_MAX_EXPR_DEPTH + 1 };
typedef struct PassParts {
    const LoopProgram *p;
    uint32_t *met, stamp; /* by LExprId: the walk that came to it; NULL: shared parts come again */
    uint32_t n_roots, next_root, depth;
    LExprId root[PASS_MOST_ROOTS], at[PASS_MOST_DEPTH];
    uint8_t next[PASS_MOST_DEPTH]; /* argument of each of these */
} PassParts;
PassParts *tessi_pass_parts(PassParts *w, const LoopProgram *p, uint32_t *met, uint32_t stamp,
                            LExprId id);
PassParts *tessi_pass_stmt_parts(PassParts *w, const LoopProgram *p, uint32_t *met, uint32_t stamp,
                                 const LStmt *s);
const LExpr *tessi_pass_next_part(PassParts *w);
/* A value, if there is one, and all that it is made of, what is around others first. */
#define PASS_PARTS(e, p, met, stamp, id)                                                       \
    for (PassParts walk_##e, *in_##e = tessi_pass_parts(&walk_##e, p, met, stamp, id); in_##e; \
         in_##e = NULL)                                                                        \
        for (const LExpr *e = tessi_pass_next_part(in_##e); e; e = tessi_pass_next_part(in_##e))
/* The same of all values of a statement. */
#define PASS_STMT_PARTS(e, p, met, stamp, s)                                                       \
    for (PassParts walk_##e, *in_##e = tessi_pass_stmt_parts(&walk_##e, p, met, stamp, s); in_##e; \
         in_##e = NULL)                                                                            \
        for (const LExpr *e = tessi_pass_next_part(in_##e); e; e = tessi_pass_next_part(in_##e))
/* It has few parts, and is the same wherever it stands: it needs no name. */
bool tessi_pass_is_short(const LoopProgram *p, LExprId id);
/* The statement that defines each variable, by LVarId: the last one, where there are several. */
void tessi_pass_definitions(const LBlock *block, const LStmt **definition);
/* Some value of the block loads from the buffer. */
bool tessi_pass_loads(const LoopProgram *p, const LBlock *block, LBufferId b);

#endif
