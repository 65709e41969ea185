/* tessera run: bind, run, write. */
#include "cli/cli.h"

int cmd_run(const CommandLine *line)
{
    if (line->n_outputs == 0) {
        cli_fail("say where the result goes: -o FILE");
        return EXIT_USAGE;
    }
    if (!cli_can_write(line))
        return EXIT_DIAGNOSED;
    Session s;
    int status = cli_open(line, &s, true) ? cli_check_outputs(line, s.program) : EXIT_DIAGNOSED;
    if (status == EXIT_OK) {
        Job job = { .program = s.program, .in = s.in, .outputs = line->outputs };
        double write_ms = 0;
        if (!cli_run(line, &job) || !cli_write_results(line, &job, &write_ms))
            status = EXIT_DIAGNOSED;
        else if (line->time)
            cli_print_times(&job, write_ms);
        cli_job_clear(line, &job);
    }
    cli_close(&s);
    return status;
}
