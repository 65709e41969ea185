/* The constructors: equal meaning gives equal ids, constants fold exactly, and the verifier catches what they let
 * pass. */
#include "graph_testing.h"

#include <math.h>

static const ExprId none = { 0 };

#define assert_same_id(a, b)  assert_int_equal((a).v, (b).v)
#define assert_other_id(a, b) assert_int_not_equal((a).v, (b).v)

static void check_size(Graph *g, SizeId id, const char *want)
{
    Text t = tessi_text_new(g->arena);
    tessi_size_print(g, id, &t);
    assert_string_equal(tessi_text_str(&t), want);
}

static void test_sizes_are_canonical(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    SizeId m = tessi_size_param(g, 0), n = tessi_size_param(g, 1), one = tessi_size_const(g, 1);
    SizeId m_minus_2 = tessi_size_sub(g, m, tessi_size_const(g, 2));
    check_size(g, m_minus_2, "M - 2");
    assert_same_id(tessi_size_sub(g, tessi_size_sub(g, m, one), one), m_minus_2);
    assert_same_id(tessi_size_add(g, n, m), tessi_size_add(g, m, n));
    assert_same_id(tessi_size_sub(g, tessi_size_add(g, m, n), n), m);
    assert_same_id(tessi_size_sub(g, m, m), tessi_size_const(g, 0));
    check_size(g, tessi_size_add(g, tessi_size_scale(g, n, -3), m), "M - 3*N");
    check_size(g, tessi_size_mul(g, n, tessi_size_add(g, m, one)), "(M + 1) * N");
    assert_same_id(tessi_size_mul(g, m, tessi_size_const(g, 4)), tessi_size_scale(g, m, 4));
}

static void test_size_division(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    SizeId m = tessi_size_param(g, 0), one = tessi_size_const(g, 1);
    check_size(g, tessi_size_ceildiv(g, m, 2), "(M + 1) / 2");
    assert_same_id(tessi_size_floordiv(g, tessi_size_scale(g, m, 6), 3), tessi_size_scale(g, m, 2));
    SizeId twice_plus = tessi_size_add(g, tessi_size_scale(g, m, 2), one);
    assert_same_id(tessi_size_floordiv(g, twice_plus, 2), m);
    SizeId quarter = tessi_size_floordiv(g, tessi_size_floordiv(g, m, 2), 2);
    check_size(g, quarter, "M / 4");
    check_size(g, tessi_size_floordiv(g, twice_plus, 4), "M / 2");
    for (int64_t value = 0; value < 50; value++) {
        const int64_t params[2] = { value, 0 };
        int64_t got;
        SizeId ceil_of_ceil = tessi_size_ceildiv(g, tessi_size_ceildiv(g, m, 3), 2);
        assert_true(tessi_size_eval(g, ceil_of_ceil, params, &got));
        assert_int_equal(got, ((value + 2) / 3 + 1) / 2);
        SizeId negative = tessi_size_floordiv(g, tessi_size_sub(g, one, m), 3);
        assert_true(tessi_size_eval(g, negative, params, &got));
        assert_int_equal(got, tessi_floordiv(1 - value, 3));
    }
}

/* Sums of parameters, quotients and extremes: what is proved holds for all parameters, and some of it is proved. */
static void test_size_never_negative(void **state)
{
    enum { ATOMS = 8 };
    Graph *g = testing_graph(*state, TYPE_F32);
    const SizeId m = tessi_size_param(g, 0), n = tessi_size_param(g, 1);
    const SizeId atom[ATOMS] = { m,
                                 n,
                                 tessi_size_floordiv(g, m, 2),
                                 tessi_size_floordiv(g, m, 4),
                                 tessi_size_floordiv(g, m, 12),
                                 tessi_size_floordiv(g, n, 3),
                                 tessi_size_min(g, m, n),
                                 tessi_size_max(g, tessi_size_floordiv(g, m, 4), n) };
    const SizeId bands = tessi_size_sub(g, tessi_size_scale(g, atom[2], 2),
                                        tessi_size_scale(g, tessi_size_floordiv(g, m, 16), 16));
    assert_true(tessi_size_never_negative(g, bands, 0));
    assert_false(tessi_size_never_negative(g, tessi_size_sub(g, bands, tessi_size_const(g, 1)), 1));
    uint32_t seed = 1, proved = 0;
    for (int draw = 0; draw < 20000; draw++) {
        SizeId sum = tessi_size_const(g, 0);
        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            const int64_t coef = (int64_t)(seed >> 16) % 13 - 6;
            sum = tessi_size_add(g, sum,
                                 k ? tessi_size_scale(g, atom[seed >> 29], coef)
                                   : tessi_size_const(g, coef));
        }
        const int64_t least = draw % 2;
        if (!tessi_size_never_negative(g, sum, least))
            continue;
        proved++;
        for (int64_t k = 0; k < 900; k++) {
            const int64_t params[2] = { least + k % 30, least + k / 30 };
            int64_t value;
            assert_true(tessi_size_eval(g, sum, params, &value));
            assert_true(value >= 0);
        }
    }
    assert_true(proved > 500);
}

