/* From the graph to loops: plan, lowering, passes over loops. Each pass is followed by the verifier of what it made,
 * so that a fault of ours is a sentence that names the pass and never a wrong picture. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/passes.h"
#include "api/backend.h"
#include "api/embedded.h"
#include "graph/graph_walk.h"
#include "loop/loop_passes.h"
#include "loop/lower.h"
#include "rt/clock.h"
#include "rt/machine.h"

static bool internal(Failure *f, const char *pass, const char *fault)
{
    return tessi_failf(f, TESS_ERROR_INTERNAL, "internal error in pass '%s': %s", pass, fault);
}

static bool first_error(const tess_diags *d, Failure *f)
{
    VEC_FOREACH (const Diag, diag, &d->diags.list)
        if (diag->severity == SEV_ERROR)
            return tessi_failf(f, TESS_ERROR_PROGRAM, "%s", diag->text);
    return tessi_failf(f, TESS_ERROR_INTERNAL, "a reader failed without saying why");
}

/* What twice the code has to gain: its share of the time. */
static void set_effort(Machine *m, tess_effort effort)
{
    static const struct {
        double rows, time;
    } shares[] = { [TESS_EFFORT_QUICK] = { 0.85, 0.75 }, [TESS_EFFORT_BEST] = { 1, 0.98 } };
    if (!m || (effort != TESS_EFFORT_QUICK && effort != TESS_EFFORT_BEST))
        return;
    m->rows_gain = shares[effort].rows;
    m->time_gain = shares[effort].time;
}

/* What a part of a processor's cores has of it: caches of their own, of the last one a share, and more of the memory's
 * rate than their number says. */
static void keep_to_threads(Machine *m, int threads)
{
    if (!m || tessi_machine_is_gpu(m) || threads < 1 || threads >= m->cores)
        return;
    const double of_memory =
        tessi_machine_usual_memory(threads) / tessi_machine_usual_memory(m->cores);
    m->l3_gbs *= threads / (double)m->cores;
    m->memory_gbs *= of_memory;
    m->memory_stream_gbs *= of_memory;
    m->cores = threads;
}

bool tessi_pass_machine_text(tess_program *p, const Backend *b, Text *out, Failure *f)
{
    if (!p->options.machine)
        return b->describe(p, out, f);
    tessi_text_add(out, p->options.machine);
    return true;
}

/* The machine to plan for: the one described in the options, else what the row says. NULL with diagnostics in `d` or
 * the sentence in `f`. */
static Machine *machine_as_described(tess_program *p, const Backend *b, Variant *v, tess_diags *d,
                                     Failure *f)
{
    Text text = tessi_text_new(&v->arena);
    if (!tessi_pass_machine_text(p, b, &text, f))
        return NULL;
    if (p->options.machine)
        tessi_sources_add(&d->sources, "machine", tessi_text_str(&text), text.n);
    Machine *m = tessi_machine_read(&v->arena, &d->diags, tessi_text_str(&text), text.n);
    if (!p->options.machine)
        keep_to_threads(m, p->options.threads);
    return m;
}

static Machine *machine_of(tess_program *p, const Backend *b, Variant *v, tess_diags *d, Failure *f)
{
    Machine *m = machine_as_described(p, b, v, d, f);
    set_effort(m, p->options.effort);
    return m;
}

/* Fast rounding leaves exponentials to the target. */
static void add_near_powers(const Graph *g, Plan *plan)
{
    ExprWalk walk = { .arena = plan->arena };
    GRAPH_FOREACH_STAGE (g, id) {
        bool any = false;
        VEC_FOREACH (const Piece, piece, &tessi_stage(g, id)->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            VEC_FOREACH (const ExprId, e, list)
                any = any || tessi_expr_is_near(g, *e);
        }
        if (!any || !plan->needed[id.v])
            continue;
        const char *rest = plan->stage[id.v].reason;
        plan->stage[id.v].reason = tessi_sprintf(
            plan->arena,
            "exponentials as 2^x by the target's instruction: off by at most 2^-21 + 2^-22 |x| of "
            "their values, 0 for less than 2^-126%s%s",
            rest && *rest ? "\n" : "", rest ? rest : "");
    }
}

