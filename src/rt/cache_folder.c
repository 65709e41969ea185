/* The directory of the compile cache: where it is, and whether others could put code there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath, O_PATH under -std=c11 */
#endif
#include "rt/cache.h"
#include "rt/env.h"
#include "rt/file.h"
#include "tessera.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif
enum { PATH_SHOWN = 140, OTHERS = S_IWGRP | S_IWOTH };
#define WITHOUT "programs are compiled without a cache: "

static bool fail_errno(Failure *f, const char *what, const char *path)
{
    return tessi_failf(f, TESS_ERROR_FILE, WITHOUT "cannot %s '%.*s': %s", what, PATH_SHOWN, path,
                       strerror(errno));
}

/* ---- Who may write ---- */

/* What the system calls the directory behind a descriptor, else `path`. */
static void name_of(int fd, const char *path, char out[PATH_SHOWN + 1])
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, out, PATH_SHOWN);
    if (n > 0)
        out[n] = 0;
    else
        snprintf(out, PATH_SHOWN + 1, "%s", path);
}

/* Whether only we and the system can change what the names in this directory stand for. In a parent
 * with a sticky bit anybody may add names, but only their owners and its own can change them. */
static bool is_ours(int fd, const struct stat *st, const char *path, bool is_parent, Failure *f)
{
    char name[PATH_SHOWN + 1];
    const bool is_system = is_parent && st->st_uid == 0,
               is_shared = is_parent && (st->st_mode & S_ISVTX);
    const bool is_of_others = st->st_uid != geteuid() && !is_system,
               is_open = (st->st_mode & OTHERS) && !is_shared;
    if (!is_of_others && !is_open)
        return true;
    name_of(fd, path, name);
    if (is_of_others)
        return tessi_failf(f, TESS_ERROR_FILE, WITHOUT "'%s' belongs to another user (number %lu)",
                           name, (unsigned long)st->st_uid);
    return tessi_failf(f, TESS_ERROR_FILE,
                       WITHOUT "others can write to '%s' (chmod go-w would change that)", name);
}

/* The directory behind `fd`, opened as `path`, and all above. */
static bool is_safe(int fd, const char *path, bool is_parent, Failure *f)
{
    struct stat st, above;
    int at = dup(fd);
    bool ok = (at >= 0 && fstat(at, &st) == 0) || fail_errno(f, "look at", path);
    for (bool is_root = false; ok && !is_root; is_parent = true) {
        ok = is_ours(at, &st, path, is_parent, f);
        int parent = ok ? openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (ok && (parent < 0 || fstat(parent, &above) != 0))
            ok = fail_errno(f, "look above", path);
        close(at);
        at = parent;
        if (ok) {
            is_root = above.st_dev == st.st_dev && above.st_ino == st.st_ino;
            st = above;
        }
    }
    if (at >= 0)
        close(at);
    return ok;
}

/* ---- Making ---- */

/* Opens the directory, made with its parents where they are missing; those that are made are the
 * owner's alone, whatever the umask, and are made where only the owner can. */
static int open_or_make(const char *path, Failure *f)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t at = n;
    while (at > 0 && path[at - 1] != '/')
        at--;
    size_t dir = at;
    while (dir > 1 && path[dir - 1] == '/')
        dir--;
    char *above = errno == ENOENT && n > 0 ? strndup(dir ? path : ".", dir ? dir : 1) : NULL;
    char *name = above && at < n ? strndup(path + at, n - at) : NULL;
    if (!name) {
        fail_errno(f, "open", path);
        free(above);
        return -1;
    }
    int parent = open_or_make(above, f);
    if (parent >= 0 && is_safe(parent, above, true, f)) {
        if (mkdirat(parent, name, 0700) == 0 || errno == EEXIST)
            fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            fail_errno(f, "make", path);
    }
    if (parent >= 0)
        close(parent);
    free(above);
    free(name);
    return fd;
}

/* ---- Finding ---- */

/* Owned by the caller; NULL with a reason, or without one where no cache is wanted. */
static char *wanted(const char *dir, Failure *f)
{
    const char *env = tessi_env("TESSERA_CACHE"), *xdg = tessi_env("XDG_CACHE_HOME"),
               *home = tessi_env("HOME");
    char *path = NULL;
    if (dir && !*dir)
        return NULL;
    if (dir || env)
        path = strdup(dir ? dir : env);
    else if (xdg && xdg[0] == '/') /* its specification has relative ones ignored */
        path = tessi_path_join(xdg, "tessera");
    else if (!home)
        return tessi_failf(f, TESS_ERROR_FILE,
                           WITHOUT "neither TESSERA_CACHE, XDG_CACHE_HOME nor HOME is set"),
               NULL;
    else if (!tessi_dir_exists(home)) /* a home is not ours to make */
        return tessi_failf(f, TESS_ERROR_FILE, WITHOUT "HOME names no directory ('%.*s')",
                           PATH_SHOWN, home),
               NULL;
    else
        path = tessi_path_join(home, ".cache/tessera");
    if (!path)
        tessi_failf(f, TESS_ERROR_MEMORY, WITHOUT "out of memory");
    return path;
}

/* The name without symbolic links of the directory behind `fd`, which was opened as `path`. */
static char *real_name(int fd, const char *path, struct stat *st, Failure *f)
{
    struct stat again;
    char *real = realpath(path, NULL);
    if (real && fstat(fd, st) == 0 && stat(real, &again) == 0 && again.st_dev == st->st_dev
        && again.st_ino == st->st_ino)
        return real;
    free(real);
    tessi_failf(f, TESS_ERROR_FILE, WITHOUT "'%.*s' was exchanged", PATH_SHOWN, path);
    return NULL;
}

void tessi_cache_open(RtCache *c, const char *dir)
{
    *c = (RtCache){ .dir = NULL };
    Failure *f = &c->refused;
    char *path = wanted(dir, f);
    int fd = path ? open_or_make(path, f) : -1;
    struct stat st;
    char *real = fd >= 0 ? real_name(fd, path, &st, f) : NULL;
    if (real && is_safe(fd, real, false, f)) {
        if (faccessat(AT_FDCWD, real, R_OK | W_OK | X_OK, AT_EACCESS) == 0)
            *c = (RtCache){ .dir = real, .device = st.st_dev, .file = st.st_ino };
        else
            fail_errno(f, "write to", real);
    }
    if (!c->dir)
        free(real);
    if (fd >= 0)
        close(fd);
    free(path);
}

int tessi_cache_folder(const RtCache *c)
{
    struct stat st;
    Failure ignored;
    int fd = c && c->dir ? open(c->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd >= 0
        && (fstat(fd, &st) != 0 || st.st_dev != c->device || st.st_ino != c->file
            || !is_ours(fd, &st, c->dir, false, &ignored))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void tessi_cache_dispose(RtCache *c)
{
    free(c->dir);
    *c = (RtCache){ .dir = NULL };
}
