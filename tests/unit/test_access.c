/* The algebra of reads: which follow the point, how far they reach, what moves them. */
#include "graph/access.h"

#include "graph_testing.h"

static const char *const program =
    "graph t param M, N image X[M, N] float image m[3, 3] float stage X[M, N] float = image X "
    "stage m[3, 3] float = image m "
    "stage s[M, N] float = X@[-2,1]:clamp + X + X@[(0,2),(1,2)] + X@[{cast<int32>(X)},0]:clamp + "
    "sum($i = -4..1, $j = 0..2 : X@[$i,5 - 2*$j]:mirror * m@[=1,=$j]) "
    "output r[M, N] float = s";

enum { FAR_READ, OWN_READ, SAMPLED_READ, COMPUTED_READ, WINDOW_READ, MASK_READ, N_READS };

/* The reads of the program, in the order above. */
static Graph *reads(Arena *a, const Access *read[N_READS])
{
    Graph *g = testing_read(a, program, NULL);
    memset(read, 0, N_READS * sizeof *read);
    for (uint32_t v = 1; v < g->accesses.n; v++) {
        const Access *x = tessi_access(g, (AccessId){ v });
        const bool is_mask = tessi_streq(tessi_stage(g, x->producer)->name, "m");
        const int which = is_mask                          ? MASK_READ
                          : x->dim[0].absolute             ? COMPUTED_READ
                          : x->dim[0].scale != 1           ? SAMPLED_READ
                          : x->dim[0].n_terms              ? WINDOW_READ
                          : tessi_access_is_at_point(g, x) ? OWN_READ
                                                           : FAR_READ;
        assert_null(read[which]);
        read[which] = x;
    }
    for (int i = 0; i < N_READS; i++)
        assert_non_null(read[i]);
    return g;
}

static void assert_reach(const Graph *g, const Access *x, int d, int64_t wanted_lo,
                         int64_t wanted_hi)
{
    int64_t lo, hi;
    assert_true(tessi_access_reach(g, &x->dim[d], d, &lo, &hi));
    assert_int_equal(lo, wanted_lo);
    assert_int_equal(hi, wanted_hi);
}

static void reach_is_the_hull_of_distances(void **state)
{
    const Access *read[N_READS];
    Graph *g = reads(*state, read);
    int64_t lo, hi;
    assert_reach(g, read[FAR_READ], 0, -2, -2);
    assert_reach(g, read[FAR_READ], 1, 1, 1);
    assert_reach(g, read[WINDOW_READ], 0, -4, 1);
    assert_reach(g, read[WINDOW_READ], 1, 1, 5); /* the variable counts the other way */
    assert_false(tessi_access_reach(g, &read[FAR_READ]->dim[0], 1, &lo, &hi));
    assert_false(tessi_access_reach(g, &read[SAMPLED_READ]->dim[0], 0, &lo, &hi));
    assert_false(tessi_access_reach(g, &read[COMPUTED_READ]->dim[0], 0, &lo, &hi));
    assert_false(tessi_access_reach(g, &read[MASK_READ]->dim[1], 1, &lo, &hi));
    assert_true(tessi_access_span(g, &read[MASK_READ]->dim[1], &lo, &hi));
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 2);
}

static void distances_are_those_at_a_point_of_the_window(void **state)
{
    const Access *read[N_READS];
    Graph *g = reads(*state, read);
    const int32_t point[MAX_WINDOW_VARS] = { -3, 2 };
    int64_t at[MAX_DIMS], one;
    assert_true(tessi_access_distances(g, read[WINDOW_READ], point, at));
    assert_int_equal(at[0], -3);
    assert_int_equal(at[1], 1);
    assert_false(tessi_access_distances(g, read[WINDOW_READ], NULL, at));
    assert_true(tessi_access_distances(g, read[FAR_READ], NULL, at));
    assert_int_equal(at[0], -2);
    assert_true(tessi_access_distance(g, &read[FAR_READ]->dim[1], 1, &one));
    assert_int_equal(one, 1);
    assert_false(tessi_access_distance(g, &read[WINDOW_READ]->dim[1], 1, &one));
}

