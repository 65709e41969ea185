/* The checker: types of expressions in both dialects, constants, what needs a value, what diagnostics say beyond
 * their place. */
#include "front_testing.h"

#include <stdio.h>

typedef struct TypeCase {
    const char *a, *b; /* element types of two images */
    const char *expr;  /* on A and B */
    const char *type;  /* of the result */
} TypeCase;

static void check_types(const TypeCase *cases, size_t n, bool forma)
{
    for (size_t i = 0; i < n; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "stencil f(vector#1 %s A, vector#1 %s B) { return %s; }\n"
                 "parameter N;\nvector#1 %s X[N];\nvector#1 %s Y[N];\nreturn f(X, Y);\n",
                 cases[i].a, cases[i].b, cases[i].expr, cases[i].a, cases[i].b);
        Front f;
        front_open(&f, text, forma, NULL);
        front_must_compile(&f, text);
        const char *type = tessi_typed_type_name(&f.arena, f.typed->outputs.at[0].value->type);
        if (strcmp(type, cases[i].type) != 0)
            print_error("%s of %s and %s\n", cases[i].expr, cases[i].a, cases[i].b);
        assert_string_equal(type, cases[i].type);
        front_close(&f);
    }
}

static void test_arithmetic(void **state)
{
    static const TypeCase cases[] = {
        { "uint8", "uint8", "A + B", "int32" },     { "int8", "uint16", "A * B", "int32" },
        { "int32", "uint32", "A + B", "uint32" },   { "int64", "uint32", "A + B", "int64" },
        { "int32", "float", "A + B", "float" },     { "float", "double", "A + B", "double" },
        { "float16", "float16", "A + B", "float" }, { "bool", "bool", "A + B", "int32" },
        { "uint8", "uint8", "-A", "int32" },        { "uint8", "uint8", "~A", "int32" },
        { "bool", "bool", "!A", "bool" },           { "bool", "bool", "A & B", "bool" },
        { "bool", "uint8", "A & B", "int32" },      { "uint8", "int64", "A << B", "int32" },
        { "int64", "uint8", "A >> B", "int64" },    { "float", "float", "A % B", "float" },
        { "uint8", "uint8", "A ^ 2", "int32" },     { "float", "float", "A ^ 2", "float" },
        { "uint8", "uint8", "A < B", "bool" },      { "float", "int32", "A == B && B > 0", "bool" },
    };
    (void)state;
    check_types(cases, sizeof cases / sizeof *cases, false);
}

static void test_literals(void **state)
{
    static const TypeCase cases[] = {
        { "float", "float", "A / 3.0", "float" },
        { "double", "double", "A / 3", "double" },
        { "float", "float", "A / 3.0d", "double" },
        { "double", "double", "A * 3.0f", "double" },
        { "uint8", "uint8", "A / 3.0", "float" },
        { "int16", "int16", "A + 0.5", "float" },
        { "bool", "bool", "A + 0.5", "float" },
        { "int32", "int32", "A + 0.5", "double" },
        { "uint32", "uint32", "A * 0.5", "double" },
        { "uint8", "uint8", "A + 1", "int32" },
        { "int32", "int32", "A + 3000000000", "int64" },
        { "uint32", "uint32", "A + 3000000000", "uint32" },
        { "float", "float", "cast<int>(index(0)) * 0.5", "double" },
        { "float", "float", "1 + 1", "int32" },
        { "float", "float", "1 / 2.0", "float" },
        { "uint8", "uint8", "A > 100 ? 1 : 0", "int32" },
        { "double", "double", "(A > 100 ? 0.1 : 0.2) * A", "double" },
        { "float", "float", "sum(i = 0..1 where A@[i] > 0 : 1) * A", "float" },
        { "float", "float", "sum(i = -1..1 : i * 0.5 * A@[i])", "float" },
    };
    (void)state;
    check_types(cases, sizeof cases / sizeof *cases, false);
}

static void test_functions(void **state)
{
    static const TypeCase cases[] = {
        { "uint8", "uint8", "min(A, B)", "uint8" },
        { "uint8", "uint8", "max(A, 255)", "uint8" },
        { "uint8", "uint8", "max(A, 256)", "int32" },
        { "uint8", "uint8", "max(A, -1)", "int32" },
        { "uint8", "int16", "min(A, B)", "int32" },
        { "uint8", "uint8", "clamp(A, 10, 200)", "uint8" },
        { "uint8", "uint8", "clamp(A, 0.5, 200)", "float" },
        { "uint8", "uint8", "A > B ? A : B", "uint8" },
        { "uint8", "uint8", "select(A > B, A, 0)", "uint8" },
        { "int8", "int8", "abs(A)", "int32" },
        { "uint8", "uint8", "abs(A)", "uint8" },
        { "int64", "int64", "abs(A)", "int64" },
        { "uint8", "uint8", "sqrt(A)", "float" },
        { "int32", "int32", "sqrt(A)", "double" },
        { "float16", "float16", "exp(A)", "float" },
        { "uint8", "double", "atan2(A, B)", "double" },
        { "uint8", "float", "hypot(A, 3)", "float" },
        { "float", "float", "isnan(A)", "bool" },
        { "uint8", "uint8", "mix(A, B, 0.5)", "float" },
        { "float", "float", "sqrtf(fabs(A))", "float" },
        { "uint8", "uint8", "cast<int8>(A)", "int8" },
        { "float", "float", "sat<uint8>(A)", "uint8" },
        { "float", "float", "cast<float16>(A)", "float16" },
    };
    (void)state;
    check_types(cases, sizeof cases / sizeof *cases, false);
}

