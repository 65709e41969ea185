/* Moving pictures: heads, frames, samples. */
#include "rt/video.h"
#include "rt/env.h"
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SHOWN = 160, LONGEST_LINE = 400, LARGEST_SIDE = 65536 };

/* ---- Forms ---- */

static const struct {
    const char *name;
    int channels, bits;
    ScalarType type;
} raw_forms[] = {
    { "gray", 1, 8, TYPE_U8 },  { "gray16le", 1, 16, TYPE_U16 }, { "grayf32le", 1, 32, TYPE_F32 },
    { "rgb24", 3, 8, TYPE_U8 }, { "rgb48le", 3, 16, TYPE_U16 },  { "rgba", 4, 8, TYPE_U8 },
};
enum { N_RAW_FORMS = sizeof raw_forms / sizeof *raw_forms };

static const struct {
    const char *name;
    int channels, divide_x, divide_y;
} spaces[] = {
    /* of y4m, with what may follow: mpeg2, p10 ... */
    { "mono", 1, 1, 1 }, { "444", 3, 1, 1 }, { "422", 3, 2, 1 },
    { "420", 3, 2, 2 },  { "411", 3, 4, 1 },
};
enum { N_SPACES = sizeof spaces / sizeof *spaces };

bool tessi_video_form(const char *text, RtVideoForm *form, bool *is_y4m, Failure *f)
{
    *form = (RtVideoForm){ .divide_x = 1, .divide_y = 1 };
    *is_y4m = tessi_streq(text, "y4m");
    const char *colon = strchr(text, ':');
    char end;
    for (int i = 0; colon && i < N_RAW_FORMS; i++) {
        if (strlen(raw_forms[i].name) != (size_t)(colon - text)
            || strncmp(raw_forms[i].name, text, (size_t)(colon - text)) != 0)
            continue;
        form->channels = raw_forms[i].channels;
        form->bits = raw_forms[i].bits;
        form->type = raw_forms[i].type;
        if (sscanf(colon + 1, "%6" SCNd64 "x%6" SCNd64 "%c", &form->width, &form->height, &end) == 2
            && form->width > 0 && form->height > 0)
            return true;
    }
    return *is_y4m
           || tessi_failf(f, TESS_ERROR_ARGUMENT,
                          "'%.80s' is no form of video: it is y4m, or gray, gray16le, grayf32le, "
                          "rgb24, rgb48le "
                          "or rgba with width and height, as rgb24:640x480",
                          text);
}

static int64_t divided(int64_t n, int by)
{
    return (n + by - 1) / by;
}

/* Samples of a plane. */
static size_t plane_size(const RtVideoForm *form, int plane)
{
    const bool chroma = plane == 1 || plane == 2;
    return (size_t)(divided(form->width, chroma ? form->divide_x : 1)
                    * divided(form->height, chroma ? form->divide_y : 1));
}

static size_t frame_bytes(const RtVideoForm *form)
{
    size_t n = form->planar ? 0 : plane_size(form, 0) * (size_t)form->channels;
    for (int c = 0; form->planar && c < form->channels; c++)
        n += plane_size(form, c);
    return n * (size_t)tessi_type_info(form->type)->bytes;
}

