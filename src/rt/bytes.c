/* Growing byte buffers and byte order. */
#include "rt/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tessi_bytes_dispose(RtBytes *b)
{
    free(b->at);
    *b = (RtBytes){ 0 };
}

uint8_t *tessi_bytes_extend(RtBytes *b, size_t n)
{
    if (b->failed || n > SIZE_MAX / 2 - b->n) {
        b->failed = true;
        return NULL;
    }
    if (!b->at || b->n + n > b->cap) {
        size_t cap = b->cap < 256 ? 256 : b->cap;
        while (cap < b->n + n)
            cap *= 2;
        uint8_t *at = realloc(b->at, cap);
        if (!at) {
            b->failed = true;
            return NULL;
        }
        b->at = at;
        b->cap = cap;
    }
    uint8_t *end = b->at + b->n;
    b->n += n;
    return end;
}

void tessi_bytes_add(RtBytes *b, const void *p, size_t n)
{
    uint8_t *end = tessi_bytes_extend(b, n);
    if (end && n)
        memcpy(end, p, n);
}

void tessi_bytes_addf(RtBytes *b, const char *fmt, ...)
{
    char line[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line)
        b->failed = true;
    else
        tessi_bytes_add(b, line, (size_t)n);
}

void tessi_bytes_keep_tail(RtBytes *b, size_t n)
{
    if (b->n <= n)
        return;
    memmove(b->at, b->at + (b->n - n), n);
    b->n = n;
}

bool tessi_little_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

void tessi_swap_bytes(void *p, size_t n, size_t size)
{
    uint8_t *at = p;
    if (size < 2)
        return;
    for (size_t i = 0; i < n; i++, at += size)
        for (size_t lo = 0, hi = size - 1; lo < hi; lo++, hi--) {
            uint8_t byte = at[lo];
            at[lo] = at[hi];
            at[hi] = byte;
        }
}
