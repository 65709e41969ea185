/* What the tests of general code for masks of any extent run, on CPUs and on devices: a program with one sum, images
 * and masks for it. Included by one .c file each; everything is static. */
#ifndef TESSERA_TESTS_GENERAL_H
#define TESSERA_TESTS_GENERAL_H

#include <stdint.h>
#include <stdio.h>

#include "tessera.h"

enum { HEIGHT = 37, WIDTH = 301, MOST_MASK = 40 };

static float image[HEIGHT * WIDTH], mask[MOST_MASK * MOST_MASK], out[HEIGHT * WIDTH],
    wanted[HEIGHT * WIDTH];

static const char *const general_rules[] = { "clamp",
                                             "mirror",
                                             "reflect",
                                             "wrap",
                                             "constant(3)",
                                             "[constant(1), wrap]",
                                             "[clamp, constant(2)]" };
static const char *const general_bodies[] = { "convolve(X, m)",
                                              "X@[0,0] - 0.5 * abs(convolve(X, m))" };
static const int64_t general_extents[][2] = { { 1, 1 },  { 3, 5 },  { 4, 6 },
                                              { 13, 2 }, { 1, 39 }, { 40, 31 } };
enum {
    N_GENERAL_RULES = sizeof general_rules / sizeof *general_rules,
    N_GENERAL_EXTENTS = sizeof general_extents / sizeof *general_extents
};

static void fill(float *at, int n, uint32_t seed)
{
    for (int k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        at[k] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
}

static void general_fill(void)
{
    fill(image, HEIGHT * WIDTH, 1);
    fill(mask, MOST_MASK * MOST_MASK, 2);
}

static DLTensor tensor(void *data, int64_t *shape)
{
    return (DLTensor){ .data = data,
                       .device = { kDLCPU, 0 },
                       .ndim = 2,
                       .dtype = { kDLFloat, 32, 1 },
                       .shape = shape };
}

/* A program that takes an image X and a mask w, X under the border rule; NULL with diagnostics. */
static tess_program *general_compile(const char *rule, const char *body, const tess_options *o,
                                     tess_diags **d)
{
    char text[512];
    const int n = snprintf(text, sizeof text,
                           "stencil f(vector#2 float X, mask#2 float m) { return %s; }\n"
                           "parameter M, N, K, L;\nvector#2 float X[M, N];\nmask#2 float w[K, L];\n"
                           "return f(X:%s, w);\n",
                           body, rule);
    tess_program *p;
    return tess_compile(text, (size_t)n, "general.tess", o, &p, d) == TESS_OK ? p : NULL;
}

/* Its arguments for so much of the image and a mask of so many rows and columns; NULL when something was refused. */
static tess_args *general_bind(tess_program *p, int64_t height, int64_t width, int64_t rows,
                               int64_t cols, float *to)
{
    int64_t size[2] = { height, width }, extent[2] = { rows, cols };
    const DLTensor x = tensor(image, size), w = tensor(mask, extent), y = tensor(to, size);
    tess_args *a;
    if (tess_args_new(p, &a) != TESS_OK)
        return NULL;
    if (tess_args_image(a, "X", &x) == TESS_OK && tess_args_image(a, "w", &w) == TESS_OK
        && tess_args_output(a, 0, &y) == TESS_OK)
        return a;
    tess_args_free(a);
    return NULL;
}

#endif
