/* What hosts of the library may be: threads with small stacks, its own and OpenMP's, threads that want other variants
 * meanwhile, and children after fork(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera.h"

enum { ROWS = 700, COLS = 640, SMALL_STACK = 64 << 10 };
static float input[ROWS * COLS];

static tess_program *compile(const char *text, const char *plan)
{
    tess_options o;
    tess_options_init(&o);
    o.target = TESS_TARGET_C;
    o.threads = 2;
    o.plan = plan;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    if (tess_compile(text, strlen(text), "host.tess", &o, &p, &d) != TESS_OK)
        fail_msg("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static tess_args *bind(const tess_program *p, int64_t rows, int64_t cols)
{
    tess_args *a = NULL;
    int64_t shape[2] = { rows, cols };
    const DLTensor in = { .data = input,
                          .device = { kDLCPU, 0 },
                          .ndim = 2,
                          .dtype = { kDLFloat, 32, 1 },
                          .shape = shape };
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    assert_int_equal(tess_args_image(a, "a", &in), TESS_OK);
    return a;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

typedef struct Run {
    tess_program *p;
    tess_args *a;
    tess_status status;
} Run;

static void *run_in_thread(void *user)
{
    Run *r = user;
    r->status = tess_run(r->p, r->a, NULL);
    return NULL;
}

/* A run on this stack, compared with one by the interpreter. */
static void run_on_small_stack(const char *text, const char *plan, int64_t rows, int64_t cols)
{
    Run r = { .p = compile(text, plan) };
    pthread_t thread;
    pthread_attr_t attributes;
    tess_args *first = bind(r.p, rows, cols); /* here: the compiler may want more */
    assert_int_equal(tess_run(r.p, first, NULL), TESS_OK);
    r.a = bind(r.p, rows, cols);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_in_thread, &r), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (r.status != TESS_OK || tess_verify(r.p, r.a) != TESS_OK)
        fail_msg("%s", tess_args_error(r.a));
    tess_args_free(first);
    tess_args_free(r.a);
    tess_program_free(r.p);
}

/* Sorted point by point: half a mebibyte for each. */
static void test_wide_median(void **state)
{
    (void)state;
    run_on_small_stack("stencil f(vector#2 float X) { return median(i = -180..180, j = -180..180 : "
                       "X@[i, j] * X@[0, j]); }\n"
                       "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a:mirror);\n",
                       NULL, 2, 3);
}

/* Tiles of a stage between, of every thread. */
static void test_tiles(void **state)
{
    (void)state;
    run_on_small_stack("stencil f(vector#2 float X) { return X@[-1, 0] + X@[1, 0] + X@[0, 1]; }\n"
                       "parameter M, N;\nvector#2 float a[M, N];\n"
                       "b = f(a:mirror);\nc = f(b:clamp);\nd = f(c:wrap);\nreturn f(d:clamp);\n",
                       "preset overlapped\n", ROWS, COLS);
}

/* Many small images: one for each mean. */
static void test_many_small_images(void **state)
{
    (void)state;
    char text[8192] = "stencil f(vector#2 float X, int n) { return X + n; }\n"
                      "parameter M, N;\nvector#2 float a[M, N];\n";
    char last[2048] = "return ";
    for (int i = 0; i < 60; i++) {
        char line[64];
        snprintf(line, sizeof line, "m%d = histogram(f(a, %d), 500);\n", i, i);
        strcat(text, line);
        snprintf(line, sizeof line, "%sm%d", i ? ", " : "", i);
        strcat(last, line);
    }
    strcat(text, strcat(last, ";\n"));
    run_on_small_stack(text, NULL, 20, 30);
}

/* ---- Meanwhile ------------------------------------------------------------------------------- */

static char folder[32];

static void path_in_folder(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", folder, name);
}

