/* Public images in device memory. */
#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"

static bool make(tess_program *p, DLDataType type, int ndim, const int64_t *shape, OwnedTensor *t,
                 Failure *f)
{
    ScalarType ignored;
    size_t bytes = type.bits / 8u;
    if (!p->backend->device)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "the program's target has no device memory");
    if (!shape || ndim < 1 || ndim > MAX_DIMS + 1 || !tessi_scalar_type(type, &ignored))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "images have 1 to %d dimensions and elements of a scalar type",
                           MAX_DIMS + 1);
    for (int d = 0; d < ndim; d++)
        if (shape[d] < 1 || !tessi_mul_size(bytes, (size_t)shape[d], &bytes))
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "size %lld in dimension %d cannot be",
                               (long long)shape[d], d);
    GpuContext *c = tessi_gpu_default_context(p, f);
    DeviceBuffer buffer;
    if (!c || !tessi_device_alloc(c->device, bytes, &buffer, f))
        return false;
    tessi_gpu_hold(c);
    tessi_owned_tensor(t, type, ndim, shape);
    t->context = c;
    t->device_bytes = buffer.bytes;
    t->tensor.data = buffer.handle;
    t->tensor.device.device_type = p->backend->device->memory;
    t->tensor.device.device_id = tessi_device_info(c->device)->number;
    return true;
}

tess_status tess_device_image(tess_program *p, DLDataType type, int ndim, const int64_t *shape,
                              DLTensor **tensor)
{
    if (!p || !tensor)
        return TESS_ERROR_ARGUMENT;
    *tensor = NULL;
    OwnedTensor *t = calloc(1, sizeof *t);
    if (!t)
        return TESS_ERROR_MEMORY;
    mtx_lock(&p->lock);
    memset(&p->failure, 0, sizeof p->failure);
    const bool ok = make(p, type, ndim, shape, t, &p->failure);
    mtx_unlock(&p->lock);
    if (!ok) {
        free(t);
        return (tess_status)p->failure.status;
    }
    *tensor = &t->tensor;
    return TESS_OK;
}

void tessi_device_image_free(OwnedTensor *t)
{
    DeviceBuffer buffer = { t->tensor.data, t->device_bytes };
    tessi_device_free(t->context->device, &buffer);
    tessi_gpu_release(t->context);
}

/* ---- Copies ---------------------------------------------------------------------------------- */
/* A tensor as an image whose pixels are what lies close together. */
static bool view(const DLTensor *t, GpuImage *im, Failure *f)
{
    const int64_t element = t->dtype.bits / 8;
    if (t->ndim < 1 || t->ndim > MAX_DIMS + 1 || !t->data)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "an image of 1 to %d dimensions is needed",
                           MAX_DIMS + 1);
    const int last = t->ndim - 1;
    const bool compact = !t->strides || t->strides[last] == 1 || t->shape[last] == 1;
    if (!compact && t->ndim > MAX_DIMS)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "only row dimensions of an image may be strided");
    *im = (GpuImage){ .on_device = tessi_on_device(t),
                      .base = t->data,
                      .offset = (size_t)t->byte_offset,
                      .n_dims = compact && last > 0 ? last : t->ndim,
                      .pixel_bytes = (size_t)element,
                      .unit_bytes = element };
    if (compact && last > 0)
        im->pixel_bytes *= (size_t)t->shape[last];
    int64_t stride = element;
    for (int d = last; d >= 0; d--) {
        if (d < im->n_dims) {
            im->size[d] = t->shape[d];
            im->stride_bytes[d] = t->strides && t->shape[d] > 1 ? t->strides[d] * element : stride;
        }
        stride *= t->shape[d];
    }
    return true;
}

static bool same_shape(const DLTensor *a, const DLTensor *b)
{
    return a->ndim == b->ndim && memcmp(&a->dtype, &b->dtype, sizeof a->dtype) == 0
           && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/* Between the device and anywhere; waits. */
static bool copy_tensor(const GpuContext *c, const DLTensor *from, const DLTensor *to, Failure *f)
{
    GpuImage source, target;
    if (!same_shape(from, to))
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "images are copied between tensors of one shape and type");
    if (!view(from, &source, f) || !view(to, &target, f))
        return false;
    if (source.n_dims != target.n_dims)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "only row dimensions of an image may be strided");
    const bool ok = tessi_gpu_copy_image(c->device, &target, &source, NULL, f);
    return tessi_device_synchronise(c->device, NULL, ok ? f : NULL) && ok;
}

bool tessi_fetch_image(tess_program *p, const Image *image, const BoundImage *b, InterpImage *im,
                       void **memory, Failure *f)
{
    if (!tessi_on_device(&b->tensor))
        return true;
    const GpuImage from = tessi_gpu_image(image, b);
    GpuImage to = from;
    to.on_device = false;
    to.base = *memory = calloc(tessi_gpu_layout(&to), 1);
    if (!to.base)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory for the comparison");
    mtx_lock(&p->lock);
    GpuContext *c = tessi_gpu_context_of(p, &b->tensor, f);
    mtx_unlock(&p->lock);
    if (!c)
        return false;
    const bool ok = tessi_gpu_copy_image(c->device, &to, &from, NULL, f);
    if (!tessi_device_synchronise(c->device, NULL, ok ? f : NULL) || !ok)
        return false;
    im->data = to.base;
    memcpy(im->stride_bytes, to.stride_bytes, sizeof im->stride_bytes);
    return true;
}

tess_status tess_image_copy(tess_program *p, const DLTensor *from, const DLTensor *to)
{
    if (!p || !from || !to)
        return TESS_ERROR_ARGUMENT;
    mtx_lock(&p->lock);
    Failure *f = &p->failure;
    memset(f, 0, sizeof *f);
    bool ok = tessi_on_device(from) || tessi_on_device(to)
              || tessi_failf(f, TESS_ERROR_ARGUMENT, "neither image is in device memory");
    GpuContext *c = ok ? tessi_gpu_context_of(p, tessi_on_device(from) ? from : to, f) : NULL;
    ok = c && copy_tensor(c, from, to, f);
    mtx_unlock(&p->lock);
    return ok ? TESS_OK : (tess_status)f->status;
}
