/* One run of a program on what is bound: with --each-channel once for each channel, with --verify also by the
 * interpreter. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MOST_CHANNELS = 4 };

static void add_timing(Job *job)
{
    tess_timing t = { .struct_size = sizeof t };
    if (tess_args_timing(job->in.args, &t) != TESS_OK)
        return;
    t.run_ms += job->timing.run_ms;
    t.copy_ms += job->timing.copy_ms;
    job->timing = t;
}

/* How loops with conditions ended. */
static void tell_loops(const Job *job)
{
    tess_loop loop = { .struct_size = sizeof loop };
    for (size_t i = 0; tess_args_loop(job->in.args, i, &loop) == TESS_OK; i++)
        cli_tell(loop.met ? "the loop of '%s' ended after turn %lld, as its condition held"
                          : "the loop of '%s' did all its turns, %lld: its condition never held",
                 loop.name, (long long)loop.turns);
}

/* One run on what is bound; with --verify also the comparison. */
static bool run_once(const CommandLine *line, Job *job)
{
    tess_status status = tess_run(job->program, job->in.args, NULL);
    if (status != TESS_OK) {
        cli_fail("%s", tess_args_error(job->in.args));
        return false;
    }
    add_timing(job);
    if (line->verbose)
        tell_loops(job);
    if (line->verify) {
        status = tess_verify(job->program, job->in.args);
        if (status != TESS_OK) {
            cli_fail("%s", tess_args_error(job->in.args));
            return false;
        }
        if (!line->quiet)
            cli_tell("verified: the interpreter gives the same pixels");
    }
    return true;
}

static bool output_info(const Job *job, size_t i, tess_info *info)
{
    info->struct_size = sizeof *info;
    return tess_program_output(job->program, i, info) == TESS_OK;
}

bool cli_result(const Job *job, size_t output, const DLTensor **t, tess_info *info)
{
    if (!output_info(job, output, info))
        return false;
    if (!job->made)
        return tess_args_result(job->in.args, output, t) == TESS_OK;
    *t = job->made[output];
    return true;
}

void cli_job_clear(Job *job)
{
    for (size_t o = 0; job->made && o < tess_program_outputs(job->program); o++)
        tess_image_free(job->made[o]);
    free(job->made);
    job->made = NULL;
}

/* ---- Channel by channel ----------------------------------------------------------------------- */

static const DLTensor *image_of(const Job *job, size_t input)
{
    const Inputs *shared = job->in.shared;
    return job->in.images[input] || !shared ? job->in.images[input] : shared->images[input];
}

/* The number of channels of the colour inputs bound for --each-channel; 0 when there is none, -1 when they differ. */
static int64_t common_channels(const Job *job)
{
    int64_t common = 0;
    for (size_t i = 0; i < job->in.n; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(job->program, i, &info);
        if (!image_of(job, i) || info.is_struct || image_of(job, i)->ndim != info.ndim + 1)
            continue;
        int64_t n = image_of(job, i)->shape[info.ndim];
        if (common && common != n)
            return -1;
        common = n;
    }
    return common;
}

static bool bind_channel(Job *job, int64_t channel, DLTensor **planes)
{
    for (size_t i = 0; i < job->in.n; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(job->program, i, &info);
        if (!image_of(job, i) || info.is_struct || image_of(job, i)->ndim != info.ndim + 1)
            continue;
        tess_image_free(planes[i]);
        planes[i] = cli_channel(image_of(job, i), channel);
        if (!planes[i])
            return cli_fail("out of memory"), false;
        if (tess_args_image(job->in.args, info.name, planes[i]) != TESS_OK)
            return cli_fail("%s", tess_args_error(job->in.args)), false;
    }
    return true;
}

/* Runs once a channel; results[o * MOST_CHANNELS + c] holds channel c of output o. */
static bool run_channels(const CommandLine *line, Job *job, int64_t channels, DLTensor **planes,
                         DLTensor **results)
{
    for (int64_t c = 0; c < channels; c++) {
        if (!bind_channel(job, c, planes) || !run_once(line, job))
            return false;
        for (size_t o = 0; o < tess_program_outputs(job->program); o++) {
            const DLTensor *t;
            tess_info info;
            if (!output_info(job, o, &info) || tess_args_result(job->in.args, o, &t) != TESS_OK)
                return false;
            if (info.is_struct)
                return cli_fail("--each-channel is for programs that return images of one channel"),
                       false;
            DLTensor **slot = &results[o * MOST_CHANNELS + (size_t)c];
            *slot = cli_copy(t);
            if (!*slot)
                return cli_fail("out of memory"), false;
        }
    }
    return true;
}

static bool interleave(Job *job, int64_t channels, DLTensor **results)
{
    job->made = calloc(tess_program_outputs(job->program) + 1, sizeof *job->made);
    bool ok = job->made != NULL;
    for (size_t o = 0; ok && o < tess_program_outputs(job->program); o++) {
        job->made[o] =
            cli_interleave((const DLTensor *const *)&results[o * MOST_CHANNELS], channels);
        ok = job->made[o] != NULL;
    }
    return ok || (cli_fail("out of memory"), false);
}

static bool run_each_channel(const CommandLine *line, Job *job)
{
    int64_t channels = common_channels(job);
    if (channels < 0 || channels > MOST_CHANNELS)
        return cli_fail("--each-channel needs inputs with the same number of channels, at most %d",
                        MOST_CHANNELS),
               false;
    if (channels == 0)
        return run_once(line, job);
    DLTensor **planes = calloc(job->in.n + 1, sizeof *planes);
    DLTensor **results =
        calloc(tess_program_outputs(job->program) * MOST_CHANNELS + 1, sizeof *results);
    bool ok = planes && results ? run_channels(line, job, channels, planes, results)
                                : (cli_fail("out of memory"), false);
    ok = ok && interleave(job, channels, results);
    for (size_t i = 0; planes && i < job->in.n; i++)
        tess_image_free(planes[i]);
    for (size_t i = 0; results && i < tess_program_outputs(job->program) * MOST_CHANNELS; i++)
        tess_image_free(results[i]);
    free(planes);
    free(results);
    return ok;
}

bool cli_run(const CommandLine *line, Job *job)
{
    memset(&job->timing, 0, sizeof job->timing);
    return line->each_channel ? run_each_channel(line, job) : run_once(line, job);
}
