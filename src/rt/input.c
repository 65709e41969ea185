/* Files and pipes read piece by piece. */
#include "rt/input.h"
#include "rt/env.h"
#include "tessera.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SHOWN = 240 };

static bool fail_read(Failure *f, const char *path, const char *why)
{
    return tessi_failf(f, TESS_ERROR_FILE, "cannot read '%.*s': %s", PATH_SHOWN, path, why);
}

bool tessi_input_open(const char *path, RtInput *in, Failure *f)
{
    const bool standard = tessi_streq(path, "-");
    const char *shown = standard ? "standard input" : path;
    *in = (RtInput){ .size = UINT64_MAX, .fd = -1 };
    const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return fail_read(f, shown, strerror(errno));
    const char *why = NULL;
    if (fstat(fd, &st) != 0)
        why = strerror(errno);
    else if (S_ISDIR(st.st_mode))
        why = "it is a directory";
    else if (!(in->memory = malloc(INPUT_AHEAD)))
        why = "out of memory";
    if (why) {
        if (!standard)
            close(fd);
        return fail_read(f, shown, why);
    }
    in->fd = fd;
    in->owns_fd = !standard;
    in->ahead = in->memory;
    /* Standard input may stand in the middle of a file. Files of /proc claim to be empty. */
    const off_t here = S_ISREG(st.st_mode) && st.st_size > 0 ? lseek(fd, 0, SEEK_CUR) : -1;
    if (here >= 0) {
        in->can_seek = true;
        in->base = (uint64_t)here;
        in->size = st.st_size > here ? (uint64_t)(st.st_size - here) : 0;
    }
    return true;
}

void tessi_input_memory(const uint8_t *bytes, size_t n, RtInput *in)
{
    *in = (RtInput){ .size = n, .fd = -1, .can_seek = true, .ahead = bytes, .end = n };
}

void tessi_input_close(RtInput *in)
{
    if (in->owns_fd)
        close(in->fd);
    free(in->memory);
    *in = (RtInput){ .fd = -1 };
}

/* One read of at most n bytes past those ahead; 0 at the end. */
static size_t read_some(RtInput *in, void *to, size_t n)
{
    const size_t most = (size_t)1 << 30;
    if (in->fd < 0 || in->error)
        return 0;
    ssize_t got;
    do {
        got = read(in->fd, to, n < most ? n : most);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        in->error = errno;
    return got > 0 ? (size_t)got : 0;
}

size_t tessi_input_read(RtInput *in, void *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        size_t here = in->end - in->begin;
        if (here == 0 && n - done >= INPUT_AHEAD) { /* straight to where it is wanted */
            here = read_some(in, (uint8_t *)to + done, n - done);
            if (here == 0)
                break;
            in->begin = in->end = 0; /* what was ahead is passed */
            done += here;
            continue;
        }
        const uint8_t *bytes;
        here = here ? here : tessi_input_peek(in, 1, &bytes);
        if (here == 0)
            break;
        here = in->end - in->begin < n - done ? in->end - in->begin : n - done;
        memcpy((uint8_t *)to + done, in->ahead + in->begin, here);
        in->begin += here;
        done += here;
    }
    in->at += done;
    return done;
}

int tessi_input_byte(RtInput *in)
{
    const uint8_t *bytes;
    if (in->begin == in->end && tessi_input_peek(in, 1, &bytes) == 0)
        return -1;
    in->at++;
    return in->ahead[in->begin++];
}

size_t tessi_input_peek(RtInput *in, size_t n, const uint8_t **bytes)
{
    if (in->fd >= 0 && in->end - in->begin < n) {
        memmove(in->memory, in->memory + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
        for (size_t got; in->end < n; in->end += got)
            if ((got = read_some(in, in->memory + in->end, INPUT_AHEAD - in->end)) == 0)
                break;
    }
    *bytes = in->ahead + in->begin;
    return in->end - in->begin < n ? in->end - in->begin : n;
}

bool tessi_input_seek(RtInput *in, uint64_t at)
{
    const uint64_t first = in->at - in->begin; /* of the bytes ahead */
    if (at >= first && at - first <= in->end) {
        in->begin = (size_t)(at - first);
        in->at = at;
        return true;
    }
    if (in->can_seek) {
        if (in->fd < 0 || at > in->size || in->base + at > INT64_MAX
            || lseek(in->fd, (off_t)(in->base + at), SEEK_SET) < 0)
            return false;
        in->begin = in->end = 0;
        in->at = at;
        return true;
    }
    while (in->at < at) {
        uint8_t passed[4096];
        const uint64_t left = at - in->at;
        if (tessi_input_read(in, passed, left < sizeof passed ? (size_t)left : sizeof passed) == 0)
            return false;
    }
    return in->at == at;
}

bool tessi_input_hold(RtInput *in, Failure *f)
{
    if (in->can_seek)
        return true;
    const uint64_t half = tessi_memory_bytes() / 2;
    size_t n = 0, room = (size_t)1 << 20;
    uint8_t *all = malloc(room);
    for (size_t got; all; n += got) {
        if (n == room) {
            uint8_t *more = room < half ? realloc(all, 2 * room) : NULL;
            if (!more)
                break;
            all = more;
            room *= 2;
        }
        got = tessi_input_read(in, all + n, room - n);
        if (got == 0)
            break;
    }
    if (!all || n == room) {
        free(all);
        return tessi_failf(f, TESS_ERROR_MEMORY,
                           "it comes through a pipe and takes more than the %zu bytes of memory "
                           "that could be had for it",
                           n);
    }
    const int error = in->error;
    tessi_input_close(in);
    *in = (RtInput){ .size = n, .fd = -1, .can_seek = true, .ahead = all, .end = n, .memory = all };
    in->error = error;
    return true;
}

bool tessi_input_rest(RtInput *in, uint8_t **bytes, size_t *n, Failure *f)
{
    if (!tessi_input_hold(in, f))
        return false;
    const uint64_t left = in->size - in->at;
    *bytes = left <= tessi_memory_bytes() / 2 ? malloc((size_t)left + 1) : NULL;
    if (!*bytes)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    *n = tessi_input_read(in, *bytes, (size_t)left);
    return true;
}
