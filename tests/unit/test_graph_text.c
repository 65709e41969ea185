/* Graphs as text: what is printed reads back to a graph that prints the same, and what is no graph gets one
 * sentence. */
#include "graph_testing.h"

static void check_round_trip(Arena *a, const Graph *g)
{
    const char *first = testing_printed(a, g);
    assert_null(tessi_graph_verify(g));
    Graph *again = testing_read(a, first, NULL);
    assert_non_null(again);
    assert_string_equal(testing_printed(a, again), first);
}

static void test_blur_reads_well(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    const WindowId none = { 0 };
    ExprId sum = testing_load(g, (StageId){ 1 }, 0, -1, BORDER_MIRROR, none);
    sum = testing_op(g, OP_ADD, sum, testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, none));
    sum = testing_op(g, OP_ADD, sum, testing_load(g, (StageId){ 1 }, 0, 1, BORDER_MIRROR, none));
    sum = testing_op(g, OP_DIV, sum, tessi_expr_real(g, TYPE_F32, 3));
    testing_return(g, testing_stage(g, "temp", TYPE_F32, sum));
    assert_string_equal(testing_printed(*state, g),
                        "graph test\n"
                        "fp default\n"
                        "param M, N\n"
                        "image X[M, N] float\n"
                        "stage X[M, N] float = image X\n"
                        "stage temp[M, N] float = (X@[0,-1]:mirror + X + X@[0,1]:mirror) / 3.0f\n"
                        "output temp[M, N] float = temp\n");
    check_round_trip(*state, g);
}

/* Each of these texts is as the printer writes it. */
static const char *const sound_texts[] = {
    "graph empty\nfp strict\n",
    "graph \"a \\\"b\\\\ \\x0a\"\nfp fast\n",
    "graph g\nfp default\nscalar t float = 0.5f in 0.0f .. 1.0f\nscalar n uint8 = 3u8\nscalar d "
    "double\nscalar b bool = true\n",
    "graph g\nfp default\nscalar d double = -0.0d in -inf_d .. inf_d\n",
    "graph g\nfp default\nparam M\nimage p[M, 2*M - 1] { r uint8, g uint16 }\nmask w[3, M] float\n"
    "stage p.r[M, 2*M - 1] uint8 = image p channel 0\nstage p.g[M, 2*M - 1] uint16 = image p "
    "channel 1\n"
    "stage w[3, M] float = image w\n"
    "output q[M, 2*M - 1] { x uint16 = p.g, y uint8 = p.r }\n",
    "graph g\nfp default\nparam N\nimage X[N] float\ntable w[2, 3] float = {\n    1.0, 0.5, "
    "-inf,\n    nan, -0.0, 1e+30\n}\n"
    "stage X[N] float = image X\n"
    "stage h[16] uint32 = histogram X\nstage lo float = reduce min X\n"
    "stage y[N] float = X * lo + w[index(0) - 5]\noutput y[N] float = y\n",
    "graph g\nfp default # + [x * y] is one operation with one rounding\n"
    "param M, N\nimage X[M, N] float\nstage X[M, N] float = image X\n"
    "stage both[M, 2*N] float\n"
    "  piece [0, 0] step [1, 2] count [M, N] = X\n"
    "  piece [0, 1] step [1, 2] count [M, N] =\n"
    "      let %1 = X * 2.0f;\n"
    "      %1 + [%1 * X@[=M - 1,(N,-1)]:[clamp,constant](7.0f)]\n"
    "stage t[N, M] float = both@[(0,1,1),{min(index(0), size(N / 2 - 1))}]:wrap\n"
    "stage s[M, N] float =\n    sum($i = -3..3, $j = -3..3 : X@[$i,2*$j - 1]:constant(nan_f) where "
    "$i * $i + $j * $j < 9)\n"
    "stage m[M, N] float = median($i = -1..1 : let %1 = max($i1 = 0..4 : X@[$i + $i1,0]:clamp); %1 "
    "* %1)\n"
    "stage f[M, N] float = fused_sum($i = -9..9 : cast<float>($i) * X@[$i,0]:reflect) - (X - (X + "
    "1.0f))\n"
    "stage c[M, N] uint8 = sat<uint8>(select(X < 0.0f, -X, X) * (X - X) / X)\n"
    "stage b[M, N] bool = (c & 3u8) == 1u8 | ~(X == X ^ c < 7u8)\n"
    "output s[M, N] float = s\noutput c[M, N] uint8 = c\n",
    "graph g\nfp default\nparam \"min\", stage\nimage \"image\"[\"min\", min(\"min\", stage)] "
    "int32\n"
    "stage \"image\"[\"min\", min(\"min\", stage)] int32 = image \"image\"\n"
    "stage X<3>[\"min\", min(\"min\", stage)] int32 = -\"image\" % (\"image\" << 2) - 2147483647\n"
    "stage output[\"min\", min(\"min\", stage)] int32 =\n    X<3> + X<3>:wrap + X<3>@[1,0]:wrap + "
    "X<3>@[1,0]:[wrap,clamp]\n"
    "output output[\"min\", min(\"min\", stage)] int32 = output\n",
};

