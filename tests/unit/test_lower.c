/* Lowering: small programs and the graphs they become. What the graphs compute is tested by the corpus; here it is
 * their shape: sizes, border rules that were proved needless, pieces, tables, channels. */
#include "front_testing.h"

typedef struct GraphCase {
    const char *rule; /* that the case shows */
    bool forma;
    const char *program, *graph;
} GraphCase;

static const GraphCase CASES[] = {
    { "an index computed from pixels", false,
      "stencil f(vector#1 uint8 A, vector#1 float lut) { return lut[A]; }\n"
      "parameter N, K;\n"
      "vector#1 uint8 X[N];\n"
      "vector#1 float L[K];\n"
      "return f(X, L:mirror);\n",
      "graph test\n"
      "fp default\n"
      "param N, K\n"
      "image X[N] uint8\n"
      "image L[K] float\n"
      "stage X[N] uint8 = image X\n"
      "stage L[K] float = image L\n"
      "stage output[N] float = L@[{cast<int32>(X)}]:mirror\n"
      "output output[N] float = output\n" },
    { "placements become pieces", false,
      "parameter M, N;\n"
      "vector#2 float X[M, N];\n"
      "up = ( @[(0,2),(0,1)] = X; @[(1,2),(0,1)] = X; );\n"
      "o[1.., 3..] = up;\n"
      "return o;\n",
      "graph test\n"
      "fp default\n"
      "param M, N\n"
      "image X[M, N] float\n"
      "stage X[M, N] float = image X\n"
      "stage up[2*M, N] float\n"
      "  piece [0, 0] step [2, 1] count [M, N] = X\n"
      "  piece [1, 0] step [2, 1] count [M, N] = X\n"
      "stage o[2*M + 1, N + 3] float\n"
      "  piece [1, 3] step [1, 1] count [2*M, N] = up\n"
      "output o[2*M + 1, N + 3] float = o\n" },
    { "taps of zero are not read, and the dilation spaces the others", false,
      "mask m[3] = { 1, 0, -1 };\n"
      "parameter N;\n"
      "vector#1 uint8 X[N];\n"
      "t = convolve(X:wrap, m, dilation = 2);\n"
      "return t;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] uint8\n"
      "table m[3] int32 = { 1, 0, -1 }\n"
      "table m.taps[3] bool = { 1, 0, 1 }\n"
      "stage X[N] uint8 = image X\n"
      "stage t[N] int32 = sum($i = -1..1 : let %1 = $i + 1; m[%1] * cast<int32>(X@[2*$i]:wrap) "
      "where m.taps[%1])\n"
      "output t[N] int32 = t\n" },
    { "float16 is rounded where it is made", false,
      "parameter N;\n"
      "vector#1 float16 X[N];\n"
      "t = cast<float16>(X * 2);\n"
      "return t;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] float16\n"
      "stage X[N] float16 = image X\n"
      "stage t[N] float16 = round16(X * 2.0f)\n"
      "output t[N] float16 = t\n" },
    { "the rule `none` shrinks the result to the points whose reads are inside", false,
      "stencil f(vector#2 float A) { return A@[-1,0] + A@[0,2]; }\n"
      "parameter M, N;\n"
      "vector#2 float X[M, N];\n"
      "return f(X:none);\n",
      "graph test\n"
      "fp default\n"
      "param M, N\n"
      "image X[M, N] float\n"
      "stage X[M, N] float = image X\n"
      "stage output[M - 1, N - 2] float = X + X@[1,2]\n"
      "output output[M - 1, N - 2] float = output\n" },
    { "leading ranges are fixed indices", false,
      "parameter N;\n"
      "vector#1 float X[N];\n"
      "o[2, 1..] = X;\n"
      "return o;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] float\n"
      "stage X[N] float = image X\n"
      "stage o[3, N + 1] float\n"
      "  piece [2, 1] step [1, 1] count [1, N] = X@[(0,1,1)]\n"
      "output o[3, N + 1] float = o\n" },
    { "powers are multiplications by squaring", false,
      "parameter N;\n"
      "vector#1 float X[N];\n"
      "t = X^5 + X^-2;\n"
      "return t;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] float\n"
      "stage X[N] float = image X\n"
      "stage t[N] float =\n"
      "    let %1 = X * X;\n"
      "    X * (%1 * %1) + 1.0f / %1\n"
      "output t[N] float = t\n" },
    { "families and vector functions are unrolled; a returned input is copied", false,
      "vector half(vector#1 any A) { t = mean(i = 0..1 : A@[(i,2)]); return t; }\n"
      "parameter N;\n"
      "vector#1 float X[N];\n"
      "p<0> = X;\n"
      "for i = 1..2\n"
      "  p<i> = half(p<i-1>);\n"
      "endfor\n"
      "return p<2>, p<0>;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] float\n"
      "stage X[N] float = image X\n"
      "stage p<1>[N / 2] float = sum($i = 0..1 : X@[($i,2)]) / 2.0f\n"
      "stage p<2>[N / 4] float = sum($i = 0..1 : p<1>@[($i,2)]) / 2.0f\n"
      "stage p2[N] float = X\n"
      "output p[N / 4] float = p<2>\n"
      "output p2[N] float = p2\n" },
    { "reductions and what is computed from them are scalar stages", false,
      "parameter N;\n"
      "vector#1 float X[N];\n"
      "float gain = 2.0;\n"
      "lo = minimum(X);\n"
      "hi = maximum(X);\n"
      "range = (hi - lo) * gain;\n"
      "out = (X - lo) / range;\n"
      "return out;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "scalar gain float = 2.0f\n"
      "image X[N] float\n"
      "stage X[N] float = image X\n"
      "stage lo float = reduce min X\n"
      "stage hi float = reduce max X\n"
      "stage range float = (hi - lo) * scalar(gain)\n"
      "stage out[N] float = (X - lo) / range\n"
      "output out[N] float = out\n" },
    { "a mask given at run time is read by index from its centre", false,
      "parameter N;\n"
      "vector#1 float X[N];\n"
      "mask#1 float w[3];\n"
      "out = convolve(X:wrap, flip(w));\n"
      "return out;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] float\n"
      "mask w[3] float\n"
      "stage X[N] float = image X\n"
      "stage w[3] float = image w\n"
      "stage out[N] float = sum($i = -1..1 : w@[=-$i + 1] * X@[$i]:wrap)\n"
      "output out[N] float = out\n" },
    { "the size is the least over the arguments", false,
      "stencil f(vector#1 float A, vector#1 float B) { return A@[(1,2)] + B@[1]; }\n"
      "parameter M, N;\n"
      "vector#1 float X[M];\n"
      "vector#1 float Y[N];\n"
      "return f(X:mirror, Y:wrap);\n",
      "graph test\n"
      "fp default\n"
      "param M, N\n"
      "image X[M] float\n"
      "image Y[N] float\n"
      "stage X[M] float = image X\n"
      "stage Y[N] float = image Y\n"
      "stage output[min(N, M / 2)] float = X@[(1,2)] + Y@[1]:wrap\n"
      "output output[min(N, M / 2)] float = output\n" },
    { "structs are split into channels, fields keep their types", false,
      "struct p { uint8 a; float b; }\n"
      "stencil f(vector#1 p A) { return A@[1] * 2; }\n"
      "parameter N;\n"
      "vector#1 p X[N];\n"
      "out = f(X:constant(3));\n"
      "return out;\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] { a uint8, b float }\n"
      "stage X.a[N] uint8 = image X channel 0\n"
      "stage X.b[N] float = image X channel 1\n"
      "stage out.a[N] int32 = cast<int32>(X.a@[1]:constant(3u8)) * 2\n"
      "stage out.b[N] float = X.b@[1]:constant(3.0f) * 2.0f\n"
      "output out[N] { a int32 = out.a, b float = out.b }\n" },
    { "subdomains are images of their own", false,
      "parameter M, N;\n"
      "vector#2 float X[M, N];\n"
      "t = X[1..M-2, ..];\n"
      "return t[.., 3..5];\n",
      "graph test\n"
      "fp default\n"
      "param M, N\n"
      "image X[M, N] float\n"
      "stage X[M, N] float = image X\n"
      "stage t[M - 2, N] float = X@[1,0]\n"
      "stage output[M - 2, min(5, N - 1) - 2] float = t@[0,3]\n"
      "output output[M - 2, min(5, N - 1) - 2] float = output\n" },
    { "offsets that are not affine unroll their window", false,
      "stencil f(vector#1 int A) { return max(i = 0..2 : A@[i*i]); }\n"
      "parameter N;\n"
      "vector#1 int X[N];\n"
      "return f(X:wrap);\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] int32\n"
      "stage X[N] int32 = image X\n"
      "stage output[N] int32 = max(max(X, X@[1]:wrap), X@[4]:wrap)\n"
      "output output[N] int32 = output\n" },
    { "what depends on window variables only is a table", false,
      "stencil f(vector#2 float A) { return sum(i = -1..1, j = -2..2 where i*i + j*j <= 4 : "
      "exp(-(i*i + j*j) / 2.0) * A@[i,j]); }\n"
      "parameter M, N;\n"
      "vector#2 float X[M, N];\n"
      "return f(X:wrap);\n",
      "graph test\n"
      "fp default\n"
      "param M, N\n"
      "image X[M, N] float\n"
      "table weights[3, 5] float = {\n"
      "    0.082085, 0.36787945, 0.60653067, 0.36787945, 0.082085,\n"
      "    0.13533528, 0.60653067, 1.0, 0.60653067, 0.13533528,\n"
      "    0.082085, 0.36787945, 0.60653067, 0.36787945, 0.082085\n"
      "}\n"
      "stage X[M, N] float = image X\n"
      "stage output[M, N] float =\n"
      "    sum($i = -1..1, $j = -2..2 : weights[($i + 1) * 5 + ($j + 2)] * X@[$i,$j]:wrap where $i "
      "* $i +\n"
      "      $j * $j <= 4)\n"
      "output output[M, N] float = output\n" },
    { "original dialect: a call without a border rule places only what it computes", true,
      "stencil f(vector#1 int A) { return A@[-1] + A@[2]; }\n"
      "parameter N;\n"
      "vector#1 int X[N];\n"
      "return ( [..] = X; [..] = f(X); );\n",
      "graph test\n"
      "fp default\n"
      "param N\n"
      "image X[N] int32\n"
      "stage X[N] int32 = image X\n"
      "stage f[N] int32 = X@[-1]:clamp + X@[2]:clamp\n"
      "stage output[N] int32\n"
      "  piece [0] step [1] count [N] = X\n"
      "  piece [1] step [1] count [max(0, N - 3)] = f@[1]\n"
      "output output[N] int32 = output\n" },
};

