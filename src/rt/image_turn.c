/* Pictures turned upright: EXIF's orientations applied to the pixels. */
#include "rt/image_codec.h"
#include "rt/meta.h"
#include "tessera.h"

#include <stdlib.h>
#include <string.h>

typedef struct Page { /* of an image: pixels of `pixel` bytes */
    uint8_t *at;
    int64_t height, width;
    size_t pixel;
} Page;

static void swap_bytes(uint8_t *a, uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

static void mirror_rows(const Page *p)
{
    for (int64_t y = 0; y < p->height; y++) {
        uint8_t *row = p->at + (size_t)(y * p->width) * p->pixel;
        for (int64_t x = 0; x < p->width / 2; x++)
            swap_bytes(row + (size_t)x * p->pixel, row + (size_t)(p->width - 1 - x) * p->pixel,
                       p->pixel);
    }
}

static void flip_columns(const Page *p)
{
    const size_t row = (size_t)p->width * p->pixel;
    for (int64_t y = 0; y < p->height / 2; y++)
        swap_bytes(p->at + (size_t)y * row, p->at + (size_t)(p->height - 1 - y) * row, row);
}

/* The page lies on its side: rows of `to` are columns of it. In squares, so that both stay in the cache. */
static void lay_down(const Page *p, int orientation, uint8_t *to)
{
    enum { SIDE = 32 };
    const RtMap map = tessi_map_of_orientation(orientation, p->height, p->width);
    const int64_t step_y = map.a[0][1] > 0 ? 1 : -1, step_x = map.a[1][0] > 0 ? 1 : -1;
    const int64_t first_y = (int64_t)map.b[0], first_x = (int64_t)map.b[1];
    for (int64_t y0 = 0; y0 < p->width; y0 += SIDE)
        for (int64_t x0 = 0; x0 < p->height; x0 += SIDE)
            for (int64_t y = y0; y < p->width && y < y0 + SIDE; y++)
                for (int64_t x = x0; x < p->height && x < x0 + SIDE; x++) {
                    const int64_t from = (first_y + step_y * x) * p->width + first_x + step_x * y;
                    memcpy(to + (size_t)(y * p->height + x) * p->pixel,
                           p->at + (size_t)from * p->pixel, p->pixel);
                }
}

bool tessi_image_turn(RtImage *image, int orientation, Failure *f)
{
    const int last = image->ndim - (image->channels > 1); /* dimensions without channels */
    if (orientation <= 1 || orientation > 8 || last < 2)
        return true;
    Page page = { .at = image->data,
                  .height = image->shape[last - 2],
                  .width = image->shape[last - 1],
                  .pixel = tessi_type_info(image->dtype)->bytes
                           * (size_t)(image->channels > 1 ? image->shape[last] : 1) };
    const size_t bytes = (size_t)(page.height * page.width) * page.pixel;
    uint8_t *turned = NULL;
    if (orientation >= 5) {
        if (!tessi_memory_suffices((uint64_t)image->bytes + bytes, f))
            return false;
        if (!(turned = malloc(bytes)))
            return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    for (size_t done = 0; done < image->bytes; done += bytes, page.at += bytes) {
        if (orientation == 2 || orientation == 3)
            mirror_rows(&page);
        if (orientation == 3 || orientation == 4)
            flip_columns(&page);
        if (orientation >= 5) {
            lay_down(&page, orientation, turned);
            memcpy(page.at, turned, bytes);
        }
    }
    free(turned);
    if (orientation >= 5) {
        image->shape[last - 2] = page.width;
        image->shape[last - 1] = page.height;
    }
    return true;
}
