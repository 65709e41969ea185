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
} GpuWriter;

/* ---- gpu_stmt.c ---- */
/* Looks a kernel over before it is printed: which buffers are shared. */
void tessi_gpu_begin(CWriter *w, const LFunction *kernel);
/* Declares what the block shares. */
void tessi_gpu_declare_shared(CWriter *w);

/* ---- gpu_params.c ---- */
/* What the kernel that was just printed needs: its parameters as declared, and the same for launchers. */
CParameters tessi_gpu_parameters(CWriter *w, GpuArgs *args);

#endif
