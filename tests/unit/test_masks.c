/* Masks of low rank: the products are as few as can be, off by what they say, and chosen only where the contract
 * about rounding and the program allow. */
#include <math.h>

#include "analysis/passes.h"
#include "graph/graph_masks.h"
#include "interp_testing.h"

/* A sum of `rank` products with pseudo-random factors. */
static void fill(Arena *a, Matrix *m, uint32_t rows, uint32_t cols, uint32_t rank)
{
    Window w = { .n_vars = 2, .hi = { (int32_t)rows - 1, (int32_t)cols - 1 } };
    uint32_t seed = 1;
    assert_true(tessi_matrix_init(m, a, &w));
    for (uint32_t k = 0; k < rank; k++) {
        double *factor = ARENA_NEW_ARRAY(a, double, rows + cols);
        for (uint32_t i = 0; i < rows + cols; i++) {
            seed = seed * 1664525u + 1013904223u;
            factor[i] = (double)(seed >> 8) / (1 << 24) - 0.5;
        }
        for (uint32_t i = 0; i < m->n; i++) {
            m->used[i] = true;
            m->at[i].f += factor[i / cols] * factor[rows + i % cols];
        }
    }
}

static double error_of(const Matrix *m, const LowRank *low)
{
    double off = 0, all = 0;
    uint32_t cols = m->dim[1];
    for (uint32_t i = 0; i < m->n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < low->n; k++)
            sum += low->across[k].at[i / cols].f * low->line[k].at[i % cols].f;
        off += fabs(sum - m->at[i].f);
        all += fabs(m->at[i].f);
    }
    return off / all;
}

static void test_rank_is_found(void **state)
{
    static const uint32_t sizes[][2] = { { 9, 9 }, { 43, 5 }, { 4, 31 }, { 128, 20 } };
    for (int s = 0; s < 4; s++)
        for (uint32_t rank = 1; rank <= 4; rank++)
            for (uint32_t dim = 0; dim < 2; dim++) {
                Matrix m;
                LowRank low, turned;
                fill(*state, &m, sizes[s][0], sizes[s][1], rank);
                assert_true(tessi_matrix_low_rank(&m, *state, TYPE_F64, 0, 0x1p-45, 100, &low));
                assert_int_equal(low.n, rank);
                assert_int_equal(low.rank, rank);
                assert_true(low.error <= 0x1p-45 && low.growth > 1 - 1e-9);
                assert_true(fabs(error_of(&m, &low) - low.error) < 1e-14);
                /* Float factors, which lie along the other dimension in turn. */
                assert_true(
                    tessi_matrix_low_rank(&m, *state, TYPE_F32, dim, 0x1p-20, 100, &turned));
                assert_int_equal(turned.n, rank);
                assert_int_equal(turned.across[0].n, sizes[s][dim]);
                /* Fewer than it has. */
                assert_true(
                    tessi_matrix_low_rank(&m, *state, TYPE_F32, 0, 0x1p-20, rank - 1, &low));
                assert_int_equal(low.n, rank - 1);
                assert_int_equal(low.rank, rank);
                if (rank > 1)
                    assert_true(fabs(error_of(&m, &low) - low.error) < 1e-12 && low.error > 1e-3);
            }
    Matrix large;
    LowRank low;
    fill(*state, &large, 129, 127, 1);
    assert_true(tessi_matrix_low_rank(&large, *state, TYPE_F32, 0, 0x1p-20, 1, &low));
}

/* weight(i, j) * X[i, j] over a square, by `sum` of the text form. */
static const Graph *simplified(Arena *a, const char *sum, const char *weight, const char *rule,
                               FpMode fp)
{
    const char *text = tessi_sprintf(a,
                                     "graph g\nfp strict\nparam M, N\nscalar t float\n"
                                     "image X[M, N] float\nstage X[M, N] float = image X\n"
                                     "stage y[M, N] float = %s($i = -5..5, $j = -5..5 : "
                                     "%s * X@[$i,$j]:%s)\noutput y[M, N] float = y\n",
                                     sum, weight, rule);
    const Graph *g = testing_read(a, text, NULL);
    assert_non_null(strstr(testing_printed(a, g), sum));
    const Graph *s = tessi_graph_simplify(g, a, fp);
    assert_null(tessi_graph_verify(s));
    assert_int_equal(s->forms.n, 1);
    assert_null(strstr(testing_printed(a, s), "direct_sum("));
    assert_null(strstr(testing_printed(a, s), "separable_sum("));
    return s;
}

#define RANK_TWO "cast<float>($i * $i + $j * $j)"
#define RANK_ONE "cast<float>((6 - abs($i)) * (6 - abs($j)))"

