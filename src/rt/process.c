/* Running another program: posix_spawn, one pipe for both outputs, a deadline, an end on demand. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, environ */
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

enum { TICK_MS = 20, GRACE_MS = 500 };

/* ---- Starting ---- */

/* Our environment with another TMPDIR; owned by the caller (free), its strings are not. `entry` has
 * the new one. */
static char **environment_with(char *entry)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    char **at = malloc((n + 2) * sizeof *at);
    for (size_t i = 0; at && i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0)
            at[kept++] = environ[i];
    if (at) {
        at[kept++] = entry;
        at[kept] = NULL;
    }
    return at;
}

/* Starts argv in a process group of its own (so that its end reaches its children), with both
 * outputs going to `out`. */
static int spawn_in(const char *const *argv, char **environment, int out, pid_t *pid)
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
                             environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int spawn(const char *const *argv, const char *tmpdir, int out, pid_t *pid)
{
    if (!tmpdir)
        return spawn_in(argv, environ, out, pid);
    const size_t room = strlen(tmpdir) + 8;
    char *entry = malloc(room), **environment = entry ? environment_with(entry) : NULL;
    int error = ENOMEM;
    if (environment) {
        snprintf(entry, room, "TMPDIR=%s", tmpdir);
        error = spawn_in(argv, environment, out, pid);
    }
    free(environment);
    free(entry);
    return error;
}

/* A process that ignores SIGCHLD is not told how its children end. */
static bool is_told_of_children(void)
{
    struct sigaction now;
    return sigaction(SIGCHLD, NULL, &now) != 0
           || (now.sa_handler != SIG_IGN && !(now.sa_flags & SA_NOCLDWAIT));
}

/* ---- Until it ends ---- */

/* A program under way. */
typedef struct Run {
    pid_t pid;
    int out; /* our end of the pipe, which does not block; -1: everybody has closed the other */
    double deadline; /* 0: none */
    const RtHost *host;
    RtBytes tail; /* of its output */
    size_t keep;
    long pause_ns;
    bool ended, lost, timed_out, stopped; /* lost: somebody else took its status */
    int status;
} Run;

/* Takes what there is to read. */
static void take_output(Run *r)
{
    char chunk[4096];
    for (;;) {
        ssize_t got = read(r->out, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got <= 0)
            break;
        tessi_bytes_add(&r->tail, chunk, (size_t)got);
        if (r->tail.n > 2 * r->keep)
            tessi_bytes_keep_tail(&r->tail, r->keep);
    }
    close(r->out);
    r->out = -1;
}

static void look_whether_ended(Run *r)
{
    pid_t ended = waitpid(r->pid, &r->status, WNOHANG);
    r->ended = ended == r->pid || (ended < 0 && errno != EINTR);
    r->lost = ended < 0 && r->ended;
}

/* A moment, or until there is something to read. A program ends right after it closed its outputs,
 * unless it means to stay in the background. */
static void wait_a_moment(Run *r)
{
    if (r->out >= 0) {
        struct pollfd p = { .fd = r->out, .events = POLLIN };
        if (poll(&p, 1, TICK_MS) > 0)
            take_output(r);
        return;
    }
    nanosleep(&(struct timespec){ .tv_nsec = r->pause_ns }, NULL);
    if (r->pause_ns < TICK_MS * 1000000L)
        r->pause_ns *= 2;
}

/* Whether anything of the group is left within the time. */
static bool outlives(pid_t group, Run *r, double ms)
{
    const double until = tessi_clock_ms() + ms;
    r->pause_ns = 100000;
    for (;;) {
        if (!r->ended)
            look_whether_ended(r);
        if (r->ended && kill(-group, 0) != 0)
            return false;
        if (tessi_clock_ms() >= until)
            return true;
        if (r->out >= 0) /* it may wait for us to read */
            take_output(r);
        nanosleep(&(struct timespec){ .tv_nsec = r->pause_ns }, NULL);
        if (r->pause_ns < TICK_MS * 1000000L)
            r->pause_ns *= 2;
    }
}

