/* tessera apply: filters of the library on pictures, without a program. One is made for images of any type, and run. */
#include <stdlib.h>

#include "cli/batch.h"
#include "cli/chain.h"

static int run_chain(const CommandLine *line, const Chain *chain)
{
    char *text = cli_chain_program(chain);
    if (!text)
        return cli_fail("out of memory");
    CommandLine made = *line;
    made.program = "apply";
    made.program_text = text;
    made.words = (const char **)chain->files;
    made.n_words = chain->n_files + chain->n_more;
    made.options.forma = 0;
    const int status = cli_run_program(&made);
    free(text);
    return status;
}

int cmd_apply(const CommandLine *line)
{
    tess_library *library;
    Chain chain;
    if (!line->n_words) {
        cli_fail("which filter? tessera filters lists them");
        return EXIT_USAGE;
    }
    if (tess_library_open(&library) != TESS_OK)
        return cli_fail("out of memory");
    const bool ok = cli_chain_read(library, line, &chain);
    const int status = ok ? run_chain(line, &chain) : EXIT_DIAGNOSED;
    cli_chain_free(&chain);
    tess_library_free(library);
    return status;
}
