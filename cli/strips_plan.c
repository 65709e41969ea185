/* Strips: whether a run needs them, how high they are, and what that takes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/team_images.h"

enum { ERROR_SIZE = 600 };
/* Files of less than this are not looked at before they are read, unless --memory is said: a run on them fits. */
static const off_t small_file = 16 << 20;
/* What the tool takes besides images: its own code, the compiled program, the stacks of threads. */
static const double tool_bytes = 24 << 20;

void cli_size_text(double bytes, char text[32])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

double cli_result_bytes(tess_program *p, tess_args *a, size_t number)
{
    int64_t shape[TESS_MAX_SHAPE];
    int n;
    tess_info info = { .struct_size = sizeof info };
    if (tess_program_output(p, number, &info) != TESS_OK || info.is_number
        || tess_result_shape(p, a, number, &n, shape) != TESS_OK)
        return 0;
    double bytes = info.dtype.bits / 8.0;
    for (int d = 0; d < n; d++)
        bytes *= (double)shape[d];
    return bytes;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */
static bool is_file(const char *path, off_t *size)
{
    struct stat st;
    const bool ok =
        strcmp(path, "-") != 0 && stat(tess_image_file(path), &st) == 0 && S_ISREG(st.st_mode);
    *size = ok ? st.st_size : 0;
    return ok;
}

/* Bytes of all files, and whether all inputs that are images are files. */
static bool are_files(const CommandLine *line, const tess_program *p, const size_t *input,
                      double *bytes)
{
    bool all = true;
    *bytes = 0;
    for (size_t i = 0; i < line->n_words; i++) {
        off_t size;
        if (!cli_is_image(p, input[i]))
            continue;
        all = is_file(cli_word_value(line->words[i]), &size) && all;
        *bytes += (double)size;
    }
    return all;
}

static void init_request(const CommandLine *line, tess_meta **meta, tess_image_request *request)
{
    tess_image_request_init(request);
    request->page = line->page;
    request->gray = line->gray;
    request->drop_alpha = line->drop_alpha;
    request->no_orient = line->no_orient;
    request->srgb = line->srgb;
    request->meta = meta;
}

static void take_shape(StripInput *in, const DLTensor *t)
{
    in->shape = *t;
    in->shape.data = NULL;
    in->shape.strides = NULL;
    in->shape.shape = in->extent;
    in->row_bytes = t->dtype.bits / 8u;
    for (int d = 0; d < t->ndim; d++) {
        in->extent[d] = t->shape[d];
        in->row_bytes *= d ? (size_t)t->shape[d] : 1;
    }
}

static double bytes_of(const StripInput *in)
{
    return (double)in->row_bytes * (double)in->extent[0];
}

/* A file whose rows cannot be read one by one is read as a whole, as one that is no image of many rows. */
static bool open_input(const CommandLine *line, StripInput *in)
{
    char error[ERROR_SIZE] = "";
    tess_image_request request;
    in->shared = cli_team_image(line->team, in->path);
    if (in->shared) {
        take_shape(in, &in->shared->shape);
        return true;
    }
    init_request(line, &in->meta, &request);
    off_t size;
    if (is_file(in->path, &size) && in->info.kind == TESS_IMAGE
        && tess_reader_open(in->path, &in->info, &request, &in->reader, error, sizeof error)
               == TESS_OK) {
        take_shape(in, tess_reader_image(in->reader));
        return true;
    }
    if (line->memory <= 0 && is_file(in->path, &size) && size > small_file)
        return false; /* it would be read twice */
    const char *why = strstr(error, "one by one: ");
    snprintf(in->cannot, sizeof in->cannot, "%.290s", why ? why + strlen("one by one: ") : error);
    cli_progress("reading", in->path);
    init_request(line, &in->meta, &request);
    if (tess_image_load(in->path, &in->info, &request, &in->whole, error, sizeof error) != TESS_OK)
        return false; /* the usual way says why, with what can be done */
    take_shape(in, in->whole);
    return true;
}

/* Images first: of inputs that are `any` they make the program. */
static bool open_inputs(Strips *s, const size_t *input)
{
    for (size_t i = 0; i < s->line->n_words; i++) {
        StripInput *in = &s->input[input[i]];
        in->info.struct_size = sizeof in->info;
        tess_program_input(s->program, input[i], &in->info);
        if (in->info.kind != TESS_IMAGE && in->info.kind != TESS_MASK)
            continue;
        in->path = cli_word_value(s->line->words[i]);
        if (!open_input(s->line, in))
            return false;
    }
    return true;
}

static bool instantiate(Strips *s)
{
    if (!cli_is_open(s->program))
        return true;
    Inputs in = { .n = s->n_inputs };
    in.images = calloc(in.n + 1, sizeof *in.images);
    for (size_t i = 0; in.images && i < in.n; i++)
        in.images[i] = s->input[i].path ? &s->input[i].shape : NULL;
    const bool ok = in.images && cli_instantiate(s->line, &s->program, &in);
    free(in.images);
    for (size_t i = 0; ok && i < s->n_inputs; i++)
        if (s->input[i].path)
            tess_program_input(s->program, i, &s->input[i].info);
    return ok;
}

static bool bind_words(Strips *s, const size_t *input)
{
    for (size_t i = 0; i < s->line->n_words; i++) {
        const StripInput *in = &s->input[input[i]];
        double number;
        const bool ok = in->path
                            ? tess_args_shape(s->args, in->info.name, &in->shape) == TESS_OK
                            : cli_parse_number(cli_word_value(s->line->words[i]), &number)
                                  && tess_args_scalar(s->args, in->info.name, number) == TESS_OK;
        if (!ok)
            return false;
    }
    return true;
}

/* ---- Heights --------------------------------------------------------------------------------- */
void cli_strips_share(const Strips *s, size_t number, int rank, int64_t *begin, int64_t *end)
{
    const tess_pass *pass = &s->pass[number].pass;
    const Team *t = s->line->team;
    const int64_t all = pass->ndim ? pass->shape[0] : 1;
    *begin = 0;
    *end = all;
    const int columns = s->pass[number].columns > 1 ? s->pass[number].columns : 1;
    if (t && pass->ndim && pass->cut[0])
        cli_team_share(t->size / columns, rank / columns, all, pass->align[0], begin, end);
    else if (t && rank > 0)
        *end = 0;
}

void cli_strips_columns(const Strips *s, size_t number, int rank, int64_t *begin, int64_t *end)
{
    const tess_pass *pass = &s->pass[number].pass;
    const int columns = s->pass[number].columns;
    *begin = 0;
    *end = pass->ndim > 1 ? pass->shape[1] : 1;
    if (columns > 1)
        cli_team_share(columns, rank % columns, pass->shape[1], pass->align[1], begin, end);
}

/* How many of a team share each row: so many that least is computed twice. Where that gains little, rows stay whole. */
static void choose_columns(const Strips *s, size_t number)
{
    const double worth_it = 0.95;
    StripPass *of = &s->pass[number];
    const tess_pass *pass = &of->pass;
    const Team *t = s->line->team;
    double best = 0;
    of->columns = 1;
    if (!t || s->line->keeps || pass->numbers || pass->ndim < 2 || !pass->cut[0] || !pass->cut[1]
        || pass->periodic[1])
        return;
    for (int columns = 1; columns <= t->size; columns++) {
        const int rows = t->size / columns;
        if (t->size % columns || pass->shape[0] / pass->align[0] < rows
            || pass->shape[1] / pass->align[1] < columns)
            continue;
        const double high =
            (double)pass->shape[0] / rows + (rows > 1 ? 2.0 * (double)pass->margin[0] : 0);
        const double wide =
            (double)pass->shape[1] / columns + (columns > 1 ? 2.0 * (double)pass->margin[1] : 0);
        const double points = high * wide;
        if (best == 0 || points < worth_it * best) {
            best = points;
            of->columns = columns;
        }
    }
}

void cli_strips_part(const Strips *s, size_t number, int64_t begin, int64_t end, tess_part *part)
{
    const StripPass *pass = &s->pass[number];
    *part = (tess_part){ .struct_size = sizeof *part, .pass = number };
    for (int d = 0; d < pass->pass.ndim; d++)
        part->end[d] = pass->pass.shape[d];
    part->begin[0] = begin;
    if (pass->pass.ndim)
        part->end[0] = end - begin > pass->height ? begin + pass->height : end;
}

/* Bytes of the images that a pass has in memory as wholes, and of the readers of the others. */
static double fixed_bytes(const Strips *s, size_t number)
{
    double bytes = tool_bytes;
    for (size_t i = 0; i < s->n_inputs; i++) {
        const StripInput *in = &s->input[i];
        tess_reader_facts facts = { .struct_size = sizeof facts };
        if (in->path && in->whole)
            bytes += bytes_of(in);
        else if (in->path && tess_parts_use(s->parts, number, i) == TESS_PART_WHOLE)
            bytes += bytes_of(in);
        else if (in->reader && tess_reader_look(in->reader, &facts) == TESS_OK)
            bytes += (double)facts.bytes;
    }
    return bytes;
}

/* A row of tiles of each result, while it is gathered. */
static double tile_bytes(const Strips *s)
{
    double bytes = 0;
    for (size_t i = 0; s->line->tile && i < tess_program_outputs(s->program); i++) {
        int64_t shape[TESS_MAX_SHAPE];
        int n;
        tess_info info = { .struct_size = sizeof info };
        if (tess_program_output(s->program, i, &info) != TESS_OK
            || tess_result_shape(s->program, s->args, i, &n, shape) != TESS_OK)
            continue;
        double row = s->line->tile * (info.dtype.bits / 8.0);
        for (int d = 1; d < n; d++)
            row *= (double)shape[d];
        bytes += row;
    }
    return bytes;
}

/* What strips of that height take: images of two, since one is read while the other is computed, and results of two. */
static bool measure(Strips *s, size_t number, int64_t height)
{
    StripPass *pass = &s->pass[number];
    tess_part part;
    pass->height = height;
    /* One in the middle has most around it. */
    const int64_t rows = pass->pass.ndim ? pass->pass.shape[0] : 0;
    const int64_t middle = rows > height ? (rows / height / 2) * height : 0;
    cli_strips_part(s, number, middle, rows, &part);
    pass->memory.struct_size = sizeof pass->memory;
    if (tess_part_needs(s->parts, &part) != TESS_OK
        || tess_part_needs_memory(s->parts, &part, &pass->memory) != TESS_OK)
        return cli_fail("%s", tess_parts_error(s->parts)), false;
    const double turns = height < rows ? 2 : 1;
    pass->bytes = fixed_bytes(s, number) + tile_bytes(s) + turns * pass->memory.images
                  + turns * pass->memory.results + pass->memory.between;
    pass->n_strips = rows && height ? (rows + height - 1) / height : 1;
    return true;
}

static void say_too_large(const Strips *s, size_t number, const char *why)
{
    char needs[32], limit[32];
    const StripPass *pass = &s->pass[number];
    cli_size_text(pass->bytes, needs);
    cli_size_text(s->limit, limit);
    cli_fail("%s takes %s of memory here, where %s are allowed (--memory=SIZE), and %s",
             s->line->program, needs, limit, why);
}

/* Higher strips gain nothing: their images and results leave the caches, and their memory has to be made. Of what lies
 * around them it should be several times. */
static int64_t good_height(const StripPass *pass, int64_t most)
{
    const double bytes = pass->memory.images + pass->memory.results, enough = 16 << 20;
    const int64_t align = pass->pass.align[0], around = 2 * pass->pass.margin[0], times = 32;
    const double rows = bytes > 0 ? (double)most * enough / bytes : (double)most;
    int64_t height = rows < (double)most ? (int64_t)rows : most;
    height = height > times * around ? height : times * around;
    height = (height + align - 1) / align * align;
    return height < most ? height : most;
}

/* Strips as high as the memory allows, and is of use. */
static bool find_height(Strips *s, size_t number)
{
    StripPass *pass = &s->pass[number];
    pass->pass.struct_size = sizeof pass->pass;
    if (tess_parts_pass(s->parts, number, &pass->pass) != TESS_OK)
        return cli_fail("%s", tess_parts_error(s->parts)), false;
    choose_columns(s, number);
    const int64_t rows = pass->pass.ndim ? pass->pass.shape[0] : 0, align = pass->pass.align[0];
    char why[400];
    if (!measure(s, number, rows))
        return false;
    const bool fits = pass->bytes <= s->limit, cuts = pass->pass.ndim && pass->pass.cut[0];
    /* Files of a team are read and written meanwhile, and rows of others come. */
    if (fits && s->line->team && cuts)
        return measure(s, number, good_height(pass, rows));
    if (fits)
        return true;
    if (!cuts) {
        snprintf(why, sizeof why, "it is not computed in strips of rows: %.300s",
                 pass->pass.ndim ? pass->pass.why[0] : "it reads no images");
        return say_too_large(s, number, why), false;
    }
    int64_t lo = 1, hi = (rows + align - 1) / align; /* hi is too high */
    if (!measure(s, number, align))
        return false;
    if (pass->bytes > s->limit)
        return say_too_large(s, number, "strips cannot be lower than that"), false;
    while (hi - lo > 1) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (!measure(s, number, middle * align))
            return false;
        *(pass->bytes <= s->limit ? &lo : &hi) = middle;
    }
    return measure(s, number, lo * align) && measure(s, number, good_height(pass, pass->height));
}

