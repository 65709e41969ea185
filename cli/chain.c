/* Taking chains of filters apart, and making a program of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"
#include "cli/chain.h"

static bool no_memory(void)
{
    return cli_fail("out of memory"), false;
}

/* ---- Words ------------------------------------------------------------------------------------ */

typedef struct Reader {
    const tess_library *library;
    const CommandLine *line;
    Chain *chain;
    const char **files; /* without a name, to be placed */
    size_t n_files;
    bool wants_name; /* at the beginning, and behind a comma */
} Reader;

static bool add_link(Reader *r, const char *name)
{
    const tess_operator *op = cli_find_operator(r->library, name);
    if (!op)
        return false;
    Link *at = realloc(r->chain->at, (r->chain->n + 1) * sizeof *at);
    if (!at)
        return no_memory();
    r->chain->at = at;
    at[r->chain->n++] = (Link){ .op = op };
    r->wants_name = false;
    return op->n_arguments <= MOST_ARGUMENTS
           || (cli_fail("'%s' takes more arguments than a command line gives", name), false);
}

static bool is_whole(double x)
{
    return x == floor(x);
}

/* A number becomes what the language writes so. */
static char *number_text(const tess_operator *op, const tess_argument *arg, const char *value)
{
    double number;
    char text[40];
    const char *word = strrchr(arg->type, ' ');
    word = word ? word + 1 : arg->type;
    const bool wants_whole = strncmp(word, "int", 3) == 0 || strncmp(word, "uint", 4) == 0;
    if (!cli_parse_number(value, &number) || !isfinite(number)) {
        cli_fail("'%s' is no number for '%s' of %s", value, arg->name, op->name);
        return NULL;
    }
    if (wants_whole && !is_whole(number)) {
        cli_fail("'%s' of %s is a whole number, not %s", arg->name, op->name, value);
        return NULL;
    }
    snprintf(text, sizeof text, "%.17g", number);
    char *copy = strdup(text);
    if (!copy)
        no_memory();
    return copy;
}

/* NAME=VALUE for the last filter. */
static bool give(Reader *r, const char *word, size_t name_length, size_t length)
{
    if (!r->chain->n)
        return cli_fail("'%s' stands before any filter", word), false;
    Link *link = &r->chain->at[r->chain->n - 1];
    size_t i = 0;
    while (i < link->op->n_arguments
           && (strlen(link->op->arguments[i].name) != name_length
               || strncmp(link->op->arguments[i].name, word, name_length) != 0))
        i++;
    if (i == link->op->n_arguments)
        return cli_fail("'%s' takes no '%.*s'; tessera filters %s says what it takes",
                        link->op->name, (int)name_length, word, link->op->name),
               false;
    if (link->value[i])
        return cli_fail("'%.*s' is given twice", (int)name_length, word), false;
    char *value = strndup(word + name_length + 1, length - name_length - 1);
    if (!value)
        return no_memory();
    const tess_argument *arg = &link->op->arguments[i];
    link->value[i] = arg->kind == TESS_SCALAR ? number_text(link->op, arg, value) : strdup(value);
    free(value);
    return link->value[i] != NULL;
}

static bool is_scalar(const Reader *r, const char *word, size_t name_length)
{
    const tess_operator *op = r->chain->n ? r->chain->at[r->chain->n - 1].op : NULL;
    for (size_t i = 0; op && i < op->n_arguments; i++)
        if (op->arguments[i].kind == TESS_SCALAR && strlen(op->arguments[i].name) == name_length
            && strncmp(op->arguments[i].name, word, name_length) == 0)
            return true;
    return false;
}

/* A word, or what stands between the commas and blanks of one: a filter's name where one is wanted, else an argument
 * or a file. A comma ends a filter. */
static bool read_word(Reader *r, const char *word)
{
    while (*word) {
        word += strspn(word, " \t");
        if (*word == ',' && !r->wants_name) {
            r->wants_name = true;
            word++;
            continue;
        }
        const size_t name_length = cli_name_length(word);
        const bool splits = r->wants_name || is_scalar(r, word, name_length);
        size_t n = splits ? strcspn(word, ", \t") : strlen(word);
        if (!splits && n && word[n - 1] == ',')
            n--;
        char *piece = strndup(word, n);
        bool ok = piece ? true : no_memory();
        if (ok && n && r->wants_name)
            ok = add_link(r, piece);
        else if (ok && n && name_length)
            ok = give(r, piece, name_length, n);
        else if (ok && n)
            r->files[r->n_files++] = word;
        const bool is_file = ok && n && r->n_files && r->files[r->n_files - 1] == word;
        free(piece);
        if (!ok)
            return false;
        word += n;
        if (is_file && *word == ',') /* a file's name may end so */
            word++;
        word += strspn(word, " \t");
        if (*word != ',')
            continue;
        if (r->wants_name)
            return cli_fail("a filter's name is missing before a comma"), false;
        r->wants_name = true;
        word++;
    }
    return true;
}

/* ---- Images ----------------------------------------------------------------------------------- */

static void names_of_missing(const Link *link, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < link->op->n_arguments && used < size; i++)
        if (link->op->arguments[i].kind == TESS_SCALAR && !link->value[i])
            used += (size_t)snprintf(text + used, size - used, "%s%s=VALUE", used ? " " : "",
                                     link->op->arguments[i].name);
}

static bool check_link(const Link *link)
{
    char missing[300] = "";
    for (size_t i = 0; i < link->op->n_arguments; i++) {
        const tess_argument *arg = &link->op->arguments[i];
        if (arg->kind != TESS_SCALAR && arg->ndim != 2 && arg->ndim != 3)
            return cli_fail("'%s' is for images of %d dimension%s, which a program is needed for",
                            link->op->name, arg->ndim, arg->ndim == 1 ? "" : "s"),
                   false;
    }
    names_of_missing(link, missing, sizeof missing);
    return !missing[0] || (cli_fail("%s wants %s", link->op->name, missing), false);
}

