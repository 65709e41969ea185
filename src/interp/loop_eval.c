/* Evaluates expressions of loop programs. Each is made a list of steps when it is first met, all lanes of a node
 * before the next one: nothing of it is left out under a condition, so that the order does not depend on values. */
#include <string.h>

#include "interp/loop_run.h"

/* ---- Failures -------------------------------------------------------------------------------- */

bool tessi_run_fail_at(Run *r, const LoopBuffer *b, const int64_t *index, const char *what,
                       const char *why)
{
    Text t = tessi_text_new(r->arena);
    for (int d = 0; d < b->buffer->n_dims; d++)
        tessi_text_addf(&t, "%s%lld", d ? ", " : "", (long long)index[d]);
    return tessi_failf(r->failure, TESS_ERROR_INTERNAL, "function '%s': %s '%s'[%s] %s",
                       tessi_run_shown(r->function ? r->function->name : NULL), what,
                       tessi_run_shown(b->buffer->name), tessi_text_str(&t), why);
}

bool tessi_run_fail_outside(Run *r, const LoopBuffer *b, const int64_t *index, const char *what)
{
    Text t = tessi_text_new(r->arena);
    tessi_text_add(&t, "is outside its size");
    for (int d = 0; d < b->buffer->n_dims; d++)
        tessi_text_addf(&t, "%s %lld", d ? " x" : "", (long long)b->size[d]);
    return tessi_run_fail_at(r, b, index, what, tessi_text_str(&t));
}

/* ---- Loads ----------------------------------------------------------------------------------- */

bool tessi_run_touch(Run *r, LoopBuffer *b, int64_t element, const int64_t *index, TouchKind kind)
{
    int depth =
        tessi_loop_buffer_touch(b, element, kind, r->loops, r->n_loops, &r->next_touch_stamp);
    if (depth == -1)
        return true;
    if (depth == -2)
        return tessi_failf(r->failure, TESS_ERROR_MEMORY,
                           "not enough memory to check '%s' for races",
                           tessi_run_shown(b->buffer->name));
    const LVarId of = r->loop_stmt[depth]->var;
    const char *why = tessi_sprintf(
        r->arena, "in iteration %s = %lld, and another iteration of the same loop %s it",
        tessi_run_shown(r->p->vars.at[of.v].name), (long long)r->var[of.v].i,
        kind == TOUCH_READ ? "stores to" : "touches");
    static const char *const what[] = { "loads", "stores to", "stores to", "adds to" };
    return tessi_run_fail_at(r, b, index, what[kind], why);
}

bool tessi_run_load(Run *r, LBufferId id, const int64_t *index, Value *out)
{
    LoopBuffer *b = tessi_run_buffer(r, id);
    unsigned char *at;
    int64_t element = tessi_loop_buffer_element(b, index, &at);
    if (element < 0)
        return tessi_run_fail_outside(r, b, index, "the load of");
    if (b->stored) {
        if (!tessi_loop_buffer_is_stored(b, element))
            return tessi_run_fail_at(r, b, index, "the load of", "comes before any store to it");
        if (!tessi_run_touch(r, b, element, index, TOUCH_READ))
            return false;
    }
    *out = tessi_load_element(b->buffer->type, at);
    return true;
}

/* Four bytes, the first in the low bits. */
static bool load_four(Run *r, LBufferId b, int64_t *index, Value *out)
{
    uint32_t word = 0;
    for (int k = 0; k < 4; k++, index[r->buffers[b.v].buffer->n_dims - 1]++) {
        Value byte;
        if (!tessi_run_load(r, b, index, &byte))
            return false;
        word |= (uint32_t)byte.i << 8 * k;
    }
    *out = tessi_value_int(word);
    return true;
}

