/* tessera fmt: programs in one form, in their place; or from standard input to standard output. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static bool replace_file(const char *path, const char *text)
{
    char error[600] = "";
    cli_hold(NULL, 1);
    const bool ok = tess_text_save(path, text, error, sizeof error) == TESS_OK;
    cli_hold(NULL, -1);
    if (!ok)
        cli_fail_about(path, error, "");
    return ok;
}

static bool is_forma(const CommandLine *line, const char *path)
{
    const size_t n = strlen(path);
    return line->options.forma || (n > 5 && strcmp(path + n - 5, ".idsl") == 0);
}

/* One file; *differs when its text has another form. */
static bool format_file(const CommandLine *line, const char *path, bool *differs)
{
    size_t n;
    char *text = cli_read_program(path, &n), *formatted = NULL;
    if (!text)
        return false;
    tess_diags *diags = NULL;
    const tess_status status =
        tess_format_text(text, n, path, is_forma(line, path), &formatted, &diags);
    bool ok = status == TESS_OK;
    cli_show_diagnostics(line, diags, false);
    if (!ok && (!diags || !tess_diags_errors(diags)))
        cli_fail("%s", tess_status_text(status));
    tess_diags_free(diags);
    *differs = ok && (strlen(formatted) != n || memcmp(formatted, text, n) != 0);
    if (ok && strcmp(path, "-") == 0 && !line->check)
        fputs(formatted, stdout);
    else if (*differs && !line->check)
        ok = replace_file(path, formatted);
    if (*differs && ok && (line->check || line->verbose))
        printf("%s\n", path);
    tess_text_free(formatted);
    free(text);
    return ok;
}

int cmd_fmt(const CommandLine *line)
{
    int status = EXIT_OK;
    if (!line->n_words) {
        cli_fail("which program? tessera fmt FILE ...; - is standard input");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < line->n_words; i++) {
        bool differs = false;
        if (!format_file(line, line->words[i], &differs) || (differs && line->check))
            status = EXIT_DIAGNOSED;
    }
    return status;
}
