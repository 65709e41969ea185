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
/* Allocations of so many bytes have a block of their own, behind the one that others are taken from. */
enum { BLOCK_OF_ITS_OWN = 256 * 1024 };

void tessi_arena_init(Arena *a, void (*fail)(void *user) TESS_NORETURN, void *fail_user)
{
    memset(a, 0, sizeof *a);
    a->fail = fail;
    a->fail_user = fail_user;
}

static void free_blocks(ArenaBlock *b)
{
    while (b) {
        ArenaBlock *next = b->next;
        free(b);
        b = next;
    }
}

static Arena *root_of(Arena *a)
{
    return a->root ? a->root : a;
}

static void close_all(Arena *root)
{
    while (root->scratch)
        tessi_scratch_close(root->scratch);
}

void tessi_arena_dispose(Arena *a)
{
    close_all(a);
    free_blocks(a->block);
    a->block = NULL;
    a->used_bytes = 0;
}

void tessi_arena_fail(Arena *a)
{
    Arena *root = root_of(a);
    close_all(root);
    root->fail(root->fail_user);
}

/* ---- Scratch arenas -------------------------------------------------------------------------- */

Arena *tessi_scratch_open(Arena *a)
{
    Arena *root = root_of(a), *s = malloc(sizeof *s);
    if (!s)
        tessi_arena_fail(root);
    tessi_arena_init(s, root->fail, root->fail_user);
    s->root = root;
    s->scratch = root->scratch;
    root->scratch = s;
    return s;
}

void tessi_scratch_close(Arena *s)
{
    s->root->scratch = s->scratch;
    s->root->used_bytes -= s->used_bytes;
    free_blocks(s->block);
    free(s);
}

/* ---- Allocating ------------------------------------------------------------------------------ */

/* Zeros; NULL when there is no memory. */
static ArenaBlock *block_of_its_own(Arena *a, size_t bytes)
{
    ArenaBlock *b = bytes <= SIZE_MAX - sizeof *b ? calloc(1, sizeof *b + bytes) : NULL;
    if (!b)
        return NULL;
    b->used = b->size = bytes;
    if (a->block) {
        b->next = a->block->next;
        a->block->next = b;
    } else {
        a->block = b;
    }
    return b;
}

static ArenaBlock *new_block(Arena *a, size_t at_least)
{
    size_t size = a->block ? a->block->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < at_least)
        size = at_least;
    ArenaBlock *b = malloc(sizeof(ArenaBlock) + size);
    if (!b)
        tessi_arena_fail(a);
    b->next = a->block;
    b->used = 0;
    b->size = size;
    a->block = b;
    return b;
}

/* So many bytes more are used; fails where they may not be. */
static void count(Arena *a, size_t bytes)
{
    Arena *root = root_of(a);
    root->allocations++;
    bool injected = root->fail_at && root->allocations >= root->fail_at;
    bool over_limit =
        root->limit_bytes
        && (bytes > root->limit_bytes || root->used_bytes > root->limit_bytes - bytes);
    if (injected || over_limit)
        tessi_arena_fail(a);
    root->used_bytes += bytes;
    if (a != root)
        a->used_bytes += bytes;
}

static size_t aligned(Arena *a, size_t bytes)
{
    const size_t align = sizeof(max_align_t);
    if (bytes > SIZE_MAX - align)
        tessi_arena_fail(a);
    return (bytes + align - 1) / align * align;
}

void *tessi_alloc(Arena *a, size_t bytes)
{
    bytes = aligned(a, bytes);
    count(a, bytes);
    if (bytes >= BLOCK_OF_ITS_OWN) {
        ArenaBlock *own = block_of_its_own(a, bytes);
        if (!own)
            tessi_arena_fail(a);
        return own->at;
    }
    ArenaBlock *b = a->block;
    if (!b || b->size - b->used < bytes)
        b = new_block(a, bytes);
    void *p = (char *)b->at + b->used;
    b->used += bytes;
    return memset(p, 0, bytes);
}

void *tessi_alloc_more(Arena *a, void *at, size_t old, size_t bytes)
{
    ArenaBlock *b = a->block;
    old = aligned(a, old);
    bytes = aligned(a, bytes);
    if (at && b && old < BLOCK_OF_ITS_OWN && (char *)at + old == (char *)b->at + b->used
        && b->size - b->used >= bytes - old) {
        count(a, bytes - old);
        b->used += bytes - old;
        memset((char *)at + old, 0, bytes - old);
        return at;
    }
    void *p = tessi_alloc(a, bytes);
    if (at)
        memcpy(p, at, old);
    return p;
}

void *tessi_alloc_array(Arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (!tessi_mul_size(n, size, &bytes))
        tessi_arena_fail(a);
    return tessi_alloc(a, bytes);
}

void *tessi_vec_grow(Arena *a, void *at, uint32_t n, uint32_t *cap, size_t size)
{
    size_t old, bytes;
    (void)n;
    if (*cap > UINT32_MAX / 2)
        tessi_arena_fail(a);
    uint32_t new_cap = *cap ? *cap * 2 : 8;
    if (!tessi_mul_size(*cap, size, &old) || !tessi_mul_size(new_cap, size, &bytes))
        tessi_arena_fail(a);
    at = tessi_alloc_more(a, at, old, bytes);
    *cap = new_cap;
    return at;
}
