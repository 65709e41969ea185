/* The simplifier: what it makes of windows, weights and roundings, and that strict mode changes no bit. */
#include "interp_testing.h"

#define HEAD                                                                                     \
    "graph g\nfp strict\nparam M, N\nscalar t float\nimage X[M, N] float\nimage K[M, N] int32\n" \
    "stage X[M, N] float = image X\nstage K[M, N] int32 = image K\n"
#define TAIL "output y[M, N] float = y\n"

static Graph *simplified(Arena *a, const char *body, FpMode fp)
{
    Graph *g =
        testing_read(a, tessi_sprintf(a, HEAD "stage y[M, N] float = %s\n" TAIL, body), NULL);
    Graph *s = tessi_graph_simplify(g, a, fp);
    assert_null(tessi_graph_verify(s));
    return s;
}

static void check_body(Arena *a, const char *body, FpMode fp, const char *want)
{
    const char *text = testing_printed(a, simplified(a, body, fp));
    const char *begin = strstr(text, "stage y[M, N] float =");
    assert_non_null(begin);
    begin += strlen("stage y[M, N] float =");
    const char *got = tessi_strndup(a, begin, (size_t)(strstr(begin, "\noutput") - begin));
    while (*got == ' ' || *got == '\n')
        got++;
    assert_string_equal(got, want);
}

static void test_windows_unroll_in_order(void **state)
{
    check_body(*state, "sum($i = -1..1 : X@[$i,0]:clamp)", FP_STRICT,
               "X@[-1,0]:clamp + X + X@[1,0]:clamp");
    check_body(*state, "max($i = 0..1, $j = 0..1 : X@[$i,2*$j]:wrap)", FP_STRICT,
               "max(max(max(X, X@[0,2]:wrap), X@[1,0]:wrap), X@[1,2]:wrap)");
    check_body(*state, "sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp where ($i == 0) ^ ($j == 0))",
               FP_STRICT, "X@[-1,0]:clamp + X@[0,-1]:clamp + X@[0,1]:clamp + X@[1,0]:clamp");
    check_body(*state, "sum($i = 0..1 : X@[$i,0]:clamp where X@[$i,0]:clamp < 0.0f)", FP_STRICT,
               "let %1 = select(X < 0.0f, 0.0f + X, 0.0f);\n"
               "    select(X@[1,0]:clamp < 0.0f, %1 + X@[1,0]:clamp, %1)");
    check_body(*state, "sum($i = 0..2 : cast<float>($i) * X@[$i,0]:clamp)", FP_STRICT,
               "0.0f * X + X@[1,0]:clamp + 2.0f * X@[2,0]:clamp");
}

static void test_rules_of_reads_inside_go(void **state)
{
    check_body(*state, "X@[0,1]:[clamp,wrap] + X@[0,0]:constant(0.0f) + X@[(0,1,1),(0,1,0)]:clamp",
               FP_STRICT, "X@[0,1]:wrap + X + X@[(0,1,1),(0,1,0)]:clamp");
    const char *text = HEAD "stage y[M - 2, N / 2] float = X@[2,(1,2)]:clamp + X@[2,(2,2)]:clamp + "
                            "X@[3,(0,-1)]:mirror\noutput y[M - 2, N / 2] float = y\n";
    Graph *g = tessi_graph_simplify(testing_read(*state, text, NULL), *state, FP_DEFAULT);
    assert_non_null(strstr(testing_printed(*state, g),
                           "= X@[2,(1,2)] + X@[2,(2,2)]:[inside,clamp] + X@[3,(0,-1)]:mirror\n"));
}

static void test_large_windows_stay(void **state)
{
    check_body(*state, "prod($i = -20..20 : X@[$i,0]:clamp)", FP_DEFAULT,
               "prod($i = -20..20 : X@[$i,0]:clamp)");
    check_body(*state, "median($i = -1..1 : X@[$i,0]:clamp)", FP_DEFAULT,
               "median($i = -1..1 : X@[$i,0]:clamp)");
}

/* The stages that `stages` become. */
static void check_stages(Arena *a, const char *stages, FpMode fp, const char *want)
{
    const char *text = tessi_sprintf(a, HEAD "%s\n" TAIL, stages);
    Graph *s = tessi_graph_simplify(testing_read(a, text, NULL), a, fp);
    assert_null(tessi_graph_verify(s));
    const char *got = strstr(testing_printed(a, s), "image K\n");
    assert_non_null(got);
    got += strlen("image K\n");
    assert_string_equal(tessi_strndup(a, got, (size_t)(strstr(got, "output") - got)), want);
}

