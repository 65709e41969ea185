/* tess_run: one run by the chosen target; tess_verify: the same by the graph interpreter, compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/general.h"
#include "api/gpu.h"
#include "base/rounding.h"
#include "emit/emit.h"
#include "interp/graph_interp.h"
#include "interp/loop_interp.h"
#include "rt/clock.h"
#include "rt/memory.h"

/* OpenMP's runtime ends the process when it cannot start as many threads as it is told to. */
enum { MOST_THREADS = 256 };
enum { ENTRY_NEEDS_MEMORY = 3 }; /* emit/emit.h */

/* Image number i among inputs and outputs as the generated entry wants it: strides in elements, or bytes for mixed structs. */
static void entry_strides(const Image *image, const InterpImage *in, ptrdiff_t *strides)
{
    int64_t unit = tessi_type_info(image->channels.at[0].type)->bytes;
    VEC_FOREACH (const Channel, c, &image->channels)
        if (c->type != image->channels.at[0].type)
            unit = 1;
    for (int d = 0; d < image->n_dims; d++)
        strides[d] = (ptrdiff_t)(in->stride_bytes[d] / unit);
}

/* A workspace of so many bytes; what the old one held does not matter. */
static bool grow_workspace(tess_args *a, ptrdiff_t bytes)
{
    free(a->workspace);
    a->workspace = bytes < PTRDIFF_MAX ? tessi_memory_new((size_t)bytes) : NULL;
    a->workspace_bytes = a->workspace ? bytes : 0;
    return a->workspace != NULL;
}

/* Points of all results in a run with these size parameters. */
static double points_of(const Graph *g, const int64_t *params)
{
    double points = 0;
    VEC_FOREACH (const Image, image, &g->outputs) {
        double n = 1;
        int64_t size;
        for (int d = 0; d < image->n_dims; d++)
            n *= tessi_size_eval(g, image->size[d], params, &size) ? (double)size : 0;
        points += n;
    }
    return points;
}

/* Asks the model once what a point costs; the variant's lock is held. */
static void estimate_point(const tess_program *p, Variant *v, const tess_args *a)
{
    const Graph *g = v->graph;
    Failure ignored;
    Guard guard;
    if (v->point_seconds > 0 || !GUARDED(&guard, &v->arena))
        return;
    int64_t *params = ARENA_NEW_ARRAY(&v->arena, int64_t, g->params.n);
    if (!tessi_bind_sizes(p, v, a, &v->arena, params, &ignored))
        return;
    const double points = points_of(g, params);
    const PlanEstimate e = tessi_plan_estimate(v->plan, g, v->analysis, v->machine, params);
    v->point_seconds = points > 0 ? e.seconds * (double)v->machine->cores / points : 0;
}

/* One thread where it would be done before others have been woken; else what the options say. */
static int threads_for(const tess_program *p, const Variant *v, const tess_args *a,
                       const Binding *b)
{
    const double STARTS = 3; /* of a parallel loop: what it costs to share little */
    const double seconds = a->point_seconds * points_of(v->graph, b->params);
    const bool little = seconds > 0 && seconds < STARTS * v->machine->thread_start_us * 1e-6;
    return little ? 1 : p->options.threads;
}

typedef struct EntryCall {
    ModuleEntry entry;
    void *const *images;
    const ptrdiff_t *strides, *params;
    const void *scalars;
    int threads;
    tess_args *a;
} EntryCall;

/* In a workspace that is large enough; ENTRY_NEEDS_MEMORY when there is none. */
static int call_entry(void *user)
{
    const EntryCall *c = user;
    tess_args *a = c->a;
    ptrdiff_t bytes = a->workspace_bytes;
    int status =
        c->entry(c->images, c->strides, c->params, c->scalars, c->threads, a->workspace, &bytes);
    if (status == ENTRY_NEEDS_MEMORY && grow_workspace(a, bytes))
        status = c->entry(c->images, c->strides, c->params, c->scalars, c->threads, a->workspace,
                          &bytes);
    return status;
}

