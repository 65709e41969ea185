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
    TurnsDone done; /* whose id is the same for all of a team */
    Left *left;
    size_t n_left;
    int64_t n_run;
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
        turns += round.times * round.turns;
    }
    tess_rounds_free(one);
    return turns;
}

bool cli_rounds_find(Strips *s, int64_t height, int64_t around)
{
    const int64_t all = count_turns(s);
    const int64_t most = tess_rounds_most(height, all ? (double)around / (double)all : 0);
    if (all && tess_rounds_new(s->program, s->args, most, &s->rounds) == TESS_OK)
        return true;
    tess_rounds_free(s->rounds);
    s->rounds = NULL;
    return false;
}

/* Bytes of the images that a round leaves; 0 where that is not known. */
static double carried_bytes(const Strips *s)
{
    tess_round round = { .struct_size = sizeof round };
    tess_args *a = NULL;
    double bytes = 0;
    if (tess_rounds_round(s->rounds, 0, &round) != TESS_OK
        || tess_args_new(round.program, &a) != TESS_OK)
        return 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->input[i].path) /* one that the round does not take is refused */
            (void)tess_args_shape(a, s->input[i].info.name, &s->input[i].shape);
    for (size_t i = 0; i < tess_program_outputs(round.program); i++)
        bytes += cli_result_bytes(round.program, a, i);
    tess_args_free(a);
    return bytes;
}

