/* Cryptographic hashes: BLAKE2b (RFC 7693) with a result of 32 bytes and no key (docs/decisions/043-code-cache.md). */
#ifndef TESSERA_RT_DIGEST_H
#define TESSERA_RT_DIGEST_H

#include "base/base.h"

enum { DIGEST_BYTES = 32, DIGEST_BLOCK = 128 };

typedef struct Digest {
    uint8_t at[DIGEST_BYTES];
} Digest;

/* A hash under way; a copy goes on by itself. */
typedef struct Hasher {
    uint64_t state[8];
    uint64_t bytes[2];           /* taken in so far, but for those of `block` */
    uint8_t block[DIGEST_BLOCK]; /* what came last: only the end closes the last block */
    size_t n;                    /* bytes in `block` */
} Hasher;

void tessi_hasher_init(Hasher *h);
void tessi_hasher_add(Hasher *h, const void *p, size_t n);
Digest tessi_hasher_end(const Hasher *h);

#endif
