/* The public interface: signatures, binding and its refusals, results in the caller's memory, constants that compile
 * again. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera.h"

static const char scale_text[] = "stencil f(vector#2 float X, float s) { return X * s; }\n"
                                 "parameter M, N;\n"
                                 "vector#2 float a[M, N];\n"
                                 "float s = 2.0;\n"
                                 "int n in 1..9;\n"
                                 "return f(a, s + n);\n";

static tess_program *compile(const char *text, tess_target target)
{
    tess_options o;
    tess_options_init(&o);
    o.target = target;
    tess_program *p = NULL;
    tess_diags *d = NULL;
    tess_status status = tess_compile(text, strlen(text), "test.tess", &o, &p, &d);
    if (status != TESS_OK)
        fail_msg("%s", tess_diags_text(d, 0));
    tess_diags_free(d);
    return p;
}

static DLTensor tensor(void *data, int64_t *shape, int ndim)
{
    return (DLTensor){ .data = data,
                       .device = { kDLCPU, 0 },
                       .ndim = ndim,
                       .dtype = { kDLFloat, 32, 1 },
                       .shape = shape };
}

static tess_args *args_of(const tess_program *p)
{
    tess_args *a = NULL;
    assert_int_equal(tess_args_new(p, &a), TESS_OK);
    return a;
}

static void test_signature(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_INTERP);
    assert_int_equal(tess_program_inputs(p), 5);
    assert_int_equal(tess_program_outputs(p), 1);
    tess_info info = { .struct_size = sizeof info };
    assert_int_equal(tess_program_input(p, 0, &info), TESS_OK);
    assert_string_equal(info.name, "M");
    assert_int_equal(info.kind, TESS_PARAMETER);
    assert_int_equal(tess_program_input(p, 2, &info), TESS_OK);
    assert_string_equal(info.name, "a");
    assert_int_equal(info.kind, TESS_IMAGE);
    assert_int_equal(info.ndim, 2);
    assert_int_equal(tess_program_input(p, 3, &info), TESS_OK);
    assert_true(info.has_default && info.value == 2.0 && !info.is_const);
    assert_int_equal(tess_program_input(p, 4, &info), TESS_OK);
    assert_true(!info.has_default && info.has_range && info.lo == 1 && info.hi == 9);
    assert_int_equal(tess_program_input(p, 5, &info), TESS_ERROR_ARGUMENT);
    tess_program_free(p);
}

static void test_run_with_strided_rows(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_INTERP);
    tess_args *a = args_of(p);
    float in[2][4] = { { 1, 2, 3, -1 }, { 4, 5, 6, -1 } }, out[2][5];
    memset(out, 0, sizeof out);
    int64_t shape[2] = { 2, 3 }, in_strides[2] = { 4, 1 }, out_strides[2] = { 5, 1 };
    DLTensor ti = tensor(in, shape, 2), to = tensor(out, shape, 2);
    ti.strides = in_strides;
    to.strides = out_strides;
    assert_int_equal(tess_args_image(a, "a", &ti), TESS_OK);
    assert_int_equal(tess_args_scalar(a, "n", 1), TESS_OK);
    assert_int_equal(tess_args_output(a, 0, &to), TESS_OK);
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_true(out[0][0] == 3 && out[1][2] == 18 && out[0][3] == 0 && out[1][4] == 0);
    assert_int_equal(tess_verify(p, a), TESS_OK);
    out[1][1] = 0; /* a wrong pixel is found and named */
    assert_int_equal(tess_verify(p, a), TESS_ERROR_INTERNAL);
    assert_non_null(strstr(tess_args_error(a), "[1, 1"));
    tess_args_free(a);
    tess_program_free(p);
}

static void refuse(tess_status status, tess_status wanted, const tess_args *a, const char *word)
{
    assert_int_equal(status, wanted);
    if (!strstr(tess_args_error(a), word))
        fail_msg("'%s' does not mention '%s'", tess_args_error(a), word);
}