/* How the printer breaks long lines is not the matter here. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        bool blank = *p == ' ' || *p == '\n';
        if (!blank || (to > text && to[-1] != ' '))
            *to++ = blank ? ' ' : *p;
    }
    *to = 0;
}

static void test_graphs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Front f;
        FrontOptions o = { .name = "test" };
        front_open(&f, CASES[i].program, CASES[i].forma, &o);
        front_must_compile(&f, CASES[i].rule);
        Text t = tessi_text_new(&f.arena);
        tessi_graph_print(f.graph, &t);
        char *graph = tessi_strdup(&f.arena, tessi_text_str(&t));
        char *wanted = tessi_strdup(&f.arena, CASES[i].graph);
        join_lines(graph);
        join_lines(wanted);
        if (strcmp(graph, wanted) != 0)
            print_error("%s\n", CASES[i].rule);
        assert_string_equal(graph, wanted);
        front_close(&f);
    }
}

typedef struct SizeCase {
    const char *expr;
    int64_t n, size;
} SizeCase;

/* FORMA section 16 and LANGUAGE sections 3 and 6, for images of n points. */
static void test_sizes(void **state)
{
    static const SizeCase cases[] = {
        { "X@[(1,2)]", 6, 3 },        { "X@[(1,2)]", 7, 3 },        { "X@[(5,3)]", 6, 2 },
        { "X[2..9]", 6, 4 },          { "X[2..9]", 20, 8 },         { "X[3]", 6, 1 },
        { "X[-3..2]", 6, 3 },         { "X[..][1..]", 6, 5 },       { "X[3..][1..2]", 6, 2 },
        { "up(X)", 6, 12 },           { "late(X)", 6, 8 },          { "none(X:none)", 6, 3 },
        { "halves(X:none)", 8, 2 },   { "halves(X:none)", 9, 3 },   { "halves(X:wrap)", 9, 4 },
        { "pair(X, X[1..3])", 6, 3 }, { "pair(X[1..3], X)", 6, 3 }, { "table(X, X[1..3])", 6, 6 },
        { "disc(X:none)", 9, 5 },     { "histogram(X, 7)", 6, 7 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Front f;
        support_arena_init(&f.arena);
        char *text = tessi_sprintf(
            &f.arena,
            "stencil none(vector#1 float A) { return A@[-1] + A@[2]; }\n"
            "stencil halves(vector#1 float A) { return A@[(-1,2)] + A@[(2,2)]; }\n"
            "stencil pair(vector#1 float A, vector#1 float B) { return A + B; }\n"
            "stencil table(vector#1 float A, vector#1 float B) { return A + B[0]; }\n"
            "stencil disc(vector#1 float A) { return sum(i = -3..3 where i*i < 5 : A@[i]); }\n"
            "vector up(vector#1 float A) { o@[(-1,2)] = A; return o; }\n"
            "vector late(vector#1 float A) { o[2..] = A; return o; }\n"
            "parameter N;\nvector#1 float X[N];\nresult = %s;\nreturn result;\n",
            cases[i].expr);
        Front g;
        front_open(&g, text, false, NULL);
        front_must_compile(&g, text);
        int64_t size = -1;
        assert_true(tessi_size_eval(g.graph, g.graph->outputs.at[0].size[0], &cases[i].n, &size));
        if (size != cases[i].size)
            print_error("%s of %d points\n", cases[i].expr, (int)cases[i].n);
        assert_int_equal(size, cases[i].size);
        front_close(&g);
        tessi_arena_dispose(&f.arena);
    }
}

static void check_limit(const char *text, const FrontOptions *o)
{
    Front f;
    front_open(&f, text, false, o);
    assert_null(f.graph);
    if (f.diags.n_errors != 1 || f.diags.list.at[f.diags.list.n - 1].code != DIAG_LIMIT)
        print_error("%s", front_diags(&f));
    assert_int_equal(f.diags.n_errors, 1);
    assert_int_equal(f.diags.list.at[f.diags.list.n - 1].code, DIAG_LIMIT);
    front_close(&f);
}

static void test_limits(void **state)
{
    (void)state;
    FrontOptions few = { .max_stages = 10, .max_unrolled = 100 };
    check_limit(
        "parameter N;\nvector#1 float X[N];\np<0> = X;\nfor i = 1..20\np<i> = p<i-1> + 1;\nendfor\n"
        "return p<20>;\n",
        &few);
    check_limit("stencil f(vector#1 float A) { return sum(i = 0..200 : A@[i*i]); }\n"
                "parameter N;\nvector#1 float X[N];\nreturn f(X);\n",
                &few);
    check_limit("vector f1(vector#1 any A) { t = mix(mix(mix(A, 1.0, A), 2.0, A), 3.0, A); return "
                "mix(mix(t, t, t), t, t); }\n"
                "parameter N;\nvector#1 float X[N];\np<0> = X;\nfor i = 1..5000\np<i> = "
                "f1(p<i-1>);\nendfor\nreturn p<5>;\n",
                NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
