/* Constructors of loop programs: the only place where loop expressions are made. Expressions are interned, constants
 * are folded by the one definition of the operators (tessi_eval), and index arithmetic goes through loop_index.c. */
#include <math.h>
#include <string.h>

#include "loop/loop_private.h"

LoopProgram *tessi_loop_new(Arena *a, const char *name)
{
    LoopProgram *p = ARENA_NEW(a, LoopProgram);
    p->arena = a;
    p->name = tessi_strdup(a, name);
    /* Place 0 of every table means "none". */
    VEC_PUSH(a, &p->exprs, (LExpr){ 0 });
    VEC_PUSH(a, &p->vars, (LVar){ 0 });
    VEC_PUSH(a, &p->buffers, (LBuffer){ 0 });
    return p;
}

LVarId tessi_loop_var(LoopProgram *p, const char *name, ScalarType t, bool is_mutable)
{
    LVar v = { .name = name, .type = t, .is_mutable = is_mutable };
    VEC_PUSH(p->arena, &p->vars, v);
    return (LVarId){ p->vars.n - 1 };
}

LBufferId tessi_loop_buffer(LoopProgram *p, const LBuffer *b)
{
    VEC_PUSH(p->arena, &p->buffers, *b);
    return (LBufferId){ p->buffers.n - 1 };
}

bool tessi_loop_is_line(const LoopProgram *p, LBufferId b)
{
    return p->buffers.at[b.v].kind == LBUF_LOCAL && p->buffers.at[b.v].n_dims == 1;
}

const LImage *tessi_loop_image(const LoopProgram *p, const LBuffer *b)
{
    return b->kind == LBUF_INPUT    ? &p->inputs.at[b->image]
           : b->kind == LBUF_OUTPUT ? &p->outputs.at[b->image]
                                    : NULL;
}

uint32_t tessi_loop_channels(const LoopProgram *p, LBufferId b)
{
    const LImage *image = tessi_loop_image(p, &p->buffers.at[b.v]);
    return image && image->uniform && !p->buffers.at[b.v].flat ? image->n_channels : 1;
}

bool tessi_loop_can_be_flat(const LoopProgram *p, const LImage *image)
{
    bool packed = image->uniform && image->n_dims > 0;
    for (uint32_t c = 0; packed && c < image->n_channels; c++)
        packed = image->channel_offset[c] == c * (image->pixel_bytes / image->n_channels);
    if (!packed || image->pixel_bytes % image->n_channels
        || image->pixel_bytes / image->n_channels != tessi_type_info(image->channel_type[0])->bytes)
        return false;
    const LExpr *last = tessi_lexpr(p, image->size[image->n_dims - 1]);
    return last->kind == LEXPR_CONST || last->kind == LEXPR_PARAM
           || (last->kind == LEXPR_OP && last->op == OP_FLOORDIV);
}

bool tessi_loop_is_flat_size(const LoopProgram *p, const LImage *image, LExprId size)
{
    const LExprId pixels = image->size[image->n_dims - 1];
    const LExpr *e = tessi_lexpr(p, size), *of = tessi_lexpr(p, pixels);
    int64_t all;
    if (of->kind == LEXPR_CONST)
        return e->kind == LEXPR_CONST && tessi_mul_i64(of->value.i, image->n_channels, &all)
               && e->value.i == all;
    if (e->kind != LEXPR_OP || e->op != OP_MUL || e->arg[0].v != pixels.v)
        return false;
    const LExpr *n = tessi_lexpr(p, e->arg[1]);
    return n->kind == LEXPR_CONST && n->value.i == image->n_channels;
}

static bool is_channel(const LoopProgram *p, int64_t v, const LBuffer *of, uint32_t c)
{
    const LBuffer *b = v > 0 && v < p->buffers.n ? &p->buffers.at[v] : NULL;
    return b && b->kind == of->kind && b->image == of->image && b->channel == c && !b->flat;
}

LBufferId tessi_loop_channel(const LoopProgram *p, LBufferId b, uint32_t c)
{
    const LBuffer *of = &p->buffers.at[b.v];
    if (tessi_loop_channels(p, b) == 1)
        return b;
    const int64_t near = (int64_t)b.v + c - of->channel; /* as a rule they stand side by side */
    if (is_channel(p, near, of, c))
        return (LBufferId){ (uint32_t)near };
    for (uint32_t v = 1; v < p->buffers.n; v++)
        if (is_channel(p, v, of, c))
            return (LBufferId){ v };
    return (LBufferId){ 0 };
}

