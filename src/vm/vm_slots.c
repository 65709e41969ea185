/* Slots of the strip machine's compiler, and instructions that fill them. */
#include <string.h>

#include "vm/vm_compile.h"

unsigned tessi_vm_bytes(ScalarType t)
{
    return tessi_type_info(tessi_value_type(t))->bytes;
}

void tessi_vm_store_value(void *at, ScalarType t, Value v)
{
    if (t == TYPE_BOOL)
        *(bool *)at = v.i != 0;
    else
        tessi_store_element(tessi_value_type(t), at, v);
}

static uint32_t new_slot(VmCompile *c, VmSlot s)
{
    VEC_PUSH(c->a, &c->code->slots, s);
    return c->code->slots.n - 1;
}

uint32_t tessi_vm_scalar_slot(VmCompile *c, ScalarType t)
{
    return new_slot(c, (VmSlot){ .kind = VM_SCALAR,
                                 .bytes = (uint8_t)tessi_vm_bytes(t),
                                 .at = 8 * c->n_scalars++ });
}

uint32_t tessi_vm_given_slot(VmCompile *c, ScalarType t)
{
    const uint32_t slot = tessi_vm_scalar_slot(c, t);
    c->code->slots.at[slot].always = true;
    return slot;
}

bool tessi_vm_is_early(const VmCompile *c, uint32_t slot)
{
    return slot < c->first_slot || c->code->slots.at[slot].always;
}

uint32_t tessi_vm_strip_slot(VmCompile *c, unsigned bytes)
{
    const unsigned w = tessi_vm_width(bytes);
    return c->free_strips[w].n ? c->free_strips[w].at[--c->free_strips[w].n]
                               : tessi_vm_kept_strip(c, bytes);
}

uint32_t tessi_vm_kept_strip(VmCompile *c, unsigned bytes)
{
    const uint32_t at = (uint32_t)c->strip_units;
    c->strip_units += bytes;
    return new_slot(c, (VmSlot){ VM_STRIP, (uint8_t)bytes, false, at, c->loop });
}

uint32_t tessi_vm_view_slot(VmCompile *c, unsigned bytes, bool backed)
{
    const unsigned w = backed ? tessi_vm_width(bytes) : VM_WIDTHS;
    return c->free_views[w].n ? c->free_views[w].at[--c->free_views[w].n]
                              : tessi_vm_kept_view(c, bytes, backed);
}

uint32_t tessi_vm_kept_view(VmCompile *c, unsigned bytes, bool backed)
{
    const uint32_t at = (uint32_t)c->view_units;
    c->view_units += backed ? bytes : 0;
    return new_slot(c, (VmSlot){ VM_VIEW, backed ? (uint8_t)bytes : 0, false, at, c->loop });
}

void tessi_vm_give_back(VmCompile *c, uint32_t slot)
{
    const VmSlot *s = &c->code->slots.at[slot];
    if (s->kind == VM_STRIP)
        VEC_PUSH(c->a, &c->free_strips[tessi_vm_width(s->bytes)], slot);
    else if (s->kind == VM_VIEW)
        VEC_PUSH(c->a, &c->free_views[s->bytes ? tessi_vm_width(s->bytes) : VM_WIDTHS], slot);
}

typedef struct Wanted {
    const VmCompile *c;
    ScalarType type;
    Value value;
} Wanted;

static bool is_constant(void *user, uint32_t number)
{
    const Wanted *w = user;
    const VmConstant *k = &w->c->code->constants.at[number - 1];
    return k->type == w->type && memcmp(&k->value, &w->value, sizeof k->value) == 0;
}

uint32_t tessi_vm_constant(VmCompile *c, ScalarType t, Value v)
{
    const uint64_t hash = tessi_hash_bytes((uint64_t)t, &v, sizeof v);
    const uint32_t known =
        tessi_idmap_find(&c->constant_map, hash, is_constant, &(Wanted){ c, t, v });
    if (known)
        return c->code->constants.at[known - 1].slot;
    const VmConstant k = { tessi_vm_given_slot(c, t), t, v };
    VEC_PUSH(c->a, &c->code->constants, k);
    tessi_idmap_add(c->a, &c->constant_map, hash, c->code->constants.n);
    return k.slot;
}

uint32_t tessi_vm_index(VmCompile *c, int64_t i)
{
    return tessi_vm_constant(c, TYPE_INDEX, tessi_value_int(i));
}

VmIns *tessi_vm_emit(VmCompile *c, VmOpcode code)
{
    VEC_PUSH(c->a, &c->code->ins, ((VmIns){ .code = (uint8_t)code }));
    return &c->code->ins.at[c->code->ins.n - 1];
}

void tessi_vm_kernel(VmCompile *c, VmKernel kernel, bool strip, uint32_t d, uint32_t x, uint32_t y,
                     uint32_t z)
{
    if (!kernel)
        c->code->lacks = "the strip machine has no kernel for an operation on values of this type";
    VmIns *ins = tessi_vm_emit(c, VM_KERNEL);
    ins->strip = strip;
    ins->d = d;
    ins->a = x;
    ins->b = y;
    ins->c = z;
    ins->by.kernel = kernel;
}

uint32_t tessi_vm_spread(VmCompile *c, uint32_t scalar, unsigned bytes)
{
    const unsigned w = tessi_vm_width(bytes);
    const bool once = tessi_vm_is_early(c, scalar);
    VEC_FOREACH (const VmSpread, s, &c->spreads)
        if (once && s->scalar == scalar && s->width == w)
            return s->slot;
    const uint32_t slot = once ? tessi_vm_kept_strip(c, bytes) : tessi_vm_strip_slot(c, bytes);
    const VmIns ins = {
        .code = VM_KERNEL, .strip = 1, .d = slot, .a = scalar, .by.kernel = c->k->spread[w]
    };
    if (!once) {
        VEC_PUSH(c->a, &c->code->ins, ins);
        return slot;
    }
    VEC_PUSH(c->a, &c->before, ins);
    VEC_PUSH(c->a, &c->spreads, ((VmSpread){ scalar, slot, w }));
    return slot;
}
