/* tess_convolve and tess_separable: every element type, 1 to 3 dimensions, channels, even extents, every border
 * rule, coefficients that are constants and that vary, against sums in the order of the definition. All values and
 * coefficients are such that every sum is exact. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include "base/scalar.h"
#include "tessera.h"

enum { MOST_BYTES = 1 << 16, MOST_MASKS = 3 };

typedef struct Tensor {
    DLTensor t;
    ScalarType type;
    int64_t shape[5];
    char data[MOST_BYTES];
} Tensor;

static Tensor image, out, mask[MOST_MASKS];
static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static DLDataType dl_type(ScalarType t)
{
    const TypeInfo *info = tessi_type_info(t);
    uint8_t code = info->cls == 'B'   ? kDLBool
                   : info->cls == 'S' ? kDLInt
                   : info->cls == 'U' ? kDLUInt
                                      : kDLFloat;
    return (DLDataType){ code, (uint8_t)(info->bytes * 8), 1 };
}

static int64_t shape_tensor(Tensor *x, ScalarType type, int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        x->shape[d] = shape[d];
        n *= shape[d];
    }
    x->type = type;
    x->t = (DLTensor){ .data = x->data,
                       .device = { kDLCPU, 0 },
                       .ndim = ndim,
                       .dtype = dl_type(type),
                       .shape = x->shape };
    assert_true(n * tessi_type_info(type)->bytes <= MOST_BYTES);
    return n;
}

static double element(const Tensor *x, int64_t k)
{
    Value v = tessi_load_element(x->type, x->data + k * tessi_type_info(x->type)->bytes);
    return tessi_is_real(x->type) ? v.f : (double)v.i;
}

static void set_element(Tensor *x, int64_t k, double value)
{
    Value v = tessi_is_real(x->type) ? tessi_value_real(value) : tessi_value_int((int64_t)value);
    tessi_store_element(x->type, x->data + k * tessi_type_info(x->type)->bytes, v);
}

static void fill_image(ScalarType type, int ndim, const int64_t *shape)
{
    int64_t n = shape_tensor(&image, type, ndim, shape);
    for (int64_t k = 0; k < n; k++) {
        double v = random_below(type == TYPE_BOOL ? 2 : 100);
        set_element(&image, k, tessi_is_integer(type) && !tessi_is_unsigned(type) ? v - 50 : v);
    }
}

static void fill_mask(int m, ScalarType type, int ndim, const int64_t *shape)
{
    int64_t n = shape_tensor(&mask[m], type, ndim, shape);
    for (int64_t k = 0; k < n; k++) {
        double v = random_below(type == TYPE_BOOL ? 2 : 7);
        v = tessi_is_real(type) ? v / 4 - 0.75 : tessi_is_unsigned(type) ? v : v - 3;
        set_element(&mask[m], k, type == TYPE_BOOL ? v + 3 > 3 : v);
    }
}

/* The value at a place of the image that may lie outside. */
static double image_at(const int64_t *at, int n_dims, int64_t channel, Border rule, double outside)
{
    int64_t k = 0;
    for (int d = 0; d < n_dims; d++) {
        int64_t i = tessi_border_index(rule, at[d], image.shape[d]);
        if (i < 0)
            return outside;
        k = k * image.shape[d] + i;
    }
    for (int d = n_dims; d < image.t.ndim; d++)
        k = k * image.shape[d] + channel;
    return element(&image, k);
}

/* The sum over mask[0] at a point. */
static double sum_at(const int64_t *point, int n_dims, int64_t channel, Border rule, double outside)
{
    double sum = 0;
    int64_t n = 1, i[3] = { 0 };
    for (int d = 0; d < n_dims; d++)
        n *= mask[0].shape[d];
    for (int64_t k = 0; k < n; k++) {
        int64_t at[3];
        for (int d = 0; d < n_dims; d++)
            at[d] = point[d] + i[d] - mask[0].shape[d] / 2;
        sum += element(&mask[0], k) * image_at(at, n_dims, channel, rule, outside);
        for (int d = n_dims - 1; d >= 0 && ++i[d] == mask[0].shape[d]; d--)
            i[d] = 0;
    }
    return sum;
}

