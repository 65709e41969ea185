/* Fuzz target: any bytes decoded as an image are refused with a sentence, or give an image whose
 * parts agree; never harm. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "rt/image.h"

static void check(const uint8_t *bytes, size_t n, RtRequest want)
{
    RtImage image;
    Failure f = { 0 };
    if (!tessi_image_decode(bytes, n, &want, &image, &f)) {
        if (image.data || f.status == 0 || !f.text[0])
            abort();
        return;
    }
    size_t bytes_due = tessi_type_info(image.dtype)->bytes;
    for (int d = 0; d < image.ndim; d++)
        bytes_due *= (size_t)image.shape[d];
    if (bytes_due != image.bytes || image.ndim < 1 || image.ndim > RT_IMAGE_DIMS)
        abort();
    if (image.channels > 1 && image.shape[image.ndim - 1] != image.channels)
        abort();
    if (want.dtype != N_TYPES && image.dtype != want.dtype)
        abort();
    /* Every byte is there and was written: sanitizers watch this sum. */
    volatile unsigned sum = 0;
    for (size_t i = 0; i < image.bytes; i++)
        sum += ((const uint8_t *)image.data)[i];
    (void)sum;
    tessi_image_dispose(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const RtRecord mixed = { 2, (const RtField[]){ { "a", TYPE_F32 }, { "b", TYPE_U8 } } };
    const RtRequest wants[] = {
        { .dtype = N_TYPES, .record = &mixed },
        tessi_request_as_stored(),
        { .dtype = TYPE_F32, .ndim = 2, .channels = 1, .page = 1, .gray = true },
        { .dtype = TYPE_U8, .ndim = 2, .channels = 3, .page = 2, .drop_alpha = true },
        { .dtype = TYPE_F64, .ndim = 3, .channels = 1 },
    };
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        check(bytes, n, wants[i]);
    return 0;
}
