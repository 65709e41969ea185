/* Public image files: rt's images as DLTensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/gpu.h"
#include "rt/image.h"

static tess_status say(const Failure *f, char *error, size_t error_size)
{
    if (error && error_size)
        snprintf(error, error_size, "%s", f->text);
    return (tess_status)f->status;
}

void tessi_owned_tensor(OwnedTensor *t, DLDataType type, int ndim, const int64_t *shape)
{
    *t = (OwnedTensor){ .tensor = { .device = { kDLCPU, 0 },
                                    .ndim = ndim,
                                    .dtype = type,
                                    .shape = t->shape,
                                    .strides = t->strides } };
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->strides[d] = stride;
        stride *= shape[d];
    }
}

/* Takes over the image's data; the image is empty afterwards. NULL without memory. */
static DLTensor *tensor_of(RtImage *image)
{
    OwnedTensor *t = calloc(1, sizeof *t);
    if (!t) {
        tessi_image_dispose(image);
        return NULL;
    }
    tessi_owned_tensor(t, tessi_dl_type(image->dtype), image->ndim, image->shape);
    t->tensor.data = image->data;
    memset(image, 0, sizeof *image);
    return &t->tensor;
}

static tess_status give(RtImage *image, DLTensor **tensor, char *error, size_t error_size)
{
    *tensor = tensor_of(image);
    if (*tensor)
        return TESS_OK;
    if (error && error_size)
        snprintf(error, error_size, "out of memory");
    return TESS_ERROR_MEMORY;
}

/* A compact copy of a tensor as rt's image; `channels` as in RtImage. */
static bool image_of(const DLTensor *t, int channels, RtImage *image, Failure *f)
{
    ScalarType type;
    memset(image, 0, sizeof *image);
    if (!t || !t->data || t->ndim < 1 || t->ndim > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "an image of 1 to %d dimensions is needed",
                           RT_IMAGE_DIMS);
    if (t->device.device_type != kDLCPU)
        return tessi_failf(f, TESS_ERROR_DEVICE, "the image is in device memory");
    if (!tessi_scalar_type(t->dtype, &type))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "images of this element type cannot be stored");
    if (!tessi_image_alloc(image, type, t->ndim, t->shape, channels, f))
        return false;
    size_t bytes = tessi_type_info(type)->bytes;
    const char *from = (const char *)t->data + t->byte_offset;
    char *to = image->data;
    int64_t at[RT_IMAGE_DIMS] = { 0 };
    for (int64_t i = 0, n = tessi_image_elements(image); i < n; i++) {
        int64_t offset = 0;
        if (t->strides)
            for (int d = 0; d < t->ndim; d++)
                offset += at[d] * t->strides[d];
        else
            offset = i;
        memcpy(to + (size_t)i * bytes, from + offset * (int64_t)bytes, bytes);
        for (int d = t->ndim - 1; d >= 0 && ++at[d] == t->shape[d]; d--)
            at[d] = 0;
    }
    return true;
}

/* What the pixels that `info` speaks of hold. */
static bool record_of(const tess_info *info, RtField *field, RtRecord *record)
{
    *record = (RtRecord){ .field = field };
    for (int c = 0; c < info->n_channels && c < RT_IMAGE_CHANNELS; c++) {
        const bool named = info->is_struct && info->channel_names;
        RtField *at = &field[record->n++];
        at->name = named ? info->channel_names[c] : "";
        if (!tessi_scalar_type(info->channel_types ? info->channel_types[c] : info->dtype,
                               &at->type))
            return false;
    }
    return true;
}

tess_status tess_image_read(const char *path, const tess_info *want, DLTensor **tensor, char *error,
                            size_t error_size)
{
    if (!path || !tensor)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    RtImage image = { 0 };
    Failure f = { 0 };
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    ScalarType types[RT_IMAGE_CHANNELS] = { TYPE_F32 };
    const int channels = want ? want->n_channels : 1;
    if (channels < 1 || (want && !record_of(want, field, &record)))
        return TESS_ERROR_ARGUMENT;
    for (int c = 0; want && c < record.n; c++)
        types[c] = field[c].type;
    bool ok = tessi_image_is_pseudo(path)
                  ? tessi_image_pseudo(path, types, channels, &image, &f)
                  : tessi_image_read_as(path, want ? &record : NULL, &image, &f);
    return ok ? give(&image, tensor, error, error_size) : say(&f, error, error_size);
}