/* The sentence is about the last call: none stays behind one that succeeded, or that fails for another reason. */
static void test_sentences_are_of_the_last_call(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_INTERP),
                 *other = compile(scale_text, TESS_TARGET_INTERP);
    tess_args *a = args_of(p);
    float in[3] = { 1, 2, 3 };
    int64_t shape[2] = { 1, 3 };
    DLTensor t = tensor(in, shape, 2);
    refuse(tess_args_scalar(a, "m", 1), TESS_ERROR_ARGUMENT, a, "'m'");
    refuse(tess_args_image(a, "a", &t), TESS_OK, a, "");
    assert_string_equal(tess_args_error(a), "");
    refuse(tess_args_scalar(a, "n", 11), TESS_ERROR_ARGUMENT, a, "1..9");
    refuse(tess_args_image(a, "a", NULL), TESS_ERROR_ARGUMENT, a, "no tensor for 'a'");
    refuse(tess_args_output(a, 7, NULL), TESS_ERROR_ARGUMENT, a, "number 7");
    refuse(tess_args_scalar(a, "n", 2), TESS_OK, a, "");
    assert_string_equal(tess_args_error(a), "");
    refuse(tess_run(other, a, NULL), TESS_ERROR_ARGUMENT, a, "another program");
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_string_equal(tess_args_error(a), "");
    char *text = NULL;
    assert_int_equal(tess_dump(p, NULL, "nowhere", &text, NULL), TESS_ERROR_ARGUMENT);
    assert_non_null(strstr(tess_program_error(p), "nowhere"));
    assert_int_equal(tess_dump(p, NULL, "graph", &text, NULL), TESS_OK);
    assert_string_equal(tess_program_error(p), "");
    tess_text_free(text);
    tess_args_free(a);
    tess_program_free(p);
    tess_program_free(other);
}

/* A result that overlaps itself would be written by several threads; an input may. */
static void test_memory_that_overlaps_itself(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_INTERP);
    tess_args *a = args_of(p);
    float in[3] = { 1, 2, 3 }, out[30] = { 0 };
    int64_t shape[2] = { 3, 3 };
    const int64_t wrong[][2] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { -2, 1 }, { INT64_MIN, 1 } };
    int64_t strides[2] = { 0, 1 };
    DLTensor ti = tensor(in, shape, 2), to = tensor(out, shape, 2);
    ti.strides = to.strides = strides;
    assert_int_equal(tess_args_image(a, "a", &ti), TESS_OK);
    assert_int_equal(tess_args_scalar(a, "n", 1), TESS_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(strides, wrong[i], sizeof strides);
        refuse(tess_args_output(a, 0, &to), TESS_ERROR_ARGUMENT, a, "result");
    }
    strides[0] = -3; /* the rows from the last to the first */
    to.byte_offset = 6 * sizeof *out;
    assert_int_equal(tess_args_output(a, 0, &to), TESS_OK);
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_true(out[6] == out[0] && out[7] == out[1] && out[8] == out[2] && out[2] == 9);
    strides[0] = 0; /* one row is no overlap */
    shape[0] = 1;
    assert_int_equal(tess_args_output(a, 0, &to), TESS_OK);
    tess_args_free(a);
    tess_program_free(p);
}

/* Generated code reads elements where their type says that they lie. */
static void test_memory_off_its_elements(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_INTERP);
    tess_args *a = args_of(p);
    float memory[16];
    int64_t shape[2] = { 3, 3 };
    DLTensor t = tensor(memory, shape, 2);
    for (t.byte_offset = 1; t.byte_offset < 4; t.byte_offset++) {
        refuse(tess_args_image(a, "a", &t), TESS_ERROR_ARGUMENT, a, "4 bytes");
        refuse(tess_args_output(a, 0, &t), TESS_ERROR_ARGUMENT, a, "4 bytes");
    }
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    t.data = (char *)memory + 2;
    refuse(tess_args_image(a, "a", &t), TESS_ERROR_ARGUMENT, a, "4 bytes");
    t.byte_offset = 6; /* what counts is the sum */
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    tess_args_free(a);
    tess_program_free(p);
}

static void test_library_owned_results(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_LOOPS);
    tess_args *a = args_of(p);
    const DLTensor *result;
    assert_int_equal(tess_args_result(a, 0, &result), TESS_ERROR_ARGUMENT);
    float in[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    int64_t shape[2] = { 3, 4 }, other[2] = { 2, 2 };
    DLTensor t = tensor(in, shape, 2);
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    assert_int_equal(tess_args_scalar(a, "n", 1), TESS_OK);
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
    assert_true(result->shape[0] == 3 && result->shape[1] == 4
                && ((float *)result->data)[11] == 36);
    t.shape = other; /* another size with the same args */
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    assert_int_equal(tess_run(p, a, NULL), TESS_OK);
    assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
    assert_true(result->shape[0] == 2 && result->shape[1] == 2);
    tess_args_free(a);
    tess_program_free(p);
}

