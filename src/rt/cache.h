/* The compile cache: a directory of files named by a hash of everything that they were made of. Any
 * number of processes may use it at once: entries appear by rename, carry a hash of their contents
 * that is verified at each use, and may vanish at any time. Nothing in here is ever needed: without
 * a usable directory every look-up misses.
 *
 * What lies there is run, so nobody else may write there (docs/decisions/043-code-cache.md): the
 * directory and all above it are looked at when it is opened, an entry through the descriptor that
 * it is then read or loaded from. */
#ifndef TESSERA_RT_CACHE_H
#define TESSERA_RT_CACHE_H

#include "base/base.h"
#include "rt/digest.h"

/* Beyond it, what is unused for longest goes. */
#define CACHE_MOST_BYTES ((uint64_t)512 << 20)
/* The suffix of rates that were measured (machine_detect.c). */
#define CACHE_RATES ".rates"

typedef struct RtCache {
    char *dir;             /* without symbolic links; NULL: no cache */
    uint64_t device, file; /* which directory that is */
    Failure refused;       /* why there is none though one is wanted */
} RtCache;

/* `dir` as in tess_options.cache: NULL = TESSERA_CACHE, XDG_CACHE_HOME/tessera or ~/.cache/tessera;
 * "" = none; an XDG_CACHE_HOME that is relative counts as unset. Makes it, for its owner alone, but no
 * home. Never fails: see `refused`. */
void tessi_cache_open(RtCache *c, const char *dir);
void tessi_cache_dispose(RtCache *c);
/* The directory, looked at again: a descriptor for the caller to close, or -1. */
int tessi_cache_folder(const RtCache *c);

typedef struct CacheKey {
    Hasher hasher;
} CacheKey;
CacheKey tessi_cache_key(void); /* of nothing; then add every part */
void tessi_cache_key_add(CacheKey *k, const void *p, size_t n);
void tessi_cache_key_add_text(CacheKey *k, const char *s);

/* The file of that entry in the directory. */
enum { CACHE_NAME = 2 * DIGEST_BYTES + 17 };
void tessi_cache_name(CacheKey key, const char *suffix, char name[CACHE_NAME]);

/* What was inserted, with a NUL behind (owned by the caller, free), or NULL. A spoiled entry, or
 * one that is not ours alone, is removed. */
char *tessi_cache_read(const RtCache *c, CacheKey key, const char *suffix, size_t *n);
/* The same as a descriptor of the file for the caller to close, or -1: what it shows is what was
 * verified, whatever happens to the name. The hash stands behind what was inserted, which a loader
 * of modules does not mind. */
int tessi_cache_find(const RtCache *c, CacheKey key, const char *suffix);
/* Adds an entry; false when that was not possible. Now and then removes the entries unused for
 * longest, beyond CACHE_MOST_BYTES. */
bool tessi_cache_insert(const RtCache *c, CacheKey key, const char *suffix, const void *data,
                        size_t n);
/* How many entries there are, and their bytes; with `clear`, how many were removed. Entries that
 * cannot be made again by compiling, what was measured of the machine, count but stay. */
void tessi_cache_sum(const RtCache *c, bool clear, uint64_t *n_entries, uint64_t *bytes);
/* Removes the entries unused for longest until at most `most_bytes` remain, and what crashed
 * processes left. */
void tessi_cache_prune(const RtCache *c, uint64_t most_bytes);

#endif
