/* The rows of the interpreters: of the graph, which is what programs mean, and of the loop language, which checks
 * bounds and races. */
#include "api/backend.h"
#include "api/host.h"
#include "interp/graph_interp.h"
#include "interp/loop_interp.h"
#include "rt/clock.h"

static bool prepare_graph(Run *run)
{
    return tessi_run_on_host(run);
}

static bool prepare_loops(Run *run)
{
    return tessi_run_on_host(run) && tessi_run_passes(run, NULL);
}

/* Every stage is stored. */
static bool bind_graph(const Run *run, Binding *b)
{
    return tessi_bind(run->p, run->v, NULL, run->a, run->arena, b, &run->a->failure);
}

static bool bind_loops(const Run *run, Binding *b)
{
    return tessi_bind(run->p, run->v, run->v->loops, run->a, run->arena, b, &run->a->failure);
}

static InterpArgs arguments(const Run *run, const Binding *b)
{
    return (InterpArgs){ .params = b->params,
                         .scalars = b->scalars,
                         .inputs = b->inputs,
                         .outputs = b->outputs,
                         .arena = run->arena,
                         .ends = run->a->ends };
}

static bool launch_graph(const Run *run, const Binding *b)
{
    const InterpArgs args = arguments(run, b);
    const double start = tessi_clock_ms();
    const bool ok = tessi_interpret_graph(run->v->meaning, &args, &run->a->failure);
    run->a->timing.run_ms = tessi_clock_ms() - start;
    return ok;
}

static bool launch_loops(const Run *run, const Binding *b)
{
    const InterpArgs args = arguments(run, b);
    const double start = tessi_clock_ms();
    const bool ok = tessi_interpret_loops(run->v->loops, &args, &run->a->failure);
    run->a->timing.run_ms = tessi_clock_ms() - start;
    return ok;
}

const Backend tessi_backend_interp = {
    .target = TESS_TARGET_INTERP,
    .name = "interp",
    .describe = tessi_host_describe,
    .prepare = prepare_graph,
    .bind = bind_graph,
    .launch = launch_graph,
    .as_written = true,
    .time = tessi_host_time,
};

const Backend tessi_backend_loops = {
    .target = TESS_TARGET_LOOPS,
    .name = "loops",
    .describe = tessi_host_describe,
    .prepare = prepare_loops,
    .bind = bind_loops,
    .launch = launch_loops,
    .time = tessi_host_time,
};