static void test_masks_of_rank_one_are_split(void **state)
{
    const char *box = "stage y[M, N] float = sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp)";
    check_stages(*state, box, FP_DEFAULT,
                 "stage y.lines[M, N] float = X@[0,-1]:clamp + X + X@[0,1]:clamp\n"
                 "stage y[M, N] float = y.lines@[-1,0]:clamp + y.lines + y.lines@[1,0]:clamp\n");
    assert_null(strstr(testing_printed(*state, simplified(*state, strstr(box, "sum"), FP_STRICT)),
                       "lines"));
    /* What answers outside is a line of what answered before. */
    check_stages(*state,
                 "stage y[M, N] float = sum($i = -1..1, $j = -1..1 : X@[$i,$j]:constant(2.0f))",
                 FP_DEFAULT,
                 "stage y.lines[M, N] float = X@[0,-1]:constant(2.0f) + X + "
                 "X@[0,1]:constant(2.0f)\nstage y[M, N] float = "
                 "y.lines@[-1,0]:constant(6.0f) + y.lines + y.lines@[1,0]:constant(6.0f)\n");
    /* Integers in every mode; weights are factored exactly, with few signs. */
    check_stages(*state,
                 "stage y[M, N] float = cast<float>(sum($i = -1..1, $j = -1..1 : $i * (2 - $j * $j)"
                 " * K@[$i,$j]:wrap))",
                 FP_STRICT,
                 "stage y.lines[M, N] int32 = K@[0,-1]:wrap + K@[0,1]:wrap + 2 * K\n"
                 "stage y[M, N] float = cast<float>(y.lines@[1,0]:wrap - y.lines@[-1,0]:wrap)\n");
    check_stages(*state,
                 "stage y[M, N] float = cast<float>(max($i = -1..1, $j = -1..1 : "
                 "K@[$i,$j]:[mirror,clamp]))",
                 FP_STRICT,
                 "stage y.lines[M, N] int32 = max(max(K@[0,-1]:clamp, K), K@[0,1]:clamp)\n"
                 "stage y[M, N] float = cast<float>(max(max(y.lines@[-1,0]:mirror, y.lines), "
                 "y.lines@[1,0]:mirror))\n");
}

/* Extremes of reals: a NaN's place decides, so not under strict rounding. Parts that neighbours share reach as far
 * as they are read. */
static void test_extremes_are_taken_in_parts(void **state)
{
    const char *small = "stage y[M, N] float = min($i = 0..1, $j = 0..2 : X@[$i,$j]:wrap)";
    check_stages(*state, small, FP_DEFAULT,
                 "stage y.lines[M, N] float = min(min(X, X@[0,1]:wrap), X@[0,2]:wrap)\n"
                 "stage y[M, N] float = min(y.lines, y.lines@[1,0]:wrap)\n");
    assert_null(strstr(testing_printed(*state, simplified(*state, strstr(small, "min"), FP_STRICT)),
                       "lines"));
    check_stages(
        *state, "stage y[M, N] float = max($i = 0..14 : X@[0,3 - 2*$i]:mirror)", FP_DEFAULT,
        "stage y.part[M, N + 24] float = max(max(X@[0,-25]:mirror, X@[0,-23]:mirror), "
        "X@[0,-21]:mirror)\n"
        "stage y[M, N] float =\n    max(max(max(max(y.part, y.part@[0,6]), y.part@[0,12]), "
        "y.part@[0,18]), y.part@[0,24])\n");
    /* What is added twice changes a sum, so the rest are points; reals not under strict rounding. */
    const char *sum = "stage y[M, N] float = cast<float>(sum($i = 0..16 : 2 * K@[$i,0]:clamp))";
    check_stages(
        *state, sum, FP_STRICT,
        "stage y.part[M + 13, N] int32 = K:[clamp,inside] + K@[1,0]:clamp + K@[2,0]:clamp + "
        "K@[3,0]:clamp\n"
        "stage y[M, N] float =\n    cast<float>(2 * (y.part + y.part@[4,0] + y.part@[8,0] + "
        "y.part@[12,0] + K@[16,0]:clamp))\n");
    const char *real = "sum($i = 0..30 : 0.5f * X@[$i,0]:clamp)";
    assert_null(strstr(testing_printed(*state, simplified(*state, real, FP_STRICT)), "part"));
    assert_non_null(strstr(testing_printed(*state, simplified(*state, real, FP_DEFAULT)), "part"));
}

