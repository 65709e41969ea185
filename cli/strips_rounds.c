/* Strips of programs with a loop whose turns are run a few at a time: each round is a run in strips of its own, and
 * what it leaves for the next one waits in files beside the result. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/strips_run.h"

/* What is carried from round to round: a file, or a number. */
typedef struct Left {
    char *file; /* NULL: it is a number */
    double number;
} Left;

typedef struct Rounds {
    const Strips *whole;
    long id;        /* of the files, the same for all of a team */
    int generation; /* of the files */
    Left *left;
    size_t n_left;
    bool ends;
    int n_kept; /* rounds that left images in the memory of a team */
} Rounds;

/* ---- Choosing -------------------------------------------------------------------------------- */
/* How many turns there are; 0: they cannot be run apart. */
static int64_t count_turns(const Strips *s)
{
    tess_rounds *one = NULL;
    int64_t turns = 0;
    const tess_status status = tess_rounds_new(s->program, s->args, 1, &one);
    for (size_t i = 0; status == TESS_OK && i < tess_rounds_count(one); i++) {
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(one, i, &round);
        turns = round.times > turns ? round.times : turns;
    }
    tess_rounds_free(one);
    return turns;
}

bool cli_rounds_find(Strips *s, int64_t height, int64_t around)
{
    enum { USUAL = 8, MOST = 32, TIMES = 8 };
    const int64_t all = count_turns(s);
    int64_t most = USUAL;
    if (all && around) /* so many that little of a strip is computed twice */
        most = height * all / (TIMES * around);
    most = most < 1 ? 1 : most < MOST ? most : MOST;
    if (all && tess_rounds_new(s->program, s->args, most, &s->rounds) == TESS_OK)
        return true;
    tess_rounds_free(s->rounds);
    s->rounds = NULL;
    return false;
}

void cli_rounds_explain(const Strips *s)
{
    for (size_t i = 0; i < tess_rounds_count(s->rounds); i++) {
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(s->rounds, i, &round);
        printf("round %zu: %s%lld time%s in strips, its images in files in between\n", i + 1,
               round.ends ? "at most " : "", (long long)round.times, round.times == 1 ? "" : "s");
    }
}

/* ---- The line of a round --------------------------------------------------------------------- */
static char *word_of(const char *name, const char *value)
{
    const size_t n = strlen(name) + strlen(value) + 2;
    char *word = malloc(n);
    if (word)
        snprintf(word, n, "%s=%s", name, value);
    return word;
}

static const char *given_word(const Strips *whole, const size_t *input, const char *name)
{
    for (size_t i = 0; i < whole->line->n_words; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(whole->program, input[i], &info);
        if (strcmp(info.name, name) == 0)
            return cli_word_value(whole->line->words[i]);
    }
    return NULL;
}

/* NAME=VALUE for all that the round takes. */
static bool make_words(const Rounds *r, const tess_program *p, const char **words, size_t *n)
{
    const Strips *whole = r->whole;
    size_t *input = calloc(whole->line->n_words + 1, sizeof *input);
    bool ok = input && cli_place_words(whole->line, whole->program, input);
    *n = 0;
    for (size_t i = 0; ok && i < tess_program_inputs(p); i++) {
        tess_info info = { .struct_size = sizeof info };
        char number[40];
        unsigned k;
        tess_program_input(p, i, &info);
        const bool carried = sscanf(info.name, "carried_%u", &k) == 1 && k < r->n_left;
        const char *value = carried ? r->left[k].file : given_word(whole, input, info.name);
        if (carried && !value) {
            snprintf(number, sizeof number, "%.17g", r->left[k].number);
            value = number;
        }
        if (!value)
            continue; /* a size, or a number with a default */
        words[*n] = word_of(info.name, value);
        ok = words[*n] != NULL;
        *n += ok;
    }
    free(input);
    return ok;
}

static char *file_of(const Rounds *r, size_t k)
{
    const CommandLine *line = r->whole->line;
    const char *beside = line->n_outputs ? line->outputs[0] : "tessera";
    const size_t n = strlen(beside) + 80;
    char *file = malloc(n);
    if (file)
        snprintf(file, n, "%s.turns-%ld-%zu-%d.npy", beside, r->id, k, r->generation % 2);
    return file;
}

/* ---- A round --------------------------------------------------------------------------------- */
/* The first of a team throws files away. */
static void forget(const Rounds *r, Left *left)
{
    Team *team = r->whole->line->team;
    if (left->file && cli_team_image(team, left->file))
        cli_team_image_forget(team, left->file);
    else if (left->file && (!team || team->rank == 0))
        unlink(left->file);
    free(left->file);
    *left = (Left){ 0 };
}

/* What it has left takes the place of what the one before has. */
static bool take(Rounds *r, Left *next, size_t n)
{
    for (size_t k = 0; k < r->n_left; k++)
        forget(r, &r->left[k]);
    free(r->left);
    r->left = next;
    r->n_left = n;
    return true;
}

/* Numbers come with all parts, and one that has none has none of them. */
static bool share_numbers(const Rounds *r, double *numbers, size_t n)
{
    const Team *team = r->whole->line->team;
    char *all = NULL;
    size_t bytes;
    if (!team)
        return true;
    if (!team->gather(numbers, n * sizeof *numbers, &all, &bytes))
        return cli_fail("out of memory"), false;
    memcpy(numbers, all, n * sizeof *numbers); /* those of the first */
    free(all);
    return true;
}

