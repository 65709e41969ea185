/* Which functions are the same. Each is hashed with variables and images numbered as they come; those of one hash
 * are compared statement by statement, by a one-to-one map of their variables and images. Statements of a function
 * are compared in the same way (loop_share.c). */
#include "loop/loop_same_private.h"

/* Given by the caller, or the function's own; what is in constant memory may be a variable of the file. */
static bool is_own(const LoopProgram *p, LBufferId id)
{
    const LBuffer *b = &p->buffers.at[id.v];
    return (b->kind == LBUF_TEMP && !b->in_constant) || b->kind == LBUF_LOCAL;
}

static bool is_of_image(const LBuffer *b)
{
    return b->kind == LBUF_INPUT || b->kind == LBUF_OUTPUT;
}

static bool defines(const LStmt *s)
{
    return s->kind == LSTMT_FOR || s->kind == LSTMT_LET || s->kind == LSTMT_VAR;
}

/* ---- Hashing --------------------------------------------------------------------------------- */

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
    if (s->parts && id.v && is_of_image(b))
        return tessi_hash_u64(tessi_hash_u64(4, b->image), (uint64_t)b->kind * N_TYPES + b->type);
    if (!id.v || !is_own(s->p, id))
        return tessi_hash_u64(1, id.v);
    const uint32_t number = numbered(s->buffer, s->buffer_stamp, s->stamp, id.v, &s->n_buffers);
    return tessi_hash_u64(tessi_hash_u64(2, number), (uint64_t)b->kind * N_TYPES + b->type);
}

static uint64_t hash_var(Same *s, LVarId id)
{
    return id.v ? numbered(s->var, s->var_stamp, s->stamp, id.v, &s->n_vars) : 0;
}

/* What an expression is whose arguments are known. */
static SameKind kind_of(const Same *s, const LExpr *e)
{
    SameKind kind = SAME_FIXED;
    if (e->kind == LEXPR_LOAD)
        return SAME_INNER;
    if (e->lanes)
        return SAME_INNER; /* no function is handed a vector */
    if (e->kind == LEXPR_VAR) {
        const bool inner = s->var_stamp[e->var.v] == s->stamp || s->p->vars.at[e->var.v].is_mutable;
        return inner ? SAME_INNER : SAME_HANDED;
    }
    for (int i = 0; i < e->n_args; i++) {
        const SameKind arg = (SameKind)s->kind[e->arg[i].v];
        if (arg == SAME_INNER)
            return SAME_INNER;
        kind = arg == SAME_HANDED ? SAME_HANDED : kind;
    }
    /* Others may have to be computed where they stand, or not at all. */
    if (kind == SAME_HANDED && e->type != TYPE_INDEX && e->type != TYPE_BOOL)
        return SAME_INNER;
    return kind;
}

static uint64_t hash_expr(Same *s, LExprId id)
{
    if (!id.v)
        return 0;
    if (s->hash_stamp[id.v] == s->stamp)
        return s->hash[id.v];
    const LExpr *e = tessi_lexpr(s->p, id);
    uint64_t h = tessi_hash_u64(3, (uint64_t)e->kind * N_TYPES + e->type);
    h = tessi_hash_u64(h, (uint64_t)e->op << 8 | e->lanes);
    h = tessi_hash_u64(h, e->ref);
    if (e->kind == LEXPR_CONST)
        h = tessi_hash_bytes(h, &e->value, sizeof e->value);
    for (int i = 0; i < e->n_args; i++)
        h = tessi_hash_u64(h, hash_expr(s, e->arg[i]));
    s->kind[id.v] = (uint8_t)(s->parts ? kind_of(s, e) : SAME_INNER);
    if (s->kind[id.v] == SAME_HANDED)
        h = tessi_hash_u64(5, (uint64_t)e->type);
    else if (e->kind == LEXPR_VAR)
        h = tessi_hash_u64(h, hash_var(s, e->var));
    if (e->kind == LEXPR_LOAD)
        h = tessi_hash_u64(h, hash_buffer(s, e->buffer));
    s->hash_stamp[id.v] = s->stamp;
    s->hash[id.v] = h;
    s->n_exprs++;
    return h;
}

