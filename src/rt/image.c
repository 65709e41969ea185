/* Images in memory: room, claims of size, luma. */
#include "rt/image.h"
#include "rt/env.h"
#include "rt/image_codec.h"
#include "rt/memory.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool tessi_memory_suffices(uint64_t bytes, Failure *f)
{
    const uint64_t most = tessi_memory_bytes();
    return bytes <= most
           || tessi_failf(f, TESS_ERROR_MEMORY,
                          "it does not fit in memory: it takes %" PRIu64
                          " bytes, and at most %" PRIu64 " can be had here",
                          bytes, most);
}

bool tessi_record_is_mixed(const RtRecord *r)
{
    bool mixed = false;
    for (int k = 1; k < r->n; k++)
        mixed = mixed || r->field[k].type != r->field[0].type;
    return mixed;
}

size_t tessi_record_bytes(const RtRecord *r)
{
    size_t bytes = 0;
    for (int k = 0; k < r->n; k++)
        bytes += tessi_type_info(r->field[k].type)->bytes;
    return bytes;
}

bool tessi_image_alloc(RtImage *image, ScalarType dtype, int ndim, const int64_t *shape,
                       int channels, Failure *f)
{
    *image = (RtImage){ 0 };
    if (ndim < 1 || ndim > RT_IMAGE_DIMS)
        return tessi_failf(f, TESS_ERROR_FILE, "an image has 1 to %d dimensions, not %d",
                           RT_IMAGE_DIMS, ndim);
    size_t bytes = tessi_type_info(dtype)->bytes;
    RtImage made = { .dtype = dtype, .ndim = ndim, .channels = channels };
    bool fits = true;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 1)
            return tessi_failf(f, TESS_ERROR_FILE,
                               "it has no pixels: size %" PRId64 " in dimension %d", shape[d], d);
        made.shape[d] = shape[d];
        fits = fits && (uint64_t)shape[d] <= SIZE_MAX
               && tessi_mul_size(bytes, (size_t)shape[d], &bytes);
    }
    /* Overcommitting systems grant any size and kill the process that touches it, so ask first. */
    if (!fits || bytes > PTRDIFF_MAX)
        return tessi_failf(f, TESS_ERROR_MEMORY, "an image of this size does not fit in memory");
    if (!tessi_memory_suffices(bytes, f))
        return false;
    made.data = tessi_memory_new(bytes);
    if (!made.data)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory: %zu bytes for an image", bytes);
    made.bytes = bytes;
    *image = made;
    return true;
}

void tessi_image_dispose(RtImage *image)
{
    free(image->data);
    *image = (RtImage){ 0 };
}

int64_t tessi_image_elements(const RtImage *image)
{
    return (int64_t)(image->bytes / tessi_type_info(image->dtype)->bytes);
}

bool tessi_image_claim(ScalarType dtype, uint64_t pages, uint64_t height, uint64_t width,
                       uint64_t channels, uint64_t n_file, uint64_t ratio, Failure *f)
{
    const uint64_t slack = 1 << 16, size_max = INT32_MAX;
    uint64_t allowed = n_file < (UINT64_MAX - slack) / ratio ? n_file * ratio + slack : UINT64_MAX;
    uint64_t element = tessi_type_info(dtype)->bytes;
    if (height == 0 || width == 0 || channels == 0)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it has no pixels: its size is %" PRIu64 " x %" PRIu64, height, width);
    if (height > size_max || width > size_max || channels > UINT16_MAX
        || channels > allowed / element / height / width / pages)
        return tessi_failf(f, TESS_ERROR_FILE,
                           "it claims %" PRIu64 " x %" PRIu64 " pixels, more than its %" PRIu64
                           " bytes can hold",
                           height, width, n_file);
    return true;
}

void tessi_luma_pixels(ScalarType t, int channels, const void *in, void *out, size_t n)
{
    const size_t element = tessi_type_info(t)->bytes;
    const char *from = in;
    char *to = out;
    for (size_t i = 0; i < n; i++, from += element * (size_t)channels, to += element) {
        if (channels == 2) {
            memcpy(to, from, element);
            continue;
        }
        double v[3];
        for (size_t c = 0; c < 3; c++) {
            Value x = tessi_load_element(t, from + c * element);
            v[c] = tessi_value_number(t, x);
        }
        double luma = 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
        Value y = tessi_value_real(luma);
        if (t == TYPE_BOOL)
            y = tessi_value_int(luma >= 0.5);
        else if (t == TYPE_F32 || t == TYPE_F16)
            y = tessi_eval_cast(t, TYPE_F64, y);
        else if (t != TYPE_F64)
            y = tessi_eval_sat(t, TYPE_F64, y);
        tessi_store_element(t, to, y);
    }
}

bool tessi_image_luma(RtImage *image, Failure *f)
{
    int channels = image->channels;
    if (channels < 2 || channels > 4 || image->ndim < 2)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "luma needs an image of 2 to 4 channels, not %d",
                           channels);
    RtImage grey;
    if (!tessi_image_alloc(&grey, image->dtype, image->ndim - 1, image->shape, 1, f))
        return false;
    tessi_luma_pixels(image->dtype, channels, image->data, grey.data,
                      (size_t)tessi_image_elements(&grey));
    tessi_image_dispose(image);
    *image = grey;
    return true;
}
