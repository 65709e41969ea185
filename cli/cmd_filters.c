/* tessera filters: the library of operators, or one of them. */
#include <string.h>

#include "cli/cli.h"

enum { LEFT = 36, WIDTH = 110 };

/* "gaussian(X, sigma)" */
static void call_of(const tess_operator *op, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s(", op->name);
    for (size_t i = 0; i < op->n_arguments && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 op->arguments[i].name);
    if (used < size)
        snprintf(text + used, size - used, ")");
}

/* Whether a sentence ends with this character: not with that of "Rec. 709". */
static bool ends_sentence(const char *s)
{
    const size_t blank = strspn(s + 1, " \n");
    const char next = s[1 + blank];
    return *s == '.' && (!next || (blank && ((next >= 'A' && next <= 'Z') || next == '`')));
}

/* The first sentence of a comment, with lines broken between words. */
static void print_sentence(const char *comment, size_t column)
{
    const char *end = comment;
    while (*end && !ends_sentence(end))
        end++;
    for (const char *s = comment; s <= end && *s;) {
        size_t n = strcspn(s, " \n");
        if (s + n > end)
            n = (size_t)(end - s) + 1;
        if (column + n > WIDTH)
            column = (size_t)printf("\n  %*s", LEFT, "") - 1;
        column += (size_t)printf(" %.*s", (int)n, s);
        s += n;
        s += *s ? 1 : 0;
    }
    putchar('\n');
}

static void print_all(const tess_library *library)
{
    const char *section = "";
    const tess_operator *op;
    for (size_t i = 0; (op = tess_library_operator(library, i)) != NULL; i++) {
        char call[200];
        if (strcmp(op->section, section) != 0)
            printf("%s%s\n", i ? "\n" : "", op->section);
        section = op->section;
        call_of(op, call, sizeof call);
        const size_t column = (size_t)printf("  %-*s", LEFT, call);
        print_sentence(op->comment, column);
    }
    printf("\n`tessera filters NAME` says more of one, `tessera apply NAME` applies it.\n");
}

static void print_example(const tess_operator *op)
{
    printf("\nexample: tessera apply %s", op->name);
    for (size_t i = 0; i < op->n_arguments; i++)
        if (op->arguments[i].kind == TESS_SCALAR)
            printf(" %s=2", op->arguments[i].name);
    const char *file[] = { "in.png", "other.png", "third.png" };
    for (size_t i = 0, n = 0; i < op->n_arguments; i++)
        if (op->arguments[i].kind != TESS_SCALAR)
            printf(" %s", file[n < 2 ? n++ : 2]);
    printf(" -o out.png\n");
}

static void print_one(const tess_operator *op)
{
    printf("%s(", op->name);
    for (size_t i = 0; i < op->n_arguments; i++)
        printf("%s%s %s", i ? ", " : "", op->arguments[i].type, op->arguments[i].name);
    printf(")\n\n    ");
    for (const char *s = op->comment; *s; s++)
        printf(*s == '\n' ? "\n    " : "%c", *s);
    putchar('\n');
    print_example(op);
}

/* Filters by the names that others give them. */
static const struct {
    const char *other, *ours;
} other_names[] = {
#define OTHER_NAME(other, ours) { other, ours },
#include "cli/other_names.def"
#undef OTHER_NAME
};
enum { N_OTHER_NAMES = sizeof other_names / sizeof *other_names };

static const char *filter_called(const char *name)
{
    for (int i = 0; i < N_OTHER_NAMES; i++)
        if (strcmp(other_names[i].other, name) == 0)
            return other_names[i].ours;
    return NULL;
}

const tess_operator *cli_find_operator(const tess_library *library, const char *name)
{
    const tess_operator *op = tess_library_find(library, name);
    const char *near = filter_called(name);
    if (!near)
        near = tess_library_nearest(library, name);
    if (!op)
        cli_fail("there is no filter '%s'%s%s%s; tessera filters lists them", name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    return op;
}

const char *cli_filter_of_word(const char *word)
{
    tess_library *library;
    if (filter_called(word))
        return filter_called(word);
    if (tess_library_open(&library) != TESS_OK)
        return NULL;
    const bool is = tess_library_find(library, word);
    tess_library_free(library);
    return is ? word : NULL;
}

int cmd_filters(const CommandLine *line)
{
    tess_library *library;
    int status = EXIT_OK;
    if (line->n_words > 1) {
        cli_fail("one filter at a time: what is '%s'?", line->words[1]);
        return EXIT_USAGE;
    }
    if (tess_library_open(&library) != TESS_OK)
        return cli_fail("out of memory");
    if (!line->n_words) {
        print_all(library);
    } else {
        const tess_operator *op = cli_find_operator(library, line->words[0]);
        if (op)
            print_one(op);
        else
            status = EXIT_DIAGNOSED;
    }
    tess_library_free(library);
    return status;
}