static void check_form(Arena *a, const char *sum, const char *weight, FpMode fp, const char *fault,
                       uint32_t steps, uint32_t terms)
{
    const Graph *g = simplified(a, sum, weight, "mirror", fp);
    const MaskForm *f = &g->forms.at[0];
    if (fault)
        assert_string_equal(f->fault, fault);
    else
        assert_null(f->fault);
    assert_int_equal(f->steps, steps);
    assert_int_equal(f->terms, terms);
    assert_int_equal(f->method, terms ? METHOD_SEPARABLE : METHOD_DIRECT);
}

static void test_forms(void **state)
{
    static const char strict[] = "under strict rounding a sum of reals is added up as written";
    static const char two[] = "the mask has rank 2; the nearest product of a column and a row is "
                              "off by 14 % of its weights";
    Arena *a = *state;
    check_form(a, "sum", RANK_ONE, FP_DEFAULT, NULL, 22, 1);
    check_form(a, "sum", RANK_ONE, FP_STRICT, NULL, 121, 0);
    check_form(a, "sum", RANK_TWO, FP_DEFAULT, NULL, 66, 0);
    check_form(a, "sum", RANK_TWO, FP_STRICT, NULL, 121, 0);
    check_form(a, "sum", RANK_TWO, FP_FAST, NULL, 44, 2);
    check_form(a, "direct_sum", RANK_TWO, FP_FAST, NULL, 121, 0);
    check_form(a, "direct_sum", RANK_ONE, FP_DEFAULT, NULL, 121, 0);
    check_form(a, "separable_sum", RANK_ONE, FP_DEFAULT, NULL, 22, 1);
    check_form(a, "separable_sum", RANK_ONE, FP_STRICT, strict, 121, 0);
    check_form(a, "separable_sum", RANK_TWO, FP_DEFAULT, two, 121, 0);
    check_form(a, "separable_sum", RANK_TWO, FP_FAST, two, 121, 0);
    const Graph *g = simplified(a, "separable_sum", RANK_ONE, "constant(scalar(t))", FP_DEFAULT);
    assert_string_equal(
        g->forms.at[0].fault,
        "what lies outside the image is not known when compiling, or the mask has holes");
}

/* 7 x 7, equal columns on both sides; 3 rows of which one has no weights; 9 x 9 and 9 x 8, to be loops over half of
 * the columns, the latter with opposite signs; one column unlike its opposite; products that serve no other point. */
static void test_columns(void **state)
{
    enum { MASKS = 6 };
    static const char *const windows[MASKS] = {
        "$i = -3..3, $j = -3..3", "$i = -2..0, $j = -1..1", "$i = -4..4, $j = -4..4",
        "$i = -4..4, $j = -4..3", "$i = -4..4, $j = -4..4", "$i = -3..3, $j = -3..3"
    };
    static const char *const weights[MASKS] = {
        "(1.0f / cast<float>($i * $i + $j * $j + 1))",
        "cast<float>($j * ($i * $i + $j))",
        "(1.0f / cast<float>($i * $i + $j * $j + 1))",
        "(cast<float>(2 * $j + 1) / cast<float>($i * $i + (2 * $j + 1) * (2 * $j + 1) + 1))",
        "(1.0f / cast<float>($i * $i + $j * $j + max($j, 3)))",
        "X"
    };
    static const uint32_t steps[MASKS][2] = { { 49, 28 }, { 9, 9 },   { 81, 45 },
                                              { 72, 36 }, { 81, 81 }, { 49, 49 } };
    for (int k = 0; k < MASKS; k++)
        for (int fp = FP_DEFAULT; fp <= FP_STRICT; fp++) {
            const char *text = tessi_sprintf(
                *state,
                "graph g\nfp strict\nparam M, N\nimage X[M, N] float\nstage X[M, N] float = image "
                "X\nstage y[M, N] float = sum(%s : %s * X@[$i,$j]:clamp)\noutput y[M, N] float = "
                "y\n",
                windows[k], weights[k]);
            const Graph *g = testing_read(*state, text, NULL);
            const MaskForm *f = &tessi_graph_simplify(g, *state, (FpMode)fp)->forms.at[0];
            assert_int_equal(f->steps, steps[k][fp == FP_DEFAULT]);
            assert_int_equal(f->folded, f->steps < f->taps);
            assert_true(f->folded ? f->error < f->error_written : f->error == f->error_written);
        }
}

/* Over points that are filled in, reads of equal weight along a row are added up first: 11 products down the columns
 * and 6 along the rows, where other points take 11 of both. */
