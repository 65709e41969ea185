/* A file that is written piece by piece, so that it need not be in memory as a whole. It appears under
 * its name complete or not at all, as rt/file.h says. */
#ifndef TESSERA_RT_OUTPUT_H
#define TESSERA_RT_OUTPUT_H

#include "rt/bytes.h"
#include "rt/file.h"

/* Writes n bytes as those from number `at` on; returns 0 or the errno of what failed. */
typedef int RtPut(void *user, uint64_t at, const void *bytes, size_t n);

typedef struct RtOutput {
    uint64_t at;    /* number of the next byte written */
    uint64_t size;  /* bytes of the whole so far */
    int error;      /* errno of a write that failed; nothing is written after it */
    RtBytes *bytes; /* not NULL: all of it goes here */
    int fd;
    bool can_seek; /* what was written can be read and written again */
    PendingFile pending;
    uint8_t *buffer; /* the bytes before `at` that are not in the file yet */
    size_t n;
    RtBytes held; /* what `bytes` points to when it is ours */
    bool stays;   /* what there is of the file stays when it ends early */
    /* Bytes from..to that are not written, in order: they are in the file already, or others write them. */
    struct {
        uint64_t from, to;
    } gap[2];
    RtPut *put; /* not NULL: where bytes go in the place of a file */
    void *put_user;
} RtOutput;

/* Opens `path` ("-": standard output). With `seeks`, what cannot be gone back in, as a pipe, is written
 * from memory in the end. */
bool tessi_output_open(const char *path, bool seeks, RtOutput *out, Failure *f);
/* The same under the name `path`.part, which stays when the file ends early; with `anew` what it holds is forgotten. */
bool tessi_output_open_part(const char *path, bool anew, RtOutput *out, Failure *f);
/* What was added reaches the disk; false when it could not. */
bool tessi_output_sync(RtOutput *out);
void tessi_output_memory(RtBytes *bytes, RtOutput *out); /* the bytes are borrowed */
bool tessi_output_open_put(RtPut *put, void *user, RtOutput *out, Failure *f);
/* The file will have so many bytes from `at` on: its blocks are taken at once, where the file system can do that, and
 * then writing takes half the time. A wish; a disk that is too small is found when the bytes come. */
void tessi_output_expect(RtOutput *out, uint64_t bytes);
/* Adds bytes at `at`. Failures are remembered in `error`. */
void tessi_output_add(RtOutput *out, const void *p, size_t n);
void tessi_output_addf(RtOutput *out, const char *fmt, ...)
    TESS_PRINTF(2, 3);                  /* at most 255 bytes */
void tessi_output_flush(RtOutput *out); /* what was added reaches the reader of a pipe */
/* Of an output that can seek: goes to byte number `at`, and reads bytes written before. */
bool tessi_output_seek(RtOutput *out, uint64_t at);
size_t tessi_output_read(RtOutput *out, void *to, size_t n);
/* Ends the file: it shows under its name, or, when something failed or not `ok`, nothing is left.
 * Returns whether it shows; *f says why not when a write failed. */
bool tessi_output_close(const char *path, RtOutput *out, bool ok, Failure *f);

#endif
