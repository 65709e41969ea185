/* What callers ask before a run: the shape of a result, and how far an input reaches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tessera.h"

static tess_program *compile(const char *text)
{
    tess_options o;
    tess_options_init(&o);
    o.target = TESS_TARGET_INTERP;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    if (tess_compile(text, strlen(text), "test.tess", &o, &p, &d) != TESS_OK)
        fail_msg("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static tess_reach reach_of(tess_program *p, const char *name)
{
    tess_reach r = { .struct_size = sizeof r };
    assert_int_equal(tess_program_reach(p, NULL, name, &r), TESS_OK);
    return r;
}

static void expect(const tess_reach *r, int d, int64_t before, int64_t after)
{
    assert_int_equal(r->any[d], 0);
    assert_int_equal(r->before[d], before);
    assert_int_equal(r->after[d], after);
}

static void test_reach_adds_up_along_a_chain(void **state)
{
    (void)state;
    tess_program *p =
        compile("stencil f(vector#2 float X) { return X@[-2, 0] + X@[1, 0] + X@[0, 3]; }\n"
                "stencil g(vector#2 float X, vector#2 float Y) { return X@[0, -1] + Y; }\n"
                "parameter M, N;\nvector#2 float a[M, N];\nvector#2 float b[M, N];\n"
                "t = f(a:mirror);\nu = f(t);\nreturn g(u, b);\n");
    const tess_reach a = reach_of(p, "a"), b = reach_of(p, "b");
    assert_int_equal(a.ndim, 2);
    assert_false(a.placed);
    expect(&a, 0, 4, 2);
    expect(&a, 1, 1, 6);
    expect(&b, 0, 0, 0);
    expect(&b, 1, 0, 0);
    tess_program_free(p);
}

/* Each program reads dimension 0 from afar and dimension 1 nearby. */
static void test_reach_without_bound(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "stencil f(vector#2 float X) { return X@[-1, 1]; }\nparameter M, N;\nvector#2 float a[M, "
        "N];\nreturn f(a:[wrap, clamp]);\n",
        "stencil f(vector#2 float X) { return X@[(0, 2), (1, 1)]; }\nparameter M, N;\nvector#2 "
        "float a[M, N];\nreturn f(a);\n",
        "stencil f(vector#2 float X) { return X@[0, 1]; }\nparameter M, N;\nvector#2 float a[M, "
        "N];\nb = f(a);\n"
        "out[2.., 0..] = b;\nreturn out;\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tess_program *p = compile(texts[i]);
        const tess_reach r = reach_of(p, "a");
        assert_true(r.any[0]);
        expect(&r, 1, 0, 1);
        tess_program_free(p);
    }
    tess_program *p =
        compile("stencil f(vector#2 float X, float m) { return X - m; }\nparameter M, N;\n"
                "vector#2 float a[M, N];\nm = mean(a);\nreturn f(a, m);\n");
    const tess_reach r = reach_of(p, "a");
    assert_true(r.any[0] && r.any[1]);
    tess_program_free(p);
}

/* What goes along a dimension needs all of it, and of others the point. */
static void test_reach_along_a_dimension(void **state)
{
    (void)state;
    static const char *const texts[] = { "cumulate(a, 0)", "recursive(a:clamp, 0, 0.5, 0.5)",
                                         "cumulate(a, 0, x, y : max(x, y), 0) + a" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "parameter M, N;\nvector#2 float a[M, N];\nb = %s;\nreturn b@[0, 1];\n", texts[i]);
        tess_program *p = compile(text);
        const tess_reach r = reach_of(p, "a");
        assert_true(r.any[0]);
        assert_int_equal(r.any[1], 0);
        assert_int_equal(r.after[1], 1);
        tess_program_free(p);
    }
    tess_program *p = compile("parameter M, N;\nvector#2 float a[M, N];\nreturn sum(a, 1);\n");
    const tess_reach r = reach_of(p, "a");
    assert_true(r.any[1]);
    expect(&r, 0, 0, 0);
    tess_program_free(p);
}

static void test_reach_says_what_is_placed(void **state)
{
    (void)state;
    tess_program *p = compile("stencil f(vector#1 float X) { return X * index(0); }\nparameter "
                              "N;\nvector#1 float a[N];\nreturn f(a);\n");
    assert_true(reach_of(p, "a").placed);
    tess_reach r = { .struct_size = sizeof r };
    assert_int_equal(tess_program_reach(p, NULL, "b", &r), TESS_ERROR_ARGUMENT);
    assert_non_null(strstr(tess_program_error(p), "'b'"));
    assert_int_equal(tess_program_reach(p, NULL, "N", &r), TESS_ERROR_ARGUMENT);
    r.struct_size = 1;
    assert_int_equal(tess_program_reach(p, NULL, "a", &r), TESS_ERROR_ARGUMENT);
    tess_program_free(p);
}

static void test_shape_is_that_of_the_result(void **state)
{
    (void)state;
    tess_program *p =
        compile("struct rgb { uint8 r; uint8 g; uint8 b; }\nstruct two { float x; uint8 y; }\n"
                "stencil f(vector#2 rgb X) { return X@[-1, 2].r; }\n"
                "parameter M, N;\nvector#2 rgb a[M, N];\nvector#2 two b[M, N];\n"
                "top = maximum(a.g);\nreturn f(a:none), a, b, top;\n");
    tess_args *args = NULL;
    assert_int_equal(tess_args_new(p, &args), TESS_OK);
    int64_t shape[TESS_MAX_SHAPE], in[3] = { 7, 9, 3 }, in_b[3] = { 7, 9, 5 };
    int n = -1;
    assert_int_equal(tess_result_shape(p, args, 0, &n, shape), TESS_ERROR_ARGUMENT);
    uint8_t pixels[7 * 9 * 5] = { 0 };
    DLTensor a = {
        .data = pixels, .device = { kDLCPU, 0 }, .ndim = 3, .dtype = { kDLUInt, 8, 1 }, .shape = in
    };
    DLTensor b = a;
    b.shape = in_b;
    assert_int_equal(tess_args_image(args, "a", &a), TESS_OK);
    assert_int_equal(tess_args_image(args, "b", &b), TESS_OK);
    static const int64_t want[4][4] = { { 2, 6, 7 }, { 3, 7, 9, 3 }, { 3, 7, 9, 5 }, { 1, 1 } };
    if (tess_run(p, args, NULL) != TESS_OK)
        fail_msg("%s", tess_args_error(args));
    for (size_t o = 0; o < 4; o++) {
        const DLTensor *made;
        assert_int_equal(tess_result_shape(p, args, o, &n, shape), TESS_OK);
        assert_int_equal(n, want[o][0]);
        assert_int_equal(tess_args_result(args, o, &made), TESS_OK);
        assert_int_equal(n, made->ndim);
        for (int d = 0; d < n; d++)
            assert_true(shape[d] == want[o][d + 1] && shape[d] == made->shape[d]);
    }
    assert_int_equal(tess_result_shape(p, args, 4, &n, shape), TESS_ERROR_ARGUMENT);
    tess_args_free(args);
    tess_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reach_adds_up_along_a_chain),
        cmocka_unit_test(test_reach_without_bound),
        cmocka_unit_test(test_reach_along_a_dimension),
        cmocka_unit_test(test_reach_says_what_is_placed),
        cmocka_unit_test(test_shape_is_that_of_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
