/* tessera machine (measured now and remembered), tessera borders: what the library knows, as text. */
#include <string.h>

#include "cli/cli.h"

int cmd_machine(const CommandLine *line)
{
    char *text = NULL, error[600] = "";
    const tess_target target = line->options.target;
    const bool device = tess_target_has_device(target);
    tess_status status =
        device ? tess_device_text(target, line->options.device, &text, error, sizeof error)
               : tess_machine_measure(NULL, &text);
    if (status != TESS_OK)
        return cli_fail("%s", error[0] ? error : tess_status_text(status));
    if (text[0] == '#' && !line->quiet) /* the file may be all that is looked at, or the terminal */
        cli_warn("%.*s", (int)strcspn(text + 2, "\n"), text + 2);
    fputs(text, stdout); /* main says whether that went well */
    tess_text_free(text);
    return EXIT_OK;
}

int cmd_borders(const CommandLine *line)
{
    (void)line;
    const char *fields[5];
    printf("%-10s %-36s %-26s %-10s %s\n", "rule", "also written", "the row a b c d continued",
           "SciPy", "OpenCV");
    for (size_t i = 0; tess_border_rule(i, fields) == TESS_OK; i++)
        printf("%-10s %-36s %-26s %-10s %s\n", fields[0], fields[1], fields[2], fields[3],
               fields[4]);
    return EXIT_OK;
}
