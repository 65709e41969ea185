/* Loading a compiled module: dlopen. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NODELETE in <dlfcn.h>, dl_iterate_phdr */
#endif
#include "rt/module.h"
#include "tessera.h"

#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { N_RUNTIMES = 4 };
static const char *const runtimes[N_RUNTIMES] = { "libgomp.so.1", "libomp.so.5", "libomp.so",
                                                  "libiomp5.so" };

#if defined(__linux__)
/* What is loaded is asked for by the path that the loader knows: by a name alone it looks for a file in a hundred
 * folders before it says that there is none. */
static int note_runtime(struct dl_phdr_info *info, size_t size, void *user)
{
    const char **found = user, *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    for (size_t i = 0; i < N_RUNTIMES; i++)
        if (slash && strcmp(slash + 1, runtimes[i]) == 0)
            found[i] = info->dlpi_name;
    return 0;
}

static void find_runtimes(const char *found[N_RUNTIMES])
{
    memset(found, 0, N_RUNTIMES * sizeof *found);
    dl_iterate_phdr(note_runtime, found); /* nothing may be opened meanwhile */
}
#else
static void find_runtimes(const char *found[N_RUNTIMES])
{
    memcpy(found, runtimes, sizeof runtimes);
}
#endif

/* The first module brings in the OpenMP runtime, whose worker threads outlive the call that made
 * them. Were it unloaded with the last module, they would wake up in memory that is gone; so it
 * stays. */
static void keep_openmp_loaded(void)
{
    const char *found[N_RUNTIMES];
    find_runtimes(found);
    for (size_t i = 0; i < N_RUNTIMES; i++) {
        void *handle = found[i] ? dlopen(found[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) : NULL;
        if (handle)
            dlclose(handle);
    }
}

bool tessi_module_open(const char *path, RtModule *m, Failure *f)
{
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->handle) {
        const char *why = dlerror();
        return tessi_failf(f, TESS_ERROR_FILE, "cannot load the compiled program: %.400s",
                           why ? why : path);
    }
    keep_openmp_loaded();
    return true;
}

/* The loader knows modules by name, and the same number stands for one file today and another tomorrow. So the way
 * to the descriptor spells, in steps that lead nowhere, which file it is: "/." for a one, "/" for a zero. */
static void name_of_file(int fd, const struct stat *st, char *out, size_t room)
{
    const uint64_t words[2] = { (uint64_t)st->st_dev, (uint64_t)st->st_ino };
    size_t n = (size_t)snprintf(out, room, "/proc/self/fd");
    for (int i = 0; i < 128; i++)
        n += (size_t)snprintf(out + n, room - n, words[i / 64] >> i % 64 & 1 ? "/." : "/");
    snprintf(out + n, room - n, "/%d", fd);
}

bool tessi_module_open_file(int fd, RtModule *m, Failure *f)
{
    char name[13 + 2 * 128 + 16];
    struct stat st;
    *m = (RtModule){ 0 };
    if (fstat(fd, &st) != 0)
        return tessi_failf(f, TESS_ERROR_FILE, "cannot look at the compiled program");
    name_of_file(fd, &st, name, sizeof name);
    return tessi_module_open(name, m, f);
}

RtFunction tessi_module_function(const RtModule *m, const char *name, Failure *f)
{
    void *symbol = m->handle ? dlsym(m->handle, name) : NULL;
    RtFunction function = NULL;
    if (!symbol)
        tessi_failf(f, TESS_ERROR_INTERNAL, "the compiled program has no function '%.200s'", name);
    else
        memcpy(&function, &symbol,
               sizeof function); /* ISO C has no cast from object to function pointer */
    return function;
}

void tessi_module_close(RtModule *m)
{
    if (m->handle)
        dlclose(m->handle);
    m->handle = NULL;
}
