/* The parser: how each form is read (by the printed tree), order, recovery, `use`, limits, and the original dialect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "front/ast.h"
#include "support.h"

typedef struct Parsed {
    Arena arena;
    SourceMap sources;
    Diags diags;
    const Ast *ast;
    const char *tree; /* printed */
    int n_reads;      /* of used files */
} Parsed;

/* Used files of the tests. */
static const struct {
    const char *name, *text;
} library[] = {
    { "one", "use \"two\"; stencil one(vector#2 float X) { return X; }" },
    { "two", "use \"one\"; mask m[1] = { 1 }; stencil two(vector#2 float X) { return X; }" },
    { "statement", "stencil f(vector#2 float X) { return X; }\nout = f(X);" },
    { "broken", "stencil f(vector#2 float X) { return X +; }" },
    { "input", "parameter M;" },
};

static const char *read_library(void *user, const char *name, size_t *n)
{
    ((Parsed *)user)->n_reads++;
    for (size_t i = 0; i < sizeof library / sizeof library[0]; i++) {
        if (strcmp(library[i].name, name) == 0) {
            *n = strlen(library[i].text);
            return library[i].text;
        }
    }
    return NULL;
}

static void parse(Parsed *x, const char *text, bool forma)
{
    memset(x, 0, sizeof *x);
    support_arena_init(&x->arena);
    tessi_sources_init(&x->sources, &x->arena);
    tessi_diags_init(&x->diags, &x->arena, &x->sources);
    uint16_t file = tessi_sources_add(&x->sources, "t", text, strlen(text));
    x->ast = tessi_parse(&x->arena, &x->diags, &x->sources, file, forma, read_library, x);
    Text tree = tessi_text_new(&x->arena);
    tessi_ast_print(x->ast, &tree);
    x->tree = tessi_text_str(&tree);
}

static void done(Parsed *x)
{
    tessi_arena_dispose(&x->arena);
}

static void show_and_fail(Parsed *x, const char *text, const char *wanted)
{
    Text out = tessi_text_new(&x->arena);
    tessi_diags_render(&x->diags, &out, false);
    fail_msg("%s\nwanted: %s\ngot: %s%s", text, wanted, x->tree, tessi_text_str(&out));
}

/* The program parses, and this stands in its tree. */
static void assert_tree(const char *text, bool forma, const char *part)
{
    Parsed x;
    parse(&x, text, forma);
    if (x.diags.n_errors || !strstr(x.tree, part))
        show_and_fail(&x, text, part);
    done(&x);
}

static void assert_stencil_expr(const char *expr, const char *printed)
{
    char text[512], wanted[512];
    snprintf(text, sizeof text, "stencil f(vector#2 float a) { return %s; } return f(a);", expr);
    snprintf(wanted, sizeof wanted, " return %s\n", printed);
    assert_tree(text, false, wanted);
}

static void assert_statement(const char *stmt, const char *printed)
{
    char text[512], wanted[512];
    snprintf(text, sizeof text, "%s return a;", stmt);
    snprintf(wanted, sizeof wanted, "1:1  %s\n", printed);
    assert_tree(text, false, wanted);
}

static void assert_forma_expr(const char *expr, const char *printed)
{
    char text[512], wanted[512];
    snprintf(text, sizeof text, "stencil f(vector#2 float a) { return %s; } return f(a);", expr);
    snprintf(wanted, sizeof wanted, " return %s\n", printed);
    assert_tree(text, true, wanted);
}

/* Codes of the errors in order of discovery, separated by blanks. */
static void assert_errors(const char *text, bool forma, const char *codes)
{
    Parsed x;
    parse(&x, text, forma);
    char got[512] = "";
    VEC_FOREACH (Diag, d, &x.diags.list)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", *got ? " " : "",
                 tessi_diag_id(d->code));
    if (strcmp(got, codes) != 0)
        show_and_fail(&x, text, codes);
    done(&x);
}

