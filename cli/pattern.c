/* Words that stand for many files, 'in/a*.tif' or 'in/{name}_left.tif', and the names of what becomes of them. */
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/batch.h"

static const char placeholder[] = "{name}";
enum { PLACEHOLDER = sizeof placeholder - 1 };

static bool is_pattern(const char *word)
{
    return (strpbrk(word, "*?[") || strstr(word, placeholder)) && access(word, F_OK) != 0;
}

static bool no_memory(void)
{
    return cli_fail("out of memory"), false;
}

bool cli_is_batch(const CommandLine *line)
{
    for (size_t i = 0; i < line->n_outputs; i++)
        if (strstr(line->outputs[i], placeholder))
            return true;
    for (size_t i = 0; i < line->n_words; i++)
        if (is_pattern(cli_word_value(line->words[i])))
            return true;
    return false;
}

/* ---- Names ------------------------------------------------------------------------------------ */

char *cli_with_name(const char *text, const char *name)
{
    size_t n = 1;
    for (const char *s = text; *s; s++)
        n += strncmp(s, placeholder, PLACEHOLDER) == 0 ? strlen(name) : 1;
    char *out = malloc(n), *at = out;
    while (out && *text) {
        const bool is_name = strncmp(text, placeholder, PLACEHOLDER) == 0;
        const char *from = is_name ? name : text;
        const size_t length = is_name ? strlen(name) : 1;
        memcpy(at, from, length);
        at += length;
        text += is_name ? PLACEHOLDER : 1;
    }
    if (out)
        *at = '\0';
    return out;
}

/* The file's name without folder and suffix. */
static char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

/* What {name} stands for where `path` matches before{name}behind: the longest of what is possible. NULL: nothing. */
static char *name_within(const char *path, const char *before, const char *behind)
{
    const size_t n = strlen(path);
    for (size_t from = 0; from <= n; from++) {
        char *head = strndup(path, from);
        const bool begins = head && fnmatch(before, head, FNM_PATHNAME) == 0;
        free(head);
        for (size_t to = n + 1; begins && to-- > from;)
            if (fnmatch(behind, path + to, FNM_PATHNAME) == 0
                && !memchr(path + from, '/', to - from))
                return strndup(path + from, to - from);
    }
    return NULL;
}

static char *name_of(const char *pattern, const char *path)
{
    const char *at = strstr(pattern, placeholder);
    if (!at)
        return stem_of(path);
    char *before = strndup(pattern, (size_t)(at - pattern));
    char *name = before ? name_within(path, before, at + PLACEHOLDER) : NULL;
    free(before);
    return name;
}

/* ---- Files ------------------------------------------------------------------------------------ */

typedef struct File {
    char *path, *name;
} File;
typedef struct Files {
    const char *pattern; /* as written, the first of them */
    File *at;
    size_t n;
} Files;

static void files_free(Files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->at[i].path);
        free(f->at[i].name);
    }
    free(f->at);
}

static bool add_file(Files *f, const char *pattern, const char *path)
{
    File *at = realloc(f->at, (f->n + 1) * sizeof *at);
    if (!at)
        return no_memory();
    f->at = at;
    at[f->n] = (File){ strdup(path), name_of(pattern, path) };
    f->n++;
    return (at[f->n - 1].path && at[f->n - 1].name) || no_memory();
}

static bool add_matches(Files *f, const char *pattern, const char *wild)
{
    glob_t found = { 0 };
    const int failed = glob(wild, GLOB_MARK, NULL, &found);
    bool ok = failed != GLOB_NOSPACE || no_memory();
    const size_t before = f->n;
    for (size_t i = 0; ok && !failed && i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        if (path[0] && path[strlen(path) - 1] != '/') /* a folder is no file */
            ok = add_file(f, pattern, path);
    }
    globfree(&found);
    if (ok && f->n == before)
        return cli_fail("no file matches '%s'", pattern), false;
    return ok;
}

/* The files that a word stands for, in the order of their names. */
static bool add_word(Files *f, const char *word)
{
    if (!f->pattern)
        f->pattern = word;
    if (!is_pattern(word))
        return add_file(f, "", word);
    const char *first = strstr(word, placeholder);
    if (first && strstr(first + 1, placeholder))
        return cli_fail("'%s' has {name} twice; in an input it stands once", word), false;
    char *wild = cli_with_name(word, "*");
    const bool ok = wild ? add_matches(f, word, wild) : no_memory();
    free(wild);
    return ok;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const File *)a)->name, ((const File *)b)->name);
}

/* Each name once. */
static bool check_names(Files *f)
{
    qsort(f->at, f->n, sizeof *f->at, by_name);
    for (size_t i = 1; i < f->n; i++)
        if (strcmp(f->at[i - 1].name, f->at[i].name) == 0)
            return cli_fail(
                       "%s and %s have one name, '%s', so that their results would be one file",
                       f->at[i - 1].path, f->at[i].path, f->at[i].name),
                   false;
    return true;
}

