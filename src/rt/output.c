/* Files written piece by piece. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fallocate */
#endif
#include "rt/output.h"
#include "tessera.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 }; /* what is larger goes straight to the file */

bool tessi_output_open(const char *path, bool seeks, RtOutput *out, Failure *f)
{
    *out = (RtOutput){ .fd = -1 };
    out->buffer = malloc(BUFFER);
    if (!out->buffer)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!tessi_file_begin(path, &out->pending, &out->fd, f)) {
        free(out->buffer);
        return false;
    }
    out->can_seek = out->pending.temporary != NULL;
    if (seeks && !out->can_seek) {
        out->bytes = &out->held;
        out->can_seek = true;
    }
    return true;
}

bool tessi_output_open_part(const char *path, bool anew, RtOutput *out, Failure *f)
{
    *out = (RtOutput){ .fd = -1, .can_seek = true, .stays = true };
    out->buffer = malloc(BUFFER);
    if (!out->buffer)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (tessi_file_begin_part(path, anew, &out->pending, &out->fd, f))
        return true;
    free(out->buffer);
    return false;
}

bool tessi_output_open_put(RtPut *put, void *user, RtOutput *out, Failure *f)
{
    *out = (RtOutput){ .fd = -1, .can_seek = true, .put = put, .put_user = user };
    out->buffer = malloc(BUFFER);
    return out->buffer || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

void tessi_output_memory(RtBytes *bytes, RtOutput *out)
{
    *out = (RtOutput){ .fd = -1, .can_seek = true, .bytes = bytes };
}

/* Writes bytes that end where what waits in the buffer begins, or where the next one will be written. */
static void write_out(RtOutput *out, const void *p, size_t n)
{
    if (out->error || n == 0)
        return;
    errno = 0;
    if (out->put)
        out->error = out->put(out->put_user, out->at - out->n, p, n);
    else if (!tessi_file_write_open(out->fd, p, n))
        out->error = errno ? errno : EIO;
}

/* Puts what waits in the buffer into the file. */
static void flush(RtOutput *out)
{
    write_out(out, out->buffer, out->n);
    out->n = 0;
}

static void add_to_memory(RtOutput *out, const void *p, size_t n)
{
    RtBytes *b = out->bytes;
    const size_t end = (size_t)out->at + n;
    if (end > b->n) {
        const size_t before = b->n;
        uint8_t *grown = tessi_bytes_extend(b, end - before);
        if (!grown) {
            out->error = ENOMEM;
            return;
        }
        memset(grown, 0, end - before);
    }
    memcpy(b->at + out->at, p, n);
}

bool tessi_output_sync(RtOutput *out)
{
    flush(out);
    if (!out->error && !out->put && fdatasync(out->fd) != 0)
        out->error = errno;
    return !out->error;
}

/* The file stands at `at`, with nothing in the buffer. */
static void go_to(RtOutput *out, uint64_t at)
{
    flush(out);
    if (!out->bytes && !out->put && !out->error && lseek(out->fd, (off_t)at, SEEK_SET) < 0)
        out->error = errno;
    out->at = at;
    out->size = out->at > out->size ? out->at : out->size;
}

void tessi_output_expect(RtOutput *out, uint64_t bytes)
{
    const uint64_t few = 1 << 20;
    const bool is_file = !out->bytes && !out->put && out->can_seek && !out->error;
    if (!is_file || bytes < few || bytes > INT64_MAX / 2 || out->at > INT64_MAX / 2)
        return;
#ifdef FALLOC_FL_KEEP_SIZE
    (void)fallocate(out->fd, FALLOC_FL_KEEP_SIZE, (off_t)out->at, (off_t)bytes);
#endif
}

/* How many of n bytes lie in front of the next gap, or, with *in_gap, in the gap at hand. */
static size_t until_gap(const RtOutput *out, size_t n, bool *in_gap)
{
    *in_gap = false;
    for (size_t i = 0; i < sizeof out->gap / sizeof *out->gap; i++) {
        const uint64_t from = out->gap[i].from, to = out->gap[i].to;
        if (from == to || out->at >= to)
            continue;
        *in_gap = out->at >= from;
        const uint64_t left = (*in_gap ? to : from) - out->at;
        return left < n ? (size_t)left : n;
    }
    return n;
}

static void add(RtOutput *out, const uint8_t *p, size_t n)
{
    if (out->error)
        return;
    if (out->bytes) {
        add_to_memory(out, p, n);
    } else if (n >= BUFFER) {
        flush(out);
        write_out(out, p, n);
    } else {
        if (n > BUFFER - out->n)
            flush(out);
        memcpy(out->buffer + out->n, p, n);
        out->n += n;
    }
    out->at += n;
    out->size = out->at > out->size ? out->at : out->size;
}

void tessi_output_add(RtOutput *out, const void *bytes, size_t n)
{
    for (const uint8_t *p = bytes; n > 0 && !out->error;) {
        bool in_gap;
        const size_t now = until_gap(out, n, &in_gap);
        if (in_gap)
            go_to(out, out->at + now);
        else
            add(out, p, now);
        p += now;
        n -= now;
    }
}

void tessi_output_addf(RtOutput *out, const char *fmt, ...)
{
    char line[256];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line)
        out->error = EINVAL;
    else
        tessi_output_add(out, line, (size_t)n);
}

