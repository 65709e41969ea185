/* A program and what it is run on, read from the files that the command line names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/tables.h"

enum { LARGEST_TEXT = 64 * 1024 * 1024 };

char *cli_read_text(const char *path, size_t *n)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f) {
        cli_fail("cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    size_t used = 0, size = 1 << 16;
    char *text = malloc(size + 1);
    while (text) {
        used += fread(text + used, 1, size - used, f);
        if (used < size || size >= LARGEST_TEXT)
            break;
        size *= 2;
        char *more = realloc(text, size + 1);
        if (!more)
            free(text);
        text = more;
    }
    bool bad = ferror(f) != 0; /* a folder, for instance */
    int why = errno;
    if (!standard)
        fclose(f);
    if (!text)
        cli_fail("out of memory while reading %s", path);
    else if (bad)
        cli_fail("cannot read %s: %s", path, strerror(why));
    else if (used >= LARGEST_TEXT)
        cli_fail("%s is larger than the %d MiB a text may have", path, LARGEST_TEXT >> 20);
    if (!text || bad || used >= LARGEST_TEXT) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    *n = used;
    return text;
}

/* What a file is that begins with these bytes, where it is no text of a program; NULL when it may be one. */
static const char *what_else(const char *text, size_t n)
{
    static const struct {
        const char *magic;
        size_t n;
        const char *is;
    } kinds[] = {
        { "\x89PNG", 4, "a PNG picture" },
        { "\xff\xd8\xff", 3, "a JPEG picture" },
        { "II*\0", 4, "a TIFF picture" },
        { "MM\0*", 4, "a TIFF picture" },
        { "II+\0", 4, "a TIFF picture" },
        { "MM\0+", 4, "a TIFF picture" },
        { "\x93NUMPY", 6, "an array of NumPy" },
        { "PF\n", 3, "a PFM picture" },
        { "Pf\n", 3, "a PFM picture" },
        { "\x7f"
          "ELF",
          4, "compiled code" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n >= kinds[i].n && memcmp(text, kinds[i].magic, kinds[i].n) == 0)
            return kinds[i].is;
    if (n > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '7' && strchr(" \t\r\n#", text[2]))
        return "a PNM picture";
    size_t strange = 0, begin = n < 4096 ? n : 4096;
    for (size_t i = 0; i < begin; i++)
        strange += (unsigned char)text[i] < ' ' && !strchr("\t\n\v\f\r", text[i] ? text[i] : 'x');
    return strange > begin / 16 ? "no text" : NULL; /* of a few the compiler says where they are */
}

char *cli_read_program(const char *path, size_t *n)
{
    char *text = cli_read_text(path, n);
    const char *is = text ? what_else(text, *n) : NULL;
    if (!is)
        return text;
    cli_fail("%s is %s, and no program: the program is the first word behind the command", path,
             is);
    free(text);
    return NULL;
}

/* Every NAME=NUMBER is offered to the compiler; it takes those that are const inputs or parameters it needs. */
static bool collect_constants(const CommandLine *line, Session *s)
{
    s->constants = calloc(line->n_words + 1, sizeof *s->constants);
    if (!s->constants)
        return cli_fail("out of memory"), false;
    size_t n = 0;
    for (size_t i = 0; i < line->n_words; i++) {
        const char *word = line->words[i];
        size_t length = cli_name_length(word);
        double value;
        if (!length || !cli_parse_number(word + length + 1, &value))
            continue;
        char *name = strndup(word, length);
        if (!name)
            return cli_fail("out of memory"), false;
        s->constants[n++] = (tess_constant){ name, value };
    }
    return true;
}

/* The text of a plan: of the file, or of the preset of that name. */
static char *plan_text(const char *path)
{
    static const char word[] = "preset ";
    size_t n;
    for (size_t i = 0; tess_preset(i); i++) {
        const size_t name = strcspn(path, ":"); /* a size may follow */
        if (strlen(tess_preset(i)) != name || strncmp(path, tess_preset(i), name) != 0)
            continue;
        char *text = malloc(sizeof word + strlen(path));
        if (!text)
            return cli_fail("out of memory"), NULL;
        memcpy(text, word, sizeof word);
        return strcat(text, path);
    }
    if (strcmp(path, "-") != 0 && !strpbrk(path, "./")
        && access(path, F_OK) != 0) { /* a name, it seems */
        char names[512] = "";
        for (size_t i = 0; tess_preset(i); i++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                     tess_preset(i));
        return cli_fail("there is no plan '%s': it is no file, and those with names are %s", path,
                        names),
               NULL;
    }
    return cli_read_text(path, &n);
}

static bool read_texts(const CommandLine *line, Session *s, tess_options *options)
{
    size_t n;
    if (line->plan_path && !(s->plan_text = plan_text(line->plan_path)))
        return false;
    if (line->machine_path && !(s->machine_text = cli_read_text(line->machine_path, &n)))
        return false;
    options->plan = s->plan_text;
    options->machine = s->machine_text;
    return true;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

bool cli_can_write(const char *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *path = outputs[i];
        char *folder = cli_folder_of(path);
        struct stat st;
        const char *why = NULL;
        if (strcmp(path, "-") == 0 || !folder)
            why = NULL;
        else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            why = "it is a folder";
        else if (stat(folder, &st) != 0)
            why = errno == ENOENT ? "there is no such folder" : strerror(errno);
        else if (!S_ISDIR(st.st_mode))
            why = "what stands before its last / is no folder";
        else if (access(path, F_OK) != 0 && access(folder, W_OK | X_OK) != 0)
            why = strerror(errno);
        free(folder);
        if (why)
            return cli_fail("cannot write %s: %s", path, why), false;
    }
    return true;
}

/* ---- The program ----------------------------------------------------------------------------- */

char *cli_with_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path) + strlen(suffix) + 1;
    char *text = malloc(n);
    if (text)
        snprintf(text, n, "%s%s", path, suffix);
    return text;
}