/* Results whose rows are whole KiB begin elsewhere in a page than the image, at a line. */
static void test_places_of_results(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_VM);
    tess_args *a = args_of(p);
    int64_t shape[2] = { 64, 512 };
    float *in = calloc((size_t)(shape[0] * shape[1]) + 5, sizeof *in);
    assert_non_null(in);
    for (size_t i = 0; i < 5; i++) {
        DLTensor t = tensor(in + i, shape, 2);
        assert_int_equal(tess_args_output(a, 0, NULL), TESS_OK);
        assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
        assert_int_equal(tess_args_scalar(a, "n", 1), TESS_OK);
        assert_int_equal(tess_run(p, a, NULL), TESS_OK);
        const DLTensor *result;
        assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
        const uintptr_t to = (uintptr_t)result->data, from = (uintptr_t)t.data;
        assert_true(to % 64 == 0 && (to - from) % 4096 > 1000 && (to - from) % 4096 <= 1088);
    }
    tess_args_free(a);
    tess_program_free(p);
    free(in);
}

/* One tess_args for images of growing and shrinking sizes: its workspace grows, and what earlier runs left in it
 * does not matter. */
static void test_runs_keep_their_memory(void **state)
{
    (void)state;
    static const char text[] =
        "stencil bx(vector#2 float X) { return X@[0,-1] + X@[0,1]; }\n"
        "stencil by(vector#2 float X) { return median(i = -1..1, j = -1..1 : X@[i,j]); }\n"
        "parameter M, N;\nvector#2 float a[M, N];\n"
        "b = by(a:mirror);\nc = by(b:clamp);\nd = by(c:wrap);\ne = maximum(d);\n"
        "return bx(d:clamp) * e;\n";
    tess_program *p = compile(text, TESS_TARGET_C);
    tess_args *a = args_of(p);
    static const int64_t sizes[][2] = {
        { 7, 5 }, { 80, 700 }, { 3, 1 }, { 200, 301 }, { 80, 700 }
    };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        DLTensor *t = NULL;
        char path[64];
        snprintf(path, sizeof path, "random:%zu:%dx%d", k, (int)sizes[k][0], (int)sizes[k][1]);
        assert_int_equal(tess_image_read(path, NULL, &t, NULL, 0), TESS_OK);
        assert_int_equal(tess_args_image(a, "a", t), TESS_OK);
        assert_int_equal(tess_run(p, a, NULL), TESS_OK);
        assert_int_equal(tess_verify(p, a), TESS_OK);
        tess_image_free(t);
    }
    tess_args_free(a);
    tess_program_free(p);
}

static void test_refusals(void **state)
{
    (void)state;
    tess_program *p = compile(scale_text, TESS_TARGET_INTERP);
    tess_args *a = args_of(p);
    float in[12] = { 0 };
    int64_t shape[3] = { 3, 4, 1 }, empty[2] = { 0, 4 }, columns[2] = { 4, 2 };
    DLTensor t = tensor(in, shape, 2), bad = t;
    refuse(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT, a, "'a'");
    refuse(tess_args_image(a, "b", &t), TESS_ERROR_ARGUMENT, a, "'b'");
    refuse(tess_args_image(a, "s", &t), TESS_ERROR_ARGUMENT, a, "number");
    refuse(tess_args_scalar(a, "a", 1), TESS_ERROR_ARGUMENT, a, "image");
    refuse(tess_args_scalar(a, "n", 10), TESS_ERROR_ARGUMENT, a, "1..9");
    refuse(tess_args_scalar(a, "n", 2.5), TESS_ERROR_ARGUMENT, a, "int32");
    bad.dtype.bits = 64;
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_ARGUMENT, a, "double");
    bad = tensor(in, shape, 3);
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_ARGUMENT, a, "dimensions");
    bad = tensor(in, empty, 2);
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_ARGUMENT, a, "size 0");
    bad = tensor(NULL, shape, 2);
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_ARGUMENT, a, "no data");
    bad = t;
    bad.shape = NULL;
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_ARGUMENT, a, "no shape");
    bad = t;
    bad.device.device_type = kDLCUDA;
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_DEVICE, a, "device");
    bad = t;
    bad.strides = columns;
    refuse(tess_args_image(a, "a", &bad), TESS_ERROR_ARGUMENT, a, "stride");

    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    refuse(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT, a, "n=VALUE");
    assert_int_equal(tess_args_scalar(a, "n", 1), TESS_OK);
    assert_int_equal(tess_args_output(a, 0, &t), TESS_OK);
    refuse(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT, a, "overlaps");
    refuse(tess_args_output(a, 7, &t), TESS_ERROR_ARGUMENT, a, "7");
    float out[20];
    int64_t wrong[2] = { 4, 5 };
    DLTensor o = tensor(out, wrong, 2);
    assert_int_equal(tess_args_output(a, 0, &o), TESS_OK);
    refuse(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT, a, "has 3");
    tess_args_free(a);
    tess_program_free(p);
}