static void test_windows(void **state)
{
    static const TypeCase cases[] = {
        { "uint8", "uint8", "sum(i = -1..1 : A@[i])", "int32" },
        { "uint8", "uint8", "max(i = -1..1 : A@[i])", "uint8" },
        { "uint8", "uint8", "median(i = -1..1 : A@[i])", "uint8" },
        { "uint8", "uint8", "mean(i = -1..1 : A@[i])", "float" },
        { "int32", "int32", "mean(i = -1..1 : A@[i])", "double" },
        { "float", "float", "mean(i = -1..1 : A@[i])", "float" },
        { "bool", "bool", "sum(i = -1..1 : A@[i])", "int32" },
        { "uint8", "uint8", "any(i = -1..1 : A@[i])", "bool" },
        { "float", "float", "all(i = -1..1 : A@[i] > 0)", "bool" },
    };
    (void)state;
    check_types(cases, sizeof cases / sizeof *cases, false);
}

static void test_original_dialect(void **state)
{
    static const TypeCase cases[] = {
        { "int8", "int8", "A + B", "int32" },
        { "int8", "int8", "-A", "uint8" },
        { "int8", "int8", "max(A, B)", "uint8" },
        { "int8", "int16", "max(A, B)", "int16" },
        { "int", "int", "sqrt(A)", "int32" },
        { "float", "float", "A / 3.0", "double" },
        { "float", "float", "A / 3", "float" },
        { "float", "float", "A / 3.0f", "float" },
        { "float", "float", "A < B", "int32" },
        { "int8", "int8", "(A < B ? A : B)", "uint8" },
        { "int8", "float", "(A < B ? A : B)", "float" },
        { "int8", "int8", "cast<int8>(A + B)", "uint8" },
        { "float", "double", "exp(A)", "float" },
    };
    (void)state;
    check_types(cases, sizeof cases / sizeof *cases, true);
}

static void test_structs(void **state)
{
    static const struct {
        const char *expr, *type;
    } cases[] = {
        { "X", "struct p" },
        { "X + 1", "struct p{int32 a, float b}" },
        { "X / 2.0", "struct p{float a, float b}" },
        { "max(X, X)", "struct p" },
        { "median(i = 0..2 : X@[i])", "struct p" },
        { "median(i = 0..2 : cast<float16>(X@[i]))", "struct p{float a, float b}" },
        { "X > 3", "struct p{bool a, bool b}" },
        { "cast<uint8>(X)", "struct p{uint8 a, uint8 b}" },
        { "sat<p>(X * 2)", "struct p" },
        { "X.a", "uint8" },
        { "(X * 2).b", "float" },
        { "mean(X)", "struct p{float a, float b}" },
        { "total(X)", "struct p{int64 a, float b}" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "struct p { uint8 a; float b; }\nparameter N;\nvector#1 p X[N];\nt = %s;\nreturn t;\n",
            cases[i].expr);
        Front f;
        front_open(&f, text, false, NULL);
        front_must_compile(&f, text);
        assert_string_equal(tessi_typed_type_name(&f.arena, f.typed->outputs.at[0].value->type),
                            cases[i].type);
        front_close(&f);
    }
}

/* One instance for equal calls, another for other types, constants or masks; border rules make no difference. */
static void test_instances(void **state)
{
    (void)state;
    Front f;
    front_open(&f,
               "stencil f(vector#1 any A, const int r) { return sum(i = -r..r : A@[i]); }\n"
               "parameter N;\nvector#1 float X[N];\nvector#1 uint8 Y[N];\n"
               "return f(X:wrap, 1), f(X:clamp, 1), f(X, 2), f(Y, 1);\n",
               false, NULL);
    front_must_compile(&f, "instances");
    assert_int_equal(f.typed->instances.n, 3);
    front_close(&f);
}

/* A parameter whose value is needed becomes a constant of the program; without a value it is named, with the image
 * to ask. */
