/* The words of a plan page's lines, and what is said when one is wrong. */
#include <string.h>

#include "plan/plan_reader.h"

enum { MAX_NAME = 4096 };

bool tessi_plan_bad(PlanReader *r, DiagCode code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(r->arena, fmt, args);
    va_end(args);
    tessi_diag(r->diags, code, (Span){ 0 }, tessi_sprintf(r->arena, "line %d: %s", r->line, what));
    return false;
}

void tessi_plan_skip_blanks(PlanReader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

const char *tessi_plan_word(PlanReader *r)
{
    tessi_plan_skip_blanks(r);
    const char *begin = r->at;
    if (r->at == r->end || *r->at != '"') {
        while (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            r->at++;
        if (r->at - begin > MAX_NAME) {
            tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a word is longer than %d characters", MAX_NAME);
            return NULL;
        }
        return tessi_strndup(r->arena, begin, (size_t)(r->at - begin));
    }
    Text t = tessi_text_new(r->arena);
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at == '\\' && r->at + 1 < r->end) {
            r->at++;
            tessi_text_addn(&t, *r->at == 'n' ? "\n" : r->at, 1);
        } else {
            tessi_text_addn(&t, r->at, 1);
        }
    }
    if (r->at == r->end || t.n > MAX_NAME) {
        tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a name in quotes is not closed on its line");
        return NULL;
    }
    r->at++;
    return tessi_text_str(&t);
}

const char *tessi_plan_needed_word(PlanReader *r, const char *what)
{
    const char *w = tessi_plan_word(r);
    if (w && !*w) {
        tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "expected %s", what);
        return NULL;
    }
    return w;
}

bool tessi_plan_line_ends(PlanReader *r)
{
    tessi_plan_skip_blanks(r);
    return r->at == r->end
           || tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "there is something after the end of the line");
}

bool tessi_plan_number_in(const char *begin, const char *end, int64_t most, int64_t *out)
{
    int64_t n = 0;
    for (const char *c = begin; c < end; c++) {
        if (*c < '0' || *c > '9' || (c == begin && *c == '0') || n > most)
            return false;
        n = 10 * n + (*c - '0');
    }
    *out = n;
    return n >= 1 && n <= most;
}

bool tessi_plan_read_number(PlanReader *r, const char *name, int64_t most, int64_t *out)
{
    const char *w = tessi_plan_needed_word(r, tessi_sprintf(r->arena, "a number of %s", name));
    return w
           && (tessi_plan_number_in(w, w + strlen(w), most, out)
               || tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "%s are 1 to %lld, not '%s'", name,
                                 (long long)most, w));
}