uint32_t tessi_loop_line_holds(ScalarType line, ScalarType other)
{
    const uint32_t bytes = tessi_type_info(other)->bytes;
    if (line == other)
        return 1;
    return line == TYPE_U32 && bytes < 4 ? 4 / bytes : 0;
}

LExprId tessi_lexpr_with_args(LoopProgram *p, const LExpr *e, const LExprId *arg)
{
    LExpr copy = *e;
    switch (e->kind) {
    case LEXPR_LOAD:
        return e->lanes || e->ref == LLOAD_FOURS
                   ? tessi_lexpr_load_lanes(p, e->lanes, e->ref, e->buffer, arg)
                   : tessi_lexpr_load(p, e->buffer, arg, e->n_args);
    case LEXPR_SPLAT: return tessi_lexpr_splat(p, e->lanes, arg[0]);
    case LEXPR_VECTORS:
    case LEXPR_RAMP:
    case LEXPR_AT:
    case LEXPR_PAIRS:
    case LEXPR_BOTH:
        for (int i = 0; i < e->n_args; i++)
            copy.arg[i] = arg[i];
        return tessi_lexpr_intern(p, &copy);
    case LEXPR_OP: return tessi_lexpr_op(p, e->op, arg[0], arg[1], arg[2]);
    case LEXPR_SAT: return tessi_lexpr_sat(p, e->type, arg[0]);
    default: /* CAST: leaves have no arguments */
        if (e->ref == LCAST_LOW_BYTE)
            return tessi_lexpr_low_byte(p, arg[0]);
        return tessi_lexpr_cast(p, e->ref == LCAST_ROUNDS_TO_F16 ? TYPE_F16 : e->type, arg[0]);
    }
}

LStmt *tessi_lstmt(LoopProgram *p, LBlock *block, LStmtKind kind)
{
    LStmt *s = ARENA_NEW(p->arena, LStmt);
    s->kind = kind;
    s->step = 1;
    VEC_PUSH(p->arena, block, s);
    return s;
}

/* ---- Interning ------------------------------------------------------------------------------------------------- */

typedef struct Candidate {
    const LoopProgram *p;
    const LExpr *e;
} Candidate;

/* The bits that count of a constant: NaNs are one value, and -0 is not +0. */
static uint64_t value_bits(const LExpr *e)
{
    if (e->kind != LEXPR_CONST)
        return 0;
    uint64_t bits;
    memcpy(&bits, &e->value, sizeof bits);
    return bits;
}

static bool same_expr(void *user, uint32_t id)
{
    const Candidate *c = user;
    const LExpr *a = c->e, *b = &c->p->exprs.at[id];
    if (a->kind != b->kind || a->type != b->type || a->lanes != b->lanes || a->op != b->op
        || a->ref != b->ref || a->var.v != b->var.v || a->buffer.v != b->buffer.v
        || a->n_args != b->n_args || value_bits(a) != value_bits(b))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (a->arg[i].v != b->arg[i].v)
            return false;
    return true;
}

LExprId tessi_lexpr_intern(LoopProgram *p, const LExpr *e)
{
    uint64_t h =
        tessi_hash_u64(e->lanes, (uint64_t)e->kind << 32 | (uint64_t)e->type << 16 | e->op);
    h = tessi_hash_u64(h, (uint64_t)e->ref << 32 | e->var.v);
    h = tessi_hash_u64(h, (uint64_t)e->buffer.v << 32 | e->n_args);
    h = tessi_hash_u64(h, value_bits(e));
    for (int i = 0; i < e->n_args; i++)
        h = tessi_hash_u64(h, e->arg[i].v);
    Candidate c = { p, e };
    uint32_t id = tessi_idmap_find(&p->expr_map, h, same_expr, &c);
    if (!id) {
        VEC_PUSH(p->arena, &p->exprs, *e);
        id = p->exprs.n - 1;
        tessi_idmap_add(p->arena, &p->expr_map, h, id);
    }
    return (LExprId){ id };
}

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

