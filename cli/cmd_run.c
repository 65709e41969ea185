/* tessera run: bind, run, write. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MOST_CHANNELS = 4 };

static void print_timing(const tess_timing *t)
{
    fprintf(stderr, "front %.2f ms, compile %.2f ms%s, run %.3f ms (%s)", t->front_ms,
            t->compile_ms, t->compile_cached ? " (cached)" : "", t->run_ms, t->target);
    if (t->copy_ms > 0)
        fprintf(stderr, ", copies to and from the device %.3f ms", t->copy_ms);
    if (t->strips)
        fprintf(stderr, ", in %d strips", t->strips);
    fputc('\n', stderr);
}

/* One run on what is bound; with --verify also the comparison. */
static bool run_once(const CommandLine *line, Session *s)
{
    Progress *progress = cli_progress_begin(line, "running");
    tess_status status = tess_run(s->program, s->args, NULL);
    cli_progress_end(progress);
    if (status != TESS_OK) {
        cli_fail("%s", tess_args_error(s->args));
        return false;
    }
    if (line->verify) {
        progress = cli_progress_begin(line, "interpreting");
        status = tess_verify(s->program, s->args);
        cli_progress_end(progress);
        if (status != TESS_OK) {
            cli_fail("%s", tess_args_error(s->args));
            return false;
        }
        if (!line->quiet)
            fputs("verified: the interpreter gives the same pixels\n", stderr);
    }
    tess_timing t = { .struct_size = sizeof t };
    if (tess_args_timing(s->args, &t) != TESS_OK)
        return true;
    if (line->time)
        print_timing(&t);
    return true;
}

