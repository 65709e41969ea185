/* rt/cache, rt/cc and rt/kernel: entries that are whole, spoiled or in somebody's way; C text to
 * functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/file.h"
#include "rt/kernel.h"
#include "tessera.h"

static char *dir; /* the cache of the running test */
static RtCache cache;

static int open_cache(void **state)
{
    (void)state;
    if (!tessi_temp_dir(NULL, &dir, NULL))
        return -1;
    tessi_cache_open(&cache, dir);
    return cache.dir ? 0 : -1;
}

static int close_cache(void **state)
{
    (void)state;
    tessi_cache_dispose(&cache);
    tessi_temp_dir_remove(NULL, dir);
    free(dir);
    return 0;
}

static CacheKey key_of(const char *text)
{
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, text);
    return key;
}

static TESS_NORETURN void out_of_memory(void *user)
{
    (void)user;
    abort();
}

/* ---- Cache ---- */

/* Where that entry lies; owned by the caller (free). */
static char *path_of(const char *text, const char *suffix)
{
    char name[CACHE_NAME];
    tessi_cache_name(key_of(text), suffix, name);
    return tessi_path_join(cache.dir, name);
}

static bool is_there(const char *text, const char *suffix)
{
    size_t n;
    char *data = tessi_cache_read(&cache, key_of(text), suffix, &n);
    const int fd = tessi_cache_find(&cache, key_of(text), suffix);
    assert_int_equal(data != NULL, fd >= 0);
    if (fd >= 0)
        close(fd);
    free(data);
    return fd >= 0;
}

static void test_keys(void **state)
{
    (void)state;
    char a[CACHE_NAME], b[CACHE_NAME];
    CacheKey split = key_of("a");
    tessi_cache_key_add_text(&split, "b");
    tessi_cache_name(key_of("ab"), ".so", a);
    assert_int_equal(strlen(a), 2 * DIGEST_BYTES + 3);
    tessi_cache_name(key_of("ab"), ".so", b);
    assert_string_equal(a, b);
    tessi_cache_name(key_of("ac"), ".so", b);
    assert_string_not_equal(a, b);
    tessi_cache_name(split, ".so", b); /* "ab" is not "a", "b" */
    assert_string_not_equal(a, b);
}

static void test_insert_and_find(void **state)
{
    (void)state;
    size_t n = 0;
    assert_false(is_there("x", ".so"));
    assert_true(tessi_cache_insert(&cache, key_of("x"), ".so", "data", 4));
    char *data = tessi_cache_read(&cache, key_of("x"), ".so", &n);
    assert_non_null(data);
    assert_int_equal(n, 4);
    assert_string_equal(data, "data"); /* with a NUL behind */
    assert_true(is_there("x", ".so"));
    assert_false(is_there("x", ".cc"));
    assert_false(is_there("y", ".so"));
    free(data);
}

/* Writes bytes in the place of an entry, as only its owner could. */
static void spoil(const char *path, const void *data, size_t n)
{
    assert_true(tessi_file_write(path, data, n, NULL));
    assert_int_equal(chmod(path, 0600), 0);
}

static void test_spoiled_entries_are_removed(void **state)
{
    (void)state;
    enum { TRAILER = 8 + 8 + DIGEST_BYTES };
    char *path = path_of("x", ".so"), *other = path_of("y", ".so"), *suffix = path_of("x", ".cc");
    for (size_t keep = 0; keep < 4 + TRAILER;
         keep++) { /* every truncation, then every changed byte */
        for (int change = 0; change < 2; change++) {
            uint8_t *data;
            size_t size;
            assert_true(tessi_cache_insert(&cache, key_of("x"), ".so", "data", 4));
            assert_true(tessi_file_read(path, 0, &data, &size, NULL));
            assert_int_equal(size, 4 + TRAILER);
            data[keep] ^= 4;
            spoil(path, data, change ? size : keep);
            assert_false(is_there("x", ".so"));
            assert_false(tessi_file_exists(path));
            free(data);
        }
    }
    /* An entry under another's name. */
    assert_true(tessi_cache_insert(&cache, key_of("x"), ".so", "data", 4));
    assert_int_equal(rename(path, other), 0);
    assert_false(is_there("y", ".so"));
    assert_true(tessi_cache_insert(&cache, key_of("x"), ".so", "data", 4));
    assert_int_equal(rename(path, suffix), 0);
    assert_false(is_there("x", ".cc"));
    free(path);
    free(other);
    free(suffix);
}

