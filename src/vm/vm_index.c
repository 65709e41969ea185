/* Indices of the strip machine's compiler: those that change evenly from point to point are places in memory. */
#include <string.h>

#include "vm/vm_compile.h"

static const VmAffine uneven = { false, 0, 0, 0 };

/* A new scalar: the operation on two. */
static uint32_t index_op(VmCompile *c, Op op, uint32_t x, uint32_t y)
{
    const uint32_t d = tessi_vm_scalar_slot(c, TYPE_INDEX);
    tessi_vm_kernel(c, c->k->op[op][TYPE_INDEX][0], false, d, x, y, 0);
    return d;
}

static VmAffine combine(VmCompile *c, VmAffine x, VmAffine y, Op op)
{
    if (!x.good || !y.good)
        return uneven;
    VmAffine r = { true, x.per + (op == OP_SUB ? -y.per : y.per),
                   x.add + (op == OP_SUB ? -y.add : y.add), x.base };
    if (y.base && x.base)
        r.base = index_op(c, op, x.base, y.base);
    else if (y.base)
        r.base = op == OP_SUB ? index_op(c, OP_SUB, tessi_vm_index(c, 0), y.base) : y.base;
    return r;
}

static VmAffine multiply(VmCompile *c, VmAffine x, VmAffine y)
{
    if (!x.good || !y.good)
        return uneven;
    if (x.per == 0 && x.base == 0) {
        const VmAffine constant = x;
        x = y;
        y = constant;
    }
    if (y.per || y.base)
        return uneven;
    VmAffine r = { true, x.per * y.add, x.add * y.add, x.base };
    if (x.base)
        r.base = index_op(c, OP_MUL, x.base, tessi_vm_index(c, y.add));
    return r;
}

VmAffine tessi_vm_affine(VmCompile *c, LExprId id)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    if (e->kind == LEXPR_CONST)
        return (VmAffine){ true, 0, e->value.i, 0 };
    if (!tessi_vm_varies(c, id))
        return (VmAffine){ true, 0, 0, tessi_vm_scalar(c, id) };
    if (e->kind == LEXPR_VAR && c->in_strip && e->var.v == c->x.v)
        return (VmAffine){ true, 1, 0, 0 };
    if (e->kind == LEXPR_VAR && c->var[e->var.v].is_affine)
        return c->var[e->var.v].at;
    if (e->kind != LEXPR_OP || e->type != TYPE_INDEX)
        return uneven;
    if (e->op == OP_ADD || e->op == OP_SUB)
        return combine(c, tessi_vm_affine(c, e->arg[0]), tessi_vm_affine(c, e->arg[1]), e->op);
    if (e->op == OP_MUL)
        return multiply(c, tessi_vm_affine(c, e->arg[0]), tessi_vm_affine(c, e->arg[1]));
    return uneven;
}

uint32_t tessi_vm_affine_scalar(VmCompile *c, VmAffine at)
{
    uint32_t slot = at.base;
    if (at.per) {
        uint32_t x = c->var[c->x.v].slot;
        x = at.per == 1 ? x : index_op(c, OP_MUL, x, tessi_vm_index(c, at.per));
        slot = slot ? index_op(c, OP_ADD, slot, x) : x;
    }
    if (at.add)
        slot =
            slot ? index_op(c, OP_ADD, slot, tessi_vm_index(c, at.add)) : tessi_vm_index(c, at.add);
    return slot ? slot : tessi_vm_index(c, 0);
}

uint32_t tessi_vm_ramp(VmCompile *c, VmAffine at)
{
    const uint32_t first = tessi_vm_affine_scalar(c, at);
    const uint32_t d = tessi_vm_strip_slot(c, 8);
    tessi_vm_kernel(c, c->k->ramp, true, d, first,
                    tessi_vm_index(c, at.per * c->code->loops.at[c->loop].step), 0);
    return d;
}