/* Gives each image its file: those without a name in the order written, after what comes from the filter before. */
static bool place_files(Reader *r)
{
    Chain *c = r->chain;
    size_t next = 0;
    c->files = calloc(c->n * MOST_ARGUMENTS + r->n_files + 1, sizeof *c->files);
    if (!c->files)
        return no_memory();
    for (size_t k = 0; k < c->n; k++) {
        bool wants_before = k > 0;
        for (size_t i = 0; i < c->at[k].op->n_arguments; i++) {
            const tess_argument *arg = &c->at[k].op->arguments[i];
            char **value = &c->at[k].value[i];
            if (arg->kind == TESS_SCALAR)
                continue;
            const bool is_result = wants_before && !*value;
            wants_before = wants_before && !is_result;
            if (is_result)
                continue;
            if (!*value && next == r->n_files)
                return cli_fail("no file is given for the image '%s' of %s", arg->name,
                                c->at[k].op->name),
                       false;
            if (!*value && !(*value = strdup(r->files[next++])))
                return no_memory();
            c->files[c->n_files++] = *value;
        }
        if (wants_before)
            return cli_fail("all images of %s are given, so that nothing of what comes before it "
                            "is used",
                            c->at[k].op->name),
                   false;
    }
    const bool is_list = next == 1 && c->n_files == 1 && cli_is_batch(r->line);
    for (; is_list && next < r->n_files; next++)
        c->files[c->n_files + c->n_more++] = (char *)r->files[next];
    return next == r->n_files
           || (cli_fail("no image is left to bind %s to", r->files[next]), false);
}

bool cli_chain_read(const tess_library *library, const CommandLine *line, Chain *chain)
{
    *chain = (Chain){ .n = 0 };
    Reader r = { .library = library, .line = line, .chain = chain, .wants_name = true };
    r.files = calloc(line->n_words + 1, sizeof *r.files);
    bool ok = r.files ? true : no_memory();
    for (size_t i = 0; ok && i < line->n_words; i++)
        ok = read_word(&r, line->words[i]);
    if (ok && r.wants_name)
        ok = (cli_fail("a filter's name is missing behind the last comma"), false);
    for (size_t k = 0; ok && k < chain->n; k++)
        ok = check_link(&chain->at[k]);
    ok = ok && place_files(&r);
    free(r.files);
    return ok;
}

void cli_chain_free(Chain *chain)
{
    for (size_t k = 0; k < chain->n; k++)
        for (size_t i = 0; i < MOST_ARGUMENTS; i++)
            free(chain->at[k].value[i]);
    free(chain->at);
    free(chain->files);
}

/* ---- The program ------------------------------------------------------------------------------ */

/* Pictures have one size, masks and volumes sizes of their own. */
static void print_input(const tess_argument *arg, size_t n, bool is_first, FILE *out)
{
    if (arg->kind == TESS_MASK)
        fprintf(out, "parameter M%zu, N%zu;\nmask#2 any in%zu[M%zu, N%zu];\n", n, n, n, n, n);
    else if (arg->ndim == 3)
        fprintf(out, "vector#3 any in%zu;\n", n);
    else
        fprintf(out, "%svector#2 any in%zu[M, N];\n", is_first ? "parameter M, N;\n" : "", n);
}

static void print_inputs(const Chain *c, FILE *out)
{
    size_t n = 0, n_pictures = 0;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->at[k].op->n_arguments; i++) {
            const tess_argument *arg = &c->at[k].op->arguments[i];
            if (arg->kind == TESS_SCALAR || !c->at[k].value[i])
                continue;
            print_input(arg, ++n, n_pictures == 0, out);
            n_pictures += arg->kind == TESS_IMAGE && arg->ndim == 2;
        }
}

/* Link k applied; its files are counted on. */
static void print_call(const Chain *c, size_t k, size_t *n_files, FILE *out)
{
    const Link *link = &c->at[k];
    fprintf(out, "%s(", link->op->name);
    for (size_t i = 0; i < link->op->n_arguments; i++) {
        const bool is_number = link->op->arguments[i].kind == TESS_SCALAR;
        fputs(i ? ", " : "", out);
        if (is_number)
            fputs(link->value[i], out);
        else if (link->value[i])
            fprintf(out, "in%zu", ++*n_files);
        else
            fprintf(out, "step%zu", k);
    }
    fputs(")", out);
}

/* Where each filter gives values of the kind that it takes, the result has the type of the first image. */
static bool keeps_type(const Chain *c)
{
    bool keeps = c->at[0].op->arguments[0].kind == TESS_IMAGE;
    for (size_t k = 0; k < c->n; k++)
        keeps = keeps && c->at[k].op->in_units;
    return keeps;
}

/* The last filter may have several results. */
static void print_calls(const Chain *c, FILE *out)
{
    size_t n_files = 0;
    for (size_t k = 0; k + 1 < c->n; k++) {
        fprintf(out, "step%zu = ", k + 1);
        print_call(c, k, &n_files, out);
        fputs(";\n", out);
    }
    const bool keeps = keeps_type(c);
    fputs(keeps ? "return sat<typeof(in1)>(" : "return ", out);
    print_call(c, c->n - 1, &n_files, out);
    fputs(keeps ? ");\n" : ";\n", out);
}

char *cli_chain_program(const Chain *chain)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    fprintf(out, "use \"filters\";\n");
    print_inputs(chain, out);
    print_calls(chain, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
