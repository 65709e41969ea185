/* C text to a function: the cache, the compiler and the loader together. */
#include "rt/kernel.h"
#include "rt/file.h"
#include "tessera.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool find_function(const char *name, RtModule *module, RtFunction *function, Failure *f)
{
    *function = tessi_module_function(module, name, f);
    if (!*function)
        tessi_module_close(module);
    return *function != NULL;
}

/* Loads the entry through the descriptor that it was verified by. */
static bool load_cached(const RtCache *cache, CacheKey key, const char *name, RtModule *module,
                        RtFunction *function)
{
    const int fd = tessi_cache_find(cache, key, ".so");
    if (fd < 0)
        return false;
    const bool ok =
        tessi_module_open_file(fd, module, NULL) && find_function(name, module, function, NULL);
    close(fd);
    return ok;
}

/* Compiles to the file `built`, and puts that into the cache if it can: *kept. */
static bool compile_to(const char *built, const RtCache *cache, CcJob *cc, CacheKey key, char **log,
                       bool *kept, Failure *f)
{
    uint8_t *data = NULL;
    size_t n;
    cc->out = built;
    *kept = false;
    const bool ok = tessi_cc_compile_raw(cc, log, f);
    if (ok && cache && cache->dir && tessi_file_read(built, 0, &data, &n, NULL))
        *kept = tessi_cache_insert(cache, key, ".so", data, n);
    free(data);
    return ok;
}

/* Compiles into `dir`; loads from the cache when the module can be put there, else from `dir`. */
static bool compile_in(const char *dir, const KernelJob *job, const RtCache *cache, CcJob *cc,
                       CacheKey key, RtModule *module, RtFunction *function, char **log, Failure *f)
{
    char *built = tessi_path_join(dir, "module.so");
    bool kept;
    if (!built)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    bool ok = compile_to(built, cache, cc, key, log, &kept, f);
    /* Another process may prune the entry at once; the file in `dir` is ours. */
    ok = ok
         && ((kept && load_cached(cache, key, job->function, module, function))
             || (tessi_module_open(built, module, f)
                 && find_function(job->function, module, function, f)));
    free(built);
    return ok;
}

Digest tessi_kernel_digest(const char *c_text)
{
    Hasher h;
    tessi_hasher_init(&h);
    tessi_hasher_add(&h, c_text, strlen(c_text));
    return tessi_hasher_end(&h);
}

static CacheKey key_of(const CcJob *cc, const KernelJob *job)
{
    CacheKey key = tessi_cache_key();
    tessi_cc_add_key(cc, &key);
    const Digest d = job->c_text ? tessi_kernel_digest(job->c_text) : *job->digest;
    tessi_cache_key_add(&key, d.at, sizeof d.at);
    return key;
}

bool tessi_kernel_keep(const KernelJob *job, Failure *f)
{
    CcJob cc = { .tool = job->tool, .c_text = job->c_text, .kind = CC_SHARED, .flags = job->flags };
    const RtCache *cache = job->tool->knows_cpu ? job->cache : NULL;
    const CacheKey key = key_of(&cc, job);
    const int there = tessi_cache_find(cache, key, ".so");
    char *dir, *log = NULL;
    bool kept = there >= 0;
    if (kept)
        close(there);
    if (kept || !cache || !tessi_temp_dir(job->tool->host, &dir, f))
        return kept;
    char *built = tessi_path_join(dir, "module.so");
    if (built)
        compile_to(built, cache, &cc, key, &log, &kept, f);
    tessi_temp_dir_remove(job->tool->host, dir);
    free(built);
    free(dir);
    free(log);
    return kept;
}

bool tessi_kernel_load(const KernelJob *job, RtModule *module, RtFunction *function, bool *cached,
                       Failure *f)
{
    *module = (RtModule){ 0 };
    *function = NULL;
    if (cached)
        *cached = false;
    CcJob cc = { .tool = job->tool, .c_text = job->c_text, .kind = CC_SHARED, .flags = job->flags };
    const RtCache *cache = job->tool->knows_cpu ? job->cache : NULL;
    const CacheKey key = key_of(&cc, job);

    if (load_cached(cache, key, job->function, module, function)) {
        if (cached)
            *cached = true;
        return true;
    }
    char *dir;
    if (job->recall || !job->c_text || !tessi_temp_dir(job->tool->host, &dir, f))
        return false;
    char *log = NULL;
    const bool ok = compile_in(dir, job, cache, &cc, key, module, function, &log, f);
    tessi_temp_dir_remove(job->tool->host, dir);
    free(dir);
    /* Last, as the text's arena may jump out. */
    if (log && job->log)
        tessi_text_add(job->log, log);
    free(log);
    return ok;
}