static void test_precedence(void **state)
{
    (void)state;
    assert_stencil_expr("-a^b", "(-(a ^ b))");
    assert_stencil_expr("a^-b^c", "(a ^ (-(b ^ c)))");
    assert_stencil_expr("a*-b", "(a * (-b))");
    assert_stencil_expr("a - b - c", "((a - b) - c)");
    assert_stencil_expr("a | b xor c & d", "(a | (b xor (c & d)))");
    assert_stencil_expr("a || b && c | d", "(a || (b && (c | d)))");
    assert_stencil_expr("a & b == c < d << e + f * g", "(a & (b == (c < (d << (e + (f * g))))))");
    assert_stencil_expr("!a % ~b", "((!a) % (~b))");
    assert_stencil_expr("a ? b : c ? d : e", "(a ? b : (c ? d : e))");
    assert_stencil_expr("a < b > (c)", "((a < b) > c)");
    assert_stencil_expr("+1 + +a", "(1 + a)");
}

static void test_primaries(void **state)
{
    (void)state;
    assert_stencil_expr("a@[1,(0,2)].r", "a@[1, (0, 2)].r");
    assert_stencil_expr("a@[(1+2),(i,2)]", "a@[(1 + 2), (i, 2)]");
    assert_stencil_expr("a[i, 2*j]", "a[i, (2 * j)]");
    assert_stencil_expr("struct rgb(a, 1., .5f)", "struct rgb(a, 1.0, 0.5f)");
    assert_stencil_expr("cast<uint8>(a) + sat<float>(1e-3)",
                        "(cast<uint8>(a) + sat<float>(0.001))");
    assert_stencil_expr("sat < a", "(sat < a)");
    assert_stencil_expr("true && false", "(true && false)");
    assert_stencil_expr("0x1f + 3d", "(31 + 3.0d)");
}

static void test_windows(void **state)
{
    (void)state;
    assert_stencil_expr("max(i = -1..1, j = -1..1 : a@[i,j])",
                        "max(i = (-1)..1, j = (-1)..1 : a@[i, j])");
    assert_stencil_expr("sum(i = 0..2 where i*i <= 4 ? true : false : i)",
                        "sum(i = 0..2 where (((i * i) <= 4) ? true : false) : i)");
    assert_stencil_expr("sum(i, j in m : m[i,j])", "sum(i, j in m : m[i, j])");
    assert_stencil_expr("sum(i in m, k = 1..2, j in n : 1)", "sum(i in m, k = 1..2, j in n : 1)");
    assert_stencil_expr("max(in, b)", "max(in, b)");
    assert_stencil_expr("min(a, b)", "min(a, b)");
}

static void test_calls_and_borders(void **state)
{
    (void)state;
    assert_statement("o = f(a:mirror, b:[clamp, wrap], c:constant(-7), 2.5);",
                     "assign o = f(a:mirror, b:[clamp, wrap], c:constant((-7)), 2.5)");
    assert_statement("o = f(c ? a : b : mirror);", "assign o = f((c ? a : b):mirror)");
    assert_statement("o = convolve(X, flip(m), dilation = 2);",
                     "assign o = convolve(X, flip(m), dilation = 2)");
    assert_statement("o = f();", "assign o = f()");
}

static void test_images(void **state)
{
    (void)state;
    assert_statement("o = X[1..M-2, ..].r[..3, 4];", "assign o = X[1..(M - 2), ..].r[..3, 4]");
    assert_statement("o = X[3];", "assign o = X[3]");
    assert_statement("o[1.., 3..] = A;", "assign o[1.., 3..] = A");
    assert_statement("o@[(0,2),(0,1)] = A;", "assign o@[(0, 2), (0, 1)] = A");
    assert_statement("o = ( @[(0,2)] = f(A); [2..] = B );",
                     "assign o = ( @[(0, 2)] = f(A); [2..] = B; )");
    assert_statement("o = (a + b) * c;", "assign o = ((a + b) * c)");
    assert_statement("mask[1..] = border;", "assign mask[1..] = border");
}