LExprId tessi_lexpr_const(LoopProgram *p, ScalarType t, Value v)
{
    if (t == TYPE_F16)
        t = TYPE_F32; /* a storage type: values of it are floats */
    if (tessi_is_real(t) && isnan(v.f))
        v.f = (double)NAN;
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_CONST, .type = t, .value = v });
}

LExprId tessi_lexpr_index(LoopProgram *p, int64_t i)
{
    return tessi_lexpr_const(p, TYPE_INDEX, tessi_value_int(i));
}

LExprId tessi_lexpr_var(LoopProgram *p, LVarId v)
{
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_VAR,
                                           .type = p->vars.at[v.v].type,
                                           .lanes = p->vars.at[v.v].lanes,
                                           .var = v });
}

LExprId tessi_lexpr_param(LoopProgram *p, uint32_t param)
{
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_PARAM, .type = TYPE_INDEX, .ref = param });
}

LExprId tessi_lexpr_scalar(LoopProgram *p, uint32_t scalar)
{
    ScalarType t = tessi_value_type(p->scalars.at[scalar].type);
    return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_SCALAR, .type = t, .ref = scalar });
}

LExprId tessi_lexpr_load(LoopProgram *p, LBufferId b, const LExprId *index, uint8_t n)
{
    LExpr e = { .kind = LEXPR_LOAD,
                .type = tessi_value_type(p->buffers.at[b.v].type),
                .lanes = p->buffers.at[b.v].lanes,
                .buffer = b,
                .n_args = n };
    for (int i = 0; i < n; i++) {
        const uint8_t lanes = tessi_lexpr(p, index[i])->lanes;
        e.arg[i] = index[i];
        if (lanes) { /* each lane has its own place */
            e.lanes = lanes;
            e.ref = LLOAD_EACH;
        }
    }
    return tessi_lexpr_intern(p, &e);
}

/* ---- Operators ------------------------------------------------------------------------------- */

LExprId tessi_lexpr_raw_op(LoopProgram *p, Op op, ScalarType type, const LExprId *args)
{
    LExpr e = { .kind = LEXPR_OP, .type = type, .op = op, .n_args = tessi_op_info(op)->n_args };
    for (int i = 0; i < e.n_args; i++) {
        e.arg[i] = args[i];
        if (tessi_lexpr(p, args[i])->lanes > e.lanes)
            e.lanes = tessi_lexpr(p, args[i])->lanes;
    }
    return tessi_lexpr_intern(p, &e);
}

static bool is_const(const LoopProgram *p, LExprId id)
{
    return tessi_lexpr(p, id)->kind == LEXPR_CONST;
}

static bool is_bool_const(const LoopProgram *p, LExprId id, bool *value)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind != LEXPR_CONST || e->type != TYPE_BOOL)
        return false;
    *value = e->value.i != 0;
    return true;
}

/* Comparisons of integers and bool whose answer follows from the type; C compilers warn about them. */
static LExprId simplify_comparison(LoopProgram *p, Op op, ScalarType t, LExprId a, LExprId b)
{
    LExprId none = { 0 };
    if (tessi_is_real(t) || (op != OP_EQ && op != OP_NE && op != OP_LT && op != OP_LE))
        return none;
    if (a.v == b.v)
        return tessi_lexpr_const(p, TYPE_BOOL, tessi_value_int(op == OP_EQ || op == OP_LE));
    const Interval range = { tessi_type_least(t), tessi_type_most(t) };
    const LExpr *ea = tessi_lexpr(p, a), *eb = tessi_lexpr(p, b);
    bool left = ea->kind == LEXPR_CONST, right = eb->kind == LEXPR_CONST;
    if (op == OP_LT && ((left && ea->value.i == range.hi) || (right && eb->value.i == range.lo)))
        return tessi_lexpr_const(p, TYPE_BOOL, tessi_value_int(false));
    if (op == OP_LE && ((left && ea->value.i == range.lo) || (right && eb->value.i == range.hi)))
        return tessi_lexpr_const(p, TYPE_BOOL, tessi_value_int(true));
    return none;
}

/* x & true and the like; `none` when nothing is known. */
static LExprId simplify_bool(LoopProgram *p, Op op, LExprId a, LExprId b)
{
    LExprId none = { 0 };
    const LExpr *ea = tessi_lexpr(p, a);
    if (op == OP_NOT)
        return ea->kind == LEXPR_OP && ea->op == OP_NOT ? ea->arg[0] : none;
    if (op != OP_AND && op != OP_OR)
        return none;
    if (a.v == b.v)
        return a;
    bool value;
    if (is_bool_const(p, a, &value))
        return value == (op == OP_AND) ? b : a;
    if (is_bool_const(p, b, &value))
        return value == (op == OP_AND) ? a : b;
    return none;
}

