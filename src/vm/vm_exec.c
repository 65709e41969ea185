/* Executes the instructions of the strip machine. */
#include <string.h>

#include "vm/vm_state.h"

static int64_t index_in(const VmThread *t, uint32_t slot)
{
    return *(const int64_t *)t->at[slot];
}

static char *place(const VmThread *t, const VmAddress *a)
{
    const int64_t *stride = t->run->buffers[a->buffer.v].stride;
    const int64_t lanes = a->expanded ? (int64_t)t->lanes : 1;
    char *p = t->base[a->buffer.v];
    for (int d = 0; d < a->n; d++) {
        int64_t i = a->add[d] + a->per[d] * t->x;
        i += a->index[d] ? index_in(t, a->index[d]) : 0;
        p += i * stride[d] * lanes;
    }
    return p;
}

/* Bytes from a point's element to the next one's. */
static ptrdiff_t lane_stride(const VmThread *t, const VmAddress *a)
{
    const VmBuffer *b = &t->run->buffers[a->buffer.v];
    int64_t stride = a->expanded ? b->bytes : 0;
    for (int d = 0; d < a->n; d++)
        stride += a->per[d] * t->step * b->stride[d];
    return (ptrdiff_t)stride;
}

/* The memory that a view has for itself. */
static void *own_memory(const VmThread *t, uint32_t slot)
{
    const VmSlot *s = &t->code->slots.at[slot];
    return t->strips + t->code->loops.at[s->loop].view_at + (size_t)s->at * t->lanes;
}

static void load(const VmThread *t, const VmIns *ins)
{
    const VmAddress *a = &t->code->addresses.at[ins->a];
    const unsigned bytes = t->run->buffers[a->buffer.v].bytes;
    char *from = place(t, a);
    const ptrdiff_t stride = lane_stride(t, a);
    if (stride != (ptrdiff_t)bytes) {
        void *own = own_memory(t, ins->d);
        t->code->k->pull[tessi_vm_width(bytes)](own, from, stride, t->n);
        from = own;
    }
    t->at[ins->d] = from;
}

static void choose_place(const VmThread *t, const VmIns *ins)
{
    const VmAddress *a = &t->code->addresses.at[ins->a];
    const bool direct = lane_stride(t, a) == (ptrdiff_t)t->run->buffers[a->buffer.v].bytes;
    t->at[ins->d] = direct ? place(t, a) : own_memory(t, ins->d);
}

static void flush(const VmThread *t, const VmIns *ins)
{
    const VmAddress *a = &t->code->addresses.at[ins->a];
    const unsigned bytes = t->run->buffers[a->buffer.v].bytes;
    const ptrdiff_t stride = lane_stride(t, a);
    if (stride != (ptrdiff_t)bytes)
        t->code->k->push[tessi_vm_width(bytes)](place(t, a), t->at[ins->d], stride, t->n);
}

static void copy_element(void *to, const void *from, unsigned bytes)
{
    switch (bytes) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8); break;
    }
}

static void fetch(const VmThread *t, const VmIns *ins)
{
    const VmAddress *a = &t->code->addresses.at[ins->a];
    const ScalarType type = (ScalarType)ins->type;
    const char *from = place(t, a);
    if (type == TYPE_F16 || type == TYPE_BOOL)
        tessi_vm_store_value(t->at[ins->d], type, tessi_load_element(type, from));
    else
        copy_element(t->at[ins->d], from, t->run->buffers[a->buffer.v].bytes);
}

static void put(const VmThread *t, const VmIns *ins)
{
    const VmAddress *a = &t->code->addresses.at[ins->a];
    const void *value = t->at[ins->b];
    char *to = place(t, a);
    if (ins->type == TYPE_F16)
        tessi_store_element(TYPE_F16, to, tessi_load_element(TYPE_F32, value));
    else
        copy_element(to, value, t->run->buffers[a->buffer.v].bytes);
}

static void add(const VmThread *t, const VmIns *ins)
{
    const int64_t here = 0;
    char *to = place(t, &t->code->addresses.at[ins->a]);
    if (ins->strip)
        ins->by.gather(to, t->at[ins->b], &here, 1);
    else
        ins->by.kernel(to, to, t->at[ins->b], NULL, 1);
}

static void sum(const VmThread *t, const VmIns *ins)
{
    const VmTap *tap = &t->code->taps.at[ins->imm];
    for (uint32_t i = 0; i < ins->a; i++)
        t->rows[i] = t->at[tap[i].row];
    if (ins->type == TYPE_F32)
        for (uint32_t i = 0; i < ins->a; i++)
            ((float *)t->weights)[i] = *(const float *)t->at[tap[i].weight];
    else
        for (uint32_t i = 0; i < ins->a; i++)
            ((double *)t->weights)[i] = *(const double *)t->at[tap[i].weight];
    ins->by.sum(t->at[ins->d], t->rows, t->weights, ins->a, t->at[ins->b], t->n);
}

static void offsets(const VmThread *t, const VmIns *ins)
{
    const VmKernels *k = t->code->k;
    const int64_t stride = t->run->buffers[ins->a].stride[ins->imm];
    if (ins->c)
        k->scale(t->at[ins->d], t->at[ins->b], &stride, t->at[ins->c], t->n);
    else
        k->op[OP_MUL][TYPE_I64][VM_LAST](t->at[ins->d], t->at[ins->b], &stride, NULL, t->n);
}

static void sort(const VmThread *t, const VmIns *ins)
{
    const size_t bytes = t->run->buffers[ins->a].bytes;
    const size_t n = ins->strip ? t->n : 1, pitch = ins->strip ? bytes * t->lanes : bytes;
    t->code->k->sort[ins->type](t->base[ins->a], pitch, (size_t)index_in(t, ins->b), n);
}