/* Both have the same names. */
static bool check_partners(const Files *a, const Files *b)
{
    for (size_t i = 0, k = 0; i < a->n || k < b->n; i++, k++) {
        const int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->at[i].name, b->at[k].name);
        const Files *lacks = order < 0 ? b : a;
        const File *file = order < 0 ? &a->at[i] : &b->at[k];
        if (order)
            return cli_fail("'%s' has no file for '%s', the name of %s; {name} in an input says "
                            "what the names have in common",
                            lacks->pattern, file->name, file->path),
                   false;
    }
    return true;
}

/* ---- Words to inputs -------------------------------------------------------------------------- */

static size_t count_free_images(const CommandLine *line, const tess_program *p)
{
    size_t n = 0;
    for (size_t i = 0; i < tess_program_inputs(p); i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(p, i, &info);
        bool is_named = false;
        for (size_t k = 0; k < line->n_words; k++) {
            const size_t length = cli_name_length(line->words[k]);
            is_named =
                is_named
                || (length == strlen(info.name) && strncmp(line->words[k], info.name, length) == 0);
        }
        n += !is_named && cli_is_image(p, i);
    }
    return n;
}

/* Which words are files of the one image that has no name: a pattern, or several, as a shell makes of in/a*.tif. NULL
 * without memory. */
static bool *list_members(const CommandLine *line, const tess_program *p)
{
    bool *member = calloc(line->n_words + 1, sizeof *member);
    size_t n = 0;
    bool any = false;
    for (size_t i = 0; i < line->n_words; i++) {
        n += !cli_name_length(line->words[i]);
        any = any || (!cli_name_length(line->words[i]) && is_pattern(line->words[i]));
    }
    const bool is_list = (n > 1 || any) && count_free_images(line, p) == 1;
    for (size_t i = 0; member && i < line->n_words; i++)
        member[i] = is_list && !cli_name_length(line->words[i]);
    return member;
}

/* The line with one word for the whole list, for placing. */
static bool place(const CommandLine *line, const tess_program *p, const bool *member, size_t *input)
{
    const char **words = calloc(line->n_words + 1, sizeof *words);
    size_t *placed = calloc(line->n_words + 1, sizeof *placed);
    bool ok = words && placed ? true : no_memory(), has_list = false;
    CommandLine shorter = *line;
    shorter.words = words;
    shorter.n_words = 0;
    for (size_t i = 0; ok && i < line->n_words; i++) {
        if (!member[i] || !has_list)
            words[shorter.n_words++] = line->words[i];
        has_list = has_list || member[i];
    }
    ok = ok && cli_place_words(&shorter, p, placed);
    size_t list = 0, next = 0;
    has_list = false;
    for (size_t i = 0; ok && i < line->n_words; i++) {
        if (member[i] && has_list) {
            input[i] = list;
            continue;
        }
        input[i] = placed[next++];
        if (member[i]) {
            has_list = true;
            list = input[i];
        }
    }
    free(words);
    free(placed);
    return ok;
}

/* ---- Results ---------------------------------------------------------------------------------- */

/* A file: which one it is, or will be in its folder. */
typedef struct Place {
    dev_t device;
    ino_t node;
    const char *base; /* NULL: the node is the file's own */
    size_t item;
    const char *path;
} Place;

static int by_place(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->base && y->base ? strcmp(x->base, y->base) : (x->base != NULL) - (y->base != NULL);
}

static bool place_of_new(const char *path, Place *out)
{
    struct stat st;
    char *folder = cli_folder_of(path);
    const bool ok = folder && stat(folder, &st) == 0;
    const char *slash = strrchr(path, '/');
    free(folder);
    if (ok)
        *out = (Place){ st.st_dev, st.st_ino, slash ? slash + 1 : path, 0, path };
    return ok;
}

static bool place_of_existing(const char *path, Place *out)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    *out = (Place){ st.st_dev, st.st_ino, NULL, 0, path };
    return true;
}

/* No result takes the place of another, nor of a file that a run reads: the next batch would filter it again. */
static bool check_collisions(const CommandLine *line, const Batch *b)
{
    const size_t most = b->n * (line->n_outputs + b->n_inputs) + 1;
    Place *made = calloc(most, sizeof *made), *read = calloc(most, sizeof *read);
    size_t n_made = 0, n_read = 0;
    bool ok = made && read ? true : no_memory();
    for (size_t i = 0; ok && i < b->n; i++) {
        for (size_t o = 0; o < line->n_outputs; o++)
            if (place_of_new(b->items[i].outputs[o], &made[n_made]))
                made[n_made++].item = i;
        for (size_t k = 0; k < b->n_inputs; k++)
            if (place_of_existing(b->items[i].files[k], &read[n_read]))
                read[n_read++].item = i;
    }
    if (ok) {
        qsort(made, n_made, sizeof *made, by_place);
        qsort(read, n_read, sizeof *read, by_place);
    }
    for (size_t i = 1; ok && i < n_made; i++)
        if (by_place(&made[i - 1], &made[i]) == 0)
            ok = (cli_fail("%s would be written twice: for '%s' and for '%s'", made[i].path,
                           b->items[made[i - 1].item].name, b->items[made[i].item].name),
                  false);
    for (size_t i = 0; ok && i < n_made; i++) {
        Place there;
        const Place *used = place_of_existing(made[i].path, &there)
                                ? bsearch(&there, read, n_read, sizeof *read, by_place)
                                : NULL;
        if (used && used->item == made[i].item)
            ok = (cli_fail("%s would be overwritten by its own result; a batch keeps its inputs: "
                           "name another folder, or another name",
                           made[i].path),
                  false);
        else if (used)
            ok = (cli_fail("%s would be written for '%s', and is read for '%s'", made[i].path,
                           b->items[made[i].item].name, b->items[used->item].name),
                  false);
    }
    free(made);
    free(read);
    return ok;
}