/* Of one lane, of a vector; index holds its operands' values. */
static bool load_lane(Run *r, const LExpr *e, int64_t lane, int64_t *index, Value *out)
{
    const LBuffer *b = r->buffers[e->buffer.v].buffer;
    Value other;
    if (b->lanes) {
        index[b->n_dims] = lane;
    } else if (tessi_load_each(e)) {
        /* the indices are those of the lane */
    } else if ((e->ref & 0xff) == LLOAD_APART) {
        index[e->n_args - 1] += lane * tessi_load_apart(e);
    } else if (e->lanes && e->ref != LLOAD_EVENS && e->ref != LLOAD_ODDS) {
        index[e->n_args - 1] += lane;
    } else if (e->lanes) { /* both are fetched */
        index[e->n_args - 1] += 2 * lane + (e->ref == LLOAD_EVENS);
        if (!tessi_run_load(r, e->buffer, index, &other))
            return false;
        index[e->n_args - 1] += e->ref == LLOAD_EVENS ? -1 : 1;
    }
    if (e->ref == LLOAD_FOURS)
        return load_four(r, e->buffer, index, out);
    return tessi_run_load(r, e->buffer, index, out);
}

static bool load(Run *r, const EvalStep *s)
{
    int64_t index[LOOP_MAX_DIMS + 1];
    for (uint32_t k = 0; k < s->n; k++) {
        for (int d = 0; d < s->e->n_args; d++)
            index[d] = s->arg[d].at[k * s->arg[d].step].i;
        if (!load_lane(r, s->e, k, index, &s->to[k]))
            return false;
    }
    return true;
}

