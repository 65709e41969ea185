/* Writes the manual pages and the completions of shells, from the tables of the command line:
 *     tessera_pages FOLDER
 * makes tessera.1, tessera-run.1 .., tessera.bash and _tessera (for zsh) there. */
#include <string.h>

#include "cli/pages/pages.h"

static bool write_page(const char *folder, const char *name,
                       void (*print)(FILE *out, CommandId command), CommandId command)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        return false;
    }
    print(out, command);
    return fclose(out) == 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("tessera_pages FOLDER\n", stderr);
        return EXIT_USAGE;
    }
    bool ok = write_page(argv[1], "tessera.1", pages_manual, N_COMMANDS)
              && write_page(argv[1], "tessera-mpi.1", pages_mpi, N_COMMANDS)
              && write_page(argv[1], "tessera.bash", pages_bash, N_COMMANDS)
              && write_page(argv[1], "_tessera", pages_zsh, N_COMMANDS);
    for (int c = 0; ok && c < N_COMMANDS; c++) {
        char name[64];
        snprintf(name, sizeof name, "tessera-%s.1", cli_commands[c].name);
        ok = write_page(argv[1], name, pages_command, (CommandId)c);
    }
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
