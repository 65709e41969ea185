/* Lives of intermediate images and the slots they share: one pass over the functions in their order, as a register
 * allocator does for straight-line code. */
#include "loop/loop_layout.h"
#include "loop/loop_lanes.h"
#include "loop/pass.h"

/* ---- Lives ----------------------------------------------------------------------------------- */

typedef struct LifeFinder {
    const LoopProgram *p;
    LoopLife *life;
    uint32_t function;
    uint32_t *seen; /* by LExprId: the last function (from 1) in which the expression was met */
} LifeFinder;

static void touch(LifeFinder *f, LBufferId b)
{
    LoopLife *life = &f->life[b.v];
    if (life->first > life->last)
        life->first = f->function;
    life->last = f->function;
}

static void find_in_block(LifeFinder *f, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        PASS_STMT_PARTS (e, f->p, f->seen, f->function + 1, s)
            if (e->kind == LEXPR_LOAD)
                touch(f, e->buffer);
        if (s->buffer.v)
            touch(f, s->buffer);
        if (s->other.v)
            touch(f, s->other);
    }
}

/* What a repeat touches lives from its first function to its last. Returns the function behind it. */
static uint32_t live_through(LifeFinder *f, uint32_t begin)
{
    const uint32_t repeat = f->p->functions.at[begin].place.repeat;
    uint32_t end = begin;
    while (end < f->p->functions.n && f->p->functions.at[end].place.repeat == repeat)
        end++;
    for (uint32_t b = 1; b < f->p->buffers.n; b++) {
        LoopLife *life = &f->life[b];
        if (life->first > life->last || life->last < begin || life->first >= end)
            continue;
        life->first = life->first > begin ? begin : life->first;
        life->last = life->last < end - 1 ? end - 1 : life->last;
    }
    return end;
}

static LoopLife *find_lives(const LoopProgram *p, Arena *a)
{
    LifeFinder f = { .p = p,
                     .life = ARENA_NEW_ARRAY(a, LoopLife, p->buffers.n),
                     .seen = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n) };
    for (uint32_t i = 0; i < p->buffers.n; i++)
        f.life[i] = (LoopLife){ 1, 0 };
    for (; f.function < p->functions.n; f.function++)
        find_in_block(&f, &p->functions.at[f.function].body);
    for (uint32_t i = 0; i < p->functions.n; i++)
        if (p->functions.at[i].place.repeat)
            i = live_through(&f, i) - 1;
    return f.life;
}

/* ---- Places ---------------------------------------------------------------------------------- */

int64_t tessi_loop_stack_bytes(const LoopProgram *p, LBufferId id)
{
    enum { MOST_BYTES = 4096 };
    const LBuffer *b = &p->buffers.at[id.v];
    int64_t bytes = tessi_type_info(b->type)->bytes;
    for (int d = 0; d < b->n_dims; d++) {
        const LExpr *size = tessi_lexpr(p, b->size[d]);
        if (size->kind != LEXPR_CONST || size->value.i < 1 || size->value.i > MOST_BYTES)
            return 0;
        bytes *= size->value.i;
        if (bytes > MOST_BYTES)
            return 0;
    }
    return b->kind == LBUF_TEMP ? bytes : 0;
}

bool tessi_loop_is_padded(const LoopProgram *p, LBufferId id)
{
    const LBuffer *b = &p->buffers.at[id.v];
    return b->kind == LBUF_TEMP && b->n_dims > 1 && !tessi_loop_stack_bytes(p, id);
}

int64_t tessi_loop_pitch(int64_t row, ScalarType t)
{
    enum { SHORT_ROW = 4 }; /* lines: padding would cost more memory than it is worth */
    int64_t line = LAYOUT_LINE / (int64_t)tessi_type_info(t)->bytes;
    return row <= SHORT_ROW * line ? row : ((row + line - 1) / line | 1) * line;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

bool tessi_loop_same_shape(const LBuffer *a, const LBuffer *b)
{
    if (tessi_type_info(a->type)->bytes != tessi_type_info(b->type)->bytes
        || a->n_dims != b->n_dims)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->size[d].v != b->size[d].v)
            return false;
    return true;
}

/* Bytes of the stack that intermediate images take, or the LOCAL buffers of a function. */
enum { MOST_ON_STACK = 16 << 10 };

