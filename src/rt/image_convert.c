/* Element types of images: conversion of a whole image, and what a file format stores for an image.
 * Elements go through a small buffer of values, so that one loop a type loads and one stores, not
 * one a pair of types. */
#include "rt/image.h"
#include "rt/image_codec.h"
#include "tessera.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024 };

#define LOAD(T, member)                                       \
    for (size_t i = 0; i < n; i++) {                          \
        T x;                                                  \
        memcpy(&x, (const char *)p + i * sizeof x, sizeof x); \
        v[i].member = x;                                      \
    }                                                         \
    return
#define STORE(T, member)                                \
    for (size_t i = 0; i < n; i++) {                    \
        T x = (T)v[i].member;                           \
        memcpy((char *)p + i * sizeof x, &x, sizeof x); \
    }                                                   \
    return

static void load_chunk(ScalarType t, const void *p, size_t n, Value *v)
{
    switch (t) {
    case TYPE_U8: LOAD(uint8_t, i);
    case TYPE_U16: LOAD(uint16_t, i);
    case TYPE_I32: LOAD(int32_t, i);
    case TYPE_F32: LOAD(float, f);
    case TYPE_F64: LOAD(double, f);
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = tessi_load_element(t, (const char *)p + i * tessi_type_info(t)->bytes);
}

static void store_chunk(ScalarType t, void *p, size_t n, const Value *v)
{
    switch (t) {
    case TYPE_U8: STORE(uint8_t, i);
    case TYPE_U16: STORE(uint16_t, i);
    case TYPE_I32: STORE(int32_t, i);
    case TYPE_F32: STORE(float, f);
    case TYPE_F64: STORE(double, f);
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        tessi_store_element(t, (char *)p + i * tessi_type_info(t)->bytes, v[i]);
}

/* ---- Conversions of one value: true when the value is kept as the conversion promises ---- */

typedef bool (*Convert)(ScalarType to, ScalarType from, Value *v);

/* Values untouched: the promise of tessi_image_convert. */
static bool keep_value(ScalarType to, ScalarType from, Value *v)
{
    if (tessi_is_real(to)) {
        double x = tessi_is_real(from) ? v->f : (double)v->i;
        if (to == TYPE_F64)
            v->f = x;
        else
            *v = tessi_eval_cast(to, TYPE_F64, tessi_value_real(x));
        return isfinite(v->f) || !isfinite(x);
    }
    if (to == TYPE_BOOL) {
        v->i = tessi_is_real(from) ? v->f != 0 : v->i != 0;
        return true;
    }
    if (tessi_is_real(from)) {
        if (!(v->f >= -0x1p63 && v->f < 0x1p63) || v->f != (double)(int64_t)v->f)
            return false;
        v->i = (int64_t)v->f;
    }
    Interval range = tessi_type_range(to);
    return v->i >= range.lo && v->i <= range.hi;
}

/* Rounded and saturated to an integer type; false when that was needed for more than rounding. */
static bool saturate_value(ScalarType to, ScalarType from, Value *v)
{
    Interval range = tessi_type_range(to); /* of 8 or 16 bits here */
    if (tessi_is_real(from)) {
        double x = v->f;
        if (isnan(x)) {
            v->i = 0;
            return false;
        }
        double r = nearbyint(x); /* to even: the rounding mode is the default one */
        v->i = r < (double)range.lo ? range.lo : r > (double)range.hi ? range.hi : (int64_t)r;
        return r >= (double)range.lo && r <= (double)range.hi;
    }
    bool inside = v->i >= range.lo && v->i <= range.hi;
    v->i = v->i < range.lo ? range.lo : v->i > range.hi ? range.hi : v->i;
    return inside;
}

/* A bool shown in a picture. */
static bool show_bool(ScalarType to, ScalarType from, Value *v)
{
    (void)to, (void)from;
    v->i = v->i ? 255 : 0;
    return true;
}

/* Converts all elements of `in` to `to`, whose data is allocated. Counts the elements for which
 * `convert` is false, or stops at the first (counted from 0) when `first` is not NULL. */
static int64_t convert_elements(const RtImage *in, RtImage *to, Convert convert, int64_t *first)
{
    Value v[CHUNK];
    const size_t in_bytes = tessi_type_info(in->dtype)->bytes,
                 to_bytes = tessi_type_info(to->dtype)->bytes;
    const size_t n = (size_t)tessi_image_elements(in);
    int64_t broken = 0;
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;
        load_chunk(in->dtype, (const char *)in->data + at * in_bytes, m, v);
        for (size_t i = 0; i < m; i++)
            if (!convert(to->dtype, in->dtype, &v[i])) {
                broken++;
                if (first) {
                    *first = (int64_t)(at + i);
                    return broken;
                }
            }
        store_chunk(to->dtype, (char *)to->data + at * to_bytes, m, v);
    }
    return broken;
}

static void describe_element(const RtImage *image, int64_t k, char *out, size_t n)
{
    Value v = tessi_load_element(
        image->dtype, (const char *)image->data + (size_t)k * tessi_type_info(image->dtype)->bytes);
    char value[40], place[RT_IMAGE_DIMS * 21 + 1] = "";
    if (tessi_is_real(image->dtype))
        snprintf(value, sizeof value, "%.9g", v.f);
    else
        snprintf(value, sizeof value, "%" PRId64, v.i);
    int64_t index[RT_IMAGE_DIMS];
    for (int d = image->ndim - 1; d >= 0; d--) {
        index[d] = k % image->shape[d];
        k /= image->shape[d];
    }
    for (int d = 0; d < image->ndim; d++) {
        size_t used = strlen(place);
        snprintf(place + used, sizeof place - used, "%s%" PRId64, d ? "," : "", index[d]);
    }
    snprintf(out, n, "%s at [%s]", value, place);
}

bool tessi_image_convert(RtImage *image, ScalarType dtype, Failure *f)
{
    if (image->dtype == dtype)
        return true;
    RtImage to;
    if (!tessi_image_alloc(&to, dtype, image->ndim, image->shape, image->channels, f))
        return false;
    int64_t first;
    if (convert_elements(image, &to, keep_value, &first) > 0) {
        char element[160];
        describe_element(image, first, element, sizeof element);
        tessi_image_dispose(&to);
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "its %s values do not fit %s: %s",
                           tessi_type_info(image->dtype)->name, tessi_type_info(dtype)->name,
                           element);
    }
    tessi_image_dispose(image);
    *image = to;
    return true;
}

