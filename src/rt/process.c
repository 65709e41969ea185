/* Running another program: posix_spawn, one pipe for both outputs, a deadline. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "rt/process.h"
#include "rt/bytes.h"
#include "rt/clock.h"
#include "rt/env.h"
#include "rt/file.h"
#include "tessera.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Starts argv in a process group of its own (so that a deadline reaches its children), with both
 * outputs going to `out`. */
static int spawn(const char *const *argv, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    if (!error)
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                                          | POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error)
        error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (!error) /* posix_spawnp does not write to the strings; its type is older than const */
        error = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                             environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Gathers output until everybody has closed the pipe; false when the deadline came first. */
static bool gather(int fd, double deadline, size_t keep, RtBytes *tail)
{
    char chunk[4096];
    for (;;) {
        int wait_ms = -1;
        if (deadline > 0) {
            double left = deadline - tessi_clock_ms();
            if (left <= 0)
                return false;
            wait_ms = left < 1e6 ? (int)left + 1 : 1000000;
        }
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int ready = poll(&p, 1, wait_ms);
        if (ready < 0 && errno != EINTR)
            return true;
        if (ready <= 0)
            continue;
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        tessi_bytes_add(tail, chunk, (size_t)got);
        if (tail->n > 2 * keep)
            tessi_bytes_keep_tail(tail, keep);
    }
}

/* Like waitpid; 0 when the deadline (0 = none) came first. A program ends right after it closed its
 * outputs, unless it means to stay in the background. */
static pid_t wait_until(pid_t pid, double deadline, int *status)
{
    for (long pause_ns = 100000;; pause_ns = pause_ns < 50000000 ? 2 * pause_ns : pause_ns) {
        pid_t ended = waitpid(pid, status, deadline > 0 ? WNOHANG : 0);
        if (ended > 0 || (ended < 0 && errno != EINTR))
            return ended;
        if (deadline > 0 && tessi_clock_ms() >= deadline)
            return 0;
        if (deadline > 0)
            nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
    }
}

bool tessi_process_run(const char *const *argv, const ProcessOptions *options,
                       ProcessResult *result, Failure *f)
{
    *result = (ProcessResult){ .exit_code = -1 };
    const size_t keep = options && options->tail_bytes ? options->tail_bytes : 16384;
    const double timeout_s = options ? options->timeout_s : 0;
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return tessi_failf(f, TESS_ERROR_FILE, "cannot run '%.200s': %s", argv[0], strerror(errno));
    pid_t pid;
    int error = spawn(argv, pipes[1], &pid);
    close(pipes[1]);
    if (error) {
        close(pipes[0]);
        return tessi_failf(f, TESS_ERROR_FILE, "cannot run '%.200s': %s", argv[0],
                           error == ENOENT ? "no such program" : strerror(error));
    }
    double deadline = timeout_s > 0 ? tessi_clock_ms() + timeout_s * 1e3 : 0;
    RtBytes tail = { 0 };
    if (!gather(pipes[0], deadline, keep, &tail)) {
        result->timed_out = true;
        kill(-pid, SIGKILL);
    }
    close(pipes[0]);
    int status = 0;
    pid_t ended = wait_until(pid, result->timed_out ? 0 : deadline, &status);
    if (ended == 0) {
        result->timed_out = true;
        kill(-pid, SIGKILL);
        ended = wait_until(pid, 0, &status);
    }
    if (ended == pid && WIFEXITED(status) && !result->timed_out)
        result->exit_code = WEXITSTATUS(status);
    if (ended == pid && WIFSIGNALED(status))
        result->signal = WTERMSIG(status);

    tessi_bytes_keep_tail(&tail, keep);
    tessi_bytes_add(&tail, "", 1);
    if (tail.failed) {
        tessi_bytes_dispose(&tail);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    result->output = (char *)tail.at;
    result->n_output = tail.n - 1;
    return true;
}

void tessi_process_result_dispose(ProcessResult *r)
{
    free(r->output);
    *r = (ProcessResult){ .exit_code = -1 };
}

void tessi_process_describe(const ProcessResult *r, char *out, size_t n)
{
    if (r->timed_out)
        snprintf(out, n, "it did not end in time");
    else if (r->signal)
        snprintf(out, n, "signal %d (%s)", r->signal, strsignal(r->signal));
    else
        snprintf(out, n, "exit code %d", r->exit_code);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *tessi_process_find(const char *name)
{
    if (!*name)
        return NULL;
    if (strchr(name, '/'))
        return is_program(name) ? strdup(name) : NULL;
    const char *path = tessi_env("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(path, ":");
        char *dir = n ? strndup(path, n) : strdup(".");
        char *full = dir ? tessi_path_join(dir, name) : NULL;
        free(dir);
        if (full && is_program(full))
            return full;
        free(full);
        if (!path[n])
            return NULL;
        path += n + 1;
    }
}
