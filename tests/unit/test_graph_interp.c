/* The graph interpreter: reads, borders, windows, pieces, reductions, and the promises it checks. */
#include "interp_testing.h"

#define HEAD "graph g\nfp default\nparam M, N\nimage X[M, N] float\nstage X[M, N] float = image X\n"

/* Runs a program with one float input X[m, n] and one float result. */
static bool run_on(Arena *a, const char *body, int64_t m, int64_t n, const float *in, float *out,
                   Failure *f)
{
    const Graph *g = testing_read(a, tessi_sprintf(a, HEAD "%s", body), NULL);
    const int64_t params[2] = { m, n };
    InterpImage x = testing_allocate(a, g, &g->inputs.at[0], params);
    memcpy(x.data, in, testing_bytes(&g->inputs.at[0], &x));
    InterpImage y = testing_allocate(a, g, &g->outputs.at[0], params);
    InterpArgs args = { .params = params, .inputs = &x, .outputs = &y, .arena = a };
    if (!tessi_interpret_graph(g, &args, f))
        return false;
    memcpy(out, y.data, testing_bytes(&g->outputs.at[0], &y));
    return true;
}

static void check_run(Arena *a, const char *body, int64_t m, int64_t n, const float *in,
                      const float *want, size_t n_want)
{
    float out[64];
    Failure f = { 0 };
    if (!run_on(a, body, m, n, in, out, &f))
        fail_msg("%s", f.text);
    for (size_t k = 0; k < n_want; k++)
        if (memcmp(&out[k], &want[k], sizeof *out) != 0)
            fail_msg("%s: point %zu is %g, not %g", body, k, (double)out[k], (double)want[k]);
}

#define CHECK(state, body, m, n, in, ...)                                         \
    do {                                                                          \
        static const float want_[] = __VA_ARGS__;                                 \
        check_run(*(state), body, m, n, in, want_, sizeof want_ / sizeof *want_); \
    } while (0)

static const float six[6] = { 1, 2, 3, 4, 5, 6 };

static void test_neighbours_and_borders(void **state)
{
    CHECK(state,
          "stage y[M, N] float = X@[0,-1]:mirror * 10.0f - X@[-1,0]:constant(0.0f)\noutput y[M, N] "
          "float = y",
          2, 3, six, { 20, 10, 20, 49, 38, 47 });
    CHECK(state, "stage y[N] float = X@[=M,(2,-1,0)]:[wrap,clamp]\noutput y[N] float = y", 2, 3,
          six, { 3, 2, 1 });
    CHECK(state, "stage y[N] float = X@[=0,(-4,1,0)]:reflect\noutput y[N] float = y", 2, 3, six,
          { 3, 3, 2 });
    CHECK(state, "stage y[N] float = X@[{index(0) * 5 - 4},(0,1,0)]:clamp\noutput y[N] float = y",
          2, 3, six, { 1, 5, 6 });
    CHECK(state, "stage y[M, N] float = X@[0,9]:[clamp,constant](7.0f)\noutput y[M, N] float = y",
          2, 3, six, { 7, 7, 7, 7, 7, 7 });
}

static void test_pieces(void **state)
{
    CHECK(state,
          "stage y[M, N + 2] float\n  piece [0, 0] step [1, 2] count [M, N] = X\n"
          "  piece [1, 1] step [1, 1] count [1, 2] = cast<float>(10 + index(1))\noutput y[M, N + "
          "2] float = y",
          2, 3, six, { 1, 0, 2, 0, 3, 4, 10, 11, 0, 6 });
}

static void test_windows(void **state)
{
    CHECK(state, "stage y[M, N] float = sum($i = -1..1 : X@[0,$i]:clamp)\noutput y[M, N] float = y",
          2, 3, six, { 4, 6, 8, 13, 15, 17 });
    CHECK(state,
          "stage y[M, N] float = median($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp)\noutput y[M, N] "
          "float = y",
          2, 3, six, { 2, 3, 3, 4, 4, 5 });
    CHECK(state,
          "stage y[M, N] float = prod($i = 0..2 : X@[0,$i]:wrap where X@[0,$i]:wrap < "
          "2.5f)\noutput y[M, N] float = y",
          2, 3, six, { 2, 2, 2, 1, 1, 1 });
    CHECK(state,
          "stage y[M, N] float = max($i = 0..2 : X@[0,$i]:wrap where X < X@[0,$i]:wrap)\noutput "
          "y[M, N] float = y",
          2, 3, six, { 3, 3, -INFINITY, 6, 6, -INFINITY });
    CHECK(state, "stage y[M, N] float = sum($i = 0..2 : X where $i < 0)\noutput y[M, N] float = y",
          2, 3, six, { 0, 0, 0, 0, 0, 0 });
}