static void test_needed_constants(void **state)
{
    static const char text[] = "parameter N, K;\nvector#1 float X[N];\nmask#1 float w[K];\n"
                               "return convolve(X, w);\n";
    (void)state;
    Front f;
    front_open(&f, text, false, NULL);
    assert_null(f.graph);
    assert_int_equal(f.diags.n_errors, 1);
    assert_int_equal(f.typed->n_missing, 1);
    assert_int_equal(f.typed->constants.n, 1);
    const TConstant *k = &f.typed->constants.at[0];
    assert_string_equal(k->name, "K");
    assert_false(k->known);
    assert_string_equal(k->image, "w");
    assert_int_equal(k->dim, 0);
    front_close(&f);

    FrontConstant five = { "K", 5 };
    FrontOptions o = { .constants = &five, .n_constants = 1 };
    front_open(&f, text, false, &o);
    front_must_compile(&f, text);
    assert_int_equal(f.graph->params.n, 1);
    assert_string_equal(f.graph->params.at[0].name, "N");
    int64_t size;
    assert_true(tessi_size_is_const(f.graph, f.graph->inputs.at[1].size[0], &size));
    assert_int_equal(size, 5);
    front_close(&f);
}

/* A mask is computed in double, whatever the type of the constants in it. */
static void test_mask_coefficients(void **state)
{
    (void)state;
    Front f;
    front_open(
        &f,
        "vector g(vector#1 double A, const float s) { mask m[i = -1..1] = exp(-i*i / (2*s^2)) "
        "normalized;\n"
        "    return convolve(A, m); }\nparameter N;\nvector#1 double X[N];\nreturn g(X, 0.1);\n",
        false, NULL);
    front_must_compile(&f, "mask");
    const TMask *m = f.typed->masks.at[0];
    assert_int_equal(m->n, 3);
    assert_true(m->at[0].f > 0
                && m->at[0].f < 1e-20); /* exp(-50) as a float would be coarser, as an int 0 */
    assert_true(m->at[1].f > 0.999);
    front_close(&f);
}

static void test_typed_print(void **state)
{
    (void)state;
    Front f;
    front_open(&f,
               "stencil f(vector#1 uint8 A, float s) { t = A@[1] * s; return t > 0.5 ? t : 0; }\n"
               "parameter N;\nvector#1 uint8 X[N];\nreturn f(X:wrap, 2);\n",
               false, NULL);
    front_must_compile(&f, "print");
    Text t = tessi_text_new(&f.arena);
    tessi_typed_print(f.typed, &t);
    assert_string_equal(tessi_text_str(&t),
                        "parameter N\n"
                        "input vector#1 uint8 X[N]\n"
                        "return output: vector#1 float = f#1(X:wrap, 2.0f)\n"
                        "\n"
                        "stencil f#1(vector#1 uint8 A, float s) -> vector#1 float\n"
                        "{\n"
                        "    float t = (cast<float>(A@[1]) * s);\n"
                        "    return select((0.5f < t), t, 0.0f);\n"
                        "}\n");
    front_close(&f);
}

/* One cause, one error: what uses a wrong value stays silent. */
static void test_no_cascades(void **state)
{
    (void)state;
    Front f;
    front_open(&f,
               "stencil f(vector#1 float A) { a = A + nowhere; b = a * 2; return b@[1] + a.x; }\n"
               "parameter N;\nvector#1 float X[N];\nt = f(X);\nu = f(t);\nreturn u + t.r;\n",
               false, NULL);
    assert_null(f.graph);
    print_message("%s", f.diags.n_errors == 2 ? "" : front_diags(&f));
    assert_int_equal(f.diags.n_errors, 2); /* `nowhere`, and b@[1] on a local */
    front_close(&f);
}

/* Functions that are never called are checked too. */
static void test_uncalled_functions(void **state)
{
    static const char *const wrong[] = {
        "stencil f(vector#1 float A) { return A + nowhere; }",
        "stencil f(vector#1 float A) { return A & 1; }",
        "stencil f(vector#1 any A) { return A + nowhere; }",
        "stencil f(vector#1 any A, const int r) { return sum(i = -r..r : A@[j]); }",
        "vector f(vector#1 any A) { return nothing(A); }",
        "vector f(vector#1 float A) { t = A + 1; return t.r; }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s\nparameter N;\nvector#1 float X[N];\nreturn X;\n",
                 wrong[i]);
        Front f;
        front_open(&f, text, false, NULL);
        if (f.diags.n_errors != 1)
            print_error("%s\n%s", wrong[i], front_diags(&f));
        assert_int_equal(f.diags.n_errors, 1);
        front_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_functions),         cmocka_unit_test(test_windows),
        cmocka_unit_test(test_original_dialect),  cmocka_unit_test(test_structs),
        cmocka_unit_test(test_instances),         cmocka_unit_test(test_needed_constants),
        cmocka_unit_test(test_mask_coefficients), cmocka_unit_test(test_typed_print),
        cmocka_unit_test(test_no_cascades),       cmocka_unit_test(test_uncalled_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
