/* api: what the public objects are made of. A program is text plus options; a variant is that program compiled for
 * one set of compile-time constants (const inputs, and parameters that stand where a constant must), down to a
 * loaded module. */
#ifndef TESSERA_API_API_H
#define TESSERA_API_API_H

#include <setjmp.h>
#include <threads.h>

#include "analysis/analysis.h"
#include "emit/emit.h"
#include "front/ast.h"
#include "front/front.h"
#include "graph/graph.h"
#include "interp/interp.h"
#include "loop/loop.h"
#include "plan/plan.h"
#include "rt/cc.h"
#include "rt/module.h"
#include "rt/thread.h"
#include "tessera.h"
#include "vm/vm.h"

/* Memory shortage anywhere below jumps back to the public function that was called. The only setjmp of the library.
 *     Guard guard;
 *     if (GUARDED(&guard, &arena)) { ... } else { out of memory } */
typedef struct Guard {
    jmp_buf out;
} Guard;
void tessi_guard_arena(Guard *guard, Arena *arena); /* sets the arena's failure function */
#define GUARDED(guard, arena) \
    (setjmp((guard)->out) == 0 ? (tessi_guard_arena((guard), (arena)), true) : false)

struct tess_diags {
    Arena arena; /* owns sources and diagnostics */
    SourceMap sources;
    Diags diags;
};

/* The entry that every generated file has under TESSERA_ENTRY (emit/emit.h). */
typedef int (*ModuleEntry)(void *const *images, const ptrdiff_t *strides, const ptrdiff_t *params,
                           const void *scalars, int threads, void *workspace, ptrdiff_t *bytes);

/* What a program keeps for devices (api/gpu.h). */
typedef struct GpuContext GpuContext;
typedef struct GpuOpener GpuOpener;
typedef struct GpuCode GpuCode;
typedef struct GpuState GpuState;
typedef struct GpuText {
    const char *text; /* NULL: not printed yet */
    EmitModule module;
} GpuText;
/* What kernels may rely on, as numbers (gpu.h). */
enum { GPU_FORMS = 8 * PLAN_SIZES };
typedef struct GpuGeneral GpuGeneral; /* api/gpu_general.c */
typedef struct Backend Backend;       /* api/backend.h */

/* One compilation of a program for one set of constants; the later stops are made when first wanted. Its lock is
 * held meanwhile, and not that of the program, so that no run waits while another variant is compiled. Who needs
 * both locks takes the program's last. */
/* How long passes took, for people. */
typedef struct PassTime {
    const char *name;
    double ms;
} PassTime;
typedef VEC(PassTime) PassTimes;

typedef struct Variant Variant;
typedef struct General General; /* api/general.h */
/* What is planned for images of a size: turns of repeats may be one as others are for larger images. */
typedef struct PlannedSize {
    Graph *graph;
    Analysis *analysis;
    Plan *plan;
    LoopProgram *loops;
} PlannedSize;
struct Variant {
    const Backend *backend; /* of the program */
    Variant *next; /* guarded by the lock of the program, like its users and whether it is listed */
    int users;     /* runs in progress: a variant in use is not dropped */
    bool is_listed;
    /* its identity, set before it is listed: */
    VEC(FrontConstant) constants;
    bool is_packed; /* the pixels of its images lie one behind the other */
    mtx_t lock;     /* guards all that follows until it is made */
    bool has_lock;
    /* why there is no graph, of a variant whose text is at fault for its constants */
    Failure broken;
    Arena arena;
    Ast *ast;
    Typed *typed;
    Graph *lowered; /* as the front made it */
    Graph *meaning; /* simplified: rounding is decided; what the graph interpreter runs */
    Graph *
        written_out; /* `meaning`, the turns of repeats one behind the other where their number is known */
    Graph *graph; /* the same bits, cheaper: what is planned and lowered */
    Graph *
        turns; /* `graph` before turns of repeats became one; NULL: there are none, or no plan yet */
    Machine *machine;
    Analysis *analysis;
    Plan *plan;
    LoopProgram *loops;
    /* of GPUs: for images that are not large, by PlanSize less one; without a plan: not wanted yet */
    PlannedSize sizes[PLAN_SIZES - 1];
    struct GpuFacts *facts[PLAN_SIZES]; /* of GPUs: of their loops; NULL: not asked yet */
    const char *c_text;
    RtModule module;
    ModuleEntry entry;
    General *general; /* NULL: not wanted yet */
    /* loops for the row that `auto` runs in the place of the program's own; NULL: not wanted yet */
    Plan *other_plan;
    LoopProgram *other_loops;
    VmCode *vm; /* of the strip machine; NULL: not wanted yet */
    bool module_cached;
    bool is_known; /* its code was found without a plan (api/known.c): there is none */
    bool is_kept;  /* others will find it so */
    bool begun;    /* its code is compiled by another process */
    bool waits;    /* runs wait for it, though they need not */
    GpuText gpu_text[GPU_FORMS]; /* by what kernels may rely on */
    GpuCode *code;               /* of each context it was run in */
    GpuGeneral *gpu_general;     /* NULL: not wanted yet */
    bool is_private; /* of GPUs: to one thread; its plan is used for images of few points too */
    double front_ms, plan_ms, compile_ms; /* without the plan */
    PassTimes times;
    /* of C: runs with fewer points in the results gain nothing by threads; 0 = not known */
    double few_points;
};