static void test_size_extrema_and_overflow(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    SizeId m = tessi_size_param(g, 0), n = tessi_size_param(g, 1), one = tessi_size_const(g, 1);
    assert_same_id(tessi_size_min(g, m, tessi_size_add(g, m, one)), m);
    SizeId least = tessi_size_min(g, n, m);
    check_size(g, least, "min(M, N)");
    assert_same_id(tessi_size_min(g, least, m), least);
    const SizeId half = tessi_size_floordiv(g, n, 2);
    const SizeId half_m = tessi_size_floordiv(g, m, 2);
    const SizeId even = tessi_size_scale(g, tessi_size_floordiv(g, m, 4), 2); /* at most half_m */
    assert_same_id(tessi_size_min(g, half_m, even), even);
    assert_same_id(tessi_size_max(g, even, half_m), half_m);
    const SizeId all = tessi_size_min(g, least, half);
    assert_same_id(tessi_size_min(g, all, tessi_size_min(g, half, m)), all);
    assert_same_id(tessi_size_min(g, tessi_size_min(g, half, m), all), all);
    SizeId huge = tessi_size_const(g, INT64_MAX);
    assert_false(tessi_size_is_valid(g, tessi_size_add(g, huge, one)));
    assert_false(tessi_size_is_valid(g, tessi_size_add(g, tessi_size_add(g, huge, one), m)));
    const int64_t params[2] = { 2, 2 };
    int64_t value;
    assert_false(tessi_size_eval(g, tessi_size_scale(g, m, INT64_MAX), params, &value));
    SizeId s = m; /* doubling its text each time */
    for (int k = 0; k < 64; k++)
        s = tessi_size_max(g, tessi_size_mul(g, s, s), n);
    assert_false(tessi_size_is_valid(g, s));
}

static void test_equal_expressions_are_one(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    const WindowId w = { 0 };
    ExprId x = testing_load(g, (StageId){ 1 }, 0, -1, BORDER_CLAMP, w);
    assert_same_id(x, testing_load(g, (StageId){ 1 }, 0, -1, BORDER_CLAMP, w));
    assert_other_id(x, testing_load(g, (StageId){ 1 }, 0, -1, BORDER_WRAP, w));
    assert_same_id(testing_op(g, OP_ADD, x, x), testing_op(g, OP_ADD, x, x));
    assert_other_id(tessi_expr_real(g, TYPE_F32, 0.0), tessi_expr_real(g, TYPE_F32, -0.0));
    assert_same_id(tessi_expr_real(g, TYPE_F32, (double)NAN),
                   tessi_expr_real(g, TYPE_F32, -(double)NAN));
    assert_same_id(tessi_expr_real(g, TYPE_F32, 0.1), tessi_expr_real(g, TYPE_F32, (double)0.1f));
    assert_same_id(tessi_expr_int(g, TYPE_U8, 257), tessi_expr_int(g, TYPE_U8, 1));
}

static void test_folding_is_exact(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    ExprId zero = tessi_expr_real(g, TYPE_F32, 0), one = tessi_expr_real(g, TYPE_F32, 1);
    ExprId minus_zero = tessi_expr_real(g, TYPE_F32, -0.0);
    assert_same_id(testing_op(g, OP_MUL, x, one), x);
    assert_same_id(testing_op(g, OP_DIV, x, one), x);
    assert_same_id(testing_op(g, OP_SUB, x, zero), x);
    assert_same_id(testing_op(g, OP_ADD, minus_zero, x), x);
    assert_other_id(testing_op(g, OP_ADD, x, zero), x);    /* x may be -0 */
    assert_other_id(testing_op(g, OP_MUL, x, zero), zero); /* x may be infinite */
    assert_other_id(testing_op(g, OP_SUB, x, x), zero);    /* x may be NaN */
    assert_int_equal(tessi_expr(g, testing_op(g, OP_EQ, x, x))->kind, EXPR_OP);
    assert_same_id(testing_op(g, OP_MIN, x, x), x);
    ExprId third = testing_op(g, OP_DIV, one, tessi_expr_real(g, TYPE_F32, 3));
    assert_same_id(third, tessi_expr_real(g, TYPE_F32, (double)(1.0f / 3.0f)));
}

