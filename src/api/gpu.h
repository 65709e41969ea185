/* The device side of programs and runs: contexts, compiled kernels, images on the device. Runs on a device are put
 * together here from what emit/ says of the kernels and what rt/device.h can do. */
#ifndef TESSERA_API_GPU_H
#define TESSERA_API_GPU_H

#include <stdatomic.h>
#include <threads.h>

#include "api/backend.h"
#include "emit/emit.h"
#include "rt/device.h"

/* ---- gpu_backend.c: the rows of targets with a device ---- */
extern const char tessi_gpu_other_plan[];
bool tessi_gpu_describe(tess_program *p, Text *out, Failure *f);
void tessi_gpu_drop(Variant *v);
void tessi_gpu_forget(tess_args *a);
bool tessi_gpu_ready(Run *run);
bool tessi_gpu_bind(const Run *run, Binding *b);
bool tessi_gpu_time(tess_program *p, bool (*work)(void *user, Failure *f), void *user, double *ms,
                    Failure *f);
bool tessi_gpu_print_loops(const Backend *b, const tess_program *p, Variant *v, Text *out,
                           Failure *f);
LoopProgram *tessi_gpu_ahead(const Backend *b, tess_program *p, Variant *v, tess_diags *d,
                             const Machine **reference, Failure *f);
/* What they have in common, as members of a row. */
#define GPU_BACKEND                                                                         \
    .reference_prelude = tessi_embedded_prelude_c, .other_plan = tessi_gpu_other_plan,      \
    .open = tessi_gpu_open_early, .close = tessi_gpu_close_all, .drop = tessi_gpu_drop,     \
    .forget = tessi_gpu_forget, .describe = tessi_gpu_describe, .prepare = tessi_gpu_ready, \
    .bind = tessi_gpu_bind, .launch = tessi_gpu_run, .can_repeat = tessi_gpu_can_repeat,    \
    .repeat = tessi_gpu_repeat, .fetch = tessi_fetch_image, .own_powers = true,             \
    .time = tessi_gpu_time, .tune = &tessi_tune_gpu, .print = tessi_gpu_print_loops,        \
    .ahead = tessi_gpu_ahead

/* ---- gpu_context.c ---- */
/* An open device. The program holds it until it is freed, images made by the library until they are. */
struct GpuContext {
    GpuContext *next; /* of the program */
    Device *device;
    atomic_int holders;
};
/* The context of the program's own device. It is opened by a thread of its own, which tess_compile starts, so that a
 * driver's start-up, the slowest part of a first run, runs beside the compiler. */
struct GpuOpener {
    DeviceKind kind;
    int number;
    RtThread thread;
    bool done; /* device or failure is filled */
    Device *device;
    Failure failure;
};
void tessi_gpu_open_early(tess_program *p);
void tessi_gpu_close_all(tess_program *p);
/* The program's own device; NULL with the sentence. The lock must be held. */
GpuContext *tessi_gpu_default_context(tess_program *p, Failure *f);
/* The context to run in: that of the stream, else that of the first tensor in device memory, else the program's own.
 * The lock must be held. */
GpuContext *tessi_gpu_context(tess_program *p, const tess_args *a, void *stream, Failure *f);
/* That of one tensor in device memory. The lock must be held. */
GpuContext *tessi_gpu_context_of(tess_program *p, const DLTensor *t, Failure *f);
void tessi_gpu_hold(GpuContext *c);
void tessi_gpu_release(GpuContext *c); /* NULL is fine */

/* ---- gpu_code.c ---- */
/* What kernels may rely on in a run, as bits. */
enum {
    GPU_WIDE = 1,    /* coordinates need 64 bits */
    GPU_ALIGNED = 2, /* all rows of all images begin at multiples of 16 bytes */
    GPU_GENERAL = 4, /* masks may have any extent */
    GPU_SIZE = 8     /* times the size of the images that they were planned for */
};
/* What such kernels were planned for, and their loops. */
PlanSize tessi_gpu_size(unsigned form);
const LoopProgram *tessi_gpu_loops(const Variant *v, unsigned form);
/* ---- gpu_modules.c: a text of kernels in parts, which are compiled side by side */
enum { GPU_MOST_MODULES = 8 };
typedef struct GpuModules {
    DeviceModule *at[GPU_MOST_MODULES];
    uint32_t first[GPU_MOST_MODULES
                   + 1]; /* part of the text in each; behind the last, how many there are */
    uint32_t n;
} GpuModules;
/* The device's compiler for the parts, one thread each; from the cache alone with `recall` (device.h). *cached: nothing
 * had to be compiled. False leaves no module. */