static bool find_heights(Strips *s)
{
    s->n_passes = tess_parts_passes(s->parts);
    s->pass = calloc(s->n_passes + 1, sizeof *s->pass);
    if (!s->pass)
        return cli_fail("out of memory"), false;
    for (size_t i = 0; i < s->n_passes; i++)
        if (!find_height(s, i))
            return false;
    return true;
}

/* ---- The decision ---------------------------------------------------------------------------- */
/* In one piece with nothing read ahead: the last pass has what all need. */
static bool fits(Strips *s)
{
    const size_t last = s->n_passes - 1;
    StripPass *pass = &s->pass[last];
    pass->pass.struct_size = sizeof pass->pass;
    if (tess_parts_pass(s->parts, last, &pass->pass) != TESS_OK
        || !measure(s, last, pass->pass.ndim ? pass->pass.shape[0] : 0))
        return false;
    s->whole = pass->bytes;
    return s->whole <= s->limit;
}

/* So little beside what is free that nothing has to be planned to know that it fits, as far as can be known: what lies
 * between images and results is checked when a run begins. */
static bool is_little(const Strips *s)
{
    const double plenty = 16;
    double bytes = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        bytes += s->input[i].path ? bytes_of(&s->input[i]) : 0;
    return s->line->memory <= 0 && plenty * bytes < s->limit;
}

