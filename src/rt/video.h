/* Moving pictures frame by frame, through files and pipes: y4m (YUV4MPEG2), and frames without any head whose form is
 * told. Values are those of the file; nothing is rescaled, and no colours are converted. */
#ifndef TESSERA_RT_VIDEO_H
#define TESSERA_RT_VIDEO_H

#include "base/scalar.h"
#include "rt/input.h"
#include "rt/output.h"

typedef struct RtVideoForm {
    int64_t width, height;
    int channels;           /* 1, or 3 or 4 */
    bool planar;            /* y4m: one plane after the other */
    int divide_x, divide_y; /* of the second and third plane: 1 or 2, 4 */
    int bits;               /* of an integer sample */
    ScalarType type;        /* of a sample: uint8, uint16, float */
    char rest[160];         /* of y4m: rate, aspect and so on, each behind a blank */
} RtVideoForm;

typedef struct RtVideo {
    RtVideoForm form;
    RtInput in;
    RtOutput out;
    char *path; /* of an output */
    uint8_t *frame;
    size_t bytes;
    int64_t n; /* frames so far */
} RtVideo;

/* What a y4m video says of itself. */
typedef struct RtVideoFacts {
    RtVideoForm form;
    int64_t rate[2]; /* frames a second, a fraction; {0, 0}: not said */
    int64_t frames;  /* whole ones; -1: not known, as of a pipe */
    bool cut;        /* behind them is a part of one */
} RtVideoFacts;

/* "y4m", or a name as ffmpeg has it with the size: "rgb24:640x480". False with a sentence. */
bool tessi_video_form(const char *text, RtVideoForm *form, bool *is_y4m, Failure *f);
/* Reads the head; frames are counted by the size of the file, none is read. The space of y4m: "420p10". */
bool tessi_video_facts(RtInput *in, RtVideoFacts *facts, Failure *f);
void tessi_video_space(const RtVideoForm *form, char text[16]);
/* Opens a file or "-"; `form` NULL: y4m, which tells its own. */
bool tessi_video_open(const char *path, const RtVideoForm *form, RtVideo *v, Failure *f);
/* Reads the next frame into v->frame; *end: there is none. */
bool tessi_video_next(RtVideo *v, bool *end, Failure *f);
/* The frame as elements of type `to`, `channels` of them a pixel. */
bool tessi_video_get(const RtVideo *v, int channels, ScalarType to, void *data, Failure *f);
void tessi_video_close(RtVideo *v); /* of an input */

/* A file that appears complete or not at all, or a pipe. */
bool tessi_video_create(const char *path, const RtVideoForm *form, RtVideo *v, Failure *f);
/* Adds a frame of compact elements, rounded and saturated to its samples; planes that the result does not have are
 * those of `from`. *n_saturated grows. */
bool tessi_video_put(RtVideo *v, ScalarType type, int channels, const void *data,
                     const RtVideo *from, int64_t *n_saturated, Failure *f);
bool tessi_video_end(RtVideo *v, bool ok, Failure *f); /* `ok`: all frames are there */

#endif
