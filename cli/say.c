/* Speaking to the user: sentences, diagnostics, and a sign of life for long work. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static bool as_json;

void cli_say_json(bool json)
{
    as_json = json;
}

/* With the members that diagnostics of programs have; those about a place are left out. */
static void say_json(const char *severity, const char *sentence)
{
    fprintf(stderr, "{\"severity\":\"%s\",\"message\":\"", severity);
    for (const char *s = sentence; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(stderr, "\\%c", c);
        else if (c < 32 || c == 127)
            fprintf(stderr, "\\u%04x", (unsigned)c);
        else
            fputc(c, stderr);
    }
    fputs("\"}\n", stderr);
}

static void say(const char *severity, const char *fmt, va_list args)
{
    if (cli_is_ending()) /* what was cut off is no failure */
        return;
    char sentence[4096];
    vsnprintf(sentence, sizeof sentence, fmt, args);
    if (as_json)
        say_json(severity, sentence);
    else
        fprintf(stderr, "tessera: %s\n", sentence);
}

int cli_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say("error", fmt, args);
    va_end(args);
    return EXIT_DIAGNOSED;
}

void cli_warn(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say("warning", fmt, args);
    va_end(args);
}

void cli_note(void *user, const char *sentence)
{
    (void)user;
    cli_warn("%s", sentence);
}

int cli_fail_about(const char *path, const char *sentence, const char *remedy)
{
    bool is_named = strcmp(path, "-") == 0 || strstr(sentence, path);
    return is_named ? cli_fail("%s%s", sentence, remedy)
                    : cli_fail("%s: %s%s", path, sentence, remedy);
}

static bool wants_color(const CommandLine *line)
{
    if (line->color != SWITCH_AUTO)
        return line->color == SWITCH_ALWAYS;
    const char *without = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && !(without && *without);
}

void cli_show_diagnostics(const CommandLine *line, tess_diags *diags, bool warnings_too)
{
    if (!diags || !tess_diags_count(diags))
        return;
    if (!warnings_too && !tess_diags_errors(diags))
        return;
    fputs(line->json_diagnostics ? tess_diags_json(diags)
                                 : tess_diags_text(diags, wants_color(line)),
          stderr);
}

struct Progress {
    thrd_t thread;
    const char *what;
    mtx_t lock;
    cnd_t ended;
    bool stop;
};

static int show_progress(void *user)
{
    Progress *p = user;
    struct timespec next;
    timespec_get(&next, TIME_UTC);
    bool shown = false;
    mtx_lock(&p->lock);
    for (int seconds = 1; !p->stop; seconds++) {
        next.tv_sec++;
        while (!p->stop && cnd_timedwait(&p->ended, &p->lock, &next) != thrd_timedout)
            continue;
        if (!p->stop) {
            fprintf(stderr, "\r%s ... %d s", p->what, seconds);
            shown = true;
        }
    }
    mtx_unlock(&p->lock);
    if (shown)
        fputs("\r\x1b[K", stderr); /* leave the line clean for what follows */
    return 0;
}

Progress *cli_progress_begin(const CommandLine *line, const char *what)
{
    if (line->quiet || !isatty(STDERR_FILENO))
        return NULL;
    Progress *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->what = what;
    if (mtx_init(&p->lock, mtx_plain) != thrd_success) {
        free(p);
        return NULL;
    }
    if (cnd_init(&p->ended) != thrd_success
        || thrd_create(&p->thread, show_progress, p) != thrd_success) {
        mtx_destroy(&p->lock);
        free(p);
        return NULL;
    }
    return p;
}

void cli_progress_end(Progress *p)
{
    if (!p)
        return;
    mtx_lock(&p->lock);
    p->stop = true;
    cnd_signal(&p->ended);
    mtx_unlock(&p->lock);
    thrd_join(p->thread, NULL);
    cnd_destroy(&p->ended);
    mtx_destroy(&p->lock);
    free(p);
}
