/* Running programs of the corpus. */
#include "diff/corpus.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "api/api.h"
#include "support.h"

enum { ROW_PADDING = 3, PATTERN = 0xa5 };

/* ---- The folder ------------------------------------------------------------------------------ */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int corpus_list(Arena *a, char **paths, int most)
{
    int n = 0;
    DIR *dir = opendir(TESSERA_SOURCE_DIR "/tests/corpus");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && (strcmp(dot, ".tess") == 0 || strcmp(dot, ".idsl") == 0) && n < most)
            paths[n++] = tessi_sprintf(a, TESSERA_SOURCE_DIR "/tests/corpus/%s", e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(paths, (size_t)n, sizeof *paths, by_name);
    return n;
}

int corpus_cases(Arena *a, char **given, int n_given, char **paths, int most)
{
    if (!n_given)
        return corpus_list(a, paths, most);
    memcpy(paths, given, (size_t)n_given * sizeof *paths);
    return n_given;
}

void corpus_sizes(const CorpusCase *c, int n, const int64_t *some, int64_t *sizes)
{
    for (int i = 0; i < n; i++)
        sizes[i] = some[i % 4] < c->min_size ? c->min_size : some[i % 4];
}

bool corpus_turn(int number, int turns)
{
    const char *all = getenv("TESSERA_ALL"), *part = getenv("TESSERA_TEST_PART");
    return (all && strcmp(all, "0") != 0) || (number + (part ? atoi(part) : 0)) % turns == 0;
}

/* Whether the text has the word outside of comments. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n) {
        const char *line = at;
        while (line > text && line[-1] != '\n' && !(line[0] == '/' && line[1] == '/'))
            line--;
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n])
            && !(line[0] == '/' && line[1] == '/'))
            return true;
    }
    return false;
}

void corpus_turns(char **paths, int n, int turns, bool *taken)
{
    static const char *const kinds[] = { "clamp",  "mirror",  "reflect", "wrap",   "constant",
                                         "valid",  "int8",    "uint8",   "int16",  "uint16",
                                         "int32",  "uint32",  "int64",   "uint64", "float",
                                         "double", "float16", "bool" };
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    Arena a;
    support_arena_init(&a);
    const char **texts = ARENA_NEW_ARRAY(&a, const char *, (size_t)n);
    int *with = ARENA_NEW_ARRAY(&a, int, (size_t)n);
    const char *part = getenv("TESSERA_TEST_PART");
    const int first = part ? atoi(part) : 0;
    size_t size;
    for (int i = 0; i < n; i++) {
        taken[i] = corpus_turn(i, turns);
        texts[i] = support_read_file(&a, paths[i], &size);
    }
    for (int k = 0; k < N_KINDS; k++) {
        bool is_taken = false;
        int n_with = 0;
        for (int i = 0; i < n; i++)
            if (has_word(texts[i], kinds[k])) {
                with[n_with++] = i;
                is_taken = is_taken || taken[i];
            }
        if (n_with && !is_taken)
            taken[with[first % n_with]] = true;
    }
    tessi_arena_dispose(&a);
}

/* ---- The header lines ------------------------------------------------------------------------ */
static void read_sizes(const char *words, CorpusCase *c)
{
    for (char *end; c->n_sizes < CORPUS_MOST_PARAMS; words = end + 1) {
        c->sizes[c->n_sizes++] = strtoll(words, &end, 10);
        if (*end != 'x')
            return;
    }
}