static void test_constants_compile_again(void **state)
{
    (void)state;
    tess_program *p =
        compile("stencil f(vector#1 float X, const int r) { return sum(i = -r..r : X@[i]); }\n"
                "parameter N;\nvector#1 float a[N];\nconst int r = 1;\nreturn f(a:constant, r);\n",
                TESS_TARGET_INTERP);
    tess_args *a = args_of(p);
    float in[5] = { 1, 1, 1, 1, 1 };
    int64_t shape[1] = { 5 };
    DLTensor t = tensor(in, shape, 1);
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    const double radius[] = { -1, 2, 0, 1, 2 }, want[] = { 3, 5, 1, 3, 5 };
    for (int i = 0; i < 5; i++) {
        if (radius[i] >= 0)
            assert_int_equal(tess_args_scalar(a, "r", radius[i]), TESS_OK);
        assert_int_equal(tess_run(p, a, NULL), TESS_OK);
        const DLTensor *result;
        assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
        assert_true(((float *)result->data)[2] == (float)want[i]);
    }
    tess_args_free(a);
    tess_program_free(p);
}

/* The extent of a mask is known only when the mask is given; the program is compiled then. */
static void test_mask_of_open_size(void **state)
{
    (void)state;
    tess_program *p = compile(
        "stencil f(vector#1 float X, mask#1 float m) { return convolve(X, m); }\n"
        "parameter N, K;\nvector#1 float a[N];\nmask#1 float w[K];\nreturn f(a:constant, w);\n",
        TESS_TARGET_INTERP);
    for (int k = 1; k <= 5; k += 2) {
        tess_args *a = args_of(p);
        float in[4] = { 1, 1, 1, 1 }, w[5] = { 1, 1, 1, 1, 1 };
        int64_t shape[1] = { 4 }, extent[1] = { k };
        DLTensor t = tensor(in, shape, 1), m = tensor(w, extent, 1);
        assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
        assert_int_equal(tess_args_image(a, "w", &m), TESS_OK);
        if (tess_run(p, a, NULL) != TESS_OK)
            fail_msg("%s", tess_args_error(a));
        const DLTensor *result;
        assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
        assert_true(((float *)result->data)[0] == (float)(k / 2 + 1));
        tess_args_free(a);
    }
    tess_program_free(p);
}

/* Whether the program is compiled for the number of channels that the images of the arguments have. */
static bool knows_channels(tess_program *p, const tess_args *a)
{
    char *text = NULL;
    tess_diags *d = NULL;
    assert_int_equal(tess_dump(p, a, "graph", &text, &d), TESS_OK);
    const bool knows = !strstr(text, "N, C");
    tess_text_free(text);
    tess_diags_free(d);
    return knows;
}

