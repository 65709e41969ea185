/* The tables of the command line as arrays. */
#include "cli/tables.h"

#include <string.h>

const OptionInfo cli_options[N_OPTIONS] = {
#define OPTION(id, name, brief, argument, commands, help) \
    [OPT_##id] = { name, brief, argument, commands, help },
#include "cli/options.def"
#undef OPTION
};

const CommandInfo cli_commands[N_COMMANDS] = {
#define COMMAND(id, name, letter, arguments, help, example) \
    [CMD_##id] = { name, letter, arguments, help, example },
#include "cli/commands.def"
#undef COMMAND
};

const Variable cli_variables[] = {
#define VARIABLE(name, help) { name, help },
#include "cli/environment.def"
#undef VARIABLE
    { NULL, NULL },
};

bool cli_takes(CommandId command, OptionId option)
{
    const char *letters = cli_options[option].commands;
    return letters[0] == '*' || strchr(letters, cli_commands[command].letter);
}

void cli_option_words(OptionId option, char *text, size_t size)
{
    const OptionInfo *o = &cli_options[option];
    const bool open = o->argument[0] == '['; /* [VALUE]: may be left out */
    snprintf(text, size, "%c%c%s --%s%s%s", o->brief ? '-' : ' ', o->brief ? o->brief : ' ',
             o->brief ? "," : " ", o->name,
             open             ? "[="
             : o->argument[0] ? "="
                              : "",
             o->argument + open);
}

/* The words that an option takes, in the order of the numbers that they stand for; NULL after the last. */
static const char *const modes[] = { "default", "strict", "fast", NULL };
static const char *const generals[] = { "never", "meanwhile", "always", NULL };
static const char *const firsts[] = { "wait", "now", "auto", NULL };
static const char *const efforts[] = { "normal", "quick", "best", NULL };
static const char *const whens[] = { "auto", "always", "never", NULL };
static const char *const forms[] = { "text", "json", NULL };
static const char *const depths[] = { "1", "8", "16", NULL };
static const char *const compressions[] = { "none", "lzw", "deflate", "zstd", NULL };
static const char *const dialects[] = { "tessera", "forma", NULL };
static const char *const *const option_words[N_OPTIONS] = {
    [OPT_FP] = modes,     [OPT_GENERAL] = generals,      [OPT_FIRST] = firsts,
    [OPT_COLOR] = whens,  [OPT_DIAGNOSTICS] = forms,     [OPT_DIALECT] = dialects,
    [OPT_DEPTH] = depths, [OPT_COMPRESS] = compressions, [OPT_EFFORT] = efforts,
};

const char *const *cli_words(OptionId option)
{
    return option_words[option];
}
