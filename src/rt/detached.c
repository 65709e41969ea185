/* Work in a process of its own. */
#include "rt/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const int endings[] = { SIGTERM, SIGINT, SIGHUP };
enum { N_ENDINGS = sizeof endings / sizeof *endings };

/* They are blocked, so that one that came is still pending. */
static int wants_to_end(void *user, int change)
{
    sigset_t pending;
    bool ends = false;
    (void)user;
    (void)change;
    if (sigpending(&pending) != 0)
        return 0;
    for (int i = 0; i < N_ENDINGS; i++)
        ends = ends || sigismember(&pending, endings[i]) == 1;
    return ends;
}

static void take_signals(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int i = 0; i < N_ENDINGS; i++)
        sigaddset(&blocked, endings[i]);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    signal(SIGCHLD, SIG_DFL);
}

/* Pipes and files of this process must not stay open for as long as the work takes. */
static void leave_files(void)
{
    enum { MOST = 1 << 16 };
    const long open_max = sysconf(_SC_OPEN_MAX);
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++)
        if (nothing >= 0)
            dup2(nothing, fd);
    for (int fd = 3; fd < (open_max > 0 && open_max < MOST ? (int)open_max : MOST); fd++)
        close(fd);
}

/* Takes the name for as long as the process lives; no file is left of it. */
static bool takes_name(const char *name)
{
#if defined(__linux__)
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const int n =
        snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "tessera.%ld.%s", (long)getuid(), name);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || n < 0 || n >= (int)sizeof at.sun_path - 1)
        return true;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return bind(fd, (const struct sockaddr *)&at, bytes) == 0 || errno != EADDRINUSE;
#else
    (void)name;
    return true;
#endif
}

bool tessi_detached_run(const char *name, void (*work)(void *user, const RtHost *host), void *user)
{
    const pid_t first = fork();
    if (first < 0)
        return false;
    if (first == 0) { /* whose child nobody has to wait for */
        take_signals();
        setsid();
        const pid_t second = fork();
        if (second != 0)
            _exit(second < 0);
        leave_files();
        if (takes_name(name))
            work(user, &(RtHost){ .hold = wants_to_end });
        _exit(0);
    }
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(first, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
