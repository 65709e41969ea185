/* Tuning plans of kernels: a candidate is a variant of its own, with buffers of its own that are filled once; what
 * is timed is its kernels alone, one sequence after the other between two events. */
#include <stdlib.h>
#include <string.h>

#include "api/tune.h"

static const double sample_ms = 2; /* as many sequences as this takes */
enum { MOST_LAUNCHES = 64 };

/* Its buffers, then its kernels, then what both belong to. */
static void drop(Tuner *t, Candidate *c)
{
    (void)t;
    tess_args_free(c->args);
    tessi_variant_free(c->variant);
    c->args = NULL;
    c->variant = NULL;
}

/* Begins with the plan for images of the size at hand. */
static bool open_lane(Tuner *t)
{
    Failure *f = &t->a->failure;
    if (!tessi_bind_for_device(t->p, t->v, t->a, &t->arena, &t->binding, f))
        return false;
    PlanSize size = PLAN_LARGE;
    mtx_lock(&t->v->lock);
    const bool ok = tessi_gpu_size_of_run(t->p, t->v, t->a, t->run.context, &t->arena, &size, f);
    mtx_unlock(&t->v->lock);
    t->from = tessi_planned(t->v, size);
    return ok;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

static bool make(Tuner *t, Candidate *c)
{
    Guard guard;
    Failure *f = &c->failure;
    Variant *v = c->variant = calloc(1, sizeof *v);
    if (v) {
        tessi_arena_init(&v->arena, NULL, NULL);
        v->backend = t->v->backend;
    }
    if (!v || tess_args_copy(t->a, &c->args) != TESS_OK)
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    v->ast = t->v->ast;
    v->lowered = t->v->lowered;
    v->meaning = t->v->meaning;
    v->written_out = t->v->written_out;
    v->graph = t->from.graph;
    v->machine = t->v->machine;
    v->analysis = t->from.analysis;
    v->plan = c->plan;
    v->is_private = true;
    c->loops = v->loops = tessi_pass_lower(&v->arena, v->graph, c->plan, v->machine, f);
    return v->loops != NULL;
}

/* The first run. A plan that this device cannot launch, or has no memory for, fails here before anything is
 * launched. */
static bool prepare(Tuner *t, Candidate *c)
{
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const Run first = { .backend = t->run.backend,
                        .p = t->p,
                        .v = c->variant,
                        .a = c->args,
                        .context = t->run.context,
                        .arena = &arena };
    const bool ok = tessi_run_variant(&first);
    tessi_arena_dispose(&arena);
    if (!ok)
        c->failure = c->args->failure;
    else if (!c->args->gpu)
        return tessi_failf(&c->failure, TESS_ERROR_MEMORY,
                           "the images do not fit the device's memory at once");
    return ok;
}

static void compile(Candidate *c)
{
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    c->compiled =
        tessi_gpu_compile(c->tuner->p, c->variant, c->args, c->tuner->run.context, &arena);
    tessi_arena_dispose(&arena);
    if (!c->compiled)
        c->failure = c->args->failure;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* From rows with gaps to rows without. */
static void copy_rows(const InterpImage *from, const InterpImage *to, int n_dims, size_t row_bytes)
{
    int64_t at[MAX_DIMS] = { 0 }, rows = 1;
    for (int d = 0; d + 1 < n_dims; d++)
        rows *= from->size[d];
    for (int64_t i = 0; i < rows; i++) {
        int64_t from_at = 0, to_at = 0;
        for (int d = 0; d + 1 < n_dims; d++) {
            from_at += at[d] * from->stride_bytes[d];
            to_at += at[d] * to->stride_bytes[d];
        }
        memcpy((char *)to->data + to_at, (const char *)from->data + from_at, row_bytes);
        for (int d = n_dims - 2; d >= 0 && ++at[d] == from->size[d]; d--)
            at[d] = 0;
    }
}

/* Results of the first run, in memory of the host. */
static bool fetch(Tuner *t, Candidate *c, Arena *arena, InterpImage *results, void **memory)
{
    const Graph *g = t->from.graph;
    Failure *f = &t->a->failure;
    Binding b;
    Guard guard;
    if (!GUARDED(&guard, arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!tessi_bind_for_device(t->p, t->v, c->args, arena, &b, f))
        return false;
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        if (!tessi_fetch_image(t->p, &g->outputs.at[o], &c->args->outputs[o], &b.outputs[o],
                               &memory[o], f))
            return false;
        const Image *image = &g->outputs.at[o];
        const size_t pixels = image->n_dims ? (size_t)results[o].size[image->n_dims - 1] : 1;
        copy_rows(&b.outputs[o], &results[o], image->n_dims, pixels * image->pixel_bytes);
    }
    return true;
}

static bool run(Tuner *t, Candidate *c, InterpImage *results)
{
    Arena arena;
    void **memory = calloc(t->p->outputs.n + 1, sizeof *memory);
    tessi_arena_init(&arena, NULL, NULL);
    const bool ok = memory ? fetch(t, c, &arena, results, memory)
                           : tessi_failf(&t->a->failure, TESS_ERROR_MEMORY, "out of memory");
    for (uint32_t o = 0; memory && o < t->p->outputs.n; o++)
        free(memory[o]);
    free(memory);
    tessi_arena_dispose(&arena);
    return ok;
}

static bool launch(void *user, Failure *f)
{
    const Candidate *c = user;
    for (int i = 0; i < c->launches; i++)
        if (!tessi_gpu_launch(c->args->gpu->slot, NULL, f))
            return false;
    return true;
}

static bool sample(Tuner *t, Candidate *c, double *ms)
{
    Device *d = t->run.context->device;
    Failure *f = &t->a->failure;
    if (!c->launches) {
        c->launches = 2; /* the first may have to be recorded */
        if (!tessi_time_on_device(d, launch, c, ms, f)
            || !tessi_time_on_device(d, launch, c, ms, f))
            return false;
        const double wanted = *ms > 0 ? sample_ms / (*ms / c->launches) : MOST_LAUNCHES;
        c->launches = wanted < 1 ? 1 : wanted > MOST_LAUNCHES ? MOST_LAUNCHES : (int)wanted;
    }
    const bool ok = tessi_time_on_device(d, launch, c, ms, f);
    *ms /= c->launches;
    return ok;
}

const TuneLane tessi_tune_gpu = { TUNE_MOST_AT_ONCE, open_lane, make,   compile,
                                  prepare,           run,       sample, drop };
