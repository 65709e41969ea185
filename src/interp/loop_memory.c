/* Buffers of the loop interpreter and their shadows: who stored an element, and which iteration of which loop
 * touched it. */
#include <stdlib.h>

#include "interp/loop_memory.h"

enum { NOBODY = 0 };
static const uint32_t many = UINT32_MAX;

bool tessi_loop_buffer_make(LoopBuffer *b)
{
    const LBuffer *lb = b->buffer;
    size_t bytes = tessi_type_info(lb->type)->bytes, n = 1;
    for (int d = 0; d < lb->n_dims; d++)
        if (!tessi_mul_size(n, (size_t)b->size[d], &n))
            return false;
    if (!tessi_mul_size(n, (size_t)b->lanes, &n))
        return false;
    b->n_copy = n;
    if (!tessi_mul_size(n, (size_t)b->copies, &n))
        return false;
    b->n = n;
    b->bytes = (int64_t)bytes;
    b->life = 1;
    if (lb->kind == LBUF_TEMP || lb->kind == LBUF_LOCAL || lb->kind == LBUF_TABLE) {
        b->data = b->owned = calloc(n, bytes);
        if (!b->data)
            return false;
        int64_t stride = (int64_t)bytes * b->lanes;
        for (int d = lb->n_dims; d-- > 0; stride *= b->size[d])
            b->stride[d] = stride;
    }
    for (uint32_t i = 0; lb->kind == LBUF_TABLE && i < n; i++)
        tessi_store_element(lb->type, b->data + i * bytes, lb->table[i]);
    if (lb->kind == LBUF_INPUT || lb->kind == LBUF_TABLE)
        return true;
    b->stored = calloc(n, sizeof *b->stored);
    return b->stored != NULL;
}

void tessi_loop_buffer_free(LoopBuffer *b)
{
    free(b->owned);
    free(b->stored);
    for (int i = 0; i < LOOP_MAX_NESTING; i++)
        free(b->level[i].at);
}

static bool others(uint32_t who, uint32_t me)
{
    return who != NOBODY && who != me;
}

static void note(uint32_t *who, uint32_t me)
{
    *who = *who == NOBODY || *who == me ? me : many;
}

/* False when the touch does not agree with that of another iteration. */
static bool agree(Touch *t, TouchKind kind, uint32_t me)
{
    bool written = others(t->writer, me), read = others(t->reader, me),
         added = others(t->adder, me);
    switch (kind) {
    case TOUCH_READ: note(&t->reader, me); return !written && !added;
    case TOUCH_WRITE: note(&t->writer, me); return !written && !read && !added;
    case TOUCH_SAME: note(&t->writer, me); return !read && !added;
    case TOUCH_ADD: note(&t->adder, me); return !written && !read;
    }
    return false;
}

int tessi_loop_buffer_touch_in(LoopBuffer *b, int64_t element, TouchKind kind,
                               const ActiveLoop *loops, int n_loops, uint32_t *next_stamp)
{
    b = tessi_loop_buffer_shadow(b, &element);
    for (int depth = 0; depth < n_loops; depth++) {
        TouchLevel *level = &b->level[depth];
        if (!level->at) {
            level->at = calloc(b->n, sizeof *level->at);
            if (!level->at)
                return -2;
        }
        if (level->execution != loops[depth].execution || level->life != b->life || !level->stamp) {
            level->execution = loops[depth].execution;
            level->life = b->life;
            level->stamp = ++*next_stamp;
        }
        Touch *t = &level->at[element];
        if (t->stamp != level->stamp)
            *t = (Touch){ .stamp = level->stamp };
        if (!agree(t, kind, loops[depth].iteration))
            return depth;
    }
    return -1;
}
