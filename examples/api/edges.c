/* Using Tessera from C: compile a program, run it on an array of our own, read the result.
 *
 *     cc edges.c -o edges $(pkg-config --cflags --libs tessera)
 *
 * docs/api.md walks through it. */
#include <stdio.h>
#include <string.h>
#include <tessera.h>

static const char program_text[] =
    "stencil edges(vector#2 float X, float gain) {\n"
    "    float gx = X@[-1,1] + 2*X@[0,1] + X@[1,1] - X@[-1,-1] - 2*X@[0,-1] - X@[1,-1];\n"
    "    float gy = X@[1,-1] + 2*X@[1,0] + X@[1,1] - X@[-1,-1] - 2*X@[-1,0] - X@[-1,1];\n"
    "    return gain * sqrt(gx*gx + gy*gy);\n"
    "}\n"
    "parameter M, N;\n"
    "vector#2 float image[M, N];\n"
    "float gain = 1.0;\n"
    "result = edges(image:reflect, gain);\n"
    "return result;\n";

enum { ROWS = 48, COLUMNS = 64 };

int main(void)
{
    /* 1. Compile. Options start from their defaults; diagnostics come back as an object of their own. */
    tess_options options;
    tess_options_init(&options);
    tess_program *program;
    tess_diags *diags;
    tess_status status = tess_compile(program_text, strlen(program_text), "edges.tess", &options, &program, &diags);
    fputs(tess_diags_text(diags, 0), stderr);
    tess_diags_free(diags);
    if (status != TESS_OK)
        return 1;

    /* 2. Describe our memory. Tensors are DLPack's: the library neither copies nor keeps them. Rows may be strided. */
    static float image[ROWS][COLUMNS], edges[ROWS][COLUMNS];
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++)
            image[y][x] = x < COLUMNS / 2 ? 10.0f : 50.0f; /* one vertical edge */
    int64_t shape[2] = { ROWS, COLUMNS };
    DLTensor in = { .data = image, .device = { kDLCPU, 0 }, .ndim = 2, .dtype = { kDLFloat, 32, 1 }, .shape = shape };
    DLTensor out = { .data = edges, .device = { kDLCPU, 0 }, .ndim = 2, .dtype = { kDLFloat, 32, 1 }, .shape = shape };

    /* 3. Bind and run. What is not bound as an output is allocated by the library (tess_args_result). */
    tess_args *args;
    if (tess_args_new(program, &args) != TESS_OK)
        return 1;
    status = tess_args_image(args, "image", &in);
    if (status == TESS_OK)
        status = tess_args_scalar(args, "gain", 0.25);
    if (status == TESS_OK)
        status = tess_args_output(args, 0, &out);
    if (status == TESS_OK)
        status = tess_run(program, args, NULL);
    if (status != TESS_OK)
        fprintf(stderr, "%s\n", tess_args_error(args));
    else
        printf("beside the edge %.1f, on it %.1f\n", edges[ROWS / 2][4], edges[ROWS / 2][COLUMNS / 2]);

    tess_args_free(args);
    tess_program_free(program);
    return status != TESS_OK;
}
