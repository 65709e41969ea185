/* tessera check: diagnostics only. Also of files that others `use`: those hold definitions only, return nothing, and
 * are checked as part of a program that uses them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* NAME of FOLDER/NAME.tess, which `use "NAME";` finds; NULL when no such line would. Owned by the caller. */
static char *use_name(const char *path)
{
    static const char suffix[] = ".tess";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = strlen(name), n_suffix = sizeof suffix - 1;
    if (n <= n_suffix || strcmp(name + n - n_suffix, suffix) != 0 || name[0] == '.'
        || strpbrk(name, "\"\\"))
        return NULL;
    return strndup(name, n - n_suffix);
}

/* Some diagnostic has this code (diags.def). */
static bool has_code(tess_diags *diags, const char *code)
{
    char field[32];
    snprintf(field, sizeof field, "\"code\":\"%s\"", code);
    return strstr(tess_diags_json(diags), field) != NULL;
}

/* Compiles a program that does nothing but use the file. True when it holds definitions only. */
static bool check_used(const CommandLine *line, const char *folder, const char *name,
                       tess_diags **diags)
{
    char text[1000];
    const int n = snprintf(text, sizeof text,
                           "use \"%s\";\nparameter N;\nvector#1 int x[N];\nreturn x;\n", name);
    if (n < 0 || (size_t)n >= sizeof text)
        return false;
    tess_options options = line->options;
    options.library = folder;
    tess_program *program = NULL;
    tess_compile(text, (size_t)n, "check.tess", &options, &program, diags);
    tess_program_free(program);
    return *diags && !has_code(*diags, "E0114"); /* what a used file holds beside definitions */
}

/* Whether all that a program lacks is its 'return'. */
static bool lacks_return(const CommandLine *line, const char *folder, const char *text, size_t n)
{
    tess_options options = line->options;
    options.library = folder;
    tess_program *program = NULL;
    tess_diags *diags = NULL;
    tess_compile(text, n, line->program, &options, &program, &diags);
    tess_program_free(program);
    const bool lacks = diags && tess_diags_errors(diags) == 1 && has_code(diags, "E0110");
    tess_diags_free(diags);
    return lacks;
}

/* Checks a file of definitions only; false when it is another, of which nothing was said. */
static bool check_definitions(const CommandLine *line, bool *ok)
{
    char *name = use_name(line->program), *folder = cli_folder_of(line->program);
    size_t n = 0;
    char *text = name && folder && access(line->program, R_OK) == 0
                     ? cli_read_text(line->program, &n)
                     : NULL;
    tess_diags *diags = NULL;
    const bool is_used = text && strspn(text, " \t\r\n") < n && lacks_return(line, folder, text, n)
                         && check_used(line, folder, name, &diags);
    if (is_used) {
        cli_show_diagnostics(line, diags, !line->quiet);
        *ok = !tess_diags_errors(diags);
    }
    tess_diags_free(diags);
    free(text);
    free(folder);
    free(name);
    return is_used;
}

int cmd_check(const CommandLine *line)
{
    bool ok;
    if (check_definitions(line, &ok))
        return ok ? EXIT_OK : EXIT_DIAGNOSED;
    Session s;
    ok = cli_open(line, &s, false);
    cli_close(&s);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