static void read_sets(Arena *a, char *words, CorpusCase *c)
{
    for (char *word = strtok(words, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
        char *equals = strchr(word, '=');
        if (!equals || c->n_set == CORPUS_MOST_SETS)
            continue;
        c->set[c->n_set++] = (tess_constant){ tessi_strndup(a, word, (size_t)(equals - word)),
                                              strtod(equals + 1, NULL) };
    }
}

static void read_line(Arena *a, char *line, CorpusCase *c)
{
    char name[64];
    int at = 0, number = 1;
    long long least;
    if (strncmp(line, "sizes:", 6) == 0) {
        read_sizes(line + 6, c);
    } else if (sscanf(line, "min-size: %lld", &least) == 1) {
        c->min_size = least;
    } else if (strncmp(line, "fixed-size", 10) == 0) {
        c->fixed_size = true;
    } else if (strncmp(line, "ill-conditioned", 15) == 0) {
        c->ill_conditioned = true;
    } else if (strncmp(line, "set ", 4) == 0) {
        read_sets(a, line + 4, c);
    } else if (sscanf(line, "input %63[A-Za-z0-9_] = %n", name, &at) == 1 && at) {
        c->input[c->n_inputs++] = (CorpusInput){ tessi_strdup(a, name), line + at };
    } else if (sscanf(line, "expect %d = %n", &number, &at) == 1 && at) {
        c->expect[c->n_expect++] = (CorpusExpect){ number - 1, line + at };
    } else if (sscanf(line, "expect = %n", &at) == 0 && at) {
        c->expect[c->n_expect++] = (CorpusExpect){ 0, line + at };
    } else {
        fprintf(stderr, "%s: unknown line `//! %s`\n", c->path, line);
        abort();
    }
}

void corpus_read(Arena *a, const char *path, CorpusCase *c)
{
    memset(c, 0, sizeof *c);
    c->path = path;
    c->min_size = 1;
    c->text = support_read_file(a, path, &c->n);
    for (const char *line = c->text; line && *line;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, "//! ", 4) != 0)
            continue;
        const char *end = strchr(line, '\n');
        read_line(a, tessi_strndup(a, line + 4, end ? (size_t)(end - line) - 4 : strlen(line + 4)),
                  c);
    }
}

/* ---- Images ---------------------------------------------------------------------------------- */
/* A tensor whose rows are followed by padding; everything holds the pattern. For inputs of structs of mixed types
 * the last dimension is bytes. */
static DLTensor *new_tensor(DLDataType dtype, int ndim, const int64_t *shape, int image_dims,
                            bool padded)
{
    DLTensor *t = calloc(1, sizeof *t + 2 * sizeof(int64_t[8]));
    int64_t *numbers = (int64_t *)(t + 1);
    t->device.device_type = kDLCPU;
    t->dtype = dtype;
    t->ndim = ndim;
    t->shape = numbers;
    t->strides = numbers + 8;
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->strides[d] = stride;
        stride *= shape[d];
        if (d == image_dims - 1 && image_dims > 1 && padded)
            stride += ROW_PADDING * (ndim > image_dims ? shape[ndim - 1] : 1);
    }
    size_t bytes = (size_t)stride * dtype.bits / 8;
    t->data = malloc(bytes + 64);
    memset(t->data, PATTERN, bytes + 64);
    t->byte_offset = 0;
    return t;
}

/* Rows are of pixels also where these are short lines of an image that has at least so many dimensions. */
static int dims_of_rows(const tess_info *info, const int64_t *shape, int least)
{
    const int n = info->ndim;
    return n - (!info->is_struct && n >= least && shape[n - 1] <= MOST_FIELDS);
}

static void free_tensor(DLTensor *t)
{
    if (t)
        free(t->data);
    free(t);
}

static int64_t count(const DLTensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    return n;
}

static char *element(const DLTensor *t, int64_t i)
{
    int64_t offset = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        offset += i % t->shape[d] * t->strides[d];
        i /= t->shape[d];
    }
    return (char *)t->data + offset * (t->dtype.bits / 8);
}

static uint64_t next_random(uint64_t *state)
{
    *state = tessi_hash_u64(*state, 0x1234567);
    return *state;
}

/* Random elements that are interesting for filters: reals mostly in 0..255 with some fraction, integers over their
 * range. */
static Value random_value(ScalarType t, uint64_t *state)
{
    uint64_t r = next_random(state);
    if (tessi_is_real(t))
        return tessi_eval_cast(
            t, TYPE_F64,
            tessi_value_real((double)(r % 65536) / 256.0 - ((r >> 40) % 8 == 0 ? 128.0 : 0.0)));
    if ((r >> 50) % 4 == 0) /* often small, so that products do not always wrap */
        return tessi_eval_cast(t, TYPE_I64, tessi_value_int((int64_t)(r % 16)));
    return tessi_eval_cast(t, TYPE_I64, tessi_value_int((int64_t)(r >> 8)));
}

