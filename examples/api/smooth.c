/* Convolutions without a program: a picture smoothed by a separable mask, then sharpened by a 3x3 mask.
 *
 *     cc smooth.c -o smooth $(pkg-config --cflags --libs tessera)
 *
 * docs/api.md says more. */
#include <stdio.h>
#include <tessera.h>

enum { ROWS = 48, COLUMNS = 64 };

static DLTensor tensor(void *data, int ndim, int64_t *shape, uint8_t code, uint8_t bits)
{
    return (DLTensor){
        .data = data, .device = { kDLCPU, 0 }, .ndim = ndim, .dtype = { code, bits, 1 }, .shape = shape
    };
}

int main(void)
{
    /* 1. A convolver keeps the compiled programs. One is enough for all convolutions and all threads. */
    tess_convolver *convolver;
    if (tess_convolver_new(NULL, &convolver) != TESS_OK)
        return 1;

    /* 2. A picture of bytes with one bright point, and masks in float. */
    static uint8_t picture[ROWS][COLUMNS], result[ROWS][COLUMNS];
    static float smooth[ROWS][COLUMNS];
    static float binomial[5] = { 1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f };
    static float sharpen[3][3] = { { 0, -1, 0 }, { -1, 5, -1 }, { 0, -1, 0 } };
    picture[20][30] = 200;
    int64_t size[2] = { ROWS, COLUMNS }, five[1] = { 5 }, three[2] = { 3, 3 };
    DLTensor in = tensor(picture, 2, size, kDLUInt, 8);
    DLTensor between = tensor(smooth, 2, size, kDLFloat, 32);
    DLTensor out = tensor(result, 2, size, kDLUInt, 8);
    DLTensor line = tensor(binomial, 1, five, kDLFloat, 32);
    DLTensor mask = tensor(sharpen, 2, three, kDLFloat, 32);

    /* 3. The first call with a mask compiles; the same again runs at once. The last store rounds and saturates. */
    const DLTensor *lines[2] = { &line, &line };
    tess_status status = tess_separable(convolver, &in, lines, 2, "mirror", &between, NULL);
    if (status == TESS_OK)
        status = tess_convolve(convolver, &between, &mask, "clamp", &out, NULL);
    if (status != TESS_OK)
        fprintf(stderr, "%s\n", tess_convolver_error(convolver));
    else
        printf("smoothed %.2f, sharpened %d\n", smooth[20][30], result[20][30]);

    tess_convolver_free(convolver);
    return status != TESS_OK;
}
