/* Tuning plans of the CPU: candidates as C, compiled two at a time, timed by the clock. */
#include "api/host.h"
#include "api/tune.h"
#include "loop/loop_layout.h"
#include "rt/clock.h"
#include "rt/env.h"

static void drop(Tuner *t, Candidate *c)
{
    (void)t;
    tessi_module_close(&c->module);
    if (c->has_arena)
        tessi_arena_dispose(&c->arena);
    c->has_arena = false;
    c->entry = NULL;
}

static bool open_lane(Tuner *t)
{
    t->from = tessi_planned(t->v, PLAN_LARGE);
    return tessi_bind(t->p, t->v, t->v->loops, t->a, &t->arena, &t->binding, &t->a->failure);
}

/* ---- Compiling ------------------------------------------------------------------------------- */

static bool make(Tuner *t, Candidate *c)
{
    Guard guard;
    tessi_arena_init(&c->arena, NULL, NULL);
    c->has_arena = true;
    if (!GUARDED(&guard, &c->arena))
        return tessi_failf(&c->failure, TESS_ERROR_MEMORY, "out of memory while compiling");
    c->loops = tessi_pass_lower(&c->arena, t->from.graph, c->plan, t->v->machine, &c->failure);
    if (!c->loops)
        return false;
    const LoopLayout layout = tessi_loop_layout(c->loops, &c->arena);
    if ((double)tessi_loop_workspace_bytes(c->loops, &layout, t->binding.params)
        > 0.5 * (double)tessi_memory_bytes())
        return tessi_failf(&c->failure, TESS_ERROR_MEMORY, "it needs too much memory");
    c->c_text = tessi_c_text(t->p, c->loops, &c->arena);
    return true;
}

static void compile(Candidate *c)
{
    c->compiled =
        tessi_load_text(c->tuner->p, c->loops, c->c_text, &c->module, &c->entry, NULL, &c->failure);
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool run_once(Tuner *t, const Candidate *c, InterpImage *results)
{
    Arena arena;
    Guard guard;
    Binding b = t->binding;
    b.outputs = results;
    tessi_arena_init(&arena, NULL, NULL);
    bool ok = false;
    t->a->n_more_params = 0;
    if (GUARDED(&guard, &arena))
        ok = tessi_run_entry(t->from.graph, c->entry, &b, t->p->options.threads, &arena, t->a);
    else
        tessi_failf(&t->a->failure, TESS_ERROR_MEMORY, "out of memory");
    tessi_arena_dispose(&arena);
    return ok;
}

static bool run(Tuner *t, Candidate *c, InterpImage *results)
{
    return run_once(t, c, results);
}

static bool sample(Tuner *t, Candidate *c, double *ms)
{
    /* One thread is timed by what it computes, so that others at work on the machine disturb less. */
    double (*clock)(void) = t->p->options.threads == 1 ? tessi_clock_thread_ms : tessi_clock_ms;
    const double start = clock();
    const bool ok = run_once(t, c, t->binding.outputs);
    *ms = clock() - start;
    return ok;
}

static bool prepare(Tuner *t, Candidate *c)
{
    (void)t;
    return c->compiled;
}

const TuneLane tessi_tune_c = { 2, open_lane, make, compile, prepare, run, sample, drop };