static void test_integers_fold(void **state)
{
    Graph *g = testing_graph(*state, TYPE_I32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    ExprId two = tessi_expr_int(g, TYPE_I32, 2), three = tessi_expr_int(g, TYPE_I32, 3);
    ExprId five = testing_op(g, OP_ADD, x, tessi_expr_int(g, TYPE_I32, 5));
    assert_same_id(testing_op(g, OP_ADD, testing_op(g, OP_ADD, x, two), three), five);
    assert_same_id(testing_op(g, OP_SUB, testing_op(g, OP_ADD, x, two), two), x);
    assert_same_id(testing_op(g, OP_SUB, x, x), tessi_expr_int(g, TYPE_I32, 0));
    assert_same_id(testing_op(g, OP_AND, x, tessi_expr_int(g, TYPE_I32, -1)), x);
    ExprId truth = tessi_expr_int(g, TYPE_BOOL, 1);
    assert_same_id(tessi_expr_op(g, OP_SELECT, truth, x, two), x);
    assert_same_id(tessi_expr_op(g, OP_SELECT, testing_op(g, OP_LT, x, two), x, x), x);
}

static void test_conversions_fold(void **state)
{
    Graph *g = testing_graph(*state, TYPE_U8);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    ExprId as_int = tessi_expr_cast(g, TYPE_I32, x);
    assert_same_id(tessi_expr_cast(g, TYPE_U8, as_int), x);
    assert_same_id(tessi_expr_cast(g, TYPE_F32, as_int), tessi_expr_cast(g, TYPE_F32, x));
    ExprId as_i8 = tessi_expr_cast(g, TYPE_I8, x); /* loses values */
    assert_other_id(tessi_expr_cast(g, TYPE_U8, as_i8), x);
    assert_same_id(tessi_expr_sat(g, TYPE_I32, x), as_int);
    ExprId half = tessi_expr_cast(g, TYPE_F16, tessi_expr_cast(g, TYPE_F32, x));
    assert_int_equal(tessi_expr(g, half)->op, OP_ROUND16);
    assert_int_equal(tessi_expr(g, half)->type, TYPE_F32);
}

static void test_windows(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    WindowId w = testing_window(g, 1);
    assert_same_id(w, testing_window(g, 1));
    ExprId body = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_CLAMP, w);
    ExprId never = tessi_expr_int(g, TYPE_BOOL, 0), always = tessi_expr_int(g, TYPE_BOOL, 1);
    assert_same_id(tessi_expr_window(g, REDUCE_PROD, w, body, never),
                   tessi_expr_real(g, TYPE_F32, 1));
    assert_same_id(tessi_expr_window(g, REDUCE_MIN, w, body, never),
                   tessi_expr_real(g, TYPE_F32, INFINITY));
    assert_same_id(tessi_expr_window(g, REDUCE_MAX, w, body, always),
                   tessi_expr_window(g, REDUCE_MAX, w, body, none));
    /* whose zeros are +0, as under any condition that is not known */
    ExprId plain = tessi_expr_window(g, REDUCE_SUM, w, body, none);
    assert_same_id(tessi_expr_window(g, REDUCE_SUM, w, body, always),
                   testing_op(g, OP_ADD, tessi_expr_real(g, TYPE_F32, 0), plain));
    const int32_t at[4] = { 1, -1 };
    ExprId tap = tessi_expr_subst_window(g, body, w, at);
    assert_same_id(tap, testing_load(g, (StageId){ 1 }, 1, -1, BORDER_CLAMP, (WindowId){ 0 }));
    /* a window that stands inside another over the same range keeps its own variables */
    ExprId closed = tessi_expr_window(g, REDUCE_SUM, w, body, none);
    ExprId both = testing_op(g, OP_MUL, closed, body);
    assert_same_id(tessi_expr_subst_window(g, both, w, at), testing_op(g, OP_MUL, closed, tap));
}

static AccessDim index_dim(Graph *g, ExprId index)
{
    Access a = { .producer = { 1 }, .n_dims = 2 };
    a.dim[0] = a.dim[1] = (AccessDim){ .absolute = true, .rule = BORDER_CLAMP, .index = index };
    return tessi_access(g, tessi_graph_access(g, &a))->dim[0];
}

