/* Speaking to the user: sentences and diagnostics. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

enum { SENTENCE = 4096 };

static bool as_json;
/* Where the sentences of this thread are kept; NULL: they are said at once. */
static _Thread_local Said *kept;
static _Thread_local const char *about;

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

void cli_collect(Said *said, const char *file)
{
    kept = said;
    about = file;
}

const char *cli_collecting(void)
{
    return kept ? about : NULL;
}

void cli_show(const char *text)
{
    if (kept)
        cli_append(&kept->shown, text);
    else
        fputs(text, stdout);
}

void cli_say_collected(Said *said)
{
    cli_progress_clear();
    if (said->shown)
        fputs(said->shown, stdout);
    free(said->shown);
    said->shown = NULL;
    if (said->text)
        fputs(said->text, stderr);
    free(said->text);
    said->text = NULL;
}

/* A line for standard error, or to be kept. */
static void put(const char *line)
{
    if (!kept) {
        cli_progress_clear();
        fputs(line, stderr);
        return;
    }
    cli_append(&kept->text, line);
}

/* With the members that diagnostics of programs have; those about a place are left out. */
static void put_json(const char *severity, const char *sentence)
{
    char *line = NULL;
    cli_append(&line, "{\"severity\":\"");
    cli_append(&line, severity);
    cli_append(&line, "\",\"message\":");
    cli_append_json(&line, sentence);
    cli_append(&line, "}\n");
    if (line)
        put(line);
    free(line);
}

/* The sentence, with the file in front that it is about and does not name. */
static void with_file(char *line, size_t size, const char *sentence)
{
    const bool names_file = !about || strstr(sentence, about);
    snprintf(line, size, "%.500s%s%s", names_file ? "" : about, names_file ? "" : ": ", sentence);
}

static void say(const char *severity, const char *fmt, va_list args)
{
    if (cli_is_ending()) /* what was cut off is no failure */
        return;
    char sentence[SENTENCE], line[SENTENCE + 600];
    vsnprintf(sentence, sizeof sentence, fmt, args);
    with_file(line, sizeof line, sentence);
    if (as_json) {
        put_json(severity, line);
        return;
    }
    char text[sizeof line + 16];
    snprintf(text, sizeof text, "tessera: %s\n", line);
    put(text);
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
    char sentence[SENTENCE], line[SENTENCE + 600];
    vsnprintf(sentence, sizeof sentence, fmt, args);
    with_file(line, sizeof line - 1, sentence);
    put(strcat(line, "\n"));
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

/* The filter in whose call the error stands, from the note about the line of the program made for it; or NULL. */
static const char *called_filter(const char *error)
{
    for (const char *at = strstr(error, "\n  apply:"); at; at = strstr(at + 1, "\n  apply:")) {
        const char *end = at + 1 + strcspn(at + 1, "\n"), *name = strstr(at, ": note: in '");
        if (name && name < end)
            return name + strlen(": note: in '");
    }
    return NULL;
}

/* Of a program that nobody has written, the first error alone: what it stands in is not theirs. */
static void show_first_error(tess_diags *diags)
{
    const char *text = tess_diags_text(diags, 0), *error = strstr(text, ": error[");
    const char *sentence = error ? strstr(error, "]: ") : NULL;
    if (!sentence)
        return;
    while (error > text && error[-1] != '\n')
        error--;
    sentence += strlen("]: ");
    const int length = (int)strcspn(sentence, "\n"),
              place = (int)(strstr(error, ": error[") - error);
    const char *filter = called_filter(error);
    const int name = filter ? (int)strcspn(filter, "'") : 0;
    if (filter)
        cli_fail("%.*s cannot be applied so: %.*s (%.*s); 'tessera filters %.*s' "
                 "says what it takes",
                 name, filter, length, sentence, place, error, name, filter);
    else
        cli_fail("the filters cannot be applied so: %.*s (%.*s)", length, sentence, place, error);
}

void cli_show_diagnostics(const CommandLine *line, tess_diags *diags, bool warnings_too)
{
    if (!diags || !tess_diags_count(diags))
        return;
    if (!warnings_too && !tess_diags_errors(diags))
        return;
    if (line->program_text && tess_diags_errors(diags) && !line->json_diagnostics
        && !line->verbose) {
        show_first_error(diags);
        return;
    }
    put(line->json_diagnostics ? tess_diags_json(diags)
                               : tess_diags_text(diags, wants_color(line)));
}