/* A thread that went through a fork would wait for helpers that OpenMP had given it before: a fresh one gets helpers of its own. */
static int call_where_it_can(EntryCall *c)
{
    RtThread thread;
    if (c->threads == 1 || !tessi_thread_came_by_fork(&c->a->origin))
        return call_entry(c);
    if (tessi_thread_start(&thread, call_entry, c))
        return tessi_thread_join(&thread);
    c->threads = 1;
    return call_entry(c);
}

bool tessi_run_entry(const Graph *g, ModuleEntry entry, const Binding *b, int threads, Arena *arena,
                     tess_args *a)
{
    Failure *f = &a->failure;
    uint32_t n = g->inputs.n + g->outputs.n;
    void **images = ARENA_NEW_ARRAY(arena, void *, n);
    ptrdiff_t *strides = ARENA_NEW_ARRAY(arena, ptrdiff_t, (size_t)n * EMIT_STRIDES);
    ptrdiff_t *params = ARENA_NEW_ARRAY(arena, ptrdiff_t, g->params.n + a->n_more_params);
    for (uint32_t i = 0; i < n; i++) {
        bool is_input = i < g->inputs.n;
        const Image *image = is_input ? &g->inputs.at[i] : &g->outputs.at[i - g->inputs.n];
        const InterpImage *bound = is_input ? &b->inputs[i] : &b->outputs[i - g->inputs.n];
        images[i] = bound->data;
        entry_strides(image, bound, strides + (size_t)i * EMIT_STRIDES);
    }
    for (uint32_t i = 0; i < g->params.n; i++)
        params[i] = (ptrdiff_t)b->params[i];
    for (uint32_t i = 0; i < a->n_more_params; i++)
        params[g->params.n + i] = (ptrdiff_t)a->more_params[i];
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    EntryCall call = { entry, images, strides, params, b->scalars, threads, a };
    switch (call_where_it_can(&call)) {
    case 0: return true;
    case ENTRY_NEEDS_MEMORY:
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory for the intermediate images");
    default:
        return tessi_failf(f, TESS_ERROR_INTERNAL,
                           "internal error in the generated code: it refused the sizes");
    }
}

/* What auto means here: the C compiler when there is one. Should that fail, the run fails, and says why: the interpreter would take
 * thousands of times as long. */
tess_target tessi_target(tess_program *p)
{
    if (p->options.target != TESS_TARGET_AUTO)
        return p->options.target;
    mtx_lock(&p->lock);
    tessi_expect_compiler(p);
    const bool lacks = p->lacks_compiler;
    mtx_unlock(&p->lock);
    return lacks ? TESS_TARGET_INTERP : TESS_TARGET_C;
}

static const char *target_name(tess_target t)
{
    switch (t) {
    case TESS_TARGET_C: return "c";
    case TESS_TARGET_CUDA: return "cuda";
    case TESS_TARGET_OPENCL: return "opencl";
    case TESS_TARGET_LOOPS: return "loops";
    default: return "interp";
    }
}

/* Makes of the variant what the target needs. Its lock is held. */
static bool prepare(tess_program *p, Variant *v, tess_target target, tess_timing *timing,
                    Failure *f)
{
    if (!tessi_is_gpu(target) && p->options.device != 0)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "there is no device %d for this target; the CPU is device 0",
                           p->options.device);
    if (target == TESS_TARGET_INTERP)
        return true;
    tess_diags *d = tessi_diags_new();
    if (!d)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    Guard guard;
    bool ok = false;
    if (GUARDED(&guard, &v->arena)) {
        tessi_guard_arena(&guard, &d->arena);
        double start = tessi_clock_ms();
        bool had_loops = v->loops != NULL;
        ok = tessi_pass_plan(p, v, d, f)
             && (tessi_is_gpu(target) ? tessi_pass_kernels(p, v, f) : tessi_pass_loops(v, f));
        if (!had_loops)
            v->front_ms += tessi_clock_ms() - start;
        if (ok && target == TESS_TARGET_C) {
            bool had_module = v->entry != NULL;
            start = tessi_clock_ms();
            ok = tessi_pass_text(p, v, f) && tessi_general_load(p, v, f);
            if (ok && !had_module)
                v->compile_ms = tessi_clock_ms() - start;
        }
    } else {
        ok = tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    }
    tess_diags_free(d);
    timing->front_ms = v->front_ms;
    timing->compile_ms = v->compile_ms;
    timing->compile_cached = v->module_cached;
    return ok;
}

