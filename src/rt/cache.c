/* The compile cache: entries with a checksum at their end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* st_mtim, utimensat under -std=c11 */
#endif
#include "rt/cache.h"
#include "rt/env.h"
#include "rt/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t most_cached = (uint64_t)512 << 20;
enum { TRASH_SECONDS = 3600 }; /* a temporary file as old as this belongs to nobody */

/* Stands at the end of each entry, so that entry and checksum appear in one rename. */
typedef struct Trailer {
    char magic[8];
    uint64_t n, sum, key;
} Trailer;
static const char magic[8] = "tesscach";

void tessi_cache_open(RtCache *c, const char *dir)
{
    c->dir = NULL;
    const char *env = tessi_env("TESSERA_CACHE"), *xdg = tessi_env("XDG_CACHE_HOME"),
               *home = tessi_env("HOME");
    if (dir && !*dir)
        return;
    if (dir || env)
        c->dir = strdup(dir ? dir : env);
    else if (xdg || home)
        c->dir = tessi_path_join(xdg ? xdg : home, xdg ? "tessera" : ".cache/tessera");
    if (c->dir && (!tessi_dir_make(c->dir, NULL) || access(c->dir, R_OK | W_OK | X_OK) != 0))
        tessi_cache_dispose(c);
}

void tessi_cache_dispose(RtCache *c)
{
    free(c->dir);
    c->dir = NULL;
}

CacheKey tessi_cache_key(void)
{
    return (CacheKey){ { UINT64_C(0x7465737365726131), UINT64_C(0x9b05688c2b3e6c1f) } };
}

void tessi_cache_key_add(CacheKey *k, const void *p, size_t n)
{
    for (int i = 0; i < 2; i++)
        k->hash[i] = tessi_hash_bytes(k->hash[i], p, n);
}

void tessi_cache_key_add_text(CacheKey *k, const char *s)
{
    tessi_cache_key_add(k, s, strlen(s));
}

static char *entry_path(const RtCache *c, CacheKey key, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 "%.16s", key.hash[0], key.hash[1],
             suffix);
    return tessi_path_join(c->dir, name);
}

static Trailer trailer_of(CacheKey key, const void *data, size_t n)
{
    Trailer t = { .n = n, .sum = tessi_hash_bytes(0, data, n), .key = key.hash[0] ^ key.hash[1] };
    memcpy(t.magic, magic, sizeof magic);
    return t;
}

static bool entry_is_whole(const char *path, CacheKey key, size_t *n)
{
    uint8_t *data;
    size_t size;
    if (!tessi_file_read(path, (size_t)most_cached, &data, &size, NULL))
        return false;
    bool ok = size >= sizeof(Trailer);
    if (ok) {
        *n = size - sizeof(Trailer);
        Trailer expected = trailer_of(key, data, *n);
        ok = memcmp(data + *n, &expected, sizeof expected) == 0;
    }
    free(data);
    return ok;
}

char *tessi_cache_find(const RtCache *c, CacheKey key, const char *suffix, size_t *n)
{
    if (!c || !c->dir)
        return NULL;
    char *path = entry_path(c, key, suffix);
    struct stat st;
    if (!path || lstat(path, &st) != 0)
        goto miss;
    /* Code of somebody else is not run, whoever may write here. */
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        goto miss;
    size_t size;
    if (!entry_is_whole(path, key, &size)) {
        unlink(path);
        goto miss;
    }
    if (n)
        *n = size;
    utimensat(AT_FDCWD, path, NULL, 0); /* used now: pruned last */
    return path;
miss:
    free(path);
    return NULL;
}

char *tessi_cache_insert(const RtCache *c, CacheKey key, const char *suffix, const void *data,
                         size_t n)
{
    if (!c || !c->dir || n > most_cached / 4)
        return NULL;
    Trailer t = trailer_of(key, data, n);
    char *path = entry_path(c, key, suffix), *whole = malloc(n + sizeof t);
    bool ok = path && whole;
    if (ok) {
        memcpy(whole, data, n);
        memcpy(whole + n, &t, sizeof t);
        ok = tessi_file_write(path, whole, n + sizeof t, NULL);
    }
    free(whole);
    if (!ok) {
        free(path);
        return NULL;
    }
    tessi_cache_prune(c, most_cached);
    return path;
}

/* ---- Pruning ---- */

typedef struct Entry {
    char *name;
    struct timespec used;
    uint64_t bytes;
} Entry;
typedef struct EntryList {
    Entry *at;
    size_t n, cap;
    uint64_t bytes;
} EntryList;

/* Oldest first; the name decides between equals, so that the order is one. */
static int by_age(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool list_add(EntryList *list, const char *name, const struct stat *st)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        Entry *at = realloc(list->at, cap * sizeof *at);
        if (!at)
            return false;
        list->at = at;
        list->cap = cap;
    }
    Entry e = { .name = strdup(name), .used = st->st_mtim, .bytes = (uint64_t)st->st_size };
    if (!e.name)
        return false;
    list->at[list->n++] = e;
    list->bytes += e.bytes;
    return true;
}

/* Only names that we give are ours to remove. */
static bool is_entry_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == 32;
}

void tessi_cache_prune(const RtCache *c, uint64_t most_bytes)
{
    DIR *dir = c && c->dir ? opendir(c->dir) : NULL;
    if (!dir)
        return;
    EntryList list = { 0 };
    const time_t now = time(NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (strncmp(e->d_name, ".tess-", 6) == 0 && now - st.st_mtime > TRASH_SECONDS)
            unlinkat(dirfd(dir), e->d_name, 0);
        else if (is_entry_name(e->d_name) && !list_add(&list, e->d_name, &st))
            break;
    }
    if (list.bytes > most_bytes) {
        qsort(list.at, list.n, sizeof *list.at, by_age);
        /* A quarter more than needed, so that not every insertion prunes. */
        for (size_t i = 0; i < list.n && list.bytes > most_bytes - most_bytes / 4; i++)
            if (unlinkat(dirfd(dir), list.at[i].name, 0) == 0)
                list.bytes -= list.at[i].bytes;
    }
    for (size_t i = 0; i < list.n; i++)
        free(list.at[i].name);
    free(list.at);
    closedir(dir);
}