/* An input in the signature, in the order of declaration. */
typedef struct Input {
    tess_info info;
    const char **channel_names;
    DLDataType *channel_types;
    ScalarType type; /* of a scalar */
} Input;

/* A parameter or const input whose value is needed while compiling. */
typedef struct ProgramConstant {
    const char *name;
    int64_t input; /* number in the signature */
    /* input image (number in the signature) whose size in dimension `dim` it is, or -1 */
    int64_t image;
    uint32_t dim;
    bool is_optional; /* a distance of pixels: nothing but speed needs it, where it is small */
} ProgramConstant;

/* A program for types of its inputs declared `any`. */
typedef struct Instance {
    struct Instance *next;
    tess_program *program;
} Instance;

struct tess_program {
    Arena arena; /* signature, options, text */
    char *text, *name;
    size_t n_text;
    tess_options options;   /* deep copy in the arena */
    const Backend *backend; /* that they name; of `auto` the first */
    VEC(Input) inputs, outputs;
    IdMap input_map; /* name to number in `inputs` plus one */
    VEC(ProgramConstant) constants;
    /* of inputs declared `any`: first what stands for all others, then those of the options */
    VEC(FrontType) types;
    bool is_part;        /* it computes parts of images on one of several devices */
    bool is_open;        /* a type is missing: the program has instances, and does not run itself */
    Instance *instances; /* guarded by the lock */
    /* guards what follows: the list of variants, tools, contexts. Nothing is compiled while it is held */
    mtx_t lock;
    /* guards general code for the CPU, also while it is compiled; before `lock` */
    mtx_t general_lock;
    bool has_lock;
    Variant *variants;
    RtHost host;         /* as in the options */
    bool has_tool;       /* the compiler was looked for: tool, or why there is none in no_tool */
    bool lacks_compiler; /* there is none at all, not even one that fails */
    CcTool tool;
    CcTrial *trial; /* what the tool takes is being found out; NULL: it is known */
    bool has_cache; /* the cache was opened; it may still be none */
    RtCache cache;
    char *general_text; /* code for masks of any extent; NULL: none yet */
    RtModule general_module;
    ModuleEntry general_entry;
    Variant *general_variant; /* of GPUs: held, for its general kernels; NULL: none yet */
    Failure no_tool;
    GpuOpener *opener;       /* of the program's own device; NULL on the CPU */
    GpuContext *own_context; /* among the following; NULL: not wanted yet */
    GpuContext *contexts;    /* all that runs have used */
    Failure failure;
};

typedef struct DeviceTeam DeviceTeam; /* devices.h */

typedef struct BoundImage {
    bool set;
    void *owned; /* memory of the library that the data lie in; NULL: the caller's */
    /* of a result, on devices: only rows skip..skip + wanted are stored, and the others need no memory */
    bool is_window;
    int64_t skip, wanted;
    DLTensor tensor;
    int64_t shape[MAX_DIMS + 1], strides[MAX_DIMS + 1];
} BoundImage;
struct tess_args {
    const tess_program *program;
    BoundImage *inputs; /* indexed like program->inputs */
    double *scalars;    /* indexed like program->inputs */
    bool *scalar_set;
    BoundImage *outputs; /* indexed like program->outputs */
    bool has_results;
    ModuleEntry entry; /* of the run in hand, and what it takes behind the program's parameters */
    const int64_t *more_params;
    uint32_t n_more_params;
    double few_points; /* of the variant */
    void *workspace;   /* for intermediate images, kept from run to run */
    ptrdiff_t workspace_bytes;
    RtOrigin origin;
    GpuState *gpu;    /* buffers on a device, kept likewise; NULL: none */
    DeviceTeam *team; /* of runs in parts; NULL: none yet */
    /* of the last run: each loop with a condition, in order, and behind them their names; NULL: there are none */
    LoopEnd *ends;
    uint32_t n_ends;
    tess_timing timing;
    Failure failure;
};

