/* rt/machine and rt/env: what this machine is said to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/clock.h"
#include "rt/env.h"
#include "rt/machine.h"

static TESS_NORETURN void out_of_memory(void *user)
{
    (void)user;
    abort();
}

/* The number after "key = ", or -1. */
static double value_of(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && strncmp(line + n, " = ", 3) == 0)
            return strtod(line + n + 3, NULL);
    }
    return -1;
}

static void test_detected_text(void **state)
{
    (void)state;
    Arena arena;
    Text text, again;
    tessi_arena_init(&arena, out_of_memory, NULL);
    tessi_text_init(&text, &arena);
    tessi_text_init(&again, &arena);
    tessi_machine_detect(NULL, &text);
    tessi_machine_detect(NULL, &again);
    assert_string_equal(tessi_text_str(&text), tessi_text_str(&again));
    const char *t = tessi_text_str(&text);
    assert_int_equal(strncmp(t, "name = ", 7), 0);
    assert_int_equal(value_of(t, "cores"), tessi_cpu_count());
    double vector = value_of(t, "vector_bytes");
    assert_true(vector >= 8 && vector <= 256);
    assert_true(value_of(t, "vector_registers") >= 8);
    /* Every line is "key = value". */
    for (const char *line = t; *line; line = strchr(line, '\n') + 1) {
        size_t key = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
        assert_true(key > 0);
        assert_int_equal(strncmp(line + key, " = ", 3), 0);
        assert_true(line[key + 3] != '\n');
    }
    tessi_arena_dispose(&arena);
}

static void test_caches_grow_with_their_level(void **state)
{
    (void)state;
    Arena arena;
    Text text;
    tessi_arena_init(&arena, out_of_memory, NULL);
    tessi_text_init(&text, &arena);
    tessi_machine_detect(NULL, &text);
    double l1 = value_of(tessi_text_str(&text), "l1_bytes"),
           l2 = value_of(tessi_text_str(&text), "l2_bytes");
    if (l1 > 0)
        assert_true(l1 >= 4096 && l1 <= 1 << 20);
    if (l1 > 0 && l2 > 0)
        assert_true(l2 > l1);
    tessi_arena_dispose(&arena);
}

static void test_environment(void **state)
{
    (void)state;
    setenv("TESSERA_TEST", "x", 1);
    assert_string_equal(tessi_env("TESSERA_TEST"), "x");
    setenv("TESSERA_TEST", "", 1);
    assert_null(tessi_env("TESSERA_TEST"));
    unsetenv("TESSERA_TEST");
    assert_null(tessi_env("TESSERA_TEST"));
    assert_true(tessi_cpu_count() >= 1);
    assert_true(tessi_memory_bytes() > 1 << 20);
    double before = tessi_clock_ms();
    assert_true(tessi_clock_ms() >= before);
}

/* Bandwidths fall with the distance, and the whole takes well under a second. */
static void test_measured(void **state)
{
    (void)state;
    Arena arena;
    Text text, known, usual;
    char dir[] = "/tmp/tessera-machine-XXXXXX";
    assert_non_null(mkdtemp(dir));
    RtCache cache;
    tessi_cache_open(&cache, dir);
    tessi_arena_init(&arena, out_of_memory, NULL);
    tessi_text_init(&text, &arena);
    tessi_text_init(&known, &arena);
    tessi_text_init(&usual, &arena);
    double start = tessi_clock_ms();
    assert_true(tessi_machine_detect_measured(&cache, &text));
    assert_true(tessi_clock_ms() - start < 5000); /* half a second, unless others are at work */
    tessi_machine_detect(&cache, &known);
    tessi_machine_detect(NULL, &usual);
    assert_string_equal(tessi_text_str(&text), tessi_text_str(&known));
    assert_string_not_equal(tessi_text_str(&text), tessi_text_str(&usual));
    const char *t = tessi_text_str(&text);
    double ghz = value_of(t, "ghz"), load = value_of(t, "load_per_cycle");
    assert_true(ghz > 0.1 && ghz < 20);
    if (load > 0) {
        assert_true(load < 20 && value_of(t, "l1_gbs") > 0.5);
        assert_true(value_of(t, "memory_gbs") > 0.05 && value_of(t, "memory_gbs") < 1e5);
    }
    tessi_cache_prune(&cache, 0);
    rmdir(dir);
    tessi_cache_dispose(&cache);
    tessi_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detected_text),
        cmocka_unit_test(test_caches_grow_with_their_level),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
