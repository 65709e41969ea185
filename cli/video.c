/* tessera run on moving pictures: one program, compiled once, frame by frame through files and pipes; of a batch one
 * video after the other. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"

enum { ERROR_SIZE = 600 };

typedef struct Stream {
    tess_video *in;
    size_t input;         /* of the program, that takes the frames */
    const char *path;     /* of the video */
    tess_video **results; /* one for each output of the line */
} Stream;

static bool is_y4m(const char *path)
{
    const size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".y4m") == 0;
}

bool cli_is_video(const CommandLine *line)
{
    bool any = line->video != NULL;
    for (size_t i = 0; i < line->n_words; i++)
        any = any || is_y4m(cli_word_value(line->words[i]));
    return any;
}

/* What the inputs of a run are given: words of the line, or the files of an item. */
typedef struct Given {
    size_t *input; /* of the program */
    const char **value;
    size_t n;
} Given;

static bool given_alloc(Given *g, size_t most)
{
    *g = (Given){ calloc(most + 1, sizeof *g->input), calloc(most + 1, sizeof *g->value), 0 };
    return (g->input && g->value) || (cli_fail("out of memory"), false);
}

static void given_free(Given *g)
{
    free(g->input);
    free(g->value);
}

/* Which of them is the video: the first image where only --video says that there is one. Its value becomes NULL. */
static bool find_video(const CommandLine *line, const Session *s, Given *g, Stream *stream)
{
    for (size_t i = 0; i < g->n; i++) {
        const bool is = cli_is_image(s->program, g->input[i])
                        && (is_y4m(g->value[i]) || (line->video && !stream->path));
        if (is && stream->path)
            return cli_fail("%s: a run takes one video", g->value[i]), false;
        if (!is)
            continue;
        *stream = (Stream){ .input = g->input[i], .path = g->value[i] };
        g->value[i] = NULL;
    }
    return stream->path || (cli_fail("--video: no image is given as a video"), false);
}

/* Opens the video and binds every other input; a program for any type is made for its frames. */
static bool open_and_bind(const CommandLine *line, Session *s, const Given *g, Stream *stream)
{
    char error[ERROR_SIZE] = "";
    int64_t shape[3];
    DLTensor frame = { .shape = shape };
    if (tess_video_open(stream->path, line->video, &stream->in, error, sizeof error) != TESS_OK)
        return cli_fail_about(stream->path, error, ""), false;
    tess_video_look(stream->in, &frame.dtype, shape);
    frame.ndim = shape[2] > 1 ? 3 : 2;
    return cli_bind_beside(line, &s->program, &s->in, g->input, g->value, g->n, stream->input,
                           &frame)
           && cli_check_page(line, &s->in);
}

/* Results of videos are videos, in the form of theirs. */
static bool check_outputs(const CommandLine *line)
{
    const bool raw = line->video && strcmp(line->video, "y4m") != 0;
    for (size_t i = 0; i < line->n_outputs; i++)
        if (strcmp(line->outputs[i], "-") != 0 && is_y4m(line->outputs[i]) == raw)
            return cli_fail(raw ? "%s: results of frames without a head are such frames; name it "
                                  ".raw, or -o -"
                                : "%s: results of a video are videos: NAME.y4m, or -o -",
                            line->outputs[i]),
                   false;
    return !line->each_channel || (cli_fail("--each-channel is not for videos"), false);
}

static bool write_frame(const CommandLine *line, const Job *job, size_t number, size_t output,
                        const DLTensor *t, const tess_info *info, void *user)
{
    const Stream *stream = user;
    char error[ERROR_SIZE] = "";
    (void)job;
    (void)number;
    return tess_video_write(&stream->results[output], line->outputs[output], stream->in, t, info,
                            error, sizeof error)
               == TESS_OK
           || (cli_fail_about(line->outputs[output], error, ""), false);
}

