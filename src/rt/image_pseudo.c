/* Pseudo-inputs: images made from a short text. The rules stand in image.h, so that anyone can make
 * the same pixels. */
#include "rt/image.h"
#include "tessera.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum PseudoKind { PSEUDO_ZERO, PSEUDO_CONSTANT, PSEUDO_RANDOM, PSEUDO_RAMP } PseudoKind;
static const struct {
    const char *prefix;
    bool has_argument;
} kinds[] = {
    [PSEUDO_ZERO] = { "zero:", false },
    [PSEUDO_CONSTANT] = { "constant:", true },
    [PSEUDO_RANDOM] = { "random:", true },
    [PSEUDO_RAMP] = { "ramp:", false },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const char *spec)
{
    for (int k = 0; k < N_KINDS; k++)
        if (strncmp(spec, kinds[k].prefix, strlen(kinds[k].prefix)) == 0)
            return k;
    return -1;
}

bool tessi_image_is_pseudo(const char *spec)
{
    return kind_of(spec) >= 0;
}

static bool bad_spec(Failure *f, const char *spec)
{
    return tessi_failf(
        f, TESS_ERROR_ARGUMENT,
        "'%.80s' is not a pseudo-input: they look like zero:480x640, constant:0.5:480x640, "
        "random:7:480x640, ramp:480x640, with 1 to 4 sizes",
        spec);
}

/* "480x640" to sizes; false on anything else. */
static bool parse_sizes(const char *s, int64_t *shape, int *ndim)
{
    *ndim = 0;
    for (;;) {
        if (!isdigit((unsigned char)*s) || *ndim == RT_IMAGE_DIMS - 1)
            return false;
        char *end;
        errno = 0;
        long long size = strtoll(s, &end, 10);
        if (errno || size < 1)
            return false;
        shape[(*ndim)++] = size;
        if (*end == 0)
            return true;
        if (*end != 'x')
            return false;
        s = end + 1;
    }
}

