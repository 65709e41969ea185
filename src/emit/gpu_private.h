/* Shared by the files of the GPU printer, which prints kernels with the statements and expressions of the C printer. */
#ifndef TESSERA_EMIT_GPU_PRIVATE_H
#define TESSERA_EMIT_GPU_PRIVATE_H

#include "emit/c_file.h"
#include "emit/gpu_stmt.h"

/* Of a row: what all languages of kernels have in common, and the words that all their preludes define. */
#define EMIT_KERNEL_WORDS                                                                  \
    .kernels = true, .print = tessi_gpu_print, .print_file = tessi_gpu_print_file,         \
    .print_header = tessi_gpu_print_header, .index = "tess_idx", .unroll = "TESS_UNROLL",  \
    .unroll_by = "TESS_UNROLL_BY", .no_unroll = "TESS_NO_UNROLL", .likely = "TESS_LIKELY", \
    .here = "TESS_HERE", .after = "TESS_AFTER", .keep = "TESS_KEEP",                       \
    .atomic_add = "TESS_ATOMIC_ADD_", .take = "TESS_TAKE", .give = "TESS_GIVE",            \
    .pitch = "TESS_PITCH_", .barrier = "TESS_BARRIER", .whole_roots = true,                \
    .table = "TESS_CONSTANT", .flag = "uint8_t", .byte = "uint8_t", .stride = "int64_t",   \
    .value = "const ", .global = "TESS_GLOBAL ", .const_global = "TESS_CONST_GLOBAL ",     \
    .constant = "TESS_CONSTANT ", .restricted = "TESS_RESTRICT "

/* The kernel being printed. */
typedef struct GpuWriter {
    const LFunction *kernel;
    bool *shared; /* by LBufferId: LOCAL buffers that its blocks share */
    uint32_t shared_bytes;
    bool in_threads;        /* inside one of them */
    bool threads_to_finish; /* a barrier is due before the next */
    bool apart; /* threads see nothing of each other but what they hold: no barriers are needed */
    /* Without shuffles: where threads put values of the type for others of their warp; NULL = nowhere. */
    const char *lanes[N_TYPES];
} GpuWriter;

/* ---- gpu_stmt.c ---- */
/* Looks a kernel over before it is printed: which buffers are shared. */
void tessi_gpu_begin(CWriter *w, const LFunction *kernel);
/* Declares what the block shares. */
void tessi_gpu_declare_shared(CWriter *w);

/* ---- gpu_file.c ---- */
/* Prints all kernels of a program; the head says `usage` (NULL: the flags), `before` (NULL: nothing) stands between
 * it and the prelude. */
void tessi_gpu_kernels(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                       const char *usage, const char *before, Text *out, EmitModule *module);
/* The same as a row wants it. */
void tessi_gpu_print(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o, Text *out,
                     EmitModule *module);

/* ---- gpu_program.c ---- */
void tessi_gpu_print_file(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                          Text *out);
void tessi_gpu_print_header(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                            Text *out);

/* ---- gpu_host.c: what launchers have in common, and what they ask of the API of a language ----------------------- */
typedef struct GpuHost GpuHost;
typedef struct GpuApi {
    const EmitTarget *host; /* the language of launchers */

    /* ---- Texts of the file; in those on usage $ is the name of the program and % the flags ---- */
    const char *usage, *usage_more, *usage_of_test;
    const char *before_kernels,
        *before_launcher; /* the text for the device begins; that for the host */
    const char *includes; /* of headers */
    const char *returns;  /* what the launcher does and returns */
    /* the reference of the self-test is not for the compiler of the launcher */
    bool reference_apart;

    /* ---- Names and types ---- */
    const char *index; /* the type of coordinates in kernels; NULL: the file defines one */
    const char *launch, *queue, *memory;   /* wanted names: a function, a parameter, a variable */
    const char *queue_type, *program_type; /* NULL: no program is handed over */
    const char *ok;                        /* the error that is none */
    const char *linkage, *linkage_on_host; /* before the names of functions */
    const char *handle; /* the type of buffers, which launchers take for images; NULL: addresses */

    /* ---- Parts of functions ---- */
    void (*options)(const GpuHost *h, Text *out); /* a macro of the header; NULL: none */
    void (*functions)(GpuHost *h); /* what the launcher calls, with tessi_gpu_host_functions */
    void (*begin)(GpuHost *h);     /* declares the error and the intermediate images */
    void (*launch_kernel)(GpuHost *h, const GpuKernel *k);
    /* Lines (tessi_gpu_host_lines) that bring the condition $i of a loop to the variable $c, and leave the loop when
     * that fails. */
    const char *ask;
    void (*end)(GpuHost *h); /* frees these and returns */

    /* ---- Lines of the function of the self-test, which takes images of the host (tessi_gpu_host_lines) ---- */
    void (*before_on_host)(GpuHost *h); /* functions that it calls */
    const char *begin_on_host, *upload, *download, *release, *end_on_host;
} GpuApi;

/* The text for the host in a file of kernels. */
struct GpuHost {
    CWriter *w; /* has no prelude */
    const EmitTarget *target;
    const GpuApi *api;
    const EmitModule *module;
    const LoopBound *bound; /* of indices; NULL: they need 64 bits in any case */
    CIndexFunctions functions;
    const char *index;                            /* the type of indices in kernels */
    const char *end, *launch, *on_host, *open;    /* functions of the file */
    const char *options;                          /* a macro */
    const char *queue, *program, *error, *memory; /* parameters and variables of the launcher */
    const char **table;    /* by LBufferId: what such a table is called on the host */
    const char *word[128]; /* by the letter behind $ (tessi_gpu_host_lines) */
    CParameters given;     /* what the launcher is given, under the names that kernels are handed */
};
/* Names the functions of the file; the names of the kernels are taken first. */
void tessi_gpu_host_begin(GpuHost *h);
/* A function begins: names its parameters. */
void tessi_gpu_host_function(GpuHost *h);
/* What the launcher takes: as the public function in C, with the stream or the queue behind it. */
CParameters tessi_gpu_host_parameters(GpuHost *h);
void tessi_gpu_host_launcher(GpuHost *h);
/* The function of the self-test. */
void tessi_gpu_host_on_host(GpuHost *h);

/* ---- For the functions of an API ---- */
/* Writes lines of a function. A line behind ? stands under `if (error == ok)`. What stands for names:
 *   $e error, $q queue, $m memory, $p program, $o the function `open`, $s the status of the launcher;
 *   of an image $i its name, $c that of its copy, $b of their bytes; $n its extent in elements, $t the type of one,
 *   $u the bytes of one. */
void tessi_gpu_host_lines(GpuHost *h, const char *lines);
/* Appends the call that says where an intermediate image ends which begins at `begin`. */
void tessi_gpu_host_end_of(GpuHost *h, LBufferId id, const char *begin);
/* The intermediate images that the launcher makes, then none: all but variables of the file. */
const LBufferId *tessi_gpu_host_temps(const GpuHost *h);
/* The numbers of blocks along three axes, separated by commas; what they share is written before the statement in
 * hand. */
const char *tessi_gpu_host_grid(GpuHost *h, const GpuKernel *k);
/* The parameter of the launcher that is handed to a kernel, and what is: NULL where that is an intermediate image. */
CParameter *tessi_gpu_host_given(const GpuHost *h, const GpuArg *arg);
const char *tessi_gpu_host_value(const GpuHost *h, const GpuArg *arg);
/* The functions that the launcher needs; it is printed already. */
void tessi_gpu_host_functions(GpuHost *h);

#endif