static bool run_frames(const CommandLine *line, Session *s, Stream *stream)
{
    char error[ERROR_SIZE] = "";
    tess_info info = { .struct_size = sizeof info };
    tess_program_input(s->program, stream->input, &info);
    Job job = { .program = s->program, .in = s->in, .outputs = line->outputs };
    for (int64_t n = 0;; n++) {
        const DLTensor *frame;
        if (tess_video_read(stream->in, &info, &frame, error, sizeof error) != TESS_OK)
            return cli_fail_about(stream->path, error, ""), false;
        if (!frame)
            return n > 0 || (cli_fail("%s: the video has no frames", stream->path), false);
        if (tess_args_image(s->in.args, info.name, frame) != TESS_OK)
            return cli_fail_about(stream->path, tess_args_error(s->in.args), ""), false;
        const bool ok = cli_run(line, &job) && cli_each_result(line, &job, write_frame, stream);
        cli_job_clear(&job);
        if (!ok || cli_is_ending())
            return false;
    }
}

static bool end_results(const CommandLine *line, Stream *stream, bool ok)
{
    for (size_t i = 0; i < line->n_outputs; i++) {
        char error[ERROR_SIZE] = "";
        int64_t n = 0;
        if (tess_video_end(stream->results[i], ok, &n, error, sizeof error) != TESS_OK)
            ok = (cli_fail_about(line->outputs[i], error, ""), false);
        else if (ok && n && !line->quiet)
            cli_tell("%s: %lld values did not fit the format and were saturated",
                     strcmp(line->outputs[i], "-") == 0 ? "standard output" : line->outputs[i],
                     (long long)n);
    }
    free(stream->results);
    return ok;
}

/* Frame by frame, its inputs bound. */
static int run_bound(const CommandLine *line, Session *s, Stream *stream)
{
    const int status = cli_check_counts(line, s->program);
    if (status != EXIT_OK)
        return status;
    stream->results = calloc(line->n_outputs + 1, sizeof(tess_video *));
    if (!stream->results)
        return cli_fail("out of memory");
    cli_hold(
        NULL,
        1); /* so that no part of a file is left when a signal ends us: it is asked for between frames */
    const bool ok = end_results(line, stream, run_frames(line, s, stream));
    cli_hold(NULL, -1);
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}

static int run_given(const CommandLine *line, Session *s, Given *g)
{
    Stream stream = { .in = NULL };
    const bool ok = find_video(line, s, g, &stream) && open_and_bind(line, s, g, &stream);
    const int status = ok ? run_bound(line, s, &stream) : EXIT_DIAGNOSED;
    tess_video_close(stream.in);
    return status;
}

int cli_run_video(const CommandLine *line, Session *s)
{
    Given g;
    int status = EXIT_DIAGNOSED;
    bool ok = given_alloc(&g, line->n_words) && cli_place_words(line, s->program, g.input);
    for (; ok && g.n < line->n_words; g.n++)
        g.value[g.n] = cli_word_value(line->words[g.n]);
    if (ok)
        status = check_outputs(line) ? run_given(line, s, &g) : EXIT_USAGE;
    given_free(&g);
    return status;
}

/* ---- Batches ---------------------------------------------------------------------------------- */

/* A program for any type has an instance for each kind of frames, which it keeps. */
static bool run_item(const CommandLine *line, tess_program *p, const Batch *b, const Item *item)
{
    const size_t n = tess_program_inputs(p);
    Given g;
    Session s = { .program = p };
    CommandLine own = *line;
    own.outputs = (const char **)item->outputs;
    bool ok = given_alloc(&g, n + b->n_inputs);
    for (size_t i = 0; ok && i < n; i++)
        if (b->shared[i]) {
            g.input[g.n] = i;
            g.value[g.n++] = b->shared[i];
        }
    for (size_t k = 0; ok && k < b->n_inputs; k++) {
        g.input[g.n] = b->input[k];
        g.value[g.n++] = item->files[k];
    }
    ok = ok && run_given(&own, &s, &g) == EXIT_OK;
    cli_inputs_free(&s.in);
    given_free(&g);
    return ok;
}

int cli_run_videos(const CommandLine *line, tess_program *p, Batch *b)
{
    size_t failed = 0;
    if (!check_outputs(line))
        return EXIT_USAGE;
    for (size_t i = 0; i < b->n && !cli_is_ending(); i++) {
        Item *item = &b->items[i];
        cli_batch_bar(b, i, failed);
        cli_collect(&item->said, item->files[0]);
        item->failed = !run_item(line, p, b, item);
        cli_collect(NULL, NULL);
        cli_say_collected(&item->said);
        failed += item->failed;
    }
    cli_progress(NULL, NULL);
    if (failed)
        cli_say_failed(line, b, failed);
    return failed ? EXIT_DIAGNOSED : EXIT_OK;
}