static uint64_t mix64(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Bits of precision that an exact integer may have in a real type. */
static int real_bits(ScalarType t)
{
    return t == TYPE_F64 ? 53 : t == TYPE_F32 ? 24 : 11;
}

static Value random_value(ScalarType t, uint64_t seed, uint64_t k)
{
    uint64_t bits = mix64(seed + (k + 1) * UINT64_C(0x9e3779b97f4a7c15));
    if (tessi_is_real(t))
        return tessi_value_real((double)(bits >> (64 - real_bits(t)))
                                / (double)(UINT64_C(1) << real_bits(t)));
    if (t == TYPE_BOOL)
        return tessi_value_int((int64_t)(bits >> 63));
    int width = 8 * tessi_type_info(t)->bytes;
    uint64_t top = bits >> (64 - width);
    return tessi_eval_cast(t, TYPE_I64, tessi_value_int((int64_t)top)); /* wraps to the sign */
}

static Value ramp_value(ScalarType t, int64_t sum)
{
    if (t == TYPE_BOOL)
        return tessi_value_int(sum & 1);
    if (tessi_is_real(t))
        return tessi_value_real((double)(sum & (((int64_t)1 << real_bits(t)) - 1)));
    return tessi_eval_cast(t, TYPE_I64, tessi_value_int(sum));
}

/* Sum of the coordinates of pixel k. */
static int64_t coordinate_sum(const RtImage *image, int64_t k, int spatial)
{
    int64_t sum = 0;
    for (int d = spatial - 1; d >= 0; d--) {
        sum += k % image->shape[d];
        k /= image->shape[d];
    }
    return sum;
}

static bool constant_value(ScalarType t, const char *text, size_t n, Value *v, Failure *f)
{
    char number[64], *end;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = 0;
    errno = 0;
    long long whole = strtoll(number, &end, 0);
    bool is_whole = !errno && *end == 0;
    double real = strtod(number, &end);
    if (*end != 0 || isspace((unsigned char)*number))
        return false;
    if (tessi_is_real(t)) {
        *v = t == TYPE_F64 ? tessi_value_real(real)
                           : tessi_eval_cast(t, TYPE_F64, tessi_value_real(real));
        if (isfinite(v->f) || !isfinite(real))
            return true;
    } else {
        Interval range = tessi_type_range(t);
        if (!is_whole && fabs(real) < 0x1p53 && real == floor(real)) {
            whole = (long long)real;
            is_whole = true;
        }
        *v = tessi_value_int(whole);
        if (is_whole && whole >= range.lo && whole <= range.hi)
            return true;
    }
    return tessi_failf(f, TESS_ERROR_ARGUMENT, "the constant %s does not fit elements of type %s",
                       number, tessi_type_info(t)->name);
}

/* Memory for pixels of these channels: elements of their type, or the bytes of a pixel where they differ in it. */
static bool alloc_pixels(RtImage *image, const ScalarType *types, int channels, int spatial,
                         int64_t *shape, Failure *f)
{
    bool mixed = false;
    int64_t bytes = 0;
    for (int c = 0; c < channels; c++) {
        mixed = mixed || types[c] != types[0];
        bytes += tessi_type_info(types[c])->bytes;
    }
    const int last = (int)(mixed ? bytes : channels);
    shape[spatial] = last;
    return tessi_image_alloc(image, mixed ? TYPE_U8 : types[0], spatial + (channels > 1), shape,
                             last, f);
}

/* Writes the first pixel of `n` to all others, in pieces that caches hold. */
static void repeat_first(char *at, size_t bytes, int64_t n)
{
    enum { MOST = 1 << 14 };
    const size_t all = bytes * (size_t)n;
    for (size_t done = bytes, piece; done < all; done += piece) {
        piece = done < bytes * MOST ? done : bytes * MOST;
        piece = piece < all - done ? piece : all - done;
        memcpy(at + done, at, piece);
    }
}

typedef struct Pseudo {
    PseudoKind kind;
    const Value *constant; /* by channel */
    uint64_t seed;
} Pseudo;

static void write_pixels(RtImage *image, const Pseudo *what, const ScalarType *types, int channels,
                         int spatial)
{
    const bool is_same = what->kind == PSEUDO_ZERO || what->kind == PSEUDO_CONSTANT;
    int64_t n_pixels = 1;
    for (int d = 0; d < spatial; d++)
        n_pixels *= image->shape[d];
    char *at = image->data;
    for (int64_t pixel = 0, k = 0; pixel < (is_same ? 1 : n_pixels); pixel++) {
        for (int c = 0; c < channels; c++, k++) {
            Value v = what->constant[c];
            if (what->kind == PSEUDO_RANDOM)
                v = random_value(types[c], what->seed, (uint64_t)k);
            else if (what->kind == PSEUDO_RAMP)
                v = ramp_value(types[c], coordinate_sum(image, pixel, spatial));
            tessi_store_element(types[c], at, v);
            at += tessi_type_info(types[c])->bytes;
        }
    }
    if (is_same)
        repeat_first(image->data, (size_t)(at - (char *)image->data), n_pixels);
}

bool tessi_image_pseudo(const char *spec, const ScalarType *types, int channels, RtImage *image,
                        Failure *f)
{
    *image = (RtImage){ 0 };
    int kind = kind_of(spec);
    if (channels > RT_IMAGE_CHANNELS)
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "pseudo-inputs have at most %d channels",
                           RT_IMAGE_CHANNELS);
    if (kind < 0)
        return bad_spec(f, spec);
    const char *argument = spec + strlen(kinds[kind].prefix), *sizes = argument;
    if (kinds[kind].has_argument) {
        sizes = strchr(argument, ':');
        if (!sizes)
            return bad_spec(f, spec);
        sizes++;
    }
    int64_t shape[RT_IMAGE_DIMS];
    int spatial;
    if (!parse_sizes(sizes, shape, &spatial))
        return bad_spec(f, spec);

    Value constant[RT_IMAGE_CHANNELS] = { 0 };
    uint64_t seed = 0;
    for (int c = 0; c < channels; c++) {
        Failure why = { 0 };
        if (kind != PSEUDO_CONSTANT)
            constant[c] = tessi_is_real(types[c]) ? tessi_value_real(0) : tessi_value_int(0);
        else if (!constant_value(types[c], argument, (size_t)(sizes - 1 - argument), &constant[c],
                                 &why))
            return why.status ? tessi_failf(f, why.status, "%.300s", why.text) : bad_spec(f, spec);
    }
    if (kind == PSEUDO_RANDOM) {
        char *end;
        errno = 0;
        seed = strtoull(argument, &end, 10);
        if (!isdigit((unsigned char)*argument) || end != sizes - 1 || errno)
            return bad_spec(f, spec);
    }
    if (!alloc_pixels(image, types, channels, spatial, shape, f))
        return false;
    const Pseudo what = { (PseudoKind)kind, constant, seed };
    write_pixels(image, &what, types, channels, spatial);
    return true;
}
