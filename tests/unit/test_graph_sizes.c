/* Sizes of a run: parameters from images, and one sentence when they do not fit. */
#include "graph_testing.h"

static const char *const text = "graph g\nfp default\nparam M, N, K\nimage a[M, N] float\nimage "
                                "b[2*M - 1, N] float\nmask w[3, 3] float\nimage c[K / 2] float\n"
                                "stage a[M, N] float = image a\n"
                                "stage inner[M - 2, N / 2] float = a@[1,(0,2)]\n"
                                "output o[M - 2, N / 2] float = inner\n";

typedef struct Case {
    int64_t a[2], b[2], w[2], c[1], k; /* a size that begins with 0: not given */
    const char *complaint;             /* NULL: fits */
} Case;

static const Case cases[] = {
    { { 4, 6 }, { 7, 6 }, { 3, 3 }, { 5 }, 10, NULL },
    { { 4, 6 }, { 7, 6 }, { 3, 3 }, { 5 }, 11, NULL },
    { { 0 }, { 7, 6 }, { 3, 3 }, { 5 }, 10, NULL },
    { { 4, 6 }, { 7, 6 }, { 0 }, { 0 }, 10, NULL },
    { { 4, 6 },
      { 8, 6 },
      { 3, 3 },
      { 5 },
      10,
      "image 'b' is 8 rows by 6 columns, but it is declared [2*M - 1, N] and image 'a' makes M = "
      "4" },
    { { 4, 6 },
      { 7, 5 },
      { 3, 3 },
      { 5 },
      10,
      "image 'b' is 7 rows by 5 columns, but it is declared [2*M - 1, N] and image 'a' makes N = "
      "6" },
    { { 0 },
      { 8, 6 },
      { 3, 3 },
      { 5 },
      10,
      "image 'b' is 8 rows by 6 columns, but it is declared [2*M - 1, N], and no whole number M "
      "fits" },
    { { 4, 6 },
      { 7, 6 },
      { 3, 1 },
      { 5 },
      10,
      "mask 'w' is 3 rows by 1 column, but it is declared [3, 3]" },
    { { 4, 6 },
      { 7, 6 },
      { 3, 3 },
      { 5 },
      12,
      "image 'c' is 5 elements long, but it is declared [K / 2] and K = 12 is set" },
    { { 4, 6 },
      { 7, 6 },
      { 3, 3 },
      { 5 },
      -1,
      "no input image determines the parameter K: set it with K=VALUE" },
    { { 4, 6 }, { 7, 6 }, { 3, 3 }, { 0 }, -3, "the parameter K is set to -3, which is negative" },
    { { 2, 6 },
      { 3, 6 },
      { 3, 3 },
      { 5 },
      10,
      "stage 'inner' would be empty: its size is M - 2 = 0 in dimension 0" },
    { { 4, -6 },
      { 7, -6 },
      { 3, 3 },
      { 5 },
      10,
      "image 'a' makes the parameter N = -6, which is negative" },
    { { INT64_MAX, 6 }, { 7, 6 }, { 3, 3 }, { 5 }, 10, "image 'b' is 7 rows by 6 columns" },
    { { INT64_MAX / 4, 6 },
      { 0 },
      { 3, 3 },
      { 5 },
      10,
      "stage 'a' would be too large: its size is M in dimension 0" },
    { { 1 << 30, 1 << 30 },
      { 0 },
      { 3, 3 },
      { 5 },
      10,
      "stage 'a' would be too large: it has more than 70368744177664 bytes" },
};

static void test_cases(void **state)
{
    Graph *g = testing_read(*state, text, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const Case *c = &cases[k];
        const int64_t *sizes[] = { c->a[0] ? c->a : NULL, c->b[0] ? c->b : NULL,
                                   c->w[0] ? c->w : NULL, c->c[0] ? c->c : NULL };
        int64_t params[3] = { 0, 0, c->k };
        const bool given[3] = { false, false, c->k != -1 };
        Failure f = { 0 };
        bool fits = tessi_graph_bind_sizes(g, *state, sizes, given, params, &f);
        if (fits != !c->complaint || (c->complaint && !strstr(f.text, c->complaint)))
            fail_msg("case %zu: '%s'", k, fits ? "fits" : f.text);
        if (!fits)
            continue;
        assert_int_equal(params[0], 4);
        assert_int_equal(params[1], 6);
    }
}

static void test_far_displacements(void **state)
{
    Graph *g =
        testing_read(*state,
                     "graph g\nfp default\nparam M\nimage a[M] float\nstage a[M] float = image a\n"
                     "stage b[M] float = a@[M * M * M * M]:clamp\noutput b[M] float = b\n",
                     NULL);
    const int64_t size[1] = { 100000 };
    const int64_t *sizes[] = { size };
    int64_t params[1];
    Failure f = { 0 };
    assert_false(tessi_graph_bind_sizes(g, *state, sizes, NULL, params, &f));
    assert_non_null(strstr(f.text, "too far away"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { GRAPH_TEST(test_cases),
                                        GRAPH_TEST(test_far_displacements) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