/* A vector near a row, or one of two. */
static bool load_near(Run *r, const EvalStep *s)
{
    const LVarId row = tessi_lexpr(r->p, s->e->arg[0])->var;
    const int64_t number = tessi_lexpr(r->p, s->e->arg[1])->value.i;
    const Value *place = r->vector[row.v];
    if (r->p->vars.at[row.v].is_both) {
        memcpy(s->to, place + number * BOTH_APART, s->n * sizeof *s->to);
        return true;
    }
    const LBufferId b = { (uint32_t)place[LOOP_MAX_DIMS].i };
    const int n = r->buffers[b.v].buffer->n_dims;
    int64_t index[LOOP_MAX_DIMS];
    for (int d = 0; d < n; d++)
        index[d] = place[d].i;
    index[n - 1] += number;
    for (uint32_t k = 0; k < s->n; k++, index[n - 1]++)
        if (!tessi_run_load(r, b, index, &s->to[k]))
            return false;
    return true;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static inline Value argument(const EvalStep *s, int i, uint32_t k)
{
    return s->arg[i].at[k * s->arg[i].step];
}

/* Lanes of 32 bits hold whatever index they are given. */
static bool fits_lane(const LExpr *e, const Value *v)
{
    return e->lanes != 4 || e->type != TYPE_INDEX || (v->i >= INT32_MIN && v->i <= INT32_MAX);
}

/* INDEX never overflows, or generated C would be undefined. */
static bool index_arithmetic(Run *r, const LExpr *e, Value x, Value y, Value *out)
{
    bool fits = true;
    if (e->op == OP_ADD)
        fits = tessi_add_i64(x.i, y.i, &out->i);
    else if (e->op == OP_SUB)
        fits = tessi_sub_i64(x.i, y.i, &out->i);
    else if (e->op == OP_MUL)
        fits = tessi_mul_i64(x.i, y.i, &out->i);
    else if ((e->op == OP_FLOORDIV || e->op == OP_FLOORMOD) && y.i < 1)
        return tessi_failf(r->failure, TESS_ERROR_INTERNAL,
                           "function '%s': an index is divided by %lld",
                           tessi_run_shown(r->function ? r->function->name : NULL), (long long)y.i);
    else
        *out = tessi_eval_of(e->op, TYPE_INDEX, x, y, (Value){ 0 });
    fits = fits && fits_lane(e, out);
    return fits
           || tessi_failf(r->failure, TESS_ERROR_INTERNAL,
                          "function '%s': index arithmetic overflows",
                          tessi_run_shown(r->function ? r->function->name : NULL));
}

/* A byte by wrapping, as a value of the type it was. */
static Value low_byte(ScalarType byte, ScalarType t, Value v)
{
    return tessi_eval_cast(t, byte, tessi_eval_cast(byte, t, v));
}

static Value converted(const EvalStep *s, Value v)
{
    const LExpr *e = s->e;
    if (e->kind == LEXPR_SAT)
        return tessi_eval_sat(e->type, s->first, v);
    if (e->ref == LCAST_LOW_BYTE)
        return low_byte(tessi_is_unsigned(e->type) ? TYPE_U8 : TYPE_I8, e->type, v);
    return tessi_eval_cast(e->ref == LCAST_ROUNDS_TO_F16 ? TYPE_F16 : e->type, s->first, v);
}

static bool operation(Run *r, const EvalStep *s)
{
    const LExpr *e = s->e;
    const ScalarType t = e->op == OP_SELECT ? e->type : s->first;
    for (uint32_t k = 0; k < s->n; k++) {
        const Value x = argument(s, 0, k), y = e->n_args > 1 ? argument(s, 1, k) : x;
        if (s->first != TYPE_INDEX)
            s->to[k] =
                tessi_eval_of(e->op, t, x, y, e->n_args > 2 ? argument(s, 2, k) : (Value){ 0 });
        else if (!index_arithmetic(r, e, x, y, &s->to[k]))
            return false;
    }
    return true;
}

static void ramp(const EvalStep *s)
{
    for (uint32_t k = 0; k < s->n; k++) {
        s->to[k] = tessi_value_int(s->arg[0].at->i + k);
        if (s->e->type != TYPE_INDEX)
            s->to[k] = tessi_eval_cast(s->e->type, TYPE_INDEX, s->to[k]);
    }
}

static bool run_step(Run *r, const EvalStep *s)
{
    switch (s->e->kind) {
    case LEXPR_LOAD: return load(r, s);
    case LEXPR_AT: return load_near(r, s);
    case LEXPR_OP: return operation(r, s);
    case LEXPR_RAMP: ramp(s); return true;
    case LEXPR_CAST:
    case LEXPR_SAT:
        for (uint32_t k = 0; k < s->n; k++)
            s->to[k] = converted(s, argument(s, 0, k));
        return true;
    case LEXPR_PAIRS: /* a lane of bytes is one of two lanes of 16 bits */
        for (uint32_t k = 0; k < s->n; k++)
            s->to[k] = tessi_eval_cast(s->e->type, s->first, argument(s, k % 2, k / 2));
        return true;
    default: return true;
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

typedef VEC(EvalStep) EvalSteps;

Value *tessi_run_vector(Run *r, LVarId x)
{
    if (!r->vector[x.v])
        r->vector[x.v] = ARENA_NEW_ARRAY(r->arena, Value, LOOP_MOST_VECTOR);
    return r->vector[x.v];
}

/* Where the value of a node is once its steps are done. */
static Operand operand(Run *r, LExprId id)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    const EvalNode *node = &r->node[id.v];
    switch (e->kind) {
    case LEXPR_CONST: return (Operand){ &e->value, 0 };
    case LEXPR_VAR:
        if (e->lanes)
            return (Operand){ tessi_run_vector(r, e->var), 1 };
        return (Operand){ &r->var[e->var.v], 0 };
    case LEXPR_SPLAT: return operand(r, e->arg[0]);
    default: return (Operand){ node->value, !node->is_alike };
    }
}

static bool is_known(const Run *r, LExprId id)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    if (e->kind == LEXPR_SPLAT)
        return is_known(r, e->arg[0]);
    return e->kind == LEXPR_CONST || r->node[id.v].is_known;
}

/* What is the same all through the run; false: `id` is none of it. */
static bool know(Run *r, LExprId id)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    Value v;
    if (e->kind == LEXPR_PARAM) {
        v = tessi_value_int(r->args->params[e->ref]);
    } else if (e->kind == LEXPR_SCALAR) {
        v = r->args->scalars[e->ref];
    } else if (e->kind == LEXPR_LANES) {
        v = tessi_value_int(tessi_loop_lane_count(r->p, (uint8_t)e->ref));
    } else if (e->kind == LEXPR_VECTORS) {
        const int64_t n = tessi_loop_lane_count(r->p, (uint8_t)e->ref);
        v = tessi_value_int((tessi_lexpr(r->p, e->arg[0])->value.i + n - 1) / n);
    } else {
        return false;
    }
    r->node[id.v].value = ARENA_NEW(r->arena, Value);
    *r->node[id.v].value = v;
    r->node[id.v].is_known = r->node[id.v].is_alike = true;
    return true;
}

