/* The compile cache: entries with a hash of their contents at their end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* st_mtim, futimens under -std=c11 */
#endif
#include "rt/cache.h"
#include "rt/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ENTRY_MODE = 0600,
    TRASH_SECONDS = 3600 /* a temporary file as old as this belongs to nobody */
};

/* Stands at the end of each entry, so that entry and hash appear in one rename. */
typedef struct Trailer {
    char magic[8];
    uint64_t n;
    Digest sum; /* of name and contents */
} Trailer;
static const char magic[8] = "tesscode";

/* ---- Names ---- */

CacheKey tessi_cache_key(void)
{
    CacheKey k;
    tessi_hasher_init(&k.hasher);
    return k;
}

/* With its length, so that parts do not run into each other. */
void tessi_cache_key_add(CacheKey *k, const void *p, size_t n)
{
    const uint64_t length = n;
    tessi_hasher_add(&k->hasher, &length, sizeof length);
    tessi_hasher_add(&k->hasher, p, n);
}

void tessi_cache_key_add_text(CacheKey *k, const char *s)
{
    tessi_cache_key_add(k, s, strlen(s));
}

void tessi_cache_name(CacheKey key, const char *suffix, char name[CACHE_NAME])
{
    const Digest d = tessi_hasher_end(&key.hasher);
    for (int i = 0; i < DIGEST_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", d.at[i]);
    snprintf(name + 2 * DIGEST_BYTES, CACHE_NAME - 2 * DIGEST_BYTES, "%.16s", suffix);
}

static Trailer trailer_of(const char *name, const void *data, size_t n)
{
    Trailer t = { .n = n };
    Hasher h;
    tessi_hasher_init(&h);
    tessi_hasher_add(&h, name, strlen(name) + 1);
    tessi_hasher_add(&h, data, n);
    t.sum = tessi_hasher_end(&h);
    memcpy(t.magic, magic, sizeof magic);
    return t;
}

/* ---- Finding ---- */

/* Whether what was opened is a file that only we can have written. Nothing waits for the other end
 * of a pipe. */
static bool is_ours(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()
           && (st.st_mode & 07777) == ENTRY_MODE;
}

/* The contents of a whole entry of ours, NUL behind; NULL when it is none. */
static char *read_entry(int fd, const char *name, size_t *n)
{
    uint8_t *data;
    size_t size;
    if (!is_ours(fd)
        || !tessi_file_read_open(fd, name, (size_t)CACHE_MOST_BYTES, &data, &size, NULL))
        return NULL;
    if (size >= sizeof(Trailer)) {
        *n = size - sizeof(Trailer);
        const Trailer expected = trailer_of(name, data, *n);
        if (memcmp(data + *n, &expected, sizeof expected) == 0) {
            data[*n] = 0;
            return (char *)data;
        }
    }
    free(data);
    return NULL;
}

/* The contents and, where `descriptor` is not NULL, the descriptor that they were read from. */
static char *find(const RtCache *c, CacheKey key, const char *suffix, size_t *n, int *descriptor)
{
    char name[CACHE_NAME];
    const int folder = tessi_cache_folder(c);
    if (folder < 0)
        return NULL;
    tessi_cache_name(key, suffix, name);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool is_there = fd >= 0 || errno != ENOENT;
    char *data = fd >= 0 ? read_entry(fd, name, n) : NULL;
    if (data)
        futimens(fd, NULL); /* used now: pruned last */
    else if (is_there)
        unlinkat(folder, name, 0);
    close(folder);
    if (data && descriptor) {
        *descriptor = fd;
        return data;
    }
    if (fd >= 0)
        close(fd);
    return data;
}

char *tessi_cache_read(const RtCache *c, CacheKey key, const char *suffix, size_t *n)
{
    return find(c, key, suffix, n, NULL);
}

int tessi_cache_find(const RtCache *c, CacheKey key, const char *suffix)
{
    size_t n;
    int fd = -1;
    free(find(c, key, suffix, &n, &fd));
    return fd;
}

/* ---- Inserting ---- */

/* A new file that nobody else can open; its name is to be renamed or removed. */
static int open_new(int folder, char *name, size_t room)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, room, ".tess-%lx-%lx-%x.tmp", (unsigned long)getpid(),
                 (unsigned long)now.tv_nsec, attempt);
        int fd =
            openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, ENTRY_MODE);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool write_entry(int folder, const char *name, const void *data, size_t n)
{
    char temporary[64];
    const Trailer t = trailer_of(name, data, n);
    int fd = open_new(folder, temporary, sizeof temporary);
    if (fd < 0)
        return false;
    bool ok = fchmod(fd, ENTRY_MODE) == 0 && tessi_file_write_open(fd, data, n)
              && tessi_file_write_open(fd, &t, sizeof t);
    ok = close(fd) == 0 && ok;
    ok = ok && renameat(folder, temporary, folder, name) == 0;
    if (!ok)
        unlinkat(folder, temporary, 0);
    return ok;
}

