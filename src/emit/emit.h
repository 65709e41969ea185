/* emit: loop programs as text for a compiler. Printers decide nothing: the same program gives the same bytes.
 *
 * What the generated C file contains, in this order:
 *   the plan with its reasons as a comment; the prelude; constant tables; one static function for each group;
 *
 *   int NAME(inputs..., sizes..., scalars..., outputs...);
 *     Each image is a pointer to its first pixel followed by one stride for each dimension but the last, slowest first.
 *       Plain
 *     images and structs of one channel type are `T *` with strides in elements of T (channels interleaved); structs of
 *       mixed
 *     types are `unsigned char *` with strides in bytes. bool is uint8_t, float16 its bits in uint16_t (scalars:
 *       float).
 *     Returns 0 when done, 1 when memory is short, 2 when a size is not positive; nothing is written unless it returns
 *       0.
 *
 *   with TESSERA_ENTRY defined, one more function of the same signature for all programs, for a launcher:
 *   int NAME_entry(void *const *images, const ptrdiff_t *strides, const ptrdiff_t *params, const void *scalars, int
 *     threads,
 *                  void *workspace, ptrdiff_t *bytes);
 *     images:  inputs, then outputs.
 *     strides: EMIT_STRIDES places for each image; place d holds the stride of dimension d (units as above), those of
 *       the
 *              last dimension and beyond are ignored.
 *     scalars: 8 bytes each: int64_t for integers and bool, double for reals (the layout of Value).
 *     threads: 0 = OpenMP's default.
 *     workspace, bytes: memory for intermediate images, aligned to 64 bytes, and how much it is. Returns 3, with *bytes
 *       set to what
 *              is needed (PTRDIFF_MAX: more than any machine has), when it is too little. Its contents do not matter.
 *     Behind *bytes there are two numbers for each loop with a condition (tessi_loop_conditions), which a run sets: the
 *     turns that were done, and whether the condition held.
 *
 *   with TESSERA_SELFTEST defined, the reference program and a main that compares both, bit for bit. */
#ifndef TESSERA_EMIT_EMIT_H
#define TESSERA_EMIT_EMIT_H

#include "base/base.h"
#include "emit/target.h"
#include "loop/loop.h"

enum { EMIT_STRIDES = LOOP_MAX_DIMS };

struct EmitOptions {
    const char *prelude; /* text of the target's prelude, copied in front; NULL = none */
    /* of C: text of prelude/c_vector.h, for programs with vectors; NULL = none */
    const char *vector_prelude;
    const char *source_name; /* shown in the head of the file; NULL = not shown */
    /* The same program by its naive plan for a CPU, for the self-test; NULL = no self-test. */
    const LoopProgram *reference;
    const char *reference_prelude; /* of C, in front of the reference of kernels */
    /* Of kernels: coordinates have 64 bits; needed unless tessi_loop_fits_32 says otherwise of a run. */
    bool wide_index;
    /* Of kernels: all rows of all images begin at addresses divisible by 16; needed for vectors. */
    bool aligned_rows;
};

/* The name of the public function: the program's name made legal. Allocated in `a`. */
const char *tessi_emit_c_name(const LoopProgram *p, Arena *a);

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */
/* A program whose functions are kernels becomes one text for NVRTC or for an OpenCL 1.2 compiler, and the list of
 * its kernels in the order of execution. Each kernel must have finished before the next begins. Launchers make the
 * TEMP buffers, of as many bytes as tessi_emit_gpu_temp_bytes says (rows are padded to multiples of 16), at
 * addresses divisible by 256. */
/* A file for a build ahead of time (print_file) has the kernels and a function in C that launches them,
 *
 *   int NAME(inputs..., sizes..., scalars..., outputs..., cudaStream_t stream);
 *   int NAME(inputs..., sizes..., scalars..., outputs..., cl_command_queue queue, cl_program program);
 *
 * with parameters as in C, images in memory of the device (OpenCL: cl_mem). It puts the work on the stream and
 * returns. NAME.cu is C++ for nvcc; NAME.cl is at once the text for clBuildProgram and, for a C compiler, the
 * launcher. Both have a self-test, whose reference is C. */
typedef enum GpuArgKind {
    GPU_ARG_INPUT,  /* address of the first pixel of input image `index` */
    GPU_ARG_OUTPUT, /* the same of output image `index` */
    GPU_ARG_TEMP,   /* address of buffer `index` (an LBufferId), one of `temps` */
    /* stride of dimension `dim` of input image `index`; int64_t, in the units of the head of this file */
    GPU_ARG_INPUT_STRIDE,
    GPU_ARG_OUTPUT_STRIDE, /* the same of output image `index` */
    GPU_ARG_PARAM,         /* size parameter number `index`; int32_t, with wide_index int64_t */
    GPU_ARG_SCALAR         /* scalar number `index`; by `type`: bool as uint8_t, float16 as float */
} GpuArgKind;
typedef struct GpuArg {
    GpuArgKind kind;
    uint32_t index;
    uint8_t dim;
    ScalarType type; /* SCALAR: its type; else INDEX */
} GpuArg;
typedef VEC(GpuArg) GpuArgs;

typedef struct GpuKernel {
    const char *name; /* in the text; extern "C" in CUDA */
    GpuArgs args;
    /* blocks; tessi_loop_eval_size; below 1 = nothing to do. Along y and z kernels loop, so that launchers may cut
     * them to 65535 */
    LExprId grid[LOOP_MAX_AXES];
    uint32_t block[LOOP_MAX_AXES]; /* threads */
    uint32_t shared_bytes;         /* per block, declared in the text */
    bool beside; /* may run at the same time as the kernel before it and those that it is beside */
    uint32_t resident; /* blocks that are to fit a multiprocessor at once; 0: any number */
    uint32_t part;     /* of the text, which defines it */
    LPlace place;      /* in a repeat; else kernels are executed in order */
} GpuKernel;
struct EmitModule {
    VEC(GpuKernel) kernels;
    /* Where the text of each kernel begins. They stand behind each other, the last to the end of the text; each
     * compiles behind what stands before the first, without the others. */
    VEC(size_t) parts;
    VEC(LBufferId)
    temps; /* TEMP buffers that some kernel uses, and tables in memory that the text does not have (OpenCL) */
    VEC(const char *)
    symbols; /* for each of them: NULL, or the variable of the text that it is (CUDA, in constant memory) */
};

/* The bytes of a TEMP buffer in a run; false when they are too many. */
bool tessi_emit_gpu_temp_bytes(const LoopProgram *p, LBufferId id, const int64_t *params,
                               size_t *bytes);

#endif
