/* Values and statements of a loop, on vectors. What is the same for all lanes stays a scalar and is spread where a
 * vector is wanted; a coordinate is kept as that of the first lane and counted up where its value is wanted. */
#include "loop/vector.h"

/* ---- Values ------------------------------------------------------------------------------------------------------ */

void tessi_vector_use_copy(Vectors *v, uint32_t copy)
{
    v->copy = copy;
    v->value_now++;
}

static LExprId scalar_of(void *user, LExprId id)
{
    return tessi_vector_scalar(user, id);
}

LExprId tessi_vector_scalar(Vectors *v, LExprId id)
{
    if (!id.v || v->scalar_stamp[id.v] == v->value_now)
        return id.v ? v->scalar[id.v] : id;
    const LExpr *e = tessi_lexpr(v->p, id);
    const LExprId as = e->kind == LEXPR_VAR ? v->var_as[v->copy][e->var.v] : (LExprId){ 0 };
    const LExprId result = as.v ? as : tessi_pass_changed(v->p, id, scalar_of, v);
    v->scalar[id.v] = result;
    v->scalar_stamp[id.v] = v->value_now;
    return result;
}

static LExprId conversion(Vectors *v, const LExpr *e)
{
    if (e->kind == LEXPR_SAT)
        return tessi_lexpr_sat(v->p, e->type, tessi_vector_value(v, e->arg[0]));
    if (tessi_is_integer(e->type) && tessi_vector_shape(v, e->arg[0]) == SHAPE_RAMP)
        return tessi_lexpr_ramp(v->p, v->lane_bytes, e->type, tessi_vector_scalar(v, e->arg[0]));
    const LExprId value = tessi_vector_value(v, e->arg[0]);
    if (e->type == TYPE_INDEX && v->lane_bytes < 4)
        return value; /* a narrow integer, which stays one */
    return tessi_lexpr_cast(v->p, e->type, value);
}

static LExprId load(Vectors *v, const LExpr *e)
{
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    const bool near = tessi_vector_side_by_side(v, e->buffer, e->arg);
    const int32_t apart = near ? 0 : tessi_vector_apart(v, e);
    uint32_t how = near ? e->ref : LLOAD_EACH;
    for (int i = 0; i < e->n_args; i++)
        if (near || tessi_vector_shape(v, e->arg[i]) == SHAPE_UNIFORM)
            arg[i] = tessi_vector_scalar(v, e->arg[i]);
        else if (!apart)
            arg[i] = tessi_vector_value(v, e->arg[i]);
    int64_t slope;
    if (apart && tessi_vector_slope(v, e->arg[e->n_args - 1], &slope, &arg[e->n_args - 1]))
        how = LLOAD_APART | (uint32_t)apart << LLOAD_BITS;
    return tessi_lexpr_load_lanes(v->p, v->lane_bytes, how, e->buffer, arg);
}

static LExprId value_of(Vectors *v, const LExpr *e)
{
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    switch (e->kind) {
    case LEXPR_VAR: return v->var_as[v->copy][e->var.v];
    case LEXPR_LOAD: return load(v, e);
    case LEXPR_OP:
        for (int i = 0; i < e->n_args; i++)
            arg[i] = tessi_vector_value(v, e->arg[i]);
        return tessi_lexpr_op(v->p, e->op, arg[0], arg[1], arg[2]);
    default: return conversion(v, e);
    }
}