/* The inputs and as much of results are more than --memory allows, however a program without strips is computed. */
static bool is_too_much(const Strips *s)
{
    double bytes = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        bytes += s->input[i].path ? bytes_of(&s->input[i]) : 0;
    return s->line->memory > 0 && 2 * bytes > s->line->memory;
}

/* As far as can be known where there are no parts to measure: images, results and one image between them. */
static bool may_be_too_much(const Strips *s)
{
    double bytes = tool_bytes;
    for (size_t i = 0; i < s->n_inputs; i++)
        bytes += s->input[i].path ? 3 * bytes_of(&s->input[i]) : 0;
    return bytes > s->limit;
}

/* All turns of a loop in each strip would compute most of it again. */
static bool reaches_too_far(Strips *s, int64_t *height, int64_t *around)
{
    tess_pass pass = { .struct_size = sizeof pass };
    if (tess_parts_pass(s->parts, s->n_passes - 1, &pass) != TESS_OK || !pass.ndim || !pass.cut[0])
        return false;
    const Team *t = s->line->team;
    const double twice = 2; /* what one strip has of images and results is there for two */
    const double fits = (s->limit - tool_bytes) / (s->whole - tool_bytes) / twice;
    const double part = t ? 1.0 / t->size : fits < 1 ? fits > 0 ? fits : 0 : 1;
    *height = (int64_t)((double)pass.shape[0] * part) + 1;
    *around = 2 * pass.margin[0];
    return 2 * *around > *height;
}