/* A float16 as it is. */
static bool is_half(const LoopProgram *p, LExprId a)
{
    const LExpr *e = tessi_lexpr(p, a);
    return (e->kind == LEXPR_OP && e->op == OP_ROUND16)
           || (e->kind == LEXPR_CAST && e->ref == LCAST_ROUNDS_TO_F16)
           || (e->kind == LEXPR_LOAD && p->buffers.at[e->buffer.v].type == TYPE_F16);
}

LExprId tessi_lexpr_op(LoopProgram *p, Op op, LExprId a, LExprId b, LExprId c)
{
    LExprId args[3] = { a, b, c };
    int n = tessi_op_info(op)->n_args;
    ScalarType operands = tessi_lexpr(p, op == OP_SELECT ? b : a)->type;
    ScalarType type = tessi_op_result(op, operands);

    for (int i = 0; i < n; i++) /* vectors are as they are written */
        if (tessi_lexpr(p, args[i])->lanes)
            return tessi_lexpr_raw_op(p, op, type, args);
    if (op == OP_ROUND16 && is_half(p, a))
        return a;
    if (op == OP_SELECT) {
        bool taken;
        if (b.v == c.v)
            return b;
        if (is_bool_const(p, a, &taken))
            return taken ? b : c;
    }
    if (operands == TYPE_INDEX && op != OP_SELECT) {
        LExprId simple = tessi_lexpr_index_op(p, op, a, b);
        if (simple.v)
            return simple;
    } else {
        bool all_const = true;
        Value values[3];
        for (int i = 0; i < n; i++) {
            all_const = all_const && is_const(p, args[i]);
            values[i] = tessi_lexpr(p, args[i])->value;
        }
        if (all_const)
            return tessi_lexpr_const(p, type, tessi_eval(op, operands, values));
        LExprId simple = { 0 };
        if (op != OP_SELECT)
            simple = simplify_comparison(p, op, operands, a, b);
        if (!simple.v && operands == TYPE_BOOL && op != OP_SELECT)
            simple = simplify_bool(p, op, a, b);
        if (simple.v)
            return simple;
    }
    return tessi_lexpr_raw_op(p, op, type, args);
}

LExprId tessi_lexpr_cast(LoopProgram *p, ScalarType to, LExprId a)
{
    const LExpr *e = tessi_lexpr(p, a);
    if (to == TYPE_F16) { /* a float that a float16 can hold */
        LExprId none = { 0 };
        if (e->type == TYPE_F32)
            return tessi_lexpr_op(p, OP_ROUND16, a, none, none);
        if (e->kind == LEXPR_CONST)
            return tessi_lexpr_const(p, TYPE_F32, tessi_eval_cast(to, e->type, e->value));
        return tessi_lexpr_intern(p, &(LExpr){ .kind = LEXPR_CAST,
                                               .type = TYPE_F32,
                                               .lanes = e->lanes,
                                               .ref = LCAST_ROUNDS_TO_F16,
                                               .n_args = 1,
                                               .arg = { a } });
    }
    if (e->type == to)
        return a;
    if (e->kind == LEXPR_CONST)
        return tessi_lexpr_const(p, to, tessi_eval_cast(to, e->type, e->value));
    return tessi_lexpr_intern(
        p,
        &(LExpr){ .kind = LEXPR_CAST, .type = to, .lanes = e->lanes, .n_args = 1, .arg = { a } });
}

LExprId tessi_lexpr_sat(LoopProgram *p, ScalarType to, LExprId a)
{
    const LExpr *e = tessi_lexpr(p, a);
    if (tessi_is_real(to) || e->type == to)
        return tessi_lexpr_cast(p, to, a);
    if (e->kind == LEXPR_CONST)
        return tessi_lexpr_const(p, to, tessi_eval_sat(to, e->type, e->value));
    return tessi_lexpr_intern(
        p, &(LExpr){ .kind = LEXPR_SAT, .type = to, .lanes = e->lanes, .n_args = 1, .arg = { a } });
}