static void test_no_cache(void **state)
{
    (void)state;
    static const char *const dirs[] = { "", "/dev/null/cache" };
    for (size_t i = 0; i < 2; i++) {
        RtCache none;
        tessi_cache_open(&none, dirs[i]);
        size_t n;
        assert_null(none.dir);
        assert_int_equal(none.refused.status != 0, i != 0); /* none was wanted: nothing to say */
        assert_false(tessi_cache_insert(&none, key_of("x"), ".so", "data", 4));
        assert_int_equal(tessi_cache_find(&none, key_of("x"), ".so"), -1);
        assert_null(tessi_cache_read(&none, key_of("x"), ".so", &n));
        tessi_cache_prune(&none, 0);
        tessi_cache_dispose(&none);
    }
    assert_int_equal(tessi_cache_find(NULL, key_of("x"), ".so"), -1);
}

static void test_prune_removes_the_oldest(void **state)
{
    (void)state;
    char *paths[4], name[8] = "0";
    static char data[1000];
    for (int i = 0; i < 4; i++, name[0]++) {
        assert_true(tessi_cache_insert(&cache, key_of(name), ".so", data, sizeof data));
        paths[i] = path_of(name, ".so");
        /* 1 is the oldest, then 2, 3; 0 was used last. */
        struct timespec used[2] = { { 0 }, { .tv_sec = 1000000 + (i ? i : 9) } };
        assert_int_equal(utimensat(AT_FDCWD, paths[i], used, 0), 0);
    }
    char *foreign = tessi_path_join(dir, "README");
    assert_true(tessi_file_write(foreign, data, sizeof data, NULL));
    tessi_cache_prune(&cache, 5000);
    for (int i = 0; i < 4; i++)
        assert_true(tessi_file_exists(paths[i]));
    tessi_cache_prune(&cache, 3000); /* down to three quarters */
    assert_true(tessi_file_exists(paths[0]));
    assert_false(tessi_file_exists(paths[1]));
    assert_false(tessi_file_exists(paths[2]));
    assert_true(tessi_file_exists(paths[3]));
    tessi_cache_prune(&cache, 0);
    assert_false(tessi_file_exists(paths[0]));
    assert_true(tessi_file_exists(foreign)); /* not ours */
    for (int i = 0; i < 4; i++)
        free(paths[i]);
    free(foreign);
}

/* ---- Compiler and kernels ---- */

static CcTool tool_or_skip(void)
{
    CcTool tool;
    Failure f = { 0 };
    if (!tessi_cc_find(NULL, &cache, NULL, &tool, &f)) {
        assert_int_equal(f.status, TESS_ERROR_COMPILER);
        skip();
    }
    return tool;
}

static void test_compiler_is_remembered(void **state)
{
    (void)state;
    CcTool tool = tool_or_skip(), again;
    assert_true(*tool.version);
    assert_true(tessi_cc_find(NULL, &cache, NULL, &again, NULL));
    assert_string_equal(again.path, tool.path);
    assert_string_equal(again.version, tool.version);
    assert_memory_equal(&again.identity, &tool.identity, sizeof tool.identity);
    assert_true(again.openmp == tool.openmp && again.native == tool.native);
    assert_true(again.gcc == tool.gcc);
    tessi_cc_dispose(&tool);
    tessi_cc_dispose(&again);
}

