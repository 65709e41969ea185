/* The tool: parse the command line, run the command. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/tables.h"
#include "cli/team.h"

/* A standard stream that was closed must not become the first file opened here: it stands open, but for the wrong
 * direction, so that using it fails. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0
            && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

/* GCC's OpenMP lets threads at the end of a parallel loop spin for 300,000 turns, milliseconds in which they hold the
 * cores that the last one waits for when other processes are at work too. Few turns bridge the gap between two loops.
 * Its runtime reads this when it is loaded. */
static void wait_briefly(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", "4000", 0);
}

static int (*const commands[N_COMMANDS])(const CommandLine *) = {
    [CMD_RUN] = cmd_run,         [CMD_CHECK] = cmd_check,     [CMD_EXPLAIN] = cmd_explain,
    [CMD_BUILD] = cmd_build,     [CMD_BENCH] = cmd_bench,     [CMD_TUNE] = cmd_tune,
    [CMD_MACHINE] = cmd_machine, [CMD_BORDERS] = cmd_borders, [CMD_CACHE] = cmd_cache,
    [CMD_APPLY] = cmd_apply,     [CMD_FILTERS] = cmd_filters, [CMD_INFO] = cmd_info,
    [CMD_FMT] = cmd_fmt,         [CMD_WATCH] = cmd_watch,
};

static int run_command(CommandLine *line, Team *team)
{
    int status;
    line->team = team;
    if (team && !line->says_first) /* processes that share a picture run the same code */
        line->options.first = TESS_FIRST_WAIT;
    if (team && line->command != CMD_RUN && line->command != CMD_APPLY)
        return cli_fail("tessera-mpi has run and apply; tessera has %s",
                        cli_commands[line->command].name);
    if (team)
        cli_team_settle(line);
    cli_progress_start(line);
    status = commands[line->command](line);
    cli_progress_stop();
    return status;
}

int cli_main(int argc, char **argv, Team *team)
{
    CommandLine line;
    int status;
    hold_standard_streams();
    cli_catch_signals();
    wait_briefly();
    if (team)
        cli_team_listen(team);
    if (cli_parse(argc, argv, &line, &status))
        status = run_command(&line, team);
    cli_free(&line);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
        status = cli_fail("cannot write to standard output");
    if (team && !team->failed && !cli_team_agree(team, status == EXIT_OK) && status == EXIT_OK)
        status = EXIT_DIAGNOSED;
    return status;
}
