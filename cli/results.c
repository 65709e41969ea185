/* Results to files: what is written, and what is said where a file does not hold what is in a result. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

void cli_init_store(const CommandLine *line, size_t output, tess_image_store *store)
{
    tess_image_store_init(store);
    store->depth = line->depths[output];
    store->scale = line->scale;
    store->strict = line->strict;
    store->tile = line->tile;
    store->compress = line->compress;
    store->pyramid = line->pyramid;
}

/* What can be done where a picture does not hold what is in a result. */
static void remedy_for(const char *path, const tess_image_store *store, char *text, size_t size)
{
    tess_image_store deeper = *store;
    deeper.depth = 16;
    const bool saturated = store->doubt == TESS_DOUBT_SATURATED;
    text[0] = '\0';
    if (store->doubt == TESS_DOUBT_NONE || store->lo > store->hi || store->scale)
        return;
    if (saturated && store->stored.bits == 8 && store->lo > -0.5 && store->hi < 65535.5
        && tess_image_can_store(path, &deeper, NULL, 0) == TESS_OK)
        snprintf(text, size,
                 "; -o %s:16 stores 16 bits, and --scale makes their range that of the file", path);
    else
        snprintf(text, size, "; --scale makes their range that of the file");
}

void cli_say_stored(const CommandLine *line, const char *path, const char *doubt,
                    const tess_image_store *store)
{
    char remedy[600];
    const char *shown = strcmp(path, "-") == 0 ? "standard output" : path;
    remedy_for(path, store, remedy, sizeof remedy);
    if (line->quiet)
        return;
    if (store->scale && store->converted && store->lo <= store->hi)
        cli_tell("%s: the values %.6g..%.6g were scaled to 0..%d", shown, store->lo, store->hi,
                 store->stored.bits == 8 ? 255 : 65535);
    if (store->doubt != TESS_DOUBT_NONE)
        cli_warn("%s: %s%s", shown, doubt, remedy);
    else if (store->n_saturated)
        cli_tell("%s: %lld values did not fit the format and were saturated", shown,
                 (long long)store->n_saturated);
    if (store->left_out[0])
        cli_tell("%s: %s", shown, store->left_out);
}

/* A terminal gets text, of what a person can look at. */
static bool suits_terminal(const DLTensor *t)
{
    enum { MOST_VALUES = 4096 };
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    if (n <= MOST_VALUES)
        return true;
    cli_fail("standard output is a terminal, and the result has %lld values; -o FILE writes them",
             (long long)n);
    return false;
}

static bool write_image(const CommandLine *line, const Job *job, size_t number, size_t output,
                        const DLTensor *t, const tess_info *result, void *user)
{
    (void)user;
    char sentence[600] = "", remedy[600], provenance[200];
    const char *path = job->outputs[output];
    tess_image_store store;
    tess_geometry geometry;
    cli_init_store(line, output, &store);
    store.result = result;
    cli_add_metadata(line, job, number, &store, &geometry, provenance);
    cli_add_result_nodata(line, result, &store);
    store.text = strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
    if (store.text && !suits_terminal(t))
        return false;
    cli_progress("writing", path);
    cli_hold(NULL, 1); /* so that no part of a file is left when a signal ends us */
    const tess_status status = tess_image_save(path, t, &store, sentence, sizeof sentence);
    cli_hold(NULL, -1);
    if (status != TESS_OK) {
        remedy_for(path, &store, remedy, sizeof remedy);
        cli_fail_about(path, sentence, remedy);
        return false;
    }
    cli_say_stored(line, path, sentence, &store);
    if (!line->quiet && cli_nothing_valid(result, t))
        cli_warn("%s: no point is valid: all hold the no-data value %g", path, result->nodata);
    return true;
}

