/* Teams: who has which rows, and what is said once where all would say it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/strips.h"
#include "cli/team.h"

/* ---- What is said ---------------------------------------------------------------------------- */
static Said said; /* by one that is not the first, until they agree */

void cli_team_listen(Team *t)
{
    if (t->rank)
        cli_collect(&said, NULL);
}

bool cli_team_agree(Team *t, bool ok)
{
    char *all = NULL;
    size_t n;
    const char own = (char)ok;
    if (!t->gather(&own, 1, &all, &n))
        t->fail();
    int first = 0; /* that failed */
    while (first < t->size && all[first])
        first++;
    free(all);
    t->failed = first < t->size;
    if (t->rank)
        cli_collect(NULL, NULL);
    if (first == t->rank && t->rank)
        cli_say_collected(&said);
    free(said.text);
    free(said.shown);
    said = (Said){ 0 };
    return first == t->size;
}

/* ---- Shares ---------------------------------------------------------------------------------- */
void cli_team_share(int size_of_team, int rank, int64_t n, int64_t align, int64_t *first,
                    int64_t *end)
{
    const int64_t units = n / align + (n % align != 0), size = size_of_team;
    /* So many each, and one more for the first ones of those that are left. */
    const int64_t each = units / size, more = units % size;
    const int64_t from = each * rank + (rank < more ? rank : more);
    const int64_t to = from + each + (rank < more);
    *first = from * align < n ? from * align : n;
    *end = to * align < n ? to * align : n;
}

void cli_team_settle(CommandLine *line)
{
    Team *t = line->team;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    tess_options *o = &line->options;
    if (o->threads == 0 && t->n_near > 1) {
        const long share = cores / t->n_near + (t->near < cores % t->n_near);
        o->threads = share > 1 ? (int)share : 1;
    }
    const bool gpu = tess_target_has_device(o->target);
    int n_devices = 0;
    for (char *text; gpu && !line->has_device; n_devices++) {
        if (tess_device_text(o->target, n_devices, &text, NULL, 0) != TESS_OK)
            break;
        tess_text_free(text);
    }
    if (n_devices)
        o->device = t->near % n_devices;
    line->quiet = line->quiet || t->rank;
    line->verbose = line->verbose && !t->rank;
    line->time = line->time && !t->rank;
}

/* ---- Runs ------------------------------------------------------------------------------------ */
/* What comes to one process alone, or needs all pixels in one. */
static bool is_for_teams(const CommandLine *line)
{
    const char *alone = line->each_channel ? "--each-channel"
                        : line->verify     ? "--verify"
                        : line->resume     ? "--resume"
                        : line->video      ? "--video"
                                           : NULL;
    if (alone)
        return cli_fail("%s is for one process: tessera has it, tessera-mpi has not", alone), false;
    bool standard = strcmp(line->program, "-") == 0;
    for (size_t i = 0; i < line->n_words; i++)
        standard = standard || strcmp(cli_word_value(line->words[i]), "-") == 0;
    for (size_t i = 0; i < line->n_outputs; i++)
        standard = standard || strcmp(line->outputs[i], "-") == 0;
    return !standard
           || (cli_fail("standard input and output are one process's; name files"), false);
}

/* Everything by rank 0, as it would be run alone, and why. */
static int run_at_first(const CommandLine *line, Session *s, const char *why)
{
    Team *t = line->team;
    bool ok = true;
    cli_team_listen(t);
    if (t->rank == 0 && *why && !line->quiet)
        cli_warn("one process computes everything: %s", why);
    if (t->rank == 0)
        ok = cli_run_one(line, s) == EXIT_OK;
    return cli_team_agree(t, ok) ? EXIT_OK : EXIT_DIAGNOSED;
}

int cli_team_run(const CommandLine *line, Session *s)
{
    Team *t = line->team;
    Strips strips = { 0 };
    bool ok =
        is_for_teams(line) && cli_can_write(line->outputs, line->n_outputs) && cli_compile(line, s);
    if (!cli_team_agree(t, ok))
        return EXIT_DIAGNOSED;
    cli_team_listen(t);
    const StripsNeed need = cli_strips_plan(line, s->program, true, &strips);
    ok = need != STRIPS_FAILED
         && (need == STRIPS_NOT || cli_check_outputs(line, strips.program) == EXIT_OK);
    ok = cli_team_agree(t, ok);
    int status = EXIT_DIAGNOSED;
    if (ok && need == STRIPS_NOT) {
        char why[sizeof strips.why];
        memcpy(why, strips.why, sizeof why);
        cli_strips_free(&strips);
        return run_at_first(line, s, why);
    }
    if (ok && !cli_strips_run(&strips))
        t->fail();
    status = ok ? EXIT_OK : status;
    cli_strips_free(&strips);
    return status;
}