/* Rows of a disc are runs, made of parts that all rows share; sums of reals not under strict rounding. */
static void test_shapes_are_taken_in_runs(void **state)
{
    static const char *const how[] = { "max", "sum" };
    for (int k = 0; k < 2; k++)
        for (int fp = 0; fp < 2; fp++) {
            const char *body = tessi_sprintf(*state,
                                             "%s($i = -6..6, $j = -6..6 : X@[$i,$j]:wrap where "
                                             "$i * $i + $j * $j <= 36)",
                                             how[k]);
            const char *text =
                testing_printed(*state, simplified(*state, body, fp ? FP_DEFAULT : FP_STRICT));
            assert_int_equal(strstr(text, "y.runs[M + 12, N + ") != NULL, fp);
        }
}

/* Fast rounding leaves exponentials to the target: constant factors go into the exponent, and so do positive weights
 * of products. */
static void test_near_powers(void **state)
{
    static const char *const body[][2] = {
        { "exp(X)", "exp2_near(1.442695f * X)" },
        { "exp2(X)", "exp2_near(X)" },
        { "exp(-(0.5f * X * X))", "exp2_near(-(0.7213475f * X * X))" },
        { "3.0f * exp(X)", "exp2_near(1.5849625f + [1.442695f * X])" },
        { "3.0f * exp2(X)", "3.0f * exp2_near(X)" },
        { "-3.0f * exp(X)", "-3.0f * exp2_near(1.442695f * X)" },
    };
    for (size_t i = 0; i < sizeof body / sizeof *body; i++) {
        const char *fast = testing_printed(*state, simplified(*state, body[i][0], FP_FAST));
        if (!strstr(fast, body[i][1]))
            fail_msg("%s: %s", body[i][0], fast);
        assert_null(
            strstr(testing_printed(*state, simplified(*state, body[i][0], FP_DEFAULT)), "near"));
    }
    const char *large = "cast<float>(exp(cast<double>(X)))";
    assert_null(strstr(testing_printed(*state, simplified(*state, large, FP_FAST)), "near"));
}

/* Not of rank one; rules or distances that are not the same for all reads; weights or answers known only at run
 * time. */
static void test_other_windows_are_not_split(void **state)
{
    static const char *const body[] = {
        "sum($i = -1..1, $j = -1..1 : cast<float>($i * $i + $j) * X@[$i,$j]:clamp)",
        "sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp where $i * $j < 1)",
        "sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp * X@[$i,$j]:wrap)",
        "sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp * X@[$i + 1,$j]:clamp)",
        "sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp * X)",
        "sum($i = -1..1, $j = -1..1 : X@[$i + $j,$j]:clamp)",
        "sum($i = -1..1, $j = -1..1 : X@[$i,$j]:constant(scalar(t)))",
        "max($i = -1..1, $j = -1..1 : X@[$i + $j,$j]:clamp)",
        "sum($i = 0..1, $j = 0..1 : X@[$i,$j]:clamp)",
    };
    for (size_t k = 0; k < sizeof body / sizeof *body; k++)
        if (strstr(testing_printed(*state, simplified(*state, body[k], FP_DEFAULT)), "lines"))
            fail_msg("%s was split", body[k]);
}

static void test_equal_integer_weights_multiply_once(void **state)
{
    check_body(*state, "cast<float>(sum($i = -2..2 : (3 - $i * $i) * K@[0,$i]:clamp))", FP_STRICT,
               "cast<float>(2 * (K@[0,-1]:clamp + K@[0,1]:clamp) + 3 * K - (K@[0,-2]:clamp + "
               "K@[0,2]:clamp))");
}