bool cli_each_result(const CommandLine *line, const Job *job, WriteResult *write, void *user)
{
    char *numbers = NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < tess_program_outputs(job->program); i++) {
        tess_info info;
        const DLTensor *t;
        const size_t output = cli_output_of(line, job->program, i);
        ok = cli_result(job, i, &t, &info);
        if (ok && output == SIZE_MAX)
            cli_add_number(line, &info, t, &numbers);
        else if (ok)
            ok = write(line, job, i, output, t, &info, user);
    }
    if (ok && numbers)
        cli_print_numbers(line, numbers);
    free(numbers);
    return ok;
}

bool cli_write_results(const CommandLine *line, const Job *job, double *ms)
{
    const double start = cli_clock_ms();
    const bool ok = cli_each_result(line, job, write_image, NULL);
    *ms = cli_clock_ms() - start;
    return ok;
}

void cli_print_times(const tess_timing *t, double read_ms, double write_ms)
{
    char device[100] = "", strips[40] = "";
    if (t->copy_ms > 0)
        snprintf(device, sizeof device, ", copies to and from the device %.3f ms", t->copy_ms);
    if (t->strips)
        snprintf(strips, sizeof strips, ", in %d strips", t->strips);
    cli_tell("front %.2f ms, plan %.2f ms, compile %.2f ms%s, read %.2f ms, run %.3f ms (%s)%s%s, "
             "write %.2f ms",
             t->front_ms - t->plan_ms, t->plan_ms, t->compile_ms,
             t->compile_cached ? " (cached)" : "", read_ms, t->run_ms, t->target, device, strips,
             write_ms);
}

/* ---- Before ----------------------------------------------------------------------------------- */

/* As many outputs as there are results, or as there are images among them: then the numbers are printed. */
static int count_outputs(const CommandLine *line, const tess_program *p)
{
    const size_t n = tess_program_outputs(p), images = n - cli_n_numbers(p);
    if (line->n_outputs == 0 && images)
        return cli_fail("say where the result goes: -o FILE"), EXIT_USAGE;
    if (line->n_outputs != n && line->n_outputs != images)
        return cli_fail("the program returns %zu image%s, but %zu -o %s given", n,
                        n == 1 ? "" : "s", line->n_outputs, line->n_outputs == 1 ? "was" : "were"),
               EXIT_USAGE;
    return EXIT_OK;
}

/* No file twice, and standard output for one kind of thing. */
static int check_places(const CommandLine *line, const tess_program *p)
{
    size_t printed = 0, to_standard = 0;
    for (size_t i = 0; i < tess_program_outputs(p); i++) {
        const size_t output = cli_output_of(line, p, i);
        printed += output == SIZE_MAX;
        to_standard += output != SIZE_MAX && strcmp(line->outputs[output], "-") == 0;
        for (size_t k = 0; output != SIZE_MAX && k < output; k++)
            if (strcmp(line->outputs[output], line->outputs[k]) == 0)
                return cli_fail("%s is given for two results", line->outputs[output]), EXIT_USAGE;
    }
    if (printed && to_standard)
        return cli_fail("standard output takes the image or the numbers, not both; name a file for "
                        "one of them"),
               EXIT_USAGE;
    if (line->json && !printed)
        return cli_fail("--json is for results that are numbers and printed, and there is none"),
               EXIT_USAGE;
    return EXIT_OK;
}

static bool check_formats(const CommandLine *line)
{
    for (size_t i = 0; i < line->n_outputs; i++) {
        char error[600] = "";
        tess_image_store store;
        cli_init_store(line, i, &store);
        if (tess_image_can_store(line->outputs[i], &store, error, sizeof error) != TESS_OK)
            return cli_fail_about(line->outputs[i], error, ""), false;
    }
    return true;
}

int cli_check_counts(const CommandLine *line, const tess_program *p)
{
    const int status = count_outputs(line, p);
    return status == EXIT_OK ? check_places(line, p) : status;
}

int cli_check_outputs(const CommandLine *line, const tess_program *p)
{
    const int status = cli_check_counts(line, p);
    return status != EXIT_OK ? status : check_formats(line) ? EXIT_OK : EXIT_DIAGNOSED;
}
