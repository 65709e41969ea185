/* Files: read whole, written whole or not at all. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath, fchmod, mkdtemp, nftw under -std=c11 */
#endif
#include "rt/file.h"
#include "rt/bytes.h"
#include "rt/env.h"
#include "tessera.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PATH_SHOWN = 240
}; /* a sentence stays readable, and within Failure, for paths of any length */

static bool no_memory(Failure *f)
{
    return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

static bool fail_errno(Failure *f, const char *what, const char *path, int error)
{
    return tessi_failf(f, error == ENOMEM ? TESS_ERROR_MEMORY : TESS_ERROR_FILE,
                       "cannot %s '%.*s': %s", what, PATH_SHOWN, path, strerror(error));
}

/* ---- Reading ---- */

static bool read_fd(int fd, const char *path, size_t limit, size_t expected, RtBytes *b, Failure *f)
{
    size_t step =
        expected < limit ? expected + 1 : limit; /* one more shows the end without growing */
    if (step < 65536)
        step = 65536;
    for (;;) {
        size_t before = b->n;
        uint8_t *room = tessi_bytes_extend(b, step + 1); /* + 1: the final NUL always fits */
        if (!room)
            return no_memory(f);
        ssize_t got;
        do {
            got = read(fd, room, step);
        } while (got < 0 && errno == EINTR);
        b->n = before + (got > 0 ? (size_t)got : 0);
        if (got < 0)
            return fail_errno(f, "read", path, errno);
        if (b->n > limit)
            return tessi_failf(f, TESS_ERROR_FILE, "cannot read '%.*s': more than %zu bytes",
                               PATH_SHOWN, path, limit);
        if (got == 0)
            return true;
        if (b->n >= 65536)
            step = b->n < (size_t)1 << 24 ? b->n : (size_t)1 << 24;
        if (b->n < expected)
            step = expected - b->n + 1;
    }
}

bool tessi_file_read_open(int fd, const char *shown, size_t limit, uint8_t **data, size_t *n,
                          Failure *f)
{
    if (limit == 0) {
        uint64_t half = tessi_memory_bytes() / 2;
        limit = half < SIZE_MAX / 4 ? (size_t)half : SIZE_MAX / 4;
    }
    RtBytes b = { 0 };
    struct stat st;
    bool ok = true;
    if (fstat(fd, &st) != 0)
        ok = fail_errno(f, "read", shown, errno);
    else if (S_ISDIR(st.st_mode))
        ok = tessi_failf(f, TESS_ERROR_FILE, "cannot read '%.*s': it is a directory", PATH_SHOWN,
                         shown);
    else if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size > limit)
        ok = tessi_failf(f, TESS_ERROR_FILE, "cannot read '%.*s': more than %zu bytes", PATH_SHOWN,
                         shown, limit);
    if (ok)
        ok = read_fd(fd, shown, limit, S_ISREG(st.st_mode) ? (size_t)st.st_size : 0, &b, f);
    if (!ok) {
        tessi_bytes_dispose(&b);
        return false;
    }
    b.at[b.n] = 0;
    *data = b.at;
    *n = b.n;
    return true;
}

bool tessi_file_read(const char *path, size_t limit, uint8_t **data, size_t *n, Failure *f)
{
    if (tessi_streq(path, "-"))
        return tessi_file_read_open(STDIN_FILENO, "standard input", limit, data, n, f);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(f, "read", path, errno);
    const bool ok = tessi_file_read_open(fd, path, limit, data, n, f);
    close(fd);
    return ok;
}

/* ---- Writing ---- */

bool tessi_file_write_open(int fd, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n > 0) {
        ssize_t put = write(fd, p, n < (size_t)1 << 30 ? n : (size_t)1 << 30);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* Opens a new file beside `final` under a name that nobody uses. O_EXCL makes it ours; the mode
 * follows the umask, which mkstemp would not. */
static int open_temporary(const char *final, char **name)
{
    const char *slash = strrchr(final, '/');
    size_t dir = slash ? (size_t)(slash - final) + 1 : 0;
    size_t room = dir + 64;
    char *at = malloc(room);
    if (!at) {
        errno = ENOMEM;
        return -1;
    }
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(at, room, "%.*s.tess-%lx-%lx-%x.tmp", (int)dir, final, (unsigned long)getpid(),
                 (unsigned long)now.tv_nsec, (unsigned)attempt);
        int fd = open(at, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *name = at;
            return fd;
        }
        if (errno != EEXIST)
            break;
    }
    int error = errno;
    free(at);
    errno = error;
    return -1;
}

/* What stands at `path` now. *resolved (owned by the caller) is the path to rename to, symbolic
 * links followed. */
static bool look_at_target(const char *path, struct stat *st, bool *exists, char **resolved,
                           Failure *f)
{
    *exists = stat(path, st) == 0;
    if (!*exists && errno != ENOENT)
        return fail_errno(f, "write", path, errno);
    if (!*path || (*exists && S_ISDIR(st->st_mode)))
        return tessi_failf(f, TESS_ERROR_FILE, "cannot write '%.*s': %s", PATH_SHOWN, path,
                           *path ? "it is a directory" : "the name is empty");
    if (*exists && access(path, W_OK) != 0)
        return fail_errno(f, "write", path, errno);
    if (strlen(path) > 1u << 16)
        return fail_errno(f, "write", path, ENAMETOOLONG);
    *resolved = *exists ? realpath(path, NULL) : strdup(path);
    return *resolved ? true : fail_errno(f, "write", path, errno);
}

