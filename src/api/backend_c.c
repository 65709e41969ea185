/* The row of C: programs as code that the machine's C compiler makes, on its processors. */
#include <stdlib.h>
#include <string.h>

#include "api/embedded.h"
#include "api/general.h"
#include "api/host.h"
#include "api/tune.h"
#include "rt/clock.h"
#include "rt/memory.h"

/* ---- Text -------------------------------------------------------------------------------------------------------- */

const char *tessi_c_text(const tess_program *p, const LoopProgram *loops, Arena *a)
{
    const EmitTarget *t = tessi_backend_c.emit;
    const EmitOptions options = tessi_backend_options(p, &tessi_backend_c);
    EmitModule none;
    Text text = tessi_text_new(a);
    t->print(loops, t, &options, &text, &none);
    return tessi_text_str(&text);
}

bool tessi_c_variant_text(const tess_program *p, Variant *v, Failure *f)
{
    if (!tessi_backend_fits(&tessi_backend_c, v->plan, f))
        return false;
    const double start = tessi_clock_ms();
    if (v->c_text)
        return true;
    v->c_text = tessi_c_text(p, v->loops, &v->arena);
    tessi_pass_note(&v->times, &v->arena, "print", start);
    return true;
}

static bool print(const Backend *b, const tess_program *p, Variant *v, Text *out, Failure *f)
{
    (void)b;
    if (!tessi_c_variant_text(p, v, f))
        return false;
    tessi_text_add(out, v->c_text);
    return true;
}

/* ---- Builds ------------------------------------------------------------------------------------------------------ */

static LoopProgram *ahead(const Backend *b, tess_program *p, Variant *v, tess_diags *d,
                          const Machine **reference, Failure *f)
{
    if (!tessi_pass_plan(p, v, d, f) || !tessi_backend_fits(b, v->plan, f)
        || !tessi_pass_loops(v, f))
        return NULL;
    *reference = v->machine;
    return v->loops;
}