static double stored(ScalarType type, double sum)
{
    bool saturates = tessi_is_integer(type);
    Value v = saturates ? tessi_eval_sat(type, TYPE_F64, tessi_value_real(sum))
                        : tessi_eval_cast(type, TYPE_F64, tessi_value_real(sum));
    return tessi_is_real(type) ? v.f : (double)v.i;
}

static void check_result(int n_dims, Border rule, double outside)
{
    int64_t point[3] = { 0 }, n = 1;
    for (int d = 0; d < n_dims; d++)
        n *= out.shape[d];
    int64_t channels = out.t.ndim > n_dims ? out.shape[n_dims] : 1;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t c = 0; c < channels; c++) {
            int64_t at[3];
            for (int d = 0; d < n_dims; d++)
                at[d] = point[d] + (rule == BORDER_NONE ? mask[0].shape[d] / 2 : 0);
            Border read = rule == BORDER_NONE ? BORDER_INSIDE : rule;
            double want = stored(out.type, sum_at(at, n_dims, c, read, outside));
            double have = element(&out, k * channels + c);
            if (have != want)
                fail_msg("%s image, %s mask, %s out, %s, point %d: %g, not %g",
                         tessi_type_info(image.type)->name, tessi_type_info(mask[0].type)->name,
                         tessi_type_info(out.type)->name, tessi_border_info(rule)->name, (int)k,
                         have, want);
        }
        for (int d = n_dims - 1; d >= 0 && ++point[d] == out.shape[d]; d--)
            point[d] = 0;
    }
}

static tess_convolver *new_convolver(tess_target target)
{
    tess_options o;
    tess_options_init(&o);
    o.target = target;
    tess_convolver *c = NULL;
    assert_int_equal(tess_convolver_new(&o, &c), TESS_OK);
    return c;
}

static void convolve(tess_convolver *c, const char *border)
{
    if (tess_convolve(c, &image.t, &mask[0].t, border, &out.t, NULL) != TESS_OK)
        fail_msg("%s", tess_convolver_error(c));
}

static const ScalarType types[] = { TYPE_BOOL, TYPE_I8,  TYPE_U8,  TYPE_I16, TYPE_U16, TYPE_I32,
                                    TYPE_U32,  TYPE_I64, TYPE_F16, TYPE_F32, TYPE_F64 };
enum { N_KINDS = sizeof types / sizeof *types };

static void test_types(void **state)
{
    (void)state;
    tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
    const int64_t size[] = { 4, 5 }, extent[] = { 3, 2 };
    for (int varying = 0; varying < 2; varying++)
        for (int i = 0; i < N_KINDS; i++)
            for (int m = 0; m < N_KINDS; m++)
                for (int o = 0; o < N_KINDS; o += 1 + (i + m) % 3) {
                    tess_convolver_vary(c, varying);
                    fill_image(types[i], 2, size);
                    fill_mask(0, types[m], 2, extent);
                    shape_tensor(&out, types[o], 2, size);
                    convolve(c, "mirror");
                    check_result(2, BORDER_MIRROR, 0);
                }
    tess_convolver_free(c);
}

