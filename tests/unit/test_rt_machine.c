/* rt/machine and rt/env: what this machine is said to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/clock.h"
#include "rt/env.h"
#include "rt/machine.h"
#include "rt/machine_measure.h"

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
    text = tessi_text_new(&arena);
    again = tessi_text_new(&arena);
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
    tessi_arena_init(&arena, out_of_memory, NULL);
    Text text = tessi_text_new(&arena);
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

/* Whatever else the machine does, the figures are not absurd, and are kept when they are to be. */
static void test_measured(void **state)
{
    (void)state;
    Arena arena;
    Text text, known;
    char dir[] = "/tmp/tessera-machine-XXXXXX";
    assert_non_null(mkdtemp(dir));
    RtCache cache;
    tessi_cache_open(&cache, dir);
    tessi_arena_init(&arena, out_of_memory, NULL);
    text = tessi_text_new(&arena);
    known = tessi_text_new(&arena);
    MachineRates rates;
    bool disturbed;
    const MachineSizes sizes = { .cores = tessi_cpu_count(), .l1_bytes = 32768 };
    assert_true(tessi_machine_measure(&sizes, &rates, &disturbed));
    assert_false(tessi_machine_is_measured(&cache));
    tessi_machine_keep(&cache, &rates, false, &text);
    tessi_machine_detect(&cache, &known);
    assert_true(tessi_machine_is_measured(&cache));
    const char *t = tessi_text_str(&text);
    assert_string_equal(t, tessi_text_str(&known));
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

/* What is measured while others are at work changes nothing. */
static void test_disturbed(void **state)
{
    (void)state;
    Arena arena;
    Text text;
    char dir[] = "/tmp/tessera-machine-XXXXXX";
    assert_non_null(mkdtemp(dir));
    RtCache cache;
    tessi_cache_open(&cache, dir);
    tessi_arena_init(&arena, out_of_memory, NULL);
    const MachineRates low = { .ghz = 1.25, .memory_gbs = 7 },
                       good = { .ghz = 2.5, .memory_gbs = 14 };
    static const struct {
        bool good, disturbed;
        double ghz; /* that planning uses then; 0: the usual one */
        const char *says;
    } steps[] = {
        { false, true, 0, "# others were at work while this was measured; here are usual" },
        { true, false, 2.5, "name = " },
        { false, true, 2.5,
          "# others were at work while this was measured; here are the figures of before" },
        { false, false, 1.25, "name = " }
    }; /* a machine may become slower */
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        text = tessi_text_new(&arena);
        tessi_machine_keep(&cache, steps[i].good ? &good : &low, steps[i].disturbed, &text);
        const char *t = tessi_text_str(&text);
        assert_int_equal(strncmp(t, steps[i].says, strlen(steps[i].says)), 0);
        if (steps[i].ghz > 0)
            assert_true(value_of(t, "ghz") == steps[i].ghz);
        else
            assert_true(value_of(t, "ghz") != low.ghz);
        Text known = tessi_text_new(&arena);
        tessi_machine_detect(&cache, &known);
        assert_non_null(strstr(t, tessi_text_str(&known)));
    }
    RtCache none;
    tessi_cache_open(&none, "/dev/null/x");
    text = tessi_text_new(&arena);
    tessi_machine_keep(&none, &good, false, &text);
    assert_non_null(strstr(tessi_text_str(&text), "# these figures could not be kept: "));
    tessi_cache_prune(&cache, 0);
    rmdir(dir);
    tessi_cache_dispose(&cache);
    tessi_cache_dispose(&none);
    tessi_arena_dispose(&arena);
}

static bool is_odd(int cpu)
{
    return cpu % 2 == 1;
}

static void test_who_was_busy(void **state)
{
    (void)state;
    static const char stat[] =
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1000 0 0 0 0 0 0 0 0 0\n"
        "cpu1 10 20 30 9999 9999 1 2 4 0 0\nintr 5\ncpu3 1 0 0 0 0 0 0 0 0 0\n";
    assert_true(tessi_busy_ms(stat, 100, is_odd) == 680);
    assert_true(tessi_busy_ms("", 100, is_odd) == 0);
    const ProcessorTimes from = { 1000, 500, 500, 2000 };
    ProcessorTimes to = { 2000, 1490, 2400, 4000 };
    assert_false(tessi_was_kept_waiting(&from, &to));
    assert_false(tessi_others_were_busy(&from, &to, 2));
    to.thread_ms = 1400;
    assert_false(tessi_others_were_heard(&from, &to));
    to.busy_ms = 4180; /* 0.28 of a core */
    assert_true(tessi_was_kept_waiting(&from, &to));
    assert_true(tessi_others_were_heard(&from, &to));
    assert_false(tessi_others_were_busy(&from, &to, 2)); /* may be ticks */
    to.busy_ms = 4300;
    assert_true(tessi_others_were_busy(&from, &to, 2));
    assert_false(tessi_others_were_busy(&from, &to, 64));
    to.busy_ms = 2000; /* not known */
    assert_false(tessi_others_were_busy(&from, &to, 2));
}

/* With twice as many processes at work as there are processors nothing is measured in peace. */
static void test_others_are_seen(void **state)
{
    (void)state;
    enum { MOST = 512 };
    static pid_t pids[MOST];
    int n = 2 * tessi_cpu_count() < MOST ? 2 * tessi_cpu_count() : MOST;
    for (int i = 0; i < n; i++)
        if ((pids[i] = fork()) == 0)
            for (volatile unsigned k = 0;; k++)
                if (getppid() == 1)
                    _exit(0);
    Arena arena;
    Text text, usual;
    tessi_arena_init(&arena, out_of_memory, NULL);
    text = tessi_text_new(&arena);
    usual = tessi_text_new(&arena);
    tessi_machine_detect(NULL, &usual);
    assert_true(tessi_machine_detect_measured(NULL, &text));
    for (int i = 0; i < n; i++)
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
    const char *t = tessi_text_str(&text);
    assert_int_equal(strncmp(t, "# others were at work", 21), 0);
    assert_string_equal(strchr(t, '\n') + 1, tessi_text_str(&usual));
    tessi_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detected_text), cmocka_unit_test(test_caches_grow_with_their_level),
        cmocka_unit_test(test_measured),      cmocka_unit_test(test_disturbed),
        cmocka_unit_test(test_who_was_busy),  cmocka_unit_test(test_others_are_seen),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