static uint64_t hash_block(Same *s, uint64_t h, const LBlock *block);

static uint64_t hash_stmt(Same *s, uint64_t h, const LStmt *at)
{
    if (s->parts && at->kind == LSTMT_COMMENT)
        return h;
    h = tessi_hash_u64(h, (uint64_t)at->kind << 8 | at->flags);
    h = tessi_hash_u64(h, hash_expr(s, at->a));
    h = tessi_hash_u64(h, hash_expr(s, at->b));
    h = tessi_hash_u64(h, hash_var(s, at->var));
    h = tessi_hash_u64(h, hash_buffer(s, at->buffer));
    h = tessi_hash_u64(h, hash_buffer(s, at->other));
    for (int k = 0; k < at->n_index; k++)
        h = tessi_hash_u64(h, hash_expr(s, at->index[k]));
    h = hash_block(s, h, &at->body);
    return hash_block(s, h, &at->orelse);
}

static uint64_t hash_block(Same *s, uint64_t h, const LBlock *block)
{
    h = tessi_hash_u64(h, block->n);
    for (uint32_t i = 0; i < block->n; i++)
        h = hash_stmt(s, h, block->at[i]);
    return h;
}

uint64_t tessi_same_hash(Same *s, const LBlock *block)
{
    s->stamp++;
    s->n_vars = s->n_buffers = s->n_exprs = 0;
    return hash_block(s, 0, block);
}

uint64_t tessi_same_hash_statement(Same *s, const LStmt *stmt)
{
    s->stamp++;
    s->n_vars = s->n_buffers = s->n_exprs = 0;
    return hash_stmt(s, 0, stmt);
}

void tessi_same_look_for_differences(Same *s)
{
    s->hashed = s->stamp;
    if (!s->all_differs)
        s->all_differs = ARENA_NEW_ARRAY(s->scratch, bool, s->p->exprs.n);
    s->differs = s->all_differs;
}