static bool execute(const tess_program *p, const Variant *v, tess_args *a, tess_target target,
                    Arena *arena)
{
    Failure *f = &a->failure;
    Guard guard;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    Binding b;
    if (!tessi_bind(p, v, target == TESS_TARGET_INTERP ? NULL : v->loops, a, arena, &b, f))
        return false;
    InterpArgs interp = { b.params, b.scalars, b.inputs, b.outputs, 0, NULL, arena };
    double start = tessi_clock_ms();
    bool ok = target == TESS_TARGET_C
                  ? tessi_run_entry(v->graph, a->entry, &b, threads_for(p, v, a, &b), arena, a)
              : target == TESS_TARGET_LOOPS ? tessi_interpret_loops(v->loops, &interp, f)
                                            : tessi_interpret_graph(v->meaning, &interp, f);
    a->timing.run_ms = tessi_clock_ms() - start;
    return ok;
}

static bool check_arguments(const tess_program *p, const Variant *v, tess_args *a, Arena *arena)
{
    Guard guard;
    return GUARDED(&guard, arena) ? tessi_bind_check(p, v, a, arena, &a->failure)
                                  : tessi_failf(&a->failure, TESS_ERROR_MEMORY, "out of memory");
}

/* Before the C compiler is set to work: whether the arguments fit. */
static bool arguments_fit(const tess_program *p, const Variant *v, tess_args *a)
{
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    bool ok = check_arguments(p, v, a, &arena);
    tessi_arena_dispose(&arena);
    return ok;
}

/* Its device, of runs on one. */
static bool find_context(tess_program *p, tess_args *a, void *stream, GpuContext **context)
{
    mtx_lock(&p->lock);
    *context = tessi_gpu_context(p, a, stream, &a->failure);
    mtx_unlock(&p->lock);
    return *context;
}

/* What the run needs of the variant, which is locked. */
static bool make_ready(tess_program *p, Variant *v, tess_args *a, tess_target target, void *stream,
                       GpuContext **context)
{
    const bool compiles =
        (target == TESS_TARGET_C && !v->entry) || (tessi_is_gpu(target) && !v->code);
    if ((compiles && !arguments_fit(p, v, a))
        || (tessi_is_gpu(target) && !find_context(p, a, stream, context))
        || !prepare(p, v, target, &a->timing, &a->failure))
        return false;
    if (target == TESS_TARGET_C) {
        tessi_general_take(v, a);
        estimate_point(p, v, a);
        a->point_seconds = v->point_seconds;
    }
    return true;
}

/* The variant for these arguments, held against being dropped until released; on devices also where it runs. */
Variant *tessi_variant_acquire(tess_program *p, tess_args *a, tess_target target, void *stream,
                               GpuContext **context)
{
    Variant *v = tessi_variant_enter(p, a, NULL, &a->failure);
    if (v && !make_ready(p, v, a, target, stream, context)) {
        tessi_variant_leave(p, v);
        return NULL;
    }
    if (v)
        mtx_unlock(&v->lock);
    return v;
}

static tess_status begin(const tess_program *p, tess_args *a)
{
    return p && a && tessi_args_begin(p, a) ? TESS_OK : TESS_ERROR_ARGUMENT;
}

