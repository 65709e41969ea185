/* Tuning leaves plans that are not worth their time: those expected to be absurdly slow, those that one run shows to
 * be far slower than the chosen one, and all that would not be compiled in time. Times are those that a lane of this
 * test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include "api/tune.h"

static const double chosen_ms = 1, slow_ms = 11;

/* What is measured of the lane below, and what its clock says. */
static struct {
    int candidates, samples; /* beside the chosen plan */
    int told;
    bool all_are_large;    /* candidates, for a compiler */
    double most_predicted; /* of them, over the chosen plan's */
    double chosen_predicted;
    long compile_ns;
} seen;

static bool load(tess_program *p, Variant *v, Failure *f)
{
    (void)p;
    (void)v;
    (void)f;
    return true;
}

/* Of a run: plans and loops, and nothing that is loaded. */
static bool prepare_run(Run *r)
{
    return tessi_run_on_host(r) && tessi_run_passes(r, load);
}

static bool open_lane(Tuner *t)
{
    t->from = tessi_planned(t->v, PLAN_LARGE);
    return tessi_bind(t->p, t->v, t->v->loops, t->a, &t->arena, &t->binding, &t->a->failure);
}

static bool is_chosen(const Candidate *c)
{
    return *c->change == '\0';
}

static bool make(Tuner *t, Candidate *c)
{
    static LoopProgram large;
    large.exprs.n = 1000000;
    c->loops = is_chosen(c) || !seen.all_are_large ? t->v->loops : &large;
    return true;
}

static void compile(Candidate *c)
{
    thrd_sleep(&(struct timespec){ .tv_nsec = seen.compile_ns }, NULL);
    seen.candidates += !is_chosen(c);
    c->compiled = true;
}

static bool prepare(Tuner *t, Candidate *c)
{
    (void)t;
    (void)c;
    return true;
}

static bool run(Tuner *t, Candidate *c, InterpImage *results)
{
    (void)c;
    memset(results[0].data, 0, (size_t)(t->binding.outputs[0].size[0] * 4));
    return true;
}

static bool sample(Tuner *t, Candidate *c, double *ms)
{
    (void)t;
    seen.samples += !is_chosen(c);
    *ms = is_chosen(c) ? chosen_ms : slow_ms;
    return true;
}

static void drop(Tuner *t, Candidate *c)
{
    (void)t;
    (void)c;
}

static void told(void *user, const char *plan, double predicted, double ms)
{
    (void)user;
    (void)plan;
    if (!seen.told++) {
        seen.chosen_predicted = predicted;
        return;
    }
    assert_true(ms == slow_ms);
    const double times = predicted / seen.chosen_predicted;
    seen.most_predicted = times > seen.most_predicted ? times : seen.most_predicted;
}

/* Tunes a window of a window: with the first inlined into the second, it is computed again for each place. */
static tess_tuning tune(double seconds, long compile_ns, bool all_are_large)
{
    static const char text[] =
        "stencil wide(vector#1 float X) { return sum(i = -40..40 : X@[i] * X@[i]); }\n"
        "parameter N; vector#1 float a[N]; b = wide(a:clamp); return wide(b:clamp);";
    static const TuneLane lane = { 1, open_lane, make, compile, prepare, run, sample, drop };
    static float pixels[1000];
    int64_t shape = 1000;
    const DLTensor image = { pixels, { kDLCPU, 0 }, 1, { kDLFloat, 32, 1 }, &shape, NULL, 0 };
    tess_options o;
    tess_program *p = NULL;
    tess_args *a = NULL;
    tess_tuning t;
    memset(&seen, 0, sizeof seen);
    seen.compile_ns = compile_ns;
    seen.all_are_large = all_are_large;
    tess_options_init(&o);
    o.target = TESS_TARGET_VM;
    assert_int_equal(tess_compile(text, strlen(text), "tune.tess", &o, &p, NULL), TESS_OK);
    Backend own = *p->backend;
    own.tune = &lane;
    own.prepare = prepare_run;
    p->backend = &own;
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    assert_int_equal(tess_args_image(a, "a", &image), TESS_OK);
    tess_tuning_init(&t);
    t.seconds = seconds;
    t.told = told;
    assert_int_equal(tess_tune(p, a, &t), TESS_OK);
    tess_text_free(t.plan);
    tess_text_free(t.chosen_plan);
    tess_args_free(a);
    tess_program_free(p);
    return t;
}

static void test_one_run_is_enough(void **state)
{
    (void)state;
    const tess_tuning t = tune(60, 0, false);
    assert_true(t.complete && t.measured > 0);
    assert_int_equal(seen.candidates, t.measured);
    assert_int_equal(seen.samples, t.measured);
    assert_true(t.chosen_ms == chosen_ms && t.best_ms == chosen_ms);
}

static void test_absurd_plans_are_not_tried(void **state)
{
    (void)state;
    tune(60, 0, false);
    assert_true(seen.most_predicted > 1 && seen.most_predicted <= 30);
}

static void test_nothing_is_compiled_in_vain(void **state)
{
    (void)state;
    const tess_tuning t = tune(0.3, 200000000, false);
    assert_int_equal(seen.candidates, 0);
    assert_false(t.complete);
}

static void test_endless_texts_are_not_compiled(void **state)
{
    (void)state;
    const tess_tuning t = tune(60, 0, true);
    assert_int_equal(seen.candidates, 0);
    assert_true(t.complete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_run_is_enough),
        cmocka_unit_test(test_absurd_plans_are_not_tried),
        cmocka_unit_test(test_nothing_is_compiled_in_vain),
        cmocka_unit_test(test_endless_texts_are_not_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
