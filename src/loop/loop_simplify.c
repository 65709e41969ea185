/* Cleans up after lowering: dead definitions, loops without iterations or effects, conditions that are constant, and
 * loops of one iteration, whose variable becomes a constant. */
#include <string.h>

#include "loop/loop_passes.h"
#include "loop/pass.h"

typedef struct Simplifier {
    LoopProgram *p;
    Arena *scratch;
    LoopNeeds needs;
    uint32_t *definitions;   /* by LVarId: how often it is defined in the function */
    uint32_t *locals;        /* by LBufferId: how often the buffer is declared */
    VEC(uint32_t *) counted; /* of these, those that are not 0 */
    /* Of a substitution: what has become of an expression, where the stamp is that of the substitution in hand. */
    LExprId *done;
    uint32_t *done_stamp, stamp, n_done;
    LVarId var; /* that is a value now */
    LExprId value;
    bool changed;
} Simplifier;

/* ---- Substitution ---------------------------------------------------------------------------- */

static LExprId substitute(void *user, LExprId id)
{
    Simplifier *s = user;
    if (!id.v || s->done_stamp[id.v] == s->stamp)
        return id.v ? s->done[id.v] : id;
    const LExpr *e = tessi_lexpr(s->p, id);
    const bool is_var = e->kind == LEXPR_VAR && e->var.v == s->var.v;
    const LExprId result = is_var ? s->value : tessi_pass_changed(s->p, id, substitute, s);
    s->done[id.v] = result;
    s->done_stamp[id.v] = s->stamp;
    return result;
}

/* `var` is `value`, a constant, everywhere in the block. The expressions that the block holds exist already, so the
 * table is as large as the program is now. */
static void replace_var(Simplifier *s, LBlock *block, LVarId var, LExprId value)
{
    if (s->n_done < s->p->exprs.n) { /* with room for those to come */
        s->n_done = s->p->exprs.n + s->p->exprs.n / 2;
        s->done = ARENA_NEW_ARRAY(s->scratch, LExprId, s->n_done);
        s->done_stamp = ARENA_NEW_ARRAY(s->scratch, uint32_t, s->n_done);
        s->stamp = 0;
    }
    s->stamp++;
    s->var = var;
    s->value = value;
    PASS_FOREACH (stmt, block) {
        stmt->a = substitute(s, stmt->a);
        stmt->b = substitute(s, stmt->b);
        for (int k = 0; k < stmt->n_index; k++)
            stmt->index[k] = substitute(s, stmt->index[k]);
    }
}

/* ---- Blocks in place of statements ----------------------------------------------------------- */

static void count(Simplifier *s, uint32_t *number)
{
    if (!(*number)++)
        VEC_PUSH(s->scratch, &s->counted, number);
}

static void count_definitions(Simplifier *s, const LBlock *block)
{
    PASS_FOREACH (stmt, block) {
        if (stmt->kind == LSTMT_FOR || stmt->kind == LSTMT_LET || stmt->kind == LSTMT_VAR)
            count(s, &s->definitions[stmt->var.v]);
        if (stmt->kind == LSTMT_LOCAL)
            count(s, &s->locals[stmt->buffer.v]);
    }
}

/* A block may take the place of its statement when what it defines is defined nowhere else: else two definitions
 * could meet in one scope. */
static bool can_be_inlined(const Simplifier *s, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *stmt = block->at[i];
        if ((stmt->kind == LSTMT_LET || stmt->kind == LSTMT_VAR) && s->definitions[stmt->var.v] > 1)
            return false;
        if (stmt->kind == LSTMT_LOCAL && s->locals[stmt->buffer.v] > 1)
            return false;
    }
    return true;
}

static bool is_bool(const LoopProgram *p, LExprId id, bool *value)
{
    const LExpr *e = tessi_lexpr(p, id);
    *value = e->value.i != 0;
    return e->kind == LEXPR_CONST;
}