static void test_channels_last(void **state)
{
    (void)state;
    tess_program *p = compile(
        "stencil f(vector#3 float X, vector#1 float G) { return G[index(2)] * X + size(X, 2); }\n"
        "parameter M, N, C;\nvector#3 float a[M, N, C];\nvector#1 float g[C];\n"
        "return f(a, g);\n",
        TESS_TARGET_LOOPS);
    tess_args *a = args_of(p);
    static float in[300 * 300 * 3];
    float gain[5] = { 1, 2, 3, 4, 5 };
    for (int i = 0; i < 300 * 300 * 3; i++)
        in[i] = (float)(i % 1000);
    const int64_t shapes[][3] = { { 300, 300, 3 }, { 3, 4, 3 }, { 200, 70, 5 }, { 2, 3, 4 } };
    for (int k = 0; k < 4; k++) {
        int64_t shape[3] = { shapes[k][0], shapes[k][1], shapes[k][2] }, channels[1] = { shape[2] };
        DLTensor t = tensor(in, shape, 3), g = tensor(gain, channels, 1);
        assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
        assert_int_equal(tess_args_image(a, "g", &g), TESS_OK);
        if (tess_run(p, a, NULL) != TESS_OK)
            fail_msg("%s", tess_args_error(a));
        const int64_t points = shape[0] * shape[1] * shape[2];
        assert_true(knows_channels(p, a) == (points >= 1 << 16));
        const DLTensor *result;
        assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
        for (int64_t i = 0; i < points; i++)
            assert_true(((float *)result->data)[i] == gain[i % shape[2]] * in[i] + (float)shape[2]);
        channels[0] = 2;
        assert_int_equal(tess_args_image(a, "g", &g), TESS_OK);
        assert_int_equal(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT);
    }
    int64_t shape[3] = { 200, 70, 5 }, channels[1] = { 5 };
    DLTensor t = tensor(in, shape, 3), g = tensor(gain, channels, 1);
    assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
    assert_int_equal(tess_args_image(a, "g", &g), TESS_OK);
    for (int c = 4; c <= 5; c++) { /* set by name as well */
        assert_int_equal(tess_args_scalar(a, "C", c), TESS_OK);
        assert_int_equal(tess_run(p, a, NULL), c == 5 ? TESS_OK : TESS_ERROR_ARGUMENT);
        assert_true(c == 4 || knows_channels(p, a));
    }
    tess_args_free(a);
    tess_program_free(p);
}

/* The extent of a mask is needed, whatever else it is. */
static void test_mask_of_channels(void **state)
{
    (void)state;
    tess_program *p =
        compile("stencil f(vector#3 float X, mask#3 float W) { return convolve(X, W); }\n"
                "parameter M, N, C;\nvector#3 float a[M, N, C];\nmask#3 float w[1, 1, C];\n"
                "return f(a:constant(0), w);\n",
                TESS_TARGET_LOOPS);
    tess_args *a = args_of(p);
    static float in[2 * 3 * 3];
    float weight[3] = { 1, 1, 1 };
    for (int i = 0; i < 18; i++)
        in[i] = 1;
    for (int64_t n = 3; n >= 1; n -= 2) {
        int64_t shape[3] = { 2, 3, n }, extents[3] = { 1, 1, n };
        DLTensor t = tensor(in, shape, 3), w = tensor(weight, extents, 3);
        assert_int_equal(tess_args_image(a, "a", &t), TESS_OK);
        assert_int_equal(tess_args_image(a, "w", &w), TESS_OK);
        if (tess_run(p, a, NULL) != TESS_OK)
            fail_msg("%s", tess_args_error(a));
        const DLTensor *result;
        assert_int_equal(tess_args_result(a, 0, &result), TESS_OK);
        for (int64_t i = 0; i < 6 * n; i++)
            assert_true(((float *)result->data)[i] == (n == 1 ? 1 : i % n == 1 ? 3 : 2));
    }
    tess_args_free(a);
    tess_program_free(p);
}

static void test_wrong_calls(void **state)
{
    (void)state;
    tess_program *p;
    tess_diags *d;
    assert_int_equal(tess_compile(NULL, 0, "x", NULL, &p, &d), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_compile("return", 6, "x", NULL, &p, &d), TESS_ERROR_PROGRAM);
    assert_null(p);
    assert_true(tess_diags_errors(d) > 0 && tess_diags_count(d) >= tess_diags_errors(d));
    tess_diags_free(d);
    assert_int_equal(tess_compile("return", 6, "x", NULL, &p, NULL), TESS_ERROR_PROGRAM);
    assert_int_equal(tess_compile("", 0, "x", NULL, &p, NULL), TESS_ERROR_PROGRAM);
    tess_program_free(NULL);
    tess_args_free(NULL);
    tess_diags_free(NULL);
    tess_image_free(NULL);
    p = compile(scale_text, TESS_TARGET_CUDA);
    tess_args *a = args_of(p);
    refuse(tess_run(p, a, NULL), TESS_ERROR_ARGUMENT, a,
           "not given"); /* before a driver is asked */
    char *text;
    assert_int_equal(tess_dump(p, a, "nonsense", &text, NULL), TESS_ERROR_ARGUMENT);
    assert_null(text);
    tess_args_free(a);
    tess_program_free(p);
}