/* ---- info.c */
void tessi_program_failure(tess_program *p, const Failure *f); /* of the call in hand; or none */

/* ---- args.c */
/* A call with these arguments begins: no failure yet. False with one when they were made for another program. */
bool tessi_args_begin(const tess_program *p, tess_args *a);

/* ---- ends.c: loops that a condition may end */
bool tessi_ends_begin(tess_args *a, const Graph *g); /* room for those of a program */
void tessi_ends_free(tess_args *a);

/* ---- types.c */
DLDataType tessi_dl_type(ScalarType t);
bool tessi_scalar_type(DLDataType d, ScalarType *t);
const char *tessi_dl_type_text(DLDataType d, char buffer[32]);

/* ---- compile.c: text to graph, and the signature */
tess_diags *tessi_diags_new(void);
void tessi_options_copy(Arena *a, const tess_options *from, tess_options *o); /* texts too */
int64_t tessi_input_number(const tess_program *p, const char *name); /* -1 when there is none */
/* Parses, checks, lowers and simplifies into `v` (arena ready, constants set). False with diagnostics in `d`. */
bool tessi_compile_front(const tess_program *p, Variant *v, tess_diags *d);
/* The program is the text of a graph, without tree and types. */
bool tessi_is_graph_text(const tess_program *p);

/* Tells the host what is done from now on (tess_options.phase). */
static inline void tessi_phase(const tess_program *p, const char *what)
{
    if (p->options.phase)
        p->options.phase(p->options.user, what);
}

/* ---- passes.c: graph to C text; each false with one sentence */
bool tessi_pass_plan(tess_program *p, Variant *v, tess_diags *d, Failure *f);
bool tessi_pass_loops(Variant *v, Failure *f);
/* The loops for another row, planned for its machine. */
bool tessi_pass_other_loops(tess_program *p, const Backend *b, Variant *v, tess_diags *d,
                            Failure *f);
/* Plans for images of a size, of a variant with loops for large ones. */
bool tessi_pass_size(Variant *v, PlanSize size, Failure *f);
/* What was planned for them. */
PlannedSize tessi_planned(const Variant *v, PlanSize size);
/* The size whose plan a run with these size parameters uses. */
PlanSize tessi_size_of_run(const tess_program *p, const Variant *v, const int64_t *params);
/* That plan, which is made where it has to be, of a variant with one for large images. */
bool tessi_pass_planned(const tess_program *p, Variant *v, const int64_t *params, PlannedSize *out,
                        Failure *f);
/* The naive plan, lowered. */
LoopProgram *tessi_pass_reference(const Variant *v, const Machine *m, Arena *a, Failure *f);
/* The same for a build ahead of time by a row: for the machine described in the options, for the program's own when
 * that is of the same kind, else for a GPU as there are many. The variant's own plan may be another. NULL with one
 * sentence. */
LoopProgram *tessi_pass_ahead(tess_program *p, const Backend *b, Variant *v, tess_diags *d,
                              Failure *f);

/* Notes how long a pass took that began at `start` (tessi_clock_ms); times may be NULL. */
void tessi_pass_note(PassTimes *times, Arena *a, const char *name, double start);
/* The description that is planned for: that of the options, else what the row says; false with a sentence. */
bool tessi_pass_machine_text(tess_program *p, const Backend *b, Text *out, Failure *f);
/* Lowered, and through all passes over loops with the verifier after each; NULL with one sentence. */
LoopProgram *tessi_pass_lower(Arena *a, const Graph *g, const Plan *plan, const Machine *m,
                              Failure *f);
/* The same as far as the pass of that name ("lower": none over loops), noting times in `times`, which may be NULL. */
LoopProgram *tessi_pass_lower_until(const Variant *v, Arena *a, const char *last, PassTimes *times,
                                    Failure *f);
/* The passes over loops at hand; those behind the one named `first`. */
LoopProgram *tessi_pass_check_loops(LoopProgram *loops, Failure *f);
LoopProgram *tessi_pass_loops_behind(LoopProgram *loops, const char *first, const char *last,
                                     Failure *f);