static bool name_results(const CommandLine *line, Batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        Item *item = &b->items[i];
        item->outputs = calloc(line->n_outputs + 1, sizeof *item->outputs);
        if (!item->outputs)
            return no_memory();
        for (size_t o = 0; o < line->n_outputs; o++)
            if (!(item->outputs[o] = cli_with_name(line->outputs[o], item->name)))
                return no_memory();
        if (!cli_can_write((const char *const *)item->outputs, line->n_outputs))
            return false;
    }
    return true;
}

/* ---- The batch -------------------------------------------------------------------------------- */

/* From the files of each input to items. */
static bool make_items(Batch *b, Files *files)
{
    for (size_t k = 0; k < b->n_inputs; k++)
        if (!check_names(&files[k]) || (k && !check_partners(&files[0], &files[k])))
            return false;
    b->n = files[0].n;
    b->items = calloc(b->n + 1, sizeof *b->items);
    if (!b->items)
        return no_memory();
    for (size_t i = 0; i < b->n; i++) {
        b->items[i].files = calloc(b->n_inputs + 1, sizeof(char *));
        b->items[i].name = strdup(files[0].at[i].name);
        if (!b->items[i].files || !b->items[i].name)
            return no_memory();
        for (size_t k = 0; k < b->n_inputs; k++) {
            b->items[i].files[k] = files[k].at[i].path;
            files[k].at[i].path = NULL;
        }
    }
    return true;
}

/* Sorts the words into files that vary and what all runs share. */
static bool sort_words(const CommandLine *line, const tess_program *p, Batch *b, Files *files)
{
    bool *member = list_members(line, p);
    size_t *input = calloc(line->n_words + 1, sizeof *input);
    bool ok = member && input ? place(line, p, member, input) : no_memory(), any = false;
    for (size_t i = 0; ok && i < line->n_words; i++)
        any = any || member[i]
              || (cli_is_image(p, input[i]) && is_pattern(cli_word_value(line->words[i])));
    for (size_t i = 0; ok && i < line->n_words; i++) {
        const char *value = cli_word_value(line->words[i]);
        const bool varies = cli_is_image(p, input[i]) && (member[i] || is_pattern(value) || !any);
        size_t k = 0;
        while (varies && k < b->n_inputs && b->input[k] != input[i])
            k++;
        if (!varies) {
            b->shared[input[i]] = (char *)value;
            continue;
        }
        if (k == b->n_inputs)
            b->input[b->n_inputs++] = input[i];
        any = true; /* without a pattern, the first image names the results */
        ok = add_word(&files[k], value);
    }
    free(member);
    free(input);
    return ok;
}

int cli_batch_open(const CommandLine *line, const tess_program *p, Batch *b)
{
    const size_t n = tess_program_inputs(p);
    *b = (Batch){ .n = 0 };
    b->input = calloc(n + 1, sizeof *b->input);
    b->shared = calloc(n + 1, sizeof *b->shared);
    Files *files = calloc(n + 1, sizeof *files);
    bool ok = b->input && b->shared && files ? sort_words(line, p, b, files) : no_memory();
    if (ok && !b->n_inputs)
        ok = (cli_fail("{name} stands for the name of an input file, and there is none"), false);
    ok = ok && make_items(b, files);
    int status = ok ? EXIT_OK : EXIT_DIAGNOSED;
    for (size_t o = 0; ok && status == EXIT_OK && o < line->n_outputs; o++)
        if (b->n > 1 && !strstr(line->outputs[o], placeholder)) {
            cli_fail("%s would be written by each of %zu runs: -o wants {name}, where the names of "
                     "their inputs go",
                     line->outputs[o], b->n);
            status = EXIT_USAGE;
        }
    if (status == EXIT_OK && (!name_results(line, b) || !check_collisions(line, b)))
        status = EXIT_DIAGNOSED;
    for (size_t k = 0; files && k < n; k++)
        files_free(&files[k]);
    free(files);
    return status;
}

void cli_batch_free(const CommandLine *line, Batch *b)
{
    for (size_t i = 0; b->items && i < b->n; i++) {
        Item *item = &b->items[i];
        for (size_t k = 0; item->files && k < b->n_inputs; k++)
            free(item->files[k]);
        for (size_t o = 0; item->outputs && o < line->n_outputs; o++)
            free(item->outputs[o]);
        free(item->files);
        free(item->outputs);
        free(item->name);
        free(item->said.text);
    }
    free(b->items);
    free(b->input);
    free(b->shared);
}