static void test_sound_texts_print_as_written(void **state)
{
    for (size_t k = 0; k < sizeof sound_texts / sizeof *sound_texts; k++) {
        Graph *g = testing_read(*state, sound_texts[k], NULL);
        assert_string_equal(testing_printed(*state, g), sound_texts[k]);
        check_round_trip(*state, g);
    }
}

static void test_shared_parts_are_named_once(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    ExprId e = x; /* a tree of 2^40 nodes, 41 expressions */
    for (int k = 0; k < 40; k++)
        e = testing_op(g, OP_MUL, e, e);
    testing_return(g, testing_stage(g, "y", TYPE_F32, e));
    assert_true(strlen(testing_printed(*state, g)) < 2000);
    check_round_trip(*state, g);
}

static void test_deep_expressions(void **state)
{
    Graph *g = testing_graph(*state, TYPE_F32);
    ExprId x = testing_load(g, (StageId){ 1 }, 0, 0, BORDER_INSIDE, (WindowId){ 0 });
    ExprId left = x, right = x;
    for (int k = 0; k < 20000; k++) {
        ExprId c = tessi_expr_real(g, TYPE_F32, k + 2);
        left = testing_op(g, OP_ADD, left, c);
        right = testing_op(g, OP_SUB, c, right);
    }
    testing_return(g, testing_stage(g, "y", TYPE_F32, testing_op(g, OP_MUL, left, right)));
    check_round_trip(*state, g);
}

static const struct {
    const char *text, *complaint;
} bad_texts[] = {
    { "", "line 1: 'graph' is expected, not the end of the text" },
    { "graph g\nfp sometimes", "line 2: 'fp' is default, strict or fast" },
    { "graph g stage", "line 1: a stage is expected, not the end of the text" },
    { "graph g stage y float = 1", "stage 'y' is float, its body is int32" },
    { "graph g stage y float = x", "line 1: there is no stage 'x' before this one" },
    { "graph g stage y float = 1.0f + 1", "line 1: 'add' cannot be applied to these types" },
    { "graph g stage y int32 = $i", "line 1: a window variable stands outside its window" },
    { "graph g stage y int32 = %3", "line 1: %3 has not been named before" },
    { "graph g stage y int32 = 99999999999999999999", "line 1: a number is too large" },
    { "graph g stage y[N] int32 = 1", "line 1: there is no parameter 'N'" },
    { "graph g param N stage y[N*9223372036854775807*2] int32 = 1",
      "a size of y overflows or is too complicated" },
    { "graph g \"open", "line 1: a quoted name does not end, or holds an unknown escape" },
    { "graph g stage y int32 = sum($i = 0..99999999 : 1)",
      "line 1: a window has more than 1048576 points" },
    { "graph g stage y int32 = let %1 = sum($i = 0..3 : let %2 = $i; 1); %2",
      "stage 'y' uses a window variable outside its window" },
    { "graph g stage y int32 = 1 stage y int32 = 2", "line 1: two stages are called 'y'" },
    { "graph g image X float output o float = X", "line 1: there is no stage 'X' before this one" },
    { "graph g table t[2] uint8 = { 1, 256 }",
      "line 1: an element of a table does not fit its type" },
    { "graph g \x01", "line 1: a character that means nothing here" },
};

static void test_bad_texts_get_one_sentence(void **state)
{
    for (size_t k = 0; k < sizeof bad_texts / sizeof *bad_texts; k++) {
        const char *complaint;
        assert_null(testing_read(*state, bad_texts[k].text, &complaint));
        if (!strstr(complaint, bad_texts[k].complaint))
            fail_msg("'%s' gives '%s'", bad_texts[k].text, complaint);
    }
}

static void test_nesting_is_bounded(void **state)
{
    Text t = tessi_text_new(*state);
    tessi_text_add(&t, "graph g stage y int32 = ");
    for (int k = 0; k < 100000; k++)
        tessi_text_add(&t, k % 2 ? "-" : "(");
    const char *complaint;
    assert_null(testing_read(*state, tessi_text_str(&t), &complaint));
    assert_non_null(strstr(complaint, "nested deeper"));
}

/* Every prefix and every one-byte change of a sound text is read or refused, and never more than that. */
static void test_damaged_texts(void **state)
{
    (void)state;
    const char *text = sound_texts[6];
    size_t n = strlen(text);
    for (size_t k = 0; k < 2 * n; k++) {
        Arena a;
        tessi_arena_init(&a, testing_out_of_memory, NULL);
        char *copy = tessi_strdup(&a, text);
        if (k < n)
            copy[k] = '\0';
        else
            copy[k - n] = (char)(copy[k - n] ^ (1 << (k % 7)));
        const char *complaint;
        Graph *g = testing_read(&a, copy, &complaint);
        if (g)
            check_round_trip(&a, g);
        tessi_arena_dispose(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_blur_reads_well),
        GRAPH_TEST(test_sound_texts_print_as_written),
        GRAPH_TEST(test_shared_parts_are_named_once),
        GRAPH_TEST(test_deep_expressions),
        GRAPH_TEST(test_bad_texts_get_one_sentence),
        GRAPH_TEST(test_nesting_is_bounded),
        GRAPH_TEST(test_damaged_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
