/* Colour pictures for programs of one channel: taking channels apart and putting them together. Elements are moved as
 * bytes; a picture is compact with its channels last. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int64_t n_pixels(const DLTensor *t, int ndim)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= t->shape[d];
    return n;
}

/* Copies `n` elements of `bytes` bytes, each `from_step` (`to_step`) elements after the one before. */
static void copy_strided(char *to, size_t to_step, const char *from, size_t from_step, int64_t n,
                         size_t bytes)
{
    for (int64_t i = 0; i < n; i++, to += to_step * bytes, from += from_step * bytes)
        memcpy(to, from, bytes);
}

DLTensor *cli_channel(const DLTensor *t, int64_t channel)
{
    size_t bytes = t->dtype.bits / 8u, n_channels = (size_t)t->shape[t->ndim - 1];
    DLTensor *plane = tess_image_new(t->dtype, t->ndim - 1, t->shape);
    if (plane)
        copy_strided(plane->data, 1, (const char *)t->data + (size_t)channel * bytes, n_channels,
                     n_pixels(t, t->ndim - 1), bytes);
    return plane;
}

DLTensor *cli_interleave(const DLTensor *const *plane, int64_t n)
{
    const DLTensor *first = plane[0];
    size_t bytes = first->dtype.bits / 8u;
    int64_t shape[8];
    memcpy(shape, first->shape, (size_t)first->ndim * sizeof *shape);
    shape[first->ndim] = n;
    DLTensor *all = tess_image_new(first->dtype, first->ndim + 1, shape);
    for (int64_t c = 0; all && c < n; c++)
        copy_strided((char *)all->data + (size_t)c * bytes, (size_t)n, plane[c]->data, 1,
                     n_pixels(first, first->ndim), bytes);
    return all;
}

DLTensor *cli_copy(const DLTensor *t)
{
    DLTensor *copy = tess_image_new(t->dtype, t->ndim, t->shape);
    size_t bytes = t->dtype.bits / 8u;
    for (int d = 0; d < t->ndim; d++)
        bytes *= (size_t)t->shape[d];
    if (copy)
        memcpy(copy->data, (char *)t->data + t->byte_offset, bytes);
    return copy;
}
