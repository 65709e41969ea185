/* What tests of image files share: the image as it is stored, in memory. */
#ifndef TESSERA_TESTS_IMAGE_TESTING_H
#define TESSERA_TESTS_IMAGE_TESTING_H

#include "rt/image_codec.h"

static inline bool decode_image(const uint8_t *bytes, size_t n, RtImage *image, Failure *f)
{
    RtRequest want = tessi_request_as_stored();
    return tessi_image_decode(bytes, n, &want, image, f);
}

static inline bool read_image(const char *path, RtImage *image, Failure *f)
{
    RtRequest want = tessi_request_as_stored();
    return tessi_image_read(path, &want, image, f);
}

/* In the format of the suffix. */
static inline bool encode_image(const char *suffix, const RtImage *image, RtBytes *bytes,
                                Failure *f)
{
    char name[32] = "image";
    strcat(name, suffix);
    const RtView view = tessi_image_view(image);
    RtStore store = { 0 };
    return tessi_image_encode(name, &view, &store, bytes, f);
}

#endif
