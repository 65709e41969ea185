/* tess_dump: any stop of the compiler as text; tess_args_estimate: what the plan expects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "api/api.h"
#include "base/rounding.h"
#include "emit/emit.h"

typedef enum Stop {
    STOP_AST,
    STOP_TYPES,
    STOP_GRAPH,
    STOP_ANALYSIS,
    STOP_PLAN,
    STOP_SMALL_PLAN, /* of GPUs: the plan for small images */
    STOP_LOOPS,
    STOP_C,
    STOP_HEADER,
    STOP_CUDA,
    STOP_OPENCL,
    STOP_TIMES, /* of all passes to the text that is compiled */
    N_STOPS
} Stop;
static const char *const stop_names[N_STOPS] = { "ast",    "types",      "graph",  "analysis",
                                                 "plan",   "small-plan", "loops",  "c",
                                                 "header", "cuda",       "opencl", "times" };

/* The pass in "loops:PASS"; NULL: the name has none. */
static const char *pass_in(const char *name)
{
    static const char prefix[] = "loops:";
    return name && strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : NULL;
}

static bool find_pass(const char *name, Failure *f)
{
    char known[256] = "lower";
    bool found = tessi_streq(name, known);
    for (const LoopPass *pass = tessi_loop_passes(); pass->name; pass++) {
        found = found || tessi_streq(name, pass->name);
        snprintf(known + strlen(known), sizeof known - strlen(known), ", %s", pass->name);
    }
    return found
           || tessi_failf(f, TESS_ERROR_ARGUMENT, "there is no pass '%s' over loops; they are %s",
                          name, known);
}

static bool find_stop(const char *name, Stop *stop, Failure *f)
{
    if (pass_in(name)) {
        *stop = STOP_LOOPS;
        return find_pass(pass_in(name), f);
    }
    for (int i = 0; i < N_STOPS; i++) {
        if (tessi_streq(stop_names[i], name)) {
            *stop = (Stop)i;
            return true;
        }
    }
    const char *near = name ? tessi_nearest_word(name, stop_names, N_STOPS) : NULL;
    return tessi_failf(f, TESS_ERROR_ARGUMENT,
                       "there is no stop '%s'%s%s%s; the stops are ast, types, graph, analysis, "
                       "plan, small-plan, loops, loops:PASS, c, header, cuda, opencl, times",
                       name ? name : "", near ? " (did you mean '" : "", near ? near : "",
                       near ? "'?)" : "");
}

static void print_kernels(const tess_program *p, const Variant *v, const EmitTarget *t, Text *out)
{
    EmitModule module;
    EmitOptions options = { .prelude = tessi_pass_prelude(t), .source_name = p->name };
    t->print(v->loops, t, &options, out, &module);
}

static void print_times(const Variant *v, Text *out)
{
    double all = 0;
    VEC_FOREACH (const PassTime, t, &v->times) {
        tessi_text_addf(out, "%10.3f ms  %s\n", t->ms, t->name);
        all += t->ms;
    }
    tessi_text_addf(out, "%10.3f ms  all\n", all);
}

/* The loops as one of their passes leaves them. */
static bool print_loops_after(const Variant *v, Arena *a, const char *pass, Text *out, Failure *f)
{
    const LoopProgram *loops = tessi_pass_lower_until(v, a, pass, NULL, f);
    if (loops)
        tessi_loop_print(loops, out);
    return loops != NULL;
}

/* Runs the passes that come before the stop, then prints it. */
static bool print_stop(tess_program *p, Variant *v, Stop stop, tess_diags *d, Text *out, Failure *f)
{
    if (stop >= STOP_ANALYSIS && !tessi_pass_plan(p, v, d, f))
        return false;
    if (stop == STOP_SMALL_PLAN && !(tessi_pass_kernels(p, v, f) && tessi_pass_small_loops(v, f)))
        return false;
    if (stop >= STOP_LOOPS && !tessi_pass_loops(v, f))
        return false;
    if ((stop == STOP_CUDA || stop == STOP_OPENCL) && !tessi_pass_kernels(p, v, f))
        return false;
    if ((stop == STOP_C || stop == STOP_HEADER || (stop == STOP_TIMES && !v->plan->gpu))
        && !tessi_pass_text(p, v, f))
        return false;
    EmitOptions options = { .source_name = p->name };
    switch (stop) {
    case STOP_AST: tessi_ast_print(v->ast, out); return true;
    case STOP_TYPES: tessi_typed_print(v->typed, out); return true;
    case STOP_GRAPH: tessi_graph_print(v->graph, out); return true;
    case STOP_ANALYSIS: tessi_analysis_print(v->analysis, v->graph, out); return true;
    case STOP_PLAN: tessi_plan_print(v->plan, v->graph, out); return true;
    case STOP_SMALL_PLAN: tessi_plan_print(v->small_plan, v->graph, out); return true;
    case STOP_LOOPS: tessi_loop_print(v->loops, out); return true;
    case STOP_C: tessi_text_add(out, v->c_text); return true;
    case STOP_HEADER:
        tessi_emit_c.print_header(v->loops, &tessi_emit_c, &options, out);
        return true;
    case STOP_CUDA: print_kernels(p, v, &tessi_emit_cuda, out); return true;
    case STOP_OPENCL: print_kernels(p, v, &tessi_emit_opencl, out); return true;
    case STOP_TIMES: print_times(v, out); return true;
    case N_STOPS: break;
    }
    return false;
}

