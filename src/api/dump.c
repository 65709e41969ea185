/* tess_dump: any stop of the compiler as text; tess_args_estimate: what the plan expects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "api/backend.h"
#include "base/rounding.h"
#include "loop/loop_passes.h"
#include "rt/file.h"

typedef enum StopKind {
    STOP_AST,
    STOP_TYPES,
    STOP_GRAPH,
    STOP_ANALYSIS,
    STOP_PLAN,
    STOP_MEDIUM_PLAN, /* of GPUs: plans for images that are not large */
    STOP_SMALL_PLAN,
    STOP_LOOPS,
    STOP_ESTIMATE, /* what the cost model expects of a run */
    STOP_TEXT,     /* of a target, which is the name of the stop */
    STOP_HEADER,   /* of the first target */
    STOP_TIMES,    /* of all passes to the text that is compiled */
} StopKind;
typedef struct Stop {
    const char *name;
    StopKind kind;
    const Backend *backend; /* of texts */
} Stop;

enum { MOST_STOPS = 24 };
static const char *const first_stops[] = { "ast",         "types",      "graph", "analysis", "plan",
                                           "medium-plan", "small-plan", "loops", "estimate" };

/* All stops in the order of the compiler; how many there are. */
static int list_stops(Stop *stops)
{
    int n = 0;
    for (; n < (int)(sizeof first_stops / sizeof *first_stops); n++)
        stops[n] = (Stop){ first_stops[n], (StopKind)n, NULL };
    for (const Backend *const *b = tessi_backends; *b; b++) {
        if (!(*b)->emit)
            continue;
        stops[n++] = (Stop){ (*b)->name, STOP_TEXT, *b };
        if (b == tessi_backends)
            stops[n++] = (Stop){ "header", STOP_HEADER, *b };
    }
    stops[n++] = (Stop){ "times", STOP_TIMES, NULL };
    return n;
}

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

/* "ast, types, ..., loops, loops:PASS, ..., times" */
static const char *known_stops(const Stop *stops, int n, char *known, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(known + used, size - used, "%s%s%s", i ? ", " : "", stops[i].name,
                                 stops[i].kind == STOP_LOOPS ? ", loops:PASS" : "");
    return known;
}

static bool find_stop(const char *name, Stop *stop, Failure *f)
{
    Stop stops[MOST_STOPS];
    const char *names[MOST_STOPS];
    char known[256];
    const int n = list_stops(stops);
    for (int i = 0; i < n; i++) {
        names[i] = stops[i].name;
        if (tessi_streq(names[i], pass_in(name) ? "loops" : name)) {
            *stop = stops[i];
            return !pass_in(name) || find_pass(pass_in(name), f);
        }
    }
    const char *near = name ? tessi_nearest_word(name, names, (uint32_t)n) : NULL;
    return tessi_failf(f, TESS_ERROR_ARGUMENT, "there is no stop '%s'%s%s%s; the stops are %s",
                       name ? name : "", near ? " (did you mean '" : "", near ? near : "",
                       near ? "'?)" : "", known_stops(stops, n, known, sizeof known));
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

/* The first row whose plans are for devices. */
static const Backend *of_devices(void)
{
    const Backend *const *b = tessi_backends;
    while (!(*b)->device)
        b++;
    return *b;
}

/* Prints a program of loops, which are there. */
static bool print_text(const tess_program *p, Variant *v, const Stop *stop, Text *out, Failure *f)
{
    const EmitOptions options = { .source_name = p->name };
    const Backend *b = stop->backend;
    Text ignored;
    switch (stop->kind) {
    case STOP_HEADER:
        if (!tessi_backend_fits(b, v->plan, f))
            return false;
        b->emit->print_header(v->loops, b->emit, &options, out);
        return true;
    case STOP_TIMES:
        ignored = tessi_text_new(&v->arena);
        if (!v->plan->gpu && !tessi_backends[0]->print(tessi_backends[0], p, v, &ignored, f))
            return false;
        print_times(v, out);
        return true;
    default: return b->print(b, p, v, out, f);
    }
}

static bool print_estimate(const tess_program *p, Variant *v, const tess_args *args, Text *out,
                           Failure *f)
{
    if (!args)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "an estimate needs the sizes of a run");
    int64_t *params = ARENA_NEW_ARRAY(&v->arena, int64_t, v->graph->params.n);
    PlannedSize of;
    if (!tessi_bind_sizes(p, v, args, &v->arena, params, f)
        || !tessi_pass_planned(p, v, params, &of, f))
        return false;
    tessi_plan_estimate_print(of.plan, of.graph, of.analysis, v->machine, params, out);
    return true;
}

