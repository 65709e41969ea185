/* tessera explain: the plan with its reasons, or any other stop of the compiler. */
#include "cli/cli.h"

int cmd_explain(const CommandLine *line)
{
    Session s;
    bool ok = cli_open(line, &s, true);
    if (ok && line->regret) {
        ok = cli_regret(line, &s);
    } else if (ok) {
        char *text = NULL;
        tess_diags *diags = NULL;
        tess_status status =
            tess_dump(s.program, s.in.args, line->dump ? line->dump : "plan", &text, &diags);
        cli_progress(NULL, NULL);
        cli_show_diagnostics(line, diags, false);
        ok = status == TESS_OK;
        if (ok)
            fputs(text, stdout);
        else if (!diags || !tess_diags_errors(diags))
            cli_fail("%s", tess_program_error(s.program));
        tess_text_free(text);
        tess_diags_free(diags);
    }
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
