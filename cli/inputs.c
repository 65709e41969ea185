/* The words of the command line behind the program: what is bound to its inputs, and to which. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { ERROR_SIZE = 600 };

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

bool cli_parse_number(const char *word, double *value)
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

/* ---- Which input ------------------------------------------------------------------------------ */

static bool find_input(const tess_program *p, const char *name, size_t length, size_t *index)
{
    for (size_t i = 0; i < tess_program_inputs(p); i++) {
        tess_info info = { .struct_size = sizeof info };
        if (tess_program_input(p, i, &info) == TESS_OK && strlen(info.name) == length
            && strncmp(info.name, name, length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

static bool no_such_input(const tess_program *p, const char *name, size_t length)
{
    char names[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < tess_program_inputs(p) && used < sizeof names; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(p, i, &info);
        int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", info.name);
        used += n > 0 ? (size_t)n : 0;
    }
    cli_fail("the program has no input '%.*s'; it has %s", (int)length, name,
             used ? names : "none");
    return false;
}

bool cli_is_image(const tess_program *p, size_t input)
{
    tess_info info = { .struct_size = sizeof info };
    return tess_program_input(p, input, &info) == TESS_OK
           && (info.kind == TESS_IMAGE || info.kind == TESS_MASK);
}

/* The words that name their input; given[i] says that one was for input i. */
static bool place_names(const CommandLine *line, const tess_program *p, size_t *input, bool *given)
{
    for (size_t i = 0; i < line->n_words; i++) {
        const size_t length = cli_name_length(line->words[i]);
        if (!length)
            continue;
        if (!find_input(p, line->words[i], length, &input[i]))
            return no_such_input(p, line->words[i], length);
        if (given[input[i]])
            return cli_fail("'%.*s' is given twice", (int)length, line->words[i]), false;
        given[input[i]] = true;
    }
    return true;
}

bool cli_place_words(const CommandLine *line, const tess_program *p, size_t *input)
{
    const size_t n = tess_program_inputs(p);
    bool *given = calloc(n + 1, sizeof *given);
    if (!given)
        return cli_fail("out of memory"), false;
    /* names first, so that files take the images that are left */
    bool ok = place_names(line, p, input, given);
    size_t next = 0;
    for (size_t i = 0; ok && i < line->n_words; i++) {
        if (cli_name_length(line->words[i]))
            continue;
        while (next < n && (given[next] || !cli_is_image(p, next)))
            next++;
        ok = next < n || (cli_fail("no image is left to bind %s to", line->words[i]), false);
        input[i] = next++;
    }
    free(given);
    return ok;
}

/* ---- Binding ---------------------------------------------------------------------------------- */

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

bool cli_read_input(const CommandLine *line, Inputs *in, size_t input, const tess_info *info,
                    const char *path)
{
    tess_image_request request;
    tess_image_request_init(&request);
    request.page = line->page;
    request.gray = line->gray;
    request.drop_alpha = line->drop_alpha;
    request.any_channels = line->each_channel;
    request.no_orient = line->no_orient;
    request.srgb = line->srgb;
    tess_meta_free(in->meta[input]);
    in->meta[input] = NULL;
    request.meta = &in->meta[input];
    DLTensor *image = NULL;
    char error[ERROR_SIZE] = "";
    const double start = cli_clock_ms();
    cli_progress("reading", path);
    const tess_status status = tess_image_load(path, info, &request, &image, error, sizeof error);
    in->read_ms += cli_clock_ms() - start;
    if (status != TESS_OK) {
        const bool misfit = status == TESS_ERROR_ARGUMENT;
        const bool inks = !line->srgb && strstr(error, "it is a CMYK picture, and");
        cli_fail_about(path, error,
                       misfit ? remedy_for(line, info, &request)
                       : inks ? "; --srgb converts it by its profile"
                              : "");
        return false;
    }
    in->has_pages = in->has_pages || request.pages > 1;
    tess_image_free(in->images[input]);
    in->images[input] = image;
    cli_say_doubts(line, in->meta[input], info, path);
    return cli_check_valid(line, in, input, info, path);
}

/* Binds the image that was read. */
static bool bind_image(const CommandLine *line, Inputs *in, size_t input, const tess_info *info,
                       const char *path)
{
    const DLTensor *image = in->images[input];
    if (!info->is_struct && image->ndim == info->ndim + 1 && line->each_channel)
        return true; /* bound channel by channel by the run */
    if (tess_args_image(in->args, info->name, image) != TESS_OK) {
        cli_fail_about(path, tess_args_error(in->args), "");
        return false;
    }
    return true;
}

static bool bind_number(Inputs *in, const tess_info *info, const char *value)
{
    double number;
    if (!cli_parse_number(value, &number)) {
        cli_fail("'%s' is no number for '%s'", value, info->name);
        return false;
    }
    if (info->dtype.code != kDLFloat && loses_digits(value, number)) {
        cli_fail("'%s' for '%s' is beyond the whole numbers that can be given, 2^53", value,
                 info->name);
        return false;
    }
    if (tess_args_scalar(in->args, info->name, number) != TESS_OK) {
        cli_fail("%s", tess_args_error(in->args));
        return false;
    }
    return true;
}

static bool is_image(const tess_info *info)
{
    return info->kind == TESS_IMAGE || info->kind == TESS_MASK;
}

bool cli_bind(const CommandLine *line, tess_program *p, Inputs *in, size_t input, const char *value)
{
    tess_info info = { .struct_size = sizeof info };
    tess_program_input(p, input, &info);
    return is_image(&info) ? cli_read_input(line, in, input, &info, value)
                                 && bind_image(line, in, input, &info, value)
                           : bind_number(in, &info, value);
}

static bool no_memory(void)
{
    return cli_fail("out of memory"), false;
}

/* Without arguments, which are a program's that can be run. */
static bool inputs_alloc(const tess_program *p, Inputs *in)
{
    *in = (Inputs){ .n = tess_program_inputs(p) };
    in->images = calloc(in->n + 1, sizeof(DLTensor *));
    in->meta = calloc(in->n + 1, sizeof(tess_meta *));
    return in->images && in->meta ? true : no_memory();
}

bool cli_inputs_new(tess_program *p, const Inputs *shared, Inputs *in)
{
    if (!inputs_alloc(p, in))
        return false;
    in->shared = shared;
    const tess_status status =
        shared ? tess_args_copy(shared->args, &in->args) : tess_args_new(p, &in->args);
    return status == TESS_OK ? true : no_memory();
}

void cli_inputs_free(Inputs *in)
{
    tess_args_free(in->args);
    for (size_t i = 0; in->images && i < in->n; i++)
        tess_image_free(in->images[i]);
    for (size_t i = 0; in->meta && i < in->n; i++)
        tess_meta_free(in->meta[i]);
    free(in->images);
    free(in->meta);
    *in = (Inputs){ 0 };
}

const char *cli_word_value(const char *word)
{
    const size_t length = cli_name_length(word);
    return length ? word + length + 1 : word;
}

bool cli_check_page(const CommandLine *line, const Inputs *in)
{
    if (line->page && !in->has_pages)
        return cli_fail("--page=%d: none of the inputs is a stack of pages", line->page), false;
    return true;
}

/* Reads the images whose types the program is made for. */
static bool read_open(const CommandLine *line, tess_program *p, Inputs *in, const size_t *input,
                      const char *const *value, size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(p, input[i], &info);
        ok = !value[i] || !info.is_any || cli_read_input(line, in, input[i], &info, value[i]);
    }
    return ok;
}

static bool bind_these(const CommandLine *line, tess_program *p, Inputs *in, const size_t *input,
                       const char *const *value, size_t n)
{
    bool ok = true;
    for (int images = 0; ok && images < 2; images++) /* numbers first, which take no time */
        for (size_t i = 0; ok && i < n; i++) {
            tess_info info = { .struct_size = sizeof info };
            tess_program_input(p, input[i], &info);
            if (value[i] && is_image(&info) == (images == 1))
                ok = in->images[input[i]] ? bind_image(line, in, input[i], &info, value[i])
                                          : cli_bind(line, p, in, input[i], value[i]);
        }
    return ok;
}

bool cli_bind_beside(const CommandLine *line, tess_program **p, Inputs *in, const size_t *input,
                     const char *const *value, size_t n, size_t other, DLTensor *shape)
{
    if (!cli_is_open(*p))
        return cli_inputs_new(*p, NULL, in) && bind_these(line, *p, in, input, value, n);
    bool ok = inputs_alloc(*p, in);
    if (ok && shape)
        in->images[other] = shape;
    ok = ok && read_open(line, *p, in, input, value, n) && cli_instantiate(line, p, in);
    if (in->images && shape)
        in->images[other] = NULL;
    if (ok && tess_args_new(*p, &in->args) != TESS_OK)
        ok = no_memory();
    return ok && bind_these(line, *p, in, input, value, n);
}

bool cli_bind_these(const CommandLine *line, tess_program **p, Inputs *in, const size_t *input,
                    const char *const *value, size_t n)
{
    return cli_bind_beside(line, p, in, input, value, n, 0, NULL);
}

bool cli_bind_words(const CommandLine *line, tess_program **p, Inputs *in)
{
    size_t *input = calloc(line->n_words + 1, sizeof *input);
    const char **value = calloc(line->n_words + 1, sizeof *value);
    bool ok = input && value ? cli_place_words(line, *p, input) : no_memory();
    for (size_t i = 0; ok && i < line->n_words; i++)
        value[i] = cli_word_value(line->words[i]);
    ok = ok && cli_bind_these(line, p, in, input, value, line->n_words);
    free(input);
    free(value);
    return ok && cli_check_page(line, in);
}

/* ---- Compiled only ---------------------------------------------------------------------------- */

/* A number that the compiler takes. */
static bool check_constant(const tess_program *p, const char *word, size_t length)
{
    size_t index;
    tess_info info = { .struct_size = sizeof info };
    double number;
    if (!find_input(p, word, length, &index))
        return no_such_input(p, word, length);
    tess_program_input(p, index, &info);
    if (info.kind == TESS_IMAGE || info.kind == TESS_MASK)
        return cli_fail("'%s' is an image, which is given when the program runs", info.name), false;
    if (!cli_parse_number(word + length + 1, &number))
        return cli_fail("'%s' is no number for '%s'", word + length + 1, info.name), false;
    if (info.kind == TESS_SCALAR && !info.is_const)
        return cli_fail("'%s' is given when the program runs; only const inputs and parameters are "
                        "compiled in",
                        info.name),
               false;
    return true;
}

bool cli_check_constants(const CommandLine *line, const tess_program *p)
{
    for (size_t i = 0; i < line->n_words; i++)
        if (!check_constant(p, line->words[i], cli_name_length(line->words[i])))
            return false;
    return true;
}