/* The form of a mask was chosen before the plan; whoever asks for reasons finds it with the stage. */
static void add_forms(const Graph *g, Plan *plan)
{
    VEC_FOREACH (const MaskForm, form, &g->forms) {
        StageId id = tessi_graph_stage_by_name(g, form->stage);
        bool as_written = true;
        VEC_FOREACH (const PlanGroup, group, &plan->groups) {
            const Reduction in_strips = group->transform ? REDUCE_SUM : REDUCE_MEDIAN;
            as_written = as_written
                         && !(group->strip && group->members.at[0].v == id.v
                              && form->reduction == in_strips && !form->network);
        }
        if (!as_written)
            continue; /* its group has said how */
        Text reason = tessi_text_new(plan->arena);
        tessi_mask_form_print(form, &reason);
        const char *rest = id.v ? plan->stage[id.v].reason : "";
        if (rest && *rest)
            tessi_text_addf(&reason, "\n%s", rest);
        if (id.v)
            plan->stage[id.v].reason = tessi_text_str(&reason);
    }
}

/* The plan that the options ask for: `preset NAME`, or a text. */
static Plan *given_plan(tess_program *p, Variant *v, const Machine *m, tess_diags *d)
{
    static const char word[] = "preset ";
    const char *text = p->options.plan;
    if (strncmp(text, word, sizeof word - 1) != 0)
        return tessi_plan_read(&v->arena, &d->diags, v->graph, text, strlen(text));
    const char *name = text + sizeof word - 1;
    const char *fault;
    Plan *plan = tessi_plan_preset(&v->arena, v->graph, m,
                                   tessi_strndup(&v->arena, name, strcspn(name, " \n")), &fault);
    if (!plan)
        tessi_diag(&d->diags, DIAG_BAD_PLAN_TEXT, (Span){ 0 }, fault);
    return plan;
}

const char *tess_preset(size_t i)
{
    return tessi_plan_preset_name(i);
}

static void add_reasons(const Graph *g, Plan *plan)
{
    add_forms(g, plan);
    add_near_powers(g, plan);
}

/* Turns of repeats that are computed as one become one in the graph. */
static bool block_turns(Variant *v, const BlockTime *time, Graph **graph, Analysis **analysis,
                        Failure *f)
{
    *graph = tessi_graph_block_time(v->turns, &v->arena, time);
    *analysis = tessi_analyse(*graph, &v->arena);
    const char *fault = tessi_graph_verify(*graph);
    return fault ? internal(f, "time", fault) : true;
}

static bool block_time(tess_program *p, Variant *v, const Machine *m, Failure *f)
{
    static const char preset[] = "preset ";
    if (!v->graph->repeats.n || v->plan)
        return true;
    v->turns = v->turns ? v->turns : v->graph;
    const char *text = p->options.plan;
    if (text && strncmp(text, preset, sizeof preset - 1) == 0)
        text = "";
    const BlockTime *time = text ? tessi_plan_times_said(&v->arena, v->turns, text)
                                 : tessi_plan_times(&v->arena, v->turns, m, PLAN_LARGE);
    return block_turns(v, time, &v->graph, &v->analysis, f);
}

static bool for_processors(Variant *v, Failure *f)
{
    Graph *g = tessi_graph_for_processors(v->graph, &v->arena);
    if (g == v->graph)
        return true;
    v->graph = g;
    v->analysis = tessi_analyse(v->graph, &v->arena);
    const char *fault = tessi_graph_verify(v->graph);
    return fault ? internal(f, "processors", fault) : true;
}

