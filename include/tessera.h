/* Tessera: image pipelines of stencils and convolutions, compiled. The whole public interface.
 *
 * The library prints nothing, never exits and keeps no global state. Functions that can fail return a tess_status; a
 * sentence about the failure is in the tess_diags or in tess_error_text(). Pointers returned as `const T *` are
 * borrowed from the object they were asked of; objects received through an out parameter (T **) are owned by the
 * caller and freed with tess_*_free (which accept NULL). A program may be run from several threads at once, each
 * with its own tess_args. */
#ifndef TESSERA_H
#define TESSERA_H

#include <stddef.h>
#include <stdint.h>

#include "tessera_dlpack.h"

#if defined(__GNUC__) && !defined(TESSERA_STATIC)
#define TESS_API __attribute__((visibility("default")))
#else
#define TESS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 1
#define TESSERA_VERSION_PATCH 0
#define TESSERA_VERSION       "0.1.0"

typedef enum tess_status {
    TESS_OK = 0,
    TESS_ERROR_PROGRAM, /* the program text is wrong: see the diagnostics */
    TESS_ERROR_ARGUMENT, /* an image or number does not fit the program, or the call itself is wrong */
    TESS_ERROR_FILE,     /* a file could not be read or written, or is not what it claims */
    TESS_ERROR_COMPILER,    /* the C compiler is missing or failed */
    TESS_ERROR_DEVICE,      /* the device or its driver is missing or failed */
    TESS_ERROR_MEMORY,      /* out of memory */
    TESS_ERROR_UNSUPPORTED, /* asked of a build without the library or target that it needs */
    TESS_ERROR_INTERNAL     /* a fault of ours; the text names the pass */
} tess_status;

typedef enum tess_target {
    TESS_TARGET_AUTO, /* C; the strip machine where there is no C compiler at all, which tess_options.note is told */
    TESS_TARGET_C,
    TESS_TARGET_CUDA,
    TESS_TARGET_OPENCL,
    TESS_TARGET_INTERP,
    TESS_TARGET_LOOPS, /* interpreter of the loop language: slow, checks bounds and races */
    TESS_TARGET_VM /* the strip machine: on the processor without a C compiler, some times slower than C */
} tess_target;
/* The name of a target, as the tool takes it; NULL: there is none of that number, from 0 on. */
TESS_API const char *tess_target_name(tess_target t);
/* Whether runs take place on a device, which has memory of its own. */
TESS_API int tess_target_has_device(tess_target t);
typedef enum tess_fp { TESS_FP_DEFAULT, TESS_FP_STRICT, TESS_FP_FAST } tess_fp;

typedef struct tess_program tess_program;
typedef struct tess_diags tess_diags;
typedef struct tess_args tess_args;

/* ---- Options --------------------------------------------------------------------------------- */
typedef struct tess_constant { /* a parameter or const input set when compiling */
    const char *name;
    double value;
} tess_constant;

/* The element type of an input that the program declares `any`, and its fields. */
typedef struct tess_typed {
    const char *name; /* NULL: of all that no other names */
    DLDataType dtype;
    int channels; /* 1: a plain image; 2 va, 3 rgb, 4 rgba, more c0, c1, ..: pixels of so many fields */
} tess_typed;

/* The first runs of a program. NOW: the strip machine runs until the code is there, which a process of its own compiles
 * for the cache; it goes on when this one ends. Runs wait all the same where there is no cache. Runs never learn that
 * the compiler failed. */
typedef enum tess_first {
    TESS_FIRST_WAIT, /* for the compiler */
    TESS_FIRST_NOW,
    TESS_FIRST_AUTO /* NOW, where the run is expected to take less time than the compiler would */
} tess_first;

/* How much code may gain for what it takes to compile. QUICK: more rows at once, and more turns of a loop as one, only
 * where they gain much; BEST: wherever they are expected to gain anything. */
typedef enum tess_effort { TESS_EFFORT_NORMAL, TESS_EFFORT_QUICK, TESS_EFFORT_BEST } tess_effort;

/* A program that takes masks of any extent is compiled for each extent. Code for all of them, slower and with the
 * same pixels, can stand in meanwhile (where all windows of a program are sums over such masks). */
typedef enum tess_general {
    TESS_GENERAL_NEVER,     /* runs wait for the compiler */
    TESS_GENERAL_MEANWHILE, /* a thread waits for it */
    TESS_GENERAL_ALWAYS     /* nothing else runs: for tests, and for masks that are used once */
} tess_general;