static void init_store(const CommandLine *line, size_t output, tess_image_store *store)
{
    tess_image_store_init(store);
    store->depth = line->depths[output];
    store->scale = line->scale;
    store->strict = line->strict;
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

static void say_what_became(const CommandLine *line, const char *path, const char *doubt,
                            const tess_image_store *store)
{
    char remedy[600];
    const char *shown = strcmp(path, "-") == 0 ? "standard output" : path;
    remedy_for(path, store, remedy, sizeof remedy);
    if (line->quiet)
        return;
    if (store->scale && store->converted && store->lo <= store->hi)
        fprintf(stderr, "%s: the values %.6g..%.6g were scaled to 0..%d\n", shown, store->lo,
                store->hi, store->stored.bits == 8 ? 255 : 65535);
    if (store->doubt != TESS_DOUBT_NONE)
        cli_warn("%s: %s%s", shown, doubt, remedy);
    else if (store->n_saturated)
        fprintf(stderr, "%s: %lld values did not fit the format and were saturated\n", shown,
                (long long)store->n_saturated);
}

static bool write_image(const CommandLine *line, size_t output, const DLTensor *t,
                        const tess_info *result)
{
    char sentence[600] = "", remedy[600];
    const char *path = line->outputs[output];
    tess_image_store store;
    init_store(line, output, &store);
    store.result = result;
    cli_hold(NULL, 1); /* so that no part of a file is left when a signal ends us */
    const tess_status status = tess_image_save(path, t, &store, sentence, sizeof sentence);
    cli_hold(NULL, -1);
    if (status != TESS_OK) {
        remedy_for(path, &store, remedy, sizeof remedy);
        cli_fail_about(path, sentence, remedy);
        return false;
    }
    say_what_became(line, path, sentence, &store);
    return true;
}

static bool output_info(const Session *s, size_t i, tess_info *info)
{
    info->struct_size = sizeof *info;
    return tess_program_output(s->program, i, info) == TESS_OK;
}

static bool write_results(const CommandLine *line, Session *s)
{
    for (size_t i = 0; i < line->n_outputs; i++) {
        tess_info info;
        const DLTensor *t;
        if (!output_info(s, i, &info) || tess_args_result(s->args, i, &t) != TESS_OK
            || !write_image(line, i, t, &info))
            return false;
    }
    return true;
}

/* The number of channels of the colour inputs bound for --each-channel; 0 when there is none, -1 when they differ. */
static int64_t common_channels(const Session *s)
{
    int64_t common = 0;
    for (size_t i = 0; i < s->n_images; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        if (!s->images[i] || info.is_struct || s->images[i]->ndim != info.ndim + 1)
            continue;
        int64_t n = s->images[i]->shape[info.ndim];
        if (common && common != n)
            return -1;
        common = n;
    }
    return common;
}

static bool bind_channel(Session *s, int64_t channel, DLTensor **planes)
{
    for (size_t i = 0; i < s->n_images; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(s->program, i, &info);
        if (!s->images[i] || info.is_struct || s->images[i]->ndim != info.ndim + 1)
            continue;
        tess_image_free(planes[i]);
        planes[i] = cli_channel(s->images[i], channel);
        if (!planes[i])
            return cli_fail("out of memory"), false;
        if (tess_args_image(s->args, info.name, planes[i]) != TESS_OK)
            return cli_fail("%s", tess_args_error(s->args)), false;
    }
    return true;
}

static DLTensor *copy_of(const DLTensor *t)
{
    DLTensor *copy = tess_image_new(t->dtype, t->ndim, t->shape);
    size_t bytes = t->dtype.bits / 8u;
    for (int d = 0; d < t->ndim; d++)
        bytes *= (size_t)t->shape[d];
    if (copy)
        memcpy(copy->data, t->data, bytes);
    return copy;
}

/* Runs once a channel and interleaves the results. results[o * MOST_CHANNELS + c] holds channel c of output o. */
static bool run_channels(const CommandLine *line, Session *s, int64_t channels, DLTensor **planes,
                         DLTensor **results)
{
    for (int64_t c = 0; c < channels; c++) {
        if (!bind_channel(s, c, planes) || !run_once(line, s))
            return false;
        for (size_t o = 0; o < line->n_outputs; o++) {
            const DLTensor *t;
            tess_info info;
            if (!output_info(s, o, &info) || tess_args_result(s->args, o, &t) != TESS_OK)
                return false;
            if (info.is_struct)
                return cli_fail("--each-channel is for programs that return images of one channel"),
                       false;
            DLTensor **slot = &results[o * MOST_CHANNELS + (size_t)c];
            *slot = copy_of(t);
            if (!*slot)
                return cli_fail("out of memory"), false;
        }
    }
    for (size_t o = 0; o < line->n_outputs; o++) {
        DLTensor *all =
            cli_interleave((const DLTensor *const *)&results[o * MOST_CHANNELS], channels);
        tess_info info;
        bool ok = all && output_info(s, o, &info) ? write_image(line, o, all, &info)
                                                  : (cli_fail("out of memory"), false);
        tess_image_free(all);
        if (!ok)
            return false;
    }
    return true;
}

static bool run_each_channel(const CommandLine *line, Session *s)
{
    int64_t channels = common_channels(s);
    if (channels < 0 || channels > MOST_CHANNELS)
        return cli_fail("--each-channel needs inputs with the same number of channels, at most %d",
                        MOST_CHANNELS),
               false;
    if (channels == 0)
        return run_once(line, s) && write_results(line, s);
    DLTensor **planes = calloc(s->n_images + 1, sizeof *planes);
    DLTensor **results = calloc(line->n_outputs * MOST_CHANNELS + 1, sizeof *results);
    bool ok = planes && results ? run_channels(line, s, channels, planes, results)
                                : (cli_fail("out of memory"), false);
    for (size_t i = 0; planes && i < s->n_images; i++)
        tess_image_free(planes[i]);
    for (size_t i = 0; results && i < line->n_outputs * MOST_CHANNELS; i++)
        tess_image_free(results[i]);
    free(planes);
    free(results);
    return ok;
}

/* As many outputs as there are results, and no file twice. */
static int count_outputs(const CommandLine *line, const Session *s)
{
    const size_t n = tess_program_outputs(s->program);
    if (line->n_outputs != n)
        return cli_fail("the program returns %zu image%s, but %zu -o %s given", n,
                        n == 1 ? "" : "s", line->n_outputs, line->n_outputs == 1 ? "was" : "were"),
               EXIT_USAGE;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(line->outputs[i], line->outputs[k]) == 0)
                return cli_fail("%s is given for two results", line->outputs[i]), EXIT_USAGE;
    return EXIT_OK;
}

/* What else can be known to be wrong before a long run: their formats. */
static bool check_formats(const CommandLine *line)
{
    for (size_t i = 0; i < line->n_outputs; i++) {
        char error[600] = "";
        tess_image_store store;
        init_store(line, i, &store);
        if (tess_image_can_store(line->outputs[i], &store, error, sizeof error) != TESS_OK)
            return cli_fail_about(line->outputs[i], error, ""), false;
    }
    return true;
}

int cmd_run(const CommandLine *line)
{
    if (line->n_outputs == 0) {
        cli_fail("say where the result goes: -o FILE");
        return EXIT_USAGE;
    }
    if (!cli_can_write(line))
        return EXIT_DIAGNOSED;
    Session s;
    bool ok = cli_open(line, &s, true);
    const int count = ok ? count_outputs(line, &s) : EXIT_OK;
    ok = ok && count == EXIT_OK && check_formats(line);
    if (ok && line->each_channel)
        ok = run_each_channel(line, &s);
    else if (ok)
        ok = run_once(line, &s) && write_results(line, &s);
    cli_close(&s);
    return count != EXIT_OK ? count : ok ? EXIT_OK : EXIT_DIAGNOSED;
}
