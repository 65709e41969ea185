/* Checked integers, intervals, hashing, the id map behind every hash-consed table, and failures of the outside
 * world. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"

bool tessi_add_i64(int64_t a, int64_t b, int64_t *out)
{
    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b))
        return false;
    *out = a + b;
    return true;
}

bool tessi_sub_i64(int64_t a, int64_t b, int64_t *out)
{
    if ((b < 0 && a > INT64_MAX + b) || (b > 0 && a < INT64_MIN + b))
        return false;
    *out = a - b;
    return true;
}

bool tessi_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    if ((a == (int32_t)a && b == (int32_t)b) || a == 0 || b == 0) {
        *out = a * b;
        return true;
    }
    if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN))
        return false;
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
              : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))
        return false;
    *out = a * b;
    return true;
}

int64_t tessi_floordiv(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

int64_t tessi_floormod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

bool tessi_mul_size(size_t a, size_t b, size_t *out)
{
    if (a && b > SIZE_MAX / a)
        return false;
    *out = a * b;
    return true;
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    return tessi_add_i64(a, b, &sum) ? sum : (b > 0 ? INT64_MAX : INT64_MIN);
}

static int64_t mul_saturating(int64_t a, int64_t b)
{
    int64_t product;
    return tessi_mul_i64(a, b, &product) ? product : ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN);
}

static bool is_empty(Interval a)
{
    return a.lo > a.hi;
}

Interval tessi_interval_add(Interval a, Interval b)
{
    if (is_empty(a) || is_empty(b))
        return (Interval){ 1, 0 };
    return (Interval){ add_saturating(a.lo, b.lo), add_saturating(a.hi, b.hi) };
}

Interval tessi_interval_mul(Interval a, Interval b)
{
    if (is_empty(a) || is_empty(b))
        return (Interval){ 1, 0 };
    int64_t corner[4] = { mul_saturating(a.lo, b.lo), mul_saturating(a.lo, b.hi),
                          mul_saturating(a.hi, b.lo), mul_saturating(a.hi, b.hi) };
    Interval r = { corner[0], corner[0] };
    for (int i = 1; i < 4; i++) {
        r.lo = corner[i] < r.lo ? corner[i] : r.lo;
        r.hi = corner[i] > r.hi ? corner[i] : r.hi;
    }
    return r;
}

Interval tessi_interval_union(Interval a, Interval b)
{
    if (is_empty(a))
        return b;
    if (is_empty(b))
        return a;
    return (Interval){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

uint64_t tessi_hash_bytes(uint64_t seed, const void *p, size_t n)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (const unsigned char *c = p, *end = c + n; c < end; c++)
        h = (h ^ *c) * 0x100000001b3u;
    return tessi_hash_u64(h, n);
}

uint64_t tessi_hash_u64(uint64_t seed, uint64_t x)
{
    uint64_t h =
        (seed ^ x)
        * 0x9e3779b97f4a7c15u; /* multiply and fold: spreads every input bit over the word */
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 32);
}

uint32_t tessi_idmap_find(const IdMap *m, uint64_t hash, bool (*same)(void *user, uint32_t id),
                          void *user)
{
    if (!m->cap)
        return 0;
    for (uint32_t i = (uint32_t)hash & (m->cap - 1); m->id[i]; i = (i + 1) & (m->cap - 1))
        if (m->hash[i] == hash && same(user, m->id[i]))
            return m->id[i];
    return 0;
}

static void insert(IdMap *m, uint64_t hash, uint32_t id)
{
    uint32_t i = (uint32_t)hash & (m->cap - 1);
    while (m->id[i])
        i = (i + 1) & (m->cap - 1);
    m->hash[i] = hash;
    m->id[i] = id;
}

void tessi_idmap_add(Arena *a, IdMap *m, uint64_t hash, uint32_t id)
{
    if (2 * (m->n + 1) > m->cap) { /* at most half full */
        IdMap old = *m;
        m->cap = old.cap ? old.cap * 2 : 64;
        m->hash = ARENA_NEW_ARRAY(a, uint64_t, m->cap);
        m->id = ARENA_NEW_ARRAY(a, uint32_t, m->cap);
        for (uint32_t i = 0; i < old.cap; i++)
            if (old.id[i])
                insert(m, old.hash[i], old.id[i]);
    }
    insert(m, hash, id);
    m->n++;
}

bool tessi_failf(Failure *f, int status, const char *fmt, ...)
{
    if (!f)
        return false;
    f->status = status;
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
    return false;
}