enum { TESS_MAX_DEVICES = 16 };
typedef struct tess_options {
    size_t struct_size; /* set by tess_options_init: lets the struct grow */
    tess_target target;
    tess_fp fp;
    int threads; /* 0 = all cores; more than 256 count as 256 */
    int device;  /* number of the device; the CPU has only 0 */
    /* the dialect: 1 reads the original one (set by tess_compile for names ending in .idsl), 2 the text of a graph as
     * tess_dump gives it, nothing of which is changed: its bits are those of the program that it was made of */
    int forma;
    const char *border;  /* rule for reads that name none; NULL = the program's */
    const char *plan;    /* text of a plan, or "preset NAME" (tess_preset); NULL = choose */
    const char *machine; /* text of a machine description; NULL = detect this machine */
    const char *library; /* folder of the `use` files; NULL = the installed one */
    /* folder of the compile cache; NULL = TESSERA_CACHE, XDG_CACHE_HOME/tessera or ~/.cache/tessera; "" = none */
    const char *cache;
    const char *cc; /* C compiler; NULL = TESSERA_CC, else cc, gcc or clang */
    const tess_constant *constants;
    size_t n_constants;
    uint64_t device_bytes; /* most memory of the device to use at a time; 0 = all that is free */
    tess_general general;
    /* Told, once a program or convolver, what the surroundings lack and how it does without: a sentence, for
     * instance that `auto` interprets since there is no C compiler, or that nothing is cached since others could
     * write to the cache. NULL: nobody is told. */
    void (*note)(void *user, const char *sentence);
    /* Lets a program that a signal ends leave nothing behind. Called with change = 1 when work begins that must not
     * be cut off (a compiler runs, and its files lie in TMPDIR; files of tess_build are being written), with -1 when
     * such work has ended, several times a second with 0 in between. What is not 0 ends the compiler, removes its
     * files, and the call fails. NULL: nobody is asked. */
    int (*hold)(void *user, int change);
    /* for these and `phase`, which may be called from any thread and must not call functions with the same program */
    void *user;
    /* Told what a call that may take long does from now on, as a sign of life: "checking", "planning", "compiling",
     * "running", "interpreting". NULL: nobody is told. */
    void (*phase)(void *user, const char *what);
    const tess_typed *types; /* of inputs declared `any`; the last that fits an input counts */
    size_t n_types;
    /* Values of images that say that there is none (of the input `name`, NULL: of all): pixels of which all channels
     * hold it are not valid. Results that are not valid everywhere hold the first where their type can, else NaN, or 0
     * (tess_info.nodata). */
    const tess_constant *nodata;
    size_t n_nodata;
    tess_first first; /* what `auto` does while there is no code of a program yet */
    /* Several devices, at most TESS_MAX_DEVICES (one may be named twice): a run on images of the host shares their rows
     * out among them. Where a program cannot be, or images lie on a device, `note` is told, and the first does it. */
    int n_devices; /* less than two: `device` alone */
    int devices[TESS_MAX_DEVICES];
    tess_effort effort;
} tess_options;
TESS_API void tess_options_init(tess_options *o);
/* The names of plans that can be had for any program, from 0 on: those of papers, to measure others against. NULL
 * after the last. */
TESS_API const char *tess_preset(size_t i);
TESS_API const char *tess_version(void);
TESS_API const char *tess_status_text(tess_status s);

/* ---- Programs -------------------------------------------------------------------------------- */
/* Compiles `text` (n bytes; need not end in NUL). `name` is used in diagnostics; a name ending in ".idsl" selects
 * the original dialect. *program is NULL on failure. *diags (may be NULL if not wanted) is always made when memory
 * allows: it holds warnings after success too. Parameters that only a size can give (mask sizes, `for` bounds) may
 * be left open until the run. */
TESS_API tess_status tess_compile(const char *text, size_t n, const char *name,
                                  const tess_options *options, tess_program **program,
                                  tess_diags **diags);
TESS_API void tess_program_free(tess_program *p);

TESS_API size_t tess_diags_count(const tess_diags *d);
TESS_API size_t tess_diags_errors(const tess_diags *d);
/* All diagnostics as text with source lines and carets, or as JSON, one object a line. Borrowed; valid until d is
 * freed. */
TESS_API const char *tess_diags_text(tess_diags *d, int color);
TESS_API const char *tess_diags_json(tess_diags *d);
TESS_API void tess_diags_free(tess_diags *d);

/* The text of a program in the form of the house: blanks, indents and empty lines; tokens and comments stay, and so
 * does what it means. Formatting again changes nothing. Mistakes that leave the tokens and brackets whole do no harm;
 * else the status is TESS_ERROR_PROGRAM. *formatted is freed with tess_text_free; diags as in tess_compile. */
TESS_API tess_status tess_format_text(const char *text, size_t n, const char *name, int forma,
                                      char **formatted, tess_diags **diags);

/* What a program takes and gives, in the order declared. */
typedef enum tess_kind { TESS_IMAGE, TESS_MASK, TESS_SCALAR, TESS_PARAMETER } tess_kind;
typedef struct tess_info {
    size_t struct_size;
    const char *name;
    tess_kind kind;
    int ndim;         /* images: dimensions, without the channels */
    int n_channels;   /* 1 for plain images */
    DLDataType dtype; /* of the first channel, or of the scalar */
    const char *const *channel_names;
    const DLDataType *channel_types;
    int is_struct, is_const;
    int has_default, has_range;
    double value, lo, hi;
    int is_number; /* of results: one pixel, whatever the sizes of images */
    const char *
        label; /* of results: how the program writes it where it has no name, as "mean(a)"; else the name */
    /* declared `any`, and no type is given: what is said of types holds for no run (tess_program_instance) */
    int is_any;
    int has_nodata; /* of results: some points may be not valid, and hold `nodata` */
    double nodata;
} tess_info;
TESS_API size_t tess_program_inputs(const tess_program *p); /* images, masks, scalars, parameters */
TESS_API size_t tess_program_outputs(const tess_program *p);
TESS_API tess_status tess_program_input(const tess_program *p, size_t i, tess_info *info);
TESS_API tess_status tess_program_output(const tess_program *p, size_t i, tess_info *info);

/* The program for these types of its inputs that are `any`: one that can be run, built and dumped, which `p` itself
 * cannot. Made once for each choice of types and kept; borrowed, valid until p is freed. A program without such inputs
 * is its own instance. Where the text does not fit the types, *instance is NULL and the diagnostics (may be NULL if
 * not wanted, freed by the caller) say so, and for which; without diagnostics tess_program_error has a sentence. */
TESS_API tess_status tess_program_instance(tess_program *p, const tess_typed *types, size_t n,
                                           tess_program **instance, tess_diags **diags);