/* Flags of GCC's own are for GCC alone, which clang calls itself too. */
static void test_families_of_compilers(void **state)
{
    (void)state;
    static const char *const names[] = { "gcc", "clang" };
    for (int clang = 0; clang < 2; clang++) {
        CcTool tool;
        if (!tessi_cc_find(names[clang], &cache, NULL, &tool, NULL))
            continue;                                /* not here */
        if (clang || !strstr(tool.version, "clang")) /* which some systems name gcc */
            assert_int_equal(tool.gcc, !clang);
        tessi_cc_dispose(&tool);
    }
}

static void test_missing_and_false_compilers(void **state)
{
    (void)state;
    CcTool tool;
    Failure f = { 0 };
    assert_false(tessi_cc_find("no-such-compiler", NULL, NULL, &tool, &f));
    assert_int_equal(f.status, TESS_ERROR_COMPILER);
    assert_string_equal(f.text, "there is no C compiler 'no-such-compiler'");
    setenv("TESSERA_CC", "/no/such/cc", 1);
    assert_false(tessi_cc_find(NULL, NULL, NULL, &tool, &f));
    unsetenv("TESSERA_CC");
    assert_non_null(strstr(f.text, "which TESSERA_CC names"));
    assert_false(tessi_cc_find("true", NULL, NULL, &tool, &f)); /* runs, but compiles nothing */
    assert_int_equal(f.status, TESS_ERROR_COMPILER);
    assert_false(tessi_cc_find("false", NULL, NULL, &tool, &f));
    assert_non_null(strstr(f.text, "is it a C compiler?"));
    assert_null(tool.path);
}

typedef int (*TakesInt)(int);
static int count_entries(const char *suffix)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += tessi_streq(tessi_path_suffix(e->d_name), suffix);
    closedir(d);
    return n;
}

static int call(const KernelJob *job, int x, bool expect_cached)
{
    RtModule module;
    RtFunction function;
    bool cached;
    Failure f = { 0 };
    if (!tessi_kernel_load(job, &module, &function, &cached, &f))
        fail_msg("%s", f.text);
    assert_int_equal(cached, expect_cached);
    int y = ((TakesInt)function)(x);
    tessi_module_close(&module);
    return y;
}

static void test_kernels(void **state)
{
    (void)state;
    CcTool tool = tool_or_skip();
    KernelJob job = { .tool = &tool,
                      .cache = &cache,
                      .c_text = "int twice(int x) { return 2 * x; }",
                      .function = "twice" };
    assert_int_equal(call(&job, 21, false), 42);
    assert_int_equal(count_entries(".so"), 1);
    assert_int_equal(call(&job, 4, true), 8);
    /* Flags are part of what an entry is made of. */
    const char *flags[] = { "-DX=3", NULL };
    KernelJob flagged = job;
    flagged.c_text = "int times(int x) { return X * x; }";
    flagged.function = "times";
    flagged.flags = flags;
    assert_int_equal(call(&flagged, 5, false), 15);
    flags[0] = "-DX=4";
    assert_int_equal(call(&flagged, 5, false), 20);
    assert_int_equal(call(&flagged, 5, true), 20);
    /* Without a cache. */
    job.cache = NULL;
    assert_int_equal(call(&job, 3, false), 6);
    /* For a processor that nobody can tell from others nothing is kept, and nothing taken. */
    job.cache = &cache;
    const int entries = count_entries(".so");
    tool.knows_cpu = false;
    assert_int_equal(call(&job, 3, false), 6);
    job.c_text = "int twice(int x) { return x + x; }";
    assert_int_equal(call(&job, 3, false), 6);
    assert_int_equal(count_entries(".so"), entries);
    tessi_cc_dispose(&tool);
}

static void test_spoiled_kernel_is_rebuilt(void **state)
{
    (void)state;
    CcTool tool = tool_or_skip();
    KernelJob job = { .tool = &tool,
                      .cache = &cache,
                      .c_text = "int thrice(int x) { return 3 * x; }",
                      .function = "thrice" };
    assert_int_equal(call(&job, 2, false), 6);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (tessi_streq(tessi_path_suffix(e->d_name), ".so")) {
            char *path = tessi_path_join(dir, e->d_name);
            assert_int_equal(truncate(path, 1000), 0);
            free(path);
        }
    closedir(d);
    assert_int_equal(call(&job, 2, false), 6);
    assert_int_equal(call(&job, 2, true), 6);
    tessi_cc_dispose(&tool);
}