bool tessi_vm_address(VmCompile *c, LBufferId b, const LExprId *index, uint8_t n, VmAddress *at,
                      bool *moves)
{
    *at = (VmAddress){ .buffer = b, .n = n };
    at->expanded = c->in_strip && c->expanded[b.v] == c->strip_stamp;
    *moves = at->expanded;
    for (int d = 0; d < n; d++) {
        const VmAffine i = tessi_vm_affine(c, index[d]);
        if (!i.good)
            return false;
        at->index[d] = i.base;
        at->add[d] = i.add;
        at->per[d] = i.per;
        *moves = *moves || i.per;
        if (i.per && at->expanded)
            c->fault = "an array of each point is read at an index that differs";
    }
    return true;
}

uint32_t tessi_vm_note_address(VmCompile *c, const VmAddress *at)
{
    VEC_PUSH(c->a, &c->code->addresses, *at);
    return c->code->addresses.n - 1;
}

bool tessi_vm_is_dense(const VmCompile *c, const VmAddress *at)
{
    const LBufferKind kind = c->p->buffers.at[at->buffer.v].kind;
    if (at->expanded)
        return true;
    for (int d = 0; d + 1 < at->n; d++)
        if (at->per[d])
            return false;
    return kind != LBUF_INPUT && kind != LBUF_OUTPUT
           && at->per[at->n - 1] * c->code->loops.at[c->loop].step == 1;
}

/* The view of the place with the loop's variable at 0; 0: it is not known when the loop begins. */
static uint32_t row_of(VmCompile *c, const VmAddress *at)
{
    for (int d = 0; d < at->n; d++)
        if (!tessi_vm_is_early(c, at->index[d]))
            return 0;
    /* A local buffer that comes into being inside has its place there. */
    VEC_FOREACH (const VmRow, r, &c->rows)
        if (memcmp(&r->address, at, sizeof *at) == 0)
            return r->slot;
    const uint32_t slot = tessi_vm_kept_view(c, 8, false);
    const VmIns ins = { .code = VM_ROW, .d = slot, .a = tessi_vm_note_address(c, at) };
    VEC_PUSH(c->a, &c->before, ins);
    VEC_PUSH(c->a, &c->rows, ((VmRow){ *at, slot }));
    return slot;
}

uint32_t tessi_vm_view(VmCompile *c, const VmAddress *at, VmOpcode code)
{
    const ScalarType t = c->p->buffers.at[at->buffer.v].type;
    const unsigned bytes = tessi_type_info(t)->bytes;
    const bool dense = tessi_vm_is_dense(c, at);
    const uint32_t row = dense && !at->expanded ? row_of(c, at) : 0;
    const uint32_t d = tessi_vm_view_slot(c, bytes, !dense);
    const uint32_t a = row ? row : tessi_vm_note_address(c, at);
    VmIns *ins = tessi_vm_emit(c, row ? VM_NEAR : code);
    ins->d = d;
    ins->a = a;
    ins->type = (uint8_t)t;
    ins->imm = (int64_t)bytes; /* of NEAR: from point to point */
    return d;
}

/* The strip of an index. */
static uint32_t index_strip(VmCompile *c, LExprId id, VmAffine i)
{
    return i.good ? tessi_vm_ramp(c, i) : tessi_vm_strip(c, id, 0);
}

uint32_t tessi_vm_offsets(VmCompile *c, LBufferId b, const LExprId *index, uint8_t n, VmAddress *at)
{
    uint32_t all = 0;
    *at = (VmAddress){ .buffer = b, .n = n };
    if (c->expanded[b.v] == c->strip_stamp)
        c->fault = "an array of each point is read at an index that differs";
    for (uint8_t d = 0; d < n; d++) {
        const VmAffine i = tessi_vm_affine(c, index[d]);
        if (i.good && !i.per) {
            at->index[d] = i.base;
            at->add[d] = i.add;
            continue;
        }
        const uint32_t strip = index_strip(c, index[d], i), sum = tessi_vm_strip_slot(c, 8);
        VmIns *ins = tessi_vm_emit(c, VM_OFFSETS);
        ins->d = sum;
        ins->a = b.v;
        ins->b = strip;
        ins->c = all;
        ins->imm = d;
        if (i.good)
            tessi_vm_give_back(c, strip);
        else
            tessi_vm_done(c, index[d]);
        if (all)
            tessi_vm_give_back(c, all);
        all = sum;
    }
    return all;
}
