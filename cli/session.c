/* A program and what it is run on, read from the files that the command line names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

enum { LARGEST_TEXT = 64 * 1024 * 1024, ERROR_SIZE = 600 };

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

static char *read_program(const char *path, size_t *n)
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

static bool is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
        if (!letter && (i == 0 || s[i] < '0' || s[i] > '9'))
            return false;
    }
    return n > 0;
}

/* NAME of a NAME=VALUE word; 0 when the word is a file. */
size_t cli_name_length(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && is_name(word, (size_t)(equals - word)) ? (size_t)(equals - word) : 0;
}

static bool parse_number(const char *word, double *value)
{
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        *value = word[0] == 't';
        return true;
    }
    char *end;
    *value = strtod(word, &end);
    return end != word && !*end;
}

/* Numbers travel as doubles: whether this whole number becomes another one on the way. */
static bool loses_digits(const char *word, double value)
{
    char *end;
    errno = 0;
    long long whole = strtoll(word, &end, 10);
    return end != word && !*end && !errno && value < 0x1p63 && whole != (long long)value;
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
        if (!length || !parse_number(word + length + 1, &value))
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
        if (strcmp(path, tess_preset(i)) != 0)
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

static bool find_input(const Session *s, const char *name, size_t length, size_t *index,
                       tess_info *info)
{
    for (size_t i = 0; i < tess_program_inputs(s->program); i++) {
        info->struct_size = sizeof *info;
        if (tess_program_input(s->program, i, info) == TESS_OK && strlen(info->name) == length
            && strncmp(info->name, name, length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* What the tool can do about a file that was refused for its pages or channels. */
static const char *remedy_for(const CommandLine *line, const tess_info *info,
                              const tess_image_request *r)
{
    if (r->pages > 1 && info->ndim < 3 && !line->page)
        return "; --page=N takes one of them";
    if (info->is_struct && r->channels == info->n_channels + 1
        && (r->channels == 2 || r->channels == 4))
        return "; --drop-alpha leaves out the last one";
    if (!info->is_struct && r->channels > 1 && !line->gray && !line->each_channel)
        return "; --gray makes it grey, --each-channel runs the program on each";
    return "";
}

static bool bind_image(const CommandLine *line, Session *s, size_t input, const char *path)
{
    tess_info info = { .struct_size = sizeof info };
    tess_program_input(s->program, input, &info);
    tess_image_request request;
    tess_image_request_init(&request);
    request.page = line->page;
    request.gray = line->gray;
    request.drop_alpha = line->drop_alpha;
    request.any_channels = line->each_channel;
    DLTensor *image = NULL;
    char error[ERROR_SIZE] = "";
    const tess_status status = tess_image_load(path, &info, &request, &image, error, sizeof error);
    if (status != TESS_OK) {
        const bool misfit = status == TESS_ERROR_ARGUMENT;
        cli_fail_about(path, error, misfit ? remedy_for(line, &info, &request) : "");
        return false;
    }
    s->has_pages = s->has_pages || request.pages > 1;
    tess_image_free(s->images[input]);
    s->images[input] = image;
    if (!info.is_struct && image->ndim == info.ndim + 1 && line->each_channel)
        return true; /* bound channel by channel by the run */
    if (tess_args_image(s->args, info.name, image) != TESS_OK) {
        cli_fail_about(path, tess_args_error(s->args), "");
        return false;
    }
    return true;
}

static void no_such_input(const Session *s, const char *name, size_t length)
{
    char names[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < tess_program_inputs(s->program) && used < sizeof names; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", info.name);
        used += n > 0 ? (size_t)n : 0;
    }
    cli_fail("the program has no input '%.*s'; it has %s", (int)length, name,
             used ? names : "none");
}

static bool bind_named(const CommandLine *line, Session *s, const char *word, size_t length)
{
    size_t index;
    tess_info info;
    if (!find_input(s, word, length, &index, &info)) {
        no_such_input(s, word, length);
        return false;
    }
    const char *value = word + length + 1;
    if (s->given[index])
        return cli_fail("'%s' is given twice", info.name), false;
    s->given[index] = true;
    if (info.kind == TESS_IMAGE || info.kind == TESS_MASK)
        return bind_image(line, s, index, value);
    double number;
    if (!parse_number(value, &number)) {
        cli_fail("'%s' is no number for '%s'", value, info.name);
        return false;
    }
    if (info.dtype.code != kDLFloat && loses_digits(value, number)) {
        cli_fail("'%s' for '%s' is beyond the whole numbers that can be given, 2^53", value,
                 info.name);
        return false;
    }
    if (tess_args_scalar(s->args, info.name, number) != TESS_OK) {
        cli_fail("%s", tess_args_error(s->args));
        return false;
    }
    return true;
}

/* For commands that compile only: numbers that the compiler takes. */
static bool check_constant(Session *s, const char *word, size_t length)
{
    size_t index;
    tess_info info;
    double number;
    if (!find_input(s, word, length, &index, &info))
        return no_such_input(s, word, length), false;
    if (info.kind == TESS_IMAGE || info.kind == TESS_MASK)
        return cli_fail("'%s' is an image, which is given when the program runs", info.name), false;
    if (!parse_number(word + length + 1, &number))
        return cli_fail("'%s' is no number for '%s'", word + length + 1, info.name), false;
    if (info.kind == TESS_SCALAR && !info.is_const)
        return cli_fail("'%s' is given when the program runs; only const inputs and parameters are "
                        "compiled in",
                        info.name),
               false;
    return true;
}

static bool check_constants(const CommandLine *line, Session *s)
{
    for (size_t i = 0; i < line->n_words; i++)
        if (!check_constant(s, line->words[i], cli_name_length(line->words[i])))
            return false;
    return true;
}

static bool bind_next_image(const CommandLine *line, Session *s, const char *path)
{
    for (size_t i = 0; i < s->n_images; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        if ((info.kind == TESS_IMAGE || info.kind == TESS_MASK) && !s->images[i])
            return bind_image(line, s, i, path);
    }
    cli_fail("no image is left to bind %s to", path);
    return false;
}

static bool bind_words(const CommandLine *line, Session *s)
{
    s->n_images = tess_program_inputs(s->program);
    s->images = calloc(s->n_images + 1, sizeof *s->images);
    s->given = calloc(s->n_images + 1, sizeof *s->given);
    if (!s->images || !s->given || tess_args_new(s->program, &s->args) != TESS_OK) {
        cli_fail("out of memory");
        return false;
    }
    for (size_t i = 0; i < line->n_words;
         i++) { /* names first, so that files take the images that are left */
        size_t length = cli_name_length(line->words[i]);
        if (length && !bind_named(line, s, line->words[i], length))
            return false;
    }
    for (size_t i = 0; i < line->n_words; i++)
        if (!cli_name_length(line->words[i]) && !bind_next_image(line, s, line->words[i]))
            return false;
    if (line->page && !s->has_pages)
        return cli_fail("--page=%d: none of the inputs is a stack of pages", line->page), false;
    return true;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

bool cli_can_write(const CommandLine *line)
{
    for (size_t i = 0; i < line->n_outputs; i++) {
        const char *path = line->outputs[i];
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

bool cli_open(const CommandLine *line, Session *s, bool bind)
{
    memset(s, 0, sizeof *s);
    tess_options options = line->options;
    options.library = s->folder = cli_folder_of(line->program);
    if (!collect_constants(line, s) || !read_texts(line, s, &options))
        return false;
    options.constants = s->constants;
    while (s->constants[options.n_constants].name)
        options.n_constants++;
    size_t n;
    s->text = read_program(line->program, &n);
    if (!s->text)
        return false;
    tess_diags *diags = NULL;
    tess_status status = tess_compile(s->text, n, line->program, &options, &s->program, &diags);
    cli_show_diagnostics(line, diags, !line->quiet);
    if (status != TESS_OK && (!diags || !tess_diags_errors(diags)))
        cli_fail("%s", tess_status_text(status));
    tess_diags_free(diags);
    if (status != TESS_OK)
        return false;
    if (line->options.general != TESS_GENERAL_NEVER && !line->quiet && !takes_masks(s->program))
        cli_warn("--general does nothing here: the program takes no masks");
    return bind ? bind_words(line, s) : check_constants(line, s);
}

void cli_close(Session *s)
{
    tess_args_free(s->args);
    tess_program_free(s->program);
    for (size_t i = 0; s->images && i < s->n_images; i++)
        tess_image_free(s->images[i]);
    for (size_t i = 0; s->constants && s->constants[i].name; i++)
        free((char *)s->constants[i].name);
    free(s->images);
    free(s->given);
    free(s->constants);
    free(s->folder);
    free(s->text);
    free(s->plan_text);
    free(s->machine_text);
}
