/* Being ended by a signal: what would leave something behind is ended first. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static volatile sig_atomic_t asked;    /* the signal that wants us to end; 0: none */
static volatile sig_atomic_t asked_at; /* when, in seconds */
static atomic_int held;                /* spans of work that must not be cut off */
static void (*at_signal)(void);        /* what is done at once; NULL: nothing */

/* As if the signal had not been caught; the first process of a container has to do it itself. */
static void end(int sig)
{
    sigset_t set;
    cli_progress_abandon();
    sigemptyset(&set);
    sigaddset(&set, sig);
    signal(sig, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(sig);
    _exit(128 + sig);
}

/* Asked again a while later, nothing is waited for. Two at once are one: `timeout` sends to its child and to its
 * group. */
static void on_signal(int sig)
{
    enum { PATIENCE = 2 };
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    const bool again = asked && (sig_atomic_t)now.tv_sec - asked_at >= PATIENCE;
    if (at_signal)
        at_signal();
    if (!asked)
        asked_at = (sig_atomic_t)now.tv_sec;
    asked = sig;
    if (again || !atomic_load(&held))
        end(sig);
}

int cli_hold(void *user, int change)
{
    (void)user;
    const int now = atomic_fetch_add(&held, change) + change;
    if (asked && !now) {
        if (at_signal) /* what was begun since the signal came */
            at_signal();
        end(asked);
    }
    return asked;
}

void cli_at_signal(void (*act)(void))
{
    at_signal = act;
}

bool cli_is_ending(void)
{
    return asked != 0;
}

void cli_catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    signal(SIGCHLD, SIG_DFL); /* who started us may have it ignored; we want to hear of compilers */
}