static void test_errors_come_with_the_log(void **state)
{
    (void)state;
    CcTool tool = tool_or_skip();
    Arena arena;
    tessi_arena_init(&arena, out_of_memory, NULL);
    Text log = tessi_text_new(&arena);
    KernelJob job = { .tool = &tool,
                      .cache = &cache,
                      .c_text = "int f(void) { return nonsense; }",
                      .function = "f",
                      .log = &log };
    RtModule module;
    RtFunction function;
    Failure f = { 0 };
    assert_false(tessi_kernel_load(&job, &module, &function, NULL, &f));
    assert_int_equal(f.status, TESS_ERROR_COMPILER);
    assert_non_null(strstr(f.text, "failed: exit code 1"));
    assert_non_null(strstr(tessi_text_str(&log), "nonsense"));
    assert_int_equal(count_entries(".so"), 0);
    job.c_text = "int g(void) { return 1; }";
    assert_false(tessi_kernel_load(&job, &module, &function, NULL, &f));
    assert_non_null(strstr(f.text, "no function 'f'"));
    assert_null(module.handle);
    tessi_arena_dispose(&arena);
    tessi_cc_dispose(&tool);
}

static void test_kinds(void **state)
{
    (void)state;
    CcTool tool = tool_or_skip();
    static const char *const names[] = { "x.o", "x.so", "x.a" };
    for (int i = 0; i < 3; i++) {
        char *path = tessi_path_join(dir, names[i]);
        CcJob job = {
            .tool = &tool, .c_text = "int f(void) { return 1; }", .out = path, .portable = true
        };
        Failure f = { 0 };
        assert_true(tessi_cc_kind_of(path, &job.kind));
        assert_int_equal(job.kind, i);
        if (!tessi_cc_compile(&job, &f))
            fail_msg("%s", f.text);
        uint8_t *data;
        size_t n;
        assert_true(tessi_file_read(path, 0, &data, &n, NULL));
        assert_memory_equal(data,
                            i == 2 ? "!<ar"
                                   : "\x7f"
                                     "ELF",
                            4);
        free(data);
        free(path);
    }
    CcKind kind;
    assert_false(tessi_cc_kind_of("x.exe", &kind));
    tessi_cc_dispose(&tool);
}

/* Eight processes build the same two kernels at once. */
static void test_processes_share_a_cache(void **state)
{
    (void)state;
    CcTool tool = tool_or_skip();
    pid_t pids[8];
    for (int p = 0; p < 8; p++) {
        pids[p] = fork();
        if (pids[p])
            continue;
        int wrong = 0;
        for (int k = 0; k < 2; k++) {
            char text[64];
            snprintf(text, sizeof text, "int f(int x) { return x + %d; }", k);
            KernelJob job = { .tool = &tool, .cache = &cache, .c_text = text, .function = "f" };
            RtModule module;
            RtFunction function;
            if (!tessi_kernel_load(&job, &module, &function, NULL, NULL)
                || ((TakesInt)function)(p) != p + k)
                wrong++;
        }
        _exit(wrong);
    }
    for (int p = 0; p < 8; p++) {
        int status;
        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_entries(".so"), 2);
    assert_int_equal(count_entries(".tmp"), 0);
    tessi_cc_dispose(&tool);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_cache, close_cache)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_keys),
        TEST(test_insert_and_find),
        TEST(test_spoiled_entries_are_removed),
        TEST(test_no_cache),
        TEST(test_prune_removes_the_oldest),
        TEST(test_compiler_is_remembered),
        TEST(test_families_of_compilers),
        TEST(test_missing_and_false_compilers),
        TEST(test_kernels),
        TEST(test_spoiled_kernel_is_rebuilt),
        TEST(test_errors_come_with_the_log),
        TEST(test_kinds),
        TEST(test_processes_share_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