static StripsNeed decide(Strips *s, const size_t *input, bool always)
{
    if (!open_inputs(s, input))
        return STRIPS_NOT; /* the usual way finds the same fault, and says it as usual */
    if (!always && is_little(s))
        return STRIPS_NOT;
    if (!instantiate(s))
        return STRIPS_FAILED;
    if (tess_args_new(s->program, &s->args) != TESS_OK)
        return cli_fail("out of memory"), STRIPS_FAILED;
    if (!bind_words(s, input))
        return STRIPS_NOT;
    const tess_status status = tess_parts_new(s->program, s->args, &s->parts);
    int64_t height = 0, around = 0;
    if (status == TESS_ERROR_UNSUPPORTED && (s->line->team || always || may_be_too_much(s))
        && cli_rounds_find(s, 0, 0))
        return STRIPS_WANTED;
    if (status == TESS_ERROR_UNSUPPORTED && s->line->team) {
        snprintf(s->why, sizeof s->why, "%s", tess_parts_error(s->parts));
        return STRIPS_NOT;
    }
    if (status == TESS_ERROR_UNSUPPORTED && !always && is_too_much(s))
        return cli_fail("%s, and whole the images take more memory than is allowed",
                        tess_parts_error(s->parts)),
               STRIPS_FAILED;
    if (status != TESS_OK) {
        if (!always && status != TESS_ERROR_ARGUMENT)
            return STRIPS_NOT;
        return cli_fail("%s", s->parts ? tess_parts_error(s->parts) : "out of memory"),
               STRIPS_FAILED;
    }
    s->n_passes = tess_parts_passes(s->parts);
    s->pass = calloc(s->n_passes + 1, sizeof *s->pass);
    if (!s->pass)
        return cli_fail("out of memory"), STRIPS_FAILED;
    const bool whole = fits(s);
    free(s->pass);
    s->pass = NULL;
    if ((whole && !always) || cli_team_has_order(s))
        return STRIPS_NOT;
    if (reaches_too_far(s, &height, &around) && cli_rounds_find(s, height, around))
        return STRIPS_WANTED;
    return find_heights(s) ? STRIPS_WANTED : STRIPS_FAILED;
}