/* The given plan, or the best for this machine. NULL with one sentence. */
static Plan *plan_for(tess_program *p, Variant *v, const Machine *m, tess_diags *d, Failure *f)
{
    const bool kernels =
        tessi_machine_is_gpu(m) || (p->options.plan && tessi_plan_is_of_kernels(p->options.plan));
    if ((!kernels && !for_processors(v, f)) || !block_time(p, v, m, f))
        return NULL;
    Plan *plan = p->options.plan
                     ? given_plan(p, v, m, d)
                     : tessi_plan_choose(&v->arena, v->graph, v->analysis, m, PLAN_LARGE);
    if (!plan) {
        first_error(d, f);
        return NULL;
    }
    const char *fault = tessi_plan_verify(&v->arena, plan, v->graph);
    const char *missing = fault ? NULL : tessi_plan_missing_transform(&v->arena, plan, v->graph);
    if (missing) {
        tessi_failf(f, TESS_ERROR_PROGRAM, "%s", missing);
        return NULL;
    }
    if (!fault && !p->options.plan)
        add_reasons(v->graph, plan);
    if (!fault)
        return plan;
    if (p->options.plan)
        tessi_failf(f, TESS_ERROR_PROGRAM, "the plan cannot be used: %s", fault);
    else
        internal(f, "plan", fault);
    return NULL;
}

bool tessi_pass_plan(tess_program *p, Variant *v, tess_diags *d, Failure *f)
{
    if (v->plan)
        return true;
    tessi_phase(p, "planning");
    v->machine = machine_of(p, p->backend, v, d, f);
    if (!v->machine)
        return f->status ? false : first_error(d, f);
    const double start = tessi_clock_ms();
    v->plan = plan_for(p, v, v->machine, d, f);
    tessi_pass_note(&v->times, &v->arena, "plan", start);
    return v->plan != NULL;
}

void tessi_pass_note(PassTimes *times, Arena *a, const char *name, double start)
{
    if (times)
        VEC_PUSH(a, times, ((PassTime){ name, tessi_clock_ms() - start }));
}

/* The passes over loops behind the one named `first` ("lower": all) up to the one named `last` (NULL: the last there
 * is), the verifier after each. */
static LoopProgram *run_loop_passes(LoopProgram *loops, const char *first, const char *last,
                                    PassTimes *times, Failure *f)
{
    const char *done = "lower";
    const LoopPass *pass = tessi_loop_passes();
    while (!tessi_streq(done, first) && pass->name)
        done = pass++->name;
    for (;; pass++) {
        const char *fault = tessi_loop_verify(loops);
        if (fault) {
            internal(f, done, fault);
            return NULL;
        }
        if (!pass->name || (last && tessi_streq(last, done)))
            return loops;
        const double start = tessi_clock_ms();
        pass->run(loops);
        done = pass->name;
        tessi_pass_note(times, loops->arena, tessi_sprintf(loops->arena, "loops:%s", done), start);
    }
}

LoopProgram *tessi_pass_lower(Arena *a, const Graph *g, const Plan *plan, const Machine *m,
                              Failure *f)
{
    return tessi_pass_check_loops(tessi_lower_loops(a, g, plan, m), f);
}

static LoopProgram *lower_until(const Variant *v, const Plan *plan, const Machine *m, Arena *a,
                                const char *last, PassTimes *times, Failure *f)
{
    const double start = tessi_clock_ms();
    LoopProgram *loops = tessi_lower_loops(a, v->graph, plan, m);
    tessi_pass_note(times, a, "lower", start);
    return run_loop_passes(loops, "lower", last, times, f);
}

LoopProgram *tessi_pass_lower_until(const Variant *v, Arena *a, const char *last, PassTimes *times,
                                    Failure *f)
{
    return lower_until(v, v->plan, v->machine, a, last, times, f);
}

bool tessi_pass_other_loops(tess_program *p, const Backend *b, Variant *v, tess_diags *d,
                            Failure *f)
{
    if (v->other_loops)
        return true;
    /* The program's own plan serves too, and is there at once. */
    const Machine *m = v->plan ? v->machine : machine_of(p, b, v, d, f);
    if (!m)
        return f->status ? false : first_error(d, f);
    v->other_plan = v->plan ? v->plan : plan_for(p, v, m, d, f);
    if (v->other_plan)
        v->other_loops = lower_until(v, v->other_plan, m, &v->arena, b->last_pass, NULL, f);
    return v->other_loops != NULL;
}

