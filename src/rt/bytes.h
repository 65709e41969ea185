/* A growing byte buffer from malloc, for encoders and captured output. A failed allocation is
 * remembered, so a writer adds piece after piece and asks once at the end. */
#ifndef TESSERA_RT_BYTES_H
#define TESSERA_RT_BYTES_H

#include "base/base.h"

typedef struct RtBytes {
    uint8_t *at;
    size_t n, cap;
    bool failed; /* memory was short; what was added since is lost */
} RtBytes;

void tessi_bytes_dispose(RtBytes *b); /* leaves an empty buffer */
void tessi_bytes_add(RtBytes *b, const void *p, size_t n);
void tessi_bytes_addf(RtBytes *b, const char *fmt, ...) TESS_PRINTF(2, 3); /* at most 255 bytes */
/* Room for n more bytes at the end, counted as added; NULL when memory is short. */
uint8_t *tessi_bytes_extend(RtBytes *b, size_t n);
/* Leaves at most the last n bytes. */
void tessi_bytes_keep_tail(RtBytes *b, size_t n);

/* True on a machine that stores the low byte first. */
bool tessi_little_endian(void);
/* Reverses the bytes of each of n elements of `size` bytes (1, 2, 4 or 8) in place. */
void tessi_swap_bytes(void *p, size_t n, size_t size);

#endif
