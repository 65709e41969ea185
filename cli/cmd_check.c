/* tessera check: diagnostics only. */
#include "cli/cli.h"

int cmd_check(const CommandLine *line)
{
    Session s;
    bool ok = cli_open(line, &s, false);
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