/* Where the sizes of a run are known, what is planned for them, with the bound. */
static bool print_plan(const tess_program *p, Variant *v, const tess_args *args, Text *out,
                       Failure *f)
{
    Failure unknown = { 0 };
    PlannedSize of = tessi_planned(v, PLAN_LARGE);
    const Plan *plan = of.plan;
    int64_t *params = ARENA_NEW_ARRAY(&v->arena, int64_t, v->graph->params.n);
    if (args && tessi_bind_sizes(p, v, args, &v->arena, params, &unknown)) {
        if (!tessi_pass_planned(p, v, params, &of, f))
            return false;
        plan = tessi_plan_with_bound(&v->arena, of.plan, of.graph, of.analysis, v->machine, params);
    }
    tessi_plan_print(plan, of.graph, out);
    return true;
}

/* Runs the passes that come before the stop, then prints it. */
static bool print_stop(tess_program *p, Variant *v, const tess_args *args, const Stop *stop,
                       tess_diags *d, Text *out, Failure *f)
{
    if (stop->kind >= STOP_ANALYSIS && !tessi_pass_plan(p, v, d, f))
        return false;
    const PlanSize size = stop->kind == STOP_SMALL_PLAN    ? PLAN_SMALL
                          : stop->kind == STOP_MEDIUM_PLAN ? PLAN_MEDIUM
                                                           : PLAN_LARGE;
    if (size != PLAN_LARGE
        && !(tessi_backend_fits(of_devices(), v->plan, f) && tessi_pass_loops(v, f)
             && tessi_pass_size(v, size, f)))
        return false;
    if (stop->kind == STOP_ESTIMATE)
        return print_estimate(p, v, args, out, f);
    if (stop->kind >= STOP_LOOPS && !tessi_pass_loops(v, f))
        return false;
    switch (stop->kind) {
    case STOP_AST: tessi_ast_print(v->ast, out); return true;
    case STOP_TYPES: tessi_typed_print(v->typed, out); return true;
    case STOP_GRAPH: tessi_graph_print(v->graph, out); return true;
    case STOP_ANALYSIS: tessi_analysis_print(v->analysis, v->graph, out); return true;
    case STOP_PLAN: return print_plan(p, v, args, out, f);
    case STOP_MEDIUM_PLAN:
    case STOP_SMALL_PLAN:
        tessi_plan_print(tessi_planned(v, size).plan, tessi_planned(v, size).graph, out);
        return true;
    case STOP_LOOPS: tessi_loop_print(v->loops, out); return true;
    case STOP_ESTIMATE:
    case STOP_TEXT:
    case STOP_HEADER:
    case STOP_TIMES: break;
    }
    return print_text(p, v, stop, out, f);
}

/* *text is the caller's to free. The variant's lock is held. */
static bool dump_variant(tess_program *p, Variant *v, const tess_args *args, const Stop *stop,
                         const char *pass, char **text, tess_diags *d, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &v->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    tessi_guard_arena(&guard, &d->arena);
    Text out = tessi_text_new(&v->arena);
    if (pass ? !tessi_pass_plan(p, v, d, f) || !print_loops_after(v, &v->arena, pass, &out, f)
             : !print_stop(p, v, args, stop, d, &out, f))
        return false;
    *text = strdup(tessi_text_str(&out));
    return *text || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

static bool dump(tess_program *p, const tess_args *args, const char *stop_name, char **text,
                 tess_diags **d, Failure *f)
{
    Stop stop = { 0 };
    Variant *v = find_stop(stop_name, &stop, f) ? tessi_variant_for_passes(p, args, d, f) : NULL;
    const bool ok = v && dump_variant(p, v, args, &stop, pass_in(stop_name), text, *d, f);
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

tess_status tess_text_save(const char *path, const char *text, char *error, size_t error_size)
{
    Failure f = { 0 };
    if (!path || !text)
        return TESS_ERROR_ARGUMENT;
    if (tessi_file_write(path, text, strlen(text), &f))
        return TESS_OK;
    if (error && error_size)
        snprintf(error, error_size, "%s", f.text);
    return (tess_status)f.status;
}

/* ---- From a text of loops -------------------------------------------------------------------- */

/* What is to be made of it. */
typedef struct FromLoops {
    const char *loops, *name;
    size_t n;
    const char *first,
        *last; /* the pass behind which the text stands; the pass to stop at, NULL = the last */
    Stop stop;
} FromLoops;

static bool is_behind(const char *first, const char *last)
{
    bool seen = tessi_streq(first, "lower");
    for (const LoopPass *pass = tessi_loop_passes(); pass->name; pass++) {
        if (tessi_streq(pass->name, last))
            return seen;
        seen = seen || tessi_streq(pass->name, first);
    }
    return false;
}

static const char *last_pass(void)
{
    const LoopPass *pass = tessi_loop_passes();
    while (pass[1].name)
        pass++;
    return pass->name;
}

static bool find_ends(const char *from, const char *stop, FromLoops *what, Failure *f)
{
    if (!find_stop(from, &what->stop, f))
        return false;
    if (what->stop.kind != STOP_LOOPS)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "'%s' is no text of loops", from);
    if (!find_stop(stop, &what->stop, f))
        return false;
    what->first = pass_in(from) ? pass_in(from) : last_pass();
    what->last = pass_in(stop);
    if (what->stop.kind != STOP_LOOPS && what->stop.kind != STOP_TEXT)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "'%s' comes before loops, or needs more than they say: there is "
                           "'loops', 'loops:PASS' and the text of a target",
                           stop);
    return !what->last || tessi_streq(what->last, what->first) || is_behind(what->first, what->last)
           || tessi_failf(f, TESS_ERROR_ARGUMENT, "pass '%s' does not come behind '%s'", what->last,
                          what->first);
}