static void test_families(void **state)
{
    (void)state;
    assert_statement("o<0>=X;", "assign o<0> = X");
    assert_statement("o<i> = f(o<i-1>, o<N>, o<3>);", "assign o<i> = f(o<(i - 1)>, o<N>, o<3>)");
    assert_statement("o = lo < hi ? a : b;", "assign o = ((lo < hi) ? a : b)");
    assert_tree("for i = 4..1 o<i>[1..] = 3; endfor return a;", false,
                "1:1  for i = 4..1\n1:14    assign o<i>[1..] = 3\n");
}

static void test_masks(void **state)
{
    (void)state;
    assert_statement("mask m[1,3] = { -1, 0, 1, } / 2;", "mask m[1, 3] = { (-1), 0, 1 } / 2");
    assert_statement("mask m[3] = { 1, 2, 1 } * 2 / 8 normalized;",
                     "mask m[3] = { 1, 2, 1 } / 8 * 2 normalized");
    assert_statement("mask g[i = -R..R] = exp(-i*i) normalized;",
                     "mask g[i = (-R)..R] = exp(((-i) * i)) normalized");
}

static void test_declarations(void **state)
{
    (void)state;
    assert_tree("parameter M = 5, N; return a;", false,
                "1:11  parameter M = 5\n1:18  parameter N\n");
    assert_statement("vector#3 uint8 X[M, 2*N, 3];", "input vector#3 uint8 X[M, (2 * N), 3]");
    assert_statement("vector#2 struct rgb X[M,N];", "input vector#2 rgb X[M, N]");
    assert_statement("mask#2 float w[17,17];", "input mask#2 float w[17, 17]");
    assert_statement("float t;", "input float t");
    assert_statement("int n = 3 in 1..9;", "input int n = 3 in 1..9");
    assert_statement("const float s = 2.0;", "input const float s = 2.0");
    assert_statement("float s = sqrt(2.0);", "input float s = sqrt(2.0)");
    assert_tree("vector#2 float in[M], out[N]; return a;", false,
                "1:1  input vector#2 float in[M]\n1:23  input vector#2 float out[N]\n");
}

/* The same words are a definition, an input or a statement by where they stand and what they mention. */
static void test_typed_names(void **state)
{
    (void)state;
    assert_statement("float lo = minimum(X);", "assign float lo = minimum(X)");
    Parsed x;
    parse(
        &x,
        "const int R = 3; mask m[R] = { 1 }; stencil f(vector#2 float X) { return X; }"
        " const int S = 3; const int T = S; vector#2 float X[T, S]; o = X; float u = 2; return o;",
        false);
    assert_int_equal(x.diags.n_errors, 0);
    assert_int_equal(x.ast->constants.n, 2);
    assert_int_equal(x.ast->decls.n, 2);
    assert_int_equal(x.ast->body.n, 3);
    done(&x);
}

static void test_definitions(void **state)
{
    (void)state;
    assert_tree(
        "struct rgb { uint8 r; uint8 g, b; }; return a;", false,
        "1:1  struct rgb\n1:20    field uint8 r\n1:29    field uint8 g\n1:32    field uint8 b\n");
    assert_tree(
        "vector f(vector#2 any A, const float s, rgb p) { t = g(A); return h(t), t; } return a;",
        false,
        "1:1  vector f\n1:10    argument vector#2 any A\n1:26    argument const float s\n"
        "1:41    argument rgb p\n1:50    assign t = g(A)\n1:60    return h(t), t\n");
    assert_tree("border [clamp, constant(1)]; return a;", false,
                "1:1  border [clamp, constant(1)]\n");
    assert_tree("stencil f(vector#2 float X) { const R = 2; float t = X; return t; } return a;",
                false, "assign const R = 2\n1:44    assign float t = X\n");
}

static void test_original_dialect(void **state)
{
    (void)state;
    assert_forma_expr("a == b < c", "((a == b) < c)");
    assert_forma_expr("a < b + c * -d", "(a < (b + (c * (-d))))");
    assert_forma_expr("( a ? b : c )", "(a ? b : c)");
    assert_forma_expr("max(a, sum)", "max(a, sum)");
    assert_tree("struct float4; return a;", true, "struct float4 predeclared\n");
    assert_tree("o<1>@[(1,2),3] = f(X:constant(3)); return o<1>;", true,
                "assign o<1>@[(1, 2), 3] = f(X:constant(3))\n");
    assert_tree("mask = xor; return mask;", true, "assign mask = xor\n");
    assert_errors("float t = 3.0; return a;", true, "UNEXPECTED");
    assert_errors("return a, b;", true, "ONE_RESULT");
    assert_errors("return f(a) && b;", true, "NOT_IN_FORMA");
    assert_errors("stencil f(vector#2 int a) { return a^2; } return f(a);", true, "NOT_IN_FORMA");
}

