/* Images for the bench: `images make DTYPE PLANES HEIGHT WIDTH FILE` writes one, `images compare DTYPE PLANES HEIGHT
 * WIDTH MARGIN TOLERANCE A B` says as JSON how far two lie apart: the largest difference and how many pixels differ
 * by more than TOLERANCE, leaving out MARGIN pixels along the edges. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Shape {
    bool bytes;
    size_t planes, height, width;
} Shape;

static int fail(const char *sentence)
{
    fprintf(stderr, "images: %s\n", sentence);
    return 1;
}

/* Waves with hard edges and a little noise, 0..1: something to smooth, something to find edges in. */
static float value_at(size_t plane, size_t y, size_t x)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u + (uint32_t)(y + 7919 * plane) * 0x85ebca77u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    float noise = (float)(h >> 8) / 16777216.0f;
    float wave = sinf(0.031f * (float)x + (float)plane) * cosf(0.023f * (float)y);
    float board = (x / 37 + y / 53) % 2 ? 0.12f : -0.12f;
    return 0.9f * (0.5f + 0.25f * wave + board) + 0.1f * noise;
}

static int make(Shape s, const char *path)
{
    FILE *f = fopen(path, "wb");
    float *row = malloc(s.width * sizeof *row);
    uint8_t *bytes = malloc(s.width);
    if (!f || !row || !bytes)
        return fail("the file cannot be written");
    bool ok = true;
    for (size_t line = 0; line < s.planes * s.height; line++) {
        for (size_t x = 0; x < s.width; x++) {
            row[x] = value_at(line / s.height, line % s.height, x);
            bytes[x] = (uint8_t)(255.0f * row[x]);
        }
        ok = ok
             && fwrite(s.bytes ? (void *)bytes : (void *)row, s.bytes ? 1 : sizeof *row, s.width, f)
                    == s.width;
    }
    free(row);
    free(bytes);
    return !fclose(f) && ok ? 0 : fail("the file cannot be written");
}

static int compare(Shape s, size_t margin, double tolerance, const char *const paths[2])
{
    FILE *f[2] = { fopen(paths[0], "rb"), fopen(paths[1], "rb") };
    size_t element = s.bytes ? 1 : sizeof(float), n = s.width * element, beyond = 0, compared = 0;
    char *row[2] = { malloc(n), malloc(n) };
    if (!f[0] || !f[1] || !row[0] || !row[1])
        return fail("a file cannot be read");
    double most = 0, largest = 0;
    for (size_t line = 0; line < s.planes * s.height; line++) {
        if (fread(row[0], 1, n, f[0]) != n || fread(row[1], 1, n, f[1]) != n)
            return fail("a file is too short");
        size_t y = line % s.height;
        if (y < margin || y + margin >= s.height)
            continue;
        for (size_t x = margin; x + margin < s.width; x++, compared++) {
            double a = s.bytes ? (uint8_t)row[0][x] : ((float *)(void *)row[0])[x];
            double b = s.bytes ? (uint8_t)row[1][x] : ((float *)(void *)row[1])[x];
            double d = fabs(a - b);
            largest = fmax(largest, fabs(a));
            beyond += !(d <= tolerance);
            most = d > most || isnan(d) ? d : most;
        }
    }
    printf("{\"most\":%.9g,\"largest\":%.9g,\"beyond\":%zu,\"compared\":%zu}\n", most, largest,
           beyond, compared);
    for (int i = 0; i < 2; i++) {
        fclose(f[i]);
        free(row[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return fail("usage: images make|compare DTYPE PLANES HEIGHT WIDTH ...");
    Shape s = { !strcmp(argv[2], "uint8"), (size_t)atol(argv[3]), (size_t)atol(argv[4]),
                (size_t)atol(argv[5]) };
    if (argc == 7 && !strcmp(argv[1], "make"))
        return make(s, argv[6]);
    if (argc == 10 && !strcmp(argv[1], "compare"))
        return compare(s, (size_t)atol(argv[6]), atof(argv[7]),
                       (const char *[]){ argv[8], argv[9] });
    return fail("usage: images make|compare DTYPE PLANES HEIGHT WIDTH ...");
}
