/* Texts that grow, and strings as JSON writes them. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void cli_append(char **text, const char *more)
{
    const size_t before = *text ? strlen(*text) : 0;
    char *longer = realloc(*text, before + strlen(more) + 1);
    if (!longer)
        return;
    strcpy(longer + before, more);
    *text = longer;
}

void cli_append_json(char **text, const char *s)
{
    char piece[8];
    cli_append(text, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            snprintf(piece, sizeof piece, "\\%c", c);
        else if (c < 32 || c == 127)
            snprintf(piece, sizeof piece, "\\u%04x", (unsigned)c);
        else
            snprintf(piece, sizeof piece, "%c", c);
        cli_append(text, piece);
    }
    cli_append(text, "\"");
}
