/* Which functions are the same. Each is hashed with variables and images numbered as they come; those of one hash are compared statement by
 * statement, by a one-to-one map of their variables and images. */
#include "loop/loop_same.h"

typedef struct Same {
    const LoopProgram *p;
    Arena *scratch;
    uint32_t stamp; /* of the function, or the pair of functions, in hand */
    /* Hashing. */
    uint64_t *hash;
    uint32_t *hash_stamp;
    /* By LVarId, LBufferId and LExprId: the number as they come, or what it is in the other function; where the stamp is right. */
    uint32_t *var, *var_stamp, *buffer, *buffer_stamp, *expr, *expr_stamp;
    uint32_t *of_buffer, *of_buffer_stamp; /* the other way round */
    uint32_t n_vars, n_buffers;
    LoopTwins twins;
    /* The function that is looked for. */
    uint32_t wanted;
} Same;

/* Given by the caller, or the function's own; what is in constant memory may be a variable of the file. */
static bool is_own(const LoopProgram *p, LBufferId id)
{
    const LBuffer *b = &p->buffers.at[id.v];
    return (b->kind == LBUF_TEMP && !b->in_constant) || b->kind == LBUF_LOCAL;
}

/* ---- Hashing ---------------------------------------------------------------------------------------------------------------- */

static uint32_t numbered(uint32_t *number, uint32_t *number_stamp, uint32_t stamp, uint32_t id,
                         uint32_t *n)
{
    if (number_stamp[id] != stamp) {
        number_stamp[id] = stamp;
        number[id] = ++*n;
    }
    return number[id];
}

static uint64_t hash_buffer(Same *s, LBufferId id)
{
    const LBuffer *b = &s->p->buffers.at[id.v];
    if (!id.v || !is_own(s->p, id))
        return tessi_hash_u64(1, id.v);
    const uint32_t number = numbered(s->buffer, s->buffer_stamp, s->stamp, id.v, &s->n_buffers);
    return tessi_hash_u64(tessi_hash_u64(2, number), (uint64_t)b->kind * N_TYPES + b->type);
}

static uint64_t hash_var(Same *s, LVarId id)
{
    return id.v ? numbered(s->var, s->var_stamp, s->stamp, id.v, &s->n_vars) : 0;
}

static uint64_t hash_expr(Same *s, LExprId id)
{
    if (!id.v)
        return 0;
    if (s->hash_stamp[id.v] == s->stamp)
        return s->hash[id.v];
    const LExpr *e = tessi_lexpr(s->p, id);
    uint64_t h = tessi_hash_u64(3, (uint64_t)e->kind * N_TYPES + e->type);
    h = tessi_hash_u64(h, (uint64_t)e->op);
    h = tessi_hash_u64(h, e->ref);
    if (e->kind == LEXPR_CONST)
        h = tessi_hash_bytes(h, &e->value, sizeof e->value);
    if (e->kind == LEXPR_VAR)
        h = tessi_hash_u64(h, hash_var(s, e->var));
    if (e->kind == LEXPR_LOAD)
        h = tessi_hash_u64(h, hash_buffer(s, e->buffer));
    for (int i = 0; i < e->n_args; i++)
        h = tessi_hash_u64(h, hash_expr(s, e->arg[i]));
    s->hash_stamp[id.v] = s->stamp;
    s->hash[id.v] = h;
    return h;
}

static uint64_t hash_block(Same *s, uint64_t h, const LBlock *block)
{
    h = tessi_hash_u64(h, block->n);
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *at = block->at[i];
        h = tessi_hash_u64(h, (uint64_t)at->kind << 8 | at->flags);
        h = tessi_hash_u64(h, hash_expr(s, at->a));
        h = tessi_hash_u64(h, hash_expr(s, at->b));
        h = tessi_hash_u64(h, hash_var(s, at->var));
        h = tessi_hash_u64(h, hash_buffer(s, at->buffer));
        h = tessi_hash_u64(h, hash_buffer(s, at->other));
        for (int k = 0; k < at->n_index; k++)
            h = tessi_hash_u64(h, hash_expr(s, at->index[k]));
        h = hash_block(s, h, &at->body);
        h = hash_block(s, h, &at->orelse);
    }
    return h;
}

/* ---- Comparing -------------------------------------------------------------------------------------------------------------- */

static bool same_buffer(Same *s, LBufferId x, LBufferId y)
{
    const LBuffer *a = &s->p->buffers.at[x.v], *b = &s->p->buffers.at[y.v];
    if (!x.v || !y.v || !is_own(s->p, x))
        return x.v == y.v;
    if (s->buffer_stamp[x.v] == s->stamp || s->of_buffer_stamp[y.v] == s->stamp)
        return s->buffer_stamp[x.v] == s->stamp && s->of_buffer_stamp[y.v] == s->stamp
               && s->buffer[x.v] == y.v && s->of_buffer[y.v] == x.v;
    if (a->kind != b->kind || a->type != b->type || a->n_dims != b->n_dims || b->in_constant
        || a->held != b->held)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->size[d].v != b->size[d].v)
            return false;
    s->buffer_stamp[x.v] = s->of_buffer_stamp[y.v] = s->stamp;
    s->buffer[x.v] = y.v;
    s->of_buffer[y.v] = x.v;
    if (a->kind == LBUF_TEMP)
        VEC_PUSH(s->scratch, &s->twins, ((LoopTwin){ x, y }));
    return true;
}

