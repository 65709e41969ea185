/* tessera watch: run, and run again whenever the program, what it uses, or an input changes. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/batch.h"

enum { LOOKS_A_SECOND = 5 };

/* What can be seen of all watched files without reading them. */
typedef struct Sight {
    uint64_t hash;
    size_t n;
} Sight;

static void mix(Sight *s, uint64_t x)
{
    s->hash = (s->hash ^ x) * 0x9e3779b97f4a7c15u;
    s->hash ^= s->hash >> 29;
}

/* A file may be missing for a moment, while an editor replaces it. */
static void look_at(Sight *s, const char *path)
{
    struct stat st;
    const bool is_there = stat(path, &st) == 0;
    s->n += is_there;
    mix(s, is_there);
    if (!is_there)
        return;
    mix(s, (uint64_t)st.st_ino);
    mix(s, (uint64_t)st.st_size);
    mix(s, (uint64_t)st.st_mtim.tv_sec);
    mix(s, (uint64_t)st.st_mtim.tv_nsec);
}

/* All files of a pattern; {name} stands for anything. */
static void look_at_all(Sight *s, const char *pattern)
{
    glob_t found = { 0 };
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            look_at(s, found.gl_pathv[i]);
    globfree(&found);
}

static void look_at_word(Sight *s, const char *word)
{
    const char *value = tess_image_file(cli_word_value(word));
    struct stat st;
    char *pattern = stat(value, &st) == 0 ? NULL : cli_with_name(value, "*");
    if (pattern)
        look_at_all(s, pattern);
    else
        look_at(s, value);
    free(pattern);
}

static Sight look(const CommandLine *line)
{
    Sight s = { .hash = 1 };
    const char *suffix = strrchr(line->program, '.');
    if (!suffix || strcmp(suffix, ".tess") != 0) /* else among those of its folder, below */
        look_at(&s, line->program);
    if (line->plan_path)
        look_at(&s, line->plan_path);
    if (line->machine_path)
        look_at(&s, line->machine_path);
    for (size_t i = 0; i < line->n_words; i++)
        look_at_word(&s, line->words[i]);
    char *folder = cli_folder_of(line->program); /* for what the program uses */
    char pattern[4096];
    if (folder && snprintf(pattern, sizeof pattern, "%s/*.tess", folder) < (int)sizeof pattern)
        look_at_all(&s, pattern);
    free(folder);
    return s;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What is read must be files, and none of them a result, which would change with every run. */
static bool can_watch(const CommandLine *line)
{
    if (strcmp(line->program, "-") == 0)
        return cli_fail("standard input cannot be watched: give the program as a file"), false;
    for (size_t i = 0; i < line->n_words; i++) {
        const char *value = cli_word_value(line->words[i]);
        if (strcmp(value, "-") == 0)
            return cli_fail("standard input cannot be watched: give the image as a file"), false;
        for (size_t o = 0; o < line->n_outputs; o++)
            if (same_file(value, line->outputs[o]))
                return cli_fail("%s is read and written, and so would change with every run",
                                line->outputs[o]),
                       false;
    }
    return true;
}

/* Until something has changed, and stays as it is for a moment. */
static void wait_for_change(const CommandLine *line, Sight seen)
{
    const struct timespec moment = { .tv_nsec = 1000000000 / LOOKS_A_SECOND };
    Sight last = seen;
    while (!cli_is_ending()) {
        nanosleep(&moment, NULL);
        const Sight now = look(line);
        if (now.hash != seen.hash && now.hash == last.hash)
            return;
        last = now;
    }
}

int cmd_watch(const CommandLine *line)
{
    if (!can_watch(line))
        return EXIT_DIAGNOSED;
    for (bool is_first = true; !cli_is_ending(); is_first = false) {
        const Sight seen = look(line);
        const double start = cli_clock_ms();
        const int status = cli_run_program(line);
        cli_progress(NULL, NULL);
        if (status == EXIT_USAGE && is_first)
            return status;
        if (!line->quiet)
            cli_tell("%s after %.0f ms; %zu file%s watched", status ? "failed" : "done",
                     cli_clock_ms() - start, seen.n, seen.n == 1 ? " is" : "s are");
        wait_for_change(line, seen);
    }
    return EXIT_OK;
}