static bool print_from_loops(const FromLoops *what, LoopProgram *loops, Text *out, Failure *f)
{
    const Backend *b = what->stop.backend;
    const bool kernels = loops->functions.n && loops->functions.at[0].is_kernel;
    loops = tessi_pass_loops_behind(loops, what->first, what->last, f);
    if (!loops)
        return false;
    if (!b) {
        tessi_loop_print(loops, out);
        return true;
    }
    if (kernels != b->emit->kernels)
        return tessi_failf(f, TESS_ERROR_PROGRAM, "they are %s, and %s has %s",
                           kernels ? "kernels" : "loops of processors", b->emit->title,
                           kernels ? "none" : "kernels");
    const EmitOptions options = { .prelude = b->prelude,
                                  .vector_prelude = b->vector_prelude,
                                  .reference_prelude = b->reference_prelude,
                                  .source_name = what->name };
    EmitModule module;
    b->emit->print(loops, b->emit, &options, out, &module);
    return true;
}

/* False with a diagnostic. */
static bool dump_from_loops(FromLoops *what, const char *from, const char *stop, char **text,
                            tess_diags *d, Failure *f)
{
    Guard guard;
    if (!GUARDED(&guard, &d->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
    Text out = tessi_text_new(&d->arena);
    tessi_sources_add(&d->sources, what->name, what->loops, what->n);
    LoopProgram *loops = find_ends(from, stop, what, f)
                             ? tessi_loop_read(&d->arena, &d->diags, what->loops, what->n)
                             : NULL;
    if (loops && print_from_loops(what, loops, &out, f))
        *text = strdup(tessi_text_str(&out));
    if (f->status)
        tessi_diag(&d->diags, DIAG_LOOPS_STOP, (Span){ 0 }, f->text);
    return *text || d->diags.n_errors
           || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory while compiling");
}

tess_status tess_dump_loops(const char *loops, size_t n, const char *name, const char *from,
                            const char *stop, char **text, tess_diags **diags)
{
    if (diags)
        *diags = NULL;
    if (!loops || !name || !from || !stop || !text)
        return TESS_ERROR_ARGUMENT;
    *text = NULL;
    const Rounding callers = tessi_round_to_nearest();
    FromLoops what = { .loops = loops, .n = n, .name = name };
    Failure failure = { 0 };
    tess_diags *d = tessi_diags_new();
    const bool ok = d && dump_from_loops(&what, from, stop, text, d, &failure);
    tessi_round_as(callers);
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    if (!ok || failure.status)
        return d ? (tess_status)failure.status : TESS_ERROR_MEMORY;
    return *text ? TESS_OK : TESS_ERROR_PROGRAM;
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
        PlannedSize of;
        ok = tessi_pass_plan(p, v, d, f) && tessi_bind_sizes(p, v, a, arena, params, f)
             && tessi_pass_planned(p, v, params, &of, f);
        if (ok) {
            PlanEstimate made =
                tessi_plan_estimate(of.plan, of.graph, of.analysis, v->machine, params);
            e->operations = made.operations;
            e->bytes_read = made.bytes_read;
            e->bytes_written = made.bytes_written;
            e->predicted_ms = made.seconds * 1e3;
            e->start_ms = made.start_seconds * 1e3;
            e->must_move = made.must_move;
            e->bound_memory_ms = made.bound_memory * 1e3;
            e->bound_compute_ms = made.bound_compute * 1e3;
            e->bound_start_ms = made.bound_start * 1e3;
            e->bound_ms = tessi_plan_bound_seconds(&made) * 1e3;
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
