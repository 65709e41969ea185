/* tessera build: ahead of time, to C, CUDA or OpenCL, an object, a shared library or an archive. */
#include "cli/cli.h"

int cmd_build(const CommandLine *line)
{
    if (line->n_outputs == 0) {
        cli_fail("say where the result goes: -o NAME.c (or .cu, .cl, .o, .so, .a)");
        return EXIT_USAGE;
    }
    if (!cli_can_write(line->outputs, line->n_outputs))
        return EXIT_DIAGNOSED;
    Session s;
    bool ok = cli_open(line, &s, false);
    for (size_t i = 0; ok && i < line->n_outputs; i++) {
        tess_diags *diags = NULL;
        tess_status status = tess_build(s.program, line->outputs[i], &diags);
        cli_progress(NULL, NULL);
        cli_show_diagnostics(line, diags, false);
        ok = status == TESS_OK;
        if (!ok && (!diags || !tess_diags_errors(diags)))
            cli_fail("%s", tess_program_error(s.program));
        else if (ok && line->verbose)
            cli_tell("wrote %s and its header", line->outputs[i]);
        tess_diags_free(diags);
    }
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