bool tessi_file_begin(const char *path, PendingFile *p, int *fd, Failure *f)
{
    *p = (PendingFile){ 0 };
    if (tessi_streq(path, "-")) {
        *fd = STDOUT_FILENO;
        return true;
    }
    struct stat st;
    bool exists;
    char *final = NULL;
    if (!look_at_target(path, &st, &exists, &final, f))
        return false;
    const bool directly = exists && !S_ISREG(st.st_mode);
    char *temporary = NULL;
    *fd = directly ? open(path, O_WRONLY | O_CLOEXEC) : open_temporary(final, &temporary);
    if (*fd < 0) {
        fail_errno(f, "write", path, errno);
        free(final);
        return false;
    }
    if (directly) {
        free(final);
        return true;
    }
    *p = (PendingFile){ .final = final, .temporary = temporary };
    if (exists && fchmod(*fd, st.st_mode & 07777) != 0)
        return tessi_file_end(path, p, *fd, errno, f);
    return true;
}

bool tessi_file_begin_part(const char *path, bool anew, PendingFile *p, int *fd, Failure *f)
{
    struct stat st;
    bool exists;
    char *final = NULL;
    *p = (PendingFile){ 0 };
    if (tessi_streq(path, "-"))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "what goes to standard output cannot be resumed");
    if (!look_at_target(path, &st, &exists, &final, f))
        return false;
    const size_t room = strlen(final) + sizeof ".part";
    char *part = malloc(room);
    *fd = -1;
    if (part && exists && !S_ISREG(st.st_mode)) {
        tessi_failf(f, TESS_ERROR_ARGUMENT, "what goes to '%.160s' cannot be resumed", path);
    } else if (part) {
        snprintf(part, room, "%s.part", final);
        *fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC | (anew ? O_TRUNC : 0), 0666);
        if (*fd < 0)
            fail_errno(f, "write", part, errno);
    }
    if (*fd >= 0) {
        *p = (PendingFile){ .final = final, .temporary = part };
        return true;
    }
    free(final);
    free(part);
    return false;
}

void tessi_file_stay(PendingFile *p, int fd)
{
    close(fd);
    free(p->final);
    free(p->temporary);
    *p = (PendingFile){ 0 };
}

bool tessi_file_end(const char *path, PendingFile *p, int fd, int error, Failure *f)
{
    const bool is_stdout = tessi_streq(path, "-");
    /* Some file systems report a full disk only here. */
    if (!is_stdout && close(fd) != 0 && !error)
        error = errno;
    if (!error)
        return true;
    tessi_file_discard(p);
    return fail_errno(f, "write", is_stdout ? "standard output" : path, error);
}

bool tessi_file_prepare(const char *path, const void *data, size_t n, PendingFile *p, Failure *f)
{
    int fd;
    return tessi_file_begin(path, p, &fd, f)
           && tessi_file_end(path, p, fd, tessi_file_write_open(fd, data, n) ? 0 : errno, f);
}

bool tessi_file_commit(PendingFile *p, Failure *f)
{
    if (!p->temporary)
        return true; /* was written directly */
    bool ok = rename(p->temporary, p->final) == 0;
    if (!ok) {
        fail_errno(f, "write", p->final, errno);
        tessi_file_discard(p);
        return false;
    }
    free(p->final);
    free(p->temporary);
    *p = (PendingFile){ 0 };
    return true;
}

void tessi_file_discard(PendingFile *p)
{
    if (p->temporary)
        unlink(p->temporary);
    free(p->final);
    free(p->temporary);
    *p = (PendingFile){ 0 };
}

bool tessi_file_write(const char *path, const void *data, size_t n, Failure *f)
{
    PendingFile p;
    return tessi_file_prepare(path, data, n, &p, f) && tessi_file_commit(&p, f);
}

/* ---- Paths and directories ---- */

bool tessi_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool tessi_dir_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *tessi_path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);
    bool slash = n > 0 && dir[n - 1] != '/';
    size_t room = n + strlen(name) + 2;
    char *at = malloc(room);
    if (at)
        snprintf(at, room, "%s%s%s", dir, slash ? "/" : "", name);
    return at;
}

const char *tessi_path_suffix(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : "";
}

bool tessi_temp_dir(const RtHost *host, char **path, Failure *f)
{
    const char *base = tessi_env("TMPDIR");
    char *at = tessi_path_join(base ? base : P_tmpdir, "tessera-XXXXXX");
    if (!at)
        return no_memory(f);
    tessi_host_hold(host, 1);
    if (!mkdtemp(at)) {
        tessi_failf(f, TESS_ERROR_FILE, "cannot make a directory for the compiler in '%.*s'%s: %s",
                    PATH_SHOWN, base ? base : P_tmpdir,
                    base ? ", which TMPDIR names" : " (TMPDIR can name another place)",
                    strerror(errno));
        free(at);
        tessi_host_hold(host, -1);
        return false;
    }
    *path = at;
    return true;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void tessi_temp_dir_remove(const RtHost *host, const char *path)
{
    enum { TRIES = 3, DESCRIPTORS = 8 };
    /* What was ended may have been about to write: once more. */
    for (int i = 0; i < TRIES && tessi_dir_exists(path); i++)
        nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    tessi_host_hold(host, -1);
}