typedef struct Slot {
    uint32_t shape, free_from; /* the first function that may use it again */
} Slot;
typedef struct SlotFinder {
    const LoopProgram *p;
    LoopLayout *layout;
    uint32_t *shape; /* by LBufferId: the first buffer of its shape */
    bool *wanted;    /* by shape: an image of that shape begins its life soon */
    int64_t on_stack;
    bool *stacked;   /* by LBufferId */
    VEC(Slot) slots; /* slot k is at[k - 1] */
} SlotFinder;

static bool needs_slot(const SlotFinder *f, uint32_t b)
{
    return f->p->buffers.at[b].kind == LBUF_TEMP
           && f->layout->life[b].first <= f->layout->life[b].last && !f->stacked[b];
}

static void find_stacked(SlotFinder *f)
{
    for (uint32_t b = 1; b < f->p->buffers.n; b++) {
        const int64_t bytes = tessi_loop_stack_bytes(f->p, (LBufferId){ b });
        f->stacked[b] = bytes && f->on_stack + bytes <= MOST_ON_STACK;
        f->on_stack += f->stacked[b] ? bytes : 0;
    }
}

/* A free slot for b: the latest freed of its own shape, whose bytes may still be in a cache; else the latest freed
 * of any other shape that nobody asks for while b lives; else a new one. */
static uint32_t find_slot(SlotFinder *f, Arena *a, uint32_t b)
{
    const LoopLife life = f->layout->life[b];
    uint32_t n = f->p->buffers.n, same = 0, other = 0;
    for (uint32_t c = 1; c < n; c++)
        f->wanted[f->shape[c]] = false;
    for (uint32_t c = 1; c < n; c++)
        if (needs_slot(f, c) && !f->layout->slot[c] && f->layout->life[c].first <= life.last)
            f->wanted[f->shape[c]] = true;
    for (uint32_t s = 1; s <= f->slots.n; s++) {
        const Slot *slot = &f->slots.at[s - 1];
        if (slot->free_from > life.first)
            continue;
        uint32_t *best = slot->shape == f->shape[b] ? &same : &other;
        if (best == &other && f->wanted[slot->shape])
            continue;
        if (!*best || slot->free_from > f->slots.at[*best - 1].free_from)
            *best = s;
    }
    if (same || other)
        return same ? same : other;
    VEC_PUSH(a, &f->slots, ((Slot){ .shape = f->shape[b] }));
    return f->slots.n;
}

/* ---- The parts of threads -------------------------------------------------------------------- */

static int64_t local_bytes(const LoopProgram *p, LBufferId id)
{
    const LBuffer *b = &p->buffers.at[id.v];
    int64_t bytes = tessi_type_info(b->type)->bytes;
    for (int d = 0; d < b->n_dims; d++)
        bytes *= tessi_loop_local_size(p, b->size[d]);
    return bytes;
}

/* What the LOCAL buffers of a function take of the stack, one beside the other. */
static int64_t stack_of(const LoopProgram *p, const LBlock *block)
{
    int64_t bytes = 0;
    PASS_FOREACH (s, block)
        if (s->kind == LSTMT_LOCAL)
            bytes += local_bytes(p, s->buffer);
    return bytes;
}

/* Places the LOCAL buffers of a block from byte `begin` on, those of blocks beside each other in one place. Returns
 * the end. */
static int64_t place_locals(const LoopProgram *p, LoopLayout *layout, const LBlock *block,
                            int64_t begin, int64_t *stack)
{
    enum { SMALL = 4096 };
    int64_t at = begin, end = begin;
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        const int64_t bytes = s->kind == LSTMT_LOCAL ? local_bytes(p, s->buffer) : 0;
        if (bytes
            && (p->buffers.at[s->buffer.v].lanes
                || (bytes <= SMALL && *stack + bytes <= MOST_ON_STACK))) {
            *stack += bytes;
        } else if (bytes) {
            layout->local_at[s->buffer.v] = at;
            at += (bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
        }
        const LBlock *inside[] = { &s->body, &s->orelse };
        for (int k = 0; k < 2; k++) {
            const int64_t last = place_locals(p, layout, inside[k], at, stack);
            end = last > end ? last : end;
        }
        end = at > end ? at : end;
    }
    return end;
}