/* The operators that `use "filters";` brings, in the order of lib/filters.tess. */
typedef struct tess_library tess_library;
typedef struct tess_argument {
    const char *name, *type; /* as written: "vector#2 any", "const float" */
    tess_kind kind;          /* TESS_IMAGE, TESS_MASK or TESS_SCALAR */
    int ndim;                /* of images and masks */
    int is_const;            /* it must be known when compiling */
} tess_argument;
typedef struct tess_operator {
    size_t struct_size;
    const char *name, *section;
    const char *comment; /* what it does; lines end in \n, but for the last */
    size_t n_arguments;
    const tess_argument *arguments;
    int in_units; /* its values are of the kind of those of its first image, and may become its element type */
} tess_operator;
TESS_API tess_status tess_library_open(tess_library **library);
TESS_API void tess_library_free(tess_library *l);
/* The operator number i, or of that name; NULL when there is none. Borrowed, as all that it points to. */
TESS_API const tess_operator *tess_library_operator(const tess_library *l, size_t i);
TESS_API const tess_operator *tess_library_find(const tess_library *l, const char *name);
TESS_API const char *tess_library_nearest(const tess_library *l,
                                          const char *name); /* a name like it, or NULL */

/* Text of a stop of the compiler: "ast", "types", "graph", "analysis", "plan", "small-plan" (of GPUs: for images of
 * few points), "loops" ("loops:PASS": after that pass of src/loop/passes.def, "loops:lower": before all),
 * "estimate" (what the cost model expects of a run with these args: milliseconds, bounds, what they depend on), "c",
 * "header", "cuda", "opencl", "times" (milliseconds of each pass). *text is owned by the caller; free with
 * tess_text_free. With args (may be NULL) the sizes are known. */
TESS_API tess_status tess_dump(tess_program *p, const tess_args *args, const char *stop,
                               char **text, tess_diags **diags);
/* Goes on from a text of loops, as tess_dump printed it for "loops" (`from` = "loops") or "loops:PASS" (`from` that):
 * the passes behind are run, and the stop is "loops", "loops:PASS" of one of these, or a target's text. `name` stands
 * in messages and heads of files. *text is the caller's (tess_text_free), *diags too (may be NULL if not wanted). */
TESS_API tess_status tess_dump_loops(const char *loops, size_t n, const char *name,
                                     const char *from, const char *stop, char **text,
                                     tess_diags **diags);
TESS_API void tess_text_free(char *text);
/* Writes a text to a file that appears complete or not at all ("-": standard output). */
TESS_API tess_status tess_text_save(const char *path, const char *text, char *error,
                                    size_t error_size);

/* ---- Runs ------------------------------------------------------------------------------------ */
TESS_API tess_status tess_args_new(const tess_program *p, tess_args **args);
TESS_API void tess_args_free(tess_args *a);
/* New arguments with the same images and numbers bound, and no results. */
TESS_API tess_status tess_args_copy(const tess_args *from, tess_args **args);
/* Binds input `name` to a tensor: shape = the image's sizes, plus a last dimension of n_channels for images of
 * structs whose fields have one type (structs of mixed types: uint8 tensor with a last dimension of the pixel's
 * bytes). The last dimension(s) must be compact, row dimensions may have any stride, also 0 and negative ones. The
 * first element (data + byte_offset) begins at a multiple of the size of an element. The data is borrowed until the
 * run has ended and is never written. Programs for CUDA take kDLCUDA tensors, those for OpenCL kDLOpenCL ones (data
 * = cl_mem), without copying; host memory is taken by all. */
TESS_API tess_status tess_args_image(tess_args *a, const char *name, const DLTensor *tensor);
/* Says how large an image is, for questions that need no pixels (shapes, tess_parts); a run refuses it. data and
 * strides of the tensor are not looked at. */
TESS_API tess_status tess_args_shape(tess_args *a, const char *name, const DLTensor *tensor);
TESS_API tess_status tess_args_scalar(tess_args *a, const char *name,
                                      double value); /* scalars, const inputs and parameters */
/* The caller's memory for a result (NULL: the library's), as for tess_args_image; its elements, also the rows among
 * each other, must not overlap. */
TESS_API tess_status tess_args_output(tess_args *a, size_t output, const DLTensor *tensor);
/* The shape that the tensor of a result will have, with the images and numbers bound so far, which must give all its
 * sizes: *ndim extents, those of tess_args_result. For callers who allocate results themselves. */
enum { TESS_MAX_SHAPE = 5 }; /* four dimensions and the channels */
TESS_API tess_status tess_result_shape(tess_program *p, tess_args *a, size_t output, int *ndim,
                                       int64_t shape[TESS_MAX_SHAPE]);
/* The shape that input image or mask `input` must have with the numbers bound so far, which must give all its sizes:
 * parameters as scalars. As for tess_args_image. */
TESS_API tess_status tess_input_shape(tess_program *p, tess_args *a, size_t input, int *ndim,
                                      int64_t shape[TESS_MAX_SHAPE]);
/* How much of an image a point of the results depends on, for those who cut images into parts: in dimension d,
 * points up to before[d] before it and after[d] behind it matter to it, or any[d]: there is no such bound (indices
 * that are computed or scaled, reads that wrap around, numbers of whole images). At the edges of an image, border
 * rules may turn one direction into the other. With args (may be NULL) the constants are known. */
typedef struct tess_reach {
    size_t struct_size;
    int ndim;
    int64_t before[4], after[4];
    int any[4];
    int placed; /* values depend on where in the image a point is, or on the image's size */
} tess_reach;
TESS_API tess_status tess_program_reach(tess_program *p, const tess_args *args, const char *name,
                                        tess_reach *reach);
