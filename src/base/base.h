/* base: what every layer uses: arena, vectors, strings, hashing, checked numbers, status. Includes nothing of ours. */
#ifndef TESSERA_BASE_BASE_H
#define TESSERA_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TESS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TESS_NORETURN          __attribute__((noreturn))
#else
#define TESS_PRINTF(fmt, args)
#define TESS_NORETURN
#endif

/* ---- Arena -------------------------------------------------------------------------------------------------
 * All memory of a compilation comes from one arena and is freed with it. An allocation never returns NULL: when memory
 * is short (or the limit is reached, or a test injects a failure) the arena calls `fail`, which must not return; api/
 * sets it to a function that jumps back to the public entry point. */
typedef struct ArenaBlock ArenaBlock;
typedef struct Arena {
    ArenaBlock *block;
    size_t used_bytes;                      /* allocated so far, all blocks */
    size_t limit_bytes;                     /* 0 = no limit */
    uint64_t allocations;                   /* count, for failure injection */
    uint64_t fail_at;                       /* this allocation fails; 0 = never */
    void (*fail)(void *user) TESS_NORETURN; /* must not return */
    void *fail_user;
    struct Arena *root; /* of a scratch arena: whose limit and failures are its own; else NULL */
    /* of a root: the innermost scratch arena that is open; of a scratch arena: the one around it */
    struct Arena *scratch;
} Arena;

void tessi_arena_init(Arena *a, void (*fail)(void *user) TESS_NORETURN, void *fail_user);
void tessi_arena_dispose(Arena *a);
/* Zeroed memory, aligned for any type. */
void *tessi_alloc(Arena *a, size_t bytes);
void *tessi_alloc_array(Arena *a, size_t n, size_t size); /* checks n*size for overflow */
/* Gives memory that was allocated with `old` bytes `bytes` of them, more than before; its contents are kept, zeros
 * follow. In place where it was the last to be allocated, else it moves, and the old place stays as it is. */
void *tessi_alloc_more(Arena *a, void *at, size_t old, size_t bytes);
/* Memory for as long as one function runs: an arena that ends when it is closed, and counts towards the limit of `a`
 * until then. Those that are open are closed in reverse order; a shortage of memory, and the end of `a`, closes all. */
Arena *tessi_scratch_open(Arena *a);
void tessi_scratch_close(Arena *scratch);
/* The arena has no more memory: does not return. */
void tessi_arena_fail(Arena *a) TESS_NORETURN;
#define ARENA_NEW(arena, T)          ((T *)tessi_alloc((arena), sizeof(T)))
#define ARENA_NEW_ARRAY(arena, T, n) ((T *)tessi_alloc_array((arena), (n), sizeof(T)))

/* ---- Vectors in an arena: VEC(int) v = { 0 }; VEC_PUSH(arena, &v, 3); v.at[0]; v.n ---------------------------- */
#define VEC(T)           \
    struct {             \
        T *at;           \
        uint32_t n, cap; \
    }
void *tessi_vec_grow(Arena *a, void *at, uint32_t n, uint32_t *cap, size_t size);
#define VEC_RESERVE_ONE(arena, v) \
    ((v)->n < (v)->cap            \
         ? (void)0                \
         : (void)((v)->at = tessi_vec_grow((arena), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)))
