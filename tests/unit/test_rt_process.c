/* rt/process: programs that succeed, fail, are missing, talk too much or do not end. */
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
#include "rt/process.h"
#include "tessera.h"

static ProcessResult run_shell(const char *script, ProcessOptions options)
{
    ProcessResult r;
    Failure f = { 0 };
    const char *argv[] = { "sh", "-c", script, NULL };
    if (!tessi_process_run(argv, &options, &r, &f))
        fail_msg("%s", f.text);
    return r;
}

static void test_output_and_exit_code(void **state)
{
    (void)state;
    ProcessResult r = run_shell("echo out; echo err >&2; exit 3", (ProcessOptions){ 0 });
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.signal, 0);
    assert_string_equal(r.output, "out\nerr\n");
    char how[64];
    tessi_process_describe(&r, how, sizeof how);
    assert_string_equal(how, "exit code 3");
    tessi_process_result_dispose(&r);
    assert_null(r.output);
}

static void test_no_shell_in_between(void **state)
{
    (void)state;
    ProcessResult r;
    const char *argv[] = { "printf", "%s|", "a b", "$HOME", "*", NULL };
    assert_true(tessi_process_run(argv, NULL, &r, NULL));
    assert_string_equal(r.output, "a b|$HOME|*|");
    tessi_process_result_dispose(&r);
}

static void test_nothing_to_read(void **state)
{
    (void)state;
    ProcessResult r = run_shell("cat; echo end", (ProcessOptions){ .timeout_s = 20 });
    assert_string_equal(r.output, "end\n");
    tessi_process_result_dispose(&r);
}

static void test_signal(void **state)
{
    (void)state;
    ProcessResult r = run_shell("kill -SEGV $$", (ProcessOptions){ 0 });
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGSEGV);
    tessi_process_result_dispose(&r);
}

static void test_only_the_end_is_kept(void **state)
{
    (void)state;
    ProcessResult r = run_shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done",
                                (ProcessOptions){ .tail_bytes = 22 });
    assert_string_equal(r.output, "line 19998\nline 19999\n");
    assert_int_equal(r.n_output, 22);
    tessi_process_result_dispose(&r);
}

/* Each script would take a minute. */
static void test_timeout(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "echo x; sleep 60", "sleep 60 & wait", /* a child holds the pipe */
        "exec >&- 2>&-; sleep 60",             /* nobody holds the pipe */
        "trap '' TERM INT; sleep 60",          /* does not listen */
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        double start = tessi_clock_ms();
        ProcessResult r = run_shell(scripts[i], (ProcessOptions){ .timeout_s = 0.2 });
        assert_true(r.timed_out);
        assert_int_equal(r.exit_code, -1);
        assert_true(tessi_clock_ms() - start < 30000);
        tessi_process_result_dispose(&r);
    }
}

/* What a program leaves behind, its output open, is not waited for. */
static void test_left_behind(void **state)
{
    (void)state;
    ProcessResult r = run_shell("echo out; sleep 1000 & echo $!", (ProcessOptions){ 0 });
    assert_int_equal(r.exit_code, 0);
    assert_int_equal(strncmp(r.output, "out\n", 4), 0);
    const pid_t left = (pid_t)strtol(r.output + 4, NULL, 10);
    assert_true(left > 0);
    assert_int_equal(kill(left, SIGKILL), 0); /* it is still there */
    tessi_process_result_dispose(&r);
}

static void test_own_place_for_files(void **state)
{
    (void)state;
    setenv("TMPDIR", "/elsewhere", 1);
    ProcessResult r = run_shell("echo $TMPDIR; env | grep -c TMPDIR=; test -n \"$PATH\"",
                                (ProcessOptions){ .tmpdir = "/place" });
    unsetenv("TMPDIR");
    assert_string_equal(r.output, "/place\n1\n");
    assert_int_equal(r.exit_code, 0);
    tessi_process_result_dispose(&r);
}

/* ---- The host ---- */

static const char *const count_up[] = { "sh", "-c", "echo $$; sleep 1000 & wait", NULL };