bool tessi_cache_insert(const RtCache *c, CacheKey key, const char *suffix, const void *data,
                        size_t n)
{
    char name[CACHE_NAME];
    const int folder = n <= CACHE_MOST_BYTES / 4 ? tessi_cache_folder(c) : -1;
    if (folder < 0)
        return false;
    tessi_cache_name(key, suffix, name);
    const bool ok = write_entry(folder, name, data, n);
    close(folder);
    /* Pruning looks at every entry, which takes as long as a small program: one of 16 small entries does. */
    if (ok && (name[0] == '0' || n > CACHE_MOST_BYTES / 256))
        tessi_cache_prune(c, CACHE_MOST_BYTES);
    return ok;
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

/* Only names that we give are ours to remove: of this version, and of the first, which had shorter hashes. */
static bool is_entry_name(const char *name)
{
    const size_t n = strspn(name, "0123456789abcdef");
    return n == 2 * DIGEST_BYTES || n == 32;
}

/* The entries of the folder; what crashed processes left is removed in passing. */
static void list_entries(DIR *dir, EntryList *list)
{
    const time_t now = time(NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (strncmp(e->d_name, ".tess-", 6) == 0 && now - st.st_mtim.tv_sec > TRASH_SECONDS)
            unlinkat(dirfd(dir), e->d_name, 0);
        else if (is_entry_name(e->d_name) && !list_add(list, e->d_name, &st))
            return;
    }
}

static DIR *open_folder(const RtCache *c)
{
    const int folder = tessi_cache_folder(c);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    if (!dir && folder >= 0)
        close(folder);
    return dir;
}

static void list_free(EntryList *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i].name);
    free(list->at);
}

void tessi_cache_prune(const RtCache *c, uint64_t most_bytes)
{
    DIR *dir = open_folder(c);
    if (!dir)
        return;
    EntryList list = { 0 };
    list_entries(dir, &list);
    if (list.bytes > most_bytes) {
        qsort(list.at, list.n, sizeof *list.at, by_age);
        /* A quarter more than needed, so that not every insertion prunes. */
        for (size_t i = 0; i < list.n && list.bytes > most_bytes - most_bytes / 4; i++)
            if (unlinkat(dirfd(dir), list.at[i].name, 0) == 0)
                list.bytes -= list.at[i].bytes;
    }
    list_free(&list);
    closedir(dir);
}

void tessi_cache_sum(const RtCache *c, bool clear, uint64_t *n_entries, uint64_t *bytes)
{
    *n_entries = *bytes = 0;
    DIR *dir = open_folder(c);
    if (!dir)
        return;
    EntryList list = { 0 };
    list_entries(dir, &list);
    for (size_t i = 0; i < list.n; i++) {
        const char *suffix = strchr(list.at[i].name, '.');
        const bool stays = suffix && strcmp(suffix, CACHE_RATES) == 0;
        if (clear && (stays || unlinkat(dirfd(dir), list.at[i].name, 0) != 0))
            continue;
        ++*n_entries;
        *bytes += list.at[i].bytes;
    }
    list_free(&list);
    closedir(dir);
}