/* Elements from or to a line, which holds them one behind the other. */
static void move(const VmThread *t, const VmIns *ins)
{
    const LStmt *s = t->code->moves.at[ins->imm];
    const bool takes = tessi_loop_is_line(t->code->p, s->buffer);
    const LBufferId line = takes ? s->buffer : s->other, other = takes ? s->other : s->buffer;
    const VmBuffer *l = &t->run->buffers[line.v], *o = &t->run->buffers[other.v];
    const VmMove by = (takes ? t->code->k->pull : t->code->k->push)[tessi_vm_width(o->bytes)];
    char *at = place(t, &t->code->addresses.at[ins->a]);
    const size_t n = (size_t)l->elements * l->bytes / o->bytes;
    const ptrdiff_t stride = tessi_loop_channels(t->code->p, other) > 1
                                 ? (ptrdiff_t)o->bytes
                                 : (ptrdiff_t)o->stride[s->n_index - 1];
    by(takes ? t->base[line.v] : at, takes ? at : t->base[line.v], stride, n);
}

static void bring_local(const VmThread *t, const VmIns *ins)
{
    const VmLocal *local = &t->code->local[ins->a];
    t->base[ins->a] = ins->imm < 0
                          ? t->locals + local->at
                          : t->strips + t->code->loops.at[ins->imm].view_at + local->at * t->lanes;
}

void tessi_vm_enter(VmThread *t, const VmLoop *loop, uint32_t first)
{
    if (!loop->strip)
        return;
    t->x = 0;
    t->step = loop->step;
    t->n = t->lanes = loop->lanes;
    tessi_vm_exec(t, first, loop->body);
}

/* Strips of a loop over n points: as few as there can be, of about the same length, in whole lines of memory. */
static int64_t points_of_strip(const VmLoop *loop, int64_t n)
{
    const int64_t strips = (n + loop->lanes - 1) / loop->lanes;
    const int64_t points = (n + strips - 1) / strips;
    return (points + VM_LEAST_STRIP - 1) / VM_LEAST_STRIP * VM_LEAST_STRIP;
}

void tessi_vm_iterate(VmThread *t, const VmLoop *loop, int64_t from, int64_t to)
{
    int64_t *var = t->at[loop->var];
    if (to <= from)
        return;
    const int64_t points =
        loop->strip ? points_of_strip(loop, (to - from + loop->step - 1) / loop->step) : 1;
    for (int64_t i = from; i < to; i += points * loop->step) {
        *var = i;
        if (loop->strip) {
            const int64_t left = (to - i + loop->step - 1) / loop->step;
            t->x = i;
            t->n = (size_t)(left < points ? left : points);
        }
        tessi_vm_exec(t, loop->body, loop->end);
    }
}

static void run_loop(VmThread *t, const VmLoop *loop, uint32_t first)
{
    const int64_t from = index_in(t, loop->from), to = index_in(t, loop->to);
    if (to <= from)
        return;
    if (loop->parallel && t->run->team && !t->is_alone) {
        tessi_vm_team_run(t->run->team, t, loop, first, from, to);
        return;
    }
    tessi_vm_enter(t, loop, first);
    tessi_vm_iterate(t, loop, from, to);
}

void tessi_vm_exec(VmThread *t, uint32_t pc, uint32_t end)
{
    const VmIns *all = t->code->ins.at;
    void **at = t->at;
    while (pc < end) {
        const VmIns *ins = &all[pc++];
        switch ((VmOpcode)ins->code) {
        case VM_KERNEL: /* mostly there are several, one behind the other */
            for (;; ins++) {
                const size_t n = ins->strip ? t->n : 1;
                ins->by.kernel(at[ins->d], at[ins->a], at[ins->b], at[ins->c], n);
                if (pc == end || ins[1].code != VM_KERNEL)
                    break;
                pc++;
            }
            break;
        case VM_SUM: sum(t, ins); break;
        case VM_ROW: at[ins->d] = place(t, &t->code->addresses.at[ins->a]); break;
        case VM_NEAR:
            for (;; ins++) {
                at[ins->d] = (char *)at[ins->a] + t->x * ins->imm;
                if (pc == end || ins[1].code != VM_NEAR)
                    break;
                pc++;
            }
            break;
        case VM_LOAD: load(t, ins); break;
        case VM_FETCH: fetch(t, ins); break;
        case VM_PLACE: choose_place(t, ins); break;
        case VM_FLUSH: flush(t, ins); break;
        case VM_PUT: put(t, ins); break;
        case VM_OFFSETS: offsets(t, ins); break;
        case VM_GATHER:
            ins->by.gather(at[ins->d], place(t, &t->code->addresses.at[ins->a]), at[ins->b], t->n);
            break;
        case VM_SCATTER:
            ins->by.gather(place(t, &t->code->addresses.at[ins->a]), at[ins->d], at[ins->b], t->n);
            break;
        case VM_ADD: add(t, ins); break;
        case VM_SORT: sort(t, ins); break;
        case VM_MOVE: move(t, ins); break;
        case VM_LOCAL: bring_local(t, ins); break;
        case VM_LOOP:
            run_loop(t, &t->code->loops.at[ins->imm], pc);
            pc = t->code->loops.at[ins->imm].end;
            break;
        case VM_IF: pc = *(const bool *)at[ins->a] ? pc : (uint32_t)ins->imm; break;
        case VM_JUMP: pc = (uint32_t)ins->imm; break;
        }
    }
}