static bool alloc_frame(RtVideo *v, Failure *f)
{
    v->bytes = frame_bytes(&v->form);
    v->frame = v->bytes <= tessi_memory_bytes() ? malloc(v->bytes) : NULL;
    return v->frame || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

/* ---- Heads of y4m ---- */

/* A line without its end; false when there is none of this length. */
static bool read_line(RtInput *in, char line[LONGEST_LINE])
{
    size_t n = 0;
    for (int c; (c = tessi_input_byte(in)) != '\n'; line[n++] = (char)c)
        if (c < 0 || n == LONGEST_LINE - 1)
            return false;
    line[n] = 0;
    return true;
}

/* "420p10", "mono16": what planes there are, and their bits. */
static bool read_space(const char *text, RtVideoForm *form, Failure *f)
{
    for (int i = 0; i < N_SPACES; i++) {
        const size_t n = strlen(spaces[i].name);
        if (strncmp(text, spaces[i].name, n) != 0 || strncmp(text + n, "alpha", 5) == 0)
            continue;
        const char *digits =
            text + n + (text[n] == 'p' && text[n + 1] >= '0' && text[n + 1] <= '9');
        const int bits = atoi(digits);
        form->channels = spaces[i].channels;
        form->divide_x = spaces[i].divide_x;
        form->divide_y = spaces[i].divide_y;
        form->bits = bits ? bits : 8;
        form->type = form->bits > 8 ? TYPE_U16 : TYPE_U8;
        if (form->bits >= 8 && form->bits <= 16)
            return true;
    }
    return tessi_failf(
        f, TESS_ERROR_UNSUPPORTED,
        "its colour space is '%.20s'; mono, 420, 411, 422 and 444 of 8 to 16 bits are read", text);
}

static bool read_head(RtInput *in, RtVideoForm *form, Failure *f)
{
    char line[LONGEST_LINE];
    *form = (RtVideoForm){ .planar = true };
    if (!read_line(in, line) || strncmp(line, "YUV4MPEG2", 9) != 0)
        return tessi_failf(f, TESS_ERROR_FILE, "it is no y4m video");
    const char *space = "420";
    for (char *save = NULL, *word = strtok_r(line + 9, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        const size_t used = strlen(form->rest);
        if (*word == 'W')
            form->width = atoll(word + 1);
        else if (*word == 'H')
            form->height = atoll(word + 1);
        else if (*word == 'C')
            space = word + 1;
        else if (strncmp(word, "XYSCSS", 6) != 0)
            snprintf(form->rest + used, sizeof form->rest - used, " %s", word);
    }
    if (form->width < 1 || form->height < 1 || form->width > LARGEST_SIDE
        || form->height > LARGEST_SIDE)
        return tessi_failf(f, TESS_ERROR_FILE, "its head gives no size that can be read");
    return read_space(space, form, f);
}

void tessi_video_space(const RtVideoForm *form, char text[16])
{
    const char *space = form->channels == 1 ? "mono" : "444";
    char bits[8] = "";
    for (int i = 1; i < N_SPACES; i++)
        if (form->channels == 3 && spaces[i].divide_x == form->divide_x
            && spaces[i].divide_y == form->divide_y)
            space = spaces[i].name;
    if (form->bits > 8)
        snprintf(bits, sizeof bits, form->channels == 1 ? "%d" : "p%d", form->bits);
    snprintf(text, 16, "%s%s", space, bits);
}

static void write_head(RtVideo *v)
{
    const RtVideoForm *form = &v->form;
    char space[16];
    tessi_video_space(form, space);
    tessi_output_addf(&v->out, "YUV4MPEG2 W%" PRId64 " H%" PRId64 "%s C%s\n", form->width,
                      form->height, form->rest, space);
}

/* Each frame is as long as the first: its line, and its samples. */
static void count_frames(RtInput *in, RtVideoFacts *facts)
{
    const uint8_t *bytes;
    const uint64_t left = in->size - in->at;
    facts->frames = -1;
    if (in->size == UINT64_MAX)
        return;
    const size_t n = tessi_input_peek(in, LONGEST_LINE, &bytes);
    const uint8_t *end = n ? memchr(bytes, '\n', n) : NULL;
    const uint64_t each = (end ? (uint64_t)(end + 1 - bytes) : n) + frame_bytes(&facts->form);
    facts->frames = (int64_t)(left / each);
    facts->cut = left % each != 0;
}

bool tessi_video_facts(RtInput *in, RtVideoFacts *facts, Failure *f)
{
    *facts = (RtVideoFacts){ .frames = -1 };
    if (!read_head(in, &facts->form, f))
        return false;
    const char *rate = strstr(facts->form.rest, " F");
    int64_t *r = facts->rate;
    if (rate
        && (sscanf(rate, " F%18" SCNd64 ":%18" SCNd64, &r[0], &r[1]) != 2 || r[0] < 1 || r[1] < 1))
        r[0] = r[1] = 0;
    count_frames(in, facts);
    return true;
}

/* ---- Reading ---- */

static bool fail_on(Failure *f, const char *what, const char *path)
{
    if (!f)
        return false;
    const Failure inner = *f;
    return tessi_failf(f, inner.status, "cannot %s '%.*s': %.300s", what, PATH_SHOWN, path,
                       inner.text);
}

bool tessi_video_open(const char *path, const RtVideoForm *form, RtVideo *v, Failure *f)
{
    const char *shown = tessi_streq(path, "-") ? "standard input" : path;
    *v = (RtVideo){ .in.fd = -1 };
    if (!tessi_input_open(path, &v->in, f))
        return false;
    if (form)
        v->form = *form;
    if ((form || read_head(&v->in, &v->form, f)) && alloc_frame(v, f))
        return true;
    tessi_video_close(v);
    return fail_on(f, "read", shown);
}

bool tessi_video_next(RtVideo *v, bool *end, Failure *f)
{
    const uint8_t *ahead;
    char line[LONGEST_LINE];
    *end = tessi_input_peek(&v->in, 1, &ahead) == 0;
    if (*end && v->in.error)
        return tessi_failf(f, TESS_ERROR_FILE, "cannot read the video: %s", strerror(v->in.error));
    if (*end)
        return true;
    if (v->form.planar && (!read_line(&v->in, line) || strncmp(line, "FRAME", 5) != 0))
        return tessi_failf(f, TESS_ERROR_FILE,
                           "frame %" PRId64 " of the video does not begin as it should", v->n + 1);
    if (tessi_input_read(&v->in, v->frame, v->bytes) < v->bytes)
        return tessi_failf(f, TESS_ERROR_FILE, "the video ends in the middle of frame %" PRId64,
                           v->n + 1);
    if (!tessi_little_endian())
        tessi_swap_bytes(v->frame, v->bytes / (size_t)tessi_type_info(v->form.type)->bytes,
                         (size_t)tessi_type_info(v->form.type)->bytes);
    v->n++;
    return true;
}

void tessi_video_close(RtVideo *v)
{
    tessi_input_close(&v->in);
    free(v->frame);
    v->frame = NULL;
}

static bool convert(const Conversion *c, const void *from, void *to, size_t n, Failure *f)
{
    if (tessi_convert_elements(c, from, to, n, NULL) == 0)
        return true;
    return tessi_failf(f, TESS_ERROR_ARGUMENT,
                       "values of the video, %s, do not fit the program's %s",
                       tessi_type_info(c->from)->name, tessi_type_info(c->to)->name);
}

bool tessi_video_get(const RtVideo *v, int channels, ScalarType to, void *data, Failure *f)
{
    const RtVideoForm *form = &v->form;
    const Conversion c = { .from = form->type, .to = to, .how = CONVERT_KEEP };
    const size_t n = plane_size(form, 0), from_bytes = (size_t)tessi_type_info(form->type)->bytes,
                 to_bytes = (size_t)tessi_type_info(to)->bytes;
    if (form->planar && channels == 1)
        return convert(&c, v->frame, data, n, f);
    if (channels != form->channels)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "the video has %d channel%s, and the program's image %d", form->channels,
                           form->channels == 1 ? "" : "s", channels);
    if (!form->planar)
        return convert(&c, v->frame, data, n * (size_t)channels, f);
    if (form->divide_x != 1 || form->divide_y != 1)
        return tessi_failf(
            f, TESS_ERROR_UNSUPPORTED,
            "the video has less chroma than luma; programs of three fields take 4:4:4 (ffmpeg "
            "-pix_fmt yuv444p), those of one field the luma");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < channels; k++)
            if (!convert(&c, v->frame + ((size_t)k * n + i) * from_bytes,
                         (char *)data + (i * (size_t)channels + (size_t)k) * to_bytes, 1, f))
                return false;
    return true;
}