static void test_recovery(void **state)
{
    (void)state;
    assert_errors("a = ; b = X; c = ); return b;", false, "UNEXPECTED UNEXPECTED");
    assert_errors("a = X\nb = a\nreturn b;", false, "UNEXPECTED UNEXPECTED");
    assert_errors("stencil f(vector#2 float X { a = X +; return a; } return a;", false,
                  "UNEXPECTED UNEXPECTED");
    assert_errors("a = ( @[(0,2)] = X Y; @[(1,2)] = Z; ); return b;", false, "UNEXPECTED");
    assert_errors("for i = 1.4 x<i> = 3; endfor return b;", false, "UNEXPECTED");
    assert_errors("stencil f(vector#2 float X) { retrun X; } return b;", false, "UNKNOWN_WORD");
    assert_errors("mask m[2] = { 1, 2 3 }; return b;", false, "UNEXPECTED");
    assert_errors("mask m[2,1] = { {1}, {2} }; return b;", false, "UNEXPECTED");
    assert_errors("struct rgb { uint8 ; uint8 g; } a = X; return b;", false, "UNEXPECTED");
    assert_errors("mask m[1] = { ; } normalized; return b;", false, "UNEXPECTED");
    assert_errors("} return b;", false, "UNEXPECTED");
    assert_errors("endfor return b;", false, "UNEXPECTED");
    assert_errors("float return = 3; return b;", false, "UNEXPECTED");
    assert_errors("", false, "MISSING_RETURN");
    Parsed x;
    parse(&x, "a = ; b = X; c = ); d = Y; return b;", false);
    assert_int_equal(x.ast->body.n, 2);
    assert_int_equal(x.ast->result.n, 1);
    done(&x);
}

static void test_at_most_twenty_errors(void **state)
{
    (void)state;
    char text[2000] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "a = ;\n");
    Parsed x;
    parse(&x, text, false);
    assert_int_equal(x.diags.n_errors, 20);
    done(&x);
}

static void test_use(void **state)
{
    (void)state;
    Parsed x;
    parse(&x, "use \"one\"; use \"two\"; stencil f(vector#2 float X) { return X; } return f(A);",
          false);
    assert_int_equal(x.diags.n_errors, 0);
    assert_int_equal(x.n_reads, 2);
    assert_int_equal(x.ast->functions.n, 3);
    assert_string_equal(x.ast->functions.at[0]->name.text, "two");
    assert_string_equal(x.ast->functions.at[1]->name.text, "one");
    assert_ptr_equal(x.ast->functions.at[0]->args.at[0].name.text,
                     x.ast->functions.at[2]->args.at[0].name.text); /* interned */
    assert_non_null(strstr(x.tree, "two.tess:1:31  stencil two\n"));
    done(&x);
    assert_errors("use \"statement\"; return a;", false, "USE_NOT_DEFINITION");
    assert_errors("use \"input\"; return a;", false, "USE_NOT_DEFINITION");
    assert_errors("use \"broken\"; return a;", false, "UNEXPECTED");
    assert_errors("use \"none\"; return a;", false, "UNKNOWN_USE");
    assert_errors("use filters; return a;", false, "UNEXPECTED");
}

static void test_order(void **state)
{
    (void)state;
    const char *f = "stencil f(vector#2 float X) { return X; } ";
    char text[512];
    snprintf(text, sizeof text, "a = X; parameter M; parameter N; %s %s return a;", f, f);
    assert_errors(text, true, "WRONG_ORDER WRONG_ORDER"); /* once for each kind */
    assert_errors(text, false, "");
}