bool tessi_gpu_modules_build(GpuModules *m, const GpuCode *code, const RtCache *cache, bool recall,
                             bool *cached, Failure *f);
/* Whether runs fill variables of the text, which then is one module. */
bool tessi_gpu_has_variables(const EmitModule *m);
DeviceModule *tessi_gpu_module_of(const GpuModules *m, const GpuKernel *kernel);
void tessi_gpu_modules_free(GpuModules *m, Device *d);

/* The kernels of a variant, compiled for one context. */
struct GpuCode {
    GpuCode *next;
    GpuContext *context;
    unsigned form;
    bool cached;
    double compile_ms;
    const char *text;
    const LoopProgram *loops;
    const EmitModule *emitted;
    GpuModules modules;
    DeviceKernel **kernels; /* one for each of emitted->kernels */
    /* of runs that fill the same variables of the module; NULL: there are none */
    struct GpuTurns *turns;
};
/* Work that one run puts on its stream waits for that of the run before, whatever the stream. */
bool tessi_gpu_take_turn(const GpuCode *code, DeviceStream stream, Failure *f);
bool tessi_gpu_end_turn(const GpuCode *code, DeviceStream stream, Failure *f);
/* Made on first use; the variant's lock must be held. */
const GpuCode *tessi_gpu_code(tess_program *p, Variant *v, GpuContext *c, unsigned form,
                              Failure *f);
/* The same in steps: what there is, or NULL; printed; compiled, or from the cache alone (false without a failure
 * when it is not there), which needs no lock; the variant's from then on. */
const GpuCode *tessi_gpu_code_find(const Variant *v, const GpuContext *c, unsigned form);
GpuCode *tessi_gpu_code_print(tess_program *p, Variant *v, GpuContext *c, unsigned form,
                              Failure *f);
bool tessi_gpu_code_load(const tess_program *p, GpuCode *code, bool recall, Failure *f);
void tessi_gpu_code_add(Variant *v, GpuCode *code);
/* The text for the program's target; the variant's lock must be held. */
const char *tessi_gpu_text(const tess_program *p, Variant *v, unsigned form);
void tessi_gpu_code_free(GpuCode *code);

/* ---- gpu_general.c ---- */
/* The kernels of this form; or general ones, as long as a thread compiles these, where the options say so. The
 * variant's lock must be held. */
const GpuCode *tessi_gpu_code_now(tess_program *p, Variant *v, GpuContext *c, unsigned form,
                                  const int64_t *params, Failure *f);
/* The parameters of such kernels: those of the program, and what general ones take behind them. */
const int64_t *tessi_gpu_params(const Variant *v, const GpuCode *code, const int64_t *params,
                                Arena *arena);
void tessi_gpu_general_forget(Variant *v); /* waits for the threads */

/* ---- gpu_image.c ---- */
/* An image somewhere: pixels at base + offset + sum of index * stride. */
typedef struct GpuImage {
    bool on_device;
    void *base; /* host memory, or handle of a buffer */
    size_t offset;
    int n_dims;
    int64_t size[MAX_DIMS], stride_bytes[MAX_DIMS];
    size_t pixel_bytes;
    int64_t unit_bytes; /* strides of kernels count these */
} GpuImage;
GpuImage tessi_gpu_image(const Image *image, const BoundImage *b);
bool tessi_on_device(const DLTensor *t);
/* Rows begin at multiples of 16 bytes, as the kernels will see them. */
bool tessi_gpu_is_aligned(const GpuImage *im, bool addresses);
/* First and one-past-last byte, counted from `base`. */
void tessi_gpu_extent(const GpuImage *im, int64_t *begin, int64_t *end);
/* The layout of an image on the device: rows start at multiples of 64 bytes. Returns its bytes. */
size_t tessi_gpu_layout(GpuImage *im);
/* Puts copies of whole images on the stream; both have the same sizes. */
bool tessi_gpu_copy_image(Device *d, const GpuImage *to, const GpuImage *from, DeviceStream stream,
                          Failure *f);

