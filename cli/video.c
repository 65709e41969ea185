/* tessera run on moving pictures: one program, compiled once, frame by frame through files and pipes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

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

/* Which word is the video: the first image where only --video says that there is one. Its value becomes NULL. */
static bool find_video(const CommandLine *line, const Session *s, const size_t *input,
                       const char **value, Stream *stream)
{
    for (size_t i = 0; i < line->n_words; i++) {
        value[i] = cli_word_value(line->words[i]);
        const bool is = cli_is_image(s->program, input[i])
                        && (is_y4m(value[i]) || (line->video && !stream->path));
        if (is && stream->path)
            return cli_fail("%s: a run takes one video", value[i]), false;
        if (!is)
            continue;
        *stream = (Stream){ .input = input[i], .path = value[i] };
        value[i] = NULL;
    }
    return stream->path || (cli_fail("--video: no image is given as a video"), false);
}

/* Opens the video and binds every other word; a program for any type is made for its frames. */
static bool open_and_bind(const CommandLine *line, Session *s, const size_t *input,
                          const char *const *value, Stream *stream)
{
    char error[ERROR_SIZE] = "";
    int64_t shape[3];
    DLTensor frame = { .shape = shape };
    if (tess_video_open(stream->path, line->video, &stream->in, error, sizeof error) != TESS_OK)
        return cli_fail_about(stream->path, error, ""), false;
    tess_video_look(stream->in, &frame.dtype, shape);
    frame.ndim = shape[2] > 1 ? 3 : 2;
    return cli_bind_beside(line, &s->program, &s->in, input, value, line->n_words, stream->input,
                           &frame);
}

static bool bind(const CommandLine *line, Session *s, Stream *stream)
{
    size_t *input = calloc(line->n_words + 1, sizeof *input);
    const char **value = calloc(line->n_words + 1, sizeof *value);
    const bool ok = input && value ? cli_place_words(line, s->program, input)
                                         && find_video(line, s, input, value, stream)
                                         && open_and_bind(line, s, input, value, stream)
                                   : (cli_fail("out of memory"), false);
    free(input);
    free(value);
    return ok;
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

/* Frame by frame, its words bound. */
static int run_bound(const CommandLine *line, Session *s, Stream *stream)
{
    const int status = cli_check_counts(line, s->program);
    if (status != EXIT_OK)
        return status;
    if (!check_outputs(line))
        return EXIT_USAGE;
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

int cli_run_video(const CommandLine *line, Session *s)
{
    Stream stream = { .in = NULL };
    const int status = bind(line, s, &stream) ? run_bound(line, s, &stream) : EXIT_DIAGNOSED;
    tess_video_close(stream.in);
    return status;
}