tess_status tess_image_convert(const DLTensor *from, DLDataType to, DLTensor **tensor, char *error,
                               size_t error_size)
{
    if (!tensor)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    RtImage image;
    Failure f = { 0 };
    ScalarType type;
    if (!tessi_scalar_type(to, &type))
        return TESS_ERROR_ARGUMENT;
    if (!image_of(from, 0, &image, &f))
        return say(&f, error, error_size);
    if (tessi_image_convert(&image, type, &f))
        return give(&image, tensor, error, error_size);
    tessi_image_dispose(&image);
    return say(&f, error, error_size);
}

tess_status tess_image_gray(const DLTensor *from, DLTensor **tensor, char *error, size_t error_size)
{
    if (!tensor || !from || from->ndim < 1)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    RtImage image;
    Failure f = { 0 };
    if (!image_of(from, (int)from->shape[from->ndim - 1], &image, &f))
        return say(&f, error, error_size);
    if (tessi_image_luma(&image, &f))
        return give(&image, tensor, error, error_size);
    tessi_image_dispose(&image);
    return say(&f, error, error_size);
}

tess_status tess_image_write(const char *path, const DLTensor *tensor, int picture_dims,
                             int64_t *n_saturated, char *error, size_t error_size)
{
    if (!path || !tensor)
        return TESS_ERROR_ARGUMENT;
    RtImage image;
    Failure f = { 0 };
    int channels =
        tensor->ndim > picture_dims && tensor->ndim > 0 ? (int)tensor->shape[tensor->ndim - 1] : 1;
    bool ok = image_of(tensor, channels, &image, &f);
    ok = ok && tessi_image_write(path, &image, n_saturated, &f);
    tessi_image_dispose(&image);
    return ok ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_image_write_result(const char *path, const DLTensor *tensor,
                                    const tess_info *result, int64_t *n_saturated, char *error,
                                    size_t error_size)
{
    if (!path || !tensor || !result || result->n_channels < 1)
        return TESS_ERROR_ARGUMENT;
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    if (!record_of(result, field, &record))
        return TESS_ERROR_ARGUMENT;
    if (!tessi_record_is_mixed(&record))
        return tess_image_write(path, tensor, result->ndim, n_saturated, error, error_size);
    if (tensor->ndim != result->ndim + 1 || tensor->dtype.bits != 8
        || tensor->shape[result->ndim] != (int64_t)tessi_record_bytes(&record))
        return TESS_ERROR_ARGUMENT;
    RtImage image;
    Failure f = { 0 };
    const bool ok =
        image_of(tensor, 0, &image, &f) && tessi_image_write_records(path, &image, &record, &f);
    tessi_image_dispose(&image);
    if (ok && n_saturated)
        *n_saturated = 0;
    return ok ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_image_can_write(const char *path, char *error, size_t error_size)
{
    Failure f = { 0 };
    if (!path)
        return TESS_ERROR_ARGUMENT;
    return tessi_image_can_write(path, &f) ? TESS_OK : say(&f, error, error_size);
}

DLTensor *tess_image_new(DLDataType type, int ndim, const int64_t *shape)
{
    RtImage image;
    Failure f;
    ScalarType t;
    if (!shape || !tessi_scalar_type(type, &t) || !tessi_image_alloc(&image, t, ndim, shape, 0, &f))
        return NULL;
    return tensor_of(&image);
}

void tess_image_free(DLTensor *tensor)
{
    OwnedTensor *t = (OwnedTensor *)tensor;
    if (t && t->context)
        tessi_device_image_free(t);
    else if (t)
        free(tensor->data);
    free(t);
}
