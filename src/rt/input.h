/* A file or pipe that is read piece by piece, so that what is in it need not be in memory twice. */
#ifndef TESSERA_RT_INPUT_H
#define TESSERA_RT_INPUT_H

#include "base/base.h"

enum { INPUT_AHEAD = 1 << 16 }; /* bytes that may be looked at before they are read */

typedef struct RtInput {
    uint64_t size; /* bytes of the whole; UINT64_MAX: not known, as of a pipe */
    uint64_t at;   /* number of the next byte */
    int error;     /* errno of a read that failed; what follows is as if the file had ended */
    int fd;        /* -1: everything is in memory */
    bool owns_fd, can_seek;
    uint64_t base;        /* where in the file byte 0 is */
    const uint8_t *ahead; /* bytes begin..end of it are those from `at` on */
    size_t begin, end;
    uint8_t *memory; /* what `ahead` points to when it is ours */
} RtInput;

/* Opens a file, or standard input for "-". Directories are refused. */
bool tessi_input_open(const char *path, RtInput *in, Failure *f);
/* The bytes are borrowed. */
void tessi_input_memory(const uint8_t *bytes, size_t n, RtInput *in);
void tessi_input_close(RtInput *in);

/* Reads n bytes; fewer at the end or after an error. */
size_t tessi_input_read(RtInput *in, void *to, size_t n);
int tessi_input_byte(RtInput *in); /* -1 at the end */
/* The next n <= INPUT_AHEAD bytes, or as many as there are; they are not read by that. */
size_t tessi_input_peek(RtInput *in, size_t n, const uint8_t **bytes);
/* Goes to byte number `at`: false when there is no such byte, or it has been read from a pipe. */
bool tessi_input_seek(RtInput *in, uint64_t at);
/* Reads what is left of a pipe into memory, so that its size is known and any byte can be gone to;
 * the next byte becomes number 0. */
bool tessi_input_hold(RtInput *in, Failure *f);
/* All that is left as one piece of memory, owned by the caller. */
bool tessi_input_rest(RtInput *in, uint8_t **bytes, size_t *n, Failure *f);

#endif