static tess_status run(tess_program *p, tess_args *a, void *stream)
{
    if (begin(p, a) != TESS_OK)
        return TESS_ERROR_ARGUMENT;
    memset(&a->timing, 0, sizeof a->timing);
    a->has_results = false;
    tess_target target = tessi_target(p);
    a->timing.target = target_name(target);
    if (tessi_gpu_can_repeat(a, stream)) {
        a->has_results = tessi_gpu_repeat(a);
        return a->has_results ? TESS_OK : (tess_status)a->failure.status;
    }
    GpuContext *context = NULL;
    Variant *v = tessi_variant_acquire(p, a, target, stream, &context);
    if (!v)
        return (tess_status)a->failure.status;
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    a->has_results = context ? tessi_gpu_run(p, v, a, context, &arena, stream)
                             : execute(p, v, a, target, &arena);
    tessi_arena_dispose(&arena);
    tessi_variant_release(p, v);
    return a->has_results ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_run(tess_program *p, tess_args *a, void *stream)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = run(p, a, stream);
    tessi_round_as(callers);
    return status;
}

/* ---- Verification ---------------------------------------------------------------------------------------------------- */
/* What results may be off by, relative to the largest of them, where devices have operations of their own. */
static double near_tolerance(const Graph *g)
{
    bool near = false;
    for (ExprId id = { 1 }; id.v < g->exprs.n && !near; id.v++)
        near = tessi_expr_is_near(g, id);
    return near ? 1e-5 : 0;
}

/* The difference is within the tolerance; integers may be off by one. */
static bool is_near(ScalarType t, Value x, Value y, double tolerance, double largest)
{
    if (tolerance == 0)
        return false;
    return tessi_is_real(t) ? fabs(x.f - y.f) <= tolerance * largest : llabs(x.i - y.i) <= 1;
}

/* The largest magnitude of n pixels, of what is real and finite. */
static double largest_of(const Image *image, const InterpImage *of, int64_t n)
{
    int64_t at[MAX_DIMS] = { 0 };
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *pixel = of->data;
        for (int d = 0; d < image->n_dims; d++)
            pixel += at[d] * of->stride_bytes[d];
        VEC_FOREACH (const Channel, c, &image->channels) {
            const Value v = tessi_load_element(c->type, pixel + c->byte_offset);
            if (tessi_is_real(c->type) && isfinite(v.f) && fabs(v.f) > largest)
                largest = fabs(v.f);
        }
        for (int d = image->n_dims - 1; d >= 0 && ++at[d] == of->size[d]; d--)
            at[d] = 0;
    }
    return largest;
}

bool tessi_same_image(const Image *image, const InterpImage *have, const InterpImage *want,
                      double tolerance, Failure *f)
{
    int64_t at[MAX_DIMS] = { 0 }, n = 1;
    for (int d = 0; d < image->n_dims; d++)
        n *= have->size[d];
    const double largest = tolerance > 0 ? largest_of(image, want, n) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t have_at = 0, want_at = 0;
        for (int d = 0; d < image->n_dims; d++) {
            have_at += at[d] * have->stride_bytes[d];
            want_at += at[d] * want->stride_bytes[d];
        }
        VEC_FOREACH (const Channel, c, &image->channels) {
            Value x =
                tessi_load_element(c->type, (const char *)have->data + have_at + c->byte_offset);
            Value y =
                tessi_load_element(c->type, (const char *)want->data + want_at + c->byte_offset);
            if (tessi_value_same(c->type, x, y) || is_near(c->type, x, y, tolerance, largest))
                continue;
            bool real = tessi_is_real(c->type);
            return tessi_failf(f, TESS_ERROR_INTERNAL,
                               "the result '%s%s%s' differs at [%lld, %lld, %lld, %lld]: %.17g, "
                               "but the interpreter gives %.17g",
                               image->name, c->name[0] ? "." : "", c->name, (long long)at[0],
                               (long long)at[1], (long long)at[2], (long long)at[3],
                               real ? x.f : (double)x.i, real ? y.f : (double)y.i);
        }
        for (int d = image->n_dims - 1; d >= 0 && ++at[d] == have->size[d]; d--)
            at[d] = 0;
    }
    return true;
}

/* Images in device memory come to the host for the comparison. */
static bool fetch_images(tess_program *p, const Variant *v, const tess_args *a, Binding *b,
                         void **memory, Failure *f)
{
    const Graph *g = v->graph;
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (!tessi_fetch_image(p, &g->inputs.at[i], tessi_bound_input(p, a, g->inputs.at[i].name),
                               &b->inputs[i], memory++, f))
            return false;
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (!tessi_fetch_image(p, &g->outputs.at[i], &a->outputs[i], &b->outputs[i], memory++, f))
            return false;
    return true;
}