/* Where the points of a result lie in an input image: in dimension d of the image at scale[d] * x[source[d]] +
 * offset[d] for point x of the result, source -1: at offset[d]; source TESS_SEVERAL, of pictures that are turned: at
 * the sum of by[d][k] * x[k], and offset[d] (which holds for the others too). Parts of images, samplings and placements
 * move and scale, rotations turn; what stencils read besides does not count. ndim is 0 where the result comes from the
 * image at several scales or not point by point. The images and numbers bound so far must give all sizes. */
#define TESS_SEVERAL (-2)
typedef struct tess_geometry {
    size_t struct_size;
    int ndim; /* of the image */
    int source[4];
    double scale[4], offset[4], by[4][4];
} tess_geometry;
TESS_API tess_status tess_result_geometry(tess_program *p, tess_args *a, size_t output,
                                          const char *input, tess_geometry *geometry);
/* What made the results of a program, for the files they go to: the version, the BLAKE2b-256 of the program's text
 * (`b2sum -l 256`), the contract about rounding. */
TESS_API void tess_program_provenance(const tess_program *p, char *text, size_t size);
/* Runs. Results not bound by tess_args_output are allocated by the library in host memory and read with
 * tess_args_result, valid until the next run or tess_args_free. `stream` is for devices (CUstream or
 * cl_command_queue; NULL = the default one) and ignored on the CPU. When every image is in device memory the call
 * returns when the work is on the stream, else when the results are there. Runs with the same args follow each other
 * on one stream; run elsewhere at the same time with other args. */
TESS_API tess_status tess_run(tess_program *p, tess_args *a, void *stream);
TESS_API tess_status tess_args_result(const tess_args *a, size_t output, const DLTensor **tensor);
/* The sentence about the last call on this object (of programs: tess_dump, tess_build and those that measure); ""
 * when it did not fail. Borrowed. */
TESS_API const char *tess_args_error(const tess_args *a);
TESS_API const char *tess_program_error(const tess_program *p);

typedef struct tess_timing { /* of the last tess_run with these args, in milliseconds */
    size_t struct_size;
    double front_ms, compile_ms; /* from text to loops; from loops to code that runs */
    /* on devices that of the kernels alone, and 0 for runs that were not waited for */
    double run_ms;
    int compile_cached;
    const char *target; /* "c", "interp", ... */
    double copy_ms;     /* devices: spent on copies between host and device */
    int strips; /* devices: parts the images were taken in since the whole did not fit; else 0 */
    double plan_ms; /* the part of front_ms that went into planning and lowering */
} tess_timing;
TESS_API tess_status tess_args_timing(const tess_args *a, tess_timing *t);

typedef struct
    tess_loop { /* how a loop with a condition (`until`) ended in the last tess_run with these args */
    size_t struct_size;
    const char *name; /* of a family that it makes; until the next run */
    int64_t turns;    /* done */
    int met;          /* the condition held; 0: there were no more turns */
} tess_loop;
/* Loop number i, from 0, in the order of the program; TESS_ERROR_ARGUMENT when the last run had not so many, and
 * when it failed. */
TESS_API tess_status tess_args_loop(const tess_args *a, size_t i, tess_loop *loop);

typedef struct tess_estimate { /* what the plan expects of a run with these args */
    size_t struct_size;
    /* Arithmetic operations that the plan carries out, a fused multiply-add counts two; 0: not counted, where
     * transforms or histograms are among them. */
    double operations;
    double bytes_read, bytes_written; /* of whole images in memory */
    double predicted_ms;              /* by the plan's cost model */
    double start_ms;                  /* of these: threads, launches */
    /* What no plan goes below: inputs read and results written once, and each stage computed once a point, at what
     * the machine's description says it reaches. */
    double must_move; /* bytes */
    double bound_memory_ms, bound_compute_ms;
    double bound_start_ms; /* to start the first of its loops or kernels */
    double bound_ms;       /* the longer of memory and operations, and that */
} tess_estimate;
TESS_API tess_status tess_args_estimate(tess_program *p, tess_args *a, tess_estimate *e);

/* Compares the results of the last run with the graph interpreter, pixel by pixel, bit by bit (any NaN equals any
 * NaN). Returns TESS_OK when they agree, TESS_ERROR_INTERNAL with the first difference as text when not. */
TESS_API tess_status tess_verify(tess_program *p, tess_args *a);

/* ---- Convolutions without a program ---------------------------------------------------------- */
/* A convolver turns each kind of convolution into a program when it is first asked for, compiles it, and keeps it:
 * what was asked before runs at once. It may be used from several threads at once. `options` are those of
 * tess_compile (NULL: the defaults); `border`, `plan` and `constants` are not used. */
typedef struct tess_convolver tess_convolver;
TESS_API tess_status tess_convolver_new(const tess_options *options, tess_convolver **c);
TESS_API void tess_convolver_free(tess_convolver *c);
/* By default a program is made for the coefficients of a mask, which then are constants of its code: zeros cost
 * nothing, and masks that are products of a column and a row are applied as such. With varying != 0 calls from now
 * on use programs that take coefficients as they come, one for each extent of a mask: for masks that change from
 * call to call. */
TESS_API void tess_convolver_vary(tess_convolver *c, int varying);
/* The sentence about the last call that failed; "" when none did. Borrowed. */
TESS_API const char *tess_convolver_error(const tess_convolver *c);
/* out(x) = sum over i of mask(i) * image(x + i - n/2), n the extents of the mask: correlation, not flipped. The mask
 * has 1 to 4 dimensions and lies in host memory; the image has as many, or one more for its channels (at most 16),
 * each of which is convolved. `border` is a rule or a list of rules as in programs: "clamp" (also for NULL), "[wrap,
 * mirror]", "constant(7)" ...; under "none" `out` is smaller.
 *
 * All element types can be mixed. Integers are added up exactly, in 32 bits or in 64 where 32 could overflow; with
 * reals the sum is a float, or a double where the image has integers of 32 bits or doubles, `out` has doubles, or a
 * coefficient is beyond floats. The constant of a border has the type of the sums. Storing into integers rounds to
 * nearest even and saturates. Memory and `stream` are as for tess_args_image and tess_run. */