static void test_borders_and_dimensions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        Border rule;
        double outside;
    } rules[] = { { NULL, BORDER_CLAMP, 0 },          { "reflect", BORDER_REFLECT, 0 },
                  { "mirror", BORDER_MIRROR, 0 },     { "wrap", BORDER_WRAP, 0 },
                  { "constant", BORDER_CONSTANT, 0 }, { " constant( -3 ) ", BORDER_CONSTANT, -3 },
                  { "none", BORDER_NONE, 0 } };
    const int64_t sizes[][3] = { { 7, 9, 8 }, { 3, 4, 5 } }, channels[] = { 6, 7, 3 };
    const int64_t extents[][3] = { { 3, 4, 5 }, { 1, 2, 1 }, { 9, 8, 3 } };
    for (int r = 0; r < 7; r++)
        for (int s = 0; s < 2; s++)
            for (int e = 0; e < (rules[r].rule == BORDER_NONE ? 2 : 3); e++)
                for (int n_dims = 1; n_dims <= 3; n_dims++) {
                    tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
                    int64_t inside[3];
                    fill_image(TYPE_I16, n_dims, sizes[s]);
                    fill_mask(0, TYPE_F32, n_dims, extents[e]);
                    bool none = rules[r].rule == BORDER_NONE, empty = false;
                    for (int d = 0; d < n_dims; d++) {
                        inside[d] = sizes[s][d] - (none ? extents[e][d] - 1 : 0);
                        empty = empty || inside[d] < 1;
                    }
                    if (!empty) {
                        shape_tensor(&out, TYPE_F32, n_dims, inside);
                        convolve(c, rules[r].text);
                        check_result(n_dims, rules[r].rule, rules[r].outside);
                    }
                    tess_convolver_free(c);
                }
    tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
    for (int k = 0; k < 2;
         k++) { /* pixels of several channels, in sums of another type and in the same */
        fill_image(k ? TYPE_F32 : TYPE_U8, 3, channels);
        fill_mask(0, k ? TYPE_F32 : TYPE_I64, 2, extents[0]);
        set_element(&mask[0], 0, k ? 0 : 1 << 28);
        shape_tensor(&out, k ? TYPE_U8 : TYPE_F64, 3, channels);
        convolve(c, "wrap");
        check_result(2, BORDER_WRAP, 0);
    }
    tess_convolver_free(c);
}

/* Coefficients that no float holds are applied in double, whatever the image and the result have: infinite times
 * zero would be NaN. */
static void test_large_coefficients(void **state)
{
    (void)state;
    const int64_t size[] = { 4, 5 }, extent[] = { 1, 2 };
    for (int varying = 0; varying < 2; varying++) {
        tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
        tess_convolver_vary(c, varying);
        fill_image(TYPE_F32, 2, size);
        set_element(&image, 0, 0);
        fill_mask(0, TYPE_F64, 2, extent);
        set_element(&mask[0], 0, 0x1p200);
        set_element(&mask[0], 1, 0);
        shape_tensor(&out, TYPE_F32, 2, size);
        convolve(c, NULL);
        for (int64_t k = 0; k < 20; k++) {
            const double left = element(&image, k % 5 ? k - 1 : k);
            assert_true(element(&out, k) == (left > 0 ? (double)INFINITY : 0));
        }
        tess_convolver_free(c);
    }
}

/* The product of the masks that were given for each dimension, in mask[0]. */
static void multiply_masks(int n_dims)
{
    int64_t shape[3] = { 0 }, n = 1;
    static Tensor product;
    for (int d = 0; d < n_dims; d++) {
        shape[d] = mask[d].shape[0];
        n *= shape[d];
    }
    shape_tensor(&product, TYPE_F64, n_dims, shape);
    for (int64_t k = 0; k < n; k++) {
        double v = 1;
        int64_t rest = k;
        for (int d = n_dims - 1; d >= 0; d--) {
            v *= element(&mask[d], rest % shape[d]);
            rest /= shape[d];
        }
        set_element(&product, k, v);
    }
    mask[0] = product;
    mask[0].t.data = mask[0].data;
    mask[0].t.shape = mask[0].shape;
}