/* Each has a name of its own and a number; there is nothing between the last and any other number. */
static void test_targets(void **state)
{
    (void)state;
    int n = 0;
    for (const char *name; (name = tess_target_name((tess_target)n)); n++)
        for (int i = 0; i < n; i++)
            assert_string_not_equal(name, tess_target_name((tess_target)i));
    assert_int_equal(n, TESS_TARGET_VM + 1);
    assert_string_equal(tess_target_name(TESS_TARGET_AUTO), "auto");
    assert_string_equal(tess_target_name(TESS_TARGET_OPENCL), "opencl");
    assert_true(tess_target_has_device(TESS_TARGET_CUDA));
    assert_false(tess_target_has_device(TESS_TARGET_AUTO));
    assert_false(tess_target_has_device(TESS_TARGET_INTERP));
    assert_false(tess_target_has_device((tess_target)n));
    tess_options o;
    tess_options_init(&o);
    o.target = (tess_target)n;
    tess_program *p;
    assert_int_equal(tess_compile(scale_text, strlen(scale_text), "x", &o, &p, NULL),
                     TESS_ERROR_ARGUMENT);
    assert_null(p);
}

/* ---- Surroundings ---- */

typedef struct Told {
    int times;
    char last[600];
} Told;

static void take_note(void *user, const char *sentence)
{
    Told *told = user;
    told->times++;
    snprintf(told->last, sizeof told->last, "%s", sentence);
}

static tess_status run_auto(Told *told, char error[600])
{
    tess_options o;
    tess_options_init(&o);
    o.cache = "";
    o.note = take_note;
    o.user = told;
    tess_program *p = NULL;
    assert_int_equal(tess_compile(scale_text, strlen(scale_text), "t.tess", &o, &p, NULL), TESS_OK);
    tess_args *a = args_of(p);
    float in[2] = { 1, 2 };
    int64_t shape[2] = { 1, 2 };
    DLTensor ti = tensor(in, shape, 2);
    tess_status status = TESS_OK;
    assert_int_equal(tess_args_image(a, "a", &ti), TESS_OK);
    assert_int_equal(tess_args_scalar(a, "n", 1), TESS_OK);
    for (int i = 0; i < 2; i++)
        status = tess_run(p, a, NULL);
    snprintf(error, 600, "%s", tess_args_error(a));
    tess_timing t = { .struct_size = sizeof t };
    assert_int_equal(tess_args_timing(a, &t), TESS_OK);
    assert_string_equal(t.target, status == TESS_OK ? "vm" : "c");
    tess_args_free(a);
    tess_program_free(p);
    return status;
}

/* `auto` takes the strip machine where there is no compiler at all, and says so; every other fault is one. */
static void test_auto_says_what_is_missing(void **state)
{
    (void)state;
    char *path = strdup(getenv("PATH")), error[600];
    Told told = { 0 };
    setenv("PATH", "/no/such/place", 1);
    unsetenv("TESSERA_CC");
    assert_int_equal(run_auto(&told, error), TESS_OK);
    assert_int_equal(told.times, 1);
    assert_non_null(strstr(told.last, "there is no C compiler"));
    setenv("TESSERA_CC", "gcc-of-nobody", 1);
    assert_int_equal(run_auto(&told, error), TESS_ERROR_COMPILER);
    assert_string_equal(error, "there is no C compiler 'gcc-of-nobody', which TESSERA_CC names");
    unsetenv("TESSERA_CC");
    setenv("PATH", path, 1);
    char *tmpdir = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/no/such/place", 1);
    assert_int_not_equal(run_auto(&told, error), TESS_OK);
    assert_non_null(strstr(error, "'/no/such/place', which TMPDIR names"));
    unsetenv("TMPDIR");
    if (tmpdir)
        setenv("TMPDIR", tmpdir, 1);
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(run_auto(&told, error), TESS_ERROR_COMPILER);
    assert_non_null(strstr(error, "SIGCHLD"));
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(told.times, 1);
    free(tmpdir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_run_with_strided_rows),
        cmocka_unit_test(test_memory_that_overlaps_itself),
        cmocka_unit_test(test_sentences_are_of_the_last_call),
        cmocka_unit_test(test_memory_off_its_elements),
        cmocka_unit_test(test_library_owned_results),
        cmocka_unit_test(test_places_of_results),
        cmocka_unit_test(test_runs_keep_their_memory),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_constants_compile_again),
        cmocka_unit_test(test_mask_of_open_size),
        cmocka_unit_test(test_channels_last),
        cmocka_unit_test(test_mask_of_channels),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_auto_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