StripsNeed cli_strips_plan(const CommandLine *line, tess_program *p, bool always, Strips *s)
{
    double bytes;
    *s = (Strips){ .line = line, .program = p };
    s->limit = line->memory > 0 ? line->memory : (double)tess_memory_free() / 2;
    if (line->team && line->memory <= 0)
        s->limit /= line->team->n_near;
    s->n_inputs = tess_program_inputs(p);
    s->input = calloc(s->n_inputs + 1, sizeof *s->input);
    size_t *input = calloc(line->n_words + 1, sizeof *input);
    StripsNeed need = STRIPS_FAILED;
    if (!input || !s->input)
        cli_fail("out of memory");
    else if (!cli_place_words(line, p, input))
        need = STRIPS_FAILED;
    else if (line->team || always)
        need = decide(s, input, always);
    else if (!are_files(line, p, input, &bytes) && line->memory <= 0)
        need = STRIPS_NOT;
    else if (bytes < (double)small_file && line->memory <= 0)
        need = STRIPS_NOT;
    else
        need = decide(s, input, always);
    free(input);
    return need;
}

void cli_strips_free(Strips *s)
{
    for (size_t i = 0; s->input && i < s->n_inputs; i++) {
        StripInput *in = &s->input[i];
        tess_reader_close(in->reader);
        tess_image_free(in->whole);
        tess_meta_free(in->meta);
        tess_image_free(in->window[0]);
        tess_image_free(in->window[1]);
    }
    free(s->input);
    free(s->pass);
    tess_rounds_free(s->rounds);
    tess_parts_free(s->parts);
    tess_args_free(s->args);
    *s = (Strips){ 0 };
}

