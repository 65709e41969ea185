/* Public moving pictures: rt's frames as tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/rounding.h"
#include "rt/image.h"
#include "rt/video.h"

struct tess_video {
    RtVideo video;
    DLTensor *frame; /* of a video that is read */
    int64_t n_saturated;
};

static tess_status say(const Failure *f, char *error, size_t error_size)
{
    if (error && error_size)
        snprintf(error, error_size, "%s", f->text);
    return (tess_status)f->status;
}

static tess_status no_memory(char *error, size_t error_size)
{
    Failure f;
    tessi_failf(&f, TESS_ERROR_MEMORY, "out of memory");
    return say(&f, error, error_size);
}

tess_status tess_video_open(const char *path, const char *form, tess_video **video, char *error,
                            size_t error_size)
{
    RtVideoForm told;
    bool is_y4m = true;
    Failure f = { 0 };
    if (!path || !video)
        return TESS_ERROR_ARGUMENT;
    *video = NULL;
    if (form && !tessi_video_form(form, &told, &is_y4m, &f))
        return say(&f, error, error_size);
    tess_video *v = calloc(1, sizeof *v);
    if (!v)
        return no_memory(error, error_size);
    if (!tessi_video_open(path, is_y4m ? NULL : &told, &v->video, &f)) {
        free(v);
        return say(&f, error, error_size);
    }
    *video = v;
    return TESS_OK;
}

void tess_video_close(tess_video *v)
{
    if (!v)
        return;
    tessi_video_close(&v->video);
    tess_image_free(v->frame);
    free(v);
}

void tess_video_look(const tess_video *v, DLDataType *type, int64_t shape[3])
{
    const RtVideoForm *form = &v->video.form;
    const bool fewer = form->divide_x > 1 || form->divide_y > 1;
    *type = tessi_dl_type(form->type);
    shape[0] = form->height;
    shape[1] = form->width;
    shape[2] = form->planar && fewer ? 1 : form->channels;
}

static bool read_frame(tess_video *v, const tess_info *want, bool *end, Failure *f)
{
    const int channels = want->is_struct ? want->n_channels : 1;
    const int64_t shape[3] = { v->video.form.height, v->video.form.width, channels };
    ScalarType type;
    if (want->ndim != 2 || !tessi_scalar_type(want->dtype, &type))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "frames have 2 dimensions, and '%s' has %d",
                           want->name, want->ndim);
    for (int c = 0; want->is_struct && want->channel_types && c < channels; c++)
        if (memcmp(&want->channel_types[c], &want->dtype, sizeof want->dtype) != 0)
            return tessi_failf(f, TESS_ERROR_ARGUMENT,
                               "frames have fields of one type, and '%s' has several", want->name);
    if (!v->frame)
        v->frame = tess_image_new(want->dtype, want->is_struct ? 3 : 2, shape);
    if (!v->frame)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return tessi_video_next(&v->video, end, f)
           && (*end || tessi_video_get(&v->video, channels, type, v->frame->data, f));
}

tess_status tess_video_read(tess_video *v, const tess_info *want, const DLTensor **frame,
                            char *error, size_t error_size)
{
    Failure f = { 0 };
    bool end = false;
    if (!v || !want || !frame)
        return TESS_ERROR_ARGUMENT;
    *frame = NULL;
    const Rounding before = tessi_round_to_nearest();
    const bool ok = read_frame(v, want, &end, &f);
    tessi_round_as(before);
    if (!ok)
        return say(&f, error, error_size);
    *frame = end ? NULL : v->frame;
    return TESS_OK;
}

/* The form of results: that of the frames, with the channels that they have. */
static bool form_of(const RtVideoForm *from, const DLTensor *t, const tess_info *info,
                    RtVideoForm *form, Failure *f)
{
    const int channels = info->is_struct ? info->n_channels : 1;
    *form = *from;
    if (info->ndim != 2 || t->device.device_type != kDLCPU)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "frames of a video have 2 dimensions, and '%s' has %d", info->name,
                           info->ndim);
    form->height = t->shape[0];
    form->width = t->shape[1];
    const bool same = form->height == from->height && form->width == from->width;
    if (from->planar && channels == 1 && !same) /* no chroma fits */
        form->channels = 1;
    else if (!from->planar || channels != 1)
        form->channels = channels;
    if (channels != 1 || form->channels == 1)
        form->divide_x = form->divide_y = 1;
    return (form->channels == 1 || form->channels == 3 || (!from->planar && form->channels == 4))
           || tessi_failf(f, TESS_ERROR_ARGUMENT, "a video does not hold frames of %d channels",
                          channels);
}

static bool write_frame(tess_video **video, const char *path, const tess_video *from,
                        const DLTensor *t, const tess_info *info, Failure *f)
{
    ScalarType type;
    const int channels = info->is_struct ? info->n_channels : 1;
    if (!tessi_scalar_type(t->dtype, &type) || t->ndim != (info->is_struct ? 3 : 2))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "a video does not hold frames of this type");
    if (!*video) {
        RtVideoForm form;
        if (!form_of(&from->video.form, t, info, &form, f))
            return false;
        tess_video *v = calloc(1, sizeof *v);
        if (!v)
            return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        if (!tessi_video_create(path, &form, &v->video, f)) {
            free(v);
            return false;
        }
        *video = v;
    }
    const char *data = (const char *)t->data + t->byte_offset;
    return tessi_video_put(&(*video)->video, type, channels, data, &from->video,
                           &(*video)->n_saturated, f);
}

tess_status tess_video_write(tess_video **video, const char *path, tess_video *from,
                             const DLTensor *result, const tess_info *info, char *error,
                             size_t error_size)
{
    Failure f = { 0 };
    if (!video || !path || !from || !result || !info)
        return TESS_ERROR_ARGUMENT;
    const Rounding before = tessi_round_to_nearest();
    const bool ok = write_frame(video, path, from, result, info, &f);
    tessi_round_as(before);
    return ok ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_video_end(tess_video *v, int ok, int64_t *n_saturated, char *error,
                           size_t error_size)
{
    Failure f = { 0 };
    if (!v)
        return TESS_OK;
    if (n_saturated)
        *n_saturated = v->n_saturated;
    const bool shows = tessi_video_end(&v->video, ok != 0, &f);
    free(v);
    return shows || !ok ? TESS_OK : say(&f, error, error_size);
}