TESS_API tess_status tess_convolve(tess_convolver *c, const DLTensor *image, const DLTensor *mask,
                                   const char *border, const DLTensor *out, void *stream);
/* The same with a mask that is the product of one-dimensional masks: masks[d] goes along dimension d (NULL: nothing
 * does). Sums along the last dimension come first. */
TESS_API tess_status tess_separable(tess_convolver *c, const DLTensor *image,
                                    const DLTensor *const *masks, size_t n_masks,
                                    const char *border, const DLTensor *out, void *stream);

/* ---- Devices --------------------------------------------------------------------------------- */
/* An uninitialised image in the memory of the program's device, rows without gaps; freed with tess_image_free, also
 * after the program. */
TESS_API tess_status tess_device_image(tess_program *p, DLDataType type, int ndim,
                                       const int64_t *shape, DLTensor **tensor);
/* Copies between images of one shape and type, at least one of them in device memory; waits until it is done. */
TESS_API tess_status tess_image_copy(tess_program *p, const DLTensor *from, const DLTensor *to);

/* Mean milliseconds of a run, of `runs` runs with args[0], args[1], ... args[n-1], args[0] ... On devices from event
 * to event on the default stream. Every args should have run before. */
TESS_API tess_status tess_time_runs(tess_program *p, tess_args *const *args, size_t n, int runs,
                                    double *ms);
/* Milliseconds of the best plain copy on the program's device that reads and writes `bytes` bytes together, of
 * copies in turn between n_pairs pairs of buffers (at most 64). */
TESS_API tess_status tess_time_copy(tess_program *p, size_t bytes, size_t n_pairs, int runs,
                                    double *ms);
/* Tuning: measures the plan that a run would use, and plans that differ from it, on the images bound to `a`. */
typedef struct tess_tuning tess_tuning;
enum { TESS_TUNE_NONE = -1 };
struct tess_tuning {
    size_t struct_size; /* set by tess_tuning_init */
    /* How long to go on, compiling included: no plan is compiled that would not be done by then; 0 = 30. */
    double seconds;
    int sweep; /* not only neighbours of the best plan so far: also plans drawn from everywhere */
    void (*progress)(void *user, const tess_tuning *so_far); /* after each step; may be NULL */
    void *user;
    /* So many plans are measured beside the chosen one, the most promising of its neighbours, and none is followed
     * further; 0 = as time allows, TESS_TUNE_NONE: none. Plans expected to take 30 times as long as the chosen one are
     * not tried, and one whose first run takes 10 times as long is not run again. */
    int most;
    /* Each plan that was measured, the chosen one first; may be NULL. Texts are borrowed for the call. */
    void (*told)(void *user, const char *plan, double predicted_ms, double ms);
    /* What came out: */
    int measured; /* plans compiled and measured beside the chosen one */
    int complete; /* nothing was left to try */
    double chosen_ms, best_ms;
    char *chosen_plan; /* free with tess_text_free, as the next */
    char *plan;        /* the best one, with what its neighbours took as reasons */
};
TESS_API void tess_tuning_init(tess_tuning *t);
TESS_API tess_status tess_tune(tess_program *p, tess_args *a, tess_tuning *t);

/* ---- Ahead of time --------------------------------------------------------------------------- */
/* Writes path (.c, .cu, .cl, .o, .so, .a by suffix) and a header beside it; nothing is left half-written. Kernels
 * (.cu, .cl) are planned for options.machine, for the device when the target is one, else for a GPU as there are
 * many. */
TESS_API tess_status tess_build(tess_program *p, const char *path, tess_diags **diags);

/* ---- Images in files ------------------------------------------------------------------------- */
/* docs/files.md says what each format holds. */
/* Reads an image file (format by content; "-" is standard input) as it is stored, or makes a pseudo-input
 * ("zero:4x5", "constant:7:4x5", "random:7:64x64", "ramp:4x5") of the element type and channels of `want` (NULL:
 * float, one channel). *tensor is owned by the caller and freed with tess_image_free. Colour images have a last
 * dimension of 2 to 4 channels, stacks of pages a first one of pages. NPY files of a structured type give the fields
 * of `want`, found by name and converted as by tess_image_convert, as tess_args_image takes them. On failure `error`
 * (may be NULL) receives one sentence. */
TESS_API tess_status tess_image_read(const char *path, const tess_info *want, DLTensor **tensor,
                                     char *error, size_t error_size);
/* What a file says of a picture besides its pixels: colour profile, EXIF, XMP, resolution, tags of TIFF. */
typedef struct tess_meta tess_meta;
TESS_API void tess_meta_free(tess_meta *m);
/* Number i of what it says, a name and a text for people; TESS_ERROR_ARGUMENT past the end. */
TESS_API tess_status tess_meta_item(const tess_meta *m, size_t i, char *name, size_t name_size,
                                    char *text, size_t text_size);
/* Number i of what it says twice and differently (resolution, orientation), or in numbers that mean nothing, and what
 * counts then: a sentence, borrowed; NULL past the end. */
TESS_API const char *tess_meta_doubt(const tess_meta *m, size_t i);