void tessi_same_forget_differences(Same *s)
{
    VEC_FOREACH (const LExprId, id, &s->differing)
        s->all_differs[id->v] = false;
    s->differing.n = 0;
    s->differs = NULL;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* Two channels of an image: all pairs of channels of the image are as far apart. */
static bool same_channel(Same *s, const LBuffer *a, const LBuffer *b)
{
    const LoopShift shift = { a->kind, a->image, (int64_t)b->channel - a->channel };
    if (a->kind != b->kind || a->image != b->image || a->type != b->type || a->flat != b->flat
        || (shift.channels && !tessi_loop_image(s->p, a)->uniform))
        return false;
    VEC_FOREACH (const LoopShift, other, &s->shifts)
        if (other->kind == shift.kind && other->image == shift.image)
            return other->channels == shift.channels;
    VEC_PUSH(s->scratch, &s->shifts, shift);
    return true;
}

/* `all`: of arrays all sizes count, not only those that a pointer to their rows has. */
static bool same_size(const LBuffer *a, const LBuffer *b, bool all)
{
    for (int d = all || a->n_dims < 2 ? 0 : 1; d < a->n_dims; d++)
        if (a->size[d].v != b->size[d].v)
            return false;
    return true;
}

static bool same_buffer(Same *s, LBufferId x, LBufferId y, bool declared)
{
    const LBuffer *a = &s->p->buffers.at[x.v], *b = &s->p->buffers.at[y.v];
    if (!x.v || !y.v)
        return x.v == y.v;
    if (s->parts && is_of_image(a))
        return same_channel(s, a, b);
    if (!is_own(s->p, x))
        return x.v == y.v;
    if (s->buffer_stamp[x.v] == s->stamp || s->of_buffer_stamp[y.v] == s->stamp)
        return s->buffer_stamp[x.v] == s->stamp && s->of_buffer_stamp[y.v] == s->stamp
               && s->buffer[x.v] == y.v && s->of_buffer[y.v] == x.v;
    if (a->kind != b->kind || a->type != b->type || a->n_dims != b->n_dims || b->in_constant
        || a->held != b->held || a->lanes != b->lanes)
        return false;
    if (s->parts && a->lanes && !declared)
        return false; /* registers, as long as they are not handed over */
    if (!same_size(a, b, declared || !s->parts || a->kind != LBUF_LOCAL))
        return false;
    s->buffer_stamp[x.v] = s->of_buffer_stamp[y.v] = s->stamp;
    s->buffer[x.v] = y.v;
    s->of_buffer[y.v] = x.v;
    if (a->kind == LBUF_TEMP || (s->parts && !declared))
        VEC_PUSH(s->scratch, &s->twins, ((LoopTwin){ x, y }));
    return true;
}

/* Definitions come before uses. */
static bool same_definition(Same *s, LVarId x, LVarId y)
{
    const LVar *a = &s->p->vars.at[x.v], *b = &s->p->vars.at[y.v];
    if (!x.v || !y.v)
        return x.v == y.v;
    s->var_stamp[x.v] = s->own_stamp[y.v] = s->stamp;
    s->var[x.v] = y.v;
    return a->type == b->type && a->is_mutable == b->is_mutable && a->lanes == b->lanes
           && a->is_row == b->is_row && a->is_both == b->is_both;
}

static bool same_var(Same *s, LVarId x, LVarId y)
{
    const LVar *a = &s->p->vars.at[x.v], *b = &s->p->vars.at[y.v];
    if (s->var_stamp[x.v] == s->stamp)
        return s->var[x.v] == y.v;
    if (!s->parts || s->own_stamp[y.v] == s->stamp || a->is_mutable || b->is_mutable
        || a->type != b->type || a->lanes || b->lanes)
        return false;
    s->var_stamp[x.v] = s->stamp;
    s->var[x.v] = y.v;
    VEC_PUSH(s->scratch, &s->values, ((LoopValue){ x, y }));
    return true;
}

/* Does not change while the second piece runs. */
static bool is_handed(const Same *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->p, id);
    if (e->kind == LEXPR_LOAD)
        return false;
    if (e->kind == LEXPR_VAR)
        return s->own_stamp[e->var.v] != s->stamp && !s->p->vars.at[e->var.v].is_mutable;
    for (int i = 0; i < e->n_args; i++)
        if (!is_handed(s, e->arg[i]))
            return false;
    return true;
}

/* Notes that another value may stand in the place of x. */
static bool may_differ(Same *s, LExprId x, LExprId y)
{
    if (!s->differs || s->hash_stamp[x.v] != s->hashed || s->kind[x.v] != SAME_HANDED
        || tessi_lexpr(s->p, x)->type != tessi_lexpr(s->p, y)->type || tessi_lexpr(s->p, y)->lanes
        || !is_handed(s, y))
        return false;
    s->differs[x.v] = true;
    VEC_PUSH(s->scratch, &s->differing, x);
    return true;
}

static bool same_expr(Same *s, LExprId x, LExprId y);

static bool same_node(Same *s, LExprId x, LExprId y)
{
    const LExpr *a = tessi_lexpr(s->p, x), *b = tessi_lexpr(s->p, y);
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->ref != b->ref
        || a->lanes != b->lanes || a->n_args != b->n_args)
        return false;
    if ((a->kind == LEXPR_CONST && x.v != y.v)
        || (a->kind == LEXPR_VAR && !same_var(s, a->var, b->var))
        || (a->kind == LEXPR_LOAD && !same_buffer(s, a->buffer, b->buffer, false)))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (!same_expr(s, a->arg[i], b->arg[i]))
            return false;
    return true;
}

static bool same_expr(Same *s, LExprId x, LExprId y)
{
    if (!x.v || !y.v)
        return x.v == y.v;
    if (s->differs && s->differs[x.v])
        return may_differ(s, x, y);
    const bool known = s->expr_stamp[x.v] == s->stamp;
    if (known ? s->expr[x.v] != y.v : !same_node(s, x, y))
        return may_differ(s, x, y);
    s->expr_stamp[x.v] = s->stamp;
    s->expr[x.v] = y.v;
    return true;
}

