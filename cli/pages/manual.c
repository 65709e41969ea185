/* Manual pages, in the language of man(7). */
#include <string.h>

#include "cli/pages/pages.h"

/* Text of a page: hyphens are those of the keyboard, and no line is taken for a request. */
static void put(FILE *out, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (*s == '\\')
            fputs("\\e", out);
        else if (*s == '-')
            fputs("\\-", out);
        else if (*s == '\'')
            fputs("\\(aq", out);
        else if (*s == '.' && (s == text || s[-1] == '\n'))
            fputs("\\&.", out);
        else
            fputc(*s, out);
    }
}

static void head(FILE *out, const char *name, const char *what)
{
    fprintf(out, ".TH \"%s\" 1 \"\" \"Tessera %s\" \"User Commands\"\n.SH NAME\n", name,
            tess_version());
    put(out, name);
    fputs(" \\- ", out);
    put(out, what);
    fputs("\n.SH SYNOPSIS\n", out);
}

static void put_option(FILE *out, OptionId k)
{
    const OptionInfo *o = &cli_options[k];
    fputs(".TP\n", out);
    if (o->brief)
        fprintf(out, "\\fB\\-%c\\fR, ", o->brief);
    fputs("\\fB\\-\\-", out);
    put(out, o->name);
    fputs("\\fR", out);
    if (o->argument[0] == '[')
        fprintf(out, "[=\\fI%.*s\\fR]", (int)strlen(o->argument) - 2, o->argument + 1);
    else if (o->argument[0])
        fprintf(out, "=\\fI%s\\fR", o->argument);
    fputc('\n', out);
    put(out, o->help);
    fputc('\n', out);
}

void pages_manual(FILE *out, CommandId ignored)
{
    (void)ignored;
    head(out, "tessera", "image pipelines of stencils and convolutions, compiled");
    fputs(".B tessera\n.I COMMAND\n[\\fIOPTION\\fR ...] [\\fIWORD\\fR ...]\n.SH DESCRIPTION\n",
          out);
    put(out, "Runs programs on images, compiled for the machine. Input files bind to the images of "
             "a program in the order declared, or by name: mask=weights.npy. 'in/*.tif' with "
             "-o 'out/{name}.png' runs a program on every file.");
    fputs("\n.SH COMMANDS\n", out);
    for (int c = 0; c < N_COMMANDS; c++) {
        fprintf(out, ".TP\n\\fBtessera\\-%s\\fR(1)\n", cli_commands[c].name);
        put(out, cli_commands[c].help);
        fputc('\n', out);
    }
    fputs(".SH ENVIRONMENT\n", out);
    for (const Variable *v = cli_variables; v->name; v++) {
        fprintf(out, ".TP\n.B %s\n", v->name);
        put(out, v->help);
        fputc('\n', out);
    }
    fputs(".SH EXIT STATUS\n0 when all is done, 1 when something failed that was said, 2 when the "
          "command line makes no sense.\n",
          out);
}

void pages_command(FILE *out, CommandId command)
{
    const CommandInfo *info = &cli_commands[command];
    char name[64];
    snprintf(name, sizeof name, "tessera-%s", info->name);
    head(out, name, info->help);
    fprintf(out, ".B tessera %s\n", info->name);
    put(out, info->arguments);
    fputs("\n.SH OPTIONS\n", out);
    for (int k = 0; k < N_OPTIONS; k++)
        if (cli_takes(command, (OptionId)k))
            put_option(out, (OptionId)k);
    fputs(".SH EXAMPLE\n.EX\n", out);
    put(out, info->example);
    fputs("\n.EE\n.SH SEE ALSO\n\\fBtessera\\fR(1)\n", out);
}

void pages_mpi(FILE *out, CommandId ignored)
{
    (void)ignored;
    head(out, "tessera-mpi", "run a program on images by several processes");
    fputs(".B mpirun \\-n\n.I N\n.B tessera\\-mpi run\n", out);
    put(out, cli_commands[CMD_RUN].arguments);
    fputs("\n.br\n.B mpirun \\-n\n.I N\n.B tessera\\-mpi apply\n", out);
    put(out, cli_commands[CMD_APPLY].arguments);
    fputs("\n.SH DESCRIPTION\n", out);
    put(out, "Does what tessera run and tessera apply do, with the same files to the byte. Each "
             "process reads, "
             "computes and writes its share of the rows, strip by strip where --memory, which is "
             "meant for each, says "
             "so. NPY, raw files, PGM, PPM, PAM and TIFF of one page without tiles and compression "
             "are written by all "
             "together; other formats by the first process, to which the others send. Options are "
             "those of tessera run "
             "but for --each-channel, --verify, --resume and --video; threads and devices of a "
             "machine are shared out "
             "among its processes, unless --threads or --device says otherwise.");
    fputs("\n.SH EXAMPLE\n.EX\nmpirun \\-n 4 tessera\\-mpi run blur.tess scan.tif \\-o "
          "smooth.tif\n.EE\n"
          ".SH SEE ALSO\n\\fBtessera\\fR(1), \\fBtessera\\-run\\fR(1)\n",
          out);
}
