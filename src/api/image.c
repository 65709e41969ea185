/* Public image files: rt's images as DLTensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/gpu.h"
#include "api/image_meta.h"
#include "api/image_store.h"
#include "base/rounding.h"
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

bool tessi_image_record(const tess_info *info, RtField *field, RtRecord *record)
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
    return record->n > 0;
}

static tess_status read_image(const char *path, const RtRecord *record, RtRequest *request,
                              DLTensor **tensor, char *error, size_t error_size)
{
    RtImage image = { 0 };
    Failure f = { 0 };
    ScalarType types[RT_IMAGE_CHANNELS] = { TYPE_F32 };
    for (int c = 0; record && c < record->n; c++)
        types[c] = record->field[c].type;
    request->record = record;
    const Rounding before = tessi_round_to_nearest();
    bool ok = tessi_image_is_pseudo(path)
                  ? tessi_image_pseudo(path, types, record ? record->n : 1, &image, &f)
                  : tessi_image_read(path, request, &image, &f);
    tessi_round_as(before);
    return ok ? give(&image, tensor, error, error_size) : say(&f, error, error_size);
}

const char *tess_image_file(const char *name)
{
    return name ? tessi_image_file(name) : NULL;
}

tess_status tess_image_read(const char *path, const tess_info *want, DLTensor **tensor, char *error,
                            size_t error_size)
{
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    if (!path || !tensor)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    if (want && !tessi_image_record(want, field, &record))
        return TESS_ERROR_ARGUMENT;
    RtRequest request = tessi_request_as_stored();
    return read_image(path, want ? &record : NULL, &request, tensor, error, error_size);
}

void tess_image_request_init(tess_image_request *r)
{
    *r = (tess_image_request){ .struct_size = sizeof *r };
}

/* As RtRequest.channels. */
static int channels_wanted(const tess_info *want, const tess_image_request *r)
{
    if (want->is_any)
        return r->gray ? 1 : 0;
    return want->is_struct ? want->n_channels : r->any_channels ? 0 : 1;
}

bool tessi_image_request(const tess_info *want, const tess_image_request *r, RtField *field,
                         RtRecord *record, RtRequest *request)
{
    if (!tessi_image_record(want, field, record))
        return false;
    *request = tessi_request_as_stored();
    request->page = r->page;
    request->name = want->name;
    request->ndim = want->ndim;
    request->turn = !r->no_orient;
    if (tessi_record_is_mixed(record)) /* which are read as their bytes */
        return true;
    request->dtype = want->is_any ? N_TYPES : field[0].type;
    request->channels = channels_wanted(want, r);
    request->gray = r->gray;
    request->drop_alpha = r->drop_alpha;
    request->srgb = r->srgb != 0;
    return true;
}

tess_status tess_image_load(const char *path, const tess_info *want, tess_image_request *r,
                            DLTensor **tensor, char *error, size_t error_size)
{
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    RtRequest request;
    if (!path || !want || !r || !tensor || r->struct_size != sizeof *r || r->page < 0)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    if (!tessi_image_request(want, r, field, &record, &request))
        return TESS_ERROR_ARGUMENT;
    RtMeta meta = { 0 };
    request.meta = r->meta ? &meta : NULL;
    if (r->meta)
        *r->meta = NULL;
    tess_status status = read_image(path, &record, &request, tensor, error, error_size);
    r->pages = request.pages_found;
    r->channels = request.channels_found;
    if (status == TESS_OK && r->meta && !tessi_meta_give(&meta, r->meta)) {
        tess_image_free(*tensor);
        *tensor = NULL;
        return TESS_ERROR_MEMORY;
    }
    if (status != TESS_OK)
        tessi_meta_dispose(&meta);
    return status;
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
    const Rounding before = tessi_round_to_nearest();
    const bool ok = tessi_image_convert(&image, type, &f);
    tessi_round_as(before);
    if (ok)
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
    const Rounding before = tessi_round_to_nearest();
    const bool ok = tessi_image_luma(&image, &f);
    tessi_round_as(before);
    if (ok)
        return give(&image, tensor, error, error_size);
    tessi_image_dispose(&image);
    return say(&f, error, error_size);
}

bool tessi_image_view_of(const DLTensor *t, int picture_dims, RtView *view, Failure *f)
{
    *view = (RtView){ 0 };
    if (!t || !t->data || t->ndim < 1 || t->ndim > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "an image of 1 to %d dimensions is needed",
                           RT_IMAGE_DIMS);
    if (t->device.device_type != kDLCPU)
        return tessi_failf(f, TESS_ERROR_DEVICE, "the image is in device memory");
    if (!tessi_scalar_type(t->dtype, &view->dtype))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "images of this element type cannot be stored");
    view->ndim = t->ndim;
    view->picture_dims = picture_dims >= 1 && picture_dims <= t->ndim ? picture_dims : t->ndim;
    view->data = (const char *)t->data + t->byte_offset;
    int64_t stride = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->shape[d] < 1)
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "the image has no pixels");
        view->shape[d] = t->shape[d];
        view->strides[d] = t->strides ? t->strides[d] : stride;
        stride *= t->shape[d];
    }
    return true;
}

void tess_image_store_init(tess_image_store *store)
{
    *store = (tess_image_store){ .struct_size = sizeof *store };
}

