/* Images on the host and on the device: how they lie, and copying between the two. */
#include "api/gpu.h"

bool tessi_on_device(const DLTensor *t)
{
    return tessi_backend_of_memory(t->device.device_type) != NULL;
}

GpuImage tessi_gpu_image(const Image *image, const BoundImage *b)
{
    const int64_t element = b->tensor.dtype.bits / 8;
    GpuImage im = { .on_device = tessi_on_device(&b->tensor),
                    .base = b->tensor.data,
                    .offset = (size_t)b->tensor.byte_offset,
                    .n_dims = image->n_dims,
                    .pixel_bytes = image->pixel_bytes,
                    .unit_bytes = element };
    for (int d = 0; d < image->n_dims; d++) {
        im.size[d] = b->shape[d];
        im.stride_bytes[d] = b->strides[d] * element;
    }
    return im;
}

bool tessi_gpu_is_aligned(const GpuImage *im, bool addresses)
{
    enum { VECTOR_BYTES = 16 };
    if (!im->on_device)
        return true; /* its copy will be */
    uintptr_t first = im->offset + (addresses ? (uintptr_t)im->base : 0);
    bool aligned = first % VECTOR_BYTES == 0;
    for (int d = 0; d + 1 < im->n_dims; d++)
        aligned = aligned && im->stride_bytes[d] % VECTOR_BYTES == 0;
    return aligned;
}

void tessi_gpu_extent(const GpuImage *im, int64_t *begin, int64_t *end)
{
    int64_t lo = (int64_t)im->offset, hi = lo;
    for (int d = 0; d < im->n_dims; d++) {
        const int64_t reach = (im->size[d] - 1) * im->stride_bytes[d];
        lo += reach < 0 ? reach : 0;
        hi += reach > 0 ? reach : 0;
    }
    *begin = lo;
    *end = hi + (int64_t)im->pixel_bytes;
}

size_t tessi_gpu_layout(GpuImage *im)
{
    enum { ROW_ALIGNMENT = 64 };
    int64_t stride = (int64_t)im->pixel_bytes;
    im->offset = 0;
    for (int d = im->n_dims - 1; d >= 0; d--) {
        im->stride_bytes[d] = stride;
        stride *= im->size[d];
        if (d == im->n_dims - 1 && d > 0)
            stride = (stride + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    }
    return (size_t)stride;
}

static int64_t offset_of(const GpuImage *im, const int64_t *at, int n_dims)
{
    int64_t offset = (int64_t)im->offset;
    for (int d = 0; d < n_dims; d++)
        offset += at[d] * im->stride_bytes[d];
    return offset;
}

/* The number of dimensions that are walked one by one; what is below is copied as rows. */
static int outer_dims(const GpuImage *to, const GpuImage *from)
{
    const int row = to->n_dims - 2; /* the dimension that counts rows */
    if (row < 0)
        return 0;
    const int64_t bytes = to->size[row + 1] * (int64_t)to->pixel_bytes;
    const bool plain = to->stride_bytes[row] >= bytes && from->stride_bytes[row] >= bytes;
    return plain ? row : row + 1;
}

bool tessi_gpu_copy_image(Device *d, const GpuImage *to, const GpuImage *from, DeviceStream stream,
                          Failure *f)
{
    const int n = to->n_dims, outer = outer_dims(to, from);
    const bool rows = outer < n - 1;
    DeviceCopy copy = { .way = !to->on_device     ? DEVICE_TO_HOST
                               : !from->on_device ? DEVICE_TO_DEVICE
                                                  : DEVICE_WITHIN,
                        .to = to->base,
                        .from = from->base,
                        .row_bytes = (size_t)to->size[n - 1] * to->pixel_bytes,
                        .rows = rows ? (size_t)to->size[n - 2] : 1,
                        .to_stride = rows ? (size_t)to->stride_bytes[n - 2] : 0,
                        .from_stride = rows ? (size_t)from->stride_bytes[n - 2] : 0 };
    int64_t at[MAX_DIMS] = { 0 };
    for (;;) {
        copy.to_offset = (size_t)offset_of(to, at, outer);
        copy.from_offset = (size_t)offset_of(from, at, outer);
        if (!tessi_device_copy(d, &copy, stream, f))
            return false;
        int k = outer - 1;
        for (; k >= 0 && ++at[k] == to->size[k]; k--)
            at[k] = 0;
        if (k < 0)
            return true;
    }
}