static bool same_block(Same *s, const LBlock *x, const LBlock *y);

static bool same_stmt(Same *s, const LStmt *a, const LStmt *b)
{
    if (a->kind != b->kind || a->flags != b->flags || a->atomic != b->atomic
        || a->n_index != b->n_index || a->step != b->step || a->least != b->least
        || a->vectors != b->vectors || a->axis != b->axis || a->lanes != b->lanes)
        return false;
    const bool declared = a->kind == LSTMT_LOCAL;
    if (!same_expr(s, a->a, b->a) || !same_expr(s, a->b, b->b)
        || !same_buffer(s, a->buffer, b->buffer, declared)
        || !same_buffer(s, a->other, b->other, false))
        return false;
    if (defines(a) ? !same_definition(s, a->var, b->var) : a->var.v && !same_var(s, a->var, b->var))
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

/* A new comparison. */
static void begin(Same *s)
{
    s->stamp++;
    s->twins.n = s->values.n = s->shifts.n = 0;
}

bool tessi_same_blocks(Same *s, const LBlock *x, const LBlock *y)
{
    begin(s);
    return same_block(s, x, y);
}

bool tessi_same_statements(Same *s, const LStmt *x, const LStmt *y)
{
    begin(s);
    return same_stmt(s, x, y);
}

/* ---- Functions ------------------------------------------------------------------------------- */

Same tessi_same_new(const LoopProgram *p, Arena *scratch, bool parts)
{
    Same s = { .p = p, .scratch = scratch, .parts = parts };
    s.hash = ARENA_NEW_ARRAY(scratch, uint64_t, p->exprs.n);
    s.hash_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    s.kind = ARENA_NEW_ARRAY(scratch, uint8_t, p->exprs.n);
    s.expr = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    s.expr_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    s.var = ARENA_NEW_ARRAY(scratch, uint32_t, p->vars.n);
    s.var_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->vars.n);
    s.own_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->vars.n);
    s.buffer = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    s.buffer_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    s.of_buffer = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    s.of_buffer_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->buffers.n);
    return s;
}

typedef struct Search {
    Same same;
    uint32_t wanted;
} Search;

static bool same_function(void *user, uint32_t number)
{
    Search *search = user;
    const LoopProgram *p = search->same.p;
    const LFunction *a = &p->functions.at[number - 1], *b = &p->functions.at[search->wanted];
    if (a->is_kernel != b->is_kernel || a->beside != b->beside || a->resident != b->resident)
        return false;
    for (int k = 0; k < LOOP_MAX_AXES; k++)
        if (a->grid[k].v != b->grid[k].v || a->block[k] != b->block[k])
            return false;
    return tessi_same_blocks(&search->same, &a->body, &b->body);
}

LoopSame tessi_loop_same(const LoopProgram *p, Arena *a)
{
    LoopSame same = { .first = ARENA_NEW_ARRAY(a, uint32_t, p->functions.n),
                      .n_same = ARENA_NEW_ARRAY(a, uint32_t, p->functions.n),
                      .twins = ARENA_NEW_ARRAY(a, LoopTwins, p->functions.n) };
    Arena *scratch = tessi_scratch_open(a);
    Search search = { .same = tessi_same_new(p, scratch, false) };
    IdMap firsts = { 0 };
    for (uint32_t i = 0; i < p->functions.n; i++) {
        search.wanted = i;
        const uint64_t hash = tessi_same_hash(&search.same, &p->functions.at[i].body);
        const uint32_t number = tessi_idmap_find(&firsts, hash, same_function, &search);
        same.first[i] = number ? number - 1 : i;
        same.n_same[same.first[i]]++;
        if (!number)
            tessi_idmap_add(scratch, &firsts, hash, i + 1);
        for (uint32_t k = 0; number && k < search.same.twins.n; k++)
            VEC_PUSH(a, &same.twins[i], search.same.twins.at[k]);
    }
    tessi_scratch_close(scratch);
    return same;
}
