/* C text to a function: the cache, the compiler and the loader together. */
#include "rt/kernel.h"
#include "rt/file.h"
#include "tessera.h"

#include <stdlib.h>

static bool open_and_find(const char *path, const char *name, RtModule *module,
                          RtFunction *function, Failure *f)
{
    if (!tessi_module_open(path, module, f))
        return false;
    *function = tessi_module_function(module, name, f);
    if (*function)
        return true;
    tessi_module_close(module);
    return false;
}

/* Compiles into `dir`; loads from the cache when the module can be put there, else from `dir`. */
static bool compile_in(const char *dir, const KernelJob *job, CcJob *cc, CacheKey key,
                       RtModule *module, RtFunction *function, char **log, Failure *f)
{
    char *built = tessi_path_join(dir, "module.so"), *kept = NULL;
    uint8_t *data = NULL;
    size_t n;
    if (!built)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    cc->out = built;
    bool ok = tessi_cc_compile_raw(cc, log, f);
    if (ok && job->cache && job->cache->dir && tessi_file_read(built, 0, &data, &n, NULL))
        kept = tessi_cache_insert(job->cache, key, ".so", data, n);
    /* Another process may prune the entry at once; the file in `dir` is ours. */
    ok = ok
         && ((kept && open_and_find(kept, job->function, module, function, NULL))
             || open_and_find(built, job->function, module, function, f));
    free(data);
    free(kept);
    free(built);
    return ok;
}

bool tessi_kernel_load(const KernelJob *job, RtModule *module, RtFunction *function, bool *cached,
                       Failure *f)
{
    *module = (RtModule){ 0 };
    *function = NULL;
    if (cached)
        *cached = false;
    CcJob cc = { .tool = job->tool, .c_text = job->c_text, .kind = CC_SHARED, .flags = job->flags };
    CacheKey key = tessi_cache_key();
    tessi_cc_add_key(&cc, &key);
    tessi_cache_key_add_text(&key, job->c_text);

    char *path = tessi_cache_find(job->cache, key, ".so", NULL);
    bool ok = path && open_and_find(path, job->function, module, function, NULL);
    free(path);
    if (ok) {
        if (cached)
            *cached = true;
        return true;
    }
    char *dir;
    if (job->recall || !tessi_temp_dir(&dir, f))
        return false;
    char *log = NULL;
    ok = compile_in(dir, job, &cc, key, module, function, &log, f);
    tessi_temp_dir_remove(dir);
    free(dir);
    /* Last, as the text's arena may jump out. */
    if (log && job->log)
        tessi_text_add(job->log, log);
    free(log);
    return ok;
}