static void what_moves_a_read(void **state)
{
    const Access *read[N_READS];
    reads(*state, read);
    static const struct {
        bool moves, fixed, point_only;
    } wanted[N_READS] = {
        [FAR_READ] = { true, false, true },     [OWN_READ] = { true, false, true },
        [SAMPLED_READ] = { true, false, true }, [COMPUTED_READ] = { true, false, false },
        [WINDOW_READ] = { true, false, false }, [MASK_READ] = { false, true, false },
    };
    for (int i = 0; i < N_READS; i++) {
        assert_int_equal(tessi_access_moves(read[i]), wanted[i].moves);
        assert_int_equal(tessi_access_is_fixed(read[i]), wanted[i].fixed);
        assert_int_equal(tessi_access_moves_by_point_only(read[i]), wanted[i].point_only);
    }
}

static void ranges_are_composed(void **state)
{
    (void)state;
    const SizeId rows = { 7 };
    const AccessRange reader[2] = { { .src = 1, .scale = -2, .lo = -1, .hi = 3 },
                                    { .src = 0, .scale = 1, .base = rows, .lo = 4, .hi = 4 } };
    const AccessRange down = { .src = 0, .scale = -3, .lo = 10, .hi = 11 };
    AccessRange r = tessi_range_compose(reader, &down); /* -3 * (-2 x1 + -1..3) + 10..11 */
    assert_false(r.dynamic);
    assert_int_equal(r.src, 1);
    assert_int_equal(r.scale, 6);
    assert_int_equal(r.lo, 1);
    assert_int_equal(r.hi, 14);
    const AccessRange next = { .src = 1, .scale = 1, .lo = -1, .hi = 0 };
    r = tessi_range_compose(reader, &next);
    assert_int_equal(r.base.v, rows.v);
    assert_int_equal(r.lo, 3);
    assert_false(tessi_range_follows(&r, 0)); /* at no constant distance */
    const AccessRange twice = { .src = 1, .scale = 2 };
    assert_true(tessi_range_compose(reader, &twice).dynamic); /* 2 * rows is no base */
    const AccessRange far = { .src = 0, .scale = INT32_MAX };
    assert_true(tessi_range_compose(reader, &far).dynamic); /* the scale overflows */
    const AccessRange fixed = { .src = -1, .lo = 5, .hi = 6 };
    r = tessi_range_compose(reader, &fixed);
    assert_int_equal(r.src, -1);
    assert_int_equal(r.hi, 6);
    AccessRange joined = tessi_range_of_point(0);
    assert_true(tessi_range_follows(&joined, 0));
    tessi_range_join(&joined, &(AccessRange){ .src = 0, .scale = 1, .lo = -3, .hi = 2 });
    assert_int_equal(joined.lo, -3);
    tessi_range_join(&joined, &fixed);
    assert_true(joined.dynamic);
}

static void rules_are_joined(void **state)
{
    const Access *read[N_READS];
    reads(*state, read);
    AccessRules rules = tessi_rules_none();
    tessi_rules_join(&rules, read[OWN_READ]);
    assert_int_equal(rules.rule[0], BORDER_INSIDE);
    tessi_rules_join(&rules, read[FAR_READ]);
    assert_int_equal(rules.rule[0], BORDER_CLAMP);
    assert_true(tessi_rules_answer(&rules, read[OWN_READ]));
    assert_false(tessi_rules_answer(&rules, read[WINDOW_READ]));
    assert_false(rules.mixed);
    tessi_rules_join(&rules, read[WINDOW_READ]);
    assert_true(rules.mixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(reach_is_the_hull_of_distances),
        GRAPH_TEST(distances_are_those_at_a_point_of_the_window),
        GRAPH_TEST(what_moves_a_read),
        GRAPH_TEST(ranges_are_composed),
        GRAPH_TEST(rules_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
