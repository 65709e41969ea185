/* Lines of generated C: indentation, breaking of long lines, comments. */
#include <string.h>

#include "emit/c_private.h"

/* How bad it is to break a line at the blank s[i]: best outside of brackets, behind a comma, before a weak operator. */
static int break_cost(const char *s, size_t i, int depth)
{
    char before = s[i - 1], after = s[i + 1];
    bool operator_after = s[i + 2] == ' ' || s[i + 2] == '=' || s[i + 3] == ' ';
    int kind = 3;
    if (before == ',' || before == ';')
        kind = 0;
    else if (operator_after && strchr("+-&|^<>=!", after))
        kind = after == '=' ? 3 : 1;
    else if (operator_after && strchr("*/%", after))
        kind = 2;
    else if (before == '=')
        kind = 2;
    return depth * 4 + kind;
}

/* The length of the first part of s when it is broken to fit: at the best blank that is not too early, else at the
 * last blank before, else at the first behind. */
static size_t fitting(const char *s, size_t n, size_t room)
{
    if (n <= room)
        return n;
    size_t best = 0;
    int depth = 0, best_cost = 0;
    for (size_t i = 0; i < n; i++) {
        depth += (s[i] == '(' || s[i] == '[') - (s[i] == ')' || s[i] == ']');
        if (s[i] != ' ' || i == 0)
            continue;
        if (i > room)
            return best ? best : i;
        int cost = break_cost(s, i, depth) + (i < room / 5 * 2 ? 100 : 0);
        if (!best || cost <= best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best ? best : n;
}

void tessi_c_end_line(CWriter *w)
{
    const char *s = tessi_text_str(&w->line);
    size_t n = w->line.n, indent = (size_t)(w->indent * C_INDENT);
    for (bool first = true; n; first = false) {
        size_t column = first ? indent : indent + C_INDENT;
        size_t part = fitting(s, n, column < C_COLUMNS / 2 ? C_COLUMNS - column : C_COLUMNS / 2);
        tessi_text_addf(w->out, "%*s", (int)column, "");
        tessi_text_addn(w->out, s, part);
        tessi_text_add(w->out, "\n");
        s += part;
        n -= part;
        while (n && *s == ' ')
            s++, n--;
    }
    w->line.n = 0;
    if (w->line.at)
        w->line.at[0] = '\0';
}

void tessi_c_line(CWriter *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tessi_text_vaddf(&w->line, fmt, args);
    va_end(args);
    if (w->line.n)
        tessi_c_end_line(w);
    else
        tessi_text_add(w->out, "\n");
}

/* One line of a comment, without what would end or nest it, and without control characters. */
static void add_comment_line(CWriter *w, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool ends = i && ((s[i - 1] == '*' && c == '/') || (s[i - 1] == '/' && c == '*'));
        tessi_text_add(&w->line, ends ? " " : "");
        tessi_text_addn(&w->line, c < ' ' || c == 127 ? " " : (const char *)&s[i], 1);
    }
}

void tessi_c_comment(CWriter *w, const char *text)
{
    tessi_text_add(&w->line, "/*");
    for (bool first = true;; first = false) {
        size_t n = strcspn(text, "\n");
        tessi_text_add(&w->line, first ? (n ? " " : "") : n ? " * " : " *");
        add_comment_line(w, text, n);
        if (!text[n])
            break;
        /* Not wrapped: what is aligned in the text stays aligned. */
        tessi_text_addf(w->out, "%*s%s\n", w->indent * C_INDENT, "", tessi_text_str(&w->line));
        w->line.n = 0;
        text += n + 1;
    }
    tessi_text_addf(w->out, "%*s%s */\n", w->indent * C_INDENT, "", tessi_text_str(&w->line));
    w->line.n = 0;
    w->line.at[0] = '\0';
}