static void test_filled(void **state)
{
    static const char *const points[] = { "X", "select(0.5f < X, X, 0.0f)" };
    static const uint32_t steps[2][2] = { { 121, 22 }, { 121, 17 } };
    for (int k = 0; k < 2; k++)
        for (int fp = FP_DEFAULT; fp <= FP_STRICT; fp++) {
            const char *text = tessi_sprintf(
                *state,
                "graph g\nfp strict\nparam M, N\nimage X[M, N] float\nstage X[M, N] float = image "
                "X\nstage z[M, N] float = %s\nstage y[M, N] float = sum($i = -5..5, $j = -5..5 "
                ": " RANK_ONE " * z@[$i,$j]:clamp)\noutput y[M, N] float = y\n",
                points[k]);
            const Graph *g = testing_read(*state, text, NULL);
            const MaskForm *f = &tessi_graph_simplify(g, *state, (FpMode)fp)->forms.at[0];
            assert_int_equal(f->steps, steps[k][fp == FP_DEFAULT]);
        }
}

/* Masks as large as the language has, and boxes as large as windows can be, are looked at too, in little time; what
 * stays a window that no table should hold stays as it is. */
static void test_large(void **state)
{
    static const struct {
        const char *window, *value, *where;
        uint32_t steps, terms;
    } cases[] = {
        { "$i = -127..127, $j = -127..127", "cast<float>((200 - abs($i)) * (300 - abs($j))) * ", "",
          510, 1 },
        { "$i = -255..255, $j = -255..255", "cast<float>(1 + $i * $i + $j * $j + $i * $j) * ", "",
          511 * 511, 0 },
        { "$i = 0..99999, $j = 0..1", "cast<float>(($i + 1) * ($j + 1)) * ", "", 100002, 1 },
        { "$i = 0..1, $j = 0..99999", "cast<float>($i * 7 % 5 + $j * $j % 1009 + 1) * ", "", 200000,
          0 },
        { "$i = -500..500, $j = -500..500", "", "", 62, 1 },
        { "$i = -300..300, $j = -300..300", "", " where $i * $i + $j * $j <= 90000", 282697, 0 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *text = tessi_sprintf(
            *state,
            "graph g\nfp strict\nparam M, N\nimage X[M, N] float\nstage X[M, N] float = image "
            "X\nstage y[M, N] float = sum(%s : %sX@[$i,$j]:clamp%s)\noutput y[M, N] float = y\n",
            cases[k].window, cases[k].value, cases[k].where);
        const Graph *g = tessi_graph_simplify(testing_read(*state, text, NULL), *state, FP_DEFAULT);
        assert_null(tessi_graph_verify(g));
        assert_int_equal(g->forms.at[0].steps, cases[k].steps);
        assert_int_equal(g->forms.at[0].terms, cases[k].terms);
        for (uint32_t i = 0; i < g->tables.n; i++)
            assert_true(g->tables.at[i].n <= MAX_MASK_ELEMENTS);
    }
}

/* What explain says of windows that are no sums, and of what is left out. */
static void test_texts(void **state)
{
    static const char *const cases[][2] = {
        { "max($i = -15..15, $j = -15..15 : X@[$i,$j]:clamp)",
          "the max of 961 values from 24, along one dimension after the other, by 2 stages of "
          "partial results" },
        { "min($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp)",
          "the min of 9 values from 6, along one dimension after the other" },
        { "max($i = -2..2, $j = -2..2 : X@[$i,$j]:clamp where $i * $i + $j * $j <= 4)",
          "the max of 13 of 25 values, one after the other" },
        { "median($i = -4..4, $j = -4..4 : X@[$i,$j]:clamp)",
          "the median of a window of 81 points, sorted at each point" },
        { "median($i = -1..1, $j = -1..1 : X@[$i,$j]:clamp)",
          "the median of 9 values by a network of 34 minima and maxima" },
        { "median($i = -1..1, $j = -1..1 : max(X@[$i,$j]:clamp, 0f) where $i * $j == 0)",
          "the median of 5 of 9 values by a network of 12 minima and maxima" },
        { "sum($i = -1..1, $j = 0..1 : X@[$i,$j]:clamp where $i != $j)",
          "4 of 6 weights, the others 0, applied as written; off by at most 3.0e-07 of sum "
          "|weight * value|" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *text = tessi_sprintf(
            *state,
            "graph g\nfp strict\nparam M, N\nimage X[M, N] float\nstage X[M, N] float = image "
            "X\nstage y[M, N] float = %s\noutput y[M, N] float = y\n",
            cases[k][0]);
        const Graph *g = tessi_graph_simplify(testing_read(*state, text, NULL), *state, FP_DEFAULT);
        g = tessi_graph_exact_passes(g, *state, true);
        assert_int_equal(g->forms.n, 1);
        Text said = tessi_text_new(*state);
        tessi_mask_form_print(&g->forms.at[0], &said);
        assert_string_equal(tessi_text_str(&said), cases[k][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { GRAPH_TEST(test_rank_is_found), GRAPH_TEST(test_forms),
                                        GRAPH_TEST(test_columns),       GRAPH_TEST(test_filled),
                                        GRAPH_TEST(test_large),         GRAPH_TEST(test_texts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
