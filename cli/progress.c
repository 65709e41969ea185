/* A sign of life: one line on a terminal that says what takes long, from the first second on. Nothing is printed
 * elsewhere, nor when quiet. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

enum { TICKS = 5, LINE_SIZE = 256 }; /* looks a second */

static struct {
    bool is_on;
    thrd_t thread;
    mtx_t lock; /* guards what follows */
    cnd_t ended;
    bool stop, is_bar;
    char what[LINE_SIZE], shown[LINE_SIZE]; /* empty: nothing */
} line_of;
static volatile int is_shown; /* for the handler of signals */

static const char erase[] = "\r\x1b[K";

/* ---- With the lock held ---- */

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

static void clear(void)
{
    if (line_of.shown[0])
        fputs(erase, stderr);
    line_of.shown[0] = '\0';
    is_shown = 0;
}

static void show(int seconds)
{
    char text[LINE_SIZE];
    const size_t most = columns() - 12; /* room for the seconds, so that the line stays one */
    if (!line_of.what[0]) {
        clear();
        return;
    }
    snprintf(text, sizeof text, "%.*s ... %d s", (int)most, line_of.what, seconds);
    if (strcmp(text, line_of.shown) == 0)
        return;
    /* First, so that a signal that comes while the line is written does not leave it there. */
    is_shown = 1;
    fprintf(stderr, "%s%s", erase, text);
    fflush(stderr);
    memcpy(line_of.shown, text, sizeof text);
}

static int watch(void *user)
{
    (void)user;
    struct timespec next;
    timespec_get(&next, TIME_UTC);
    next.tv_sec++;
    mtx_lock(&line_of.lock);
    for (int ticks = TICKS; !line_of.stop; ticks++) {
        while (!line_of.stop
               && cnd_timedwait(&line_of.ended, &line_of.lock, &next) != thrd_timedout)
            continue;
        if (!line_of.stop)
            show(ticks / TICKS);
        next.tv_nsec += 1000000000 / TICKS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
    }
    clear();
    mtx_unlock(&line_of.lock);
    return 0;
}

/* ---- For the others ---- */

void cli_progress_start(const CommandLine *line)
{
    if (line->quiet || !isatty(STDERR_FILENO) || mtx_init(&line_of.lock, mtx_plain) != thrd_success)
        return;
    if (cnd_init(&line_of.ended) != thrd_success) {
        mtx_destroy(&line_of.lock);
        return;
    }
    line_of.is_on = thrd_create(&line_of.thread, watch, NULL) == thrd_success;
    if (!line_of.is_on) {
        cnd_destroy(&line_of.ended);
        mtx_destroy(&line_of.lock);
    }
}

void cli_progress_stop(void)
{
    if (!line_of.is_on)
        return;
    mtx_lock(&line_of.lock);
    line_of.stop = true;
    cnd_signal(&line_of.ended);
    mtx_unlock(&line_of.lock);
    thrd_join(line_of.thread, NULL);
    line_of.is_on = false;
    cnd_destroy(&line_of.ended);
    mtx_destroy(&line_of.lock);
}

void cli_progress(const char *what, const char *about)
{
    if (!line_of.is_on)
        return;
    mtx_lock(&line_of.lock);
    if (line_of.is_bar && what) {
        mtx_unlock(&line_of.lock);
        return;
    }
    line_of.is_bar = false;
    snprintf(line_of.what, sizeof line_of.what, "%s%s%s", what ? what : "", about ? " " : "",
             about ? about : "");
    if (!what)
        clear();
    mtx_unlock(&line_of.lock);
}

void cli_progress_bar(const char *text)
{
    if (!line_of.is_on)
        return;
    mtx_lock(&line_of.lock);
    line_of.is_bar = true;
    snprintf(line_of.what, sizeof line_of.what, "%s", text);
    mtx_unlock(&line_of.lock);
}

void cli_progress_phase(void *user, const char *what)
{
    (void)user;
    cli_progress(what, NULL);
}

void cli_progress_clear(void)
{
    if (!line_of.is_on)
        return;
    mtx_lock(&line_of.lock);
    clear();
    mtx_unlock(&line_of.lock);
}

void cli_progress_abandon(void)
{
    const ssize_t done = is_shown ? write(STDERR_FILENO, erase, sizeof erase - 1) : 0;
    (void)done;
}
