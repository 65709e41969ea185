/* How a range becomes steps of whole vectors. A row ends with a vector that overlaps the one before it where points
 * may be computed twice, else point by point; ranges shorter than a vector run point by point. */
#include "loop/vector.h"

/* A bound that is used again and again has a name unless it is short. */
static LExprId bound(Vectors *v, const LStmt *loop, LExprId id, const char *name, LBlock *out)
{
    if (tessi_pass_is_short(v->p, id))
        return id;
    const char *var = v->p->vars.at[loop->var.v].name;
    name = tessi_sprintf(v->p->arena, "%s_%s", var ? var : "", name);
    return tessi_pass_let(v->p, out, name, id);
}

/* The loop over the points from `begin` to `end`, one after the other. */
static void points(Vectors *v, LStmt *loop, LExprId begin, LExprId end, LBlock *out)
{
    loop->flags = 0;
    loop->vectors = 0;
    loop->least = 0;
    loop->a = begin;
    loop->b = end;
    VEC_PUSH(v->p->arena, out, loop);
}

/* The body on vectors, which begin where the loop's variable says. */
static void vectors(Vectors *v, const LStmt *loop, LBlock *out)
{
    const LExprId x = tessi_lexpr_var(v->p, loop->var);
    v->var_as[0][loop->var.v] = x;
    for (uint32_t c = 1; c < v->copies; c++) {
        v->var_as[c][loop->var.v] = x;
        if (v->form != &tessi_vector_plain)
            continue;
        v->var_as[c][loop->var.v] =
            tessi_pass_let(v->p, out, v->p->vars.at[loop->var.v].name,
                           tessi_pass_op(v->p, OP_ADD, x, tessi_vector_points(v, c)));
    }
    tessi_vector_body(v, &loop->body, out);
}

static bool streams(const LBlock *block)
{
    PASS_FOREACH (s, block)
        if (s->kind == LSTMT_STORE && s->b.v)
            return true;
    return false;
}

/* Stores to a tile that holds points before its own: at `x - first + before`. Its rows begin in whole vectors, and the
 * range begins between two. */
static bool begins_between(const LoopProgram *p, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        const LBuffer *b = s->kind == LSTMT_STORE ? &p->buffers.at[s->buffer.v] : NULL;
        if (!b || b->kind != LBUF_LOCAL || s->n_index < 2)
            continue;
        const LExpr *at = tessi_lexpr(p, s->index[s->n_index - 1]);
        const LExpr *before =
            at->kind == LEXPR_OP && at->op == OP_ADD ? tessi_lexpr(p, at->arg[1]) : NULL;
        if (before && before->kind == LEXPR_CONST && before->value.i > 0)
            return true;
    }
    return false;
}

LExprId tessi_vector_before(LoopProgram *p, uint8_t lanes, LExprId x)
{
    const LExprId none = { 0 };
    const LExpr *e = tessi_lexpr(p, x);
    if (e->kind == LEXPR_CONST && e->value.i == 0)
        return x;
    const LExprId rest = tessi_lexpr_op(p, OP_FLOORMOD, x, tessi_lexpr_lanes(p, lanes), none);
    return tessi_lexpr_op(p, OP_SUB, x, rest, none);
}

void tessi_vector_steps(Vectors *v, const LStmt *loop, uint32_t n, LExprId begin, LExprId end,
                        LBlock *out)
{
    /* whole vectors of a row go past the caches, and are faster in the first one */
    const bool aligned = streams(&loop->body) || begins_between(v->p, &loop->body);
    const LExprId at = tessi_vector_new_var(v, "at");
    const LExprId last = tessi_pass_op(v->p, OP_SUB, end, tessi_vector_points(v, n));
    LStmt *steps =
        tessi_pass_for(v->p, out, tessi_lexpr(v->p, at)->var,
                       aligned ? tessi_vector_before(v->p, v->lane_bytes, begin) : begin, end);
    steps->step = n;
    steps->lanes = v->lane_bytes;
    LStmt *x = tessi_lstmt(v->p, &steps->body, LSTMT_LET);
    x->var = loop->var;
    x->a = tessi_pass_op(v->p, OP_MIN, at, last);
    if (aligned)
        x->a = tessi_pass_op(v->p, OP_MAX, x->a, begin);
    vectors(v, loop, &steps->body);
}

void tessi_vector_overlapping(Vectors *v, LStmt *loop, uint32_t n, VectorFill fill, LBlock *out)
{
    const bool wide = loop->least * v->lane_bytes >= n * LOOP_MOST_VECTOR;
    const LExprId begin = bound(v, loop, loop->a, "begin", out);
    const LExprId end = bound(v, loop, loop->b, "end", out);
    if (wide) {
        fill(v, loop, n, begin, end, out);
        loop->body.n = 0; /* no points are left */
        return;
    }
    LStmt *branch = tessi_lstmt(v->p, out, LSTMT_IF);
    branch->a = tessi_pass_op(v->p, OP_LE, tessi_vector_points(v, n),
                              tessi_pass_op(v->p, OP_SUB, end, begin));
    fill(v, loop, n, begin, end, &branch->body);
    points(v, loop, begin, end, &branch->orelse);
}

void tessi_vector_with_rest(Vectors *v, LStmt *loop, LBlock *out)
{
    const LExprId begin = bound(v, loop, loop->a, "begin", out);
    const LExprId end = bound(v, loop, loop->b, "end", out);
    const char *name = v->p->vars.at[loop->var.v].name;
    const LExprId all = tessi_pass_op(v->p, OP_MAX, tessi_pass_op(v->p, OP_SUB, end, begin),
                                      tessi_lexpr_index(v->p, 0));
    const LExprId left = tessi_pass_op(v->p, OP_FLOORMOD, all, tessi_vector_points(v, v->copies));
    const LExprId from =
        tessi_pass_let(v->p, out, tessi_sprintf(v->p->arena, "%s_rest", name ? name : ""),
                       tessi_pass_op(v->p, OP_SUB, end, left));
    LStmt *steps = tessi_pass_for(v->p, out, loop->var, begin, from);
    steps->step = v->copies;
    steps->lanes = v->lane_bytes;
    vectors(v, loop, &steps->body);
    points(v, loop, from, end, out);
}