/* The iterations of a loop: 0, 1, or 2 for "more or unknown". */
static int iterations(LoopProgram *p, const LStmt *s)
{
    const LExpr *n = tessi_lexpr(p, tessi_lexpr_op(p, OP_SUB, s->b, s->a, (LExprId){ 0 }));
    if (n->kind != LEXPR_CONST)
        return 2;
    return n->value.i <= 0 ? 0 : n->value.i <= s->step && !s->lanes ? 1 : 2;
}

static void simplify_block(Simplifier *s, LBlock *block);

static void simplify_for(Simplifier *s, LStmt *stmt, LBlock *out)
{
    int n = iterations(s->p, stmt);
    bool constant = tessi_lexpr(s->p, stmt->a)->kind == LEXPR_CONST;
    simplify_block(s, &stmt->body);
    if (n == 0 || !stmt->body.n) {
        s->changed = true;
    } else if (n == 1 && constant && !(stmt->flags & LFOR_THREAD) /* one thread runs it */
               && can_be_inlined(s, &stmt->body)) {
        replace_var(s, &stmt->body, stmt->var, stmt->a);
        VEC_APPEND(s->p->arena, out, &stmt->body);
        s->changed = true;
    } else {
        VEC_PUSH(s->p->arena, out, stmt);
    }
}

static void simplify_if(Simplifier *s, LStmt *stmt, LBlock *out)
{
    bool taken;
    simplify_block(s, &stmt->body);
    simplify_block(s, &stmt->orelse);
    if (!stmt->body.n && !stmt->orelse.n) {
        s->changed = true;
        return;
    }
    if (is_bool(s->p, stmt->a, &taken)) {
        const LBlock *branch = taken ? &stmt->body : &stmt->orelse;
        if (!branch->n || can_be_inlined(s, branch)) {
            VEC_APPEND(s->p->arena, out, branch);
            s->changed = true;
            return;
        }
    }
    if (!stmt->body.n) {
        LExprId none = { 0 };
        stmt->a = tessi_lexpr_op(s->p, OP_NOT, stmt->a, none, none);
        stmt->body = stmt->orelse;
        memset(&stmt->orelse, 0, sizeof stmt->orelse);
    }
    VEC_PUSH(s->p->arena, out, stmt);
}

static bool only_comments(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->kind != LSTMT_COMMENT)
            return false;
    return true;
}

static void simplify_block(Simplifier *s, LBlock *block)
{
    LBlock out = { 0 };
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *stmt = block->at[i];
        if (stmt->kind == LSTMT_FOR)
            simplify_for(s, stmt, &out);
        else if (stmt->kind == LSTMT_IF)
            simplify_if(s, stmt, &out);
        else if (tessi_loop_is_needed(&s->needs, stmt))
            VEC_PUSH(s->p->arena, &out, stmt);
        else
            s->changed = true;
    }
    if (only_comments(&out))
        out.n = 0;
    *block = out;
}

void tessi_loop_simplify(LoopProgram *p)
{
    enum { MOST_ROUNDS = 8 }; /* each exposes less; nothing depends on reaching the end */
    Arena *scratch = tessi_scratch_open(p->arena);
    Simplifier s = { .p = p,
                     .scratch = scratch,
                     .definitions = ARENA_NEW_ARRAY(scratch, uint32_t, p->vars.n),
                     .locals = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n) };
    VEC_FOREACH (LFunction, f, &p->functions) {
        int round = 0;
        do {
            s.changed = false;
            VEC_FOREACH (uint32_t *, number, &s.counted)
                **number = 0;
            s.counted.n = 0;
            count_definitions(&s, &f->body);
            tessi_loop_needs(p, f, scratch, &s.needs);
            simplify_block(&s, &f->body);
        } while (s.changed && ++round < MOST_ROUNDS);
    }
    tessi_scratch_close(scratch);
}