static void place_all_locals(const LoopProgram *p, LoopLayout *layout, Arena *a)
{
    layout->local_at = ARENA_NEW_ARRAY(a, int64_t, p->buffers.n);
    for (uint32_t b = 0; b < p->buffers.n; b++)
        layout->local_at[b] = -1;
    int64_t most = 0;
    VEC_FOREACH (const LFunction, f, &p->functions) {
        int64_t stack = 0, end = 0;
        if (stack_of(p, &f->body) > MOST_ON_STACK)
            end = place_locals(p, layout, &f->body, 0, &stack);
        most = end > most ? end : most;
    }
    if (most)
        layout->thread_bytes = (most + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE + LAYOUT_SKEW;
}

LoopLayout tessi_loop_layout(const LoopProgram *p, Arena *a)
{
    uint32_t n = p->buffers.n;
    LoopLayout layout = { .life = find_lives(p, a), .slot = ARENA_NEW_ARRAY(a, uint32_t, n) };
    SlotFinder f = { .p = p,
                     .layout = &layout,
                     .shape = ARENA_NEW_ARRAY(a, uint32_t, n),
                     .wanted = ARENA_NEW_ARRAY(a, bool, n),
                     .stacked = ARENA_NEW_ARRAY(a, bool, n) };
    place_all_locals(p, &layout, a);
    find_stacked(&f);
    VEC(uint32_t) order = { 0 }; /* those that need a slot */
    for (uint32_t b = 1; b < n; b++) {
        for (f.shape[b] = 1; !tessi_loop_same_shape(&p->buffers.at[f.shape[b]], &p->buffers.at[b]);)
            f.shape[b]++;
        if (needs_slot(&f, b))
            VEC_PUSH(a, &order, b);
    }
    for (uint32_t function = 0; function < p->functions.n; function++) {
        for (uint32_t i = 0; i < order.n; i++) {
            uint32_t b = order.at[i];
            if (layout.life[b].first != function)
                continue;
            layout.slot[b] = find_slot(&f, a, b);
            f.slots.at[layout.slot[b] - 1].free_from = layout.life[b].last + 1;
        }
    }
    layout.n_slots = f.slots.n;
    return layout;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static int64_t size_value(const LoopProgram *p, LExprId id, const int64_t *params)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind == LEXPR_CONST)
        return e->value.i;
    if (e->kind == LEXPR_PARAM)
        return params[e->ref];
    Value args[3] = { { 0 } };
    for (int i = 0; i < e->n_args && i < 3; i++)
        args[i] = tessi_value_int(size_value(p, e->arg[i], params));
    ScalarType t = tessi_lexpr(p, e->arg[e->op == OP_SELECT ? 1 : 0])->type;
    return tessi_eval(e->op, t, args).i;
}

/* Where the slot of b ends that begins at `begin`; INT64_MAX when it is too large. */
static int64_t slot_end(const LoopProgram *p, LBufferId id, const int64_t *params, int64_t begin)
{
    const LBuffer *b = &p->buffers.at[id.v];
    int64_t bytes = tessi_type_info(b->type)->bytes, end;
    for (int d = 0; d < b->n_dims; d++) {
        int64_t n = size_value(p, b->size[d], params);
        if (d == b->n_dims - 1 && tessi_loop_is_padded(p, id) && n < INT64_MAX / 2)
            n = tessi_loop_pitch(n, b->type);
        if (n < 1 || !tessi_mul_i64(bytes, n, &bytes))
            return INT64_MAX;
    }
    if (bytes > INT64_MAX - 2 * LAYOUT_PAGE)
        return INT64_MAX;
    bytes = (bytes + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE + LAYOUT_SKEW;
    return tessi_add_i64(begin, bytes, &end) ? end : INT64_MAX;
}

int64_t tessi_loop_workspace_bytes(const LoopProgram *p, const LoopLayout *layout,
                                   const int64_t *params)
{
    int64_t end = 0;
    for (uint32_t slot = 1; slot <= layout->n_slots && end < INT64_MAX; slot++) {
        int64_t begin = end;
        for (uint32_t b = 1; b < p->buffers.n; b++) {
            if (layout->slot[b] != slot)
                continue;
            int64_t own_end = slot_end(p, (LBufferId){ b }, params, begin);
            end = own_end > end ? own_end : end;
        }
    }
    return end;
}