/* ---- Writing ---- */

bool tessi_video_create(const char *path, const RtVideoForm *form, RtVideo *v, Failure *f)
{
    *v = (RtVideo){ .form = *form, .in.fd = -1 };
    v->path = malloc(strlen(path) + 1);
    if (!v->path || !alloc_frame(v, f)) {
        free(v->path);
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    strcpy(v->path, path);
    if (!tessi_output_open(path, false, &v->out, f)) {
        free(v->frame);
        free(v->path);
        return false;
    }
    if (form->planar)
        write_head(v);
    return true;
}

/* Samples of fewer bits than their type has. */
static int64_t limit(const RtVideoForm *form, uint8_t *samples, size_t n)
{
    int64_t beyond = 0;
    const uint16_t most = (uint16_t)((1u << form->bits) - 1);
    for (size_t i = 0; form->type == TYPE_U16 && form->bits < 16 && i < n; i++) {
        uint16_t x;
        memcpy(&x, samples + 2 * i, 2);
        beyond += x > most;
        x = x > most ? most : x;
        memcpy(samples + 2 * i, &x, 2);
    }
    return beyond;
}

bool tessi_video_put(RtVideo *v, ScalarType type, int channels, const void *data,
                     const RtVideo *from, int64_t *n_saturated, Failure *f)
{
    const RtVideoForm *form = &v->form;
    const Conversion c = { .from = type,
                           .to = form->type,
                           .how = type == TYPE_BOOL ? CONVERT_SHOW
                                  : tessi_is_real(form->type) || type == form->type
                                      ? CONVERT_KEEP
                                      : CONVERT_SATURATE };
    const size_t n = plane_size(form, 0), bytes = (size_t)tessi_type_info(form->type)->bytes,
                 in_bytes = (size_t)tessi_type_info(type)->bytes;
    if (!form->planar || channels == 1) {
        *n_saturated +=
            (int64_t)tessi_convert_elements(&c, data, v->frame, n * (size_t)channels, NULL);
        *n_saturated += limit(form, v->frame, n * (size_t)channels);
        if (form->planar && form->channels == 3)
            memcpy(v->frame + n * bytes, from->frame + n * bytes, v->bytes - n * bytes);
    } else {
        for (size_t i = 0; i < n * 3; i++)
            *n_saturated +=
                (int64_t)tessi_convert_elements(&c, (const char *)data + i * in_bytes,
                                                v->frame + (i % 3 * n + i / 3) * bytes, 1, NULL);
        *n_saturated += limit(form, v->frame, 3 * n);
    }
    if (form->planar)
        tessi_output_addf(&v->out, "FRAME\n");
    if (!tessi_little_endian())
        tessi_swap_bytes(v->frame, v->bytes / bytes, bytes);
    tessi_output_add(&v->out, v->frame, v->bytes);
    tessi_output_flush(&v->out);
    v->n++;
    return !v->out.error
           || tessi_failf(f, TESS_ERROR_FILE, "cannot write '%.*s': %s", PATH_SHOWN, v->path,
                          strerror(v->out.error));
}

bool tessi_video_end(RtVideo *v, bool ok, Failure *f)
{
    if (!v->path)
        return ok;
    ok = tessi_output_close(v->path, &v->out, ok, f);
    free(v->frame);
    free(v->path);
    *v = (RtVideo){ .in.fd = -1 };
    return ok;
}
