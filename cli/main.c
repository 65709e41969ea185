/* The tool's entry: parse the command line, run the command. */
#include <fcntl.h>
#include <unistd.h>

#include "cli/cli.h"

/* A standard stream that was closed must not become the first file opened here: it stands open, but for the wrong
 * direction, so that using it fails. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0
            && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

static int (*const commands[N_COMMANDS])(const CommandLine *) = {
    [CMD_RUN] = cmd_run,         [CMD_CHECK] = cmd_check,     [CMD_EXPLAIN] = cmd_explain,
    [CMD_BUILD] = cmd_build,     [CMD_BENCH] = cmd_bench,     [CMD_TUNE] = cmd_tune,
    [CMD_MACHINE] = cmd_machine, [CMD_BORDERS] = cmd_borders, [CMD_CACHE] = cmd_cache,
    [CMD_APPLY] = cmd_apply,     [CMD_FILTERS] = cmd_filters, [CMD_INFO] = cmd_info,
    [CMD_FMT] = cmd_fmt,         [CMD_WATCH] = cmd_watch,
};

int main(int argc, char **argv)
{
    CommandLine line;
    int status;
    hold_standard_streams();
    cli_catch_signals();
    if (cli_parse(argc, argv, &line, &status)) {
        cli_progress_start(&line);
        status = commands[line.command](&line);
        cli_progress_stop();
    }
    cli_free(&line);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
        status = cli_fail("cannot write to standard output");
    return status;
}