#define VEC_PUSH(arena, v, x) (VEC_RESERVE_ONE((arena), (v)), (void)((v)->at[(v)->n++] = (x)))
/* `it` runs over the elements that v has when the loop starts; `break` and `continue` work as in any loop. */
#define VEC_FOREACH(T, it, v)                                   \
    for (uint32_t it##_left = (v)->n; it##_left; it##_left = 0) \
        for (T *it = (v)->at; it##_left; it++, it##_left--)
/* All elements of `from` behind those of v. */
#define VEC_APPEND(arena, v, from)                       \
    for (uint32_t i_ = 0, n_ = (from)->n; i_ < n_; i_++) \
    VEC_PUSH((arena), (v), (from)->at[i_])

/* ---- Strings ------------------------------------------------------------------------------------------------- */
char *tessi_strdup(Arena *a, const char *s);
char *tessi_strndup(Arena *a, const char *s, size_t n);
char *tessi_sprintf(Arena *a, const char *fmt, ...) TESS_PRINTF(2, 3);
char *tessi_vsprintf(Arena *a, const char *fmt, va_list args);
bool tessi_streq(const char *a, const char *b);
/* The candidate nearest to `word` by edit distance when it is near enough to suggest, else the first that begins with
 * it, else NULL. */
const char *tessi_nearest_word(const char *word, const char *const *candidates, size_t n);

/* A growing text in an arena; every printer writes into one. */
typedef struct Text {
    Arena *arena;
    char *at; /* always NUL-terminated once something was written */
    size_t n, cap;
} Text;
Text tessi_text_new(Arena *a);
void tessi_text_add(Text *t, const char *s);
void tessi_text_addn(Text *t, const char *s, size_t n);
/* Adds a string of JSON, in its quotes. */
void tessi_text_json(Text *t, const char *s);
void tessi_text_addf(Text *t, const char *fmt, ...) TESS_PRINTF(2, 3);
void tessi_text_vaddf(Text *t, const char *fmt, va_list args);
/* The shortest decimal that reads back to the same double (float when `single`); always with '.', 'e', "inf" or
 * "nan". */
void tessi_text_add_real(Text *t, double x, bool single);
const char *tessi_text_str(const Text *t); /* "" when empty */
/* The double (float when `single`) nearest to the decimal number of n <= 255 characters (digits [. digits] [e [+-]
 * digits]), ties to even, whatever the locale; false when it is too large. */
bool tessi_read_real(const char *s, size_t n, bool single, double *out);

/* ---- Hashing -------------------------------------------------------------------------------------------------- */
uint64_t tessi_hash_bytes(uint64_t seed, const void *p,
                          size_t n); /* FNV-1a based; stable across runs and machines */
uint64_t tessi_hash_u64(uint64_t seed, uint64_t x);

/* Open-addressing map from 64-bit hash to id (> 0); the caller compares the items. Used for hash-consing. */
typedef struct IdMap {
    uint64_t *hash;
    uint32_t *id;
    uint32_t n, cap;
} IdMap;
/* Calls same(user, id) for each id stored under the hash; returns the first for which it is true, else 0. */
uint32_t tessi_idmap_find(const IdMap *m, uint64_t hash, bool (*same)(void *user, uint32_t id),
                          void *user);
void tessi_idmap_add(Arena *a, IdMap *m, uint64_t hash, uint32_t id);

/* ---- Checked numbers: false on overflow, *out untouched --------------------------------------------------------- */
bool tessi_add_i64(int64_t a, int64_t b, int64_t *out);
bool tessi_sub_i64(int64_t a, int64_t b, int64_t *out);
bool tessi_mul_i64(int64_t a, int64_t b, int64_t *out);
int64_t tessi_floordiv(int64_t a, int64_t b); /* b > 0 */
int64_t tessi_floormod(int64_t a, int64_t b); /* b > 0; in 0..b-1 */
bool tessi_mul_size(size_t a, size_t b, size_t *out);

/* Closed interval of integers; empty when lo > hi. Saturating arithmetic. */
typedef struct Interval {
    int64_t lo, hi;
} Interval;
Interval tessi_interval_add(Interval a, Interval b);
Interval tessi_interval_mul(Interval a, Interval b);
Interval tessi_interval_union(Interval a, Interval b);

/* A failure of the outside world (a file, a compiler, a device): a status of tessera.h and one sentence. */
typedef struct Failure {
    int status;     /* 0 = none; else a tess_status */
    char text[512]; /* one sentence, without final newline */
} Failure;
/* Fills f (when not NULL) and returns false, so that callers can write `return tessi_failf(...)`. */
bool tessi_failf(Failure *f, int status, const char *fmt, ...) TESS_PRINTF(3, 4);

#endif