static bool add_steps(Run *r, LExprId id, EvalSteps *steps);

/* The step of a node whose arguments have theirs. One that needs only what is known is done here and now. */
static bool add_step(Run *r, LExprId id, EvalSteps *steps)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    EvalNode *node = &r->node[id.v];
    const bool computes = e->kind == LEXPR_OP || e->kind == LEXPR_CAST || e->kind == LEXPR_SAT;
    bool known = computes, alike = computes || !e->lanes;
    Operand *arg = ARENA_NEW_ARRAY(r->arena, Operand, e->n_args);
    for (int i = 0; i < e->n_args; i++) {
        arg[i] = operand(r, e->arg[i]);
        known = known && is_known(r, e->arg[i]);
        alike = alike && (!e->lanes || !arg[i].step);
    }
    EvalStep step = { .e = e, .arg = arg };
    step.first = e->n_args ? tessi_lexpr(r->p, e->arg[0])->type : e->type;
    step.n = alike ? 1 : (uint32_t)tessi_loop_lane_count(r->p, e->lanes);
    if (!node->value)
        node->value = ARENA_NEW_ARRAY(r->arena, Value, step.n);
    step.to = node->value;
    node->is_alike = alike;
    if (known)
        return node->is_known = run_step(r, &step);
    VEC_PUSH(r->arena, steps, step);
    return true;
}

static bool add_steps(Run *r, LExprId id, EvalSteps *steps)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    EvalNode *node = &r->node[id.v];
    if (e->kind == LEXPR_CONST || e->kind == LEXPR_VAR || node->is_known || node->code == r->n_codes
        || know(r, id))
        return true;
    node->code = r->n_codes;
    for (int i = 0; e->kind != LEXPR_AT && i < e->n_args; i++)
        if (!add_steps(r, e->arg[i], steps))
            return false;
    return e->kind == LEXPR_SPLAT || add_step(r, id, steps);
}

static bool make_code(Run *r, LExprId id)
{
    const uint8_t lanes = tessi_lexpr(r->p, id)->lanes;
    EvalSteps steps = { 0 };
    EvalCode *code = &r->code[id.v];
    r->n_codes++;
    if (!add_steps(r, id, &steps))
        return false;
    code->step = steps.at;
    code->n = steps.n;
    code->lanes = lanes ? (uint32_t)tessi_loop_lane_count(r->p, lanes) : 1;
    code->value = operand(r, id);
    return true;
}

uint32_t tessi_run_values(Run *r, LExprId id, Operand *out)
{
    const EvalCode *code = &r->code[id.v];
    if (!code->lanes && !make_code(r, id))
        return 0;
    for (uint32_t i = 0; i < code->n; i++)
        if (!run_step(r, &code->step[i]))
            return 0;
    *out = code->value;
    return code->lanes;
}

bool tessi_run_value(Run *r, LExprId id, Value *out)
{
    Operand value;
    if (!tessi_run_values(r, id, &value))
        return false;
    *out = *value.at;
    return true;
}

bool tessi_run_index(Run *r, const LExprId *ids, int n, int64_t *index)
{
    for (int d = 0; d < n; d++) {
        Value v;
        if (!tessi_run_value(r, ids[d], &v))
            return false;
        index[d] = v.i;
    }
    return true;
}
