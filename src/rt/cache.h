/* The compile cache: a directory of files named by a hash of everything that they were made of. Any
 * number of processes may use it at once: entries appear by rename, carry a checksum that is
 * verified at each use, and may vanish at any time. Nothing in here is ever needed: without a
 * usable directory every look-up misses. */
#ifndef TESSERA_RT_CACHE_H
#define TESSERA_RT_CACHE_H

#include "base/base.h"

typedef struct RtCache {
    char *dir; /* NULL: no cache */
} RtCache;

/* `dir` as in tess_options.cache: NULL = TESSERA_CACHE, XDG_CACHE_HOME/tessera or ~/.cache/tessera;
 * "" = none. Never fails. */
void tessi_cache_open(RtCache *c, const char *dir);
void tessi_cache_dispose(RtCache *c);

typedef struct CacheKey {
    uint64_t hash[2];
} CacheKey;
CacheKey tessi_cache_key(void); /* of nothing; then add every part */
void tessi_cache_key_add(CacheKey *k, const void *p, size_t n);
void tessi_cache_key_add_text(CacheKey *k, const char *s);

/* The path of the whole, unspoiled entry (owned by the caller, free), or NULL. A spoiled entry is
 * removed. Files keep a few bytes of checksum after the `n` bytes inserted (n may be NULL), which a
 * loader of modules does not mind. */
char *tessi_cache_find(const RtCache *c, CacheKey key, const char *suffix, size_t *n);
/* Adds an entry and returns its path (owned by the caller, free), or NULL when that was not
 * possible. Now and then removes the entries unused for longest, beyond 512 MiB. */
char *tessi_cache_insert(const RtCache *c, CacheKey key, const char *suffix, const void *data,
                         size_t n);
/* Removes the entries unused for longest until at most `most_bytes` remain, and what crashed
 * processes left. */
void tessi_cache_prune(const RtCache *c, uint64_t most_bytes);

#endif
