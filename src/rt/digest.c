/* BLAKE2b, after RFC 7693. */
#include "rt/digest.h"

#include <string.h>

enum { ROUNDS = 12, WORDS = 16 };

static const uint64_t initial[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179),
};

/* The order in which a round takes the words of a block; the last two rounds repeat the first two. */
static const uint8_t order[ROUNDS - 2][WORDS] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
    { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
    { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
    { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
    { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
    { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
    { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
    { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
    { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static uint64_t read_word(const uint8_t *p)
{
    /* Compilers make one load of this where the low byte comes first. */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24
           | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48
           | (uint64_t)p[7] << 56;
}

static inline uint64_t turn(uint64_t x, int bits)
{
    return x >> bits | x << (64 - bits);
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = turn(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turn(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turn(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turn(v[b] ^ v[c], 63);
}

/* Takes in one block, of which `n` bytes count. */
static void compress(Hasher *h, const uint8_t *block, size_t n, bool last)
{
    uint64_t v[WORDS], m[WORDS];
    h->bytes[0] += n;
    h->bytes[1] += h->bytes[0] < n;
    for (int i = 0; i < WORDS; i++)
        m[i] = read_word(block + 8 * i);
    memcpy(v, h->state, sizeof h->state);
    memcpy(v + 8, initial, sizeof initial);
    v[12] ^= h->bytes[0];
    v[13] ^= h->bytes[1];
    if (last)
        v[14] = ~v[14];
    for (int round = 0; round < ROUNDS; round++) {
        const uint8_t *s = order[round % (ROUNDS - 2)];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        h->state[i] ^= v[i] ^ v[i + 8];
}

void tessi_hasher_init(Hasher *h)
{
    *h = (Hasher){ .n = 0 };
    memcpy(h->state, initial, sizeof initial);
    h->state[0] ^= UINT64_C(0x01010000) | DIGEST_BYTES; /* one hash, no tree, no key */
}

void tessi_hasher_add(Hasher *h, const void *p, size_t n)
{
    const uint8_t *at = p;
    while (n > 0) {
        if (h->n == DIGEST_BLOCK) {
            compress(h, h->block, DIGEST_BLOCK, false);
            h->n = 0;
        }
        for (; h->n == 0 && n > DIGEST_BLOCK; at += DIGEST_BLOCK, n -= DIGEST_BLOCK)
            compress(h, at, DIGEST_BLOCK, false);
        const size_t room = DIGEST_BLOCK - h->n, some = n < room ? n : room;
        memcpy(h->block + h->n, at, some);
        h->n += some;
        at += some;
        n -= some;
    }
}

Digest tessi_hasher_end(const Hasher *h)
{
    Hasher last = *h;
    Digest d;
    memset(last.block + last.n, 0, DIGEST_BLOCK - last.n);
    compress(&last, last.block, last.n, true);
    for (int i = 0; i < DIGEST_BYTES; i++)
        d.at[i] = (uint8_t)(last.state[i / 8] >> 8 * (i % 8));
    return d;
}