static void test_separable(void **state)
{
    (void)state;
    static const char *const borders[] = { "[clamp, clamp, clamp]", "constant(3)", "wrap" };
    static const Border rules[] = { BORDER_CLAMP, BORDER_CONSTANT, BORDER_WRAP };
    const int64_t size[] = { 5, 6, 7 }, extents[] = { 4, 3, 9 };
    for (int b = 0; b < 3; b++)
        for (int k = 0; k < 8; k++) {
            tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
            int n_dims = b == 0 ? 3 : 1 + k % 3;
            const DLTensor *masks[3] = { NULL };
            tess_convolver_vary(c, k & 1);
            fill_image(k & 2 ? TYPE_U8 : TYPE_F32, n_dims, size);
            for (int d = 0; d < n_dims; d++) {
                fill_mask(d, k & 4 ? TYPE_I8 : TYPE_F64, 1, &extents[d]);
                masks[d] = &mask[d].t;
            }
            shape_tensor(&out, TYPE_I32, n_dims, size);
            if (tess_separable(c, &image.t, masks, (size_t)n_dims, borders[b], &out.t, NULL)
                != TESS_OK)
                fail_msg("%s", tess_convolver_error(c));
            multiply_masks(n_dims);
            check_result(n_dims, rules[b], 3);
            tess_convolver_free(c);
        }
    /* Nothing along the rows. */
    tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
    const int64_t one = 1;
    fill_image(TYPE_U8, 2, size);
    fill_mask(0, TYPE_F32, 1, extents);
    shape_tensor(&out, TYPE_F32, 2, size);
    const DLTensor *masks[2] = { &mask[0].t, NULL };
    assert_int_equal(tess_separable(c, &image.t, masks, 2, "reflect", &out.t, NULL), TESS_OK);
    shape_tensor(&mask[1], TYPE_U8, 1, &one);
    set_element(&mask[1], 0, 1);
    multiply_masks(2);
    check_result(2, BORDER_REFLECT, 0);
    tess_convolver_free(c);
}

/* The same by the target that users get, with other coefficients and other sizes of image in the same convolver. */
static void test_compiled(void **state)
{
    (void)state;
    tess_convolver *c = new_convolver(TESS_TARGET_AUTO);
    const int64_t sizes[][2] = { { 33, 70 }, { 1, 1 }, { 20, 5 } }, extent[] = { 5, 4 };
    for (int varying = 0; varying < 2; varying++)
        for (int k = 0; k < 2; k++) {
            tess_convolver_vary(c, varying);
            fill_mask(0, TYPE_F32, 2, extent);
            for (int s = 0; s < 3; s++) {
                fill_image(TYPE_U8, 2, sizes[s]);
                shape_tensor(&out, TYPE_I16, 2, sizes[s]);
                convolve(c, "[mirror, mirror]");
                check_result(2, BORDER_MIRROR, 0);
            }
        }
    tess_convolver_free(c);
}

/* Under fast rounding a wide mask is applied by Fourier transforms, whether its coefficients vary or not: near what
 * is exact. */
static void test_wide_and_fast(void **state)
{
    (void)state;
    static float exact[80 * 90];
    const int64_t size[] = { 80, 90 }, extent[] = { 31, 24 };
    tess_convolver *plain = new_convolver(TESS_TARGET_INTERP);
    fill_image(TYPE_U8, 2, size);
    fill_mask(0, TYPE_F32, 2, extent);
    const int64_t n = shape_tensor(&out, TYPE_F32, 2, size);
    convolve(plain, "reflect");
    memcpy(exact, out.data, sizeof exact);
    tess_convolver_free(plain);
    tess_options o;
    tess_options_init(&o);
    o.fp = TESS_FP_FAST;
    tess_convolver *c = NULL;
    assert_int_equal(tess_convolver_new(&o, &c), TESS_OK);
    for (int varying = 0; varying < 2; varying++) {
        tess_convolver_vary(c, varying);
        memset(out.data, 0, sizeof out.data);
        convolve(c, "reflect");
        for (int64_t k = 0; k < n; k++) {
            float x;
            memcpy(&x, out.data + (size_t)k * sizeof x, sizeof x);
            assert_true(fabsf(x - exact[k]) < 0.05f);
        }
    }
    tess_convolver_free(c);
}