/* ---- explain --memory ------------------------------------------------------------------------ */
static void explain_pass(const Strips *s, size_t number)
{
    const StripPass *pass = &s->pass[number];
    char all[32], images[32], results[32], between[32];
    cli_size_text(pass->bytes, all);
    cli_size_text(pass->memory.images, images);
    cli_size_text(pass->memory.results, results);
    cli_size_text(pass->memory.between, between);
    const char *what = pass->pass.numbers ? "numbers of whole images" : "the results";
    if (!pass->pass.ndim || pass->height >= pass->pass.shape[0])
        printf("pass %zu, %s: in one piece, %s in memory\n", number + 1, what, all);
    else
        printf("pass %zu, %s: %lld strips of %lld rows and %lld around them, %s in memory\n",
               number + 1, what, (long long)pass->n_strips, (long long)pass->height,
               (long long)(2 * pass->pass.margin[0]), all);
    printf("    images %s, results %s, between them %s%s\n", images, results, between,
           pass->n_strips > 1
               ? "; images and results twice, as one strip is read and written while "
                 "another is computed"
               : "");
    if (pass->pass.ndim && !pass->pass.cut[0])
        printf("    no strips of rows: %s\n", pass->pass.why[0]);
    cli_size_text(pass->memory.images + pass->memory.results + pass->memory.between, all);
    if (tess_target_has_device(s->line->options.target))
        printf("    on the device %s\n", all);
}

/* How often a file is read from its beginning: once for all where it is in memory as a whole. */
static int times_read(const Strips *s, size_t i)
{
    int times = 0;
    for (size_t k = 0; k < s->n_passes; k++) {
        const tess_part_use use = tess_parts_use(s->parts, k, i);
        const bool far = s->pass[k].pass.periodic[0] && s->pass[k].n_strips > 1;
        times += use == TESS_PART_UNUSED ? 0 : use == TESS_PART_CUT && far ? 3 : 1;
    }
    return s->input[i].reader ? times : 1;
}

/* What goes from the disk and to it, with pixels as they are without compression. */
static void explain_disk(Strips *s)
{
    char reads[32], writes[32];
    double from = 0, to = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->input[i].path)
            from += bytes_of(&s->input[i]) * (s->rounds ? 1 : times_read(s, i));
    for (size_t i = 0; i < tess_program_outputs(s->program); i++)
        to += cli_result_bytes(s->program, s->args, i);
    cli_size_text(from, reads);
    cli_size_text(to, writes);
    printf("disk: %s read%s, %s written\n", reads, s->rounds ? " by each round that needs it" : "",
           writes);
}

static void explain_input(const Strips *s, size_t i)
{
    const StripInput *in = &s->input[i];
    char size[32];
    const int times = s->rounds ? 0 : times_read(s, i);
    cli_size_text(bytes_of(in), size);
    if (in->reader && s->rounds)
        printf("%s: %s, row by row, in each round that needs it\n", in->path, size);
    else if (in->reader)
        printf("%s: %s, row by row, from the beginning %d time%s\n", in->path, size, times,
               times == 1 ? "" : "s");
    else
        printf("%s: %s, in memory as a whole%s%s\n", in->path, size, in->cannot[0] ? ": " : "",
               in->cannot);
}

void cli_strips_explain(Strips *s)
{
    char limit[32], whole[32];
    cli_size_text(s->limit, limit);
    cli_size_text(s->whole, whole);
    printf("memory: %s allowed%s", limit, s->line->memory > 0 ? "" : " (half of what is free)");
    printf(s->whole > 0 ? ", %s for all at once\n" : "\n", whole);
    if (s->rounds)
        cli_rounds_explain(s);
    for (size_t i = 0; !s->rounds && i < s->n_passes; i++)
        explain_pass(s, i);
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->input[i].path)
            explain_input(s, i);
    explain_disk(s);
}
