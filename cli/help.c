/* tessera --help, from the tables. */
#include <stdio.h>

#include "cli/tables.h"

static void print_options(CommandId command)
{
    char left[64];
    for (int k = 0; k < N_OPTIONS; k++) {
        if (!cli_takes(command, (OptionId)k))
            continue;
        cli_option_words((OptionId)k, left, sizeof left);
        printf("  %-24s %s\n", left, cli_options[k].help);
    }
}

static void print_variables(void)
{
    printf("\nEnvironment (what is empty counts as not set):\n");
    for (const Variable *v = cli_variables; v->name; v++)
        printf("  %-16s %s\n", v->name, v->help);
}

void cli_print_help(void)
{
    printf("tessera %s: image pipelines of stencils and convolutions, compiled\n\n",
           tess_version());
    for (int c = 0; c < N_COMMANDS; c++)
        printf("  tessera %-*s%s%s\n      %s\n", cli_commands[c].arguments[0] ? 8 : 0,
               cli_commands[c].name, cli_commands[c].arguments[0] ? " " : "",
               cli_commands[c].arguments, cli_commands[c].help);
    printf(
        "\n`tessera COMMAND --help` lists the options of a command with an example, `tessera help "
        "files` what files store.\n\n"
        "Input files bind to the program's images in the order declared, or by name: "
        "mask=weights.npy. Formats, by\n"
        "content for input and by suffix for output: ");
    cli_print_format_names();
    printf(".\nFor trying and timing: zero:HxW, constant:V:HxW, random:SEED:HxW, ramp:HxW. Pixel "
           "values are rescaled by --scale alone.\n"
           "Results that are one number are printed where no file is given for them.\n\n"
           "'in/*.tif' -o 'out/{name}.png' runs a program on every file, in one process; {name} is "
           "the name of the file without its\n"
           "folder and suffix. With several such inputs {name} stands for what their names have in "
           "common:\n"
           "'in/{name}_left.tif' 'in/{name}_right.tif'. Other inputs are shared by all runs. What "
           "fails is listed in the end.\n");
    print_variables();
    printf("\nExit status: 0 when all is done, 1 when something failed that was said, 2 when the "
           "command line makes no sense.\n");
}

void cli_print_command_help(CommandId command)
{
    const CommandInfo *info = &cli_commands[command];
    printf("tessera %s %s\n    %s\n\n", info->name, info->arguments, info->help);
    print_options(command);
    if (command == CMD_RUN || command == CMD_INFO) {
        printf("\nWhat files store:\n");
        cli_print_formats();
    }
    printf("\nexample: %s\n", info->example);
}