void cli_rounds_explain(const Strips *s)
{
    char bytes[32];
    cli_size_text(2 * carried_bytes(s), bytes); /* what a round takes and what it leaves */
    for (size_t i = 0; i < tess_rounds_count(s->rounds); i++) {
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(s->rounds, i, &round);
        printf("round %zu: %s%lld time%s in strips, its images in files in between\n", i + 1,
               round.ends ? "at most " : "", (long long)round.times, round.times == 1 ? "" : "s");
    }
    printf("files between rounds: at most %s\n", bytes);
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

char *cli_turns_file(const Strips *s, long id, size_t k, int generation)
{
    const CommandLine *line = s->line;
    const char *beside = line->n_outputs ? line->outputs[0] : "tessera";
    const size_t n = strlen(beside) + 80;
    char *file = malloc(n);
    if (file)
        snprintf(file, n, "%s.turns-%ld-%zu-%d.npy", beside, id, k, generation % 2);
    return file;
}

void cli_turns_remove(const Strips *s, long id, size_t k)
{
    static const char *const endings[] = { "", ".part", ".resume", ".resume.new" };
    for (int generation = 0; generation < 2; generation++) {
        char *file = cli_turns_file(s, id, k, generation);
        for (size_t i = 0; file && i < sizeof endings / sizeof *endings; i++) {
            char *name = cli_with_suffix(file, endings[i]);
            if (name)
                unlink(name);
            free(name);
        }
        free(file);
    }
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
    for (size_t i = 0; i < tess_program_outputs(s->program); i++)
        bytes += cli_result_bytes(s->program, s->args, i) / line->team->size;
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

/* For --resume: what the round has left, before what it has taken goes. */
static bool note(Rounds *r, const Left *left, size_t n)
{
    TurnsDone *done = &r->done;
    if (!r->whole->line->resume)
        return true;
    free(done->left);
    done->left = calloc(n + 1, sizeof *done->left);
    done->n_left = n;
    for (size_t k = 0; done->left && k < n; k++) {
        done->left[k].bytes = left[k].file != NULL;
        done->left[k].number = left[k].number;
    }
    return done->left ? cli_turns_write(r->whole, done) : (cli_fail("out of memory"), false);
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
    r->done.generation++;
    for (size_t i = 0; ok && !is_last && i < n_left; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_output(p, i, &info);
        if (!info.is_number
            && (ok = (next[i].file = cli_turns_file(r->whole, r->done.id, i, r->done.generation))
                     != NULL))
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
    for (size_t i = 0; ok && i < n_left; i++)
        next[i].number = numbers[i];
    r->n_kept += line.keeps;
    r->done.ends = r->done.ends || (ok && round->ends && numbers[n_left] != 0);
    ok = ok && (is_last || note(r, next, n_left));
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
    r->done.id = own;
    if (!team)
        return true;
    if (!team->gather(&own, sizeof own, &all, &n))
        return cli_fail("out of memory"), false;
    memcpy(&r->done.id, all, sizeof r->done.id);
    free(all);
    return true;
}

/* The results can be gone on with, so that this is not found out by the last round. */
static bool can_resume(const Strips *s)
{
    for (size_t i = 0; i < tess_program_outputs(s->program); i++) {
        char error[600] = "";
        const size_t output = cli_output_of(s->line, s->program, i);
        int64_t shape[TESS_MAX_SHAPE];
        DLTensor whole = { .shape = shape };
        tess_info info = { .struct_size = sizeof info };
        tess_image_store store;
        if (output == SIZE_MAX || tess_program_output(s->program, i, &info) != TESS_OK
            || tess_result_shape(s->program, s->args, i, &whole.ndim, shape) != TESS_OK)
            continue;
        whole.dtype = info.dtype;
        cli_init_store(s->line, output, &store);
        store.resumes = 1;
        if (tess_writer_can_share(s->line->outputs[output], &whole, &store, error, sizeof error)
            != TESS_OK)
            return cli_fail_about(s->line->outputs[output], error, ""), false;
    }
    return s->line->n_outputs > 0
           || (cli_fail("--resume goes on with files, and none is written"), false);
}

/* Nothing is finished; the files of the first round are those that the run before had begun, if it is noted. */
static bool begin_anew(Rounds *r, TurnsDone *before)
{
    const Strips *s = r->whole;
    TurnsDone *done = &r->done;
    if (before->id) {
        done->id = before->id;
        cli_turns_forget(before);
        return true;
    }
    for (size_t i = 0; i < tess_rounds_count(s->rounds); i++) {
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(s->rounds, i, &round);
        const size_t n = tess_program_outputs(round.program);
        done->n_left = n > done->n_left ? n : done->n_left;
    }
    done->left = calloc(done->n_left + 1, sizeof *done->left);
    return done->left ? cli_turns_write(s, done) : (cli_fail("out of memory"), false);
}

/* What a run before has finished. */
static bool go_on(Rounds *r)
{
    TurnsDone done;
    if (!can_resume(r->whole) || !cli_turns_read(r->whole, &done))
        return false;
    if (done.times == 0)
        return begin_anew(r, &done);
    r->left = calloc(done.n_left + 1, sizeof *r->left);
    for (size_t k = 0; r->left && k < done.n_left; k++, r->n_left++) {
        r->left[k].number = done.left[k].number;
        if (done.left[k].bytes)
            r->left[k].file = cli_turns_file(r->whole, done.id, k, done.generation);
    }
    r->done = done;
    if (!r->whole->line->quiet)
        cli_tell("goes on behind round %zu of turns, run %lld time%s", done.round + 1,
                 (long long)done.times, done.times == 1 ? "" : "s");
    return r->left != NULL;
}

static bool run_rounds(Rounds *r)
{
    const size_t n = tess_rounds_count(r->whole->rounds);
    bool ok = true;
    const size_t before = r->done.times ? r->done.round : 0;
    for (size_t i = before; ok && i < n; i++) {
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(r->whole->rounds, i, &round);
        const bool is_last = i + 1 == n;
        int64_t k = i == before ? r->done.times : 0;
        for (; ok && k < round.times && (!r->done.ends || is_last); k++, r->n_run++) {
            r->done.round = i;
            r->done.times = k + 1;
            ok = run_once(r, &round, is_last);
        }
    }
    return ok;
}

bool cli_rounds_run(Strips *s)
{
    Rounds r = { .whole = s };
    const bool resumes = s->line->resume;
    cli_hold(NULL, 1);
    const bool ok = agree_on_id(&r) && (!resumes || go_on(&r)) && run_rounds(&r);
    for (size_t k = 0; ok && resumes && k < r.done.n_left; k++)
        cli_turns_remove(s, r.done.id, k);
    if (ok && resumes)
        cli_turns_end(s);
    if (ok || !resumes)
        take(&r, NULL, 0);
    cli_turns_forget(&r.done);
    cli_hold(NULL, -1);
    if (ok && s->line->verbose)
        cli_tell("in %lld rounds of turns%s", (long long)r.n_run,
                 r.n_kept ? ", whose images stayed in memory" : "");
    return ok;
}
