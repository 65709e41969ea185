/* What passes over loops have in common. */
#include "loop/pass.h"

/* ---- Values ------------------------------------------------------------------------------------------------------ */

LExprId tessi_pass_op(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    return tessi_lexpr_op(p, op, a, b, (LExprId){ 0 });
}

LExprId tessi_pass_plus(LoopProgram *p, LExprId a, int64_t i)
{
    return tessi_pass_op(p, OP_ADD, a, tessi_lexpr_index(p, i));
}

LExprId tessi_pass_without_constant(const LoopProgram *p, LExprId index, int64_t *constant)
{
    const LExpr *e = tessi_lexpr(p, index);
    *constant = 0;
    if (e->kind != LEXPR_OP || e->op != OP_ADD || tessi_lexpr(p, e->arg[1])->kind != LEXPR_CONST)
        return index;
    *constant = tessi_lexpr(p, e->arg[1])->value.i;
    return e->arg[0];
}

LExprId tessi_pass_changed(LoopProgram *p, LExprId id, PassChange *of, void *user)
{
    const LExpr e = *tessi_lexpr(p, id);
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    bool same = true;
    for (int i = 0; i < e.n_args; i++) {
        arg[i] = of(user, e.arg[i]);
        same = same && arg[i].v == e.arg[i].v;
    }
    return same ? id : tessi_lexpr_with_args(p, &e, arg);
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

LExprId tessi_pass_let(LoopProgram *p, LBlock *out, const char *name, LExprId value)
{
    const LExpr e = *tessi_lexpr(p, value);
    LStmt *s = tessi_lstmt(p, out, LSTMT_LET);
    s->var = tessi_loop_var(p, name, e.type, false);
    p->vars.at[s->var.v].lanes = e.lanes;
    s->a = value;
    return tessi_lexpr_var(p, s->var);
}

LStmt *tessi_pass_for(LoopProgram *p, LBlock *out, LVarId var, LExprId from, LExprId to)
{
    LStmt *s = tessi_lstmt(p, out, LSTMT_FOR);
    s->var = var;
    s->a = from;
    s->b = to;
    return s;
}

LStmt *tessi_pass_like(LoopProgram *p, LBlock *out, const LStmt *s)
{
    LStmt *like = tessi_lstmt(p, out, s->kind);
    *like = *s;
    like->body = like->orelse = (LBlock){ 0 };
    return like;
}

LStmt *tessi_pass_each(LoopProgram *p, const char *name, LExprId n, uint8_t flags, LBlock *to,
                       LExprId *var)
{
    const LVarId v = tessi_loop_var(p, name, TYPE_INDEX, false);
    LStmt *f = tessi_pass_for(p, to, v, tessi_lexpr_index(p, 0), n);
    f->flags = flags;
    *var = tessi_lexpr_var(p, v);
    return f;
}

void tessi_pass_store(LoopProgram *p, LBufferId b, LExprId i, LExprId j, LExprId value, LBlock *to)
{
    LStmt *t = tessi_lstmt(p, to, LSTMT_STORE);
    t->buffer = b;
    t->n_index = 2;
    t->index[0] = i;
    t->index[1] = j;
    t->a = value;
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

static void enter(PassWalk *w, const LBlock *block)
{
    if (!block->n || w->n == PASS_MOST_OPEN)
        return;
    w->open[w->n].block = block;
    w->open[w->n++].next = 0;
}

PassWalk tessi_pass_walk(const LBlock *block)
{
    PassWalk w;
    w.n = 0;
    enter(&w, block);
    return w;
}

LStmt *tessi_pass_next(PassWalk *w)
{
    while (w->n && w->open[w->n - 1].next == w->open[w->n - 1].block->n)
        w->n--;
    if (!w->n)
        return NULL;
    LStmt *s = w->open[w->n - 1].block->at[w->open[w->n - 1].next++];
    enter(w, &s->orelse); /* behind the body */
    enter(w, &s->body);
    return s;
}

void tessi_pass_definitions(const LBlock *block, const LStmt **definition)
{
    PASS_FOREACH (s, block)
        if (s->var.v)
            definition[s->var.v] = s;
}

bool tessi_pass_loads(const LoopProgram *p, const LBlock *block, LBufferId b)
{
    PASS_FOREACH (t, block)
        PASS_STMT_PARTS (e, p, NULL, 0, t)
            if (e->kind == LEXPR_LOAD && e->buffer.v == b.v)
                return true;
    return false;
}

PassParts *tessi_pass_parts(PassParts *w, const LoopProgram *p, uint32_t *met, uint32_t stamp,
                            LExprId id)
{
    w->p = p;
    w->met = met;
    w->stamp = stamp;
    w->root[0] = id;
    w->n_roots = 1;
    w->next_root = w->depth = 0;
    return w;
}

PassParts *tessi_pass_stmt_parts(PassParts *w, const LoopProgram *p, uint32_t *met, uint32_t stamp,
                                 const LStmt *s)
{
    tessi_pass_parts(w, p, met, stamp, s->a);
    w->root[w->n_roots++] = s->b;
    for (int d = 0; d < s->n_index; d++)
        w->root[w->n_roots++] = s->index[d];
    return w;
}

/* The next argument of the part in hand, or of one around it, or the next value; false: there is none. */
static bool find_part(PassParts *w, LExprId *id)
{
    for (; w->depth; w->depth--) {
        const LExpr *e = tessi_lexpr(w->p, w->at[w->depth - 1]);
        uint8_t *next = &w->next[w->depth - 1];
        if (*next < e->n_args) {
            *id = e->arg[(*next)++];
            return true;
        }
    }
    if (w->next_root == w->n_roots)
        return false;
    *id = w->root[w->next_root++];
    return true;
}

const LExpr *tessi_pass_next_part(PassParts *w)
{
    LExprId id;
    while (find_part(w, &id)) {
        if (!id.v || w->depth == PASS_MOST_DEPTH || (w->met && w->met[id.v] == w->stamp))
            continue;
        if (w->met)
            w->met[id.v] = w->stamp;
        w->at[w->depth] = id;
        w->next[w->depth++] = 0;
        return tessi_lexpr(w->p, id);
    }
    return NULL;
}

bool tessi_pass_is_short(const LoopProgram *p, LExprId id)
{
    enum { LONGEST = 3 };
    int n = 0;
    PASS_PARTS (e, p, NULL, 0, id)
        if (++n > LONGEST || e->kind == LEXPR_LOAD || e->kind == LEXPR_CAST || e->kind == LEXPR_SAT
            || (e->kind == LEXPR_VAR && p->vars.at[e->var.v].is_mutable))
            return false;
    return true;
}
