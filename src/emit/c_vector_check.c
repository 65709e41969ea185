/* Which loops are executed in explicit vectors. All control in the body must be the same for all lanes, and what the lanes read and
 * write must lie side by side; then each statement becomes one on vectors. Any other loop is left to the C compiler. */
#include <string.h>

#include "emit/c_private.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------------------- */

static CShape shape_of_op(CWriter *w, const LExpr *e)
{
    CShape a = tessi_c_shape(w, e->arg[0]), b = C_UNIFORM, c = C_UNIFORM;
    if (e->n_args > 1)
        b = tessi_c_shape(w, e->arg[1]);
    if (e->n_args > 2)
        c = tessi_c_shape(w, e->arg[2]);
    if (a == C_UNIFORM && b == C_UNIFORM && c == C_UNIFORM)
        return C_UNIFORM;
    bool ramp = e->type == TYPE_INDEX && a + b == C_RAMP
                && (e->op == OP_ADD || (e->op == OP_SUB && a == C_RAMP));
    return ramp ? C_RAMP : C_LANES;
}

static CShape find_shape(CWriter *w, const LExpr *e)
{
    if (e->kind == LEXPR_VAR)
        return (CShape)w->vector.var_shape[e->var.v];
    if (e->kind == LEXPR_OP)
        return shape_of_op(w, e);
    for (int i = 0; i < e->n_args; i++)
        if (tessi_c_shape(w, e->arg[i]) != C_UNIFORM)
            return C_LANES;
    return C_UNIFORM;
}

CShape tessi_c_shape(CWriter *w, LExprId id)
{
    CVector *v = &w->vector;
    if (v->shape_stamp[id.v] != v->stamp) {
        CShape shape = find_shape(w, tessi_lexpr(w->p, id));
        v->shape[id.v] = (uint8_t)shape;
        v->shape_stamp[id.v] = v->stamp;
    }
    return (CShape)v->shape[id.v];
}

/* Gives the variables of a block their shapes; true when one has changed. */
static bool shape_variables(CWriter *w, const LBlock *block)
{
    bool changed = false;
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        changed |= shape_variables(w, &s->body);
        changed |= shape_variables(w, &s->orelse);
        if (s->kind != LSTMT_LET && s->kind != LSTMT_VAR && s->kind != LSTMT_SET)
            continue;
        CShape shape = tessi_c_shape(w, s->a);
        if (s->kind != LSTMT_LET && shape == C_RAMP)
            shape = C_LANES; /* later values may be anything */
        uint8_t *known = &w->vector.var_shape[s->var.v];
        if (*known < shape) {
            *known = (uint8_t)shape;
            changed = true;
        }
    }
    return changed;
}

/* ---- Values ------------------------------------------------------------------------------------------------------------- */

typedef struct Check {
    CWriter *w;
} Check;

static void touch(Check *c, bool *table, LBufferId b)
{
    CVector *v = &c->w->vector;
    if (!v->loaded[b.v] && !v->stored[b.v])
        VEC_PUSH(c->w->arena, &v->touched, b.v);
    table[b.v] = true;
}

static void widen(Check *c, ScalarType t)
{
    uint32_t bytes = t == TYPE_BOOL ? 1 : tessi_type_info(t)->bytes;
    if (c->w->vector.lane_bytes < bytes)
        c->w->vector.lane_bytes = bytes;
}

/* The elements of neighbouring points are neighbours in memory. */
static bool is_dense(const CWriter *w, LBufferId id)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    if (b->type == TYPE_F16 || b->n_dims == 0 || tessi_c_is_mixed(w, id))
        return false;
    const CImage *im = b->kind == LBUF_INPUT    ? &w->inputs[b->image]
                       : b->kind == LBUF_OUTPUT ? &w->outputs[b->image]
                                                : NULL;
    return !im || im->image->pixel_bytes == tessi_type_info(b->type)->bytes;
}

static bool is_side_by_side(CWriter *w, LBufferId b, const LExprId *index)
{
    int last = w->p->buffers.at[b.v].n_dims - 1;
    for (int d = 0; d < last; d++)
        if (tessi_c_shape(w, index[d]) != C_UNIFORM)
            return false;
    return last >= 0 && is_dense(w, b) && tessi_c_shape(w, index[last]) == C_RAMP;
}