/* Types of the elements as they follow each other: one for plain images, the fields in turn for structs. */
static void fill(const tess_info *info, const DLTensor *t, const char *values, uint64_t seed)
{
    bool ramp = values && strncmp(values, "ramp", 4) == 0;
    int n_fields = info->n_channels;
    bool bytes = info->is_struct && t->shape[t->ndim - 1] != n_fields;
    int64_t n_pixels = count(t) / (info->is_struct ? t->shape[t->ndim - 1] : 1);
    uint64_t state = seed;
    int64_t k = 0;
    for (int64_t i = 0; i < n_pixels; i++) {
        int64_t offset = 0;
        for (int c = 0; c < n_fields; c++, k++) {
            ScalarType type;
            tessi_scalar_type(info->channel_types[c], &type);
            Value v;
            if (values && !ramp) {
                char *end;
                double x = strtod(values, &end);
                if (end == values) {
                    fprintf(stderr, "too few values for input %s\n", info->name);
                    abort();
                }
                values = end;
                v = tessi_eval_cast(type, TYPE_F64, tessi_value_real(x));
            } else if (ramp) {
                v = tessi_eval_cast(type, TYPE_I64, tessi_value_int(k));
            } else {
                v = random_value(type, &state);
            }
            int64_t at = info->is_struct ? i * t->shape[t->ndim - 1] + (bytes ? offset : c) : i;
            tessi_store_element(type, element(t, at), v);
            offset += info->channel_types[c].bits / 8;
        }
    }
}

/* ---- Programs kept for other runs ------------------------------------------------------------ */
void corpus_keep(CorpusCase *c, CorpusKept *kept)
{
    *kept = (CorpusKept){ 0 };
    support_arena_init(&kept->arena);
    c->kept = kept;
}

