/* Speaking to the user: sentences and diagnostics. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static bool as_json;

double cli_clock_ms(void)
{
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

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
    cli_progress_clear();
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

void cli_tell(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cli_progress_clear();
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
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
    cli_progress_clear();
    fputs(line->json_diagnostics ? tess_diags_json(diags)
                                 : tess_diags_text(diags, wants_color(line)),
          stderr);
}
