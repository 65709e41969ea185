/* Plans one step away: legal, different from each other, printed and read back, and all that a small program has. */
#include <string.h>

#include "plan/plan_neighbours.h"
#include "support/random_graph.h"
#include "unit/graph_testing.h"

static const char *text_of(Arena *a, const Plan *p, const Graph *g)
{
    Text text = tessi_text_new(a);
    tessi_plan_print(p, g, &text);
    return tessi_text_str(&text);
}

static const char blur_text[] =
    "graph blur param M, N image X[M, N] float stage X[M, N] float = image X "
    "stage bx[M, N] float = X@[0,-1]:clamp + X@[0,1]:clamp "
    "stage by[M, N] float = bx@[-1,0]:clamp + bx@[1,0]:clamp "
    "output o[M, N] float = by";

static bool has_change(const PlanNeighbours *list, const Graph *g, const char *stage,
                       const char *change)
{
    VEC_FOREACH (const PlanNeighbour, n, list)
        if (tessi_streq(tessi_stage(g, n->about)->name, stage) && tessi_streq(n->change, change))
            return true;
    return false;
}

static void a_small_program_has_these(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a, blur_text, NULL);
    Machine *m = tessi_machine_default(a);
    Plan *p = tessi_plan_naive(a, g, m);
    PlanNeighbours list = { 0 };
    tessi_plan_neighbours(a, g, p, &list);
    assert_true(has_change(&list, g, "bx", "inline"));
    assert_true(has_change(&list, g, "by", "y grid"));
    assert_true(has_change(&list, g, "by", "preset tiles"));
    assert_true(has_change(&list, g, "bx", "width 32"));
    assert_true(has_change(&list, g, "by", "split interior"));
    assert_false(has_change(&list, g, "by", "inline"));           /* a result */
    assert_false(has_change(&list, g, "by", "y 4 unroll"));       /* only where loops are split */
    assert_false(has_change(&list, g, "bx", "together with by")); /* by reads bx */
    assert_true(has_change(&list, g, "bx", "in the tiles of by"));
    VEC_FOREACH (const PlanNeighbour, n, &list) {
        if (tessi_streq(n->change, "in the tiles of by")) {
            PlanNeighbours tiled = { 0 };
            tessi_plan_neighbours(a, g, n->plan, &tiled);
            assert_true(has_change(&tiled, g, "bx", "stored"));
            assert_true(has_change(&tiled, g, "by", "y 64 grid"));
            assert_true(has_change(&tiled, g, "by", "stream"));
        }
        if (tessi_streq(n->change, "width 32")) {
            const char *stage = tessi_stage(g, n->about)->name;
            PlanNeighbours changed = { 0 };
            tessi_plan_neighbours(a, g, n->plan, &changed);
            assert_true(has_change(&changed, g, stage, "vectors of the machine"));
        }
        if (!tessi_streq(n->change, "inline"))
            continue;
        PlanNeighbours back = { 0 };
        tessi_plan_neighbours(a, g, n->plan, &back);
        assert_true(has_change(&back, g, "bx", "stored"));
    }
}

static void kernels_have_tiles_beside_them(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a, blur_text, NULL);
    Machine *m = tessi_machine_default(a);
    m->target = "gpu";
    PlanNeighbours list = { 0 }, tiled = { 0 };
    tessi_plan_neighbours(a, g, tessi_plan_naive(a, g, m), &list);
    VEC_FOREACH (const PlanNeighbour, n, &list)
        if (tessi_streq(n->change, "in the tiles of by"))
            tessi_plan_neighbours(a, g, n->plan, &tiled);
    assert_true(has_change(&tiled, g, "bx", "stored"));
    assert_true(has_change(&tiled, g, "bx", "y 8 unroll"));
    assert_true(has_change(&tiled, g, "by", "x 128 grid"));
    assert_true(has_change(&tiled, g, "by", "x 256 thread"));
}

static void points_have_copies_beside_them(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a, blur_text, NULL);
    Machine *m = tessi_machine_default(a);
    m->target = "gpu";
    PlanNeighbours list = { 0 }, copied = { 0 };
    const char *fault;
    tessi_plan_neighbours(a, g, tessi_plan_preset(a, g, m, "staged-none", &fault), &list);
    assert_true(has_change(&list, g, "bx", "X shared"));
    assert_true(has_change(&list, g, "bx", "X centre shared"));
    assert_false(has_change(&list, g, "bx", "X constant")); /* its size is not */
    assert_false(has_change(&list, g, "bx", "X not copied"));
    tessi_plan_neighbours(a, g, tessi_plan_preset(a, g, m, "staged-image", &fault), &copied);
    assert_true(has_change(&copied, g, "by", "bx not copied"));
    assert_true(has_change(&copied, g, "by", "bx centre shared"));
    assert_false(has_change(&copied, g, "by", "bx shared"));
    assert_null(tessi_plan_preset(a, g, m, "staged", &fault));
    assert_non_null(strstr(fault, "no preset is called 'staged'; there are unfused, "));
    m->target = "cpu";
    assert_null(tessi_plan_preset(a, g, m, "staged-image", &fault));
    assert_string_equal(fault, "the plan 'staged-image' is one of kernels, for GPUs");
}

static void a_copy_is_apart(void **state)
{
    Arena *a = *state;
    Graph *g = testing_read(a, blur_text, NULL);
    Plan *p = tessi_plan_naive(a, g, tessi_machine_default(a));
    const char *before = text_of(a, p, g);
    Plan *copy = tessi_plan_copy(a, p);
    tessi_level_set_rows(&copy->groups.at[0].levels, 9);
    copy->groups.at[0].members.at[0] = copy->groups.at[1].members.at[0];
    copy->stage[copy->groups.at[0].members.at[0].v].placement = PLACE_INLINE;
    copy->groups.n = 1;
    assert_string_equal(text_of(a, p, g), before);
}

static void neighbours_are_plans(void **state)
{
    Arena *a = *state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        Graph *g = random_graph(a, seed);
        if (!tessi_graph_verify(g)) {
            Machine *m = tessi_machine_default(a);
            m->target = seed % 2 ? "cpu" : "gpu";
            Plan *p = tessi_plan_random(a, g, m, seed);
            const char *own = text_of(a, tessi_plan_copy(a, p), g);
            PlanNeighbours list = { 0 };
            tessi_plan_neighbours(a, g, p, &list);
            VEC_FOREACH (const PlanNeighbour, n, &list) {
                const char *fault = tessi_plan_verify(a, n->plan, g),
                           *text = text_of(a, n->plan, g);
                if (fault)
                    fail_msg("seed %llu, %s: %s", (unsigned long long)seed, n->change, fault);
                if (tessi_streq(text, own))
                    fail_msg("seed %llu: %s changes nothing", (unsigned long long)seed, n->change);
                SourceMap sources;
                Diags diags;
                tessi_sources_init(&sources, a);
                tessi_diags_init(&diags, a, &sources);
                Plan *again = tessi_plan_read(a, &diags, g, text, strlen(text));
                assert_non_null(again);
                assert_string_equal(text_of(a, again, g), text);
            }
        }
        tessi_arena_dispose(a);
        tessi_arena_init(a, testing_out_of_memory, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(a_small_program_has_these),      GRAPH_TEST(kernels_have_tiles_beside_them),
        GRAPH_TEST(points_have_copies_beside_them), GRAPH_TEST(a_copy_is_apart),
        GRAPH_TEST(neighbours_are_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