static void test_rounding(void **state)
{
    check_body(*state, "X + X * 3.0f", FP_STRICT, "X + X * 3.0f");
    check_body(*state, "X + X * 3.0f", FP_DEFAULT, "X + [X * 3.0f]");
    check_body(*state, "X * 3.0f - X", FP_DEFAULT, "-X + [X * 3.0f]");
    check_body(*state, "X - X * 3.0f", FP_DEFAULT, "X + [X * -3.0f]");
    check_body(*state, "X - X * scalar(t)", FP_DEFAULT, "X + [-X * scalar(t)]");
    check_body(*state, "X * X + X * 3.0f", FP_DEFAULT, "X * X + [X * 3.0f]");
    check_body(*state, "X / 3.0f", FP_STRICT, "X / 3.0f");
    check_body(*state, "X / 3.0f", FP_DEFAULT, "X * 0.33333334f");
    check_body(*state, "X / 8.0f", FP_STRICT, "X * 0.125f");
    check_body(*state, "X / 0.0f", FP_DEFAULT, "X / 0.0f");
    check_body(*state, "X / 3e38f", FP_DEFAULT, "X / 3e+38f");
    check_body(*state, "X / scalar(t)", FP_DEFAULT, "X / scalar(t)");
    check_body(*state, "sum($i = -70..70 : X * X@[$i,0]:clamp)", FP_DEFAULT,
               "fused_sum($i = -70..70 : X * X@[$i,0]:clamp)");
    check_body(*state, "sum($i = 0..2 : scalar(t) * X@[$i,0]:clamp)", FP_DEFAULT,
               "scalar(t) * X + [scalar(t) * X@[1,0]:clamp] + [scalar(t) * X@[2,0]:clamp]");
}

static void test_weights_become_tables(void **state)
{
    Graph *g = simplified(*state,
                          "sum($i = -9..9, $j = -9..9 : exp(cast<float>(-($i * $i)) / 8.0f) * "
                          "X@[$i,$j]:clamp where X < 1.0f)",
                          FP_DEFAULT);
    assert_int_equal(g->tables.n, 2); /* number 0 is unused */
    const Table *t = tessi_table(g, (TableId){ 1 });
    assert_int_equal(t->n, 19);
    for (int i = -9; i <= 9; i++) {
        Value x = tessi_value_real((double)((float)(-i * i) / 8.0f));
        assert_true(tessi_value_same(TYPE_F32, t->at[i + 9], tessi_eval(OP_EXP, TYPE_F32, &x)));
    }
    assert_non_null(strstr(testing_printed(*state, g),
                           "fused_sum($i = -9..9, $j = -9..9 : weights[$i + 9] * X@[$i,$j]:clamp"));
}

static void test_reductions_of_constants(void **state)
{
    check_body(*state, "X * sum($i = -20..20 : 1.0f + cast<float>($i))", FP_STRICT, "X * 41.0f");
    check_body(*state, "X * max($i = 0..99, $j = 0..99 : sqrt(cast<float>($i + $j)))", FP_STRICT,
               "X * 14.071247f");
}

static void test_dead_stages_go(void **state)
{
    const char *text = HEAD "stage dead[M, N] float = X\nstage only_dead[M, N] float = dead\nstage "
                            "y[M, N] float = X\n" TAIL;
    Graph *g = tessi_graph_simplify(testing_read(*state, text, NULL), *state, FP_DEFAULT);
    assert_null(tessi_graph_verify(g));
    assert_int_equal(g->stages.n, 4); /* 0, X, K, y: inputs stay */
}