static void refuse(tess_convolver *c, const char *border, tess_status status, const char *sentence)
{
    assert_int_equal(tess_convolve(c, &image.t, &mask[0].t, border, &out.t, NULL), status);
    assert_string_equal(tess_convolver_error(c), sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
    const int64_t size[] = { 6, 7, 17 }, extent[] = { 3, 3 }, wide[] = { 400, 1 },
                  large[] = { 2, 8 };
    fill_image(TYPE_U8, 2, size);
    fill_mask(0, TYPE_F32, 2, extent);
    shape_tensor(&out, TYPE_U8, 2, size);
    assert_string_equal(tess_convolver_error(c), "");
    refuse(c, "clam", TESS_ERROR_ARGUMENT,
           "'clam' is not a border rule: the rules are clamp, mirror, reflect, wrap, constant(v) "
           "and none");
    refuse(c, "[clamp, wrap, wrap]", TESS_ERROR_ARGUMENT,
           "'[clamp, wrap, wrap]' is not a border rule: a list has one rule for each dimension, as "
           "in [clamp, wrap]");
    refuse(c, "[constant(1), constant(2)]", TESS_ERROR_ARGUMENT,
           "'[constant(1), constant(2)]' is not a border rule: all dimensions of an image have the "
           "same constant outside");
    refuse(c, "constant(x)", TESS_ERROR_ARGUMENT,
           "'constant(x)' is not a border rule: 'constant(v)' takes a number");
    refuse(c, "clamp; return", TESS_ERROR_ARGUMENT,
           "'clamp; return' is not a border rule: something follows the rule");
    set_element(&mask[0], 4, (double)INFINITY);
    refuse(c, NULL, TESS_ERROR_ARGUMENT, "coefficient 4 of the mask is not finite");
    mask[0].t.device.device_type = kDLCUDA;
    refuse(c, NULL, TESS_ERROR_ARGUMENT, "masks lie in memory of the host, not of a device");
    fill_mask(0, TYPE_U8, 2, wide);
    mask[0].shape[1] = 700;
    refuse(c, NULL, TESS_ERROR_ARGUMENT, "a mask has at most 262144 coefficients");
    fill_mask(0, TYPE_F32, 2, extent);
    image.t.dtype.lanes = 4;
    refuse(c, NULL, TESS_ERROR_ARGUMENT,
           "the image has elements of an unknown type (DLPack type 1 of 8 bits)");
    fill_image(TYPE_U8, 1, size);
    refuse(c, NULL, TESS_ERROR_ARGUMENT,
           "the image has 1 dimension, but the masks are for 2 (one more can be for the channels)");
    fill_image(TYPE_U8, 3, size);
    refuse(c, NULL, TESS_ERROR_ARGUMENT,
           "the last dimension of the image has 17 channels; at most 16 are possible");
    fill_image(TYPE_U8, 2, size);
    refuse(c, "none", TESS_ERROR_ARGUMENT, "the result has size 6 in dimension 0, but needs 4");
    shape_tensor(&out, TYPE_U8, 1, size);
    refuse(c, "wrap", TESS_ERROR_ARGUMENT, "the result has 1 dimension, and the image 2");
    shape_tensor(&out, TYPE_U8, 2, size);
    fill_mask(0, TYPE_F32, 2, large);
    refuse(c, "[clamp, none]", TESS_ERROR_ARGUMENT,
           "nothing is left under 'none': in dimension 1 the mask has extent 8 and the image size "
           "7");
    fill_mask(0, TYPE_I8, 2, extent);
    refuse(c, "constant(2.5)", TESS_ERROR_ARGUMENT,
           "'constant(2.5)' does not do for sums of integers: it takes whole numbers there");
    int64_t broadcast[2] = { 0, 1 };
    out.t.strides = broadcast;
    refuse(c, "wrap", TESS_ERROR_ARGUMENT,
           "the memory for result 'out' overlaps itself: its stride in dimension 0 is 0");
    out.t.strides = NULL;
    out.t.data = image.data;
    refuse(c, "wrap", TESS_ERROR_ARGUMENT,
           "the memory for result 'out' overlaps the image 'image'");
    assert_int_equal(tess_convolve(c, NULL, &mask[0].t, NULL, &out.t, NULL), TESS_ERROR_ARGUMENT);
    assert_int_equal(tess_convolve(NULL, &image.t, &mask[0].t, NULL, &out.t, NULL),
                     TESS_ERROR_ARGUMENT);
    const DLTensor *masks[2] = { NULL };
    for (size_t n = 0; n <= 2; n += 2) {
        assert_int_equal(tess_separable(c, &image.t, masks, n, NULL, &out.t, NULL),
                         TESS_ERROR_ARGUMENT);
        assert_string_equal(tess_convolver_error(c), "there is no mask");
    }
    out.t.data = out.data;
    image.t.shape = NULL;
    refuse(c, "wrap", TESS_ERROR_ARGUMENT, "the image has no shape");
    image.t.shape = image.shape;
    mask[0].t.shape = NULL;
    refuse(c, "wrap", TESS_ERROR_ARGUMENT, "the mask has no shape");
    mask[0].t.shape = mask[0].shape;
    out.t.shape = NULL;
    refuse(c, "wrap", TESS_ERROR_ARGUMENT, "the result has no shape");
    out.t.shape = out.shape;
    assert_int_equal(tess_separable(c, &image.t, NULL, 2, NULL, &out.t, NULL), TESS_ERROR_ARGUMENT);
    tess_convolver_free(c);
    tess_convolver_free(NULL);
}

/* One convolver from several threads, with masks that some of them share. */
enum { N_THREADS = 4, TURNS = 60, SIDE = 20 };
typedef struct Work {
    tess_convolver *c;
    int number, wrong;
} Work;

static int convolve_often(void *user)
{
    Work *w = user;
    float in[SIDE * SIDE], weights[9], result[SIDE * SIDE];
    int64_t size[] = { SIDE, SIDE }, extent[] = { 3, 3 };
    DLTensor t[3];
    for (int k = 0; k < 3; k++)
        t[k] = (DLTensor){ .data = k == 0   ? in
                                   : k == 1 ? weights
                                            : result,
                           .device = { kDLCPU, 0 },
                           .ndim = 2,
                           .dtype = { kDLFloat, 32, 1 },
                           .shape = k == 1 ? extent : size };
    for (int turn = 0; turn < TURNS; turn++) {
        float factor = (float)((turn + w->number) % 5), sum = 0;
        for (int k = 0; k < SIDE * SIDE; k++)
            in[k] = (float)w->number;
        for (int k = 0; k < 9; k++) {
            weights[k] = factor * (float)k;
            sum += weights[k];
        }
        if (tess_convolve(w->c, &t[0], &t[1], "clamp", &t[2], NULL) != TESS_OK)
            return 1;
        for (int k = 0; k < SIDE * SIDE; k++)
            w->wrong += result[k] != sum * (float)w->number;
    }
    return 0;
}

static void test_threads(void **state)
{
    (void)state;
    tess_convolver *c = new_convolver(TESS_TARGET_INTERP);
    thrd_t thread[N_THREADS];
    Work work[N_THREADS];
    for (int k = 0; k < N_THREADS; k++) {
        work[k] = (Work){ c, k + 1, 0 };
        assert_int_equal(thrd_create(&thread[k], convolve_often, &work[k]), thrd_success);
    }
    for (int k = 0; k < N_THREADS; k++) {
        int failed = -1;
        assert_int_equal(thrd_join(thread[k], &failed), thrd_success);
        assert_int_equal(failed, 0);
        assert_int_equal(work[k].wrong, 0);
    }
    tess_convolver_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_borders_and_dimensions),
        cmocka_unit_test(test_large_coefficients),
        cmocka_unit_test(test_separable),
        cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_wide_and_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