static bool compile(tess_program *p, const char *text, CcKind kind, const char *path, Failure *f)
{
    /* With the flags for this machine: what it lacks is slow here in any case. */
    static const char *const flags[] = { "-DTESSERA_WITHOUT_FMA", NULL };
    CcJob job = { .tool = &p->tool, .c_text = text, .kind = kind, .flags = flags, .out = path };
    return tessi_find_compiler(p, f) && tessi_cc_compile(&job, f);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* OpenMP's runtime ends the process when it cannot start as many threads as it is told to. */
enum { MOST_THREADS = 256 };
enum { ENTRY_NEEDS_MEMORY = 3 }; /* emit/emit.h */

/* Image number i among inputs and outputs as the generated entry wants it: strides in elements, or bytes for mixed
 * structs. */
static void entry_strides(const Image *image, const InterpImage *in, ptrdiff_t *strides)
{
    int64_t unit = tessi_type_info(image->channels.at[0].type)->bytes;
    VEC_FOREACH (const Channel, c, &image->channels)
        if (c->type != image->channels.at[0].type)
            unit = 1;
    for (int d = 0; d < image->n_dims; d++)
        strides[d] = (ptrdiff_t)(in->stride_bytes[d] / unit);
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

/* Asks the model once how many points are few; the variant's lock is held. */
static void estimate_few(const tess_program *p, Variant *v, const tess_args *a)
{
    const Graph *g = v->graph;
    Failure ignored;
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return;
    int64_t *params = ARENA_NEW_ARRAY(&v->arena, int64_t, g->params.n);
    if (!tessi_bind_sizes(p, v, a, &v->arena, params, &ignored))
        return;
    const double points = points_of(g, params);
    const PlanEstimate e = tessi_plan_estimate(v->plan, g, v->analysis, v->machine, params);
    const double seconds = e.first_seconds - e.start_seconds;
    const double of_one = seconds * (double)v->machine->cores;
    v->few_points =
        points > 0 && of_one > 0 ? points * tessi_plan_little_seconds(v->machine) / of_one : 0;
}

/* One thread for few points; else what the options say. */
static int threads_for(const tess_program *p, const Variant *v, const tess_args *a,
                       const Binding *b)
{
    return points_of(v->graph, b->params) < a->few_points ? 1 : p->options.threads;
}

typedef struct EntryCall {
    ModuleEntry entry;
    void *const *images;
    const ptrdiff_t *strides, *params;
    const void *scalars;
    int threads;
    tess_args *a;
    ptrdiff_t *bytes; /* of the workspace, and behind that how loops ended (emit/emit.h) */
} EntryCall;

/* In a workspace that is large enough; ENTRY_NEEDS_MEMORY when there is none. */
static int call_entry(void *user)
{
    const EntryCall *c = user;
    tess_args *a = c->a;
    *c->bytes = a->workspace_bytes;
    int status =
        c->entry(c->images, c->strides, c->params, c->scalars, c->threads, a->workspace, c->bytes);
    if (status == ENTRY_NEEDS_MEMORY && tessi_host_workspace(a, *c->bytes))
        status = c->entry(c->images, c->strides, c->params, c->scalars, c->threads, a->workspace,
                          c->bytes);
    return status;
}

/* A thread that went through a fork would wait for helpers that OpenMP had given it before: a fresh one gets helpers
 * of its own. */
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
    ptrdiff_t *bytes = ARENA_NEW_ARRAY(arena, ptrdiff_t, 1 + 2 * a->n_ends);
    EntryCall call = { entry, images, strides, params, b->scalars, threads, a, bytes };
    const int status = call_where_it_can(&call);
    for (uint32_t i = 0; i < a->n_ends; i++)
        a->ends[i] = (LoopEnd){ bytes[1 + 2 * i], bytes[2 + 2 * i] != 0 };
    switch (status) {
    case 0: return true;
    case ENTRY_NEEDS_MEMORY:
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory for the intermediate images");
    default:
        return tessi_failf(f, TESS_ERROR_INTERNAL,
                           "internal error in the generated code: it refused the sizes");
    }
}

/* The code is not there yet, and runs need not wait for it. */
static bool goes_ahead(tess_program *p, Variant *v)
{
    if (v->entry || v->waits || !tessi_first_is_asked(p))
        return false;
    return !((v->begun || tessi_knows_compiler(p)) && tessi_variant_recall(p, v));
}

static bool load(tess_program *p, Variant *v, Failure *f)
{
    const bool had_module = v->entry != NULL;
    const double start = tessi_clock_ms();
    if (!had_module)
        tessi_phase(p, "compiling");
    const bool ok =
        tessi_c_variant_text(p, v, f) && (goes_ahead(p, v) || tessi_general_load(p, v, f));
    if (ok && !had_module)
        v->compile_ms = tessi_clock_ms() - start;
    return ok;
}

/* The strip machine takes the run; another process compiles for those to come. */
static bool runs_strips(Run *run)
{
    tess_program *p = run->p;
    Variant *v = run->v;
    const bool always = p->options.first == TESS_FIRST_NOW;
    if (!always && !v->begun && !tessi_first_pays(p, v, run->a))
        return false;
    run->backend = &tessi_backend_vm;
    if (run->backend->prepare(run) && (always || tessi_vm_is_in_strips(v->vm))
        && (v->begun || tessi_variant_begin(p, v))) {
        v->begun = true;
        return true;
    }
    run->backend = &tessi_backend_c;
    return false;
}

static bool prepare(Run *run)
{
    Variant *v = run->v;
    if ((!v->entry && !tessi_run_fits(run)) || !tessi_run_on_host(run))
        return false;
    if (v->is_known && (run->wants_plan || !tessi_run_fits_stored(run))) {
        tess_diags *d = NULL;
        tessi_variant_leave(run->p, v);
        v = run->v = tessi_variant_for_passes(run->p, run->a, &d, &run->a->failure);
        tess_diags_free(d);
        if (!v)
            return false;
    }
    if (!tessi_known_find(run) && !tessi_run_passes(run, load))
        return false;
    if (!v->entry && !v->waits && tessi_first_is_asked(run->p)) {
        if (runs_strips(run))
            return true;
        v->waits = true;
        if (!tessi_run_passes(run, load))
            return false;
    }
    tessi_general_take(v, run->a);
    if (!v->is_known && !(v->few_points > 0))
        estimate_few(run->p, v, run->a);
    if (v->entry && !v->is_known && !v->is_kept)
        tessi_known_keep(run->p, v);
    v->is_kept = v->entry != NULL;
    run->a->few_points = v->few_points;
    return true;
}

static bool bind(const Run *run, Binding *b)
{
    return tessi_bind(run->p, run->v, run->v->loops, run->a, run->arena, b, &run->a->failure);
}

static bool launch(const Run *run, const Binding *b)
{
    const double start = tessi_clock_ms();
    const bool ok = tessi_run_entry(run->v->graph, run->a->entry, b,
                                    threads_for(run->p, run->v, run->a, b), run->arena, run->a);
    run->a->timing.run_ms = tessi_clock_ms() - start;
    return ok;
}

/* ---- The row ----------------------------------------------------------------------------------------------------- */

/* Where there is a compiler that fails, runs fail and say why: an interpreter would take thousands of times as long. */
static bool can_run(tess_program *p)
{
    return !tessi_lacks_compiler(p, tessi_first_is_asked(p));
}

static void close_program(tess_program *p)
{
    tessi_module_close(&p->general_module);
    free(p->general_text);
}

static void drop(Variant *v)
{
    tessi_general_forget(v);
    tessi_module_close(&v->module);
}

const Backend tessi_backend_c = {
    .target = TESS_TARGET_C,
    .name = "c",
    .emit = &tessi_emit_c,
    .prelude = tessi_embedded_prelude_c,
    .vector_prelude = tessi_embedded_prelude_c_vector,
    .other_plan = "the plan is for a GPU, and C is for CPUs: name a target that is cuda or opencl, "
                  "or a plan and a machine of a CPU",
    .can_run = can_run,
    .close = close_program,
    .drop = drop,
    .forget = tessi_host_forget,
    .describe = tessi_host_describe,
    .prepare = prepare,
    .bind = bind,
    .launch = launch,
    .time = tessi_host_time,
    .tune = &tessi_tune_c,
    .print = print,
    .ahead = ahead,
    .compile = compile,
};