/* A host that wants to stop after it was asked a few times. */
typedef struct Asked {
    int held, most, times, until;
} Asked;

static int ask(void *user, int change)
{
    Asked *a = user;
    a->held += change;
    a->most = a->held > a->most ? a->held : a->most;
    a->times += change == 0;
    return a->times > a->until;
}

static void test_host_stops(void **state)
{
    (void)state;
    for (int until = 0; until < 4; until += 3) { /* before it starts, and while it runs */
        Asked asked = { .until = until };
        const RtHost host = { ask, &asked };
        ProcessResult r;
        Failure f = { 0 };
        assert_false(tessi_process_run(
            count_up, &(ProcessOptions){ .host = &host, .timeout_s = 600 }, &r, &f));
        assert_string_equal(f.text, until ? "'sh' was ended, as this program is to end"
                                          : "'sh' is not started, as this program is to end");
        assert_true(asked.held == 0 && asked.most == 1);
        assert_null(r.output);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    Asked patient = { .until = 1000000 };
    const RtHost host = { ask, &patient };
    ProcessResult r = run_shell("exit 5", (ProcessOptions){ .host = &host });
    assert_int_equal(r.exit_code, 5);
    assert_true(patient.held == 0 && patient.most == 1);
    tessi_process_result_dispose(&r);
}

static void reap(int sig)
{
    (void)sig;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

/* Programs that keep the end of their children to themselves are told so. */
static void test_signals_about_children(void **state)
{
    (void)state;
    const char *argv[] = { "true", NULL };
    ProcessResult r;
    Failure f = { 0 };
    signal(SIGCHLD, SIG_IGN);
    assert_false(tessi_process_run(argv, NULL, &r, &f));
    assert_string_equal(f.text,
                        "cannot run 'true': this program ignores the signal SIGCHLD, and so "
                        "would not learn how that ended");
    signal(SIGCHLD, reap);
    bool learnt = true; /* now and then the end is seen before the handler runs */
    for (int k = 0; k < 100 && learnt; k++) {
        learnt = tessi_process_run(argv, NULL, &r, &f);
        assert_true(!learnt || r.exit_code == 0);
        if (learnt)
            tessi_process_result_dispose(&r);
    }
    assert_false(learnt);
    assert_non_null(strstr(f.text, "cannot learn how 'true' ended: another part of this program"));
    signal(SIGCHLD, SIG_DFL);
    assert_true(tessi_process_run(argv, NULL, &r, &f));
    assert_int_equal(r.exit_code, 0);
    tessi_process_result_dispose(&r);
}

static void test_missing_program(void **state)
{
    (void)state;
    ProcessResult r;
    Failure f = { 0 };
    const char *argv[] = { "no-such-program-here", NULL };
    assert_false(tessi_process_run(argv, NULL, &r, &f));
    assert_string_equal(f.text, "cannot run 'no-such-program-here': no such program");
    argv[0] = "/"; /* a directory */
    assert_false(tessi_process_run(argv, NULL, &r, &f));
    assert_null(r.output);
}

static void test_find(void **state)
{
    (void)state;
    char *sh = tessi_process_find("sh");
    assert_non_null(sh);
    assert_non_null(strchr(sh, '/'));
    char *again = tessi_process_find(sh);
    assert_string_equal(again, sh);
    assert_null(tessi_process_find("no-such-program-here"));
    assert_null(tessi_process_find("/"));
    assert_null(tessi_process_find(""));
    free(again);
    free(sh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_exit_code), cmocka_unit_test(test_no_shell_in_between),
        cmocka_unit_test(test_nothing_to_read),      cmocka_unit_test(test_signal),
        cmocka_unit_test(test_only_the_end_is_kept), cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_missing_program),      cmocka_unit_test(test_find),
        cmocka_unit_test(test_left_behind),          cmocka_unit_test(test_own_place_for_files),
        cmocka_unit_test(test_host_stops),           cmocka_unit_test(test_signals_about_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