/* Bodies with a bit of everything. */
static const char *const bodies[] = {
    "sum($i = -2..2, $j = -2..2 : X@[$i,$j]:mirror * cast<float>($i * 3 + $j))",
    "sum($i = -2..2, $j = -2..2 : X@[$i,$j]:mirror * cast<float>($i * 3 + $j) where $i * $j < 3)",
    "sum($i = -2..2, $j = -2..2 : X@[$i,$j]:reflect where X@[$i,$j]:reflect < X)",
    "prod($i = -2..2 : X@[$i,0]:wrap where X@[$i,0]:wrap < X)",
    "min($i = -2..2 : X@[$i,0]:wrap where X@[$i,0]:wrap < X)",
    "max($i = -2..2 : X@[$i,0]:wrap where X@[$i,0]:wrap < X)",
    "min($i = -3..3, $j = -4..4 : X@[$i,$j]:constant(scalar(t)))",
    "max($i = -1..1, $j = -1..1 : X@[$i,$j]:[clamp,constant](1.0f))",
    "median($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp where 0 < $i * $i + $j * $j)",
    "select(any($i = -1..1 : K@[$i,0]:clamp < 0), X / 4.0f, X / 3.0f)",
    "select(all($i = -9..9, $j = -9..9 : K@[$i,$j]:clamp < 2147483000), X - X * 5.0f, X * 5.0f - "
    "X)",
    "sum($i = -2..2 : max($i1 = 0..2 : X@[$i + $i1,0]:clamp where $i1 < $i + 2))",
    "sum($i = -40..40 : sum($i1 = 0..2 : X@[$i,$i1]:clamp where $i1 < $i))",
    "sum($i = -20..20 : sqrt(cast<float>($i + 20)) * X@[0,$i]:clamp where sqrt(cast<float>($i + "
    "20)) < 4.5f)",
    "cast<float>(sum($i = -2..2 : K@[$i,0]:clamp * ($i + 3) where K@[$i,0]:clamp % 3 == 1))",
    "let %1 = sum($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp) / 9.0f; sum($i = -1..1, $j = -1..1 : "
    "(X@[$i,$j]:clamp - %1) * (X@[$i,$j]:clamp - %1))",
    "let %1 = sum($i = -9..9 : X@[$i,0]:clamp) / 19.0f; sum($i = -9..9 : (X@[$i,0]:clamp - %1) * "
    "(X@[$i,0]:clamp - %1))",
    "sum($i = -20..20 : cast<float>($i) * 0.25f * (X@[$i,0]:clamp + sum($i1 = 0..9 : "
    "exp(cast<float>($i1 - $i)) * X@[$i,$i1]:clamp)))",
    "X@[{K % 7 + 3},{index(1)}]:mirror + X@[{3 - 5},0]:mirror",
    "fma(X, X, X) + fma(1.0f, X, X * X) - (-0.0f)",
    "cast<float>(K / 7 + K % 5 - K * 1 + (K + 3 - 5) + (K ^ K) + (K & -1))",
    "sum($i = 0..3 : 0.0f * X@[$i,0]:clamp)",
    "sum($i = 0..63 : -0.0f * X@[$i,0]:clamp)",
    "cast<float>(sum($i = -2..3, $j = -4..1 : ($i - 1) * ($j * $j - 7) * K@[$i,2*$j]:mirror))",
    "cast<float>(sum($i = -2..3, $j = -4..1 : ($i * $j - 2) * K@[$i,$j]:reflect))",
    "cast<float>(sum($i = -2..2, $j = -2..2 : K@[$j,-3*$i + 1]:[constant,wrap](5)))",
    "cast<float>(min($i = -5..5, $j = -9..9 : K@[($i,2),(2*$j,1)]:[clamp,constant](5)))",
    "select(any($i = -1..1, $j = -2..2 : K@[$i,$j]:constant(-1) < -2000000000), X, -X)",
};

static void test_strict_changes_no_bit(void **state)
{
    Arena *a = *state;
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        Graph *g = testing_read(
            a, tessi_sprintf(a, HEAD "stage y[M, N] float = %s\n" TAIL, bodies[k]), NULL);
        Graph *s = tessi_graph_simplify(g, a, FP_STRICT);
        assert_null(tessi_graph_verify(s));
        testing_same_bits(a, g, s, bodies[k]);
    }
}

static void test_default_is_decided_once(void **state)
{
    Arena *a = *state;
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        Graph *once = simplified(a, bodies[k], FP_DEFAULT);
        Graph *twice = tessi_graph_simplify(once, a, FP_DEFAULT);
        assert_null(tessi_graph_verify(twice));
        assert_string_equal(testing_printed(a, twice), testing_printed(a, once));
        Graph *read = testing_read(a, testing_printed(a, once), NULL);
        assert_string_equal(testing_printed(a, read), testing_printed(a, once));
        testing_same_bits(a, once, read, bodies[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_windows_unroll_in_order),
        GRAPH_TEST(test_rules_of_reads_inside_go),
        GRAPH_TEST(test_large_windows_stay),
        GRAPH_TEST(test_rounding),
        GRAPH_TEST(test_masks_of_rank_one_are_split),
        GRAPH_TEST(test_extremes_are_taken_in_parts),
        GRAPH_TEST(test_shapes_are_taken_in_runs),
        GRAPH_TEST(test_near_powers),
        GRAPH_TEST(test_other_windows_are_not_split),
        GRAPH_TEST(test_equal_integer_weights_multiply_once),
        GRAPH_TEST(test_weights_become_tables),
        GRAPH_TEST(test_reductions_of_constants),
        GRAPH_TEST(test_dead_stages_go),
        GRAPH_TEST(test_strict_changes_no_bit),
        GRAPH_TEST(test_default_is_decided_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
