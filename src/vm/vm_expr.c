/* Expressions in the strip machine's compiler: each node one instruction, of one value or of a strip. */
#include <string.h>

#include "vm/vm_compile.h"

/* ---- What a statement uses --------------------------------------------------------------------- */

static VmValue *value_of(VmCompile *c, LExprId id)
{
    VmValue *v = &c->value[id.v];
    if (v->stamp != c->stamp)
        *v = (VmValue){ .stamp = c->stamp };
    return v;
}

static void count_uses(VmCompile *c, LExprId id)
{
    VmValue *v = value_of(c, id);
    v->used = ++v->uses;
    if (v->uses > 1)
        return;
    const LExpr *e = tessi_lexpr(c->p, id);
    for (int i = 0; i < e->n_args; i++)
        count_uses(c, e->arg[i]);
}

void tessi_vm_begin(VmCompile *c, const LExprId *roots, int n)
{
    c->stamp++;
    for (int i = 0; i < n; i++)
        if (roots[i].v)
            count_uses(c, roots[i]);
}

bool tessi_vm_varies(VmCompile *c, LExprId id)
{
    VmValue *v = value_of(c, id);
    if (!c->in_strip)
        return false;
    if (v->varies)
        return v->varies == 2;
    const LExpr *e = tessi_lexpr(c->p, id);
    bool varies = false;
    if (e->kind == LEXPR_VAR)
        varies = e->var.v == c->x.v || c->var[e->var.v].lanes;
    if (e->kind == LEXPR_LOAD)
        varies = c->expanded[e->buffer.v] == c->strip_stamp;
    for (int i = 0; !varies && i < e->n_args; i++)
        varies = tessi_vm_varies(c, e->arg[i]);
    value_of(c, id)->varies = varies ? 2 : 1;
    return varies;
}

void tessi_vm_done(VmCompile *c, LExprId id)
{
    VmValue *v = value_of(c, id);
    if (!v->known || --v->uses)
        return;
    const uint32_t keeps = v->keeps;
    if (v->owns)
        tessi_vm_give_back(c, v->slot);
    v->owns = false;
    if (keeps)
        tessi_vm_done(c, (LExprId){ keeps });
}

bool tessi_vm_take(VmCompile *c, LExprId id)
{
    VmValue *v = value_of(c, id);
    const bool owns = v->owns && v->uses == 1;
    if (owns)
        v->owns = false;
    return owns;
}

/* ---- One value --------------------------------------------------------------------------------- */

static uint32_t numbered(VmCompile *c, uint32_t *slots, uint32_t number, ScalarType t)
{
    if (!slots[number])
        slots[number] = tessi_vm_given_slot(c, t);
    return slots[number];
}

/* The type of an operation's arguments by which kernels are found. */
static ScalarType argument_type(const VmCompile *c, const LExpr *e)
{
    return e->kind == LEXPR_OP && e->op == OP_SELECT ? e->type : tessi_lexpr(c->p, e->arg[0])->type;
}

static VmKernel conversion(const VmCompile *c, const LExpr *e, ScalarType from)
{
    if (e->kind == LEXPR_SAT)
        return c->k->sat[e->type][from];
    if (e->ref == LCAST_ROUNDS_TO_F16)
        return c->k->cast[TYPE_F16][from];
    return c->k->cast[e->type][from];
}

static VmKernel scalar_kernel(const VmCompile *c, const LExpr *e)
{
    const ScalarType t = argument_type(c, e);
    if (e->kind != LEXPR_OP)
        return conversion(c, e, t);
    if (e->op == OP_FMA)
        return c->k->fma[t][0];
    if (e->op == OP_SELECT)
        return c->k->select[tessi_vm_width(tessi_vm_bytes(t))][0];
    return c->k->op[e->op][t][0];
}

static uint32_t fetch(VmCompile *c, const LExpr *e)
{
    VmAddress at;
    bool moves;
    tessi_vm_address(c, e->buffer, e->arg, e->n_args, &at, &moves);
    const uint32_t d = tessi_vm_scalar_slot(c, e->type), a = tessi_vm_note_address(c, &at);
    VmIns *ins = tessi_vm_emit(c, VM_FETCH);
    ins->d = d;
    ins->a = a;
    ins->type = (uint8_t)c->p->buffers.at[e->buffer.v].type;
    return d;
}