/* Definitions come before uses. */
static bool same_definition(Same *s, LVarId x, LVarId y)
{
    const LVar *a = &s->p->vars.at[x.v], *b = &s->p->vars.at[y.v];
    if (!x.v || !y.v)
        return x.v == y.v;
    s->var_stamp[x.v] = s->stamp;
    s->var[x.v] = y.v;
    return a->type == b->type && a->is_mutable == b->is_mutable;
}

static bool same_var(const Same *s, LVarId x, LVarId y)
{
    return s->var_stamp[x.v] == s->stamp && s->var[x.v] == y.v;
}

static bool same_expr(Same *s, LExprId x, LExprId y)
{
    if (!x.v || !y.v)
        return x.v == y.v;
    if (s->expr_stamp[x.v] == s->stamp)
        return s->expr[x.v] == y.v;
    const LExpr *a = tessi_lexpr(s->p, x), *b = tessi_lexpr(s->p, y);
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->ref != b->ref
        || a->n_args != b->n_args)
        return false;
    if ((a->kind == LEXPR_CONST && x.v != y.v)
        || (a->kind == LEXPR_VAR && !same_var(s, a->var, b->var))
        || (a->kind == LEXPR_LOAD && !same_buffer(s, a->buffer, b->buffer)))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (!same_expr(s, a->arg[i], b->arg[i]))
            return false;
    s->expr_stamp[x.v] = s->stamp;
    s->expr[x.v] = y.v;
    return true;
}

static bool same_block(Same *s, const LBlock *x, const LBlock *y);

static bool same_stmt(Same *s, const LStmt *a, const LStmt *b)
{
    if (a->kind != b->kind || a->flags != b->flags || a->atomic != b->atomic
        || a->n_index != b->n_index || a->step != b->step || a->least != b->least
        || a->vectors != b->vectors || a->axis != b->axis)
        return false;
    const bool defines = a->kind == LSTMT_FOR || a->kind == LSTMT_LET || a->kind == LSTMT_VAR;
    if (!same_expr(s, a->a, b->a) || !same_expr(s, a->b, b->b)
        || !same_buffer(s, a->buffer, b->buffer) || !same_buffer(s, a->other, b->other))
        return false;
    if (defines ? !same_definition(s, a->var, b->var) : a->var.v && !same_var(s, a->var, b->var))
        return false;
    for (int k = 0; k < a->n_index; k++)
        if (!same_expr(s, a->index[k], b->index[k]))
            return false;
    return same_block(s, &a->body, &b->body) && same_block(s, &a->orelse, &b->orelse);
}

static bool same_block(Same *s, const LBlock *x, const LBlock *y)
{
    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (!same_stmt(s, x->at[i], y->at[i]))
            return false;
    return true;
}

static bool same_function(void *user, uint32_t number)
{
    Same *s = user;
    const LFunction *a = &s->p->functions.at[number - 1], *b = &s->p->functions.at[s->wanted];
    s->stamp++;
    s->twins.n = 0;
    if (a->is_kernel != b->is_kernel || a->beside != b->beside || a->resident != b->resident)
        return false;
    for (int k = 0; k < LOOP_MAX_AXES; k++)
        if (a->grid[k].v != b->grid[k].v || a->block[k] != b->block[k])
            return false;
    return same_block(s, &a->body, &b->body);
}

/* ---- Interface -------------------------------------------------------------------------------------------------------------- */

LoopSame tessi_loop_same(const LoopProgram *p, Arena *a)
{
    LoopSame same = { .first = ARENA_NEW_ARRAY(a, uint32_t, p->functions.n),
                      .n_same = ARENA_NEW_ARRAY(a, uint32_t, p->functions.n),
                      .twins = ARENA_NEW_ARRAY(a, LoopTwins, p->functions.n) };
    Arena *scratch = tessi_scratch_open(a);
    Same s = { .p = p, .scratch = scratch };
    s.hash = ARENA_NEW_ARRAY(scratch, uint64_t, p->exprs.n);
    s.hash_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    s.expr = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    s.expr_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    s.var = ARENA_NEW_ARRAY(scratch, uint32_t, p->vars.n);
    s.var_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->vars.n);
    s.buffer = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    s.buffer_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    s.of_buffer = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    s.of_buffer_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    IdMap firsts = { 0 };
    for (uint32_t i = 0; i < p->functions.n; i++) {
        s.stamp++;
        s.n_vars = s.n_buffers = 0;
        s.wanted = i;
        const uint64_t hash = hash_block(&s, 0, &p->functions.at[i].body);
        const uint32_t number = tessi_idmap_find(&firsts, hash, same_function, &s);
        same.first[i] = number ? number - 1 : i;
        same.n_same[same.first[i]]++;
        if (!number)
            tessi_idmap_add(scratch, &firsts, hash, i + 1);
        for (uint32_t k = 0; number && k < s.twins.n; k++)
            VEC_PUSH(a, &same.twins[i], s.twins.at[k]);
    }
    tessi_scratch_close(scratch);
    return same;
}