static void make_file(const char *name, const char *text)
{
    char path[64];
    path_in_folder(path, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/tess-host-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = { "cc", "block", "go" };
    for (int i = 0; i < 3; i++) {
        char path[64];
        path_in_folder(path, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* A compiler that waits for the file `go`, a minute at most, once there is the file `block`. */
static tess_program *compile_slowly(const char *text, tess_general general)
{
    char script[512], path[64];
    snprintf(script, sizeof script,
             "#!/bin/sh\ni=0\nwhile [ -e %s/block ] && [ ! -e %s/go ] && [ $i -lt 600 ]; do\n"
             "  i=$((i + 1)); sleep 0.1\ndone\nexec cc \"$@\"\n",
             folder, folder);
    make_file("cc", script);
    path_in_folder(path, "cc");
    tess_options o;
    tess_options_init(&o);
    o.target = TESS_TARGET_C;
    o.cc = path;
    o.cache = "";
    o.general = general;
    tess_program *p = NULL;
    assert_int_equal(tess_compile(text, strlen(text), "slow.tess", &o, &p, NULL), TESS_OK);
    return p;
}

typedef struct Meanwhile {
    Run run;
    atomic_bool ended;
} Meanwhile;

static void *run_meanwhile(void *user)
{
    Meanwhile *m = user;
    run_in_thread(&m->run);
    atomic_store(&m->ended, true);
    return NULL;
}

/* While one variant is compiled, for two threads that want it, another one runs and is looked at. */
static void test_runs_do_not_wait(void **state)
{
    (void)state;
    make_folder();
    tess_program *p = compile_slowly(
        "stencil f(vector#2 float X, const int n) { return sum(i = 0..n : X@[0, i]); }\n"
        "parameter M, N;\nvector#2 float a[M, N];\nconst int n = 1;\n"
        "return f(a:clamp, n);\n",
        TESS_GENERAL_NEVER);
    tess_args *ready = bind(p, 9, 9);
    assert_int_equal(tess_run(p, ready, NULL), TESS_OK);
    make_file("block", "");
    Meanwhile other[2] = { 0 };
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        other[i].run = (Run){ .p = p, .a = bind(p, 9, 9) };
        assert_int_equal(tess_args_scalar(other[i].run.a, "n", 2), TESS_OK);
        assert_int_equal(pthread_create(&thread[i], NULL, run_meanwhile, &other[i]), 0);
    }
    bool waited = false;
    for (int i = 0; i < 20; i++) {
        char *text = NULL;
        usleep(20000); /* so that they begin */
        assert_int_equal(tess_run(p, ready, NULL), TESS_OK);
        assert_int_equal(tess_dump(p, ready, "plan", &text, NULL), TESS_OK);
        tess_text_free(text);
        waited = waited || atomic_load(&other[0].ended) || atomic_load(&other[1].ended);
    }
    make_file("go", "");
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        if (other[i].run.status != TESS_OK || tess_verify(p, other[i].run.a) != TESS_OK)
            fail_msg("%s", tess_args_error(other[i].run.a));
        tess_args_free(other[i].run.a);
    }
    assert_false(waited);
    tess_args_free(ready);
    tess_program_free(p);
    remove_folder();
}

/* ---- Fork ------------------------------------------------------------------------------------ */

static const char forked_text[] = "stencil f(vector#2 float X) { return exp(sum(i = -4..4, j = "
                                  "-4..4 : X@[i, j] * X) * 0.001); }\n"
                                  "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a:mirror);\n";

/* A run in this process has the pixels of one before. */
static bool runs_as_before(tess_program *p, tess_args *a, const float *before)
{
    const DLTensor *t = NULL;
    return tess_run(p, a, NULL) == TESS_OK && tess_args_result(a, 0, &t) == TESS_OK
           && memcmp(t->data, before, sizeof input) == 0;
}

/* What a child does: runs again, with new arguments, with a new program, and frees everything. */
static int child(tess_program *p, tess_args *a, const float *before)
{
    bool ok = true;
    for (int i = 0; i < 3; i++)
        ok = ok && runs_as_before(p, a, before);
    tess_args *again = bind(p, ROWS, COLS);
    ok = ok && runs_as_before(p, again, before);
    tess_args_free(again);
    tess_program *other = compile(forked_text, NULL);
    again = bind(other, ROWS, COLS);
    ok = ok && runs_as_before(other, again, before);
    tess_args_free(again);
    tess_program_free(other);
    tess_args_free(a);
    tess_program_free(p);
    return ok ? 0 : 1;
}

/* The exit status of a child; -1 when it did not end within a minute. */
static int wait_for(pid_t pid)
{
    int status = -1;
    for (int i = 0; i < 600; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        usleep(100000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

static float before_fork[ROWS * COLS];

static void *fork_and_wait(void *user)
{
    int *status = user;
    tess_program *p = compile(forked_text, NULL);
    tess_args *a = bind(p, ROWS, COLS);
    const DLTensor *t = NULL;
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_int_equal(tess_args_result(a, 0, &t), TESS_OK);
    memcpy(before_fork, t->data, sizeof before_fork);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(child(p, a, before_fork));
    *status = wait_for(pid);
    if (!runs_as_before(p, a, before_fork)) /* here, too, as ever */
        *status = 1;
    tess_args_free(a);
    tess_program_free(p);
    return NULL;
}

static void test_fork(void **state)
{
    (void)state;
    int status = -1;
    fork_and_wait(&status);
    assert_int_equal(status, 0);
}

/* The thread that forks is the child's only one, whichever it was. */
static void test_fork_in_thread(void **state)
{
    (void)state;
    int status = -1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fork_and_wait, &status), 0);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
}

static tess_status run_with_mask(tess_program *p, int64_t extent)
{
    tess_args *a = bind(p, 20, 30);
    int64_t shape[2] = { extent, extent };
    const DLTensor mask = { .data = input,
                            .device = { kDLCPU, 0 },
                            .ndim = 2,
                            .dtype = { kDLFloat, 32, 1 },
                            .shape = shape };
    tess_status status = tess_args_image(a, "m", &mask);
    if (status == TESS_OK)
        status = tess_run(p, a, NULL);
    if (status == TESS_OK)
        status = tess_verify(p, a);
    tess_args_free(a);
    return status;
}

/* While a thread compiles what a run may use later: the child has no such thread to wait for, and starts one of its
 * own. */
static void test_fork_meanwhile(void **state)
{
    (void)state;
    make_folder();
    tess_program *p =
        compile_slowly("stencil f(vector#2 float X, mask#2 float m) { return convolve(X, m); }\n"
                       "parameter M, N, K, L;\nvector#2 float a[M, N];\nmask#2 float m[K, L];\n"
                       "return f(a:clamp, m);\n",
                       TESS_GENERAL_MEANWHILE);
    assert_int_equal(run_with_mask(p, 3), TESS_OK);
    make_file("block", "");
    assert_int_equal(run_with_mask(p, 5), TESS_OK);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const bool ok = run_with_mask(p, 5) == TESS_OK && run_with_mask(p, 7) == TESS_OK;
        make_file("go", "");
        tess_program_free(p);
        _exit(ok ? 0 : 1);
    }
    const int status = wait_for(pid);
    make_file("go", "");
    tess_program_free(p);
    remove_folder();
    assert_int_equal(status, 0);
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++)
        input[i] = (float)(i % 251);
    return setenv("OMP_STACKSIZE", "64k", 1); /* before OpenMP is loaded */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_median),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_many_small_images),
        cmocka_unit_test(test_runs_do_not_wait),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_in_thread),
        cmocka_unit_test(test_fork_meanwhile),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