void corpus_forget(CorpusKept *kept)
{
    VEC_FOREACH (const CorpusProgram, k, &kept->programs)
        tess_program_free(k->program);
    tessi_arena_dispose(&kept->arena);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static tess_program *find_kept(const CorpusCase *c, const CorpusSetting *s)
{
    if (c->kept)
        VEC_FOREACH (const CorpusProgram, k, &c->kept->programs)
            if (k->target == s->target && k->fp == s->fp && same_text(k->plan, s->plan)
                && same_text(k->machine, s->machine))
                return k->program;
    return NULL;
}

/* Keeps the program, unless a size parameter is among the constants of its compilation. */
static bool keep(const CorpusCase *c, const CorpusSetting *s, const CorpusNames *names,
                 int n_params, tess_program *p)
{
    if (!c->kept)
        return false;
    VEC_FOREACH (const ProgramConstant, constant, &p->constants)
        for (int i = 0; i < n_params; i++)
            if (strcmp(constant->name, names->at[i]) == 0)
                return false;
    Arena *a = &c->kept->arena;
    const CorpusProgram kept = { s->target, s->fp, s->plan ? tessi_strdup(a, s->plan) : NULL,
                                 s->machine ? tessi_strdup(a, s->machine) : NULL, p };
    VEC_PUSH(a, &c->kept->programs, kept);
    return true;
}

/* ---- Running --------------------------------------------------------------------------------- */
static tess_status compile(const CorpusCase *c, const CorpusSetting *s,
                           const tess_constant *constants, size_t n, tess_program **p, Text *why)
{
    tess_options options;
    tess_options_init(&options);
    options.library = TESSERA_SOURCE_DIR "/lib";
    options.target = s->target;
    options.fp = s->fp;
    options.plan = s->plan;
    options.machine = s->machine;
    options.cache = s->cache;
    options.constants = constants;
    options.n_constants = n;
    tess_diags *d;
    const char *name = strrchr(c->path, '/'); /* generated code names it, wherever the corpus is */
    tess_status status = tess_compile(c->text, c->n, name ? name + 1 : c->path, &options, p, &d);
    if (status != TESS_OK)
        tessi_text_addf(why, "%s: %s\n%s", c->path, tess_status_text(status),
                        tess_diags_text(d, 0));
    tess_diags_free(d);
    return status;
}

/* Names of the size parameters in the order declared, found without compiling, since they may be needed to compile. */
int corpus_param_names(const CorpusCase *c, CorpusNames *names)
{
    Arena a;
    support_arena_init(&a);
    SourceMap sources;
    Diags d;
    tessi_sources_init(&sources, &a);
    tessi_diags_init(&d, &a, &sources);
    uint16_t file = tessi_sources_add(&sources, c->path, c->text, c->n);
    bool forma = strstr(c->path, ".idsl") != NULL;
    const Ast *ast = tessi_parse(&a, &d, &sources, file, forma, NULL, NULL);
    int n = 0;
    for (uint32_t i = 0; i < ast->decls.n && n < CORPUS_MOST_PARAMS; i++)
        if (ast->decls.at[i]->kind == AST_DECL_PARAMETER)
            snprintf(names->at[n++], 32, "%s", ast->decls.at[i]->name.text);
    tessi_arena_dispose(&a);
    return n;
}

int corpus_params(const CorpusCase *c)
{
    CorpusNames names;
    return corpus_param_names(c, &names);
}

static bool is_set(const CorpusCase *c, const char *name)
{
    for (int i = 0; i < c->n_set; i++)
        if (strcmp(c->set[i].name, name) == 0)
            return true;
    return false;
}

static const char *values_of(const CorpusCase *c, const char *name)
{
    for (int i = 0; i < c->n_inputs; i++)
        if (strcmp(c->input[i].name, name) == 0)
            return c->input[i].values;
    return "ramp";
}

/* Shape of input `image` of the compiled graph for the parameters in `constants`. */
static bool shape_of(const Graph *g, const Image *image, const tess_constant *constants, size_t n,
                     int64_t *shape)
{
    int64_t params[CORPUS_MOST_PARAMS * 2] = { 0 };
    for (uint32_t k = 0; k < g->params.n; k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(g->params.at[k].name, constants[i].name) == 0)
                params[k] = (int64_t)constants[i].value;
    for (int d = 0; d < image->n_dims; d++)
        if (!tessi_size_eval(g, image->size[d], params, &shape[d]))
            return false;
    return true;
}

static const Image *image_named(const Graph *g, const char *name)
{
    VEC_FOREACH (const Image, image, &g->inputs)
        if (strcmp(image->name, name) == 0)
            return image;
    return NULL;
}

static DLDataType tensor_type(const tess_info *info, int64_t *pixel)
{
    bool mixed = false;
    int bytes = 0;
    for (int c = 0; c < info->n_channels; c++) {
        mixed =
            mixed
            || memcmp(&info->channel_types[c], &info->channel_types[0], sizeof info->dtype) != 0;
        bytes += info->channel_types[c].bits / 8;
    }
    *pixel = mixed ? bytes : info->n_channels;
    return mixed ? (DLDataType){ kDLUInt, 8, 1 } : info->channel_types[0];
}

static bool bind(const CorpusCase *c, const CorpusSetting *s, CorpusRun *run,
                 const tess_constant *constants, size_t n, Text *why)
{
    const Graph *g = run->program->variants->meaning;
    if (tess_program_inputs(run->program) > CORPUS_MOST_IMAGES
        || tess_program_outputs(run->program) > CORPUS_MOST_IMAGES)
        return tessi_text_addf(why, "more than %d inputs or results", CORPUS_MOST_IMAGES), false;
    for (size_t i = 0; i < tess_program_inputs(run->program); i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(run->program, i, &info);
        tess_status status = TESS_OK;
        if (info.kind == TESS_IMAGE || info.kind == TESS_MASK) {
            const Image *image = image_named(g, info.name);
            int64_t shape[8], pixel;
            if (!shape_of(g, image, constants, n, shape))
                return tessi_text_add(why, "sizes overflow"), false;
            DLDataType dtype = tensor_type(&info, &pixel);
            shape[info.ndim] = pixel;
            for (int d = 0; d < info.ndim; d++)
                if (shape[d] < 1)
                    return tessi_text_addf(why, "input %s would be empty", info.name), false;
            DLTensor *t = new_tensor(dtype, info.ndim + (info.is_struct ? 1 : 0), shape,
                                     dims_of_rows(&info, shape, FIELDS_OF_INPUTS_FROM), s->padded);
            run->in[run->n_in++] = t;
            fill(&info, t, s->expected_inputs ? values_of(c, info.name) : NULL,
                 tessi_hash_u64(s->seed, (uint64_t)run->n_in));
            status = tess_args_image(run->args, info.name, t);
        } else if (info.kind == TESS_SCALAR && !info.has_default && !is_set(c, info.name)) {
            status =
                tess_args_scalar(run->args, info.name, info.has_range && info.lo > 1 ? info.lo : 1);
        }
        if (status != TESS_OK)
            return tessi_text_add(why, tess_args_error(run->args)), false;
    }
    for (size_t i = 0; i < n; i++)
        if (tess_args_scalar(run->args, constants[i].name, constants[i].value) != TESS_OK)
            return tessi_text_add(why, tess_args_error(run->args)), false;
    return true;
}

/* Padded memory for the results. */
static bool bind_results(const CorpusSetting *s, CorpusRun *run, const tess_constant *constants,
                         size_t n, Text *why)
{
    const Graph *g = run->program->variants->meaning;
    for (size_t o = 0; o < tess_program_outputs(run->program); o++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_output(run->program, o, &info);
        int64_t shape[8], pixel;
        if (!shape_of(g, &g->outputs.at[o], constants, n, shape))
            return tessi_text_add(why, "sizes overflow"), false;
        DLDataType dtype = tensor_type(&info, &pixel);
        shape[info.ndim] = pixel;
        for (int d = 0; d < info.ndim; d++)
            if (shape[d] < 1)
                return tessi_text_addf(why, "result %s would be empty", info.name), false;
        run->out[run->n_out] =
            new_tensor(dtype, info.ndim + (info.is_struct ? 1 : 0), shape,
                       dims_of_rows(&info, shape, FIELDS_OF_RESULTS_FROM), s->padded);
        if (tess_args_output(run->args, o, run->out[run->n_out++]) != TESS_OK)
            return tessi_text_add(why, tess_args_error(run->args)), false;
    }
    return true;
}

bool corpus_prepare(const CorpusCase *c, const CorpusSetting *s, CorpusRun *run, Text *why)
{
    memset(run, 0, sizeof *run);
    CorpusNames names;
    int n_params = corpus_param_names(c, &names);
    tess_constant constants[CORPUS_MOST_PARAMS + CORPUS_MOST_SETS];
    size_t n = 0;
    for (int i = 0; i < n_params; i++)
        if (!is_set(c, names.at[i]))
            constants[n++] = (tess_constant){ names.at[i], (double)s->sizes[i] };
    for (int i = 0; i < c->n_set; i++)
        constants[n++] = c->set[i];
    run->program = find_kept(c, s);
    run->is_kept = run->program != NULL;
    if (!run->program && compile(c, s, constants, n, &run->program, why) != TESS_OK)
        return false;
    run->is_kept = run->is_kept || keep(c, s, &names, n_params, run->program);
    if (tess_args_new(run->program, &run->args) != TESS_OK)
        return tessi_text_add(why, "out of memory"), false;
    return bind(c, s, run, constants, n, why) && bind_results(s, run, constants, n, why);
}

bool corpus_execute(const CorpusRun *run, Text *why)
{
    if (tess_run(run->program, run->args, NULL) != TESS_OK)
        return tessi_text_add(why, tess_args_error(run->args)), false;
    return true;
}

bool corpus_run(const CorpusCase *c, const CorpusSetting *s, CorpusRun *run, Text *why)
{
    return corpus_prepare(c, s, run, why) && corpus_execute(run, why);
}

void corpus_close(CorpusRun *run)
{
    tess_args_free(run->args);
    if (!run->is_kept)
        tess_program_free(run->program);
    for (int i = 0; i < CORPUS_MOST_IMAGES; i++) {
        free_tensor(run->in[i]);
        free_tensor(run->out[i]);
    }
    memset(run, 0, sizeof *run);
}

/* ---- Comparing ------------------------------------------------------------------------------- */
static bool padding_intact(const DLTensor *t, Text *why)
{
    int64_t total = t->shape[0] * t->strides[0] * (t->dtype.bits / 8);
    unsigned char *touched = calloc((size_t)total + 1, 1);
    for (int64_t i = 0, n = count(t); i < n; i++)
        memset(touched + (element(t, i) - (char *)t->data), 1, t->dtype.bits / 8u);
    bool ok = true;
    for (int64_t i = 0; i < total && ok; i++) {
        if (!touched[i] && ((unsigned char *)t->data)[i] != PATTERN) {
            tessi_text_addf(why, "byte %lld of the padding was written", (long long)i);
            ok = false;
        }
    }
    free(touched);
    return ok;
}

bool corpus_type(const DLTensor *t, ScalarType *type)
{
    return tessi_scalar_type(t->dtype, type);
}

bool corpus_same(const CorpusRun *a, const CorpusRun *b, Text *why)
{
    for (int o = 0; o < a->n_out; o++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_output(a->program, (size_t)o, &info);
        const DLTensor *x = a->out[o], *y = b->out[o];
        ScalarType type;
        tessi_scalar_type(x->dtype, &type);
        for (int64_t i = 0, n = count(x); i < n; i++) {
            Value v = tessi_load_element(type, element(x, i)),
                  w = tessi_load_element(type, element(y, i));
            if (!tessi_value_same(type, v, w)) {
                bool real = tessi_is_real(type);
                tessi_text_addf(why, "result %s, element %lld of %lld: %.17g and %.17g", info.name,
                                (long long)i, (long long)n, real ? v.f : (double)v.i,
                                real ? w.f : (double)w.i);
                return false;
            }
        }
        if (!padding_intact(x, why) || !padding_intact(y, why))
            return false;
    }
    return true;
}

/* The next expected word; NULL at the end. */
static const char *next_expected(const CorpusCase *c, int output, int *line, const char **at,
                                 char word[64])
{
    while (*line < c->n_expect) {
        int length = 0;
        if (c->expect[*line].output == output
            && sscanf(*at ? *at : c->expect[*line].values, "%63s%n", word, &length) == 1) {
            *at = (*at ? *at : c->expect[*line].values) + length;
            return word;
        }
        ++*line;
        *at = NULL;
    }
    return NULL;
}

static bool expected_output(const CorpusCase *c, const CorpusRun *run, int output, Text *why)
{
    tess_info info = { .struct_size = sizeof info };
    tess_program_output(run->program, (size_t)output, &info);
    const DLTensor *t = run->out[output];
    int line = 0;
    const char *at = NULL;
    char word[64];
    if (!next_expected(c, output, &line, &at, word))
        return true; /* nothing is expected of this result */
    bool mixed = info.is_struct && t->shape[t->ndim - 1] != info.n_channels;
    int64_t n = mixed ? count(t) / t->shape[t->ndim - 1] * info.n_channels : count(t), offset = 0;
    for (int64_t i = 0; i < n; i++) {
        int channel = (int)(i % info.n_channels);
        DLDataType dtype = info.channel_types[info.is_struct ? channel : 0];
        ScalarType type;
        tessi_scalar_type(dtype, &type);
        const char *p = element(t, mixed ? offset : i);
        offset += dtype.bits / 8;
        Value v = tessi_load_element(type, p);
        if (strcmp(word, "?") != 0) {
            double want = strtod(word, NULL), have = tessi_is_real(type) ? v.f : (double)v.i;
            double near = type == TYPE_F16 ? 1e-3 : 1e-5;
            bool same = tessi_is_real(type)
                            ? have == want || (isnan(have) && isnan(want))
                                  || fabs(have - want) <= near * fmax(fabs(want), fabs(have))
                            : have == want;
            if (!same) {
                tessi_text_addf(why, "result %s, element %lld: %.9g, but %s is expected", info.name,
                                (long long)i, have, word);
                return false;
            }
        }
        if (!next_expected(c, output, &line, &at, word) && i + 1 < n) {
            tessi_text_addf(why, "result %s has %lld elements, more than expected", info.name,
                            (long long)n);
            return false;
        }
        if (i + 1 == n && line < c->n_expect && c->expect[line].output == output) {
            tessi_text_addf(why, "result %s has only %lld elements", info.name, (long long)n);
            return false;
        }
    }
    return true;
}

bool corpus_expected(const CorpusCase *c, const CorpusRun *run, Text *why)
{
    for (int o = 0; o < run->n_out; o++)
        if (!expected_output(c, run, o, why))
            return false;
    return true;
}

/* ---- Plans ----------------------------------------------------------------------------------- */
/* The next line of a plan that decides something; NULL: there is none. */
static const char *next_decision(const char *line)
{
    while (*line) {
        if (strncmp(line + strspn(line, " "), "why ", 4) != 0)
            return line;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

static bool same_plan(const char *a, const char *b)
{
    for (;;) {
        a = next_decision(a);
        b = next_decision(b);
        if (!a || !b)
            return a == b;
        const size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || strncmp(a, b, n) != 0)
            return false;
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
}

bool corpus_has_plan(const char *const *plans, int n, const char *plan)
{
    for (int i = 0; i < n; i++)
        if (same_plan(plans[i], plan))
            return true;
    return false;
}

Machine *corpus_large_gpu(Machine *m)
{
    m->target = "gpu";
    m->cores = 132;
    m->vector_bytes = 512;
    m->line_bytes = 128;
    m->shared_bytes = 233472;
    m->ghz = 1.87;
    m->memory_gbs = 4170;
    m->simple_per_cycle = m->mul_per_cycle = m->fma_per_cycle = 1;
    m->load_per_cycle = 0.25;
    return m;
}
