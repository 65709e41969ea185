/* api: what a target is to the library. Each is a row: a struct that a file backend_*.c fills. Whoever runs, times,
 * tunes, prints or builds a program asks the row, and never which target it is. */
#ifndef TESSERA_API_BACKEND_H
#define TESSERA_API_BACKEND_H

#include "api/api.h"
#include "rt/device.h"

/* How plans become running code that is measured (api/tune.h). */
typedef struct TuneLane TuneLane;
extern const TuneLane tessi_tune_c, tessi_tune_gpu;

/* Of targets that run on a device. */
typedef struct BackendDevice {
    DeviceKind kind;
    int32_t memory;      /* DLDevice.device_type of tensors in its memory are */
    int32_t host_memory; /* of the host, which its driver has made; 0: none */
    bool addresses;     /* their data are addresses; else handles of buffers, which begin aligned */
    bool usual_context; /* one for most streams and tensors, which is the program's own */
    /* A kernel tess_copy(from, to, n): thread i of blocks of 256 copies the 16 bytes number i below n. */
    const char *copy_text;
} BackendDevice;

/* One run. */
typedef struct Run {
    const Backend *backend;
    tess_program *p;
    Variant *v;
    tess_args *a;
    bool wants_plan;     /* it is not enough to find code */
    void *stream;        /* of the caller's; NULL: none */
    GpuContext *context; /* of devices, set by prepare */
    Arena *arena;        /* of bind and launch */
} Run;

struct Backend {
    tess_target target;
    const char *name;            /* --target=NAME */
    const BackendDevice *device; /* NULL: it runs on the processor */

    /* ---- What is compiled; NULL where nothing is ---- */
    const EmitTarget *emit;
    const char *prelude, *vector_prelude, *reference_prelude; /* as in EmitOptions */
    /* the sentence when a plan is for processors and not devices, or the other way round */
    const char *other_plan;

    /* ---- Programs ---- */
    bool (*can_run)(tess_program *p); /* auto is the first that can; NULL: it never is this */
    void (*open)(tess_program *p);    /* starts what takes long to start; NULL: nothing does */
    void (*close)(tess_program *p);   /* what the program has for it; NULL: nothing */
    void (*drop)(Variant *v);         /* what a variant has; NULL: nothing */
    void (*forget)(tess_args *a);     /* what arguments have; NULL: nothing */
    /* The machine, as a description to plan for. */
    bool (*describe)(tess_program *p, Text *out, Failure *f);

    /* ---- Runs; each false with run->a->failure ---- */
    /* Makes of the variant, which is locked, what a run with these arguments needs. */
    bool (*prepare)(Run *run);
    /* Gives sizes and numbers their values, and results their memory. */
    bool (*bind)(const Run *run, Binding *b);
    /* Runs, and says in run->a->timing how long. */
    bool (*launch)(const Run *run, const Binding *b);
    /* Whether a run would be the last one again, and that run, without a lock or a look-up; NULL: never. */
    bool (*can_repeat)(const tess_args *a, const void *stream);
    bool (*repeat)(tess_args *a);
    /* Brings an image to fresh memory of the host, which the caller frees, and changes *im to it; NULL: it is there. */
    bool (*fetch)(tess_program *p, const Image *image, const BoundImage *b, InterpImage *im,
                  void **memory, Failure *f);
    bool as_written;       /* sums are taken as the program says, whatever the plan does */
    bool own_powers;       /* fast rounding uses its own powers of two */
    const char *last_pass; /* over loops; NULL: all of them */

    /* ---- Measuring ---- */
    /* Milliseconds of `work`. */
    bool (*time)(tess_program *p, bool (*work)(void *user, Failure *f), void *user, double *ms,
                 Failure *f);
    const TuneLane *tune; /* NULL: its plans cannot be measured */

    /* ---- Texts ---- */
    /* The variant's program as it would be compiled; the loops are there. */
    bool (*print)(const Backend *b, const tess_program *p, Variant *v, Text *out, Failure *f);
    /* Loops for a build ahead of time, and the machine that its reference is for. NULL with one sentence. */
    LoopProgram *(*ahead)(const Backend *b, tess_program *p, Variant *v, tess_diags *d,
                          const Machine **reference, Failure *f);
    /* Compiles the text of a build to a file; NULL: it is compiled by others. */
    bool (*compile)(tess_program *p, const char *text, CcKind kind, const char *path, Failure *f);
};

#define BACKEND(id, row) extern const Backend tessi_backend_##row;
#include "api/backends.def"
#undef BACKEND

/* All rows, NULL at the end. The first is that of the processor: it prints the references of builds, and headers
 * that dumps show. */
extern const Backend *const tessi_backends[];
/* The row of a target, of `auto` the first; NULL: there is no such target. */
const Backend *tessi_backend_of(tess_target t);
/* The row whose device has such memory; NULL: it is memory of the host. */
const Backend *tessi_backend_of_memory(int32_t memory);
/* Memory that every target reads. */
bool tessi_is_host_memory(int32_t memory);
/* What the program runs on: what its options say, and what `auto` means here. */
const Backend *tessi_backend(tess_program *p);

/* How a program is printed. */
EmitOptions tessi_backend_options(const tess_program *p, const Backend *b);
/* False with the sentence when the plan is not for such a target. */
bool tessi_backend_fits(const Backend *b, const Plan *plan, Failure *f);

/* ---- run.c: for the rows */
/* Plan and loops; then `load` (may be NULL) makes code of them, which the timing counts apart. */
bool tessi_run_passes(const Run *run, bool (*load)(tess_program *p, Variant *v, Failure *f));
/* Before a compiler is set to work: whether the arguments fit. */
bool tessi_run_fits(const Run *run);
/* Whether the machine has memory enough for it even if every stage were stored. */
bool tessi_run_fits_stored(const Run *run);
/* There is one processor. */
bool tessi_run_on_host(const Run *run);
/* The variant for these arguments, ready for runs and held until it is released; NULL with a->failure. */
Variant *tessi_run_acquire(Run *run);
/* Binds and launches. */
bool tessi_run_variant(const Run *run);

/* ---- machine, clock and memory of rows that run on the processor */
bool tessi_host_describe(tess_program *p, Text *out, Failure *f);
bool tessi_host_time(tess_program *p, bool (*work)(void *user, Failure *f), void *user, double *ms,
                     Failure *f);
/* A workspace of so many bytes, false where there is no memory; what the old one held does not matter. */
bool tessi_host_workspace(tess_args *a, int64_t bytes);
void tessi_host_forget(tess_args *a);

#endif
