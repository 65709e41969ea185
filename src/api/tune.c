/* tess_tune: measures the chosen plan and plans near it, follows the better ones, and writes what was measured into
 * the best one's reasons. Candidates are compiled in small batches, since that is what takes long; each is timed
 * alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tune.h"
#include "plan/plan_neighbours.h"
#include "rt/clock.h"
#include "rt/env.h"

enum {
    MOST_RUNS = 15,
    FEWEST_RUNS = 3,
    MOST_DRAWS_IN_VAIN = 100,
    COMPARISONS = 3,
    MOST_EXPRESSIONS = 10000
};
static const double timed_ms = 60;      /* of the runs of one candidate */
static const double near = 1.1;         /* this much slower than the best: worth a second look */
static const double clearly = 0.985;    /* of the best's time: what counts as better */
static const double usual_seconds = 30; /* when the caller sets no limit */
/* Plans that are not worth their time, in times of the chosen one: taken, or expressions to be compiled; and
 * expected, which is less certain. */
static const double far_slower = 10, absurd = 30;

/* ---- Candidates ------------------------------------------------------------------------------ */

static uint64_t hash_of(Tuner *t, const Plan *plan)
{
    Text text = tessi_text_new(&t->arena);
    tessi_plan_print(tessi_plan_copy(&t->arena, plan), t->from.graph, &text); /* without reasons */
    return tessi_hash_bytes(0, tessi_text_str(&text), text.n);
}

static bool any(void *user, uint32_t id)
{
    (void)user;
    (void)id;
    return true;
}

static uint32_t number_of(const Tuner *t, uint64_t hash)
{
    return tessi_idmap_find(&t->tried, hash, any, NULL);
}

/* Puts a plan that was not tried yet in its place in the queue. */
static bool enqueue(Tuner *t, Candidate c)
{
    c.hash = hash_of(t, c.plan);
    if (number_of(t, c.hash) || !tessi_plan_same_transforms(c.plan, t->from.plan))
        return false;
    c.tuner = t;
    c.predicted = tessi_plan_estimate(c.plan, t->from.graph, t->from.analysis, t->v->machine,
                                      t->binding.params)
                      .seconds;
    if (t->most_predicted > 0 && c.predicted > t->most_predicted)
        return false;
    VEC_PUSH(&t->arena, &t->queue, c);
    uint32_t i = t->queue.n - 1;
    for (; i > 0 && t->queue.at[i - 1].predicted < c.predicted; i--)
        t->queue.at[i] = t->queue.at[i - 1];
    t->queue.at[i] = c;
    return true;
}

/* The most promising plan not tried yet; from now on it counts as tried. */
static bool dequeue(Tuner *t, Candidate *c)
{
    while (t->queue.n) {
        *c = t->queue.at[--t->queue.n];
        if (number_of(t, c->hash))
            continue;
        VEC_PUSH(&t->arena, &t->ms, 0);
        tessi_idmap_add(&t->arena, &t->tried, c->hash, t->ms.n - 1);
        return true;
    }
    return false;
}

static void enqueue_neighbours(Tuner *t)
{
    PlanNeighbours list = { 0 };
    tessi_plan_neighbours(&t->arena, t->from.graph, t->best.plan, &list);
    VEC_FOREACH (const PlanNeighbour, n, &list)
        enqueue(t, (Candidate){ .plan = n->plan, .about = n->about, .change = n->change });
}