static void test_indices_become_affine(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    WindowId w = testing_window(g, 1);
    ExprId i = tessi_expr_winvar(g, w, 0), x = tessi_expr_index(g, 1);
    AccessDim d = index_dim(g, tessi_expr_int(g, TYPE_I32, -7));
    assert_false(d.absolute);
    assert_int_equal(d.src, -1);
    assert_same_id(d.add, tessi_size_const(g, -7));
    ExprId three_i = testing_op(g, OP_MUL, tessi_expr_int(g, TYPE_I32, 3), i);
    d = index_dim(g, testing_op(g, OP_SUB, testing_op(g, OP_ADD, x, tessi_expr_int(g, TYPE_I32, 2)),
                                three_i));
    assert_false(d.absolute);
    assert_int_equal(d.src, 1);
    assert_int_equal(d.scale, 1);
    assert_int_equal(d.n_terms, 1);
    assert_int_equal(d.term[0].coef, -3);
    assert_same_id(d.add, tessi_size_const(g, 2));
    assert_true(index_dim(g, testing_op(g, OP_MUL, x, x)).absolute);
    ExprId far = testing_op(g, OP_ADD, x, tessi_expr_int(g, TYPE_I32, INT32_MAX));
    assert_true(index_dim(g, far).absolute); /* wraps */
}

static void test_names_are_unique(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    StageId a = testing_stage(g, "t", TYPE_F32, x), b = testing_stage(g, "t", TYPE_F32, x);
    assert_string_equal(tessi_stage(g, a)->name, "t");
    assert_string_equal(tessi_stage(g, b)->name, "t_2");
    assert_same_id(tessi_graph_stage_by_name(g, "t_2"), b);
    assert_null(tessi_graph_verify(g));
}

/* ---- The verifier ---------------------------------------------------------------------------- */
static void check_violation(const Graph *g, const char *part)
{
    const char *sentence = tessi_graph_verify(g);
    assert_non_null(sentence);
    if (!strstr(sentence, part))
        fail_msg("'%s' does not say '%s'", sentence, part);
}

static void test_verifier_types(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    testing_stage(g, "y", TYPE_I32, x);
    check_violation(g, "stage 'y' is int32, its body is float");
    testing_op(g, OP_ADD, x, tessi_expr_int(g, TYPE_I32, 1));
    check_violation(g, "wrong type");
}

static void test_verifier_windows(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    WindowId w = testing_window(g, 1);
    ExprId body = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_CLAMP, w);
    testing_stage(g, "y", TYPE_F32, body);
    check_violation(g, "outside its window");
    Graph *h = testing_graph(*state, TYPE_F32);
    Window outer = { .level = 1, .n_vars = 2, .lo = { -1, -1 }, .hi = { 1, 1 } };
    WindowId inner = testing_window(h, 2), around = tessi_graph_window(h, &outer);
    body = testing_load(h, (StageId){ 1 }, 0, 0, BORDER_CLAMP, around);
    tessi_expr_window(h, REDUCE_SUM, inner, body, none);
    check_violation(h, "a deeper one");
}

static void test_verifier_order(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    StageId y = testing_stage(g, "y", TYPE_F32, x);
    ExprId itself = testing_load(g, y, 0, -1, BORDER_CLAMP, (WindowId){ 0 });
    tessi_stage(g, y)->pieces.at[0].body = itself;
    check_violation(g, "reads 'y', which comes later");
}

static void test_verifier_images(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    testing_return(g, (StageId){ 1 });
    assert_null(tessi_graph_verify(g));
    g->outputs.at[0].pixel_bytes = 3;
    check_violation(g, "have 3 bytes");
    g->outputs.at[0].pixel_bytes = 4;
    g->outputs.at[0].size[1] = tessi_size_const(g, 3);
    check_violation(g, "differ in type or size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_sizes_are_canonical),
        GRAPH_TEST(test_size_division),
        GRAPH_TEST(test_size_never_negative),
        GRAPH_TEST(test_size_extrema_and_overflow),
        GRAPH_TEST(test_equal_expressions_are_one),
        GRAPH_TEST(test_folding_is_exact),
        GRAPH_TEST(test_integers_fold),
        GRAPH_TEST(test_conversions_fold),
        GRAPH_TEST(test_windows),
        GRAPH_TEST(test_indices_become_affine),
        GRAPH_TEST(test_names_are_unique),
        GRAPH_TEST(test_verifier_types),
        GRAPH_TEST(test_verifier_windows),
        GRAPH_TEST(test_verifier_order),
        GRAPH_TEST(test_verifier_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