LExprId tessi_vector_value(Vectors *v, LExprId id)
{
    if (v->expr_as[id.v].v)
        return v->expr_as[id.v];
    if (v->value_stamp[id.v] == v->value_now)
        return v->value[id.v];
    const LExpr e = *tessi_lexpr(v->p, id);
    const LShape shape = tessi_vector_shape(v, id);
    LExprId result;
    if (shape == SHAPE_UNIFORM)
        result = tessi_lexpr_splat(v->p, v->lane_bytes, tessi_vector_scalar(v, id));
    else if (shape == SHAPE_RAMP)
        result = tessi_lexpr_ramp(v->p, v->lane_bytes, e.type, tessi_vector_scalar(v, id));
    else
        result = value_of(v, &e);
    v->value[id.v] = result;
    v->value_stamp[id.v] = v->value_now;
    return result;
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

/* The variable of the copy in hand; that of the first lane keeps its own. */
static LVarId variable(Vectors *v, const LStmt *s, LShape shape)
{
    LExprId *as = &v->var_as[v->copy][s->var.v];
    if (s->kind == LSTMT_SET)
        return tessi_lexpr(v->p, *as)->var;
    const LVar x = v->p->vars.at[s->var.v];
    LVarId var = s->var;
    ScalarType type = shape == SHAPE_LANES ? v->form->type(x.type) : x.type;
    if (shape == SHAPE_LANES && type == TYPE_INDEX && v->lane_bytes < 4)
        type = tessi_lexpr(v->p, tessi_vector_narrow_index(v, s->a))->type;
    if (shape == SHAPE_LANES || v->copy)
        var = tessi_loop_var(v->p, x.name, type, x.is_mutable);
    if (shape == SHAPE_LANES)
        v->p->vars.at[var.v].lanes = v->lane_bytes;
    *as = tessi_lexpr_var(v->p, var);
    return var;
}

static void define(Vectors *v, const LStmt *s, LBlock *out)
{
    const LShape shape = (LShape)v->var_shape[s->var.v];
    if (v->needed[s->var.v] != v->stamp && tessi_vector_is_offset(v, s->var))
        return;
    for (uint32_t c = 0; c < (shape == SHAPE_UNIFORM ? 1 : v->copies); c++) {
        tessi_vector_use_copy(v, c);
        const LExprId value =
            shape == SHAPE_LANES ? v->form->value(v, s->a) : tessi_vector_scalar(v, s->a);
        LStmt *t = tessi_pass_like(v->p, out, s);
        t->a = value;
        t->b = tessi_vector_scalar(v, s->b);
        if (shape != SHAPE_UNIFORM)
            t->var = variable(v, s, shape);
    }
}

static void store(Vectors *v, const LStmt *s, LBlock *out)
{
    for (uint32_t c = 0; c < v->copies; c++) {
        tessi_vector_use_copy(v, c);
        LStmt *t = tessi_pass_like(v->p, out, s);
        for (int d = 0; d < s->n_index; d++)
            t->index[d] = tessi_vector_scalar(v, s->index[d]);
        LExprId first;
        const int64_t apart = tessi_vector_store_apart(v, s, &first);
        if (apart > 1) {
            t->flags |= LSTORE_APART;
            t->step = apart;
            t->index[s->n_index - 1] = first;
        }
        t->a = v->form->value(v, s->a);
        t->b = tessi_vector_scalar(v, s->b);
    }
}

static ScalarType same_type(ScalarType t)
{
    return t;
}

const VectorForm tessi_vector_plain = { tessi_vector_value, same_type, store };

void tessi_vector_body(Vectors *v, const LBlock *from, LBlock *to)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const LStmt *s = from->at[i];
        LStmt *t;
        switch (s->kind) {
        case LSTMT_LET:
        case LSTMT_VAR:
        case LSTMT_SET: define(v, s, to); break;
        case LSTMT_STORE: v->form->store(v, s, to); break;
        default: /* a loop, a condition or a comment */
            tessi_vector_use_copy(v, 0);
            t = tessi_pass_like(v->p, to, s);
            t->flags &= (uint8_t)~LFOR_SIMD;
            t->a = tessi_vector_scalar(v, s->a);
            t->b = tessi_vector_scalar(v, s->b);
            tessi_vector_body(v, &s->body, &t->body);
            tessi_vector_body(v, &s->orelse, &t->orelse);
            break;
        }
    }
}

LExprId tessi_vector_new_var(Vectors *v, const char *name)
{
    return tessi_lexpr_var(v->p, tessi_loop_var(v->p, name, TYPE_INDEX, false));
}

LExprId tessi_vector_points(Vectors *v, int64_t n)
{
    return tessi_pass_op(v->p, OP_MUL, tessi_lexpr_lanes(v->p, v->lane_bytes),
                         tessi_lexpr_index(v->p, n));
}