/* Compact memory for every result, zeroed; *memory[o] is freed by the caller. */
bool tessi_results_again(const Graph *g, const Binding *b, InterpImage *again, void **memory,
                         Failure *f)
{
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        const Image *image = &g->outputs.at[o];
        again[o] = b->outputs[o];
        size_t bytes = image->pixel_bytes;
        for (int d = image->n_dims - 1; d >= 0; d--) {
            again[o].stride_bytes[d] = (int64_t)bytes;
            if (!tessi_mul_size(bytes, (size_t)again[o].size[d], &bytes))
                return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
        }
        memory[o] = again[o].data = calloc(bytes, 1);
        if (!memory[o])
            return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory for the comparison");
    }
    return true;
}

/* The sums that the plan takes by Fourier transforms differ from those as written: the interpreter takes them so too, and holds one
 * against the other. NULL when there are none. */
static const uint16_t *transforms_of(const Variant *v, Arena *arena)
{
    uint16_t *rows = ARENA_NEW_ARRAY(arena, uint16_t, v->graph->stages.n);
    bool any = false;
    for (uint32_t i = 0; v->plan && i < v->plan->groups.n; i++) {
        const PlanGroup *group = &v->plan->groups.at[i];
        rows[group->members.at[0].v] = group->transform;
        any = any || group->transform;
    }
    return any ? rows : NULL;
}

static bool verify(tess_program *p, const Variant *v, tess_args *a, Arena *arena, void **memory)
{
    Failure *f = &a->failure;
    Guard guard;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    Binding b;
    const Graph *g = v->graph;
    if (!tessi_bind(p, v, NULL, a, arena, &b, f)
        || !fetch_images(p, v, a, &b, memory + g->outputs.n, f))
        return false;
    InterpImage *again = ARENA_NEW_ARRAY(arena, InterpImage, g->outputs.n);
    if (!tessi_results_again(g, &b, again, memory, f))
        return false;
    InterpArgs interp = { .params = b.params,
                          .scalars = b.scalars,
                          .inputs = b.inputs,
                          .outputs = again,
                          .transform =
                              tessi_streq(a->timing.target, target_name(TESS_TARGET_INTERP))
                                  ? NULL
                                  : transforms_of(v, arena),
                          .arena = arena };
    if (!tessi_interpret_graph(interp.transform ? v->graph : v->meaning, &interp, f))
        return false;
    const double tolerance = tessi_is_gpu(tessi_target(p)) ? near_tolerance(g) : 0;
    for (uint32_t o = 0; o < g->outputs.n; o++)
        if (!tessi_same_image(&g->outputs.at[o], &b.outputs[o], &again[o], tolerance, f))
            return false;
    return true;
}

static tess_status verify_results(tess_program *p, tess_args *a)
{
    if (begin(p, a) != TESS_OK)
        return TESS_ERROR_ARGUMENT;
    if (!a->has_results) {
        tessi_failf(&a->failure, TESS_ERROR_ARGUMENT, "there are no results to verify: run first");
        return TESS_ERROR_ARGUMENT;
    }
    tess_timing kept = a->timing;
    Variant *v = tessi_variant_acquire(p, a, TESS_TARGET_INTERP, NULL, NULL);
    a->timing = kept;
    if (!v)
        return (tess_status)a->failure.status;
    const uint32_t n_memory = p->inputs.n + 2 * p->outputs.n;
    void **memory = calloc(n_memory + 1, sizeof *memory);
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    bool ok = memory ? verify(p, v, a, &arena, memory)
                     : tessi_failf(&a->failure, TESS_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; memory && i < n_memory; i++)
        free(memory[i]);
    free(memory);
    tessi_arena_dispose(&arena);
    tessi_variant_release(p, v);
    return ok ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_verify(tess_program *p, tess_args *a)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = verify_results(p, a);
    tessi_round_as(callers);
    return status;
}