static bool has_vector_form(const LExpr *e, ScalarType operands)
{
    if (operands == TYPE_F16)
        return false;
    if (operands != TYPE_BOOL)
        return true;
    return e->op == OP_AND || e->op == OP_OR || e->op == OP_XOR || e->op == OP_NOT
           || e->op == OP_SELECT || e->op == OP_EQ || e->op == OP_NE || e->op == OP_LT
           || e->op == OP_LE;
}

static bool check_value(Check *c, LExprId id);

static bool check_conversion(Check *c, const LExpr *e)
{
    const LExpr *x = tessi_lexpr(c->w->p, e->arg[0]);
    if (e->kind == LEXPR_CAST && e->ref == LCAST_ROUNDS_TO_F16)
        return false;
    widen(c, e->type);
    if (e->kind == LEXPR_CAST && tessi_is_integer(e->type)
        && tessi_c_shape(c->w, e->arg[0]) == C_RAMP)
        return true; /* the coordinates are counted up in the type wanted */
    return tessi_c_vector_converts(e->type, x->type, e->kind == LEXPR_SAT)
           && check_value(c, e->arg[0]);
}

/* Notes what the uniform parts load. */
static void note_loads(Check *c, LExprId id)
{
    const LExpr *e = tessi_lexpr(c->w->p, id);
    if (c->w->vector.noted[id.v] == c->w->vector.stamp)
        return;
    c->w->vector.noted[id.v] = c->w->vector.stamp;
    if (e->kind == LEXPR_LOAD)
        touch(c, c->w->vector.loaded, e->buffer);
    for (int i = 0; i < e->n_args; i++)
        note_loads(c, e->arg[i]);
}

static bool check_value(Check *c, LExprId id)
{
    CWriter *w = c->w;
    const LExpr *e = tessi_lexpr(w->p, id);
    if (tessi_c_shape(w, id) == C_UNIFORM) {
        note_loads(c, id);
        return true;
    }
    if (w->vector.checked[id.v] == w->vector.stamp)
        return true;
    if (e->type != TYPE_BOOL)
        widen(c, e->type);
    switch (e->kind) {
    case LEXPR_VAR: break;
    case LEXPR_LOAD:
        if (!is_side_by_side(w, e->buffer, e->arg))
            return false;
        widen(c, w->p->buffers.at[e->buffer.v].type);
        for (int i = 0; i < e->n_args; i++)
            note_loads(c, e->arg[i]);
        touch(c, w->vector.loaded, e->buffer);
        break;
    case LEXPR_OP: {
        ScalarType operands = tessi_lexpr(w->p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
        if (!has_vector_form(e, operands))
            return false;
        widen(c, operands);
        for (int i = 0; i < e->n_args && tessi_c_shape(w, id) != C_RAMP; i++)
            if (!check_value(c, e->arg[i]))
                return false;
        break;
    }
    case LEXPR_CAST:
    case LEXPR_SAT:
        if (!check_conversion(c, e))
            return false;
        break;
    default: return false;
    }
    w->vector.checked[id.v] = w->vector.stamp;
    return true;
}

/* ---- Statements ------------------------------------------------------------------------------------------------------------ */

static bool check_uniform(Check *c, LExprId id)
{
    note_loads(c, id);
    return tessi_c_shape(c->w, id) == C_UNIFORM;
}

static bool check_definition(Check *c, const LStmt *s)
{
    uint32_t v = s->var.v;
    if (s->kind == LSTMT_SET && !c->w->vector.declared[v])
        return false; /* carried from lane to lane */
    c->w->vector.declared[v] = true;
    if (c->w->vector.var_shape[v] == C_RAMP) {
        note_loads(c, s->a);
        return true;
    }
    return check_value(c, s->a);
}

static bool check_store(Check *c, const LStmt *s)
{
    for (int i = 0; i < s->n_index; i++)
        note_loads(c, s->index[i]);
    widen(c, c->w->p->buffers.at[s->buffer.v].type);
    touch(c, c->w->vector.stored, s->buffer);
    if (s->b.v && !check_uniform(c, s->b))
        return false;
    return is_side_by_side(c->w, s->buffer, s->index) && check_value(c, s->a);
}

static bool check_block(Check *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        bool good = false;
        switch (s->kind) {
        case LSTMT_FOR:
            good = !(s->flags & LFOR_PARALLEL) && check_uniform(c, s->a) && check_uniform(c, s->b)
                   && check_block(c, &s->body);
            break;
        case LSTMT_IF:
            good = check_uniform(c, s->a) && check_block(c, &s->body) && check_block(c, &s->orelse);
            break;
        case LSTMT_LET:
        case LSTMT_VAR:
        case LSTMT_SET: good = check_definition(c, s); break;
        case LSTMT_STORE: good = check_store(c, s); break;
        case LSTMT_COMMENT: good = true; break;
        case LSTMT_ADD:
        case LSTMT_LOCAL:
        case LSTMT_MOVE:
        case LSTMT_SHIFT:
        case LSTMT_SORT: break;
        }
        if (!good)
            return false;
    }
    return true;
}