bool tessi_image_store(const tess_image_store *s, RtStore *out)
{
    const bool tiled = s->tile >= 0 && s->tile <= 4096 && s->tile % 16 == 0;
    *out = (RtStore){ .depth = s->depth,
                      .scale = s->scale != 0,
                      .strict = s->strict != 0,
                      .text = s->text != 0,
                      .layout = { s->tile      ? s->tile
                                  : s->pyramid ? 256
                                               : 0,
                                  (RtCompression)s->compress, s->pyramid != 0 },
                      .resumes = s->resumes != 0,
                      .rows_there = s->rows_there };
    return s->struct_size == sizeof *s && tiled
           && (s->depth == 0 || s->depth == 1 || s->depth == 8 || s->depth == 16);
}

void tessi_share_of(const tess_image_store *s, RtShare *share, RtStore *out)
{
    if (!s->share)
        return;
    *share = (RtShare){ s->share->from, s->share->to, s->share->put, s->share->user };
    out->share = share;
}

void tessi_image_told(const RtStore *store, tess_image_store *s)
{
    snprintf(
        s->left_out, sizeof s->left_out, "%s",
        tessi_meta_loses_place(s)
            ? "nothing tells where in the picture its points lie; the place on earth is left out"
            : store->left_out);
    s->doubt = (tess_doubt)store->doubt;
    s->converted = store->converted;
    s->stored = tessi_dl_type(store->stored);
    s->n_saturated = store->n_saturated;
    s->lo = store->lo;
    s->hi = store->hi;
}

tess_status tess_image_save(const char *path, const DLTensor *tensor, tess_image_store *s,
                            char *error, size_t error_size)
{
    RtStore store;
    RtView view;
    Failure f = { 0 };
    if (!path || !tensor || !s || !tessi_image_store(s, &store))
        return TESS_ERROR_ARGUMENT;
    RtField field[RT_IMAGE_CHANNELS];
    RtRecord record;
    if (s->result && !tessi_image_record(s->result, field, &record))
        return TESS_ERROR_ARGUMENT;
    bool ok = tessi_image_view_of(tensor, s->result ? s->result->ndim : s->picture_dims, &view, &f);
    if (ok && s->result && tessi_record_is_mixed(&record)) {
        view.record = &record;
        if (view.ndim != s->result->ndim + 1 || view.dtype != TYPE_U8
            || view.shape[view.ndim - 1] != (int64_t)tessi_record_bytes(&record))
            return TESS_ERROR_ARGUMENT;
    }
    const Rounding before = tessi_round_to_nearest();
    RtMeta meta = { 0 };
    bool any = false;
    if (ok && !tessi_meta_for_result(s, view.picture_dims, &meta, &any))
        ok = tessi_failf(&f, TESS_ERROR_MEMORY, "out of memory");
    store.meta = any ? &meta : NULL;
    store.provenance = s->provenance;
    ok = ok && tessi_image_write(path, &view, &store, &f);
    tessi_meta_dispose(&meta);
    tessi_round_as(before);
    tessi_image_told(&store, s);
    if (!ok)
        return say(&f, error, error_size);
    if (error && error_size)
        tessi_store_doubt(&store, error, error_size);
    return TESS_OK;
}

static tess_status write_image(const char *path, const DLTensor *tensor, tess_image_store *store,
                               int64_t *n_saturated, char *error, size_t error_size)
{
    char sentence[600] = "";
    const tess_status status = tess_image_save(path, tensor, store, sentence, sizeof sentence);
    if (n_saturated && status == TESS_OK)
        *n_saturated = store->n_saturated;
    if (status != TESS_OK && error && error_size)
        snprintf(error, error_size, "%s", sentence);
    return status;
}

tess_status tess_image_write(const char *path, const DLTensor *tensor, int picture_dims,
                             int64_t *n_saturated, char *error, size_t error_size)
{
    tess_image_store store;
    tess_image_store_init(&store);
    store.picture_dims = picture_dims;
    return write_image(path, tensor, &store, n_saturated, error, error_size);
}

tess_status tess_image_write_result(const char *path, const DLTensor *tensor,
                                    const tess_info *result, int64_t *n_saturated, char *error,
                                    size_t error_size)
{
    tess_image_store store;
    tess_image_store_init(&store);
    store.result = result;
    return result ? write_image(path, tensor, &store, n_saturated, error, error_size)
                  : TESS_ERROR_ARGUMENT;
}

tess_status tess_image_can_store(const char *path, const tess_image_store *s, char *error,
                                 size_t error_size)
{
    RtStore store;
    Failure f = { 0 };
    if (!path || !s || !tessi_image_store(s, &store))
        return TESS_ERROR_ARGUMENT;
    return tessi_image_can_write(path, &store, &f) ? TESS_OK : say(&f, error, error_size);
}

tess_status tess_image_can_write(const char *path, char *error, size_t error_size)
{
    tess_image_store store;
    tess_image_store_init(&store);
    return tess_image_can_store(path, &store, error, error_size);
}

tess_status tess_element_text(DLDataType type, const void *element, char *text, size_t size)
{
    ScalarType t;
    if (!element || !text || !size || !tessi_scalar_type(type, &t))
        return TESS_ERROR_ARGUMENT;
    const Rounding before = tessi_round_to_nearest();
    tessi_number_text(t, element, text, size);
    tessi_round_as(before);
    return TESS_OK;
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