/* all: whether what the round leaves stays in the memory of a team, beside what it takes and its strips. */
static bool can_keep(const Strips *s)
{
    const CommandLine *line = s->line;
    double bytes = 0;
    char *all = NULL;
    size_t n;
    for (size_t i = 0; i < tess_program_outputs(s->program); i++) {
        int64_t shape[TESS_MAX_SHAPE];
        int ndim;
        tess_info info = { .struct_size = sizeof info };
        if (tess_program_output(s->program, i, &info) != TESS_OK || info.is_number
            || tess_result_shape(s->program, s->args, i, &ndim, shape) != TESS_OK)
            continue;
        double image = info.dtype.bits / 8.0;
        for (int d = 0; d < ndim; d++)
            image *= (double)shape[d];
        bytes += image / line->team->size;
    }
    double strips = 0;
    for (size_t i = 0; i < s->n_passes; i++)
        strips = s->pass[i].bytes > strips ? s->pass[i].bytes : strips;
    char fits = strips + bytes <= s->limit;
    if (!line->team->gather(&fits, 1, &all, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        fits = fits && all[i];
    free(all);
    return fits;
}

static bool run_line(CommandLine *line, tess_program *p, const Strips *whole, double *numbers)
{
    Strips strips;
    const Team *team = line->team;
    line->keeps = team && numbers;
    if (team) { /* what the round takes is there already */
        line->memory -= cli_team_image_bytes(team);
        line->memory = line->memory > 1 ? line->memory : 1;
    }
    StripsNeed need = cli_strips_plan(line, p, true, &strips);
    if (need == STRIPS_WANTED && line->keeps && !can_keep(&strips)) {
        line->keeps = false;
        cli_strips_free(&strips);
        need = cli_strips_plan(line, p, true, &strips);
    }
    strips.origin = numbers ? NULL : whole;
    strips.numbers = numbers;
    bool ok = need == STRIPS_WANTED;
    if (ok)
        ok = cli_strips_run(&strips);
    else if (need == STRIPS_NOT)
        cli_fail("its turns are not computed in strips%s%s", strips.why[0] ? ": " : "", strips.why);
    cli_strips_free(&strips);
    return ok;
}

/* The last one writes the results, the others what the next one takes. */
static bool run_once(Rounds *r, const tess_round *round, bool is_last)
{
    tess_program *p = round->program;
    const size_t n = tess_program_outputs(p), n_left = n - (round->ends != 0);
    CommandLine line = *r->whole->line;
    const char **words = calloc(tess_program_inputs(p) + 1, sizeof *words);
    const char **outputs = calloc(n + 1, sizeof *outputs);
    double *numbers = calloc(n + 1, sizeof *numbers);
    Left *next = calloc(n + 1, sizeof *next);
    int *depths = calloc(n + 1, sizeof *depths);
    size_t n_words = 0, n_outputs = 0;
    bool ok = words && outputs && numbers && next && depths;
    ok = ok && make_words(r, p, words, &n_words);
    r->generation++;
    for (size_t i = 0; ok && !is_last && i < n_left; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_output(p, i, &info);
        if (!info.is_number && (ok = (next[i].file = file_of(r, i)) != NULL))
            outputs[n_outputs++] = next[i].file;
    }
    line.words = words;
    line.n_words = n_words;
    line.memory = r->whole->limit;
    line.verbose = line.time = false;
    if (!is_last) {
        line.outputs = outputs;
        line.n_outputs = n_outputs;
        line.depths = depths;
        line.no_metadata = true;
        line.tile = 0;
        line.pyramid = line.scale = line.strict = false;
        line.depth = 0;
        line.compress = TESS_COMPRESS_NONE;
    }
    if (!ok)
        cli_fail("out of memory");
    ok = ok && run_line(&line, p, r->whole, is_last ? NULL : numbers)
         && (is_last || share_numbers(r, numbers, n));
    for (size_t i = 0; i < n_left; i++)
        next[i].number = numbers[i];
    r->n_kept += line.keeps;
    r->ends = ok && round->ends && numbers[n_left] != 0;
    if (ok && !is_last)
        take(r, next, n_left);
    for (size_t i = 0; next && !(ok && !is_last) && i < n_left; i++)
        forget(r, &next[i]);
    if (!(ok && !is_last))
        free(next);
    for (size_t i = 0; words && i < n_words; i++)
        free((char *)(uintptr_t)words[i]);
    free(words);
    free(outputs);
    free(numbers);
    free(depths);
    return ok;
}

/* ---- All of them ----------------------------------------------------------------------------- */
static bool agree_on_id(Rounds *r)
{
    const Team *team = r->whole->line->team;
    const long own = (long)getpid();
    char *all = NULL;
    size_t n;
    r->id = own;
    if (!team)
        return true;
    if (!team->gather(&own, sizeof own, &all, &n))
        return cli_fail("out of memory"), false;
    memcpy(&r->id, all, sizeof r->id);
    free(all);
    return true;
}

bool cli_rounds_run(Strips *s)
{
    Rounds r = { .whole = s };
    const size_t n = tess_rounds_count(s->rounds);
    if (s->line->resume)
        return cli_fail("--resume does not go on with turns that are run a few at a time"), false;
    cli_hold(NULL, 1);
    bool ok = agree_on_id(&r), ended = false;
    int64_t done = 0;
    for (size_t i = 0; ok && i < n; i++) {
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(s->rounds, i, &round);
        const bool is_last = i + 1 == n;
        for (int64_t k = 0; ok && k < round.times && (!ended || is_last); k++, done++) {
            ok = run_once(&r, &round, is_last);
            ended = ended || r.ends;
        }
    }
    take(&r, NULL, 0);
    cli_hold(NULL, -1);
    if (ok && s->line->verbose)
        cli_tell("in %lld rounds of turns%s", (long long)done,
                 r.n_kept ? ", whose images stayed in memory" : "");
    return ok;
}