void tessi_output_flush(RtOutput *out)
{
    if (!out->bytes)
        flush(out);
}

bool tessi_output_seek(RtOutput *out, uint64_t at)
{
    if (at == out->at)
        return true;
    if (!out->can_seek || at > INT64_MAX)
        return false;
    if (out->bytes) {
        out->at = at;
        return !out->error;
    }
    const uint64_t size = out->size;
    go_to(out, at);
    out->size = size; /* which grows when something is added there */
    return !out->error;
}

size_t tessi_output_read(RtOutput *out, void *to, size_t n)
{
    if (!out->can_seek || out->put || out->error || out->at >= out->size)
        return 0;
    n = n < out->size - out->at ? n : (size_t)(out->size - out->at);
    if (out->bytes) {
        memcpy(to, out->bytes->at + out->at, n);
    } else {
        flush(out);
        size_t done = 0;
        while (!out->error && done < n) {
            const ssize_t got = read(out->fd, (uint8_t *)to + done, n - done);
            if (got == 0 || (got < 0 && errno != EINTR))
                out->error = got ? errno : EIO;
            done += got > 0 ? (size_t)got : 0;
        }
        n = out->error ? 0 : n;
    }
    out->at += n;
    return n;
}

bool tessi_output_close(const char *path, RtOutput *out, bool ok, Failure *f)
{
    if (out->put) {
        if (ok)
            flush(out);
        free(out->buffer);
        return ok
               && (!out->error
                   || tessi_failf(f, TESS_ERROR_FILE, "cannot write '%.160s': %s", path,
                                  strerror(out->error)));
    }
    if (out->fd < 0)
        return ok && !out->error;
    if (out->bytes == &out->held) {
        if (ok && !out->error && !tessi_file_write_open(out->fd, out->held.at, out->held.n))
            out->error = errno ? errno : EIO;
        tessi_bytes_dispose(&out->held);
    }
    if (ok || out->stays)
        flush(out);
    free(out->buffer);
    if (out->stays && (!ok || out->error)) {
        const int error = out->error;
        tessi_file_stay(&out->pending, out->fd);
        return error ? tessi_failf(f, TESS_ERROR_FILE, "cannot write '%.160s': %s", path,
                                   strerror(error))
                     : false;
    }
    if (!ok && !out->error) { /* the encoder has said why */
        tessi_file_end(path, &out->pending, out->fd, ECANCELED, NULL);
        return false;
    }
    return tessi_file_end(path, &out->pending, out->fd, out->error, f)
           && tessi_file_commit(&out->pending, f);
}