/* *text is the caller's to free. The variant's lock is held. */
static bool dump_variant(tess_program *p, Variant *v, Stop stop, const char *pass, char **text,
                         tess_diags *d, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    tessi_guard_arena(&guard, &d->arena);
    Text out;
    tessi_text_init(&out, &v->arena);
    if (pass ? !tessi_pass_plan(p, v, d, f) || !print_loops_after(v, &v->arena, pass, &out, f)
             : !print_stop(p, v, stop, d, &out, f))
        return false;
    *text = strdup(tessi_text_str(&out));
    return *text || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

static bool dump(tess_program *p, const tess_args *args, const char *stop_name, char **text,
                 tess_diags **d, Failure *f)
{
    Stop stop = N_STOPS;
    Variant *v = find_stop(stop_name, &stop, f) ? tessi_variant_for_passes(p, args, d, f) : NULL;
    const bool ok = v && dump_variant(p, v, stop, pass_in(stop_name), text, *d, f);
    tessi_variant_leave(p, v);
    return ok;
}

static tess_status dump_text(tess_program *p, const tess_args *args, const char *stop_name,
                             char **text, tess_diags **diags)
{
    if (text)
        *text = NULL;
    if (diags)
        *diags = NULL;
    if (!p || !text || (args && args->program != p))
        return TESS_ERROR_ARGUMENT;
    tess_diags *d = NULL;
    Failure failure = { 0 };
    const bool ok = dump(p, args, stop_name, text, &d, &failure);
    tessi_program_failure(p, &failure);
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    return ok ? TESS_OK : (tess_status)failure.status;
}

tess_status tess_dump(tess_program *p, const tess_args *args, const char *stop_name, char **text,
                      tess_diags **diags)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = dump_text(p, args, stop_name, text, diags);
    tessi_round_as(callers);
    return status;
}

void tess_text_free(char *text)
{
    free(text);
}

static bool estimate(tess_program *p, tess_args *a, Arena *arena, tess_estimate *e)
{
    Failure *f = &a->failure;
    tess_diags *d = NULL;
    Variant *v = tessi_variant_for_passes(p, a, &d, f);
    if (!v) {
        tess_diags_free(d);
        return false;
    }
    Guard guard;
    bool ok = false;
    if (GUARDED(&guard, &v->arena)) {
        tessi_guard_arena(&guard, &d->arena);
        tessi_guard_arena(&guard, arena);
        int64_t *params = ARENA_NEW_ARRAY(arena, int64_t, v->graph->params.n);
        ok = tessi_pass_plan(p, v, d, f) && tessi_bind_sizes(p, v, a, arena, params, f);
        if (ok) {
            PlanEstimate made =
                tessi_plan_estimate(v->plan, v->graph, v->analysis, v->machine, params);
            e->operations = made.operations;
            e->bytes_read = made.bytes_read;
            e->bytes_written = made.bytes_written;
            e->predicted_ms = made.seconds * 1e3;
        }
    } else {
        ok = tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    }
    tessi_variant_leave(p, v);
    tess_diags_free(d);
    return ok;
}

static tess_status args_estimate(tess_program *p, tess_args *a, tess_estimate *e)
{
    if (!p || !a || !e || e->struct_size != sizeof *e || !tessi_args_begin(p, a))
        return TESS_ERROR_ARGUMENT;
    Arena arena;
    tessi_arena_init(&arena, NULL, NULL);
    const bool ok = estimate(p, a, &arena, e);
    tessi_arena_dispose(&arena);
    return ok ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_args_estimate(tess_program *p, tess_args *a, tess_estimate *e)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = args_estimate(p, a, e);
    tessi_round_as(callers);
    return status;
}
