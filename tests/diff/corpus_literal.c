/* Programs of the corpus with numbers in the place of their size parameters. */
#include <ctype.h>
#include <string.h>

#include "diff/corpus.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* What stands at `at`: a word, a comment, blanks, or one character of anything else. */
static size_t piece(const char *at)
{
    size_t n = 0;
    if (at[0] == '/' && at[1] == '/')
        return strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? (size_t)(end + 2 - at) : strlen(at);
    }
    while (is_word(at[n]))
        n++;
    return n ? n : 1;
}

static bool is(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(at, word, n) == 0;
}

/* The value that `set` lines give a parameter; the size otherwise. */
static int64_t value_of(const CorpusCase *c, const char *name, int64_t size)
{
    for (int i = 0; i < c->n_set; i++)
        if (strcmp(c->set[i].name, name) == 0)
            return (int64_t)c->set[i].value;
    return size;
}

/* The length of a stencil's definition, whose names are its own. */
static size_t definition(const char *at)
{
    const char *end = at;
    for (int depth = 0; *end; end += piece(end)) {
        depth += (*end == '{') - (*end == '}');
        if (*end == '}' && depth == 0)
            break;
    }
    return (size_t)(end - at);
}

/* The text behind the declaration `parameter ...;` at `at`. */
static const char *behind_declaration(const char *at)
{
    while (*at && *at != ';')
        at += piece(at);
    return *at ? at + 1 : at;
}

void corpus_literal(Arena *a, const CorpusCase *c, const int64_t *sizes, CorpusCase *literal)
{
    CorpusNames names;
    const int n = corpus_param_names(c, &names);
    Text text = tessi_text_new(a);
    for (const char *at = c->text; *at;) {
        size_t length = piece(at);
        int k = 0;
        while (k < n && !is(at, length, names.at[k]))
            k++;
        if (is(at, length, "parameter")) {
            at = behind_declaration(at);
            continue;
        }
        if (is(at, length, "stencil"))
            length = definition(at);
        if (k < n)
            tessi_text_addf(&text, "%lld", (long long)value_of(c, names.at[k], sizes[k]));
        else
            tessi_text_addn(&text, at, length);
        at += length;
    }
    *literal = *c;
    literal->text = tessi_text_str(&text);
    literal->n = text.n;
    literal->n_set = 0;
    for (int i = 0; i < c->n_set; i++) {
        bool is_param = false;
        for (int k = 0; k < n; k++)
            is_param = is_param || strcmp(c->set[i].name, names.at[k]) == 0;
        if (!is_param)
            literal->set[literal->n_set++] = c->set[i];
    }
}