static uint32_t scalar_operation(VmCompile *c, const LExpr *e)
{
    uint32_t arg[3] = { 0 };
    for (int i = 0; i < e->n_args; i++)
        arg[i] = tessi_vm_scalar(c, e->arg[i]);
    const uint32_t d = tessi_vm_scalar_slot(c, e->type);
    tessi_vm_kernel(c, scalar_kernel(c, e), false, d, arg[0], arg[1], arg[2]);
    return d;
}

uint32_t tessi_vm_scalar(VmCompile *c, LExprId id)
{
    VmValue *v = value_of(c, id);
    if (v->known)
        return v->slot;
    const LExpr *e = tessi_lexpr(c->p, id);
    uint32_t slot = 0;
    switch (e->kind) {
    case LEXPR_CONST: slot = tessi_vm_constant(c, e->type, e->value); break;
    case LEXPR_VAR: slot = c->var[e->var.v].slot; break;
    case LEXPR_PARAM: slot = numbered(c, c->code->param, e->ref, TYPE_INDEX); break;
    case LEXPR_SCALAR: slot = numbered(c, c->code->scalar, e->ref, e->type); break;
    case LEXPR_LOAD: slot = fetch(c, e); break;
    default: slot = scalar_operation(c, e); break;
    }
    v = value_of(c, id);
    v->known = true;
    v->slot = slot;
    return slot;
}

/* ---- Strips ------------------------------------------------------------------------------------ */

/* A strip of any operand. */
static uint32_t strip_of(VmCompile *c, LExprId id)
{
    if (tessi_vm_varies(c, id))
        return tessi_vm_strip(c, id, 0);
    return tessi_vm_spread(c, tessi_vm_scalar(c, id), tessi_vm_bytes(tessi_lexpr(c->p, id)->type));
}

/* Spread where the loop goes on: its own, and nobody's afterwards. */
static void strip_done(VmCompile *c, LExprId id, uint32_t slot)
{
    if (tessi_vm_varies(c, id))
        tessi_vm_done(c, id);
    else if (!tessi_vm_is_early(c, tessi_vm_scalar(c, id)))
        tessi_vm_give_back(c, slot);
}

static uint32_t destination(VmCompile *c, uint32_t d, ScalarType t)
{
    return d ? d : tessi_vm_strip_slot(c, tessi_vm_bytes(t));
}

/* An operand that may be a scalar where the form says so. */
typedef struct Operand {
    LExprId id;
    uint32_t slot;
    bool scalar;
} Operand;

static Operand operand(VmCompile *c, LExprId id, bool may_be_scalar)
{
    const bool scalar = may_be_scalar && !tessi_vm_varies(c, id);
    return (Operand){ id, scalar ? tessi_vm_scalar(c, id) : strip_of(c, id), scalar };
}

static void operand_done(VmCompile *c, Operand o)
{
    if (!o.scalar)
        strip_done(c, o.id, o.slot);
}

/* The order of the arguments does not matter for the bits. */
static bool commutes(Op op, ScalarType t)
{
    switch (op) {
    case OP_ADD:
    case OP_MUL:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_EQ:
    case OP_NE: return true;
    case OP_MIN:
    case OP_MAX: return !tessi_is_real(t);
    default: return false;
    }
}

static uint32_t emit_operation(VmCompile *c, VmKernel kernel, const LExpr *e, Operand *o, int n,
                               uint32_t d)
{
    d = destination(c, d, e->type);
    tessi_vm_kernel(c, kernel, true, d, o[0].slot, n > 1 ? o[1].slot : 0, n > 2 ? o[2].slot : 0);
    for (int i = 0; i < n; i++)
        operand_done(c, o[i]);
    return d;
}

static uint32_t fused(VmCompile *c, const LExpr *e, uint32_t d)
{
    LExprId first = e->arg[0], second = e->arg[1];
    if (!tessi_vm_varies(c, second)) {
        first = e->arg[1];
        second = e->arg[0];
    }
    Operand o[3] = { operand(c, first, true), operand(c, second, false),
                     operand(c, e->arg[2], true) };
    const int form = (o[0].scalar ? VM_FIRST_OF_3 : 0) | (o[2].scalar ? VM_LAST_OF_3 : 0);
    return emit_operation(c, c->k->fma[e->type][form], e, o, 3, d);
}

