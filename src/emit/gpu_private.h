/* Shared by the files of the GPU printer, which prints kernels with the statements and expressions of the C printer. */
#ifndef TESSERA_EMIT_GPU_PRIVATE_H
#define TESSERA_EMIT_GPU_PRIVATE_H

#include "emit/c_private.h"

/* The kernel being printed. */
typedef struct GpuWriter {
    GpuLanguage language;
    const LFunction *kernel;
    bool *shared; /* by LBufferId: LOCAL buffers that its blocks share */
    uint32_t shared_bytes;
    bool in_threads;        /* inside one of them */
    bool threads_to_finish; /* a barrier is due before the next */
    bool apart; /* threads see nothing of each other but what they hold: no barriers are needed */
    const char *lanes
        [N_TYPES]; /* OpenCL: where threads put values of the type for others of their warp; NULL = nowhere */
} GpuWriter;

/* ---- gpu_stmt.c ---- */
/* Looks a kernel over before it is printed: which buffers are shared. */
void tessi_gpu_begin(CWriter *w, const LFunction *kernel);
/* Declares what the block shares. */
void tessi_gpu_declare_shared(CWriter *w);

/* ---- gpu_file.c ---- */
/* Where the names of kernels and their launchers stand. */
CTexts tessi_gpu_texts(GpuLanguage language);

/* ---- gpu_params.c ---- */
/* What the kernel that was just printed needs: its parameters as declared, and the same for launchers. */
CParameters tessi_gpu_parameters(CWriter *w, GpuArgs *args);
/* Launchers make the buffer: intermediate images, and tables that the text cannot have. */
bool tessi_gpu_is_given(GpuLanguage language, const LBuffer *b);

/* ---- gpu_host.c: what the launchers of both languages have in common ------------------------------------------------------ */
/* The text for the host in a file of kernels. */
typedef struct GpuHost {
    CWriter *w; /* has no prelude */
    const GpuModule *module;
    GpuLanguage language;
    const LoopBound *bound; /* of indices; NULL: they need 64 bits in any case */
    CIndexFunctions functions;
    const char *index;                            /* the type of indices in kernels */
    const char *end, *launch, *on_host, *open;    /* functions of the file */
    const char *options;                          /* a macro */
    const char *queue, *program, *error, *memory; /* parameters and variables of the launcher */
    const char **table; /* by LBufferId: what such a table is called on the host */
} GpuHost;
/* Names the functions of the file; the names of the kernels are taken first. */
void tessi_gpu_host_begin(GpuHost *h);
/* A function begins: names its parameters. */
void tessi_gpu_host_function(GpuHost *h);
/* What the launcher takes: as the public function in C, with the stream or the queue behind it. */
CParameters tessi_gpu_host_parameters(GpuHost *h);
const char *tessi_gpu_host_returns(GpuLanguage language);
/* Mentions what the launcher does not use, and returns when sizes or addresses are none that the kernels can work on. */
void tessi_gpu_host_checks(GpuHost *h);
/* Appends the call that says where an intermediate image ends which begins at `begin`. */
void tessi_gpu_host_end_of(GpuHost *h, LBufferId id, const char *begin);
/* The intermediate images that the launcher makes, then none: all but variables of the file. */
const LBufferId *tessi_gpu_host_temps(const GpuHost *h);
/* The numbers of blocks along three axes, separated by commas; what they share is written before the statement in hand. */
const char *tessi_gpu_host_grid(GpuHost *h, const GpuKernel *k);
/* The functions that the launcher needs; it is printed already. */
void tessi_gpu_host_functions(GpuHost *h);
/* Image k of inputs and outputs; the number of its elements (bytes of mixed ones) up to the end of its last row. */
const CImage *tessi_gpu_host_image(const GpuHost *h, uint32_t k);
const char *tessi_gpu_host_extent(GpuHost *h, uint32_t k);

/* ---- gpu_cuda.c, gpu_opencl.c: the launcher, and under TESSERA_SELFTEST the function that does the same for images of the host ---- */
void tessi_gpu_cuda_launcher(GpuHost *h);
void tessi_gpu_cuda_on_host(GpuHost *h);
void tessi_gpu_opencl_launcher(GpuHost *h);
void tessi_gpu_opencl_on_host(GpuHost *h);
/* The options for clBuildProgram as a macro. */
void tessi_gpu_opencl_options(const GpuHost *h, Text *out);

#endif
