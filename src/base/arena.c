/* The arena: bump allocation in growing blocks, freed all at once. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct ArenaBlock {
    ArenaBlock *next;
    size_t used, size;
    max_align_t at[];
};

enum { FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 4 * 1024 * 1024 };

void tessi_arena_init(Arena *a, void (*fail)(void *user) TESS_NORETURN, void *fail_user)
{
    memset(a, 0, sizeof *a);
    a->fail = fail;
    a->fail_user = fail_user;
}

void tessi_arena_dispose(Arena *a)
{
    for (ArenaBlock *b = a->block; b;) {
        ArenaBlock *next = b->next;
        free(b);
        b = next;
    }
    a->block = NULL;
    a->used_bytes = 0;
}

static ArenaBlock *new_block(Arena *a, size_t at_least)
{
    size_t size = a->block ? a->block->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < at_least)
        size = at_least;
    ArenaBlock *b =
        size <= SIZE_MAX - sizeof(ArenaBlock) ? malloc(sizeof(ArenaBlock) + size) : NULL;
    if (!b)
        a->fail(a->fail_user);
    b->next = a->block;
    b->used = 0;
    b->size = size;
    a->block = b;
    return b;
}

void *tessi_alloc(Arena *a, size_t bytes)
{
    const size_t align = sizeof(max_align_t);
    if (bytes > SIZE_MAX - align)
        a->fail(a->fail_user);
    bytes = (bytes + align - 1) / align * align;
    a->allocations++;
    bool injected = a->fail_at && a->allocations >= a->fail_at;
    bool over_limit =
        a->limit_bytes && (bytes > a->limit_bytes || a->used_bytes > a->limit_bytes - bytes);
    if (injected || over_limit)
        a->fail(a->fail_user);
    ArenaBlock *b = a->block;
    if (!b || b->size - b->used < bytes)
        b = new_block(a, bytes);
    void *p = (char *)b->at + b->used;
    b->used += bytes;
    a->used_bytes += bytes;
    return memset(p, 0, bytes);
}

void *tessi_alloc_array(Arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (!tessi_mul_size(n, size, &bytes))
        a->fail(a->fail_user);
    return tessi_alloc(a, bytes);
}

void *tessi_vec_grow(Arena *a, void *at, uint32_t n, uint32_t *cap, size_t size)
{
    if (*cap > UINT32_MAX / 2)
        a->fail(a->fail_user);
    uint32_t new_cap = *cap ? *cap * 2 : 8;
    void *p = tessi_alloc_array(a, new_cap, size);
    if (n)
        memcpy(p, at, n * size);
    *cap = new_cap;
    return p;
}