/* Deep or long input is refused, not followed to the end of the stack. */
static void test_limits(void **state)
{
    (void)state;
    static char text[400000];
    static const struct {
        const char *begin, *repeated, *end;
        int times;
    } deep[] = {
        { "a = ", "(", "", 5000 },
        { "a = ", "-", "X; return a;", 5000 },
        { "a = ", "f(", "", 5000 },
        { "a = X", "[X", "", 5000 },
        { "a = ", "(@[1] = ", "", 5000 },
        { "", "for i = 1..2 ", "", 5000 },
        { "a = ", "b ? c : ", "d; return a;", 5000 },
        { "a = ", "b ^ ", "c; return a;", 5000 },
        { "a = b", " + b", "; return a;", 5000 },
        { "a = b", ".r", "; return a;", 5000 },
        { "a = b", "@[1]", "; return a;", 5000 },
    };
    for (size_t i = 0; i < sizeof deep / sizeof deep[0]; i++) {
        char *p = text + sprintf(text, "%s", deep[i].begin);
        for (int k = 0; k < deep[i].times; k++)
            p += sprintf(p, "%s", deep[i].repeated);
        sprintf(p, "%s", deep[i].end);
        Parsed x;
        parse(&x, text, false);
        if (!x.diags.n_errors || x.diags.list.at[0].code != DIAG_LIMIT)
            show_and_fail(&x, deep[i].repeated, "LIMIT");
        done(&x);
    }
    char *p = text + sprintf(text, "a = b");
    for (int k = 0; k < 900; k++)
        p += sprintf(p, " + b");
    sprintf(p, "; return a;");
    assert_errors(text, false, ""); /* a long sum is no offence */
}

/* Of a library, what a program reaches by name; lines and columns stay. */
static void test_what_is_named(void **state)
{
    (void)state;
    static const char program[] = "use \"lib\"; out = first(X); // second is a comment";
    static const char text[] = "const float c = third(2);\n"
                               "mask m[1] = { 1 } / fifth(3);\n"
                               "// second { comment\n"
                               "stencil first(vector#2 float X) { return sixth(X); }\n"
                               "stencil second(vector#2 float X) {\n    return first(X);\n}\n"
                               "float third(float x) { return x; }\n"
                               "struct pair { float a; float b; }\n"
                               "stencil sixth(vector#1 float X) { /* } */ return seventh(X); }\n"
                               "stencil fourth(float x) { return third(x); } float fifth(int i)\n"
                               "{ return i; }\n"
                               "stencil seventh(vector#1 float X) { return c * X; }\n"
                               "stencil seventh(vector#2 float X) { return m[0] * X; }\n";
    static const char kept[] = "const float c = third(2);\n"
                               "mask m[1] = { 1 } / fifth(3);\n"
                               "// second { comment\n"
                               "stencil first(vector#2 float X) { return sixth(X); }\n"
                               "                                  \n                    \n \n"
                               "float third(float x) { return x; }\n"
                               "struct pair { float a; float b; }\n"
                               "stencil sixth(vector#1 float X) { /* } */ return seventh(X); }\n"
                               "                                             float fifth(int i)\n"
                               "{ return i; }\n"
                               "stencil seventh(vector#1 float X) { return c * X; }\n"
                               "stencil seventh(vector#2 float X) { return m[0] * X; }\n";
    Arena a;
    SourceMap sources;
    support_arena_init(&a);
    tessi_sources_init(&sources, &a);
    tessi_sources_add(&sources, "t", program, strlen(program));
    assert_string_equal(tessi_use_named(&a, &sources, text, strlen(text)), kept);
    assert_string_equal(tessi_use_named(&a, &sources, "", 0), "");
    /* What is not whole is left to the parser. */
    static const char *const broken[] = { "stencil second(vector#2 float X) { return",
                                          "second(",
                                          "\"",
                                          "/*",
                                          "}",
                                          "stencil second(float x) { /* }" };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_string_equal(tessi_use_named(&a, &sources, broken[i], strlen(broken[i])), broken[i]);
    tessi_arena_dispose(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_primaries),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_calls_and_borders),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_typed_names),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_original_dialect),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_at_most_twenty_errors),
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_what_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