/* The formats of files, from 0 on, as words for people: TESS_ERROR_ARGUMENT past the last. */
enum { TESS_N_TYPES = 12 };
typedef struct tess_format {
    size_t struct_size;
    const char *name, *suffixes; /* separated by blanks */
    const char *
        channels; /* digits of the numbers of channels held; "*": any; "": any dimensions as well */
    const char *depths; /* what can be asked for: "8 16" */
    const char *keeps;  /* of metadata: words among icc exif xmp resolution tags */
    int stacks;         /* holds pages */
    /* what becomes of elements of the types bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64,
     * float16, float, double: "same"; "8 rnd", "8 sat", "16 sat": integers of so many bits, rounded or saturated;
     * "0 255": black and white; "float": widened; "-": refused */
    const char *stores[TESS_N_TYPES];
} tess_format;
TESS_API tess_status tess_file_format(size_t i, tess_format *format);

/* What a file holds. */
typedef struct tess_image_facts {
    size_t struct_size;
    const char *format; /* its name; borrowed for ever */
    char packed
        [24]; /* how samples are packed that become bytes: "1 bit", "palette", "CMYK"; or empty */
    DLDataType dtype; /* of the elements as they are read */
    int ndim;
    int64_t shape
        [5]; /* of the picture as it is stored: pages, rows, columns, channels where there are any */
    int64_t pages;        /* of the file; 1 of one that is no stack */
    int channels;         /* 1: the last dimension is none of channels */
    double lo, hi;        /* least and largest value that is finite; lo > hi: there is none */
    int64_t n_not_finite; /* infinities and NaN */
    tess_meta *meta;      /* what it says besides; freed with tess_meta_free */
    /* Of a y4m video, whose shape is that of a frame, with the channels of 4:4:4 also where the chroma has fewer
     * points, whose `packed` is its space ("420p10"), and of which lo > hi: */
    int is_video;
    int is_cut;      /* it ends in the middle of a frame */
    int64_t rate[2]; /* frames a second, a fraction; {0, 0}: not said */
    int64_t frames;  /* whole ones, by the size of the file; -1: not known, as of a pipe */
} tess_image_facts;
/* Reads a file to the end and says what it holds: all pages, or with page > 0 that one, counted from 1. On failure
 * `pages` may tell that there are several, which cannot be read together, and `error` (may be NULL) receives one
 * sentence. */
TESS_API tess_status tess_image_look(const char *path, int64_t page, tess_image_facts *facts,
                                     char *error, size_t error_size);

/* Moving pictures frame by frame: y4m, and frames without a head whose form is told. docs/files.md says what programs
 * get of them. */
typedef struct tess_video tess_video;
/* Opens a file or "-". form: "y4m" (or NULL), or "rgb24:640x480" and the like. */
TESS_API tess_status tess_video_open(const char *path, const char *form, tess_video **video,
                                     char *error, size_t error_size);
/* What frames are for an image of any type: the type of their samples; rows, columns and channels, of y4m 1 where the
 * chroma has fewer points than the luma. */
TESS_API void tess_video_look(const tess_video *video, DLDataType *type, int64_t shape[3]);
/* Reads the next frame for an input that `want` speaks of: *frame, which is the video's, valid until the next call;
 * NULL after the last. */
TESS_API tess_status tess_video_read(tess_video *video, const tess_info *want,
                                     const DLTensor **frame, char *error, size_t error_size);
/* Adds a result of a run on the frame of `from` that was read last to a file or "-" that is made at the first call:
 * *video NULL before it. Planes that the result lacks are those of the frame. */
TESS_API tess_status tess_video_write(tess_video **video, const char *path, tess_video *from,
                                      const DLTensor *result, const tess_info *info, char *error,
                                      size_t error_size);
/* Ends a video that is written; the file shows when `ok`, else nothing is left. *n_saturated (may be NULL): values
 * that did not fit. NULL is ignored. */
TESS_API tess_status tess_video_end(tess_video *video, int ok, int64_t *n_saturated, char *error,
                                    size_t error_size);
TESS_API void tess_video_close(tess_video *video); /* one that is read */

/* How a file is read for an image of a program. */
typedef struct tess_image_request {
    size_t struct_size;
    int64_t page;   /* of a stack, counted from 1; 0: all of it */
    int gray;       /* colours become Rec. 709 luma where one channel is wanted */
    int drop_alpha; /* the alpha channel is left out */
    int srgb; /* colours are converted to sRGB by the picture's profile where it has one; CMYK is read so alone */
    int any_channels; /* more channels than one may come, as a last dimension, for an image of one */
    int no_orient; /* pixels stay as they are stored; else the orientation that EXIF or TIFF tells is applied */
    tess_meta **
        meta; /* NULL, or receives what the file says besides, freed with tess_meta_free; NULL after failure */
    /* Filled in, also when the file is refused for them: */
    int64_t pages; /* 1 of a file that is no stack; 0: not known */
    int channels;
} tess_image_request;
TESS_API void tess_image_request_init(tess_image_request *request);
/* Reads a file for the input that `want` describes: with its dimensions, channels and element type, values as
 * tess_image_convert keeps them; where it is `any`, with those of the file, channels as a last dimension. Rows are
 * converted as they are decoded, so that nothing is in memory twice. A stack of pages is refused for an image of two
 * dimensions, unless a page is chosen. Pixels with fields of several types are read as their bytes. */
TESS_API tess_status tess_image_load(const char *path, const tess_info *want,
                                     tess_image_request *request, DLTensor **tensor, char *error,
                                     size_t error_size);
/* The file that a name of an image speaks of: `raw:480x640:uint16:FILE` (rows, columns, the type of the elements, that
 * of the program's image where none is said, with be behind it for the high byte first and +512 for a head of so many
 * bytes) and `gdal:FILE` (read by GDAL, where libgdal is installed) say how it is read. Borrowed from `name`. */
