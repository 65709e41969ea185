/* The C compiler of this machine: finding it, what it can do, compiling with it. */
#ifndef TESSERA_RT_CC_H
#define TESSERA_RT_CC_H

#include "base/base.h"
#include "rt/cache.h"
#include "rt/host.h"

typedef struct CcTool {
    char *path;      /* the program; NULL: none was found */
    char *version;   /* first line of what --version prints */
    Digest identity; /* of the program and of this CPU, which -march=native means */
    bool knows_cpu;  /* else nothing that it makes is kept */
    bool native;     /* takes -march=native */
    bool openmp;     /* compiles and links -fopenmp */
    /* else: compiles OpenMP's pragmas, and links with threads of ours. So it does for CC_SHARED alone: the others are
     * linked by somebody who may have OpenMP. */
    bool own_threads;
    bool gcc;           /* GCC, whose own flags it takes: not clang, which calls itself so too */
    bool mistuned;      /* -march=native finds 512-bit vectors, but tunes for a processor without */
    const RtHost *host; /* borrowed; may be NULL */
} CcTool;

/* Finds `name`, or when it is NULL what TESSERA_CC names, or else cc, gcc or clang on PATH, and
 * tries it once; what it takes is remembered in the cache (may be NULL). TESS_ERROR_COMPILER when
 * there is none or it does not work. `host` (may be NULL) is asked while a compiler runs. */
bool tessi_cc_find(const char *name, const RtCache *cache, const RtHost *host, CcTool *tool,
                   Failure *f);
/* The same where the cache remembers it; nothing is tried. */
bool tessi_cc_find_remembered(const char *name, const RtCache *cache, const RtHost *host,
                              CcTool *tool);
void tessi_cc_dispose(CcTool *tool);
/* No compiler is named, and none of the usual ones is there: not one that fails. */
bool tessi_cc_is_absent(const char *name);

/* The same without waiting for a compiler that is not remembered: *tool takes what most do, and *trial, when it is
 * not NULL, is finding out whether that is so. To be settled. */
typedef struct CcTrial CcTrial;
bool tessi_cc_find_early(const char *name, const RtCache *cache, const RtHost *host, CcTool *tool,
                         CcTrial **trial, Failure *f);
/* Waits, and makes *tool what tessi_cc_find would have made it. Frees the trial. */
bool tessi_cc_settle(CcTrial *trial, CcTool *tool, Failure *f);

typedef enum CcKind { CC_OBJECT, CC_SHARED, CC_ARCHIVE } CcKind; /* .o .so .a */
bool tessi_cc_kind_of(const char *path, CcKind *kind);           /* by suffix */

typedef struct CcJob {
    const CcTool *tool;
    const char *c_text;
    CcKind kind;
    const char *out;          /* appears whole or not at all */
    const char *const *flags; /* more flags, NULL at the end; may be NULL */
    bool portable;            /* code for any CPU of this family instead of this one */
    Text *log;                /* gets what a failing compiler said; may be NULL */
} CcJob;
/* -O3, no contraction (the graph alone decides about rounding), threads where there are. */
bool tessi_cc_compile(const CcJob *job, Failure *f);
/* The same with the log in memory from malloc (owned by the caller, free) instead of job->log, so
 * that nothing jumps out. */
bool tessi_cc_compile_raw(const CcJob *job, char **log, Failure *f);

/* Adds to a cache key what decides about the result of a job, but for its text and kind. */
void tessi_cc_add_key(const CcJob *job, CacheKey *key);

#endif