static uint32_t selected(VmCompile *c, const LExpr *e, uint32_t d)
{
    Operand o[3] = { operand(c, e->arg[0], false), operand(c, e->arg[1], true),
                     operand(c, e->arg[2], true) };
    const int form = (o[1].scalar ? VM_SECOND : 0) | (o[2].scalar ? VM_THIRD : 0);
    const unsigned w = tessi_vm_width(tessi_vm_bytes(e->type));
    return emit_operation(c, c->k->select[w][form], e, o, 3, d);
}

static bool is_end(const LExpr *e)
{
    return e->kind == LEXPR_OP && (e->op == OP_MIN || e->op == OP_MAX);
}

/* An argument that is a step of a network as well, of strips, and that nobody else wants; else -1. */
static int first_step(VmCompile *c, const LExpr *e)
{
    for (int i = 0; i < (tessi_is_real(e->type) ? 1 : 2); i++) {
        const LExpr *inner = tessi_lexpr(c->p, e->arg[i]);
        const VmValue *v = value_of(c, e->arg[i]);
        if (is_end(inner) && inner->type == e->type && v->used == 1 && !v->known
            && tessi_vm_varies(c, inner->arg[0]) && tessi_vm_varies(c, inner->arg[1])
            && tessi_vm_varies(c, e->arg[1 - i]))
            return i;
    }
    return -1;
}

/* Two steps at once: 0 where they are not. */
static uint32_t two_steps(VmCompile *c, const LExpr *e, uint32_t d)
{
    const int first = is_end(e) && c->k->steps[e->type][0][0] ? first_step(c, e) : -1;
    if (first < 0)
        return 0;
    const LExpr *inner = tessi_lexpr(c->p, e->arg[first]);
    Operand o[3] = { operand(c, inner->arg[0], false), operand(c, inner->arg[1], false),
                     operand(c, e->arg[1 - first], false) };
    return emit_operation(c, c->k->steps[e->type][e->op == OP_MAX][inner->op == OP_MAX], e, o, 3,
                          d);
}

static uint32_t operation(VmCompile *c, const LExpr *e, uint32_t d)
{
    const uint32_t steps = two_steps(c, e, d);
    if (steps)
        return steps;
    if (e->op == OP_FMA)
        return fused(c, e, d);
    if (e->op == OP_SELECT)
        return selected(c, e, d);
    const ScalarType t = tessi_lexpr(c->p, e->arg[0])->type;
    Operand o[3] = { { { 0 }, 0, false } };
    if (e->n_args == 2) {
        const bool swap = commutes(e->op, t) && !tessi_vm_varies(c, e->arg[0]);
        o[0] = operand(c, e->arg[swap], false);
        o[1] = operand(c, e->arg[!swap], true);
        return emit_operation(c, c->k->op[e->op][t][o[1].scalar], e, o, 2, d);
    }
    for (int i = 0; i < e->n_args; i++)
        o[i] = operand(c, e->arg[i], false);
    return emit_operation(c, c->k->op[e->op][t][0], e, o, e->n_args, d);
}

/* The same bits mean the same value. */
static bool is_same(ScalarType to, ScalarType from)
{
    const bool wide =
        (to == TYPE_I64 || to == TYPE_INDEX) && (from == TYPE_I64 || from == TYPE_INDEX);
    const bool integers = tessi_is_integer(to) && tessi_is_integer(from);
    return to == from || wide || (integers && tessi_vm_bytes(to) == tessi_vm_bytes(from));
}

static void copy(VmCompile *c, uint32_t d, uint32_t slot, unsigned bytes)
{
    tessi_vm_kernel(c, c->k->copy[tessi_vm_width(bytes)], true, d, slot, 0, 0);
}