/* ---- What a format stores ---- */

static bool stores(const ImageFormat *format, ScalarType t)
{
    const char *brief = tessi_type_info(t)->brief;
    size_t n = strlen(brief);
    if (!*format->types)
        return true;
    for (const char *s = format->types; (s = strstr(s, brief)) != NULL; s += n)
        if ((s == format->types || s[-1] == ' ') && (s[n] == 0 || s[n] == ' '))
            return true;
    return false;
}

/* The element type that `format` stores for elements of type t, and how values get there; N_TYPES
 * when it would have to lose depth. The rules stand at tessi_image_write. */
static ScalarType stored_type(const ImageFormat *format, ScalarType t, Convert *convert)
{
    bool u8 = stores(format, TYPE_U8), u16 = stores(format, TYPE_U16),
         f32 = stores(format, TYPE_F32);
    *convert = keep_value;
    if (stores(format, t))
        return t;
    switch (t) {
    case TYPE_BOOL:
        if (u8)
            *convert = show_bool;
        return u8 ? TYPE_U8 : TYPE_F32;
    case TYPE_F16:
        if (f32)
            return TYPE_F32;
        *convert = saturate_value;
        return TYPE_U8;
    case TYPE_F32:
    case TYPE_F64: *convert = saturate_value; return f32 ? N_TYPES : TYPE_U8;
    case TYPE_U8:
    case TYPE_U16: return f32 ? TYPE_F32 : N_TYPES;
    case TYPE_I8:
    case TYPE_I16:
        if (!u8 && f32)
            return TYPE_F32;
        *convert = saturate_value;
        return t == TYPE_I8 ? TYPE_U8 : u16 ? TYPE_U16 : N_TYPES;
    default: *convert = saturate_value; return u16 ? TYPE_U16 : N_TYPES;
    }
}

static bool check_shape(const RtImage *in, const ImageFormat *format, int *channels, Failure *f)
{
    *channels = in->channels;
    if (!*format->channels)
        return true;
    if (in->channels == 0)
        *channels = in->ndim == 3 && in->shape[2] <= UINT16_MAX ? (int)in->shape[2] : 1;
    /* A last dimension of one channel is as good as none. */
    bool has_channels = *channels > 1 || (in->ndim == 3 && in->shape[2] == 1);
    int ndim = in->ndim - has_channels;
    if (ndim != 2)
        return tessi_failf(f, TESS_ERROR_ARGUMENT,
                           "%s holds pictures of 2 dimensions, and the image has %d; NPY holds it",
                           format->name, ndim);
    for (int d = 0; d < 2; d++)
        if (in->shape[d] > INT32_MAX)
            return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s holds at most %d rows and columns",
                               format->name, INT32_MAX);
    bool one_digit = *channels >= 1 && *channels <= 9;
    if (*format->channels != '*' && !(one_digit && strchr(format->channels, '0' + *channels)))
        return tessi_failf(f, TESS_ERROR_ARGUMENT, "%s does not hold images of %d channels",
                           format->name, *channels);
    return true;
}

bool tessi_image_for_format(const RtImage *in, const ImageFormat *format, RtImage *out,
                            int64_t *n_saturated, Failure *f)
{
    *n_saturated = 0;
    int channels;
    if (!check_shape(in, format, &channels, f))
        return false;
    Convert convert;
    ScalarType t = stored_type(format, in->dtype, &convert);
    if (t == N_TYPES)
        return tessi_failf(
            f, TESS_ERROR_ARGUMENT,
            "%s cannot hold %s elements without losing depth; convert them in the program, "
            "or write NPY",
            format->name, tessi_type_info(in->dtype)->name);
    if (t == in->dtype) {
        *out = *in;
    } else {
        if (!tessi_image_alloc(out, t, in->ndim, in->shape, in->channels, f))
            return false;
        *n_saturated = convert_elements(in, out, convert, NULL);
    }
    out->channels = channels;
    return true;
}
