/* Completions for bash and zsh: commands, options, and the words that options take. */
#include <string.h>

#include "cli/pages/pages.h"

/* The words that can stand behind an option; false when they are files or numbers. */
static bool put_words(FILE *out, OptionId k)
{
    const char *fields[5], *name;
    bool any = false;
    const char *const *words = cli_words(k);
    for (size_t i = 0; words && words[i]; i++, any = true)
        fprintf(out, "%s%s", i ? " " : "", words[i]);
    for (size_t i = 0; k == OPT_TARGET && (name = tess_target_name((tess_target)i)); i++)
        any = fprintf(out, "%s%s", i ? " " : "", name) > 0;
    for (size_t i = 0; k == OPT_BORDER && tess_border_rule(i, fields) == TESS_OK; i++)
        any = fprintf(out, "%s%s", i ? " " : "", fields[0]) > 0;
    for (size_t i = 0; k == OPT_PLAN && (name = tess_preset(i)); i++)
        any = fprintf(out, "%s%s", i ? " " : "", name) > 0;
    return any;
}

/* Names of filters, for the commands that take them. */
static void put_filters(FILE *out)
{
    tess_library *library;
    if (tess_library_open(&library) != TESS_OK)
        return;
    const tess_operator *op;
    for (size_t i = 0; (op = tess_library_operator(library, i)) != NULL; i++)
        fprintf(out, "%s%s", i ? " " : "", op->name);
    tess_library_free(library);
}

static bool takes_filters(CommandId c)
{
    return c == CMD_APPLY || c == CMD_FILTERS;
}

/* ---- bash ------------------------------------------------------------------------------------- */

void pages_bash(FILE *out, CommandId ignored)
{
    (void)ignored;
    fputs(
        "# Completion of tessera for bash. Made from the tables of the tool.\n"
        "_tessera() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} option= words=\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W '",
        out);
    for (int c = 0; c < N_COMMANDS; c++)
        fprintf(out, "%s ", cli_commands[c].name);
    fputs("help' -- \"$cur\"))\n        return\n    fi\n"
          "    if [ \"$cur\" = '=' ]; then\n        option=$prev cur=\n"
          "    elif [ \"$prev\" = '=' ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
          "    case $option in\n",
          out);
    for (int k = 0; k < N_OPTIONS; k++) {
        fprintf(out, "    --%s) words='", cli_options[k].name);
        put_words(out, (OptionId)k);
        fputs("' ;;\n", out);
    }
    fputs("    '')\n        case ${COMP_WORDS[1]} in\n", out);
    for (int c = 0; c < N_COMMANDS; c++) {
        fprintf(out, "        %s)\n            case $cur in\n            -*) words='",
                cli_commands[c].name);
        for (int k = 0; k < N_OPTIONS; k++)
            if (cli_takes((CommandId)c, (OptionId)k))
                fprintf(out, "--%s%s ", cli_options[k].name, cli_options[k].argument[0] ? "=" : "");
        fputs("' ;;\n", out);
        if (takes_filters((CommandId)c)) {
            fputs("            *) words='", out);
            put_filters(out);
            fputs("' ;;\n", out);
        }
        fputs("            esac ;;\n", out);
    }
    fputs("        esac ;;\n    esac\n"
          "    [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    case ${COMPREPLY[0]} in\n    *=) compopt -o nospace 2>/dev/null ;;\n    esac\n"
          "    return 0\n}\n"
          "complete -o default -F _tessera tessera\n",
          out);
}

/* ---- zsh -------------------------------------------------------------------------------------- */

/* A description in '..[..]': what ends either is left out. */
static void put_description(FILE *out, const char *help)
{
    for (const char *s = help; *s; s++) {
        if (strchr("[]:\\", *s))
            fputc('\\', out);
        if (*s == '\'')
            fputs("'\\''", out);
        else
            fputc(*s, out);
    }
}

static void put_zsh_option(FILE *out, OptionId k)
{
    const OptionInfo *o = &cli_options[k];
    const char *many = k == OPT_OUTPUT ? "*" : "";
    fputs("            ", out);
    if (o->brief)
        fprintf(out, "'%s'{-%c%s,--%s%s}'[", many, o->brief, o->argument[0] ? "+" : "", o->name,
                o->argument[0] ? "=" : "");
    else
        fprintf(out, "'%s--%s%s[", many, o->name, o->argument[0] ? "=" : "");
    put_description(out, o->help);
    fputc(']', out);
    const bool open = o->argument[0] == '[';
    if (o->argument[0]) {
        fprintf(out, "%s:%.*s:", open ? ":" : "", (int)strlen(o->argument) - 2 * open,
                o->argument + open);
        const bool has_words = cli_words(k) || k == OPT_TARGET || k == OPT_BORDER;
        fputs(has_words ? "(" : open ? "" : "_files", out);
        if (has_words)
            put_words(out, k);
        fputs(has_words ? ")" : "", out);
    }
    fputs("' \\\n", out);
}

void pages_zsh(FILE *out, CommandId ignored)
{
    (void)ignored;
    fputs("#compdef tessera\n# Completion of tessera for zsh. Made from the tables of the tool.\n"
          "_tessera() {\n    local -a commands\n    commands=(\n",
          out);
    for (int c = 0; c < N_COMMANDS; c++) {
        fprintf(out, "        '%s:", cli_commands[c].name);
        put_description(out, cli_commands[c].help);
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
          "        return\n    fi\n    local command=$words[2]\n    shift words\n"
          "    (( CURRENT-- ))\n    case $command in\n",
          out);
    for (int c = 0; c < N_COMMANDS; c++) {
        fprintf(out, "    %s)\n        _arguments -s \\\n", cli_commands[c].name);
        for (int k = 0; k < N_OPTIONS; k++)
            if (cli_takes((CommandId)c, (OptionId)k))
                put_zsh_option(out, (OptionId)k);
        if (takes_filters((CommandId)c)) {
            fputs("            '1:filter:(", out);
            put_filters(out);
            fputs(")' \\\n", out);
        }
        fputs("            '*:file:_files' ;;\n", out);
    }
    fputs("    esac\n}\n_tessera \"$@\"\n", out);
}
