/* tess_run: one run by the chosen target; tess_verify: the same by the graph interpreter, compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "base/rounding.h"
#include "interp/graph_interp.h"
#include "rt/clock.h"

/* ---- For the rows ---------------------------------------------------------------------------- */

bool tessi_run_passes(const Run *run, bool (*load)(tess_program *p, Variant *v, Failure *f))
{
    Variant *v = run->v;
    Failure *f = &run->a->failure;
    tess_timing *timing = &run->a->timing;
    tess_diags *d = tessi_diags_new();
    if (!d)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    Guard guard;
    bool ok = false;
    if (GUARDED(&guard, &v->arena)) {
        tessi_guard_arena(&guard, &d->arena);
        const Backend *b = run->backend;
        const double start = tessi_clock_ms();
        const bool is_own = b == run->p->backend,
                   had_loops = (is_own ? v->loops : v->other_loops) != NULL;
        ok = is_own
                 ? tessi_pass_plan(run->p, v, d, f)
                       && (!b->emit || tessi_backend_fits(b, v->plan, f)) && tessi_pass_loops(v, f)
                 : tessi_pass_other_loops(run->p, b, v, d, f);
        if (!had_loops)
            v->plan_ms += tessi_clock_ms() - start;
        ok = ok && (!load || load(run->p, v, f));
    } else {
        ok = tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    }
    tess_diags_free(d);
    timing->front_ms = v->front_ms + v->plan_ms;
    timing->plan_ms = v->plan_ms;
    timing->compile_ms = v->compile_ms;
    timing->compile_cached = v->module_cached;
    return ok;
}

static bool check(const Run *run, bool stored, Arena *arena, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    return stored ? tessi_bind_fits_stored(run->p, run->v, run->a, arena, f)
                  : tessi_bind_check(run->p, run->v, run->a, arena, f);
}

static bool fits(const Run *run, bool stored, Failure *f)
{
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const bool ok = check(run, stored, &arena, f);
    tessi_arena_dispose(&arena);
    return ok;
}

bool tessi_run_fits(const Run *run)
{
    return fits(run, false, &run->a->failure);
}

bool tessi_run_fits_stored(const Run *run)
{
    Failure ignored;
    return fits(run, true, &ignored);
}

bool tessi_run_on_host(const Run *run)
{
    const int device = run->p->options.device;
    return device == 0
           || tessi_failf(&run->a->failure, TESS_ERROR_DEVICE,
                          "there is no device %d for this target; the CPU is device 0", device);
}

Variant *tessi_run_acquire(Run *run)
{
    run->v = tessi_variant_enter(run->p, run->a, NULL, &run->a->failure);
    if (run->v && !run->backend->prepare(run)) {
        tessi_variant_leave(run->p, run->v);
        return NULL;
    }
    if (run->v)
        mtx_unlock(&run->v->lock);
    return run->v;
}

bool tessi_run_variant(const Run *run)
{
    Guard guard;
    Binding binding;
    if (!GUARDED(&guard, run->arena))
        return tessi_failf(&run->a->failure, TESS_ERROR_MEMORY, "out of memory");
    if (!tessi_ends_begin(run->a, run->v->meaning) || !run->backend->bind(run, &binding))
        return false;
    tessi_phase(run->p, "running");
    return run->backend->launch(run, &binding);
}

/* ---- tess_run -------------------------------------------------------------------------------- */

static tess_status begin(const tess_program *p, tess_args *a)
{
    return p && a && tessi_args_begin(p, a) ? TESS_OK : TESS_ERROR_ARGUMENT;
}

static bool run_new(const Backend *b, tess_program *p, tess_args *a, void *stream)
{
    Arena arena;
    Run run = { .backend = b, .p = p, .a = a, .stream = stream, .arena = &arena };
    if (!tessi_run_acquire(&run))
        return false;
    a->timing.target = run.backend->name; /* it may have handed the run to another */
    tessi_arena_init(&arena, NULL, NULL);
    const bool ok = tessi_run_variant(&run);
    tessi_arena_dispose(&arena);
    tessi_variant_release(p, run.v);
    return ok;
}

static tess_status run(tess_program *p, tess_args *a, void *stream)
{
    if (begin(p, a) != TESS_OK)
        return TESS_ERROR_ARGUMENT;
    memset(&a->timing, 0, sizeof a->timing);
    a->has_results = false;
    const Backend *b = tessi_backend(p);
    a->timing.target = b->name;
    a->has_results =
        b->can_repeat && b->can_repeat(a, stream) ? b->repeat(a) : run_new(b, p, a, stream);
    return a->has_results ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_run(tess_program *p, tess_args *a, void *stream)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = run(p, a, stream);
    tessi_round_as(callers);
    return status;
}

/* ---- Verification ---------------------------------------------------------------------------- */
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

/* Images come to the host for the comparison, from wherever they are. */
static bool fetch_images(tess_program *p, const Variant *v, const tess_args *a, Binding *b,
                         void **memory, Failure *f)
{
    const Graph *g = v->graph;
    const Backend *backend = p->backend;
    if (!backend->fetch)
        return true;
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (!backend->fetch(p, &g->inputs.at[i], tessi_bound_input(p, a, g->inputs.at[i].name),
                            &b->inputs[i], memory++, f))
            return false;
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (!backend->fetch(p, &g->outputs.at[i], &a->outputs[i], &b->outputs[i], memory++, f))
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

/* The sums that the plan takes by Fourier transforms differ from those as written: the interpreter takes them so
 * too, and holds one against the other. NULL when there are none. */
static const uint16_t *transforms_of(const Variant *v, const Plan *plan, Arena *arena)
{
    uint16_t *rows = ARENA_NEW_ARRAY(arena, uint16_t, v->graph->stages.n);
    bool any = false;
    for (uint32_t i = 0; plan && i < plan->groups.n; i++) {
        const PlanGroup *group = &plan->groups.at[i];
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
    const Backend *backend = tessi_backend(p);
    const Plan *plan = backend == p->backend ? v->plan : v->other_plan;
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
                          .transform = backend->as_written ? NULL : transforms_of(v, plan, arena),
                          .arena = arena };
    if (!tessi_interpret_graph(interp.transform ? v->graph : v->meaning, &interp, f))
        return false;
    const double tolerance = backend->own_powers ? near_tolerance(g) : 0;
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
    tessi_phase(p, "interpreting");
    Variant *v = tessi_variant_enter(p, a, NULL, &a->failure);
    if (!v)
        return (tess_status)a->failure.status;
    mtx_unlock(&v->lock);
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