TESS_API const char *tess_image_file(const char *name);
/* An element as text, with as many digits as it takes to read the same value again. */
TESS_API tess_status tess_element_text(DLDataType type, const void *element, char *text,
                                       size_t size);
/* The same values as elements of another type, never rescaled; a value that the type does not have is an error. */
TESS_API tess_status tess_image_convert(const DLTensor *from, DLDataType to, DLTensor **tensor,
                                        char *error, size_t error_size);
/* Rec. 709 luma of a picture whose last dimension is 3 or 4 channels (alpha is left out); the element type stays. */
TESS_API tess_status tess_image_gray(const DLTensor *from, DLTensor **tensor, char *error,
                                     size_t error_size);
/* Writes by suffix; reals and wide integers are rounded to nearest even and saturated where the format has integers,
 * and *n_saturated (may be NULL) counts the values that did not fit. To a temporary name first: a failure leaves
 * nothing behind. `picture_dims` is the number of dimensions without channels (2 for an H x W x 3 picture). */
TESS_API tess_status tess_image_write(const char *path, const DLTensor *tensor, int picture_dims,
                                      int64_t *n_saturated, char *error, size_t error_size);
/* The same for a result of a program, which `result` speaks of (from tess_program_output). Pixels whose fields have
 * several types are written to NPY as a structured type; pictures do not hold them. */
TESS_API tess_status tess_image_write_result(const char *path, const DLTensor *tensor,
                                             const tess_info *result, int64_t *n_saturated,
                                             char *error, size_t error_size);
/* Whether this build can write a file of that name's format, for asking before a long run. */
TESS_API tess_status tess_image_can_write(const char *path, char *error, size_t error_size);
/* How an image is written. */
typedef enum tess_compression {
    TESS_COMPRESS_NONE,
    TESS_COMPRESS_LZW,
    TESS_COMPRESS_DEFLATE,
    TESS_COMPRESS_ZSTD
} tess_compression;
typedef enum tess_doubt {
    TESS_DOUBT_NONE,
    TESS_DOUBT_SATURATED, /* more than one value in a hundred is beyond the format's range, or NaN */
    TESS_DOUBT_BLACK      /* all values lie within 0..1, and become 0 or 1 of 255 or 65535 */
} tess_doubt;
typedef enum tess_nodata {
    TESS_NODATA_KEPT, /* what `meta` says */
    TESS_NODATA_VALUE,
    TESS_NODATA_NONE
} tess_nodata;
/* Of tess_writer_open, where several write a file together, as processes do: the rows from..to that one of them adds.
 * Bytes go to `put`, from threads of the writer, which returns 0 or an errno; the one whose rows begin at 0 has those
 * around the rows too. For files whose rows lie one behind the other. */
typedef struct tess_file_share {
    int64_t from, to;
    int (*put)(void *user, uint64_t at, const void *bytes, size_t n);
    void *user;
} tess_file_share;
typedef struct tess_image_store {
    size_t struct_size;
    const tess_info *result; /* what the image is, of a program; NULL: not known */
    int picture_dims;        /* then its dimensions without channels; 0: all of them */
    int depth; /* 8 or 16: unsigned integers of so many bits; 1: images of bool as bits; 0: as format and type say */
    int scale; /* not 0: the range of the values becomes that of the integers */
    int strict; /* not 0: where there is a doubt, nothing is written, and it is an error */
    int tile; /* TIFF: pixels along a side of tiles, a multiple of 16 up to 4096; 0: strips of rows */
    tess_compression compress; /* TIFF */
    int pyramid; /* TIFF: not 0: smaller copies for viewers behind the picture; in tiles, of 256 where none is said */
    int text;    /* not 0: standard output gets text, as .txt files have it */
    const tess_meta *
        meta; /* NULL, or what the picture that the image was made from says: the file says it too */
    const tess_geometry
        *geometry;          /* where the image lies in that picture; NULL: it has the same points */
    const char *provenance; /* NULL, or what made it, as from tess_program_provenance */
    /* Of tess_writer_open: not 0: what there is of the file stays under its name with ".part" behind when it ends
     * early, and is gone on with: its first rows_there rows are kept (0: it begins anew). For NPY, TIFF, PGM, PPM and
     * PAM. */
    int resumes;
    int64_t rows_there;
    const tess_file_share *share; /* NULL: all rows */
    tess_nodata nodata_is;        /* what the file says about pixels without data */
    double nodata;                /* VALUE */
    /* Filled in: */
    tess_doubt doubt;
    int converted;     /* values were rounded, saturated or scaled; the numbers below are of that */
    DLDataType stored; /* of the elements in the file */
    int64_t n_saturated; /* values that did not fit */
    double lo, hi;       /* least and largest finite value; lo > hi: there is none */
    char left_out[200];  /* a sentence about what of `meta` the file does not say, or empty */
} tess_image_store;
TESS_API void tess_image_store_init(tess_image_store *store);
/* Writes as tess_image_write does, row by row. When it went well, `error` receives the doubt as a sentence, or is
 * empty. */
TESS_API tess_status tess_image_save(const char *path, const DLTensor *tensor,
                                     tess_image_store *store, char *error, size_t error_size);
/* Whether this build can write a file of that name in that way, for asking before a long run. */
TESS_API tess_status tess_image_can_store(const char *path, const tess_image_store *store,
                                          char *error, size_t error_size);
/* An uninitialised image of the given shape (1 to 5 dimensions), freed with tess_image_free; NULL when there is no
 * memory. */