/* Shares the slot of the argument, unless it is wanted in another. */
static uint32_t converted(VmCompile *c, LExprId id, uint32_t d)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    const ScalarType from = tessi_lexpr(c->p, e->arg[0])->type;
    const bool low = e->kind == LEXPR_CAST && e->ref == LCAST_LOW_BYTE;
    const bool plain = e->kind == LEXPR_CAST && e->ref == 0 && is_same(e->type, from);
    if (plain && !d) {
        const uint32_t slot = tessi_vm_strip(c, e->arg[0], 0);
        VmValue *v = value_of(c, id);
        v->keeps = e->arg[0].v;
        return slot;
    }
    Operand o[1] = { operand(c, e->arg[0], false) };
    VmKernel kernel = plain ? c->k->copy[tessi_vm_width(tessi_vm_bytes(from))]
                      : low ? c->k->low_byte[e->type]
                            : conversion(c, e, from);
    return emit_operation(c, kernel, e, o, 1, d);
}

/* ---- Strips from memory ------------------------------------------------------------------------ */

/* Elements as they lie there become values; gives the raw ones back. */
static uint32_t as_values(VmCompile *c, LBufferId b, uint32_t raw)
{
    const LBuffer *buffer = &c->p->buffers.at[b.v];
    VmKernel kernel = NULL;
    if (buffer->type == TYPE_F16)
        kernel = c->k->load_f16;
    if (buffer->type == TYPE_BOOL && buffer->kind == LBUF_INPUT)
        kernel = c->k->load_bool;
    if (!kernel)
        return raw;
    const uint32_t d = tessi_vm_strip_slot(c, tessi_vm_bytes(buffer->type));
    tessi_vm_kernel(c, kernel, true, d, raw, 0, 0);
    tessi_vm_give_back(c, raw);
    return d;
}

static uint32_t gathered(VmCompile *c, const LExpr *e)
{
    VmAddress at;
    const uint32_t offsets = tessi_vm_offsets(c, e->buffer, e->arg, e->n_args, &at);
    const ScalarType t = c->p->buffers.at[e->buffer.v].type;
    const unsigned bytes = tessi_type_info(t)->bytes;
    const uint32_t d = tessi_vm_strip_slot(c, bytes), a = tessi_vm_note_address(c, &at);
    VmIns *ins = tessi_vm_emit(c, VM_GATHER);
    ins->d = d;
    ins->a = a;
    ins->b = offsets;
    ins->by.gather = c->k->gather[tessi_vm_width(bytes)];
    tessi_vm_give_back(c, offsets);
    return as_values(c, e->buffer, d);
}

static uint32_t loaded(VmCompile *c, const LExpr *e)
{
    VmAddress at;
    bool moves;
    if (!tessi_vm_address(c, e->buffer, e->arg, e->n_args, &at, &moves) || !moves)
        return gathered(c, e);
    return as_values(c, e->buffer, tessi_vm_view(c, &at, VM_LOAD));
}

/* ---- All of them ------------------------------------------------------------------------------- */

static uint32_t compute(VmCompile *c, LExprId id, uint32_t d, bool *owns)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    *owns = !d;
    switch (e->kind) {
    case LEXPR_VAR:
        if (e->var.v == c->x.v || c->var[e->var.v].is_affine)
            return tessi_vm_ramp(c, tessi_vm_affine(c, id));
        *owns = false;
        return c->var[e->var.v].slot;
    case LEXPR_LOAD: return loaded(c, e);
    case LEXPR_OP: {
        const uint32_t sum = tessi_vm_as_sum(c, id, d);
        return sum ? sum : operation(c, e, d);
    }
    case LEXPR_CAST:
    case LEXPR_SAT: {
        const uint32_t slot = converted(c, id, d);
        *owns = !d && !value_of(c, id)->keeps;
        return slot;
    }
    default: c->fault = "a vector stands in it"; return tessi_vm_strip_slot(c, 8);
    }
}

uint32_t tessi_vm_strip(VmCompile *c, LExprId id, uint32_t d)
{
    VmValue *v = value_of(c, id);
    const LExpr *e = tessi_lexpr(c->p, id);
    if (!v->known) {
        bool owns;
        const VmAffine even = e->type == TYPE_INDEX ? tessi_vm_affine(c, id) : (VmAffine){ 0 };
        uint32_t slot;
        if (even.good) {
            slot = tessi_vm_ramp(c, even);
            owns = true;
        } else {
            slot = compute(c, id, d, &owns);
        }
        v = value_of(c, id);
        v->known = true;
        v->owns = owns;
        v->slot = slot;
    }
    if (d && v->slot != d)
        copy(c, d, v->slot, tessi_vm_bytes(e->type));
    return d ? d : v->slot;
}
