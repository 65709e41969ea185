/* front/check_unknown: calls of functions that nobody has defined, and what may have been meant. */
#include <string.h>

#include "front/check.h"

static const char library[] = "filters";

static const char *nearest_function(const Checker *c, const char *name)
{
    VEC(const char *) words = { 0 };
    VEC_FOREACH (AstFunction *const, f, &c->ast->functions) {
        if ((*f)->name.text)
            VEC_PUSH(c->a, &words, (*f)->name.text);
    }
    return tessi_nearest_word(name, words.at, words.n);
}

/* Whether the library, whose definitions begin at the beginnings of lines, defines the name. */
static bool is_in_library(const Checker *c, const char *name)
{
    size_t n;
    const char *text = c->ast->use && !c->forma ? c->ast->use(c->ast->use_user, library, &n) : NULL;
    const char *call = tessi_sprintf(c->a, " %s(", name);
    for (const char *line = text; line && *line; line += *line == '\n') {
        const char *first = strpbrk(line, "(\n"), *found = strstr(line, call);
        if (!found)
            return false;
        if (first && *first == '(' && found + strlen(call) - 1 == first && *line != '/'
            && *line != ' ')
            return true;
        line += strcspn(line, "\n");
    }
    return false;
}

void tessi_check_unknown_function(Checker *c, Name name)
{
    Diag *d = CHECK_DIAG(c, DIAG_UNKNOWN_FUNCTION, name.span, name.text);
    const char *near = nearest_function(c, name.text);
    if (!near)
        near = tessi_nearest_builtin(c, name.text);
    const char *foreign = c->forma ? NULL : tessi_foreign_call(name.text);
    if (is_in_library(c, name.text))
        tessi_diag_help(c->d, d, "the library has it: write 'use \"%s\";' at the top", library);
    else if (foreign)
        tessi_diag_help(c->d, d, "%s", foreign);
    else if (near)
        tessi_diag_help(c->d, d, "did you mean '%s'?", near);
    else if (tessi_scope_find(c->at.scope, name.text))
        tessi_diag_help(c->d, d, "'%s' is not a function", name.text);
}