TESS_API DLTensor *tess_image_new(DLDataType type, int ndim, const int64_t *shape);
TESS_API void tess_image_free(DLTensor *tensor);
/* Images in files a few rows at a time, a row being all of one index of the first dimension: read and written by
 * threads while others compute. Formats and sentences are those of tess_image_load and tess_image_save. Refused are
 * files that have to be in memory as a whole: stored turned, interlaced or in one piece, with pixels of several types,
 * of one dimension. */
typedef struct tess_reader tess_reader;
/* Opens a file for the input that `want` describes, which is borrowed until the end, and reads its head. */
TESS_API tess_status tess_reader_open(const char *path, const tess_info *want,
                                      tess_image_request *request, tess_reader **reader,
                                      char *error, size_t error_size);
TESS_API void tess_reader_close(tess_reader *reader);
TESS_API const DLTensor *tess_reader_image(const tess_reader *reader); /* its shape; no data */
/* Has rows from..to put at `rows`, one behind the other, from now on; one order at a time. Where a format does not know
 * where its rows are, earlier ones are read again from the beginning. */
TESS_API tess_status tess_reader_order(tess_reader *reader, int64_t from, int64_t to, void *rows,
                                       char *error, size_t error_size);
TESS_API tess_status tess_reader_wait(tess_reader *reader, char *error, size_t error_size);
typedef struct tess_reader_facts {
    size_t struct_size;
    uint64_t bytes; /* held beside the rows that are ordered */
    int starts;     /* how often the file was read from its beginning */
} tess_reader_facts;
TESS_API tess_status tess_reader_look(const tess_reader *reader, tess_reader_facts *facts);
typedef struct tess_writer tess_writer;
/* Begins a file of an image like `whole`, whose data are not looked at; `store` is borrowed until the end, and filled
 * in then. It cannot scale. */
TESS_API tess_status tess_writer_open(const char *path, const DLTensor *whole,
                                      tess_image_store *store, tess_writer **writer, char *error,
                                      size_t error_size);
/* Whether such a file can be written by several, each a share of its rows; TESS_ERROR_UNSUPPORTED where its rows do not
 * lie one behind the other. */
TESS_API tess_status tess_writer_can_share(const char *path, const DLTensor *whole,
                                           tess_image_store *store, char *error, size_t error_size);
/* Of such a file, when all have ended: store->n_saturated, lo and hi are those of all shares now. `error` receives a
 * doubt as from tess_image_save; with store->strict that is a failure. */
TESS_API tess_status tess_writer_join(const char *path, const DLTensor *whole,
                                      tess_image_store *store, char *error, size_t error_size);
/* The next rows, compact; they are read until the next call. */
TESS_API tess_status tess_writer_add(tess_writer *writer, const DLTensor *rows, char *error,
                                     size_t error_size);
/* Of a file that resumes: waits until what was added is on the disk; the first *n_rows rows are, and the file has
 * *n_bytes bytes. */
TESS_API tess_status tess_writer_settle(tess_writer *writer, int64_t *n_rows, uint64_t *n_bytes,
                                        char *error, size_t error_size);
/* Ends the file and frees the writer: the file shows if all rows came and `ok`, else nothing is left. When it went
 * well, `error` receives a doubt as from tess_image_save. */
TESS_API tess_status tess_writer_close(tess_writer *writer, int ok, char *error, size_t error_size);
/* Bytes of memory that are free on this machine, for this process. */
TESS_API uint64_t tess_memory_free(void);
/* The machine this runs on, as a machine description: what planning for it uses. Freed with tess_text_free. */
TESS_API tess_status tess_machine_text(char **text);
/* Device number `device` of the target CUDA or OPENCL, likewise. On failure `error` (may be NULL) receives one
 * sentence. */
TESS_API tess_status tess_device_text(tess_target target, int device, char **text, char *error,
                                      size_t error_size);
/* Name, driver, and the size of the last cache of the program's device. Borrowed. */
typedef struct tess_device_info {
    size_t struct_size;
    const char *name, *driver;
    uint64_t cache_bytes, memory_bytes;
} tess_device_info;
TESS_API tess_status tess_program_device(tess_program *p, tess_device_info *info);
/* The same with bandwidths, arithmetic and clock measured now, which takes about a second and wants the machine for
 * itself. They are remembered in the cache folder (as in tess_options), and planning uses them from then on. Where
 * others are at work meanwhile they would be too low: it is tried five times, then the figures of before stay. That,
 * or that there is no cache, stands in a comment ("# ...") at the head of the text, which always is what planning
 * uses now. */
TESS_API tess_status tess_machine_measure(const char *cache, char **text);
/* Whether figures that were measured are kept there: 1 or 0. */
TESS_API int tess_machine_is_measured(const char *cache);
/* What lies in the compile cache (as in tess_options.cache). `folder` is freed with tess_text_free. */
typedef struct tess_cache_state {
    size_t struct_size;
    char *folder;
    uint64_t n_entries, bytes;
    uint64_t most_bytes; /* beyond, what was unused for longest goes */
} tess_cache_state;
/* On failure, where there is no cache, `error` (may be NULL) receives one sentence. */
TESS_API tess_status tess_cache_look(const char *cache, tess_cache_state *state, char *error,
                                     size_t error_size);
/* Empties it, but for what tess_machine_measure keeps there, and says what was removed. Others may go on using it. */
TESS_API tess_status tess_cache_clear(const char *cache, tess_cache_state *removed, char *error,
                                      size_t error_size);
/* The border rules: name, aliases, picture, SciPy's and OpenCV's name; index from 0; TESS_ERROR_ARGUMENT past the
 * end. */
TESS_API tess_status tess_border_rule(size_t i, const char *fields[5]);

#ifdef __cplusplus
}
#endif

#include "tessera_parts.h" /* parts of larger images, for strips, several processes and devices */

#endif