/* ---- Loops -------------------------------------------------------------------------------------------------------------------- */

static void make_tables(CWriter *w)
{
    const LoopProgram *p = w->p;
    CVector *v = &w->vector;
    if (v->shape)
        return;
    v->var_shape = ARENA_NEW_ARRAY(w->arena, uint8_t, p->vars.n);
    v->shape = ARENA_NEW_ARRAY(w->arena, uint8_t, p->exprs.n);
    v->shape_stamp = ARENA_NEW_ARRAY(w->arena, uint32_t, p->exprs.n);
    v->noted = ARENA_NEW_ARRAY(w->arena, uint32_t, p->exprs.n);
    v->checked = ARENA_NEW_ARRAY(w->arena, uint32_t, p->exprs.n);
    v->name = ARENA_NEW_ARRAY(w->arena, const char *, (size_t)C_MOST_COPIES * p->vars.n);
    v->loaded = ARENA_NEW_ARRAY(w->arena, bool, p->buffers.n);
    v->stored = ARENA_NEW_ARRAY(w->arena, bool, p->buffers.n);
    v->declared = ARENA_NEW_ARRAY(w->arena, bool, p->vars.n);
    v->changed = ARENA_NEW_ARRAY(w->arena, bool, p->vars.n);
}

static void find_vars(CWriter *w, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->var.v)
            VEC_PUSH(w->arena, &w->vector.vars, s->var.v);
        find_vars(w, &s->body);
        find_vars(w, &s->orelse);
    }
}

void tessi_c_vector_clear(const CWriter *w, void *table, size_t size)
{
    VEC_FOREACH (const uint32_t, v, &w->vector.vars)
        memset((char *)table + *v * size, 0, size);
}

/* Nothing is known of any loop. */
static void clear_tables(CWriter *w)
{
    CVector *v = &w->vector;
    tessi_c_vector_clear(w, v->var_shape, sizeof *v->var_shape);
    tessi_c_vector_clear(w, v->declared, sizeof *v->declared);
    tessi_c_vector_clear(w, v->changed, sizeof *v->changed);
    VEC_FOREACH (const uint32_t, b, &v->touched)
        v->loaded[*b] = v->stored[*b] = false;
}

static bool qualifies(CWriter *w, const LStmt *loop)
{
    CVector *v = &w->vector;
    memset(&v->vars, 0,
           sizeof v->vars); /* of its own: in the text of one loop there may be another */
    memset(&v->touched, 0, sizeof v->touched);
    VEC_PUSH(w->arena, &v->vars, loop->var.v);
    find_vars(w, &loop->body);
    v->var_shape[loop->var.v] = C_RAMP;
    do
        v->stamp++;
    while (shape_variables(w, &loop->body));
    Check c = { .w = w };
    v->lane_bytes = 1;
    if (!check_block(&c, &loop->body))
        return false;
    v->repeatable = true;
    VEC_FOREACH (const uint32_t, b, &v->touched)
        v->repeatable = v->repeatable && !(v->loaded[*b] && v->stored[*b]);
    v->copies = loop->vectors < 1               ? 1
                : loop->vectors > C_MOST_COPIES ? C_MOST_COPIES
                                                : loop->vectors;
    v->copy = 0;
    v->pairs = v->copies == 2 && tessi_c_vector_can_pair(w, loop);
    tessi_c_vector_find_rows(w, loop);
    return true;
}

bool tessi_c_vector_begin(CWriter *w, const LStmt *loop)
{
    if (!w->vector_bytes || w->vector.loop || loop->step != 1)
        return false;
    make_tables(w);
    if (!qualifies(w, loop)) {
        clear_tables(w);
        return false;
    }
    w->vector.loop = loop;
    return true;
}

void tessi_c_vector_end(CWriter *w)
{
    w->vector.loop = NULL;
    clear_tables(w);
}