LoopProgram *tessi_pass_loops_behind(LoopProgram *loops, const char *first, const char *last,
                                     Failure *f)
{
    return run_loop_passes(loops, first, last, NULL, f);
}

LoopProgram *tessi_pass_check_loops(LoopProgram *loops, Failure *f)
{
    return run_loop_passes(loops, "lower", NULL, NULL, f);
}

bool tessi_pass_loops(Variant *v, Failure *f)
{
    if (!v->loops)
        v->loops = tessi_pass_lower_until(v, &v->arena, v->backend->last_pass, &v->times, f);
    return v->loops != NULL;
}

PlannedSize tessi_planned(const Variant *v, PlanSize size)
{
    return size == PLAN_LARGE ? (PlannedSize){ v->graph, v->analysis, v->plan, v->loops }
                              : v->sizes[size - 1];
}

static const char *without_reasons(Arena *a, const Plan *plan, const Graph *g)
{
    Text text = tessi_text_new(a);
    tessi_plan_print(tessi_plan_copy(a, plan), g, &text);
    return tessi_text_str(&text);
}

bool tessi_pass_size(Variant *v, PlanSize size, Failure *f)
{
    Arena *a = &v->arena;
    const PlannedSize large = tessi_planned(v, PLAN_LARGE);
    PlannedSize made = large;
    if (tessi_planned(v, size).loops)
        return true;
    if (v->turns
        && !block_turns(v, tessi_plan_times(a, v->turns, v->machine, size), &made.graph,
                        &made.analysis, f))
        return false;
    made.plan = tessi_plan_choose(a, made.graph, made.analysis, v->machine, size);
    const char *fault = tessi_plan_verify(a, made.plan, made.graph);
    if (fault)
        return internal(f, "plan", fault);
    if (tessi_streq(without_reasons(a, made.plan, made.graph),
                    without_reasons(a, large.plan, large.graph)))
        made = large;
    else
        made.loops = tessi_pass_lower(a, made.graph, made.plan, v->machine, f);
    if (made.loops)
        v->sizes[size - 1] = made;
    return made.loops != NULL;
}

PlanSize tessi_size_of_run(const tess_program *p, const Variant *v, const int64_t *params)
{
    if (!v->backend->device || v->is_private || p->options.plan)
        return PLAN_LARGE;
    const double points = tessi_plan_most_points(v->graph, params);
    return tessi_plan_size(v->plan, v->turns != NULL, points);
}

bool tessi_pass_planned(const tess_program *p, Variant *v, const int64_t *params, PlannedSize *out,
                        Failure *f)
{
    const PlanSize size = tessi_size_of_run(p, v, params);
    if (size != PLAN_LARGE && !(tessi_pass_loops(v, f) && tessi_pass_size(v, size, f)))
        return false;
    *out = tessi_planned(v, size);
    return true;
}

LoopProgram *tessi_pass_reference(const Variant *v, const Machine *m, Arena *a, Failure *f)
{
    Plan *plan = tessi_plan_naive(a, v->graph, m);
    if (v->plan)
        tessi_plan_take_transforms(plan, v->plan);
    LoopProgram *loops = tessi_lower_loops(a, v->graph, plan, m);
    loops->vector_bytes = 0; /* computed point by point, whatever the plan says of its loops */
    return tessi_pass_check_loops(loops, f);
}

LoopProgram *tessi_pass_ahead(tess_program *p, const Backend *b, Variant *v, tess_diags *d,
                              Failure *f)
{
    const bool any = !p->options.machine && !p->backend->device;
    Machine *m = any ? tessi_machine_read(&v->arena, &d->diags, tessi_embedded_generic_gpu,
                                          strlen(tessi_embedded_generic_gpu))
                     : machine_of(p, p->backend, v, d, f);
    if (!m) {
        if (!f->status)
            first_error(d, f);
        return NULL;
    }
    const Plan *plan = plan_for(p, v, m, d, f);
    if (!plan || !tessi_backend_fits(b, plan, f))
        return NULL;
    return tessi_pass_lower(&v->arena, v->graph, plan, m, f);
}