/* For a sweep: plans from all over the place, once those nearby are done. */
static bool enqueue_drawn(Tuner *t, uint64_t *seed)
{
    for (int i = 0; i < MOST_DRAWS_IN_VAIN; i++) {
        Plan *plan = tessi_plan_random(&t->arena, t->from.graph, t->v->machine, (*seed)++);
        if (!tessi_plan_verify(&t->arena, plan, t->from.graph)
            && enqueue(t, (Candidate){ .plan = plan, .change = "drawn" }))
            return true;
    }
    return false;
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median times of candidates run in turn, so that a disturbance of the machine meets all of them. The first run of
 * each is not counted, unless it alone shows that the candidate is far slower. */
static bool time_in_turn(Tuner *t, Candidate *const *c, uint32_t n, double *median)
{
    double ms[2][MOST_RUNS], first[2], begin = 0;
    int runs = 0;
    for (uint32_t k = 0; k < n; k++)
        if (!t->lane->sample(t, c[k], &first[k]))
            return false;
    if (n == 1 && t->t->chosen_ms > 0 && first[0] > far_slower * t->t->chosen_ms) {
        median[0] = first[0];
        return true;
    }
    begin = tessi_clock_ms();
    while (runs < FEWEST_RUNS || (runs < MOST_RUNS && tessi_clock_ms() - begin < timed_ms * n)) {
        for (uint32_t k = 0; k < n; k++)
            if (!t->lane->sample(t, c[k], &ms[k][runs]))
                return false;
        runs++;
    }
    for (uint32_t k = 0; k < n; k++) {
        qsort(ms[k], (size_t)runs, sizeof *ms[k], by_value);
        median[k] = ms[k][runs / 2];
    }
    return true;
}

static bool same_results(Tuner *t, const Candidate *c)
{
    const Graph *g = t->from.graph;
    Failure difference = { 0 };
    for (uint32_t o = 0; o < g->outputs.n; o++)
        if (!tessi_same_image(&g->outputs.at[o], &t->results[o], &t->expected[o], 0, &difference))
            return tessi_failf(&t->a->failure, TESS_ERROR_INTERNAL,
                               "internal error: the plan with '%s' for '%s' changes pixels: %.300s",
                               c->change, tessi_stage(g, c->about)->name, difference.text);
    return true;
}

/* Says what a plan took, if somebody wants to know. */
static void tell(const Tuner *t, const Candidate *c, double ms)
{
    if (!t->t->told)
        return;
    Text text = tessi_text_new((Arena *)&t->arena);
    tessi_plan_print(c->plan, t->from.graph, &text);
    tessi_round_as(t->callers);
    t->t->told(t->t->user, tessi_text_str(&text), c->predicted * 1e3, ms);
    tessi_round_to_nearest();
}

/* Whether a first run that began at begin_ms took so long that no other should follow: far slower than that of the
 * chosen plan, and longer than all runs of a candidate should take. */
static bool took_too_long(const Tuner *t, double begin_ms)
{
    const double took = tessi_clock_ms() - begin_ms;
    return took > far_slower * t->first_ms && took > timed_ms;
}

/* Drops a candidate without having measured it. */
static bool give_up(Tuner *t, Candidate *c)
{
    t->lane->drop(t, c);
    t->given_up++;
    return true;
}

/* Times a candidate; it takes the place of the best, or is dropped. */
static bool judge(Tuner *t, Candidate *c)
{
    Candidate *const both[2] = { c, &t->best };
    const double begin = tessi_clock_ms();
    double ms[2];
    bool ok = t->lane->run(t, c, t->results) && same_results(t, c);
    if (ok && took_too_long(t, begin))
        return give_up(t, c);
    ok = ok && time_in_turn(t, both, 1, ms);
    if (ok && ms[0] < t->t->best_ms * near) {
        ok = time_in_turn(t, both, 2, ms);
        t->t->best_ms = ms[1];
    }
    if (!ok) {
        t->lane->drop(t, c);
        return false;
    }
    t->t->measured++;
    t->ms.at[number_of(t, c->hash)] = ms[0];
    tell(t, c, ms[0]);
    if (ms[0] >= t->t->best_ms * clearly) {
        t->lane->drop(t, c);
        return true;
    }
    if (t->chosen.compiled)
        t->lane->drop(t, &t->best);
    else
        t->chosen = t->best;
    t->best = *c;
    t->t->best_ms = ms[0];
    if (t->t->most)
        return true;
    t->queue.n = 0; /* neighbours of what is no longer the best */
    enqueue_neighbours(t);
    return true;
}

static int compile(void *user)
{
    Candidate *c = user;
    c->tuner->lane->compile(c);
    return 0;
}

/* Whether compilers would take far longer than for the chosen plan: so much more is to be compiled. */
static bool is_endless(const Tuner *t, const Candidate *c)
{
    const uint32_t n = c->loops ? c->loops->exprs.n : 0;
    const Candidate *chosen = t->chosen.compiled ? &t->chosen : &t->best;
    return chosen->compiled && chosen->loops && n > MOST_EXPRESSIONS
           && (double)n > far_slower * (double)chosen->loops->exprs.n;
}

/* Side by side, the last one in this thread. */
static void compile_all(Tuner *t, Candidate *batch, uint32_t n)
{
    thrd_t thread[TUNE_MOST_AT_ONCE];
    bool started[TUNE_MOST_AT_ONCE] = { false };
    const double begin = tessi_clock_ms();
    for (uint32_t i = 0; i < n; i++) {
        batch[i].compiled = false;
        if (!t->lane->make(t, &batch[i]) || is_endless(t, &batch[i]))
            continue;
        started[i] = i + 1 < n && thrd_create(&thread[i], compile, &batch[i]) == thrd_success;
        if (!started[i])
            compile(&batch[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (started[i])
            thrd_join(thread[i], NULL);
    const double took = tessi_clock_ms() - begin;
    t->compile_ms = took > t->compile_ms ? took : t->compile_ms;
}

/* ---- The search ------------------------------------------------------------------------------ */

static bool start(Tuner *t)
{
    VEC_PUSH(&t->arena, &t->ms, 0);
    if (!t->lane->open(t))
        return false;
    const Graph *g = t->from.graph;
    enqueue(t, (Candidate){ .plan = t->from.plan, .change = "" });
    dequeue(t, &t->best);
    t->most_predicted = absurd * t->best.predicted;
    t->expected = ARENA_NEW_ARRAY(&t->arena, InterpImage, g->outputs.n);
    t->results = ARENA_NEW_ARRAY(&t->arena, InterpImage, g->outputs.n);
    if (!tessi_results_again(g, &t->binding, t->expected, t->memory, &t->a->failure)
        || !tessi_results_again(g, &t->binding, t->results, t->memory + g->outputs.n,
                                &t->a->failure))
        return false;
    compile_all(t, &t->best, 1);
    const double begin = tessi_clock_ms();
    if (!t->best.compiled || !t->lane->prepare(t, &t->best)) {
        t->a->failure = t->best.failure;
        return false;
    }
    double ms;
    Candidate *const only = &t->best;
    if (!t->lane->run(t, &t->best, t->expected))
        return false;
    t->first_ms = tessi_clock_ms() - begin;
    if (!time_in_turn(t, &only, 1, &ms))
        return false;
    t->t->chosen_ms = t->t->best_ms = t->ms.at[1] = ms;
    tell(t, &t->best, ms);
    enqueue_neighbours(t);
    return true;
}

/* To the caller, rounding as the caller does. */
static void report(const Tuner *t)
{
    tessi_round_as(t->callers);
    t->t->progress(t->t->user, t->t);
    tessi_round_to_nearest();
}

/* Judges candidates that are compiled, one after the other; false if one gave other pixels or could not be run. */
static bool judge_all(Tuner *t, Candidate *batch, uint32_t n)
{
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) {
        Candidate *c = &batch[i];
        const double begin = tessi_clock_ms();
        if (!ok || !c->compiled || !t->lane->prepare(t, c))
            t->lane->drop(t, c); /* a plan that takes the compiler too long is no good one */
        else
            ok = took_too_long(t, begin) ? give_up(t, c) : judge(t, c);
    }
    return ok;
}

static bool search(Tuner *t)
{
    Candidate batch[TUNE_MOST_AT_ONCE];
    const uint32_t cores = (uint32_t)tessi_cpu_count(), few = 2;
    const uint32_t wanted = cores > few ? cores : few;
    const uint32_t at_once = wanted < t->lane->at_once ? wanted : t->lane->at_once;
    uint64_t seed = 1;
    while (tessi_clock_ms() + t->compile_ms < t->end_ms) {
        uint32_t n = 0;
        const int seen = t->t->measured + t->given_up;
        const uint32_t left = t->t->most ? (uint32_t)(t->t->most - seen) : at_once;
        while (n < at_once && n < left && (t->queue.n || (t->t->sweep && enqueue_drawn(t, &seed))))
            n += dequeue(t, &batch[n]);
        t->t->complete = n == 0;
        if (!n)
            break;
        compile_all(t, batch, n);
        if (!judge_all(t, batch, n))
            return false;
        if (t->t->progress)
            report(t);
    }
    return true;
}

typedef struct Comparison {
    double ms[2]; /* of the chosen plan and of the best */
} Comparison;

static int by_ratio(const void *a, const void *b)
{
    const Comparison *x = a, *y = b;
    const double left = x->ms[0] * y->ms[1], right = y->ms[0] * x->ms[1];
    return (left > right) - (left < right);
}

/* The chosen plan and the best were measured at different times, between which the machine may have changed: both
 * once more, in turn. */
static bool compare_at_the_end(Tuner *t)
{
    Candidate *const both[2] = { &t->chosen, &t->best };
    Comparison found[COMPARISONS];
    if (!t->chosen.compiled)
        return true;
    for (int i = 0; i < COMPARISONS; i++)
        if (!time_in_turn(t, both, 2, found[i].ms))
            return false;
    qsort(found, COMPARISONS, sizeof *found, by_ratio);
    const double *ms = found[COMPARISONS / 2].ms;
    t->t->chosen_ms = ms[0];
    t->t->best_ms = ms[1];
    if (ms[1] < ms[0])
        return true;
    const Candidate no_better = t->best; /* a disturbance had made it so */
    t->best = t->chosen;
    t->chosen = no_better;
    t->t->best_ms = ms[0];
    return true;
}

/* ---- What came out --------------------------------------------------------------------------- */

static void add_ms(Text *out, double ms)
{
    tessi_text_add_real(out, (double)(int64_t)(ms * 1000 + 0.5) / 1000, true);
    tessi_text_add(out, " ms");
}

/* The plan with what its neighbours took as reasons. */
static const char *explained(Tuner *t)
{
    const Graph *g = t->from.graph;
    Plan *plan = tessi_plan_copy(&t->arena, t->best.plan);
    PlanNeighbours list = { 0 };
    tessi_plan_neighbours(&t->arena, g, t->best.plan, &list);
    Text text;
    VEC_FOREACH (const PlanNeighbour, n, &list) {
        uint32_t number = number_of(t, hash_of(t, n->plan));
        if (!number || !(t->ms.at[number] > 0))
            continue;
        const char **reason = &plan->stage[n->about.v].reason;
        text = tessi_text_new(&t->arena);
        tessi_text_addf(&text, "%s%s ", **reason ? ", " : "measured: ", n->change);
        add_ms(&text, t->ms.at[number]);
        *reason = tessi_sprintf(&t->arena, "%s%s", *reason, tessi_text_str(&text));
    }
    if (plan->groups.n) {
        text = tessi_text_new(&t->arena);
        tessi_text_add(&text, "measured: the program takes ");
        add_ms(&text, t->t->best_ms);
        tessi_text_addf(&text, ", the best of %d plans; what else was tried is beside the stages",
                        t->t->measured + 1);
        plan->groups.at[0].reason = tessi_text_str(&text);
    }
    text = tessi_text_new(&t->arena);
    tessi_plan_print(plan, g, &text);
    return tessi_text_str(&text);
}

static bool tune(Tuner *t)
{
    Failure *f = &t->a->failure;
    Guard guard;
    if (!GUARDED(&guard, &t->arena))
        return tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
    if (!start(t))
        return false;
    Text text = tessi_text_new(&t->arena);
    tessi_plan_print(t->best.plan, t->from.graph, &text);
    t->t->chosen_plan = strdup(tessi_text_str(&text));
    if (t->t->most != TESS_TUNE_NONE && (!search(t) || !compare_at_the_end(t)))
        return false;
    t->t->plan = strdup(explained(t));
    return (t->t->plan && t->t->chosen_plan) || tessi_failf(f, TESS_ERROR_MEMORY, "out of memory");
}

void tess_tuning_init(tess_tuning *t)
{
    memset(t, 0, sizeof *t);
    t->struct_size = sizeof *t;
}

/* "c, cuda and opencl" */
static const char *measurable(char *known, size_t size)
{
    const char *last = NULL;
    known[0] = '\0';
    for (const Backend *const *b = tessi_backends; *b; b++) {
        if (!(*b)->tune)
            continue;
        const size_t n = strlen(known);
        if (last)
            snprintf(known + n, size - n, "%s%s", n ? ", " : "", last);
        last = (*b)->name;
    }
    const size_t n = strlen(known);
    snprintf(known + n, size - n, "%s%s", n ? " and " : "", last ? last : "");
    return known;
}

static tess_status tune_plans(tess_program *p, tess_args *a, tess_tuning *tuning, Rounding callers)
{
    if (!p || !a || !tuning || tuning->struct_size != sizeof *tuning
        || tuning->most < TESS_TUNE_NONE || !tessi_args_begin(p, a))
        return TESS_ERROR_ARGUMENT;
    tuning->plan = tuning->chosen_plan = NULL;
    tuning->measured = tuning->complete = 0;
    tuning->chosen_ms = tuning->best_ms = 0;
    a->has_results = false;
    const Backend *b = tessi_backend(p);
    if (!b->tune) {
        char known[128];
        tessi_failf(&a->failure, TESS_ERROR_UNSUPPORTED,
                    "only plans for the targets %s can be measured",
                    measurable(known, sizeof known));
        return TESS_ERROR_UNSUPPORTED;
    }
    Tuner t = { .p = p, .a = a, .t = tuning, .callers = callers, .lane = b->tune };
    t.run = (Run){ .backend = b, .p = p, .a = a, .wants_plan = true };
    double seconds = tuning->seconds > 0 ? tuning->seconds : usual_seconds;
    t.end_ms = tessi_clock_ms() + seconds * 1e3;
    Variant *v = tessi_run_acquire(&t.run);
    if (!v)
        return (tess_status)a->failure.status;
    t.v = v;
    t.memory = calloc(2 * p->outputs.n + 1, sizeof *t.memory);
    tessi_arena_init(&t.arena, NULL, NULL);
    bool ok = t.memory ? tune(&t) : tessi_failf(&a->failure, TESS_ERROR_MEMORY, "out of memory");
    if (!ok) {
        free(tuning->chosen_plan);
        tuning->chosen_plan = NULL;
    }
    t.lane->drop(&t, &t.best);
    t.lane->drop(&t, &t.chosen);
    tessi_arena_dispose(&t.arena);
    for (uint32_t o = 0; t.memory && o < 2 * p->outputs.n; o++)
        free(t.memory[o]);
    free(t.memory);
    tessi_variant_release(p, v);
    return ok ? TESS_OK : (tess_status)a->failure.status;
}

tess_status tess_tune(tess_program *p, tess_args *a, tess_tuning *tuning)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = tune_plans(p, a, tuning, callers);
    tessi_round_as(callers);
    return status;
}
