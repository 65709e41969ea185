/* The tool's entry: parse the command line, run the command. */
#include "cli/cli.h"

static int (*const commands[N_COMMANDS])(const CommandLine *) = {
    [CMD_RUN] = cmd_run,         [CMD_CHECK] = cmd_check, [CMD_EXPLAIN] = cmd_explain,
    [CMD_BUILD] = cmd_build,     [CMD_BENCH] = cmd_bench, [CMD_MACHINE] = cmd_machine,
    [CMD_BORDERS] = cmd_borders,
};

int main(int argc, char **argv)
{
    CommandLine line;
    int status;
    if (cli_parse(argc, argv, &line, &status))
        status = commands[line.command](&line);
    cli_free(&line);
    if (fflush(stdout) != 0 && status == EXIT_OK)
        status = cli_fail("cannot write to standard output");
    return status;
}
