/* The tables of the command line, options.def, commands.def and environment.def, as arrays. */
#ifndef TESSERA_CLI_TABLES_H
#define TESSERA_CLI_TABLES_H

#include "cli/cli.h"

typedef enum OptionId {
#define OPTION(id, name, brief, argument, commands, help) OPT_##id,
#include "cli/options.def"
#undef OPTION
    N_OPTIONS
} OptionId;

typedef struct OptionInfo {
    const char *name;
    char brief; /* 0: none */
    const char *argument, *commands, *help;
} OptionInfo;
extern const OptionInfo cli_options[N_OPTIONS];

typedef struct CommandInfo {
    const char *name;
    char letter;
    const char *arguments, *help, *example;
} CommandInfo;
extern const CommandInfo cli_commands[N_COMMANDS];

/* The environment variables that count; NULL after the last. */
typedef struct Variable {
    const char *name, *help;
} Variable;
extern const Variable cli_variables[];

bool cli_takes(CommandId command, OptionId option);
/* The words that it takes, in the order of the numbers that they stand for, NULL after the last; NULL: other things, or
 * what the library knows. */
const char *const *cli_words(OptionId option);
/* "-o, --output=FILE" */
void cli_option_words(OptionId option, char *text, size_t size);

/* help.c: on standard output */
void cli_print_help(void);
void cli_print_command_help(CommandId command);
/* help_files.c */
void cli_print_formats(void);
void cli_print_format_names(void);

#endif