/* ---- instance.c */
bool tessi_types_copy(tess_program *p); /* of the options; false: one is no type of the language */
/* Whether an image is declared `any` and has no type. */
bool tessi_lacks_types(const tess_program *p, const Ast *ast);
bool tessi_is_open(const tess_program *p, const AstDecl *decl); /* this one */
/* A program whose types are open cannot be run: one sentence. */
bool tessi_types_known(const tess_program *p, Failure *f);
void tessi_instances_free(tess_program *p);

/* ---- variant.c */
/* An empty one; NULL when there is no memory. */
Variant *tessi_variant_new(const Backend *b);
void tessi_variant_free(Variant *v);
/* The variant for the constants of `args` (NULL: those of the options), made if there is none yet. It is held
 * against being dropped, until it is released, and its lock is held. NULL with f filled, and the diagnostics (may be
 * NULL) when the program text is at fault. */
Variant *tessi_variant_enter(tess_program *p, const tess_args *args, tess_diags **diags,
                             Failure *f);
/* The same, with diagnostics for the passes that follow: *diags is made in any case but shortage of memory. */
Variant *tessi_variant_for_passes(tess_program *p, const tess_args *args, tess_diags **diags,
                                  Failure *f);
/* Unlocks and releases it; NULL is fine. */
void tessi_variant_leave(tess_program *p, Variant *v);
void tessi_variant_hold(tess_program *p, Variant *v); /* once more */
void tessi_variant_release(tess_program *p, Variant *v);

/* ---- bind.c: arguments against the graph */
typedef struct Binding {
    int64_t *params;
    Value *scalars;
    InterpImage *inputs, *outputs; /* as the graph numbers them */
} Binding;
/* Checks sizes against each other, gives every parameter and scalar its value, and allocates results where the
 * caller gave no memory, once it is known that the run fits this machine: with the workspace of `loops`, or with
 * every stage stored when it is NULL (the interpreter). Everything in `arena`, except the results. */
bool tessi_bind(const tess_program *p, const Variant *v, const LoopProgram *loops, tess_args *a,
                Arena *arena, Binding *out, Failure *f);
/* The values of the graph's scalars alone; f may be NULL. */
bool tessi_bind_scalars(const tess_program *p, const Variant *v, const tess_args *a, Value *values,
                        Failure *f);
/* The same without regard to the memory of this machine, for runs on a device; Binding.inputs and .outputs mean
 * nothing. */
bool tessi_bind_for_device(const tess_program *p, const Variant *v, tess_args *a, Arena *arena,
                           Binding *out, Failure *f);
/* Bytes that a run fills: images, results, and the workspace of `loops`, or every stage where it is NULL. */
typedef struct RunBytes {
    double images, results, between;
} RunBytes;
RunBytes tessi_run_bytes(const Graph *g, const LoopProgram *loops, const int64_t *params,
                         Arena *arena);
/* The tensor bound to an input image of that name. */
const BoundImage *tessi_bound_input(const tess_program *p, const tess_args *a, const char *name);
/* Whether tessi_bind would find fault with what is given; allocates no results. */
bool tessi_bind_check(const tess_program *p, const Variant *v, const tess_args *a, Arena *arena,
                      Failure *f);
/* The same, and whether this machine has memory for it even if every stage were stored. */
bool tessi_bind_fits_stored(const tess_program *p, const Variant *v, const tess_args *a,
                            Arena *arena, Failure *f);
/* The shape of the tensor that an input or a result is, for these parameters. */
bool tessi_image_shape(const tess_info *info, const Graph *g, const Image *image,
                       const int64_t *params, int *ndim, int64_t *shape, Failure *f);
bool tessi_bind_sizes(const tess_program *p, const Variant *v, const tess_args *a, Arena *arena,
                      int64_t *params, Failure *f);

/* ---- module.c */
/* The first call opens it; the lock of the program must be held. */
void tessi_open_cache(tess_program *p);
void tessi_forget_tools(tess_program *p);

/* ---- run.c: for those who run otherwise than by tess_run */
/* Compares pixels bit by bit (any NaN equals any NaN), or within a tolerance relative to the largest of them,
 * integers within one; false with a sentence about the first difference. */
bool tessi_same_image(const Image *image, const InterpImage *have, const InterpImage *want,
                      double tolerance, Failure *f);
/* Compact, zeroed memory for every result in again[]; memory[o] is the caller's to free, also after a failure. */
bool tessi_results_again(const Graph *g, const Binding *b, InterpImage *again, void **memory,
                         Failure *f);

#endif
