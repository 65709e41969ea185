/* Inputs of any type by the public interface: instances of a program, what an open one refuses, and who keeps what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tessera.h"

static const char text[] = "stencil f(vector#2 any X) { return sat<typeof(X)>(2.0 * X); }\n"
                           "vector#2 any a;\n"
                           "return f(a);\n";

static tess_program *compile(const tess_typed *types, size_t n, tess_status expected)
{
    tess_options o;
    tess_options_init(&o);
    o.target = TESS_TARGET_INTERP;
    o.types = types;
    o.n_types = n;
    tess_program *p = NULL;
    assert_int_equal(tess_compile(text, strlen(text), "any.tess", &o, &p, NULL), expected);
    return p;
}

static tess_info input_of(const tess_program *p)
{
    tess_info info = { .struct_size = sizeof info };
    assert_int_equal(tess_program_input(p, 0, &info), TESS_OK);
    return info;
}

/* Doubles 200, 3 as elements of one byte. */
static void run(tess_program *p, int ndim)
{
    uint8_t in[] = { 200, 3, 7 };
    int64_t shape[] = { 1, 1, 3 };
    DLTensor t = { .data = in,
                   .device = { kDLCPU, 0 },
                   .ndim = ndim,
                   .dtype = { kDLUInt, 8, 1 },
                   .shape = ndim == 3 ? shape : shape + 1 };
    const DLTensor *out;
    tess_args *a = NULL;
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_int_equal(tess_args_result(a, 0, &out), TESS_OK);
    const uint8_t want[] = { 255, 6, 14 };
    assert_true(out->ndim == ndim && out->dtype.bits == 8);
    assert_memory_equal(out->data, want, 3);
    tess_args_free(a);
}

static void test_instances(void **state)
{
    (void)state;
    tess_program *p = compile(NULL, 0, TESS_OK), *grey, *colour, *again;
    assert_true(input_of(p).is_any);
    const tess_typed bytes = { NULL, { kDLUInt, 8, 1 }, 1 }, pixels = { "a", { kDLUInt, 8, 1 }, 3 };
    assert_int_equal(tess_program_instance(p, &bytes, 1, &grey, NULL), TESS_OK);
    assert_int_equal(tess_program_instance(p, &pixels, 1, &colour, NULL), TESS_OK);
    const tess_typed both[] = { pixels, bytes }; /* the last that fits counts */
    assert_int_equal(tess_program_instance(p, both, 2, &again, NULL), TESS_OK);
    assert_true(grey != colour && grey == again && !input_of(grey).is_any);
    assert_int_equal(input_of(colour).n_channels, 3);
    assert_int_equal(tess_program_instance(grey, &pixels, 1, &again, NULL), TESS_OK);
    assert_ptr_equal(grey, again);
    run(grey, 2);
    run(colour, 3);
    tess_program_free(p);
}

static void test_open_programs_do_not_run(void **state)
{
    (void)state;
    tess_program *p = compile(NULL, 0, TESS_OK), *instance;
    tess_args *a = NULL;
    char *dumped = NULL;
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    float in[1] = { 1 };
    int64_t shape[2] = { 1, 1 };
    DLTensor t = {
        .data = in, .device = { kDLCPU, 0 }, .ndim = 2, .dtype = { kDLFloat, 32, 1 }, .shape = shape
    };
    assert_int_equal(tess_args_image(a, "a", &t), TESS_ERROR_ARGUMENT);
    assert_non_null(strstr(tess_args_error(a), "'a' is not given"));
    assert_int_equal(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_dump(p, NULL, "c", &dumped, NULL), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_program_instance(p, NULL, 0, &instance, NULL), TESS_ERROR_ARGUMENT);
    assert_non_null(strstr(tess_program_error(p), "declared 'any'"));
    const tess_typed odd = { NULL, { kDLUInt, 4, 1 }, 1 }, none = { NULL, { kDLUInt, 8, 1 }, 0 };
    assert_int_equal(tess_program_instance(p, &odd, 1, &instance, NULL), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_program_instance(p, &none, 1, &instance, NULL), TESS_ERROR_ARGUMENT);
    assert_null(instance);
    tess_args_free(a);
    tess_program_free(p);
    compile(&odd, 1, TESS_ERROR_ARGUMENT);
}

static void test_types_of_the_options(void **state)
{
    (void)state;
    const tess_typed bytes = { "a", { kDLUInt, 8, 1 }, 1 };
    tess_program *p = compile(&bytes, 1, TESS_OK);
    assert_false(input_of(p).is_any);
    run(p, 2);
    tess_program_free(p);
}

static void test_a_type_that_does_not_fit(void **state)
{
    (void)state;
    static const char red[] = "vector#2 any a;\nreturn a.r;\n";
    tess_program *p = NULL, *instance;
    tess_diags *d = NULL;
    assert_int_equal(tess_compile(red, strlen(red), "red.tess", NULL, &p, NULL), TESS_OK);
    const tess_typed bytes = { NULL, { kDLUInt, 16, 1 }, 1 };
    assert_int_equal(tess_program_instance(p, &bytes, 1, &instance, &d), TESS_ERROR_PROGRAM);
    assert_non_null(strstr(tess_diags_text(d, 0), "'a' is an image of uint16 here"));
    tess_diags_free(d);
    tess_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_open_programs_do_not_run),
        cmocka_unit_test(test_types_of_the_options),
        cmocka_unit_test(test_a_type_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