/* `use "mine";` finds mine.tess beside the program. */
char *cli_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

static bool takes_masks(const tess_program *p)
{
    tess_info info = { .struct_size = sizeof info };
    for (size_t i = 0; i < tess_program_inputs(p); i++)
        if (tess_program_input(p, i, &info) == TESS_OK && info.kind == TESS_MASK)
            return true;
    return false;
}

/* Of a program that is right with its own values, a mistake is one of those that the line gave. */
static void blame_values(const Session *s, const tess_options *options, const char *text, size_t n,
                         const char *path)
{
    tess_options own = *options;
    tess_program *program = NULL;
    char values[400] = "";
    own.n_constants = 0;
    if (!options->n_constants || tess_compile(text, n, path, &own, &program, NULL) != TESS_OK)
        return;
    tess_program_free(program);
    for (size_t i = 0; s->constants[i].name; i++) {
        const size_t used = strlen(values);
        snprintf(values + used, sizeof values - used, "%s%s=%g", i ? " " : "", s->constants[i].name,
                 s->constants[i].value);
    }
    cli_fail("with its own values the program is right, and not with %s", values);
}

static bool compile(const CommandLine *line, const Nodata *nodata, Session *s)
{
    memset(s, 0, sizeof *s);
    if (line->from_loops) {
        cli_fail(
            "loops say how results are computed, and no more what they are: '%s' starts from a "
            "program or --from=graph, 'tessera explain --from=%s' goes on from loops to a "
            "target's text",
            cli_commands[line->command].name, line->from_loops);
        return false;
    }
    tess_options options = line->options;
    options.library = s->folder = line->program_text ? NULL : cli_folder_of(line->program);
    if (!collect_constants(line, s) || !read_texts(line, s, &options))
        return false;
    options.constants = s->constants;
    while (s->constants[options.n_constants].name)
        options.n_constants++;
    options.types = line->types;
    options.n_types = line->n_types;
    options.nodata = nodata->at;
    options.n_nodata = nodata->n;
    size_t n;
    s->text = line->program_text ? strdup(line->program_text) : cli_read_program(line->program, &n);
    n = s->text && line->program_text ? strlen(s->text) : n;
    if (!s->text)
        return false;
    tess_diags *diags = NULL;
    tess_status status = tess_compile(s->text, n, line->program, &options, &s->compiled, &diags);
    s->program = s->compiled;
    /* of types that are open, the mistakes alone: what is to be warned of depends on them */
    cli_show_diagnostics(line, diags, !line->quiet && !(s->program && cli_is_open(s->program)));
    if (status != TESS_OK && (!diags || !tess_diags_errors(diags)))
        cli_fail("%s", tess_status_text(status));
    else if (status != TESS_OK && !line->program_text
             && strncmp(tess_diags_text(diags, 0), "error[", 6) != 0) /* that has a place */
        blame_values(s, &options, s->text, n, line->program);
    tess_diags_free(diags);
    if (status != TESS_OK || !cli_check_types(line, s->program)
        || !cli_check_nodata(nodata, s->program))
        return false;
    if (!line->quiet)
        cli_say_nodata(nodata, s->program);
    if (line->options.general != TESS_GENERAL_NEVER && !line->quiet && !takes_masks(s->program))
        cli_warn("--general does nothing here: the program takes no masks");
    return true;
}

/* Files say which of their values are no data; for which inputs they stand, the program says. */
bool cli_compile(const CommandLine *line, Session *s)
{
    Nodata found;
    CommandLine quiet = *line;
    if (!line->nodata_of_files)
        return compile(line, &line->nodata, s);
    quiet.quiet = true;
    bool ok = compile(&quiet, &line->nodata, s) && cli_find_nodata(line, s->program, &found);
    if (ok) {
        cli_close(s);
        ok = compile(line, &found, s);
        s->nodata = found;
    }
    return ok;
}

bool cli_open(const CommandLine *line, Session *s, bool bind)
{
    if (!cli_compile(line, s))
        return false;
    return bind ? cli_bind_words(line, &s->program, &s->in) : cli_check_constants(line, s->program);
}

void cli_close(Session *s)
{
    cli_inputs_free(&s->in);
    cli_nodata_free(&s->nodata);
    tess_program_free(s->compiled);
    for (size_t i = 0; s->constants && s->constants[i].name; i++)
        free((char *)s->constants[i].name);
    free(s->constants);
    free(s->folder);
    free(s->text);
    free(s->plan_text);
    free(s->machine_text);
}