static void test_nested_windows(void **state)
{
    CHECK(state,
          "stage y[M, N] float = sum($i = 0..1 : X@[$i,0]:wrap * sum($i1 = 0..1 : "
          "X@[$i,$i1]:wrap))\noutput y[M, N] float = y",
          2, 3, six, { 39, 65, 72, 39, 65, 72 });
}

static void test_minus_zero(void **state)
{
    static const float zeros[6] = { -0.0f, -0.0f, -0.0f, 0.0f, -0.0f, -0.0f };
    CHECK(state, "stage y[M, N] float = sum($i = 0..1 : X@[0,$i]:clamp)\noutput y[M, N] float = y",
          2, 3, zeros, { -0.0f, -0.0f, -0.0f, 0.0f, -0.0f, -0.0f });
    CHECK(state,
          "stage y[M, N] float = sum($i = 0..1 : X@[0,$i]:clamp where X == X)\noutput y[M, N] "
          "float = y",
          2, 3, zeros, { 0, 0, 0, 0, 0, 0 });
    CHECK(state,
          "stage y[M, N] float = fused_sum($i = 0..1 : X@[0,$i]:clamp * 2.0f)\noutput y[M, N] "
          "float = y",
          2, 3, zeros, { -0.0f, -0.0f, -0.0f, 0.0f, -0.0f, -0.0f });
}

static void test_half_precision_rounds_when_stored(void **state)
{
    static const float in[2] = { 2049, 1e6f };
    CHECK(state, "stage h[M, N] float16 = X\nstage y[M, N] float = h\noutput y[M, N] float = y", 1,
          2, in, { 2048, INFINITY });
}

static void test_reductions(void **state)
{
    static const float in[6] = { 3, (float)NAN, -2, 0, 7, -0.0f };
    CHECK(state,
          "stage lo float = reduce min X\nstage hi float = reduce max X\nstage n int32 = reduce "
          "count X\n"
          "stage h[8] uint32 = histogram X\n"
          "stage y[8] float = select(index(0) < 3, select(index(0) == 0, lo, select(index(0) == 1, "
          "hi, cast<float>(n))), cast<float>(h@[-3]:wrap))\n"
          "output y[8] float = y",
          2, 3, in, { -2, 7, 4, 2, 0, 0, 1, 0 });
    CHECK(state,
          "stage s float = reduce sum X\nstage m double = reduce mean X\nstage y[2] float = "
          "select(index(0) == 0, s, cast<float>(m))\n"
          "output y[2] float = y",
          2, 3, six, { 21, 3.5f });
}

/* The order that docs/internals/reductions.md fixes, computed here by other means. */
static void test_order_of_sums(void **state)
{
    enum { ROWS = 3, COLUMNS = 37 };
    float in[ROWS * COLUMNS], out[1];
    uint32_t seed = 1;
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        seed = seed * 1664525u + 1013904223u;
        in[k] = (float)(seed >> 8) * (k % 3 ? 1e-3f : 1e12f);
    }
    double total = 0, forwards = 0;
    for (int y = 0; y < ROWS; y++) {
        double p[16] = { 0 };
        for (int x = 0; x < COLUMNS; x++)
            p[x & 15] += (double)in[y * COLUMNS + x];
        for (int x = 0; x < COLUMNS; x++)
            forwards += (double)in[y * COLUMNS + x];
        for (int half = 8; half; half >>= 1)
            for (int k = 0; k < half; k++)
                p[k] += p[k + half];
        total += p[0];
    }
    Failure f = { 0 };
    assert_true(run_on(*state,
                       "stage s double = reduce sum X\nstage y[1] float = cast<float>((s - 5.0d * "
                       "floor(s / 5.0d)))\noutput y[1] float = y",
                       ROWS, COLUMNS, in, out, &f));
    float want = (float)(total - 5.0 * floor(total / 5.0));
    assert_memory_equal(out, &want, sizeof want);
    assert_true(total != forwards); /* the input tells the orders apart */
}

