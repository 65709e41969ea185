/* Fuzz target: any bytes decoded as an image are refused with a sentence, or give an image whose
 * parts agree; never harm. Built with libFuzzer, or with -DREPLAY into a program that decodes the
 * files named on its command line. */
#include <stdio.h>
#include <stdlib.h>

#include "rt/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    RtImage image;
    Failure f = { 0 };
    if (!tessi_image_decode(bytes, n, &image, &f)) {
        if (image.data || f.status == 0 || !f.text[0])
            abort();
        return 0;
    }
    size_t bytes_due = tessi_type_info(image.dtype)->bytes;
    for (int d = 0; d < image.ndim; d++)
        bytes_due *= (size_t)image.shape[d];
    if (bytes_due != image.bytes || image.ndim < 1 || image.ndim > RT_IMAGE_DIMS)
        abort();
    if (image.channels > 1 && image.shape[image.ndim - 1] != image.channels)
        abort();
    /* Every byte is there and was written: sanitizers watch this sum. */
    volatile unsigned sum = 0;
    for (size_t i = 0; i < image.bytes; i++)
        sum += ((const uint8_t *)image.data)[i];
    (void)sum;
    tessi_image_dispose(&image);
    return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            fprintf(stderr, "cannot open %s\n", argv[i]);
            return 1;
        }
        static uint8_t bytes[1 << 20];
        size_t n = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        uint8_t *exact = malloc(n ? n : 1); /* so that a read past the end is seen */
        if (!exact)
            return 1;
        for (size_t k = 0; k < n; k++)
            exact[k] = bytes[k];
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    return 0;
}
#endif
