/* Names in the text of a graph. */
#include <string.h>

#include "graph/graph_text.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t family_length(const char *text, size_t n)
{
    size_t k = 1;
    if (n < 3 || text[0] != '<')
        return 0;
    if (text[k] == '-')
        k++;
    size_t digits = k;
    while (k < n && is_digit(text[k]))
        k++;
    return k > digits && k < n && text[k] == '>' ? k + 1 : 0;
}

size_t tessi_graph_name_length(const char *text, size_t n)
{
    size_t k = 0;
    while (k < n && is_letter(text[k])) {
        while (k < n && (is_letter(text[k]) || is_digit(text[k])))
            k++;
        k += family_length(text + k, n - k);
        if (k + 1 < n && text[k] == '.' && is_letter(text[k + 1]))
            k++;
        else
            break;
    }
    return k;
}

bool tessi_graph_is_keyword(const char *name)
{
    static const char *const word[] = {
        "let", "true",   "false", "inf_f",  "inf_d", "nan_f",     "nan_d", "image", "min",
        "max", "scalar", "cast",  "reduce", "sat",   "histogram", "entry", "last",
    };
    for (size_t k = 0; k < sizeof word / sizeof *word; k++)
        if (tessi_streq(word[k], name))
            return true;
    return false;
}

void tessi_graph_print_name(const char *name, Text *out)
{
    size_t n = strlen(name);
    if (n && tessi_graph_name_length(name, n) == n && !tessi_graph_is_keyword(name)) {
        tessi_text_add(out, name);
        return;
    }
    tessi_text_add(out, "\"");
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\')
            tessi_text_addf(out, "\\%c", *c);
        else if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127)
            tessi_text_addf(out, "\\x%02x", (unsigned)(unsigned char)*c);
        else
            tessi_text_addn(out, c, 1);
    }
    tessi_text_add(out, "\"");
}
