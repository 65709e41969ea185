/* tessera run: bind, run, write; or for many inputs a batch (batch.h). */
#include <string.h>

#include "cli/batch.h"
#include "cli/strips.h"
#include "cli/team.h"

/* Strip by strip, where the images do not fit into memory; *status is the exit status then. */
static bool run_in_strips(const CommandLine *line, Session *s, int *status)
{
    Strips strips;
    if (line->each_channel || line->verify)
        return false;
    const StripsNeed need = cli_strips_plan(line, s->program, false, &strips);
    *status = EXIT_DIAGNOSED;
    if (need == STRIPS_WANTED)
        *status = cli_check_outputs(line, strips.program);
    if (need == STRIPS_WANTED && *status == EXIT_OK && !cli_strips_run(&strips))
        *status = EXIT_DIAGNOSED;
    cli_strips_free(&strips);
    return need != STRIPS_NOT;
}

/* Where runs need not wait for the compiler. */
static void say_who_ran(const CommandLine *line, const tess_timing *timing)
{
    if (line->options.first == TESS_FIRST_WAIT || line->options.target != TESS_TARGET_AUTO)
        return;
    if (strcmp(timing->target, "vm") == 0)
        cli_tell("the strip machine ran: a compiler makes the program's code meanwhile");
    else if (timing->compile_cached)
        cli_tell("the program's code was in the cache");
}

int cli_run_one(const CommandLine *line, Session *s)
{
    int status;
    if (!cli_bind_words(line, &s->program, &s->in))
        return EXIT_DIAGNOSED;
    status = cli_check_outputs(line, s->program);
    if (status != EXIT_OK)
        return status;
    Job job = { .program = s->program, .in = s->in, .outputs = line->outputs };
    double write_ms = 0;
    const bool ok = cli_run(line, &job) && cli_write_results(line, &job, &write_ms);
    if (ok && line->time)
        cli_print_times(&job.timing, job.in.read_ms, write_ms);
    if (ok && line->verbose && job.timing.strips)
        cli_tell("in %d parts%s", job.timing.strips,
                 line->options.n_devices > 1 ? " on several devices"
                                             : ", since the device does not hold the whole");
    if (ok && line->verbose)
        say_who_ran(line, &job.timing);
    cli_job_clear(&job);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}

static int run_here(const CommandLine *line, Session *s)
{
    int status;
    return run_in_strips(line, s, &status) ? status : cli_run_one(line, s);
}

static int run_batch(const CommandLine *line, Session *s)
{
    Batch batch;
    const bool is_video = cli_is_video(line);
    int status = is_video || cli_is_open(s->program) ? cli_check_counts(line, s->program)
                                                     : cli_check_outputs(line, s->program);
    if (status != EXIT_OK)
        return status;
    status = cli_batch_open(line, s->program, &batch);
    if (status == EXIT_OK)
        status = is_video ? cli_run_videos(line, s->program, &batch)
                          : cli_batch_run(line, s->program, &batch, &s->nodata);
    cli_batch_free(line, &batch);
    return status;
}

int cli_run_program(const CommandLine *line)
{
    const bool is_batch = cli_is_batch(line);
    if (!is_batch && !line->team && !cli_can_write(line->outputs, line->n_outputs))
        return EXIT_DIAGNOSED;
    Session s = { 0 };
    int status = EXIT_DIAGNOSED;
    if (line->team)
        status = is_batch ? cli_fail("tessera-mpi takes one picture, and tessera many")
                          : cli_team_run(line, &s);
    else if (cli_compile(line, &s))
        status = is_batch             ? run_batch(line, &s)
                 : cli_is_video(line) ? cli_run_video(line, &s)
                                      : run_here(line, &s);
    cli_close(&s);
    return status;
}

int cmd_run(const CommandLine *line)
{
    return cli_run_program(line);
}
