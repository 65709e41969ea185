/* tessera explain: the plan with its reasons, or any other stop of the compiler. */
#include <stdlib.h>

#include "cli/strips.h"

/* Goes on from a text of loops. */
static bool explain_loops(const CommandLine *line)
{
    size_t n = 0;
    char *loops = cli_read_text(line->program, &n), *text = NULL;
    tess_diags *diags = NULL;
    if (!loops)
        return false;
    const tess_status status = tess_dump_loops(loops, n, line->program, line->from_loops,
                                               line->dump ? line->dump : "loops", &text, &diags);
    cli_show_diagnostics(line, diags, false);
    if (status == TESS_OK)
        fputs(text, stdout);
    else if (!diags || !tess_diags_errors(diags))
        cli_fail("%s", tess_status_text(status));
    tess_text_free(text);
    tess_diags_free(diags);
    free(loops);
    return status == TESS_OK;
}

/* What a run takes of memory, and how often it reads what. */
static int explain_memory(const CommandLine *line)
{
    Session s;
    Strips strips = { 0 };
    bool ok = cli_compile(line, &s);
    if (ok) {
        const StripsNeed need = cli_strips_plan(line, s.program, true, &strips);
        ok = need == STRIPS_WANTED;
        if (ok)
            cli_strips_explain(&strips);
        else if (need == STRIPS_NOT) /* an input is amiss: the usual way says so */
            ok = cli_bind_words(line, &s.program, &s.in);
    }
    cli_strips_free(&strips);
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}

int cmd_explain(const CommandLine *line)
{
    if (line->from_loops)
        return explain_loops(line) ? EXIT_OK : EXIT_DIAGNOSED;
    if (line->memory != 0)
        return explain_memory(line);
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