/* ---- gpu_call.c ---- */
/* Of an output when kernels compute more rows than are wanted. */
typedef struct GpuPart {
    bool is_part;
    int64_t rows;         /* that kernels compute */
    int64_t skip, wanted; /* of these the caller's image gets rows [skip, skip + wanted) */
} GpuPart;
/* What a kernel sequence is run on. */
typedef struct GpuCall {
    const int64_t *params; /* of the loops of the kernels */
    const Value *scalars;
    const GpuImage *images; /* inputs, then outputs */
    const GpuPart *parts;   /* likewise; NULL: all whole */
    LoopEnd *ends; /* out: how loops with conditions end, for as long as the call is launched */
} GpuCall;
/* Buffers of one run in flight, kept for the next. */
typedef struct GpuSlot GpuSlot;
GpuSlot *tessi_gpu_slot_new(const GpuCode *code);
void tessi_gpu_slot_free(GpuSlot *s);
Device *tessi_gpu_slot_device(const GpuSlot *s);
/* Makes buffers, sets the kernels' arguments. TESS_ERROR_MEMORY when the device has not enough. */
bool tessi_gpu_prepare(GpuSlot *s, const GpuCall *call, Failure *f);
/* Put on the stream: copies to the device, kernels, copies back. */
bool tessi_gpu_upload(GpuSlot *s, DeviceStream stream, Failure *f);
bool tessi_gpu_launch(GpuSlot *s, DeviceStream stream, Failure *f);
bool tessi_gpu_download(GpuSlot *s, DeviceStream stream, Failure *f);
bool tessi_gpu_touches_host(const GpuSlot *s); /* some image is in memory of the host */

/* ---- gpu_strips.c ---- */
/* The same call in strips of rows, as few as fit; waits until it is done. *f holds why it could not be done at once,
 * and also says why not in strips when the program cannot be run so. */
bool tessi_gpu_run_strips(const Variant *v, const GpuCode *code, const GpuCall *call,
                          DeviceStream stream, Arena *arena, int *n_strips, Failure *f);
/* Large images of the host, in strips that cross the bus in both directions at once; *n_strips is 0 where the call is
 * better, or only, run as a whole, which is nothing that failed. */
bool tessi_gpu_run_piped(const Variant *v, const GpuCode *code, const GpuCall *call,
                         DeviceStream stream, Arena *arena, int *n_strips, Failure *f);

/* ---- gpu_run.c ---- */
/* What tess_args keep for a device between runs. */
struct GpuState {
    GpuContext *context; /* held */
    const GpuCode *code;
    tess_program *program;
    Variant *variant; /* that the code belongs to; held against being dropped */
    GpuSlot *slot;
    bool fresh;   /* nothing was bound since the slot was prepared */
    void *stream; /* for which it was */
    DeviceEvent begin, end;
};
void tessi_gpu_state_free(GpuState *s);
/* Whether a run would be the last one again, and that run: nothing is looked up, locked or allocated. */
bool tessi_gpu_can_repeat(const tess_args *a, const void *stream);
bool tessi_gpu_repeat(tess_args *a);
/* The size of images whose plan a run on images that are bound uses, which is made then. The variant's lock must be
 * held. */
bool tessi_gpu_size_of_run(const tess_program *p, Variant *v, const tess_args *a,
                           const GpuContext *c, Arena *arena, PlanSize *size, Failure *f);
/* What a run compiles before it begins. */
bool tessi_gpu_compile(tess_program *p, Variant *v, tess_args *a, GpuContext *context,
                       Arena *arena);
bool tessi_gpu_run(const Run *run, const Binding *b);

/* ---- time.c ---- */
/* Milliseconds of `work` between two events of the default stream. */
bool tessi_time_on_device(Device *d, bool (*work)(void *user, Failure *f), void *user, double *ms,
                          Failure *f);

/* ---- image.c, device_image.c ---- */
/* What the library gives out as a DLTensor: with room for its shape and strides, and its memory. */
typedef struct OwnedTensor {
    DLTensor tensor; /* first, so that the pointers convert */
    int64_t shape[MAX_DIMS + 1], strides[MAX_DIMS + 1];
    GpuContext *context; /* held, of data in device memory; NULL: data is from malloc */
    size_t device_bytes;
} OwnedTensor;
/* Everything but the data; rows without gaps. */
void tessi_owned_tensor(OwnedTensor *t, DLDataType type, int ndim, const int64_t *shape);
void tessi_device_image_free(OwnedTensor *t); /* its device memory */
/* Brings an image in device memory to fresh memory of the host, to be freed by the caller; *im is changed to it.
 * Other images stay. */
bool tessi_fetch_image(tess_program *p, const Image *image, const BoundImage *b, InterpImage *im,
                       void **memory, Failure *f);

#endif
