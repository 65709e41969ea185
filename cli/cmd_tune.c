/* tessera tune: measures plans and keeps the best. tessera explain --regret: how far the chosen plan is from the
 * best of a sweep. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void show_progress(void *user, const tess_tuning *t)
{
    (void)user;
    char text[120];
    snprintf(text, sizeof text, "tuning: %d plans measured; chosen %.3f ms, best %.3f ms",
             t->measured, t->chosen_ms, t->best_ms);
    cli_progress(text, NULL);
}

/* Runs the tuner; false after saying why not. */
static bool tune(const CommandLine *line, Session *s, bool sweep, tess_tuning *t)
{
    tess_tuning_init(t);
    t->seconds = line->seconds;
    t->sweep = sweep;
    t->progress = show_progress;
    tess_status status = tess_tune(s->program, s->in.args, t);
    cli_progress(NULL, NULL);
    if (status != TESS_OK)
        cli_fail("%s", tess_args_error(s->in.args));
    return status == TESS_OK;
}

static bool write_plan(const char *path, const char *text)
{
    char error[600] = "";
    cli_hold(NULL, 1); /* so that no part of a file is left when a signal ends us */
    const tess_status status = tess_text_save(path, text, error, sizeof error);
    cli_hold(NULL, -1);
    if (status != TESS_OK)
        cli_fail_about(path, error, "");
    return status == TESS_OK;
}

int cmd_tune(const CommandLine *line)
{
    if (line->n_outputs != 1) {
        cli_fail("say where the plan goes: -o NAME.plan (- is standard output)");
        return EXIT_USAGE;
    }
    if (!cli_can_write(line->outputs, line->n_outputs))
        return EXIT_DIAGNOSED;
    Session s;
    tess_tuning t;
    bool ok = cli_open(line, &s, true) && tune(line, &s, false, &t);
    if (ok && !line->quiet)
        cli_tell("chosen %.3f ms, best %.3f ms: %.2f times as fast; %d plans measured%s",
                 t.chosen_ms, t.best_ms, t.chosen_ms / t.best_ms, t.measured,
                 t.complete ? ", none is left nearby" : "");
    if (ok) {
        ok = write_plan(line->outputs[0], t.plan);
        tess_text_free(t.plan);
        tess_text_free(t.chosen_plan);
    }
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}

/* ---- Regret ---------------------------------------------------------------------------------- */

/* The next line of a plan that is no reason; NULL at the end. */
static const char *next_line(const char **at, size_t *n)
{
    while (**at) {
        const char *line = *at;
        *n = strcspn(line, "\n");
        *at += *n + (line[*n] == '\n');
        size_t blank = strspn(line, " ");
        if (strncmp(line + blank, "why ", 4) != 0 && blank < *n)
            return line;
    }
    return NULL;
}

/* Lines of `a` up to the end of the block ("group ..." or "stage ...") that it begins with, as one text for
 * comparing. */
typedef struct Block {
    char *text;
} Block;

static size_t blocks_of(const char *plan, Block *blocks, size_t most)
{
    size_t count = 0, n;
    for (const char *at = plan, *line; (line = next_line(&at, &n)) != NULL;) {
        bool begins = line[0] != ' ';
        if (begins && count == most)
            break;
        if (begins)
            blocks[count++].text = calloc(1, 1);
        if (!count || !blocks[count - 1].text)
            continue;
        size_t used = strlen(blocks[count - 1].text);
        char *more = realloc(blocks[count - 1].text, used + n + 2);
        if (!more)
            continue;
        memcpy(more + used, line, n);
        memcpy(more + used + n, "\n", 2);
        blocks[count - 1].text = more;
    }
    return count;
}

/* The blocks of `a` that `b` does not have, each line behind a sign. */
static void print_missing(char sign, const Block *a, size_t n_a, const Block *b, size_t n_b)
{
    for (size_t i = 0; i < n_a; i++) {
        bool found = false;
        for (size_t k = 0; k < n_b && !found; k++)
            found = a[i].text && b[k].text && strcmp(a[i].text, b[k].text) == 0;
        for (const char *line = a[i].text; !found && line && *line;) {
            size_t n = strcspn(line, "\n");
            printf("%c %.*s\n", sign, (int)n, line);
            line += n + (line[n] == '\n');
        }
    }
}

static void print_difference(const char *chosen, const char *best)
{
    enum { MOST_BLOCKS = 4096 };
    Block *a = calloc(MOST_BLOCKS, sizeof *a), *b = calloc(MOST_BLOCKS, sizeof *b);
    if (a && b) {
        size_t n_a = blocks_of(chosen, a, MOST_BLOCKS), n_b = blocks_of(best, b, MOST_BLOCKS);
        print_missing('-', a, n_a, b, n_b);
        print_missing('+', b, n_b, a, n_a);
        for (size_t i = 0; i < n_a; i++)
            free(a[i].text);
        for (size_t i = 0; i < n_b; i++)
            free(b[i].text);
    }
    free(a);
    free(b);
}

bool cli_regret(const CommandLine *line, Session *s)
{
    tess_tuning t;
    if (!tune(line, s, true, &t))
        return false;
    double regret = t.chosen_ms / t.best_ms - 1;
    printf("chosen %.3f ms, best of %d other plans %.3f ms%s\nregret %.1f %%\n", t.chosen_ms,
           t.measured, t.best_ms, t.complete ? " (every plan that was found)" : "", 100 * regret);
    print_difference(t.chosen_plan, t.plan);
    tess_text_free(t.plan);
    tess_text_free(t.chosen_plan);
    return true;
}