/* Ends it and what it started: asked first, so that it can remove what it wrote. */
static void end_group(Run *r)
{
    kill(-r->pid, SIGTERM);
    if (!outlives(r->pid, r, GRACE_MS))
        return;
    kill(-r->pid, SIGKILL);
    outlives(r->pid, r, GRACE_MS);
    while (!r->ended) {
        nanosleep(&(struct timespec){ .tv_nsec = r->pause_ns }, NULL);
        look_whether_ended(r);
    }
}

/* Gathers its output until it ends. Others may hold the pipe open for longer: they are not waited for. */
static void follow(Run *r)
{
    while (!r->ended && !r->timed_out && !r->stopped) {
        wait_a_moment(r);
        look_whether_ended(r);
        r->timed_out = !r->ended && r->deadline > 0 && tessi_clock_ms() >= r->deadline;
        r->stopped = !r->ended && tessi_host_hold(r->host, 0);
    }
    if (!r->ended)
        end_group(r);
    if (r->out >= 0)
        take_output(r);
    if (r->out >= 0)
        close(r->out);
}

static bool start(Run *r, const char *const *argv, const ProcessOptions *options, Failure *f)
{
    int pipes[2];
    if (tessi_host_hold(r->host, 0))
        return tessi_failf(f, TESS_ERROR_FILE, "'%.200s' is not started, as this program is to end",
                           argv[0]);
    if (!is_told_of_children())
        return tessi_failf(f, TESS_ERROR_FILE,
                           "cannot run '%.200s': this program ignores the signal SIGCHLD, and so "
                           "would not learn how that ended",
                           argv[0]);
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return tessi_failf(f, TESS_ERROR_FILE, "cannot run '%.200s': %s", argv[0], strerror(errno));
    int error = spawn(argv, options ? options->tmpdir : NULL, pipes[1], &r->pid);
    close(pipes[1]);
    if (error) {
        close(pipes[0]);
        return tessi_failf(f, TESS_ERROR_FILE, "cannot run '%.200s': %s", argv[0],
                           error == ENOENT ? "no such program" : strerror(error));
    }
    r->out = pipes[0];
    fcntl(r->out, F_SETFL, O_NONBLOCK);
    return true;
}

static bool finish(Run *r, const char *name, ProcessResult *result, Failure *f)
{
    if (r->stopped)
        return tessi_failf(f, TESS_ERROR_FILE, "'%.200s' was ended, as this program is to end",
                           name);
    if (r->lost)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "cannot learn how '%.200s' ended: another part of this program waited "
                           "for it, or had SIGCHLD ignored",
                           name);
    result->timed_out = r->timed_out;
    if (WIFEXITED(r->status) && !r->timed_out)
        result->exit_code = WEXITSTATUS(r->status);
    if (WIFSIGNALED(r->status))
        result->signal = WTERMSIG(r->status);
    tessi_bytes_keep_tail(&r->tail, r->keep);
    tessi_bytes_add(&r->tail, "", 1);
    if (r->tail.failed)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    result->output = (char *)r->tail.at;
    result->n_output = r->tail.n - 1;
    r->tail = (RtBytes){ 0 };
    return true;
}

bool tessi_process_run(const char *const *argv, const ProcessOptions *options,
                       ProcessResult *result, Failure *f)
{
    *result = (ProcessResult){ .exit_code = -1 };
    const double timeout_s = options ? options->timeout_s : 0;
    Run r = { .out = -1,
              .host = options ? options->host : NULL,
              .keep = options && options->tail_bytes ? options->tail_bytes : 16384,
              .pause_ns = 100000,
              .deadline = timeout_s > 0 ? tessi_clock_ms() + timeout_s * 1e3 : 0 };
    tessi_host_hold(r.host, 1);
    bool ok = start(&r, argv, options, f);
    if (ok) {
        follow(&r);
        ok = finish(&r, argv[0], result, f);
    }
    tessi_bytes_dispose(&r.tail);
    tessi_host_hold(r.host, -1);
    return ok;
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