static void test_structs_and_strides(void **state)
{
    Arena *a = *state;
    const Graph *g = testing_read(
        a,
        "graph g\nfp default\nparam N\nimage p[N] { r uint8, v float }\n"
        "stage r[N] uint8 = image p channel 0\nstage v[N] float = image p channel 1\n"
        "stage s[N] float = v + cast<float>(r)\noutput q[N] { v float = s, r uint8 = r }\n",
        NULL);
    unsigned char in[2 * 5], out[2 * 8];
    float v[2] = { 1.5f, -2.0f };
    memset(out, 0xee, sizeof out);
    for (int k = 0; k < 2; k++) {
        in[k * 5] = (unsigned char)(200 + k);
        memcpy(in + k * 5 + 1, &v[k], 4);
        v[k] += (float)(200 + k);
    }
    const int64_t params[1] = { 2 };
    const InterpImage x = { .data = in, .size = { 2 }, .stride_bytes = { 5 } };
    const InterpImage y = { .data = out, .size = { 2 }, .stride_bytes = { 8 } };
    InterpArgs args = { .params = params, .inputs = &x, .outputs = &y, .arena = a };
    Failure f = { 0 };
    assert_true(tessi_interpret_graph(g, &args, &f));
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(out + k * 8, &v[k], 4);
        assert_int_equal(out[k * 8 + 4], 200 + k);
        assert_int_equal(out[k * 8 + 5], 0xee); /* padding is left alone */
    }
}

static void check_failure(Arena *a, const char *body, const char *part)
{
    float out[64];
    Failure f = { 0 };
    assert_false(run_on(a, body, 2, 3, six, out, &f));
    if (!strstr(f.text, part))
        fail_msg("'%s' does not say '%s'", f.text, part);
}

static void test_broken_promises(void **state)
{
    check_failure(*state, "stage y[M, N] float = X@[0,1]\noutput y[M, N] float = y",
                  "'X' is read at 3 in dimension 1");
    check_failure(
        *state,
        "table t[2] float = { 1, 2 }\nstage y[M, N] float = t[index(1)]\noutput y[M, N] float = y",
        "element 2 of table 't'");
    check_failure(*state, "stage y[M - 2, N] float = X\noutput y[M - 2, N] float = y",
                  "size 0 in dimension 0");
}

static void test_memory_limit(void **state)
{
    const Graph *g = testing_read(
        *state,
        HEAD
        "stage t[M, N] float = X + 1.0f\nstage y[M, N] float = t * t\noutput y[M, N] float = y\n",
        NULL);
    const int64_t params[2] = { 2, 3 };
    float out[6];
    const InterpImage x = { .data = (void *)(uintptr_t)six,
                            .size = { 2, 3 },
                            .stride_bytes = { 12, 4 } };
    const InterpImage y = { .data = out, .size = { 2, 3 }, .stride_bytes = { 12, 4 } };
    InterpArgs args = {
        .params = params, .inputs = &x, .outputs = &y, .arena = *state, .memory_limit_bytes = 40
    };
    Failure f = { 0 };
    assert_false(tessi_interpret_graph(g, &args, &f));
    assert_non_null(strstr(f.text, "not enough memory for stage 'y' (24 bytes)"));
    args.memory_limit_bytes = 48;
    assert_true(tessi_interpret_graph(g, &args, &f));
    const InterpImage wrong = { .data = out, .size = { 3, 3 }, .stride_bytes = { 12, 4 } };
    args.outputs = &wrong;
    assert_false(tessi_interpret_graph(g, &args, &f));
    assert_non_null(strstr(f.text, "result 'y' has size 3 in dimension 0 where 2 is needed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_neighbours_and_borders),
        GRAPH_TEST(test_pieces),
        GRAPH_TEST(test_windows),
        GRAPH_TEST(test_nested_windows),
        GRAPH_TEST(test_minus_zero),
        GRAPH_TEST(test_half_precision_rounds_when_stored),
        GRAPH_TEST(test_reductions),
        GRAPH_TEST(test_order_of_sums),
        GRAPH_TEST(test_structs_and_strides),
        GRAPH_TEST(test_broken_promises),
        GRAPH_TEST(test_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
